// Patches of a comparison: the cells below the columns of a lane, between two rows. The signs settle most of
// them, and most triangles of the others. Twin of `cells` in src/analysis/compare.rs.
#pragma once
#include "analysis/zeros.cuh"

namespace analysis {

// A row of both fields.
template <typename T>
struct Line {
    Columns<T> u[2], v[2];  // [0] first field, [1] the other
};

template <typename T>
__device__ __forceinline__ Line<T> load_line(
    const Analysis& job, const bool wide[4], u64 x, u64 y, bool with_edge) {
    Line<T> line;
    const u64 columns = y < job.rows ? job.columns : 0;
#pragma unroll
    for (i32 f = 0; f < 2; f++) {
        line.u[f] = load_columns<T>(job.fields[f].u, wide[2 * f], columns, x, y, with_edge);
        line.v[f] = load_columns<T>(job.fields[f].v, wide[2 * f + 1], columns, x, y, with_edge);
    }
    return line;
}

// Places of the first row of a walk, for loads of 16 bytes.
template <typename T>
struct Vectors {
    const T *u[2], *v[2];
};

template <typename T>
__device__ __forceinline__ Vectors<T> vectors_of(const Analysis& job, u64 x, u64 y) {
    Vectors<T> places;
#pragma unroll
    for (i32 f = 0; f < 2; f++) {
        const Component &u = job.fields[f].u, &v = job.fields[f].v;
        places.u[f] = static_cast<const T*>(u.values) + y * u.layout.pitch + x;
        places.v[f] = static_cast<const T*>(v.values) + y * v.layout.pitch + x;
    }
    return places;
}

template <typename T>
__device__ __forceinline__ void load_vector(Columns<T>& to, const T* from) {
    struct alignas(16) Vector {
        T at[WIDTH<T>];
    };
    const Vector v = *reinterpret_cast<const Vector*>(from);
#pragma unroll
    for (i32 k = 0; k < WIDTH<T>; k++) to.at[k] = v.at[k];
}

template <typename T>
__device__ __forceinline__ Line<T> load_vectors(const Analysis& job, const Vectors<T>& places, u64 row) {
    Line<T> line;
#pragma unroll
    for (i32 f = 0; f < 2; f++) {
        load_vector(line.u[f], places.u[f] + row * job.fields[f].u.layout.pitch);
        load_vector(line.v[f], places.v[f] + row * job.fields[f].v.layout.pitch);
    }
    return line;
}

// Smallest and largest values of the columns of a lane: u and v of the first field, of the other.
template <typename T>
struct Extremes {
    T low[4], high[4];
};

template <typename T>
__device__ __forceinline__ Extremes<T> extremes_of(const Line<T>& line) {
    Extremes<T> e;
#pragma unroll
    for (i32 c = 0; c < 4; c++) {
        const Columns<T>& columns = c % 2 == 0 ? line.u[c / 2] : line.v[c / 2];
        e.low[c] = e.high[c] = columns.at[0];
#pragma unroll
        for (i32 k = 1; k < WIDTH<T>; k++) {
            e.low[c] = Real<T>::low(e.low[c], columns.at[k]);
            e.high[c] = Real<T>::high(e.high[c], columns.at[k]);
        }
    }
    return e;
}

// Sides that all vertices of a lane are on. Missing ones do not count, as their triangles do not.
template <typename T>
__device__ __forceinline__ u32 sides_of(const Extremes<T>& e) {
    u32 sides = 0;
#pragma unroll
    for (i32 c = 0; c < 4; c++) {
        if (!(e.low[c] <= T(0))) sides |= U_ABOVE << 2 * c;
        if (!(e.high[c] >= T(0))) sides |= U_BELOW << 2 * c;
    }
    return sides;
}

// True if a component of each field has one sign: no triangle has a point or a tie.
__device__ __forceinline__ bool is_settled(u32 sides) {
    return (sides & FIRST_SIDES) && (sides & OTHER_SIDES);
}

// Sides of the vertex (x, y) in both fields. All, if it is not there.
template <typename T>
__device__ __forceinline__ u32 edge_sides(const Analysis& job, u64 x, u64 y, bool has_row) {
    if (!has_row || x >= job.columns) return FIRST_SIDES | OTHER_SIDES;
    u32 both = 0;
#pragma unroll
    for (i32 f = 0; f < 2; f++) {
        const FieldView& field = job.fields[f];
        both |= sides(value_of<T>(field.u, x, y), value_of<T>(field.v, x, y)) << 4 * f;
    }
    return both;
}

// The patches of a block that the signs of their rows do not settle: warp, lane and row. A warp's triangles
// that wait: their patch and bit.
struct Patches {
    static constexpr i32 MOST = ANALYSIS_WARPS * 32 * (i32)ANALYSIS_ROWS;
    static constexpr i32 LANE_BIT = 5, WARP_BIT = 10, TRIANGLE_BITS = 3;
    static constexpr i32 MOST_WAITING = 31 + (32 << TRIANGLE_BITS);
    u16 at[MOST];
    u16 waiting[ANALYSIS_WARPS][MOST_WAITING + 1];
    u32 sums[ANALYSIS_WARPS][EXACT_WORDS];
    // Patches of each thread of a walk whose zeros at vertices and on edges are to be compared, a bit for
    // each row.
    u32 marked[ANALYSIS_WARPS * 32];

    __device__ __forceinline__ void mark(u32 patch) {
        atomicOr(&marked[patch >> LANE_BIT], 1u << (patch & ((1 << LANE_BIT) - 1)));
    }
};
static_assert(ANALYSIS_ROWS == 32 && Patches::MOST << Patches::TRIANGLE_BITS <= 1 << 16, "they fit");

// Lists the patches of a lane whose bits are set. Call with a warp.
__device__ __forceinline__ void list_patches(u32 open, Patches& patches, u32* listed) {
    if (!__any_sync(FULL, open != 0)) return;
    const u32 lane = threadIdx.x & 31, count = __popc(open), end = warp_inclusive_sum(count);
    u32 first = 0;
    if (lane == 31) first = atomicAdd(listed, end);
    u32 to = __shfl_sync(FULL, first, 31) + end - count;
    const u32 own = threadIdx.x << Patches::LANE_BIT;
    for (; open; open &= open - 1) patches.at[to++] = (u16)(own | (u32)(__ffs((i32)open) - 1));
}

template <typename T>
__device__ __forceinline__ u32 compared(const Analysis& job, T u0, T v0, T u1, T v1) {
    typedef Real<T> R;
    u32 flags = sides(u0, v0) | sides(u1, v1) << 4;
    const bool present = R::finite(u0) & R::finite(v0) & R::finite(u1) & R::finite(v1);
    if (present && !(job.has_fill && is_filled(u0, v0, job.fill))) flags |= PRESENT;
    if ((R::bits(u0) == R::bits(u1)) & (R::bits(v0) == R::bits(v1))) flags |= SAME_BITS;
    if ((u0 == T(0)) & (v0 == T(0))) flags |= ZERO;
    return flags;
}

template <typename T>
__device__ __forceinline__ Flags<T> flags_of(const Analysis& job, const Line<T>& line) {
    Flags<T> flags;
#pragma unroll
    for (i32 k = 0; k < WIDTH<T>; k++)
        flags.at[k] = compared(job, line.u[0].at[k], line.v[0].at[k], line.u[1].at[k], line.v[1].at[k]);
    flags.at[WIDTH<T>] = compared(job, line.u[0].edge, line.v[0].edge, line.u[1].edge, line.v[1].edge);
    return flags;
}

// True if vectors may have opposite directions in either field, by the flags of two vertices.
__device__ __forceinline__ bool may_be_opposite(u32 a, u32 b) {
    const u32 turned = (a & 0x55) << 1 | (a & 0xaa) >> 1, differ = turned ^ b;
    return (a & b & PRESENT) &&
           (((a & FIRST_SIDES) && !(differ & FIRST_SIDES)) || ((a & OTHER_SIDES) && !(differ & OTHER_SIDES)));
}

// Vertex and edges of the base of column k that may hold isolated zeros in either field.
template <typename T>
__device__ __forceinline__ u32 may_hold(const Flags<T>& low, const Flags<T>& high, i32 k) {
    const u32 base = low.at[k];
    const bool vertex = (base & PRESENT) && (!(base & FIRST_SIDES) || !(base & OTHER_SIDES));
    return (u32)may_be_opposite(base, low.at[k + 1]) << EDGE_X |
           (u32)may_be_opposite(base, high.at[k]) << EDGE_Y |
           (u32)may_be_opposite(base, high.at[k + 1]) << DIAGONAL | (u32)vertex << VERTEX;
}

// Triangles of a patch, bit 2 * column + triangle: those that need exact signs, and ties that stay.
struct Triangles {
    u32 open, ties;
    bool looks;  // a vertex or an edge of a triangle that is not there may hold a zero
};

template <typename T>
__device__ __forceinline__ Triangles triangles_of(
    const Analysis& job, const Flags<T>& low, const Flags<T>& high, u64 x) {
    u32 open = 0, zero = 0;
    bool looks = false;
#pragma unroll
    for (i32 k = 0; k < WIDTH<T>; k++) {
        const u32 diagonal = low.at[k] & high.at[k + 1];
        u32 gone = 0;
#pragma unroll
        for (i32 triangle = LOWER; triangle <= UPPER; triangle++) {
            const u32 all = diagonal & (triangle == LOWER ? low.at[k + 1] : high.at[k]),
                      bit = 1u << (2 * k + triangle);
            // If a component has one sign in both fields, or the values are equal, the triangle has not
            // changed.
            const bool said = (all & FIRST_SIDES) && (all & (SAME_BITS | OTHER_SIDES));
            if ((all & PRESENT) && !said) open |= bit;
            // Zero at all corners and unchanged: a tie that stays.
            if ((all & SAME_BITS) && (all & ZERO)) zero |= bit;
            if (!(all & PRESENT)) gone |= triangle == LOWER ? OF_LOWER : OF_UPPER;
        }
        if (gone && x + k < job.nx) looks |= (may_hold(low, high, k) & gone) != 0;
    }
    return {open & ~zero, open & zero, looks};
}

// Counts the lanes for which a condition holds.
__device__ __forceinline__ void count_lanes(u64* counts, i32 what, bool holds) {
    const u32 lanes = __ballot_sync(FULL, holds);
    if (lanes && (threadIdx.x & 31) == 0) add_count(counts[what], __popc(lanes));
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

// Compares the isolated zeros of both fields with bases in a patch.
template <typename T>
__device__ __forceinline__ void compare_zeros_of_patch(const Analysis& job, u64 x, u64 y, u64* counts) {
    constexpr bool narrow[4] = {};
    const Flags<T> low = flags_of(job, load_line<T>(job, narrow, x, y, true)),
                   high = flags_of(job, load_line<T>(job, narrow, x, y + 1, true));
    u32 open = 0;
#pragma unroll
    for (i32 k = 0; k < WIDTH<T>; k++)
        if (x + k < job.nx) open |= may_hold(low, high, k) << SIMPLICES * k;
#pragma unroll 1
    for (; open; open &= open - 1) {
        const i32 bit = __ffs((i32)open) - 1, simplex = bit % SIMPLICES;
        const Zeros<2> zeros = zeros_at<T, 2>(job, simplex, x + bit / SIMPLICES, y);
        if (!zeros.fields) continue;
        if (zeros.fields & 1) {
            add_count(counts[COUNT_POINTS], 1);
            add_count(counts[COUNT_BY_TYPE + (simplex == VERTEX ? VERTEX_ZERO : EDGE_ZERO)], 1);
        }
        if (zeros.fields & 2) add_count(counts[COUNT_OTHER_POINTS], 1);
        const bool lost = zeros.fields == 1, spurious = zeros.fields == 2;
        if (!(lost || spurious || zeros.index[0] != zeros.index[1])) continue;
        add_count(counts[lost ? COUNT_LOST : spurious ? COUNT_NEW : COUNT_CHANGED_TYPES], 1);
        add_count(counts[lost ? COUNT_LOST_ZEROS : spurious ? COUNT_NEW_ZEROS : COUNT_CHANGED_INDICES], 1);
    }
}

// Compares those of the marked patches of a thread from (x, y) down, and takes the marks away. Not inlined:
// it is rare, and the registers of the walk are scarce.
template <typename T>
__device__ __noinline__ void compare_zeros(const Analysis& job, u64 x, u64 y, u32* all_marked, u64* counts) {
    u32 marked = all_marked[threadIdx.x];
    all_marked[threadIdx.x] = 0;
#pragma unroll 1
    for (; marked; marked &= marked - 1)
        compare_zeros_of_patch<T>(job, x, y + (u32)(__ffs((i32)marked) - 1), counts);
}

// Compares one triangle per lane with `has`; true for a tie in either field. Call with a warp.
template <typename T>
__device__ __forceinline__ bool compare_triangle(const Analysis& job, bool has, const Corners<T>& p0,
    const Corners<T>& p1, i32 triangle, u64* counts, u32* sum) {
    i32 s0[3] = {0, 0, 0}, s1[3] = {0, 0, 0};
    u32 k0 = OUT, k1 = OUT;
    if (has) {
        signs(p0, s0);
        signs(p1, s1);
        k0 = kind(p0, s0);
        k1 = kind(p1, s1);
    }
    const bool in0 = k0 == IN, in1 = k1 == IN, tie0 = k0 == TIE, tie1 = k1 == TIE;
    if (__any_sync(FULL, tie0 || tie1)) {
        count_lanes(counts, COUNT_TIES, tie0);
        count_lanes(counts, COUNT_NEW_TIES, !tie0 && tie1);
        count_lanes(counts, COUNT_CHANGED_TIES, tie0 && !keeps_tie(p0, p1, s0, s1, job.ties));
    }
    if (!__any_sync(FULL, in0 || in1)) return tie0 || tie1;
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
    return tie0 || tie1;
}

// Compares listed patches. Call with all warps of the block.
template <typename T>
__device__ __forceinline__ void compare_patches(
    const Analysis& job, const bool wide[4], u64 x0, u64 y0, Patches& patches, u32 listed, u64* counts) {
    const u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    u16* const waiting = patches.waiting[warp];
    auto column = [&](u32 patch) { return x0 + (patch >> Patches::LANE_BIT) * WIDTH<T>; };
    auto row = [&](u32 patch) { return y0 + (patch & ((1 << Patches::LANE_BIT) - 1)); };
    u32 waits = 0, ties = 0;
    bool more = warp * 32 < listed;
    for (u32 first = warp * 32; more || waits > 0; first += blockDim.x) {
        if (more) {
            const bool has = first + lane < listed;
            const u32 patch = has ? patches.at[first + lane] : 0;
            u32 open = 0;
            if (has) {
                const u64 x = column(patch), y = row(patch);
                const Triangles triangles =
                    triangles_of(job, flags_of(job, load_line<T>(job, wide, x, y, true)),
                        flags_of(job, load_line<T>(job, wide, x, y + 1, true)), x);
                open = triangles.open;
                ties += __popc(triangles.ties);
                if (triangles.looks) patches.mark(patch);
            }
            const u32 count = __popc(open), end = warp_inclusive_sum(count);
            u32 to = waits + end - count;
            for (; open; open &= open - 1)
                waiting[to++] = (u16)(patch << Patches::TRIANGLE_BITS | (u32)(__ffs((i32)open) - 1));
            waits += __shfl_sync(FULL, end, 31);
            more = first + blockDim.x < listed;
            __syncwarp();
        }
        while (waits >= (more ? 32 : 1)) {
            const u32 taken = min(waits, 32u);
            waits -= taken;
            const bool has = lane < taken;
            const u32 entry = has ? waiting[waits + lane] : 0, patch = entry >> Patches::TRIANGLE_BITS;
            const i32 bit = (i32)(entry & ((1 << Patches::TRIANGLE_BITS) - 1)), triangle = bit & 1;
            Corners<T> p0 = {}, p1 = {};
            if (has) {
                p0 = corners_of<T>(job.fields[0], column(patch) + (bit >> 1), row(patch), triangle);
                p1 = corners_of<T>(job.fields[1], column(patch) + (bit >> 1), row(patch), triangle);
            }
            if (compare_triangle(job, has, p0, p1, triangle, counts, patches.sums[warp])) patches.mark(patch);
        }
        __syncwarp();
    }
    ties = warp_sum(ties);
    if (lane == 0 && ties) add_count(counts[COUNT_TIES], ties);
}

}  // namespace analysis
