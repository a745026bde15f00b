// Vertices whose surroundings decide on their reconstruction, in the speculative mode. Twin of
// src/tile/vertex.rs.
#pragma once
#include "compress/tiles/quantize_vertex.cuh"
#include "predict/quantizer.cuh"
#include "tile/encode.cuh"
#include "tile/fan.cuh"

// The nearest reconstruction without a refinement. It is `kept` if it meets the bounds and no signature can
// change.
template <typename T>
struct FirstTry {
    Attempt<T> attempt;
    bool kept;
};
template <typename T, typename P = typename Real<T>::Pair>
__device__ __forceinline__ FirstTry<T> first_try(const Steps<T>& steps, const TileWindow<T>& window, i32 x,
    i32 y, P original, P prediction, T vertex_bound, i32 level) {
    FirstTry<T> first;
    first.attempt = attempt<T>(original, prediction, steps.level[level].step[0]);
    first.kept = first.attempt.fits & steps.accept().allows(first.attempt.error, vertex_bound);
    if (is_constrained(vertex_bound))
        first.kept = first.kept && stays_one_sided<T>(window, x, y, first.attempt.value);
    return first;
}

// A vertex that is not missing, with its original value in the window, and the trials that lead to its code:
// the first reconstruction that keeps the bound and, if the vertex is constrained, the signatures around it.
// INSIDE: as of Fan.
template <typename T, bool INSIDE>
struct Trials {
    typedef typename Real<T>::Pair P;
    const Fan<T, INSIDE> fan;
    const Rule& rule;
    const Steps<T>& steps;
    const P original, prediction;
    const bool constrained;
    const T vertex_bound;
    const i32 level, number;  // of trials

    __device__ __forceinline__ Trials(const Rule& rule, const Steps<T>& steps, const TileWindow<T>& window,
        i32 x, i32 y, P prediction, T vertex_bound, i32 level)
        : fan(window, x, y), rule(rule), steps(steps), original(fan.vertex()), prediction(prediction),
          constrained(is_constrained(vertex_bound)), vertex_bound(vertex_bound), level(level),
          number(constrained ? TRIALS : REFINEMENTS) {}

    // True if trial k ends the search: with a code, or because no code can follow.
    __device__ __forceinline__ bool ends(i32 k, Candidate<T>& code) const {
        const Trial trial(constrained ? k : 0);
        const i32 refinement = constrained ? trial.refinement : k;
        const P step = steps.level[level].step[refinement];
        Attempt<T> found = attempt<T>(original, prediction, step);
        // Finer codes are larger: they do not fit either.
        if (!found.fits) return true;
        if (!move_to_neighbour<T>(found, original, prediction, step.x, trial.neighbour)) return false;
        found.error = distance<T>(found.value, original);
        if (!steps.accept().allows(found.error, vertex_bound)) return false;
        if (constrained && found.error != T(0) && !fan.stays_with(found.value, rule)) return false;
        code = candidate(found, refinement);
        return true;
    }
};

// A window that lies in shared memory, which the compiler then knows.
template <typename T>
__device__ __forceinline__ TileWindow<T> in_shared(TileWindow<T> window) {
#ifdef __CUDA_ARCH__
    __builtin_assume(__isShared(window.values));
#endif
    return window;
}

// Codes a vertex. The window may change when all lanes of the phase have come back. Not inlined: copies of
// the code would not fit the instruction cache.
template <typename T, bool INSIDE, typename P = typename Real<T>::Pair>
__device__ __noinline__ Candidate<T> settle(Rule rule, InShared<Steps<T>> at_steps, TileWindow<T> window,
    i32 x, i32 y, P prediction, T vertex_bound, i32 level) {
    const TileWindow<T> in_window = in_shared(window);
    const Trials<T, INSIDE> trials(rule, at_steps.get(), in_window, x, y, prediction, vertex_bound, level);
    Candidate<T> code = stored<T>(trials.original);
#pragma unroll 1
    for (i32 k = 0; k < trials.number; k++)
        if (trials.ends(k, code)) break;
    return code;
}

// A code that lanes have found together; one of them has it.
template <typename T>
struct SharedCode : Candidate<T> {
    bool is_mine;
};

// As settle, by a warp for 2^shift vertices at a time: lanes with the same lower bits have the same vertex
// and share its trials. The window may change when all lanes have come back.
template <typename T, bool INSIDE, typename P = typename Real<T>::Pair>
__device__ __noinline__ SharedCode<T> settle_together(Rule rule, InShared<Steps<T>> at_steps,
    TileWindow<T> window, i32 x, i32 y, P prediction, T vertex_bound, i32 level, i32 shift) {
    const TileWindow<T> in_window = in_shared(window);
    const Trials<T, INSIDE> trials(rule, at_steps.get(), in_window, x, y, prediction, vertex_bound, level);
    SharedCode<T> code = {stored<T>(trials.original), false};
    const i32 lane = threadIdx.x & 31, first = lane & ((1 << shift) - 1);
    const u32 group = FULL / (FULL >> (32 - (1 << shift))) << first;
    u32 ends = 0;  // lanes of the group whose trial ends the search
    for (i32 k = lane >> shift;; k += 32 >> shift) {
        const bool goes_on = ends == 0 && k < trials.number;
        ends |= __ballot_sync(FULL, goes_on && trials.ends(k, code)) & group;
        if (!__any_sync(FULL, ends == 0 && k + (32 >> shift) < trials.number)) break;
    }
    code.is_mine = lane == (ends ? __ffs((i32)ends) - 1 : first);
    return code;
}
