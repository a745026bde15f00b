// Reads header, tables and group sizes of a stream, and checks the checksum. Nothing beyond the stream's
// bytes is read, whatever it says. Twins: src/stream, src/entropy/tables.rs, rans.rs and
// huffman.rs.
#pragma once
#include "entropy/huffman.cuh"
#include "stream/checksum.cuh"

// Records the first failure of a call.
__device__ __forceinline__ void fail(Control& control, i32 status) {
    atomicCAS(&control.status, STATUS_OK, status);
}

// True if the stream is valid so far and its content coded (by this predictor). One combined load and test.
__device__ __forceinline__ bool is_coded(const Control& control) {
    return ((u32)control.status | control.content ^ CONTENT_CODED) == 0;
}
__device__ __forceinline__ bool is_coded_by(const Control& control, u32 predictor) {
    return ((u32)control.status | control.content ^ CONTENT_CODED | control.predictor ^ predictor) == 0;
}

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
constexpr u32 MOST_TABLE_BITS = 255 * 32;
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
// Bit offset of this thread's entry: follows the entry ends in powers of four.
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
    const u32 bits = 8 * size, entry = my_entry(), warp = entry >> 5, count = (words[0] & 255) + 1;
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
    // Two entries per word. An empty table decodes zeros without touching the state.
    u32* const words = reinterpret_cast<u32*>(codes);
    const u32 k = threadIdx.x, entry = my_entry(), lane = k & 31;
    static_assert(CODES == 2 * PARSE_THREADS, "two for each thread");
    if (!good) {
        words[k] = 0;
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

// rANS decoding table: the symbols that occur, in order. An empty table decodes zeros without touching the
// state.
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
    // Where the search for a slot starts: the last symbol that starts at or before the first slot of its
    // sixteen. At least four entries follow.
    u32 rank = 0;
#pragma unroll
    for (u32 step = ALPHABET / 2; step > 0; step /= 2)
        if (shared.starts[rank + step] <= SLOTS_PER_START * k) rank += step;
    starts[k] = (u8)(rank < ALPHABET - 4 ? rank : ALPHABET - 4);
}

// Reports damage behind the header. A damaged header is reported by the block that reads it. Call with a
// warp.
__device__ __forceinline__ void report_damage(const Job& job) {
    const bool has_header = status_of_stream(job, Header(job.stream, job.stream_bytes)) == STATUS_OK;
    if (has_header && (threadIdx.x & 31) == 0) fail(control_of(job), STATUS_CORRUPT_STREAM);
}

// Makes one decoding table. Call with a block.
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
    const u32 table_bytes = shared.words[AT_TABLE_BYTES / 4], size = 4 * bytes[HEADER_BYTES + table];
    const bool coded = bytes[AT_CONTENT] == CONTENT_CODED, codes = bytes[AT_CODER] == CODER_HUFFMAN;
    // Sum of the sizes before, four sizes per word.
    u32 sizes = 4 * lane < DIRECTORY_BYTES ? shared.words[HEADER_BYTES / 4 + lane] : 0;
    sizes = table >= 4 * lane + 4 ? sizes : table > 4 * lane ? sizes & ((1u << 8 * (table & 3)) - 1) : 0;
    sizes = (sizes & 0x00ff00ff) + (sizes >> 8 & 0x00ff00ff);
    const u32 at = DIRECTORY_BYTES + 4 * warp_sum((sizes & 0xffff) + (sizes >> 16));
    // The last table must end where the groups begin.
    const bool inside = coded && (table == TABLES - 1 ? at + size == table_bytes : at + size <= table_bytes);
    const u32* words = shared.words + (HEADER_BYTES + at) / 4;
    if (inside && HEADER_BYTES + at + size > 4 * FIRST_WORDS) {
        // Not among the first words: load it now.
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

// Fills the control block from the header. Call with a block.
template <typename T>
__device__ __forceinline__ void parse_header(const Job& job) {
    Control& control = control_of(job);
    const Header header(job.stream, job.stream_bytes);
    if (threadIdx.x < 32) {
        const i32 status = status_of_stream(job, header);
        const u32 coding = header.word_at(AT_DTYPE), content = header.word_at(AT_PRESERVE),
                  first = header.word_at(AT_LEVEL_BOUND_SCALING), second = header.word_at(AT_COMPONENTS);
        const double bound = header.double_at(AT_ABSOLUTE_BOUND),
                     half_bin_width = header.double_at(AT_HALF_BIN_WIDTH);
        const u64 fill[2] = {header.long_at(AT_FILL_U), header.long_at(AT_FILL_V)},
                  stream_bytes = header.long_at(AT_STREAM_BYTES), groups = header.long_at(AT_GROUPS);
        const u32 table_bytes = header.word_at(AT_TABLE_BYTES);
        after_kernel_before();
        if (threadIdx.x != 0) return;
        if (status != STATUS_OK) fail(control, status);
        control.level_bound_scaling = field_of(first, AT_LEVEL_BOUND_SCALING);
        for (i32 k = 0; k < ANCHOR_LEVEL; k++)
            control.interpolants[k] = (k < 3 ? first >> 8 * (k + 1) : second >> 8 * (k - 3)) & 255;
        control.coder = field_of(coding, AT_CODER);
        control.predictor = field_of(coding, AT_PREDICTOR);
        control.content = field_of(content, AT_CONTENT);
        control.bound = bound;
        control.half_bin_width = half_bin_width;
        control.fill[0] = fill[0];
        control.fill[1] = fill[1];
        control.fill_bits = field_of(second, AT_HAS_FILL) ? fill[0] : no_fill<T>();
        control.groups = groups;
        control.table_bytes = table_bytes;
        control.stream_bytes = status == STATUS_OK ? stream_bytes : 0;
    } else {
        const double half_bin_width = header.double_at(AT_HALF_BIN_WIDTH);
        const u32 level_bound_scaling =
            field_of(header.word_at(AT_LEVEL_BOUND_SCALING), AT_LEVEL_BOUND_SCALING);
        after_kernel_before();
        for (u32 e = threadIdx.x - 32; e < LEVELS * REFINEMENTS; e += PARSE_THREADS - 32)
            quantizer_entry<T>(half_bin_width, level_bound_scaling, (i32)(e / REFINEMENTS),
                (i32)(e % REFINEMENTS), control.quantizer.width[e / REFINEMENTS][e % REFINEMENTS],
                control.quantizer.inverse[e / REFINEMENTS][e % REFINEMENTS]);
    }
}

// Sums over the group words by warp: before this block's part, and in it.
struct GroupSums {
    u64 bytes[32], tiles[32];
    u32 own_bytes[32], own_tiles[32];
};
// Finds where the groups lie whose words are in this block's part of the stream. Each block sums the words
// before its part itself; all loads start before anything is known of the stream.
constexpr u32 PART_WORDS = 2 * PARSE_THREADS,
              MOST_FIRST_WORDS = (HEADER_BYTES + (u32)TABLE_SECTION_BYTES) / 4;
__device__ __forceinline__ void parse_groups(const Job& job, u32 block, u32 blocks) {
    const ParseView work(job);
    __shared__ GroupSums shared;
    const u32 k = threadIdx.x, lane = k & 31, warp = k >> 5;
    // 32 bits suffice (device/capacities.cuh).
    const u32 most = MOST_FIRST_WORDS + (u32)job.tiles();
    const u32 parts = most <= PART_WORDS * blocks ? 1 : (most - 1) / (PART_WORDS * blocks) + 1;
    const u32 start = PART_WORDS / 2 * parts * block;  // in pairs of words, as all below
    // An odd word at the end of the stream is not a group word.
    const u32 pairs = job.stream_bytes / 8 < 1u << 31 ? (u32)(job.stream_bytes / 8) : 1u << 31,
              pairs_before = start < pairs ? start : pairs;
    const uint2* const stream = reinterpret_cast<const uint2*>(job.stream) + k;
    const uint2 none = make_uint2(0, 0);
    const Header header(job.stream, job.stream_bytes);
    constexpr u32 AHEAD = 8;
    uint2 own = start + k < pairs ? stream[start] : none, before[AHEAD];
#pragma unroll
    for (u32 i = 0; i < AHEAD; i++)
        before[i] = PARSE_THREADS * i + k < pairs_before ? stream[PARSE_THREADS * i] : none;
    const bool coded = field_of(header.word_at(AT_PRESERVE), AT_CONTENT) == CONTENT_CODED;
    const u64 all_groups = header.long_at(AT_GROUPS);
    const u32 groups = !coded ? 0 : all_groups < job.tiles() ? (u32)all_groups : (u32)job.tiles();
    const u32 table_bytes = header.word_at(AT_TABLE_BYTES),
              first = (HEADER_BYTES +
                          (table_bytes < TABLE_SECTION_BYTES ? table_bytes : (u32)TABLE_SECTION_BYTES)) /
                      4;
    const u64 stream_bytes = header.long_at(AT_STREAM_BYTES);
    const u32 end = first + groups;
    if (2 * start >= end) return;
    // Sums over the groups before: bytes, and tiles - 1.
    u64 bytes = 0, tiles = 0;
    for (u32 at = 0; at < start;) {
        u32 some_bytes = 0, some_tiles = 0;
#pragma unroll
        for (u32 i = 0; i < AHEAD; i++) {
            const u32 number = 2 * (at + PARSE_THREADS * i + k);
            const u32 a = number < first ? 0 : before[i].x, b = number + 1 < first ? 0 : before[i].y;
            some_bytes += (a & (u32)GROUP_BYTES_MASK) + (b & (u32)GROUP_BYTES_MASK);
            some_tiles += (a >> GROUP_BYTES_BITS) + (b >> GROUP_BYTES_BITS);
        }
        bytes += some_bytes;
        tiles += some_tiles;
        at += AHEAD * PARSE_THREADS;
#pragma unroll
        for (u32 i = 0; i < AHEAD; i++)
            before[i] = at + PARSE_THREADS * i + k < pairs_before ? stream[at + PARSE_THREADS * i] : none;
    }
    bool bad = false;
    for (u32 at = start; at < start + PART_WORDS / 2 * parts && 2 * at < end; at += PARSE_THREADS) {
        if (at > start) {
            own = at + k < pairs ? stream[at] : none;
            __syncthreads();
        }
        const u32 number = 2 * (at + k) - first;  // number of the first group of the pair, if it is one
        const bool here[2] = {number < groups, number + 1 < groups};
        const u32 about[2] = {here[0] ? own.x : 0, here[1] ? own.y : 0};
        // Sums of bytes / 4 cannot overflow, whatever the words say.
        const u32 fours[2] = {(about[0] & (u32)GROUP_BYTES_MASK) / 4, (about[1] & (u32)GROUP_BYTES_MASK) / 4};
        const u32 counts[2] = {
            here[0] + (about[0] >> GROUP_BYTES_BITS), here[1] + (about[1] >> GROUP_BYTES_BITS)};
        const u32 all_fours = warp_inclusive_sum(fours[0] + fours[1]),
                  all_counts = warp_inclusive_sum(counts[0] + counts[1]);
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
            // First tile (34 bits), tiles - 1 (8 bits), bytes / 4 (22 bits).
            work.group_sizes()[g] = tile << 30 | (u64)(counts[i] - 1) << 22 | size / 4;
            offset += size;
            tile += counts[i];
            bad |= size < STATE_BYTES || size % 4 != 0;
            // Sums ascend, so the last one proves all.
            if (g == groups - 1) bad |= offset != stream_bytes || tile != job.tiles();
        }
        bytes += 4 * (u64)(fours[0] + fours[1]);
        tiles += (about[0] >> GROUP_BYTES_BITS) + (about[1] >> GROUP_BYTES_BITS);
    }
    after_kernel_before();
    if (__any_sync(FULL, bad)) report_damage(job);
}

// Grid: 1 + TABLES + any number of blocks. Block: PARSE_THREADS threads. Static shared: TableReader,
// GroupSums. A block per table, one for the header, the rest for the groups. Reads: stream. Writes: control
// block, decoding tables, group offsets and sizes. Waits for the previous kernel, factz_begin, before the
// first write.
template <typename T>
__device__ __forceinline__ void parse_stream(const Job& job) {
    if (blockIdx.x < TABLES)
        parse_table(job, blockIdx.x);
    else if (blockIdx.x == TABLES)
        parse_header<T>(job);
    else
        parse_groups(job, blockIdx.x - (TABLES + 1), gridDim.x - (TABLES + 1));
}

// Grid: any. Block: 256 threads. Static shared: a word. Sums the checksum; the last block compares it. Reads:
// stream. Writes: status. Waits for: the previous kernel, after prefetching.
template <typename T>
__device__ __forceinline__ void check_stream(const Job& job) {
    Control& control = control_of(job);
    if (!job.verify_checksum) return after_kernel_before();
    const u32 threads = gridDim.x * blockDim.x, mine = blockIdx.x * blockDim.x + threadIdx.x;
    const uint4* from = reinterpret_cast<const uint4*>(job.stream) + mine;
    // Several loads at a time; prefetch the first ones while factz_parse runs.
    constexpr u32 AHEAD = 4;
#pragma unroll
    for (u32 i = 0; i < AHEAD; i++)
        if (mine + i * threads < job.stream_bytes / 16) prefetch(from + i * threads);
    after_kernel_before();
    const u64 stream_bytes = control.stream_bytes;
    __shared__ u32 of_block;
    if (threadIdx.x == 0) of_block = 0;
    // factz_decode may set the status meanwhile: all threads of a block continue, or none.
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
    if (mine == 0)
        sum += checksum_term(stream[CHECKSUM_WORD], CHECKSUM_WORD) -
               checksum_mix(stream[CHECKSUM_WORD] + CHECKSUM_WORD * CHECKSUM_STEP);
    if (mine < words % 4) sum += checksum_term(stream[4 * fours + mine], 4 * fours + mine);
    sum = warp_sum(sum);
    if ((threadIdx.x & 31) == 0) atomicAdd(&of_block, sum);
    __syncthreads();
    if (threadIdx.x != 0) return;
    // The low half counts the blocks that have added.
    const ull before = atomicAdd((ull*)&control.seal, (ull)of_block << 32 | 1);
    if ((u32)before == gridDim.x - 1 && (u32)(before >> 32) + of_block != stream[CHECKSUM_WORD])
        fail(control, STATUS_CORRUPT_STREAM);
}
