// Entries of decompression from groups to symbols and anchors; restore.cuh has the rest. Nothing is read beyond the stream's bytes and
// nothing written beyond the grid, whatever the stream says. Twin: src/stage/entropy/group/decode.rs.
#pragma once
#include "opening.cuh"

// ---------------------------------------------------------------- groups

// Two warps work on a group, since a chunk's way from states to symbols in their places is a long one: the reader turns states into
// symbols, runs and raw bits; the other one plans, before, what each lane of a chunk decodes, and places, behind, what was found.
constexpr i32 DECODE_GROUPS = 4, DECODE_ROLES = 2, DECODE_WARPS = DECODE_GROUPS * DECODE_ROLES;

// What the two warps of a group tell each other. Neither writes what the other may still read: there is a barrier between chunks.
struct DecodeGroup {
    BatchLists lists;
    MaskedRows rows;
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

// In shared memory: rANS: entries by table, and where the search for that of a slot begins; the Huffman tables are
// too large for it.
template <bool HUFFMAN>
struct DecodeShared {
    alignas(16) u32 entries[HUFFMAN ? 4 : SHARED_TABLES * ALPHABET];
    alignas(16) u8 starts[HUFFMAN ? 16 : SHARED_TABLES * (SCALE / SLOTS_PER_START)];
    u8 raw_bits[2][ALPHABET];  // the second time of anchors
    DecodeGroup groups[DECODE_GROUPS];
};
static_assert(sizeof(DecodeGroup) == 2 * 288 + 1024 + 7 * 128 + 1024 + 16, "launch.rs asks for as much");
static_assert(sizeof(DecodeShared<false>) == 32 * (4 * 256 + 256) + 512 + 4 * sizeof(DecodeGroup), "launch.rs asks for as much");
static_assert(sizeof(DecodeShared<true>) == 32 + 512 + 4 * sizeof(DecodeGroup), "launch.rs asks for as much");

// What a lane of the reader does with a chunk: where its tables are among those in shared memory, and of what.
constexpr u32 PLAN_ACTIVE = 1, PLAN_LISTED = 2, PLAN_ANCHOR = 4;
__device__ __forceinline__ u32 make_plan(u32 flags, u32 table, u32 run_table) {
    return flags | (table - FIRST_SHARED_TABLE) << 8 | (run_table - FIRST_SHARED_TABLE) << 16;
}
__device__ __forceinline__ u32 table_in(u32 plan) { return (plan >> 8 & 255) + FIRST_SHARED_TABLE; }
__device__ __forceinline__ u32 run_table_in(u32 plan) { return (plan >> 16) + FIRST_SHARED_TABLE; }

// What the reader found: a symbol, the run before it, and whether there are raw bits, up to 64 or more.
constexpr u32 FOUND_RAW = 1u << 31, FOUND_MORE = 1u << 30;
__device__ __forceinline__ u32 symbol_found(u32 found) { return (found & 255) < STORED ? found & 255 : STORED; }
__device__ __forceinline__ i32 run_found(u32 found) { return (i32)(found >> 8 & 0xffff); }
// Raw bits of the escape, as far as it has any.
constexpr u32 ESCAPE_BITS = 255;

// A group forwards, a lane per state. Words beyond the end are zeros. The next 64 words wait in a register of each lane, and those behind
// them are on their way, so that no step waits for memory.
template <bool HUFFMAN>
struct Decoder {
    const DecodeShared<HUFFMAN>* shared;
    const Job* job;
    u32 x;
    const u16* words;  // the lane's first one of the window
    i32 left;          // words from there on
    u32 used;          // of the window: below 32 between steps
    u32 window;        // word and, above it, that 32 further on
    u32 coming;

    __device__ __forceinline__ u32 word(i32 at) const { return at < left ? words[at] : 0; }
    __device__ __forceinline__ void open(const u8* bytes, u32 count) {
        const u32 lane = threadIdx.x & 31;
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
        const u32 both = __shfl_sync(FULL, window, at & 31);
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
    // A symbol in each active lane from a table of rANS, or of Huffman codes; 0 in the others. Escapes are still to be resolved.
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
            u32 entry = at[0];
            const u32 second = at[1], third = at[2], fourth = at[3];
            entry = second <= key ? second : entry;
            entry = third <= key ? third : entry;
            entry = fourth <= key ? fourth : entry;
            if (fourth <= key)
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
        return step_from(active, shared->entries + at * ALPHABET, shared->starts + at * (SCALE / SLOTS_PER_START), codes_of(table));
    }
    __device__ __forceinline__ u32 head_step(bool active, u32 table) {
        const u32 at = active ? table : 0;
        u32 symbol = step_from(active, job->tables + at * ALPHABET, job->slots + at * (SCALE / SLOTS_PER_START), codes_of(at));
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
#pragma unroll
    for (i32 k = 1; k < 32; k *= 2) {
        const i32 other = __shfl_up_sync(FULL, value, k);
        if (lane >= k) value += other;
    }
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

// What comes before the lists of a batch: info words, sizes of lists, masks. Whether it is bad.
template <bool HUFFMAN>
__device__ __forceinline__ bool read_head(const Job& job, Decoder<HUFFMAN>& decoder, DecodeGroup& shared, bool lorenzo, u64 batch, bool exists) {
    const i32 lane = threadIdx.x & 31;
    const u32 mode = decoder.head_step(exists, TILE_MODE);
    if (__any_sync(FULL, mode >= (lorenzo ? 9 * TIERS : 9))) return true;
    u32 my_info = info_of_mode(mode), counts = 0, mask_counts[2];
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
    shared.tiles.infos[lane] = my_info;
    shared.tiles.counts[lane] = counts;
    return decode_masks(job, decoder, shared.lists, batch, my_info, exists, mask_counts);
}

// The reader: symbols, runs and raw bits from the states. Whether the group is bad.
template <typename T, bool HUFFMAN>
__device__ __forceinline__ bool read_chunks(const Job& job, const DecodeShared<HUFFMAN>& all, DecodeGroup& shared, i32 number, bool lorenzo,
                                            u64 group, u64 first, u64 end) {
    const i32 lane = threadIdx.x & 31;
    Decoder<HUFFMAN> decoder;
    decoder.shared = &all;
    decoder.job = &job;
    decoder.open(job.stream + job.group_offsets[group], (u32)(job.group_sizes[group] & 0x3fffff) << 2);
    bool bad = false;
    for (u64 batch = first; batch < end; batch += BATCH) {
        if (!bad) bad = read_head(job, decoder, shared, lorenzo, batch, batch + lane < end);
        if (lane == 0) shared.reader_bad = bad;
        meet<DECODE_ROLES>(number);
        if (shared.reader_bad | shared.placer_bad) {
            meet<DECODE_ROLES>(number);
            return bad;
        }
        meet<DECODE_ROLES>(number);
        const i32 entries = (i32)shared.entries;
        u32 next_plan = shared.plans[0][lane];
#pragma unroll 1
        for (i32 from = 0; from < entries; from += 32) {
            const u32 plan = next_plan, slot = from >> 5 & 1;
            u32 run = 0;
            if (__any_sync(FULL, plan & PLAN_LISTED)) run = decoder.runs(plan & PLAN_LISTED, run_table_in(plan), bad) << 8;
            u32 symbol = decoder.step(plan & PLAN_ACTIVE, table_in(plan));
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
                    if (lorenzo && sizeof(T) == 4) bad |= __any_sync(FULL, bits > 64);
                    u64 low = 0, high = 0;
#pragma unroll 1
                    for (u32 at = 0; __any_sync(FULL, bits > at); at += 16) {
                        const u64 value = decoder.raw(bits > at ? (bits - at < 16 ? bits - at : 16) : 0);
                        if (at < 64)
                            low |= value << at;
                        else
                            high |= value << (at - 64);
                    }
                    raw[0] = low;
                    raw[32] = high;
                }
            }
            shared.found[slot][lane] = symbol | run | (bits > 0 ? FOUND_RAW : 0) | (bits > 64 ? FOUND_MORE : 0);
            meet<DECODE_ROLES>(number);
        }
        meet<DECODE_ROLES>(number);
    }
    return bad || !decoder.is_at_end();
}

// The other warp: plans, and symbols and raw bits to their places. Whether the group is bad; `exact` counts stored values.
template <typename T>
__device__ __forceinline__ bool place_chunks(const Job& job, DecodeGroup& shared, i32 number, bool lorenzo, u64 first, u64 end, u32& exact) {
    typedef typename Payload<T>::Type P;
    const i32 lane = threadIdx.x & 31;
    BatchLists& lists = shared.lists;
    bool bad = false;
    for (u64 batch = first; batch < end; batch += BATCH) {
        const bool exists = batch + lane < end;
        if (lane == 0) shared.placer_bad = bad;
        meet<DECODE_ROLES>(number);
        if (shared.reader_bad | shared.placer_bad) {
            meet<DECODE_ROLES>(number);
            return bad;
        }
        const u32 my_info = shared.tiles.infos[lane], packed = shared.tiles.counts[lane];
        const u32 counts[3] = {packed & 255, packed >> 8 & 255, packed >> 16};
        const u32 masked = masked_tiles(job, batch, exists, my_info);
        if (masked) load_masked_rows(job, shared.rows, batch, my_info, masked);
        u32 sizes[TILE_LISTS], names[TILE_LISTS];
        code_lists(my_info, exists && has_codes(mode_in(my_info)), counts, sizes, names);
        i32 list_count, entries, current = 0, open = 0;
        collect_lists<TILE_LISTS>(lists, sizes, names, list_count, entries);
        if (lane == 0) shared.entries = (u32)entries;
        shared.steps[lane] = 0;
        u32 row = 0xffffffffu;
        // What the lane has to place: a name, a position but for entries of sparse lists, and how to find it from the runs.
        constexpr u32 HERE = 1, LISTED = 2, FIRST = 4;
        auto plan = [&](i32 from) -> u32 {
            u32 begins;
            const i32 e = from + lane, list = list_of_entry(lists, from, current, begins);
            const bool here = e < entries;
            const u32 name = here ? lists.names[list] : 0, kind = list_in_tile(name), cls = class_of_list(name), t = tile_of_list(name);
            const i32 at = here ? e - lists.starts[list] : 0, start = list_start(kind);
            const bool listed = here && !is_dense(name);
            // The position of an entry of a sparse list is not known yet, nor therefore whether it has a symbol.
            const i32 position = listed ? start : start + at;
            bool active = here;
            if (here && !listed && masked >> t & 1) active = is_active(job, shared.rows, lorenzo, batch, t, masked, position);
            const u32 flags = (active ? PLAN_ACTIVE : 0) | (listed ? PLAN_LISTED : 0) | (position == 0 ? PLAN_ANCHOR : 0);
            shared.plans[from >> 5 & 3][lane] = make_plan(flags, table_in_list(kind, cls, position), listed ? RUN + cls - 1 : (u32)RUN);
            return (here ? HERE : 0) | (listed ? LISTED : 0) | (at == 0 ? FIRST : 0) | (u32)position << 4 | name << 16;
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
                // What comes first of a row of 32 positions clears it. Dense lists are complete, and rows begin with them but in sparse ones.
                bool clears = here && (position & 31) == 0;
                if (__any_sync(FULL, listed)) {
                    const i32 sum = sum_in_list(listed ? run_found(found) + 1 : 0, __ballot_sync(FULL, where & FIRST), open);
                    open = __shfl_sync(FULL, sum, 31);
                    bool wrong = false;
                    if (listed) {
                        position += sum - 1;
                        wrong = position >= list_end(list_in_tile(name));
                        if (!wrong && masked >> t & 1) wrong = !is_active(job, shared.rows, lorenzo, batch, t, masked, position);
                    }
                    bad |= __any_sync(FULL, wrong);
                    const u32 before_mine = __shfl_up_sync(FULL, t << 5 | (u32)position >> 5, 1), before_first = __shfl_sync(FULL, row, 31);
                    row = t << 5 | (u32)position >> 5;
                    clears = here && row != (lane == 0 ? before_first : before_mine);
                } else {
                    open = 0;
                    row = t << 5 | (u32)position >> 5;
                }
                if (!bad) {
                    const u64 vertex = (batch + t) * TILE_VERTICES + position;
                    u8* const to = job.symbols + vertex;
                    if (clears) {
                        uint4* const first_of_row = reinterpret_cast<uint4*>(to - (position & 31));
                        first_of_row[0] = first_of_row[1] = make_uint4(0, 0, 0, 0);
                        atomicOr(&shared.steps[t], 1u << (position >> 5));
                    }
                    __syncwarp();
                    if (symbol != SYMBOL_ZERO) *to = (u8)symbol;
                    if (found & FOUND_RAW) {
                        exact += symbol == STORED;
                        const u64 low = shared.raw[slot][0][lane], high = sizeof(T) == 8 || found & FOUND_MORE ? shared.raw[slot][1][lane] : 0;
                        reinterpret_cast<P*>(job.payload)[vertex] = Payload<T>::make(low, high);
                        if (!lorenzo && has_digits(symbol, position) && symbol != STORED) {
                            const u32 own = symbol_raw_bits(symbol);
                            const u32 digits = (u32)(own == 0 ? low : own < 64 ? low >> own | high << (64 - own) : high);
                            // In the place of the anchor's value, which is made from it.
                            reinterpret_cast<typename Real<T>::Pair*>(job.anchors)[batch + t].x = Real<T>::from_bits(digits);
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
        if (exists) job.steps[batch + lane] = shared.steps[lane];
    }
    return bad;
}

// Grid: any. Block: 32 * DECODE_WARPS, two warps for a group at a time. Dynamic shared: DecodeShared. Symbols, payloads,
// masks and info of the tiles of streams with this coder; nothing for others. Symbols of a step of 32 positions are
// written only where one of them is in a list: job.steps says which.
template <typename T, bool HUFFMAN>
__device__ __forceinline__ void decode_groups(const Job& job) {
    LAUNCHED_SHARED(DecodeShared<HUFFMAN>, shared);
    Control& control = control_of(job);
    if (control.status != STATUS_OK || control.content != CONTENT_CODED || (control.coder == CODER_HUFFMAN) != HUFFMAN) return;
    const bool lorenzo = control.predictor == PREDICTOR_LORENZO;
    const u64 groups = control.groups;
    if (blockIdx.x >= groups) return;
    if (!HUFFMAN) {
        copy_words<SHARED_TABLES * ALPHABET, 32 * DECODE_WARPS>(shared.entries, job.tables + FIRST_SHARED_TABLE * ALPHABET);
        copy_words<sizeof(shared.starts) / 4, 32 * DECODE_WARPS>(
            reinterpret_cast<u32*>(shared.starts), reinterpret_cast<const u32*>(job.slots + FIRST_SHARED_TABLE * (SCALE / SLOTS_PER_START)));
    }
    for (u32 k = threadIdx.x; k < 2 * ALPHABET; k += blockDim.x) {
        const u32 symbol = k % ALPHABET, anchor = k / ALPHABET;
        // Digits follow all codes of the Lorenzo predictor, as they do those of an anchor.
        // What is no symbol is taken for a stored value.
        shared.raw_bits[anchor][symbol] =
            symbol == ESCAPE ? (u8)ESCAPE_BITS : (u8)raw_bits(symbol < STORED ? symbol : STORED, lorenzo || anchor ? 0 : 1, sizeof(T));
    }
    if (!HUFFMAN) {
        // The tables of modes and classes, of which every batch asks: where the search begins, and their few entries.
        constexpr u32 SECTORS = SCALE / SLOTS_PER_START / 32;
        const u32 table = threadIdx.x / (SECTORS + 1), sector = threadIdx.x % (SECTORS + 1);
        if (table < FIRST_SHARED_TABLE) {
            const void* const at = sector < SECTORS ? static_cast<const void*>(job.slots + table * (SCALE / SLOTS_PER_START) + 32 * sector)
                                                    : static_cast<const void*>(job.tables + table * ALPHABET);
            prefetch_near(at);
        }
    }
    __syncthreads();
    const i32 warp = (i32)(threadIdx.x >> 5), number = warp / DECODE_ROLES;
    DecodeGroup& mine = shared.groups[number];
    // Consecutive groups go to different blocks.
    for (u64 group = blockIdx.x + (u64)gridDim.x * number; group < groups; group += (u64)gridDim.x * DECODE_GROUPS) {
        u64 first, end;
        tiles_of_group(job, group, first, end);
        bool bad = false;
        if (warp % DECODE_ROLES == 0) {
            bad = read_chunks<T, HUFFMAN>(job, shared, mine, number, lorenzo, group, first, end);
        } else {
            u32 exact = 0;
            bad = place_chunks<T>(job, mine, number, lorenzo, first, end, exact);
            exact = warp_sum(exact);
            if (exact && (threadIdx.x & 31) == 0) atomicAdd((ull*)&control.exact, (ull)exact);
        }
        if (bad && (threadIdx.x & 31) == 0) fail(control, STATUS_CORRUPT_STREAM);
    }
}
