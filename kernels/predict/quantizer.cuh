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

// A quantized vertex: its codes (integers in floats), the decoded values, and whether the codes are in range.
template <typename T>
struct Quantized {
    typename Real<T>::Pair code, value;
    bool fits;
};
template <typename T>
__device__ __forceinline__ bool encode_residual(
    T original, T prediction, T inverse, T width, T& code, T& value) {
    const T scaled = (original - prediction) * inverse;
    code = Real<T>::round(scaled);
    value = prediction + code * width;
    return Real<T>::abs(scaled) <= Real<T>::MAX_CODE;
}
template <typename T, typename P = typename Real<T>::Pair>
__device__ __forceinline__ Quantized<T> quantize(P original, P prediction, P step) {
    Quantized<T> q;
    q.fits = encode_residual(original.x, prediction.x, step.y, step.x, q.code.x, q.value.x);
    q.fits &= encode_residual(original.y, prediction.y, step.y, step.x, q.code.y, q.value.y);
    return q;
}
