/*
 * Chunks that this process decompressed and compressed before, so that no loss is added to another.
 *
 * HDF5 writes to a part of a chunk by decompressing it, changing the part and compressing it again. The
 * filter sees values only. It keeps, within limits:
 *
 *   - The original values of chunks that it compressed (originals.h).
 *   - The streams that it decompressed. Before the next chunk is compressed, they are decompressed once more.
 *     Their values are kept whole (kept.h), and their fingerprints longer than that (fingerprints.h).
 *     A process that only reads or only writes does neither.
 *
 * A chunk that agrees with a decompressed one, more than chance explains (agreement.h), gets the original
 * values back at these places, and is compressed as if it had been written at once. If the originals are
 * unknown, or if a fingerprint is found again, it must be stored exactly.
 *
 * All functions may be called from several threads.
 */
#ifndef FACTZ_HDF5_HISTORY_H
#define FACTZ_HDF5_HISTORY_H

#include "stream.h"

/*
 * Remembers a stream whose values are not the originals, and takes its memory. Its lines on the sides `exact`
 * are the originals nevertheless.
 */
void history_add_read(struct stream stream, uint32_t exact);

/* Keeps the values that became a stream. True if it took the memory of the values; the stream is copied. */
bool history_add_written(const struct stream *stream, void *values);

/*
 * Whether a chunk has values that were decompressed before, so that it must be stored exactly. Decompressed
 * values whose originals are kept become these first, and do not count.
 */
bool history_knows(const struct factz_config *config, void *values);

#endif
