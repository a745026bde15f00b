// Patches of the list of critical points: the cells below the columns of a lane, between two rows. The signs
// settle most of them, and most triangles of the others.
#pragma once
#include "analysis/zeros.cuh"

namespace analysis {

// Sides of the vertex (x, y). All, if it is not there.
template <typename T>
__device__ __forceinline__ u32 edge_sides(const Analysis& job, u64 x, u64 y, bool has_row) {
    if (!has_row || x >= job.columns) return SIDES;
    const FieldView& field = job.fields[0];
    return sides(value_of<T>(field.u, x, y), value_of<T>(field.v, x, y));
}

template <typename T>
__device__ __forceinline__ u32 vertex_flags(const Analysis& job, T u, T v) {
    u32 flags = sides(u, v);
    const bool finite = Real<T>::finite(u) & Real<T>::finite(v);
    if (finite && !(job.has_fill && is_filled(u, v, job.fill))) flags |= PRESENT;
    if ((u == T(0)) & (v == T(0))) flags |= ZERO;
    return flags;
}

// True if vectors may have opposite directions, by the flags of two vertices.
__device__ __forceinline__ bool may_be_opposite(u32 a, u32 b) {
    const u32 turned = (a & 5) << 1 | (a & 10) >> 1;
    return (a & b & PRESENT) && (a & SIDES) && !((turned ^ b) & SIDES);
}

// Vertex and edges of the base of column k that may hold isolated zeros.
template <typename T>
__device__ __forceinline__ u32 may_hold(const Flags<T>& low, const Flags<T>& high, i32 k) {
    const u32 base = low.at[k];
    const bool vertex = (base & PRESENT) && (base & ZERO);
    return (u32)may_be_opposite(base, low.at[k + 1]) << EDGE_X |
           (u32)may_be_opposite(base, high.at[k]) << EDGE_Y |
           (u32)may_be_opposite(base, high.at[k + 1]) << DIAGONAL | (u32)vertex << VERTEX;
}

// Triangles of a patch, bit 2 * column + triangle: those that need exact signs, and those of zeros.
struct Triangles {
    u32 open, zero;
};

template <typename T>
__device__ __forceinline__ Triangles triangles_of(const Flags<T>& low, const Flags<T>& high) {
    Triangles triangles = {};
#pragma unroll
    for (i32 k = 0; k < WIDTH<T>; k++) {
        const u32 diagonal = low.at[k] & high.at[k + 1];
#pragma unroll
        for (i32 triangle = LOWER; triangle <= UPPER; triangle++) {
            const u32 all = diagonal & (triangle == LOWER ? low.at[k + 1] : high.at[k]),
                      bit = 1u << (2 * k + triangle);
            if (!(all & PRESENT) || (all & SIDES)) continue;
            (all & ZERO ? triangles.zero : triangles.open) |= bit;
        }
    }
    return triangles;
}

}  // namespace analysis
