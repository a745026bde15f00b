// The coarse levels of the lattice, and its finest one where a vertex is a few instructions, as when it is
// restored: predictions without selections, addresses that move on, and in the finest level sums and
// differences of rows that are used again. Where a vertex takes many, when it is coded, that of lattice.cuh
// is faster: it keeps less in registers.
#pragma once
#include "tile/traversal_rows.cuh"

// Vertices of the sides, coarse to fine, as value = visit(side, level, number, prediction, what is there):
// vertex i of n of a level has the number n + i.
template <typename T, typename Visit>
__device__ __forceinline__ void restored_sides(Lattice<T>& s, const u32* kernels, Visit visit) {
    typedef typename Real<T>::Pair P;
    const i32 lane = threadIdx.x & (HALF - 1);
    {
        // Four lanes for each side.
        const i32 side = lane / SIDES;
        const bool vertical = side & 1, far = side & 2;
        const i32 distance = vertical ? EVEN : 1;
        P* const line = s.even + (far ? (vertical ? HALF : HALF * EVEN) : 0);
#pragma unroll 1
        for (i32 level = ANCHOR_LEVEL - 1; level > 0; level--) {
            const i32 n = HALF >> level, between = distance << level, half = distance << (level - 1);
            const Kernel<T> kernel = kernel_of<T>(kernels[level]);
#pragma unroll 1
            for (i32 i = lane % SIDES; i < n; i += SIDES) {
                const bool has_a = i > 0, has_d = i < n - 1;
                P* const before = line + i * between;
                const P prediction =
                    predict<T>(outer_of<T>(kernel, has_a, has_d), before[outer_left(has_a, has_d) * between],
                        before[0], before[between], before[outer_right(has_a, has_d) * between]);
                before[half] = visit(side, level, n + i, prediction, before[half]);
            }
            __syncwarp();
        }
    }
    const bool has_a = lane > 0, has_d = lane < HALF - 1;
    const Outer<T> outer = outer_of<T>(kernel_of<T>(kernels[0]), has_a, has_d);
    const i32 left = outer_left(has_a, has_d), right = outer_right(has_a, has_d);
#pragma unroll 1
    for (i32 side = TOP; side < SIDES; side++) {
        const bool vertical = side & 1, far = side & 2;
        const i32 distance = vertical ? EVEN : 1;
        const P* const before = s.even + (far ? (vertical ? HALF : HALF * EVEN) : 0) + lane * distance;
        s.odd[side][lane] = visit(side, 0, HALF + lane,
            predict<T>(outer, before[left * distance], before[0], before[distance], before[right * distance]),
            s.odd[side][lane]);
    }
    __syncwarp();
}

// Vertices inside with even coordinates, as value = visit(level, position, prediction, what is there).
template <typename T, typename Visit>
__device__ __forceinline__ void restored_even(Lattice<T>& s, const u32* kernels, Visit visit) {
    typedef typename Real<T>::Pair P;
    const i32 lane = threadIdx.x & (HALF - 1);
#pragma unroll 1
    for (i32 level = ANCHOR_LEVEL - 1; level > 0; level--) {
        const i32 bits = 4 - level, step = 1 << (level - 1), n = 1 << bits, count = n * n, i = lane & (n - 1);
        const bool has_a = i > 0, has_d = i < n - 1;
        const Kernel<T> kernel = kernel_of<T>(kernels[level]);
        const Outer<T> outer = outer_of<T>(kernel, has_a, has_d);
        const i32 left = outer_left(has_a, has_d), right = outer_right(has_a, has_d);
        // Half of the lanes have the vertices between others of their row, the other half those between
        // others of their column: both look at coarser ones alone. Level 4 has them on lattice lines only.
        // Vertex i of row (or column) k lies `along` from the one before, and `across` from the row before.
        if (level < 4) {
            const bool vertical = lane >= HALF / 2;
            const i32 first = 1 + ((lane & (HALF / 2 - 1)) >> bits), rows = HALF / 2 >> bits;
            const i32 along = (vertical ? EVEN : 1) << level, across = (vertical ? 1 : EVEN) << level,
                      half = (vertical ? EVEN : 1) << (level - 1);
            const i32 next = vertical ? rows : HALF / 2;
            i32 position = vertical ? count * 2 + i * n + first : count + first * n + i;
            P *b = s.even + i * along + first * across, *a = b + left * along, *c = b + along,
              *d = b + right * along;
#pragma unroll 1
            for (i32 k = first; k < n; k += rows) {
                b[half] = visit(level, position, predict<T>(outer, *a, *b, *c, *d), b[half]);
                a += rows * across, b += rows * across, c += rows * across, d += rows * across;
                position += next;
            }
            __syncwarp();
        }
        {
            const i32 first = lane >> bits, rows = HALF >> bits, down = step * EVEN;
            i32 position = count * 3 + lane;
            P* here = s.even + (2 * first + 1) * down + (2 * i + 1) * step;
#pragma unroll 1
            for (i32 k = first; k < n; k += rows) {
                const P *const above = here - down, *const below = here + down;
                const P l = here[-step], r = here[step], t = *above, b = *below;
                P prediction;
                if (kernel.coons) {
                    prediction = coons<T>(l, r, t, b, pair_sum<T>(above[-step], above[step]),
                        pair_sum<T>(below[-step], below[step]));
                } else {
                    const bool has_above = k > 0, has_below = k < n - 1;
                    const P x =
                        predict<T>(outer, here[(2 * left - 1) * step], l, r, here[(2 * right - 1) * step]);
                    const P y = predict<T>(outer_of<T>(kernel, has_above, has_below),
                        here[(2 * outer_left(has_above, has_below) - 1) * down], t, b,
                        here[(2 * outer_right(has_above, has_below) - 1) * down]);
                    prediction = half_sum<T>(x, y);
                }
                *here = visit(level, position, prediction, *here);
                here += 2 * rows * down;
                position += HALF;
            }
            __syncwarp();
        }
    }
}

// The finest level. A lane has columns 2 lane and 2 lane + 1. value = put(phase, j, prediction)
// for the vertex in column lane and row j of its phase, by all lanes, row(j, four values) when two rows are
// done: (2 lane, 2 j), (2 lane + 1, 2 j), (2 lane, 2 j + 1), (2 lane + 1, 2 j + 1).
template <typename T, bool COONS, typename Put, typename Row>
__device__ __forceinline__ void restored_rows(
    const Lattice<T>& s, const Kernel<T>& kernel, Put put, Row row) {
    typedef typename Real<T>::Pair P;
    const i32 lane = threadIdx.x & (HALF - 1);
    const bool has_left = lane > 0, has_right = lane < HALF - 1;
    const Outer<T> outer_x = outer_of<T>(kernel, has_left, has_right);
    const P *even = s.even + lane, *outer_a = even + outer_left(has_left, has_right),
            *outer_d = even + outer_right(has_left, has_right);
    const P* end = s.odd[has_left ? RIGHT : LEFT];
    // Between b and c of even row k, whose sum is there already.
    auto across = [&](i32 k, P b, P c, P b_and_c) -> P {
        const P a = outer_a[k * EVEN], d = outer_d[k * EVEN];
        return Real<T>::pair(
            predict(outer_x, a.x, b.x, c.x, d.x, b_and_c.x), predict(outer_x, a.y, b.y, c.y, d.y, b_and_c.y));
    };
    // Rows j, j + 1, j + 2 of the even column, with their sums with the next even column and the differences
    // of each to the one below; rows j - 1 to j + 2 of the odd column.
    P e1 = even[0], e2 = even[EVEN], right = even[EVEN + 1];
    P sum1 = pair_sum<T>(e1, even[1]), sum2 = pair_sum<T>(e2, right);
    P o1 = s.odd[TOP][lane], o2 = put(0, 1, across(1, e2, right, sum2)), o0 = o2;
    // Where there is no outer neighbour, the inner difference takes the place of the outer one.
    P fall0 = Real<T>::pair(e1.x - e2.x, e1.y - e2.y), fall1 = fall0;
#pragma unroll 2
    for (i32 j = 0; j < HALF; j++) {
        const bool has_above = j > 0, has_below = j < HALF - 1;
        P e3 = e2, o3 = o1, sum3 = sum2, fall2 = fall1;
        if (has_below) {
            e3 = even[2 * EVEN], right = even[2 * EVEN + 1];
            sum3 = pair_sum<T>(e3, right);
            fall2 = Real<T>::pair(e2.x - e3.x, e2.y - e3.y);
            o3 = j + 2 < HALF ? put(0, j + 2, across(2, e3, right, sum3)) : s.odd[BOTTOM][lane];
        }
        // The even column's vertex in the odd row; the first one is on the lattice line.
        const T weight = has_above && has_below ? kernel.middle : kernel.side;
        P here = put(1, j,
            Real<T>::pair(T(0.5) * (e1.x + e2.x) + weight * (fall2.x - fall0.x),
                T(0.5) * (e1.y + e2.y) + weight * (fall2.y - fall0.y)));
        if (!has_left) here = *end;
        // Its neighbour on the row.
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
            centre = half_sum<T>(predict<T>(outer_x, before, here, next, after),
                predict<T>(outer_of<T>(kernel, has_above, has_below), o0, o1, o2, o3));
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
