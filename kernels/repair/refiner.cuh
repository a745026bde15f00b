// Refined values of a vertex. Twin of Refiner in src/repair/values.rs.
#pragma once
#include "grid/element.cuh"

// The width of the cells of a refinement: radius * 2^(1 - k).
__device__ __forceinline__ double cell_width(double radius, u32 k) {
    return radius * __longlong_as_double((long long)(1024 - k) << 52);
}
// The midpoint of a cell of a refinement, rounded to the type of the field.
template <typename T>
__device__ __forceinline__ T refined(double radius, u32 k, T reconstruction, u32 cell) {
    const double from_middle = (double)cell - (double)(1u << (k - 1)) + 0.5;
    return (T)((double)reconstruction + from_middle * cell_width(radius, k));
}
