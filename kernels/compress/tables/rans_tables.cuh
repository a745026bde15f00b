// Frequencies of a rANS table. Twin of src/entropy/rans.rs.
#pragma once
#include "compress/tables/coding_tables.cuh"

// Changes the frequencies until their sum is the scale: the most frequent symbol, the smallest of several,
// absorbs the rounding. `f`: that of this thread's symbol; the most frequent ones of the warps are in
// shared.largest[0]. Call with a block.
__device__ __forceinline__ void round_to_scale(TableShared& shared, u32 scale, u32 sum, u32& f, u32& escape) {
    const u32 symbol = threadIdx.x, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    for (u32 turn = 0;; turn++) {
        u32 largest = escape << 8 | (255 - ESCAPE);
#pragma unroll
        for (u32 k = 0; k < TABLE_WARPS; k++) largest = max(largest, shared.largest[turn & 1][k]);
        const i32 less = min((i32)sum - (i32)scale, (i32)(largest >> 9));
        if (symbol == 255 - (largest & 255)) f -= (u32)less;
        if ((largest & 255) == 255 - ESCAPE) escape -= (u32)less;
        sum -= (u32)less;
        if (sum == scale) break;
        largest = warp_max(f << 8 | (255 - symbol));
        if (lane == 0) shared.largest[(turn + 1) & 1][warp] = largest;
        __syncthreads();
    }
}

// rANS frequencies and their stored form. Call with a block, a thread per symbol.
__device__ __forceinline__ void make_rans_table(const Job& job, TableShared& shared, u32 raw) {
    Control& control = control_of(job);
    const u32 table = blockIdx.x, symbol = threadIdx.x, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    uint2* const entries = code_entries(job, table);
    const bool has_entry = table >= FIRST_SHARED_TABLE || symbol < HEAD_ALPHABET;
    Counts counts;
    if (!find_counts<SCALE>(job, shared, table, has_entry, counts)) return;
    const u64 count = counts.count, total = counts.total;
    const bool own = counts.own;
    const u32 shift = counts.shift, scale = SCALE >> shift;
    u32 f = own ? scaled_count(count, total, scale) : 0;
    u32 sum = warp_sum(f);
    const u32 most = warp_max(f << 8 | (255 - symbol));
    if (lane == 0) shared.sums[0][warp] = sum, shared.largest[0][warp] = most;
    __syncthreads();
    const u64 listed = sum_of(shared.listed);
    sum = sum_of(shared.sums[0]);
    u32 escape = 0;
    if (listed < total) {
        escape = scaled_count(total - listed, total, scale);
        sum += escape;
        if (symbol == ESCAPE) f = escape;
    }
    round_to_scale(shared, scale, sum, f, escape);
    // Start in the scale, and bit offset in the stored form. Both are without the shift.
    const Listed before = symbols_before(shared);
    const u32 number = before.all + (listed < total);
    const Gap gap((u32)((i32)symbol - before.previous));
    const u32 length = 31 - __clz(f), mine = f ? f << 16 | (2 * gap.bits + 5 + length) : 0;
    const u32 up_to_me = warp_inclusive_sum(mine);
    if (lane == 31) shared.places[warp] = up_to_me;
    const u32 frequency = (own ? f : escape ? escape : 1) << shift;
    const u64 cost = count ? count * ((own ? 0 : 8 << 8) + (SCALE_BITS << 8) - log2_fixed(frequency)) : 0;
    keep_cost(shared, warp_sum64(cost), warp_sum64(count * raw));
    __syncthreads();
    u32 place = up_to_me - mine, bits = 8 + SHIFT_BITS;
#pragma unroll
    for (u32 k = 0; k < TABLE_WARPS; k++) {
        if (k < warp) place += shared.places[k];
        bits += shared.places[k] & 0xffff;
    }
    // The escape is the last symbol, so its frequency ends the scale.
    if (has_entry)
        entries[symbol] =
            make_uint2(with_frequency(frequency) | raw_flag(job, table, symbol) |
                           (own ? place >> 16 << shift : ENTRY_ESCAPES | (SCALE - (escape << shift))),
                0xffffffffu / frequency);
    if (symbol == 0) atomicOr(&shared.words[0], number - 1 | shift << 8);
    if (f) {
        const u64 value = gap.code | (u64)length << (2 * gap.bits + 1) |
                          (u64)(f & ((1u << length) - 1)) << (2 * gap.bits + 5);
        store_bits(shared.words, 8 + SHIFT_BITS + (place & 0xffff), value);
    }
    __syncthreads();
    store_table(job, shared, table, before.all, bits);
    add_cost(control, shared);
}
