// Vertices of a tile without a code, by row. By a warp; a lane has a row.
#pragma once
#include "compress/bounds/vertex_bounds.cuh"
#include "entropy/quantized_tile.cuh"
#include "entropy/tables.cuh"
#include "grid/field.cuh"
#include "grid/missing.cuh"
#include "grid/tiles.cuh"

// Bit x is column x. A zero that keeps its sign is stored.
struct RowMasks {
    u32 zero, fill;
    u32 stored;      // without a code, but in no mask: missing and not filled, or with a sign to keep
    u32 keeps_sign;  // with a sign to keep

    // Vertices of the lane's row with a code.
    __device__ __forceinline__ u32 coded(const TileShape& shape) const {
        const i32 row = threadIdx.x & 31;
        return row < shape.owned_y() ? row_mask(shape.owned_x()) & ~(zero | fill | stored) : 0;
    }
};

// Writes the missing vertices of a closed tile for a TileWindow: the lane's row, and whether the lane's
// vertex of the row below, that of the column behind, and the one at both are missing.
__device__ __forceinline__ void write_missing(u32* missing, u32 row, bool below, u32 behind, u32 corner) {
    const i32 lane = threadIdx.x & 31;
    const u32 bottom = __ballot_sync(FULL, below);
    missing[2 * lane] = row;
    missing[2 * lane + 1] = behind;
    if (lane == 0) missing[2 * TILE] = bottom, missing[2 * TILE + 1] = corner;
}

// Finds the masks of a tile. `values`: the originals off the lattice lines, on their way; of missing ones it
// makes zeros. `missing`: for a TileWindow; not written if the field has no missing vertices. Originals on
// the lattice lines are read here. SIMPLE: the whole tile lies in the grid, no vertex is missing, and zeros
// keep no signs.
template <typename T, bool SIMPLE>
__device__ __forceinline__ RowMasks find_row_masks(const Job& job, const Control& control,
    const TileShape& shape, typename Real<T>::Pair* values, u32* missing) {
    typedef Real<T> R;
    typedef typename R::Pair P;
    enum : u32 { ZERO = 1, FILLED = 2, MISSING = 4, KEEPS_SIGN = 8 };
    const i32 lane = threadIdx.x & 31;
    const bool any_missing = !SIMPLE && has_missing(control), lossless = !SIMPLE && is_lossless(control);
    const i32 rows = SIMPLE ? TILE : shape.owned_y();
    auto kind_of = [&](P value) -> u32 {
        if (any_missing && is_missing(value.x, value.y, job.fill))
            return MISSING | (has_fill(control, value.x, value.y) ? FILLED : 0);
        if (lossless && has_negative_zero(value.x, value.y)) return KEEPS_SIGN;
        return is_zero<T>(value) ? ZERO : 0;
    };
    auto kind_at = [&](i32 x, i32 y) -> u32 {
        if (!SIMPLE && (x > shape.last_x || y > shape.last_y)) return 0;
        return kind_of(load_vertex<T>(job, shape.x0 + x, shape.y0 + y));
    };
    const u32 of_top = kind_at(lane, 0), of_left = kind_at(0, lane);
    u32 of_bottom = 0, of_right = 0, of_corner = 0;
    if (any_missing)
        of_bottom = kind_at(lane, TILE), of_right = kind_at(TILE, lane), of_corner = kind_at(TILE, TILE);
    wait_for_copies<0>();
    __syncwarp();
    // Bits of column 0, by row.
    const u32 left_zero = __ballot_sync(FULL, of_left & ZERO),
              left_filled = __ballot_sync(FULL, of_left & FILLED),
              left_missing = __ballot_sync(FULL, of_left & MISSING),
              left_signs = __ballot_sync(FULL, of_left & KEEPS_SIGN);
    RowMasks mine = {0, 0, 0, 0};
    u32 my_missing = 0;
#pragma unroll 4
    for (i32 y = 0; y < rows; y++) {
        P* const here = values + y * CLOSED + lane;
        u32 kind = 0;
        if (lane > 0 && (SIMPLE || lane <= shape.last_x)) {
            kind = y == 0 ? of_top : kind_of(*here);
            if (y > 0 && kind & MISSING) *here = R::pair(T(0), T(0));
        }
        const u32 zero = __ballot_sync(FULL, kind & ZERO) | (left_zero >> y & 1);
        if (lane == y) mine.zero = zero;
        if (any_missing) {
            const u32 filled = __ballot_sync(FULL, kind & FILLED) | (left_filled >> y & 1),
                      gone = __ballot_sync(FULL, kind & MISSING) | (left_missing >> y & 1);
            if (lane == y) mine.fill = filled, my_missing = gone;
        }
        if (lossless) {
            const u32 signs = __ballot_sync(FULL, kind & KEEPS_SIGN) | (left_signs >> y & 1);
            if (lane == y) mine.keeps_sign = signs;
        }
    }
    mine.stored = (my_missing & ~mine.fill) | mine.keeps_sign;
    if (any_missing)
        write_missing(
            missing, my_missing, of_bottom & MISSING, of_right / MISSING & 1, of_corner / MISSING & 1);
    __syncwarp();
    return mine;
}

// Writes the masks of a tile, if it has any; returns its info word without activities.
__device__ __forceinline__ u32 write_row_masks(
    const Job& job, const TileShape& shape, u64 index, const RowMasks& masks) {
    const i32 lane = threadIdx.x & 31;
    const u32 owned = (u32)(shape.owned_x() * shape.owned_y()), zeros = warp_sum(__popc(masks.zero)),
              fills = warp_sum(__popc(masks.fill)), state = mask_states_of(zeros, fills, owned);
    if (state != 0) {
        u32* const to = TileView(job).masks_of(index) + lane;
        to[0] = masks.zero, to[TILE] = masks.fill;
    }
    return info_of(state, 0, state == 0 && owned == TILE_VERTICES);
}

// Vertices with a symbol by block, from the lane's row: coordinates in the coarse block are multiples of 4,
// in the middle block multiples of 2.
__device__ __forceinline__ void count_active(u32 row, u32 active[3]) {
    const i32 y = threadIdx.x & 31;
    const u32 by_four = warp_sum(y & 3 ? 0 : __popc(row & 0x11111111)),
              by_two = warp_sum(y & 1 ? 0 : __popc(row & 0x55555555));
    active[0] = by_four;
    active[1] = by_two - by_four;
    active[2] = warp_sum(__popc(row)) - by_two;
}
