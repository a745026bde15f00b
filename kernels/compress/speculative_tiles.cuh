// Tiles of the speculative mode: interior ones with constrained vertices off the lattice lines, and border
// tiles. A warp per tile. Most vertices are settled by the signs around them; the others wait until the end
// of their phase, and are settled together.
#pragma once
#include "compress/anchors.cuh"
#include "compress/border_vertex.cuh"
#include "compress/row_masks.cuh"
#include "compress/settle.cuh"

// Open half planes that contain a vector: those of the axes (tile/window.cuh) and of the diagonals. The sign
// of a rounded sum is that of the sum.
template <typename T>
__device__ __forceinline__ u32 eight_half_planes(typename Real<T>::Pair p) {
    return half_planes<T>(p) | half_planes<T>(Real<T>::pair(p.x + p.y, p.x - p.y)) << 4;
}

// The half planes of each vertex of a closed tile. Twin of src/tile/signs.rs, which has those of the axes.
struct TilePlanes {
    u8 at[CLOSED * CLOSED];

    // True if each triangle around vertex `here`, which is not on the border, lies in one open half plane,
    // and in one after a move of the vertex into the half planes `candidate`: no signature can change.
    __device__ __forceinline__ bool stay_one_sided(i32 here, u32 candidate) const {
        const u8* const around = at + here;
        const u32 own = around[0], first = around[1];
        u32 before = first;
        bool one_sided = true;
        auto next = [&](u32 planes) {
            const u32 both = before & planes;
            one_sided &= ((both & own) != 0) & ((both & candidate) != 0);
            before = planes;
        };
        next(around[CLOSED + 1]);
        next(around[CLOSED]);
        next(around[-1]);
        next(around[-CLOSED - 1]);
        next(around[-CLOSED]);
        next(first);
        return one_sided;
    }
};

// A vertex that waits: x | y << 6 | IS_CONSTRAINED | position * POSITION.
constexpr u32 IS_CONSTRAINED = 1 << 12, POSITION = 1 << 13;

// A tile, and its vertices that wait with their predictions.
template <typename T>
struct SpeculativeTile {
    alignas(16) typename Real<T>::Pair values[CLOSED * CLOSED];
    typename Real<T>::Pair predictions[32];
    u32 waiting[32];
    u32 missing[2 * CLOSED];  // of a TileWindow, if the field has missing vertices
    TilePlanes planes;
};

// Loads the originals off the lattice lines, and the final values on them. Call with a warp. WHOLE: the
// closed tile lies in the grid.
template <bool WHOLE, typename T>
__device__ __forceinline__ void load_speculative_tile(
    const Job& job, const TileShape& shape, u64 index, SpeculativeTile<T>& shared) {
    typedef typename Real<T>::Pair P;
    const QuantizeView<T> work(job);
    const i32 lane = threadIdx.x & 31, last_x = WHOLE ? TILE : shape.last_x,
              last_y = WHOLE ? TILE : shape.last_y;
    if (lane > 0) {
        const T* u = vertex_at<T>(job.u, job.u_layout, shape.x0 + lane, shape.y0 + 1);
        const T* v = vertex_at<T>(job.v, job.v_layout, shape.x0 + lane, shape.y0 + 1);
        P* to = shared.values + CLOSED + lane;
        const i32 end = lane <= last_x ? (last_y < TILE ? last_y + 1 : TILE) : 0;
#pragma unroll 4
        for (i32 y = 1; y < end; y++) {
            copy_vertex_ahead<T>(*to, u, v);
            u += job.u_layout.pitch, v += job.v_layout.pitch, to += CLOSED;
        }
        const P* const across = work.row_lines() + shape.ty * job.nx + shape.x0 + lane;
        const P* const down = work.column_lines() + shape.tx * job.ny + shape.y0 + lane;
        if (lane <= last_x) {
            copy_ahead<sizeof(P)>(shared.values + lane, across);
            if (last_y == TILE) copy_ahead<sizeof(P)>(shared.values + TILE * CLOSED + lane, across + job.nx);
        }
        if (lane <= last_y) {
            copy_ahead<sizeof(P)>(shared.values + lane * CLOSED, down);
            if (last_x == TILE) copy_ahead<sizeof(P)>(shared.values + lane * CLOSED + TILE, down + job.ny);
        }
    }
    if (lane < 4 && (lane & 1 ? TILE : 0) <= last_x && (lane & 2 ? TILE : 0) <= last_y)
        copy_ahead<sizeof(P)>(shared.values + (lane & 1 ? TILE : 0) + (lane & 2 ? TILE * CLOSED : 0),
            work.anchors() + index + (lane & 1) + (lane & 2 ? job.tiles_x : 0));
    end_of_copies();
}

// Vertices of the lane's row whose surroundings are looked at: the constrained ones and, if there is a halo
// or a pinned side, those on the border of the grid.
template <typename T>
__device__ __forceinline__ u32 looked_at(const Job& job, const TileShape& shape, u64 index, bool whole) {
    const i32 lane = threadIdx.x & 31;
    u32 row = BoundsView<T>(job).constrained_rows(index)[lane];
    if (!whole && (job.halo | job.pin)) {
        if (shape.last_x < TILE) row |= 1u << shape.last_x;
        if (shape.last_y == lane) row = FULL;
    }
    return row;
}

// Codes a tile by a warp. WHOLE: its closed block lies in the grid, without zeros and missing values.
template <typename T, bool WHOLE>
__device__ __forceinline__ void code_speculative_tile(const Job& job, const Control& control,
    const Steps<T>& steps, SpeculativeTile<T>& shared, u64 index, u32& exact, T& max_error) {
    typedef Real<T> R;
    typedef typename R::Pair P;
    const QuantizeView<T> work(job);
    const i32 lane = threadIdx.x & 31;
    const TileShape shape = tile_shape(job, index);
    const i32 last_x = WHOLE ? TILE : shape.last_x, last_y = WHOLE ? TILE : shape.last_y;
    const bool whole = WHOLE || (last_x == TILE && last_y == TILE),
               any_missing = !WHOLE && has_missing(control);
    u8* const symbols = work.symbols() + index * TILE_VERTICES;
    P* const values = shared.values;
    load_speculative_tile<WHOLE, T>(job, shape, index, shared);
    u32 info = ALL_CODED;
    RowMasks masks = {0, 0, 0, 0};
    if (!WHOLE) {
        masks = find_row_masks<T>(job, control, shape, values, shared.missing);
        info = write_row_masks(job, shape, index, masks);
        if (!has_codes(mask_state_in(info))) {
            if (lane == 0) work.headers()[index] = info;
            return;
        }
        if (!whole) clear_outside(shape, symbols);
    }
    const u32 coded_in_row = masks.coded(shape);
    BlockCosts costs = {0, 0};
    // Symbols of the anchor and of the tile's own lines, which are coded.
    if (lane == 0) {
        const u32 s = anchor_symbol(job, shape, index, *work.payload(index));
        symbols[0] = (u8)s;
        if (s != SYMBOL_ZERO) costs.charge(3 + raw_bits(s, 0, sizeof(T)), 0);
    } else {
#pragma unroll
        for (i32 axis = 0; axis < 2; axis++) {
            if (lane > (axis == 0 ? last_x : last_y)) continue;
            const i32 position = axis == 0 ? position_of(lane, 0) : position_of(0, lane);
            const u32 s = symbols[position];
            if (s != SYMBOL_ZERO) costs.charge(3 + raw_bits(s, position, sizeof(T)), position);
        }
    }
    const u32 constrained_row = looked_at<T>(job, shape, index, whole);
    wait_for_copies<0>();
    __syncwarp();
#pragma unroll 4
    for (i32 k = lane; k < CLOSED * CLOSED; k += 32)
        if (whole || (k % CLOSED <= last_x && k / CLOSED <= last_y))
            shared.planes.at[k] = (u8)eight_half_planes<T>(values[k]);
    __syncwarp();

    // Commits a vertex.
    auto commit = [&](i32 here, i32 position, P value, T error, const Symbol& s) {
        values[here] = value;
        shared.planes.at[here] = (u8)eight_half_planes<T>(value);
        max_error = R::high(max_error, error);
        symbols[position] = (u8)s.symbol;
        if (s.symbol == SYMBOL_ZERO) return;
        costs.charge(3 + s.bits, position);
        if (s.symbol >= FIRST_WITH_RAW_BITS && s.symbol != STORED)
            work.payload(index)[position] = s.raw;
        exact += s.symbol >= STORED;
    };
    const TileWindow<T> window = {
        values, CLOSED, last_x + 1, last_y + 1, any_missing ? shared.missing : nullptr, 2};
    i32 waiting = 0;
    auto settle_waiting = [&](i32 level) {
        __syncwarp();
        // Lanes without a vertex of their own help with the trials of others.
        const i32 shift = 32 - __clz(waiting - 1), mine = lane & ((1 << shift) - 1);
        const i32 at = mine < waiting ? mine : waiting - 1;
        const u32 entry = shared.waiting[at];
        const i32 x = entry & 63, y = entry >> 6 & 63, position = (i32)(entry / POSITION);
        const P original = values[y * CLOSED + x], prediction = shared.predictions[at];
        T vertex_bound = entry & IS_CONSTRAINED ? R::MAX : no_bound<T>();
        // Vertices on the border of the grid have bounds of the halo and of pinned sides.
        if (!whole && entry & IS_CONSTRAINED)
            vertex_bound = speculative_bound<T>(job, control,
                BoundsView<T>(job).constrained_rows(index)[y] >> x & 1, shape.x0 + x, shape.y0 + y);
        const InShared<Steps<T>> at_steps(&steps);
        const SharedCode<T> settled = whole && !any_missing
                                          ? settle_together<T, true>(rule_of(job), at_steps, window, x, y,
                                                prediction, vertex_bound, level, shift)
                                          : settle_together<T, false>(rule_of(job), at_steps, window, x, y,
                                                prediction, vertex_bound, level, shift);
        if (settled.is_mine && mine < waiting)
            commit(y * CLOSED + x, position, settled.value, settled.error,
                symbol_of<T>(settled, original, prediction));
        waiting = 0;
        __syncwarp();
    };
#pragma unroll 1
    for (i32 level = ANCHOR_LEVEL - 1; level >= 0; level--) {
        const i32 bits = 4 - level, n = 1 << bits, count = n * n;
        const u32 choice = steps.interpolants[level];
        const Interpolant<T> interpolant = interpolant_of<T>(choice);
        const T half_step = steps.level[level].half_step;
        // Phases 0 and 1 go together above the finest level, as in visit_interior; those of level 4 lie on
        // lattice lines.
        i32 start = level == ANCHOR_LEVEL - 1 ? 2 * count : 0;
#pragma unroll 1
        while (start < 3 * count) {
            const bool centred = start == 2 * count;
            const i32 end = start + (centred || level == 0 ? count : 2 * count);
#pragma unroll 1
            for (i32 first = start;; first += 32) {
                const bool done = first >= end;
                P prediction = R::pair(T(0), T(0));
                bool waits = false;
                u32 entry = 0;
                if (!done) {
                    const i32 m = first + lane, i = m & (n - 1), j = m >> bits & (n - 1);
                    const bool vertical = !centred && m >= count;
                    const i32 x = (2 * i + !vertical) << level, y = (2 * j + (centred || vertical)) << level;
                    bool active = m < end && x > 0 && y > 0;
                    const i32 position = count + m, here = y * CLOSED + x;
                    const u32 constrained = __shfl_sync(FULL, constrained_row, y) >> x & 1;
                    entry = x | y << 6 | constrained * IS_CONSTRAINED | position * POSITION;
                    if (!WHOLE) {
                        const bool coded = __shfl_sync(FULL, coded_in_row, y) >> x & 1,
                                   stored = __shfl_sync(FULL, masks.stored, y) >> x & 1;
                        if (active && !coded && x <= last_x && y <= last_y) {
                            symbols[position] = stored ? STORED : SYMBOL_ZERO;
                            if (stored) costs.charge(3 + 16 * sizeof(T), position);
                        }
                        active = active && coded;
                    }
                    if (active) {
                        const P original = values[here];
                        prediction =
                            whole ? predict_inside<T>(interpolant, values + here, level, centred, vertical,
                                        near_neighbours(vertical ? j : i, n) | near_neighbours(j, n) << 2)
                                  : predict_at_border<T>(
                                        values, choice, centred, vertical, x, y, 1 << level, last_x, last_y);
                        P value = prediction;
                        T error = distance<T>(value, original);
                        Symbol symbol = {SYMBOL_ZERO, 0, 0};
                        // Code 0 is certain for small residuals. By component: the larger of a NaN and a
                        // number is the number.
                        if (!(R::abs(original.x - prediction.x) < half_step &&
                                R::abs(original.y - prediction.y) < half_step)) {
                            const Quantized<T> q =
                                quantize<T>(original, prediction, steps.level[level].step[0]);
                            value = q.value;
                            error = distance<T>(value, original);
                            waits = !(q.fits && error <= steps.accept);
                            if (!waits) symbol = symbol_of({0, (i32)q.code.x, (i32)q.code.y});
                        }
                        if (constrained && !waits)
                            waits = (!whole && (x == last_x || y == last_y)) ||
                                    !shared.planes.stay_one_sided(here, eight_half_planes<T>(value));
                        if (!waits) commit(here, position, value, error, symbol);
                    }
                }
                const u32 new_ones = __ballot_sync(FULL, waits);
                if (done ? waiting > 0 : waiting + __popc(new_ones) > 32) settle_waiting(level);
                if (done) break;
                if (waits) {
                    const u32 at = waiting + __popc(new_ones & ((1u << lane) - 1));
                    shared.predictions[at] = prediction;
                    shared.waiting[at] = entry;
                }
                waiting += __popc(new_ones);
            }
            start = end;
            __syncwarp();
        }
    }
    costs.upper = warp_sum(costs.upper);
    costs.fine = warp_sum(costs.fine);
    u32 active[3] = {64, 192, 768};
    if (!WHOLE) {
        exact += __popc(masks.keeps_sign & ~1u) * (lane > 0);
        if (info != ALL_CODED) count_active(coded_in_row | masks.stored, active);
    }
    if (lane == 0)
        work.headers()[index] = info | activity_of(costs.upper & 0xffff, active[0]) << 8 |
                                activity_of(costs.upper >> 16, active[1]) << 16 |
                                activity_of(costs.fine, active[2]) << 24;
    __syncwarp();
}

// Grid: any. Block: 32 * SPECULATIVE_WARPS threads, a warp per tile. Static shared: a SpeculativeTile per
// warp, Steps. Reads: the field, list of tiles, anchors, constrained vertices, the lattice lines. Writes:
// symbols, payload, info, masks of border tiles.
template <typename T, bool WHOLE>
__device__ __forceinline__ void speculative_tiles(const Job& job) {
    __shared__ SpeculativeTile<T> shared[SPECULATIVE_WARPS];
    __shared__ Steps<T> steps;
    Control& control = control_of(job);
    const u64 count = WHOLE ? control.speculative_tiles : control.border_tiles,
              all = (u64)gridDim.x * SPECULATIVE_WARPS;
    if ((u64)blockIdx.x * SPECULATIVE_WARPS >= count) return;
    const u64* const list =
        ListsView(job).tile_lists() + control.unconstrained_tiles + (WHOLE ? control.border_tiles : 0);
    steps.read(job, control);
    SpeculativeTile<T>& own = shared[threadIdx.x >> 5];
    u32 exact = 0;
    T max_error = 0;
#pragma unroll 1
    for (u64 k = (u64)blockIdx.x * SPECULATIVE_WARPS + (threadIdx.x >> 5); k < count; k += all)
        code_speculative_tile<T, WHOLE>(job, control, steps, own, list[k], exact, max_error);
    report_stats<T>(control, exact, 0, max_error);
}

// Waits for: the previous kernel. The tiles with most work are border tiles: they begin.
template <typename T>
__device__ __forceinline__ void speculative_border(const Job& job) {
    speculative_tiles<T, false>(job);
}
// Overlaps the previous kernel, and waits for it at its end.
template <typename T>
__device__ __forceinline__ void speculative_interior(const Job& job) {
    speculative_tiles<T, true>(job);
    end_overlap();
}
