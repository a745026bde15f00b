// Half planes of the vectors around a vertex, which show that a move of the vertex changes no signature. Twin
// of src/tile/signs.rs, which has the half planes of the axes alone.
#pragma once
#include "grid/pair.cuh"
#include "grid/tiles.cuh"

// Open half planes that contain a vector, a bit each: those of the axes and of the diagonals; none if the
// vector, which is finite, lies on one of these lines. The sign of a rounded sum is that of the sum.
template <typename T>
__device__ __forceinline__ u32 half_plane_bits(typename Real<T>::Pair p) {
    typedef Real<T> R;
    u32 negative = 0;
    auto add = [&](T x) {
        negative = __funnelshift_l((u32)(R::bits(x) >> (8 * sizeof(T) - 32)), negative, 1);
    };
    add(p.x), add(p.y), add(p.x + p.y), add(p.x - p.y);
    const bool on_line = p.x == T(0) || p.y == T(0) || R::abs(p.x) == R::abs(p.y);
    return on_line ? 0 : (negative ^ 15) * 16 + negative;
}

// True if each triangle around a vertex lies in a half plane that it does not leave when the vertex moves
// from the half planes `own` into `candidate`: no signature can change. planes(x, y): half planes of the
// neighbour at that offset. All are below 256.
template <typename Planes>
__device__ __forceinline__ bool is_one_sided_around(u32 own, u32 candidate, Planes planes) {
    u32 n[AROUND];
#pragma unroll
    for (i32 j = 0; j < AROUND; j++) n[j] = planes(neighbour_x(j), neighbour_y(j));
    // A byte for each neighbour, and for the neighbours after them.
    static_assert(AROUND == 6, "four bytes and two");
    const u32 first = (n[0] | n[1] << 8) | (n[2] | n[3] << 8) << 16, after_first = first >> 8 | n[4] << 24,
              last = n[4] | n[5] << 8, after_last = n[5] | n[0] << 8;
    // One half plane before and after the move: a triangle with two different ones is looked at closely.
    const u32 both = (own & candidate) * 0x01010101, four = first & after_first & both,
              two = (last & after_last & both) | 0x01010000;
    // A byte that is 0 borrows.
    return ((((four - 0x01010101) & ~four) | ((two - 0x01010101) & ~two)) & 0x80808080) == 0;
}
