// Entries of decompression up to the symbols and the anchors; restore.cuh has the rest. Nothing is read beyond the stream's bytes and
// nothing written beyond the grid, whatever the stream says.
#pragma once
#include "coding.cuh"

// ---------------------------------------------------------------- header and tables

// The first failure of a call is the one that is reported.
__device__ __forceinline__ void fail(Control& control, i32 status) { atomicCAS(&control.status, STATUS_OK, status); }

// Bits of a stored table, least significant first, from words that end with two zeros.
struct BitReader {
    const u32* words;
    u32 position;
    __device__ __forceinline__ u32 peek() const {
        return __funnelshift_r(words[position >> 5], words[(position >> 5) + 1], position & 31);
    }
    __device__ __forceinline__ u32 get(u32 bits) {
        const u32 value = peek() & ((1u << bits) - 1);
        position += bits;
        return value;
    }
    // The next symbol that the table lists, from the gap to it; false if no encoder writes such a gap.
    __device__ __forceinline__ bool next(i32& symbol) {
        const u32 length = __clz(__brev(peek()));
        if (length > 8) return false;
        position += length + 1;
        symbol += (i32)(1u << length | get(length));
        return true;
    }
};

// Reads a stored table into frequencies; false if no encoder writes it.
__device__ inline bool read_table(const u32* words, u32 size, u16* frequencies) {
    if (size == 0) return true;
    BitReader bits = {words, 0};
    const u32 entries = bits.get(8) + 1;
    i32 symbol = -1;
    u32 sum = 0;
    for (u32 e = 0; e < entries; e++) {
        if (!bits.next(symbol)) return false;
        const u32 length = bits.get(4);
        const u32 f = 1u << length | bits.get(length);
        sum += f;
        if (symbol >= (i32)ALPHABET || sum > SCALE || bits.position > 8 * size) return false;
        frequencies[symbol] = (u16)f;
    }
    return sum == SCALE;
}

// Sum of the values of the threads before this one, and of all, in a block of up to 1024.
__device__ inline u64 block_exclusive_sum(u64 value, u64& total) {
    __shared__ u64 sums[32];
    const i32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = (i32)(blockDim.x >> 5);
    u64 sum = value;
    for (i32 k = 1; k < 32; k *= 2) {
        const u64 other = __shfl_up_sync(FULL, sum, k);
        if (lane >= k) sum += other;
    }
    __syncthreads();
    if (lane == 31) sums[warp] = sum;
    __syncthreads();
    u64 before = lane < warps ? sums[lane] : 0;
    for (i32 k = 1; k < 32; k *= 2) {
        const u64 other = __shfl_up_sync(FULL, before, k);
        if (lane >= k) before += other;
    }
    total = __shfl_sync(FULL, before, 31);
    before = __shfl_sync(FULL, before, (warp + 31) & 31);
    return (warp ? before : 0) + sum - value;
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
        (header.table_bytes < directory_bytes(header.coder) ||
         HEADER_BYTES + (u64)header.table_bytes + header.groups * 4 > header.stream_bytes))
        status = STATUS_CORRUPT_STREAM;
    __syncthreads();
    if (blockIdx.x > 0) {
        if (status != STATUS_OK || !coded || header.coder != CODER_ANS) return;
        __shared__ u16 frequencies[ALPHABET];
        __shared__ u32 words[ALPHABET + 2];
        const u32 table = blockIdx.x - 1, k = threadIdx.x;
        u64 all;
        block_exclusive_sum(k < table ? section[k] : 0, all);
        const u64 at = TABLE_SIZES_BYTES + 4 * all;
        const u32 size = 4 * section[table];
        const bool inside = at + size <= header.table_bytes;
        if (k < ALPHABET) frequencies[k] = 0;
        if (k < ALPHABET + 2) words[k] = inside && 4 * k < size ? get32(section + at + 4 * k) : 0;
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
        block_exclusive_sum(threadIdx.x < tables_of(header.coder) ? 4 * section[threadIdx.x] : 0, all);
        u64 start = HEADER_BYTES + (u64)header.table_bytes + 4 * groups;
        bool bad = directory_bytes(header.coder) + all != header.table_bytes;
        constexpr u32 EACH = 4;
        for (u64 base = 0; base < groups; base += EACH * blockDim.x) {
            const u64 g = base + EACH * threadIdx.x;
            u64 size[EACH], sum = 0;
#pragma unroll
            for (u32 i = 0; i < EACH; i++) {
                size[i] = g + i < groups ? word_at(job.stream, first_word + g + i) : 0;
                sum += size[i];
            }
            u64 offset = start + block_exclusive_sum(sum, all);
#pragma unroll
            for (u32 i = 0; i < EACH; i++) {
                if (g + i < groups) {
                    job.group_offsets[g + i] = offset;
                    job.group_sizes[g + i] = size[i];
                    bad |= offset + size[i] > header.stream_bytes || size[i] < STATE_BYTES || size[i] % 4 != 0;
                }
                offset += size[i];
            }
            start += all;
        }
        bad |= start != header.stream_bytes;
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
        control.group_log2 = header.group_log2;
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

// ---------------------------------------------------------------- groups

// The tables in shared memory: entries by table, and where the search for that of a slot begins.
struct DecodeTables {
    u32 entries[TABLES * ALPHABET];
    u8 starts[TABLES * (SCALE / SLOTS_PER_START)];
    u8 raw_bits[ALPHABET];  // of symbols that are not an anchor's
};
static_assert(sizeof(DecodeTables) == 43 * (4 * 256 + 256) + 256, "launch.rs asks for as much");
constexpr i32 DECODE_WARPS = 8;

// rANS of one group, forwards, a lane per state. Words beyond the end are zeros. The next 64 words
// wait in two registers of each lane, so that no step waits for memory.
struct Decoder {
    const DecodeTables* tables;
    u32 x;
    const u16* words;
    u32 size;   // in words
    u32 next;   // of the words, below base + 32 between steps
    u32 base;   // first word of the window
    u32 near, far;

    __device__ __forceinline__ u32 word(u32 at) const { return at < size ? words[at] : 0; }
    __device__ __forceinline__ void open(const u8* bytes, u64 count) {
        const u32 lane = threadIdx.x & 31;
        x = reinterpret_cast<const u32*>(bytes)[lane];
        words = reinterpret_cast<const u16*>(bytes + STATE_BYTES);
        size = (u32)((count - STATE_BYTES) / 2);
        next = base = 0;
        near = word(lane);
        far = word(32 + lane);
    }
    __device__ __forceinline__ void refill(bool active) {
        const bool need = active && x < 1u << 16;
        const u32 mask = __ballot_sync(FULL, need);
        if (mask == 0) return;
        const u32 at = next - base + __popc(mask & ((1u << (threadIdx.x & 31)) - 1));
        const u32 a = __shfl_sync(FULL, near, at & 31), b = __shfl_sync(FULL, far, at & 31);
        if (need) x = x << 16 | (at < 32 ? a : b);
        next += __popc(mask);
        if (next - base >= 32) {
            base += 32;
            near = far;
            far = word(base + 32 + (threadIdx.x & 31));
        }
    }
    // As many zeros in all lanes as come before one needs something else: how many steps, at most four.
    // Zero is the symbol that begins at slot 0.
    __device__ __forceinline__ i32 zeros(u32 f, i32 most) {
        u32 after[5] = {x}, others = 0;
#pragma unroll
        for (i32 k = 0; k < 4; k++) {
            const u32 slot = after[k] & (SCALE - 1);
            after[k + 1] = f * (after[k] >> SCALE_BITS) + slot;
            others |= (u32)(slot >= f || after[k + 1] < 1u << 16) << k;
        }
        const i32 until = __ffs(warp_or(others) | 1u << (most < 4 ? most : 4)) - 1;
        x = until == 0 ? after[0] : until == 1 ? after[1] : until == 2 ? after[2] : until == 3 ? after[3] : after[4];
        return until;
    }
    __device__ __forceinline__ u32 raw(bool active, u32 bits) {
        u32 value = 0;
        if (active) {
            value = x & ((1u << bits) - 1);
            x >>= bits;
        }
        refill(active);
        return value;
    }
    // A symbol in each active lane, escapes resolved; 0 in the others. `first` is the table's first
    // entry, in most tables that of zero, by far the most frequent symbol.
    __device__ __forceinline__ u32 step(bool active, u32 table, u32 first) {
        const u32 slot = x & (SCALE - 1);
        u32 entry = active ? first : decode_entry(SCALE, 0, SYMBOL_ZERO);
        if (slot >= entry_frequency(entry)) {
            const u32* const entries = tables->entries + table * ALPHABET;
            u32 rank = tables->starts[table * (SCALE / SLOTS_PER_START) + slot / SLOTS_PER_START];
            entry = entries[rank];
            while (slot >= entry_start(entry) + entry_frequency(entry)) entry = entries[++rank];
        }
        x = entry_frequency(entry) * (x >> SCALE_BITS) + slot - entry_start(entry);
        u32 symbol = entry_symbol(entry);
        refill(true);
        if (__any_sync(FULL, symbol != SYMBOL_ZERO)) {
            const bool escaped = symbol == ESCAPE;
            if (__any_sync(FULL, escaped)) {
                const u32 value = raw(escaped, 8);
                if (escaped) symbol = value;
            }
        }
        return symbol;
    }
    __device__ __forceinline__ u32 step(bool active, u32 table) {
        return step(active, table, tables->entries[table * ALPHABET]);
    }
};

// Payload of a vertex for decoding: raw bits of its code (and digits of an anchor), or both values.
template <typename T>
struct Payload;
template <>
struct Payload<float> {
    typedef u64 Type;
    static __device__ __forceinline__ u64 make(u64 low, u64) { return low; }
    static __device__ __forceinline__ u64 low(u64 p) { return p; }
    static __device__ __forceinline__ u64 second(u64 p) { return p >> 32; }
};
template <>
struct Payload<double> {
    typedef ulonglong2 Type;
    static __device__ __forceinline__ ulonglong2 make(u64 low, u64 high) { return make_ulonglong2(low, high); }
    static __device__ __forceinline__ u64 low(ulonglong2 p) { return p.x; }
    static __device__ __forceinline__ u64 second(ulonglong2 p) { return p.y; }
};

// Raw bits of a step: to the payload of its vertices, and the digits of an anchor beside its tile's
// anchor.
template <typename T>
__device__ __forceinline__ void decode_raw(const Job& job, Decoder& decoder, u64 index, i32 position, bool active, u32 symbol) {
    u32 bits = active ? decoder.tables->raw_bits[symbol] : 0;
    if (active && position == 0) bits = raw_bits(symbol, 0, sizeof(T));
    const u32 pieces = warp_max((bits + 15) / 16);
    u64 low = 0, high = 0;
    for (u32 piece = 0; piece < pieces; piece++) {
        const u32 at = 16 * piece;
        const bool has = bits > at;
        const u32 n = has ? (bits - at < 16 ? bits - at : 16) : 1;
        const u64 value = decoder.raw(has, n);
        if (at < 64)
            low |= value << at;
        else
            high |= value << (at - 64);
    }
    if (bits == 0) return;
    typedef typename Payload<T>::Type P;
    reinterpret_cast<P*>(job.payload)[index * TILE_VERTICES + position] = Payload<T>::make(low, high);
    if (position == 0 && symbol != STORED) {
        const u32 own = symbol_raw_bits(symbol);
        const u32 digits = (u32)(own == 0 ? low : own < 64 ? low >> own | high << (64 - own) : high);
        // In the place of the anchor's value, which is made from it.
        reinterpret_cast<typename Real<T>::Pair*>(job.anchors)[index].x = Real<T>::from_bits(digits);
    }
}

// Grid: any. Block: 32 * DECODE_WARPS, a warp for a group at a time. Dynamic shared: DecodeTables.
// Symbols, payloads, masks and info of the tiles.
template <typename T>
__device__ __forceinline__ void decode_groups(const Job& job) {
    extern __shared__ u32 dynamic_shared[];
    DecodeTables& tables = *reinterpret_cast<DecodeTables*>(dynamic_shared);
    Control& control = control_of(job);
    if (control.status != STATUS_OK || control.content != CONTENT_CODED) return;
    if (control.coder != CODER_ANS || control.predictor != PREDICTOR_HIERARCHICAL) return;
    for (u32 k = threadIdx.x; k < TABLES * ALPHABET; k += blockDim.x) tables.entries[k] = job.tables[k];
    for (u32 k = threadIdx.x; k < sizeof(tables.starts) / 4; k += blockDim.x)
        reinterpret_cast<u32*>(tables.starts)[k] = reinterpret_cast<const u32*>(job.slots)[k];
    for (u32 k = threadIdx.x; k < ALPHABET; k += blockDim.x) tables.raw_bits[k] = k < SYMBOLS ? (u8)raw_bits(k, 1, sizeof(T)) : 0;
    __syncthreads();
    const i32 lane = threadIdx.x & 31;
    const u32 log2 = control.group_log2;
    // Consecutive groups go to different blocks.
    for (u64 group = blockIdx.x + (u64)gridDim.x * (threadIdx.x >> 5); group < control.groups;
         group += (u64)gridDim.x * DECODE_WARPS) {
        const u64 first = group << log2, end = job.tiles() < first + (1ull << log2) ? job.tiles() : first + (1ull << log2);
        const u8* bytes = job.stream + job.group_offsets[group];
        Decoder decoder;
        decoder.tables = &tables;
        decoder.open(bytes, job.group_sizes[group]);
        bool bad = false;
        u32 exact = 0;
        for (u64 batch = first; batch < end && !bad; batch += 32) {
            const i32 tiles = (i32)(end - batch < 32 ? end - batch : 32);
            u32 my_info = decoder.step(lane < tiles, TILE_MODE);
            bad = __any_sync(FULL, my_info > 8);
            if (bad) break;
            const bool coded = lane < tiles && has_codes(my_info);
            for (i32 k = 0; k < 3; k++) {
                const u32 cls = decoder.step(coded, class_table(my_info, k));
                bad |= __any_sync(FULL, cls >= CLASSES);
                if (bad) break;
                my_info |= cls << (8 + 8 * k);
            }
            if (bad) break;
            if (lane < tiles) job.info[batch + lane] = my_info;
            for (i32 t = 0; t < tiles; t++) {
                const u64 index = batch + t;
                const u32 info = __shfl_sync(FULL, my_info, t), mode = info & 255;
                const TileShape shape = tile_shape(job, index);
                u32* masks = job.masks + index * 64;
                if (mode != 0) {
#pragma unroll
                    for (i32 plane = 0; plane < 2; plane++) {
                        const u32 state = plane == 0 ? mode / 3 : mode % 3;
                        u32 row = 0;
                        if (state == MASK_ALL) {
                            row = lane < shape.owned_y() ? row_mask(shape.owned_x()) : 0;
                        } else if (state == MASK_SOME) {
                            for (i32 byte = 0; 8 * byte < shape.owned_x(); byte++)
                                row |= decoder.step(lane < shape.owned_y(), MASK_BYTE) << (8 * byte);
                            // Rows are stored as differences: an exclusive-or over the rows before.
                            for (i32 k = 1; k < 32; k *= 2) {
                                const u32 other = __shfl_up_sync(FULL, row, k);
                                if (lane >= k) row ^= other;
                            }
                            row = lane < shape.owned_y() ? row & row_mask(shape.owned_x()) : 0;
                        }
                        masks[plane * TILE + lane] = row;
                    }
                    __syncwarp();
                }
                if (!has_codes(mode)) continue;
                u8* const out = job.symbols + index * TILE_VERTICES + lane;
                const Active active_at(shape, mode, masks);
                u32 steps = 0;
#pragma unroll 1
                for (i32 block = 0; block < 3; block++) {
                    const u32 cls = class_in(info, block);
                    if (cls == 0) continue;
                    // The table is the same for all lanes from step 2 on.
                    const u32 common = table_of(first_step(block) * 32, cls), first_entry = tables.entries[common * ALPHABET];
                    const bool runs = active_at.whole && block > 0 && entry_symbol(first_entry) == SYMBOL_ZERO;
                    const u32 zero = entry_frequency(first_entry);
#pragma unroll 1
                    for (i32 step = first_step(block); step < end_step(block); step++) {
                        if (runs) {
                            step += decoder.zeros(zero, end_step(block) - step);
                            if (step == end_step(block)) break;
                        }
                        const i32 position = step * 32 + lane;
                        const bool active = active_at.at(position);
                        u32 symbol;
                        if (block > 0)
                            symbol = decoder.step(active, common, first_entry);
                        else
                            symbol = decoder.step(active, table_of(position, cls));
                        if (symbol > STORED) symbol = STORED;
                        steps |= 1u << step;
                        out[32 * step] = (u8)symbol;
                        if (__any_sync(FULL, symbol >= FIRST_WITH_RAW_BITS)) {
                            exact += __popc(__ballot_sync(FULL, symbol == STORED));
                            decode_raw<T>(job, decoder, index, position, active, symbol);
                        }
                    }
                }
                if (lane == 0) job.steps[index] = steps;
            }
        }
        bad |= __any_sync(FULL, decoder.x != 1u << 16) || (decoder.next + 1) / 2 * 2 != decoder.size;
        if (bad && lane == 0) fail(control, STATUS_CORRUPT_STREAM);
        if (exact && lane == 0) atomicAdd((ull*)&control.exact, (ull)exact);
    }
}

// ---------------------------------------------------------------- anchors

// The base codes that an anchor adds to those before it, and whether it has a code.
template <typename T>
__device__ __forceinline__ bool anchor_code(const Job& job, u64 index, Code& code, u32& symbol) {
    const u32 info = job.info[index], mode = info & 255;
    code = {0, 0, 0};
    symbol = SYMBOL_ZERO;
    if (mode != 0 && ((job.masks[index * 64] | job.masks[index * 64 + TILE]) & 1)) return false;
    if (!has_codes(mode)) return false;
    if (class_in(info, 0) == 0) return true;
    symbol = job.symbols[index * TILE_VERTICES];
    if (symbol == STORED) return false;
    typedef typename Payload<T>::Type P;
    u64 raw = 0;
    if (symbol_raw_bits(symbol)) raw = Payload<T>::low(reinterpret_cast<const P*>(job.payload)[index * TILE_VERTICES]);
    code = decode_symbol(symbol, raw);
    return true;
}

// Grid: rows of tiles. Block: 256. Values of the anchors of one row.
template <typename T>
__device__ __forceinline__ void anchor_values(const Job& job) {
    typedef typename Real<T>::Pair P;
    typedef typename Payload<T>::Type Q;
    Control& control = control_of(job);
    if (control.status != STATUS_OK || control.content != CONTENT_CODED) return;
    if (control.predictor != PREDICTOR_HIERARCHICAL) return;
    const u64 ty = blockIdx.x;
    // The base code above: differences of the first column.
    u32 base_u = 0, base_v = 0;
    auto sum = [](u32 u, u32 v, u32& all_u, u32& all_v, u32& before_u, u32& before_v) {
        u64 total;
        before_u = (u32)block_exclusive_sum(u, total);
        all_u = (u32)total;
        before_v = (u32)block_exclusive_sum(v, total);
        all_v = (u32)total;
    };
    u32 all_u, all_v, before_u, before_v;
    for (u64 y = threadIdx.x; y < ty; y += blockDim.x) {
        Code code;
        u32 symbol;
        if (anchor_code<T>(job, y * job.tiles_x, code, symbol)) {
            base_u += (u32)code.qu;
            base_v += (u32)code.qv;
        }
    }
    sum(base_u, base_v, all_u, all_v, before_u, before_v);
    base_u = all_u;
    base_v = all_v;
    for (u64 x0 = 0; x0 < job.tiles_x; x0 += blockDim.x) {
        const u64 x = x0 + threadIdx.x, index = ty * job.tiles_x + x;
        Code code = {0, 0, 0};
        u32 symbol = SYMBOL_ZERO;
        bool has = false;
        if (x < job.tiles_x) has = anchor_code<T>(job, index, code, symbol);
        u32 u = has ? (u32)code.qu : 0, v = has ? (u32)code.qv : 0;
        sum(u, v, all_u, all_v, before_u, before_v);
        u += base_u + before_u;
        v += base_v + before_v;
        if (x < job.tiles_x) {
            P value = Real<T>::pair(T(0), T(0));
            if (has) {
                const u32 digits = code.id ? (u32)Real<T>::bits(reinterpret_cast<const P*>(job.anchors)[index].x) : 0;
                const u32 mask = (1u << (2 * code.id)) - 1;
                const T w = (T)control.quantizer.width[ANCHOR_LEVEL][code.id];
                const i32 qu = join_code((i32)u, digits & mask, code.id);
                const i32 qv = join_code((i32)v, digits >> (2 * code.id) & mask, code.id);
                value = Real<T>::pair(T(0) + (T)qu * w, T(0) + (T)qv * w);
            } else if (symbol == STORED) {
                const Q raw = reinterpret_cast<const Q*>(job.payload)[index * TILE_VERTICES];
                const T a = Real<T>::from_bits(Payload<T>::low(raw)), b = Real<T>::from_bits(Payload<T>::second(raw));
                if (Real<T>::finite(a) && Real<T>::finite(b)) value = Real<T>::pair(a, b);
            }
            reinterpret_cast<P*>(job.anchors)[index] = value;
        }
        base_u += all_u;
        base_v += all_v;
    }
}
