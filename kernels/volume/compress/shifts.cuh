// The bound shift of a vertex by its magnitude. Twin of shifts in src/volume/tune.rs.
#pragma once
#include "grid/element.cuh"

// The bound shift of a vertex with a code: the nearest to the one with which 0.7 bounds are its magnitude.
template <typename T>
__device__ __forceinline__ u32 shift_of_size(double bound, T size) {
    const double ratio = 0.7 * bound / (double)size;
    u32 shift = 0;
    for (double most = 1.4142135623730951; shift < VOLUME_MOST_SHIFT && ratio > most; most *= 2.0) shift++;
    return shift;
}
// The largest magnitude with a bound shift of at least `shift`, which is not 0; -1 if there is none. A
// larger magnitude has no larger shift.
template <typename T>
__device__ __forceinline__ T largest_with_shift(double bound, u32 shift) {
    typedef Real<T> R;
    if (!(bound > 0.0)) return T(-1);
    auto has = [&](T size) { return shift_of_size(bound, size) >= shift; };
    T size = (T)(0.7 * bound / (0.7071067811865476 * power_of_two((i32)shift)));
    if (!R::finite(size)) size = R::MAX;
    while (size > T(0) && !has(size)) size = R::from_bits(R::bits(size) - 1);
    while (size < R::MAX && has(R::from_bits(R::bits(size) + 1))) size = R::from_bits(R::bits(size) + 1);
    return size;
}
