// Reconstructs the values of the Lorenzo predictor from symbols. Twin of the decoder in
// src/predict/lorenzo.rs.
#pragma once
#include "decompress/lorenzo_values.cuh"
#include "grid/field.cuh"

// Symbols of a warp's tiles; padding puts the tiles into different banks.
struct StagedTiles {
    alignas(16) u8 symbols[TILES_OF_WARP][TILE_VERTICES + TILE];
};

// Fills the tables of small symbols and the widths of lattices. Call with a block.
template <typename T>
__device__ __forceinline__ void fill_lorenzo_tables(
    LorenzoTables& tables, T (&widths)[BOUND_SHIFTS][REFINEMENTS], double half_bin_width) {
    for (u32 k = threadIdx.x; k < ALPHABET; k += blockDim.x) {
        const Code code = decode_small(k < FIRST_WITH_RAW_BITS ? k : SYMBOL_ZERO);
        const u32 both = (u32)(code.qu + SMALL) | (u32)(code.qv + SMALL) << 8;
        tables.small[0][k] = both;
        tables.small[1][k] = both << 16;
        tables.readings[k] = READINGS.at[k];
    }
    for (i32 k = threadIdx.x; k < BOUND_SHIFTS * REFINEMENTS; k += blockDim.x)
        widths[k / REFINEMENTS][k % REFINEMENTS] =
            lattice_width<T>(half_bin_width, k / REFINEMENTS, k % REFINEMENTS);
}

// Starts the copies of the symbols of a warp's tiles, in two parts; the eight lanes of a tile fetch its own.
__device__ __forceinline__ void copy_symbols(StagedTiles& staged, const u8* symbols, u32 steps) {
    const u32 lane = threadIdx.x & 31, part = lane % ROW_LANES;
    const u8* const from = symbols + 16 * part;
    u8* const to = staged.symbols[lane / ROW_LANES] + 16 * part;
    u32 left = steps >> part / 2;
#pragma unroll
    for (i32 k = 0; k < TILE / RECONSTRUCTED_ROWS; k++) {
        if (left & 1) copy_ahead<16>(to + 128 * k, from + 128 * k);
        left >>= RECONSTRUCTED_ROWS;
        if (k == 0) end_of_copies();
    }
    end_of_copies();
}

// Four tiles that a warp reconstructs at a time: eight lanes for each.
struct LorenzoRound {
    bool exists;  // the lane's tile
    u64 index;
    TileShape shape;
    u32 info, steps;

    template <typename T>
    __device__ __forceinline__ LorenzoRound(const Job& job, const ReconstructView<T>& work, u64 round) {
        const u64 first = job.first_tile() + TILES_OF_WARP * round,
                  tile = first + (threadIdx.x & 31) / ROW_LANES;
        exists = tile < job.tiles();
        index = exists ? tile : first;
        shape = tile_shape(job, index);
        info = work.headers()[index], steps = work.steps()[index];
    }
};

// Reconstructs the four tiles of a round.
template <typename T>
__device__ __forceinline__ void reconstruct_round(const Job& job, const Control& control,
    const LorenzoTables& tables, const T (&widths)[BOUND_SHIFTS][REFINEMENTS], StagedTiles& staged,
    const LorenzoRound& mine, bool aligned) {
    const ReconstructView<T> work(job);
    const i32 lane = threadIdx.x & 31, column = COLUMNS * (lane % ROW_LANES);
    const i32 rows = mine.exists ? mine.shape.owned_y() : 0, count = mine.shape.owned_x() - column;
    const bool wide = aligned && count >= COLUMNS, masked = mask_state_in(mine.info) != 0,
               any_masks = __any_sync(FULL, masked),
               complete = __all_sync(FULL, wide && rows == TILE) && !any_masks;
    const T* const lattices = widths[bound_shift_in(mine.info)];
    LorenzoReconstruction<T> restored = {job, control, tables, SharedTable<2>(tables.small[0]), lattices,
        lattices[0], column, rows, count, job.u_layout.pitch, job.v_layout.pitch,
        0x80 * ONES - SMALL * (column + 1) * ONES, wide, complete, any_masks, masked,
        work.masks() + mine.index * 64, staged.symbols[lane / ROW_LANES] + column, mine.steps,
        work.raw() + mine.index * TILE_VERTICES + column,
        vertex_at<T>(job.u, job.u_layout, mine.shape.x0 + column, mine.shape.y0),
        vertex_at<T>(job.v, job.v_layout, mine.shape.x0 + column, mine.shape.y0)};
    copy_symbols(staged, work.symbols() + mine.index * TILE_VERTICES, mine.steps);
    restored.write();
}

// Reconstructs a round per warp, or all rounds where the blocks are FEW.
template <bool FEW, typename T>
__device__ __forceinline__ void reconstruct_rounds(const Job& job) {
    const ReconstructView<T> work(job);
    __shared__ LorenzoTables tables;
    __shared__ T widths[BOUND_SHIFTS][REFINEMENTS];
    __shared__ StagedTiles all_staged[LORENZO_RECONSTRUCT_WARPS];
    StagedTiles& staged = all_staged[threadIdx.x >> 5];
    const Control& control = control_of(job);
    const double half_bin_width = control.half_bin_width;
    if (!is_coded_by(control, PREDICTOR_LORENZO)) return;
    const bool aligned = is_aligned<T>(job);
    // warp_or: uniform, so that votes need no code for divergent lanes.
    const u64 rounds = (job.tiles() - job.first_tile() + TILES_OF_WARP - 1) / TILES_OF_WARP;
    u64 number = (u64)blockIdx.x * LORENZO_RECONSTRUCT_WARPS + warp_or(threadIdx.x >> 5);
    // Last tiles first: their symbols are still in the cache.
    LorenzoRound mine(job, work, number < rounds ? rounds - 1 - number : 0);
    // Fill the tables while those loads are on their way.
    fill_lorenzo_tables<T>(tables, widths, half_bin_width);
    __syncthreads();
    while (number < rounds) {
        reconstruct_round<T>(job, control, tables, widths, staged, mine, aligned);
        if (!FEW) return;
        __syncwarp();
        number += (u64)gridDim.x * LORENZO_RECONSTRUCT_WARPS;
        if (number < rounds) mine = LorenzoRound(job, work, rounds - 1 - number);
    }
}

// Grid: tiles / (4 * LORENZO_RECONSTRUCT_WARPS). Block: 32 * LORENZO_RECONSTRUCT_WARPS threads, four tiles
// per warp. Static shared: tables, symbols. Sums along rows and down columns. Reads: info, steps, symbols,
// payload, masks. Writes: the field. Waits for: the previous kernel.
template <typename T>
__device__ __forceinline__ void reconstruct_lorenzo(const Job& job) {
    reconstruct_rounds<false, T>(job);
}

// Reconstruction of a Lorenzo stream by a call that expected a hierarchical one; mostly without work. Grid:
// any; few blocks, which take less time.
template <typename T>
__device__ __forceinline__ void reconstruct_other_lorenzo(const Job& job) {
    if (is_hierarchical_as_expected(job, control_of(job))) return pass_over();
    after_previous();
    reconstruct_rounds<true, T>(job);
}
