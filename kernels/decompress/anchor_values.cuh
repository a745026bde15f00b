// Values of the anchors, by a scan over their coarse codes.
#pragma once
#include "decompress/vertex_values.cuh"
#include "grid/missing.cuh"
#include "predict/anchor_scan.cuh"
#include "predict/anchors.cuh"

// Coarse code difference of a tile's anchor. False if the anchor has no code.
template <typename T>
__device__ __forceinline__ bool anchor_code(const Job& job, u64 index, Code& code, u32& symbol) {
    const ReconstructView<T> work(job);
    const u32 info = work.headers()[index], mask_state = mask_state_byte(info);
    code = {0, 0, 0};
    symbol = SYMBOL_ZERO;
    if (mask_state != 0 && (TileView(job).hidden_row(index, 0) & 1)) return false;
    if (!has_codes(mask_state)) return false;
    if (activity_in(info, 0) == 0) return true;
    symbol = work.symbols()[index * TILE_VERTICES];
    if (symbol >= STORED) return false;
    typedef typename Payload<T>::Type P;
    u64 raw = 0;
    if (symbol_raw_bits(symbol)) raw = Payload<T>::low(work.raw()[index * TILE_VERTICES]);
    code = decode_symbol(symbol, raw);
    return true;
}

// Grid: one block per ANCHOR_CHUNK tiles. Block: ANCHOR_THREADS threads. Static shared: AnchorSums. Values of
// the anchors, by a scan over their code differences. Reads: info, symbols, payload, masks. Writes: anchors.
// Waits for: the previous kernel.
template <typename T>
__device__ __forceinline__ void anchor_values(const Job& job) {
    const DecodeView<T> work(job);
    typedef typename Real<T>::Pair P;
    typedef typename Payload<T>::Type Q;
    __shared__ AnchorSums shared;
    Control& control = control_of(job);
    if (is_lorenzo_as_expected(job, control)) return pass_over();
    after_previous();
    if (!is_coded_by(control, PREDICTOR_HIERARCHICAL)) return;
    if (threadIdx.x == 0) shared.chunk = atomicAdd(&control.tickets[TICKET_ANCHORS], 1u);
    __syncthreads();
    const u32 chunk = shared.chunk;
    const u64 first = (u64)chunk * ANCHOR_CHUNK + threadIdx.x * ANCHORS_EACH;
    uint2 sums[ANCHORS_EACH];
    u32 refinements[ANCHORS_EACH], symbols[ANCHORS_EACH];
    bool has[ANCHORS_EACH];
#pragma unroll
    for (u32 i = 0; i < ANCHORS_EACH; i++) {
        Code code = {0, 0, 0};
        symbols[i] = SYMBOL_ZERO;
        has[i] = first + i < job.tiles() && anchor_code<T>(job, first + i, code, symbols[i]);
        sums[i] = has[i] ? make_uint2((u32)code.qu, (u32)code.qv) : make_uint2(0, 0);
        refinements[i] = (u32)code.refinement;
    }
    sum_coarse_codes(job, shared, chunk, sums);
#pragma unroll
    for (u32 i = 0; i < ANCHORS_EACH; i++) {
        const u64 index = first + i;
        if (index >= job.tiles()) continue;
        P value = Real<T>::pair(T(0), T(0));
        if (has[i]) {
            const i32 refinement = (i32)refinements[i];
            // Bypass L1: its lines may hold other anchors whose refinement bits were replaced since.
            const u32 refinement_bits = refinement ? (u32)Real<T>::bits(__ldcg(&work.anchors()[index].x)) : 0;
            const u32 mask = (1u << (2 * refinement)) - 1;
            const T w = (T)control.quantizer.width[ANCHOR_LEVEL][refinement];
            const i32 qu = join_code((i32)sums[i].x, refinement_bits & mask, refinement);
            const i32 qv = join_code((i32)sums[i].y, refinement_bits >> (2 * refinement) & mask, refinement);
            value = Real<T>::pair(T(0) + (T)qu * w, T(0) + (T)qv * w);
        } else if (symbols[i] == STORED) {
            const Q raw = work.raw()[index * TILE_VERTICES];
            const T a = Real<T>::from_bits(Payload<T>::low(raw)),
                    b = Real<T>::from_bits(Payload<T>::second(raw));
            if (!is_missing(a, b, control.fill_bits)) value = Real<T>::pair(a, b);
        } else if (symbols[i] > STORED) {
            const Q raw = work.raw()[index * TILE_VERTICES];
            value = add_differences<T>(
                symbols[i], Payload<T>::low(raw), sizeof(T) == 8 ? Payload<T>::second(raw) : 0, value);
        }
        work.anchors()[index] = value;
    }
}
