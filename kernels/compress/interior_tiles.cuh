// Entries of the whole tiles without zeros and missing values, two to a warp: plain ones, and those with
// limits.
#pragma once
#include "compress/lattice_lines.cuh"
#include "tile/finest_level.cuh"

// The tile before, to whose anchor that of a tile is coded: to the left, in the first column above.
__device__ __forceinline__ u64 tile_before(const Job& job, const TileShape& shape, u64 index) {
    return shape.tx > 0 ? index - 1 : shape.ty > 0 ? index - job.tiles_x : index;
}

// Symbol of the anchor of a tile: its base code as the difference from that of the anchor before it. The
// codes of both are at hand.
static __device__ __noinline__ u32 anchor_symbol(
    const Job& job, const TileShape& shape, u64 index, int4 code, int4 before, u64& raw) {
    int4* codes = AnchorCodesView(job).codes();
    if (code.z > EXACT) return SYMBOL_ZERO;
    if (code.z == EXACT) return STORED;
    i32 before_u = 0, before_v = 0;
    u32 digits_u, digits_v;
    if (index > 0) {
        int4 other = before;
        if (other.z >= EXACT) {
            // The next one that has a code, wherever it is.
            const u32 last = last_coded_anchor(job, shape, index);
            if (last != NO_TILE) other = codes[last];
        }
        if (other.z < EXACT) {
            split_code(other.x, other.z, before_u, digits_u);
            split_code(other.y, other.z, before_v, digits_v);
        }
    }
    i32 base_u, base_v;
    split_code(code.x, code.z, base_u, digits_u);
    split_code(code.y, code.z, base_v, digits_v);
    codes[index].w = (i32)(digits_u | digits_v << (2 * code.z));
    return encode_symbol({code.z, base_u - before_u, base_v - before_v}, raw);
}

__device__ __forceinline__ u32 anchor_symbol(const Job& job, const TileShape& shape, u64 index, u64& raw) {
    const int4* codes = AnchorCodesView(job).codes();
    return anchor_symbol(job, shape, index, codes[index], codes[tile_before(job, shape, index)], raw);
}

// A coded vertex: the value it decodes to, what its symbol costs with the raw bits, and ONE_STORED where it
// is stored.
template <typename T>
struct CodedVertex {
    typename Real<T>::Pair value;
    T error;
    u32 cost;
};
constexpr u32 ONE_STORED = 1 << 20;

// The quantizer of a level in the type of the values.
template <typename T>
struct alignas(16) Level {
    typename Real<T>::Pair step[IDS];  // width and reciprocal
    typename Real<T>::Signed
        half_width;  // the bits of half of the first one, where those of all others follow from them, or 0
    T half_step;     // residuals below it are certain to have the code zero
    T above_accept;  // the least error that is not accepted
};

// The quantizer and the kernels, where they are at hand without a register of their own.
template <typename T>
struct Steps {
    Level<T> level[LEVELS];
    T accept;
    bool lossless;  // zeros keep their signs
    u32 kernels[5];

    // By all threads of a block.
    __device__ __forceinline__ void read(const Job& job, const Control& control) {
        typedef Real<T> R;
        for (i32 k = threadIdx.x; k < LEVELS * IDS; k += blockDim.x)
            level[k / IDS].step[k % IDS] = R::pair(
                (T)control.quantizer.width[k / IDS][k % IDS], (T)control.quantizer.inverse[k / IDS][k % IDS]);
        if (threadIdx.x < LEVELS) {
            Level<T>& own = level[threadIdx.x];
            const T width = (T)control.quantizer.width[threadIdx.x][0],
                    last = (T)control.quantizer.width[threadIdx.x][IDS - 1];
            const T accepted = (T)control.quantizer.accept;
            own.half_step = R::low(T(0.49) * width, accepted);
            own.above_accept = -R::next_down(-accepted);
            // Each width is a quarter of the one before, unless it is too small, and the difference of two is
            // no larger than a word.
            const bool follow =
                R::bits(last) >> R::MANTISSA >= 2 && R::bits(width) < R::bits(T(0.25) * R::MAX);
            own.half_width = follow ? (typename R::Signed)R::bits(T(0.5) * width) : 0;
        }
        if (threadIdx.x < 5) kernels[threadIdx.x] = control.kernels[threadIdx.x];
        if (threadIdx.x == 5) accept = (T)control.quantizer.accept, lossless = is_lossless(control);
        __syncthreads();
    }
};

// The first id that is worth a try where the first of all fails: the one before the first whose
// half width is within the limit, by their exponents.
template <typename T>
__device__ __forceinline__ i32 second_try(const Level<T>& level, T limit) {
    typedef Real<T> R;
    typedef typename R::Signed Signed;
    const Signed half = level.half_width;
    if (half != 0) {
        const Signed above =
            (half - (Signed)R::bits(limit) + ((Signed)2 << R::MANTISSA) - 1) >> (R::MANTISSA + 1);
        return (i32)min(max(above - 1, (Signed)1), (Signed)(IDS - 1));
    }
    i32 within = 1;
#pragma unroll 1
    while (within < IDS && T(0.5) * level.step[within].x > limit) within++;
    return within > 2 ? within - 1 : 1;
}

// Where the symbols of a tile and their raw bits are.
struct alignas(16) TilePlaces {
    u8* symbols;
    u64* payload;
};

// A vertex: the first id that keeps the bound and the limit, with the same choice of ids worth a try as the
// twin. Its symbol and the raw bits are written at its position, if that is not negative. A function, since
// code that is laid out again and again does not fit the instruction cache.
template <typename T, typename P = typename Real<T>::Pair>
__device__ __noinline__ CodedVertex<T> code_vertex_of(P original, P prediction, T limit, i32 position,
    InShared<Level<T>> at_level, InShared<TilePlaces> at_places) {
    typedef Real<T> R;
    const Level<T>& level = at_level.get();
    // What is below it is below the limit and accepted, or zero.
    const T enough = R::high(R::low(limit, level.above_accept), R::from_bits(1));
    const T du = original.x - prediction.x, dv = original.y - prediction.y;
    i32 next = second_try<T>(level, limit);
    // With the code zero a residual is the error.
    const T residual = R::high(R::abs(du), R::abs(dv));
    i32 id = residual < level.half_step && !(residual < enough) ? next++ : 0;
#pragma unroll 1
    do {
        const P step = level.step[id];
        const T scaled_u = du * step.y, scaled_v = dv * step.y;
        if (!(R::abs(scaled_u) <= R::MAX_CODE && R::abs(scaled_v) <= R::MAX_CODE)) break;
        const T shifted_u = scaled_u + R::SHIFT, shifted_v = scaled_v + R::SHIFT, cu = shifted_u - R::SHIFT,
                cv = shifted_v - R::SHIFT;
        const P value = R::pair(prediction.x + cu * step.x, prediction.y + cv * step.x);
        const T error = R::high(R::abs(value.x - original.x), R::abs(value.y - original.y));
        if (error < enough) {
            const TilePlaces places = at_places.get();
            const i32 qu = (i32)(R::shifted_code(shifted_u) - R::SHIFTED_ZERO),
                      qv = (i32)(R::shifted_code(shifted_v) - R::SHIFTED_ZERO);
            const T larger = R::high(R::abs(cu), R::abs(cv));
            if (id == 0 && larger <= T(SMALL)) {
                const u32 symbol = small_symbol(qu, qv);
                if (position >= 0) fresh_global(places.symbols)[position] = (u8)symbol;
                return {value, error, position >= 0 && symbol != SYMBOL_ZERO ? 3u : 0u};
            }
            const Symbol s = large_symbol<T>(id, cu, cv, qu, qv);
            if (position >= 0) {
                fresh_global(places.symbols)[position] = (u8)s.symbol;
                fresh_global(places.payload)[position] = s.raw;
            }
            return {value, error, position >= 0 ? 3 + s.bits : 0u};
        }
        id = next++;
    } while (id < IDS);
    if (position >= 0) fresh_global(at_places.get().symbols)[position] = STORED;
    return {original, T(0), position >= 0 ? ONE_STORED + 3 + 16 * (u32)sizeof(T) : 0u};
}

// What a turn of the finest level needs, by lane: two neighbours of an odd row, the odd columns of an even
// row, the limits of the phases.
template <typename T, i32 LANES = 32>
struct RowsAhead {
    typename Real<T>::Pair of_u[LANES], of_v[LANES];
    T on_u[LANES], on_v[LANES], limits[3][LANES];
};

template <typename T, bool LIMITS>
struct WholePair {
    Lattice<T> lattice[2];
    // Limits of the vertices on the sides by their distance from the corner.
    alignas(16) T side_limits[2][LIMITS ? SIDES : 1][LIMITS ? TILE : 1];
    alignas(16) int4 anchor_codes[2][2];  // of the tile's anchor and the one before
    // Limits of the vertices with even coordinates by position, then what the finest level needs in its next
    // turn.
    alignas(16) union {
        T even_limits[2][LIMITS ? TILE_VERTICES / 4 : 1];
        RowsAhead<T, LIMITS ? 32 : 1> rows;
    } ahead;
    TilePlaces places[2];
    u64 index[2];
    LargestError known;
};

// Warps of a block. Plain tiles: with so many, five blocks leave half of a multiprocessor's memory to the
// cache. Those with limits: few, since a block's place is free for others only when its last warp has ended,
// and two pairs are seldom as much work.
template <typename T, bool LIMITS>
constexpr i32 WHOLE_WARPS = sizeof(T) == 8 ? 1
                            : LIMITS       ? 2
                                           : 4;
static_assert(WHOLE_WARPS<float, false> == 4 && WHOLE_WARPS<float, true> == 2 &&
                  WHOLE_WARPS<double, false> == 1 && WHOLE_WARPS<double, true> == 1,
    "launch.rs asks for as many");

// Cost of the symbols of a lane by block: of the coarse one, and 2^16 times that of the middle one, together
// (for a tile each is below 192 * 131); of the fine one, and 2^20 times the number of stored vertices.
struct Costs {
    u32 upper, fine;
};

// Position of a vertex on the lines of a tile: along the upper one, then along the one on the left.
__device__ __forceinline__ i32 line_position(i32 k) {
    return k < TILE ? position_of(k, 0) : position_of(0, k - TILE);
}
// Symbols of a half warp's four of these; none of the anchor.
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

// The finest level: (u, v) at the lane's column of the first odd row, limits at its first position. PAIRS
// where two neighbours of a row are one word of memory. What is looked at next, for the last time, is an odd
// row, of which a lane has two neighbours, and the odd columns of an even row. It is asked for a turn ahead,
// without a condition: else it would need registers of its own beside those for what was there before. In the
// last turns it is some rows of the tile.
template <typename T, bool PAIRS, typename Code, typename P = typename Real<T>::Pair>
__device__ __forceinline__ void finest_level(const Job& job, const Lattice<T>& lattice, u32 kernel,
    const T* u, const T* v, const Steps<T>& steps, const Code& code) {
    typedef Real<T> R;
    const i32 lane = threadIdx.x & (HALF - 1);
    struct Rows {
        P on_row, of_u, of_v;
    };
    // Of the odd row of the tile to which (u, v) point, and of the even row three below, or that row.
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
    lattice_fine<T>(
        lattice, kernel,
        [&](i32 j) {
            if (j + 1 < HALF) u += 2 * fresh(job.u_layout.pitch), v += 2 * fresh(job.v_layout.pitch);
            next_rows = load(j + 3 < HALF);
        },
        [&](i32 phase, i32 j, bool active, P prediction) -> P {
            // The first one is not in a row's turn.
            const bool is_first = phase == 0 && j == 1;
            const P on_row = is_first ? first_on_row : rows.on_row;
            const P original = phase == 0   ? on_row
                               : phase == 1 ? R::pair(rows.of_u.x, rows.of_v.x)
                                            : R::pair(rows.of_u.y, rows.of_v.y);
            return code(original, prediction, 0, half_step, no_limit<T>(),
                256 * (1 + phase) + HALF * j + lane, active, true);
        },
        [&](i32) { rows = next_rows; });
}

// The same with limits. What is needed next is on its way to shared memory: a call waits for all that is on
// its way to registers.
template <typename T, bool PAIRS, typename Code, typename P = typename Real<T>::Pair>
__device__ __forceinline__ void finest_level_with_limits(const Job& job, const Lattice<T>& lattice,
    u32 kernel, const T* u, const T* v, const T* limits, u64 limited, const Steps<T>& steps,
    RowsAhead<T>& ahead, const Code& code) {
    typedef Real<T> R;
    const i32 lane = threadIdx.x & (HALF - 1), slot = threadIdx.x & 31;
    const u64 stride_u = PAIRS ? 1 : job.u_layout.stride, stride_v = PAIRS ? 1 : job.v_layout.stride;
    const u64 pitch_u = job.u_layout.pitch, pitch_v = job.v_layout.pitch;
    struct Rows {
        P on_row, of_u, of_v;
        T limits[3];
    };
    // Bit 16 (1 + phase) of `limited` is that of the row of a phase to which `limits` points.
    auto ask_for_limit = [&](i32 phase, i32 more) {
        T& to = ahead.limits[phase][slot];
        if (limited >> (HALF * (1 + phase) + more) & 1)
            copy_ahead<sizeof(T)>(&to, limits + 256 * (1 + phase) + HALF * more);
        else
            to = no_limit<T>();
    };
    // Of the odd row of the tile to which (u, v) point, and of the even row three below, if there is one.
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
        ask_for_limit(1, 0);
        ask_for_limit(2, 0);
        if (even) {
            copy_ahead<sizeof(T)>(&ahead.on_u[slot], u + 3 * pitch_u + stride_u);
            copy_ahead<sizeof(T)>(&ahead.on_v[slot], v + 3 * pitch_v + stride_v);
            ask_for_limit(0, 2);
        }
        end_of_copies();
    };
    const P first_on_row = R::pair(u[pitch_u + stride_u], v[pitch_v + stride_v]);
    const T first_limit = limited >> (HALF + 1) & 1 ? limits[256 + HALF] : no_limit<T>(),
            half_step = steps.level[0].half_step;
    ask(true);
    Rows rows;
    lattice_fine<T>(
        lattice, kernel,
        [&](i32 j) {
            wait_for_copies<0>();
            rows.of_u = ahead.of_u[slot];
            rows.of_v = ahead.of_v[slot];
            rows.on_row = R::pair(ahead.on_u[slot], ahead.on_v[slot]);
            for (i32 phase = 0; phase < 3; phase++) rows.limits[phase] = ahead.limits[phase][slot];
            if (j == HALF - 1) return;
            u += 2 * pitch_u, v += 2 * pitch_v;
            limits += HALF;
            limited >>= 1;
            ask(j + 3 < HALF);
        },
        [&](i32 phase, i32 j, bool active, P prediction) -> P {
            // The first one is not in a row's turn.
            const bool is_first = phase == 0 && j == 1;
            const P on_row = is_first ? first_on_row : rows.on_row;
            const P original = phase == 0   ? on_row
                               : phase == 1 ? R::pair(rows.of_u.x, rows.of_v.x)
                                            : R::pair(rows.of_u.y, rows.of_v.y);
            const T limit = is_first ? first_limit : rows.limits[phase];
            return code(
                original, prediction, 0, half_step, limit, 256 * (1 + phase) + HALF * j + lane, active, true);
        },
        [&](i32) {});
}

// The tile of a half warp, of those from `first` on: the second half of the last one may have none, and has
// the other's.
template <bool LIMITS>
__device__ __forceinline__ u64 tile_of_half(const Job& job, u64 first, u64 count) {
    const u64 mine = first + (threadIdx.x >> 4 & 1), k = mine < count ? mine : first;
    return ListsView(job).tile_lists()[LIMITS ? job.tiles() - 1 - k : k];
}

// A pair of whole tiles without zeros and missing values by a warp, half of it for each: those without
// limits, or those with limits. They make their own lattice lines, as the tiles beside them do, with the same
// limits. In the speculative mode lines with limits depend on what is around them: there those of tiles with
// limits are made. `index` is that of the half warp's tile.
template <typename T, bool LIMITS>
__device__ __forceinline__ void whole_tiles(const Job& job, Control& control, const Steps<T>& steps,
    WholePair<T, LIMITS>& shared, u64 first, u64 index) {
    const QuantizeView<T> work(job);
    typedef typename Real<T>::Pair P;
    typedef Real<T> R;
    const i32 lane = threadIdx.x & (HALF - 1), half = threadIdx.x >> 4 & 1;
    // A half without a tile does the other's work without a trace.
    const bool mine = first + half < (LIMITS ? control.whole_tiles : control.plain_tiles);
    const TileShape shape = tile_shape(job, index);
    Lattice<T>& lattice = shared.lattice[half];
    u8* const symbols = work.symbols() + index * TILE_VERTICES;
    const bool signatures = job.mode == SPECULATIVE && job.preserve != PRESERVE_NONE,
               lines_are_made = LIMITS && signatures;
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
    // All that is needed is on its way at once: originals with even coordinates, and the sides,
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
    // what the anchor's symbol follows from, and the corners,
    if (lane == 0) {
        shared.index[half] = index;
        shared.places[half] = {symbols, work.raw() + index * TILE_VERTICES};
        copy_ahead<16>(&shared.anchor_codes[half][0], work.anchor_codes() + index);
        copy_ahead<16>(&shared.anchor_codes[half][1], work.anchor_codes() + tile_before(job, shape, index));
        if (half == 0) expect_largest_error(control, shared.known);
    }
    P corner = R::pair(T(0), T(0));
    if (lane < 4) corner = work.anchors()[index + (lane & 1) + (lane & 2 ? job.tiles_x : 0)];
    // and limits.
    const T* const limits = LIMITS ? limits_of<T>(job, index) : nullptr;
    const u64 limited = LIMITS ? nearness_of(job, index).limited : 0;
    if (LIMITS) {
        constexpr i32 AT_ONCE = 16 / sizeof(T);
#pragma unroll
        for (i32 k = 0; k < TILE_VERTICES / 4; k += AT_ONCE * HALF)
            copy_ahead<16>(&shared.ahead.even_limits[half][LIMITS ? k + AT_ONCE * lane : 0],
                limits + k + AT_ONCE * lane);
        if (!lines_are_made) {
            // Those on the far sides are those of the tiles behind.
            const u64 below = index + job.tiles_x, after = index + 1;
            const bool tight_below = nearness_of(job, below).kind != PLAIN_TILE,
                       tight_after = nearness_of(job, after).kind != PLAIN_TILE;
            auto ask_for_limit = [&](i32 side, i32 k, bool tight, const T* from) {
                T& to = shared.side_limits[half][LIMITS ? side : 0][LIMITS ? k : 0];
                if (tight)
                    copy_ahead<sizeof(T)>(&to, from);
                else
                    to = no_limit<T>();
            };
#pragma unroll
            for (i32 k = lane; k < TILE; k += HALF) {
                const i32 across = position_of(k, 0), down = position_of(0, k);
                ask_for_limit(TOP, k, true, limits + across);
                ask_for_limit(LEFT, k, true, limits + down);
                ask_for_limit(BOTTOM, k, tight_below, limits_of<T>(job, below) + across);
                ask_for_limit(RIGHT, k, tight_after, limits_of<T>(job, after) + down);
            }
        }
    }
    end_of_copies();
    auto charge = [&](u32 cost, i32 position) {
        costs.upper += position < 64 ? cost % ONE_STORED : position < 256 ? cost % ONE_STORED << 16 : 0;
        costs.fine += position >= 256 ? cost : cost & ONE_STORED;
    };
    // The symbols of its own lines, where they were made with them.
    const u32 line_symbols = lines_are_made ? line_symbols_of(symbols) : 0;
    // Other lanes overwrite them.
    __syncwarp();
    // Nothing but the symbols that are not zero is written later.
    if (mine) {
#pragma unroll
        for (i32 k = 0; k < TILE_VERTICES / 16 / HALF; k++)
            words_at<uint4>(symbols)[HALF * k + lane] = make_uint4(0, 0, 0, 0);
    }
    wait_for_copies<0>();
    __syncwarp();
    if (lines_are_made) {
        // The final sides.
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

    // Codes a vertex. Most codes are zero, which those are for certain whose residuals are below half a
    // step by more than rounding: they take no more than this test.
    auto code = [&](P original, P prediction, i32 level, T half_step, T limit, i32 position, bool active,
                    bool own) -> P {
        const T du = R::abs(original.x - prediction.x), dv = R::abs(original.y - prediction.y);
        const T certain = LIMITS ? R::low(half_step, limit) : half_step;
        T error = R::high(du, dv);
        P value = prediction;
        if (active & !((du < certain) & (dv < certain))) {
            bool is_done = false;
            if (!LIMITS) {
                // Small ones are next. What they need is read again, so that it has no registers.
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
                    code_vertex_of<T>(original, prediction, limit, own && mine ? position : -1,
                        InShared<Level<T>>(&steps.level[level]), InShared<TilePlaces>(&shared.places[half]));
                value = c.value;
                error = c.error;
                charge(c.cost, position);
            }
        }
        if (active) max_error = R::high(max_error, error);
        return value;
    };
    // The anchor's code is known; its symbol depends on the anchor before it.
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
        restored_sides<T>(
            lattice, steps.kernels, [&](i32 side, i32 level, i32 number, P prediction, P original) -> P {
                // Those on the far sides belong to other tiles.
                const i32 n = HALF >> level, position = side & 1 ? n * (n + number) : n * n - n + number;
                const T limit = LIMITS ? shared.side_limits[half][LIMITS ? side : 0]
                                                           [LIMITS ? (2 * (number - n) + 1) << level : 0]
                                       : no_limit<T>();
                return code(original, prediction, level, steps.level[level].half_step, limit, position, true,
                    side < BOTTOM);
            });
        // Vertical lines of other tiles look at the horizontal lines beside them.
        if (!LIMITS && signatures && mine && (lane == 0 || lane == HALF - 1))
            work.row_lines()[shape.ty * job.nx + shape.x0 + 2 * lane + 1] = lattice.odd[TOP][lane];
    }
    restored_even<T>(lattice, steps.kernels, [&](i32 level, i32 position, P prediction, P original) -> P {
        const T limit = LIMITS ? shared.ahead.even_limits[half][position] : no_limit<T>();
        return code(original, prediction, level, steps.level[level].half_step, limit, position, true, true);
    });
    const T* const columns_u = u + 2 * lane * stride_u + pitch_u;
    const T* const columns_v = v + 2 * lane * stride_v + pitch_v;
    const bool pairs =
        stride_u == 1 && stride_v == 1 &&
        (((u64)job.u | (u64)job.v | pitch_u * sizeof(T) | pitch_v * sizeof(T)) & (2 * sizeof(T) - 1)) == 0;
    if constexpr (LIMITS) {
        RowsAhead<T>& ahead = shared.ahead.rows;
        if (pairs)
            finest_level_with_limits<T, true>(job, lattice, steps.kernels[0], columns_u, columns_v,
                limits + lane, limited, steps, ahead, code);
        else
            finest_level_with_limits<T, false>(job, lattice, steps.kernels[0], columns_u, columns_v,
                limits + lane, limited, steps, ahead, code);
    } else if (pairs) {
        finest_level<T, true>(job, lattice, steps.kernels[0], columns_u, columns_v, steps, code);
    } else {
        finest_level<T, false>(job, lattice, steps.kernels[0], columns_u, columns_v, steps, code);
    }

    // Classes.
    for (i32 k = HALF / 2; k > 0; k /= 2) {
        costs.upper += __shfl_xor_sync(FULL, costs.upper, k);
        costs.fine += __shfl_xor_sync(FULL, costs.fine, k);
    }
    __syncwarp();
    const u32 coarse = class_of(costs.upper & 0xffff, 64), middle = class_of(costs.upper >> 16, 192),
              fine = class_of(costs.fine % ONE_STORED, 768);
    if (mine && lane == 0)
        work.headers()[shared.index[half]] = ALL_CODED | coarse << 8 | middle << 16 | fine << 24;
    report_tally<T>(
        control, mine && lane == 0 ? costs.fine / ONE_STORED : 0, 0, max_error, shared.known.bits);
}

// Grid: tiles / 2 / warps. Block: 32 * warps. Plain tiles, in any order, beside the kernel before.
template <typename T>
__device__ __forceinline__ void plain_tiles(const Job& job) {
    __shared__ WholePair<T, false> shared[WHOLE_WARPS<T, false>];
    __shared__ Steps<T> steps;
    Control& control = control_of(job);
    const u64 first = 2 * ((u64)blockIdx.x * WHOLE_WARPS<T, false> + (threadIdx.x >> 5));
    if (2 * (u64)blockIdx.x * WHOLE_WARPS<T, false> < control.plain_tiles) {
        const u64 index =
            first < control.plain_tiles ? tile_of_half<false>(job, first, control.plain_tiles) : 0;
        steps.read(job, control);
        if (first < control.plain_tiles)
            whole_tiles<T, false>(job, control, steps, shared[threadIdx.x >> 5], first, index);
    }
    end_beside();
}

// Grid: any. Block: 32 * warps. Whole tiles with limits, in any order, beside the kernel before, whose
// results are complete when this one is.
template <typename T>
__device__ __forceinline__ void tight_tiles(const Job& job) {
    __shared__ WholePair<T, true> shared[WHOLE_WARPS<T, true>];
    __shared__ Steps<T> steps;
    Control& control = control_of(job);
    const u64 count = control.whole_tiles, all = 2 * (u64)gridDim.x * WHOLE_WARPS<T, true>;
    if (2 * (u64)blockIdx.x * WHOLE_WARPS<T, true> < count) {
        u64 first = 2 * ((u64)blockIdx.x * WHOLE_WARPS<T, true> + (threadIdx.x >> 5));
        u64 index = first < count ? tile_of_half<true>(job, first, count) : 0;
        steps.read(job, control);
#pragma unroll 1
        while (first < count) {
            whole_tiles<T, true>(job, control, steps, shared[threadIdx.x >> 5], first, index);
            __syncwarp();
            first += all;
            if (first < count) index = tile_of_half<true>(job, first, count);
        }
    }
    end_beside();
}
