// Entries of the entropy coder that code lists of the hierarchical predictor to groups. Twin: src/stage/entropy/group/encode.rs.
#pragma once
#include "collecting.cuh"

// Three warps work on a group, since a chunk's way from its list to the states is a long one: one fetches what is in the lists, one
// finds the table entries and the raw bits of it, one codes. Values from memory come a chunk after they are asked for.
constexpr i32 ENCODE_GROUPS = 4, ENCODE_ROLES = 3, ENCODE_WARPS = ENCODE_GROUPS * ENCODE_ROLES, MASK_RING = 256;
enum : i32 { FETCHER, FINDER, CODER };

// What is coded of an entry, from the finder to the coder: a symbol (or a run) by its table entry, and the reciprocal of its frequency.
struct Item {
    u32 entry[32], reciprocal[32], about[32];
};

// What the three warps of a group tell each other. None writes what another may still read: there is a barrier between chunks.
struct EncodeGroup {
    BatchLists lists;
    // Masked rows while symbols are fetched, then entries of masks.
    union {
        MaskedRows rows;
        u16 mask_entries[MASK_RING];
    };
    u32 words[2][32], abouts[2][32];  // of a chunk, from the fetcher to the finder
    Item symbols[3], runs[3];         // from the finder to the coder
    u64 raw[2][2][32];                // raw bits of the symbols, low and high
    u32 heads[4][32];                 // entries for the classes and the mode of each tile, of the coder itself
};

// The tables in shared memory, by table and symbol.
struct EncodeShared {
    u32 entries[SHARED_TABLES * ALPHABET];
    u8 raw_bits[ALPHABET];
    EncodeGroup groups[ENCODE_GROUPS];
};
static_assert(sizeof(EncodeGroup) == 2 * 288 + 1024 + 4 * 128 + 18 * 128 + 1024 + 4 * 128, "launch.rs asks for as much");
static_assert(sizeof(EncodeShared) == 4 * 32 * 256 + 256 + 4 * sizeof(EncodeGroup), "launch.rs asks for as much");

// What the fetcher says of a word: the list, the position in its tile (of a dense list), whether there is a symbol, and of which kind.
constexpr u32 ABOUT_ACTIVE = 1u << 31, ABOUT_LISTED = 1u << 30, ABOUT_MASK = 1u << 29;
// What the finder says of a symbol, or of a run: so many raw bits, and the symbol to its right. Runs: their raw bits above.
constexpr u32 ITEM_EXISTS = 1u << 9;
__device__ __forceinline__ u32 raw_bits_in(u32 item) { return item & 255; }
__device__ __forceinline__ u32 symbol_in(u32 item) { return item >> 10 & 255; }
__device__ __forceinline__ u32 raw_in(u32 item) { return item >> 18; }

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
    // So many raw bits, up to 16; nothing where there are none.
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
    // Of the lists of symbols and of those of masks in the batch.
    __device__ __forceinline__ i32 chunks() const {
        u32 sizes[TILE_LISTS], names[TILE_LISTS];
        code_lists(info, coded, counts, sizes, names);
        return (i32)(warp_sum(sizes[0] + sizes[1] + sizes[2] + sizes[3]) + 31) / 32 + (i32)(warp_sum(masks[0] + masks[1]) + 31) / 32;
    }
};

// A chunk is coded so many steps after it is first asked for. (There are as many where there is none: what comes behind the lists takes
// their place.)
constexpr i32 ENCODE_STEPS = 4;

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

// The fetcher: the words of a batch's lists, from the last chunk on, and the entries of its masks behind them.
template <typename T>
__device__ __forceinline__ void fetch_chunks(const Job& job, EncodeGroup& shared, u64 batch, u64 end) {
    const i32 lane = threadIdx.x & 31;
    BatchLists& lists = shared.lists;
    const CodeTile tile(job, batch + lane, batch + lane < end);
    u32 sizes[TILE_LISTS], names[TILE_LISTS];
    code_lists(tile.info, tile.coded, tile.counts, sizes, names);
    i32 list_count, entry_count;
    collect_lists<TILE_LISTS>(lists, sizes, names, list_count, entry_count);
    const u32 masked = __ballot_sync(FULL, tile.coded && !(tile.info & ALL_CODED));
    if (masked) load_masked_rows(job, shared.rows, batch, tile.info, masked);
    i32 last = list_count - 1;
    u32 word = 0, about = 0;
    // What was asked for in the step before, to the finder.
    auto hand_on = [&](i32 step) {
        shared.words[step & 1][lane] = word;
        shared.abouts[step & 1][lane] = about;
    };
    i32 step = 0;
#pragma unroll 1
    for (i32 from = (entry_count - 1) & ~31; from >= 0; from -= 32, step++) {
        hand_on(step);
        const i32 e = from + lane;
        const i32 list = list_of_entry_backwards(lists, from, last);
        const bool exists = e < entry_count;
        // Loads do not wait for each other where they are not behind a branch: lanes without an entry read the first one.
        const i32 known = exists ? list : 0;
        const u32 name = lists.names[known], t = tile_of_list(name);
        const i32 at = list_start(list_in_tile(name)) + (exists ? e - lists.starts[known] : 0);
        const u64 index = batch + t;
        const bool dense = is_dense(name);
        const u32* const symbols = reinterpret_cast<const u32*>(job.symbols + index * TILE_VERTICES) + (at >> 2);
        const u32* const entries = entries_of<T>(job, index) + at;
        word = *(dense ? symbols : entries);
        bool active = exists;
        if (exists && dense && masked >> t & 1) active = is_active(job, shared.rows, false, batch, t, masked, at);
        about = (active ? ABOUT_ACTIVE : 0) | (exists && !dense ? ABOUT_LISTED : 0) | (u32)at << 16 | name;
        meet<ENCODE_ROLES>(my_group<ENCODE_ROLES>());
    }
    // Masks: a ring of entries, filled list by list.
    const CodeTile again(job, batch + lane, batch + lane < end);
    const u32 mask_names[2] = {(u32)lane << 1, (u32)lane << 1 | 1};
    collect_lists<2>(lists, again.masks, mask_names, list_count, entry_count);
    i32 filled = entry_count;
#pragma unroll 1
    for (i32 from = (entry_count - 1) & ~31; from >= 0; from -= 32, step++) {
        hand_on(step);
        while (filled > from) {
            list_count--;
            filled = lists.starts[list_count];
            fill_mask_ring(job, shared.mask_entries, batch, lists.names[list_count], filled);
        }
        const bool exists = from + lane < entry_count;
        const u32 entry = exists ? shared.mask_entries[(from + lane) & (MASK_RING - 1)] : 0;
        word = make_entry(entry & 255, 0, encode_run(entry >> 8));
        about = exists ? ABOUT_ACTIVE | ABOUT_LISTED | ABOUT_MASK : 0;
        meet<ENCODE_ROLES>(my_group<ENCODE_ROLES>());
    }
    // Until the others have done their part.
#pragma unroll 1
    for (i32 k = 0; k < ENCODE_STEPS; k++, step++) {
        hand_on(step);
        meet<ENCODE_ROLES>(my_group<ENCODE_ROLES>());
    }
}

// The finder: table entries and raw bits.
template <typename T, bool HUFFMAN>
__device__ __forceinline__ void find_chunks(const Job& job, const EncodeShared& all, EncodeGroup& shared, u64 batch, u64 end) {
    typedef Encoder<HUFFMAN> E;
    const i32 lane = threadIdx.x & 31;
    const i32 chunks = CodeTile(job, batch + lane, batch + lane < end).chunks(), steps = chunks + ENCODE_STEPS;
    u64 low = 0, high = 0;
    i32 slot = 0;
#pragma unroll 1
    for (i32 step = 0; step < steps; step++) {
        shared.raw[step & 1][0][lane] = low;
        shared.raw[step & 1][1][lane] = high;
        if (step >= 2 && step < chunks + 2) {
            const u32 word = shared.words[(step - 1) & 1][lane], about = shared.abouts[(step - 1) & 1][lane];
            const bool active = about & ABOUT_ACTIVE, listed = about & ABOUT_LISTED, mask = about & ABOUT_MASK;
            const u32 name = about & 0xffff, at = about >> 16 & 1023, cls = class_of_list(name);
            const u32 position = listed ? (u32)position_of_entry(word) : at;
            const u32 symbol = !active ? SYMBOL_ZERO : listed ? symbol_of_entry(word) : word >> 8 * (at & 3) & 255;
            u32 bits = 0;
            low = high = 0;
            if (symbol >= FIRST_WITH_RAW_BITS && !mask) {
                const u64 index = batch + tile_of_list(name), vertex = index * TILE_VERTICES + position;
                if (symbol == STORED || has_digits(symbol, (i32)position)) {
                    const RawBits r = raw_of<T>(job, index, (i32)position, symbol);
                    bits = r.bits;
                    low = r.low;
                    high = r.high;
                } else {
                    // 64 bits at most.
                    bits = all.raw_bits[symbol];
                    low = reinterpret_cast<const u64*>(job.payload)[vertex];
                }
            }
            u32 entry = E::NOTHING;
            const u32 table = mask ? (u32)MASK_BYTE : table_in_list(list_in_tile(name), cls, (i32)position);
            if (active) entry = all.entries[(table - FIRST_SHARED_TABLE) * ALPHABET + symbol];
            Item& item = shared.symbols[slot];
            item.entry[lane] = entry;
            item.reciprocal[lane] = E::reciprocal_of(entry);
            item.about[lane] = bits | symbol << 10 | (listed ? ITEM_EXISTS : 0);
            if (__any_sync(FULL, listed)) {
                const u32 run = run_symbol_of_entry(word);
                entry = E::NOTHING;
                const u32 table = mask ? (u32)MASK_RUN : RUN + cls - 1;
                if (listed) entry = all.entries[(table - FIRST_SHARED_TABLE) * ALPHABET + run];
                Item& item = shared.runs[slot];
                item.entry[lane] = entry;
                item.reciprocal[lane] = E::reciprocal_of(entry);
                item.about[lane] = listed ? run_bits(run) | run << 10 | run_raw_of_entry(word) << 18 : 0;
            }
            slot = slot == 2 ? 0 : slot + 1;
        }
        meet<ENCODE_ROLES>(my_group<ENCODE_ROLES>());
    }
}

// The coder, of the lists. (An entry of a mask is coded like one of a sparse list.)
template <bool HUFFMAN>
__device__ __forceinline__ void code_chunks(const EncodeGroup& shared, Encoder<HUFFMAN>& encoder, i32 chunks) {
    const i32 lane = threadIdx.x & 31, steps = chunks + ENCODE_STEPS;
    i32 slot = 0;
#pragma unroll 1
    for (i32 step = 0; step < steps; step++) {
        if (step >= ENCODE_STEPS) {
            const Item& item = shared.symbols[slot];
            const u32 about = item.about[lane], entry = item.entry[lane], reciprocal = item.reciprocal[lane], bits = raw_bits_in(about);
            const bool listed = __any_sync(FULL, about & ITEM_EXISTS), escapes = __any_sync(FULL, entry & ENTRY_ESCAPES);
            if (__any_sync(FULL, bits > 0)) {
                const u64* const raw = &shared.raw[(step - 1) & 1][0][lane];
                encoder.long_raw(bits, raw[0], [&] { return raw[32]; });
            }
            if (escapes) encoder.escape(entry, symbol_in(about));
            encoder.code(entry, reciprocal);
            if (listed) {
                const Item& item = shared.runs[slot];
                const u32 about = item.about[lane], entry = item.entry[lane], reciprocal = item.reciprocal[lane];
                if (__any_sync(FULL, raw_bits_in(about) > 0)) encoder.raw(raw_in(about), raw_bits_in(about));
                if (__any_sync(FULL, entry & ENTRY_ESCAPES)) encoder.escape(entry, symbol_in(about));
                encoder.code(entry, reciprocal);
            }
            slot = slot == 2 ? 0 : slot + 1;
        }
        meet<ENCODE_ROLES>(my_group<ENCODE_ROLES>());
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
    {
        // Two entries at a time, without their reciprocals.
        const uint4* const pairs = reinterpret_cast<const uint4*>(code_entries(job, FIRST_SHARED_TABLE));
        constexpr u32 PAIRS = SHARED_TABLES * ALPHABET / 2, EACH = (PAIRS + 32 * ENCODE_WARPS - 1) / (32 * ENCODE_WARPS);
#pragma unroll
        for (u32 i = 0; i < EACH; i++) {
            const u32 k = i * 32 * ENCODE_WARPS + threadIdx.x;
            if (k >= PAIRS) break;
            const uint4 two = pairs[k];
            reinterpret_cast<uint2*>(shared.entries)[k] = make_uint2(two.x, two.z);
        }
    }
    fill_raw_bits<T>(shared.raw_bits, false);
    __syncthreads();
    const i32 lane = threadIdx.x & 31, warp = (i32)(threadIdx.x >> 5), number = warp / ENCODE_ROLES, role = warp % ENCODE_ROLES;
    EncodeGroup& mine = shared.groups[number];
    // Consecutive groups go to different blocks.
    for (u64 group = blockIdx.x + (u64)gridDim.x * number; group < *(volatile u64*)&control.groups; group += (u64)gridDim.x * ENCODE_GROUPS) {
        const u64 boundary = first_tile_of(job, *(volatile u64*)&control.group_weight, group);
        const u64 first = __shfl_sync(FULL, boundary, 0), end = __shfl_sync(FULL, boundary, 16);
        Encoder<HUFFMAN> encoder(reinterpret_cast<u16*>(job.words + end * TILE_WORD_BYTES));
        for (u64 batch = first + ((end - first - 1) & ~31ull);; batch -= BATCH) {
            if (role == FETCHER) {
                fetch_chunks<T>(job, mine, batch, end);
            } else if (role == FINDER) {
                find_chunks<T, HUFFMAN>(job, shared, mine, batch, end);
            } else {
                const bool exists = batch + lane < end;
                const CodeTile tile(job, batch + lane, exists);
                find_heads<HUFFMAN>(job, mine, tile, exists);
                code_chunks(mine, encoder, tile.chunks());
                code_sizes(encoder, tile, exists);
                code_heads(mine, encoder, tile);
            }
            // The lists of the next batch take the place of those of this one.
            meet<ENCODE_ROLES>(my_group<ENCODE_ROLES>());
            if (batch == first) break;
        }
        if (role != CODER) continue;
        end_group<T>(job, encoder, group, first, end);
    }
}
