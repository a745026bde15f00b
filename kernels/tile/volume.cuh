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

// The cells of a level: a vertex with even multiples of the step, and the seven with odd ones behind it. On
// the far sides of the closed tile cells have fewer.
struct VolumeCell {
    i32 x, y, z;

    // Cell k of (n + 1)^3: those within the tile first, then those on its far sides.
    __device__ __forceinline__ VolumeCell(i32 level, i32 k) {
        const i32 log = VOLUME_ANCHOR_LEVEL - 1 - level, n = 1 << log;
        i32 left = k - n * n * n;
        if (left < 0) {
            x = k & (n - 1), y = k >> log & (n - 1), z = k >> 2 * log;
        } else if (left < (n + 1) * (n + 1)) {
            z = left / (n + 1), y = left - z * (n + 1), x = n;
        } else if (left -= (n + 1) * (n + 1); left < n * (n + 1)) {
            x = left & (n - 1), y = n, z = left >> log;
        } else {
            left -= n * (n + 1);
            x = left & (n - 1), y = left >> log, z = n;
        }
    }
};

// A cell in a window: its even vertex, the distance to the odd ones behind it, and which coordinates the
// closed tile has, a bit for each axis.
struct CellPlace {
    VolumeVertex corner;
    i32 at, offset[3];
    Neighbours to[3];
    u32 even, odd;

    // WHOLE: the closed tile has all its vertices.
    template <bool WHOLE>
    static __device__ __forceinline__ CellPlace of(const VolumeTile& tile, i32 level, i32 k) {
        const i32 log = VOLUME_ANCHOR_LEVEL - 1 - level, n = 1 << log, step = 1 << level;
        const VolumeCell cell(level, k);
        const bool far_x = cell.x == n, far_y = cell.y == n, far_z = cell.z == n;
        const u32 owner = (u32)far_x | (u32)far_y << 1 | (u32)far_z << 2;
        const i32 x = cell.x * 2 * step, y = cell.y * 2 * step, z = cell.z * 2 * step;
        CellPlace place = {{x, y, z, level, owner,
            (u32)((((far_z ? 0 : cell.z) << log | (far_y ? 0 : cell.y)) << log) | (far_x ? 0 : cell.x))}};
        place.at = window_index(x, y, z);
        place.offset[0] = level == 0 ? VOLUME_ODD_AT : step / 2;
        place.offset[1] = step * VOLUME_PITCH;
        place.offset[2] = step * VOLUME_PITCH * VOLUME_CLOSED;
        place.to[0] = {-place.offset[0], level == 0 ? 1 : step};
        place.to[1] = {-place.offset[1], 2 * place.offset[1]};
        place.to[2] = {-place.offset[2], 2 * place.offset[2]};
        place.even =
            WHOLE ? 7
                  : (u32)(x <= tile.last[0]) | (u32)(y <= tile.last[1]) << 1 | (u32)(z <= tile.last[2]) << 2;
        place.odd = WHOLE ? ~owner
                          : (u32)(x + step <= tile.last[0]) | (u32)(y + step <= tile.last[1]) << 1 |
                                (u32)(z + step <= tile.last[2]) << 2;
        return place;
    }
    template <bool WHOLE, typename T>
    __device__ __forceinline__ AlongAxis<T> along(
        const Interpolant<T>& interpolant, const VolumeTile& tile, i32 axis) const {
        const i32 step = 1 << corner.level, even = axis == 0 ? corner.x : axis == 1 ? corner.y : corner.z;
        return {interpolant, even + step, step, WHOLE ? VOLUME_SIDE : tile.last[axis], WHOLE, to[axis]};
    }
};

// Visits the vertex of class CLASS of a cell, whose components `predict(values)` predicts from values around.
template <u32 CLASS, typename T, i32 COMPONENTS, typename Predict, typename Code>
__device__ __forceinline__ void visit_vertex(
    VolumeWindow<T, COMPONENTS>& window, const CellPlace& place, Predict predict, Code code) {
    constexpr u32 ODD = odd_axes_of(CLASS);
    if ((((place.odd & ODD) | (place.even & ~ODD)) & 7) != 7) return;
    const VolumeVertex& corner = place.corner;
    const i32 step = 1 << corner.level, vertices = 1 << 3 * (VOLUME_ANCHOR_LEVEL - 1 - corner.level),
              at = place.at + (ODD & 1 ? place.offset[0] : 0) + (ODD & 2 ? place.offset[1] : 0) +
                   (ODD & 4 ? place.offset[2] : 0);
    T prediction[COMPONENTS], value[COMPONENTS];
#pragma unroll
    for (i32 c = 0; c < COMPONENTS; c++) prediction[c] = predict(window.values[c] + at);
    const VolumeVertex vertex = {corner.x + (ODD & 1 ? step : 0), corner.y + (ODD & 2 ? step : 0),
        corner.z + (ODD & 4 ? step : 0), corner.level, corner.owner,
        corner.position + (u32)(vertices * (1 + (i32)CLASS))};
    code(vertex, prediction, value);
#pragma unroll
    for (i32 c = 0; c < COMPONENTS; c++) window.values[c][at] = value[c];
}

// Visits the vertex of class CLASS of a cell.
template <bool WHOLE, u32 CLASS, typename T, i32 COMPONENTS, typename Code>
__device__ __forceinline__ void visit_class(const VolumeTile& tile, VolumeWindow<T, COMPONENTS>& window,
    const Interpolant<T>& interpolant, const CellPlace& place, Code code) {
    constexpr u32 ODD = odd_axes_of(CLASS);
    constexpr bool ONE = (ODD & (ODD - 1)) == 0;
    if (!ONE && WHOLE && interpolant.coons)
        return visit_vertex<CLASS>(
            window, place, [&](const T* at) { return boolean_sum<ODD>(place.to, at); }, code);
    const AlongAxis<T> along[3] = {place.template along<WHOLE>(interpolant, tile, 0),
        place.template along<WHOLE>(interpolant, tile, 1), place.template along<WHOLE>(interpolant, tile, 2)};
    const u32 next = axes_with_next<ODD>(along);
    const bool sums = !ONE && interpolant.coons && next == ODD;
    visit_vertex<CLASS>(
        window, place,
        [&](const T* at) {
            if (!ONE && sums) return boolean_sum<ODD>(place.to, at);
            return mean_along<ODD>(along, next ? next : ODD, at);
        },
        code);
}

// Calls `code(vertex, prediction, value)` for the vertices with ODD odd coordinates on a level, and keeps the
// values that it gives. Call with a block.
template <bool WHOLE, i32 ODD, typename T, i32 COMPONENTS, typename Code>
__device__ __forceinline__ void visit_classes(const VolumeTile& tile, VolumeWindow<T, COMPONENTS>& window,
    const Interpolant<T>& interpolant, i32 level, Code code) {
    const i32 n = (VOLUME_SIDE / 2) >> level, cells = (n + 1) * (n + 1) * (n + 1);
    constexpr u32 FIRST = ODD == 1 ? 0 : ODD == 2 ? 3 : 6;
    for (i32 k = (i32)threadIdx.x; k < (ODD == 3 ? n * n * n : cells); k += (i32)blockDim.x) {
        const CellPlace place = CellPlace::of<WHOLE>(tile, level, k);
        visit_class<WHOLE, FIRST>(tile, window, interpolant, place, code);
        if (ODD == 3) continue;
        visit_class<WHOLE, (FIRST + 1) % 7>(tile, window, interpolant, place, code);
        visit_class<WHOLE, (FIRST + 2) % 7>(tile, window, interpolant, place, code);
    }
    __syncthreads();
}

template <bool WHOLE, typename T, i32 COMPONENTS, typename Code>
__device__ __forceinline__ void visit_level(const VolumeTile& tile, VolumeWindow<T, COMPONENTS>& window,
    const u32* interpolants, i32 level, Code code) {
    const Interpolant<T> interpolant = interpolant_of<T>(interpolants[level]);
    visit_classes<WHOLE, 1>(tile, window, interpolant, level, code);
    visit_classes<WHOLE, 2>(tile, window, interpolant, level, code);
    visit_classes<WHOLE, 3>(tile, window, interpolant, level, code);
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
#pragma unroll 1
    for (i32 level = VOLUME_ANCHOR_LEVEL - 1; level > 0; level--) {
        begin_level(level);
        visit_level<false>(tile, window, interpolants, level, code);
    }
    begin_level(0);
    const bool whole =
        tile.last[0] == VOLUME_SIDE && tile.last[1] == VOLUME_SIDE && tile.last[2] == VOLUME_SIDE;
    if (whole)
        visit_level<true>(tile, window, interpolants, 0, code);
    else
        visit_level<false>(tile, window, interpolants, 0, code);
}
