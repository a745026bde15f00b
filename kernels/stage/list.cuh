// Twin of src/stage/entropy/list.rs: lists of the entries that are coded of the blocks of a tile.
#pragma once
#include "entropy.cuh"

// Blocks of a class up to this one are sparse: what is not zero is coded, each with the run before it.
constexpr u32 LAST_SPARSE_CLASS = CLASSES - 2;
constexpr u32 MASK_COUNT_BITS = 8;
constexpr u32 RUNS = 28, FIRST_RUN_WITH_RAW_BITS = 16;
// The lists of a tile: its first positions, which are always dense, and the rest of the three blocks.
enum : u32 { TOP_LIST, COARSE_LIST, MIDDLE_LIST, FINE_LIST, TILE_LISTS };

__device__ __forceinline__ bool is_sparse(u32 cls) { return cls - 1 < LAST_SPARSE_CLASS; }
__device__ __forceinline__ i32 list_start(u32 list) { return list == TOP_LIST ? 0 : 4 << 2 * list; }
__device__ __forceinline__ i32 list_end(u32 list) { return 16 << 2 * list; }
__device__ __forceinline__ u32 count_bits(i32 block, u32 cls) { return block == 0 ? cls - 1 : block == 1 ? cls : cls + 2; }

struct Run {
    u32 symbol, raw, bits;
};

__device__ __forceinline__ Run encode_run(u32 run) {
    if (run < FIRST_RUN_WITH_RAW_BITS) return {run, 0, 0};
    const u32 octave = 31 - __clz(run), bits = octave - 1;
    return {16 + 2 * (octave - 4) + (run >> bits & 1), run & ((1u << bits) - 1), bits};
}

// Raw bits behind the symbol of a run, which is below RUNS.
__device__ __forceinline__ u32 run_bits(u32 symbol) { return symbol < FIRST_RUN_WITH_RAW_BITS ? 0 : symbol / 2 - 5; }
__device__ __forceinline__ u32 decode_run(u32 symbol, u32 raw, u32 bits) {
    return bits == 0 ? symbol : (2 | (symbol & 1)) << bits | raw;
}
