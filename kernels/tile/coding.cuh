// What is coded of a tile besides its symbols: mask states and activities, in one word. Twin of
// src/tile/coding.rs.
#pragma once
#include "grid/tiles.cuh"

constexpr u32 CLASSES = 8;

// Mask states; a tile's mode is 3 * (state of zero) + (state of fill).
enum : u32 { MASK_NONE = 0, MASK_ALL = 1, MASK_SOME = 2 };
constexpr u32 ALL_ZERO = 3 * MASK_ALL + MASK_NONE;  // the states of a tile that is zero all over

__device__ __forceinline__ constexpr bool has_codes(u32 mode) {
    return mode / 3 != MASK_ALL && mode % 3 != MASK_ALL;
}
// Which of the masks of a tile are lists.
__device__ __forceinline__ bool has_mask_list(u32 states, i32 plane) {
    return (plane == 0 ? states / 3 : states % 3) == MASK_SOME;
}

// A tile's info word: its mode, whether every vertex of a whole tile is coded, and the three classes.
constexpr u32 ALL_CODED = 16;
__device__ __forceinline__ u32 mode_in(u32 info) { return info & 15; }

// Class of a block (0 coarse, 1 middle, 2 fine) of a tile's info word, and its first and last step.
__device__ __forceinline__ u32 class_in(u32 info, i32 block) { return info >> (8 + 8 * block) & 255; }

__device__ __forceinline__ u32 class_of(u32 cost, u32 active) {
    if (cost == 0) return 0;
    u32 density = (u32)((u64)cost * 64 / active);
    if (density == 0) density = 1;
    u32 c = 1 + (31 - __clz(density));
    return c < CLASSES - 1 ? c : CLASSES - 1;
}
