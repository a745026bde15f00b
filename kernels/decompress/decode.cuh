// Decodes groups to symbols, payload and anchor refinement bits. Twin of src/entropy/groups/decode.rs.
#pragma once
#include "decompress/decode_lorenzo.cuh"
#include "decompress/decode_placer.cuh"
#include "decompress/decode_reader.cuh"

constexpr i32 DECODE_WARPS = DECODE_GROUPS * DECODE_ROLES;

template <bool HUFFMAN>
struct DecodeShared {
    DecodeTables<HUFFMAN> tables;
    u32 plans[LISTS_AND_ACTIVITIES];  // of the first entry of a list
    union {
        DecodeGroup groups[DECODE_GROUPS];
        DecodeRows rows[DECODE_WARPS];  // a warp per group of the Lorenzo predictor
    };
};
static_assert(sizeof(DecodeRows) * DECODE_WARPS < sizeof(DecodeGroup) * DECODE_GROUPS,
    "the Lorenzo predictor takes no more shared memory");

// Fills the tables that all groups of a block need. Call with a block.
template <typename T, bool HUFFMAN>
__device__ __forceinline__ void fill_decode_shared(
    const Job& job, bool lorenzo, DecodeShared<HUFFMAN>& shared) {
    if constexpr (!HUFFMAN) copy_decode_tables<32 * DECODE_WARPS>(job, shared.tables);
    for (u32 k = threadIdx.x; k < 2 * ALPHABET; k += blockDim.x) {
        const u32 symbol = k % ALPHABET, anchor = k / ALPHABET;
        // With the Lorenzo predictor all codes have refinement bits, as anchors do. An invalid symbol counts
        // as a stored value.
        shared.tables.raw_bits[anchor][symbol] =
            symbol == ESCAPE ? (u8)ESCAPE_BITS
                             : (u8)raw_bits(known(symbol), lorenzo || anchor ? 0 : 1, sizeof(T));
    }
    if (threadIdx.x < LISTS_AND_ACTIVITIES)
        shared.plans[threadIdx.x] = plan_of_list(threadIdx.x / ACTIVITIES, threadIdx.x % ACTIVITIES);
    if (!HUFFMAN) {
        // Prefetch the tables of mask states and activities, which every batch needs.
        constexpr u32 SECTORS = SCALE / SLOTS_PER_START / 32;
        const u32 table = threadIdx.x / (SECTORS + 1), sector = threadIdx.x % (SECTORS + 1);
        if (table < FIRST_SHARED_TABLE) {
            const void* const at =
                sector < SECTORS ? static_cast<const void*>(ParseView(job).slot_starts() +
                                                            table * (SCALE / SLOTS_PER_START) + 32 * sector)
                                 : static_cast<const void*>(ParseView(job).tables() + table * ALPHABET);
            prefetch_near(at);
        }
    }
}

// Grid: any. Block: 32 * DECODE_WARPS threads; two warps per group of the hierarchical, one of the Lorenzo
// predictor. Dynamic shared: DecodeShared. Reads: stream, decoding tables, tables of residuals, group offsets
// and sizes. Writes: symbols (only rows of 32 positions that have any, as the steps of the tile tell),
// payload, masks, header words, refinement bits of anchors. Does nothing for streams of the other coder.
template <typename T, bool HUFFMAN>
__device__ __forceinline__ void decode_groups(const Job& job) {
    LAUNCHED_SHARED(DecodeShared<HUFFMAN>, shared);
    Control& control = control_of(job);
    const u32 predictor = control.predictor, first_group = (u32)control.first_group,
              all_groups = (u32)control.end_group - first_group;
    // Other blocks may set the status meanwhile: all threads continue, or none.
    if (warp_or(__syncthreads_or(
            !is_coded(control) | (control.coder ^ (HUFFMAN ? CODER_HUFFMAN : CODER_ANS)) != 0)))
        return;
    // warp_or: uniform, so that votes need no code for divergent lanes.
    const bool lorenzo = warp_or(predictor == PREDICTOR_LORENZO);
    const u32 groups = warp_or(all_groups);
    if (blockIdx.x >= groups) return;
    fill_decode_shared<T>(job, lorenzo, shared);
    __syncthreads();
    // Both roles are spread over all schedulers.
    const i32 warp = (i32)warp_or(threadIdx.x >> 5), number = lorenzo ? warp : warp % DECODE_GROUPS;
    const u32 stride = gridDim.x * (lorenzo ? DECODE_WARPS : DECODE_GROUPS);
    // Consecutive groups go to different blocks.
    for (u32 group = blockIdx.x + gridDim.x * number; group < groups;) {
        bool bad = false;
        u32 exact = 0;
        const u32 place = first_group + group & job.group_mask;
        if (lorenzo) {
            bad = decode_lorenzo_group<T>(job, shared.tables, shared.rows[number], place, exact);
            group = warp_or((threadIdx.x & 31) == 0 ? next_group(job, groups, stride) : 0);
        } else {
            u64 first, end;
            tiles_of_group(job, place, first, end);
            DecodeGroup& mine = shared.groups[number];
            if (warp < DECODE_GROUPS)
                bad = read_chunks(job, shared.tables, mine, number, place, first, end);
            else
                bad = place_chunks<T>(job, shared.plans, shared.tables.raw_bits, mine, number, first, end,
                    groups, stride, exact);
            meet<DECODE_ROLES>(number);
            group = warp_or(mine.next);
        }
        exact = warp_sum(exact);
        if (exact && (threadIdx.x & 31) == 0) atomicAdd((ull*)&control.exact, (ull)exact);
        if (bad && (threadIdx.x & 31) == 0) fail(control, STATUS_CORRUPT_STREAM);
    }
}

// Overlaps the previous kernel, factz_check, which starts after factz_parse has completed.
template <typename T, bool HUFFMAN>
__device__ __forceinline__ void decode(const Job& job) {
    decode_groups<T, HUFFMAN>(job);
    end_overlap();
}
