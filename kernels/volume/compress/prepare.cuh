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

// Stores the levels of the vertices of a tile before layer 1. Call with a warp.
template <typename T>
__device__ __forceinline__ void store_first_levels(
    const Job& job, const Control& control, const VolumeTile& tile) {
    constexpr u32 AT_ONCE = 16 / sizeof(T);
    u8* const levels = VolumeCodeView<T>(job).levels() + tile.index * VOLUME_TILE_VERTICES;
    for (u32 first = threadIdx.x & 31; first < VOLUME_TILE_VERTICES; first += 32 * AT_ONCE) {
        // The loads of several vertices are under way at the same time.
        Vector<T> vertices[AT_ONCE];
        GridPoint p;
#pragma unroll
        for (u32 j = 0; j < AT_ONCE; j++)
            if (vertex_in_tile(tile, first + 32 * j, p)) vertices[j] = original_at<T>(job, p);
#pragma unroll
        for (u32 j = 0; j < AT_ONCE; j++) {
            const u32 place = first + 32 * j;
            const Vector<T>& v = vertices[j];
            levels[place] = vertex_in_tile(tile, place, p)
                                ? (u8)first_level(job, control, p, v, largest_magnitude(v))
                                : (u8)LEVEL_UNCHANGED;
        }
    }
}
// Stores the levels of a tile all of whose vertices have codes and may change. Call with a warp.
template <typename T>
__device__ __forceinline__ void clear_levels(const Job& job, const VolumeTile& tile) {
    static_assert(LEVEL_UNCHANGED == 0, "zeros");
    uint4* const levels =
        words_at<uint4>(VolumeCodeView<T>(job).levels() + tile.index * VOLUME_TILE_VERTICES);
#pragma unroll
    for (u32 k = 0; k < VOLUME_TILE_VERTICES / 16; k += 32)
        levels[k + (threadIdx.x & 31)] = make_uint4(0, 0, 0, 0);
}

// The bound shift of a tile: that of the median magnitude of the vertices with a code in the sampled rows.
// `has_special`: some vertices have no code or a fixed level. Call with a warp.
template <typename T>
__device__ __forceinline__ u32 median_shift(
    const Job& job, const Control& control, const VolumeTile& tile, bool has_special) {
    constexpr u32 STEP = VOLUME_SHIFT_STEP, ROWS = VOLUME_SIDE / STEP,
                  OF_LANE = VOLUME_SIDE * ROWS * ROWS / 32;
    static_assert(OF_LANE < 16 && VOLUME_MOST_SHIFT < 8, "four bits for the number of each shift");
    Vector<T> vertices[OF_LANE];
    u32 here = 0;
    GridPoint points[OF_LANE];
#pragma unroll
    for (u32 j = 0; j < OF_LANE; j++) {
        const u32 k = (threadIdx.x & 31) + 32 * j, row = k / VOLUME_SIDE;
        const bool is_here = vertex_in_tile(tile,
            k % VOLUME_SIDE + VOLUME_SIDE * STEP * (row % ROWS + VOLUME_SIDE * (row / ROWS)), points[j]);
        if (is_here) vertices[j] = original_at<T>(job, points[j]), here |= 1u << j;
    }
    // Four bits for each shift: the number of vertices with at least this shift; for shift 0 of all vertices.
    u32 counts = 0;
#pragma unroll
    for (u32 j = 0; j < OF_LANE; j++) {
        if (!(here >> j & 1)) continue;
        const typename Real<T>::Bits magnitude = largest_magnitude(vertices[j]);
        if (!is_finite_magnitude<T>(magnitude)) continue;
        if (has_special && is_hidden_level(first_level(job, control, points[j], vertices[j], magnitude)))
            continue;
        counts++;
#pragma unroll
        for (u32 shift = 1; shift <= VOLUME_MOST_SHIFT; shift++)
            counts += Real<T>::from_bits(magnitude) <= (T)control.volume.largest_with_shift[shift]
                          ? 1u << 4 * shift
                          : 0;
    }
    __syncwarp();
    const u32 all = warp_sum(counts & 15);
    u32 shift = 0;
    while (shift < VOLUME_MOST_SHIFT && warp_sum(counts >> 4 * (shift + 1) & 15) > all / 2) shift++;
    return shift;
}

// Grid: an eighth of the tiles. Block: VOLUME_THREADS threads, a warp a tile. Reads: the field, the largest
// magnitudes by shift. Writes: levels, bound shifts.
template <typename T>
__device__ __forceinline__ void prepare_tiles(const Job& job) {
    const Control& control = control_of(job);
    const u64 index = blockIdx.x * (u64)(VOLUME_THREADS / 32) + warp_or(threadIdx.x / 32);
    if (is_stored_volume(control) || index >= job.tiles()) return;
    const VolumeTile tile = volume_tile(job, index);
    const bool has_special = has_hidden_vertices(control) || job.pin;
    if (has_special)
        store_first_levels<T>(job, control, tile);
    else
        clear_levels<T>(job, tile);
    const u32 shift = job.preserve == PRESERVE_NONE ? 0 : median_shift<T>(job, control, tile, has_special);
    if ((threadIdx.x & 31) == 0) VolumeCodeView<T>(job).headers()[index] = info_of(0, shift, false);
}
