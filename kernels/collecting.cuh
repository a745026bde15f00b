// The entry of the entropy coder that looks at the symbols: lists of them, and counts. Twin: src/stage/entropy/group.rs.
#pragma once
#include "tables.cuh"

// The bytes of a mask that lane y codes: row y as its difference from the row before.
__device__ __forceinline__ u32 mask_difference(u32 row) {
    const u32 before = __shfl_up_sync(FULL, row, 1);
    return (threadIdx.x & 31) == 0 ? row : row ^ before;
}

// An entry of a sparse list, in the place of the words of its tile: at the position where its list begins, and on. The symbol of
// the run before it, and the raw bits of that.
__device__ __forceinline__ u32 make_entry(u32 symbol, u32 position, Run run) {
    return run.raw << 23 | run.symbol << 18 | position << 8 | symbol;
}
__device__ __forceinline__ u32 symbol_of_entry(u32 entry) { return entry & 255; }
__device__ __forceinline__ i32 position_of_entry(u32 entry) { return entry >> 8 & 1023; }
__device__ __forceinline__ u32 run_symbol_of_entry(u32 entry) { return entry >> 18 & 31; }
__device__ __forceinline__ u32 run_raw_of_entry(u32 entry) { return entry >> 23; }
template <typename T>
__device__ __forceinline__ u32* entries_of(const Job& job, u64 tile) {
    return reinterpret_cast<u32*>(job.words + tile * (sizeof(T) == 4 ? TILE_WORD_BYTES_F32 : TILE_WORD_BYTES_F64));
}
// At most a third of its vertices are in a sparse list.
constexpr i32 MOST_ENTRIES = TILE_VERTICES / 3 + 11;
constexpr u32 RUN_COUNTS = TABLES - RUN;
constexpr i32 COLLECT_WARPS = 12;
struct CollectShared {
    u32 counts[RUN * ALPHABET];
    u32 runs[RUN_COUNTS * 32];  // few symbols of runs occur
    u8 raw_bits[ALPHABET];
    u32 entries[COLLECT_WARPS][MOST_ENTRIES];
};
static_assert(sizeof(CollectShared) == 4 * (43 * 256 + 7 * 32) + 256 + 12 * 4 * 352, "launch.rs asks for as much");

// Counts four symbols of one table: those that are zero in a register.
__device__ __forceinline__ void count_word(const CollectShared& shared, u32* counts, u32 four, u32& zeros, u32& raw) {
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

// The block of word 32 k + lane of a tile's symbols.
__device__ __forceinline__ i32 block_of_word(i32 word) { return word >= 64 ? 2 : word >= 16 ? 1 : 0; }

// Grid: any. Block: 32 * COLLECT_WARPS, a warp for a tile at a time. Dynamic shared: CollectShared. The entries of all sparse lists, counts of all symbols by
// table, and raw bits in all.
template <typename T>
__device__ __forceinline__ void collect(const Job& job) {
    LAUNCHED_SHARED(CollectShared, shared);
    u32* const counts = shared.counts;
    Control& control = control_of(job);
    const bool lorenzo = job.predictor == PREDICTOR_LORENZO;
    for (u32 k = threadIdx.x; k < RUN * ALPHABET; k += blockDim.x) counts[k] = 0;
    for (u32 k = threadIdx.x; k < RUN_COUNTS * 32; k += blockDim.x) shared.runs[k] = 0;
    fill_raw_bits<T>(shared.raw_bits, lorenzo);
    __syncthreads();
    const i32 lane = threadIdx.x & 31;
    const u32 below_me = (1u << lane) - 1;
    u32* const found = shared.entries[threadIdx.x >> 5];
    const u64 warps = (u64)gridDim.x * COLLECT_WARPS;
    u64 all_raw = 0;
    u64 index = (u64)blockIdx.x * COLLECT_WARPS + (threadIdx.x >> 5);
    u32 next = index < job.tiles() ? job.info[index] : 0;
    for (; index < job.tiles(); index += warps) {
        const u32 info = next, states = mode_in(info);
        if (index + warps < job.tiles()) next = job.info[index + warps];
        if (lane == 0) atomicAdd(&counts[TILE_MODE * ALPHABET + stream_mode(info)], 1);
        u32 raw = 0, weight = TILE_WEIGHT;
        if (states != 0) {
            const TileShape shape = tile_shape(job, index);
#pragma unroll
            for (i32 plane = 0; plane < 2; plane++) {
                if (!has_mask_list(states, plane)) continue;
                const u32 difference = mask_difference(job.masks[index * 64 + plane * TILE + lane]);
                u32 size = 0;
                i32 last = -1;
                for (i32 byte = 0; 8 * byte < shape.owned_x(); byte++) {
                    const u32 value = lane < shape.owned_y() ? difference >> 8 * byte & 255 : 0, present = __ballot_sync(FULL, value != 0);
                    if (present == 0) continue;
                    if (value) {
                        const u32 before = present & below_me;
                        const Run run = encode_run((u32)(32 * byte + lane - (before ? 32 * byte + 31 - __clz(before) : last) - 1));
                        atomicAdd(&shared.runs[(MASK_RUN - RUN) * 32 + run.symbol], 1);
                        atomicAdd(&counts[MASK_BYTE * ALPHABET + value], 1);
                        raw += run.bits;
                    }
                    size += __popc(present);
                    last = 32 * byte + 31 - __clz(present);
                }
                weight += 2 * size;
                if (lane == 0) {
                    sizes_of(job, index).masks[plane] = (u16)size;
                    raw += MASK_COUNT_BITS;
                }
            }
        }
        if (!has_codes(states)) {
            if (lane == 0) sizes_of(job, index).weight = (u16)weight;
            all_raw += raw;
            continue;
        }
        if (lane < 3) atomicAdd(&counts[class_table(info, lane) * ALPHABET + class_in(info, lane)], 1);
        // Word 32 k + lane of the symbols; zero where a block has none.
        const u32* const from = reinterpret_cast<const u32*>(job.symbols + index * TILE_VERTICES);
        u32 words[8];
#pragma unroll
        for (i32 k = 0; k < 8; k++) words[k] = class_in(info, block_of_word(32 * k + lane)) ? from[32 * k + lane] : 0;
        if (!(info & ALL_CODED)) {
            // Vertices without a symbol, by rows; what lies there means nothing.
            const TileShape shape = tile_shape(job, index);
            u32 masked = ~(lane < shape.owned_y() ? row_mask(shape.owned_x()) : 0);
            if (states != 0) masked |= job.masks[index * 64 + lane] | job.masks[index * 64 + TILE + lane];
            auto is_masked = [&](i32 position) -> bool {
                i32 x, y;
                place_in_tile(lorenzo, position, x, y);
                return __shfl_sync(FULL, masked, y) >> x & 1;
            };
#pragma unroll
            for (i32 k = 0; k < 8; k++) {
                u32 four = words[k];
                if (!__any_sync(FULL, four)) continue;
#pragma unroll 1
                for (i32 b = 0; b < 4; b++)
                    if (is_masked(128 * k + 4 * lane + b)) four &= ~(255u << 8 * b);
                words[k] = four;
            }
            // Zeros of dense lists are counted one by one.
#pragma unroll 1
            for (i32 step = 0; step < 32; step++) {
                const i32 position = 32 * step + lane, block = step >= 8 ? 2 : step >= 2 ? 1 : 0;
                const u32 cls = class_in(info, block);
                if (cls == 0 || (step > 0 && is_sparse(cls))) continue;
                const bool dense = position < 16 || !is_sparse(cls);
                if (is_masked(position) || !dense) continue;
                const u32 symbol = job.symbols[index * TILE_VERTICES + position];
                atomicAdd(&counts[table_of(position, cls) * ALPHABET + symbol], 1);
                raw += raw_bits_at<T>(shared.raw_bits, symbol, position);
            }
        } else {
            if (class_in(info, 0)) {
                // The top: a position a lane.
                const u32 symbol = __shfl_sync(FULL, words[0], lane >> 2) >> 8 * (lane & 3) & 255;
                if (lane < 16) {
                    atomicAdd(&counts[table_of(lane, 1) * ALPHABET + symbol], 1);
                    raw += raw_bits_at<T>(shared.raw_bits, symbol, lane);
                }
            }
#pragma unroll
            for (i32 block = 0; block < 3; block++) {
                const u32 cls = class_in(info, block);
                if (cls == 0 || is_sparse(cls)) continue;
                u32* const table = counts + table_of(list_start(block + 1), cls) * ALPHABET;
                u32 zeros = 0;
#pragma unroll
                for (i32 k = block; k < (block == 0 ? 1 : block == 1 ? 2 : 8); k++) {
                    // The middle block begins in the word of the coarse one.
                    if (block == 0 ? lane >= 4 && lane < 16 : true) count_word(shared, table, words[k], zeros, raw);
                }
                if (block == 1 && lane >= 16) count_word(shared, table, words[0], zeros, raw);
                zeros = warp_sum(zeros);
                if (lane == 0 && zeros) atomicAdd(table, zeros);
            }
        }
        // What is not zero in sparse lists, in order.
        u32 size = 0, sizes[3] = {0, 0, 0};
        __syncwarp();
#pragma unroll
        for (i32 k = 0; k < 8; k++) {
            const i32 block = block_of_word(32 * k + lane);
            const u32 four = is_sparse(class_in(info, block)) && (k > 0 || lane >= 4) ? words[k] : 0;
            if (!__any_sync(FULL, four)) continue;
            u32 at = size, added = 0;
#pragma unroll
            for (i32 b = 0; b < 4; b++) {
                const u32 present = __ballot_sync(FULL, four >> 8 * b & 255);
                at += __popc(present & below_me);
                added += __popc(present);
                if (k == 0) sizes[0] += __popc(present & 0xffff);
                if (k < 2) sizes[1] += __popc(k == 0 ? present & 0xffff0000u : present);
            }
#pragma unroll
            for (i32 b = 0; b < 4; b++) {
                const u32 symbol = four >> 8 * b & 255;
                if (symbol) found[at++] = make_entry(symbol, 128 * k + 4 * lane + b, {0, 0, 0});
            }
            size += added;
        }
        sizes[2] = size - sizes[0] - sizes[1];
        __syncwarp();
        u32* const entries = entries_of<T>(job, index);
        for (i32 k = lane; k < (i32)size; k += 32) {
            const u32 entry = found[k], symbol = symbol_of_entry(entry);
            const i32 position = position_of_entry(entry), before = k > 0 ? position_of_entry(found[k - 1]) : -1;
            const i32 block = position >= 256 ? 2 : position >= 64 ? 1 : 0, start = list_start(block + 1);
            const u32 cls = class_in(info, block);
            const u32 skipped = (u32)(position - 1 - (before < start ? start - 1 : before));
            const i32 first = block == 0 ? 0 : block == 1 ? (i32)sizes[0] : (i32)(sizes[0] + sizes[1]);
            const Run run = encode_run(skipped);
            entries[start + k - first] = make_entry(symbol, position, run);
            atomicAdd(&shared.runs[(cls - 1) * 32 + run.symbol], 1);
            atomicAdd(&counts[table_in_list(COARSE_LIST + block, cls, position) * ALPHABET + symbol], 1);
            raw += run.bits + shared.raw_bits[symbol];
        }
        weight += 2 * size;
#pragma unroll
        for (u32 list = TOP_LIST; list < TILE_LISTS; list++) {
            const u32 cls = class_in(info, list == TOP_LIST ? 0 : (i32)list - 1);
            if (cls && (list == TOP_LIST || !is_sparse(cls))) weight += (u32)(list_end(list) - list_start(list));
        }
        if (lane == 0) sizes_of(job, index).weight = (u16)weight;
        if (lane < 3) {
            const u32 cls = class_in(info, lane);
            sizes_of(job, index).blocks[lane] = (u16)(lane == 0 ? sizes[0] : lane == 1 ? sizes[1] : sizes[2]);
            if (is_sparse(cls)) raw += count_bits(lane, cls);
        }
        all_raw += raw;
    }
    all_raw = warp_sum64(all_raw);
    if (lane == 0 && all_raw) atomicAdd((ull*)&control.raw_bits, (ull)all_raw);
    __syncthreads();
    for (u32 k = threadIdx.x; k < RUN * ALPHABET; k += blockDim.x)
        if (counts[k]) atomicAdd((ull*)&job.counts[k], (ull)counts[k]);
    for (u32 k = threadIdx.x; k < RUN_COUNTS * 32; k += blockDim.x)
        if (shared.runs[k]) atomicAdd((ull*)&job.counts[(RUN + k / 32) * ALPHABET + k % 32], (ull)shared.runs[k]);
}
