// Entries of the front end: from values to symbols. No numerics of their own.
#pragma once
#include "stage/anchor.cuh"
#include "stage/tile.cuh"
#include "stage/tune.cuh"

// ---------------------------------------------------------------- statistics

__device__ __forceinline__ u64 key_of(double x) {
    u64 b = (u64)__double_as_longlong(x);
    return b >> 63 ? ~b : b | 0x8000000000000000ull;
}
__device__ __forceinline__ double value_of(u64 key) {
    return __longlong_as_double((long long)(key >> 63 ? key & 0x7fffffffffffffffull : ~key));
}

template <typename T>
struct Range {
    T low, high;
    u32 zero, nonfinite;
    u64 first;

    __device__ __forceinline__ void add(T a, T b, u64 index) {
        typedef Real<T> R;
        if (R::finite(a) & R::finite(b)) {
            low = R::low(low, R::low(a, b));
            high = R::high(high, R::high(a, b));
            zero += (a == T(0)) & (b == T(0));
        } else {
            if (R::finite(a)) low = R::low(low, a), high = R::high(high, a);
            if (R::finite(b)) low = R::low(low, b), high = R::high(high, b);
            nonfinite++;
            if (index < first) first = index;
        }
    }
};

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

// Grid: any. Block: 256. One pass over u and v; the result depends on no order.
template <typename T>
__device__ __forceinline__ void statistics(const Job& job) {
    Control& control = control_of(job);
    const u64 n = job.nx * job.ny, threads = (u64)gridDim.x * blockDim.x;
    const u64 me = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    Range<T> r = {Real<T>::from_bits(sizeof(T) == 4 ? 0x7f800000ull : 0x7ff0000000000000ull), 0, 0, 0, ~0ull};
    r.high = -r.low;
    constexpr u32 WIDE = 16 / sizeof(T);
    bool dense = job.u_layout.stride == 1 && job.v_layout.stride == 1 && job.u_layout.pitch == job.nx &&
                 job.v_layout.pitch == job.nx && ((u64)job.u & 15) == 0 && ((u64)job.v & 15) == 0;
    if (dense) {
        struct alignas(16) Vector {
            T x[WIDE];
        };
        const Vector* u = static_cast<const Vector*>(job.u);
        const Vector* v = static_cast<const Vector*>(job.v);
        const u64 wide = n / WIDE;
        u64 k = me;
        for (; k + threads < wide; k += 2 * threads) {
            Vector a = u[k], b = v[k], c = u[k + threads], d = v[k + threads];
#pragma unroll
            for (u32 i = 0; i < WIDE; i++) r.add(a.x[i], b.x[i], k * WIDE + i);
#pragma unroll
            for (u32 i = 0; i < WIDE; i++) r.add(c.x[i], d.x[i], (k + threads) * WIDE + i);
        }
        for (; k < wide; k += threads) {
            Vector a = u[k], b = v[k];
#pragma unroll
            for (u32 i = 0; i < WIDE; i++) r.add(a.x[i], b.x[i], k * WIDE + i);
        }
        for (k = wide * WIDE + me; k < n; k += threads)
            r.add(static_cast<const T*>(job.u)[k], static_cast<const T*>(job.v)[k], k);
    } else {
        for (u64 k = me; k < n; k += threads) {
            long long y = (long long)(k / job.nx), x = (long long)(k - (u64)y * job.nx);
            r.add(*vertex_at<T>(job.u, job.u_layout, x, y), *vertex_at<T>(job.v, job.v_layout, x, y), k);
        }
    }
    bool any = r.low <= r.high;
    u64 high = any ? key_of((double)r.high) : 0, low = any ? ~key_of((double)r.low) : 0, first = ~r.first;
    u32 zero = warp_sum(r.zero), nonfinite = warp_sum(r.nonfinite);
    for (i32 k = 16; k > 0; k /= 2) {
        u64 h = __shfl_xor_sync(FULL, high, k), l = __shfl_xor_sync(FULL, low, k), f = __shfl_xor_sync(FULL, first, k);
        high = h > high ? h : high;
        low = l > low ? l : low;
        first = f > first ? f : first;
    }
    typedef unsigned long long ull;
    __shared__ u64 highs[8], lows[8], firsts[8];
    __shared__ u32 zeros[8], nonfinites[8];
    if ((threadIdx.x & 31) == 0) {
        u32 w = threadIdx.x >> 5;
        highs[w] = high, lows[w] = low, firsts[w] = first, zeros[w] = zero, nonfinites[w] = nonfinite;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        u64 z = 0, nf = 0;
        for (u32 w = 0; w < 8; w++) {
            if (highs[w] > high) high = highs[w];
            if (lows[w] > low) low = lows[w];
            if (firsts[w] > first) first = firsts[w];
            z += zeros[w], nf += nonfinites[w];
        }
        if (high) atomicMax((ull*)&control.high_key, (ull)high), atomicMax((ull*)&control.low_key, (ull)low);
        if (z) atomicAdd((ull*)&control.zero, (ull)z);
        if (nf) atomicAdd((ull*)&control.nonfinite, (ull)nf), atomicMax((ull*)&control.first_nonfinite, (ull)first);
    }
    if (last_block(control, TICKET_STATISTICS) && threadIdx.x == 0) decide_bound<T>(job, control);
}

// ---------------------------------------------------------------- tuning

// Grid: samples * 12 options. Block: 32. Shared: one closed tile. Codes a sampled tile on its own with
// one option; the last block decides.
template <typename T>
__device__ __forceinline__ void tune(const Job& job) {
    typedef typename Real<T>::Pair P;
    __shared__ P values[CLOSED * CLOSED];
    __shared__ LaneCounts counts;
    Control& control = control_of(job);
    const i32 lane = threadIdx.x;
    const u64 samples = job.tiles() < SAMPLES ? job.tiles() : SAMPLES;
    const u32 option = blockIdx.x % (TAPERS * CHOICES), taper = option / CHOICES, choice = option % CHOICES;
    const u64 k = blockIdx.x / (TAPERS * CHOICES);
    // tune::sample: the product is below 2^64, as a grid has at most 2^48 tiles.
    TileShape shape = tile_shape(job, (2 * k + 1) * job.tiles() / (2 * samples));
    for (i32 level = 0; level < LEVELS; level++) counts.counts[level][lane] = {0, 0, 0};
    tune_tile<T>(job, control, shape, taper, choice, values, &counts);
    for (i32 level = 0; level < LEVELS; level++) {
        const LevelCount c = counts.counts[level][lane];
        const u32 vertices = warp_sum(c.vertices), nonzero = warp_sum(c.nonzero), bits = warp_sum(c.bits);
        LevelCount& out = control.tune[taper][choice][level];
        if (lane == 0) {
            atomicAdd(&out.vertices, vertices);
            atomicAdd(&out.nonzero, nonzero);
            atomicAdd(&out.bits, bits);
        }
    }
    if (last_block(control, TICKET_TUNE)) {
        decide_tuning(control, samples);
        __syncwarp();
        for (i32 e = lane; e < LEVELS * IDS; e += 32)
            quantizer_entry<T>(control.quantum, control.taper, e / IDS, e % IDS, control.quantizer.width[e / IDS][e % IDS],
                               control.quantizer.inverse[e / IDS][e % IDS]);
    }
}

// ---------------------------------------------------------------- anchors

// Grid: tiles / 128. Block: 128. One anchor a thread.
template <typename T>
__device__ __forceinline__ void anchors(const Job& job) {
    typedef typename Real<T>::Pair P;
    Control& control = control_of(job);
    const u64 tile = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    u32 exact = 0, critical = 0;
    T max_error = 0;
    if (tile < job.tiles()) {
        const Constraints<T> c = constraints_of<T>(job, control);
        TileShape shape = tile_shape(job, tile);
        P values[9];
        u32 nonfinite[3] = {0, 0, 0};
        const u64 x0 = shape.x0 ? shape.x0 - 1 : 0, y0 = shape.y0 ? shape.y0 - 1 : 0;
        const i32 i = (i32)(shape.x0 - x0), j = (i32)(shape.y0 - y0);
        Patch<T> patch = {values, 3, 0, 0, control.nonfinite ? nonfinite : nullptr, 1};
        patch.width = (i32)((job.nx < shape.x0 + 2 ? job.nx : shape.x0 + 2) - x0);
        patch.height = (i32)((job.ny < shape.y0 + 2 ? job.ny : shape.y0 + 2) - y0);
        for (i32 y = 0; y < patch.height; y++)
            for (i32 x = 0; x < patch.width; x++)
                values[3 * y + x] = Real<T>::pair(*vertex_at<T>(job.u, job.u_layout, x0 + x, y0 + y),
                                                  *vertex_at<T>(job.v, job.v_layout, x0 + x, y0 + y));
        bool tight = false;
        T limit = Real<T>::MAX;
        if (c.preserve) {
            for (i32 k = 0; k < 6; k++) {
                i32 cx = i + incident_x(k), cy = j + incident_y(k), triangle = incident_triangle(k);
                if (cx < 0 || cy < 0 || cx + 1 >= patch.width || cy + 1 >= patch.height) continue;
                Corners<T> p = corner_values(patch, cx, cy, triangle);
                if (axis_distance(p) > c.bound_up) continue;
                tight = true;
                if (job.mode == BLOCK_WISE) {
                    T b = triangle_bound(p, triangle, c.rule, c.bound);
                    if (b < limit) limit = b;
                }
            }
        }
        if ((job.halo | job.pin) && on_border(job, shape.x0, shape.y0)) {
            T b = border_limit(job, c, shape.x0, shape.y0);
            if (b < Real<T>::MAX) {
                tight = true;
                if (b < limit) limit = b;
            }
        }
        const P original = values[3 * j + i];
        for (i32 k = 0; k < 9; k++) {
            i32 x = k % 3, y = k / 3;
            if (x < patch.width && y < patch.height &&
                !(Real<T>::finite(values[k].x) && Real<T>::finite(values[k].y))) {
                nonfinite[y] |= 1u << x;
                values[k] = Real<T>::pair(T(0), T(0));
            }
        }
        Code code = {MASKED, 0, 0};
        if (nonfinite[j] >> i & 1) {
            bool filled = Real<T>::bits(original.x) == control.fill[0] && Real<T>::bits(original.y) == control.fill[1];
            code.id = filled ? MASKED : EXACT;
        } else if (!(original.x == T(0) && original.y == T(0))) {
            code = code_vertex<T>(patch, i, j, Real<T>::pair(T(0), T(0)), ANCHOR_LEVEL,
                                  (T)control.quantizer.width[ANCHOR_LEVEL][0],
                                  (T)control.quantizer.inverse[ANCHOR_LEVEL][0], c, tight, limit, max_error, exact);
        }
        reinterpret_cast<P*>(job.anchors)[tile] = values[3 * j + i];
        reinterpret_cast<int4*>(job.anchor_codes)[tile] = make_int4(code.qu, code.qv, code.id, 0);
    }
    report_tally<T>(control, exact, critical, max_error);
}

// ---------------------------------------------------------------- lattice lines

constexpr i32 SEGMENTS = 4;
constexpr i32 LINE = SEGMENTS * TILE + 1;

template <typename T>
struct LineShared {
    typename Real<T>::Pair values[3 * LINE];
    T limit[LINE + 3];
    u8 tight[LINE + 3];
    u32 nonfinite[LINE > 3 * 5 ? LINE : 15];
};

// Grid: lines * groups of four segments / 4. Block: 128, a warp for four segments of one line.
// Horizontal lines see original values around them; vertical ones the final horizontal lines.
template <typename T, bool ACROSS>
__device__ __forceinline__ void lines(const Job& job) {
    typedef typename Real<T>::Pair P;
    __shared__ LineShared<T> shared_[4];
    LineShared<T>& shared = shared_[threadIdx.x >> 5];
    Control& control = control_of(job);
    const i32 lane = threadIdx.x & 31;
    const u64 segments = ACROSS ? job.tiles_x : job.tiles_y, count = ACROSS ? job.tiles_y : job.tiles_x;
    const u64 pieces = (segments + SEGMENTS - 1) / SEGMENTS;
    const u64 unit = (u64)blockIdx.x * 4 + (threadIdx.x >> 5);
    if (unit >= pieces * count) return;
    const u64 line = unit / pieces, first = unit % pieces * SEGMENTS;
    const Constraints<T> c = constraints_of<T>(job, control);
    const u64 n_along = ACROSS ? job.nx : job.ny, n_across = ACROSS ? job.ny : job.nx;
    const u64 a0 = first * TILE, at = line * TILE;             // along and across the line
    const u64 b0 = at ? at - 1 : 0;
    const i32 m = (i32)(at - b0);                              // the line's row (or column) in the patch
    const i32 thick = (i32)((n_across < at + 2 ? n_across : at + 2) - b0);
    const u64 rest = n_along - a0;
    const i32 length = rest < LINE ? (i32)rest : LINE;
    Patch<T> patch;
    patch.values = shared.values;
    patch.pitch = ACROSS ? LINE : 3;
    patch.width = ACROSS ? length : thick;
    patch.height = ACROSS ? thick : length;
    patch.words = ACROSS ? 5 : 1;
    patch.nonfinite = control.nonfinite ? shared.nonfinite : nullptr;
    const i32 distance = ACROSS ? 1 : 3;                       // one step along the line in the patch
    const i32 base = ACROSS ? m * LINE : m;

    for (i32 k = lane; k < length; k += 32)
        for (i32 t = 0; t < thick; t++) {
            i32 x = ACROSS ? k : t, y = ACROSS ? t : k;
            long long gx = (long long)(ACROSS ? a0 + k : b0 + t), gy = (long long)(ACROSS ? b0 + t : a0 + k);
            shared.values[y * patch.pitch + x] =
                Real<T>::pair(*vertex_at<T>(job.u, job.u_layout, gx, gy), *vertex_at<T>(job.v, job.v_layout, gx, gy));
        }
    for (i32 k = lane; k < LINE; k += 32) {
        shared.tight[k] = 0;
        shared.limit[k] = Real<T>::MAX;
    }
    __syncwarp();
    if (c.preserve) {
        for (i32 k = lane; k < length - 1; k += 32)
            for (i32 t = 0; t < thick - 1; t++) {
                i32 x = ACROSS ? k : t, y = ACROSS ? t : k;
                const P* v = shared.values + y * patch.pitch + x;
                bool near[2];
                near_origin<T>(v[0], v[1], v[patch.pitch + 1], v[patch.pitch], c.bound_up, near[0], near[1]);
                for (i32 triangle = 0; triangle < 2; triangle++) {
                    if (!near[triangle]) continue;
                    T b = Real<T>::MAX;
                    if (job.mode == BLOCK_WISE)
                        b = triangle_bound(corner_values(patch, x, y, triangle), triangle, c.rule, c.bound);
                    for (i32 corner = 0; corner < 3; corner++) {
                        i32 px = x + corner_x(triangle, corner), py = y + corner_y(triangle, corner);
                        if ((ACROSS ? py : px) != m) continue;
                        i32 i = ACROSS ? px : py;
                        shared.tight[i] = 1;
                        if (b < Real<T>::MAX) lower_to(&shared.limit[i], b);
                    }
                }
            }
    }
    __syncwarp();
    if (job.halo | job.pin) {
        for (i32 k = lane; k < length; k += 32) {
            u64 gx = ACROSS ? a0 + k : at, gy = ACROSS ? at : a0 + k;
            if (!on_border(job, gx, gy)) continue;
            T b = border_limit(job, c, gx, gy);
            if (b < Real<T>::MAX) {
                shared.tight[k] = 1;
                if (b < shared.limit[k]) shared.limit[k] = b;
            }
        }
        __syncwarp();
    }
    // Which vertices of the line have no code, and what is stored for them.
    u32 special[SEGMENTS + 1], stored[SEGMENTS + 1];
#pragma unroll
    for (i32 w = 0; w <= SEGMENTS; w++) {
        i32 k = w * 32 + lane;
        bool is_special = false, is_stored = false;
        if (k < length) {
            P value = shared.values[base + k * distance];
            bool finite_ = Real<T>::finite(value.x) && Real<T>::finite(value.y);
            is_special = !finite_ || (value.x == T(0) && value.y == T(0));
            is_stored = !finite_ && !(Real<T>::bits(value.x) == control.fill[0] && Real<T>::bits(value.y) == control.fill[1]);
        }
        special[w] = __ballot_sync(FULL, is_special);
        stored[w] = __ballot_sync(FULL, is_stored);
    }
    if (control.nonfinite) {
        const i32 words = patch.height * patch.words;
        for (i32 k = lane; k < words; k += 32) shared.nonfinite[k] = 0;
        __syncwarp();
        for (i32 k = lane; k < length; k += 32)
            for (i32 t = 0; t < thick; t++) {
                i32 x = ACROSS ? k : t, y = ACROSS ? t : k;
                P& value = shared.values[y * patch.pitch + x];
                if (Real<T>::finite(value.x) && Real<T>::finite(value.y)) continue;
                atomicOr(&shared.nonfinite[y * patch.words + (x >> 5)], 1u << (x & 31));
                value = Real<T>::pair(T(0), T(0));
            }
        __syncwarp();
    }
    __syncwarp();
    // Final values at the ends of the segments; around them for vertical lines.
    const P* anchor_values = reinterpret_cast<const P*>(job.anchors);
    P* out = reinterpret_cast<P*>(ACROSS ? job.across : job.down) + line * n_along + a0;
    if (lane <= SEGMENTS && lane * TILE < length) {
        const u64 s = first + lane;
        P value = anchor_values[ACROSS ? line * job.tiles_x + s : s * job.tiles_x + line];
        shared.values[base + lane * TILE * distance] = value;
        if (lane < SEGMENTS) out[lane * TILE] = value;
        if (!ACROSS) {
            const P* across = reinterpret_cast<const P*>(job.across) + s * job.nx + b0;
            for (i32 t = 0; t < thick; t++)
                if (t != m) shared.values[lane * TILE * 3 + t] = across[t];
        }
    }
    __syncwarp();
    u32 exact = 0, critical = 0;
    T max_error = 0;
#pragma unroll 1
    for (i32 level = ANCHOR_LEVEL - 1; level >= 0; level--) {
        const i32 step = 1 << level, n = 16 >> level;
        const Kernel<T> kernel = kernel_of<T>(control.kernels[level]);
        const T width = (T)control.quantizer.width[level][0], inverse = (T)control.quantizer.inverse[level][0];
        for (i32 k = lane; k < SEGMENTS * n; k += 32) {
            const i32 segment = k >> (4 - level), i = k & (n - 1);
            const i32 local = (2 * i + 1) * step, here = segment * TILE + local;
            if (here >= length) continue;
            const i32 last = length - 1 - segment * TILE < TILE ? length - 1 - segment * TILE : TILE;
            const u64 tile = ACROSS ? line * job.tiles_x + first + segment : (first + segment) * job.tiles_x + line;
            const i32 position = n * n * (ACROSS ? 1 : 2) + (ACROSS ? i : i * n);
            u32 symbol = SYMBOL_ZERO;
            if (special[0] >> (here & 31) & 1 && segment == 0 || special[1] >> (here & 31) & 1 && segment == 1 ||
                special[2] >> (here & 31) & 1 && segment == 2 || special[3] >> (here & 31) & 1 && segment == 3) {
                const u32 s = segment == 0 ? stored[0] : segment == 1 ? stored[1] : segment == 2 ? stored[2] : stored[3];
                if (s >> (here & 31) & 1) symbol = STORED;
            } else {
                const P prediction = along<T>(kernel, shared.values, base + here * distance, step * distance, local,
                                              step, last);
                const i32 x = ACROSS ? here : m, y = ACROSS ? m : here;
                Code code = code_vertex<T>(patch, x, y, prediction, level, width, inverse, c, shared.tight[here],
                                           shared.limit[here], max_error, exact);
                if (code.id == EXACT) {
                    symbol = STORED;
                } else {
                    u64 raw;
                    symbol = encode_symbol(code, raw);
                    if (symbol >= FIRST_WITH_RAW_BITS)
                        reinterpret_cast<u64*>(job.payload)[tile * TILE_VERTICES + position] = raw;
                }
            }
            job.symbols[tile * TILE_VERTICES + position] = (u8)symbol;
        }
        __syncwarp();
    }
    for (i32 k = lane; k < length && k < SEGMENTS * TILE; k += 32) out[k] = shared.values[base + k * distance];
    report_tally<T>(control, exact, critical, max_error);
}

// ---------------------------------------------------------------- tiles

template <typename T, bool TIGHT>
struct TileShared {
    typename Real<T>::Pair values[CLOSED * CLOSED];
    T limit[TIGHT ? CLOSED * CLOSED : 1];
    u32 nonfinite[CLOSED * 2];
    u32 zero[TILE], fill[TILE], tight[TIGHT ? TILE : 1];
    u16 near[TIGHT ? 96 : 1];
    alignas(16) u8 symbols[TILE_VERTICES];
};

// Warps (tiles) of a block, so that their shared memory fits 48 KB.
template <typename T, bool TIGHT>
struct TileWarps {
    static constexpr i32 COUNT = sizeof(T) == 4 ? (TIGHT ? 2 : 4) : (TIGHT ? 1 : 2);
};

// Bounds of up to 32 triangles near the origin: y * 64 + x * 2 + triangle.
template <typename T, bool TIGHT>
__device__ __noinline__ u32 constrain_triangles(const Job& job, TileShared<T, TIGHT>& shared, Patch<T> patch,
                                                Constraints<T> c, i32 count) {
    u32 critical = 0;
    const i32 lane = threadIdx.x & 31;
    if (lane < count) {
        const i32 code = shared.near[lane], triangle = code & 1, x = code >> 1 & 31, y = code >> 6;
        const Corners<T> p = corner_values(patch, x, y, triangle);
        if (is_critical(signature(p, triangle, c.rule))) critical++;
        if (job.mode == BLOCK_WISE) {
            const T b = triangle_bound(p, triangle, c.rule, c.bound);
            for (i32 k = 0; k < 3; k++)
                lower_to(&shared.limit[(y + corner_y(triangle, k)) * CLOSED + x + corner_x(triangle, k)], b);
        }
    }
    __syncwarp();
    return critical;
}

// Symbol of the anchor of a tile: its base code as the difference from that of the anchor before it.
static __device__ __noinline__ u32 anchor_symbol(const Job& job, const TileShape& shape, u64 index, u64& raw) {
    int4* codes = reinterpret_cast<int4*>(job.anchor_codes);
    const int4 code = codes[index];
    if (code.z > EXACT) return SYMBOL_ZERO;
    if (code.z == EXACT) return STORED;
    i32 before_u = 0, before_v = 0;
    u32 digits_u, digits_v;
    u64 at = index, x = shape.tx, y = shape.ty;
    while (x > 0 || y > 0) {
        // To the left, or upwards in the first column, to the next one that has a code.
        if (x > 0) {
            at--;
            x--;
        } else {
            at -= job.tiles_x;
            y--;
        }
        const int4 other = codes[at];
        if (other.z < EXACT) {
            split_code(other.x, other.z, before_u, digits_u);
            split_code(other.y, other.z, before_v, digits_v);
            break;
        }
    }
    i32 base_u, base_v;
    split_code(code.x, code.z, base_u, digits_u);
    split_code(code.y, code.z, base_v, digits_v);
    codes[index].w = (i32)(digits_u | digits_v << (2 * code.z));
    return encode_symbol({code.z, base_u - before_u, base_v - before_v}, raw);
}

// One tile by one warp. Without TIGHT, a tile with a triangle near the origin (or with a halo or pin
// that concerns its interior) is put on the list of tight tiles instead.
template <typename T, bool TIGHT>
__device__ __forceinline__ void tile(const Job& job, Control& control, const Constraints<T>& c,
                                     TileShared<T, TIGHT>& shared, u64 index, u32& exact, u32& critical,
                                     T& max_error) {
    typedef typename Real<T>::Pair P;
    const i32 lane = threadIdx.x & 31;
    const TileShape shape = tile_shape(job, index);
    const i32 width = shape.last_x + 1, height = shape.last_y + 1;
    P* values = shared.values;
    const bool has_nonfinite = control.nonfinite != 0, has_special = has_nonfinite || control.zero != 0;
    const Patch<T> patch = {values, CLOSED, width, height, has_nonfinite ? shared.nonfinite : nullptr, 2};
    const bool border = (job.halo | job.pin) && (shape.last_x < TILE || shape.last_y < TILE);
    if (!TIGHT && border) {
        if (lane == 0) job.group_offsets[atomicAdd((unsigned long long*)&control.tight_tiles, 1ull)] = index;
        return;
    }

    const T* u = vertex_at<T>(job.u, job.u_layout, shape.x0, shape.y0);
    const T* v = vertex_at<T>(job.v, job.v_layout, shape.x0, shape.y0);
    if (width == CLOSED && height == CLOSED) {
        const T *ul = u + lane * job.u_layout.stride, *vl = v + lane * job.v_layout.stride;
#pragma unroll 11
        for (i32 y = 0; y < CLOSED; y++)
            values[y * CLOSED + lane] = Real<T>::pair(ul[y * job.u_layout.pitch], vl[y * job.v_layout.pitch]);
        values[lane * CLOSED + TILE] =
            Real<T>::pair(u[lane * job.u_layout.pitch + TILE * job.u_layout.stride],
                          v[lane * job.v_layout.pitch + TILE * job.v_layout.stride]);
        if (lane == 0)
            values[TILE * CLOSED + TILE] =
                Real<T>::pair(u[TILE * job.u_layout.pitch + TILE * job.u_layout.stride],
                              v[TILE * job.v_layout.pitch + TILE * job.v_layout.stride]);
    } else {
        for (i32 y = 0; y < height; y++)
            for (i32 x = lane; x < width; x += 32)
                values[y * CLOSED + x] = Real<T>::pair(u[y * job.u_layout.pitch + x * job.u_layout.stride],
                                                       v[y * job.v_layout.pitch + x * job.v_layout.stride]);
    }
    if (TIGHT)
        for (i32 k = lane; k < CLOSED * CLOSED; k += 32) shared.limit[k] = Real<T>::MAX;
    __syncwarp();

    // Lane y keeps row y of the tight vertices.
    u32 tight = 0;
    if (c.preserve) {
        const bool cell = lane < width - 1;
        const i32 right = cell ? lane + 1 : lane;
        i32 waiting = 0;
        bool any = false;
        P a = values[lane < width ? lane : 0], b = values[lane < width ? right : 0];
#pragma unroll 4
        for (i32 y = 0; y < height - 1; y++) {
            const i32 row = (y + 1) * CLOSED;
            const P d = values[row + (lane < width ? lane : 0)], e = values[row + (lane < width ? right : 0)];
            bool lower, upper;
            near_origin<T>(a, b, e, d, c.bound_up, lower, upper);
            lower &= cell;
            upper &= cell;
            a = d;
            b = e;
            if (!TIGHT) {
                any |= lower | upper;
            } else {
                const u32 low = __ballot_sync(FULL, lower), up = __ballot_sync(FULL, upper);
                if (low | up) {
                    if (lane == y) tight |= low | low << 1 | up;
                    if (lane == y + 1) tight |= low << 1 | up | up << 1;
                    const u32 before = (1u << lane) - 1;
                    if (lower) shared.near[waiting + __popc(low & before)] = (u16)(y << 6 | lane << 1 | LOWER);
                    waiting += __popc(low);
                    __syncwarp();
                    if (waiting >= 32) {
                        critical += constrain_triangles<T, TIGHT>(job, shared, patch, c, 32);
                        waiting -= 32;
                        if (lane < waiting) shared.near[lane] = shared.near[32 + lane];
                        __syncwarp();
                    }
                    if (upper) shared.near[waiting + __popc(up & before)] = (u16)(y << 6 | lane << 1 | UPPER);
                    waiting += __popc(up);
                    __syncwarp();
                    if (waiting >= 32) {
                        critical += constrain_triangles<T, TIGHT>(job, shared, patch, c, 32);
                        waiting -= 32;
                        if (lane < waiting) shared.near[lane] = shared.near[32 + lane];
                        __syncwarp();
                    }
                }
            }
        }
        if (!TIGHT && __any_sync(FULL, any)) {
            if (lane == 0) job.group_offsets[atomicAdd((unsigned long long*)&control.tight_tiles, 1ull)] = index;
            return;
        }
        if (TIGHT && waiting) critical += constrain_triangles<T, TIGHT>(job, shared, patch, c, waiting);
    }
    if (TIGHT && border) {
        // Vertices on the border of the grid that lie in the interior of the closed tile.
        for (i32 k = lane; k < CLOSED * 2; k += 32) {
            const bool right = k >= CLOSED;
            const i32 x = right ? shape.last_x : k, y = right ? k - CLOSED : shape.last_y;
            const bool counts = right ? shape.last_x < TILE && y < height : shape.last_y < TILE && x < width;
            T b = Real<T>::MAX;
            if (counts) b = border_limit(job, c, shape.x0 + x, shape.y0 + y);
            if (b < Real<T>::MAX) {
                lower_to(&shared.limit[y * CLOSED + x], b);
                shared.symbols[k] = 1;
            } else {
                shared.symbols[k] = 0;
            }
        }
        __syncwarp();
        if (lane < height) {
            if (shared.symbols[CLOSED + lane] && shape.last_x < TILE) tight |= 1u << shape.last_x;
            if (lane == shape.last_y)
                for (i32 x = 0; x < TILE; x++)
                    if (x < width && shared.symbols[x]) tight |= 1u << x;
        }
        __syncwarp();
    }

    // Masks, by row, in shared memory.
    if (lane < TILE) {
        shared.zero[lane] = 0;
        shared.fill[lane] = 0;
        if (TIGHT) shared.tight[lane] = tight;
    }
    if (has_special) {
        for (i32 k = lane; k < CLOSED * 2; k += 32) shared.nonfinite[k] = 0;
        __syncwarp();
        for (i32 y = 0; y < height; y++) {
            const bool here = lane < width;
            const P value = values[y * CLOSED + (here ? lane : 0)];
            const bool finite_ = Real<T>::finite(value.x) && Real<T>::finite(value.y);
            const bool filled =
                !finite_ && Real<T>::bits(value.x) == control.fill[0] && Real<T>::bits(value.y) == control.fill[1];
            const u32 z = __ballot_sync(FULL, here && value.x == T(0) && value.y == T(0));
            const u32 nf = __ballot_sync(FULL, here && !finite_), f = __ballot_sync(FULL, here && filled);
            if (lane == 0) {
                shared.nonfinite[2 * y] = nf;
                if (y < TILE) {
                    shared.zero[y] = z;
                    shared.fill[y] = f;
                }
                if (width == CLOSED) {
                    const P edge = values[y * CLOSED + TILE];
                    shared.nonfinite[2 * y + 1] = !(Real<T>::finite(edge.x) && Real<T>::finite(edge.y));
                }
            }
            if (here && !finite_) values[y * CLOSED + lane] = Real<T>::pair(T(0), T(0));
        }
    }
    __syncwarp();

    // The lattice lines are final.
    const P* across = reinterpret_cast<const P*>(job.across) + shape.ty * job.nx + shape.x0;
    const P* down = reinterpret_cast<const P*>(job.down) + shape.tx * job.ny + shape.y0;
    if (lane < width) {
        values[lane] = across[lane];
        if (height == CLOSED) values[TILE * CLOSED + lane] = across[job.nx + lane];
    }
    if (lane > 0 && lane < height) values[lane * CLOSED] = down[lane];
    if (width == CLOSED) {
        if (lane < height) values[lane * CLOSED + TILE] = down[job.ny + lane];
        if (lane == 0 && height == CLOSED) values[TILE * CLOSED + TILE] = across[job.nx + TILE];
    }
    // Their symbols, and their part of the cost of each block (coarse, middle, fine).
    u32 coarse_cost = 0, middle_cost = 0, fine_cost = 0;
    auto charge = [&](u32 symbol, i32 position) {
        const u32 cost = 3 + raw_bits(symbol, position, sizeof(T));
        if (position >= 256)
            fine_cost += cost;
        else if (position >= 64)
            middle_cost += cost;
        else
            coarse_cost += cost;
    };
    u8* symbols = job.symbols + index * TILE_VERTICES;
    const i32 ox = shape.owned_x(), oy = shape.owned_y();
#pragma unroll
    for (i32 axis = 0; axis < 2; axis++) {
        const i32 x = axis == 0 ? lane : 0, y = axis == 0 ? 0 : lane;
        if (lane > 0) {
            const i32 position = position_of(x, y);
            u32 s = SYMBOL_ZERO;
            if (x < ox && y < oy) s = symbols[position];
            shared.symbols[position] = (u8)s;
            if (s != SYMBOL_ZERO) charge(s, position);
        }
    }
    u64* payload = reinterpret_cast<u64*>(job.payload) + index * TILE_VERTICES;
    if (lane == 0) {
        const u32 s = anchor_symbol(job, shape, index, payload[0]);
        shared.symbols[0] = (u8)s;
        if (s != SYMBOL_ZERO) charge(s, 0);
    }
    __syncwarp();

    // The interior.
    interior<T>(values, shape.last_x, shape.last_y, control.kernels, control.quantizer,
                [&](i32 level, T w, T inverse, i32 position, i32 x, i32 y, P prediction) {
                    u32 symbol = SYMBOL_ZERO;
                    if (has_special && ((shared.zero[y] | shared.nonfinite[2 * y]) >> x & 1)) {
                        if (!((shared.zero[y] | shared.fill[y]) >> x & 1)) symbol = STORED;
                    } else {
                        bool is_tight = false;
                        T limit = Real<T>::MAX;
                        if (TIGHT) {
                            is_tight = shared.tight[y] >> x & 1;
                            limit = shared.limit[y * CLOSED + x];
                        }
                        const Code code = code_vertex<T>(patch, x, y, prediction, level, w, inverse, c, is_tight, limit,
                                                         max_error, exact);
                        symbol = STORED;
                        if (code.id != EXACT) {
                            u64 raw;
                            symbol = encode_symbol(code, raw);
                            if (symbol >= FIRST_WITH_RAW_BITS) payload[position] = raw;
                        }
                    }
                    shared.symbols[position] = (u8)symbol;
                    if (symbol != SYMBOL_ZERO) charge(symbol, position);
                });
    __syncwarp();

    // Mode, masks, classes, and the symbols of blocks that are not all zero.
    u32 mode = 0;
    if (has_special) {
        const u32 owned = (u32)(ox * oy);
        const u32 z = lane < oy ? shared.zero[lane] : 0, f = lane < oy ? shared.fill[lane] : 0;
        const u32 zeros = warp_sum(__popc(z)), fills = warp_sum(__popc(f));
        mode = 3 * (zeros == 0 ? MASK_NONE : zeros == owned ? MASK_ALL : MASK_SOME) +
               (fills == 0 ? MASK_NONE : fills == owned ? MASK_ALL : MASK_SOME);
        if (mode != 0) {
            job.masks[index * 64 + lane] = z;
            job.masks[index * 64 + TILE + lane] = f;
            __syncwarp();
        }
    }
    u32 info = mode == 0 && ox == TILE && oy == TILE ? mode | ALL_CODED : mode;
    if (has_codes(mode)) {
        u32 active[3] = {64, 192, 768};
        if (mode != 0 || ox < TILE || oy < TILE) {
#pragma unroll 1
            for (i32 block = 0; block < 3; block++) {
                u32 n = 0;
                for (i32 step = first_step(block); step < end_step(block); step++)
                    n += is_active(shape, mode, job.masks + index * 64, step * 32 + lane);
                n = warp_sum(n);
                if (block == 0) active[0] = n;
                if (block == 1) active[1] = n;
                if (block == 2) active[2] = n;
            }
        }
        const u32 coarse = class_of(warp_sum(coarse_cost), active[0]);
        const u32 middle = class_of(warp_sum(middle_cost), active[1]);
        const u32 fine = class_of(warp_sum(fine_cost), active[2]);
        info |= coarse << 8 | middle << 16 | fine << 24;
        const u32* from = reinterpret_cast<const u32*>(shared.symbols);
        u32* to = reinterpret_cast<u32*>(symbols);
        if (coarse && lane < 16) to[lane] = from[lane];
        if (middle)
            for (i32 k = 16 + lane; k < 64; k += 32) to[k] = from[k];
        if (fine)
            for (i32 k = 64 + lane; k < 256; k += 32) to[k] = from[k];
    }
    if (lane == 0) job.info[index] = info;
}

// Grid: tiles / warps. Block: 32 * warps. Tiles away from the origin; others go on the list.
template <typename T>
__device__ __forceinline__ void tiles(const Job& job) {
    __shared__ TileShared<T, false> shared[TileWarps<T, false>::COUNT];
    Control& control = control_of(job);
    const u64 index = (u64)blockIdx.x * TileWarps<T, false>::COUNT + (threadIdx.x >> 5);
    if (index >= job.tiles()) return;
    const Constraints<T> c = constraints_of<T>(job, control);
    u32 exact = 0, critical = 0;
    T max_error = 0;
    tile<T, false>(job, control, c, shared[threadIdx.x >> 5], index, exact, critical, max_error);
    report_tally<T>(control, exact, critical, max_error);
}

// Grid: any. Block: 32 * warps. The tiles on the list, in any order.
template <typename T>
__device__ __forceinline__ void tight_tiles(const Job& job) {
    __shared__ TileShared<T, true> shared[TileWarps<T, true>::COUNT];
    Control& control = control_of(job);
    const Constraints<T> c = constraints_of<T>(job, control);
    const u64 count = control.tight_tiles, warps = (u64)gridDim.x * TileWarps<T, true>::COUNT;
    u32 exact = 0, critical = 0;
    T max_error = 0;
    for (u64 k = (u64)blockIdx.x * TileWarps<T, true>::COUNT + (threadIdx.x >> 5); k < count; k += warps) {
        tile<T, true>(job, control, c, shared[threadIdx.x >> 5], job.group_offsets[k], exact, critical, max_error);
        __syncwarp();
    }
    report_tally<T>(control, exact, critical, max_error);
}
