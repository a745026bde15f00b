// Reconstructs the values of the Lorenzo predictor from symbols. Twin of the decoder in
// src/predict/lorenzo.rs.
#pragma once
#include "decompress/status.cuh"
#include "entropy/differences.cuh"
#include "entropy/groups/lorenzo.cuh"
#include "entropy/payload.cuh"
#include "decompress/readings.cuh"
#include "predict/lorenzo.cuh"

// Inclusive sum over the lanes of a tile.
__device__ __forceinline__ u32 sum_along_row(u32 value) {
#pragma unroll
    for (i32 k = 1; k < ROW_LANES; k *= 2) value = add_from_below<ROW_LANES>(value, k);
    return value;
}
// Turns sums within each lane into sums along the row.
__device__ __forceinline__ void sum_row(u32 (&values)[COLUMNS]) {
    const u32 before = sum_along_row(values[COLUMNS - 1]) - values[COLUMNS - 1];
#pragma unroll
    for (i32 k = 0; k < COLUMNS; k++) values[k] += before;
}

// Stores neighbours of a row, 16 bytes at a time if `wide`, else the first `count`.
template <typename T>
__device__ __forceinline__ void store_four(T* to, const T (&values)[COLUMNS]) {
    if (sizeof(T) == 4) {
        *reinterpret_cast<float4*>(to) =
            make_float4((float)values[0], (float)values[1], (float)values[2], (float)values[3]);
    } else {
        reinterpret_cast<double2*>(to)[0] = make_double2(values[0], values[1]);
        reinterpret_cast<double2*>(to)[1] = make_double2(values[2], values[3]);
    }
}
template <typename T>
__device__ __forceinline__ void store_columns(
    T* to, u64 stride, const T (&values)[COLUMNS], i32 count, bool wide) {
    if (wide) return store_four(to, values);
#pragma unroll
    for (i32 k = 0; k < COLUMNS; k++)
        if (k < count) to[k * (long long)stride] = values[k];
}
// Rows that are loaded together; two rows share a scan.
constexpr i32 RECONSTRUCTED_ROWS = 4, ROW_PAIRS = RECONSTRUCTED_ROWS / 2;

// Differences of small symbols: u and v in a byte each, plus SMALL, so that sums have no carries between
// them. [1]: shifted to the high half, since two rows are summed at once.
struct LorenzoTables {
    alignas(4 * ALPHABET) u32 small[2][ALPHABET];
    u32 readings[ALPHABET];
};
static_assert(2 * SMALL * TILE < 256 && SMALL * TILE <= 128,
    "a sum along a row has a byte, and one with a sign of its own");

// Symbols of a warp's tiles; padding puts the tiles into different banks.
struct StagedTiles {
    alignas(16) u8 symbols[TILES_OF_WARP][TILE_VERTICES + TILE];
};

// Four bits to four bytes of ones.
__device__ __forceinline__ u32 spread(u32 four_bits) { return (four_bits * 0x204081 & ONES) * 255; }

// Values of a row with large symbols. The coarse codes contain the small ones already; adds the large ones.
template <typename T>
__device__ __forceinline__ void add_large(const LorenzoTables& tables, const T* lattices,
    const typename Payload<T>::Type* payload, u32 four, u32 large, u32 (&coarse_u)[COLUMNS],
    u32 (&coarse_v)[COLUMNS], T (&a)[COLUMNS], T (&b)[COLUMNS]) {
    typedef Real<T> R;
    typename Payload<T>::Type raw[COLUMNS] = {};
    u32 reading[COLUMNS], more_u[COLUMNS], more_v[COLUMNS], seen = 0;
#pragma unroll
    for (i32 k = 0; k < COLUMNS; k++)
        if (large >> 8 * k & 0x80) raw[k] = payload[k];
#pragma unroll
    for (i32 k = 0; k < COLUMNS; k++) {
        reading[k] = tables.readings[four >> 8 * k & 255];
        seen |= reading[k];
        const Components more = components(reading[k], Payload<T>::low(raw[k]));
        more_u[k] = more.u + (k > 0 ? more_u[k - 1] : 0);
        more_v[k] = more.v + (k > 0 ? more_v[k - 1] : 0);
    }
    sum_row(more_u);
    sum_row(more_v);
    const T width = lattices[0];
#pragma unroll
    for (i32 k = 0; k < COLUMNS; k++) {
        coarse_u[k] += more_u[k];
        coarse_v[k] += more_v[k];
        a[k] = (T)(i32)coarse_u[k] * width;
        b[k] = (T)(i32)coarse_v[k] * width;
    }
    if (!__any_sync(FULL, seen & NOT_ALL)) return;
#pragma unroll
    for (i32 k = 0; k < COLUMNS; k++) {
        const u32 refinement = reading[k] >> 24;
        const u32 own = (reading[k] & 255) + (reading[k] >> 8 & 255) + (reading[k] & WIDE ? 2 : 0);
        const u64 low = Payload<T>::low(raw[k]), high = sizeof(T) == 8 ? Payload<T>::second(raw[k]) : 0;
        const u32 refinement_bits = refinement_bits_behind(own, low, high), mask = (1u << 2 * refinement) - 1;
        const T w = lattices[refinement];
        a[k] = (T)join_code((i32)coarse_u[k], refinement_bits & mask, (i32)refinement) * w;
        b[k] = (T)join_code((i32)coarse_v[k], refinement_bits >> 2 * refinement & mask, (i32)refinement) * w;
        const u32 symbol = four >> 8 * k & 255;
        if (symbol == STORED) {
            a[k] = R::from_bits(low);
            b[k] = R::from_bits(Payload<T>::second(raw[k]));
        } else if (symbol > STORED) {
            const typename R::Pair value = add_differences<T>(symbol, low, high, R::pair(a[k], b[k]));
            a[k] = value.x;
            b[k] = value.y;
        }
    }
}

// Grid: tiles / (4 * LORENZO_RESTORE_WARPS). Block: 32 * LORENZO_RESTORE_WARPS threads, four tiles per warp.
// Static shared: tables, symbols. Sums along rows and down columns. Reads: info, steps, symbols, payload,
// masks. Writes: the field. Waits for: the previous kernel.
template <typename T>
__device__ __forceinline__ void reconstruct_lorenzo(const Job& job) {
    const ReconstructView<T> work(job);
    typedef Real<T> R;
    typedef typename Payload<T>::Type Q;
    __shared__ LorenzoTables tables;
    __shared__ T widths[BOUND_SHIFTS][REFINEMENTS];
    __shared__ StagedTiles all_staged[LORENZO_RECONSTRUCT_WARPS];
    StagedTiles& staged = all_staged[threadIdx.x >> 5];
    const Control& control = control_of(job);
    const double half_bin_width = control.half_bin_width;
    if (!is_coded_by(control, PREDICTOR_LORENZO)) return;
    const i32 lane = threadIdx.x & 31, column = COLUMNS * (lane % ROW_LANES);
    const bool aligned = is_aligned<T>(job);
    // Removes the SMALL added in the lanes before and in the lane's first column; the sign bits are flipped
    // below.
    constexpr u32 SIGNS = 0x80 * ONES;
    const u32 added_before = SIGNS - SMALL * (column + 1) * ONES;
    // warp_or: uniform, so that votes need no code for divergent lanes.
    const u64 tiles = job.tiles(), rounds = (tiles + TILES_OF_WARP - 1) / TILES_OF_WARP;
    const u64 round = (u64)blockIdx.x * LORENZO_RECONSTRUCT_WARPS + warp_or(threadIdx.x >> 5);
    // Last tiles first: their symbols are still in the cache.
    const u64 first = round < rounds ? TILES_OF_WARP * (rounds - 1 - round) : 0;
    const bool exists = round < rounds && first + lane / ROW_LANES < tiles;
    const u64 index = exists ? first + lane / ROW_LANES : first;
    const TileShape shape = tile_shape(job, index);
    const i32 rows = exists ? shape.owned_y() : 0, count = shape.owned_x() - column;
    const u32 info = work.headers()[index];
    u32 steps = work.steps()[index];
    // Fill the tables while those loads are on their way.
    for (u32 k = threadIdx.x; k < ALPHABET; k += blockDim.x) {
        const Code code = decode_small(k < FIRST_WITH_RAW_BITS ? k : SYMBOL_ZERO);
        const u32 both = (u32)(code.qu + SMALL) | (u32)(code.qv + SMALL) << 8;
        tables.small[0][k] = both;
        tables.small[1][k] = both << 16;
        tables.readings[k] = READINGS.at[k];
    }
    for (i32 k = threadIdx.x; k < BOUND_SHIFTS * REFINEMENTS; k += blockDim.x)
        widths[k / REFINEMENTS][k % REFINEMENTS] =
            lattice_width<T>(half_bin_width, k / REFINEMENTS, k % REFINEMENTS);
    __syncthreads();
    if (round >= rounds) return;
    const SharedTable<2> small(tables.small[0]);
    const bool wide = aligned && count >= COLUMNS, any_masks = __any_sync(FULL, mask_state_in(info) != 0);
    const bool complete = __all_sync(FULL, wide && rows == TILE) && !any_masks;
    const T* const lattices = widths[bound_shift_in(info)];
    const T width = lattices[0];
    T* u = vertex_at<T>(job.u, job.u_layout, shape.x0 + column, shape.y0);
    T* v = vertex_at<T>(job.v, job.v_layout, shape.x0 + column, shape.y0);
    const u64 pitch_u = job.u_layout.pitch, pitch_v = job.v_layout.pitch;
    const Q* payload = work.raw() + index * TILE_VERTICES + column;
    // Start the copies of all symbols; the eight lanes of a tile fetch its own.
    {
        const u32 part = lane % ROW_LANES;
        const u8* const from = work.symbols() + index * TILE_VERTICES + 16 * part;
        u8* const to = staged.symbols[lane / ROW_LANES] + 16 * part;
        u32 left = steps >> part / 2;
#pragma unroll
        for (i32 k = 0; k < TILE / RECONSTRUCTED_ROWS; k++) {
            if (left & 1) copy_ahead<16>(to + 128 * k, from + 128 * k);
            left >>= RECONSTRUCTED_ROWS;
            if (k == 0) end_of_copies();
        }
        end_of_copies();
    }
    const u8* const symbols = staged.symbols[lane / ROW_LANES] + column;
    // Some rows at a time; payload of the next is prefetched.
    u32 now[RECONSTRUCTED_ROWS];
    auto take = [&](i32 start) {
#pragma unroll
        for (i32 i = 0; i < RECONSTRUCTED_ROWS; i++)
            now[i] = steps >> i & 1 ? *reinterpret_cast<const u32*>(symbols + TILE * (start + i)) : 0;
        steps >>= RECONSTRUCTED_ROWS;
    };
    auto expect_payload = [&](const Q* from) {
#pragma unroll
        for (i32 i = 0; i < RECONSTRUCTED_ROWS; i++)
            if (large_in(now[i])) prefetch_near(from + TILE * i);
    };
    wait_for_copies<1>();
    __syncwarp();
    take(0);
    expect_payload(payload);
    wait_for_copies<0>();
    __syncwarp();
    u32 coarse_u[COLUMNS] = {}, coarse_v[COLUMNS] = {};
#pragma unroll 1
    for (i32 start = 0; start < TILE; start += RECONSTRUCTED_ROWS) {
        u32 large = 0;
#pragma unroll
        for (i32 i = 0; i < RECONSTRUCTED_ROWS; i++) large |= large_in(now[i]) >> i;
        // Low half: zero vertices, high half: filled ones.
        u32 hidden = 0;
        if (any_masks && mask_state_in(info) != 0) {
            // Masked vertices count as predicted; their symbols are undefined.
            const u32* const masks = work.masks() + index * 64 + start;
#pragma unroll
            for (i32 i = 0; i < RECONSTRUCTED_ROWS; i++) {
                const u32 zeros = masks[i] >> column & 15, fills = masks[TILE + i] >> column & 15,
                          none = spread(zeros | fills);
                hidden |= (zeros | fills << 16) << 4 * i;
                now[i] &= ~none;
                large &= ~((none & SIGNS) >> i);
            }
        }
        u32 sums[ROW_PAIRS][COLUMNS];
#pragma unroll
        for (i32 p = 0; p < ROW_PAIRS; p++) {
            const u32 upper = now[2 * p], lower = now[2 * p + 1];
#pragma unroll
            for (i32 k = 0; k < COLUMNS; k++) {
                // Byte offset in the table: four times the symbol.
                auto place = [&](u32 four) { return (k == 0 ? four << 2 : four >> (8 * k - 2)) & 0x3fc; };
                const u32 both = small.word<0>(place(upper)) + small.word<1>(place(lower));
                sums[p][k] = k > 0 ? sums[p][k - 1] + both : both;
            }
        }
#pragma unroll
        for (i32 p = 0; p < ROW_PAIRS; p++) {
            const u32 before = sum_along_row(sums[p][COLUMNS - 1]) - sums[p][COLUMNS - 1] + added_before;
#pragma unroll
            for (i32 k = 0; k < COLUMNS; k++) sums[p][k] = (sums[p][k] + before - SMALL * k * ONES) ^ SIGNS;
        }
        auto add_row = [&](const u32(&pair)[COLUMNS], u32 place) {
#pragma unroll
            for (i32 k = 0; k < COLUMNS; k++) {
                coarse_u[k] = (u32)__dp4a((i32)pair[k], (i32)place, (i32)coarse_u[k]);
                coarse_v[k] = (u32)__dp4a((i32)pair[k], (i32)(place << 8), (i32)coarse_v[k]);
            }
        };
        T a[COLUMNS], b[COLUMNS];
        auto to_values = [&]() {
#pragma unroll
            for (i32 k = 0; k < COLUMNS; k++) {
                a[k] = (T)(i32)coarse_u[k] * width;
                b[k] = (T)(i32)coarse_v[k] * width;
            }
        };
        if (complete && !__any_sync(FULL, large)) {
#pragma unroll
            for (i32 i = 0; i < RECONSTRUCTED_ROWS; i++) {
                add_row(sums[i / 2], i % 2 ? 1 << 16 : 1);
                to_values();
                store_four(u, a);
                store_four(v, b);
                u += pitch_u;
                v += pitch_v;
            }
        } else {
#pragma unroll 1
            for (i32 i = 0; i < RECONSTRUCTED_ROWS; i++) {
                add_row(sums[0], i % 2 ? 1 << 16 : 1);
                const u32 mine = large << i & SIGNS;
                const Q* const from = payload + TILE * i;
                if (__any_sync(FULL, mine))
                    add_large<T>(tables, lattices, from, now[0], mine, coarse_u, coarse_v, a, b);
                else
                    to_values();
                if (hidden) {
#pragma unroll
                    for (i32 k = 0; k < COLUMNS; k++) {
                        if (hidden >> (16 + k) & 1)
                            a[k] = R::from_bits(control.fill[0]), b[k] = R::from_bits(control.fill[1]);
                        if (hidden >> k & 1) a[k] = b[k] = T(0);
                    }
                }
                hidden = hidden >> 4 & 0xfff0fff;
                if (start + i < rows) {
                    store_columns(fresh_global(u), job.u_layout.stride, a, count, wide);
                    store_columns(fresh_global(v), job.v_layout.stride, b, count, wide);
                }
                u += pitch_u;
                v += pitch_v;
#pragma unroll
                for (i32 k = 0; k + 1 < RECONSTRUCTED_ROWS; k++) now[k] = now[k + 1];
                if (i == 1) {
#pragma unroll
                    for (i32 k = 0; k < COLUMNS; k++) sums[0][k] = sums[1][k];
                }
                __syncwarp();
            }
        }
        payload += TILE * RECONSTRUCTED_ROWS;
        if (start + RECONSTRUCTED_ROWS < TILE) take(start + RECONSTRUCTED_ROWS);
        expect_payload(payload);
    }
}
