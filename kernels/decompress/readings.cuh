// How the raw bits of a symbol are read.
#pragma once
#include "entropy/symbols.cuh"

// Reading of a symbol: bits of u, bits of v << 8, WIDE if they are offsets, NOT_ALL if refinement bits or
// stored values follow, refinement << 24.
constexpr u32 WIDE = 1u << 16, NOT_ALL = 1u << 17;
struct Readings {
    u32 at[256];
};
constexpr Readings readings_of_symbols() {
    Readings readings = {};
    for (u32 symbol = 0; symbol < 256; symbol++) {
        const Meaning m = meaning(symbol < STORED ? symbol : SYMBOL_ZERO);
        readings.at[symbol] = m.ku | m.kv << 8 | (m.wide ? WIDE : 0) |
                              (m.refinement > 0 || symbol >= STORED ? NOT_ALL : 0) | m.refinement << 24;
    }
    return readings;
}
static __device__ const Readings READINGS = readings_of_symbols();

// Refinement of the code of a symbol below STORED, as its reading has it.
__device__ __forceinline__ constexpr u32 refinement_of(u32 symbol) {
    static_assert(BUCKETS == 8, "a shift divides by it");
    return symbol < PAIR1 ? 0 : symbol < BUCKET ? 1 : (symbol - BUCKET + BUCKETS) >> 3;
}
constexpr bool are_refinements() {
    for (u32 symbol = 0; symbol < STORED; symbol++)
        if (refinement_of(symbol) != readings_of_symbols().at[symbol] >> 24) return false;
    return true;
}
static_assert(are_refinements(), "as the readings have them");

// Components of a code from its raw bits: offsets, or magnitudes whose leading one is replaced by the sign.
// Without branches.
__device__ __forceinline__ u32 component(u32 raw, u32 bits, u32 wide) {
    const u32 all = 1u << bits, top = all >> 1, own = raw & ((all << wide) - 1);
    const u32 magnitude = own & top ? 0 - own : own | top;
    return wide ? own - all : magnitude;
}
struct Components {
    u32 u, v;
};
__device__ __forceinline__ Components components(u32 reading, u64 raw) {
    const u32 ku = reading & 255, kv = reading >> 8 & 255, wide = reading & WIDE ? 1 : 0;
    return {component((u32)raw, ku, wide), component((u32)(raw >> (ku + wide)), kv, wide)};
}
