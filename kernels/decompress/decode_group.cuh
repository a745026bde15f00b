// Data that the two warps of a group share: plans of the entries that each lane decodes, symbols found, and
// the number of the next group.
//
// Two warps share a group of the hierarchical predictor, because the way of a chunk from states to placed
// symbols is long. The reader (decode_reader.cuh) turns states into symbols, runs and raw bits. The placer
// (decode_placer.cuh) plans a chunk before (what each lane decodes) and places its symbols afterwards.
#pragma once
#include "device/control.cuh"
#include "device/shared.cuh"
#include "entropy/groups/decode.cuh"

constexpr u32 LISTS_AND_ACTIVITIES = TILE_LISTS * ACTIVITIES;

// Shared state of the two warps. A barrier between chunks keeps writes from data still being read.
struct DecodeGroup {
    BatchLists lists;
    MaskedTiles<MOST_MASKED_TILES> masked;
    GroupWords words;
    u32 plans[4][32];  // of a chunk, for the reader
    u32 found[2][32];  // by the reader
    u32 steps[BATCH];  // by tile: steps of 32 positions with symbols
    union {
        u64 raw[2][2][32];  // raw bits, low and high
        struct {
            u32 infos[BATCH], counts[BATCH];  // of a batch, by the reader, before its chunks
        } tiles;
    };
    u32 entries;                 // of a batch
    u32 reader_bad, placer_bad;  // the group is invalid
    u32 next;                    // group, when this one is done
};

// Plan of an entry: its position, that of a sparse list as if the list began with it; tile in the batch <<
// 10; flags; its table, and that of its run. The table NO_TABLE leaves the state unchanged.
constexpr u32 PLAN_TILE_AT = 10, PLAN_HERE = 1 << 15, PLAN_LISTED = 1 << 16, PLAN_TABLE_AT = 17,
              PLAN_RUN_TABLE_AT = 23, PLAN_ACTIVE = 1 << 30, PLAN_FIRST = 1u << 31;
static_assert(TABLES < 64, "a table has six bits");
__device__ __forceinline__ u32 position_of_plan(u32 plan) { return plan & (TILE_VERTICES - 1); }
// Position, and tile in the batch.
__device__ __forceinline__ u32 vertex_of_plan(u32 plan) { return plan & (BATCH * TILE_VERTICES - 1); }
__device__ __forceinline__ u32 table_of_plan(u32 plan) { return plan >> PLAN_TABLE_AT & 63; }
__device__ __forceinline__ u32 run_table_of_plan(u32 plan) { return plan >> PLAN_RUN_TABLE_AT & 63; }
__device__ __forceinline__ u32 without_symbol(u32 plan) {
    return (plan & ~(63u << PLAN_TABLE_AT | PLAN_ACTIVE)) | TABLES << PLAN_TABLE_AT;
}
// Of the first entry of a list in tile 0. A list of a block without symbols stands for none.
__device__ __forceinline__ u32 plan_of_list(u32 list, u32 activity) {
    const bool sparse = list != TOP_LIST && is_sparse(activity);
    return activity == 0 ? TABLES << PLAN_TABLE_AT | TABLES << PLAN_RUN_TABLE_AT
                         : (u32)list_start(list) | PLAN_HERE | PLAN_ACTIVE | (sparse ? PLAN_LISTED : 0) |
                               table_in_list(list, activity, list_start(list)) << PLAN_TABLE_AT |
                               (sparse ? RUN + activity - 1 : TABLES) << PLAN_RUN_TABLE_AT;
}

// Result of the reader: symbol, run << 8.
__device__ __forceinline__ u32 symbol_found(u32 found) { return found & 255; }
__device__ __forceinline__ i32 run_found(u32 found) { return (i32)(found >> 8); }

// Number of a group that nobody has begun, behind the first `stride` ones. Groups take different times, so
// who is done first takes the next one. Call with one thread.
__device__ __forceinline__ u32 next_group(const Job& job, u32 groups, u32 stride) {
    return groups <= stride ? groups : stride + atomicAdd(&control_of(job).tickets[TICKET_DECODE], 1u);
}
