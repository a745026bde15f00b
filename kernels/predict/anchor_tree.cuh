// The last tile before a given one whose anchor has a code, in at most 14 loads: bit sets with a hierarchy of
// summary words. Twin of anchor_differences in src/cpu/quantize.rs, which walks along the chain of anchors.
#pragma once
#include "device/control.cuh"
#include "grid/tiles.cuh"

// A set of numbers below n. The lowest level has a bit for each number; every higher level has a bit for each
// word of the level below that is not zero; the top level is a single word. Seven levels suffice for n <=
// 2^32. The workspace holds two sets: tiles whose anchor has a code, and rows whose first tile has one.
constexpr u32 TREE_LEVELS = 7, NO_TILE = ~0u;
static_assert((u64)1 << 5 * TREE_LEVELS > (u64)1 << 32, "the last level is one word for any number of tiles");
__device__ __forceinline__ u64 tree_words(u64 n) {
    u64 words = 0;
    do words += n = (n + 31) / 32;
    while (n > 1);
    return words;
}

// Adds the numbers `bits` of one word to a set that was zero at the start of the call. Summary words change
// once each, so n insertions take at most n * 32 / 31 steps.
__device__ __forceinline__ void add_to_tree(u32* level, u32 n, u32 word, u32 bits) {
    while (bits) {
        const u32 before = atomicOr(&level[word], bits);
        n = (n + 31) / 32;
        if (before != 0 || n == 1) return;
        level += n;
        bits = 1u << (word & 31);
        word /= 32;
    }
}

// The largest number below i in the set, or NO_TILE: up to the first word that has one, then down to it.
__device__ __noinline__ u32 last_in_tree(const u32* words, u32 n, u32 i) {
    u32 starts[TREE_LEVELS], start = 0;
    i32 level = 0;
    for (;; level++) {
        starts[level] = start;
        const u32 below = words[start + i / 32] & ((1u << (i & 31)) - 1);
        if (below) {
            i = (i & ~31u) | highest_bit(below);
            break;
        }
        n = (n + 31) / 32;
        if (n == 1) return NO_TILE;
        start += n;
        i /= 32;
    }
    for (; level > 0; level--) i = 32 * i + highest_bit(words[starts[level - 1] + i]);
    return i;
}

__device__ __forceinline__ u32* column_tree(const Job& job) {
    return CodedAnchorsView(job).tree() + tree_words(job.tiles());
}

// Records which anchors have a code. Call with a warp that has 32 consecutive tiles from a multiple of 32.
__device__ __forceinline__ void note_coded_anchors(const Job& job, u64 tile, bool coded) {
    const u32 all = __ballot_sync(FULL, coded);
    if ((threadIdx.x & 31) == 0)
        add_to_tree(CodedAnchorsView(job).tree(), (u32)job.tiles(), (u32)(tile / 32), all);
    // With a single column the chain is the column.
    if (job.tiles_x == 1 || !coded || (u32)tile % (u32)job.tiles_x != 0) return;
    const u32 y = (u32)tile / (u32)job.tiles_x;
    add_to_tree(column_tree(job), (u32)job.tiles_y, y / 32, 1u << (y & 31));
}

// The last tile before this one in the chain of anchors that has a code, or NO_TILE.
__device__ __forceinline__ u32 last_coded_anchor(const Job& job, const TileShape& shape, u64 index) {
    const u32 first_of_row = job.tiles_x == 1 ? 0 : (u32)(index - shape.tx);
    const u32 tile = last_in_tree(CodedAnchorsView(job).tree(), (u32)job.tiles(), (u32)index);
    if (tile != NO_TILE && tile >= first_of_row) return tile;
    if (job.tiles_x == 1) return NO_TILE;
    const u32 row = last_in_tree(column_tree(job), (u32)job.tiles_y, (u32)shape.ty);
    return row == NO_TILE ? NO_TILE : row * (u32)job.tiles_x;
}
