// Entries of decompression from groups to symbols and anchors; restore.cuh has the rest. Nothing is read beyond the stream's bytes and
// nothing written beyond the grid, whatever the stream says. Twin: src/stage/entropy/group/decode.rs.
#pragma once
#include "opening.cuh"

// ---------------------------------------------------------------- groups

// In shared memory: rANS: entries by table, and where the search for that of a slot begins; the Huffman tables are
// too large for it.
constexpr i32 DECODE_WARPS = 8;
template <bool HUFFMAN>
struct DecodeShared {
    alignas(16) u32 entries[HUFFMAN ? 4 : SHARED_TABLES * ALPHABET];
    alignas(16) u8 starts[HUFFMAN ? 16 : SHARED_TABLES * (SCALE / SLOTS_PER_START)];
    u8 raw_bits[ALPHABET];
    BatchLists lists[DECODE_WARPS];
    MaskedRows rows[DECODE_WARPS];
    u32 steps[DECODE_WARPS][BATCH];  // of each tile: which have symbols
};
static_assert(sizeof(DecodeShared<false>) == 32 * (4 * 256 + 256) + 256 + 8 * (2 * 288 + 1024 + 128), "launch.rs asks for as much");
static_assert(sizeof(DecodeShared<true>) == 32 + 256 + 8 * (2 * 288 + 1024 + 128), "launch.rs asks for as much");

// A group forwards, a lane per state. Words beyond the end are zeros. The next 64 words wait in two registers of
// each lane, so that no step waits for memory.
template <bool HUFFMAN>
struct Decoder {
    const DecodeShared<HUFFMAN>* shared;
    const Job* job;
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
    __device__ __forceinline__ bool is_at_end() const {
        return !__any_sync(FULL, x != 1u << 16) && (next + 1) / 2 * 2 == size;
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
    // As many raw bits, at most 16, as each lane asks for.
    __device__ __forceinline__ u32 raw(u32 bits) {
        const u32 value = x & ((1u << bits) - 1);
        x >>= bits;
        refill(bits > 0);
        return value;
    }
    // A symbol in each active lane from a table of rANS, or of Huffman codes, escapes resolved; 0 in the others.
    __device__ __forceinline__ u32 step_from(bool active, const u32* entries, const u8* starts, const u16* codes) {
        u32 symbol = 0;
        if (HUFFMAN) {
            const u32 entry = active ? codes[x & (CODES - 1)] : 0;
            symbol = entry & 255;
            x >>= entry >> 8;
        } else if (active) {
            const u32 slot = x & (SCALE - 1);
            u32 rank = starts[slot / SLOTS_PER_START];
            u32 entry = entries[rank];
            while (slot >= entry_start(entry) + entry_frequency(entry)) entry = entries[++rank];
            x = entry_frequency(entry) * (x >> SCALE_BITS) + slot - entry_start(entry);
            symbol = entry_symbol(entry);
        }
        refill(active);
        const bool escaped = active && symbol == ESCAPE;
        if (__any_sync(FULL, escaped)) {
            const u32 value = raw(escaped ? 8 : 0);
            if (escaped) symbol = value;
        }
        return symbol;
    }
    __device__ __forceinline__ const u16* codes_of(u32 table) const { return reinterpret_cast<const u16*>(job->codes) + table * CODES; }
    // By a table that is in shared memory, and by one that is not.
    __device__ __forceinline__ u32 step(bool active, u32 table) {
        const u32 at = active ? table - FIRST_SHARED_TABLE : 0;
        return step_from(active, shared->entries + at * ALPHABET, shared->starts + at * (SCALE / SLOTS_PER_START), codes_of(table));
    }
    __device__ __forceinline__ u32 head_step(bool active, u32 table) {
        const u32 at = active ? table : 0;
        return step_from(active, job->tables + at * ALPHABET, job->slots + at * (SCALE / SLOTS_PER_START), codes_of(at));
    }
    // A step of runs: their lengths. `bad` if there is a symbol that is none.
    __device__ __forceinline__ u32 runs(bool active, u32 table, bool& bad) {
        const u32 symbol = step(active, table);
        bad |= __any_sync(FULL, symbol >= RUNS);
        const u32 bits = symbol < RUNS ? run_bits(symbol) : 0;
        return decode_run(symbol, __any_sync(FULL, bits > 0) ? raw(bits) : 0, bits);
    }
};

// Raw bits of a step of symbols to the payload of their vertices, and the digits of an anchor beside its tile's
// anchor; whether a symbol has too many.
template <typename T, bool HUFFMAN>
__device__ __forceinline__ bool take_raw(const Job& job, Decoder<HUFFMAN>& decoder, bool lorenzo, u64 index, bool active, i32 position, u32 symbol) {
    const u32 bits = active ? raw_bits_at<T>(decoder.shared->raw_bits, symbol, position) : 0;
    if (lorenzo && sizeof(T) == 4 && __any_sync(FULL, bits > 64)) return true;
    const u32 pieces = warp_max((bits + 15) / 16);
    u64 low = 0, high = 0;
#pragma unroll 1
    for (u32 piece = 0; piece < pieces; piece++) {
        const u32 at = 16 * piece;
        const u64 value = decoder.raw(bits > at ? (bits - at < 16 ? bits - at : 16) : 0);
        if (bits <= at) continue;
        if (at < 64)
            low |= value << at;
        else
            high |= value << (at - 64);
    }
    if (bits == 0) return false;
    typedef typename Payload<T>::Type P;
    reinterpret_cast<P*>(job.payload)[index * TILE_VERTICES + position] = Payload<T>::make(low, high);
    if (!lorenzo && has_digits(symbol, position) && symbol != STORED) {
        const u32 own = symbol_raw_bits(symbol);
        const u32 digits = (u32)(own == 0 ? low : own < 64 ? low >> own | high << (64 - own) : high);
        // In the place of the anchor's value, which is made from it.
        reinterpret_cast<typename Real<T>::Pair*>(job.anchors)[index].x = Real<T>::from_bits(digits);
    }
    return false;
}

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
        const TileShape shape = tile_shape(job, index);
        const u32 byte = decoder.step(active, MASK_BYTE);
        const bool fits = number < 32 * ((shape.owned_x() + 7) / 8) && (number & 31) < shape.owned_y();
        if (__any_sync(FULL, active && !fits)) return true;
        if (active) atomicOr(&job.masks[index * 64 + (name & 1) * TILE + (number & 31)], byte << 8 * (number >> 5));
    }
    __syncwarp();
    for (u32 left = masked; left; left &= left - 1) {
        const i32 t = __ffs(left) - 1;
        const u32 states = mode_in(__shfl_sync(FULL, my_info, t));
        const u64 index = batch + t;
        const TileShape shape = tile_shape(job, index);
        const u32 all = lane < shape.owned_y() ? row_mask(shape.owned_x()) : 0;
#pragma unroll
        for (i32 plane = 0; plane < 2; plane++) {
            const u32 state = plane == 0 ? states / 3 : states % 3;
            u32* const to = job.masks + index * 64 + plane * TILE + lane;
            u32 row = state == MASK_ALL ? all : 0;
            if (state == MASK_SOME) {
                // Rows are stored as differences: an exclusive-or over the rows before. (Atomics go past the first cache.)
                row = __ldcg(to);
                for (i32 k = 1; k < 32; k *= 2) {
                    const u32 other = __shfl_up_sync(FULL, row, k);
                    if (lane >= k) row ^= other;
                }
                row &= all;
            }
            *to = row;
        }
    }
    __syncwarp();
    return false;
}

// Grid: any. Block: 32 * DECODE_WARPS, a warp for a group at a time. Dynamic shared: DecodeShared. Symbols, payloads,
// masks and info of the tiles of streams with this coder; nothing for others. Symbols of a step of 32 positions are
// written only where one of them is in a list: job.steps says which.
template <typename T, bool HUFFMAN>
__device__ __forceinline__ void decode_groups(const Job& job) {
    extern __shared__ __align__(16) u32 dynamic_shared[];
    DecodeShared<HUFFMAN>& shared = *reinterpret_cast<DecodeShared<HUFFMAN>*>(dynamic_shared);
    Control& control = control_of(job);
    if (control.status != STATUS_OK || control.content != CONTENT_CODED || (control.coder == CODER_HUFFMAN) != HUFFMAN) return;
    const bool lorenzo = control.predictor == PREDICTOR_LORENZO;
    if (!HUFFMAN) {
        copy_words<SHARED_TABLES * ALPHABET, 32 * DECODE_WARPS>(shared.entries, job.tables + FIRST_SHARED_TABLE * ALPHABET);
        copy_words<sizeof(shared.starts) / 4, 32 * DECODE_WARPS>(
            reinterpret_cast<u32*>(shared.starts), reinterpret_cast<const u32*>(job.slots + FIRST_SHARED_TABLE * (SCALE / SLOTS_PER_START)));
    }
    fill_raw_bits<T>(shared.raw_bits, lorenzo);
    __syncthreads();
    const i32 lane = threadIdx.x & 31;
    BatchLists& lists = shared.lists[threadIdx.x >> 5];
    MaskedRows& rows = shared.rows[threadIdx.x >> 5];
    u32* const steps = shared.steps[threadIdx.x >> 5];
    // Consecutive groups go to different blocks.
    for (u64 group = blockIdx.x + (u64)gridDim.x * (threadIdx.x >> 5); group < control.groups; group += (u64)gridDim.x * DECODE_WARPS) {
        // As open_stream packed them.
        const u64 about = job.group_sizes[group], first = about >> 30, end = first + (about >> 22 & 255) + 1;
        Decoder<HUFFMAN> decoder;
        decoder.shared = &shared;
        decoder.job = &job;
        decoder.open(job.stream + job.group_offsets[group], (about & 0x3fffff) << 2);
        bool bad = false;
        u32 exact = 0;
        for (u64 batch = first; batch < end && !bad; batch += BATCH) {
            const i32 tiles = (i32)(end - batch < BATCH ? end - batch : BATCH);
            const bool exists = lane < tiles;
            const u32 mode = decoder.head_step(exists, TILE_MODE);
            bad = __any_sync(FULL, mode >= (lorenzo ? 9 * TIERS : 9));
            if (bad) break;
            u32 my_info = info_of_mode(mode), counts[3], mask_counts[2];
            const bool coded = exists && has_codes(mode_in(my_info));
#pragma unroll
            for (i32 k = 0; k < 3; k++) {
                const u32 cls = decoder.head_step(coded, class_table(my_info, k));
                bad |= __any_sync(FULL, cls >= CLASSES);
                // A class beyond the last would lead beyond the tables.
                my_info |= (cls & (CLASSES - 1)) << (8 + 8 * k);
            }
            if (bad) break;
#pragma unroll
            for (i32 k = 0; k < 3; k++) {
                const u32 cls = class_in(my_info, k);
                counts[k] = decoder.raw(coded && is_sparse(cls) ? count_bits(k, cls) : 0);
            }
#pragma unroll
            for (i32 plane = 0; plane < 2; plane++)
                mask_counts[plane] = decoder.raw(exists && has_mask_list(mode_in(my_info), plane) ? MASK_COUNT_BITS : 0);
            if (exists) job.info[batch + lane] = my_info;
            bad = decode_masks(job, decoder, lists, batch, my_info, exists, mask_counts);
            if (bad) break;

            // Which tiles are whole, and every vertex of them has a symbol.
            bool whole = false;
            if (exists) {
                const TileShape shape = tile_shape(job, batch + lane);
                whole = mode_in(my_info) == 0 && shape.last_x >= TILE - 1 && shape.last_y >= TILE - 1;
            }
            const u32 masked = __ballot_sync(FULL, coded && !whole);
            if (masked) load_masked_rows(job, rows, batch, my_info, masked);
            u32 sizes[TILE_LISTS], names[TILE_LISTS];
            code_lists(my_info, coded, counts, sizes, names);
            i32 list_count, entries, current = 0, open = 0;
            collect_lists<TILE_LISTS>(lists, sizes, names, list_count, entries);
            steps[lane] = 0;
            u32 row_before = 0xffffffffu;
#pragma unroll 1
            for (i32 from = 0; from < entries; from += 32) {
                u32 begins;
                const i32 e = from + lane, list = list_of_entry(lists, from, current, begins);
                const bool here = e < entries;
                const u32 name = here ? lists.names[list] : 0, kind = list_in_tile(name), cls = class_of_list(name), t = tile_of_list(name);
                const i32 at = here ? e - lists.starts[list] : 0, start = list_start(kind);
                const u64 index = batch + t;
                const bool listed = here && !is_dense(name);
                i32 position = start + at;
                if (__any_sync(FULL, listed)) {
                    const i32 run = (i32)decoder.runs(listed, RUN + cls - 1, bad);
                    if (bad) break;
                    const i32 next = sum_in_list(listed ? run + 1 : 0, begins, at == lane ? 0 : open);
                    open = __shfl_sync(FULL, next, 31);
                    if (listed) position = start + next - 1;
                    if (__any_sync(FULL, position >= list_end(kind))) {
                        bad = true;
                        break;
                    }
                } else {
                    open = 0;
                }
                bool active = here;
                if (here && masked >> t & 1) active = is_active(job, rows, lorenzo, batch, t, masked, position);
                if (__any_sync(FULL, listed && !active)) {
                    bad = true;
                    break;
                }
                u32 symbol = decoder.step(active, table_of(position, cls));
                if (symbol > STORED) symbol = STORED;
                // The first lane of each row of 32 positions clears it.
                const u32 row = here ? t << 5 | (u32)position >> 5 : 0xfffffffeu;
                u32 left = __shfl_up_sync(FULL, row, 1);
                if (lane == 0) left = row_before;
                row_before = __shfl_sync(FULL, row, 31);
                u8* const symbols = job.symbols + index * TILE_VERTICES;
                if (here && row != left) {
                    uint4* const to = reinterpret_cast<uint4*>(symbols + (position & ~31));
                    to[0] = to[1] = make_uint4(0, 0, 0, 0);
                    atomicOr(&steps[t], 1u << (position >> 5));
                }
                __syncwarp();
                if (symbol != SYMBOL_ZERO) symbols[position] = (u8)symbol;
                if (__any_sync(FULL, symbol >= FIRST_WITH_RAW_BITS)) {
                    exact += __popc(__ballot_sync(FULL, symbol == STORED));
                    bad = take_raw<T>(job, decoder, lorenzo, index, active, position, symbol);
                    if (bad) break;
                }
            }
            __syncwarp();
            if (exists) job.steps[batch + lane] = steps[lane];
            __syncwarp();
        }
        bad |= !decoder.is_at_end();
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
