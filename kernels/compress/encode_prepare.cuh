// Prepares the chunks of a group of the hierarchical predictor for coding: collects the lists of a batch,
// loads symbols and raw bits.
#pragma once
#include "compress/coding_tables.cuh"
#include "compress/count.cuh"
#include "entropy/groups/masks.cuh"

// Five warps share a group: one codes its chunks, which is strictly sequential, and four prepare chunks in
// turn. Data is loaded a step before it is used; a step covers one chunk of each preparing warp. With four
// groups per block the coding warps sit on different schedulers, but not all devices have the shared memory.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#define GROUPS_OF_BLOCK ENCODE_GROUPS_SMALL
#else
#define GROUPS_OF_BLOCK ENCODE_GROUPS_LARGE
#endif
constexpr i32 ENCODE_GROUPS = GROUPS_OF_BLOCK, PREPARERS = 4, CODER = PREPARERS,
              ENCODE_WARPS = ENCODE_GROUPS * ENCODE_ROLES;

// Raw bits, coding entry and its reciprocal, per lane. Runs keep their symbol in bits 8-15 of the raw word.
struct Item {
    u32 raw[32], entry[32], reciprocal[32];
};

// A prepared chunk. pieces: raw bits that are coded before those of the symbols' items.
constexpr u32 MOST_PIECES = 8;
struct Chunk {
    Item symbols, runs;
    u32 pieces[MOST_PIECES][32];
};
// Kind of a chunk: number of pieces, whether it has runs, whether a run escapes.
constexpr u32 KIND_PIECES = 15, KIND_RUNS = 16, KIND_RUN_ESCAPES = 32;

// Description of a lane's entry. Bits 0-9 position, 10-14 tile, 16-18 run table (activity of a sparse list,
// or mask), 19-23 symbol table, 24-31 symbol once known. As the name of a list: its start, minus the number
// of its first entry in the batch.
constexpr u32 ABOUT_PLACE = 0x7fff, ABOUT_RUNS = 7 << 16;
constexpr u32 MASK_TABLE = RUN - ANCHOR_TABLE, ABOUT_MASK = ABOUT_RUNS | MASK_TABLE << 19;
// A lane without an entry, with a position that is not an anchor's.
constexpr u32 ABOUT_NOTHING = 1;
static_assert(TILE_VERTICES == 1024 && BATCH == 32 && MASK_RUN - RUN + 1 == 7, "bits 10 to 14, and 16 to 18");
__device__ __forceinline__ u32 position_in(u32 about) { return about & 1023; }
__device__ __forceinline__ u32 tile_in(u32 about) { return about >> 10 & 31; }
__device__ __forceinline__ u32 runs_in(u32 about) { return about >> 16 & 7; }
__device__ __forceinline__ u32 code_table_in(u32 about) { return about >> 19 & 31; }
__device__ __forceinline__ u32 symbol_in(u32 about) { return about >> 24; }

// Lists of a batch with the descriptions of their entries. The top list is split into three, one per table.
constexpr u32 TOP_LISTS = 3, ENCODE_LISTS = TOP_LISTS + TILE_LISTS - 1;
struct EncodeLists {
    u16 starts[ENCODE_LISTS * BATCH + 32];
    u32 names[ENCODE_LISTS * BATCH];
};

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
    u32 groups, weight;  // of the stream; weight of a group at most
};
static_assert(PREPARERS == 4 && ENCODE_ROLES == PREPARERS + 1, "the kinds of a step are a word");

// Coding tables in shared memory, trimmed to the symbols that exist: vertex codes, mask blocks, runs.
constexpr u32 RUNS_PLACE = MASK_TABLE * CODE_SYMBOLS + ALPHABET,
              SHARED_ENTRIES = RUNS_PLACE + (TABLES - RUN) * RUN_SYMBOLS;
static_assert(FIRST_SHARED_TABLE == MASK_BYTE && ANCHOR_TABLE == MASK_BYTE + 1, "in this order");
struct EncodeShared {
    u32 entries[SHARED_ENTRIES];
    // By symbol: raw bits, SPECIAL, and from bit 8 on the bit given by sixteens.
    u16 raw_bits[ALPHABET];
    EncodeGroup groups[ENCODE_GROUPS];
};
static_assert(sizeof(EncodeShared) ==
                  (ENCODE_GROUPS == ENCODE_GROUPS_LARGE ? ENCODE_SHARED_BYTES : ENCODE_SMALL_SHARED_BYTES),
    "the launch asks for as much");
// Marks symbols whose raw bits are not in the payload: stored values, and differences that may not fit.
constexpr u32 SPECIAL = 128;
template <typename T>
__device__ __forceinline__ bool is_special(u32 symbol) {
    return symbol == STORED || (sizeof(T) == 8 && symbol - FIRST_DIFFERENCE < DIFFERENCES);
}
// A bit that grows with the number of 16-bit pieces; the OR over lanes gives the maximum.
__device__ __forceinline__ u32 sixteens(u32 bits) { return 128u << (bits + 15) / 16 & 0xff00; }

// Raw bits of a vertex, at most 128.
struct RawBits {
    u64 low, high;
    u32 bits;
    __device__ __forceinline__ u32 piece(u32 at) const {
        return (u32)((at < 64 ? low >> at : high >> (at - 64)) & 0xffff);
    }
};

// Raw bits of stored values and anchors.
template <typename T>
__device__ __noinline__ RawBits raw_of(const Job& job, u64 index, i32 position, u32 symbol) {
    const EncodeView work(job);
    const u64* const payload = QuantizeView<T>(job).payload(index);
    RawBits r = {0, 0, raw_bits(symbol, position, sizeof(T))};
    if (symbol >= STORED) {
        const TileShape shape = tile_shape(job, index);
        i32 x, y;
        place_of(position, x, y);
        const T u = *vertex_at<T>(job.u, job.u_layout, shape.x0 + x, shape.y0 + y);
        const T v = *vertex_at<T>(job.v, job.v_layout, shape.x0 + x, shape.y0 + y);
        const u64 a = Real<T>::bits(u), b = Real<T>::bits(v);
        if (symbol != STORED) {
            const u64 heads = payload[position];
            Differences<T>(u, v, (u32)heads, (u32)(heads >> 32)).raw(symbol, r.low, r.high);
        } else if (sizeof(T) == 4) {
            r.low = a | b << 32;
        } else {
            r.low = a;
            r.high = b;
        }
    } else if (r.bits) {
        const u32 own = symbol_raw_bits(symbol);
        if (own) r.low = payload[position];
        if (r.bits > own) {
            const u64 refinement_bits = (u32)work.anchor_codes()[index * 4 + 3];
            r.low |= own < 64 ? refinement_bits << own : 0;
            r.high = own == 0 ? 0 : own < 64 ? refinement_bits >> (64 - own) : refinement_bits;
        }
    }
    return r;
}

// Sizes of the lists of the lane's tile.
struct CodeTile {
    u32 info, counts[3], masks[2];
    bool coded;
    __device__ __forceinline__ CodeTile(const Job& job, u64 tile, bool exists) {
        info = exists ? TileView(job).headers()[tile] : 0;
        // Loaded together with the info word, not after it.
        const uint4 sizes =
            exists ? *reinterpret_cast<const uint4*>(&sizes_of(job, tile)) : make_uint4(0, 0, 0, 0);
        const u32 of_blocks[3] = {sizes.x & 0xffff, sizes.x >> 16, sizes.y & 0xffff},
                  of_masks[2] = {sizes.y >> 16, sizes.z & 0xffff};
        coded = exists && CODED_STATES >> mask_state_in(info) & 1;
#pragma unroll
        for (i32 k = 0; k < 3; k++) counts[k] = is_sparse(activity_in(info, k)) ? of_blocks[k] : 0;
#pragma unroll
        for (i32 k = 0; k < 2; k++) masks[k] = has_mask_list(mask_state_in(info), k) ? of_masks[k] : 0;
    }
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
        u32 sizes[ENCODE_LISTS], names[ENCODE_LISTS];
        const bool has_top = tile.coded && activity_in(tile.info, 0);
#pragma unroll
        for (u32 k = 0; k < ENCODE_LISTS; k++) {
            // Top lists start at positions 0, 1 and 4.
            const u32 list = k < TOP_LISTS ? TOP_LIST : k - TOP_LISTS + 1,
                      activity = activity_in(tile.info, list == TOP_LIST ? 0 : (i32)list - 1);
            const u32 start = k < TOP_LISTS ? k * k : (u32)list_start(list),
                      end = k + 1 < TOP_LISTS ? (k + 1) * (k + 1) : (u32)list_end(list);
            const bool sparse = list != TOP_LIST && is_sparse(activity);
            const u32 table = list == TOP_LIST ? k : table_in_list(list, activity, 0) - ANCHOR_TABLE;
            sizes[k] = (list == TOP_LIST ? has_top : tile.coded && activity)
                           ? (sparse ? tile.counts[list - 1] : end - start)
                           : 0;
            names[k] = (sparse ? first_entry(list) : start) | lane << 10 | (sparse ? activity << 16 : 0) |
                       table << 19;
        }
        BatchSize size;
        concatenate_lists<ENCODE_LISTS, true>(shared.lists, sizes, names, size.lists, size.entries);
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

// Prepares every PREPARERS-th chunk, from the last one on; chunks of masks come after those of symbols, thus
// first.
template <typename T, bool HUFFMAN>
__device__ __forceinline__ void prepare_chunks(
    const Job& job, const EncodeShared& all, EncodeGroup& shared, i32 number, i32 role, u64 batch, u64 end) {
    typedef Encoder<HUFFMAN> E;
    constexpr u32 SLOT = SLOT_BYTES<T, PREDICTOR_HIERARCHICAL>;
    const i32 lane = threadIdx.x & 31;
    const EncodeLists& lists = shared.lists;
    const i32 last_entry = shared.size.entries - 1, chunks = (i32)warp_or(shared.size.chunks),
              mask_entry_count = (i32)warp_or(shared.size.mask_entries);
    const i32 all_chunks = chunks + (mask_entry_count + 31) / 32,
              steps = (all_chunks + PREPARERS - 1) / PREPARERS;
    const i32 list_chunks = (chunks + PREPARERS - 1 - role) / PREPARERS,
              own_chunks = (all_chunks + PREPARERS - 1 - role) / PREPARERS;
    // Loaded so that the compiler does not recompute them.
    const u64 symbols = from_shared(&shared.symbols), slots = from_shared(&shared.slots);
    // A window of list starts, a lane each, the last list first; and the first entry of the next chunk.
    i32 window = shared.size.lists - 1, start = window >= lane ? lists.starts[window - lane] : -1,
        from = 32 * (chunks - 1 - role);
    // State of the chunk whose payload is being loaded, and of the one whose words are.
    u32 about = NO_SYMBOL << 24 | ABOUT_NOTHING, word = 0, next_about = ABOUT_NOTHING, next_word = 0,
        next_symbol = NO_SYMBOL;
    u64 low = 0;
#pragma unroll 1
    for (i32 step = 0; step < steps + ENCODE_STEPS; step++) {
        // Use what the previous step loaded; start this step's loads first.
        const u32 found = about, found_word = word;
        u64 found_low = low;
        // The words have arrived: load the payload.
        {
            const bool listed = next_about & ABOUT_RUNS;
            const u32 place = listed ? (next_about & ~1023u) | (u32)position_of_entry(next_word) : next_about;
            about = __byte_perm(place, listed ? next_word : next_symbol, 0x4210);
            word = next_word;
            // The payload of stored vertices is read from the field.
            load_if(step <= list_chunks &&
                        about - (FIRST_WITH_RAW_BITS << 24) < (SYMBOLS - FIRST_WITH_RAW_BITS) << 24 &&
                        about >> 24 != STORED,
                slots + SLOT_ENTRY_BYTES + (tile_in(about) * SLOT + (u32)sizeof(u64) * position_in(about)),
                low);
        }
        if (step < list_chunks) {
            // Lists that start after the chunk, and after its first entry. Move the window until it covers
            // them.
            u32 behind, later;
            while (behind = __ballot_sync(FULL, start >= from + 32),
                later = __ballot_sync(FULL, start > from), later == FULL) {
                window -= __popc(behind);
                start = window >= lane ? lists.starts[window - lane] : -1;
            }
            i32 list = window - __popc(behind);
            if (later != behind)
                list -= __popc(
                    warp_or(start > from && start < from + 32 ? 1u << (start - from) : 0) >> lane >> 1);
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
        } else if (step < own_chunks) {
            const i32 from = 32 * (all_chunks - 1 - PREPARERS * step - role);
            fill_mask_chunk(job, shared.mask_lists, shared.mask_entries[role], batch, from);
            const bool exists = from + lane < mask_entry_count;
            const u32 entry = exists ? shared.mask_entries[role][lane] : 0;
            next_word = make_entry(entry & 255, 1, encode_run(entry >> 8));
            next_symbol = NO_SYMBOL;
            next_about = exists ? ABOUT_MASK : ABOUT_NOTHING;
        }
        if (step >= 2 && step < own_chunks + 2) {
            Chunk& chunk = shared.chunks[step & 1][role];
            const u32 symbol = symbol_in(found),
                      entry = all.entries[code_table_in(found) * CODE_SYMBOLS + symbol];
            u32 sizes = all.raw_bits[symbol];
            // Entries of masks have none.
            if (step >= list_chunks + 2) sizes = 0;
            u32 bits = sizes & (SPECIAL - 1);
            u64 high = 0;
            // OR over the lanes: raw bit sizes, runs, entry flags; SPECIAL if an entry must be looked at.
            const u32 mine = __byte_perm(__byte_perm(sizes, found, 0x0610), entry, 0x5210) |
                             (position_in(found) == 0 ? SPECIAL : 0);
            u32 kind = warp_or(mine);
            if (kind & SPECIAL) {
                const bool special = (sizes & SPECIAL) || (symbol < STORED && has_refinement_bits(symbol,
                                                                                  (i32)position_in(found)));
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
            if (kind & ABOUT_RUNS) {
                const u32 run = run_symbol_of_entry(found_word), runs = runs_in(found);
                const u32 run_entry =
                    runs ? all.entries[RUNS_PLACE + (runs - 1) * RUN_SYMBOLS + run] : E::NOTHING;
                chunk.runs.raw[lane] =
                    runs ? raw_word(run_raw_of_entry(found_word), run_bits(run)) | run << 8 : 0;
                chunk.runs.entry[lane] = run_entry;
                chunk.runs.reciprocal[lane] = E::reciprocal_of(run_entry);
                pieces |= KIND_RUNS;
                if (__any_sync(FULL, run_entry & ENTRY_ESCAPES)) pieces |= KIND_RUN_ESCAPES;
            }
            shared.kinds[step & 1][role] = (u8)pieces;
        }
        meet<ENCODE_ROLES>(number);
    }
}
