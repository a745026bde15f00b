// Reconstructs tiles of any shape, a warp per tile, and stored content.
#pragma once
#include "decompress/vertex_values.cuh"
#include "tile/traversal.cuh"

// Shared memory of a warp for one tile of any shape.
template <typename T>
struct ReconstructedTile {
    typename Real<T>::Pair values[CLOSED * CLOSED];
    alignas(16) u8 symbols[TILE_VERTICES];
};

// Reconstructs a tile of any shape by a warp, with all four lattice lines.
template <typename T>
__device__ __forceinline__ void reconstruct_tile(
    const Job& job, const Control& control, ReconstructedTile<T>& shared, u64 index) {
    const ReconstructView<T> work(job);
    typedef typename Real<T>::Pair P;
    typedef typename Payload<T>::Type Q;
    const i32 lane = threadIdx.x & 31;
    const TileShape shape = wide_tile_shape(job, index);
    const i32 width = shape.last_x + 1, height = shape.last_y + 1, ox = shape.owned_x(), oy = shape.owned_y();
    T* out_u = vertex_at<T>(job.u, job.u_layout, shape.x0, shape.y0);
    T* out_v = vertex_at<T>(job.v, job.v_layout, shape.x0, shape.y0);
    const ReconstructTables<T>& tables = reconstruct_tables<T>(job);
    const Q* const payload = work.raw();
    P* values = shared.values;
    // Own symbols; blocks of activity 0 are all zero.
    const u32 info = work.headers()[index], mask_state = info & 255;
    const u32* masks = work.masks() + index * 64;
    if (!has_codes(mask_state)) {
        // Only zeros or missing values.
        const P fill = fill_of<T>(control);
        for (i32 y = 0; y < oy; y++)
            if (lane < ox) {
                const bool zero = masks[y] >> lane & 1;
                out_u[y * job.u_layout.pitch + lane * job.u_layout.stride] = zero ? T(0) : fill.x;
                out_v[y * job.v_layout.pitch + lane * job.v_layout.stride] = zero ? T(0) : fill.y;
            }
        return;
    }
    {
        const u32* from = words_at<u32>(work.symbols() + index * TILE_VERTICES);
        u32* to = reinterpret_cast<u32*>(shared.symbols);
        const u32 steps = has_codes(mask_state) ? work.steps()[index] : 0;
#pragma unroll
        for (i32 k = 0; k < 8; k++) {
            const i32 word = 32 * k + lane;
            to[word] = steps >> (4 * k + (lane >> 3)) & 1 ? from[word] : 0;
        }
    }
    // Corners.
    const P* anchor = work.anchors();
    if (lane < 4) {
        const i32 x = lane & 1 ? TILE : 0, y = lane & 2 ? TILE : 0;
        if (x < width && y < height)
            values[y * CLOSED + x] = anchor[index + (lane & 1) + (lane & 2 ? job.tiles_x : 0)];
    }
    __syncwarp();
    // Four sides: top and bottom, left and right.
    const bool full = width == CLOSED && height == CLOSED;
#pragma unroll 1
    for (i32 level = ANCHOR_LEVEL - 1; level >= 0; level--) {
        const i32 step = 1 << level, n = 16 >> level;
        const Interpolant<T> interpolant = interpolant_of<T>(control.interpolants[level]);
#pragma unroll 1
        for (i32 k = lane; k < 4 * n; k += 32) {
            const i32 side = k >> (4 - level), i = k & (n - 1), along_ = (2 * i + 1) * step;
            const bool vertical = side & 1, far = side & 2;
            const i32 x = vertical ? (far ? TILE : 0) : along_, y = vertical ? along_ : (far ? TILE : 0);
            if (x >= width || y >= height || (!full && along_ > (vertical ? shape.last_y : shape.last_x)))
                continue;
            if (along_ >= TILE) continue;
            // The tile that owns the side, and the position there.
            const u64 owner = far ? (vertical ? index + 1 : index + job.tiles_x) : index;
            const i32 position = n * n * (vertical ? 2 : 1) + (vertical ? i * n : i);
            u32 symbol;
            bool masked = false;
            if (far) {
                const u32 m = work.headers()[owner] & 255;
                const u32 steps = has_codes(m) ? work.steps()[owner] : 0;
                symbol = steps >> (position >> 5) & 1 ? work.symbols()[owner * TILE_VERTICES + position]
                                                      : SYMBOL_ZERO;
                if (m != 0) {
                    const u32* rows = work.masks() + owner * 64 + (vertical ? y : 0);
                    masked = (rows[0] | rows[TILE]) >> (vertical ? 0 : x) & 1;
                }
            } else {
                symbol = shared.symbols[position];
                if (mask_state != 0) masked = (masks[y] | masks[TILE + y]) >> x & 1;
            }
            const i32 last = vertical ? shape.last_y : shape.last_x;
            const P p = along<T>(
                interpolant, values, y * CLOSED + x, vertical ? step * CLOSED : step, along_, step, last);
            P value = Real<T>::pair(T(0), T(0));
            if (!masked)
                value = value_of<T>(tables, payload + owner * TILE_VERTICES + position, symbol, p, level);
            values[y * CLOSED + x] = value;
        }
        __syncwarp();
    }
    // The interior.
    visit_interior<T, 32>(values, shape.last_x, shape.last_y, control.interpolants,
        [&](i32 level, i32 position, bool active, i32 x, i32 y, P prediction) {
            if (!active) return;
            P value = value_of<T>(tables, payload + index * TILE_VERTICES + position,
                shared.symbols[position], prediction, level);
            if (mask_state != 0 && ((masks[y] | masks[TILE + y]) >> x & 1)) value = Real<T>::pair(T(0), T(0));
            values[y * CLOSED + x] = value;
        });
    __syncwarp();
    // Values that predictions did not see.
    if (mask_state != 0) {
        const P fill = fill_of<T>(control);
        for (i32 y = 0; y < oy; y++) {
            const u32 zero = masks[y], filled = masks[TILE + y];
            if (lane < ox) {
                if (zero >> lane & 1)
                    values[y * CLOSED + lane] = Real<T>::pair(T(0), T(0));
                else if (filled >> lane & 1)
                    values[y * CLOSED + lane] = fill;
            }
        }
    }
    if (has_codes(mask_state)) {
        for (i32 k = lane; k < TILE_VERTICES / 4; k += 32) {
            const u32 four = reinterpret_cast<const u32*>(shared.symbols)[k];
            if (four == 0) continue;
            for (i32 b = 0; b < 4; b++) {
                if ((four >> 8 * b & 255) != STORED) continue;
                i32 x, y;
                place_of(4 * k + b, x, y);
                if (mask_state != 0 && ((masks[y] | masks[TILE + y]) >> x & 1)) continue;
                const Q raw = payload[index * TILE_VERTICES + 4 * k + b];
                values[y * CLOSED + x] = Real<T>::pair(
                    Real<T>::from_bits(Payload<T>::low(raw)), Real<T>::from_bits(Payload<T>::second(raw)));
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

// Copies the values of a stream with stored content.
template <typename T>
__device__ __forceinline__ void copy_values(const Job& job, u64 index) {
    const u8* from = job.stream + HEADER_BYTES;
    const TileShape shape = wide_tile_shape(job, index);
    for (i32 y = 0; y < shape.owned_y(); y++)
        for (i32 x = threadIdx.x & 31; x < shape.owned_x(); x += 32) {
            const u64 k = (shape.y0 + y) * job.nx + shape.x0 + x;
            const u8 *a = from + k * sizeof(T), *b = a + job.nx * job.ny * sizeof(T);
            *vertex_at<T>(job.u, job.u_layout, shape.x0 + x, shape.y0 + y) =
                Real<T>::from_bits(sizeof(T) == 4 ? get32(a) : get64(a));
            *vertex_at<T>(job.v, job.v_layout, shape.x0 + x, shape.y0 + y) =
                Real<T>::from_bits(sizeof(T) == 4 ? get32(b) : get64(b));
        }
}

// Grid: any. Block: 32 * RECONSTRUCT_WARPS threads, a warp per tile. Static shared: one tile per warp. Border
// tiles, few and slow; the next kernel overlaps this one. If the content is stored, or the predictor is not
// the expected one, all tiles: then this is the last kernel, because the many blocks of factz_reconstruct
// take time even without work. Reads: anchors, symbols, payload, masks, stream. Writes: the field, possibly
// the report.
template <typename T>
__device__ __forceinline__ void reconstruct_border(const Job& job) {
    __shared__ ReconstructedTile<T> shared[RECONSTRUCT_WARPS];
    const Control& control = control_of(job);
    const bool passes = is_lorenzo_as_expected(job, control);
    if (passes)
        pass_over();
    else
        after_previous();
    const bool stored = control.content == CONTENT_STORED, is_last = job.predictor == PREDICTOR_LORENZO;
    if (is_last && blockIdx.x == 0 && threadIdx.x == 0) write_report<T>(job, control);
    if (passes || ((u32)control.status | (stored ? 0 : control.predictor ^ PREDICTOR_HIERARCHICAL))) return;
    // A warp checks 32 tiles at once, far apart, since slow tiles lie together.
    const u64 warp = (u64)blockIdx.x * RECONSTRUCT_WARPS + (threadIdx.x >> 5),
              warps = (u64)gridDim.x * RECONSTRUCT_WARPS;
    for (u64 first = warp; first < job.tiles(); first += 32 * warps) {
        const u64 mine = first + (threadIdx.x & 31) * warps;
        const bool is_here =
            mine < job.tiles() && (stored || is_last || !is_paired(job, mine, TileView(job).headers()[mine]));
        for (u32 left = __ballot_sync(FULL, is_here); left; left &= left - 1) {
            const u64 index = first + (__ffs(left) - 1) * warps;
            if (stored)
                copy_values<T>(job, index);
            else
                reconstruct_tile<T>(job, control, shared[threadIdx.x >> 5], index);
            __syncwarp();
        }
    }
}
