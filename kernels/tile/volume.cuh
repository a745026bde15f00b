// The closed tile of a volume, level by level. Twin of src/tile/volume.rs.
//
// A vertex is predicted along its odd axes alone, so that those on a face, an edge or a corner of a closed
// tile get the same values in every tile that has them: each tile computes all of its closed tile and nothing
// depends on other tiles.
#pragma once
#include "grid/volume_tiles.cuh"
#include "predict/volume.cuh"

constexpr i32 VOLUME_CLOSED = VOLUME_SIDE + 1, VOLUME_WINDOW = VOLUME_CLOSED * VOLUME_CLOSED * VOLUME_CLOSED;

// The values of N components of a closed tile.
template <typename T, i32 N>
struct VolumeWindow {
    T values[N][VOLUME_WINDOW];
};
__device__ __forceinline__ i32 window_index(i32 x, i32 y, i32 z) {
    return (z * VOLUME_CLOSED + y) * VOLUME_CLOSED + x;
}

// A vertex of a closed tile: where it is, which of the tiles around owns it (bit k: the next one along axis
// k), and its position there.
struct VolumeVertex {
    i32 x, y, z, level;
    u32 owner, position;
};

// Calls `code(vertex, prediction)` for the vertices with ODD odd coordinates on a level, and keeps the values
// that it gives. Call with a block.
template <i32 LEVEL, i32 ODD, typename T, i32 COMPONENTS, typename Code>
__device__ __forceinline__ void visit_classes(const VolumeTile& tile, VolumeWindow<T, COMPONENTS>& window,
    const Interpolant<T>& interpolant, Code code) {
    constexpr i32 N = (VOLUME_SIDE / 2) >> LEVEL, STEP = 1 << LEVEL, CLASSES = ODD == 3 ? 1 : 3,
                  FIRST = ODD == 1   ? 0
                          : ODD == 2 ? 3
                                     : 6,
                  EACH = ODD == 1   ? N * (N + 1) * (N + 1)
                         : ODD == 2 ? N * N * (N + 1)
                                    : N * N * N;
    for (i32 k = (i32)threadIdx.x; k < CLASSES * EACH; k += (i32)blockDim.x) {
        const i32 number = FIRST + k / EACH, in_class = k % EACH;
        const u32 odd = odd_axes_of(number);
        const i32 row = odd & 1 ? in_class / N : in_class / (N + 1),
                  plane = odd & 2 ? row / N : row / (N + 1),
                  i[3] = {in_class - row * (odd & 1 ? N : N + 1), row - plane * (odd & 2 ? N : N + 1), plane};
        VolumePlace place;
        place.step = STEP;
        u32 owner = 0;
        i32 in_tile[3];
        bool here = true;
#pragma unroll
        for (i32 axis = 0; axis < 3; axis++) {
            place.local[axis] = (2 * i[axis] + (i32)(odd >> axis & 1)) * STEP;
            place.last[axis] = tile.last[axis];
            here &= place.local[axis] <= tile.last[axis];
            owner |= (u32)(place.local[axis] == VOLUME_SIDE) << axis;
            in_tile[axis] = place.local[axis] == VOLUME_SIDE ? 0 : i[axis];
        }
        if (!here) continue;
        place.distance[0] = STEP;
        place.distance[1] = STEP * VOLUME_CLOSED;
        place.distance[2] = STEP * VOLUME_CLOSED * VOLUME_CLOSED;
        place.at = window_index(place.local[0], place.local[1], place.local[2]);
        const u32 axes = predicted_axes(place, odd);
        T prediction[COMPONENTS];
#pragma unroll
        for (i32 c = 0; c < COMPONENTS; c++)
            prediction[c] = predict_in_volume<T, ODD>(interpolant, window.values[c], place, odd, axes);
        const VolumeVertex vertex = {place.local[0], place.local[1], place.local[2], LEVEL, owner,
            (u32)(N * N * N * (1 + number) + (in_tile[2] * N + in_tile[1]) * N + in_tile[0])};
        T value[COMPONENTS];
        code(vertex, prediction, value);
#pragma unroll
        for (i32 c = 0; c < COMPONENTS; c++) window.values[c][place.at] = value[c];
    }
    __syncthreads();
}

template <i32 LEVEL, typename T, i32 COMPONENTS, typename Code>
__device__ __forceinline__ void visit_level(
    const VolumeTile& tile, VolumeWindow<T, COMPONENTS>& window, const u32* interpolants, Code code) {
    const Interpolant<T> interpolant = interpolant_of<T>(interpolants[LEVEL]);
    visit_classes<LEVEL, 1>(tile, window, interpolant, code);
    visit_classes<LEVEL, 2>(tile, window, interpolant, code);
    visit_classes<LEVEL, 3>(tile, window, interpolant, code);
}

// Calls `code(vertex, prediction, value)` for all vertices of a closed tile, coarse levels first; `value`
// takes the place of the vertex. Call with a block.
template <typename T, i32 COMPONENTS, typename Code>
__device__ __forceinline__ void visit_closed_tile(
    const VolumeTile& tile, VolumeWindow<T, COMPONENTS>& window, const u32* interpolants, Code code) {
    const u32 corner = threadIdx.x;
    const i32 x = corner & 1 ? VOLUME_SIDE : 0, y = corner & 2 ? VOLUME_SIDE : 0,
              z = corner & 4 ? VOLUME_SIDE : 0;
    if (corner < 8 && x <= tile.last[0] && y <= tile.last[1] && z <= tile.last[2]) {
        const T prediction[COMPONENTS] = {};
        T value[COMPONENTS];
        code(VolumeVertex{x, y, z, VOLUME_ANCHOR_LEVEL, corner, 0}, prediction, value);
        for (i32 c = 0; c < COMPONENTS; c++) window.values[c][window_index(x, y, z)] = value[c];
    }
    __syncthreads();
    visit_level<3>(tile, window, interpolants, code);
    visit_level<2>(tile, window, interpolants, code);
    visit_level<1>(tile, window, interpolants, code);
    visit_level<0>(tile, window, interpolants, code);
}
