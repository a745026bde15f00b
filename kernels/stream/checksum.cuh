// Twin of src/stream/checksum.rs: the sum over the 32-bit words of a stream of a mix of the word and its
// index.
#pragma once
#include "stream/header.cuh"

constexpr u32 CHECKSUM_WORD = AT_CHECKSUM / 4;
// The term of a word, from the word plus its index times CHECKSUM_STEP.
__device__ __forceinline__ u32 checksum_mix(u32 x) {
    x = (x ^ x >> 16) * CHECKSUM_MIX_0;
    x = (x ^ x >> 13) * CHECKSUM_MIX_1;
    return x ^ x >> 16;
}
// The checksum itself counts as 0.
__device__ __forceinline__ u32 checksum_term(u32 word, u64 index) {
    return checksum_mix((index == CHECKSUM_WORD ? 0 : word) + (u32)index * CHECKSUM_STEP);
}
