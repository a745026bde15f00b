// Entries that find out which vertices have a limit of their own, and what it is. The limits lie in the
// place of the words of the groups, in the order of the symbols: infinity where only the bound of the
// call counts, the largest value where signatures have to be looked at. Most vertices have none, and most of
// those none in memory: bit c of a tile's `limited` says whether positions 16 c to 16 c + 15 are there, all of them.
// Besides them those on its own lines (x or y is 0) are. Always there are positions below 272: the vertices with
// even coordinates, and the first row.
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

constexpr i32 LIMIT_CHUNK = 16;
constexpr u64 ALWAYS_LIMITED = (1ull << 17) - 1;
// The limit of a vertex that is not in the first column.
template <typename T>
__device__ __forceinline__ T limit_of(const T* limits, u64 limited, i32 position) {
    return limited >> (position / LIMIT_CHUNK) & 1 ? limits[position] : no_limit<T>();
}

// What comes nearer to the origin than this has limits, or is not like the rest.
__device__ __forceinline__ double near_bound(const Job& job, const Control& control) {
    return job.preserve != PRESERVE_NONE ? control.bound_up : 0.0;
}

// Whether a tile is plain: inside the grid with its closed block, and no triangle at a vertex of that
// within the bound of the origin. Such a tile has no zeros or missing values, and no limits.
__device__ inline bool is_plain(const Job& job, const TileShape& shape, u64 tile, double near) {
    if (shape.last_x != TILE || shape.last_y != TILE) return false;
    const bool border = shape.tx == 0 || shape.ty == 0 || shape.x0 + TILE == job.nx - 1 || shape.y0 + TILE == job.ny - 1;
    if ((job.halo | job.pin) && border) return false;
    const u64 across = job.tiles_x;
    bool plain = nearness_of(job, tile).all() > near && nearness_of(job, tile + 1).left > near &&
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

// The triangles that are hard, up to 32 of a tile together: tile << bits | which of its 32s. The list lies in
// the place of the payload.
constexpr i32 HARD_CHUNK_BITS = 6;
__device__ __forceinline__ u64* hard_chunks(const Job& job) { return reinterpret_cast<u64*>(job.payload); }

// The limits of the vertices of a tile from the triangles that are not hard, and those that are as bits
// of rows of cells in the place of the masks. Says whether a vertex of the closed tile is zero or not
// finite, and whether a vertex inside has a limit.
struct Found {
    bool special, inside;
};
template <typename T>
__device__ __forceinline__ Found find_limits(const Job& job, const Constraints<T>& c, const TileShape& shape, u64 tile, double bound,
                                             bool has_nonfinite, bool has_special) {
    typedef Real<T> R;
    typedef typename R::Pair P;
    const i32 lane = threadIdx.x & 31, width = shape.last_x + 1, height = shape.last_y + 1, top = shape.ty > 0 ? -1 : 0;
    const T none = no_limit<T>();
    T* const limits = limits_of<T>(job, tile);
    const bool inside = lane < width, cell = lane < width - 1 && lane < TILE - 1;
    const long long pitch_u = job.u_layout.pitch, pitch_v = job.v_layout.pitch;
    const long long stride_u = job.u_layout.stride, stride_v = job.v_layout.stride;
    const T* const corner_u = vertex_at<T>(job.u, job.u_layout, shape.x0, shape.y0);
    const T* const corner_v = vertex_at<T>(job.v, job.v_layout, shape.x0, shape.y0);
    // Rows of cells that come near the origin, the one above first, and the columns at the sides.
    const Nearness nearness = nearness_of(job, tile);
    u64 rows = top < 0 && !(nearness_of(job, tile - job.tiles_x).bottom > bound) ? 1 : 0;
#pragma unroll
    for (i32 band = 0; band < BANDS; band++)
        if (!(nearness.bands[band] > bound)) rows |= (u64)((1u << BAND_ROWS) - 1) << (1 + BAND_ROWS * band);
    // Those at the sides begin with a cell of a tile above, around whose corner it is.
    auto corner_is_near = [&](u64 other) { return !(nearness_of(job, other).bottom > bound || nearness_of(job, other).right > bound); };
    const bool has_side[2] = {shape.tx > 0, width == CLOSED};
    bool side_is_near[2] = {has_side[0] && !(nearness_of(job, tile - 1).right > bound), has_side[1] && !(nearness.right > bound)};
    if (top < 0) {
#pragma unroll
        for (i32 side = 0; side < 2; side++)
            if (has_side[side]) side_is_near[side] |= corner_is_near(tile - job.tiles_x - (side == 0));
    }
    // They come to the cache while the sides are looked at.
    if (lane < height && (rows | rows << 1) >> (1 + lane) & 1) {
        prefetch(corner_u + lane * pitch_u);
        prefetch(corner_v + lane * pitch_v);
    }
    // Most vertices have no limit. Where the grid ends inside the tile, its border may get some later.
    const bool all_limited = (job.halo | job.pin) && (shape.last_x < TILE || shape.last_y < TILE);
    u64 limited = all_limited ? ~0ull : ALWAYS_LIMITED;
#pragma unroll 4
    for (i32 k = 0; k < (all_limited ? TILE_VERTICES : 256) / 2; k += 32) reinterpret_cast<P*>(limits)[k + lane] = R::pair(none, none);
    if (lane < LIMIT_CHUNK) {
        limits[256 + lane] = none;
        limits[512 + LIMIT_CHUNK * lane] = none;
    }
    __syncwarp();
    auto load = [&](i32 x, i32 y) -> P { return R::pair(corner_u[x * stride_u + y * pitch_u], corner_v[x * stride_v + y * pitch_v]); };
    auto special = [](P p) { return !(R::finite(p.x) && R::finite(p.y)) || is_zero<T>(p); };
    bool any_special = false, any_inside = false;
    u32 lower_row = 0, upper_row = 0;
    // Limits of the vertices (0, lane) from the column of cells before, and of (31, lane) from the last
    // column: a lane for a row.
    T sides[2] = {none, none};
#pragma unroll
    for (i32 side = 0; side < 2; side++) {
        if (!side_is_near[side]) continue;
        const i32 x = side == 0 ? -1 : TILE - 1, y = lane < height ? lane : height - 1;
        const P a = load(x, y), b = load(x + 1, y);
        P d = R::pair(__shfl_down_sync(FULL, a.x, 1), __shfl_down_sync(FULL, a.y, 1));
        P e = R::pair(__shfl_down_sync(FULL, b.x, 1), __shfl_down_sync(FULL, b.y, 1));
        if (lane == TILE - 1 && height == CLOSED) {
            d = load(x, TILE);
            e = load(x + 1, TILE);
        }
        // The cell above the first row, in the first lane.
        P above_a = a, above_b = b;
        if (lane == 0 && top < 0) {
            above_a = load(x, top);
            above_b = load(x + 1, top);
        }
        const bool exists = lane + 1 < height, first = lane == 0 && top < 0;
        if (side == 1 && has_special) any_special = special(b) || (exists && special(e));
        const T axis_lower = axis_of<T>(a, b, e), axis_upper = axis_of<T>(a, e, d);
        const T axis_above_lower = axis_of<T>(above_a, above_b, b), axis_above_upper = axis_of<T>(above_a, b, a);
        const bool near = (exists && !(R::low(axis_lower, axis_upper) > c.bound_up)) ||
                          (first && !(R::low(axis_above_lower, axis_above_upper) > c.bound_up));
        if (!c.preserve || !__any_sync(FULL, near)) continue;
        Ask<T> lower = {none, false}, upper = lower;
        if (exists) {
            lower = ask<T>(c, axis_lower, a, b, e, has_nonfinite);
            upper = ask<T>(c, axis_upper, a, e, d, has_nonfinite);
        }
        T lower_above = __shfl_up_sync(FULL, lower.limit, 1), upper_above = __shfl_up_sync(FULL, upper.limit, 1);
        if (lane == 0) lower_above = upper_above = none;
        if (first) {
            lower_above = ask<T>(c, axis_above_lower, above_a, above_b, b, has_nonfinite).limit;
            upper_above = ask<T>(c, axis_above_upper, above_a, b, a, has_nonfinite).limit;
        }
        sides[side] = R::low(lower.limit, R::low(upper_above, side == 0 ? lower_above : upper.limit));
        if (side == 1) {
            lower_row = (u32)lower.hard << 31;
            upper_row = (u32)upper.hard << 31;
        }
    }
    // The bounds lower limits of the corners of hard triangles.
    const u32 hard_upper = __ballot_sync(FULL, upper_row != 0), side_hard = __ballot_sync(FULL, (lower_row | upper_row) != 0) | hard_upper << 1;
    const u32 side_rows = __ballot_sync(FULL, is_tight(sides[0]) || is_tight(sides[1])) | side_hard;

    // The cells between, row by row, where one of them or of those above is near. The loop is not unrolled: its code
    // must stay in the instruction cache.
    auto beside = [](P p) -> P { return R::pair(__shfl_down_sync(FULL, p.x, 1), __shfl_down_sync(FULL, p.y, 1)); };
    const i32 end = height < TILE ? height : TILE;
    rows = (rows | rows << 1 | (u64)side_rows << 1) & ((2ull << end) - 1);
#pragma unroll 1
    while (rows) {
        const i32 first = __ffsll((long long)rows) - 1, last = __ffsll((long long)~(rows >> first)) - 1 + first;
        rows &= ~0ull << last;
        const T* u = corner_u + (inside ? lane : 0) * stride_u + (first - 1) * pitch_u;
        const T* v = corner_v + (inside ? lane : 0) * stride_v + (first - 1) * pitch_v;
        // Two rows are on their way while one is looked at.
        P a = R::pair(*u, *v), next = a, after = a;
        if (first < height) next = after = R::pair(u[pitch_u], v[pitch_v]);
        if (first + 1 < height) after = R::pair(u[2 * pitch_u], v[2 * pitch_v]);
        u += 2 * pitch_u, v += 2 * pitch_v;
        P b = beside(a);
        P low_a = R::pair(R::low(a.x, b.x), R::low(a.y, b.y)), high_a = R::pair(R::high(a.x, b.x), R::high(a.y, b.y));
        if (has_special && first > 0) any_special |= inside && special(a);
        T above = none;
        bool above_near = false;
        u32 hard_above = 0;
#pragma unroll 1
        for (i32 y = first - 1; y < last - 1; y++) {
            const bool exists = y + 1 < height;
            const P d = next;
            next = after;
            if (y + 3 < height) {
                u += pitch_u, v += pitch_v;
                after = R::pair(*u, *v);
            }
            const P e = beside(d);
            if (has_special) any_special |= inside && special(d);
            const P low_d = R::pair(R::low(d.x, e.x), R::low(d.y, e.y)), high_d = R::pair(R::high(d.x, e.x), R::high(d.y, e.y));
            // The box around the cell.
            const P low = R::pair(R::low(low_a.x, low_d.x), R::low(low_a.y, low_d.y));
            const P high = R::pair(R::high(high_a.x, high_d.x), R::high(high_a.y, high_d.y));
            const T distance = R::high(R::high(low.x, -high.x), R::high(low.y, -high.y));
            const bool zero = !has_nonfinite && is_zero<T>(low) && is_zero<T>(high);
            const bool near = exists && cell && !(distance > c.bound_up) && !zero;
            const bool any_near = c.preserve && __any_sync(FULL, near), on_side = y >= 0 && side_rows >> y & 1;
            if (any_near || above_near || on_side) {
                Ask<T> lower = {none, false}, upper = lower;
                u32 lowered = hard_above;
                hard_above = 0;
                if (any_near) {
                    if (near) {
                        lower = ask<T>(c, axis_of<T>(a, b, e), a, b, e, has_nonfinite);
                        upper = ask<T>(c, axis_of<T>(a, e, d), a, e, d, has_nonfinite);
                    }
                    const u32 low_bits = __ballot_sync(FULL, lower.hard), up_bits = __ballot_sync(FULL, upper.hard);
                    if (lane == y) {
                        lower_row |= low_bits;
                        upper_row |= up_bits;
                    }
                    lowered |= low_bits | low_bits << 1 | up_bits;
                    hard_above = low_bits << 1 | up_bits | up_bits << 1;
                }
                T lower_before = __shfl_up_sync(FULL, lower.limit, 1), upper_before = __shfl_up_sync(FULL, upper.limit, 1);
                if (lane == 0) lower_before = upper_before = none;
                T limit = R::low(R::low(above, lower_before), R::low(lower.limit, upper.limit));
                if (on_side) {
                    const T first = __shfl_sync(FULL, sides[0], y), last = __shfl_sync(FULL, sides[1], y);
                    if (lane == 0) limit = R::low(limit, first);
                    if (lane == TILE - 1) limit = R::low(limit, last);
                }
                const bool tight = is_tight(limit);
                if (on_side) lowered |= side_hard >> y << 31;
                lowered |= __ballot_sync(FULL, tight);
                if (y >= 0 && lowered) {
                    // All of a chunk is written where some of it is not on a line.
                    constexpr u32 EVENS = 0x55555554, ODDS = 0xaaaaaaaa;
                    const bool of_odd = lowered & ODDS, of_even = y & 1 && lowered & EVENS;
                    if (of_odd) limited |= 1ull << (y & 1 ? 48 : 16) + (y >> 1);
                    if (of_even) limited |= 1ull << 32 + (y >> 1);
                    if (tight || (lane & 1 ? of_odd : of_even)) limits[position_of(lane, y)] = limit;
                    any_inside |= y > 0 && lane > 0 && tight;
                }
                above = R::low(lower_before, R::low(upper_before, upper.limit));
                above_near = any_near;
            }
            a = d;
            b = e;
            low_a = low_d;
            high_a = high_d;
        }
    }
    if (lane == 0) nearness_of(job, tile).limited = limited;
    job.masks[tile * 64 + lane] = lower_row;
    job.masks[tile * 64 + TILE + lane] = upper_row;
    // The list of the bounds takes 32 of them a time.
    const u32 hard = warp_sum(__popc(lower_row) + __popc(upper_row)), chunks = (hard + 31) / 32;
    if (chunks) {
        u64 at = 0;
        if (lane == 0) at = atomicAdd((unsigned long long*)&control_of(job).hard_chunks, (unsigned long long)chunks);
        at = __shfl_sync(FULL, at, 0);
        for (u32 k = lane; k < chunks; k += 32) hard_chunks(job)[at + k] = tile << HARD_CHUNK_BITS | k;
    }
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
    if (exists) plain = is_plain(job, tile_shape(job, tile), tile, near_bound(job, control));
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
    // The kernel before is the tuning, beside which this one works, or what this one needs.
    if (job.predictor == PREDICTOR_LORENZO) wait_for_kernel_before();
    Control& control = control_of(job);
    const Constraints<T> c = constraints_of<T>(job, control);
    const u64 count = control.limited_tiles, warps = (u64)gridDim.x * 4;
    for (u64 k = (u64)blockIdx.x * 4 + (threadIdx.x >> 5); k < count; k += warps) {
        const u64 tile = job.group_offsets[k];
        const TileShape shape = tile_shape(job, tile);
        const Found found = find_limits(job, c, shape, tile, near_bound(job, control), control.nonfinite != 0, (control.nonfinite | control.zero) != 0);
        // Signatures are looked at where all vertices around are at hand.
        const bool whole = !(found.special || (c.speculative && found.inside)) && shape.last_x == TILE && shape.last_y == TILE;
        if ((threadIdx.x & 31) != 0) continue;
        const u64 before = atomicAdd((unsigned long long*)(whole ? &control.whole_tiles : &control.other_tiles), 1ull);
        job.group_sizes[whole ? job.tiles() - 1 - before : control.plain_tiles + before] = tile;
        if (whole) nearness_of(job, tile).kind = WHOLE_TILE;
    }
    end_beside();
}

// The limit of the vertex (x, y) of a closed tile, which may belong to one of the tiles behind.
template <typename T>
__device__ __forceinline__ T* limit_at(const Job& job, u64 tile, i32 x, i32 y) {
    if (x == TILE) tile++, x = 0;
    if (y == TILE) tile += job.tiles_x, y = 0;
    return limits_of<T>(job, tile) + position_of(x, y);
}

// The limit of the vertices of a triangle near the origin. Whether it is critical.
template <typename T>
__device__ __forceinline__ bool limit_triangle(const Job& job, const Constraints<T>& c, u64 tile, i32 x, i32 y, i32 triangle) {
    const TileShape shape = tile_shape(job, tile);
    Corners<T> p;
#pragma unroll
    for (i32 k = 0; k < 3; k++) {
        const u64 gx = shape.x0 + x + corner_x(triangle, k), gy = shape.y0 + y + corner_y(triangle, k);
        p.u[k] = *vertex_at<T>(job.u, job.u_layout, gx, gy);
        p.v[k] = *vertex_at<T>(job.v, job.v_layout, gx, gy);
    }
    // Signatures are looked at in place of limits.
    if (c.speculative) return is_inside(p);
    const TriangleBound<T> bound = triangle_bound<T>(p, triangle, c.rule, c.bound);
#pragma unroll
    for (i32 k = 0; k < 3; k++)
        lower_to(limit_at<T>(job, tile, x + corner_x(triangle, k), y + corner_y(triangle, k)), bound.limit);
    return bound.inside;
}

// Grid: any. Block: 128, a warp for 32 triangles of the list. Limits of vertices, and the critical points.
template <typename T>
__device__ __forceinline__ void bounds(const Job& job) {
    Control& control = control_of(job);
    const Constraints<T> c = constraints_of<T>(job, control);
    const i32 lane = threadIdx.x & 31;
    const u64 start = (u64)blockIdx.x * 4 + (threadIdx.x >> 5), warps = (u64)gridDim.x * 4, chunks = control.hard_chunks;
    __shared__ u32 all_critical;
    if (threadIdx.x == 0) all_critical = 0;
    __syncthreads();
    u32 critical = 0;
    // The next chunk is on its way while one is looked at.
    u64 next = 0;
    u32 next_lower = 0, next_upper = 0;
    auto fetch = [&](u64 k) {
        if (k >= chunks) return;
        next = hard_chunks(job)[k];
        const u32* const rows = job.masks + (next >> HARD_CHUNK_BITS) * 64 + lane;
        next_lower = rows[0];
        next_upper = rows[TILE];
    };
    fetch(start);
    for (u64 k = start; k < chunks; k += warps) {
        const u64 entry = next, tile = entry >> HARD_CHUNK_BITS;
        const u32 lower = next_lower, upper = next_upper;
        fetch(k + warps);
        u32 up_to = __popc(lower) + __popc(upper);
#pragma unroll
        for (i32 d = 1; d < 32; d *= 2) {
            const u32 before = __shfl_up_sync(FULL, up_to, d);
            if (lane >= d) up_to += before;
        }
        // The row of the lane's triangle, then which of its row.
        const u32 number = (u32)(entry & ((1 << HARD_CHUNK_BITS) - 1)) * 32 + lane;
        i32 y = 0;
#pragma unroll
        for (i32 d = 16; d > 0; d /= 2)
            if (__shfl_sync(FULL, up_to, y + d - 1) <= number) y += d;
        const bool exists = number < __shfl_sync(FULL, up_to, 31);
        const u32 lowers = __shfl_sync(FULL, lower, y), uppers = __shfl_sync(FULL, upper, y);
        u32 left = number - (__shfl_sync(FULL, up_to, y) - __popc(lowers) - __popc(uppers));
        const bool is_upper = left >= (u32)__popc(lowers);
        if (is_upper) left -= __popc(lowers);
        const u32 row = is_upper ? uppers : lowers;
        i32 x = 0;
#pragma unroll
        for (i32 d = 16; d > 0; d /= 2) {
            const u32 n = __popc(row >> x & ((1u << d) - 1));
            if (left >= n) {
                left -= n;
                x += d;
            }
        }
        if (exists) critical += limit_triangle<T>(job, c, tile, x, y, is_upper ? UPPER : LOWER);
    }
    if (job.halo | job.pin) {
        for (u64 k = start; k < control.limited_tiles; k += warps) {
            // Owned vertices on the border of the grid.
            const u64 tile = job.group_offsets[k];
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
    // A block at a time: all of them add to the same word.
    critical = warp_sum(critical);
    if (lane == 0 && critical) atomicAdd(&all_critical, critical);
    __syncthreads();
    if (threadIdx.x == 0 && all_critical) atomicAdd((unsigned long long*)&control.critical, (unsigned long long)all_critical);
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
