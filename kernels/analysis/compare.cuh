// Compares two fields: lost, spurious and changed critical points, errors, missing values. Twin of
// src/analysis/compare.rs.
#pragma once
#include "analysis/range.cuh"

namespace analysis {

// A row of both fields.
template <typename T>
struct Line {
    Columns<T> u[2], v[2];  // [0] first field, [1] the other
};

template <typename T>
__device__ __forceinline__ Line<T> load_line(const Analysis& job, const bool wide[4], u64 x, u64 y) {
    Line<T> line;
#pragma unroll
    for (i32 f = 0; f < 2; f++) {
        line.u[f] = load_columns<T>(job.fields[f].u, wide[2 * f], job.columns, x, y);
        line.v[f] = load_columns<T>(job.fields[f].v, wide[2 * f + 1], job.columns, x, y);
    }
    return line;
}

template <typename T>
__device__ __forceinline__ u32 compared(T u0, T v0, T u1, T v1) {
    typedef Real<T> R;
    u32 flags = sides(u0, v0) | sides(u1, v1) << 4;
    if (R::finite(u0) & R::finite(v0) & R::finite(u1) & R::finite(v1)) flags |= PRESENT;
    if ((R::bits(u0) == R::bits(u1)) & (R::bits(v0) == R::bits(v1))) flags |= SAME_BITS;
    if ((u0 == T(0)) & (v0 == T(0))) flags |= ZERO;
    return flags;
}

// Flags of a vertex if there is a fill value.
template <typename T>
__device__ __forceinline__ u32 with_fill(const Analysis& job, u32 flags, T u0, T v0, T u1, T v1) {
    if (is_filled(u0, v0, job.fill)) flags = (flags & ~(PRESENT | ZERO)) | FILLED;
    return flags;
}

template <typename T>
__device__ __forceinline__ Flags<T> flags_of(const Analysis& job, const Line<T>& line) {
    Flags<T> flags;
#pragma unroll
    for (i32 k = 0; k < WIDTH<T>; k++)
        flags.at[k] = compared(line.u[0].at[k], line.v[0].at[k], line.u[1].at[k], line.v[1].at[k]);
    u32 edge = compared(line.u[0].edge, line.v[0].edge, line.u[1].edge, line.v[1].edge);
    if (job.has_fill) {
#pragma unroll
        for (i32 k = 0; k < WIDTH<T>; k++)
            flags.at[k] = with_fill(
                job, flags.at[k], line.u[0].at[k], line.v[0].at[k], line.u[1].at[k], line.v[1].at[k]);
        edge = with_fill(job, edge, line.u[0].edge, line.v[0].edge, line.u[1].edge, line.v[1].edge);
    }
    flags.take_next(edge);
    return flags;
}

// Counts of a lane over the whole call.
struct Seen {
    u32 zero, changed_zeros, nonfinite, filled, changed_missing, exceeded, pairs;
    double largest;
};

// Sums of a lane over one band.
template <typename T>
struct Band {
    double squares[2][WIDTH<T>];
    T low, high;
};

// |b - a| minus its rounded value |difference|, exactly.
__device__ __forceinline__ double rest_of_difference(double b, double a, double difference) {
    const double y = -a, t = difference - b;
    const double error = (b - (difference - t)) + (y - t);
    return difference >= 0.0 ? error : -error;
}

template <typename T>
__device__ __forceinline__ void see_value(
    T before, T after, double bound, Seen& seen, Band<T>& band, double& squares) {
    const double a = (double)before, b = (double)after, difference = b - a, error = fabs(difference);
    squares += difference * difference;
    band.low = Real<T>::low(band.low, before);
    band.high = Real<T>::high(band.high, before);
    if (error > seen.largest) seen.largest = error;
    // Rounding is monotone: the rest matters only if the rounded error equals the bound.
    if (error >= bound && (error > bound || rest_of_difference(b, a, difference) > 0.0)) seen.exceeded++;
}

template <typename T>
__device__ __forceinline__ void see_vertices(
    const Line<T>& line, const Flags<T>& flags, i32 columns, double bound, Seen& seen, Band<T>& band) {
    typedef Real<T> R;
#pragma unroll
    for (i32 k = 0; k < WIDTH<T>; k++) {
        if (k >= columns) continue;
        const T a = line.u[0].at[k], b = line.v[0].at[k], c = line.u[1].at[k], d = line.v[1].at[k];
        const bool zero = flags.at[k] & ZERO, other_zero = (c == T(0)) & (d == T(0));
        seen.zero += zero;
        seen.changed_zeros += zero != other_zero;
        if (flags.at[k] & PRESENT) {
            seen.pairs++;
            see_value(a, c, bound, seen, band, band.squares[0][k]);
            see_value(b, d, bound, seen, band, band.squares[1][k]);
        } else {
            const bool was_finite = R::finite(a) & R::finite(b), filled = flags.at[k] & FILLED;
            seen.nonfinite += !was_finite;
            seen.filled += was_finite & filled;
            // A vertex that was present gets here because it is not finite in the other field.
            seen.changed_missing += (was_finite & !filled) || !(flags.at[k] & SAME_BITS);
            // A filled vertex is not a zero, whatever the other field holds.
            if (filled & other_zero) seen.changed_zeros--;
            if (filled) continue;
            if (R::finite(a) & R::finite(c)) {
                seen.pairs++;
                see_value(a, c, bound, seen, band, band.squares[0][k]);
            }
            if (R::finite(b) & R::finite(d)) see_value(b, d, bound, seen, band, band.squares[1][k]);
        }
    }
}

// Counts the lanes for which a condition holds.
__device__ __forceinline__ void count_lanes(u64* counts, i32 what, bool holds) {
    const u32 lanes = __ballot_sync(FULL, holds);
    if (lanes && (threadIdx.x & 31) == 0) add_count(counts[what], __popc(lanes));
}

// Compares one triangle per lane with `has`. Call with a warp.
template <typename T>
__device__ __noinline__ void compare_triangle(bool has, Corners<T> p0, Corners<T> p1, bool same, i32 triangle,
    double dx, double dy, u32 ties, u64* counts, u32* sum) {
    i32 s0[3] = {0, 0, 0}, s1[3] = {0, 0, 0};
    u32 k0 = OUT, k1 = OUT;
    if (has) {
        signs(p0, s0);
        signs(p1, s1);
        k0 = kind(p0, s0);
        k1 = kind(p1, s1);
    }
    const bool in0 = k0 == IN, in1 = k1 == IN, tie0 = k0 == TIE, tie1 = k1 == TIE;
    count_lanes(counts, COUNT_TIES, tie0);
    count_lanes(counts, COUNT_NEW_TIES, !tie0 && tie1);
    count_lanes(counts, COUNT_CHANGED_TIES, tie0 && !keeps_tie(p0, p1, s0, s1, ties));
    if (!__any_sync(FULL, in0 || in1)) return;
    count_lanes(counts, COUNT_POINTS, in0);
    count_lanes(counts, COUNT_OTHER_POINTS, in1);
    count_lanes(counts, COUNT_LOST, in0 && !in1);
    count_lanes(counts, COUNT_NEW, !in0 && in1);
    const i32 type0 = point_type(in0, p0, s0[0], triangle, dx, dy, sum);
    for (i32 type = 0; type < POINT_TYPES; type++)
        count_lanes(counts, COUNT_BY_TYPE + type, in0 && type0 == type);
    const bool both = in0 && in1 && !same;
    if (!__any_sync(FULL, both)) return;
    const i32 type1 = point_type(both, p1, s1[0], triangle, dx, dy, sum);
    count_lanes(counts, COUNT_CHANGED_TYPES, both && type0 != type1);
}

// Compares the cells of row y.
template <typename T>
__device__ __forceinline__ void compare_cells(
    const Analysis& job, const Flags<T>& low, const Flags<T>& high, u64 x, u64 y, u64* counts, u32* sum) {
    constexpr i32 W = WIDTH<T>;
    u32 open = 0, same = 0, land = 0;  // bit 2 * k + triangle
#pragma unroll
    for (i32 k = 0; k < W; k++) {
        const u32 diagonal = low.at[k] & high.at[k + 1];
#pragma unroll
        for (i32 triangle = LOWER; triangle <= UPPER; triangle++) {
            const u32 all = diagonal & (triangle == LOWER ? low.at[k + 1] : high.at[k]),
                      bit = 1u << (2 * k + triangle);
            // If a component has one sign in both fields, or the values are equal, the triangle has not
            // changed.
            const bool said = (all & FIRST_SIDES) && (all & (SAME_BITS | OTHER_SIDES));
            if ((all & PRESENT) && !said) open |= bit;
            if (all & SAME_BITS) same |= bit;
            if (all & ZERO) land |= bit;
        }
    }
    if (!__any_sync(FULL, open != 0)) return;
    // Zero at all corners and unchanged: a tie that stays.
    const u32 ties = count_bits<2 * W>(open & same & land);
    if (ties && (threadIdx.x & 31) == 0) add_count(counts[COUNT_TIES], ties);
    open &= ~(same & land);
    for (; __any_sync(FULL, open != 0); open &= open - 1) {
        const bool has = open != 0;
        const i32 bit = has ? __ffs((i32)open) - 1 : 0, triangle = bit & 1;
        Corners<T> p0 = {}, p1 = {};
        if (has) {
            p0 = corners_of<T>(job.fields[0], x + (bit >> 1), y, triangle);
            p1 = corners_of<T>(job.fields[1], x + (bit >> 1), y, triangle);
        }
        compare_triangle<T>(has, p0, p1, same >> bit & 1, triangle, job.dx, job.dy, job.ties, counts, sum);
    }
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

// Grid: any. Block: 256 threads; a warp takes 32 * WIDTH columns of a band of 32 rows. Reads both fields;
// adds to counts, writes parts. Squared errors are summed in a fixed order: rows of a band, neighbouring
// columns, bands. Counts need no order.
template <typename T>
__device__ __forceinline__ void compare(const Analysis& job) {
    constexpr i32 W = WIDTH<T>;
    __shared__ u64 counts[COUNTS];
    __shared__ u32 sums[ANALYSIS_WARPS][EXACT_WORDS];
    __shared__ double parts[ANALYSIS_WARPS][PART];
    const i32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    for (i32 k = threadIdx.x; k < COUNTS; k += blockDim.x) counts[k] = 0;
    __syncthreads();
    bool wide[4];
#pragma unroll
    for (i32 f = 0; f < 2; f++) {
        wide[2 * f] = is_wide<T>(job.fields[f].u);
        wide[2 * f + 1] = is_wide<T>(job.fields[f].v);
    }
    constexpr u64 STRIP = 32 * W, CHUNK = ANALYSIS_WARPS * STRIP;
    const u64 chunks = (job.nx + CHUNK - 1) / CHUNK, bands = (job.ny + ANALYSIS_ROWS - 1) / ANALYSIS_ROWS;
    const double bound = bound_of(job);
    Seen seen = {0, 0, 0, 0, 0, 0, 0, 0.0};
    for (u64 item = blockIdx.x; item < chunks * bands; item += gridDim.x) {
        const u64 chunk = item % chunks, y0 = item / chunks * ANALYSIS_ROWS;
        const u64 strip = chunk * CHUNK + warp * STRIP, x = strip + lane * W;
        Band<T> band;
        for (i32 k = 0; k < W; k++) band.squares[0][k] = band.squares[1][k] = 0.0;
        band.low = Real<T>::infinity();
        band.high = -band.low;
        if (strip < job.nx) {
            // The row below the band completes its last cells; below the last band it is a ghost row, if
            // there is one.
            const u64 rows = job.ny - y0 < ANALYSIS_ROWS ? job.ny - y0 : ANALYSIS_ROWS;
            const u64 last = rows < job.rows - 1 - y0 ? rows : job.rows - 1 - y0;
            const i32 columns = x >= job.nx ? 0 : job.nx - x < W ? (i32)(job.nx - x) : W;
            Line<T> line = load_line<T>(job, wide, x, y0);
            Flags<T> above;
            for (u64 row = 0; row <= last; row++) {
                Line<T> next = line;
                if (row < last) next = load_line<T>(job, wide, x, y0 + row + 1);
                const Flags<T> flags = flags_of(job, line);
                if (row < rows) see_vertices(line, flags, columns, bound, seen, band);
                if (row > 0) compare_cells(job, above, flags, x, y0 + row - 1, counts, sums[warp]);
                above = flags;
                line = next;
            }
        }
        double part[PART];
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
        if (lane == 0)
            for (i32 k = 0; k < PART; k++) parts[warp][k] = part[k];
        __syncthreads();
        if (warp == 0) {
            for (i32 step = 1; step < ANALYSIS_WARPS; step *= 2) {
                if (lane % (2 * step) == 0 && lane < ANALYSIS_WARPS)
                    join_parts(parts[lane], parts[lane + step]);
                __syncwarp();
            }
            if (lane < PART) job.parts[item * PART + lane] = parts[0][lane];
        }
        __syncthreads();
    }
    const u32 own[] = {seen.zero, seen.changed_zeros, seen.nonfinite, seen.filled, seen.changed_missing,
        seen.exceeded, seen.pairs};
    constexpr i32 VERTEX_PLACES[] = {COUNT_ZERO, COUNT_CHANGED_ZEROS, COUNT_NONFINITE, COUNT_FILLED,
        COUNT_CHANGED_MISSING, COUNT_EXCEEDED, COUNT_PAIRS};
#pragma unroll
    for (i32 k = 0; k < 7; k++)
        if (own[k]) add_count(counts[VERTEX_PLACES[k]], own[k]);
    // Bits of non-negative doubles are ordered like the values.
    if (seen.largest > 0.0) raise_to(counts[COUNT_LARGEST], (u64)__double_as_longlong(seen.largest));
    __syncthreads();
    for (i32 k = threadIdx.x; k < COUNTS; k += blockDim.x) {
        if (!counts[k]) continue;
        if (k == COUNT_LARGEST)
            raise_to(job.counts[k], counts[k]);
        else
            add_count(job.counts[k], counts[k]);
    }
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
__device__ inline double psnr_of(const double part[PART], u64 pairs) {
    const double undefined = __longlong_as_double(0x7ff8000000000000ll), infinite = Real<double>::infinity();
    if (pairs == 0) return undefined;
    const double mean = (part[0] + part[1]) / (double)(2 * pairs), range = part[3] - part[2];
    if (!(mean < infinite) || !(range < infinite)) return undefined;
    if (mean == 0.0) return infinite;
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
    c.violations = counts[COUNT_LOST] + counts[COUNT_NEW] + counts[COUNT_CHANGED_TYPES] +
                   counts[COUNT_CHANGED_TIES] + counts[COUNT_NEW_TIES] + counts[COUNT_CHANGED_MISSING] +
                   counts[COUNT_EXCEEDED];
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
    c.changed_zeros = counts[COUNT_CHANGED_ZEROS];
    c.bound_exceeded = counts[COUNT_EXCEEDED];
    c.bound = bound_of(job);
    c.max_error = __longlong_as_double((long long)counts[COUNT_LARGEST]);
    c.psnr = psnr_of(job.parts, counts[COUNT_PAIRS]);
    for (i32 type = 0; type < POINT_TYPES; type++) c.points_by_type[type] = counts[COUNT_BY_TYPE + type];
    c.status = STATUS_OK;
    *job.comparison = c;
}

}  // namespace analysis
