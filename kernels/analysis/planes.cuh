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

// The first row of a band. is_stack: whether there may be several planes.
__device__ __forceinline__ u64 first_row(const Analysis& job, u64 band, bool is_stack) {
    if (!is_stack) return band * ANALYSIS_ROWS;
    const u64 each = bands_of_plane(job), z = band / each;
    return z * job.ny + (band - z * each) * ANALYSIS_ROWS;
}

template <typename T>
__device__ __forceinline__ Component plane_of(Component c, u64 z) {
    c.values = static_cast<const T*>(c.values) + z * c.plane;
    return c;
}
template <typename T>
__device__ __forceinline__ FieldView plane_of(const FieldView& field, u64 z) {
    return {plane_of<T>(field.u, z), plane_of<T>(field.v, z)};
}

// The plane of a row.
__device__ __forceinline__ u64 plane_at(const Analysis& job, u64 row) {
    return job.nz == 1 ? 0 : row / job.ny;
}

// f(argument, y): row y of a plane is the row, and the fields of the argument are those of the plane. A
// single plane has the argument of the kernel, which lies in constant memory and takes no registers. So
// kernels that read all vertices are there twice, for single planes and for stacks.
template <typename T, bool STACK, typename F>
__device__ __forceinline__ auto in_plane(const Analysis& job, u64 row, F f) {
    if (!STACK) return f(job, row);
    const u64 z = plane_at(job, row);
    Analysis plane = job;
    for (FieldView& field : plane.fields) field = plane_of<T>(field, z);
    return f(plane, row - z * job.ny);
}

// The column and the row in memory of a vertex that may lie behind the last one of a periodic axis.
__device__ __forceinline__ u64 stored_column(const Analysis& job, u64 x) {
    return (job.periodic & PERIODIC_X) && x == job.nx ? 0 : x;
}
__device__ __forceinline__ u64 stored_row(const Analysis& job, u64 y) {
    return (job.periodic & PERIODIC_Y) && y == job.ny ? 0 : y;
}

}  // namespace analysis
