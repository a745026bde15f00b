// Tiles of the speculative mode: interior ones with constrained vertices off the lattice lines, those with
// zeros, and border tiles. A warp per tile. Most vertices are settled by the half planes around them; the
// others wait until the end of their phase, and are settled together.
#pragma once
#include "compress/bounds/tile_lists.cuh"
#include "compress/tiles/anchors.cuh"
#include "compress/tiles/border/vertex.cuh"
#include "compress/tiles/speculative/row_masks.cuh"
#include "compress/tiles/settle.cuh"
#include "compress/tiles/speculative/loads.cuh"
#include "predict/quantizer.cuh"

// A tile in the making, by a warp. Only border tiles can have missing vertices or vertices outside the grid.
template <typename T, u32 KIND>
struct SpeculativeCoder {
    static constexpr bool INSIDE = KIND != BORDER_TILE, HAS_MASKS = KIND != SPECULATIVE_TILE;
    typedef Real<T> R;
    typedef typename R::Pair P;
    const Job& job;
    const Control& control;
    const Steps<T>& steps;
    SpeculativeTile<T>& shared;
    const u64 index;
    u8* const symbols;
    const TileShape shape;
    const bool any_missing;
    u32 constrained_rows;  // rows with constrained vertices
    u32 waiting;           // rounds of the phase whose vertex of the lane waits
    BlockCosts costs;
    u32 exact;
    T max_error;

    __device__ __forceinline__ i32 last_x() const { return INSIDE ? TILE : shape.last_x; }
    __device__ __forceinline__ i32 last_y() const { return INSIDE ? TILE : shape.last_y; }
    // True if the grid does not end inside the tile.
    __device__ __forceinline__ bool is_whole() const {
        return INSIDE || (shape.last_x == TILE && shape.last_y == TILE);
    }

    __device__ __forceinline__ void write_symbol(i32 position, const Symbol& s) {
        symbols[position] = (u8)s.symbol;
        costs.charge(3 + s.bits, position);
        if (s.symbol >= FIRST_WITH_RAW_BITS && s.symbol != STORED)
            QuantizeView<T>(job).payload(index)[position] = s.raw;
    }

    // True on the border of the grid: not all neighbours exist.
    __device__ __forceinline__ bool is_on_end(i32 x, i32 y) const {
        return !is_whole() && (x == shape.last_x || y == shape.last_y);
    }
    __device__ __forceinline__ bool has_code(i32 x, i32 y) const {
        return !HAS_MASKS || shared.coded[y] >> x & 1;
    }
    __device__ __forceinline__ bool is_constrained_vertex(i32 x, i32 y) const {
        return shared.constrained[y] >> x & 1;
    }
    // Prediction of vertex (x, y), number i of n on its row or column and j across.
    __device__ __forceinline__ P predict_vertex(
        i32 level, bool centred, bool vertical, i32 x, i32 y, i32 i, i32 j, i32 n) const {
        const P* const values = shared.values;
        if (is_whole())
            return predict_inside<T>(interpolant_of<T>(steps.interpolants[level]), values + y * CLOSED + x,
                level, centred, vertical, near_neighbours(vertical ? j : i, n) | near_neighbours(j, n) << 2);
        return predict_at_border<T>(values, steps.interpolants[level], centred, vertical, x, y, 1 << level,
            shape.last_x, shape.last_y);
    }

    // Codes a vertex per lane, unless it waits. `looks`: lanes have constrained vertices. Call with a warp.
    __device__ __forceinline__ void code(i32 x, i32 y, i32 position, P original, P prediction, bool active,
        bool looks, i32 level, T half_step, i32 round) {
        P* const here = shared.values + y * CLOSED + x;
        P value = prediction;
        T error = distance<T>(value, original);
        Symbol symbol = {SYMBOL_ZERO, 0, 0};
        bool waits = false;
        // Code 0 is certain for small residuals. By component: the larger of a NaN and a number is the
        // number.
        if (active && !(R::abs(original.x - prediction.x) < half_step &&
                          R::abs(original.y - prediction.y) < half_step)) {
            const Attempt<T> found = attempt<T>(original, prediction, steps.level[level].step[0]);
            value = found.value;
            error = found.error;
            waits = !(found.fits && steps.accept().within(error));
            if (!waits) symbol = symbol_of({0, found.code_u(), found.code_v()});
        }
        if (looks && active && !waits && is_constrained_vertex(x, y)) {
            const u32 planes = half_plane_bits<T>(value);
            u8* const own = shared.planes.at + y * CLOSED + x;
            waits = is_on_end(x, y) || !shared.planes.stay_one_sided(y * CLOSED + x, planes);
            if (!waits) *own = (u8)planes;
        }
        // Bounds of the halo and of pinned sides are looked at later.
        if (!INSIDE && (job.halo | job.pin) && active) waits |= is_on_end(x, y);
        if (waits) waiting |= 1u << round;
        if (!active || waits) return;
        *here = value;
        max_error = R::high(max_error, error);
        if (symbol.symbol != SYMBOL_ZERO) write_symbol(position, symbol);
    }

    // Settles the vertices that wait, of `rounds` rounds of a phase; vertex `m` of the level is that of a
    // lane in the first one.
    __device__ __forceinline__ void settle_waiting(i32 level, bool centred, i32 rounds, i32 m) {
        __syncwarp();
        if (!__any_sync(FULL, waiting != 0)) return;
        const i32 lane = threadIdx.x & 31, bits = 4 - level, n = 1 << bits, count = n * n;
        i32 number = 0;
#pragma unroll 1
        for (i32 r = 0; r < rounds; r++) {
            const bool mine = waiting >> r & 1;
            const u32 lanes = __ballot_sync(FULL, mine);
            if (mine) shared.waiting[number + __popc(lanes & lanes_below())] = (u16)(m + 32 * r);
            number += __popc(lanes);
        }
        waiting = 0;
        __syncwarp();
        const TileWindow<T> window = {
            shared.values, CLOSED, last_x() + 1, last_y() + 1, any_missing ? shared.missing : nullptr, 2};
#pragma unroll 1
        for (i32 first = 0; first < number; first += 32) {
            // Lanes without a vertex of their own help with the trials of others.
            const i32 left = number - first < 32 ? number - first : 32, shift = 32 - __clz(left - 1),
                      mine = lane & ((1 << shift) - 1), k = shared.waiting[first + min(mine, left - 1)],
                      i = k & (n - 1), j = k >> bits & (n - 1);
            const bool vertical = !centred && k >= count;
            const i32 x = (2 * i + !vertical) << level, y = (2 * j + (centred || vertical)) << level;
            P* const here = shared.values + y * CLOSED + x;
            const P original = *here, prediction = predict_vertex(level, centred, vertical, x, y, i, j, n);
            const bool is_one = is_constrained_vertex(x, y);
            T vertex_bound = is_one ? R::MAX : no_bound<T>();
            if (!is_whole())
                vertex_bound = speculative_bound<T>(job, control, is_one, index, shape.x0 + x, shape.y0 + y);
            const InShared<Steps<T>> at_steps(&steps);
            const SharedCode<T> settled = settle_together<T, INSIDE>(
                rule_of(job), at_steps, window, x, y, prediction, vertex_bound, level, shift);
            // Lanes have read the window.
            __syncwarp();
            if (settled.is_mine && first + mine < number) {
                const Symbol s = symbol_of<T>(settled, original, prediction);
                *here = settled.value;
                shared.planes.at[y * CLOSED + x] = (u8)half_plane_bits<T>(settled.value);
                max_error = R::high(max_error, settled.error);
                if (s.symbol != SYMBOL_ZERO) write_symbol(count + k, s);
                exact += s.symbol >= STORED;
            }
            __syncwarp();
        }
    }

    // Codes the vertices of a level. Phases 0 and 1 go together above the finest level, as in visit_interior.
    // One loop for all levels: the code must stay in the instruction cache.
    __device__ __forceinline__ void code_level(i32 level) {
        const i32 lane = threadIdx.x & 31, bits = 4 - level, n = 1 << bits, count = n * n;
        const T half_step = steps.level[level].half_step;
        // Vertices of level 4 in phases 0 and 1 lie on lattice lines.
        i32 start = level == ANCHOR_LEVEL - 1 ? 2 * count : 0;
#pragma unroll 1
        while (start < 3 * count) {
            const bool centred = start == 2 * count;
            const i32 end = start + (centred || level == 0 ? count : 2 * count),
                      rounds = (end - start + 31) / 32;
            // Rows of the vertices of a round.
            u32 rows = level == 0 ? 5u << (start > 0) : ~0u;
#pragma unroll 1
            for (i32 r = 0; r < rounds; r++) {
                const i32 m = start + 32 * r + lane, i = m & (n - 1), j = m >> bits & (n - 1);
                const bool vertical = !centred && m >= count;
                const i32 x = (2 * i + !vertical) << level, y = (2 * j + (centred || vertical)) << level;
                const bool active = has_code(x, y) && m < end && x > 0 && y > 0;
                P original = R::pair(T(0), T(0)), prediction = original;
                // In whole tiles, lanes without a vertex of their own predict another one.
                if (is_whole() || active) {
                    original = shared.values[y * CLOSED + x];
                    prediction = predict_vertex(level, centred, vertical, x, y, i, j, n);
                }
                __syncwarp();
                code(x, y, count + m, original, prediction, active, (constrained_rows & rows) != 0, level,
                    half_step, r);
                if (level == 0) rows <<= 4;
            }
            settle_waiting(level, centred, rounds, start + lane);
            __syncwarp();
            start = end;
        }
    }

    // Charges the symbols of the anchor and of the tile's own lines, which are coded, and clears the others.
    __device__ __forceinline__ void code_lines() {
        const i32 lane = threadIdx.x & 31;
        u32 of_lines[2] = {SYMBOL_ZERO, SYMBOL_ZERO};
        const i32 positions[2] = {position_of(lane, 0), position_of(0, lane)};
        if (lane > 0 && lane <= last_x()) of_lines[0] = symbols[positions[0]];
        if (lane > 0 && lane <= last_y()) of_lines[1] = symbols[positions[1]];
        __syncwarp();
        // From here on only non-zero symbols are written.
#pragma unroll
        for (i32 k = 0; k < TILE_VERTICES / 16 / 32; k++)
            words_at<uint4>(symbols)[32 * k + lane] = make_uint4(0, 0, 0, 0);
        __syncwarp();
        if (lane == 0) of_lines[0] = anchor_symbol(job, index, *QuantizeView<T>(job).payload(index));
#pragma unroll
        for (i32 k = 0; k < 2; k++) {
            if (of_lines[k] == SYMBOL_ZERO) continue;
            symbols[positions[k]] = (u8)of_lines[k];
            costs.charge(3 + raw_bits(of_lines[k], positions[k], sizeof(T)), positions[k]);
        }
    }

    // Stores the lane's vertices that are in no mask and have no code, off the lattice lines.
    __device__ __forceinline__ void store_others(const RowMasks& masks) {
        const i32 y = threadIdx.x & 31;
        if (y == 0) return;
        exact += __popc(masks.keeps_sign & ~1u);
#pragma unroll 1
        for (u32 left = masks.stored & ~1u; left; left &= left - 1) {
            const i32 position = position_of(__ffs((i32)left) - 1, y);
            symbols[position] = (u8)STORED;
            costs.charge(3 + 16 * sizeof(T), position);
        }
    }

    // The half planes of constrained vertices and their neighbours, four rows at a time.
    __device__ __forceinline__ void find_planes() {
        const i32 lane = threadIdx.x & 31;
        const u32 rows = constrained_rows | constrained_rows << 1 | constrained_rows >> 1;
        auto find = [&](i32 x, i32 y) {
            if (INSIDE || (x <= shape.last_x && y <= shape.last_y))
                shared.planes.at[y * CLOSED + x] = (u8)half_plane_bits<T>(shared.values[y * CLOSED + x]);
        };
#pragma unroll 1
        for (i32 y = 0; y < TILE; y += 4) {
            if (!(rows >> y & 15)) continue;
#pragma unroll
            for (i32 k = 0; k < 4; k++) find(lane, y + k);
        }
        find(TILE, lane);
        if (constrained_rows >> (TILE - 1)) {
            find(lane, TILE);
            if (lane == 0) find(TILE, TILE);
        }
    }

    __device__ __forceinline__ void code_tile() {
        const i32 lane = threadIdx.x & 31;
        load_speculative_tile<T>(job, shape, last_x(), last_y(), index, shared);
        const u32 constrained = BoundsView<T>(job).constrained_rows(index)[lane];
        shared.constrained[lane] = constrained;
        costs = {0, 0};
        u32 info = ALL_CODED, active[3] = {COARSE_VERTICES, MIDDLE_VERTICES, FINE_VERTICES};
        RowMasks masks = {0, 0, 0, 0};
        if (HAS_MASKS) {
            masks = find_row_masks<T, INSIDE>(job, control, shape, shared.values, shared.missing);
            info = write_row_masks(job, shape, index, masks);
            if (!has_codes(mask_state_in(info))) {
                if (lane == 0) QuantizeView<T>(job).headers()[index] = info;
                return;
            }
            const u32 coded = masks.coded(shape);
            shared.coded[lane] = coded;
            if (info != ALL_CODED) count_active(coded | masks.stored, active);
        }
        code_lines();
        if (!INSIDE) store_others(masks);
        // Vertices on the lattice lines are coded.
        constrained_rows = __ballot_sync(FULL, (constrained & ~1u) != 0) & ~1u;
        waiting = 0;
        wait_for_copies<0>();
        __syncwarp();
        find_planes();
        __syncwarp();
#pragma unroll 1
        for (i32 level = ANCHOR_LEVEL - 1; level >= 0; level--) code_level(level);
        costs.upper = warp_sum(costs.upper);
        costs.fine = warp_sum(costs.fine);
        if (lane == 0)
            QuantizeView<T>(job).headers()[index] =
                with_activities(info, activity_of(costs.upper & 0xffff, active[0]),
                    activity_of(costs.upper >> 16, active[1]), activity_of(costs.fine, active[2]));
        __syncwarp();
    }
};

// Grid: any. Block: 32 * SPECULATIVE_WARPS threads, a warp per tile. Static shared: a SpeculativeTile per
// warp, Steps. Reads: the field, list of tiles, anchors, constrained vertices, the lattice lines. Writes:
// symbols, payload, info, masks.
template <typename T, u32 KIND>
__device__ __forceinline__ void speculative_tiles(const Job& job) {
    __shared__ SpeculativeTile<T> shared[SPECULATIVE_WARPS];
    __shared__ Steps<T> steps;
    Control& control = control_of(job);
    const u32 warp = warp_or(threadIdx.x >> 5);
    const u64 count = listed_tiles<KIND>(control), all = (u64)gridDim.x * SPECULATIVE_WARPS;
    if ((u64)blockIdx.x * SPECULATIVE_WARPS >= count) return;
    steps.read(job, control);
    const bool any_missing = KIND == BORDER_TILE && has_missing(control);
    u32 exact = 0;
    T max_error = 0;
#pragma unroll 1
    for (u64 k = (u64)blockIdx.x * SPECULATIVE_WARPS + warp; k < count; k += all) {
        const u64 index = listed_tile<KIND>(job, control, k);
        SpeculativeCoder<T, KIND> coder = {job, control, steps, shared[warp], index,
            QuantizeView<T>(job).symbols() + index * TILE_VERTICES, tile_shape(job, index), any_missing};
        coder.exact = exact, coder.max_error = max_error;
        coder.code_tile();
        exact = coder.exact, max_error = coder.max_error;
    }
    report_stats<T>(control, exact, 0, max_error);
}

// Waits for: the previous kernel.
template <typename T>
__device__ __forceinline__ void speculative_border(const Job& job) {
    speculative_tiles<T, BORDER_TILE>(job);
}
// Tiles with zeros have most work: their kernel comes first. Both kernels overlap the previous one, and wait
// for it at their end.
template <typename T>
__device__ __forceinline__ void speculative_masked(const Job& job) {
    speculative_tiles<T, MASKED_TILE>(job);
    end_overlap();
}
template <typename T>
__device__ __forceinline__ void speculative_interior(const Job& job) {
    speculative_tiles<T, SPECULATIVE_TILE>(job);
    end_overlap();
}
