// Lists the critical points of a field. Twin of src/analysis/critical_points.rs.
#pragma once
#include "analysis/patches.cuh"
#include "analysis/eigenvalues.cuh"

namespace analysis {

// A row of vertices and the one after its columns; nothing where it is not there.
template <typename T>
__device__ __forceinline__ Pair<T> load_row(
    const Analysis& job, const FieldView& field, bool wide, u64 x, u64 y) {
    return load_pair<T>(job, field, wide, y < job.rows ? job.columns : 0, x, stored_row(job, y), true);
}

template <typename T>
__device__ __forceinline__ Flags<T> flags_of(const Analysis& job, const Pair<T>& row) {
    Flags<T> flags;
#pragma unroll
    for (i32 k = 0; k <= WIDTH<T>; k++) {
        const T u = k < WIDTH<T> ? row.u.at[k] : row.u.edge, v = k < WIDTH<T> ? row.v.at[k] : row.v.edge;
        flags.at[k] = vertex_flags(job, u, v);
    }
    return flags;
}

// Bit SIMPLICES * k + simplex: there is a critical point in the simplex of the base (x + k, y) of plane z.
template <typename T>
__device__ __noinline__ u32 points_of(const Analysis& job, bool wide, u64 x, u64 y, u64 z) {
    static_assert(SIMPLICES * WIDTH<T> <= 32, "bits suffice");
    const FieldView field = plane_of<T>(job.fields[0], z);
    const Flags<T> low = flags_of(job, load_row<T>(job, field, wide, x, y)),
                   high = flags_of(job, load_row<T>(job, field, wide, x, y + 1));
    u32 open = 0, found = 0;
#pragma unroll
    for (i32 k = 0; k < WIDTH<T>; k++) {
        const u32 cell[CORNERS] = {low.at[k], low.at[k + 1], high.at[k], high.at[k + 1]};
        const u32 simplices = open_simplices(cell);
        if (x + k < job.nx) open |= simplices << SIMPLICES * k;
    }
    // Triangles come before the edges of a base, which hold zeros only if a triangle is a tie.
#pragma unroll 1
    for (; open; open &= open - 1) {
        const i32 bit = __ffs((i32)open) - 1, simplex = bit % SIMPLICES;
        const u64 base_x = x + bit / SIMPLICES;
        if (simplex == LOWER || simplex == UPPER) {
            const Corners<T> p = corners_of<T>(job, field, base_x, y, simplex);
            i32 s[3];
            signs(p, s);
            const u32 of_triangle = kind(p, s);
            if (of_triangle == IN) found |= 1u << bit;
            if (of_triangle != TIE) open &= ~(owned_faces(simplex) << (bit - simplex));
        } else if (zeros_at<T, 1>(job, simplex, base_x, y, z).fields) {
            found |= 1u << bit;
        }
    }
    return found;
}

template <typename T>
__device__ __forceinline__ bool all_zero(const Pair<T>& row) {
    bool all = true;
#pragma unroll
    for (i32 k = 0; k < WIDTH<T>; k++) all &= is_zero(row.u.at[k], row.v.at[k]);
    return all;
}

// Sides that all vertices of the lane's columns are on, missing ones aside, or that all are zero.
template <typename T>
__device__ __forceinline__ u32 sides_of(const Pair<T>& row) {
    typedef Real<T> R;
    T low_u = row.u.at[0], high_u = low_u, low_v = row.v.at[0], high_v = low_v;
#pragma unroll
    for (i32 k = 1; k < WIDTH<T>; k++) {
        low_u = R::low(low_u, row.u.at[k]), high_u = R::high(high_u, row.u.at[k]);
        low_v = R::low(low_v, row.v.at[k]), high_v = R::high(high_v, row.v.at[k]);
    }
    const u32 sides = (low_u <= T(0) ? 0 : U_ABOVE) | (high_u >= T(0) ? 0 : U_BELOW) |
                      (low_v <= T(0) ? 0 : V_ABOVE) | (high_v >= T(0) ? 0 : V_BELOW);
    return sides == 0 && all_zero(row) ? ZERO : sides;
}

// Patches of the lane from row y on that the signs do not settle, a bit for each row of bases. Call with a
// warp.
template <typename T>
__device__ __forceinline__ u32 open_patches(
    const Analysis& job, bool wide, u64 x, u64 y, u64 rows, u64 last) {
    const i32 lane = threadIdx.x & 31;
    const u64 edge_x = x + (32 - lane) * WIDTH<T>;
    const u32 edges = edge_sides<T>(job, edge_x, y + lane, (u64)lane <= last),
              last_edge = edge_sides<T>(job, edge_x, y + 32, last == 32);
    u32 open = 0, above = 0;
    Pair<T> next = load_pair<T>(job, job.fields[0], wide, job.columns, x, y);
    for (u64 row = 0; row <= last; row++) {
        const Pair<T> here = next;
        if (row < last)
            next = load_pair<T>(job, job.fields[0], wide, job.columns, x, stored_row(job, y + row + 1));
        u32 sides = sides_of(here);
        const u32 neighbour = __shfl_down_sync(FULL, sides, 1),
                  edge = row < 32 ? __shfl_sync(FULL, edges, (i32)row) : last_edge;
        sides &= lane == 31 ? edge : neighbour;
        if (row > 0 && !(sides & above)) open |= 1u << (row - 1);
        above = sides;
    }
    // The last row of vertices has edges along x at most.
    if (last < rows && !(above & SIDES)) open |= 1u << last;
    return x < job.nx ? open : 0;
}

// Grid: any. Block: 256 threads; a warp takes a segment (32 * WIDTH columns) of a band of 32 rows of bases.
// Reads the field; writes the number of points of each segment of a row, and adds them up by parts of
// POINT_PART consecutive segments.
template <typename T, bool STACK>
__device__ __forceinline__ void find_points(const Analysis& job) {
    constexpr i32 W = WIDTH<T>;
    constexpr u64 STRIP = 32 * W;
    __shared__ u32 counts[ANALYSIS_WARPS][ANALYSIS_ROWS];
    const i32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const bool wide = is_wide<T>(job.fields[0]);
    const u64 segments = (job.nx + STRIP - 1) / STRIP;
    const u64 groups = (segments + ANALYSIS_WARPS - 1) / ANALYSIS_WARPS;
    const u64 bands = all_bands(job);
    for (u64 item = blockIdx.x; item < groups * bands; item += gridDim.x) {
        const u64 segment = item % groups * ANALYSIS_WARPS + warp,
                  first = first_row(job, item / groups, STACK);
        if (segment >= segments) continue;
        const u64 z = STACK ? plane_at(job, first) : 0, y = first - z * job.ny,
                  x = segment * STRIP + lane * W,
                  rows = job.ny - y < ANALYSIS_ROWS ? job.ny - y : ANALYSIS_ROWS,
                  last = rows < job.rows - 1 - y ? rows : job.rows - 1 - y;
        const u32 open = in_plane<T, STACK>(job, first,
            [&](const Analysis& plane, u64) { return open_patches<T>(plane, wide, x, y, rows, last); });
        counts[warp][lane] = 0;
        __syncwarp();
        // Each lane has open rows of its own.
        for (u32 left = open; left; left &= left - 1) {
            const i32 row = __ffs((i32)left) - 1;
            const u32 found = points_of<T>(job, wide, x, y + row, z);
            if (found) atomicAdd(&counts[warp][row], (u32)__popc(found));
        }
        __syncwarp();
        const u32 count = counts[warp][lane];
        if ((u64)lane < rows) {
            const u64 at = (first + lane) * segments + segment;
            job.segments[at] = (u16)count;
            if (count) add_count(job.point_parts[at / POINT_PART], count);
        }
    }
}

// Segments of all rows of all planes.
template <typename T>
__device__ __forceinline__ u64 all_segments(const Analysis& job) {
    constexpr u64 STRIP = 32 * WIDTH<T>;
    return job.ny * job.nz * ((job.nx + STRIP - 1) / STRIP);
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
    // Corner 0 is the base. Offsets along an axis are 0 or 1.
    auto along = [&](i32 first, i32 second) { return first && second ? far : fmin(first ? w1 : w2, far); };
    x = along(corner_x(triangle, 1), corner_x(triangle, 2));
    y = along(corner_y(triangle, 1), corner_y(triangle, 2));
}

// Writes a point of plane z per lane with `holds`, if there is room. Call with a warp.
template <typename T>
__device__ __forceinline__ void write_point(
    const Analysis& job, bool holds, i32 simplex, u64 x, u64 y, u64 z, u64 at, u64 end, u32* sum) {
    const bool inside = holds && simplex <= UPPER;
    Corners<T> p = {};
    if (inside) p = corners_of<T>(job, plane_of<T>(job.fields[0], z), x, y, simplex);
    const i32 orientation = inside ? sign_det(p.u[0], p.v[0], p.u[1], p.v[1]) : 0;
    const i32 type = point_type(inside, p, orientation, simplex, rule_of(job), sum);
    if (!holds || at >= end) return;
    CriticalPoint point;
    point.cell_x = x;
    point.cell_y = y;
    point.cell_z = z;
    point.simplex = simplex;
    double local_x, local_y;
    if (inside) {
        position_in_cell(p, simplex, local_x, local_y);
        point.point_type = type;
        point.index = type == SADDLE ? -1 : 1;
        write_eigenvalues(p, simplex, type, job.dx, job.dy, point);
    } else {
        position_of_zero<T>(job, simplex, x, y, z, local_x, local_y);
        point.point_type = simplex == VERTEX ? VERTEX_ZERO : EDGE_ZERO;
        point.index = zeros_at<T, 1>(job, simplex, x, y, z).index[0];
        point.rounding_divergence = 0;
        point.eigenvalues_real[0] = point.eigenvalues_real[1] = unknown();
        point.eigenvalues_imaginary[0] = point.eigenvalues_imaginary[1] = unknown();
    }
    point.x = ((double)x + local_x) * job.dx;
    point.y = ((double)y + local_y) * job.dy;
    job.points[at] = point;
}

// Grid: any. Block: 256 threads; a warp takes a part. Reads the segments that hold points again and writes
// the points.
template <typename T>
__device__ __forceinline__ void write_points(const Analysis& job) {
    constexpr i32 W = WIDTH<T>;
    constexpr u64 STRIP = 32 * W;
    __shared__ u32 sums[ANALYSIS_WARPS][EXACT_WORDS];
    const i32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const bool wide = is_wide<T>(job.fields[0]);
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
                const u64 row = (first + segment) / segments, z = plane_at(job, row), y = row - z * job.ny,
                          x = (first + segment - row * segments) * STRIP + lane * W;
                u32 found = points_of<T>(job, wide, x, y, z);
                u64 at = place + warp_exclusive_sum(__popc(found));
                for (; __any_sync(FULL, found != 0); found &= found - 1) {
                    const bool holds = found != 0;
                    const i32 bit = holds ? __ffs((i32)found) - 1 : 0;
                    write_point<T>(
                        job, holds, bit % SIMPLICES, x + bit / SIMPLICES, y, z, at, end, sums[warp]);
                    at += holds;
                }
                place += __shfl_sync(FULL, count, segment);
            }
        }
    }
}

}  // namespace analysis
