// Twin of src/stage/entropy/huffman.rs.
#pragma once
#include "list.cuh"

constexpr u32 MAX_LENGTH = 11, CODES = 1u << MAX_LENGTH, WEIGHT_BITS = 15;
constexpr u32 NO_CODE = 0xffffffffu;

// Weights of symbols, ascending, become the lengths of an optimal code without a limit: leaves before sums
// of equal weight. By one thread.
__device__ inline void unlimited_lengths(u32* weights, i32 n) {
    if (n < 2) {
        if (n == 1) weights[0] = 0;
        return;
    }
    i32 leaf = 0, root = 0;
    for (i32 next = 0; next < n - 1; next++) {
        u32 sum = 0;
#pragma unroll
        for (i32 k = 0; k < 2; k++) {
            if (leaf >= n || (root < next && weights[root] < weights[leaf])) {
                sum += weights[root];
                weights[root++] = (u32)next;
            } else {
                sum += weights[leaf++];
            }
        }
        weights[next] = sum;
    }
    weights[n - 2] = 0;
    for (i32 k = n - 3; k >= 0; k--) weights[k] = weights[weights[k]] + 1;
    i32 available = 1, sum = n - 1, k = n;
    for (u32 depth = 0; available > 0; depth++) {
        i32 used = 0;
        while (sum > 0 && weights[sum - 1] == depth) {
            used++;
            sum--;
        }
        for (i32 i = used; i < available; i++) weights[--k] = depth;
        available = 2 * used;
    }
}

// Cuts lengths, of symbols of ascending weight, to the longest one allowed. By one thread.
__device__ inline void limit_lengths(u32* lengths, i32 n) {
    u32 taken = 0;
    for (i32 k = 0; k < n; k++) {
        if (lengths[k] > MAX_LENGTH) lengths[k] = MAX_LENGTH;
        taken += CODES >> lengths[k];
    }
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
