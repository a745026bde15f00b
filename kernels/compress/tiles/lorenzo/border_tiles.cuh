// Border tiles of the Lorenzo predictor, a warp per tile: with bounds, masks or both.
#pragma once
#include "compress/tiles/lorenzo/rows.cuh"
#include "grid/missing.cuh"

// The bound shift of the smallest estimated size; the smallest of several.
__device__ __forceinline__ i32 best_bound_shift(const u32* halvings, u32 vertices) {
    __syncwarp();
    const i32 lane = threadIdx.x & 31;
    const u32 needing = halvings[lane];
    u32 best = ~0u;
    i32 bound_shift = 0;
#pragma unroll
    for (i32 t = 0; t < BOUND_SHIFTS; t++) {
        const u32 size =
            (u32)t * BOUND_SHIFT_RATE * vertices +
            warp_sum(lane > t ? needing * 8 * (REFINED_BITS + 4 * (u32)((lane - t + 1) / 2)) : 0);
        if (size < best) best = size, bound_shift = t;
    }
    return bound_shift;
}

// Counts the vertices of an interior tile by the halvings that their bounds need; returns the lane's number
// of vertices. Only the bounds matter here, in any order.
template <typename T>
__device__ __forceinline__ u32 count_interior_halvings(
    const Lattices<T>& lattices, const T* vertex_bounds, u64 bounded, u32* halvings) {
    const i32 lane = threadIdx.x & 31;
    constexpr i32 AHEAD = 8;
#pragma unroll 1
    for (i32 start = 0; start < TILE_VERTICES; start += 32 * AHEAD) {
        T some[AHEAD];
        // The first column is always stored; at the finest level it is one vertex of each chunk.
        const u64 here = start == 512 && lane % BOUND_CHUNK == 0 ? ~0ull : bounded;
#pragma unroll
        for (i32 i = 0; i < AHEAD; i++) some[i] = vertex_bound_of(vertex_bounds, here, start + 32 * i + lane);
#pragma unroll
        for (i32 i = 0; i < AHEAD; i++) {
            const i32 needed = is_constrained(some[i]) ? lattices.halvings(some[i]) : 0;
            if (needed) atomicAdd(&halvings[needed], 1);
        }
    }
    return TILE;
}
// Counts the vertices of a border tile that are in no mask by the halvings that their bounds need; returns
// the number of these vertices of the lane.
template <typename T>
__device__ __forceinline__ u32 count_border_halvings(const Job& job, const Control& control,
    const Lattices<T>& lattices, const TileShape& shape, RowReader<T> reader, u32* halvings) {
    const i32 ox = shape.owned_x(), oy = shape.owned_y();
    const bool inside = (i32)(threadIdx.x & 31) < ox;
    u32 vertices = 0;
#pragma unroll 1
    for (i32 start = 0; start < oy; start += LORENZO_ROWS) {
        LorenzoRows<T> rows;
        reader.load(job, start, rows);
#pragma unroll
        for (i32 i = 0; i < LORENZO_ROWS; i++) {
            const T a = rows.a[i], b = rows.b[i];
            const bool keeps_sign = is_lossless(control) && has_negative_zero(a, b);
            const bool visible = inside && start + i < oy && !is_missing(a, b, job.fill) &&
                                 (keeps_sign || !(a == T(0) && b == T(0)));
            vertices += visible;
            if (visible && is_constrained(rows.vertex_bound[i])) {
                const i32 needed = lattices.halvings(rows.vertex_bound[i]);
                if (needed) atomicAdd(&halvings[needed], 1);
            }
        }
    }
    return vertices;
}

// From this many constrained tiles on, four per warp keep a device busy; fewer go one per warp. (Small for
// the emulator, so that tests take both ways.)
#ifdef FACTZ_EMULATED
constexpr u64 MANY_CONSTRAINED_TILES = 2;
#else
constexpr u64 MANY_CONSTRAINED_TILES = 8192;
#endif

// Grid: any. Block: 32 * LORENZO_BORDER_WARPS threads, a warp per tile, tiles with most work first. Static
// shared: lattices. Border tiles, and constrained ones if there are few. Reads: the field, lists, vertex
// bounds. Writes: symbols, payload, masks, info. Overlaps the previous kernel, and waits for it at its end.
template <typename T>
__device__ __forceinline__ void lorenzo_border(const Job& job) {
    __shared__ Lattices<T> lattices;
    __shared__ EvenPositions positions;
    __shared__ u32 halvings_[LORENZO_BORDER_WARPS][TILE];
    u32* const halvings = halvings_[threadIdx.x >> 5];
    static_assert(HALVINGS <= TILE, "a lane for each");
    Control& control = control_of(job);
    const i32 lane = threadIdx.x & 31;
    const u64 others = listed_tiles<BORDER_TILE>(control),
              constrained_tiles = listed_tiles<CONSTRAINED_TILE>(control),
              warps = (u64)gridDim.x * LORENZO_BORDER_WARPS;
    const u64 count = others + (constrained_tiles < MANY_CONSTRAINED_TILES ? constrained_tiles : 0);
    if ((u64)blockIdx.x * LORENZO_BORDER_WARPS < count)
        lattices.fill(control.half_bin_width), positions.fill();
    u32 exact = 0;
    T max_error = 0;
    // Blocks without a tile leave early, so that other kernels get their place.
    for (u64 k = (u64)blockIdx.x * LORENZO_BORDER_WARPS + (threadIdx.x >> 5); k < count; k += warps) {
        const u64 index = k < others ? listed_tile<BORDER_TILE>(job, control, k)
                                     : listed_tile<CONSTRAINED_TILE>(job, control, k - others);
        const TileShape shape = tile_shape(job, index);
        const T* const vertex_bounds = vertex_bounds_of<T>(job, index);
        const u64 bounded = nearness_of(job, index).bounded;
        const bool is_interior = k >= others;
        __syncwarp();
        halvings[lane] = 0;
        __syncwarp();
        u32 vertices = 0;
        if (is_interior)
            vertices = count_interior_halvings(lattices, vertex_bounds, bounded, halvings);
        else
            vertices = count_border_halvings(job, control, lattices, shape,
                RowReader<T>(job, positions, shape, vertex_bounds, bounded), halvings);
        const i32 bound_shift = best_bound_shift(halvings, warp_sum(vertices));
        u32 info = 0;
        bool stored = false;
#pragma unroll 1
        while (lorenzo_rows<T>(job, control, lattices, positions, index, shape, is_interior, bound_shift,
            stored, vertex_bounds, info, exact, max_error))
            stored = true;
        if (lane == 0) TileView(job).headers()[index] = info;
        __syncwarp();
    }
    if ((u64)blockIdx.x * LORENZO_BORDER_WARPS < count) report_stats<T>(control, exact, 0, max_error);
    end_overlap();
}
