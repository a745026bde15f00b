// Signature of a triangle: everything that must not change (docs/algorithm.md). Twin of
// src/topology/signature.rs.
#pragma once
#include "grid/element.cuh"
#include "grid/mesh.cuh"

// Contents of signatures, and the spacing that types depend on. KEEPS_TIES: the setting of ties, above the
// bits of the types.
enum : u32 { KEEPS_TYPES = 1, TURNS = 2, KEEPS_TIES = 4 };
struct Rule {
    u32 keeps;  // one register for all
    // Factors that make derivatives times |dx * dy| of differences along x and along y.
    double along_x, along_y;

    // TURNS: one axis runs backwards.
    __device__ __forceinline__ Rule(bool types, u32 ties, double dx, double dy)
        : keeps((types ? KEEPS_TYPES : 0) |
                ((__double_as_longlong(dx) ^ __double_as_longlong(dy)) < 0 ? TURNS : 0) | ties * KEEPS_TIES),
          along_x(copysign(dy, dx)), along_y(copysign(dx, dy)) {}
    Rule() = default;

    __device__ __forceinline__ bool types() const { return keeps & KEEPS_TYPES; }
    __device__ __forceinline__ u32 ties() const { return keeps / KEEPS_TIES; }
    __device__ __forceinline__ bool turns() const { return keeps & TURNS; }
    // The sign of the Jacobian's determinant, given that of a triangle's determinants.
    __device__ __forceinline__ i32 turn(i32 sign) const { return turns() ? -sign : sign; }
    // True if the type of a critical point is kept beside that sign: not that of a saddle.
    __device__ __forceinline__ bool keeps_type(i32 sign) const { return types() && turn(sign) > 0; }
};

__device__ __forceinline__ Rule rule_of(const Job& job) {
    return Rule(job.preserve == PRESERVE_TYPES, job.ties, job.dx, job.dy);
}

typedef u32 Signature;

// Vectors at the corners of a triangle.
template <typename T>
struct Corners {
    T u[3], v[3];
};

template <typename T>
__device__ __forceinline__ bool finite(const Corners<T>& p) {
    return Real<T>::finite(p.u[0]) & Real<T>::finite(p.v[0]) & Real<T>::finite(p.u[1]) &
           Real<T>::finite(p.v[1]) & Real<T>::finite(p.u[2]) & Real<T>::finite(p.v[2]);
}

template <typename T>
__device__ __forceinline__ bool one_sided(const Corners<T>& p) {
    const T z = 0;
    return ((p.u[0] > z) & (p.u[1] > z) & (p.u[2] > z)) | ((p.u[0] < z) & (p.u[1] < z) & (p.u[2] < z)) |
           ((p.v[0] > z) & (p.v[1] > z) & (p.v[2] > z)) | ((p.v[0] < z) & (p.v[1] < z) & (p.v[2] < z));
}

template <typename T>
__device__ __forceinline__ bool pinned(const Corners<T>& p, i32 k) {
    return p.u[k] == T(0) && p.v[k] == T(0);
}

template <typename T>
__device__ __forceinline__ void signs(const Corners<T>& p, i32 s[3]) {
    s[0] = sign_det(p.u[1], p.v[1], p.u[2], p.v[2]);
    s[1] = sign_det(p.u[2], p.v[2], p.u[0], p.v[0]);
    s[2] = sign_det(p.u[0], p.v[0], p.u[1], p.v[1]);
}

template <typename T>
__device__ __forceinline__ bool one_ray(const Corners<T>& p) {
    i32 u = sign(p.u[0]), v = sign(p.v[0]);
    return (u != 0 || v != 0) && sign(p.u[1]) == u && sign(p.u[2]) == u && sign(p.v[1]) == v &&
           sign(p.v[2]) == v;
}

template <typename T>
__device__ __forceinline__ u32 kind(const Corners<T>& p, const i32 s[3]) {
    i32 low = min(s[0], min(s[1], s[2])), high = max(s[0], max(s[1], s[2]));
    if (low < 0 && high > 0) return OUT;
    if (low == high && low != 0) return IN;
    if (low == high && one_ray(p)) return OUT;
    return TIE;
}

// Jacobian of the linear field on a triangle, times |dx * dy|.
struct Jacobian {
    double a, b, c, d;
};

template <typename T>
__device__ __forceinline__ Jacobian jacobian(const Corners<T>& p, i32 triangle, const Rule& rule) {
    auto difference = [&](const T corners[3], i32 begin, i32 end) {
        return (double)at_end(corners, triangle, end) - (double)at_end(corners, triangle, begin);
    };
    Jacobian j;
    j.a = difference(p.u, X_BEGIN, X_END) * rule.along_x;
    j.b = difference(p.u, Y_BEGIN, Y_END) * rule.along_y;
    j.c = difference(p.v, X_BEGIN, X_END) * rule.along_x;
    j.d = difference(p.v, Y_BEGIN, Y_END) * rule.along_y;
    return j;
}

__device__ __forceinline__ void trace_discriminant(const Jacobian& j, double& trace, double& discriminant) {
    double e = j.a - j.d;
    trace = j.a + j.d;
    discriminant = e * e + 4.0 * (j.b * j.c);
}

__device__ __forceinline__ void type_errors(
    const Jacobian& j, double grow_ac, double grow_bd, double& trace, double& discriminant) {
    double a = fabs(j.a) + grow_ac, b = fabs(j.b) + grow_bd;
    double c = fabs(j.c) + grow_ac, d = fabs(j.d) + grow_bd;
    double tiny = UNDERFLOW_GUARD * (1.0 + ((a + b) + (c + d)));
    double t = a + d;
    trace = 8.0 * ROUNDING * t + tiny;
    discriminant = 16.0 * ROUNDING * (t * t + 4.0 * (b * c)) + tiny;
}

__device__ __forceinline__ i32 certain_sign(double value, double error) {
    return (i32)(value > error) - (i32)(value < -error);
}

// Certain signs of trace and discriminant of the Jacobian; 0 where rounding leaves one open.
template <typename T>
__device__ __forceinline__ void certain_type(
    const Corners<T>& p, i32 triangle, const Rule& rule, i32& trace, i32& discriminant) {
    const Jacobian j = jacobian(p, triangle, rule);
    double t, d, t_error, d_error;
    trace_discriminant(j, t, d);
    type_errors(j, 0.0, 0.0, t_error, d_error);
    trace = certain_sign(t, t_error);
    discriminant = certain_sign(d, d_error);
}

// The type of a critical point, given the sign of the determinant of its Jacobian, and its exact signs.
__device__ __forceinline__ i32 type_of_signs(i32 determinant, i32 trace, i32 discriminant) {
    if (determinant < 0) return SADDLE;
    if (trace == 0) return CENTER;
    if (trace > 0) return discriminant < 0 ? REPELLING_FOCUS : REPELLING_NODE;
    return discriminant < 0 ? ATTRACTING_FOCUS : ATTRACTING_NODE;
}

// Signature of an IN triangle whose determinants have the sign s.
template <typename T>
__device__ Signature inside(i32 s, const Corners<T>& p, i32 triangle, const Rule& rule) {
    Signature code = IN | (u32)(rule.turn(s) + 1) << KIND_BITS;
    if (!rule.keeps_type(s)) return code;
    i32 t, d;
    certain_type(p, triangle, rule, t, d);
    if (t == 0 || d == 0) return UNCERTAIN;
    return code | (u32)(t + 1) << (KIND_BITS + 2) | (u32)(d + 1) << (KIND_BITS + 4);
}

// Signature of a TIE triangle by the setting, given that by its signs. Twin of by_zeros and by_answer.
__device__ __forceinline__ Signature by_setting(Signature tie, u32 ties) {
    constexpr u32 ALL_ZERO = 0x15;
    const u32 determinants = tie >> KIND_BITS & 63, p0 = tie >> (KIND_BITS + 6) & 15,
              p1 = tie >> (KIND_BITS + 10) & 15, p2 = tie >> (KIND_BITS + 14) & 15;
    const u32 zero = (u32)(p0 == 5) | (u32)(p1 == 5) << 1 | (u32)(p2 == 5) << 2;
    if (ties == TIES_SOS) {
        // True if the origin, moved to (e^2, e), is to the left of an edge.
        auto side = [&](u32 m, u32 a, u32 b) {
            const u32 u_a = a & 3, u_b = b & 3;
            return m != 1 ? m == 2 : u_a != u_b ? u_a < u_b : b >> 2 < a >> 2;
        };
        const bool s0 = side(determinants & 3, p1, p2), s1 = side(determinants >> 2 & 3, p2, p0),
                   s2 = side(determinants >> 4, p0, p1);
        const bool has_point = determinants != ALL_ZERO && s0 == s1 && s1 == s2;
        return ANSWER | zero << KIND_BITS | (u32)has_point << (KIND_BITS + 3);
    }
    // Two zero vertices leave a vector, and a determinant that is not 0 an edge that passes by. With one zero
    // vertex, equal signs are those of the others.
    const bool clear = __popc(zero) != 1 || determinants != ALL_ZERO || p0 == p1 || p1 == p2 || p2 == p0;
    return zero ? (clear ? ZEROS : SEGMENT) | zero << KIND_BITS : tie;
}

template <typename T>
__device__ Signature tie(const i32 s[3], const Corners<T>& p, u32 ties) {
    Signature code = TIE;
#pragma unroll
    for (i32 k = 0; k < 3; k++) {
        code |= (u32)(s[k] + 1) << (KIND_BITS + 2 * k);
        code |= (u32)(sign(p.u[k]) + 1) << (KIND_BITS + 6 + 4 * k);
        code |= (u32)(sign(p.v[k]) + 1) << (KIND_BITS + 8 + 4 * k);
    }
    return ties == TIES_ALL ? code : by_setting(code, ties);
}

template <typename T>
__device__ __noinline__ Signature signature(Corners<T> p, i32 triangle, Rule rule) {
    if (!finite(p)) return NONFINITE;
    if (one_sided(p)) return OUT;
    i32 s[3];
    signs(p, s);
    u32 k = kind(p, s);
    if (k == IN) return inside(s[0], p, triangle, rule);
    if (k == TIE) return tie(s, p, rule.ties());
    return k;
}

// True if a triangle keeps what it must. A tie without zero vertices and without a point may become OUT.
__device__ __forceinline__ bool stays(Signature before, Signature after) {
    return (before == after || (before == ANSWER && after == OUT)) &&
           (before & NEVER_STAYS_MASK) != UNCERTAIN;
}

// True if a TIE triangle keeps what it must, given the vectors and the signs of its determinants before and
// after.
template <typename T>
__device__ __forceinline__ bool keeps_tie(
    const Corners<T>& p0, const Corners<T>& p1, const i32 s0[3], const i32 s1[3], u32 ties) {
    const u32 kind_after = kind(p1, s1);
    const Signature before = tie(s0, p0, ties), after = kind_after == TIE ? tie(s1, p1, ties) : kind_after;
    if ((before & ((1u << KIND_BITS) - 1)) != SEGMENT || before != after) return stays(before, after);
    // The zero of the edge stays where it is if b = -t c before and after, with one t.
    const i32 k = __ffs((i32)(before >> KIND_BITS)) - 1, i = (k + 1) % 3, j = (k + 2) % 3;
    auto parallel = [&](T b, T c, T b_after, T c_after) { return sign_det(b, c, b_after, c_after) == 0; };
    return parallel(p0.u[i], p0.u[j], p1.u[i], p1.u[j]) && parallel(p0.u[i], p0.u[j], p1.v[i], p1.v[j]) &&
           parallel(p0.v[i], p0.v[j], p1.u[i], p1.u[j]) && parallel(p0.v[i], p0.v[j], p1.v[i], p1.v[j]);
}
