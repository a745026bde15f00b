// Vertices of a volume without a code of layer 1 or with their original values, and the bound shift of each
// tile. Twins: fixed_vertices in src/volume/compress.rs, shifts in src/volume/tune.rs.
#pragma once
#include "volume/compress/statistics.cuh"

// The level of a vertex before layer 1.
template <typename T>
__device__ __forceinline__ u32 first_level(
    const Job& job, const Control& control, const GridPoint& p, const Vector<T>& v) {
    if (is_missing(v, job.fill)) {
        const bool is_pattern = Real<T>::bits(v.at[0]) == fill_of(control, 0) &&
                                Real<T>::bits(v.at[1]) == fill_of(control, 1) &&
                                Real<T>::bits(v.at[2]) == fill_of(control, 2);
        return is_pattern ? LEVEL_FILLED : LEVEL_EXACT;
    }
    if (is_zero(v)) return LEVEL_ZERO;
    return is_on_sides(job, p, job.pin) ? LEVEL_EXACT : LEVEL_UNCHANGED;
}
__device__ __forceinline__ bool is_hidden_level(u32 level) {
    return level == LEVEL_ZERO || level == LEVEL_FILLED;
}

// The bound shift of a vertex with a code: the nearest to the one with which 0.7 bounds are its magnitude.
template <typename T>
__device__ __forceinline__ u32 shift_of_size(double bound, T size) {
    const double ratio = 0.7 * bound / (double)size;
    u32 shift = 0;
    for (double most = 1.4142135623730951; shift < VOLUME_MOST_SHIFT && ratio > most; most *= 2.0) shift++;
    return shift;
}

// Grid: tiles. Block: VOLUME_THREADS threads, a tile each. Reads: the field. Writes: levels, bound shifts.
template <typename T>
__device__ __forceinline__ void prepare_tiles(const Job& job) {
    // Vertices by their shift; the median of the shifts is that of the median of the magnitudes.
    __shared__ u32 by_shift[VOLUME_MOST_SHIFT + 1];
    constexpr u32 NO_SHIFT = VOLUME_MOST_SHIFT + 1;
    const Control& control = control_of(job);
    if (is_lossless_volume(control)) return;
    const VolumeCodeView<T> work(job);
    const VolumeTile tile = volume_tile(job, blockIdx.x);
    const u32 lane = threadIdx.x & 31;
    if (threadIdx.x <= VOLUME_MOST_SHIFT) by_shift[threadIdx.x] = 0;
    __syncthreads();
    u32 mine = 0;  // lane k: vertices with shift k
    for (u32 place = threadIdx.x; place < VOLUME_TILE_VERTICES; place += blockDim.x) {
        GridPoint p;
        u32 level = LEVEL_UNCHANGED, shift = NO_SHIFT;
        if (vertex_in_tile(tile, place, p)) {
            const Vector<T> v = original_at<T>(job, p);
            level = first_level(job, control, p, v);
            if (job.preserve != PRESERVE_NONE && !is_hidden_level(level) && finite(v)) {
                typedef Real<T> R;
                const T size = R::high(R::high(R::abs(v.at[0]), R::abs(v.at[1])), R::abs(v.at[2]));
                shift = shift_of_size(control.useful_bound, size);
            }
        }
        work.levels()[tile.index * VOLUME_TILE_VERTICES + place] = (u8)level;
#pragma unroll
        for (u32 k = 0; k <= VOLUME_MOST_SHIFT; k++) {
            const u32 vertices = (u32)__popc(__ballot_sync(FULL, shift == k));
            if (lane == k) mine += vertices;
        }
    }
    if (mine) atomicAdd(&by_shift[lane], mine);
    __syncthreads();
    if (threadIdx.x != 0) return;
    u32 all = 0;
    for (u32 k = 0; k <= VOLUME_MOST_SHIFT; k++) all += by_shift[k];
    // The smallest magnitudes have the largest shifts.
    u32 shift = VOLUME_MOST_SHIFT, smaller = by_shift[shift];
    while (shift > 0 && smaller <= all / 2) smaller += by_shift[--shift];
    work.headers()[tile.index] = info_of(0, all ? shift : 0, false);
}
