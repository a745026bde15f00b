// Entries of decompression that read the header and the tables, and check. Nothing is read beyond the stream's bytes, whatever it says.
// Twins: src/stage/container.rs, src/stage/entropy/table.rs, ans.rs and huffman.rs.
#pragma once
#include "lists.cuh"

// ---------------------------------------------------------------- header and tables

// The first failure of a call is the one that is reported.
__device__ __forceinline__ void fail(Control& control, i32 status) { atomicCAS(&control.status, STATUS_OK, status); }

// Bits of a stored table, least significant first, from words that end with zeros. More than 32 of them are at hand, which is as much
// as an entry takes, and the word behind them is on its way.
struct BitReader {
    const u32* words;
    u64 bits;
    u32 have, next, taken;
    __device__ __forceinline__ explicit BitReader(const u32* from)
        : words(from + 3), bits(from[0] | (u64)from[1] << 32), have(64), next(from[2]), taken(0) {}
    __device__ __forceinline__ void skip(u32 count) {
        bits >>= count;
        have -= count;
        taken += count;
        if (have <= 32) {
            bits |= (u64)next << have;
            have += 32;
            // Who reads behind the end stops before it comes to the next but one.
            next = *words++;
        }
    }
    // The symbol that the table lists next, from the gap to the one before, and the four bits behind it; how many bits they are, or 0 if
    // no encoder writes such a gap. Nothing is skipped.
    __device__ __forceinline__ u32 entry(i32& symbol, u32& field) const {
        const u32 length = __clz(__brev((u32)bits));
        if (length > 8) return 0;
        symbol += (i32)(1u << length | ((u32)(bits >> (length + 1)) & ((1u << length) - 1)));
        field = (u32)(bits >> (2 * length + 1)) & 15;
        return 2 * length + 5;
    }
};

// Reads a stored table into frequencies; false if no encoder writes it.
__device__ inline bool read_table(const u32* words, u32 size, u16* frequencies) {
    if (size == 0) return true;
    BitReader bits(words);
    const u32 entries = ((u32)bits.bits & 255) + 1;
    bits.skip(8);
    i32 symbol = -1;
    u32 sum = 0;
    for (u32 e = 0; e < entries; e++) {
        u32 length = 0;
        const u32 taken = bits.entry(symbol, length);
        const u32 f = 1u << length | ((u32)(bits.bits >> taken) & ((1u << length) - 1));
        sum += f;
        if (taken == 0 || symbol >= (i32)ALPHABET || sum > SCALE || bits.taken > 8 * size) return false;
        bits.skip(taken + length);
        frequencies[symbol] = (u16)f;
    }
    if (bits.taken > 8 * size) return false;
    return sum == SCALE;
}

// Grid: 1 + TABLES. Block: 1024. Block 0 checks the header and finds the groups; the others make a
// decoding table each.
template <typename T>
__device__ __forceinline__ void open_stream(const Job& job) {
    __shared__ Control header;
    __shared__ i32 status;
    Control& control = control_of(job);
    if (threadIdx.x == 0) {
        header.status = STATUS_OK;
        status = read_header(job, header, job.stream);
    }
    __syncthreads();
    const u8* section = job.stream + HEADER_BYTES;
    const bool coded = header.content == CONTENT_CODED;
    if (status == STATUS_OK && coded &&
        (header.table_bytes < TABLE_SIZES_BYTES ||
         HEADER_BYTES + (u64)header.table_bytes + header.groups * 4 > header.stream_bytes))
        status = STATUS_CORRUPT_STREAM;
    __syncthreads();
    if (blockIdx.x > 0) {
        if (status != STATUS_OK || !coded || header.coder != CODER_ANS) return;
        __shared__ u16 frequencies[ALPHABET];
        __shared__ u32 words[ALPHABET + 8];
        const u32 table = blockIdx.x - 1, k = threadIdx.x;
        u64 all;
        block_exclusive_sum(k < table ? section[k] : 0, all);
        const u64 at = TABLE_SIZES_BYTES + 4 * all;
        const u32 size = 4 * section[table];
        const bool inside = at + size <= header.table_bytes;
        if (k < ALPHABET) frequencies[k] = 0;
        if (k < ALPHABET + 8) words[k] = inside && 4 * k < size ? get32(section + at + 4 * k) : 0;
        __syncthreads();
        if (k == 0 && (!inside || !read_table(words, size, frequencies))) {
            fail(control, STATUS_CORRUPT_STREAM);
            for (u32 s = 0; s < ALPHABET; s++) frequencies[s] = 0;
        }
        __syncthreads();
        // The symbols that occur, in order, and where to look for those of a slot.
        const u32 f = k < ALPHABET ? frequencies[k] : 0;
        const u64 sums = block_exclusive_sum((u64)f << 32 | (f > 0), all);
        const u32 start = (u32)(sums >> 32), rank = (u32)sums;
        u32* const entries = job.tables + table * ALPHABET;
        u8* const starts = job.slots + table * (SCALE / SLOTS_PER_START);
        if ((all >> 32) != SCALE) {
            // A table without symbols decodes to zeros without touching the state.
            if (k < ALPHABET) entries[k] = decode_entry(SCALE, 0, 0);
            if (k < SCALE / SLOTS_PER_START) starts[k] = 0;
        } else {
            // Entries behind the last one are not looked at, but copied.
            if (k < ALPHABET && k >= (u32)all) entries[k] = decode_entry(SCALE, 0, 0);
            if (f == 0) return;
            entries[rank] = decode_entry(f, start, k);
            for (u32 b = (start + SLOTS_PER_START - 1) / SLOTS_PER_START; b * SLOTS_PER_START < start + f; b++)
                starts[b] = (u8)rank;
        }
        return;
    }
    // Block 0.
    if (status == STATUS_OK && coded) {
        const u64 groups = header.groups;
        const u64 first_word = (HEADER_BYTES + (u64)header.table_bytes) / 4;
        u64 all;
        block_exclusive_sum(threadIdx.x < TABLES ? 4 * section[threadIdx.x] : 0, all);
        u64 start = HEADER_BYTES + (u64)header.table_bytes + 4 * groups;
        bool bad = TABLE_SIZES_BYTES + all != header.table_bytes;
        u64 first_tile = 0;
        constexpr u32 EACH = 4;
        for (u64 base = 0; base < groups; base += EACH * blockDim.x) {
            const u64 g = base + EACH * threadIdx.x;
            u32 about[EACH];
            u64 sum = 0, tiles = 0;
#pragma unroll
            for (u32 i = 0; i < EACH; i++) {
                const bool exists = g + i < groups;
                about[i] = exists ? word_at(job.stream, first_word + g + i) : 0;
                sum += about[i] & GROUP_BYTES_MASK;
                tiles += exists ? (about[i] >> 24) + 1 : 0;
            }
            u64 offset = start + block_exclusive_sum(sum, all);
            start += all;
            u64 tile = first_tile + block_exclusive_sum(tiles, all);
            first_tile += all;
#pragma unroll
            for (u32 i = 0; i < EACH; i++) {
                if (g + i >= groups) break;
                const u32 size = about[i] & (u32)GROUP_BYTES_MASK;
                job.group_offsets[g + i] = offset;
                // The first tile in 34 bits, more than a grid of restore has, the tiles less one in 8, the bytes in fours in 22.
                job.group_sizes[g + i] = tile << 30 | (u64)(about[i] >> 24) << 22 | size >> 2;
                offset += size;
                tile += (about[i] >> 24) + 1;
                bad |= offset > header.stream_bytes || size < STATE_BYTES || size % 4 != 0;
            }
        }
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
    if (!job.verify_checksum || control.status != STATUS_OK) return;
    const u64 words = control.stream_bytes / 4, threads = (u64)gridDim.x * blockDim.x;
    u32 sum = 0;
    for (u64 k = (u64)blockIdx.x * blockDim.x + threadIdx.x; k < words; k += threads)
        sum += checksum_term(word_at(job.stream, k), k);
    sum = warp_sum(sum);
    if ((threadIdx.x & 31) == 0 && sum) atomicAdd(&control.checksum, sum);
    if (last_block(control, TICKET_CHECK) && threadIdx.x == 0 &&
        *(volatile u32*)&control.checksum != get32(job.stream + 8))
        fail(control, STATUS_CORRUPT_STREAM);
}

// ---------------------------------------------------------------- tables of codes

// Reads a stored table of code lengths; false if no encoder writes it.
__device__ inline bool read_lengths(const u32* words, u32 size, u32* lengths) {
    if (size == 0) return true;
    BitReader bits(words);
    const u32 entries = ((u32)bits.bits & 255) + 1;
    bits.skip(8);
    i32 symbol = -1;
    u32 space = 0;
    for (u32 e = 0; e < entries; e++) {
        u32 length = 0;
        const u32 taken = bits.entry(symbol, length);
        if (taken == 0 || symbol >= (i32)ALPHABET || length > MAX_LENGTH || bits.taken > 8 * size) return false;
        bits.skip(taken);
        lengths[symbol] = length;
        space += CODES >> length;
    }
    if (bits.taken > 8 * size) return false;
    return space == CODES;
}

// Grid: TABLES. Block: 256. A decoding table each: by the next MAX_LENGTH bits, length << 8 | symbol.
template <typename T>
__device__ __forceinline__ void open_codes(const Job& job) {
    __shared__ u32 words[ALPHABET + 8];
    __shared__ u32 lengths[ALPHABET];
    __shared__ bool good;
    Control& control = control_of(job);
    if (control.status != STATUS_OK || control.content != CONTENT_CODED || control.coder != CODER_HUFFMAN) return;
    const u8* const section = job.stream + HEADER_BYTES;
    const u32 table = blockIdx.x, k = threadIdx.x;
    u64 all;
    block_exclusive_sum(k < table ? section[k] : 0, all);
    const u64 at = TABLE_SIZES_BYTES + 4 * all;
    const u32 size = 4 * section[table];
    const bool inside = at + size <= control.table_bytes;
    lengths[k] = NO_CODE;
    for (u32 w = k; w < ALPHABET + 8; w += blockDim.x) words[w] = inside && 4 * w < size ? get32(section + at + 4 * w) : 0;
    __syncthreads();
    if (k == 0) {
        good = inside && read_lengths(words, size, lengths);
        if (!good) fail(control, STATUS_CORRUPT_STREAM);
    }
    __syncthreads();
    u16* const codes = reinterpret_cast<u16*>(job.codes) + table * CODES;
    // A table without codes decodes to zeros without touching the state.
    if (!good || size == 0) {
        for (u32 c = k; c < CODES; c += blockDim.x) codes[c] = 0;
        return;
    }
    if (k >= 32) return;
    u32 mine[8], starts[8];
#pragma unroll
    for (i32 i = 0; i < 8; i++) {
        mine[i] = lengths[8 * k + i];
        starts[i] = 0;
    }
    code_starts(mine, starts);
#pragma unroll
    for (i32 i = 0; i < 8; i++)
        if (mine[i] != NO_CODE)
            for (u32 c = 0; c < CODES >> mine[i]; c++) codes[reversed_code(starts[i] + c)] = (u16)(mine[i] << 8 | (8 * k + i));
}
