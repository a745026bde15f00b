// Interpolation of a vertex from coarser levels. Twin of src/predict/interpolation.rs. Values are (u, v)
// pairs.
#pragma once
#include "grid/pair.cuh"
#include "grid/tiles.cuh"

template <typename T>
struct Interpolant {
    T middle, side;
    bool coons;
};

template <typename T>
__device__ __forceinline__ Interpolant<T> interpolant_of(u32 choice) {
    const u32 k = choice < 3 ? choice : choice - 3;
    Interpolant<T> interpolant;
    interpolant.middle = k == 0 ? T(CUBIC_MIDDLE) : k == 1 ? T(SOFTENED_MIDDLE) : T(0);
    interpolant.side = k == 0 ? T(CUBIC_SIDE) : T(0);
    interpolant.coons = choice >= 3;
    return interpolant;
}

// Between b and c, with outer neighbours a and d. The weighted sum of the outer differences covers three and
// four neighbours without branches: a missing outer difference is replaced by the inner one. Rounds as the
// twin does.
template <typename T>
__device__ __forceinline__ T between(T a, T b, T c, T d, bool has_a, bool has_d, T weight) {
    const T mean = T(0.5) * (b + c);
    const T left = (has_a ? b : c) - (has_a ? a : b);
    const T right = (has_d ? c : b) - (has_d ? d : c);
    const T value = mean + weight * (left + right);
    return has_a || has_d ? value : mean;
}

// Prediction along a line. `distance` is one step in the buffer, `at` the index of the vertex.
template <typename T, typename P = typename Real<T>::Pair>
__device__ __forceinline__ P along(
    const Interpolant<T>& k, const P* values, i32 at, i32 distance, i32 position, i32 step, i32 last) {
    const bool has_a = position >= 3 * step, has_c = position + step <= last,
               has_d = position + 3 * step <= last;
    const P b = values[at - distance];
    const P a = values[has_a ? at - 3 * distance : at - distance];
    const P c = values[has_c ? at + distance : at - distance];
    const P d = values[has_d ? at + 3 * distance : at - distance];
    if (!has_c) {
        // The far neighbour lies outside the grid: extrapolate.
        if (!has_a) return b;
        return by_component<T>([](T a, T b) { return b + T(0.5) * (b - a); }, a, b);
    }
    const T weight = has_a && has_d ? k.middle : k.side;
    return by_component<T>(
        [&](T a, T b, T c, T d) { return between(a, b, c, d, has_a, has_d, weight); }, a, b, c, d);
}

// Prediction inside a closed tile of the grid, where both inner neighbours always exist, without selecting
// values: the address of a missing a is that of c, of a missing d that of b, which gives the inner difference
// except for its sign. `sign` and `weight` correct the signs; without outer neighbours the weight is 0.
// Results equal those of `between` except for the sign of a zero, which is lost when a residual is added.
template <typename T>
struct Outer {
    T sign, weight;
};
template <typename T>
__device__ __forceinline__ Outer<T> outer_of(const Interpolant<T>& k, bool has_a, bool has_d) {
    return {has_a && has_d ? T(1) : T(-1), has_a ? (has_d ? k.middle : -k.side) : has_d ? k.side : T(0)};
}
// Where a and d are read: offset from b in distances between b and c.
__device__ __forceinline__ i32 outer_left(bool has_a, bool has_d) { return has_a ? -1 : has_d ? 1 : 0; }
__device__ __forceinline__ i32 outer_right(bool has_a, bool has_d) { return has_d ? 2 : has_a ? 0 : 1; }

template <typename T>
__device__ __forceinline__ T predict(const Outer<T>& k, T a, T b, T c, T d, T b_and_c) {
    return T(0.5) * b_and_c + k.weight * Real<T>::fma(k.sign, b - a, c - d);
}
template <typename T, typename P = typename Real<T>::Pair>
__device__ __forceinline__ P predict(const Outer<T>& k, P a, P b, P c, P d) {
    return by_component<T>([&](T a, T b, T c, T d) { return predict(k, a, b, c, d, b + c); }, a, b, c, d);
}

// Coons patch from the four neighbours and the sums of the corners above and below.
template <typename T, typename P = typename Real<T>::Pair>
__device__ __forceinline__ P coons(P left, P right, P top, P bottom, P above, P below) {
    return by_component<T>(
        [](T left, T right, T top, T bottom, T above, T below) {
            return (T(0.5) * (left + right) + T(0.5) * (top + bottom)) - T(0.25) * (above + below);
        },
        left, right, top, bottom, above, below);
}

template <typename T, typename P = typename Real<T>::Pair>
__device__ __forceinline__ P centre(
    const Interpolant<T>& k, const P* values, i32 pitch, i32 x, i32 y, i32 step, i32 last_x, i32 last_y) {
    const i32 at = y * pitch + x, dx = step, dy = step * pitch;
    if (k.coons && x + step <= last_x && y + step <= last_y)
        return coons<T>(values[at - dx], values[at + dx], values[at - dy], values[at + dy],
            sum<T>(values[at - dy - dx], values[at - dy + dx]),
            sum<T>(values[at + dy - dx], values[at + dy + dx]));
    // Where one axis would extrapolate, the other counts alone.
    const bool extrapolates_x = x + step > last_x, extrapolates_y = y + step > last_y;
    const P on_row = along<T>(k, values, at, dx, x, step, last_x),
            on_column = along<T>(k, values, at, dy, y, step, last_y);
    if (extrapolates_x != extrapolates_y) return extrapolates_x ? on_column : on_row;
    return mean<T>(on_row, on_column);
}
