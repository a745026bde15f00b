// Isolated zeros at vertices and on edges, with their Poincare index. Twin of src/analysis/zeros.rs.
#pragma once
#include "analysis/bands.cuh"

namespace analysis {

// Looked at with one of the triangles.
constexpr u32 OF_LOWER = 1u << EDGE_X | 1u << DIAGONAL | 1u << VERTEX, OF_UPPER = 1u << EDGE_Y;

// Offsets from -1 to 1 in four bits, those of the first vertex lowest.
constexpr u32 offset(i32 k, i32 x, i32 y) { return (u32)((x + 1) | (y + 1) << 2) << 4 * k; }
__device__ __forceinline__ long long offset_x(u32 offsets, i32 k) {
    return (long long)(offsets >> 4 * k & 3) - 1;
}
__device__ __forceinline__ long long offset_y(u32 offsets, i32 k) {
    return (long long)(offsets >> (4 * k + 2) & 3) - 1;
}

// The vertices around a simplex, counter-clockwise; the first and the third around an edge are its ends.
constexpr u32 AROUND_VERTEX = offset(0, 1, 0) | offset(1, 1, 1) | offset(2, 0, 1) | offset(3, -1, 0) |
                              offset(4, -1, -1) | offset(5, 0, -1),
              AROUND_EDGE_X = offset(0, 0, 0) | offset(1, 0, -1) | offset(2, 1, 0) | offset(3, 1, 1),
              AROUND_EDGE_Y = offset(0, 0, 0) | offset(1, 1, 1) | offset(2, 0, 1) | offset(3, -1, 0),
              AROUND_DIAGONAL = offset(0, 0, 0) | offset(1, 1, 0) | offset(2, 1, 1) | offset(3, 0, 1);

// A vector of each of N fields.
template <typename T, i32 N>
struct Vertex {
    T u[N], v[N];
};

// False if the vertex is missing, or beyond the grid and its ghosts.
template <typename T, i32 N>
__device__ __forceinline__ bool load_vertex(const Analysis& job, long long x, long long y, Vertex<T, N>& p) {
    if (x < -job.columns_before || x >= (long long)job.columns || y < -job.rows_before ||
        y >= (long long)job.rows)
        return false;
    bool finite = true;
#pragma unroll
    for (i32 f = 0; f < N; f++) {
        const Component &u = job.fields[f].u, &v = job.fields[f].v;
        p.u[f] =
            static_cast<const T*>(u.values)[y * (long long)u.layout.pitch + x * (long long)u.layout.stride];
        p.v[f] =
            static_cast<const T*>(v.values)[y * (long long)v.layout.pitch + x * (long long)v.layout.stride];
        finite &= Real<T>::finite(p.u[f]) & Real<T>::finite(p.v[f]);
    }
    return finite && !(job.has_fill && is_filled(p.u[0], p.v[0], job.fill));
}

template <typename T>
__device__ __forceinline__ bool is_zero(T u, T v) {
    return u == T(0) && v == T(0);
}

// The signs of vectors with opposite directions.
template <typename T>
__device__ __forceinline__ bool may_be_opposite(T u0, T v0, T u1, T v1) {
    return !is_zero(u0, v0) && sign(u0) == -sign(u1) && sign(v0) == -sign(v1);
}

// The simplices of the base of a triangle without missing vertices that may hold isolated zeros.
template <typename T>
__device__ __forceinline__ u32 candidates(const Corners<T>& p, i32 triangle) {
    const u32 last = may_be_opposite(p.u[0], p.v[0], p.u[2], p.v[2]);
    if (triangle == UPPER) return last << EDGE_Y;
    const u32 first = may_be_opposite(p.u[0], p.v[0], p.u[1], p.v[1]),
              vertex = is_zero(p.u[0], p.v[0]) && !is_zero(p.u[1], p.v[1]) && !is_zero(p.u[2], p.v[2]);
    return first << EDGE_X | last << DIAGONAL | vertex << VERTEX;
}

// Which of the fields have an isolated zero, a bit for each, and the indices.
template <i32 N>
struct Zeros {
    u32 fields;
    i32 index[N];
};

template <typename T, i32 N>
__device__ __noinline__ Zeros<N> zeros_at(const Analysis& job, i32 simplex, u64 base_x, u64 base_y) {
    const u32 ring = simplex == VERTEX   ? AROUND_VERTEX
                     : simplex == EDGE_X ? AROUND_EDGE_X
                     : simplex == EDGE_Y ? AROUND_EDGE_Y
                                         : AROUND_DIAGONAL;
    const i32 length = simplex == VERTEX ? 6 : 4;
    const long long x = (long long)base_x, y = (long long)base_y;
    auto load = [&](i32 k, Vertex<T, N>& p) {
        return load_vertex(job, x + offset_x(ring, k), y + offset_y(ring, k), p);
    };
    Zeros<N> zeros = {};
    Vertex<T, N> a, b;
    if (!load_vertex(job, x, y, a)) return zeros;
    if (simplex != VERTEX && !load(2, b)) return zeros;
#pragma unroll
    for (i32 f = 0; f < N; f++) {
        const bool holds = simplex == VERTEX ? is_zero(a.u[f], a.v[f])
                                             : may_be_opposite(a.u[f], a.v[f], b.u[f], b.v[f]) &&
                                                   sign_det(a.u[f], a.v[f], b.u[f], b.v[f]) == 0;
        zeros.fields |= (u32)holds << f;
    }
    i32 edges = 0;
    bool from = load(0, a);
#pragma unroll 1
    for (i32 k = 1; k <= length && zeros.fields; k++) {
        const bool to = load(k < length ? k : 0, b);
        if (from && to) {
            edges++;
#pragma unroll
            for (i32 f = 0; f < N; f++) {
                const i32 side = sign_det(a.u[f], a.v[f], b.u[f], b.v[f]);
                // The ring must not pass through the origin.
                if (side == 0 && (is_zero(a.u[f], a.v[f]) || is_zero(b.u[f], b.v[f]) ||
                                     may_be_opposite(a.u[f], a.v[f], b.u[f], b.v[f])))
                    zeros.fields &= ~(1u << f);
                // It turns where it crosses the ray along +u.
                const bool above_a = a.v[f] > T(0), above_b = b.v[f] > T(0);
                zeros.index[f] += (i32)(!above_a && above_b && side > 0);
                zeros.index[f] -= (i32)(above_a && !above_b && side < 0);
            }
        }
        a = b;
        from = to;
    }
    if (edges == 0) zeros.fields = 0;
    const bool is_mirrored = (job.dx < 0.0) != (job.dy < 0.0);
#pragma unroll
    for (i32 f = 0; f < N; f++) {
        if (is_mirrored) zeros.index[f] = -zeros.index[f];
        if (edges < length) zeros.index[f] = INDEX_UNDEFINED;
    }
    return zeros;
}

// Offset of a zero from the base of its simplex.
template <typename T>
__device__ __forceinline__ void position_of_zero(
    const Analysis& job, i32 simplex, u64 base_x, u64 base_y, double& x, double& y) {
    x = y = 0.0;
    if (simplex == VERTEX) return;
    const i32 dx = simplex != EDGE_Y, dy = simplex != EDGE_X;
    double p[2][2], largest = 0.0;
#pragma unroll
    for (i32 k = 0; k < 2; k++) {
        p[k][0] = (double)value_of<T>(job.fields[0].u, base_x + k * dx, base_y + k * dy);
        p[k][1] = (double)value_of<T>(job.fields[0].v, base_x + k * dx, base_y + k * dy);
        largest = fmax(largest, fmax(fabs(p[k][0]), fabs(p[k][1])));
    }
    const double a = fabs(p[0][0] / largest) + fabs(p[0][1] / largest),
                 b = fabs(p[1][0] / largest) + fabs(p[1][1] / largest);
    x = (double)dx * (a / (a + b));
    y = (double)dy * (a / (a + b));
}

}  // namespace analysis
