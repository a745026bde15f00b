// Interior tiles of the hierarchical predictor without zeros or missing values, two per warp: unconstrained
// ones, and constrained ones, which have vertex bounds.
#pragma once
#include "compress/lattice_lines.cuh"
#include "tile/finest_level.cuh"

// The tile whose anchor predicts the anchor of this one: to the left, in the first column above.
__device__ __forceinline__ u64 tile_before(const Job& job, const TileShape& shape, u64 index) {
    return shape.tx > 0 ? index - 1 : shape.ty > 0 ? index - job.tiles_x : index;
}

// Symbol of a tile's anchor: its coarse code minus that of the last coded anchor. `code`, `before`: codes of
// this anchor and of the previous tile's.
static __device__ __noinline__ u32 anchor_symbol(
    const Job& job, const TileShape& shape, u64 index, int4 code, int4 before, u64& raw) {
    int4* codes = AnchorCodesView(job).codes();
    if (code.z > EXACT) return SYMBOL_ZERO;
    if (code.z == EXACT) return STORED;
    i32 before_u = 0, before_v = 0;
    u32 refinement_bits_u, refinement_bits_v;
    if (index > 0) {
        int4 other = before;
        if (other.z >= EXACT) {
            // Find the last anchor that has a code.
            const u32 last = last_coded_anchor(job, shape, index);
            if (last != NO_TILE) other = codes[last];
        }
        if (other.z < EXACT) {
            split_code(other.x, other.z, before_u, refinement_bits_u);
            split_code(other.y, other.z, before_v, refinement_bits_v);
        }
    }
    i32 coarse_u, coarse_v;
    split_code(code.x, code.z, coarse_u, refinement_bits_u);
    split_code(code.y, code.z, coarse_v, refinement_bits_v);
    codes[index].w = (i32)(refinement_bits_u | refinement_bits_v << (2 * code.z));
    return encode_symbol({code.z, coarse_u - before_u, coarse_v - before_v}, raw);
}

__device__ __forceinline__ u32 anchor_symbol(const Job& job, const TileShape& shape, u64 index, u64& raw) {
    const int4* codes = AnchorCodesView(job).codes();
    return anchor_symbol(job, shape, index, codes[index], codes[tile_before(job, shape, index)], raw);
}

// A coded vertex: decoded value, error, cost in bits, plus ONE_STORED if stored.
template <typename T>
struct CodedVertex {
    typename Real<T>::Pair value;
    T error;
    u32 cost;
};
constexpr u32 ONE_STORED = 1 << 20;

// Quantizer of a level, converted to T.
template <typename T>
struct alignas(16) Level {
    typename Real<T>::Pair step[REFINEMENTS];  // bin width and reciprocal
    typename Real<T>::Signed half_width;  // bits of half the first width if all others follow from it, else 0
    T half_step;                          // smaller residuals have code 0 in spite of rounding
    T above_accept;                       // smallest error that is not accepted
};

// Quantizer and interpolants in shared memory, where they need no registers.
template <typename T>
struct Steps {
    Level<T> level[LEVELS];
    T accept;
    bool lossless;  // zeros keep their signs
    u32 interpolants[5];

    // Call with a block.
    __device__ __forceinline__ void read(const Job& job, const Control& control) {
        typedef Real<T> R;
        for (i32 k = threadIdx.x; k < LEVELS * REFINEMENTS; k += blockDim.x)
            level[k / REFINEMENTS].step[k % REFINEMENTS] =
                R::pair((T)control.quantizer.width[k / REFINEMENTS][k % REFINEMENTS],
                    (T)control.quantizer.inverse[k / REFINEMENTS][k % REFINEMENTS]);
        if (threadIdx.x < LEVELS) {
            Level<T>& own = level[threadIdx.x];
            const T width = (T)control.quantizer.width[threadIdx.x][0],
                    last = (T)control.quantizer.width[threadIdx.x][REFINEMENTS - 1];
            const T accepted = (T)control.quantizer.accept;
            own.half_step = R::low(T(0.49) * width, accepted);
            own.above_accept = -R::next_down(-accepted);
            // True if each width is a quarter of the one before, i.e. not too small, and differences fit a
            // word.
            const bool follow =
                R::bits(last) >> R::MANTISSA >= 2 && R::bits(width) < R::bits(T(0.25) * R::MAX);
            own.half_width = follow ? (typename R::Signed)R::bits(T(0.5) * width) : 0;
        }
        if (threadIdx.x < 5) interpolants[threadIdx.x] = control.interpolants[threadIdx.x];
        if (threadIdx.x == 5) accept = (T)control.quantizer.accept, lossless = is_lossless(control);
        __syncthreads();
    }
};

// First refinement to try after refinement 0 has failed: one before the first whose half bin is within the
// bound. Computed from exponents.
template <typename T>
__device__ __forceinline__ i32 second_try(const Level<T>& level, T vertex_bound) {
    typedef Real<T> R;
    typedef typename R::Signed Signed;
    const Signed half = level.half_width;
    if (half != 0) {
        const Signed above =
            (half - (Signed)R::bits(vertex_bound) + ((Signed)2 << R::MANTISSA) - 1) >> (R::MANTISSA + 1);
        return (i32)min(max(above - 1, (Signed)1), (Signed)(REFINEMENTS - 1));
    }
    i32 within = 1;
#pragma unroll 1
    while (within < REFINEMENTS && T(0.5) * level.step[within].x > vertex_bound) within++;
    return within > 2 ? within - 1 : 1;
}

// Where a tile's symbols and payload go.
struct alignas(16) TileOutput {
    u8* symbols;
    u64* payload;
};

// Codes a vertex with the first refinement that keeps accuracy and bound; skips the same refinements as the
// twin. Writes symbol and raw bits at `position` unless it is negative. Not inlined: copies of the code would
// not fit the instruction cache.
template <typename T, typename P = typename Real<T>::Pair>
__device__ __noinline__ CodedVertex<T> code_vertex_of(P original, P prediction, T vertex_bound, i32 position,
    InShared<Level<T>> at_level, InShared<TileOutput> at_output) {
    typedef Real<T> R;
    const Level<T>& level = at_level.get();
    // An error below this is accepted and below the bound, or 0.
    const T enough = R::high(R::low(vertex_bound, level.above_accept), R::from_bits(1));
    const T du = original.x - prediction.x, dv = original.y - prediction.y;
    i32 next = second_try<T>(level, vertex_bound);
    // With code 0 the error is the residual.
    const T residual = R::high(R::abs(du), R::abs(dv));
    i32 refinement = residual < level.half_step && !(residual < enough) ? next++ : 0;
#pragma unroll 1
    do {
        const P step = level.step[refinement];
        const T scaled_u = du * step.y, scaled_v = dv * step.y;
        if (!(R::abs(scaled_u) <= R::MAX_CODE && R::abs(scaled_v) <= R::MAX_CODE)) break;
        const T shifted_u = scaled_u + R::SHIFT, shifted_v = scaled_v + R::SHIFT, cu = shifted_u - R::SHIFT,
                cv = shifted_v - R::SHIFT;
        const P value = R::pair(prediction.x + cu * step.x, prediction.y + cv * step.x);
        const T error = R::high(R::abs(value.x - original.x), R::abs(value.y - original.y));
        if (error < enough) {
            const TileOutput places = at_output.get();
            const i32 qu = (i32)(R::shifted_code(shifted_u) - R::SHIFTED_ZERO),
                      qv = (i32)(R::shifted_code(shifted_v) - R::SHIFTED_ZERO);
            const T larger = R::high(R::abs(cu), R::abs(cv));
            if (refinement == 0 && larger <= T(SMALL)) {
                const u32 symbol = small_symbol(qu, qv);
                if (position >= 0) fresh_global(places.symbols)[position] = (u8)symbol;
                return {value, error, position >= 0 && symbol != SYMBOL_ZERO ? 3u : 0u};
            }
            const Symbol s = large_symbol<T>(refinement, cu, cv, qu, qv);
            if (position >= 0) {
                fresh_global(places.symbols)[position] = (u8)s.symbol;
                fresh_global(places.payload)[position] = s.raw;
            }
            return {value, error, position >= 0 ? 3 + s.bits : 0u};
        }
        refinement = next++;
    } while (refinement < REFINEMENTS);
    if (position >= 0) fresh_global(at_output.get().symbols)[position] = STORED;
    return {original, T(0), position >= 0 ? ONE_STORED + 3 + 16 * (u32)sizeof(T) : 0u};
}

// Inputs of one turn of the finest level, by lane: two neighbours of an odd row, the odd columns of an even
// row, the bounds of the phases.
template <typename T, i32 LANES = 32>
struct RowsAhead {
    typename Real<T>::Pair of_u[LANES], of_v[LANES];
    T on_u[LANES], on_v[LANES], vertex_bounds[3][LANES];
};

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

// The finest level without bounds. (u, v): the lane's column of the first odd row. PAIRS: two neighbours of a
// row are one aligned word. A turn reads an odd row (two neighbours per lane) and the odd columns of an even
// row, for the last time. They are loaded one turn ahead and unconditionally, since a condition would cost
// registers for the old values; the last turns load rows that are not used.
template <typename T, bool PAIRS, typename Code, typename P = typename Real<T>::Pair>
__device__ __forceinline__ void finest_level_unconstrained(const Job& job, const Lattice<T>& lattice,
    u32 interpolant, const T* u, const T* v, const Steps<T>& steps, const Code& code) {
    typedef Real<T> R;
    const i32 lane = threadIdx.x & (HALF - 1);
    struct Rows {
        P on_row, of_u, of_v;
    };
    // The odd row at (u, v), and the even row three below, or the odd row again.
    auto load = [&](bool more) {
        Rows r;
        const u64 stride_u = fresh(job.u_layout.stride), stride_v = fresh(job.v_layout.stride);
        if (PAIRS) {
            r.of_u = read_last(reinterpret_cast<const P*>(u));
            r.of_v = read_last(reinterpret_cast<const P*>(v));
        } else {
            r.of_u = R::pair(u[0], u[stride_u]);
            r.of_v = R::pair(v[0], v[stride_v]);
        }
        const T *on_u = u + (PAIRS ? 1 : stride_u), *on_v = v + (PAIRS ? 1 : stride_v);
        if (more) on_u += 3 * fresh(job.u_layout.pitch), on_v += 3 * fresh(job.v_layout.pitch);
        r.on_row = R::pair(read_last(on_u), read_last(on_v));
        return r;
    };
    const P first_on_row = R::pair(u[fresh(job.u_layout.pitch) + (PAIRS ? 1 : fresh(job.u_layout.stride))],
        v[fresh(job.v_layout.pitch) + (PAIRS ? 1 : fresh(job.v_layout.stride))]);
    const T half_step = steps.level[0].half_step;
    Rows rows = load(true), next_rows = rows;
    finest_level_coded<T>(
        lattice, interpolant,
        [&](i32 j) {
            if (j + 1 < HALF) u += 2 * fresh(job.u_layout.pitch), v += 2 * fresh(job.v_layout.pitch);
            next_rows = load(j + 3 < HALF);
        },
        [&](i32 phase, i32 j, bool active, P prediction) -> P {
            // Row 1 of phase 0 comes before the first turn.
            const bool is_first = phase == 0 && j == 1;
            const P on_row = is_first ? first_on_row : rows.on_row;
            const P original = phase == 0   ? on_row
                               : phase == 1 ? R::pair(rows.of_u.x, rows.of_v.x)
                                            : R::pair(rows.of_u.y, rows.of_v.y);
            return code(original, prediction, 0, half_step, no_bound<T>(),
                256 * (1 + phase) + HALF * j + lane, active, true);
        },
        [&](i32) { rows = next_rows; });
}

// The finest level with bounds. The next inputs wait in shared memory, because a call to code_vertex_of would
// wait for all loads to registers.
template <typename T, bool PAIRS, typename Code, typename P = typename Real<T>::Pair>
__device__ __forceinline__ void finest_level_constrained(const Job& job, const Lattice<T>& lattice,
    u32 interpolant, const T* u, const T* v, const T* vertex_bounds, u64 bounded, const Steps<T>& steps,
    RowsAhead<T>& ahead, const Code& code) {
    typedef Real<T> R;
    const i32 lane = threadIdx.x & (HALF - 1), slot = threadIdx.x & 31;
    const u64 stride_u = PAIRS ? 1 : job.u_layout.stride, stride_v = PAIRS ? 1 : job.v_layout.stride;
    const u64 pitch_u = job.u_layout.pitch, pitch_v = job.v_layout.pitch;
    struct Rows {
        P on_row, of_u, of_v;
        T vertex_bounds[3];
    };
    // Bit 16 (1 + phase) of `bounded` belongs to the row of a phase at `vertex_bounds`.
    auto ask_for_bound = [&](i32 phase, i32 more) {
        T& to = ahead.vertex_bounds[phase][slot];
        if (bounded >> (HALF * (1 + phase) + more) & 1)
            copy_ahead<sizeof(T)>(&to, vertex_bounds + 256 * (1 + phase) + HALF * more);
        else
            to = no_bound<T>();
    };
    // The odd row at (u, v), and the even row three below if it exists.
    auto ask = [&](bool even) {
        if (PAIRS) {
            copy_ahead<2 * sizeof(T)>(&ahead.of_u[slot], u);
            copy_ahead<2 * sizeof(T)>(&ahead.of_v[slot], v);
        } else {
            copy_ahead<sizeof(T)>(&ahead.of_u[slot].x, u);
            copy_ahead<sizeof(T)>(&ahead.of_v[slot].x, v);
            copy_ahead<sizeof(T)>(&ahead.of_u[slot].y, u + stride_u);
            copy_ahead<sizeof(T)>(&ahead.of_v[slot].y, v + stride_v);
        }
        ask_for_bound(1, 0);
        ask_for_bound(2, 0);
        if (even) {
            copy_ahead<sizeof(T)>(&ahead.on_u[slot], u + 3 * pitch_u + stride_u);
            copy_ahead<sizeof(T)>(&ahead.on_v[slot], v + 3 * pitch_v + stride_v);
            ask_for_bound(0, 2);
        }
        end_of_copies();
    };
    const P first_on_row = R::pair(u[pitch_u + stride_u], v[pitch_v + stride_v]);
    const T first_bound = bounded >> (HALF + 1) & 1 ? vertex_bounds[256 + HALF] : no_bound<T>(),
            half_step = steps.level[0].half_step;
    ask(true);
    Rows rows;
    finest_level_coded<T>(
        lattice, interpolant,
        [&](i32 j) {
            wait_for_copies<0>();
            rows.of_u = ahead.of_u[slot];
            rows.of_v = ahead.of_v[slot];
            rows.on_row = R::pair(ahead.on_u[slot], ahead.on_v[slot]);
            for (i32 phase = 0; phase < 3; phase++)
                rows.vertex_bounds[phase] = ahead.vertex_bounds[phase][slot];
            if (j == HALF - 1) return;
            u += 2 * pitch_u, v += 2 * pitch_v;
            vertex_bounds += HALF;
            bounded >>= 1;
            ask(j + 3 < HALF);
        },
        [&](i32 phase, i32 j, bool active, P prediction) -> P {
            // Row 1 of phase 0 comes before the first turn.
            const bool is_first = phase == 0 && j == 1;
            const P on_row = is_first ? first_on_row : rows.on_row;
            const P original = phase == 0   ? on_row
                               : phase == 1 ? R::pair(rows.of_u.x, rows.of_v.x)
                                            : R::pair(rows.of_u.y, rows.of_v.y);
            const T vertex_bound = is_first ? first_bound : rows.vertex_bounds[phase];
            return code(original, prediction, 0, half_step, vertex_bound, 256 * (1 + phase) + HALF * j + lane,
                active, true);
        },
        [&](i32) {});
}

// The tile of this half warp in a pair from `first` on. Without a second tile both halves get the first.
template <bool CONSTRAINED>
__device__ __forceinline__ u64 tile_of_half(const Job& job, u64 first, u64 count) {
    const u64 mine = first + (threadIdx.x >> 4 & 1), k = mine < count ? mine : first;
    return ListsView(job).tile_lists()[CONSTRAINED ? job.tiles() - 1 - k : k];
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
    auto ask_for = [&](P& to, const T* from_u, const T* from_v) {
        copy_ahead<sizeof(T)>(&to.x, from_u);
        copy_ahead<sizeof(T)>(&to.y, from_v);
    };
    // Start all loads at once: originals with even coordinates, and the sides;
    {
        const T *even_u = u + 2 * lane * stride_u, *even_v = v + 2 * lane * stride_v;
        ask_for(lattice.odd[TOP][lane], even_u + stride_u, even_v + stride_v);
#pragma unroll
        for (i32 j = 0; j < EVEN; j++) {
            ask_for(lattice.even[j * EVEN + lane], even_u, even_v);
            if (j == EVEN - 1) ask_for(lattice.odd[BOTTOM][lane], even_u + stride_u, even_v + stride_v);
            even_u += 2 * pitch_u, even_v += 2 * pitch_v;
        }
        const T *rows_u = u + 2 * lane * pitch_u, *rows_v = v + 2 * lane * pitch_v;
        ask_for(lattice.odd[LEFT][lane], rows_u + pitch_u, rows_v + pitch_v);
        rows_u += TILE * stride_u, rows_v += TILE * stride_v;
        ask_for(lattice.even[lane * EVEN + HALF], rows_u, rows_v);
        ask_for(lattice.odd[RIGHT][lane], rows_u + pitch_u, rows_v + pitch_v);
    }
    // the anchor codes and the corners;
    if (lane == 0) {
        shared.index[half] = index;
        shared.places[half] = {symbols, work.raw() + index * TILE_VERTICES};
        copy_ahead<16>(&shared.anchor_codes[half][0], work.anchor_codes() + index);
        copy_ahead<16>(&shared.anchor_codes[half][1], work.anchor_codes() + tile_before(job, shape, index));
        if (half == 0) expect_largest_error(control, shared.known);
    }
    P corner = R::pair(T(0), T(0));
    if (lane < 4) corner = work.anchors()[index + (lane & 1) + (lane & 2 ? job.tiles_x : 0)];
    // and the bounds.
    const T* const vertex_bounds = CONSTRAINED ? vertex_bounds_of<T>(job, index) : nullptr;
    const u64 bounded = CONSTRAINED ? nearness_of(job, index).bounded : 0;
    if (CONSTRAINED) {
        constexpr i32 AT_ONCE = 16 / sizeof(T);
#pragma unroll
        for (i32 k = 0; k < TILE_VERTICES / 4; k += AT_ONCE * HALF)
            copy_ahead<16>(&shared.ahead.even_bounds[half][CONSTRAINED ? k + AT_ONCE * lane : 0],
                vertex_bounds + k + AT_ONCE * lane);
        if (!lines_are_made) {
            // Bounds of the far sides belong to the next tiles.
            const u64 below = index + job.tiles_x, after = index + 1;
            const bool below_is_constrained = nearness_of(job, below).kind != UNCONSTRAINED_TILE,
                       after_is_constrained = nearness_of(job, after).kind != UNCONSTRAINED_TILE;
            auto ask_for_bound = [&](i32 side, i32 k, bool constrained, const T* from) {
                T& to = shared.side_bounds[half][CONSTRAINED ? side : 0][CONSTRAINED ? k : 0];
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
    }
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
                // Next, small codes. Reload the widths, so that they occupy no registers meanwhile.
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
            if (mine) work.raw()[index * TILE_VERTICES] = raw;
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
    end_beside();
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
    end_beside();
}
