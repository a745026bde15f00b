// Twin of src/entropy/groups/lorenzo.rs: what groups of the Lorenzo predictor code of a tile. Lane y stands
// for row y: which of its vertices have a symbol, the pattern of the row, and these symbols, one of each row
// at a time.
#pragma once
#include "entropy/lists.cuh"

// Classes of tiles: of the last one all vertices have a symbol, and there are no patterns; of class 0 none.
constexpr u32 TILE_CLASSES = 9, DENSE_CLASS = TILE_CLASSES - 1;
// Tiles of a class up to this one say which of their rows have any symbol: most have none.
constexpr u32 LAST_SPARSE_TILE = 3;
// Tables: of the classes, of the bytes that say which rows have symbols, of pattern bytes by class from 1, of
// symbols by class from 1. (That of the first vertex is ANCHOR_TABLE.)
constexpr u32 TILE_CLASS = 1, ROW_BYTE = 20, PATTERN = 28, PATTERN_TABLES = DENSE_CLASS - 1,
              ROW_SYMBOL = PATTERN + PATTERN_TABLES, ROW_TABLES = DENSE_CLASS;
static_assert(ROW_BYTE > ANCHOR_TABLE && PATTERN > ROW_BYTE && ROW_SYMBOL + ROW_TABLES <= MASK_RUN,
    "beside those that both predictors have");
__device__ __forceinline__ u32 pattern_table(u32 cls) { return PATTERN - 1 + cls; }
__device__ __forceinline__ u32 row_table(u32 cls) { return ROW_SYMBOL - 1 + cls; }

__device__ __forceinline__ bool is_table_of_rows(u32 table) {
    return table <= TILE_CLASS || table == MASK_BYTE || table == ANCHOR_TABLE || table == ROW_BYTE ||
           table - PATTERN < PATTERN_TABLES + ROW_TABLES || table == MASK_RUN;
}

// The work of a tile by its class and its masks: steps that tiles of a class have, about, and entries of
// masks.
constexpr u32 STEP_WEIGHT = 28, MASK_LIST_WEIGHT = 64, MOST_STEPS = 32;
static_assert(
    TILE_WEIGHT + 2 * MASK_LIST_WEIGHT + STEP_WEIGHT * MOST_STEPS < LEAST_GROUP_WEIGHT, "no group is empty");
__device__ __forceinline__ u32 steps_of_class(u32 cls) {
    // From class 1 on, in bytes: 6, 7, 8, 10, 13, 18, 25, 32.
    return cls == 0 ? 0 : (u32)(0x2019120d0a080706ull >> 8 * (cls - 1)) & 255;
}

// Of large fields some tiles tell how often symbols are: one of so many that follow each other.
constexpr u64 SAMPLED_TILES = 4096;
__device__ __forceinline__ u32 tiles_of_sample(u64 tiles) {
    return tiles < 2 * SAMPLED_TILES ? 1 : (u32)(tiles / SAMPLED_TILES);
}
// Which one, of those with this number.
__device__ __forceinline__ u64 sampled_tile(u32 number, u32 each) {
    return (u64)number * each + (number * 0x9e3779b1u >> 16) % each;
}

// The class of a tile by what its symbols cost.
__device__ __forceinline__ u32 tile_class_of(u32 cost, u32 active) {
    return cost > 0 && 2 * cost >= 3 * active ? DENSE_CLASS : class_of(cost, active);
}

// Which of the 32 symbols of a row are not zero.
__device__ __forceinline__ u32 row_pattern(const u32 (&words)[TILE / 4]) {
    u32 pattern = 0;
#pragma unroll
    for (i32 k = 0; k < TILE / 4; k += 2) {
        const u32 low = (((words[k] & 0x7f7f7f7f) + 0x7f7f7f7f) | words[k]) & 0x80808080;
        const u32 high = (((words[k + 1] & 0x7f7f7f7f) + 0x7f7f7f7f) | words[k + 1]) & 0x80808080;
        pattern |= __dp4a(high, 0x80402010u, __dp4a(low, 0x08040201u, 0u)) >> 7 << 4 * k;
    }
    return pattern;
}

constexpr u32 ONES = 0x01010101;
// Symbols with raw bits: each byte above the last one without.
__device__ __forceinline__ u32 large_in(u32 four) {
    return (((four & 0x7f * ONES) + (0x80 - FIRST_WITH_RAW_BITS) * ONES) | four) & 0x80 * ONES;
}
// A row of symbols in shared memory, by the lane of the row. Rows are so far from each other that the same
// columns of all are in different banks.
constexpr u32 STAGED_ROW = TILE + 4;
