// Exact signs of trace and discriminant of the Jacobian of a triangle, in integers. Twin of
// src/topology/exact_type.rs.
#pragma once
#include "device/reduce.cuh"
#include "topology/signature.cuh"

// An accumulator per warp in shared memory: a two's complement integer in units of 2^EXACT_LOWEST, the last
// bit of the smallest product of four doubles. A discriminant is below 2^4103.

// +-(high * 2^64 + low) * 2^exponent
struct Product {
    u64 low, high;
    i32 exponent;
    bool negative;
};

__device__ inline Product product(double a, double b, bool negative) {
    const u64 x = (u64)__double_as_longlong(a), y = (u64)__double_as_longlong(b);
    const i32 ex = (i32)(x >> 52 & 0x7ff), ey = (i32)(y >> 52 & 0x7ff);
    const u64 fraction = (1ull << 52) - 1;
    const u64 mx = (x & fraction) | (u64)(ex > 0) << 52, my = (y & fraction) | (u64)(ey > 0) << 52;
    Product p;
    p.low = mx * my;
    p.high = __umul64hi(mx, my);
    p.exponent = max(ex, 1) + max(ey, 1) - 2 * 1075;
    p.negative = (bool)((x ^ y) >> 63) != negative;
    return p;
}

// Adds +-magnitude * 2^exponent.
__device__ inline void add_exactly(u32* sum, const u64 magnitude[4], i32 exponent, bool negative) {
    const i32 shift = exponent - EXACT_LOWEST, bits = shift & 31;
    i32 at = shift >> 5;
    u64 carry = negative, rest = 0;
#pragma unroll 1
    for (i32 k = 0; k < 9; k++, at++) {
        const u32 word = k < 8 ? (u32)(magnitude[k / 2] >> 32 * (k & 1)) : 0;
        rest |= (u64)word << bits;
        const u32 part = negative ? ~(u32)rest : (u32)rest;
        rest >>= 32;
        carry += (u64)sum[at] + part;
        sum[at] = (u32)carry;
        carry >>= 32;
    }
    // The remaining words of the addend are all 0, or all ones if it is negative: stop when the carry changes
    // nothing.
    for (; at < EXACT_WORDS && carry != negative; at++) {
        carry += (u64)sum[at] + (negative ? 0xffffffffu : 0u);
        sum[at] = (u32)carry;
        carry >>= 32;
    }
}

__device__ inline void add_product(u32* sum, const Product& p) {
    const u64 magnitude[4] = {p.low, p.high, 0, 0};
    add_exactly(sum, magnitude, p.exponent, p.negative);
}

// The magnitude of p * q, but for the powers of 2.
__device__ inline void multiply(const Product& p, const Product& q, u64 (&m)[4]) {
    const u64 ll = p.low * q.low, lh = p.low * q.high, hl = p.high * q.low, hh = p.high * q.high;
    m[0] = ll;
    m[1] = __umul64hi(p.low, q.low);
    m[2] = __umul64hi(p.low, q.high);
    m[3] = __umul64hi(p.high, q.high);
    m[1] += lh;
    m[2] += m[1] < lh;  // cannot overflow: the high half of a product is below 2^64 - 1
    m[1] += hl;
    const u64 middle = __umul64hi(p.high, q.low) + (m[1] < hl);
    m[2] += middle;
    m[3] += m[2] < middle;
    m[2] += hh;
    m[3] += m[2] < hh;
}

// Adds p * q * 2^doublings.
__device__ inline void add_product(u32* sum, const Product& p, const Product& q, i32 doublings) {
    u64 m[4];
    multiply(p, q, m);
    add_exactly(sum, m, p.exponent + q.exponent + doublings, p.negative != q.negative);
}

// Exact signs for the triangles of the lanes with `asks`, one lane at a time. Call with all lanes of the
// warp.
template <typename T>
__device__ __noinline__ void exact_type(
    bool asks, Corners<T> p, i32 triangle, Rule rule, u32* sum, i32& trace, i32& discriminant) {
    const i32 lane = threadIdx.x & 31;
    for (u32 open = __ballot_sync(FULL, asks); open; open &= open - 1) {
        const bool mine = lane == __ffs((i32)open) - 1;
#pragma unroll 1
        for (i32 which = 0; which < 2; which++) {
            for (i32 k = lane; k < EXACT_WORDS; k += 32) sum[k] = 0;
            __syncwarp();
            if (mine) {
                // Differences as in jacobian, before they are multiplied.
                auto at = [&](const T corners[3], i32 end) -> double {
                    return at_end(corners, triangle, end);
                };
                const bool difference = which == 1;
                const double along_x = rule.along_x, along_y = rule.along_y;
                // trace: a + d; discriminant: (a - d)^2 + 4 b c.
                const Product e[4] = {product(at(p.u, X_END), along_x, false),
                    product(at(p.u, X_BEGIN), along_x, true), product(at(p.v, Y_END), along_y, difference),
                    product(at(p.v, Y_BEGIN), along_y, !difference)};
                if (which == 0) {
#pragma unroll 1
                    for (i32 i = 0; i < 4; i++) add_product(sum, e[i]);
                } else {
#pragma unroll 1
                    for (i32 i = 0; i < 4; i++)
#pragma unroll 1
                        for (i32 j = i; j < 4; j++) add_product(sum, e[i], e[j], j > i);
                    const Product b[2] = {
                        product(at(p.u, Y_END), along_y, false), product(at(p.u, Y_BEGIN), along_y, true)};
                    const Product c[2] = {
                        product(at(p.v, X_END), along_x, false), product(at(p.v, X_BEGIN), along_x, true)};
#pragma unroll 1
                    for (i32 i = 0; i < 4; i++) add_product(sum, b[i & 1], c[i >> 1], 2);
                }
            }
            __syncwarp();
            u32 bits = 0;
            for (i32 k = lane; k < EXACT_WORDS; k += 32) bits |= sum[k];
            i32 sign = __any_sync(FULL, bits != 0) ? 1 : 0;
            if (sum[EXACT_WORDS - 1] >> 31) sign = -1;
            if (mine) (which == 0 ? trace : discriminant) = sign;
            __syncwarp();
        }
    }
}

// The products of a sum whose sign one thread finds by itself, without an accumulator.
struct ExactTerms {
    Product a[4], b[2], c[2];  // of a + d or a - d, of b, of c

    template <typename T>
    __device__ __forceinline__ ExactTerms(
        const Corners<T>& p, i32 triangle, const Rule& rule, bool difference) {
        auto term = [&](const T corners[3], i32 end, double factor, bool negative) {
            return product((double)at_end(corners, triangle, end), factor, negative);
        };
        a[0] = term(p.u, X_END, rule.along_x, false), a[1] = term(p.u, X_BEGIN, rule.along_x, true);
        a[2] = term(p.v, Y_END, rule.along_y, difference);
        a[3] = term(p.v, Y_BEGIN, rule.along_y, !difference);
        b[0] = term(p.u, Y_END, rule.along_y, false), b[1] = term(p.u, Y_BEGIN, rule.along_y, true);
        c[0] = term(p.v, X_END, rule.along_x, false), c[1] = term(p.v, X_BEGIN, rule.along_x, true);
    }
    // Calls `each(magnitude, exponent, negative)` with the summands: of a + d, or of (a - d)^2 + 4 b c.
    template <typename Each>
    __device__ __forceinline__ void for_each(bool squared, Each each) const {
        u64 m[4] = {0, 0, 0, 0};
        auto add = [&](const Product& p, const Product& q, i32 doublings) {
            multiply(p, q, m);
            each(m, p.exponent + q.exponent + doublings, p.negative != q.negative);
        };
#pragma unroll 1
        for (i32 i = 0; i < 4; i++) {
            if (!squared) {
                m[0] = a[i].low, m[1] = a[i].high;
                each(m, a[i].exponent, a[i].negative);
                continue;
            }
#pragma unroll 1
            for (i32 j = i; j < 4; j++) add(a[i], a[j], j > i);
            add(b[i & 1], c[i >> 1], 2);
        }
    }
};

// The 32 bits from bit `at` on, which may be negative, of a number of 256 bits.
__device__ __forceinline__ u32 word_of(const u64 (&magnitude)[4], i32 at) {
    if (at <= -32 || at >= 256) return 0;
    if (at < 0) return (u32)(magnitude[0] << -at);
    const i32 k = at >> 6, shift = at & 63;
    const u64 here = magnitude[k], behind = k < 3 ? magnitude[k + 1] : 0;
    return (u32)(here >> shift | (shift ? behind << (64 - shift) : 0));
}

// The sign of the sum: its summands are added 32 bits at a time, from the lowest on.
__device__ __forceinline__ i32 sign_of_terms(const ExactTerms& terms, bool squared) {
    i32 least = 0x7fffffff, most = -0x7fffffff;
    terms.for_each(squared, [&](const u64(&m)[4], i32 exponent, bool) {
        if (m[0] | m[1] | m[2] | m[3]) least = min(least, exponent), most = max(most, exponent);
    });
    long long sum = 0;
    u32 any = 0;
#pragma unroll 1
    for (i32 at = least; most >= least && at < most + 256; at += 32) {
        terms.for_each(squared, [&](const u64(&m)[4], i32 exponent, bool negative) {
            const long long word = word_of(m, at - exponent);
            sum += negative ? -word : word;
        });
        any |= (u32)sum;
        sum >>= 32;
    }
    return sum < 0 ? -1 : sum > 0 || any ? 1 : 0;
}

// Exact signs of trace and discriminant for a triangle of one thread.
template <typename T>
__device__ __noinline__ void exact_type_of_thread(
    Corners<T> p, i32 triangle, Rule rule, i32& trace, i32& discriminant) {
    trace = sign_of_terms(ExactTerms(p, triangle, rule, false), false);
    discriminant = sign_of_terms(ExactTerms(p, triangle, rule, true), true);
}
