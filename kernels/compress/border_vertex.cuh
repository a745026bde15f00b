// Prediction and coding of single vertices of border tiles.
#pragma once
#include "compress/quantize_vertex.cuh"
#include "predict/interpolation.cuh"
#include "tile/encode.cuh"

template <typename T>
struct BorderTile {
    typename Real<T>::Pair values[CLOSED * CLOSED];
    T vertex_bounds[TILE_VERTICES +
                    2 * TILE];  // by position; then those of the far sides by distance from the corner
    u32 zero[TILE], fill[TILE], missing[CLOSED * 2];
    TileOutput places;
    u32 upper_cost, fine_cost;  // coarse + (middle << 16); fine
    LargestError known;
};

template <typename T>
__device__ __forceinline__ TileWindow<T> window_of(
    BorderTile<T>& shared, i32 last_x, i32 last_y, bool any_missing) {
    return {shared.values, CLOSED, last_x + 1, last_y + 1, any_missing ? shared.missing : nullptr, 2};
}

// Prediction if not all neighbours lie in the grid.
template <typename T, typename P = typename Real<T>::Pair>
__device__ __noinline__ P predict_at_border(const P* values, u32 choice, bool centred, bool vertical, i32 x,
    i32 y, i32 step, i32 last_x, i32 last_y) {
    const Interpolant<T> interpolant = interpolant_of<T>(choice);
    if (centred) return centre<T>(interpolant, values, CLOSED, x, y, step, last_x, last_y);
    return along<T>(interpolant, values, y * CLOSED + x, vertical ? step * CLOSED : step, vertical ? y : x,
        step, vertical ? last_y : last_x);
}

// Prediction along a line inside the grid.
template <typename T, typename P = typename Real<T>::Pair>
__device__ __forceinline__ P predict_along(
    const Interpolant<T>& interpolant, const P* here, i32 distance, u32 near) {
    const bool has_a = near & 1, has_d = near >> 1 & 1;
    const P *b = here - distance, *c = here + distance;
    return predict<T>(outer_of<T>(interpolant, has_a, has_d), b[2 * distance * outer_left(has_a, has_d)], *b,
        *c, b[2 * distance * outer_right(has_a, has_d)]);
}

// Result of settle for one vertex.
template <typename T>
struct SettledVertex {
    typename Real<T>::Pair value;
    T error;
    u32 symbol, cost;
    u64 raw;
};

// Codes the waiting vertices of a warp one by one: the first reconstruction that keeps the bound and, if the
// vertex is constrained, the signatures around it. Lane 6 i + k tries reconstruction i of five on triangle k.
// my_place: x | y << 6, or 0 if the lane's vertex does not wait. Call with a warp.
template <typename T, typename P = typename Real<T>::Pair>
__device__ __noinline__ SettledVertex<T> settle(const Job& job, const Steps<T>& steps, BorderTile<T>& shared,
    i32 last_x, i32 last_y, bool any_missing, u32 my_place, P my_prediction, T my_bound, i32 level) {
    // The nearest reconstruction of each refinement, and after that of refinement CORNERED the other corners.
    constexpr i32 TRIALS = REFINEMENTS + CORNERS - 1, AT_ONCE = 5;
    typedef Real<T> R;
    const i32 lane = threadIdx.x & 31, slot = lane / 6, k = lane - 6 * slot;
    const T accept = steps.accept;
    const TileWindow<T> window = window_of(shared, last_x, last_y, any_missing);
    const Rule rule = rule_of(job);
    SettledVertex<T> mine = {R::pair(T(0), T(0)), T(0), STORED, 0, 0};
    for (u32 left = __ballot_sync(FULL, my_place != 0); left; left &= left - 1) {
        const i32 owner = __ffs(left) - 1;
        const u32 place = __shfl_sync(FULL, my_place, owner);
        const i32 x = place & 63, y = place >> 6;
        const P prediction = shuffle<T>(my_prediction, owner);
        const T vertex_bound = __shfl_sync(FULL, my_bound, owner);
        const P original = window.values[y * CLOSED + x];
        SettledVertex<T> found = {original, T(0), STORED, 3 + 16 * sizeof(T), 0};
#pragma unroll 1
        for (i32 first = 0; first < TRIALS; first += AT_ONCE) {
            const i32 trial = first + slot,
                      corner = trial > CORNERED && trial < CORNERED + CORNERS ? trial - CORNERED : 0,
                      refinement = trial <= CORNERED ? trial
                                   : corner          ? CORNERED
                                                     : trial - (CORNERS - 1);
            bool ends = false, passes = false;
            P value = original;
            P code = R::pair(T(0), T(0));
            T error = 0;
            if (slot < AT_ONCE && trial < TRIALS) {
                const P step = steps.level[level].step[refinement];
                Quantized<T> q = quantize<T>(original, prediction, step);
                ends = !q.fits;
                passes =
                    !ends && (corner == 0 || (is_constrained(vertex_bound) &&
                                                 move_to_corner<T>(q, original, prediction, step.x, corner)));
                value = q.value, code = q.code;
                error = distance<T>(value, original);
                passes = passes && (error == T(0) || (error <= accept && error < vertex_bound));
                if (passes && error != T(0) && is_constrained(vertex_bound))
                    passes = keeps_signature(window, x, y, value, rule, k);
            }
            // All six lanes of a refinement must agree.
            const u32 passed = __ballot_sync(FULL, passes), ended = __ballot_sync(FULL, ends);
            i32 from = -1;
#pragma unroll
            for (i32 i = AT_ONCE - 1; i >= 0; i--)
                if ((passed >> 6 * i & 63) == 63 || (ended >> 6 * i & 1)) from = 6 * i;
            if (from < 0) continue;
            if (!(ended >> from & 1) && lane == from) {
                found.value = value;
                found.error = error;
                const Symbol s = symbol_of({refinement, (i32)code.x, (i32)code.y});
                found.symbol = s.symbol;
                found.raw = s.raw;
                found.cost = s.symbol == SYMBOL_ZERO ? 0 : 3 + s.bits;
            }
            // Broadcast the result of the lane that found it.
            found.value = shuffle<T>(found.value, from);
            found.error = __shfl_sync(FULL, found.error, from);
            found.symbol = __shfl_sync(FULL, found.symbol, from);
            found.cost = __shfl_sync(FULL, found.cost, from);
            found.raw = __shfl_sync(FULL, found.raw, from);
            break;
        }
        if (lane == owner) mine = found;
    }
    return mine;
}
