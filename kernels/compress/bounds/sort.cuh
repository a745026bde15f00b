// Sorts the tiles by how near they come to the origin: unconstrained tiles need no vertex bounds.
#pragma once
#include "compress/statistics/decide.cuh"
#include "entropy/quantized_tile.cuh"
#include "grid/tiles.cuh"

// Cells at the vertices of a tile that come near the origin: of the row above, of each band of rows, of the
// column before, of the tile's last column. A byte per bounded tile, in the memory that later holds symbols.
enum : u32 {
    NEAR_ABOVE = 1,
    NEAR_BAND = 2,
    NEAR_BEFORE = NEAR_BAND << BANDS,
    NEAR_END = NEAR_BEFORE << 1,
    ALL_BANDS = NEAR_BEFORE - NEAR_BAND
};
__device__ __forceinline__ u32 near_cells(const Job& job, const TileShape& shape, u64 tile, double near) {
    const u64 left = shape.tx > 0 ? 1 : 0, up = shape.is_first_row() ? 0 : job.tiles_x;
    const Nearness &own = nearness_of(job, tile), &last = nearness_of(job, tile - left),
                   &over = nearness_of(job, tile - up);
    const Nearness& corner = nearness_of(job, tile - up - left);
    u32 cells = up && !(over.bottom > near) ? NEAR_ABOVE : 0;
#pragma unroll
    for (i32 band = 0; band < BANDS; band++)
        if (!(own.bands[band] > near)) cells |= NEAR_BAND << band;
    // The column before starts with the cell around the tile's corner, which belongs to the tiles above.
    if (left && (!(last.right > near) || (up && !(corner.bottom > near || corner.right > near))))
        cells |= NEAR_BEFORE;
    if (shape.last_x == TILE && (!(own.right > near) || (up && !(over.bottom > near || over.right > near))))
        cells |= NEAR_END;
    return cells;
}

// Entries of the list of bounded tiles, each loaded during the work on the one before. Call with a warp.
class NextBounded {
    const u64* const tiles;
    const u8* const cells;
    const u64 count;
    u64 next_tile;
    u32 next_cells;

public:
    __device__ __forceinline__ NextBounded(const ListsView& lists, u64 count)
        : tiles(lists.bounded()), cells(lists.near_cells()), count(count), next_tile(0), next_cells(0) {}
    __device__ __forceinline__ void load(u64 k) {
        if (k < count) next_tile = tiles[k], next_cells = cells[k];
    }
    __device__ __forceinline__ u64 tile() const { return uniform(next_tile); }
    __device__ __forceinline__ u32 near_cells() const { return warp_or(next_cells); }
};

// True if a tile can be unconstrained: its closed block lies inside the grid.
__device__ __forceinline__ bool may_be_unconstrained(const Job& job, const TileShape& shape) {
    const bool border = shape.tx == 0 || shape.is_first_row() || shape.x0 + TILE == job.nx - 1 ||
                        shape.y_in_plane() + TILE == job.ny - 1;
    return shape.last_x == TILE && shape.last_y == TILE && !((job.halo | job.pin) && border);
}
// Least distance from the origin of the triangles at the vertices of a closed tile, per axis. If it exceeds
// the bound, the tile has no zeros, missing values or vertex bounds.
__device__ __forceinline__ float least_nearness(const Job& job, const TileShape& shape, u64 tile) {
    // Start all loads at once; a missing neighbour is replaced by the tile itself.
    const u64 across = job.tiles_x, left = shape.tx > 0 ? 1 : 0, up = shape.is_first_row() ? 0 : across;
    const Nearness &own = nearness_of(job, tile), &next = nearness_of(job, tile + 1),
                   &under = nearness_of(job, tile + across);
    const Nearness &last = nearness_of(job, tile - left), &over = nearness_of(job, tile - up);
    // A diagonal neighbour contributes one cell, which lies on two sides of it.
    const Nearness &after = nearness_of(job, tile + across + 1),
                   &below = nearness_of(job, tile + across - left);
    const Nearness &above = nearness_of(job, tile - up + 1), &before = nearness_of(job, tile - up - left);
    const float none = Real<float>::infinity();
    float least = fminf(fminf(own.all(), fminf(next.left, under.top)), fmaxf(after.top, after.left));
    least = fminf(least, left ? fminf(last.right, fmaxf(below.top, below.right)) : none);
    least = fminf(least, up ? fminf(over.bottom, fmaxf(above.bottom, above.left)) : none);
    return fminf(least, left && up ? fmaxf(before.bottom, before.right) : none);
}

// Grid: 1 + tiles / (32 * SORT_WARPS). Block: 32 * SORT_WARPS threads, a thread per tile. Lists unconstrained
// tiles and bounded tiles, in no order. Block 0 decides the bound; the other blocks recompute it. Reads:
// statistics, nearness. Writes: control block, lists, info, kind of each tile, cells near the origin. Waits
// for: the previous kernel.
template <typename T>
__device__ __forceinline__ void sort_tiles(const Job& job) {
    const ListsView work(job);
    if (blockIdx.x == 0) return decide<T>(job);
    Control& control = control_of(job);
    const u64 tile = (u64)(blockIdx.x - 1) * (32 * SORT_WARPS) + threadIdx.x;
    const u32 lane = threadIdx.x & 31, before = (1u << lane) - 1;
    const bool exists = tile < job.tiles();
    const TileShape shape = tile_shape(job, exists ? tile : 0);
    const bool may_be = exists && may_be_unconstrained(job, shape);
    float least = -1;
    if (may_be) least = least_nearness(job, shape, tile);
    const double near = near_bound(job, (double)round_up<T>(useful_bound_of(job, range_of_all<T>(job))));
    const bool unconstrained = may_be && least > near;
    const u32 cells = exists && !unconstrained ? near_cells(job, shape, tile, near) : 0;
    const u32 unconstrained_lanes = __ballot_sync(FULL, exists && unconstrained),
              bounded = __ballot_sync(FULL, exists && !unconstrained);
    // One atomic per block.
    __shared__ u32 counts[SORT_WARPS];  // unconstrained, and bounded << 16
    __shared__ u64 at[2];
    if (lane == 0) counts[threadIdx.x >> 5] = __popc(unconstrained_lanes) | __popc(bounded) << 16;
    __syncthreads();
    // Sums of the warps before; the last warp has the total.
    const u32 warp = threadIdx.x >> 5, mine = lane <= warp && lane < SORT_WARPS ? counts[lane] : 0;
    const u32 up_to_me = warp_sum(mine), before_me = up_to_me - counts[warp];
    if (warp == SORT_WARPS - 1 && lane < 2)
        at[lane] = atomicAdd((ull*)(lane ? &control.bounded_tiles : &control.unconstrained_tiles),
            (ull)(up_to_me >> 16 * lane & 0xffff));
    __syncthreads();
    const u64 at_unconstrained = at[0] + (before_me & 0xffff), at_bounded = at[1] + (before_me >> 16);
    if (!exists) return;
    if (unconstrained) {
        work.tile_lists()[at_unconstrained + __popc(unconstrained_lanes & before)] = tile;
    } else {
        const u64 at = at_bounded + __popc(bounded & before);
        work.bounded()[at] = tile;
        work.near_cells()[at] = (u8)cells;
    }
    work.headers()[tile] = unconstrained ? ALL_CODED : 0;
    nearness_of(job, tile).kind = unconstrained ? UNCONSTRAINED_TILE : BORDER_TILE;
}
