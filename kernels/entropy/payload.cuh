// Raw bits of vertices, as kernels hand them to each other through global memory.
#pragma once
#include "entropy/symbols.cuh"
#include "entropy/tables.cuh"
#include "grid/tiles.cuh"

// Raw bits by symbol, in shared memory, for vertices that are not anchors. With the Lorenzo predictor all
// codes have refinement bits, as anchors do.
template <typename T>
__device__ __forceinline__ void fill_raw_bits(u8* bits, bool lorenzo) {
    for (u32 k = threadIdx.x; k < ALPHABET; k += blockDim.x)
        bits[k] = k < SYMBOLS ? (u8)raw_bits(k, lorenzo ? 0 : 1, sizeof(T)) : 0;
}
// True for the symbol of an anchor with refinement bits, and for STORED.
__device__ __forceinline__ bool has_refinement_bits(u32 symbol, i32 position) {
    return position == 0 && symbol >= PAIR1;
}

// Refinement bits, at most 32, which follow the symbol's own raw bits; `high` has those after the first 64.
__device__ __forceinline__ u32 refinement_bits_behind(u32 own, u64 low, u64 high) {
    return (u32)(own == 0 ? low : own < 64 ? low >> own | high << (64 - own) : high);
}

// Place of a vertex in the payload of a tile of the Lorenzo predictor during compression: by its number among
// the vertices of its row that have a symbol, four at a time, then by its row.
__device__ __forceinline__ u32 payload_place(u32 number, u32 row) {
    return number / 4 * (4 * TILE) + 4 * row + number % 4;
}

// Raw bits (with refinement bits) of a vertex, or a pair of values.
template <typename T>
struct Payload;
template <>
struct Payload<float> {
    typedef u64 Type;
    static __device__ __forceinline__ u64 make(u64 low, u64) { return low; }
    static __device__ __forceinline__ u64 low(u64 p) { return p; }
    static __device__ __forceinline__ u64 second(u64 p) { return p >> 32; }
    static __device__ __forceinline__ u64 of_pair(u64 first, u64 second) { return first | second << 32; }
};
template <>
struct Payload<double> {
    typedef ulonglong2 Type;
    static __device__ __forceinline__ ulonglong2 make(u64 low, u64 high) {
        return make_ulonglong2(low, high);
    }
    static __device__ __forceinline__ u64 low(ulonglong2 p) { return p.x; }
    static __device__ __forceinline__ u64 second(ulonglong2 p) { return p.y; }
    static __device__ __forceinline__ ulonglong2 of_pair(u64 first, u64 second) {
        return make_ulonglong2(first, second);
    }
};
