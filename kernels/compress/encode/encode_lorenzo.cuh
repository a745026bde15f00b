// Encodes groups of the Lorenzo predictor, a warp per group. Twin of src/entropy/groups/lorenzo.rs. Every
// condition that decides a warp's path is made uniform by warp_or: otherwise the compiler surrounds each vote
// with code for divergent lanes. (A called 64-bit division on a divergent path would do the same to all
// votes.)
#pragma once
#include "compress/count/count_lorenzo.cuh"
#include "compress/encode/encode.cuh"
#include "entropy/symbols.cuh"

// Layout of the coding tables in shared memory: patterns, symbols by activity, first vertices, mask blocks,
// runs in masks, and an entry that leaves a state unchanged.
constexpr u32 ENTRY_BYTES = sizeof(uint2), PATTERNS_PLACE = 0, CODES_PLACE = PATTERN_TABLES * ALPHABET,
              FIRSTS_PLACE = CODES_PLACE + ROW_TABLES * CODE_SYMBOLS,
              MASKS_PLACE = FIRSTS_PLACE + CODE_SYMBOLS, MASK_RUNS_PLACE = MASKS_PLACE + ALPHABET,
              NOTHING_PLACE = MASK_RUNS_PLACE + RUN_SYMBOLS;

// Shared memory of a warp: rows of a tile, or masks of a batch.
struct RowBatch {
    union {
        alignas(4) u8 rows[TILE][STAGED_ROW];
        EncodeMasks masks;
    };
};
struct RowShared {
    uint2 entries[NOTHING_PLACE + 1];
    u8 raw_bits[ALPHABET];
    RowBatch batches[ROW_CODE_WARPS];
};

// Call with a block.
template <bool HUFFMAN>
__device__ __forceinline__ void load_row_tables(const Job& job, RowShared& shared) {
    constexpr u32 THREADS = 32 * ROW_CODE_WARPS, EACH = (NOTHING_PLACE + THREADS - 1) / THREADS;
    uint2 found[EACH];
#pragma unroll
    for (u32 i = 0; i < EACH; i++) {
        const u32 k = i * THREADS + threadIdx.x;
        const u32 table = k < CODES_PLACE       ? PATTERN + k / ALPHABET
                          : k < FIRSTS_PLACE    ? ROW_SYMBOL + (k - CODES_PLACE) / CODE_SYMBOLS
                          : k < MASKS_PLACE     ? ANCHOR_TABLE
                          : k < MASK_RUNS_PLACE ? MASK_BYTE
                                                : MASK_RUN;
        const u32 symbol = k < CODES_PLACE       ? k % ALPHABET
                           : k < MASKS_PLACE     ? (k - CODES_PLACE) % CODE_SYMBOLS
                           : k < MASK_RUNS_PLACE ? k - MASKS_PLACE
                                                 : k - MASK_RUNS_PLACE;
        if (k < NOTHING_PLACE) found[i] = code_entries(job, table)[symbol];
    }
#pragma unroll
    for (u32 i = 0; i < EACH; i++) {
        const u32 k = i * THREADS + threadIdx.x;
        if (k < NOTHING_PLACE) shared.entries[k] = found[i];
    }
    if (threadIdx.x == 0) shared.entries[NOTHING_PLACE] = make_uint2(Encoder<HUFFMAN>::NOTHING, 0);
}

template <typename T, bool HUFFMAN>
struct RowCoder {
    typedef typename Payload<T>::Type Q;
    static constexpr u32 MORE = ENTRY_RAW | ENTRY_ESCAPES;
    const Job& job;
    const RowShared& all;
    RowBatch& shared;
    const u32 tables;  // address
    Encoder<HUFFMAN>& encoder;

    __device__ __forceinline__ u32 table_at(u32 place) const { return tables + place * ENTRY_BYTES; }
    // Raw bits of a symbol, and the symbol itself if it escapes.
    __device__ __forceinline__ void code_raw(u32 entry, const Q* payload, u32 symbol) {
        u64 low = 0, high = 0;
        u32 bits = 0;
        if (entry & ENTRY_RAW) {
            const Q raw = *payload;
            low = Payload<T>::low(raw), high = sizeof(T) == 8 ? Payload<T>::second(raw) : 0;
            bits = all.raw_bits[symbol];
        }
        encoder.long_raw(bits, low, [&] { return high; });
        if (__any_sync(FULL, entry & ENTRY_ESCAPES)) encoder.escape(entry, symbol);
    }

    // Codes the symbols of the vertices of a row per lane, from the last to the first. `active`: vertices
    // that are in no mask, `pattern`: those whose symbols are coded.
    __device__ __forceinline__ void code_symbols(
        const Q* payload, u32 symbols, u32 activity, u32 active, u32 pattern) {
        const i32 lane = threadIdx.x & 31;
        const u32 count = fresh((u32)__popc(pattern)),
                  codes = table_at(CODES_PLACE + (activity - 1) * CODE_SYMBOLS);
        u32 left = pattern, table = codes, symbol = 0, x = 0;
        uint2 entry;
        // Find the next step's symbols while this step's are coded.
        auto find = [&](u32 step) {
            entry = make_uint2(Encoder<HUFFMAN>::NOTHING, 0);
            x = highest_bit(left);
            if (count > step) {
                left ^= 1u << x;
                symbol = shared_byte(symbols + x);
                entry = entry_at<HUFFMAN>(table + ENTRY_BYTES * symbol);
            }
        };
        auto code = [&](uint2 now, u32 now_x, u32 now_symbol) {
            if (__any_sync(FULL, now.x & MORE))
                code_raw(now.x,
                    payload + payload_place((u32)__popc(active & ((1u << (now_x & 31)) - 1)), (u32)lane),
                    now_symbol);
            encoder.code(now.x, now.y);
        };
        u32 step = warp_max(count) - 1;
        // The first vertex has its own table and belongs to the last step.
        const u32 last_table = lane == 0 && pattern & 1 ? table_at(FIRSTS_PLACE) : codes;
        if (step == 0) table = last_table;
        find(step);
        // Not unrolled: the code must stay in the instruction cache.
#pragma unroll 1
        for (;; step--) {
            const uint2 now = entry;
            const u32 now_x = x, now_symbol = symbol;
            if (step == 1) table = last_table;
            if (step > 0) find(step - 1);
            code(now, now_x, now_symbol);
            if (step == 0) break;
        }
    }

    // Codes the patterns of a tile of `rows` rows of `bytes` bytes.
    __device__ __forceinline__ void code_patterns(u32 activity, u32 rows, u32 bytes, u32 pattern) {
        const u32 lane = threadIdx.x & 31, patterns = table_at(PATTERNS_PLACE + (activity - 1) * ALPHABET),
                  nothing = table_at(NOTHING_PLACE);
        const bool coded = activity <= LAST_SPARSE_TILE ? pattern != 0 : lane < rows;
        uint2 entries[TILE / 8];
#pragma unroll
        for (u32 k = 0; k < TILE / 8; k++)
            entries[k] = entry_at<HUFFMAN>(
                coded && k < bytes ? patterns + ENTRY_BYTES * (pattern >> 8 * k & 255) : nothing);
#pragma unroll 1
        for (i32 k = TILE / 8 - 1; k >= 0; k--) {
            const uint2 entry = entries[TILE / 8 - 1];
            if (__any_sync(FULL, entry.x & ENTRY_ESCAPES)) encoder.escape(entry.x, pattern >> 8 * k & 255);
            encoder.code(entry.x, entry.y);
#pragma unroll
            for (i32 i = TILE / 8 - 1; i > 0; i--) entries[i] = entries[i - 1];
        }
        if (activity <= LAST_SPARSE_TILE)
            code_head(lane < (rows + 7) / 8, ROW_BYTE, __ballot_sync(FULL, coded) >> 8 * (lane & 3) & 255);
    }

    // Codes a tile of activity > 0, from the last symbols of its rows back to their patterns.
    __device__ __forceinline__ void code_tile(u64 tile, u32 info, const RowWords& words) {
        const i32 lane = threadIdx.x & 31;
        const u32 activity = activity_in(info, 0);
        const u32 symbols = fresh(shared_place(shared.rows[lane]));
        const Q* const payload = fresh_global(LorenzoView<T>(job).payload(tile));
        words.stage(symbols);
        // Prefetch raw bits.
#pragma unroll
        for (u32 k = 0; k < TILE / 4; k++)
            if (large_in(words.words[k])) prefetch_near(payload + payload_place(4 * k, (u32)lane));
        u32 rows = TILE, bytes = TILE / 8, active = FULL;
        if (!is_all_coded(info)) {
            const OwnedSize size(job, (u32)tile);
            rows = size.y, bytes = (size.x + 7) / 8;
            active = active_in_row(job, size, tile, mask_state_in(info));
        }
        const u32 pattern = activity == FULL_ACTIVITY ? active : row_pattern(words.words);
        code_symbols(payload, symbols, activity, active, pattern);
        if (activity != FULL_ACTIVITY) code_patterns(activity, rows, bytes, pattern);
    }

    // Codes a symbol of a table that stays in global memory.
    __device__ __forceinline__ void code_head(bool active, u32 table, u32 symbol) {
        const uint2 entry =
            active ? code_entries(job, table)[symbol] : make_uint2(Encoder<HUFFMAN>::NOTHING, 0);
        if (__any_sync(FULL, entry.x & ENTRY_ESCAPES)) encoder.escape(entry.x, symbol);
        encoder.code(entry.x, entry.y);
    }

    __device__ __forceinline__ void code_batch(u64 batch, u64 end) {
        const i32 lane = threadIdx.x & 31;
        const bool exists = batch + lane < end;
        const u32 info = exists ? TileView(job).headers()[batch + lane] : 0, states = mask_state_in(info),
                  activity = activity_in(info, 0);
        const bool coded = exists && CODED_STATES >> states & 1;
        // Load the rows of the previous tile while this one is coded.
        u32 left = warp_or(__ballot_sync(FULL, coded && activity));
        RowWords coming;
        if (left) coming.load(job, batch + highest_bit(left));
#pragma unroll 1
        while (left) {
            const u32 t = highest_bit(left);
            left ^= 1u << t;
            const RowWords words = coming;
            if (left) coming.load(job, batch + highest_bit(left));
            code_tile(batch + t, warp_or(__shfl_sync(FULL, info, t)), words);
        }
        // Sizes of the masks.
        u32 sizes[2] = {0, 0};
        const bool lists[2] = {exists && has_mask_list(states, 0), exists && has_mask_list(states, 1)};
        for (left = warp_or(__ballot_sync(FULL, lists[0] || lists[1])); left; left &= left - 1) {
            const i32 t = __ffs(left) - 1;
            const OwnedSize size(job, (u32)(batch + t));
            const u32* const masks = TileView(job).masks_of(batch + t) + lane;
            const u32 zeros = code_mask(size, masks[0]).size, fills = code_mask(size, masks[TILE]).size;
            if (lane == t) sizes[0] = lists[0] ? zeros : 0, sizes[1] = lists[1] ? fills : 0;
        }
        code_masks(job, shared.masks,
            {table_at(MASKS_PLACE), table_at(MASK_RUNS_PLACE), table_at(NOTHING_PLACE)}, encoder, batch,
            sizes);
#pragma unroll 1
        for (i32 plane = 1; plane >= 0; plane--) {
            const bool here = plane ? lists[1] : lists[0];
            encoder.raw(here ? coded_size(plane ? sizes[1] : sizes[0]) : 0, here ? MASK_COUNT_BITS : 0);
        }
#pragma unroll 1
        for (i32 k = 0; k < 2; k++)
            code_head(k ? exists : coded, k ? MASK_STATE : TILE_ACTIVITY, k ? stream_mode(info) : activity);
    }
};

// Grid: any. Block: 32 * ROW_CODE_WARPS threads, a warp per group. Dynamic shared: RowShared. Reads: info,
// symbols, payload, masks, coding entries. Writes: words, group sizes. Waits for: the previous kernel.
template <typename T, bool HUFFMAN>
__device__ __forceinline__ void encode_lorenzo_groups(const Job& job) {
    LAUNCHED_SHARED(RowShared, shared);
    fill_raw_bits<T>(shared.raw_bits, true);
    after_previous();
    const Grouping chosen = choose_groups(job);
    if (blockIdx.x == 0 && threadIdx.x == 0) control_of(job).groups = chosen.groups;
    if (blockIdx.x >= chosen.groups) return;
    load_row_tables<HUFFMAN>(job, shared);
    __syncthreads();
    const u32 tables = fresh(shared_place(shared.entries));
    RowBatch& mine = shared.batches[warp_or(threadIdx.x >> 5)];
    encode_by_warps<SLOT_BYTES<T, PREDICTOR_LORENZO>, false, ROW_CODE_WARPS, HUFFMAN>(
        job, chosen, [&](Encoder<HUFFMAN>& encoder, u64 batch, u64 end) {
            RowCoder<T, HUFFMAN>{job, shared, mine, tables, encoder}.code_batch(batch, end);
        });
}
