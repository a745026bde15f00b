// Mask states and activities of a tile, packed into its info word. Twin of src/entropy/quantized_tile.rs.
#pragma once
#include "device/control.cuh"
#include "grid/tiles.cuh"

constexpr u32 ACTIVITIES = 8;

// Mask states: whether no, all or some vertices are zero, and likewise filled. Packed as 3 * zero + fill.
enum : u32 { MASK_NONE = 0, MASK_ALL = 1, MASK_SOME = 2 };
__device__ __forceinline__ u32 mask_state_of(u32 count, u32 owned) {
    return count == 0 ? MASK_NONE : count == owned ? MASK_ALL : MASK_SOME;
}
constexpr u32 ALL_ZERO = 3 * MASK_ALL + MASK_NONE;  // all vertices are zero

__device__ __forceinline__ constexpr bool has_codes(u32 mask_state) {
    return mask_state / 3 != MASK_ALL && mask_state % 3 != MASK_ALL;
}
// True if the zero mask (plane 0) or the fill mask (plane 1) is coded as a list.
__device__ __forceinline__ bool has_mask_list(u32 states, i32 plane) {
    return (plane == 0 ? states / 3 : states % 3) == MASK_SOME;
}

// Info word: mask states, ALL_CODED, bound shift, and the activities of the three blocks.
constexpr u32 ALL_CODED = 16;
__device__ __forceinline__ u32 mask_state_in(u32 info) { return info & 15; }

// Activity of a block: 0 coarse, 1 middle, 2 fine.
__device__ __forceinline__ u32 activity_in(u32 info, i32 block) { return info >> (8 + 8 * block) & 255; }

__device__ __forceinline__ u32 activity_of(u32 cost, u32 active) {
    if (cost == 0) return 0;
    u32 density = (u32)((u64)cost * 64 / active);
    if (density == 0) density = 1;
    u32 c = 1 + (31 - __clz(density));
    return c < ACTIVITIES - 1 ? c : ACTIVITIES - 1;
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
