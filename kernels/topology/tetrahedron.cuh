// The signature of a tetrahedron, decided exactly. Twin of src/topology/tetrahedron.rs.
#pragma once
#include "grid/missing.cuh"
#include "grid/tetrahedra.cuh"
#include "grid/volume_field.cuh"
#include "topology/tetrahedron_type.cuh"

// Contents of signatures, and what they depend on.
struct VolumeRule {
    bool types, zeros_alone;  // zeros_alone: FACTZ_TIES_ZEROS
    double spacing[3];

    __device__ __forceinline__ explicit VolumeRule(const Job& job)
        : types(job.preserve == PRESERVE_TYPES),
          zeros_alone(job.ties == TIES_ZEROS), spacing{job.dx, job.dy, job.dz} {}
};

// A kind (OUT, NONFINITE, UNCERTAIN, IN, TIE or ZEROS) and what else must stay: of IN the sign of the
// determinants and the type, of ZEROS the corners, of TIE the signs of determinants, components and minors.
struct VolumeSignature {
    u32 kind, data;
    u64 high, low;

    __device__ __forceinline__ bool is_critical() const { return kind == IN || kind == UNCERTAIN; }
};
__device__ __forceinline__ bool stays(const VolumeSignature& before, const VolumeSignature& after) {
    return before.kind == after.kind && before.data == after.data && before.high == after.high &&
           before.low == after.low && before.kind != UNCERTAIN;
}

// Values above it may make determinants of doubles too inexact; more than what underflows below it.
constexpr i32 MODERATE_EXPONENT = 200, MODERATE_UNDERFLOW_EXPONENT = -800;
__device__ __forceinline__ double moderate_underflow() { return power_of_two(MODERATE_UNDERFLOW_EXPONENT); }
template <typename T>
__device__ __forceinline__ bool is_moderate(const Vector<T>& v) {
    if (sizeof(T) == 4) return true;
    const double most = power_of_two(MODERATE_EXPONENT);
    return fabs((double)v.at[0]) < most && fabs((double)v.at[1]) < most && fabs((double)v.at[2]) < most;
}

// A determinant in doubles, and a bound of its error where the values are moderate.
struct Determinant {
    double value, error;
};
template <typename T>
__device__ __forceinline__ Determinant determinant(
    const Vector<T>& a, const Vector<T>& b, const Vector<T>& c) {
    const double a0 = (double)a.at[0], a1 = (double)a.at[1], a2 = (double)a.at[2], b0 = (double)b.at[0],
                 b1 = (double)b.at[1], b2 = (double)b.at[2], c0 = (double)c.at[0], c1 = (double)c.at[1],
                 c2 = (double)c.at[2];
    const double x0 = b1 * c2, x1 = b2 * c1, y0 = b2 * c0, y1 = b0 * c2, z0 = b0 * c1, z1 = b1 * c0;
    const double size = fabs(a0) * (fabs(x0) + fabs(x1)) + fabs(a1) * (fabs(y0) + fabs(y1)) +
                        fabs(a2) * (fabs(z0) + fabs(z1));
    return {a0 * (x0 - x1) + a1 * (y0 - y1) + a2 * (z0 - z1), 8.0 * ROUNDING * size + moderate_underflow()};
}

// The product of three doubles that are not 0: 159 bits, the lowest first, and the exponent of the lowest.
struct TripleProduct {
    u64 bits[3];
    i32 exponent;
    bool negative, is_zero;

    __device__ __forceinline__ TripleProduct() {}
    __device__ __forceinline__ TripleProduct(double a, double b, double c, bool subtracted) {
        bits[0] = bits[1] = bits[2] = 0, exponent = 0, negative = false;
        is_zero = a == 0.0 || b == 0.0 || c == 0.0;
        if (is_zero) return;
        const Mantissa x = mantissa(a), y = mantissa(b), z = mantissa(c);
        const u64 low = x.m * y.m, high = __umul64hi(x.m, y.m);
        bits[0] = low * z.m;
        const u64 carry = __umul64hi(low, z.m);
        bits[1] = high * z.m + carry;
        bits[2] = __umul64hi(high, z.m) + (bits[1] < carry);
        exponent = x.e + y.e + z.e;
        negative = ((a < 0.0) != (b < 0.0)) != ((c < 0.0) != subtracted);
    }
    // The 32 bits from bit `at` on, which may be negative.
    __device__ __forceinline__ u32 word(i32 at) const {
        if (at <= -32 || at >= 192) return 0;
        if (at < 0) return (u32)(bits[0] << -at);
        const u64 here = at < 64    ? bits[0]
                         : at < 128 ? bits[1]
                                    : bits[2],
                  behind = at < 64    ? bits[1]
                           : at < 128 ? bits[2]
                                      : 0;
        const i32 shift = at & 63;
        return (u32)(here >> shift | (shift ? behind << (64 - shift) : 0));
    }
};

// The exact sign of a determinant: the six products are added 32 bits at a time.
static __device__ __noinline__ i32 exact_sign(
    double a0, double a1, double a2, double b0, double b1, double b2, double c0, double c1, double c2) {
    const TripleProduct terms[6] = {TripleProduct(a0, b1, c2, false), TripleProduct(a0, b2, c1, true),
        TripleProduct(a1, b2, c0, false), TripleProduct(a1, b0, c2, true), TripleProduct(a2, b0, c1, false),
        TripleProduct(a2, b1, c0, true)};
    i32 least = 0x7fffffff, most = -0x7fffffff;
#pragma unroll
    for (i32 k = 0; k < 6; k++)
        if (!terms[k].is_zero) least = min(least, terms[k].exponent), most = max(most, terms[k].exponent);
    long long sum = 0;
    u32 any = 0;
#pragma unroll 1
    for (i32 at = least; at < most + 192 && most >= least; at += 32) {
#pragma unroll
        for (i32 k = 0; k < 6; k++) {
            const long long word = terms[k].is_zero ? 0 : (long long)terms[k].word(at - terms[k].exponent);
            sum += terms[k].negative ? -word : word;
        }
        any |= (u32)sum;
        sum >>= 32;
    }
    return sum < 0 ? -1 : sum > 0 || any ? 1 : 0;
}

// The exact sign of the determinant of three finite vectors.
template <typename T>
__device__ __forceinline__ i32 sign_det3(const Vector<T>& a, const Vector<T>& b, const Vector<T>& c) {
    const Determinant d = determinant(a, b, c);
    if (is_moderate(a) && is_moderate(b) && is_moderate(c) && fabs(d.value) > d.error)
        return (i32)(d.value > 0.0) - (i32)(d.value < 0.0);
    return exact_sign((double)a.at[0], (double)a.at[1], (double)a.at[2], (double)b.at[0], (double)b.at[1],
        (double)b.at[2], (double)c.at[0], (double)c.at[1], (double)c.at[2]);
}

template <typename T, i32 N>
__device__ __forceinline__ bool finite(const Vector<T, N>& v) {
    bool all = true;
#pragma unroll
    for (i32 c = 0; c < N; c++) all &= Real<T>::finite(v.at[c]);
    return all;
}
template <typename T, i32 N>
__device__ __forceinline__ bool is_zero(const Vector<T, N>& v) {
    bool all = true;
#pragma unroll
    for (i32 c = 0; c < N; c++) all = all && v.at[c] == T(0);
    return all;
}
template <typename T, i32 N>
__device__ __forceinline__ bool equal(const Vector<T, N>& a, const Vector<T, N>& b) {
    bool all = true;
#pragma unroll
    for (i32 c = 0; c < N; c++) all = all && a.at[c] == b.at[c];
    return all;
}
template <typename T, i32 N>
__device__ __forceinline__ bool is_filled(const Vector<T, N>& v, u64 fill) {
    bool any = false;
#pragma unroll
    for (i32 c = 0; c < N; c++) any = any || has_bits(v.at[c], fill);
    return any;
}
template <typename T, i32 N>
__device__ __forceinline__ bool has_negative_zero(const Vector<T, N>& v) {
    return is_filled(v, 1ull << (8 * sizeof(T) - 1));
}
template <typename T, i32 N>
__device__ __forceinline__ bool is_missing(const Vector<T, N>& v, u64 fill) {
    return !finite(v) || is_filled(v, fill);
}

// Whether a component has one strict sign at all corners.
template <typename T>
__device__ __forceinline__ bool one_sided(const Tetrahedron<T>& p) {
    bool any = false;
#pragma unroll
    for (i32 c = 0; c < 3; c++) {
        const T a = p.at[0].at[c], b = p.at[1].at[c], d = p.at[2].at[c], e = p.at[3].at[c], z = 0;
        any |= ((a > z) & (b > z) & (d > z) & (e > z)) | ((a < z) & (b < z) & (d < z) & (e < z));
    }
    return any;
}

// The vectors at the corners of a tetrahedron that are not zero.
template <typename T>
struct OtherVectors {
    Vector<T> at[TETRAHEDRON_CORNERS];
    i32 count;
    u32 zeros;  // corners that are zero, a bit each

    __device__ __forceinline__ explicit OtherVectors(const Tetrahedron<T>& p) : count(0), zeros(0) {
        for (i32 k = 0; k < TETRAHEDRON_CORNERS; k++) {
            if (is_zero(p.at[k]))
                zeros |= 1u << k;
            else
                at[count++] = p.at[k];
        }
    }
    __device__ __forceinline__ i32 minor(i32 l, i32 m, i32 p, i32 q) const {
        return sign_det(at[p].at[l], at[p].at[m], at[q].at[l], at[q].at[m]);
    }
    __device__ __forceinline__ bool same_sign(i32 p, i32 q, i32 axis) const {
        return sign(at[p].at[axis]) == sign(at[q].at[axis]);
    }
    // Whether the vectors are not all parallel, seen along the third axis.
    __device__ __forceinline__ bool spans(i32 l, i32 m) const {
        for (i32 i = 1; i < count; i++)
            for (i32 j = 0; j < i; j++)
                if (minor(l, m, i, j) != 0) return true;
        return false;
    }
    // Whether all vectors are to the left of one, or in its direction.
    __device__ __forceinline__ bool in_half_plane(i32 l, i32 m) const {
        for (i32 p = 0; p < count; p++) {
            bool all = true;
            for (i32 q = 0; q < count; q++) {
                const i32 sign = minor(l, m, p, q);
                all &= sign == 0 ? same_sign(p, q, l) && same_sign(p, q, m) : sign > 0;
            }
            if (all) return true;
        }
        return false;
    }
    // Whether the origin is outside the closed hull of the vectors, which lie in a plane with it.
    __device__ __forceinline__ bool is_clear_of_origin() const {
        for (i32 k = 0; k < 3; k++)
            if (spans(k, (k + 1) % 3)) return in_half_plane(k, (k + 1) % 3);
        for (i32 q = 1; q < count; q++)
            if (!same_sign(0, q, 0) || !same_sign(0, q, 1) || !same_sign(0, q, 2)) return false;
        return true;
    }
};

// The signs of the determinants, of the components, and of all minors of two vectors.
template <typename T>
__device__ __forceinline__ VolumeSignature all_signs(const Tetrahedron<T>& p, const i32 (&s)[4]) {
    u64 high = 0, low = 0;
    auto put = [&](i32 sign) {
        high = high << 2 | low >> 62;
        low = low << 2 | (u64)(sign + 1);
    };
    for (i32 k = 0; k < 4; k++) put(s[k]);
    for (i32 k = 0; k < 12; k++) put(sign(p.at[k / 3].at[k % 3]));
    for (i32 i = 0; i < 4; i++)
        for (i32 j = i + 1; j < 4; j++)
            for (i32 k = 0; k < 3; k++) {
                const i32 l = (k + 1) % 3;
                put(sign_det(p.at[i].at[k], p.at[i].at[l], p.at[j].at[k], p.at[j].at[l]));
            }
    return {TIE, 0, high, low};
}

// The signature where the origin may be on the boundary of the image, whose determinants have these signs.
template <typename T>
__device__ __noinline__ VolumeSignature signature_of_tie(
    Tetrahedron<T> p, i32 s0, i32 s1, i32 s2, i32 s3, bool zeros_alone) {
    const i32 s[4] = {s0, s1, s2, s3};
    const bool all_zero = (s0 | s1 | s2 | s3) == 0;
    const OtherVectors<T> others(p);
    // Where three others are independent, they have a determinant.
    const bool clear =
        others.zeros ? !all_zero || others.is_clear_of_origin() : all_zero && others.is_clear_of_origin();
    if (clear && !others.zeros) return {OUT, 0, 0, 0};
    if (clear && zeros_alone) return {ZEROS, others.zeros, 0, 0};
    return all_signs(p, s);
}

template <typename T>
__device__ __noinline__ VolumeSignature volume_signature(Tetrahedron<T> p, u32 tetrahedron, VolumeRule rule) {
    if (!finite(p.at[0]) || !finite(p.at[1]) || !finite(p.at[2]) || !finite(p.at[3]))
        return {NONFINITE, 0, 0, 0};
    if (one_sided(p)) return {OUT, 0, 0, 0};
    // Vectors in another order instead of a minus: where ptxas 13.0 makes one instruction of two minima
    // (VIMNMX3, sm_90), it loses the minus of an operand.
    const i32 s0 = sign_det3(p.at[1], p.at[2], p.at[3]), s1 = sign_det3(p.at[0], p.at[3], p.at[2]),
              s2 = sign_det3(p.at[0], p.at[1], p.at[3]), s3 = sign_det3(p.at[0], p.at[2], p.at[1]);
    const i32 low = min(min(s0, s1), min(s2, s3)), high = max(max(s0, s1), max(s2, s3));
    if (low < 0 && high > 0) return {OUT, 0, 0, 0};
    if (low != high || low == 0) return signature_of_tie(p, s0, s1, s2, s3, rule.zeros_alone);
    const u32 orientation = (u32)(low + 1);
    if (!rule.types) return {IN, orientation, 0, 0};
    const i32 type = certified_type(p, tetrahedron, rule.spacing, 0.0);
    if (type < 0) return {UNCERTAIN, 0, 0, 0};
    return {IN, orientation | (u32)type << 2, 0, 0};
}
