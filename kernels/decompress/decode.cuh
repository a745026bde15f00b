// Entries of decompression from groups to symbols and anchors; restore.cuh has the rest. Twin:
// src/entropy/groups/decode.rs.
#pragma once
#include "decompress/decode_lorenzo.cuh"

// Groups of the hierarchical predictor: two warps work on a group, since a chunk's way from states to symbols
// in their places is a long one: the reader turns states into symbols, runs and raw bits; the other one
// plans, before, what each lane of a chunk decodes, and places, behind, what was found.
constexpr i32 DECODE_GROUPS = 4, DECODE_ROLES = 2, DECODE_WARPS = DECODE_GROUPS * DECODE_ROLES;

// What the two warps of a group tell each other. Neither writes what the other may still read: there is a
// barrier between chunks.
struct DecodeGroup {
    BatchLists lists;
    MaskedRows<7> rows;
    GroupWords words;
    u32 plans[4][32];  // of a chunk, for the reader
    u32 found[2][32];  // from the reader
    u32 steps[BATCH];  // of each tile: which have symbols
    union {
        u64 raw[2][2][32];  // raw bits of what was found, low and high
        struct {
            u32 infos[BATCH], counts[BATCH];  // of the tiles of a batch, from the reader, before its chunks
        } tiles;
    };
    u32 entries;                 // of a batch
    u32 reader_bad, placer_bad;  // whether the group is found bad
    u32 unused;
};

template <bool HUFFMAN>
struct DecodeShared {
    DecodeTables<HUFFMAN> tables;
    union {
        DecodeGroup groups[DECODE_GROUPS];
        DecodeRows rows[DECODE_WARPS];  // a warp for a group of the Lorenzo predictor
    };
};
static_assert(
    sizeof(DecodeGroup) == 2 * 288 + 7 * 128 + 384 + 7 * 128 + 1024 + 16, "launch.rs asks for as much");
static_assert(sizeof(DecodeRows) == 32 * 36 + 384 &&
                  sizeof(DecodeRows) * DECODE_WARPS < sizeof(DecodeGroup) * DECODE_GROUPS,
    "launch.rs asks for as much");
static_assert(sizeof(DecodeShared<false>) == 32 * (4 * 256 + 256) + 272 + 512 + 4 * sizeof(DecodeGroup),
    "launch.rs asks for as much");
static_assert(sizeof(DecodeShared<true>) == 16 + 512 + 4 * sizeof(DecodeGroup), "launch.rs asks for as much");

// What a lane of the reader does with a chunk: its tables, and of what. Lanes without a symbol or a run have
// one that leaves their state as it is.
constexpr u32 PLAN_LISTED = 2, PLAN_ANCHOR = 4;
__device__ __forceinline__ u32 make_plan(u32 flags, u32 table, u32 run_table) {
    return flags | table << 8 | run_table << 16;
}
__device__ __forceinline__ u32 table_in(u32 plan) { return plan >> 8 & 255; }
__device__ __forceinline__ u32 run_table_in(u32 plan) { return plan >> 16; }

// What the reader found: a symbol, the run before it, and whether there are raw bits, up to 64 or more.
constexpr u32 FOUND_RAW = 1u << 31, FOUND_MORE = 1u << 30;
__device__ __forceinline__ u32 symbol_found(u32 found) {
    return (found & 255) < STORED ? found & 255 : STORED;
}
__device__ __forceinline__ i32 run_found(u32 found) { return (i32)(found >> 8 & 0xffff); }
// The reader: symbols, runs and raw bits from the states. Whether the group is bad.
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
            decoder.move_on();
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
                        // An escape that stands for itself is no symbol.
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

// The other warp: plans, and symbols and raw bits to their places. Whether the group is bad; `exact` counts
// stored values.
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
        code_lists(my_info, exists && has_codes(mode_in(my_info)), counts, sizes, names);
        i32 list_count, entries, current = 0, open = 0;
        collect_lists<TILE_LISTS>(lists, sizes, names, list_count, entries);
        entries = (i32)warp_or((u32)entries);
        if (lane == 0) shared.entries = (u32)entries;
        shared.steps[lane] = 0;
        u32 row = 0xffffffffu;
        // What the lane has to place: a name, a position but for entries of sparse lists, and how to find it
        // from the runs.
        constexpr u32 HERE = 1, LISTED = 2, FIRST = 4;
        auto plan = [&](i32 from) -> u32 {
            u32 begins;
            const i32 e = from + lane, list = list_of_entry(lists, from, current, begins);
            const bool here = e < entries;
            const u32 name = here ? lists.names[list] : 0, kind = list_in_tile(name),
                      cls = class_of_list(name), t = tile_of_list(name);
            const i32 at = here ? e - lists.starts[list] : 0, start = list_start(kind);
            const bool listed = here && !is_dense(name);
            // The position of an entry of a sparse list is not known yet, nor therefore whether it has a
            // symbol.
            const i32 position = listed ? start : start + at;
            bool active = here;
            if (here && !listed && masked >> t & 1)
                active = is_active(job, shared.rows, batch, t, masked, position);
            const u32 flags = (listed ? PLAN_LISTED : 0) | (position == 0 ? PLAN_ANCHOR : 0);
            shared.plans[from >> 5 & 3][lane] =
                make_plan(flags, active ? table_in_list(kind, cls, position) : (u32)TABLES,
                    listed ? RUN + cls - 1 : (u32)TABLES);
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
                // The chunk before.
                const u32 where = before, slot = ~from >> 5 & 1, found = shared.found[slot][lane];
                const bool here = where & HERE, listed = where & LISTED;
                const u32 name = where >> 16, t = tile_of_list(name), symbol = symbol_found(found);
                i32 position = where >> 4 & 1023;
                // What comes first of a row of 32 positions clears it. Dense lists are complete, and rows
                // begin with them but in sparse ones.
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
                            wrong = !is_active(job, shared.rows, batch, t, masked, position);
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
                        exact += symbol == STORED;
                        const u64 low = shared.raw[slot][0][lane],
                                  high = sizeof(T) == 8 || found & FOUND_MORE ? shared.raw[slot][1][lane] : 0;
                        work.raw()[vertex] = Payload<T>::make(low, high);
                        if (has_digits(symbol, position) && symbol != STORED) {
                            const u32 own = raw_bits[symbol];
                            const u32 digits = (u32)(own == 0   ? low
                                                     : own < 64 ? low >> own | high << (64 - own)
                                                                : high);
                            // In the place of the anchor's value, which is made from it.
                            work.anchors()[batch + t].x = Real<T>::from_bits(digits);
                        }
                    }
                }
            }
            before = now;
            now = next;
            // The plan of the next chunk is there already, since the reader asks for it before it needs it.
            if (from + 64 < entries) next = plan(from + 64);
            meet<DECODE_ROLES>(number);
        }
        if (exists) work.steps()[batch + lane] = shared.steps[lane];
    }
    return bad;
}

// Grid: any. Block: 32 * DECODE_WARPS, one or two warps for a group at a time. Dynamic shared: DecodeShared.
// Symbols, payloads, masks and info of the tiles of streams with this coder; nothing for others. Symbols of a
// step of 32 positions are written only where one of them is in a list: the steps of the tile say which.
template <typename T, bool HUFFMAN>
__device__ __forceinline__ void decode_groups(const Job& job) {
    LAUNCHED_SHARED(DecodeShared<HUFFMAN>, shared);
    Control& control = control_of(job);
    const u32 predictor = control.predictor, all_groups = (u32)control.groups;
    // Others may set the status meanwhile: all threads of a block have to go on, or none.
    if (warp_or(__syncthreads_or(
            !is_coded(control) | (control.coder ^ (HUFFMAN ? CODER_HUFFMAN : CODER_ANS)) != 0)))
        return;
    // The same for all lanes, as the compiler has to know, here and where a warp's way is decided below:
    // otherwise it surrounds each vote with code for lanes that are apart. (There is no memory for 2^32
    // tiles.)
    const bool lorenzo = warp_or(predictor == PREDICTOR_LORENZO);
    const u32 groups = warp_or(all_groups);
    if (blockIdx.x >= groups) return;
    if constexpr (!HUFFMAN) copy_decode_tables<32 * DECODE_WARPS>(job, shared.tables);
    for (u32 k = threadIdx.x; k < 2 * ALPHABET; k += blockDim.x) {
        const u32 symbol = k % ALPHABET, anchor = k / ALPHABET;
        // Digits follow all codes of the Lorenzo predictor, as they do those of an anchor.
        // What is no symbol is taken for a stored value.
        shared.tables.raw_bits[anchor][symbol] =
            symbol == ESCAPE
                ? (u8)ESCAPE_BITS
                : (u8)raw_bits(symbol < STORED ? symbol : STORED, lorenzo || anchor ? 0 : 1, sizeof(T));
    }
    if (!HUFFMAN) {
        // The tables of modes and classes, of which every batch asks: where the search begins, and their few
        // entries.
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
    // Warps of one kind are on all schedulers.
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

// Beside the check of the stream, which begins when the stream is open: nobody reads what opens it, or the
// control block, before that is complete.
template <typename T, bool HUFFMAN>
__device__ __forceinline__ void decode(const Job& job) {
    decode_groups<T, HUFFMAN>(job);
    end_beside();
}
