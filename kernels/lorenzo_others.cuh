// Entries of the Lorenzo predictor for tiles with limits, masks or both, a warp for a tile, and what is found out about limits before the
// rows of a tile. Twin: src/stage/lorenzo.rs.
#pragma once
#include "lorenzo.cuh"

// Limit of the lane's vertex of a row. Rows with odd numbers, and odd columns, are of the finest level.
template <typename T>
__device__ __forceinline__ T limit_at(const T* limits, u64 limited, i32 y) {
    const i32 lane = threadIdx.x & 31, fine = 16 * (y >> 1) + (lane >> 1);
    const i32 position = y & 1 ? (lane & 1 ? 768 : 512) + fine : lane & 1 ? 256 + fine : position_of(lane, y);
    return limit_of(limits, lane == 0 ? ~0ull : limited, position);
}

// Rows that are loaded before the first of them is worked on.
constexpr i32 LORENZO_ROWS = 4;

// The values of rows, and their limits where there are any, of a tile that may end before them.
template <typename T>
struct LorenzoRows {
    T a[LORENZO_ROWS], b[LORENZO_ROWS], limit[LORENZO_ROWS];
    __device__ __forceinline__ void load(const Job& job, const T* u, const T* v, const T* limits, u64 limited, i32 start, i32 rows) {
#pragma unroll
        for (i32 i = 0; i < LORENZO_ROWS; i++) {
            const i32 y = start + i < rows ? start + i : rows - 1;
            a[i] = u[y * (long long)job.u_layout.pitch];
            b[i] = v[y * (long long)job.v_layout.pitch];
            limit[i] = limits ? limit_at(limits, limited, start + i) : no_limit<T>();
        }
    }
};

// What a row of vertices comes to of which not all have a code of their tile's lattice.
template <typename T>
struct LorenzoRow {
    u32 symbol, own;         // of the lane's vertex, and its raw bits
    u32 before_u, before_v;  // base codes
    u32 active, zeros, fills, stored;
    T error;
};
template <typename T>
struct LorenzoVertex {
    T a, b, limit;
    bool inside, fits, coded;  // coded: by the lattice
    T cu, cv, error;
};
template <typename T>
__device__ __noinline__ LorenzoRow<T> lorenzo_row(const LorenzoVertex<T> w, u32 before_u, u32 before_v, const Control& control,
                                                  const Lattices<T>& lattices, i32 tier, bool stored, typename Payload<T>::Type* payload) {
    typedef Real<T> R;
    const i32 lane = threadIdx.x & 31;
    const T a = w.a, b = w.b;
    const bool is_finite = R::finite(a) && R::finite(b), zero = w.inside && a == T(0) && b == T(0);
    const bool visible = w.inside && is_finite && !zero;
    const bool fill = w.inside && !is_finite && R::bits(a) == control.fill[0] && R::bits(b) == control.fill[1];
    const bool has_symbol = w.inside && !zero && !fill;
    LorenzoRow<T> row = {SYMBOL_ZERO, 0, before_u, before_v, 0, 0, 0, 0, T(0)};
    row.zeros = __ballot_sync(FULL, zero);
    row.fills = __ballot_sync(FULL, fill);
    row.active = __popc(__ballot_sync(FULL, has_symbol));
    LorenzoCode<T> code = {w.coded, 0, w.coded ? (i32)w.cu : 0, w.coded ? (i32)w.cv : 0, w.coded ? w.error : T(0)};
    if (visible && !stored && w.fits && !w.coded)
        code = lorenzo_code<T>(a, b, lattices, tier, (T)control.quantizer.accept, is_tight(w.limit), w.limit);
    row.stored = visible && !code.coded;
    row.error = code.error;
    i32 base_u, base_v;
    u32 digits_u, digits_v;
    split_code(code.qu, code.id, base_u, digits_u);
    split_code(code.qv, code.id, base_v, digits_v);
    // What has no code counts as predicted: down as the vertex to its left.
    u32 down_u = (u32)base_u - before_u, down_v = (u32)base_v - before_v;
    const u32 left = __ballot_sync(FULL, code.coded) & ((2u << lane) - 1);
    const i32 from = left ? 31 - __clz(left) : 0;
    const u32 near_u = __shfl_sync(FULL, down_u, from), near_v = __shfl_sync(FULL, down_v, from);
    down_u = left ? near_u : 0;
    down_v = left ? near_v : 0;
    row.before_u += down_u;
    row.before_v += down_v;
    const i32 qu = across_cell(down_u), qv = across_cell(down_v);
    if (code.coded) {
        u64 raw;
        row.symbol = encode_symbol({code.id, qu, qv}, raw);
        if (row.symbol >= FIRST_WITH_RAW_BITS) {
            const u32 own = symbol_raw_bits(row.symbol);
            const u64 digits = digits_u | digits_v << (2 * code.id);
            *payload = Payload<T>::make(own < 64 ? raw | digits << own : raw, own == 0 ? 0 : own < 64 ? digits >> (64 - own) : digits);
            row.own = own + 4 * (u32)code.id;
        }
    } else if (has_symbol) {
        row.symbol = STORED;
        row.own = 16 * sizeof(T);
        *payload = sizeof(T) == 4 ? Payload<T>::make(R::bits(a) | R::bits(b) << 32, 0) : Payload<T>::make(R::bits(a), R::bits(b));
    }
    return row;
}

// One tile with limits, masks or both. `stored` stores every vertex, for tiles of which a code would have too
// many raw bits; whether that is so. All vertices of a `whole` one have a value.
template <typename T>
__device__ __forceinline__ bool lorenzo_rows(const Job& job, const Control& control, const Lattices<T>& lattices, u64 index,
                                             const TileShape& shape, bool whole, i32 tier, bool stored, const T* limits, u32& info, u32& exact,
                                             T& max_error) {
    typedef Real<T> R;
    typedef typename Payload<T>::Type Q;
    const i32 lane = threadIdx.x & 31, ox = shape.owned_x(), oy = shape.owned_y();
    const bool inside = lane < ox;
    const T* const u = vertex_at<T>(job.u, job.u_layout, shape.x0 + (inside ? lane : 0), shape.y0);
    const T* const v = vertex_at<T>(job.v, job.v_layout, shape.x0 + (inside ? lane : 0), shape.y0);
    const T width = lattices.width[tier][0], inverse = lattices.inverse[tier][0], accept = (T)control.quantizer.accept;
    u8* const symbols = job.symbols + index * TILE_VERTICES + lane;
    Q* const payload = reinterpret_cast<Q*>(job.payload) + index * TILE_VERTICES + lane;
    RowSums costs = {0, 0, 0}, active = {0, 0, 0};
    u32 before_u = 0, before_v = 0, my_zero = 0, my_fill = 0, stored_vertices = 0;
    T largest = 0;
    bool too_long = false;
    const u64 limited = nearness_of(job, index).limited;
#pragma unroll 1
    for (i32 start = 0; start < TILE; start += LORENZO_ROWS) {
        LorenzoRows<T> rows;
        rows.load(job, u, v, limits, limited, start, oy);
#pragma unroll
        for (i32 i = 0; i < LORENZO_ROWS; i++) {
            const i32 y = start + i;
            costs.begin_row(start, i);
            active.begin_row(start, i);
            if (y >= oy) {
                symbols[TILE * y] = SYMBOL_ZERO;
                continue;
            }
            const T a = rows.a[i], b = rows.b[i], limit = rows.limit[i];
            bool visible = inside;
            if (!whole) visible &= R::finite(a) && R::finite(b) && !(a == T(0) && b == T(0));
            const bool tight = is_tight(limit);
            T cu, cv, ru, rv;
            bool fits = quantize_on(a, inverse, width, cu, ru);
            fits &= quantize_on(b, inverse, width, cv, rv);
            const T error = R::high(R::abs(ru - a), R::abs(rv - b));
            const bool coded = visible && !stored && fits && (error == T(0) || (error <= accept && (!tight || error < limit)));
            u32 n = 32;
            u32 symbol = SYMBOL_ZERO, own = 0;
            if (__all_sync(FULL, coded)) {
                const u32 base_u = (u32)(i32)cu, base_v = (u32)(i32)cv;
                const i32 qu = across_cell(base_u - before_u), qv = across_cell(base_v - before_v);
                before_u = base_u;
                before_v = base_v;
                largest = R::high(largest, error);
                if ((u32)(qu + SMALL) <= 2 * SMALL && (u32)(qv + SMALL) <= 2 * SMALL) {
                    symbol = small_symbol(qu, qv);
                } else {
                    const Symbol s = encode_symbol_large({0, qu, qv});
                    symbol = s.symbol;
                    own = symbol_raw_bits(symbol);
                    payload[TILE * y] = Payload<T>::make(s.raw, 0);
                }
            } else {
                const LorenzoRow<T> row =
                    lorenzo_row<T>({a, b, limit, inside, fits, coded, cu, cv, error}, before_u, before_v, control, lattices, tier, stored,
                                   payload + TILE * y);
                symbol = row.symbol;
                own = row.own;
                before_u = row.before_u;
                before_v = row.before_v;
                n = row.active;
                stored_vertices += row.stored;
                largest = R::high(largest, row.error);
                if (lane == y) {
                    my_zero = row.zeros;
                    my_fill = row.fills;
                }
            }
            too_long |= sizeof(T) == 4 && own > 64;
            if (symbol != SYMBOL_ZERO) costs.all += 3 + own;
            active.all += n;
            symbols[TILE * y] = (u8)symbol;
        }
    }
    if (__any_sync(FULL, too_long)) return true;
    const u32 owned = (u32)(ox * oy), zeros = warp_sum(__popc(my_zero)), fills = warp_sum(__popc(my_fill));
    const u32 states = 3 * (zeros == 0 ? MASK_NONE : zeros == owned ? MASK_ALL : MASK_SOME) +
                       (fills == 0 ? MASK_NONE : fills == owned ? MASK_ALL : MASK_SOME);
    info = states | (u32)tier << 5 | (states == 0 && owned == TILE_VERTICES ? ALL_CODED : 0);
    if (has_codes(states)) info |= classes_of(costs, active);
    if (states != 0) {
        job.masks[index * 64 + lane] = my_zero;
        job.masks[index * 64 + TILE + lane] = my_fill;
    }
    exact += stored_vertices;
    max_error = R::high(max_error, largest);
    return false;
}

// A tile whose lattice has no code for a vertex that only the bound constrains, or where a code has too many raw bits. Seldom.
template <typename T>
__device__ __noinline__ void lorenzo_by_vertex(const Job& job, const Lattices<T>& lattices, u64 index, i32 tier, bool whole, bool has_limits) {
    Control& control = control_of(job);
    const TileShape shape = tile_shape(job, index);
    const T* const limits = has_limits ? limits_of<T>(job, index) : nullptr;
    u32 info = 0, exact = 0;
    T max_error = 0;
    bool stored = false;
#pragma unroll 1
    while (lorenzo_rows<T>(job, control, lattices, index, shape, whole, tier, stored, limits, info, exact, max_error)) stored = true;
    if ((threadIdx.x & 31) == 0) job.info[index] = info;
    report_tally<T>(control, exact, 0, max_error);
}

// Lists the vertices with limits; how many there are.
template <typename T>
__device__ __forceinline__ u32 list_limited(const T* limits, u64 limited, u16* list) {
    constexpr i32 EACH = 16 / sizeof(T), TIMES = TILE_VERTICES / (32 * EACH);
    typedef typename Real<T>::Bits Bits;
    struct alignas(16) Some {
        T limits[EACH];
    };
    const i32 lane = threadIdx.x & 31;
    const u64 mine = limited >> (EACH * lane / LIMIT_CHUNK);
    Some some[TIMES];
#pragma unroll
    for (i32 i = 0; i < TIMES; i++) {
#pragma unroll
        for (i32 j = 0; j < EACH; j++) some[i].limits[j] = no_limit<T>();
        if (mine >> (32 * EACH / LIMIT_CHUNK * i) & 1) some[i] = *reinterpret_cast<const Some*>(limits + 32 * EACH * i + EACH * lane);
    }
    // The first column is there, of the finest level in one vertex of each chunk.
    T side = no_limit<T>();
    if (lane < TILE / 2 && !(limited >> (TILE + lane) & 1)) side = limits[TILE_VERTICES / 2 + LIMIT_CHUNK * lane];
    u32 tight = 0;
#pragma unroll
    for (i32 i = 0; i < TIMES; i++)
#pragma unroll
        for (i32 j = 0; j < EACH; j++) tight |= is_tight(some[i].limits[j]) ? 1u << (EACH * i + j) : 0;
    const u32 own = __popc(tight) + is_tight(side);
    if (!__any_sync(FULL, own)) return 0;
    u32 up_to = own;
#pragma unroll
    for (i32 d = 1; d < 32; d *= 2) up_to = add_from_below(up_to, d);
    u16* to = list + (up_to - own);
    for (; tight; tight &= tight - 1) {
        const i32 bit = __ffs(tight) - 1;
        *to++ = (u16)(32 * EACH * (bit / EACH) + EACH * lane + bit % EACH);
    }
    if (is_tight(side)) *to = (u16)(TILE_VERTICES / 2 + LIMIT_CHUNK * lane);
    __syncwarp();
    return __shfl_sync(FULL, up_to, 31);
}

// The tier of the smallest estimated size, the first of several.
__device__ __forceinline__ i32 best_tier(const u32* halvings, u32 vertices) {
    __syncwarp();
    const i32 lane = threadIdx.x & 31;
    const u32 needing = halvings[lane];
    u32 best = ~0u;
    i32 tier = 0;
#pragma unroll
    for (i32 t = 0; t < TIERS; t++) {
        const u32 size = (u32)t * TIER_RATE * vertices + warp_sum(lane > t ? needing * 8 * (REFINED_BITS + 4 * (u32)((lane - t + 1) / 2)) : 0);
        if (size < best) best = size, tier = t;
    }
    return tier;
}

// Raw bits of a symbol, and the digits of a finer lattice behind them.
template <typename T>
__device__ __forceinline__ typename Payload<T>::Type with_digits(const Symbol& s, u64 digits) {
    const u32 own = s.bits;
    return Payload<T>::make(own < 64 ? s.raw | digits << own : s.raw, own == 0 ? 0 : own < 64 ? digits >> (64 - own) : digits);
}

// The code of a vertex in the place of its raw bits, by component: that of its lattice, and the number of that below.
constexpr i32 ID_BITS = 4;
__device__ __forceinline__ float packed_code(float, i32 q, i32 id) { return __uint_as_float((u32)q << ID_BITS | (u32)id); }
__device__ __forceinline__ double packed_code(double, i32 q, i32 id) {
    return __longlong_as_double((long long)((u64)(long long)q << ID_BITS | (u64)id));
}
__device__ __forceinline__ i32 packed_id(float code) { return (i32)(__float_as_uint(code) & ((1 << ID_BITS) - 1)); }
__device__ __forceinline__ i32 packed_id(double code) { return (i32)(__double_as_longlong(code) & ((1 << ID_BITS) - 1)); }
__device__ __forceinline__ i32 packed_q(float code) { return (i32)__float_as_uint(code) >> ID_BITS; }
__device__ __forceinline__ i32 packed_q(double code) { return (i32)(__double_as_longlong(code) >> ID_BITS); }

// Codes of the listed vertices that their tile's lattice does not hold, in the place of their raw bits; or they have to be stored. How many of the
// lane's have to. The largest error that the codes leave.
template <typename T, bool WHOLE>
__device__ __forceinline__ u32 refine_limited(const Job& job, const Lattices<T>& lattices, const T* limits, const u16* list, u32 count, u64 tile,
                                              const TileShape& shape, i32 tier, T accept, const u32* visible, u32* refined, u32* stored, T& largest) {
    typedef Real<T> R;
    typedef typename Payload<T>::Type Q;
    const i32 lane = threadIdx.x & 31;
    u32 number = 0;
#pragma unroll 1
    for (u32 first = 0; first < count; first += 32) {
        if (first + lane >= count) continue;
        const i32 position = list[first + lane];
        i32 x, y;
        place_of(position, x, y);
        if (!WHOLE && !(visible[y] >> x & 1)) continue;
        const T limit = limits[position];
        const T a = *vertex_at<T>(job.u, job.u_layout, shape.x0 + x, shape.y0 + y), b = *vertex_at<T>(job.v, job.v_layout, shape.x0 + x, shape.y0 + y);
        T cu, cv, ru, rv;
        bool fits = quantize_on(a, lattices.inverse[tier][0], lattices.width[tier][0], cu, ru);
        fits &= quantize_on(b, lattices.inverse[tier][0], lattices.width[tier][0], cv, rv);
        const T error = R::high(R::abs(ru - a), R::abs(rv - b));
        if (fits && (error == T(0) || (error <= accept && error < limit))) continue;
        LorenzoCode<T> code = {false, 0, 0, 0, T(0)};
        if (fits) code = lorenzo_code<T>(a, b, lattices, tier, accept, true, limit);
        if (code.coded) {
            atomicOr(&refined[y], 1u << x);
            T* const to = reinterpret_cast<T*>(reinterpret_cast<Q*>(job.payload) + tile * TILE_VERTICES + TILE * y + x);
            to[0] = packed_code(T(0), code.qu, code.id);
            to[1] = packed_code(T(0), code.qv, code.id);
            largest = R::high(largest, code.error);
        } else {
            if (!WHOLE || stored) atomicOr(&stored[y], 1u << x);
            number++;
        }
    }
    return number;
}

// What a warp finds out about a tile before it goes through the rows.
struct LorenzoTile {
    u32 halvings[32];                   // of the bound, that vertices with limits need: how many need so many
    u32 visible[TILE];                  // by row: vertices that can have a code,
    u32 refined[TILE], stored[TILE];    // those of them that have one of a finer lattice, and those that have none
    u16 limited[TILE_VERTICES];         // positions of vertices with limits
};

// One tile that is not plain, and its place. WHOLE where all its vertices have a value.
template <typename T, bool WHOLE>
__device__ __forceinline__ void lorenzo_tile(const Job& job, Control& control, const Lattices<T>& lattices, LorenzoTile& shared, u64 index,
                                             const TileShape& shape, u64 limited, u32& exact, T& max_error) {
    typedef Real<T> R;
    typedef typename Payload<T>::Type Q;
    constexpr i32 ROWS = LORENZO_ROWS;
    const i32 lane = threadIdx.x & 31, ox = WHOLE ? TILE : shape.owned_x(), oy = WHOLE ? TILE : shape.owned_y();
    const bool inside = WHOLE || lane < ox;
    const u64 pitch_u = job.u_layout.pitch, pitch_v = job.v_layout.pitch;
    const T* const corner_u = vertex_at<T>(job.u, job.u_layout, shape.x0, shape.y0);
    const T* const corner_v = vertex_at<T>(job.v, job.v_layout, shape.x0, shape.y0);
    const T* const u = corner_u + (inside ? lane : 0) * job.u_layout.stride;
    const T* const v = corner_v + (inside ? lane : 0) * job.v_layout.stride;
    const T* const limits = limits_of<T>(job, index);
    const T accept = (T)control.quantizer.accept;
    Q* const payload = reinterpret_cast<Q*>(job.payload) + index * TILE_VERTICES;
    u8* const symbols = job.symbols + index * TILE_VERTICES + lane;
    auto row_of = [&](i32 y) { return WHOLE || y < oy ? y : oy - 1; };

    __syncwarp();
    shared.halvings[lane] = 0;
    shared.refined[lane] = shared.stored[lane] = 0;
    const u32 count = warp_or(list_limited(limits, limited, shared.limited));
    // Rows of vertices that are masked, and outside; a lane for a row.
    u32 masked = 0, zeros = 0, fills = 0, vertices = TILE_VERTICES, visible = FULL;
    if (!WHOLE) {
        visible = 0, masked = FULL;
        constexpr i32 AHEAD = 8;
        const u32 has_nonfinite = warp_or(control.nonfinite != 0);
#pragma unroll 1
        for (i32 start = 0; start < oy; start += AHEAD) {
            T a[AHEAD], b[AHEAD];
#pragma unroll
            for (i32 i = 0; i < AHEAD; i++) {
                a[i] = u[row_of(start + i) * pitch_u];
                b[i] = v[row_of(start + i) * pitch_v];
            }
#pragma unroll
            for (i32 i = 0; i < AHEAD; i++) {
                const u32 zero = __ballot_sync(FULL, inside && a[i] == T(0) && b[i] == T(0));
                u32 fill = 0, odd = 0;
                if (has_nonfinite) {
                    const bool finite = R::finite(a[i]) && R::finite(b[i]);
                    fill = __ballot_sync(FULL, inside && !finite && R::bits(a[i]) == control.fill[0] && R::bits(b[i]) == control.fill[1]);
                    odd = __ballot_sync(FULL, !finite);
                }
                if (lane == start + i && lane < oy) {
                    zeros = zero, fills = fill;
                    visible = row_mask(ox) & ~(zero | odd);
                    masked = ~row_mask(ox) | zero | fill;
                }
            }
        }
        vertices = warp_sum(__popc(visible));
    }
    shared.visible[lane] = visible;
    __syncwarp();

    i32 tier = 0;
    u32 stored = 0;
    T largest = 0;
    if (count) {
        bool any = false;
#pragma unroll 1
        for (u32 first = 0; first < count; first += 32) {
            if (first + lane >= count) continue;
            const i32 position = shared.limited[first + lane];
            i32 x, y;
            if (!WHOLE) place_of(position, x, y);
            if (!WHOLE && !(shared.visible[y] >> x & 1)) continue;
            const i32 needed = lattices.halvings(limits[position]);
            if (needed) atomicAdd(&shared.halvings[needed], 1);
            any |= needed != 0;
        }
        if (__any_sync(FULL, any)) tier = best_tier(shared.halvings, vertices);
        stored = refine_limited<T, WHOLE>(job, lattices, limits, shared.limited, count, index, shape, tier, accept, shared.visible, shared.refined,
                                          shared.stored, largest);
    }
    __syncwarp();

    const T width = lattices.width[tier][0], inverse = lattices.inverse[tier][0];
    const u32 coded_row = visible & ~shared.stored[lane], refined_row = shared.refined[lane];
    // Rows of which not all vertices have a code of the tile's lattice.
    const u32 mixed = warp_or(__ballot_sync(FULL, lane < oy && (coded_row != FULL || refined_row != 0)));
    const u32 gaps = warp_or(__ballot_sync(FULL, lane < oy && coded_row != FULL));
    RowSums costs = {0, 0, 0};
    u32 before_u = 0, before_v = 0;
    bool holds = true;
    T a[ROWS], b[ROWS], next_a[ROWS], next_b[ROWS];
    const T *next_u = u, *next_v = v;
    auto load = [&](i32 start) {
        if (!WHOLE && start >= oy) return;
        auto row_of = [&](i32 i) { return (u64)(WHOLE || start + i < oy ? i : oy - 1 - start); };
        if (mixed >> start & ((1 << ROWS) - 1)) {
#pragma unroll
            for (i32 i = 0; i < ROWS; i++) {
                const bool refined = shared.refined[start + i] >> lane & 1;
                const T* const code = reinterpret_cast<const T*>(payload + TILE * (start + i) + lane);
                next_a[i] = *(refined ? code : next_u + row_of(i) * pitch_u);
                next_b[i] = *(refined ? code + 1 : next_v + row_of(i) * pitch_v);
            }
        } else {
#pragma unroll
            for (i32 i = 0; i < ROWS; i++) {
                next_a[i] = next_u[row_of(i) * pitch_u];
                next_b[i] = next_v[row_of(i) * pitch_v];
            }
        }
        next_u += ROWS * pitch_u, next_v += ROWS * pitch_v;
    };
    load(0);
#pragma unroll 1
    for (i32 start = 0; start < TILE; start += ROWS) {
#pragma unroll
        for (i32 i = 0; i < ROWS; i++) a[i] = next_a[i], b[i] = next_b[i];
        const u32 here = mixed >> start;
        if (start + ROWS < TILE) load(start + ROWS);
#pragma unroll
        for (i32 i = 0; i < ROWS; i++) {
            const i32 y = start + i;
            costs.begin_row(start, i);
            if (!WHOLE && y >= oy) {
                symbols[TILE * y] = SYMBOL_ZERO;
                continue;
            }
            T cu, cv, ru, rv;
            bool fits = quantize_on(a[i], inverse, width, cu, ru);
            fits &= quantize_on(b[i], inverse, width, cv, rv);
            const T error = R::high(R::abs(ru - a[i]), R::abs(rv - b[i]));
            fits &= error <= accept;
            u32 base_u = (u32)(i32)cu, base_v = (u32)(i32)cv, symbol = SYMBOL_ZERO;
            if (!(here >> i & 1)) {
                holds &= fits;
                largest = R::high(largest, error);
                const i32 qu = across_cell(base_u - before_u), qv = across_cell(base_v - before_v);
                before_u = base_u;
                before_v = base_v;
                if ((u32)(qu + SMALL) <= 2 * SMALL && (u32)(qv + SMALL) <= 2 * SMALL) {
                    symbol = small_symbol(qu, qv);
                    if (symbol != SYMBOL_ZERO) costs.all += 3;
                } else {
                    const Symbol s = encode_symbol_large({0, qu, qv});
                    symbol = s.symbol;
                    payload[TILE * y + lane] = Payload<T>::make(s.raw, 0);
                    costs.all += 3 + s.bits;
                }
            } else {
                const u32 coded = __shfl_sync(FULL, coded_row, y), hidden = WHOLE ? 0 : __shfl_sync(FULL, masked, y);
                const bool is_coded = coded >> lane & 1, is_refined = shared.refined[y] >> lane & 1;
                i32 id = 0;
                u32 digits_u = 0, digits_v = 0;
                if (is_refined) {
                    id = packed_id(a[i]);
                    i32 of_u, of_v;
                    split_code(packed_q(a[i]), id, of_u, digits_u);
                    split_code(packed_q(b[i]), id, of_v, digits_v);
                    base_u = (u32)of_u, base_v = (u32)of_v;
                } else if (is_coded) {
                    holds &= fits;
                    largest = R::high(largest, error);
                }
                u32 down_u = base_u - before_u, down_v = base_v - before_v;
                if (gaps >> y & 1) {
                    // What has no code counts as predicted: down as the vertex to its left.
                    const u32 left = coded & ((2u << lane) - 1);
                    const i32 from = left ? (i32)highest_bit(left) : 0;
                    const u32 near_u = __shfl_sync(FULL, down_u, from), near_v = __shfl_sync(FULL, down_v, from);
                    down_u = left ? near_u : 0;
                    down_v = left ? near_v : 0;
                }
                before_u += down_u;
                before_v += down_v;
                const i32 qu = across_cell(down_u), qv = across_cell(down_v);
                if (is_coded) {
                    if (id == 0 && (u32)(qu + SMALL) <= 2 * SMALL && (u32)(qv + SMALL) <= 2 * SMALL) {
                        symbol = small_symbol(qu, qv);
                        if (symbol != SYMBOL_ZERO) costs.all += 3;
                    } else {
                        const Symbol s = encode_symbol_large({id, qu, qv});
                        const u32 own = s.bits;
                        symbol = s.symbol;
                        payload[TILE * y + lane] = with_digits<T>(s, digits_u | digits_v << (2 * id));
                        costs.all += 3 + own + 4 * (u32)id;
                        // All raw bits of a vertex have to fit a word.
                        if (sizeof(T) == 4) holds &= own + 4 * (u32)id <= 64;
                    }
                } else if (!(hidden >> lane & 1)) {
                    symbol = STORED;
                    costs.all += 3 + 16 * sizeof(T);
                    payload[TILE * y + lane] =
                        sizeof(T) == 4 ? Payload<T>::make(R::bits(a[i]) | R::bits(b[i]) << 32, 0) : Payload<T>::make(R::bits(a[i]), R::bits(b[i]));
                }
            }
            symbols[TILE * y] = (u8)symbol;
        }
    }
    if (!__all_sync(FULL, holds)) {
        lorenzo_by_vertex<T>(job, lattices, index, tier, WHOLE, true);
        return;
    }
    exact += stored;
    max_error = R::high(max_error, largest);
    u32 info = (u32)tier << 5;
    RowSums active = {64, 256, TILE_VERTICES};
    if (!WHOLE) {
        const u32 owned = (u32)(ox * oy), zero_count = warp_sum(__popc(zeros)), fill_count = warp_sum(__popc(fills)), own = __popc(~masked);
        const u32 states = 3 * (zero_count == 0 ? MASK_NONE : zero_count == owned ? MASK_ALL : MASK_SOME) +
                           (fill_count == 0 ? MASK_NONE : fill_count == owned ? MASK_ALL : MASK_SOME);
        if (states != 0) {
            job.masks[index * 64 + lane] = zeros;
            job.masks[index * 64 + TILE + lane] = fills;
        }
        active = {warp_sum(lane < 2 ? own : 0), warp_sum(lane < 8 ? own : 0), warp_sum(own)};
        info |= states;
    }
    if (WHOLE || has_codes(mode_in(info))) info |= classes_of(costs, active);
    if (lane == 0) job.info[index] = info | (WHOLE || (mode_in(info) == 0 && ox * oy == TILE_VERTICES) ? ALL_CODED : 0);
}

// So many whole tiles with limits keep a device busy where a warp has four of them; fewer are shared among as many warps. (The emulator
// has small fields: its tests come to both.)
#ifdef FACTZ_EMULATED
constexpr u64 MANY_WHOLE_TILES = 2;
#else
constexpr u64 MANY_WHOLE_TILES = 8192;
#endif

// Grid: any. Block: 32 * warps. The tiles that are not plain, but for whole ones where these are many, those with most work first. Beside
// the kernel before.
template <typename T>
__device__ __forceinline__ void lorenzo_others(const Job& job) {
    __shared__ LorenzoTile tiles[LORENZO_WARPS];
    __shared__ Lattices<T> lattices;
    Control& control = control_of(job);
    const u64 others = control.other_tiles, whole = control.whole_tiles, count = others + (whole < MANY_WHOLE_TILES ? whole : 0);
    const u64 warps = (u64)gridDim.x * LORENZO_WARPS;
    if (blockIdx.x < count) {
        lattices.fill(control.quantum);
        const TileFinder finder(job);
        LorenzoTile& shared = tiles[threadIdx.x >> 5];
        u32 exact = 0;
        T max_error = 0;
        const u32 lane = threadIdx.x & 31, warp = warp_or(threadIdx.x >> 5);
        // Who is done takes the next one: tiles are work of different length.
#pragma unroll 1
        for (u64 k = blockIdx.x + (u64)gridDim.x * warp; k < count;) {
            u32 ticket = 0;
            if (lane == 0) ticket = atomicAdd(&control.tickets[TICKET_LORENZO], 1);
            const u64 tile = uniform(job.group_sizes[k < others ? control.plain_tiles + k : job.tiles() - 1 - (k - others)]);
            const u64 limited = uniform(nearness_of(job, tile).limited);
            const TileShape shape = finder.shape(job, tile);
            if (warp_or(k < others))
                lorenzo_tile<T, false>(job, control, lattices, shared, tile, shape, limited, exact, max_error);
            else
                lorenzo_tile<T, true>(job, control, lattices, shared, tile, shape, limited, exact, max_error);
            k = warps + warp_or(__shfl_sync(FULL, ticket, 0));
        }
        report_tally<T>(control, exact, 0, max_error);
    }
    end_beside();
}
