// Encodes groups of the hierarchical predictor. Twin of src/entropy/groups/encode.rs.
#pragma once
#include "compress/encode/encode_end.cuh"
#include "compress/encode/encode_masks.cuh"
#include "compress/encode/encode_teams.cuh"

// Shared memory of a warp: lists of a batch, or its masks.
union EncodeBatch {
    EncodeLists lists;
    EncodeMasks masks;
};
struct EncodeShared {
    u16 raw_sizes[ALPHABET];  // (fill_raw_sizes)
    union {
        EncodeTeams teams;
        struct {
            alignas(16) uint2 entries[SHARED_ENTRIES];
            EncodeBatch batches[ENCODE_WARPS];
        } warps;
    };
};

// Loads the coding tables to shared memory. Call with a block.
template <bool HUFFMAN>
__device__ __forceinline__ void load_tables(const Job& job, uint2* entries) {
    // Two entries at a time.
    constexpr u32 THREADS = 32 * ENCODE_WARPS, PAIRS = SHARED_ENTRIES / 2,
                  VERTEX_PAIRS = MASK_BYTES_PLACE / 2, MASK_PAIRS = RUNS_PLACE / 2,
                  TABLE_PAIRS = CODE_SYMBOLS / 2, RUN_PAIRS = RUN_SYMBOLS / 2;
    static_assert(NO_SYMBOL == CODE_SYMBOLS - 1 && CODE_SYMBOLS % 2 == 0, "the last entry of a pair");
#pragma unroll
    for (u32 i = 0; i < (PAIRS + THREADS - 1) / THREADS; i++) {
        const u32 k = i * THREADS + threadIdx.x;
        const u32 table = k < VERTEX_PAIRS ? ANCHOR_TABLE + k / TABLE_PAIRS
                          : k < MASK_PAIRS ? MASK_BYTE
                                           : RUN + (k - MASK_PAIRS) / RUN_PAIRS;
        const u32 pair = k < VERTEX_PAIRS ? k % TABLE_PAIRS
                         : k < MASK_PAIRS ? k - VERTEX_PAIRS
                                          : (k - MASK_PAIRS) % RUN_PAIRS;
        if (k < PAIRS) copy_ahead<16>(&entries[2 * k], code_entries(job, table) + 2 * pair);
    }
    end_of_copies();
    wait_for_copies<0>();
    // NO_SYMBOL is not coded. Written by the thread that loaded its place.
#pragma unroll
    for (u32 i = 0; i < (VERTEX_PAIRS + THREADS - 1) / THREADS; i++) {
        const u32 k = i * THREADS + threadIdx.x;
        if (k < VERTEX_PAIRS && k % TABLE_PAIRS == TABLE_PAIRS - 1)
            entries[2 * k + 1] = make_uint2(Encoder<HUFFMAN>::NOTHING, 0);
    }
}

// Codes a batch of tiles of a group that ends before `end`.
template <typename T, bool HUFFMAN>
__device__ __forceinline__ void code_batch(const Job& job, const EncodeShared& all, EncodeBatch& shared,
    Encoder<HUFFMAN>& encoder, u64 batch, u64 end) {
    const bool exists = batch + (threadIdx.x & 31) < end;
    {
        i32 count;
        const i32 entries = (i32)warp_or(
            (u32)collect_lists(CodeTile(job, batch + (threadIdx.x & 31), exists), shared.lists, count));
        ListFinder finder(shared.lists, count, entries);
        ListCoder<T, HUFFMAN>(job, all.warps.entries, all.raw_sizes, encoder, batch)
            .code(finder, (entries + 31) / 32);
    }
    const CodeTile tile(job, batch + (threadIdx.x & 31), exists);
    const Heads heads = find_heads<HUFFMAN>(job, tile, exists);
    const u32 entries = shared_place(all.warps.entries), bytes = (u32)sizeof(uint2);
    const MaskTables mask_tables = {entries + bytes * MASK_BYTES_PLACE,
        entries + bytes * (RUNS_PLACE + (MASK_RUN - RUN) * RUN_SYMBOLS), entries + bytes * NO_SYMBOL};
    code_masks(job, shared.masks, mask_tables, encoder, batch, tile.masks);
    code_sizes(encoder, tile);
    code_heads(heads, encoder);
}

// Codes the groups of the stream, a warp each, batch by batch: code(encoder, batch, end). Slots have SLOT
// bytes; HAS_ANCHORS: groups begin with outer anchors.
template <u64 SLOT, bool HAS_ANCHORS, i32 WARPS, bool HUFFMAN, typename Code>
__device__ __forceinline__ void encode_by_warps(const Job& job, const Grouping& chosen, Code code) {
    // Uniform; 32 bits suffice (capacities.cuh).
    const u32 groups = warp_or((u32)chosen.groups), group_weight = warp_or(chosen.weight);
    const i32 lane = threadIdx.x & 31;
    // Consecutive groups go to different blocks; after its first group a warp takes the next free one.
    u32 group = blockIdx.x + gridDim.x * warp_or(threadIdx.x >> 5);
#pragma unroll 1
    while (group < groups) {
        u32 ticket = 0;
        if (lane == 0) ticket = atomicAdd(&control_of(job).tickets[TICKET_ENCODE], 1u);
        const u32 boundary = first_tile_of<2>(job, group_weight, group);
        const u64 first = warp_or(__shfl_sync(FULL, boundary, 0)),
                  end = warp_or(__shfl_sync(FULL, boundary, 16));
        Encoder<HUFFMAN> encoder(EncodeView(job).slots() + end * SLOT);
#pragma unroll 1
        for (u64 batch = first + ((end - first - 1) & ~31ull);; batch -= BATCH) {
            code(encoder, batch, end);
            if (batch == first) break;
        }
        if (HAS_ANCHORS) code_outer_anchors(job, encoder, first, end);
        end_group<SLOT>(job, encoder, groups, group, first, end);
        group = gridDim.x * WARPS + warp_or(ticket);
    }
}

// Grid: any. Block: 32 * ENCODE_WARPS threads. Dynamic shared: EncodeShared. Few groups are coded by
// teams of warps; many by a warp each, which takes fewer instructions in all, but more time for a group.
// Reads: info, symbols, list entries and sizes, payload, masks, anchor codes, field, coding entries. Writes:
// words, group sizes. Waits for: the previous kernel.
template <typename T, bool HUFFMAN>
__device__ __forceinline__ void encode_groups(const Job& job) {
    LAUNCHED_SHARED(EncodeShared, shared);
    fill_raw_sizes<T>(shared.raw_sizes);
    after_previous();
    const Grouping chosen = choose_groups(job);
    if (blockIdx.x == 0 && threadIdx.x == 0) control_of(job).groups = chosen.groups;
    if (blockIdx.x >= chosen.groups) return;
    const u32 groups = warp_or((u32)chosen.groups);
    // A wave and a half of teams.
    if (groups <= gridDim.x * (ENCODE_GROUPS * 3 / 2))
        return encode_by_teams<T, HUFFMAN>(
            job, shared.teams, shared.raw_sizes, groups, warp_or(chosen.weight));
    load_tables<HUFFMAN>(job, shared.warps.entries);
    __syncthreads();
    EncodeBatch& mine = shared.warps.batches[threadIdx.x >> 5];
    encode_by_warps<SLOT_BYTES<T, PREDICTOR_HIERARCHICAL>, true, ENCODE_WARPS, HUFFMAN>(
        job, chosen, [&](Encoder<HUFFMAN>& encoder, u64 batch, u64 end) {
            code_batch<T, HUFFMAN>(job, shared, mine, encoder, batch, end);
        });
}
