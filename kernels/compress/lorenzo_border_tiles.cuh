// The entry of the Lorenzo predictor for tiles with limits, masks or both, a warp for a tile, and what is
// found out about limits before the rows of whole tiles. Twin: src/predict/lorenzo.rs.
#pragma once
#include "compress/lorenzo_tiles.cuh"

// Where the vertices in even columns of even rows are in the order of the symbols, row by row.
struct EvenPositions {
    u8 at[TILE / 2][TILE / 2];
    __device__ __forceinline__ void fill() {
        for (u32 k = threadIdx.x; k < sizeof at; k += blockDim.x) {
            const i32 x = k % (TILE / 2), y = k / (TILE / 2);
            at[y][x] = (u8)position_of(2 * x, 2 * y);
        }
        __syncthreads();
    }
};

// Rows that are loaded together.
constexpr i32 LORENZO_ROWS = 4;

// The values of some rows in the lane's column, and their limits.
template <typename T>
struct LorenzoRows {
    T a[LORENZO_ROWS], b[LORENZO_ROWS], limit[LORENZO_ROWS];
};

// Reads a tile, which may end before its last rows and columns, by rows: one that is not there is the last
// one again.
template <typename T>
class RowReader {
    const T *u, *v, *limits;
    const EvenPositions& positions;
    i32 rows;
    u32 even, odd;  // which rows with even and odd numbers have their limits in memory

public:
    // Without `limits` there are none.
    __device__ __forceinline__ RowReader(
        const Job& job, const EvenPositions& positions, const TileShape& shape, const T* limits, u64 limited)
        : limits(limits), positions(positions), rows(shape.owned_y()) {
        const i32 lane = threadIdx.x & 31, x = lane < shape.owned_x() ? lane : 0;
        u = vertex_at<T>(job.u, job.u_layout, shape.x0 + x, shape.y0);
        v = vertex_at<T>(job.v, job.v_layout, shape.x0 + x, shape.y0);
        // Those in even columns of even rows are always there, and the first column.
        even = !limits ? 0 : lane & 1 ? (u32)(limited >> TILE / 2) : FULL;
        odd = !limits ? 0 : lane ? (u32)(limited >> TILE) : FULL;
    }
    // `start` is a multiple of their number.
    __device__ __forceinline__ void load(const Job& job, i32 start, LorenzoRows<T>& to) {
        const i32 lane = threadIdx.x & 31;
#pragma unroll
        for (i32 i = 0; i < LORENZO_ROWS; i++) {
            to.a[i] = *u;
            to.b[i] = *v;
            if (start + i + 1 < rows) u += job.u_layout.pitch, v += job.v_layout.pitch;
            to.limit[i] = no_limit<T>();
            const i32 k = (start + i) / 2, fine = TILE / 2 * k + lane / 2;
            if (i & 1) {
                if (odd >> k & 1) to.limit[i] = limits[(lane & 1 ? 768 : 512) + fine];
            } else {
                if (even >> k & 1)
                    to.limit[i] = limits[lane & 1 ? 256 + fine : (i32)positions.at[k][lane / 2]];
            }
        }
    }
};

// Raw bits of a symbol, and the digits of a finer lattice behind them.
template <typename T>
__device__ __forceinline__ typename Payload<T>::Type with_digits(const Symbol& s, u64 digits) {
    const u32 own = s.bits;
    return Payload<T>::make(own < 64 ? s.raw | digits << own : s.raw, own == 0   ? 0
                                                                      : own < 64 ? digits >> (64 - own)
                                                                                 : digits);
}

// One tile with limits, masks or both. `stored` stores every vertex, for tiles of which a code would have too
// many raw bits; whether that is so. All vertices of a `whole` one have a value.
template <typename T>
__device__ __forceinline__ bool lorenzo_rows(const Job& job, const Control& control,
    const Lattices<T>& lattices, const EvenPositions& positions, u64 index, const TileShape& shape,
    bool whole, i32 tier, bool stored, const T* limits, u32& info, u32& exact, T& max_error) {
    const LorenzoView<T> work(job);
    typedef Real<T> R;
    typedef typename Payload<T>::Type Q;
    const i32 lane = threadIdx.x & 31, ox = shape.owned_x(), oy = shape.owned_y();
    const bool inside = lane < ox;
    const T width = lattices.width[tier][0], inverse = lattices.inverse[tier][0],
            accept = (T)control.quantizer.accept;
    const bool lossless = is_lossless(control);
    u8* symbols = work.symbols() + index * TILE_VERTICES + lane;
    Q* payload = work.raw() + index * TILE_VERTICES + lane;
    u32 cost = 0, active = 0;
    u32 before_u = 0, before_v = 0, my_zero = 0, my_fill = 0, stored_vertices = 0;
    T largest = 0;
    bool too_long = false;
    RowReader<T> reader(job, positions, shape, limits, nearness_of(job, index).limited);
    // The next rows are on their way.
    LorenzoRows<T> rows, coming;
    reader.load(job, 0, coming);
#pragma unroll 1
    for (i32 y = 0; y < TILE; y++) {
        if (y % LORENZO_ROWS == 0) {
            rows = coming;
            if (y + LORENZO_ROWS < oy) reader.load(job, y + LORENZO_ROWS, coming);
        }
        const T a = rows.a[0], b = rows.b[0], limit = rows.limit[0];
#pragma unroll
        for (i32 i = 0; i + 1 < LORENZO_ROWS; i++)
            rows.a[i] = rows.a[i + 1], rows.b[i] = rows.b[i + 1], rows.limit[i] = rows.limit[i + 1];
        u32 symbol = SYMBOL_ZERO;
        if (y < oy) {
            bool visible = inside;
            // A vertex with a sign to keep is stored.
            const bool keeps_sign = lossless && has_negative_zero(a, b),
                       missing = !whole && is_missing(a, b, job.fill);
            if (!whole) visible &= !missing && (keeps_sign || !(a == T(0) && b == T(0)));
            const bool tight = is_tight(limit);
            T cu, cv, ru, rv;
            bool fits = quantize_on(a, inverse, width, cu, ru);
            fits &= quantize_on(b, inverse, width, cv, rv);
            const T error = R::high(R::abs(ru - a), R::abs(rv - b));
            bool coded = visible && !stored && !keeps_sign && fits &&
                         (error == T(0) || (error <= accept && (!tight || error < limit)));
            i32 id = 0, base_u = coded ? (i32)cu : 0, base_v = coded ? (i32)cv : 0;
            u32 digits = 0, n = (u32)ox;
            if (coded) largest = R::high(largest, error);
            u32 down_u = (u32)base_u - before_u, down_v = (u32)base_v - before_v;
            bool has_symbol = inside;
            // What is in lanes outside reaches none of those inside.
            if (!__all_sync(FULL, coded || !inside)) {
                const bool zero = inside && !missing && !keeps_sign && a == T(0) && b == T(0);
                const bool fill =
                    inside && missing && R::bits(a) == control.fill[0] && R::bits(b) == control.fill[1];
                has_symbol = inside && !zero && !fill;
                const u32 zeros = __ballot_sync(FULL, zero), fills = __ballot_sync(FULL, fill);
                n = (u32)ox - __popc(zeros | fills);
                if (lane == y) my_zero = zeros, my_fill = fills;
                if (visible && !stored && !keeps_sign && fits && !coded) {
                    const LorenzoCode<T> code = lorenzo_code<T>(a, b, lattices, tier, accept, tight, limit);
                    coded = code.coded;
                    id = code.id;
                    if (coded) {
                        u32 digits_u, digits_v;
                        split_code(code.qu, id, base_u, digits_u);
                        split_code(code.qv, id, base_v, digits_v);
                        digits = digits_u | digits_v << (2 * id);
                        largest = R::high(largest, code.error);
                        down_u = (u32)base_u - before_u, down_v = (u32)base_v - before_v;
                    }
                }
                stored_vertices += visible && !coded;
                // What has no code counts as predicted: down as the vertex to its left.
                const u32 left = __ballot_sync(FULL, coded) & ((2u << lane) - 1);
                const i32 from = left ? 31 - __clz(left) : 0;
                const u32 near_u = __shfl_sync(FULL, down_u, from), near_v = __shfl_sync(FULL, down_v, from);
                down_u = left ? near_u : 0;
                down_v = left ? near_v : 0;
            }
            before_u += down_u;
            before_v += down_v;
            const i32 qu = across_cell(down_u), qv = across_cell(down_v);
            u32 own = 0;
            if (coded) {
                if (id == 0 && max((u32)qu + SMALL, (u32)qv + SMALL) <= 2 * SMALL) {
                    symbol = small_symbol(qu, qv);
                } else {
                    const Symbol s = large_symbol({id, qu, qv});
                    symbol = s.symbol;
                    own = s.bits + 4 * (u32)id;
                    *payload = with_digits<T>(s, digits);
                }
            } else if (has_symbol) {
                symbol = STORED;
                own = 16 * sizeof(T);
                *payload = sizeof(T) == 4 ? Payload<T>::make(R::bits(a) | R::bits(b) << 32, 0)
                                          : Payload<T>::make(R::bits(a), R::bits(b));
            }
            too_long |= sizeof(T) == 4 && own > 64;
            if (symbol != SYMBOL_ZERO) cost += 3 + own;
            active += n;
        }
        *symbols = (u8)symbol;
        symbols += TILE;
        payload += TILE;
    }
    if (__any_sync(FULL, too_long)) return true;
    const u32 owned = (u32)(ox * oy), zeros = warp_sum(__popc(my_zero)), fills = warp_sum(__popc(my_fill));
    const u32 states = 3 * (zeros == 0          ? MASK_NONE
                               : zeros == owned ? MASK_ALL
                                                : MASK_SOME) +
                       (fills == 0          ? MASK_NONE
                           : fills == owned ? MASK_ALL
                                            : MASK_SOME);
    info = states | (u32)tier << 5 | (states == 0 && owned == TILE_VERTICES ? ALL_CODED : 0);
    if (has_codes(states)) info |= tile_class_of(warp_sum(cost), active) << 8;
    if (states != 0) {
        work.masks()[index * 64 + lane] = my_zero;
        work.masks()[index * 64 + TILE + lane] = my_fill;
    }
    exact += stored_vertices;
    max_error = R::high(max_error, largest);
    return false;
}

// A tile whose lattice has no code for a vertex that only the bound constrains, or where a code has too many
// raw bits. Seldom.
template <typename T>
__device__ __noinline__ void lorenzo_by_vertex(const Job& job, const Lattices<T>& lattices,
    const EvenPositions& positions, u64 index, i32 tier, bool has_limits) {
    Control& control = control_of(job);
    const TileShape shape = tile_shape(job, index);
    const T* const limits = has_limits ? limits_of<T>(job, index) : nullptr;
    u32 info = 0, exact = 0;
    T max_error = 0;
    bool stored = false;
#pragma unroll 1
    while (lorenzo_rows<T>(
        job, control, lattices, positions, index, shape, true, tier, stored, limits, info, exact, max_error))
        stored = true;
    if ((threadIdx.x & 31) == 0) TileView(job).headers()[index] = info;
    report_tally<T>(control, exact, 0, max_error);
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
        const u32 size =
            (u32)t * TIER_RATE * vertices +
            warp_sum(lane > t ? needing * 8 * (REFINED_BITS + 4 * (u32)((lane - t + 1) / 2)) : 0);
        if (size < best) best = size, tier = t;
    }
    return tier;
}

// So many whole tiles with limits keep a device busy where a warp has four of them; fewer are shared among as
// many warps. (The emulator has small fields: its tests come to both.)
#ifdef FACTZ_EMULATED
constexpr u64 MANY_WHOLE_TILES = 2;
#else
constexpr u64 MANY_WHOLE_TILES = 8192;
#endif

// Grid: any. Block: 32 * warps. The tiles that are not plain, but for whole ones where these are many, those
// with most work first. Beside the kernel before.
template <typename T>
__device__ __forceinline__ void lorenzo_others(const Job& job) {
    typedef Real<T> R;
    __shared__ Lattices<T> lattices;
    __shared__ EvenPositions positions;
    __shared__ u32 halvings_[LORENZO_WARPS][TILE];
    u32* const halvings = halvings_[threadIdx.x >> 5];
    static_assert(HALVINGS <= TILE, "a lane for each");
    Control& control = control_of(job);
    const i32 lane = threadIdx.x & 31;
    const u64 others = control.other_tiles, whole_tiles = control.whole_tiles,
              warps = (u64)gridDim.x * LORENZO_WARPS;
    const u64 count = others + (whole_tiles < MANY_WHOLE_TILES ? whole_tiles : 0);
    if ((u64)blockIdx.x * LORENZO_WARPS < count) lattices.fill(control.quantum), positions.fill();
    u32 exact = 0;
    T max_error = 0;
    // Few tiles are those of few blocks, so that other kernels have the rest of the device.
    for (u64 k = (u64)blockIdx.x * LORENZO_WARPS + (threadIdx.x >> 5); k < count; k += warps) {
        const u64 index =
            ListsView(job)
                .tile_lists()[k < others ? control.plain_tiles + k : job.tiles() - 1 - (k - others)];
        const TileShape shape = tile_shape(job, index);
        const i32 ox = shape.owned_x(), oy = shape.owned_y();
        const T* const limits = limits_of<T>(job, index);
        const bool whole = k >= others;
        i32 tier;
        {
            const u64 limited = nearness_of(job, index).limited;
            const bool inside = lane < ox;
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
                RowReader<T> reader(job, positions, shape, limits, limited);
#pragma unroll 1
                for (i32 start = 0; start < oy; start += LORENZO_ROWS) {
                    LorenzoRows<T> rows;
                    reader.load(job, start, rows);
#pragma unroll
                    for (i32 i = 0; i < LORENZO_ROWS; i++) {
                        const T a = rows.a[i], b = rows.b[i];
                        const bool keeps_sign = is_lossless(control) && has_negative_zero(a, b);
                        const bool visible = inside && start + i < oy && !is_missing(a, b, job.fill) &&
                                             (keeps_sign || !(a == T(0) && b == T(0)));
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
        bool stored = false;
#pragma unroll 1
        while (lorenzo_rows<T>(job, control, lattices, positions, index, shape, whole, tier, stored, limits,
            info, exact, max_error))
            stored = true;
        if (lane == 0) TileView(job).headers()[index] = info;
        __syncwarp();
    }
    if ((u64)blockIdx.x * LORENZO_WARPS < count) report_tally<T>(control, exact, 0, max_error);
    end_beside();
}
