// The mesh: corners of the triangles of a cell, triangles around a vertex, in the order of the format. Twin
// of src/grid/mesh.rs, which explains the letters of corners and has the tables that the packed numbers of
// device/shared.cuh come from. A cell is an array of what is at its corners a, b, c, d.
#pragma once
#include "device/shared.cuh"

// Number k of a table with two bits for each.
__device__ __forceinline__ constexpr i32 number_of(u32 table, i32 k) { return (i32)(table >> 2 * k & 3); }

// Corner k of a triangle, and its offset from the cell.
__device__ __forceinline__ constexpr i32 corner(i32 triangle, i32 k) {
    return triangle == LOWER ? number_of(LOWER_CORNERS, k) : number_of(UPPER_CORNERS, k);
}
__device__ __forceinline__ constexpr i32 corner_x(i32 triangle, i32 k) {
    return triangle == LOWER ? number_of(LOWER_CORNERS, k) & 1 : number_of(UPPER_CORNERS, k) & 1;
}
__device__ __forceinline__ constexpr i32 corner_y(i32 triangle, i32 k) {
    return triangle == LOWER ? number_of(LOWER_CORNERS, k) >> 1 : number_of(UPPER_CORNERS, k) >> 1;
}

// Whether a triangle has a corner; the one off the diagonal from a to d.
__device__ __forceinline__ constexpr bool has_corner(i32 triangle, i32 which) {
    return corner(triangle, 0) == which || corner(triangle, 1) == which || corner(triangle, 2) == which;
}
__device__ __forceinline__ constexpr i32 apex(i32 triangle) {
    return triangle == LOWER ? LOWER_APEX : UPPER_APEX;
}

// Value at the corner where the edge of a triangle along x or along y begins or ends.
enum : i32 { X_BEGIN, X_END, Y_BEGIN, Y_END };
template <typename V>
__device__ __forceinline__ V at_end(const V corners[3], i32 triangle, i32 end) {
    return triangle == LOWER ? corners[number_of(LOWER_EDGES, end)] : corners[number_of(UPPER_EDGES, end)];
}

// Neighbour j of a vertex, counter-clockwise from (1, 0).
__device__ __forceinline__ constexpr i32 neighbour_x(i32 j) { return number_of(NEIGHBOURS_X, j) - 1; }
__device__ __forceinline__ constexpr i32 neighbour_y(i32 j) { return number_of(NEIGHBOURS_Y, j) - 1; }

// Triangle j around a vertex, which has the neighbours j and j + 1: offset of its cell, and LOWER or UPPER.
__device__ __forceinline__ constexpr i32 incident_x(i32 j) { return -(i32)(STAR_BEFORE_X >> j & 1); }
__device__ __forceinline__ constexpr i32 incident_y(i32 j) { return -(i32)(STAR_BEFORE_Y >> j & 1); }
__device__ __forceinline__ constexpr i32 incident_triangle(i32 j) { return STAR_TRIANGLES >> j & 1; }

// Columns of the vertices of triangles of a row of cells, given those of the cells, in the row of the cells
// (0) or the next one (1).
__device__ __forceinline__ u32 vertices_of(u32 lowers, u32 uppers, i32 row) {
    u32 vertices = 0;
#pragma unroll
    for (i32 k = 0; k < 3; k++)
        if (corner_y(LOWER, k) == row) vertices |= lowers << corner_x(LOWER, k);
#pragma unroll
    for (i32 k = 0; k < 3; k++)
        if (corner_y(UPPER, k) == row) vertices |= uppers << corner_x(UPPER, k);
    return vertices;
}
