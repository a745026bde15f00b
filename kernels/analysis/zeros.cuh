// Isolated zeros at vertices and on edges, with their Poincare index. Twin of src/analysis/zeros.rs.
#pragma once
#include "analysis/bands.cuh"

namespace analysis {

// Edges and vertex that a triangle owns: a loop over all triangles visits each of them once. Twin of
// Triangle::owned_faces.
__device__ __forceinline__ constexpr u32 owned_faces(i32 triangle) {
    return triangle == LOWER ? LOWER_FACES : UPPER_FACES;
}

// The corner where an edge ends; for the vertex, corner a.
__device__ __forceinline__ constexpr i32 end_corner(i32 simplex) { return number_of(SIMPLEX_ENDS, simplex); }

// Offset of vertex k of a ring from the base of its simplex, from -1 to 1.
__device__ __forceinline__ long long ring_x(u32 ring, i32 k) { return (long long)(ring >> 4 * k & 3) - 1; }
__device__ __forceinline__ long long ring_y(u32 ring, i32 k) {
    return (long long)(ring >> (4 * k + 2) & 3) - 1;
}

// A vector of each of N fields.
template <typename T, i32 N>
struct Vertex {
    T u[N], v[N];
};

// False if the vertex is missing, or beyond the grid and its ghosts.
template <typename T, i32 N>
__device__ __forceinline__ bool load_vertex(
    const Analysis& job, long long x, long long y, u64 z, Vertex<T, N>& p) {
    if (x < -job.columns_before || x >= (long long)job.columns || y < -job.rows_before ||
        y >= (long long)job.rows)
        return false;
    wrap(job, x, y);
    bool finite = true;
#pragma unroll
    for (i32 f = 0; f < N; f++) {
        auto value = [&](const Component& c) {
            const T* values = static_cast<const T*>(plane_of<T>(c, z).values);
            return values[y * (long long)c.layout.pitch + x * (long long)c.layout.stride];
        };
        p.u[f] = value(job.fields[f].u);
        p.v[f] = value(job.fields[f].v);
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
    // Corner a comes first.
    static_assert(corner(LOWER, 1) == end_corner(EDGE_X) && corner(LOWER, 2) == end_corner(DIAGONAL) &&
                      LOWER_FACES == (1u << EDGE_X | 1u << DIAGONAL | 1u << VERTEX) &&
                      corner(UPPER, 2) == end_corner(EDGE_Y) && UPPER_FACES == 1u << EDGE_Y,
        "corners of the edges");
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
__device__ __noinline__ Zeros<N> zeros_at(const Analysis& job, i32 simplex, u64 base_x, u64 base_y, u64 z) {
    const u32 ring = simplex == VERTEX   ? VERTEX_RING
                     : simplex == EDGE_X ? EDGE_X_RING
                     : simplex == EDGE_Y ? EDGE_Y_RING
                                         : DIAGONAL_RING;
    const i32 length = simplex == VERTEX ? AROUND : 4;
    const long long x = (long long)base_x, y = (long long)base_y;
    auto load = [&](i32 k, Vertex<T, N>& p) {
        return load_vertex(job, x + ring_x(ring, k), y + ring_y(ring, k), z, p);
    };
    Zeros<N> zeros = {};
    Vertex<T, N> a, b;
    if (!load_vertex(job, x, y, z, a)) return zeros;
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
    const Analysis& job, i32 simplex, u64 base_x, u64 base_y, u64 z, double& x, double& y) {
    x = y = 0.0;
    if (simplex == VERTEX) return;
    const i32 dx = end_corner(simplex) & 1, dy = end_corner(simplex) >> 1;
    const FieldView field = plane_of<T>(job.fields[0], z);
    double p[2][2], largest = 0.0;
#pragma unroll
    for (i32 k = 0; k < 2; k++) {
        p[k][0] = (double)value_of<T>(job, field.u, base_x + k * dx, base_y + k * dy);
        p[k][1] = (double)value_of<T>(job, field.v, base_x + k * dx, base_y + k * dy);
        largest = fmax(largest, fmax(fabs(p[k][0]), fabs(p[k][1])));
    }
    const double a = fabs(p[0][0] / largest) + fabs(p[0][1] / largest),
                 b = fabs(p[1][0] / largest) + fabs(p[1][1] / largest);
    x = (double)dx * (a / (a + b));
    y = (double)dy * (a / (a + b));
}

}  // namespace analysis
