// Unconstrained tiles of the Lorenzo predictor, four per warp.
#pragma once
#include "compress/tiles/lorenzo/interior_rows.cuh"
#include "grid/field.cuh"

// Grid: tiles / (4 * LORENZO_INTERIOR_WARPS). Block: 32 * LORENZO_INTERIOR_WARPS threads, four tiles per
// warp. Reads: the field, list of unconstrained tiles. Writes: symbols, payload, info. Overlaps the previous
// kernel, and waits for it at its end.
template <typename T>
__device__ __forceinline__ void lorenzo_unconstrained(const Job& job) {
    __shared__ Lattices<T> lattices;
    __shared__ EvenPositions positions;
    Control& control = control_of(job);
    const u64 first = TILES_OF_WARP * ((u64)blockIdx.x * LORENZO_INTERIOR_WARPS + warp_or(threadIdx.x >> 5)),
              count = listed_tiles<UNCONSTRAINED_TILE>(control);
    __shared__ LargestError known[LORENZO_INTERIOR_WARPS];
    u32 failing = 0;
    u64 index = 0;
    if (first < count) {
        if (threadIdx.x % 32 == 0) expect_largest_error(control, known[threadIdx.x >> 5]);
        end_of_copies();
        const u64 k = first + (threadIdx.x & 31) / ROW_LANES;
        const bool exists = k < count;
        // Lanes without a tile repeat another's work.
        index = listed_tile<UNCONSTRAINED_TILE>(job, control, exists ? k : first);
        const T width = lattice_width<T>(control.half_bin_width, 0, 0), inverse = lattice_inverse(width);
        const auto step = Real<T>::pair(width, inverse);
        const Acceptance<T> accept = acceptance_of<T>(control.quantizer);
        RowsOfLane<T> rows;
        if (warp_or(is_aligned<T>(job) && largest_value<T>(control) * inverse <= Real<T>::MAX_CODE))
            rows = lorenzo_interior_rows<T, true, false>(job, index, step, accept, 0, nullptr);
        else
            rows = lorenzo_interior_rows<T, false, false>(job, index, step, accept, 0, nullptr);
        const bool holds = in_all_lanes(rows.holds), counts = exists && holds;
        const u32 activity = activity_of_tile(rows);
        if (counts && threadIdx.x % ROW_LANES == 0) TileView(job).headers()[index] = ALL_CODED | activity;
        wait_for_copies<0>();
        report_stats<T>(control, 0, 0, counts ? rows.max_error : T(0), known[threadIdx.x >> 5].bits);
        failing = __ballot_sync(FULL, exists && !holds);
    }
    if (__syncthreads_or(failing)) {
        lattices.fill(control.half_bin_width);
        positions.fill();
#pragma unroll 1
        for (i32 lane = 0; lane < 32; lane += ROW_LANES)
            if (failing >> lane & 1)
                lorenzo_by_vertex<T>(job, lattices, positions, __shfl_sync(FULL, index, lane), 0, false);
    }
    end_overlap();
}
