// Tables of symbol statistics: their numbers, choice and decoding form. Twin of src/entropy/tables.rs.
#pragma once
#include "device/reduce.cuh"
#include "entropy/quantized_tile.cuh"
#include "entropy/symbols.cuh"

// The shift of a rANS table follows the number of its entries: the lowest bits of all its frequencies are 0.
constexpr u32 MOST_SHIFT = (1 << SHIFT_BITS) - 1;

__device__ __forceinline__ u32 table_of(i32 position, u32 activity) {
    u32 c = activity - 1;
    return position >= FINE_START     ? STEP_1 + c
           : position >= MIDDLE_START ? STEP_2 + c
           : position >= TOP_VERTICES ? STEP_4 + c
           : position >= 4            ? STEP_8
           : position >= 1            ? STEP_16
                                      : ANCHOR_TABLE;
}

// The table for the activity of block k, given the activities of the blocks before.
__device__ __forceinline__ u32 activity_table(u32 info, i32 k) {
    return k == 0   ? COARSE_ACTIVITY
           : k == 1 ? MIDDLE_ACTIVITY + activity_in(info, 0)
                    : FINE_ACTIVITY + activity_in(info, 1);
}

// log2 in units of 1/256, rounded down.
__device__ inline u32 log2_fixed(u32 x) {
    u32 whole = 31 - __clz(x);
    u32 m = x << (31 - whole), fraction = 0;
#pragma unroll
    for (i32 k = 0; k < 8; k++) {
        // m is in [1, 4) with 62 fraction bits.
        const u64 square = (u64)m * m;
        const u32 bit = (u32)(square >> 63);
        m = (u32)(square >> (31 + bit));
        fraction = fraction << 1 | bit;
    }
    return whole << 8 | fraction;
}

// Compacts bits 0, 2, 4, ... into the low half.
__device__ __forceinline__ u32 every_other(u32 x) {
    x &= 0x55555555;
    x = (x | x >> 1) & 0x33333333;
    x = (x | x >> 2) & 0x0f0f0f0f;
    x = (x | x >> 4) & 0x00ff00ff;
    return (x | x >> 8) & 0xffff;
}
// Bits of the low half to places 0, 2, 4, ..., those of the high half between them.
__device__ __forceinline__ u32 interleave(u32 x) {
    auto exchange = [&](u32 mask, i32 distance) {
        const u32 differs = (x ^ x >> distance) & mask;
        x ^= differs | differs << distance;
    };
    exchange(0x0000ff00, 8);
    exchange(0x00f000f0, 4);
    exchange(0x0c0c0c0c, 2);
    exchange(0x22222222, 1);
    return x;
}

__device__ __forceinline__ u32 row_mask(i32 width) { return width >= 32 ? FULL : (1u << width) - 1; }

// Entry of a decoding table, chosen so that lookup is a subtraction and a minimum. For a state, key = slot <<
// 20. key - entry holds: bits 20 on, slot - start; bits 12-19, the symbol; bits 0-11, frequency - 1. The
// entry of the slot's own symbol gives the smallest difference, since entries that start behind the slot wrap
// around.
__device__ __forceinline__ constexpr u32 decode_entry(u32 frequency, u32 start, u32 symbol) {
    return (start << 20) - (symbol << 12 | (frequency - 1));
}
__device__ __forceinline__ u32 slot_key(u32 state) { return fresh(state << (32 - SCALE_BITS)); }
__device__ __forceinline__ u32 slot_symbol(u32 found) { return found >> 12 & 255; }
__device__ __forceinline__ u32 state_behind(u32 state, u32 found) {
    const u32 rest = state >> SCALE_BITS;
    return (found & (SCALE - 1)) * rest + (rest + (found >> 20));
}
// States below SCALE, which only the tail has: that of a slot is the slot's bits reversed, so that the states
// of a run of slots are spread evenly over all magnitudes. A symbol of f slots puts a state x < f into the
// state of number x of its slots, by number of bits, then from the last slot to the first. Twin of Spread in
// src/entropy/rans.rs, with the slots counted from the end: `behind` come behind those of the symbol.
__device__ __forceinline__ u32 multiples_in_spread(u32 m, u32 f, u32 behind) {
    return (behind + f >> m) - (behind >> m);
}
__device__ __forceinline__ u32 odd_behind_spread(u32 m, u32 behind) { return behind + (1u << (m - 1)) >> m; }
__device__ __forceinline__ u32 put_in_spread(u32 state, u32 f, u32 start) {
    if (f == SCALE) return state;
    const u32 behind = SCALE - start - f;
    u32 m;
    if (state == 0) {
        m = 32 - __clz(behind + f ^ behind);
    } else {
        m = __clz(state) - __clz(f);
        if (multiples_in_spread(m, f, behind) > state) m++;
    }
    const u32 odd = state - multiples_in_spread(m, f, behind) + odd_behind_spread(m, behind);
    return __brev(SCALE - (2 * odd + 1 << (m - 1))) >> (32 - SCALE_BITS);
}
__device__ __forceinline__ u32 spread_key(u32 state) {
    return state < SCALE ? __brev(state) : slot_key(state);
}
__device__ __forceinline__ u32 state_behind_spread(u32 state, u32 key, u32 found) {
    const u32 f = (found & (SCALE - 1)) + 1, from_end = SCALE - (key >> (32 - SCALE_BITS)),
              behind = from_end + (found >> (32 - SCALE_BITS)) - f, m = __clz(state) - (31 - SCALE_BITS);
    if (state >= SCALE) return state_behind(state, found);
    if (f == SCALE) return state;
    return multiples_in_spread(m, f, behind) + (from_end >> m) - odd_behind_spread(m, behind);
}
// Pads a table: its difference to any key is never the smallest, and the search stops at it.
constexpr u32 NO_ENTRY = decode_entry(SCALE, 0, 255);
// Slots that share a start of the search.
constexpr u32 SLOTS_PER_START = SCALE / STARTS_BYTES;
