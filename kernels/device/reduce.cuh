// Reductions and scans of a warp and of a block.
#pragma once
#include "device/ptx.cuh"

typedef unsigned long long ull;  // of atomics

constexpr u32 FULL = 0xffffffffu;  // all lanes of a warp

__device__ __forceinline__ u32 warp_sum(u32 x) {
#if __CUDA_ARCH__ >= 800
    return __reduce_add_sync(FULL, x);
#else
    for (i32 k = 16; k > 0; k /= 2) x += __shfl_xor_sync(FULL, x, k);
    return x;
#endif
}

__device__ __forceinline__ u32 warp_max(u32 x) {
#if __CUDA_ARCH__ >= 800
    return __reduce_max_sync(FULL, x);
#else
    for (i32 k = 16; k > 0; k /= 2) x = max(x, __shfl_xor_sync(FULL, x, k));
    return x;
#endif
}

// The OR over all lanes. The compiler then knows that the result is uniform; without that it surrounds each
// vote that depends on it with code for divergent lanes.
__device__ __forceinline__ u32 warp_or(u32 x) {
#if __CUDA_ARCH__ >= 800
    return __reduce_or_sync(FULL, x);
#else
    for (i32 k = 16; k > 0; k /= 2) x |= __shfl_xor_sync(FULL, x, k);
    return x;
#endif
}

// As warp_or, for a value that is the same in all lanes.
__device__ __forceinline__ u64 uniform(u64 x) { return (u64)warp_or((u32)(x >> 32)) << 32 | warp_or((u32)x); }

__device__ __forceinline__ u64 warp_sum64(u64 x) {
    for (i32 k = 16; k > 0; k /= 2) x += __shfl_xor_sync(FULL, x, k);
    return x;
}

// The sum over a warp of values below 2^54.
__device__ __forceinline__ u64 warp_sum_long(u64 x) {
    constexpr i32 BITS = 27;
    return warp_sum((u32)x & ((1 << BITS) - 1)) + ((u64)warp_sum((u32)(x >> BITS)) << BITS);
}

// The inclusive sum over the lanes.
__device__ __forceinline__ u32 warp_inclusive_sum(u32 value) {
#pragma unroll
    for (i32 k = 1; k < 32; k *= 2) value = add_from_below(value, k);
    return value;
}

// The first lane whose inclusive sum is more than `wanted`; the last one if there is none.
__device__ __forceinline__ u32 lane_of_sum(u32 inclusive_sum, u32 wanted) {
    u32 of = 0;
#pragma unroll
    for (u32 step = 16; step > 0; step /= 2)
        if (__shfl_sync(FULL, inclusive_sum, of + step - 1) <= wanted) of += step;
    return min(of, 31u);
}

// The exclusive sum over the lanes.
__device__ __forceinline__ u64 warp_exclusive_sum(u64 x) {
    const i32 lane = threadIdx.x & 31;
    u64 sum = x;
    for (i32 k = 1; k < 32; k *= 2) {
        const u64 other = __shfl_up_sync(FULL, sum, k);
        if (lane >= k) sum += other;
    }
    return sum - x;
}

// The exclusive sum over a block of up to 1024 threads, and the total.
__device__ inline u64 block_exclusive_sum(u64 value, u64& total) {
    __shared__ u64 sums[32];
    const i32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = (i32)(blockDim.x >> 5);
    u64 sum = value;
    for (i32 k = 1; k < 32; k *= 2) {
        const u64 other = __shfl_up_sync(FULL, sum, k);
        if (lane >= k) sum += other;
    }
    __syncthreads();
    if (lane == 31) sums[warp] = sum;
    __syncthreads();
    u64 before = lane < warps ? sums[lane] : 0;
    for (i32 k = 1; k < 32; k *= 2) {
        const u64 other = __shfl_up_sync(FULL, before, k);
        if (lane >= k) before += other;
    }
    total = __shfl_sync(FULL, before, 31);
    before = __shfl_sync(FULL, before, (warp + 31) & 31);
    return (warp ? before : 0) + sum - value;
}
