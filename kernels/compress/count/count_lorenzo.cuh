// Counts the symbols of the Lorenzo predictor by table, in large fields from a sample of tiles. Twin of
// src/entropy/groups/lorenzo.rs.
#pragma once
#include "compress/count/count.cuh"
#include "entropy/groups/lorenzo.cuh"

// Counters of a block: modes, activities, mask blocks, row bytes, pattern bytes by activity, symbols of first
// vertices, symbols by activity, runs in masks.
constexpr u32 ROW_ACTIVITIES_AT = HEAD_ALPHABET, ROW_MASK_BYTES_AT = ROW_ACTIVITIES_AT + 16,
              ROW_BYTES_AT = ROW_MASK_BYTES_AT + ALPHABET, PATTERNS_AT = ROW_BYTES_AT + ALPHABET,
              FIRSTS_AT = PATTERNS_AT + PATTERN_TABLES * ALPHABET, ROW_CODES_AT = FIRSTS_AT + CODE_SYMBOLS,
              MASK_RUNS_AT = ROW_CODES_AT + ROW_TABLES * CODE_SYMBOLS,
              ROW_COUNTS_END = MASK_RUNS_AT + RUN_SYMBOLS;
struct RowCountShared {
    alignas(16) u32 counts[ROW_COUNTS_END];
    alignas(4) u8 rows[ROW_COUNT_WARPS][TILE][STAGED_ROW];
};

// Index in the counts of the call of a block's counter.
__device__ __forceinline__ u32 row_count_index(u32 place) {
    if (place >= MASK_RUNS_AT) return MASK_RUN * ALPHABET + place - MASK_RUNS_AT;
    if (place >= ROW_CODES_AT)
        return (ROW_SYMBOL + (place - ROW_CODES_AT) / CODE_SYMBOLS) * ALPHABET +
               (place - ROW_CODES_AT) % CODE_SYMBOLS;
    if (place >= FIRSTS_AT) return ANCHOR_TABLE * ALPHABET + place - FIRSTS_AT;
    if (place >= PATTERNS_AT) return PATTERN * ALPHABET + place - PATTERNS_AT;
    if (place >= ROW_BYTES_AT) return ROW_BYTE * ALPHABET + place - ROW_BYTES_AT;
    if (place >= ROW_MASK_BYTES_AT) return MASK_BYTE * ALPHABET + place - ROW_MASK_BYTES_AT;
    if (place >= ROW_ACTIVITIES_AT) return TILE_ACTIVITY * ALPHABET + place - ROW_ACTIVITIES_AT;
    return MASK_STATE * ALPHABET + place;
}

// A row of symbols.
struct RowWords {
    u32 words[TILE / 4];

    __device__ __forceinline__ void load(const Job& job, u64 tile) {
        const uint4* const row =
            words_at<uint4>(CountView(job).symbols() + tile * TILE_VERTICES) + 2 * (threadIdx.x & 31);
        const uint4 low = row[0], high = row[1];
        words[0] = low.x, words[1] = low.y, words[2] = low.z, words[3] = low.w;
        words[4] = high.x, words[5] = high.y, words[6] = high.z, words[7] = high.w;
    }
    // Copies the row to shared memory.
    __device__ __forceinline__ void stage(u32 row) const {
#pragma unroll
        for (i32 k = 0; k < TILE / 4; k++) put_shared(row + 4 * k, words[k]);
    }
};

// Counts the patterns of a tile of `rows` rows of `bytes` bytes; `left`: vertices of the lane's row with a
// symbol.
__device__ __forceinline__ void count_patterns(u32* counts, u32 activity, u32 left, u32 rows, u32 bytes) {
    const i32 lane = threadIdx.x & 31;
    u32* const patterns = counts + PATTERNS_AT + (activity - 1) * ALPHABET;
    u32 some = 0;
#pragma unroll
    for (u32 k = 0; k < TILE / 8; k++) {
        const u32 byte = left >> 8 * k & 255;
        some += __popc(__ballot_sync(FULL, byte != 0));
        count_if(byte, &patterns[byte]);
    }
    if (activity <= LAST_SPARSE_TILE) {
        const u32 any = __ballot_sync(FULL, left != 0);
        if ((u32)lane < (rows + 7) / 8) atomicAdd(&counts[ROW_BYTES_AT + (any >> 8 * lane & 255)], 1);
        rows = __popc(any);
    }
    if (lane == 2) atomicAdd(patterns, rows * bytes - some);
}

// Counts the symbols of the vertices in `left` of the lane's row, which is staged at `row`.
__device__ __forceinline__ void count_row(u32* counts, u32 activity, u32 left, u32 row) {
    u32* const codes = counts + ROW_CODES_AT + (activity - 1) * CODE_SYMBOLS;
    if ((threadIdx.x & 31) == 0 && left & 1) {
        atomicAdd(&counts[FIRSTS_AT + shared_byte(row)], 1);
        left ^= 1;
    }
    while (left) {
        const u32 x = highest_bit(left);
        left ^= 1u << x;
        atomicAdd(&codes[shared_byte(row + x)], 1);
    }
}

// Counts the symbols of a tile by a warp. `row`: the lane's place to stage a row; zeros: of tiles of full
// activity, which a warp adds to their counter at its end.
__device__ __forceinline__ void count_tile(const Job& job, u32* counts, u32 row, u64 index, u32& zeros) {
    const CountView work(job);
    const i32 lane = threadIdx.x & 31;
    const u32 info = warp_or(work.headers()[index]), states = mask_state_in(info);
    const bool coded = CODED_STATES >> states & 1;
    const u32 activity = coded ? activity_in(info, 0) : 0;
    if (lane == 0) atomicAdd(&counts[stream_mode(info)], 1);
    if (lane == 1 && coded) atomicAdd(&counts[ROW_ACTIVITIES_AT + activity], 1);
    u32 active = FULL, bytes = TILE / 8, rows = TILE;
    if (!is_all_coded(info)) {
        const OwnedSize size(job, (u32)index);
        bytes = (size.x + 7) / 8, rows = size.y;
#pragma unroll
        for (i32 plane = 0; plane < 2; plane++)
            if (has_mask_list(states, plane))
                count_mask(counts + MASK_RUNS_AT, counts + ROW_MASK_BYTES_AT, size,
                    work.mask_row(index, plane, lane));
        if (activity) active = active_in_row(job, size, index, states);
    }
    if (activity) {
        // Tiles of activity 0 may have no symbols written.
        RowWords words;
        words.load(job, index);
        words.stage(row);
        u32 left = row_pattern(words.words);
        if (activity == FULL_ACTIVITY) {
            // Zeros, apart from the first vertex, which has its own table.
            zeros += __popc(active & ~left);
            if (lane == 0 && active & ~left & 1) {
                zeros--;
                atomicAdd(&counts[FIRSTS_AT], 1);
            }
        } else {
            count_patterns(counts, activity, left, rows, bytes);
        }
        count_row(counts, activity, left, row);
    }
}

// Grid: any. Block: 32 * ROW_COUNT_WARPS threads, a warp per tile. Dynamic shared: RowCountShared. Reads:
// info, symbols, masks. Writes: adds to counts. Waits for: the previous kernel.
template <typename T>
__device__ __forceinline__ void count_lorenzo(const Job& job) {
    LAUNCHED_SHARED(RowCountShared, shared);
    u32* const counts = shared.counts;
    const i32 lane = threadIdx.x & 31;
    // warp_or: uniform, so that votes need no code for divergent lanes.
    const u32 warp = warp_or(threadIdx.x >> 5);
    const u32 row = shared_place(shared.rows[warp][lane]);
    clear_counters<ROW_COUNTS_END, 32 * ROW_COUNT_WARPS>(counts);
    after_previous();
    __syncthreads();
    const u64 tiles = job.tiles();
    const u32 each = tiles_of_sample(tiles), samples = (u32)((tiles + each - 1) / each),
              warps = gridDim.x * ROW_COUNT_WARPS;
    u32 zeros = 0;
    for (u32 sample = blockIdx.x * ROW_COUNT_WARPS + warp; sample < samples; sample += warps) {
        const u64 index = sampled_tile(sample, each);
        if (index >= tiles) break;
        count_tile(job, counts, row, index, zeros);
        __syncwarp();
    }
    zeros = warp_sum(zeros);
    if (lane == 0 && zeros) atomicAdd(&counts[ROW_CODES_AT + (FULL_ACTIVITY - 1) * CODE_SYMBOLS], zeros);
    __syncthreads();
    static_assert(ROW_BYTES_AT % 4 == 0 && PATTERNS_AT % 4 == 0 && ROW_CODES_AT % 4 == 0, "four of a table");
    add_counters<ROW_COUNTS_END, 32 * ROW_COUNT_WARPS>(job, counts, row_count_index);
}
