// Reconstructs the values of the hierarchical predictor from symbols, and writes the report.
#pragma once
#include "predict/anchor_scan.cuh"
#include "decompress/decode.cuh"
#include "tile/finest_level.cuh"

// Tables for reconstruction, in the control block behind Control.
template <typename T>
struct ReconstructTables {
    typename Real<T>::Pair small[ANCHOR_LEVEL][32];  // residuals of small symbols
    T width[ANCHOR_LEVEL][16];                       // by refinement
    u32 meanings[256];  // of symbols with raw bits: refinement, bits of u << 8, bits of v << 16, wide << 24
    u64 fill_bits;      // the fill value, or a NaN
};
constexpr u64 RECONSTRUCT_TABLES_AT = 8192;
static_assert(sizeof(Control) <= RECONSTRUCT_TABLES_AT &&
                  RECONSTRUCT_TABLES_AT + sizeof(ReconstructTables<double>) <= CONTROL_BYTES,
    "the tables have their place");
template <typename T>
__device__ __forceinline__ ReconstructTables<T>& reconstruct_tables(const Job& job) {
    return *ReconstructView<T>(job).tables(RECONSTRUCT_TABLES_AT);
}

// Call with a block.
template <typename T>
__device__ __forceinline__ void make_reconstruct_tables(const Job& job, const Control& control) {
    ReconstructTables<T>& tables = reconstruct_tables<T>(job);
    for (u32 k = threadIdx.x; k < ANCHOR_LEVEL * 32; k += blockDim.x) {
        const Code code = decode_small(k % 32);
        const T width = (T)control.quantizer.width[k / 32][0];
        if (k % 32 < FIRST_WITH_RAW_BITS)
            tables.small[k / 32][k % 32] = Real<T>::pair((T)code.qu * width, (T)code.qv * width);
    }
    for (u32 k = threadIdx.x; k < ANCHOR_LEVEL * REFINEMENTS; k += blockDim.x)
        tables.width[k / REFINEMENTS][k % REFINEMENTS] =
            (T)control.quantizer.width[k / REFINEMENTS][k % REFINEMENTS];
    if (threadIdx.x == 0) tables.fill_bits = control.fill_bits;
    for (u32 k = threadIdx.x; k < 256; k += blockDim.x) {
        const Meaning m = meaning(k);
        tables.meanings[k] = m.refinement | m.ku << 8 | m.kv << 16 | (m.wide ? 1u << 24 : 0);
    }
}

// Coarse code difference of a tile's anchor. False if the anchor has no code.
template <typename T>
__device__ __forceinline__ bool anchor_code(const Job& job, u64 index, Code& code, u32& symbol) {
    const ReconstructView<T> work(job);
    const u32 info = work.headers()[index], mask_state = info & 255;
    code = {0, 0, 0};
    symbol = SYMBOL_ZERO;
    if (mask_state != 0 && ((work.masks()[index * 64] | work.masks()[index * 64 + TILE]) & 1)) return false;
    if (!has_codes(mask_state)) return false;
    if (activity_in(info, 0) == 0) return true;
    symbol = work.symbols()[index * TILE_VERTICES];
    if (symbol == STORED) return false;
    typedef typename Payload<T>::Type P;
    u64 raw = 0;
    if (symbol_raw_bits(symbol)) raw = Payload<T>::low(work.raw()[index * TILE_VERTICES]);
    code = decode_symbol(symbol, raw);
    return true;
}

// True if the call expected a Lorenzo stream and got one. factz_parse, which found it, completed before any
// kernel behind factz_check starts.
__device__ __forceinline__ bool is_lorenzo_as_expected(const Job& job, const Control& control) {
    return job.predictor == PREDICTOR_LORENZO &&
           (control.predictor ^ PREDICTOR_LORENZO | control.content ^ CONTENT_CODED) == 0;
}

// Grid: one block per ANCHOR_CHUNK tiles, and one that makes the tables. Block: ANCHOR_THREADS threads.
// Static shared: AnchorSums. Values of the anchors, by a scan over their code differences. Reads: info,
// symbols, payload, masks. Writes: anchors, reconstruction tables. Waits for: the previous kernel.
template <typename T>
__device__ __forceinline__ void anchor_values(const Job& job) {
    const DecodeView<T> work(job);
    typedef typename Real<T>::Pair P;
    typedef typename Payload<T>::Type Q;
    __shared__ AnchorSums shared;
    Control& control = control_of(job);
    if (is_lorenzo_as_expected(job, control)) return pass_by();
    after_kernel_before();
    if (!is_coded_by(control, PREDICTOR_HIERARCHICAL)) return;
    if (blockIdx.x == gridDim.x - 1) return make_reconstruct_tables<T>(job, control);
    if (threadIdx.x == 0) shared.chunk = atomicAdd(&control.tickets[TICKET_ANCHORS], 1u);
    __syncthreads();
    const u32 chunk = shared.chunk;
    const u64 first = (u64)chunk * ANCHOR_CHUNK + threadIdx.x * ANCHORS_EACH;
    uint2 sums[ANCHORS_EACH];
    u32 refinements[ANCHORS_EACH], symbols[ANCHORS_EACH];
    bool has[ANCHORS_EACH];
#pragma unroll
    for (u32 i = 0; i < ANCHORS_EACH; i++) {
        Code code = {0, 0, 0};
        symbols[i] = SYMBOL_ZERO;
        has[i] = first + i < job.tiles() && anchor_code<T>(job, first + i, code, symbols[i]);
        sums[i] = has[i] ? make_uint2((u32)code.qu, (u32)code.qv) : make_uint2(0, 0);
        refinements[i] = (u32)code.refinement;
    }
    sum_coarse_codes(job, shared, chunk, sums);
#pragma unroll
    for (u32 i = 0; i < ANCHORS_EACH; i++) {
        const u64 index = first + i;
        if (index >= job.tiles()) continue;
        P value = Real<T>::pair(T(0), T(0));
        if (has[i]) {
            const i32 refinement = (i32)refinements[i];
            // Bypass L1: its lines may hold other anchors whose refinement bits were replaced since.
            const u32 refinement_bits = refinement ? (u32)Real<T>::bits(__ldcg(&work.anchors()[index].x)) : 0;
            const u32 mask = (1u << (2 * refinement)) - 1;
            const T w = (T)control.quantizer.width[ANCHOR_LEVEL][refinement];
            const i32 qu = join_code((i32)sums[i].x, refinement_bits & mask, refinement);
            const i32 qv = join_code((i32)sums[i].y, refinement_bits >> (2 * refinement) & mask, refinement);
            value = Real<T>::pair(T(0) + (T)qu * w, T(0) + (T)qv * w);
        } else if (symbols[i] == STORED) {
            const Q raw = work.raw()[index * TILE_VERTICES];
            const T a = Real<T>::from_bits(Payload<T>::low(raw)),
                    b = Real<T>::from_bits(Payload<T>::second(raw));
            if (!is_missing(a, b, control.fill_bits)) value = Real<T>::pair(a, b);
        }
        work.anchors()[index] = value;
    }
}

// Per half warp: a stored vertex is missing.
__shared__ u8 stored_missing[2 * RECONSTRUCT_WARPS];

// Value of a vertex with raw bits, or of a hidden one. A missing vertex counts as zero and is noted.
constexpr u32 HIDDEN = 255;
template <typename T, typename P = typename Real<T>::Pair>
__device__ __noinline__ P value_of_raw(const typename Payload<T>::Type* payload,
    const ReconstructTables<T>* tables, u32 symbol, P prediction, i32 level) {
    if (symbol == HIDDEN) return Real<T>::pair(T(0), T(0));
    const auto payload_here = *payload;
    const u64 raw = Payload<T>::low(payload_here);
    if (symbol >= STORED) {
        const T a = Real<T>::from_bits(raw), b = Real<T>::from_bits(Payload<T>::second(payload_here));
        if (!is_missing(a, b, tables->fill_bits)) return Real<T>::pair(a, b);
        stored_missing[threadIdx.x / HALF] = 1;
        return Real<T>::pair(T(0), T(0));
    }
    // As decode_symbol.
    const u32 m = tables->meanings[symbol], ku = m >> 8 & 255, kv = m >> 16 & 255, wide = m >> 24;
    const T width = tables->width[level][m & 255];
    const u32 u = (u32)raw & (((1u << wide) << ku) - 1),
              v = (u32)(raw >> (ku + wide)) & (((1u << wide) << kv) - 1);
    i32 qu, qv;
    if (wide) {
        qu = (i32)(u - (1u << ku));
        qv = (i32)(v - (1u << kv));
    } else {
        const u32 top_u = (1u << ku) >> 1, top_v = (1u << kv) >> 1;
        qu = u & top_u ? -(i32)u : (i32)(u | top_u);
        qv = v & top_v ? -(i32)v : (i32)(v | top_v);
    }
    return Real<T>::pair(prediction.x + (T)qu * width, prediction.y + (T)qv * width);
}

// Value of a vertex as predictions see it.
template <typename T, typename P = typename Real<T>::Pair>
__device__ __forceinline__ P value_of(const ReconstructTables<T>& tables,
    const typename Payload<T>::Type* payload, u32 symbol, P prediction, i32 level) {
    if (symbol >= FIRST_WITH_RAW_BITS) return value_of_raw<T>(payload, &tables, symbol, prediction, level);
    const P residual = tables.small[level][symbol];
    return Real<T>::pair(prediction.x + residual.x, prediction.y + residual.y);
}

// Shared memory of a warp for one tile of any shape.
template <typename T>
struct ReconstructedTile {
    typename Real<T>::Pair values[CLOSED * CLOSED];
    alignas(16) u8 symbols[TILE_VERTICES];
};

// Shared memory of a warp for two interior tiles.
template <typename T>
struct ReconstructedPair {
    Lattice<T> lattice[2];
    alignas(16) u8 symbols[2][TILE_VERTICES];
};

// True if half a warp can reconstruct the tile: its closed block lies in the grid, and it has codes.
__device__ __forceinline__ bool is_paired(const Job& job, u64 index, u32 info) {
    const TileShape shape = wide_tile_shape(job, index);
    return shape.last_x == TILE && shape.last_y == TILE && has_codes(info & 255);
}

// Replaces the symbols of masked vertices by HIDDEN. Call with both halves; lane i of a half has rows i and i
// + HALF of its tile's hidden vertices.
__device__ __forceinline__ void mark_hidden(u8* symbols, u32 low, u32 high) {
    const i32 lane = threadIdx.x & (HALF - 1);
#pragma unroll 1
    for (i32 position = lane; position < 256; position += HALF) {
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
        u8* const to = symbols + 256 + HALF * j + lane;
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
    if ((work.headers()[index] & 255) % 3 == MASK_SOME) {
        const Control& control = control_of(job);
        const T fill_u = Real<T>::from_bits(control.fill[0]), fill_v = Real<T>::from_bits(control.fill[1]);
#pragma unroll 1
        for (i32 y = 0; y < TILE; y++) {
            const u32 fill = work.masks()[index * 64 + TILE + y];
#pragma unroll 1
            for (i32 x = lane; x < TILE; x += HALF)
                if (fill >> x & 1) {
                    u[y * pitch_u + x * stride_u] = fill_u;
                    v[y * pitch_v + x * stride_v] = fill_v;
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
    const u32 info = work.headers()[index] & 255, info_below = work.headers()[below] & 255,
              info_right = work.headers()[right] & 255;
    u32 steps = work.steps()[index], steps_below = work.steps()[below], steps_right = work.steps()[right];
    if (lane < 4)
        lattice.even[(lane & 1 ? HALF : 0) + (lane & 2 ? HALF * EVEN : 0)] =
            work.anchors()[index + (lane & 1) + (lane & 2 ? job.tiles_x : 0)];
#pragma unroll
    for (i32 k = 0; k < TILE_VERTICES / 16 / HALF; k++) {
        const i32 word = HALF * k + lane;
        uint4 some = make_uint4(0, 0, 0, 0);
        if (steps >> (word >> 1) & 1) {
            some = words_at<uint4>(work.symbols() + index * TILE_VERTICES)[word];
            if (k == 0) {
                // All levels but the finest.
                expect_payload(payload + 16 * lane, some.x);
                expect_payload(payload + 16 * lane + 4, some.y);
                expect_payload(payload + 16 * lane + 8, some.z);
                expect_payload(payload + 16 * lane + 12, some.w);
            }
        }
        reinterpret_cast<uint4*>(symbols)[word] = some;
    }
    __syncwarp();
    const bool masked = __any_sync(FULL, info | info_below | info_right);
    auto hidden_rows = [&](u64 tile, i32 y) -> u32 {
        const TileView tiles(job);
        return tiles.masks()[tile * 64 + y] | tiles.masks()[tile * 64 + TILE + y];
    };
    if (masked) {
        if (!has_codes(info_below)) steps_below = 0;
        if (!has_codes(info_right)) steps_right = 0;
        if (__any_sync(FULL, info)) {
            mark_hidden(
                symbols, info ? hidden_rows(index, lane) : 0, info ? hidden_rows(index, lane + HALF) : 0);
            steps = FULL;
        }
        __syncwarp();
    }
    if (lane == 0) stored_missing[threadIdx.x / HALF] = symbols[0] == STORED;
#pragma unroll
    for (i32 part = 0; part < 2; part++) {
        // Part 0: the lane's vertex of the finest level on each far side. Part 1: one of the coarser levels,
        // except in lane 0.
        const i32 number = part == 0 ? HALF + lane : lane > 0 ? lane : 1;
        const i32 level = part == 0 ? 0 : __clz(number) - 27, n = HALF >> level, i = number - n;
        const i32 on_row = n * n + i, on_column = n * (2 * n + i);
        u32 bottom = SYMBOL_ZERO, last = SYMBOL_ZERO;
        if (steps_below >> (on_row >> 5) & 1) bottom = work.symbols()[below * TILE_VERTICES + on_row];
        if (steps_right >> (on_column >> 5) & 1) last = work.symbols()[right * TILE_VERTICES + on_column];
        if (masked) {
            const i32 along = (2 * i + 1) << level;
            if (info_below && hidden_rows(below, 0) >> along & 1) bottom = HIDDEN;
            if (info_right && hidden_rows(right, along) & 1) last = HIDDEN;
        }
        expect_payload(payload + job.tiles_x * TILE_VERTICES + on_row, bottom);
        expect_payload(payload + TILE_VERTICES + on_column, last);
        if (part == 0) expect_payload(payload + on_column, symbols[on_column]);
        far_sides[number] = (u8)bottom;
        far_sides[TILE + number] = (u8)last;
    }
    __syncwarp();
    const u32 all_steps = warp_or(steps);
    // Prefetch for a pair of rows of the finest level, and for phase 0 of the next pair, which is ahead.
    auto expect = [&](i32 pair) {
        const i32 at = 512 + 32 * pair + 4 * lane + (lane < HALF / 2 ? 0 : 224),
                  ahead = 256 + 32 * (pair + 1) + 4 * lane;
        if (pair >= 0 && pair < HALF / 2)
            expect_payload(payload + at, *reinterpret_cast<const u32*>(symbols + at));
        if (pair + 1 < HALF / 2 && lane < HALF / 2)
            expect_payload(payload + ahead, *reinterpret_cast<const u32*>(symbols + ahead));
    };
    if (all_steps & 0x03030700) expect(-1), expect(0), expect(1);
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
    const TileShape shape = wide_tile_shape(job, index);
    const u64 pitch_u = job.u_layout.pitch, pitch_v = job.v_layout.pitch, stride_u = job.u_layout.stride,
              stride_v = job.v_layout.stride;
    // True if two neighbours are one aligned word in all rows.
    const bool wide = warp_or(stride_u == 1 && stride_v == 1 && ((pitch_u | pitch_v) & 1) == 0 &&
                              (((u64)job.u | (u64)job.v) & (2 * sizeof(T) - 1)) == 0);
    // State that advances by rows: the lane's addresses, its symbols, and the steps that have any.
    T *u = vertex_at<T>(job.u, job.u_layout, shape.x0 + 2 * lane, shape.y0),
      *v = vertex_at<T>(job.v, job.v_layout, shape.x0 + 2 * lane, shape.y0);
    i32 fine = 256 + lane;
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
            if (some & (1u << 2 | 1u << 9 | 1u << 17)) expect(j / 2 + 2);
        }
    };
    const Interpolant<T> interpolant = interpolant_of<T>(control.interpolants[0]);
    if (interpolant.coons)
        finest_level_decoded<T, true>(lattice, interpolant, put, row);
    else
        finest_level_decoded<T, false>(lattice, interpolant, put, row);
    __syncwarp();
    const bool missing = stored_missing[threadIdx.x / HALF];
    if (masked || missing) write_unseen<T>(job, symbols, index, missing);
}

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
    visit_interior<T>(values, shape.last_x, shape.last_y, control.interpolants, control.quantizer,
        [&](i32 level, T, T, i32 position, i32 x, i32 y, P prediction) {
            P value = value_of<T>(tables, payload + index * TILE_VERTICES + position,
                shared.symbols[position], prediction, level);
            if (mask_state != 0 && ((masks[y] | masks[TILE + y]) >> x & 1)) value = Real<T>::pair(T(0), T(0));
            values[y * CLOSED + x] = value;
        });
    __syncwarp();
    // Values that predictions did not see.
    if (mask_state != 0) {
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

// Writes the report. Call with one thread.
template <typename T>
__device__ __forceinline__ void write_report(const Job& job, const Control& control) {
    Report r = {};
    r.status = control.status;
    if (r.status == STATUS_OK) {
        r.stream_bytes = control.stream_bytes;
        r.required_bytes = control.stream_bytes;
        r.exact_vertices = control.content == CONTENT_STORED ? job.nx * job.ny : control.exact;
        r.bound = control.bound;
    }
    *job.report = r;
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
        pass_by();
    else
        after_kernel_before();
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

// Grid: tiles / 2 / RECONSTRUCT_WARPS. Block: 32 * RECONSTRUCT_WARPS threads, two tiles per warp. Static
// shared: RestorePair per warp. Interior tiles, and the report. Reads: anchors, symbols, payload, masks.
// Writes: the field, the report. Overlaps the previous kernel, and waits for it at its end.
template <typename T>
__device__ __forceinline__ void reconstruct(const Job& job) {
    __shared__ ReconstructedPair<T> shared[RECONSTRUCT_WARPS];
    const Control& control = control_of(job);
    const i32 half = threadIdx.x >> 4 & 1;
    const u64 first = 2 * ((u64)blockIdx.x * RECONSTRUCT_WARPS + (threadIdx.x >> 5));
    if (blockIdx.x == 0 && threadIdx.x == 0) write_report<T>(job, control);
    if (is_coded_by(control, PREDICTOR_HIERARCHICAL)) {
        const bool mine =
            first + half < job.tiles() && is_paired(job, first + half, TileView(job).headers()[first + half]);
        // A half without a tile repeats the other's.
        if (__any_sync(FULL, mine))
            reconstruct_pair<T>(job, control, shared[threadIdx.x >> 5], first + (mine ? half : half ^ 1));
    }
    end_beside();
}
