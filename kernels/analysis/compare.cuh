// Compares two fields: lost, spurious and changed critical points, errors, missing values. Twin of
// src/analysis/compare.rs.
// A warp walks down a band of rows and sums errors; it only notes the triangles that the signs do not settle,
// which another kernel then compares exactly.
#pragma once
#include "analysis/sides.cuh"
#include "analysis/range.cuh"

namespace analysis {

// Counts that each thread keeps for itself.
enum : i32 {
    SEEN_ZERO,
    SEEN_CHANGED_ZERO_VERTICES,
    SEEN_NONFINITE,
    SEEN_FILLED,
    SEEN_CHANGED_MISSING,
    SEEN_EXCEEDED,
    SEEN_UNPAIRED,
    SEEN_TIES,
    SEEN
};

constexpr i32 COMPARE_THREADS = 32 * ANALYSIS_WARPS;

// Sums of a lane over one band.
template <typename T>
struct Band {
    double squares[2][WIDTH<T>];
    T low, high;
};

// The largest error that a warp knows of, and the high word of a square from which on an error may be larger,
// or not within the bound.
struct Errors {
    double bound, largest;
    u32 open_word;
};

template <typename T>
__device__ __forceinline__ void raise_largest(Errors& errors, double largest) {
    errors.largest = largest;
    // Squares of infinite errors and NaN have this word or a larger one.
    constexpr u32 INFINITE = 0x7ff00000;
    const u32 word = min(high_word(errors.bound * errors.bound), high_word(largest * largest));
    // Squares of floats' differences do not underflow: the word is 0 for no error alone.
    errors.open_word = min(max(word, (u32)(sizeof(T) == 4)), INFINITE);
}

// |b - a| minus its rounded value |difference|, exactly.
__device__ __forceinline__ double rest_of_difference(double b, double a, double difference) {
    const double y = -a, t = difference - b;
    const double error = (b - (difference - t)) + (y - t);
    return difference >= 0.0 ? error : -error;
}

template <typename T>
__device__ __forceinline__ void see_value(
    T before, T after, Errors& errors, u32& exceeded, Band<T>& band, double& squares) {
    const double a = (double)before, b = (double)after, difference = b - a, error = fabs(difference);
    squares += difference * difference;
    band.low = Real<T>::low(band.low, before);
    band.high = Real<T>::high(band.high, before);
    if (error > errors.largest) errors.largest = error;
    // Rounding is monotone: the rest matters only if the rounded error equals the bound.
    if (error >= errors.bound && (error > errors.bound || rest_of_difference(b, a, difference) > 0.0))
        exceeded++;
}

// Any vertices: missing ones, and those with an error above the largest so far or above the bound.
template <typename T>
__device__ __forceinline__ void see_vertices(const Analysis& job, const Line<T>& line, i32 columns,
    Errors& errors, Band<T>& band, u32 (*seen)[COMPARE_THREADS]) {
    typedef Real<T> R;
    u32 exceeded = 0;
#pragma unroll
    for (i32 k = 0; k < WIDTH<T>; k++) {
        if (k >= columns) continue;
        const T a = line.u[0].at[k], b = line.v[0].at[k], c = line.u[1].at[k], d = line.v[1].at[k];
        const bool was_finite = R::finite(a) & R::finite(b), is_finite = R::finite(c) & R::finite(d),
                   filled = job.has_fill && is_filled(a, b, job.fill);
        if (!(was_finite & is_finite) || filled) {
            seen[SEEN_NONFINITE][threadIdx.x] += !was_finite;
            seen[SEEN_FILLED][threadIdx.x] += was_finite & filled;
            // A vertex that was present gets here because it is not finite in the other field.
            const bool same = (R::bits(a) == R::bits(c)) & (R::bits(b) == R::bits(d));
            seen[SEEN_CHANGED_MISSING][threadIdx.x] += (was_finite & !filled) || !same;
        }
        const bool paired = R::finite(a) & R::finite(c) & !filled;
        seen[SEEN_UNPAIRED][threadIdx.x] += !paired;
        if (paired) see_value(a, c, errors, exceeded, band, band.squares[0][k]);
        if (R::finite(b) & R::finite(d) & !filled)
            see_value(b, d, errors, exceeded, band, band.squares[1][k]);
    }
    seen[SEEN_EXCEEDED][threadIdx.x] += exceeded;
    double largest = errors.largest;
    for (i32 k = 1; k < 32; k *= 2) largest = fmax(largest, __shfl_xor_sync(FULL, largest, k));
    raise_largest<T>(errors, largest);
}

// Adds the squares of the errors of a line, if none is above the largest so far or above the bound and no
// value is missing. Call with a warp.
template <typename T>
__device__ __forceinline__ bool see_small_errors(
    const Analysis& job, const Line<T>& line, const Errors& errors, Band<T>& band) {
    constexpr i32 W = WIDTH<T>;
    double squares[2][W];
    u32 word = 0;
    bool filled = false;
#pragma unroll
    for (i32 k = 0; k < W; k++) {
        const double u = (double)line.u[1].at[k] - (double)line.u[0].at[k],
                     v = (double)line.v[1].at[k] - (double)line.v[0].at[k];
        squares[0][k] = u * u;
        squares[1][k] = v * v;
        word = max(word, max(high_word(squares[0][k]), high_word(squares[1][k])));
    }
    if (job.has_fill) {
#pragma unroll
        for (i32 k = 0; k < W; k++) filled |= is_filled(line.u[0].at[k], line.v[0].at[k], job.fill);
    }
    if (__any_sync(FULL, filled | (word >= errors.open_word))) return false;
#pragma unroll
    for (i32 k = 0; k < W; k++) {
        band.squares[0][k] += squares[0][k];
        band.squares[1][k] += squares[1][k];
    }
    return true;
}

// Rows that a warp walks down, from the columns of the lane on.
struct Walk {
    u64 x, y;
    u32 rows, last;    // rows of vertices; the last row of their cells
    i32 columns;       // of the lane that are in the grid
    bool whole, wide;  // all columns of all lanes are; rows can be read 16 bytes at a time
    bool has_edge;     // the lane is the last one and has a vertex to its right
};

// The smallest and largest values of the first field, which has no missing values in these columns.
template <typename T>
__device__ __forceinline__ void see_range(const Line<T>& line, Band<T>& band) {
    typedef Real<T> R;
#pragma unroll
    for (i32 k = 0; k < WIDTH<T>; k++) {
        band.low = R::low(band.low, R::low(line.u[0].at[k], line.v[0].at[k]));
        band.high = R::high(band.high, R::high(line.u[0].at[k], line.v[0].at[k]));
    }
}

// Counts of a lane in a band: zero vertices, vertices that are zero in one field alone, ties that stay.
struct ZeroCounts {
    u32 vertices, changed, ties;
};

// Counts the zeros of a row with zeros or missing values.
template <typename T>
__device__ __forceinline__ void see_zeros(
    const Analysis& job, const Line<T>& line, u32 bases, u32 edge, bool counts, Row& row, ZeroCounts& zeros) {
    const u32 both = zero_vertices<T>(row.sides), present = job.has_fill ? ~filled_vertices(job, line) : ~0u,
              first = both & present, other = both >> 16 & present;
    if (counts) {
        zeros.vertices += (u32)__popc(first & bases);
        zeros.changed += (u32)__popc((first ^ other) & bases);
    }
    row.zeros = first & other & same_vertices(line);
    const u32 next = __shfl_down_sync(FULL, row.zeros, 1);
    row.zeros_right = Sides<T>::shifted(row.zeros, (threadIdx.x & 31) == 31 ? edge / KEPT_ZERO : next);
}

// Begins to read a row of a walk, if there is one. Closes a group of copies.
template <typename T>
__device__ __forceinline__ void begin_row(const Analysis& job, const Walk& at, RowsAhead<T>& ahead, u32 row) {
    if (at.whole && row <= at.last)
        ahead.begin(job, at.wide, at.has_edge, at.x, at.y + row, row % RowsAhead<T>::ROWS);
    end_of_copies();
}

// The row of a walk that a lane is at, and the sides of the vertex to its right in the last lane.
template <typename T>
struct WalkedRow {
    Line<T> line;
    u32 edge;
};

// Takes a row and begins to read another. Rows that end in the columns of the warp are not read ahead.
template <typename T>
__device__ __forceinline__ WalkedRow<T> next_row(
    const Analysis& job, const Walk& at, RowsAhead<T>& ahead, u32 row) {
    if (!at.whole) return {load_line<T>(job, at.x, at.y + row), Sides<T>::EACH};
    const u32 slot = row % RowsAhead<T>::ROWS;
    wait_for_copies<RowsAhead<T>::ROWS - 1>();
    const WalkedRow<T> walked = {
        ahead.line(slot), at.has_edge ? edge_sides(ahead.edge(slot), job.has_fill != 0) : Sides<T>::EACH};
    begin_row(job, at, ahead, row + RowsAhead<T>::ROWS);
    return walked;
}

// Reads the rows, adds the errors, writes the open triangles of the columns of each lane. Call with a warp.
template <typename T>
__device__ __forceinline__ ZeroCounts walk(const Analysis& job, const Walk& at, Errors& errors, Band<T>& band,
    u32 (*seen)[COMPARE_THREADS], RowsAhead<T>& ahead, u32* open_triangles) {
    const i32 lane = threadIdx.x & 31;
    for (u32 row = 0; row < RowsAhead<T>::ROWS; row++) begin_row(job, at, ahead, row);
    const u32 bases = (1u << at.columns) - 1;
    ZeroCounts zeros = {};
    Row above = no_row<T>();
    u32 open = 0;  // of four rows
    for (u32 row = 0; row <= at.last; row++) {
        const WalkedRow<T> walked = next_row(job, at, ahead, row);
        const Line<T>& line = walked.line;
        const bool is_odd = __any_sync(FULL, has_zero_or_nan(line)), is_own = row < at.rows;
        Row here = {is_odd ? any_sides(line) : signs_to_sides(line), 0, 0, 0, false};
        const u32 next_lane = __shfl_down_sync(FULL, here.sides, 1);
        here.right = Sides<T>::shifted(here.sides, lane == 31 ? walked.edge : next_lane);
        if (is_odd) see_zeros(job, line, bases, walked.edge, is_own, here, zeros);
        if (is_own) {
            here.is_whole = at.whole && see_small_errors(job, line, errors, band);
            if (here.is_whole)
                see_range(line, band);
            else
                see_vertices(job, line, at.columns, errors, band, seen);
        }
        if (row > 0) {
            open = open >> 8 | open_between<T>(above, here, bases, zeros.ties) << 24;
            if (row % 4 == 0) open_triangles[8 * row - 32 + lane] = open;
        }
        above = here;
    }
    // The last row of vertices has edges along x at most.
    if (at.last < at.rows)
        open = open >> 8 | (open_between<T>(above, no_row<T>(), bases, zeros.ties) & 0x0f) << 24;
    const u32 quads = (at.rows + 3) / 4, left = at.rows % 4;
    if (left != 0 || at.last < at.rows)
        open_triangles[32 * (quads - 1) + lane] = open >> (left != 0 ? 32 - 8 * left : 0);
    for (u32 quad = quads; quad < ANALYSIS_ROWS / 4; quad++) open_triangles[32 * quad + lane] = 0;
    return zeros;
}

// Sums over a warp, neighbours first, as the twin does.
__device__ __forceinline__ double warp_tree(double x) {
    for (i32 k = 1; k < 32; k *= 2) x += __shfl_xor_sync(FULL, x, k);
    return x;
}

__device__ __forceinline__ void join_parts(double* a, const double* b) {
    a[0] += b[0];
    a[1] += b[1];
    a[2] = fmin(a[2], b[2]);
    a[3] = fmax(a[3], b[3]);
}

// Joins each second of `length` parts that are `step` apart with the one after it.
__device__ __forceinline__ void join_pairs(
    double* parts, u64 length, u64 stride, u64 step, u32 thread, u32 threads) {
    for (u64 k = 2 * step * thread; k + step < length; k += 2 * step * threads)
        join_parts(parts + k * stride * PART, parts + (k + step) * stride * PART);
}

// Joins the strips of each band. Grid and block: any.
template <typename T>
__device__ __forceinline__ void join_strips(const Analysis& job) {
    constexpr u64 STRIP = 32 * WIDTH<T>;
    const u64 strips = (job.nx + STRIP - 1) / STRIP, bands = all_bands(job);
    const u32 warps = blockDim.x / 32, warp = threadIdx.x / 32;
    for (u64 band = (u64)blockIdx.x * warps + warp; band < bands; band += (u64)gridDim.x * warps)
        for (u64 step = 1; step < strips; step *= 2) {
            join_pairs(job.parts + band * strips * PART, strips, 1, step, threadIdx.x & 31, 32);
            __syncwarp();
        }
}

// Joins the sums of the lanes.
template <typename T>
__device__ __forceinline__ void join_lanes(Band<T>& band, double part[PART]) {
    constexpr i32 W = WIDTH<T>;
#pragma unroll
    for (i32 c = 0; c < 2; c++) {
        double* s = band.squares[c];
        for (i32 step = 1; step < W; step *= 2)
            for (i32 k = 0; k < W; k += 2 * step) s[k] += s[k + step];
        part[c] = warp_tree(s[0]);
    }
    T lowest = band.low, highest = band.high;
    for (i32 k = 1; k < 32; k *= 2) {
        lowest = Real<T>::low(lowest, __shfl_xor_sync(FULL, lowest, k));
        highest = Real<T>::high(highest, __shfl_xor_sync(FULL, highest, k));
    }
    part[2] = (double)lowest;
    part[3] = (double)highest;
}

// Adds the counts of a block to those of the call.
__device__ __forceinline__ void add_counts(
    const Analysis& job, u64* counts, u32 (*seen)[COMPARE_THREADS], double largest) {
    constexpr i32 PLACES[] = {COUNT_ZERO, COUNT_CHANGED_ZERO_VERTICES, COUNT_NONFINITE, COUNT_FILLED,
        COUNT_CHANGED_MISSING, COUNT_EXCEEDED, COUNT_UNPAIRED, COUNT_TIES};
    const bool first = (threadIdx.x & 31) == 0;
#pragma unroll
    for (i32 k = 0; k < SEEN; k++) {
        const u32 sum = warp_sum(seen[k][threadIdx.x]);
        if (first && sum) add_count(counts[PLACES[k]], sum);
    }
    // Bits of non-negative doubles are ordered like the values.
    if (first && largest > 0.0) raise_to(counts[COUNT_LARGEST], (u64)__double_as_longlong(largest));
    __syncthreads();
    for (i32 k = threadIdx.x; k < COUNTS; k += blockDim.x) {
        if (!counts[k]) continue;
        if (k == COUNT_LARGEST)
            raise_to(job.counts[k], counts[k]);
        else
            add_count(job.counts[k], counts[k]);
    }
}

// Grid: any. Block: 256 threads; a warp takes 32 * WIDTH columns of a band of 32 rows. Reads both fields;
// adds to counts, writes parts and open_triangles. Squared errors are summed in a fixed order: rows of a
// band, neighbouring columns, bands. Counts need no order.
template <typename T, bool STACK>
__device__ __forceinline__ void compare(const Analysis& job) {
    constexpr i32 W = WIDTH<T>;
    constexpr u64 STRIP = 32 * W;
    __shared__ u64 counts[COUNTS];
    __shared__ u32 seen[SEEN][COMPARE_THREADS];
    __shared__ RowsAhead<T> ahead;
    const i32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    for (i32 k = threadIdx.x; k < COUNTS; k += blockDim.x) counts[k] = 0;
    for (i32 k = 0; k < SEEN; k++) seen[k][threadIdx.x] = 0;
    __syncthreads();
    const u64 strips = (job.nx + STRIP - 1) / STRIP, bands = all_bands(job),
              step = (u64)gridDim.x * ANALYSIS_WARPS;
    Walk at;
    at.wide = is_wide<T>(job.fields[0]) & is_wide<T>(job.fields[1]);
    Errors errors;
    errors.bound = bound_of(job);
    // Begin with the largest error of the blocks so far: smaller ones do not change the result.
    raise_largest<T>(errors, __longlong_as_double((long long)__ldcg(&job.counts[COUNT_LARGEST])));
    for (u64 item = (u64)blockIdx.x * ANALYSIS_WARPS + warp; item < strips * bands; item += step) {
        const u64 x = item % strips * STRIP;
        at.x = x + lane * W;
        at.columns = at.x >= job.nx ? 0 : job.nx - at.x < W ? (i32)(job.nx - at.x) : W;
        at.whole = x + STRIP <= job.nx;
        at.has_edge = lane == 31 && x + STRIP < job.columns;
        Band<T> band;
        for (i32 k = 0; k < W; k++) band.squares[0][k] = band.squares[1][k] = 0.0;
        band.low = Real<T>::infinity();
        band.high = -band.low;
        const ZeroCounts zeros =
            in_plane<T, STACK>(job, first_row(job, item / strips, STACK), [&](const Analysis& plane, u64 y) {
                at.y = y;
                at.rows = (u32)(job.ny - y < ANALYSIS_ROWS ? job.ny - y : ANALYSIS_ROWS);
                // The row below the band completes its last cells; below the last band of a plane it is a
                // ghost row, if there is one.
                at.last = (u32)(at.rows < job.rows - 1 - y ? at.rows : job.rows - 1 - y);
                return walk(
                    plane, at, errors, band, seen, ahead, job.open_triangles + item * ANALYSIS_ROWS * 8);
            });
        seen[SEEN_ZERO][threadIdx.x] += zeros.vertices;
        seen[SEEN_CHANGED_ZERO_VERTICES][threadIdx.x] += zeros.changed;
        seen[SEEN_TIES][threadIdx.x] += zeros.ties;
        double part[PART];
        join_lanes(band, part);
        if (lane == 0)
            for (i32 k = 0; k < PART; k++) job.parts[item * PART + k] = part[k];
    }
    __syncthreads();
    add_counts(job, counts, seen, errors.largest);
}

// log10 of a positive finite number, within 2^-52 of the larger summand and with the same bits as the twin.
__device__ inline double log10_of(double x) {
    i32 exponent = 0;
    if (x < 2.2250738585072014e-308) {
        x *= 18014398509481984.0;  // 2^54
        exponent = -54;
    }
    const u64 bits = (u64)__double_as_longlong(x);
    exponent += (i32)(bits >> 52) - 1023;
    double m = __longlong_as_double((long long)((bits & 0xfffffffffffffull) | 0x3ff0000000000000ull));
    if (m > 1.4142135623730951) {
        m *= 0.5;
        exponent++;
    }
    const double s = (m - 1.0) / (m + 1.0), z = s * s;
    double series = 0.0;
    for (i32 k = 10; k >= 0; k--) series = series * z + 1.0 / (double)(2 * k + 1);
    return ((double)exponent * 0.6931471805599453 + 2.0 * s * series) / 2.302585092994046;
}

// Peak signal-to-noise ratio in dB, NaN if undefined. Twin of the end of Part::finish.
__device__ inline double psnr_of(const double part[PART], u64 pairs, double max_error) {
    const double undefined = __longlong_as_double(0x7ff8000000000000ll), infinite = Real<double>::infinity();
    if (pairs == 0) return undefined;
    const double mean = (part[0] + part[1]) / (double)(2 * pairs), range = part[3] - part[2];
    if (!(mean < infinite) || !(range < infinite)) return undefined;
    // Squares of small differences become 0.
    if (mean == 0.0) return max_error == 0.0 ? infinite : undefined;
    return range > 0.0 ? 20.0 * log10_of(range) - 10.0 * log10_of(mean) : undefined;
}

// Grid: 1. Block: 1024 threads. Reads counts and the parts of bands; joins those in the fixed order and
// writes the comparison.
template <typename T>
__device__ __forceinline__ void compare_end(const Analysis& job) {
    constexpr u64 STRIP = 32 * WIDTH<T>;
    const u64 strips = (job.nx + STRIP - 1) / STRIP, bands = all_bands(job);
    for (u64 step = 1; step < bands; step *= 2) {
        join_pairs(job.parts, bands, strips, step, threadIdx.x, blockDim.x);
        __syncthreads();
    }
    if (threadIdx.x != 0) return;
    const u64* counts = job.counts;
    Comparison c = {};
    c.lost_zeros = counts[COUNT_LOST_ZEROS];
    c.spurious_zeros = counts[COUNT_NEW_ZEROS];
    c.changed_indices = counts[COUNT_CHANGED_INDICES];
    const u64 inside = counts[COUNT_LOST] + counts[COUNT_NEW] + counts[COUNT_CHANGED_TYPES] - c.lost_zeros -
                       c.spurious_zeros - c.changed_indices;
    c.violations = inside + counts[COUNT_CHANGED_TIES] + counts[COUNT_NEW_TIES] +
                   counts[COUNT_CHANGED_MISSING] + counts[COUNT_EXCEEDED];
    c.critical_points = counts[COUNT_POINTS];
    c.other_critical_points = counts[COUNT_OTHER_POINTS];
    c.lost_points = counts[COUNT_LOST];
    c.spurious_points = counts[COUNT_NEW];
    c.changed_types = counts[COUNT_CHANGED_TYPES];
    c.ties = counts[COUNT_TIES];
    c.changed_ties = counts[COUNT_CHANGED_TIES];
    c.new_ties = counts[COUNT_NEW_TIES];
    c.nonfinite_vertices = counts[COUNT_NONFINITE];
    c.filled_vertices = counts[COUNT_FILLED];
    c.changed_missing = counts[COUNT_CHANGED_MISSING];
    c.zero_vertices = counts[COUNT_ZERO];
    c.changed_zero_vertices = counts[COUNT_CHANGED_ZERO_VERTICES];
    c.bound_exceeded = counts[COUNT_EXCEEDED];
    c.bound = bound_of(job);
    c.max_error = __longlong_as_double((long long)counts[COUNT_LARGEST]);
    c.psnr = psnr_of(job.parts, job.nx * job.ny * job.nz - counts[COUNT_UNPAIRED], c.max_error);
    for (i32 type = 0; type < POINT_TYPES; type++) c.points_by_type[type] = counts[COUNT_BY_TYPE + type];
    c.status = STATUS_OK;
    *job.comparison = c;
}

}  // namespace analysis
