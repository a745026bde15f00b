// Tiles of 32 x 32 vertices and the order of the vertices in them. Twin of src/grid/tiles.rs.
#pragma once
#include "device/reduce.cuh"
#include "grid/mesh.cuh"

// Rows of the arrays are counted from the first row of the first plane on: plane z begins at row
// z * job.plane_rows. Rows of tiles are counted over all planes.
struct TileShape {
    u64 tx, ty, x0, y0;
    u64 plane;  // first row of its plane
    i32 last_x, last_y;
    // Row of its first vertex in its plane.
    __device__ u64 y_in_plane() const { return y0 - plane; }
    __device__ bool is_first_row() const { return y0 == plane; }
    __device__ i32 owned_x() const { return last_x < TILE - 1 ? last_x + 1 : TILE; }
    __device__ i32 owned_y() const { return last_y < TILE - 1 ? last_y + 1 : TILE; }
};

// The plane of a row of tiles. Numbers of rows of tiles have 32 bits, so that the product with the reciprocal
// is the quotient or one less.
__device__ __forceinline__ u32 plane_of(const Job& job, u32 ty) {
    const u32 z = __umulhi(ty, job.plane_reciprocal);
    return z + (ty - z * job.plane_tile_rows >= job.plane_tile_rows);
}
// Where a row of tiles begins in its plane, and the first row of the plane.
__device__ __forceinline__ u64 place_row(const Job& job, u64 ty, u64& plane) {
    plane = 0;
    if (job.nz == 1) return ty * TILE;
    const u32 z = plane_of(job, (u32)ty);
    plane = z * job.plane_rows;
    return (u64)((u32)ty - z * job.plane_tile_rows) * TILE;
}

// Fills in the members that follow from tx and ty.
__device__ __forceinline__ void place_shape(const Job& job, TileShape& s) {
    const u64 y = place_row(job, s.ty, s.plane);
    s.x0 = s.tx * TILE;
    s.y0 = s.plane + y;
    u64 rx = job.nx - 1 - s.x0, ry = job.ny - 1 - y;
    s.last_x = rx < TILE ? (i32)rx : TILE;
    s.last_y = ry < TILE ? (i32)ry : TILE;
}

__device__ __forceinline__ TileShape tile_shape(const Job& job, u64 tile) {
    TileShape s;
    // Numbers of tiles have 32 bits (capacities.cuh).
    const u32 t = (u32)tile, c = (u32)job.tiles_x, q = t / c;
    s.ty = q;
    s.tx = t - q * c;
    place_shape(job, s);
    return s;
}
// Columns and rows that a tile owns: as tile_shape, in fewer registers.
struct OwnedSize {
    u32 x, y;

    __device__ __forceinline__ OwnedSize(const Job& job, u32 tile) {
        const u32 columns = (u32)job.tiles_x, ty = tile / columns, tx = tile - ty * columns,
                  row = ty - plane_of(job, ty) * job.plane_tile_rows;
        x = tx + 1 == columns ? (u32)job.nx - tx * TILE : TILE;
        y = row + 1 == job.plane_tile_rows ? (u32)job.ny - row * TILE : TILE;
    }
};
// As tile_shape, with a 64-bit path that is never taken: with it the registers of factz_reconstruct are
// allocated better, and the kernel takes 3 % less time (H200).
__device__ __forceinline__ TileShape wide_tile_shape(const Job& job, u64 tile) {
    TileShape s;
    if (job.tiles() < (1ull << 32)) {
        u32 t = (u32)tile, c = (u32)job.tiles_x, q = t / c;
        s.ty = q;
        s.tx = t - q * c;
    } else {
        s.ty = tile / job.tiles_x;
        s.tx = tile % job.tiles_x;
    }
    place_shape(job, s);
    return s;
}

// Coordinates of many tiles by one reciprocal. With the added half, a quotient is at least 1 / (2 * tiles_x)
// away from the next integer, which is more than the rounding error below 2^22 tiles.
struct TileFinder {
    float across;

    __device__ __forceinline__ explicit TileFinder(const Job& job) : across(1.0f / (float)job.tiles_x) {}
    __device__ __forceinline__ void place(const Job& job, u64 tile, u64& tx, u64& ty) const {
        if (job.tiles() <= 1ull << 21) {
            const u32 t = (u32)tile, q = (u32)(((float)t + 0.5f) * across);
            ty = q;
            tx = t - q * (u32)job.tiles_x;
        } else {
            ty = tile / job.tiles_x;
            tx = tile % job.tiles_x;
        }
    }
    __device__ __forceinline__ TileShape shape(const Job& job, u64 tile) const {
        TileShape s;
        place(job, tile, s.tx, s.ty);
        place_shape(job, s);
        return s;
    }
};

// Position of vertex (x, y) in the symbol order: levels from coarse to fine; in a level the vertices on rows,
// on columns, and in cell centres (docs/algorithm.md).
__device__ __forceinline__ i32 position_of(i32 x, i32 y) {
    if ((x | y) == 0) return 0;
    i32 level = __ffs(x | y) - 1;
    i32 n = 16 >> level;
    i32 i = x >> (level + 1), j = y >> (level + 1);
    i32 phase = (x >> level & 1) ? (y >> level & 1 ? 2 : 0) : 1;
    return n * n * (1 + phase) + j * n + i;
}

// The inverse of position_of, without branches.
__device__ __forceinline__ void place_of(i32 position, i32& x, i32& y) {
    const i32 bits = (31 - __clz(position | 1)) >> 1, level = 4 - bits, phase = (position >> 2 * bits) - 1,
              below = (1 << bits) - 1;
    const i32 i = position & below, j = position >> bits & below;
    x = position == 0 ? 0 : (2 * i + (phase != 1)) << level;
    y = position == 0 ? 0 : (2 * j + (phase != 0)) << level;
}

// position_of as a table, row by row.
struct Positions {
    u16 at[TILE * TILE];

    constexpr Positions() : at() {
        for (i32 y = 0; y < TILE; y++)
            for (i32 x = 0; x < TILE; x++) {
                if ((x | y) == 0) continue;
                i32 level = 0;
                while (((x | y) >> level & 1) == 0) level++;
                const i32 n = 16 >> level, phase = (x >> level & 1) == 0 ? 1 : (y >> level & 1) ? 2 : 0;
                at[TILE * y + x] = (u16)(n * n * (1 + phase) + (y >> (level + 1)) * n + (x >> (level + 1)));
            }
    }
};
__device__ const Positions POSITIONS;
