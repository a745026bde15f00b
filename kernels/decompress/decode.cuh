// Decodes groups to symbols, payload and anchor refinement bits. Twin of src/entropy/groups/decode.rs.
#pragma once
#include "decompress/decode_lorenzo.cuh"

// Two warps share a group of the hierarchical predictor, because the way of a chunk from states to placed
// symbols is long. The reader turns states into symbols, runs and raw bits. The placer plans a chunk before
// (what each lane decodes) and places its symbols afterwards.
constexpr i32 DECODE_WARPS = DECODE_GROUPS * DECODE_ROLES;

// Shared state of the two warps. A barrier between chunks keeps writes from data still being read.
struct DecodeGroup {
    BatchLists lists;
    MaskedRows<7> rows;
    GroupWords words;
    u32 plans[4][32];  // of a chunk, for the reader
    u32 found[2][32];  // by the reader
    u32 steps[BATCH];  // by tile: steps of 32 positions with symbols
    union {
        u64 raw[2][2][32];  // raw bits, low and high
        struct {
            u32 infos[BATCH], counts[BATCH];  // of a batch, by the reader, before its chunks
        } tiles;
    };
    u32 entries;                 // of a batch
    u32 reader_bad, placer_bad;  // the group is invalid
    u32 unused;
};

template <bool HUFFMAN>
struct DecodeShared {
    DecodeTables<HUFFMAN> tables;
    union {
        DecodeGroup groups[DECODE_GROUPS];
        DecodeRows rows[DECODE_WARPS];  // a warp per group of the Lorenzo predictor
    };
};
static_assert(sizeof(DecodeRows) * DECODE_WARPS < sizeof(DecodeGroup) * DECODE_GROUPS,
    "the Lorenzo predictor takes no more shared memory");
static_assert(sizeof(DecodeShared<false>) == DECODE_RANS_SHARED_BYTES &&
                  sizeof(DecodeShared<true>) == DECODE_HUFFMAN_SHARED_BYTES,
    "the launch asks for as much");

// Plan of a lane in a chunk: its tables. NO_TABLE leaves the state unchanged.
constexpr u32 PLAN_LISTED = 2, PLAN_ANCHOR = 4;
__device__ __forceinline__ u32 make_plan(u32 flags, u32 table, u32 run_table) {
    return flags | table << 8 | run_table << 16;
}
__device__ __forceinline__ u32 table_in(u32 plan) { return plan >> 8 & 255; }
__device__ __forceinline__ u32 run_table_in(u32 plan) { return plan >> 16; }

// Result of the reader: symbol, run << 8, and whether raw bits (beyond 64) follow.
constexpr u32 FOUND_RAW = 1u << 31, FOUND_MORE = 1u << 30;
__device__ __forceinline__ u32 symbol_found(u32 found) { return known(found & 255); }
__device__ __forceinline__ i32 run_found(u32 found) { return (i32)(found >> 8 & 0xffff); }
// The reader. True if the group is invalid.
template <typename T, bool HUFFMAN>
__device__ __forceinline__ bool read_chunks(const Job& job, const DecodeTables<HUFFMAN>& all,
    DecodeGroup& shared, i32 number, u64 group, u64 first, u64 end) {
    const i32 lane = threadIdx.x & 31;
    Decoder<HUFFMAN> decoder;
    bool bad = !decoder.open(job, all, shared.words, group);
    for (u64 batch = first; batch < end; batch += BATCH) {
        u32 my_info = 0, counts = 0;
        if (!bad) bad = read_head(job, decoder, shared.lists, batch, batch + lane < end, my_info, counts);
        shared.tiles.infos[lane] = my_info;
        shared.tiles.counts[lane] = counts;
        if (lane == 0) shared.reader_bad = bad;
        meet<DECODE_ROLES>(number);
        if (warp_or(shared.reader_bad | shared.placer_bad)) {
            meet<DECODE_ROLES>(number);
            return bad;
        }
        meet<DECODE_ROLES>(number);
        const i32 entries = (i32)warp_or(shared.entries);
        u32 next_plan = shared.plans[0][lane];
#pragma unroll 1
        for (i32 from = 0; from < entries; from += 32) {
            const u32 plan = next_plan, slot = from >> 5 & 1;
            u32 run = 0;
            if (__any_sync(FULL, plan & PLAN_LISTED))
                run = decoder.runs(decoder.place_of(run_table_in(plan))) << 8;
            u32 symbol = decoder.step(decoder.place_of(table_in(plan)));
            const u8* const raw_bits = all.raw_bits[plan & PLAN_ANCHOR ? 1 : 0];
            u32 bits = raw_bits[symbol];
            next_plan = shared.plans[(from + 32) >> 5 & 3][lane];
            if (__any_sync(FULL, bits > 0)) {
                u64* const raw = &shared.raw[slot][0][lane];
                if (!__any_sync(FULL, bits > 16)) {
                    raw[0] = decoder.raw(bits);
                } else {
                    if (__any_sync(FULL, symbol == ESCAPE)) {
                        decoder.resolve_escape(symbol);
                        bits = raw_bits[symbol];
                        // An escaped escape is not a symbol.
                        if (bits == ESCAPE_BITS) bits = raw_bits[STORED];
                    }
                    u64 low, high;
                    decoder.long_raw(bits, low, high);
                    raw[0] = low;
                    raw[32] = high;
                }
            }
            shared.found[slot][lane] =
                symbol | run | (bits > 0 ? FOUND_RAW : 0) | (bits > 64 ? FOUND_MORE : 0);
            meet<DECODE_ROLES>(number);
        }
        meet<DECODE_ROLES>(number);
    }
    return bad || !decoder.is_at_end();
}

// The placer. True if the group is invalid; counts stored values in `exact`.
template <typename T>
__device__ __forceinline__ bool place_chunks(
    const Job& job, const u8* raw_bits, DecodeGroup& shared, i32 number, u64 first, u64 end, u32& exact) {
    const DecodeView<T> work(job);
    typedef typename Payload<T>::Type P;
    const i32 lane = threadIdx.x & 31;
    BatchLists& lists = shared.lists;
    bool bad = false;
    for (u64 batch = first; batch < end; batch += BATCH) {
        const bool exists = batch + lane < end;
        if (lane == 0) shared.placer_bad = bad;
        meet<DECODE_ROLES>(number);
        if (warp_or(shared.reader_bad | shared.placer_bad)) {
            meet<DECODE_ROLES>(number);
            return bad;
        }
        const u32 my_info = shared.tiles.infos[lane], packed = shared.tiles.counts[lane];
        const u32 counts[3] = {packed & 255, packed >> 8 & 255, packed >> 16};
        const u32 masked = masked_tiles(job, batch, exists, my_info);
        if (masked) load_masked_rows(job, shared.rows.rows, batch, my_info, masked);
        u32 sizes[TILE_LISTS], names[TILE_LISTS];
        code_lists(my_info, exists && has_codes(mask_state_in(my_info)), counts, sizes, names);
        i32 list_count, entries, current = 0, open = 0;
        concatenate_lists<TILE_LISTS>(lists, sizes, names, list_count, entries);
        entries = (i32)warp_or((u32)entries);
        if (lane == 0) shared.entries = (u32)entries;
        shared.steps[lane] = 0;
        u32 row = 0xffffffffu;
        // Per lane: flags, position (without the run, for sparse lists) << 4, list name << 16.
        constexpr u32 HERE = 1, LISTED = 2, FIRST = 4;
        auto plan = [&](i32 from) -> u32 {
            u32 begins;
            const i32 e = from + lane, list = list_of_entry(lists, from, current, begins);
            const bool here = e < entries;
            const u32 name = here ? lists.names[list] : 0, kind = list_in_tile(name),
                      activity = activity_of_list(name), t = tile_of_list(name);
            const i32 at = here ? e - lists.starts[list] : 0, start = list_start(kind);
            const bool listed = here && !is_dense(name);
            // The position of an entry of a sparse list follows from the runs.
            const i32 position = listed ? start : start + at;
            bool active = here;
            if (here && !listed && masked >> t & 1)
                active = has_symbol(job, shared.rows, batch, t, masked, position);
            const u32 flags = (listed ? PLAN_LISTED : 0) | (position == 0 ? PLAN_ANCHOR : 0);
            shared.plans[from >> 5 & 3][lane] =
                make_plan(flags, active ? table_in_list(kind, activity, position) : (u32)TABLES,
                    listed ? RUN + activity - 1 : (u32)TABLES);
            return (here ? HERE : 0) | (listed ? LISTED : 0) | (at == 0 ? FIRST : 0) | (u32)position << 4 |
                   name << 16;
        };
        u32 before = 0, now = 0, next = 0;
        if (entries > 0) now = plan(0);
        if (entries > 32) next = plan(32);
        meet<DECODE_ROLES>(number);
#pragma unroll 1
        for (i32 from = 0; from < entries + 32; from += 32) {
            if (from > 0 && !bad) {
                // Place the chunk before.
                const u32 where = before, slot = ~from >> 5 & 1, found = shared.found[slot][lane];
                const bool here = where & HERE, listed = where & LISTED;
                const u32 name = where >> 16, t = tile_of_list(name), symbol = symbol_found(found);
                i32 position = where >> 4 & 1023;
                // The first symbol in a row of 32 positions clears the row. In dense lists that is its first
                // position.
                bool clears = here && (position & 31) == 0;
                if (__any_sync(FULL, listed)) {
                    const i32 sum = sum_in_list(
                        listed ? run_found(found) + 1 : 0, __ballot_sync(FULL, where & FIRST), open);
                    open = __shfl_sync(FULL, sum, 31);
                    bool wrong = false;
                    if (listed) {
                        position += sum - 1;
                        wrong = position >= list_end(list_in_tile(name));
                        if (!wrong && masked >> t & 1)
                            wrong = !has_symbol(job, shared.rows, batch, t, masked, position);
                    }
                    bad |= __any_sync(FULL, wrong);
                    const u32 before_mine = __shfl_up_sync(FULL, t << 5 | (u32)position >> 5, 1),
                              before_first = __shfl_sync(FULL, row, 31);
                    row = t << 5 | (u32)position >> 5;
                    clears = here && row != (lane == 0 ? before_first : before_mine);
                } else {
                    open = 0;
                    row = t << 5 | (u32)position >> 5;
                }
                if (!bad) {
                    const u64 vertex = (batch + t) * TILE_VERTICES + position;
                    u8* const to = work.symbols() + vertex;
                    if (clears) {
                        uint4* const first_of_row = reinterpret_cast<uint4*>(to - (position & 31));
                        first_of_row[0] = first_of_row[1] = make_uint4(0, 0, 0, 0);
                        atomicOr(&shared.steps[t], 1u << (position >> 5));
                    }
                    __syncwarp();
                    if (symbol != SYMBOL_ZERO) *to = (u8)symbol;
                    if (found & FOUND_RAW) {
                        exact += symbol >= STORED;
                        const u64 low = shared.raw[slot][0][lane],
                                  high = sizeof(T) == 8 || found & FOUND_MORE ? shared.raw[slot][1][lane] : 0;
                        work.raw()[vertex] = Payload<T>::make(low, high);
                        if (has_refinement_bits(symbol, position) && symbol < STORED) {
                            const u32 refinement_bits = refinement_bits_behind(raw_bits[symbol], low, high);
                            // Kept where the anchor's value will be, which is computed from it.
                            work.anchors()[batch + t].x = Real<T>::from_bits(refinement_bits);
                        }
                    }
                }
            }
            before = now;
            now = next;
            // The reader reads plans one chunk ahead, so plan two ahead.
            if (from + 64 < entries) next = plan(from + 64);
            meet<DECODE_ROLES>(number);
        }
        if (exists) work.steps()[batch + lane] = shared.steps[lane];
    }
    return bad;
}

// Grid: any. Block: 32 * DECODE_WARPS threads; two warps per group of the hierarchical, one of the Lorenzo
// predictor. Dynamic shared: DecodeShared. Reads: stream, decoding tables, group offsets and sizes. Writes:
// symbols (only rows of 32 positions that have any, as the steps of the tile tell), payload, masks, header
// words, refinement bits of anchors. Does nothing for streams of the other coder.
template <typename T, bool HUFFMAN>
__device__ __forceinline__ void decode_groups(const Job& job) {
    LAUNCHED_SHARED(DecodeShared<HUFFMAN>, shared);
    Control& control = control_of(job);
    const u32 predictor = control.predictor, all_groups = (u32)control.groups;
    // Other blocks may set the status meanwhile: all threads continue, or none.
    if (warp_or(__syncthreads_or(
            !is_coded(control) | (control.coder ^ (HUFFMAN ? CODER_HUFFMAN : CODER_ANS)) != 0)))
        return;
    // warp_or: uniform, so that votes need no code for divergent lanes.
    const bool lorenzo = warp_or(predictor == PREDICTOR_LORENZO);
    const u32 groups = warp_or(all_groups);
    if (blockIdx.x >= groups) return;
    if constexpr (!HUFFMAN) copy_decode_tables<32 * DECODE_WARPS>(job, shared.tables);
    for (u32 k = threadIdx.x; k < 2 * ALPHABET; k += blockDim.x) {
        const u32 symbol = k % ALPHABET, anchor = k / ALPHABET;
        // With the Lorenzo predictor all codes have refinement bits, as anchors do. An invalid symbol counts
        // as a stored value.
        shared.tables.raw_bits[anchor][symbol] =
            symbol == ESCAPE ? (u8)ESCAPE_BITS
                             : (u8)raw_bits(known(symbol), lorenzo || anchor ? 0 : 1, sizeof(T));
    }
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
    __syncthreads();
    // Both roles are spread over all schedulers.
    const i32 warp = (i32)warp_or(threadIdx.x >> 5), number = lorenzo ? warp : warp % DECODE_GROUPS;
    const u32 stride = gridDim.x * (lorenzo ? DECODE_WARPS : DECODE_GROUPS);
    // Consecutive groups go to different blocks.
    for (u32 group = blockIdx.x + gridDim.x * number; group < groups; group += stride) {
        bool bad = false;
        u32 exact = 0;
        if (lorenzo) {
            bad = decode_lorenzo_group<T>(job, shared.tables, shared.rows[number], group, exact);
        } else {
            u64 first, end;
            tiles_of_group(job, group, first, end);
            DecodeGroup& mine = shared.groups[number];
            if (warp < DECODE_GROUPS)
                bad = read_chunks<T>(job, shared.tables, mine, number, group, first, end);
            else
                bad = place_chunks<T>(job, shared.tables.raw_bits[0], mine, number, first, end, exact);
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
