// Lists of the vertices of volumes, which encoder and decoder share. Twin of src/entropy/groups/lists.rs;
// FORMAT.md, section 11.2.
#pragma once
#include "entropy/groups/lists.cuh"
#include "entropy/triples.cuh"
#include "grid/volume_tiles.cuh"

// Non-empty lists of a batch, in order: four for each tile.
struct VolumeLists {
    u32 starts[MOST_LISTS + 32];
    u16 names[MOST_LISTS];
};
// Positions of a list.
__device__ __forceinline__ u32 volume_list_start(u32 list) {
    return list == TOP_LIST ? 0 : list == COARSE_LIST ? 16 : list == MIDDLE_LIST ? 64 : 512;
}
__device__ __forceinline__ u32 volume_list_end(u32 list) {
    return list == TOP_LIST      ? 16
           : list == COARSE_LIST ? 64
           : list == MIDDLE_LIST ? 512
                                 : VOLUME_TILE_VERTICES;
}
// Raw bits of the number of entries of the sparse list of a block.
__device__ __forceinline__ u32 volume_count_bits(i32 block, u32 activity) { return activity - 1 + 3 * block; }
__device__ __forceinline__ u32 volume_table(u32 list, u32 activity, u32 position) {
    if (list == TOP_LIST) return position == 0 ? ANCHOR_TABLE : position < 8 ? STEP_8 : STEP_4 + activity - 1;
    return STEP_4 + (ACTIVITIES - 1) * (list - COARSE_LIST) + activity - 1;
}

// Sizes and names of the lists of the lane's tile; `counts` are the sizes of sparse ones.
__device__ __forceinline__ void lists_of_tile(
    u32 info, bool exists, const u32 (&counts)[3], u32 (&sizes)[TILE_LISTS], u32 (&names)[TILE_LISTS]) {
    const u32 lane = threadIdx.x & 31;
#pragma unroll
    for (u32 list = TOP_LIST; list < TILE_LISTS; list++) {
        const i32 block = list == TOP_LIST ? 0 : (i32)list - 1;
        const u32 activity = activity_in(info, block);
        const u32 size = list == TOP_LIST || !is_sparse(activity)
                             ? volume_list_end(list) - volume_list_start(list)
                             : counts[block];
        sizes[list] = exists && activity ? size : 0;
        names[list] = list_name(lane, list, activity);
    }
}
