// Bits of a chunk of repaired vertices. Twin of src/repair/bits.rs.
#pragma once
#include "device/ptx.cuh"

// Reads numbers from words; all lanes of a warp may read the same. Zeros follow the last word: whoever reads
// asks in the end whether all was inside.
struct BitReader {
    const u32* words;
    u32 count, next;           // words, and the next one to load
    u32 first, second, third;  // the word with the next bit, and those behind it
    u32 at;                    // of the next bit in its word
    bool is_good;              // false after a number that no encoder writes

    __device__ __forceinline__ BitReader(const u32* words, u32 count)
        : words(words), count(count), next(0), at(0), is_good(true) {
        first = load(), second = load(), third = load();
    }
    __device__ __forceinline__ u32 load() {
        const u32 word = next < count ? words[next] : 0;
        next++;
        return word;
    }
    // The next 32 bits.
    __device__ __forceinline__ u32 window() const { return __funnelshift_r(first, second, at); }
    // Passes at most 32 bits.
    __device__ __forceinline__ void skip(u32 bits) {
        at += bits;
        if (at < 32) return;
        at -= 32;
        first = second, second = third, third = load();
    }
    // A number of at most 32 bits.
    __device__ __forceinline__ u32 get(u32 bits) {
        const u32 value = window() & (bits < 32 ? (1u << bits) - 1 : ~0u);
        skip(bits);
        return value;
    }
    // A number of up to 64 bits.
    __device__ __forceinline__ u64 get_wide(u32 bits) {
        const u32 low = bits < 32 ? bits : 32, value = get(low);
        return bits > 32 ? value | (u64)get(bits - 32) << 32 : value;
    }
    // Counts zeros before a one, at most 61, and passes the one.
    __device__ __forceinline__ u32 zeros() {
        for (u32 zeros = 0; zeros <= 61; zeros += 32) {
            const u32 bits = window(), found = bits ? (u32)__ffs((i32)bits) - 1 : 32;
            skip(bits ? found + 1 : 32);
            if (bits && zeros + found <= 61) return zeros + found;
            if (bits) break;
        }
        is_good = false;
        return 0;
    }
    __device__ __noinline__ u64 long_golomb(u32 order) {
        const u32 length = zeros();
        const u64 quotient = (1ull << length | get_wide(length)) - 1, low = get_wide(order);
        is_good &= quotient <= ~0ull >> 2 >> order;
        return is_good ? quotient << order | low : 0;
    }
    // A number in exponential Golomb code.
    __device__ __forceinline__ u64 golomb(u32 order) {
        const u32 bits = window(), length = (u32)__ffs((i32)bits) - 1, all = 2 * length + 1 + order;
        if (length > 15 || all > 32) return long_golomb(order);
        const u32 behind = bits >> length >> 1,
                  quotient = (1u << length | (behind & ((1u << length) - 1))) - 1,
                  low = behind >> length & ((1u << order) - 1);
        skip(all);
        return quotient << order | low;
    }
    // The bits that were read.
    __device__ __forceinline__ u64 position() const { return 32 * (u64)(next - 3) + at; }
    // Whether nothing was read behind the last word.
    __device__ __forceinline__ bool is_inside() const { return position() <= 32 * (u64)count; }
    // Whether only the padding is left: fewer than 32 bits, all 0.
    __device__ __forceinline__ bool is_at_end() const {
        return is_good && is_inside() && 32 * (u64)count - position() < 32 && window() == 0;
    }
};
