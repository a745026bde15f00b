// Encodes groups of the hierarchical predictor. Twin of src/entropy/groups/encode.rs.
#pragma once
#include "compress/count.cuh"

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

// Up to 16 raw bits in the high end of a word, their number in the low end. Bits 5 to 15 are free.
__device__ __forceinline__ u32 raw_word(u32 value, u32 bits) {
    return __funnelshift_r(0, value, bits) | bits;
}

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
    u64 symbols, entries, payload, unused;  // addresses for the batch
    EncodeLists lists;
    MaskLists mask_lists;
    u16 mask_entries[PREPARERS][32];  // of a chunk, private to each warp
    Chunk chunks[2][PREPARERS];       // by step and warp
    u8 kinds[2][PREPARERS];
    u32 groups, weight;  // of the stream; weight of a group at most
};
static_assert(PREPARERS == 4 && ENCODE_ROLES == PREPARERS + 1, "the kinds of a step are a word");

// Coding tables in shared memory, trimmed to the symbols that exist: vertex codes, mask bytes, runs.
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
// Marks symbols whose raw bits are not in the payload.
constexpr u32 SPECIAL = 128;
// A bit that grows with the number of 16-bit pieces; the OR over lanes gives the maximum.
__device__ __forceinline__ u32 sixteens(u32 bits) { return 128u << (bits + 15) / 16 & 0xff00; }

// Encodes a group backwards, a state per lane.
template <bool HUFFMAN>
struct Encoder {
    // Entry that leaves a state unchanged.
    static constexpr u32 NOTHING = HUFFMAN ? 0 : SCALE << 16;
    u32 x;
    u8* space;  // of the group
    u32 at;     // offset of the next word; words are written from the end of the space down
    u32 above;  // mask of the lanes above this one

    __device__ __forceinline__ Encoder(u8* space, u64 bytes)
        : x(1u << 16), space(reinterpret_cast<u8*>(fresh(reinterpret_cast<u64>(space)))), at((u32)bytes - 2),
          above(~1u << (threadIdx.x & 31)) {}
    __device__ __forceinline__ u32 words(u64 bytes) const { return ((u32)bytes - 2 - at) / 2; }
    __device__ __forceinline__ void emit(bool need) {
        const u32 mask = __ballot_sync(FULL, need);
        store_if(need, reinterpret_cast<u16*>(space + (at - 2 * __popc(mask & above))), x);
        x = need ? x >> 16 : x;
        at -= 2 * __popc(mask);
    }
    // Raw bits from raw_word, possibly none. Funnel shifts use only the low bits of the count.
    __device__ __forceinline__ void raw(u32 word) {
        emit(__funnelshift_l(x, 0, word) != 0);
        x = __funnelshift_l(word, x, word);
    }
    __device__ __forceinline__ void raw(u32 value, u32 bits) {
        emit(__funnelshift_l(x, 0, bits) != 0);
        x = x << bits | value;
    }
    // Raw bits, then a symbol. Stores do not wait for the new state.
    __device__ __forceinline__ void code(u32 word, u32 entry, u32 reciprocal) {
        const u32 first = x;
        const bool need_first = __funnelshift_l(first, 0, word) != 0;
        const u32 second = __funnelshift_l(word, need_first ? first >> 16 : first, word);
        const u32 f = entry >> 16, bits = raw_word(code_in(entry), f);
        const bool need_second =
            HUFFMAN ? __funnelshift_l(second, 0, bits) != 0 : second >> (32 - SCALE_BITS) >= f;
        x = need_second ? second >> 16 : second;
        if (HUFFMAN)
            x = __funnelshift_l(bits, x, bits);
        else
            divide(f, code_in(entry), reciprocal);
        const u32 mask_first = __ballot_sync(FULL, need_first),
                  mask_second = __ballot_sync(FULL, need_second);
        const u32 between = at - 2 * __popc(mask_first);
        store_if(need_first, reinterpret_cast<u16*>(space + (at - 2 * __popc(mask_first & above))), first);
        store_if(
            need_second, reinterpret_cast<u16*>(space + (between - 2 * __popc(mask_second & above))), second);
        at = between - 2 * __popc(mask_second);
    }
    // rANS division by f with reciprocal (2^32 - 1) / f: the quotient is exact or one too small.
    __device__ __forceinline__ void divide(u32 f, u32 start, u32 reciprocal) {
        const u32 q = __umulhi(x, reciprocal), more = SCALE - f, left = x - q * f;
        x += q * more + start;
        if (left >= f) x += more;
    }
    // A symbol by its entry.
    __device__ __forceinline__ void code(u32 entry, u32 reciprocal) {
        if (HUFFMAN) {
            raw(code_in(entry), entry >> 16);
        } else {
            const u32 f = entry >> 16;
            emit(x >> (32 - SCALE_BITS) >= f);
            divide(f, code_in(entry), reciprocal);
        }
    }
    // Up to 128 raw bits, last piece first; high() gives those after the first 64.
    template <typename High>
    __device__ __forceinline__ void long_raw(u32 bits, u64 low, High high) {
        if (__any_sync(FULL, bits > 16)) {
            const u64 behind = high();
#pragma unroll 1
            for (u32 at = (warp_max(bits) - 1) & ~15u; at > 0; at -= 16) {
                const u32 n = bits > at ? (bits - at < 16 ? bits - at : 16) : 0;
                raw((u32)(at < 64 ? low >> at : behind >> (at - 64)) & ((1u << n) - 1), n);
            }
        }
        const u32 n = bits < 16 ? bits : 16;
        raw((u32)low & ((1u << n) - 1), n);
    }
    // The symbol itself, if its entry is the escape's.
    __device__ __forceinline__ void escape(u32 entry, u32 symbol) {
        const bool escaped = entry & ENTRY_ESCAPES;
        raw(escaped ? symbol : 0, escaped ? 8 : 0);
    }
    // At most f / 2^32 below 2^32 / f, never above. The estimate is low by at most 4 parts in 2^23; one
    // correction step makes the quotient exact or one too small.
    static __device__ __forceinline__ u32 reciprocal_of(u32 entry) {
        if (HUFFMAN) return 0;
        const u32 f = entry >> 16, estimate = reciprocal_below(f);
        return estimate + __umulhi(0u - f * estimate, estimate);
    }
};

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
    RawBits r = {0, 0, raw_bits(symbol, position, sizeof(T))};
    if (symbol == STORED) {
        const TileShape shape = tile_shape(job, index);
        i32 x, y;
        place_of(position, x, y);
        const u64 a = Real<T>::bits(*vertex_at<T>(job.u, job.u_layout, shape.x0 + x, shape.y0 + y));
        const u64 b = Real<T>::bits(*vertex_at<T>(job.v, job.v_layout, shape.x0 + x, shape.y0 + y));
        if (sizeof(T) == 4) {
            r.low = a | b << 32;
        } else {
            r.low = a;
            r.high = b;
        }
    } else if (r.bits) {
        const u32 own = symbol_raw_bits(symbol);
        if (own) r.low = work.raw()[index * TILE_VERTICES + position];
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

// Calls put(number, entry) for each entry of a mask.
template <typename Put>
__device__ __forceinline__ void entries_of_mask(const Job& job, u64 batch, u32 name, Put put) {
    const i32 lane = threadIdx.x & 31;
    const u64 index = batch + (name >> 1);
    const TileShape shape = tile_shape(job, index);
    const u32 difference = mask_difference(TileView(job).masks()[index * 64 + (name & 1) * TILE + lane]);
    i32 size = 0, before = -1;
    __syncwarp();
    for (i32 byte = 0; 8 * byte < shape.owned_x(); byte++) {
        const u32 value = lane < shape.owned_y() ? difference >> 8 * byte & 255 : 0,
                  present = __ballot_sync(FULL, value != 0);
        if (present == 0) continue;
        const u32 below = present & ((1u << lane) - 1);
        const i32 run = 32 * byte + lane - (below ? 32 * byte + 31 - __clz(below) : before) - 1;
        if (value) put(size + __popc(below), (u16)((u32)run << 8 | value));
        size += __popc(present);
        before = 32 * byte + 31 - __clz(present);
    }
    __syncwarp();
}

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
            names[k] = start | lane << 10 | (sparse ? activity << 16 : 0) | table << 19;
        }
        BatchSize size;
        concatenate_lists<ENCODE_LISTS, true>(shared.lists, sizes, names, size.lists, size.entries);
        size.chunks = (size.entries + 31) / 32;
        size.mask_entries = (i32)warp_sum(tile.masks[0] + tile.masks[1]);
        shared.size = size;
        if (lane == 0) {
            shared.symbols = reinterpret_cast<u64>(work.symbols() + batch * TILE_VERTICES);
            shared.entries = reinterpret_cast<u64>(entries_of<T>(job, batch));
            shared.payload = reinterpret_cast<u64>(work.raw() + batch * TILE_VERTICES);
        }
    } else if (role == PREPARERS - 1) {
        const u32 states = mask_state_in(exists ? work.headers()[batch + lane] : 0);
        if (!__any_sync(FULL, has_mask_list(states, 0) || has_mask_list(states, 1))) return;
        const CodeTile tile(job, batch + lane, exists);
        const u32 names[2] = {(u32)lane << 1, (u32)lane << 1 | 1};
        i32 lists, entries;
        concatenate_lists<2>(shared.mask_lists, tile.masks, names, lists, entries);
    }
}

// Prepares every PREPARERS-th chunk, from the last one on; chunks of masks come after those of symbols, thus
// first.
template <typename T, bool HUFFMAN>
__device__ __forceinline__ void prepare_chunks(
    const Job& job, const EncodeShared& all, EncodeGroup& shared, i32 number, i32 role, u64 batch, u64 end) {
    typedef Encoder<HUFFMAN> E;
    constexpr u32 TILE_WORD_BYTES = sizeof(T) == 4 ? TILE_WORD_BYTES_F32 : TILE_WORD_BYTES_F64;
    const i32 lane = threadIdx.x & 31;
    const EncodeLists& lists = shared.lists;
    const i32 last_entry = shared.size.entries - 1, chunks = (i32)warp_or(shared.size.chunks),
              mask_entry_count = (i32)warp_or(shared.size.mask_entries);
    const i32 all_chunks = chunks + (mask_entry_count + 31) / 32,
              steps = (all_chunks + PREPARERS - 1) / PREPARERS;
    const i32 list_chunks = (chunks + PREPARERS - 1 - role) / PREPARERS,
              own_chunks = (all_chunks + PREPARERS - 1 - role) / PREPARERS;
    // Loaded so that the compiler does not recompute them.
    const u64 symbols = from_shared(&shared.symbols), entries = from_shared(&shared.entries),
              payload = from_shared(&shared.payload);
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
                        about - (FIRST_WITH_RAW_BITS << 24) < (STORED - FIRST_WITH_RAW_BITS) << 24,
                payload + sizeof(u64) * (about & ABOUT_PLACE), low);
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
                at = entries + (tile_in(here) * TILE_WORD_BYTES + 4 * position_in(here));
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
                const bool special = symbol == STORED || (symbol < SYMBOLS && has_refinement_bits(symbol,
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
        encoder.raw(tile.masks[plane],
            exists && has_mask_list(mask_state_in(tile.info), plane) ? MASK_COUNT_BITS : 0);
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

// Ends a group: writes the states before the words and records its size. The pad after an odd number of words
// (bit 63) lies outside the space and is added on copying.
template <typename T, bool HUFFMAN>
__device__ __forceinline__ void end_group(
    const Job& job, const Encoder<HUFFMAN>& encoder, u64 groups, u64 group, u64 first, u64 end) {
    const EncodeView work(job);
    constexpr u64 TILE_WORD_BYTES = sizeof(T) == 4 ? TILE_WORD_BYTES_F32 : TILE_WORD_BYTES_F64;
    const i32 lane = threadIdx.x & 31;
    const u64 words = encoder.words((end - first) * TILE_WORD_BYTES);
    u16* const state = words_at<u16>(work.slots() + end * TILE_WORD_BYTES - STATE_BYTES) - words + 2 * lane;
    state[0] = (u16)encoder.x;
    state[1] = (u16)(encoder.x >> 16);
    if (lane == 0) {
        const u64 bytes = STATE_BYTES + (words + 1) / 2 * 4;
        work.group_sizes()[group] = bytes | (end - first - 1) << 24 | (words & 1) << 63;
        sizes_of(job, group).first_tile = first;
        atomicAdd((ull*)&control_of(job).part_bytes[(u32)group / groups_of_part(groups)], (ull)bytes);
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
    constexpr u64 TILE_WORD_BYTES = sizeof(T) == 4 ? TILE_WORD_BYTES_F32 : TILE_WORD_BYTES_F64;
    LAUNCHED_SHARED(EncodeShared, shared);
    for (u32 symbol = threadIdx.x; symbol < ALPHABET; symbol += 32 * ENCODE_WARPS) {
        const u32 bits = symbol < SYMBOLS ? raw_bits(symbol, 1, sizeof(T)) : 0;
        shared.raw_bits[symbol] = (u16)(sixteens(bits) | bits | (symbol == STORED ? SPECIAL : 0));
    }
    after_kernel_before();
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
        Encoder<HUFFMAN> encoder(
            EncodeView(job).slots() + first * TILE_WORD_BYTES, (end - first) * TILE_WORD_BYTES);
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
        if (role == CODER) end_group<T>(job, encoder, groups, group, first, end);
        group += (u64)gridDim.x * ENCODE_GROUPS;
        if (role == 0 && group < groups) find_group(mine.weight);
        if (group >= groups) return;
        meet<ENCODE_ROLES>(number);
    }
}
