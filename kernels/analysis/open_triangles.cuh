// Compares exactly the triangles that the signs of a comparison left open, and the isolated zeros at their
// vertices and on their edges, one per lane. Twin of `triangle` and `zeros` in src/analysis/compare.rs.
#pragma once
#include "analysis/compare.cuh"

namespace analysis {

// A simplex and the vertex that it belongs to. Rows count over all planes.
struct Place {
    u64 x, y;
    u32 simplex;
};

// Places that wait until there is one for each lane of a warp.
struct PlaceList {
    u64 x[63], y[63];
    u8 simplex[63];

    // Adds the places of lanes with `has` to the first `number`. Call with a warp.
    __device__ __forceinline__ u32 add(u32 number, bool has, const Place& place) {
        const u32 lanes = __ballot_sync(FULL, has), to = number + lanes_below(lanes);
        if (has) {
            x[to] = place.x;
            y[to] = place.y;
            simplex[to] = (u8)place.simplex;
        }
        __syncwarp();
        return number + (u32)__popc(lanes);
    }

    __device__ __forceinline__ Place at(u32 k) const { return {x[k], y[k], simplex[k]}; }

    __device__ static __forceinline__ u32 lanes_below(u32 lanes) {
        return (u32)__popc(lanes & ((1u << (threadIdx.x & 31)) - 1));
    }
};

// Open triangles of a warp, from the words of 32 lanes for 16 rows each. An entry is the group of rows, the
// lane, and which of its 128 bits.
struct TriangleList {
    static constexpr u32 LANE_BIT = 7, GROUP_BIT = 12, GROUPS = 16;
    u16 at[32 * 128 + 31];
    u64 x[GROUPS], y[GROUPS];

    // Adds the triangles of a group to the first `number`. Call with a warp.
    __device__ __forceinline__ u32 add(u32 number, u32 group, const u32 words[4]) {
        const u32 lane = threadIdx.x & 31;
        u32 own = 0;
#pragma unroll
        for (i32 k = 0; k < 4; k++) own += (u32)__popc(words[k]);
        const u32 end = warp_inclusive_sum(own);
        u32 to = number + end - own;
#pragma unroll
        for (i32 k = 0; k < 4; k++)
            for (u32 word = words[k]; word; word &= word - 1)
                at[to++] =
                    (u16)(group << GROUP_BIT | lane << LANE_BIT | 32 * k | ((u32)__ffs((i32)word) - 1));
        __syncwarp();
        return number + __shfl_sync(FULL, end, 31);
    }

    template <typename T>
    __device__ __forceinline__ Place place(u32 entry) const {
        const u32 group = entry >> GROUP_BIT, lane = entry >> LANE_BIT & 31, bit = entry & 127;
        return {
            x[group] + lane * WIDTH<T> + (bit & 3), y[group] + (bit >> 3), (u32)(bit & 4 ? UPPER : LOWER)};
    }
};

// Memory of a warp that compares triangles.
struct Exact {
    TriangleList triangles;
    PlaceList zeros;
    u32 sums[EXACT_WORDS];
    u64 counts[COUNTS];
};

// Counts the lanes for which a condition holds.
__device__ __forceinline__ void count_lanes(u64* counts, i32 what, bool holds) {
    const u32 lanes = __ballot_sync(FULL, holds);
    if (lanes && (threadIdx.x & 31) == 0) add_count(counts[what], (u64)__popc(lanes));
}

// Compares an isolated zero of both fields per lane with `has`. Call with a warp.
template <typename T>
__device__ __forceinline__ void compare_zero(const Analysis& job, bool has, const Place& place, u64* counts) {
    Zeros<2> zeros = {};
    if (has) {
        const u64 z = plane_at(job, place.y);
        zeros = zeros_at<T, 2>(job, (i32)place.simplex, place.x, place.y - z * job.ny, z);
    }
    if (!__any_sync(FULL, zeros.fields)) return;
    const bool first = zeros.fields & 1, other = zeros.fields & 2, lost = first && !other,
               spurious = other && !first, changed = first && other && zeros.index[0] != zeros.index[1];
    count_lanes(counts, COUNT_POINTS, first);
    count_lanes(counts, COUNT_BY_TYPE + VERTEX_ZERO, first && place.simplex == VERTEX);
    count_lanes(counts, COUNT_BY_TYPE + EDGE_ZERO, first && place.simplex != VERTEX);
    count_lanes(counts, COUNT_OTHER_POINTS, other);
    count_lanes(counts, COUNT_LOST, lost);
    count_lanes(counts, COUNT_LOST_ZEROS, lost);
    count_lanes(counts, COUNT_NEW, spurious);
    count_lanes(counts, COUNT_NEW_ZEROS, spurious);
    count_lanes(counts, COUNT_CHANGED_TYPES, changed);
    count_lanes(counts, COUNT_CHANGED_INDICES, changed);
}

// Compares the zeros of the list that fill the warp, or all. Returns how many are left. Call with a warp.
template <typename T>
__device__ __forceinline__ u32 compare_zeros(
    const Analysis& job, const PlaceList& list, u32 number, bool all, u64* counts) {
    if (number < 32 && !(all && number)) return number;
    const u32 lane = threadIdx.x & 31, taken = min(number, 32u);
    number -= taken;
    compare_zero<T>(job, lane < taken, list.at(number + min(lane, taken - 1)), counts);
    __syncwarp();
    return number;
}

// Notes a set of simplices of the vertex (x, y) of each lane, and compares those that fill the warp. Returns
// how many wait. Call with a warp.
template <typename T>
__device__ __forceinline__ u32 note_zeros(
    const Analysis& job, PlaceList& list, u32 number, u64 x, u64 y, u32 simplices, u64* counts) {
#pragma unroll 1
    for (; __any_sync(FULL, simplices); simplices &= simplices - 1) {
        number = list.add(number, simplices, {x, y, (u32)__ffs((i32)simplices) - 1});
        number = compare_zeros<T>(job, list, number, false, counts);
    }
    return number;
}

// The corners of a triangle in both fields.
template <typename T>
struct CornerPair {
    Corners<T> p[2];
    bool present;  // no corner is missing or beyond the grid
};

template <typename T>
__device__ __forceinline__ CornerPair<T> corner_pair(const Analysis& job, u64 x, u64 row, i32 triangle) {
    const u64 z = plane_at(job, row), y = row - z * job.ny;
    CornerPair<T> pair = {};
    if (x + 1 >= job.columns || y + 1 >= job.rows) return pair;
    pair.present = true;
#pragma unroll
    for (i32 f = 0; f < 2; f++) {
        pair.p[f] = corners_of<T>(job, plane_of<T>(job.fields[f], z), x, y, triangle);
#pragma unroll
        for (i32 k = 0; k < 3; k++)
            pair.present &= Real<T>::finite(pair.p[f].u[k]) & Real<T>::finite(pair.p[f].v[k]);
    }
    pair.present &= !has_filled(job, pair.p[0]);
    return pair;
}

template <typename T>
__device__ __forceinline__ bool same_bits(const Corners<T>& a, const Corners<T>& b) {
    bool same = true;
#pragma unroll
    for (i32 k = 0; k < 3; k++)
        same &= (Real<T>::bits(a.u[k]) == Real<T>::bits(b.u[k])) &
                (Real<T>::bits(a.v[k]) == Real<T>::bits(b.v[k]));
    return same;
}

// Compares a triangle per lane with `has`. Returns its vertex and edges that may hold isolated zeros. Call
// with a warp.
template <typename T>
__device__ __forceinline__ u32 compare_triangle(const Analysis& job, bool has, const Corners<T>& p0,
    const Corners<T>& p1, i32 triangle, u64* counts, u32* sum) {
    i32 s0[3] = {0, 0, 0}, s1[3] = {0, 0, 0};
    u32 k0 = OUT, k1 = OUT, zeros = 0;
    if (has) {
        signs(p0, s0);
        signs(p1, s1);
        k0 = kind(p0, s0);
        k1 = kind(p1, s1);
    }
    const bool in0 = k0 == IN, in1 = k1 == IN, tie0 = k0 == TIE, tie1 = k1 == TIE;
    if (__any_sync(FULL, tie0 || tie1)) {
        if (tie0 || tie1) zeros = candidates(p0, triangle) | candidates(p1, triangle);
        count_lanes(counts, COUNT_TIES, tie0);
        count_lanes(counts, COUNT_NEW_TIES, !tie0 && tie1);
        count_lanes(counts, COUNT_CHANGED_TIES, tie0 && !keeps_tie(p0, p1, s0, s1, job.ties));
    }
    if (!__any_sync(FULL, in0 || in1)) return zeros;
    count_lanes(counts, COUNT_POINTS, in0);
    count_lanes(counts, COUNT_OTHER_POINTS, in1);
    count_lanes(counts, COUNT_LOST, in0 && !in1);
    count_lanes(counts, COUNT_NEW, !in0 && in1);
    const Rule rule = rule_of(job);
    const i32 type0 = point_type(in0, p0, s0[0], triangle, rule, sum);
    for (i32 type = 0; type < INSIDE_TYPES; type++)
        count_lanes(counts, COUNT_BY_TYPE + type, in0 && type0 == type);
    const bool both = in0 && in1 && !same_bits(p0, p1);
    if (__any_sync(FULL, both)) {
        const i32 type1 = point_type(both, p1, s1[0], triangle, rule, sum);
        count_lanes(counts, COUNT_CHANGED_TYPES, both && type0 != type1);
    }
    return zeros;
}

// Compares the last triangles of the list, one per lane. Returns how many zeros wait. Call with a warp.
template <typename T>
__device__ __forceinline__ u32 compare_listed(
    const Analysis& job, Exact& exact, u32 first, u32 taken, u32 zeros_wait) {
    const u32 lane = threadIdx.x & 31;
    const bool has = lane < taken;
    const Place place = exact.triangles.place<T>(exact.triangles.at[first + min(lane, taken - 1)]);
    const i32 triangle = place.simplex == LOWER ? LOWER : UPPER;
    CornerPair<T> pair = {};
    if (has) pair = corner_pair<T>(job, place.x, place.y, triangle);
    u32 zeros = compare_triangle(job, pair.present, pair.p[0], pair.p[1], triangle, exact.counts, exact.sums);
    // Without the triangle, its vertex and edges may still be there.
    if (has && !pair.present) zeros = owned_faces(triangle);
    __syncwarp();
    return note_zeros<T>(job, exact.zeros, zeros_wait, place.x, place.y, zeros, exact.counts);
}

// Grid: any. Block: 128 threads. A warp takes the words of 32 lanes for 16 rows: reads open_triangles and the
// corners of those that are set; adds to counts. Joins the parts of each band.
template <typename T>
__device__ __forceinline__ void compare_triangles(const Analysis& job) {
    constexpr u32 W = WIDTH<T>, WORDS = 4, ROWS = 4 * WORDS, WARPS = 4;
    __shared__ Exact all[WARPS];
    const u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    Exact& exact = all[warp];
    join_strips<T>(job);
    for (i32 k = (i32)lane; k < COUNTS; k += 32) exact.counts[k] = 0;
    __syncwarp();
    const u64 strips = (job.nx + 32 * W - 1) / (32 * W), bands = all_bands(job),
              groups = strips * bands * (ANALYSIS_ROWS / ROWS), step = (u64)gridDim.x * WARPS;
    u32 number = 0, zeros_wait = 0, found = 0, next[WORDS];
    auto load = [&](u64 group) {
#pragma unroll
        for (u32 k = 0; k < WORDS; k++)
            next[k] = group < groups ? job.open_triangles[(group * WORDS + k) * 32 + lane] : 0;
    };
    u64 group = (u64)blockIdx.x * WARPS + warp;
    load(group);
    for (; group < groups; group += step) {
        const u32 words[WORDS] = {next[0], next[1], next[2], next[3]};
        load(group + step);
        const bool any = __any_sync(FULL, words[0] | words[1] | words[2] | words[3]),
                   is_last = group + step >= groups;
        if (!any && !is_last) continue;
        if (any) {
            const u32 slot = found++ % TriangleList::GROUPS;
            if (lane == 0) {
                const u64 strip = group / (ANALYSIS_ROWS / ROWS);
                exact.triangles.x[slot] = strip % strips * (32 * W);
                exact.triangles.y[slot] =
                    first_row(job, strip / strips, job.nz > 1) + group % (ANALYSIS_ROWS / ROWS) * ROWS;
            }
            number = exact.triangles.add(number, slot, words);
        }
        const bool all_of_them = is_last || found % TriangleList::GROUPS == 0;
#pragma unroll 1
        while (number >= 32 || (all_of_them && number)) {
            const u32 taken = min(number, 32u);
            number -= taken;
            zeros_wait = compare_listed<T>(job, exact, number, taken, zeros_wait);
        }
    }
    compare_zeros<T>(job, exact.zeros, zeros_wait, true, exact.counts);
    for (i32 k = (i32)lane; k < COUNTS; k += 32)
        if (exact.counts[k]) add_count(job.counts[k], exact.counts[k]);
}

}  // namespace analysis
