// Codes of the anchors, and their symbols.
#pragma once
#include "compress/bounds/vertex_bounds.cuh"
#include "compress/tiles/settle.cuh"
#include "entropy/quantized_tile.cuh"
#include "grid/field.cuh"
#include "grid/missing.cuh"
#include "grid/tiles.cuh"
#include "predict/anchors.cuh"

// The vertices around an anchor, with zeros for missing ones; (i, j) is the anchor's place among them.
constexpr i32 ANCHOR_SIDE = 3, AROUND_ANCHOR = ANCHOR_SIDE * ANCHOR_SIDE;
template <typename T>
__device__ __forceinline__ TileWindow<T> load_anchor_window(
    const Job& job, const TileShape& shape, typename Real<T>::Pair* values, u32* missing, i32& i, i32& j) {
    const u64 x0 = shape.x0 ? shape.x0 - 1 : 0, y0 = shape.is_first_row() ? shape.y0 : shape.y0 - 1,
              end = shape.plane + job.ny;
    i = (i32)(shape.x0 - x0), j = (i32)(shape.y0 - y0);
    const TileWindow<T> window = {values, ANCHOR_SIDE,
        (i32)((job.nx < shape.x0 + 2 ? job.nx : shape.x0 + 2) - x0),
        (i32)((end < shape.y0 + 2 ? end : shape.y0 + 2) - y0), missing, 1};
    for (i32 y = 0; y < window.height; y++) {
        u32 row = 0;
        for (i32 x = 0; x < window.width; x++) {
            typename Real<T>::Pair value = load_vertex<T>(job, x0 + x, y0 + y);
            if (is_missing(value.x, value.y, job.fill)) {
                row |= 1u << x;
                value = Real<T>::pair(T(0), T(0));
            }
            values[ANCHOR_SIDE * y + x] = value;
        }
        if (missing) missing[y] = row;
    }
    return window;
}

// Code of an anchor, unless it waits for settle(), which compares signatures. `exact` counts stored values.
template <typename T, typename P = typename Real<T>::Pair>
__device__ __forceinline__ Candidate<T> code_anchor(const Job& job, const Control& control,
    const Steps<T>& steps, P original, P prediction, T vertex_bound, u32& exact, bool& waits) {
    if (is_missing(original.x, original.y, job.fill)) {
        const i32 refinement = has_fill(control, original.x, original.y) ? MASKED : EXACT;
        return {prediction, T(0), {refinement, 0, 0}};
    }
    if (steps.lossless && has_negative_zero(original.x, original.y)) {
        exact++;
        return stored<T>(original);
    }
    waits = !is_zero<T>(original) && is_constrained(vertex_bound) && job.mode == SPECULATIVE &&
            job.preserve != PRESERVE_NONE;
    if (waits || is_zero<T>(original)) return {original, T(0), {MASKED, 0, 0}};
    const Candidate<T> coded =
        code_vertex<T>(original, prediction, ANCHOR_LEVEL, control.quantizer, vertex_bound);
    exact += coded.code.refinement == EXACT;
    return coded;
}

// Grid: tiles / 128. Block: 128 threads, a thread per anchor. Static shared: windows, Steps. Codes the
// anchors. Reads: the field, vertex bounds. Writes: values and codes of the anchors.
// Waits for the previous kernel only before it reads the bounds.
template <typename T>
__device__ __forceinline__ void anchors(const Job& job) {
    typedef typename Real<T>::Pair P;
    constexpr i32 THREADS = 128;
    __shared__ P values[THREADS * AROUND_ANCHOR];
    __shared__ u32 missing[THREADS * ANCHOR_SIDE];
    __shared__ Steps<T> steps;
    const AnchorsView<T> work(job);
    Control& control = control_of(job);
    const u64 tile = (u64)blockIdx.x * THREADS + threadIdx.x;
    const bool exists = tile < job.tiles();
    const TileShape shape = tile_shape(job, exists ? tile : 0);
    const bool has_bound = exists && !is_all_coded(work.headers()[tile]);
    P original = Real<T>::pair(T(0), T(0));
    if (exists) original = load_vertex<T>(job, shape.x0, shape.y0);
    steps.read(job, control);
    // The previous kernel writes nothing else that is read here.
    after_previous();
    T vertex_bound = no_bound<T>();
    if (has_bound && constraints_of<T>(job, control).speculative)
        vertex_bound = speculative_bound<T>(
            job, control, BoundsView<T>(job).constrained_rows(tile)[0] & 1, tile, shape.x0, shape.y0);
    else if (has_bound)
        vertex_bound = vertex_bounds_of<T>(job, tile)[0];

    const P prediction = Real<T>::pair(T(0), T(0));
    u32 exact = 0;
    bool waits = false;
    Candidate<T> coded =
        code_anchor<T>(job, control, steps, original, prediction, vertex_bound, exact, waits);
    if (waits) {
        i32 i, j;
        const TileWindow<T> window = load_anchor_window<T>(job, shape, values + threadIdx.x * AROUND_ANCHOR,
            has_missing(control) ? missing + threadIdx.x * ANCHOR_SIDE : nullptr, i, j);
        coded = settle<T, false>(
            rule_of(job), InShared<Steps<T>>(&steps), window, i, j, prediction, vertex_bound, ANCHOR_LEVEL);
        exact += coded.code.refinement == EXACT;
    }
    if (exists) {
        work.anchors()[tile] = coded.value;
        work.anchor_codes()[tile] = make_int4(coded.code.qu, coded.code.qv, coded.code.refinement, 0);
    }
    report_stats<T>(control, exact, 0, coded.error);
}

// Symbol of a tile's anchor: its coarse code minus that of the anchor that it follows. `code`, `before`:
// codes of both.
static __device__ __noinline__ Symbol anchor_symbol(const Job& job, u64 index, int4 code, int4 before) {
    if (code.z >= EXACT) return {code.z > EXACT ? SYMBOL_ZERO : STORED, 0, 0};
    i32 before_u = 0, before_v = 0;
    u32 refinement_bits_u, refinement_bits_v;
    if (index > 0 && before.z < EXACT) {
        split_code(before.x, before.z, before_u, refinement_bits_u);
        split_code(before.y, before.z, before_v, refinement_bits_v);
    }
    i32 coarse_u, coarse_v;
    split_code(code.x, code.z, coarse_u, refinement_bits_u);
    split_code(code.y, code.z, coarse_v, refinement_bits_v);
    AnchorCodesView(job).codes()[index].w = (i32)(refinement_bits_u | refinement_bits_v << (2 * code.z));
    return symbol_of({code.z, coarse_u - before_u, coarse_v - before_v});
}

__device__ __forceinline__ u32 anchor_symbol(const Job& job, u64 index, u64& raw) {
    const int4* codes = AnchorCodesView(job).codes();
    const Symbol s =
        anchor_symbol(job, index, codes[index], codes[followed_tile((u32)index, (u32)job.tiles_x)]);
    if (s.symbol >= FIRST_WITH_RAW_BITS) raw = s.raw;
    return s.symbol;
}
