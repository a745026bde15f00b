// Loads and classifies rows of vertices for the analysis kernels. Twins in src/analysis give the same counts,
// the same points in the same order, and the same bits.
// A warp walks down a band of rows; a lane has the WIDTH columns of 16 bytes, so the field is read once and
// in wide loads. The signs of the components settle nearly every triangle; the others are read again and
// decided exactly.
#pragma once
#include "analysis/planes.cuh"
#include "stream/header.cuh"
#include "grid/missing.cuh"
#include "grid/range.cuh"
#include "topology/exact_type.cuh"

namespace analysis {

// Counters of a comparison.
enum : i32 {
    COUNT_POINTS,
    COUNT_OTHER_POINTS,
    COUNT_LOST,
    COUNT_NEW,
    COUNT_CHANGED_TYPES,
    COUNT_LOST_ZEROS,
    COUNT_NEW_ZEROS,
    COUNT_CHANGED_INDICES,
    COUNT_TIES,
    COUNT_CHANGED_TIES,
    COUNT_NEW_TIES,
    COUNT_ZERO,
    COUNT_CHANGED_ZERO_VERTICES,
    COUNT_NONFINITE,
    COUNT_FILLED,
    COUNT_CHANGED_MISSING,
    COUNT_EXCEEDED,
    COUNT_UNPAIRED,  // vertices that are filled or without a finite u in both fields
    COUNT_LARGEST,   // bits of the largest error
    COUNT_BY_TYPE,
    // Of the range of the first field: numbers in the order of the values, 0 where there is none.
    RANGE_BELOW = COUNT_BY_TYPE + POINT_TYPES,  // larger for lower values
    RANGE_ABOVE,
    RANGE_ZERO,
    RANGE_NONFINITE,
    RANGE_FILLED,
    COUNTS
};
static_assert(8 * COUNTS <= ANALYSIS_COUNT_BYTES, "the counts have their place");

template <typename T>
constexpr i32 WIDTH = 16 / sizeof(T);

__device__ __forceinline__ void add_count(u64& count, u64 more) { atomicAdd((ull*)&count, (ull)more); }
__device__ __forceinline__ void raise_to(u64& most, u64 value) { atomicMax((ull*)&most, (ull)value); }

template <typename T>
struct Columns {
    T at[WIDTH<T>];
    T edge;  // the column after these, where it was asked for
};

// True if rows can be read 16 bytes at a time.
template <typename T>
__device__ __forceinline__ bool is_wide(const Component& c) {
    return c.layout.stride == 1 && c.layout.pitch % WIDTH<T> == 0 && ((u64)c.values & 15) == 0;
}
template <typename T>
__device__ __forceinline__ bool is_wide(const FieldView& field) {
    return is_wide<T>(field.u) & is_wide<T>(field.v);
}

// Columns from x on of row y; NaN from `end` on, which is 0 or not less than nx.
template <typename T>
__device__ __forceinline__ Columns<T> load_columns(
    const Analysis& job, const Component& c, bool wide, u64 end, u64 x, u64 y, bool with_edge) {
    constexpr i32 W = WIDTH<T>;
    const T missing = Real<T>::from_bits(sizeof(T) == 4 ? 0x7fc00000ull : 0x7ff8000000000000ull);
    const T* row = static_cast<const T*>(c.values) + y * c.layout.pitch;
    const u64 stored = job.periodic & PERIODIC_X ? min(end, job.nx) : end;
    Columns<T> out;
    if (wide && x + W <= stored) {
        struct alignas(16) Vector {
            T at[W];
        };
        const Vector v = *reinterpret_cast<const Vector*>(row + x);
#pragma unroll
        for (i32 k = 0; k < W; k++) out.at[k] = v.at[k];
    } else {
#pragma unroll
        for (i32 k = 0; k < W; k++) out.at[k] = x + k < stored ? row[(x + k) * c.layout.stride] : missing;
    }
    out.edge = missing;
    if (with_edge && x + W < stored) out.edge = row[(x + W) * c.layout.stride];
    // Behind the last column of a periodic axis is the first one.
    if ((job.periodic & PERIODIC_X) && stored < end && stored - x <= W) {
#pragma unroll
        for (i32 k = 0; k < W; k++)
            if (x + k == stored) out.at[k] = row[0];
        if (with_edge && x + W == stored) out.edge = row[0];
    }
    return out;
}

template <typename T>
struct Pair {
    Columns<T> u, v;
};

template <typename T>
__device__ __forceinline__ Pair<T> load_pair(
    const Analysis& job, const FieldView& field, bool wide, u64 end, u64 x, u64 y, bool with_edge = false) {
    return {load_columns<T>(job, field.u, wide, end, x, y, with_edge),
        load_columns<T>(job, field.v, wide, end, x, y, with_edge)};
}

// Flags of a vertex. ANDed over the corners they classify a triangle.
enum : u32 {
    U_ABOVE = 1,
    U_BELOW = 2,
    V_ABOVE = 4,
    V_BELOW = 8,
    SIDES = U_ABOVE | U_BELOW | V_ABOVE | V_BELOW,
    PRESENT = 1 << 4,  // finite, not filled
    ZERO = 1 << 5,     // (0, 0)
};

template <typename T>
__device__ __forceinline__ u32 sides(T u, T v) {
    return (u > T(0) ? U_ABOVE : 0) | (u < T(0) ? U_BELOW : 0) | (v > T(0) ? V_ABOVE : 0) |
           (v < T(0) ? V_BELOW : 0);
}

// Flags of the lane's columns and of the next one.
template <typename T>
struct Flags {
    u32 at[WIDTH<T> + 1];
};

template <typename T>
__device__ __forceinline__ T value_of(const Analysis& job, const Component& c, u64 x, u64 y) {
    return static_cast<const T*>(
        c.values)[stored_row(job, y) * c.layout.pitch + stored_column(job, x) * c.layout.stride];
}

// The corners of a triangle of the cell (x, y).
template <typename T>
__device__ __forceinline__ Corners<T> corners_of(
    const Analysis& job, const FieldView& field, u64 x, u64 y, i32 triangle) {
    const bool ends_x = stored_column(job, x + 1) == 0, ends_y = stored_row(job, y + 1) == 0;
    Corners<T> p;
#pragma unroll
    for (i32 c = 0; c < 2; c++) {
        const Component& component = c == 0 ? field.u : field.v;
        const T* values = static_cast<const T*>(component.values);
        const u64 column = x * component.layout.stride, row = y * component.layout.pitch,
                  next_column = ends_x ? 0 : column + component.layout.stride,
                  next_row = ends_y ? 0 : row + component.layout.pitch;
#pragma unroll
        for (i32 k = 0; k < 3; k++)
            (c == 0 ? p.u : p.v)[k] = values[(corner_x(triangle, k) ? next_column : column) +
                                             (corner_y(triangle, k) ? next_row : row)];
    }
    return p;
}

template <typename T>
__device__ __forceinline__ bool has_filled(const Analysis& job, const Corners<T>& p) {
    return job.has_fill && (is_filled(p.u[0], p.v[0], job.fill) | is_filled(p.u[1], p.v[1], job.fill) |
                               is_filled(p.u[2], p.v[2], job.fill));
}

// Rule by which points have types. Twin of Rule::of.
__device__ __forceinline__ Rule rule_of(const Analysis& job) { return Rule(true, job.ties, job.dx, job.dy); }

// Type of the critical point in a triangle whose determinants have this sign, in lanes with `holds`. Call
// with a warp. Twin of kind_of.
template <typename T>
__device__ __forceinline__ i32 point_type(
    bool holds, const Corners<T>& p, i32 sign, i32 triangle, const Rule& rule, u32* sum) {
    i32 trace = 0, discriminant = 0;
    const bool has_type = holds && rule.keeps_type(sign);
    if (has_type) certain_type(p, triangle, rule, trace, discriminant);
    const bool uncertain = has_type && (trace == 0 || discriminant == 0);
    if (__any_sync(FULL, uncertain)) exact_type(uncertain, p, triangle, rule, sum, trace, discriminant);
    return type_of_signs(rule.turn(sign), trace, discriminant);
}

}  // namespace analysis
