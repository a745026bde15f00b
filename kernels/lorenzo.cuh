// Entries of the Lorenzo predictor: from values to symbols and back, a warp for a tile, a lane for a column.
// Twin: src/stage/lorenzo.rs. Tiles know nothing of each other.
#pragma once
#include "constrain.cuh"
#include "decoding.cuh"

constexpr i32 LORENZO_WARPS = 8;

// Cost of the symbols of a tile by block.
struct BlockCosts {
    u32 coarse, middle, fine;
    __device__ __forceinline__ void add(i32 y, u32 cost) {
        if (y < 2)
            coarse += cost;
        else if (y < 8)
            middle += cost;
        else
            fine += cost;
    }
};

// The difference of a row of base codes across its cells: down from the row before, then to the left.
__device__ __forceinline__ i32 across_cell(u32 down) {
    const u32 left = __shfl_up_sync(FULL, down, 1);
    return (i32)((threadIdx.x & 31) == 0 ? down : down - left);
}

__device__ __forceinline__ u32 classes_of(const BlockCosts& costs, const u32 active[3]) {
    return class_of(warp_sum(costs.coarse), active[0]) << 8 | class_of(warp_sum(costs.middle), active[1]) << 16 |
           class_of(warp_sum(costs.fine), active[2]) << 24;
}

// Grid: tiles / warps. Block: 32 * warps. The plain tiles: whole, without limits and masks. One that the
// lattice of the bound does not hold goes on the list of the limited ones.
template <typename T>
__device__ __forceinline__ void lorenzo_plain(const Job& job) {
    typedef Real<T> R;
    typedef typename Payload<T>::Type Q;
    Control& control = control_of(job);
    const i32 lane = threadIdx.x & 31;
    const u64 k = (u64)blockIdx.x * LORENZO_WARPS + (threadIdx.x >> 5);
    if (k >= control.plain_tiles) return;
    const u64 index = job.group_sizes[k];
    const TileShape shape = tile_shape(job, index);
    const T width = lattice_width<T>(control.quantum, 0, 0), inverse = lattice_inverse(width), accept = (T)control.quantizer.accept;
    const T* u = vertex_at<T>(job.u, job.u_layout, shape.x0 + lane, shape.y0);
    const T* v = vertex_at<T>(job.v, job.v_layout, shape.x0 + lane, shape.y0);
    u8* const symbols = job.symbols + index * TILE_VERTICES + lane;
    Q* const payload = reinterpret_cast<Q*>(job.payload) + index * TILE_VERTICES + lane;
    BlockCosts costs = {0, 0, 0};
    u32 before_u = 0, before_v = 0;
    bool holds = true;
    T max_error = 0;
    constexpr i32 ROWS = 8;
#pragma unroll 1
    for (i32 start = 0; start < TILE; start += ROWS) {
        T a[ROWS], b[ROWS];
#pragma unroll
        for (i32 i = 0; i < ROWS; i++) {
            a[i] = u[i * job.u_layout.pitch];
            b[i] = v[i * job.v_layout.pitch];
        }
        u += ROWS * job.u_layout.pitch;
        v += ROWS * job.v_layout.pitch;
#pragma unroll
        for (i32 i = 0; i < ROWS; i++) {
            const i32 y = start + i;
            T cu, cv, ru, rv;
            holds &= quantize_on(a[i], inverse, width, cu, ru);
            holds &= quantize_on(b[i], inverse, width, cv, rv);
            const T error = R::high(R::abs(ru - a[i]), R::abs(rv - b[i]));
            holds &= error <= accept;
            max_error = R::high(max_error, error);
            const u32 base_u = (u32)(i32)cu, base_v = (u32)(i32)cv;
            const i32 qu = across_cell(base_u - before_u), qv = across_cell(base_v - before_v);
            before_u = base_u;
            before_v = base_v;
            u32 symbol;
            if ((u32)(qu + SMALL) <= 2 * SMALL && (u32)(qv + SMALL) <= 2 * SMALL) {
                symbol = small_symbol(qu, qv);
                if (symbol != SYMBOL_ZERO) costs.add(y, 3);
            } else {
                const Symbol s = encode_symbol_large({0, qu, qv});
                symbol = s.symbol;
                payload[TILE * y] = Payload<T>::make(s.raw, 0);
                costs.add(y, 3 + symbol_raw_bits(symbol));
            }
            symbols[TILE * y] = (u8)symbol;
        }
    }
    if (!__all_sync(FULL, holds)) {
        if (lane == 0) job.group_offsets[atomicAdd((ull*)&control.limited_tiles, 1ull)] = index;
        return;
    }
    const u32 active[3] = {64, 192, 768};
    const u32 classes = classes_of(costs, active);
    if (lane == 0) job.info[index] = ALL_CODED | classes;
    report_tally<T>(control, 0, 0, max_error);
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
// many raw bits; whether that is so.
template <typename T>
__device__ __forceinline__ bool lorenzo_rows(const Job& job, const Control& control, const Lattices<T>& lattices, u64 index,
                                             const TileShape& shape, i32 tier, bool stored, const T* limits, u32& info, u32& exact,
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
    BlockCosts costs = {0, 0, 0};
    u32 active[3] = {0, 0, 0};
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
            if (y >= oy) {
                symbols[TILE * y] = SYMBOL_ZERO;
                continue;
            }
            const T a = rows.a[i], b = rows.b[i], limit = rows.limit[i];
            const bool visible = inside && R::finite(a) && R::finite(b) && !(a == T(0) && b == T(0)), tight = is_tight(limit);
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
            if (symbol != SYMBOL_ZERO) costs.add(y, 3 + own);
            active[0] += y < 2 ? n : 0;
            active[1] += y >= 2 && y < 8 ? n : 0;
            active[2] += y >= 8 ? n : 0;
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

// Grid: any. Block: 32 * warps. The tiles that are not plain, in any order.
template <typename T>
__device__ __forceinline__ void lorenzo_others(const Job& job) {
    typedef Real<T> R;
    __shared__ Lattices<T> lattices;
    __shared__ u32 halvings_[LORENZO_WARPS][TILE];
    u32* const halvings = halvings_[threadIdx.x >> 5];
    static_assert(HALVINGS <= TILE, "a lane for each");
    Control& control = control_of(job);
    const i32 lane = threadIdx.x & 31;
    const u64 count = control.limited_tiles, warps = (u64)gridDim.x * LORENZO_WARPS;
    if ((u64)blockIdx.x * LORENZO_WARPS >= count) return;
    lattices.fill(control.quantum);
    u32 exact = 0;
    T max_error = 0;
    for (u64 k = (u64)blockIdx.x * LORENZO_WARPS + (threadIdx.x >> 5); k < count; k += warps) {
        const u64 index = job.group_offsets[k];
        const TileShape shape = tile_shape(job, index);
        const i32 ox = shape.owned_x(), oy = shape.owned_y();
        // A plain tile that the lattice does not hold has no limits.
        const T* const limits = job.info[index] & ALL_CODED ? nullptr : limits_of<T>(job, index);
        i32 tier = 0;
        if (limits) {
            const u64 limited = nearness_of(job, index).limited;
            const bool inside = lane < ox;
            const T* const u = vertex_at<T>(job.u, job.u_layout, shape.x0 + (inside ? lane : 0), shape.y0);
            const T* const v = vertex_at<T>(job.v, job.v_layout, shape.x0 + (inside ? lane : 0), shape.y0);
            u32 vertices = 0;
            __syncwarp();
            halvings[lane] = 0;
            __syncwarp();
            if (nearness_of(job, index).kind == WHOLE_TILE) {
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
            vertices = warp_sum(vertices);
            __syncwarp();
            // The smallest estimate, the first tier of several.
            u32 best = lane < TIERS ? estimate_tier(lane, vertices, halvings) << 3 | (u32)lane : 0xffffffffu;
            for (i32 i = 16; i > 0; i /= 2) {
                const u32 other = __shfl_xor_sync(FULL, best, i);
                if (other < best) best = other;
            }
            tier = (i32)(best & 7);
        }
        u32 info = 0;
        if (lorenzo_rows<T>(job, control, lattices, index, shape, tier, false, limits, info, exact, max_error))
            lorenzo_rows<T>(job, control, lattices, index, shape, tier, true, limits, info, exact, max_error);
        if (lane == 0) job.info[index] = info;
        __syncwarp();
    }
    report_tally<T>(control, exact, 0, max_error);
}

// ---------------------------------------------------------------- back to values

constexpr i32 LORENZO_RESTORE_WARPS = 4, LORENZO_RESTORE_ROWS = 8;

// The value of a vertex that is not its base code: a masked one, a stored one, or one with digits.
template <typename T>
__device__ __noinline__ typename Real<T>::Pair special_value(const Job& job, const Control& control, u64 index, u32 info, i32 y, u32 symbol,
                                                            u32 base_u, u32 base_v) {
    typedef Real<T> R;
    typedef typename Payload<T>::Type Q;
    const i32 lane = threadIdx.x & 31, tier = (i32)tier_in(info);
    const u32* const masks = job.masks + index * 64;
    if (mode_in(info) != 0) {
        if (masks[y] >> lane & 1) return R::pair(T(0), T(0));
        if (masks[TILE + y] >> lane & 1) return R::pair(R::from_bits(control.fill[0]), R::from_bits(control.fill[1]));
    }
    const Q raw = reinterpret_cast<const Q*>(job.payload)[index * TILE_VERTICES + TILE * y + lane];
    if (symbol == STORED) return R::pair(R::from_bits(Payload<T>::low(raw)), R::from_bits(Payload<T>::second(raw)));
    const u32 own = symbol_raw_bits(symbol);
    const u64 low = Payload<T>::low(raw), high = sizeof(T) == 8 ? Payload<T>::second(raw) : 0;
    const u32 digits = (u32)(own == 0 ? low : own < 64 ? low >> own | high << (64 - own) : high);
    const i32 id = (i32)meaning(symbol).id;
    const u32 mask = (1u << (2 * id)) - 1;
    const T w = lattice_width<T>(control.quantum, tier, id);
    return R::pair((T)join_code((i32)base_u, digits & mask, id) * w, (T)join_code((i32)base_v, digits >> (2 * id) & mask, id) * w);
}

// Grid: any. Block: 32 * warps. Tiles from their symbols, a lane for a column: sums along the rows, and down the columns.
template <typename T>
__device__ __forceinline__ void lorenzo_restore(const Job& job) {
    typedef Real<T> R;
    typedef typename Payload<T>::Type Q;
    // The differences of symbols without raw bits, each with SMALL added: a sum along a row has eight bits. Others are none.
    __shared__ u16 small[ALPHABET];
    static_assert(2 * SMALL * TILE < 256, "eight bits");
    const Control& control = control_of(job);
    if (control.status != STATUS_OK || control.content != CONTENT_CODED || control.predictor != PREDICTOR_LORENZO) return;
    for (u32 k = threadIdx.x; k < ALPHABET; k += blockDim.x) {
        const Code code = decode_small(k < FIRST_WITH_RAW_BITS ? k : SYMBOL_ZERO);
        small[k] = (u16)((u32)(code.qu + SMALL) | (u32)(code.qv + SMALL) << 8);
    }
    __syncthreads();
    const i32 lane = threadIdx.x & 31;
    const u32 added = SMALL * (lane + 1);
    const u64 warps = (u64)gridDim.x * LORENZO_RESTORE_WARPS;
    for (u64 index = (u64)blockIdx.x * LORENZO_RESTORE_WARPS + (threadIdx.x >> 5); index < job.tiles(); index += warps) {
        const TileShape shape = tile_shape(job, index);
        const i32 oy = shape.owned_y();
        const bool inside = lane < shape.owned_x();
        const u32 info = job.info[index], steps = job.steps[index], states = mode_in(info);
        const Q* const payload = reinterpret_cast<const Q*>(job.payload) + index * TILE_VERTICES + lane;
        const u8* const symbols = job.symbols + index * TILE_VERTICES + lane;
        u32 masked = states == 0 ? 0 : job.masks[index * 64 + lane] | job.masks[index * 64 + TILE + lane];
        const T width = lattice_width<T>(control.quantum, (i32)tier_in(info), 0);
        T* u = vertex_at<T>(job.u, job.u_layout, shape.x0 + lane, shape.y0);
        T* v = vertex_at<T>(job.v, job.v_layout, shape.x0 + lane, shape.y0);
        u32 base_u = 0, base_v = 0;
#pragma unroll 1
        for (i32 start = 0; start < oy; start += LORENZO_RESTORE_ROWS) {
            u32 symbol[LORENZO_RESTORE_ROWS];
#pragma unroll
            for (i32 i = 0; i < LORENZO_RESTORE_ROWS; i++) {
                symbol[i] = SYMBOL_ZERO;
                if (steps >> (start + i) & 1) symbol[i] = symbols[TILE * (start + i)];
            }
#pragma unroll
            for (i32 i = 0; i < LORENZO_RESTORE_ROWS; i += 2) {
                // Masked vertices count as predicted. (There may be anything in the place of their symbols.)
                u32 masks[2] = {0, 0};
                if (states != 0) {
#pragma unroll
                    for (i32 k = 0; k < 2; k++) {
                        masks[k] = __shfl_sync(FULL, masked, start + i + k) >> lane & 1;
                        if (masks[k]) symbol[i + k] = SYMBOL_ZERO;
                    }
                }
                // Two rows at a time.
                const u32 sums = sum_up_to_me(small[symbol[i]] | (u32)small[symbol[i + 1]] << 16);
#pragma unroll
                for (i32 k = 0; k < 2; k++) {
                    const i32 y = start + i + k;
                    const u32 s = symbol[i + k];
                    base_u += (sums >> 16 * k & 255) - added;
                    base_v += (sums >> (16 * k + 8) & 255) - added;
                    bool special = masks[k];
                    if (__any_sync(FULL, s >= FIRST_WITH_RAW_BITS)) {
                        Code code = {0, 0, 0};
                        if (s >= FIRST_WITH_RAW_BITS && s != STORED)
                            code = decode_symbol(s, symbol_raw_bits(s) ? Payload<T>::low(payload[TILE * y]) : 0);
                        special |= s == STORED || code.id;
                        base_u += sum_up_to_me((u32)code.qu);
                        base_v += sum_up_to_me((u32)code.qv);
                    }
                    if (y < oy) {
                        T a = (T)(i32)base_u * width, b = (T)(i32)base_v * width;
                        if (special) {
                            const typename R::Pair value = special_value<T>(job, control, index, info, y, s, base_u, base_v);
                            a = value.x;
                            b = value.y;
                        }
                        if (inside) {
                            *u = a;
                            *v = b;
                        }
                        u += job.u_layout.pitch;
                        v += job.v_layout.pitch;
                    }
                }
            }
        }
    }
}
