// Patches of the list of critical points: the cells below the columns of a lane, between two rows. The signs
// settle most of them, and most triangles of the others.
#pragma once
#include "analysis/zeros.cuh"

namespace analysis {

// Sides of the vertex (x, y), or that it is zero. All sides, if it is not there.
template <typename T>
__device__ __forceinline__ u32 edge_sides(const Analysis& job, u64 x, u64 y, bool has_row) {
    if (!has_row || x >= job.columns) return SIDES;
    const FieldView& field = job.fields[0];
    const T u = value_of<T>(job, field.u, x, y), v = value_of<T>(job, field.v, x, y);
    return is_zero(u, v) ? ZERO : sides(u, v);
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

// The simplices of a base that need exact signs: its triangles that are open, its vertex and edges that may
// hold isolated zeros.
__device__ __forceinline__ u32 open_simplices(const u32 cell[CORNERS]) {
    const u32 base = cell[CORNER_A];
    if (!(base & PRESENT)) return 0;
    // Of the second and the third corner.
    auto common = [&](i32 triangle) { return cell[corner(triangle, 1)] & cell[corner(triangle, 2)]; };
    auto some = [&](i32 triangle) { return cell[corner(triangle, 1)] | cell[corner(triangle, 2)]; };
    const u32 lower = base & common(LOWER), upper = base & common(UPPER);
    const bool has_lower = lower & PRESENT, has_upper = upper & PRESENT;
    // A triangle with a zero corner holds none inside, and no zero beside it is isolated.
    const u32 lower_zeros = has_lower ? some(LOWER) & ZERO : 0,
              upper_zeros = has_upper ? some(UPPER) & ZERO : 0;
    const bool is_zero = base & ZERO;
    auto edge = [&](i32 simplex) { return (u32)may_be_opposite(base, cell[end_corner(simplex)]) << simplex; };
    return (u32)(has_lower && !(lower & SIDES) && !is_zero && !lower_zeros) << LOWER |
           (u32)(has_upper && !(upper & SIDES) && !is_zero && !upper_zeros) << UPPER | edge(EDGE_X) |
           edge(EDGE_Y) | edge(DIAGONAL) | (u32)(is_zero && !lower_zeros && !upper_zeros) << VERTEX;
}

}  // namespace analysis
