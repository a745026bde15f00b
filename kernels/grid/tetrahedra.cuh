// The division of cubes into tetrahedra. Twin of src/grid/tetrahedra.rs.
#pragma once
#include "device/shared.cuh"

// The axis of step k of a tetrahedron, along which its corners k and k + 1 differ.
__device__ __forceinline__ u32 step_axis(u32 tetrahedron, u32 k) {
    const u32 first = FIRST_STEPS >> 2 * tetrahedron & 3, second = SECOND_STEPS >> 2 * tetrahedron & 3;
    return k == 0 ? first : k == 1 ? second : 3 - first - second;
}
// Corner k of a tetrahedron: bit a says that it lies one further along axis a than the cube.
__device__ __forceinline__ u32 corner_of(u32 tetrahedron, u32 k) {
    const u32 first = 1u << step_axis(tetrahedron, 0), second = 1u << step_axis(tetrahedron, 1);
    return k == 0 ? 0 : k == 1 ? first : k == 2 ? first | second : 7;
}
// Tetrahedron k around a vertex, and the corner of its cube at which the vertex is.
__device__ __forceinline__ u32 tetrahedron_around(u32 k) { return k / TETRAHEDRON_CORNERS; }
__device__ __forceinline__ u32 own_corner_around(u32 k) {
    return corner_of(k / TETRAHEDRON_CORNERS, k % TETRAHEDRON_CORNERS);
}
