// Values of vertices from their symbols, for the hierarchical predictor.
#pragma once
#include "decompress/status.cuh"
#include "entropy/differences.cuh"
#include "entropy/payload.cuh"
#include "tile/lattice.cuh"

// Tables for reconstruction, in the control block behind Control.
template <typename T>
struct ReconstructTables {
    typename Real<T>::Pair small[ANCHOR_LEVEL][32];  // residuals of small symbols
    T width[ANCHOR_LEVEL][16];                       // by refinement
    u32 meanings[256];  // of symbols with raw bits: refinement, bits of u << 8, bits of v << 16, wide << 24
    u64 fill_bits;      // the fill value, or a NaN
};
constexpr u64 RECONSTRUCT_TABLES_AT = 8192;
static_assert(sizeof(Control) <= RECONSTRUCT_TABLES_AT &&
                  RECONSTRUCT_TABLES_AT + sizeof(ReconstructTables<double>) <= CONTROL_BYTES,
    "the tables have their place");
template <typename T>
__device__ __forceinline__ ReconstructTables<T>& reconstruct_tables(const Job& job) {
    return *ReconstructView<T>(job).tables(RECONSTRUCT_TABLES_AT);
}

// Call with a block.
template <typename T>
__device__ __forceinline__ void make_reconstruct_tables(const Job& job, const Control& control) {
    ReconstructTables<T>& tables = reconstruct_tables<T>(job);
    for (u32 k = threadIdx.x; k < ANCHOR_LEVEL * 32; k += blockDim.x) {
        const Code code = decode_small(k % 32);
        const T width = (T)control.quantizer.width[k / 32][0];
        if (k % 32 < FIRST_WITH_RAW_BITS)
            tables.small[k / 32][k % 32] = Real<T>::pair((T)code.qu * width, (T)code.qv * width);
    }
    for (u32 k = threadIdx.x; k < ANCHOR_LEVEL * REFINEMENTS; k += blockDim.x)
        tables.width[k / REFINEMENTS][k % REFINEMENTS] =
            (T)control.quantizer.width[k / REFINEMENTS][k % REFINEMENTS];
    if (threadIdx.x == 0) tables.fill_bits = control.fill_bits;
    for (u32 k = threadIdx.x; k < 256; k += blockDim.x) {
        const Meaning m = meaning(k);
        tables.meanings[k] = m.refinement | m.ku << 8 | m.kv << 16 | (m.wide ? 1u << 24 : 0);
    }
}

// Per half warp: a stored vertex is missing.
__shared__ u8 stored_missing[2 * RECONSTRUCT_WARPS];

// Value of a vertex with raw bits, or of a hidden one. A missing vertex counts as zero and is noted.
constexpr u32 HIDDEN = 255;
template <typename T, typename P = typename Real<T>::Pair>
__device__ __noinline__ P value_of_raw(const typename Payload<T>::Type* payload,
    const ReconstructTables<T>* tables, u32 symbol, P prediction, i32 level) {
    if (symbol == HIDDEN) return Real<T>::pair(T(0), T(0));
    const auto payload_here = *payload;
    const u64 raw = Payload<T>::low(payload_here);
    if (symbol > STORED)
        return add_differences<T>(
            symbol, raw, sizeof(T) == 8 ? Payload<T>::second(payload_here) : 0, prediction);
    if (symbol == STORED) {
        const T a = Real<T>::from_bits(raw), b = Real<T>::from_bits(Payload<T>::second(payload_here));
        if (!is_missing(a, b, tables->fill_bits)) return Real<T>::pair(a, b);
        stored_missing[threadIdx.x / HALF] = 1;
        return Real<T>::pair(T(0), T(0));
    }
    // As decode_symbol.
    const u32 m = tables->meanings[symbol], ku = m >> 8 & 255, kv = m >> 16 & 255, wide = m >> 24;
    const T width = tables->width[level][m & 255];
    const u32 u = (u32)raw & (((1u << wide) << ku) - 1),
              v = (u32)(raw >> (ku + wide)) & (((1u << wide) << kv) - 1);
    i32 qu, qv;
    if (wide) {
        qu = (i32)(u - (1u << ku));
        qv = (i32)(v - (1u << kv));
    } else {
        const u32 top_u = (1u << ku) >> 1, top_v = (1u << kv) >> 1;
        qu = u & top_u ? -(i32)u : (i32)(u | top_u);
        qv = v & top_v ? -(i32)v : (i32)(v | top_v);
    }
    return Real<T>::pair(prediction.x + (T)qu * width, prediction.y + (T)qv * width);
}

// Value of a vertex as predictions see it.
template <typename T, typename P = typename Real<T>::Pair>
__device__ __forceinline__ P value_of(const ReconstructTables<T>& tables,
    const typename Payload<T>::Type* payload, u32 symbol, P prediction, i32 level) {
    if (symbol >= FIRST_WITH_RAW_BITS) return value_of_raw<T>(payload, &tables, symbol, prediction, level);
    const P residual = tables.small[level][symbol];
    return Real<T>::pair(prediction.x + residual.x, prediction.y + residual.y);
}

// True if half a warp can reconstruct the tile: its closed block lies in the grid, and it has codes.
__device__ __forceinline__ bool is_paired(const Job& job, u64 index, u32 info) {
    const TileShape shape = wide_tile_shape(job, index);
    return shape.last_x == TILE && shape.last_y == TILE && has_codes(info & 255);
}
