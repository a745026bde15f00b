// Entries of the Lorenzo predictor: from values to symbols and back, a warp for a tile, a lane for a column.
// Twin: src/stage/lorenzo.rs. Tiles know nothing of each other.
#pragma once
#include "constrain.cuh"
#include "decoding.cuh"

constexpr i32 LORENZO_WARPS = 8;

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
    RowSums costs = {0, 0, 0};
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
            costs.begin_row(start, i);
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
                if (symbol != SYMBOL_ZERO) costs.all += 3;
            } else {
                const Symbol s = encode_symbol_large({0, qu, qv});
                symbol = s.symbol;
                payload[TILE * y] = Payload<T>::make(s.raw, 0);
                costs.all += 3 + symbol_raw_bits(symbol);
            }
            symbols[TILE * y] = (u8)symbol;
        }
    }
    if (!__all_sync(FULL, holds)) {
        if (lane == 0) job.group_offsets[atomicAdd((ull*)&control.limited_tiles, 1ull)] = index;
        return;
    }
    const u32 classes = classes_of(costs, {64, 256, TILE_VERTICES});
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
        const bool whole = nearness_of(job, index).kind != OTHER_TILE;
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
        if (lorenzo_rows<T>(job, control, lattices, index, shape, whole, tier, false, limits, info, exact, max_error))
            lorenzo_rows<T>(job, control, lattices, index, shape, whole, tier, true, limits, info, exact, max_error);
        if (lane == 0) job.info[index] = info;
        __syncwarp();
    }
    report_tally<T>(control, exact, 0, max_error);
}

// ---------------------------------------------------------------- back to values

constexpr i32 LORENZO_RESTORE_WARPS = 4;

// A warp restores four tiles, row by row: eight lanes for each, of four neighbours in a row.
constexpr i32 COLUMNS = 4, ROW_LANES = TILE / COLUMNS, TILES_OF_WARP = 32 / ROW_LANES;

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
    constexpr u32 BOTH = 0x10001, ONES = 0x01010101;
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
