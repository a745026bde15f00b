// Sorts the bounded tiles into lists by kind, those with most work first. cheap_bounds or
// constrained_vertices has given each its number in its class.
#pragma once
#include "compress/bounds/tile_lists.cuh"
#include "compress/statistics/nearness.cuh"
#include "device/control.cuh"

// Lists all bounded tiles. Tiles with most work come first, because no other work is left to overlap the last
// ones.
__device__ __forceinline__ void list_by_weight(const Job& job, Control& control) {
    const ListsView work(job);
    const u64 threads = (u64)gridDim.x * blockDim.x;
    auto number_of = [&](u32 kind) {
        u64 sum = 0;
        for (u32 w = 0; w < WEIGHTS; w++) sum += control.weighed[kind][w];
        return sum;
    };
    for (u64 k = (u64)blockIdx.x * blockDim.x + threadIdx.x; k < control.bounded_tiles; k += threads) {
        const u64 tile = work.bounded()[k];
        const Nearness& entry = nearness_of(job, tile);
        if (entry.weighted == NOT_LISTED) continue;
        const u32 weight = weight_in(entry.weighted);
        u64 at = number_in(entry.weighted);
#pragma unroll
        for (u32 w = 1; w < WEIGHTS; w++)
            if (w > weight) at += control.weighed[entry.kind][w];
        const u64 border = entry.kind == BORDER_TILE || entry.kind == CONSTRAINED_TILE
                               ? 0
                               : number_of(BORDER_TILE),
                  speculative = entry.kind == MASKED_TILE ? number_of(SPECULATIVE_TILE) : 0;
        work.tile_lists()[place_in_lists(job, control, entry.kind, at, border, speculative)] = tile;
    }
    if (blockIdx.x == 0 && threadIdx.x < LISTS) {
        u64& number = threadIdx.x == BORDER_TILE        ? control.border_tiles
                      : threadIdx.x == CONSTRAINED_TILE ? control.constrained_tiles
                      : threadIdx.x == SPECULATIVE_TILE ? control.speculative_tiles
                                                        : control.masked_tiles;
        number = number_of(threadIdx.x);
    }
}

// Grid: any. Block: 128 threads. Speculative mode; determinant_bounds does it in the block-wise mode.
// Reads: kind and weight of each tile. Writes: lists of tiles by weight. Waits for: the previous kernel.
template <typename T>
__device__ __forceinline__ void list_tiles(const Job& job) {
    list_by_weight(job, control_of(job));
}
