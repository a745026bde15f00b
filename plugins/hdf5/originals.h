/*
 * The original values of the last chunks that this process compressed.
 */
#ifndef FACTZ_HDF5_ORIGINALS_H
#define FACTZ_HDF5_ORIGINALS_H

#include "stream.h"

/*
 * Keeps the values that became a stream, at most `most` bytes of all chunks; the oldest are given up first.
 * True if it took the memory of the values; the stream is copied. Where other values became the same stream
 * before, as they do in quiet parts of a field, the originals of the stream are unknown from then on.
 */
bool originals_add(const struct stream *stream, void *values, size_t most);

/* The original values of a stream; NULL where they are not kept. */
void *originals_of(const struct stream *stream);

/* These values are the next to be given up: another chunk has taken the place of theirs. */
void originals_replaced(const void *values);

#endif
