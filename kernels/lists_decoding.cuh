// Entries of the coder with lists, and of the Lorenzo predictor: from groups to symbols.
#pragma once
#include "lists_coding.cuh"

// Reads a stored table of code lengths; false if no encoder writes it.
__device__ inline bool read_lengths(const u32* words, u32 size, u32* lengths) {
    if (size == 0) return true;
    BitReader bits = {words, 0};
    const u32 entries = bits.get(8) + 1;
    i32 symbol = -1;
    u32 taken = 0;
    for (u32 e = 0; e < entries; e++) {
        if (!bits.next(symbol)) return false;
        const u32 length = bits.get(4);
        if (symbol >= (i32)ALPHABET || length > MAX_LENGTH || bits.position > 8 * size) return false;
        lengths[symbol] = length;
        taken += CODES >> length;
    }
    return taken == CODES;
}

// Grid: LIST_TABLES. Block: 256. A decoding table each: by the next MAX_LENGTH bits, length << 8 | symbol.
template <typename T>
__device__ __forceinline__ void open_codes(const Job& job) {
    __shared__ u32 words[ALPHABET + 2];
    __shared__ u32 lengths[ALPHABET];
    __shared__ bool good;
    Control& control = control_of(job);
    if (control.status != STATUS_OK || control.content != CONTENT_CODED || control.coder != CODER_HUFFMAN) return;
    const u8* const section = job.stream + HEADER_BYTES;
    const u32 table = blockIdx.x, k = threadIdx.x;
    u64 all;
    block_exclusive_sum(k < table ? section[k] : 0, all);
    const u64 at = LIST_TABLE_SIZES_BYTES + 4 * all;
    const u32 size = 4 * section[table];
    const bool inside = at + size <= control.table_bytes;
    lengths[k] = NO_CODE;
    for (u32 w = k; w < ALPHABET + 2; w += blockDim.x) words[w] = inside && 4 * w < size ? get32(section + at + 4 * w) : 0;
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

// A group forwards. With LISTS the tables are those of open_codes, else those of open_stream.
template <bool LISTS>
struct CodeDecoder {
    Decoder lanes;
    const u16* codes;
    const u32* entries;
    const u8* starts;

    // A symbol in each active lane, escapes resolved; 0 in the others.
    __device__ __forceinline__ u32 step(bool active, u32 table) {
        u32 symbol = 0;
        if (active) {
            if (LISTS) {
                const u32 entry = codes[table * CODES + (lanes.x & (CODES - 1))];
                symbol = entry & 255;
                lanes.x >>= entry >> 8;
            } else {
                const u32 slot = lanes.x & (SCALE - 1);
                const u32* const of = entries + table * ALPHABET;
                u32 rank = starts[table * (SCALE / SLOTS_PER_START) + slot / SLOTS_PER_START];
                u32 entry = of[rank];
                while (slot >= entry_start(entry) + entry_frequency(entry)) entry = of[++rank];
                lanes.x = entry_frequency(entry) * (lanes.x >> SCALE_BITS) + slot - entry_start(entry);
                symbol = entry_symbol(entry);
            }
        }
        lanes.refill(active);
        const bool escaped = active && symbol == ESCAPE;
        if (__any_sync(FULL, escaped)) {
            const u32 value = lanes.raw(escaped, 8);
            if (escaped) symbol = value;
        }
        return symbol;
    }
    // As many raw bits, at most 16, as each lane asks for.
    __device__ __forceinline__ u32 raw(u32 bits) {
        if (!__any_sync(FULL, bits > 0)) return 0;
        return lanes.raw(bits > 0, bits);
    }
};

// Raw bits of a step of symbols to the payload of their vertices; whether a symbol has too many.
template <typename T, bool LISTS, bool LORENZO>
__device__ __forceinline__ bool take_raw(const Job& job, CodeDecoder<LISTS>& decoder, u64 index, bool active, i32 position, u32 symbol) {
    const u32 bits = active ? raw_bits_at<T, LORENZO>(symbol, position) : 0;
    if (LORENZO && sizeof(T) == 4 && __any_sync(FULL, bits > 64)) return true;
    const u32 pieces = warp_max((bits + 15) / 16);
    u64 low = 0, high = 0;
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
    if (!LORENZO && position == 0 && symbol != STORED) {
        const u32 own = symbol_raw_bits(symbol);
        const u32 digits = (u32)(own == 0 ? low : own < 64 ? low >> own | high << (64 - own) : high);
        // In the place of the anchor's value, which is made from it.
        reinterpret_cast<typename Real<T>::Pair*>(job.anchors)[index].x = Real<T>::from_bits(digits);
    }
    return false;
}

// Entries of a list, 32 at a time, as take(active, number, symbol), which says what is bad; numbers are below
// `end`. Whether the list is bad.
template <bool LISTS, typename Take>
__device__ __forceinline__ bool take_entries(CodeDecoder<LISTS>& decoder, i32 count, i32 start, i32 end, u32 runs, u32 table, Take take) {
    const i32 lane = threadIdx.x & 31;
    i32 next = start;
    for (i32 left = count; left > 0; left -= 32) {
        const bool active = lane < left;
        const u32 run_symbol = decoder.step(active, runs);
        if (__any_sync(FULL, active && run_symbol >= RUNS)) return true;
        const u32 bits = active ? run_bits(run_symbol) : 0;
        const u32 run = decode_run(run_symbol, decoder.raw(bits), bits);
        i32 number = active ? (i32)run + 1 : 0;
        for (i32 k = 1; k < 32; k *= 2) {
            const i32 other = __shfl_up_sync(FULL, number, k);
            if (lane >= k) number += other;
        }
        number += next - 1;
        next = __shfl_sync(FULL, number, 31) + 1;
        if (next > end) return true;
        const u32 symbol = decoder.step(active, table);
        if (take(active, number, symbol)) return true;
    }
    return false;
}

// The symbols of a block's list, scattered into shared memory, and their raw bits. Whether it is bad.
template <typename T, bool LISTS, bool LORENZO>
__device__ __forceinline__ bool decode_list(const Job& job, CodeDecoder<LISTS>& decoder, const ActiveAt<LORENZO>& active_at,
                                            SymbolShared& shared, u64 index, i32 block, u32 cls, i32 count, u32& exact) {
    const i32 lane = threadIdx.x & 31, first = first_step(block) * 32, end = end_step(block) * 32;
    for (i32 k = first / 4 + lane; k < end / 4; k += 32) reinterpret_cast<u32*>(shared.symbols)[k] = 0;
    __syncwarp();
    if (block == 0) {
        const bool active = active_at.at(0) && lane < 16;
        u32 symbol = decoder.step(active, active ? table_of(lane, cls) : 0);
        if (symbol > STORED) symbol = STORED;
        exact += __popc(__ballot_sync(FULL, symbol == STORED));
        if (active) shared.symbols[lane] = (u8)symbol;
        if (take_raw<T, LISTS, LORENZO>(job, decoder, index, active, lane, symbol)) return true;
    }
    const u32 table = table_of(list_start(block), cls);
    const bool bad = take_entries(decoder, count, list_start(block), end, RUN_TABLE + cls - 1, table, [&](bool active, i32 number, u32 symbol) {
        if (symbol > STORED) symbol = STORED;
        exact += __popc(__ballot_sync(FULL, symbol == STORED));
        if (active) shared.symbols[number] = (u8)symbol;
        return take_raw<T, LISTS, LORENZO>(job, decoder, index, active, number, symbol);
    });
    __syncwarp();
    if (bad || active_at.active.whole) return bad;
    // What is listed must be active.
    bool stray = false;
    for (i32 step = first / 32; step < end / 32; step++) stray |= !active_at.at(step) && shared.symbols[32 * step + lane];
    return __any_sync(FULL, stray);
}

// Grid: any. Block: 32 * CODE_WARPS, a warp for a group at a time. Symbols, payloads, masks and info of the
// tiles of a stream of this kind; nothing for others.
template <typename T, bool LISTS, bool LORENZO>
__device__ __forceinline__ void decode_codes(const Job& job) {
    __shared__ SymbolShared shared_[CODE_WARPS];
    SymbolShared& shared = shared_[threadIdx.x >> 5];
    Control& control = control_of(job);
    if (control.status != STATUS_OK || control.content != CONTENT_CODED) return;
    if ((control.coder == CODER_HUFFMAN) != LISTS || (control.predictor == PREDICTOR_LORENZO) != LORENZO) return;
    const i32 lane = threadIdx.x & 31;
    const u32 log2 = control.group_log2;
    for (u64 group = blockIdx.x + (u64)gridDim.x * (threadIdx.x >> 5); group < control.groups; group += (u64)gridDim.x * CODE_WARPS) {
        const u64 first = group << log2, end = job.tiles() < first + (1ull << log2) ? job.tiles() : first + (1ull << log2);
        CodeDecoder<LISTS> decoder;
        decoder.codes = reinterpret_cast<const u16*>(job.codes);
        decoder.entries = job.tables;
        decoder.starts = job.slots;
        decoder.lanes.open(job.stream + job.group_offsets[group], job.group_sizes[group]);
        bool bad = false;
        u32 exact = 0;
        for (u64 batch = first; batch < end && !bad; batch += 32) {
            const i32 tiles = (i32)(end - batch < 32 ? end - batch : 32);
            const u32 mode = decoder.step(lane < tiles, TILE_MODE);
            bad = __any_sync(FULL, mode >= (LORENZO ? 9 * TIERS : 9));
            if (bad) break;
            u32 my_info = info_of_mode(mode), my_counts[3] = {0, 0, 0};
            const bool coded = lane < tiles && has_codes(mode_in(my_info));
#pragma unroll
            for (i32 k = 0; k < 3; k++) {
                const u32 cls = decoder.step(coded, class_table(my_info, k));
                bad |= __any_sync(FULL, cls >= CLASSES);
                // A class beyond the last would lead beyond the tables.
                my_info |= (cls & (CLASSES - 1)) << (8 + 8 * k);
            }
            if (bad) break;
            if (LISTS) {
#pragma unroll
                for (i32 k = 0; k < 3; k++) {
                    const u32 cls = class_in(my_info, k);
                    my_counts[k] = decoder.raw(coded && is_list(cls) ? count_bits(k, cls) : 0);
                }
            }
            if (lane < tiles) job.info[batch + lane] = my_info;
#pragma unroll 1
            for (i32 t = 0; t < tiles && !bad; t++) {
                const u64 index = batch + t;
                const u32 info = __shfl_sync(FULL, my_info, t), states = mode_in(info);
                const TileShape shape = tile_shape(job, index);
                u32* const masks = job.masks + index * 64;
                if (states != 0) {
#pragma unroll
                    for (i32 plane = 0; plane < 2; plane++) {
                        const u32 state = plane == 0 ? states / 3 : states % 3;
                        const bool inside = lane < shape.owned_y();
                        u32 row = 0;
                        if (state == MASK_ALL) {
                            row = inside ? row_mask(shape.owned_x()) : 0;
                        } else if (state == MASK_SOME) {
                            const i32 columns = (shape.owned_x() + 7) / 8;
                            if (LISTS) {
                                __syncwarp();
                                reinterpret_cast<u32*>(shared.symbols)[lane] = 0;
                                __syncwarp();
                                const i32 count = (i32)__shfl_sync(FULL, decoder.raw(lane == 0 ? MASK_COUNT_BITS : 0), 0);
                                bad |= take_entries(decoder, count, 0, 32 * columns, MASK_RUN, MASK_BYTE, [&](bool active, i32 number, u32 symbol) {
                                    if (active) shared.symbols[number] = (u8)symbol;
                                    return __any_sync(FULL, active && (number & 31) >= shape.owned_y()) != 0;
                                });
                                if (bad) break;
                                __syncwarp();
                                for (i32 byte = 0; byte < columns; byte++) row |= (u32)shared.symbols[32 * byte + lane] << (8 * byte);
                            } else {
                                for (i32 byte = 0; byte < columns; byte++) row |= decoder.step(inside, MASK_BYTE) << (8 * byte);
                            }
                            // Rows are stored as differences: an exclusive-or over the rows before.
                            for (i32 k = 1; k < 32; k *= 2) {
                                const u32 other = __shfl_up_sync(FULL, row, k);
                                if (lane >= k) row ^= other;
                            }
                            row = inside ? row & row_mask(shape.owned_x()) : 0;
                        }
                        masks[plane * TILE + lane] = row;
                    }
                    __syncwarp();
                }
                if (bad || !has_codes(states)) continue;
                const ActiveAt<LORENZO> active_at(shape, states, masks);
                u32* const symbols = reinterpret_cast<u32*>(job.symbols + index * TILE_VERTICES);
                u32 steps = 0;
#pragma unroll
                for (i32 block = 0; block < 3; block++) {
                    const u32 cls = class_in(info, block);
                    const i32 count = (i32)__shfl_sync(FULL, my_counts[block], t);
                    if (cls == 0 || bad) continue;
                    __syncwarp();
                    if (LISTS && is_list(cls)) {
                        bad = decode_list<T, LISTS, LORENZO>(job, decoder, active_at, shared, index, block, cls, count, exact);
                    } else {
#pragma unroll 1
                        for (i32 step = first_step(block); step < end_step(block) && !bad; step++) {
                            const i32 position = 32 * step + lane;
                            const bool active = active_at.at(step);
                            u32 symbol = decoder.step(active, active ? table_of(position, cls) : 0);
                            if (symbol > STORED) symbol = STORED;
                            shared.symbols[position] = (u8)symbol;
                            if (__any_sync(FULL, symbol >= FIRST_WITH_RAW_BITS)) {
                                exact += __popc(__ballot_sync(FULL, symbol == STORED));
                                bad = take_raw<T, LISTS, LORENZO>(job, decoder, index, active, position, symbol);
                            }
                        }
                    }
                    if (bad) continue;
                    __syncwarp();
                    for (i32 k = first_step(block) * 8 + lane; k < end_step(block) * 8; k += 32)
                        symbols[k] = reinterpret_cast<const u32*>(shared.symbols)[k];
                    steps |= (block == 2 ? 0xffffff00u : block == 1 ? 0xfcu : 3u);
                }
                if (lane == 0) job.steps[index] = steps;
            }
        }
        bad |= __any_sync(FULL, decoder.lanes.x != 1u << 16) || (decoder.lanes.next + 1) / 2 * 2 != decoder.lanes.size;
        if (bad && lane == 0) fail(control, STATUS_CORRUPT_STREAM);
        if (exact && lane == 0) atomicAdd((ull*)&control.exact, (ull)exact);
    }
}
