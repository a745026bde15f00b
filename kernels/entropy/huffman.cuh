// Length-limited Huffman codes. Twin of src/entropy/huffman.rs.
#pragma once
#include "entropy/lists.cuh"

constexpr u32 NO_CODE = 0xffffffffu;

// Word of a decoding table: length << 8 | symbol.
__device__ __forceinline__ u32 code_word(u32 length, u32 symbol) { return length << 8 | symbol; }
__device__ __forceinline__ u32 length_in(u32 word) { return word >> 8; }
__device__ __forceinline__ u32 symbol_of_code(u32 word) { return word & 255; }

// Builds an optimal code without a length limit: the weights of the inner nodes and, for each, its parent.
// Leaves ascend by weight and come before inner nodes of equal weight. NO_WEIGHT follows the last leaf and
// marks missing nodes. Call with one thread.
constexpr u32 NO_WEIGHT = 0xffffffffu;
__device__ inline void join_weights(const u32* leaves, u32* sums, u32* parents, i32 n) {
    // The next leaves and nodes are in registers, loaded two turns before they are needed.
    const u32* leaf = leaves;
    i32 root = 0;
    u32 leaf0 = leaf[0], leaf1 = leaf[1], leaf2 = leaf[2], leaf3 = leaf[3], root0 = NO_WEIGHT,
        root1 = NO_WEIGHT, root2 = NO_WEIGHT, root3 = NO_WEIGHT;
    for (i32 next = 0; next < n - 1; next++) {
        const bool root_first = root0 < leaf0, both_roots = root1 < leaf0, root_second = root0 < leaf1;
        const bool two = root_first && both_roots, none = !root_first && !root_second;
        const u32 sum = two ? root0 + root1 : none ? leaf0 + leaf1 : root0 + leaf0;
        if (!none) parents[root] = (u32)next;
        if (two) parents[root + 1] = (u32)next;
        sums[next] = sum;
        const i32 roots = two ? 2 : none ? 0 : 1;
        root += roots;
        leaf += 2 - roots;
        leaf0 = two ? leaf0 : none ? leaf2 : leaf1;
        leaf1 = two ? leaf1 : none ? leaf3 : leaf2;
        root0 = root == next ? sum : two ? root2 : none ? root0 : root1;
        root1 = root + 1 == next ? sum : two ? root3 : none ? root1 : root2;
        leaf2 = leaf[2], leaf3 = leaf[3];
        root2 = sums[root + 2], root3 = sums[root + 3];
    }
}

// Adjusts code lengths, of symbols of ascending weight and at most MAX_LENGTH, until they fill the code space
// of CODES exactly. `taken` is the space they fill so far. Call with one thread.
__device__ inline void limit_lengths(u32* lengths, i32 n, u32 taken) {
    // Lengths only grow here, so the first symbol that may grow never moves back.
    for (i32 k = 0; taken > CODES;) {
        while (lengths[k] >= MAX_LENGTH) k++;
        lengths[k]++;
        taken -= CODES >> lengths[k];
    }
    while (taken < CODES) {
        for (i32 k = n - 1; k >= 0 && taken < CODES; k--) {
            const u32 space = CODES >> lengths[k];
            if (taken + space <= CODES) {
                taken += space;
                lengths[k]--;
            }
        }
    }
}

// The code word of a start in the code space, first bit lowest.
__device__ __forceinline__ u32 reversed_code(u32 start) { return __brev(start) >> (32 - MAX_LENGTH); }
