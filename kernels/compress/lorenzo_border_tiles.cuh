// Border tiles of the Lorenzo predictor, a warp per tile: with bounds, masks or both.
#pragma once
#include "compress/vertex_bounds.cuh"
#include "entropy/groups/lorenzo.cuh"
#include "entropy/payload.cuh"
#include "predict/lorenzo.cuh"
#include "tile/encode.cuh"

// Difference of a row of coarse codes: down from the row above, then from the left neighbour.
__device__ __forceinline__ i32 across_cell(u32 down) { return (i32)less_from_below(down); }

// Positions of the vertices with even coordinates, row by row.
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

// Values and bounds of these rows in the lane's column.
template <typename T>
struct LorenzoRows {
    T a[LORENZO_ROWS], b[LORENZO_ROWS], vertex_bound[LORENZO_ROWS];
};

// Reads the rows of a tile that may be cut by the border; beyond it the last row or first column repeats.
template <typename T>
class RowReader {
    const T *u, *v, *vertex_bounds;
    const EvenPositions& positions;
    i32 rows;
    u32 even, odd;  // bit k: row 2 k (2 k + 1) has its bounds stored

public:
    // Null: no bounds.
    __device__ __forceinline__ RowReader(const Job& job, const EvenPositions& positions,
        const TileShape& shape, const T* vertex_bounds, u64 bounded)
        : vertex_bounds(vertex_bounds), positions(positions), rows(shape.owned_y()) {
        const i32 lane = threadIdx.x & 31, x = lane < shape.owned_x() ? lane : 0;
        u = vertex_at<T>(job.u, job.u_layout, shape.x0 + x, shape.y0);
        v = vertex_at<T>(job.v, job.v_layout, shape.x0 + x, shape.y0);
        // Even columns of even rows and the first column are always stored.
        even = !vertex_bounds ? 0 : lane & 1 ? (u32)(bounded >> TILE / 2) : FULL;
        odd = !vertex_bounds ? 0 : lane ? (u32)(bounded >> TILE) : FULL;
    }
    // `start` is a multiple of LORENZO_ROWS.
    __device__ __forceinline__ void load(const Job& job, i32 start, LorenzoRows<T>& to) {
        const i32 lane = threadIdx.x & 31;
#pragma unroll
        for (i32 i = 0; i < LORENZO_ROWS; i++) {
            to.a[i] = *u;
            to.b[i] = *v;
            if (start + i + 1 < rows) u += job.u_layout.pitch, v += job.v_layout.pitch;
            to.vertex_bound[i] = no_bound<T>();
            const i32 k = (start + i) / 2, fine = TILE / 2 * k + lane / 2;
            if (i & 1) {
                if (odd >> k & 1) to.vertex_bound[i] = vertex_bounds[(lane & 1 ? 768 : 512) + fine];
            } else {
                if (even >> k & 1)
                    to.vertex_bound[i] =
                        vertex_bounds[lane & 1 ? 256 + fine : (i32)positions.at[k][lane / 2]];
            }
        }
    }
};

// Raw bits of a symbol followed by refinement bits.
template <typename T>
__device__ __forceinline__ typename Payload<T>::Type with_refinement_bits(
    const Symbol& s, u64 refinement_bits) {
    const u32 own = s.bits;
    return Payload<T>::make(
        own < 64 ? s.raw | refinement_bits << own : s.raw, own == 0   ? 0
                                                           : own < 64 ? refinement_bits >> (64 - own)
                                                                      : refinement_bits);
}

// Symbol and payload of a stored vertex; without a prediction if that is not finite. As a call, for rare
// cases.
template <typename T>
struct StoredPayload {
    u32 symbol;
    typename Payload<T>::Type payload;
};
template <typename T, typename P = typename Real<T>::Pair>
__device__ __noinline__ StoredPayload<T> stored_payload(P original, P prediction) {
    typedef Real<T> R;
    const u64 a = R::bits(original.x), b = R::bits(original.y);
    u32 symbol = STORED;
    u64 low = sizeof(T) == 4 ? a | b << 32 : a, high = sizeof(T) == 4 ? 0 : b;
    if (R::finite(prediction.x) && R::finite(prediction.y)) {
        const Differences<T> differences(
            original.x, original.y, head_of<T>(prediction.x), head_of<T>(prediction.y));
        symbol = differences.symbol();
        if (symbol != STORED) differences.raw(symbol, low, high);
    }
    return {symbol, Payload<T>::make(low, high)};
}

// Codes a tile by rows, a lane per column. True if a code has too many raw bits; then call again with
// `stored`, which stores every vertex. `interior`: no vertex is missing or masked.
template <typename T>
__device__ __forceinline__ bool lorenzo_rows(const Job& job, const Control& control,
    const Lattices<T>& lattices, const EvenPositions& positions, u64 index, const TileShape& shape,
    bool is_interior, i32 bound_shift, bool stored, const T* vertex_bounds, u32& info, u32& exact,
    T& max_error) {
    const LorenzoView<T> work(job);
    typedef Real<T> R;
    typedef typename Payload<T>::Type Q;
    const i32 lane = threadIdx.x & 31, ox = shape.owned_x(), oy = shape.owned_y();
    const bool inside = lane < ox;
    const T width = lattices.width[bound_shift][0], inverse = lattices.inverse[bound_shift][0],
            accept = (T)control.quantizer.accept;
    const bool lossless = is_lossless(control);
    u8* symbols = work.symbols() + index * TILE_VERTICES + lane;
    Q* const payload = work.payload(index);
    u32 cost = 0, active = 0;
    u32 before_u = 0, before_v = 0, my_zero = 0, my_fill = 0, stored_vertices = 0;
    T largest = 0;
    bool too_long = false;
    RowReader<T> reader(job, positions, shape, vertex_bounds, nearness_of(job, index).bounded);
    // Load the next rows ahead.
    LorenzoRows<T> rows, coming;
    reader.load(job, 0, coming);
#pragma unroll 1
    for (i32 y = 0; y < TILE; y++) {
        if (y % LORENZO_ROWS == 0) {
            rows = coming;
            if (y + LORENZO_ROWS < oy) reader.load(job, y + LORENZO_ROWS, coming);
        }
        const T a = rows.a[0], b = rows.b[0], vertex_bound = rows.vertex_bound[0];
#pragma unroll
        for (i32 i = 0; i + 1 < LORENZO_ROWS; i++)
            rows.a[i] = rows.a[i + 1], rows.b[i] = rows.b[i + 1],
            rows.vertex_bound[i] = rows.vertex_bound[i + 1];
        u32 symbol = SYMBOL_ZERO;
        if (y < oy) {
            bool visible = inside;
            // A vertex that keeps its sign is stored.
            const bool keeps_sign = lossless && has_negative_zero(a, b),
                       missing = !is_interior && is_missing(a, b, job.fill);
            if (!is_interior) visible &= !missing && (keeps_sign || !(a == T(0) && b == T(0)));
            const bool constrained = is_constrained(vertex_bound);
            const typename R::Pair original = R::pair(a, b);
            const Quantized<T> q = quantize_on<T>(original, inverse, width);
            const T error = distance<T>(q.value, original);
            bool coded = visible && !stored && !keeps_sign && q.fits &&
                         (error == T(0) || (error <= accept && (!constrained || error < vertex_bound)));
            i32 refinement = 0, coarse_u = coded ? (i32)q.code.x : 0, coarse_v = coded ? (i32)q.code.y : 0;
            u32 refinement_bits = 0, n = (u32)ox, hidden = 0;
            if (coded) largest = R::high(largest, error);
            u32 down_u = (u32)coarse_u - before_u, down_v = (u32)coarse_v - before_v;
            bool has_symbol = inside;
            // Lanes outside do not influence lanes inside.
            if (!__all_sync(FULL, coded || !inside)) {
                const bool zero = inside && !missing && !keeps_sign && a == T(0) && b == T(0);
                const bool fill = inside && missing && has_fill(control, a, b);
                has_symbol = inside && !zero && !fill;
                const u32 zeros = __ballot_sync(FULL, zero), fills = __ballot_sync(FULL, fill);
                hidden = zeros | fills;
                n = (u32)ox - __popc(hidden);
                if (lane == y) my_zero = zeros, my_fill = fills;
                if (visible && !stored && !keeps_sign && q.fits && !coded) {
                    const LorenzoCode<T> code =
                        lorenzo_code<T>(original, lattices, bound_shift, accept, constrained, vertex_bound);
                    coded = code.coded;
                    refinement = code.refinement;
                    if (coded) {
                        u32 refinement_bits_u, refinement_bits_v;
                        split_code(code.qu, refinement, coarse_u, refinement_bits_u);
                        split_code(code.qv, refinement, coarse_v, refinement_bits_v);
                        refinement_bits = refinement_bits_u | refinement_bits_v << (2 * refinement);
                        largest = R::high(largest, code.error);
                        down_u = (u32)coarse_u - before_u, down_v = (u32)coarse_v - before_v;
                    }
                }
                stored_vertices += visible && !coded;
                // A vertex without a code takes the difference of the last coded one to its left.
                const u32 left = __ballot_sync(FULL, coded) & ((2u << lane) - 1);
                const i32 from = left ? 31 - __clz(left) : 0;
                const u32 near_u = __shfl_sync(FULL, down_u, from), near_v = __shfl_sync(FULL, down_v, from);
                down_u = left ? near_u : 0;
                down_v = left ? near_v : 0;
            }
            before_u += down_u;
            before_v += down_v;
            const i32 qu = across_cell(down_u), qv = across_cell(down_v);
            Q& to = payload[payload_place((u32)__popc(~hidden & ((1u << lane) - 1)), (u32)y)];
            u32 own = 0;
            if (coded) {
                if (refinement == 0 && max((u32)qu + SMALL, (u32)qv + SMALL) <= 2 * SMALL) {
                    symbol = small_symbol(qu, qv);
                } else {
                    const Symbol s = large_symbol({refinement, qu, qv});
                    symbol = s.symbol;
                    own = s.bits + 4 * (u32)refinement;
                    to = with_refinement_bits<T>(s, refinement_bits);
                }
            } else if (has_symbol) {
                // A prediction that is not finite is none.
                const bool predicted = visible && !stored && !keeps_sign;
                const T scale = predicted ? width : R::infinity();
                const StoredPayload<T> coded_exactly =
                    stored_payload<T>(original, R::pair((T)(i32)before_u * scale, (T)(i32)before_v * scale));
                symbol = coded_exactly.symbol;
                to = coded_exactly.payload;
                own = raw_bits(symbol, 0, sizeof(T));
            }
            too_long |= sizeof(T) == 4 && own > 64;
            if (symbol != SYMBOL_ZERO) cost += 3 + own;
            active += n;
        }
        *symbols = (u8)symbol;
        symbols += TILE;
    }
    if (__any_sync(FULL, too_long)) return true;
    const u32 owned = (u32)(ox * oy), zeros = warp_sum(__popc(my_zero)), fills = warp_sum(__popc(my_fill));
    const u32 states = 3 * mask_state_of(zeros, owned) + mask_state_of(fills, owned);
    info = states | (u32)bound_shift << 5 | (states == 0 && owned == TILE_VERTICES ? ALL_CODED : 0);
    if (has_codes(states)) info |= tile_activity_of(warp_sum(cost), active) << 8;
    if (states != 0) {
        work.masks()[index * 64 + lane] = my_zero;
        work.masks()[index * 64 + TILE + lane] = my_fill;
    }
    exact += stored_vertices;
    max_error = R::high(max_error, largest);
    return false;
}

// A rare case: the lattice has no code for a vertex without a bound, or a code has too many raw bits.
template <typename T>
__device__ __noinline__ void lorenzo_by_vertex(const Job& job, const Lattices<T>& lattices,
    const EvenPositions& positions, u64 index, i32 bound_shift, bool has_bounds) {
    Control& control = control_of(job);
    const TileShape shape = tile_shape(job, index);
    const T* const vertex_bounds = has_bounds ? vertex_bounds_of<T>(job, index) : nullptr;
    u32 info = 0, exact = 0;
    T max_error = 0;
    bool stored = false;
#pragma unroll 1
    while (lorenzo_rows<T>(job, control, lattices, positions, index, shape, true, bound_shift, stored,
        vertex_bounds, info, exact, max_error))
        stored = true;
    if ((threadIdx.x & 31) == 0) TileView(job).headers()[index] = info;
    report_stats<T>(control, exact, 0, max_error);
}

// The bound shift of the smallest estimated size; the smallest of several.
__device__ __forceinline__ i32 best_bound_shift(const u32* halvings, u32 vertices) {
    __syncwarp();
    const i32 lane = threadIdx.x & 31;
    const u32 needing = halvings[lane];
    u32 best = ~0u;
    i32 bound_shift = 0;
#pragma unroll
    for (i32 t = 0; t < BOUND_SHIFTS; t++) {
        const u32 size =
            (u32)t * BOUND_SHIFT_RATE * vertices +
            warp_sum(lane > t ? needing * 8 * (REFINED_BITS + 4 * (u32)((lane - t + 1) / 2)) : 0);
        if (size < best) best = size, bound_shift = t;
    }
    return bound_shift;
}

// From this many constrained tiles on, four per warp keep a device busy; fewer go one per warp. (Small for
// the emulator, so that tests take both ways.)
#ifdef FACTZ_EMULATED
constexpr u64 MANY_CONSTRAINED_TILES = 2;
#else
constexpr u64 MANY_CONSTRAINED_TILES = 8192;
#endif

// Grid: any. Block: 32 * LORENZO_WARPS threads, a warp per tile, tiles with most work first. Static shared:
// lattices. Border tiles, and constrained ones if there are few. Reads: the field, lists, vertex bounds.
// Writes: symbols, payload, masks, info. Overlaps the previous kernel, and waits for it at its end.
template <typename T>
__device__ __forceinline__ void lorenzo_border(const Job& job) {
    typedef Real<T> R;
    __shared__ Lattices<T> lattices;
    __shared__ EvenPositions positions;
    __shared__ u32 halvings_[LORENZO_BORDER_WARPS][TILE];
    u32* const halvings = halvings_[threadIdx.x >> 5];
    static_assert(HALVINGS <= TILE, "a lane for each");
    Control& control = control_of(job);
    const i32 lane = threadIdx.x & 31;
    const u64 others = control.border_tiles, constrained_tiles = control.constrained_tiles,
              warps = (u64)gridDim.x * LORENZO_BORDER_WARPS;
    const u64 count = others + (constrained_tiles < MANY_CONSTRAINED_TILES ? constrained_tiles : 0);
    if ((u64)blockIdx.x * LORENZO_BORDER_WARPS < count)
        lattices.fill(control.half_bin_width), positions.fill();
    u32 exact = 0;
    T max_error = 0;
    // Blocks without a tile leave early, so that other kernels get their place.
    for (u64 k = (u64)blockIdx.x * LORENZO_BORDER_WARPS + (threadIdx.x >> 5); k < count; k += warps) {
        const u64 index =
            ListsView(job)
                .tile_lists()[k < others ? control.unconstrained_tiles + k : job.tiles() - 1 - (k - others)];
        const TileShape shape = tile_shape(job, index);
        const i32 ox = shape.owned_x(), oy = shape.owned_y();
        const T* const vertex_bounds = vertex_bounds_of<T>(job, index);
        const bool is_interior = k >= others;
        i32 bound_shift;
        {
            const u64 bounded = nearness_of(job, index).bounded;
            const bool inside = lane < ox;
            u32 vertices = 0;
            __syncwarp();
            halvings[lane] = 0;
            __syncwarp();
            if (is_interior) {
                // Only the bounds matter here, in any order.
                vertices = TILE;
                constexpr i32 AHEAD = 8;
#pragma unroll 1
                for (i32 start = 0; start < TILE_VERTICES; start += 32 * AHEAD) {
                    T some[AHEAD];
                    // The first column is always stored; at the finest level it is one vertex of each chunk.
                    const u64 here = start == 512 && lane % BOUND_CHUNK == 0 ? ~0ull : bounded;
#pragma unroll
                    for (i32 i = 0; i < AHEAD; i++)
                        some[i] = vertex_bound_of(vertex_bounds, here, start + 32 * i + lane);
#pragma unroll
                    for (i32 i = 0; i < AHEAD; i++) {
                        const i32 needed = is_constrained(some[i]) ? lattices.halvings(some[i]) : 0;
                        if (needed) atomicAdd(&halvings[needed], 1);
                    }
                }
            } else {
                RowReader<T> reader(job, positions, shape, vertex_bounds, bounded);
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
                        if (visible && is_constrained(rows.vertex_bound[i])) {
                            const i32 needed = lattices.halvings(rows.vertex_bound[i]);
                            if (needed) atomicAdd(&halvings[needed], 1);
                        }
                    }
                }
            }
            bound_shift = best_bound_shift(halvings, warp_sum(vertices));
        }
        u32 info = 0;
        bool stored = false;
#pragma unroll 1
        while (lorenzo_rows<T>(job, control, lattices, positions, index, shape, is_interior, bound_shift,
            stored, vertex_bounds, info, exact, max_error))
            stored = true;
        if (lane == 0) TileView(job).headers()[index] = info;
        __syncwarp();
    }
    if ((u64)blockIdx.x * LORENZO_BORDER_WARPS < count) report_stats<T>(control, exact, 0, max_error);
    end_overlap();
}
