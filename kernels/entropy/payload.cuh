// Raw bits of vertices, as the kernels hand them to each other.
#pragma once
#include "entropy/tables.cuh"

// Raw bits by symbol, in shared memory: those that are not an anchor's. Digits follow all codes of the
// Lorenzo predictor, as they do those of an anchor.
template <typename T>
__device__ __forceinline__ void fill_raw_bits(u8* bits, bool lorenzo) {
    for (u32 k = threadIdx.x; k < ALPHABET; k += blockDim.x)
        bits[k] = k < SYMBOLS ? (u8)raw_bits(k, lorenzo ? 0 : 1, sizeof(T)) : 0;
}
// Whether this is the symbol of an anchor of the hierarchical predictor with digits (or a stored one).
__device__ __forceinline__ bool has_digits(u32 symbol, i32 position) {
    return position == 0 && symbol >= PAIR1;
}

// Raw bits of a vertex's symbol (and digits), or both values, as they are handed between the kernels.
template <typename T>
struct Payload;
template <>
struct Payload<float> {
    typedef u64 Type;
    static __device__ __forceinline__ u64 make(u64 low, u64) { return low; }
    static __device__ __forceinline__ u64 low(u64 p) { return p; }
    static __device__ __forceinline__ u64 second(u64 p) { return p >> 32; }
};
template <>
struct Payload<double> {
    typedef ulonglong2 Type;
    static __device__ __forceinline__ ulonglong2 make(u64 low, u64 high) {
        return make_ulonglong2(low, high);
    }
    static __device__ __forceinline__ u64 low(ulonglong2 p) { return p.x; }
    static __device__ __forceinline__ u64 second(ulonglong2 p) { return p.y; }
};
