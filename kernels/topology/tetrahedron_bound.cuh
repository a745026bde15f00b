// How far the vertices of a tetrahedron may move without changing its signature. Twin of
// src/topology/tetrahedron_bound.rs, with the same order of operations.
#pragma once
#include "topology/tetrahedron.cuh"

__device__ __forceinline__ double larger(double a, double b) { return b > a ? b : a; }
__device__ __forceinline__ double smaller(double a, double b) { return b < a ? b : a; }

namespace tetrahedron_bounds {

// Halvings of the interval in which a bound is sought; more than what underflows in a product or a sum of
// few; covers the roundings of a division and of a sum.
constexpr i32 HALVINGS_OF_INTERVAL = 30;
constexpr double UNDERFLOW = 1e-300, LESS = 1.0 - 16.0 * ROUNDING;

struct Direction {
    double at[3];
};
__device__ __forceinline__ Direction cross(const Direction& a, const Direction& b) {
    return {a.at[1] * b.at[2] - a.at[2] * b.at[1], a.at[2] * b.at[0] - a.at[0] * b.at[2],
        a.at[0] * b.at[1] - a.at[1] * b.at[0]};
}
template <typename T>
__device__ __forceinline__ Direction difference(const Vector<T>& from, const Vector<T>& to) {
    return {(double)to.at[0] - (double)from.at[0], (double)to.at[1] - (double)from.at[1],
        (double)to.at[2] - (double)from.at[2]};
}

// The largest distance, over the axes, of the image's bounding box from 0; not positive where it reaches 0.
template <typename T>
__device__ __forceinline__ T axis_distance(const Tetrahedron<T>& p) {
    typedef Real<T> R;
    T most = -R::infinity();
#pragma unroll
    for (i32 c = 0; c < 3; c++) {
        const T a = p.at[0].at[c], b = p.at[1].at[c], d = p.at[2].at[c], e = p.at[3].at[c],
                low = R::low(R::low(a, b), R::low(d, e)), high = R::high(R::high(a, b), R::high(d, e));
        most = R::high(most, R::high(low, -high));
    }
    return most;
}

// A lower bound of the distance of the hull of vectors from the origin along a direction.
template <typename T>
__device__ __forceinline__ double along(const Direction& n, const Vector<T>* p, i32 count) {
    const double length = fabs(n.at[0]) + fabs(n.at[1]) + fabs(n.at[2]);
    if (!(length >= 1e-250 && length < 1e250)) return 0.0;
    double low = Real<double>::infinity(), high = -low;
    for (i32 k = 0; k < count; k++) {
        const double a = n.at[0] * (double)p[k].at[0], b = n.at[1] * (double)p[k].at[1],
                     c = n.at[2] * (double)p[k].at[2], dot = a + b + c,
                     error = 8.0 * ROUNDING * (fabs(a) + fabs(b) + fabs(c)) + UNDERFLOW;
        if (!(Real<double>::finite(dot) && Real<double>::finite(error))) return 0.0;
        low = smaller(low, dot - error);
        high = larger(high, dot + error);
    }
    const double value = larger(low, -high) / length * LESS;
    return Real<double>::finite(value) ? value : 0.0;
}

// A lower bound of the distance of the origin from the hull of 1 to 4 vectors, in the maximum norm; not
// positive where the hull may reach it.
template <typename T>
__device__ __noinline__ double distance_of_hull(const Vector<T>* p, i32 count) {
    double best = 0.0;
    auto look = [&](const Direction& n) { best = larger(best, along(n, p, count)); };
    for (i32 k = 0; k < 3; k++) look({k == 0 ? 1.0 : 0.0, k == 1 ? 1.0 : 0.0, k == 2 ? 1.0 : 0.0});
    for (i32 j = 1; j < count; j++)
        for (i32 i = 0; i < j; i++) {
            const Direction e = difference(p[i], p[j]);
            look({0.0, e.at[2], -e.at[1]});
            look({-e.at[2], 0.0, e.at[0]});
            look({e.at[1], -e.at[0], 0.0});
            for (i32 k = 0; k < i; k++) look(cross(difference(p[k], p[i]), e));
        }
    return best;
}

// A lower bound of the distance of the origin, which is inside, from the faces.
template <typename T>
__device__ __noinline__ double face_distance(const Tetrahedron<T>& p) {
    double least = Real<double>::infinity();
    for (i32 k = 0; k < TETRAHEDRON_CORNERS; k++)
        if (!is_moderate(p.at[k])) return 0.0;
    for (i32 missing = 0; missing < TETRAHEDRON_CORNERS; missing++) {
        const Vector<T>&x = p.at[missing > 0 ? 0 : 1], &y = p.at[missing > 1 ? 1 : 2],
              &z = p.at[missing > 2 ? 2 : 3];
        const Determinant det = determinant(x, y, z);
        const Direction a = difference(x, y), b = difference(x, z), n = cross(a, b);
        const double a0 = fabs(a.at[0]), a1 = fabs(a.at[1]), a2 = fabs(a.at[2]), b0 = fabs(b.at[0]),
                     b1 = fabs(b.at[1]), b2 = fabs(b.at[2]);
        const double size = a1 * b2 + a2 * b1 + a2 * b0 + a0 * b2 + a0 * b1 + a1 * b0;
        // The differences, the products and their differences are rounded.
        const double length =
            fabs(n.at[0]) + fabs(n.at[1]) + fabs(n.at[2]) + 8.0 * ROUNDING * size + UNDERFLOW;
        const double value = (fabs(det.value) - det.error) / length * LESS;
        least = smaller(least, value > 0.0 && Real<double>::finite(value) ? value : 0.0);
    }
    return least;
}

// The largest number found, up to `most`, with which a condition holds that holds for all smaller ones,
// rounded down. If `any`, the first one found that is not rounded to 0 will do.
template <typename T, typename Holds>
__device__ __forceinline__ T largest(double most, bool any, Holds holds) {
    if (holds(most)) return round_down<T>(most);
    double low = 0.0, high = most;
#pragma unroll 1
    for (i32 k = 0; k < HALVINGS_OF_INTERVAL; k++) {
        const double middle = 0.5 * (low + high);
        if (holds(middle))
            low = middle;
        else
            high = middle;
        if (any && round_down<T>(low) > T(0)) break;
    }
    return round_down<T>(low);
}

// Whether the signs of components, minors and determinants of 1 to 3 vectors are certain while every
// component moves by up to `moved`.
template <typename T>
__device__ __noinline__ bool signs_stay(const OtherVectors<T>& others, double moved) {
    Interval rows[3][3];
    double size = 0.0;
    for (i32 k = 0; k < 3 * others.count; k++) size = larger(size, fabs((double)others.at[k / 3].at[k % 3]));
    if (!(size >= 1e-280 && size < 1e280)) return false;
    for (i32 k = 0; k < 3 * others.count; k++)
        rows[k / 3][k % 3] = Interval::around((double)others.at[k / 3].at[k % 3] / size, moved / size);
    auto minor = [&](i32 i, i32 j, i32 k, i32 l) {
        return rows[i][k] * rows[j][l] - rows[i][l] * rows[j][k];
    };
    for (i32 k = 0; k < 3 * others.count; k++)
        if (rows[k / 3][k % 3].sign() == 0) return false;
    for (i32 j = 0; j < others.count; j++)
        for (i32 i = 0; i < j; i++)
            for (i32 k = 0; k < 3; k++)
                if (minor(i, j, k, (k + 1) % 3).sign() == 0) return false;
    if (others.count < 3) return true;
    auto term = [&](i32 k) { return rows[0][k] * minor(1, 2, (k + 1) % 3, (k + 2) % 3); };
    return (term(0) + term(1) + term(2)).sign() != 0;
}

// The bound of a tetrahedron whose signs all stay. Vertices that are zero do not move.
template <typename T>
__device__ __forceinline__ T tie_bound(const Tetrahedron<T>& p, double eps, bool any) {
    const OtherVectors<T> others(p);
    if (others.count == 0) return Real<T>::MAX;
    // Without a zero vertex some determinant of vectors that move is 0.
    if (others.count == TETRAHEDRON_CORNERS) return T(0);
    return largest<T>(LADDER_TOP * eps, any, [&](double moved) { return signs_stay(others, moved); });
}

}  // namespace tetrahedron_bounds

// A bound d such that the signature stays the same when every component of every vertex moves by strictly
// less than d, and vertices that are zero stay where they are. 0: nothing positive can be certified; MAX: the
// tetrahedron constrains nothing. Only bounds below `eps` are refined. If `any`, the bound may be smaller,
// but is 0 only where it is otherwise.
template <typename T>
__device__ __noinline__ T tetrahedron_bound(
    const Tetrahedron<T>& p, u32 tetrahedron, const VolumeRule& rule, double eps, bool any = false) {
    using namespace tetrahedron_bounds;
    const bool all_finite = finite(p.at[0]) && finite(p.at[1]) && finite(p.at[2]) && finite(p.at[3]);
    if (!all_finite) return Real<T>::MAX;
    const T axis = axis_distance(p);
    if (axis > T(0) && (double)axis >= eps) return axis;
    const VolumeSignature signature = volume_signature(p, tetrahedron, rule);
    if (signature.kind == OUT)
        return Real<T>::high(axis, round_down<T>(distance_of_hull(p.at, TETRAHEDRON_CORNERS)));
    if (signature.kind == ZEROS) {
        const OtherVectors<T> others(p);
        return others.count == 0 ? Real<T>::MAX : round_down<T>(distance_of_hull(others.at, others.count));
    }
    if (signature.kind == TIE) return tie_bound(p, eps, any);
    if (signature.kind != IN) return T(0);
    const double d = face_distance(p);
    if (!rule.types) return round_down<T>(d);
    const i32 type = (i32)(signature.data >> 2);
    return largest<T>(smaller(d, LADDER_TOP * eps), any,
        [&](double moved) { return certified_type(p, tetrahedron, rule.spacing, moved) == type; });
}
