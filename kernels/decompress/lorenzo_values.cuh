// Reconstructs rows of the Lorenzo predictor from symbols: sums along rows and down columns.
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

// Four tiles of a warp, some rows at a time; a lane has four columns of its tile.
template <typename T>
struct LorenzoReconstruction {
    typedef Real<T> R;
    typedef typename Payload<T>::Type Q;
    static constexpr u32 SIGNS = 0x80 * ONES;
    const Job& job;
    const Control& control;
    const LorenzoTables& tables;
    const SharedTable<2> small;
    const T* const lattices;
    const T width;
    const i32 column, rows, count;  // rows and columns from there on that the tile owns
    const u64 pitch_u, pitch_v;
    const u32 added_before;        // see sum_rows
    const bool wide, complete;     // rows by 16 bytes; no vertex of the warp's tiles is missing
    const bool any_masks, masked;  // in the warp's tiles; in the lane's
    const u32* const masks;
    const u8* const symbols;
    u32 steps;
    const Q* payload;
    T *u, *v;
    u32 now[RECONSTRUCTED_ROWS];  // symbols
    u32 coarse_u[COLUMNS], coarse_v[COLUMNS];
    T a[COLUMNS], b[COLUMNS];  // values of a row

    // Takes the symbols of rows from `start` on.
    __device__ __forceinline__ void take(i32 start) {
#pragma unroll
        for (i32 i = 0; i < RECONSTRUCTED_ROWS; i++)
            now[i] = steps >> i & 1 ? *reinterpret_cast<const u32*>(symbols + TILE * (start + i)) : 0;
        steps >>= RECONSTRUCTED_ROWS;
    }
    // Prefetches their payload.
    __device__ __forceinline__ void expect_payload() const {
#pragma unroll
        for (i32 i = 0; i < RECONSTRUCTED_ROWS; i++)
            if (large_in(now[i])) prefetch_near(payload + TILE * i);
    }
    // Masked vertices count as predicted; their symbols are undefined. Returns zero vertices in the low half,
    // filled ones in the high half.
    __device__ __forceinline__ u32 hide(i32 start, u32& large) {
        u32 hidden = 0;
#pragma unroll
        for (i32 i = 0; i < RECONSTRUCTED_ROWS; i++) {
            const u32 zeros = masks[start + i] >> column & 15, fills = masks[start + TILE + i] >> column & 15,
                      none = spread(zeros | fills);
            hidden |= (zeros | fills << 16) << 4 * i;
            now[i] &= ~none;
            large &= ~((none & SIGNS) >> i);
        }
        return hidden;
    }
    // Sums of differences along rows, two rows in one. `added_before` removes the SMALL added in the lanes
    // before and in the lane's first column; the sign bits are flipped.
    __device__ __forceinline__ void sum_rows(u32 (&sums)[ROW_PAIRS][COLUMNS]) const {
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
    }
    // Adds row i of a pair to the coarse codes.
    __device__ __forceinline__ void add_row(const u32 (&pair)[COLUMNS], i32 i) {
        const u32 place = i % 2 ? 1 << 16 : 1;
#pragma unroll
        for (i32 k = 0; k < COLUMNS; k++) {
            coarse_u[k] = (u32)__dp4a((i32)pair[k], (i32)place, (i32)coarse_u[k]);
            coarse_v[k] = (u32)__dp4a((i32)pair[k], (i32)(place << 8), (i32)coarse_v[k]);
        }
    }
    __device__ __forceinline__ void to_values() {
#pragma unroll
        for (i32 k = 0; k < COLUMNS; k++) {
            a[k] = (T)(i32)coarse_u[k] * width;
            b[k] = (T)(i32)coarse_v[k] * width;
        }
    }
    __device__ __forceinline__ void next_row() {
        u += pitch_u;
        v += pitch_v;
    }
    // Values of masked vertices of a row.
    __device__ __forceinline__ void put_hidden(u32 hidden) {
#pragma unroll
        for (i32 k = 0; k < COLUMNS; k++) {
            if (hidden >> (16 + k) & 1)
                a[k] = R::from_bits(control.fill[0]), b[k] = R::from_bits(control.fill[1]);
            if (hidden >> k & 1) a[k] = b[k] = T(0);
        }
    }

    // Rows of complete tiles without large symbols.
    __device__ __forceinline__ void write_small(const u32 (&sums)[ROW_PAIRS][COLUMNS]) {
#pragma unroll
        for (i32 i = 0; i < RECONSTRUCTED_ROWS; i++) {
            add_row(sums[i / 2], i);
            to_values();
            store_four(u, a);
            store_four(v, b);
            next_row();
        }
    }
    // Any rows, from `start` on. `large`, `hidden`: where vertices have large symbols or are masked.
    __device__ __forceinline__ void write_any(
        u32 (&sums)[ROW_PAIRS][COLUMNS], i32 start, u32 large, u32 hidden) {
#pragma unroll 1
        for (i32 i = 0; i < RECONSTRUCTED_ROWS; i++) {
            add_row(sums[0], i);
            const u32 mine = large << i & SIGNS;
            const Q* const from = payload + TILE * i;
            if (__any_sync(FULL, mine))
                add_large<T>(tables, lattices, from, now[0], mine, coarse_u, coarse_v, a, b);
            else
                to_values();
            if (hidden) put_hidden(hidden);
            hidden = hidden >> 4 & 0xfff0fff;
            if (start + i < rows) {
                store_columns(fresh_global(u), job.u_layout.stride, a, count, wide);
                store_columns(fresh_global(v), job.v_layout.stride, b, count, wide);
            }
            next_row();
#pragma unroll
            for (i32 k = 0; k + 1 < RECONSTRUCTED_ROWS; k++) now[k] = now[k + 1];
            if (i == 1) {
#pragma unroll
                for (i32 k = 0; k < COLUMNS; k++) sums[0][k] = sums[1][k];
            }
            __syncwarp();
        }
    }

    // Reconstructs the tiles, whose symbols arrive in two parts; the payload of the next rows is prefetched.
    __device__ __forceinline__ void write() {
        wait_for_copies<1>();
        __syncwarp();
        take(0);
        expect_payload();
        wait_for_copies<0>();
        __syncwarp();
#pragma unroll
        for (i32 k = 0; k < COLUMNS; k++) coarse_u[k] = coarse_v[k] = 0;
#pragma unroll 1
        for (i32 start = 0; start < TILE; start += RECONSTRUCTED_ROWS) {
            u32 large = 0;
#pragma unroll
            for (i32 i = 0; i < RECONSTRUCTED_ROWS; i++) large |= large_in(now[i]) >> i;
            const u32 hidden = any_masks && masked ? hide(start, large) : 0;
            u32 sums[ROW_PAIRS][COLUMNS];
            sum_rows(sums);
            if (complete && !__any_sync(FULL, large))
                write_small(sums);
            else
                write_any(sums, start, large, hidden);
            payload += TILE * RECONSTRUCTED_ROWS;
            if (start + RECONSTRUCTED_ROWS < TILE) take(start + RECONSTRUCTED_ROWS);
            expect_payload();
        }
    }
};
