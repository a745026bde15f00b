// Twin of src/stage/missing.rs: which vertices are missing.
#pragma once
#include "../exact.cuh"

template <typename T>
__device__ __forceinline__ bool has_bits(T x, u64 bits) {
    return sizeof(T) == 4 ? (u32)Real<T>::bits(x) == (u32)bits : Real<T>::bits(x) == bits;
}

// What stands for the bits of the fill value where there is none: those of a NaN, which is missing anyway.
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

// Whether a component is a negative zero: a bound of 0 keeps its sign, which codes do not have.
template <typename T>
__device__ __forceinline__ bool has_negative_zero(T u, T v) {
    return is_filled(u, v, 1ull << (8 * sizeof(T) - 1));
}
