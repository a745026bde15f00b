// Entries of the list of triangles that need determinants.
#pragma once
#include "grid/mesh.cuh"
#include "grid/tiles.cuh"

// An entry has 32 bits: tile << 11 | y << 6 | x << 1 | LOWER or UPPER. The list uses the memory that later
// holds the payload of tiles. If numbers of tiles have more than HARD_TILE_BITS bits, entries form runs of 32
// places, each for one tile, and every run has a word in the memory that later holds masks:
// tile >> HARD_TILE_BITS | (used places - 1) << UPPER_TILE_BITS.
constexpr i32 TRIANGLE_BITS = 11, HARD_TILE_BITS = 32 - TRIANGLE_BITS, UPPER_TILE_BITS = 27;
static_assert(2 * TILE_VERTICES == 1 << TRIANGLE_BITS, "a triangle of a tile");
__device__ __forceinline__ bool few_tiles(const Job& job) { return job.tiles() <= 1ull << HARD_TILE_BITS; }

__device__ __forceinline__ u32 row_of_triangles(u64 tile, u32 y) {
    return (u32)tile << TRIANGLE_BITS | y << 6;
}
__device__ __forceinline__ u32 triangle_in_row(u32 row, u32 x, i32 which) { return row | x << 1 | which; }
struct Triangle {
    u64 tile;
    i32 x, y, which;

    // From an entry that upper_bits_in has completed.
    __device__ __forceinline__ Triangle(u64 packed)
        : tile(packed >> TRIANGLE_BITS), x((i32)(packed >> 1 & (TILE - 1))),
          y((i32)(packed >> 6 & (TILE - 1))), which((i32)(packed & 1)) {}
};

__device__ __forceinline__ u32 word_of_run(u64 tile, u32 entries) {
    return (u32)(tile >> HARD_TILE_BITS) | (entries - 1) << UPPER_TILE_BITS;
}
// The last used place of a run, and the upper bits of the entries of its tile.
__device__ __forceinline__ u32 last_place_of_run(u32 word) { return word >> UPPER_TILE_BITS; }
__device__ __forceinline__ u64 upper_bits_in(u32 word) {
    return (u64)(word & ((1u << UPPER_TILE_BITS) - 1)) << 32;
}
