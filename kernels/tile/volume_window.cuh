// Where the values of a closed tile of a volume lie while it is computed.
#pragma once
#include "grid/volume_tiles.cuh"
#include "predict/volume.cuh"

// Where the values of a closed tile lie: of all its levels (FINEST: 0) or of the coarse ones (FINEST: 1).
// Coordinates count steps of the finest of these. The values of a row lie together, those with even x first:
// the lanes of a warp, which have vertices two apart in some rows, then read from different banks.
template <i32 FINEST>
struct WindowShape {
    static constexpr i32 LEVEL = FINEST, SIDE = VOLUME_SIDE >> FINEST, CLOSED = SIDE + 1,
                         ODD_AT = SIDE / 2 + 1, PITCH = FINEST == 0 ? VOLUME_PITCH : CLOSED,
                         VALUES = PITCH * CLOSED * CLOSED;

    static __device__ __forceinline__ i32 index(i32 x, i32 y, i32 z) {
        return (z * CLOSED + y) * PITCH + (x & 1 ? ODD_AT : 0) + x / 2;
    }
    // Where the neighbours of a vertex lie along an axis, on a level.
    static __device__ __forceinline__ Neighbours neighbours(u32 axis, i32 level) {
        const i32 step = 1 << (level - FINEST), distance = axis == 1 ? step * PITCH : step * PITCH * CLOSED;
        if (axis > 0) return {-distance, 2 * distance};
        return step == 1 ? Neighbours{-ODD_AT, 1} : Neighbours{-(step / 2), step};
    }
};
constexpr i32 VOLUME_CLOSED = WindowShape<0>::CLOSED, VOLUME_WINDOW = WindowShape<0>::VALUES,
              COARSE_CLOSED = WindowShape<1>::CLOSED, COARSE_WINDOW = WindowShape<1>::VALUES;
static_assert(COARSE_WINDOW == VOLUME_COARSE_VERTICES, "the workspace has the values of the coarse levels");
__device__ __forceinline__ i32 window_index(i32 x, i32 y, i32 z) { return WindowShape<0>::index(x, y, z); }

// The values of N components of a closed tile.
template <typename Element, i32 COMPONENTS, i32 FINEST = 0>
struct VolumeWindow {
    typedef Element T;
    typedef WindowShape<FINEST> Shape;
    static constexpr i32 N = COMPONENTS;
    T values[N][Shape::VALUES];
};
// Calls `each(k, x, y, z)` for the coarse vertices of a closed tile that the volume has: indices and
// coordinates in a window of the coarse levels. Call with a block of THREADS threads.
template <i32 THREADS, typename Each>
__device__ __forceinline__ void for_coarse_vertices(const VolumeTile& tile, Each each) {
    constexpr i32 SIDE = COARSE_CLOSED, EVEN = WindowShape<1>::ODD_AT, AT_ONCE = THREADS / SIDE;
    const i32 first = (i32)threadIdx.x / SIDE, in_row = (i32)threadIdx.x % SIDE,
              x = in_row < EVEN ? 2 * in_row : 2 * (in_row - EVEN) + 1;
    if (first >= AT_ONCE || 2 * x > tile.last[0]) return;
#pragma unroll 4
    for (i32 row = first; row < SIDE * SIDE; row += AT_ONCE) {
        const i32 y = row % SIDE, z = row / SIDE;
        if (2 * y <= tile.last[1] && 2 * z <= tile.last[2]) each(row * SIDE + in_row, x, y, z);
    }
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
// k), its position there, and its index in a window.
struct VolumeVertex {
    i32 x, y, z, level;
    u32 owner, position;
    i32 at;
};
