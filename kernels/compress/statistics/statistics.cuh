// The first kernel of compression, one pass over the field: its range, zeros and missing values, and how near
// the cells of each tile come to the origin. Results do not depend on the order of blocks. Twin of
// src/cpu/statistics.rs.
#pragma once
#include "compress/statistics/strips.cuh"
#include "grid/field.cuh"
#include "grid/pair.cuh"
#include "grid/tiles.cuh"
#include "predict/cleared.cuh"

// The rows of a strip on their way to shared memory. WIDE: all lanes have four aligned columns.
template <typename T, bool WIDE>
struct StripRows {
    const Job& job;
    Strip<T>& strip;
    const T *u, *v;  // the lane's columns in the next row
    u64 stride_u, stride_v;
    i32 count;       // columns of the lane
    bool last_lane;  // copies the column behind the strip, too

    __device__ __forceinline__ StripRows(const Job& job, Strip<T>& strip, u64 x0, u64 y0, i32 count)
        : job(job), strip(strip), count(count) {
        stride_u = job.u_layout.stride, stride_v = job.v_layout.stride;
        u = vertex_at<T>(job.u, job.u_layout, count ? x0 : 0, y0);
        v = vertex_at<T>(job.v, job.v_layout, count ? x0 : 0, y0);
        last_lane = (threadIdx.x & 31) == 31 && x0 + 4 < job.nx;
    }
    // Starts the copy of the next row, if there is one.
    __device__ __forceinline__ void ask(bool exists, i32 place) {
        if (exists) {
            strip.template ask<WIDE>(place, 0, u, stride_u, count);
            if (last_lane) strip.ask_behind(place, 0, u + 4 * stride_u);
            strip.template ask<WIDE>(place, 1, v, stride_v, count);
            if (last_lane) strip.ask_behind(place, 1, v + 4 * stride_v);
            u += job.u_layout.pitch;
            v += job.v_layout.pitch;
        }
        end_of_copies();
    }
};

// Minimum over the warps that share a strip, by lane. Call with a block.
template <i32 PARTS, typename T>
__device__ __forceinline__ T least_of_parts(T (&of_parts)[PARTS][32], i32 part, T own) {
    const i32 lane = threadIdx.x & 31;
    of_parts[part][lane] = own;
    __syncthreads();
#pragma unroll
    for (i32 other = 0; other < PARTS; other++) own = Real<T>::low(own, of_parts[other][lane]);
    return own;
}

// A strip by PARTS warps, each of which takes consecutive rows. WIDE: all lanes have four aligned columns.
template <typename T, i32 PARTS, bool WIDE, bool FILLED>
__device__ __forceinline__ void statistics_strip(
    const Job& job, Strip<T>& strip, u64 ty, u64 x0, i32 count, LaneStatistics<T, FILLED>& t) {
    typedef Real<T> R;
    constexpr i32 MOST_ROWS = TILE / PARTS, PART_BANDS = BANDS / PARTS;
    constexpr i32 ROWS = Strip<T>::ROWS, AHEAD = ROWS - 1;
    static_assert(BAND_ROWS % ROWS == 0, "a band ends with the first of some rows");
    // warp_or: uniform, so that votes need no code for divergent lanes.
    const i32 part = PARTS > 1 ? (i32)warp_or(threadIdx.x >> 5) : 0;
    u64 plane;
    const u64 y_in_plane = place_row(job, ty, plane) + part * MOST_ROWS, y0 = plane + y_in_plane,
              left = job.ny > y_in_plane ? job.ny - y_in_plane : 0;
    const i32 rows = (i32)warp_or(left < MOST_ROWS ? (u32)left : (u32)MOST_ROWS),
              all_rows = left > MOST_ROWS ? MOST_ROWS + 1 : rows;
    const bool has_right = x0 + 4 < job.nx;
    StripRows<T, WIDE> ahead(job, strip, x0, y0, count);
#pragma unroll
    for (i32 k = 0; k < AHEAD; k++) ahead.ask(k < all_rows, k);
    LaneCells<T> cells;
    const u64 tile = ty * job.tiles_x + x0 / TILE;
    const bool writes = (threadIdx.x & 7) == 0 && count;
#pragma unroll 1
    for (i32 start = 0; start < all_rows; start += ROWS) {
#pragma unroll
        for (i32 i = 0; i < ROWS; i++) {
            const i32 y = start + i;
            if (y >= all_rows) break;
            // Into the place of the previous row.
            ahead.ask(y + AHEAD < all_rows, (i + AHEAD) % ROWS);
            wait_for_copies<AHEAD>();
            const Four<T> a = strip.template four<WIDE>(i, 0, count),
                          b = strip.template four<WIDE>(i, 1, count);
            Box<T, R> box(a, b);
            T odd = odd_test<FILLED>(a, t.fill) + odd_test<FILLED>(b, t.fill);
            if (y < rows && (WIDE || count)) t.add(a, b, box, odd, WIDE ? 4 : count, (y0 + y) * job.nx + x0);
            // Cells between two lanes.
            T right_u = __shfl_down_sync(FULL, a.x[0], 1), right_v = __shfl_down_sync(FULL, b.x[0], 1);
            if (ahead.last_lane) right_u = strip.behind[i][0], right_v = strip.behind[i][1];
            // Without a right neighbour the last lane gets its own value.
            if (WIDE || has_right) {
                box.add(right_u, right_v);
                odd += FILLED ? odd_test<FILLED>(right_u, t.fill) + odd_test<FILLED>(right_v, t.fill)
                              : R::fma(right_u, T(0), right_v * T(0));
            }
            cells.add(y, box, odd);
            if (i == 0 && y > 0 && y % BAND_ROWS == 0)
                cells.end_band(job, tile, writes, PART_BANDS * part + y / BAND_ROWS - 1);
        }
    }
    // Bands below the lower border of the grid.
    for (i32 band = (all_rows - 1) / BAND_ROWS; band < PART_BANDS; band++)
        cells.end_band(job, tile, writes, PART_BANDS * part + band);
    if (PARTS > 1) {
        __shared__ T of_parts[PARTS][32];
        cells.before_band = least_of_parts(of_parts, part, cells.before_band);
    }
    cells.end(job, tile, writes, part == 0, part == PARTS - 1);
}

// A row of a lane's columns and the column to their right, or that column again at the border.
template <typename T>
struct LaneRow {
    Four<T> u, v;
    T right_u, right_v;

    __device__ __forceinline__ void load(const T* at_u, const T* at_v, i32 right) {
        u = Four<T>::at(at_u), v = Four<T>::at(at_v);
        right_u = at_u[right], right_v = at_v[right];
    }
};

// The columns of a lane in a strip of interior tiles; `right`: distance of the column to their right, or 0.
template <typename T>
struct InteriorColumns {
    const Job& job;
    u64 x0, y0;
    i32 right;

    __device__ __forceinline__ LaneRow<T> row(i32 y) const {
        LaneRow<T> row;
        row.load(vertex_at<T>(job.u, job.u_layout, x0, y0 + y), vertex_at<T>(job.v, job.v_layout, x0, y0 + y),
            right);
        return row;
    }
    // Adds row y, whatever its values are.
    __device__ __forceinline__ void add(
        i32 y, const LaneRow<T>& row, LaneStatistics<T, false>& t, LaneCells<T>& cells) const {
        typedef Real<T> R;
        Box<T, R> box(row.u, row.v);
        T odd = finite_test(row.u) + finite_test(row.v);
        if (y < TILE) t.add(row.u, row.v, box, odd, 4, (y0 + y) * job.nx + x0);
        box.add(row.right_u, row.right_v);
        odd += R::fma(row.right_u, T(0), row.right_v * T(0));
        cells.add(y, box, odd);
    }
};

// Two rows and the cells above each, on the assumption that no value is missing.
template <typename T>
struct CompleteRows {
    typedef IfThere<T> Order;
    Box<T, Order> before;  // of the row before
    T odd;                 // of double, not 0 if a value is missing
    T low, high;           // range of the strip so far
    T first, last, near;   // distance from the origin of the cells above the first and last row, and of all

    __device__ __forceinline__ explicit CompleteRows(const LaneCells<T>& cells)
        : before(cells.before), odd(cells.odd_before) {}
    __device__ __forceinline__ Box<T, Order> box_of(const LaneRow<T>& row) {
        Box<T, Order> box(row.u, row.v);
        box.add(row.right_u, row.right_v);
        if (sizeof(T) == 8)
            odd +=
                finite_test(row.u) + finite_test(row.v) + Real<T>::fma(row.right_u, T(0), row.right_v * T(0));
        return box;
    }
    // Adds the first of two rows, or the second one.
    __device__ __forceinline__ void add(bool is_first, const Box<T, Order>& box, const SeenRange<T>& range) {
        before.add(box);
        last = before.distance();
        if (is_first)
            first = last;
        else {
            // The box covers both rows.
            near = Order::low(first, last);
            low = Order::low(Order::low(range.low, before.low_u), before.low_v);
            high = Order::high(Order::high(range.high, before.high_u), before.high_v);
        }
        before = box;
    }
    __device__ __forceinline__ bool none_missing() const {
        return odd + Real<T>::fma(low, T(0), high * T(0)) == T(0);
    }
};

// A strip of interior tiles by a warp, two rows at a time on the assumption that no value is missing and no
// vertex zero; rows where that fails are read again one by one. The first row stands alone, so that bands end
// with a turn.
template <typename T>
__device__ __forceinline__ void statistics_interior_strip(
    const Job& job, u64 ty, u64 x0, LaneStatistics<T, false>& t) {
    typedef Real<T> R;
    constexpr i32 ROWS = 2, LAST_TURN = TILE / ROWS, BAND_TURNS = BAND_ROWS / ROWS;
    u64 plane;
    const u64 y_in_plane = place_row(job, ty, plane), y0 = plane + y_in_plane,
              tile = ty * job.tiles_x + x0 / TILE;
    const bool writes = (threadIdx.x & 7) == 0;
    const i32 right = x0 + 4 < job.nx ? 4 : 0;
    const InteriorColumns<T> columns = {job, x0, y0, right};
    const T* u = vertex_at<T>(job.u, job.u_layout, x0, y0);
    const T* v = vertex_at<T>(job.v, job.v_layout, x0, y0);
    LaneCells<T> cells;
    // Load the rows of a turn during the turn before.
    LaneRow<T> rows[ROWS], top;
    top.load(u, v, right);
#pragma unroll
    for (i32 i = 0; i < ROWS; i++)
        u += job.u_layout.pitch, v += job.v_layout.pitch, rows[i].load(u, v, right);
    columns.add(0, top, t, cells);
#pragma unroll 1
    for (i32 turn = 1; turn <= LAST_TURN; turn++) {
        // In the last turn, load the last row again.
        const u64 pitch_u = turn < LAST_TURN ? job.u_layout.pitch : 0,
                  pitch_v = turn < LAST_TURN ? job.v_layout.pitch : 0;
        CompleteRows<T> both(cells);
#pragma unroll
        for (i32 i = 0; i < ROWS; i++) {
            const LaneRow<T> row = rows[i];
            const auto box = both.box_of(row);
            u += pitch_u, v += pitch_v, rows[i].load(u, v, right);
            both.add(i == 0, box, t.range);
        }
        const i32 y = (turn - 1) * ROWS + 1;
        if (__any_sync(FULL, !both.none_missing())) {
#pragma unroll 1
            for (i32 i = 0; i < ROWS; i++) columns.add(y + i, columns.row(y + i), t, cells);
        } else {
            // The box of a zero vertex contains the origin.
            if (both.near <= T(0)) {
#pragma unroll 1
                for (i32 i = 0; i < ROWS - (turn == LAST_TURN); i++) {
                    const LaneRow<T> row = columns.row(y + i);
                    t.add_zeros(row.u, row.v, 4);
                }
            }
            cells.before = Box<T, R>(both.before);
            cells.near = R::low(cells.near, both.near);
            if (turn == 1) cells.top = both.first;
            cells.bottom = both.last;
            t.range.low = both.low, t.range.high = both.high;
        }
        if (turn % BAND_TURNS == 0) cells.end_band(job, tile, writes, turn / BAND_TURNS - 1);
    }
    cells.end(job, tile, writes, true, true);
}

// Writes the statistics of a block for factz_sort.
template <typename T, u32 WARPS, bool FILLED>
__device__ __forceinline__ void tell(const Job& job, const LaneStatistics<T, FILLED>& t) {
    __shared__ SeenRange<T> ranges[WARPS];
    __shared__ SeenCounts all_counts[WARPS];
    __shared__ SeenFilled all_filled[FILLED ? WARPS : 1];
    SeenRange<T> range = t.range;
    SeenCounts counts = {t.zero, t.nonfinite, t.first};
    SeenFilled filled = {t.filled};
    range.add_lanes();
    counts.add_lanes();
    if (FILLED) filled.add_lanes();
    if ((threadIdx.x & 31) == 0) {
        ranges[threadIdx.x >> 5] = range;
        all_counts[threadIdx.x >> 5] = counts;
        if (FILLED) all_filled[threadIdx.x >> 5] = filled;
    }
    __syncthreads();
    if (threadIdx.x != 0) return;
#pragma unroll
    for (u32 w = 1; w < WARPS; w++) {
        range.add(ranges[w].low, ranges[w].high);
        counts.add(all_counts[w]);
        if (FILLED) filled.add(all_filled[w]);
    }
    const Seen<T> seen(job);
    seen.ranges[blockIdx.x] = range;
    seen.counts[blockIdx.x] = counts;
    if (FILLED) seen.filled[blockIdx.x] = filled;
}

// The columns of a lane in a strip.
struct StripPlace {
    u64 ty, x0;
    i32 count;
    bool wide;
    __device__ __forceinline__ StripPlace(const Job& job, u64 unit, bool aligned) {
        const u64 strips = strips_of_row(job);
        ty = unit / strips;
        const u64 start = (unit - ty * strips) * 128;
        x0 = start + 4 * (threadIdx.x & 31);
        wide = aligned && start + 128 <= job.nx;
        count = x0 >= job.nx ? 0 : job.nx - x0 < 4 ? (i32)(job.nx - x0) : 4;
    }
};

// True if rows follow those of a row of tiles in its plane.
__device__ __forceinline__ bool has_row_behind(const Job& job, u64 ty) {
    u64 plane;
    return place_row(job, ty, plane) + TILE < job.ny;
}

// Grid: statistics_blocks. Block: 32 * STATISTICS_WARPS threads. Static shared: strips. One pass over u and
// v. Reads: the field. Writes: statistics of each block, nearness of each tile; zeroes control block, counts
// and sets of anchors. Waits for: everything before on the stream. For many strips. FILLED: there is a fill
// value.
template <typename T, bool FILLED>
__device__ __forceinline__ void statistics_of_many(const Job& job) {
    __shared__ Strip<T> strips[STATISTICS_WARPS];
    let_next_begin();
    clear(job);
    const u64 units = strips_of_row(job) * job.tiles_y, warps = (u64)gridDim.x * STATISTICS_WARPS;
    LaneStatistics<T, FILLED> t(job);
    const bool aligned = is_aligned<T>(job);
    for (u64 unit = (u64)blockIdx.x * STATISTICS_WARPS + (threadIdx.x >> 5); unit < units; unit += warps) {
        const StripPlace place(job, unit, aligned);
        auto& strip = strips[threadIdx.x >> 5];
        if constexpr (!FILLED) {
            if (place.wide && has_row_behind(job, place.ty)) {
                statistics_interior_strip<T>(job, place.ty, place.x0, t);
                continue;
            }
        }
        if (place.wide)
            statistics_strip<T, 1, true>(job, strip, place.ty, place.x0, 4, t);
        else
            statistics_strip<T, 1, false>(job, strip, place.ty, place.x0, place.count, t);
    }
    tell<T, STATISTICS_WARPS>(job, t);
}
template <typename T>
__device__ __forceinline__ void statistics(const Job& job) {
    statistics_of_many<T, false>(job);
}
template <typename T>
__device__ __forceinline__ void filled_statistics(const Job& job) {
    statistics_of_many<T, true>(job);
}

// Grid: statistics_blocks. Block: 32 * STRIP_PARTS threads. As statistics_of_many, for few strips.
template <typename T, bool FILLED>
__device__ __forceinline__ void statistics_of_few(const Job& job) {
    __shared__ Strip<T> strips[STRIP_PARTS];
    let_next_begin();
    clear(job);
    LaneStatistics<T, FILLED> t(job);
    const StripPlace place(job, blockIdx.x, is_aligned<T>(job));
    if (place.wide)
        statistics_strip<T, STRIP_PARTS, true>(job, strips[threadIdx.x >> 5], place.ty, place.x0, 4, t);
    else
        statistics_strip<T, STRIP_PARTS, false>(
            job, strips[threadIdx.x >> 5], place.ty, place.x0, place.count, t);
    tell<T, STRIP_PARTS>(job, t);
}
template <typename T>
__device__ __forceinline__ void few_statistics(const Job& job) {
    statistics_of_few<T, false>(job);
}
template <typename T>
__device__ __forceinline__ void few_filled_statistics(const Job& job) {
    statistics_of_few<T, true>(job);
}
