// Reconstructs interior tiles, two per warp.
#pragma once
#include "decompress/codeless_tile.cuh"
#include "decompress/vertex_values.cuh"
#include "grid/field.cuh"
#include "grid/missing.cuh"
#include "tile/finest_level.cuh"

// Shared memory of a warp for two interior tiles.
template <typename T>
struct ReconstructedPair {
    Lattice<T> lattice[2];
    alignas(16) u8 symbols[2][TILE_VERTICES];
};

// Replaces the symbols of masked vertices by HIDDEN. Call with both halves; lane i of a half has rows i and i
// + HALF of its tile's hidden vertices.
__device__ __forceinline__ void mark_hidden(u8* symbols, u32 low, u32 high) {
    const i32 lane = threadIdx.x & (HALF - 1);
#pragma unroll 1
    for (i32 position = lane; position < FINE_START; position += HALF) {
        i32 x, y;
        place_of(position, x, y);
        const u32 row_low = __shfl_sync(FULL, low, y & (HALF - 1), HALF),
                  row_high = __shfl_sync(FULL, high, y & (HALF - 1), HALF);
        if ((y < HALF ? row_low : row_high) >> x & 1) symbols[position] = HIDDEN;
    }
#pragma unroll 1
    for (i32 j = 0; j < HALF; j++) {
        const u32 rows = j < HALF / 2 ? low : high;
        const i32 y = 2 * j & (HALF - 1);
        const u32 even = __shfl_sync(FULL, rows, y, HALF) >> 2 * lane,
                  odd = __shfl_sync(FULL, rows, y + 1, HALF) >> 2 * lane;
        u8* const to = symbols + FINE_START + HALF * j + lane;
        if (even & 2) to[0] = HIDDEN;
        if (odd & 1) to[256] = HIDDEN;
        if (odd & 2) to[512] = HIDDEN;
    }
}

// Writes values that predictions did not see: filled and missing vertices.
template <typename T>
__device__ __noinline__ void write_unseen(const Job& job, const u8* symbols, u64 index, bool missing) {
    const ReconstructView<T> work(job);
    const i32 lane = threadIdx.x & (HALF - 1);
    const TileShape shape = wide_tile_shape(job, index);
    T* const u = vertex_at<T>(job.u, job.u_layout, shape.x0, shape.y0);
    T* const v = vertex_at<T>(job.v, job.v_layout, shape.x0, shape.y0);
    const u64 pitch_u = job.u_layout.pitch, pitch_v = job.v_layout.pitch, stride_u = job.u_layout.stride,
              stride_v = job.v_layout.stride;
    if (fill_covers<MASK_SOME>(mask_state_byte(work.headers()[index]))) {
        const auto fill = fill_of<T>(control_of(job));
#pragma unroll 1
        for (i32 y = 0; y < TILE; y++) {
            const u32 filled = work.masks()[index * 64 + TILE + y];
#pragma unroll 1
            for (i32 x = lane; x < TILE; x += HALF)
                if (filled >> x & 1) {
                    u[y * pitch_u + x * stride_u] = fill.x;
                    v[y * pitch_v + x * stride_v] = fill.y;
                }
        }
    }
    if (missing) {
#pragma unroll 1
        for (i32 k = lane; k < TILE_VERTICES; k += HALF) {
            if (symbols[k] != STORED) continue;
            i32 x, y;
            place_of(k, x, y);
            const auto raw = work.raw()[index * TILE_VERTICES + k];
            u[y * pitch_u + x * stride_u] = Real<T>::from_bits(Payload<T>::low(raw));
            v[y * pitch_v + x * stride_v] = Real<T>::from_bits(Payload<T>::second(raw));
        }
    }
}

// Prefetches the payload of four vertices if a symbol has raw bits: payload takes longest to arrive.
template <typename Q>
__device__ __forceinline__ void expect_payload(const Q* payload, u32 four) {
    static_assert(FIRST_WITH_RAW_BITS == 0x80 - 0x67, "sums have their highest bit where there are raw bits");
    if (!((((four & 0x7f7f7f7fu) + 0x67676767u) | four) & 0x80808080u)) return;
    prefetch_near(payload);
    if (sizeof(Q) == 16) prefetch_near(payload + 2);
}

// Loads the symbols of a tile by half a warp, and prefetches the payload of all levels but the finest.
template <typename Q>
__device__ __forceinline__ void load_symbols(const u8* from, const Q* payload, u32 steps, u8* symbols) {
    const i32 lane = threadIdx.x & (HALF - 1);
#pragma unroll
    for (i32 k = 0; k < TILE_VERTICES / 16 / HALF; k++) {
        const i32 word = HALF * k + lane;
        uint4 some = make_uint4(0, 0, 0, 0);
        if (steps >> (word >> 1) & 1) {
            some = words_at<uint4>(from)[word];
            if (k == 0) {
                expect_payload(payload + 16 * lane, some.x);
                expect_payload(payload + 16 * lane + 4, some.y);
                expect_payload(payload + 16 * lane + 8, some.z);
                expect_payload(payload + 16 * lane + 12, some.w);
            }
        }
        reinterpret_cast<uint4*>(symbols)[word] = some;
    }
}

// Loads the symbols of the far sides of tile `index` from the tiles below and to the right, coarse levels
// first, and prefetches their payload.
template <typename Q>
__device__ __forceinline__ void load_far_sides(const Job& job, const u8* all_symbols, const Q* payload,
    u64 index, bool masked, u32 info_below, u32 info_right, u32 steps_below, u32 steps_right,
    const u8* symbols, u8* far_sides) {
    const i32 lane = threadIdx.x & (HALF - 1);
#pragma unroll
    for (i32 part = 0; part < 2; part++) {
        // Part 0: the lane's vertex of the finest level on each far side. Part 1: one of the coarser levels,
        // except in lane 0.
        const i32 number = part == 0 ? HALF + lane : lane > 0 ? lane : 1;
        const i32 level = part == 0 ? 0 : __clz(number) - 27, n = HALF >> level, i = number - n;
        const i32 on_row = n * n + i, on_column = n * (2 * n + i);
        u32 bottom = SYMBOL_ZERO, last = SYMBOL_ZERO;
        if (steps_below >> (on_row >> 5) & 1)
            bottom = all_symbols[(index + job.tiles_x) * TILE_VERTICES + on_row];
        if (steps_right >> (on_column >> 5) & 1) last = all_symbols[(index + 1) * TILE_VERTICES + on_column];
        if (masked) {
            const i32 along = (2 * i + 1) << level;
            if (info_below && TileView(job).hidden_row(index + job.tiles_x, 0) >> along & 1) bottom = HIDDEN;
            if (info_right && TileView(job).hidden_row(index + 1, along) & 1) last = HIDDEN;
        }
        expect_payload(payload + job.tiles_x * TILE_VERTICES + on_row, bottom);
        expect_payload(payload + TILE_VERTICES + on_column, last);
        if (part == 0) expect_payload(payload + on_column, symbols[on_column]);
        far_sides[number] = (u8)bottom;
        far_sides[TILE + number] = (u8)last;
    }
}

// Prefetches the payload of a pair of rows of the finest level, and of phase 0 of the next pair, which is
// ahead.
template <typename Q>
__device__ __forceinline__ void expect_rows(const Q* payload, const u8* symbols, i32 pair) {
    const i32 lane = threadIdx.x & (HALF - 1);
    const i32 at = 512 + 32 * pair + 4 * lane + (lane < HALF / 2 ? 0 : 224),
              ahead = FINE_START + 32 * (pair + 1) + 4 * lane;
    if (pair >= 0 && pair < HALF / 2)
        expect_payload(payload + at, *reinterpret_cast<const u32*>(symbols + at));
    if (pair + 1 < HALF / 2 && lane < HALF / 2)
        expect_payload(payload + ahead, *reinterpret_cast<const u32*>(symbols + ahead));
}

// Reconstructs the finest level of a tile and writes all its values.
template <typename T>
__device__ __forceinline__ void reconstruct_finest(const Job& job, const Control& control,
    const ReconstructTables<T>& tables, const Lattice<T>& lattice, const u8* symbols,
    const typename Payload<T>::Type* payload, u64 index, u32 all_steps) {
    typedef typename Real<T>::Pair P;
    const i32 lane = threadIdx.x & (HALF - 1);
    const TileShape shape = wide_tile_shape(job, index);
    const u64 pitch_u = job.u_layout.pitch, pitch_v = job.v_layout.pitch, stride_u = job.u_layout.stride,
              stride_v = job.v_layout.stride;
    // True if two neighbours are one aligned word in all rows.
    const bool wide = warp_or(stride_u == 1 && stride_v == 1 && ((pitch_u | pitch_v) & 1) == 0 &&
                              (((u64)job.u | (u64)job.v) & (2 * sizeof(T) - 1)) == 0);
    // State that advances by rows: the lane's addresses, its symbols, and the steps that have any.
    T *u = vertex_at<T>(job.u, job.u_layout, shape.x0 + 2 * lane, shape.y0),
      *v = vertex_at<T>(job.v, job.v_layout, shape.x0 + 2 * lane, shape.y0);
    i32 fine = FINE_START + lane;
    u32 some = all_steps >> 8;
    auto put = [&](i32 phase, i32 j, P prediction) -> P {
        // Phase 0 is ahead of the others.
        const i32 ahead = phase > 0 ? 0 : j > 1 ? 2 : 1, at = 256 * phase + HALF * ahead;
        // Rounds as the twin: adding 0 turns -0 into 0.
        if (!(some >> ahead / 2 & 1u << 8 * phase))
            return Real<T>::pair(prediction.x + T(0), prediction.y + T(0));
        return value_of<T>(tables, payload + fine + at, symbols[fine + at], prediction, 0);
    };
    auto row = [&](i32 j, P a, P b, P c, P d) {
        T *const below_u = u + pitch_u, *const below_v = v + pitch_v;
        if (wide) {
            *reinterpret_cast<P*>(u) = Real<T>::pair(a.x, b.x);
            *reinterpret_cast<P*>(v) = Real<T>::pair(a.y, b.y);
            *reinterpret_cast<P*>(below_u) = Real<T>::pair(c.x, d.x);
            *reinterpret_cast<P*>(below_v) = Real<T>::pair(c.y, d.y);
        } else {
            u[0] = a.x, u[stride_u] = b.x, below_u[0] = c.x, below_u[stride_u] = d.x;
            v[0] = a.y, v[stride_v] = b.y, below_v[0] = c.y, below_v[stride_v] = d.y;
        }
        u = below_u + pitch_u;
        v = below_v + pitch_v;
        fine += HALF;
        if (j & 1) {
            some >>= 1;
            if (some & (1u << 2 | 1u << 9 | 1u << 17)) expect_rows(payload, symbols, j / 2 + 2);
        }
    };
    const Interpolant<T> interpolant = interpolant_of<T>(control.interpolants[0]);
    if (interpolant.coons)
        finest_level_decoded<T, true>(lattice, interpolant, put, row);
    else
        finest_level_decoded<T, false>(lattice, interpolant, put, row);
}

// Reconstructs an interior tile by half a warp, with all four lattice lines: the far ones from the symbols of
// the next tiles. Both halves may have the same tile.
template <typename T>
__device__ __forceinline__ void reconstruct_pair(
    const Job& job, const Control& control, ReconstructedPair<T>& shared, u64 index) {
    const ReconstructView<T> work(job);
    typedef typename Real<T>::Pair P;
    typedef typename Payload<T>::Type Q;
    const ReconstructTables<T>& tables = reconstruct_tables<T>(job);
    const i32 lane = threadIdx.x & (HALF - 1), half = (threadIdx.x >> 4) & 1;
    Lattice<T>& lattice = shared.lattice[half];
    u8* const symbols = shared.symbols[half];
    // Symbols of the far sides, coarse levels first, in the place of inner vertices that are not there yet.
    u8* const far_sides = reinterpret_cast<u8*>(lattice.even + EVEN + 1);
    const Q* const payload = work.raw() + index * TILE_VERTICES;
    const u64 below = index + job.tiles_x, right = index + 1;
    const u32 info = mask_state_byte(work.headers()[index]),
              info_below = mask_state_byte(work.headers()[below]),
              info_right = mask_state_byte(work.headers()[right]);
    u32 steps = work.steps()[index], steps_below = work.steps()[below], steps_right = work.steps()[right];
    if (lane < 4)
        lattice.even[(lane & 1 ? HALF : 0) + (lane & 2 ? HALF * EVEN : 0)] =
            work.anchors()[index + (lane & 1) + (lane & 2 ? job.tiles_x : 0)];
    load_symbols(work.symbols() + index * TILE_VERTICES, payload, steps, symbols);
    __syncwarp();
    const bool masked = __any_sync(FULL, info | info_below | info_right);
    if (masked) {
        if (!has_codes(info_below)) steps_below = 0;
        if (!has_codes(info_right)) steps_right = 0;
        if (__any_sync(FULL, info)) {
            mark_hidden(symbols, info ? TileView(job).hidden_row(index, lane) : 0,
                info ? TileView(job).hidden_row(index, lane + HALF) : 0);
            steps = FULL;
        }
        __syncwarp();
    }
    if (lane == 0) stored_missing[threadIdx.x / HALF] = symbols[0] == STORED;
    load_far_sides(job, work.symbols(), payload, index, masked, info_below, info_right, steps_below,
        steps_right, symbols, far_sides);
    __syncwarp();
    const u32 all_steps = warp_or(steps);
    if (all_steps & 0x03030700)
        for (i32 pair = -1; pair < 2; pair++) expect_rows(payload, symbols, pair);
    lattice_sides<T>(
        lattice, control.interpolants, [&](i32 side, i32 level, i32 number, P prediction, P) -> P {
            const i32 n = HALF >> level, position = side & 1 ? n * (n + number) : n * n - n + number;
            const u32 symbol = *(side < BOTTOM ? symbols + position : far_sides + TILE * (side & 1) + number);
            const u64 owner = side == BOTTOM ? job.tiles_x : side == RIGHT ? 1 : 0;
            return value_of<T>(tables, payload + owner * TILE_VERTICES + position, symbol, prediction, level);
        });
    lattice_even<T>(lattice, control.interpolants, [&](i32 level, i32 position, P prediction, P) -> P {
        return value_of<T>(tables, payload + position, symbols[position], prediction, level);
    });
    reconstruct_finest<T>(job, control, tables, lattice, symbols, payload, index, all_steps);
    __syncwarp();
    const bool missing = stored_missing[threadIdx.x / HALF];
    if (masked || missing) write_unseen<T>(job, symbols, index, missing);
}

// Grid: tiles / 2 / RECONSTRUCT_WARPS. Block: 32 * RECONSTRUCT_WARPS threads, two tiles per warp. Static
// shared: ReconstructedPair per warp. Interior tiles, tiles without codes, and the report. Reads: anchors,
// symbols, payload, masks. Writes: the field, the report. Overlaps the previous kernel, and waits for it at
// its end.
template <typename T>
__device__ __forceinline__ void reconstruct(const Job& job) {
    __shared__ ReconstructedPair<T> shared[RECONSTRUCT_WARPS];
    const Control& control = control_of(job);
    const i32 half = threadIdx.x >> 4 & 1;
    const u64 first = job.first_tile() + 2 * ((u64)blockIdx.x * RECONSTRUCT_WARPS + (threadIdx.x >> 5));
    if (blockIdx.x == 0 && threadIdx.x == 0) write_report<T>(job, control);
    if (is_coded_by(control, PREDICTOR_HIERARCHICAL)) {
        const bool exists = first + half < job.tiles();
        const u32 info = exists ? TileView(job).headers()[first + half] : 0;
        const u32 codeless = __ballot_sync(FULL, exists && !has_codes(mask_state_in(info)));
        if (codeless & 1) write_codeless_tile<T>(job, control, first);
        if (codeless >> HALF) write_codeless_tile<T>(job, control, first + 1);
        const bool mine = exists && is_paired(job, first + half, info);
        // A half without a tile repeats the other's.
        if (__any_sync(FULL, mine))
            reconstruct_pair<T>(job, control, shared[threadIdx.x >> 5], first + (mine ? half : half ^ 1));
    }
    end_overlap();
}
