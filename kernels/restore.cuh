// Entry of decompression from the symbols to the values of the hierarchical predictor, and the report.
#pragma once
#include "decoding.cuh"
#include "stage/lattice.cuh"

// What predictions see of a vertex with this symbol.
template <typename T, typename P = typename Real<T>::Pair>
__device__ __noinline__ P reconstruct(const Job& job, const Quantizer& q, u64 index, i32 position, u32 symbol,
                                         P prediction, i32 level, T width) {
    typedef typename Payload<T>::Type Q;
    if (symbol < FIRST_WITH_RAW_BITS) {
        const Code code = decode_small(symbol);
        return Real<T>::pair(prediction.x + (T)code.qu * width, prediction.y + (T)code.qv * width);
    }
    const Q raw = reinterpret_cast<const Q*>(job.payload)[index * TILE_VERTICES + position];
    if (symbol == STORED) {
        const T a = Real<T>::from_bits(Payload<T>::low(raw)), b = Real<T>::from_bits(Payload<T>::second(raw));
        if (Real<T>::finite(a) && Real<T>::finite(b)) return Real<T>::pair(a, b);
        return Real<T>::pair(T(0), T(0));
    }
    const Code code = decode_symbol(symbol, symbol_raw_bits(symbol) ? Payload<T>::low(raw) : 0);
    const T w = (T)q.width[level][code.id];
    return Real<T>::pair(prediction.x + (T)code.qu * w, prediction.y + (T)code.qv * w);
}

// A tile by a warp, whatever its shape and masks.
template <typename T>
struct RestoreTile {
    typename Real<T>::Pair values[CLOSED * CLOSED];
    alignas(16) u8 symbols[TILE_VERTICES];
};

// Two whole tiles without masks by a warp.
template <typename T>
struct RestorePair {
    Lattice<T> lattice[2];
    alignas(16) u8 symbols[2][TILE_VERTICES];
    u8 sides[2][SIDES][TILE];  // symbols along the sides
};

template <typename T>
constexpr i32 RESTORE_WARPS = 2;

// Stored values that are not finite, which predictions saw as zeros: to their places.
template <typename T>
__device__ __forceinline__ void restore_stored(const Job& job, u64 index, i32 position, T* u, T* v) {
    const auto raw = reinterpret_cast<const typename Payload<T>::Type*>(job.payload)[index * TILE_VERTICES + position];
    *u = Real<T>::from_bits(Payload<T>::low(raw));
    *v = Real<T>::from_bits(Payload<T>::second(raw));
}

// Half a warp for a tile, its lattice lines included: those on the right and below are decoded again
// from the codes of the neighbours. A half that is not `mine` does the other's work without a trace.
template <typename T>
__device__ __forceinline__ void restore_pair(const Job& job, const Control& control, RestorePair<T>& shared, u64 index, bool mine) {
    typedef typename Real<T>::Pair P;
    const Quantizer& q = control.quantizer;
    const i32 lane = threadIdx.x & (HALF - 1), half = (threadIdx.x >> 4) & 1;
    const TileShape shape = tile_shape(job, index);
    Lattice<T>& lattice = shared.lattice[half];
    u8* symbols = shared.symbols[half];
    const u32 steps = job.steps[index];
    bool stored = false;
    {
        const u32* from = reinterpret_cast<const u32*>(job.symbols + index * TILE_VERTICES);
        u32* to = reinterpret_cast<u32*>(symbols);
#pragma unroll
        for (i32 k = 0; k < 16; k++) {
            const i32 word = HALF * k + lane;
            u32 four = 0;
            if (steps >> (2 * k + (lane >> 3)) & 1) {
                four = from[word];
                stored |= __vcmpeq4(four, STORED * 0x01010101u) != 0;
            }
            to[word] = four;
        }
        const u64 below = index + job.tiles_x, right = index + 1;
        const u32 steps_below = job.steps[below], steps_right = job.steps[right];
        const P* anchors = reinterpret_cast<const P*>(job.anchors);
        if (lane < 4)
            lattice.even[(lane & 1 ? HALF : 0) + (lane & 2 ? HALF * EVEN : 0)] =
                anchors[index + (lane & 1) + (lane & 2 ? job.tiles_x : 0)];
        __syncwarp();
#pragma unroll
        for (i32 along = lane; along < TILE; along += HALF) {
            const i32 on_row = position_of(along, 0), on_column = position_of(0, along);
            shared.sides[half][TOP][along] = symbols[on_row];
            shared.sides[half][LEFT][along] = symbols[on_column];
            shared.sides[half][BOTTOM][along] =
                steps_below >> (on_row >> 5) & 1 ? job.symbols[below * TILE_VERTICES + on_row] : (u8)SYMBOL_ZERO;
            shared.sides[half][RIGHT][along] =
                steps_right >> (on_column >> 5) & 1 ? job.symbols[right * TILE_VERTICES + on_column] : (u8)SYMBOL_ZERO;
        }
        __syncwarp();
    }
    auto value_of = [&](u32 symbol, u64 owner, i32 position, i32 level, T width, P prediction) -> P {
        // As the twin rounds it: adding a zero makes -0 into 0.
        if (symbol == SYMBOL_ZERO) return Real<T>::pair(prediction.x + T(0), prediction.y + T(0));
        return reconstruct<T>(job, q, owner, position, symbol, prediction, level, width);
    };
    lattice_sides<T>(lattice, control.kernels, q, [&](i32 side, i32 level, T width, T, i32 along, P prediction, P) -> P {
        const u64 owner = side == BOTTOM ? index + job.tiles_x : side == RIGHT ? index + 1 : index;
        return value_of(shared.sides[half][side][along], owner, side & 1 ? position_of(0, along) : position_of(along, 0),
                        level, width, prediction);
    });
    lattice_even<T>(lattice, control.kernels, q, [&](i32 level, T width, T, i32 position, i32, i32, P prediction, P) -> P {
        return value_of(symbols[position], index, position, level, width, prediction);
    });
    T* const out_u = vertex_at<T>(job.u, job.u_layout, shape.x0 + 2 * lane, shape.y0);
    T* const out_v = vertex_at<T>(job.v, job.v_layout, shape.x0 + 2 * lane, shape.y0);
    const u64 pitch_u = job.u_layout.pitch, pitch_v = job.v_layout.pitch, stride_u = job.u_layout.stride, stride_v = job.v_layout.stride;
    const bool wide = stride_u == 1 && stride_v == 1 && ((pitch_u | pitch_v) & 1) == 0 &&
                      (((u64)job.u | (u64)job.v) & (2 * sizeof(T) - 1)) == 0;
    const u32 any_steps = steps | __shfl_xor_sync(FULL, steps, HALF);
    const T width = (T)q.width[0][0];
    lattice_fine<T>(
        lattice, control.kernels[0],
        [&](i32 phase, i32 j, bool active, P prediction) -> P {
            if (!(any_steps >> (8 + 8 * phase + (j >> 1)) & 1))
                return Real<T>::pair(prediction.x + T(0), prediction.y + T(0));
            const i32 position = 256 * (1 + phase) + HALF * j + lane;
            return value_of(active ? symbols[position] : SYMBOL_ZERO, index, position, 0, width, prediction);
        },
        [&](i32 j, P a, P b, P c, P d) {
            if (!mine) return;
            T *u = out_u + 2 * j * pitch_u, *v = out_v + 2 * j * pitch_v;
            if (wide) {
                *reinterpret_cast<P*>(u) = Real<T>::pair(a.x, b.x);
                *reinterpret_cast<P*>(v) = Real<T>::pair(a.y, b.y);
                *reinterpret_cast<P*>(u + pitch_u) = Real<T>::pair(c.x, d.x);
                *reinterpret_cast<P*>(v + pitch_v) = Real<T>::pair(c.y, d.y);
            } else {
                u[0] = a.x, u[stride_u] = b.x, u[pitch_u] = c.x, u[pitch_u + stride_u] = d.x;
                v[0] = a.y, v[stride_v] = b.y, v[pitch_v] = c.y, v[pitch_v + stride_v] = d.y;
            }
        });
    if (__any_sync(FULL, stored)) {
        __syncwarp();
        for (i32 k = lane; k < TILE_VERTICES && mine; k += HALF) {
            if (symbols[k] != STORED) continue;
            i32 x, y;
            place_of(k, x, y);
            restore_stored<T>(job, index, k, out_u + y * pitch_u + (x - 2 * lane) * (long long)stride_u,
                              out_v + y * pitch_v + (x - 2 * lane) * (long long)stride_v);
        }
    }
}

// One tile by one warp, its lattice lines included, whatever its shape and masks.
template <typename T>
__device__ __forceinline__ void restore_tile(const Job& job, const Control& control, RestoreTile<T>& shared, u64 index) {
    typedef typename Real<T>::Pair P;
    typedef typename Payload<T>::Type Q;
    const i32 lane = threadIdx.x & 31;
    const TileShape shape = tile_shape(job, index);
    const i32 width = shape.last_x + 1, height = shape.last_y + 1, ox = shape.owned_x(), oy = shape.owned_y();
    T* out_u = vertex_at<T>(job.u, job.u_layout, shape.x0, shape.y0);
    T* out_v = vertex_at<T>(job.v, job.v_layout, shape.x0, shape.y0);
    const Quantizer& q = control.quantizer;
    P* values = shared.values;
    // Own symbols; blocks of class 0 are all zero.
    const u32 info = job.info[index], mode = info & 255;
    const u32* masks = job.masks + index * 64;
    if (!has_codes(mode)) {
        // Nothing but zeros or missing values.
        const T fill_u = Real<T>::from_bits(control.fill[0]), fill_v = Real<T>::from_bits(control.fill[1]);
        for (i32 y = 0; y < oy; y++)
            if (lane < ox) {
                const bool zero = masks[y] >> lane & 1;
                out_u[y * job.u_layout.pitch + lane * job.u_layout.stride] = zero ? T(0) : fill_u;
                out_v[y * job.v_layout.pitch + lane * job.v_layout.stride] = zero ? T(0) : fill_v;
            }
        return;
    }
    {
        const u32* from = reinterpret_cast<const u32*>(job.symbols + index * TILE_VERTICES);
        u32* to = reinterpret_cast<u32*>(shared.symbols);
        const u32 steps = has_codes(mode) ? job.steps[index] : 0;
#pragma unroll
        for (i32 k = 0; k < 8; k++) {
            const i32 word = 32 * k + lane;
            to[word] = steps >> (4 * k + (lane >> 3)) & 1 ? from[word] : 0;
        }
    }
    // Corners.
    const P* anchor = reinterpret_cast<const P*>(job.anchors);
    if (lane < 4) {
        const i32 x = lane & 1 ? TILE : 0, y = lane & 2 ? TILE : 0;
        if (x < width && y < height)
            values[y * CLOSED + x] = anchor[index + (lane & 1) + (lane & 2 ? job.tiles_x : 0)];
    }
    __syncwarp();
    // The four sides: top and bottom, left and right.
    const bool full = width == CLOSED && height == CLOSED;
#pragma unroll 1
    for (i32 level = ANCHOR_LEVEL - 1; level >= 0; level--) {
        const i32 step = 1 << level, n = 16 >> level;
        const Kernel<T> kernel = kernel_of<T>(control.kernels[level]);
        const T w = (T)q.width[level][0];
#pragma unroll 1
        for (i32 k = lane; k < 4 * n; k += 32) {
            const i32 side = k >> (4 - level), i = k & (n - 1), along_ = (2 * i + 1) * step;
            const bool vertical = side & 1, far = side & 2;
            const i32 x = vertical ? (far ? TILE : 0) : along_, y = vertical ? along_ : (far ? TILE : 0);
            if (x >= width || y >= height || (!full && along_ > (vertical ? shape.last_y : shape.last_x))) continue;
            if (along_ >= TILE) continue;
            // The tile that owns the side, and the position there.
            const u64 owner = far ? (vertical ? index + 1 : index + job.tiles_x) : index;
            const i32 position = n * n * (vertical ? 2 : 1) + (vertical ? i * n : i);
            u32 symbol;
            bool masked = false;
            if (far) {
                const u32 m = job.info[owner] & 255;
                const u32 steps = has_codes(m) ? job.steps[owner] : 0;
                symbol = steps >> (position >> 5) & 1 ? job.symbols[owner * TILE_VERTICES + position] : SYMBOL_ZERO;
                if (m != 0) {
                    const u32* rows = job.masks + owner * 64 + (vertical ? y : 0);
                    masked = (rows[0] | rows[TILE]) >> (vertical ? 0 : x) & 1;
                }
            } else {
                symbol = shared.symbols[position];
                if (mode != 0) masked = (masks[y] | masks[TILE + y]) >> x & 1;
            }
            const i32 last = vertical ? shape.last_y : shape.last_x;
            const P p = along<T>(kernel, values, y * CLOSED + x, vertical ? step * CLOSED : step, along_, step, last);
            P value = Real<T>::pair(T(0), T(0));
            if (!masked) value = reconstruct<T>(job, q, owner, position, symbol, p, level, w);
            values[y * CLOSED + x] = value;
        }
        __syncwarp();
    }
    // The interior.
    interior<T>(values, shape.last_x, shape.last_y, control.kernels, q,
                [&](i32 level, T w, T, i32 position, i32 x, i32 y, P prediction) {
                    const u32 symbol = shared.symbols[position];
                    P value;
                    if (symbol == SYMBOL_ZERO) {
                        // As the twin rounds it: adding a zero makes -0 into 0.
                        value = Real<T>::pair(prediction.x + T(0) * w, prediction.y + T(0) * w);
                        if (mode != 0 && ((masks[y] | masks[TILE + y]) >> x & 1)) value = Real<T>::pair(T(0), T(0));
                    } else {
                        value = reconstruct<T>(job, q, index, position, symbol, prediction, level, w);
                    }
                    values[y * CLOSED + x] = value;
                });
    __syncwarp();
    // Values that predictions did not see.
    if (mode != 0) {
        const T fill_u = Real<T>::from_bits(control.fill[0]), fill_v = Real<T>::from_bits(control.fill[1]);
        for (i32 y = 0; y < oy; y++) {
            const u32 zero = masks[y], fill = masks[TILE + y];
            if (lane < ox) {
                if (zero >> lane & 1)
                    values[y * CLOSED + lane] = Real<T>::pair(T(0), T(0));
                else if (fill >> lane & 1)
                    values[y * CLOSED + lane] = Real<T>::pair(fill_u, fill_v);
            }
        }
    }
    if (has_codes(mode)) {
        for (i32 k = lane; k < TILE_VERTICES / 4; k += 32) {
            const u32 four = reinterpret_cast<const u32*>(shared.symbols)[k];
            if (four == 0) continue;
            for (i32 b = 0; b < 4; b++) {
                if ((four >> 8 * b & 255) != STORED) continue;
                i32 x, y;
                place_of(4 * k + b, x, y);
                if (mode != 0 && ((masks[y] | masks[TILE + y]) >> x & 1)) continue;
                const Q raw = reinterpret_cast<const Q*>(job.payload)[index * TILE_VERTICES + 4 * k + b];
                values[y * CLOSED + x] = Real<T>::pair(Real<T>::from_bits(Payload<T>::low(raw)),
                                                       Real<T>::from_bits(Payload<T>::second(raw)));
            }
        }
    }
    __syncwarp();
    for (i32 y = 0; y < oy; y++)
        if (lane < ox) {
            const P value = values[y * CLOSED + lane];
            out_u[y * job.u_layout.pitch + lane * job.u_layout.stride] = value.x;
            out_v[y * job.v_layout.pitch + lane * job.v_layout.stride] = value.y;
        }
}

// Whether half a warp can restore a tile: it is whole with its closed block, and has no masks, nor have those beside it.
__device__ __forceinline__ bool is_unmasked(const Job& job, u64 index) {
    const TileShape shape = tile_shape(job, index);
    if (shape.last_x != TILE || shape.last_y != TILE) return false;
    return ((job.info[index] | job.info[index + 1] | job.info[index + job.tiles_x]) & 255) == 0;
}

// The values themselves, where the content is stored.
template <typename T>
__device__ __forceinline__ void restore_values(const Job& job, u64 index) {
    const u8* from = job.stream + HEADER_BYTES;
    const TileShape shape = tile_shape(job, index);
    for (i32 y = 0; y < shape.owned_y(); y++)
        for (i32 x = threadIdx.x & 31; x < shape.owned_x(); x += 32) {
            const u64 k = (shape.y0 + y) * job.nx + shape.x0 + x;
            const u8 *a = from + k * sizeof(T), *b = a + job.nx * job.ny * sizeof(T);
            *vertex_at<T>(job.u, job.u_layout, shape.x0 + x, shape.y0 + y) = Real<T>::from_bits(sizeof(T) == 4 ? get32(a) : get64(a));
            *vertex_at<T>(job.v, job.v_layout, shape.x0 + x, shape.y0 + y) = Real<T>::from_bits(sizeof(T) == 4 ? get32(b) : get64(b));
        }
}

// Grid: any. Block: 32 * warps. The tiles that take a warp each, few and slow: the next kernel works beside this one. Or all
// of them, where the content is stored.
template <typename T>
__device__ __forceinline__ void restore_others(const Job& job) {
    __shared__ RestoreTile<T> shared[RESTORE_WARPS<T>];
    const Control& control = control_of(job);
    const bool stored = control.content == CONTENT_STORED;
    if (control.status != STATUS_OK || (!stored && control.predictor != PREDICTOR_HIERARCHICAL)) return;
    // A warp looks at 32 tiles at once, far from each other, since those that are slow lie together.
    const u64 warp = (u64)blockIdx.x * RESTORE_WARPS<T> + (threadIdx.x >> 5), warps = (u64)gridDim.x * RESTORE_WARPS<T>;
    for (u64 first = warp; first < job.tiles(); first += 32 * warps) {
        const u64 mine = first + (threadIdx.x & 31) * warps;
        for (u32 left = __ballot_sync(FULL, mine < job.tiles() && (stored || !is_unmasked(job, mine))); left; left &= left - 1) {
            const u64 index = first + (__ffs(left) - 1) * warps;
            if (stored)
                restore_values<T>(job, index);
            else
                restore_tile<T>(job, control, shared[threadIdx.x >> 5], index);
            __syncwarp();
        }
    }
}

// Grid: tiles / 2 / warps. Block: 32 * warps. The other tiles, and the report. Beside the kernel before, whose results
// are complete when this one is.
template <typename T>
__device__ __forceinline__ void restore(const Job& job) {
    __shared__ RestorePair<T> shared[RESTORE_WARPS<T>];
    const Control& control = control_of(job);
    const i32 half = threadIdx.x >> 4 & 1;
    const u64 first = 2 * ((u64)blockIdx.x * RESTORE_WARPS<T> + (threadIdx.x >> 5));
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        Report r = {};
        r.status = control.status;
        if (r.status == STATUS_OK) {
            r.stream_bytes = control.stream_bytes;
            r.required_bytes = 2 * job.nx * job.ny * sizeof(T);
            r.exact_vertices = control.content == CONTENT_STORED ? job.nx * job.ny : control.exact;
            r.bound = control.bound;
        }
        *job.report = r;
    }
    if (control.status == STATUS_OK && control.content == CONTENT_CODED && control.predictor == PREDICTOR_HIERARCHICAL) {
        const bool mine = first + half < job.tiles() && is_unmasked(job, first + half);
        // A half without a tile does the other's work without a trace.
        if (__any_sync(FULL, mine)) restore_pair<T>(job, control, shared[threadIdx.x >> 5], first + (mine ? half : half ^ 1), mine);
    }
    end_beside();
}
