// Twin of src/grid/missing.rs: which vertices are missing.
#pragma once
#include "grid/element.cuh"

template <typename T>
__device__ __forceinline__ bool has_bits(T x, u64 bits) {
    return sizeof(T) == 4 ? (u32)Real<T>::bits(x) == (u32)bits : Real<T>::bits(x) == bits;
}

// Bits that stand for "no fill value": those of a NaN, which is missing anyway.
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

// The fill value of these bits: a NaN of float keeps its payload, as no conversion promises.
__device__ __forceinline__ double fill_value(u32 element_bytes, u64 bits) {
    if (element_bytes == 8) return __longlong_as_double((long long)bits);
    const u32 narrow = (u32)bits;
    if ((narrow & 0x7fffffff) <= 0x7f800000) return (double)__uint_as_float(narrow);
    return __longlong_as_double(
        (long long)((u64)(narrow & 0x80000000) << 32 | 0x7ff0ull << 48 | (u64)(narrow & 0x7fffff) << 29));
}

// Whether a component is a negative zero: a bound of 0 keeps its sign, which codes do not have.
template <typename T>
__device__ __forceinline__ bool has_negative_zero(T u, T v) {
    return is_filled(u, v, 1ull << (8 * sizeof(T) - 1));
}
