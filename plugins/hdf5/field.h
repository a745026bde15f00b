/*
 * Calls of the library for the values of a chunk: those for planes, or those for volumes, as the
 * configuration says.
 */
#ifndef FACTZ_HDF5_FIELD_H
#define FACTZ_HDF5_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "factz.h"

/* Whether the chunks of a configuration are volumes. */
static inline bool is_volume(const struct factz_config *config)
{
    return config->components == 3;
}

/* Values of a vertex. */
static inline size_t components_of(const struct factz_config *config)
{
    return is_volume(config) ? 3 : 2;
}

/* Bytes that always suffice for a stream. */
factz_status field_stream_bytes(const struct factz_config *config, uint64_t *bytes);

/* Compresses the values of a chunk. */
factz_status field_compress(const struct factz_config *config, const void *values, void *dst,
    size_t dst_bytes, factz_report *report, int threads);

/* Decompresses all components of a chunk. */
factz_status field_decompress(const void *src, size_t src_bytes, const struct factz_config *config,
    void *values, factz_report *report, int threads);

#endif
