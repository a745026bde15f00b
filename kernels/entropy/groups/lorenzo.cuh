// Groups of the Lorenzo predictor: tables, activities and the symbols of a tile by rows. Lane y has row y:
// its coded vertices, its pattern of non-zero symbols, and one symbol per step. Twin of
// src/entropy/groups/lorenzo.rs.
#pragma once
#include "entropy/lists.cuh"

// Activities: 0 has no symbols; in the densest one every vertex has a symbol and no patterns are coded.
constexpr u32 ROW_ACTIVITIES = 9, FULL_ACTIVITY = ROW_ACTIVITIES - 1;
// Up to this activity the rows with any symbol are coded first, since most have none.
constexpr u32 LAST_SPARSE_TILE = 3;
// Tables of activities, of the bytes that flag rows with symbols, of pattern bytes by activity, and of
// symbols by activity. ANCHOR_TABLE has the first vertex of a tile.
constexpr u32 TILE_ACTIVITY = 1, ROW_BYTE = 20, PATTERN = 28, PATTERN_TABLES = FULL_ACTIVITY - 1,
              ROW_SYMBOL = PATTERN + PATTERN_TABLES, ROW_TABLES = FULL_ACTIVITY;
static_assert(ROW_BYTE > ANCHOR_TABLE && PATTERN > ROW_BYTE && ROW_SYMBOL + ROW_TABLES <= MASK_RUN,
    "beside those that both predictors have");
__device__ __forceinline__ u32 pattern_table(u32 activity) { return PATTERN - 1 + activity; }
__device__ __forceinline__ u32 row_table(u32 activity) { return ROW_SYMBOL - 1 + activity; }

__device__ __forceinline__ bool is_table_of_rows(u32 table) {
    return table <= TILE_ACTIVITY || table == MASK_BYTE || table == ANCHOR_TABLE || table == ROW_BYTE ||
           table - PATTERN < PATTERN_TABLES + ROW_TABLES || table == MASK_RUN;
}

// Estimated work of a tile: coding steps by activity, and mask entries.
constexpr u32 STEP_WEIGHT = 28, MASK_LIST_WEIGHT = 64, MOST_STEPS = 32;
static_assert(
    TILE_WEIGHT + 2 * MASK_LIST_WEIGHT + STEP_WEIGHT * MOST_STEPS < LEAST_GROUP_WEIGHT, "no group is empty");
__device__ __forceinline__ u32 steps_of_activity(u32 activity) {
    // Activities 1 to 8, a byte each: 6, 7, 8, 10, 13, 18, 25, 32.
    return activity == 0 ? 0 : (u32)(0x2019120d0a080706ull >> 8 * (activity - 1)) & 255;
}

// In large fields one tile in this many is counted.
constexpr u64 SAMPLED_TILES = 4096;
__device__ __forceinline__ u32 tiles_of_sample(u64 tiles) {
    return tiles < 2 * SAMPLED_TILES ? 1 : (u32)(tiles / SAMPLED_TILES);
}
// The counted tile of the given number.
__device__ __forceinline__ u64 sampled_tile(u32 number, u32 each) {
    return (u64)number * each + (number * 0x9e3779b1u >> 16) % each;
}

// Activity of a tile from the cost of its symbols.
__device__ __forceinline__ u32 tile_activity_of(u32 cost, u32 active) {
    return cost > 0 && 2 * cost >= 3 * active ? FULL_ACTIVITY : activity_of(cost, active);
}

// Bit x: symbol x of the row is not zero.
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
// High bit of each byte: the symbol has raw bits.
__device__ __forceinline__ u32 large_in(u32 four) {
    return (((four & 0x7f * ONES) + (0x80 - FIRST_WITH_RAW_BITS) * ONES) | four) & 0x80 * ONES;
}
// Bytes between rows of staged symbols: equal columns of all rows fall into different banks.
constexpr u32 STAGED_ROW = TILE + 4;

// Vertices of the lane's row that have, or may have, a symbol.
__device__ __forceinline__ u32 active_in_row(const Job& job, const TileShape& shape, u64 tile, u32 states) {
    const i32 lane = threadIdx.x & 31;
    u32 active = lane < shape.owned_y() ? row_mask(shape.owned_x()) : 0;
    if (states != 0) active &= ~TileView(job).hidden_row(tile, lane);
    return active;
}
