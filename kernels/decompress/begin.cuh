// The beginning of decompression.
#pragma once
#include "predict/cleared.cuh"

// Grid: any. Block: 256 threads. Shared: none. The first kernel of decompression. Writes: control block,
// states of the chunks of anchors.
template <typename T>
__device__ __forceinline__ void begin_call(const Job& job) {
    clear(job);
    const AnchorScan scan(job);
    clear_scan(const_cast<u32*>(scan.states), (job.tiles() + ANCHOR_CHUNK - 1) / ANCHOR_CHUNK);
}
