// Strips of the field as the statistics read them: rows of vertices, their boxes, and how near their cells
// come to the origin.
#pragma once
#include "compress/statistics/block_ranges.cuh"
#include "compress/statistics/nearness.cuh"
#include "grid/missing.cuh"
#include "grid/pair.cuh"

// A strip is 128 columns of a row of tiles. With few strips a block takes a strip, a warp a part of its rows,
// so that all multiprocessors get equal work early. With many a warp takes a strip; the number of blocks is
// limited because factz_sort reads the results of all blocks.
#ifndef FACTZ_EMULATED
constexpr u32 FEW_STRIPS = MOST_FEW_STRIPS;
#else
constexpr u32 FEW_STRIPS = 4;  // small fields take both ways
#endif
__device__ __forceinline__ u64 strips_of_row(const Job& job) { return (job.tiles_x + 3) / 4; }
__device__ __forceinline__ bool has_few_strips(const Job& job) {
    return strips_of_row(job) * job.tiles_y <= FEW_STRIPS;
}
__device__ __forceinline__ u32 statistics_blocks(const Job& job) {
    const u64 strips = strips_of_row(job) * job.tiles_y,
              blocks = (strips + STATISTICS_WARPS - 1) / STATISTICS_WARPS;
    return has_few_strips(job)               ? (u32)strips
           : blocks < MOST_STATISTICS_BLOCKS ? (u32)blocks
                                             : MOST_STATISTICS_BLOCKS;
}

// Four neighbouring vertices of a row, the columns of a lane. At the right border the first one replaces
// missing ones.
template <typename T>
struct Four {
    T x[4];

    // Loads four aligned values.
    static __device__ __forceinline__ Four at(const T* from) {
        if (sizeof(T) == 4) {
            const float4 q = *reinterpret_cast<const float4*>(from);
            return {{(T)q.x, (T)q.y, (T)q.z, (T)q.w}};
        }
        typedef typename Real<T>::Pair P;
        const P p = reinterpret_cast<const P*>(from)[0], q = reinterpret_cast<const P*>(from)[1];
        return {{p.x, p.y, q.x, q.y}};
    }
};

// Rows of a strip that are being copied to shared memory, u and v, and the column after the strip.
template <typename T>
struct Strip {
    static constexpr i32 ROWS = 16 / sizeof(T);
    alignas(16) T values[ROWS][2][128];
    T behind[ROWS][2];

    // Starts the copy of the lane's columns. WIDE: four aligned columns.
    template <bool WIDE>
    __device__ __forceinline__ void ask(i32 row, i32 axis, const T* at, u64 stride, i32 count) {
        T* const to = values[row][axis] + 4 * (threadIdx.x & 31);
        if (WIDE) {
#pragma unroll
            for (i32 i = 0; i < 4; i += 16 / sizeof(T)) copy_ahead<16>(to + i, at + i);
        } else {
#pragma unroll
            for (i32 i = 0; i < 4; i++)
                if (i < count) copy_ahead<sizeof(T)>(to + i, at + i * stride);
        }
    }
    __device__ __forceinline__ void ask_behind(i32 row, i32 axis, const T* at) {
        copy_ahead<sizeof(T)>(&behind[row][axis], at);
    }
    template <bool WIDE>
    __device__ __forceinline__ Four<T> four(i32 row, i32 axis, i32 count) const {
        Four<T> f = Four<T>::at(values[row][axis] + 4 * (threadIdx.x & 31));
        if (!WIDE) {
            if (count == 0) f.x[0] = T(0);
#pragma unroll
            for (i32 i = 1; i < 4; i++)
                if (i >= count) f.x[i] = f.x[0];
        }
        return f;
    }
};

// Minimum and maximum that keep a NaN, for float. For double the result after a NaN is undefined.
template <typename T>
struct IfThere {
    static __device__ __forceinline__ T low(T a, T b) { return a < b ? a : b; }
    static __device__ __forceinline__ T high(T a, T b) { return a > b ? a : b; }
};
template <>
struct IfThere<float> {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    static __device__ __forceinline__ float low(float a, float b) {
        float c;
        asm("min.NaN.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
        return c;
    }
    static __device__ __forceinline__ float high(float a, float b) {
        float c;
        asm("max.NaN.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
        return c;
    }
#else
    static __device__ __forceinline__ float low(float a, float b) { return a < b || a != a ? a : b; }
    static __device__ __forceinline__ float high(float a, float b) { return a > b || a != a ? a : b; }
#endif
};

// Bounding box of the vectors of some vertices.
template <typename T, typename Order>
struct Box {
    T low_u, high_u, low_v, high_v;

    __device__ __forceinline__ Box() : low_u(0), high_u(0), low_v(0), high_v(0) {}
    template <typename Other>
    __device__ __forceinline__ explicit Box(const Box<T, Other>& o)
        : low_u(o.low_u), high_u(o.high_u), low_v(o.low_v), high_v(o.high_v) {}
    __device__ __forceinline__ Box(const Four<T>& u, const Four<T>& v) {
        low_u = Order::low(Order::low(u.x[0], u.x[1]), Order::low(u.x[2], u.x[3]));
        high_u = Order::high(Order::high(u.x[0], u.x[1]), Order::high(u.x[2], u.x[3]));
        low_v = Order::low(Order::low(v.x[0], v.x[1]), Order::low(v.x[2], v.x[3]));
        high_v = Order::high(Order::high(v.x[0], v.x[1]), Order::high(v.x[2], v.x[3]));
    }
    __device__ __forceinline__ void add(T u, T v) {
        low_u = Order::low(low_u, u), high_u = Order::high(high_u, u);
        low_v = Order::low(low_v, v), high_v = Order::high(high_v, v);
    }
    __device__ __forceinline__ void add(const Box& o) {
        low_u = Order::low(low_u, o.low_u), high_u = Order::high(high_u, o.high_u);
        low_v = Order::low(low_v, o.low_v), high_v = Order::high(high_v, o.high_v);
    }
    // Distance of the box from the origin per axis; negative if it contains the origin.
    __device__ __forceinline__ T distance() const {
        return Order::high(Order::high(low_u, -high_u), Order::high(low_v, -high_v));
    }
};

// NaN if a value is NaN or infinite, else 0.
template <typename T>
__device__ __forceinline__ T finite_test(const Four<T>& f) {
    T t = f.x[0] * T(0);
#pragma unroll
    for (i32 i = 1; i < 4; i++) t = Real<T>::fma(f.x[i], T(0), t);
    return t;
}

// As finite_test; FILLED: also NaN if a value equals the fill value.
template <bool FILLED, typename T>
__device__ __forceinline__ T odd_test(T x, u64 fill) {
    return FILLED && has_bits(x, fill) ? Real<T>::from_bits(no_fill<T>()) : x * T(0);
}
template <bool FILLED, typename T>
__device__ __forceinline__ T odd_test(const Four<T>& f, u64 fill) {
    if (!FILLED) return finite_test(f);
    T t = odd_test<FILLED>(f.x[0], fill);
#pragma unroll
    for (i32 i = 1; i < 4; i++) t += odd_test<FILLED>(f.x[i], fill);
    return t;
}

// Statistics of a lane.
template <typename T, bool FILLED>
struct LaneStatistics {
    SeenRange<T> range;
    u32 zero, nonfinite;
    u64 first;
    u64 fill;    // bits of the fill value
    u32 filled;  // filled and finite

    __device__ __forceinline__ explicit LaneStatistics(const Job& job)
        : range(SeenRange<T>::none()), zero(0), nonfinite(0), first(0), fill(job.fill), filled(0) {}
    __device__ __forceinline__ void add_zeros(const Four<T>& a, const Four<T>& b, i32 count) {
#pragma unroll
        for (i32 i = 0; i < 4; i++) zero += i < count && a.x[i] == T(0) && b.x[i] == T(0);
    }
    // Adds neighbours of a row from `vertex` on, some of which are missing.
    __device__ __forceinline__ void add_some_missing(
        const Four<T>& a, const Four<T>& b, i32 count, u64 vertex) {
#pragma unroll
        for (i32 i = 0; i < 4; i++) {
            if (i >= count) continue;
            const bool finite_u = Real<T>::finite(a.x[i]), finite_v = Real<T>::finite(b.x[i]);
            if (FILLED && is_filled(a.x[i], b.x[i], fill)) {
                filled += finite_u && finite_v;
            } else {
                if (finite_u) range.add(a.x[i], a.x[i]);
                if (finite_v) range.add(b.x[i], b.x[i]);
                zero += a.x[i] == T(0) && b.x[i] == T(0);
            }
            if (!(finite_u && finite_v)) {
                nonfinite++;
                const u64 index = ~(vertex + i);
                if (index > first) first = index;
            }
        }
    }
    // Adds neighbours of a row with their box; `odd` is 0 if none is missing.
    __device__ __forceinline__ void add(
        const Four<T>& a, const Four<T>& b, const Box<T, Real<T>>& box, T odd, i32 count, u64 vertex) {
        if (odd == T(0)) {
            range.add(Real<T>::low(box.low_u, box.low_v), Real<T>::high(box.high_u, box.high_v));
            if (box.low_u <= T(0) && box.high_u >= T(0) && box.low_v <= T(0) && box.high_v >= T(0))
                add_zeros(a, b, count);
        } else {
            add_some_missing(a, b, count, vertex);
        }
    }
};

// The cells between a lane's four columns, row by row: how near they come to the origin.
template <typename T>
struct LaneCells {
    typedef Real<T> R;
    Box<T, R> before;
    // near: cells of the current band of rows; before_band: of all earlier bands.
    T near, before_band, top, bottom, odd_before;

    __device__ __forceinline__ LaneCells() : odd_before(0) {
        near = before_band = top = bottom = R::infinity();
    }
    // Adds row y of the strip.
    __device__ __forceinline__ void add(i32 y, const Box<T, R>& box, T odd) {
        if (y > 0) {
            Box<T, R> both = box;
            both.add(before);
            const T distance = odd == T(0) && odd_before == T(0) ? both.distance() : T(-1);
            near = R::low(near, distance);
            if (y == 1) top = distance;
            bottom = distance;
        }
        before = box;
        odd_before = odd;
    }
    // Eight lanes share a tile; the first of them writes.
    __device__ __forceinline__ void end_band(const Job& job, u64 tile, bool writes, i32 band) {
        T least = near;
#pragma unroll
        for (i32 k = 1; k < 8; k *= 2) least = R::low(least, __shfl_xor_sync(FULL, least, k));
        if (writes) nearness_of(job, tile).bands[band] = float_down(least);
        before_band = R::low(before_band, near);
        near = R::infinity();
    }
    // After the last band. `first`, `last`: this part of the strip is its first or last; before_band covers
    // all parts.
    __device__ __forceinline__ void end(const Job& job, u64 tile, bool writes, bool first, bool last) {
        const T end = __shfl_sync(FULL, before_band, (threadIdx.x & 31) | 7);
#pragma unroll
        for (i32 k = 1; k < 8; k *= 2) {
            top = R::low(top, __shfl_xor_sync(FULL, top, k));
            bottom = R::low(bottom, __shfl_xor_sync(FULL, bottom, k));
        }
        if (!writes) return;
        Nearness& n = nearness_of(job, tile);
        if (first) n.top = float_down(top), n.left = float_down(before_band), n.right = float_down(end);
        if (last) n.bottom = float_down(bottom);
    }
};
