// Decodes groups of the Lorenzo predictor to symbols, a warp per group. Twin of
// src/entropy/groups/lorenzo.rs.
#pragma once
#include "decompress/status.cuh"
#include "entropy/groups/decode.cuh"
#include "entropy/groups/lorenzo.cuh"
#include "entropy/symbols.cuh"

// Shared memory of a warp: masks of a batch, then rows of a tile.
struct DecodeRows {
    union {
        alignas(16) u8 rows[TILE][STAGED_ROW];
        struct {
            u16 starts[2 * BATCH + 32];
            u16 names[2 * BATCH];
        } masks;
    };
    GroupWords words;
};

template <typename T, bool HUFFMAN>
struct RowDecoder {
    typedef typename Payload<T>::Type P;
    const Job& job;
    const u8* const raw_bits;
    DecodeRows& shared;
    Decoder<HUFFMAN>& decoder;
    u32 exact;  // stored values
    bool bad;   // the group is invalid

    // Decodes the head of a batch: info words and masks.
    __device__ __forceinline__ u32 read_head(u64 batch, bool exists) {
        const DecodeView<T> work(job);
        const i32 lane = threadIdx.x & 31;
        const u32 mode = decoder.head_step(exists, MASK_STATE);
        bad |= warp_or(mode >= MASK_STATES * BOUND_SHIFTS) != 0;
        u32 info = info_of_mode(mode);
        const bool coded = exists && !bad && has_codes(mask_state_in(info));
        const u32 activity = decoder.head_step(coded, TILE_ACTIVITY);
        bad |= warp_or(activity >= ROW_ACTIVITIES) != 0;
        if (bad) return 0;
        info = with_activity(info, activity, 0);
        if (exists) work.headers()[batch + lane] = info, work.steps()[batch + lane] = activity ? FULL : 0;
        __syncwarp();
        bad = decode_masks(job, decoder, shared.masks, batch, info, exists);
        return activity ? info : 0;
    }
    // Decodes raw bits into the payload.
    __device__ __forceinline__ u32 read_raw(u32 symbol, u64 vertex) {
        u64 low = 0, high = 0;
        u32 bits = raw_bits[symbol];
        if (!__any_sync(FULL, bits > 16)) {
            low = decoder.raw(bits);
        } else {
            resolve_escapes(decoder, raw_bits, symbol, bits);
            symbol = known(symbol);
            if (sizeof(T) == 4) bad |= __any_sync(FULL, bits > 64);
            decoder.long_raw(bits, low, high);
        }
        if (bits) {
            exact += symbol >= STORED && is_taken(job, vertex / TILE_VERTICES);
            DecodeView<T>(job).raw()[vertex] = Payload<T>::make(low, high);
        }
        return symbol;
    }
    // Decodes a tile of activity > 0.
    __device__ __forceinline__ void read_tile(u64 tile, u32 info) {
        const DecodeView<T> work(job);
        const i32 lane = threadIdx.x & 31;
        const u32 activity = activity_in(info, 0), nothing = decoder.place_of(TABLES);
        const OwnedSize size(job, (u32)tile);
        const u32 active = active_in_row(job, size, tile, mask_state_in(info));
        u32 left;
        if (activity == FULL_ACTIVITY) {
            left = active;
        } else {
            u32 coded = row_mask((i32)size.y);
            if (activity <= LAST_SPARSE_TILE) {
                u32 byte = decoder.step(lane < (i32)(size.y + 7) / 8 ? decoder.place_of(ROW_BYTE) : nothing);
                decoder.resolve_escape(byte);
                const u32 any = warp_or(lane < TILE / 8 ? byte << 8 * lane : 0);
                bad |= (any & ~coded) != 0;
                coded &= any;
            }
            const u32 table = coded >> lane & 1 ? decoder.place_of(pattern_table(activity)) : nothing;
            const i32 bytes = (i32)(size.x + 7) / 8;
            u32 pattern = 0;
#pragma unroll 1
            for (i32 k = 0; k < bytes; k++) {
                u32 byte = decoder.step(table);
                decoder.resolve_escape(byte);
                pattern |= byte << 8 * k;
            }
            bad |= __any_sync(FULL, pattern & ~active);
            left = pattern & active;
        }
        u8* const row = shared.rows[lane];
#pragma unroll
        for (i32 k = 0; k < TILE / 4; k++) reinterpret_cast<u32*>(row)[k] = 0;
        const u32 table = decoder.place_of(row_table(activity)), steps = warp_max(__popc(left));
        const u64 first = tile * TILE_VERTICES + TILE * lane;
        // The first vertex of a tile has its own table.
        u32 here = lane == 0 && left & 1 ? decoder.place_of(ANCHOR_TABLE) : table;
#pragma unroll 1
        for (u32 step = 0; step < steps; step++) {
            const bool some = left != 0;
            const u32 x = __ffs(left) - 1;
            left &= left - 1;
            u32 symbol = decoder.step(some ? here : nothing);
            here = table;
            if (__any_sync(FULL, symbol >= FIRST_WITH_RAW_BITS)) symbol = read_raw(symbol, first + x);
            if (some) row[x] = (u8)symbol;
        }
        uint4* const to = words_at<uint4>(work.symbols() + first);
        u32 words[TILE / 4];
#pragma unroll
        for (i32 k = 0; k < TILE / 4; k++) words[k] = reinterpret_cast<const u32*>(row)[k];
        to[0] = make_uint4(words[0], words[1], words[2], words[3]);
        to[1] = make_uint4(words[4], words[5], words[6], words[7]);
    }
};

// Decodes a group. True if it is invalid.
template <typename T, bool HUFFMAN>
__device__ __forceinline__ bool decode_lorenzo_group(
    const Job& job, const DecodeTables<HUFFMAN>& tables, DecodeRows& shared, u64 group, u32& exact) {
    const i32 lane = threadIdx.x & 31;
    u64 first, end;
    tiles_of_group(job, group, first, end);
    Decoder<HUFFMAN> decoder;
    const bool good = decoder.open(job, tables, shared.words, group);
    RowDecoder<T, HUFFMAN> reader = {job, tables.raw_bits[0], shared, decoder, 0, !good};
    for (u64 batch = first; batch < end && !reader.bad; batch += BATCH) {
        const bool exists = batch + lane < end;
        const u32 info = reader.read_head(batch, exists);
        if (reader.bad) break;
        __syncwarp();
        for (u32 left = warp_or(__ballot_sync(FULL, info != 0)); left && !reader.bad; left &= left - 1) {
            const i32 t = __ffs(left) - 1;
            reader.read_tile(batch + t, warp_or(__shfl_sync(FULL, info, t)));
        }
        __syncwarp();
    }
    exact = reader.exact;
    return reader.bad || !decoder.is_at_end();
}
