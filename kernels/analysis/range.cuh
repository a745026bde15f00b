// Finds the range of a field. Twin of src/analysis/range.rs.
#pragma once
#include "analysis/bands.cuh"

namespace analysis {

// Maps finite values to integers of the same order, never 0.
__device__ __forceinline__ u64 to_ordered(double x) {
    const u64 bits = (u64)__double_as_longlong(x), sign = 1ull << 63;
    return bits & sign ? ~bits : bits | sign;
}
__device__ __forceinline__ double from_ordered(u64 order) {
    const u64 sign = 1ull << 63;
    return __longlong_as_double((long long)(order & sign ? order & ~sign : ~order));
}

// Smallest and largest value after factz_find_range, never -0; infinite without finite values.
__device__ __forceinline__ double lowest_of(const u64* counts) {
    return counts[RANGE_BELOW] ? from_ordered(~counts[RANGE_BELOW]) + 0.0 : Real<double>::infinity();
}
__device__ __forceinline__ double highest_of(const u64* counts) {
    return counts[RANGE_ABOVE] ? from_ordered(counts[RANGE_ABOVE]) + 0.0 : -Real<double>::infinity();
}

// Absolute bound of a comparison.
__device__ __forceinline__ double bound_of(const Analysis& job) {
    if (!job.bound_is_relative) return job.bound;
    return relative_bound(job.bound, lowest_of(job.counts), highest_of(job.counts));
}

// Extremes and counts of one lane.
template <typename T>
struct Extent {
    T low, high;
    u32 zero, nonfinite, filled;
};

template <typename T>
__device__ __forceinline__ void see_pair(const Analysis& job, T u, T v, Extent<T>& seen) {
    typedef Real<T> R;
    const bool u_is_finite = R::finite(u), v_is_finite = R::finite(v),
               filled = job.has_fill && is_filled(u, v, job.fill);
    if (u_is_finite & !filled) seen.low = R::low(seen.low, u), seen.high = R::high(seen.high, u);
    if (v_is_finite & !filled) seen.low = R::low(seen.low, v), seen.high = R::high(seen.high, v);
    seen.zero += (u == T(0)) & (v == T(0)) & !filled;
    seen.nonfinite += !(u_is_finite & v_is_finite);
    seen.filled += u_is_finite & v_is_finite & filled;
}

// The columns of a lane in a band from row y0 on.
template <typename T>
__device__ __forceinline__ void see_columns(const Analysis& job, bool wide, u64 x, u64 y0, Extent<T>& seen) {
    constexpr i32 W = WIDTH<T>;
    const u64 end = job.ny - y0 < ANALYSIS_ROWS ? job.ny : y0 + ANALYSIS_ROWS;
    const i32 columns = job.nx - x < W ? (i32)(job.nx - x) : W;
#pragma unroll 4
    for (u64 y = y0; y < end; y++) {
        const Pair<T> row = load_pair<T>(job, job.fields[0], wide, job.nx, x, y);
#pragma unroll
        for (i32 k = 0; k < W; k++)
            if (k < columns) see_pair(job, row.u.at[k], row.v.at[k], seen);
    }
}

// Adds the results of a block to those of the call.
template <typename T>
__device__ __forceinline__ void add_extents(const Analysis& job, Extent<T> seen, u64* counts) {
    for (i32 k = 1; k < 32; k *= 2) {
        seen.low = Real<T>::low(seen.low, __shfl_xor_sync(FULL, seen.low, k));
        seen.high = Real<T>::high(seen.high, __shfl_xor_sync(FULL, seen.high, k));
    }
    if ((threadIdx.x & 31) == 0 && seen.low <= seen.high) {
        raise_to(counts[RANGE_BELOW], ~to_ordered((double)seen.low));
        raise_to(counts[RANGE_ABOVE], to_ordered((double)seen.high));
    }
    if (seen.zero) add_count(counts[RANGE_ZERO], seen.zero);
    if (seen.nonfinite) add_count(counts[RANGE_NONFINITE], seen.nonfinite);
    if (seen.filled) add_count(counts[RANGE_FILLED], seen.filled);
    __syncthreads();
    const i32 k = RANGE_BELOW + (i32)threadIdx.x;
    if (k >= COUNTS || !counts[k]) return;
    if (k <= RANGE_ABOVE)
        raise_to(job.counts[k], counts[k]);
    else
        add_count(job.counts[k], counts[k]);
}

// Grid: any. Block: 256 threads; a warp takes 32 * WIDTH columns of a band of 32 rows. Reads the first field;
// adds to counts.
template <typename T, bool STACK>
__device__ __forceinline__ void find_range(const Analysis& job) {
    constexpr i32 W = WIDTH<T>;
    constexpr u64 STRIP = 32 * W, CHUNK = ANALYSIS_WARPS * STRIP;
    __shared__ u64 counts[COUNTS];
    for (i32 k = threadIdx.x; k < COUNTS; k += blockDim.x) counts[k] = 0;
    __syncthreads();
    const i32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const bool wide = is_wide<T>(job.fields[0]);
    const u64 chunks = (job.nx + CHUNK - 1) / CHUNK, bands = all_bands(job);
    const T infinite = Real<T>::infinity();
    Extent<T> seen = {infinite, -infinite, 0, 0, 0};
    for (u64 item = blockIdx.x; item < chunks * bands; item += gridDim.x) {
        const u64 x = item % chunks * CHUNK + warp * STRIP + lane * W;
        if (x >= job.nx) continue;
        in_plane<T, STACK>(job, first_row(job, item / chunks, STACK),
            [&](const Analysis& plane, u64 y) { see_columns(plane, wide, x, y, seen); });
    }
    __syncwarp();
    add_extents(job, seen, counts);
}

// Grid: 1. Block: 32 threads. Reads counts; writes the range.
template <typename T>
__device__ __forceinline__ void range_end(const Analysis& job) {
    if (threadIdx.x != 0) return;
    ValueRange range = {};
    range.status = STATUS_OK;
    range.low = lowest_of(job.counts);
    range.high = highest_of(job.counts);
    range.nonfinite_vertices = job.counts[RANGE_NONFINITE];
    range.filled_vertices = job.counts[RANGE_FILLED];
    range.zero_vertices = job.counts[RANGE_ZERO];
    *job.range = range;
}

}  // namespace analysis
