// The first kernels of the compression of a volume: its range, zeros and missing values, and the bound. Twin
// of src/cpu/statistics.rs.
#pragma once
#include "compress/statistics/decide.cuh"
#include "grid/volume_field.cuh"
#include "predict/cleared.cuh"
#include "topology/tetrahedron.cuh"
#include "volume/compress/shifts.cuh"

// Grid: any. Block: 256 threads. The first kernel. Writes: control block, symbol counts.
template <typename T>
__device__ __forceinline__ void begin_compression(const Job& job) {
    clear(job);
}

constexpr u32 VOLUME_STATISTICS_THREADS = 256;

// Integers in the order of doubles. No finite number has 0, nor the complement of it.
__device__ __forceinline__ u64 ordered(double x) {
    const u64 bits = (u64)__double_as_longlong(x);
    return bits >> 63 ? ~bits : bits | 1ull << 63;
}
__device__ __forceinline__ double from_ordered(u64 key) {
    return __longlong_as_double((long long)(key >> 63 ? key & ~(1ull << 63) : ~key));
}

// The bits of the largest magnitude of a vertex, which are in the order of the magnitudes; of a vertex that
// is not finite those of infinity or more.
template <typename T>
__device__ __forceinline__ typename Real<T>::Bits largest_magnitude(const Vector<T>& v) {
    typedef typename Real<T>::Bits Bits;
    constexpr Bits ALL = ~Bits(0) >> 1;
    Bits largest = 0;
#pragma unroll
    for (i32 c = 0; c < 3; c++) largest = max(largest, (Bits)Real<T>::bits(v.at[c]) & ALL);
    return largest;
}
template <typename T>
__device__ __forceinline__ bool is_finite_magnitude(typename Real<T>::Bits magnitude) {
    return magnitude < (typename Real<T>::Bits)Real<T>::bits(Real<T>::infinity());
}

// Statistics of some vertices.
template <typename T>
struct VolumeStatistics {
    SeenRange<T> range;
    SeenCounts counts;
    u64 filled;

    __device__ __forceinline__ void add(const Job& job, const Vector<T>& v, u64 number) {
        typedef Real<T> R;
        const typename R::Bits magnitude = largest_magnitude(v);
        const bool all_finite = is_finite_magnitude<T>(magnitude),
                   is_filled = job.has_fill && ::is_filled(v, job.fill);
        if (all_finite && !is_filled) {
            counts.zero += magnitude == 0;
            range.add(R::low(v.at[0], R::low(v.at[1], v.at[2])), R::high(v.at[0], R::high(v.at[1], v.at[2])));
            return;
        }
        if (!all_finite) counts.add({0, 1, ~number});
        filled += is_filled && all_finite;
        if (is_filled) return;
#pragma unroll
        for (i32 c = 0; c < 3; c++)
            if (R::finite(v.at[c])) range.add(v.at[c], v.at[c]);
    }
    // Adds those of a warp to those of the call.
    __device__ __forceinline__ void tell(Control& control) {
        range.add_lanes();
        counts.add_lanes();
        filled = warp_sum64(filled);
        if ((threadIdx.x & 31) != 0) return;
        if (range.any()) {
            // Zeros have no sign.
            atomicMax((ull*)&control.volume.not_low, (ull)~ordered((double)range.low + 0.0));
            atomicMax((ull*)&control.volume.high, (ull)ordered((double)range.high + 0.0));
        }
        atomicMax((ull*)&control.volume.first_nonfinite, (ull)counts.first);
        if (counts.zero) atomicAdd((ull*)&control.zero, (ull)counts.zero);
        if (counts.nonfinite) atomicAdd((ull*)&control.nonfinite, (ull)counts.nonfinite);
        if (filled) atomicAdd((ull*)&control.filled, (ull)filled);
    }
};

// The range of the field, of all blocks.
template <typename T>
__device__ __forceinline__ SeenRange<T> range_of_volume(const Control& control) {
    const u64 not_low = __ldcg(&control.volume.not_low);
    return not_low ? SeenRange<T>{(T)from_ordered(~not_low), (T)from_ordered(__ldcg(&control.volume.high))}
                   : SeenRange<T>::none();
}

// Whether outliers make the range. Call with the last block; valid in thread 0.
template <typename T>
__device__ __forceinline__ bool is_volume_wide(const Job& job, const SeenRange<T>& range) {
    WideSample<T, VOLUME_STATISTICS_THREADS> sample;
    sample.load_by(job, [&job](u64 x, u64 row) {
        const Vector<T> v =
            original_at<T>(job, {(long long)x, (long long)(row % job.ny), (long long)(row / job.ny)});
        const bool is_filled = job.has_fill && (has_bits(v.at[0], job.fill) || has_bits(v.at[1], job.fill) ||
                                                   has_bits(v.at[2], job.fill));
        const T of_plane = Real<T>::high(Real<T>::abs(v.at[0]), Real<T>::abs(v.at[1]));
        return is_filled || !finite(v) ? T(0) : Real<T>::high(of_plane, Real<T>::abs(v.at[2]));
    });
    return sample.is_wide((double)range.low, (double)range.high) && range.any();
}

// Decides bound, bin width, fill pattern and warnings from the statistics of all blocks.
template <typename T>
__device__ __forceinline__ void decide_volume(
    const Job& job, Control& control, const SeenRange<T>& range, bool wide) {
    const u64 first = ~__ldcg(&control.volume.first_nonfinite), filled = __ldcg(&control.filled);
    decide(job, control, range, {__ldcg(&control.zero), __ldcg(&control.nonfinite), ~0ull}, filled, wide);
    if (job.has_fill) {
        control.list.fill_w = job.fill;
    } else if (control.has_fill) {
        const u64 row = first / job.nx;
        const GridPoint p = {
            (long long)(first - row * job.nx), (long long)(row % job.ny), (long long)(row / job.ny)};
        const Vector<T> v = original_at<T>(job, p);
        control.fill[0] = Real<T>::bits(v.at[0]);
        control.fill[1] = Real<T>::bits(v.at[1]);
        control.list.fill_w = Real<T>::bits(v.at[2]);
    }
}

// Grid: any. Block: 256 threads. One pass over the field. Reads: the field. Writes: statistics, the bound,
// and the largest magnitudes by shift in the control block.
template <typename T>
__device__ __forceinline__ void volume_statistics(const Job& job) {
    // Vertices of a thread whose loads are under way at the same time.
    constexpr u32 AT_ONCE = 16 / sizeof(T);
    Control& control = control_of(job);
    VolumeStatistics<T> found = {SeenRange<T>::none(), {0, 0, 0}, 0};
    const u64 rows = job.ny * job.nz, warps = (u64)gridDim.x * (blockDim.x / 32);
    for (u64 row = (u64)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; row < rows; row += warps) {
        const long long z = (long long)(row / job.ny), y = (long long)(row - (u64)z * job.ny);
        for (u64 first = threadIdx.x & 31; first < job.nx; first += 32 * AT_ONCE) {
            Vector<T> vertices[AT_ONCE];
#pragma unroll
            for (u32 j = 0; j < AT_ONCE; j++)
                if (first + 32 * j < job.nx)
                    vertices[j] = original_at<T>(job, {(long long)(first + 32 * j), y, z});
#pragma unroll
            for (u32 j = 0; j < AT_ONCE; j++)
                if (first + 32 * j < job.nx) found.add(job, vertices[j], row * job.nx + first + 32 * j);
        }
    }
    __syncwarp();
    found.tell(control);
    if (!last_block(control, TICKET_STATISTICS)) return;
    const SeenRange<T> range = range_of_volume<T>(control);
    const bool wide = is_volume_wide(job, range);
    if (threadIdx.x == 0) decide_volume(job, control, range, wide);
    __syncthreads();
    if (threadIdx.x >= 1 && threadIdx.x <= VOLUME_MOST_SHIFT)
        control.volume.largest_with_shift[threadIdx.x] =
            (double)largest_with_shift<T>(control.useful_bound, threadIdx.x);
}
