// The closed tile of a volume, level by level. Twin of src/tile/volume.rs.
//
// A vertex is predicted along its odd axes alone, so that those on a face, an edge or a corner of a closed
// tile get the same values in every tile that has them: each tile computes all of its closed tile and nothing
// depends on other tiles.
#pragma once
#include "grid/volume_tiles.cuh"
#include "predict/volume.cuh"

// The values of a row lie together, those with even x first: the lanes of a warp, which have vertices two
// apart in some rows, then read from different banks.
constexpr i32 VOLUME_CLOSED = VOLUME_SIDE + 1, VOLUME_ODD_AT = VOLUME_SIDE / 2 + 1,
              VOLUME_WINDOW = VOLUME_PITCH * VOLUME_CLOSED * VOLUME_CLOSED;

// The values of N components of a closed tile.
template <typename T, i32 N>
struct VolumeWindow {
    T values[N][VOLUME_WINDOW];
};
__device__ __forceinline__ i32 window_index(i32 x, i32 y, i32 z) {
    return (z * VOLUME_CLOSED + y) * VOLUME_PITCH + (x & 1 ? VOLUME_ODD_AT : 0) + x / 2;
}
// Where the workspace of compression has the value of a vertex among those of its tile, given its place there
// with x fastest: closed tiles of doubles are too large for shared memory and lie in the workspace as they
// are.
template <typename T>
__device__ __forceinline__ u32 value_place(u32 place) {
    constexpr u32 SIDE = VOLUME_SIDE;
    return sizeof(T) == 4 ? place
                          : (u32)window_index((i32)(place % SIDE), (i32)(place / SIDE % SIDE),
                                (i32)(place / (SIDE * SIDE)));
}

// A vertex of a closed tile: where it is, which of the tiles around owns it (bit k: the next one along axis
// k), and its position there.
struct VolumeVertex {
    i32 x, y, z, level;
    u32 owner, position;
};

// Where the neighbours of a vertex lie in a window along an axis, on a level.
__device__ __forceinline__ Neighbours neighbours_along(u32 axis, i32 level) {
    const i32 step = 1 << level,
              distance = axis == 1 ? step * VOLUME_PITCH : step * VOLUME_PITCH * VOLUME_CLOSED;
    if (axis > 0) return {-distance, 2 * distance};
    // Along x the values of a row with even coordinates lie together.
    return level == 0 ? Neighbours{-VOLUME_ODD_AT, 1} : Neighbours{-(step / 2), step};
}

// The first of the classes with so many odd axes.
__device__ __forceinline__ constexpr u32 first_class(i32 odd_axes) {
    return odd_axes == 1 ? 0 : odd_axes == 2 ? 3 : 6;
}

// A vertex of a level by its number among those with ODD odd coordinates, class by class: where it is in
// units of half a cell, and which of its coordinates are odd.
template <i32 ODD>
struct LevelVertex {
    u32 at[3], odd, number;

    // There are n = 2^log along an odd axis, and n + 1 along others.
    __device__ __forceinline__ LevelVertex(u32 log, u32 each, u32 k) {
        number = ODD == 3 ? 0 : (u32)(k >= each) + (u32)(k >= 2 * each);
        odd = odd_axes_of(first_class(ODD) + number);
        const u32 left = k - number * each, row = rows_of(left, log, odd & 1),
                  plane = rows_of(row, log, odd >> 1 & 1);
        at[0] = 2 * (left - (row << log) - (odd & 1 ? 0 : row)) + (odd & 1);
        at[1] = 2 * (row - (plane << log) - (odd & 2 ? 0 : plane)) + (odd >> 1 & 1);
        at[2] = 2 * plane + (odd >> 2);
    }
    // k / n, or k / (n + 1): exact for k below 2^14, as the numerator of the reciprocal is at most 4 too
    // large.
    static __device__ __forceinline__ u32 rows_of(u32 k, u32 log, bool is_odd) {
        const u32 n = 1u << log;
        return is_odd ? k >> log : k * ((65536 + n) / (n + 1)) >> 16;
    }
};

// The odd axes of a vertex, lower ones first.
template <i32 ODD>
struct OddAxes {
    u32 at[ODD];

    // By number of the class among those with as many odd axes: of two the even one is left out.
    __device__ __forceinline__ explicit OddAxes(u32 number) {
        if constexpr (ODD == 1) at[0] = number;
        if constexpr (ODD == 2) at[0] = number == 2 ? 1 : 0, at[1] = number == 0 ? 1 : 2;
        if constexpr (ODD == 3) at[0] = 0, at[1] = 1, at[2] = 2;
    }
};

// Visits a vertex at `at` of the window: predicts it along its odd axes and keeps the values of `code`.
// WHOLE: all vertices around it are there.
template <bool WHOLE, i32 ODD, typename T, i32 COMPONENTS, typename Code>
__device__ __forceinline__ void visit_vertex(const VolumeTile& tile, VolumeWindow<T, COMPONENTS>& window,
    const Interpolant<T>& interpolant, const VolumeVertex& vertex, const OddAxes<ODD>& axes, Code code) {
    const i32 at = window_index(vertex.x, vertex.y, vertex.z);
    constexpr u32 ALL = (1 << ODD) - 1;
    AlongAxis<T> along[ODD];
    u32 next = 0;
#pragma unroll
    for (i32 k = 0; k < ODD; k++) {
        const u32 axis = axes.at[k];
        const i32 position = axis == 0   ? vertex.x
                             : axis == 1 ? vertex.y
                                         : vertex.z,
                  last = WHOLE       ? VOLUME_SIDE
                         : axis == 0 ? tile.last[0]
                         : axis == 1 ? tile.last[1]
                                     : tile.last[2];
        along[k] = AlongAxis<T>(
            interpolant, position, 1 << vertex.level, last, neighbours_along(axis, vertex.level));
        next |= (u32)along[k].has_next << k;
    }
    T prediction[COMPONENTS], value[COMPONENTS];
    if (ODD > 1 && interpolant.coons && (WHOLE || next == ALL)) {
#pragma unroll
        for (i32 c = 0; c < COMPONENTS; c++) prediction[c] = boolean_sum(along, window.values[c] + at);
    } else if (WHOLE || next == ALL) {
#pragma unroll
        for (i32 c = 0; c < COMPONENTS; c++) prediction[c] = mean_inside(along, window.values[c] + at);
    } else {
        // Where some axes would extrapolate, the others count alone.
#pragma unroll
        for (i32 c = 0; c < COMPONENTS; c++)
            prediction[c] = mean_along(along, next ? next : ALL, window.values[c] + at);
    }
    code(vertex, prediction, value);
#pragma unroll
    for (i32 c = 0; c < COMPONENTS; c++) window.values[c][at] = value[c];
}

// Visits the vertices with ODD odd coordinates on a level of a closed tile, each by a thread. WHOLE: the tile
// is whole. Call with a block.
template <bool WHOLE, i32 ODD, typename T, i32 COMPONENTS, typename Code>
__device__ __forceinline__ void visit_vertices(const VolumeTile& tile, VolumeWindow<T, COMPONENTS>& window,
    const Interpolant<T>& interpolant, i32 level, Code code) {
    const u32 log = VOLUME_ANCHOR_LEVEL - 1 - level, n = 1u << log,
              each = ODD == 1   ? n * (n + 1) * (n + 1)
                     : ODD == 2 ? n * n * (n + 1)
                                : n * n * n;
    for (u32 k = threadIdx.x; k < (ODD == 3 ? each : 3 * each); k += blockDim.x) {
        const LevelVertex<ODD> here(log, each, k);
        VolumeVertex vertex = {
            (i32)here.at[0] << level, (i32)here.at[1] << level, (i32)here.at[2] << level, level, 0, 0};
        if (!WHOLE && (vertex.x > tile.last[0] || vertex.y > tile.last[1] || vertex.z > tile.last[2]))
            continue;
#pragma unroll
        for (u32 axis = 0; axis < 3; axis++) {
            vertex.owner |= (u32)(here.at[axis] == 2 * n) << axis;
            vertex.position |= (here.at[axis] / 2 & (n - 1)) << axis * log;
        }
        vertex.position += (1 + first_class(ODD) + here.number) << 3 * log;
        visit_vertex<WHOLE>(tile, window, interpolant, vertex, OddAxes<ODD>(here.number), code);
    }
    __syncthreads();
}

// The finest cells of a whole tile: a vertex with even coordinates, and the seven with odd ones behind it. On
// the far sides of the closed tile cells have fewer.
struct FineCell {
    i32 x, y, z;
    u32 owner, position;

    __device__ __forceinline__ explicit FineCell(i32 k) {
        constexpr i32 LOG = VOLUME_ANCHOR_LEVEL - 1, N = 1 << LOG;
        // Cells within the tile come first, then the cells on its far sides.
        i32 left = k - N * N * N;
        if (left < 0) {
            x = k & (N - 1), y = k >> LOG & (N - 1), z = k >> 2 * LOG;
        } else if (left < (N + 1) * (N + 1)) {
            z = left / (N + 1), y = left - z * (N + 1), x = N;
        } else if (left -= (N + 1) * (N + 1); left < N * (N + 1)) {
            x = left & (N - 1), y = N, z = left >> LOG;
        } else {
            left -= N * (N + 1);
            x = left & (N - 1), y = left >> LOG, z = N;
        }
        owner = (u32)(x == N) | (u32)(y == N) << 1 | (u32)(z == N) << 2;
        position = (u32)(((z & (N - 1)) << LOG | (y & (N - 1))) << LOG | (x & (N - 1)));
    }
};

// Visits the finest vertices with ODD odd coordinates of a whole tile. Call with a block.
template <i32 ODD, typename T, i32 COMPONENTS, typename Code>
__device__ __forceinline__ void visit_cells(const VolumeTile& tile, VolumeWindow<T, COMPONENTS>& window,
    const Interpolant<T>& interpolant, Code code) {
    constexpr i32 N = VOLUME_SIDE / 2, CELLS = ODD == 3 ? N * N * N : (N + 1) * (N + 1) * (N + 1);
    for (i32 k = (i32)threadIdx.x; k < CELLS; k += (i32)blockDim.x) {
        const FineCell cell(k);
#pragma unroll 1
        for (u32 number = 0; number < (ODD == 3 ? 1 : 3); number++) {
            const u32 odd = odd_axes_of(first_class(ODD) + number);
            // A far side has no odd coordinates along its axis.
            if (cell.owner & odd) continue;
            const VolumeVertex vertex = {2 * cell.x + (i32)(odd & 1), 2 * cell.y + (i32)(odd >> 1 & 1),
                2 * cell.z + (i32)(odd >> 2), 0, cell.owner,
                cell.position + N * N * N * (1 + first_class(ODD) + number)};
            visit_vertex<true>(tile, window, interpolant, vertex, OddAxes<ODD>(number), code);
        }
    }
    __syncthreads();
}

// Calls `code(vertex, prediction, value)` for all vertices of a closed tile, coarse levels first; `value`
// takes the place of the vertex. `begin_level(level)` comes before each level behind the anchors. Call with a
// block.
template <typename T, i32 COMPONENTS, typename Begin, typename Code>
__device__ __forceinline__ void visit_closed_tile(const VolumeTile& tile, VolumeWindow<T, COMPONENTS>& window,
    const u32* interpolants, Begin begin_level, Code code) {
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
    const bool whole =
        tile.last[0] == VOLUME_SIDE && tile.last[1] == VOLUME_SIDE && tile.last[2] == VOLUME_SIDE;
#pragma unroll 1
    for (i32 level = VOLUME_ANCHOR_LEVEL - 1; level >= 0; level--) {
        begin_level(level);
        const Interpolant<T> interpolant = interpolant_of<T>(interpolants[level]);
        if (!whole) {
            visit_vertices<false, 1>(tile, window, interpolant, level, code);
            visit_vertices<false, 2>(tile, window, interpolant, level, code);
            visit_vertices<false, 3>(tile, window, interpolant, level, code);
        } else if (level > 0) {
            visit_vertices<true, 1>(tile, window, interpolant, level, code);
            visit_vertices<true, 2>(tile, window, interpolant, level, code);
            visit_vertices<true, 3>(tile, window, interpolant, level, code);
        } else {
            visit_cells<1>(tile, window, interpolant, code);
            visit_cells<2>(tile, window, interpolant, code);
            visit_cells<3>(tile, window, interpolant, code);
        }
    }
}
