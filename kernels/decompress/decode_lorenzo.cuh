// Groups of streams of the Lorenzo predictor to symbols, a warp for each: there are many groups. Twin:
// src/entropy/groups/lorenzo.rs.
#pragma once
#include "decompress/parse.cuh"
#include "entropy/groups/decode.cuh"
#include "entropy/groups/lorenzo.cuh"

// What a warp knows of the tiles that it decodes: the masks of a batch, and then the rows of one tile.
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
    bool bad;   // whether there was what no encoder writes

    // What comes before the rows of a batch: info words, masks.
    __device__ __forceinline__ u32 read_head(u64 batch, bool exists) {
        const DecodeView<T> work(job);
        const i32 lane = threadIdx.x & 31;
        const u32 mode = decoder.head_step(exists, TILE_MODE);
        bad |= warp_or(mode >= 9 * TIERS) != 0;
        u32 info = info_of_mode(mode);
        const bool coded = exists && !bad && has_codes(mode_in(info));
        const u32 cls = decoder.head_step(coded, TILE_CLASS);
        bad |= warp_or(cls >= TILE_CLASSES) != 0;
        if (bad) return 0;
        info |= cls << 8;
        u32 counts[2];
#pragma unroll
        for (i32 plane = 0; plane < 2; plane++)
            counts[plane] = decoder.raw(exists && has_mask_list(mode_in(info), plane) ? MASK_COUNT_BITS : 0);
        if (exists) work.headers()[batch + lane] = info, work.steps()[batch + lane] = cls ? FULL : 0;
        __syncwarp();
        bad = decode_masks(job, decoder, shared.masks, batch, info, exists, counts);
        return cls ? info : 0;
    }
    // Raw bits behind symbols, to their places.
    __device__ __forceinline__ u32 read_raw(u32 symbol, u64 vertex) {
        u64 low = 0, high = 0;
        u32 bits = raw_bits[symbol];
        if (!__any_sync(FULL, bits > 16)) {
            low = decoder.raw(bits);
        } else {
            if (__any_sync(FULL, symbol == ESCAPE)) {
                decoder.resolve_escape(symbol);
                bits = raw_bits[symbol];
                // An escape that stands for itself is no symbol.
                if (bits == ESCAPE_BITS) bits = raw_bits[STORED];
            }
            if (symbol > STORED) symbol = STORED;
            if (sizeof(T) == 4) bad |= __any_sync(FULL, bits > 64);
            decoder.long_raw(bits, low, high);
        }
        if (bits) {
            exact += symbol == STORED;
            DecodeView<T>(job).raw()[vertex] = Payload<T>::make(low, high);
        }
        return symbol;
    }
    // The rows of a tile of a class above 0.
    __device__ __forceinline__ void read_tile(u64 tile, u32 info) {
        const DecodeView<T> work(job);
        const i32 lane = threadIdx.x & 31;
        const u32 cls = class_in(info, 0), nothing = decoder.place_of(TABLES);
        const TileShape shape = tile_shape(job, tile);
        u32 active = lane < shape.owned_y() ? row_mask(shape.owned_x()) : 0, left;
        if (mode_in(info) != 0)
            active &= ~(work.masks()[tile * 64 + lane] | work.masks()[tile * 64 + TILE + lane]);
        if (cls == DENSE_CLASS) {
            left = active;
        } else {
            u32 coded = row_mask(shape.owned_y());
            if (cls <= LAST_SPARSE_TILE) {
                u32 byte =
                    decoder.step(lane < (shape.owned_y() + 7) / 8 ? decoder.place_of(ROW_BYTE) : nothing);
                decoder.move_on();
                decoder.resolve_escape(byte);
                const u32 any = warp_or(lane < TILE / 8 ? byte << 8 * lane : 0);
                bad |= (any & ~coded) != 0;
                coded &= any;
            }
            const u32 table = coded >> lane & 1 ? decoder.place_of(pattern_table(cls)) : nothing;
            const i32 bytes = (shape.owned_x() + 7) / 8;
            u32 pattern = 0;
#pragma unroll 1
            for (i32 k = 0; k < bytes; k++) {
                u32 byte = decoder.step(table);
                decoder.move_on();
                decoder.resolve_escape(byte);
                pattern |= byte << 8 * k;
            }
            bad |= __any_sync(FULL, pattern & ~active);
            left = pattern & active;
        }
        u8* const row = shared.rows[lane];
#pragma unroll
        for (i32 k = 0; k < TILE / 4; k++) reinterpret_cast<u32*>(row)[k] = 0;
        const u32 table = decoder.place_of(row_table(cls)), steps = warp_max(__popc(left));
        const u64 first = tile * TILE_VERTICES + TILE * lane;
        // The first vertex of a tile has a table of its own.
        u32 here = lane == 0 && left & 1 ? decoder.place_of(ANCHOR_TABLE) : table;
#pragma unroll 1
        for (u32 step = 0; step < steps; step++) {
            const bool some = left != 0;
            const u32 x = __ffs(left) - 1;
            left &= left - 1;
            u32 symbol = decoder.step(some ? here : nothing);
            decoder.move_on();
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

// A group. Whether it is bad.
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
