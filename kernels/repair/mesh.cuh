// The two meshes as a repair sees them: tetrahedra of a volume and triangles of planes. All that depends on
// the mesh is here. Twins: src/repair/mesh.rs, src/repair/tetrahedra.rs, src/repair/triangles.rs.
#pragma once
#include "grid/volume_field.cuh"
#include "tile/volume_window.cuh"
#include "topology/bound.cuh"
#include "topology/exact_type.cuh"
#include "topology/tetrahedron_bound.cuh"

// AXES: along which cells have neighbours. PLACES: vertices of a tile. SIDES: vertices of a tile along x, y
// and z; CLOSED: those of its cells. OF_CELL: simplices of a cell. AROUND: simplices around a vertex.
struct Tetrahedra {
    static constexpr i32 AXES = 3, COMPONENTS = 3;
    static constexpr u32 CORNERS = TETRAHEDRON_CORNERS, AROUND = TETRAHEDRA_AROUND, OF_CELL = TETRAHEDRA,
                         PLACES = VOLUME_TILE_VERTICES, SIDE = VOLUME_SIDE, SIDE_Z = VOLUME_SIDE,
                         CLOSED = VOLUME_CLOSED, CLOSED_Z = VOLUME_CLOSED;
    typedef VolumeTile Tile;
    typedef VolumeRule Rule;
    template <typename T>
    using Vectors = Tetrahedron<T>;
    template <typename T>
    using Kept = VolumeSignature;

    static __device__ __forceinline__ Tile tile(const Job& job, u64 index) { return volume_tile(job, index); }
    static __device__ __forceinline__ TilePlace place_of(const Job& job, const GridPoint& p) {
        return tile_place(job, p);
    }
    static __device__ __forceinline__ u32 place_of_number(u32 number) { return place_of_listed(number); }
    static __device__ __forceinline__ Rule rule(const Job& job) { return Rule(job); }

    static __device__ __forceinline__ u32 corner(u32 simplex, u32 k) { return corner_of(simplex, k); }
    static __device__ __forceinline__ u32 around(u32 k) { return tetrahedron_around(k); }
    static __device__ __forceinline__ u32 own_corner(u32 k) { return own_corner_around(k); }

    // The signature that a simplex must keep; `keeps` tests other vectors against it.
    template <typename T>
    static __device__ __forceinline__ VolumeSignature kept(
        const Tetrahedron<T>& before, u32 simplex, const Rule& rule) {
        return volume_signature(before, simplex, rule);
    }
    template <typename T>
    static __device__ __forceinline__ bool keeps(const VolumeSignature& kept, const Tetrahedron<T>&,
        const Tetrahedron<T>& after, u32 simplex, const Rule& rule) {
        return stays(kept, volume_signature(after, simplex, rule));
    }
    // A bound of the errors at the corners below which a simplex keeps its signature. `any`: it may be
    // smaller, but is 0 only where it is otherwise.
    template <typename T, typename Team = OneThread>
    static __device__ __forceinline__ T bound(const Tetrahedron<T>& p, u32 simplex, const Rule& rule,
        double eps, bool any = false, Team team = Team()) {
        return tetrahedron_bound(p, simplex, rule, eps, any, team);
    }
    // Whether a warp computes a bound faster than a thread.
    static constexpr bool IS_BOUND_BY_WARP = true;
    // Whether a simplex that reaches over a side bounds no error.
    template <typename T>
    static __device__ __forceinline__ bool is_far(const Tetrahedron<T>&, double) {
        return false;
    }
};

// A tile of a plane; tiles are numbered plane by plane and row by row.
struct PlaneTile {
    u64 index;
    u64 first[3];
    i32 owned_x, owned_y;

    __device__ __forceinline__ i32 owned(i32 axis) const {
        return axis == 0 ? owned_x : axis == 1 ? owned_y : 1;
    }
};
// The vectors at the corners of a triangle.
template <typename T>
struct TriangleVectors {
    Vector<T, 2> at[3];

    __device__ __forceinline__ Corners<T> corners() const {
        return {{at[0].at[0], at[1].at[0], at[2].at[0]}, {at[0].at[1], at[1].at[1], at[2].at[1]}};
    }
};
template <typename T>
__device__ __forceinline__ bool one_sided(const TriangleVectors<T>& p) {
    return one_sided(p.corners());
}

// Whether a critical point in both triangles is of another type, if the rule asks for types, or turns the
// other way. s0, s1: signs of their determinants.
template <typename T>
__device__ __forceinline__ bool changes_type(
    const Corners<T>& p0, const Corners<T>& p1, i32 s0, i32 s1, i32 triangle, const Rule& rule) {
    if (s0 != s1) return true;
    if (!rule.keeps_type(s0)) return false;
    i32 types[2];
#pragma unroll 1
    for (i32 k = 0; k < 2; k++) {
        i32 trace, discriminant;
        certain_type(k ? p1 : p0, triangle, rule, trace, discriminant);
        if (trace == 0 || discriminant == 0)
            exact_type_of_thread(k ? p1 : p0, triangle, rule, trace, discriminant);
        types[k] = type_of_signs(1, trace, discriminant);
    }
    return types[0] != types[1];
}
// Whether a triangle keeps what it must. Twin of Both::keeps in src/analysis/compare.rs.
template <typename T>
__device__ __noinline__ bool keeps_triangle(Corners<T> p0, Corners<T> p1, i32 triangle, Rule rule) {
    i32 s0[3], s1[3];
    signs(p0, s0);
    signs(p1, s1);
    const u32 k0 = kind(p0, s0), k1 = kind(p1, s1);
    if ((k0 == IN) != (k1 == IN)) return false;
    if (k0 != TIE) return k1 != TIE && (k0 != IN || !changes_type(p0, p1, s0[0], s1[0], triangle, rule));
    return keeps_tie(p0, p1, s0, s1, rule.ties());
}

struct Triangles {
    static constexpr i32 AXES = 2, COMPONENTS = 2;
    static constexpr u32 CORNERS = 3, AROUND = ::AROUND, OF_CELL = 2, PLACES = TILE_VERTICES, SIDE = TILE,
                         SIDE_Z = 1, CLOSED = TILE + 1, CLOSED_Z = 1;
    typedef PlaneTile Tile;
    typedef ::Rule Rule;
    template <typename T>
    using Vectors = TriangleVectors<T>;
    struct Nothing {};
    template <typename T>
    using Kept = Nothing;

    static __device__ __forceinline__ Tile tile(const Job& job, u64 index) {
        // Numbers of tiles have 32 bits (capacities.cuh).
        const u32 columns = (u32)job.tiles_x, row = (u32)index / columns, z = row / job.plane_tile_rows;
        const u64 x = (u64)((u32)index - row * columns) * TILE,
                  y = (u64)(row - z * job.plane_tile_rows) * TILE;
        return {index, {x, y, z}, (i32)min((u64)TILE, job.nx - x), (i32)min((u64)TILE, job.ny - y)};
    }
    static __device__ __forceinline__ TilePlace place_of(const Job& job, const GridPoint& p) {
        const u64 row = (u64)p.z * job.plane_tile_rows + (u64)p.y / TILE;
        return {row * job.tiles_x + (u64)p.x / TILE, (u32)p.y % TILE * TILE + (u32)p.x % TILE};
    }
    static __device__ __forceinline__ u32 place_of_number(u32 number) {
        u32 place = 0;
#pragma unroll
        for (u32 bit = 0; bit < 5; bit++)
            place |= (number >> 2 * bit & 1) << bit | (number >> (2 * bit + 1) & 1) << (5 + bit);
        return place;
    }
    static __device__ __forceinline__ Rule rule(const Job& job) { return rule_of(job); }

    static __device__ __forceinline__ u32 corner(u32 simplex, u32 k) {
        return (u32)corner_x((i32)simplex, (i32)k) | (u32)corner_y((i32)simplex, (i32)k) << 1;
    }
    static __device__ __forceinline__ u32 around(u32 k) { return (u32)incident_triangle((i32)k); }
    static __device__ __forceinline__ u32 own_corner(u32 k) {
        return (u32)-incident_x((i32)k) | (u32)-incident_y((i32)k) << 1;
    }

    template <typename T>
    static __device__ __forceinline__ Nothing kept(const TriangleVectors<T>&, u32, const Rule&) {
        return {};
    }
    template <typename T>
    static __device__ __forceinline__ bool keeps(const Nothing&, const TriangleVectors<T>& before,
        const TriangleVectors<T>& after, u32 simplex, const Rule& rule) {
        return keeps_triangle(before.corners(), after.corners(), (i32)simplex, rule);
    }
    template <typename T, typename Team = OneThread>
    static __device__ __forceinline__ T bound(
        const TriangleVectors<T>& p, u32 simplex, const Rule& rule, double eps, bool = false, Team = Team()) {
        return triangle_bound(p.corners(), (i32)simplex, rule, eps).vertex_bound;
    }
    static constexpr bool IS_BOUND_BY_WARP = false;
    template <typename T>
    static __device__ __forceinline__ bool is_far(const TriangleVectors<T>& p, double eps) {
        return axis_distance(p.corners()) > round_up<T>(eps);
    }
};

// The vertex at a place of a tile, if the tile owns it.
template <typename Mesh>
__device__ __forceinline__ bool vertex_at_place(const typename Mesh::Tile& tile, u32 place, GridPoint& p) {
    const i32 x = (i32)(place % Mesh::SIDE), y = (i32)(place / Mesh::SIDE % Mesh::SIDE),
              z = (i32)(place / (Mesh::SIDE * Mesh::SIDE));
    p = {(long long)tile.first[0] + x, (long long)tile.first[1] + y, (long long)tile.first[2] + z};
    return x < tile.owned(0) && y < tile.owned(1) && z < tile.owned(2);
}
// The vertex at a position of lists. False if the grid has none there.
template <typename Mesh>
__device__ __forceinline__ bool vertex_at_position(const Job& job, u64 position, GridPoint& p) {
    const u64 index = position / Mesh::PLACES;
    return index < job.tiles() && vertex_at_place<Mesh>(Mesh::tile(job, index),
                                      Mesh::place_of_number((u32)position % Mesh::PLACES), p);
}
// Whether the grid has a cell.
template <typename Mesh>
__device__ __forceinline__ bool has_cell(const Job& job, const GridPoint& cell) {
    bool here = true;
#pragma unroll
    for (i32 axis = 0; axis < Mesh::AXES; axis++) {
        const long long at = cell.along(axis), cells = size_along(job, axis) - !(job.periodic >> axis & 1);
        here &= at >= 0 && at < cells;
    }
    return here;
}
