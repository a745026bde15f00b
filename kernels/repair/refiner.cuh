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
// The cell in which an original lies.
template <typename T>
__device__ __forceinline__ u32 refined_cell(double radius, u32 k, T original, T reconstruction) {
    const double half = (double)(1u << (k - 1)),
                 from_middle = floor(((double)original - (double)reconstruction) / cell_width(radius, k)),
                 up = from_middle < -half ? -half : from_middle, cell = half - 1.0 < up ? half - 1.0 : up;
    return (u32)(cell + half);
}
