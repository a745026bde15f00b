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

// True if each triangle around a vertex lies in a half plane that it does not leave when the vertex moves from
// the half planes `own` into `candidate`: no signature can change. planes(x, y): half planes of the neighbour
// at that offset. All are below 256.
template <typename Planes>
__device__ __forceinline__ bool is_one_sided_around(u32 own, u32 candidate, Planes planes) {
    // Counter-clockwise from (1, 0), a byte each; and the neighbours after them.
    const u32 n0 = planes(1, 0), n1 = planes(1, 1), n2 = planes(0, 1), n3 = planes(-1, 0),
              n4 = planes(-1, -1), n5 = planes(0, -1);
    const u32 first = (n0 | n1 << 8) | (n2 | n3 << 8) << 16, after_first = first >> 8 | n4 << 24,
              last = n4 | n5 << 8, after_last = n5 | n0 << 8;
    // One half plane before and after the move: a triangle with two different ones is looked at closely.
    const u32 both = (own & candidate) * 0x01010101, four = first & after_first & both,
              two = (last & after_last & both) | 0x01010000;
    // A byte that is 0 borrows.
    return ((((four - 0x01010101) & ~four) | ((two - 0x01010101) & ~two)) & 0x80808080) == 0;
}
