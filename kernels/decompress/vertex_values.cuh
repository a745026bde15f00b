// Values of vertices from their symbols, for the hierarchical predictor.
#pragma once
#include "decompress/residuals.cuh"
#include "entropy/differences.cuh"
#include "grid/missing.cuh"
#include "tile/lattice.cuh"

// Per half warp: a stored vertex is missing.
constexpr i32 MOST_HALF_WARPS =
    2 * (RECONSTRUCT_WARPS > RECONSTRUCT_BORDER_WARPS ? RECONSTRUCT_WARPS : RECONSTRUCT_BORDER_WARPS);
__shared__ u8 stored_missing[MOST_HALF_WARPS];

// Value of a vertex with stored values. A missing vertex counts as zero and is noted.
template <typename T, typename P = typename Real<T>::Pair>
__device__ __noinline__ P value_of_stored(
    const typename Payload<T>::Type* payload, const ReconstructTables<T>* tables, u32 symbol, P prediction) {
    const auto here = *payload;
    if (symbol > STORED)
        return add_differences<T>(
            symbol, Payload<T>::low(here), sizeof(T) == 8 ? Payload<T>::second(here) : 0, prediction);
    const T a = Real<T>::from_bits(Payload<T>::low(here)), b = Real<T>::from_bits(Payload<T>::second(here));
    if (!is_missing(a, b, tables->fill_bits)) return Real<T>::pair(a, b);
    stored_missing[threadIdx.x / HALF] = 1;
    return Real<T>::pair(T(0), T(0));
}

// Value of a vertex as predictions see it. A hidden one counts as zero.
constexpr u32 HIDDEN = 255;
template <typename T, typename P = typename Real<T>::Pair>
__device__ __forceinline__ P value_of(const ReconstructTables<T>& tables,
    const typename Payload<T>::Type* payload, u32 symbol, P prediction, i32 level) {
    P residual;
    if (symbol < FIRST_WITH_RAW_BITS) {
        residual = tables.small.at(level)[symbol];
    } else if (symbol < STORED) {
        const auto here = *payload;
        residual = Real<T>::pair(
            Real<T>::from_bits(Payload<T>::low(here)), Real<T>::from_bits(Payload<T>::second(here)));
    } else {
        if (symbol == HIDDEN) return Real<T>::pair(T(0), T(0));
        return value_of_stored<T>(payload, &tables, symbol, prediction);
    }
    return Real<T>::pair(prediction.x + residual.x, prediction.y + residual.y);
}

// True if half a warp can reconstruct the tile: its closed block lies in the grid, and it has codes.
__device__ __forceinline__ bool is_paired(const Job& job, u64 index, u32 info) {
    const TileShape shape = wide_tile_shape(job, index);
    return shape.last_x == TILE && shape.last_y == TILE && has_codes(mask_state_byte(info));
}
