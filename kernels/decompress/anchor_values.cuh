// Values of the anchors, group by group: each follows the anchor of another tile. Twin of walk in
// src/predict/anchors.rs.
#pragma once
#include "decompress/vertex_values.cuh"
#include "entropy/groups/decode.cuh"
#include "grid/missing.cuh"
#include "predict/anchors.cuh"

// Shared memory of a warp: by tile of a group the difference of the coarse codes from those that the anchor
// follows, later the coarse codes; and which anchors have a code, a bit for each.
struct GroupAnchors {
    uint2 codes[MAX_GROUP_TILES];
    u32 coded[MAX_GROUP_TILES / 32];
};

// Coarse codes of a row of tiles, or of a part, from their differences and the coarse codes before the first
// one. Tiles `at` to at + count - 1 of the group, a lane each. Call with a warp.
__device__ __forceinline__ uint2 sum_row(GroupAnchors& shared, u32 at, u32 count, uint2 before) {
    const u32 lane = threadIdx.x & 31, tile = at + lane;
    const bool coded = lane < count && shared.coded[tile / 32] >> tile % 32 & 1;
    const uint2 own = coded ? shared.codes[tile] : make_uint2(0, 0);
    // Sums begin anew behind an anchor without a code.
    const u32 sum_u = warp_inclusive_sum(own.x), sum_v = warp_inclusive_sum(own.y),
              ends = ~__ballot_sync(FULL, coded) & ((2u << lane) - 1), end = ends ? highest_bit(ends) : 0;
    const u32 end_u = __shfl_sync(FULL, sum_u, end), end_v = __shfl_sync(FULL, sum_v, end);
    const uint2 sums = !coded ? make_uint2(0, 0)
                       : ends ? make_uint2(sum_u - end_u, sum_v - end_v)
                              : make_uint2(before.x + sum_u, before.y + sum_v);
    if (lane < count) shared.codes[tile] = sums;
    __syncwarp();
    return shared.codes[at + count - 1];
}

// Coarse codes of all anchors of a group from their differences and those of outer anchors. Call with a warp.
__device__ __forceinline__ void sum_group(
    const Job& job, GroupAnchors& shared, int4 codes, u64 first, u32 tiles) {
    const OuterAnchors outer(job, first, first + tiles);
    // A single column is a row here: its tiles follow each other.
    const u32 columns = (u32)(job.tiles_x > 1 ? job.tiles_x : job.tiles_y);
    const uint2 before_first = make_uint2((u32)codes.x, (u32)codes.y),
                first_of_row = outer.count == 2 ? make_uint2((u32)codes.z, (u32)codes.w) : before_first;
    uint2 before = before_first;
    for (u32 at = 0; at < tiles;) {
        const u32 column = ((u32)first + at) % columns, count = min(min(tiles - at, 32u), columns - column);
        if (at > 0 && column == 0) before = at >= columns ? shared.codes[at - columns] : first_of_row;
        before = sum_row(shared, at, count, before);
        at += count;
    }
}

// The symbol of an anchor, its refinement, and whether it has a code.
struct AnchorSymbol {
    u8 symbol, refinement;
    bool coded;
};

// Loads the anchors of a group, 32 at a time: all headers, then all symbols, then all raw bits, so that the
// loads of a kind do not wait for each other. `codes` are the differences of the coarse codes.
template <typename T, u32 EACH>
__device__ __forceinline__ void load_anchors(
    const Job& job, u64 first, u32 tiles, AnchorSymbol (&anchors)[EACH], uint2 (&codes)[EACH]) {
    const ReconstructView<T> work(job);
    const u32 lane = threadIdx.x & 31;
    u32 headers[EACH];
#pragma unroll
    for (u32 i = 0; i < EACH && 32 * i < tiles; i++)
        headers[i] = 32 * i + lane < tiles ? work.headers()[first + 32 * i + lane] : 0;
#pragma unroll
    for (u32 i = 0; i < EACH && 32 * i < tiles; i++) {
        const u64 index = first + 32 * i + lane;
        const u32 states = mask_state_byte(headers[i]);
        const bool hidden = states != 0 && TileView(job).hidden_row(index, 0) & 1;
        anchors[i] = {SYMBOL_ZERO, 0, 32 * i + lane < tiles && !hidden && has_codes(states)};
        if (anchors[i].coded && activity_in(headers[i], 0) != 0)
            anchors[i].symbol = work.symbols()[index * TILE_VERTICES];
    }
    u64 raw[EACH];
#pragma unroll
    for (u32 i = 0; i < EACH && 32 * i < tiles; i++) {
        anchors[i].coded = anchors[i].coded && anchors[i].symbol < STORED;
        raw[i] = 0;
        if (anchors[i].coded && anchors[i].symbol >= FIRST_WITH_RAW_BITS)
            raw[i] = Payload<T>::low(work.raw()[(first + 32 * i + lane) * TILE_VERTICES]);
    }
#pragma unroll
    for (u32 i = 0; i < EACH && 32 * i < tiles; i++) {
        Code code = {0, 0, 0};
        if (anchors[i].coded && anchors[i].symbol != SYMBOL_ZERO)
            code = decode_symbol(anchors[i].symbol, raw[i]);
        anchors[i].refinement = (u8)code.refinement;
        codes[i] = make_uint2((u32)code.qu, (u32)code.qv);
    }
}

// Writes the value of the anchor of a tile.
template <typename T>
__device__ __forceinline__ void write_anchor_value(
    const Job& job, const Control& control, u64 index, AnchorSymbol anchor, uint2 coarse) {
    const DecodeView<T> work(job);
    typename Real<T>::Pair value = Real<T>::pair(T(0), T(0));
    if (anchor.coded) {
        const i32 refinement = anchor.refinement;
        // Bypass L1: its lines may hold other anchors whose refinement bits were replaced since.
        const u32 refinement_bits = refinement ? (u32)Real<T>::bits(__ldcg(&work.anchors()[index].x)) : 0;
        const u32 mask = (1u << (2 * refinement)) - 1;
        const T w = (T)control.quantizer.width[ANCHOR_LEVEL][refinement];
        const i32 qu = join_code((i32)coarse.x, refinement_bits & mask, refinement);
        const i32 qv = join_code((i32)coarse.y, refinement_bits >> (2 * refinement) & mask, refinement);
        value = Real<T>::pair(T(0) + (T)qu * w, T(0) + (T)qv * w);
    } else if (anchor.symbol >= STORED) {
        const auto raw = work.raw()[index * TILE_VERTICES];
        const u64 low = Payload<T>::low(raw), high = sizeof(T) == 8 ? Payload<T>::second(raw) : 0;
        if (anchor.symbol > STORED) {
            value = add_differences<T>(anchor.symbol, low, high, value);
        } else {
            const T a = Real<T>::from_bits(low), b = Real<T>::from_bits(Payload<T>::second(raw));
            if (!is_missing(a, b, control.fill_bits)) value = Real<T>::pair(a, b);
        }
    }
    work.anchors()[index] = value;
}

// Values of the anchors of a group. Call with a warp.
template <typename T>
__device__ __forceinline__ void anchors_of_group(
    const Job& job, const Control& control, GroupAnchors& shared, u64 group) {
    constexpr u32 EACH = MAX_GROUP_TILES / 32;
    const u32 lane = threadIdx.x & 31;
    const int4 outer = OuterAnchorsView(job).codes()[group];
    u64 first, end;
    tiles_of_group(job, group, first, end);
    const u32 tiles = (u32)(end - first);
    AnchorSymbol anchors[EACH];
    uint2 codes[EACH];
    load_anchors<T>(job, first, tiles, anchors, codes);
#pragma unroll
    for (u32 i = 0; i < EACH && 32 * i < tiles; i++) {
        shared.codes[32 * i + lane] = codes[i];
        const u32 coded = __ballot_sync(FULL, anchors[i].coded);
        if (lane == 0) shared.coded[i] = coded;
    }
    __syncwarp();
    sum_group(job, shared, outer, first, tiles);
#pragma unroll
    for (u32 i = 0; i < EACH && 32 * i < tiles; i++) {
        const u32 tile = 32 * i + lane;
        if (tile < tiles) write_anchor_value<T>(job, control, first + tile, anchors[i], shared.codes[tile]);
    }
    __syncwarp();
}

// Grid: any. Block: 32 * ANCHOR_WARPS threads, a warp per group. Static shared: GroupAnchors. Values of the
// anchors. Reads: info, symbols, payload, masks, coarse codes of outer anchors. Writes: anchors. Waits for:
// the previous kernel.
template <typename T>
__device__ __forceinline__ void anchor_values(const Job& job) {
    __shared__ GroupAnchors shared[ANCHOR_WARPS];
    const Control& control = control_of(job);
    if (is_lorenzo_as_expected(job, control)) return pass_over();
    after_previous();
    if (!is_coded_by(control, PREDICTOR_HIERARCHICAL)) return;
    const u32 warp = warp_or(threadIdx.x >> 5);
    for (u64 group = control.first_group + (u64)blockIdx.x * ANCHOR_WARPS + warp; group < control.end_group;
         group += (u64)gridDim.x * ANCHOR_WARPS)
        anchors_of_group<T>(job, control, shared[warp], group & job.group_mask);
}
