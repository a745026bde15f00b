// The three integers of a vertex of a volume and their symbol. Twin of src/entropy/triples.rs; FORMAT.md,
// section 11.4.
#pragma once
#include "device/reduce.cuh"

// Numbers -2 to 2 of three components with a symbol each: 125 of them, by symbol, a nibble a component plus
// TRIPLE_SMALL.
struct SmallTriples {
    u16 at[TRIPLE_FIRST_LARGE];
};
constexpr i32 larger_magnitude(i32 a, i32 b) { return (a < 0 ? -a : a) > (b < 0 ? -b : b) ? a : b; }
constexpr SmallTriples small_triples() {
    SmallTriples triples = {};
    constexpr i32 SIDE = 2 * TRIPLE_SMALL + 1;
    i32 next = 0;
    for (i32 size = 0; size <= TRIPLE_SMALL; size++)
        for (i32 k = 0; k < SIDE * SIDE * SIDE; k++) {
            const i32 a = k / (SIDE * SIDE), b = k / SIDE % SIDE, c = k % SIDE,
                      largest = larger_magnitude(
                          larger_magnitude(a - TRIPLE_SMALL, b - TRIPLE_SMALL), c - TRIPLE_SMALL);
            if ((largest < 0 ? -largest : largest) == size) triples.at[next++] = (u16)(a | b << 4 | c << 8);
        }
    return triples;
}
// How much shorter each component is than the longest one, by way: two bits a component.
struct Ways {
    u8 at[TRIPLE_WAYS];
};
constexpr Ways ways_of_triples() {
    Ways ways = {};
    i32 next = 0;
    for (i32 k = 0; k < 27; k++) {
        const i32 a = k / 9, b = k / 3 % 3, c = k % 3;
        if (a == 0 || b == 0 || c == 0) ways.at[next++] = (u8)(a | b << 2 | c << 4);
    }
    return ways;
}
// The 27 combinations of shorter components, a bit each: whether the combination is a way.
constexpr u32 all_ways() {
    u32 ways = 0;
    for (u32 k = 0; k < 27; k++)
        if (k / 9 == 0 || k / 3 % 3 == 0 || k % 3 == 0) ways |= 1u << k;
    return ways;
}
constexpr u32 ALL_WAYS = all_ways();
static __device__ const SmallTriples SMALL_TRIPLES = small_triples();
static __device__ const Ways TRIPLE_WAY = ways_of_triples();

struct Triple {
    i32 q[3];
};

// Raw bits of a component that is so much shorter than `length`.
__device__ __forceinline__ constexpr u32 bits_of_shorter(u32 length, u32 shorter) {
    return shorter < 2 ? length - shorter : length == 2 ? 0 : length - 1;
}
// Raw bits that follow a symbol; none behind one that no encoder writes.
__device__ __forceinline__ u32 triple_raw_bits(u32 symbol) {
    if (symbol < TRIPLE_FIRST_LARGE || symbol >= TRIPLES) return 0;
    if (symbol >= TRIPLE_FIRST_WIDE) return 3 * (TRIPLE_SHORTEST_WIDE + symbol - TRIPLE_FIRST_WIDE + 1);
    const u32 k = symbol - TRIPLE_FIRST_LARGE, length = TRIPLE_SHORTEST + k / TRIPLE_WAYS,
              way = TRIPLE_WAY.at[k % TRIPLE_WAYS];
    return bits_of_shorter(length, way & 3) + bits_of_shorter(length, way >> 2 & 3) +
           bits_of_shorter(length, way >> 4);
}

// A magnitude of `bits` bits whose leading one is replaced by the sign.
__device__ __forceinline__ i32 unpack_magnitude(u32 raw, u32 bits) {
    if (bits == 0) return 0;
    const u32 top = 1u << (bits - 1), magnitude = (raw & (top - 1)) | top;
    return raw & top ? -(i32)magnitude : (i32)magnitude;
}

// The integers of a symbol with its raw bits. Total: any bits of any symbol give some integers.
static __device__ __noinline__ Triple decode_large_triple(u32 symbol, u64 raw) {
    Triple triple;
    const bool wide = symbol >= TRIPLE_FIRST_WIDE;
    const u32 k = symbol - TRIPLE_FIRST_LARGE, way = wide ? 0 : TRIPLE_WAY.at[k % TRIPLE_WAYS],
              widest = TRIPLE_SHORTEST_WIDE + symbol - TRIPLE_FIRST_WIDE,
              length = !wide                       ? TRIPLE_SHORTEST + k / TRIPLE_WAYS
                       : widest < TRIPLE_MOST_BITS ? widest
                                                   : TRIPLE_MOST_BITS;
#pragma unroll
    for (i32 c = 0; c < 3; c++) {
        const u32 shorter = way >> 2 * c & 3, bits = wide ? length + 1 : bits_of_shorter(length, shorter),
                  value = (u32)raw & ((1u << bits) - 1);
        raw >>= bits;
        triple.q[c] = wide                        ? (i32)value - (i32)(1u << length)
                      : shorter < 2               ? unpack_magnitude(value, bits)
                      : length == TRIPLE_SHORTEST ? 0
                                                  : (i32)value - (i32)(1u << (length - 2));
    }
    return triple;
}
// The integers of a symbol below TRIPLE_FIRST_LARGE, a byte each.
__device__ __forceinline__ u32 packed_small_triple(u32 symbol) {
    const i32 small = SMALL_TRIPLES.at[symbol];
    return ((u32)((small & 15) - TRIPLE_SMALL) & 255) | ((u32)((small >> 4 & 15) - TRIPLE_SMALL) & 255) << 8 |
           ((u32)((small >> 8) - TRIPLE_SMALL) & 255) << 16;
}
__device__ __forceinline__ Triple unpacked_triple(u32 packed) {
    return {(i32)(packed << 24) >> 24, (i32)(packed << 16) >> 24, (i32)(packed << 8) >> 24};
}

struct EncodedTriple {
    u32 symbol, bits;  // bits: raw bits
    u64 raw;
};
__device__ __forceinline__ u32 magnitude_bits(i32 q) { return 32 - __clz(q < 0 ? -q : q); }

// The symbol and the raw bits of a triple with a component above TRIPLE_SMALL.
static __device__ __noinline__ EncodedTriple encode_large_triple(Triple triple) {
    u32 lengths[3];
#pragma unroll
    for (i32 c = 0; c < 3; c++) lengths[c] = magnitude_bits(triple.q[c]);
    const u32 length = max(lengths[0], max(lengths[1], lengths[2]));
    const bool wide = length >= TRIPLE_SHORTEST_WIDE;
    EncodedTriple code = {0, 0, 0};
    u32 number = 0;
#pragma unroll
    for (i32 c = 0; c < 3; c++) {
        const i32 q = triple.q[c];
        const u32 shorter = min(length - lengths[c], 2u),
                  top = shorter < 2 ? 1u << (length - shorter - 1) : 0,
                  bits = wide ? length + 1 : bits_of_shorter(length, shorter);
        number = 3 * number + shorter;
        const u32 value = wide                        ? (u32)(q + (i32)(1u << length))
                          : shorter < 2               ? ((u32)(q < 0 ? -q : q) ^ top) | (q < 0 ? top : 0)
                          : length == TRIPLE_SHORTEST ? 0
                                                      : (u32)(q + (i32)(1u << (length - 2)));
        code.raw |= (u64)value << code.bits;
        code.bits += bits;
    }
    if (wide) {
        code.symbol = TRIPLE_FIRST_WIDE + length - TRIPLE_SHORTEST_WIDE;
        return code;
    }
    // The number of the way among those with a component that is not shorter.
    const u32 way = __popc(ALL_WAYS & ((1u << number) - 1));
    code.symbol = TRIPLE_FIRST_LARGE + (length - TRIPLE_SHORTEST) * TRIPLE_WAYS + way;
    return code;
}

// Symbols of the triples up to TRIPLE_SMALL, by place.
struct SmallSymbols {
    u8 at[TRIPLE_FIRST_LARGE];
};
constexpr SmallSymbols small_symbols() {
    SmallSymbols symbols = {};
    const SmallTriples triples = small_triples();
    constexpr i32 SIDE = 2 * TRIPLE_SMALL + 1;
    for (u32 symbol = 0; symbol < TRIPLE_FIRST_LARGE; symbol++) {
        const i32 small = triples.at[symbol];
        symbols.at[((small & 15) * SIDE + (small >> 4 & 15)) * SIDE + (small >> 8)] = (u8)symbol;
    }
    return symbols;
}
static __device__ const SmallSymbols SMALL_SYMBOLS = small_symbols();

// The symbol of a triple whose magnitudes are below 2^TRIPLE_MOST_BITS.
__device__ __forceinline__ EncodedTriple encode_triple(const Triple& triple) {
    constexpr i32 SIDE = 2 * TRIPLE_SMALL + 1;
    const i32 a = triple.q[0] + TRIPLE_SMALL, b = triple.q[1] + TRIPLE_SMALL, c = triple.q[2] + TRIPLE_SMALL;
    if ((u32)a < SIDE && (u32)b < SIDE && (u32)c < SIDE)
        return {SMALL_SYMBOLS.at[(a * SIDE + b) * SIDE + c], 0, 0};
    return encode_large_triple(triple);
}
