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
    bool is_inside, has_a, has_next, has_outer;

    // The vertex is number `position` of 0 to `last`, in steps of `step`. `whole`: the next one is there if
    // it is.
    __device__ __forceinline__ AlongAxis(
        const Interpolant<T>& k, i32 position, i32 step, i32 last, bool whole, Neighbours to)
        : to(to) {
        const bool has_d = position + 3 * step <= last;
        is_inside = position <= last;
        has_a = position >= 3 * step;
        has_next = whole || position + step <= last;
        has_outer = has_a | has_d;
        outer = outer_of(k, has_a, has_d);
        outer_a = to.lower + outer_left(has_a, has_d) * to.spacing;
        outer_d = to.lower + outer_right(has_a, has_d) * to.spacing;
    }
    __device__ __forceinline__ T operator()(const T* at) const {
        const T b = at[to.lower];
        if (!has_next) return has_a ? b + T(0.5) * (b - at[to.lower - to.spacing]) : b;
        const T a = at[outer_a], c = at[to.upper()], d = at[outer_d];
        return has_outer ? predict(outer, a, b, c, d, b + c) : T(0.5) * (b + c);
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

// The axes of ODD that have a next vertex; where some axes would extrapolate, they count alone.
template <u32 ODD, typename T>
__device__ __forceinline__ u32 axes_with_next(const AlongAxis<T> (&along)[3]) {
    u32 next = 0;
#pragma unroll
    for (u32 axis = 0; axis < 3; axis++)
        if (ODD >> axis & 1) next |= (u32)along[axis].has_next << axis;
    return next;
}

// The mean of the interpolations along the axes of ODD that are in `axes`.
template <u32 ODD, typename T>
__device__ __forceinline__ T mean_along(const AlongAxis<T> (&along)[3], u32 axes, const T* at) {
    T sum = T(0);
#pragma unroll
    for (u32 axis = 0; axis < 3; axis++)
        if (ODD >> axis & 1 && axes >> axis & 1) {
            const T one = along[axis](at);
            sum = axes & ((1u << axis) - 1) ? sum + one : one;
        }
    const i32 count = __popc(axes);
    return count == 1 ? sum : count == 2 ? T(0.5) * sum : T(1.0 / 3.0) * sum;
}

// The Boolean sum of a vertex with two or three odd axes, those of ODD.
template <u32 ODD, typename T>
__device__ __forceinline__ T boolean_sum(const Neighbours (&to)[3], const T* at) {
    if (ODD == 7) return sum_of_three(at, to[0], to[1], to[2]);
    return sum_of_two(at, to[ODD & 1 ? 0 : 1], to[ODD & 4 ? 2 : 1]);
}
