// Codes one vertex: the first reconstruction that keeps the bound and the constraints. Twins:
// src/tile/encode.rs, src/tile/vertex.rs.
#pragma once
#include "entropy/symbols.cuh"
#include "tile/window.cuh"

// Code of a vertex and its error, returned by value so that the callers' variables stay in registers.
template <typename T>
struct CodeWithError {
    Code code;
    T error;
};

// Reconstructions of a constrained vertex in the order in which the speculative mode tries them: the nearest
// one of each refinement, and after that of refinement 1 its two neighbours in the direction of the original,
// the nearer one first.
constexpr i32 SPECULATIVE_REFINEMENTS = 8, TRIALS = SPECULATIVE_REFINEMENTS + 2;
struct Trial {
    i32 refinement, neighbour;  // 0: the nearest one
    __device__ __forceinline__ explicit Trial(i32 trial)
        : refinement(trial < 2 ? trial : max(trial - 2, 1)),
          neighbour(trial == 2 || trial == 3 ? trial - 1 : 0) {}
};

// Moves the nearest reconstruction to one of the neighbours. False if its code is out of range.
template <typename T, typename P = typename Real<T>::Pair>
__device__ __forceinline__ bool move_to_neighbour(
    Quantized<T>& q, P original, P prediction, T width, i32 neighbour) {
    typedef Real<T> R;
    if (neighbour == 0) return true;
    const T error_u = q.value.x - original.x, error_v = q.value.y - original.y;
    T code;
    if ((R::abs(error_u) < R::abs(error_v)) == (neighbour == 2)) {
        code = q.code.x += error_u < T(0) ? T(1) : T(-1);
        q.value.x = prediction.x + code * width;
    } else {
        code = q.code.y += error_v < T(0) ? T(1) : T(-1);
        q.value.y = prediction.y + code * width;
    }
    return R::abs(code) <= R::MAX_CODE;
}

// Tries the refinements in order and skips the same ones as the twin. `vertex_bound` counts only if
// `constrained`.
template <typename T, typename P = typename Real<T>::Pair>
__device__ __noinline__ CodeWithError<T> constrained_vertex(TileWindow<T> window, i32 x, i32 y, P prediction,
    i32 level, Constraints<T> constraints, bool constrained, T vertex_bound) {
    const Quantizer& quantizer = constraints.control->quantizer;
    const P original = window.values[y * window.pitch + x];
    const bool compares = constrained && constraints.speculative;
    i32 next = 0;
    while (next < (compares ? TRIALS : REFINEMENTS)) {
        const Trial trial(compares ? next : 0);
        const i32 refinement = compares ? trial.refinement : next;
        const P step = step_of<T>(quantizer, level, refinement);
        Quantized<T> q = quantize<T>(original, prediction, step);
        if (!q.fits) break;
        bool passes = move_to_neighbour<T>(q, original, prediction, step.x, trial.neighbour);
        const T error = distance<T>(q.value, original);
        if (passes && error != T(0)) {
            passes = error <= constraints.accept && (!constrained || error < vertex_bound);
            if (passes && compares) passes = keeps_signatures(window, x, y, q.value, constraints.rule);
        }
        if (passes) {
            window.values[y * window.pitch + x] = q.value;
            return {{refinement, (i32)q.code.x, (i32)q.code.y}, error};
        }
        if (next == 0 && constrained && !compares) {
            i32 certain = 1;
            while (certain < REFINEMENTS && T(0.5) * (T)quantizer.width[level][certain] > vertex_bound)
                certain++;
            next = certain > 2 ? certain - 2 : 0;
        }
        next++;
    }
    return {{EXACT, 0, 0}, T(0)};
}

// Codes a vertex that is neither masked nor missing.
template <typename T, typename P = typename Real<T>::Pair>
__device__ __forceinline__ Code code_vertex(const TileWindow<T>& window, i32 x, i32 y, P prediction,
    i32 level, const Constraints<T>& constraints, T vertex_bound, T& max_error, u32& exact) {
    const bool constrained = is_constrained(vertex_bound);
    const P original = window.values[y * window.pitch + x];
    const Quantized<T> q =
        quantize<T>(original, prediction, step_of<T>(constraints.control->quantizer, level, 0));
    Code code = {EXACT, 0, 0};
    if (q.fits) {
        T error = distance<T>(q.value, original);
        bool passes = error <= constraints.accept;
        if (passes && constrained)
            passes = error < vertex_bound &&
                     (!constraints.speculative || stays_one_sided<T>(window, x, y, q.value));
        if (passes) {
            window.values[y * window.pitch + x] = q.value;
            code = {0, (i32)q.code.x, (i32)q.code.y};
        } else {
            const CodeWithError<T> coded = constrained_vertex<T>(
                window, x, y, prediction, level, constraints, constrained, vertex_bound);
            code = coded.code;
            error = coded.error;
        }
        max_error = Real<T>::high(max_error, error);
    }
    exact += code.refinement == EXACT;
    return code;
}

// Atomic minimum of non-negative floats, whose bits are ordered like the values.
__device__ __forceinline__ void lower_to(float* at, float x) {
    atomicMin(reinterpret_cast<u32*>(at), __float_as_uint(x));
}
__device__ __forceinline__ void lower_to(double* at, double x) {
    atomicMin(reinterpret_cast<ull*>(at), (ull)__double_as_longlong(x));
}

// Starts loading the largest error so far. Call with one lane; the errors of a warp seldom exceed it, so the
// warp seldom needs an atomic at its end.
__device__ __forceinline__ void expect_largest_error(const Control& control, LargestError& known) {
    copy_ahead<16>(&known, &control.max_error);
}

// Adds the statistics of a warp to those of the call. `known`: bits of the largest error at an earlier time.
template <typename T>
__device__ __forceinline__ void report_stats(
    Control& control, u32 exact, u32 critical, T max_error, u64 known) {
    exact = warp_sum(exact);
    critical = warp_sum(critical);
    for (i32 k = 16; k > 0; k /= 2) max_error = Real<T>::high(max_error, __shfl_xor_sync(FULL, max_error, k));
    if ((threadIdx.x & 31) == 0) {
        const u64 bits = (u64)__double_as_longlong((double)max_error);
        if (exact) atomicAdd((ull*)&control.exact, (ull)exact);
        if (critical) atomicAdd((ull*)&control.critical, (ull)critical);
        if (bits > known) atomicMax((ull*)&control.max_error.bits, (ull)bits);
    }
}
template <typename T>
__device__ __forceinline__ void report_stats(Control& control, u32 exact, u32 critical, T max_error) {
    report_stats<T>(control, exact, critical, max_error, *(volatile u64*)&control.max_error.bits);
}
