// The type of a critical point of a volume, certified in interval arithmetic. Twin of
// src/topology/tetrahedron_type.rs.
#pragma once
#include "grid/tetrahedra.cuh"
#include "grid/volume_field.cuh"
#include "topology/interval.cuh"

// The vectors at the corners of a tetrahedron.
template <typename T>
struct Tetrahedron {
    Vector<T> at[TETRAHEDRON_CORNERS];
};

// The Jacobian's entries by component and axis, times one positive factor, while vertices move by `moved`.
// False where that is out of the range of doubles.
template <typename T>
__device__ __forceinline__ bool jacobian(const Tetrahedron<T>& p, u32 tetrahedron, const double (&spacing)[3],
    double moved, Interval (&entries)[3][3]) {
    double least = Real<double>::infinity(), largest = 0.0;
#pragma unroll
    for (i32 axis = 0; axis < 3; axis++) least = fabs(spacing[axis]) < least ? fabs(spacing[axis]) : least;
#pragma unroll
    for (i32 axis = 0; axis < 3; axis++) {
        // At most 1: exact for equal spacings, otherwise rounded.
        const double factor = least / spacing[axis];
        const Interval rounded =
            fabs(factor) == 1.0 ? Interval::exact(factor) : Interval::around(factor, 0.0);
        const bool first = step_axis(tetrahedron, 0) == (u32)axis,
                   second = step_axis(tetrahedron, 1) == (u32)axis;
#pragma unroll
        for (i32 c = 0; c < 3; c++) {
            const T from = first    ? p.at[0].at[c]
                           : second ? p.at[1].at[c]
                                    : p.at[2].at[c],
                    to = first    ? p.at[1].at[c]
                         : second ? p.at[2].at[c]
                                  : p.at[3].at[c];
            entries[c][axis] = Interval::around((double)to - (double)from, 2.0 * moved) * rounded;
            const double size = fabs(entries[c][axis].middle);
            largest = size > largest ? size : largest;
        }
    }
    if (!(largest >= 1e-280 && largest < 1e300)) return false;
    // A power of two, so that nothing is rounded and powers of entries neither over- nor underflow.
    const i32 exponent = (i32)((u64)__double_as_longlong(largest) >> 52) - 1023;
    const double scale = power_of_two(-exponent);
#pragma unroll
    for (i32 c = 0; c < 3; c++)
#pragma unroll
        for (i32 axis = 0; axis < 3; axis++)
            entries[c][axis] = {
                entries[c][axis].middle * scale, entries[c][axis].radius * scale + INTERVAL_UNDERFLOW};
    return true;
}

// How many eigenvalues of the Jacobian have a negative real part, and 4 more if two are complex. -1 if
// vertices that move by up to `moved` may change it, or arithmetic does not settle it.
template <typename T>
__device__ __noinline__ i32 certified_type(
    Tetrahedron<T> p, u32 tetrahedron, const double (&spacing)[3], double moved) {
    Interval j[3][3];
    if (!jacobian(p, tetrahedron, spacing, moved, j)) return -1;
    auto minor = [&](i32 r, i32 s) { return j[r][r] * j[s][s] - j[r][s] * j[s][r]; };
    auto cofactor = [&](i32 a, i32 b) { return j[1][a] * j[2][b] - j[1][b] * j[2][a]; };
    const Interval trace = j[0][0] + j[1][1] + j[2][2], minors = minor(0, 1) + minor(0, 2) + minor(1, 2),
                   det = j[0][0] * cofactor(1, 2) - j[0][1] * cofactor(0, 2) + j[0][2] * cofactor(0, 1),
                   hurwitz = trace * minors - det;
    const i32 sign = det.sign();
    if (sign == 0) return -1;
    // Mirrored for a negative determinant.
    const i32 of_trace = trace.sign() * sign, of_hurwitz = hurwitz.sign() * sign;
    i32 negative;
    if (of_trace > 0 && of_hurwitz > 0)
        negative = sign > 0 ? 0 : 3;
    else if (of_trace < 0 || of_hurwitz < 0)
        negative = sign > 0 ? 2 : 1;
    else
        return -1;
    // The cubic x^3 + q1 x + q2 of the eigenvalues less their mean.
    const Interval q1 = minors - (trace * trace).times(1.0 / 3.0),
                   q2 = (trace * minors).times(1.0 / 3.0) - (trace * trace * trace).times(2.0 / 27.0) - det;
    const i32 complex = q1.sign() > 0 ? 1 : ((q1 * q1 * q1).times(4.0) + q2.square().times(27.0)).sign();
    return complex == 0 ? -1 : negative + (complex > 0 ? 4 : 0);
}
