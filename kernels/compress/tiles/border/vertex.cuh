// Prediction and coding of single vertices of border tiles.
#pragma once
#include "compress/tiles/quantize_vertex.cuh"
#include "predict/interpolation.cuh"
#include "tile/encode.cuh"

template <typename T>
struct BorderTile {
    typename Real<T>::Pair values[CLOSED * CLOSED];
    T vertex_bounds[TILE_VERTICES +
                    2 * TILE];  // by position; then those of the far sides by distance from the corner
    u32 zero[TILE], fill[TILE], missing[CLOSED * 2];
    TileOutput places;
    u32 upper_cost, fine_cost;  // coarse + (middle << 16); fine
    LargestError known;
};

// Costs of symbols by block of a tile.
struct BlockCosts {
    u32 upper, fine;  // coarse + (middle << 16); fine

    __device__ __forceinline__ void charge(u32 cost, i32 position) {
        if (position >= FINE_START)
            fine += cost;
        else
            upper += position >= MIDDLE_START ? cost << 16 : cost;
    }
};

// Prediction if not all neighbours lie in the grid.
template <typename T, typename P = typename Real<T>::Pair>
__device__ __noinline__ P predict_at_border(const P* values, u32 choice, bool centred, bool vertical, i32 x,
    i32 y, i32 step, i32 last_x, i32 last_y) {
    const Interpolant<T> interpolant = interpolant_of<T>(choice);
    if (centred) return centre<T>(interpolant, values, CLOSED, x, y, step, last_x, last_y);
    return along<T>(interpolant, values, y * CLOSED + x, vertical ? step * CLOSED : step, vertical ? y : x,
        step, vertical ? last_y : last_x);
}

// Prediction along a line inside the grid.
template <typename T, typename P = typename Real<T>::Pair>
__device__ __forceinline__ P predict_along(
    const Interpolant<T>& interpolant, const P* here, i32 distance, u32 near) {
    const bool has_a = near & 1, has_d = near >> 1 & 1;
    const P *b = here - distance, *c = here + distance;
    return predict<T>(outer_of<T>(interpolant, has_a, has_d), b[2 * distance * outer_left(has_a, has_d)], *b,
        *c, b[2 * distance * outer_right(has_a, has_d)]);
}

// Outer neighbours that vertex i of n on a line has: before, after << 1.
__device__ __forceinline__ u32 near_neighbours(i32 i, i32 n) { return (u32)(i > 0) | (u32)(i < n - 1) << 1; }

// Prediction of a vertex of a closed tile of the grid on a line (`vertical`: a column) or in a cell centre.
// `near` tells its neighbours, along the line, or of a centre on its row and, from bit 2 on, on its column.
template <typename T, typename P = typename Real<T>::Pair>
__device__ __forceinline__ P predict_inside(
    const Interpolant<T>& interpolant, const P* here, i32 level, bool centred, bool vertical, u32 near) {
    const i32 dx = 1 << level, dy = CLOSED << level;
    if (!centred) return predict_along<T>(interpolant, here, vertical ? dy : dx, near);
    if (!interpolant.coons)
        return mean<T>(predict_along<T>(interpolant, here, dx, near),
            predict_along<T>(interpolant, here, dy, near >> 2));
    return coons<T>(here[-dx], here[dx], here[-dy], here[dy], sum<T>(here[-dy - dx], here[-dy + dx]),
        sum<T>(here[dy - dx], here[dy + dx]));
}
