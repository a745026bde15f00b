// How far the vertices of a triangle may move without changing its signature. Twin of src/topology/bound.rs.
#pragma once
#include "topology/signature.cuh"

template <typename T>
__device__ __forceinline__ T axis_distance(const Corners<T>& p) {
    typedef Real<T> R;
    T low_u = R::low(R::low(p.u[0], p.u[1]), p.u[2]), high_u = R::high(R::high(p.u[0], p.u[1]), p.u[2]);
    T low_v = R::low(R::low(p.v[0], p.v[1]), p.v[2]), high_v = R::high(R::high(p.v[0], p.v[1]), p.v[2]);
    return R::high(R::high(low_u, -high_u), R::high(low_v, -high_v));
}

// The triangle with each vertex that is (0, 0) moved to one that is not, if there is one: the rest of the
// image.
template <typename T>
__device__ __forceinline__ Corners<T> without_zeros(const Corners<T>& p) {
    Corners<T> rest;
#pragma unroll
    for (i32 k = 0; k < 3; k++) {
        const i32 i = (k + 1) % 3, j = (k + 2) % 3;
        const bool here = !pinned(p, k), next = !pinned(p, i);
        rest.u[k] = here ? p.u[k] : next ? p.u[i] : p.u[j];
        rest.v[k] = here ? p.v[k] : next ? p.v[i] : p.v[j];
    }
    return rest;
}

struct Determinants {
    double m[3];
    double error;
};

template <typename T>
__device__ __forceinline__ Determinants determinants(const Corners<T>& p) {
    double u0 = p.u[0], v0 = p.v[0], u1 = p.u[1], v1 = p.v[1], u2 = p.u[2], v2 = p.v[2];
    double a0 = u1 * v2, b0 = u2 * v1;
    double a1 = u2 * v0, b1 = u0 * v2;
    double a2 = u0 * v1, b2 = u1 * v0;
    double size = ((fabs(a0) + fabs(b0)) + (fabs(a1) + fabs(b1))) + (fabs(a2) + fabs(b2));
    Determinants d;
    d.m[0] = a0 - b0;
    d.m[1] = a1 - b1;
    d.m[2] = a2 - b2;
    d.error = 8.0 * ROUNDING * size + UNDERFLOW_GUARD;
    return d;
}

// Signs of the three determinants. A rounded difference of two doubles is 0 only if the products are equal.
template <typename T>
__device__ __forceinline__ void signs_of(const Determinants& d, const Corners<T>& p, i32 s[3]) {
#pragma unroll
    for (i32 k = 0; k < 3; k++) {
        const i32 i = (k + 1) % 3, j = (k + 2) % 3;
        s[k] = sign(d.m[k]);
        // Products of floats are exact in double.
        if (sizeof(T) == 8 && s[k] == 0) s[k] = sign_det(p.u[i], p.v[i], p.u[j], p.v[j]);
    }
}

// Distance of the origin from the line through an edge, as a quotient; the numerator is negative if the edge
// does not separate the origin from the triangle.
struct Edge {
    double numerator, length;
};
template <typename T>
__device__ __forceinline__ Edge edge_of(const Determinants& d, const Corners<T>& p, i32 k) {
    const i32 i = (k + 1) % 3, j = (k + 2) % 3;
    const double m = d.m[k], c = d.m[i] + d.m[j];
    const double near = fabs(m), far = fabs(c);
    const double numerator = (far < near ? far : near) - d.error;
    const double du = fabs((double)p.u[j] - (double)p.u[i]);
    const double dv = fabs((double)p.v[j] - (double)p.v[i]);
    return {(m > 0.0 && c < 0.0) || (m < 0.0 && c > 0.0) ? numerator : -1.0, du + dv};
}
__device__ __forceinline__ double distance_of(const Edge& edge) {
    return edge.numerator / edge.length * (1.0 - 8.0 * ROUNDING);
}
__device__ __forceinline__ bool is_usable(double distance) {
    return distance > UNDERFLOW_GUARD && distance < Real<double>::infinity();
}

// The largest distance over the three edges. Quotients are compared by cross multiplication; if that decides,
// only the largest is divided, because rounding keeps the order. Otherwise all three are divided.
template <typename T>
__device__ __forceinline__ double edge_distance(const Determinants& d, const Corners<T>& p) {
    Edge best = edge_of(d, p, 0);
    bool decided = true;
#pragma unroll
    for (i32 k = 1; k < 3; k++) {
        const Edge other = edge_of(d, p, k);
        const double a = best.numerator * other.length, b = other.numerator * best.length;
        decided &= (a > b) | (a < b) | !((best.numerator > 0.0) | (other.numerator > 0.0));
        if (a < b) best = other;
    }
    if (decided & !(best.numerator > 0.0)) return 0.0;
    if (decided) {
        const double distance = distance_of(best);
        if (is_usable(distance)) return distance;
    }
    double largest = 0.0;
#pragma unroll 1
    for (i32 k = 0; k < 3; k++) {
        const Edge edge = k == 0 ? edge_of(d, p, 0) : k == 1 ? edge_of(d, p, 1) : edge_of(d, p, 2);
        const double distance = edge.numerator > 0.0 ? distance_of(edge) : 0.0;
        if (distance > largest && is_usable(distance)) largest = distance;
    }
    return largest;
}

// Magnitudes that a candidate bound must not reverse: the determinant of each pair of vertices that can move,
// and the components of vertices that can move.
struct Kept {
    double m[3], size[3];
    bool moves[3];
    double error, component;
};

template <typename T>
__device__ __forceinline__ Kept kept_of(const Determinants& m, const Corners<T>& p, bool components) {
    Kept kept;
    kept.error = m.error;
    kept.component = Real<double>::infinity();
    double size[3];
    bool is_pinned[3];
#pragma unroll
    for (i32 k = 0; k < 3; k++) {
        const double u = fabs((double)p.u[k]), v = fabs((double)p.v[k]);
        size[k] = u + v;
        is_pinned[k] = pinned(p, k);
        if (components && !is_pinned[k]) kept.component = fmin(kept.component, fmin(u, v));
    }
#pragma unroll
    for (i32 k = 0; k < 3; k++) {
        const i32 i = (k + 1) % 3, j = (k + 2) % 3;
        kept.m[k] = fabs(m.m[k]);
        kept.size[k] = size[i] + size[j];
        kept.moves[k] = !is_pinned[i] && !is_pinned[j];
    }
    return kept;
}

__device__ __forceinline__ bool is_kept(const Kept& kept, double d) {
    const double square = 2.0 * (d * d);
    bool all = kept.component >= d;
#pragma unroll
    for (i32 k = 0; k < 3; k++) {
        const double change = (d * kept.size[k] + square) * LADDER_MARGIN + kept.error;
        all &= !kept.moves[k] | (kept.m[k] > change);
    }
    return all;
}

__device__ inline bool type_kept(const Jacobian& j, const Rule& rule, double d) {
    double move_ac = 2.0 * d * fabs(rule.along_x) * LADDER_MARGIN,
           move_bd = 2.0 * d * fabs(rule.along_y) * LADDER_MARGIN;
    double trace, discriminant, trace_error, discriminant_error;
    trace_discriminant(j, trace, discriminant);
    double moved = move_ac + move_bd;
    double product = (fabs(j.b) * move_ac + fabs(j.c) * move_bd) + move_ac * move_bd;
    double change = (2.0 * fabs(j.a - j.d) * moved + moved * moved) + 4.0 * product;
    type_errors(j, move_ac, move_bd, trace_error, discriminant_error);
    return fabs(trace) > moved * LADDER_MARGIN + 4.0 * trace_error &&
           fabs(discriminant) > change * LADDER_MARGIN + 4.0 * discriminant_error;
}

// The candidate bounds in falling order: the first rung of the ladder, then seven eighths more and the rung
// itself of each of the others.
constexpr i32 CANDIDATES = 1 + 8 * RUNGS;
__device__ __forceinline__ double candidate(double eps, i32 number) {
    const i32 step = (number + 7) >> 3, eighths = 8 + (-number & 7);
    return eps * LADDER_TOP * ((double)eighths * power_of_two(-3 - step));
}

// Estimates of bounds in units of the first candidate: where an expression b d + a d^2 reaches c.
__device__ __forceinline__ float estimate(double a, double b, double c, double unit) {
    const float linear = (float)(b * unit), square = (float)(a * (unit * unit)), value = (float)c;
    return 2.0f * value / (linear + sqrtf(linear * linear + 4.0f * square * value));
}
// The estimated number of the largest candidate that keeps the determinants and the type.
__device__ inline i32 estimated_candidate(
    const Kept& kept, const Jacobian& j, const Rule& rule, bool keep_type, double eps) {
    const double unit = eps * LADDER_TOP;
    float least = (float)(kept.component / unit);
#pragma unroll
    for (i32 k = 0; k < 3; k++)
        if (kept.moves[k]) least = fminf(least, estimate(2.0, kept.size[k], kept.m[k] - kept.error, unit));
    if (keep_type) {
        double trace, discriminant;
        trace_discriminant(j, trace, discriminant);
        const double along_x = fabs(rule.along_x), along_y = fabs(rule.along_y), both = along_y + along_x,
                     linear = fabs(j.b) * along_x + fabs(j.c) * along_y;
        least = fminf(least, (float)(fabs(trace) / (2.0 * both * unit)));
        least = fminf(least, estimate(4.0 * both * both + 16.0 * along_y * along_x,
                                 4.0 * fabs(j.a - j.d) * both + 8.0 * linear, fabs(discriminant), unit));
    }
    if (!(least < 1.0f)) return 0;
    // In [2^-step, 2^(1 - step)).
    const i32 step = 127 - (i32)(__float_as_uint(least) >> 23),
              eighths = (i32)(__float_as_uint(least) >> 20 & 7);
    return least > 0.0f && step <= RUNGS ? 8 * step - eighths : CANDIDATES;
}

// The largest candidate that is safe, and so are all below; 0 if none is. Looks around an estimate first.
template <typename T>
__device__ __forceinline__ T ladder(
    const Kept& kept, const Jacobian& j, const Rule& rule, bool keep_type, double eps) {
    i32 low = 0, high = CANDIDATES;
    i32 next = estimated_candidate(kept, j, rule, keep_type, eps), tries = 0;
#pragma unroll 1
    while (low < high) {
        const i32 number = tries < 3 ? max(low, min(next, high - 1)) : (low + high) / 2;
        tries++;
        const double d = candidate(eps, number);
        const bool is_safe = is_kept(kept, d) && (!keep_type || type_kept(j, rule, d));
        if (is_safe)
            high = number, next = number - 1;
        else
            low = number + 1, next = number + 1;
    }
    return high < CANDIDATES ? round_down<T>(candidate(eps, high)) : T(0);
}

// True if the origin lies inside the triangle, i.e. the triangle holds a critical point.
template <typename T>
__device__ __forceinline__ bool is_inside(const Corners<T>& p) {
    if (!finite(p)) return false;
    i32 s[3];
    signs(p, s);
    return kind(p, s) == IN;
}

template <typename T>
struct TriangleBound {
    T vertex_bound;
    bool inside;  // the origin lies inside
};

// Bound of a triangle whose image excludes the origin: the distance of the image, from below.
template <typename T>
__device__ __forceinline__ T image_bound(const Corners<T>& p, const Determinants& d, T axis) {
    const T edge = round_down<T>(edge_distance(d, p));
    return axis > edge ? axis : edge;
}

// Bound of a triangle with the origin inside or on its border: a rung of the ladder.
template <typename T>
__device__ __forceinline__ TriangleBound<T> ladder_bound(
    const Corners<T>& p, i32 triangle, const Rule& rule, double eps) {
    const Determinants d = determinants(p);
    i32 s[3];
    signs_of(d, p, s);
    const u32 k = kind(p, s);
    const bool keep_type = k == IN && rule.keeps_type(s[0]);
    Jacobian j = {};
    if (keep_type) j = jacobian(p, triangle, rule);
    return {ladder<T>(kept_of(d, p, k == TIE), j, rule, keep_type, eps), k == IN};
}

// Bound of a triangle with one zero vertex that keeps the answer of the rule, given the triangle without it,
// an edge: the distance of the edge from the ray above the origin, or its distances if it crosses the ray.
template <typename T>
__device__ __forceinline__ T answer_bound(const Corners<T>& rest, double eps) {
    typedef Real<T> R;
    const T low_u = R::low(R::low(rest.u[0], rest.u[1]), rest.u[2]),
            high_u = R::high(R::high(rest.u[0], rest.u[1]), rest.u[2]),
            high_v = R::high(R::high(rest.v[0], rest.v[1]), rest.v[2]);
    const T beside = R::high(low_u, -high_u), clear = R::high(beside, -high_v);
    if (clear > T(0) && (double)clear >= eps) return clear;
    const Determinants d = determinants(rest);
    const T distance = round_down<T>(edge_distance(d, rest));
    bool passes_above = false;
#pragma unroll
    for (i32 k = 0; k < 3; k++) {
        const T from = rest.u[(k + 1) % 3], to = rest.u[(k + 2) % 3];
        passes_above |= (d.m[k] > 0.0 && to < from) || (d.m[k] < 0.0 && to > from);
    }
    // Never -0.
    if (!passes_above) return clear > distance ? clear : distance;
    return beside < T(0) ? R::low(distance, -beside) : clear > T(0) ? clear : T(0);
}

// Bound of a triangle with vertices that are (0, 0), if the setting is not TIES_ALL: the distance of the rest
// of its image. 0 if an edge passes through the origin.
template <typename T>
__device__ __forceinline__ T rest_bound(const Corners<T>& p, u32 ties, double eps) {
    const Corners<T> rest = without_zeros(p);
    if (ties == TIES_SOS && pinned(p, 0) + pinned(p, 1) + pinned(p, 2) == 1) return answer_bound(rest, eps);
    const T axis = axis_distance(rest);
    return axis > T(0) && (double)axis >= eps ? axis : image_bound(rest, determinants(rest), axis);
}
template <typename T>
__device__ __forceinline__ bool has_zero_vertex(const Corners<T>& p) {
    return pinned(p, 0) || pinned(p, 1) || pinned(p, 2);
}

// Chooses the bound of a triangle of finite vertices: by the distance of its image, by the ladder, or none.
enum class BoundSource { BY_IMAGE, BY_LADDER, NOT };
template <typename T>
__device__ __forceinline__ BoundSource bound_source(const Corners<T>& p, const Determinants& d, T axis) {
    if (axis > T(0)) return BoundSource::BY_IMAGE;
    const double* const m = d.m;
    if ((m[0] < 0.0 || m[1] < 0.0 || m[2] < 0.0) && (m[0] > 0.0 || m[1] > 0.0 || m[2] > 0.0))
        return BoundSource::BY_IMAGE;
    i32 s[3];
    signs_of(d, p, s);
    const u32 k = kind(p, s);
    if (k == OUT) return BoundSource::BY_IMAGE;
    return k == TIE && pinned(p, 0) && pinned(p, 1) && pinned(p, 2) ? BoundSource::NOT
                                                                    : BoundSource::BY_LADDER;
}

template <typename T>
__device__ __noinline__ TriangleBound<T> triangle_bound(Corners<T> p, i32 triangle, Rule rule, double eps) {
    if (!finite(p)) return {Real<T>::MAX, false};
    const T axis = axis_distance(p);
    if (axis > T(0) && (double)axis >= eps) return {axis, false};
    const Determinants d = determinants(p);
    const BoundSource by = bound_source(p, d, axis);
    if (by == BoundSource::BY_IMAGE) return {image_bound(p, d, axis), false};
    if (by == BoundSource::NOT) return {Real<T>::MAX, false};
    if (rule.ties() != TIES_ALL && has_zero_vertex(p)) return {rest_bound(p, rule.ties(), eps), false};
    return ladder_bound(p, triangle, rule, eps);
}
