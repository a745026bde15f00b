// Reconstructs tiles of any shape, a block per tile, and stored content.
#pragma once
#include "decompress/codeless_tile.cuh"
#include "decompress/vertex_values.cuh"
#include "grid/field.cuh"
#include "grid/missing.cuh"
#include "tile/traversal.cuh"

constexpr i32 BORDER_THREADS = 32 * RECONSTRUCT_BORDER_WARPS;

// Shared memory for one tile of any shape.
template <typename T>
struct ReconstructedTile {
    typename Real<T>::Pair values[CLOSED * CLOSED];
    alignas(16) u8 symbols[TILE_VERTICES];
};

// A tile of any shape, by a block.
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
          mask_state(mask_state_byte(ReconstructView<T>(job).headers()[index])),
          masks(ReconstructView<T>(job).masks() + index * 64) {}
    __device__ __forceinline__ bool is_hidden(i32 x, i32 y) const {
        return (masks[y] | masks[TILE + y]) >> x & 1;
    }
    // Calls visit(y) for the rows of the tile, in lanes that have one of its columns.
    template <typename Visit>
    __device__ __forceinline__ void for_rows(Visit visit) const {
        if ((i32)(threadIdx.x & 31) >= shape.owned_x()) return;
#pragma unroll 1
        for (i32 y = threadIdx.x >> 5; y < shape.owned_y(); y += RECONSTRUCT_BORDER_WARPS) visit(y);
    }
    __device__ __forceinline__ void store() const {
        const i32 lane = threadIdx.x & 31;
        for_rows([&](i32 y) {
            const P value = shared.values[y * CLOSED + lane];
            *vertex_at<T>(job.u, job.u_layout, shape.x0 + lane, shape.y0 + y) = value.x;
            *vertex_at<T>(job.v, job.v_layout, shape.x0 + lane, shape.y0 + y) = value.y;
        });
    }

    // Own symbols, and the corners. Blocks of activity 0 are all zero.
    __device__ __forceinline__ void load() const {
        const ReconstructView<T> work(job);
        const i32 thread = threadIdx.x;
        const u32* from = words_at<u32>(work.symbols() + index * TILE_VERTICES);
        u32* to = reinterpret_cast<u32*>(shared.symbols);
        const u32 steps = work.steps()[index];
#pragma unroll
        for (i32 word = thread; word < TILE_VERTICES / 4; word += BORDER_THREADS)
            to[word] = steps >> word / 8 & 1 ? from[word] : 0;
        if (thread < 4) {
            const i32 x = thread & 1 ? TILE : 0, y = thread & 2 ? TILE : 0;
            if (x <= shape.last_x && y <= shape.last_y)
                shared.values[y * CLOSED + x] =
                    work.anchors()[index + (thread & 1) + (thread & 2 ? job.tiles_x : 0)];
        }
        __syncthreads();
    }
    // Symbol of a vertex on a far side, which another tile owns; true if a mask hides the vertex.
    __device__ __forceinline__ bool far_symbol(
        u64 owner, i32 position, bool vertical, i32 x, i32 y, u32& symbol) const {
        const ReconstructView<T> work(job);
        const u32 states = mask_state_byte(work.headers()[owner]),
                  steps = has_codes(states) ? work.steps()[owner] : 0;
        symbol =
            steps >> (position >> 5) & 1 ? work.symbols()[owner * TILE_VERTICES + position] : SYMBOL_ZERO;
        if (states == 0) return false;
        return TileView(job).hidden_row(owner, vertical ? y : 0) >> (vertical ? 0 : x) & 1;
    }
    __device__ __forceinline__ P value_at(i32 level, const Q* payload, u32 symbol, P prediction) const {
        return value_of<T>(reconstruct_tables<T>(job), payload, symbol, prediction, level);
    }
    // Vertex i of a level on a side: top, left, bottom, right.
    __device__ __forceinline__ void reconstruct_on_side(i32 side, i32 level, i32 i) const {
        const ReconstructView<T> work(job);
        const i32 step = 1 << level, n = 16 >> level, at = (2 * i + 1) * step;
        const bool vertical = side & 1, far = side & 2;
        const i32 x = vertical ? (far ? TILE : 0) : at, y = vertical ? at : (far ? TILE : 0);
        if (x > shape.last_x || y > shape.last_y) return;
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
        const P prediction =
            along<T>(interpolant_of<T>(control.interpolants[level]), shared.values, y * CLOSED + x,
                vertical ? step * CLOSED : step, at, step, vertical ? shape.last_y : shape.last_x);
        P value = Real<T>::pair(T(0), T(0));
        if (!hidden)
            value = value_at(level, work.raw() + owner * TILE_VERTICES + position, symbol, prediction);
        shared.values[y * CLOSED + x] = value;
    }
    __device__ __forceinline__ void reconstruct_sides() const {
        static_assert(4 * 8 == 32 && 4 * 16 <= BORDER_THREADS, "warp 0 has all levels but the finest");
#pragma unroll 1
        for (i32 level = ANCHOR_LEVEL - 1; level >= 0; level--) {
            const i32 k = threadIdx.x, n = 16 >> level;
            if (k < 4 * n) reconstruct_on_side(k >> (4 - level), level, k & (n - 1));
            if (level > 1)
                __syncwarp();
            else
                __syncthreads();
        }
    }
    __device__ __forceinline__ void reconstruct_interior() const {
        const Q* const payload = ReconstructView<T>(job).raw() + index * TILE_VERTICES;
        visit_interior<T, BORDER_THREADS>(shared.values, shape.last_x, shape.last_y, control.interpolants,
            [&](i32 level, i32 position, bool active, i32 x, i32 y, P prediction) {
                if (!active) return;
                P value = value_at(level, payload + position, shared.symbols[position], prediction);
                if (mask_state != 0 && is_hidden(x, y)) value = Real<T>::pair(T(0), T(0));
                shared.values[y * CLOSED + x] = value;
            });
    }
    // Values that predictions did not see: masked vertices, then stored ones, which may be missing.
    __device__ __forceinline__ void add_unseen() const {
        if (mask_state != 0) {
            const i32 lane = threadIdx.x & 31;
            const P fill = fill_of<T>(control);
            for_rows([&](i32 y) {
                if (masks[y] >> lane & 1)
                    shared.values[y * CLOSED + lane] = Real<T>::pair(T(0), T(0));
                else if (masks[TILE + y] >> lane & 1)
                    shared.values[y * CLOSED + lane] = fill;
            });
        }
        const Q* const payload = ReconstructView<T>(job).raw() + index * TILE_VERTICES;
        for (i32 k = threadIdx.x; k < TILE_VERTICES / 4; k += BORDER_THREADS) {
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
        __syncthreads();
    }
};

// Reconstructs a tile of any shape by a block, with all four lattice lines.
template <typename T>
__device__ __forceinline__ void reconstruct_tile(
    const Job& job, const Control& control, ReconstructedTile<T>& shared, u64 index) {
    const BorderTileDecoder<T> tile(job, control, shared, index);
    tile.load();
    tile.reconstruct_sides();
    tile.reconstruct_interior();
    tile.add_unseen();
    tile.store();
}

// Copies the values of a stream with stored content.
template <typename T>
__device__ __forceinline__ void copy_values(const Job& job, u64 index) {
    const u8* from = job.stream + HEADER_BYTES;
    const u64 half = (control_of(job).stream_bytes - HEADER_BYTES) / 2;  // the bytes of u
    const TileShape shape = wide_tile_shape(job, index);
    // Of the dense field.
    const u64 first_row = plane_of(job, (u32)shape.ty) * job.ny + shape.y_in_plane();
    for (i32 y = threadIdx.x >> 5; y < shape.owned_y(); y += RECONSTRUCT_BORDER_WARPS)
        for (i32 x = threadIdx.x & 31; x < shape.owned_x(); x += 32) {
            const u64 k = (first_row + y) * job.nx + shape.x0 + x;
            const u8 *a = from + k * sizeof(T), *b = a + half;
            *vertex_at<T>(job.u, job.u_layout, shape.x0 + x, shape.y0 + y) =
                Real<T>::from_bits(sizeof(T) == 4 ? get32(a) : get64(a));
            *vertex_at<T>(job.v, job.v_layout, shape.x0 + x, shape.y0 + y) =
                Real<T>::from_bits(sizeof(T) == 4 ? get32(b) : get64(b));
        }
}

__device__ __forceinline__ u64 border_tiles_of_plane(const Job& job) {
    return job.tiles_x + job.plane_tile_rows - 1;
}

// The tiles at the end of a plane: those of its last row, then those of its last column.
__device__ __forceinline__ u64 border_tile(const Job& job, u64 number) {
    const u64 each = border_tiles_of_plane(job), tiles = job.tiles_x * job.plane_tile_rows,
              z = job.nz == 1 ? 0 : number / each, k = number - z * each;
    return z * tiles + (k < job.tiles_x ? tiles - 1 - k : (k - job.tiles_x + 1) * job.tiles_x - 1);
}

// Grid: any. Block: BORDER_THREADS threads, a tile at a time. Static shared: one tile. Border tiles with
// codes, few and slow; the next kernel overlaps this one. If the content is stored, or the predictor is not
// the expected one, all tiles: then this is the last kernel, because the many blocks of factz_reconstruct
// take time even without work. Reads: anchors, symbols, payload, masks, stream. Writes: the field, possibly
// the report.
template <typename T>
__device__ __forceinline__ void reconstruct_border(const Job& job) {
    __shared__ ReconstructedTile<T> shared;
    const Control& control = control_of(job);
    const bool passes = is_lorenzo_as_expected(job, control);
    if (passes)
        pass_over();
    else
        after_previous();
    const bool stored = control.content == CONTENT_STORED, is_last = job.predictor == PREDICTOR_LORENZO;
    if (is_last && blockIdx.x == 0 && threadIdx.x == 0) write_report<T>(job, control);
    if (passes || ((u32)control.status | (stored ? 0 : control.predictor ^ PREDICTOR_HIERARCHICAL))) return;
    // Tiles at the ends of their planes; without factz_reconstruct all tiles.
    const bool all = stored || is_last;
    const u64 each = border_tiles_of_plane(job), tiles = all ? job.tiles() : job.nz * each,
              first = all ? job.first_tile() : job.first_plane * each;
    for (u64 number = first + blockIdx.x; number < tiles; number += gridDim.x) {
        const u64 index = all ? number : border_tile(job, number);
        if (stored)
            copy_values<T>(job, index);
        else if (has_codes(mask_state_in(TileView(job).headers()[index])))
            reconstruct_tile<T>(job, control, shared, index);
        else if (is_last && threadIdx.x < 32)
            write_codeless_tile<T>(job, control, index);
        __syncthreads();
    }
}
