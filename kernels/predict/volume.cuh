// Prediction of a vertex of a volume. Twin of src/predict/volume.rs, which has the order of the operations.
#pragma once
#include "predict/interpolation.cuh"

// A vertex in a window of values: its index there, the distances of its neighbours along each axis, its
// coordinates, the last ones, and the step of its level.
struct VolumePlace {
    i32 at, distance[3], local[3], last[3], step;

    __device__ __forceinline__ bool has_next(i32 axis) const { return local[axis] + step <= last[axis]; }
};

// Interpolation along an axis of one component.
template <typename T>
__device__ __forceinline__ T along_axis(
    const Interpolant<T>& k, const T* values, const VolumePlace& place, i32 axis) {
    const i32 at = place.at, distance = place.distance[axis], position = place.local[axis], step = place.step,
              last = place.last[axis];
    const bool has_a = position >= 3 * step, has_c = position + step <= last,
               has_d = position + 3 * step <= last;
    const T b = values[at - distance], a = values[has_a ? at - 3 * distance : at - distance];
    if (!has_c) return has_a ? b + T(0.5) * (b - a) : b;
    const T c = values[at + distance], d = values[has_d ? at + 3 * distance : at + distance];
    return between(a, b, c, d, has_a, has_d, has_a && has_d ? k.middle : k.side);
}

// The Boolean sum of the eight vertices around one with two odd coordinates, at distances a and b.
template <typename T>
__device__ __forceinline__ T sum_of_two(const T* at, i32 a, i32 b) {
    const T sides = (at[-a] + at[a]) + (at[-b] + at[b]),
            corners = (at[-a - b] + at[a - b]) + (at[-a + b] + at[a + b]);
    return T(0.5) * sides - T(0.25) * corners;
}

// The Boolean sum of the 26 vertices around one with three odd coordinates.
template <typename T>
__device__ __forceinline__ T sum_of_three(const T* at, i32 a, i32 b, i32 c) {
    auto pair = [](const T* at, i32 d) { return at[-d] + at[d]; };
    auto four = [&](const T* at, i32 d, i32 e) { return pair(at - e, d) + pair(at + e, d); };
    const T faces = (pair(at, a) + pair(at, b)) + pair(at, c),
            edges = (four(at, a, b) + four(at, a, c)) + four(at, b, c),
            corners = four(at - c, a, b) + four(at + c, a, b);
    return (T(0.5) * faces - T(0.25) * edges) + T(0.125) * corners;
}

// The mean of the interpolations along some axes, a bit each.
template <typename T>
__device__ __forceinline__ T mean_along(
    const Interpolant<T>& k, const T* values, const VolumePlace& place, u32 axes) {
    T sum = T(0);
#pragma unroll
    for (i32 axis = 0; axis < 3; axis++)
        if (axes >> axis & 1) {
            const T one = along_axis(k, values, place, axis);
            sum = axes & ((1u << axis) - 1) ? sum + one : one;
        }
    const i32 count = __popc(axes & 7);
    return count == 1 ? sum : count == 2 ? T(0.5) * sum : T(1.0 / 3.0) * sum;
}

// The axes that a vertex with these odd axes is predicted along: those with a next vertex. If none has one,
// all of them, and EXTRAPOLATES.
constexpr u32 EXTRAPOLATES = 8;
__device__ __forceinline__ u32 predicted_axes(const VolumePlace& place, u32 odd) {
    u32 next = 0;
#pragma unroll
    for (i32 axis = 0; axis < 3; axis++) next |= (odd >> axis & (u32)place.has_next(axis)) << axis;
    return next ? next : odd | EXTRAPOLATES;
}

// The prediction of a component of a vertex with ODD odd axes, those of `odd`, which is predicted along
// `axes`.
template <typename T, i32 ODD>
__device__ __forceinline__ T predict_in_volume(
    const Interpolant<T>& k, const T* values, const VolumePlace& place, u32 odd, u32 axes) {
    if (ODD > 1 && k.coons && axes == odd) {
        const i32* const distance = place.distance;
        if (ODD == 3) return sum_of_three(values + place.at, distance[0], distance[1], distance[2]);
        return sum_of_two(
            values + place.at, odd & 1 ? distance[0] : distance[1], odd & 4 ? distance[2] : distance[1]);
    }
    return mean_along(k, values, place, axes);
}
