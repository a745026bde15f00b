// Tells the vertices of a tile that have a symbol.
#pragma once
#include "device/workspace.cuh"
#include "entropy/tables.cuh"
#include "grid/tiles.cuh"

// True if a position has a symbol: the tile owns the vertex and no mask hides it. As a call, for rare cases.
static __device__ __noinline__ bool has_symbol(const Job& job, u64 index, u32 states, i32 position) {
    const OwnedSize size(job, (u32)index);
    i32 x, y;
    place_of(position, x, y);
    if (x >= (i32)size.x || y >= (i32)size.y) return false;
    return states == 0 || !(TileView(job).hidden_row(index, y) >> x & 1);
}

// Turns a mask by rows, a row per lane, into flags of positions, except the top ones: bits 8 i on are those
// of the eight positions from 256 i + 8 lane on.
__device__ __forceinline__ u32 mask_by_position(u32 row) {
    const i32 lane = threadIdx.x & 31;
    // Eight positions are two rows of the coarse block's finest phase, a row of the middle block, or half a
    // row of the fine block.
    const bool coarse = lane < 8;
    const i32 level = coarse ? 2 : 1, phase = (coarse ? lane >> 1 : lane >> 3) - 1,
              j = coarse ? 2 * (lane & 1) : lane & 7;
    const i32 x = (phase != 1) << level, y = (2 * j + (phase != 0)) << level;
    const u32 first = every_other(every_other(__shfl_sync(FULL, row, y) >> x));
    const u32 second = every_other(every_other(__shfl_sync(FULL, row, (y + 8) & 31) >> x));
    u32 bits = coarse ? every_other(first) | every_other(second) << 4 : first;
#pragma unroll
    for (i32 fine = 0; fine < 3; fine++) {
        const u32 half = __shfl_sync(FULL, row, (lane & ~1) + (fine != 0)) >> (16 * (lane & 1) + (fine != 1));
        bits |= (every_other(half) & 255) << (8 * fine + 8);
    }
    return bits;
}

// Flags of vertices without a symbol, by position, of the first MOST tiles in `masked`.
template <i32 MOST>
struct MaskedTiles {
    u8 flags[MOST][TILE_VERTICES / 8];
};
template <i32 MOST>
__device__ __forceinline__ void load_masked_tiles(
    const Job& job, MaskedTiles<MOST>& to, u64 batch, u32 my_info, u32 masked) {
    const i32 lane = threadIdx.x & 31;
    i32 slot = 0;
    __syncwarp();
    for (u32 left = masked; left && slot < MOST; left &= left - 1, slot++) {
        const i32 t = __ffs(left) - 1;
        const u64 index = batch + t;
        const OwnedSize size(job, (u32)index);
        const u32 inside = lane < (i32)size.y ? row_mask((i32)size.x) : 0;
        const u32 row =
            ~inside |
            (mask_state_in(__shfl_sync(FULL, my_info, t)) ? TileView(job).hidden_row(index, lane) : 0);
        i32 x, y;
        place_of(lane & 15, x, y);
        const u32 top = __ballot_sync(FULL, __shfl_sync(FULL, row, y) >> x & 1),
                  others = mask_by_position(row);
#pragma unroll
        for (i32 i = 0; i < 4; i++)
            to.flags[slot][32 * i + lane] = (u8)(i == 0 && lane < 2 ? top >> 8 * lane : others >> 8 * i);
    }
    __syncwarp();
}
template <i32 MOST>
__device__ __forceinline__ bool has_symbol(
    const Job& job, const MaskedTiles<MOST>& shared, u64 batch, u32 t, u32 masked, i32 position) {
    const i32 slot = __popc(masked & ((1u << t) - 1));
    if (slot >= MOST)
        return has_symbol(job, batch + t, mask_state_in(TileView(job).headers()[batch + t]), position);
    return !(shared.flags[slot][position >> 3] >> (position & 7) & 1);
}
