// Border tiles where vertex bounds are looked at: at the edge of the grid, with missing values, or with zeros
// that keep their signs. A block per tile.
#pragma once
#include "compress/anchors.cuh"
#include "compress/border_vertex.cuh"

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

// A tile of any shape and the thread's part of it. Warp 0 has the coarse levels to itself; which of the two
// warps that is alternates between blocks, to balance the schedulers.
struct BorderPart {
    static constexpr i32 THREADS = 32 * BORDER_WARPS;
    u64 index;
    TileShape shape;
    i32 thread, lane, warp, width, height, ox, oy;
    bool inside;

    __device__ __forceinline__ BorderPart(const Job& job, u64 index)
        : index(index), shape(tile_shape(job, index)),
          thread((i32)(threadIdx.x ^ (__popc(blockIdx.x) & 1) << 5)), lane(thread & 31), warp(thread >> 5),
          width(shape.last_x + 1), height(shape.last_y + 1), ox(shape.owned_x()), oy(shape.owned_y()),
          inside(width == CLOSED && height == CLOSED) {}
};

// Loads the originals and the bounds of a tile; returns its corner in lanes with a corner, which is final.
template <typename T, typename P = typename Real<T>::Pair>
__device__ __forceinline__ P load_border_tile(
    const Job& job, const Control& control, const BorderPart& part, BorderTile<T>& shared, bool has_corner) {
    typedef Real<T> R;
    constexpr i32 THREADS = BorderPart::THREADS;
    const QuantizeView<T> work(job);
    P* const values = shared.values;
    u8* const symbols = work.symbols() + part.index * TILE_VERTICES;
    // Start all loads at once: the originals;
    {
        const T* u = vertex_at<T>(job.u, job.u_layout, part.shape.x0 + part.lane, part.shape.y0 + part.warp);
        const T* v = vertex_at<T>(job.v, job.v_layout, part.shape.x0 + part.lane, part.shape.y0 + part.warp);
        P* to = values + part.warp * CLOSED + part.lane;
#pragma unroll 4
        for (i32 y = part.warp; y < part.height; y += BORDER_WARPS) {
            if (part.lane < part.width) {
                copy_vertex_ahead<T>(*to, u, v);
            }
            u += BORDER_WARPS * job.u_layout.pitch;
            v += BORDER_WARPS * job.v_layout.pitch;
            to += BORDER_WARPS * CLOSED;
        }
        if (part.width == CLOSED)
            for (i32 y = part.thread; y < part.height; y += THREADS) {
                copy_vertex_ahead<T>(values[y * CLOSED + TILE],
                    vertex_at<T>(job.u, job.u_layout, part.shape.x0 + TILE, part.shape.y0 + y),
                    vertex_at<T>(job.v, job.v_layout, part.shape.x0 + TILE, part.shape.y0 + y));
            }
        if (part.thread == 0) expect_largest_error(control, shared.known);
        end_of_copies();
    }
    // the corners, which are final;
    P corner = R::pair(T(0), T(0));
    if (has_corner) corner = work.anchors()[part.index + (part.lane & 1) + (part.lane & 2 ? job.tiles_x : 0)];
    // and the bounds; those of the far sides belong to the next tiles.
    const T* const vertex_bounds = vertex_bounds_of<T>(job, part.index);
    const u64 bounded = nearness_of(job, part.index).bounded;
#pragma unroll
    for (i32 k = 0; k < TILE_VERTICES; k += THREADS) {
        // The bounds of the first column are always stored.
        const bool first_column =
            k >= TILE_VERTICES / 2 && k < 3 * TILE_VERTICES / 4 && part.thread % BOUND_CHUNK == 0;
        shared.vertex_bounds[k + part.thread] =
            vertex_bound_of(vertex_bounds, first_column ? ~0ull : bounded, k + part.thread);
    }
    for (i32 side = part.warp; side < 2; side += BORDER_WARPS) {
        const bool exists = (side == 0 ? part.height : part.width) == CLOSED;
        const u64 behind = side == 0 ? part.index + job.tiles_x : part.index + 1;
        T vertex_bound = no_bound<T>();
        if (exists && nearness_of(job, behind).kind != UNCONSTRAINED_TILE)
            vertex_bound = vertex_bounds_of<T>(
                job, behind)[side == 0 ? position_of(part.lane, 0) : position_of(0, part.lane)];
        shared.vertex_bounds[TILE_VERTICES + TILE * side + part.lane] = vertex_bound;
    }
    if (part.thread == 0) {
        shared.upper_cost = shared.fine_cost = 0;
        shared.places = {symbols, work.payload(part.index)};
    }
    // Later only non-zero symbols are written.
    words_at<uint4>(symbols)[part.thread] = make_uint4(0, 0, 0, 0);
    wait_for_copies<0>();
    __syncthreads();
    return corner;
}

// Masks of a tile by row; returns its mask state. Afterwards a vertex is zero if and only if it has no code.
template <typename T>
__device__ __forceinline__ u32 mask_border_tile(const Job& job, const Control& control,
    const BorderPart& part, BorderTile<T>& shared, bool any_missing, bool lossless) {
    typedef Real<T> R;
    typedef typename R::Pair P;
    constexpr i32 THREADS = BorderPart::THREADS;
    const QuantizeView<T> work(job);
    P* const values = shared.values;
#pragma unroll 4
    for (i32 y = part.warp; y < part.height; y += BORDER_WARPS) {
        P* const here = values + y * CLOSED + part.lane;
        P value = R::pair(T(1), T(1));
        if (part.lane < part.width) value = *here;
        u32 z = __ballot_sync(FULL, is_zero<T>(value) && !(lossless && has_negative_zero(value.x, value.y)));
        u32 f = 0, nf = 0;
        if (any_missing) {
            const bool missing = part.lane < part.width && is_missing(value.x, value.y, job.fill);
            const bool filled = missing && has_fill(control, value.x, value.y);
            f = __ballot_sync(FULL, filled);
            nf = __ballot_sync(FULL, missing);
            z &= ~nf;
            if (missing) *here = R::pair(T(0), T(0));
        }
        if (part.lane == 0) shared.missing[2 * y] = nf;
        if (part.lane == 0 && y < TILE) {
            shared.zero[y] = z;
            shared.fill[y] = f;
        }
    }
    if (any_missing)
        for (i32 y = part.thread; y < part.height; y += THREADS) {
            P& value = values[y * CLOSED + TILE];
            const bool odd = part.width == CLOSED && is_missing(value.x, value.y, job.fill);
            shared.missing[2 * y + 1] = odd;
            if (odd) value = R::pair(T(0), T(0));
        }
    __syncthreads();
    const u32 owned = (u32)(part.ox * part.oy), z = part.lane < part.oy ? shared.zero[part.lane] : 0,
              f = part.lane < part.oy ? shared.fill[part.lane] : 0;
    const u32 zeros = warp_sum(__popc(z)), fills = warp_sum(__popc(f));
    const u32 mask_state = 3 * mask_state_of(zeros, owned) + mask_state_of(fills, owned);
    if (mask_state != 0 && part.warp == 0) {
        work.masks()[part.index * 64 + part.lane] = z;
        work.masks()[part.index * 64 + TILE + part.lane] = f;
    }
    return mask_state;
}

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
    u32 active[3] = {64, 192, 768};
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

// Codes one tile of any shape by a block.
template <typename T>
__device__ __forceinline__ void code_border_tile(const Job& job, const Control& control,
    const Steps<T>& steps, BorderTile<T>& shared, u64 index, u32& exact, T& max_error) {
    const QuantizeView<T> work(job);
    typedef typename Real<T>::Pair P;
    typedef Real<T> R;
    constexpr i32 THREADS = BorderPart::THREADS;
    const BorderPart part(job, index);
    const TileShape shape = part.shape;  // a copy, since its address is passed on
    const i32 thread = part.thread, lane = part.lane, warp = part.warp, last_x = part.shape.last_x,
              last_y = part.shape.last_y, ox = part.ox, oy = part.oy;
    const bool any_missing = has_missing(control), has_special = any_missing || control.zero != 0,
               lossless = steps.lossless;
    P* const values = shared.values;
    u8* const symbols = work.symbols() + index * TILE_VERTICES;
    const i32 corner_at = (lane & 1 ? TILE : 0) + (lane & 2 ? TILE * CLOSED : 0);
    const bool has_corner =
        thread < 4 && (!(lane & 1) || part.width == CLOSED) && (!(lane & 2) || part.height == CLOSED);
    const P corner = load_border_tile<T>(job, control, part, shared, has_corner);
    const u32 mask_state =
        has_special ? mask_border_tile<T>(job, control, part, shared, any_missing, lossless) : 0;
    const u32 info = mask_state == 0 && ox == TILE && oy == TILE ? mask_state | ALL_CODED : mask_state;
    if (!has_codes(mask_state)) {
        if (thread == 0) work.headers()[index] = info;
        return;
    }

    BlockCosts costs = {0, 0};
    if (has_corner) values[corner_at] = corner;
    // The other warp codes the anchor while warp 0 starts with the coarse levels.
    if (warp == BORDER_WARPS - 1) {
        if (lane == 0) {
            const u32 s = anchor_symbol(job, shape, index, *work.payload(index));
            symbols[0] = (u8)s;
            if (s != SYMBOL_ZERO) costs.charge(3 + raw_bits(s, 0, sizeof(T)), 0);
        }
    }
    __syncwarp();
#pragma unroll 1
    for (i32 level = ANCHOR_LEVEL - 1; level >= 0; level--) {
        const i32 bits = 4 - level, n = 1 << bits, count = n * n;
        const u32 choice = steps.interpolants[level];
        // Phases 0 and 1 depend on coarser vertices only: they go together. Far sides come last.
        i32 start = 0;
#pragma unroll 1
        while (start < 3 * count) {
            const bool centred = start == 2 * count;
            const i32 next = start + (centred ? count : 2 * count), end = next + (centred ? 0 : 2 * n);
#pragma unroll 1
            for (i32 m = start + thread; m - lane < end; m += THREADS) {
                const bool far = !centred && m >= 2 * count,
                           vertical = !centred && (m >> (far ? bits : 2 * bits) & 1);
                const i32 position = count + m;
                const u32 place = VERTEX_PLACES.at[m >= end ? 0
                                                   : far    ? TILE_VERTICES - 2 + 2 * n - 2 * count + m
                                                            : position],
                          near = place >> 12;
                const i32 x = place & 63, y = place >> 6 & 63;
                if (m >= end || x > last_x || y > last_y) continue;
                P* const here = values + y * CLOSED + x;
                const P original = *here;
                // A vertex that keeps its sign is stored.
                const bool keeps_sign = lossless && has_negative_zero(original.x, original.y);
                if (is_zero<T>(original) && !keeps_sign) {
                    if (any_missing && !far && (shared.missing[2 * y] & ~shared.fill[y]) >> x & 1) {
                        symbols[position] = STORED;
                        costs.charge(3 + 16 * sizeof(T), position);
                    }
                    continue;
                }
                const T vertex_bound =
                    shared.vertex_bounds[far ? TILE_VERTICES + (vertical ? TILE + y : x) : position];
                P prediction =
                    predict_border_vertex<T>(part, values, choice, level, x, y, centred, vertical, near);
                // A prediction that is NaN: no quantized value passes, and no differences are coded.
                if (keeps_sign) prediction.x = R::from_bits(no_fill<T>());
                // As in interior tiles.
                const T du = R::abs(original.x - prediction.x), dv = R::abs(original.y - prediction.y);
                const T certain = R::low(steps.level[level].half_step, vertex_bound);
                P value = prediction;
                T error = R::high(du, dv);
                if (!((du < certain) & (dv < certain))) {
                    const CodedVertex<T> v =
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
            start = next;
            // Coarse levels fit into warp 0.
            if (BORDER_WARPS > 1 && (level < 3 || (level == 3 && centred)) && !(level == 0 && centred))
                __syncthreads();
            else
                __syncwarp();
        }
    }
    __syncwarp();
    costs.upper = warp_sum(costs.upper);
    costs.fine = warp_sum(costs.fine);
    if (lane == 0) {
        atomicAdd(&shared.upper_cost, costs.upper);
        atomicAdd(&shared.fine_cost, costs.fine);
    }
    __syncthreads();
    if (warp != 0) return;
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
    const u64 count = control.border_tiles;
    if (blockIdx.x < count) {
        const u64* const list = ListsView(job).tile_lists() + control.unconstrained_tiles;
        steps.read(job, control);
        u32 exact = 0;
        T max_error = 0;
#pragma unroll 1
        for (u64 k = blockIdx.x; k < count; k += gridDim.x)
            code_border_tile<T>(job, control, steps, shared, list[k], exact, max_error);
        report_stats<T>(control, exact, 0, max_error, shared.known.bits);
    }
    end_overlap();
}
