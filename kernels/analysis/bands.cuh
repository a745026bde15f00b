// What the entries of the analysis share (compare.cuh, critical_points.cuh). Twins of src/analysis: the same
// counts, the same points in the same order, and the same bits of every number.
//
// A warp walks down a band of rows; a lane has the WIDTH columns that 16 bytes hold, so a field is read once
// and in wide loads. The signs of components settle nearly every triangle; the others are read again and
// decided exactly.
#pragma once
#include "stream/container.cuh"
#include "grid/missing.cuh"
#include "grid/range.cuh"
#include "topology/signature.cuh"

namespace analysis {

template <typename T>
constexpr i32 WIDTH = 16 / sizeof(T);
constexpr i32 ANALYSIS_WARPS = 8;

__device__ __forceinline__ void add_count(u64& count, u64 more) {
    atomicAdd((unsigned long long*)&count, (unsigned long long)more);
}
__device__ __forceinline__ void raise_to(u64& most, u64 value) {
    atomicMax((unsigned long long*)&most, (unsigned long long)value);
}

// How many of the low bits of a mask are set in all lanes together.
template <i32 BITS>
__device__ __forceinline__ u32 count_bits(u32 mask) {
    u32 count = 0;
#pragma unroll
    for (i32 k = 0; k < BITS; k++) count += __popc(__ballot_sync(FULL, mask >> k & 1));
    return count;
}

template <typename T>
struct Columns {
    T at[WIDTH<T>];
    T edge;  // the column after those of the warp; its last lane has it
};

// Whether rows of a component may be read in vectors.
template <typename T>
__device__ __forceinline__ bool is_wide(const Component& c) {
    return c.layout.stride == 1 && c.layout.pitch % WIDTH<T> == 0 && ((u64)c.values & 15) == 0;
}

// The columns from x on of row y; NaN past the end of a row of nx.
template <typename T>
__device__ __forceinline__ Columns<T> load_columns(const Component& c, bool wide, u64 nx, u64 x, u64 y) {
    constexpr i32 W = WIDTH<T>;
    const T missing = Real<T>::from_bits(sizeof(T) == 4 ? 0x7fc00000ull : 0x7ff8000000000000ull);
    const T* row = static_cast<const T*>(c.values) + y * c.layout.pitch;
    Columns<T> out;
    if (wide && x + W <= nx) {
        struct alignas(16) Vector {
            T at[W];
        };
        const Vector v = *reinterpret_cast<const Vector*>(row + x);
#pragma unroll
        for (i32 k = 0; k < W; k++) out.at[k] = v.at[k];
    } else {
#pragma unroll
        for (i32 k = 0; k < W; k++) out.at[k] = x + k < nx ? row[(x + k) * c.layout.stride] : missing;
    }
    out.edge = missing;
    if ((threadIdx.x & 31) == 31 && x + W < nx) out.edge = row[(x + W) * c.layout.stride];
    return out;
}

template <typename T>
struct Pair {
    Columns<T> u, v;
};

template <typename T>
__device__ __forceinline__ Pair<T> load_pair(
    const FieldView& field, const bool wide[2], u64 nx, u64 x, u64 y) {
    return {load_columns<T>(field.u, wide[0], nx, x, y), load_columns<T>(field.v, wide[1], nx, x, y)};
}

// What the class of a triangle follows from: of a vertex, and of the vertices of a triangle by and, or by or.
enum : u32 {
    U_ABOVE = 1,
    U_BELOW = 2,
    V_ABOVE = 4,
    V_BELOW = 8,
    FIRST_SIDES = U_ABOVE | U_BELOW | V_ABOVE | V_BELOW,
    OTHER_SIDES = FIRST_SIDES << 4,  // the same of the other field
    PRESENT = 1 << 8,                // finite in both fields, and not filled in the first
    SAME_BITS = 1 << 9,
    ZERO = 1 << 10,  // (0, 0) in the first field, and not filled
    FILLED = 1 << 11,
};

template <typename T>
__device__ __forceinline__ u32 sides(T u, T v) {
    return (u > T(0) ? U_ABOVE : 0) | (u < T(0) ? U_BELOW : 0) | (v > T(0) ? V_ABOVE : 0) |
           (v < T(0) ? V_BELOW : 0);
}

// The flags of the columns of a lane and the next one.
template <typename T>
struct Flags {
    u32 at[WIDTH<T> + 1];

    // All lanes of a warp come here; `edge` counts in the last one.
    __device__ __forceinline__ void take_next(u32 edge) {
        const u32 next = __shfl_down_sync(FULL, at[0], 1);
        at[WIDTH<T>] = (threadIdx.x & 31) == 31 ? edge : next;
    }
};

template <typename T>
__device__ __forceinline__ Corners<T> corners_of(const FieldView& field, u64 x, u64 y, i32 triangle) {
    Corners<T> p;
#pragma unroll
    for (i32 k = 0; k < 3; k++) {
        const u64 cx = x + corner_x(triangle, k), cy = y + corner_y(triangle, k);
        p.u[k] =
            static_cast<const T*>(field.u.values)[cy * field.u.layout.pitch + cx * field.u.layout.stride];
        p.v[k] =
            static_cast<const T*>(field.v.values)[cy * field.v.layout.pitch + cx * field.v.layout.stride];
    }
    return p;
}

// ---------------------------------------------------------------- exact types

// A sum of products of up to four doubles as an integer in two's complement, in shared memory, one for a
// warp. Its first bit is worth 2^EXACT_LOWEST, the last bit of the smallest product; a discriminant is below
// 2^4103.
constexpr i32 EXACT_WORDS = 264;
constexpr i32 EXACT_LOWEST = -4296;

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
    // The words above are 0, or all ones of a negated magnitude: without a carry nothing changes, or one is
    // taken.
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
    m[2] += m[1] < lh;  // no overflow: the high half of a product is below 2^64 - 1
    m[1] += hl;
    const u64 middle = __umul64hi(p.high, q.low) + (m[1] < hl);
    m[2] += middle;
    m[3] += m[2] < middle;
    m[2] += hh;
    m[3] += m[2] < hh;
    add_exactly(sum, m, p.exponent + q.exponent + doublings, p.negative != q.negative);
}

// The exact signs of trace and discriminant of the triangles that ask, one lane after the other. All lanes of
// a warp come here. Twin of exact_type, in integers.
template <typename T>
__device__ __noinline__ void exact_type(
    bool asks, Corners<T> p, i32 triangle, double dx, double dy, u32* sum, i32& trace, i32& discriminant) {
    const i32 lane = threadIdx.x & 31;
    for (u32 open = __ballot_sync(FULL, asks); open; open &= open - 1) {
        const bool mine = lane == __ffs((i32)open) - 1;
#pragma unroll 1
        for (i32 which = 0; which < 2; which++) {
            for (i32 k = lane; k < EXACT_WORDS; k += 32) sum[k] = 0;
            __syncwarp();
            if (mine) {
                // As in jacobian: differences along x, then along y, times the spacing of the other axis.
                const bool lower = triangle == LOWER;
                const double ux = lower ? p.u[0] : p.u[2], vx = lower ? p.v[0] : p.v[2];
                const double uy = lower ? p.u[1] : p.u[0], vy = lower ? p.v[1] : p.v[0];
                const bool difference = which == 1;
                // a + d, or a - d.
                const Product e[4] = {product(p.u[1], dy, false), product(ux, dy, true),
                    product(p.v[2], dx, difference), product(vy, dx, !difference)};
                if (which == 0) {
#pragma unroll 1
                    for (i32 i = 0; i < 4; i++) add_product(sum, e[i]);
                } else {
#pragma unroll 1
                    for (i32 i = 0; i < 4; i++)
#pragma unroll 1
                        for (i32 j = i; j < 4; j++) add_product(sum, e[i], e[j], j > i);
                    const Product b[2] = {product(p.u[2], dx, false), product(uy, dx, true)};
                    const Product c[2] = {product(p.v[1], dy, false), product(vx, dy, true)};
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

enum : i32 {
    SADDLE,
    ATTRACTING_NODE,
    REPELLING_NODE,
    ATTRACTING_FOCUS,
    REPELLING_FOCUS,
    CENTER,
    POINT_TYPES
};

// The type of the critical point in a triangle with this orientation, of the lanes that hold one. All lanes
// of a warp come here. Twin of kind_of.
template <typename T>
__device__ __forceinline__ i32 point_type(
    bool holds, const Corners<T>& p, i32 orientation, i32 triangle, double dx, double dy, u32* sum) {
    i32 trace = 0, discriminant = 0;
    const bool turns = holds && orientation > 0;
    if (turns) {
        const Jacobian j = jacobian(p, triangle, Rule{true, dx, dy});
        double t, d, t_error, d_error;
        trace_discriminant(j, t, d);
        type_errors(j, 0.0, 0.0, t_error, d_error);
        trace = certain_sign(t, t_error);
        discriminant = certain_sign(d, d_error);
    }
    const bool uncertain = turns && (trace == 0 || discriminant == 0);
    if (__any_sync(FULL, uncertain)) exact_type(uncertain, p, triangle, dx, dy, sum, trace, discriminant);
    if (orientation < 0) return SADDLE;
    if (trace == 0) return CENTER;
    if (trace > 0) return discriminant < 0 ? REPELLING_FOCUS : REPELLING_NODE;
    return discriminant < 0 ? ATTRACTING_FOCUS : ATTRACTING_NODE;
}

}  // namespace analysis
