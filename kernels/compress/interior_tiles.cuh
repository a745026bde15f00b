// Interior tiles of the hierarchical predictor without zeros or missing values, two per warp: unconstrained
// ones, and constrained ones, which have vertex bounds.
#pragma once
#include "compress/anchors.cuh"
#include "compress/interior_rows.cuh"

template <typename T, bool CONSTRAINED>
struct InteriorPair {
    Lattice<T> lattice[2];
    // Bounds of the vertices on the sides, by distance from the corner.
    alignas(16) T side_bounds[2][CONSTRAINED ? SIDES : 1][CONSTRAINED ? TILE : 1];
    alignas(16) int4 anchor_codes[2][2];  // of the tile's anchor and of the previous tile's
    // First the bounds of the vertices with even coordinates, by position; then the inputs of the next turn
    // of the finest level.
    alignas(16) union {
        T even_bounds[2][CONSTRAINED ? TILE_VERTICES / 4 : 1];
        RowsAhead<T, CONSTRAINED ? 32 : 1> rows;
    } ahead;
    TileOutput places[2];
    u64 index[2];
    LargestError known;
};

// Warps of a block. Unconstrained: with four, five blocks leave half of the multiprocessor's memory to the L1
// cache. Constrained: few, because a block is replaced only when its last warp ends, and tiles differ in
// work.
template <typename T, bool CONSTRAINED>
constexpr i32 INTERIOR_WARPS = sizeof(T) == 8 ? CONSTRAINED ? CONSTRAINED_WARPS_F64 : UNCONSTRAINED_WARPS_F64
                               : CONSTRAINED  ? CONSTRAINED_WARPS_F32
                                              : UNCONSTRAINED_WARPS_F32;

// Cost of a lane's symbols by block. upper: coarse + (middle << 16), each below 192 * 131 per tile; fine:
// fine + (stored vertices << 20).
struct Costs {
    u32 upper, fine;
};

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
template <bool CONSTRAINED>
__device__ __forceinline__ u64 tile_of_half(const Job& job, u64 first, u64 count) {
    const u64 mine = first + (threadIdx.x >> 4 & 1), k = mine < count ? mine : first;
    return ListsView(job).tile_lists()[CONSTRAINED ? job.tiles() - 1 - k : k];
}

// Starts the copies of the originals with even coordinates, and of the sides, by half a warp. (u, v): the
// tile's first vertex.
template <typename T>
__device__ __forceinline__ void load_lattice(const Job& job, Lattice<T>& lattice, const T* u, const T* v) {
    const i32 lane = threadIdx.x & (HALF - 1);
    const u64 pitch_u = job.u_layout.pitch, pitch_v = job.v_layout.pitch, stride_u = job.u_layout.stride,
              stride_v = job.v_layout.stride;
    const T *even_u = u + 2 * lane * stride_u, *even_v = v + 2 * lane * stride_v;
    copy_vertex_ahead<T>(lattice.odd[TOP][lane], even_u + stride_u, even_v + stride_v);
#pragma unroll
    for (i32 j = 0; j < EVEN; j++) {
        copy_vertex_ahead<T>(lattice.even[j * EVEN + lane], even_u, even_v);
        if (j == EVEN - 1)
            copy_vertex_ahead<T>(lattice.odd[BOTTOM][lane], even_u + stride_u, even_v + stride_v);
        even_u += 2 * pitch_u, even_v += 2 * pitch_v;
    }
    const T *rows_u = u + 2 * lane * pitch_u, *rows_v = v + 2 * lane * pitch_v;
    copy_vertex_ahead<T>(lattice.odd[LEFT][lane], rows_u + pitch_u, rows_v + pitch_v);
    rows_u += TILE * stride_u, rows_v += TILE * stride_v;
    copy_vertex_ahead<T>(lattice.even[lane * EVEN + HALF], rows_u, rows_v);
    copy_vertex_ahead<T>(lattice.odd[RIGHT][lane], rows_u + pitch_u, rows_v + pitch_v);
}

// Starts the copies of the bounds of vertices with even coordinates and, unless the lattice lines are coded
// already, on the sides. Bounds of the far sides belong to the next tiles.
template <typename T>
__device__ __forceinline__ void load_bounds(
    const Job& job, InteriorPair<T, true>& shared, const T* vertex_bounds, u64 index, bool lines_are_made) {
    const i32 lane = threadIdx.x & (HALF - 1), half = threadIdx.x >> 4 & 1;
    constexpr i32 AT_ONCE = 16 / sizeof(T);
    if (lines_are_made) {
        // Speculative mode: constrained vertices lie on the lines only.
#pragma unroll
        for (i32 k = 0; k < TILE_VERTICES / 4; k += HALF)
            shared.ahead.even_bounds[half][k + lane] = no_bound<T>();
        return;
    }
#pragma unroll
    for (i32 k = 0; k < TILE_VERTICES / 4; k += AT_ONCE * HALF)
        copy_ahead<16>(
            &shared.ahead.even_bounds[half][k + AT_ONCE * lane], vertex_bounds + k + AT_ONCE * lane);
    const u64 below = index + job.tiles_x, after = index + 1;
    const bool below_is_constrained = nearness_of(job, below).kind != UNCONSTRAINED_TILE,
               after_is_constrained = nearness_of(job, after).kind != UNCONSTRAINED_TILE;
    auto ask_for_bound = [&](i32 side, i32 k, bool constrained, const T* from) {
        T& to = shared.side_bounds[half][side][k];
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

// Codes a pair of interior tiles by a warp, half a warp each. Tiles code all four lattice lines themselves,
// near and far, with the same bounds as their neighbours do. In the speculative mode the lines of constrained
// tiles depend on their surroundings and are coded before.
template <typename T, bool CONSTRAINED>
__device__ __forceinline__ void code_interior_pair(const Job& job, Control& control, const Steps<T>& steps,
    InteriorPair<T, CONSTRAINED>& shared, u64 first, u64 index) {
    const QuantizeView<T> work(job);
    typedef typename Real<T>::Pair P;
    typedef Real<T> R;
    const i32 lane = threadIdx.x & (HALF - 1), half = threadIdx.x >> 4 & 1;
    // A half without a tile repeats the other's work and writes nothing.
    const bool mine = first + half < (CONSTRAINED ? control.constrained_tiles : control.unconstrained_tiles);
    const TileShape shape = tile_shape(job, index);
    Lattice<T>& lattice = shared.lattice[half];
    u8* const symbols = work.symbols() + index * TILE_VERTICES;
    const bool signatures = job.mode == SPECULATIVE && job.preserve != PRESERVE_NONE,
               lines_are_made = CONSTRAINED && signatures;
    T max_error = 0;
    Costs costs = {0, 0};

    const u64 pitch_u = job.u_layout.pitch, pitch_v = job.v_layout.pitch, stride_u = job.u_layout.stride,
              stride_v = job.v_layout.stride;
    const T* const u = vertex_at<T>(job.u, job.u_layout, shape.x0, shape.y0);
    const T* const v = vertex_at<T>(job.v, job.v_layout, shape.x0, shape.y0);
    // Start all loads at once: the originals;
    load_lattice<T>(job, lattice, u, v);
    // the anchor codes and the corners;
    if (lane == 0) {
        shared.index[half] = index;
        shared.places[half] = {symbols, work.payload(index)};
        copy_ahead<16>(&shared.anchor_codes[half][0], work.anchor_codes() + index);
        copy_ahead<16>(&shared.anchor_codes[half][1], work.anchor_codes() + tile_before(job, shape, index));
        if (half == 0) expect_largest_error(control, shared.known);
    }
    P corner = R::pair(T(0), T(0));
    if (lane < 4) corner = work.anchors()[index + (lane & 1) + (lane & 2 ? job.tiles_x : 0)];
    // and the bounds.
    const T* const vertex_bounds = CONSTRAINED ? vertex_bounds_of<T>(job, index) : nullptr;
    const u64 bounded = CONSTRAINED && !lines_are_made ? nearness_of(job, index).bounded : 0;
    if constexpr (CONSTRAINED) load_bounds<T>(job, shared, vertex_bounds, index, lines_are_made);
    end_of_copies();
    auto charge = [&](u32 cost, i32 position) {
        costs.upper += position < 64 ? cost % ONE_STORED : position < 256 ? cost % ONE_STORED << 16 : 0;
        costs.fine += position >= 256 ? cost : cost & ONE_STORED;
    };
    // Symbols of the tile's own lines, if they were coded before.
    const u32 line_symbols = lines_are_made ? line_symbols_of(symbols) : 0;
    // Other lanes overwrite them below.
    __syncwarp();
    // From here on only non-zero symbols are written.
    if (mine) {
#pragma unroll
        for (i32 k = 0; k < TILE_VERTICES / 16 / HALF; k++)
            words_at<uint4>(symbols)[HALF * k + lane] = make_uint4(0, 0, 0, 0);
    }
    wait_for_copies<0>();
    __syncwarp();
    if (lines_are_made) {
        // Final values of the sides.
        const P* const across = work.row_lines() + shape.ty * job.nx + shape.x0 + 2 * lane;
        const P* const down = work.column_lines() + shape.tx * job.ny + shape.y0 + 2 * lane;
        lattice.even[lane] = across[0];
        lattice.odd[TOP][lane] = across[1];
        lattice.even[HALF * EVEN + lane] = across[job.nx];
        lattice.odd[BOTTOM][lane] = across[job.nx + 1];
        if (lane > 0) lattice.even[lane * EVEN] = down[0];
        lattice.odd[LEFT][lane] = down[1];
        lattice.even[lane * EVEN + HALF] = down[job.ny];
        lattice.odd[RIGHT][lane] = down[job.ny + 1];
#pragma unroll
        for (i32 i = 0; i < 4; i++) {
            const i32 position = line_position(HALF * i + lane);
            const u32 symbol = line_symbols >> 8 * i & 255;
            if (symbol == SYMBOL_ZERO) continue;
            if (mine) symbols[position] = (u8)symbol;
            charge(3 + raw_bits(symbol, position, sizeof(T)), position);
        }
    }
    __syncwarp();
    if (lane < 4) lattice.even[(lane & 1 ? HALF : 0) + (lane & 2 ? HALF * EVEN : 0)] = corner;
    __syncwarp();

    // Codes a vertex. Most codes are zero; a residual below half_step (and the bound) is settled by this
    // comparison alone.
    auto code = [&](P original, P prediction, i32 level, T half_step, T vertex_bound, i32 position,
                    bool active, bool own) -> P {
        const T du = R::abs(original.x - prediction.x), dv = R::abs(original.y - prediction.y);
        const T certain = CONSTRAINED ? R::low(half_step, vertex_bound) : half_step;
        T error = R::high(du, dv);
        P value = prediction;
        if (active & !((du < certain) & (dv < certain))) {
            bool is_done = false;
            if (!CONSTRAINED) {
                // Next, small codes. Reload the widths, so that they occupy no registers meanwhile. By
                // component: quantize() would cost registers here.
                const P step = steps.level[level].step[0];
                T cu, cv;
                bool passes = encode_residual(original.x, prediction.x, step.y, step.x, cu, value.x);
                passes &= encode_residual(original.y, prediction.y, step.y, step.x, cv, value.y);
                error = R::high(R::abs(value.x - original.x), R::abs(value.y - original.y));
                is_done = passes && error <= steps.accept && R::high(R::abs(cu), R::abs(cv)) <= T(SMALL);
                if (is_done && own) {
                    const u32 symbol = small_symbol((i32)cu, (i32)cv);
                    if (mine) symbols[position] = (u8)symbol;
                    charge(symbol == SYMBOL_ZERO ? 0 : 3, position);
                }
            }
            if (!is_done) {
                const CodedVertex<T> c =
                    code_vertex_of<T>(original, prediction, vertex_bound, own && mine ? position : -1,
                        InShared<Level<T>>(&steps.level[level]), InShared<TileOutput>(&shared.places[half]));
                value = c.value;
                error = c.error;
                charge(c.cost, position);
            }
        }
        if (active) max_error = R::high(max_error, error);
        return value;
    };
    // The anchor is coded; its symbol depends on the anchors before.
    if (lane == 0) {
        u64 raw = 0;
        const u32 symbol =
            anchor_symbol(job, shape, index, shared.anchor_codes[half][0], shared.anchor_codes[half][1], raw);
        if (mine) symbols[0] = (u8)symbol;
        if (symbol != SYMBOL_ZERO) {
            charge(3 + raw_bits(symbol, 0, sizeof(T)), 0);
            if (mine) *work.payload(index) = raw;
        }
    }
    if (!lines_are_made) {
        lattice_sides<T>(
            lattice, steps.interpolants, [&](i32 side, i32 level, i32 number, P prediction, P original) -> P {
                // Vertices on the far sides belong to other tiles.
                const i32 n = HALF >> level, position = side & 1 ? n * (n + number) : n * n - n + number;
                const T vertex_bound =
                    CONSTRAINED ? shared.side_bounds[half][CONSTRAINED ? side : 0]
                                                    [CONSTRAINED ? (2 * (number - n) + 1) << level : 0]
                                : no_bound<T>();
                return code(original, prediction, level, steps.level[level].half_step, vertex_bound, position,
                    true, side < BOTTOM);
            });
        // Columns of other tiles, in the speculative mode, read the rows beside them.
        if (!CONSTRAINED && signatures && mine && (lane == 0 || lane == HALF - 1))
            work.row_lines()[shape.ty * job.nx + shape.x0 + 2 * lane + 1] = lattice.odd[TOP][lane];
    }
    lattice_even<T>(lattice, steps.interpolants, [&](i32 level, i32 position, P prediction, P original) -> P {
        const T vertex_bound = CONSTRAINED ? shared.ahead.even_bounds[half][position] : no_bound<T>();
        return code(
            original, prediction, level, steps.level[level].half_step, vertex_bound, position, true, true);
    });
    const T* const columns_u = u + 2 * lane * stride_u + pitch_u;
    const T* const columns_v = v + 2 * lane * stride_v + pitch_v;
    const bool pairs =
        stride_u == 1 && stride_v == 1 &&
        (((u64)job.u | (u64)job.v | pitch_u * sizeof(T) | pitch_v * sizeof(T)) & (2 * sizeof(T) - 1)) == 0;
    if constexpr (CONSTRAINED) {
        RowsAhead<T>& ahead = shared.ahead.rows;
        if (pairs)
            finest_level_constrained<T, true>(job, lattice, steps.interpolants[0], columns_u, columns_v,
                vertex_bounds + lane, bounded, steps, ahead, code);
        else
            finest_level_constrained<T, false>(job, lattice, steps.interpolants[0], columns_u, columns_v,
                vertex_bounds + lane, bounded, steps, ahead, code);
    } else if (pairs) {
        finest_level_unconstrained<T, true>(
            job, lattice, steps.interpolants[0], columns_u, columns_v, steps, code);
    } else {
        finest_level_unconstrained<T, false>(
            job, lattice, steps.interpolants[0], columns_u, columns_v, steps, code);
    }

    // Activities.
    for (i32 k = HALF / 2; k > 0; k /= 2) {
        costs.upper += __shfl_xor_sync(FULL, costs.upper, k);
        costs.fine += __shfl_xor_sync(FULL, costs.fine, k);
    }
    __syncwarp();
    const u32 coarse = activity_of(costs.upper & 0xffff, 64), middle = activity_of(costs.upper >> 16, 192),
              fine = activity_of(costs.fine % ONE_STORED, 768);
    if (mine && lane == 0)
        work.headers()[shared.index[half]] = ALL_CODED | coarse << 8 | middle << 16 | fine << 24;
    report_stats<T>(
        control, mine && lane == 0 ? costs.fine / ONE_STORED : 0, 0, max_error, shared.known.bits);
}

// Grid: tiles / 2 / INTERIOR_WARPS. Block: 32 * INTERIOR_WARPS threads, two tiles per warp. Static shared:
// one InteriorPair per warp. Reads: the field, list of unconstrained tiles, anchors. Writes: symbols,
// payload, info. Overlaps the previous kernel, of which it reads nothing.
template <typename T>
__device__ __forceinline__ void unconstrained_tiles(const Job& job) {
    __shared__ InteriorPair<T, false> shared[INTERIOR_WARPS<T, false>];
    __shared__ Steps<T> steps;
    Control& control = control_of(job);
    const u64 first = 2 * ((u64)blockIdx.x * INTERIOR_WARPS<T, false> + (threadIdx.x >> 5));
    if (2 * (u64)blockIdx.x * INTERIOR_WARPS<T, false> < control.unconstrained_tiles) {
        const u64 index = first < control.unconstrained_tiles
                              ? tile_of_half<false>(job, first, control.unconstrained_tiles)
                              : 0;
        steps.read(job, control);
        if (first < control.unconstrained_tiles)
            code_interior_pair<T, false>(job, control, steps, shared[threadIdx.x >> 5], first, index);
    }
    end_overlap();
}

// Grid: any. Block: 32 * INTERIOR_WARPS threads, two tiles per warp. Static shared: one InteriorPair per
// warp. Reads: the field, list of constrained tiles, anchors, vertex bounds, in the speculative mode the
// lattice lines. Writes: symbols, payload, info. Overlaps the previous kernel, and waits for it at its end.
template <typename T>
__device__ __forceinline__ void constrained_tiles(const Job& job) {
    __shared__ InteriorPair<T, true> shared[INTERIOR_WARPS<T, true>];
    __shared__ Steps<T> steps;
    Control& control = control_of(job);
    const u64 count = control.constrained_tiles, all = 2 * (u64)gridDim.x * INTERIOR_WARPS<T, true>;
    if (2 * (u64)blockIdx.x * INTERIOR_WARPS<T, true> < count) {
        u64 first = 2 * ((u64)blockIdx.x * INTERIOR_WARPS<T, true> + (threadIdx.x >> 5));
        u64 index = first < count ? tile_of_half<true>(job, first, count) : 0;
        steps.read(job, control);
#pragma unroll 1
        while (first < count) {
            code_interior_pair<T, true>(job, control, steps, shared[threadIdx.x >> 5], first, index);
            __syncwarp();
            first += all;
            if (first < count) index = tile_of_half<true>(job, first, count);
        }
    }
    end_overlap();
}
