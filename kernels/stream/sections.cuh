// Twin of src/stream/sections.rs: the sections behind the header of a coded stream.
#pragma once
#include "entropy/tables.cuh"

// The directory of the tables: a bit for each that takes bytes, then the sizes of these, a byte each, in
// units of 4 bytes.
constexpr u32 LEAST_DIRECTORY_BYTES = 8, MOST_DIRECTORY_BYTES = LEAST_DIRECTORY_BYTES + (TABLES + 3) / 4 * 4;
static_assert(TABLES > 32 && TABLES <= 64, "the bits are two words");
// The word of a group: its bytes without padding, and above them its tiles less one.
constexpr u32 GROUP_BYTES_BITS = 24;
constexpr u64 GROUP_BYTES_MASK = (1 << GROUP_BYTES_BITS) - 1;
// Bytes with padding, from the word of a group.
__device__ __forceinline__ u32 padded_bytes(u32 word) { return ((word & (u32)GROUP_BYTES_MASK) + 3) & ~3u; }
