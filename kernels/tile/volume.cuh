// The closed tile of a volume, level by level. Twin of src/tile/volume.rs.
//
// A vertex is predicted along its odd axes alone, so that those on a face, an edge or a corner of a closed
// tile get the same values in every tile that has them: each tile computes all of its closed tile and nothing
// depends on other tiles. All levels but the finest one make a closed tile of half the side. These coarse
// levels have few vertices each: a warp computes them, and many tiles have their turn at the same time. A
// block computes the finest level.
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

// The first of the classes with so many odd axes.
__device__ __forceinline__ constexpr u32 first_class(u32 odd_axes) {
    return odd_axes == 1 ? 0 : odd_axes == 2 ? 3 : 6;
}

// The vertices of a level with so many odd coordinates, class by class. There are n = 2^log along an odd
// axis, and n + 1 along others.
struct LevelVertices {
    u32 odd_axes, log, each, count;  // each: vertices of a class

    __device__ __forceinline__ LevelVertices(u32 odd_axes, i32 level)
        : odd_axes(odd_axes), log((u32)(VOLUME_ANCHOR_LEVEL - 1 - level)) {
        const u32 n = 1u << log;
        each = n * (odd_axes == 1 ? n + 1 : n) * (odd_axes == 3 ? n : n + 1);
        count = odd_axes == 3 ? each : 3 * each;
    }
    // Vertex k: in units of half a cell, and which of its coordinates are odd.
    struct Place {
        u32 at[3], odd, number;
    };
    __device__ __forceinline__ Place operator[](u32 k) const {
        Place place;
        const u32 in_class = (u32)(k >= each) + (u32)(k >= 2 * each);
        place.number = first_class(odd_axes) + in_class;
        place.odd = odd_axes_of(place.number);
        const u32 left = k - in_class * each, row = rows_of(left, place.odd & 1),
                  plane = rows_of(row, place.odd >> 1 & 1);
        place.at[0] = 2 * (left - (row << log) - (place.odd & 1 ? 0 : row)) + (place.odd & 1);
        place.at[1] = 2 * (row - (plane << log) - (place.odd & 2 ? 0 : plane)) + (place.odd >> 1 & 1);
        place.at[2] = 2 * plane + (place.odd >> 2);
        return place;
    }
    // k / n, or k / (n + 1): exact for k below 2^14, as the numerator of the reciprocal is at most 4 too
    // large.
    __device__ __forceinline__ u32 rows_of(u32 k, bool is_odd) const {
        const u32 n = 1u << log;
        return is_odd ? k >> log : k * ((65536 + n) / (n + 1)) >> 16;
    }
};

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

// What codes the vertices of a tile, or restores them, has two functions: `line(owner, level)` gives what is
// the same for all vertices of a level with one owner, and a call with that, a vertex and its prediction
// gives the values that take its place.

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
        const u32 count = LevelVertices(odd_axes, level).count;
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

// Visits the vertices of the finest level of a closed tile, each by a thread. Call with a block.
template <typename Window, typename Code>
__device__ __forceinline__ void visit_finest_vertices(
    const VolumeTile& tile, Window& window, const Interpolant<typename Window::T>& interpolant, Code& code) {
    constexpr u32 LOG = VOLUME_ANCHOR_LEVEL - 1, N = 1u << LOG;
#pragma unroll 1
    for (u32 odd_axes = 1; odd_axes <= 3; odd_axes++) {
        const LevelVertices vertices(odd_axes, 0);
#pragma unroll 1
        for (u32 k = threadIdx.x; k < vertices.count; k += blockDim.x) {
            const LevelVertices::Place here = vertices[k];
            VolumeVertex vertex = {
                (i32)here.at[0], (i32)here.at[1], (i32)here.at[2], 0, 0, (1 + here.number) << 3 * LOG, 0};
            if (vertex.x > tile.last[0] || vertex.y > tile.last[1] || vertex.z > tile.last[2]) continue;
#pragma unroll
            for (u32 axis = 0; axis < 3; axis++) {
                vertex.owner |= (u32)(here.at[axis] == 2 * N) << axis;
                vertex.position += (here.at[axis] / 2 & (N - 1)) << axis * LOG;
            }
            visit_vertex(tile, window, interpolant, vertex, here.odd, code);
        }
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

// A line of finest vertices of a whole tile: vertices along y (AXIS: 1) or z (AXIS: 2) with the same odd
// coordinates. A thread has a line, so that owner, bin width and neighbours along other axes are the same for
// all its vertices, and values along the line are read once.
template <i32 ODD, u32 AXIS>
struct FineLine {
    typedef WindowShape<0> Shape;
    static constexpr i32 N = VOLUME_SIDE / 2;
    VolumeVertex vertex;  // the next one
    u32 odd;              // which of its coordinates are odd
    i32 k, end;           // the next vertex of the line, and behind the last one

    // A line of a class: cell i along x, and cell j along the other one of y and z.
    __device__ __forceinline__ FineLine(u32 number, i32 i, i32 j)
        : odd(odd_axes_of(first_class(ODD) + number)), k(0), end(N) {
        const i32 y = AXIS == 1 ? 0 : j, z = AXIS == 1 ? j : 0;
        vertex.x = 2 * i + (i32)(odd & 1), vertex.y = 2 * y + (i32)(odd >> 1 & 1);
        vertex.z = 2 * z + (i32)(odd >> 2), vertex.level = 0;
        vertex.owner = (u32)(i == N) | (u32)(y == N) << 1 | (u32)(z == N) << 2;
        vertex.position = (1 + first_class(ODD) + number) * N * N * N +
                          (u32)((z & (N - 1)) * N + (y & (N - 1))) * N + (u32)(i & (N - 1));
        vertex.at = Shape::index(vertex.x, vertex.y, vertex.z);
    }
    // Line `number` of those on the far sides of the closed tile: cells along x, then along the other axis.
    static __device__ __forceinline__ FineLine on_far_side(u32 number, i32 k) {
        return k < N ? FineLine(number, k, N) : FineLine(number, N, k - N);
    }
    // From a vertex to the next one in a window.
    static constexpr i32 DISTANCE = 2 * Shape::PITCH * (AXIS == 1 ? 1 : Shape::CLOSED);
    __device__ __forceinline__ void step() {
        k++;
        (AXIS == 1 ? vertex.y : vertex.z) += 2;
        vertex.position += AXIS == 1 ? N : N * N;
        vertex.at += DISTANCE;
    }
};

// Visits the vertices of a line that are odd along it, and keeps the values along it that the next one needs.
template <i32 ODD, u32 AXIS, typename Window, typename Code>
__device__ __forceinline__ void visit_line(Window& window, const Interpolant<typename Window::T>& interpolant,
    FineLine<ODD, AXIS> line, Code& code) {
    typedef typename Window::T T;
    constexpr i32 N = Window::N, ACROSS = ODD == 3 ? 2 : 1, STEP = FineLine<ODD, AXIS>::DISTANCE,
                  HALF = STEP / 2;
    const bool sums = ODD > 1 && interpolant.coons;
    AlongAxis<T> across[ACROSS];
    if (ODD > 1) {
#pragma unroll
        for (u32 j = 0; j < ACROSS; j++) {
            const u32 axis = ODD == 2 && AXIS == 2 && !(line.odd & 1) ? 1 : j;
            across[j] = AlongAxis<T>(interpolant, axis == 0 ? line.vertex.x : line.vertex.y, 1, VOLUME_SIDE,
                WindowShape<0>::neighbours(axis, 0));
        }
    }
    auto pair = [&](const T* at) { return at[across[0].to.lower] + at[across[0].to.upper()]; };
    // The vertices behind, before and after the next one along the line; for sums of two the sum of those
    // across the one before.
    T behind[N], before[N], after[N];
#pragma unroll
    for (i32 c = 0; c < N; c++) {
        const T* const at = window.values[c] + line.vertex.at;
        before[c] = at[-HALF], after[c] = at[HALF];
        behind[c] = ODD == 2 && sums ? pair(at - HALF) : line.k > 0 ? at[-3 * HALF] : after[c];
    }
    const typename Code::Line of_line = code.line(line.vertex.owner, 0);
#pragma unroll 1
    for (; line.k < line.end; line.step()) {
        const bool has_next = line.k < FineLine<ODD, AXIS>::N - 1;
        const Outer<T> outer = outer_of(interpolant, line.k > 0, has_next);
        T prediction[N], value[N];
#pragma unroll
        for (i32 c = 0; c < N; c++) {
            const T* const at = window.values[c] + line.vertex.at;
            T next = before[c];
            if (has_next) next = at[3 * HALF];
            const T both = before[c] + after[c];
            T kept = before[c];
            if (ODD == 3 && sums) {
                if constexpr (ODD == 3)
                    prediction[c] = sum_of_three(at, across[0].to, across[1].to, {-HALF, STEP});
            } else if (sums) {
                kept = pair(at + HALF);
                prediction[c] = T(0.5) * (pair(at) + both) - T(0.25) * (behind[c] + kept);
            } else {
                const T along = predict(outer, behind[c], before[c], after[c], next, both);
                if constexpr (ODD == 1) prediction[c] = along;
                if constexpr (ODD == 2) prediction[c] = T(0.5) * (across[0].inside(at) + along);
                if constexpr (ODD == 3)
                    prediction[c] = T(1.0 / 3.0) * ((across[0].inside(at) + across[1].inside(at)) + along);
            }
            behind[c] = kept, before[c] = after[c], after[c] = next;
        }
        code(of_line, line.vertex, prediction, value);
#pragma unroll
        for (i32 c = 0; c < N; c++) window.values[c][line.vertex.at] = value[c];
    }
}
// Visits the finest vertices of a whole tile that are odd along x alone, by the first threads of a block.
template <i32 THREADS, typename Window, typename Code>
__device__ __forceinline__ void visit_odd_x(
    Window& window, const Interpolant<typename Window::T>& interpolant, Code& code) {
    typedef typename Window::T T;
    constexpr i32 N = VOLUME_SIDE / 2, ALL = N * (N + 1) * (N + 1);
    static_assert(THREADS % N == 0, "a thread has one coordinate along x");
    const i32 i = (i32)threadIdx.x % N;
    const AlongAxis<T> along(interpolant, 2 * i + 1, 1, VOLUME_SIDE, WindowShape<0>::neighbours(0, 0));
#pragma unroll 1
    for (i32 k = (i32)threadIdx.x; k < ALL; k += THREADS) {
        const i32 y = k / N % (N + 1), z = k / (N * (N + 1));
        const VolumeVertex vertex = {2 * i + 1, 2 * y, 2 * z, 0, (u32)(y == N) << 1 | (u32)(z == N) << 2,
            (u32)(((N + (z & (N - 1))) * N + (y & (N - 1))) * N + i), window_index(2 * i + 1, 2 * y, 2 * z)};
        T prediction[Window::N], value[Window::N];
#pragma unroll
        for (i32 c = 0; c < Window::N; c++) prediction[c] = along.inside(window.values[c] + vertex.at);
        code(code.line(vertex.owner, 0), vertex, prediction, value);
#pragma unroll
        for (i32 c = 0; c < Window::N; c++) window.values[c][vertex.at] = value[c];
    }
}

// Visits the finest vertices of a whole tile. Vertices or lines within the tile belong to six warps, two for
// each class; lines on the far sides of the closed tile to the last two. Call with a block.
template <typename Window, typename Code>
__device__ __forceinline__ void visit_lines(
    Window& window, const Interpolant<typename Window::T>& interpolant, Code& code) {
    constexpr i32 N = VOLUME_SIDE / 2;
    static_assert(VOLUME_THREADS == 256 && N * N == 64, "two warps for the lines of a class");
    const i32 thread = (i32)threadIdx.x, warp = thread / 32, lane = thread % 32, i = thread % N,
              j = thread / N % N;
    if (warp < 2) {
        visit_odd_x<64>(window, interpolant, code);
    } else if (warp < 4 || warp == 6) {
        typedef FineLine<1, 1> Line;
        if (warp < 4 || lane <= 2 * N)
            visit_line(window, interpolant, warp < 4 ? Line(1, i, j) : Line::on_far_side(1, lane), code);
    } else {
        typedef FineLine<1, 2> Line;
        if (warp < 6 || lane <= 2 * N)
            visit_line(window, interpolant, warp < 6 ? Line(2, i, j) : Line::on_far_side(2, lane), code);
    }
    __syncthreads();
    if (warp < 2 || warp == 6) {
        typedef FineLine<2, 1> Line;
        if (warp < 2 || lane < N)
            visit_line(window, interpolant, warp < 2 ? Line(0, i, j) : Line(0, lane, N), code);
    } else {
        typedef FineLine<2, 2> Line;
        const u32 number = warp < 4 || (warp == 7 && lane < N) ? 1 : 2;
        if (warp < 6 || lane < 2 * N)
            visit_line(window, interpolant,
                warp < 6      ? Line(number, i, j)
                : number == 1 ? Line(1, lane, N)
                              : Line(2, N, lane - N),
                code);
    }
    __syncthreads();
    // A quarter of a line each.
    FineLine<3, 2> line(0, i, j);
    line.end = (thread / (N * N) + 1) * (N / 4);
    while (line.k < line.end - N / 4) line.step();
    visit_line(window, interpolant, line, code);
    __syncthreads();
}

// Visits the finest level of a closed tile. Call with a block.
template <typename Window, typename Code>
__device__ __forceinline__ void visit_finest_level(
    const VolumeTile& tile, Window& window, const u32* interpolants, Code& code) {
    typedef typename Window::T T;
    const Interpolant<T> interpolant = interpolant_of<T>(interpolants[0]);
    if (tile.is_whole())
        visit_lines(window, interpolant, code);
    else
        visit_finest_vertices(tile, window, interpolant, code);
}
