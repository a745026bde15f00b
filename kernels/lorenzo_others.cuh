// The entry of the Lorenzo predictor for tiles with limits, masks or both, a warp for a tile, and what is found out about limits before the
// rows of whole tiles. Twin: src/stage/lorenzo.rs.
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

// Raw bits of a symbol, and the digits of a finer lattice behind them.
template <typename T>
__device__ __forceinline__ typename Payload<T>::Type with_digits(const Symbol& s, u64 digits) {
    const u32 own = s.bits;
    return Payload<T>::make(own < 64 ? s.raw | digits << own : s.raw, own == 0 ? 0 : own < 64 ? digits >> (64 - own) : digits);
}

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
        if (code.id == 0 && max((u32)qu + SMALL, (u32)qv + SMALL) <= 2 * SMALL) {
            row.symbol = small_symbol(qu, qv);
        } else {
            const Symbol s = large_symbol({code.id, qu, qv});
            row.symbol = s.symbol;
            row.own = s.bits + 4 * (u32)code.id;
            *payload = with_digits<T>(s, digits_u | digits_v << (2 * code.id));
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
            u32 n = (u32)ox;
            u32 symbol = SYMBOL_ZERO, own = 0;
            if (__all_sync(FULL, coded || !inside)) {
                // What is in lanes outside reaches none of those inside.
                const u32 base_u = (u32)(i32)cu, base_v = (u32)(i32)cv;
                i32 qu = across_cell(base_u - before_u), qv = across_cell(base_v - before_v);
                if (!inside) qu = qv = 0;
                before_u = base_u;
                before_v = base_v;
                largest = R::high(largest, error);
                if ((u32)(qu + SMALL) <= 2 * SMALL && (u32)(qv + SMALL) <= 2 * SMALL) {
                    symbol = small_symbol(qu, qv);
                } else {
                    const Symbol s = encode_symbol_large({0, qu, qv});
                    symbol = s.symbol;
                    own = s.bits;
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

// Codes of the listed vertices of a whole tile that its lattice does not hold, in the place of their raw bits. Whether all of the lane's have one.
// The largest error that they leave.
template <typename T>
__device__ __forceinline__ bool refine_limited(const Job& job, const Lattices<T>& lattices, const T* limits, const u16* list, u32 count, u64 tile,
                                               const TileShape& shape, i32 tier, T accept, u32* refined, T& largest) {
    typedef Real<T> R;
    typedef typename Payload<T>::Type Q;
    const i32 lane = threadIdx.x & 31;
    bool all = true;
#pragma unroll 1
    for (u32 first = 0; first < count; first += 32) {
        if (first + lane >= count) continue;
        const i32 position = list[first + lane];
        i32 x, y;
        place_of(position, x, y);
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
            all = false;
        }
    }
    return all;
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
    typedef Real<T> R;
    __shared__ Lattices<T> lattices;
    __shared__ u32 halvings_[LORENZO_WARPS][TILE];
    u32* const halvings = halvings_[threadIdx.x >> 5];
    static_assert(HALVINGS <= TILE, "a lane for each");
    Control& control = control_of(job);
    const i32 lane = threadIdx.x & 31;
    const u64 others = control.other_tiles, whole_tiles = control.whole_tiles, warps = (u64)gridDim.x * LORENZO_WARPS;
    const u64 count = others + (whole_tiles < MANY_WHOLE_TILES ? whole_tiles : 0);
    if ((u64)blockIdx.x * LORENZO_WARPS < count) lattices.fill(control.quantum);
    u32 exact = 0;
    T max_error = 0;
    // Few tiles are those of few blocks, so that other kernels have the rest of the device.
    for (u64 k = (u64)blockIdx.x * LORENZO_WARPS + (threadIdx.x >> 5); k < count; k += warps) {
        const u64 index = job.group_sizes[k < others ? control.plain_tiles + k : job.tiles() - 1 - (k - others)];
        const TileShape shape = tile_shape(job, index);
        const i32 ox = shape.owned_x(), oy = shape.owned_y();
        const T* const limits = limits_of<T>(job, index);
        const bool whole = k >= others;
        i32 tier;
        {
            const u64 limited = nearness_of(job, index).limited;
            const bool inside = lane < ox;
            const T* const u = vertex_at<T>(job.u, job.u_layout, shape.x0 + (inside ? lane : 0), shape.y0);
            const T* const v = vertex_at<T>(job.v, job.v_layout, shape.x0 + (inside ? lane : 0), shape.y0);
            u32 vertices = 0;
            __syncwarp();
            halvings[lane] = 0;
            __syncwarp();
            if (whole) {
                // All have a value: the limits alone matter, in any order.
                vertices = TILE;
                constexpr i32 AHEAD = 8;
#pragma unroll 1
                for (i32 start = 0; start < TILE_VERTICES; start += 32 * AHEAD) {
                    T some[AHEAD];
                    // The first column is there, of the finest level in one vertex of each chunk.
                    const u64 here = start == 512 && lane % LIMIT_CHUNK == 0 ? ~0ull : limited;
#pragma unroll
                    for (i32 i = 0; i < AHEAD; i++) some[i] = limit_of(limits, here, start + 32 * i + lane);
#pragma unroll
                    for (i32 i = 0; i < AHEAD; i++) {
                        const i32 needed = is_tight(some[i]) ? lattices.halvings(some[i]) : 0;
                        if (needed) atomicAdd(&halvings[needed], 1);
                    }
                }
            } else {
#pragma unroll 1
                for (i32 start = 0; start < oy; start += LORENZO_ROWS) {
                    LorenzoRows<T> rows;
                    rows.load(job, u, v, limits, limited, start, oy);
#pragma unroll
                    for (i32 i = 0; i < LORENZO_ROWS; i++) {
                        const T a = rows.a[i], b = rows.b[i];
                        const bool visible = inside && start + i < oy && R::finite(a) && R::finite(b) && !(a == T(0) && b == T(0));
                        vertices += visible;
                        if (visible && is_tight(rows.limit[i])) {
                            const i32 needed = lattices.halvings(rows.limit[i]);
                            if (needed) atomicAdd(&halvings[needed], 1);
                        }
                    }
                }
            }
            tier = best_tier(halvings, warp_sum(vertices));
        }
        u32 info = 0;
        if (lorenzo_rows<T>(job, control, lattices, index, shape, whole, tier, false, limits, info, exact, max_error))
            lorenzo_rows<T>(job, control, lattices, index, shape, whole, tier, true, limits, info, exact, max_error);
        if (lane == 0) job.info[index] = info;
        __syncwarp();
    }
    if ((u64)blockIdx.x * LORENZO_WARPS < count) report_tally<T>(control, exact, 0, max_error);
    end_beside();
}

