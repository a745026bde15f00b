// Codes few groups of the hierarchical predictor, each by a team of warps.
#pragma once
#include "compress/encode/encode_lists.cuh"
#include "compress/encode/encode_end.cuh"

// Five warps share a group: one codes its chunks, which is strictly sequential, and four prepare chunks in
// turn. Data is loaded a step before it is used; a step covers one chunk of each preparing warp. With four
// groups per block the coding warps sit on different schedulers, but not all devices have the shared memory.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#define GROUPS_OF_BLOCK ENCODE_GROUPS_SMALL
#else
#define GROUPS_OF_BLOCK ENCODE_GROUPS_LARGE
#endif
constexpr i32 ENCODE_GROUPS = GROUPS_OF_BLOCK, CODER = PREPARERS, ENCODE_WARPS = ENCODE_GROUPS * ENCODE_ROLES;

// Raw bits, coding entry and its reciprocal, per lane. Runs keep their symbol in bits 8-15 of the raw word.
struct Item {
    u32 raw[32], entry[32], reciprocal[32];
};

// A prepared chunk. pieces: raw bits that are coded before those of the symbols' items.
struct Chunk {
    Item symbols, runs;
    u32 pieces[MOST_PIECES][32];
};
// Kind of a chunk: number of pieces, whether it has runs, whether a run escapes.
constexpr u32 KIND_PIECES = 15, KIND_RUNS = 16, KIND_RUN_ESCAPES = 32;

constexpr u32 MASK_TABLE = VERTEX_TABLES, ABOUT_MASK = ABOUT_RUNS | MASK_TABLE << ABOUT_TABLE_AT;

// Lists of masks.
struct MaskLists {
    u16 starts[2 * BATCH + 32], names[2 * BATCH];
};

// Sizes of a batch.
struct BatchSize {
    i32 lists, entries, chunks, mask_entries;
};

// Shared state of the warps of a group. A barrier between steps keeps writes from data still being read.
struct EncodeGroup {
    u64 first, end;  // tiles
    BatchSize size;
    u64 symbols, slots;  // addresses for the batch
    EncodeLists lists;
    MaskLists mask_lists;
    u16 mask_entries[PREPARERS][32];  // of a chunk, private to each warp
    Chunk chunks[2][PREPARERS];       // by step and warp
    u8 kinds[2][PREPARERS];
};
static_assert(PREPARERS == 4 && ENCODE_ROLES == PREPARERS + 1, "the kinds of a step are a word");

struct EncodeTeams {
    u32 entries[SHARED_ENTRIES];
    EncodeGroup groups[ENCODE_GROUPS];
};

// Steps between the first load for a chunk and its coding.
constexpr i32 ENCODE_STEPS = 3;

// The entries of masks in a chunk.
__device__ __forceinline__ void fill_mask_chunk(
    const Job& job, const MaskLists& lists, u16* entries, u64 batch, i32 from) {
    const i32 lane = threadIdx.x & 31;
    // NO_LIST follows the last list.
    i32 list = __popc(__ballot_sync(FULL, lists.starts[lane] < from + 32)) +
               __popc(__ballot_sync(
                   FULL, lists.starts[BATCH + lane] < from + 32 && lists.starts[BATCH - 1] != NO_LIST)),
        start;
    do {
        start = lists.starts[--list];
        entries_of_mask(job, batch, lists.names[list], [&](i32 number, u16 entry) {
            const u32 place = (u32)(start + number - from);
            if (place < 32) entries[place] = entry;
        });
    } while (start > from);
}

// Collects the lists of a batch.
template <typename T>
__device__ __forceinline__ void open_batch(
    const Job& job, EncodeGroup& shared, i32 role, u64 batch, u64 end) {
    const EncodeView work(job);
    const i32 lane = threadIdx.x & 31;
    const bool exists = batch + lane < end;
    if (role == 0) {
        const CodeTile tile(job, batch + lane, exists);
        BatchSize size;
        size.entries = collect_lists(tile, shared.lists, size.lists);
        size.chunks = (size.entries + 31) / 32;
        size.mask_entries = (i32)warp_sum(entries_of_size(tile.masks[0]) + entries_of_size(tile.masks[1]));
        shared.size = size;
        if (lane == 0) {
            shared.symbols = reinterpret_cast<u64>(work.symbols() + batch * TILE_VERTICES);
            shared.slots =
                reinterpret_cast<u64>(work.slots() + batch * SLOT_BYTES<T, PREDICTOR_HIERARCHICAL>);
        }
    } else if (role == PREPARERS - 1) {
        const u32 states = mask_state_in(exists ? work.headers()[batch + lane] : 0);
        if (!__any_sync(FULL, has_mask_list(states, 0) || has_mask_list(states, 1))) return;
        const CodeTile tile(job, batch + lane, exists);
        i32 entries;
        concatenate_masks(shared.mask_lists, tile.masks, entries);
    }
}

// Prepares chunks in steps: loads words, loads payload, and hands them to the coder.
template <typename T, bool HUFFMAN>
struct ChunkPreparer {
    typedef Encoder<HUFFMAN> E;
    static constexpr u32 SLOT = SLOT_BYTES<T, PREDICTOR_HIERARCHICAL>;
    const Job& job;
    const u32* const entries;
    const u16* const raw_sizes;
    EncodeGroup& shared;
    const i32 role;
    const u64 batch;
    const i32 lane;
    const u64 symbols, slots;
    const i32 last_entry;
    // A window of list starts, a lane each, the last list first; and the first entry of the next chunk.
    i32 window, start, from;
    // State of the chunk whose payload is being loaded, and of the one whose words are.
    u32 about, word, next_about, next_word, next_symbol;
    u64 low;

    // The words have arrived: loads the payload, if there may be some.
    __device__ __forceinline__ void load_payload(bool may_have) {
        const bool listed = next_about & ABOUT_RUNS;
        const u32 place = listed ? with_position(next_about, (u32)position_of_entry(next_word)) : next_about;
        about = with_symbol_of(place, listed ? next_word : next_symbol);
        word = next_word;
        // The payload of stored vertices is read from the field.
        load_if(may_have && may_have_raw_bits(about) && symbol_in(about) != STORED,
            slots + SLOT_ENTRY_BYTES + (tile_in(about) * SLOT + (u32)sizeof(u64) * position_in(about)), low);
    }

    // Loads the words of a chunk of lists.
    __device__ __forceinline__ void load_words() {
        const EncodeLists& lists = shared.lists;
        // Lists that start after the chunk, and after its first entry. Move the window until it covers them.
        u32 behind, later;
        while (behind = __ballot_sync(FULL, start >= from + 32), later = __ballot_sync(FULL, start > from),
            later == FULL) {
            window -= __popc(behind);
            start = window >= lane ? lists.starts[window - lane] : -1;
        }
        i32 list = window - __popc(behind);
        if (later != behind)
            list -=
                __popc(warp_or(start > from && start < from + 32 ? 1u << (start - from) : 0) >> lane >> 1);
        const i32 e = from + lane;
        const bool exists = e <= last_entry;
        // Lanes without an entry use the last one's address.
        const u32 here = lists.names[list] + (exists ? e : last_entry);
        const bool listed = here & ABOUT_RUNS;
        u64 at = symbols + (here & ABOUT_PLACE);
        if (__any_sync(FULL, listed) && listed)
            at = slots + (tile_in(here) * SLOT + place_of_entry<T>(position_in(here)));
        next_symbol = NO_SYMBOL;
        load_word_or_byte(at, exists && listed, exists && !listed, next_word, next_symbol);
        next_about = exists ? here : ABOUT_NOTHING;
        from -= 32 * PREPARERS;
    }

    // Makes the words of a chunk of masks, whose first entry of `count` is `from`.
    __device__ __forceinline__ void make_mask_words(i32 from, i32 count) {
        fill_mask_chunk(job, shared.mask_lists, shared.mask_entries[role], batch, from);
        const bool exists = from + lane < count;
        const u32 entry = exists ? shared.mask_entries[role][lane] : 0;
        next_word = make_entry(entry & 255, 1, encode_run(entry >> 8));
        next_symbol = NO_SYMBOL;
        next_about = exists ? ABOUT_MASK : ABOUT_NOTHING;
    }

    // Hands a chunk to the coder; returns its kind. `masks`: of masks, which have no raw bits.
    __device__ __forceinline__ u32 hand_over(
        Chunk& chunk, bool masks, u32 found, u32 found_word, u64 found_low) {
        const u32 symbol = symbol_in(found), entry = entries[code_table_in(found) * CODE_SYMBOLS + symbol];
        u32 sizes = raw_sizes[symbol];
        if (masks) sizes = 0;
        u32 bits = sizes & (SPECIAL - 1);
        u64 high = 0;
        // OR over the lanes: raw bit sizes, runs, entry flags; SPECIAL if an entry must be looked at.
        const u32 mine = kind_of(sizes, found, entry) | (position_in(found) == 0 ? SPECIAL : 0);
        u32 kind = warp_or(mine);
        if (kind & SPECIAL) {
            const bool special = (sizes & SPECIAL) ||
                                 (symbol < STORED && has_refinement_bits(symbol, (i32)position_in(found)));
            if (special) {
                const RawBits r = raw_of<T>(job, batch + tile_in(found), (i32)position_in(found), symbol);
                bits = r.bits;
                found_low = r.low;
                high = r.high;
            }
            kind |= warp_or(special ? sixteens(bits) : 0);
        }
        u32 raw = raw_word((u32)found_low, bits < 16 ? bits : 16);
        u32 pieces = highest_bit((kind & 0xff00) | 256) - 8, place = 0;
        if (kind & ENTRY_ESCAPES << 16) {
            chunk.pieces[0][lane] = raw;
            raw = entry & ENTRY_ESCAPES ? raw_word(symbol, 8) : 0;
            pieces++;
            place = 1;
        }
#pragma unroll 1
        for (u32 at = 16; place < pieces; place++, at += 16) {
            const u32 n = bits > at ? bits - at < 16 ? bits - at : 16 : 0;
            chunk.pieces[place][lane] = raw_word((u32)(at < 64 ? found_low >> at : high >> (at - 64)), n);
        }
        chunk.symbols.raw[lane] = raw;
        chunk.symbols.entry[lane] = entry;
        chunk.symbols.reciprocal[lane] = E::reciprocal_of(entry);
        return kind & ABOUT_RUNS ? pieces | hand_over_runs(chunk, found, found_word) : pieces;
    }
    __device__ __forceinline__ u32 hand_over_runs(Chunk& chunk, u32 found, u32 found_word) {
        const u32 run = run_symbol_in(run_of_entry(found_word)), runs = runs_in(found);
        const u32 run_entry = runs ? entries[RUNS_PLACE + (runs - 1) * RUN_SYMBOLS + run] : E::NOTHING;
        chunk.runs.raw[lane] =
            runs ? raw_word(run_raw_in(run_of_entry(found_word)), run_bits(run)) | run << 8 : 0;
        chunk.runs.entry[lane] = run_entry;
        chunk.runs.reciprocal[lane] = E::reciprocal_of(run_entry);
        return __any_sync(FULL, run_entry & ENTRY_ESCAPES) ? KIND_RUNS | KIND_RUN_ESCAPES : KIND_RUNS;
    }
};

// Prepares every PREPARERS-th chunk, from the last one on; chunks of masks come after those of symbols, thus
// first.
template <typename T, bool HUFFMAN>
__device__ __forceinline__ void prepare_chunks(const Job& job, const u32* entries, const u16* raw_sizes,
    EncodeGroup& shared, i32 number, i32 role, u64 batch) {
    const i32 lane = threadIdx.x & 31;
    const i32 chunks = (i32)warp_or(shared.size.chunks),
              mask_entry_count = (i32)warp_or(shared.size.mask_entries);
    const i32 all_chunks = chunks + (mask_entry_count + 31) / 32,
              steps = (all_chunks + PREPARERS - 1) / PREPARERS;
    const i32 list_chunks = (chunks + PREPARERS - 1 - role) / PREPARERS,
              own_chunks = (all_chunks + PREPARERS - 1 - role) / PREPARERS;
    const i32 window = shared.size.lists - 1;
    // Addresses are loaded so that the compiler does not recompute them.
    ChunkPreparer<T, HUFFMAN> preparer = {job, entries, raw_sizes, shared, role, batch, lane,
        from_shared(&shared.symbols), from_shared(&shared.slots), shared.size.entries - 1, window,
        window >= lane ? shared.lists.starts[window - lane] : -1, 32 * (chunks - 1 - role),
        NO_SYMBOL << ABOUT_SYMBOL_AT | ABOUT_NOTHING, 0, ABOUT_NOTHING, 0, NO_SYMBOL, 0};
#pragma unroll 1
    for (i32 step = 0; step < steps + ENCODE_STEPS; step++) {
        // Use what the previous step loaded; start this step's loads first.
        const u32 found = preparer.about, found_word = preparer.word;
        const u64 found_low = preparer.low;
        preparer.load_payload(step <= list_chunks);
        if (step < list_chunks)
            preparer.load_words();
        else if (step < own_chunks)
            preparer.make_mask_words(32 * (all_chunks - 1 - PREPARERS * step - role), mask_entry_count);
        if (step >= 2 && step < own_chunks + 2)
            shared.kinds[step & 1][role] = (u8)preparer.hand_over(
                shared.chunks[step & 1][role], step >= list_chunks + 2, found, found_word, found_low);
        meet<ENCODE_ROLES>(number);
    }
}

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

// Loads coding tables to shared memory, without reciprocals, which are recomputed. Each warp takes some
// tables, in rows of 32 entries.
template <bool HUFFMAN>
__device__ __forceinline__ void load_team_tables(const Job& job, u32* entries, i32 warp) {
    constexpr i32 WARPS = ENCODE_GROUPS * PREPARERS, TABLES_EACH = ((i32)MASK_TABLE + WARPS - 1) / WARPS,
                  TABLE_ROWS = CODE_SYMBOLS / 32;
    constexpr i32 MASK_ROWS = ALPHABET / 32, OTHER_ROWS = MASK_ROWS + TABLES - RUN;
    static_assert(RUN_SYMBOLS == 32 && CODE_SYMBOLS % 32 == 0 && MASK_TABLE % TABLES_EACH == 0,
        "tables are whole rows");
    const i32 lane = threadIdx.x & 31;
    const uint2* const from = code_entries(job, MASK_BYTE) + lane;
    if (TABLES_EACH * warp < (i32)MASK_TABLE) {
        const uint2* const codes = from + ((ANCHOR_TABLE - MASK_BYTE) + TABLES_EACH * warp) * ALPHABET;
        u32* const to = entries + TABLES_EACH * warp * CODE_SYMBOLS + lane;
#pragma unroll
        for (i32 row = 0; row < TABLES_EACH * TABLE_ROWS; row++)
            copy_ahead<4>(to + 32 * row, &codes[row / TABLE_ROWS * ALPHABET + row % TABLE_ROWS * 32].x);
    }
#pragma unroll
    for (i32 i = 0; i < (OTHER_ROWS + WARPS - 1) / WARPS; i++) {
        const i32 row = WARPS * i + warp;
        if (row < OTHER_ROWS)
            copy_ahead<4>(entries + MASK_BYTES_PLACE + 32 * row + lane,
                &from[row < MASK_ROWS ? 32 * row : ((RUN - MASK_BYTE) + row - MASK_ROWS) * ALPHABET].x);
    }
    end_of_copies();
    wait_for_copies<0>();
    // NO_SYMBOL is not coded. Written by the lane that loaded its place.
    if (lane != NO_SYMBOL % 32 || TABLES_EACH * warp >= (i32)MASK_TABLE) return;
#pragma unroll
    for (i32 table = 0; table < TABLES_EACH; table++)
        entries[(TABLES_EACH * warp + table) * CODE_SYMBOLS + NO_SYMBOL] = Encoder<HUFFMAN>::NOTHING;
}

// Codes the groups of the stream. Call with a block.
template <typename T, bool HUFFMAN>
__device__ __forceinline__ void encode_by_teams(
    const Job& job, EncodeTeams& shared, const u16* raw_sizes, u32 groups, u32 group_weight) {
    constexpr u64 SLOT = SLOT_BYTES<T, PREDICTOR_HIERARCHICAL>;
    // warp_or: uniform, so that votes need no code for divergent lanes.
    const i32 lane = threadIdx.x & 31, warp = (i32)warp_or(threadIdx.x >> 5), number = warp / ENCODE_ROLES,
              role = warp % ENCODE_ROLES;
    EncodeGroup& mine = shared.groups[number];
    // Consecutive groups go to different blocks.
    u32 group = blockIdx.x + gridDim.x * number;
    auto find_group = [&] {
        const u64 boundary = first_tile_of<4>(job, group_weight, group);
        if ((lane & 15) == 0) (&mine.first)[lane / 16] = boundary;
    };
    // Warp 0 of each group finds its tiles, the others load the tables.
    if (role > 0) {
        load_team_tables<HUFFMAN>(job, shared.entries, number * PREPARERS + role - 1);
    } else if (group < groups) {
        find_group();
    }
    __syncthreads();
    while (group < groups) {
        const u64 first = mine.first, end = mine.end;
        Encoder<HUFFMAN> encoder(EncodeView(job).slots() + end * SLOT);
        for (u64 batch = first + ((end - first - 1) & ~31ull);; batch -= BATCH) {
            if (role == CODER) {
                const bool exists = batch + lane < end;
                const CodeTile tile(job, batch + lane, exists);
                const Heads heads = find_heads<HUFFMAN>(job, tile, exists);
                meet<ENCODE_ROLES>(number);
                code_chunks(mine, number, encoder);
                // Meanwhile the other warps collect the next batch.
                code_sizes(encoder, tile);
                code_heads(heads, encoder);
            } else {
                open_batch<T>(job, mine, role, batch, end);
                meet<ENCODE_ROLES>(number);
                prepare_chunks<T, HUFFMAN>(job, shared.entries, raw_sizes, mine, number, role, batch);
            }
            if (batch == first) break;
        }
        if (role == CODER) {
            code_outer_anchors(job, encoder, first, end);
            end_group<SLOT>(job, encoder, groups, group, first, end);
        }
        group += gridDim.x * ENCODE_GROUPS;
        if (group >= groups) return;
        if (role == 0) find_group();
        meet<ENCODE_ROLES>(number);
    }
}
