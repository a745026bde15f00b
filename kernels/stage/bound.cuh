// Twin of src/stage/bound.rs.
#pragma once
#include "signature.cuh"

constexpr i32 RUNGS = 20;
#define LADDER_TOP (1.0 + 1.0 / 1048576.0)
#define LADDER_MARGIN (1.0 + 1.0 / 1099511627776.0)

template <typename T>
__device__ __forceinline__ T axis_distance(const Corners<T>& p) {
    typedef Real<T> R;
    T low_u = R::low(R::low(p.u[0], p.u[1]), p.u[2]), high_u = R::high(R::high(p.u[0], p.u[1]), p.u[2]);
    T low_v = R::low(R::low(p.v[0], p.v[1]), p.v[2]), high_v = R::high(R::high(p.v[0], p.v[1]), p.v[2]);
    return R::high(R::high(low_u, -high_u), R::high(low_v, -high_v));
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

template <typename T>
__device__ double edge_distance(const Determinants& d, const Corners<T>& p) {
    const double* m = d.m;
    double c[3] = {m[1] + m[2], m[2] + m[0], m[0] + m[1]};
    double best = 0.0;
#pragma unroll
    for (i32 k = 0; k < 3; k++) {
        const i32 i = (k + 1) % 3, j = (k + 2) % 3;
        if ((m[k] > 0.0 && c[k] < 0.0) || (m[k] < 0.0 && c[k] > 0.0)) {
            double near = fabs(m[k]), far = fabs(c[k]);
            double numerator = (far < near ? far : near) - d.error;
            double du = fabs((double)p.u[j] - (double)p.u[i]);
            double dv = fabs((double)p.v[j] - (double)p.v[i]);
            double distance = numerator / (du + dv) * (1.0 - 8.0 * ROUNDING);
            if (distance > best && distance > UNDERFLOW_GUARD && distance < __longlong_as_double(0x7ff0000000000000ll))
                best = distance;
        }
    }
    return best;
}

template <typename T>
__device__ bool determinants_kept(const Determinants& m, const Corners<T>& p, double d) {
    bool kept = true;
#pragma unroll
    for (i32 k = 0; k < 3; k++) {
        const i32 i = (k + 1) % 3, j = (k + 2) % 3;
        if (!pinned(p, i) && !pinned(p, j)) {
            double size = (fabs((double)p.u[i]) + fabs((double)p.v[i])) + (fabs((double)p.u[j]) + fabs((double)p.v[j]));
            double change = (d * size + 2.0 * (d * d)) * LADDER_MARGIN + m.error;
            kept &= fabs(m.m[k]) > change;
        }
    }
    return kept;
}

template <typename T>
__device__ bool components_kept(const Corners<T>& p, double d) {
    bool kept = true;
#pragma unroll
    for (i32 k = 0; k < 3; k++)
        kept &= pinned(p, k) || (fabs((double)p.u[k]) >= d && fabs((double)p.v[k]) >= d);
    return kept;
}

__device__ inline bool type_kept(const Jacobian& j, const Rule& rule, double d) {
    double move_ac = 2.0 * d * rule.dy * LADDER_MARGIN, move_bd = 2.0 * d * rule.dx * LADDER_MARGIN;
    double trace, discriminant, trace_error, discriminant_error;
    trace_discriminant(j, trace, discriminant);
    double moved = move_ac + move_bd;
    double product = (fabs(j.b) * move_ac + fabs(j.c) * move_bd) + move_ac * move_bd;
    double change = (2.0 * fabs(j.a - j.d) * moved + moved * moved) + 4.0 * product;
    type_errors(j, move_ac, move_bd, trace_error, discriminant_error);
    return fabs(trace) > moved * LADDER_MARGIN + 4.0 * trace_error &&
           fabs(discriminant) > change * LADDER_MARGIN + 4.0 * discriminant_error;
}

__device__ __forceinline__ double rung(double eps, i32 j, i32 eighths) {
    return eps * LADDER_TOP * ((double)eighths / (double)(8u << j));
}

// What the ladder of a triangle keeps besides its determinants.
enum : i32 { KEEP_NOTHING_ELSE, KEEP_COMPONENTS, KEEP_TYPE };

template <typename T>
__device__ __forceinline__ bool rung_safe(const Determinants& m, const Corners<T>& p, const Jacobian& j,
                                          const Rule& rule, i32 keep, double d) {
    return determinants_kept(m, p, d) && (keep != KEEP_COMPONENTS || components_kept(p, d)) &&
           (keep != KEEP_TYPE || type_kept(j, rule, d));
}

template <typename T>
__device__ T ladder(const Determinants& m, const Corners<T>& p, const Jacobian& j, const Rule& rule, i32 keep,
                    double eps) {
    i32 low = 0, high = RUNGS + 1;
    while (low < high) {
        i32 middle = (low + high) / 2;
        if (rung_safe(m, p, j, rule, keep, rung(eps, middle, 8)))
            high = middle;
        else
            low = middle + 1;
    }
    if (low > RUNGS) return T(0);
    i32 eighths = 8;
    if (low > 0) {
        for (i32 half = 4; half > 0; half /= 2)
            if (rung_safe(m, p, j, rule, keep, rung(eps, low, eighths + half))) eighths += half;
    }
    return round_down<T>(rung(eps, low, eighths));
}

template <typename T>
__device__ __noinline__ T triangle_bound(Corners<T> p, i32 triangle, Rule rule, double eps) {
    if (!finite(p)) return Real<T>::MAX;
    T axis = axis_distance(p);
    if (axis > T(0) && (double)axis >= eps) return axis;
    Determinants m = determinants(p);
    if (axis > T(0)) {
        T edge = round_down<T>(edge_distance(m, p));
        return edge > axis ? edge : axis;
    }
    i32 s[3];
    signs(p, s);
    u32 k = kind(p, s);
    if (k == OUT) return round_down<T>(edge_distance(m, p));
    if (k == TIE && pinned(p, 0) && pinned(p, 1) && pinned(p, 2)) return Real<T>::MAX;
    i32 keep = k == TIE ? KEEP_COMPONENTS : rule.types && s[0] > 0 ? KEEP_TYPE : KEEP_NOTHING_ELSE;
    Jacobian j = {};
    if (keep == KEEP_TYPE) j = jacobian(p, triangle, rule);
    return ladder(m, p, j, rule, keep, eps);
}
