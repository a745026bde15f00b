// The caller's arrays. Twin of src/grid/field.rs.
#pragma once
#include "device/shared.cuh"

// Address of a vertex; x or y is -1 in the lower halo.
template <typename T>
__device__ __forceinline__ T* vertex_at(void* base, const Layout& layout, long long x, long long y) {
    return static_cast<T*>(base) + y * (long long)layout.pitch + x * (long long)layout.stride;
}
