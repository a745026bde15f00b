// The entry of the entropy coder that looks at the symbols of the hierarchical predictor: lists of them, and
// counts. Twin: src/entropy/groups.rs.
#pragma once
#include "compress/tables.cuh"
#include "entropy/groups/masked_rows.cuh"

// The bytes of a mask that lane y codes: row y as its difference from the row before.
__device__ __forceinline__ u32 mask_difference(u32 row) {
    const u32 before = __shfl_up_sync(FULL, row, 1);
    return (threadIdx.x & 31) == 0 ? row : row ^ before;
}

// How many of these are not zero, of a mask by rows.
__device__ __forceinline__ u32 entries_in_mask(const TileShape& shape, u32 row) {
    const u32 difference = mask_difference(row),
              own = (threadIdx.x & 31) < (u32)shape.owned_y() ? difference : 0;
    u32 entries = 0;
#pragma unroll
    for (i32 byte = 0; byte < TILE / 8; byte++) entries += __popc(__ballot_sync(FULL, own >> 8 * byte & 255));
    return entries;
}

// An entry of a sparse list, in the place of the words of its tile: at the position where its list begins,
// and on. The symbol of the run before it, and the raw bits of that.
__device__ __forceinline__ u32 make_entry(u32 symbol, u32 position, Run run) {
    return run.raw << 23 | run.symbol << 18 | position << 8 | symbol;
}
__device__ __forceinline__ i32 position_of_entry(u32 entry) { return entry >> 8 & 1023; }
__device__ __forceinline__ u32 run_symbol_of_entry(u32 entry) { return entry >> 18 & 31; }
__device__ __forceinline__ u32 run_raw_of_entry(u32 entry) { return entry >> 23; }
template <typename T>
__device__ __forceinline__ u32* entries_of(const Job& job, u64 tile) {
    return EncodeView(job).entries<T>(tile);
}
// At most a third of its vertices are in a sparse list.
constexpr i32 MOST_ENTRIES = TILE_VERTICES / 3 + 11;
constexpr i32 COLLECT_WARPS = 16;
static_assert(CLASSES == 8 && LAST_SPARSE_CLASS == 6, "blocks of the last class alone are dense");
// The tables of dense lists.
constexpr u32 DENSE_STEP_4 = STEP_4 + LAST_SPARSE_CLASS, DENSE_STEP_2 = STEP_2 + LAST_SPARSE_CLASS,
              DENSE_STEP_1 = STEP_1 + LAST_SPARSE_CLASS;

// What a block counts lies close together: little has to be cleared at its begin and looked at in its end.
constexpr u32 CODE_SYMBOLS = 192, RUN_SYMBOLS = 32;
constexpr u32 MODES_AT = 0, CLASSES_AT = MODES_AT + HEAD_ALPHABET,
              MASK_BYTES_AT = CLASSES_AT + (MASK_BYTE - COARSE_CLASS) * CLASSES,
              CODES_AT = MASK_BYTES_AT + ALPHABET, RUNS_AT = CODES_AT + (RUN - ANCHOR_TABLE) * CODE_SYMBOLS,
              COUNTS_END = RUNS_AT + (TABLES - RUN) * RUN_SYMBOLS;
static_assert(SYMBOLS <= CODE_SYMBOLS && RUNS <= RUN_SYMBOLS, "all symbols have a place");
__device__ __forceinline__ u32 class_place(u32 table) {
    return CLASSES_AT + (table - COARSE_CLASS) * CLASSES;
}
__device__ __forceinline__ u32 code_place(u32 table) {
    return CODES_AT + (table - ANCHOR_TABLE) * CODE_SYMBOLS;
}
__device__ __forceinline__ u32 run_place(u32 table) { return RUNS_AT + (table - RUN) * RUN_SYMBOLS; }

// Mask states of tiles with codes, a bit for each: has_codes without a division.
constexpr u32 coded_states() {
    u32 states = 0;
    for (u32 mode = 0; mode < 9; mode++) states |= has_codes(mode) ? 1u << mode : 0;
    return states;
}
constexpr u32 CODED_STATES = coded_states();

// What stands in the place of the symbols of a dense list that are not there.
constexpr u32 NO_SYMBOL = CODE_SYMBOLS - 1;
static_assert(SYMBOLS <= NO_SYMBOL, "it is not one");
// Some of four symbols, by bits; in place of the others that there is none.
__device__ __forceinline__ u32 only_symbols(u32 four, u32 there) {
    const u32 keep = ((there & 15) * 0x00204081 & 0x01010101) * 255;
    return (four & keep) | (~keep & NO_SYMBOL * 0x01010101);
}

struct CollectShared {
    alignas(16) u32 counts[COUNTS_END];
    u16 positions[COLLECT_WARPS]
                 [MOST_ENTRIES];  // of the entries of a tile's sparse lists, behind one that is before all
};
static_assert(
    COLLECT_WARPS == 16 && sizeof(CollectShared) == 4 * 5352 + 16 * 2 * 352, "launch.rs asks for as much");

// The table and the symbol that are counted at a place.
struct Counted {
    u32 table, symbol;
    __device__ __forceinline__ Counted(u32 place) {
        if (place >= RUNS_AT) {
            table = RUN + (place - RUNS_AT) / RUN_SYMBOLS, symbol = (place - RUNS_AT) % RUN_SYMBOLS;
        } else if (place >= CODES_AT) {
            table = ANCHOR_TABLE + (place - CODES_AT) / CODE_SYMBOLS,
            symbol = (place - CODES_AT) % CODE_SYMBOLS;
        } else if (place >= MASK_BYTES_AT) {
            table = MASK_BYTE, symbol = place - MASK_BYTES_AT;
        } else if (place >= CLASSES_AT) {
            table = COARSE_CLASS + (place - CLASSES_AT) / CLASSES, symbol = (place - CLASSES_AT) % CLASSES;
        } else {
            table = TILE_MODE, symbol = place - MODES_AT;
        }
    }
};

// A lane has the symbols of four times eight positions of a tile: 256 i + 8 lane and on, for i below 4;
// something that they are or are not takes the bits 8 i and on of a word. With i = 0, lanes below 2 have the
// top, those below 8 the rest of the coarse block, the others the middle one.

// Which of eight symbols are not zero.
__device__ __forceinline__ u32 not_zero(uint2 eight) {
    const u32 low = (((eight.x & 0x7f7f7f7f) + 0x7f7f7f7f) | eight.x) & 0x80808080;
    const u32 high = (((eight.y & 0x7f7f7f7f) + 0x7f7f7f7f) | eight.y) & 0x80808080;
    return __dp4a(high, 0x80402010u, __dp4a(low, 0x08040201u, 0u)) >> 7;
}

// Which of a lane's positions are set in a mask by rows, a row a lane. (Not those of the top.)
__device__ __forceinline__ u32 mask_by_position(u32 row) {
    const i32 lane = threadIdx.x & 31;
    // Eight positions are a row of the middle block, or two of the coarse one, or half a row of the fine one.
    const bool coarse = lane < 8;
    const i32 level = coarse ? 2 : 1, phase = (coarse ? lane >> 1 : lane >> 3) - 1,
              j = coarse ? 2 * (lane & 1) : lane & 7;
    const i32 x = (phase != 1) << level, y = (2 * j + (phase != 0)) << level;
    const u32 first = every_other(every_other(__shfl_sync(FULL, row, y) >> x));
    const u32 second = every_other(every_other(__shfl_sync(FULL, row, (y + 8) & 31) >> x));
    u32 bits = coarse ? every_other(first) | every_other(second) << 4 : first;
#pragma unroll
    for (i32 fine = 0; fine < 3; fine++) {
        const u32 half = __shfl_sync(FULL, row, (lane & ~1) + (fine != 0)) >> (16 * (lane & 1) + (fine != 1));
        bits |= (every_other(half) & 255) << (8 * fine + 8);
    }
    return bits;
}

// Counts the symbols that are not zero of eight of a dense list.
__device__ __forceinline__ void count_dense(u32* table, uint2 eight, u32 present) {
#pragma unroll
    for (i32 b = 0; b < 8; b++)
        count_if(present & 1u << b, &table[(b < 4 ? eight.x : eight.y) >> 8 * (b & 3) & 255]);
}

// Counts the entries of a mask by rows, a row a lane: how many there are.
__device__ __forceinline__ u32 collect_mask(
    u32* run_counts, u32* byte_counts, const TileShape& shape, u32 row) {
    const i32 lane = threadIdx.x & 31;
    const u32 difference = mask_difference(row);
    u32 size = 0;
    i32 last = -1;
#pragma unroll 1
    for (i32 byte = 0; 8 * byte < shape.owned_x(); byte++) {
        const u32 value = lane < shape.owned_y() ? difference >> 8 * byte & 255 : 0,
                  present = __ballot_sync(FULL, value != 0);
        if (present == 0) continue;
        if (value) {
            const u32 before = present & ((1u << lane) - 1);
            const Run run = encode_run(
                (u32)(32 * byte + lane - (before ? 32 * byte + (i32)highest_bit(before) : last) - 1));
            atomicAdd(&run_counts[run.symbol], 1);
            atomicAdd(&byte_counts[value], 1);
        }
        size += __popc(present);
        last = 32 * byte + (i32)highest_bit(present);
    }
    return size;
}

// Grid: any. Block: 32 * COLLECT_WARPS, a warp for a tile at a time. Dynamic shared: CollectShared. The
// entries of all sparse lists, and counts of all symbols by table.
template <typename T>
__device__ __forceinline__ void collect(const Job& job) {
    const CountView work(job);
    LAUNCHED_SHARED(CollectShared, shared);
    u32* const counts = shared.counts;
    const i32 lane = threadIdx.x & 31;
    // The same for all lanes, as the compiler has to know.
    const u32 warp = warp_or(threadIdx.x >> 5);
    u16* const positions = shared.positions[warp];
    for (u32 k = threadIdx.x; k < COUNTS_END / 4; k += 32 * COLLECT_WARPS)
        reinterpret_cast<uint4*>(counts)[k] = make_uint4(0, 0, 0, 0);
    if (lane == 0) positions[0] = 0;
    after_kernel_before();
    __syncthreads();
    // Each lane counts one thing of every tile: the symbol of a position of the top, a class, or the mode.
    // The places of the latter are sums of bytes of the info word with weights.
    const u32 own_place = lane < 16   ? code_place(table_of(lane, 1))
                          : lane < 19 ? class_place(class_table(0, lane - 16))
                                      : MODES_AT;
    const u32 own_weights = fresh(lane == 16   ? 1 << 8
                                  : lane == 17 ? CLASSES << 8 | 1 << 16
                                  : lane == 18 ? CLASSES << 16 | 1 << 24
                                  : lane == 19 ? 1u
                                               : 0u);
    const u32 my_bit = 1u << lane;
    constexpr u32 TOP_LANES = 0xffff, CLASS_LANES = 7 << 16, MODE_LANE = 1 << 19;
    u32 zeros = 0, fine_zeros = 0;  // of dense blocks
    // 32 bits suffice (device/capacities.cuh).
    const u32 tiles = (u32)job.tiles(), warps = gridDim.x * COLLECT_WARPS;
    u32 index = blockIdx.x * COLLECT_WARPS + warp;
    u32 next = index < tiles ? work.headers()[index] : 0;
    for (; index < tiles; index += warps) {
        u32 info = warp_or(next), counting = CLASS_LANES | MODE_LANE;
        if (index + warps < tiles) next = work.headers()[index + warps];
        const bool whole = info & ALL_CODED;
        if (!whole && !(CODED_STATES >> mode_in(info) & 1)) {
            info &= 255;
            counting = MODE_LANE;
        }
        // Symbols; zero where a block has none.
        const u8* const symbols = work.symbols() + (u64)index * TILE_VERTICES;
        const uint2* const eights = words_at<uint2>(symbols) + lane;
        const u32 coarse_class = class_in(info, 0), fine_class = class_in(info, 2),
                  my_class = class_in(info, lane < 8 ? 0 : 1);
        uint2 rows[4];
#pragma unroll
        for (i32 i = 0; i < 4; i++) rows[i] = make_uint2(0, 0);
        u32 top = 0;
        if (coarse_class) {
            counting |= TOP_LANES;
            if (lane < 16) top = symbols[lane];
        }
        if (my_class) rows[0] = eights[0];
        if (fine_class) {
#pragma unroll
            for (i32 i = 1; i < 4; i++) rows[i] = eights[32 * i];
        }
        u32 active = FULL, mask_sizes[2] = {0, 0};
        if (!whole) {
            // Vertices without a symbol, by rows; what lies there means nothing.
            const TileShape shape = tile_shape(job, index);
            u32 masked = ~(lane < shape.owned_y() ? row_mask(shape.owned_x()) : 0);
            // Nobody writes those of a tile that is zero all over.
            if (const u32 states = mode_in(info); states != 0 && states != ALL_ZERO) {
                const u32 zero = work.masks()[(u64)index * 64 + lane],
                          fill = work.masks()[(u64)index * 64 + TILE + lane];
                masked |= zero | fill;
                if (has_mask_list(states, 0))
                    mask_sizes[0] =
                        collect_mask(counts + run_place(MASK_RUN), counts + MASK_BYTES_AT, shape, zero);
                if (has_mask_list(states, 1))
                    mask_sizes[1] =
                        collect_mask(counts + run_place(MASK_RUN), counts + MASK_BYTES_AT, shape, fill);
            }
            if (info >> 8) {
                active = ~mask_by_position(masked);
                i32 x, y;
                place_in_tile((i32)(thread_in_block() & 15), x, y);
                const u32 masked_top = __ballot_sync(FULL, __shfl_sync(FULL, masked, y) >> x & 1) & TOP_LANES;
                counting &= ~masked_top;
                if (lane < 2) active = (active & ~255) | (~(masked_top >> 8 * lane) & 255);
#pragma unroll
                for (i32 i = 0; i < 4; i++) {
                    const u32 there = active >> 8 * i & 255;
                    const bool dense =
                        i ? fine_class > LAST_SPARSE_CLASS : my_class > (lane < 2 ? 0 : LAST_SPARSE_CLASS);
                    if (dense && there != 255) {
                        uint2* const to =
                            words_at<uint2>(work.symbols() + (u64)index * TILE_VERTICES) + lane + 32 * i;
                        *to = make_uint2(only_symbols(rows[i].x, there), only_symbols(rows[i].y, there >> 4));
                    }
                }
            }
        }
        const u32 heads = info & ~(u32)(255 & ~15);
        count_if(counting & my_bit, &counts[__dp4a(heads, own_weights, own_place + top)]);
        u32 present = not_zero(rows[0]);
        if (fine_class) present |= not_zero(rows[1]) << 8 | not_zero(rows[2]) << 16 | not_zero(rows[3]) << 24;
        present &= active;
        if (lane < 2) present &= ~255u;
        u32 weight = TILE_WEIGHT + (coarse_class ? list_end(TOP_LIST) : 0);
        if (((info >> 8) + 0x010101) & 0x080808) {
            // Dense blocks.
            if (coarse_class > LAST_SPARSE_CLASS) weight += list_end(COARSE_LIST) - list_start(COARSE_LIST);
            if (class_in(info, 1) > LAST_SPARSE_CLASS)
                weight += list_end(MIDDLE_LIST) - list_start(MIDDLE_LIST);
            if (my_class > LAST_SPARSE_CLASS && lane >= 2) {
                count_dense(counts + code_place(lane < 8 ? DENSE_STEP_4 : DENSE_STEP_2), rows[0], present);
                zeros += 8 - __popc((present | ~active) & 255);
                present &= ~255u;
            }
            if (fine_class > LAST_SPARSE_CLASS) {
                weight += list_end(FINE_LIST) - list_start(FINE_LIST);
#pragma unroll
                for (i32 i = 1; i < 4; i++)
                    count_dense(counts + code_place(DENSE_STEP_1), rows[i], present >> 8 * i);
                fine_zeros += 24 - __popc((present | ~active) >> 8);
                present &= 255;
            }
        }
        // What is not zero in sparse lists, in order: how many there are in each eight, a byte each, and up
        // to its end. No sum is above 255: the numbers of entries have so many bits.
        u32 here = __popc(present);
        if (fine_class) {
            here = present - (present >> 1 & 0x55555555);
            here = (here & 0x33333333) + (here >> 2 & 0x33333333);
            here = (here + (here >> 4)) & 0x0f0f0f0f;
        }
        const u32 ends = sum_up_to_me(here), all = __shfl_sync(FULL, ends, 31);
        const u32 small = all & 255, coarse = __shfl_sync(FULL, ends, 7) & 255, middle = small - coarse;
        u32 size = small;
        auto place_positions = [&](u32 left, u32 first, u32 last) {
            for (u16* to = positions + last; left; to--) {
                const u32 b = highest_bit(left);
                left ^= 1u << b;
                *to = (u16)(first + b);
            }
        };
        __syncwarp();
        place_positions(present & 255, 8 * lane, ends & 255);
        if (all >> 8) {
#pragma unroll
            for (i32 i = 1; i < 4; i++) {
                place_positions(present >> 8 * i & 255, 256 * i + 8 * lane, size + (ends >> 8 * i & 255));
                size += all >> 8 * i & 255;
            }
        }
        __syncwarp();
        u32* const entries = entries_of<T>(job, index);
        const u32 before_block = coarse << 16 | small << 24;
#pragma unroll 1
        for (u32 k = lane; k < size; k += 32) {
            const u32 position = positions[k + 1], symbol = symbols[position];
            // Blocks begin at powers of four.
            const u32 bits = highest_bit(position) & ~1u, start = 1u << bits, shift = 4 * bits - 8;
            const u32 cls = info >> shift & 255, expected = max((u32)positions[k] + 1, start);
            const Run run = encode_run(position - expected);
            entries[start + k - (before_block >> shift & 255)] = make_entry(symbol, position, run);
            atomicAdd(&counts[run_place(RUN - 1 + cls) + run.symbol], 1);
            atomicAdd(&counts[code_place(STEP_4 + (CLASSES - 1) * ((bits >> 1) - 2) + cls - 1) + symbol], 1);
        }
        weight += 2 * (size + mask_sizes[0] + mask_sizes[1]);
        if (lane == 0) write_sizes(sizes_of(job, index), coarse, middle, size - small, mask_sizes, weight);
    }
    const u32 coarse_zeros = warp_sum(lane < 8 ? zeros : 0), middle_zeros = warp_sum(lane < 8 ? 0 : zeros);
    fine_zeros = warp_sum(fine_zeros);
    if (lane == 0) {
        if (coarse_zeros) atomicAdd(&counts[code_place(DENSE_STEP_4)], coarse_zeros);
        if (middle_zeros) atomicAdd(&counts[code_place(DENSE_STEP_2)], middle_zeros);
        if (fine_zeros) atomicAdd(&counts[code_place(DENSE_STEP_1)], fine_zeros);
    }
    __syncthreads();
    // Tables begin at multiples of four.
    static_assert(HEAD_ALPHABET % 4 == 0 && CLASSES % 4 == 0 && CODE_SYMBOLS % 4 == 0 && RUN_SYMBOLS % 4 == 0,
        "four of a table");
    for (u32 k = threadIdx.x; k < COUNTS_END / 4; k += 32 * COLLECT_WARPS) {
        const uint4 four = reinterpret_cast<const uint4*>(counts)[k];
        if ((four.x | four.y | four.z | four.w) == 0) continue;
        const Counted counted(4 * k);
        ull* const to = (ull*)&work.symbol_counts()[counted.table * ALPHABET + counted.symbol];
        if (four.x) atomicAdd(to, (ull)four.x);
        if (four.y) atomicAdd(to + 1, (ull)four.y);
        if (four.z) atomicAdd(to + 2, (ull)four.z);
        if (four.w) atomicAdd(to + 3, (ull)four.w);
    }
}
