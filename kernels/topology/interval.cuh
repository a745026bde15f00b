// Interval arithmetic on doubles. Twin of src/topology/interval.rs.
#pragma once
#include "grid/element.cuh"

// More than the relative error of a rounded operation; covers the roundings of a radius; more than what
// underflows in operations on numbers below 4.
constexpr double INTERVAL_ROUNDING = 2.3e-16, INTERVAL_WIDER = 1.0 + 4.0 * INTERVAL_ROUNDING,
                 INTERVAL_UNDERFLOW = 1e-290;

// Numbers within `radius` of `middle`. Every operation contains its exact results.
struct Interval {
    double middle, radius;

    static __device__ __forceinline__ Interval exact(double middle) { return {middle, 0.0}; }
    static __device__ __forceinline__ Interval around(double middle, double radius) {
        return {middle, (radius + INTERVAL_ROUNDING * fabs(middle) + INTERVAL_UNDERFLOW) * INTERVAL_WIDER};
    }
    // The certain sign of all its numbers; 0 if there is none.
    __device__ __forceinline__ i32 sign() const { return (i32)(middle > radius) - (i32)(middle < -radius); }
    __device__ __forceinline__ Interval times(double factor) const;
    __device__ __forceinline__ Interval square() const;
};
__device__ __forceinline__ Interval operator+(const Interval& a, const Interval& b) {
    return Interval::around(a.middle + b.middle, a.radius + b.radius);
}
__device__ __forceinline__ Interval operator-(const Interval& a, const Interval& b) {
    return Interval::around(a.middle - b.middle, a.radius + b.radius);
}
__device__ __forceinline__ Interval operator*(const Interval& a, const Interval& b) {
    const double x = fabs(a.middle), y = fabs(b.middle),
                 radius = x * b.radius + y * a.radius + a.radius * b.radius;
    return Interval::around(a.middle * b.middle, radius * INTERVAL_WIDER);
}
__device__ __forceinline__ Interval Interval::times(double factor) const {
    return around(factor, 0.0) * *this;
}
__device__ __forceinline__ Interval Interval::square() const {
    if (sign() != 0) return *this * *this;
    const double most = (fabs(middle) + radius) * INTERVAL_WIDER, half = most * most / 2.0 * INTERVAL_WIDER;
    return around(half, half);
}
