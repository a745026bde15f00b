// Tiles of a volume and the order of the vertices in them. Twin of src/grid/volume_tiles.rs.
#pragma once
#include "device/reduce.cuh"

// A tile: its place among the tiles, its first vertex, and the last local coordinates of the closed tile.
struct VolumeTile {
    u64 index;
    u64 first[3];
    i32 last[3];

    __device__ __forceinline__ i32 owned(i32 axis) const {
        return last[axis] < VOLUME_SIDE - 1 ? last[axis] + 1 : VOLUME_SIDE;
    }
    // Whether there is a tile behind, along the axes of `owner`.
    __device__ __forceinline__ bool has_behind(u32 owner) const {
        return (!(owner & 1) || last[0] == VOLUME_SIDE) && (!(owner & 2) || last[1] == VOLUME_SIDE) &&
               (!(owner & 4) || last[2] == VOLUME_SIDE);
    }
    // Whether the closed tile has all its vertices.
    __device__ __forceinline__ bool is_whole() const {
        return last[0] == VOLUME_SIDE && last[1] == VOLUME_SIDE && last[2] == VOLUME_SIDE;
    }
};

// Of a volume, job.tiles_x and job.plane_tile_rows count tiles along x and y, and job.tiles_y those along y
// and z together.
__device__ __forceinline__ VolumeTile volume_tile(const Job& job, u64 index) {
    VolumeTile tile;
    tile.index = index;
    // Numbers of tiles have 32 bits (capacities.cuh).
    const u32 columns = (u32)job.tiles_x, row = (u32)index / columns, z = row / job.plane_tile_rows;
    tile.first[0] = (u64)((u32)index - row * columns) * VOLUME_SIDE;
    tile.first[1] = (u64)(row - z * job.plane_tile_rows) * VOLUME_SIDE;
    tile.first[2] = (u64)z * VOLUME_SIDE;
    const u64 sizes[3] = {job.nx, job.ny, job.nz};
#pragma unroll
    for (i32 axis = 0; axis < 3; axis++) {
        const u64 left = sizes[axis] - 1 - tile.first[axis];
        tile.last[axis] = left < VOLUME_SIDE ? (i32)left : VOLUME_SIDE;
    }
    return tile;
}

// The tile behind a tile, along the axes of `owner`.
__device__ __forceinline__ u64 tile_behind(const Job& job, u64 tile, u32 owner) {
    return tile + (owner & 1) + (owner & 2 ? job.tiles_x : 0) +
           (owner & 4 ? job.tiles_x * job.plane_tile_rows : 0);
}

// The number of a vertex, counted plane by plane and row by row.
__device__ __forceinline__ u64 number_of(const Job& job, u64 x, u64 y, u64 z) {
    return (z * job.ny + y) * job.nx + x;
}

// The axes along which the vertices of a class are odd, a bit for each: three bits a class.
constexpr u32 VOLUME_CLASSES = 1 | 2 << 3 | 4 << 6 | 3 << 9 | 5 << 12 | 6 << 15 | 7 << 18;
__device__ __forceinline__ constexpr u32 odd_axes_of(u32 number) { return VOLUME_CLASSES >> 3 * number & 7; }

// Positions of the coarse levels of a tile come first.
constexpr u32 COARSE_POSITIONS = 512, FINEST_POSITIONS = VOLUME_TILE_VERTICES - COARSE_POSITIONS;
// The activity block of a position.
__device__ __forceinline__ u32 block_of_position(u32 position) {
    return position < 64 ? 0 : position < COARSE_POSITIONS ? 1 : 2;
}

// A position as coordinates in its tile.
struct VolumePosition {
    i32 level, x, y, z;
};
__device__ __forceinline__ VolumePosition place_of_position(u32 position) {
    if (position == 0) return {VOLUME_ANCHOR_LEVEL, 0, 0, 0};
    const u32 log = highest_bit(position) / 3, in_level = position - (1u << 3 * log),
              odd = odd_axes_of(in_level >> 3 * log), mask = (1u << log) - 1;
    const i32 level = VOLUME_ANCHOR_LEVEL - 1 - (i32)log;
    const u32 x = in_level & mask, y = in_level >> log & mask, z = in_level >> 2 * log & mask;
    return {level, (i32)((2 * x + (odd & 1)) << level), (i32)((2 * y + (odd >> 1 & 1)) << level),
        (i32)((2 * z + (odd >> 2)) << level)};
}

// The inverse, for coordinates below VOLUME_SIDE. Numbers of classes by odd axes, a nibble each.
constexpr u32 CLASS_OF_ODD_AXES = 0x65423100;
__device__ __forceinline__ u32 position_in_volume(u32 x, u32 y, u32 z) {
    const u32 all = x | y | z;
    if (all == 0) return 0;
    const u32 level = (u32)__ffs((i32)all) - 1, log = VOLUME_ANCHOR_LEVEL - 1 - level,
              odd = (x >> level & 1) | (y >> level & 1) << 1 | (z >> level & 1) << 2,
              number = CLASS_OF_ODD_AXES >> 4 * odd & 15, half = level + 1;
    return ((1 + number) << 3 * log) + ((z >> half << log | y >> half) << log | x >> half);
}
