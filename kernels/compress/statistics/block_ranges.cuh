// Statistics of the field, by block of the kernel that collects them. Twin of src/cpu/statistics.rs.
#pragma once
#include "device/control.cuh"

// Range of the finite values; low > high if there are none.
template <typename T>
struct SeenRange {
    T low, high;

    static __device__ __forceinline__ SeenRange none() {
        const T infinite = Real<T>::infinity();
        return {infinite, -infinite};
    }
    __device__ __forceinline__ bool any() const { return low <= high; }
    __device__ __forceinline__ void add(T other_low, T other_high) {
        low = Real<T>::low(low, other_low);
        high = Real<T>::high(high, other_high);
    }
    __device__ __forceinline__ void add(const SeenRange& other) { add(other.low, other.high); }
    __device__ __forceinline__ void add_lanes() {
#pragma unroll
        for (i32 k = 16; k > 0; k /= 2) add(__shfl_xor_sync(FULL, low, k), __shfl_xor_sync(FULL, high, k));
    }
};
// Numbers of zeros and of vertices that are not finite, and ~index of the first of the latter.
struct SeenCounts {
    u64 zero, nonfinite, first;

    __device__ __forceinline__ void add(const SeenCounts& other) {
        zero += other.zero;
        nonfinite += other.nonfinite;
        first = other.first > first ? other.first : first;
    }
    __device__ __forceinline__ void add_lanes() {
#pragma unroll
        for (i32 k = 16; k > 0; k /= 2)
            add({__shfl_xor_sync(FULL, zero, k), __shfl_xor_sync(FULL, nonfinite, k),
                __shfl_xor_sync(FULL, first, k)});
    }
};
// Number of filled vertices.
struct SeenFilled {
    u64 count;

    __device__ __forceinline__ void add(const SeenFilled& other) { count += other.count; }
    __device__ __forceinline__ void add_lanes() {
#pragma unroll
        for (i32 k = 16; k > 0; k /= 2) count += __shfl_xor_sync(FULL, count, k);
    }
};
// Results of all blocks, at most one per tile, in the memory that later holds the words: ranges, counts,
// filled counts.
template <typename T>
struct Seen {
    SeenRange<T>* ranges;
    SeenCounts* counts;
    SeenFilled* filled;

    __device__ __forceinline__ explicit Seen(const Job& job) {
        const StatisticsView<T> work(job);
        ranges = work.ranges(), counts = work.counts(), filled = work.filled();
    }
};
static_assert(sizeof(SeenRange<double>) + sizeof(SeenCounts) + sizeof(SeenFilled) <= TILE_SLOT_BYTES_F32,
    "they have their place");
