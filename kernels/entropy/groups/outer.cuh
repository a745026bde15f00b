// Coarse codes of outer anchors, which a group begins with. Twin of src/entropy/groups/outer.rs; FORMAT.md,
// section 3.3.
#pragma once
#include "entropy/lanes.cuh"

// Encodes `count` pairs: the integers of pair i are in the lanes 2 i (u) and 2 i + 1 (v).
template <bool HUFFMAN>
__device__ __forceinline__ void encode_outer(Encoder<HUFFMAN>& encoder, i32 integer, u32 count) {
    const u32 lane = threadIdx.x & 31;
    // In two's complement; 0 if both integers are 0.
    u32 bits = integer == 0 || lane >= 2 * count ? 0 : 33 - __clz(integer ^ integer >> 31);
    bits = max(bits, __shfl_xor_sync(FULL, bits, 1));
    const u32 of_pair = __shfl_sync(FULL, bits, 2 * lane & 31);
    u32 words[3] = {raw_word((u32)integer >> 16, bits > 16 ? bits - 16 : 0),
        raw_word((u32)integer, min(bits, 16u)), lane < count ? raw_word(of_pair, OUTER_SIZE_BITS) : 0};
    // Not unrolled: the loop runs once for a group.
#pragma unroll 1
    for (i32 i = 0; i < 3; i++) {
        encoder.raw(words[0]);
        words[0] = words[1], words[1] = words[2];
    }
}

// Decodes `count` pairs, into the same lanes; total.
template <bool HUFFMAN>
__device__ __forceinline__ i32 decode_outer(Decoder<HUFFMAN>& decoder, u32 count) {
    if (count == 0) return 0;
    const u32 lane = threadIdx.x & 31;
    const u32 size = decoder.raw(lane < count ? OUTER_SIZE_BITS : 0),
              of_pair = __shfl_sync(FULL, size, lane / 2), bits = lane < 2 * count ? of_pair : 0;
    if (!__any_sync(FULL, bits > 0)) return 0;
    u32 integer = decoder.raw(min(bits, 16u));
    if (__any_sync(FULL, bits > 16)) integer |= decoder.raw(bits > 16 ? bits - 16 : 0) << 16;
    return bits == 0 ? 0 : (i32)(integer << (32 - bits)) >> (32 - bits);
}
