// Border tiles of the mode with vertex bounds: at the edge of the grid, with missing values, or with zeros
// that keep their signs. A block per tile.
#pragma once
#include "compress/bounds/tile_lists.cuh"
#include "compress/tiles/anchors.cuh"
#include "compress/tiles/border/loads.cuh"
#include "compress/tiles/border/vertex.cuh"
#include "entropy/quantized_tile.cuh"
#include "entropy/tables.cuh"
#include "grid/missing.cuh"

// Coordinates by position, x | y << 6, and from bit 12 on which neighbours of the same level exist: before
// and after along the line, or left, right, above, below. Behind the positions of the tile, the vertices of
// its far sides, levels from coarse to fine.
struct VertexPlaces {
    u16 at[TILE_VERTICES + 2 * (TILE - 1)];
};
constexpr VertexPlaces make_vertex_places() {
    VertexPlaces places = {};
    for (i32 bits = 0; bits < 5; bits++) {
        const i32 n = 1 << bits, count = n * n, level = 4 - bits;
        for (i32 m = 0; m < 3 * count + 2 * n; m++) {
            const bool far = m >= 3 * count, centred = m >= 2 * count && !far,
                       vertical = far ? m - 3 * count >= n : m >= count && !centred;
            const i32 i = m & (n - 1), j = far ? n : m >> bits & (n - 1), a = vertical && !far ? j : i,
                      b = vertical && !far ? i : j;
            const i32 x = (centred ? 2 * i + 1 : vertical ? 2 * b : 2 * a + 1) << level;
            const i32 y = (centred ? 2 * j + 1 : vertical ? 2 * a + 1 : 2 * b) << level;
            const i32 near = centred ? (i > 0) | (i < n - 1) << 1 | (j > 0) << 2 | (j < n - 1) << 3
                                     : (a > 0) | (a < n - 1) << 1;
            places.at[far ? TILE_VERTICES + 2 * n - 2 + m - 3 * count : count + m] =
                (u16)(x | y << 6 | near << 12);
        }
    }
    return places;
}
static __device__ const VertexPlaces VERTEX_PLACES = make_vertex_places();

// Prediction of a vertex on a line (`vertical`: a column) or in a cell centre; `near` tells its neighbours.
template <typename T, typename P = typename Real<T>::Pair>
__device__ __forceinline__ P predict_border_vertex(const BorderPart& part, const P* values, u32 choice,
    i32 level, i32 x, i32 y, bool centred, bool vertical, u32 near) {
    if (!part.inside)
        return predict_at_border<T>(
            values, choice, centred, vertical, x, y, 1 << level, part.shape.last_x, part.shape.last_y);
    return predict_inside<T>(
        interpolant_of<T>(choice), values + y * CLOSED + x, level, centred, vertical, near);
}

// Activities of a tile from the costs of its blocks. Call with a warp.
template <typename T>
__device__ __forceinline__ u32 border_activities(
    const BorderPart& part, const BorderTile<T>& shared, bool all_coded, bool has_special) {
    u32 active[3] = {COARSE_VERTICES, MIDDLE_VERTICES, FINE_VERTICES};
    if (!all_coded) {
        // Vertices of the coarse block have coordinates that are multiples of 4, of the middle block
        // multiples of 2.
        u32 row = part.lane < part.oy ? row_mask(part.ox) : 0;
        if (has_special) row &= part.lane < part.oy ? ~(shared.zero[part.lane] | shared.fill[part.lane]) : 0;
        const u32 by_four = warp_sum(part.lane & 3 ? 0 : __popc(row & 0x11111111)),
                  by_two = warp_sum(part.lane & 1 ? 0 : __popc(row & 0x55555555));
        active[0] = by_four;
        active[1] = by_two - by_four;
        active[2] = warp_sum(__popc(row)) - by_two;
    }
    return activity_of(shared.upper_cost & 0xffff, active[0]) << 8 |
           activity_of(shared.upper_cost >> 16, active[1]) << 16 |
           activity_of(shared.fine_cost, active[2]) << 24;
}

// The vertices of a tile in the making, with the thread's share of its costs.
template <typename T>
struct BorderCoder {
    typedef Real<T> R;
    typedef typename R::Pair P;
    const Job& job;
    const Steps<T>& steps;
    BorderTile<T>& shared;
    const BorderPart& part;
    u8* const symbols;
    const bool any_missing, lossless;
    u32& exact;
    T& max_error;
    BlockCosts costs;

    __device__ __forceinline__ void code_anchor() {
        const u32 s = anchor_symbol(job, part.index, *QuantizeView<T>(job).payload(part.index));
        symbols[0] = (u8)s;
        if (s != SYMBOL_ZERO) costs.charge(3 + raw_bits(s, 0, sizeof(T)), 0);
    }

    // Codes vertex (x, y), which has `position` unless it is on a far side. `centred`, `vertical` and `near`
    // as of predict_border_vertex.
    __device__ __forceinline__ void code_vertex(
        i32 level, u32 choice, i32 position, i32 x, i32 y, bool far, bool centred, bool vertical, u32 near) {
        P* const here = shared.values + y * CLOSED + x;
        const P original = *here;
        // A vertex that keeps its sign is stored.
        const bool keeps_sign = lossless && has_negative_zero(original.x, original.y);
        if (is_zero<T>(original) && !keeps_sign) {
            if (any_missing && !far && (shared.missing[2 * y] & ~shared.fill[y]) >> x & 1) {
                symbols[position] = STORED;
                costs.charge(3 + 16 * sizeof(T), position);
            }
            return;
        }
        const T vertex_bound =
            shared.vertex_bounds[far ? TILE_VERTICES + (vertical ? TILE + y : x) : position];
        P prediction =
            predict_border_vertex<T>(part, shared.values, choice, level, x, y, centred, vertical, near);
        // A prediction that is NaN: no quantized value passes, and no differences are coded.
        if (keeps_sign) prediction.x = R::from_bits(no_fill<T>());
        // As in interior tiles.
        const T du = R::abs(original.x - prediction.x), dv = R::abs(original.y - prediction.y);
        const T certain = R::low(steps.level[level].half_step, vertex_bound);
        P value = prediction;
        T error = R::high(du, dv);
        if (!((du < certain) & (dv < certain))) {
            const WrittenVertex<T> v =
                code_vertex_of<T>(original, prediction, vertex_bound, far ? -1 : position,
                    InShared<Level<T>>(&steps.level[level]), InShared<TileOutput>(&shared.places));
            value = v.value;
            error = v.error;
            costs.charge(v.cost % ONE_STORED, position);
            exact += v.cost / ONE_STORED;
        }
        *here = value;
        max_error = R::high(max_error, error);
    }

    // Codes the vertices of a level.
    __device__ __forceinline__ void code_level(i32 level) {
        const i32 bits = 4 - level, n = 1 << bits, count = n * n;
        const u32 choice = steps.interpolants[level];
        // Phases 0 and 1 depend on coarser vertices only: they go together. Far sides come last.
        i32 start = 0;
#pragma unroll 1
        while (start < 3 * count) {
            const bool centred = start == 2 * count;
            const i32 next = start + (centred ? count : 2 * count), end = next + (centred ? 0 : 2 * n);
#pragma unroll 1
            for (i32 m = start + part.thread; m - part.lane < end; m += BorderPart::THREADS) {
                const bool far = !centred && m >= 2 * count,
                           vertical = !centred && (m >> (far ? bits : 2 * bits) & 1);
                const i32 position = count + m;
                const u32 place = VERTEX_PLACES.at[m >= end ? 0
                                                   : far    ? TILE_VERTICES - 2 + 2 * n - 2 * count + m
                                                            : position],
                          near = place >> 12;
                const i32 x = place & 63, y = place >> 6 & 63;
                if (m >= end || x > part.shape.last_x || y > part.shape.last_y) continue;
                code_vertex(level, choice, position, x, y, far, centred, vertical, near);
            }
            start = next;
            // Coarse levels fit into warp 0.
            if (BORDER_WARPS > 1 && (level < 3 || (level == 3 && centred)) && !(level == 0 && centred))
                __syncthreads();
            else
                __syncwarp();
        }
    }

    // Sums the costs of all threads into shared memory.
    __device__ __forceinline__ void sum_costs() {
        costs.upper = warp_sum(costs.upper);
        costs.fine = warp_sum(costs.fine);
        if (part.lane == 0) {
            atomicAdd(&shared.upper_cost, costs.upper);
            atomicAdd(&shared.fine_cost, costs.fine);
        }
        __syncthreads();
    }
};

// Codes one tile of any shape by a block.
template <typename T>
__device__ __forceinline__ void code_border_tile(const Job& job, const Control& control,
    const Steps<T>& steps, BorderTile<T>& shared, u64 index, u32& exact, T& max_error) {
    const QuantizeView<T> work(job);
    typedef typename Real<T>::Pair P;
    const BorderPart part(job, index);
    const i32 lane = part.lane;
    const bool any_missing = has_missing(control), has_special = any_missing || control.zero != 0;
    const i32 corner_at = (lane & 1 ? TILE : 0) + (lane & 2 ? TILE * CLOSED : 0);
    const bool has_corner =
        part.thread < 4 && (!(lane & 1) || part.width == CLOSED) && (!(lane & 2) || part.height == CLOSED);
    const P corner = load_border_tile<T>(job, control, part, shared, has_corner);
    const u32 mask_state =
        has_special ? mask_border_tile<T>(job, control, part, shared, any_missing, steps.lossless) : 0;
    const u32 info = info_of(mask_state, 0, mask_state == 0 && part.ox == TILE && part.oy == TILE);
    if (!has_codes(mask_state)) {
        if (part.thread == 0) work.headers()[index] = info;
        return;
    }
    if (has_corner) shared.values[corner_at] = corner;
    BorderCoder<T> coder = {job, steps, shared, part, work.symbols() + index * TILE_VERTICES, any_missing,
        steps.lossless, exact, max_error, {0, 0}};
    // The other warp codes the anchor while warp 0 starts with the coarse levels.
    if (part.warp == BORDER_WARPS - 1 && lane == 0) coder.code_anchor();
    __syncwarp();
#pragma unroll 1
    for (i32 level = ANCHOR_LEVEL - 1; level >= 0; level--) coder.code_level(level);
    __syncwarp();
    coder.sum_costs();
    if (part.warp != 0) return;
    const u32 activities = border_activities(part, shared, mask_state == 0 && part.inside, has_special);
    if (lane == 0) work.headers()[index] = info | activities;
}

// Grid: any. Block: 32 * BORDER_WARPS threads per tile. Static shared: BorderTile. Reads: the field, list of
// border tiles, anchors, vertex bounds. Writes: symbols, payload, masks, info. Overlaps the previous kernel,
// and waits for it at its end.
template <typename T>
__device__ __forceinline__ void border_tiles_with_bounds(const Job& job) {
    __shared__ BorderTile<T> shared;
    __shared__ Steps<T> steps;
    Control& control = control_of(job);
    const u64 count = listed_tiles<BORDER_TILE>(control);
    if (blockIdx.x < count) {
        steps.read(job, control);
        u32 exact = 0;
        T max_error = 0;
#pragma unroll 1
        for (u64 k = blockIdx.x; k < count; k += gridDim.x)
            code_border_tile<T>(
                job, control, steps, shared, listed_tile<BORDER_TILE>(job, control, k), exact, max_error);
        report_stats<T>(control, exact, 0, max_error, shared.known.bits);
    }
    end_overlap();
}
