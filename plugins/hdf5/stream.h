/*
 * A compressed chunk in memory of malloc, with the configuration that decompresses it.
 */
#ifndef FACTZ_HDF5_STREAM_H
#define FACTZ_HDF5_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "factz.h"

struct stream {
    void *bytes;
    size_t count;
    struct factz_config config;
};

/* Whether two streams decompress to the same bytes: a stream does not say how u and v lie in memory. */
static inline bool same_stream(const struct stream *a, const struct stream *b)
{
    return a->count == b->count && a->config.u_stride == b->config.u_stride &&
           memcmp(a->bytes, b->bytes, a->count) == 0;
}

#endif
