// Codes of the anchors, and their symbols.
#pragma once
#include "compress/vertex_bounds.cuh"
#include "predict/anchor_tree.cuh"
#include "predict/anchors.cuh"
#include "tile/encode.cuh"

// Grid: tiles / 128. Block: 128 threads, a thread per anchor. Codes the anchors. Reads: the field, vertex
// bounds. Writes: values and codes of the anchors, set of coded anchors. Waits for the previous kernel only
// before it reads the bounds.
template <typename T>
__device__ __forceinline__ void anchors(const Job& job) {
    const AnchorsView<T> work(job);
    typedef typename Real<T>::Pair P;
    Control& control = control_of(job);
    const u64 tile = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    u32 exact = 0;
    T max_error = 0;
    bool coded = false;
    if (tile < job.tiles()) {
        const Constraints<T> c = constraints_of<T>(job, control);
        const TileShape shape = tile_shape(job, tile);
        const bool has_bound = !(work.headers()[tile] & ALL_CODED);
        P values[9];
        values[0] = load_vertex<T>(job, shape.x0, shape.y0);
        // The previous kernel writes nothing else that is read here.
        after_previous();
        const T vertex_bound = has_bound ? vertex_bounds_of<T>(job, tile)[0] : no_bound<T>();
        const bool looks_around = is_constrained(vertex_bound) && c.speculative;
        u32 missing[3] = {0, 0, 0};
        TileWindow<T> window = {values, 3, 1, 1, has_missing(control) ? missing : nullptr, 1};
        i32 i = 0, j = 0;
        if (looks_around) {
            const u64 x0 = shape.x0 ? shape.x0 - 1 : 0, y0 = shape.y0 ? shape.y0 - 1 : 0;
            i = (i32)(shape.x0 - x0), j = (i32)(shape.y0 - y0);
            window.width = (i32)((job.nx < shape.x0 + 2 ? job.nx : shape.x0 + 2) - x0);
            window.height = (i32)((job.ny < shape.y0 + 2 ? job.ny : shape.y0 + 2) - y0);
            for (i32 y = 0; y < window.height; y++)
                for (i32 x = 0; x < window.width; x++)
                    values[3 * y + x] = load_vertex<T>(job, x0 + x, y0 + y);
        }
        const P original = values[3 * j + i];
        for (i32 y = 0; y < window.height; y++)
            for (i32 x = 0; x < window.width; x++) {
                P& value = values[3 * y + x];
                if (!is_missing(value.x, value.y, job.fill)) continue;
                missing[y] |= 1u << x;
                value = Real<T>::pair(T(0), T(0));
            }
        Code code = {MASKED, 0, 0};
        if (missing[j] >> i & 1) {
            const bool filled = has_fill(control, original.x, original.y);
            code.refinement = filled ? MASKED : EXACT;
        } else if (is_lossless(control) && has_negative_zero(original.x, original.y)) {
            code.refinement = EXACT;
            exact++;
        } else if (!is_zero<T>(original)) {
            code = code_vertex<T>(
                window, i, j, Real<T>::pair(T(0), T(0)), ANCHOR_LEVEL, c, vertex_bound, max_error, exact);
        }
        work.anchors()[tile] = values[3 * j + i];
        work.anchor_codes()[tile] = make_int4(code.qu, code.qv, code.refinement, 0);
        coded = code.refinement < EXACT;
    } else {
        after_previous();
    }
    note_coded_anchors(job, tile, coded);
    report_stats<T>(control, exact, 0, max_error);
}

// The tile whose anchor predicts the anchor of this one: to the left, in the first column above.
__device__ __forceinline__ u64 tile_before(const Job& job, const TileShape& shape, u64 index) {
    return shape.tx > 0 ? index - 1 : shape.ty > 0 ? index - job.tiles_x : index;
}

// Symbol of a tile's anchor: its coarse code minus that of the last coded anchor. `code`, `before`: codes of
// this anchor and of the previous tile's.
static __device__ __noinline__ u32 anchor_symbol(
    const Job& job, const TileShape& shape, u64 index, int4 code, int4 before, u64& raw) {
    int4* codes = AnchorCodesView(job).codes();
    if (code.z > EXACT) return SYMBOL_ZERO;
    if (code.z == EXACT) return STORED;
    i32 before_u = 0, before_v = 0;
    u32 refinement_bits_u, refinement_bits_v;
    if (index > 0) {
        int4 other = before;
        if (other.z >= EXACT) {
            // Find the last anchor that has a code.
            const u32 last = last_coded_anchor(job, shape, index);
            if (last != NO_TILE) other = codes[last];
        }
        if (other.z < EXACT) {
            split_code(other.x, other.z, before_u, refinement_bits_u);
            split_code(other.y, other.z, before_v, refinement_bits_v);
        }
    }
    i32 coarse_u, coarse_v;
    split_code(code.x, code.z, coarse_u, refinement_bits_u);
    split_code(code.y, code.z, coarse_v, refinement_bits_v);
    codes[index].w = (i32)(refinement_bits_u | refinement_bits_v << (2 * code.z));
    const Symbol s = symbol_of({code.z, coarse_u - before_u, coarse_v - before_v});
    raw = s.raw;
    return s.symbol;
}

__device__ __forceinline__ u32 anchor_symbol(const Job& job, const TileShape& shape, u64 index, u64& raw) {
    const int4* codes = AnchorCodesView(job).codes();
    return anchor_symbol(job, shape, index, codes[index], codes[tile_before(job, shape, index)], raw);
}
