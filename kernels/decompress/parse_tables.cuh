// Makes decoding tables from their stored form, an entry per thread. Twins: src/entropy/tables.rs, rans.rs
// and huffman.rs.
#pragma once
#include "decompress/status.cuh"
#include "entropy/huffman.cuh"

// Entry of a stored table, decoded at any bit: gap to the previous symbol, a field of four bits, and as many
// bits of frequency as the field says.
struct StoredEntry {
    u32 gap, field, frequency, bits;
    bool good;  // false for a gap that no encoder writes
};
__device__ __forceinline__ StoredEntry stored_entry(const u32* words, u32 at, bool lengths) {
    const u32* const from = words + (at >> 5);
    const u64 bits = __funnelshift_r(from[0], from[1], at) | (u64)__funnelshift_r(from[1], from[2], at) << 32;
    const u32 length = (u32)__clz(__brev((u32)bits));
    StoredEntry e = {0, 0, 0, 0, length <= 8};
    if (e.good) {
        e.gap = 1u << length | ((u32)(bits >> (length + 1)) & ((1u << length) - 1));
        e.field = (u32)(bits >> (2 * length + 1)) & 15;
        e.frequency = 1u << e.field | ((u32)(bits >> (2 * length + 5)) & ((1u << e.field) - 1));
        e.bits = 2 * length + 5 + (lengths ? 0 : e.field);
    }
    return e;
}

// A block loads the first words of the stream at once, before it knows where its table is.
constexpr u32 FIRST_WORDS = 2 * PARSE_THREADS;
constexpr u32 MOST_TABLE_BITS = STORED_WORDS * 32;
constexpr u32 ENTRY_WARPS = ALPHABET / 32;  // warps with a table entry per thread
struct TableReader {
    u32 words[FIRST_WORDS + 2];  // the padding is read only by invalid entries
    // For each bit: where an entry that started there would end; later, the end of several entries.
    u16 ends[2][MOST_TABLE_BITS + 2];
    // Per warp of entries: sums of gaps and of code space, and numbers of codes by length.
    u32 gaps[ENTRY_WARPS], taken[ENTRY_WARPS], lengths[ENTRY_WARPS][16];
    // Sorted entries: start in the code space, and symbol.
    u32 starts[ALPHABET], symbols[ALPHABET];
};
struct TableEntry {
    bool exists;                           // the thread has an entry, number my_entry()
    u32 symbol, field, frequency, before;  // before: code space of the entries before
};
// Lanes with a code of the same length.
__device__ __forceinline__ u32 same_length(const TableEntry& mine) {
    u32 same = __ballot_sync(FULL, mine.exists);
#pragma unroll
    for (u32 bit = 0; bit < 4; bit++) {
        const u32 ones = __ballot_sync(FULL, mine.field >> bit & 1);
        same &= mine.field >> bit & 1 ? ones : ~ones;
    }
    return same;
}
__device__ __forceinline__ void count_lengths(u32* lengths, const TableEntry& mine) {
    const u32 same = same_length(mine);
    if (mine.exists && (same & ((1u << (threadIdx.x & 31)) - 1)) == 0) lengths[mine.field] = __popc(same);
}

// A word of the stream, or 0 beyond its end.
__device__ __forceinline__ u32 load_word(const Job& job, const u32* stream, u32 k) {
    return 4 * ((u64)k + 1) <= job.stream_bytes ? stream[k] : 0;
}

// Entry of this thread. The last warps have entries, since the first ones have the bits, of which few tables
// need all.
__device__ __forceinline__ u32 my_entry() { return threadIdx.x ^ (PARSE_THREADS - ALPHABET); }
// Bit offset of this thread's entry: follows the entry ends in powers of four. The first is at `at`.
__device__ __forceinline__ u32 find_entry(TableReader& shared, u32 at, u32 bits, u32 count) {
    const u32 entry = my_entry();
    const u16* from = shared.ends[0];
    u16* to = shared.ends[1];
    u32 last = count - 1, steps = entry < count ? entry : 0;
#pragma unroll 1
    for (; last > 0; last /= 4, steps /= 4) {
        if (steps % 4 > 0) at = from[at];
        if (steps % 4 > 1) at = from[at];
        if (steps % 4 > 2) at = from[at];
        if (last > 3) {
#pragma unroll 1
            for (u32 p = threadIdx.x; p < bits + 2; p += PARSE_THREADS) to[p] = from[from[from[from[p]]]];
        }
        __syncthreads();
        u16* const next = const_cast<u16*>(from);
        from = to;
        to = next;
    }
    return at;
}
// Reads a stored table of `size` > 0 bytes (lengths or frequencies), an entry per thread. True if an encoder
// could have written it: the entries fill the code space.
__device__ __forceinline__ bool read_table(
    TableReader& shared, const u32* words, u32 size, bool lengths, TableEntry& mine) {
    const u32 bits = 8 * size, entry = my_entry(), warp = entry >> 5, count = (words[0] & 255) + 1,
              shift = lengths ? 0 : words[0] >> 8 & MOST_SHIFT;
    // Entries that would end beyond the table lead to a place from which nothing leads on.
#pragma unroll 1
    for (u32 p = threadIdx.x; p < bits + 2; p += PARSE_THREADS) {
        u32 end = bits + 1;
        if (p < bits) {
            const StoredEntry e = stored_entry(words, p, lengths);
            if (e.good && p + e.bits <= bits) end = p + e.bits;
        }
        shared.ends[0][p] = (u16)end;
    }
    __syncthreads();
    const u32 at = find_entry(shared, lengths ? 8 : 8 + SHIFT_BITS, bits, count);
    after_previous();
    mine = {entry < count, 0, 0, 0, 0};
    u32 taken = 0, gap = 0, gaps = 0, all_taken = 0;
    bool bad = false;
    if (warp < ENTRY_WARPS) {
        if (mine.exists) {
            bad = at >= bits;
            const StoredEntry e = stored_entry(words, bad ? 0 : at, lengths);
            bad |= !e.good || at + e.bits > bits || (lengths && e.field > MAX_LENGTH);
            mine.field = e.field;
            mine.frequency = e.frequency << shift;
            taken = lengths ? CODES >> e.field : mine.frequency;
            gap = e.gap;
        }
        gaps = warp_inclusive_sum(gap), all_taken = warp_inclusive_sum(taken);
        if ((threadIdx.x & 31) == 31) shared.gaps[warp] = gaps, shared.taken[warp] = all_taken;
        if (lengths) count_lengths(shared.lengths[warp], mine);
    }
    bad = __syncthreads_or(bad);
    mine.symbol = gaps - 1;
    mine.before = all_taken - taken;
    gaps = all_taken = 0;
#pragma unroll
    for (u32 w = 0; w < ENTRY_WARPS; w++) {
        if (w < warp) mine.symbol += shared.gaps[w], mine.before += shared.taken[w];
        gaps += shared.gaps[w], all_taken += shared.taken[w];
    }
    return !bad && gaps <= ALPHABET && all_taken == (lengths ? CODES : SCALE);
}

// Huffman decoding table by the next MAX_LENGTH bits: length << 8 | symbol.
__device__ __forceinline__ void make_code_table(
    u16* codes, TableReader& shared, bool good, const TableEntry& mine) {
    // Two entries per word. An empty table has the escape alone, which takes no bits.
    u32* const words = reinterpret_cast<u32*>(codes);
    const u32 k = threadIdx.x, entry = my_entry(), lane = k & 31;
    static_assert(CODES == 2 * PARSE_THREADS, "two for each thread");
    if (!good) {
        words[k] = ESCAPE << 16 | ESCAPE;
        return;
    }
    if (entry < ALPHABET) {
        // Canonical order: by length, then symbol. A lane per length: numbers of codes in the warps before
        // and in all (low half), and their code space (high half).
        u32 before = 0, all = 0;
#pragma unroll
        for (u32 w = 0; w < ENTRY_WARPS; w++) {
            const u32 some = lane <= MAX_LENGTH ? shared.lengths[w][lane] : 0;
            before += w < entry >> 5 ? some : 0;
            all += some;
        }
        const u32 each = 1 | CODES >> lane << 16,
                  mine_and_before = warp_inclusive_sum(all * each) - (all - before) * each;
        u32 place = __shfl_sync(FULL, mine_and_before, mine.field);
        place += __popc(same_length(mine) & ((1u << lane) - 1)) * (1 | CODES >> mine.field << 16);
        if (mine.exists) {
            shared.starts[place & 0xffff] = place >> 16;
            shared.symbols[place & 0xffff] = code_word(mine.field, mine.symbol);
        }
    }
    __syncthreads();
    u32 word = 0;
#pragma unroll
    for (u32 i = 0; i < 2; i++) {
        const u32 code = reversed_code(2 * k + i);
        u32 number = 0;
#pragma unroll
        for (u32 step = ALPHABET / 2; step > 0; step /= 2)
            if (shared.starts[number + step] <= code) number += step;
        word |= shared.symbols[number] << 16 * i;
    }
    words[k] = word;
}

// rANS decoding table: the symbols that occur, in order. An empty table has the escape alone.
__device__ __forceinline__ void make_slot_table(
    u32* entries, u8* starts, TableReader& shared, bool good, const TableEntry& mine) {
    const u32 k = my_entry();
    if (k >= ALPHABET) return;
    const bool exists = good && mine.exists;
    // NO_ENTRY is also the entry of the escape with the whole scale.
    entries[k] = exists ? decode_entry(mine.frequency, mine.before, mine.symbol) : NO_ENTRY;
    shared.starts[k] = exists ? mine.before : SCALE;
    meet_at<ALPHABET>(1);
    // Where the search for a slot starts: the last symbol that starts at or before the first slot of its
    // sixteen. At least four entries follow.
    u32 rank = 0;
#pragma unroll
    for (u32 step = ALPHABET / 2; step > 0; step /= 2)
        if (shared.starts[rank + step] <= SLOTS_PER_START * k) rank += step;
    starts[k] = (u8)(rank < ALPHABET - 4 ? rank : ALPHABET - 4);
}

// Makes one decoding table of a stream whose header has HEAD bytes. Call with a block.
template <u32 HEAD>
__device__ __forceinline__ void parse_table(const Job& job, u32 table) {
    const ParseView work(job);
    __shared__ TableReader shared;
    const u32 k = threadIdx.x, lane = k & 31;
    const u32* const stream = reinterpret_cast<const u32*>(job.stream);
#pragma unroll
    for (u32 i = 0; i < 2; i++)
        shared.words[i * PARSE_THREADS + k] = load_word(job, stream, i * PARSE_THREADS + k);
    if (k < ENTRY_WARPS * 16) shared.lengths[k / 16][k % 16] = 0;
    // End marks of the sorted entries.
    if (k < ALPHABET) shared.starts[k] = CODES;
    __syncthreads();
    const u8* const bytes = reinterpret_cast<const u8*>(shared.words);
    const u32 table_bytes = shared.words[AT_TABLE_BYTES / 4];
    const bool coded = bytes[AT_CONTENT] == CONTENT_CODED, codes = bytes[AT_CODER] == CODER_HUFFMAN;
    // Tables that take bytes, those before this one, and the sum of their sizes, four sizes per word.
    const u32* const directory = shared.words + HEAD / 4;
    const u32 present[2] = {directory[0], directory[1]}, bit = 1u << (table & 31);
    const u32 before =
        table < 32 ? __popc(present[0] & (bit - 1)) : __popc(present[0]) + __popc(present[1] & (bit - 1));
    const u32 count = __popc(present[0]) + __popc(present[1]),
              size = present[table >> 5] & bit ? 4 * bytes[HEAD + LEAST_DIRECTORY_BYTES + before] : 0;
    u32 sizes = 4 * lane < before ? directory[LEAST_DIRECTORY_BYTES / 4 + lane] : 0;
    sizes = before >= 4 * lane + 4 ? sizes : sizes & ((1u << 8 * (before & 3)) - 1);
    sizes = (sizes & 0x00ff00ff) + (sizes >> 8 & 0x00ff00ff);
    const u32 at =
        LEAST_DIRECTORY_BYTES + (count + 3) / 4 * 4 + 4 * warp_sum((sizes & 0xffff) + (sizes >> 16));
    // The last table must end where the groups begin.
    const bool inside = coded && present[1] >> (TABLES - 32) == 0 &&
                        (table == TABLES - 1 ? at + size == table_bytes : at + size <= table_bytes);
    const u32* words = shared.words + (HEAD + at) / 4;
    if (inside && HEAD + at + size > 4 * FIRST_WORDS) {
        // Not among the first words: load it now.
        __syncthreads();
        if (k < size / 4 + 2)
            shared.words[k] = k < size / 4 ? load_word(job, stream, (HEAD + at) / 4 + k) : 0;
        words = shared.words;
        __syncthreads();
    }
    TableEntry mine = {false, 0, 0, 0, 0};
    bool good = false;
    if (inside && size > 0)
        good = read_table(shared, words, size, codes, mine);
    else
        after_previous();
    if (!coded) return;
    if (codes)
        make_code_table(work.huffman_codes() + table * CODES, shared, good, mine);
    else
        make_slot_table(
            work.tables() + table * ALPHABET, work.slot_starts() + table * STARTS_BYTES, shared, good, mine);
    if (k < 32 && !good && !(inside && size == 0)) report_damage(job);
}
