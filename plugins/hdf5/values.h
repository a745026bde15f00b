/*
 * The values of a chunk as bits, whatever their type and order in memory.
 */
#ifndef FACTZ_HDF5_VALUES_H
#define FACTZ_HDF5_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "factz.h"
#include "field.h"

struct values {
    unsigned char *bytes;
    /* 64 bits rather than 32. */
    bool wide;
    size_t components;
    /* Columns, rows and planes. The rows of a volume follow each other, plane by plane, as those of one
     * plane. */
    size_t nx;
    size_t ny;
    size_t planes;
    /* Rows from a plane of a volume to the next; otherwise those of a plane. */
    size_t plane_rows;
    /* Elements from a value to the next of its row, and from a u to its v. */
    size_t stride;
    size_t to_v;
    /* Bits of the fill value, 0 where there is none. */
    uint64_t fill;
};

/* The values at `bytes`, in the order of bytes of this machine, of a configuration with shape and layout. */
static inline struct values values_of(const struct factz_config *config, void *bytes)
{
    struct values values = {bytes, config->dtype == FACTZ_DTYPE_F64, components_of(config), config->nx,
        config->ny, config->nz, config->ny, config->u_stride,
        config->u_stride == 1 ? config->nx * config->ny : 1, 0};
    if (is_volume(config)) {
        values.ny = config->ny * config->nz;
        values.planes = 1;
        values.to_v = config->nx * values.ny;
    }
    if (config->has_fill_value) {
        const float narrow = (float)config->fill_value;
        uint32_t bits;
        memcpy(&bits, &narrow, sizeof bits);
        values.fill = bits;
        if (values.wide)
            memcpy(&values.fill, &config->fill_value, sizeof values.fill);
    }
    return values;
}

/* Bytes of the values of a configuration. */
static inline size_t values_bytes(const struct factz_config *config)
{
    return components_of(config) * config->nx * config->ny * config->nz *
           (config->dtype == FACTZ_DTYPE_F64 ? sizeof(double) : sizeof(float));
}

static inline bool same_shape(const struct values *a, const struct values *b)
{
    return a->nx == b->nx && a->ny == b->ny && a->planes == b->planes && a->wide == b->wide &&
           a->stride == b->stride && a->components == b->components && a->plane_rows == b->plane_rows;
}

/* Number of values. */
static inline size_t values_count(const struct values *values)
{
    return values->components * values->nx * values->ny * values->planes;
}

/* Elements from a plane to the next: all components lie between them. */
static inline size_t to_plane(const struct values *values)
{
    return values->components * values->nx * values->ny;
}

/* Elements from the first value of a component to its value number `k`, plane by plane. */
static inline size_t offset_of(const struct values *values, size_t k)
{
    const size_t count = values->nx * values->ny;
    return k / count * to_plane(values) + k % count * values->stride;
}

/* Bytes of a value. */
static inline size_t value_size(const struct values *values)
{
    return values->wide ? sizeof(double) : sizeof(float);
}

static inline uint64_t get_bits(const struct values *values, size_t k)
{
    uint64_t wide;
    uint32_t narrow;
    if (values->wide) {
        memcpy(&wide, values->bytes + k * sizeof wide, sizeof wide);
        return wide;
    }
    memcpy(&narrow, values->bytes + k * sizeof narrow, sizeof narrow);
    return narrow;
}

static inline void set_bits(struct values *values, size_t k, uint64_t bits)
{
    const uint32_t narrow = (uint32_t)bits;
    if (values->wide)
        memcpy(values->bytes + k * sizeof bits, &bits, sizeof bits);
    else
        memcpy(values->bytes + k * sizeof narrow, &narrow, sizeof narrow);
}

static inline bool is_zero(const struct values *values, uint64_t bits)
{
    return (bits & (values->wide ? UINT64_MAX >> 1 : UINT64_C(0x7fffffff))) == 0;
}

/* Whether a row of a plane lies on one of these sides, FACTZ_SIDE_*. */
static inline bool on_side(const struct values *values, size_t row, uint32_t sides)
{
    const size_t y = row % values->plane_rows, z = row / values->plane_rows;
    return (y == 0 && sides & FACTZ_SIDE_Y_MIN) ||
           (y == values->plane_rows - 1 && sides & FACTZ_SIDE_Y_MAX) ||
           (z == 0 && sides & FACTZ_SIDE_Z_MIN) ||
           (z == values->ny / values->plane_rows - 1 && sides & FACTZ_SIDE_Z_MAX);
}

/* A NaN that takes the place of values that tell nothing. */
static inline uint64_t nothing(const struct values *values)
{
    return values->wide ? UINT64_MAX : UINT32_MAX;
}

/* False for zero, NaN, infinity and the fill value, as places of a chunk have them that nobody wrote. */
static inline bool holds_data(const struct values *values, uint64_t bits)
{
    const uint64_t infinity = values->wide ? UINT64_C(0x7ff) << 52 : UINT64_C(0xff) << 23;
    const uint64_t magnitude = bits & (values->wide ? UINT64_MAX >> 1 : UINT64_C(0x7fffffff));
    return magnitude != 0 && magnitude < infinity && bits != values->fill;
}

#endif
