// Entries of the entropy coder: from symbols to the stream. Twins: src/stage/entropy, stage/codes.rs.
#pragma once
#include "stage/container.cuh"
#include "stage/tile.cuh"

typedef unsigned long long ull;

// The bytes of a mask that lane y codes: row y as its difference from the row before.
__device__ __forceinline__ u32 mask_difference(u32 row) {
    const u32 before = __shfl_up_sync(FULL, row, 1);
    return (threadIdx.x & 31) == 0 ? row : row ^ before;
}

// ---------------------------------------------------------------- counts

// Counts of a block of threads in shared memory.
struct SymbolCounts {
    u32 counts[TABLES * ALPHABET];
    u8 raw_bits[ALPHABET];  // of symbols that are not an anchor's
};

// Counts four symbols of one table: those that are zero in a register.
__device__ __forceinline__ void count_word(const SymbolCounts& shared, u32* counts, u32 four, u32& zeros, u32& raw) {
    zeros += __popc(__vcmpeq4(four, 0)) >> 3;
    if (four == 0) return;
#pragma unroll
    for (i32 b = 0; b < 4; b++) {
        const u32 s = four >> 8 * b & 255;
        if (s) atomicAdd(&counts[s], 1);
    }
    if (__vcmpgeu4(four, FIRST_WITH_RAW_BITS * 0x01010101u)) {
#pragma unroll
        for (i32 b = 0; b < 4; b++) raw += shared.raw_bits[four >> 8 * b & 255];
    }
}

// Grid: any. Block: 512. Counts of all symbols by table, and raw bits in all.
template <typename T>
__device__ __forceinline__ void count_symbols(const Job& job) {
    __shared__ SymbolCounts shared;
    u32* const counts = shared.counts;
    Control& control = control_of(job);
    for (u32 k = threadIdx.x; k < TABLES * ALPHABET; k += blockDim.x) counts[k] = 0;
    for (u32 k = threadIdx.x; k < ALPHABET; k += blockDim.x) shared.raw_bits[k] = k < SYMBOLS ? (u8)raw_bits(k, 1, sizeof(T)) : 0;
    __syncthreads();
    const i32 lane = threadIdx.x & 31;
    const u64 warps = (u64)gridDim.x * (blockDim.x >> 5);
    u64 all_raw = 0;
    u64 index = (u64)blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5);
    u32 next = index < job.tiles() ? job.info[index] : 0;
    for (; index < job.tiles(); index += warps) {
        const u32 info = next, mode = mode_in(info);
        if (index + warps < job.tiles()) next = job.info[index + warps];
        const u8* symbols = job.symbols + index * TILE_VERTICES;
        u32 raw = 0;
        if (lane == 0) atomicAdd(&counts[TILE_MODE * ALPHABET + mode], 1);
        if (has_codes(mode) && lane < 3)
            atomicAdd(&counts[class_table(info, lane) * ALPHABET + class_in(info, lane)], 1);
        if (info & ALL_CODED) {
            const u32* words = reinterpret_cast<const u32*>(symbols);
            const u32 coarse = class_in(info, 0), middle = class_in(info, 1), fine = class_in(info, 2);
            u32 few = 0, two[2] = {0, 0}, six[6] = {0, 0, 0, 0, 0, 0};
            if (coarse && lane < 16) few = words[lane];
            if (middle) {
                two[0] = words[16 + lane];
                if (lane < 16) two[1] = words[48 + lane];
            }
            if (fine) {
#pragma unroll
                for (i32 k = 0; k < 6; k++) six[k] = words[64 + 32 * k + lane];
            }
            if (coarse) {
                if (lane == 0) {
                    // The anchor and the three vertices of step 16.
#pragma unroll 1
                    for (i32 position = 0; position < 4; position++) {
                        const u32 s = few >> 8 * position & 255;
                        atomicAdd(&counts[table_of(position, coarse) * ALPHABET + s], 1);
                        raw += raw_bits(s, position, sizeof(T));
                    }
                }
                u32 zeros = 0;
                if (lane > 0 && lane < 16)
                    count_word(shared, counts + table_of(4 * lane, coarse) * ALPHABET, few, zeros, raw);
                const u32 step8 = warp_sum(lane < 4 ? zeros : 0), step4 = warp_sum(lane < 4 ? 0 : zeros);
                if (lane == 0 && step8) atomicAdd(&counts[STEP_8 * ALPHABET], step8);
                if (lane == 0 && step4) atomicAdd(&counts[table_of(16, coarse) * ALPHABET], step4);
            }
            if (middle) {
                u32* const table = counts + table_of(64, middle) * ALPHABET;
                u32 zeros = 0;
                count_word(shared, table, two[0], zeros, raw);
                if (lane < 16) count_word(shared, table, two[1], zeros, raw);
                zeros = warp_sum(zeros);
                if (lane == 0 && zeros) atomicAdd(table, zeros);
            }
            if (fine) {
                u32* const table = counts + table_of(256, fine) * ALPHABET;
                u32 zeros = 0;
#pragma unroll
                for (i32 k = 0; k < 6; k++) count_word(shared, table, six[k], zeros, raw);
                zeros = warp_sum(zeros);
                if (lane == 0 && zeros) atomicAdd(table, zeros);
            }
            all_raw += raw;
            continue;
        }
        const TileShape shape = tile_shape(job, index);
        const u32* masks = job.masks + index * 64;
        if (mode != 0) {
#pragma unroll
            for (i32 plane = 0; plane < 2; plane++) {
                if ((plane == 0 ? mode / 3 : mode % 3) != MASK_SOME) continue;
                const u32 difference = mask_difference(masks[plane * TILE + lane]);
                if (lane < shape.owned_y())
                    for (i32 byte = 0; 8 * byte < shape.owned_x(); byte++)
                        atomicAdd(&counts[MASK_BYTE * ALPHABET + (difference >> 8 * byte & 255)], 1);
            }
        }
        if (!has_codes(mode)) continue;
        const Active active(shape, mode, masks);
        for (i32 block = 0; block < 3; block++) {
            const u32 cls = class_in(info, block);
            if (cls == 0) continue;
            u32 zeros = 0;
            for (i32 step = first_step(block); step < end_step(block); step++) {
                const i32 position = step * 32 + lane;
                if (!active.at(position)) continue;
                const u32 s = symbols[position];
                if (s == SYMBOL_ZERO && position >= 16) {
                    zeros++;
                } else {
                    atomicAdd(&counts[table_of(position, cls) * ALPHABET + s], 1);
                    raw += raw_bits(s, position, sizeof(T));
                }
            }
            zeros = warp_sum(zeros);
            if (lane == 0 && zeros) atomicAdd(&counts[table_of(block == 0 ? 16 : first_step(block) * 32, cls) * ALPHABET], zeros);
        }
        all_raw += raw;
    }
    for (i32 k = 16; k > 0; k /= 2) all_raw += __shfl_xor_sync(FULL, all_raw, k);
    if (lane == 0 && all_raw) atomicAdd((ull*)&control.raw_bits, (ull)all_raw);
    __syncthreads();
    for (u32 k = threadIdx.x; k < TABLES * ALPHABET; k += blockDim.x)
        if (counts[k]) atomicAdd((ull*)&job.counts[k], (ull)counts[k]);
}

// ---------------------------------------------------------------- tables

__device__ __forceinline__ u64 warp_sum64(u64 x) {
    for (i32 k = 16; k > 0; k /= 2) x += __shfl_xor_sync(FULL, x, k);
    return x;
}

// Twin of group_log2 in src/backend/cpu.rs: tiles of a group, for tiles that take so many bytes in all.
__device__ __forceinline__ void choose_groups(const Job& job, Control& control, u64 bytes) {
    const u64 wanted = bytes < SPARSE_TILE_BYTES * job.tiles() ? SPARSE_GROUP_BYTES : GROUP_BYTES;
    u32 log2 = 0;
    while (log2 < MAX_GROUP_LOG2 && (1ull << log2) < job.tiles() && (bytes << log2) < wanted * job.tiles()) log2++;
    control.group_log2 = log2;
    control.groups = (job.tiles() + (1ull << log2) - 1) >> log2;
}

// Grid: 1. Block: 1024. Frequencies, their stored form and the size of groups from the counts.
template <typename T>
__device__ __forceinline__ void make_tables(const Job& job) {
    constexpr u32 STORED_WORDS = 255;
    __shared__ u32 stored[TABLES * STORED_WORDS];
    __shared__ u32 sizes[TABLES];
    __shared__ u64 costs[32];
    Control& control = control_of(job);
    const i32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    u64 cost = 0;
    for (u32 table = warp; table < TABLES; table += 32) {
        const u64* counts = job.counts + table * ALPHABET;
        u64 count[8];
        u32 f[8];
        u64 total = 0, listed = 0;
#pragma unroll
        for (i32 k = 0; k < 8; k++) {
            count[k] = counts[lane * 8 + k];
            total += count[k];
            f[k] = 0;
        }
        total = warp_sum64(total);
        u32* entries = job.tables + table * ALPHABET;
        if (total == 0) {
            for (i32 k = 0; k < 8; k++) entries[lane * 8 + k] = 0;
            if (lane == 0) sizes[table] = 0;
            continue;
        }
        auto scaled = [&](u64 n) -> u32 {
            u64 x = (n * SCALE + total / 2) / total;
            return x > 1 ? (u32)x : 1;
        };
#pragma unroll
        for (i32 k = 0; k < 8; k++) {
            const u32 symbol = lane * 8 + k;
            if (symbol < ESCAPE && count[k] >= 2 && count[k] * (4 * SCALE) >= 3 * total) {
                f[k] = scaled(count[k]);
                listed += count[k];
            }
        }
        listed = warp_sum64(listed);
        if (lane == 31 && listed < total) f[7] = scaled(total - listed);
        i32 sum = 0;
#pragma unroll
        for (i32 k = 0; k < 8; k++) sum += f[k];
        sum = (i32)warp_sum((u32)sum);
        while (sum != (i32)SCALE) {
            // The most frequent symbol, the first of several.
            u32 best = 0;
#pragma unroll
            for (i32 k = 0; k < 8; k++) {
                const u32 key = f[k] << 8 | (255 - (lane * 8 + k));
                if (key > best) best = key;
            }
            for (i32 k = 16; k > 0; k /= 2) {
                const u32 other = __shfl_xor_sync(FULL, best, k);
                if (other > best) best = other;
            }
            const i32 symbol = 255 - (i32)(best & 255), largest = (i32)(best >> 8);
            i32 change = (i32)SCALE - sum;
            if (change < -(largest / 2)) change = -(largest / 2);
#pragma unroll
            for (i32 k = 0; k < 8; k++)
                if (symbol == lane * 8 + k) f[k] = (u32)((i32)f[k] + change);
            sum += change;
        }
        // Starts, and what the symbols cost.
        u32 mine = 0;
#pragma unroll
        for (i32 k = 0; k < 8; k++) mine += f[k];
        u32 start = mine;
        for (i32 k = 1; k < 32; k *= 2) {
            const u32 other = __shfl_up_sync(FULL, start, k);
            if (lane >= k) start += other;
        }
        start -= mine;
        const u32 escape = __shfl_sync(FULL, f[7], 31);
#pragma unroll
        for (i32 k = 0; k < 8; k++) {
            const u32 symbol = lane * 8 + k;
            entries[symbol] = f[k] << 16 | start;
            start += f[k];
            if (count[k]) {
                const bool own = f[k] > 0 && symbol != ESCAPE;
                cost += count[k] * ((own ? 0 : 8 << 8) + (SCALE_BITS << 8) - log2_fixed(own ? f[k] : escape));
            }
        }
        // The stored form, least significant bits first: lanes know where theirs begin.
        u32* const words = stored + table * STORED_WORDS;
        for (u32 k = lane; k < STORED_WORDS; k += 32) words[k] = 0;
        __syncwarp();
        i32 last = -1;
        u32 present = 0;
#pragma unroll
        for (i32 k = 0; k < 8; k++)
            if (f[k]) {
                last = lane * 8 + k;
                present++;
            }
        for (i32 k = 1; k < 32; k *= 2) {
            const i32 other = __shfl_up_sync(FULL, last, k);
            if (lane >= k && other > last) last = other;
        }
        i32 previous = __shfl_up_sync(FULL, last, 1);
        if (lane == 0) previous = -1;
        const i32 before_mine = previous;
        u32 bits = 0;
#pragma unroll
        for (i32 k = 0; k < 8; k++)
            if (f[k]) {
                bits += 2 * (31 - __clz(lane * 8 + k - previous)) + 1 + 4 + (31 - __clz(f[k]));
                previous = lane * 8 + k;
            }
        u32 at = bits;
        for (i32 k = 1; k < 32; k *= 2) {
            const u32 other = __shfl_up_sync(FULL, at, k);
            if (lane >= k) at += other;
        }
        const u32 total_bits = 8 + __shfl_sync(FULL, at, 31);
        at += 8 - bits;
        present = warp_sum(present);
        if (lane == 0) {
            atomicOr(&words[0], present - 1);
            sizes[table] = (total_bits + 31) / 32;
        }
        previous = before_mine;
#pragma unroll 1
        for (i32 k = 0; k < 8; k++) {
            const i32 symbol = lane * 8 + k;
            const u32 frequency = entries[symbol] >> 16;
            if (frequency == 0) continue;
            const u32 gap = (u32)(symbol - previous), gap_bits = 31 - __clz(gap), length = 31 - __clz(frequency);
            u64 value = (u64)(gap & ((1u << gap_bits) - 1)) << 1 | 1;
            value = value << gap_bits | (u64)length << (2 * gap_bits + 1) |
                    (u64)(frequency & ((1u << length) - 1)) << (2 * gap_bits + 5);
            const u32 shift = at & 31;
            const u64 low = value << shift;
            atomicOr(&words[at >> 5], (u32)low);
            const u32 high = (u32)(low >> 32);
            if (high) atomicOr(&words[(at >> 5) + 1], high);
            if (shift && value >> (64 - shift)) atomicOr(&words[(at >> 5) + 2], (u32)(value >> (64 - shift)));
            at += 2 * gap_bits + 5 + length;
            previous = symbol;
        }
        __syncwarp();
    }
    cost = warp_sum64(cost);
    if (lane == 0) costs[warp] = cost;
    __syncthreads();
    u32* const section = reinterpret_cast<u32*>(job.table_section);
    u32 before = TABLE_SIZES_BYTES / 4;
    for (u32 table = 0; table < TABLES; table++) {
        const u32 size = sizes[table];
        if (threadIdx.x < size) section[before + threadIdx.x] = stored[table * STORED_WORDS + threadIdx.x];
        before += size;
    }
    if (threadIdx.x < TABLE_SIZES_BYTES) job.table_section[threadIdx.x] = threadIdx.x < TABLES ? (u8)sizes[threadIdx.x] : 0;
    if (threadIdx.x == 0) {
        control.table_bytes = before * 4;
        u64 sum = 0;
        for (i32 w = 0; w < 32; w++) sum += costs[w];
        const u64 bytes = ((sum >> 8) + control.raw_bits) / 8;
        choose_groups(job, control, bytes);
    }
}

// ---------------------------------------------------------------- groups

// The tables in shared memory: entries by table and symbol, and (2^32 - 1) / f by frequency.
struct EncodeTables {
    u32 entries[TABLES * ALPHABET];
    u32 reciprocals[SCALE + 1];
    u8 raw_bits[ALPHABET];  // of symbols that are not an anchor's
};
static_assert(sizeof(EncodeTables) == 4 * (43 * 256 + 4097) + 256, "launch.rs asks for as much");
constexpr i32 ENCODE_WARPS = 8;

// States and words of one group that is coded backwards, a lane per state.
struct WordWriter {
    u32 x;
    u16* end;    // one past the last word
    u32 words;   // written so far, from the end

    __device__ __forceinline__ void emit(bool need) {
        const u32 mask = __ballot_sync(FULL, need);
        if (need) {
            const u32 above = __popc(mask >> (threadIdx.x & 31) >> 1);
            end[-1 - (long long)(words + above)] = (u16)x;
            x >>= 16;
        }
        words += __popc(mask);
    }
};

// rANS of one group.
struct Encoder : WordWriter {
    const EncodeTables* tables;

    // Takes (2^32 - 1) / f for a division: the quotient is right or one too small.
    __device__ __forceinline__ void symbol(u32 entry, u32 reciprocal) {
        const u32 f = entry >> 16;
        emit(x >> (32 - SCALE_BITS) >= f);
        u32 q = __umulhi(x, reciprocal);
        if (x - q * f >= f) q++;
        x += q * (SCALE - f) + (entry & 0xffff);
    }
    // Up to four times zero in all lanes.
    __device__ __forceinline__ void four_zeros(i32 times, u32 f, u32 reciprocal) {
        const u32 most = (f << (32 - SCALE_BITS)) - 1;
        while (times > 0) {
            // As if no lane had to emit a word; then as far as that is so.
            u32 after[5] = {x}, needs = 0;
#pragma unroll
            for (i32 k = 0; k < 4; k++) {
                const u32 now = after[k];
                needs |= (u32)(now > most) << k;
                u32 q = __umulhi(now, reciprocal);
                if (now - q * f >= f) q++;
                after[k + 1] = now + q * (SCALE - f);
            }
            const i32 until = __ffs(warp_or(needs) | 1u << (times < 4 ? times : 4)) - 1;
            x = until == 0 ? after[0] : until == 1 ? after[1] : until == 2 ? after[2] : until == 3 ? after[3] : after[4];
            times -= until;
            if (until < 4 && times > 0) {
                zeros(true, f, reciprocal);
                times--;
            }
        }
    }
    // Zeros in all active lanes: a symbol that begins at slot 0.
    __device__ __forceinline__ void zeros(bool active, u32 f, u32 reciprocal) {
        const bool need = active && x > (f << (32 - SCALE_BITS)) - 1;
        if (__any_sync(FULL, need)) emit(need);
        u32 q = __umulhi(x, reciprocal);
        if (x - q * f >= f) q++;
        if (active) x += q * (SCALE - f);
    }
    __device__ __forceinline__ u32 reciprocal(u32 entry) const { return tables->reciprocals[entry >> 16]; }
    __device__ __forceinline__ void raw(bool active, u32 value, u32 bits) {
        emit(active && x >> (32 - bits) != 0);
        if (active) x = x << bits | value;
    }
    // A symbol in each active lane; those without a frequency by way of the escape, after all symbols.
    // A lane that is not active codes a certain symbol, which leaves its state as it is.
    __device__ __forceinline__ void step(bool active, const u32* table, u32 symbol_) {
        u32 entry = active ? table[symbol_] : SCALE << 16;
        const bool escapes = active && (symbol_ == ESCAPE || entry >> 16 == 0);
        if (__any_sync(FULL, escapes)) {
            raw(escapes, symbol_, 8);
            if (escapes) entry = table[ESCAPE];
        }
        symbol(entry, reciprocal(entry));
    }
};

// Raw bits of a coded vertex: 128 of them at most.
struct RawBits {
    u64 low, high;
    u32 bits;
    __device__ __forceinline__ u32 piece(u32 at) const {
        return (u32)((at < 64 ? low >> at : high >> (at - 64)) & 0xffff);
    }
};

// Those of stored values and of anchors.
template <typename T>
__device__ __noinline__ RawBits raw_of(const Job& job, u64 index, i32 position, u32 symbol) {
    RawBits r = {0, 0, raw_bits(symbol, position, sizeof(T))};
    if (symbol == STORED) {
        const TileShape shape = tile_shape(job, index);
        i32 x, y;
        place_of(position, x, y);
        const u64 a = Real<T>::bits(*vertex_at<T>(job.u, job.u_layout, shape.x0 + x, shape.y0 + y));
        const u64 b = Real<T>::bits(*vertex_at<T>(job.v, job.v_layout, shape.x0 + x, shape.y0 + y));
        if (sizeof(T) == 4) {
            r.low = a | b << 32;
        } else {
            r.low = a;
            r.high = b;
        }
    } else if (r.bits) {
        const u32 own = symbol_raw_bits(symbol);
        if (own) r.low = reinterpret_cast<const u64*>(job.payload)[index * TILE_VERTICES + position];
        if (r.bits > own) {
            const u64 digits = (u32)job.anchor_codes[index * 4 + 3];
            r.low |= own < 64 ? digits << own : 0;
            r.high = own == 0 ? 0 : own < 64 ? digits >> (64 - own) : digits;
        }
    }
    return r;
}

// Which of the 32 steps of a tile have a symbol that is not zero, from word 32 k + lane in words[k].
__device__ __forceinline__ u32 steps_with_symbols(const u32 words[8]) {
    u32 steps = 0;
#pragma unroll
    for (i32 k = 0; k < 8; k++) {
        const u32 lanes = __ballot_sync(FULL, words[k] != 0);
#pragma unroll
        for (i32 j = 0; j < 4; j++)
            if (lanes >> 8 * j & 255) steps |= 1u << (4 * k + j);
    }
    return steps;
}

// The symbols of a tile, 32 k + lane of its words in words[k]; zero for blocks of class 0.
__device__ __forceinline__ void load_symbols(const Job& job, u64 index, u32 info, u32 words[8]) {
    const u32* from = reinterpret_cast<const u32*>(job.symbols + index * TILE_VERTICES);
    const bool coded = has_codes(mode_in(info));
    const i32 lane = threadIdx.x & 31;
#pragma unroll
    for (i32 k = 0; k < 8; k++) {
        const i32 word = 32 * k + lane;
        const u32 cls = word >= 64 ? class_in(info, 2) : word >= 16 ? class_in(info, 1) : class_in(info, 0);
        words[k] = coded && cls ? from[word] : 0;
    }
}

// Grid: any. Block: 32 * ENCODE_WARPS, a warp for a group at a time. Dynamic shared: EncodeTables.
template <typename T>
__device__ __forceinline__ void encode_groups(const Job& job) {
    constexpr u64 TILE_WORD_BYTES = sizeof(T) == 4 ? TILE_WORD_BYTES_F32 : TILE_WORD_BYTES_F64;
    extern __shared__ u32 dynamic_shared[];
    EncodeTables& tables = *reinterpret_cast<EncodeTables*>(dynamic_shared);
    Control& control = control_of(job);
    for (u32 k = threadIdx.x; k < TABLES * ALPHABET; k += blockDim.x) tables.entries[k] = job.tables[k];
    for (u32 k = threadIdx.x; k <= SCALE; k += blockDim.x) tables.reciprocals[k] = k ? 0xffffffffu / k : 0;
    for (u32 k = threadIdx.x; k < ALPHABET; k += blockDim.x) tables.raw_bits[k] = k < SYMBOLS ? (u8)raw_bits(k, 1, sizeof(T)) : 0;
    __syncthreads();
    const i32 lane = threadIdx.x & 31;
    const u32 log2 = control.group_log2;
    const u64 groups = control.groups;
    // Consecutive groups go to different blocks.
    for (u64 group = blockIdx.x + (u64)gridDim.x * (threadIdx.x >> 5); group < groups; group += (u64)gridDim.x * ENCODE_WARPS) {
        const u64 first = group << log2, end = job.tiles() < first + (1ull << log2) ? job.tiles() : first + (1ull << log2);
        Encoder encoder = {{1u << 16, reinterpret_cast<u16*>(job.words + end * TILE_WORD_BYTES), 0}, &tables};
        for (u64 batch = first + ((end - first - 1) & ~31ull);; batch -= 32) {
            const i32 tiles = (i32)(end - batch < 32 ? end - batch : 32);
            const u32 my_info = lane < tiles ? job.info[batch + lane] : 0;
            u32 waiting[8];
            load_symbols(job, batch + tiles - 1, __shfl_sync(FULL, my_info, tiles - 1), waiting);
#pragma unroll 1
            for (i32 t = tiles - 1; t >= 0; t--) {
                const u64 index = batch + t;
                const u32 info = __shfl_sync(FULL, my_info, t), mode = mode_in(info);
                const bool whole = info & ALL_CODED;
                // The symbols of the next tile come while this one is coded.
                const u32 steps = steps_with_symbols(waiting);
                const u32 next_info = __shfl_sync(FULL, my_info, t > 0 ? t - 1 : 0);
                if (t > 0) load_symbols(job, index - 1, next_info, waiting);
                TileShape shape = {0, 0, 0, 0, TILE, TILE};
                if (!whole) shape = tile_shape(job, index);
                const u32* masks = job.masks + index * 64;
                if (has_codes(mode)) {
                    const Active active_at(shape, mode, masks);
                    const u8* symbols = job.symbols + index * TILE_VERTICES;
                    const u64* payload = reinterpret_cast<const u64*>(job.payload) + index * TILE_VERTICES;
#pragma unroll 1
                    for (i32 block = 2; block >= 0; block--) {
                        const u32 cls = class_in(info, block);
                        if (cls == 0) continue;
                        const u32* table = tables.entries + table_of(first_step(block) * 32, cls) * ALPHABET;
                        const u32 zero = block > 0 ? table[SYMBOL_ZERO] >> 16 : 0, zero_reciprocal = tables.reciprocals[zero];
#pragma unroll 1
                        for (i32 step = end_step(block) - 1; step >= first_step(block); step--) {
                            if (whole && zero) {
                                // To the next step with symbols, downwards.
                                const u32 below = steps & ((2u << step) - 1);
                                const i32 stop = max(below ? 31 - __clz(below) : -1, first_step(block) - 1);
                                if (stop < step) {
                                    encoder.four_zeros(step - stop, zero, zero_reciprocal);
                                    step = stop;
                                    if (step < first_step(block)) break;
                                }
                            }
                            const i32 position = step * 32 + lane;
                            const bool active = active_at.at(position);
                            if (zero && !(steps >> step & 1)) {
                                encoder.zeros(active, zero, zero_reciprocal);
                                continue;
                            }
                            const u32 symbol = active ? symbols[position] : SYMBOL_ZERO;
                            if (__any_sync(FULL, symbol >= FIRST_WITH_RAW_BITS)) {
                                RawBits r = {0, 0, tables.raw_bits[symbol]};
                                if (symbol >= FIRST_WITH_RAW_BITS && (symbol == STORED || position == 0))
                                    r = raw_of<T>(job, index, position, symbol);
                                else if (r.bits)
                                    r.low = payload[position];
                                const u32 pieces = warp_max((r.bits + 15) / 16);
#pragma unroll 1
                                for (i32 piece = (i32)pieces - 1; piece >= 0; piece--) {
                                    const u32 at = 16 * piece;
                                    const bool has = r.bits > at;
                                    const u32 n = has ? (r.bits - at < 16 ? r.bits - at : 16) : 1;
                                    encoder.raw(has, r.piece(at) & ((1u << n) - 1), n);
                                }
                            }
                            encoder.step(active, block > 0 ? table : tables.entries + table_of(position, cls) * ALPHABET, symbol);
                        }
                    }
                }
                if (mode != 0) {
#pragma unroll
                    for (i32 plane = 1; plane >= 0; plane--) {
                        if ((plane == 0 ? mode / 3 : mode % 3) != MASK_SOME) continue;
                        const u32 difference = mask_difference(masks[plane * TILE + lane]);
                        for (i32 byte = (shape.owned_x() + 7) / 8 - 1; byte >= 0; byte--)
                            encoder.step(lane < shape.owned_y(), tables.entries + MASK_BYTE * ALPHABET,
                                         difference >> 8 * byte & 255);
                    }
                }
            }
            const bool coded = lane < tiles && has_codes(mode_in(my_info));
            for (i32 k = 2; k >= 0; k--)
                encoder.step(coded, tables.entries + class_table(my_info, k) * ALPHABET, class_in(my_info, k));
            encoder.step(lane < tiles, tables.entries + TILE_MODE * ALPHABET, mode_in(my_info));
            if (batch == first) break;
        }
        // The states in front, the words at the end of the group's space.
        reinterpret_cast<u32*>(job.words + first * TILE_WORD_BYTES)[lane] = encoder.x;
        if (lane == 0) job.group_sizes[group] = STATE_BYTES + (u64)((encoder.words + 1) / 2) * 4;
        // The pad word behind an odd number of words lies beyond the space: it is made when copied.
        if (lane == 0) job.group_sizes[group] |= (u64)(encoder.words & 1) << 63;
    }
}

// ---------------------------------------------------------------- the stream

// Grid: 1. Block: 1024. Where groups go, the header, the tables, the report.
template <typename T>
__device__ __forceinline__ void place_groups(const Job& job) {
    __shared__ u64 sums[32];
    __shared__ u64 carry;
    Control& control = control_of(job);
    const u64 groups = control.groups, begin = HEADER_BYTES + control.table_bytes + 4 * groups;
    const i32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    if (threadIdx.x == 0) carry = begin;
    __syncthreads();
    for (u64 base = 0; base < groups; base += 1024) {
        const u64 g = base + threadIdx.x;
        const u64 size = g < groups ? job.group_sizes[g] & ~(1ull << 63) : 0;
        u64 sum = size;
        for (i32 k = 1; k < 32; k *= 2) {
            const u64 other = __shfl_up_sync(FULL, sum, k);
            if (lane >= k) sum += other;
        }
        if (lane == 31) sums[warp] = sum;
        __syncthreads();
        if (warp == 0) {
            u64 s = sums[lane];
            for (i32 k = 1; k < 32; k *= 2) {
                const u64 other = __shfl_up_sync(FULL, s, k);
                if (lane >= k) s += other;
            }
            sums[lane] = s;
        }
        __syncthreads();
        const u64 start = carry + (warp ? sums[warp - 1] : 0) + sum - size;
        if (g < groups) job.group_offsets[g] = start;
        __syncthreads();
        if (threadIdx.x == 0) carry += sums[31];
        __syncthreads();
    }
    const u64 field = 2 * job.nx * job.ny * sizeof(T), most = HEADER_BYTES + field;
    const bool stored = carry > most;
    const u64 bytes = stored ? most : carry;
    const bool fits = bytes <= job.stream_bytes;
    if (threadIdx.x == 0) {
        control.content = stored ? CONTENT_STORED : CONTENT_CODED;
        if (stored) control.table_bytes = 0;
        control.stream_bytes = bytes;
        control.status = fits ? STATUS_OK : STATUS_BUFFER_TOO_SMALL;
        Report r = {};
        r.status = control.status;
        r.stream_bytes = fits ? bytes : 0;
        r.required_bytes = bytes;
        r.exact_vertices = stored ? job.nx * job.ny : control.exact;
        r.nonfinite_vertices = control.nonfinite;
        r.zero_vertices = control.zero;
        r.critical_points = control.critical;
        r.bound = control.bound;
        r.max_error = stored ? 0.0 : __longlong_as_double((long long)control.max_error);
        *job.report = r;
        if (fits) write_header(job, control, job.stream);
    }
    if (fits && !stored) {
        const u64 tables = begin - HEADER_BYTES - 4 * groups;
        for (u64 k = threadIdx.x; k < tables; k += blockDim.x) job.stream[HEADER_BYTES + k] = job.table_section[k];
        for (u64 g = threadIdx.x; g < groups; g += blockDim.x)
            put32(job.stream + HEADER_BYTES + tables + 4 * g, (u32)job.group_sizes[g]);
    }
}

__device__ __forceinline__ void store_word(u8* stream, u64 at, u32 word) {
    if (((u64)stream & 3) == 0)
        *reinterpret_cast<u32*>(stream + at) = word;
    else
        put32(stream + at, word);
}

// Grid: any. Block: 256. Groups (or the values themselves) to their places; the last block seals.
template <typename T>
__device__ __forceinline__ void gather(const Job& job) {
    constexpr u64 TILE_WORD_BYTES = sizeof(T) == 4 ? TILE_WORD_BYTES_F32 : TILE_WORD_BYTES_F64;
    Control& control = control_of(job);
    if (control.status != STATUS_OK) return;
    const i32 lane = threadIdx.x & 31;
    const u64 warps = (u64)gridDim.x * (blockDim.x >> 5), me = (u64)blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5);
    u32 sum = 0;
    if (control.content == CONTENT_CODED) {
        const u32 log2 = control.group_log2;
        for (u64 group = me; group < control.groups; group += warps) {
            const u64 first = group << log2, end = job.tiles() < first + (1ull << log2) ? job.tiles() : first + (1ull << log2);
            const u64 size = job.group_sizes[group] & ~(1ull << 63), odd = job.group_sizes[group] >> 63;
            const u64 offset = job.group_offsets[group];
            const u32* states = reinterpret_cast<const u32*>(job.words + first * TILE_WORD_BYTES);
            const u64 pairs = (size - STATE_BYTES) / 4, words = 2 * pairs - odd;
            const u16* from = reinterpret_cast<const u16*>(job.words + end * TILE_WORD_BYTES) - words;
            for (u64 k = lane; k < 32 + pairs; k += 32) {
                u32 word;
                if (k < 32) {
                    word = states[k];
                } else {
                    const u64 w = 2 * (k - 32);
                    word = from[w] | (w + 1 < words ? (u32)from[w + 1] << 16 : 0);
                }
                store_word(job.stream, offset + 4 * k, word);
                sum += checksum_term(word, offset / 4 + k);
            }
        }
        // Header, tables and sizes.
        const u64 head = (HEADER_BYTES + control.table_bytes) / 4 + control.groups;
        for (u64 k = me * 32 + lane; k < head; k += warps * 32) sum += checksum_term(word_at(job.stream, k), k);
    } else {
        const u64 n = job.nx * job.ny, per = sizeof(T) / 4;
        for (u64 k = me * 32 + lane; k < HEADER_BYTES / 4; k += warps * 32) sum += checksum_term(word_at(job.stream, k), k);
        for (u64 k = me * 32 + lane; k < 2 * n; k += warps * 32) {
            const bool second = k >= n;
            const u64 i = second ? k - n : k;
            const long long y = (long long)(i / job.nx), x = (long long)(i - (u64)y * job.nx);
            const u64 bits = Real<T>::bits(second ? *vertex_at<T>(job.v, job.v_layout, x, y)
                                                  : *vertex_at<T>(job.u, job.u_layout, x, y));
            for (u64 p = 0; p < per; p++) {
                const u32 word = (u32)(bits >> 32 * p);
                const u64 at = HEADER_BYTES / 4 + k * per + p;
                store_word(job.stream, 4 * at, word);
                sum += checksum_term(word, at);
            }
        }
    }
    sum = warp_sum(sum);
    if (lane == 0 && sum) atomicAdd(&control.checksum, sum);
    if (last_block(control, TICKET_GATHER) && threadIdx.x == 0) put32(job.stream + 8, control.checksum);
}
