// Encodes groups of the hierarchical predictor. Twin of src/entropy/groups/encode.rs.
#pragma once
#include "compress/encode_prepare.cuh"

// Codes the lists of a batch. An entry of a mask is coded like one of a sparse list.
template <bool HUFFMAN>
__device__ __forceinline__ void code_chunks(
    const EncodeGroup& shared, i32 number, Encoder<HUFFMAN>& encoder) {
    const i32 lane = threadIdx.x & 31;
    i32 left = (i32)warp_or(shared.size.chunks) + ((i32)warp_or(shared.size.mask_entries) + 31) / 32;
    const i32 steps = (left + PREPARERS - 1) / PREPARERS + ENCODE_STEPS;
#pragma unroll 1
    for (i32 step = 0; step < steps; step++) {
        if (step >= ENCODE_STEPS) {
            const Chunk* chunk = shared.chunks[(step - 1) & 1];
            u32 kinds = warp_or(*reinterpret_cast<const u32*>(shared.kinds[(step - 1) & 1]));
            u32 next_raw = chunk->symbols.raw[lane], next_entry = chunk->symbols.entry[lane],
                next_reciprocal = chunk->symbols.reciprocal[lane];
            i32 here = (i32)fresh((u32)(left < PREPARERS ? left : PREPARERS));
            left -= here;
#pragma unroll 1
            for (; here > 0; chunk++, kinds >>= 8) {
                const u32 raw = next_raw, entry = next_entry, reciprocal = next_reciprocal;
                const Item& next = chunk[1].symbols;
                if (--here > 0)
                    next_raw = next.raw[lane], next_entry = next.entry[lane],
                    next_reciprocal = next.reciprocal[lane];
#pragma unroll 1
                for (i32 piece = (i32)(kinds & KIND_PIECES) - 1; piece >= 0; piece--)
                    encoder.raw(chunk->pieces[piece][lane]);
                encoder.code(raw, entry, reciprocal);
                if (kinds & KIND_RUNS) {
                    const u32 run_raw = chunk->runs.raw[lane], run_entry = chunk->runs.entry[lane],
                              run_reciprocal = chunk->runs.reciprocal[lane];
                    if (kinds & KIND_RUN_ESCAPES) {
                        encoder.raw(run_raw);
                        encoder.escape(run_entry, run_raw >> 8 & 255);
                    }
                    encoder.code(kinds & KIND_RUN_ESCAPES ? 0 : run_raw, run_entry, run_reciprocal);
                }
            }
        }
        meet<ENCODE_ROLES>(number);
    }
}

// Codes the sizes of the masks and sparse lists.
template <bool HUFFMAN>
__device__ __forceinline__ void code_sizes(Encoder<HUFFMAN>& encoder, const CodeTile& tile, bool exists) {
#pragma unroll
    for (i32 plane = 1; plane >= 0; plane--)
        encoder.raw(
            tile.masks[plane] ? coded_size(tile.masks[plane]) : 0, tile.masks[plane] ? MASK_COUNT_BITS : 0);
#pragma unroll
    for (i32 k = 2; k >= 0; k--) {
        const u32 activity = activity_in(tile.info, k);
        encoder.raw(tile.counts[k], tile.coded && is_sparse(activity) ? count_bits(k, activity) : 0);
    }
}

// Coding entries of the fine, middle and coarse activity and the mask state; loaded while the lists are
// coded.
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
        const u32 table = i < 3 ? activity_table(tile.info, 2 - i) : (u32)MASK_STATE;
        heads.entries[i] = (i < 3 ? tile.coded : exists)
                               ? code_entries(job, table)[heads.symbols >> 8 * i & 255]
                               : make_uint2(Encoder<HUFFMAN>::NOTHING, 0);
    }
    return heads;
}
template <bool HUFFMAN>
__device__ __forceinline__ void code_heads(Heads heads, Encoder<HUFFMAN>& encoder) {
    if (!__any_sync(
            FULL, (heads.entries[0].x | heads.entries[1].x | heads.entries[2].x | heads.entries[3].x) &
                      ENTRY_ESCAPES)) {
#pragma unroll
        for (i32 i = 0; i < 4; i++) encoder.code(0, heads.entries[i].x, heads.entries[i].y);
        return;
    }
#pragma unroll 1
    for (i32 i = 0; i < 4; i++) {
        encoder.escape(heads.entries[0].x, heads.symbols & 255);
        encoder.code(0, heads.entries[0].x, heads.entries[0].y);
#pragma unroll
        for (i32 k = 0; k < 3; k++) heads.entries[k] = heads.entries[k + 1];
        heads.symbols >>= 8;
    }
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
    const u64 words = encoder.words((end - first) * SLOT);
    const u32 state_bytes = write_states(encoder.state(), work.slots() + end * SLOT - 2 * words);
    if (lane == 0) {
        const u64 bytes = state_bytes + 2 * words;
        work.group_sizes()[group] = bytes | (end - first - 1) << 24;
        sizes_of(job, group).first_tile = first;
        atomicAdd((ull*)&control_of(job).part_bytes[(u32)group / groups_of_part(groups)],
            (ull)padded_bytes((u32)bytes));
    }
}

// Loads coding tables to shared memory, without reciprocals, which are recomputed. Each warp takes some
// tables, in rows of 32 entries.
template <bool HUFFMAN>
__device__ __forceinline__ void load_tables(const Job& job, EncodeShared& shared, i32 warp) {
    constexpr i32 WARPS = ENCODE_GROUPS * PREPARERS, TABLES_EACH = ((i32)MASK_TABLE + WARPS - 1) / WARPS,
                  TABLE_ROWS = CODE_SYMBOLS / 32;
    constexpr i32 MASK_ROWS = ALPHABET / 32, OTHER_ROWS = MASK_ROWS + TABLES - RUN;
    static_assert(RUN_SYMBOLS == 32 && CODE_SYMBOLS % 32 == 0 && MASK_TABLE % TABLES_EACH == 0,
        "tables are whole rows");
    const i32 lane = threadIdx.x & 31;
    const uint2* const from = code_entries(job, MASK_BYTE) + lane;
    if (TABLES_EACH * warp < (i32)MASK_TABLE) {
        const uint2* const codes = from + ((ANCHOR_TABLE - MASK_BYTE) + TABLES_EACH * warp) * ALPHABET;
        u32* const to = shared.entries + TABLES_EACH * warp * CODE_SYMBOLS + lane;
#pragma unroll
        for (i32 row = 0; row < TABLES_EACH * TABLE_ROWS; row++)
            copy_ahead<4>(to + 32 * row, &codes[row / TABLE_ROWS * ALPHABET + row % TABLE_ROWS * 32].x);
    }
#pragma unroll
    for (i32 i = 0; i < (OTHER_ROWS + WARPS - 1) / WARPS; i++) {
        const i32 row = WARPS * i + warp;
        if (row < OTHER_ROWS)
            copy_ahead<4>(shared.entries + MASK_TABLE * CODE_SYMBOLS + 32 * row + lane,
                &from[row < MASK_ROWS ? 32 * row : ((RUN - MASK_BYTE) + row - MASK_ROWS) * ALPHABET].x);
    }
    end_of_copies();
    wait_for_copies<0>();
    // NO_SYMBOL is not coded. Written by the lane that loaded its place.
    if (lane != NO_SYMBOL % 32 || TABLES_EACH * warp >= (i32)MASK_TABLE) return;
#pragma unroll
    for (i32 table = 0; table < TABLES_EACH; table++)
        shared.entries[(TABLES_EACH * warp + table) * CODE_SYMBOLS + NO_SYMBOL] = Encoder<HUFFMAN>::NOTHING;
}

// Grid: any. Block: 32 * ENCODE_WARPS threads, ENCODE_ROLES warps per group. Dynamic shared: EncodeShared.
// Reads: info, symbols, list entries and sizes, payload, masks, anchor codes, field, coding entries. Writes:
// words, group sizes. Waits for: the previous kernel.
template <typename T, bool HUFFMAN>
__device__ __forceinline__ void encode_groups(const Job& job) {
    constexpr u64 SLOT = SLOT_BYTES<T, PREDICTOR_HIERARCHICAL>;
    LAUNCHED_SHARED(EncodeShared, shared);
    for (u32 symbol = threadIdx.x; symbol < ALPHABET; symbol += 32 * ENCODE_WARPS) {
        const u32 bits = symbol < SYMBOLS ? raw_bits(symbol, 1, sizeof(T)) : 0;
        shared.raw_bits[symbol] = (u16)(sixteens(bits) | bits | (is_special<T>(symbol) ? SPECIAL : 0));
    }
    after_previous();
    // warp_or: uniform, so that votes need no code for divergent lanes.
    const i32 lane = threadIdx.x & 31, warp = (i32)warp_or(threadIdx.x >> 5), number = warp / ENCODE_ROLES,
              role = warp % ENCODE_ROLES;
    EncodeGroup& mine = shared.groups[number];
    // Consecutive groups go to different blocks.
    u64 group = blockIdx.x + (u64)gridDim.x * number;
    auto find_group = [&](u32 weight) {
        const u64 boundary = first_tile_of<4>(job, weight, group);
        if ((lane & 15) == 0) (&mine.first)[lane / 16] = boundary;
    };
    // Warp 0 of each group finds its tiles, the others load the tables.
    if (role == 0) {
        const Grouping grouping = choose_groups(job);
        if (group < grouping.groups) find_group(grouping.weight);
        if (lane == 0) mine.groups = (u32)grouping.groups, mine.weight = grouping.weight;
        if (blockIdx.x == 0 && threadIdx.x == 0) control_of(job).groups = grouping.groups;
    } else {
        load_tables<HUFFMAN>(job, shared, number * PREPARERS + role - 1);
    }
    __syncthreads();
    const u32 groups = warp_or(mine.groups);
    if (group >= groups) return;
    for (;;) {
        const u64 first = mine.first, end = mine.end;
        Encoder<HUFFMAN> encoder(EncodeView(job).slots() + first * SLOT, (end - first) * SLOT);
        for (u64 batch = first + ((end - first - 1) & ~31ull);; batch -= BATCH) {
            if (role == CODER) {
                const bool exists = batch + lane < end;
                const CodeTile tile(job, batch + lane, exists);
                const Heads heads = find_heads<HUFFMAN>(job, tile, exists);
                meet<ENCODE_ROLES>(number);
                code_chunks(mine, number, encoder);
                // Meanwhile the other warps collect the next batch.
                code_sizes(encoder, tile, exists);
                code_heads(heads, encoder);
            } else {
                open_batch<T>(job, mine, role, batch, end);
                meet<ENCODE_ROLES>(number);
                prepare_chunks<T, HUFFMAN>(job, shared, mine, number, role, batch, end);
            }
            if (batch == first) break;
        }
        if (role == CODER) end_group<SLOT>(job, encoder, groups, group, first, end);
        group += (u64)gridDim.x * ENCODE_GROUPS;
        if (role == 0 && group < groups) find_group(mine.weight);
        if (group >= groups) return;
        meet<ENCODE_ROLES>(number);
    }
}
