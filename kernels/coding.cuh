// Entries of the entropy coder that code lists of the hierarchical predictor to groups. Twin: src/stage/entropy/group/encode.rs.
#pragma once
#include "collecting.cuh"

// Three warps work on a group: two prepare chunks of its lists by turns, the third one codes them. What is asked for from memory is used a step
// later; a step is a chunk of each of the two.
constexpr i32 ENCODE_GROUPS = 4, ENCODE_ROLES = 3, ENCODE_WARPS = ENCODE_GROUPS * ENCODE_ROLES, MASK_RING = 256;
enum : i32 { EVEN_CHUNKS, ODD_CHUNKS, CODER };

// Up to 16 raw bits, highest in their word, and their number in its low ones. Bits 5 to 15 are free.
__device__ __forceinline__ u32 raw_word(u32 value, u32 bits) { return value << 16 << (16 - bits) | bits; }

// What is coded of an entry: raw bits with the symbol (or the run) in bits 8 to 15, and the table entry with the reciprocal of its frequency.
struct Item {
    u32 raw[32], entry[32], reciprocal[32];
};

// A chunk, from the warp that prepares it to the coder: what there is in it, and raw bits of the symbols behind the first 16.
constexpr u32 MOST_PIECES = 7;
struct Chunk {
    Item symbols, runs;
    u32 pieces[MOST_PIECES][32];
    u32 kind, unused[3];
};
// Bit 0: symbols without raw bits; bit 1: with up to 16 of them, and so on for each 16 more.
constexpr u32 KIND_RAW = (2 << (MOST_PIECES + 1)) - 2, KIND_ESCAPES = 1u << 16, KIND_RUNS = 1u << 17, KIND_RUN_ESCAPES = 1u << 18;

// The vertices of the first few tiles of a batch that have no symbol, for the tiles that are not whole: a bit for each position.
struct MaskedPositions {
    u8 bits[MASKED_TILES][TILE_VERTICES / 8];
};

// What the three warps of a group tell each other. None writes what another may still read: there is a barrier between steps.
struct EncodeGroup {
    BatchLists lists;
    // Masked positions while symbols are fetched, then entries of masks.
    union {
        MaskedPositions masked;
        u16 mask_entries[MASK_RING];
    };
    Chunk chunks[2][2];  // by step and warp
    u32 heads[4][32];    // entries for the classes and the mode of each tile, of the coder itself
};

// The tables in shared memory have no more symbols than there are: one of bytes of masks, those of codes, those of runs.
constexpr u32 CODES_PLACE = ALPHABET, RUNS_PLACE = CODES_PLACE + (RUN - ANCHOR_TABLE) * CODE_SYMBOLS, SHARED_ENTRIES = RUNS_PLACE + (TABLES - RUN) * RUN_SYMBOLS;
static_assert(FIRST_SHARED_TABLE == MASK_BYTE && ANCHOR_TABLE == MASK_BYTE + 1, "in this order");
struct EncodeShared {
    u32 entries[SHARED_ENTRIES];
    u8 raw_bits[ALPHABET];
    EncodeGroup groups[ENCODE_GROUPS];
};
static_assert(sizeof(EncodeGroup) == 2 * 288 + 1024 + 4 * (13 * 128 + 16) + 4 * 128, "launch.rs asks for as much");
static_assert(sizeof(EncodeShared) == 4 * 5088 + 256 + 4 * sizeof(EncodeGroup), "launch.rs asks for as much");

// What is known of a lane's entry: the name of its list, the position in its tile, the symbol once it is there, and whether there is one, of a
// sparse list or of a mask.
constexpr u32 ABOUT_ACTIVE = 1u << 31, ABOUT_LISTED = 1u << 30, ABOUT_MASK = 1u << 29;
__device__ __forceinline__ u32 about_entry(u32 name, u32 position, u32 symbol, u32 flags) { return name | position << 10 | symbol << 20 | flags; }
__device__ __forceinline__ u32 name_in(u32 about) { return about & 1023; }
__device__ __forceinline__ u32 position_in(u32 about) { return about >> 10 & 1023; }
__device__ __forceinline__ u32 symbol_in(u32 about) { return about >> 20 & 255; }

// States and words of one group that is coded backwards, a lane per state.
template <bool HUFFMAN>
struct Encoder {
    // What leaves a state as it is: no bits, or the whole scale.
    static constexpr u32 NOTHING = HUFFMAN ? 0 : SCALE << 16;
    u32 x;
    u16* last;  // where the first word goes, the last one of the group
    u32 words;  // that are written so far, each in front of the one before
    u32 above;  // lanes above this one

    __device__ __forceinline__ Encoder(u16* end) : x(1u << 16), last(end - 1), words(0), above(~1u << (threadIdx.x & 31)) {}
    __device__ __forceinline__ void emit(bool need) {
        const u32 mask = __ballot_sync(FULL, need);
        store_if(need, last - (u64)(words + __popc(mask & above)), x);
        x = need ? x >> 16 : x;
        words += __popc(mask);
    }
    // Raw bits, as raw_word gives them; nothing where there are none. (Shifts take the low bits of their number.)
    __device__ __forceinline__ void raw(u32 word) {
        emit(__funnelshift_l(x, 0, word) != 0);
        x = __funnelshift_l(word, x, word);
    }
    __device__ __forceinline__ void raw(u32 value, u32 bits) {
        emit(__funnelshift_l(x, 0, bits) != 0);
        x = x << bits | value;
    }
    // A symbol by its entry.
    __device__ __forceinline__ void code(u32 entry, u32 reciprocal) {
        if (HUFFMAN) {
            raw(code_in(entry), entry >> 16);
        } else {
            // Takes (2^32 - 1) / f for a division: the quotient is right or one too small.
            const u32 f = entry >> 16;
            emit(x >> (32 - SCALE_BITS) >= f);
            const u32 q = __umulhi(x, reciprocal), more = SCALE - f, left = x - q * f;
            x += q * more + code_in(entry);
            if (left >= f) x += more;
        }
    }
    // So many raw bits, up to 128, from the last to the first: a word, and high() for those behind it.
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
    // The symbol itself where its entry is that of the escape.
    __device__ __forceinline__ void escape(u32 entry, u32 symbol) {
        const bool escaped = entry & ENTRY_ESCAPES;
        raw(escaped ? symbol : 0, escaped ? 8 : 0);
    }
    // For a frequency f, at most f / 2^32 below 2^32 / f, never above. The estimate is below it by 4 parts in 2^23 at most, and what is missing of
    // 2^32 in f times that, divided like that, is right or one too small.
    static __device__ __forceinline__ u32 reciprocal_of(u32 entry) {
        if (HUFFMAN) return 0;
        const u32 f = entry >> 16, estimate = reciprocal_below(f);
        return estimate + __umulhi(0u - f * estimate, estimate);
    }
};

// Raw bits of a coded vertex: 128 of them at most.
struct RawBits {
    u64 low, high;
    u32 bits;
    __device__ __forceinline__ u32 piece(u32 at) const {
        return (u32)((at < 64 ? low >> at : high >> (at - 64)) & 0xffff);
    }
};

// Those of stored values and of anchors.
template <typename T>
__device__ __noinline__ RawBits raw_of(const Job& job, u64 index, i32 position, u32 symbol) {
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
        if (own) r.low = reinterpret_cast<const u64*>(job.payload)[index * TILE_VERTICES + position];
        if (r.bits > own) {
            const u64 digits = (u32)job.anchor_codes[index * 4 + 3];
            r.low |= own < 64 ? digits << own : 0;
            r.high = own == 0 ? 0 : own < 64 ? digits >> (64 - own) : digits;
        }
    }
    return r;
}

// What all three warps know of the lane's tile of a batch.
struct CodeTile {
    u32 info, counts[3], masks[2];
    bool coded;
    __device__ __forceinline__ CodeTile(const Job& job, u64 tile, bool exists) {
        info = exists ? job.info[tile] : 0;
        coded = exists && has_codes(mode_in(info));
#pragma unroll
        for (i32 k = 0; k < 3; k++) counts[k] = exists && is_sparse(class_in(info, k)) ? sizes_of(job, tile).blocks[k] : 0;
#pragma unroll
        for (i32 k = 0; k < 2; k++) masks[k] = exists && has_mask_list(mode_in(info), k) ? sizes_of(job, tile).masks[k] : 0;
    }
};

// How much there is in a batch: lists of symbols, entries in them, and chunks. One of the two warps prepares all chunks of masks, a step each, behind
// those of symbols.
struct CodeBatchSize {
    i32 lists, entries, chunks, mask_chunks, list_steps, steps;
    __device__ __forceinline__ CodeBatchSize(const CodeTile& tile, const u32 (&sizes)[TILE_LISTS]) {
        u32 mine = 0;
#pragma unroll
        for (u32 k = 0; k < TILE_LISTS; k++) mine += sizes[k] << 8 | (sizes[k] > 0);
        const u32 all = warp_sum(mine);
        lists = (i32)(all & 255);
        entries = (i32)(all >> 8);
        chunks = (entries + 31) / 32;
        mask_chunks = (i32)(warp_sum(tile.masks[0] + tile.masks[1]) + 31) / 32;
        list_steps = (chunks + 1) / 2;
        steps = list_steps + mask_chunks;
    }
};

// A chunk is coded so many steps after it is first asked for.
constexpr i32 ENCODE_STEPS = 3;

// The entries of a mask, from the place of its first one on.
__device__ __forceinline__ void fill_mask_ring(const Job& job, u16* ring, u64 batch, u32 name, i32 start) {
    const i32 lane = threadIdx.x & 31;
    const u64 index = batch + (name >> 1);
    const TileShape shape = tile_shape(job, index);
    const u32 difference = mask_difference(job.masks[index * 64 + (name & 1) * TILE + lane]);
    i32 size = 0, before = -1;
    __syncwarp();
    for (i32 byte = 0; 8 * byte < shape.owned_x(); byte++) {
        const u32 value = lane < shape.owned_y() ? difference >> 8 * byte & 255 : 0, present = __ballot_sync(FULL, value != 0);
        if (present == 0) continue;
        const u32 below = present & ((1u << lane) - 1);
        const i32 run = 32 * byte + lane - (below ? 32 * byte + 31 - __clz(below) : before) - 1;
        if (value) ring[(start + size + __popc(below)) & (MASK_RING - 1)] = (u16)((u32)run << 8 | value);
        size += __popc(present);
        before = 32 * byte + 31 - __clz(present);
    }
    __syncwarp();
}

// Of the first tiles of a batch that are not whole.
__device__ __forceinline__ void mask_positions(const Job& job, MaskedPositions& shared, u64 batch, u32 my_info, u32 masked) {
    const i32 lane = threadIdx.x & 31;
    i32 slot = 0;
    for (u32 left = masked; left && slot < MASKED_TILES; left &= left - 1, slot++) {
        const u32 row = masked_row(job, batch, __ffs(left) - 1, my_info);
        i32 x, y;
        place_in_tile(false, lane & 15, x, y);
        const u32 top = __ballot_sync(FULL, __shfl_sync(FULL, row, y) >> x & 1) & 0xffff, bits = mask_by_position(false, row);
#pragma unroll
        for (i32 i = 0; i < 4; i++) shared.bits[slot][32 * i + lane] = (u8)(i == 0 && lane < 2 ? top >> 8 * lane : bits >> 8 * i);
    }
}

__device__ __forceinline__ bool is_active(const Job& job, const MaskedPositions& shared, u64 batch, u32 t, u32 masked, i32 position) {
    const i32 slot = __popc(masked & ((1u << t) - 1));
    if (slot >= MASKED_TILES) return is_active(job, false, batch + t, mode_in(job.info[batch + t]), position);
    return !(shared.bits[slot][position >> 3] >> (position & 7) & 1);
}

// The two warps that prepare chunks, from the last one on: of a step, those of a pair. The even one prepares those of masks behind them.
template <typename T, bool HUFFMAN>
__device__ __forceinline__ void prepare_chunks(const Job& job, const EncodeShared& all, EncodeGroup& shared, i32 number, i32 role, u64 batch, u64 end) {
    typedef Encoder<HUFFMAN> E;
    constexpr u64 TILE_WORD_BYTES = sizeof(T) == 4 ? TILE_WORD_BYTES_F32 : TILE_WORD_BYTES_F64;
    const i32 lane = threadIdx.x & 31;
    BatchLists& lists = shared.lists;
    i32 last, entry_count, list_chunks, list_steps, steps, end_step;
    u32 masked;
    {
        const CodeTile tile(job, batch + lane, batch + lane < end);
        u32 sizes[TILE_LISTS], names[TILE_LISTS];
        code_lists(tile.info, tile.coded, tile.counts, sizes, names);
        const CodeBatchSize size(tile, sizes);
        masked = __ballot_sync(FULL, tile.coded && !(tile.info & ALL_CODED));
        last = size.lists - 1;
        entry_count = size.entries;
        list_chunks = role == EVEN_CHUNKS ? size.list_steps : size.chunks / 2;
        list_steps = size.list_steps;
        steps = role == EVEN_CHUNKS ? size.steps : list_chunks;
        end_step = size.steps + ENCODE_STEPS;
        if (role == EVEN_CHUNKS) {
            i32 count, entries;
            collect_lists<TILE_LISTS>(lists, sizes, names, count, entries);
        } else {
            mask_positions(job, shared.masked, batch, tile.info, masked);
        }
        meet<ENCODE_ROLES>(number);
    }
    i32 from = (entry_count - 1) & ~31, filled = 0;
    auto skip = [&] {
        last -= __popc(__ballot_sync(FULL, last >= lane && lists.starts[last - lane] >= from));
        from -= 32;
    };
    if (role == ODD_CHUNKS) skip();
    // Of the chunk that was found in the step before, and of the one that was asked for.
    u32 about = 0, word = 0, next_about = 0, next_word = 0;
    u64 low = 0;
#pragma unroll 1
    for (i32 step = 0; step < end_step; step++) {
        if (step >= 2 && step < steps + 2) {
            // Raw bits are there now.
            Chunk& chunk = shared.chunks[step & 1][role];
            const bool active = about & ABOUT_ACTIVE, listed = about & ABOUT_LISTED, mask = about & ABOUT_MASK;
            const u32 name = name_in(about), position = position_in(about), symbol = symbol_in(about), cls = class_of_list(name);
            u32 bits = mask ? 0 : all.raw_bits[symbol];
            u64 high = 0;
            if (!mask && (symbol == STORED || has_digits(symbol, (i32)position))) {
                const RawBits r = raw_of<T>(job, batch + tile_of_list(name), (i32)position, symbol);
                bits = r.bits;
                low = r.low;
                high = r.high;
            }
            const u32 table = table_in_list(list_in_tile(name), cls, (i32)position) - ANCHOR_TABLE;
            const u32 entry = active ? all.entries[(mask ? 0 : CODES_PLACE + table * CODE_SYMBOLS) + symbol] : E::NOTHING;
            chunk.symbols.raw[lane] = raw_word((u32)low, bits < 16 ? bits : 16) | symbol << 8;
            chunk.symbols.entry[lane] = entry;
            chunk.symbols.reciprocal[lane] = E::reciprocal_of(entry);
            u32 kind = warp_or(1u << (bits + 15) / 16 | (entry & ENTRY_ESCAPES ? KIND_ESCAPES : 0) | (listed ? KIND_RUNS : 0));
            const i32 pieces = (i32)highest_bit(kind & KIND_RAW | 2) - 1;
#pragma unroll 1
            for (i32 k = 0; k < pieces; k++) {
                const u32 at = 16 * k + 16, n = bits > at ? bits - at < 16 ? bits - at : 16 : 0;
                chunk.pieces[k][lane] = raw_word((u32)(at < 64 ? low >> at : high >> (at - 64)), n);
            }
            if (kind & KIND_RUNS) {
                const u32 run = run_symbol_of_entry(word), run_table = mask ? MASK_RUN - RUN : cls - 1;
                const u32 run_entry = listed ? all.entries[RUNS_PLACE + run_table * RUN_SYMBOLS + run] : E::NOTHING;
                chunk.runs.raw[lane] = listed ? raw_word(run_raw_of_entry(word), run_bits(run)) | run << 8 : 0;
                chunk.runs.entry[lane] = run_entry;
                chunk.runs.reciprocal[lane] = E::reciprocal_of(run_entry);
                if (__any_sync(FULL, run_entry & ENTRY_ESCAPES)) kind |= KIND_RUN_ESCAPES;
            }
            if (lane == 0) chunk.kind = kind;
        }
        // The word of the next chunk is there now: its raw bits are asked for.
        {
            const bool listed = next_about & ABOUT_LISTED;
            const u32 at = position_in(next_about), position = listed ? (u32)position_of_entry(next_word) : at;
            const u32 symbol = next_about & ABOUT_ACTIVE ? next_word >> (listed ? 0 : 8 * (at & 3)) & 255 : SYMBOL_ZERO;
            about = about_entry(name_in(next_about), position, symbol, next_about & (ABOUT_ACTIVE | ABOUT_LISTED | ABOUT_MASK));
            word = next_word;
            if (symbol >= FIRST_WITH_RAW_BITS && !(about & ABOUT_MASK))
                low = reinterpret_cast<const u64*>(job.payload)[(batch + tile_of_list(name_in(about))) * TILE_VERTICES + position];
        }
        if (step < list_chunks) {
            const i32 e = from + lane;
            const i32 list = list_of_entry_backwards(lists, from, last);
            const bool exists = e < entry_count;
            // Loads do not wait for each other where they are not behind a branch: lanes without an entry read the first one.
            const i32 known = exists ? list : 0;
            const u32 name = lists.names[known], t = tile_of_list(name);
            const i32 at = list_start(list_in_tile(name)) + (exists ? e - lists.starts[known] : 0);
            const bool dense = is_dense(name);
            const u8* const symbols = job.symbols + batch * TILE_VERTICES;
            const u8* const entries = reinterpret_cast<const u8*>(entries_of<T>(job, batch));
            next_word = *reinterpret_cast<const u32*>((dense ? symbols : entries) + (dense ? t * TILE_VERTICES + (at & ~3) : t * (u32)TILE_WORD_BYTES + 4 * at));
            bool active = exists;
            if (exists && dense && masked >> t & 1) active = is_active(job, shared.masked, batch, t, masked, at);
            next_about = about_entry(name, (u32)at, 0, (active ? ABOUT_ACTIVE : 0) | (exists && !dense ? ABOUT_LISTED : 0));
            from -= 32;
            if (from >= 0) skip();
        } else if (step >= list_steps && step < steps) {
            // Masks: a ring of entries, filled list by list.
            if (step == list_steps) {
                const CodeTile tile(job, batch + lane, batch + lane < end);
                const u32 names[2] = {(u32)lane << 1, (u32)lane << 1 | 1};
                i32 list_count;
                collect_lists<2>(lists, tile.masks, names, list_count, entry_count);
                last = list_count;
                filled = entry_count;
                from = (entry_count - 1) & ~31;
            }
            while (filled > from) {
                last--;
                filled = lists.starts[last];
                fill_mask_ring(job, shared.mask_entries, batch, lists.names[last], filled);
            }
            const bool exists = from + lane < entry_count;
            const u32 entry = exists ? shared.mask_entries[(from + lane) & (MASK_RING - 1)] : 0;
            next_word = make_entry(entry & 255, 0, encode_run(entry >> 8));
            next_about = exists ? ABOUT_ACTIVE | ABOUT_LISTED | ABOUT_MASK : 0;
            from -= 32;
        }
        meet<ENCODE_ROLES>(number);
    }
}

// The coder, of the lists. (An entry of a mask is coded like one of a sparse list.)
template <bool HUFFMAN>
__device__ __forceinline__ void code_item(const Item& item, Encoder<HUFFMAN>& encoder, bool raw, bool escapes) {
    const i32 lane = threadIdx.x & 31;
    const u32 word = item.raw[lane], entry = item.entry[lane], reciprocal = item.reciprocal[lane];
    if (raw) encoder.raw(word);
    if (escapes) encoder.raw((word & 0xff00) << 16 | (entry & ENTRY_ESCAPES ? 8 : 0));
    encoder.code(entry, reciprocal);
}
template <bool HUFFMAN>
__device__ __forceinline__ void code_chunks(const EncodeGroup& shared, i32 number, Encoder<HUFFMAN>& encoder, const CodeBatchSize& size) {
    const i32 lane = threadIdx.x & 31;
    const i32 steps = size.steps + ENCODE_STEPS;
#pragma unroll 1
    for (i32 step = 0; step < steps; step++) {
        if (step >= ENCODE_STEPS) {
            const i32 here = step - ENCODE_STEPS < size.chunks / 2 ? 2 : 1;
#pragma unroll 1
            for (i32 k = 0; k < here; k++) {
                const Chunk& chunk = shared.chunks[step - 1 & 1][k];
                const u32 kind = warp_or(chunk.kind);
#pragma unroll 1
                for (i32 piece = (i32)highest_bit(kind & KIND_RAW | 2) - 2; piece >= 0; piece--) encoder.raw(chunk.pieces[piece][lane]);
                code_item(chunk.symbols, encoder, kind & KIND_RAW, kind & KIND_ESCAPES);
                if (kind & KIND_RUNS) code_item(chunk.runs, encoder, true, kind & KIND_RUN_ESCAPES);
            }
        }
        meet<ENCODE_ROLES>(number);
    }
}

// The numbers of entries of each tile's masks and sparse lists.
template <bool HUFFMAN>
__device__ __forceinline__ void code_sizes(Encoder<HUFFMAN>& encoder, const CodeTile& tile, bool exists) {
#pragma unroll
    for (i32 plane = 1; plane >= 0; plane--)
        encoder.raw(tile.masks[plane], exists && has_mask_list(mode_in(tile.info), plane) ? MASK_COUNT_BITS : 0);
#pragma unroll
    for (i32 k = 2; k >= 0; k--) {
        const u32 cls = class_in(tile.info, k);
        encoder.raw(tile.counts[k], tile.coded && is_sparse(cls) ? count_bits(k, cls) : 0);
    }
}

// The coder, of the classes and the mode of each tile: what stands for them comes while the lists are coded.
template <bool HUFFMAN>
__device__ __forceinline__ void find_heads(const Job& job, EncodeGroup& shared, const CodeTile& tile, bool exists) {
    const i32 lane = threadIdx.x & 31;
#pragma unroll
    for (i32 k = 0; k < 4; k++) {
        const u32 table = k < 3 ? class_table(tile.info, k) : (u32)TILE_MODE, symbol = k < 3 ? class_in(tile.info, k) : stream_mode(tile.info);
        shared.heads[k][lane] = (k < 3 ? tile.coded : exists) ? code_entries(job, table)[symbol].x : Encoder<HUFFMAN>::NOTHING;
    }
}
template <bool HUFFMAN>
__device__ __forceinline__ void code_heads(const EncodeGroup& shared, Encoder<HUFFMAN>& encoder, const CodeTile& tile) {
    const i32 lane = threadIdx.x & 31;
    const u32 symbols = tile.info >> 8 & 0xffffff;
#pragma unroll 1
    for (i32 i = 0; i < 4; i++) {
        // The fine class, the middle one, the coarse one, the mode.
        const i32 k = i < 3 ? 2 - i : 3;
        const u32 symbol = k < 3 ? symbols >> 8 * k & 255 : stream_mode(tile.info), entry = shared.heads[k][lane];
        if (__any_sync(FULL, entry & ENTRY_ESCAPES)) encoder.escape(entry, symbol);
        encoder.code(entry, encoder.reciprocal_of(entry));
    }
}

// The end of a group: the states in front, the words at the end of its space. The pad word behind an odd number of words lies beyond the
// space: it is made when copied. Bit 63 says that the words are odd, as far as the stream.
template <typename T, bool HUFFMAN>
__device__ __forceinline__ void end_group(const Job& job, const Encoder<HUFFMAN>& encoder, u64 group, u64 first, u64 end) {
    constexpr u64 TILE_WORD_BYTES = sizeof(T) == 4 ? TILE_WORD_BYTES_F32 : TILE_WORD_BYTES_F64;
    const i32 lane = threadIdx.x & 31;
    reinterpret_cast<u32*>(job.words + first * TILE_WORD_BYTES)[lane] = encoder.x;
    if (lane == 0) {
        const u64 words = encoder.words;
        job.group_sizes[group] = (STATE_BYTES + (words + 1) / 2 * 4) | (end - first - 1) << 24 | (words & 1) << 63;
        sizes_of(job, group).first_tile = first;
    }
}

// Grid: any. Block: 32 * ENCODE_WARPS, three warps for a group at a time. Dynamic shared: EncodeShared.
template <typename T, bool HUFFMAN>
__device__ __forceinline__ void encode_groups(const Job& job) {
    constexpr u64 TILE_WORD_BYTES = sizeof(T) == 4 ? TILE_WORD_BYTES_F32 : TILE_WORD_BYTES_F64;
    LAUNCHED_SHARED(EncodeShared, shared);
    Control& control = control_of(job);
    if (blockIdx.x >= control.groups) return;
    // Without their reciprocals.
#pragma unroll 4
    for (u32 place = threadIdx.x; place < SHARED_ENTRIES; place += 32 * ENCODE_WARPS) {
        const u32 code = place - CODES_PLACE, run = place - RUNS_PLACE;
        const u32 table = place < CODES_PLACE ? (u32)MASK_BYTE : place < RUNS_PLACE ? ANCHOR_TABLE + code / CODE_SYMBOLS : RUN + run / RUN_SYMBOLS;
        const u32 symbol = place < CODES_PLACE ? place : place < RUNS_PLACE ? code % CODE_SYMBOLS : run % RUN_SYMBOLS;
        shared.entries[place] = code_entries(job, FIRST_SHARED_TABLE)[(table - FIRST_SHARED_TABLE) * ALPHABET + symbol].x;
    }
    fill_raw_bits<T>(shared.raw_bits, false);
    __syncthreads();
    // The same for all lanes, as the compiler has to know.
    const i32 lane = threadIdx.x & 31, warp = (i32)warp_or(threadIdx.x >> 5), number = warp / ENCODE_ROLES, role = warp % ENCODE_ROLES;
    EncodeGroup& mine = shared.groups[number];
    // Consecutive groups go to different blocks.
    for (u64 group = blockIdx.x + (u64)gridDim.x * number; group < *(volatile u64*)&control.groups; group += (u64)gridDim.x * ENCODE_GROUPS) {
        const u64 boundary = first_tile_of(job, *(volatile u64*)&control.group_weight, group);
        const u64 first = __shfl_sync(FULL, boundary, 0), end = __shfl_sync(FULL, boundary, 16);
        Encoder<HUFFMAN> encoder(reinterpret_cast<u16*>(job.words + end * TILE_WORD_BYTES));
        for (u64 batch = first + ((end - first - 1) & ~31ull);; batch -= BATCH) {
            if (role == CODER) {
                const bool exists = batch + lane < end;
                const CodeTile tile(job, batch + lane, exists);
                u32 sizes[TILE_LISTS], names[TILE_LISTS];
                code_lists(tile.info, tile.coded, tile.counts, sizes, names);
                find_heads<HUFFMAN>(job, mine, tile, exists);
                meet<ENCODE_ROLES>(number);
                code_chunks(mine, number, encoder, CodeBatchSize(tile, sizes));
                code_sizes(encoder, tile, exists);
                code_heads(mine, encoder, tile);
            } else {
                prepare_chunks<T, HUFFMAN>(job, shared, mine, number, role, batch, end);
            }
            // The lists of the next batch take the place of those of this one.
            meet<ENCODE_ROLES>(number);
            if (batch == first) break;
        }
        if (role != CODER) continue;
        end_group<T>(job, encoder, group, first, end);
    }
}
