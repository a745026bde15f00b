// Masks as lists of their blocks of two columns and four rows, each block with the run before it. FORMAT.md,
// section 3.5. Twin of src/entropy/groups/masks.rs.
#pragma once
#include "device/workspace.cuh"
#include "entropy/groups/lists.cuh"
#include "grid/tiles.cuh"

// A mask between kernels and in the lists of a batch: its number of entries, and whether it is coded by
// columns. A size of 0 stands for no list.
constexpr u32 MASK_COLUMNS_BIT = 8;
__device__ __forceinline__ u32 entries_of_size(u32 size) { return size & ((1u << MASK_COLUMNS_BIT) - 1); }
__device__ __forceinline__ bool is_by_columns(u32 size) { return size >> MASK_COLUMNS_BIT; }
// As it is coded, in MASK_COUNT_BITS.
__device__ __forceinline__ u32 coded_size(u32 size) {
    return entries_of_size(size) - 1 + (size >> MASK_COLUMNS_BIT << (MASK_COUNT_BITS - 1));
}
__device__ __forceinline__ u32 size_of_coded(u32 coded) {
    const u32 columns = coded >> (MASK_COUNT_BITS - 1);
    return coded - (columns << (MASK_COUNT_BITS - 1)) + 1 + (columns << MASK_COLUMNS_BIT);
}

// Name of a mask in a batch: plane, tile << 1, by columns << 6.
constexpr u32 NAME_COLUMNS_BIT = 6;
__device__ __forceinline__ u32 mask_name(u32 size, u32 tile, u32 plane) {
    return size >> MASK_COLUMNS_BIT << NAME_COLUMNS_BIT | tile << 1 | plane;
}
__device__ __forceinline__ u32 plane_of_mask(u32 name) { return name & 1; }
__device__ __forceinline__ u32 tile_of_mask(u32 name) { return name >> 1 & (BATCH - 1); }

// Concatenates the masks of a batch, of a lane's tile those with a size; returns the number of lists.
template <typename Lists>
__device__ __forceinline__ i32 concatenate_masks(Lists& lists, const u32 (&sizes)[2], i32& entries) {
    const u32 tile = threadIdx.x & 31, own[2] = {entries_of_size(sizes[0]), entries_of_size(sizes[1])},
              names[2] = {mask_name(sizes[0], tile, 0), mask_name(sizes[1], tile, 1)};
    i32 count;
    concatenate_lists<2>(lists, own, names, count, entries);
    return count;
}

// The mask with rows and columns exchanged, a row per lane.
__device__ __forceinline__ u32 transposed(u32 row) {
    u32 low = 0xffff;
#pragma unroll
    for (u32 distance = TILE / 2; distance > 0; distance /= 2) {
        const u32 other = __shfl_xor_sync(FULL, row, distance);
        row = threadIdx.x & distance ? (row & ~low) | (other >> distance & low)
                                     : (row & low) | (other & low) << distance;
        low ^= low << distance / 2;
    }
    return row;
}

// The blocks of a mask, a row per lane: the bits in which rows differ from those above, and row 0 from the
// column to the left. Byte j of lane i is block 32 j + i.
__device__ __forceinline__ u32 blocks_of(u32 row, i32 width, i32 height) {
    const u32 lane = threadIdx.x & 31, above = __shfl_up_sync(FULL, row, 1);
    const u32 difference = (i32)lane < height ? (row ^ (lane == 0 ? row << 1 : above)) & row_mask(width) : 0;
    u32 blocks = 0;
#pragma unroll
    for (u32 k = 0; k < 4; k++)
        blocks |= (__shfl_sync(FULL, difference, 4 * (lane & 7) + k) >> 2 * (lane >> 3) & 0x03030303)
                  << 2 * k;
    return blocks;
}
// Undoes it. Bits beyond the width or the height are arbitrary.
__device__ __forceinline__ u32 row_of_blocks(u32 blocks) {
    const u32 lane = threadIdx.x & 31;
    u32 row = 0;
#pragma unroll
    for (u32 k = 0; k < 4; k++)
        row |= (__shfl_sync(FULL, blocks, 8 * k + (lane >> 2)) >> 2 * (lane & 3) & 0x03030303) << 2 * k;
    if (lane == 0) {
#pragma unroll
        for (u32 k = 1; k < 32; k *= 2) row ^= row << k;
    }
#pragma unroll
    for (u32 k = 1; k < 32; k *= 2) {
        const u32 other = __shfl_up_sync(FULL, row, k);
        if (lane >= k) row ^= other;
    }
    return row;
}

// A mask as it is coded: its blocks, and its size.
struct CodedMask {
    u32 blocks, size;
};
__device__ __forceinline__ CodedMask code_mask(const OwnedSize& size, u32 row) {
    const i32 width = (i32)size.x, height = (i32)size.y;
    const u32 rows = blocks_of(row, width, height), columns = blocks_of(transposed(row), height, width);
    // Both numbers of entries, in halves of a word.
    auto entries = [](u32 blocks) {
        return (u32)__popc((((blocks & 0x7f7f7f7f) + 0x7f7f7f7f) | blocks) & 0x80808080);
    };
    const u32 both = warp_sum(entries(rows) | entries(columns) << 16);
    const bool by_columns = both >> 16 < (both & 0xffff);
    return {by_columns ? columns : rows, by_columns ? both >> 16 | 1u << MASK_COLUMNS_BIT : both & 0xffff};
}

// Calls put(number, run, symbol) for each entry of the blocks of a mask.
template <typename Put>
__device__ __forceinline__ void for_mask_entries(u32 blocks, Put put) {
    const i32 lane = threadIdx.x & 31;
    u32 size = 0;
    i32 last = -1;
#pragma unroll 1
    for (i32 byte = 0; byte < 4; byte++) {
        const u32 block = blocks >> 8 * byte & 255, present = __ballot_sync(FULL, block != 0);
        if (present == 0) continue;
        const u32 before = present & ((1u << lane) - 1);
        if (block)
            put(size + __popc(before),
                (u32)(32 * byte + lane - (before ? 32 * byte + (i32)highest_bit(before) : last) - 1),
                block - 1);
        size += __popc(present);
        last = 32 * byte + (i32)highest_bit(present);
    }
}

// Counts the entries of a mask; returns its size.
__device__ __forceinline__ u32 count_mask(
    u32* run_counts, u32* block_counts, const OwnedSize& size, u32 row) {
    const CodedMask mask = code_mask(size, row);
    for_mask_entries(mask.blocks, [&](u32, u32 run, u32 symbol) {
        atomicAdd(&run_counts[encode_run(run).symbol], 1);
        atomicAdd(&block_counts[symbol], 1);
    });
    return mask.size;
}

// Calls put(number, run << 8 | symbol) for each entry of the named mask of a batch.
template <typename Put>
__device__ __forceinline__ void entries_of_mask(const Job& job, u64 batch, u32 name, Put put) {
    const u64 index = batch + tile_of_mask(name);
    u32 row = TileView(job).mask_row(index, plane_of_mask(name), threadIdx.x & 31);
    const OwnedSize size(job, (u32)index);
    i32 width = (i32)size.x, height = (i32)size.y;
    __syncwarp();
    if (name >> NAME_COLUMNS_BIT) {
        row = transposed(row);
        const i32 rows = height;
        height = width, width = rows;
    }
    for_mask_entries(blocks_of(row, width, height),
        [&](u32 number, u32 run, u32 symbol) { put((i32)number, (u16)(run << 8 | symbol)); });
    __syncwarp();
}
