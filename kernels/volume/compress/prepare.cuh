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

// The sample of a tile whose median gives its bound shift: vertices with even y and z.
constexpr u32 SAMPLED_ROWS = (VOLUME_SIDE / 2) * (VOLUME_SIDE / 2),
              SAMPLES_OF_THREAD = VOLUME_SIDE * SAMPLED_ROWS / VOLUME_THREADS;

// Numbers of vertices by bound shift, 8 bits each; of all shifts in place of shift 0.
struct ShiftCounts {
    u32 words[2];

    // A vertex with its magnitude, given the largest magnitudes with each shift.
    template <typename T>
    __device__ __forceinline__ void add(T size, const T (&largest)[VOLUME_MOST_SHIFT + 1]) {
        static_assert(VOLUME_MOST_SHIFT < 8 && 32 * SAMPLES_OF_THREAD < 1 << 8, "two words for a warp");
        words[0]++;
        if (!(size <= largest[1])) return;
        u32 shift = 1;
#pragma unroll
        for (u32 k = 2; k <= VOLUME_MOST_SHIFT; k++) shift += size <= largest[k];
        words[0] += shift < 4 ? 1u << 8 * shift : 0;
        words[1] += shift < 4 ? 0 : 1u << 8 * (shift - 4);
    }
    // Adds those of a warp to `counts`.
    __device__ __forceinline__ void add_to(u32* counts) {
        const u32 low = warp_sum(words[0]), high = warp_sum(words[1]), shift = threadIdx.x & 31,
                  count = (shift < 4 ? low : high) >> 8 * (shift & 3) & 255;
        if (shift <= VOLUME_MOST_SHIFT && count) atomicAdd(counts + shift, count);
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

// Stores the levels of the vertices of a tile before layer 1. A thread has a column of vertices along z. Call
// with a block.
template <typename T>
__device__ __forceinline__ void store_first_levels(
    const Job& job, const Control& control, const VolumeTile& tile) {
    static_assert(VOLUME_THREADS == VOLUME_SIDE * VOLUME_SIDE, "a column each");
    constexpr u32 AT_ONCE = 16 / sizeof(T);
    GridPoint p;
    const bool has_column = vertex_in_tile(tile, threadIdx.x, p);
    const u32 planes = has_column ? (u32)tile.owned(2) : 0;
    u8* const levels = VolumeCodeView<T>(job).levels() + tile.index * VOLUME_TILE_VERTICES + threadIdx.x;
    for (u32 first = 0; first < VOLUME_SIDE; first += AT_ONCE) {
        // The loads of several vertices are under way at the same time.
        Vector<T> vertices[AT_ONCE];
#pragma unroll
        for (u32 j = 0; j < AT_ONCE; j++)
            if (first + j < planes) vertices[j] = original_at<T>(job, {p.x, p.y, p.z + first + j});
#pragma unroll
        for (u32 j = 0; j < AT_ONCE; j++) {
            const u32 z = first + j;
            const Vector<T>& v = vertices[j];
            levels[z * VOLUME_THREADS] =
                z < planes ? (u8)first_level(job, control, {p.x, p.y, p.z + z}, v, largest_magnitude(v))
                           : (u8)LEVEL_UNCHANGED;
        }
    }
}
// Stores those of a tile all of whose vertices have codes and may change. Call with a block.
template <typename T>
__device__ __forceinline__ void clear_levels(const Job& job, const VolumeTile& tile) {
    static_assert(LEVEL_UNCHANGED == 0 && VOLUME_THREADS * 16 == VOLUME_TILE_VERTICES, "sixteen levels each");
    words_at<uint4>(VolumeCodeView<T>(job).levels() + tile.index * VOLUME_TILE_VERTICES)[threadIdx.x] =
        make_uint4(0, 0, 0, 0);
}

// Counts the vertices of the sample of a tile that have a code, by bound shift. `has_special`: some have
// none. Call with a block.
template <typename T>
__device__ __forceinline__ void count_shifts(const Job& job, const Control& control, const VolumeTile& tile,
    bool has_special, const T (&largest)[VOLUME_MOST_SHIFT + 1], u32* by_shift) {
    constexpr i32 HALF = VOLUME_SIDE / 2, STEP = VOLUME_THREADS / VOLUME_SIDE;
    const i32 x = (i32)threadIdx.x % VOLUME_SIDE, first = (i32)threadIdx.x / VOLUME_SIDE;
    auto point = [&](u32 j) {
        const i32 row = first + (i32)j * STEP;
        return point_in_tile(tile, x, 2 * (row % HALF), 2 * (row / HALF));
    };
    auto has = [&](u32 j) {
        const i32 row = first + (i32)j * STEP;
        return x < tile.owned(0) && 2 * (row % HALF) < tile.owned(1) && 2 * (row / HALF) < tile.owned(2);
    };
    Vector<T> vertices[SAMPLES_OF_THREAD];
#pragma unroll
    for (u32 j = 0; j < SAMPLES_OF_THREAD; j++)
        if (has(j)) vertices[j] = original_at<T>(job, point(j));
    ShiftCounts counts = {};
#pragma unroll
    for (u32 j = 0; j < SAMPLES_OF_THREAD; j++) {
        if (!has(j)) continue;
        const typename Real<T>::Bits magnitude = largest_magnitude(vertices[j]);
        const bool is_hidden =
            has_special && is_hidden_level(first_level(job, control, point(j), vertices[j], magnitude));
        if (!is_hidden && is_finite_magnitude<T>(magnitude))
            counts.add(Real<T>::from_bits(magnitude), largest);
    }
    __syncwarp();
    counts.add_to(by_shift);
}

// Grid: tiles. Block: VOLUME_THREADS threads, a tile each. Reads: the field, the largest magnitudes by shift.
// Writes: levels, bound shifts.
template <typename T>
__device__ __forceinline__ void prepare_tiles(const Job& job) {
    __shared__ u32 by_shift[VOLUME_MOST_SHIFT + 1];
    __shared__ T largest[VOLUME_MOST_SHIFT + 1];
    const Control& control = control_of(job);
    if (is_stored_volume(control)) return;
    const VolumeTile tile = volume_tile(job, blockIdx.x);
    const bool has_special = has_hidden_vertices(control) || job.pin;
    if (has_special)
        store_first_levels<T>(job, control, tile);
    else
        clear_levels<T>(job, tile);
    if (threadIdx.x <= VOLUME_MOST_SHIFT) {
        by_shift[threadIdx.x] = 0;
        largest[threadIdx.x] = (T)control.volume.largest_with_shift[threadIdx.x];
    }
    __syncthreads();
    if (job.preserve != PRESERVE_NONE) count_shifts(job, control, tile, has_special, largest, by_shift);
    __syncthreads();
    if (threadIdx.x == 0)
        VolumeCodeView<T>(job).headers()[tile.index] = info_of(0, median_shift(by_shift), false);
}
