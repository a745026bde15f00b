// Patches of a comparison: the cells below the columns of a lane, between two rows. The signs settle most of
// them, and most triangles of the others. Twin of `cells` in src/analysis/compare.rs.
#pragma once
#include "analysis/zeros.cuh"

namespace analysis {

// Sides of the vertex (x, y) in both fields. All, if it is not there.
template <typename T>
__device__ __forceinline__ u32 edge_sides(const Analysis& job, u64 x, u64 y, bool has_row) {
    if (!has_row || x >= job.columns) return FIRST_SIDES | OTHER_SIDES;
    u32 both = 0;
#pragma unroll
    for (i32 f = 0; f < 2; f++) {
        const FieldView& field = job.fields[f];
        both |= sides(value_of<T>(field.u, x, y), value_of<T>(field.v, x, y)) << 4 * f;
    }
    return both;
}

template <typename T>
__device__ __forceinline__ u32 compared(const Analysis& job, T u0, T v0, T u1, T v1) {
    typedef Real<T> R;
    u32 flags = sides(u0, v0) | sides(u1, v1) << 4;
    const bool present = R::finite(u0) & R::finite(v0) & R::finite(u1) & R::finite(v1);
    if (present && !(job.has_fill && is_filled(u0, v0, job.fill))) flags |= PRESENT;
    if ((R::bits(u0) == R::bits(u1)) & (R::bits(v0) == R::bits(v1))) flags |= SAME_BITS;
    if ((u0 == T(0)) & (v0 == T(0))) flags |= ZERO;
    return flags;
}

// True if vectors may have opposite directions in either field, by the flags of two vertices.
__device__ __forceinline__ bool may_be_opposite(u32 a, u32 b) {
    const u32 turned = (a & 0x55) << 1 | (a & 0xaa) >> 1, differ = turned ^ b;
    return (a & b & PRESENT) &&
           (((a & FIRST_SIDES) && !(differ & FIRST_SIDES)) || ((a & OTHER_SIDES) && !(differ & OTHER_SIDES)));
}

// Vertex and edges of the base of column k that may hold isolated zeros in either field.
template <typename T>
__device__ __forceinline__ u32 may_hold(const Flags<T>& low, const Flags<T>& high, i32 k) {
    const u32 base = low.at[k];
    const bool vertex = (base & PRESENT) && (!(base & FIRST_SIDES) || !(base & OTHER_SIDES));
    return (u32)may_be_opposite(base, low.at[k + 1]) << EDGE_X |
           (u32)may_be_opposite(base, high.at[k]) << EDGE_Y |
           (u32)may_be_opposite(base, high.at[k + 1]) << DIAGONAL | (u32)vertex << VERTEX;
}

// Triangles of a patch, bit 2 * column + triangle: those that need exact signs, and ties that stay.
struct Triangles {
    u32 open, ties;
};

template <typename T>
__device__ __forceinline__ Triangles triangles_of(const Flags<T>& low, const Flags<T>& high) {
    u32 open = 0, zero = 0;
#pragma unroll
    for (i32 k = 0; k < WIDTH<T>; k++) {
        const u32 diagonal = low.at[k] & high.at[k + 1];
#pragma unroll
        for (i32 triangle = LOWER; triangle <= UPPER; triangle++) {
            const u32 all = diagonal & (triangle == LOWER ? low.at[k + 1] : high.at[k]),
                      bit = 1u << (2 * k + triangle);
            // If a component has one sign in both fields, or the values are equal, the triangle has not
            // changed.
            const bool said = (all & FIRST_SIDES) && (all & (SAME_BITS | OTHER_SIDES));
            if ((all & PRESENT) && !said) open |= bit;
            // Zero at all corners and unchanged: a tie that stays.
            if ((all & SAME_BITS) && (all & ZERO)) zero |= bit;
        }
    }
    return {open & ~zero, open & zero};
}

}  // namespace analysis
