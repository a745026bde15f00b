// Warns if outliers stretch the range of a field, from a sample of vertices. Twin of src/grid/wide_range.rs.
#pragma once
#include "device/control.cuh"
#include "grid/field.cuh"
#include "grid/missing.cuh"

// Per block: magnitudes of the sampled vertices of this thread, 0 for missing ones. They are loaded before
// the range is known.
template <typename T, u32 THREADS>
struct WideSample {
    static constexpr u32 EACH = WIDE_SAMPLES / THREADS, FIELD_BITS = 10;
    static_assert(EACH * 32 < 1u << FIELD_BITS, "the counts of a warp have their bits");
    T sizes[EACH];

    // `size_at` is the magnitude of the vertex in a column of a row.
    template <typename Size>
    __device__ __forceinline__ void load_by(const Job& job, const Size& size_at) {
        const u64 vertices = job.vertices(), samples = vertices < WIDE_SAMPLES ? vertices : WIDE_SAMPLES;
#pragma unroll
        for (u32 i = 0; i < EACH; i++) {
            const u64 k = threadIdx.x + i * THREADS;
            sizes[i] = T(0);
            if (k >= samples) continue;
            const u64 anywhere = (u32)k * SHUFFLE >> 16,
                      index = k * vertices / samples + (anywhere * (vertices / samples) >> 16);
            const u64 row = index / job.nx;
            sizes[i] = size_at(index - row * job.nx, row);
        }
    }
    __device__ __forceinline__ void load(const Job& job) {
        load_by(job, [&job](u64 x, u64 row) {
            const u64 y = row_in_memory(job, row);
            const T u = *vertex_at<T>(job.u, job.u_layout, (long long)x, (long long)y);
            const T v = *vertex_at<T>(job.v, job.v_layout, (long long)x, (long long)y);
            return is_missing(u, v, job.fill) ? T(0) : Real<T>::high(Real<T>::abs(u), Real<T>::abs(v));
        });
    }
    // Valid in thread 0.
    __device__ __forceinline__ bool is_wide(double low, double high) const {
        __shared__ u32 counts[THREADS / 32];
        const double half = 0.5 * high - 0.5 * low, tiny = half / (0.5 * WIDE_TINY),
                     large = half / (0.5 * WIDE_LARGE);
        u32 mine = 0;
#pragma unroll
        for (u32 i = 0; i < EACH; i++) {
            const double size = (double)sizes[i];
            if (size == 0.0) continue;
            mine += 1 + (size < tiny ? 1u << FIELD_BITS : size < large ? 1u << 2 * FIELD_BITS : 0);
        }
        mine = warp_sum(mine);
        if ((threadIdx.x & 31) == 0) counts[threadIdx.x >> 5] = mine;
        __syncthreads();
        u32 all = 0, tiny_ones = 0, between = 0;
        if (threadIdx.x == 0) {
            for (u32 w = 0; w < THREADS / 32; w++) {
                constexpr u32 MASK = (1u << FIELD_BITS) - 1;
                all += counts[w] & MASK, tiny_ones += counts[w] >> FIELD_BITS & MASK,
                    between += counts[w] >> 2 * FIELD_BITS;
            }
        }
        return all > 0 && WIDE_PART * tiny_ones >= all && WIDE_PART * between <= all;
    }
};
