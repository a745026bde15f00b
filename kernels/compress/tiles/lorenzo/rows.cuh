// Codes tiles of the Lorenzo predictor by rows, a warp per tile: with bounds, masks or both. Twin of
// src/tile/lorenzo_encode.rs.
#pragma once
#include "compress/tiles/lorenzo/row_reader.cuh"
#include "entropy/groups/lorenzo.cuh"
#include "entropy/payload.cuh"
#include "grid/missing.cuh"
#include "predict/lorenzo.cuh"
#include "tile/encode.cuh"

// Difference of a row of coarse codes: down from the row above, then from the left neighbour.
__device__ __forceinline__ i32 across_cell(u32 down) { return (i32)less_from_below(down); }

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

// A code on a finer lattice, apart from its coarse code.
struct FinerCode {
    u32 refinement_bits;
    i32 refinement;
};
__device__ __forceinline__ FinerCode split_finer_code(const Code& code, i32& coarse_u, i32& coarse_v) {
    u32 refinement_bits_u, refinement_bits_v;
    split_code(code.qu, code.refinement, coarse_u, refinement_bits_u);
    split_code(code.qv, code.refinement, coarse_v, refinement_bits_v);
    return {refinement_bits_u | refinement_bits_v << (2 * code.refinement), code.refinement};
}

// Codes a vertex on a finer lattice, after the lattice of its tile has failed.
template <typename T>
__device__ __noinline__ Candidate<T> code_on_finer_lattice(typename Real<T>::Pair original,
    const Lattices<T>& lattices, i32 bound_shift, Acceptance<T> accept, T vertex_bound) {
    const i32 first =
        refinement_after_first<T>(vertex_bound, [&](i32 k) { return lattices.width[bound_shift][k]; });
    Attempt<T> found;
    const i32 refinement = first_allowed<T>(first, first + 1, accept.limit(vertex_bound), found,
        [&](i32 k) { return attempt_unpredicted<T>(original, lattices.step(bound_shift, k)); });
    return refinement == EXACT ? stored<T>(original) : candidate(found, refinement);
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

// Codes a tile by rows, a lane per column.
template <typename T>
struct LorenzoRowCoder {
    typedef Real<T> R;
    typedef typename R::Pair P;
    typedef typename Payload<T>::Type Q;
    const Job& job;
    const Control& control;
    const Lattices<T>& lattices;
    const i32 lane, ox;      // ox: columns of the tile
    const bool is_inside;    // the lane has a column
    const bool is_interior;  // no vertex is missing or masked
    const i32 bound_shift;
    const bool stored;  // stores every vertex
    const P step;       // bin width of the tile's lattice and its reciprocal
    const Acceptance<T> accept;
    const bool lossless;
    Q* const payload;
    // Of all rows so far: costs, vertices in no mask, stored vertices, the largest error, and whether a code
    // has too many raw bits.
    u32 cost, active, stored_vertices;
    T largest;
    bool too_long;
    u32 before_u, before_v;  // coarse code of the vertex above
    u32 my_zero, my_fill;    // masks of row `lane`

    // A vertex of a row. A code has a coarse code and, if there is a refinement, refinement bits.
    struct Vertex {
        P original;
        bool visible, keeps_sign, missing;
        bool coded, has_symbol;
        i32 refinement;
        u32 refinement_bits;
        u32 down_u, down_v;  // difference from the vertex above
    };

    // Codes a vertex on a finer lattice, if there is such a code.
    __device__ __forceinline__ void refine(Vertex& vertex, T vertex_bound) {
        const Candidate<T> coded =
            code_on_finer_lattice<T>(vertex.original, lattices, bound_shift, accept, vertex_bound);
        vertex.coded = coded.code.refinement != EXACT;
        if (!vertex.coded) return;
        vertex.refinement = coded.code.refinement;
        i32 coarse_u, coarse_v;
        vertex.refinement_bits = split_finer_code(coded.code, coarse_u, coarse_v).refinement_bits;
        largest = R::high(largest, coded.error);
        vertex.down_u = (u32)coarse_u - before_u, vertex.down_v = (u32)coarse_v - before_v;
    }
    // Masks of row y, in which some vertices have no code yet. Returns the vertices in a mask.
    __device__ __forceinline__ u32 mask_row(i32 y, Vertex& vertex) {
        const T a = vertex.original.x, b = vertex.original.y;
        const bool inside = is_inside;
        const bool zero = inside && !vertex.missing && !vertex.keeps_sign && a == T(0) && b == T(0);
        const bool fill = inside && vertex.missing && has_fill(control, a, b);
        vertex.has_symbol = inside && !zero && !fill;
        const u32 zeros = __ballot_sync(FULL, zero), fills = __ballot_sync(FULL, fill);
        if (lane == y) my_zero = zeros, my_fill = fills;
        return zeros | fills;
    }
    // A vertex without a code takes the difference of the last coded one to its left.
    __device__ __forceinline__ void take_from_left(Vertex& vertex) {
        const u32 left = __ballot_sync(FULL, vertex.coded) & ((2u << lane) - 1);
        const i32 from = left ? 31 - __clz(left) : 0;
        const u32 near_u = __shfl_sync(FULL, vertex.down_u, from),
                  near_v = __shfl_sync(FULL, vertex.down_v, from);
        vertex.down_u = left ? near_u : 0;
        vertex.down_v = left ? near_v : 0;
    }
    // Symbol and payload of a vertex.
    __device__ __forceinline__ u32 write(const Vertex& vertex, Q& to) {
        const i32 qu = across_cell(vertex.down_u), qv = across_cell(vertex.down_v);
        u32 symbol = SYMBOL_ZERO, own = 0;
        if (vertex.coded) {
            if (vertex.refinement == 0 && max((u32)qu + SMALL, (u32)qv + SMALL) <= 2 * SMALL) {
                symbol = small_symbol(qu, qv);
            } else {
                const Symbol s = large_symbol({vertex.refinement, qu, qv});
                symbol = s.symbol;
                own = s.bits + 4 * (u32)vertex.refinement;
                to = with_refinement_bits<T>(s, vertex.refinement_bits);
            }
        } else if (vertex.has_symbol) {
            // A prediction that is not finite is none.
            const bool predicted = vertex.visible && !stored && !vertex.keeps_sign;
            const T scale = predicted ? step.x : R::infinity();
            const StoredPayload<T> coded_exactly = stored_payload<T>(
                vertex.original, R::pair((T)(i32)before_u * scale, (T)(i32)before_v * scale));
            symbol = coded_exactly.symbol;
            to = coded_exactly.payload;
            own = raw_bits(symbol, 0, sizeof(T));
        }
        too_long |= sizeof(T) == 4 && own > 64;
        if (symbol != SYMBOL_ZERO) cost += 3 + own;
        return symbol;
    }

    // Codes row y of the tile, of which the lane has vertex (a, b). Returns its symbol.
    __device__ __forceinline__ u32 code_row(i32 y, T a, T b, T vertex_bound) {
        const bool inside = is_inside;
        Vertex vertex;
        vertex.original = R::pair(a, b);
        vertex.visible = inside;
        // A vertex that keeps its sign is stored.
        vertex.keeps_sign = lossless && has_negative_zero(a, b);
        vertex.missing = !is_interior && is_missing(a, b, job.fill);
        if (!is_interior)
            vertex.visible &= !vertex.missing && (vertex.keeps_sign || !(a == T(0) && b == T(0)));
        const Attempt<T> found = attempt_unpredicted<T>(vertex.original, step);
        const bool fits = vertex.visible && !stored && !vertex.keeps_sign && found.fits;
        vertex.coded = fits && accept.allows(found.error, vertex_bound);
        vertex.has_symbol = inside;
        vertex.refinement = 0;
        vertex.refinement_bits = 0;
        vertex.down_u = (u32)(vertex.coded ? found.code_u() : 0) - before_u;
        vertex.down_v = (u32)(vertex.coded ? found.code_v() : 0) - before_v;
        u32 hidden = 0;
        if (vertex.coded) largest = R::high(largest, found.error);
        // Lanes outside do not influence lanes inside.
        if (!__all_sync(FULL, vertex.coded || !inside)) {
            hidden = mask_row(y, vertex);
            if (fits && !vertex.coded) refine(vertex, vertex_bound);
            stored_vertices += vertex.visible && !vertex.coded;
            take_from_left(vertex);
        }
        before_u += vertex.down_u;
        before_v += vertex.down_v;
        const u32 below = (1u << lane) - 1;
        const u32 symbol = write(vertex, payload[payload_place((u32)__popc(~hidden & below), (u32)y)]);
        active += (u32)ox - __popc(hidden);
        return symbol;
    }

    // Writes the masks. Returns the info word.
    __device__ __forceinline__ u32 finish(u64 index, u32 owned) {
        const LorenzoView<T> work(job);
        const u32 zeros = warp_sum(__popc(my_zero)), fills = warp_sum(__popc(my_fill));
        const u32 states = mask_states_of(zeros, fills, owned);
        u32 info = info_of(states, (u32)bound_shift, states == 0 && owned == TILE_VERTICES);
        if (has_codes(states)) info = with_activity(info, tile_activity_of(warp_sum(cost), active), 0);
        if (states != 0) {
            work.mask_row(index, 0, lane) = my_zero;
            work.mask_row(index, 1, lane) = my_fill;
        }
        return info;
    }
};

// Codes a tile by rows. True if a code has too many raw bits; then call again with `stored`, which stores
// every vertex. `interior`: no vertex is missing or masked.
template <typename T>
__device__ __forceinline__ bool lorenzo_rows(const Job& job, const Control& control,
    const Lattices<T>& lattices, const EvenPositions& positions, u64 index, const TileShape& shape,
    bool is_interior, i32 bound_shift, bool stored, const T* vertex_bounds, u32& info, u32& exact,
    T& max_error) {
    const LorenzoView<T> work(job);
    const i32 lane = threadIdx.x & 31, ox = shape.owned_x(), oy = shape.owned_y();
    LorenzoRowCoder<T> coder = {job, control, lattices, lane, ox, lane < ox, is_interior, bound_shift, stored,
        lattices.step(bound_shift, 0), acceptance_of<T>(control.quantizer), is_lossless(control),
        work.payload(index)};
    u8* symbols = work.symbols() + index * TILE_VERTICES + lane;
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
        if (y < oy) symbol = coder.code_row(y, a, b, vertex_bound);
        *symbols = (u8)symbol;
        symbols += TILE;
    }
    if (__any_sync(FULL, coder.too_long)) return true;
    info = coder.finish(index, (u32)(ox * oy));
    exact += coder.stored_vertices;
    max_error = Real<T>::high(max_error, coder.largest);
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
