// Closed tiles inside the grid without missing values, of the hierarchical predictor, two per warp:
// unconstrained and constrained interior tiles, the latter with vertex bounds, and masked tiles, with zeros
// and vertex bounds.
#pragma once
#include "compress/bounds/tile_lists.cuh"
#include "compress/tiles/anchors.cuh"
#include "compress/tiles/interior/rows.cuh"
#include "entropy/quantized_tile.cuh"
#include "entropy/tables.cuh"
#include "grid/field.cuh"

// Bounds of the vertices with even coordinates, by position, and of those on the sides, by distance from the
// corner.
template <typename T>
struct CoarseBounds {
    alignas(16) T even[2][TILE_VERTICES / 4];
    T sides[2][SIDES][TILE];
};

// Shared memory of a warp for two tiles of a kind.
template <typename T, u32 KIND>
struct InteriorPair {
    Lattice<T> lattice[2];
    OriginalsAside<T> aside[2];
    union {
        CoarseBounds<T> coarse_bounds;
        RowAhead<T, true> rows[ROWS_AHEAD];  // later
    };
    alignas(16) T first_bounds[2][HALF];  // of row 1 of phase 0
    alignas(16) int4 anchor_codes[2][2];  // of the tile's anchor and of the previous tile's
    TileOutput places[2];
    u64 index[2];
    LargestError known;
};
template <typename T>
struct InteriorPair<T, MASKED_TILE> : InteriorPair<T, CONSTRAINED_TILE> {
    u32 zeros[2][TILE];  // see note_zeros
};
template <typename T>
struct InteriorPair<T, UNCONSTRAINED_TILE> {
    Lattice<T> lattice[2];
    OriginalsAside<T> aside[2];
    RowAhead<T, false> rows[ROWS_AHEAD];
    alignas(16) int4 anchor_codes[2][2];
    TileOutput places[2];
    u64 index[2];
    LargestError known;
};

// Warps of a block. Constrained: few, because a block is replaced only when its last warp ends, and tiles
// differ in work.
template <typename T, bool CONSTRAINED>
constexpr i32 INTERIOR_WARPS = sizeof(T) == 8 ? CONSTRAINED ? CONSTRAINED_WARPS_F64 : UNCONSTRAINED_WARPS_F64
                               : CONSTRAINED  ? CONSTRAINED_WARPS_F32
                                              : UNCONSTRAINED_WARPS_F32;

// Position of vertex k on the lattice lines of a tile: first the row, then the column.
__device__ __forceinline__ i32 line_position(i32 k) {
    return k < TILE ? position_of(k, 0) : position_of(0, k - TILE);
}
// Symbols of the half warp's line vertices, four per lane; 0 for the anchor.
__device__ __forceinline__ u32 line_symbols_of(const u8* symbols) {
    const i32 lane = threadIdx.x & (HALF - 1);
    u32 four = 0;
#pragma unroll
    for (i32 i = 0; i < 4; i++) {
        const i32 position = line_position(HALF * i + lane);
        if (position != 0) four |= (u32)symbols[position] << 8 * i;
    }
    return four;
}

// The tile of this half warp in a pair from `first` on. Without a second tile both halves get the first.
template <u32 KIND>
__device__ __forceinline__ u64 tile_of_half(const Job& job, const Control& control, u64 first) {
    const u64 mine = first + (threadIdx.x >> 4 & 1), k = mine < listed_tiles<KIND>(control) ? mine : first;
    return listed_tile<KIND>(job, control, k);
}

// Starts the copies of the bounds of vertices with even coordinates and, unless the lattice lines are coded
// already, on the sides. Bounds of the far sides belong to the next tiles.
template <typename T, u32 KIND>
__device__ __forceinline__ void load_bounds(const Job& job, InteriorPair<T, KIND>& shared,
    const T* vertex_bounds, u64 bounded, u64 index, bool lines_are_made) {
    const i32 lane = threadIdx.x & (HALF - 1), half = threadIdx.x >> 4 & 1;
    constexpr i32 AT_ONCE = 16 / sizeof(T);
    if (lines_are_made) {
        // Speculative mode: constrained vertices lie on the lines only.
#pragma unroll
        for (i32 k = 0; k < TILE_VERTICES / 4; k += HALF)
            shared.coarse_bounds.even[half][k + lane] = no_bound<T>();
        shared.first_bounds[half][lane] = no_bound<T>();
        return;
    }
#pragma unroll
    for (i32 k = 0; k < TILE_VERTICES / 4; k += AT_ONCE * HALF)
        copy_ahead<16>(
            &shared.coarse_bounds.even[half][k + AT_ONCE * lane], vertex_bounds + k + AT_ONCE * lane);
    if (AT_ONCE * lane < HALF) {
        T* const to = &shared.first_bounds[half][AT_ONCE * lane];
        constexpr i32 CHUNK = HALF + 1;
        if (bounded >> CHUNK & 1) {
            copy_ahead<16>(to, vertex_bounds + BOUND_CHUNK * CHUNK + AT_ONCE * lane);
        } else {
#pragma unroll
            for (i32 i = 0; i < AT_ONCE; i++) to[i] = no_bound<T>();
        }
    }
    const u64 below = index + job.tiles_x, after = index + 1;
    const bool below_is_constrained = nearness_of(job, below).kind != UNCONSTRAINED_TILE,
               after_is_constrained = nearness_of(job, after).kind != UNCONSTRAINED_TILE;
    auto ask_for_bound = [&](i32 side, i32 k, bool constrained, const T* from) {
        T& to = shared.coarse_bounds.sides[half][side][k];
        if (constrained)
            copy_ahead<sizeof(T)>(&to, from);
        else
            to = no_bound<T>();
    };
#pragma unroll
    for (i32 k = lane; k < TILE; k += HALF) {
        const i32 across = position_of(k, 0), down = position_of(0, k);
        ask_for_bound(TOP, k, true, vertex_bounds + across);
        ask_for_bound(LEFT, k, true, vertex_bounds + down);
        ask_for_bound(BOTTOM, k, below_is_constrained, vertex_bounds_of<T>(job, below) + across);
        ask_for_bound(RIGHT, k, after_is_constrained, vertex_bounds_of<T>(job, after) + down);
    }
}

// Writes the final values of the sides to the lattice, and the symbols of the tile's own lines, which were
// coded before.
template <typename T>
__device__ __forceinline__ void take_lines(
    const Job& job, const TileShape& shape, Lattice<T>& lattice, InteriorCoder<T>& coder, u32 line_symbols) {
    typedef typename Real<T>::Pair P;
    const QuantizeView<T> work(job);
    const i32 lane = threadIdx.x & (HALF - 1);
    const P* const across = work.row_lines() + shape.ty * job.nx + shape.x0 + 2 * lane;
    const P* const down =
        work.column_lines() + shape.tx * column_line_length(job) + shape.ty * TILE + 2 * lane;
    lattice.even[lane] = across[0];
    lattice.odd[TOP][lane] = across[1];
    lattice.even[HALF * EVEN + lane] = across[job.nx];
    lattice.odd[BOTTOM][lane] = across[job.nx + 1];
    if (lane > 0) lattice.even[lane * EVEN] = down[0];
    lattice.odd[LEFT][lane] = down[1];
    lattice.even[lane * EVEN + HALF] = down[column_line_length(job)];
    lattice.odd[RIGHT][lane] = down[column_line_length(job) + 1];
#pragma unroll
    for (i32 i = 0; i < 4; i++) {
        const i32 position = line_position(HALF * i + lane);
        const u32 symbol = line_symbols >> 8 * i & 255;
        if (symbol == SYMBOL_ZERO) continue;
        if (coder.writes) coder.output.symbols[position] = (u8)symbol;
        coder.costs.charge(3 + raw_bits(symbol, position, sizeof(T)), position < MIDDLE_START ? 2
                                                                      : position < FINE_START ? 1
                                                                                              : 0);
    }
}

// Codes the vertices of the lattice: of the sides, unless lines_are_made, and inside.
template <typename T, u32 KIND>
__device__ __forceinline__ void code_lattice(
    InteriorPair<T, KIND>& shared, InteriorCoder<T>& coder, bool lines_are_made) {
    typedef typename Real<T>::Pair P;
    constexpr bool CONSTRAINED = KIND != UNCONSTRAINED_TILE;
    const i32 half = threadIdx.x >> 4 & 1;
    const Steps<T>& steps = coder.steps;
    Lattice<T>& lattice = shared.lattice[half];
    auto code = [&](P original, P prediction, i32 level, T vertex_bound, i32 position, bool own) -> P {
        const T half_step = steps.level[level].half_step;
        if (KIND == MASKED_TILE)
            return coder.code_unless_zero(
                original, prediction, level, half_step, vertex_bound, own ? position : -1);
        if (CONSTRAINED)
            return coder.code(original, prediction, level, half_step, vertex_bound, own ? position : -1);
        const P originals[1] = {original};
        P values[1] = {prediction};
        const i32 offsets[1] = {0};
        const bool active[1] = {true};
        coder.template code_group<1>(originals, values, level, half_step, position, offsets, active, own);
        return values[0];
    };
    if (!lines_are_made)
        lattice_sides<T>(
            lattice, steps.interpolants, [&](i32 side, i32 level, i32 number, P prediction, P original) -> P {
                // Vertices on the far sides belong to other tiles.
                const i32 n = HALF >> level, position = side & 1 ? n * (n + number) : n * n - n + number;
                T vertex_bound = no_bound<T>();
                if constexpr (CONSTRAINED)
                    vertex_bound = shared.coarse_bounds.sides[half][side][(2 * (number - n) + 1) << level];
                return code(original, prediction, level, vertex_bound, position, side < BOTTOM);
            });
    lattice_even<T>(lattice, steps.interpolants, [&](i32 level, i32 position, P prediction, P original) -> P {
        T vertex_bound = no_bound<T>();
        if constexpr (CONSTRAINED) vertex_bound = shared.coarse_bounds.even[half][position];
        return code(original, prediction, level, vertex_bound, position, true);
    });
}

// Notes the zeros of even rows, by half a warp, before anything is coded.
template <typename T>
__device__ __forceinline__ void note_even_rows(
    u32* zeros, const Lattice<T>& lattice, const OriginalsAside<T>& aside) {
    const i32 lane = threadIdx.x & (HALF - 1);
    note_zeros<T>(zeros, 0, lattice.even[lane], lattice.odd[TOP][lane]);
#pragma unroll 5
    for (i32 k = 1; k < HALF; k++)
        note_zeros<T>(zeros, 2 * k, lattice.even[k * EVEN + lane], aside.odd_columns[(k - 1) * HALF + lane]);
}

// Info word of a masked tile, without activities, and the number of its coded vertices by block.
struct MaskedInfo {
    u32 info, active[3];
};
// Writes the mask of zeros, by half a warp.
__device__ __forceinline__ MaskedInfo write_zeros(const Job& job, u64 index, const u32* zeros, bool writes) {
    // Zero vertices; from bit 12 on those with even coordinates, from bit 22 on those whose coordinates are
    // multiples of 4.
    u32 counts = 0;
#pragma unroll
    for (i32 y = threadIdx.x & (HALF - 1); y < TILE; y += HALF) {
        const u32 row = zeros[y];
        counts += __popc(row);
        if (!(y & 1)) counts += __popc(row & 0xffff) << 12;
        if (!(y & 3)) counts += __popc(row & 0x5555) << 22;
    }
    for (i32 k = HALF / 2; k > 0; k /= 2) counts += __shfl_xor_sync(FULL, counts, k);
    const u32 zero = counts & 0xfff, by_two = counts >> 12 & 0x3ff, by_four = counts >> 22,
              state = mask_states_of(zero, 0, TILE_VERTICES);
    if (writes && state != 0) {
        u32* const to = TileView(job).masks_of(index);
#pragma unroll
        for (i32 y = threadIdx.x & (HALF - 1); y < TILE; y += HALF)
            to[y] = interleave(zeros[y]), to[TILE + y] = 0;
    }
    return {info_of(state, 0, state == 0),
        {COARSE_VERTICES - by_four, MIDDLE_VERTICES - (by_two - by_four), FINE_VERTICES - (zero - by_two)}};
}

// Writes the info word of the tile, and adds to the statistics of the call. Call with a warp.
template <typename T, u32 KIND>
__device__ __forceinline__ void end_tile(
    const Job& job, Control& control, const InteriorPair<T, KIND>& shared, const InteriorCoder<T>& coder) {
    Costs costs = coder.costs;
    for (i32 k = HALF / 2; k > 0; k /= 2) {
        costs.upper += __shfl_xor_sync(FULL, costs.upper, k);
        costs.fine += __shfl_xor_sync(FULL, costs.fine, k);
    }
    __syncwarp();
    const i32 half = threadIdx.x >> 4 & 1;
    const bool tells = coder.writes && (threadIdx.x & (HALF - 1)) == 0;
    MaskedInfo masked = {ALL_CODED, {COARSE_VERTICES, MIDDLE_VERTICES, FINE_VERTICES}};
    if constexpr (KIND == MASKED_TILE)
        masked = write_zeros(job, shared.index[half], shared.zeros[half], coder.writes);
    const u32 coarse = activity_of(costs.upper & 0xffff, masked.active[0]),
              middle = activity_of(costs.upper >> 16, masked.active[1]),
              fine = activity_of(costs.fine % ONE_STORED, masked.active[2]);
    if (tells)
        QuantizeView<T>(job).headers()[shared.index[half]] =
            with_activities(masked.info, coarse, middle, fine);
    report_stats<T>(control, tells ? costs.fine / ONE_STORED : 0, 0, coder.max_error, shared.known.bits);
}

// Starts the copies of the anchor codes, and notes where the tile's symbols and payload go.
template <typename T, u32 KIND>
__device__ __forceinline__ void begin_tile(
    const Job& job, const Control& control, InteriorPair<T, KIND>& shared, u64 index) {
    const QuantizeView<T> work(job);
    const i32 half = threadIdx.x >> 4 & 1;
    if ((threadIdx.x & (HALF - 1)) != 0) return;
    shared.index[half] = index;
    shared.places[half] = {work.symbols() + index * TILE_VERTICES, work.payload(index)};
    copy_ahead<16>(&shared.anchor_codes[half][0], work.anchor_codes() + index);
    copy_ahead<16>(
        &shared.anchor_codes[half][1], work.anchor_codes() + followed_tile((u32)index, (u32)job.tiles_x));
    if (half == 0) expect_largest_error(control, shared.known);
}

// Writes the symbol of the anchor, which is coded: it depends on the anchors before.
template <typename T, u32 KIND>
__device__ __forceinline__ void write_anchor(
    const Job& job, const InteriorPair<T, KIND>& shared, InteriorCoder<T>& coder, u64 index) {
    const i32 half = threadIdx.x >> 4 & 1;
    if ((threadIdx.x & (HALF - 1)) != 0) return;
    const Symbol s = anchor_symbol(job, index, shared.anchor_codes[half][0], shared.anchor_codes[half][1]);
    const QuantizeView<T> work(job);
    if (coder.writes) work.symbols()[index * TILE_VERTICES] = (u8)s.symbol;
    if (s.symbol != SYMBOL_ZERO) coder.costs.charge(3 + raw_bits(s.symbol, 0, sizeof(T)), ANCHOR_LEVEL);
    if (coder.writes && s.symbol >= FIRST_WITH_RAW_BITS) coder.output.payload[0] = s.raw;
}

// Sets the symbols of a tile to zero, by half a warp.
__device__ __forceinline__ void clear_symbols(u8* symbols) {
    const i32 lane = threadIdx.x & (HALF - 1);
#pragma unroll
    for (i32 k = 0; k < TILE_VERTICES / 16 / HALF; k++)
        words_at<uint4>(symbols)[HALF * k + lane] = make_uint4(0, 0, 0, 0);
}

// Starts the loads of the originals; u, v: the tile's first vertex. wide: rows of the field are aligned.
template <typename T>
__device__ __forceinline__ void load_originals(const Job& job, const TileShape& shape, bool wide,
    Lattice<T>& lattice, OriginalsAside<T>& aside, const T* u, const T* v) {
    if (__all_sync(FULL, wide && shape.x0 + TILE + 16 / sizeof(T) <= job.nx))
        WideRows<T>().load(job, lattice, aside, u, v);
    else
        load_narrow<T>(job, lattice, aside, u, v);
}

// Speculative mode: keeps the ends of the tile's first row, which columns of other tiles read beside them.
template <typename T>
__device__ __forceinline__ void keep_beside_columns(
    const Job& job, const TileShape& shape, const Lattice<T>& lattice) {
    const i32 lane = threadIdx.x & (HALF - 1);
    if (lane == 0 || lane == HALF - 1)
        QuantizeView<T>(job).row_lines()[shape.ty * job.nx + shape.x0 + 2 * lane + 1] =
            lattice.odd[TOP][lane];
}

// Codes the vertices of the finest level.
template <typename T, typename Rows>
__device__ __forceinline__ void code_finest(const Lattice<T>& lattice, const Steps<T>& steps, Rows& rows) {
    const Interpolant<T> interpolant = interpolant_of<T>(steps.interpolants[0]);
    if (interpolant.coons)
        finest_level_coded<T, true>(lattice, interpolant, rows);
    else
        finest_level_coded<T, false>(lattice, interpolant, rows);
}

// Codes a pair of interior tiles by a warp, half a warp each. Tiles code all four lattice lines themselves,
// near and far, with the same bounds as their neighbours do. In the speculative mode the lines of constrained
// tiles depend on their surroundings and are coded before.
template <typename T, u32 KIND>
__device__ __forceinline__ void code_interior_pair(const Job& job, Control& control, const Steps<T>& steps,
    InteriorPair<T, KIND>& shared, u64 first, u64 index) {
    constexpr bool CONSTRAINED = KIND != UNCONSTRAINED_TILE;
    const QuantizeView<T> work(job);
    typedef typename Real<T>::Pair P;
    const i32 lane = threadIdx.x & (HALF - 1), half = threadIdx.x >> 4 & 1;
    // A half without a tile repeats the other's work and writes nothing.
    const bool mine = first + half < listed_tiles<KIND>(control);
    Lattice<T>& lattice = shared.lattice[half];
    OriginalsAside<T>& aside = shared.aside[half];
    InteriorCoder<T> coder = {steps, shared.places[half], mine, T(0), {0, 0}};
    u8* const symbols = work.symbols() + index * TILE_VERTICES;
    const bool signatures = KIND != MASKED_TILE && job.mode == SPECULATIVE && job.preserve != PRESERVE_NONE,
               lines_are_made = CONSTRAINED && signatures;

    // Start all loads at once: the bounds,
    const T* const vertex_bounds = CONSTRAINED ? vertex_bounds_of<T>(job, index) : nullptr;
    const u64 bounded = CONSTRAINED && !lines_are_made ? nearness_of(job, index).bounded : 0;
    if constexpr (CONSTRAINED)
        load_bounds<T, KIND>(job, shared, vertex_bounds, bounded, index, lines_are_made);
    // the anchor codes and the corners,
    begin_tile<T>(job, control, shared, index);
    P corner = Real<T>::pair(T(0), T(0));
    if (lane < 4) corner = work.anchors()[index + (lane & 1) + (lane & 2 ? job.tiles_x : 0)];
    end_of_copies();
    // the symbols of the tile's own lines, if they were coded before,
    const u32 line_symbols = lines_are_made ? line_symbols_of(symbols) : 0;
    // Other lanes overwrite them below.
    __syncwarp();
    // From here on only non-zero symbols are written.
    if (mine) clear_symbols(symbols);
    // and the originals, last, because they occupy many registers.
    const TileShape shape = tile_shape(job, fresh(index));
    const T* const u = fresh_global(vertex_at<T>(job.u, job.u_layout, shape.x0, shape.y0));
    const T* const v = fresh_global(vertex_at<T>(job.v, job.v_layout, shape.x0, shape.y0));
    const bool wide = has_wide_rows<T>(job);
    load_originals<T>(job, shape, wide, lattice, aside, u, v);
    InteriorRows<T, KIND> rows(
        job, coder, OddRows<T>(job, u, v, shared.rows[0], wide), shared.rows, aside.odd_columns);
    if (!CONSTRAINED) rows.begin();
    __syncwarp();
    if constexpr (KIND == MASKED_TILE) {
        rows.zeros = shared.zeros[half];
        note_even_rows<T>(rows.zeros, lattice, aside);
    }
    if (lines_are_made) take_lines<T>(job, shape, lattice, coder, line_symbols);
    __syncwarp();
    if (lane < 4) lattice.even[(lane & 1 ? HALF : 0) + (lane & 2 ? HALF * EVEN : 0)] = corner;
    __syncwarp();
    write_anchor<T>(job, shared, coder, index);
    code_lattice<T, KIND>(shared, coder, lines_are_made);
    // The shape is recomputed: in registers it would cause spills until here.
    if (!CONSTRAINED && signatures && mine)
        keep_beside_columns(job, tile_shape(job, fresh(shared.index[half])), lattice);
    if constexpr (CONSTRAINED)
        rows.begin_with_bounds(vertex_bounds, bounded, shared.first_bounds[half][lane]);
    code_finest<T>(lattice, steps, rows);
    end_tile<T, KIND>(job, control, shared, coder);
}

// Grid: tiles / 2 / INTERIOR_WARPS. Block: 32 * INTERIOR_WARPS threads, two tiles per warp. Static shared:
// one InteriorPair per warp. Reads: the field, list of unconstrained tiles, anchors. Writes: symbols,
// payload, info. Overlaps the previous kernel, of which it reads nothing.
template <typename T>
__device__ __forceinline__ void unconstrained_tiles(const Job& job) {
    constexpr u32 KIND = UNCONSTRAINED_TILE;
    __shared__ InteriorPair<T, KIND> shared[INTERIOR_WARPS<T, false>];
    __shared__ Steps<T> steps;
    Control& control = control_of(job);
    const u64 first = 2 * ((u64)blockIdx.x * INTERIOR_WARPS<T, false> + (threadIdx.x >> 5));
    if (2 * (u64)blockIdx.x * INTERIOR_WARPS<T, false> < control.unconstrained_tiles) {
        const u64 index = first < control.unconstrained_tiles ? tile_of_half<KIND>(job, control, first) : 0;
        steps.read(job, control);
        if (first < control.unconstrained_tiles)
            code_interior_pair<T, KIND>(job, control, steps, shared[threadIdx.x >> 5], first, index);
    }
    end_overlap();
}

// Tiles with vertex bounds. Grid: any. Block: 32 * INTERIOR_WARPS threads, two tiles per warp. Static shared:
// one InteriorPair per warp. Reads: the field, list of the tiles, anchors, vertex bounds. Writes: symbols,
// payload, info. Overlaps the previous kernel, and waits for it at its end.
template <typename T, u32 KIND>
__device__ __forceinline__ void bounded_tiles(const Job& job) {
    __shared__ InteriorPair<T, KIND> shared[INTERIOR_WARPS<T, true>];
    __shared__ Steps<T> steps;
    Control& control = control_of(job);
    const u64 count = listed_tiles<KIND>(control), all = 2 * (u64)gridDim.x * INTERIOR_WARPS<T, true>;
    if (2 * (u64)blockIdx.x * INTERIOR_WARPS<T, true> < count) {
        u64 first = 2 * ((u64)blockIdx.x * INTERIOR_WARPS<T, true> + (threadIdx.x >> 5));
        u64 index = first < count ? tile_of_half<KIND>(job, control, first) : 0;
        steps.read(job, control);
#pragma unroll 1
        while (first < count) {
            code_interior_pair<T, KIND>(job, control, steps, shared[threadIdx.x >> 5], first, index);
            __syncwarp();
            first += all;
            if (first < count) index = tile_of_half<KIND>(job, control, first);
        }
    }
    end_overlap();
}
// In the speculative mode it reads the lattice lines as well.
template <typename T>
__device__ __forceinline__ void constrained_tiles(const Job& job) {
    bounded_tiles<T, CONSTRAINED_TILE>(job);
}
// Block-wise mode. Writes the masks as well.
template <typename T>
__device__ __forceinline__ void masked_tiles(const Job& job) {
    bounded_tiles<T, MASKED_TILE>(job);
}
