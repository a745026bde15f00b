// Entries of the analysis: what the header of a stream says, how two fields differ, critical points. Twins of
// src/analysis/compare.rs and src/analysis/critical_points.rs: the same counts, the same points in the same
// order, and the same bits of every number.
//
// A warp walks down a band of rows; a lane has the WIDTH columns that 16 bytes hold, so a field is read once and
// in wide loads. The signs of components settle nearly every triangle; the others are read again and decided exactly.
#pragma once
#include "stage/container.cuh"
#include "stage/signature.cuh"

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

// The columns from x on of row y; NaN past the end of the row.
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

// What the class of a triangle follows from: of a vertex, and of the vertices of a triangle by and, or by or.
enum : u32 {
    U_ABOVE = 1,
    U_BELOW = 2,
    V_ABOVE = 4,
    V_BELOW = 8,
    FIRST_SIDES = U_ABOVE | U_BELOW | V_ABOVE | V_BELOW,
    OTHER_SIDES = FIRST_SIDES << 4,  // the same of the other field
    ALL_FINITE = 1 << 8,             // in both fields
    SAME_BITS = 1 << 9,
    ZERO = 1 << 10,  // (0, 0) in the first field
};

template <typename T>
__device__ __forceinline__ u32 sides(T u, T v) {
    return (u > T(0) ? U_ABOVE : 0) | (u < T(0) ? U_BELOW : 0) | (v > T(0) ? V_ABOVE : 0) | (v < T(0) ? V_BELOW : 0);
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
        p.u[k] = static_cast<const T*>(field.u.values)[cy * field.u.layout.pitch + cx * field.u.layout.stride];
        p.v[k] = static_cast<const T*>(field.v.values)[cy * field.v.layout.pitch + cx * field.v.layout.stride];
    }
    return p;
}

// ---------------------------------------------------------------- exact types

// A sum of products of up to four doubles as an integer in two's complement, in shared memory, one for a warp.
// Its first bit is worth 2^EXACT_LOWEST, the last bit of the smallest product; a discriminant is below 2^4103.
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
    // The words above are 0, or all ones of a negated magnitude: without a carry nothing changes, or one is taken.
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

// The exact signs of trace and discriminant of the triangles that ask, one lane after the other. All lanes of a
// warp come here. Twin of exact_type, in integers.
template <typename T>
__device__ __noinline__ void exact_type(bool asks, Corners<T> p, i32 triangle, double dx, double dy, u32* sum,
                                        i32& trace, i32& discriminant) {
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

enum : i32 { SADDLE, ATTRACTING_NODE, REPELLING_NODE, ATTRACTING_FOCUS, REPELLING_FOCUS, CENTER, POINT_TYPES };

// The type of the critical point in a triangle with this orientation, of the lanes that hold one. All lanes of a
// warp come here. Twin of kind_of.
template <typename T>
__device__ __forceinline__ i32 point_type(bool holds, const Corners<T>& p, i32 orientation, i32 triangle, double dx,
                                          double dy, u32* sum) {
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

// ---------------------------------------------------------------- comparison

// One row of both fields.
template <typename T>
struct Line {
    Columns<T> u[2], v[2];  // the first field and the other
};

template <typename T>
__device__ __forceinline__ Line<T> load_line(const Analysis& job, const bool wide[4], u64 x, u64 y) {
    Line<T> line;
#pragma unroll
    for (i32 f = 0; f < 2; f++) {
        line.u[f] = load_columns<T>(job.fields[f].u, wide[2 * f], job.nx, x, y);
        line.v[f] = load_columns<T>(job.fields[f].v, wide[2 * f + 1], job.nx, x, y);
    }
    return line;
}

template <typename T>
__device__ __forceinline__ u32 compared(T u0, T v0, T u1, T v1) {
    typedef Real<T> R;
    u32 flags = sides(u0, v0) | sides(u1, v1) << 4;
    if (R::finite(u0) & R::finite(v0) & R::finite(u1) & R::finite(v1)) flags |= ALL_FINITE;
    if ((R::bits(u0) == R::bits(u1)) & (R::bits(v0) == R::bits(v1))) flags |= SAME_BITS;
    if ((u0 == T(0)) & (v0 == T(0))) flags |= ZERO;
    return flags;
}

template <typename T>
__device__ __forceinline__ Flags<T> flags_of(const Line<T>& line) {
    Flags<T> flags;
#pragma unroll
    for (i32 k = 0; k < WIDTH<T>; k++)
        flags.at[k] = compared(line.u[0].at[k], line.v[0].at[k], line.u[1].at[k], line.v[1].at[k]);
    flags.take_next(compared(line.u[0].edge, line.v[0].edge, line.u[1].edge, line.v[1].edge));
    return flags;
}

// What a lane has seen.
struct Seen {
    u32 zero, changed_zeros, nonfinite, changed_nonfinite, exceeded, pairs;
    double largest;
};

// What a lane has seen of one band.
template <typename T>
struct Band {
    double squares[2][WIDTH<T>];
    T low, high;
};

// How much larger |b - a| is than its rounding |difference|: twin of rest.
__device__ __forceinline__ double rest_of_difference(double b, double a, double difference) {
    const double y = -a, t = difference - b;
    const double error = (b - (difference - t)) + (y - t);
    return difference >= 0.0 ? error : -error;
}

template <typename T>
__device__ __forceinline__ void see_value(T before, T after, double bound, Seen& seen, Band<T>& band, double& squares) {
    const double a = (double)before, b = (double)after, difference = b - a, error = fabs(difference);
    squares += difference * difference;
    band.low = Real<T>::low(band.low, before);
    band.high = Real<T>::high(band.high, before);
    if (error > seen.largest) seen.largest = error;
    // Rounding is monotone: only where the rounded error equals the bound is the rest needed.
    if (error >= bound && (error > bound || rest_of_difference(b, a, difference) > 0.0)) seen.exceeded++;
}

template <typename T>
__device__ __forceinline__ void see_vertices(const Line<T>& line, const Flags<T>& flags, i32 columns, double bound,
                                             Seen& seen, Band<T>& band) {
    typedef Real<T> R;
#pragma unroll
    for (i32 k = 0; k < WIDTH<T>; k++) {
        if (k >= columns) continue;
        const T a = line.u[0].at[k], b = line.v[0].at[k], c = line.u[1].at[k], d = line.v[1].at[k];
        const bool zero = flags.at[k] & ZERO, other_zero = (c == T(0)) & (d == T(0));
        seen.zero += zero;
        seen.changed_zeros += zero != other_zero;
        if (flags.at[k] & ALL_FINITE) {
            seen.pairs++;
            see_value(a, c, bound, seen, band, band.squares[0][k]);
            see_value(b, d, bound, seen, band, band.squares[1][k]);
        } else {
            const bool was_finite = R::finite(a) & R::finite(b);
            seen.nonfinite += !was_finite;
            // A finite vertex is here because it did not stay finite.
            seen.changed_nonfinite += was_finite || !(flags.at[k] & SAME_BITS);
            if (R::finite(a) & R::finite(c)) {
                seen.pairs++;
                see_value(a, c, bound, seen, band, band.squares[0][k]);
            }
            if (R::finite(b) & R::finite(d)) see_value(b, d, bound, seen, band, band.squares[1][k]);
        }
    }
}

// Adds the number of lanes for which something holds.
__device__ __forceinline__ void count_lanes(u64* counts, i32 what, bool holds) {
    const u32 lanes = __ballot_sync(FULL, holds);
    if (lanes && (threadIdx.x & 31) == 0) add_count(counts[what], __popc(lanes));
}

// Compares a triangle of each lane that has one. All lanes of a warp come here.
template <typename T>
__device__ __noinline__ void compare_triangle(bool has, Corners<T> p0, Corners<T> p1, bool same, i32 triangle,
                                              double dx, double dy, u64* counts, u32* sum) {
    i32 s0[3] = {0, 0, 0}, s1[3] = {0, 0, 0};
    u32 k0 = OUT, k1 = OUT;
    if (has) {
        signs(p0, s0);
        signs(p1, s1);
        k0 = kind(p0, s0);
        k1 = kind(p1, s1);
    }
    const bool in0 = k0 == IN, in1 = k1 == IN, tie0 = k0 == TIE, tie1 = k1 == TIE;
    bool flipped = s0[0] != s1[0] || s0[1] != s1[1] || s0[2] != s1[2];
    for (i32 k = 0; k < 3; k++) flipped |= has && (sign(p0.u[k]) != sign(p1.u[k]) || sign(p0.v[k]) != sign(p1.v[k]));
    count_lanes(counts, COUNT_TIES, tie0);
    count_lanes(counts, COUNT_NEW_TIES, !tie0 && tie1);
    count_lanes(counts, COUNT_CHANGED_TIES, tie0 && (!tie1 || flipped));
    if (!__any_sync(FULL, in0 || in1)) return;
    count_lanes(counts, COUNT_POINTS, in0);
    count_lanes(counts, COUNT_OTHER_POINTS, in1);
    count_lanes(counts, COUNT_LOST, in0 && !in1);
    count_lanes(counts, COUNT_NEW, !in0 && in1);
    const i32 type0 = point_type(in0, p0, s0[0], triangle, dx, dy, sum);
    for (i32 type = 0; type < POINT_TYPES; type++) count_lanes(counts, COUNT_BY_TYPE + type, in0 && type0 == type);
    const bool both = in0 && in1 && !same;
    if (!__any_sync(FULL, both)) return;
    const i32 type1 = point_type(both, p1, s1[0], triangle, dx, dy, sum);
    count_lanes(counts, COUNT_CHANGED_TYPES, both && type0 != type1);
}

// Compares the cells of row y whose vertices have these flags.
template <typename T>
__device__ __forceinline__ void compare_cells(const Analysis& job, const Flags<T>& low, const Flags<T>& high, u64 x,
                                              u64 y, u64* counts, u32* sum) {
    constexpr i32 W = WIDTH<T>;
    u32 open = 0, same = 0, land = 0;  // bit 2 * k + triangle
#pragma unroll
    for (i32 k = 0; k < W; k++) {
        const u32 diagonal = low.at[k] & high.at[k + 1];
#pragma unroll
        for (i32 triangle = LOWER; triangle <= UPPER; triangle++) {
            const u32 all = diagonal & (triangle == LOWER ? low.at[k + 1] : high.at[k]), bit = 1u << (2 * k + triangle);
            // A component of one sign tells the class; where both fields have one, or the same values, all is said.
            const bool said = (all & FIRST_SIDES) && (all & (SAME_BITS | OTHER_SIDES));
            if ((all & ALL_FINITE) && !said) open |= bit;
            if (all & SAME_BITS) same |= bit;
            if (all & ZERO) land |= bit;
        }
    }
    if (!__any_sync(FULL, open != 0)) return;
    // (0, 0) at all corners and no change: a tie that stays.
    const u32 ties = count_bits<2 * W>(open & same & land);
    if (ties && (threadIdx.x & 31) == 0) add_count(counts[COUNT_TIES], ties);
    open &= ~(same & land);
    for (; __any_sync(FULL, open != 0); open &= open - 1) {
        const bool has = open != 0;
        const i32 bit = has ? __ffs((i32)open) - 1 : 0, triangle = bit & 1;
        Corners<T> p0 = {}, p1 = {};
        if (has) {
            p0 = corners_of<T>(job.fields[0], x + (bit >> 1), y, triangle);
            p1 = corners_of<T>(job.fields[1], x + (bit >> 1), y, triangle);
        }
        compare_triangle<T>(has, p0, p1, same >> bit & 1, triangle, job.dx, job.dy, counts, sum);
    }
}

// Sums over the lanes of a warp, neighbours first: the same tree on the host.
__device__ __forceinline__ double warp_tree(double x) {
    for (i32 k = 1; k < 32; k *= 2) x += __shfl_xor_sync(FULL, x, k);
    return x;
}

__device__ __forceinline__ void join_parts(double* a, const double* b) {
    a[0] += b[0];
    a[1] += b[1];
    a[2] = fmin(a[2], b[2]);
    a[3] = fmax(a[3], b[3]);
}

// Grid: any. Block: 256, a warp for 32 * WIDTH columns of a band of 32 rows. Sums of squared errors go up fixed
// trees: over the rows of a band one by one, then over neighbouring columns, then over bands. Counts have no order.
template <typename T>
__device__ __forceinline__ void compare(const Analysis& job) {
    constexpr i32 W = WIDTH<T>;
    __shared__ u64 counts[COUNTS];
    __shared__ u32 sums[ANALYSIS_WARPS][EXACT_WORDS];
    __shared__ double parts[ANALYSIS_WARPS][PART];
    const i32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    for (i32 k = threadIdx.x; k < COUNTS; k += blockDim.x) counts[k] = 0;
    __syncthreads();
    bool wide[4];
#pragma unroll
    for (i32 f = 0; f < 2; f++) {
        wide[2 * f] = is_wide<T>(job.fields[f].u);
        wide[2 * f + 1] = is_wide<T>(job.fields[f].v);
    }
    constexpr u64 STRIP = 32 * W, CHUNK = ANALYSIS_WARPS * STRIP;
    const u64 chunks = (job.nx + CHUNK - 1) / CHUNK, bands = (job.ny + ANALYSIS_ROWS - 1) / ANALYSIS_ROWS;
    Seen seen = {0, 0, 0, 0, 0, 0, 0.0};
    for (u64 item = blockIdx.x; item < chunks * bands; item += gridDim.x) {
        const u64 chunk = item % chunks, y0 = item / chunks * ANALYSIS_ROWS;
        const u64 strip = chunk * CHUNK + warp * STRIP, x = strip + lane * W;
        Band<T> band;
        for (i32 k = 0; k < W; k++) band.squares[0][k] = band.squares[1][k] = 0.0;
        band.low = Real<T>::from_bits(sizeof(T) == 4 ? 0x7f800000ull : 0x7ff0000000000000ull);
        band.high = -band.low;
        if (strip < job.nx) {
            // The row below the band ends its last cells.
            const u64 rows = job.ny - y0 < ANALYSIS_ROWS ? job.ny - y0 : ANALYSIS_ROWS;
            const u64 last = rows == job.ny - y0 ? rows - 1 : rows;
            const i32 columns = x >= job.nx ? 0 : job.nx - x < W ? (i32)(job.nx - x) : W;
            Line<T> line = load_line<T>(job, wide, x, y0);
            Flags<T> above;
            for (u64 row = 0; row <= last; row++) {
                Line<T> next = line;
                if (row < last) next = load_line<T>(job, wide, x, y0 + row + 1);
                const Flags<T> flags = flags_of(line);
                if (row < rows) see_vertices(line, flags, columns, job.bound, seen, band);
                if (row > 0) compare_cells(job, above, flags, x, y0 + row - 1, counts, sums[warp]);
                above = flags;
                line = next;
            }
        }
        double part[PART];
#pragma unroll
        for (i32 c = 0; c < 2; c++) {
            double* s = band.squares[c];
            for (i32 step = 1; step < W; step *= 2)
                for (i32 k = 0; k < W; k += 2 * step) s[k] += s[k + step];
            part[c] = warp_tree(s[0]);
        }
        T lowest = band.low, highest = band.high;
        for (i32 k = 1; k < 32; k *= 2) {
            lowest = Real<T>::low(lowest, __shfl_xor_sync(FULL, lowest, k));
            highest = Real<T>::high(highest, __shfl_xor_sync(FULL, highest, k));
        }
        part[2] = (double)lowest;
        part[3] = (double)highest;
        if (lane == 0)
            for (i32 k = 0; k < PART; k++) parts[warp][k] = part[k];
        __syncthreads();
        if (warp == 0) {
            for (i32 step = 1; step < ANALYSIS_WARPS; step *= 2) {
                if (lane % (2 * step) == 0 && lane < ANALYSIS_WARPS) join_parts(parts[lane], parts[lane + step]);
                __syncwarp();
            }
            if (lane < PART) job.parts[item * PART + lane] = parts[0][lane];
        }
        __syncthreads();
    }
    const u32 own[] = {seen.zero,     seen.changed_zeros, seen.nonfinite, seen.changed_nonfinite,
                       seen.exceeded, seen.pairs};
    constexpr i32 PLACES[] = {COUNT_ZERO,     COUNT_CHANGED_ZEROS, COUNT_NONFINITE, COUNT_CHANGED_NONFINITE,
                              COUNT_EXCEEDED, COUNT_PAIRS};
#pragma unroll
    for (i32 k = 0; k < 6; k++)
        if (own[k]) add_count(counts[PLACES[k]], own[k]);
    // The bits of doubles that are not negative are in order.
    if (seen.largest > 0.0) raise_to(counts[COUNT_LARGEST], (u64)__double_as_longlong(seen.largest));
    __syncthreads();
    for (i32 k = threadIdx.x; k < COUNTS; k += blockDim.x) {
        if (!counts[k]) continue;
        if (k == COUNT_LARGEST)
            raise_to(job.counts[k], counts[k]);
        else
            add_count(job.counts[k], counts[k]);
    }
}

// log10 of a positive finite number within 2^-52 of the larger summand, the same bits on the host: twin of log10.
__device__ inline double log10_of(double x) {
    i32 exponent = 0;
    if (x < 2.2250738585072014e-308) {
        x *= 18014398509481984.0;  // 2^54
        exponent = -54;
    }
    const u64 bits = (u64)__double_as_longlong(x);
    exponent += (i32)(bits >> 52) - 1023;
    double m = __longlong_as_double((long long)((bits & 0xfffffffffffffull) | 0x3ff0000000000000ull));
    if (m > 1.4142135623730951) {
        m *= 0.5;
        exponent++;
    }
    const double s = (m - 1.0) / (m + 1.0), z = s * s;
    double series = 0.0;
    for (i32 k = 10; k >= 0; k--) series = series * z + 1.0 / (double)(2 * k + 1);
    return ((double)exponent * 0.6931471805599453 + 2.0 * s * series) / 2.302585092994046;
}

// Peak signal-to-noise ratio in dB; NaN where it is not defined. Twin of the end of Part::finish.
__device__ inline double psnr_of(const double part[PART], u64 pairs) {
    const double undefined = __longlong_as_double(0x7ff8000000000000ll),
                 infinite = __longlong_as_double(0x7ff0000000000000ll);
    if (pairs == 0) return undefined;
    const double mean = (part[0] + part[1]) / (double)(2 * pairs), range = part[3] - part[2];
    if (!(mean < infinite) || !(range < infinite)) return undefined;
    if (mean == 0.0) return infinite;
    return range > 0.0 ? 20.0 * log10_of(range) - 10.0 * log10_of(mean) : undefined;
}

// Grid: 1. Block: 1024. Joins the parts of chunks and bands up the same tree, and writes the result.
template <typename T>
__device__ __forceinline__ void compare_end(const Analysis& job) {
    constexpr u64 CHUNK = ANALYSIS_WARPS * 32 * WIDTH<T>;
    const u64 chunks = (job.nx + CHUNK - 1) / CHUNK, bands = (job.ny + ANALYSIS_ROWS - 1) / ANALYSIS_ROWS;
    // Over the chunks of each band, then over the first parts of the bands.
    for (i32 pass = 0; pass < 2; pass++) {
        const u64 length = pass == 0 ? chunks : bands, lines = pass == 0 ? bands : 1;
        const u64 stride = pass == 0 ? 1 : chunks;
        for (u64 step = 1; step < length; step *= 2) {
            const u64 joins = (length - step + 2 * step - 1) / (2 * step);
            for (u64 k = threadIdx.x; k < joins * lines; k += blockDim.x) {
                const u64 at = (k / joins * chunks) + k % joins * 2 * step * stride;
                join_parts(job.parts + at * PART, job.parts + (at + step * stride) * PART);
            }
            __syncthreads();
        }
    }
    if (threadIdx.x != 0) return;
    const u64* counts = job.counts;
    Comparison c = {};
    c.violations = counts[COUNT_LOST] + counts[COUNT_NEW] + counts[COUNT_CHANGED_TYPES] + counts[COUNT_CHANGED_TIES] +
                   counts[COUNT_NEW_TIES] + counts[COUNT_CHANGED_NONFINITE] + counts[COUNT_EXCEEDED];
    c.critical_points = counts[COUNT_POINTS];
    c.other_critical_points = counts[COUNT_OTHER_POINTS];
    c.lost_points = counts[COUNT_LOST];
    c.new_points = counts[COUNT_NEW];
    c.changed_types = counts[COUNT_CHANGED_TYPES];
    c.ties = counts[COUNT_TIES];
    c.changed_ties = counts[COUNT_CHANGED_TIES];
    c.new_ties = counts[COUNT_NEW_TIES];
    c.nonfinite_vertices = counts[COUNT_NONFINITE];
    c.changed_nonfinite = counts[COUNT_CHANGED_NONFINITE];
    c.zero_vertices = counts[COUNT_ZERO];
    c.changed_zeros = counts[COUNT_CHANGED_ZEROS];
    c.bound_exceeded = counts[COUNT_EXCEEDED];
    c.bound = job.bound;
    c.max_error = __longlong_as_double((long long)counts[COUNT_LARGEST]);
    c.psnr = psnr_of(job.parts, counts[COUNT_PAIRS]);
    for (i32 type = 0; type < POINT_TYPES; type++) c.points_by_type[type] = counts[COUNT_BY_TYPE + type];
    c.status = STATUS_OK;
    *job.comparison = c;
}

// ---------------------------------------------------------------- critical points

template <typename T>
struct Pair {
    Columns<T> u, v;
};

template <typename T>
__device__ __forceinline__ Pair<T> load_pair(const FieldView& field, const bool wide[2], u64 nx, u64 x, u64 y) {
    return {load_columns<T>(field.u, wide[0], nx, x, y), load_columns<T>(field.v, wide[1], nx, x, y)};
}

template <typename T>
__device__ __forceinline__ Flags<T> flags_of(const Pair<T>& row) {
    Flags<T> flags;
#pragma unroll
    for (i32 k = 0; k < WIDTH<T>; k++) flags.at[k] = sides(row.u.at[k], row.v.at[k]);
    flags.take_next(sides(row.u.edge, row.v.edge));
    return flags;
}

// Bit 2 * k + triangle: the triangle of cell x + k of row y holds a critical point.
template <typename T>
__device__ __forceinline__ u32 points_between(const FieldView& field, const Flags<T>& low, const Flags<T>& high, u64 nx,
                                              u64 x, u64 y) {
    u32 open = 0, found = 0;
#pragma unroll
    for (i32 k = 0; k < WIDTH<T>; k++) {
        const u32 diagonal = low.at[k] | high.at[k + 1];
        // u and v have both signs around a critical point.
        if ((diagonal | low.at[k + 1]) == FIRST_SIDES) open |= 1u << 2 * k;
        if ((diagonal | high.at[k]) == FIRST_SIDES) open |= 2u << 2 * k;
    }
    for (; open; open &= open - 1) {
        const i32 bit = __ffs((i32)open) - 1;
        if (x + (bit >> 1) + 1 >= nx) continue;
        const Corners<T> p = corners_of<T>(field, x + (bit >> 1), y, bit & 1);
        if (!finite(p)) continue;
        i32 s[3];
        signs(p, s);
        if (kind(p, s) == IN) found |= 1u << bit;
    }
    return found;
}

// Grid: any. Block: 256, a warp for 32 * WIDTH columns, a segment, of a band of 32 rows of cells. Counts the points
// of each segment of a row and of each row.
template <typename T>
__device__ __forceinline__ void find_points(const Analysis& job) {
    constexpr i32 W = WIDTH<T>;
    constexpr u64 STRIP = 32 * W;
    if (job.nx < 2 || job.ny < 2) return;
    const i32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const bool wide[2] = {is_wide<T>(job.fields[0].u), is_wide<T>(job.fields[0].v)};
    const u64 segments = (job.nx + STRIP - 1) / STRIP, rows = job.ny - 1;
    const u64 groups = (segments + ANALYSIS_WARPS - 1) / ANALYSIS_WARPS;
    const u64 bands = (rows + ANALYSIS_ROWS - 1) / ANALYSIS_ROWS;
    for (u64 item = blockIdx.x; item < groups * bands; item += gridDim.x) {
        const u64 segment = item % groups * ANALYSIS_WARPS + warp, y0 = item / groups * ANALYSIS_ROWS;
        if (segment >= segments) continue;
        const u64 x = segment * STRIP + lane * W, end = y0 + ANALYSIS_ROWS < rows ? y0 + ANALYSIS_ROWS : rows;
        Pair<T> next = load_pair<T>(job.fields[0], wide, job.nx, x, y0 + 1);
        Flags<T> low = flags_of(load_pair<T>(job.fields[0], wide, job.nx, x, y0));
        for (u64 y = y0; y < end; y++) {
            const Pair<T> row = next;
            if (y + 1 < end) next = load_pair<T>(job.fields[0], wide, job.nx, x, y + 2);
            const Flags<T> high = flags_of(row);
            const u32 found = points_between(job.fields[0], low, high, job.nx, x, y);
            u32 count = 0;
            if (__any_sync(FULL, found != 0)) count = count_bits<2 * WIDTH<T>>(found);
            if (lane == 0) {
                job.segments[y * segments + segment] = (u16)count;
                if (count) add_count(job.rows[y], count);
            }
            low = high;
        }
    }
}

// The sum of x over the lanes before this one.
__device__ __forceinline__ u64 sum_before(u64 x) {
    const i32 lane = threadIdx.x & 31;
    u64 sum = x;
    for (i32 k = 1; k < 32; k *= 2) {
        const u64 other = __shfl_up_sync(FULL, sum, k);
        if (lane >= k) sum += other;
    }
    return sum - x;
}

// Grid: 1. Block: 1024. Turns the counts of the rows into places, the number of all points behind them.
template <typename T>
__device__ __forceinline__ void place_points(const Analysis& job) {
    __shared__ u64 warps[32];
    const u64 rows = job.nx < 2 ? 0 : job.ny - 1, each = (rows + blockDim.x - 1) / blockDim.x;
    const u64 begin = each * threadIdx.x < rows ? each * threadIdx.x : rows;
    const u64 end = begin + each < rows ? begin + each : rows;
    const i32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    u64 sum = 0;
    for (u64 y = begin; y < end; y++) sum += job.rows[y];
    u64 place = sum_before(sum);
    if (lane == 31) warps[warp] = place + sum;
    __syncthreads();
    if (warp == 0) {
        const u64 before = sum_before(warps[lane]);
        __syncwarp();
        warps[lane] = before;
    }
    __syncthreads();
    place += warps[warp];
    for (u64 y = begin; y < end; y++) {
        const u64 count = job.rows[y];
        job.rows[y] = place;
        place += count;
    }
    if (threadIdx.x == blockDim.x - 1) {
        job.rows[rows] = place;
        *job.count = place;
    }
}

// Where in its cell the field vanishes: twin of position.
template <typename T>
__device__ __forceinline__ void position_in_cell(const Corners<T>& p, i32 triangle, double& x, double& y) {
    double u[3], v[3], m[3], largest = 0.0;
#pragma unroll
    for (i32 k = 0; k < 3; k++) largest = fmax(largest, fmax(fabs((double)p.u[k]), fabs((double)p.v[k])));
#pragma unroll
    for (i32 k = 0; k < 3; k++) u[k] = (double)p.u[k] / largest, v[k] = (double)p.v[k] / largest;
    m[0] = fabs(u[1] * v[2] - u[2] * v[1]);
    m[1] = fabs(u[2] * v[0] - u[0] * v[2]);
    m[2] = fabs(u[0] * v[1] - u[1] * v[0]);
    const double sum = m[0] + m[1] + m[2];
    const double w1 = sum > 0.0 ? m[1] / sum : 1.0 / 3.0, w2 = sum > 0.0 ? m[2] / sum : 1.0 / 3.0;
    const double far = fmin(w1 + w2, 1.0);
    x = triangle == LOWER ? far : fmin(w1, far);
    y = triangle == LOWER ? fmin(w2, far) : far;
}

// Grid: any. Block: 256, a warp for a row of cells. Reads the segments that hold points again and writes those.
template <typename T>
__device__ __forceinline__ void write_points(const Analysis& job) {
    constexpr i32 W = WIDTH<T>;
    constexpr u64 STRIP = 32 * W;
    __shared__ u32 sums[ANALYSIS_WARPS][EXACT_WORDS];
    const i32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const bool wide[2] = {is_wide<T>(job.fields[0].u), is_wide<T>(job.fields[0].v)};
    const u64 segments = (job.nx + STRIP - 1) / STRIP, rows = job.nx < 2 ? 0 : job.ny - 1;
    for (u64 y = (u64)blockIdx.x * ANALYSIS_WARPS + warp; y < rows; y += (u64)gridDim.x * ANALYSIS_WARPS) {
        u64 place = job.rows[y];
        const u64 end = job.rows[y + 1] < job.capacity ? job.rows[y + 1] : job.capacity;
        for (u64 first = 0; first < segments && place < end; first += 32) {
            const u32 count = first + lane < segments ? job.segments[y * segments + first + lane] : 0;
            for (u32 open = __ballot_sync(FULL, count != 0); open; open &= open - 1) {
                const i32 segment = __ffs((i32)open) - 1;
                const u64 x = (first + segment) * STRIP + lane * W;
                const Flags<T> low = flags_of(load_pair<T>(job.fields[0], wide, job.nx, x, y));
                const Flags<T> high = flags_of(load_pair<T>(job.fields[0], wide, job.nx, x, y + 1));
                u32 found = points_between(job.fields[0], low, high, job.nx, x, y);
                u64 at = place + sum_before(__popc(found));
                for (; __any_sync(FULL, found != 0); found &= found - 1) {
                    const bool holds = found != 0;
                    const i32 bit = holds ? __ffs((i32)found) - 1 : 0, k = bit >> 1, triangle = bit & 1;
                    Corners<T> p = {};
                    if (holds) p = corners_of<T>(job.fields[0], x + k, y, triangle);
                    const i32 orientation = holds ? sign_det(p.u[0], p.v[0], p.u[1], p.v[1]) : 0;
                    const i32 type = point_type(holds, p, orientation, triangle, job.dx, job.dy, sums[warp]);
                    if (!holds) continue;
                    if (at < end) {
                        CriticalPoint point;
                        point.cell_x = x + k;
                        point.cell_y = y;
                        double local_x, local_y;
                        position_in_cell(p, triangle, local_x, local_y);
                        point.x = ((double)(x + k) + local_x) * job.dx;
                        point.y = ((double)y + local_y) * job.dy;
                        point.triangle = triangle;
                        point.type = type;
                        job.points[at] = point;
                    }
                    at++;
                }
                place += __shfl_sync(FULL, count, segment);
            }
        }
    }
}

// ---------------------------------------------------------------- inspection

// Grid: 1. Block: 32. Twin of Header::read and of factz_info::from.
__device__ __forceinline__ void inspect(const Inspection& job) {
    if (threadIdx.x != 0) return;
    Info info = {};
    const u8* h = job.stream;
    info.status = job.stream_bytes < HEADER_BYTES ? STATUS_CORRUPT_STREAM : check_header(h);
    if (info.status == STATUS_OK) {
        info.format_version = get16(h + 4);
        info.stream_bytes = get64(h + 112);
        info.nx = get64(h + 32);
        info.ny = get64(h + 40);
        info.dx = get_f64(h + 80);
        info.dy = get_f64(h + 88);
        info.bound = get_f64(h + 56);
        info.absolute_bound = get_f64(h + 64);
        info.bound_kind = h[17];
        info.dtype = h[12];
        info.mode = h[13];
        info.coder = h[14];
        info.predictor = h[15];
        info.preserve = h[16];
    }
    *job.info = info;
}

}  // namespace analysis
