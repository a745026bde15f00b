// Entries of the coder with lists, and of the Lorenzo predictor: from symbols to groups.
#pragma once
#include "lists.cuh"

// ---------------------------------------------------------------- counts

// Grid: any. Block: 256. Counts of all symbols by table, and raw bits in all.
template <typename T, bool LISTS, bool LORENZO>
__device__ __forceinline__ void count_codes(const Job& job) {
    // Few symbols of runs occur.
    constexpr u32 RUN_COUNTS = LISTS ? (LIST_TABLES - TABLES) * 32 : 1;
    __shared__ u32 counts[TABLES * ALPHABET];
    __shared__ u32 run_counts[RUN_COUNTS];
    Control& control = control_of(job);
    for (u32 k = threadIdx.x; k < TABLES * ALPHABET; k += blockDim.x) counts[k] = 0;
    for (u32 k = threadIdx.x; k < RUN_COUNTS; k += blockDim.x) run_counts[k] = 0;
    __syncthreads();
    const i32 lane = threadIdx.x & 31;
    const u64 warps = (u64)gridDim.x * (blockDim.x >> 5);
    u64 raw = 0;
    for (u64 index = (u64)blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5); index < job.tiles(); index += warps) {
        const TileShape shape = tile_shape(job, index);
        const u32 info = job.info[index], states = mode_in(info);
        const u32* const masks = job.masks + index * 64;
        if (lane == 0) atomicAdd(&counts[TILE_MODE * ALPHABET + stream_mode(info)], 1);
#pragma unroll
        for (i32 plane = 0; plane < 2; plane++) {
            if ((plane == 0 ? states / 3 : states % 3) != MASK_SOME) continue;
            const u32 difference = mask_difference(masks[plane * TILE + lane]);
            ListCursor cursor = {-1};
            if (LISTS && lane == 0) raw += MASK_COUNT_BITS;
            for (i32 byte = 0; 8 * byte < shape.owned_x(); byte++) {
                const u32 value = lane < shape.owned_y() ? difference >> 8 * byte & 255 : 0;
                if (!LISTS) {
                    if (lane < shape.owned_y()) atomicAdd(&counts[MASK_BYTE * ALPHABET + value], 1);
                    continue;
                }
                cursor.step(32 * byte, __ballot_sync(FULL, value != 0), [&](i32, u32 before) {
                    const Run run = encode_run(before);
                    atomicAdd(&run_counts[(MASK_RUN - TABLES) * 32 + run.symbol], 1);
                    atomicAdd(&counts[MASK_BYTE * ALPHABET + value], 1);
                    raw += run.bits;
                });
            }
        }
        if (!has_codes(states)) continue;
        if (lane < 3) atomicAdd(&counts[class_table(info, lane) * ALPHABET + class_in(info, lane)], 1);
        const u8* const symbols = job.symbols + index * TILE_VERTICES;
        const ActiveAt<LORENZO> active_at(shape, states, masks);
#pragma unroll 1
        for (i32 block = 0; block < 3; block++) {
            const u32 cls = class_in(info, block);
            if (cls == 0) continue;
            const bool list = LISTS && is_list(cls);
            if (list && lane == 0) raw += count_bits(block, cls);
            u32* const table = counts + table_of(list_start(block), cls) * ALPHABET;
            ListCursor cursor = {list_start(block) - 1};
            u32 zeros = 0;
#pragma unroll 1
            for (i32 step = first_step(block); step < end_step(block); step++) {
                const i32 position = 32 * step + lane;
                const bool active = active_at.at(step), dense = !list || position < 16;
                const u32 symbol = active ? symbols[position] : SYMBOL_ZERO;
                if (dense && active) {
                    if (symbol == SYMBOL_ZERO && position >= 16) {
                        zeros++;
                    } else {
                        atomicAdd(&counts[table_of(position, cls) * ALPHABET + symbol], 1);
                        raw += raw_bits_at<T, LORENZO>(symbol, position);
                    }
                }
                if (list)
                    cursor.step(32 * step, __ballot_sync(FULL, !dense && symbol != SYMBOL_ZERO), [&](i32, u32 before) {
                        const Run run = encode_run(before);
                        atomicAdd(&run_counts[(cls - 1) * 32 + run.symbol], 1);
                        atomicAdd(&table[symbol], 1);
                        raw += run.bits + raw_bits_at<T, LORENZO>(symbol, position);
                    });
            }
            zeros = warp_sum(zeros);
            if (lane == 0 && zeros) atomicAdd(table, zeros);
        }
    }
    raw = warp_sum64(raw);
    if (lane == 0 && raw) atomicAdd((ull*)&control.raw_bits, (ull)raw);
    __syncthreads();
    for (u32 k = threadIdx.x; k < TABLES * ALPHABET; k += blockDim.x)
        if (counts[k]) atomicAdd((ull*)&job.counts[k], (ull)counts[k]);
    if (LISTS)
        for (u32 k = threadIdx.x; k < RUN_COUNTS; k += blockDim.x)
            if (run_counts[k]) atomicAdd((ull*)&job.counts[(TABLES + k / 32) * ALPHABET + k % 32], (ull)run_counts[k]);
}

// ---------------------------------------------------------------- tables

// Grid: 1. Block: 1024. Code lengths from the counts, the codes, their stored form and the size of groups.
template <typename T>
__device__ __forceinline__ void make_codes(const Job& job) {
    __shared__ u32 sizes[LIST_TABLES];
    __shared__ u64 costs[32];
    __shared__ u32 keys_[32][ALPHABET];
    Control& control = control_of(job);
    const i32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    u32* const keys = keys_[warp];
    // Every table is written to a place of the largest size, and then moved up to the one before it.
    constexpr u32 STORED_WORDS = 255;
    u32* const section = reinterpret_cast<u32*>(job.table_section);
    u32* const places = section + LIST_TABLE_SIZES_BYTES / 4;
    u64 cost = 0;
    for (u32 table = warp; table < LIST_TABLES; table += 32) {
        const u64* const counts = job.counts + table * ALPHABET;
        u32* const entries = job.tables + table * ALPHABET;
        u64 count[8], total = 0, listed = 0;
#pragma unroll
        for (i32 k = 0; k < 8; k++) {
            count[k] = counts[lane * 8 + k];
            total += count[k];
        }
        total = warp_sum64(total);
        if (total == 0) {
            for (i32 k = 0; k < 8; k++) entries[lane * 8 + k] = NO_CODE;
            if (lane == 0) sizes[table] = 0;
            continue;
        }
        auto weight = [&](u64 n) -> u32 {
            const u64 x = ((n << WEIGHT_BITS) + total / 2) / total;
            return x > 1 ? (u32)x : 1;
        };
        u32 weights[8];
#pragma unroll
        for (i32 k = 0; k < 8; k++) {
            weights[k] = 0;
            if (lane * 8 + k < (i32)ESCAPE && count[k] >= 2 && count[k] * (4 * CODES) >= 3 * total) {
                weights[k] = weight(count[k]);
                listed += count[k];
            }
        }
        listed = warp_sum64(listed);
        if (lane == 31 && listed < total) weights[7] = weight(total - listed);
        // The symbols with a code, by weight and then by symbol.
        u32 mine = 0;
#pragma unroll
        for (i32 k = 0; k < 8; k++) mine += weights[k] != 0;
        u32 at = mine;
        for (i32 k = 1; k < 32; k *= 2) {
            const u32 other = __shfl_up_sync(FULL, at, k);
            if (lane >= k) at += other;
        }
        const u32 n = __shfl_sync(FULL, at, 31);
        at -= mine;
#pragma unroll
        for (i32 k = 0; k < 8; k++)
            if (weights[k]) keys[at++] = weights[k] << 8 | (u32)(lane * 8 + k);
        __syncwarp();
        u32 rank[8];
#pragma unroll
        for (i32 k = 0; k < 8; k++) rank[k] = 0;
        for (u32 i = 0; i < n; i++) {
            const u32 key = keys[i];
#pragma unroll
            for (i32 k = 0; k < 8; k++) rank[k] += key < (weights[k] << 8 | (u32)(lane * 8 + k));
        }
        __syncwarp();
#pragma unroll
        for (i32 k = 0; k < 8; k++)
            if (weights[k]) keys[rank[k]] = weights[k];
        __syncwarp();
        if (lane == 0) {
            unlimited_lengths(keys, (i32)n);
            limit_lengths(keys, (i32)n);
        }
        __syncwarp();
        u32 lengths[8], starts[8];
#pragma unroll
        for (i32 k = 0; k < 8; k++) {
            lengths[k] = weights[k] ? keys[rank[k]] : NO_CODE;
            starts[k] = 0;
        }
        code_starts(lengths, starts);
        const u32 escape = __shfl_sync(FULL, lengths[7], 31);
#pragma unroll
        for (i32 k = 0; k < 8; k++) {
            const u32 symbol = lane * 8 + k;
            const bool own = lengths[k] != NO_CODE;
            entries[symbol] = own ? lengths[k] << 16 | reversed_code(starts[k]) : NO_CODE;
            cost += count[k] * (own && symbol != ESCAPE ? lengths[k] : escape == NO_CODE ? 0 : escape + 8);
        }
        __syncwarp();
        if (lane == 0) {
            u32* const out = places + table * STORED_WORDS;
            u64 pending = n - 1;
            u32 bits = 8, words = 0;
            i32 previous = -1;
            for (i32 symbol = 0; symbol < (i32)ALPHABET; symbol++) {
                const u32 entry = entries[symbol];
                if (entry == NO_CODE) continue;
                const u32 gap = (u32)(symbol - previous), gap_bits = 31 - __clz(gap);
                const u64 value = ((u64)(gap & ((1u << gap_bits) - 1)) << 1 | 1) << gap_bits | (u64)(entry >> 16) << (2 * gap_bits + 1);
                pending |= value << bits;
                bits += 2 * gap_bits + 5;
                if (bits >= 32) {
                    out[words++] = (u32)pending;
                    pending >>= 32;
                    bits -= 32;
                }
                previous = symbol;
            }
            if (bits) out[words++] = (u32)pending;
            sizes[table] = words;
        }
        __syncwarp();
    }
    cost = warp_sum64(cost);
    if (lane == 0) costs[warp] = cost;
    __threadfence_block();
    __syncthreads();
    u32 before = LIST_TABLE_SIZES_BYTES / 4;
    for (u32 table = 0; table < LIST_TABLES; table++) {
        const u32 size = sizes[table], k = threadIdx.x;
        const u32 word = k < size ? places[table * STORED_WORDS + k] : 0;
        __syncthreads();
        if (k < size) section[before + k] = word;
        before += size;
        __syncthreads();
    }
    if (threadIdx.x < LIST_TABLE_SIZES_BYTES)
        job.table_section[threadIdx.x] = threadIdx.x < LIST_TABLES ? (u8)sizes[threadIdx.x] : 0;
    if (threadIdx.x == 0) {
        control.table_bytes = before * 4;
        u64 bits = control.raw_bits;
        for (i32 w = 0; w < 32; w++) bits += costs[w];
        const u64 bytes = bits / 8;
        choose_groups(job, control, bytes);
    }
}

// ---------------------------------------------------------------- groups

// A group backwards, a lane per state; entries of the tables in global memory.
template <bool LISTS>
struct CodeEncoder : WordWriter {
    // Nothing where there are no bits.
    __device__ __forceinline__ void raw(u32 value, u32 bits) {
        emit(bits && x >> (32 - bits) != 0);
        if (bits) x = x << bits | value;
    }
    // A symbol in each active lane; those without a code by way of the escape, after all symbols.
    __device__ __forceinline__ void step(bool active, const u32* table, u32 symbol) {
        u32 entry = active ? table[symbol] : 0;
        const bool none = LISTS ? entry == NO_CODE : entry >> 16 == 0;
        const bool escapes = active && (symbol == ESCAPE || none);
        if (__any_sync(FULL, escapes)) {
            raw(symbol, escapes ? 8 : 0);
            if (escapes) entry = table[ESCAPE];
        }
        if (LISTS) {
            raw(entry & 0xffff, active ? entry >> 16 : 0);
        } else {
            const u32 f = entry >> 16;
            emit(active && x >> (32 - SCALE_BITS) >= f);
            if (active) {
                const u32 q = x / f;
                x = (q << SCALE_BITS) + (x - q * f) + (entry & 0xffff);
            }
        }
    }
};

// Raw bits of a vertex's symbol.
template <typename T, bool LORENZO>
__device__ __forceinline__ RawBits raw_value(const Job& job, u64 index, i32 position, u32 symbol) {
    if (LORENZO) {
        typedef typename Payload<T>::Type P;
        const P* const payload = reinterpret_cast<const P*>(job.payload) + index * TILE_VERTICES;
        RawBits r = {0, 0, raw_bits_at<T, true>(symbol, position)};
        if (r.bits) {
            r.low = Payload<T>::low(payload[position]);
            if (sizeof(T) == 8) r.high = Payload<T>::second(payload[position]);
        }
        return r;
    }
    if (symbol == STORED || position == 0) return raw_of<T>(job, index, position, symbol);
    RawBits r = {0, 0, raw_bits(symbol, position, sizeof(T))};
    if (r.bits) r.low = reinterpret_cast<const u64*>(job.payload)[index * TILE_VERTICES + position];
    return r;
}

template <typename T, bool LISTS, bool LORENZO>
__device__ __forceinline__ void put_raw(CodeEncoder<LISTS>& encoder, const Job& job, u64 index, bool active, i32 position, u32 symbol) {
    const bool has_raw = active && symbol >= FIRST_WITH_RAW_BITS;
    if (!__any_sync(FULL, has_raw)) return;
    RawBits r = {0, 0, 0};
    if (has_raw) r = raw_value<T, LORENZO>(job, index, position, symbol);
    const u32 pieces = warp_max((r.bits + 15) / 16);
#pragma unroll 1
    for (i32 piece = (i32)pieces - 1; piece >= 0; piece--) {
        const u32 at = 16 * piece;
        const u32 n = r.bits > at ? (r.bits - at < 16 ? r.bits - at : 16) : 0;
        encoder.raw(r.piece(at) & ((1u << n) - 1), n);
    }
}

constexpr i32 CODE_WARPS = 4;

struct SymbolShared {
    alignas(16) u8 symbols[TILE_VERTICES];
};
struct CodeShared : SymbolShared {
    u16 positions[TILE_VERTICES];
};

// Entries k to k + 31 of a list of positions, backwards: each with its run.
template <bool LISTS, typename Raw>
__device__ __forceinline__ void put_entries(CodeEncoder<LISTS>& encoder, const CodeShared& shared, i32 first, i32 count, i32 start,
                                            const u32* runs, const u32* table, Raw raw) {
    const i32 k = first + (threadIdx.x & 31);
    const bool active = k < count;
    const i32 position = active ? shared.positions[k] : 0, before = active && k > 0 ? shared.positions[k - 1] : start - 1;
    const u32 symbol = active ? shared.symbols[position] : 0;
    raw(active, position, symbol);
    encoder.step(active, table, symbol);
    const Run run = encode_run(active ? (u32)(position - before - 1) : 0);
    encoder.raw(run.raw, active ? run.bits : 0);
    encoder.step(active, runs, run.symbol);
}

// Grid: any. Block: 32 * CODE_WARPS, a warp for a group at a time.
template <typename T, bool LISTS, bool LORENZO>
__device__ __forceinline__ void encode_codes(const Job& job) {
    constexpr u64 TILE_WORD_BYTES = sizeof(T) == 4 ? TILE_WORD_BYTES_F32 : TILE_WORD_BYTES_F64;
    __shared__ CodeShared shared_[CODE_WARPS];
    CodeShared& shared = shared_[threadIdx.x >> 5];
    Control& control = control_of(job);
    const i32 lane = threadIdx.x & 31;
    const u32 log2 = control.group_log2;
    for (u64 group = blockIdx.x + (u64)gridDim.x * (threadIdx.x >> 5); group < control.groups; group += (u64)gridDim.x * CODE_WARPS) {
        const u64 first = group << log2, end = job.tiles() < first + (1ull << log2) ? job.tiles() : first + (1ull << log2);
        CodeEncoder<LISTS> encoder = {{1u << 16, reinterpret_cast<u16*>(job.words + end * TILE_WORD_BYTES), 0}};
        for (u64 batch = first + ((end - first - 1) & ~31ull);; batch -= 32) {
            const i32 tiles = (i32)(end - batch < 32 ? end - batch : 32);
            const u32 my_info = lane < tiles ? job.info[batch + lane] : 0;
            // The entries of the lists of the lane's tile.
            u32 my_counts[3] = {0, 0, 0};
#pragma unroll 1
            for (i32 t = tiles - 1; t >= 0; t--) {
                const u64 index = batch + t;
                const u32 info = __shfl_sync(FULL, my_info, t), states = mode_in(info);
                const TileShape shape = tile_shape(job, index);
                const u32* const masks = job.masks + index * 64;
                if (has_codes(states) && info >> 8) {
                    const ActiveAt<LORENZO> active_at(shape, states, masks);
                    u32 words[8];
                    load_symbols(job, index, info, words);
                    __syncwarp();
#pragma unroll
                    for (i32 k = 0; k < 8; k++) reinterpret_cast<u32*>(shared.symbols)[32 * k + lane] = words[k];
                    __syncwarp();
#pragma unroll
                    for (i32 block = 2; block >= 0; block--) {
                        const u32 cls = class_in(info, block);
                        if (cls == 0) continue;
                        const bool list = LISTS && is_list(cls);
                        const u32* const table = job.tables + table_of(list_start(block), cls) * ALPHABET;
                        if (list) {
                            i32 count = 0;
                            for (i32 step = first_step(block); step < end_step(block); step++) {
                                const i32 position = 32 * step + lane;
                                const bool present = active_at.at(step) && position >= list_start(block) && shared.symbols[position];
                                const u32 lanes = __ballot_sync(FULL, present);
                                if (present) shared.positions[count + __popc(lanes & ((1u << lane) - 1))] = (u16)position;
                                count += __popc(lanes);
                            }
                            __syncwarp();
                            if (lane == t) my_counts[block] = (u32)count;
                            const u32* const runs = job.tables + (RUN_TABLE + cls - 1) * ALPHABET;
                            for (i32 k = (count - 1) & ~31; k >= 0; k -= 32)
                                put_entries(encoder, shared, k, count, list_start(block), runs, table, [&](bool active, i32 position, u32 symbol) {
                                    put_raw<T, LISTS, LORENZO>(encoder, job, index, active, position, symbol);
                                });
                            __syncwarp();
                        }
#pragma unroll 1
                        for (i32 step = list ? (block == 0 ? 0 : -1) : end_step(block) - 1; step >= first_step(block); step--) {
                            const i32 position = 32 * step + lane;
                            const bool active = active_at.at(step) && (!list || lane < 16);
                            const u32 symbol = active ? shared.symbols[position] : 0;
                            put_raw<T, LISTS, LORENZO>(encoder, job, index, active, position, symbol);
                            encoder.step(active, active ? job.tables + table_of(position, cls) * ALPHABET : table, symbol);
                        }
                    }
                }
                if (states != 0) {
#pragma unroll
                    for (i32 plane = 1; plane >= 0; plane--) {
                        if ((plane == 0 ? states / 3 : states % 3) != MASK_SOME) continue;
                        const u32 difference = mask_difference(masks[plane * TILE + lane]);
                        const i32 columns = (shape.owned_x() + 7) / 8;
                        const bool inside = lane < shape.owned_y();
                        if (!LISTS) {
                            for (i32 byte = columns - 1; byte >= 0; byte--)
                                encoder.step(inside, job.tables + MASK_BYTE * ALPHABET, difference >> 8 * byte & 255);
                            continue;
                        }
                        i32 count = 0;
                        __syncwarp();
                        for (i32 byte = 0; byte < columns; byte++) {
                            const u32 value = inside ? difference >> 8 * byte & 255 : 0, lanes = __ballot_sync(FULL, value != 0);
                            shared.symbols[32 * byte + lane] = (u8)value;
                            if (value) shared.positions[count + __popc(lanes & ((1u << lane) - 1))] = (u16)(32 * byte + lane);
                            count += __popc(lanes);
                        }
                        __syncwarp();
                        for (i32 k = (count - 1) & ~31; k >= 0; k -= 32)
                            put_entries(encoder, shared, k, count, 0, job.tables + MASK_RUN * ALPHABET, job.tables + MASK_BYTE * ALPHABET,
                                        [](bool, i32, u32) {});
                        encoder.raw((u32)count, lane == 0 ? MASK_COUNT_BITS : 0);
                        __syncwarp();
                    }
                }
            }
            const bool coded = lane < tiles && has_codes(mode_in(my_info));
            if (LISTS) {
#pragma unroll
                for (i32 k = 2; k >= 0; k--) {
                    const u32 cls = class_in(my_info, k);
                    encoder.raw(my_counts[k], coded && is_list(cls) ? count_bits(k, cls) : 0);
                }
            }
#pragma unroll
            for (i32 k = 2; k >= 0; k--)
                encoder.step(coded, job.tables + class_table(my_info, k) * ALPHABET, class_in(my_info, k));
            encoder.step(lane < tiles, job.tables + TILE_MODE * ALPHABET, stream_mode(my_info));
            if (batch == first) break;
        }
        // The states in front, the words at the end of the group's space.
        reinterpret_cast<u32*>(job.words + first * TILE_WORD_BYTES)[lane] = encoder.x;
        // The pad word behind an odd number of words lies beyond the space: it is made when copied.
        if (lane == 0)
            job.group_sizes[group] = (STATE_BYTES + (u64)((encoder.words + 1) / 2) * 4) | (u64)(encoder.words & 1) << 63;
    }
}
