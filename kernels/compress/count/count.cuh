// Counts the symbols of the hierarchical predictor by table and lists those of sparse blocks. Twin of
// src/entropy/groups/count.rs.
#pragma once
#include "compress/count/grouping.cuh"
#include "entropy/groups/masks.cuh"
#include "entropy/groups/masked_tiles.cuh"

// Entry of a sparse list, with the run before it: symbol in bits 0 to 7, position in bits 8 to 17, symbol of
// the run in bits 18 to 22, its raw bits above.
constexpr u32 ENTRY_RUN_AT = 18;
__device__ __forceinline__ u32 make_entry(u32 symbol, u32 position, Run run) {
    return run.raw << (ENTRY_RUN_AT + 5) | run.symbol << ENTRY_RUN_AT | position << 8 | symbol;
}
__device__ __forceinline__ i32 position_of_entry(u32 entry) { return entry >> 8 & (TILE_VERTICES - 1); }
// The run of an entry, and its parts.
static_assert(RUN_SYMBOLS == 1 << 5, "the symbol of a run has five bits");
__device__ __forceinline__ u32 run_of_entry(u32 entry) { return entry >> ENTRY_RUN_AT; }
__device__ __forceinline__ u32 run_symbol_in(u32 run) { return run % RUN_SYMBOLS; }
__device__ __forceinline__ u32 run_raw_in(u32 run) { return run / RUN_SYMBOLS; }
// Numbers of the first entries of the lists of a tile, and the place of an entry in the tile's slot, in
// bytes: those of the fine list come at once, before many words are written, and have the place of the
// bounds; the others lie before the payload.
constexpr u32 FIRST_MIDDLE_ENTRY = 21, FIRST_FINE_ENTRY = 84;
__device__ __forceinline__ constexpr u32 first_entry(u32 list) {
    return list == FINE_LIST ? FIRST_FINE_ENTRY : list == MIDDLE_LIST ? FIRST_MIDDLE_ENTRY : 0;
}
template <typename T>
__device__ __forceinline__ constexpr u32 place_of_entry(u32 number) {
    constexpr u32 FINE = (u32)(SLOT_BYTES<T, PREDICTOR_HIERARCHICAL> - BOUND_BYTES<T>)-4 * FIRST_FINE_ENTRY;
    return 4 * number + (number < FIRST_FINE_ENTRY ? 0 : FINE);
}
// Tables of dense blocks.
constexpr u32 DENSE_STEP_4 = STEP_4 + LAST_LIST_ACTIVITY, DENSE_STEP_2 = STEP_2 + LAST_LIST_ACTIVITY,
              DENSE_STEP_1 = STEP_1 + LAST_LIST_ACTIVITY;

// Counters of a block, packed, since all must be cleared and flushed.
constexpr u32 MASK_STATES_AT = 0, ACTIVITIES_AT = MASK_STATES_AT + HEAD_ALPHABET,
              MASK_BYTES_AT = ACTIVITIES_AT + (MASK_BYTE - COARSE_ACTIVITY) * ACTIVITIES,
              CODES_AT = MASK_BYTES_AT + ALPHABET, RUNS_AT = CODES_AT + (RUN - ANCHOR_TABLE) * CODE_SYMBOLS,
              COUNTS_END = RUNS_AT + (TABLES - RUN) * RUN_SYMBOLS;
static_assert(SYMBOLS <= CODE_SYMBOLS && RUNS <= RUN_SYMBOLS, "all symbols have a place");
__device__ __forceinline__ u32 activity_place(u32 table) {
    return ACTIVITIES_AT + (table - COARSE_ACTIVITY) * ACTIVITIES;
}
__device__ __forceinline__ u32 code_place(u32 table) {
    return CODES_AT + (table - ANCHOR_TABLE) * CODE_SYMBOLS;
}
__device__ __forceinline__ u32 run_place(u32 table) { return RUNS_AT + (table - RUN) * RUN_SYMBOLS; }

// Bit m: tiles with mask states m have codes.
constexpr u32 coded_states() {
    u32 states = 0;
    for (u32 mode = 0; mode < MASK_STATES; mode++) states |= has_codes(mode) ? 1u << mode : 0;
    return states;
}
constexpr u32 CODED_STATES = coded_states();

// Replaces missing symbols of a dense list.
constexpr u32 NO_SYMBOL = CODE_SYMBOLS - 1;
static_assert(SYMBOLS <= NO_SYMBOL, "it is not one");
// Four symbols, with NO_SYMBOL for those whose bit in `there` is clear.
__device__ __forceinline__ u32 only_symbols(u32 four, u32 there) {
    const u32 keep = ((there & 15) * 0x00204081 & 0x01010101) * 255;
    return (four & keep) | (~keep & NO_SYMBOL * 0x01010101);
}

struct CountShared {
    alignas(16) u32 counts[COUNTS_END];
    u16 positions[COUNT_WARPS][MOST_ENTRIES];  // positions of a tile's list entries, after a sentinel
};

// Index in the counts of the call of a block's counter.
__device__ __forceinline__ u32 count_index(u32 place) {
    if (place >= RUNS_AT)
        return (RUN + (place - RUNS_AT) / RUN_SYMBOLS) * ALPHABET + (place - RUNS_AT) % RUN_SYMBOLS;
    if (place >= CODES_AT)
        return (ANCHOR_TABLE + (place - CODES_AT) / CODE_SYMBOLS) * ALPHABET +
               (place - CODES_AT) % CODE_SYMBOLS;
    if (place >= MASK_BYTES_AT) return MASK_BYTE * ALPHABET + place - MASK_BYTES_AT;
    if (place >= ACTIVITIES_AT)
        return (COARSE_ACTIVITY + (place - ACTIVITIES_AT) / ACTIVITIES) * ALPHABET +
               (place - ACTIVITIES_AT) % ACTIVITIES;
    return MASK_STATE * ALPHABET + place - MASK_STATES_AT;
}

// Clears the counters of a block, and adds them to those of the call. Tables begin at multiples of four
// counters.
template <u32 COUNTERS, u32 THREADS>
__device__ __forceinline__ void clear_counters(u32* counts) {
    static_assert(COUNTERS % 4 == 0, "in fours");
    for (u32 k = threadIdx.x; k < COUNTERS / 4; k += THREADS)
        reinterpret_cast<uint4*>(counts)[k] = make_uint4(0, 0, 0, 0);
}
template <u32 COUNTERS, u32 THREADS, typename Index>
__device__ __forceinline__ void add_counters(const Job& job, const u32* counts, Index index) {
    for (u32 k = threadIdx.x; k < COUNTERS / 4; k += THREADS) {
        const uint4 four = reinterpret_cast<const uint4*>(counts)[k];
        if ((four.x | four.y | four.z | four.w) == 0) continue;
        ull* const to = (ull*)&CountView(job).symbol_counts()[index(4 * k)];
        if (four.x) atomicAdd(to, (ull)four.x);
        if (four.y) atomicAdd(to + 1, (ull)four.y);
        if (four.z) atomicAdd(to + 2, (ull)four.z);
        if (four.w) atomicAdd(to + 3, (ull)four.w);
    }
}

// A lane has four times eight consecutive positions of a tile: 256 i + 8 lane for i = 0..3. Flags of these
// vertices take the bits 8 i on of a word. For i = 0, lanes 0-1 have the top positions, lanes 2-7 the rest of
// the coarse block, the others the middle block.

// Bit k: symbol k is not zero.
__device__ __forceinline__ u32 not_zero(uint2 eight) {
    const u32 low = (((eight.x & 0x7f7f7f7f) + 0x7f7f7f7f) | eight.x) & 0x80808080;
    const u32 high = (((eight.y & 0x7f7f7f7f) + 0x7f7f7f7f) | eight.y) & 0x80808080;
    return __dp4a(high, 0x80402010u, __dp4a(low, 0x08040201u, 0u)) >> 7;
}

// Counts the non-zero symbols among eight of a dense list.
__device__ __forceinline__ void count_dense(u32* table, uint2 eight, u32 present) {
#pragma unroll
    for (i32 b = 0; b < 8; b++)
        count_if(present & 1u << b, &table[(b < 4 ? eight.x : eight.y) >> 8 * (b & 3) & 255]);
}

// Lanes that count an item of their own: a top symbol, an activity, the mask state.
constexpr u32 TOP_LANES = 0xffff, ACTIVITY_LANES = 7 << 16, MASK_STATE_LANE = 1 << 19;

// Symbols of a tile: those of the lane's positions, by 256, and of its top position; zeros for a block
// without any.
struct TileSymbols {
    u32 info, top, counting;  // counting: lanes with an item of their own
    uint2 rows[4];
    u32 active;         // flags of the lane's positions that have a symbol
    u32 mask_sizes[2];  // of the lists of the masks

    __device__ __forceinline__ u32 activity(i32 block) const { return activity_in(info, block); }
    __device__ __forceinline__ u32 own_activity() const {
        return activity_in(info, (threadIdx.x & 31) < 8 ? 0 : 1);
    }
    __device__ __forceinline__ TileSymbols(const Job& job, u32 info_word, u64 index)
        : info(info_word), top(0), counting(ACTIVITY_LANES | MASK_STATE_LANE), active(FULL) {
        const i32 lane = threadIdx.x & 31;
        mask_sizes[0] = mask_sizes[1] = 0;
        if (!is_all_coded(info) && !(CODED_STATES >> mask_state_in(info) & 1)) {
            info = without_activities(info);
            counting = MASK_STATE_LANE;
        }
        const u8* const symbols = CountView(job).symbols() + index * TILE_VERTICES;
        const uint2* const eights = words_at<uint2>(symbols) + lane;
#pragma unroll
        for (i32 i = 0; i < 4; i++) rows[i] = make_uint2(0, 0);
        if (activity(0)) {
            counting |= TOP_LANES;
            if (lane < 16) top = symbols[lane];
        }
        if (own_activity()) rows[0] = eights[0];
        if (activity(2)) {
#pragma unroll
            for (i32 i = 1; i < 4; i++) rows[i] = eights[32 * i];
        }
    }
    // For a tile in which not all vertices have a symbol: counts the entries of its masks, and replaces the
    // symbols of dense blocks that are not there, which are undefined.
    __device__ __forceinline__ void mask(const Job& job, u64 index, u32* counts) {
        const CountView work(job);
        const i32 lane = threadIdx.x & 31;
        const OwnedSize size(job, (u32)index);
        u32 masked = ~(lane < (i32)size.y ? row_mask((i32)size.x) : 0);
        // The masks of an all-zero tile are not written.
        if (const u32 states = mask_state_in(info); states != 0 && states != ALL_ZERO) {
#pragma unroll
            for (i32 plane = 0; plane < 2; plane++) {
                const u32 row = work.mask_row(index, plane, lane);
                masked |= row;
                if (has_mask_list(states, plane))
                    mask_sizes[plane] =
                        count_mask(counts + run_place(MASK_RUN), counts + MASK_BYTES_AT, size, row);
            }
        }
        if (!has_activities(info)) return;
        active = ~mask_by_position(masked);
        i32 x, y;
        place_of((i32)(thread_in_block() & 15), x, y);
        const u32 masked_top = __ballot_sync(FULL, __shfl_sync(FULL, masked, y) >> x & 1) & TOP_LANES;
        counting &= ~masked_top;
        if (lane < 2) active = (active & ~255) | (~(masked_top >> 8 * lane) & 255);
        uint2* const to = words_at<uint2>(work.symbols() + index * TILE_VERTICES) + lane;
#pragma unroll
        for (i32 i = 0; i < 4; i++) {
            const u32 there = active >> 8 * i & 255;
            const bool dense =
                i ? activity(2) > LAST_LIST_ACTIVITY : own_activity() > (lane < 2 ? 0 : LAST_LIST_ACTIVITY);
            if (dense && there != 255)
                to[32 * i] = make_uint2(only_symbols(rows[i].x, there), only_symbols(rows[i].y, there >> 4));
        }
    }
    // Flags of the lane's positions whose symbols are not zero, except for top positions.
    __device__ __forceinline__ u32 present() const {
        u32 flags = not_zero(rows[0]);
        if (activity(2)) flags |= not_zero(rows[1]) << 8 | not_zero(rows[2]) << 16 | not_zero(rows[3]) << 24;
        flags &= active;
        return (threadIdx.x & 31) < 2 ? flags & ~255u : flags;
    }
};

// Counts the symbols of dense blocks and takes them out of `present`; adds the blocks' weight and their
// zeros.
__device__ __forceinline__ void count_dense_blocks(
    const TileSymbols& tile, u32* counts, u32& present, u32& weight, u32& zeros, u32& fine_zeros) {
    const i32 lane = threadIdx.x & 31;
    if (tile.activity(0) > LAST_LIST_ACTIVITY) weight += list_end(COARSE_LIST) - list_start(COARSE_LIST);
    if (tile.activity(1) > LAST_LIST_ACTIVITY) weight += list_end(MIDDLE_LIST) - list_start(MIDDLE_LIST);
    if (tile.own_activity() > LAST_LIST_ACTIVITY && lane >= 2) {
        count_dense(counts + code_place(lane < 8 ? DENSE_STEP_4 : DENSE_STEP_2), tile.rows[0], present);
        zeros += 8 - __popc((present | ~tile.active) & 255);
        present &= ~255u;
    }
    if (tile.activity(2) > LAST_LIST_ACTIVITY) {
        weight += list_end(FINE_LIST) - list_start(FINE_LIST);
#pragma unroll
        for (i32 i = 1; i < 4; i++)
            count_dense(counts + code_place(DENSE_STEP_1), tile.rows[i], present >> 8 * i);
        fine_zeros += 24 - __popc((present | ~tile.active) >> 8);
        present &= 255;
    }
}

// Adds the zeros of dense blocks that the lanes of a warp counted.
__device__ __forceinline__ void add_dense_zeros(u32* counts, u32 zeros, u32 fine_zeros) {
    const i32 lane = threadIdx.x & 31;
    const u32 coarse_zeros = warp_sum(lane < 8 ? zeros : 0), middle_zeros = warp_sum(lane < 8 ? 0 : zeros);
    fine_zeros = warp_sum(fine_zeros);
    if (lane == 0) {
        if (coarse_zeros) atomicAdd(&counts[code_place(DENSE_STEP_4)], coarse_zeros);
        if (middle_zeros) atomicAdd(&counts[code_place(DENSE_STEP_2)], middle_zeros);
        if (fine_zeros) atomicAdd(&counts[code_place(DENSE_STEP_1)], fine_zeros);
    }
}

// Entries of the sparse lists of a tile, up to the end of each block.
struct ListEnds {
    u32 coarse, middle, fine;
};
// Puts the flagged positions in order, behind a sentinel. A lane counts them in each eight positions, a byte
// each; inclusive sums stay below 256 (capacities.cuh).
__device__ __forceinline__ ListEnds order_positions(u16* positions, u32 present, bool has_fine) {
    const u32 lane = threadIdx.x & 31;
    u32 here = __popc(present);
    if (has_fine) {
        here = present - (present >> 1 & 0x55555555);
        here = (here & 0x33333333) + (here >> 2 & 0x33333333);
        here = (here + (here >> 4)) & 0x0f0f0f0f;
    }
    const u32 ends = warp_inclusive_sum(here), all = __shfl_sync(FULL, ends, 31);
    auto place_positions = [&](u32 left, u32 first, u32 last) {
        for (u16* to = positions + last; left; to--) {
            const u32 b = highest_bit(left);
            left ^= 1u << b;
            *to = (u16)(first + b);
        }
    };
    ListEnds list = {__shfl_sync(FULL, ends, 7) & 255, all & 255, all & 255};
    __syncwarp();
    place_positions(present & 255, 8 * lane, ends & 255);
    if (all >> 8) {
#pragma unroll
        for (i32 i = 1; i < 4; i++) {
            place_positions(present >> 8 * i & 255, 256 * i + 8 * lane, list.fine + (ends >> 8 * i & 255));
            list.fine += all >> 8 * i & 255;
        }
    }
    __syncwarp();
    return list;
}

// Writes the entries of the sparse lists of a tile to its slot and counts them.
template <typename T>
__device__ __forceinline__ void write_entries(
    const u16* positions, const u8* symbols, u8* slot, u32* counts, u32 info, const ListEnds& list) {
    // Numbers of entries that the lists before a block leave out.
    const u32 left_out = (FIRST_MIDDLE_ENTRY - list.coarse) << 16 | (FIRST_FINE_ENTRY - list.middle) << 24;
#pragma unroll 1
    for (u32 k = threadIdx.x & 31; k < list.fine; k += 32) {
        const u32 position = positions[k + 1], symbol = symbols[position];
        // Blocks begin at powers of four.
        const u32 bits = highest_bit(position) & ~1u, start = 1u << bits, shift = 4 * bits - 8;
        const u32 activity = info >> shift & 255, expected = max((u32)positions[k] + 1, start);
        const Run run = encode_run(position - expected);
        *words_at<u32>(slot + place_of_entry<T>(k + (left_out >> shift & 255))) =
            make_entry(symbol, position, run);
        atomicAdd(&counts[run_place(RUN - 1 + activity) + run.symbol], 1);
        atomicAdd(
            &counts[code_place(STEP_4 + (ACTIVITIES - 1) * ((bits >> 1) - 2) + activity - 1) + symbol], 1);
    }
}

// Grid: any. Block: 32 * COUNT_WARPS threads, a warp per tile. Dynamic shared: CountShared. Reads: info,
// symbols, masks. Writes: list entries, list sizes and weight of each tile, NO_SYMBOL into dense blocks; adds
// to counts. Waits for: the previous kernel.
template <typename T>
__device__ __forceinline__ void count_symbols(const Job& job) {
    const CountView work(job);
    LAUNCHED_SHARED(CountShared, shared);
    u32* const counts = shared.counts;
    const i32 lane = threadIdx.x & 31;
    // warp_or: uniform, so that votes need no code for divergent lanes.
    const u32 warp = warp_or(threadIdx.x >> 5);
    u16* const positions = shared.positions[warp];
    clear_counters<COUNTS_END, 32 * COUNT_WARPS>(counts);
    if (lane == 0) positions[0] = 0;
    after_previous();
    __syncthreads();
    // Each lane counts one item per tile: a symbol of a top position, an activity, or the mask state. The
    // counter of the latter two is a weighted sum of the bytes of the info word.
    const u32 own_place = lane < 16   ? code_place(table_of(lane, 1))
                          : lane < 19 ? activity_place(activity_table(0, lane - 16))
                                      : MASK_STATES_AT;
    const u32 own_weights = fresh(lane == 16   ? 1 << 8
                                  : lane == 17 ? ACTIVITIES << 8 | 1 << 16
                                  : lane == 18 ? ACTIVITIES << 16 | 1 << 24
                                  : lane == 19 ? 1u
                                               : 0u);
    const u32 my_bit = 1u << lane;
    u32 zeros = 0, fine_zeros = 0;  // of dense blocks
    // 32 bits suffice (capacities.cuh).
    const u32 tiles = (u32)job.tiles(), warps = gridDim.x * COUNT_WARPS;
    u32 index = blockIdx.x * COUNT_WARPS + warp;
    u32 next = index < tiles ? work.headers()[index] : 0;
    for (; index < tiles; index += warps) {
        const u32 info_word = warp_or(next);
        if (index + warps < tiles) next = work.headers()[index + warps];
        TileSymbols tile(job, info_word, index);
        if (!is_all_coded(info_word)) tile.mask(job, index, counts);
        const u32 info = tile.info, heads = heads_in(info);
        count_if(tile.counting & my_bit, &counts[__dp4a(heads, own_weights, own_place + tile.top)]);
        u32 present = tile.present(), weight = TILE_WEIGHT + (tile.activity(0) ? list_end(TOP_LIST) : 0);
        if (has_dense_block(info)) count_dense_blocks(tile, counts, present, weight, zeros, fine_zeros);
        const ListEnds list = order_positions(positions, present, tile.activity(2));
        write_entries<T>(positions, work.symbols() + (u64)index * TILE_VERTICES,
            EncodeView(job).slots() + index * SLOT_BYTES<T, PREDICTOR_HIERARCHICAL>, counts, info, list);
        weight += 2 * (list.fine + entries_of_size(tile.mask_sizes[0]) + entries_of_size(tile.mask_sizes[1]));
        if (lane == 0)
            write_sizes(sizes_of(job, index), list.coarse, list.middle - list.coarse, list.fine - list.middle,
                tile.mask_sizes, weight);
    }
    add_dense_zeros(counts, zeros, fine_zeros);
    __syncthreads();
    static_assert(
        HEAD_ALPHABET % 4 == 0 && ACTIVITIES % 4 == 0 && CODE_SYMBOLS % 4 == 0 && RUN_SYMBOLS % 4 == 0,
        "four of a table");
    add_counters<COUNTS_END, 32 * COUNT_WARPS>(job, counts, count_index);
}
