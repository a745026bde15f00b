// Entries that find out which vertices have a limit of their own, and what it is. The limits lie in the
// place of the words of the groups, in the order of the symbols: infinity where only the bound of the
// call counts, the largest value where signatures have to be looked at.
#pragma once
#include "front.cuh"

template <typename T>
__device__ __forceinline__ T* limits_of(const Job& job, u64 tile) {
    return reinterpret_cast<T*>(job.words + tile * (sizeof(T) == 4 ? TILE_WORD_BYTES_F32 : TILE_WORD_BYTES_F64));
}
template <typename T>
__device__ __forceinline__ T no_limit() {
    return Real<T>::from_bits(sizeof(T) == 4 ? 0x7f800000ull : 0x7ff0000000000000ull);
}
template <typename T>
__device__ __forceinline__ bool is_tight(T limit) {
    return limit <= Real<T>::MAX;
}

// Whether a tile is plain: inside the grid with its closed block, and no triangle at a vertex of that
// within the bound of the origin. Such a tile has no zeros or missing values, and no limits.
__device__ inline bool is_plain(const Job& job, const TileShape& shape, u64 tile, double near) {
    if (shape.last_x != TILE || shape.last_y != TILE) return false;
    const bool border = shape.tx == 0 || shape.ty == 0 || shape.x0 + TILE == job.nx - 1 || shape.y0 + TILE == job.ny - 1;
    if ((job.halo | job.pin) && border) return false;
    const u64 across = job.tiles_x;
    bool plain = nearness_of(job, tile).all > near && nearness_of(job, tile + 1).left > near &&
                 nearness_of(job, tile + across).top > near;
    // Around corners one cell matters, which is on two sides of its tile.
    const Nearness& after = nearness_of(job, tile + across + 1);
    plain &= after.top > near || after.left > near;
    if (shape.tx > 0) {
        const Nearness& below = nearness_of(job, tile + across - 1);
        plain &= nearness_of(job, tile - 1).right > near && (below.top > near || below.right > near);
    }
    if (shape.ty > 0) {
        const Nearness& above = nearness_of(job, tile - across + 1);
        plain &= nearness_of(job, tile - across).bottom > near && (above.bottom > near || above.left > near);
    }
    if (shape.tx > 0 && shape.ty > 0) {
        const Nearness& before = nearness_of(job, tile - across - 1);
        plain &= before.bottom > near || before.right > near;
    }
    return plain;
}

// The k-th tile that is not plain: first the whole ones, then the others from the end of the list.
__device__ __forceinline__ u64 limited_tile(const Job& job, const Control& control, u64 k) {
    return job.group_offsets[k < control.tight_tiles ? k : job.tiles() - 1 - (k - control.tight_tiles)];
}

template <typename T>
__device__ __forceinline__ bool is_zero(typename Real<T>::Pair p) {
    return p.x == T(0) && p.y == T(0);
}

// What a triangle asks of its vertices. Where its hull comes nearest to the origin with a corner, that
// distance is its bound (no edge is farther away); others near the origin are `hard`: their bound takes
// determinants.
template <typename T>
struct Ask {
    T limit;
    bool hard;
};
template <typename T, typename P = typename Real<T>::Pair>
__device__ __forceinline__ Ask<T> ask(const Constraints<T>& c, P p, P q, P r, bool has_nonfinite) {
    typedef Real<T> R;
    const T axis = R::high(R::high(R::low(R::low(p.x, q.x), r.x), -R::high(R::high(p.x, q.x), r.x)),
                           R::high(R::low(R::low(p.y, q.y), r.y), -R::high(R::high(p.y, q.y), r.y)));
    if (axis > c.bound_up || !c.preserve) return {no_limit<T>(), false};
    // Nothing to keep where all is zero.
    if (is_zero<T>(p) && is_zero<T>(q) && is_zero<T>(r)) return {no_limit<T>(), false};
    if (c.speculative) return {R::MAX, !(axis > T(0))};
    const T corner = R::low(R::low(R::high(R::abs(p.x), R::abs(p.y)), R::high(R::abs(q.x), R::abs(q.y))),
                            R::high(R::abs(r.x), R::abs(r.y)));
    bool hard = !(axis > T(0)) || corner != axis;
    if (has_nonfinite) {
        auto is_finite = [](P k) { return R::finite(k.x) && R::finite(k.y); };
        hard |= !is_finite(p) || !is_finite(q) || !is_finite(r);
    }
    return {hard ? no_limit<T>() : axis, hard};
}

// The limits of the vertices of a tile from the triangles that are not hard, and those that are as bits
// of rows of cells in the place of the masks. Says whether a vertex of the closed tile is zero or not
// finite.
template <typename T>
__device__ __forceinline__ bool find_limits(const Job& job, const Constraints<T>& c, const TileShape& shape, u64 tile, bool has_nonfinite) {
    typedef typename Real<T>::Pair P;
    const i32 lane = threadIdx.x & 31, width = shape.last_x + 1, height = shape.last_y + 1;
    T* const limits = limits_of<T>(job, tile);
    const bool inside = lane < width, cell = lane < width - 1, last = lane == 31 && width == CLOSED;
    const bool first = lane == 0 && shape.tx > 0;
    const T* const u = vertex_at<T>(job.u, job.u_layout, shape.x0 + (inside ? lane : 0), shape.y0);
    const T* const v = vertex_at<T>(job.v, job.v_layout, shape.x0 + (inside ? lane : 0), shape.y0);
    const long long pitch_u = job.u_layout.pitch, pitch_v = job.v_layout.pitch;
    const long long side_u = first ? -(long long)job.u_layout.stride : (long long)job.u_layout.stride;
    const long long side_v = first ? -(long long)job.v_layout.stride : (long long)job.v_layout.stride;
    if (width < TILE || height < TILE) {
        for (i32 k = lane; k < TILE_VERTICES; k += 32) limits[k] = no_limit<T>();
        __syncwarp();
    }
    auto special = [](P p) { return !(Real<T>::finite(p.x) && Real<T>::finite(p.y)) || is_zero<T>(p); };
    constexpr i32 ROWS = 7;
    bool any_special = false;
    u32 lower_row = 0, upper_row = 0;
    const i32 top = shape.ty > 0 ? -1 : 0;
    // The row above: this lane's vertex, the next one and (in the first lane) the one before.
    P a = Real<T>::pair(T(0), T(0)), b = a, before = a;
    T above = no_limit<T>();
#pragma unroll 1
    for (i32 start = top; start <= height; start += ROWS) {
        // A row is not waited for before the next is asked for.
        P row[ROWS], side[ROWS];
#pragma unroll
        for (i32 k = 0; k < ROWS; k++) {
            const i32 y = start + k < height ? start + k : height - 1;
            row[k] = Real<T>::pair(u[y * pitch_u], v[y * pitch_v]);
            side[k] = row[k];
            if (first || last) side[k] = Real<T>::pair(u[y * pitch_u + side_u], v[y * pitch_v + side_v]);
        }
#pragma unroll
        for (i32 k = 0; k < ROWS; k++) {
            const i32 y = start + k - 1;  // row of cells between the row before and this one
            const P d = row[k];
            P e = Real<T>::pair(__shfl_down_sync(FULL, d.x, 1), __shfl_down_sync(FULL, d.y, 1));
            if (last || !cell) e = side[k];
            if (y + 1 >= 0 && y + 1 < height) any_special |= (inside && special(d)) || (last && special(e));
            if (y >= top && y < height) {
                const bool exists = y + 1 < height;
                Ask<T> lower = {no_limit<T>(), false}, upper = lower;
                if (exists && cell) {
                    lower = ask<T>(c, a, b, e, has_nonfinite);
                    upper = ask<T>(c, a, e, d, has_nonfinite);
                }
                T lower_before = __shfl_up_sync(FULL, lower.limit, 1), upper_before = __shfl_up_sync(FULL, upper.limit, 1);
                if (lane == 0) lower_before = upper_before = no_limit<T>();
                if (first && exists) {
                    lower_before = ask<T>(c, before, a, d, has_nonfinite).limit;
                    upper_before = ask<T>(c, before, d, side[k], has_nonfinite).limit;
                }
                if (y >= 0) {
                    const u32 low = __ballot_sync(FULL, lower.hard), up = __ballot_sync(FULL, upper.hard);
                    if (lane == y) {
                        lower_row = low;
                        upper_row = up;
                    }
                    if (inside && y < TILE)
                        limits[position_of(lane, y)] =
                            Real<T>::low(above, Real<T>::low(lower_before, Real<T>::low(lower.limit, upper.limit)));
                }
                above = Real<T>::low(lower_before, Real<T>::low(upper_before, upper.limit));
            }
            a = d;
            b = e;
            before = side[k];
        }
    }
    job.masks[tile * 64 + lane] = lower_row;
    job.masks[tile * 64 + TILE + lane] = upper_row;
    return __any_sync(FULL, any_special);
}

// Grid: tiles / 8. Block: 256, a warp for a tile. Sorts tiles into plain ones, whole ones with limits
// only, and the others; finds the triangles that make limits. The lists have no order.
template <typename T>
__device__ __forceinline__ void constrain(const Job& job) {
    enum : u32 { PLAIN, WHOLE, OTHER, KINDS };
    __shared__ u32 kinds[8];
    __shared__ u64 bases[KINDS];
    Control& control = control_of(job);
    const i32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const u64 tile = (u64)blockIdx.x * 8 + warp;
    u32 kind = KINDS;
    if (tile < job.tiles()) {
        const Constraints<T> c = constraints_of<T>(job, control);
        const TileShape shape = tile_shape(job, tile);
        kind = PLAIN;
        if (!is_plain(job, shape, tile, c.preserve ? control.bound_up : 0.0)) {
            const bool special = find_limits(job, c, shape, tile, control.nonfinite != 0);
            const bool border = (job.halo | job.pin) != 0 && (shape.last_x < TILE || shape.last_y < TILE);
            kind = special || border || c.speculative || shape.last_x < TILE || shape.last_y < TILE ? OTHER : WHOLE;
        }
        if (lane == 0) job.info[tile] = kind == PLAIN ? ALL_CODED : 0;
    }
    if (lane == 0) kinds[warp] = kind;
    __syncthreads();
    if (threadIdx.x < KINDS) {
        u64 n = 0;
        for (i32 w = 0; w < 8; w++) n += kinds[w] == threadIdx.x;
        u64* const count = threadIdx.x == PLAIN ? &control.plain_tiles : threadIdx.x == WHOLE ? &control.tight_tiles : &control.other_tiles;
        bases[threadIdx.x] = n ? atomicAdd((unsigned long long*)count, (unsigned long long)n) : 0;
    }
    __syncthreads();
    if (lane == 0 && kind < KINDS) {
        u64 at = bases[kind];
        for (i32 w = 0; w < warp; w++) at += kinds[w] == kind;
        if (kind == PLAIN)
            job.group_sizes[at] = tile;
        else
            job.group_offsets[kind == WHOLE ? at : job.tiles() - 1 - at] = tile;
    }
}

// The limit of the vertex (x, y) of a closed tile, which may belong to one of the tiles behind.
template <typename T>
__device__ __forceinline__ T* limit_at(const Job& job, u64 tile, i32 x, i32 y) {
    if (x == TILE) tile++, x = 0;
    if (y == TILE) tile += job.tiles_x, y = 0;
    return limits_of<T>(job, tile) + position_of(x, y);
}

// Limits from up to 32 triangles near the origin: y * 64 + x * 2 + triangle. How many are critical.
template <typename T>
__device__ __noinline__ u32 limit_triangles(const Job& job, u64 tile, Rule rule, double bound, const u16* near, i32 count) {
    const i32 lane = threadIdx.x & 31;
    if (lane >= count) return 0;
    const i32 code = near[lane], triangle = code & 1, x = code >> 1 & 31, y = code >> 6;
    const TileShape shape = tile_shape(job, tile);
    Corners<T> p;
#pragma unroll
    for (i32 k = 0; k < 3; k++) {
        const u64 gx = shape.x0 + x + corner_x(triangle, k), gy = shape.y0 + y + corner_y(triangle, k);
        p.u[k] = *vertex_at<T>(job.u, job.u_layout, gx, gy);
        p.v[k] = *vertex_at<T>(job.v, job.v_layout, gx, gy);
    }
    T limit = Real<T>::MAX;
    if (job.mode == BLOCK_WISE) limit = triangle_bound<T>(p, triangle, rule, bound);
#pragma unroll
    for (i32 k = 0; k < 3; k++)
        lower_to(limit_at<T>(job, tile, x + corner_x(triangle, k), y + corner_y(triangle, k)), limit);
    return is_critical(signature<T>(p, triangle, rule));
}

// Grid: any. Block: 128, a warp for a tile of the list. Limits of vertices, and the critical points.
template <typename T>
__device__ __forceinline__ void bounds(const Job& job) {
    __shared__ u16 near_[4][64];
    u16* const near = near_[threadIdx.x >> 5];
    Control& control = control_of(job);
    const Constraints<T> c = constraints_of<T>(job, control);
    const i32 lane = threadIdx.x & 31;
    const u64 count = control.tight_tiles + control.other_tiles, warps = (u64)gridDim.x * 4;
    u32 critical = 0;
    for (u64 k = (u64)blockIdx.x * 4 + (threadIdx.x >> 5); k < count; k += warps) {
        const u64 tile = limited_tile(job, control, k);
        const u32 rows[2] = {job.masks[tile * 64 + lane], job.masks[tile * 64 + TILE + lane]};
        u32 left = __ballot_sync(FULL, rows[0] | rows[1]);
        i32 waiting = 0;
        while (left) {
            const i32 y = __ffs(left) - 1;
            left &= left - 1;
#pragma unroll
            for (i32 triangle = 0; triangle < 2; triangle++) {
                const u32 row = __shfl_sync(FULL, rows[triangle], y);
                if (row >> lane & 1) near[waiting + __popc(row & ((1u << lane) - 1))] = (u16)(y << 6 | lane << 1 | triangle);
                waiting += __popc(row);
                __syncwarp();
                if (waiting >= 32) {
                    critical += limit_triangles<T>(job, tile, c.rule, c.bound, near, 32);
                    waiting -= 32;
                    __syncwarp();
                    const u16 moved = near[32 + lane];
                    __syncwarp();
                    near[lane] = moved;
                    __syncwarp();
                }
            }
        }
        if (waiting) critical += limit_triangles<T>(job, tile, c.rule, c.bound, near, waiting);
        __syncwarp();
        if (job.halo | job.pin) {
            // Owned vertices on the border of the grid.
            const TileShape shape = tile_shape(job, tile);
            for (i32 i = lane; i < 4 * TILE; i += 32) {
                const i32 side = i >> 5, along = i & 31;
                const i32 x = side == 0 ? 0 : side == 1 ? shape.last_x : along, y = side == 2 ? 0 : side == 3 ? shape.last_y : along;
                if (x >= shape.owned_x() || y >= shape.owned_y() || !on_border(job, shape.x0 + x, shape.y0 + y)) continue;
                const T b = border_limit(job, c, shape.x0 + x, shape.y0 + y);
                if (b < Real<T>::MAX) lower_to(limit_at<T>(job, tile, x, y), b);
            }
        }
    }
    report_tally<T>(control, 0, critical, T(0));
}

// Grid: tiles / 128. Block: 128. One anchor a thread.
template <typename T>
__device__ __forceinline__ void anchors(const Job& job) {
    typedef typename Real<T>::Pair P;
    Control& control = control_of(job);
    const u64 tile = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    u32 exact = 0;
    T max_error = 0;
    if (tile < job.tiles()) {
        const Constraints<T> c = constraints_of<T>(job, control);
        const TileShape shape = tile_shape(job, tile);
        const T limit = job.info[tile] & ALL_CODED ? no_limit<T>() : limits_of<T>(job, tile)[0];
        const bool looks_around = is_tight(limit) && c.speculative;
        P values[9];
        u32 nonfinite[3] = {0, 0, 0};
        Patch<T> patch = {values, 3, 1, 1, control.nonfinite ? nonfinite : nullptr, 1};
        i32 i = 0, j = 0;
        if (looks_around) {
            const u64 x0 = shape.x0 ? shape.x0 - 1 : 0, y0 = shape.y0 ? shape.y0 - 1 : 0;
            i = (i32)(shape.x0 - x0), j = (i32)(shape.y0 - y0);
            patch.width = (i32)((job.nx < shape.x0 + 2 ? job.nx : shape.x0 + 2) - x0);
            patch.height = (i32)((job.ny < shape.y0 + 2 ? job.ny : shape.y0 + 2) - y0);
            for (i32 y = 0; y < patch.height; y++)
                for (i32 x = 0; x < patch.width; x++)
                    values[3 * y + x] = Real<T>::pair(*vertex_at<T>(job.u, job.u_layout, x0 + x, y0 + y),
                                                      *vertex_at<T>(job.v, job.v_layout, x0 + x, y0 + y));
        } else {
            values[0] = Real<T>::pair(*vertex_at<T>(job.u, job.u_layout, shape.x0, shape.y0),
                                      *vertex_at<T>(job.v, job.v_layout, shape.x0, shape.y0));
        }
        const P original = values[3 * j + i];
        for (i32 y = 0; y < patch.height; y++)
            for (i32 x = 0; x < patch.width; x++) {
                P& value = values[3 * y + x];
                if (Real<T>::finite(value.x) && Real<T>::finite(value.y)) continue;
                nonfinite[y] |= 1u << x;
                value = Real<T>::pair(T(0), T(0));
            }
        Code code = {MASKED, 0, 0};
        if (nonfinite[j] >> i & 1) {
            const bool filled = Real<T>::bits(original.x) == control.fill[0] && Real<T>::bits(original.y) == control.fill[1];
            code.id = filled ? MASKED : EXACT;
        } else if (!is_zero<T>(original)) {
            code = code_vertex<T>(patch, i, j, Real<T>::pair(T(0), T(0)), ANCHOR_LEVEL,
                                  (T)control.quantizer.width[ANCHOR_LEVEL][0],
                                  (T)control.quantizer.inverse[ANCHOR_LEVEL][0], c, is_tight(limit),
                                  is_tight(limit) ? limit : Real<T>::MAX, max_error, exact);
        }
        reinterpret_cast<P*>(job.anchors)[tile] = values[3 * j + i];
        reinterpret_cast<int4*>(job.anchor_codes)[tile] = make_int4(code.qu, code.qv, code.id, 0);
    }
    report_tally<T>(control, exact, 0, max_error);
}
