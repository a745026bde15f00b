// Eigenvalues of the Jacobian of a triangle, rounded, and whether its divergence is at the level of rounding.
// Twin of src/analysis/eigenvalues.rs.
#pragma once
#include "analysis/bands.cuh"

namespace analysis {

// The divergence of a focus is rounding where |trace| is at most this fraction of the sum of the magnitudes
// of the four derivatives.

// A NaN with the bits that the host has too.
__device__ __forceinline__ double unknown() { return __longlong_as_double(0x7ff8000000000000ll); }

template <typename T>
__device__ __forceinline__ void write_eigenvalues(
    const Corners<T>& p, i32 triangle, i32 type, double dx, double dy, CriticalPoint& point) {
    auto difference = [&](const T corners[3], i32 begin, i32 end) {
        return (double)at_end(corners, triangle, end) - (double)at_end(corners, triangle, begin);
    };
    double derivatives[4] = {difference(p.u, X_BEGIN, X_END) / dx, difference(p.u, Y_BEGIN, Y_END) / dy,
        difference(p.v, X_BEGIN, X_END) / dx, difference(p.v, Y_BEGIN, Y_END) / dy};
    double largest = 0.0;
#pragma unroll
    for (i32 k = 0; k < 4; k++) largest = fmax(largest, fabs(derivatives[k]));
    point.rounding_divergence = 0;
    if (!Real<double>::finite(largest)) {
        point.eigenvalues_real[0] = point.eigenvalues_real[1] = unknown();
        point.eigenvalues_imaginary[0] = point.eigenvalues_imaginary[1] = unknown();
        return;
    }
    const i32 exponent = (i32)((u64)__double_as_longlong(largest) >> 52),
              shift = min(max(1023 - exponent, -1022), 1022);
#pragma unroll
    for (i32 k = 0; k < 4; k++) derivatives[k] *= power_of_two(shift);
    const double a = derivatives[0], b = derivatives[1], c = derivatives[2], d = derivatives[3];
    const double trace = a + d, half = 0.5 * (a - d), discriminant = half * half + b * c,
                 root = sqrt(fabs(discriminant)), back = power_of_two(-shift);
    const bool is_focus = type == ATTRACTING_FOCUS || type == REPELLING_FOCUS, is_center = type == CENTER;
    const double middle = is_center ? 0.0 : 0.5 * trace;
    const bool is_complex = is_focus || is_center;
    point.eigenvalues_real[0] = (is_complex ? middle : middle + root) * back;
    point.eigenvalues_real[1] = (is_complex ? middle : middle - root) * back;
    point.eigenvalues_imaginary[0] = (is_complex ? root : 0.0) * back;
    point.eigenvalues_imaginary[1] = (is_complex ? -root : 0.0) * back;
    const double gradient = (fabs(a) + fabs(b)) + (fabs(c) + fabs(d));
    const double tolerance = sizeof(T) == 4 ? ROUNDING_DIVERGENCE_F32 : ROUNDING_DIVERGENCE_F64;
    point.rounding_divergence = is_focus && fabs(trace) <= tolerance * gradient;
}

}  // namespace analysis
