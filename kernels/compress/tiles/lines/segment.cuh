// A segment of a lattice line, which half a warp codes.
#pragma once
#include "compress/bounds/vertex_bounds.cuh"
#include "compress/tiles/settle.cuh"
#include "grid/field.cuh"
#include "grid/missing.cuh"
#include "tile/lattice.cuh"

// Values around a segment, and of each of its vertices the bound and a kind.
template <typename T>
struct LineShared {
    typename Real<T>::Pair values[3 * CLOSED];
    T vertex_bound[CLOSED];
    u8 special[CLOSED];
    u32 missing[CLOSED];
};
// IS_STORED: missing but not filled, not counted as exact. KEEPS_SIGN: -0 under a bound of 0, counted.
enum : u8 { HAS_CODE, HAS_NO_CODE, IS_STORED, KEEPS_SIGN };

// A segment of a line, by half a warp. Lanes without a segment have length 0.
template <typename T, bool ROWS>
struct LineSegment {
    typedef typename Real<T>::Pair P;
    // Step along the line in the window.
    static constexpr i32 DISTANCE = ROWS ? 1 : 3;
    const Job& job;
    const Control& control;
    const Steps<T>& steps;
    LineShared<T>& shared;
    const i32 lane;  // of the half warp
    const u64 tile;
    const bool far;           // of the next tile, not of the listed one
    const u64 along_at;       // first vertex, along the line
    const u64 line;           // number of the line
    const u64 at, window_at;  // row or column of the line and of the first one in the window
    const i32 m;              // row or column of the line in the window
    const i32 thick;          // rows or columns of the window
    const i32 last, length;   // last vertex; vertices
    TileWindow<T> window;

    __device__ __forceinline__ LineSegment(const Job& job, const Control& control, const Steps<T>& steps,
        LineShared<T>& shared, i32 lane, const TileShape& shape, u64 tile, bool far, bool mine)
        : job(job), control(control), steps(steps), shared(shared), lane(lane), tile(tile), far(far),
          along_at(ROWS ? shape.x0 : shape.y0), line((ROWS ? shape.ty : shape.tx) + (mine && far ? 1 : 0)),
          at((ROWS ? shape.y0 : shape.x0) + (mine && far ? TILE : 0)),
          window_at(at > (ROWS ? shape.plane : 0) ? at - 1 : at), m((i32)(at - window_at)),
          thick((i32)(min((ROWS ? shape.plane + job.ny : job.nx), at + 2) - window_at)),
          last(ROWS ? shape.last_x : shape.last_y), length(mine ? last + 1 : 0) {
        window.values = shared.values;
        window.pitch = ROWS ? CLOSED : 3;
        window.width = ROWS ? length : thick;
        window.height = ROWS ? thick : length;
        window.words = ROWS ? 2 : 1;
        window.missing = has_missing(control) ? shared.missing : nullptr;
    }
    // Place of vertex i of row or column t in the window, and of vertex i of the line.
    __device__ __forceinline__ i32 in_window(i32 i, i32 t) const { return ROWS ? t * CLOSED + i : i * 3 + t; }
    __device__ __forceinline__ i32 on_line(i32 i) const { return (ROWS ? m * CLOSED : m) + i * DISTANCE; }
    // Signatures may be compared.
    __device__ __forceinline__ bool has_bounds() const { return !far; }
    // Calls visit(i, t) for the lane's vertices on the line, or `around` it too.
    template <typename Visit>
    __device__ __forceinline__ void for_each(bool around, Visit visit) const {
        const i32 first = around ? 0 : m, end = around ? thick : m + 1;
        for (i32 i = lane; i < length; i += HALF)
            for (i32 t = first; t < end; t++) visit(i, t);
    }

    // Starts the loads of the originals.
    __device__ __forceinline__ void copy_originals() {
        for_each(has_bounds(), [&](i32 i, i32 t) {
            const long long gx = (long long)(ROWS ? along_at + i : window_at + t),
                            gy = (long long)(ROWS ? window_at + t : along_at + i);
            P& to = shared.values[in_window(i, t)];
            copy_vertex_ahead<T>(
                to, vertex_at<T>(job.u, job.u_layout, gx, gy), vertex_at<T>(job.v, job.v_layout, gx, gy));
        });
        end_of_copies();
    }
    // True if the lane has an end of the segment.
    __device__ __forceinline__ bool has_end() const { return lane < 2 && lane * TILE < length; }
    // Final values at the ends of the segment, for columns also beside them.
    struct End {
        P value, before, after;
    };
    __device__ __forceinline__ End load_end(const TileShape& shape) const {
        const QuantizeView<T> work(job);
        const u64 s = (ROWS ? shape.tx : shape.ty) + lane;
        const P zero = Real<T>::pair(T(0), T(0));
        End end = {zero, zero, zero};
        if (!has_end()) return end;
        end.value = work.anchors()[ROWS ? line * job.tiles_x + s : s * job.tiles_x + line];
        if (!ROWS && has_bounds()) {
            const P* const across = work.row_lines() + s * job.nx + window_at + m;
            if (m > 0) end.before = across[-1];
            if (m + 1 < thick) end.after = across[1];
        }
        return end;
    }
    __device__ __forceinline__ void put_end(const End& end, bool looks_around) {
        if (!has_end()) return;
        P* const to = shared.values + on_line(lane * TILE);
        *to = end.value;
        if (!ROWS && looks_around) {
            if (m > 0) to[-1] = end.before;
            if (m + 1 < thick) to[1] = end.after;
        }
    }
    // Loads the bounds. True if the lane has some.
    __device__ __forceinline__ bool load_bounds() {
        bool any_constrained = false;
        for (i32 i = lane; i < length; i += HALF) {
            T vertex_bound = no_bound<T>();
            if (has_bounds() && i < TILE) {
                const u32* const rows = BoundsView<T>(job).constrained_rows(tile);
                vertex_bound = speculative_bound<T>(job, control, ROWS ? rows[0] >> i & 1 : rows[i] & 1, tile,
                    ROWS ? along_at + i : at, ROWS ? at : along_at + i);
            }
            shared.vertex_bound[i] = vertex_bound;
            any_constrained |= is_constrained(vertex_bound);
        }
        return any_constrained;
    }
    // Finds the vertices of the line without a code.
    __device__ __forceinline__ void find_special() {
        for (i32 i = lane; i < length; i += HALF) {
            const P value = shared.values[on_line(i)];
            u8 kind = HAS_CODE;
            if (is_missing(value.x, value.y, job.fill))
                kind = has_fill(control, value.x, value.y) ? HAS_NO_CODE : IS_STORED;
            else if (is_lossless(control) && has_negative_zero(value.x, value.y))
                kind = KEEPS_SIGN;
            else if (value.x == T(0) && value.y == T(0))
                kind = HAS_NO_CODE;
            shared.special[i] = kind;
        }
    }
    // Marks missing vertices in the window and makes them zeros.
    __device__ __forceinline__ void mark_missing(bool looks_around) {
        const i32 words = window.height * window.words;
        for (i32 i = lane; i < words; i += HALF) shared.missing[i] = 0;
        __syncwarp();
        for_each(looks_around, [&](i32 i, i32 t) {
            const i32 x = ROWS ? i : t, y = ROWS ? t : i;
            P& value = shared.values[in_window(i, t)];
            if (!is_missing(value.x, value.y, job.fill)) return;
            atomicOr(&shared.missing[y * window.words + (x >> 5)], 1u << (x & 31));
            value = Real<T>::pair(T(0), T(0));
        });
    }

    // Codes the vertices of a level, one per lane.
    __device__ __forceinline__ void code_level(const Rule rule, i32 level, u32& exact, T& max_error) {
        const QuantizeView<T> work(job);
        const i32 step = 1 << level, n = 16 >> level, here = (2 * lane + 1) * step;
        const bool exists = lane < n && here < length;
        const u8 kind = exists ? shared.special[here] : HAS_NO_CODE;
        const i32 x = ROWS ? here : m, y = ROWS ? m : here;
        P* const vertex = shared.values + on_line(here);
        P prediction = Real<T>::pair(T(0), T(0));
        T vertex_bound = no_bound<T>();
        P original = prediction;
        Candidate<T> coded = stored<T>(prediction);
        bool waits = false;
        if (kind == HAS_CODE) {
            prediction = along<T>(interpolant_of<T>(steps.interpolants[level]), shared.values, on_line(here),
                step * DISTANCE, here, step, last);
            vertex_bound = shared.vertex_bound[here];
            original = *vertex;
            const FirstTry<T> first =
                first_try<T>(steps, window, x, y, original, prediction, vertex_bound, level);
            coded = candidate(first.attempt, 0);
            waits = !first.kept && is_constrained(vertex_bound);
            if (!first.kept && !waits)
                coded = code_vertex<T>(original, prediction, level, control.quantizer, vertex_bound);
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
                if (symbol >= FIRST_WITH_RAW_BITS && symbol != STORED) work.payload(tile)[position] = s.raw;
            }
            if (!far) exact += symbol >= STORED && kind != IS_STORED;
            work.symbols()[tile * TILE_VERTICES + position] = (u8)symbol;
        }
        __syncwarp();
    }

    // Codes the segment.
    __device__ __forceinline__ void code(const TileShape& shape, u32& exact, T& max_error) {
        const Rule rule = rule_of(job);
        // Start all loads at once.
        copy_originals();
        const End end = load_end(shape);
        const bool looks_around = __any_sync(FULL, load_bounds()) && has_bounds();
        wait_for_copies<0>();
        __syncwarp();
        find_special();
        if (has_missing(control)) mark_missing(looks_around);
        __syncwarp();
        const QuantizeView<T> work(job);
        P* const out = ROWS ? work.row_lines() + line * job.nx + along_at
                            : work.column_lines() + line * column_line_length(job) + shape.ty * TILE;
        put_end(end, looks_around);
        __syncwarp();
#pragma unroll 1
        for (i32 level = ANCHOR_LEVEL - 1; level >= 0; level--) code_level(rule, level, exact, max_error);
        for (i32 i = lane; i < length && i < TILE; i += HALF) out[i] = shared.values[on_line(i)];
        __syncwarp();
    }
};
