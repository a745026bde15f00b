// What reads groups of a stream: states to symbols and runs, and what comes before the lists of a batch of tiles. Nothing is read beyond
// the stream's bytes and nothing written beyond the grid, whatever the stream says. Twin: src/stage/entropy/group/decode.rs.
#pragma once
#include "opening.cuh"

// In shared memory: rANS: entries by table, and where the search for that of a slot begins; the Huffman tables are
// too large for it.
template <bool HUFFMAN>
struct DecodeTables {
    alignas(16) u32 entries[HUFFMAN ? 4 : SHARED_TABLES * ALPHABET];
    alignas(16) u8 starts[HUFFMAN ? 16 : SHARED_TABLES * (SCALE / SLOTS_PER_START)];
    u8 raw_bits[2][ALPHABET];  // the second time of anchors
};

// Raw bits of the escape, as far as it has any.
constexpr u32 ESCAPE_BITS = 255;

// A group forwards, a lane per state. Words beyond the end are zeros. The next 64 words wait in a register of each lane, and those behind
// them are on their way, so that no step waits for memory.
template <bool HUFFMAN>
struct Decoder {
    const DecodeTables<HUFFMAN>* shared;
    const Job* job;
    u32 x;
    const u16* words;  // the lane's first one of the window
    i32 left;          // words from there on
    u32 used;          // of the window: below 32 between steps
    u32 window;        // word and, above it, that 32 further on
    u32 coming;

    __device__ __forceinline__ u32 word(i32 at) const { return at < left ? words[at] : 0; }
    __device__ __forceinline__ void open(const Job& job, const DecodeTables<HUFFMAN>& tables, u64 group) {
        const u8* const bytes = job.stream + job.group_offsets[group];
        const u32 lane = threadIdx.x & 31, count = (u32)(job.group_sizes[group] & 0x3fffff) << 2;
        shared = &tables;
        this->job = &job;
        x = reinterpret_cast<const u32*>(bytes)[lane];
        words = reinterpret_cast<const u16*>(bytes + STATE_BYTES) + lane;
        left = (i32)((count - STATE_BYTES) / 2 - lane);
        used = 0;
        window = word(0) | word(32) << 16;
        coming = word(64);
    }
    __device__ __forceinline__ bool is_at_end() const {
        return !__any_sync(FULL, x != 1u << 16) && (i32)((used + 1) / 2 * 2) == left + (i32)(threadIdx.x & 31);
    }
    __device__ __forceinline__ void refill(bool active) {
        const bool need = active && x < 1u << 16;
        const u32 mask = __ballot_sync(FULL, need), at = used + __popc(mask & ((1u << (threadIdx.x & 31)) - 1));
        const u32 both = __shfl_sync(FULL, window, at);
        if (need) x = __byte_perm(both, x, at < 32 ? 0x5410 : 0x5432);
        used += __popc(mask);
        if (used >= 32) {
            used -= 32;
            left -= 32;
            words += 32;
            window = window >> 16 | coming << 16;
            coming = word(64);
        }
    }
    // As many raw bits, at most 16, as each lane asks for.
    __device__ __forceinline__ u32 raw(u32 bits) {
        const u32 value = x & ((1u << bits) - 1);
        x >>= bits;
        refill(bits > 0);
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
    // A symbol in each active lane from a table of rANS, or of Huffman codes; 0 in the others. Escapes are still to be resolved.
    template <bool NEAR>
    __device__ __forceinline__ u32 step_from(bool active, const u32* entries, const u8* starts, const u16* codes) {
        u32 symbol;
        if (HUFFMAN) {
            const u32 entry = active ? codes[x & (CODES - 1)] : 0;
            symbol = entry & 255;
            x >>= entry >> 8;
        } else {
            // The entry that begins last before the slot is nearly always one of four. (Where the search begins there are four.)
            const u32 slot = x & (SCALE - 1), key = last_entry_at(slot);
            const u32* at = entries + starts[slot / SLOTS_PER_START];
            const uint4 four = NEAR ? four_words(at) : make_uint4(at[0], at[1], at[2], at[3]);
            u32 entry = four.x;
            entry = four.y <= key ? four.y : entry;
            entry = four.z <= key ? four.z : entry;
            entry = four.w <= key ? four.w : entry;
            if (four.w <= key)
                for (at += 4; at < entries + ALPHABET && *at <= key; at++) entry = *at;
            if (active) x = entry_frequency(entry) * (x >> SCALE_BITS) + slot - entry_start(entry);
            symbol = active ? entry_symbol(entry) : 0;
        }
        refill(active);
        return symbol;
    }
    __device__ __forceinline__ void resolve_escape(u32& symbol) {
        const bool escaped = symbol == ESCAPE;
        if (__any_sync(FULL, escaped)) {
            const u32 value = raw(escaped ? 8 : 0);
            if (escaped) symbol = value;
        }
    }
    __device__ __forceinline__ const u16* codes_of(u32 table) const { return reinterpret_cast<const u16*>(job->codes) + table * CODES; }
    // By a table that is in shared memory, and by one that is not.
    __device__ __forceinline__ u32 step(bool active, u32 table) {
        const u32 at = table - FIRST_SHARED_TABLE;
        return step_from<!HUFFMAN>(active, shared->entries + at * ALPHABET, shared->starts + at * (SCALE / SLOTS_PER_START), codes_of(table));
    }
    __device__ __forceinline__ u32 head_step(bool active, u32 table) {
        const u32 at = active ? table : 0;
        u32 symbol = step_from<false>(active, job->tables + at * ALPHABET, job->slots + at * (SCALE / SLOTS_PER_START), codes_of(at));
        resolve_escape(symbol);
        return symbol;
    }
    // A step of runs: their lengths. `bad` if there is a symbol that is none.
    __device__ __forceinline__ u32 runs(bool active, u32 table, bool& bad) {
        u32 symbol = step(active, table);
        // Symbols up to here have no raw bits.
        if (!__any_sync(FULL, symbol >= 16)) return symbol;
        resolve_escape(symbol);
        bad |= __any_sync(FULL, symbol >= RUNS);
        const u32 bits = symbol < RUNS ? run_bits(symbol) : 0;
        return decode_run(symbol, raw(bits), bits);
    }
};

// The ends of a sum along the lists of a chunk: the sum up to each lane, without what lies before its list. Lanes of
// `begins` are the first ones of a list; `open` is what the list of the first lane has already.
__device__ __forceinline__ i32 sum_in_list(i32 value, u32 begins, i32 open) {
    const i32 lane = threadIdx.x & 31;
    value = (i32)sum_up_to_me((u32)value);
    const u32 mine = begins & ((2u << lane) - 1);
    const i32 begin = mine ? 31 - __clz(mine) : 0;
    const i32 before = __shfl_sync(FULL, value, begin > 0 ? begin - 1 : 0);
    return mine == 0 ? value + open : begin > 0 ? value - before : value;
}

// The masks of the tiles of a batch, from their lists. Whether these are bad.
template <bool HUFFMAN>
__device__ __forceinline__ bool decode_masks(const Job& job, Decoder<HUFFMAN>& decoder, BatchLists& lists, u64 batch, u32 my_info,
                                             bool exists, const u32 (&counts)[2]) {
    const i32 lane = threadIdx.x & 31;
    // What the lane's tile owns.
    u32 owned = 0;
    if (exists) {
        const TileShape shape = tile_shape(job, batch + lane);
        owned = (u32)shape.owned_x() << 8 | (u32)shape.owned_y();
    }
    const u32 names[2] = {(u32)lane << 1, (u32)lane << 1 | 1};
    const u32 masked = __ballot_sync(FULL, exists && mode_in(my_info) != 0);
    if (masked == 0) return false;
    for (u32 left = masked; left; left &= left - 1) {
        u32* const rows = job.masks + (batch + __ffs(left) - 1) * 64;
        rows[lane] = rows[TILE + lane] = 0;
    }
    i32 list_count, entries;
    collect_lists<2>(lists, counts, names, list_count, entries);
    i32 current = 0, open = 0;
#pragma unroll 1
    for (i32 first = 0; first < entries; first += 32) {
        u32 begins;
        const i32 list = list_of_entry(lists, first, current, begins);
        const bool active = first + lane < entries;
        const u32 name = active ? lists.names[list] : 0;
        const u64 index = batch + (name >> 1);
        bool bad = false;
        const i32 run = (i32)decoder.runs(active, MASK_RUN, bad);
        if (bad) return true;
        const i32 next = sum_in_list(active ? run + 1 : 0, begins, first == lists.starts[list] ? 0 : open), number = next - 1;
        open = __shfl_sync(FULL, next, 31);
        const u32 mine = __shfl_sync(FULL, owned, name >> 1);
        u32 byte = decoder.step(active, MASK_BYTE);
        decoder.resolve_escape(byte);
        const bool fits = number < 32 * (i32)((mine >> 8) + 7 >> 3) && (u32)(number & 31) < (mine & 255);
        if (__any_sync(FULL, active && !fits)) return true;
        if (active) atomicOr(&job.masks[index * 64 + (name & 1) * TILE + (number & 31)], byte << 8 * (number >> 5));
    }
    __syncwarp();
    // Some tiles at a time, whose rows are all asked for before the first are there. (Atomics go past the first cache.)
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
            if (i > 0 && tiles[i] == tiles[0]) break;
            const u32 states = mode_in(__shfl_sync(FULL, my_info, tiles[i])), mine = __shfl_sync(FULL, owned, tiles[i]);
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
    first = about >> 30;
    end = first + (about >> 22 & 255) + 1;
}

// The tiles of a batch whose vertices may have no symbol, from its info words.
__device__ __forceinline__ u32 masked_tiles(const Job& job, u64 batch, bool exists, u32 my_info) {
    bool whole = false;
    if (exists) {
        const TileShape shape = tile_shape(job, batch + (threadIdx.x & 31));
        whole = mode_in(my_info) == 0 && shape.last_x >= TILE - 1 && shape.last_y >= TILE - 1;
    }
    return __ballot_sync(FULL, exists && has_codes(mode_in(my_info)) && !whole);
}

// What comes before the lists of a batch: info words, entries of sparse lists (the coarse, the middle, and from bit 16 on the fine one),
// masks. Whether it is bad.
template <bool HUFFMAN>
__device__ __forceinline__ bool read_head(const Job& job, Decoder<HUFFMAN>& decoder, BatchLists& lists, bool lorenzo, u64 batch, bool exists,
                                          u32& my_info, u32& counts) {
    const i32 lane = threadIdx.x & 31;
    my_info = counts = 0;
    const u32 mode = decoder.head_step(exists, TILE_MODE);
    if (__any_sync(FULL, mode >= (lorenzo ? 9 * TIERS : 9))) return true;
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
    if (bad) return true;
#pragma unroll
    for (i32 k = 0; k < 3; k++) {
        const u32 cls = class_in(my_info, k);
        counts |= decoder.raw(coded && is_sparse(cls) ? count_bits(k, cls) : 0) << 8 * k;
    }
#pragma unroll
    for (i32 plane = 0; plane < 2; plane++)
        mask_counts[plane] = decoder.raw(exists && has_mask_list(mode_in(my_info), plane) ? MASK_COUNT_BITS : 0);
    if (exists) job.info[batch + lane] = my_info;
    return decode_masks(job, decoder, lists, batch, my_info, exists, mask_counts);
}
