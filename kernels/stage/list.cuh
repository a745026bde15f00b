// Twin of src/stage/entropy/list.rs and of the tables that lists add to those of src/stage/entropy/table.rs.
#pragma once
#include "entropy.cuh"

constexpr u32 LAST_LIST_CLASS = 6;
enum : u32 { RUN_TABLE = TABLES, MASK_RUN = RUN_TABLE + LAST_LIST_CLASS, LIST_TABLES = MASK_RUN + 1 };
static_assert(LIST_TABLES == 50, "the sizes of the table section depend on it");
constexpr u32 LIST_TABLE_SIZES_BYTES = 52;
constexpr u32 DENSE_LANES = 0xffff;
constexpr u32 MASK_COUNT_BITS = 8;
constexpr u32 RUNS = 28;

__device__ __forceinline__ bool is_list(u32 cls) { return cls - 1 < LAST_LIST_CLASS; }
__device__ __forceinline__ i32 list_start(i32 block) { return block == 0 ? 16 : first_step(block) * 32; }
__device__ __forceinline__ u32 count_bits(i32 block, u32 cls) { return block == 0 ? cls - 1 : block == 1 ? cls : cls + 2; }

struct Run {
    u32 symbol, raw, bits;
};

__device__ __forceinline__ Run encode_run(u32 run) {
    if (run < 16) return {run, 0, 0};
    const u32 octave = 31 - __clz(run), bits = octave - 1;
    return {16 + 2 * (octave - 4) + (run >> bits & 1), run & ((1u << bits) - 1), bits};
}

// Raw bits behind the symbol of a run, which is below RUNS.
__device__ __forceinline__ u32 run_bits(u32 symbol) { return symbol < 16 ? 0 : symbol / 2 - 5; }
__device__ __forceinline__ u32 decode_run(u32 symbol, u32 raw, u32 bits) {
    return bits == 0 ? symbol : (2 | (symbol & 1)) << bits | raw;
}
