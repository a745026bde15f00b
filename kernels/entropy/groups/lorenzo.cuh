// Groups of the Lorenzo predictor: tables, activities and the symbols of a tile by rows. Lane y has row y:
// its coded vertices, its pattern of non-zero symbols, and one symbol per step. Twin of
// src/entropy/groups/lorenzo.rs.
#pragma once
#include "device/workspace.cuh"
#include "entropy/lists.cuh"
#include "grid/tiles.cuh"

// Tables of pattern bytes and of symbols: one for each activity above 0, which has no symbols. In the densest
// activity every vertex has a symbol, and no patterns are coded. ANCHOR_TABLE has the first vertex of a tile.
constexpr u32 PATTERN_TABLES = FULL_ACTIVITY - 1, ROW_TABLES = FULL_ACTIVITY;
static_assert(ROW_BYTE > ANCHOR_TABLE && PATTERN > ROW_BYTE && ROW_SYMBOL + ROW_TABLES <= MASK_RUN,
    "beside those that both predictors have");
__device__ __forceinline__ u32 pattern_table(u32 activity) { return PATTERN - 1 + activity; }
__device__ __forceinline__ u32 row_table(u32 activity) { return ROW_SYMBOL - 1 + activity; }

__device__ __forceinline__ bool is_table_of_rows(u32 table) {
    return table <= TILE_ACTIVITY || table == MASK_BYTE || table == ANCHOR_TABLE || table == ROW_BYTE ||
           table - PATTERN < PATTERN_TABLES + ROW_TABLES || table == MASK_RUN;
}

// Estimated work of a tile: coding steps by activity, and mask entries.
static_assert(
    TILE_WEIGHT + 2 * MASK_LIST_WEIGHT + STEP_WEIGHT * TILE < LEAST_GROUP_WEIGHT, "no group is empty");
__device__ __forceinline__ u32 steps_of_activity(u32 activity) {
    return activity == 0 ? 0 : (u32)(STEPS_BY_ACTIVITY >> 8 * (activity - 1)) & 255;
}

// In large fields one tile in this many is counted.
__device__ __forceinline__ u32 tiles_of_sample(u64 tiles) {
    return tiles < 2 * SAMPLED_TILES ? 1 : (u32)(tiles / SAMPLED_TILES);
}
// The counted tile of the given number.
__device__ __forceinline__ u64 sampled_tile(u32 number, u32 each) {
    return (u64)number * each + (number * SHUFFLE >> 16) % each;
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

// Vertices of the lane's row that have, or may have, a symbol.
__device__ __forceinline__ u32 active_in_row(const Job& job, const OwnedSize& size, u64 tile, u32 states) {
    const i32 lane = threadIdx.x & 31;
    u32 active = lane < (i32)size.y ? row_mask((i32)size.x) : 0;
    if (states != 0) active &= ~TileView(job).hidden_row(tile, lane);
    return active;
}
