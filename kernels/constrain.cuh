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
    // All of them are on their way at once. Where there is none, the tile itself is in its place.
    const u64 across = job.tiles_x, left = shape.tx > 0 ? 1 : 0, up = shape.ty > 0 ? across : 0;
    const Nearness &own = nearness_of(job, tile), &next = nearness_of(job, tile + 1), &under = nearness_of(job, tile + across);
    const Nearness &last = nearness_of(job, tile - left), &over = nearness_of(job, tile - up);
    bool plain = (own.all() > near) & (next.left > near) & (under.top > near);
    plain &= (last.right > near) | (left == 0);
    plain &= (over.bottom > near) | (up == 0);
    // Around corners one cell matters, which is on two sides of its tile.
    const Nearness &after = nearness_of(job, tile + across + 1), &below = nearness_of(job, tile + across - left);
    const Nearness &above = nearness_of(job, tile - up + 1), &before = nearness_of(job, tile - up - left);
    plain &= (after.top > near) | (after.left > near);
    plain &= (below.top > near) | (below.right > near) | (left == 0);
    plain &= (above.bottom > near) | (above.left > near) | (up == 0);
    plain &= (before.bottom > near) | (before.right > near) | (left == 0) | (up == 0);
    return plain;
}

template <typename T>
__device__ __forceinline__ bool is_zero(typename Real<T>::Pair p) {
    return p.x == T(0) && p.y == T(0);
}

// The limits of a tile are found by two warps, each of which has half of its rows.
constexpr i32 LIMIT_ROWS = TILE / 2;

// The triangles that are hard, up to 32 of a tile together: tile << bits | which of its 32s. The list lies in the place of
// the payload. They are given by bits of words in the place of the masks: for each half those of the lower triangles of its
// rows of cells, and of the upper ones.
constexpr i32 HARD_CHUNK_BITS = 6;
__device__ __forceinline__ u64* hard_chunks(const Job& job) { return reinterpret_cast<u64*>(job.payload); }

// What is found of half a tile: zero or not finite vertices of the closed tile, limits inside, and which rows have their
// limits in memory; how many triangles are hard.
struct Found {
    u32 special, inside, rows, hard;
};

// A closed tile with the row and the column before it.
template <typename T>
struct LimitShared {
    typename Real<T>::Pair values[CLOSED + 1][CLOSED + 2];
    Found second;

    __device__ __forceinline__ typename Real<T>::Pair& at(i32 x, i32 y) { return values[y + 1][x + 1]; }
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

// Brings the rows of a tile whose bits are set, that before it first, and of the columns at the sides what is needed, by
// two warps.
template <typename T>
__device__ __forceinline__ void load_rows(const Job& job, const TileShape& shape, u64 rows, bool before_is_near, bool end_is_near,
                                          LimitShared<T>& shared) {
    typedef typename Real<T>::Pair P;
    constexpr i32 AHEAD = 6;
    const i32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5, width = shape.last_x + 1;
    const long long pitch_u = job.u_layout.pitch, pitch_v = job.v_layout.pitch;
    const T* u = vertex_at<T>(job.u, job.u_layout, shape.x0 + (lane < width ? lane : 0), (long long)shape.y0 - 1 + warp);
    const T* v = vertex_at<T>(job.v, job.v_layout, shape.x0 + (lane < width ? lane : 0), (long long)shape.y0 - 1 + warp);
    const u64 mine = rows >> warp;
    P* const to = &shared.at(lane, warp - 1);
#pragma unroll
    for (i32 start = 0; start <= CLOSED / 2; start += AHEAD) {
        P some[AHEAD];
#pragma unroll
        for (i32 i = 0; i < AHEAD; i++) {
            if (mine >> 2 * (start + i) & 1) some[i] = Real<T>::pair(*u, *v);
            u += 2 * pitch_u, v += 2 * pitch_v;
        }
#pragma unroll
        for (i32 i = 0; i < AHEAD; i++)
            if (start + i <= CLOSED / 2 && mine >> 2 * (start + i) & 1) to[2 * (start + i) * (CLOSED + 2)] = some[i];
    }
    // A lane for a row.
    if (!(warp == 0 ? before_is_near : end_is_near)) return;
    const i32 x = warp == 0 ? -1 : TILE;
    const T* const side_u = vertex_at<T>(job.u, job.u_layout, (long long)shape.x0 + x, shape.y0);
    const T* const side_v = vertex_at<T>(job.v, job.v_layout, (long long)shape.x0 + x, shape.y0);
#pragma unroll 1
    for (i32 y = lane - 1; y <= shape.last_y; y += 32) {
        const T *a = side_u + y * pitch_u, *b = side_v + y * pitch_v;
        const bool is_there = rows >> (y + 1) & 1;
        if (warp == 0 ? y >= 0 || shape.ty > 0 : is_there) shared.at(x, y) = Real<T>::pair(*a, *b);
        // The cells of the column before are looked at in all rows.
        if (warp == 0 && !is_there && (y >= 0 || shape.ty > 0)) shared.at(0, y) = Real<T>::pair(a[job.u_layout.stride], b[job.v_layout.stride]);
    }
}

// The limits of the vertices of half a tile from the triangles that are not hard, and those that are: a triangle whose hull
// comes nearest to the origin with a corner has that distance as its bound (no edge is farther away); others near the origin
// are hard, their bound takes determinants. In the speculative mode those are hard whose hull has the origin inside.
// Rows are those of cells to look at, the one before the tile first; where the last column of cells is far, the one behind
// it is not there.
template <typename T>
__device__ __forceinline__ Found find_limits(const Job& job, const Constraints<T>& c, const TileShape& shape, u64 tile, i32 half, u64 rows_of_tile,
                                             bool before_is_near, bool end_is_near, LimitShared<T>& shared, u32 has_nonfinite, u32 has_special) {
    typedef Real<T> R;
    typedef typename R::Pair P;
    const T none = no_limit<T>();
    T* const limits = limits_of<T>(job, tile);
    const u32 speculative = warp_or(c.speculative);
    const i32 lane = threadIdx.x & 31, start = LIMIT_ROWS * half, columns = (i32)warp_or(shape.last_x < TILE || end_is_near ? shape.last_x : TILE - 1),
              cells = c.preserve ? columns : 0;
    const T bound_up = R::from_bits(uniform(R::bits(c.bound_up)));
    // How far a vertex is from the origin. Of one that is not finite, no triangle is easy, nor zero.
    auto size_of = [&](P p) -> T { return has_nonfinite && !(R::finite(p.x) && R::finite(p.y)) ? -none : R::high(R::abs(p.x), R::abs(p.y)); };
    u32 special = 0, inside = 0, hard = 0, written = 0;
    // Positions in odd rows.
    const i32 odd_position = (lane & 1 ? 768 : 512) + (lane >> 1);
    auto write = [&](i32 y, T limit) {
        limits[y & 1 ? odd_position + 8 * (y - 1) : position_of(lane, y)] = limit;
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
        const P* row = &shared.at(lane, start + first - 1);
        const i32 beside = lane < columns ? 1 : 0;
        P a = row[0], b = row[beside];
        Hull<T> hull_a(a, b);
        T size_a = size_of(a), size_b = size_of(b);
        u32 zero_a = 0, zero_b = 0;
        auto look_at = [&](T size_a, T size_b, u32& zero_a, u32& zero_b) {
            if (!has_special) return;
            zero_a = __ballot_sync(FULL, size_a == T(0));
            zero_b = __ballot_sync(FULL, size_b == T(0));
            special |= zero_a | zero_b;
            if (has_nonfinite) special |= __ballot_sync(FULL, size_a < T(0) || size_b < T(0));
        };
        look_at(size_a, size_b, zero_a, zero_b);
        // The row before the tile is not its own.
        if (first == 0 && !half) special = 0;
        T above = none;
        u32 near_above = 0;
        i32 y = start + first - 1;
        const i32 end = start + (last - 1 < rows_of_cells ? last - 1 : rows_of_cells);
#pragma unroll 1
        for (; y < end; y++) {
            row += CLOSED + 2;
            const P d = row[0], e = row[beside];
            const Hull<T> hull_d(d, e);
            const T size_d = size_of(d), size_e = size_of(e);
            u32 zero_d = 0, zero_e = 0;
            look_at(size_d, size_e, zero_d, zero_e);
            const T axis_lower = hull_a.axis(e), axis_upper = hull_d.axis(a);
            const bool lower = lane < cells && !(axis_lower > bound_up), upper = lane < cells && !(axis_upper > bound_up);
            // Nothing to keep where all is zero.
            const u32 lowers = __ballot_sync(FULL, lower) & ~(zero_a & zero_b & zero_e);
            const u32 uppers = __ballot_sync(FULL, upper) & ~(zero_a & zero_d & zero_e);
            if (lowers | uppers | near_above) {
                near_above = lowers | uppers;
                const bool easy_lower = lower & (axis_lower > T(0)) & (speculative || axis_lower == R::low(R::low(size_a, size_b), size_e));
                const bool easy_upper = upper & (axis_upper > T(0)) & (speculative || axis_upper == R::low(R::low(size_d, size_e), size_a));
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
                    if (lane == y - start) hard = hard_lowers;
                    if (lane == y - start + LIMIT_ROWS) hard = hard_uppers;
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
    job.masks[tile * 64 + 32 * half + lane] = hard;
    return {special, inside, written, warp_sum(__popc(hard))};
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
    // A block at a time: all of them add to the same words.
    __shared__ u32 counts[2][4];
    __shared__ u64 at[2];
    if (lane == 0) {
        counts[0][threadIdx.x >> 5] = __popc(plains);
        counts[1][threadIdx.x >> 5] = __popc(limited);
    }
    __syncthreads();
    if (threadIdx.x < 2) {
        const u32* const of = counts[threadIdx.x];
        at[threadIdx.x] = atomicAdd((unsigned long long*)(threadIdx.x ? &control.limited_tiles : &control.plain_tiles), (unsigned long long)(of[0] + of[1] + of[2] + of[3]));
    }
    __syncthreads();
    u64 at_plain = at[0], at_limited = at[1];
    for (u32 w = 0; w < threadIdx.x >> 5; w++) {
        at_plain += counts[0][w];
        at_limited += counts[1][w];
    }
    if (!exists) return;
    if (plain)
        job.group_sizes[at_plain + __popc(plains & before)] = tile;
    else
        job.group_offsets[at_limited + __popc(limited & before)] = tile;
    job.info[tile] = plain ? ALL_CODED : 0;
    nearness_of(job, tile).kind = plain ? PLAIN_TILE : OTHER_TILE;
}

// Grid: any. Block: 64, a limited tile. Limits from triangles that are not hard; lists the whole tiles without zeros
// and missing values, from the end of the list of plain ones, and the others between these.
template <typename T>
__device__ __forceinline__ void limits(const Job& job) {
    __shared__ LimitShared<T> shared;
    // The kernel before is the tuning, beside which this one works, or what this one needs.
    if (job.predictor == PREDICTOR_LORENZO) wait_for_kernel_before();
    Control& control = control_of(job);
    const Constraints<T> c = constraints_of<T>(job, control);
    const double bound = near_bound(job, control);
    const u64 count = control.limited_tiles;
    const i32 half = (i32)warp_or(threadIdx.x >> 5);
    const u32 has_nonfinite = warp_or(control.nonfinite != 0), has_special = warp_or((control.nonfinite | control.zero) != 0);
    for (u64 k = blockIdx.x; k < count; k += gridDim.x) {
        const u64 tile = uniform(job.group_offsets[k]);
        const TileShape shape = tile_shape(job, tile);
        Nearness& entry = nearness_of(job, tile);
        // Rows of cells that come near the origin, the one above first, and the column before.
        const Nearness nearness = entry;
        u64 rows = shape.ty > 0 && !(nearness_of(job, tile - job.tiles_x).bottom > bound) ? 1 : 0;
#pragma unroll
        for (i32 band = 0; band < BANDS; band++)
            if (!(nearness.bands[band] > bound)) rows |= (u64)((1u << BAND_ROWS) - 1) << (1 + BAND_ROWS * band);
        bool before_is_near = shape.tx > 0 && !(nearness_of(job, tile - 1).right > bound);
        // That begins with a cell of the tile above, around whose corner it is.
        if (shape.tx > 0 && shape.ty > 0) {
            const Nearness& corner = nearness_of(job, tile - job.tiles_x - 1);
            before_is_near |= !(corner.bottom > bound || corner.right > bound);
        }
        // A row of vertices has triangles above and below.
        rows = uniform(rows | rows << 1) & ((2ull << (shape.last_y < TILE ? shape.last_y + 1 : TILE)) - 1);
        before_is_near = warp_or(before_is_near);
        bool end_is_near = !(nearness.right > bound);
        if (shape.ty > 0) {
            const Nearness& over = nearness_of(job, tile - job.tiles_x);
            end_is_near |= !(over.bottom > bound || over.right > bound);
        }
        end_is_near = warp_or(end_is_near && shape.last_x == TILE);
        load_rows<T>(job, shape, rows | (rows << 1 & ((4ull << shape.last_y) - 1)), before_is_near, end_is_near, shared);
        // Most vertices have no limit. Where the grid ends inside the tile, its border may get some later.
        const bool all = (job.halo | job.pin) && (shape.last_x < TILE || shape.last_y < TILE);
        T* const limits = limits_of<T>(job, tile);
#pragma unroll 1
        for (i32 position = threadIdx.x; position < (all ? TILE_VERTICES : 256 + LIMIT_CHUNK); position += 64) limits[position] = no_limit<T>();
        if (threadIdx.x < TILE / 2) limits[512 + LIMIT_CHUNK * threadIdx.x] = no_limit<T>();
        __syncthreads();
        const Found found = find_limits(job, c, shape, tile, half, rows, before_is_near, end_is_near, shared, has_nonfinite, has_special);
        if (threadIdx.x == 32) shared.second = found;
        __syncthreads();
        if (half != 0) continue;
        const Found second = shared.second;
        // The list of the bounds takes 32 of them a time.
        const u32 chunks = (found.hard + second.hard + 31) / 32, lane = threadIdx.x;
        if (chunks) {
            u64 at = 0;
            if (lane == 0) at = atomicAdd((unsigned long long*)&control.hard_chunks, (unsigned long long)chunks);
            at = __shfl_sync(FULL, at, 0);
            for (u32 i = lane; i < chunks; i += 32) hard_chunks(job)[at + i] = tile << HARD_CHUNK_BITS | i;
        }
        if (lane != 0) continue;
        // Rows with odd numbers are two chunks of limits, others one.
        const u32 written = found.rows | second.rows << LIMIT_ROWS;
        const u32 even = every_other(written), odd = every_other(written >> 1);
        entry.limited = all ? ~0ull : ALWAYS_LIMITED | (u64)even << 16 | (u64)odd << 32 | (u64)odd << 48;
        // Signatures are looked at where all vertices around are at hand.
        const bool whole = !(found.special | found.inside | second.special | second.inside) && shape.last_x == TILE && shape.last_y == TILE;
        const u64 before = atomicAdd((unsigned long long*)(whole ? &control.whole_tiles : &control.other_tiles), 1ull);
        job.group_sizes[whole ? job.tiles() - 1 - before : control.plain_tiles + before] = tile;
        if (whole) entry.kind = WHOLE_TILE;
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

// A triangle: tile << 11 | y << 6 | x << 1 | which of its cell.
struct Triangle {
    u64 tile;
    i32 x, y, which;

    __device__ __forceinline__ Triangle(u64 packed)
        : tile(packed >> 11), x((i32)(packed >> 1 & 31)), y((i32)(packed >> 6 & 31)), which((i32)(packed & 1)) {}
};
template <typename T>
__device__ __forceinline__ Corners<T> corners_of(const Job& job, const Triangle& t) {
    const TileShape shape = tile_shape(job, t.tile);
    const T* const u = vertex_at<T>(job.u, job.u_layout, shape.x0 + t.x, shape.y0 + t.y);
    const T* const v = vertex_at<T>(job.v, job.v_layout, shape.x0 + t.x, shape.y0 + t.y);
    const long long pitch_u = job.u_layout.pitch, pitch_v = job.v_layout.pitch, stride_u = job.u_layout.stride, stride_v = job.v_layout.stride;
    // The corner across the diagonal, and the third one.
    const long long third_u = t.which == UPPER ? pitch_u : stride_u, third_v = t.which == UPPER ? pitch_v : stride_v;
    const T far_u = u[pitch_u + stride_u], far_v = v[pitch_v + stride_v], other_u = u[third_u], other_v = v[third_v];
    Corners<T> p;
    p.u[0] = *u, p.v[0] = *v;
    p.u[1] = t.which == UPPER ? far_u : other_u, p.v[1] = t.which == UPPER ? far_v : other_v;
    p.u[2] = t.which == UPPER ? other_u : far_u, p.v[2] = t.which == UPPER ? other_v : far_v;
    return p;
}
template <typename T>
__device__ __forceinline__ void lower_corners(const Job& job, const Triangle& t, T limit) {
#pragma unroll
    for (i32 k = 0; k < 3; k++) lower_to(limit_at<T>(job, t.tile, t.x + corner_x(t.which, k), t.y + corner_y(t.which, k)), limit);
}

// Grid: any. Block: 128, a warp for 32 triangles of the list. Limits of vertices, and the critical points. What takes the
// ladder waits for others that do.
template <typename T>
__device__ __forceinline__ void bounds(const Job& job) {
    Control& control = control_of(job);
    const Constraints<T> c = constraints_of<T>(job, control);
    const i32 lane = threadIdx.x & 31;
    const u64 start = (u64)blockIdx.x * 4 + (threadIdx.x >> 5), warps = (u64)gridDim.x * 4, chunks = control.hard_chunks;
    __shared__ u32 all_critical;
    __shared__ u64 waiting_[4][64];
    u64* const waiting = waiting_[threadIdx.x >> 5];
    if (threadIdx.x == 0) all_critical = 0;
    __syncthreads();
    u32 critical = 0, count = 0;
    auto climb = [&](bool exists, u64 packed) {
        if (!exists) return;
        const Triangle t(packed);
        const TriangleBound<T> bound = ladder_bound(corners_of<T>(job, t), t.which, c.rule, c.bound);
        lower_corners<T>(job, t, bound.limit);
        critical += bound.inside;
    };
    // The next chunk is on its way while one is looked at.
    u64 next = 0;
    u32 next_first = 0, next_second = 0;
    auto fetch = [&](u64 k) {
        if (k >= chunks) return;
        next = hard_chunks(job)[k];
        const u32* const words = job.masks + (next >> HARD_CHUNK_BITS) * 64 + lane;
        next_first = words[0];
        next_second = words[32];
    };
    fetch(start);
#pragma unroll 1
    for (u64 k = start; k < chunks; k += warps) {
        const u64 entry = uniform(next), tile = entry >> HARD_CHUNK_BITS;
        const u32 first = next_first, second = next_second;
        fetch(k + warps);
        u32 up_to = __popc(first) + __popc(second);
#pragma unroll
        for (i32 d = 1; d < 32; d *= 2) {
            const u32 before = __shfl_up_sync(FULL, up_to, d);
            if (lane >= d) up_to += before;
        }
        // The word of the lane's triangle, then which of its word.
        const u32 number = (u32)(entry & ((1 << HARD_CHUNK_BITS) - 1)) * 32 + lane;
        i32 found = 0;
#pragma unroll
        for (i32 d = 16; d > 0; d /= 2)
            if (__shfl_sync(FULL, up_to, found + d - 1) <= number) found += d;
        const bool exists = number < __shfl_sync(FULL, up_to, 31);
        const u32 firsts = __shfl_sync(FULL, first, found), seconds = __shfl_sync(FULL, second, found);
        u32 left = number - (__shfl_sync(FULL, up_to, found) - __popc(firsts) - __popc(seconds));
        const bool of_second = left >= (u32)__popc(firsts);
        if (of_second) left -= __popc(firsts);
        const u32 row = of_second ? seconds : firsts;
        const i32 y = (of_second ? LIMIT_ROWS : 0) + (found & (LIMIT_ROWS - 1));
        i32 x = 0;
#pragma unroll
        for (i32 d = 16; d > 0; d /= 2) {
            const u32 n = __popc(row >> x & ((1u << d) - 1));
            if (left >= n) {
                left -= n;
                x += d;
            }
        }
        const u64 packed = tile << 11 | (u32)(y << 6 | x << 1) | (found >= LIMIT_ROWS ? UPPER : LOWER);
        bool waits = false;
        if (exists) {
            const Triangle t(packed);
            const Corners<T> p = corners_of<T>(job, t);
            if (c.speculative) {
                // Signatures are looked at in place of limits.
                critical += is_inside(p);
            } else {
                const T axis = axis_distance(p);
                T limit = Real<T>::MAX;
                if (finite(p)) {
                    const Bounded by = bounded(p, axis);
                    waits = by == Bounded::BY_LADDER;
                    if (by == Bounded::BY_HULL) limit = axis > T(0) && (double)axis >= c.bound ? axis : hull_bound(p, axis);
                }
                if (!waits) lower_corners<T>(job, t, limit);
            }
        }
        const u32 new_ones = __ballot_sync(FULL, waits);
        if (waits) waiting[count + __popc(new_ones & ((1u << lane) - 1))] = packed;
        count += __popc(new_ones);
        __syncwarp();
        if (count >= 32) {
            count -= 32;
            climb(true, waiting[count + lane]);
            __syncwarp();
        }
    }
    climb((u32)lane < count, waiting[lane]);
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
        P values[9];
        values[0] = Real<T>::pair(*vertex_at<T>(job.u, job.u_layout, shape.x0, shape.y0), *vertex_at<T>(job.v, job.v_layout, shape.x0, shape.y0));
        const bool looks_around = is_tight(limit) && c.speculative;
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
