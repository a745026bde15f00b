// What reads groups of a stream: states to symbols and runs, and what comes before the lists of a batch of
// tiles. Nothing is read beyond the stream's bytes and nothing written beyond the grid, whatever the stream
// says. Twin: src/entropy/groups/decode.rs.
#pragma once
#include "decompress/parse.cuh"

// In shared memory: rANS: for each table where the search for the entry of a slot begins, and its entries;
// then a table that leaves a state as it is. The Huffman tables are too large for it.
constexpr u32 DECODE_TABLE_BYTES = STARTS_BYTES + ALPHABET * sizeof(u32), NO_TABLE_ENTRIES = 4;
template <bool HUFFMAN>
struct DecodeTables {
    alignas(16) u8
        bytes[HUFFMAN ? 16
                      : SHARED_TABLES * DECODE_TABLE_BYTES + STARTS_BYTES + NO_TABLE_ENTRIES * sizeof(u32)];
    u8 raw_bits[2][ALPHABET];  // the second time of anchors
};

// From global memory to shared memory, by a block of so many threads.
template <u32 THREADS>
__device__ __forceinline__ void copy_decode_tables(const Job& job, DecodeTables<false>& tables) {
    const uint4* const entries = reinterpret_cast<const uint4*>(job.tables + FIRST_SHARED_TABLE * ALPHABET);
    const uint4* const starts = reinterpret_cast<const uint4*>(job.slots + FIRST_SHARED_TABLE * STARTS_BYTES);
    uint4* const to = reinterpret_cast<uint4*>(tables.bytes);
    constexpr u32 ENTRY_FOURS = ALPHABET / 4, START_FOURS = STARTS_BYTES / 16,
                  TABLE_FOURS = DECODE_TABLE_BYTES / 16;
    static_assert(SHARED_TABLES * ENTRY_FOURS % THREADS == 0 && SHARED_TABLES * START_FOURS % THREADS == 0,
        "all threads have as much to do");
#pragma unroll
    for (u32 i = 0; i < SHARED_TABLES * ENTRY_FOURS / THREADS; i++) {
        const u32 k = i * THREADS + threadIdx.x;
        to[k / ENTRY_FOURS * TABLE_FOURS + START_FOURS + k % ENTRY_FOURS] = entries[k];
    }
#pragma unroll
    for (u32 i = 0; i < SHARED_TABLES * START_FOURS / THREADS; i++) {
        const u32 k = i * THREADS + threadIdx.x;
        to[k / START_FOURS * TABLE_FOURS + k % START_FOURS] = starts[k];
    }
    if (threadIdx.x <= START_FOURS) {
        const u32 all = threadIdx.x < START_FOURS ? 0 : decode_entry(SCALE, 0, 0);
        to[SHARED_TABLES * TABLE_FOURS + threadIdx.x] = make_uint4(all, all, all, all);
    }
}

// In place of a run whose symbol is none: 32 of them fit what they are summed up in.
constexpr u32 NO_RUN = 0xffff;
// Raw bits of the escape, as far as it has any.
constexpr u32 ESCAPE_BITS = 255;

// A group forwards, a lane per state. Words beyond the end are zeros. They wait in shared memory: the block
// of 64 of them in which the next one is, and the one behind it; what follows is on its way, so that no step
// waits for memory. The first block is there twice, also behind the second one.
constexpr u32 WORD_BLOCK_BYTES = 2 * 64;
struct GroupWords {
    u32 pairs[3 * WORD_BLOCK_BYTES / 4];
};
template <bool HUFFMAN>
struct Decoder {
    // How far the tables are from each other, and the number of one that leaves a state as it is.
    static constexpr u32 STRIDE = HUFFMAN ? CODES * sizeof(u16) : DECODE_TABLE_BYTES, NO_TABLE = TABLES;
    const Job* job;
    // The places of table 0, if it were there, and of the first ones of symbols and of runs of lists.
    u32 tables, symbol_tables, run_tables;
    u32 below;  // lanes below this one
    u32 x;
    u32 ring;  // the place of the words
    u32 at;    // that of the next one, and the end of its block
    u32 end_of_block;
    const u32* pairs;  // of words: the lane's one behind those that are there or come
    i32 left;          // pairs from there on
    u32 coming;

    __device__ __forceinline__ u32 next_pair() {
        const u32 pair = left > 0 ? *pairs : 0;
        pairs += 32;
        left -= 32;
        return pair;
    }
    // Whether the group may be good: no encoder ends with a state below these.
    __device__ __forceinline__ bool open(
        const Job& job, const DecodeTables<HUFFMAN>& tables, GroupWords& words, u64 group) {
        const u8* const bytes = job.stream + job.group_offsets[group];
        const u32 lane = threadIdx.x & 31, count = (u32)(job.group_sizes[group] & 0x3fffff) << 2;
        this->job = &job;
        this->tables = HUFFMAN ? 0 : shared_place(tables.bytes) - FIRST_SHARED_TABLE * DECODE_TABLE_BYTES;
        // Not as something that is found anew from the other.
        symbol_tables = warp_or(place_of(ANCHOR_TABLE)), run_tables = warp_or(place_of(RUN));
        below = (1u << lane) - 1;
        x = reinterpret_cast<const u32*>(bytes)[lane];
        pairs = reinterpret_cast<const u32*>(bytes + STATE_BYTES) + lane;
        left = (i32)((count - STATE_BYTES) / 4 - lane);
        ring = at = shared_place(words.pairs);
        end_of_block = ring + WORD_BLOCK_BYTES;
        const u32 first = next_pair(), second = next_pair();
        coming = next_pair();
        __syncwarp();
        put_shared(ring + 4 * lane, first);
        put_shared(ring + 4 * lane + WORD_BLOCK_BYTES, second);
        put_shared(ring + 4 * lane + 2 * WORD_BLOCK_BYTES, first);
        __syncwarp();
        return !__any_sync(FULL, x < 1u << 16);
    }
    __device__ __forceinline__ bool is_at_end() const {
        const i32 of_block = (i32)(at - (end_of_block - WORD_BLOCK_BYTES)) / 2;
        return !__any_sync(FULL, x != 1u << 16) &&
               (of_block + 1) / 2 == left + (i32)(threadIdx.x & 31) + 3 * 32;
    }
    // States are never below 2^16 but before this. Between two times that move_on looks at it the place moves
    // by 64 words at most.
    __device__ __forceinline__ void refill() {
        const bool need = x < 1u << 16;
        const u32 mask = __ballot_sync(FULL, need), word = shared_half(at + 2 * __popc(mask & below));
        if (need) x = __byte_perm(word, x, 0x5410);
        at += 2 * __popc(mask);
    }
    __device__ __forceinline__ void move_on() {
        if (__any_sync(FULL, at >= end_of_block)) {
            const u32 mine = ring + 4 * (threadIdx.x & 31);
            __syncwarp();
            if (end_of_block == ring + WORD_BLOCK_BYTES) {
                put_shared(mine, coming);
                put_shared(mine + 2 * WORD_BLOCK_BYTES, coming);
                end_of_block += WORD_BLOCK_BYTES;
            } else {
                put_shared(mine + WORD_BLOCK_BYTES, coming);
                at -= 2 * WORD_BLOCK_BYTES;
                end_of_block -= WORD_BLOCK_BYTES;
            }
            __syncwarp();
            coming = next_pair();
        }
    }
    // As many raw bits, at most 16, as each lane asks for.
    __device__ __forceinline__ u32 raw(u32 bits) {
        const u32 value = x & ((1u << bits) - 1);
        x >>= bits;
        refill();
        move_on();
        return value;
    }
    // Any number of raw bits, at most 128.
    __device__ __forceinline__ void long_raw(u32 bits, u64& low, u64& high) {
        low = high = 0;
#pragma unroll 1
        for (u32 at = 0; __any_sync(FULL, bits > at); at += 16) {
            const u64 value = raw(bits > at ? (bits - at < 16 ? bits - at : 16) : 0);
            if (at < 64)
                low |= value << at;
            else
                high |= value << (at - 64);
        }
    }
    // The place of a table that is in shared memory: its address, or of one of Huffman codes, how far it is
    // behind the first.
    __device__ __forceinline__ u32 place_of(u32 table) const { return tables + table * STRIDE; }
    // A symbol from a table of that kind. Escapes are still to be resolved.
    __device__ __forceinline__ u32 step(u32 place) {
        u32 symbol;
        if (HUFFMAN) {
            symbol = code_step(place < NO_TABLE * STRIDE, place);
        } else {
            // The entry is nearly always one of three. (Where the search begins there are four.)
            const u32 key = slot_key(x), at = place + 4 * shared_byte(place + (key >> (32 - 8)));
            static_assert(STARTS_BYTES == 1 << 8, "a start for each byte");
            const uint4 four = four_words<STARTS_BYTES>(at);
            u32 found = min(min(key - four.x, key - four.y), key - four.z);
            if (__any_sync(FULL, four.w <= key))
                found = search(found, key, at + STARTS_BYTES + 12, place + DECODE_TABLE_BYTES);
            x = state_behind(x, found);
            symbol = slot_symbol(found);
        }
        refill();
        return symbol;
    }
    // Among the entries from a place on.
    static __device__ __forceinline__ u32 search(u32 found, u32 key, u32 at, u32 end) {
#pragma unroll 1
        for (; at < end; at += 4) {
            const u32 entry = shared_word(at);
            if (entry > key) break;
            found = key - entry;
        }
        return found;
    }
    __device__ __forceinline__ u32 code_step(bool active, u32 place) {
        const u32 entry = active ? *reinterpret_cast<const u16*>(reinterpret_cast<const u8*>(job->codes) +
                                                                 (place + sizeof(u16) * (x & (CODES - 1))))
                                 : 0;
        x >>= entry >> 8;
        return entry & 255;
    }
    // By any table, for those who seldom ask; 0 in lanes that are not active.
    __device__ __forceinline__ u32 head_step(bool active, u32 table) {
        u32 symbol = 0;
        if (HUFFMAN) {
            symbol = code_step(active, table * STRIDE);
        } else if (active) {
            const u32 key = slot_key(x);
            const u32* const end = job->tables + (table + 1) * ALPHABET;
            const u32* at = end - ALPHABET + job->slots[table * STARTS_BYTES + (key >> (32 - 8))];
            const u32 four[4] = {at[0], at[1], at[2], at[3]};
            u32 found = min(min(key - four[0], key - four[1]), key - four[2]);
            if (four[3] <= key)
                for (at += 3; at < end && *at <= key; at++) found = key - *at;
            x = state_behind(x, found);
            symbol = slot_symbol(found);
        }
        refill();
        move_on();
        resolve_escape(symbol);
        return symbol;
    }
    __device__ __forceinline__ void resolve_escape(u32& symbol) {
        const bool escaped = symbol == ESCAPE;
        if (__any_sync(FULL, escaped)) {
            const u32 value = raw(escaped ? 8 : 0);
            if (escaped) symbol = value;
        }
    }
    // A step of runs: their lengths, and of a symbol that is none more than any tile has.
    __device__ __forceinline__ u32 runs(u32 place) {
        const u32 symbol = step(place);
        if (!__any_sync(FULL, symbol >= FIRST_RUN_WITH_RAW_BITS)) return symbol;
        if (__any_sync(FULL, symbol >= RUNS)) return escaped_runs(symbol);
        const u32 bits = run_bits(symbol);
        return decode_run(symbol, raw(bits), bits);
    }
    __device__ __forceinline__ u32 escaped_runs(u32 symbol) {
        resolve_escape(symbol);
        const u32 bits = symbol < RUNS ? run_bits(symbol) : 0, run = decode_run(symbol, raw(bits), bits);
        return symbol < RUNS ? run : NO_RUN;
    }
};

// The ends of a sum along the lists of a chunk: the sum up to each lane, without what lies before its list.
// Lanes of `begins` are the first ones of a list; `open` is what the list of the first lane has already.
__device__ __forceinline__ i32 sum_in_list(i32 value, u32 begins, i32 open) {
    const i32 lane = threadIdx.x & 31;
    value = (i32)sum_up_to_me((u32)value);
    const u32 mine = begins & ((2u << lane) - 1);
    const i32 begin = mine ? 31 - __clz(mine) : 0;
    const i32 before = __shfl_sync(FULL, value, begin > 0 ? begin - 1 : 0);
    return mine == 0 ? value + open : begin > 0 ? value - before : value;
}

// The masks of the tiles of a batch, from their lists. Whether these are bad.
template <bool HUFFMAN, typename Lists>
__device__ __forceinline__ bool decode_masks(const Job& job, Decoder<HUFFMAN>& decoder, Lists& lists,
    u64 batch, u32 my_info, bool exists, const u32 (&counts)[2]) {
    const i32 lane = threadIdx.x & 31;
    // What the lane's tile owns.
    u32 owned = 0;
    if (exists) {
        const TileShape shape = tile_shape(job, batch + lane);
        owned = (u32)shape.owned_x() << 8 | (u32)shape.owned_y();
    }
    const u32 names[2] = {(u32)lane << 1, (u32)lane << 1 | 1};
    const u32 masked = warp_or(__ballot_sync(FULL, exists && mode_in(my_info) != 0));
    if (masked == 0) return false;
    for (u32 left = masked; left; left &= left - 1) {
        u32* const rows = job.masks + (batch + __ffs(left) - 1) * 64;
        rows[lane] = rows[TILE + lane] = 0;
    }
    i32 list_count, entries;
    collect_lists<2>(lists, counts, names, list_count, entries);
    entries = (i32)warp_or((u32)entries);
    i32 current = 0, open = 0;
#pragma unroll 1
    for (i32 first = 0; first < entries; first += 32) {
        u32 begins;
        const i32 list = list_of_entry(lists, first, current, begins);
        const bool active = first + lane < entries;
        const u32 name = active ? lists.names[list] : 0;
        const u64 index = batch + (name >> 1);
        const i32 run = (i32)decoder.runs(decoder.place_of(active ? MASK_RUN : decoder.NO_TABLE));
        const i32 next = sum_in_list(active ? run + 1 : 0, begins, first == lists.starts[list] ? 0 : open),
                  number = next - 1;
        open = __shfl_sync(FULL, next, 31);
        const u32 mine = __shfl_sync(FULL, owned, name >> 1);
        u32 byte = decoder.step(decoder.place_of(active ? MASK_BYTE : decoder.NO_TABLE));
        decoder.move_on();
        decoder.resolve_escape(byte);
        const bool fits = number < 32 * (i32)((mine >> 8) + 7 >> 3) && (u32)(number & 31) < (mine & 255);
        if (warp_or(active && !fits)) return true;
        if (active)
            atomicOr(&job.masks[index * 64 + (name & 1) * TILE + (number & 31)], byte << 8 * (number >> 5));
    }
    __syncwarp();
    // Some tiles at a time, whose rows are all asked for before the first are there. (Atomics go past the
    // first cache.)
    constexpr i32 AHEAD = 4;
    for (u32 left = masked; left;) {
        i32 tiles[AHEAD];
        u32 rows[AHEAD][2];
#pragma unroll
        for (i32 i = 0; i < AHEAD; i++) {
            tiles[i] = left ? __ffs(left) - 1 : tiles[0];
            left &= left - 1;
            const u32* const from = job.masks + (batch + tiles[i]) * 64 + lane;
            rows[i][0] = __ldcg(from);
            rows[i][1] = __ldcg(from + TILE);
        }
#pragma unroll
        for (i32 i = 0; i < AHEAD; i++) {
            if (i > 0 && warp_or(tiles[i] == tiles[0])) break;
            const u32 states = warp_or(mode_in(__shfl_sync(FULL, my_info, tiles[i]))),
                      mine = __shfl_sync(FULL, owned, tiles[i]);
            const u32 all = lane < (i32)(mine & 255) ? row_mask((i32)(mine >> 8)) : 0;
#pragma unroll
            for (i32 plane = 0; plane < 2; plane++) {
                const u32 state = plane == 0 ? states / 3 : states % 3;
                u32 row = state == MASK_ALL ? all : 0;
                if (state == MASK_SOME) {
                    // Rows are stored as differences: an exclusive-or over the rows before.
                    row = rows[i][plane];
                    for (i32 k = 1; k < 32; k *= 2) {
                        const u32 other = __shfl_up_sync(FULL, row, k);
                        if (lane >= k) row ^= other;
                    }
                    row &= all;
                }
                job.masks[(batch + tiles[i]) * 64 + plane * TILE + lane] = row;
            }
        }
    }
    __syncwarp();
    return false;
}

// The tiles of a group, as open_stream packed them.
__device__ __forceinline__ void tiles_of_group(const Job& job, u64 group, u64& first, u64& end) {
    const u64 about = job.group_sizes[group];
    first = warp_or((u32)(about >> 30));
    end = first + warp_or((u32)(about >> 22) & 255) + 1;
}

// The tiles of a batch whose vertices may have no symbol, from its info words.
__device__ __forceinline__ u32 masked_tiles(const Job& job, u64 batch, bool exists, u32 my_info) {
    bool whole = false;
    if (exists) {
        const TileShape shape = tile_shape(job, batch + (threadIdx.x & 31));
        whole = mode_in(my_info) == 0 && shape.last_x >= TILE - 1 && shape.last_y >= TILE - 1;
    }
    return warp_or(__ballot_sync(FULL, exists && has_codes(mode_in(my_info)) && !whole));
}

// What comes before the lists of a batch: info words, entries of sparse lists (the coarse, the middle, and
// from bit 16 on the fine one), masks. Whether it is bad.
template <bool HUFFMAN, typename Lists>
__device__ __forceinline__ bool read_head(const Job& job, Decoder<HUFFMAN>& decoder, Lists& lists, u64 batch,
    bool exists, u32& my_info, u32& counts) {
    const i32 lane = threadIdx.x & 31;
    my_info = counts = 0;
    const u32 mode = decoder.head_step(exists, TILE_MODE);
    if (warp_or(mode >= 9)) return true;
    u32 mask_counts[2];
    my_info = info_of_mode(mode);
    const bool coded = exists && has_codes(mode_in(my_info));
    bool bad = false;
#pragma unroll
    for (i32 k = 0; k < 3; k++) {
        const u32 cls = decoder.head_step(coded, class_table(my_info, k));
        bad |= __any_sync(FULL, cls >= CLASSES);
        // A class beyond the last would lead beyond the tables.
        my_info |= (cls & (CLASSES - 1)) << (8 + 8 * k);
    }
    if (warp_or(bad)) return true;
#pragma unroll
    for (i32 k = 0; k < 3; k++) {
        const u32 cls = class_in(my_info, k);
        counts |= decoder.raw(coded && is_sparse(cls) ? count_bits(k, cls) : 0) << 8 * k;
    }
#pragma unroll
    for (i32 plane = 0; plane < 2; plane++)
        mask_counts[plane] =
            decoder.raw(exists && has_mask_list(mode_in(my_info), plane) ? MASK_COUNT_BITS : 0);
    if (exists) job.info[batch + lane] = my_info;
    return decode_masks(job, decoder, lists, batch, my_info, exists, mask_counts);
}
