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

// A tile of any shape, by a warp.
template <typename T>
struct BorderTileDecoder {
    typedef typename Real<T>::Pair P;
    typedef typename Payload<T>::Type Q;
    const Job& job;
    const Control& control;
    ReconstructedTile<T>& shared;
    const u64 index;
    const TileShape shape;
    const u32 mask_state;
    const u32* const masks;

    __device__ __forceinline__ BorderTileDecoder(
        const Job& job, const Control& control, ReconstructedTile<T>& shared, u64 index)
        : job(job), control(control), shared(shared), index(index), shape(wide_tile_shape(job, index)),
          mask_state(ReconstructView<T>(job).headers()[index] & 255),
          masks(ReconstructView<T>(job).masks() + index * 64) {}
    __device__ __forceinline__ bool is_hidden(i32 x, i32 y) const {
        return (masks[y] | masks[TILE + y]) >> x & 1;
    }
    __device__ __forceinline__ void store(i32 y, P value) const {
        const i32 lane = threadIdx.x & 31;
        *vertex_at<T>(job.u, job.u_layout, shape.x0 + lane, shape.y0 + y) = value.x;
        *vertex_at<T>(job.v, job.v_layout, shape.x0 + lane, shape.y0 + y) = value.y;
    }

    // Own symbols, and the corners. Blocks of activity 0 are all zero.
    __device__ __forceinline__ void load() const {
        const ReconstructView<T> work(job);
        const i32 lane = threadIdx.x & 31;
        const u32* from = words_at<u32>(work.symbols() + index * TILE_VERTICES);
        u32* to = reinterpret_cast<u32*>(shared.symbols);
        const u32 steps = work.steps()[index];
#pragma unroll
        for (i32 k = 0; k < 8; k++) {
            const i32 word = 32 * k + lane;
            to[word] = steps >> (4 * k + (lane >> 3)) & 1 ? from[word] : 0;
        }
        if (lane < 4) {
            const i32 x = lane & 1 ? TILE : 0, y = lane & 2 ? TILE : 0;
            if (x <= shape.last_x && y <= shape.last_y)
                shared.values[y * CLOSED + x] =
                    work.anchors()[index + (lane & 1) + (lane & 2 ? job.tiles_x : 0)];
        }
        __syncwarp();
    }
    // Symbol of a vertex on a far side, which another tile owns; true if a mask hides the vertex.
    __device__ __forceinline__ bool far_symbol(
        u64 owner, i32 position, bool vertical, i32 x, i32 y, u32& symbol) const {
        const ReconstructView<T> work(job);
        const u32 states = work.headers()[owner] & 255, steps = has_codes(states) ? work.steps()[owner] : 0;
        symbol =
            steps >> (position >> 5) & 1 ? work.symbols()[owner * TILE_VERTICES + position] : SYMBOL_ZERO;
        if (states == 0) return false;
        const u32* const rows = work.masks() + owner * 64 + (vertical ? y : 0);
        return (rows[0] | rows[TILE]) >> (vertical ? 0 : x) & 1;
    }
    // The four sides: top and bottom, left and right.
    __device__ __forceinline__ void reconstruct_sides() const {
        const ReconstructView<T> work(job);
        const ReconstructTables<T>& tables = reconstruct_tables<T>(job);
        P* const values = shared.values;
#pragma unroll 1
        for (i32 level = ANCHOR_LEVEL - 1; level >= 0; level--) {
            const i32 step = 1 << level, n = 16 >> level;
            const Interpolant<T> interpolant = interpolant_of<T>(control.interpolants[level]);
#pragma unroll 1
            for (i32 k = threadIdx.x & 31; k < 4 * n; k += 32) {
                const i32 side = k >> (4 - level), i = k & (n - 1), at = (2 * i + 1) * step;
                const bool vertical = side & 1, far = side & 2;
                const i32 x = vertical ? (far ? TILE : 0) : at, y = vertical ? at : (far ? TILE : 0);
                if (x > shape.last_x || y > shape.last_y) continue;
                const u64 owner = far ? (vertical ? index + 1 : index + job.tiles_x) : index;
                const i32 position = n * n * (vertical ? 2 : 1) + (vertical ? i * n : i);
                u32 symbol;
                bool hidden = false;
                if (far) {
                    hidden = far_symbol(owner, position, vertical, x, y, symbol);
                } else {
                    symbol = shared.symbols[position];
                    if (mask_state != 0) hidden = is_hidden(x, y);
                }
                const P prediction = along<T>(interpolant, values, y * CLOSED + x,
                    vertical ? step * CLOSED : step, at, step, vertical ? shape.last_y : shape.last_x);
                P value = Real<T>::pair(T(0), T(0));
                if (!hidden)
                    value = value_of<T>(
                        tables, work.raw() + owner * TILE_VERTICES + position, symbol, prediction, level);
                values[y * CLOSED + x] = value;
            }
            __syncwarp();
        }
    }
    __device__ __forceinline__ void reconstruct_interior() const {
        const Q* const payload = ReconstructView<T>(job).raw() + index * TILE_VERTICES;
        const ReconstructTables<T>& tables = reconstruct_tables<T>(job);
        visit_interior<T, 32>(shared.values, shape.last_x, shape.last_y, control.interpolants,
            [&](i32 level, i32 position, bool active, i32 x, i32 y, P prediction) {
                if (!active) return;
                P value =
                    value_of<T>(tables, payload + position, shared.symbols[position], prediction, level);
                if (mask_state != 0 && is_hidden(x, y)) value = Real<T>::pair(T(0), T(0));
                shared.values[y * CLOSED + x] = value;
            });
        __syncwarp();
    }
    // Values that predictions did not see: masked vertices, then stored ones, which may be missing.
    __device__ __forceinline__ void add_unseen() const {
        const i32 lane = threadIdx.x & 31;
        if (mask_state != 0) {
            const P fill = fill_of<T>(control);
            for (i32 y = 0; y < shape.owned_y(); y++) {
                const u32 zero = masks[y], filled = masks[TILE + y];
                if (lane >= shape.owned_x()) continue;
                if (zero >> lane & 1)
                    shared.values[y * CLOSED + lane] = Real<T>::pair(T(0), T(0));
                else if (filled >> lane & 1)
                    shared.values[y * CLOSED + lane] = fill;
            }
        }
        const Q* const payload = ReconstructView<T>(job).raw() + index * TILE_VERTICES;
        for (i32 k = lane; k < TILE_VERTICES / 4; k += 32) {
            const u32 four = reinterpret_cast<const u32*>(shared.symbols)[k];
            if (four == 0) continue;
            for (i32 b = 0; b < 4; b++) {
                if ((four >> 8 * b & 255) != STORED) continue;
                i32 x, y;
                place_of(4 * k + b, x, y);
                if (mask_state != 0 && is_hidden(x, y)) continue;
                const Q raw = payload[4 * k + b];
                shared.values[y * CLOSED + x] = Real<T>::pair(
                    Real<T>::from_bits(Payload<T>::low(raw)), Real<T>::from_bits(Payload<T>::second(raw)));
            }
        }
        __syncwarp();
    }
};

// Reconstructs a tile of any shape by a warp, with all four lattice lines.
template <typename T>
__device__ __forceinline__ void reconstruct_tile(
    const Job& job, const Control& control, ReconstructedTile<T>& shared, u64 index) {
    const BorderTileDecoder<T> tile(job, control, shared, index);
    const i32 lane = threadIdx.x & 31, ox = tile.shape.owned_x(), oy = tile.shape.owned_y();
    if (!has_codes(tile.mask_state)) {
        // Only zeros or missing values.
        for (i32 y = 0; y < oy; y++)
            if (lane < ox)
                tile.store(y, tile.masks[y] >> lane & 1 ? Real<T>::pair(T(0), T(0)) : fill_of<T>(control));
        return;
    }
    tile.load();
    tile.reconstruct_sides();
    tile.reconstruct_interior();
    tile.add_unseen();
    for (i32 y = 0; y < oy; y++)
        if (lane < ox) tile.store(y, shared.values[y * CLOSED + lane]);
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
