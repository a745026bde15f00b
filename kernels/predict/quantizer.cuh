// Uniform quantization of residuals. Twin of src/predict/quantizer.rs.
#pragma once
#include "device/control.cuh"
#include "grid/pair.cuh"

__device__ __forceinline__ double level_scaling_alpha(u32 level_bound_scaling) {
    return level_bound_scaling ? LEVEL_SCALING_ALPHA : 1.0;
}
__device__ __forceinline__ double level_scaling_beta(u32 level_bound_scaling) {
    return level_bound_scaling ? LEVEL_SCALING_BETA : 1.0;
}

template <typename T>
__device__ T acceptance(double bound) {
    T rounded = (T)bound;
    if (!Real<T>::finite(rounded)) return Real<T>::MAX;
    T below = Real<T>::next_down(rounded);
    return below > T(0) ? below : T(0);
}

template <typename T>
__device__ double useful_bound(double bound, T largest, bool preserve) {
    const double most = 2.0 * (double)largest, lowered = preserve ? 0.1 * most : most;
    return lowered > 0.0 && most < bound ? lowered : bound;
}

template <typename T>
__device__ double half_bin_width_of(double bound, T largest) {
    double rounding = Real<T>::ulp(largest);
    return rounding < 0.25 * bound ? bound - rounding : bound;
}

// Bin width of one level and refinement.
template <typename T>
__device__ void quantizer_entry(double half_bin_width, u32 level_bound_scaling, i32 level, i32 refinement,
    double& width, double& inverse) {
    double factor = 1.0;
    for (i32 l = 0; l < level; l++) factor *= level_scaling_alpha(level_bound_scaling);
    double beta = level_scaling_beta(level_bound_scaling);
    double w = 2.0 * half_bin_width / (factor < beta ? factor : beta);
    for (i32 k = 0; k < refinement; k++) w *= 0.25;
    T t = (T)w;
    T i = (T)(1.0 / (double)t);
    width = (double)t;
    inverse = Real<T>::finite(i) ? (double)i : 0.0;
}

// Bin width and its reciprocal.
template <typename T, typename P = typename Real<T>::Pair>
__device__ __forceinline__ P step_of(const Quantizer& q, i32 level, i32 refinement) {
    return Real<T>::pair((T)q.width[level][refinement], (T)q.inverse[level][refinement]);
}

// A vertex that is quantized and reconstructed. Twin of Attempt in src/predict/quantizer.rs, which has one
// component.
template <typename T>
struct Attempt {
    typedef Real<T> R;
    typename R::Pair shifted;  // codes plus R::SHIFT, so that no conversion is needed
    typename R::Pair value;    // the reconstruction
    T error;                   // its distance from the original
    bool fits;                 // both codes are in range; otherwise the other members mean nothing

    __device__ __forceinline__ i32 code_u() const { return integer(shifted.x); }
    __device__ __forceinline__ i32 code_v() const { return integer(shifted.y); }
    // The codes as floats.
    __device__ __forceinline__ typename R::Pair codes() const {
        return R::pair(shifted.x - R::SHIFT, shifted.y - R::SHIFT);
    }

private:
    static __device__ __forceinline__ i32 integer(T shifted) {
        return (i32)(R::shifted_code(shifted) - R::SHIFTED_ZERO);
    }
};

// Quantizes a residual, reconstructs and compares. `reconstruct` is given multiples of the step, one for each
// component. `step`: bin width and reciprocal.
template <typename T, typename Reconstruct, typename P = typename Real<T>::Pair>
__device__ __forceinline__ Attempt<T> attempt_residual(
    P original, P residual, P step, Reconstruct reconstruct) {
    typedef Real<T> R;
    const T scaled_u = residual.x * step.y, scaled_v = residual.y * step.y;
    Attempt<T> attempt;
    // False for NaN as well.
    attempt.fits = (R::abs(scaled_u) <= R::MAX_CODE) & (R::abs(scaled_v) <= R::MAX_CODE);
    attempt.shifted = R::pair(scaled_u + R::SHIFT, scaled_v + R::SHIFT);
    const P codes = attempt.codes();
    attempt.value = reconstruct(R::pair(codes.x * step.x, codes.y * step.x));
    attempt.error = distance<T>(attempt.value, original);
    return attempt;
}
// Around a prediction.
template <typename T, typename P = typename Real<T>::Pair>
__device__ __forceinline__ Attempt<T> attempt(P original, P prediction, P step) {
    return attempt_residual<T>(original, difference<T>(original, prediction), step,
        [&](P multiple) { return sum<T>(prediction, multiple); });
}
// Without a prediction.
template <typename T, typename P = typename Real<T>::Pair>
__device__ __forceinline__ Attempt<T> attempt_unpredicted(P original, P step) {
    return attempt_residual<T>(original, original, step, [](P multiple) { return multiple; });
}

// The decision on an error: the only place that accepts a reconstruction. Twin of Acceptance in
// src/predict/quantizer.rs.
template <typename T>
struct Acceptance {
    T above;  // smallest error that is not within the error bound

    __device__ __forceinline__ bool within(T error) const { return error < above; }
    // Smallest error that a vertex with a bound of its own may not have. The bound is infinite where there is
    // none. No error at all is always allowed.
    __device__ __forceinline__ T limit(T vertex_bound) const {
        return Real<T>::high(Real<T>::low(vertex_bound, above), Real<T>::from_bits(1));
    }
    __device__ __forceinline__ bool allows(T error, T vertex_bound) const {
        return error < limit(vertex_bound);
    }
};
template <typename T>
__device__ __forceinline__ Acceptance<T> acceptance_of(const Quantizer& quantizer) {
    return {-Real<T>::next_down(-(T)quantizer.accept)};
}

// Refinement to try after refinement 0 has failed: one before the first whose errors, half a bin at most, all
// meet the vertex bound. `width_of` tells the bin width of a refinement. Twin of next in src/tile/vertex.rs.
template <typename T, typename WidthOf>
__device__ __forceinline__ i32 refinement_after_first(T vertex_bound, WidthOf width_of) {
    i32 certain = 1;
#pragma unroll 1
    while (certain < REFINEMENTS && T(0.5) * width_of(certain) > vertex_bound) certain++;
    return max(certain - 1, 1);
}

// Attempts `refinement`, then `next` and those after it, until an error is below the limit. Finer codes are
// larger: after one that does not fit none can follow. Returns the refinement of `found`, or EXACT.
template <typename T, typename AttemptAt>
__device__ __forceinline__ i32 first_allowed(
    i32 refinement, i32 next, T limit, Attempt<T>& found, AttemptAt attempt_at) {
#pragma unroll 1
    while (true) {
        found = attempt_at(refinement);
        if (found.fits && found.error < limit) return refinement;
        if (!found.fits || next >= REFINEMENTS) return EXACT;
        refinement = next++;
    }
}
