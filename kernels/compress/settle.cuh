// Vertices whose surroundings decide on their reconstruction, in the speculative mode. Twin of
// src/tile/vertex.rs.
#pragma once
#include "compress/quantize_vertex.cuh"
#include "tile/encode.cuh"
#include "tile/fan.cuh"

// The nearest reconstruction without a refinement. It is `kept` if it meets the bounds and no signature can
// change.
template <typename T>
struct FirstTry {
    Quantized<T> q;
    T error;
    bool kept;
};
template <typename T, typename P = typename Real<T>::Pair>
__device__ __forceinline__ FirstTry<T> first_try(const Steps<T>& steps, const TileWindow<T>& window, i32 x,
    i32 y, P original, P prediction, T vertex_bound, i32 level) {
    FirstTry<T> first;
    first.q = quantize<T>(original, prediction, steps.level[level].step[0]);
    first.error = distance<T>(first.q.value, original);
    first.kept = first.q.fits & (first.error <= steps.accept && first.error < vertex_bound);
    if (is_constrained(vertex_bound))
        first.kept = first.kept && stays_one_sided<T>(window, x, y, first.q.value);
    return first;
}

// Codes a vertex that is not missing, with its original value in the window: the first reconstruction that
// keeps the bound and, if the vertex is constrained, the signatures around it. The window may change when all
// lanes of the phase have come back. INSIDE: as of Fan. Not inlined: copies of the code would not fit the
// instruction cache.
template <typename T, bool INSIDE, typename P = typename Real<T>::Pair>
__device__ __noinline__ VertexCode<T> settle(Rule rule, InShared<Steps<T>> at_steps, TileWindow<T> window,
    i32 x, i32 y, P prediction, T vertex_bound, i32 level) {
    const Steps<T>& steps = at_steps.get();
    const Fan<T, INSIDE> fan(window, x, y);
    const P original = fan.vertex();
    const bool constrained = is_constrained(vertex_bound);
    const i32 trials = constrained ? TRIALS : REFINEMENTS;
#pragma unroll 1
    for (i32 number = 0; number < trials; number++) {
        const Trial trial(constrained ? number : 0);
        const i32 refinement = constrained ? trial.refinement : number;
        const P step = steps.level[level].step[refinement];
        Quantized<T> q = quantize<T>(original, prediction, step);
        // Finer codes are larger: they do not fit either.
        if (!q.fits) break;
        if (!move_to_neighbour<T>(q, original, prediction, step.x, trial.neighbour)) continue;
        const T error = distance<T>(q.value, original);
        if (error == T(0) || (error <= steps.accept && error < vertex_bound &&
                                 (!constrained || fan.stays_with(q.value, rule))))
            return {q.value, error, {refinement, (i32)q.code.x, (i32)q.code.y}};
    }
    return {original, T(0), {EXACT, 0, 0}};
}
