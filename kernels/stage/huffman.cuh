// Twin of src/stage/entropy/huffman.rs.
#pragma once
#include "list.cuh"

constexpr u32 MAX_LENGTH = 11, CODES = 1u << MAX_LENGTH, WEIGHT_BITS = 15;
constexpr u32 NO_CODE = 0xffffffffu;

// The sums of an optimal code without a limit, and for each sum the one that it is part of: leaves, whose weights ascend, before sums of equal
// weight. Behind the leaves, and where there is no sum yet, there is NO_WEIGHT. By one thread.
constexpr u32 NO_WEIGHT = 0xffffffffu;
__device__ inline void join_weights(const u32* leaves, u32* sums, u32* parents, i32 n) {
    const u32* leaf = leaves;
    i32 root = 0;
    for (i32 next = 0; next < n - 1; next++) {
        // Both heads of both at once: nothing waits for a choice.
        const u32 leaf0 = leaf[0], leaf1 = leaf[1], root0 = sums[root], root1 = sums[root + 1];
        const bool root_first = root0 < leaf0, both_roots = root1 < leaf0, root_second = root0 < leaf1;
        const u32 sum = root_first ? root0 + (both_roots ? root1 : leaf0) : leaf0 + (root_second ? root0 : leaf1);
        const i32 roots = root_first ? 1 + both_roots : root_second;
        if (roots > 0) parents[root] = (u32)next;
        if (roots > 1) parents[root + 1] = (u32)next;
        root += roots;
        leaf += 2 - roots;
        sums[next] = sum;
    }
}

// Cuts lengths, of symbols of ascending weight and none above MAX_LENGTH, to those of a code: they take so much of all CODES. By one thread.
__device__ inline void limit_lengths(u32* lengths, i32 n, u32 taken) {
    while (taken > CODES) {
        i32 k = 0;
        while (lengths[k] >= MAX_LENGTH) k++;
        lengths[k]++;
        taken -= CODES >> lengths[k];
    }
    while (taken < CODES) {
        for (i32 k = n - 1; k >= 0; k--) {
            const u32 space = CODES >> lengths[k];
            if (taken + space <= CODES) {
                taken += space;
                lengths[k]--;
            }
        }
    }
}

// The code of a start, its first bit being the lowest.
__device__ __forceinline__ u32 reversed_code(u32 start) { return __brev(start) >> (32 - MAX_LENGTH); }
