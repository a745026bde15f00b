// Entries of the Lorenzo predictor: from values to symbols and back, a warp for a tile, a lane for a column.
// Twin: src/stage/lorenzo.rs. Tiles know nothing of each other.
#pragma once
#include "constrain.cuh"
#include "decoding.cuh"

constexpr i32 LORENZO_PLAIN_WARPS = 4, LORENZO_WARPS = 8;

// What the rows so far come to: before the middle block, before the fine one, in all.
struct RowSums {
    u32 coarse, middle, all;
    // Before row start + i: `start` is a multiple of four.
    __device__ __forceinline__ void begin_row(i32 start, i32 i) {
        if (i % 4 == 2 && start + i == 2) coarse = all;
        if (i % 4 == 0 && start + i == 8) middle = all;
    }
};

// The difference of a row of base codes across its cells: down from the row before, then to the left.
__device__ __forceinline__ i32 across_cell(u32 down) { return (i32)less_from_below(down); }

// From what the symbols of each lane cost, and the number of those in all lanes.
__device__ __forceinline__ u32 classes_of(const RowSums& costs, const RowSums& active) {
    return class_of(warp_sum(costs.coarse), active.coarse) << 8 | class_of(warp_sum(costs.middle - costs.coarse), active.middle - active.coarse) << 16 |
           class_of(warp_sum(costs.all - costs.middle), active.all - active.middle) << 24;
}

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

// How a lane loads and stores: a warp has four tiles, eight lanes for each, of four neighbours in a row.
constexpr i32 COLUMNS = 4, ROW_LANES = TILE / COLUMNS, TILES_OF_WARP = 32 / ROW_LANES;

// Neighbours in a row, sixteen bytes at a time where they lie so.
template <bool WIDE, typename T>
__device__ __forceinline__ Four<T> load_columns(const T* at, u64 stride) {
    Four<T> f;
    if (WIDE && sizeof(T) == 4) {
        const float4 q = *reinterpret_cast<const float4*>(at);
        f.x[0] = q.x, f.x[1] = q.y, f.x[2] = q.z, f.x[3] = q.w;
    } else if (WIDE) {
        const double2 p = reinterpret_cast<const double2*>(at)[0], q = reinterpret_cast<const double2*>(at)[1];
        f.x[0] = p.x, f.x[1] = p.y, f.x[2] = q.x, f.x[3] = q.y;
    } else {
#pragma unroll
        for (i32 c = 0; c < COLUMNS; c++) f.x[c] = at[c * stride];
    }
    return f;
}

// Symbols of neighbours where some have raw bits; what they cost is added. Not unrolled: it is rare.
template <typename T>
__device__ __forceinline__ u32 large_symbols(i32 (&qu)[COLUMNS], i32 (&qv)[COLUMNS], typename Payload<T>::Type* payload, u32& costs) {
    u32 four = 0;
#pragma unroll 1
    for (i32 c = 0; c < COLUMNS; c++) {
        u32 symbol = small_symbol(qu[0], qv[0]);
        if (max((u32)qu[0] + SMALL, (u32)qv[0] + SMALL) > 2 * SMALL) {
            const Symbol s = large_symbol({0, qu[0], qv[0]});
            payload[c] = Payload<T>::make(s.raw, 0);
            symbol = s.symbol;
            costs += s.bits;
        }
        if (symbol != SYMBOL_ZERO) costs += 3;
        four |= symbol << 8 * c;
#pragma unroll
        for (i32 k = 0; k + 1 < COLUMNS; k++) qu[k] = qu[k + 1], qv[k] = qv[k + 1];
    }
    return four;
}

// Symbols without raw bits, each in a byte, from (qu + SMALL) * 5 + qv + SMALL, and three for each that is zero.
constexpr u32 ONES = 0x01010101, NO_DIFFERENCE = SMALL * 5 + SMALL;
__device__ __forceinline__ u32 small_symbols(u32 pairs, u32& saved) {
    const u32 from = (pairs + (0x80 - NO_DIFFERENCE) * ONES) & 0x80 * ONES, above = (pairs + (0x7f - NO_DIFFERENCE) * ONES) & 0x80 * ONES;
    const u32 zeros = (from ^ above) >> 7;
    saved = __dp4a(zeros, 3 * ONES, saved);
    // One more below, none where there is no difference.
    return pairs + ONES - (from >> 7) - NO_DIFFERENCE * zeros;
}

// What comes of a whole tile, by each of its lanes: costs of the symbols by block, of the lane's own vertices; the largest error.
template <typename T>
struct RowsOfLane {
    u32 costs[3];
    T max_error;
    bool holds;  // whether the lattice has a code for each of its vertices
};

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

// Differences at vertices that have a code of a finer lattice, behind the limits of their tile.
template <typename T>
__device__ __forceinline__ int2* differences_of(const Job& job, u64 tile) {
    return reinterpret_cast<int2*>(limits_of<T>(job, tile) + TILE_VERTICES);
}
static_assert(TILE_VERTICES * (4 + sizeof(int2)) <= TILE_WORD_BYTES_F32 && TILE_VERTICES * (8 + sizeof(int2)) <= TILE_WORD_BYTES_F64, "they have their place");

// The rows of whole tiles, one for eight lanes. FAST where sixteen bytes of a row can be loaded at once, and no value of the field is
// beyond the codes. REFINED where some vertices have a code of a finer lattice, in rows of which bits are set in `rows`; those of the lane's
// tile, by row, in `refined`. Their differences are put aside, and their symbols are none.
template <typename T, bool FAST, bool REFINED>
__device__ __forceinline__ RowsOfLane<T> lorenzo_whole_rows(const Job& job, u64 index, T width, T inverse, T accept, u32 rows, const u32* refined) {
    typedef Real<T> R;
    typedef typename Payload<T>::Type Q;
    constexpr i32 ROWS = 8 / sizeof(T);
    const i32 column = COLUMNS * (threadIdx.x & (ROW_LANES - 1));
    const TileShape shape = TileFinder(job).shape(job, index);
    const T* u = vertex_at<T>(job.u, job.u_layout, shape.x0 + column, shape.y0);
    const T* v = vertex_at<T>(job.v, job.v_layout, shape.x0 + column, shape.y0);
    u32* symbols = reinterpret_cast<u32*>(job.symbols + index * TILE_VERTICES + column);
    u32 before_u[COLUMNS], before_v[COLUMNS];
#pragma unroll
    for (i32 c = 0; c < COLUMNS; c++) before_u[c] = before_v[c] = R::SHIFTED_ZERO;
    RowSums costs = {0, 0, 0};
    T max_error = 0, largest = 0;
    auto payload_at = [&]() { return reinterpret_cast<Q*>(job.payload) + (reinterpret_cast<u8*>(symbols) - job.symbols); };
    // Some rows are on their way.
    Four<T> a[ROWS], b[ROWS];
    u64 pitch_u = job.u_layout.pitch, pitch_v = job.v_layout.pitch;
    auto ask_for = [&](i32 i) {
        a[i] = load_columns<FAST>(u, job.u_layout.stride);
        b[i] = load_columns<FAST>(v, job.v_layout.stride);
        u += pitch_u;
        v += pitch_v;
    };
#pragma unroll
    for (i32 i = 0; i < ROWS; i++) ask_for(i);
#pragma unroll 1
    for (i32 start = 0; start < TILE; start += ROWS) {
        // Behind the last one it is that again.
        if (start + 2 * ROWS > TILE) u -= pitch_u, v -= pitch_v, pitch_u = pitch_v = 0;
        if (start == 2) costs.coarse = costs.all;
        if (start == 8) costs.middle = costs.all;
#pragma unroll
        for (i32 i = 0; i < ROWS; i++) {
            u32 base_u[COLUMNS], base_v[COLUMNS], down_u[COLUMNS], down_v[COLUMNS], mine = 0;
            T error[COLUMNS];
#pragma unroll
            for (i32 c = 0; c < COLUMNS; c++) {
                const T x = a[i].x[c], y = b[i].x[c], scaled_u = x * inverse, scaled_v = y * inverse;
                const T shifted_u = scaled_u + R::SHIFT, shifted_v = scaled_v + R::SHIFT;
                error[c] = R::high(R::abs((shifted_u - R::SHIFT) * width - x), R::abs((shifted_v - R::SHIFT) * width - y));
                if (!FAST) largest = R::high(largest, R::high(R::abs(scaled_u), R::abs(scaled_v)));
                base_u[c] = R::shifted_code(shifted_u), base_v[c] = R::shifted_code(shifted_v);
            }
            if (REFINED && rows >> (start + i) & 1) {
                mine = refined[start + i] >> column & 15;
                const T* const codes = reinterpret_cast<const T*>(payload_at());
#pragma unroll
                for (i32 c = 0; c < COLUMNS; c++) {
                    if (!(mine >> c & 1)) continue;
                    const T code_u = codes[2 * c], code_v = codes[2 * c + 1];
                    i32 of_u, of_v;
                    u32 digits;
                    split_code(packed_q(code_u), packed_id(code_u), of_u, digits);
                    split_code(packed_q(code_v), packed_id(code_v), of_v, digits);
                    base_u[c] = (u32)of_u + R::SHIFTED_ZERO, base_v[c] = (u32)of_v + R::SHIFTED_ZERO;
                    error[c] = T(0);
                }
            }
#pragma unroll
            for (i32 c = 0; c < COLUMNS; c++) {
                max_error = R::high(max_error, error[c]);
                down_u[c] = base_u[c] - before_u[c], down_v[c] = base_v[c] - before_v[c];
                before_u[c] = base_u[c], before_v[c] = base_v[c];
            }
            ask_for(i);
            i32 qu[COLUMNS], qv[COLUMNS];
            qu[0] = (i32)less_from_below<ROW_LANES>(down_u[0], down_u[COLUMNS - 1]);
            qv[0] = (i32)less_from_below<ROW_LANES>(down_v[0], down_v[COLUMNS - 1]);
#pragma unroll
            for (i32 c = 1; c < COLUMNS; c++) qu[c] = (i32)(down_u[c] - down_u[c - 1]), qv[c] = (i32)(down_v[c] - down_v[c - 1]);
            if (REFINED && mine) {
                int2* const to = differences_of<T>(job, index) + TILE * (start + i) + column;
#pragma unroll
                for (i32 c = 0; c < COLUMNS; c++) {
                    if (!(mine >> c & 1)) continue;
                    to[c] = make_int2(qu[c], qv[c]);
                    qu[c] = qv[c] = 0;
                }
            }
            u32 most = 0, pairs = NO_DIFFERENCE * ONES;
#pragma unroll
            for (i32 c = 0; c < COLUMNS; c++) {
                most = max(most, (u32)qu[c] + SMALL);
                most = max(most, (u32)qv[c] + SMALL);
                pairs += (u32)qu[c] * (5u << 8 * c) + ((u32)qv[c] << 8 * c);
            }
            u32 four;
            if (most <= 2 * SMALL) {
                u32 saved = 0;
                four = small_symbols(pairs, saved);
                costs.all += 3 * COLUMNS - saved;
            } else {
                four = large_symbols<T>(qu, qv, payload_at(), costs.all);
            }
            *symbols = four;
            symbols += ROW_LANES;
        }
    }
    // A step that is infinite makes errors that are nothing.
    const bool holds = R::finite(width) && max_error <= accept && largest <= R::MAX_CODE;
    return {{costs.coarse, costs.middle - costs.coarse, costs.all - costs.middle}, max_error, holds};
}

// Whether something is so in all lanes of a tile.
__device__ __forceinline__ bool in_all_lanes(bool it) {
    const u32 mine = ((1u << ROW_LANES) - 1) << (threadIdx.x & 31 & ~(ROW_LANES - 1));
    return (__ballot_sync(FULL, it) & mine) == mine;
}
// The classes of whole tiles, from what the symbols of each lane cost.
template <typename T>
__device__ __forceinline__ u32 classes_of(RowsOfLane<T>& rows) {
#pragma unroll
    for (i32 k = 1; k < ROW_LANES; k *= 2)
#pragma unroll
        for (u32& cost : rows.costs) cost += __shfl_xor_sync(FULL, cost, k);
    return class_of(rows.costs[0], 64) << 8 | class_of(rows.costs[1], 192) << 16 | class_of(rows.costs[2], 768) << 24;
}
// The largest of all values.
template <typename T>
__device__ __forceinline__ T largest_value(const Control& control) {
    return (T)fmax(fabs(value_of(control.high_key)), fabs(value_of(~control.low_key)));
}

// Grid: tiles / (4 * warps). Block: 32 * warps. The plain tiles, beside the kernel before.
template <typename T>
__device__ __forceinline__ void lorenzo_plain(const Job& job) {
    __shared__ Lattices<T> lattices;
    Control& control = control_of(job);
    const u64 first = TILES_OF_WARP * ((u64)blockIdx.x * LORENZO_PLAIN_WARPS + warp_or(threadIdx.x >> 5)), count = control.plain_tiles;
    u32 failing = 0;
    u64 index = 0;
    if (first < count) {
        const u64 k = first + (threadIdx.x & 31) / ROW_LANES;
        const bool exists = k < count;
        // Lanes without a tile do what others do.
        index = job.group_sizes[exists ? k : first];
        const T width = lattice_width<T>(control.quantum, 0, 0), inverse = lattice_inverse(width), accept = (T)control.quantizer.accept;
        RowsOfLane<T> rows;
        if (warp_or(is_aligned<T>(job) && largest_value<T>(control) * inverse <= Real<T>::MAX_CODE))
            rows = lorenzo_whole_rows<T, true, false>(job, index, width, inverse, accept, 0, nullptr);
        else
            rows = lorenzo_whole_rows<T, false, false>(job, index, width, inverse, accept, 0, nullptr);
        const bool holds = in_all_lanes(rows.holds), counts = exists && holds;
        const u32 classes = classes_of(rows);
        if (counts && threadIdx.x % ROW_LANES == 0) job.info[index] = ALL_CODED | classes;
        report_tally<T>(control, 0, 0, counts ? rows.max_error : T(0));
        failing = __ballot_sync(FULL, exists && !holds);
    }
    if (__syncthreads_or(failing)) {
        lattices.fill(control.quantum);
#pragma unroll 1
        for (i32 lane = 0; lane < 32; lane += ROW_LANES)
            if (failing >> lane & 1) lorenzo_by_vertex<T>(job, lattices, __shfl_sync(FULL, index, lane), 0, true, false);
    }
    end_beside();
}

// What a warp finds out about a tile before it goes through the rows.
struct LorenzoTile {
    u32 halvings[32];                   // of the bound, that vertices with limits need: how many need so many
    u32 visible[TILE];                  // by row: vertices that can have a code,
    u32 refined[TILE], stored[TILE];    // those of them that have one of a finer lattice, and those that have none
    u16 limited[TILE_VERTICES];         // positions of vertices with limits
};

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
        const T limit = limits[position], a = *vertex_at<T>(job.u, job.u_layout, shape.x0 + x, shape.y0 + y), b = *vertex_at<T>(job.v, job.v_layout, shape.x0 + x, shape.y0 + y);
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
#pragma unroll 1
        for (i32 start = 0; start < oy; start += ROWS) {
            T a[ROWS], b[ROWS];
#pragma unroll
            for (i32 i = 0; i < ROWS; i++) {
                a[i] = u[row_of(start + i) * pitch_u];
                b[i] = v[row_of(start + i) * pitch_v];
            }
#pragma unroll
            for (i32 i = 0; i < ROWS; i++) {
                const u32 zero = __ballot_sync(FULL, inside && a[i] == T(0) && b[i] == T(0));
                u32 fill = 0, odd = 0;
                if (control.nonfinite) {
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
        stored = refine_limited<T, WHOLE>(job, lattices, limits, shared.limited, count, index, shape, tier, accept, shared.visible, shared.refined, shared.stored, largest);
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

// So many whole tiles with limits keep a device busy where a warp has four of them; fewer are shared among as many warps.
#ifdef FACTZ_EMULATED
constexpr u64 MANY_WHOLE_TILES = 2;
#else
constexpr u64 MANY_WHOLE_TILES = 8192;
#endif

// What a warp finds out about four whole tiles.
template <typename T>
struct LorenzoTiles {
    T errors[TILES_OF_WARP][32];         // by lane, of vertices with a code of a finer lattice
    u32 refined[TILES_OF_WARP][TILE];    // those, by row
    u32 halvings[32];
    u16 limited[TILE_VERTICES];
};

// Grid: tiles / (4 * warps). Block: 32 * warps. Whole tiles with limits, where there are many, those with most work first. Beside the kernel before.
template <typename T>
__device__ __forceinline__ void lorenzo_tight(const Job& job) {
    typedef Real<T> R;
    typedef typename Payload<T>::Type Q;
    __shared__ LorenzoTiles<T> tiles[LORENZO_PLAIN_WARPS];
    __shared__ Lattices<T> lattices;
    Control& control = control_of(job);
    const u64 count = control.whole_tiles, start = (u64)blockIdx.x * TILES_OF_WARP * LORENZO_PLAIN_WARPS;
    if (count >= MANY_WHOLE_TILES && start < count) {
        lattices.fill(control.quantum);
        const i32 lane = threadIdx.x & 31, warp = (i32)warp_or(threadIdx.x >> 5), tile_of_lane = lane / ROW_LANES;
        LorenzoTiles<T>& shared = tiles[warp];
        const u64 first = start + TILES_OF_WARP * warp;
        if (first < count) {
            const bool exists = first + tile_of_lane < count;
            // Lanes without a tile do what others do.
            const u64 index = job.group_sizes[job.tiles() - 1 - (exists ? first + tile_of_lane : first)], limited = nearness_of(job, index).limited;
            const T accept = (T)control.quantizer.accept;
            const TileFinder finder(job);
            // Limits are on their way.
#pragma unroll
            for (i32 k = 0; k < TILE_VERTICES * (i32)sizeof(T) / 128; k += ROW_LANES) {
                const i32 line = k + lane % ROW_LANES;
                if (limited >> (128 / sizeof(T) / LIMIT_CHUNK * line) & 1) prefetch_near(limits_of<T>(job, index) + 128 / sizeof(T) * line);
            }
            i32 tier = 0;
            u32 failing = 0;
#pragma unroll 1
            for (i32 t = 0; t < TILES_OF_WARP; t++) {
                const u64 tile = uniform(__shfl_sync(FULL, index, ROW_LANES * t)), of_tile = uniform(__shfl_sync(FULL, limited, ROW_LANES * t));
                const TileShape shape = finder.shape(job, tile);
                __syncwarp();
                shared.halvings[lane] = shared.refined[t][lane] = 0;
                const T* const limits = limits_of<T>(job, tile);
                const u32 listed = warp_or(list_limited(limits, of_tile, shared.limited));
                T largest = 0;
                if (listed) {
                    bool any = false;
#pragma unroll 1
                    for (u32 k = 0; k < listed; k += 32) {
                        if (k + lane >= listed) continue;
                        const i32 needed = lattices.halvings(limits[shared.limited[k + lane]]);
                        if (needed) atomicAdd(&shared.halvings[needed], 1);
                        any |= needed != 0;
                    }
                    i32 best = 0;
                    if (__any_sync(FULL, any)) best = best_tier(shared.halvings, TILE_VERTICES);
                    if (tile_of_lane == t) tier = best;
                    const u32 stored = refine_limited<T, true>(job, lattices, limits, shared.limited, listed, tile, shape, best, accept, nullptr,
                                                               shared.refined[t], nullptr, largest);
                    if (__any_sync(FULL, stored)) failing |= 1u << ROW_LANES * t;
                }
                shared.errors[t][lane] = largest;
            }
            __syncwarp();
            u32 any_refined = 0;
#pragma unroll
            for (i32 t = 0; t < TILES_OF_WARP; t++) any_refined |= shared.refined[t][lane];
            const u32 refined_rows = warp_or(any_refined ? 1u << lane : 0);
            const T width = lattices.width[tier][0], inverse = lattices.inverse[tier][0];
            RowsOfLane<T> rows;
            if (warp_or(is_aligned<T>(job)) && !warp_or(!(largest_value<T>(control) * inverse <= R::MAX_CODE)))
                rows = lorenzo_whole_rows<T, true, true>(job, index, width, inverse, accept, refined_rows, shared.refined[tile_of_lane]);
            else
                rows = lorenzo_whole_rows<T, false, true>(job, index, width, inverse, accept, refined_rows, shared.refined[tile_of_lane]);
            __syncwarp();
            // Symbols of the others.
#pragma unroll 1
            for (i32 t = 0; t < TILES_OF_WARP && refined_rows; t++) {
                const u64 tile = uniform(__shfl_sync(FULL, index, ROW_LANES * t));
                u32 row = shared.refined[t][lane];
                if (!warp_or(__shfl_sync(FULL, (u32)exists, ROW_LANES * t)) || !warp_or(row)) continue;
                const u32 own = __popc(row);
                u32 up_to = own;
#pragma unroll
                for (i32 d = 1; d < 32; d *= 2) up_to = add_from_below(up_to, d);
                __syncwarp();
                for (u16* to = shared.limited + (up_to - own); row; row &= row - 1) *to++ = (u16)(TILE * lane + __ffs(row) - 1);
                __syncwarp();
                const u32 listed = warp_or(__shfl_sync(FULL, up_to, 31));
                u32 upper = 0, fine = 0;
                bool too_long = false;
#pragma unroll 1
                for (u32 k = 0; k < listed; k += 32) {
                    if (k + lane >= listed) continue;
                    const u32 vertex = shared.limited[k + lane];
                    Q* const payload = reinterpret_cast<Q*>(job.payload) + tile * TILE_VERTICES + vertex;
                    const T code_u = reinterpret_cast<const T*>(payload)[0], code_v = reinterpret_cast<const T*>(payload)[1];
                    const int2 difference = differences_of<T>(job, tile)[vertex];
                    const i32 id = packed_id(code_u);
                    i32 base;
                    u32 digits_u, digits_v;
                    split_code(packed_q(code_u), id, base, digits_u);
                    split_code(packed_q(code_v), id, base, digits_v);
                    const Symbol s = large_symbol({id, difference.x, difference.y});
                    *payload = with_digits<T>(s, digits_u | digits_v << (2 * id));
                    job.symbols[tile * TILE_VERTICES + vertex] = (u8)s.symbol;
                    const u32 raw = s.bits + 4 * (u32)id;
                    too_long |= sizeof(T) == 4 && raw > 64;
                    if (vertex >= 8 * TILE)
                        fine += 3 + raw;
                    else
                        upper += vertex >= 2 * TILE ? (3 + raw) << 16 : 3 + raw;
                }
                upper = warp_sum(upper);
                fine = warp_sum(fine);
                if (lane == ROW_LANES * t) rows.costs[0] += upper & 0xffff, rows.costs[1] += upper >> 16, rows.costs[2] += fine;
                if (__any_sync(FULL, too_long)) failing |= 1u << ROW_LANES * t;
            }
            const bool holds = in_all_lanes(rows.holds && !(failing >> (ROW_LANES * tile_of_lane) & 1));
            const u32 classes = classes_of(rows), kept = __ballot_sync(FULL, exists && holds), failed = __ballot_sync(FULL, exists && !holds);
            if (exists && holds && lane % ROW_LANES == 0) job.info[index] = ALL_CODED | (u32)tier << 5 | classes;
            T max_error = exists && holds ? rows.max_error : T(0);
#pragma unroll
            for (i32 t = 0; t < TILES_OF_WARP; t++)
                if (kept >> ROW_LANES * t & 1) max_error = R::high(max_error, shared.errors[t][lane]);
            report_tally<T>(control, 0, 0, max_error);
#pragma unroll 1
            for (i32 k = 0; k < 32; k += ROW_LANES)
                if (failed >> k & 1) lorenzo_by_vertex<T>(job, lattices, __shfl_sync(FULL, index, k), __shfl_sync(FULL, tier, k), true, true);
        }
    }
    end_beside();
}

// Grid: any. Block: 32 * warps. The tiles that are not plain, those with most work first. Beside the kernel before.
template <typename T>
__device__ __forceinline__ void lorenzo_others(const Job& job) {
    __shared__ LorenzoTile tiles[LORENZO_WARPS];
    __shared__ Lattices<T> lattices;
    Control& control = control_of(job);
    const u64 others = control.other_tiles, whole = control.whole_tiles, count = others + (whole < MANY_WHOLE_TILES ? whole : 0), warps = (u64)gridDim.x * LORENZO_WARPS;
    if (blockIdx.x < count) {
        lattices.fill(control.quantum);
        const TileFinder finder(job);
        LorenzoTile& shared = tiles[threadIdx.x >> 5];
        u32 exact = 0;
        T max_error = 0;
        // What is known of the next tile is on its way.
        u64 next = 0, limited = 0, next_limited = 0;
        auto tile_at = [&](u64 k) -> u64 { return k < others ? job.group_sizes[control.plain_tiles + k] : k < count ? job.group_sizes[job.tiles() - 1 - (k - others)] : 0; };
        u64 k = blockIdx.x + (u64)gridDim.x * warp_or(threadIdx.x >> 5);
        u64 index = tile_at(k);
        next = tile_at(k + warps);
        next_limited = nearness_of(job, index).limited;
#pragma unroll 1
        for (; k < count; k += warps) {
            const u64 tile = uniform(index);
            limited = uniform(next_limited);
            index = next;
            next_limited = nearness_of(job, index).limited;
            next = tile_at(k + 2 * warps);
            const TileShape shape = finder.shape(job, tile);
            if (warp_or(k < others))
                lorenzo_tile<T, false>(job, control, lattices, shared, tile, shape, limited, exact, max_error);
            else
                lorenzo_tile<T, true>(job, control, lattices, shared, tile, shape, limited, exact, max_error);
        }
        report_tally<T>(control, exact, 0, max_error);
    }
    end_beside();
}

// ---------------------------------------------------------------- back to values

constexpr i32 LORENZO_RESTORE_WARPS = 4;

// The sum of the values of the lanes up to this one that are of its tile.
__device__ __forceinline__ u32 sum_along_row(u32 value) {
#pragma unroll
    for (i32 k = 1; k < ROW_LANES; k *= 2) value = add_from_below<ROW_LANES>(value, k);
    return value;
}
// Makes each of a row's values the sum of those up to it.
__device__ __forceinline__ void sum_row(u32 (&values)[COLUMNS]) {
#pragma unroll
    for (i32 k = 1; k < COLUMNS; k++) values[k] += values[k - 1];
    const u32 before = sum_along_row(values[COLUMNS - 1]) - values[COLUMNS - 1];
#pragma unroll
    for (i32 k = 0; k < COLUMNS; k++) values[k] += before;
}

// How a symbol is read: bits of its two components, whether they are offsets, and the digits of a finer lattice behind them.
constexpr u32 WIDE = 1u << 16;
__device__ __forceinline__ u32 reading_of(u32 symbol) {
    const Meaning m = meaning(symbol < STORED ? symbol : (u32)SYMBOL_ZERO);
    return m.ku | m.kv << 8 | (m.wide ? WIDE : 0) | m.id << 24;
}
// A component by its bits.
__device__ __forceinline__ u32 component(u32 raw, u32 bits, bool wide) {
    if (wide) return (raw & FULL >> (31 - bits)) - (1u << bits);
    return bits ? (u32)unpack(raw, bits) : 0;
}

// Values of neighbours in a row to their places, 16 bytes at a time where all are and lie so, or as many as there are.
template <typename T>
__device__ __forceinline__ void store_columns(T* to, u64 stride, const T (&values)[COLUMNS], i32 count, bool wide) {
    if (wide) {
        if (sizeof(T) == 4) {
            *reinterpret_cast<float4*>(to) = make_float4((float)values[0], (float)values[1], (float)values[2], (float)values[3]);
        } else {
            reinterpret_cast<double2*>(to)[0] = make_double2(values[0], values[1]);
            reinterpret_cast<double2*>(to)[1] = make_double2(values[2], values[3]);
        }
        return;
    }
#pragma unroll
    for (i32 k = 0; k < COLUMNS; k++)
        if (k < count) to[k * (long long)stride] = values[k];
}
template <typename T>
__device__ __forceinline__ bool is_aligned(const void* base, const Layout& layout) {
    return layout.stride == 1 && ((u64)base | (u64)layout.pitch * sizeof(T)) % 16 == 0;
}

// Grid: any. Block: 32 * warps. Tiles from their symbols: sums along the rows, and down the columns.
template <typename T>
__device__ __forceinline__ void lorenzo_restore(const Job& job) {
    typedef Real<T> R;
    typedef typename Payload<T>::Type Q;
    constexpr u32 BOTH = 0x10001;
    // The differences of symbols without raw bits, in 16 bits each, with SMALL added, so that sums have no carries. Others are none.
    __shared__ u32 small[ALPHABET], readings[ALPHABET];
    __shared__ T widths[TIERS][IDS];
    static_assert(2 * SMALL * TILE < 1 << 15, "a sum along a row has 15 bits");
    const Control& control = control_of(job);
    if (control.status != STATUS_OK || control.content != CONTENT_CODED || control.predictor != PREDICTOR_LORENZO) return;
    for (u32 k = threadIdx.x; k < ALPHABET; k += blockDim.x) {
        const Code code = decode_small(k < FIRST_WITH_RAW_BITS ? k : SYMBOL_ZERO);
        small[k] = (u32)(code.qu + SMALL) | (u32)(code.qv + SMALL) << 16;
        readings[k] = reading_of(k);
    }
    for (i32 k = threadIdx.x; k < TIERS * IDS; k += blockDim.x) widths[k / IDS][k % IDS] = lattice_width<T>(control.quantum, k / IDS, k % IDS);
    __syncthreads();
    const i32 lane = threadIdx.x & 31, column = COLUMNS * (lane % ROW_LANES);
    const bool aligned = is_aligned<T>(job.u, job.u_layout) && is_aligned<T>(job.v, job.v_layout);
    // What the lanes before have added, but for the sign of the lower half.
    constexpr u32 SIGN = 1u << 15;
    const u32 added_before = SIGN - SMALL * column * BOTH;
    const u64 warps = (u64)gridDim.x * LORENZO_RESTORE_WARPS;
    for (u64 first = TILES_OF_WARP * ((u64)blockIdx.x * LORENZO_RESTORE_WARPS + (threadIdx.x >> 5)); first < job.tiles(); first += TILES_OF_WARP * warps) {
        const bool exists = first + lane / ROW_LANES < job.tiles();
        const u64 index = exists ? first + lane / ROW_LANES : first;
        const TileShape shape = tile_shape(job, index);
        const i32 rows = exists ? shape.owned_y() : 0, count = shape.owned_x() - column;
        const u32 info = job.info[index], steps = job.steps[index];
        const bool wide = aligned && count >= COLUMNS, any_masks = __any_sync(FULL, mode_in(info) != 0);
        const T* const lattices = widths[tier_in(info)];
        const T width = lattices[0];
        T* u = vertex_at<T>(job.u, job.u_layout, shape.x0 + column, shape.y0);
        T* v = vertex_at<T>(job.v, job.v_layout, shape.x0 + column, shape.y0);
        const u32* const symbols = reinterpret_cast<const u32*>(job.symbols + index * TILE_VERTICES + column);
        const Q* payload = reinterpret_cast<const Q*>(job.payload) + index * TILE_VERTICES + column;
        // Symbols with raw bits: each byte above the last one without.
        auto large_in = [](u32 four) -> u32 { return (((four & 0x7f * ONES) + (0x80 - FIRST_WITH_RAW_BITS) * ONES) | four) & 0x80 * ONES; };
        // Some rows at a time; those of the next are on their way.
        constexpr i32 ROWS = 4;
        u32 now[ROWS], next[ROWS];
        auto ask_for = [&](i32 start) {
#pragma unroll
            for (i32 i = 0; i < ROWS; i++) next[i] = steps >> (start + i) & 1 ? symbols[ROW_LANES * (start + i)] : 0;
        };
        ask_for(0);
        u32 base_u[COLUMNS] = {}, base_v[COLUMNS] = {};
#pragma unroll 1
        for (i32 y = 0; y < TILE; y++) {
            if (y % ROWS == 0) {
#pragma unroll
                for (i32 i = 0; i < ROWS; i++) {
                    now[i] = next[i];
                    // So are raw bits.
                    if (large_in(now[i])) prefetch_near(payload + TILE * i);
                }
                if (y + ROWS < TILE) ask_for(y + ROWS);
            }
            u32 four = now[0], zeros = 0, fills = 0;
#pragma unroll
            for (i32 i = 0; i + 1 < ROWS; i++) now[i] = now[i + 1];
            if (any_masks && mode_in(info) != 0) {
                // Masked vertices count as predicted. (There may be anything in the place of their symbols.)
                const u32* const masks = job.masks + index * 64 + y;
                zeros = masks[0] >> column & 15;
                fills = masks[TILE] >> column & 15;
#pragma unroll
                for (i32 k = 0; k < COLUMNS; k++)
                    if ((zeros | fills) >> k & 1) four &= ~(255u << 8 * k);
            }
            u32 sums[COLUMNS];
#pragma unroll
            for (i32 k = 0; k < COLUMNS; k++) sums[k] = small[four >> 8 * k & 255];
            sum_row(sums);
#pragma unroll
            for (i32 k = 0; k < COLUMNS; k++) {
                // Halves with signs of their own.
                const u32 both = (sums[k] + added_before - SMALL * (k + 1) * BOTH) ^ SIGN;
                base_u[k] = (u32)__dp2a_lo((i32)both, 0x0001, (i32)base_u[k]);
                base_v[k] = (u32)__dp2a_lo((i32)both, 0x0100, (i32)base_v[k]);
            }
            T a[COLUMNS], b[COLUMNS];
            const u32 large = large_in(four);
            if (!__any_sync(FULL, large)) {
#pragma unroll
                for (i32 k = 0; k < COLUMNS; k++) {
                    a[k] = (T)(i32)base_u[k] * width;
                    b[k] = (T)(i32)base_v[k] * width;
                }
            } else {
                Q raw[COLUMNS] = {};
                u32 reading[COLUMNS], more_u[COLUMNS], more_v[COLUMNS];
#pragma unroll
                for (i32 k = 0; k < COLUMNS; k++)
                    if (large >> 8 * k & 0x80) raw[k] = payload[k];
#pragma unroll
                for (i32 k = 0; k < COLUMNS; k++) {
                    reading[k] = readings[four >> 8 * k & 255];
                    const u32 ku = reading[k] & 255, kv = reading[k] >> 8 & 255;
                    const bool offsets = reading[k] & WIDE;
                    more_u[k] = component((u32)Payload<T>::low(raw[k]), ku, offsets);
                    more_v[k] = component((u32)(Payload<T>::low(raw[k]) >> (ku + offsets)), kv, offsets);
                }
                sum_row(more_u);
                sum_row(more_v);
#pragma unroll
                for (i32 k = 0; k < COLUMNS; k++) {
                    base_u[k] += more_u[k];
                    base_v[k] += more_v[k];
                    const u32 id = reading[k] >> 24, symbol = four >> 8 * k & 255;
                    // Digits of finer lattices are behind what the symbol has itself.
                    const u32 own = (reading[k] & 255) + (reading[k] >> 8 & 255) + (reading[k] & WIDE ? 2 : 0);
                    const u64 low = Payload<T>::low(raw[k]), high = sizeof(T) == 8 ? Payload<T>::second(raw[k]) : 0;
                    const u32 digits = (u32)(own == 0 ? low : own < 64 ? low >> own | high << (64 - own) : high), mask = (1u << 2 * id) - 1;
                    const T w = lattices[id];
                    a[k] = (T)join_code((i32)base_u[k], digits & mask, (i32)id) * w;
                    b[k] = (T)join_code((i32)base_v[k], digits >> 2 * id & mask, (i32)id) * w;
                    if (symbol == STORED) {
                        a[k] = R::from_bits(Payload<T>::low(raw[k]));
                        b[k] = R::from_bits(Payload<T>::second(raw[k]));
                    }
                }
            }
            if (any_masks) {
#pragma unroll
                for (i32 k = 0; k < COLUMNS; k++) {
                    if (fills >> k & 1) a[k] = R::from_bits(control.fill[0]), b[k] = R::from_bits(control.fill[1]);
                    if (zeros >> k & 1) a[k] = b[k] = T(0);
                }
            }
            if (y < rows) {
                store_columns(u, job.u_layout.stride, a, count, wide);
                store_columns(v, job.v_layout.stride, b, count, wide);
            }
            u += job.u_layout.pitch;
            v += job.v_layout.pitch;
            payload += TILE;
            __syncwarp();
        }
    }
}
