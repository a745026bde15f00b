// Vertex bounds: how far each vertex may move, from the triangles near the origin. They lie in the memory
// that later holds the words, in the order of the symbols: infinity if only the bound of the call applies,
// the maximum of T if signatures are compared instead. Most vertices have none and most of those are not
// stored: bit c of a tile's `bounded` tells whether positions 16 c to 16 c + 15 are stored. The first column
// (x = 0) and positions below 272 (even coordinates, and the first row) always are.
#pragma once
#include "compress/front.cuh"
#include "tile/encode.cuh"

template <typename T>
__device__ __forceinline__ T* vertex_bounds_of(const Job& job, u64 tile) {
    return BoundsView<T>(job).vertex_bounds(tile);
}
template <typename T>
__device__ __forceinline__ T no_bound() {
    return Real<T>::from_bits(sizeof(T) == 4 ? 0x7f800000ull : 0x7ff0000000000000ull);
}
template <typename T>
__device__ __forceinline__ bool is_constrained(T vertex_bound) {
    return vertex_bound <= Real<T>::MAX;
}

constexpr i32 BOUND_CHUNK = 16;
constexpr u64 ALWAYS_BOUNDED = (1ull << 17) - 1;
// Bound of a vertex outside the first column.
template <typename T>
__device__ __forceinline__ T vertex_bound_of(const T* vertex_bounds, u64 bounded, i32 position) {
    return bounded >> (position / BOUND_CHUNK) & 1 ? vertex_bounds[position] : no_bound<T>();
}

// Cells at the vertices of a tile that come near the origin: of the row above, of each band of rows, of the
// column before, of the tile's last column. A byte per bounded tile, in the memory that later holds symbols.
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
    // The column before starts with the cell around the tile's corner, which belongs to the tiles above.
    if (left && (!(last.right > near) || (up && !(corner.bottom > near || corner.right > near))))
        cells |= NEAR_BEFORE;
    if (shape.last_x == TILE && (!(own.right > near) || (up && !(over.bottom > near || over.right > near))))
        cells |= NEAR_END;
    return cells;
}

// True if a tile can be unconstrained: its closed block lies inside the grid.
__device__ __forceinline__ bool may_be_unconstrained(const Job& job, const TileShape& shape) {
    const bool border =
        shape.tx == 0 || shape.ty == 0 || shape.x0 + TILE == job.nx - 1 || shape.y0 + TILE == job.ny - 1;
    return shape.last_x == TILE && shape.last_y == TILE && !((job.halo | job.pin) && border);
}
// Least distance from the origin of the triangles at the vertices of a closed tile, per axis. If it exceeds
// the bound, the tile has no zeros, missing values or vertex bounds.
__device__ __forceinline__ float least_nearness(const Job& job, const TileShape& shape, u64 tile) {
    // Start all loads at once; a missing neighbour is replaced by the tile itself.
    const u64 across = job.tiles_x, left = shape.tx > 0 ? 1 : 0, up = shape.ty > 0 ? across : 0;
    const Nearness &own = nearness_of(job, tile), &next = nearness_of(job, tile + 1),
                   &under = nearness_of(job, tile + across);
    const Nearness &last = nearness_of(job, tile - left), &over = nearness_of(job, tile - up);
    // A diagonal neighbour contributes one cell, which lies on two sides of it.
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

// Two warps share a tile, half of the rows each.
constexpr i32 BOUND_ROWS = TILE / 2;

// List of triangles that need determinants, in the memory that later holds the payload: tile << 11 | y << 6 |
// x << 1 | upper. If the tile number needs more bits, 32 consecutive entries belong to one tile, and a word
// in the memory of the masks holds the high bits: tile >> HARD_TILE_BITS | (count - 1) << 27.
constexpr i32 HARD_TILE_BITS = 21;
__device__ __forceinline__ u32* hard_triangles(const Job& job) { return ListsView(job).hard_triangles(); }
__device__ __forceinline__ bool few_tiles(const Job& job) { return job.tiles() <= 1ull << HARD_TILE_BITS; }

// Result for half a tile. special: columns of the closed tile with a vertex that is zero, missing or keeps
// its sign; nonzero: columns with any other vertex, in the rows looked at; inside: columns with bounds off
// the lattice lines; rows: rows whose bounds are stored. lowers, uppers: columns of triangles that need
// determinants, a lane per row.
struct Found {
    u32 special, nonzero, inside, rows;
    u32 lowers, uppers;
};

// A closed tile with the row above and the column before, and the result of its second half.
template <typename T>
struct BoundsShared {
    typedef typename Real<T>::Pair P;
    static constexpr i32 PITCH = CLOSED + 3;
    alignas(16) T u[CLOSED + 1][PITCH], v[CLOSED + 1][PITCH];
    T before_u[CLOSED + 1], before_v[CLOSED + 1];
    u32 special, nonzero, inside, rows;
    u32 lowers[BOUND_ROWS], uppers[BOUND_ROWS];

    __device__ __forceinline__ P at(i32 x, i32 y) const { return Real<T>::pair(u[y + 1][x], v[y + 1][x]); }
    __device__ __forceinline__ P before(i32 y) const {
        return Real<T>::pair(before_u[y + 1], before_v[y + 1]);
    }
};

// Bounding box of two vectors.
template <typename T>
struct Hull {
    T low_u, high_u, low_v, high_v;
    template <typename P>
    __device__ __forceinline__ Hull(P p, P q) {
        typedef Real<T> R;
        low_u = R::low(p.x, q.x), high_u = R::high(p.x, q.x);
        low_v = R::low(p.y, q.y), high_v = R::high(p.y, q.y);
    }
    // Distance from the origin, per axis, of the box of these two and another vector; negative inside.
    template <typename P>
    __device__ __forceinline__ T axis(P p) const {
        typedef Real<T> R;
        return R::high(R::high(R::low(low_u, p.x), -R::high(high_u, p.x)),
            R::high(R::low(low_v, p.y), -R::high(high_v, p.y)));
    }
};

// Starts the copies of the rows in `rows`, the row above the tile first, and of the side columns as needed.
// Call with two warps. ALIGNED: the tile has all columns and 16 bytes can be copied at once.
template <bool ALIGNED, typename T>
__device__ __forceinline__ void ask_for_rows(const Job& job, const TileShape& shape, u64 rows,
    bool before_is_near, bool end_is_near, BoundsShared<T>& shared) {
    const i32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const long long pitch_u = job.u_layout.pitch, pitch_v = job.v_layout.pitch;
    // Bytes per copy; columns and rows that they cover.
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
    // Side columns: a lane per row, the first lanes two.
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

// Bounds of half a tile from the triangles that need no determinants, and the triangles that do. If the hull
// of a triangle is nearest to the origin at a corner, that distance is the bound, since no edge is farther
// away. Other triangles near the origin need determinants; in the speculative mode those whose hull contains
// the origin, in order to count critical points. SIMPLE: no vertex is missing or keeps its sign, and the mode
// is not speculative.
template <bool SIMPLE, typename T>
__device__ __forceinline__ Found find_cheap_bounds(const Job& job, const Constraints<T>& c,
    const TileShape& shape, u64 tile, i32 half, u64 rows_of_tile, bool before_is_near, bool end_is_near,
    BoundsShared<T>& shared, u32 any_rare, u32 has_special, bool lossless) {
    typedef Real<T> R;
    typedef typename R::Pair P;
    const T none = no_bound<T>();
    T* const vertex_bounds = vertex_bounds_of<T>(job, tile);
    const u32 speculative = SIMPLE ? 0 : warp_or(c.speculative), has_rare = SIMPLE ? 0 : any_rare;
    const i32 lane = threadIdx.x & 31, start = BOUND_ROWS * half,
              columns = (i32)warp_or(shape.last_x < TILE || end_is_near ? shape.last_x : TILE - 1),
              cells = c.preserve ? columns : 0;
    const T bound_up = R::from_bits(uniform(R::bits(c.bound_up)));
    // Distance of a vertex from the origin; negative infinity if it is missing or keeps its sign, so that its
    // triangles are never easy.
    auto is_rare = [&](P p) {
        return is_missing(p.x, p.y, job.fill) || (lossless && has_negative_zero(p.x, p.y));
    };
    auto size_of = [&](P p) -> T {
        return has_rare && is_rare(p) ? -none : R::high(R::abs(p.x), R::abs(p.y));
    };
    u32 special = 0, nonzero = 0, inside = 0, hard_of_lower = 0, hard_of_upper = 0, written = 0;
    // Lanes without a cell.
    const T near = lane < cells ? bound_up : -none;
    const u32 cell_lanes = cells > 0 ? ~0u >> (32 - cells) : 0;
    auto write = [&](i32 y, T vertex_bound) {
        vertex_bounds[POSITIONS.at[TILE * y + lane]] = vertex_bound;
        written |= 1u << (y - start);
        if (speculative && y > 0) inside |= __ballot_sync(FULL, is_constrained(vertex_bound)) & ~1u;
    };
    // The row of cells above belongs to other tiles but touches vertices of this one. Below the last row of
    // the grid there are no cells. Not unrolled: the code must stay in the instruction cache.
    u32 rows = (u32)(rows_of_tile >> start) & ((2u << BOUND_ROWS) - 1);
    const i32 rows_of_cells = shape.last_y - start < BOUND_ROWS ? shape.last_y - start : BOUND_ROWS;
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
        // The row above the tile is not its own.
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
            // A triangle of zeros has nothing to keep.
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
                T bound_lower = easy_lower ? axis_lower : none, bound_upper = easy_upper ? axis_upper : none;
                const u32 hard_lowers = lowers & ~__ballot_sync(FULL, easy_lower),
                          hard_uppers = uppers & ~__ballot_sync(FULL, easy_upper);
                if (speculative) {
                    bound_lower = lowers >> lane & 1 ? R::MAX : none;
                    bound_upper = uppers >> lane & 1 ? R::MAX : none;
                }
                T lower_before = __shfl_up_sync(FULL, bound_lower, 1);
                const T upper_before = __shfl_up_sync(FULL, bound_upper, 1);
                // Lane 0 has no left neighbour.
                if (lane == 0) lower_before = none;
                const T both = R::low(lower_before, bound_upper),
                        vertex_bound = R::low(R::low(above, both), bound_lower);
                above = R::low(both, upper_before);
                if (y >= start) {
                    if (lane == y - start) hard_of_lower = hard_lowers, hard_of_upper = hard_uppers;
                    write(y, vertex_bound);
                }
            }
            a = d, b = e;
            hull_a = hull_d;
            size_a = size_d, size_b = size_e;
            zero_a = zero_d, zero_b = zero_e;
        }
        if (near_above && y < start + last - 1) write(y, above);
    }
    // The column of cells before the tile, a lane per row.
    if (before_is_near && c.preserve) {
        const i32 top = shape.ty > 0 || half ? -1 : 0, y = lane - 1;
        T lower = none, upper = none;
        if (y >= top && y < rows_of_cells) {
            const P a = shared.before(start + y), b = shared.at(0, start + y),
                    d = shared.before(start + y + 1), e = shared.at(0, start + y + 1);
            const T size_a = size_of(a), size_b = size_of(b), size_d = size_of(d), size_e = size_of(e);
            auto corner_bound = [&](T axis, T size) -> T {
                if (speculative)
                    return !(axis > bound_up) && !(size_a == T(0) && size_e == T(0) && size == T(0)) ? R::MAX
                                                                                                     : none;
                return !(axis > bound_up) && axis > T(0) && axis == R::low(R::low(size_a, size_e), size)
                           ? axis
                           : none;
            };
            lower = corner_bound(Hull<T>(a, b).axis(e), size_b);
            upper = corner_bound(Hull<T>(d, e).axis(a), size_d);
        }
        const T lower_above = __shfl_up_sync(FULL, lower, 1), upper_above = __shfl_up_sync(FULL, upper, 1);
        const T vertex_bound = R::low(lower, R::low(lower_above, upper_above));
        __syncwarp();
        if (lane > 0 && lane <= BOUND_ROWS && is_constrained(vertex_bound))
            lower_to(vertex_bounds + position_of(0, start + y), vertex_bound);
    }
    return {special, nonzero, inside, written, hard_of_lower, hard_of_upper};
}

// Grid: 1 + tiles / (32 * SORT_WARPS). Block: 32 * SORT_WARPS threads, a thread per tile. Lists unconstrained
// tiles and bounded tiles, in no order. Block 0 decides the bound; the other blocks recompute it. Reads:
// statistics, nearness. Writes: control block, lists, info, kind of each tile, cells near the origin. Waits
// for: the previous kernel.
template <typename T>
__device__ __forceinline__ void sort_tiles(const Job& job) {
    const ListsView work(job);
    if (blockIdx.x == 0) return decide<T>(job);
    Control& control = control_of(job);
    const u64 tile = (u64)(blockIdx.x - 1) * (32 * SORT_WARPS) + threadIdx.x;
    const u32 lane = threadIdx.x & 31, before = (1u << lane) - 1;
    const bool exists = tile < job.tiles();
    const TileShape shape = tile_shape(job, exists ? tile : 0);
    const bool may_be = exists && may_be_unconstrained(job, shape);
    float least = -1;
    if (may_be) least = least_nearness(job, shape, tile);
    const double near = near_bound(job, (double)round_up<T>(useful_bound_of(job, range_of_all<T>(job))));
    const bool unconstrained = may_be && least > near;
    const u32 cells = exists && !unconstrained ? near_cells(job, shape, tile, near) : 0;
    const u32 unconstrained_lanes = __ballot_sync(FULL, exists && unconstrained),
              bounded = __ballot_sync(FULL, exists && !unconstrained);
    // One atomic per block.
    __shared__ u32 counts[SORT_WARPS];  // unconstrained, and bounded << 16
    __shared__ u64 at[2];
    if (lane == 0) counts[threadIdx.x >> 5] = __popc(unconstrained_lanes) | __popc(bounded) << 16;
    __syncthreads();
    // Sums of the warps before; the last warp has the total.
    const u32 warp = threadIdx.x >> 5, mine = lane <= warp && lane < SORT_WARPS ? counts[lane] : 0;
    const u32 up_to_me = warp_sum(mine), before_me = up_to_me - counts[warp];
    if (warp == SORT_WARPS - 1 && lane < 2)
        at[lane] =
            atomicAdd((unsigned long long*)(lane ? &control.bounded_tiles : &control.unconstrained_tiles),
                (unsigned long long)(up_to_me >> 16 * lane & 0xffff));
    __syncthreads();
    const u64 at_unconstrained = at[0] + (before_me & 0xffff), at_bounded = at[1] + (before_me >> 16);
    if (!exists) return;
    if (unconstrained) {
        work.tile_lists()[at_unconstrained + __popc(unconstrained_lanes & before)] = tile;
    } else {
        const u64 at = at_bounded + __popc(bounded & before);
        work.bounded()[at] = tile;
        work.near_cells()[at] = (u8)cells;
    }
    work.headers()[tile] = unconstrained ? ALL_CODED : 0;
    nearness_of(job, tile).kind = unconstrained ? UNCONSTRAINED_TILE : BORDER_TILE;
}

// Rows of vertices above or below a cell near the origin; bit 0 is the row above the tile.
__device__ __forceinline__ u64 near_rows(const TileShape& shape, u32 cells) {
    u64 rows = cells & NEAR_ABOVE;
#pragma unroll
    for (i32 band = 0; band < BANDS; band++)
        if (cells & NEAR_BAND << band) rows |= (u64)((1u << BAND_ROWS) - 1) << (1 + BAND_ROWS * band);
    return (rows | rows << 1) & ((2ull << (shape.last_y < TILE ? shape.last_y + 1 : TILE)) - 1);
}

// Appends the triangles of a tile that need determinants, a lane per row of cells. `before`: triangles of
// earlier lanes.
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

// Lists constrained tiles from the end of the list of unconstrained tiles, and border tiles between both.
// Tiles with most work come first, because no other work is left to overlap the last ones.
__device__ __forceinline__ void list_by_weight(const Job& job, Control& control) {
    const ListsView work(job);
    const u64 threads = (u64)gridDim.x * blockDim.x;
    for (u64 k = (u64)blockIdx.x * blockDim.x + threadIdx.x; k < control.bounded_tiles; k += threads) {
        const u64 tile = work.bounded()[k];
        const Nearness& entry = nearness_of(job, tile);
        if (entry.weighted == NOT_LISTED) continue;
        const u32 is_interior = entry.kind == CONSTRAINED_TILE, weight = entry.weighted >> WEIGHT_AT;
        u64 at = entry.weighted & ((1u << WEIGHT_AT) - 1);
#pragma unroll
        for (u32 w = 1; w < WEIGHTS; w++)
            if (w > weight) at += control.weighed[is_interior][w];
        work.tile_lists()[is_interior ? job.tiles() - 1 - at : control.unconstrained_tiles + at] = tile;
    }
    if (blockIdx.x == 0 && threadIdx.x < 2) {
        u64 sum = 0;
        for (u32 w = 0; w < WEIGHTS; w++) sum += control.weighed[threadIdx.x][w];
        (threadIdx.x ? control.constrained_tiles : control.border_tiles) = sum;
    }
}

// Grid: any. Block: 64 threads per bounded tile. Static shared: the tile. Bounds from triangles that need no
// determinants. Reads: the field, lists. Writes: vertex bounds, kind and weight of each tile, list of
// triangles that need determinants. Overlaps the previous kernel, factz_tune; with the Lorenzo predictor,
// which is not tuned, waits for it.
template <typename T>
__device__ __forceinline__ void cheap_bounds(const Job& job) {
    const ListsView work(job);
    __shared__ BoundsShared<T> shared;
    // Without tuning the previous kernel is factz_sort, which this one needs.
    if (job.predictor == PREDICTOR_LORENZO) wait_for_kernel_before();
    Control& control = control_of(job);
    const u64 count = control.bounded_tiles;
    const TileFinder finder(job);
    // Load the next entry of the list during the work on this one.
    u64 next = 0;
    u32 next_cells = 0;
    auto fetch = [&](u64 k) {
        if (k >= count) return;
        next = work.bounded()[k];
        next_cells = work.near_cells()[k];
    };
    fetch(blockIdx.x);
    const Constraints<T> c = constraints_of<T>(job, control);
    // The warp with the first half also finishes the tile. Alternate between the two warps to balance the
    // schedulers.
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
        // Initialize the stored bounds. If the grid ends inside the tile, bounds on its border may follow
        // later: store all.
        const bool all = (job.halo | job.pin) && (shape.last_x < TILE || shape.last_y < TILE);
        T* const vertex_bounds = vertex_bounds_of<T>(job, tile);
        const uint4 none = sizeof(T) == 4 ? make_uint4(0x7f800000, 0x7f800000, 0x7f800000, 0x7f800000)
                                          : make_uint4(0, 0x7ff00000, 0, 0x7ff00000);
        constexpr i32 SIXTEEN = 16 / sizeof(T);
#pragma unroll 1
        for (i32 i = threadIdx.x; i < (all ? TILE_VERTICES : 256 + BOUND_CHUNK) / SIXTEEN; i += 64)
            reinterpret_cast<uint4*>(vertex_bounds)[i] = none;
        if (threadIdx.x < TILE / 2) vertex_bounds[512 + BOUND_CHUNK * threadIdx.x] = no_bound<T>();
        wait_for_copies<0>();
        __syncthreads();
        const Found found = simple ? find_cheap_bounds<true>(job, c, shape, tile, half, rows, before_is_near,
                                         end_is_near, shared, 0, has_special, false)
                                   : find_cheap_bounds<false>(job, c, shape, tile, half, rows, before_is_near,
                                         end_is_near, shared, has_rare, has_special, lossless);
        if (half) {
            if (lane < BOUND_ROWS) shared.lowers[lane] = found.lowers, shared.uppers[lane] = found.uppers;
            if (lane == 0)
                shared.special = found.special, shared.nonzero = found.nonzero, shared.inside = found.inside,
                shared.rows = found.rows;
        }
        __syncthreads();
        if (half) continue;
        // A lane per row of cells.
        const u32 lowers = lane < BOUND_ROWS ? found.lowers : shared.lowers[lane - BOUND_ROWS];
        const u32 uppers = lane < BOUND_ROWS ? found.uppers : shared.uppers[lane - BOUND_ROWS];
        const u32 own = __popc(lowers) + __popc(uppers);
        u32 up_to = own;
#pragma unroll
        for (i32 d = 1; d < 32; d *= 2) up_to = add_from_below(up_to, d);
        const u32 hard = __shfl_sync(FULL, up_to, 31);
        // Interior tiles have all vertices around their vertices at hand.
        const bool full = shape.last_x == TILE && shape.last_y == TILE;
        const bool is_interior = full && !(found.special | found.inside | shared.special | shared.inside);
        // A tile of zeros (land) needs no work.
        const bool zero = full && simple && found.special && !(found.nonzero | shared.nonzero) &&
                          (cells & ALL_BANDS) == ALL_BANDS;
        // Predictions take longer where the grid ends.
        const u32 weight = full ? weight_of(hard) : WEIGHTS - 1;
        u64 at = 0;
        // Reserve places in two lists.
        if (lane < 2) {
            u64* const list = lane ? &control.weighed[is_interior][weight] : &control.hard;
            at = atomicAdd(
                (ull*)list, lane ? (zero ? 0ull : 1ull) : (ull)(few_tiles(job) ? hard : (hard + 31) & ~31u));
        }
        if (lane == 1) {
            Nearness& entry = nearness_of(job, tile);
            // An odd row occupies two chunks of bounds, an even row one.
            const u32 written = found.rows | shared.rows << BOUND_ROWS;
            const u32 even = every_other(written), odd = every_other(written >> 1);
            entry.bounded = all ? ~0ull : ALWAYS_BOUNDED | (u64)even << 16 | (u64)odd << 32 | (u64)odd << 48;
            if (is_interior) entry.kind = CONSTRAINED_TILE;
            entry.weighted = zero ? NOT_LISTED : (u32)at | weight << WEIGHT_AT;
            if (zero) work.headers()[tile] = ALL_ZERO;
        }
        at = __shfl_sync(FULL, at, 0);
        if (hard) list_hard(job, tile, at, hard, up_to - own, lowers, uppers);
    }
    end_beside();
}

// The bound of an owned vertex of a tile.
template <typename T>
__device__ __forceinline__ T* vertex_bound_at(const Job& job, u64 tile, i32 x, i32 y) {
    return vertex_bounds_of<T>(job, tile) + POSITIONS.at[TILE * y + x];
}

// An entry of the list of triangles.
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
    // The corner across the diagonal is the second or the third. Select addresses instead of values, so that
    // nothing waits here.
    const bool upper = t.which == UPPER;
    Corners<T> p;
    p.u[0] = *u, p.v[0] = *v;
    p.u[1] = u[stride_u + (upper ? pitch_u : 0)], p.v[1] = v[stride_v + (upper ? pitch_v : 0)];
    p.u[2] = u[pitch_u + (upper ? 0 : stride_u)], p.v[2] = v[pitch_v + (upper ? 0 : stride_v)];
    return p;
}
// Lowers the bounds of the three corners; some belong to the tiles to the right and below.
template <typename T>
__device__ __forceinline__ void lower_corners(const Job& job, u64 packed, T vertex_bound) {
    const Triangle t(packed);
    constexpr u64 SLOT = TILE_SLOT_BYTES<T> / sizeof(T);
    const i32 row = TILE * t.y, below = TILE * ((t.y + 1) & (TILE - 1)), after = (t.x + 1) & (TILE - 1);
    T* const own = vertex_bounds_of<T>(job, t.tile);
    T* const under = t.y == TILE - 1 ? own + job.tiles_x * SLOT : own;
    T* const far = t.x == TILE - 1 ? under + SLOT : under;
    T* const third = t.which == UPPER ? under : t.x == TILE - 1 ? own + SLOT : own;
    lower_to(own + POSITIONS.at[row + t.x], vertex_bound);
    lower_to(far + POSITIONS.at[below + after], vertex_bound);
    lower_to(third + POSITIONS.at[t.which == UPPER ? below + t.x : row + after], vertex_bound);
}

// Grid: any. Block: 32 * BOUND_WARPS threads; a warp takes 32 triangles of the list at a time. Static shared:
// triangles that need the ladder, gathered until a warp is full. Reads: the field, list of triangles. Writes:
// vertex bounds (minimum), number of critical points, lists of tiles by weight. Waits for: the previous
// kernel.
template <typename T>
__device__ __forceinline__ void determinant_bounds(const Job& job) {
    const ListsView work(job);
    Control& control = control_of(job);
    const Constraints<T> c = constraints_of<T>(job, control);
    const i32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    // 32 bits suffice for 2^37 triangles in chunks.
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
        lower_corners<T>(job, packed, bound.vertex_bound);
        critical += bound.inside;
    };
    // Entries are loaded two chunks ahead, corners one.
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
                // Signatures are compared instead; only count critical points.
                critical += is_inside(p) && !has_filled(p, job.fill);
            } else {
                const T axis = axis_distance(p);
                T vertex_bound = Real<T>::MAX;
                if (all_there || (finite(p) && !has_filled(p, job.fill))) {
                    const Determinants d = determinants(p);
                    const BoundSource by = bound_source(p, d, axis);
                    waits = by == BoundSource::BY_LADDER;
                    if (by == BoundSource::BY_HULL)
                        vertex_bound = axis > T(0) && (double)axis >= c.bound ? axis : hull_bound(p, d, axis);
                }
                if (!waits) lower_corners<T>(job, triangle, vertex_bound);
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
    // The remaining triangles of all warps together.
    if (lane == 0) counts[warp] = count;
    __syncthreads();
    u32 number = threadIdx.x;
    i32 of = 0;
#pragma unroll
    for (i32 w = 0; w < BOUND_WARPS - 1; w++)
        if (of == w && number >= counts[w]) number -= counts[w], of++;
    if (number < counts[of]) climb(waiting[of][number]);
    if (job.halo | job.pin) {
        for (u64 k = start; k < control.bounded_tiles; k += blocks_of_grid() * BOUND_WARPS) {
            // Owned vertices on the border of the grid: pinned sides and the halo.
            const u64 tile = work.bounded()[k];
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
                const T b = border_bound(job, c, shape.x0 + x, shape.y0 + y);
                if (b < Real<T>::MAX) lower_to(vertex_bound_at<T>(job, tile, x, y), b);
            }
        }
    }
    list_by_weight(job, control);
    // One atomic per block.
    critical = warp_sum(critical);
    if (lane == 0 && critical) atomicAdd(&all_critical, critical);
    __syncthreads();
    if (threadIdx.x == 0 && all_critical)
        atomicAdd((unsigned long long*)&control.critical, (unsigned long long)all_critical);
}

// Grid: tiles / 128. Block: 128 threads, a thread per anchor. Codes the anchors. Reads: the field, vertex
// bounds. Writes: values and codes of the anchors, set of coded anchors. Waits for the previous kernel only
// before it reads the bounds.
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
        const bool has_bound = !(work.headers()[tile] & ALL_CODED);
        P values[9];
        values[0] = Real<T>::pair(*vertex_at<T>(job.u, job.u_layout, shape.x0, shape.y0),
            *vertex_at<T>(job.v, job.v_layout, shape.x0, shape.y0));
        // The previous kernel writes nothing else that is read here.
        after_kernel_before();
        const T vertex_bound = has_bound ? vertex_bounds_of<T>(job, tile)[0] : no_bound<T>();
        const bool looks_around = is_constrained(vertex_bound) && c.speculative;
        u32 missing[3] = {0, 0, 0};
        TileWindow<T> window = {values, 3, 1, 1, has_missing(control) ? missing : nullptr, 1};
        i32 i = 0, j = 0;
        if (looks_around) {
            const u64 x0 = shape.x0 ? shape.x0 - 1 : 0, y0 = shape.y0 ? shape.y0 - 1 : 0;
            i = (i32)(shape.x0 - x0), j = (i32)(shape.y0 - y0);
            window.width = (i32)((job.nx < shape.x0 + 2 ? job.nx : shape.x0 + 2) - x0);
            window.height = (i32)((job.ny < shape.y0 + 2 ? job.ny : shape.y0 + 2) - y0);
            for (i32 y = 0; y < window.height; y++)
                for (i32 x = 0; x < window.width; x++)
                    values[3 * y + x] = Real<T>::pair(*vertex_at<T>(job.u, job.u_layout, x0 + x, y0 + y),
                        *vertex_at<T>(job.v, job.v_layout, x0 + x, y0 + y));
        }
        const P original = values[3 * j + i];
        for (i32 y = 0; y < window.height; y++)
            for (i32 x = 0; x < window.width; x++) {
                P& value = values[3 * y + x];
                if (!is_missing(value.x, value.y, job.fill)) continue;
                missing[y] |= 1u << x;
                value = Real<T>::pair(T(0), T(0));
            }
        Code code = {MASKED, 0, 0};
        if (missing[j] >> i & 1) {
            const bool filled =
                Real<T>::bits(original.x) == control.fill[0] && Real<T>::bits(original.y) == control.fill[1];
            code.refinement = filled ? MASKED : EXACT;
        } else if (is_lossless(control) && has_negative_zero(original.x, original.y)) {
            code.refinement = EXACT;
            exact++;
        } else if (!is_zero<T>(original)) {
            code = code_vertex<T>(window, i, j, Real<T>::pair(T(0), T(0)), ANCHOR_LEVEL,
                (T)control.quantizer.width[ANCHOR_LEVEL][0], (T)control.quantizer.inverse[ANCHOR_LEVEL][0], c,
                is_constrained(vertex_bound), is_constrained(vertex_bound) ? vertex_bound : Real<T>::MAX,
                max_error, exact);
        }
        work.anchors()[tile] = values[3 * j + i];
        work.anchor_codes()[tile] = make_int4(code.qu, code.qv, code.refinement, 0);
        coded = code.refinement < EXACT;
    } else {
        after_kernel_before();
    }
    note_coded_anchors(job, tile, coded);
    report_stats<T>(control, exact, 0, max_error);
}
