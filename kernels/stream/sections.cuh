// Twin of src/stream/sections.rs: the sections behind the header of a coded stream.
#pragma once
#include "device/shared.cuh"

// The directory of the tables: a bit for each that takes bytes, then the sizes of these, a byte each, in
// units of 4 bytes.
constexpr u32 MOST_DIRECTORY_BYTES = LEAST_DIRECTORY_BYTES + (TABLES + 3) / 4 * 4;
static_assert(TABLES > 32 && TABLES <= 64, "the bits are two words");
// The word of a group: its bytes without padding, and above them its tiles less one. Twin of group_word.
constexpr u64 GROUP_BYTES_MASK = (1 << GROUP_BYTES_BITS) - 1;
__device__ __forceinline__ u64 group_word(u64 tiles_less_one, u64 bytes) {
    return bytes | tiles_less_one << GROUP_BYTES_BITS;
}
__device__ __forceinline__ u32 bytes_in(u32 word) { return word & (u32)GROUP_BYTES_MASK; }
__device__ __forceinline__ u32 tiles_less_one_in(u32 word) { return word >> GROUP_BYTES_BITS; }
// Bytes with padding.
__device__ __forceinline__ u32 padded_bytes(u32 word) { return (bytes_in(word) + 3) & ~3u; }

// A group between parse and decode: first tile << 31 | (tiles - 1) << 23 | bytes / 2.
struct GroupTiles {
    u64 word;

    static constexpr i32 TILES_AT = GROUP_BYTES_BITS - 1, FIRST_AT = TILES_AT + 8;
    static __device__ __forceinline__ u64 make(u64 first, u32 tiles, u32 bytes) {
        return first << FIRST_AT | (u64)(tiles - 1) << TILES_AT | bytes / 2;
    }
    __device__ __forceinline__ u32 bytes() const { return (u32)word << 1 & (u32)GROUP_BYTES_MASK; }
    __device__ __forceinline__ u32 first() const { return (u32)(word >> FIRST_AT); }
    __device__ __forceinline__ u32 tiles_less_one() const {
        return (u32)(word >> TILES_AT) & (MAX_GROUP_TILES - 1);
    }
};
