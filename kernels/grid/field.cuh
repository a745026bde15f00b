// The caller's arrays. Twin of src/grid/field.rs.
#pragma once
#include "device/ptx.cuh"
#include "grid/element.cuh"

// Address of a vertex; x or y is -1 in the lower halo.
template <typename T>
__device__ __forceinline__ T* vertex_at(void* base, const Layout& layout, long long x, long long y) {
    return static_cast<T*>(base) + y * (long long)layout.pitch + x * (long long)layout.stride;
}
// True if every fourth vertex of a row starts at a multiple of 16 bytes.
template <typename T>
__device__ __forceinline__ bool is_aligned(const Job& job) {
    return job.u_layout.stride == 1 && job.v_layout.stride == 1 &&
           ((job.u_layout.pitch | job.v_layout.pitch) * sizeof(T)) % 16 == 0 &&
           (((u64)job.u | (u64)job.v) & 15) == 0;
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
