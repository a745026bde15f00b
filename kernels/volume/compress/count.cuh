// Counts the symbols of a volume by table, and lists those of sparse blocks. Twin of
// src/entropy/groups/count.rs.
#pragma once
#include "compress/count/grouping.cuh"
#include "entropy/groups/volume_lists.cuh"
#include "volume/compress/tile_codes.cuh"

// Counters of a block: mask states, activities, codes of vertices, runs.
constexpr u32 VOLUME_ACTIVITIES_AT = HEAD_ALPHABET,
              VOLUME_CODES_AT = VOLUME_ACTIVITIES_AT + (MASK_BYTE - COARSE_ACTIVITY) * ACTIVITIES,
              VOLUME_RUNS_AT = VOLUME_CODES_AT + (RUN - ANCHOR_TABLE) * ALPHABET,
              VOLUME_COUNTS_END = VOLUME_RUNS_AT + (MASK_RUN - RUN) * RUN_SYMBOLS;
static_assert(
    RUNS_OF_VOLUMES <= RUN_SYMBOLS && VOLUME_COUNTS_END * sizeof(u32) <= 48 << 10, "all have a place");
// Index in the counts of the call.
__device__ __forceinline__ u32 volume_count_index(u32 place) {
    if (place >= VOLUME_RUNS_AT) {
        const u32 k = place - VOLUME_RUNS_AT;
        return (RUN + k / RUN_SYMBOLS) * ALPHABET + k % RUN_SYMBOLS;
    }
    if (place >= VOLUME_CODES_AT) return ANCHOR_TABLE * ALPHABET + place - VOLUME_CODES_AT;
    if (place >= VOLUME_ACTIVITIES_AT) {
        const u32 k = place - VOLUME_ACTIVITIES_AT;
        return (COARSE_ACTIVITY + k / ACTIVITIES) * ALPHABET + k % ACTIVITIES;
    }
    return MASK_STATE * ALPHABET + place;
}

// Sixteen symbols of a lane.
struct SixteenSymbols {
    uint4 words;
    __device__ __forceinline__ u32 at(u32 k) const {
        return (k < 4 ? words.x : k < 8 ? words.y : k < 12 ? words.z : words.w) >> 8 * (k & 3) & 255;
    }
};

// Counts a tile by a warp.
template <typename T>
struct VolumeTileCounter {
    const Job& job;
    u32* const counts;
    const VolumeTile tile;
    const u32 info;
    const VolumeCodeView<T> work;
    u32 entries[3], weight;

    __device__ __forceinline__ VolumeTileCounter(const Job& job, u32* counts, u64 index)
        : job(job), counts(counts), tile(volume_tile(job, index)), info(TileView(job).headers()[index]),
          work(job), entries{0, 0, 0}, weight(TILE_WEIGHT) {}

    __device__ __forceinline__ bool is_owned(u32 position) const {
        const VolumePosition at = place_of_position(position);
        return at.x < tile.owned(0) && at.y < tile.owned(1) && at.z < tile.owned(2);
    }
    __device__ __forceinline__ void count_code(u32 table, u32 symbol, u32 times = 1) const {
        atomicAdd(&counts[VOLUME_CODES_AT + (table - ANCHOR_TABLE) * ALPHABET + symbol], times);
    }
    // The mask state, the activities, and the first positions, which are always dense.
    __device__ __forceinline__ void count_heads() {
        const u32 lane = threadIdx.x & 31;
        if (lane == 0) atomicAdd(&counts[stream_mode(info)], 1u);
        if (lane < 3) {
            const u32 table = activity_table(info, (i32)lane);
            atomicAdd(&counts[VOLUME_ACTIVITIES_AT + (table - COARSE_ACTIVITY) * ACTIVITIES +
                              activity_in(info, (i32)lane)],
                1u);
        }
        const u32 activity = activity_in(info, 0);
        if (activity == 0) return;
        weight += TOP_VERTICES;
        if (lane < TOP_VERTICES && is_owned(lane))
            count_code(volume_table(TOP_LIST, activity, lane), *work.symbol(tile.index, lane));
    }
    // Positions `from` to `end` of a block, of those 16 of a lane that begin at `first`. `last`: the position
    // before those of the list, or its last entry so far.
    __device__ __forceinline__ void count_sixteen(u32 block, u32 first, u32 from, u32 end, i32& last) {
        const u32 lane = threadIdx.x & 31, activity = activity_in(info, (i32)block);
        const bool here = first >= from && first < end;
        SixteenSymbols sixteen = {make_uint4(0, 0, 0, 0)};
        if (here) sixteen.words = *words_at<uint4>(work.symbol(tile.index, first));
        u32 set = 0;
#pragma unroll
        for (u32 k = 0; k < 16; k++) set |= (u32)(sixteen.at(k) != SYMBOL_ZERO) << k;
        const u32 table = volume_table(COARSE_LIST + block, activity, from);
        if (is_sparse(activity)) {
            const u32 mine = (u32)__popc(set), up_to_me = warp_inclusive_sum(mine);
            // The last entry in the lanes below.
            i32 before = set ? (i32)(first + highest_bit(set)) : -1;
#pragma unroll
            for (u32 k = 1; k < 32; k *= 2) {
                const i32 other = (i32)__shfl_up_sync(FULL, (u32)before, k);
                if (lane >= k) before = max(before, other);
            }
            const i32 of_all = (i32)__shfl_sync(FULL, (u32)before, 31);
            i32 previous = (i32)__shfl_up_sync(FULL, (u32)before, 1);
            previous = max(lane ? previous : -1, last);
            u16* to = work.positions(tile.index, block) + entries[block] + up_to_me - mine;
            for (; set; set &= set - 1) {
                const u32 k = (u32)__ffs((i32)set) - 1;
                const i32 position = (i32)(first + k);
                *to++ = (u16)position;
                atomicAdd(&counts[VOLUME_RUNS_AT + (activity - 1) * RUN_SYMBOLS +
                                  encode_run((u32)(position - previous - 1)).symbol],
                    1u);
                count_code(table, sixteen.at(k));
                previous = position;
            }
            last = max(last, of_all);
            entries[block] += __shfl_sync(FULL, up_to_me, 31);
            return;
        }
        u32 zeros = 0;
        if (here)
            for (u32 k = 0; k < 16; k++) {
                if (set >> k & 1)
                    count_code(table, sixteen.at(k));
                else
                    zeros += is_owned(first + k);
            }
        zeros = warp_sum(zeros);
        if (lane == 0 && zeros) count_code(table, SYMBOL_ZERO, zeros);
    }
    __device__ __forceinline__ void count_block(u32 block) {
        const u32 activity = activity_in(info, (i32)block), list = COARSE_LIST + block;
        if (activity == 0) return;
        const u32 from = volume_list_start(list), end = volume_list_end(list);
        i32 last = (i32)from - 1;
        for (u32 base = from & ~511u; base < end; base += 512)
            count_sixteen(block, base + 16 * (threadIdx.x & 31), from, end, last);
        weight += is_sparse(activity) ? 2 * entries[block] : end - from;
    }
    __device__ __forceinline__ void run() {
        count_heads();
        for (u32 block = 0; block < 3; block++) count_block(block);
        if ((threadIdx.x & 31) != 0) return;
        const u32 masks[2] = {0, 0};
        write_sizes(sizes_of(job, tile.index), entries[0], entries[1], entries[2], masks, weight);
    }
};

// Grid: any. Block: 32 * VOLUME_COUNT_WARPS threads, a warp for a tile. Static shared: counters. Reads:
// activities, symbols. Writes: positions of the entries of sparse lists, sizes of lists and weight of each
// tile; adds to counts.
template <typename T>
__device__ __forceinline__ void count_volume(const Job& job) {
    __shared__ u32 counts[VOLUME_COUNTS_END];
    if (is_stored_volume(control_of(job))) return;
    for (u32 k = threadIdx.x; k < VOLUME_COUNTS_END; k += blockDim.x) counts[k] = 0;
    __syncthreads();
    for (u64 tile = blockIdx.x + (u64)gridDim.x * warp_or(threadIdx.x >> 5); tile < job.tiles();
         tile += (u64)gridDim.x * VOLUME_COUNT_WARPS)
        VolumeTileCounter<T>(job, counts, tile).run();
    __syncthreads();
    for (u32 k = threadIdx.x; k < VOLUME_COUNTS_END; k += blockDim.x)
        if (counts[k])
            atomicAdd((ull*)&CountView(job).symbol_counts()[volume_count_index(k)], (ull)counts[k]);
}
