// Constrained vertices of the speculative mode: the corners of triangles near the origin, where signatures
// are compared. A bit per vertex.
#pragma once
#include "compress/bounds/sort.cuh"
#include "compress/bounds/vertex_bounds.cuh"
#include "compress/statistics/strips.cuh"
#include "grid/field.cuh"
#include "grid/tiles.cuh"
#include "tile/window.cuh"

// A row of 32 vertices as bits by column. A triangle is near the origin unless one of the first four sets has
// all of its corners; a NaN is in all of them and decides nothing.
enum : i32 { BEYOND_PLUS_U, BEYOND_MINUS_U, BEYOND_PLUS_V, BEYOND_MINUS_V, SIDES_OF_BOX };
struct RowBits {
    u32 beyond[SIDES_OF_BOX];
    u32 negative_u, negative_v;
    u32 zero, special;  // zero; zero, missing, or to keep its sign
};

// Thresholds and settings that the bits of a vertex depend on.
template <typename T>
struct VertexTest {
    T bound_up;
    u64 fill;
    bool has_special, has_rare, lossless;

    typedef typename Real<T>::Pair P;
    __device__ __forceinline__ bool beyond(P p, i32 side) const {
        return side == BEYOND_PLUS_U    ? !(p.x <= bound_up)
               : side == BEYOND_MINUS_U ? !(p.x >= -bound_up)
               : side == BEYOND_PLUS_V  ? !(p.y <= bound_up)
                                        : !(p.y >= -bound_up);
    }
    __device__ __forceinline__ bool is_rare(P p) const {
        return has_rare && (is_missing(p.x, p.y, fill) || (lossless && has_negative_zero(p.x, p.y)));
    }
    // The bits of a row, a lane per vertex. Call with a warp.
    __device__ __forceinline__ RowBits row(P p) const {
        RowBits r;
#pragma unroll
        for (i32 side = 0; side < SIDES_OF_BOX; side++) r.beyond[side] = __ballot_sync(FULL, beyond(p, side));
        r.negative_u = __ballot_sync(FULL, p.x < T(0));
        r.negative_v = __ballot_sync(FULL, p.y < T(0));
        r.zero = r.special = 0;
        if (has_special) {
            r.zero = r.special = __ballot_sync(FULL, is_zero<T>(p));
            if (has_rare) {
                const u32 rare = __ballot_sync(FULL, is_rare(p));
                r.zero &= ~rare;
                r.special |= rare;
            }
        }
        return r;
    }
    // The bits of one vertex, as bit 0.
    __device__ __forceinline__ RowBits one(P p) const {
        RowBits r;
#pragma unroll
        for (i32 side = 0; side < SIDES_OF_BOX; side++) r.beyond[side] = beyond(p, side);
        r.negative_u = p.x < T(0);
        r.negative_v = p.y < T(0);
        const bool rare = is_rare(p);
        r.zero = is_zero<T>(p) && !rare;
        r.special = is_zero<T>(p) || rare;
        return r;
    }
};

// f(bits of a, bits of b, ...) for all sets of some rows.
template <typename F, typename... Rows>
__device__ __forceinline__ RowBits by_set(F f, const Rows&... rows) {
    RowBits r;
#pragma unroll
    for (i32 side = 0; side < SIDES_OF_BOX; side++) r.beyond[side] = f(rows.beyond[side]...);
    r.negative_u = f(rows.negative_u...);
    r.negative_v = f(rows.negative_v...);
    r.zero = f(rows.zero...);
    r.special = f(rows.special...);
    return r;
}
// The columns one further to the right: `end` has the next one as bit 0.
__device__ __forceinline__ RowBits to_the_right(const RowBits& row, const RowBits& end) {
    return by_set([](u32 row, u32 end) { return __funnelshift_r(row, end, 1); }, row, end);
}
// The row below, a row per lane; `last` is below that of the last lane.
__device__ __forceinline__ RowBits row_below(const RowBits& row, const RowBits& last) {
    const bool is_last = (threadIdx.x & 31) == 31;
    return by_set(
        [&](u32 row, u32 last) {
            const u32 below = __shfl_down_sync(FULL, row, 1);
            return is_last ? last : below;
        },
        row, last);
}

// The vertex of the next lane.
template <typename T, typename P = typename Real<T>::Pair>
__device__ __forceinline__ P next_lane(P p) {
    return Real<T>::pair(__shfl_down_sync(FULL, p.x, 1), __shfl_down_sync(FULL, p.y, 1));
}

// Cells whose lower or upper triangle is near the origin. Three zeros have nothing to keep.
__device__ __forceinline__ u32 near_triangles(const RowBits cell[CORNERS], i32 triangle) {
    const RowBits &p = cell[corner(triangle, 0)], &q = cell[corner(triangle, 1)],
                  &r = cell[corner(triangle, 2)];
    u32 far = p.zero & q.zero & r.zero;
#pragma unroll
    for (i32 side = 0; side < SIDES_OF_BOX; side++) far |= p.beyond[side] & q.beyond[side] & r.beyond[side];
    return ~far;
}
// Cells whose lower or upper triangle may hold the origin: both components change their sign.
__device__ __forceinline__ u32 around_origin(const RowBits cell[CORNERS], i32 triangle) {
    const RowBits &p = cell[corner(triangle, 0)], &q = cell[corner(triangle, 1)],
                  &r = cell[corner(triangle, 2)];
    return ((p.negative_u ^ q.negative_u) | (p.negative_u ^ r.negative_u)) &
           ((p.negative_v ^ q.negative_v) | (p.negative_v ^ r.negative_v));
}

// Cells of a tile that can be near the origin (compress/bounds/sort.cuh), as bits by column and row.
struct NearCells {
    u32 cells;
    TileShape shape;

    __device__ __forceinline__ bool above() const { return cells & NEAR_ABOVE; }
    __device__ __forceinline__ bool before() const { return cells & NEAR_BEFORE; }
    __device__ __forceinline__ bool band(i32 b) const { return cells >> b & NEAR_BAND; }
    __device__ __forceinline__ bool last_band() const { return shape.last_y == TILE && band(BANDS - 1); }
    __device__ __forceinline__ u32 columns() const {
        const i32 number = shape.last_x < TILE || cells & NEAR_END ? shape.last_x : TILE - 1;
        return number > 0 ? ~0u >> (TILE - number) : 0;
    }
    __device__ __forceinline__ u32 columns_of_row(i32 y) const {
        return y < shape.last_y && band(y / BAND_ROWS) ? columns() : 0;
    }
};

// The bits of a closed tile, lane y with row y.
struct TileBits {
    RowBits rows, end;       // columns 0 to 31, column 32
    RowBits last, last_end;  // row 32, in all lanes; its column 32, in the last lane
    RowBits above;           // the row above the tile, in all lanes
};

// Reads a tile. Call with a warp.
template <typename T>
__device__ __forceinline__ TileBits read_tile_bits(
    const Job& job, const NearCells& near, const VertexTest<T>& test) {
    const i32 lane = threadIdx.x & 31;
    const TileShape& shape = near.shape;
    // Beyond the last column and row of the grid there are no cells: repeat them.
    const i32 column = lane < shape.last_x ? lane : shape.last_x;
    auto vertex = [&](i32 x, i32 y) {
        return load_vertex<T>(job, (long long)shape.x0 + x, (long long)shape.y0 + y);
    };
    TileBits bits = {};
    if (near.above()) bits.above = test.row(vertex(column, -1));
    if (near.last_band()) bits.last = test.row(vertex(column, TILE));
#pragma unroll 1
    for (i32 band = 0; band < BANDS; band++) {
        if (!(near.band(band) || (band > 0 ? near.band(band - 1) : near.above())) ||
            BAND_ROWS * band > shape.last_y)
            continue;
        typename Real<T>::Pair some[BAND_ROWS];
        const i32 first = BAND_ROWS * band;
        if (first + BAND_ROWS <= shape.last_y + 1) {
            const T* u =
                vertex_at<T>(job.u, job.u_layout, (long long)shape.x0 + column, (long long)shape.y0 + first);
            const T* v =
                vertex_at<T>(job.v, job.v_layout, (long long)shape.x0 + column, (long long)shape.y0 + first);
#pragma unroll
            for (i32 i = 0; i < BAND_ROWS; i++) {
                some[i] = Real<T>::pair(*u, *v);
                u += job.u_layout.pitch, v += job.v_layout.pitch;
            }
        } else {
#pragma unroll
            for (i32 i = 0; i < BAND_ROWS; i++)
                some[i] = vertex(column, first + i < shape.last_y ? first + i : shape.last_y);
        }
#pragma unroll
        for (i32 i = 0; i < BAND_ROWS; i++) {
            const RowBits row = test.row(some[i]);
            const bool mine = lane == BAND_ROWS * band + i;
            bits.rows = by_set([&](u32 old, u32 row) { return mine ? row : old; }, bits.rows, row);
        }
    }
    if (shape.last_x == TILE && near.cells & NEAR_END) {
        bits.end = test.one(vertex(TILE, lane < shape.last_y ? lane : shape.last_y));
        if (near.last_band() && lane == 31) bits.last_end = test.one(vertex(TILE, TILE));
    }
    return bits;
}

// True in lanes y if a near triangle of the column of cells before the tile touches vertex (0, y). Call with
// a warp.
template <typename T>
__device__ __forceinline__ bool is_touched_from_before(
    const Job& job, const TileShape& shape, const VertexTest<T>& test) {
    typedef typename Real<T>::Pair P;
    const i32 lane = threadIdx.x & 31;
    auto vertex = [&](i32 x, i32 y) {
        return load_vertex<T>(job, (long long)shape.x0 + x, (long long)shape.y0 + y);
    };
    // The triangles of cell (-1, y), of which the lower one touches (0, y) and both touch (0, y + 1).
    static_assert(has_corner(LOWER, CORNER_B) && !has_corner(UPPER, CORNER_B) &&
                      has_corner(LOWER, CORNER_D) && has_corner(UPPER, CORNER_D),
        "(0, y) is corner b, (0, y + 1) corner d");
    auto look_at = [&](P a, P b, P c, P d, bool& lower, bool& upper) {
        const RowBits cell[CORNERS] = {test.one(a), test.one(b), test.one(c), test.one(d)};
        lower = near_triangles(cell, LOWER) & 1;
        upper = near_triangles(cell, UPPER) & 1;
    };
    const i32 row = lane < shape.last_y ? lane : shape.last_y;
    const P a = vertex(-1, row), b = vertex(0, row);
    P c = next_lane<T>(a), d = next_lane<T>(b);
    if (lane == 31 && shape.last_y == TILE) c = vertex(-1, TILE), d = vertex(0, TILE);
    bool lower, upper, lower_above = false, upper_above = false;
    look_at(a, b, c, d, lower, upper);
    const bool exists = lane < shape.last_y;
    const u32 touched = __ballot_sync(FULL, exists && (lower || upper));
    if (lane == 0 && !shape.is_first_row())
        look_at(vertex(-1, -1), vertex(0, -1), a, b, lower_above, upper_above);
    return (exists && lower) || (lane > 0 ? touched >> (lane - 1) & 1 : lower_above || upper_above);
}

// Number of critical points among the triangles of cells, a row of cells per lane. Call with a warp.
template <typename T>
__device__ __forceinline__ u32 count_critical(
    const Job& job, const TileShape& shape, u32 lowers, u32 uppers) {
    const long long y = (long long)shape.y0 + (threadIdx.x & 31);
    u32 critical = 0;
#pragma unroll 1
    while (lowers | uppers) {
        const i32 which = lowers ? LOWER : UPPER;
        u32& some = lowers ? lowers : uppers;
        const long long x = (long long)shape.x0 + __ffs((i32)some) - 1;
        some &= some - 1;
        Corners<T> p;
#pragma unroll
        for (i32 k = 0; k < 3; k++) {
            const auto corner = load_vertex<T>(job, x + corner_x(which, k), y + corner_y(which, k));
            p.u[k] = corner.x, p.v[k] = corner.y;
        }
        critical += is_inside(p) && !has_filled(p, job.fill);
    }
    return critical;
}

// Lists a tile by its kind and its expected work. `constrained`: vertices of a row per lane;
// `candidates`: triangles around the origin. Call with a warp.
__device__ __forceinline__ void list_constrained_tile(const Job& job, Control& control, const NearCells& near,
    u64 tile, const TileBits& bits, u32 constrained, u32 candidates, bool has_rare) {
    const i32 lane = threadIdx.x & 31;
    const bool full = near.shape.last_x == TILE && near.shape.last_y == TILE;
    const u32 special = bits.rows.special | bits.end.special | bits.last.special | bits.last_end.special;
    const u32 all = warp_sum(candidates),
              found = warp_or(
                  (special ? 1 : 0) | (lane > 0 && constrained & ~1u ? 2 : 0) | (~bits.rows.zero ? 4 : 0));
    if (lane != 0) return;
    // Interior tiles have all vertices around their vertices at hand.
    const u32 kind = !full       ? BORDER_TILE
                     : found & 1 ? (has_rare ? BORDER_TILE : MASKED_TILE)
                     : found & 2 ? SPECULATIVE_TILE
                                 : CONSTRAINED_TILE;
    // Predictions take longer where the grid ends.
    const u32 weight = full ? weight_of(all) : WEIGHTS - 1;
    // A tile of zeros (land) needs no work.
    const bool zero = full && !(found & 4) && !has_rare;
    Nearness& entry = nearness_of(job, tile);
    entry.kind = kind;
    entry.weighted =
        zero ? NOT_LISTED
             : weighted_number(weight, (u32)atomicAdd((ull*)&control.weighed[kind][weight], 1ull));
    if (zero) ListsView(job).headers()[tile] = ALL_ZERO;
}

// Grid: any. Block: 32 * CONSTRAINED_VERTEX_WARPS threads, a warp per bounded tile. Finds the vertices for
// which signatures are compared. Reads: the field, lists. Writes: their bits, kind and weight of each tile,
// number of critical points. Overlaps the previous kernel, factz_tune.
template <typename T>
__device__ __forceinline__ void constrained_vertices(const Job& job) {
    Control& control = control_of(job);
    const i32 lane = threadIdx.x & 31;
    const u64 count = control.bounded_tiles, warps = (u64)gridDim.x * CONSTRAINED_VERTEX_WARPS,
              first = (u64)blockIdx.x * CONSTRAINED_VERTEX_WARPS + warp_or(threadIdx.x >> 5);
    const TileFinder finder(job);
    VertexTest<T> test;
    test.bound_up = (T)control.bound_up;
    test.fill = job.fill;
    test.lossless = is_lossless(control);
    test.has_rare = warp_or(has_missing(control) || test.lossless);
    test.has_special = warp_or(test.has_rare || control.zero != 0);
    u32 critical = 0;
    NextBounded next(ListsView(job), count);
    next.load(first);
#pragma unroll 1
    for (u64 k = first; k < count; k += warps) {
        const u64 tile = next.tile();
        const NearCells near = {next.near_cells(), finder.shape(job, tile)};
        next.load(k + warps);
        const TileBits bits = read_tile_bits<T>(job, near, test);

        // The corners of a row of cells per lane.
        const RowBits &a = bits.rows, b = to_the_right(a, bits.end), c = row_below(a, bits.last),
                      d = to_the_right(c, row_below(bits.end, bits.last_end));
        const RowBits cell[CORNERS] = {a, b, c, d};
        const u32 cells = near.columns_of_row(lane);
        const u32 lowers = near_triangles(cell, LOWER) & cells, uppers = near_triangles(cell, UPPER) & cells;
        u32 from_above = __shfl_up_sync(FULL, vertices_of(lowers, uppers, 1), 1);
        if (lane == 0) {
            // The row of cells above belongs to other tiles.
            const RowBits cell_above[CORNERS] = {bits.above, to_the_right(bits.above, {}), a, b};
            const u32 some = near.above() ? near.columns() : 0;
            from_above = vertices_of(
                near_triangles(cell_above, LOWER) & some, near_triangles(cell_above, UPPER) & some, 1);
        }
        u32 constrained = from_above | vertices_of(lowers, uppers, 0);
        if (near.before() && is_touched_from_before<T>(job, near.shape, test)) constrained |= 1;
        BoundsView<T>(job).constrained_rows(tile)[lane] = constrained;

        const u32 lower_candidates = lowers & around_origin(cell, LOWER),
                  upper_candidates = uppers & around_origin(cell, UPPER);
        critical += count_critical<T>(job, near.shape, lower_candidates, upper_candidates);
        list_constrained_tile(job, control, near, tile, bits, constrained,
            __popc(lower_candidates) + __popc(upper_candidates), test.has_rare);
    }
    critical = warp_sum(critical);
    if (lane == 0 && critical) atomicAdd((ull*)&control.critical, (ull)critical);
    end_overlap();
}
