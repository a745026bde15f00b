// The entry that finds out which vertices of the tiles that are not plain have limits from triangles that are not hard, and lists those
// that are.
#pragma once
#include "constrain.cuh"

// The limits of a tile are found by two warps, each of which has half of its rows.
constexpr i32 LIMIT_ROWS = TILE / 2;

// What is found of half a tile: zero or not finite vertices of the closed tile and, where there are such ones, others in the rows
// that are looked at, limits inside, and which rows of the tile have limits; which triangles are hard, lower and upper ones, a lane for
// a column and a bit for a row of the half.
struct Found {
    u32 special, nonzero, inside, rows;
    u32 lowers, uppers;
};

// A closed tile with the row and the column before it, and what the second half is found to be.
template <typename T>
struct LimitShared {
    typedef typename Real<T>::Pair P;
    // A row begins at a multiple of sixteen bytes; the column before is at the end of the row above.
    static constexpr i32 PITCH = CLOSED + 3, START = 4, SIZE = START + (CLOSED + 1) * PITCH;
    alignas(16) T u[SIZE], v[SIZE];
    u32 special, nonzero, inside, rows;
    u32 lowers[TILE], uppers[TILE];

    static __device__ __forceinline__ i32 place(i32 x, i32 y) { return START + (y + 1) * PITCH + x; }
    __device__ __forceinline__ P at(i32 x, i32 y) const { return Real<T>::pair(u[place(x, y)], v[place(x, y)]); }
};

// The same for all lanes of a warp, which the compiler then knows.
__device__ __forceinline__ u64 uniform(u64 x) { return (u64)warp_or((u32)(x >> 32)) << 32 | warp_or((u32)x); }

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
        return R::high(R::high(R::low(low_u, p.x), -R::high(high_u, p.x)), R::high(R::low(low_v, p.y), -R::high(high_v, p.y)));
    }
};

// Asks for the rows of a tile whose bits are set, that before it first, and of the columns at the sides what is needed, by
// two warps. ALIGNED where the tile has all its columns, and sixteen bytes of them can be copied at once. An offset may wrap: that of the
// row before the first one, which is not read.
template <bool ALIGNED, typename Offset, typename T>
__device__ __forceinline__ void ask_for_rows(const Job& job, const TileShape& shape, u64 rows, bool before_is_near, bool end_is_near,
                                             LimitShared<T>& shared) {
    const i32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const T *const u = static_cast<const T*>(job.u), *const v = static_cast<const T*>(job.v);
    const Offset pitch_u = (Offset)job.u_layout.pitch, pitch_v = (Offset)job.v_layout.pitch;
    const Offset stride_u = ALIGNED ? 1 : (Offset)job.u_layout.stride, stride_v = ALIGNED ? 1 : (Offset)job.v_layout.stride;
    const Offset x = (Offset)shape.x0, y = (Offset)shape.y0 - 1;
    // So many bytes at once, of so many rows.
    constexpr i32 BYTES = ALIGNED ? 16 : sizeof(T), COLUMNS = BYTES / sizeof(T), ROWS = COLUMNS, TIMES = (CLOSED + 1 + 2 * ROWS - 1) / (2 * ROWS);
    const i32 first = ROWS * warp + lane * COLUMNS / TILE, column = lane * COLUMNS % TILE;
    Offset at_u = (y + first) * pitch_u + (x + column) * stride_u, at_v = (y + first) * pitch_v + (x + column) * stride_v;
    const u64 mine = ALIGNED || column <= shape.last_x ? rows >> first : 0;
    T *const to_u = shared.u + shared.place(column, first - 1), *const to_v = shared.v + shared.place(column, first - 1);
#pragma unroll
    for (i32 i = 0; i < TIMES; i++) {
        if (mine >> 2 * ROWS * i & 1) {
            copy_ahead<BYTES>(to_u + 2 * ROWS * i * shared.PITCH, u + at_u);
            copy_ahead<BYTES>(to_v + 2 * ROWS * i * shared.PITCH, v + at_v);
        }
        at_u += 2 * ROWS * pitch_u, at_v += 2 * ROWS * pitch_v;
    }
    // At a side a lane has a row, the first ones two.
    if (!(warp == 0 ? before_is_near : end_is_near)) return;
    const i32 side = warp == 0 ? -1 : TILE;
    at_u = (y + lane) * pitch_u + (x + side) * stride_u, at_v = (y + lane) * pitch_v + (x + side) * stride_v;
#pragma unroll
    for (i32 row = lane; row < CLOSED + 1; row += 32) {
        if (row > shape.last_y + 1) break;
        const bool is_there = rows >> row & 1;
        if (warp == 0 ? row > 0 || shape.ty > 0 : is_there) {
            const i32 to = shared.place(side, row - 1);
            copy_ahead<sizeof(T)>(shared.u + to, u + at_u);
            copy_ahead<sizeof(T)>(shared.v + to, v + at_v);
            // The cells of the column before are looked at in all rows.
            if (warp == 0 && !is_there) {
                copy_ahead<sizeof(T)>(shared.u + to + 1, u + (Offset)(at_u + stride_u));
                copy_ahead<sizeof(T)>(shared.v + to + 1, v + (Offset)(at_v + stride_v));
            }
        }
        at_u += 32 * pitch_u, at_v += 32 * pitch_v;
    }
}

// The sign, as the highest bit of a word.
__device__ __forceinline__ u32 sign_word(float x) { return __float_as_uint(x); }
__device__ __forceinline__ u32 sign_word(double x) { return (u32)__double2hiint(x); }

// What keeps a triangle from being near the origin: all of its vertices are beyond the bound on the same side, or all are zero.
enum : i32 { FAR_SIDES = 4, ZERO_BIT = FAR_SIDES, FAR_BITS };
template <typename T>
__device__ __forceinline__ u32 far_bits(T u, T v, T bound) {
    return (u32)(u > bound) | (u32)(u < -bound) << 1 | (u32)(v > bound) << 2 | (u32)(v < -bound) << 3 | (u32)(u == T(0) && v == T(0)) << ZERO_BIT;
}

// The far bits of a lane's column of vertices, a bit for each of the rows that are looked at. What lies in rows that were not asked for counts for
// nothing. The loop is unrolled in part: its code must stay in the instruction cache.
template <bool ZEROS, typename T>
__device__ __forceinline__ void find_beyond(const LimitShared<T>& shared, i32 first, T bound, u32 (&beyond)[FAR_BITS]) {
    typedef Real<T> R;
    constexpr i32 GROUP = (LIMIT_ROWS + 2) / 2;
#pragma unroll 1
    for (i32 group = 1; group >= 0; group--) {
        const i32 at = first + group * GROUP * shared.PITCH;
#pragma unroll
        for (i32 i = GROUP - 1; i >= 0; i--) {
            const T u = shared.u[at + i * shared.PITCH], v = shared.v[at + i * shared.PITCH];
            // A difference of two values is zero only where they are the same.
            beyond[0] = __funnelshift_l(sign_word(bound - u), beyond[0], 1);
            beyond[1] = __funnelshift_l(sign_word(bound + u), beyond[1], 1);
            beyond[2] = __funnelshift_l(sign_word(bound - v), beyond[2], 1);
            beyond[3] = __funnelshift_l(sign_word(bound + v), beyond[3], 1);
            if (ZEROS) beyond[ZERO_BIT] = __funnelshift_l(sign_word(R::high(R::abs(u), R::abs(v)) - R::from_bits(1)), beyond[ZERO_BIT], 1);
        }
    }
}

// Limits of the vertices of the first column from easy triangles of the cells before, a lane for a row.
template <typename T>
__device__ __forceinline__ void lower_first_column(const TileShape& shape, i32 half, const LimitShared<T>& shared, T bound, T* limits) {
    typedef Real<T> R;
    typedef typename R::Pair P;
    const i32 lane = threadIdx.x & 31, y = LIMIT_ROWS * half + lane - 1;
    const T none = no_limit<T>();
    T lower = none, upper = none;
    if (lane <= LIMIT_ROWS && y < shape.last_y && (y >= 0 || shape.ty > 0)) {
        const P a = shared.at(-1, y), b = shared.at(0, y), d = shared.at(-1, y + 1), e = shared.at(0, y + 1);
        auto size_of = [](P p) { return R::high(R::abs(p.x), R::abs(p.y)); };
        const T size = R::low(size_of(a), size_of(e));
        auto corner_limit = [&](T axis, T other) -> T { return axis <= bound && axis > T(0) && axis == R::low(size, other) ? axis : none; };
        const Hull<T> hull(a, e);
        lower = corner_limit(hull.axis(b), size_of(b));
        upper = corner_limit(hull.axis(d), size_of(d));
    }
    const T lower_above = __shfl_up_sync(FULL, lower, 1), upper_above = __shfl_up_sync(FULL, upper, 1);
    const T limit = R::low(lower, R::low(lower_above, upper_above));
    __syncwarp();
    if (lane > 0 && lane <= LIMIT_ROWS && is_tight(limit)) lower_to(limits + position_of(0, y), limit);
}

// The limits of the vertices of half a tile from the triangles that are not hard, and those that are: a triangle whose hull
// comes nearest to the origin with a corner has that distance as its bound (no edge is farther away); others near the origin
// are hard, their bound takes determinants. Which cells have triangles near the origin is found first, a lane for a column and a bit
// for a row; rows of these are then looked at. Rows are those of near cells, the one before the tile first. Where the last column of
// cells is far, the one behind it is not there. All is finite, and limits are looked for, not signatures.
template <typename T>
__device__ __forceinline__ Found find_limits(const Constraints<T>& c, const TileShape& shape, i32 half, u64 rows_of_tile, bool before_is_near,
                                             bool end_is_near, const LimitShared<T>& shared, u32 has_special, T* limits) {
    typedef Real<T> R;
    typedef typename R::Pair P;
    constexpr i32 PITCH = LimitShared<T>::PITCH;
    const T none = no_limit<T>(), bound = R::from_bits(uniform(R::bits(c.bound_up)));
    const i32 lane = threadIdx.x & 31, start = LIMIT_ROWS * half, columns = shape.last_x < TILE || end_is_near ? shape.last_x : TILE - 1;
    // Bit r is the row of vertices, or of cells below it, start - 1 + r. The cells before the half are others', but have triangles at its vertices.
    const u32 cell_rows = (u32)(rows_of_tile >> start) & ((2u << LIMIT_ROWS) - 1), rows = cell_rows | cell_rows << 1;
    u32 beyond[FAR_BITS] = {0, 0, 0, 0, 0};
    if (has_special)
        find_beyond<true>(shared, shared.place(lane, start - 1), bound, beyond);
    else
        find_beyond<false>(shared, shared.place(lane, start - 1), bound, beyond);
    // The column behind the tile, a lane for a row.
    u32 end_bits[FAR_BITS];
    if (columns == TILE) {
        u32 bits = 0;
        if (lane < LIMIT_ROWS + 2) {
            const P p = shared.at(TILE, start - 1 + lane);
            bits = far_bits(p.x, p.y, bound);
        }
#pragma unroll
        for (i32 k = 0; k < FAR_BITS; k++) end_bits[k] = __ballot_sync(FULL, bits >> k & 1);
    }
    u32 far_lower = 0, far_upper = 0, zeros = 0;
#pragma unroll
    for (i32 k = 0; k < FAR_BITS; k++) {
        const u32 here = beyond[k];
        u32 after = __shfl_down_sync(FULL, here, 1);
        if (columns == TILE && lane == 31) after = end_bits[k];
        far_lower |= here & after & after >> 1;
        far_upper |= here & here >> 1 & after >> 1;
        if (k == ZERO_BIT) zeros = here | after;
    }
    const u32 cells = lane < columns && c.preserve ? cell_rows : 0;
    u32 lowers = cells & ~far_lower, uppers = cells & ~far_upper;
    const u32 near = warp_or(lowers | uppers);
    // The row before the tile is not its own.
    const u32 own = rows & ~1u;
    Found found = {warp_or(zeros & own), has_special ? warp_or(~beyond[ZERO_BIT] & own) : 0, 0, (near | near << 1) >> 1 & ((1u << LIMIT_ROWS) - 1), 0, 0};
    T above = none;
#pragma unroll 1
    for (u32 left = (near | near << 1) & ((2u << LIMIT_ROWS) - 1); left; left &= left - 1) {
        const i32 r = __ffs(left) - 1, y = start - 1 + r;
        const u32 bit = left & (0 - left);
        const i32 position = y >= 0 ? POSITIONS.at[(TILE * y + lane) & (TILE_VERTICES - 1)] : 0;
        T limit = above;
        if (near & bit) {
            const i32 at = shared.place(lane, y);
            const T *const u = shared.u + at, *const v = shared.v + at;
            const P a = R::pair(u[0], v[0]), b = R::pair(u[1], v[1]), d = R::pair(u[PITCH], v[PITCH]), e = R::pair(u[PITCH + 1], v[PITCH + 1]);
            auto size_of = [](P p) { return R::high(R::abs(p.x), R::abs(p.y)); };
            const Hull<T> hull(a, e);
            const T axis_lower = hull.axis(b), axis_upper = hull.axis(d), size = R::low(size_of(a), size_of(e));
            const bool easy_lower = (lowers & bit) != 0 & (axis_lower > T(0)) & (axis_lower == R::low(size_of(b), size));
            const bool easy_upper = (uppers & bit) != 0 & (axis_upper > T(0)) & (axis_upper == R::low(size_of(d), size));
            const T limit_lower = easy_lower ? axis_lower : none, limit_upper = easy_upper ? axis_upper : none;
            if (easy_lower) lowers ^= bit;
            if (easy_upper) uppers ^= bit;
            T lower_before = __shfl_up_sync(FULL, limit_lower, 1);
            const T upper_before = __shfl_up_sync(FULL, limit_upper, 1);
            // The first lane gets its own.
            if (lane == 0) lower_before = none;
            const T both = R::low(lower_before, limit_upper);
            limit = R::low(R::low(above, both), limit_lower);
            above = R::low(both, upper_before);
        } else {
            above = none;
        }
        if (r > 0) limits[position] = limit;
    }
    found.lowers = lowers >> 1, found.uppers = uppers >> 1;
    // The column of cells before, a lane for a row.
    if (before_is_near && c.preserve) lower_first_column(shape, half, shared, bound, limits);
    return found;
}

// The same where values are not finite or signatures are looked for: row by row. In the speculative mode those are hard whose hull has
// the origin inside. Rows are those of cells to look at, the one before the tile first; where the last column of cells is far, the one
// behind it is not there.
template <typename T>
__device__ __forceinline__ Found find_other_limits(const Constraints<T>& c, const TileShape& shape, i32 half, u64 rows_of_tile, bool before_is_near,
                                                   bool end_is_near, const LimitShared<T>& shared, u32 has_nonfinite, u32 has_special, T* limits) {
    typedef Real<T> R;
    typedef typename R::Pair P;
    const T none = no_limit<T>();
    const u32 speculative = warp_or(c.speculative);
    const i32 lane = threadIdx.x & 31, start = LIMIT_ROWS * half, columns = (i32)warp_or(shape.last_x < TILE || end_is_near ? shape.last_x : TILE - 1),
              cells = c.preserve ? columns : 0;
    const T bound_up = R::from_bits(uniform(R::bits(c.bound_up)));
    // How far a vertex is from the origin. Of one that is not finite, no triangle is easy, nor zero.
    auto size_of = [&](P p) -> T { return has_nonfinite && !(R::finite(p.x) && R::finite(p.y)) ? -none : R::high(R::abs(p.x), R::abs(p.y)); };
    u32 special = 0, nonzero = 0, inside = 0, lowers_of_lane = 0, uppers_of_lane = 0, written = 0;
    // Lanes without a cell are far from it.
    const T near = lane < cells ? bound_up : -none;
    const u32 cell_lanes = cells > 0 ? ~0u >> (32 - cells) : 0;
    auto write = [&](i32 y, T limit) {
        limits[POSITIONS.at[TILE * y + lane]] = limit;
        written |= 1u << (y - start);
        if (speculative && y > 0) inside |= __ballot_sync(FULL, is_tight(limit)) & ~1u;
    };
    // The row of cells before belongs to others, but has triangles at vertices of the half. The last row of the grid has none.
    // The loop is not unrolled: its code must stay in the instruction cache.
    u32 rows = (u32)(rows_of_tile >> start) & ((2u << LIMIT_ROWS) - 1);
    const i32 rows_of_cells = shape.last_y - start < LIMIT_ROWS ? shape.last_y - start : LIMIT_ROWS;
#pragma unroll 1
    while (rows) {
        const i32 first = __ffs(rows) - 1, last = __ffs(~(rows >> first)) - 1 + first;
        rows &= ~0u << last;
        const i32 beside = lane < columns ? 1 : 0;
        const i32 at = shared.place(lane, start + first - 1);
        const T *u = shared.u + at, *v = shared.v + at;
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
            if (has_nonfinite) special |= __ballot_sync(FULL, size_a < T(0) || size_b < T(0));
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
                const bool easy_lower = (axis_lower <= near) & (axis_lower > T(0)) & (speculative || axis_lower == R::low(size_b, size));
                const bool easy_upper = (axis_upper <= near) & (axis_upper > T(0)) & (speculative || axis_upper == R::low(size_d, size));
                T limit_lower = easy_lower ? axis_lower : none, limit_upper = easy_upper ? axis_upper : none;
                const u32 hard_lowers = lowers & ~__ballot_sync(FULL, easy_lower), hard_uppers = uppers & ~__ballot_sync(FULL, easy_upper);
                if (speculative) {
                    limit_lower = lowers >> lane & 1 ? R::MAX : none;
                    limit_upper = uppers >> lane & 1 ? R::MAX : none;
                }
                T lower_before = __shfl_up_sync(FULL, limit_lower, 1);
                const T upper_before = __shfl_up_sync(FULL, limit_upper, 1);
                // The first lane gets its own.
                if (lane == 0) lower_before = none;
                const T both = R::low(lower_before, limit_upper), limit = R::low(R::low(above, both), limit_lower);
                above = R::low(both, upper_before);
                if (y >= start) {
                    lowers_of_lane |= (hard_lowers >> lane & 1) << (y - start), uppers_of_lane |= (hard_uppers >> lane & 1) << (y - start);
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
            const P a = shared.at(-1, start + y), b = shared.at(0, start + y), d = shared.at(-1, start + y + 1), e = shared.at(0, start + y + 1);
            const T size_a = size_of(a), size_b = size_of(b), size_d = size_of(d), size_e = size_of(e);
            auto corner_limit = [&](T axis, T size) -> T {
                if (speculative) return !(axis > bound_up) && !(size_a == T(0) && size_e == T(0) && size == T(0)) ? R::MAX : none;
                return !(axis > bound_up) && axis > T(0) && axis == R::low(R::low(size_a, size_e), size) ? axis : none;
            };
            lower = corner_limit(Hull<T>(a, b).axis(e), size_b);
            upper = corner_limit(Hull<T>(d, e).axis(a), size_d);
        }
        const T lower_above = __shfl_up_sync(FULL, lower, 1), upper_above = __shfl_up_sync(FULL, upper, 1);
        const T limit = R::low(lower, R::low(lower_above, upper_above));
        __syncwarp();
        if (lane > 0 && lane <= LIMIT_ROWS && is_tight(limit)) lower_to(limits + position_of(0, start + y), limit);
    }
    return {special, nonzero, inside, written, lowers_of_lane, uppers_of_lane};
}

// Rows of cells that come near the origin, the one before the tile first.
__device__ __forceinline__ u64 near_rows(const TileShape& shape, u32 cells) {
    u64 rows = cells & NEAR_ABOVE;
#pragma unroll
    for (i32 band = 0; band < BANDS; band++)
        if (cells & NEAR_BAND << band) rows |= (u64)((1u << BAND_ROWS) - 1) << (1 + BAND_ROWS * band);
    return rows & ((2ull << shape.last_y) - 1);
}

// Puts the hard triangles of a tile on the list, from `at` on, a lane for each column of cells; the lanes before have so many.
__device__ __forceinline__ void list_hard(const Job& job, u64 tile, u64 at, u32 count, u32 before, u32 lowers, u32 uppers) {
    const i32 lane = threadIdx.x & 31;
    u32* to = hard_triangles(job) + at + before;
    const u32 column = (u32)tile << 11 | (u32)lane << 1;
    while (lowers) {
        *to++ = column | (u32)(__ffs(lowers) - 1) << 6 | LOWER;
        lowers &= lowers - 1;
    }
    while (uppers) {
        *to++ = column | (u32)(__ffs(uppers) - 1) << 6 | UPPER;
        uppers &= uppers - 1;
    }
    if (few_tiles(job)) return;
    for (u32 i = 32 * lane; i < count; i += 32 * 32) job.masks[(at + i) / 32] = (u32)(tile >> HARD_TILE_BITS) | ((count - i < 32 ? count - i : 32) - 1) << 27;
}

// Grid: any. Block: 64, a limited tile. Limits from triangles that are not hard; says of each tile whether it is whole.
template <typename T>
__device__ __forceinline__ void limits(const Job& job) {
    __shared__ LimitShared<T> shared;
    // The kernel before is the tuning, beside which this one works, or what this one needs.
    if (job.predictor == PREDICTOR_LORENZO) wait_for_kernel_before();
    typedef unsigned long long ull;
    Control& control = control_of(job);
    const u64 count = control.limited_tiles;
    const TileFinder finder(job);
    // Which tile is next is asked for while one is looked at.
    u64 next = 0;
    u32 next_cells = 0;
    auto fetch = [&](u64 k) {
        if (k >= count) return;
        next = job.group_offsets[k];
        next_cells = job.symbols[k];
    };
    fetch(blockIdx.x);
    const Constraints<T> c = constraints_of<T>(job, control);
    const i32 half = (i32)warp_or(threadIdx.x >> 5), lane = threadIdx.x & 31;
    const u32 has_nonfinite = warp_or(control.nonfinite != 0), has_special = warp_or((control.nonfinite | control.zero) != 0);
    const bool fast = is_aligned<T>(job) && packs_in_a_word(job), simple = !has_nonfinite && !c.speculative;
    for (u64 k = blockIdx.x; k < count; k += gridDim.x) {
        const u64 tile = uniform(next);
        const u32 cells = warp_or(next_cells);
        fetch(k + gridDim.x);
        const TileShape shape = finder.shape(job, tile);
        const u64 rows = near_rows(shape, cells);
        // Where all is looked at row by row, a row of far cells ends those that are near.
        const u64 ended = (rows | rows << 1) & ((2ull << (shape.last_y < TILE ? shape.last_y + 1 : TILE)) - 1);
        const u64 wanted = simple ? rows | rows << 1 : ended | (ended << 1 & ((4ull << shape.last_y) - 1));
        const bool before_is_near = cells & NEAR_BEFORE, end_is_near = cells & NEAR_END;
        if (fast && shape.last_x >= TILE - 1)
            ask_for_rows<true, u32>(job, shape, wanted, before_is_near, end_is_near, shared);
        else
            ask_for_rows<false, u64>(job, shape, wanted, before_is_near, end_is_near, shared);
        end_of_copies();
        // Most vertices have no limit. Where the grid ends inside the tile, its border may get some later.
        const bool all = (job.halo | job.pin) && (shape.last_x < TILE || shape.last_y < TILE);
        T* const limits = limits_of<T>(job, tile);
        const uint4 none = sizeof(T) == 4 ? make_uint4(0x7f800000, 0x7f800000, 0x7f800000, 0x7f800000) : make_uint4(0, 0x7ff00000, 0, 0x7ff00000);
        constexpr i32 SIXTEEN = 16 / sizeof(T);
        const i32 count_always = (all ? TILE_VERTICES : 256 + LIMIT_CHUNK) / SIXTEEN;
#pragma unroll 1
        for (i32 i = threadIdx.x; i < count_always; i += 64) reinterpret_cast<uint4*>(limits)[i] = none;
        if (threadIdx.x < TILE / 2) limits[512 + LIMIT_CHUNK * threadIdx.x] = no_limit<T>();
        wait_for_copies<0>();
        __syncthreads();
        const Found found = simple ? find_limits(c, shape, half, rows, before_is_near, end_is_near, shared, has_special, limits)
                                   : find_other_limits(c, shape, half, ended, before_is_near, end_is_near, shared, has_nonfinite, has_special, limits);
        if (half) {
            shared.lowers[lane] = found.lowers, shared.uppers[lane] = found.uppers;
            if (lane == 0) shared.special = found.special, shared.nonzero = found.nonzero, shared.inside = found.inside, shared.rows = found.rows;
        }
        __syncthreads();
        if (half) continue;
        // A lane for each column of cells.
        const u32 lowers = found.lowers | shared.lowers[lane] << LIMIT_ROWS, uppers = found.uppers | shared.uppers[lane] << LIMIT_ROWS;
        const u32 own = __popc(lowers) + __popc(uppers);
        u32 up_to = own;
#pragma unroll
        for (i32 d = 1; d < 32; d *= 2) up_to = add_from_below(up_to, d);
        const u32 hard = __shfl_sync(FULL, up_to, 31);
        // Signatures are looked at where all vertices around are at hand.
        const bool full = shape.last_x == TILE && shape.last_y == TILE;
        const bool whole = full && !(found.special | found.inside | shared.special | shared.inside);
        // Nothing is to be done where all is zero, as on land.
        const bool zero = full && simple && found.special && !(found.nonzero | shared.nonzero) && (cells & ALL_BANDS) == ALL_BANDS;
        // Predictions take longer where the grid ends.
        const u32 weight = full ? weight_of(hard) : WEIGHTS - 1;
        u64 at = 0;
        // Its place in two lists.
        if (lane < 2) {
            u64* const list = lane ? &control.weighed[whole][weight] : &control.hard;
            at = atomicAdd((ull*)list, lane ? (zero ? 0ull : 1ull) : (ull)(few_tiles(job) ? hard : (hard + 31) & ~31u));
        }
        if (lane == 1) {
            Nearness& entry = nearness_of(job, tile);
            // Rows with odd numbers are two chunks of limits, others one.
            const u32 written = found.rows | shared.rows << LIMIT_ROWS;
            const u32 even = every_other(written), odd = every_other(written >> 1);
            entry.limited = all ? ~0ull : ALWAYS_LIMITED | (u64)even << 16 | (u64)odd << 32 | (u64)odd << 48;
            if (whole) entry.kind = WHOLE_TILE;
            entry.weighted = zero ? NOT_LISTED : (u32)at | weight << WEIGHT_AT;
            if (zero) job.info[tile] = ALL_ZERO;
        }
        at = __shfl_sync(FULL, at, 0);
        if (hard) list_hard(job, tile, at, hard, up_to - own, lowers, uppers);
    }
    end_beside();
}
