// Prediction of a vertex of a volume. Twin of src/predict/volume.rs, which has the order of the operations.
#pragma once
#include "predict/interpolation.cuh"

// Where the neighbours of a vertex along an axis are: the lower one, and from one to the next.
struct Neighbours {
    i32 lower, spacing;
    __device__ __forceinline__ i32 upper() const { return lower + spacing; }
};

// Interpolation of a vertex along an axis. Without branches where both inner neighbours exist, as Outer in
// predict/interpolation.cuh.
template <typename T>
struct AlongAxis {
    Neighbours to;
    i32 outer_a, outer_d;
    Outer<T> outer;
    bool has_a, has_next, has_outer;

    __device__ __forceinline__ AlongAxis() {}
    // The vertex is number `position` of 0 to `last`, in steps of `step`.
    __device__ __forceinline__ AlongAxis(
        const Interpolant<T>& k, i32 position, i32 step, i32 last, Neighbours to)
        : to(to) {
        const bool has_d = position + 3 * step <= last;
        has_a = position >= 3 * step;
        has_next = position + step <= last;
        has_outer = has_a | has_d;
        outer = outer_of(k, has_a, has_d);
        outer_a = to.lower + outer_left(has_a, has_d) * to.spacing;
        outer_d = to.lower + outer_right(has_a, has_d) * to.spacing;
    }
    // Of a vertex with a next one.
    __device__ __forceinline__ T inside(const T* at) const {
        const T a = at[outer_a], b = at[to.lower], c = at[to.upper()], d = at[outer_d];
        const T cubic = predict(outer, a, b, c, d, b + c);
        return has_outer ? cubic : T(0.5) * (b + c);
    }
    // Of a vertex without one.
    __device__ __forceinline__ T beyond(const T* at) const {
        const T b = at[to.lower];
        return has_a ? b + T(0.5) * (b - at[to.lower - to.spacing]) : b;
    }
};

// The Boolean sum of the eight vertices around one with two odd coordinates.
template <typename T>
__device__ __forceinline__ T sum_of_two(const T* at, Neighbours x, Neighbours y) {
    auto pair = [&](const T* at) { return at[x.lower] + at[x.upper()]; };
    const T sides = pair(at) + (at[y.lower] + at[y.upper()]),
            corners = pair(at + y.lower) + pair(at + y.upper());
    return T(0.5) * sides - T(0.25) * corners;
}

// The Boolean sum of the 26 vertices around one with three odd coordinates.
template <typename T>
__device__ __forceinline__ T sum_of_three(const T* at, Neighbours x, Neighbours y, Neighbours z) {
    auto pair = [](const T* at, Neighbours to) { return at[to.lower] + at[to.upper()]; };
    auto four = [&](const T* at, Neighbours d, Neighbours e) {
        return pair(at + e.lower, d) + pair(at + e.upper(), d);
    };
    const T faces = (pair(at, x) + pair(at, y)) + pair(at, z),
            edges = (four(at, x, y) + four(at, x, z)) + four(at, y, z),
            corners = four(at + z.lower, x, y) + four(at + z.upper(), x, y);
    return (T(0.5) * faces - T(0.25) * edges) + T(0.125) * corners;
}
