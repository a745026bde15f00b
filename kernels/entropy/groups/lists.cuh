// Lists of a batch of 32 tiles, concatenated and processed in chunks of 32 entries; shared by encoder and
// decoder. Twin of src/entropy/groups/lists.rs.
#pragma once
#include "entropy/lists.cuh"

constexpr i32 MOST_LISTS = BATCH * TILE_LISTS;
constexpr u32 NO_LIST = 0xffff;
// Stands behind the last list whether starts have 16 bits or 32.
constexpr u32 END_OF_LISTS = 0x7fffffff;
static_assert((u16)END_OF_LISTS == NO_LIST, "in 16 bits");

// Non-empty lists of a batch, in order.
struct BatchLists {
    u16 starts[MOST_LISTS + 32];  // number of the first entry; NO_LIST after the last list
    u16 names[MOST_LISTS];
};

// Tables from this one on are in shared memory; earlier ones are used once or twice a batch and would not fit
// on all devices.
constexpr u32 FIRST_SHARED_TABLE = MASK_BYTE, SHARED_TABLES = TABLES - FIRST_SHARED_TABLE;

// Barrier of the WARPS warps that share a group.
template <i32 WARPS>
__device__ __forceinline__ void meet(i32 group) {
    __syncwarp();
    meet_at<32 * WARPS>(group + 1);
}

// A list: its tile in the batch, its number in the tile, and the activity of its block.
__device__ __forceinline__ u32 list_name(u32 tile, u32 list, u32 activity) {
    return tile << 5 | list << 3 | activity;
}
__device__ __forceinline__ u32 tile_of_list(u32 name) { return name >> 5; }
__device__ __forceinline__ u32 list_in_tile(u32 name) { return name >> 3 & 3; }
__device__ __forceinline__ u32 activity_of_list(u32 name) { return name & 7; }
__device__ __forceinline__ bool is_dense(u32 name) {
    return list_in_tile(name) == TOP_LIST || !is_sparse(activity_of_list(name));
}

// Concatenates the lists of a batch, up to N per lane. RELATIVE: names are adjusted so that adding an entry's
// number gives its place.
template <i32 N, bool RELATIVE = false, typename Lists>
__device__ __forceinline__ void concatenate_lists(
    Lists& lists, const u32 (&sizes)[N], const u32 (&names)[N], i32& count, i32& entries) {
    const i32 lane = threadIdx.x & 31;
    // Entry count in the high bits, list count (below 256) in the low ones.
    static_assert(N * BATCH < 256, "they have 8 bits");
    u32 mine = 0;
#pragma unroll
    for (i32 k = 0; k < N; k++) mine += sizes[k] << 8 | (sizes[k] > 0);
    u32 at = warp_inclusive_sum(mine);
    const u32 all = __shfl_sync(FULL, at, 31);
    at -= mine;
    __syncwarp();
#pragma unroll
    for (i32 k = 0; k < N; k++)
        if (sizes[k]) {
            lists.starts[at & 255] = at >> 8;
            lists.names[at & 255] = names[k] - (RELATIVE ? at >> 8 : 0);
            at += sizes[k] << 8 | 1;
        }
    count = (i32)(all & 255);
    entries = (i32)(all >> 8);
    lists.starts[count + lane] = END_OF_LISTS;
    __syncwarp();
}

// Sizes and names of the lists of the lane's tile from its info word; `counts` are the sizes of sparse
// blocks.
__device__ __forceinline__ void code_lists(
    u32 info, bool coded, const u32 (&counts)[3], u32 (&sizes)[TILE_LISTS], u32 (&names)[TILE_LISTS]) {
    const u32 lane = threadIdx.x & 31;
#pragma unroll
    for (u32 list = TOP_LIST; list < TILE_LISTS; list++) {
        const i32 block = list == TOP_LIST ? 0 : (i32)list - 1;
        const u32 activity = activity_in(info, block);
        const u32 size = list == TOP_LIST || !is_sparse(activity) ? (u32)(list_end(list) - list_start(list))
                                                                  : counts[block];
        sizes[list] = coded && activity ? size : 0;
        names[list] = list_name(lane, list, activity);
    }
}

// Table of an entry of a list.
__device__ __forceinline__ u32 table_in_list(u32 list, u32 activity, i32 position) {
    const u32 top = ANCHOR_TABLE + (position >= 1) + (position >= 4);
    return list == TOP_LIST ? top : STEP_4 + (ACTIVITIES - 1) * (list - COARSE_LIST) + activity - 1;
}
static_assert(STEP_16 == ANCHOR_TABLE + 1 && STEP_8 == STEP_16 + 1 && STEP_2 == STEP_4 + ACTIVITIES - 1 &&
                  STEP_1 == STEP_2 + ACTIVITIES - 1,
    "in order");

// The list of each lane's entry in a chunk that starts at `first`. `current` is the list of the first entry
// and advances to the next chunk. Bits of `begins`: lanes whose entry starts a list, other than the chunk's
// first. `next`: where the list of all entries ends, 0 if they are in several.
template <typename Lists>
__device__ __forceinline__ i32 list_of_entry(
    const Lists& lists, i32 first, i32& current, u32& begins, i32& next) {
    next = (i32)warp_or(lists.starts[current + 1]);
    if (next >= first + 32) {
        const i32 mine = current;
        if (next == first + 32) current++;
        begins = 0;
        return mine;
    }
    next = 0;
    const i32 lane = threadIdx.x & 31, start = lists.starts[current + 1 + lane];
    begins = warp_or(start < first + 32 ? 1u << (start - first) : 0);
    const i32 mine = current + __popc(begins & ((2u << lane) - 1));
    current += __popc(begins);
    if (warp_or(lists.starts[current + 1]) == (u32)first + 32) current++;
    return mine;
}
