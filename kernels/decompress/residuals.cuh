// Residuals of vertices from their symbols, for the hierarchical predictor.
#pragma once
#include "decompress/readings.cuh"
#include "decompress/status.cuh"
#include "entropy/payload.cuh"
#include "predict/quantizer.cuh"

// Residuals of symbols without raw bits, by level and symbol; zeros behind them.
constexpr u32 SMALL_RESIDUALS = 32;
template <typename T>
struct SmallResiduals {
    typename Real<T>::Pair values[ANCHOR_LEVEL * SMALL_RESIDUALS];
    __device__ __forceinline__ const typename Real<T>::Pair* at(i32 level) const {
        return values + level * (i32)SMALL_RESIDUALS;
    }
};

// Tables in the control block behind Control. factz_parse makes them.
template <typename T>
struct ReconstructTables {
    SmallResiduals<T> small;
    T width[ANCHOR_LEVEL][16];  // by refinement
    u32 readings[ALPHABET];     // as READINGS
    u64 fill_bits;              // the fill value, or a NaN
};
constexpr u64 RECONSTRUCT_TABLES_AT = 8192;
static_assert(sizeof(Control) <= RECONSTRUCT_TABLES_AT &&
                  RECONSTRUCT_TABLES_AT + sizeof(ReconstructTables<double>) <= CONTROL_BYTES,
    "the tables have their place");
template <typename T>
__device__ __forceinline__ ReconstructTables<T>& reconstruct_tables(const Job& job) {
    return *ReconstructView<T>(job).tables(RECONSTRUCT_TABLES_AT);
}

// Call with some threads, from `first` on.
template <typename T>
__device__ __forceinline__ void make_residual_tables(
    const Job& job, double half_bin_width, u32 level_bound_scaling, u32 first, u32 threads) {
    ReconstructTables<T>& tables = reconstruct_tables<T>(job);
    for (u32 k = threadIdx.x - first; k < ALPHABET; k += threads) tables.readings[k] = READINGS.at[k];
    for (u32 k = threadIdx.x - first; k < ANCHOR_LEVEL * SMALL_RESIDUALS; k += threads) {
        const i32 level = (i32)(k / SMALL_RESIDUALS), number = (i32)(k % SMALL_RESIDUALS);
        double width, inverse;
        quantizer_entry<T>(
            half_bin_width, level_bound_scaling, level, number < REFINEMENTS ? number : 0, width, inverse);
        if (number < REFINEMENTS) tables.width[level][number] = (T)width;
        quantizer_entry<T>(half_bin_width, level_bound_scaling, level, 0, width, inverse);
        const Code code = decode_small(number < (i32)FIRST_WITH_RAW_BITS ? number : SYMBOL_ZERO);
        tables.small.values[k] = Real<T>::pair((T)code.qu * (T)width, (T)code.qv * (T)width);
    }
}

// Level of a vertex that is not an anchor, from its position.
__device__ __forceinline__ u32 level_of(u32 position) {
    return ANCHOR_LEVEL - 1 - highest_bit(position | 1) / 2;
}

// The payload of a vertex that is not an anchor and has a code, from its raw bits: both components of its
// residual.
template <typename T>
__device__ __forceinline__ typename Payload<T>::Type residual_payload(
    const ReconstructTables<T>& tables, u32 symbol, u32 position, u64 raw) {
    // The loads of the width and of the reading are independent, so that their latencies overlap.
    const T width = tables.width[level_of(position)][refinement_of(symbol)];
    const Components code = components(tables.readings[symbol], raw);
    return Payload<T>::of_pair(Real<T>::bits((T)(i32)code.u * width), Real<T>::bits((T)(i32)code.v * width));
}
