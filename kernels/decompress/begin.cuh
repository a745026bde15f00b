// The beginning of decompression.
#pragma once
#include "predict/cleared.cuh"

// Grid: any. Block: 256 threads. Shared: none. The first kernel of decompression. Writes: control block.
template <typename T>
__device__ __forceinline__ void begin_call(const Job& job) {
    clear(job);
}
