#pragma once
#include "compress/block_ranges.cuh"
#include "grid/range.cuh"
#include "grid/wide_range.cuh"
#include "predict/anchor_scan.cuh"
#include "predict/anchor_tree.cuh"
#include "predict/tuning.cuh"
#include "tile/window.cuh"

// Zeroes the control block and the counts, if there are any. Only kernels launched after everything before on
// the stream has completed do this; kernels that overlap them must not touch these.
__device__ __forceinline__ void clear(const Job& job) {
    constexpr u32 CONTROL = sizeof(Control) / 8, COUNTS = TABLES * ALPHABET;
    const ClearedView work(job);
    const u32 all = CONTROL + (work.symbol_counts() ? COUNTS : 0);
    for (u32 k = blockIdx.x * blockDim.x + threadIdx.x; k < all; k += gridDim.x * blockDim.x)
        (k < CONTROL ? ControlView(job).words()[k] : work.symbol_counts()[k - CONTROL]) = 0;
}
// Zeroes the sets of coded anchors, or the states of the chunks of anchors.
__device__ __forceinline__ void clear_scan(u32* words, u64 count) {
    for (u64 k = (u64)blockIdx.x * blockDim.x + threadIdx.x; k < count; k += (u64)gridDim.x * blockDim.x)
        words[k] = 0;
}
__device__ __forceinline__ void clear_trees(const Job& job) {
    if (job.predictor == PREDICTOR_HIERARCHICAL)
        clear_scan(CodedAnchorsView(job).tree(), tree_words(job.tiles()) + tree_words(job.tiles_y));
}

// Grid: any. Block: 256 threads. Shared: none. The first kernel of decompression. Writes: control block,
// states of the chunks of anchors.
template <typename T>
__device__ __forceinline__ void begin_call(const Job& job) {
    clear(job);
    const AnchorScan scan(job);
    clear_scan(const_cast<u32*>(scan.states), (job.tiles() + ANCHOR_CHUNK - 1) / ANCHOR_CHUNK);
}

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

// Absolute bound of the call from the range of the field.
template <typename T>
__device__ __forceinline__ double bound_of(const Job& job, const SeenRange<T>& range) {
    if (job.bound_kind != 1) return job.bound;
    if (!range.any()) return 0.0;
    return relative_bound(job.bound, (double)range.low, (double)range.high);
}

// The bound, lowered to where a larger one would change nothing.
template <typename T>
__device__ __forceinline__ double useful_bound_of(const Job& job, const SeenRange<T>& range) {
    const double bound = bound_of(job, range);
    return range.any()
               ? useful_bound<T>(bound, Real<T>::high(Real<T>::abs(range.low), Real<T>::abs(range.high)),
                     job.preserve != PRESERVE_NONE)
               : bound;
}

// Vertices at most this far from the origin have a bound of their own or are special. With a bound of 0 all
// are: zeros may have a sign to keep.
__device__ __forceinline__ double near_bound(const Job& job, double bound_up) {
    if (bound_up == 0.0) return __longlong_as_double(0x7ff0000000000000ll);
    return job.preserve != PRESERVE_NONE ? bound_up : 0.0;
}

// Decides bound, bin width, fill value and warnings from the results of all blocks.
template <typename T>
__device__ __forceinline__ void decide(const Job& job, Control& control, const SeenRange<T>& range,
    const SeenCounts& counts, u64 filled, bool wide) {
    const bool any = range.any();
    const double low = any ? (double)range.low : 0.0, high = any ? (double)range.high : 0.0,
                 bound = bound_of(job, range);
    const double largest = fabs(low) > fabs(high) ? fabs(low) : fabs(high);
    control.largest = largest;
    control.zero = counts.zero;
    control.nonfinite = counts.nonfinite;
    control.filled = filled;
    control.bound = bound;
    const double useful = useful_bound<T>(bound, (T)largest, job.preserve != PRESERVE_NONE);
    control.useful_bound = useful;
    control.bound_up = (double)round_up<T>(useful);
    control.half_bin_width = half_bin_width_of<T>(useful, (T)largest);
    control.quantizer.accept = (double)acceptance<T>(useful);
    control.warnings = wide && job.bound_kind == 1 && bound > 0.0 ? WARNING_WIDE_RANGE : 0;
    control.has_fill = job.has_fill || counts.nonfinite != 0;
    if (job.has_fill) {
        control.fill[0] = control.fill[1] = job.fill;
    } else if (control.has_fill) {
        const u64 index = ~counts.first;
        const long long x = (long long)(index % job.nx), y = (long long)(index / job.nx);
        control.fill[0] = Real<T>::bits(*vertex_at<T>(job.u, job.u_layout, x, y));
        control.fill[1] = Real<T>::bits(*vertex_at<T>(job.v, job.v_layout, x, y));
    }
}

// True if every fourth vertex of a row starts at a multiple of 16 bytes.
template <typename T>
__device__ __forceinline__ bool is_aligned(const Job& job) {
    return job.u_layout.stride == 1 && job.v_layout.stride == 1 &&
           ((job.u_layout.pitch | job.v_layout.pitch) * sizeof(T)) % 16 == 0 &&
           (((u64)job.u | (u64)job.v) & 15) == 0;
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
        near = before_band = top = bottom =
            R::from_bits(sizeof(T) == 4 ? 0x7f800000ull : 0x7ff0000000000000ull);
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
        near = R::from_bits(sizeof(T) == 4 ? 0x7f800000ull : 0x7ff0000000000000ull);
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

// A strip by PARTS warps, each of which takes consecutive rows. WIDE: all lanes have four aligned columns.
template <typename T, i32 PARTS, bool WIDE, bool FILLED>
__device__ __forceinline__ void statistics_strip(
    const Job& job, Strip<T>& strip, u64 ty, u64 x0, i32 count, LaneStatistics<T, FILLED>& t) {
    typedef Real<T> R;
    constexpr i32 MOST_ROWS = TILE / PARTS, PART_BANDS = BANDS / PARTS;
    constexpr i32 ROWS = Strip<T>::ROWS, AHEAD = ROWS - 1;
    static_assert(BAND_ROWS % ROWS == 0, "a band ends with the first of some rows");
    const i32 lane = threadIdx.x & 31;
    // warp_or: uniform, so that votes need no code for divergent lanes.
    const i32 part = PARTS > 1 ? (i32)warp_or(threadIdx.x >> 5) : 0;
    const u64 y0 = ty * TILE + part * MOST_ROWS, left = job.ny > y0 ? job.ny - y0 : 0;
    const i32 rows = (i32)warp_or(left < MOST_ROWS ? (u32)left : (u32)MOST_ROWS),
              all_rows = left > MOST_ROWS ? MOST_ROWS + 1 : rows;
    const bool has_right = x0 + 4 < job.nx;
    const u64 stride_u = job.u_layout.stride, stride_v = job.v_layout.stride;
    const T* u = vertex_at<T>(job.u, job.u_layout, count ? x0 : 0, y0);
    const T* v = vertex_at<T>(job.v, job.v_layout, count ? x0 : 0, y0);
    const bool last_lane = lane == 31 && has_right;
    auto ask = [&](i32 y, i32 place) {
        if (y < all_rows) {
            strip.template ask<WIDE>(place, 0, u, stride_u, count);
            if (last_lane) strip.ask_behind(place, 0, u + 4 * stride_u);
            strip.template ask<WIDE>(place, 1, v, stride_v, count);
            if (last_lane) strip.ask_behind(place, 1, v + 4 * stride_v);
            u += job.u_layout.pitch;
            v += job.v_layout.pitch;
        }
        end_of_copies();
    };
#pragma unroll
    for (i32 k = 0; k < AHEAD; k++) ask(k, k);
    LaneCells<T> cells;
    const u64 tile = ty * job.tiles_x + x0 / TILE;
    const bool writes = (lane & 7) == 0 && count;
#pragma unroll 1
    for (i32 start = 0; start < all_rows; start += ROWS) {
#pragma unroll
        for (i32 i = 0; i < ROWS; i++) {
            const i32 y = start + i;
            if (y >= all_rows) break;
            // Into the place of the previous row.
            ask(y + AHEAD, (i + AHEAD) % ROWS);
            wait_for_copies<AHEAD>();
            const Four<T> a = strip.template four<WIDE>(i, 0, count),
                          b = strip.template four<WIDE>(i, 1, count);
            Box<T, R> box(a, b);
            T odd = odd_test<FILLED>(a, t.fill) + odd_test<FILLED>(b, t.fill);
            if (y < rows && (WIDE || count)) t.add(a, b, box, odd, WIDE ? 4 : count, (y0 + y) * job.nx + x0);
            // Cells between two lanes.
            T right_u = __shfl_down_sync(FULL, a.x[0], 1), right_v = __shfl_down_sync(FULL, b.x[0], 1);
            if (last_lane) right_u = strip.behind[i][0], right_v = strip.behind[i][1];
            // Without a right neighbour the last lane gets its own value.
            if (WIDE || has_right) {
                box.add(right_u, right_v);
                odd += FILLED ? odd_test<FILLED>(right_u, t.fill) + odd_test<FILLED>(right_v, t.fill)
                              : R::fma(right_u, T(0), right_v * T(0));
            }
            cells.add(y, box, odd);
            if (i == 0 && y > 0 && y % BAND_ROWS == 0)
                cells.end_band(job, tile, writes, PART_BANDS * part + y / BAND_ROWS - 1);
        }
    }
    // Bands below the lower border of the grid.
    for (i32 band = (all_rows - 1) / BAND_ROWS; band < PART_BANDS; band++)
        cells.end_band(job, tile, writes, PART_BANDS * part + band);
    if (PARTS > 1) {
        __shared__ T of_parts[PARTS][32];
        of_parts[part][lane] = cells.before_band;
        __syncthreads();
#pragma unroll
        for (i32 other = 0; other < PARTS; other++)
            cells.before_band = R::low(cells.before_band, of_parts[other][lane]);
    }
    cells.end(job, tile, writes, part == 0, part == PARTS - 1);
}

// A row of a lane's columns and the column to their right, or that column again at the border.
template <typename T>
struct LaneRow {
    Four<T> u, v;
    T right_u, right_v;

    __device__ __forceinline__ void load(const T* at_u, const T* at_v, i32 right) {
        u = Four<T>::at(at_u), v = Four<T>::at(at_v);
        right_u = at_u[right], right_v = at_v[right];
    }
};

// A strip of interior tiles by a warp, two rows at a time on the assumption that no value is missing and no
// vertex zero; rows where that fails are read again one by one. The first row stands alone, so that bands end
// with a turn.
template <typename T>
__device__ __forceinline__ void statistics_interior_strip(
    const Job& job, u64 ty, u64 x0, LaneStatistics<T, false>& t) {
    typedef Real<T> R;
    typedef IfThere<T> Order;
    constexpr i32 ROWS = 2, LAST_TURN = TILE / ROWS, BAND_TURNS = BAND_ROWS / ROWS;
    const u64 y0 = ty * TILE, tile = ty * job.tiles_x + x0 / TILE;
    const bool writes = (threadIdx.x & 7) == 0;
    const i32 right = x0 + 4 < job.nx ? 4 : 0;
    const T* u = vertex_at<T>(job.u, job.u_layout, x0, y0);
    const T* v = vertex_at<T>(job.v, job.v_layout, x0, y0);
    LaneCells<T> cells;
    auto look_at = [&](i32 y, const LaneRow<T>& row) {
        Box<T, R> box(row.u, row.v);
        T odd = finite_test(row.u) + finite_test(row.v);
        if (y < TILE) t.add(row.u, row.v, box, odd, 4, (y0 + y) * job.nx + x0);
        box.add(row.right_u, row.right_v);
        odd += R::fma(row.right_u, T(0), row.right_v * T(0));
        cells.add(y, box, odd);
    };
    auto again = [&](i32 y) {
        LaneRow<T> row;
        row.load(vertex_at<T>(job.u, job.u_layout, x0, y0 + y), vertex_at<T>(job.v, job.v_layout, x0, y0 + y),
            right);
        return row;
    };
    // Load the rows of a turn during the turn before.
    LaneRow<T> rows[ROWS], top;
    top.load(u, v, right);
#pragma unroll
    for (i32 i = 0; i < ROWS; i++)
        u += job.u_layout.pitch, v += job.v_layout.pitch, rows[i].load(u, v, right);
    look_at(0, top);
#pragma unroll 1
    for (i32 turn = 1; turn <= LAST_TURN; turn++) {
        // In the last turn, load the last row again.
        const u64 pitch_u = turn < LAST_TURN ? job.u_layout.pitch : 0,
                  pitch_v = turn < LAST_TURN ? job.v_layout.pitch : 0;
        Box<T, Order> before(cells.before);
        T low, high, near, first, last, odd = cells.odd_before;
#pragma unroll
        for (i32 i = 0; i < ROWS; i++) {
            const LaneRow<T> row = rows[i];
            Box<T, Order> box(row.u, row.v);
            box.add(row.right_u, row.right_v);
            if (sizeof(T) == 8)
                odd +=
                    finite_test(row.u) + finite_test(row.v) + R::fma(row.right_u, T(0), row.right_v * T(0));
            u += pitch_u, v += pitch_v, rows[i].load(u, v, right);
            before.add(box);
            last = before.distance();
            if (i == 0)
                first = last;
            else {
                // The box covers both rows.
                near = Order::low(first, last);
                low = Order::low(Order::low(t.range.low, before.low_u), before.low_v);
                high = Order::high(Order::high(t.range.high, before.high_u), before.high_v);
            }
            before = box;
        }
        const i32 y = (turn - 1) * ROWS + 1;
        if (__any_sync(FULL, !(odd + R::fma(low, T(0), high * T(0)) == T(0)))) {
#pragma unroll 1
            for (i32 i = 0; i < ROWS; i++) look_at(y + i, again(y + i));
        } else {
            // The box of a zero vertex contains the origin.
            if (near <= T(0)) {
#pragma unroll 1
                for (i32 i = 0; i < ROWS - (turn == LAST_TURN); i++) {
                    const LaneRow<T> row = again(y + i);
                    t.add_zeros(row.u, row.v, 4);
                }
            }
            cells.before = Box<T, R>(before);
            cells.near = R::low(cells.near, near);
            if (turn == 1) cells.top = first;
            cells.bottom = last;
            t.range.low = low, t.range.high = high;
        }
        if (turn % BAND_TURNS == 0) cells.end_band(job, tile, writes, turn / BAND_TURNS - 1);
    }
    cells.end(job, tile, writes, true, true);
}

// Writes the statistics of a block for factz_sort.
template <typename T, u32 WARPS, bool FILLED>
__device__ __forceinline__ void tell(const Job& job, const LaneStatistics<T, FILLED>& t) {
    __shared__ SeenRange<T> ranges[WARPS];
    __shared__ SeenCounts all_counts[WARPS];
    __shared__ SeenFilled all_filled[FILLED ? WARPS : 1];
    SeenRange<T> range = t.range;
    SeenCounts counts = {t.zero, t.nonfinite, t.first};
    SeenFilled filled = {t.filled};
    range.add_lanes();
    counts.add_lanes();
    if (FILLED) filled.add_lanes();
    if ((threadIdx.x & 31) == 0) {
        ranges[threadIdx.x >> 5] = range;
        all_counts[threadIdx.x >> 5] = counts;
        if (FILLED) all_filled[threadIdx.x >> 5] = filled;
    }
    __syncthreads();
    if (threadIdx.x != 0) return;
#pragma unroll
    for (u32 w = 1; w < WARPS; w++) {
        range.add(ranges[w].low, ranges[w].high);
        counts.add(all_counts[w]);
        if (FILLED) filled.add(all_filled[w]);
    }
    const Seen<T> seen(job);
    seen.ranges[blockIdx.x] = range;
    seen.counts[blockIdx.x] = counts;
    if (FILLED) seen.filled[blockIdx.x] = filled;
}

// The columns of a lane in a strip.
struct StripPlace {
    u64 ty, x0;
    i32 count;
    bool wide;
    __device__ __forceinline__ StripPlace(const Job& job, u64 unit, bool aligned) {
        const u64 strips = strips_of_row(job);
        ty = unit / strips;
        const u64 start = (unit - ty * strips) * 128;
        x0 = start + 4 * (threadIdx.x & 31);
        wide = aligned && start + 128 <= job.nx;
        count = x0 >= job.nx ? 0 : job.nx - x0 < 4 ? (i32)(job.nx - x0) : 4;
    }
};

// Grid: statistics_blocks. Block: 32 * STATISTICS_WARPS threads. Static shared: strips. One pass over u and
// v. Reads: the field. Writes: statistics of each block, nearness of each tile; zeroes control block, counts
// and sets of anchors. Waits for: everything before on the stream. For many strips. FILLED: there is a fill
// value.
template <typename T, bool FILLED>
__device__ __forceinline__ void statistics_of_many(const Job& job) {
    __shared__ Strip<T> strips[STATISTICS_WARPS];
    let_next_begin();
    clear(job);
    clear_trees(job);
    const u64 units = strips_of_row(job) * job.tiles_y, warps = (u64)gridDim.x * STATISTICS_WARPS;
    LaneStatistics<T, FILLED> t(job);
    const bool aligned = is_aligned<T>(job);
    for (u64 unit = (u64)blockIdx.x * STATISTICS_WARPS + (threadIdx.x >> 5); unit < units; unit += warps) {
        const StripPlace place(job, unit, aligned);
        auto& strip = strips[threadIdx.x >> 5];
        if constexpr (!FILLED) {
            if (place.wide && place.ty * TILE + TILE < job.ny) {
                statistics_interior_strip<T>(job, place.ty, place.x0, t);
                continue;
            }
        }
        if (place.wide)
            statistics_strip<T, 1, true>(job, strip, place.ty, place.x0, 4, t);
        else
            statistics_strip<T, 1, false>(job, strip, place.ty, place.x0, place.count, t);
    }
    tell<T, STATISTICS_WARPS>(job, t);
}
template <typename T>
__device__ __forceinline__ void statistics(const Job& job) {
    statistics_of_many<T, false>(job);
}
template <typename T>
__device__ __forceinline__ void filled_statistics(const Job& job) {
    statistics_of_many<T, true>(job);
}

// Grid: statistics_blocks. Block: 32 * STRIP_PARTS threads. As statistics_of_many, for few strips.
template <typename T, bool FILLED>
__device__ __forceinline__ void statistics_of_few(const Job& job) {
    __shared__ Strip<T> strips[STRIP_PARTS];
    let_next_begin();
    clear(job);
    clear_trees(job);
    LaneStatistics<T, FILLED> t(job);
    const StripPlace place(job, blockIdx.x, is_aligned<T>(job));
    if (place.wide)
        statistics_strip<T, STRIP_PARTS, true>(job, strips[threadIdx.x >> 5], place.ty, place.x0, 4, t);
    else
        statistics_strip<T, STRIP_PARTS, false>(
            job, strips[threadIdx.x >> 5], place.ty, place.x0, place.count, t);
    tell<T, STRIP_PARTS>(job, t);
}
template <typename T>
__device__ __forceinline__ void few_statistics(const Job& job) {
    statistics_of_few<T, false>(job);
}
template <typename T>
__device__ __forceinline__ void few_filled_statistics(const Job& job) {
    statistics_of_few<T, true>(job);
}

// Adds up `count` results of blocks, strided over the threads, eight loads at a time.
template <typename S>
__device__ __forceinline__ void add_seen(const S* of_blocks, u32 blocks, const S& none, S& sum) {
    constexpr u32 AT_ONCE = 8, THREADS = 32 * SORT_WARPS;
#pragma unroll 1
    for (u32 first = threadIdx.x; first < blocks; first += AT_ONCE * THREADS) {
        S some[AT_ONCE];
#pragma unroll
        for (u32 i = 0; i < AT_ONCE; i++)
            some[i] = first + i * THREADS < blocks ? of_blocks[first + i * THREADS] : none;
#pragma unroll
        for (u32 i = 0; i < AT_ONCE; i++) sum.add(some[i]);
    }
}

// Range of the field. Call with a block; valid in all threads.
template <typename T>
__device__ __forceinline__ SeenRange<T> range_of_all(const Job& job) {
    __shared__ SeenRange<T> ranges[SORT_WARPS];
    const Seen<T> seen(job);
    SeenRange<T> range = SeenRange<T>::none();
    add_seen(seen.ranges, statistics_blocks(job), SeenRange<T>::none(), range);
    range.add_lanes();
    if ((threadIdx.x & 31) == 0) ranges[threadIdx.x >> 5] = range;
    __syncthreads();
    range = ranges[0];
#pragma unroll
    for (u32 w = 1; w < SORT_WARPS; w++) range.add(ranges[w].low, ranges[w].high);
    return range;
}

// Call with a block.
template <typename T>
__device__ __forceinline__ void decide(const Job& job) {
    __shared__ SeenCounts counts_of_warps[SORT_WARPS];
    __shared__ SeenFilled filled_of_warps[SORT_WARPS];
    const Seen<T> seen(job);
    WideSample<T, 32 * SORT_WARPS> sample;
    sample.load(job);
    SeenFilled filled = {0};
    if (job.has_fill) {
        add_seen(seen.filled, statistics_blocks(job), SeenFilled{0}, filled);
        filled.add_lanes();
    }
    if ((threadIdx.x & 31) == 0) filled_of_warps[threadIdx.x >> 5] = filled;
    SeenCounts counts = {0, 0, 0};
    add_seen(seen.counts, statistics_blocks(job), SeenCounts{0, 0, 0}, counts);
    counts.add_lanes();
    if ((threadIdx.x & 31) == 0) counts_of_warps[threadIdx.x >> 5] = counts;
    const SeenRange<T> range = range_of_all<T>(job);
    const bool wide = sample.is_wide((double)range.low, (double)range.high);
    if (threadIdx.x != 0) return;
#pragma unroll
    for (u32 w = 1; w < SORT_WARPS; w++) counts.add(counts_of_warps[w]), filled.add(filled_of_warps[w]);
    decide(job, control_of(job), range, counts, filled.count, wide);
}

// Grid: samples * 12 options. Block: 32 * TUNE_WARPS threads. Static shared: one closed tile. Codes one
// sampled tile with one option; the last block decides. Reads: the field. Writes: counts, interpolants, level
// scaling and quantizer in the control block. Waits for: the previous kernel.
template <typename T>
__device__ __forceinline__ void tune(const Job& job) {
    __shared__ TuneShared<T> shared;
    Control& control = control_of(job);
    const i32 thread = threadIdx.x;
    const u64 samples = job.tiles() < SAMPLES ? job.tiles() : SAMPLES;
    const u32 option = blockIdx.x % (LEVEL_BOUND_SCALINGS * INTERPOLANTS),
              level_bound_scaling = option / INTERPOLANTS, choice = option % INTERPOLANTS;
    const u64 k = blockIdx.x / (LEVEL_BOUND_SCALINGS * INTERPOLANTS);
    // As tuning::sample. The product is below 2^64: a grid has at most 2^48 tiles.
    const TileShape shape = tile_shape(job, (2 * k + 1) * job.tiles() / (2 * samples));
    tune_tile<T>(job, control, shape, level_bound_scaling, choice, shared);
    if (thread < LEVELS) {
        const LevelCount& count = shared.counts[thread];
        LevelCount& out = control.tune[level_bound_scaling][choice][thread];
        atomicAdd(&out.vertices, count.vertices);
        atomicAdd(&out.nonzero, count.nonzero);
        atomicAdd(&out.bits, count.bits);
    }
    if (last_block(control, TICKET_TUNE)) {
        if (thread < 32) decide_tuning(control, samples);
        __syncthreads();
        for (i32 e = thread; e < LEVELS * REFINEMENTS; e += 32 * TUNE_WARPS)
            quantizer_entry<T>(control.half_bin_width, control.level_bound_scaling, e / REFINEMENTS,
                e % REFINEMENTS, control.quantizer.width[e / REFINEMENTS][e % REFINEMENTS],
                control.quantizer.inverse[e / REFINEMENTS][e % REFINEMENTS]);
    }
}
