// Codes one vertex: the first refinement that keeps the bound and the constraints. Twin of
// src/tile/encode.rs.
#pragma once
#include "entropy/symbols.cuh"
#include "tile/window.cuh"

// Code of a vertex and its error, returned by value so that the callers' variables stay in registers.
template <typename T>
struct CodeWithError {
    Code code;
    T error;
};

// Tries the refinements in order and skips the same ones as the twin. `vertex_bound` counts only if
// `constrained`.
template <typename T, typename P = typename Real<T>::Pair>
__device__ __noinline__ CodeWithError<T> constrained_vertex(TileWindow<T> window, i32 x, i32 y, P prediction,
    i32 level, Constraints<T> constraints, bool constrained, T vertex_bound) {
    const Quantizer& quantizer = constraints.control->quantizer;
    const P original = window.values[y * window.pitch + x];
    i32 refinement = 0;
    while (refinement < REFINEMENTS) {
        const Quantized<T> q = quantize<T>(original, prediction, step_of<T>(quantizer, level, refinement));
        if (!q.fits) break;
        const T error = distance<T>(q.value, original);
        const bool passes =
            error == T(0) ||
            (error <= constraints.accept &&
                (!constrained ||
                    (error < vertex_bound && (!constraints.speculative || keeps_signatures(window, x, y,
                                                                              q.value, constraints.rule)))));
        if (passes) {
            window.values[y * window.pitch + x] = q.value;
            return {{refinement, (i32)q.code.x, (i32)q.code.y}, error};
        }
        if (refinement == 0 && constrained && !constraints.speculative) {
            i32 certain = 1;
            while (certain < REFINEMENTS && T(0.5) * (T)quantizer.width[level][certain] > vertex_bound)
                certain++;
            refinement = certain > 2 ? certain - 2 : 0;
        }
        refinement++;
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
