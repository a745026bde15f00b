// Heads of a batch of tiles, and the end of a group: what is coded after all lists.
#pragma once
#include "compress/encode/encode_lists.cuh"
#include "entropy/groups/masks.cuh"
#include "entropy/groups/outer.cuh"
#include "predict/anchors.cuh"

// Codes the sizes of the masks and sparse lists. The loops here are not unrolled: they run once for a batch
// and must not drive the loop over symbols out of the instruction cache.
template <bool HUFFMAN>
__device__ __forceinline__ void code_sizes(Encoder<HUFFMAN>& encoder, const CodeTile& tile) {
    u32 words[5];
#pragma unroll
    for (i32 plane = 0; plane < 2; plane++)
        words[1 - plane] = tile.masks[plane] ? raw_word(coded_size(tile.masks[plane]), MASK_COUNT_BITS) : 0;
#pragma unroll
    for (i32 k = 0; k < 3; k++) {
        const u32 activity = activity_in(tile.info, k);
        words[4 - k] =
            tile.coded && is_sparse(activity) ? raw_word(tile.counts[k], count_bits(k, activity)) : 0;
    }
#pragma unroll 1
    for (i32 i = 0; i < 5; i++) {
        encoder.raw(words[0]);
#pragma unroll
        for (i32 k = 0; k < 4; k++) words[k] = words[k + 1];
    }
}

// Coding entries of the fine, middle and coarse activity and the mask state.
struct Heads {
    uint2 entries[4];
    u32 symbols;
};
template <bool HUFFMAN>
__device__ __forceinline__ Heads find_heads(const Job& job, const CodeTile& tile, bool exists) {
    Heads heads;
    heads.symbols = activity_in(tile.info, 2) | activity_in(tile.info, 1) << 8 |
                    activity_in(tile.info, 0) << 16 | stream_mode(tile.info) << 24;
#pragma unroll
    for (i32 i = 0; i < 4; i++) {
        const u32 table = i < 3 ? activity_table(tile.info, 2 - i) : MASK_STATE;
        heads.entries[i] = (i < 3 ? tile.coded : exists)
                               ? code_entries(job, table)[heads.symbols >> 8 * i & 255]
                               : make_uint2(Encoder<HUFFMAN>::NOTHING, 0);
    }
    return heads;
}
template <bool HUFFMAN>
__device__ __forceinline__ void code_heads(Heads heads, Encoder<HUFFMAN>& encoder) {
#pragma unroll 1
    for (i32 i = 0; i < 4; i++) {
        if (__any_sync(FULL, heads.entries[0].x & ENTRY_ESCAPES))
            encoder.escape(heads.entries[0].x, heads.symbols & 255);
        encoder.code(heads.entries[0].x, heads.entries[0].y);
#pragma unroll
        for (i32 k = 0; k < 3; k++) heads.entries[k] = heads.entries[k + 1];
        heads.symbols >>= 8;
    }
}

// Codes the outer anchors of a group.
template <bool HUFFMAN>
__device__ __forceinline__ void code_outer_anchors(
    const Job& job, Encoder<HUFFMAN>& encoder, u64 first, u64 end) {
    const OuterAnchors outer(job, first, end);
    if (outer.count == 0) return;
    const u32 lane = threadIdx.x & 31;
    i32 coarse = 0;
    u32 refinement_bits;
    if (lane < 2 * outer.count) {
        const int4 code = AnchorCodesView(job).codes()[lane < 2 ? outer.before_first : outer.first_of_row];
        if (code.z < EXACT) split_code(lane % 2 ? code.y : code.x, code.z, coarse, refinement_bits);
    }
    encode_outer(encoder, coarse, outer.count);
}

// Writes the states of a group in front of its words. The number of bytes that they take.
__device__ __forceinline__ u32 write_states(u32 x, u8* words) {
    const u32 lane = threadIdx.x & 31;
    const u32 octave = 15 - __clz(x), upper = x >> 16 ^ 1u << octave;
    const u32 ends = warp_inclusive_sum(octave), start = ends - octave,
              count = (__shfl_sync(FULL, ends, 31) + 31) / 32;
    // A word per lane, of the bits of all lanes.
    u32 word = 0;
#pragma unroll 4
    for (u32 i = 0; i < 32; i++) {
        const u32 at = __shfl_sync(FULL, start, i), bits = __shfl_sync(FULL, upper, i);
        if (lane == at >> 5) word |= bits << (at & 31);
        if (lane == (at >> 5) + 1) word |= __funnelshift_l(bits, 0, at);
    }
    const u32 two = octave | __shfl_sync(FULL, octave, lane + 1) << 4,
              four = two | __shfl_sync(FULL, two, lane + 2) << 8;
    u16* const to = reinterpret_cast<u16*>(words - LEAST_STATE_BYTES - 4 * count);
    if (lane % 4 == 0) to[lane / 4] = (u16)four;
    to[HALVES_AT / 2 + lane] = (u16)x;
    if (lane < count) {
        to[LEAST_STATE_BYTES / 2 + 2 * lane] = (u16)word;
        to[LEAST_STATE_BYTES / 2 + 2 * lane + 1] = (u16)(word >> 16);
    }
    return LEAST_STATE_BYTES + 4 * count;
}

// Ends a group: writes the states before the words and records its size. The pad after an odd number of words
// lies outside the space and is added on copying.
template <u64 SLOT, bool HUFFMAN>
__device__ __forceinline__ void end_group(
    const Job& job, const Encoder<HUFFMAN>& encoder, u64 groups, u64 group, u64 first, u64 end) {
    const EncodeView work(job);
    const i32 lane = threadIdx.x & 31;
    u8* const words = reinterpret_cast<u8*>(encoder.next + 1);
    const u32 state_bytes = write_states(encoder.state(), words);
    if (lane == 0) {
        const u64 bytes = state_bytes + (work.slots() + end * SLOT - words);
        work.group_sizes()[group] = group_word(end - first - 1, bytes);
        sizes_of(job, group).first_tile = first;
        atomicAdd((ull*)&control_of(job).part_bytes[(u32)group / groups_of_part(groups)],
            (ull)padded_bytes((u32)bytes));
    }
}
