#include "field.h"

#include "values.h"

factz_status field_stream_bytes(const struct factz_config *config, uint64_t *bytes)
{
    factz_sizes sizes;
    if (is_volume(config))
        return factz_volume_stream_bytes(config, bytes);
    const factz_status status = factz_compress_sizes(config, &sizes);
    *bytes = sizes.max_stream_bytes;
    return status;
}

/* Bytes from the first value of a component to that of the next. */
static size_t component_bytes(const struct factz_config *config)
{
    const struct values values = values_of(config, NULL);
    return values.to_v * value_size(&values);
}

static size_t vertices(const struct factz_config *config)
{
    return (size_t)(config->nx * config->ny * config->nz);
}

factz_status field_compress(const struct factz_config *config, const void *values, void *dst,
    size_t dst_bytes, factz_report *report, int threads)
{
    const char *u = values, *v = u + component_bytes(config), *w = v + component_bytes(config);
    if (is_volume(config))
        return factz_compress_volume_host(u, v, w, vertices(config), config, dst, dst_bytes, report, threads);
    return factz_compress_host(u, v, vertices(config), config, dst, dst_bytes, report, threads);
}

factz_status field_decompress(const void *src, size_t src_bytes, const struct factz_config *config,
    void *values, factz_report *report, int threads)
{
    char *u = values, *v = u + component_bytes(config), *w = v + component_bytes(config);
    if (is_volume(config))
        return factz_decompress_volume_host(
            src, src_bytes, config, u, v, w, vertices(config), report, threads);
    return factz_decompress_host(src, src_bytes, config, u, v, vertices(config), report, threads);
}
