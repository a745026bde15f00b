// The arrays of a volume, and the places of its vertices in tiles. Twins of src/grid/field.rs and
// src/grid/sides.rs.
#pragma once
#include "grid/field.cuh"
#include "grid/volume_tiles.cuh"

// A vertex, or a cube by its first corner; outside the volume in the halo.
struct GridPoint {
    long long x, y, z;

    __device__ __forceinline__ long long along(i32 axis) const { return axis == 0 ? x : axis == 1 ? y : z; }
};
// One further along the axes with a bit in `corner`, or one back.
__device__ __forceinline__ GridPoint plus(const GridPoint& p, u32 corner) {
    return {p.x + (corner & 1), p.y + (corner >> 1 & 1), p.z + (corner >> 2)};
}
__device__ __forceinline__ GridPoint minus(const GridPoint& p, u32 corner) {
    return {p.x - (corner & 1), p.y - (corner >> 1 & 1), p.z - (corner >> 2)};
}

// A vertex of a closed tile, which the volume may not have.
__device__ __forceinline__ GridPoint point_in_tile(const VolumeTile& tile, i32 x, i32 y, i32 z) {
    return {(long long)tile.first[0] + x, (long long)tile.first[1] + y, (long long)tile.first[2] + z};
}

__device__ __forceinline__ long long size_along(const Job& job, i32 axis) {
    return (long long)(axis == 0 ? job.nx : axis == 1 ? job.ny : job.nz);
}
// The vertex that lies at these coordinates, which may be beyond a periodic side.
__device__ __forceinline__ GridPoint wrapped(const Job& job, GridPoint p) {
    wrap(job, p.x, p.y);
    const long long nz = (long long)job.nz;
    if (job.periodic & PERIODIC_Z) p.z = p.z < 0 ? p.z + nz : p.z >= nz ? p.z - nz : p.z;
    return p;
}
// The bit of the first side across an axis, or of the last.
__device__ __forceinline__ u32 side_bit(i32 axis, bool is_last) { return 1u << (2 * axis + is_last); }
// The sides that a vertex lies beyond.
__device__ __forceinline__ u32 sides_beyond(const Job& job, const GridPoint& p) {
    u32 sides = 0;
#pragma unroll
    for (i32 axis = 0; axis < 3; axis++) {
        if (p.along(axis) < 0) sides |= side_bit(axis, false);
        if (p.along(axis) >= size_along(job, axis)) sides |= side_bit(axis, true);
    }
    return sides;
}
// Whether a vertex lies on one of some sides.
__device__ __forceinline__ bool is_on_sides(const Job& job, const GridPoint& p, u32 sides) {
    bool on = false;
#pragma unroll
    for (i32 axis = 0; axis < 3; axis++) {
        on |= (sides & side_bit(axis, false)) && p.along(axis) == 0;
        on |= (sides & side_bit(axis, true)) && p.along(axis) + 1 == size_along(job, axis);
    }
    return on;
}
// The sides across periodic axes.
__device__ __forceinline__ u32 periodic_sides(const Job& job) {
    u32 sides = 0;
#pragma unroll
    for (i32 axis = 0; axis < 3; axis++)
        if (job.periodic >> axis & 1) sides |= side_bit(axis, false) | side_bit(axis, true);
    return sides;
}

__device__ __forceinline__ const Layout& layout_of(const Job& job, i32 component) {
    return component == 0 ? job.u_layout : component == 1 ? job.v_layout : job.w_layout;
}
// The vertex of a component, which may lie in the halo.
template <typename T>
__device__ __forceinline__ T* component_at(
    const Job& job, i32 component, long long x, long long y, long long z) {
    const long long row = z * (long long)job.plane_rows + y;
    return component == 0   ? vertex_at<T>(job.u, job.u_layout, x, row)
           : component == 1 ? vertex_at<T>(job.v, job.v_layout, x, row)
                            : vertex_at<T>(job.w, job.w_layout, x, row);
}
template <typename T, i32 N = 3>
struct Vector {
    T at[N];
};
template <typename T, i32 N = 3>
__device__ __forceinline__ Vector<T, N> original_at(const Job& job, const GridPoint& p) {
    Vector<T, N> v;
#pragma unroll
    for (i32 c = 0; c < N; c++) v.at[c] = *component_at<T>(job, c, p.x, p.y, p.z);
    return v;
}

// A vertex by its tile, and its place there with x fastest.
struct TilePlace {
    u64 tile;
    u32 place;

    __device__ __forceinline__ u64 index() const { return tile * VOLUME_TILE_VERTICES + place; }
};
__device__ __forceinline__ u32 place_in_tile(u32 x, u32 y, u32 z) {
    return (z * VOLUME_SIDE + y) * VOLUME_SIDE + x;
}
__device__ __forceinline__ TilePlace tile_place(const Job& job, const GridPoint& p) {
    const u64 row = (u64)p.z / VOLUME_SIDE * job.plane_tile_rows + (u64)p.y / VOLUME_SIDE;
    return {row * job.tiles_x + (u64)p.x / VOLUME_SIDE,
        place_in_tile((u32)p.x % VOLUME_SIDE, (u32)p.y % VOLUME_SIDE, (u32)p.z % VOLUME_SIDE)};
}
// The vertex at a place of a tile, if the tile owns it.
__device__ __forceinline__ bool vertex_in_tile(const VolumeTile& tile, u32 place, GridPoint& p) {
    const i32 x = (i32)place % VOLUME_SIDE, y = (i32)place / VOLUME_SIDE % VOLUME_SIDE,
              z = (i32)place / (VOLUME_SIDE * VOLUME_SIDE);
    p = {(long long)tile.first[0] + x, (long long)tile.first[1] + y, (long long)tile.first[2] + z};
    return x < tile.owned(0) && y < tile.owned(1) && z < tile.owned(2);
}
// The place at a number of the order of lists, in which the bits of x, y and z take turns.
__device__ __forceinline__ u32 place_of_listed(u32 number) {
    u32 place = 0;
#pragma unroll
    for (u32 axis = 0; axis < 3; axis++)
#pragma unroll
        for (u32 bit = 0; bit < 4; bit++) place |= (number >> (3 * bit + axis) & 1) << (4 * axis + bit);
    return place;
}
