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
__device__ __forceinline__ T limit_at(const T* limits, i32 y) {
    const i32 lane = threadIdx.x & 31, fine = 16 * (y >> 1) + (lane >> 1);
    if (y & 1) return limits[(lane & 1 ? 768 : 512) + fine];
    return limits[lane & 1 ? 256 + fine : position_of(lane, y)];
}

// Rows that are loaded before the first of them is worked on.
constexpr i32 LORENZO_ROWS = 4;

// The values of rows, and their limits where there are any, of a tile that may end before them.
template <typename T>
struct LorenzoRows {
    T a[LORENZO_ROWS], b[LORENZO_ROWS], limit[LORENZO_ROWS];
    __device__ __forceinline__ void load(const Job& job, const T* u, const T* v, const T* limits, i32 start, i32 rows) {
#pragma unroll
        for (i32 i = 0; i < LORENZO_ROWS; i++) {
            const i32 y = start + i < rows ? start + i : rows - 1;
            a[i] = u[y * (long long)job.u_layout.pitch];
            b[i] = v[y * (long long)job.v_layout.pitch];
            limit[i] = limits ? limit_at(limits, start + i) : no_limit<T>();
        }
    }
};

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
#pragma unroll 1
    for (i32 start = 0; start < TILE; start += LORENZO_ROWS) {
        LorenzoRows<T> rows;
        rows.load(job, u, v, limits, start, oy);
#pragma unroll
        for (i32 i = 0; i < LORENZO_ROWS; i++) {
            const i32 y = start + i;
            if (y >= oy) {
                symbols[TILE * y] = SYMBOL_ZERO;
                continue;
            }
            const T a = rows.a[i], b = rows.b[i], limit = rows.limit[i];
            const bool is_finite = R::finite(a) && R::finite(b), zero = inside && a == T(0) && b == T(0);
            const bool visible = inside && is_finite && !zero, tight = is_tight(limit);
            T cu, cv, ru, rv;
            bool fits = quantize_on(a, inverse, width, cu, ru);
            fits &= quantize_on(b, inverse, width, cv, rv);
            T error = R::high(R::abs(ru - a), R::abs(rv - b));
            bool coded = visible && !stored && fits && (error == T(0) || (error <= accept && (!tight || error < limit)));
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
                const bool fill = inside && !is_finite && R::bits(a) == control.fill[0] && R::bits(b) == control.fill[1];
                const bool has_symbol = inside && !zero && !fill;
                const u32 zeros = __ballot_sync(FULL, zero), fills = __ballot_sync(FULL, fill);
                if (lane == y) {
                    my_zero = zeros;
                    my_fill = fills;
                }
                n = __popc(__ballot_sync(FULL, has_symbol));
                LorenzoCode<T> code = {coded, 0, coded ? (i32)cu : 0, coded ? (i32)cv : 0, coded ? error : T(0)};
                if (visible && !stored && fits && !coded) code = lorenzo_code<T>(a, b, lattices, tier, accept, tight, limit);
                stored_vertices += visible && !code.coded;
                largest = R::high(largest, code.error);
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
                before_u += down_u;
                before_v += down_v;
                const i32 qu = across_cell(down_u), qv = across_cell(down_v);
                if (code.coded) {
                    u64 raw;
                    symbol = encode_symbol({code.id, qu, qv}, raw);
                    if (symbol >= FIRST_WITH_RAW_BITS) {
                        own = symbol_raw_bits(symbol);
                        const u64 digits = digits_u | digits_v << (2 * code.id);
                        payload[TILE * y] = Payload<T>::make(own < 64 ? raw | digits << own : raw, own == 0 ? 0 : own < 64 ? digits >> (64 - own) : digits);
                        own += 4 * (u32)code.id;
                    }
                } else if (has_symbol) {
                    symbol = STORED;
                    own = 16 * sizeof(T);
                    payload[TILE * y] = sizeof(T) == 4 ? Payload<T>::make(R::bits(a) | R::bits(b) << 32, 0) : Payload<T>::make(R::bits(a), R::bits(b));
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
            const bool inside = lane < ox;
            const T* const u = vertex_at<T>(job.u, job.u_layout, shape.x0 + (inside ? lane : 0), shape.y0);
            const T* const v = vertex_at<T>(job.v, job.v_layout, shape.x0 + (inside ? lane : 0), shape.y0);
            u32 vertices = 0;
            __syncwarp();
            halvings[lane] = 0;
            __syncwarp();
#pragma unroll 1
            for (i32 start = 0; start < oy; start += LORENZO_ROWS) {
                LorenzoRows<T> rows;
                rows.load(job, u, v, limits, start, oy);
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

template <typename T>
struct LorenzoRestore {
    int2 sums[TILE * (TILE + 1)];  // along rows
    u32 special[TILE];             // vertices of a row that are not their base code
};
constexpr i32 LORENZO_RESTORE_WARPS = 4;

// Grid: any. Block: 32 * warps. Tiles from their symbols: sums along rows, a lane for a row, then down the
// columns, a lane for a column.
template <typename T>
__device__ __forceinline__ void lorenzo_restore(const Job& job) {
    typedef Real<T> R;
    typedef typename Payload<T>::Type Q;
    __shared__ LorenzoRestore<T> shared_[LORENZO_RESTORE_WARPS];
    LorenzoRestore<T>& shared = shared_[threadIdx.x >> 5];
    const Control& control = control_of(job);
    if (control.status != STATUS_OK || control.content != CONTENT_CODED || control.predictor != PREDICTOR_LORENZO) return;
    const i32 lane = threadIdx.x & 31;
    const u64 warps = (u64)gridDim.x * LORENZO_RESTORE_WARPS;
    for (u64 index = (u64)blockIdx.x * LORENZO_RESTORE_WARPS + (threadIdx.x >> 5); index < job.tiles(); index += warps) {
        const TileShape shape = tile_shape(job, index);
        const i32 ox = shape.owned_x(), oy = shape.owned_y();
        const u32 info = job.info[index], states = mode_in(info);
        const i32 tier = (i32)tier_in(info);
        const u32* const masks = job.masks + index * 64;
        const Q* const payload = reinterpret_cast<const Q*>(job.payload) + index * TILE_VERTICES;
        const u8* const symbols = job.symbols + index * TILE_VERTICES;
        const u32 masked = states == 0 ? 0 : masks[lane] | masks[TILE + lane];
        // Along row `lane`.
        const bool coded = job.steps[index] >> lane & 1;
        u32 special = masked;
        u32 sum_u = 0, sum_v = 0;
        int2* const row = shared.sums + lane * (TILE + 1);
        __syncwarp();
#pragma unroll 1
        for (i32 half = 0; half < 2; half++) {
            uint4 words = make_uint4(0, 0, 0, 0);
            if (coded) words = reinterpret_cast<const uint4*>(symbols + TILE * lane)[half];
#pragma unroll
            for (i32 i = 0; i < 16; i++) {
                const u32 word = i < 4 ? words.x : i < 8 ? words.y : i < 12 ? words.z : words.w;
                const u32 symbol = word >> 8 * (i & 3) & 255;
                const i32 x = 16 * half + i;
                if (symbol != SYMBOL_ZERO && !(masked >> x & 1)) {
                    Code code = {0, 0, 0};
                    if (symbol < FIRST_WITH_RAW_BITS)
                        code = decode_small(symbol);
                    else if (symbol != STORED)
                        code = decode_symbol(symbol, symbol_raw_bits(symbol) ? Payload<T>::low(payload[TILE * lane + x]) : 0);
                    if (symbol == STORED || code.id) special |= 1u << x;
                    sum_u += (u32)code.qu;
                    sum_v += (u32)code.qv;
                }
                row[x] = make_int2((i32)sum_u, (i32)sum_v);
            }
        }
        shared.special[lane] = special;
        const bool any_special = __any_sync(FULL, special);
        __syncwarp();
        // Down column `lane`.
        const T width = lattice_width<T>(control.quantum, tier, 0);
        T* u = vertex_at<T>(job.u, job.u_layout, shape.x0 + lane, shape.y0);
        T* v = vertex_at<T>(job.v, job.v_layout, shape.x0 + lane, shape.y0);
        u32 base_u = 0, base_v = 0;
#pragma unroll 4
        for (i32 y = 0; y < oy; y++) {
            const int2 sum = shared.sums[y * (TILE + 1) + lane];
            base_u += (u32)sum.x;
            base_v += (u32)sum.y;
            T a = (T)(i32)base_u * width, b = (T)(i32)base_v * width;
            if (any_special && shared.special[y] >> lane & 1) {
                if (states != 0 && masks[y] >> lane & 1) {
                    a = b = T(0);
                } else if (states != 0 && masks[TILE + y] >> lane & 1) {
                    a = R::from_bits(control.fill[0]);
                    b = R::from_bits(control.fill[1]);
                } else {
                    const u32 symbol = symbols[TILE * y + lane];
                    const Q raw = payload[TILE * y + lane];
                    if (symbol == STORED) {
                        a = R::from_bits(Payload<T>::low(raw));
                        b = R::from_bits(Payload<T>::second(raw));
                    } else {
                        const u32 own = symbol_raw_bits(symbol);
                        const u64 low = Payload<T>::low(raw), high = sizeof(T) == 8 ? Payload<T>::second(raw) : 0;
                        const u32 digits = (u32)(own == 0 ? low : own < 64 ? low >> own | high << (64 - own) : high);
                        const i32 id = decode_symbol(symbol, 0).id;
                        const u32 mask = (1u << (2 * id)) - 1;
                        const T w = lattice_width<T>(control.quantum, tier, id);
                        a = (T)join_code((i32)base_u, digits & mask, id) * w;
                        b = (T)join_code((i32)base_v, digits >> (2 * id) & mask, id) * w;
                    }
                }
            }
            if (lane < ox) {
                u[y * (long long)job.u_layout.pitch] = a;
                v[y * (long long)job.v_layout.pitch] = b;
            }
        }
    }
}
