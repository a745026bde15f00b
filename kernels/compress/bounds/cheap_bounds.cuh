// Vertex bounds from triangles near the origin that need no determinants, and the list of the triangles that
// do.
#pragma once
#include "compress/bounds/hard_triangles.cuh"
#include "compress/bounds/sort.cuh"
#include "compress/bounds/vertex_bounds.cuh"
#include "compress/statistics/strips.cuh"
#include "entropy/tables.cuh"
#include "grid/field.cuh"
#include "tile/encode.cuh"

// Two warps share a tile, half of the rows each.
constexpr i32 BOUND_ROWS = TILE / 2;

// Result for a tile or half of it. special: columns of the closed tile with a vertex that is zero, missing or
// keeps its sign; nonzero: columns with any other vertex, in the rows looked at; rows: rows whose bounds are
// stored. lowers, uppers: columns of triangles that need determinants, a lane per row.
struct Found {
    u32 special, nonzero, rows;
    u32 lowers, uppers;
};

// A closed tile with the row above and the column before, and the result of its second half.
template <typename T>
struct BoundsShared {
    typedef typename Real<T>::Pair P;
    static constexpr i32 PITCH = CLOSED + 3;
    alignas(16) T u[CLOSED + 1][PITCH], v[CLOSED + 1][PITCH];
    T before_u[CLOSED + 1], before_v[CLOSED + 1];
    u32 special, nonzero, rows;
    u32 lowers[BOUND_ROWS], uppers[BOUND_ROWS];

    __device__ __forceinline__ P at(i32 x, i32 y) const { return Real<T>::pair(u[y + 1][x], v[y + 1][x]); }
    __device__ __forceinline__ P before(i32 y) const {
        return Real<T>::pair(before_u[y + 1], before_v[y + 1]);
    }
    // Keeps the result of the second half. Call with its warp.
    __device__ __forceinline__ void keep(i32 lane, const Found& found) {
        if (lane < BOUND_ROWS) lowers[lane] = found.lowers, uppers[lane] = found.uppers;
        if (lane == 0) special = found.special, nonzero = found.nonzero, rows = found.rows;
    }
    // Result for the tile, from that of the first half. Call with its warp, after a barrier.
    __device__ __forceinline__ Found with_second(const Found& found) const {
        const i32 lane = threadIdx.x & 31;
        return {found.special | special, found.nonzero | nonzero, found.rows | rows << BOUND_ROWS,
            lane < BOUND_ROWS ? found.lowers : lowers[lane - BOUND_ROWS],
            lane < BOUND_ROWS ? found.uppers : uppers[lane - BOUND_ROWS]};
    }
};

// Triangles as the code below has them for speed: the lower one a, b, d and the upper one a, d, c, so that
// the triangles above and below a row share the boxes of two vectors of that row.
constexpr bool consists_of(i32 triangle, i32 p, i32 q, i32 r) {
    return has_corner(triangle, p) && has_corner(triangle, q) && has_corner(triangle, r);
}
static_assert(consists_of(LOWER, CORNER_A, CORNER_B, CORNER_D), "two corners of its row, and d");
static_assert(consists_of(UPPER, CORNER_C, CORNER_D, CORNER_A), "two corners of the next row, and a");

// Bounding box of two vectors.
template <typename T>
struct PairBox {
    T low_u, high_u, low_v, high_v;
    template <typename P>
    __device__ __forceinline__ PairBox(P p, P q) {
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
        if (warp == 0 ? row > 0 || !shape.is_first_row() : is_there) {
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

// Distance of a vertex from the origin, per axis; negative infinity if it is missing or keeps its sign, so
// that its triangles are never easy.
template <typename T>
struct VertexSize {
    const Job& job;
    u32 has_rare;
    bool lossless;

    template <typename P>
    __device__ __forceinline__ bool is_rare(P p) const {
        return is_missing(p.x, p.y, job.fill) || (lossless && has_negative_zero(p.x, p.y));
    }
    template <typename P>
    __device__ __forceinline__ T operator()(P p) const {
        typedef Real<T> R;
        return has_rare && is_rare(p) ? -no_bound<T>() : R::high(R::abs(p.x), R::abs(p.y));
    }
};

// Lowers the bounds of the first column of half a tile by the easy triangles of the cells before it, a lane
// per row. rows_of_cells: rows of the half tile that have cells.
template <typename T>
__device__ __forceinline__ void lower_by_column_before(const BoundsShared<T>& shared, const TileShape& shape,
    i32 half, i32 rows_of_cells, T bound_up, const VertexSize<T>& size_of, T* vertex_bounds) {
    typedef Real<T> R;
    typedef typename R::Pair P;
    const i32 lane = threadIdx.x & 31, start = BOUND_ROWS * half,
              top = !shape.is_first_row() || half ? -1 : 0, y = lane - 1;
    T lower = no_bound<T>(), upper = no_bound<T>();
    if (y >= top && y < rows_of_cells) {
        const P a = shared.before(start + y), b = shared.at(0, start + y), c = shared.before(start + y + 1),
                d = shared.at(0, start + y + 1);
        const T size_a = size_of(a), size_b = size_of(b), size_c = size_of(c), size_d = size_of(d);
        auto corner_bound = [&](T axis, T size) -> T {
            return !(axis > bound_up) && axis > T(0) && axis == R::low(R::low(size_a, size_d), size)
                       ? axis
                       : no_bound<T>();
        };
        lower = corner_bound(PairBox<T>(a, b).axis(d), size_b);
        upper = corner_bound(PairBox<T>(c, d).axis(a), size_c);
    }
    const T lower_above = __shfl_up_sync(FULL, lower, 1), upper_above = __shfl_up_sync(FULL, upper, 1);
    const T vertex_bound = R::low(lower, R::low(lower_above, upper_above));
    __syncwarp();
    if (lane > 0 && lane <= BOUND_ROWS && is_constrained(vertex_bound))
        lower_to(vertex_bounds + position_of(0, start + y), vertex_bound);
}

// The half of a bounded tile that a warp searches.
struct HalfTile {
    const TileShape& shape;
    u64 tile;
    i32 half;
    u32 cells;  // cells near the origin, from the list of bounded tiles
    u64 rows;   // rows of vertices above or below such a cell; bit 0 is the row above the tile

    // First row of the half.
    __device__ __forceinline__ i32 start() const { return BOUND_ROWS * half; }
    // Rows with cells: below the last row of the grid there are none.
    __device__ __forceinline__ i32 rows_of_cells() const {
        return shape.last_y - start() < BOUND_ROWS ? shape.last_y - start() : BOUND_ROWS;
    }
    __device__ __forceinline__ bool before_is_near() const { return cells & NEAR_BEFORE; }
    __device__ __forceinline__ bool end_is_near() const { return cells & NEAR_END; }
};

// Kinds of vertices in the field. rare: missing or with a sign to keep; special: rare or zero.
struct FieldKinds {
    bool lossless;
    u32 has_rare, has_special;

    __device__ __forceinline__ explicit FieldKinds(const Control& control) {
        lossless = is_lossless(control);
        has_rare = warp_or(has_missing(control) || lossless);
        has_special = warp_or(has_rare || control.zero != 0);
    }
};

// A row of vertices: a is the vertex of the lane, b its right neighbour; zero_a, zero_b: lanes where they are
// zero.
template <typename T>
struct VertexRow {
    typename Real<T>::Pair a, b;
    PairBox<T> box;
    T size_a, size_b;
    u32 zero_a, zero_b;
};

// A row of cells, a lane per cell: distances of both triangles from the origin, per axis, and the lanes where
// they are near the origin.
template <typename T>
struct CellRow {
    T axis_lower, axis_upper;
    u32 lowers, uppers;
};

// Searches half a tile for triangles near the origin and writes the bounds of the easy ones. If the image of
// a triangle is nearest to the origin at a corner, that distance is the bound, since no edge is farther away.
// Other triangles near the origin need determinants. SIMPLE: no vertex is missing or keeps its sign.
// NO_ZEROS: moreover, no vertex is zero.
template <bool SIMPLE, bool NO_ZEROS, typename T>
struct CheapSearch {
    typedef Real<T> R;
    typedef typename R::Pair P;

    const HalfTile& part;
    const VertexSize<T>& size_of;
    u32 has_special;
    i32 columns;
    T near;          // bound of the call; in lanes without a cell minus infinity
    u32 cell_lanes;  // lanes with a cell
    T* vertex_bounds;
    Found found;

    // Writes the bounds of row y.
    __device__ __forceinline__ void write(i32 y, T vertex_bound) {
        const i32 lane = threadIdx.x & 31;
        vertex_bounds[POSITIONS.at[TILE * y + lane]] = vertex_bound;
        found.rows |= 1u << (y - part.start());
    }

    // Reads a row of vertices and notes which are special; `beside`: distance of the right neighbour.
    __device__ __forceinline__ VertexRow<T> read_row(const T* u, const T* v, i32 beside) {
        const P a = R::pair(u[0], v[0]), b = R::pair(u[beside], v[beside]);
        VertexRow<T> row = {a, b, PairBox<T>(a, b), size_of(a), size_of(b), 0, 0};
        if (!has_special) return row;
        row.zero_a = __ballot_sync(FULL, row.size_a == T(0));
        row.zero_b = __ballot_sync(FULL, row.size_b == T(0));
        found.special |= row.zero_a | row.zero_b;
        found.nonzero |= ~row.zero_a;
        if (size_of.has_rare) found.special |= __ballot_sync(FULL, row.size_a < T(0) || row.size_b < T(0));
        return row;
    }

    // Skips rows of zeros (land) behind another one: no triangle between them has anything to keep. u, v: row
    // y of the vertices; advance with it.
    __device__ __forceinline__ void skip_zeros(const T*& u, const T*& v, i32 beside, i32& y, i32 end) {
        constexpr i32 PITCH = BoundsShared<T>::PITCH;
#pragma unroll 1
        for (; y < end; y++) {
            const P d = R::pair(u[PITCH], v[PITCH]), e = R::pair(u[PITCH + beside], v[PITCH + beside]);
            if (!__all_sync(FULL, is_zero<T>(d) & is_zero<T>(e))) break;
            found.special = FULL;
            u += PITCH, v += PITCH;
        }
    }

    // The cells between two rows of vertices.
    __device__ __forceinline__ CellRow<T> cells_between(
        const VertexRow<T>& top, const VertexRow<T>& bottom) const {
        const T axis_lower = top.box.axis(bottom.b), axis_upper = bottom.box.axis(top.a);
        // A NaN is near. Where there is none, lanes without a cell are never near.
        const bool near_lower = SIMPLE ? axis_lower <= near : !(axis_lower > near),
                   near_upper = SIMPLE ? axis_upper <= near : !(axis_upper > near);
        u32 lowers = __ballot_sync(FULL, near_lower), uppers = __ballot_sync(FULL, near_upper);
        if (!SIMPLE) lowers &= cell_lanes, uppers &= cell_lanes;
        // A triangle of zeros has nothing to keep.
        const u32 zeros = top.zero_a & bottom.zero_b;
        lowers &= ~(zeros & top.zero_b), uppers &= ~(zeros & bottom.zero_a);
        return {axis_lower, axis_upper, lowers, uppers};
    }

    // Writes the bounds of the vertices of row y from the cells around them, and notes the triangles below
    // the row that need determinants. `above`: bounds from the cells above; becomes those of the next row.
    __device__ __forceinline__ void bound_row(
        i32 y, const VertexRow<T>& top, const VertexRow<T>& bottom, const CellRow<T>& cells, T& above) {
        const T none = no_bound<T>();
        const i32 lane = threadIdx.x & 31;
        const T size = R::low(top.size_a, bottom.size_b);
        // Without zeros no corner is at the origin.
        const bool easy_lower = (cells.axis_lower <= near) & (NO_ZEROS || cells.axis_lower > T(0)) &
                                cells.axis_lower == R::low(top.size_b, size);
        const bool easy_upper = (cells.axis_upper <= near) & (NO_ZEROS || cells.axis_upper > T(0)) &
                                cells.axis_upper == R::low(bottom.size_a, size);
        const T bound_lower = easy_lower ? cells.axis_lower : none,
                bound_upper = easy_upper ? cells.axis_upper : none;
        const u32 hard_lowers = cells.lowers & ~__ballot_sync(FULL, easy_lower),
                  hard_uppers = cells.uppers & ~__ballot_sync(FULL, easy_upper);
        T lower_before = __shfl_up_sync(FULL, bound_lower, 1);
        const T upper_before = __shfl_up_sync(FULL, bound_upper, 1);
        // Lane 0 has no left neighbour.
        if (lane == 0) lower_before = none;
        const T both = R::low(lower_before, bound_upper),
                vertex_bound = R::low(R::low(above, both), bound_lower);
        above = R::low(both, upper_before);
        if (y >= part.start()) {
            if (lane == y - part.start()) found.lowers = hard_lowers, found.uppers = hard_uppers;
            write(y, vertex_bound);
        }
    }

    // Searches the cells between consecutive rows of vertices: `first` to `last` - 1 of the half, of which
    // row 0 is above it.
    __device__ __forceinline__ void search(const BoundsShared<T>& shared, i32 first, i32 last) {
        const i32 lane = threadIdx.x & 31, start = part.start();
        // Lanes behind the last column read it too: shared memory behind it may hold infinities of both
        // signs, which seem near the origin.
        const i32 column = lane < columns ? lane : columns, beside = lane < columns ? 1 : 0;
        const T *u = &shared.u[start + first][column], *v = &shared.v[start + first][column];
        VertexRow<T> top = read_row(u, v, beside);
        // The row above the tile is not its own.
        if (first == 0 && !part.half) found.special = found.nonzero = 0;
        T above = no_bound<T>();
        u32 near_above = 0;
        i32 y = start + first - 1;
        const i32 end = start + (last - 1 < part.rows_of_cells() ? last - 1 : part.rows_of_cells());
        if (SIMPLE && (top.zero_a & top.zero_b) == FULL) skip_zeros(u, v, beside, y, end);
#pragma unroll(SIMPLE ? 2 : 1)
        for (; y < end; y++) {
            u += shared.PITCH, v += shared.PITCH;
            const VertexRow<T> bottom = read_row(u, v, beside);
            const CellRow<T> cells = cells_between(top, bottom);
            if (cells.lowers | cells.uppers | near_above) {
                near_above = cells.lowers | cells.uppers;
                bound_row(y, top, bottom, cells, above);
            }
            top = bottom;
        }
        if (near_above && y < start + last - 1) write(y, above);
    }
};

// Bounds of half a tile from the triangles that need no determinants, and the triangles that do.
template <bool SIMPLE, bool NO_ZEROS, typename T>
__device__ __forceinline__ Found find_cheap_bounds(const Job& job, const Constraints<T>& c,
    const HalfTile& part, const FieldKinds& field, const BoundsShared<T>& shared) {
    typedef Real<T> R;
    const TileShape& shape = part.shape;
    T* const vertex_bounds = vertex_bounds_of<T>(job, part.tile);
    const u32 has_rare = SIMPLE ? 0 : field.has_rare, has_special = NO_ZEROS ? 0 : field.has_special;
    const i32 lane = threadIdx.x & 31,
              columns = (i32)warp_or(shape.last_x < TILE || part.end_is_near() ? shape.last_x : TILE - 1),
              cells = c.preserve ? columns : 0;
    const T bound_up = R::from_bits(uniform(R::bits(c.bound_up)));
    const VertexSize<T> size_of = {job, has_rare, field.lossless};
    CheapSearch<SIMPLE, NO_ZEROS, T> searched = {part, size_of, has_special, columns,
        lane < cells ? bound_up : -no_bound<T>(), cells > 0 ? ~0u >> (32 - cells) : 0, vertex_bounds,
        {0, 0, 0, 0, 0}};
    // The row of cells above belongs to other tiles but touches vertices of this one. Not unrolled: the code
    // must stay in the instruction cache.
    u32 rows = (u32)(part.rows >> part.start()) & ((2u << BOUND_ROWS) - 1);
#pragma unroll 1
    while (rows) {
        const i32 first = __ffs(rows) - 1, last = __ffs(~(rows >> first)) - 1 + first;
        rows &= ~0u << last;
        searched.search(shared, first, last);
    }
    if (part.before_is_near() && c.preserve)
        lower_by_column_before(
            shared, shape, part.half, part.rows_of_cells(), bound_up, size_of, vertex_bounds);
    return searched.found;
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
template <typename T>
__device__ __forceinline__ void list_hard(
    const Job& job, u64 tile, u64 at, u32 count, u32 before, u32 lowers, u32 uppers) {
    const ListsView work(job);
    const i32 lane = threadIdx.x & 31;
    u32* to = work.hard_triangles<T>(at + before);
    // Places left in the slot.
    u32 left = work.HARD_OF_SLOT - (u32)(at + before) % work.HARD_OF_SLOT;
    auto add = [&](u32 triangle) {
        *to++ = triangle;
        if (--left == 0) to += slot_bytes<T>(job) / sizeof(u32) - work.HARD_OF_SLOT;
    };
    const u32 row = row_of_triangles(tile, (u32)lane);
    while (lowers) {
        add(triangle_in_row(row, (u32)(__ffs(lowers) - 1), LOWER));
        lowers &= lowers - 1;
    }
    while (uppers) {
        add(triangle_in_row(row, (u32)(__ffs(uppers) - 1), UPPER));
        uppers &= uppers - 1;
    }
    if (few_tiles(job)) return;
    for (u32 i = 32 * lane; i < count; i += 32 * 32)
        work.hard_tiles()[(at + i) / 32] = word_of_run(tile, count - i < 32 ? count - i : 32);
}

// Starts the copies of the rows of a tile that the search reads. Call with two warps.
template <typename T>
__device__ __forceinline__ void ask_for_tile(
    const Job& job, const HalfTile& part, bool aligned, BoundsShared<T>& shared) {
    const TileShape& shape = part.shape;
    const u64 rows = part.rows, wanted = rows | (rows << 1 & ((4ull << shape.last_y) - 1));
    const bool before_is_near = part.before_is_near(), end_is_near = part.end_is_near();
    if (aligned && shape.last_x >= TILE - 1)
        ask_for_rows<true>(job, shape, wanted, before_is_near, end_is_near, shared);
    else
        ask_for_rows<false>(job, shape, wanted, before_is_near, end_is_near, shared);
    end_of_copies();
}

// True if all bounds of a tile are stored: if the grid ends inside the tile, bounds on its border may follow
// later.
__device__ __forceinline__ bool stores_all_bounds(const Job& job, const TileShape& shape) {
    return (job.halo | job.pin) && (shape.last_x < TILE || shape.last_y < TILE);
}

// Initializes the stored bounds of a tile, of all its vertices if `all`. Call with two warps.
template <typename T>
__device__ __forceinline__ void clear_bounds(T* vertex_bounds, bool all) {
    const uint4 none = sizeof(T) == 4 ? make_uint4(0x7f800000, 0x7f800000, 0x7f800000, 0x7f800000)
                                      : make_uint4(0, 0x7ff00000, 0, 0x7ff00000);
    constexpr i32 SIXTEEN = 16 / sizeof(T);
#pragma unroll 1
    for (i32 i = threadIdx.x; i < (all ? TILE_VERTICES : 256 + BOUND_CHUNK) / SIXTEEN; i += 64)
        reinterpret_cast<uint4*>(vertex_bounds)[i] = none;
    if (threadIdx.x < TILE / 2) vertex_bounds[512 + BOUND_CHUNK * threadIdx.x] = no_bound<T>();
}

// Lists a tile by kind and work, and its triangles that need determinants. Call with the warp of the first
// half. `found`: result for the tile; all: all its bounds are stored.
template <typename T>
__device__ __forceinline__ void list_searched(const Job& job, Control& control, const FieldKinds& field,
    const HalfTile& part, const Found& found, bool all) {
    const i32 lane = threadIdx.x & 31;
    const u32 own = __popc(found.lowers) + __popc(found.uppers);
    const u32 up_to = warp_inclusive_sum(own);
    const u32 hard = __shfl_sync(FULL, up_to, 31);
    // Interior tiles have all vertices around their vertices at hand.
    const bool full = part.shape.last_x == TILE && part.shape.last_y == TILE;
    const u32 special_kind =
        !field.has_rare && job.predictor != PREDICTOR_LORENZO ? MASKED_TILE : BORDER_TILE;
    const u32 kind = !full ? BORDER_TILE : found.special ? special_kind : CONSTRAINED_TILE;
    // A tile of zeros (land) needs no work.
    const bool zero =
        full && !field.has_rare && found.special && !found.nonzero && (part.cells & ALL_BANDS) == ALL_BANDS;
    // Predictions take longer where the grid ends.
    const u32 weight = full ? weight_of(hard) : WEIGHTS - 1;
    u64 at = 0;
    // Reserve places in two lists.
    if (lane < 2) {
        u64* const list = lane ? &control.weighed[kind][weight] : &control.hard;
        at = atomicAdd(
            (ull*)list, lane ? (zero ? 0ull : 1ull) : (ull)(few_tiles(job) ? hard : (hard + 31) & ~31u));
    }
    if (lane == 1) {
        Nearness& entry = nearness_of(job, part.tile);
        // An odd row occupies two chunks of bounds, an even row one.
        const u32 even = every_other(found.rows), odd = every_other(found.rows >> 1);
        entry.bounded = all ? ~0ull : ALWAYS_BOUNDED | (u64)even << 16 | (u64)odd << 32 | (u64)odd << 48;
        entry.kind = kind;
        entry.weighted = zero ? NOT_LISTED : weighted_number(weight, (u32)at);
        if (zero) ListsView(job).headers()[part.tile] = ALL_ZERO;
    }
    at = __shfl_sync(FULL, at, 0);
    if (hard) list_hard<T>(job, part.tile, at, hard, up_to - own, found.lowers, found.uppers);
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
    NextBounded next(work, count);
    next.load(blockIdx.x);
    const Constraints<T> c = constraints_of<T>(job, control);
    // The warp with the first half also finishes the tile. Alternate between the two warps to balance the
    // schedulers.
    const i32 half = (i32)warp_or((threadIdx.x >> 5) ^ (__popc(blockIdx.x) & 1)), lane = threadIdx.x & 31;
    const FieldKinds field(control);
    const bool aligned = is_aligned<T>(job), simple = !field.has_rare;
    for (u64 k = blockIdx.x; k < count; k += gridDim.x) {
        const u64 tile = next.tile();
        const u32 cells = next.near_cells();
        next.load(k + gridDim.x);
        const TileShape shape = finder.shape(job, tile);
        const HalfTile part = {shape, tile, half, cells, near_rows(shape, cells)};
        ask_for_tile(job, part, aligned, shared);
        const bool all = stores_all_bounds(job, shape);
        clear_bounds(vertex_bounds_of<T>(job, tile), all);
        wait_for_copies<0>();
        __syncthreads();
        const Found found = simple && !field.has_special
                                ? find_cheap_bounds<true, true>(job, c, part, field, shared)
                            : simple ? find_cheap_bounds<true, false>(job, c, part, field, shared)
                                     : find_cheap_bounds<false, false>(job, c, part, field, shared);
        if (half) shared.keep(lane, found);
        __syncthreads();
        if (half) continue;
        list_searched<T>(job, control, field, part, shared.with_second(found), all);
    }
    end_overlap();
}
