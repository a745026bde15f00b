// Codes vertices of interior tiles: one with a bound, or several without, so that the latency of one is
// hidden behind the others.
#pragma once
#include "compress/tiles/quantize_vertex.cuh"

// Cost of a lane's symbols by block. upper: coarse + (middle << 16), each below 192 * 131 per tile; fine:
// fine + (stored vertices << 20).
struct Costs {
    u32 upper, fine;

    // Adds a vertex of a level; stored vertices count in `fine` whatever their level.
    __device__ __forceinline__ void charge(u32 cost, i32 level) {
        upper += level > 1 ? cost % ONE_STORED : level == 1 ? cost % ONE_STORED << 16 : 0;
        fine += level == 0 ? cost : cost & ONE_STORED;
    }
};

// How a half warp codes its tile, and what a lane has found out about its vertices.
template <typename T>
struct InteriorCoder {
    typedef typename Real<T>::Pair P;
    typedef Real<T> R;
    const Steps<T>& steps;
    const TileOutput& output;  // in shared memory
    bool writes;               // symbols are written
    T max_error;
    Costs costs;

    // Codes a vertex as far as comparisons do not settle it; -1 as its position: its symbol belongs to
    // another tile.
    __device__ __forceinline__ P code_unsettled(
        P original, P prediction, i32 level, T vertex_bound, i32 position, T& error) {
        const WrittenVertex<T> c = code_vertex_of<T>(original, prediction, vertex_bound,
            writes ? position : -1, InShared<Level<T>>(&steps.level[level]), InShared<TileOutput>(&output));
        error = c.error;
        costs.charge(c.cost, level);
        return c.value;
    }

    // Codes a vertex with a bound. Most codes are zero; a residual below half_step and the bound is settled
    // by this comparison alone.
    __device__ __forceinline__ P code(
        P original, P prediction, i32 level, T half_step, T vertex_bound, i32 position, bool active = true) {
        const T du = R::abs(original.x - prediction.x), dv = R::abs(original.y - prediction.y);
        const T certain = R::low(half_step, vertex_bound);
        T error = R::high(du, dv);
        P value = prediction;
        if (active & !((du < certain) & (dv < certain)))
            value = code_unsettled(original, prediction, level, vertex_bound, position, error);
        if (active) max_error = R::high(max_error, error);
        return value;
    }

    // Likewise if the vertex may be zero: then it has no code and keeps its value.
    __device__ __forceinline__ P code_unless_zero(
        P original, P prediction, i32 level, T half_step, T vertex_bound, i32 position, bool active = true) {
        const bool zero = is_zero<T>(original);
        return code(
            original, zero ? original : prediction, level, half_step, vertex_bound, position, active & !zero);
    }

    // Codes N vertices without bounds, from predictions to values. `at` + offsets[k]: the position of vertex
    // k. The original of a vertex that is not active equals its prediction. own: its symbols belong to this
    // tile.
    template <i32 N>
    __device__ __forceinline__ void code_group(const P (&originals)[N], P (&values)[N], i32 level,
        T half_step, i32 at, const i32 (&offsets)[N], const bool (&active)[N], bool own = true) {
        // Most codes are zero. If all residuals are below half_step, this comparison settles all of them.
        T largest = 0;
#pragma unroll
        for (i32 k = 0; k < N; k++) {
            largest = R::high(largest, R::abs(originals[k].x - values[k].x));
            largest = R::high(largest, R::abs(originals[k].y - values[k].y));
        }
        if (!(largest < half_step))
            largest = code_small<N>(originals, values, level, at, offsets, active, own);
        max_error = R::high(max_error, largest);
    }

private:
    // Next, small codes. Reloads the widths, so that they occupy no registers meanwhile. Returns the largest
    // error.
    template <i32 N>
    __device__ __forceinline__ T code_small(const P (&originals)[N], P (&values)[N], i32 level, i32 at,
        const i32 (&offsets)[N], const bool (&active)[N], bool own) {
        const P step = steps.level[level].step[0];
        const Acceptance<T> accept = steps.accept();
        u8* const to = fresh_global(output.symbols) + at;
        P predictions[N];
        T errors[N], largest = 0;
        bool small[N], all = true;
#pragma unroll
        for (i32 k = 0; k < N; k++) {
            predictions[k] = values[k];
            const Attempt<T> found = attempt<T>(originals[k], values[k], step);
            values[k] = found.value;
            errors[k] = found.error;
            largest = R::high(largest, found.error);
            // By component, because of NaN. A small code fits.
            const P codes = found.codes();
            small[k] =
                (R::abs(codes.x) <= T(SMALL)) & (R::abs(codes.y) <= T(SMALL)) & accept.within(found.error);
            all &= small[k];
            const u32 symbol = small_symbol(found.code_u(), found.code_v());
            const bool some = small[k] & own & (symbol != SYMBOL_ZERO);
            if (some & writes) to[offsets[k]] = (u8)symbol;
            if (some) costs.charge(3, level);
        }
        if (all) return largest;
        largest = 0;
#pragma unroll
        for (i32 k = 0; k < N; k++) {
            if (!small[k] && active[k])
                values[k] = code_unsettled(originals[k], predictions[k], level, no_bound<T>(),
                    own ? at + offsets[k] : -1, errors[k]);
            if (active[k]) largest = R::high(largest, errors[k]);
        }
        return largest;
    }
};
