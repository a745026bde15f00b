// Tells the vertices of a tile that have a symbol.
#pragma once
#include "grid/tiles.cuh"
#include "tile/coding.cuh"

// True if a position has a symbol: the tile owns the vertex and no mask hides it.
__device__ inline bool has_symbol(const Job& job, u64 index, u32 states, i32 position) {
    const TileShape shape = tile_shape(job, index);
    i32 x, y;
    place_of(position, x, y);
    if (x > shape.last_x || y > shape.last_y) return false;
    const u32* const rows = TileView(job).masks() + index * 64 + y;
    return states == 0 || !((rows[0] | rows[TILE]) >> x & 1);
}

// Rows of vertices without a symbol, of the first MOST tiles in `masked`.
template <i32 MOST>
struct MaskedRows {
    u32 rows[MOST][TILE];
};
template <i32 MOST>
__device__ __forceinline__ void load_masked_rows(
    const Job& job, u32 (&to)[MOST][TILE], u64 batch, u32 my_info, u32 masked) {
    const i32 lane = threadIdx.x & 31;
    i32 slot = 0;
    __syncwarp();
    for (u32 left = masked; left && slot < MOST; left &= left - 1, slot++) {
        const i32 t = __ffs(left) - 1;
        const u64 index = batch + t;
        const TileShape shape = tile_shape(job, index);
        const u32 inside = lane < shape.owned_y() ? row_mask(shape.owned_x()) : 0;
        const u32* const rows = TileView(job).masks() + index * 64 + lane;
        to[slot][lane] = ~inside | (mask_state_in(__shfl_sync(FULL, my_info, t)) ? rows[0] | rows[TILE] : 0);
    }
    __syncwarp();
}
template <i32 MOST>
__device__ __forceinline__ bool has_symbol(
    const Job& job, const MaskedRows<MOST>& shared, u64 batch, u32 t, u32 masked, i32 position) {
    const i32 slot = __popc(masked & ((1u << t) - 1));
    if (slot >= MOST)
        return has_symbol(job, batch + t, mask_state_in(TileView(job).headers()[batch + t]), position);
    i32 x, y;
    place_of(position, x, y);
    return !(shared.rows[slot][y] >> x & 1);
}
