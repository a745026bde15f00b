// Bits of a chunk of repaired vertices. Twin of src/repair/bits.rs.
#pragma once
#include "device/ptx.cuh"

// Reads numbers from words; all lanes of a warp may read the same. Zeros follow the last word, and `is_good`
// is false once one of them was needed.
struct BitReader {
    const u32* words;
    u32 count, next;  // words, and the next one to load
    u64 pending;      // bits that were loaded
    u32 held;         // how many
    bool is_good;

    __device__ __forceinline__ BitReader(const u32* words, u32 count)
        : words(words), count(count), next(0), pending(0), held(0), is_good(true) {}

    __device__ __forceinline__ void load() {
        if (held > 32) return;
        pending |= (u64)(next < count ? words[next] : 0) << held;
        held += 32;
        next++;
    }
    __device__ __forceinline__ void skip(u32 bits) {
        pending >>= bits;
        held -= bits;
        // Bits behind the last word are among those held.
        is_good &= next <= count || 32 * (next - count) <= held;
    }
    // A number of at most 32 bits.
    __device__ __forceinline__ u32 get(u32 bits) {
        load();
        const u32 value = (u32)(pending & ((1ull << bits) - 1));
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
        u32 zeros = 0;
        while (true) {
            load();
            const u32 low = (u32)pending;
            if (low) {
                const u32 found = (u32)__ffs((i32)low) - 1;
                skip(found + 1);
                zeros += found;
                is_good &= zeros <= 61;
                return is_good ? zeros : 0;
            }
            skip(32);
            zeros += 32;
            if (zeros > 61 || !is_good) {
                is_good = false;
                return 0;
            }
        }
    }
    // A number in exponential Golomb code.
    __device__ __forceinline__ u64 golomb(u32 order) {
        const u32 length = zeros();
        const u64 quotient = (1ull << length | get_wide(length)) - 1, low = get_wide(order);
        is_good &= quotient <= ~0ull >> 2 >> order;
        return is_good ? quotient << order | low : 0;
    }
    // Whether only the padding is left: fewer than 32 bits, all 0.
    __device__ __forceinline__ bool is_at_end() {
        const u32 beyond = next > count ? 32 * (next - count) : 0, whole = next < count ? count - next : 0;
        return is_good && 32 * (u64)whole + held - beyond < 32 && pending == 0;
    }
};
