// Critical points in the cells between the last and the first vertices of periodic axes, which no tile holds.
// Twin of src/cpu/seam.rs.
#pragma once
#include "device/control.cuh"
#include "grid/field.cuh"
#include "grid/missing.cuh"
#include "tile/window.cuh"

// The cells of a plane that reach across a periodic side, by number: those of the last column, then those of
// the last row, which has the cell that both share.
struct Seam {
    u64 of_column, of_row;

    __device__ __forceinline__ explicit Seam(const Job& job)
        : of_column(job.periodic & PERIODIC_X ? job.ny - 1 : 0),
          of_row(job.periodic & PERIODIC_Y ? job.nx - (job.periodic & PERIODIC_X ? 0 : 1) : 0) {}
    __device__ __forceinline__ u64 cells() const { return of_column + of_row; }
};

// Triangles of a cell of a plane that have a critical point.
template <typename T>
__device__ __forceinline__ u32 points_of_cell(const Job& job, u64 plane, u64 x, u64 y) {
    u32 points = 0;
#pragma unroll 1
    for (i32 triangle = LOWER; triangle <= UPPER; triangle++) {
        Corners<T> p;
#pragma unroll
        for (i32 k = 0; k < 3; k++) {
            long long px = (long long)x + corner_x(triangle, k), py = (long long)y + corner_y(triangle, k);
            wrap(job, px, py);
            const auto corner = load_vertex<T>(job, px, (long long)plane + py);
            p.u[k] = corner.x, p.v[k] = corner.y;
        }
        points += is_inside(p) && !has_filled(p, job.fill);
    }
    return points;
}

// Grid: any. Block: any, a cell a thread. Adds the critical points of the seams of all planes to their
// number. Reads: the field. Waits for: everything before on the stream.
template <typename T>
__device__ __forceinline__ void seam(const Job& job) {
    const Seam seam(job);
    const u64 each = seam.cells(), step = (u64)gridDim.x * blockDim.x;
    u32 points = 0;
    for (u64 number = (u64)blockIdx.x * blockDim.x + threadIdx.x; number < each * job.nz; number += step) {
        const u64 z = number / each, k = number - z * each;
        const bool column = k < seam.of_column;
        points += points_of_cell<T>(
            job, z * job.plane_rows, column ? job.nx - 1 : k - seam.of_column, column ? k : job.ny - 1);
    }
    points = warp_sum(points);
    if ((threadIdx.x & 31) == 0 && points) atomicAdd((ull*)&control_of(job).critical, (ull)points);
}
