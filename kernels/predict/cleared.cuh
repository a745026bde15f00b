// Memory that the first kernel of a call zeroes, since later kernels count and sum in it.
#pragma once
#include "entropy/tables.cuh"
#include "predict/anchor_scan.cuh"
#include "predict/anchor_tree.cuh"

// Zeroes the control block and, in compression, the symbol counts. Only a kernel that is launched in stream
// order may do so, and a kernel that overlaps it must not use either.
__device__ __forceinline__ void clear(const Job& job) {
    constexpr u32 CONTROL = sizeof(Control) / 8, COUNTS = TABLES * ALPHABET;
    const ClearedView work(job);
    const u32 all = CONTROL + (work.symbol_counts() ? COUNTS : 0);
    for (u32 k = blockIdx.x * blockDim.x + threadIdx.x; k < all; k += gridDim.x * blockDim.x)
        (k < CONTROL ? ControlView(job).words()[k] : work.symbol_counts()[k - CONTROL]) = 0;
}
// Zeroes the sets of coded anchors, or the states of the chunks of anchors.
__device__ __forceinline__ void clear_scan(u32* words, u64 count) {
    for (u64 k = (u64)blockIdx.x * blockDim.x + threadIdx.x; k < count; k += (u64)gridDim.x * blockDim.x)
        words[k] = 0;
}
__device__ __forceinline__ void clear_trees(const Job& job) {
    if (job.predictor == PREDICTOR_HIERARCHICAL)
        clear_scan(CodedAnchorsView(job).tree(), tree_words(job.tiles()) + tree_words(job.tiles_y));
}
