// Compares two fields: lost, spurious and changed critical points, errors, missing values. Twin of
// src/analysis/compare.rs.
// A warp walks down a band of rows and sums errors; it only notes the patches (columns of a lane in a row of
// cells) that the signs do not settle. The block then decides those, a patch a lane, and exactly what is left
// of their triangles, a triangle a lane.
#pragma once
#include "analysis/patches.cuh"
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

__device__ __forceinline__ u32 high_word(double x) { return (u32)__double2hiint(x); }

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

template <typename T>
__device__ __forceinline__ void count_zeros(
    const Analysis& job, const Line<T>& line, i32 columns, u32 (*seen)[COMPARE_THREADS]) {
    u32 zeros = 0, changed = 0;
#pragma unroll
    for (i32 k = 0; k < WIDTH<T>; k++) {
        const T a = line.u[0].at[k], b = line.v[0].at[k];
        const bool zero = (a == T(0)) & (b == T(0)),
                   other_zero = (line.u[1].at[k] == T(0)) & (line.v[1].at[k] == T(0));
        if (k >= columns || (job.has_fill && is_filled(a, b, job.fill))) continue;
        zeros += zero;
        changed += zero != other_zero;
    }
    seen[SEEN_ZERO][threadIdx.x] += zeros;
    seen[SEEN_CHANGED_ZERO_VERTICES][threadIdx.x] += changed;
}

// Rows that a warp walks down, from the columns of the lane on.
struct Walk {
    u64 x, y, rows, last;  // rows of vertices; the last row of their cells
    i32 columns;           // of the grid
    bool whole;            // all columns of all lanes are
    bool wide[4];
};

// Reads the rows, adds the errors. Returns the patches of the lane that the signs do not settle, a bit for
// each row of cells. Call with a warp.
template <typename T>
__device__ __forceinline__ u32 walk(
    const Analysis& job, const Walk& at, Errors& errors, Band<T>& band, u32 (*seen)[COMPARE_THREADS]) {
    const i32 lane = threadIdx.x & 31;
    const u64 edge_x = at.x + (32 - lane) * WIDTH<T>;
    // Sides of the vertices after the last column: of row `lane`, and of row 32.
    const u32 edges = edge_sides<T>(job, edge_x, at.y + lane, (u64)lane <= at.last),
              last_edge = edge_sides<T>(job, edge_x, at.y + 32, at.last == 32);
    const bool vectors = at.whole & at.wide[0] & at.wide[1] & at.wide[2] & at.wide[3];
    const Vectors<T> places = vectors_of<T>(job, at.x, at.y);
    auto line_of = [&](u64 row) {
        return vectors ? load_vectors(job, places, row) : load_line<T>(job, at.wide, at.x, at.y + row, false);
    };
    u32 open = 0, above = 0;
    Line<T> line = line_of(0);
    for (u64 row = 0; row <= at.last; row++) {
        Line<T> next = line;
        if (row < at.last) next = line_of(row + 1);
        const Extremes<T> extremes = extremes_of(line);
        u32 sides = sides_of(extremes);
        if (row < at.rows) {
            if (__any_sync(FULL, !is_settled(sides))) count_zeros(job, line, at.columns, seen);
            if (at.whole && see_small_errors(job, line, errors, band)) {
                band.low = Real<T>::low(band.low, Real<T>::low(extremes.low[0], extremes.low[1]));
                band.high = Real<T>::high(band.high, Real<T>::high(extremes.high[0], extremes.high[1]));
            } else {
                see_vertices(
                    job, load_line<T>(job, at.wide, at.x, at.y + row, false), at.columns, errors, band, seen);
            }
        }
        const u32 neighbour = __shfl_down_sync(FULL, sides, 1),
                  edge = row < 32 ? __shfl_sync(FULL, edges, (i32)row) : last_edge;
        sides &= lane == 31 ? edge : neighbour;
        if (row > 0 && !is_settled(sides & above)) open |= 1u << (row - 1);
        above = sides;
        line = next;
    }
    // The last row of vertices has edges along x at most.
    if (at.last < at.rows && !is_settled(above)) open |= 1u << at.last;
    return at.x < job.nx ? open : 0;
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

// Joins the sums of the warps. Call with the first one.
__device__ __forceinline__ void join_warps(double (*parts)[PART], double* result) {
    const i32 lane = threadIdx.x & 31;
    for (i32 step = 1; step < ANALYSIS_WARPS; step *= 2) {
        if (lane % (2 * step) == 0 && lane < ANALYSIS_WARPS) join_parts(parts[lane], parts[lane + step]);
        __syncwarp();
    }
    if (lane < PART) result[lane] = parts[0][lane];
}

// Adds the counts of a block to those of the call.
__device__ __forceinline__ void add_counts(
    const Analysis& job, u64* counts, u32 (*seen)[COMPARE_THREADS], double largest) {
    constexpr i32 PLACES[] = {COUNT_ZERO, COUNT_CHANGED_ZERO_VERTICES, COUNT_NONFINITE, COUNT_FILLED,
        COUNT_CHANGED_MISSING, COUNT_EXCEEDED, COUNT_UNPAIRED};
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
// adds to counts, writes parts. Squared errors are summed in a fixed order: rows of a band, neighbouring
// columns, bands. Counts need no order.
template <typename T>
__device__ __forceinline__ void compare(const Analysis& job) {
    constexpr i32 W = WIDTH<T>;
    __shared__ u64 counts[COUNTS];
    __shared__ u32 seen[SEEN][COMPARE_THREADS], listed;
    __shared__ Patches patches;
    __shared__ double parts[ANALYSIS_WARPS][PART];
    const i32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    for (i32 k = threadIdx.x; k < COUNTS; k += blockDim.x) counts[k] = 0;
    for (i32 k = 0; k < SEEN; k++) seen[k][threadIdx.x] = 0;
    patches.marked[threadIdx.x] = 0;
    if (threadIdx.x == 0) listed = 0;
    __syncthreads();
    constexpr u64 STRIP = 32 * W, CHUNK = ANALYSIS_WARPS * STRIP;
    const u64 chunks = (job.nx + CHUNK - 1) / CHUNK, bands = (job.ny + ANALYSIS_ROWS - 1) / ANALYSIS_ROWS;
    Walk at;
#pragma unroll
    for (i32 f = 0; f < 2; f++) {
        at.wide[2 * f] = is_wide<T>(job.fields[f].u);
        at.wide[2 * f + 1] = is_wide<T>(job.fields[f].v);
    }
    Errors errors;
    errors.bound = bound_of(job);
    // An error that another block has found is below none that this one has to find.
    raise_largest<T>(errors, __longlong_as_double((long long)__ldcg(&job.counts[COUNT_LARGEST])));
    for (u64 item = blockIdx.x; item < chunks * bands; item += gridDim.x) {
        const u64 chunk = item % chunks * CHUNK, strip = chunk + warp * STRIP;
        at.x = strip + lane * W;
        at.y = item / chunks * ANALYSIS_ROWS;
        at.rows = job.ny - at.y < ANALYSIS_ROWS ? job.ny - at.y : ANALYSIS_ROWS;
        // The row below the band completes its last cells; below the last band it is a ghost row, if there is
        // one.
        at.last = at.rows < job.rows - 1 - at.y ? at.rows : job.rows - 1 - at.y;
        at.columns = at.x >= job.nx ? 0 : job.nx - at.x < W ? (i32)(job.nx - at.x) : W;
        at.whole = strip + STRIP <= job.nx;
        Band<T> band;
        for (i32 k = 0; k < W; k++) band.squares[0][k] = band.squares[1][k] = 0.0;
        band.low = Real<T>::infinity();
        band.high = -band.low;
        if (strip < job.nx) list_patches(walk(job, at, errors, band, seen), patches, &listed);
        double part[PART];
        join_lanes(band, part);
        if (lane == 0)
            for (i32 k = 0; k < PART; k++) parts[warp][k] = part[k];
        __syncthreads();
        if (warp == 0) join_warps(parts, job.parts + item * PART);
        compare_patches<T>(job, at.wide, chunk, at.y, patches, listed, counts);
        __syncthreads();
        if (patches.marked[threadIdx.x]) compare_zeros<T>(job, at.x, at.y, patches.marked, counts);
        if (threadIdx.x == 0) listed = 0;
        __syncthreads();
    }
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

// Grid: 1. Block: 1024 threads. Reads counts and parts; joins the parts in the fixed order and writes the
// comparison.
template <typename T>
__device__ __forceinline__ void compare_end(const Analysis& job) {
    constexpr u64 CHUNK = ANALYSIS_WARPS * 32 * WIDTH<T>;
    const u64 chunks = (job.nx + CHUNK - 1) / CHUNK, bands = (job.ny + ANALYSIS_ROWS - 1) / ANALYSIS_ROWS;
    // Over the chunks of each band, then over the bands.
    for (i32 pass = 0; pass < 2; pass++) {
        const u64 length = pass == 0 ? chunks : bands, lines = pass == 0 ? bands : 1;
        const u64 stride = pass == 0 ? 1 : chunks;
        for (u64 step = 1; step < length; step *= 2) {
            const u64 joins = (length - step + 2 * step - 1) / (2 * step);
            for (u64 k = threadIdx.x; k < joins * lines; k += blockDim.x) {
                const u64 at = (k / joins * chunks) + k % joins * 2 * step * stride;
                join_parts(job.parts + at * PART, job.parts + (at + step * stride) * PART);
            }
            __syncthreads();
        }
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
    c.psnr = psnr_of(job.parts, job.nx * job.ny - counts[COUNT_UNPAIRED], c.max_error);
    for (i32 type = 0; type < POINT_TYPES; type++) c.points_by_type[type] = counts[COUNT_BY_TYPE + type];
    c.status = STATUS_OK;
    *job.comparison = c;
}

}  // namespace analysis
