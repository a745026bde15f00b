// Entries that find out which vertices have a limit of their own, and what it is. The limits lie in the
// place of the words of the groups, in the order of the symbols: infinity where only the bound of the
// call counts, the largest value where signatures have to be looked at. Most vertices have none, and most of
// those none in memory: bit c of a tile's `limited` says whether positions 16 c to 16 c + 15 are there, all
// of them. Besides them those on its own lines (x or y is 0) are. Always there are positions below 272: the
// vertices with even coordinates, and the first row.
#pragma once
#include "compress/front.cuh"
#include "tile/encode.cuh"

template <typename T>
__device__ __forceinline__ T* limits_of(const Job& job, u64 tile) {
    return BoundsView<T>(job).vertex_bounds(tile);
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

// Which cells at the vertices of a tile come near the origin: those of the row above, of its bands of rows,
// of the column before, and of its last column. A byte for each limited tile, in the place of the symbols.
enum : u32 {
    NEAR_ABOVE = 1,
    NEAR_BAND = 2,
    NEAR_BEFORE = NEAR_BAND << BANDS,
    NEAR_END = NEAR_BEFORE << 1,
    ALL_BANDS = NEAR_BEFORE - NEAR_BAND
};
__device__ __forceinline__ u32 near_cells(const Job& job, const TileShape& shape, u64 tile, double near) {
    const u64 left = shape.tx > 0 ? 1 : 0, up = shape.ty > 0 ? job.tiles_x : 0;
    const Nearness &own = nearness_of(job, tile), &last = nearness_of(job, tile - left),
                   &over = nearness_of(job, tile - up);
    const Nearness& corner = nearness_of(job, tile - up - left);
    u32 cells = up && !(over.bottom > near) ? NEAR_ABOVE : 0;
#pragma unroll
    for (i32 band = 0; band < BANDS; band++)
        if (!(own.bands[band] > near)) cells |= NEAR_BAND << band;
    // The column before begins with a cell of the tile above, around whose corner it is.
    if (left && (!(last.right > near) || (up && !(corner.bottom > near || corner.right > near))))
        cells |= NEAR_BEFORE;
    if (shape.last_x == TILE && (!(own.right > near) || (up && !(over.bottom > near || over.right > near))))
        cells |= NEAR_END;
    return cells;
}

// Whether a tile may be plain: inside the grid with its closed block.
__device__ __forceinline__ bool may_be_plain(const Job& job, const TileShape& shape) {
    const bool border =
        shape.tx == 0 || shape.ty == 0 || shape.x0 + TILE == job.nx - 1 || shape.y0 + TILE == job.ny - 1;
    return shape.last_x == TILE && shape.last_y == TILE && !((job.halo | job.pin) && border);
}
// How near the triangles at the vertices of such a closed block come to the origin, at least. A tile where
// that is beyond the bound is plain: it has no zeros or missing values, and no limits.
__device__ __forceinline__ float least_nearness(const Job& job, const TileShape& shape, u64 tile) {
    // All of them are on their way at once. Where there is none, the tile itself is in its place.
    const u64 across = job.tiles_x, left = shape.tx > 0 ? 1 : 0, up = shape.ty > 0 ? across : 0;
    const Nearness &own = nearness_of(job, tile), &next = nearness_of(job, tile + 1),
                   &under = nearness_of(job, tile + across);
    const Nearness &last = nearness_of(job, tile - left), &over = nearness_of(job, tile - up);
    // Around corners one cell matters, which is on two sides of its tile.
    const Nearness &after = nearness_of(job, tile + across + 1),
                   &below = nearness_of(job, tile + across - left);
    const Nearness &above = nearness_of(job, tile - up + 1), &before = nearness_of(job, tile - up - left);
    const float none = Real<float>::from_bits(0x7f800000ull);
    float least = fminf(fminf(own.all(), fminf(next.left, under.top)), fmaxf(after.top, after.left));
    least = fminf(least, left ? fminf(last.right, fmaxf(below.top, below.right)) : none);
    least = fminf(least, up ? fminf(over.bottom, fmaxf(above.bottom, above.left)) : none);
    return fminf(least, left && up ? fmaxf(before.bottom, before.right) : none);
}

template <typename T>
__device__ __forceinline__ bool is_zero(typename Real<T>::Pair p) {
    return p.x == T(0) && p.y == T(0);
}

// The limits of a tile are found by two warps, each of which has half of its rows.
constexpr i32 LIMIT_ROWS = TILE / 2;

// The list of the triangles that are hard lies in the place of the payload: tile << 11 | y << 6 | x << 1 |
// which of its cell. Where there are more tiles than that leaves bits for, 32 of the list are of one tile,
// and a word in the place of the masks says of which beyond those bits, and how many there are: tile >> bits
// | (count - 1) << 27.
constexpr i32 HARD_TILE_BITS = 21;
__device__ __forceinline__ u32* hard_triangles(const Job& job) { return ListsView(job).hard_triangles(); }
__device__ __forceinline__ bool few_tiles(const Job& job) { return job.tiles() <= 1ull << HARD_TILE_BITS; }

// Findings of half a tile: vertices of the closed tile that are zero, missing or have a sign to keep and,
// where there are such ones, others in the rows that are looked at, limits inside, and which rows have their
// limits in memory; which triangles are hard, lower and upper ones, a lane for a row.
struct Found {
    u32 special, nonzero, inside, rows;
    u32 lowers, uppers;
};

// A closed tile with the row and the column before it, and what the second half is found to be.
template <typename T>
struct LimitShared {
    typedef typename Real<T>::Pair P;
    static constexpr i32 PITCH = CLOSED + 3;
    alignas(16) T u[CLOSED + 1][PITCH], v[CLOSED + 1][PITCH];
    T before_u[CLOSED + 1], before_v[CLOSED + 1];
    u32 special, nonzero, inside, rows;
    u32 lowers[LIMIT_ROWS], uppers[LIMIT_ROWS];

    __device__ __forceinline__ P at(i32 x, i32 y) const { return Real<T>::pair(u[y + 1][x], v[y + 1][x]); }
    __device__ __forceinline__ P before(i32 y) const {
        return Real<T>::pair(before_u[y + 1], before_v[y + 1]);
    }
};

// The least and the largest of two vertices, on both axes.
template <typename T>
struct Hull {
    T low_u, high_u, low_v, high_v;
    template <typename P>
    __device__ __forceinline__ Hull(P p, P q) {
        typedef Real<T> R;
        low_u = R::low(p.x, q.x), high_u = R::high(p.x, q.x);
        low_v = R::low(p.y, q.y), high_v = R::high(p.y, q.y);
    }
    // Distance from the origin to the box around these and another one; negative inside.
    template <typename P>
    __device__ __forceinline__ T axis(P p) const {
        typedef Real<T> R;
        return R::high(R::high(R::low(low_u, p.x), -R::high(high_u, p.x)),
            R::high(R::low(low_v, p.y), -R::high(high_v, p.y)));
    }
};

// Asks for the rows of a tile whose bits are set, that before it first, and of the columns at the sides what
// is needed, by two warps. ALIGNED where the tile has all its columns, and sixteen bytes of them can be
// copied at once.
template <bool ALIGNED, typename T>
__device__ __forceinline__ void ask_for_rows(const Job& job, const TileShape& shape, u64 rows,
    bool before_is_near, bool end_is_near, LimitShared<T>& shared) {
    const i32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const long long pitch_u = job.u_layout.pitch, pitch_v = job.v_layout.pitch;
    // So many bytes at once, of so many rows.
    constexpr i32 BYTES = ALIGNED ? 16 : sizeof(T), COLUMNS = BYTES / sizeof(T), ROWS = COLUMNS,
                  TIMES = (CLOSED + 1 + 2 * ROWS - 1) / (2 * ROWS);
    const i32 first = ROWS * warp + lane * COLUMNS / TILE, column = lane * COLUMNS % TILE;
    const T* u = vertex_at<T>(job.u, job.u_layout, shape.x0 + column, (long long)shape.y0 - 1 + first);
    const T* v = vertex_at<T>(job.v, job.v_layout, shape.x0 + column, (long long)shape.y0 - 1 + first);
    const u64 mine = ALIGNED || column <= shape.last_x ? rows >> first : 0;
    T *const to_u = &shared.u[first][column], *const to_v = &shared.v[first][column];
#pragma unroll
    for (i32 i = 0; i < TIMES; i++) {
        if (mine >> 2 * ROWS * i & 1) {
            copy_ahead<BYTES>(to_u + 2 * ROWS * i * shared.PITCH, u);
            copy_ahead<BYTES>(to_v + 2 * ROWS * i * shared.PITCH, v);
        }
        u += 2 * ROWS * pitch_u, v += 2 * ROWS * pitch_v;
    }
    // At a side a lane has a row, the first ones two.
    if (!(warp == 0 ? before_is_near : end_is_near)) return;
    const long long x = (long long)shape.x0 + (warp == 0 ? -1 : TILE);
    const T* side_u = vertex_at<T>(job.u, job.u_layout, x, (long long)shape.y0 - 1 + lane);
    const T* side_v = vertex_at<T>(job.v, job.v_layout, x, (long long)shape.y0 - 1 + lane);
    T* const side_to_u = warp == 0 ? shared.before_u : &shared.u[0][TILE];
    T* const side_to_v = warp == 0 ? shared.before_v : &shared.v[0][TILE];
    const i32 pitch = warp == 0 ? 1 : shared.PITCH;
#pragma unroll
    for (i32 row = lane; row < CLOSED + 1; row += 32) {
        if (row > shape.last_y + 1) break;
        const bool is_there = rows >> row & 1;
        if (warp == 0 ? row > 0 || shape.ty > 0 : is_there) {
            copy_ahead<sizeof(T)>(side_to_u + row * pitch, side_u);
            copy_ahead<sizeof(T)>(side_to_v + row * pitch, side_v);
            // The cells of the column before are looked at in all rows.
            if (warp == 0 && !is_there) {
                copy_ahead<sizeof(T)>(&shared.u[row][0], side_u + job.u_layout.stride);
                copy_ahead<sizeof(T)>(&shared.v[row][0], side_v + job.v_layout.stride);
            }
        }
        side_u += 32 * pitch_u, side_v += 32 * pitch_v;
    }
}

// The limits of the vertices of half a tile from the triangles that are not hard, and those that are: a
// triangle whose hull comes nearest to the origin with a corner has that distance as its bound (no edge is
// farther away); others near the origin are hard, their bound takes determinants. In the speculative mode
// those are hard whose hull has the origin inside. Rows are those of cells to look at, the one before the
// tile first; where the last column of cells is far, the one behind it is not there. SIMPLE where no vertex
// is missing or has a sign to keep and limits are looked for, not signatures.
template <bool SIMPLE, typename T>
__device__ __forceinline__ Found find_limits(const Job& job, const Constraints<T>& c, const TileShape& shape,
    u64 tile, i32 half, u64 rows_of_tile, bool before_is_near, bool end_is_near, LimitShared<T>& shared,
    u32 any_rare, u32 has_special, bool lossless) {
    typedef Real<T> R;
    typedef typename R::Pair P;
    const T none = no_limit<T>();
    T* const limits = limits_of<T>(job, tile);
    const u32 speculative = SIMPLE ? 0 : warp_or(c.speculative), has_rare = SIMPLE ? 0 : any_rare;
    const i32 lane = threadIdx.x & 31, start = LIMIT_ROWS * half,
              columns = (i32)warp_or(shape.last_x < TILE || end_is_near ? shape.last_x : TILE - 1),
              cells = c.preserve ? columns : 0;
    const T bound_up = R::from_bits(uniform(R::bits(c.bound_up)));
    // How far a vertex is from the origin. Of one that is missing or has a sign to keep, no triangle is easy,
    // nor zero.
    auto is_rare = [&](P p) {
        return is_missing(p.x, p.y, job.fill) || (lossless && has_negative_zero(p.x, p.y));
    };
    auto size_of = [&](P p) -> T {
        return has_rare && is_rare(p) ? -none : R::high(R::abs(p.x), R::abs(p.y));
    };
    u32 special = 0, nonzero = 0, inside = 0, hard_of_lower = 0, hard_of_upper = 0, written = 0;
    // Lanes without a cell are far from it.
    const T near = lane < cells ? bound_up : -none;
    const u32 cell_lanes = cells > 0 ? ~0u >> (32 - cells) : 0;
    auto write = [&](i32 y, T limit) {
        limits[POSITIONS.at[TILE * y + lane]] = limit;
        written |= 1u << (y - start);
        if (speculative && y > 0) inside |= __ballot_sync(FULL, is_tight(limit)) & ~1u;
    };
    // The row of cells before belongs to others, but has triangles at vertices of the half. The last row of
    // the grid has none. The loop is not unrolled: its code must stay in the instruction cache.
    u32 rows = (u32)(rows_of_tile >> start) & ((2u << LIMIT_ROWS) - 1);
    const i32 rows_of_cells = shape.last_y - start < LIMIT_ROWS ? shape.last_y - start : LIMIT_ROWS;
#pragma unroll 1
    while (rows) {
        const i32 first = __ffs(rows) - 1, last = __ffs(~(rows >> first)) - 1 + first;
        rows &= ~0u << last;
        const i32 beside = lane < columns ? 1 : 0;
        const T *u = &shared.u[start + first][lane], *v = &shared.v[start + first][lane];
        P a = R::pair(u[0], v[0]), b = R::pair(u[beside], v[beside]);
        Hull<T> hull_a(a, b);
        T size_a = size_of(a), size_b = size_of(b);
        u32 zero_a = 0, zero_b = 0;
        auto look_at = [&](T size_a, T size_b, u32& zero_a, u32& zero_b) {
            if (!has_special) return;
            zero_a = __ballot_sync(FULL, size_a == T(0));
            zero_b = __ballot_sync(FULL, size_b == T(0));
            special |= zero_a | zero_b;
            nonzero |= ~zero_a;
            if (has_rare) special |= __ballot_sync(FULL, size_a < T(0) || size_b < T(0));
        };
        look_at(size_a, size_b, zero_a, zero_b);
        // The row before the tile is not its own.
        if (first == 0 && !half) special = nonzero = 0;
        T above = none;
        u32 near_above = 0;
        i32 y = start + first - 1;
        const i32 end = start + (last - 1 < rows_of_cells ? last - 1 : rows_of_cells);
#pragma unroll 1
        for (; y < end; y++) {
            u += shared.PITCH, v += shared.PITCH;
            const P d = R::pair(u[0], v[0]), e = R::pair(u[beside], v[beside]);
            const Hull<T> hull_d(d, e);
            const T size_d = size_of(d), size_e = size_of(e);
            u32 zero_d = 0, zero_e = 0;
            look_at(size_d, size_e, zero_d, zero_e);
            const T axis_lower = hull_a.axis(e), axis_upper = hull_d.axis(a);
            // Nothing to keep where all is zero.
            const u32 zeros = zero_a & zero_e;
            const u32 lowers = __ballot_sync(FULL, !(axis_lower > near)) & cell_lanes & ~(zeros & zero_b);
            const u32 uppers = __ballot_sync(FULL, !(axis_upper > near)) & cell_lanes & ~(zeros & zero_d);
            if (lowers | uppers | near_above) {
                near_above = lowers | uppers;
                const T size = R::low(size_a, size_e);
                const bool easy_lower = (axis_lower <= near) & (axis_lower > T(0)) &
                                        (speculative || axis_lower == R::low(size_b, size));
                const bool easy_upper = (axis_upper <= near) & (axis_upper > T(0)) &
                                        (speculative || axis_upper == R::low(size_d, size));
                T limit_lower = easy_lower ? axis_lower : none, limit_upper = easy_upper ? axis_upper : none;
                const u32 hard_lowers = lowers & ~__ballot_sync(FULL, easy_lower),
                          hard_uppers = uppers & ~__ballot_sync(FULL, easy_upper);
                if (speculative) {
                    limit_lower = lowers >> lane & 1 ? R::MAX : none;
                    limit_upper = uppers >> lane & 1 ? R::MAX : none;
                }
                T lower_before = __shfl_up_sync(FULL, limit_lower, 1);
                const T upper_before = __shfl_up_sync(FULL, limit_upper, 1);
                // The first lane gets its own.
                if (lane == 0) lower_before = none;
                const T both = R::low(lower_before, limit_upper),
                        limit = R::low(R::low(above, both), limit_lower);
                above = R::low(both, upper_before);
                if (y >= start) {
                    if (lane == y - start) hard_of_lower = hard_lowers, hard_of_upper = hard_uppers;
                    write(y, limit);
                }
            }
            a = d, b = e;
            hull_a = hull_d;
            size_a = size_d, size_b = size_e;
            zero_a = zero_d, zero_b = zero_e;
        }
        if (near_above && y < start + last - 1) write(y, above);
    }
    // The column of cells before, a lane for a row.
    if (before_is_near && c.preserve) {
        const i32 top = shape.ty > 0 || half ? -1 : 0, y = lane - 1;
        T lower = none, upper = none;
        if (y >= top && y < rows_of_cells) {
            const P a = shared.before(start + y), b = shared.at(0, start + y),
                    d = shared.before(start + y + 1), e = shared.at(0, start + y + 1);
            const T size_a = size_of(a), size_b = size_of(b), size_d = size_of(d), size_e = size_of(e);
            auto corner_limit = [&](T axis, T size) -> T {
                if (speculative)
                    return !(axis > bound_up) && !(size_a == T(0) && size_e == T(0) && size == T(0)) ? R::MAX
                                                                                                     : none;
                return !(axis > bound_up) && axis > T(0) && axis == R::low(R::low(size_a, size_e), size)
                           ? axis
                           : none;
            };
            lower = corner_limit(Hull<T>(a, b).axis(e), size_b);
            upper = corner_limit(Hull<T>(d, e).axis(a), size_d);
        }
        const T lower_above = __shfl_up_sync(FULL, lower, 1), upper_above = __shfl_up_sync(FULL, upper, 1);
        const T limit = R::low(lower, R::low(lower_above, upper_above));
        __syncwarp();
        if (lane > 0 && lane <= LIMIT_ROWS && is_tight(limit))
            lower_to(limits + position_of(0, start + y), limit);
    }
    return {special, nonzero, inside, written, hard_of_lower, hard_of_upper};
}

// Grid: 1 + tiles / (32 * SORT_WARPS). Block: 32 * SORT_WARPS, a thread for a tile. Lists plain tiles, and
// the limited ones; the lists have no order. The first block decides on the bound, which all others find for
// themselves.
template <typename T>
__device__ __forceinline__ void sort_tiles(const Job& job) {
    const ListsView work(job);
    if (blockIdx.x == 0) return decide<T>(job);
    Control& control = control_of(job);
    const u64 tile = (u64)(blockIdx.x - 1) * (32 * SORT_WARPS) + threadIdx.x;
    const u32 lane = threadIdx.x & 31, before = (1u << lane) - 1;
    const bool exists = tile < job.tiles();
    const TileShape shape = tile_shape(job, exists ? tile : 0);
    const bool may_be = exists && may_be_plain(job, shape);
    float least = -1;
    if (may_be) least = least_nearness(job, shape, tile);
    const double near = near_bound(job, (double)round_up<T>(useful_bound_of(job, range_of_all<T>(job))));
    const bool plain = may_be && least > near;
    const u32 cells = exists && !plain ? near_cells(job, shape, tile, near) : 0;
    const u32 plains = __ballot_sync(FULL, exists && plain), limited = __ballot_sync(FULL, exists && !plain);
    // A block at a time: all of them add to the same words.
    __shared__ u32 counts[SORT_WARPS];  // plain ones, and limited ones above
    __shared__ u64 at[2];
    if (lane == 0) counts[threadIdx.x >> 5] = __popc(plains) | __popc(limited) << 16;
    __syncthreads();
    // Those of the warps before, in all lanes; the last warp knows all.
    const u32 warp = threadIdx.x >> 5, mine = lane <= warp && lane < SORT_WARPS ? counts[lane] : 0;
    const u32 up_to_me = warp_sum(mine), before_me = up_to_me - counts[warp];
    if (warp == SORT_WARPS - 1 && lane < 2)
        at[lane] = atomicAdd((unsigned long long*)(lane ? &control.limited_tiles : &control.plain_tiles),
            (unsigned long long)(up_to_me >> 16 * lane & 0xffff));
    __syncthreads();
    const u64 at_plain = at[0] + (before_me & 0xffff), at_limited = at[1] + (before_me >> 16);
    if (!exists) return;
    if (plain) {
        work.tile_lists()[at_plain + __popc(plains & before)] = tile;
    } else {
        const u64 at = at_limited + __popc(limited & before);
        work.constrained()[at] = tile;
        work.near_cells()[at] = (u8)cells;
    }
    work.headers()[tile] = plain ? ALL_CODED : 0;
    nearness_of(job, tile).kind = plain ? PLAIN_TILE : OTHER_TILE;
}

// Rows of vertices with cells that come near the origin above or below, the one before the tile first.
__device__ __forceinline__ u64 near_rows(const TileShape& shape, u32 cells) {
    u64 rows = cells & NEAR_ABOVE;
#pragma unroll
    for (i32 band = 0; band < BANDS; band++)
        if (cells & NEAR_BAND << band) rows |= (u64)((1u << BAND_ROWS) - 1) << (1 + BAND_ROWS * band);
    return (rows | rows << 1) & ((2ull << (shape.last_y < TILE ? shape.last_y + 1 : TILE)) - 1);
}

// Puts the hard triangles of a tile on the list, from `at` on, a lane for each row of cells; the lanes before
// have so many.
__device__ __forceinline__ void list_hard(
    const Job& job, u64 tile, u64 at, u32 count, u32 before, u32 lowers, u32 uppers) {
    const ListsView work(job);
    const i32 lane = threadIdx.x & 31;
    u32* to = hard_triangles(job) + at + before;
    const u32 row = (u32)tile << 11 | (u32)lane << 6;
    while (lowers) {
        *to++ = row | (u32)(__ffs(lowers) - 1) << 1 | LOWER;
        lowers &= lowers - 1;
    }
    while (uppers) {
        *to++ = row | (u32)(__ffs(uppers) - 1) << 1 | UPPER;
        uppers &= uppers - 1;
    }
    if (few_tiles(job)) return;
    for (u32 i = 32 * lane; i < count; i += 32 * 32)
        work.hard_tiles()[(at + i) / 32] =
            (u32)(tile >> HARD_TILE_BITS) | ((count - i < 32 ? count - i : 32) - 1) << 27;
}

// Lists the whole tiles without zeros and missing values, from the end of the list of plain ones, and the
// others between these: those with most work first, since no other work is left to hide the last ones.
__device__ __forceinline__ void list_by_weight(const Job& job, Control& control) {
    const ListsView work(job);
    const u64 threads = (u64)gridDim.x * blockDim.x;
    for (u64 k = (u64)blockIdx.x * blockDim.x + threadIdx.x; k < control.limited_tiles; k += threads) {
        const u64 tile = work.constrained()[k];
        const Nearness& entry = nearness_of(job, tile);
        if (entry.weighted == NOT_LISTED) continue;
        const u32 whole = entry.kind == WHOLE_TILE, weight = entry.weighted >> WEIGHT_AT;
        u64 at = entry.weighted & ((1u << WEIGHT_AT) - 1);
#pragma unroll
        for (u32 w = 1; w < WEIGHTS; w++)
            if (w > weight) at += control.weighed[whole][w];
        work.tile_lists()[whole ? job.tiles() - 1 - at : control.plain_tiles + at] = tile;
    }
    if (blockIdx.x == 0 && threadIdx.x < 2) {
        u64 sum = 0;
        for (u32 w = 0; w < WEIGHTS; w++) sum += control.weighed[threadIdx.x][w];
        (threadIdx.x ? control.whole_tiles : control.other_tiles) = sum;
    }
}

// Grid: any. Block: 64, a limited tile. Limits from triangles that are not hard; says of each tile whether it
// is whole.
template <typename T>
__device__ __forceinline__ void limits(const Job& job) {
    const ListsView work(job);
    __shared__ LimitShared<T> shared;
    // The kernel before is the tuning, beside which this one works, or what this one needs.
    if (job.predictor == PREDICTOR_LORENZO) wait_for_kernel_before();
    Control& control = control_of(job);
    const u64 count = control.limited_tiles;
    const TileFinder finder(job);
    // Which tile is next is asked for while one is looked at.
    u64 next = 0;
    u32 next_cells = 0;
    auto fetch = [&](u64 k) {
        if (k >= count) return;
        next = work.constrained()[k];
        next_cells = work.near_cells()[k];
    };
    fetch(blockIdx.x);
    const Constraints<T> c = constraints_of<T>(job, control);
    // The first half of a tile takes longer, since it ends the tile: it is that of the other warp in every
    // other block, so that the schedulers have as much.
    const i32 half = (i32)warp_or((threadIdx.x >> 5) ^ (__popc(blockIdx.x) & 1)), lane = threadIdx.x & 31;
    const bool lossless = is_lossless(control);
    const u32 has_rare = warp_or(has_missing(control) || lossless),
              has_special = warp_or(has_rare || control.zero != 0);
    const bool aligned = is_aligned<T>(job), simple = !has_rare && !c.speculative;
    for (u64 k = blockIdx.x; k < count; k += gridDim.x) {
        const u64 tile = uniform(next);
        const u32 cells = warp_or(next_cells);
        fetch(k + gridDim.x);
        const TileShape shape = finder.shape(job, tile);
        const u64 rows = near_rows(shape, cells), wanted = rows | (rows << 1 & ((4ull << shape.last_y) - 1));
        const bool before_is_near = cells & NEAR_BEFORE, end_is_near = cells & NEAR_END;
        if (aligned && shape.last_x >= TILE - 1)
            ask_for_rows<true>(job, shape, wanted, before_is_near, end_is_near, shared);
        else
            ask_for_rows<false>(job, shape, wanted, before_is_near, end_is_near, shared);
        end_of_copies();
        // Most vertices have no limit. Where the grid ends inside the tile, its border may get some later.
        const bool all = (job.halo | job.pin) && (shape.last_x < TILE || shape.last_y < TILE);
        T* const limits = limits_of<T>(job, tile);
        const uint4 none = sizeof(T) == 4 ? make_uint4(0x7f800000, 0x7f800000, 0x7f800000, 0x7f800000)
                                          : make_uint4(0, 0x7ff00000, 0, 0x7ff00000);
        constexpr i32 SIXTEEN = 16 / sizeof(T);
#pragma unroll 1
        for (i32 i = threadIdx.x; i < (all ? TILE_VERTICES : 256 + LIMIT_CHUNK) / SIXTEEN; i += 64)
            reinterpret_cast<uint4*>(limits)[i] = none;
        if (threadIdx.x < TILE / 2) limits[512 + LIMIT_CHUNK * threadIdx.x] = no_limit<T>();
        wait_for_copies<0>();
        __syncthreads();
        const Found found = simple ? find_limits<true>(job, c, shape, tile, half, rows, before_is_near,
                                         end_is_near, shared, 0, has_special, false)
                                   : find_limits<false>(job, c, shape, tile, half, rows, before_is_near,
                                         end_is_near, shared, has_rare, has_special, lossless);
        if (half) {
            if (lane < LIMIT_ROWS) shared.lowers[lane] = found.lowers, shared.uppers[lane] = found.uppers;
            if (lane == 0)
                shared.special = found.special, shared.nonzero = found.nonzero, shared.inside = found.inside,
                shared.rows = found.rows;
        }
        __syncthreads();
        if (half) continue;
        // A lane for each row of cells.
        const u32 lowers = lane < LIMIT_ROWS ? found.lowers : shared.lowers[lane - LIMIT_ROWS];
        const u32 uppers = lane < LIMIT_ROWS ? found.uppers : shared.uppers[lane - LIMIT_ROWS];
        const u32 own = __popc(lowers) + __popc(uppers);
        u32 up_to = own;
#pragma unroll
        for (i32 d = 1; d < 32; d *= 2) up_to = add_from_below(up_to, d);
        const u32 hard = __shfl_sync(FULL, up_to, 31);
        // Signatures are looked at where all vertices around are at hand.
        const bool full = shape.last_x == TILE && shape.last_y == TILE;
        const bool whole = full && !(found.special | found.inside | shared.special | shared.inside);
        // Nothing is to be done where all is zero, as on land.
        const bool zero = full && simple && found.special && !(found.nonzero | shared.nonzero) &&
                          (cells & ALL_BANDS) == ALL_BANDS;
        // Predictions take longer where the grid ends.
        const u32 weight = full ? weight_of(hard) : WEIGHTS - 1;
        u64 at = 0;
        // Its place in two lists.
        if (lane < 2) {
            u64* const list = lane ? &control.weighed[whole][weight] : &control.hard;
            at = atomicAdd(
                (ull*)list, lane ? (zero ? 0ull : 1ull) : (ull)(few_tiles(job) ? hard : (hard + 31) & ~31u));
        }
        if (lane == 1) {
            Nearness& entry = nearness_of(job, tile);
            // Rows with odd numbers are two chunks of limits, others one.
            const u32 written = found.rows | shared.rows << LIMIT_ROWS;
            const u32 even = every_other(written), odd = every_other(written >> 1);
            entry.limited = all ? ~0ull : ALWAYS_LIMITED | (u64)even << 16 | (u64)odd << 32 | (u64)odd << 48;
            if (whole) entry.kind = WHOLE_TILE;
            entry.weighted = zero ? NOT_LISTED : (u32)at | weight << WEIGHT_AT;
            if (zero) work.headers()[tile] = ALL_ZERO;
        }
        at = __shfl_sync(FULL, at, 0);
        if (hard) list_hard(job, tile, at, hard, up_to - own, lowers, uppers);
    }
    end_beside();
}

// The limit of an owned vertex of a tile.
template <typename T>
__device__ __forceinline__ T* limit_at(const Job& job, u64 tile, i32 x, i32 y) {
    return limits_of<T>(job, tile) + POSITIONS.at[TILE * y + x];
}

// A triangle: tile << 11 | y << 6 | x << 1 | which of its cell.
struct Triangle {
    u64 tile;
    i32 x, y, which;

    __device__ __forceinline__ Triangle(u64 packed)
        : tile(packed >> 11), x((i32)(packed >> 1 & 31)), y((i32)(packed >> 6 & 31)),
          which((i32)(packed & 1)) {}
};
template <typename T>
__device__ __forceinline__ Corners<T> corners_of(const Job& job, const TileFinder& finder, u64 packed) {
    const Triangle t(packed);
    u64 tx, ty;
    finder.place(job, t.tile, tx, ty);
    const u64 x = tx * TILE + t.x, y = ty * TILE + t.y;
    const T* const u = vertex_at<T>(job.u, job.u_layout, x, y);
    const T* const v = vertex_at<T>(job.v, job.v_layout, x, y);
    const long long pitch_u = job.u_layout.pitch, pitch_v = job.v_layout.pitch,
                    stride_u = job.u_layout.stride, stride_v = job.v_layout.stride;
    // The corner across the diagonal is the second one or the third. Addresses are chosen, not values, so
    // that nothing waits here.
    const bool upper = t.which == UPPER;
    Corners<T> p;
    p.u[0] = *u, p.v[0] = *v;
    p.u[1] = u[stride_u + (upper ? pitch_u : 0)], p.v[1] = v[stride_v + (upper ? pitch_v : 0)];
    p.u[2] = u[pitch_u + (upper ? 0 : stride_u)], p.v[2] = v[pitch_v + (upper ? 0 : stride_v)];
    return p;
}
// Those of its corners that are not the tile's own belong to the tiles behind.
template <typename T>
__device__ __forceinline__ void lower_corners(const Job& job, u64 packed, T limit) {
    const Triangle t(packed);
    constexpr u64 SLOT = TILE_SLOT_BYTES<T> / sizeof(T);
    const i32 row = TILE * t.y, below = TILE * ((t.y + 1) & (TILE - 1)), after = (t.x + 1) & (TILE - 1);
    T* const own = limits_of<T>(job, t.tile);
    T* const under = t.y == TILE - 1 ? own + job.tiles_x * SLOT : own;
    T* const far = t.x == TILE - 1 ? under + SLOT : under;
    T* const third = t.which == UPPER ? under : t.x == TILE - 1 ? own + SLOT : own;
    lower_to(own + POSITIONS.at[row + t.x], limit);
    lower_to(far + POSITIONS.at[below + after], limit);
    lower_to(third + POSITIONS.at[t.which == UPPER ? below + t.x : row + after], limit);
}

constexpr i32 BOUND_WARPS = 4;

// Grid: any. Block: 32 * BOUND_WARPS, a warp for 32 triangles of the list. Limits of vertices, and the
// critical points. What takes the ladder waits for others that do.
template <typename T>
__device__ __forceinline__ void bounds(const Job& job) {
    const ListsView work(job);
    Control& control = control_of(job);
    const Constraints<T> c = constraints_of<T>(job, control);
    const i32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    // There is no memory for 2^37 triangles.
    const u64 listed = control.hard;
    const u32 start = blockIdx.x * BOUND_WARPS + warp, chunks = (u32)((listed + 31) / 32),
              in_last = (u32)(listed - 1) & 31;
    const bool few = few_tiles(job), all_there = !has_missing(control);
    const TileFinder finder(job);
    __shared__ u32 all_critical, counts[BOUND_WARPS];
    __shared__ u64 waiting[BOUND_WARPS][64];
    if (threadIdx.x == 0) all_critical = 0;
    u32 critical = 0, count = 0;
    auto climb = [&](u64 packed) {
        const TriangleBound<T> bound =
            ladder_bound(corners_of<T>(job, finder, packed), (i32)(packed & 1), c.rule, c.bound);
        lower_corners<T>(job, packed, bound.limit);
        critical += bound.inside;
    };
    // Entries are asked for two chunks ahead, corners one.
    u64 next = 0;
    bool next_exists = false;
    auto fetch = [&](u32 k) {
        next_exists = false;
        if (k >= chunks) return;
        const u64 at = 32 * (u64)k + lane;
        if (few) {
            next_exists = k + 1 < chunks || lane <= in_last;
            if (next_exists) next = hard_triangles(job)[at];
        } else {
            const u32 word = work.hard_tiles()[k];
            next_exists = lane <= word >> 27;
            if (next_exists)
                next = (u64)(word & ((1u << 27) - 1)) << (HARD_TILE_BITS + 11) | hard_triangles(job)[at];
        }
    };
    fetch(start);
    u64 packed = next;
    bool exists = next_exists;
    Corners<T> ahead = {};
    if (exists) ahead = corners_of<T>(job, finder, packed);
    fetch(start + blocks_of_grid() * BOUND_WARPS);
#pragma unroll 1
    for (u32 k = start; k < chunks; k += blocks_of_grid() * BOUND_WARPS) {
        const Corners<T> p = ahead;
        const u64 triangle = packed;
        const bool is_there = exists;
        packed = next, exists = next_exists;
        if (exists) ahead = corners_of<T>(job, finder, packed);
        fetch(k + 2 * BOUND_WARPS * blocks_of_grid());
        bool waits = false;
        if (is_there) {
            if (c.speculative) {
                // Signatures are looked at in place of limits.
                critical += is_inside(p) && !has_filled(p, job.fill);
            } else {
                const T axis = axis_distance(p);
                T limit = Real<T>::MAX;
                if (all_there || (finite(p) && !has_filled(p, job.fill))) {
                    const Determinants d = determinants(p);
                    const Bounded by = bounded(p, d, axis);
                    waits = by == Bounded::BY_LADDER;
                    if (by == Bounded::BY_HULL)
                        limit = axis > T(0) && (double)axis >= c.bound ? axis : hull_bound(p, d, axis);
                }
                if (!waits) lower_corners<T>(job, triangle, limit);
            }
        }
        const u32 new_ones = __ballot_sync(FULL, waits);
        if (waits) waiting[warp][count + __popc(new_ones & ((1u << lane) - 1))] = triangle;
        count += __popc(new_ones);
        __syncwarp();
        if (count >= 32) {
            count -= 32;
            climb(waiting[warp][count + lane]);
            __syncwarp();
        }
    }
    // The rest of all warps together.
    if (lane == 0) counts[warp] = count;
    __syncthreads();
    u32 number = threadIdx.x;
    i32 of = 0;
#pragma unroll
    for (i32 w = 0; w < BOUND_WARPS - 1; w++)
        if (of == w && number >= counts[w]) number -= counts[w], of++;
    if (number < counts[of]) climb(waiting[of][number]);
    if (job.halo | job.pin) {
        for (u64 k = start; k < control.limited_tiles; k += blocks_of_grid() * BOUND_WARPS) {
            // Owned vertices on the border of the grid.
            const u64 tile = work.constrained()[k];
            const TileShape shape = tile_shape(job, tile);
            for (i32 i = lane; i < 4 * TILE; i += 32) {
                const i32 side = i >> 5, along = i & 31;
                const i32 x = side == 0   ? 0
                              : side == 1 ? shape.last_x
                                          : along,
                          y = side == 2   ? 0
                              : side == 3 ? shape.last_y
                                          : along;
                if (x >= shape.owned_x() || y >= shape.owned_y() ||
                    !on_border(job, shape.x0 + x, shape.y0 + y))
                    continue;
                const T b = border_limit(job, c, shape.x0 + x, shape.y0 + y);
                if (b < Real<T>::MAX) lower_to(limit_at<T>(job, tile, x, y), b);
            }
        }
    }
    list_by_weight(job, control);
    // A block at a time: all of them add to the same word.
    critical = warp_sum(critical);
    if (lane == 0 && critical) atomicAdd(&all_critical, critical);
    __syncthreads();
    if (threadIdx.x == 0 && all_critical)
        atomicAdd((unsigned long long*)&control.critical, (unsigned long long)all_critical);
}

// Grid: tiles / 128. Block: 128. One anchor a thread. Beside the kernel before up to where it needs the
// limits.
template <typename T>
__device__ __forceinline__ void anchors(const Job& job) {
    const AnchorsView<T> work(job);
    typedef typename Real<T>::Pair P;
    Control& control = control_of(job);
    const u64 tile = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    u32 exact = 0;
    T max_error = 0;
    bool coded = false;
    if (tile < job.tiles()) {
        const Constraints<T> c = constraints_of<T>(job, control);
        const TileShape shape = tile_shape(job, tile);
        const bool has_limit = !(work.headers()[tile] & ALL_CODED);
        P values[9];
        values[0] = Real<T>::pair(*vertex_at<T>(job.u, job.u_layout, shape.x0, shape.y0),
            *vertex_at<T>(job.v, job.v_layout, shape.x0, shape.y0));
        // The kernel before lowers limits, and nothing else that is read here.
        after_kernel_before();
        const T limit = has_limit ? limits_of<T>(job, tile)[0] : no_limit<T>();
        const bool looks_around = is_tight(limit) && c.speculative;
        u32 missing[3] = {0, 0, 0};
        Patch<T> patch = {values, 3, 1, 1, has_missing(control) ? missing : nullptr, 1};
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
        }
        const P original = values[3 * j + i];
        for (i32 y = 0; y < patch.height; y++)
            for (i32 x = 0; x < patch.width; x++) {
                P& value = values[3 * y + x];
                if (!is_missing(value.x, value.y, job.fill)) continue;
                missing[y] |= 1u << x;
                value = Real<T>::pair(T(0), T(0));
            }
        Code code = {MASKED, 0, 0};
        if (missing[j] >> i & 1) {
            const bool filled =
                Real<T>::bits(original.x) == control.fill[0] && Real<T>::bits(original.y) == control.fill[1];
            code.id = filled ? MASKED : EXACT;
        } else if (is_lossless(control) && has_negative_zero(original.x, original.y)) {
            code.id = EXACT;
            exact++;
        } else if (!is_zero<T>(original)) {
            code = code_vertex<T>(patch, i, j, Real<T>::pair(T(0), T(0)), ANCHOR_LEVEL,
                (T)control.quantizer.width[ANCHOR_LEVEL][0], (T)control.quantizer.inverse[ANCHOR_LEVEL][0], c,
                is_tight(limit), is_tight(limit) ? limit : Real<T>::MAX, max_error, exact);
        }
        work.anchors()[tile] = values[3 * j + i];
        work.anchor_codes()[tile] = make_int4(code.qu, code.qv, code.id, 0);
        coded = code.id < EXACT;
    } else {
        after_kernel_before();
    }
    note_coded_anchors(job, tile, coded);
    report_tally<T>(control, exact, 0, max_error);
}
