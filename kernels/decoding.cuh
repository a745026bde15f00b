// Entries of decompression: from the stream to values. Nothing is read beyond the stream's bytes and
// nothing written beyond the grid, whatever the stream says.
#pragma once
#include "coding.cuh"

// ---------------------------------------------------------------- header and tables

// The first failure of a call is the one that is reported.
__device__ __forceinline__ void fail(Control& control, i32 status) { atomicCAS(&control.status, STATUS_OK, status); }

struct BitReader {
    const u8* bytes;
    u32 size, position;
    // Bits beyond the end are zeros; `position` tells.
    __device__ __forceinline__ u32 get(u32 bits) {
        u32 value = 0;
        for (u32 k = 0; k < bits; k++, position++)
            if (position / 8 < size) value |= (u32)(bytes[position / 8] >> (position & 7) & 1) << k;
        return value;
    }
};

// Reads a stored table into frequencies; false if no encoder writes it.
__device__ inline bool read_table(const u8* bytes, u32 size, u16* frequencies) {
    if (size == 0) return true;
    BitReader bits = {bytes, size, 0};
    const u32 entries = bits.get(8) + 1;
    i32 symbol = -1;
    u32 sum = 0;
    for (u32 e = 0; e < entries; e++) {
        u32 length = 0;
        while (bits.get(1) == 0)
            if (++length > 8 || bits.position > 8 * size) return false;
        symbol += (i32)(1u << length | bits.get(length));
        length = bits.get(4);
        const u32 f = 1u << length | bits.get(length);
        sum += f;
        if (symbol >= (i32)ALPHABET || sum > SCALE || bits.position > 8 * size) return false;
        frequencies[symbol] = (u16)f;
    }
    return sum == SCALE;
}

// Grid: 1 + TABLES. Block: 256. Block 0 checks the header and finds the groups; the others make a
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
        if (status != STATUS_OK || !coded) return;
        __shared__ u16 frequencies[ALPHABET];
        __shared__ u32 starts[ALPHABET];
        const u32 table = blockIdx.x - 1;
        for (u32 k = threadIdx.x; k < ALPHABET; k += blockDim.x) frequencies[k] = 0;
        __syncthreads();
        if (threadIdx.x == 0) {
            u64 at = TABLE_SIZES_BYTES;
            for (u32 k = 0; k < table; k++) at += 4 * section[k];
            const u32 size = 4 * section[table];
            if (at + size > header.table_bytes || !read_table(section + at, size, frequencies)) {
                fail(control, STATUS_CORRUPT_STREAM);
                for (u32 k = 0; k < ALPHABET; k++) frequencies[k] = 0;
            }
            u32 start = 0;
            for (u32 k = 0; k < ALPHABET; k++) {
                starts[k] = start;
                start += frequencies[k];
            }
            // A table without symbols decodes to zeros without touching the state.
            if (start == 0) frequencies[0] = 0xffff;
        }
        __syncthreads();
        u8* slots = job.slots + (u64)table * SCALE;
        const bool empty = frequencies[0] == 0xffff;
        for (u32 k = threadIdx.x; k < ALPHABET; k += blockDim.x) {
            const u32 f = empty ? (k == 0 ? SCALE : 0) : frequencies[k];
            job.tables[table * ALPHABET + k] = f << 16 | (empty ? 0 : starts[k]);
            for (u32 s = 0; s < f; s++) slots[(empty ? 0 : starts[k]) + s] = (u8)k;
        }
        return;
    }
    // Block 0.
    __shared__ u64 sums[8];
    __shared__ u64 carry;
    if (status == STATUS_OK && coded) {
        const u64 groups = header.groups;
        const u8* sizes = section + header.table_bytes;
        const i32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
        if (threadIdx.x == 0) {
            u64 total = TABLE_SIZES_BYTES;
            for (u32 k = 0; k < TABLES; k++) total += 4 * section[k];
            if (total != header.table_bytes) status = STATUS_CORRUPT_STREAM;
            carry = HEADER_BYTES + (u64)header.table_bytes + 4 * groups;
        }
        __syncthreads();
        for (u64 base = 0; base < groups; base += 256) {
            const u64 g = base + threadIdx.x, size = g < groups ? get32(sizes + 4 * g) : 0;
            u64 sum = size;
            for (i32 k = 1; k < 32; k *= 2) {
                const u64 other = __shfl_up_sync(FULL, sum, k);
                if (lane >= k) sum += other;
            }
            if (lane == 31) sums[warp] = sum;
            __syncthreads();
            u64 start = carry + sum - size;
            for (i32 w = 0; w < warp; w++) start += sums[w];
            if (g < groups) {
                job.group_offsets[g] = start;
                job.group_sizes[g] = size;
                if (start + size > header.stream_bytes || size < STATE_BYTES || size % 4 != 0) status = STATUS_CORRUPT_STREAM;
            }
            __syncthreads();
            if (threadIdx.x == 0)
                for (i32 w = 0; w < 8; w++) carry += sums[w];
            __syncthreads();
        }
        if (threadIdx.x == 0 && carry != header.stream_bytes) status = STATUS_CORRUPT_STREAM;
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

// rANS of one group, forwards, a lane per state. Words beyond the end are zeros. The next 64 words
// wait in two registers of each lane, so that no step waits for memory.
struct Decoder {
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
    __device__ __forceinline__ u32 raw(bool active, u32 bits) {
        u32 value = 0;
        if (active) {
            value = x & ((1u << bits) - 1);
            x >>= bits;
        }
        refill(active);
        return value;
    }
    // A symbol in each active lane, escapes resolved. `zero` is the entry of symbol 0, which comes
    // first in its table and is by far the most frequent one.
    __device__ __forceinline__ u32 step(const Job& job, bool active, u32 table, u32 zero) {
        u32 symbol = 0;
        bool escaped = false;
        if (active) {
            const u32 slot = x & (SCALE - 1);
            u32 entry = zero;
            if (slot >= zero >> 16) {
                symbol = job.slots[table * SCALE + slot];
                entry = job.tables[table * ALPHABET + symbol];
                escaped = symbol == ESCAPE;
            }
            x = (entry >> 16) * (x >> SCALE_BITS) + slot - (entry & 0xffff);
        }
        const bool zeros = __ballot_sync(FULL, symbol != SYMBOL_ZERO) == 0;
        refill(active);
        if (!zeros && __any_sync(FULL, escaped)) {
            const u32 value = raw(escaped, 8);
            if (escaped) symbol = value;
        }
        return symbol;
    }
    __device__ __forceinline__ u32 step(const Job& job, bool active, u32 table) {
        return step(job, active, table, active ? job.tables[table * ALPHABET] : 0);
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
    const u32 bits = active ? raw_bits(symbol, position, sizeof(T)) : 0;
    u32 pieces = (bits + 15) / 16;
    for (i32 k = 16; k > 0; k /= 2) {
        const u32 other = __shfl_xor_sync(FULL, pieces, k);
        if (other > pieces) pieces = other;
    }
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

// Grid: any. Block: 32, a warp for a group at a time. Symbols, payloads, masks and info of its tiles.
template <typename T>
__device__ __forceinline__ void decode_groups(const Job& job) {
    Control& control = control_of(job);
    if (control.status != STATUS_OK || control.content != CONTENT_CODED) return;
    const i32 lane = threadIdx.x;
    const u32 log2 = control.group_log2;
    for (u64 group = blockIdx.x; group < control.groups; group += gridDim.x) {
        const u64 first = group << log2, end = job.tiles() < first + (1ull << log2) ? job.tiles() : first + (1ull << log2);
        const u8* bytes = job.stream + job.group_offsets[group];
        Decoder decoder;
        decoder.open(bytes, job.group_sizes[group]);
        bool bad = false;
        u32 exact = 0;
        for (u64 batch = first; batch < end && !bad; batch += 32) {
            const i32 tiles = (i32)(end - batch < 32 ? end - batch : 32);
            u32 my_info = decoder.step(job, lane < tiles, TILE_MODE);
            bad = __any_sync(FULL, my_info > 8);
            if (bad) break;
            const bool coded = lane < tiles && has_codes(my_info);
            for (i32 k = 0; k < 3; k++) {
                const u32 cls = decoder.step(job, coded, class_table(my_info, k));
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
                                row |= decoder.step(job, lane < shape.owned_y(), MASK_BYTE) << (8 * byte);
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
                u8* symbols = job.symbols + index * TILE_VERTICES;
                const bool whole = mode == 0 && shape.last_x >= TILE - 1 && shape.last_y >= TILE - 1;
#pragma unroll 1
                for (i32 block = 0; block < 3; block++) {
                    const u32 cls = class_in(info, block);
                    if (cls == 0) continue;
                    // The table is the same for all lanes from step 2 on.
                    const u32 zero = block > 0 ? job.tables[table_of(first_step(block) * 32, cls) * ALPHABET] : 0;
#pragma unroll 1
                    for (i32 step = first_step(block); step < end_step(block); step++) {
                        const i32 position = step * 32 + lane;
                        const bool active = whole || is_active(shape, mode, masks, position);
                        const u32 table = table_of(position, cls);
                        u32 symbol = decoder.step(job, active, table, block > 0 ? zero : job.tables[table * ALPHABET]);
                        if (symbol > STORED) symbol = STORED;
                        if (!active) symbol = SYMBOL_ZERO;
                        symbols[position] = (u8)symbol;
                        if (__any_sync(FULL, symbol >= FIRST_WITH_RAW_BITS)) {
                            exact += __popc(__ballot_sync(FULL, symbol == STORED));
                            decode_raw<T>(job, decoder, index, position, active, symbol);
                        }
                    }
                }
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

// Grid: rows of tiles. Block: 32. Values of the anchors of one row.
template <typename T>
__device__ __forceinline__ void anchor_values(const Job& job) {
    typedef typename Real<T>::Pair P;
    typedef typename Payload<T>::Type Q;
    Control& control = control_of(job);
    if (control.status != STATUS_OK || control.content != CONTENT_CODED) return;
    const i32 lane = threadIdx.x;
    const u64 ty = blockIdx.x;
    // The base code above: differences of the first column.
    u32 base_u = 0, base_v = 0;
    for (u64 y = lane; y < ty; y += 32) {
        Code code;
        u32 symbol;
        if (anchor_code<T>(job, y * job.tiles_x, code, symbol)) {
            base_u += (u32)code.qu;
            base_v += (u32)code.qv;
        }
    }
    base_u = warp_sum(base_u);
    base_v = warp_sum(base_v);
    for (u64 x0 = 0; x0 < job.tiles_x; x0 += 32) {
        const u64 x = x0 + lane, index = ty * job.tiles_x + x;
        Code code = {0, 0, 0};
        u32 symbol = SYMBOL_ZERO;
        bool has = false;
        if (x < job.tiles_x) has = anchor_code<T>(job, index, code, symbol);
        u32 u = has ? (u32)code.qu : 0, v = has ? (u32)code.qv : 0;
        for (i32 k = 1; k < 32; k *= 2) {
            const u32 ou = __shfl_up_sync(FULL, u, k), ov = __shfl_up_sync(FULL, v, k);
            if (lane >= k) {
                u += ou;
                v += ov;
            }
        }
        u += base_u;
        v += base_v;
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
        base_u = __shfl_sync(FULL, u, 31);
        base_v = __shfl_sync(FULL, v, 31);
    }
}

// ---------------------------------------------------------------- tiles

template <typename T>
struct RestoreShared {
    typename Real<T>::Pair values[CLOSED * CLOSED];
    alignas(16) u8 symbols[TILE_VERTICES];
};

// What predictions see of a vertex with this symbol.
template <typename T, typename P = typename Real<T>::Pair>
__device__ __noinline__ P reconstruct(const Job& job, const Quantizer& q, u64 index, i32 position, u32 symbol,
                                         P prediction, i32 level, T width) {
    typedef typename Payload<T>::Type Q;
    if (symbol < FIRST_WITH_RAW_BITS) {
        const Code code = decode_small(symbol);
        return Real<T>::pair(prediction.x + (T)code.qu * width, prediction.y + (T)code.qv * width);
    }
    const Q raw = reinterpret_cast<const Q*>(job.payload)[index * TILE_VERTICES + position];
    if (symbol == STORED) {
        const T a = Real<T>::from_bits(Payload<T>::low(raw)), b = Real<T>::from_bits(Payload<T>::second(raw));
        if (Real<T>::finite(a) && Real<T>::finite(b)) return Real<T>::pair(a, b);
        return Real<T>::pair(T(0), T(0));
    }
    const Code code = decode_symbol(symbol, symbol_raw_bits(symbol) ? Payload<T>::low(raw) : 0);
    const T w = (T)q.width[level][code.id];
    return Real<T>::pair(prediction.x + (T)code.qu * w, prediction.y + (T)code.qv * w);
}

// Grid: tiles / warps. Block: 32 * warps. One tile by one warp, its lattice lines included: those on
// the right and below are decoded again from the codes of the neighbours.
template <typename T>
__device__ __forceinline__ void restore(const Job& job) {
    typedef typename Real<T>::Pair P;
    typedef typename Payload<T>::Type Q;
    constexpr i32 WARPS = sizeof(T) == 4 ? 4 : 2;
    __shared__ RestoreShared<T> shared_[WARPS];
    RestoreShared<T>& shared = shared_[threadIdx.x >> 5];
    Control& control = control_of(job);
    const i32 lane = threadIdx.x & 31;
    const u64 index = (u64)blockIdx.x * WARPS + (threadIdx.x >> 5);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        Report r = {};
        r.status = control.status;
        if (r.status == STATUS_OK) {
            r.stream_bytes = control.stream_bytes;
            r.required_bytes = 2 * job.nx * job.ny * sizeof(T);
            r.exact_vertices = control.content == CONTENT_STORED ? job.nx * job.ny : control.exact;
            r.bound = control.bound;
        }
        *job.report = r;
    }
    if (control.status != STATUS_OK || index >= job.tiles()) return;
    const TileShape shape = tile_shape(job, index);
    const i32 width = shape.last_x + 1, height = shape.last_y + 1, ox = shape.owned_x(), oy = shape.owned_y();
    T* out_u = vertex_at<T>(job.u, job.u_layout, shape.x0, shape.y0);
    T* out_v = vertex_at<T>(job.v, job.v_layout, shape.x0, shape.y0);
    if (control.content == CONTENT_STORED) {
        const u8* from = job.stream + HEADER_BYTES;
        for (i32 y = 0; y < oy; y++)
            for (i32 x = lane; x < ox; x += 32) {
                const u64 k = (shape.y0 + y) * job.nx + shape.x0 + x;
                const u8 *a = from + k * sizeof(T), *b = a + job.nx * job.ny * sizeof(T);
                out_u[y * job.u_layout.pitch + x * job.u_layout.stride] =
                    Real<T>::from_bits(sizeof(T) == 4 ? get32(a) : get64(a));
                out_v[y * job.v_layout.pitch + x * job.v_layout.stride] =
                    Real<T>::from_bits(sizeof(T) == 4 ? get32(b) : get64(b));
            }
        return;
    }
    const Quantizer& q = control.quantizer;
    P* values = shared.values;
    // Own symbols; blocks of class 0 are all zero.
    const u32 info = job.info[index], mode = info & 255;
    const u32* masks = job.masks + index * 64;
    {
        const u32* from = reinterpret_cast<const u32*>(job.symbols + index * TILE_VERTICES);
        u32* to = reinterpret_cast<u32*>(shared.symbols);
        const bool coded = has_codes(mode);
#pragma unroll
        for (i32 k = 0; k < 8; k++) {
            const i32 word = 32 * k + lane;
            const u32 cls = word >= 64 ? class_in(info, 2) : word >= 16 ? class_in(info, 1) : class_in(info, 0);
            to[word] = coded && cls ? from[word] : 0;
        }
    }
    // Corners.
    const P* anchor = reinterpret_cast<const P*>(job.anchors);
    if (lane < 4) {
        const i32 x = lane & 1 ? TILE : 0, y = lane & 2 ? TILE : 0;
        if (x < width && y < height)
            values[y * CLOSED + x] = anchor[index + (lane & 1) + (lane & 2 ? job.tiles_x : 0)];
    }
    __syncwarp();
    // The four sides: top and bottom, left and right.
    const bool full = width == CLOSED && height == CLOSED;
#pragma unroll 1
    for (i32 level = ANCHOR_LEVEL - 1; level >= 0; level--) {
        const i32 step = 1 << level, n = 16 >> level;
        const Kernel<T> kernel = kernel_of<T>(control.kernels[level]);
        const T w = (T)q.width[level][0];
#pragma unroll 1
        for (i32 k = lane; k < 4 * n; k += 32) {
            const i32 side = k >> (4 - level), i = k & (n - 1), along_ = (2 * i + 1) * step;
            const bool vertical = side & 1, far = side & 2;
            const i32 x = vertical ? (far ? TILE : 0) : along_, y = vertical ? along_ : (far ? TILE : 0);
            if (x >= width || y >= height || (!full && along_ > (vertical ? shape.last_y : shape.last_x))) continue;
            if (along_ >= TILE) continue;
            // The tile that owns the side, and the position there.
            const u64 owner = far ? (vertical ? index + 1 : index + job.tiles_x) : index;
            const i32 position = n * n * (vertical ? 2 : 1) + (vertical ? i * n : i);
            u32 symbol;
            bool masked = false;
            if (far) {
                const u32 other = job.info[owner], m = other & 255;
                const u32 cls = position >= 256 ? class_in(other, 2) : position >= 64 ? class_in(other, 1) : class_in(other, 0);
                symbol = has_codes(m) && cls ? job.symbols[owner * TILE_VERTICES + position] : SYMBOL_ZERO;
                if (m != 0) {
                    const u32* rows = job.masks + owner * 64 + (vertical ? y : 0);
                    masked = (rows[0] | rows[TILE]) >> (vertical ? 0 : x) & 1;
                }
            } else {
                symbol = shared.symbols[position];
                if (mode != 0) masked = (masks[y] | masks[TILE + y]) >> x & 1;
            }
            const i32 last = vertical ? shape.last_y : shape.last_x;
            const P p = along<T>(kernel, values, y * CLOSED + x, vertical ? step * CLOSED : step, along_, step, last);
            P value = Real<T>::pair(T(0), T(0));
            if (!masked) value = reconstruct<T>(job, q, owner, position, symbol, p, level, w);
            values[y * CLOSED + x] = value;
        }
        __syncwarp();
    }
    // The interior.
    interior<T>(values, shape.last_x, shape.last_y, control.kernels, q,
                [&](i32 level, T w, T, i32 position, i32 x, i32 y, P prediction) {
                    const u32 symbol = shared.symbols[position];
                    P value;
                    if (symbol == SYMBOL_ZERO) {
                        // As the twin rounds it: adding a zero makes -0 into 0.
                        value = Real<T>::pair(prediction.x + T(0) * w, prediction.y + T(0) * w);
                        if (mode != 0 && ((masks[y] | masks[TILE + y]) >> x & 1)) value = Real<T>::pair(T(0), T(0));
                    } else {
                        value = reconstruct<T>(job, q, index, position, symbol, prediction, level, w);
                    }
                    values[y * CLOSED + x] = value;
                });
    __syncwarp();
    // Values that predictions did not see.
    if (mode != 0) {
        const T fill_u = Real<T>::from_bits(control.fill[0]), fill_v = Real<T>::from_bits(control.fill[1]);
        for (i32 y = 0; y < oy; y++) {
            const u32 zero = masks[y], fill = masks[TILE + y];
            if (lane < ox) {
                if (zero >> lane & 1)
                    values[y * CLOSED + lane] = Real<T>::pair(T(0), T(0));
                else if (fill >> lane & 1)
                    values[y * CLOSED + lane] = Real<T>::pair(fill_u, fill_v);
            }
        }
    }
    if (has_codes(mode)) {
        for (i32 k = lane; k < TILE_VERTICES / 4; k += 32) {
            const u32 four = reinterpret_cast<const u32*>(shared.symbols)[k];
            if (four == 0) continue;
            for (i32 b = 0; b < 4; b++) {
                if ((four >> 8 * b & 255) != STORED) continue;
                i32 x, y;
                place_of(4 * k + b, x, y);
                if (mode != 0 && ((masks[y] | masks[TILE + y]) >> x & 1)) continue;
                const Q raw = reinterpret_cast<const Q*>(job.payload)[index * TILE_VERTICES + 4 * k + b];
                values[y * CLOSED + x] = Real<T>::pair(Real<T>::from_bits(Payload<T>::low(raw)),
                                                       Real<T>::from_bits(Payload<T>::second(raw)));
            }
        }
    }
    __syncwarp();
    for (i32 y = 0; y < oy; y++)
        if (lane < ox) {
            const P value = values[y * CLOSED + lane];
            out_u[y * job.u_layout.pitch + lane * job.u_layout.stride] = value.x;
            out_v[y * job.v_layout.pitch + lane * job.v_layout.stride] = value.y;
        }
}
