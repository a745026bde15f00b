// The closed tile of a volume, level by level. Twin of src/tile/volume.rs.
//
// A vertex is predicted along its odd axes alone, so that those on a face, an edge or a corner of a closed
// tile get the same values in every tile that has them: each tile computes all of its closed tile and nothing
// depends on other tiles. All levels but the finest one are coarse: they have few vertices each. Where tiles
// are compressed or restored, a warp computes those of a tile, so that many tiles are under way at once.
#pragma once
#include "tile/volume_window.cuh"

// The first of the classes with so many odd axes.
__device__ __forceinline__ constexpr u32 first_class(u32 odd_axes) {
    return odd_axes == 1 ? 0 : odd_axes == 2 ? 3 : 6;
}

// Number of vertices of a level of a closed tile with so many odd coordinates. Along an odd axis there are n,
// along others one more.
__device__ __forceinline__ u32 vertices_on_level(u32 odd_axes, i32 level) {
    const u32 n = 1u << (VOLUME_ANCHOR_LEVEL - 1 - level);
    return odd_axes == 1 ? 3 * n * (n + 1) * (n + 1) : odd_axes == 2 ? 3 * n * n * (n + 1) : n * n * n;
}

// The coarse vertices of a closed tile behind the anchors, level by level and class by class: coordinates in
// steps of the finest of their levels, four bits each, which of these are odd on the level of the vertex, and
// the position in the tile that owns it.
struct CoarseOrder {
    u32 at[COARSE_WINDOW - 8];
};
constexpr CoarseOrder coarse_order() {
    CoarseOrder order = {};
    i32 next = 0;
    for (u32 log = 0; log < VOLUME_ANCHOR_LEVEL - 1; log++)
        for (u32 number = 0; number < 7; number++) {
            const u32 odd = odd_axes_of(number), n = 1u << log, shift = VOLUME_ANCHOR_LEVEL - 2 - log,
                      ends[3] = {odd & 1 ? n : n + 1, odd & 2 ? n : n + 1, odd & 4 ? n : n + 1};
            for (u32 k = 0; k < ends[0] * ends[1] * ends[2]; k++) {
                const u32 x = k % ends[0], y = k / ends[0] % ends[1], z = k / (ends[0] * ends[1]),
                          in_class = ((z & (n - 1)) << log | (y & (n - 1))) << log | (x & (n - 1));
                order.at[next++] = (2 * x + (odd & 1)) << shift | (2 * y + (odd >> 1 & 1)) << shift << 4 |
                                   (2 * z + (odd >> 2)) << shift << 8 | odd << 12 |
                                   (((1 + number) << 3 * log) + in_class) << 15;
            }
        }
    return order;
}
static __device__ const CoarseOrder COARSE_ORDER = coarse_order();

// A coder or a restorer of vertices, the parameter `code` below, has two functions: `line(owner, level)`
// gives its constants for the vertices of a level with one owner, and a call with these, a vertex and its
// prediction gives the values that take its place.

// Predicts a vertex along its odd axes, a bit each. The code is short, and has loops, since warps would wait
// for instructions more than for anything else.
template <typename Window>
__device__ __forceinline__ void predict_vertex(const VolumeTile& tile, const Window& window,
    const Interpolant<typename Window::T>& interpolant, const VolumeVertex& vertex, u32 odd,
    typename Window::T (&prediction)[Window::N]) {
    typedef typename Window::T T;
    typedef typename Window::Shape Shape;
    constexpr i32 N = Window::N;
    const i32 step = 1 << vertex.level;
    const u32 next =
        odd & ((u32)(vertex.x + step <= tile.last[0]) | (u32)(vertex.y + step <= tile.last[1]) << 1 |
                  (u32)(vertex.z + step <= tile.last[2]) << 2);
    if (interpolant.coons && next == odd && (odd & (odd - 1))) {
        const Neighbours x = Shape::neighbours(0, vertex.level), y = Shape::neighbours(1, vertex.level),
                         z = Shape::neighbours(2, vertex.level);
#pragma unroll
        for (i32 c = 0; c < N; c++) {
            const T* const at = window.values[c] + vertex.at;
            prediction[c] =
                odd == 7 ? sum_of_three(at, x, y, z) : sum_of_two(at, odd & 1 ? x : y, odd & 4 ? z : y);
        }
        return;
    }
    // Where some axes would extrapolate, the others count alone.
    const u32 axes = next ? next : odd;
    u32 count = 0;
#pragma unroll 1
    for (u32 axis = 0; axis < 3; axis++) {
        if (!(axes >> axis & 1)) continue;
        const i32 position = axis == 0   ? vertex.x
                             : axis == 1 ? vertex.y
                                         : vertex.z,
                  last = axis == 0   ? tile.last[0]
                         : axis == 1 ? tile.last[1]
                                     : tile.last[2];
        const AlongAxis<T> along(interpolant, position, step, last, Shape::neighbours(axis, vertex.level));
        T one[N];
        if (along.has_next) {
#pragma unroll
            for (i32 c = 0; c < N; c++) one[c] = along.inside(window.values[c] + vertex.at);
        } else {
#pragma unroll
            for (i32 c = 0; c < N; c++) one[c] = along.beyond(window.values[c] + vertex.at);
        }
#pragma unroll
        for (i32 c = 0; c < N; c++) prediction[c] = count ? prediction[c] + one[c] : one[c];
        count++;
    }
    const T share = count == 2 ? T(0.5) : T(1.0 / 3.0);
#pragma unroll
    for (i32 c = 0; c < N; c++)
        if (count > 1) prediction[c] = share * prediction[c];
}

// Visits a vertex: predicts it and keeps the values of `code`.
template <typename Window, typename Code>
__device__ __forceinline__ void visit_vertex(const VolumeTile& tile, Window& window,
    const Interpolant<typename Window::T>& interpolant, VolumeVertex& vertex, u32 odd, Code& code) {
    typedef typename Window::T T;
    constexpr i32 FINEST = Window::Shape::LEVEL;
    vertex.at = Window::Shape::index(vertex.x >> FINEST, vertex.y >> FINEST, vertex.z >> FINEST);
    T prediction[Window::N], value[Window::N];
    predict_vertex(tile, window, interpolant, vertex, odd, prediction);
    code(code.line(vertex.owner, vertex.level), vertex, prediction, value);
#pragma unroll
    for (i32 c = 0; c < Window::N; c++) window.values[c][vertex.at] = value[c];
}

// Visits the vertices of a coarse level of a closed tile, each by a thread; `first`: in COARSE_ORDER. Call
// with a block.
template <typename Window, typename Code>
__device__ __forceinline__ void visit_coarse_level(const VolumeTile& tile, Window& window,
    const Interpolant<typename Window::T>& interpolant, i32 level, u32& first, Code& code) {
#pragma unroll 1
    for (u32 odd_axes = 1; odd_axes <= 3; odd_axes++) {
        const u32 count = vertices_on_level(odd_axes, level);
#pragma unroll 1
        for (u32 k = threadIdx.x; k < count; k += blockDim.x) {
            const u32 packed = COARSE_ORDER.at[first + k], x = packed & 15, y = packed >> 4 & 15,
                      z = packed >> 8 & 15;
            VolumeVertex vertex = {(i32)(2 * x), (i32)(2 * y), (i32)(2 * z), level,
                x >> 3 | (y >> 3) << 1 | (z >> 3) << 2, packed >> 15, 0};
            if (vertex.x <= tile.last[0] && vertex.y <= tile.last[1] && vertex.z <= tile.last[2])
                visit_vertex(tile, window, interpolant, vertex, packed >> 12 & 7, code);
        }
        first += count;
        __syncthreads();
    }
}

// Visits the coarse levels of a closed tile, coarse ones first. `begin_level(level)` comes before each level
// behind the anchors. Call with a block.
template <typename Window, typename Begin, typename Code>
__device__ __forceinline__ void visit_coarse_levels(
    const VolumeTile& tile, Window& window, const u32* interpolants, Begin begin_level, Code& code) {
    typedef typename Window::T T;
    const u32 corner = threadIdx.x;
    const i32 x = corner & 1 ? VOLUME_SIDE : 0, y = corner & 2 ? VOLUME_SIDE : 0,
              z = corner & 4 ? VOLUME_SIDE : 0;
    if (corner < 8 && x <= tile.last[0] && y <= tile.last[1] && z <= tile.last[2]) {
        constexpr i32 FINEST = Window::Shape::LEVEL;
        const T prediction[Window::N] = {};
        T value[Window::N];
        const i32 at = Window::Shape::index(x >> FINEST, y >> FINEST, z >> FINEST);
        const VolumeVertex vertex = {x, y, z, VOLUME_ANCHOR_LEVEL, corner, 0, at};
        code(code.line(corner, VOLUME_ANCHOR_LEVEL), vertex, prediction, value);
        for (i32 c = 0; c < Window::N; c++) window.values[c][at] = value[c];
    }
    __syncthreads();
    u32 first = 0;
#pragma unroll 1
    for (i32 level = VOLUME_ANCHOR_LEVEL - 1; level > 0; level--) {
        begin_level(level);
        visit_coarse_level(tile, window, interpolant_of<T>(interpolants[level]), level, first, code);
    }
}
