// Codes one vertex: the first reconstruction that keeps the bound and the constraints. Twins:
// src/tile/encode.rs, src/tile/vertex.rs.
#pragma once
#include "entropy/differences.cuh"
#include "predict/quantizer.cuh"
#include "tile/window.cuh"

// A reconstruction of a vertex, its error and its code.
template <typename T>
struct Candidate {
    typename Real<T>::Pair value;
    T error;
    Code code;
};

// Symbol and raw bits of a vertex, with stored_symbol() where it is stored.
template <typename T, typename P = typename Real<T>::Pair>
__device__ __forceinline__ Symbol symbol_of(const Candidate<T>& coded, P original, P prediction) {
    return coded.code.refinement == EXACT ? stored_symbol<T>(original, prediction) : symbol_of(coded.code);
}

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

// True if a reconstruction meets the bounds of a vertex: it is exact, or its error is accepted and below the
// vertex bound, which is infinite where there is none. Twin of Acceptance::allows in
// src/predict/quantizer.rs.
template <typename T>
__device__ __forceinline__ bool allows(T error, T accept, T vertex_bound) {
    return error == T(0) || (error <= accept && error < vertex_bound);
}

// Codes a vertex that is neither masked nor missing, without a look at signatures: the refinements in order,
// less those that the twin skips.
template <typename T, typename P = typename Real<T>::Pair>
__device__ __noinline__ Candidate<T> code_vertex(
    P original, P prediction, i32 level, const Quantizer& quantizer, T accept, T vertex_bound) {
    const bool constrained = is_constrained(vertex_bound);
    i32 next = 0;
    while (next < REFINEMENTS) {
        const Quantized<T> q = quantize<T>(original, prediction, step_of<T>(quantizer, level, next));
        if (!q.fits) break;
        const T error = distance<T>(q.value, original);
        if (allows(error, accept, vertex_bound))
            return {q.value, error, {next, (i32)q.code.x, (i32)q.code.y}};
        if (next == 0 && constrained) {
            i32 certain = 1;
            while (certain < REFINEMENTS && T(0.5) * (T)quantizer.width[level][certain] > vertex_bound)
                certain++;
            next = certain > 2 ? certain - 2 : 0;
        }
        next++;
    }
    return {original, T(0), {EXACT, 0, 0}};
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
