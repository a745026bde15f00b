// What both directions of the entropy coder share: the lists of a batch of tiles, one behind the other, a
// chunk of 32 entries at a time, and which vertices of a tile have a symbol. Twins:
// src/stage/entropy/{group,list}.rs.
#pragma once
#include "stream/container.cuh"
#include "entropy/huffman.cuh"
#include "predict/lorenzo.cuh"
#include "tile/window.cuh"

typedef unsigned long long ull;

constexpr i32 BATCH = 32;
constexpr i32 MOST_LISTS = BATCH * TILE_LISTS;
constexpr u32 NO_LIST = 0xffff;

// The lists of a batch that have entries, in order.
struct BatchLists {
    u16 starts[MOST_LISTS + 32];  // their first entries; NO_LIST behind the last one
    u16 names[MOST_LISTS];
};

// The tables from this one on are in shared memory; those before are asked for once or twice a batch. (All of
// them would be more than a block has on some devices.)
constexpr u32 FIRST_SHARED_TABLE = MASK_BYTE, SHARED_TABLES = TABLES - FIRST_SHARED_TABLE;

// So many warps work on a group together: they wait for each other.
template <i32 WARPS>
__device__ __forceinline__ void meet(i32 group) {
    __syncwarp();
    meet_at<32 * WARPS>(group + 1);
}

// The number of this warp's group, found anew where it is asked for: no register holds it.
template <i32 WARPS>
__device__ __forceinline__ i32 my_group() {
    return (i32)(thread_in_block() / (32 * WARPS));
}

// The sum of the values of the lanes up to this one.
__device__ __forceinline__ u32 sum_up_to_me(u32 value) {
#pragma unroll
    for (i32 k = 1; k < 32; k *= 2) value = add_from_below(value, k);
    return value;
}

// Which list of which tile of the batch, and the class of its block.
__device__ __forceinline__ u32 list_name(u32 tile, u32 list, u32 cls) { return tile << 5 | list << 3 | cls; }
__device__ __forceinline__ u32 tile_of_list(u32 name) { return name >> 5; }
__device__ __forceinline__ u32 list_in_tile(u32 name) { return name >> 3 & 3; }
__device__ __forceinline__ u32 class_of_list(u32 name) { return name & 7; }
__device__ __forceinline__ bool is_dense(u32 name) {
    return list_in_tile(name) == TOP_LIST || !is_sparse(class_of_list(name));
}

// Collects the lists of a batch, up to N of each lane's tile: how many there are, and entries in all.
// RELATIVE where an entry's number is to be added to a name.
template <i32 N, bool RELATIVE = false, typename Lists>
__device__ __forceinline__ void collect_lists(
    Lists& lists, const u32 (&sizes)[N], const u32 (&names)[N], i32& count, i32& entries) {
    const i32 lane = threadIdx.x & 31;
    // Entries above, lists below: less than 256 of these.
    static_assert(N * BATCH < 256, "they have 8 bits");
    u32 mine = 0;
#pragma unroll
    for (i32 k = 0; k < N; k++) mine += sizes[k] << 8 | (sizes[k] > 0);
    u32 at = sum_up_to_me(mine);
    const u32 all = __shfl_sync(FULL, at, 31);
    at -= mine;
    __syncwarp();
#pragma unroll
    for (i32 k = 0; k < N; k++)
        if (sizes[k]) {
            lists.starts[at & 255] = (u16)(at >> 8);
            lists.names[at & 255] = names[k] - (RELATIVE ? at >> 8 : 0);
            at += sizes[k] << 8 | 1;
        }
    count = (i32)(all & 255);
    entries = (i32)(all >> 8);
    lists.starts[count + lane] = NO_LIST;
    __syncwarp();
}

// The sizes and names of the lists of a lane's tile, from its info word and the entries of its sparse blocks.
__device__ __forceinline__ void code_lists(
    u32 info, bool coded, const u32 (&counts)[3], u32 (&sizes)[TILE_LISTS], u32 (&names)[TILE_LISTS]) {
    const u32 lane = threadIdx.x & 31;
#pragma unroll
    for (u32 list = TOP_LIST; list < TILE_LISTS; list++) {
        const i32 block = list == TOP_LIST ? 0 : (i32)list - 1;
        const u32 cls = class_in(info, block);
        const u32 size =
            list == TOP_LIST || !is_sparse(cls) ? (u32)(list_end(list) - list_start(list)) : counts[block];
        sizes[list] = coded && cls ? size : 0;
        names[list] = list_name(lane, list, cls);
    }
}

// The table of an entry of a list.
__device__ __forceinline__ u32 table_in_list(u32 list, u32 cls, i32 position) {
    const u32 top = ANCHOR_TABLE + (position >= 1) + (position >= 4);
    return list == TOP_LIST ? top : STEP_4 + (CLASSES - 1) * (list - COARSE_LIST) + cls - 1;
}
static_assert(STEP_16 == ANCHOR_TABLE + 1 && STEP_8 == STEP_16 + 1 && STEP_2 == STEP_4 + CLASSES - 1 &&
                  STEP_1 == STEP_2 + CLASSES - 1,
    "in order");

// Which of the masks of a tile are lists.
__device__ __forceinline__ bool has_mask_list(u32 states, i32 plane) {
    return (plane == 0 ? states / 3 : states % 3) == MASK_SOME;
}

// The list of each lane's entry in a chunk, forwards: `current` is the list of the chunk's first entry. Bits
// of `begins`: lanes whose entry is the first one of a list, but for that of the chunk's first entry.
template <typename Lists>
__device__ __forceinline__ i32 list_of_entry(const Lists& lists, i32 first, i32& current, u32& begins) {
    const i32 next = (i32)warp_or(lists.starts[current + 1]);
    if (next >= first + 32) {
        const i32 mine = current;
        if (next == first + 32) current++;
        begins = 0;
        return mine;
    }
    const i32 lane = threadIdx.x & 31, start = lists.starts[current + 1 + lane];
    begins = warp_or(start < first + 32 ? 1u << (start - first) : 0);
    const i32 mine = current + __popc(begins & ((2u << lane) - 1));
    current += __popc(begins);
    if (warp_or(lists.starts[current + 1]) == (u32)first + 32) current++;
    return mine;
}

// Where a position lies in its tile: place_of without branches.
__device__ __forceinline__ void place_in_tile(i32 position, i32& x, i32& y) {
    const i32 bits = (31 - __clz(position | 1)) >> 1, level = 4 - bits, phase = (position >> 2 * bits) - 1,
              below = (1 << bits) - 1;
    const i32 i = position & below, j = position >> bits & below;
    x = position == 0 ? 0 : (2 * i + (phase != 1)) << level;
    y = position == 0 ? 0 : (2 * j + (phase != 0)) << level;
}

// Whether a position of a tile has a symbol: its vertex is owned by the tile and not masked.
__device__ inline bool is_active(const Job& job, u64 index, u32 states, i32 position) {
    const TileShape shape = tile_shape(job, index);
    i32 x, y;
    place_in_tile(position, x, y);
    if (x > shape.last_x || y > shape.last_y) return false;
    const u32* const rows = job.masks + index * 64 + y;
    return states == 0 || !((rows[0] | rows[TILE]) >> x & 1);
}

// The vertices of the first few tiles of a batch that have no symbol, by rows, for the tiles that are not
// whole: `masked`.
template <i32 MOST>
struct MaskedRows {
    u32 rows[MOST][TILE];
};
template <i32 MOST>
__device__ __forceinline__ void load_masked_rows(
    const Job& job, u32 (&to)[MOST][TILE], u64 batch, u32 my_info, u32 masked) {
    const i32 lane = threadIdx.x & 31;
    i32 slot = 0;
    __syncwarp();
    for (u32 left = masked; left && slot < MOST; left &= left - 1, slot++) {
        const i32 t = __ffs(left) - 1;
        const u64 index = batch + t;
        const TileShape shape = tile_shape(job, index);
        const u32 inside = lane < shape.owned_y() ? row_mask(shape.owned_x()) : 0;
        const u32* const rows = job.masks + index * 64 + lane;
        to[slot][lane] = ~inside | (mode_in(__shfl_sync(FULL, my_info, t)) ? rows[0] | rows[TILE] : 0);
    }
    __syncwarp();
}
template <i32 MOST>
__device__ __forceinline__ bool is_active(
    const Job& job, const MaskedRows<MOST>& shared, u64 batch, u32 t, u32 masked, i32 position) {
    const i32 slot = __popc(masked & ((1u << t) - 1));
    if (slot >= MOST) return is_active(job, batch + t, mode_in(job.info[batch + t]), position);
    i32 x, y;
    place_in_tile(position, x, y);
    return !(shared.rows[slot][y] >> x & 1);
}

// Sum of the values of the threads before this one, and of all, in a block of up to 1024.
__device__ inline u64 block_exclusive_sum(u64 value, u64& total) {
    __shared__ u64 sums[32];
    const i32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = (i32)(blockDim.x >> 5);
    u64 sum = value;
    for (i32 k = 1; k < 32; k *= 2) {
        const u64 other = __shfl_up_sync(FULL, sum, k);
        if (lane >= k) sum += other;
    }
    __syncthreads();
    if (lane == 31) sums[warp] = sum;
    __syncthreads();
    u64 before = lane < warps ? sums[lane] : 0;
    for (i32 k = 1; k < 32; k *= 2) {
        const u64 other = __shfl_up_sync(FULL, before, k);
        if (lane >= k) before += other;
    }
    total = __shfl_sync(FULL, before, 31);
    before = __shfl_sync(FULL, before, (warp + 31) & 31);
    return (warp ? before : 0) + sum - value;
}

// Copies words to shared memory by a block, as many at a time as hide the latency. Both begin at multiples of
// 16 bytes.
template <u32 WORDS, u32 THREADS>
__device__ __forceinline__ void copy_words(u32* to, const u32* from) {
    static_assert(WORDS % 4 == 0, "in fours");
#pragma unroll
    for (u32 i = 0; i < (WORDS / 4 + THREADS - 1) / THREADS; i++) {
        const u32 k = i * THREADS + threadIdx.x;
        if (WORDS / 4 % THREADS == 0 || k < WORDS / 4)
            reinterpret_cast<uint4*>(to)[k] = reinterpret_cast<const uint4*>(from)[k];
    }
}

// Raw bits by symbol, in shared memory: those that are not an anchor's. Digits follow all codes of the
// Lorenzo predictor, as they do those of an anchor.
template <typename T>
__device__ __forceinline__ void fill_raw_bits(u8* bits, bool lorenzo) {
    for (u32 k = threadIdx.x; k < ALPHABET; k += blockDim.x)
        bits[k] = k < SYMBOLS ? (u8)raw_bits(k, lorenzo ? 0 : 1, sizeof(T)) : 0;
}
// Whether this is the symbol of an anchor of the hierarchical predictor with digits (or a stored one).
__device__ __forceinline__ bool has_digits(u32 symbol, i32 position) {
    return position == 0 && symbol >= PAIR1;
}

// Raw bits of a vertex's symbol (and digits), or both values, as they are handed between the kernels.
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
    static __device__ __forceinline__ ulonglong2 make(u64 low, u64 high) {
        return make_ulonglong2(low, high);
    }
    static __device__ __forceinline__ u64 low(ulonglong2 p) { return p.x; }
    static __device__ __forceinline__ u64 second(ulonglong2 p) { return p.y; }
};
