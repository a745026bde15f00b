// The triangles of a row of cells that the signs of two fields do not settle, for all columns of a lane at
// once. Twin of the first half of `cells` in src/analysis/compare.rs.
#pragma once
#include "analysis/rows_ahead.cuh"

namespace analysis {

// Sides of the columns of a lane in one word. Four bits, one for each column, say which vertices have u > 0
// in the first field, the next four u < 0, then v > 0, v < 0, and the same of the other field. A NaN is on
// all sides, for its triangles have no point; infinity and the fill value are left to compare_triangles.
template <typename T>
struct Sides {
    static constexpr u32 EACH = 0x11111111, ALL = ((1u << WIDTH<T>)-1) * EACH, LAST = EACH << (WIDTH<T> - 1);

    __device__ static __forceinline__ u32 of(T value) {
        return (value <= T(0) ? 0 : 1) | (value >= T(0) ? 0 : 16);
    }

    // The sides of the vertices to the right, the last one from the lane to the right.
    __device__ static __forceinline__ u32 shifted(u32 sides, u32 next) {
        return (sides >> 1 & (ALL ^ LAST)) | (next << (WIDTH<T> - 1) & LAST);
    }
};

// Beside the sides of a first column: the vertex is (0, 0) in the first field and the same in the other.
constexpr u32 KEPT_ZERO = 2;

// Sides of the vertex after the last column of a warp, u and v of the first field and of the other, as those
// of a first column.
template <typename T>
__device__ __forceinline__ u32 edge_sides(const T edge[4], bool has_fill) {
    u32 sides = 0;
    bool is_zero = !has_fill;
#pragma unroll
    for (i32 c = 0; c < 4; c++) {
        sides |= Sides<T>::of(edge[c]) << 8 * c;
        is_zero &= Real<T>::bits(edge[c]) == 0;
    }
    return sides | (is_zero ? KEPT_ZERO : 0);
}

// True if a lane has a value that is 0 or NaN.
template <typename T>
__device__ __forceinline__ bool has_zero_or_nan(const Line<T>& line) {
    bool any = false;
#pragma unroll
    for (i32 f = 0; f < 2; f++)
#pragma unroll
        for (i32 k = 0; k < WIDTH<T>; k++)
            any |= !(fabs(line.u[f].at[k]) > T(0)) | !(fabs(line.v[f].at[k]) > T(0));
    return any;
}

__device__ __forceinline__ u32 high_word(float x) { return __float_as_uint(x); }
__device__ __forceinline__ u32 high_word(double x) { return (u32)__double2hiint(x); }

// Of a lane without zeros and NaN, by its sign bits.
template <typename T>
__device__ __forceinline__ u32 signs_to_sides(const Line<T>& line) {
    u32 below = 0;
#pragma unroll
    for (i32 c = 3; c >= 0; c--) {
        const Columns<T>& columns = c % 2 == 0 ? line.u[c / 2] : line.v[c / 2];
        below <<= 4 - WIDTH<T>;
#pragma unroll
        for (i32 k = WIDTH<T> - 1; k >= 0; k--) below = __funnelshift_l(high_word(columns.at[k]), below, 1);
    }
    // A byte for each component.
    below = (below | below << 8) & 0x00ff00ff;
    below = (below | below << 4) & 0x0f0f0f0f;
    return below << 4 | (below ^ (Sides<T>::ALL & 0x0f0f0f0f));
}

// Of any lane.
template <typename T>
__device__ __forceinline__ u32 any_sides(const Line<T>& line) {
    u32 sides = 0;
#pragma unroll
    for (i32 f = 0; f < 2; f++)
#pragma unroll
        for (i32 k = 0; k < WIDTH<T>; k++)
            sides |= Sides<T>::of(line.u[f].at[k]) << (16 * f + k) | Sides<T>::of(line.v[f].at[k])
                                                                         << (16 * f + 8 + k);
    return sides;
}

// Vertices with the same bits in both fields, a bit for each column.
template <typename T>
__device__ __forceinline__ u32 same_vertices(const Line<T>& line) {
    typedef Real<T> R;
    u32 same = 0;
#pragma unroll
    for (i32 k = 0; k < WIDTH<T>; k++)
        same |= (u32)((R::bits(line.u[0].at[k]) == R::bits(line.u[1].at[k])) &
                      (R::bits(line.v[0].at[k]) == R::bits(line.v[1].at[k])))
                << k;
    return same;
}

// Vertices with the fill value in the first field.
template <typename T>
__device__ __forceinline__ u32 filled_vertices(const Analysis& job, const Line<T>& line) {
    u32 filled = 0;
#pragma unroll
    for (i32 k = 0; k < WIDTH<T>; k++)
        filled |= (u32)is_filled(line.u[0].at[k], line.v[0].at[k], job.fill) << k;
    return filled;
}

// Vertices that are (0, 0), on no side: a bit for each column of the first field, and of the other in the
// upper half.
template <typename T>
__device__ __forceinline__ u32 zero_vertices(u32 sides) {
    const u32 components = sides | sides >> 4;
    return ~(components | components >> 8) & (((1u << WIDTH<T>)-1) * 0x10001u);
}

// A row as the triangles above and below it see it.
struct Row {
    u32 sides, right;        // of the columns, and of the vertices to their right
    u32 zeros, zeros_right;  // (0, 0) with the same bits in both fields
    bool is_whole;           // no column of the warp is missing
};

// Beyond the last row: on all sides, so that triangles which would need it are settled.
template <typename T>
__device__ __forceinline__ Row no_row() {
    return {Sides<T>::ALL, Sides<T>::ALL, 0, 0, false};
}

// Vertices that are not missing and are on the same sides in both fields. The edge of a warp may be missing.
template <typename T>
__device__ __forceinline__ u32 same_sides(const Row& row, bool right) {
    u32 differ = right ? row.right : row.sides;
    differ ^= differ >> 16;
    differ |= differ >> 8;
    differ |= differ >> 4;
    const bool has_edge = right && (threadIdx.x & 31) == 31;
    return row.is_whole ? ~differ & ((1u << (WIDTH<T> - has_edge)) - 1) : 0;
}

// Ties that stay for certain: triangles of zeros, and those with two zeros whose third corner is on the same
// sides in both fields. Bits as of open_between.
template <typename T>
__device__ __forceinline__ u32 kept_ties(const Row& low, const Row& high) {
    const u32 zeros[CORNERS] = {low.zeros, low.zeros_right, high.zeros, high.zeros_right};
    if (!(zeros[0] | zeros[1] | zeros[2] | zeros[3])) return 0;
    const u32 same[CORNERS] = {same_sides<T>(low, false), same_sides<T>(low, true),
        same_sides<T>(high, false), same_sides<T>(high, true)};
    auto kept = [&](i32 triangle) {
        const i32 p = corner(triangle, 0), q = corner(triangle, 1), r = corner(triangle, 2);
        return (zeros[p] & zeros[q] & (zeros[r] | same[r])) | (zeros[p] & zeros[r] & same[q]) |
               (zeros[q] & zeros[r] & same[p]);
    };
    return kept(LOWER) | kept(UPPER) << 4;
}

// The triangles between two rows that the signs leave open, the lower ones in four bits, then the upper ones;
// without ties that stay, which are counted.
template <typename T>
__device__ __forceinline__ u32 open_between(const Row& low, const Row& high, u32 bases, u32& ties) {
    const u32 sides[CORNERS] = {low.sides, low.right, high.sides, high.right},
              diagonal = sides[CORNER_A] & sides[CORNER_D], lower = diagonal & sides[apex(LOWER)],
              upper = diagonal & sides[apex(UPPER)];
    // One side suffices, of one component of each field.
    constexpr u32 BYTES = 0x0f0f0f0f;
    u32 settled = ((lower | lower >> 4) & BYTES) | (upper | upper << 4) & ~BYTES;
    settled |= settled >> 8;
    const u32 open = ~(settled & settled >> 16) & (bases | bases << 4), kept = kept_ties<T>(low, high) & open;
    ties += (u32)__popc(kept);
    return open & ~kept;
}

}  // namespace analysis
