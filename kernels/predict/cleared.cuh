// Memory that the first kernel of a call zeroes, since later kernels count and sum in it.
#pragma once
#include "entropy/tables.cuh"

// Zeroes the control block and, in compression, the symbol counts. Only a kernel that is launched in stream
// order may do so, and a kernel that overlaps it must not use either.
__device__ __forceinline__ void clear(const Job& job) {
    constexpr u32 CONTROL = sizeof(Control) / 8, COUNTS = TABLES * ALPHABET;
    const ClearedView work(job);
    const u32 all = CONTROL + (work.symbol_counts() ? COUNTS : 0);
    for (u32 k = blockIdx.x * blockDim.x + threadIdx.x; k < all; k += gridDim.x * blockDim.x)
        (k < CONTROL ? ControlView(job).words()[k] : work.symbol_counts()[k - CONTROL]) = 0;
}
