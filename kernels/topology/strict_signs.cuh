// Strict signs of components settle most tetrahedra without a determinant.
// Twin of src/analysis/strict_signs.rs.
#pragma once
#include "topology/tetrahedron.cuh"

// Of a vertex: of each component whether it is positive, then whether it is negative, of the original and of
// the values now; whether these are the same; whether the vertex is missing.
constexpr u32 SIGNS = 6, SIGNS_BEFORE = (1 << SIGNS) - 1, SIGNS_NOW = SIGNS_BEFORE << SIGNS,
              IS_SAME = 1 << 2 * SIGNS, IS_MISSING = 2 << 2 * SIGNS;
template <typename T, i32 N>
__device__ __forceinline__ u32 strict_signs(const Vector<T, N>& v) {
    u32 signs = 0;
#pragma unroll
    for (i32 c = 0; c < N; c++) signs |= (u32)(v.at[c] > T(0)) << c | (u32)(v.at[c] < T(0)) << (3 + c);
    return signs;
}
// Whether a simplex has no critical point in the original and none now, given what is true of all its
// vertices.
__device__ __forceinline__ bool are_settled(u32 all) { return (all & SIGNS_BEFORE) && (all & SIGNS_NOW); }

// The settled cubes of a column along z of a closed tile, a bit for each: those at whose eight vertices
// `is_settled` has the common bits of `signs_at(x, y, z)`, where x and y are 0 or 1 in the column. The closed
// tile has `last` cubes along z, at most CUBES.
template <i32 CUBES, typename SignsAt, typename IsSettled>
__device__ __forceinline__ u32 settled_cubes(i32 last, SignsAt signs_at, IsSettled is_settled) {
    u32 settled = 0, below = 0;
#pragma unroll
    for (i32 z = 0; z <= CUBES; z++) {
        if (z > last) break;
        const u32 plane = signs_at(0, 0, z) & signs_at(1, 0, z) & signs_at(0, 1, z) & signs_at(1, 1, z);
        if (z > 0) settled |= (u32)is_settled(below & plane) << (z - 1);
        below = plane;
    }
    return settled;
}
