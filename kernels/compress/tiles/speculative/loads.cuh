// Values of a tile of the speculative mode, and the half planes of its vertices, in shared memory.
#pragma once
#include "compress/tiles/speculative/half_planes.cuh"
#include "device/control.cuh"
#include "grid/field.cuh"
#include "tile/window.cuh"

// The half planes of the vertices of a closed tile. Right for constrained vertices; for others those of the
// original, which is enough: a triangle with one of these lies in the half plane of an axis whatever they
// become.
struct TilePlanes {
    u8 at[CLOSED * CLOSED];

    // True if no signature can change by a move of vertex `here`, which is not on the border, to `candidate`.
    __device__ __forceinline__ bool stay_one_sided(i32 here, u32 candidate) const {
        const u8* const around = at + here;
        return is_one_sided_around(
            around[0], candidate, [&](i32 x, i32 y) -> u32 { return around[y * CLOSED + x]; });
    }
};

// A tile, and its vertices that wait: x | y << 6.
template <typename T>
struct SpeculativeTile {
    alignas(16) typename Real<T>::Pair values[CLOSED * CLOSED];
    u16 waiting[256];
    u32 missing[2 * CLOSED];  // of a TileWindow, if the field has missing vertices
    u32 constrained[TILE];    // constrained vertices of each row
    u32 coded[TILE];          // those with a code; not of interior tiles
    TilePlanes planes;
};

// Loads the originals off the lattice lines, and the final values on them, of a tile whose last vertex in the
// grid is (last_x, last_y). Call with a warp.
template <typename T>
__device__ __forceinline__ void load_speculative_tile(
    const Job& job, const TileShape& shape, i32 last_x, i32 last_y, u64 index, SpeculativeTile<T>& shared) {
    typedef typename Real<T>::Pair P;
    const QuantizeView<T> work(job);
    const i32 lane = threadIdx.x & 31;
    if (lane > 0) {
        const T* u = vertex_at<T>(job.u, job.u_layout, shape.x0 + lane, shape.y0 + 1);
        const T* v = vertex_at<T>(job.v, job.v_layout, shape.x0 + lane, shape.y0 + 1);
        P* to = shared.values + CLOSED + lane;
        const i32 end = lane > last_x ? 0 : last_y < TILE ? last_y + 1 : TILE;
#pragma unroll 4
        for (i32 y = 1; y < end; y++) {
            copy_vertex_ahead<T>(*to, u, v);
            u += job.u_layout.pitch, v += job.v_layout.pitch, to += CLOSED;
        }
        const P* const across = work.row_lines() + shape.ty * job.nx + shape.x0 + lane;
        const P* const down =
            work.column_lines() + shape.tx * column_line_length(job) + shape.ty * TILE + lane;
        if (lane <= last_x) copy_ahead<sizeof(P)>(shared.values + lane, across);
        if (lane <= last_x && last_y == TILE)
            copy_ahead<sizeof(P)>(shared.values + TILE * CLOSED + lane, across + job.nx);
        if (lane <= last_y) copy_ahead<sizeof(P)>(shared.values + lane * CLOSED, down);
        if (lane <= last_y && last_x == TILE)
            copy_ahead<sizeof(P)>(shared.values + lane * CLOSED + TILE, down + column_line_length(job));
    }
    const i32 x = lane & 1 ? TILE : 0, y = lane & 2 ? TILE : 0;
    if (lane < 4 && x <= last_x && y <= last_y)
        copy_ahead<sizeof(P)>(shared.values + y * CLOSED + x,
            work.anchors() + index + (lane & 1) + (lane & 2 ? job.tiles_x : 0));
    end_of_copies();
}
