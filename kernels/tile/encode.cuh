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

// Tries the refinements in order and skips the same ones as the twin. `vertex_bound` counts only if `constrained`.
template <typename T, typename P = typename Real<T>::Pair>
__device__ __noinline__ CodeWithError<T> constrained_vertex(TileWindow<T> window, i32 x, i32 y, P prediction,
    i32 level, Constraints<T> constraints, bool constrained, T vertex_bound) {
    const Quantizer& q = constraints.control->quantizer;
    P original = window.values[y * window.pitch + x];
    i32 refinement = 0;
    while (refinement < REFINEMENTS) {
        T width = (T)q.width[level][refinement], inverse = (T)q.inverse[level][refinement];
        T cu, cv, ru, rv;
        bool ok = encode_residual(original.x, prediction.x, inverse, width, cu, ru);
        ok &= encode_residual(original.y, prediction.y, inverse, width, cv, rv);
        if (!ok) break;
        T eu = Real<T>::abs(ru - original.x), ev = Real<T>::abs(rv - original.y);
        T error = ev > eu ? ev : eu;
        bool passes = error == T(0) ||
                      (error <= constraints.accept &&
                          (!constrained ||
                              (error < vertex_bound && (!constraints.speculative ||
                                                           keeps_signatures(window, x, y,
                                                               Real<T>::pair(ru, rv), constraints.rule)))));
        if (passes) {
            window.values[y * window.pitch + x] = Real<T>::pair(ru, rv);
            return {{refinement, (i32)cu, (i32)cv}, error};
        }
        if (refinement == 0 && constrained && !constraints.speculative) {
            i32 certain = 1;
            while (certain < REFINEMENTS && T(0.5) * (T)q.width[level][certain] > vertex_bound) certain++;
            refinement = certain > 2 ? certain - 2 : 0;
        }
        refinement++;
    }
    return {{EXACT, 0, 0}, T(0)};
}

// Codes a vertex that is neither masked nor missing. `constrained`: obey the bound, and in the speculative mode keep
// the signatures.
template <typename T, typename P = typename Real<T>::Pair>
__device__ __forceinline__ Code code_vertex(const TileWindow<T>& window, i32 x, i32 y, P prediction,
    i32 level, T width, T inverse, const Constraints<T>& constraints, bool constrained, T vertex_bound,
    T& max_error, u32& exact) {
    P original = window.values[y * window.pitch + x];
    T cu, cv, ru, rv;
    bool ok = encode_residual(original.x, prediction.x, inverse, width, cu, ru);
    ok &= encode_residual(original.y, prediction.y, inverse, width, cv, rv);
    Code code = {EXACT, 0, 0};
    if (ok) {
        T error = Real<T>::high(Real<T>::abs(ru - original.x), Real<T>::abs(rv - original.y));
        bool passes = error <= constraints.accept;
        if (passes && constrained)
            passes = error < vertex_bound &&
                     (!constraints.speculative || stays_one_sided<T>(window, x, y, Real<T>::pair(ru, rv)));
        if (passes) {
            window.values[y * window.pitch + x] = Real<T>::pair(ru, rv);
            code = {0, (i32)cu, (i32)cv};
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
    atomicMin(reinterpret_cast<unsigned long long*>(at), (unsigned long long)__double_as_longlong(x));
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
        if (exact) atomicAdd((unsigned long long*)&control.exact, (unsigned long long)exact);
        if (critical) atomicAdd((unsigned long long*)&control.critical, (unsigned long long)critical);
        if (bits > known) atomicMax((unsigned long long*)&control.max_error.bits, (unsigned long long)bits);
    }
}
template <typename T>
__device__ __forceinline__ void report_stats(Control& control, u32 exact, u32 critical, T max_error) {
    report_stats<T>(control, exact, critical, max_error, *(volatile u64*)&control.max_error.bits);
}
