// Missing vertices: not finite, or equal to the fill value. Twin of src/grid/missing.rs.
#pragma once
#include "device/control.cuh"
#include "grid/element.cuh"

template <typename T>
__device__ __forceinline__ bool has_bits(T x, u64 bits) {
    return sizeof(T) == 4 ? (u32)Real<T>::bits(x) == (u32)bits : Real<T>::bits(x) == bits;
}

// Bits that stand for "no fill value": a NaN, which is missing anyway.
template <typename T>
__device__ __forceinline__ u64 no_fill() {
    return sizeof(T) == 4 ? 0x7fffffffull : 0x7fffffffffffffffull;
}

template <typename T>
__device__ __forceinline__ bool is_filled(T u, T v, u64 fill) {
    return has_bits(u, fill) || has_bits(v, fill);
}
template <typename T>
__device__ __forceinline__ bool is_missing(T u, T v, u64 fill) {
    return !(Real<T>::finite(u) && Real<T>::finite(v)) || is_filled(u, v, fill);
}

// The fill value as a double. A float NaN keeps its payload, which a conversion need not do.
__device__ __forceinline__ double fill_value(u32 element_bytes, u64 bits) {
    if (element_bytes == 8) return __longlong_as_double((long long)bits);
    const u32 narrow = (u32)bits;
    if ((narrow & 0x7fffffff) <= 0x7f800000) return (double)__uint_as_float(narrow);
    return __longlong_as_double(
        (long long)((u64)(narrow & 0x80000000) << 32 | 0x7ff0ull << 48 | (u64)(narrow & 0x7fffff) << 29));
}

// True if a component is -0. A bound of 0 keeps the sign of zeros, which codes cannot express.
template <typename T>
__device__ __forceinline__ bool has_negative_zero(T u, T v) {
    return is_filled(u, v, 1ull << (8 * sizeof(T) - 1));
}

// True if a vertex has the bits that the fill mask stands for; their values.
template <typename T>
__device__ __forceinline__ bool has_fill(const Control& control, T u, T v) {
    return (Real<T>::bits(u) == control.fill[0]) & (Real<T>::bits(v) == control.fill[1]);
}
template <typename T>
__device__ __forceinline__ typename Real<T>::Pair fill_of(const Control& control) {
    return Real<T>::pair(Real<T>::from_bits(control.fill[0]), Real<T>::from_bits(control.fill[1]));
}

// The bits of a component of filled vertices of a volume.
__device__ __forceinline__ u64 fill_of(const Control& control, i32 component) {
    return component == 0 ? control.fill[0] : component == 1 ? control.fill[1] : control.list.fill_w;
}
