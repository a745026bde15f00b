// Reads the chunks of a group: from states to symbols, runs and raw bits. Twin of
// src/entropy/groups/decode.rs.
#pragma once
#include "decompress/decode_group.cuh"
#include "entropy/groups/outer.cuh"
#include "predict/anchors.cuh"

// Reads the raw bits of the lanes' symbols, if any has some. Resolves escapes.
template <bool HUFFMAN>
__device__ __forceinline__ void read_raw(
    Decoder<HUFFMAN>& decoder, const u8* raw_bits, u32& symbol, u64* raw) {
    u32 bits = raw_bits[symbol];
    if (!__any_sync(FULL, bits > 0)) return;
    if (!__any_sync(FULL, bits > 16)) {
        raw[0] = decoder.raw(bits);
        return;
    }
    resolve_escapes(decoder, raw_bits, symbol, bits);
    u64 low, high;
    decoder.long_raw(bits, low, high);
    raw[0] = low;
    raw[32] = high;
}

// Reads a chunk whose plans have some symbol, into what is found in `slot`. `kinds`: the plans of all lanes
// or-ed.
template <bool HUFFMAN>
__device__ __forceinline__ void read_chunk(Decoder<HUFFMAN>& decoder, const DecodeTables<HUFFMAN>& all,
    DecodeGroup& shared, u32 plan, u32 kinds, u32 slot) {
    const i32 lane = threadIdx.x & 31;
    u32 run = 0;
    if (kinds & PLAN_LISTED) run = decoder.runs(decoder.place_of(run_table_of_plan(plan))) << 8;
    u32 symbol = decoder.step(decoder.place_of(table_of_plan(plan)));
    read_raw(decoder, all.raw_bits[position_of_plan(plan) == 0 ? 1 : 0], symbol, &shared.raw[slot][0][lane]);
    shared.found[slot][lane] = symbol | run;
}

// Reads a group. True if it is invalid.
template <bool HUFFMAN>
__device__ __forceinline__ bool read_chunks(const Job& job, const DecodeTables<HUFFMAN>& all,
    DecodeGroup& shared, i32 number, u64 group, u64 first, u64 end) {
    const i32 lane = threadIdx.x & 31;
    Decoder<HUFFMAN> decoder;
    bool bad = !decoder.open(job, all, shared.words, group);
    i32 outer = 0;
    if (!bad) outer = decode_outer(decoder, OuterAnchors(job, first, end).count);
    if (lane < 4) reinterpret_cast<i32*>(OuterAnchorsView(job).codes() + group)[lane] = outer;
    for (u64 batch = first; batch < end; batch += BATCH) {
        u32 my_info = 0, counts = 0;
        if (!bad) bad = read_head(job, decoder, shared.lists, batch, batch + lane < end, my_info, counts);
        shared.tiles.infos[lane] = my_info;
        shared.tiles.counts[lane] = counts;
        if (lane == 0) shared.reader_bad = bad;
        meet<DECODE_ROLES>(number);
        if (warp_or(shared.reader_bad | shared.placer_bad)) {
            meet<DECODE_ROLES>(number);
            return bad;
        }
        meet<DECODE_ROLES>(number);
        const i32 entries = (i32)warp_or(shared.entries);
        u32 next_plan = shared.plans[0][lane], next_kinds = warp_or(next_plan);
#pragma unroll 1
        for (i32 from = 0; from < entries; from += 32) {
            const u32 plan = next_plan, kinds = next_kinds, slot = from >> 5 & 1;
            next_plan = shared.plans[(from + 32) >> 5 & 3][lane];
            if (kinds & PLAN_ACTIVE)
                read_chunk(decoder, all, shared, plan, kinds, slot);
            else
                shared.found[slot][lane] = SYMBOL_ZERO;
            next_kinds = warp_or(next_plan);
            meet<DECODE_ROLES>(number);
        }
        meet<DECODE_ROLES>(number);
    }
    return bad || !decoder.is_at_end();
}
