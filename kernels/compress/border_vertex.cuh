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

// The waiting vertices of a warp one by one: the first reconstruction that keeps the bound and, if the vertex
// is constrained, the signatures around it. Lane 6 i + k tries reconstruction i of five on triangle k.
// Returns the number of the lane's reconstruction (of a vertex without constraints its refinement), or -1 if
// the vertex is stored. my_place: x | y << 6, or 0 if the lane's vertex does not wait. Call with a warp.
template <typename T, typename P = typename Real<T>::Pair>
__device__ __forceinline__ i32 find_trial(const Rule& rule, const Steps<T>& steps,
    const TileWindow<T>& window, u32 my_place, P my_prediction, T my_bound, i32 level) {
    constexpr i32 AT_ONCE = 5;
    const i32 lane = threadIdx.x & 31, slot = lane / 6, k = lane - 6 * slot;
    i32 mine = -1;
    for (u32 left = __ballot_sync(FULL, my_place != 0); left; left &= left - 1) {
        const i32 owner = __ffs(left) - 1;
        const u32 place = __shfl_sync(FULL, my_place, owner);
        const i32 x = place & 63, y = place >> 6;
        const P prediction = shuffle<T>(my_prediction, owner);
        const T vertex_bound = __shfl_sync(FULL, my_bound, owner);
        const bool constrained = is_constrained(vertex_bound);
        const i32 trials = constrained ? TRIALS : REFINEMENTS;
        const P original = window.values[y * CLOSED + x];
#pragma unroll 1
        for (i32 first = 0; first < trials; first += AT_ONCE) {
            const Trial trial(constrained ? first + slot : 0);
            bool ends = false, passes = false;
            if (slot < AT_ONCE && first + slot < trials) {
                const P step = steps.level[level].step[constrained ? trial.refinement : first + slot];
                Quantized<T> q = quantize<T>(original, prediction, step);
                ends = !q.fits;
                passes = !ends && move_to_neighbour<T>(q, original, prediction, step.x, trial.neighbour);
                const T error = distance<T>(q.value, original);
                passes = passes && (error == T(0) || (error <= steps.accept && error < vertex_bound));
                if (passes && error != T(0) && constrained)
                    passes = keeps_signature(window, x, y, q.value, rule, k);
            }
            // All six lanes of a reconstruction must agree.
            const u32 passed = __ballot_sync(FULL, passes), ended = __ballot_sync(FULL, ends);
            i32 found = -1;
#pragma unroll
            for (i32 i = AT_ONCE - 1; i >= 0; i--)
                if ((passed >> 6 * i & 63) == 63 || (ended >> 6 * i & 1)) found = i;
            if (found < 0) continue;
            if (lane == owner && !(ended >> 6 * found & 1)) mine = first + found;
            break;
        }
    }
    return mine;
}

// Codes the waiting vertices of a warp, as find_trial says. Call with a warp.
template <typename T, typename P = typename Real<T>::Pair>
__device__ __noinline__ SettledVertex<T> settle(const Job& job, const Steps<T>& steps, BorderTile<T>& shared,
    i32 last_x, i32 last_y, bool any_missing, u32 my_place, P my_prediction, T my_bound, i32 level) {
    const TileWindow<T> window = window_of(shared, last_x, last_y, any_missing);
    const i32 found = find_trial<T>(rule_of(job), steps, window, my_place, my_prediction, my_bound, level);
    const P original = window.values[(my_place >> 6) * CLOSED + (my_place & 63)];
    SettledVertex<T> settled = {original, T(0), STORED, 3 + 16 * sizeof(T), 0};
    if (found >= 0) {
        const bool constrained = is_constrained(my_bound);
        const Trial trial(constrained ? found : 0);
        const i32 refinement = constrained ? trial.refinement : found;
        const P step = steps.level[level].step[refinement];
        Quantized<T> q = quantize<T>(original, my_prediction, step);
        move_to_neighbour<T>(q, original, my_prediction, step.x, trial.neighbour);
        settled.value = q.value;
        settled.error = distance<T>(q.value, original);
        const Symbol s = symbol_of({refinement, (i32)q.code.x, (i32)q.code.y});
        settled.symbol = s.symbol;
        settled.raw = s.raw;
        settled.cost = s.symbol == SYMBOL_ZERO ? 0 : 3 + s.bits;
    }
    return settled;
}
