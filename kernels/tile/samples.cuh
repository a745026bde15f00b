// Sampled tiles, coded with each option of the tuning (predict/tuning.cuh) under the error bound alone. Twin
// of src/tile/samples.rs.
#pragma once
#include "entropy/symbols.cuh"
#include "grid/field.cuh"
#include "grid/missing.cuh"
#include "predict/quantizer.cuh"
#include "tile/traversal.cuh"

// Counts of coded vertices, packed into a word for a warp: vertices, non-zero codes, raw bits of non-zero
// codes.
__device__ __forceinline__ u32 pack_count(u32 vertices, u32 nonzero, u32 bits) {
    return vertices | nonzero << 8 | bits << 16;
}
__device__ __forceinline__ void add_count(LevelCount& count, u32 packed) {
    packed = warp_sum(packed);
    if ((threadIdx.x & 31) != 0) return;
    atomicAdd(&count.vertices, packed & 255);
    atomicAdd(&count.nonzero, packed >> 8 & 255);
    atomicAdd(&count.bits, packed >> 16);
}

template <typename T>
struct TuneShared {
    typename Real<T>::Pair values[CLOSED * CLOSED];
    Quantizer quantizer;
    u32 zero[CLOSED][2], stored[CLOSED][2];
    LevelCount counts[LEVELS];
};

// Codes a vertex under the error bound alone.
template <typename T, typename P = typename Real<T>::Pair>
__device__ __noinline__ u32 tune_vertex(TuneShared<T>& shared, i32 x, i32 y, P prediction, i32 level) {
    if (shared.zero[y][x >> 5] >> (x & 31) & 1) return 0;
    const u32 stored = pack_count(1, 1, 64);
    if (shared.stored[y][x >> 5] >> (x & 31) & 1) return stored;
    P& value = shared.values[y * CLOSED + x];
    const P original = value;
    const T limit = acceptance_of<T>(shared.quantizer).limit(Real<T>::infinity());
    Attempt<T> found;
    const i32 refinement = first_allowed<T>(0, 1, limit, found,
        [&](i32 k) { return attempt<T>(original, prediction, step_of<T>(shared.quantizer, level, k)); });
    if (refinement == EXACT) return stored;
    value = found.value;
    const Symbol s = symbol_of({refinement, found.code_u(), found.code_v()});
    return s.symbol == SYMBOL_ZERO ? pack_count(1, 0, 0)
                                   : pack_count(1, 1, s.symbol < FIRST_WITH_RAW_BITS ? 3 : 4 + s.bits);
}

// Loads a tile and makes its quantizer. Missing vertices count as stored, also if they equal the fill value.
// Call with a block.
template <typename T, typename P = typename Real<T>::Pair>
__device__ __forceinline__ void load_sample(const Job& job, const Control& control, const TileShape& shape,
    u32 level_bound_scaling, TuneShared<T>& shared) {
    typedef Real<T> R;
    constexpr i32 ROWS = (CLOSED + TUNE_WARPS - 1) / TUNE_WARPS;
    const i32 thread = threadIdx.x, lane = thread & 31, warp = thread >> 5;
    P* const values = shared.values;
    const i32 width = shape.last_x + 1, height = shape.last_y + 1;
    // Load all values at once: rows by warp, then the last column.
    P rows[ROWS], side = R::pair(T(1), T(1));
    auto load = [&](i32 x, i32 y) -> P { return load_vertex<T>(job, shape.x0 + x, shape.y0 + y); };
#pragma unroll
    for (i32 i = 0; i < ROWS; i++) {
        const i32 y = warp + TUNE_WARPS * i;
        rows[i] = R::pair(T(1), T(1));
        if (lane < width && y < height) rows[i] = load(lane, y);
    }
    if (thread < height && width == CLOSED) side = load(TILE, thread);
    for (i32 e = thread; e < LEVELS * REFINEMENTS; e += 32 * TUNE_WARPS)
        quantizer_entry<T>(control.half_bin_width, level_bound_scaling, e / REFINEMENTS, e % REFINEMENTS,
            shared.quantizer.width[e / REFINEMENTS][e % REFINEMENTS],
            shared.quantizer.inverse[e / REFINEMENTS][e % REFINEMENTS]);
    if (thread == 0) shared.quantizer.accept = control.quantizer.accept;
    if (thread < LEVELS) shared.counts[thread] = {0, 0, 0};
    const bool lossless = is_lossless(control);
    auto is_gone = [&](P p) { return is_missing(p.x, p.y, job.fill); };
    auto is_stored = [&](P p) { return is_gone(p) || (lossless && has_negative_zero(p.x, p.y)); };
    auto blank = [&](P p) -> P { return is_gone(p) ? R::pair(T(0), T(0)) : p; };
    auto is_origin = [&](P p) { return p.x == T(0) && p.y == T(0) && !is_stored(p); };
#pragma unroll
    for (i32 i = 0; i < ROWS; i++) {
        const i32 y = warp + TUNE_WARPS * i;
        if (y >= CLOSED) continue;
        const u32 zero = __ballot_sync(FULL, is_origin(rows[i])),
                  stored = __ballot_sync(FULL, is_stored(rows[i]));
        values[y * CLOSED + lane] = blank(rows[i]);
        if (lane == 0) {
            shared.zero[y][0] = zero;
            shared.stored[y][0] = stored;
        }
    }
    if (thread < CLOSED) {
        values[thread * CLOSED + TILE] = blank(side);
        shared.zero[thread][1] = is_origin(side);
        shared.stored[thread][1] = is_stored(side);
    }
    __syncthreads();
}

// Codes the lattice lines of a tile. Call with a block.
template <typename T, typename P = typename Real<T>::Pair>
__device__ __forceinline__ void tune_lines(TuneShared<T>& shared, i32 last_x, i32 last_y, u32 choice) {
    const i32 thread = threadIdx.x;
    P* const values = shared.values;
    // The four lattice lines meet only in the corners.
    const Interpolant<T> interpolant = interpolant_of<T>(choice);
#pragma unroll 1
    for (i32 level = ANCHOR_LEVEL - 1; level >= 0; level--) {
        const i32 step = 1 << level, bits = 4 - level, line = thread >> bits,
                  k = (2 * (thread & ((1 << bits) - 1)) + 1) * step;
        if ((thread & ~31) < 4 << bits) {
            const bool down = line & 2, far = line & 1;
            const i32 last = down ? last_y : last_x, across = down ? last_x : last_y,
                      x = down ? (far ? TILE : 0) : k,
                      y = down  ? k
                          : far ? TILE
                                : 0;
            u32 packed = 0;
            if (line < 4 && (!far || across == TILE) && k <= last) {
                const P prediction =
                    along<T>(interpolant, values, y * CLOSED + x, down ? step * CLOSED : step, k, step, last);
                packed = tune_vertex<T>(shared, x, y, prediction, level);
                if (far) packed = 0;
            }
            add_count(shared.counts[level], packed);
        }
        __syncthreads();
    }
}

// Codes a tile without its neighbours with one option. Call with a block.
template <typename T, typename P = typename Real<T>::Pair>
__device__ __forceinline__ void tune_tile(const Job& job, const Control& control, const TileShape& shape,
    u32 level_bound_scaling, u32 choice, TuneShared<T>& shared) {
    const i32 thread = threadIdx.x, last_x = shape.last_x, last_y = shape.last_y;
    load_sample<T>(job, control, shape, level_bound_scaling, shared);
    if (thread < 4) {
        const i32 x = thread & 1 ? TILE : 0, y = thread & 2 ? TILE : 0;
        if (x <= last_x && y <= last_y) tune_vertex<T>(shared, x, y, Real<T>::pair(T(0), T(0)), ANCHOR_LEVEL);
    }
    __syncthreads();
    tune_lines<T>(shared, last_x, last_y, choice);
    u32 interpolants[ANCHOR_LEVEL];
#pragma unroll
    for (i32 l = 0; l < ANCHOR_LEVEL; l++) interpolants[l] = choice;
    visit_interior<T, 32 * TUNE_WARPS>(shared.values, last_x, last_y, interpolants,
        [&](i32 level, i32, bool active, i32 x, i32 y, P prediction) {
            add_count(shared.counts[level], active ? tune_vertex<T>(shared, x, y, prediction, level) : 0);
        });
    __syncthreads();
}
