// Planes of a stack and ends of periodic axes. Rows and bands of rows count over all planes; the code between
// them sees one plane. Twin of Domain and in_bands in src/analysis/mod.rs.
#pragma once
#include "grid/field.cuh"

namespace analysis {

// Bands of the rows of all planes. A band lies in one plane.
__device__ __forceinline__ u64 bands_of_plane(const Analysis& job) {
    return (job.ny + ANALYSIS_ROWS - 1) / ANALYSIS_ROWS;
}
__device__ __forceinline__ u64 all_bands(const Analysis& job) { return bands_of_plane(job) * job.nz; }

// The first row of a band.
__device__ __forceinline__ u64 first_row(const Analysis& job, u64 band) {
    if (job.nz == 1) return band * ANALYSIS_ROWS;
    const u64 each = bands_of_plane(job), z = band / each;
    return z * job.ny + (band - z * each) * ANALYSIS_ROWS;
}

template <typename T>
__device__ __forceinline__ void move_to_plane(Component& c, u64 z) {
    c.values = static_cast<const T*>(c.values) + z * c.plane;
}

// f(argument, z, y) of row y of plane z: the fields of the argument begin at the plane. A single plane has
// the argument of the kernel, which lies in constant memory. All lanes of a warp must be in f or none, where
// f exchanges values between them.
template <typename T, typename F>
__device__ __forceinline__ auto in_plane(const Analysis& job, u64 row, F f) {
    if (job.nz == 1) return f(job, (u64)0, row);
    const u64 z = row / job.ny;
    Analysis plane = job;
#pragma unroll
    for (i32 k = 0; k < 2; k++) {
        move_to_plane<T>(plane.fields[k].u, z);
        move_to_plane<T>(plane.fields[k].v, z);
    }
    return f(plane, z, row - z * job.ny);
}

// The column and the row in memory of a vertex that may lie behind the last one of a periodic axis.
__device__ __forceinline__ u64 stored_column(const Analysis& job, u64 x) {
    return (job.periodic & PERIODIC_X) && x == job.nx ? 0 : x;
}
__device__ __forceinline__ u64 stored_row(const Analysis& job, u64 y) {
    return (job.periodic & PERIODIC_Y) && y == job.ny ? 0 : y;
}

}  // namespace analysis
