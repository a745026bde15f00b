// Codes one vertex of an interior or border tile, with bin widths in shared memory, and writes its symbol.
// tile/encode.cuh codes anchors and lattice lines, few vertices, and compares signatures.
#pragma once
#include "compress/bounds/vertex_bounds.cuh"
#include "entropy/differences.cuh"
#include "predict/quantizer.cuh"

// A vertex whose symbol is written: decoded value, error, cost in bits, plus ONE_STORED if stored.
template <typename T>
struct WrittenVertex {
    typename Real<T>::Pair value;
    T error;
    u32 cost;
};
constexpr u32 ONE_STORED = 1 << 20;

// Quantizer of a level, converted to T.
template <typename T>
struct alignas(16) Level {
    typename Real<T>::Pair step[REFINEMENTS];  // bin width and reciprocal
    typename Real<T>::Signed half_width;  // bits of half the first width if all others follow from it, else 0
    T half_step;                          // smaller residuals have code 0 in spite of rounding
    Acceptance<T> accept;                 // the same on all levels
};

// Quantizer and interpolants in shared memory, where they need no registers.
template <typename T>
struct Steps {
    Level<T> level[LEVELS];
    bool lossless;  // zeros keep their signs
    u32 interpolants[5];

    __device__ __forceinline__ Acceptance<T> accept() const { return level[0].accept; }
    // Call with a block.
    __device__ __forceinline__ void read(const Job& job, const Control& control) {
        typedef Real<T> R;
        for (i32 k = threadIdx.x; k < LEVELS * REFINEMENTS; k += blockDim.x)
            level[k / REFINEMENTS].step[k % REFINEMENTS] =
                R::pair((T)control.quantizer.width[k / REFINEMENTS][k % REFINEMENTS],
                    (T)control.quantizer.inverse[k / REFINEMENTS][k % REFINEMENTS]);
        if (threadIdx.x < LEVELS) {
            Level<T>& own = level[threadIdx.x];
            const T width = (T)control.quantizer.width[threadIdx.x][0],
                    last = (T)control.quantizer.width[threadIdx.x][REFINEMENTS - 1];
            const T accepted = (T)control.quantizer.accept;
            // 0 if predictions may overflow, because comparisons with it may not see a NaN.
            own.half_step =
                control.largest < (double)(T(0.0625) * R::MAX) ? R::low(T(0.49) * width, accepted) : T(0);
            own.accept = acceptance_of<T>(control.quantizer);
            // True if each width is a quarter of the one before, i.e. not too small, and differences fit a
            // word.
            const bool follow =
                R::bits(last) >> R::MANTISSA >= 2 && R::bits(width) < R::bits(T(0.25) * R::MAX);
            own.half_width = follow ? (typename R::Signed)R::bits(T(0.5) * width) : 0;
        }
        if (threadIdx.x < 5) interpolants[threadIdx.x] = control.interpolants[threadIdx.x];
        if (threadIdx.x == 5) lossless = is_lossless(control);
        __syncthreads();
    }
};

// refinement_after_first, computed from exponents where that is possible.
template <typename T>
__device__ __forceinline__ i32 second_try(const Level<T>& level, T vertex_bound) {
    typedef Real<T> R;
    typedef typename R::Signed Signed;
    const Signed half = level.half_width;
    if (half != 0) {
        const Signed above =
            (half - (Signed)R::bits(vertex_bound) + ((Signed)2 << R::MANTISSA) - 1) >> (R::MANTISSA + 1);
        return (i32)min(max(above - 1, (Signed)1), (Signed)(REFINEMENTS - 1));
    }
    return refinement_after_first<T>(vertex_bound, [&](i32 k) { return level.step[k].x; });
}

// Where a tile's symbols and payload go.
struct alignas(16) TileOutput {
    u8* symbols;
    u64* payload;
};

// Codes a vertex with the first refinement that keeps accuracy and bound; skips the same refinements as the
// twin. Writes symbol and raw bits at `position` unless it is negative. Not inlined: copies of the code would
// not fit the instruction cache.
template <typename T, typename P = typename Real<T>::Pair>
__device__ __noinline__ WrittenVertex<T> code_vertex_of(P original, P prediction, T vertex_bound,
    i32 position, InShared<Level<T>> at_level, InShared<TileOutput> at_output) {
    typedef Real<T> R;
    const Level<T>& level = at_level.get();
    const T limit = level.accept.limit(vertex_bound);
    const i32 second = second_try<T>(level, vertex_bound);
    // With code 0 the error is the residual.
    const T residual = distance<T>(original, prediction);
    const bool skips = residual < level.half_step && !(residual < limit);
    Attempt<T> found;
    const i32 refinement = first_allowed<T>(skips ? second : 0, skips ? second + 1 : second, limit, found,
        [&](i32 k) { return attempt<T>(original, prediction, level.step[k]); });
    // Here lanes run together again, however long each has searched.
    if (refinement != EXACT) {
        const P value = found.value, codes = found.codes();
        const T error = found.error;
        const TileOutput places = at_output.get();
        const i32 qu = found.code_u(), qv = found.code_v();
        if (refinement == 0 && magnitude<T>(codes) <= T(SMALL)) {
            const u32 symbol = small_symbol(qu, qv);
            if (position >= 0) fresh_global(places.symbols)[position] = (u8)symbol;
            return {value, error, position >= 0 && symbol != SYMBOL_ZERO ? 3u : 0u};
        }
        const Symbol s = large_symbol<T>(refinement, codes.x, codes.y, qu, qv);
        if (position >= 0) {
            fresh_global(places.symbols)[position] = (u8)s.symbol;
            fresh_global(places.payload)[position] = s.raw;
        }
        return {value, error, position >= 0 ? 3 + s.bits : 0u};
    }
    if (position < 0) return {original, T(0), 0u};
    const Symbol s = stored_symbol<T>(original, prediction);
    const TileOutput places = at_output.get();
    fresh_global(places.symbols)[position] = (u8)s.symbol;
    if (s.symbol != STORED) fresh_global(places.payload)[position] = s.raw;
    return {original, T(0), ONE_STORED + 3 + s.bits};
}
