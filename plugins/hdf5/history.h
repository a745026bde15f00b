/*
 * What this process decompressed and compressed before, so that no loss is added to another.
 *
 * HDF5 writes to a part of a chunk by decompressing it, changing the part and compressing it again. The
 * filter sees values only. It keeps two things, within limits:
 *
 *   - The streams that it decompressed. Before the next chunk is compressed, the fingerprints of their values
 *     are taken (fingerprints.h). A chunk in which one is found again has been through the codec, in part at
 *     least, and must be stored exactly. Processes that only read, or only write, take no fingerprints.
 *   - The original values of chunks that it compressed. When a chunk comes back with values where nobody had
 *     written any, where zeros or missing data were, and with its decompressed values elsewhere, the
 * originals take the place of these: the chunk is compressed as if it had been written at once. Values that
 * came through unchanged have no fingerprints.
 *
 * All functions may be called from several threads.
 */
#ifndef FACTZ_HDF5_HISTORY_H
#define FACTZ_HDF5_HISTORY_H

#include "factz.h"
#include "values.h"

/* A stream in memory of malloc, with the configuration that decompresses it. */
struct stream {
    void *bytes;
    size_t count;
    struct factz_config config;
};

/*
 * Remembers a stream whose values are not the originals, and takes its memory. Its lines on the sides `exact`
 * are the originals nevertheless.
 */
void history_add_read(struct stream stream, uint32_t exact);

/*
 * Keeps the values that became a stream within the absolute bound. True if it took the memory of the values;
 * the stream is copied.
 */
bool history_add_written(const struct stream *stream, void *values, double bound);

/*
 * Whether a chunk has values that were decompressed before, so that it must be stored exactly. Decompressed
 * values whose originals are kept become these first, and do not count.
 */
bool history_knows(const struct factz_config *config, void *values);

#endif
