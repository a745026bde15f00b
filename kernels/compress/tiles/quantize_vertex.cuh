// Codes one vertex of an interior or border tile, with bin widths in shared memory, and writes its symbol.
// tile/encode.cuh codes anchors and lattice lines, few vertices, and compares signatures.
#pragma once
#include "compress/bounds/vertex_bounds.cuh"
#include "entropy/differences.cuh"

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
    T above_accept;                       // smallest error that is not accepted
};

// Quantizer and interpolants in shared memory, where they need no registers.
template <typename T>
struct Steps {
    Level<T> level[LEVELS];
    T accept;
    bool lossless;  // zeros keep their signs
    u32 interpolants[5];

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
            own.above_accept = -R::next_down(-accepted);
            // True if each width is a quarter of the one before, i.e. not too small, and differences fit a
            // word.
            const bool follow =
                R::bits(last) >> R::MANTISSA >= 2 && R::bits(width) < R::bits(T(0.25) * R::MAX);
            own.half_width = follow ? (typename R::Signed)R::bits(T(0.5) * width) : 0;
        }
        if (threadIdx.x < 5) interpolants[threadIdx.x] = control.interpolants[threadIdx.x];
        if (threadIdx.x == 5) accept = (T)control.quantizer.accept, lossless = is_lossless(control);
        __syncthreads();
    }
};

// First refinement to try after refinement 0 has failed: one before the first whose half bin is within the
// bound. Computed from exponents.
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
    i32 within = 1;
#pragma unroll 1
    while (within < REFINEMENTS && T(0.5) * level.step[within].x > vertex_bound) within++;
    return within > 2 ? within - 1 : 1;
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
    // An error below this meets the bounds (allows, in tile/encode.cuh).
    const T enough = R::high(R::low(vertex_bound, level.above_accept), R::from_bits(1));
    const T du = original.x - prediction.x, dv = original.y - prediction.y;
    i32 next = second_try<T>(level, vertex_bound);
    // With code 0 the error is the residual.
    const T residual = R::high(R::abs(du), R::abs(dv));
    i32 refinement = residual < level.half_step && !(residual < enough) ? next++ : 0;
    T shifted_u, shifted_v, error;
    P value;
    bool found;
#pragma unroll 1
    while (true) {
        const P step = level.step[refinement];
        const T scaled_u = du * step.y, scaled_v = dv * step.y;
        const bool fits = R::abs(scaled_u) <= R::MAX_CODE && R::abs(scaled_v) <= R::MAX_CODE;
        shifted_u = scaled_u + R::SHIFT, shifted_v = scaled_v + R::SHIFT;
        value = R::pair(
            prediction.x + (shifted_u - R::SHIFT) * step.x, prediction.y + (shifted_v - R::SHIFT) * step.x);
        error = R::high(R::abs(value.x - original.x), R::abs(value.y - original.y));
        found = fits && error < enough;
        if (!fits || found || next >= REFINEMENTS) break;
        refinement = next++;
    }
    // Here lanes run together again, however long each has searched.
    if (found) {
        const TileOutput places = at_output.get();
        const T cu = shifted_u - R::SHIFT, cv = shifted_v - R::SHIFT;
        const i32 qu = (i32)(R::shifted_code(shifted_u) - R::SHIFTED_ZERO),
                  qv = (i32)(R::shifted_code(shifted_v) - R::SHIFTED_ZERO);
        const T larger = R::high(R::abs(cu), R::abs(cv));
        if (refinement == 0 && larger <= T(SMALL)) {
            const u32 symbol = small_symbol(qu, qv);
            if (position >= 0) fresh_global(places.symbols)[position] = (u8)symbol;
            return {value, error, position >= 0 && symbol != SYMBOL_ZERO ? 3u : 0u};
        }
        const Symbol s = large_symbol<T>(refinement, cu, cv, qu, qv);
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
