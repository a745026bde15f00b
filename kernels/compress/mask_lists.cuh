// Lists of the non-zero bytes of a mask, each with the run before it. Twin of src/entropy/lists.rs.
#pragma once
#include "entropy/lists.cuh"
#include "grid/tiles.cuh"

// A mask as coded: lane y has row y exclusive-or the row above.
__device__ __forceinline__ u32 mask_difference(u32 row) {
    const u32 before = __shfl_up_sync(FULL, row, 1);
    return (threadIdx.x & 31) == 0 ? row : row ^ before;
}

// Number of non-zero bytes of a mask as coded.
__device__ __forceinline__ u32 entries_in_mask(const TileShape& shape, u32 row) {
    const u32 difference = mask_difference(row),
              own = (threadIdx.x & 31) < (u32)shape.owned_y() ? difference : 0;
    u32 entries = 0;
#pragma unroll
    for (i32 byte = 0; byte < TILE / 8; byte++) entries += __popc(__ballot_sync(FULL, own >> 8 * byte & 255));
    return entries;
}

// Calls put(number, run, byte) for each entry of a mask, a row per lane; returns their number.
template <typename Put>
__device__ __forceinline__ u32 for_mask_entries(const TileShape& shape, u32 row, Put put) {
    const i32 lane = threadIdx.x & 31;
    const u32 difference = mask_difference(row);
    u32 size = 0;
    i32 last = -1;
#pragma unroll 1
    for (i32 byte = 0; 8 * byte < shape.owned_x(); byte++) {
        const u32 value = lane < shape.owned_y() ? difference >> 8 * byte & 255 : 0,
                  present = __ballot_sync(FULL, value != 0);
        if (present == 0) continue;
        const u32 before = present & ((1u << lane) - 1);
        if (value)
            put(size + __popc(before),
                (u32)(32 * byte + lane - (before ? 32 * byte + (i32)highest_bit(before) : last) - 1), value);
        size += __popc(present);
        last = 32 * byte + (i32)highest_bit(present);
    }
    return size;
}

// Counts the entries of a mask; returns their number.
__device__ __forceinline__ u32 count_mask(
    u32* run_counts, u32* byte_counts, const TileShape& shape, u32 row) {
    return for_mask_entries(shape, row, [&](u32, u32 run, u32 byte) {
        atomicAdd(&run_counts[encode_run(run).symbol], 1);
        atomicAdd(&byte_counts[byte], 1);
    });
}

// Calls put(number, run << 8 | byte) for each entry of the mask `name` of a batch: tile << 1 | plane.
template <typename Put>
__device__ __forceinline__ void entries_of_mask(const Job& job, u64 batch, u32 name, Put put) {
    const u64 index = batch + (name >> 1);
    const u32 row = TileView(job).masks()[index * 64 + (name & 1) * TILE + (threadIdx.x & 31)];
    __syncwarp();
    for_mask_entries(tile_shape(job, index), row,
        [&](u32 number, u32 run, u32 byte) { put((i32)number, (u16)(run << 8 | byte)); });
    __syncwarp();
}
