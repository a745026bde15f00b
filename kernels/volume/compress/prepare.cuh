// Vertices of a volume without a code of layer 1 or with their original values, and the bound shift of each
// tile. Twins: fixed_vertices in src/volume/compress.rs, shifts in src/volume/tune.rs.
#pragma once
#include "volume/compress/statistics.cuh"

// The level of a vertex before layer 1, given its largest magnitude.
template <typename T>
__device__ __forceinline__ u32 first_level(const Job& job, const Control& control, const GridPoint& p,
    const Vector<T>& v, typename Real<T>::Bits magnitude) {
    if (!is_finite_magnitude<T>(magnitude) || (job.has_fill && is_filled(v, job.fill))) {
        const bool is_pattern = Real<T>::bits(v.at[0]) == fill_of(control, 0) &&
                                Real<T>::bits(v.at[1]) == fill_of(control, 1) &&
                                Real<T>::bits(v.at[2]) == fill_of(control, 2);
        return is_pattern ? LEVEL_FILLED : LEVEL_EXACT;
    }
    // If no error is allowed, zeros keep their signs.
    if (magnitude == 0) return is_lossless(control) && has_negative_zero(v) ? LEVEL_EXACT : LEVEL_ZERO;
    return job.pin && is_on_sides(job, p, job.pin) ? LEVEL_EXACT : LEVEL_UNCHANGED;
}
__device__ __forceinline__ bool is_hidden_level(u32 level) {
    return level == LEVEL_ZERO || level == LEVEL_FILLED;
}

// Whether vertices may have no code.
__device__ __forceinline__ bool has_hidden_vertices(const Control& control) {
    return (control.zero | control.nonfinite | control.filled) != 0;
}

// Numbers of vertices by bound shift, 16 bits each; of all shifts in place of shift 0.
struct ShiftCounts {
    u32 all;
    u64 words[VOLUME_MOST_SHIFT / 4 + 1];

    // A vertex with its magnitude, given the largest magnitudes with each shift.
    template <typename T>
    __device__ __forceinline__ void add(T size, const T (&largest)[VOLUME_MOST_SHIFT + 1]) {
        all++;
        if (!(size <= largest[1])) return;
        u32 shift = 1;
#pragma unroll
        for (u32 k = 2; k <= VOLUME_MOST_SHIFT; k++) shift += size <= largest[k];
#pragma unroll
        for (u32 k = 0; k <= VOLUME_MOST_SHIFT / 4; k++)
            if (shift / 4 == k) words[k] += 1ull << 16 * (shift % 4);
    }
    // Adds those of a warp, at most 512 vertices, to `counts`.
    __device__ __forceinline__ void add_to(u32* counts) {
        static_assert(VOLUME_TILE_VERTICES / VOLUME_THREADS * 32 < 1 << 16, "16 bits each");
        const u32 lane = threadIdx.x & 31;
        words[0] += all;
#pragma unroll
        for (u32 k = 0; k <= VOLUME_MOST_SHIFT / 4; k++) {
            u64 sum = words[k];
            for (i32 j = 16; j > 0; j /= 2) sum += __shfl_xor_sync(FULL, sum, j);
            const u32 shift = 4 * k + lane, count = (u32)(sum >> 16 * (lane & 3)) & 65535;
            if (lane < 4 && shift <= VOLUME_MOST_SHIFT && count) atomicAdd(counts + shift, count);
        }
    }
};
// The bound shift of a tile: the median, which is that of the median of the magnitudes.
__device__ __forceinline__ u32 median_shift(const u32 (&counts)[VOLUME_MOST_SHIFT + 1]) {
    const u32 all = counts[0];
    // The smallest magnitudes have the largest shifts.
    u32 smaller = 0;
    for (u32 shift = VOLUME_MOST_SHIFT; shift > 0; shift--) {
        smaller += counts[shift];
        if (smaller > all / 2) return shift;
    }
    return 0;
}

// Grid: tiles. Block: VOLUME_THREADS threads, a tile each. Reads: the field, the largest
// magnitudes by shift. Writes: levels, bound shifts.
template <typename T>
__device__ __forceinline__ void prepare_tiles(const Job& job) {
    __shared__ u32 by_shift[VOLUME_MOST_SHIFT + 1];
    __shared__ T largest[VOLUME_MOST_SHIFT + 1];
    const Control& control = control_of(job);
    if (is_stored_volume(control)) return;
    const bool keeps_points = job.preserve != PRESERVE_NONE;
    const VolumeCodeView<T> work(job);
    const VolumeTile tile = volume_tile(job, blockIdx.x);
    if (threadIdx.x <= VOLUME_MOST_SHIFT) {
        by_shift[threadIdx.x] = 0;
        largest[threadIdx.x] = (T)control.volume.largest_with_shift[threadIdx.x];
    }
    __syncthreads();
    ShiftCounts counts = {};
    // A thread has a column of vertices along z.
    static_assert(VOLUME_THREADS == VOLUME_SIDE * VOLUME_SIDE, "a column each");
    constexpr u32 AT_ONCE = 16 / sizeof(T);
    GridPoint p;
    const bool has_column = vertex_in_tile(tile, threadIdx.x, p);
    const u32 planes = has_column ? (u32)tile.owned(2) : 0;
    const T* column[3];
    u64 steps[3];
#pragma unroll
    for (i32 c = 0; c < 3; c++) {
        column[c] = component_at<T>(job, c, p.x, p.y, p.z);
        steps[c] = layout_of(job, c).pitch * job.plane_rows;
    }
    u8* const levels = work.levels() + tile.index * VOLUME_TILE_VERTICES + threadIdx.x;
    for (u32 first = 0; first < VOLUME_SIDE; first += AT_ONCE) {
        // The loads of several vertices are under way at the same time.
        Vector<T> vertices[AT_ONCE];
#pragma unroll
        for (u32 j = 0; j < AT_ONCE; j++)
#pragma unroll
            for (i32 c = 0; c < 3; c++)
                if (first + j < planes) vertices[j].at[c] = column[c][(first + j) * steps[c]];
#pragma unroll
        for (u32 j = 0; j < AT_ONCE; j++) {
            const u32 z = first + j;
            u32 level = LEVEL_UNCHANGED;
            if (z < planes) {
                const Vector<T>& v = vertices[j];
                const typename Real<T>::Bits magnitude = largest_magnitude(v);
                level = first_level(job, control, {p.x, p.y, p.z + z}, v, magnitude);
                if (keeps_points && !is_hidden_level(level) && is_finite_magnitude<T>(magnitude))
                    counts.add(Real<T>::from_bits(magnitude), largest);
            }
            levels[z * VOLUME_THREADS] = (u8)level;
        }
    }
    counts.add_to(by_shift);
    __syncthreads();
    if (threadIdx.x == 0) work.headers()[tile.index] = info_of(0, median_shift(by_shift), false);
}
