// The lists of tiles by kind, and where they lie: one array has them all.
#pragma once
#include "device/control.cuh"

// Number of tiles of a kind, once they are listed.
template <u32 KIND>
__device__ __forceinline__ u64 listed_tiles(const Control& control) {
    return KIND == UNCONSTRAINED_TILE ? control.unconstrained_tiles
           : KIND == BORDER_TILE      ? control.border_tiles
           : KIND == SPECULATIVE_TILE ? control.speculative_tiles
           : KIND == MASKED_TILE      ? control.masked_tiles
                                      : control.constrained_tiles;
}

// Place of number k of a kind: unconstrained tiles, border, speculative and masked ones, one list behind the
// other; constrained ones from the end. `border`, `speculative`: numbers of these tiles.
__device__ __forceinline__ u64 place_in_lists(
    const Job& job, const Control& control, u32 kind, u64 k, u64 border, u64 speculative) {
    if (kind == UNCONSTRAINED_TILE) return k;
    if (kind == CONSTRAINED_TILE) return job.tiles() - 1 - k;
    return control.unconstrained_tiles + (kind == BORDER_TILE ? 0 : border) +
           (kind == MASKED_TILE ? speculative : 0) + k;
}

// Tile number k of a kind.
template <u32 KIND>
__device__ __forceinline__ u64 listed_tile(const Job& job, const Control& control, u64 k) {
    return ListsView(job).tile_lists()[place_in_lists(
        job, control, KIND, k, control.border_tiles, KIND == MASKED_TILE ? control.speculative_tiles : 0)];
}
