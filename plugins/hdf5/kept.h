/*
 * Chunks that this process decompressed, kept whole, and how one is found that a new chunk agrees with.
 */
#ifndef FACTZ_HDF5_KEPT_H
#define FACTZ_HDF5_KEPT_H

#include "stream.h"
#include "values.h"

struct kept {
    struct stream stream;
    /* The decompressed values; nothing() where these are certainly the original ones. */
    void *values;
};

/* Whether a stream is kept; if so, it becomes the last to be given up. */
bool kept_has(const struct stream *stream);

/*
 * Keeps a chunk, at most `most` bytes of the values of all; the oldest are given up first. Takes the memory
 * of the stream and of the values. False where there is no memory.
 */
bool kept_add(struct stream stream, void *values, size_t most);

#define CANDIDATES 4

/*
 * The kept chunks of the same shape that agree best with these values, the newest first; returns how many.
 * All values of a chunk of up to 1,023 are compared, and a sample of a larger one: at least 512, or one
 * in 32. Zeros and missing data agree with nothing.
 */
size_t kept_candidates(const struct values *values, const struct kept *found[CANDIDATES]);

#endif
