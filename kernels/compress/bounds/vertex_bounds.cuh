// Vertex bounds: how far each vertex may move, from the triangles near the origin. They lie at the end of a
// tile's slot, in the order of the symbols: infinity if only the bound of the call applies. Most vertices
// have none and most of those are not stored: bit c of a tile's `bounded` tells whether positions 16 c to 16
// c + 15 are stored. The first column (x = 0) and positions below 272 (even coordinates, and the first row)
// always are. In the speculative mode signatures are compared instead: a bit tells at which vertices, and as
// a bound it is the maximum of T.
#pragma once
#include "compress/statistics/nearness.cuh"
#include "device/control.cuh"
#include "grid/tiles.cuh"
#include "tile/window.cuh"

template <typename T>
__device__ __forceinline__ T* vertex_bounds_of(const Job& job, u64 tile) {
    return BoundsView<T>(job).vertex_bounds(tile);
}
// Speculative mode: bound of a vertex on a closed tile, in column x and row y of the arrays.
template <typename T>
__device__ __forceinline__ T speculative_bound(
    const Job& job, const Control& control, bool constrained, u64 tile, u64 x, u64 y) {
    const T vertex_bound = constrained ? Real<T>::MAX : no_bound<T>();
    if (!(job.halo | job.pin)) return vertex_bound;
    // Recomputed: only calls with a halo, a pinned side or a periodic axis need the plane.
    const u64 plane = tile_shape(job, fresh(tile)).plane;
    if (!on_border(job, x, y - plane)) return vertex_bound;
    const T b =
        border_bound(job, constraints_of<T>(job, control), plane, (long long)x, (long long)(y - plane));
    return b < Real<T>::MAX ? b : vertex_bound;
}
constexpr i32 BOUND_CHUNK = 16;
constexpr u64 ALWAYS_BOUNDED = (1ull << 17) - 1;
// Bound of a vertex outside the first column.
template <typename T>
__device__ __forceinline__ T vertex_bound_of(const T* vertex_bounds, u64 bounded, i32 position) {
    return bounded >> (position / BOUND_CHUNK) & 1 ? vertex_bounds[position] : no_bound<T>();
}

template <typename T>
__device__ __forceinline__ bool is_zero(typename Real<T>::Pair p) {
    return p.x == T(0) && p.y == T(0);
}

// The bound of an owned vertex of a tile.
template <typename T>
__device__ __forceinline__ T* vertex_bound_at(const Job& job, u64 tile, i32 x, i32 y) {
    return vertex_bounds_of<T>(job, tile) + POSITIONS.at[TILE * y + x];
}
