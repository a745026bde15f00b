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

__device__ __forceinline__ void prefetch(const void* at) { asm volatile("prefetch.global.L2 [%0];" ::"l"(at)); }

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
__device__ __forceinline__ T axis_of(P p, P q, P r) {
    typedef Real<T> R;
    return R::high(R::high(R::low(R::low(p.x, q.x), r.x), -R::high(R::high(p.x, q.x), r.x)),
                   R::high(R::low(R::low(p.y, q.y), r.y), -R::high(R::high(p.y, q.y), r.y)));
}
template <typename T, typename P = typename Real<T>::Pair>
__device__ __forceinline__ Ask<T> ask(const Constraints<T>& c, T axis, P p, P q, P r, bool has_nonfinite) {
    typedef Real<T> R;
    // Nothing to keep where all is zero.
    const bool near = !(axis > c.bound_up) && !(is_zero<T>(p) && is_zero<T>(q) && is_zero<T>(r));
    const T corner = R::low(R::low(R::high(R::abs(p.x), R::abs(p.y)), R::high(R::abs(q.x), R::abs(q.y))),
                            R::high(R::abs(r.x), R::abs(r.y)));
    bool hard = !(axis > T(0)) || (!c.speculative && corner != axis);
    if (has_nonfinite) {
        auto is_finite = [](P k) { return R::finite(k.x) && R::finite(k.y); };
        hard |= !is_finite(p) || !is_finite(q) || !is_finite(r);
    }
    hard &= near;
    return {!near || (hard && !c.speculative) ? no_limit<T>() : c.speculative ? R::MAX : axis, hard};
}

// The limits of the vertices of a tile from the triangles that are not hard, and those that are as bits
// of rows of cells in the place of the masks. Says whether a vertex of the closed tile is zero or not
// finite, and whether a vertex inside has a limit.
struct Found {
    bool special, inside;
};
template <typename T>
__device__ __forceinline__ Found find_limits(const Job& job, const Constraints<T>& c, const TileShape& shape, u64 tile, bool has_nonfinite, bool has_special) {
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
    const T* const beside_u = u + (first || last ? side_u : 0);
    const T* const beside_v = v + (first || last ? side_v : 0);
    auto special = [](P p) { return !(Real<T>::finite(p.x) && Real<T>::finite(p.y)) || is_zero<T>(p); };
    bool any_special = false, any_inside = false;
    u32 lower_row = 0, upper_row = 0;
    const i32 top = shape.ty > 0 ? -1 : 0;
    // The row above: this lane's vertex, the next one and (in the first lane) the one before.
    P a = Real<T>::pair(T(0), T(0)), b = a, before = a;
    T above = no_limit<T>();
    // The rows come to the cache while the first ones are looked at. The loop is not unrolled: its code
    // must stay in the instruction cache.
    for (i32 y = top + lane; y < height; y += 32) {
        prefetch(u - (inside ? lane : 0) * (long long)job.u_layout.stride + y * pitch_u);
        prefetch(v - (inside ? lane : 0) * (long long)job.v_layout.stride + y * pitch_v);
    }
    P next = Real<T>::pair(u[top * pitch_u], v[top * pitch_v]), next_side = Real<T>::pair(beside_u[top * pitch_u], beside_v[top * pitch_v]);
#pragma unroll 1
    for (i32 y = top - 1; y < height; y++) {
        // Row y of cells lies between the row before and this one.
        const P d = next, z = next_side;
        if (y + 2 < height) {
            next = Real<T>::pair(u[(y + 2) * pitch_u], v[(y + 2) * pitch_v]);
            next_side = Real<T>::pair(beside_u[(y + 2) * pitch_u], beside_v[(y + 2) * pitch_v]);
        }
        {
            P e = Real<T>::pair(__shfl_down_sync(FULL, d.x, 1), __shfl_down_sync(FULL, d.y, 1));
            if (last || !cell) e = z;
            if (has_special && y + 1 >= 0 && y + 1 < height) any_special |= (inside && special(d)) || (last && special(e));
            if (y >= top) {
                const bool exists = y + 1 < height;
                const bool here = exists && cell, beside = exists && first;
                const T axis_lower = axis_of<T>(a, b, e), axis_upper = axis_of<T>(a, e, d);
                bool near = here && !(Real<T>::low(axis_lower, axis_upper) > c.bound_up);
                near |= beside && !(Real<T>::low(axis_of<T>(before, a, d), axis_of<T>(before, d, z)) > c.bound_up);
                Ask<T> lower = {no_limit<T>(), false}, upper = lower;
                T lower_before = no_limit<T>(), upper_before = no_limit<T>();
                if (c.preserve && __any_sync(FULL, near)) {
                    if (here) {
                        lower = ask<T>(c, axis_lower, a, b, e, has_nonfinite);
                        upper = ask<T>(c, axis_upper, a, e, d, has_nonfinite);
                    }
                    lower_before = __shfl_up_sync(FULL, lower.limit, 1);
                    upper_before = __shfl_up_sync(FULL, upper.limit, 1);
                    if (lane == 0) lower_before = upper_before = no_limit<T>();
                    if (beside) {
                        lower_before = ask<T>(c, axis_of<T>(before, a, d), before, a, d, has_nonfinite).limit;
                        upper_before = ask<T>(c, axis_of<T>(before, d, z), before, d, z, has_nonfinite).limit;
                    }
                    const u32 low = __ballot_sync(FULL, lower.hard), up = __ballot_sync(FULL, upper.hard);
                    if (lane == y) {
                        lower_row = low;
                        upper_row = up;
                    }
                }
                const T limit = Real<T>::low(above, Real<T>::low(lower_before, Real<T>::low(lower.limit, upper.limit)));
                if (y >= 0 && inside && y < TILE) limits[position_of(lane, y)] = limit;
                any_inside |= y > 0 && y < TILE && lane > 0 && is_tight(limit);
                above = Real<T>::low(lower_before, Real<T>::low(upper_before, upper.limit));
            }
            a = d;
            b = e;
            before = z;
        }
    }
    job.masks[tile * 64 + lane] = lower_row;
    job.masks[tile * 64 + TILE + lane] = upper_row;
    return {__any_sync(FULL, any_special) != 0, __any_sync(FULL, any_inside) != 0};
}

// Grid: tiles / 128. Block: 128, a thread for a tile. Lists plain tiles, and the limited ones; the lists
// have no order.
template <typename T>
__device__ __forceinline__ void sort_tiles(const Job& job) {
    Control& control = control_of(job);
    const u64 tile = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    const u32 lane = threadIdx.x & 31, before = (1u << lane) - 1;
    const bool exists = tile < job.tiles();
    bool plain = false;
    if (exists) plain = is_plain(job, tile_shape(job, tile), tile, job.preserve != PRESERVE_NONE ? control.bound_up : 0.0);
    const u32 plains = __ballot_sync(FULL, exists && plain), limited = __ballot_sync(FULL, exists && !plain);
    u64 at_plain = 0, at_limited = 0;
    if (lane == 0) {
        if (plains) at_plain = atomicAdd((unsigned long long*)&control.plain_tiles, (unsigned long long)__popc(plains));
        if (limited) at_limited = atomicAdd((unsigned long long*)&control.limited_tiles, (unsigned long long)__popc(limited));
    }
    at_plain = __shfl_sync(FULL, at_plain, 0);
    at_limited = __shfl_sync(FULL, at_limited, 0);
    if (!exists) return;
    if (plain)
        job.group_sizes[at_plain + __popc(plains & before)] = tile;
    else
        job.group_offsets[at_limited + __popc(limited & before)] = tile;
    job.info[tile] = plain ? ALL_CODED : 0;
    nearness_of(job, tile).kind = plain ? PLAIN_TILE : OTHER_TILE;
}

// Grid: any. Block: 128, a warp for a limited tile. Limits from triangles that are not hard; lists the
// whole tiles without zeros and missing values, from the end of the list of plain ones, and the others
// between these.
template <typename T>
__device__ __forceinline__ void limits(const Job& job) {
    Control& control = control_of(job);
    const Constraints<T> c = constraints_of<T>(job, control);
    const u64 count = control.limited_tiles, warps = (u64)gridDim.x * 4;
    for (u64 k = (u64)blockIdx.x * 4 + (threadIdx.x >> 5); k < count; k += warps) {
        const u64 tile = job.group_offsets[k];
        const TileShape shape = tile_shape(job, tile);
        const Found found = find_limits(job, c, shape, tile, control.nonfinite != 0, (control.nonfinite | control.zero) != 0);
        // Signatures are looked at where all vertices around are at hand.
        const bool whole = !(found.special || (c.speculative && found.inside)) && shape.last_x == TILE && shape.last_y == TILE;
        if ((threadIdx.x & 31) != 0) continue;
        const u64 before = atomicAdd((unsigned long long*)(whole ? &control.whole_tiles : &control.other_tiles), 1ull);
        job.group_sizes[whole ? job.tiles() - 1 - before : control.plain_tiles + before] = tile;
        if (whole) nearness_of(job, tile).kind = WHOLE_TILE;
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
    const u64 count = control.limited_tiles, warps = (u64)gridDim.x * 4;
    u32 critical = 0;
    for (u64 k = (u64)blockIdx.x * 4 + (threadIdx.x >> 5); k < count; k += warps) {
        const u64 tile = job.group_offsets[k];
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
