// The finest level of a closed tile inside the grid: three quarters of its vertices, row by row in registers.
// A row at a time respects the order of the phases: vertices two rows apart share no triangle, and no
// prediction reaches that far down.
// The level exists twice, with the same arithmetic, which keeps sums and differences of rows for reuse:
// finest_level_coded hands out two independent vertices at once, since coding one takes long;
// finest_level_decoded hands out a row when it is complete. Both are written component by component: helpers
// for pairs would cost registers here.
#pragma once
#include "tile/lattice.cuh"

// The vertices of even columns and rows around a lane, from a row on.
template <typename T>
struct EvenRows {
    typedef typename Real<T>::Pair P;
    const bool has_left, has_right;
    const Outer<T> outer;
    const P *at, *outer_a, *outer_d;

    __device__ __forceinline__ EvenRows(const Lattice<T>& s, const Interpolant<T>& interpolant, i32 lane)
        : has_left(lane > 0), has_right(lane < HALF - 1),
          outer(outer_of<T>(interpolant, has_left, has_right)), at(s.even + lane),
          outer_a(at + outer_left(has_left, has_right)), outer_d(at + outer_right(has_left, has_right)) {}
    // Prediction between b and c of the row at `row`; their sum is at hand.
    __device__ __forceinline__ P across(i32 row, P b, P c, P b_and_c) const {
        const P a = outer_a[row], d = outer_d[row];
        return Real<T>::pair(
            predict(outer, a.x, b.x, c.x, d.x, b_and_c.x), predict(outer, a.y, b.y, c.y, d.y, b_and_c.y));
    }
    // Prediction between `here` and `next` of an odd row.
    __device__ __forceinline__ P along_row(P here, P next) const {
        P before =
            Real<T>::pair(__shfl_up_sync(FULL, here.x, 1, HALF), __shfl_up_sync(FULL, here.y, 1, HALF));
        P after =
            Real<T>::pair(__shfl_down_sync(FULL, next.x, 1, HALF), __shfl_down_sync(FULL, next.y, 1, HALF));
        if (!has_left) before = next;
        if (!has_right) after = here;
        return predict<T>(outer, before, here, next, after);
    }
    __device__ __forceinline__ void next_row() { at += EVEN, outer_a += EVEN, outer_d += EVEN; }
};

// For coding. Lane i of a half warp has columns 2 i and 2 i + 1. All lanes call put.first(value) for phase 0
// of row 1, then for each row j put.lines(j, values) for phase 0 of row j + 2, unless there is none, and
// phase 1 of row j, which are independent, and put.centre(j, value) for phase 2 of row j. Values are
// predictions before.
template <typename T, bool COONS, typename Put>
__device__ __forceinline__ void finest_level_coded(
    const Lattice<T>& s, const Interpolant<T>& interpolant, Put& put) {
    typedef typename Real<T>::Pair P;
    typedef Real<T> R;
    const i32 lane = threadIdx.x & (HALF - 1);
    EvenRows<T> even(s, interpolant, lane);
    const P* end = s.odd[even.has_left ? RIGHT : LEFT];
    // Rows j and j + 1 of the even column, their sums with the next even column, and the differences of rows
    // j - 1 and j to the rows below; rows j - 1 to j + 1 of the odd column.
    P e1 = even.at[0], e2 = even.at[EVEN], right = even.at[EVEN + 1];
    P sum1 = sum<T>(e1, even.at[1]), sum2 = sum<T>(e2, right);
    P o1 = s.odd[TOP][lane], o2 = even.across(EVEN, e2, right, sum2);
    put.first(o2);
    P o0 = o2;
    // A missing outer difference is replaced by the inner one.
    P fall1 = difference<T>(e1, e2), fall0 = fall1;
#pragma unroll 1
    for (i32 j = 0; j < HALF; j++) {
        const bool has_above = j > 0, has_below = j < HALF - 1;
        // In the last turn, the last row again.
        const i32 row = has_below ? 2 * EVEN : EVEN;
        const P e3 = even.at[row];
        right = even.at[row + 1];
        const P sum3 = sum<T>(e3, right), fall = difference<T>(e2, e3),
                fall2 = R::pair(has_below ? fall.x : fall1.x, has_below ? fall.y : fall1.y);
        // Even column, odd row; in the first column the vertex belongs to the lattice line.
        const T weight = (u32)(j - 1) < HALF - 2 ? interpolant.middle : interpolant.side;
        P values[2] = {
            even.across(row, e3, right, sum3), R::pair(T(0.5) * (e1.x + e2.x) + weight * (fall2.x - fall0.x),
                                                   T(0.5) * (e1.y + e2.y) + weight * (fall2.y - fall0.y))};
        put.lines(j, values);
        const P o3 = j < HALF - 2 ? values[0] : has_below ? s.odd[BOTTOM][lane] : o1;
        P here = values[1];
        if (!even.has_left) here = end[j];
        // Right neighbour on the row.
        P next = R::pair(__shfl_down_sync(FULL, here.x, 1, HALF), __shfl_down_sync(FULL, here.y, 1, HALF));
        if (!even.has_right) next = end[j];
        P centre = COONS ? coons<T>(here, next, o1, o2, sum1, sum2)
                         : mean<T>(even.along_row(here, next),
                               predict<T>(outer_of<T>(interpolant, has_above, has_below), o0, o1, o2, o3));
        put.centre(j, centre);
        even.next_row();
        e1 = e2, e2 = e3;
        sum1 = sum2, sum2 = sum3;
        fall0 = fall1, fall1 = fall2;
        o0 = o1, o1 = o2, o2 = o3;
    }
}

// For decoding. Lane i of a half warp has columns 2 i and 2 i + 1. All lanes call value = put(phase, j,
// prediction) for column i and row j of a phase, and row(j, a, b, c, d) with the vertices (2 i, 2 j), (2 i +
// 1, 2 j), (2 i, 2 j + 1), (2 i + 1, 2 j + 1).
template <typename T, bool COONS, typename Put, typename Row>
__device__ __forceinline__ void finest_level_decoded(
    const Lattice<T>& s, const Interpolant<T>& interpolant, Put put, Row row) {
    typedef typename Real<T>::Pair P;
    const i32 lane = threadIdx.x & (HALF - 1);
    EvenRows<T> even(s, interpolant, lane);
    const P* end = s.odd[even.has_left ? RIGHT : LEFT];
    // Rows j, j + 1, j + 2 of the even column, their sums with the next even column, and the difference of
    // each to the row below; rows j - 1 to j + 2 of the odd column.
    P e1 = even.at[0], e2 = even.at[EVEN], right = even.at[EVEN + 1];
    P sum1 = sum<T>(e1, even.at[1]), sum2 = sum<T>(e2, right);
    P o1 = s.odd[TOP][lane], o2 = put(0, 1, even.across(EVEN, e2, right, sum2)), o0 = o2;
    // A missing outer difference is replaced by the inner one.
    P fall0 = Real<T>::pair(e1.x - e2.x, e1.y - e2.y), fall1 = fall0;
#pragma unroll 2
    for (i32 j = 0; j < HALF; j++) {
        const bool has_above = j > 0, has_below = j < HALF - 1;
        P e3 = e2, o3 = o1, sum3 = sum2, fall2 = fall1;
        if (has_below) {
            e3 = even.at[2 * EVEN], right = even.at[2 * EVEN + 1];
            sum3 = sum<T>(e3, right);
            fall2 = Real<T>::pair(e2.x - e3.x, e2.y - e3.y);
            o3 = j + 2 < HALF ? put(0, j + 2, even.across(2 * EVEN, e3, right, sum3)) : s.odd[BOTTOM][lane];
        }
        // Even column, odd row; in the first column the vertex belongs to the lattice line.
        const T weight = has_above && has_below ? interpolant.middle : interpolant.side;
        P here = put(1, j,
            Real<T>::pair(T(0.5) * (e1.x + e2.x) + weight * (fall2.x - fall0.x),
                T(0.5) * (e1.y + e2.y) + weight * (fall2.y - fall0.y)));
        if (!even.has_left) here = *end;
        // Right neighbour on the row.
        P next =
            Real<T>::pair(__shfl_down_sync(FULL, here.x, 1, HALF), __shfl_down_sync(FULL, here.y, 1, HALF));
        if (!even.has_right) next = *end;
        P centre = COONS ? coons<T>(here, next, o1, o2, sum1, sum2)
                         : mean<T>(even.along_row(here, next),
                               predict<T>(outer_of<T>(interpolant, has_above, has_below), o0, o1, o2, o3));
        centre = put(2, j, centre);
        row(j, e1, o1, here, centre);
        even.next_row(), end++;
        e1 = e2;
        e2 = e3;
        sum1 = sum2;
        sum2 = sum3;
        fall0 = fall1;
        fall1 = fall2;
        o0 = o1;
        o1 = o2;
        o2 = o3;
    }
}
