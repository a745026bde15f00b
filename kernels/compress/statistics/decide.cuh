// Decides bound, bin width and fill value from the statistics of all blocks.
#pragma once
#include "compress/statistics/strips.cuh"
#include "grid/field.cuh"
#include "grid/range.cuh"
#include "grid/wide_range.cuh"
#include "predict/quantizer.cuh"

// Absolute bound of the call from the range of the field.
template <typename T>
__device__ __forceinline__ double bound_of(const Job& job, const SeenRange<T>& range) {
    if (job.bound_kind != BOUND_RELATIVE) return job.bound;
    if (!range.any()) return 0.0;
    return relative_bound(job.bound, (double)range.low, (double)range.high);
}

// The bound, lowered to where a larger one would change nothing.
template <typename T>
__device__ __forceinline__ double useful_bound_of(const Job& job, const SeenRange<T>& range) {
    const double bound = bound_of(job, range);
    return range.any()
               ? useful_bound<T>(bound, Real<T>::high(Real<T>::abs(range.low), Real<T>::abs(range.high)),
                     job.preserve != PRESERVE_NONE)
               : bound;
}

// Vertices at most this far from the origin have a bound of their own or are special. With a bound of 0 all
// are: zeros may have a sign to keep.
__device__ __forceinline__ double near_bound(const Job& job, double bound_up) {
    if (bound_up == 0.0) return Real<double>::infinity();
    return job.preserve != PRESERVE_NONE ? bound_up : 0.0;
}

// Decides bound, bin width, fill value and warnings from the results of all blocks.
template <typename T>
__device__ __forceinline__ void decide(const Job& job, Control& control, const SeenRange<T>& range,
    const SeenCounts& counts, u64 filled, bool wide) {
    const bool any = range.any();
    const double low = any ? (double)range.low : 0.0, high = any ? (double)range.high : 0.0,
                 bound = bound_of(job, range);
    const double largest = fabs(low) > fabs(high) ? fabs(low) : fabs(high);
    control.largest = largest;
    control.zero = counts.zero;
    control.nonfinite = counts.nonfinite;
    control.filled = filled;
    control.bound = bound;
    const double useful = useful_bound<T>(bound, (T)largest, job.preserve != PRESERVE_NONE);
    control.useful_bound = useful;
    control.bound_up = (double)round_up<T>(useful);
    control.half_bin_width = half_bin_width_of<T>(useful, (T)largest);
    control.quantizer.accept = (double)acceptance<T>(useful);
    control.warnings = wide && job.bound_kind == BOUND_RELATIVE && bound > 0.0 ? WARNING_WIDE_RANGE : 0;
    control.has_fill = job.has_fill || counts.nonfinite != 0;
    if (job.has_fill) {
        control.fill[0] = control.fill[1] = job.fill;
    } else if (control.has_fill) {
        const u64 index = ~counts.first;
        const long long x = (long long)(index % job.nx), y = (long long)(index / job.nx);
        control.fill[0] = Real<T>::bits(*vertex_at<T>(job.u, job.u_layout, x, y));
        control.fill[1] = Real<T>::bits(*vertex_at<T>(job.v, job.v_layout, x, y));
    }
}

// Adds up `count` results of blocks, strided over the threads, eight loads at a time.
template <typename S>
__device__ __forceinline__ void add_seen(const S* of_blocks, u32 blocks, const S& none, S& sum) {
    constexpr u32 AT_ONCE = 8, THREADS = 32 * SORT_WARPS;
#pragma unroll 1
    for (u32 first = threadIdx.x; first < blocks; first += AT_ONCE * THREADS) {
        S some[AT_ONCE];
#pragma unroll
        for (u32 i = 0; i < AT_ONCE; i++)
            some[i] = first + i * THREADS < blocks ? of_blocks[first + i * THREADS] : none;
#pragma unroll
        for (u32 i = 0; i < AT_ONCE; i++) sum.add(some[i]);
    }
}

// Range of the field. Call with a block; valid in all threads.
template <typename T>
__device__ __forceinline__ SeenRange<T> range_of_all(const Job& job) {
    __shared__ SeenRange<T> ranges[SORT_WARPS];
    const Seen<T> seen(job);
    SeenRange<T> range = SeenRange<T>::none();
    add_seen(seen.ranges, statistics_blocks(job), SeenRange<T>::none(), range);
    range.add_lanes();
    if ((threadIdx.x & 31) == 0) ranges[threadIdx.x >> 5] = range;
    __syncthreads();
    range = ranges[0];
#pragma unroll
    for (u32 w = 1; w < SORT_WARPS; w++) range.add(ranges[w].low, ranges[w].high);
    return range;
}

// Call with a block.
template <typename T>
__device__ __forceinline__ void decide(const Job& job) {
    __shared__ SeenCounts counts_of_warps[SORT_WARPS];
    __shared__ SeenFilled filled_of_warps[SORT_WARPS];
    const Seen<T> seen(job);
    WideSample<T, 32 * SORT_WARPS> sample;
    sample.load(job);
    SeenFilled filled = {0};
    if (job.has_fill) {
        add_seen(seen.filled, statistics_blocks(job), SeenFilled{0}, filled);
        filled.add_lanes();
    }
    if ((threadIdx.x & 31) == 0) filled_of_warps[threadIdx.x >> 5] = filled;
    SeenCounts counts = {0, 0, 0};
    add_seen(seen.counts, statistics_blocks(job), SeenCounts{0, 0, 0}, counts);
    counts.add_lanes();
    if ((threadIdx.x & 31) == 0) counts_of_warps[threadIdx.x >> 5] = counts;
    const SeenRange<T> range = range_of_all<T>(job);
    const bool wide = sample.is_wide((double)range.low, (double)range.high);
    if (threadIdx.x != 0) return;
#pragma unroll
    for (u32 w = 1; w < SORT_WARPS; w++) counts.add(counts_of_warps[w]), filled.add(filled_of_warps[w]);
    decide(job, control_of(job), range, counts, filled.count, wide);
}
