// Lattice lines that depend on tiles around them: in the speculative mode those of all but unconstrained
// tiles, which code their own.
#pragma once
#include "compress/tiles/lines/segment.cuh"

// Grid: any. Block: 128 threads; half a warp takes a segment of 33 vertices: first the near ones of the
// listed tiles, then the far ones. Static shared: values around the segment, Steps. Rows see original values
// around them, columns the final rows. Reads: the field, anchors, vertex bounds, for columns the rows.
// Writes: values of the lines, symbols, payload. Waits for: the previous kernel.
template <typename T, bool ROWS>
__device__ __forceinline__ void lattice_lines(const Job& job) {
    __shared__ LineShared<T> shared[8];
    __shared__ Steps<T> steps;
    Control& control = control_of(job);
    const i32 lane = threadIdx.x & (HALF - 1);
    steps.read(job, control);
    u32 exact = 0;
    T max_error = 0;
    const u64* const list = QuantizeView<T>(job).bounded();
    const u64 count = control.bounded_tiles, half_warps = (u64)gridDim.x * (blockDim.x >> 4),
              first = (u64)blockIdx.x * (blockDim.x >> 4) + (threadIdx.x >> 5 << 1),
              half = threadIdx.x >> 4 & 1;
    auto listed_at = [&](u64 k) { return k < count ? list[k] : 0; };
    // The far segment belongs to the next tile, which codes it unless it is unconstrained.
    const u64 behind = ROWS ? job.tiles_x : 1;
    auto has_far = [&](u64 tile, const TileShape& shape) {
        return (ROWS ? shape.last_y : shape.last_x) == TILE &&
               nearness_of(job, tile + behind).kind == UNCONSTRAINED_TILE;
    };
#pragma unroll 1
    for (u32 pass = 0; pass < 2; pass++) {
        const bool far = pass == 1;
        u64 next = listed_at(first + half);
#pragma unroll 1
        for (u64 k = first; k < count; k += half_warps) {
            const u64 listed = next;
            next = listed_at(k + half + half_warps);
            const TileShape shape = tile_shape(job, listed);
            const bool mine = k + half < count && (!far || has_far(listed, shape));
            if (!__any_sync(FULL, mine)) continue;
            LineSegment<T, ROWS> segment(job, control, steps, shared[threadIdx.x >> 4], lane, shape,
                far ? listed + behind : listed, far, mine);
            segment.code(shape, exact, max_error);
        }
    }
    report_stats<T>(control, exact, 0, max_error);
}
