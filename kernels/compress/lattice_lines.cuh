// Lattice lines that depend on tiles around them: in the speculative mode those of all but unconstrained
// tiles, which code their own.
#pragma once
#include "compress/settle.cuh"
#include "compress/vertex_bounds.cuh"
#include "tile/lattice.cuh"

template <typename T>
struct LineShared {
    typename Real<T>::Pair values[3 * CLOSED];
    T vertex_bound[CLOSED];
    u8 special[CLOSED];
    u32 missing[CLOSED];
};
// IS_STORED: missing but not filled, not counted as exact. KEEPS_SIGN: -0 under a bound of 0, counted.
enum : u8 { HAS_CODE, HAS_NO_CODE, IS_STORED, KEEPS_SIGN };

// Grid: any. Block: 128 threads; half a warp takes a segment of 33 vertices: first the near ones of the
// listed tiles, then the far ones. Static shared: values around the segment, Steps. Rows see original values
// around them, columns the final rows. Reads: the field, anchors, vertex bounds, for columns the rows.
// Writes: values of the lines, symbols, payload. Waits for: the previous kernel.
template <typename T, bool ROWS>
__device__ __forceinline__ void lattice_lines(const Job& job) {
    const QuantizeView<T> work(job);
    typedef typename Real<T>::Pair P;
    __shared__ LineShared<T> shared_[8];
    __shared__ Steps<T> steps;
    LineShared<T>& shared = shared_[threadIdx.x >> 4];
    Control& control = control_of(job);
    const i32 lane = threadIdx.x & (HALF - 1);
    steps.read(job, control);
    const Rule rule = rule_of(job);
    const u64 n_along = ROWS ? job.nx : job.ny, n_across = ROWS ? job.ny : job.nx;
    u32 exact = 0;
    T max_error = 0;
    const u64* const list = work.bounded();
    const u64 count = control.bounded_tiles, half_warps = (u64)gridDim.x * (blockDim.x >> 4),
              first = (u64)blockIdx.x * (blockDim.x >> 4) + (threadIdx.x >> 5 << 1),
              half = threadIdx.x >> 4 & 1;
    auto listed_at = [&](u64 k) { return k < count ? list[k] : 0; };
    // The far segment belongs to the next tile, which codes it unless it is unconstrained.
    const u64 behind = ROWS ? job.tiles_x : 1;
    auto has_far = [&](u64 tile, const TileShape& shape) {
        return (ROWS ? shape.last_y : shape.last_x) == TILE &&
               nearness_of(job, tile + behind).kind == UNCONSTRAINED_TILE;
    };
#pragma unroll 1
    for (u32 pass = 0; pass < 2; pass++) {
        const bool far = pass == 1;
        u64 next = listed_at(first + half);
#pragma unroll 1
        for (u64 k = first; k < count; k += half_warps) {
            const u64 listed = next;
            next = listed_at(k + half + half_warps);
            const TileShape shape = tile_shape(job, listed);
            const bool mine = k + half < count && (!far || has_far(listed, shape));
            if (!__any_sync(FULL, mine)) continue;
            const u64 tile = far ? listed + behind : listed;
            const u64 a0 = ROWS ? shape.x0 : shape.y0;  // along the line
            const u64 line = (ROWS ? shape.ty : shape.tx) + (mine && far ? 1 : 0), at = line * TILE;
            const u64 b0 = at ? at - 1 : 0;
            const i32 m = (i32)(at - b0);  // row or column of the line in the window
            const i32 thick = (i32)((n_across < at + 2 ? n_across : at + 2) - b0);
            const i32 last = ROWS ? shape.last_x : shape.last_y, length = mine ? last + 1 : 0;
            TileWindow<T> window;
            window.values = shared.values;
            window.pitch = ROWS ? CLOSED : 3;
            window.width = ROWS ? length : thick;
            window.height = ROWS ? thick : length;
            window.words = ROWS ? 2 : 1;
            window.missing = has_missing(control) ? shared.missing : nullptr;
            const i32 distance = ROWS ? 1 : 3;  // step along the line in the window
            const i32 base = ROWS ? m * CLOSED : m;
            auto in_window = [&](i32 i, i32 t) { return ROWS ? t * CLOSED + i : i * 3 + t; };

            // Start all loads at once: values on the line, and around it if signatures may be compared;
            const bool has_bounds = !far;
            for (i32 i = lane; i < length; i += HALF)
                for (i32 t = has_bounds ? 0 : m; t < (has_bounds ? thick : m + 1); t++) {
                    const long long gx = (long long)(ROWS ? a0 + i : b0 + t),
                                    gy = (long long)(ROWS ? b0 + t : a0 + i);
                    P& to = shared.values[in_window(i, t)];
                    copy_vertex_ahead<T>(to, vertex_at<T>(job.u, job.u_layout, gx, gy),
                        vertex_at<T>(job.v, job.v_layout, gx, gy));
                }
            end_of_copies();
            // final values at the ends of the segment, for columns also beside them;
            const u64 s = (ROWS ? shape.tx : shape.ty) + lane;
            const bool has_end = lane < 2 && lane * TILE < length;
            P end = Real<T>::pair(T(0), T(0)), before_end = end, after_end = end;
            if (has_end) {
                end = work.anchors()[ROWS ? line * job.tiles_x + s : s * job.tiles_x + line];
                if (!ROWS && has_bounds) {
                    const P* const across = work.row_lines() + s * job.nx + b0 + m;
                    if (m > 0) before_end = across[-1];
                    if (m + 1 < thick) after_end = across[1];
                }
            }
            // and the bounds.
            bool any_constrained = false;
            for (i32 i = lane; i < length; i += HALF) {
                T vertex_bound = no_bound<T>();
                if (has_bounds && i < TILE) {
                    const u32* const rows = BoundsView<T>(job).constrained_rows(tile);
                    vertex_bound = speculative_bound<T>(job, control, ROWS ? rows[0] >> i & 1 : rows[i] & 1,
                        ROWS ? a0 + i : at, ROWS ? at : a0 + i);
                }
                shared.vertex_bound[i] = vertex_bound;
                any_constrained |= is_constrained(vertex_bound);
            }
            const bool looks_around = __any_sync(FULL, any_constrained) && has_bounds;
            wait_for_copies<0>();
            __syncwarp();
            // Vertices of the line without a code.
            for (i32 i = lane; i < length; i += HALF) {
                const P value = shared.values[base + i * distance];
                u8 kind = HAS_CODE;
                if (is_missing(value.x, value.y, job.fill))
                    kind = has_fill(control, value.x, value.y) ? HAS_NO_CODE : IS_STORED;
                else if (is_lossless(control) && has_negative_zero(value.x, value.y))
                    kind = KEEPS_SIGN;
                else if (value.x == T(0) && value.y == T(0))
                    kind = HAS_NO_CODE;
                shared.special[i] = kind;
            }
            if (has_missing(control)) {
                const i32 words = window.height * window.words;
                for (i32 i = lane; i < words; i += HALF) shared.missing[i] = 0;
                __syncwarp();
                for (i32 i = lane; i < length; i += HALF)
                    for (i32 t = looks_around ? 0 : m; t < (looks_around ? thick : m + 1); t++) {
                        const i32 x = ROWS ? i : t, y = ROWS ? t : i;
                        P& value = shared.values[in_window(i, t)];
                        if (!is_missing(value.x, value.y, job.fill)) continue;
                        atomicOr(&shared.missing[y * window.words + (x >> 5)], 1u << (x & 31));
                        value = Real<T>::pair(T(0), T(0));
                    }
            }
            __syncwarp();
            P* out = (ROWS ? work.row_lines() : work.column_lines()) + line * n_along + a0;
            if (has_end) {
                P* const to = shared.values + base + lane * TILE * distance;
                *to = end;
                if (!ROWS && looks_around) {
                    if (m > 0) to[-1] = before_end;
                    if (m + 1 < thick) to[1] = after_end;
                }
            }
            __syncwarp();
#pragma unroll 1
            for (i32 level = ANCHOR_LEVEL - 1; level >= 0; level--) {
                const i32 step = 1 << level, n = 16 >> level, here = (2 * lane + 1) * step;
                const bool exists = lane < n && here < length;
                const u8 kind = exists ? shared.special[here] : HAS_NO_CODE;
                const i32 x = ROWS ? here : m, y = ROWS ? m : here;
                P* const vertex = shared.values + base + here * distance;
                P prediction = Real<T>::pair(T(0), T(0));
                T vertex_bound = no_bound<T>();
                P original = prediction;
                VertexCode<T> coded = {prediction, T(0), {EXACT, 0, 0}};
                bool waits = false;
                if (kind == HAS_CODE) {
                    prediction = along<T>(interpolant_of<T>(steps.interpolants[level]), shared.values,
                        base + here * distance, step * distance, here, step, last);
                    vertex_bound = shared.vertex_bound[here];
                    original = *vertex;
                    const FirstTry<T> first =
                        first_try<T>(steps, window, x, y, original, prediction, vertex_bound, level);
                    coded = {first.q.value, first.error, {0, (i32)first.q.code.x, (i32)first.q.code.y}};
                    waits = !first.kept && is_constrained(vertex_bound);
                    if (!first.kept && !waits)
                        coded = code_vertex<T>(
                            original, prediction, level, control.quantizer, steps.accept, vertex_bound);
                }
                if (waits)
                    coded = settle<T, false>(
                        rule, InShared<Steps<T>>(&steps), window, x, y, prediction, vertex_bound, level);
                if (exists) {
                    const i32 position = n * n * (ROWS ? 1 : 2) + (ROWS ? lane : lane * n);
                    u32 symbol = kind == IS_STORED || kind == KEEPS_SIGN ? STORED : SYMBOL_ZERO;
                    if (kind == HAS_CODE) {
                        *vertex = coded.value;
                        max_error = Real<T>::high(max_error, coded.error);
                        const Symbol s = symbol_of<T>(coded, original, prediction);
                        symbol = s.symbol;
                        if (symbol >= FIRST_WITH_RAW_BITS && symbol != STORED)
                            work.payload(tile)[position] = s.raw;
                    }
                    if (!far) exact += symbol >= STORED && kind != IS_STORED;
                    work.symbols()[tile * TILE_VERTICES + position] = (u8)symbol;
                }
                __syncwarp();
            }
            for (i32 i = lane; i < length && i < TILE; i += HALF) out[i] = shared.values[base + i * distance];
            __syncwarp();
        }
    }
    report_stats<T>(control, exact, 0, max_error);
}
