// The finest level of a closed tile of a volume, by a block: of a whole tile line by line, of others vertex
// by vertex.
#pragma once
#include "tile/volume.cuh"

// The finest vertices with so many odd coordinates, class by class.
struct FinestVertices {
    static constexpr u32 LOG = VOLUME_ANCHOR_LEVEL - 1, N = 1u << LOG;
    u32 odd_axes, count;

    __device__ __forceinline__ explicit FinestVertices(u32 odd_axes)
        : odd_axes(odd_axes), count(vertices_on_level(odd_axes, 0)) {}
    // Vertex k, and which of its coordinates are odd.
    __device__ __forceinline__ VolumeVertex vertex(u32 k, u32& odd) const {
        const u32 each = odd_axes == 3 ? count : count / 3,
                  in_class = (u32)(k >= each) + (u32)(k >= 2 * each),
                  number = first_class(odd_axes) + in_class;
        odd = odd_axes_of(number);
        const u32 left = k - in_class * each, row = rows_of(left, odd & 1), z = rows_of(row, odd & 2),
                  x = left - row * (odd & 1 ? N : N + 1), y = row - z * (odd & 2 ? N : N + 1);
        return {(i32)(2 * x + (odd & 1)), (i32)(2 * y + (odd >> 1 & 1)), (i32)(2 * z + (odd >> 2)), 0,
            (u32)(x == N) | (u32)(y == N) << 1 | (u32)(z == N) << 2,
            ((1 + number) << 3 * LOG) + ((z & (N - 1)) * N + (y & (N - 1))) * N + (x & (N - 1)), 0};
    }
    // k / N along an odd axis, k / (N + 1) along others: exact for k below 2^14, as the numerator of the
    // reciprocal is at most 8 too large.
    static __device__ __forceinline__ u32 rows_of(u32 k, bool is_odd) {
        return is_odd ? k / N : k * ((65536 + N) / (N + 1)) >> 16;
    }
};

// Visits the vertices of the finest level of a closed tile, each by a thread. Call with a block.
template <typename Window, typename Code>
__device__ __forceinline__ void visit_finest_vertices(
    const VolumeTile& tile, Window& window, const Interpolant<typename Window::T>& interpolant, Code& code) {
#pragma unroll 1
    for (u32 odd_axes = 1; odd_axes <= 3; odd_axes++) {
        const FinestVertices vertices(odd_axes);
#pragma unroll 1
        for (u32 k = threadIdx.x; k < vertices.count; k += blockDim.x) {
            u32 odd;
            VolumeVertex vertex = vertices.vertex(k, odd);
            if (vertex.x <= tile.last[0] && vertex.y <= tile.last[1] && vertex.z <= tile.last[2])
                visit_vertex(tile, window, interpolant, vertex, odd, code);
        }
        __syncthreads();
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

// Visits the finest vertices of a whole tile: those with one odd coordinate, with two and with three. The
// first six warps have the lines within the tile of the three classes with one odd coordinate, and of those
// with two, two warps a class; the last two warps have the lines on the far sides of the closed tile.
// Vertices that are odd along x alone, on far sides too, belong to the first two. With three odd coordinates
// a thread has a quarter of a line. Call with a block.
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
