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

template <typename T>
__device__ __forceinline__ Candidate<T> candidate(const Attempt<T>& attempt, i32 refinement) {
    return {attempt.value, attempt.error, {refinement, attempt.code_u(), attempt.code_v()}};
}
// A vertex that is stored.
template <typename T>
__device__ __forceinline__ Candidate<T> stored(typename Real<T>::Pair original) {
    return {original, T(0), {EXACT, 0, 0}};
}

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

// Moves the nearest reconstruction to one of the neighbours; leaves the error, which the caller computes.
// False if the code is out of range.
template <typename T, typename P = typename Real<T>::Pair>
__device__ __forceinline__ bool move_to_neighbour(
    Attempt<T>& nearest, P original, P prediction, T width, i32 neighbour) {
    typedef Real<T> R;
    if (neighbour == 0) return true;
    const T error_u = nearest.value.x - original.x, error_v = nearest.value.y - original.y;
    T code;
    if ((R::abs(error_u) < R::abs(error_v)) == (neighbour == 2)) {
        nearest.shifted.x += error_u < T(0) ? T(1) : T(-1);
        code = nearest.shifted.x - R::SHIFT;
        nearest.value.x = prediction.x + code * width;
    } else {
        nearest.shifted.y += error_v < T(0) ? T(1) : T(-1);
        code = nearest.shifted.y - R::SHIFT;
        nearest.value.y = prediction.y + code * width;
    }
    return R::abs(code) <= R::MAX_CODE;
}

// Codes a vertex that is neither masked nor missing, without a look at signatures.
template <typename T, typename P = typename Real<T>::Pair>
__device__ __noinline__ Candidate<T> code_vertex(
    P original, P prediction, i32 level, const Quantizer& quantizer, T vertex_bound) {
    const T limit = acceptance_of<T>(quantizer).limit(vertex_bound);
    const auto attempt_at = [&](i32 k) {
        return attempt<T>(original, prediction, step_of<T>(quantizer, level, k));
    };
    Attempt<T> found = attempt_at(0);
    if (!found.fits) return stored<T>(original);
    if (found.error < limit) return candidate(found, 0);
    const i32 first =
        refinement_after_first<T>(vertex_bound, [&](i32 k) { return (T)quantizer.width[level][k]; });
    const i32 refinement = first_allowed<T>(first, first + 1, limit, found, attempt_at);
    return refinement == EXACT ? stored<T>(original) : candidate(found, refinement);
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
