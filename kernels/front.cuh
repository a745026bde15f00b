// Entries of the front end: from values to symbols. No numerics of their own.
#pragma once
#include "stage/anchor.cuh"
#include "stage/tile.cuh"
#include "stage/tune.cuh"

// ---------------------------------------------------------------- the begin

// Grid: any. Block: any. Sets the control block to zero, and the counts where there are some. It is not launched early: all that came before on
// the stream is complete, and what begins beside it may read and write what it likes but for these.
template <typename T>
__device__ __forceinline__ void begin_call(const Job& job) {
    constexpr u32 CONTROL = sizeof(Control) / 8, COUNTS = TABLES * ALPHABET;
    const u32 all = CONTROL + (job.counts ? COUNTS : 0);
    for (u32 k = blockIdx.x * blockDim.x + threadIdx.x; k < all; k += gridDim.x * blockDim.x)
        (k < CONTROL ? reinterpret_cast<u64*>(job.control)[k] : job.counts[k - CONTROL]) = 0;
}

// ---------------------------------------------------------------- statistics

__device__ __forceinline__ u64 key_of(double x) {
    u64 b = (u64)__double_as_longlong(x);
    return b >> 63 ? ~b : b | 0x8000000000000000ull;
}
__device__ __forceinline__ double value_of(u64 key) {
    return __longlong_as_double((long long)(key >> 63 ? key & 0x7fffffffffffffffull : ~key));
}

// Bound and quantisation of the call, once the range is known.
template <typename T>
__device__ void decide_bound(const Job& job, Control& control) {
    bool any = control.high_key != 0;
    double low = any ? value_of(~control.low_key) : 0.0, high = any ? value_of(control.high_key) : 0.0;
    double bound = job.bound;
    if (job.bound_kind == 1) {
        bound = 0.0;
        if (any) {
            bound = job.bound * (high - low);
            if (isinf(bound) || isnan(bound)) {
                bound = job.bound * high - job.bound * low;
                if (!(bound < 1.7976931348623157e308)) bound = 1.7976931348623157e308;
            }
        }
    }
    double largest = fabs(low) > fabs(high) ? fabs(low) : fabs(high);
    control.bound = bound;
    control.bound_up = (double)round_up<T>(bound);
    control.quantum = quantum_of<T>(bound, (T)largest);
    control.quantizer.accept = (double)acceptance<T>(bound);
    control.has_fill = control.nonfinite != 0;
    if (control.has_fill) {
        u64 index = ~control.first_nonfinite;
        long long x = (long long)(index % job.nx), y = (long long)(index / job.nx);
        control.fill[0] = Real<T>::bits(*vertex_at<T>(job.u, job.u_layout, x, y));
        control.fill[1] = Real<T>::bits(*vertex_at<T>(job.v, job.v_layout, x, y));
    }
}

// Whether the rows of a field, and every fourth of their vertices, are aligned to sixteen bytes.
template <typename T>
__device__ __forceinline__ bool is_aligned(const Job& job) {
    return job.u_layout.stride == 1 && job.v_layout.stride == 1 && ((job.u_layout.pitch | job.v_layout.pitch) * sizeof(T)) % 16 == 0 &&
           (((u64)job.u | (u64)job.v) & 15) == 0;
}

// Four vertices of a row, the columns of one lane: fewer at the right border, where the first repeats.
template <typename T>
struct Four {
    T x[4];
};

// Rows of a strip that are on their way to a warp, u and v, with the column behind.
template <typename T>
struct Strip {
    static constexpr i32 ROWS = 16 / sizeof(T);
    alignas(16) T values[ROWS][2][128];
    T behind[ROWS][2];

    // By a lane for itself. WIDE where it has four columns that are aligned.
    template <bool WIDE>
    __device__ __forceinline__ void ask(i32 row, i32 axis, const T* at, u64 stride, i32 count, bool has_behind) {
        T* const to = values[row][axis] + 4 * (threadIdx.x & 31);
        if (WIDE) {
#pragma unroll
            for (i32 i = 0; i < 4; i += 16 / sizeof(T)) copy_ahead<16>(to + i, at + i);
        } else {
#pragma unroll
            for (i32 i = 0; i < 4; i++)
                if (i < count) copy_ahead<sizeof(T)>(to + i, at + i * stride);
        }
        if (has_behind) copy_ahead<sizeof(T)>(&behind[row][axis], at + 4 * stride);
    }
    template <bool WIDE>
    __device__ __forceinline__ Four<T> four(i32 row, i32 axis, i32 count) const {
        const T* const from = values[row][axis] + 4 * (threadIdx.x & 31);
        Four<T> f;
        if (sizeof(T) == 4) {
            const float4 q = *reinterpret_cast<const float4*>(from);
            f.x[0] = q.x, f.x[1] = q.y, f.x[2] = q.z, f.x[3] = q.w;
        } else {
            typedef typename Real<T>::Pair P;
            const P p = reinterpret_cast<const P*>(from)[0], q = reinterpret_cast<const P*>(from)[1];
            f.x[0] = p.x, f.x[1] = p.y, f.x[2] = q.x, f.x[3] = q.y;
        }
        if (!WIDE) {
            if (count == 0) f.x[0] = T(0);
#pragma unroll
            for (i32 i = 1; i < 4; i++)
                if (i >= count) f.x[i] = f.x[0];
        }
        return f;
    }
};

// The least and the largest u and v of some vertices.
template <typename T>
struct Box {
    T low_u, high_u, low_v, high_v;

    __device__ __forceinline__ Box() : low_u(0), high_u(0), low_v(0), high_v(0) {}
    __device__ __forceinline__ Box(const Four<T>& u, const Four<T>& v) {
        typedef Real<T> R;
        low_u = R::low(R::low(u.x[0], u.x[1]), R::low(u.x[2], u.x[3]));
        high_u = R::high(R::high(u.x[0], u.x[1]), R::high(u.x[2], u.x[3]));
        low_v = R::low(R::low(v.x[0], v.x[1]), R::low(v.x[2], v.x[3]));
        high_v = R::high(R::high(v.x[0], v.x[1]), R::high(v.x[2], v.x[3]));
    }
    __device__ __forceinline__ void add(T u, T v) {
        typedef Real<T> R;
        low_u = R::low(low_u, u), high_u = R::high(high_u, u);
        low_v = R::low(low_v, v), high_v = R::high(high_v, v);
    }
    // Distance from the origin to the box around this and another one; negative inside.
    __device__ __forceinline__ T distance(const Box& o) const {
        typedef Real<T> R;
        const T u = R::high(R::low(low_u, o.low_u), -R::high(high_u, o.high_u));
        return R::high(u, R::high(R::low(low_v, o.low_v), -R::high(high_v, o.high_v)));
    }
};

// NaN if one of the values is NaN or infinite, else 0.
template <typename T>
__device__ __forceinline__ T finite_test(const Four<T>& f, T start) {
    T t = start;
#pragma unroll
    for (i32 i = 0; i < 4; i++) t = Real<T>::fma(f.x[i], T(0), t);
    return t;
}

// What a lane of the statistics has seen.
template <typename T>
struct Tally {
    T low, high;
    u32 zero, nonfinite;
    u64 first;
};

// 128 columns of a row of tiles, by a warp, downwards. WIDE where all lanes have four columns that are
// aligned.
template <typename T, bool WIDE>
__device__ __forceinline__ void statistics_strip(const Job& job, Strip<T>& strip, u64 ty, u64 x0, i32 count, Tally<T>& t) {
    typedef Real<T> R;
    const i32 lane = threadIdx.x & 31;
    const T infinite = R::from_bits(sizeof(T) == 4 ? 0x7f800000ull : 0x7ff0000000000000ull);
    const u64 y0 = ty * TILE;
    const i32 rows = job.ny - y0 < TILE ? (i32)(job.ny - y0) : TILE, all_rows = job.ny - y0 > TILE ? TILE + 1 : rows;
    const bool has_right = x0 + 4 < job.nx;
    const u64 stride_u = job.u_layout.stride, stride_v = job.v_layout.stride;
    const T* u = vertex_at<T>(job.u, job.u_layout, count ? x0 : 0, y0);
    const T* v = vertex_at<T>(job.v, job.v_layout, count ? x0 : 0, y0);
    const bool last_lane = lane == 31 && has_right;
    constexpr i32 AHEAD = Strip<T>::ROWS - 1;
    i32 asked = 0;
    auto ask = [&]() {
        if (asked < all_rows) {
            const i32 row = asked % Strip<T>::ROWS;
            strip.template ask<WIDE>(row, 0, u, stride_u, count, last_lane);
            strip.template ask<WIDE>(row, 1, v, stride_v, count, last_lane);
            u += job.u_layout.pitch;
            v += job.v_layout.pitch;
        }
        asked++;
        end_of_copies();
    };
#pragma unroll
    for (i32 k = 0; k < AHEAD; k++) ask();
    Box<T> before;
    // Of the lane's cells: of those in the band, and of all before.
    T near = infinite, before_band = infinite, top = infinite, bottom = infinite, odd_before = 0;
    const u64 tile = ty * job.tiles_x + x0 / TILE;
    const bool writes = (lane & 7) == 0 && count;
    auto end_band = [&](i32 band) {
        // Eight lanes have a tile.
        T least = near;
#pragma unroll
        for (i32 k = 1; k < 8; k *= 2) least = R::low(least, __shfl_xor_sync(FULL, least, k));
        if (writes) nearness_of(job, tile).bands[band] = float_down(least);
        before_band = R::low(before_band, near);
        near = infinite;
    };
#pragma unroll 1
    for (i32 y = 0; y < all_rows; y++) {
        // Its place is that of the row before.
        ask();
        wait_for_copies<AHEAD>();
        const i32 row = y % Strip<T>::ROWS;
        const Four<T> a = strip.template four<WIDE>(row, 0, count), b = strip.template four<WIDE>(row, 1, count);
        T right_u = T(0), right_v = T(0);
        if (last_lane) right_u = strip.behind[row][0], right_v = strip.behind[row][1];
        Box<T> box(a, b);
        T odd = finite_test(a, finite_test(b, T(0)));
        if (y < rows && count) {
            if (odd == T(0)) {
                t.low = R::low(t.low, R::low(box.low_u, box.low_v));
                t.high = R::high(t.high, R::high(box.high_u, box.high_v));
                if (box.low_u <= T(0) && box.high_u >= T(0) && box.low_v <= T(0) && box.high_v >= T(0)) {
#pragma unroll
                    for (i32 i = 0; i < 4; i++) t.zero += i < count && a.x[i] == T(0) && b.x[i] == T(0);
                }
            } else {
                #pragma unroll
                for (i32 i = 0; i < 4; i++) {
                    if (i >= count) continue;
                    const bool finite_u = R::finite(a.x[i]), finite_v = R::finite(b.x[i]);
                    if (finite_u) t.low = R::low(t.low, a.x[i]), t.high = R::high(t.high, a.x[i]);
                    if (finite_v) t.low = R::low(t.low, b.x[i]), t.high = R::high(t.high, b.x[i]);
                    t.zero += a.x[i] == T(0) && b.x[i] == T(0);
                    if (!(finite_u && finite_v)) {
                        t.nonfinite++;
                        const u64 index = ~((y0 + y) * job.nx + x0 + i);
                        if (index > t.first) t.first = index;
                    }
                }
            }
        }
        // Cells between the lanes.
        const T from_right_u = __shfl_down_sync(FULL, a.x[0], 1), from_right_v = __shfl_down_sync(FULL, b.x[0], 1);
        if (lane < 31) {
            right_u = from_right_u;
            right_v = from_right_v;
        }
        if (has_right) {
            box.add(right_u, right_v);
            odd = R::fma(right_u, T(0), R::fma(right_v, T(0), odd));
        }
        if (y > 0) {
            T distance = box.distance(before);
            if (!(odd == T(0) && odd_before == T(0))) distance = T(-1);
            near = R::low(near, distance);
            if (y == 1) top = distance;
            bottom = distance;
        }
        before = box;
        odd_before = odd;
        if (y > 0 && y % BAND_ROWS == 0) end_band(y / BAND_ROWS - 1);
    }
    // Those at the lower border of the grid have fewer rows.
    for (i32 band = (all_rows - 1) / BAND_ROWS; band < BANDS; band++) end_band(band);
#pragma unroll
    for (i32 k = 1; k < 8; k *= 2) {
        top = R::low(top, __shfl_xor_sync(FULL, top, k));
        bottom = R::low(bottom, __shfl_xor_sync(FULL, bottom, k));
    }
    const T end = __shfl_sync(FULL, before_band, lane | 7);
    if (writes) {
        Nearness& n = nearness_of(job, tile);
        n.top = float_down(top);
        n.bottom = float_down(bottom);
        n.left = float_down(before_band);
        n.right = float_down(end);
    }
}

constexpr i32 STATISTICS_WARPS = 8;

// Grid: any. Block: 32 * STATISTICS_WARPS. One pass over u and v: the range, the counts, and for each tile how near the
// triangles of its cells come to the origin, at least, from boxes around four cells. The result depends
// on no order.
template <typename T>
__device__ __forceinline__ void statistics(const Job& job) {
    __shared__ Strip<T> rows[STATISTICS_WARPS];
    let_next_begin();
    Strip<T>& strip = rows[threadIdx.x >> 5];
    Control& control = control_of(job);
    const i32 lane = threadIdx.x & 31;
    const u64 strips = (job.tiles_x + 3) / 4, units = strips * job.tiles_y, warps = (u64)gridDim.x * (blockDim.x >> 5);
    Tally<T> t = {Real<T>::from_bits(sizeof(T) == 4 ? 0x7f800000ull : 0x7ff0000000000000ull), T(0), 0, 0, 0};
    t.high = -t.low;
    const bool aligned = is_aligned<T>(job);
    for (u64 unit = (u64)blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5); unit < units; unit += warps) {
        const u64 ty = unit / strips, start = (unit - ty * strips) * 128, x0 = start + 4 * lane;
        const i32 count = x0 >= job.nx ? 0 : job.nx - x0 < 4 ? (i32)(job.nx - x0) : 4;
        if (aligned && start + 128 <= job.nx)
            statistics_strip<T, true>(job, strip, ty, x0, 4, t);
        else
            statistics_strip<T, false>(job, strip, ty, x0, count, t);
    }
    const T low = t.low, high = t.high;
    u32 zero = t.zero, nonfinite = t.nonfinite;
    u64 first = t.first;
    bool any = low <= high;
    u64 high_key = any ? key_of((double)high) : 0, low_key = any ? ~key_of((double)low) : 0;
    zero = warp_sum(zero);
    nonfinite = warp_sum(nonfinite);
    for (i32 k = 16; k > 0; k /= 2) {
        u64 h = __shfl_xor_sync(FULL, high_key, k), l = __shfl_xor_sync(FULL, low_key, k), f = __shfl_xor_sync(FULL, first, k);
        high_key = h > high_key ? h : high_key;
        low_key = l > low_key ? l : low_key;
        first = f > first ? f : first;
    }
    typedef unsigned long long ull;
    // Until then nothing that is cleared was touched.
    wait_for_kernel_before();
    __shared__ u64 highs[8], lows[8], firsts[8];
    __shared__ u32 zeros[8], nonfinites[8];
    if ((threadIdx.x & 31) == 0) {
        u32 w = threadIdx.x >> 5;
        highs[w] = high_key, lows[w] = low_key, firsts[w] = first, zeros[w] = zero, nonfinites[w] = nonfinite;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        u64 z = 0, nf = 0;
        for (u32 w = 0; w < 8; w++) {
            if (highs[w] > high_key) high_key = highs[w];
            if (lows[w] > low_key) low_key = lows[w];
            if (firsts[w] > first) first = firsts[w];
            z += zeros[w], nf += nonfinites[w];
        }
        if (high_key) atomicMax((ull*)&control.high_key, (ull)high_key), atomicMax((ull*)&control.low_key, (ull)low_key);
        if (z) atomicAdd((ull*)&control.zero, (ull)z);
        if (nf) atomicAdd((ull*)&control.nonfinite, (ull)nf), atomicMax((ull*)&control.first_nonfinite, (ull)first);
    }
    if (last_block(control, TICKET_STATISTICS) && threadIdx.x == 0) decide_bound<T>(job, control);
}

// ---------------------------------------------------------------- tuning

// Grid: samples * 12 options. Block: 32 * warps. Shared: one closed tile. Codes a sampled tile on its own
// with one option; the last block decides.
template <typename T>
__device__ __forceinline__ void tune(const Job& job) {
    __shared__ TuneShared<T> shared;
    Control& control = control_of(job);
    const i32 thread = threadIdx.x;
    const u64 samples = job.tiles() < SAMPLES ? job.tiles() : SAMPLES;
    const u32 option = blockIdx.x % (TAPERS * CHOICES), taper = option / CHOICES, choice = option % CHOICES;
    const u64 k = blockIdx.x / (TAPERS * CHOICES);
    // tune::sample: the product is below 2^64, as a grid has at most 2^48 tiles.
    const TileShape shape = tile_shape(job, (2 * k + 1) * job.tiles() / (2 * samples));
    tune_tile<T>(job, control, shape, taper, choice, shared);
    if (thread < LEVELS) {
        const LevelCount& count = shared.counts[thread];
        LevelCount& out = control.tune[taper][choice][thread];
        atomicAdd(&out.vertices, count.vertices);
        atomicAdd(&out.nonzero, count.nonzero);
        atomicAdd(&out.bits, count.bits);
    }
    if (last_block(control, TICKET_TUNE)) {
        if (thread < 32) decide_tuning(control, samples);
        __syncthreads();
        for (i32 e = thread; e < LEVELS * IDS; e += 32 * TUNE_WARPS)
            quantizer_entry<T>(control.quantum, control.taper, e / IDS, e % IDS, control.quantizer.width[e / IDS][e % IDS],
                               control.quantizer.inverse[e / IDS][e % IDS]);
    }
}
