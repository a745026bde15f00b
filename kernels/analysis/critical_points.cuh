// Lists the critical points of a field. Twin of src/analysis/critical_points.rs.
#pragma once
#include "analysis/compare.cuh"

namespace analysis {

template <typename T>
__device__ __forceinline__ Flags<T> flags_of(const Pair<T>& row) {
    Flags<T> flags;
#pragma unroll
    for (i32 k = 0; k < WIDTH<T>; k++) flags.at[k] = sides(row.u.at[k], row.v.at[k]);
    flags.take_next(sides(row.u.edge, row.v.edge));
    return flags;
}

template <typename T>
__device__ __forceinline__ bool has_filled(const Analysis& job, const Corners<T>& p) {
    return job.has_fill && (is_filled(p.u[0], p.v[0], job.fill) | is_filled(p.u[1], p.v[1], job.fill) |
                               is_filled(p.u[2], p.v[2], job.fill));
}

// Bit 2 * k + triangle: the triangle of cell x + k in row y holds a critical point.
template <typename T>
__device__ __forceinline__ u32 points_between(
    const Analysis& job, const Flags<T>& low, const Flags<T>& high, u64 x, u64 y) {
    u32 open = 0, found = 0;
#pragma unroll
    for (i32 k = 0; k < WIDTH<T>; k++) {
        const u32 diagonal = low.at[k] | high.at[k + 1];
        // Around a critical point u and v take both signs.
        if ((diagonal | low.at[k + 1]) == FIRST_SIDES) open |= 1u << 2 * k;
        if ((diagonal | high.at[k]) == FIRST_SIDES) open |= 2u << 2 * k;
    }
    for (; open; open &= open - 1) {
        const i32 bit = __ffs((i32)open) - 1;
        if (x + (bit >> 1) + 1 >= job.columns) continue;
        const Corners<T> p = corners_of<T>(job.fields[0], x + (bit >> 1), y, bit & 1);
        if (!finite(p) || has_filled(job, p)) continue;
        i32 s[3];
        signs(p, s);
        if (kind(p, s) == IN) found |= 1u << bit;
    }
    return found;
}

// Grid: any. Block: 256 threads; a warp takes a segment (32 * WIDTH columns) of a band of 32 rows of cells.
// Reads the field; writes the number of points of each segment of a row, and adds them up by parts of
// POINT_PART consecutive segments.
template <typename T>
__device__ __forceinline__ void find_points(const Analysis& job) {
    constexpr i32 W = WIDTH<T>;
    constexpr u64 STRIP = 32 * W;
    if (job.columns < 2 || job.rows < 2) return;
    const i32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const bool wide[2] = {is_wide<T>(job.fields[0].u), is_wide<T>(job.fields[0].v)};
    const u64 segments = (job.nx + STRIP - 1) / STRIP, rows = job.rows - 1;
    const u64 groups = (segments + ANALYSIS_WARPS - 1) / ANALYSIS_WARPS;
    const u64 bands = (rows + ANALYSIS_ROWS - 1) / ANALYSIS_ROWS;
    for (u64 item = blockIdx.x; item < groups * bands; item += gridDim.x) {
        const u64 segment = item % groups * ANALYSIS_WARPS + warp, y0 = item / groups * ANALYSIS_ROWS;
        if (segment >= segments) continue;
        const u64 x = segment * STRIP + lane * W, end = y0 + ANALYSIS_ROWS < rows ? y0 + ANALYSIS_ROWS : rows;
        Pair<T> next = load_pair<T>(job.fields[0], wide, job.columns, x, y0 + 1);
        Flags<T> low = flags_of(load_pair<T>(job.fields[0], wide, job.columns, x, y0));
        for (u64 y = y0; y < end; y++) {
            const Pair<T> row = next;
            if (y + 1 < end) next = load_pair<T>(job.fields[0], wide, job.columns, x, y + 2);
            const Flags<T> high = flags_of(row);
            const u32 found = points_between(job, low, high, x, y);
            u32 count = 0;
            if (__any_sync(FULL, found != 0)) count = count_bits<2 * WIDTH<T>>(found);
            if (lane == 0) {
                const u64 at = y * segments + segment;
                job.segments[at] = (u16)count;
                if (count) add_count(job.point_parts[at / POINT_PART], count);
            }
            low = high;
        }
    }
}

// Segments of all rows of cells.
template <typename T>
__device__ __forceinline__ u64 all_segments(const Analysis& job) {
    constexpr u64 STRIP = 32 * WIDTH<T>;
    return job.columns < 2 || job.rows < 2 ? 0 : (job.rows - 1) * ((job.nx + STRIP - 1) / STRIP);
}

// Grid: 1. Block: 1024 threads. Replaces the counts of the parts by their exclusive sums, 4096 at a time;
// writes the total.
template <typename T>
__device__ __forceinline__ void place_points(const Analysis& job) {
    constexpr u32 EACH = 4;
    const u64 parts = (all_segments<T>(job) + POINT_PART - 1) / POINT_PART;
    u64 place = 0;
    for (u64 base = 0; base < parts; base += EACH * blockDim.x) {
        const u64 first = base + EACH * threadIdx.x;
        u64 counts[EACH], sum = 0, all;
#pragma unroll
        for (u32 i = 0; i < EACH; i++) counts[i] = first + i < parts ? job.point_parts[first + i] : 0;
#pragma unroll
        for (u32 i = 0; i < EACH; i++) sum += counts[i];
        u64 at = place + block_exclusive_sum(sum, all);
#pragma unroll
        for (u32 i = 0; i < EACH; i++) {
            if (first + i < parts) job.point_parts[first + i] = at;
            at += counts[i];
        }
        place += all;
    }
    if (threadIdx.x == 0) {
        job.point_parts[parts] = place;
        *job.count = place;
    }
}

// Where in its cell the linear field vanishes. Twin of position.
template <typename T>
__device__ __forceinline__ void position_in_cell(const Corners<T>& p, i32 triangle, double& x, double& y) {
    double u[3], v[3], m[3], largest = 0.0;
#pragma unroll
    for (i32 k = 0; k < 3; k++) largest = fmax(largest, fmax(fabs((double)p.u[k]), fabs((double)p.v[k])));
#pragma unroll
    for (i32 k = 0; k < 3; k++) u[k] = (double)p.u[k] / largest, v[k] = (double)p.v[k] / largest;
    m[0] = fabs(u[1] * v[2] - u[2] * v[1]);
    m[1] = fabs(u[2] * v[0] - u[0] * v[2]);
    m[2] = fabs(u[0] * v[1] - u[1] * v[0]);
    const double sum = m[0] + m[1] + m[2];
    const double w1 = sum > 0.0 ? m[1] / sum : 1.0 / 3.0, w2 = sum > 0.0 ? m[2] / sum : 1.0 / 3.0;
    const double far = fmin(w1 + w2, 1.0);
    x = triangle == LOWER ? far : fmin(w1, far);
    y = triangle == LOWER ? fmin(w2, far) : far;
}

// Grid: any. Block: 256 threads; a warp takes a part. Reads the segments that hold points again and writes
// the points.
template <typename T>
__device__ __forceinline__ void write_points(const Analysis& job) {
    constexpr i32 W = WIDTH<T>;
    constexpr u64 STRIP = 32 * W;
    __shared__ u32 sums[ANALYSIS_WARPS][EXACT_WORDS];
    const i32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const bool wide[2] = {is_wide<T>(job.fields[0].u), is_wide<T>(job.fields[0].v)};
    const u64 segments = (job.nx + STRIP - 1) / STRIP, all = all_segments<T>(job),
              parts = (all + POINT_PART - 1) / POINT_PART;
    for (u64 part = (u64)blockIdx.x * ANALYSIS_WARPS + warp; part < parts;
         part += (u64)gridDim.x * ANALYSIS_WARPS) {
        u64 place = job.point_parts[part];
        const u64 end = job.point_parts[part + 1] < job.capacity ? job.point_parts[part + 1] : job.capacity;
        if (place < end) {
            const u64 first = part * POINT_PART;
            const u32 count = first + lane < all ? job.segments[first + lane] : 0;
            for (u32 open = __ballot_sync(FULL, count != 0); open; open &= open - 1) {
                const i32 segment = __ffs((i32)open) - 1;
                const u64 y = (first + segment) / segments,
                          x = (first + segment - y * segments) * STRIP + lane * W;
                const Flags<T> low = flags_of(load_pair<T>(job.fields[0], wide, job.columns, x, y));
                const Flags<T> high = flags_of(load_pair<T>(job.fields[0], wide, job.columns, x, y + 1));
                u32 found = points_between(job, low, high, x, y);
                u64 at = place + warp_exclusive_sum(__popc(found));
                for (; __any_sync(FULL, found != 0); found &= found - 1) {
                    const bool holds = found != 0;
                    const i32 bit = holds ? __ffs((i32)found) - 1 : 0, k = bit >> 1, triangle = bit & 1;
                    Corners<T> p = {};
                    if (holds) p = corners_of<T>(job.fields[0], x + k, y, triangle);
                    const i32 sign = holds ? sign_det(p.u[0], p.v[0], p.u[1], p.v[1]) : 0;
                    const i32 type = point_type(holds, p, sign, triangle, rule_of(job), sums[warp]);
                    if (!holds) continue;
                    if (at < end) {
                        CriticalPoint point;
                        point.cell_x = x + k;
                        point.cell_y = y;
                        double local_x, local_y;
                        position_in_cell(p, triangle, local_x, local_y);
                        point.x = ((double)(x + k) + local_x) * job.dx;
                        point.y = ((double)y + local_y) * job.dy;
                        point.triangle = triangle;
                        point.point_type = type;
                        job.points[at] = point;
                    }
                    at++;
                }
                place += __shfl_sync(FULL, count, segment);
            }
        }
    }
}

}  // namespace analysis
