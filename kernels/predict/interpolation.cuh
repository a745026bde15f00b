// Interpolation of a vertex from coarser levels. Twin of src/predict/interpolation.rs. Values are (u, v)
// pairs.
#pragma once
#include "grid/element.cuh"
#include "grid/tiles.cuh"

constexpr i32 INTERPOLANTS = 6;

template <typename T>
struct Interpolant {
    T middle, side;
    bool coons;
};

template <typename T>
__device__ __forceinline__ Interpolant<T> interpolant_of(u32 choice) {
    const u32 k = choice < 3 ? choice : choice - 3;
    Interpolant<T> interpolant;
    interpolant.middle = k == 0 ? T(0.0625) : k == 1 ? T(0.03125) : T(0);
    interpolant.side = k == 0 ? T(0.125) : T(0);
    interpolant.coons = choice >= 3;
    return interpolant;
}

// Between b and c, with outer neighbours a and d. The weighted sum of the outer differences covers three and
// four neighbours without branches: a missing outer difference is replaced by the inner one. Rounds as the
// twin does.
template <typename T>
__device__ __forceinline__ T between(T a, T b, T c, T d, bool has_a, bool has_d, T weight) {
    T mean = T(0.5) * (b + c);
    T left = (has_a ? b : c) - (has_a ? a : b);
    T right = (has_d ? c : b) - (has_d ? d : c);
    T value = mean + weight * (left + right);
    return has_a || has_d ? value : mean;
}

// Prediction along a line. `distance` is one step in the buffer, `at` the index of the vertex.
template <typename T, typename P = typename Real<T>::Pair>
__device__ __forceinline__ P along(
    const Interpolant<T>& k, const P* values, i32 at, i32 distance, i32 position, i32 step, i32 last) {
    bool has_a = position >= 3 * step, has_c = position + step <= last, has_d = position + 3 * step <= last;
    P b = values[at - distance];
    P a = values[has_a ? at - 3 * distance : at - distance];
    P c = values[has_c ? at + distance : at - distance];
    P d = values[has_d ? at + 3 * distance : at - distance];
    if (!has_c) {
        // The far neighbour lies outside the grid: extrapolate.
        if (!has_a) return b;
        return Real<T>::pair(b.x + T(0.5) * (b.x - a.x), b.y + T(0.5) * (b.y - a.y));
    }
    T weight = has_a && has_d ? k.middle : k.side;
    return Real<T>::pair(
        between(a.x, b.x, c.x, d.x, has_a, has_d, weight), between(a.y, b.y, c.y, d.y, has_a, has_d, weight));
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
    return Real<T>::pair(
        predict(k, a.x, b.x, c.x, d.x, b.x + c.x), predict(k, a.y, b.y, c.y, d.y, b.y + c.y));
}

template <typename T, typename P = typename Real<T>::Pair>
__device__ __forceinline__ P pair_sum(P a, P b) {
    return Real<T>::pair(a.x + b.x, a.y + b.y);
}
template <typename T, typename P = typename Real<T>::Pair>
__device__ __forceinline__ P half_sum(P a, P b) {
    return Real<T>::pair(T(0.5) * (a.x + b.x), T(0.5) * (a.y + b.y));
}

// Coons patch from the four neighbours and the sums of the corners above and below.
template <typename T, typename P = typename Real<T>::Pair>
__device__ __forceinline__ P coons(P left, P right, P top, P bottom, P above, P below) {
    return Real<T>::pair(
        (T(0.5) * (left.x + right.x) + T(0.5) * (top.x + bottom.x)) - T(0.25) * (above.x + below.x),
        (T(0.5) * (left.y + right.y) + T(0.5) * (top.y + bottom.y)) - T(0.25) * (above.y + below.y));
}

template <typename T, typename P = typename Real<T>::Pair>
__device__ __forceinline__ P centre(
    const Interpolant<T>& k, const P* values, i32 pitch, i32 x, i32 y, i32 step, i32 last_x, i32 last_y) {
    i32 at = y * pitch + x, dx = step, dy = step * pitch;
    if (k.coons && x + step <= last_x && y + step <= last_y) {
        P l = values[at - dx], r = values[at + dx], t = values[at - dy], b = values[at + dy];
        P tl = values[at - dy - dx], tr = values[at - dy + dx], bl = values[at + dy - dx],
          br = values[at + dy + dx];
        T ax = T(0.5) * (l.x + r.x), ay = T(0.5) * (l.y + r.y);
        T dx_ = T(0.5) * (t.x + b.x), dy_ = T(0.5) * (t.y + b.y);
        T cx = T(0.25) * ((tl.x + tr.x) + (bl.x + br.x)), cy = T(0.25) * ((tl.y + tr.y) + (bl.y + br.y));
        return Real<T>::pair((ax + dx_) - cx, (ay + dy_) - cy);
    }
    P across = along<T>(k, values, at, dx, x, step, last_x);
    P down = along<T>(k, values, at, dy, y, step, last_y);
    return Real<T>::pair(T(0.5) * (across.x + down.x), T(0.5) * (across.y + down.y));
}
