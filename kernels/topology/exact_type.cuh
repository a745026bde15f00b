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

// Adds p * q * 2^doublings.
__device__ inline void add_product(u32* sum, const Product& p, const Product& q, i32 doublings) {
    const u64 ll = p.low * q.low, lh = p.low * q.high, hl = p.high * q.low, hh = p.high * q.high;
    u64 m[4];
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
