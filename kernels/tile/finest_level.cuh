// The finest level of a closed tile inside the grid: three quarters of its vertices, row by row in registers.
// A row at a time respects the order of the phases: vertices two rows apart share no triangle, and no
// prediction reaches that far down.
// The level exists twice. finest_level_coded keeps few registers, because coding a vertex needs many;
// finest_level_decoded keeps sums and differences of rows for reuse, because decoding a vertex takes few
// instructions. Both are written component by component: helpers for pairs would cost registers here.
#pragma once
#include "tile/lattice.cuh"

// The value between b and c from the outer differences (inner - outer) on both sides.
template <typename T>
__device__ __forceinline__ T blend(
    T b, T c, T left_inner, T left_outer, T right_inner, T right_outer, T weight) {
    return T(0.5) * (b + c) + weight * ((left_inner - left_outer) + (right_inner - right_outer));
}

// For coding. Lane i of a half warp has columns 2 i and 2 i + 1. All lanes call value = put(phase, j, active,
// prediction) for column i and row j of a phase. begin(j) and end(j) enclose a turn: phase 0 of row j + 2,
// phases 1 and 2 of row j. A missing outer neighbour is replaced as in `between`.
template <typename T, typename Begin, typename Put, typename End>
__device__ __forceinline__ void finest_level_coded(
    const Lattice<T>& s, u32 choice, Begin begin, Put put, End end) {
    typedef typename Real<T>::Pair P;
    const i32 lane = threadIdx.x & (HALF - 1);
    const Interpolant<T> interpolant = interpolant_of<T>(choice);
    const bool has_left = lane > 0, has_right = lane < HALF - 1;
    const T weight_x = has_left && has_right ? interpolant.middle : interpolant.side;
    const i32 left = has_left ? -1 : 0, right = has_right ? 2 : 1;
    auto across = [&](i32 j, P b) -> P {
        const P* e = s.even + j * EVEN + lane;
        const P c = e[1], outer_left = e[left], outer_right = e[right];
        return Real<T>::pair(blend(b.x, c.x, has_left ? b.x : c.x, outer_left.x, has_right ? c.x : b.x,
                                 outer_right.x, weight_x),
            blend(b.y, c.y, has_left ? b.y : c.y, outer_left.y, has_right ? c.y : b.y, outer_right.y,
                weight_x));
    };
    // Rows j - 1, j, j + 1, j + 2 of the even column and of the odd column.
    P e0 = s.even[lane], e1 = e0, e2 = s.even[EVEN + lane], e3;
    P o0 = s.odd[TOP][lane], o1 = o0, o2 = put(0, 1, true, across(1, e2)), o3;
#pragma unroll 1
    for (i32 j = 0; j < HALF; j++) {
        begin(j);
        const bool has_above = j > 0, has_below = j < HALF - 1;
        const T weight_y = has_above && has_below ? interpolant.middle : interpolant.side;
        e3 = e2;
        o3 = o2;
        if (has_below) {
            e3 = s.even[(j + 2) * EVEN + lane];
            o3 = j + 2 < HALF ? put(0, j + 2, true, across(j + 2, e3)) : s.odd[BOTTOM][lane];
        }
        // Even column, odd row; in the first column the vertex belongs to the lattice line.
        P here = put(1, j, has_left,
            Real<T>::pair(
                blend(e1.x, e2.x, has_above ? e1.x : e2.x, e0.x, has_below ? e2.x : e1.x, e3.x, weight_y),
                blend(e1.y, e2.y, has_above ? e1.y : e2.y, e0.y, has_below ? e2.y : e1.y, e3.y, weight_y)));
        if (!has_left) here = s.odd[LEFT][j];
        // Neighbours on the row. At the ends of the half warp a shuffle returns the lane's own value, which
        // is the replacement for the missing outer neighbour.
        P next =
            Real<T>::pair(__shfl_down_sync(FULL, here.x, 1, HALF), __shfl_down_sync(FULL, here.y, 1, HALF));
        if (!has_right) next = s.odd[RIGHT][j];
        P centre;
        if (interpolant.coons) {
            const P tr = s.even[j * EVEN + lane + 1], br = s.even[(j + 1) * EVEN + lane + 1];
            centre = Real<T>::pair((T(0.5) * (here.x + next.x) + T(0.5) * (o1.x + o2.x)) -
                                       T(0.25) * ((e1.x + tr.x) + (e2.x + br.x)),
                (T(0.5) * (here.y + next.y) + T(0.5) * (o1.y + o2.y)) -
                    T(0.25) * ((e1.y + tr.y) + (e2.y + br.y)));
        } else {
            const P before =
                Real<T>::pair(__shfl_up_sync(FULL, here.x, 1, HALF), __shfl_up_sync(FULL, here.y, 1, HALF));
            const P after = Real<T>::pair(
                __shfl_down_sync(FULL, next.x, 1, HALF), __shfl_down_sync(FULL, next.y, 1, HALF));
            const T ax = blend(here.x, next.x, has_left ? here.x : next.x, before.x,
                has_right ? next.x : here.x, after.x, weight_x);
            const T ay = blend(here.y, next.y, has_left ? here.y : next.y, before.y,
                has_right ? next.y : here.y, after.y, weight_x);
            const T dx =
                blend(o1.x, o2.x, has_above ? o1.x : o2.x, o0.x, has_below ? o2.x : o1.x, o3.x, weight_y);
            const T dy =
                blend(o1.y, o2.y, has_above ? o1.y : o2.y, o0.y, has_below ? o2.y : o1.y, o3.y, weight_y);
            centre = Real<T>::pair(T(0.5) * (ax + dx), T(0.5) * (ay + dy));
        }
        put(2, j, true, centre);
        end(j);
        e0 = e1;
        e1 = e2;
        e2 = e3;
        o0 = o1;
        o1 = o2;
        o2 = o3;
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
    const bool has_left = lane > 0, has_right = lane < HALF - 1;
    const Outer<T> outer_x = outer_of<T>(interpolant, has_left, has_right);
    const P *even = s.even + lane, *outer_a = even + outer_left(has_left, has_right),
            *outer_d = even + outer_right(has_left, has_right);
    const P* end = s.odd[has_left ? RIGHT : LEFT];
    // Between b and c of even row k; their sum is at hand.
    auto across = [&](i32 k, P b, P c, P b_and_c) -> P {
        const P a = outer_a[k * EVEN], d = outer_d[k * EVEN];
        return Real<T>::pair(
            predict(outer_x, a.x, b.x, c.x, d.x, b_and_c.x), predict(outer_x, a.y, b.y, c.y, d.y, b_and_c.y));
    };
    // Rows j, j + 1, j + 2 of the even column, their sums with the next even column, and the difference of
    // each to the row below; rows j - 1 to j + 2 of the odd column.
    P e1 = even[0], e2 = even[EVEN], right = even[EVEN + 1];
    P sum1 = sum<T>(e1, even[1]), sum2 = sum<T>(e2, right);
    P o1 = s.odd[TOP][lane], o2 = put(0, 1, across(1, e2, right, sum2)), o0 = o2;
    // A missing outer difference is replaced by the inner one.
    P fall0 = Real<T>::pair(e1.x - e2.x, e1.y - e2.y), fall1 = fall0;
#pragma unroll 2
    for (i32 j = 0; j < HALF; j++) {
        const bool has_above = j > 0, has_below = j < HALF - 1;
        P e3 = e2, o3 = o1, sum3 = sum2, fall2 = fall1;
        if (has_below) {
            e3 = even[2 * EVEN], right = even[2 * EVEN + 1];
            sum3 = sum<T>(e3, right);
            fall2 = Real<T>::pair(e2.x - e3.x, e2.y - e3.y);
            o3 = j + 2 < HALF ? put(0, j + 2, across(2, e3, right, sum3)) : s.odd[BOTTOM][lane];
        }
        // Even column, odd row; in the first column the vertex belongs to the lattice line.
        const T weight = has_above && has_below ? interpolant.middle : interpolant.side;
        P here = put(1, j,
            Real<T>::pair(T(0.5) * (e1.x + e2.x) + weight * (fall2.x - fall0.x),
                T(0.5) * (e1.y + e2.y) + weight * (fall2.y - fall0.y)));
        if (!has_left) here = *end;
        // Right neighbour on the row.
        P next =
            Real<T>::pair(__shfl_down_sync(FULL, here.x, 1, HALF), __shfl_down_sync(FULL, here.y, 1, HALF));
        if (!has_right) next = *end;
        P centre;
        if (COONS) {
            centre = coons<T>(here, next, o1, o2, sum1, sum2);
        } else {
            P before =
                Real<T>::pair(__shfl_up_sync(FULL, here.x, 1, HALF), __shfl_up_sync(FULL, here.y, 1, HALF));
            P after = Real<T>::pair(
                __shfl_down_sync(FULL, next.x, 1, HALF), __shfl_down_sync(FULL, next.y, 1, HALF));
            if (!has_left) before = next;
            if (!has_right) after = here;
            centre = mean<T>(predict<T>(outer_x, before, here, next, after),
                predict<T>(outer_of<T>(interpolant, has_above, has_below), o0, o1, o2, o3));
        }
        centre = put(2, j, centre);
        row(j, e1, o1, here, centre);
        even += EVEN, outer_a += EVEN, outer_d += EVEN, end++;
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
