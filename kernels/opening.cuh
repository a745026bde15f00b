// Entries of decompression that read the header and the tables, and check. Nothing is read beyond the stream's bytes, whatever it says.
// Twins: src/stage/container.rs, src/stage/entropy/table.rs, ans.rs and huffman.rs.
#pragma once
#include "lists.cuh"

// ---------------------------------------------------------------- header and tables

// The first failure of a call is the one that is reported.
__device__ __forceinline__ void fail(Control& control, i32 status) { atomicCAS(&control.status, STATUS_OK, status); }

// An entry of a stored table, from the bits that begin with it: the gap from the symbol before, and a field of four bits, behind which
// the frequencies have as many bits as it says.
struct StoredEntry {
    u32 gap, field, frequency, bits;
    bool good;  // whether an encoder writes such a gap
};
template <bool LENGTHS>
__device__ __forceinline__ StoredEntry stored_entry(const u32* words, u32 at) {
    const u32* const from = words + (at >> 5);
    const u64 bits = __funnelshift_r(from[0], from[1], at) | (u64)__funnelshift_r(from[1], from[2], at) << 32;
    const u32 length = (u32)__clz(__brev((u32)bits));
    StoredEntry e = {0, 0, 0, 0, length <= 8};
    if (e.good) {
        e.gap = 1u << length | ((u32)(bits >> (length + 1)) & ((1u << length) - 1));
        e.field = (u32)(bits >> (2 * length + 1)) & 15;
        e.frequency = 1u << e.field | ((u32)(bits >> (2 * length + 5)) & ((1u << e.field) - 1));
        e.bits = 2 * length + 5 + (LENGTHS ? 0 : e.field);
    }
    return e;
}

// The stored table of a block, from all of its bits at once: where an entry that began at each of them would end, by whose powers every
// entry finds its own. `words` are behind it zero.
constexpr u32 MOST_TABLE_BITS = 255 * 32;
struct TableReader {
    u32 words[ALPHABET + 8];
    u16 ends[2][MOST_TABLE_BITS + 2];
};
struct TableEntry {
    bool exists;  // the thread has an entry, with the number of the thread
    u32 symbol, field, frequency, before;  // before: sum of what the entries before take
};
// The entry of each thread of a table of so many bytes, not 0, and whether an encoder writes such a table: what its entries take is all
// there is, codes or frequencies.
template <bool LENGTHS>
__device__ inline bool read_table(TableReader& shared, u32 size, TableEntry& mine) {
    const u32 bits = 8 * size, k = threadIdx.x, count = (shared.words[0] & 255) + 1;
    // Beyond the end there is a place for what leads there and no further.
    for (u32 p = k; p < bits + 2; p += blockDim.x) {
        u32 end = bits + 1;
        if (p < bits) {
            const StoredEntry e = stored_entry<LENGTHS>(shared.words, p);
            if (e.good && p + e.bits <= bits) end = p + e.bits;
        }
        shared.ends[0][p] = (u16)end;
    }
    __syncthreads();
    u32 at = 8;
    for (u32 power = 0; (count - 1) >> power; power++) {
        const u16* const from = shared.ends[power & 1];
        u16* const to = shared.ends[~power & 1];
        if (k >> power & 1 && k < count) at = from[at];
        if ((count - 1) >> power > 1)
            for (u32 p = k; p < bits + 2; p += blockDim.x) to[p] = from[from[p]];
        __syncthreads();
    }
    mine = {k < count, 0, 0, 0, 0};
    u32 taken = 0, gap = 0;
    bool bad = false;
    if (mine.exists) {
        bad = at >= bits;
        const StoredEntry e = stored_entry<LENGTHS>(shared.words, bad ? 0 : at);
        bad |= !e.good || at + e.bits > bits || (LENGTHS && e.field > MAX_LENGTH);
        mine.field = e.field;
        mine.frequency = e.frequency;
        taken = LENGTHS ? CODES >> e.field : e.frequency;
        gap = e.gap;
    }
    u64 all;
    const u64 before = block_exclusive_sum((u64)taken << 32 | gap, all);
    mine.symbol = (u32)before + gap - 1;
    mine.before = (u32)(before >> 32);
    bad |= (u32)all > ALPHABET || (u32)(all >> 32) != (LENGTHS ? CODES : SCALE);
    return !__syncthreads_or(bad);
}

// The codes of a table, in order, and what each stands for.
struct CodeOrder {
    u32 keys[ALPHABET], starts[ALPHABET], symbols[ALPHABET];
};

// By a block: a table of codes by the next MAX_LENGTH bits, length << 8 | symbol, from its entries, where it is good.
__device__ __forceinline__ void make_code_table(u16* codes, CodeOrder& shared, u32 count, bool good, const TableEntry& mine) {
    // A table without codes decodes to zeros without touching the state.
    if (!good) {
        for (u32 c = threadIdx.x; c < CODES; c += blockDim.x) codes[c] = 0;
        return;
    }
    const u32 k = threadIdx.x, key = mine.field << 8 | mine.symbol;
    if (mine.exists) shared.keys[k] = key;
    if (k < ALPHABET) shared.starts[k] = CODES;
    __syncthreads();
    if (mine.exists) {
        // Shorter codes first, and smaller symbols.
        u32 start = 0, number = 0;
        for (u32 i = 0; i < count; i++) {
            const u32 other = shared.keys[i];
            number += other < key;
            start += other < key ? CODES >> (other >> 8) : 0;
        }
        shared.starts[number] = start;
        shared.symbols[number] = key;
    }
    __syncthreads();
    for (u32 c = k; c < CODES; c += blockDim.x) {
        u32 number = 0;
#pragma unroll
        for (u32 step = ALPHABET / 2; step > 0; step /= 2)
            if (shared.starts[number + step] <= c) number += step;
        codes[reversed_code(c)] = (u16)shared.symbols[number];
    }
}

// Grid: 1 + TABLES. Block: 1024. Block 0 checks the header and finds the groups; the others make a
// decoding table each.
template <typename T>
__device__ __forceinline__ void open_stream(const Job& job) {
    __shared__ Control header;
    __shared__ i32 status;
    __shared__ u8 first_bytes[HEADER_BYTES];
    Control& control = control_of(job);
    if (threadIdx.x < HEADER_BYTES && job.stream_bytes >= HEADER_BYTES) first_bytes[threadIdx.x] = job.stream[threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) {
        header.status = STATUS_OK;
        status = read_header(job, header, first_bytes);
    }
    __syncthreads();
    const u8* section = job.stream + HEADER_BYTES;
    const bool coded = header.content == CONTENT_CODED;
    if (status == STATUS_OK && coded &&
        (header.table_bytes < TABLE_SIZES_BYTES ||
         HEADER_BYTES + (u64)header.table_bytes + header.groups * 4 > header.stream_bytes))
        status = STATUS_CORRUPT_STREAM;
    __syncthreads();
    // What is written now may have been cleared meanwhile.
    after_kernel_before();
    if (blockIdx.x > 0) {
        if (status != STATUS_OK || !coded) return;
        __shared__ TableReader reader;
        __shared__ CodeOrder order;
        __shared__ u32 ranks[ALPHABET];
        const u32 table = blockIdx.x - 1, k = threadIdx.x;
        u64 all;
        block_exclusive_sum(k < table ? section[k] : 0, all);
        const u64 at = TABLE_SIZES_BYTES + 4 * all;
        const u32 size = 4 * section[table];
        const bool inside = at + size <= header.table_bytes;
        if (k < ALPHABET + 8) reader.words[k] = inside && 4 * k < size ? get32(section + at + 4 * k) : 0;
        __syncthreads();
        TableEntry mine = {false, 0, 0, 0, 0};
        const bool codes = header.coder == CODER_HUFFMAN;
        const bool good = inside && size > 0 && (codes ? read_table<true>(reader, size, mine) : read_table<false>(reader, size, mine));
        if (k == 0 && !good && !(inside && size == 0)) fail(control, STATUS_CORRUPT_STREAM);
        if (codes) {
            make_code_table(reinterpret_cast<u16*>(job.codes) + table * CODES, order, (reader.words[0] & 255) + 1, good, mine);
            return;
        }
        u32* const entries = job.tables + table * ALPHABET;
        u8* const starts = job.slots + table * (SCALE / SLOTS_PER_START);
        // The symbols that occur, in order. A table without symbols decodes to zeros without touching the state.
        const bool exists = good && mine.exists;
        if (k < ALPHABET) {
            entries[k] = exists ? decode_entry(mine.frequency, mine.before, mine.symbol) : k == 0 ? decode_entry(SCALE, 0, 0) : NO_ENTRY;
            ranks[k] = exists ? mine.before : SCALE;
        }
        __syncthreads();
        if (k >= ALPHABET) return;
        // Where to look for the symbol of a slot: from the last that begins at the first one of these or before. There are four from there on.
        u32 rank = 0;
#pragma unroll
        for (u32 step = ALPHABET / 2; step > 0; step /= 2)
            if (ranks[rank + step] <= SLOTS_PER_START * k) rank += step;
        starts[k] = (u8)(rank < ALPHABET - 4 ? rank : ALPHABET - 4);
        return;
    }
    // Block 0.
    if (status == STATUS_OK && coded) {
        const u64 groups = header.groups;
        const u64 first_word = (HEADER_BYTES + (u64)header.table_bytes) / 4;
        u64 all;
        block_exclusive_sum(threadIdx.x < TABLES ? 4 * section[threadIdx.x] : 0, all);
        bool bad = TABLE_SIZES_BYTES + all != header.table_bytes;
        u64 start = HEADER_BYTES + (u64)header.table_bytes + 4 * groups, first_tile = 0;
        // Both sums at once: a stretch has 2^21 tiles at most.
        constexpr u32 TILE_BITS = 22;
        constexpr u64 TILES = (1 << TILE_BITS) - 1;
        static_assert(STRETCH * 256 <= TILES, "they fit");
        sum_stretches(
            groups,
            [&](u64 g) {
                const u32 about = word_at(job.stream, first_word + g);
                return (about & GROUP_BYTES_MASK) << TILE_BITS | ((about >> 24) + 1);
            },
            [&](u64 g, u64 before, u64 mine) {
                const u64 offset = start + (before >> TILE_BITS), tile = first_tile + (before & TILES), size = mine >> TILE_BITS;
                job.group_offsets[g] = offset;
                // The first tile in 34 bits, more than a grid of restore has, the tiles less one in 8, the bytes in fours in 22.
                job.group_sizes[g] = tile << 30 | ((mine & TILES) - 1) << 22 | size >> 2;
                bad |= offset + size > header.stream_bytes || size < STATE_BYTES || size % 4 != 0;
            },
            [&](u64 sum) {
                start += sum >> TILE_BITS;
                first_tile += sum & TILES;
            });
        bad |= start != header.stream_bytes || first_tile != job.tiles();
        if (__syncthreads_or(bad) && threadIdx.x == 0) status = STATUS_CORRUPT_STREAM;
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        for (i32 k = 0; k < ANCHOR_LEVEL; k++) control.kernels[k] = header.kernels[k];
        control.taper = header.taper;
        control.bound = header.bound;
        control.quantum = header.quantum;
        control.fill[0] = header.fill[0];
        control.fill[1] = header.fill[1];
        control.content = header.content;
        control.coder = header.coder;
        control.predictor = header.predictor;
        control.groups = header.groups;
        control.stream_bytes = status == STATUS_OK ? header.stream_bytes : 0;
        control.table_bytes = header.table_bytes;
        if (status != STATUS_OK) fail(control, status);
    }
    if (status == STATUS_OK)
        for (u32 e = threadIdx.x; e < LEVELS * IDS; e += blockDim.x)
            quantizer_entry<T>(header.quantum, header.taper, e / IDS, e % IDS, control.quantizer.width[e / IDS][e % IDS],
                               control.quantizer.inverse[e / IDS][e % IDS]);
}

// Grid: any. Block: 256. The checksum; the last block compares it.
template <typename T>
__device__ __forceinline__ void check_stream(const Job& job) {
    Control& control = control_of(job);
    // The decoder may set the status meanwhile: all threads of a block have to go on, or none.
    if (!job.verify_checksum || __syncthreads_or(control.status != STATUS_OK)) return;
    const u64 words = control.stream_bytes / 4, threads = (u64)gridDim.x * blockDim.x;
    u32 sum = 0;
    // Some at a time, all of which are on their way before the first is there.
    constexpr u32 AHEAD = 4;
    for (u64 k = (u64)blockIdx.x * blockDim.x + threadIdx.x; k < words; k += AHEAD * threads) {
        u32 some[AHEAD];
#pragma unroll
        for (u32 i = 0; i < AHEAD; i++) some[i] = k + i * threads < words ? word_at(job.stream, k + i * threads) : 0;
#pragma unroll
        for (u32 i = 0; i < AHEAD; i++) sum += k + i * threads < words ? checksum_term(some[i], k + i * threads) : 0;
    }
    sum = warp_sum(sum);
    if ((threadIdx.x & 31) == 0 && sum) atomicAdd(&control.checksum, sum);
    if (last_block(control, TICKET_CHECK) && threadIdx.x == 0 &&
        *(volatile u32*)&control.checksum != get32(job.stream + 8))
        fail(control, STATUS_CORRUPT_STREAM);
}
