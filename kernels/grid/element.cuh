// All float arithmetic that reconstructs values or decides signs. Twin of src/grid/element.rs. The kernels
// are compiled with -fmad=false, so no product is fused into a sum and host and device round alike.
#pragma once
#include "device/shared.cuh"

// 2^n for n below 1024; 0 where 2^n is not a normal number.
__device__ __forceinline__ double power_of_two(i32 n) {
    return n < -1022 ? 0.0 : __longlong_as_double((long long)(n + 1023) << 52);
}

template <typename T>
struct Real;

template <>
struct Real<float> {
    static constexpr u32 BYTES = 4;
    static constexpr float MAX_CODE = MAX_CODE_F32;
    static constexpr float MAX = 3.402823466e38f;
    typedef float2 Pair;
    typedef u32 Bits;  // integer of the size of T
    typedef i32 Signed;
    static constexpr i32 MANTISSA = 23;
    // At SHIFT the unit in the last place is 1: adding it rounds to an integer, whose bits are those of the
    // sum minus SHIFTED_ZERO.
    static constexpr float SHIFT = 12582912.0f;
    static constexpr u32 SHIFTED_ZERO = 0x4b400000;
    static __device__ __forceinline__ u32 shifted_code(float x) { return __float_as_uint(x); }
    // Bits of a non-negative integer.
    static __device__ __forceinline__ i32 bit_length(float x) {
        return max((i32)(__float_as_uint(x) >> 23) - 126, 0);
    }
    static __device__ __forceinline__ float round(float x) { return (x + SHIFT) - SHIFT; }
    static __device__ __forceinline__ bool finite(float x) {
        return (__float_as_uint(x) & 0x7f800000u) != 0x7f800000u;
    }
    static __device__ __forceinline__ float infinity() { return __uint_as_float(0x7f800000u); }
    static __device__ __forceinline__ u64 bits(float x) { return __float_as_uint(x); }
    static __device__ __forceinline__ float from_bits(u64 b) { return __uint_as_float((u32)b); }
    static __device__ __forceinline__ float abs(float x) { return fabsf(x); }
    static __device__ __forceinline__ float fma(float a, float b, float c) { return __fmaf_rn(a, b, c); }
    static __device__ __forceinline__ float low(float a, float b) { return fminf(a, b); }
    static __device__ __forceinline__ float high(float a, float b) { return fmaxf(a, b); }
    static __device__ float next_down(float x) {
        u32 b = __float_as_uint(x);
        if ((b & 0x7fffffffu) == 0) return __uint_as_float(0x80000001u);
        return __uint_as_float(b >> 31 ? b + 1 : b - 1);
    }
    static __device__ double ulp(float x) {
        i32 e = (i32)(__float_as_uint(x) >> 23 & 0xff);
        return power_of_two((e > 1 ? e : 1) - 150);
    }
    static __device__ __forceinline__ Pair pair(float a, float b) { return make_float2(a, b); }
};

template <>
struct Real<double> {
    static constexpr u32 BYTES = 8;
    static constexpr double MAX_CODE = MAX_CODE_F64;
    static constexpr double MAX = 1.7976931348623157e308;
    typedef double2 Pair;
    typedef u64 Bits;
    typedef long long Signed;
    static constexpr i32 MANTISSA = 52;
    static constexpr double SHIFT = 6755399441055744.0;
    static constexpr u32 SHIFTED_ZERO = 0;
    static __device__ __forceinline__ u32 shifted_code(double x) { return (u32)__double_as_longlong(x); }
    static __device__ __forceinline__ i32 bit_length(double x) {
        return max((__double2hiint(x) >> 20) - 1022, 0);
    }
    static __device__ __forceinline__ double round(double x) { return (x + SHIFT) - SHIFT; }
    static __device__ __forceinline__ bool finite(double x) {
        return (__double2hiint(x) & 0x7ff00000) != 0x7ff00000;
    }
    static __device__ __forceinline__ double infinity() { return __longlong_as_double(0x7ff0000000000000ll); }
    static __device__ __forceinline__ u64 bits(double x) { return (u64)__double_as_longlong(x); }
    static __device__ __forceinline__ double from_bits(u64 b) { return __longlong_as_double((long long)b); }
    static __device__ __forceinline__ double abs(double x) { return fabs(x); }
    static __device__ __forceinline__ double fma(double a, double b, double c) { return __fma_rn(a, b, c); }
    static __device__ __forceinline__ double low(double a, double b) { return fmin(a, b); }
    static __device__ __forceinline__ double high(double a, double b) { return fmax(a, b); }
    static __device__ double next_down(double x) {
        u64 b = (u64)__double_as_longlong(x);
        if ((b << 1) == 0) return __longlong_as_double((long long)0x8000000000000001ull);
        return __longlong_as_double((long long)(b >> 63 ? b + 1 : b - 1));
    }
    static __device__ double ulp(double x) {
        i32 e = (i32)((u64)__double_as_longlong(x) >> 52 & 0x7ff);
        return power_of_two((e > 1 ? e : 1) - 1075);
    }
    static __device__ __forceinline__ Pair pair(double a, double b) { return make_double2(a, b); }
};

template <typename T>
__device__ __forceinline__ i32 sign(T x) {
    return (i32)(x > T(0)) - (i32)(x < T(0));
}

// round_down: the largest T not above x (x >= 0). round_up: the smallest T not below x.
template <typename T>
__device__ __forceinline__ T round_down(double x) {
    T y = (T)x;
    return (double)y > x ? Real<T>::next_down(y) : y;
}
template <typename T>
__device__ T round_up(double x) {
    T y = (T)x;
    return (double)y < x ? -Real<T>::next_down(-y) : y;
}

struct Mantissa {
    u64 m;
    i32 e;
};

// |x| = m * 2^e with m in [2^52, 2^53); x is finite and not zero.
__device__ inline Mantissa mantissa(double x) {
    u64 b = (u64)__double_as_longlong(x) & 0x7fffffffffffffffull;
    i32 e = (i32)(b >> 52);
    u64 m = b & 0xfffffffffffffull;
    if (e == 0) {
        i32 shift = __clzll((long long)m) - 11;
        return {m << shift, 1 - shift};
    }
    return {m | 1ull << 52, e};
}

// The sign of a * d - b * c from the 106-bit products of the mantissas.
static __device__ __noinline__ i32 compare_products(double a, double d, double b, double c) {
    i32 p = sign(a) * sign(d), q = sign(b) * sign(c);
    if (p != q || p == 0) return (i32)(p > q) - (i32)(p < q);
    Mantissa ma = mantissa(a), md = mantissa(d), mb = mantissa(b), mc = mantissa(c);
    unsigned __int128 x = (unsigned __int128)ma.m * md.m, y = (unsigned __int128)mb.m * mc.m;
    i32 shift = (ma.e + md.e) - (mb.e + mc.e);
    if (shift > 1) return p;
    if (shift < -1) return -p;
    if (shift == 1) x <<= 1;
    if (shift == -1) y <<= 1;
    return p * ((i32)(x > y) - (i32)(x < y));
}

// Whether a * d - b * c is positive, and whether it is negative.
struct DetSign {
    bool positive, negative;
};
__device__ __forceinline__ DetSign det_sign(float a, float b, float c, float d) {
    const double p = (double)a * (double)d, q = (double)b * (double)c;
    return {p > q, p < q};
}
__device__ __forceinline__ DetSign det_sign(double a, double b, double c, double d) {
    const double p = a * d, q = b * c;
    if (p != q) return {p > q, p < q};
    const i32 sign = compare_products(a, d, b, c);
    return {sign > 0, sign < 0};
}
template <typename T>
__device__ __forceinline__ i32 sign_det(T a, T b, T c, T d) {
    const DetSign sign = det_sign(a, b, c, d);
    return (i32)sign.positive - (i32)sign.negative;
}
