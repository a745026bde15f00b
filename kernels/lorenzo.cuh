// Entries of the Lorenzo predictor: from values to symbols and back, a warp for a tile, a lane for a column.
// Twin: src/stage/lorenzo.rs. Tiles know nothing of each other.
#pragma once
#include "constrain.cuh"
#include "decoding.cuh"

constexpr i32 LORENZO_PLAIN_WARPS = 4, LORENZO_WARPS = 8;

// What the rows so far come to: before the middle block, before the fine one, in all.
struct RowSums {
    u32 coarse, middle, all;
    // Before row start + i: `start` is a multiple of four.
    __device__ __forceinline__ void begin_row(i32 start, i32 i) {
        if (i % 4 == 2 && start + i == 2) coarse = all;
        if (i % 4 == 0 && start + i == 8) middle = all;
    }
};

// The difference of a row of base codes across its cells: down from the row before, then to the left.
__device__ __forceinline__ i32 across_cell(u32 down) { return (i32)less_from_below(down); }

// From what the symbols of each lane cost, and the number of those in all lanes.
__device__ __forceinline__ u32 classes_of(const RowSums& costs, const RowSums& active) {
    return class_of(warp_sum(costs.coarse), active.coarse) << 8 | class_of(warp_sum(costs.middle - costs.coarse), active.middle - active.coarse) << 16 |
           class_of(warp_sum(costs.all - costs.middle), active.all - active.middle) << 24;
}

// How a lane loads and stores: a warp has four tiles, eight lanes for each, of four neighbours in a row.
constexpr i32 COLUMNS = 4, ROW_LANES = TILE / COLUMNS, TILES_OF_WARP = 32 / ROW_LANES;
constexpr u32 ONES = 0x01010101;

// ---------------------------------------------------------------- back to values

constexpr i32 LORENZO_RESTORE_WARPS = 4;

// The sum of the values of the lanes up to this one that are of its tile.
__device__ __forceinline__ u32 sum_along_row(u32 value) {
#pragma unroll
    for (i32 k = 1; k < ROW_LANES; k *= 2) value = add_from_below<ROW_LANES>(value, k);
    return value;
}
// Makes each of a row's values the sum of those up to it.
__device__ __forceinline__ void sum_row(u32 (&values)[COLUMNS]) {
#pragma unroll
    for (i32 k = 1; k < COLUMNS; k++) values[k] += values[k - 1];
    const u32 before = sum_along_row(values[COLUMNS - 1]) - values[COLUMNS - 1];
#pragma unroll
    for (i32 k = 0; k < COLUMNS; k++) values[k] += before;
}

// How a symbol is read: bits of its two components, whether they are offsets, and the digits of a finer lattice behind them.
constexpr u32 WIDE = 1u << 16;
__device__ __forceinline__ u32 reading_of(u32 symbol) {
    const Meaning m = meaning(symbol < STORED ? symbol : (u32)SYMBOL_ZERO);
    return m.ku | m.kv << 8 | (m.wide ? WIDE : 0) | m.id << 24;
}
// A component by its bits.
__device__ __forceinline__ u32 component(u32 raw, u32 bits, bool wide) {
    if (wide) return (raw & FULL >> (31 - bits)) - (1u << bits);
    return bits ? (u32)unpack(raw, bits) : 0;
}

// Values of neighbours in a row to their places, 16 bytes at a time where all are and lie so, or as many as there are.
template <typename T>
__device__ __forceinline__ void store_columns(T* to, u64 stride, const T (&values)[COLUMNS], i32 count, bool wide) {
    if (wide) {
        if (sizeof(T) == 4) {
            *reinterpret_cast<float4*>(to) = make_float4((float)values[0], (float)values[1], (float)values[2], (float)values[3]);
        } else {
            reinterpret_cast<double2*>(to)[0] = make_double2(values[0], values[1]);
            reinterpret_cast<double2*>(to)[1] = make_double2(values[2], values[3]);
        }
        return;
    }
#pragma unroll
    for (i32 k = 0; k < COLUMNS; k++)
        if (k < count) to[k * (long long)stride] = values[k];
}
template <typename T>
__device__ __forceinline__ bool is_aligned(const void* base, const Layout& layout) {
    return layout.stride == 1 && ((u64)base | (u64)layout.pitch * sizeof(T)) % 16 == 0;
}

// Grid: any. Block: 32 * warps. Tiles from their symbols: sums along the rows, and down the columns.
template <typename T>
__device__ __forceinline__ void lorenzo_restore(const Job& job) {
    typedef Real<T> R;
    typedef typename Payload<T>::Type Q;
    constexpr u32 BOTH = 0x10001;
    // The differences of symbols without raw bits, in 16 bits each, with SMALL added, so that sums have no carries. Others are none.
    __shared__ u32 small[ALPHABET], readings[ALPHABET];
    __shared__ T widths[TIERS][IDS];
    static_assert(2 * SMALL * TILE < 1 << 15, "a sum along a row has 15 bits");
    const Control& control = control_of(job);
    if (control.status != STATUS_OK || control.content != CONTENT_CODED || control.predictor != PREDICTOR_LORENZO) return;
    for (u32 k = threadIdx.x; k < ALPHABET; k += blockDim.x) {
        const Code code = decode_small(k < FIRST_WITH_RAW_BITS ? k : SYMBOL_ZERO);
        small[k] = (u32)(code.qu + SMALL) | (u32)(code.qv + SMALL) << 16;
        readings[k] = reading_of(k);
    }
    for (i32 k = threadIdx.x; k < TIERS * IDS; k += blockDim.x) widths[k / IDS][k % IDS] = lattice_width<T>(control.quantum, k / IDS, k % IDS);
    __syncthreads();
    const i32 lane = threadIdx.x & 31, column = COLUMNS * (lane % ROW_LANES);
    const bool aligned = is_aligned<T>(job.u, job.u_layout) && is_aligned<T>(job.v, job.v_layout);
    // What the lanes before have added, but for the sign of the lower half.
    constexpr u32 SIGN = 1u << 15;
    const u32 added_before = SIGN - SMALL * column * BOTH;
    const u64 warps = (u64)gridDim.x * LORENZO_RESTORE_WARPS;
    for (u64 first = TILES_OF_WARP * ((u64)blockIdx.x * LORENZO_RESTORE_WARPS + (threadIdx.x >> 5)); first < job.tiles(); first += TILES_OF_WARP * warps) {
        const bool exists = first + lane / ROW_LANES < job.tiles();
        const u64 index = exists ? first + lane / ROW_LANES : first;
        const TileShape shape = tile_shape(job, index);
        const i32 rows = exists ? shape.owned_y() : 0, count = shape.owned_x() - column;
        const u32 info = job.info[index], steps = job.steps[index];
        const bool wide = aligned && count >= COLUMNS, any_masks = __any_sync(FULL, mode_in(info) != 0);
        const T* const lattices = widths[tier_in(info)];
        const T width = lattices[0];
        T* u = vertex_at<T>(job.u, job.u_layout, shape.x0 + column, shape.y0);
        T* v = vertex_at<T>(job.v, job.v_layout, shape.x0 + column, shape.y0);
        const u32* const symbols = reinterpret_cast<const u32*>(job.symbols + index * TILE_VERTICES + column);
        const Q* payload = reinterpret_cast<const Q*>(job.payload) + index * TILE_VERTICES + column;
        // Symbols with raw bits: each byte above the last one without.
        auto large_in = [](u32 four) -> u32 { return (((four & 0x7f * ONES) + (0x80 - FIRST_WITH_RAW_BITS) * ONES) | four) & 0x80 * ONES; };
        // Some rows at a time; those of the next are on their way.
        constexpr i32 ROWS = 4;
        u32 now[ROWS], next[ROWS];
        auto ask_for = [&](i32 start) {
#pragma unroll
            for (i32 i = 0; i < ROWS; i++) next[i] = steps >> (start + i) & 1 ? symbols[ROW_LANES * (start + i)] : 0;
        };
        ask_for(0);
        u32 base_u[COLUMNS] = {}, base_v[COLUMNS] = {};
#pragma unroll 1
        for (i32 y = 0; y < TILE; y++) {
            if (y % ROWS == 0) {
#pragma unroll
                for (i32 i = 0; i < ROWS; i++) {
                    now[i] = next[i];
                    // So are raw bits.
                    if (large_in(now[i])) prefetch_near(payload + TILE * i);
                }
                if (y + ROWS < TILE) ask_for(y + ROWS);
            }
            u32 four = now[0], zeros = 0, fills = 0;
#pragma unroll
            for (i32 i = 0; i + 1 < ROWS; i++) now[i] = now[i + 1];
            if (any_masks && mode_in(info) != 0) {
                // Masked vertices count as predicted. (There may be anything in the place of their symbols.)
                const u32* const masks = job.masks + index * 64 + y;
                zeros = masks[0] >> column & 15;
                fills = masks[TILE] >> column & 15;
#pragma unroll
                for (i32 k = 0; k < COLUMNS; k++)
                    if ((zeros | fills) >> k & 1) four &= ~(255u << 8 * k);
            }
            u32 sums[COLUMNS];
#pragma unroll
            for (i32 k = 0; k < COLUMNS; k++) sums[k] = small[four >> 8 * k & 255];
            sum_row(sums);
#pragma unroll
            for (i32 k = 0; k < COLUMNS; k++) {
                // Halves with signs of their own.
                const u32 both = (sums[k] + added_before - SMALL * (k + 1) * BOTH) ^ SIGN;
                base_u[k] = (u32)__dp2a_lo((i32)both, 0x0001, (i32)base_u[k]);
                base_v[k] = (u32)__dp2a_lo((i32)both, 0x0100, (i32)base_v[k]);
            }
            T a[COLUMNS], b[COLUMNS];
            const u32 large = large_in(four);
            if (!__any_sync(FULL, large)) {
#pragma unroll
                for (i32 k = 0; k < COLUMNS; k++) {
                    a[k] = (T)(i32)base_u[k] * width;
                    b[k] = (T)(i32)base_v[k] * width;
                }
            } else {
                Q raw[COLUMNS] = {};
                u32 reading[COLUMNS], more_u[COLUMNS], more_v[COLUMNS];
#pragma unroll
                for (i32 k = 0; k < COLUMNS; k++)
                    if (large >> 8 * k & 0x80) raw[k] = payload[k];
#pragma unroll
                for (i32 k = 0; k < COLUMNS; k++) {
                    reading[k] = readings[four >> 8 * k & 255];
                    const u32 ku = reading[k] & 255, kv = reading[k] >> 8 & 255;
                    const bool offsets = reading[k] & WIDE;
                    more_u[k] = component((u32)Payload<T>::low(raw[k]), ku, offsets);
                    more_v[k] = component((u32)(Payload<T>::low(raw[k]) >> (ku + offsets)), kv, offsets);
                }
                sum_row(more_u);
                sum_row(more_v);
#pragma unroll
                for (i32 k = 0; k < COLUMNS; k++) {
                    base_u[k] += more_u[k];
                    base_v[k] += more_v[k];
                    const u32 id = reading[k] >> 24, symbol = four >> 8 * k & 255;
                    // Digits of finer lattices are behind what the symbol has itself.
                    const u32 own = (reading[k] & 255) + (reading[k] >> 8 & 255) + (reading[k] & WIDE ? 2 : 0);
                    const u64 low = Payload<T>::low(raw[k]), high = sizeof(T) == 8 ? Payload<T>::second(raw[k]) : 0;
                    const u32 digits = (u32)(own == 0 ? low : own < 64 ? low >> own | high << (64 - own) : high), mask = (1u << 2 * id) - 1;
                    const T w = lattices[id];
                    a[k] = (T)join_code((i32)base_u[k], digits & mask, (i32)id) * w;
                    b[k] = (T)join_code((i32)base_v[k], digits >> 2 * id & mask, (i32)id) * w;
                    if (symbol == STORED) {
                        a[k] = R::from_bits(Payload<T>::low(raw[k]));
                        b[k] = R::from_bits(Payload<T>::second(raw[k]));
                    }
                }
            }
            if (any_masks) {
#pragma unroll
                for (i32 k = 0; k < COLUMNS; k++) {
                    if (fills >> k & 1) a[k] = R::from_bits(control.fill[0]), b[k] = R::from_bits(control.fill[1]);
                    if (zeros >> k & 1) a[k] = b[k] = T(0);
                }
            }
            if (y < rows) {
                store_columns(u, job.u_layout.stride, a, count, wide);
                store_columns(v, job.v_layout.stride, b, count, wide);
            }
            u += job.u_layout.pitch;
            v += job.v_layout.pitch;
            payload += TILE;
            __syncwarp();
        }
    }
}
