// Entries of decompression that read the header and the tables, and check. Nothing is read beyond the
// stream's bytes, whatever it says. Twins: src/stream/container.rs, src/entropy/tables.rs, ans.rs and
// huffman.rs.
#pragma once
#include "entropy/huffman.cuh"
#include "stream/container.cuh"

// ---------------------------------------------------------------- header and tables

// The first failure of a call is the one that is reported.
__device__ __forceinline__ void fail(Control& control, i32 status) {
    atomicCAS(&control.status, STATUS_OK, status);
}

// Whether the stream is good, as far as is known, its content coded, and by a predictor. All of it is asked
// for at once.
__device__ __forceinline__ bool is_coded(const Control& control) {
    return ((u32)control.status | control.content ^ CONTENT_CODED) == 0;
}
__device__ __forceinline__ bool is_coded_by(const Control& control, u32 predictor) {
    return ((u32)control.status | control.content ^ CONTENT_CODED | control.predictor ^ predictor) == 0;
}

// An entry of a stored table, from the bits that begin with it: the gap from the symbol before, and a field
// of four bits, behind which the frequencies have as many bits as it says.
struct StoredEntry {
    u32 gap, field, frequency, bits;
    bool good;  // whether an encoder writes such a gap
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

// What a block of `open` has at once: the first words of the stream. They are asked for before anything is
// known of it.
constexpr u32 OPEN_THREADS = 1024, FIRST_WORDS = 2 * OPEN_THREADS;
constexpr u32 MOST_TABLE_BITS = 255 * 32;
constexpr u32 ENTRY_WARPS = ALPHABET / 32;  // with an entry of a table for each thread
struct TableReader {
    u32 words[FIRST_WORDS +
              2];  // and what may be looked at behind the last one, which no entry that is good needs
    // Where an entry that began at each bit of a table would end, or some entries behind it.
    u16 ends[2][MOST_TABLE_BITS + 2];
    // Of each warp's entries: the sums of gaps and of what they take, and how many codes there are of each
    // length.
    u32 gaps[ENTRY_WARPS], taken[ENTRY_WARPS], lengths[ENTRY_WARPS][16];
    // The entries in order: where what they take begins, and symbols.
    u32 starts[ALPHABET], symbols[ALPHABET];
};
struct TableEntry {
    bool exists;                           // the thread has one: its number is my_entry()
    u32 symbol, field, frequency, before;  // before: sum of what the entries before take
};
// The lanes of a warp whose code is as long as that of this one.
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

// A word of the stream, or zero where it has none.
__device__ __forceinline__ u32 load_word(const Job& job, const u32* stream, u32 k) {
    return 4 * ((u64)k + 1) <= job.stream_bytes ? stream[k] : 0;
}

// The entry of a thread, if a table has so many: those of the last warps, since bits are with the first ones,
// all of which few tables need.
__device__ __forceinline__ u32 my_entry() { return threadIdx.x ^ (OPEN_THREADS - ALPHABET); }
// Where an entry begins, of a table of so many bits and entries.
__device__ __forceinline__ u32 find_entry(TableReader& shared, u32 bits, u32 count) {
    const u32 entry = my_entry();
    const u16* from = shared.ends[0];
    u16* to = shared.ends[1];
    u32 at = 8, last = count - 1, steps = entry < count ? entry : 0;
#pragma unroll 1
    for (; last > 0; last /= 4, steps /= 4) {
        if (steps % 4 > 0) at = from[at];
        if (steps % 4 > 1) at = from[at];
        if (steps % 4 > 2) at = from[at];
        if (last > 3) {
#pragma unroll 1
            for (u32 p = threadIdx.x; p < bits + 2; p += OPEN_THREADS) to[p] = from[from[from[from[p]]]];
        }
        __syncthreads();
        u16* const next = const_cast<u16*>(from);
        from = to;
        to = next;
    }
    return at;
}
// The entry of each thread of a table of so many bytes, not 0, of lengths or of frequencies, and whether an
// encoder writes such a table: what its entries take is all there is, codes or frequencies.
__device__ __forceinline__ bool read_table(
    TableReader& shared, const u32* words, u32 size, bool lengths, TableEntry& mine) {
    const u32 bits = 8 * size, entry = my_entry(), warp = entry >> 5, count = (words[0] & 255) + 1;
    // Beyond the end there is a place for what leads there and no further.
#pragma unroll 1
    for (u32 p = threadIdx.x; p < bits + 2; p += OPEN_THREADS) {
        u32 end = bits + 1;
        if (p < bits) {
            const StoredEntry e = stored_entry(words, p, lengths);
            if (e.good && p + e.bits <= bits) end = p + e.bits;
        }
        shared.ends[0][p] = (u16)end;
    }
    __syncthreads();
    const u32 at = find_entry(shared, bits, count);
    after_kernel_before();
    mine = {entry < count, 0, 0, 0, 0};
    u32 taken = 0, gap = 0, gaps = 0, all_taken = 0;
    bool bad = false;
    if (warp < ENTRY_WARPS) {
        if (mine.exists) {
            bad = at >= bits;
            const StoredEntry e = stored_entry(words, bad ? 0 : at, lengths);
            bad |= !e.good || at + e.bits > bits || (lengths && e.field > MAX_LENGTH);
            mine.field = e.field;
            mine.frequency = e.frequency;
            taken = lengths ? CODES >> e.field : e.frequency;
            gap = e.gap;
        }
        gaps = sum_up_to_me(gap), all_taken = sum_up_to_me(taken);
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

// A table of codes by the next MAX_LENGTH bits, length << 8 | symbol, from its entries, where it is good.
__device__ __forceinline__ void make_code_table(
    u16* codes, TableReader& shared, bool good, const TableEntry& mine) {
    // Two neighbours are a word. A table without codes decodes to zeros without touching the state.
    u32* const words = reinterpret_cast<u32*>(codes);
    const u32 k = threadIdx.x, entry = my_entry(), lane = k & 31;
    static_assert(CODES == 2 * OPEN_THREADS, "two for each thread");
    if (!good) {
        words[k] = 0;
        return;
    }
    if (entry < ALPHABET) {
        // Shorter codes first, and smaller symbols: how many codes of each length there are in the warps
        // before, and in all; a lane for each length. Numbers below, and above what they take of all CODES.
        u32 before = 0, all = 0;
#pragma unroll
        for (u32 w = 0; w < ENTRY_WARPS; w++) {
            const u32 some = lane <= MAX_LENGTH ? shared.lengths[w][lane] : 0;
            before += w < entry >> 5 ? some : 0;
            all += some;
        }
        const u32 each = 1 | CODES >> lane << 16,
                  mine_and_before = sum_up_to_me(all * each) - (all - before) * each;
        u32 place = __shfl_sync(FULL, mine_and_before, mine.field);
        place += __popc(same_length(mine) & ((1u << lane) - 1)) * (1 | CODES >> mine.field << 16);
        if (mine.exists) {
            shared.starts[place & 0xffff] = place >> 16;
            shared.symbols[place & 0xffff] = mine.field << 8 | mine.symbol;
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

// A table of slots from its entries, where it is good: the symbols that occur, in order. One without symbols
// decodes to zeros without touching the state.
__device__ __forceinline__ void make_slot_table(
    u32* entries, u8* starts, TableReader& shared, bool good, const TableEntry& mine) {
    const u32 k = my_entry();
    if (k >= ALPHABET) return;
    const bool exists = good && mine.exists;
    entries[k] = exists   ? decode_entry(mine.frequency, mine.before, mine.symbol)
                 : k == 0 ? decode_entry(SCALE, 0, 0)
                          : NO_ENTRY;
    shared.starts[k] = exists ? mine.before : SCALE;
    meet_at<ALPHABET>(1);
    // Where to look for the symbol of a slot: from the last that begins at the first one of these or before.
    // There are four from there on.
    u32 rank = 0;
#pragma unroll
    for (u32 step = ALPHABET / 2; step > 0; step /= 2)
        if (shared.starts[rank + step] <= SLOTS_PER_START * k) rank += step;
    starts[k] = (u8)(rank < ALPHABET - 4 ? rank : ALPHABET - 4);
}

// By a warp that found damage behind the header. What is wrong with that itself is reported by the block that
// reads it.
__device__ __forceinline__ void report_damage(const Job& job) {
    const bool has_header = status_of_stream(job, Header(job.stream, job.stream_bytes)) == STATUS_OK;
    if (has_header && (threadIdx.x & 31) == 0) fail(control_of(job), STATUS_CORRUPT_STREAM);
}

// A decoding table by a block.
__device__ __forceinline__ void open_table(const Job& job, u32 table) {
    const ParseView work(job);
    __shared__ TableReader shared;
    const u32 k = threadIdx.x, lane = k & 31;
    const u32* const stream = reinterpret_cast<const u32*>(job.stream);
#pragma unroll
    for (u32 i = 0; i < 2; i++)
        shared.words[i * OPEN_THREADS + k] = load_word(job, stream, i * OPEN_THREADS + k);
    if (k < ENTRY_WARPS * 16) shared.lengths[k / 16][k % 16] = 0;
    // Behind the last code of a table.
    if (k < ALPHABET) shared.starts[k] = CODES;
    __syncthreads();
    const u8* const bytes = reinterpret_cast<const u8*>(shared.words);
    const u32 table_bytes = shared.words[7], size = 4 * bytes[HEADER_BYTES + table];
    const bool coded = bytes[18] == CONTENT_CODED, codes = bytes[14] == CODER_HUFFMAN;
    // The sum of the sizes before, four in a word.
    u32 sizes = 4 * lane < TABLE_SIZES_BYTES ? shared.words[HEADER_BYTES / 4 + lane] : 0;
    sizes = table >= 4 * lane + 4 ? sizes : table > 4 * lane ? sizes & ((1u << 8 * (table & 3)) - 1) : 0;
    sizes = (sizes & 0x00ff00ff) + (sizes >> 8 & 0x00ff00ff);
    const u32 at = TABLE_SIZES_BYTES + 4 * warp_sum((sizes & 0xffff) + (sizes >> 16));
    // The last table ends where the groups begin.
    const bool inside = coded && (table == TABLES - 1 ? at + size == table_bytes : at + size <= table_bytes);
    const u32* words = shared.words + (HEADER_BYTES + at) / 4;
    if (inside && HEADER_BYTES + at + size > 4 * FIRST_WORDS) {
        // It is not among the first words.
        __syncthreads();
        if (k < size / 4 + 2)
            shared.words[k] = k < size / 4 ? load_word(job, stream, (HEADER_BYTES + at) / 4 + k) : 0;
        words = shared.words;
        __syncthreads();
    }
    TableEntry mine = {false, 0, 0, 0, 0};
    bool good = false;
    if (inside && size > 0)
        good = read_table(shared, words, size, codes, mine);
    else
        after_kernel_before();
    if (!coded) return;
    if (codes)
        make_code_table(work.huffman_codes() + table * CODES, shared, good, mine);
    else
        make_slot_table(
            work.tables() + table * ALPHABET, work.slot_starts() + table * STARTS_BYTES, shared, good, mine);
    if (k < 32 && !good && !(inside && size == 0)) report_damage(job);
}

// What is known of the stream by all kernels behind this one, by a block.
template <typename T>
__device__ __forceinline__ void open_header(const Job& job) {
    Control& control = control_of(job);
    const Header header(job.stream, job.stream_bytes);
    if (threadIdx.x < 32) {
        const i32 status = status_of_stream(job, header);
        const u32 coding = header.word_at(12), content = header.word_at(16), first = header.word_at(20),
                  second = header.word_at(24);
        const double bound = header.double_at(64), quantum = header.double_at(72);
        const u64 fill[2] = {header.long_at(96), header.long_at(104)}, stream_bytes = header.long_at(112),
                  groups = header.long_at(120);
        const u32 table_bytes = header.word_at(28);
        after_kernel_before();
        if (threadIdx.x != 0) return;
        if (status != STATUS_OK) fail(control, status);
        control.taper = first & 255;
        for (i32 k = 0; k < ANCHOR_LEVEL; k++)
            control.kernels[k] = (k < 3 ? first >> 8 * (k + 1) : second >> 8 * (k - 3)) & 255;
        control.coder = coding >> 16 & 255;
        control.predictor = coding >> 24;
        control.content = content >> 16 & 255;
        control.bound = bound;
        control.quantum = quantum;
        control.fill[0] = fill[0];
        control.fill[1] = fill[1];
        control.fill_bits = second >> 24 ? fill[0] : no_fill<T>();
        control.groups = groups;
        control.table_bytes = table_bytes;
        control.stream_bytes = status == STATUS_OK ? stream_bytes : 0;
    } else {
        const double quantum = header.double_at(72);
        const u32 taper = header.word_at(20) & 255;
        after_kernel_before();
        for (u32 e = threadIdx.x - 32; e < LEVELS * IDS; e += OPEN_THREADS - 32)
            quantizer_entry<T>(quantum, taper, (i32)(e / IDS), (i32)(e % IDS),
                control.quantizer.width[e / IDS][e % IDS], control.quantizer.inverse[e / IDS][e % IDS]);
    }
}

// The sums of what the words of groups say, by warp: those before the part of the block, and its own.
struct GroupSums {
    u64 bytes[32], tiles[32];
    u32 own_bytes[32], own_tiles[32];
};
// A part of the stream's words by a block: where the groups lie whose words are there. What is before it is
// summed by each block for itself: all loads are on their way at once, before anything is known of the
// stream.
constexpr u32 PART_WORDS = 2 * OPEN_THREADS, MOST_FIRST_WORDS = (HEADER_BYTES + (u32)TABLE_SECTION_BYTES) / 4;
__device__ __forceinline__ void open_groups(const Job& job, u32 block, u32 blocks) {
    const ParseView work(job);
    __shared__ GroupSums shared;
    const u32 k = threadIdx.x, lane = k & 31, warp = k >> 5;
    // (There is no memory for 2^31 tiles.)
    const u32 most = MOST_FIRST_WORDS + (u32)job.tiles();
    const u32 parts = most <= PART_WORDS * blocks ? 1 : (most - 1) / (PART_WORDS * blocks) + 1;
    const u32 start = PART_WORDS / 2 * parts * block;  // in pairs of words, as all that follows
    // Behind the words of groups there are groups: a word that is left over is none.
    const u32 pairs = job.stream_bytes / 8 < 1u << 31 ? (u32)(job.stream_bytes / 8) : 1u << 31,
              pairs_before = start < pairs ? start : pairs;
    const uint2* const stream = reinterpret_cast<const uint2*>(job.stream) + k;
    const uint2 none = make_uint2(0, 0);
    const Header header(job.stream, job.stream_bytes);
    constexpr u32 AHEAD = 8;
    uint2 own = start + k < pairs ? stream[start] : none, before[AHEAD];
#pragma unroll
    for (u32 i = 0; i < AHEAD; i++)
        before[i] = OPEN_THREADS * i + k < pairs_before ? stream[OPEN_THREADS * i] : none;
    const bool coded = (header.word_at(16) >> 16 & 255) == CONTENT_CODED;
    const u64 all_groups = header.long_at(120);
    const u32 groups = !coded ? 0 : all_groups < job.tiles() ? (u32)all_groups : (u32)job.tiles();
    const u32 table_bytes = header.word_at(28),
              first = (HEADER_BYTES +
                          (table_bytes < TABLE_SECTION_BYTES ? table_bytes : (u32)TABLE_SECTION_BYTES)) /
                      4;
    const u64 stream_bytes = header.long_at(112);
    const u32 end = first + groups;
    if (2 * start >= end) return;
    // Of the groups before, all of whose words are there: the bytes, and the tiles less one of each.
    u64 bytes = 0, tiles = 0;
    for (u32 at = 0; at < start;) {
        u32 some_bytes = 0, some_tiles = 0;
#pragma unroll
        for (u32 i = 0; i < AHEAD; i++) {
            const u32 number = 2 * (at + OPEN_THREADS * i + k);
            const u32 a = number < first ? 0 : before[i].x, b = number + 1 < first ? 0 : before[i].y;
            some_bytes += (a & (u32)GROUP_BYTES_MASK) + (b & (u32)GROUP_BYTES_MASK);
            some_tiles += (a >> 24) + (b >> 24);
        }
        bytes += some_bytes;
        tiles += some_tiles;
        at += AHEAD * OPEN_THREADS;
#pragma unroll
        for (u32 i = 0; i < AHEAD; i++)
            before[i] = at + OPEN_THREADS * i + k < pairs_before ? stream[at + OPEN_THREADS * i] : none;
    }
    bool bad = false;
    for (u32 at = start; at < start + PART_WORDS / 2 * parts && 2 * at < end; at += OPEN_THREADS) {
        if (at > start) {
            own = at + k < pairs ? stream[at] : none;
            __syncthreads();
        }
        const u32 number = 2 * (at + k) - first;  // of the first group of the two, or none
        const bool here[2] = {number < groups, number + 1 < groups};
        const u32 about[2] = {here[0] ? own.x : 0, here[1] ? own.y : 0};
        // Sums of fours of bytes fit, whatever the words say.
        const u32 fours[2] = {(about[0] & (u32)GROUP_BYTES_MASK) / 4, (about[1] & (u32)GROUP_BYTES_MASK) / 4};
        const u32 counts[2] = {here[0] + (about[0] >> 24), here[1] + (about[1] >> 24)};
        const u32 all_fours = sum_up_to_me(fours[0] + fours[1]),
                  all_counts = sum_up_to_me(counts[0] + counts[1]);
        const u64 bytes_before = at > 0 ? warp_sum_long(bytes) : 0,
                  tiles_before = at > 0 ? warp_sum_long(tiles) : 0;
        if (lane == 31) {
            shared.bytes[warp] = bytes_before, shared.tiles[warp] = tiles_before;
            shared.own_bytes[warp] = all_fours, shared.own_tiles[warp] = all_counts;
        }
        __syncthreads();
        const u64 below_bytes =
            warp_sum_long(shared.bytes[lane] + (lane < warp ? 4 * (u64)shared.own_bytes[lane] : 0));
        const u64 below_tiles =
            warp_sum_long(shared.tiles[lane] + (lane < warp ? shared.own_tiles[lane] : 0));
        const u32 numbers_before = 2 * at > first ? 2 * at - first : 0;
        u64 offset = 4 * (u64)end + below_bytes + 4 * (u64)(all_fours - fours[0] - fours[1]);
        u64 tile = below_tiles + numbers_before + (all_counts - counts[0] - counts[1]);
#pragma unroll
        for (u32 i = 0; i < 2; i++) {
            const u32 g = number + i, size = about[i] & (u32)GROUP_BYTES_MASK;
            if (!here[i]) continue;
            work.group_offsets()[g] = offset;
            // The first tile in 34 bits, more than a grid of restore has, the tiles less one in 8, the bytes
            // in fours in 22.
            work.group_sizes()[g] = tile << 30 | (u64)(counts[i] - 1) << 22 | size / 4;
            offset += size;
            tile += counts[i];
            bad |= size < STATE_BYTES || size % 4 != 0;
            // All sums ascend: those of the last one tell of all.
            if (g == groups - 1) bad |= offset != stream_bytes || tile != job.tiles();
        }
        bytes += 4 * (u64)(fours[0] + fours[1]);
        tiles += (about[0] >> 24) + (about[1] >> 24);
    }
    after_kernel_before();
    if (__any_sync(FULL, bad)) report_damage(job);
}

// Grid: 1 + TABLES and any number more. Block: OPEN_THREADS. A table each, the header, and the groups.
template <typename T>
__device__ __forceinline__ void open_stream(const Job& job) {
    if (blockIdx.x < TABLES)
        open_table(job, blockIdx.x);
    else if (blockIdx.x == TABLES)
        open_header<T>(job);
    else
        open_groups(job, blockIdx.x - (TABLES + 1), gridDim.x - (TABLES + 1));
}

// Grid: any. Block: 256. The checksum; the last block compares it.
template <typename T>
__device__ __forceinline__ void check_stream(const Job& job) {
    Control& control = control_of(job);
    if (!job.verify_checksum) return after_kernel_before();
    const u32 threads = gridDim.x * blockDim.x, mine = blockIdx.x * blockDim.x + threadIdx.x;
    const uint4* from = reinterpret_cast<const uint4*>(job.stream) + mine;
    // Some at a time, all of which are on their way before the first is there; the first ones while the
    // stream is opened.
    constexpr u32 AHEAD = 4;
#pragma unroll
    for (u32 i = 0; i < AHEAD; i++)
        if (mine + i * threads < job.stream_bytes / 16) prefetch(from + i * threads);
    after_kernel_before();
    const u64 stream_bytes = control.stream_bytes;
    __shared__ u32 of_block;
    if (threadIdx.x == 0) of_block = 0;
    // The decoder may set the status meanwhile: all threads of a block have to go on, or none.
    if (__syncthreads_or(control.status != STATUS_OK)) return;
    const u64 words = stream_bytes / 4, fours = words / 4;
    const u32* const stream = reinterpret_cast<const u32*>(job.stream);
    u32 sum = 0;
    auto add = [&](const uint4& four, u32 step) {
        sum += checksum_mix(four.x + step) + checksum_mix(four.y + step + CHECKSUM_STEP) +
               checksum_mix(four.z + step + 2 * CHECKSUM_STEP) +
               checksum_mix(four.w + step + 3 * CHECKSUM_STEP);
    };
    u64 k = mine;
#pragma unroll 1
    for (; k + (AHEAD - 1) * threads < fours; k += AHEAD * threads) {
        uint4 some[AHEAD];
#pragma unroll
        for (u32 i = 0; i < AHEAD; i++) some[i] = from[i * threads];
        from += AHEAD * threads;
#pragma unroll
        for (u32 i = 0; i < AHEAD; i++) add(some[i], 4 * ((u32)k + i * threads) * CHECKSUM_STEP);
    }
#pragma unroll 1
    for (; k < fours; k += threads, from += threads) add(*from, 4 * (u32)k * CHECKSUM_STEP);
    // The checksum itself counts as zero.
    if (mine == 0) sum += checksum_term(stream[2], 2) - checksum_mix(stream[2] + 2 * CHECKSUM_STEP);
    if (mine < words % 4) sum += checksum_term(stream[4 * fours + mine], 4 * fours + mine);
    sum = warp_sum(sum);
    if ((threadIdx.x & 31) == 0) atomicAdd(&of_block, sum);
    __syncthreads();
    if (threadIdx.x != 0) return;
    // One that has added to the checksum knows how many have.
    const ull before = atomicAdd((ull*)&control.seal, (ull)of_block << 32 | 1);
    if ((u32)before == gridDim.x - 1 && (u32)(before >> 32) + of_block != stream[2])
        fail(control, STATUS_CORRUPT_STREAM);
}
