// Codes the masks of a batch of tiles, for both predictors. Twin of encode_masks in
// src/entropy/groups/encode.rs.
#pragma once
#include "entropy/groups/masks.cuh"
#include "entropy/lanes.cuh"

// Entries of masks, by their number in the batch.
static_assert(MASK_RING >= 32 + TILE_VERTICES / 8, "a chunk, and the mask that begins in it");
struct EncodeMasks {
    u16 starts[2 * BATCH + 32], names[2 * BATCH];
    u16 entries[MASK_RING];
};

// Addresses in shared memory of coding tables: mask blocks, runs in masks, and an entry that leaves a state
// unchanged.
struct MaskTables {
    u32 blocks, runs, nothing;
};

// A coding entry by its address in shared memory.
template <bool HUFFMAN>
__device__ __forceinline__ uint2 entry_at(u32 place) {
    if (HUFFMAN) return make_uint2(shared_word(place), 0);
    return shared_pair(place);
}

template <bool HUFFMAN>
__device__ __forceinline__ void code_masks(const Job& job, EncodeMasks& shared, const MaskTables& tables,
    Encoder<HUFFMAN>& encoder, u64 batch, const u32 (&sizes)[2]) {
    const i32 lane = threadIdx.x & 31,
              count = (i32)warp_sum(entries_of_size(sizes[0]) + entries_of_size(sizes[1]));
    if (count == 0) return;
    __syncwarp();
    i32 filled, lists = (i32)warp_or((u32)concatenate_masks(shared, sizes, filled));
    filled = count;
#pragma unroll 1
    for (i32 from = ((count + 31) & ~31) - 32; from >= 0; from -= 32) {
        while (filled > from) {
            lists--;
            filled = (i32)warp_or(shared.starts[lists]);
            entries_of_mask(job, batch, warp_or(shared.names[lists]),
                [&](i32 number, u16 entry) { shared.entries[(filled + number) & (MASK_RING - 1)] = entry; });
        }
        const bool here = from + lane < count;
        const u32 both = here ? shared.entries[(from + lane) & (MASK_RING - 1)] : 0, symbol = both & 255;
        const Run run = encode_run(both >> 8);
        const u32 bytes = (u32)sizeof(uint2);
        const uint2 entry = entry_at<HUFFMAN>(here ? tables.blocks + bytes * symbol : tables.nothing),
                    run_entry = entry_at<HUFFMAN>(here ? tables.runs + bytes * run.symbol : tables.nothing);
        if (__any_sync(FULL, entry.x & ENTRY_ESCAPES)) encoder.escape(entry.x, symbol);
        encoder.code(entry.x, entry.y);
        encoder.raw(here ? run.raw : 0, here ? run.bits : 0);
        if (__any_sync(FULL, run_entry.x & ENTRY_ESCAPES)) encoder.escape(run_entry.x, run.symbol);
        encoder.code(run_entry.x, run_entry.y);
    }
    __syncwarp();
}
