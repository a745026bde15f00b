// Mask states and activities of a tile, packed into its info word. Twin of src/entropy/quantized_tile.rs.
#pragma once
#include "device/shared.cuh"

// Mask states: how much of a tile the zero and the fill mask cover.
__device__ __forceinline__ u32 coverage_of(u32 count, u32 owned) {
    return count == 0 ? MASK_NONE : count == owned ? MASK_ALL : MASK_SOME;
}
// Mask states from the numbers of zero and filled vertices among those that the tile owns.
__device__ __forceinline__ u32 mask_states_of(u32 zeros, u32 fills, u32 owned) {
    return 3 * coverage_of(zeros, owned) + coverage_of(fills, owned);
}
__device__ __forceinline__ constexpr u32 zero_coverage(u32 states) { return states / 3; }
__device__ __forceinline__ constexpr u32 fill_coverage(u32 states) { return states % 3; }
template <u32 COVERAGE>
__device__ __forceinline__ constexpr bool zero_covers(u32 states) {
    return states / 3 == COVERAGE;
}
template <u32 COVERAGE>
__device__ __forceinline__ constexpr bool fill_covers(u32 states) {
    return states % 3 == COVERAGE;
}
constexpr u32 ALL_ZERO = 3 * MASK_ALL + MASK_NONE;

__device__ __forceinline__ constexpr bool has_codes(u32 states) {
    return states / 3 != MASK_ALL && states % 3 != MASK_ALL;
}
// True if the zero mask (plane 0) or the fill mask (plane 1) is coded as a list.
__device__ __forceinline__ bool has_mask_list(u32 states, i32 plane) {
    return (plane == 0 ? states / 3 : states % 3) == MASK_SOME;
}

// Info word of a tile: mask states in bits 0 to 3, ALL_CODED if it owns all vertices and no mask has any, the
// bound shift in bits 5 to 7, the activities of the coarse, the middle and the fine block in a byte each.
constexpr u32 MASK_STATE_BITS = 15, ALL_CODED = 1 << 4, BOUND_SHIFT_AT = 5;
static_assert(MASK_STATES <= MASK_STATE_BITS + 1 && BOUND_SHIFTS <= 8, "as many bits as they take");
__device__ __forceinline__ u32 info_of(u32 states, u32 bound_shift, bool all_coded) {
    return states | bound_shift << BOUND_SHIFT_AT | (all_coded ? ALL_CODED : 0);
}
__device__ __forceinline__ u32 with_activities(u32 info, u32 coarse, u32 middle, u32 fine) {
    return info | coarse << 8 | middle << 16 | fine << 24;
}
__device__ __forceinline__ u32 with_activity(u32 info, u32 activity, i32 block) {
    return info | activity << (8 + 8 * block);
}
__device__ __forceinline__ u32 mask_state_in(u32 info) { return info & MASK_STATE_BITS; }
// Mask states in decompression of hierarchical streams, whose info words have neither ALL_CODED nor a bound
// shift.
__device__ __forceinline__ u32 mask_state_byte(u32 info) { return info & 255; }
__device__ __forceinline__ bool is_all_coded(u32 info) { return info & ALL_CODED; }
// Activity of a block: 0 coarse, 1 middle, 2 fine.
__device__ __forceinline__ u32 activity_in(u32 info, i32 block) { return info >> (8 + 8 * block) & 255; }
__device__ __forceinline__ u32 without_activities(u32 info) { return info & 255; }
__device__ __forceinline__ bool has_activities(u32 info) { return info >> 8; }
// Mask states and activities, a byte each.
__device__ __forceinline__ u32 heads_in(u32 info) { return info & ~(u32)(255 & ~MASK_STATE_BITS); }
// True if a block has the last activity: adding one to it sets the bit above.
static_assert(ACTIVITIES == 8 && LAST_LIST_ACTIVITY == 6, "blocks of the last class alone are dense");
__device__ __forceinline__ bool has_dense_block(u32 info) { return ((info >> 8) + 0x010101) & 0x080808; }

// The stream combines bound shift and mask states into one mode.
__device__ __forceinline__ u32 bound_shift_in(u32 info) { return info >> BOUND_SHIFT_AT & 7; }
__device__ __forceinline__ u32 stream_mode(u32 info) {
    return MASK_STATES * bound_shift_in(info) + mask_state_in(info);
}
__device__ __forceinline__ u32 info_of_mode(u32 mode) {
    return mode / MASK_STATES << BOUND_SHIFT_AT | mode % MASK_STATES;
}

__device__ __forceinline__ u32 activity_of(u32 cost, u32 active) {
    if (cost == 0) return 0;
    u32 density = (u32)((u64)cost * 64 / active);
    if (density == 0) density = 1;
    u32 c = 1 + (31 - __clz(density));
    return c < ACTIVITIES - 1 ? c : ACTIVITIES - 1;
}
