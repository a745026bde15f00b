// Twin of the traversals of src/tile/window.rs (line_order, interior_order) for a closed tile that lies
// inside the grid, by half a warp, so that a warp has two tiles and narrow phases fewer idle lanes.
// Levels 16 to 2 are done on the vertices with even coordinates in shared memory (restoring.cuh); the finest
// one, three quarters of the vertices, row by row in registers. A row at a time is as good as a phase at a
// time: vertices two rows apart have no triangle in common, and no prediction reaches so far down.
#pragma once
#include "device/control.cuh"
#include "predict/interpolation.cuh"

constexpr i32 HALF = 16;
constexpr i32 EVEN = HALF + 1;
enum : i32 { TOP, LEFT, BOTTOM, RIGHT, SIDES };

template <typename T>
struct Lattice {
    typename Real<T>::Pair even[EVEN * EVEN];  // vertex (2 i, 2 j) at j * EVEN + i
    typename Real<T>::Pair odd[SIDES][HALF];   // vertices at 2 i + 1 along a side
};

// The value between b and c from the outer differences (inner - outer) on both sides.
template <typename T>
__device__ __forceinline__ T blend(
    T b, T c, T left_inner, T left_outer, T right_inner, T right_outer, T weight) {
    return T(0.5) * (b + c) + weight * ((left_inner - left_outer) + (right_inner - right_outer));
}

// The finest level. A lane has columns 2 lane and 2 lane + 1. value = put(phase, j, active, prediction)
// for the vertex in column lane and row j of its phase, by all lanes; begin(j) and end(j) are called before
// and after those of a turn, of phase 0 in row j + 2 and the others in row j. Where there is no outer
// neighbour, the inner differences take its place, as `between` says it.
template <typename T, typename Begin, typename Put, typename End>
__device__ __forceinline__ void lattice_fine(const Lattice<T>& s, u32 choice, Begin begin, Put put, End end) {
    typedef typename Real<T>::Pair P;
    const i32 lane = threadIdx.x & (HALF - 1);
    const Kernel<T> kernel = kernel_of<T>(choice);
    const bool has_left = lane > 0, has_right = lane < HALF - 1;
    const T weight_x = has_left && has_right ? kernel.middle : kernel.side;
    const i32 left = has_left ? -1 : 0, right = has_right ? 2 : 1;
    auto across = [&](i32 j, P b) -> P {
        const P* e = s.even + j * EVEN + lane;
        const P c = e[1], outer_left = e[left], outer_right = e[right];
        return Real<T>::pair(blend(b.x, c.x, has_left ? b.x : c.x, outer_left.x, has_right ? c.x : b.x,
                                 outer_right.x, weight_x),
            blend(b.y, c.y, has_left ? b.y : c.y, outer_left.y, has_right ? c.y : b.y, outer_right.y,
                weight_x));
    };
    // Rows j - 1, j, j + 1, j + 2 of the even column and of the odd one.
    P e0 = s.even[lane], e1 = e0, e2 = s.even[EVEN + lane], e3;
    P o0 = s.odd[TOP][lane], o1 = o0, o2 = put(0, 1, true, across(1, e2)), o3;
#pragma unroll 1
    for (i32 j = 0; j < HALF; j++) {
        begin(j);
        const bool has_above = j > 0, has_below = j < HALF - 1;
        const T weight_y = has_above && has_below ? kernel.middle : kernel.side;
        e3 = e2;
        o3 = o2;
        if (has_below) {
            e3 = s.even[(j + 2) * EVEN + lane];
            o3 = j + 2 < HALF ? put(0, j + 2, true, across(j + 2, e3)) : s.odd[BOTTOM][lane];
        }
        // The even column's vertex in the odd row; the first one is on the lattice line.
        P here = put(1, j, has_left,
            Real<T>::pair(
                blend(e1.x, e2.x, has_above ? e1.x : e2.x, e0.x, has_below ? e2.x : e1.x, e3.x, weight_y),
                blend(e1.y, e2.y, has_above ? e1.y : e2.y, e0.y, has_below ? e2.y : e1.y, e3.y, weight_y)));
        if (!has_left) here = s.odd[LEFT][j];
        // Its neighbours on the row. At the ends of the half warp the shuffles give the lane's own value,
        // which is what takes the place of the outer neighbour.
        P next =
            Real<T>::pair(__shfl_down_sync(FULL, here.x, 1, HALF), __shfl_down_sync(FULL, here.y, 1, HALF));
        if (!has_right) next = s.odd[RIGHT][j];
        P centre;
        if (kernel.coons) {
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
