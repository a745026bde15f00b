// Lists of the non-zero symbols of a tile, each with the run of zeros before it. Twin of
// src/entropy/lists.rs.
#pragma once
#include "device/ptx.cuh"
#include "entropy/tables.cuh"

// The lists of a tile: its first 16 positions, always dense, and the rest of the three blocks.
enum : u32 { TOP_LIST, COARSE_LIST, MIDDLE_LIST, FINE_LIST, TILE_LISTS };

__device__ __forceinline__ bool is_sparse(u32 activity) { return activity - 1 < LAST_LIST_ACTIVITY; }
__device__ __forceinline__ i32 list_start(u32 list) { return list == TOP_LIST ? 0 : 4 << 2 * list; }
__device__ __forceinline__ i32 list_end(u32 list) { return 16 << 2 * list; }
__device__ __forceinline__ u32 count_bits(i32 block, u32 activity) {
    return block == 0 ? activity - 1 : block == 1 ? activity : activity + 2;
}

struct Run {
    u32 symbol, raw, bits;
};

__device__ __forceinline__ Run encode_run(u32 run) {
    const bool is_long = run >= FIRST_RUN_WITH_RAW_BITS;
    const u32 octave = highest_bit(run), bits = is_long ? octave - 1 : 0, high = run >> bits;
    return {high + (is_long ? 2 * bits + 8 : 0), run & ~(FULL << bits), bits};
}

// Raw bits after a run symbol below RUNS.
__device__ __forceinline__ u32 run_bits(u32 symbol) {
    return symbol < FIRST_RUN_WITH_RAW_BITS ? 0 : symbol / 2 - 5;
}
__device__ __forceinline__ u32 decode_run(u32 symbol, u32 raw, u32 bits) {
    return bits == 0 ? symbol : (2 | (symbol & 1)) << bits | raw;
}
