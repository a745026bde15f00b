// What both directions of the entropy coder share: the lists of a batch of tiles, one behind the other, a
// chunk of 32 entries at a time, and which vertices of a tile have a symbol. Twins:
// src/stage/entropy/{group,list}.rs.
#pragma once
#include "entropy/lists.cuh"

constexpr i32 BATCH = 32;
constexpr i32 MOST_LISTS = BATCH * TILE_LISTS;
constexpr u32 NO_LIST = 0xffff;

// The lists of a batch that have entries, in order.
struct BatchLists {
    u16 starts[MOST_LISTS + 32];  // their first entries; NO_LIST behind the last one
    u16 names[MOST_LISTS];
};

// The tables from this one on are in shared memory; those before are asked for once or twice a batch. (All of
// them would be more than a block has on some devices.)
constexpr u32 FIRST_SHARED_TABLE = MASK_BYTE, SHARED_TABLES = TABLES - FIRST_SHARED_TABLE;

// So many warps work on a group together: they wait for each other.
template <i32 WARPS>
__device__ __forceinline__ void meet(i32 group) {
    __syncwarp();
    meet_at<32 * WARPS>(group + 1);
}

// Which list of which tile of the batch, and the class of its block.
__device__ __forceinline__ u32 list_name(u32 tile, u32 list, u32 cls) { return tile << 5 | list << 3 | cls; }
__device__ __forceinline__ u32 tile_of_list(u32 name) { return name >> 5; }
__device__ __forceinline__ u32 list_in_tile(u32 name) { return name >> 3 & 3; }
__device__ __forceinline__ u32 class_of_list(u32 name) { return name & 7; }
__device__ __forceinline__ bool is_dense(u32 name) {
    return list_in_tile(name) == TOP_LIST || !is_sparse(class_of_list(name));
}

// Collects the lists of a batch, up to N of each lane's tile: how many there are, and entries in all.
// RELATIVE where an entry's number is to be added to a name.
template <i32 N, bool RELATIVE = false, typename Lists>
__device__ __forceinline__ void collect_lists(
    Lists& lists, const u32 (&sizes)[N], const u32 (&names)[N], i32& count, i32& entries) {
    const i32 lane = threadIdx.x & 31;
    // Entries above, lists below: less than 256 of these.
    static_assert(N * BATCH < 256, "they have 8 bits");
    u32 mine = 0;
#pragma unroll
    for (i32 k = 0; k < N; k++) mine += sizes[k] << 8 | (sizes[k] > 0);
    u32 at = sum_up_to_me(mine);
    const u32 all = __shfl_sync(FULL, at, 31);
    at -= mine;
    __syncwarp();
#pragma unroll
    for (i32 k = 0; k < N; k++)
        if (sizes[k]) {
            lists.starts[at & 255] = (u16)(at >> 8);
            lists.names[at & 255] = names[k] - (RELATIVE ? at >> 8 : 0);
            at += sizes[k] << 8 | 1;
        }
    count = (i32)(all & 255);
    entries = (i32)(all >> 8);
    lists.starts[count + lane] = NO_LIST;
    __syncwarp();
}

// The sizes and names of the lists of a lane's tile, from its info word and the entries of its sparse blocks.
__device__ __forceinline__ void code_lists(
    u32 info, bool coded, const u32 (&counts)[3], u32 (&sizes)[TILE_LISTS], u32 (&names)[TILE_LISTS]) {
    const u32 lane = threadIdx.x & 31;
#pragma unroll
    for (u32 list = TOP_LIST; list < TILE_LISTS; list++) {
        const i32 block = list == TOP_LIST ? 0 : (i32)list - 1;
        const u32 cls = class_in(info, block);
        const u32 size =
            list == TOP_LIST || !is_sparse(cls) ? (u32)(list_end(list) - list_start(list)) : counts[block];
        sizes[list] = coded && cls ? size : 0;
        names[list] = list_name(lane, list, cls);
    }
}

// The table of an entry of a list.
__device__ __forceinline__ u32 table_in_list(u32 list, u32 cls, i32 position) {
    const u32 top = ANCHOR_TABLE + (position >= 1) + (position >= 4);
    return list == TOP_LIST ? top : STEP_4 + (CLASSES - 1) * (list - COARSE_LIST) + cls - 1;
}
static_assert(STEP_16 == ANCHOR_TABLE + 1 && STEP_8 == STEP_16 + 1 && STEP_2 == STEP_4 + CLASSES - 1 &&
                  STEP_1 == STEP_2 + CLASSES - 1,
    "in order");

// The list of each lane's entry in a chunk, forwards: `current` is the list of the chunk's first entry. Bits
// of `begins`: lanes whose entry is the first one of a list, but for that of the chunk's first entry.
template <typename Lists>
__device__ __forceinline__ i32 list_of_entry(const Lists& lists, i32 first, i32& current, u32& begins) {
    const i32 next = (i32)warp_or(lists.starts[current + 1]);
    if (next >= first + 32) {
        const i32 mine = current;
        if (next == first + 32) current++;
        begins = 0;
        return mine;
    }
    const i32 lane = threadIdx.x & 31, start = lists.starts[current + 1 + lane];
    begins = warp_or(start < first + 32 ? 1u << (start - first) : 0);
    const i32 mine = current + __popc(begins & ((2u << lane) - 1));
    current += __popc(begins);
    if (warp_or(lists.starts[current + 1]) == (u32)first + 32) current++;
    return mine;
}
