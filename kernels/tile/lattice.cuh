// A closed tile inside the grid by half a warp (two tiles a warp leave fewer lanes idle in narrow phases):
// its sides and all levels but the finest, in shared memory. Predictions select no values, and addresses
// advance by constant steps. Twin of src/tile/traversal.rs.
// tile/finest_level.cuh has the finest level, tile/traversal.cuh tiles of any shape.
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

// Visits the vertices of the sides from coarse to fine: value = visit(side, level, number, prediction, value
// so far). Vertex i of the n vertices of a level has the number n + i.
template <typename T, typename Visit>
__device__ __forceinline__ void lattice_sides(Lattice<T>& s, const u32* interpolants, Visit visit) {
    typedef typename Real<T>::Pair P;
    const i32 lane = threadIdx.x & (HALF - 1);
    {
        // Four lanes per side.
        const i32 side = lane / SIDES;
        const bool vertical = side & 1, far = side & 2;
        const i32 distance = vertical ? EVEN : 1;
        P* const line = s.even + (far ? (vertical ? HALF : HALF * EVEN) : 0);
#pragma unroll 1
        for (i32 level = ANCHOR_LEVEL - 1; level > 0; level--) {
            const i32 n = HALF >> level, between = distance << level, half = distance << (level - 1);
            const Interpolant<T> interpolant = interpolant_of<T>(interpolants[level]);
#pragma unroll 1
            for (i32 i = lane % SIDES; i < n; i += SIDES) {
                const bool has_a = i > 0, has_d = i < n - 1;
                P* const before = line + i * between;
                const P prediction = predict<T>(outer_of<T>(interpolant, has_a, has_d),
                    before[outer_left(has_a, has_d) * between], before[0], before[between],
                    before[outer_right(has_a, has_d) * between]);
                before[half] = visit(side, level, n + i, prediction, before[half]);
            }
            __syncwarp();
        }
    }
    const bool has_a = lane > 0, has_d = lane < HALF - 1;
    const Outer<T> outer = outer_of<T>(interpolant_of<T>(interpolants[0]), has_a, has_d);
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

// Prediction in the middle of four coarser vertices `step` away. has_left to has_below: there is a coarser
// vertex beyond them on that side.
template <typename T>
__device__ __forceinline__ typename Real<T>::Pair predict_centre(const typename Real<T>::Pair* here, i32 step,
    const Interpolant<T>& interpolant, bool has_left, bool has_right, bool has_above, bool has_below) {
    typedef typename Real<T>::Pair P;
    const i32 down = step * EVEN;
    const P *const above = here - down, *const below = here + down;
    const P l = here[-step], r = here[step], t = *above, b = *below;
    if (interpolant.coons)
        return coons<T>(l, r, t, b, sum<T>(above[-step], above[step]), sum<T>(below[-step], below[step]));
    const P x = predict<T>(outer_of<T>(interpolant, has_left, has_right),
        here[(2 * outer_left(has_left, has_right) - 1) * step], l, r,
        here[(2 * outer_right(has_left, has_right) - 1) * step]);
    const P y = predict<T>(outer_of<T>(interpolant, has_above, has_below),
        here[(2 * outer_left(has_above, has_below) - 1) * down], t, b,
        here[(2 * outer_right(has_above, has_below) - 1) * down]);
    return mean<T>(x, y);
}

// Visits the inner vertices with even coordinates: value = visit(level, position, prediction, value so far).
template <typename T, typename Visit>
__device__ __forceinline__ void lattice_even(Lattice<T>& s, const u32* interpolants, Visit visit) {
    typedef typename Real<T>::Pair P;
    const i32 lane = threadIdx.x & (HALF - 1);
#pragma unroll 1
    for (i32 level = ANCHOR_LEVEL - 1; level > 0; level--) {
        const i32 bits = 4 - level, step = 1 << (level - 1), n = 1 << bits, count = n * n, i = lane & (n - 1);
        const bool has_a = i > 0, has_d = i < n - 1;
        const Interpolant<T> interpolant = interpolant_of<T>(interpolants[level]);
        const Outer<T> outer = outer_of<T>(interpolant, has_a, has_d);
        const i32 left = outer_left(has_a, has_d), right = outer_right(has_a, has_d);
        // Half of the lanes take the vertices on rows, the other half those on columns: both depend on
        // coarser vertices only. Those of level 4 lie on lattice lines. `along` is the step between vertices
        // of a line, `across` that between lines.
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
                const P prediction =
                    predict_centre<T>(here, step, interpolant, has_a, has_d, k > 0, k < n - 1);
                *here = visit(level, position, prediction, *here);
                here += 2 * rows * down;
                position += HALF;
            }
            __syncwarp();
        }
    }
}
