// The alphabet of vertex codes. Twin of src/entropy/symbols.rs; FORMAT.md, section 4.5.
#pragma once
#include "grid/element.cuh"

struct Code {
    i32 refinement;
    i32 qu, qv;
};

__device__ __forceinline__ constexpr u32 bucket_bits(u32 refinement, u32 bucket) {
    // The last bucket takes any code.
    return bucket >= BUCKETS - 1 ? 31 : 2 * refinement - 2 + (BUCKET_OFFSETS >> (4 * bucket) & 15);
}

struct Meaning {
    u32 refinement, ku, kv;
    bool wide;
};

__device__ __forceinline__ constexpr Meaning meaning(u32 s) {
    Meaning m = {0, 0, 0, false};
    if (s < PAIR0) return m;
    if (s < WIDE0) {
        m.ku = (s - PAIR0) / PAIR0_SIDE;
        m.kv = (s - PAIR0) % PAIR0_SIDE;
    } else if (s < PAIR1) {
        m.ku = m.kv = s - WIDE0 + PAIR0_SIDE;
        m.wide = true;
    } else if (s < BUCKET) {
        m.refinement = 1;
        m.ku = (s - PAIR1) / PAIR1_SIDE;
        m.kv = (s - PAIR1) % PAIR1_SIDE;
    } else if (s < STORED) {
        u32 k = s - BUCKET;
        m.refinement = 1 + k / BUCKETS;
        m.ku = m.kv = bucket_bits(m.refinement, k % BUCKETS);
        m.wide = true;
    } else {
        m.refinement = EXACT;
    }
    return m;
}

// A symbol of the alphabet: others stand for STORED.
__device__ __forceinline__ constexpr u32 known(u32 symbol) { return symbol < SYMBOLS ? symbol : STORED; }

// Bits of one difference of a symbol from FIRST_DIFFERENCE on.
__device__ __forceinline__ constexpr u32 difference_bits(u32 s, u32 element_bytes) {
    return 7 * element_bytes - 20 + 2 * (s - FIRST_DIFFERENCE);
}

// Raw bits of a symbol below STORED, without refinement bits.
static __device__ __noinline__ u32 symbol_raw_bits(u32 s) {
    if (s < PAIR0) return 0;
    Meaning m = meaning(s);
    return m.wide ? m.ku + m.kv + 2 : m.ku + m.kv;
}

// Raw bits of a symbol at a position, with stored values and the refinement bits of an anchor.
static __device__ __noinline__ u32 raw_bits_large(u32 s, i32 position, u32 element_bytes) {
    if (s == STORED) return 16 * element_bytes;
    if (s > STORED) return 2 * difference_bits(s, element_bytes);
    Meaning m = meaning(s);
    return (m.wide ? m.ku + m.kv + 2 : m.ku + m.kv) + (position == 0 ? 4 * m.refinement : 0);
}

__device__ __forceinline__ u32 raw_bits(u32 s, i32 position, u32 element_bytes) {
    return s < FIRST_WITH_RAW_BITS ? 0 : raw_bits_large(s, position, element_bytes);
}

__device__ __forceinline__ u32 bit_length(i32 q) { return 32 - __clz(q < 0 ? -q : q); }

__device__ __forceinline__ i32 unpack(u64 raw, u32 bits) {
    if (bits == 0) return 0;
    u32 top = 1u << (bits - 1), r = (u32)raw;
    i32 magnitude = (i32)((r & (top - 1)) | top);
    return r & top ? -magnitude : magnitude;
}

// Symbol and raw bits of a code with refinement 0..8.
struct Symbol {
    u32 symbol, bits;
    u64 raw;
};

// Four bits each, indexed by how many bits a code has beyond the first bucket of its refinement: the first
// bucket that is wide enough, and how much wider it is than the first. Beyond ten it is the last bucket.
constexpr u64 FIRST_BUCKETS = 0x766665543210, FIRST_BUCKETS_BITS = 0xaaaa6643210;
constexpr bool are_first_buckets() {
    for (u32 more = 0; more <= 10; more++) {
        const u32 bucket = (u32)(FIRST_BUCKETS >> 4 * more) & 15,
                  bits = (u32)(FIRST_BUCKETS_BITS >> 4 * more) & 15;
        if (bits != bucket_bits(1, bucket) || bits < more ||
            (bucket > 0 && bucket_bits(1, bucket - 1) >= more))
            return false;
    }
    return FIRST_BUCKETS >> 44 == BUCKETS - 1;
}
static_assert(are_first_buckets(), "as bucket_bits has them");

// Symbol of a code that is not small. Without branches, since the lanes of a warp have codes of all kinds.
__device__ __forceinline__ Symbol large_symbol(Code code) {
    const u32 ku = bit_length(code.qu), kv = bit_length(code.qv), both = ku > kv ? ku : kv;
    // 31 bits and a sign hold -2^31 too.
    const u32 k = both < 31 ? both : 31;
    const bool pair = code.refinement == 0 ? k < PAIR0_SIDE : code.refinement == 1 && k < PAIR1_SIDE;
    const u32 side = code.refinement == 0 ? PAIR0_SIDE : PAIR1_SIDE,
              of_pair = (code.refinement == 0 ? PAIR0 : PAIR1) + ku * side + kv;
    const i32 least = 2 * code.refinement - 2, more = (i32)k < least        ? 0
                                                      : (i32)k - least < 11 ? (i32)k - least
                                                                            : 11;
    const u32 bucket = (u32)(FIRST_BUCKETS >> (4 * more)) & 15,
              over = (u32)(FIRST_BUCKETS_BITS >> (4 * more)) & 15;
    const u32 bits = code.refinement == 0 ? k : more < 11 ? (u32)least + over : 31;
    const u32 of_wide = code.refinement == 0 ? WIDE0 + k - PAIR0_SIDE
                                             : BUCKET + (u32)(code.refinement - 1) * BUCKETS + bucket;
    // A component of a pair is a magnitude with its leading one replaced by the sign; otherwise it is an
    // offset.
    auto part = [&](i32 q, u32 own) {
        return !pair ? (u32)q + (1u << bits) : q < 0 ? 0 - (u32)q : (u32)q ^ (1u << own) >> 1;
    };
    const u32 shift = pair ? ku : bits + 1;
    return {pair ? of_pair : of_wide, pair ? ku + kv : 2 * bits + 2,
        (u64)part(code.qu, ku) | (u64)part(code.qv, kv) << shift};
}
// As a call, for rare cases.
static __device__ __noinline__ Symbol encode_symbol_large(Code code) { return large_symbol(code); }

// Kind of a code that is not small, by refinement and bit length of its larger component. Bits 0-7: first
// symbol of the kind; 8-15: bits of a component with its sign; 16 on: symbols per row of a pair kind, 0 for
// other kinds.
constexpr u32 KIND_LENGTHS = 32;
struct Kinds {
    u32 at[REFINEMENTS * KIND_LENGTHS];
};
constexpr Kinds kinds_of_codes() {
    Kinds kinds = {};
    for (u32 refinement = 0; refinement < REFINEMENTS; refinement++)
        for (u32 k = 0; k < KIND_LENGTHS; k++) {
            u32 bucket = 0;
            while (refinement > 0 && bucket_bits(refinement, bucket) < k) bucket++;
            const u32 wide = refinement == 0 ? (k < PAIR0_SIDE ? 0 : WIDE0 + k - PAIR0_SIDE) | (k + 1) << 8
                                             : (BUCKET + (refinement - 1) * BUCKETS + bucket) |
                                                   (bucket_bits(refinement, bucket) + 1) << 8;
            kinds.at[refinement * KIND_LENGTHS + k] =
                refinement == 0 && k < PAIR0_SIDE   ? PAIR0 | PAIR0_SIDE << 16
                : refinement == 1 && k < PAIR1_SIDE ? PAIR1 | PAIR1_SIDE << 16
                                                    : wide;
        }
    return kinds;
}
static __device__ __constant__ const Kinds KINDS = kinds_of_codes();

// As above, for a code whose components (at most 31 bits) are at hand as floats: a table replaces the
// branches.
template <typename T>
__device__ __forceinline__ Symbol large_symbol(i32 refinement, T cu, T cv, i32 qu, i32 qv) {
    typedef Real<T> R;
    const u32 kind = KINDS.at[refinement * KIND_LENGTHS + R::bit_length(R::high(R::abs(cu), R::abs(cv)))],
              row = kind >> 16;
    if (row != 0) {
        const u32 ku = R::bit_length(R::abs(cu)), kv = R::bit_length(R::abs(cv));
        auto part = [](i32 q, u32 own) { return q < 0 ? 0 - (u32)q : (u32)q - ((1u << own) >> 1); };
        return {(kind & 255) + ku * row + kv, ku + kv, part(qu, ku) | part(qv, kv) << ku};
    }
    const u32 length = kind >> 8, offset = 1u << (length - 1);
    return {kind & 255, 2 * length, (u64)((u32)qu + offset) | (u64)((u32)qv + offset) << length};
}

// Symbol of a code with refinement 0 and components of at most SMALL.
__device__ __forceinline__ u32 small_symbol(i32 qu, i32 qv) {
    const i32 pair = 5 * qu + qv;
    return pair == 0 ? SYMBOL_ZERO : (u32)pair + 12 + ((u32)pair >> 31);
}

__device__ __forceinline__ Symbol symbol_of(Code code) {
    if (code.refinement == 0 && (u32)(code.qu + SMALL) <= 2 * SMALL && (u32)(code.qv + SMALL) <= 2 * SMALL)
        return {small_symbol(code.qu, code.qv), 0, 0};
    return encode_symbol_large(code);
}

// Code of a symbol below FIRST_WITH_RAW_BITS.
__device__ __forceinline__ Code decode_small(u32 s) {
    i32 pair = s == 0 ? 12 : s <= 12 ? (i32)s - 1 : (i32)s;
    i32 qu = pair / 5;
    return {0, qu - SMALL, pair - 5 * qu - SMALL};
}

// Code of any symbol below STORED. Total: any bits give some code.
static __device__ __noinline__ Code decode_symbol(u32 s, u64 raw) {
    if (s < PAIR0) return decode_small(s);
    Meaning m = meaning(s);
    if (m.wide) {
        u64 mask = (1ull << (m.ku + 1)) - 1;
        long long offset = 1ll << m.ku;
        return {(i32)m.refinement, (i32)((long long)(raw & mask) - offset),
            (i32)((long long)(raw >> (m.ku + 1) & mask) - offset)};
    }
    return {(i32)m.refinement, unpack(raw, m.ku), unpack(raw >> m.ku, m.kv)};
}
