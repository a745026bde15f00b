// The beginning of the decompression of a volume.
#pragma once
#include "predict/cleared.cuh"

// Grid: any. Block: 256 threads. Shared: none. The first kernel. Writes: control block, the bits of hidden
// vertices.
template <typename T>
__device__ __forceinline__ void begin_volume(const Job& job) {
    clear(job);
    const VolumeView work(job);
    const u64 words = 2 * work.hidden_words();
    for (u64 k = blockIdx.x * (u64)blockDim.x + threadIdx.x; k < words; k += (u64)gridDim.x * blockDim.x)
        work.hidden()[k] = 0;
}
