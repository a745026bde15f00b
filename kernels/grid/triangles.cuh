// The two triangles of a grid cell. Twin of src/grid/triangles.rs.
#pragma once
#include "device/shared.cuh"

enum : i32 { LOWER = 0, UPPER = 1 };

// Offset of corner k of a triangle from its cell.
__device__ __forceinline__ i32 corner_x(i32 triangle, i32 k) {
    return triangle == LOWER ? (k > 0) : (k == 1);
}
__device__ __forceinline__ i32 corner_y(i32 triangle, i32 k) {
    return triangle == LOWER ? (k == 2) : (k > 0);
}

// The triangles around a vertex: offset of their cell, and LOWER or UPPER, for k = 0..6.
__device__ __forceinline__ i32 incident_x(i32 k) { return (k == 2 || k >= 4) ? -1 : 0; }
__device__ __forceinline__ i32 incident_y(i32 k) { return k >= 3 ? -1 : 0; }
__device__ __forceinline__ i32 incident_triangle(i32 k) {
    return (k == 1 || k == 3 || k == 5) ? UPPER : LOWER;
}
