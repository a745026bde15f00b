// Lists of a batch of tiles of the hierarchical predictor, and their coding by a warp. Twin of encode_lists
// in src/entropy/groups/encode.rs.
#pragma once
#include "compress/count/count.cuh"
#include "compress/tables/coding_tables.cuh"
#include "entropy/differences.cuh"
#include "entropy/symbols.cuh"
#include "grid/field.cuh"

// Description of a lane's entry. Bits 0-9 position, 10-14 tile, 15 its symbol is a byte (of a dense list),
// 16-18 run table (activity of a sparse list), 19-23 symbol table, 24-31 symbol once known. As the name of a
// list: its start, minus the number of its first entry in the batch.
constexpr u32 ABOUT_PLACE = 0x7fff, ABOUT_DENSE = 1 << 15, ABOUT_RUNS = 7 << 16, ABOUT_TABLE_AT = 19,
              ABOUT_SYMBOL_AT = 24;
static_assert(TILE_VERTICES == 1024 && BATCH == 32 && LAST_LIST_ACTIVITY < 8, "bits 10 to 14, and 16 to 18");
__device__ __forceinline__ u32 position_in(u32 about) { return about & (TILE_VERTICES - 1); }
__device__ __forceinline__ u32 tile_in(u32 about) { return about >> 10 & (BATCH - 1); }
__device__ __forceinline__ u32 runs_in(u32 about) { return about >> 16 & 7; }
__device__ __forceinline__ u32 code_table_in(u32 about) { return about >> ABOUT_TABLE_AT & 31; }
__device__ __forceinline__ u32 symbol_in(u32 about) { return about >> ABOUT_SYMBOL_AT; }
__device__ __forceinline__ u32 with_position(u32 about, u32 position) {
    return (about & ~(u32)(TILE_VERTICES - 1)) | position;
}
// With the lowest byte of a word as symbol: that of an entry, or a symbol.
__device__ __forceinline__ u32 with_symbol_of(u32 about, u32 word) {
    constexpr u32 BYTES_0_TO_2_THEN_0_OF_WORD = 0x4210;
    return __byte_perm(about, word, BYTES_0_TO_2_THEN_0_OF_WORD);
}
// True if raw bits may follow the symbol.
__device__ __forceinline__ bool may_have_raw_bits(u32 about) {
    return about - (FIRST_WITH_RAW_BITS << ABOUT_SYMBOL_AT) < (SYMBOLS - FIRST_WITH_RAW_BITS)
                                                                  << ABOUT_SYMBOL_AT;
}
// A lane without an entry, with a position that is not an anchor's.
constexpr u32 ABOUT_NOTHING = 1;

// Lists of a batch with the descriptions of their entries. The top list is split into three, one per table.
// Behind the last list comes one of lanes without an entry.
constexpr u32 TOP_LISTS = 3, ENCODE_LISTS = TOP_LISTS + TILE_LISTS - 1;
struct EncodeLists {
    u16 starts[ENCODE_LISTS * BATCH + 32];
    u32 names[ENCODE_LISTS * BATCH + 1];
    u32 begins[32];  // of a chunk each; bit e: entry e begins a list
};

// Coding tables in shared memory, trimmed to the symbols that exist: vertex codes, mask blocks, runs.
constexpr u32 VERTEX_TABLES = RUN - ANCHOR_TABLE, MASK_BYTES_PLACE = VERTEX_TABLES * CODE_SYMBOLS,
              RUNS_PLACE = MASK_BYTES_PLACE + ALPHABET,
              SHARED_ENTRIES = RUNS_PLACE + (TABLES - RUN) * RUN_SYMBOLS;
static_assert(FIRST_SHARED_TABLE == MASK_BYTE && ANCHOR_TABLE == MASK_BYTE + 1, "in this order");
// Marks symbols whose raw bits are not in the payload: stored values, and differences that may not fit.
constexpr u32 SPECIAL = 128;
template <typename T>
__device__ __forceinline__ bool is_special(u32 symbol) {
    return symbol == STORED || (sizeof(T) == 8 && symbol - FIRST_DIFFERENCE < DIFFERENCES);
}
// A bit that grows with the number of 16-bit pieces; the OR over lanes gives the maximum.
__device__ __forceinline__ u32 sixteens(u32 bits) { return 128u << (bits + 15) / 16 & 0xff00; }
// By symbol: raw bits, SPECIAL, and from bit 8 on the bit given by sixteens. Call with a block.
template <typename T>
__device__ __forceinline__ void fill_raw_sizes(u16* sizes) {
    for (u32 symbol = threadIdx.x; symbol < ALPHABET; symbol += blockDim.x) {
        const u32 bits = symbol < SYMBOLS ? raw_bits(symbol, 1, sizeof(T)) : 0;
        sizes[symbol] = (u16)(sixteens(bits) | bits | (is_special<T>(symbol) ? SPECIAL : 0));
    }
}

// Properties of a lane's entry that decide how its chunk is coded, for an OR over the lanes: in the lower
// half sizes of raw bits, in the highest byte flags of coding entries (ENTRY_ESCAPES << 16), in the byte
// below it ABOUT_RUNS.
__device__ __forceinline__ u32 kind_of(u32 sizes, u32 entry) {
    constexpr u32 SIZES_AND_FLAGS = 0x5010;
    return __byte_perm(sizes, entry, SIZES_AND_FLAGS);
}
__device__ __forceinline__ u32 kind_of(u32 sizes, u32 about, u32 entry) {
    constexpr u32 SIZES_AND_RUNS = 0x0610, THEN_FLAGS = 0x5210;
    return __byte_perm(__byte_perm(sizes, about, SIZES_AND_RUNS), entry, THEN_FLAGS);
}

// Raw bits of a vertex, at most 128.
struct RawBits {
    u64 low, high;
    u32 bits;
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

// Collects the lists of a batch. The number of entries.
__device__ __forceinline__ i32 collect_lists(const CodeTile& tile, EncodeLists& lists, i32& count) {
    const u32 lane = threadIdx.x & 31;
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
        names[k] = (sparse ? first_entry(list) : start) | lane << 10 |
                   (sparse ? activity << 16 : ABOUT_DENSE) | table << 19;
    }
    i32 entries;
    concatenate_lists<ENCODE_LISTS, true>(lists, sizes, names, count, entries);
    if (lane == 0) {
        lists.starts[count] = (u16)entries;
        lists.names[count] = ABOUT_NOTHING - entries;
    }
    __syncwarp();
    return entries;
}

// Finds the lists of the lanes' entries, chunk by chunk, the last one first.
class ListFinder {
    EncodeLists& lists;
    i32 list;    // of the last entry of the chunk
    u32 begins;  // of 32 chunks, a lane each, as in EncodeLists
    u32 above;   // mask of the lanes above this one

    // Finds where lists begin in the 32 chunks up to this one.
    __device__ __forceinline__ void load(i32 chunk) {
        const i32 lane = threadIdx.x & 31, first = 32 * (chunk & ~31);
        __syncwarp();
        lists.begins[lane] = 0;
        __syncwarp();
#pragma unroll 1
        for (i32 k = list - lane;; k -= 32) {
            const i32 start = k >= 0 ? lists.starts[k] : -1;
            const bool here = start >= first;
            if (here) atomicOr(&lists.begins[start / 32 & 31], 1u << (start & 31));
            if (!__all_sync(FULL, here)) break;
        }
        __syncwarp();
        begins = lists.begins[lane];
    }

public:
    __device__ __forceinline__ ListFinder(EncodeLists& lists, i32 count, i32 entries)
        : lists(lists), list(entries % 32 ? count : count - 1), above(~1u << (threadIdx.x & 31)) {
        if (entries > 0) load((entries - 1) / 32);
    }
    // The description of the lane's entry in a chunk.
    __device__ __forceinline__ u32 entry_in(i32 chunk) {
        const u32 here = __shfl_sync(FULL, begins, chunk & 31);
        const u32 about = lists.names[list - __popc(here & above)] + 32 * chunk + (threadIdx.x & 31);
        list -= __popc(here);
        if ((chunk & 31) == 0 && chunk > 0) load(chunk - 1);
        return about;
    }
};

// Codes the lists of a batch, by a warp. The symbols of a chunk, or the words of its list entries, are loaded
// two chunks ahead, its payload one chunk ahead.
template <typename T, bool HUFFMAN>
class ListCoder {
    static constexpr u32 SLOT = SLOT_BYTES<T, PREDICTOR_HIERARCHICAL>;
    // A lane's part of a chunk whose symbols are being loaded: a word of a list, or a symbol.
    struct Loading {
        u32 about = ABOUT_NOTHING, word = 0, symbol = NO_SYMBOL;
    };
    // Of a chunk whose payload is being loaded.
    struct Known {
        u32 about = NO_SYMBOL << ABOUT_SYMBOL_AT | ABOUT_NOTHING, run = 0;  // run: as an entry has it
        u32 has_raw = 0;  // not 0: some symbols of the chunk have raw bits
        u64 payload = 0;
    };
    const Job& job;
    const u16* const raw_sizes;  // by symbol
    Encoder<HUFFMAN>& encoder;
    const u64 batch;
    const u32 entries;         // address of the coding tables
    const u64 symbols, slots;  // addresses for the batch

    __device__ __forceinline__ void load_symbols(Loading& chunk, u32 about) const {
        chunk.about = about;
        chunk.symbol = NO_SYMBOL;
        const bool in_list = about & ABOUT_RUNS;
        u64 at = symbols + (about & ABOUT_PLACE);
        if (__any_sync(FULL, in_list) && in_list)
            at = slots + (tile_in(about) * SLOT + place_of_entry<T>(position_in(about)));
        load_word_or_byte(at, in_list, about & ABOUT_DENSE, chunk.word, chunk.symbol);
    }
    // The payload of stored vertices is read from the field.
    __device__ __forceinline__ void load_payload(Known& chunk, const Loading& loaded) const {
        const bool in_list = loaded.about & ABOUT_RUNS;
        const u32 place =
            in_list ? with_position(loaded.about, (u32)position_of_entry(loaded.word)) : loaded.about;
        const u32 about = with_symbol_of(place, in_list ? loaded.word : loaded.symbol);
        const bool raw = may_have_raw_bits(about);
        chunk.about = about;
        chunk.run = run_of_entry(loaded.word);
        chunk.has_raw = __any_sync(FULL, raw);
        if (chunk.has_raw)
            load_if(raw && symbol_in(about) != STORED,
                slots + SLOT_ENTRY_BYTES + (tile_in(about) * SLOT + (u32)sizeof(u64) * position_in(about)),
                chunk.payload);
    }
    // Codes raw bits but the first 16, or all if a symbol escapes.
    __device__ __forceinline__ void code_more_raw_bits(const RawBits& raw, u32 pieces, bool escapes) {
#pragma unroll 1
        for (u32 at = 16 * pieces - 16; at > 0; at -= 16) {
            const u32 n = raw.bits > at ? raw.bits - at < 16 ? raw.bits - at : 16 : 0;
            encoder.raw(raw_word((u32)(at < 64 ? raw.low >> at : raw.high >> (at - 64)), n));
        }
        if (escapes) encoder.raw(raw_word((u32)raw.low, raw.bits < 16 ? raw.bits : 16));
    }
    // Codes symbols of which some have raw bits.
    __device__ __forceinline__ void code_with_raw_bits(const Known& chunk, uint2 entry) {
        const u32 symbol = symbol_in(chunk.about), position = position_in(chunk.about),
                  sizes = raw_sizes[symbol];
        RawBits raw = {chunk.payload, 0, sizes & (SPECIAL - 1)};
        // OR over the lanes: sixteens, flags of the entry; SPECIAL if a symbol must be looked at.
        u32 kind = warp_or(kind_of(sizes, entry.x) | (position == 0 ? SPECIAL : 0));
        if (kind & SPECIAL) {
            const bool special =
                (sizes & SPECIAL) || (symbol < STORED && has_refinement_bits(symbol, (i32)position));
            if (special) raw = raw_of<T>(job, batch + tile_in(chunk.about), (i32)position, symbol);
            kind |= warp_or(special ? sixteens(raw.bits) : 0);
        }
        const bool escapes = kind & ENTRY_ESCAPES << 16;
        const u32 pieces = highest_bit((kind & 0xff00) | 256) - 7;
        if (pieces > 1 || escapes) code_more_raw_bits(raw, pieces, escapes);
        u32 first = raw_word((u32)raw.low, raw.bits < 16 ? raw.bits : 16);
        if (escapes) first = entry.x & ENTRY_ESCAPES ? raw_word(symbol, 8) : 0;
        encoder.code(first, entry.x, entry.y);
    }
    __device__ __forceinline__ void code_symbols(const Known& chunk) {
        const u32 symbol = symbol_in(chunk.about);
        const uint2 entry =
            shared_pair(entries + (u32)sizeof(uint2) * (code_table_in(chunk.about) * CODE_SYMBOLS + symbol));
        if (chunk.has_raw) return code_with_raw_bits(chunk, entry);
        if (__any_sync(FULL, entry.x & ENTRY_ESCAPES)) encoder.escape(entry.x, symbol);
        encoder.code(entry.x, entry.y);
    }
    __device__ __forceinline__ void code_runs(const Known& chunk) {
        const u32 run = run_symbol_in(chunk.run), runs = runs_in(chunk.about),
                  place = runs ? RUNS_PLACE + (runs - 1) * RUN_SYMBOLS + run : NO_SYMBOL;
        const uint2 entry = shared_pair(entries + (u32)sizeof(uint2) * place);
        u32 raw = runs ? raw_word(run_raw_in(chunk.run), run_bits(run)) : 0;
        if (__any_sync(FULL, entry.x & ENTRY_ESCAPES)) {
            encoder.raw(raw);
            raw = entry.x & ENTRY_ESCAPES ? raw_word(run, 8) : 0;
        }
        encoder.code(raw, entry.x, entry.y);
    }

public:
    __device__ __forceinline__ ListCoder(
        const Job& job, const uint2* tables, const u16* raw_sizes, Encoder<HUFFMAN>& encoder, u64 batch)
        : job(job), raw_sizes(raw_sizes), encoder(encoder), batch(batch), entries(shared_place(tables)),
          symbols(fresh(reinterpret_cast<u64>(EncodeView(job).symbols() + batch * TILE_VERTICES))),
          slots(fresh(reinterpret_cast<u64>(EncodeView(job).slots() + batch * SLOT))) {}
    __device__ __forceinline__ void code(ListFinder& finder, i32 chunks) {
        Loading loading;
        Known known;
#pragma unroll 1
        for (i32 chunk = chunks - 1; chunk >= -2; chunk--) {
            const Known found = known;
            load_payload(known, loading);
            if (chunk >= 0) load_symbols(loading, finder.entry_in(chunk));
            if (chunk + 2 >= chunks) continue;
            code_symbols(found);
            if (__any_sync(FULL, found.about & ABOUT_RUNS)) code_runs(found);
        }
    }
};
