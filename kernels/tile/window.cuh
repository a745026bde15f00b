// The window of a tile (or of part of it) on the field, and the constraints on its vertices. Twin of
// src/tile/window.rs.
#pragma once
#include "device/control.cuh"
#include "grid/field.cuh"
#include "grid/missing.cuh"
#include "topology/bound.cuh"

// Marks a vertex without a bound of its own.
template <typename T>
__device__ __forceinline__ T no_bound() {
    return Real<T>::infinity();
}
template <typename T>
__device__ __forceinline__ bool is_constrained(T vertex_bound) {
    return vertex_bound <= Real<T>::MAX;
}

// Constraints that are common to all vertices of a call.
template <typename T>
struct Constraints {
    Rule rule;
    double bound;
    T bound_up;
    bool speculative, preserve;
};

template <typename T>
__device__ __forceinline__ Constraints<T> constraints_of(const Job& job, const Control& control) {
    Constraints<T> c;
    c.rule = rule_of(job);
    c.bound = control.useful_bound;
    c.bound_up = (T)control.bound_up;
    c.preserve = job.preserve != PRESERVE_NONE;
    c.speculative = job.mode == SPECULATIVE && c.preserve;
    return c;
}

// Vertices in shared or local memory. Bit x of a row of `missing` is column x.
template <typename T>
struct TileWindow {
    typename Real<T>::Pair* values;
    i32 pitch, width, height;
    const u32* missing;  // [height][words], null if the field has no missing vertices
    i32 words;
};

template <typename T>
__device__ __forceinline__ Corners<T> corner_values(const TileWindow<T>& window, i32 x, i32 y, i32 triangle) {
    Corners<T> p;
#pragma unroll
    for (i32 k = 0; k < 3; k++) {
        auto value = window.values[(y + corner_y(triangle, k)) * window.pitch + x + corner_x(triangle, k)];
        p.u[k] = value.x;
        p.v[k] = value.y;
    }
    return p;
}

// Sides of the grid that a vertex lies beyond; y is its row in the plane.
__device__ __forceinline__ u32 sides_at(const Job& job, long long x, long long y) {
    return (x < 0 ? SIDE_X_MIN : 0u) | (x >= (long long)job.nx ? SIDE_X_MAX : 0u) |
           (y < 0 ? SIDE_Y_MIN : 0u) | (y >= (long long)job.ny ? SIDE_Y_MAX : 0u);
}

__device__ __forceinline__ bool on_border(const Job& job, u64 x, u64 y) {
    return x == 0 || y == 0 || x == job.nx - 1 || y == job.ny - 1;
}

// True if a corner has the fill value.
template <typename T>
__device__ __forceinline__ bool has_filled(const Corners<T>& p, u64 fill) {
    return is_filled(p.u[0], p.v[0], fill) || is_filled(p.u[1], p.v[1], fill) ||
           is_filled(p.u[2], p.v[2], fill);
}

// Bound of a vertex on the border of the grid from pinned sides and from triangles that reach into the halo
// or across a periodic side; the maximum of T without any. y: row in the plane that begins at row `plane`.
template <typename T>
__device__ __noinline__ T border_bound(
    const Job& job, const Constraints<T>& constraints, u64 plane, long long x, long long y) {
    u32 around =
        sides_at(job, x - 1, y) | sides_at(job, x + 1, y) | sides_at(job, x, y - 1) | sides_at(job, x, y + 1);
    T vertex_bound = Real<T>::MAX;
    if (around & job.pin) return T(0);
    if (!constraints.preserve) return vertex_bound;
    for (i32 k = 0; k < AROUND; k++) {
        long long cx = x + incident_x(k), cy = y + incident_y(k);
        i32 triangle = incident_triangle(k);
        u32 outside = 0;
        for (i32 c = 0; c < 3; c++)
            outside |= sides_at(job, cx + corner_x(triangle, c), cy + corner_y(triangle, c));
        if (outside == 0 || (outside & ~job.halo)) continue;
        Corners<T> p;
#pragma unroll
        for (i32 c = 0; c < 3; c++) {
            long long px = cx + corner_x(triangle, c), py = cy + corner_y(triangle, c);
            wrap(job, px, py);
            const auto corner = load_vertex<T>(job, px, (long long)plane + py);
            p.u[c] = corner.x, p.v[c] = corner.y;
        }
        if (!(axis_distance(p) > constraints.bound_up) && !has_filled(p, job.fill)) {
            T b = triangle_bound(p, triangle, constraints.rule, constraints.bound).vertex_bound;
            if (b < vertex_bound) vertex_bound = b;
        }
    }
    return vertex_bound;
}

// True if triangle k around a vertex lies in the window and has no missing corner.
template <typename T>
__device__ __forceinline__ bool has_triangle(const TileWindow<T>& window, i32 x, i32 y, i32 k) {
    const i32 cx = x + incident_x(k), cy = y + incident_y(k), triangle = incident_triangle(k);
    if (cx < 0 || cy < 0 || cx + 1 >= window.width || cy + 1 >= window.height) return false;
    if (!window.missing) return true;
    bool missing = false;
    for (i32 c = 0; c < 3; c++) {
        const i32 px = cx + corner_x(triangle, c), py = cy + corner_y(triangle, c);
        missing |= window.missing[py * window.words + (px >> 5)] >> (px & 31) & 1;
    }
    return !missing;
}

// Corners of triangle k around a vertex that has moved to `candidate`.
template <typename T>
__device__ __forceinline__ Corners<T> corners_around(
    const TileWindow<T>& window, i32 x, i32 y, typename Real<T>::Pair candidate, i32 k) {
    const i32 cx = x + incident_x(k), cy = y + incident_y(k), triangle = incident_triangle(k);
    Corners<T> p = corner_values(window, cx, cy, triangle);
#pragma unroll
    for (i32 c = 0; c < 3; c++) {
        if (cx + corner_x(triangle, c) == x && cy + corner_y(triangle, c) == y) {
            p.u[c] = candidate.x;
            p.v[c] = candidate.y;
        }
    }
    return p;
}

// Open half planes that contain a vector: u > 0, u < 0, v > 0, v < 0.
template <typename T>
__device__ __forceinline__ u32 half_planes(typename Real<T>::Pair p) {
    return (u32)(p.x > T(0)) | (u32)(p.x < T(0)) << 1 | (u32)(p.y > T(0)) << 2 | (u32)(p.y < T(0)) << 3;
}

// True if each triangle around a vertex lies in one open half plane before and after the move: no signature
// can change.
template <typename T>
__device__ __forceinline__ bool stays_one_sided(
    const TileWindow<T>& window, i32 x, i32 y, typename Real<T>::Pair candidate) {
    if (x == 0 || y == 0 || x + 1 >= window.width || y + 1 >= window.height) return false;
    const auto* at = window.values + y * window.pitch + x;
    const u32 both = half_planes<T>(at[0]) & half_planes<T>(candidate);
    auto planes_of = [&](i32 j) {
        return half_planes<T>(at[neighbour_y(j) * window.pitch + neighbour_x(j)]);
    };
    const u32 first = planes_of(0);
    u32 before = first;
    bool one_sided = true;
#pragma unroll
    for (i32 j = 1; j <= AROUND; j++) {
        const u32 planes = j < AROUND ? planes_of(j) : first;
        one_sided &= (before & planes & both) != 0;
        before = planes;
    }
    return one_sided;
}
