// The caller's arrays. Twin of src/grid/field.rs.
#pragma once
#include "device/ptx.cuh"
#include "grid/element.cuh"

// Address of a vertex; x or y is -1 in the lower halo.
template <typename T>
__device__ __forceinline__ T* vertex_at(void* base, const Layout& layout, long long x, long long y) {
    return static_cast<T*>(base) + y * (long long)layout.pitch + x * (long long)layout.stride;
}
// The vertex that a neighbour of a vertex is, whose coordinates may lie beyond a periodic side. `job` is a
// Job or an Analysis.
template <typename J>
__device__ __forceinline__ void wrap(const J& job, long long& x, long long& y) {
    const long long nx = (long long)job.nx, ny = (long long)job.ny;
    if (job.periodic & PERIODIC_X) x = x < 0 ? x + nx : x >= nx ? x - nx : x;
    if (job.periodic & PERIODIC_Y) y = y < 0 ? y + ny : y >= ny ? y - ny : y;
}
// Vertices of a column line in the workspace: a multiple of a tile for each row of tiles.
__device__ __forceinline__ u64 column_line_length(const Job& job) { return job.tiles_y * TILE; }

// True if every fourth vertex of a row starts at a multiple of 16 bytes.
template <typename T>
__device__ __forceinline__ bool is_aligned(const Job& job) {
    return job.u_layout.stride == 1 && job.v_layout.stride == 1 &&
           ((job.u_layout.pitch | job.v_layout.pitch) * sizeof(T)) % 16 == 0 &&
           (((u64)job.u | (u64)job.v) & 15) == 0;
}

// The row of the arrays that holds a row of the field, which counts over all planes.
__device__ __forceinline__ u64 row_in_memory(const Job& job, u64 row) {
    if (job.nz == 1) return row;
    const u64 z = row / job.ny;
    return z * job.plane_rows + (row - z * job.ny);
}

template <typename T>
__device__ __forceinline__ typename Real<T>::Pair load_vertex(const Job& job, long long x, long long y) {
    return Real<T>::pair(*vertex_at<T>(job.u, job.u_layout, x, y), *vertex_at<T>(job.v, job.v_layout, x, y));
}
// Starts the copy of a vertex to shared memory.
template <typename T>
__device__ __forceinline__ void copy_vertex_ahead(typename Real<T>::Pair& to, const T* u, const T* v) {
    copy_ahead<sizeof(T)>(&to.x, u);
    copy_ahead<sizeof(T)>(&to.y, v);
}
