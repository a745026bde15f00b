// Decodes the head of a batch of tiles: modes, activities, list sizes and masks. Reads nothing beyond the
// stream and writes nothing beyond the grid, whatever the stream says. Twin of src/entropy/groups/decode.rs.
#pragma once
#include "device/workspace.cuh"
#include "entropy/groups/masked_tiles.cuh"
#include "entropy/groups/masks.cuh"
#include "entropy/lanes.cuh"
#include "entropy/payload.cuh"

// The inclusive sum within each list of a chunk. `begins`: lanes with the first entry of a list; `open`: the
// sum so far in the list that continues in lane 0.
__device__ __forceinline__ i32 sum_in_list(i32 value, u32 begins, i32 open) {
    const i32 lane = threadIdx.x & 31;
    value = (i32)warp_inclusive_sum((u32)value);
    const u32 mine = begins & ((2u << lane) - 1);
    const i32 begin = mine ? 31 - __clz(mine) : 0;
    const i32 before = __shfl_sync(FULL, value, begin > 0 ? begin - 1 : 0);
    return mine == 0 ? value + open : begin > 0 ? value - before : value;
}

// Resolves the escapes among the lanes' symbols and corrects their numbers of raw bits.
template <bool HUFFMAN>
__device__ __forceinline__ void resolve_escapes(
    Decoder<HUFFMAN>& decoder, const u8* raw_bits, u32& symbol, u32& bits) {
    if (!__any_sync(FULL, symbol == ESCAPE)) return;
    decoder.resolve_escape(symbol);
    bits = raw_bits[symbol];
    // An escaped escape is not a symbol.
    if (bits == ESCAPE_BITS) bits = raw_bits[STORED];
}

// Turns the blocks of the masks of a batch into rows. `owned`: columns << 8 | rows that the lane's tile owns;
// `by_columns`: planes of the lane's tile whose blocks are ordered by columns. The loops are not unrolled:
// the code runs once for a batch and must not drive the loop over symbols out of the instruction cache.
__device__ __forceinline__ void rows_of_blocks(
    const Job& job, u64 batch, u32 my_info, u32 masked, u32 owned, u32 by_columns) {
    const i32 lane = threadIdx.x & 31;
    u32* const masks = TileView(job).masks_of(batch) + lane;
    // Masks were written by atomics, so the L1 cache is bypassed. The next mask is loaded while this one is
    // turned.
    const u32 last = 2 * highest_bit(masked) + 1;
    u32 now = 2 * (__ffs(masked) - 1), coming = __ldcg(masks + TILE * now);
#pragma unroll 1
    while (now <= last) {
        const u32 t = now / 2, plane = now & 1, blocks = coming;
        u32* const to = masks + TILE * now;
        now = plane ? 2 * (__ffs(masked & ~0u << t << 1) - 1) : now + 1;
        if (now <= last) coming = __ldcg(masks + TILE * now);
        const u32 states = warp_or(mask_state_in(__shfl_sync(FULL, my_info, t))),
                  mine = __shfl_sync(FULL, owned, t), columns = warp_or(__shfl_sync(FULL, by_columns, t)),
                  state = plane ? fill_coverage(states) : zero_coverage(states);
        const u32 all = lane < (i32)(mine & 255) ? row_mask((i32)(mine >> 8)) : 0;
        u32 row = state == MASK_ALL ? all : 0;
        if (state == MASK_SOME) {
            row = row_of_blocks(blocks);
            if (columns >> plane & 1) row = transposed(row);
            row &= all;
        }
        *to = row;
    }
}

// Sizes of the mask lists of the lane's tile, which begin as zeros.
template <bool HUFFMAN>
__device__ __forceinline__ void read_mask_sizes(
    Decoder<HUFFMAN>& decoder, u32 my_info, bool exists, u32 (&sizes)[2]) {
#pragma unroll 1
    for (i32 plane = 0; plane < 2; plane++) {
        const bool here = exists && has_mask_list(mask_state_in(my_info), plane);
        const u32 coded = decoder.raw(here ? MASK_COUNT_BITS : 0);
        sizes[0] = sizes[1];
        sizes[1] = here ? size_of_coded(coded) : 0;
    }
}

// Decodes the masks of a batch. True if they are invalid.
template <bool HUFFMAN, typename Lists>
__device__ __forceinline__ bool decode_masks(
    const Job& job, Decoder<HUFFMAN>& decoder, Lists& lists, u64 batch, u32 my_info, bool exists) {
    const TileView work(job);
    const i32 lane = threadIdx.x & 31;
    // Columns << 8 | rows that the lane's tile owns.
    u32 owned = 0;
    if (exists) {
        const OwnedSize size(job, (u32)batch + lane);
        owned = size.x << 8 | size.y;
    }
    u32 sizes[2] = {0, 0};
    read_mask_sizes(decoder, my_info, exists, sizes);
    const u32 masked = warp_or(__ballot_sync(FULL, exists && mask_state_in(my_info) != 0));
    if (masked == 0) return false;
    for (u32 left = masked; left; left &= left - 1) {
        u32* const rows = work.masks_of(batch + __ffs(left) - 1);
        rows[lane] = rows[TILE + lane] = 0;
    }
    i32 entries;
    concatenate_masks(lists, sizes, entries);
    entries = (i32)warp_or((u32)entries);
    i32 current = 0, open = 0;
#pragma unroll 1
    for (i32 first = 0; first < entries; first += 32) {
        u32 begins;
        i32 list_end;
        const i32 list = list_of_entry(lists, first, current, begins, list_end);
        const bool active = first + lane < entries;
        const u32 name = active ? lists.names[list] : 0;
        const u64 index = batch + tile_of_mask(name);
        const i32 run = (i32)decoder.runs(decoder.place_of(active ? MASK_RUN : decoder.NO_TABLE));
        const i32 next = sum_in_list(active ? run + 1 : 0, begins, first == lists.starts[list] ? 0 : open),
                  number = next - 1;
        open = __shfl_sync(FULL, next, 31);
        // Columns << 8 | rows of the mask as it is coded.
        u32 mine = __shfl_sync(FULL, owned, tile_of_mask(name));
        if (name >> NAME_COLUMNS_BIT) mine = (mine & 255) << 8 | mine >> 8;
        u32 symbol = decoder.step(decoder.place_of(active ? MASK_BYTE : decoder.NO_TABLE));
        decoder.resolve_escape(symbol);
        // Block 8 c + q begins in column 2 c and row 4 q.
        const bool fits =
            symbol < 255 && (u32)(number >> 3) * 2 < mine >> 8 && (u32)(number & 7) * 4 < (mine & 255);
        if (warp_or(active && !fits)) return true;
        if (active)
            atomicOr(
                &work.mask_row(index, plane_of_mask(name), number & 31), symbol + 1 << 8 * (number >> 5));
    }
    __syncwarp();
    const u32 by_columns = is_by_columns(sizes[0]) | is_by_columns(sizes[1]) << 1;
    rows_of_blocks(job, batch, my_info, masked, owned, by_columns);
    __syncwarp();
    return false;
}

// Tiles of a group, as factz_parse packs them.
__device__ __forceinline__ void tiles_of_group(const Job& job, u64 group, u64& first, u64& end) {
    const GroupTiles tiles = {ParseView(job).group_sizes()[group]};
    first = warp_or(tiles.first());
    end = first + warp_or(tiles.tiles_less_one()) + 1;
}

// Tiles of a batch in which some vertices have no symbol.
__device__ __forceinline__ u32 masked_tiles(const Job& job, u64 batch, bool exists, u32 my_info) {
    bool complete = false;
    if (exists) {
        const OwnedSize size(job, (u32)batch + (threadIdx.x & 31));
        complete = mask_state_in(my_info) == 0 && size.x == TILE && size.y == TILE;
    }
    return warp_or(__ballot_sync(FULL, exists && has_codes(mask_state_in(my_info)) && !complete));
}

// Decodes the head of a batch: info words, sizes of sparse lists (coarse, middle << 8, fine << 16), masks.
// True if invalid.
template <bool HUFFMAN, typename Lists>
__device__ __forceinline__ bool read_head(const Job& job, Decoder<HUFFMAN>& decoder, Lists& lists, u64 batch,
    bool exists, u32& my_info, u32& counts) {
    const i32 lane = threadIdx.x & 31;
    my_info = counts = 0;
    // Mask states, then activities. Not unrolled, as in rows_of_blocks.
    bool bad = false, coded = exists;
#pragma unroll 1
    for (i32 k = -1; k < 3; k++) {
        const u32 table = k < 0 ? MASK_STATE : activity_table(my_info, k),
                  symbol = decoder.head_step(coded, table);
        bad |= __any_sync(FULL, symbol >= (k < 0 ? MASK_STATES : ACTIVITIES)) != 0;
        if (warp_or(bad)) return true;
        if (k >= 0) {
            my_info = with_activity(my_info, symbol, k);
        } else {
            my_info = info_of_mode(symbol);
            coded = exists && has_codes(mask_state_in(my_info));
        }
    }
#pragma unroll 1
    for (i32 k = 0; k < 3; k++) {
        const u32 activity = activity_in(my_info, k);
        counts |= decoder.raw(coded && is_sparse(activity) ? count_bits(k, activity) : 0) << 8 * k;
    }
    if (exists) TileView(job).headers()[batch + lane] = my_info;
    return decode_masks(job, decoder, lists, batch, my_info, exists);
}
