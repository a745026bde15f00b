// How far the vertices of a tetrahedron may move without changing its signature. Twin of
// src/topology/tetrahedron_bound.rs, with the same order of operations.
#pragma once
#include "topology/tetrahedron.cuh"

__device__ __forceinline__ double larger(double a, double b) { return b > a ? b : a; }
__device__ __forceinline__ double smaller(double a, double b) { return b < a ? b : a; }

// Who computes a bound: a thread alone, or all lanes of a warp, which have the same arguments and share the
// work. The compiler must not know their number (repair/mend.cuh).
struct OneThread {};
struct WholeWarp {
    u32 lanes;
};

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

// A direction along which the hull of 4 vectors may be apart from the origin, of so many: 3 axes, 3 normals
// of each edge, and the normals of 4 faces. Fewer than 4 vectors have
// only those whose latest vector, `last`, they have.
constexpr u32 NORMALS_OF_EDGES = 3, NORMALS_OF_FACES = NORMALS_OF_EDGES + 18,
              DIRECTIONS = NORMALS_OF_FACES + 4;
template <typename T>
__device__ __forceinline__ Direction direction(const Vector<T>* p, i32 count, u32 k, i32& last) {
    last = 0;
    if (k < NORMALS_OF_EDGES) return {k == 0 ? 1.0 : 0.0, k == 1 ? 1.0 : 0.0, k == 2 ? 1.0 : 0.0};
    const bool of_face = k >= NORMALS_OF_FACES;
    // Edges by their later end, then by the other one; faces by the corner that they do not have.
    const i32 edge = ((i32)k - (i32)NORMALS_OF_EDGES) / 3, missing = (i32)(DIRECTIONS - 1 - k);
    last = of_face ? (missing == 3 ? 2 : 3) : edge < 1 ? 1 : edge < 3 ? 2 : 3;
    if (last >= count) return {0.0, 0.0, 0.0};
    const i32 middle = of_face ? (missing < 2 ? 2 : 1) : edge - last * (last - 1) / 2;
    const Direction e = difference(p[middle], p[last]);
    if (of_face) return cross(difference(p[missing == 0 ? 1 : 0], p[middle]), e);
    const u32 axis = (k - NORMALS_OF_EDGES) % 3;
    return {axis == 0   ? 0.0
            : axis == 1 ? -e.at[2]
                        : e.at[1],
        axis == 0   ? e.at[2]
        : axis == 1 ? 0.0
                    : -e.at[0],
        axis == 0   ? -e.at[1]
        : axis == 1 ? e.at[0]
                    : 0.0};
}
// A lower bound of the distance of the origin from the hull of 1 to 4 vectors, in the maximum norm; not
// positive where the hull may reach it.
template <typename T>
__device__ __noinline__ double distance_of_hull(const Vector<T>* p, i32 count, u32 first, u32 step) {
    double best = 0.0;
    for (u32 k = first; k < DIRECTIONS; k += step) {
        i32 last;
        const Direction n = direction(p, count, k, last);
        if (last < count) best = larger(best, along(n, p, count));
    }
    return best;
}
template <typename T>
__device__ __forceinline__ double distance_of_hull(const OneThread&, const Vector<T>* p, i32 count) {
    return distance_of_hull(p, count, 0, 1);
}
template <typename T>
__device__ __forceinline__ double distance_of_hull(const WholeWarp& warp, const Vector<T>* p, i32 count) {
    double best = distance_of_hull(p, count, threadIdx.x & 31, 32);
    __syncwarp(warp.lanes);
    for (i32 k = 16; k > 0; k /= 2) best = larger(best, __shfl_xor_sync(warp.lanes, best, k));
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
__device__ __forceinline__ T largest(const OneThread&, double most, bool any, Holds holds) {
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
// By a warp: the lanes try all points that the next halvings may come to. Lane 1 has the first one, lanes 2 k
// and 2 k + 1 the points behind that of lane k, below and above it.
template <typename T, typename Holds>
__device__ __forceinline__ T largest(const WholeWarp& warp, double most, bool any, Holds holds) {
    constexpr i32 AT_ONCE = 5;
    static_assert(HALVINGS_OF_INTERVAL % AT_ONCE == 0, "all lanes have a point");
    const u32 lane = max(threadIdx.x & 31, 1u);
    double low = 0.0, high = most;
    bool all = holds(most);
    __syncwarp(warp.lanes);
#pragma unroll 1
    for (i32 k = 0; k < HALVINGS_OF_INTERVAL && !all; k += AT_ONCE) {
        double mine_low = low, mine_high = high;
        for (i32 step = 30 - __clz((i32)lane); step >= 0; step--)
            (lane >> step & 1 ? mine_low : mine_high) = 0.5 * (mine_low + mine_high);
        const bool holds_here = holds(0.5 * (mine_low + mine_high));
        __syncwarp(warp.lanes);
        const u32 holding = __ballot_sync(warp.lanes, holds_here);
        for (u32 point = 1; point < 32; point = 2 * point + (holding >> point & 1)) {
            (holding >> point & 1 ? low : high) = 0.5 * (low + high);
            if (any && round_down<T>(low) > T(0)) return round_down<T>(low);
        }
    }
    return round_down<T>(all ? most : low);
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
template <typename T, typename Team>
__device__ __forceinline__ T tie_bound(const Tetrahedron<T>& p, double eps, bool any, const Team& team) {
    const OtherVectors<T> others(p);
    if (others.count == 0) return Real<T>::MAX;
    // Without a zero vertex some determinant of vectors that move is 0.
    if (others.count == TETRAHEDRON_CORNERS) return T(0);
    return largest<T>(team, LADDER_TOP * eps, any, [&](double moved) { return signs_stay(others, moved); });
}

}  // namespace tetrahedron_bounds

// A bound d such that the signature stays the same when every component of every vertex moves by strictly
// less than d, and vertices that are zero stay where they are. 0: nothing positive can be certified; MAX: the
// tetrahedron constrains nothing. Only bounds below `eps` are refined. If `any`, the bound may be smaller,
// but is 0 only where it is otherwise.
template <typename T, typename Team = OneThread>
__device__ __noinline__ T tetrahedron_bound(const Tetrahedron<T>& p, u32 tetrahedron, const VolumeRule& rule,
    double eps, bool any = false, Team team = Team()) {
    using namespace tetrahedron_bounds;
    const bool all_finite = finite(p.at[0]) && finite(p.at[1]) && finite(p.at[2]) && finite(p.at[3]);
    if (!all_finite) return Real<T>::MAX;
    const T axis = axis_distance(p);
    if (axis > T(0) && (double)axis >= eps) return axis;
    const VolumeSignature signature = volume_signature(p, tetrahedron, rule);
    if (signature.kind == OUT)
        return Real<T>::high(axis, round_down<T>(distance_of_hull(team, p.at, TETRAHEDRON_CORNERS)));
    if (signature.kind == ZEROS) {
        const OtherVectors<T> others(p);
        return others.count == 0 ? Real<T>::MAX
                                 : round_down<T>(distance_of_hull(team, others.at, others.count));
    }
    if (signature.kind == TIE) return tie_bound(p, eps, any, team);
    if (signature.kind != IN) return T(0);
    const double d = face_distance(p);
    if (!rule.types) return round_down<T>(d);
    const i32 type = (i32)(signature.data >> 2);
    return largest<T>(team, smaller(d, LADDER_TOP * eps), any,
        [&](double moved) { return certified_type(p, tetrahedron, rule.spacing, moved) == type; });
}
