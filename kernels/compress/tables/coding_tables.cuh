// Coding entries of symbols; counts of symbols, and the stored form of tables. Twin of src/entropy/tables.rs.
#pragma once
#include "compress/count/grouping.cuh"
#include "entropy/lanes.cuh"
#include "entropy/payload.cuh"
#include "stream/sections.cuh"
#include "entropy/groups/volume_lists.cuh"

// Kinds of tables, by the raw bits after their symbols.
enum : u32 { CODES_HEADS, CODES_BYTES, CODES_VERTICES, CODES_RUNS };
__device__ __forceinline__ u32 coded_by(bool lorenzo, u32 table) {
    if (table < MASK_BYTE) return CODES_HEADS;
    if (lorenzo)
        return table == MASK_RUN                              ? CODES_RUNS
               : table == ANCHOR_TABLE || table >= ROW_SYMBOL ? CODES_VERTICES
                                                              : CODES_BYTES;
    return table >= RUN ? CODES_RUNS : table >= ANCHOR_TABLE ? CODES_VERTICES : CODES_BYTES;
}

// ENTRY_RAW if raw bits follow the symbol. (For anchors it also depends on the position.)
__device__ __forceinline__ u32 raw_flag(const Job& job, u32 table, u32 symbol) {
    const u32 kind = coded_by(job.predictor == PREDICTOR_LORENZO, table);
    return symbol >= (kind == CODES_RUNS          ? FIRST_RUN_WITH_RAW_BITS
                         : kind == CODES_VERTICES ? FIRST_WITH_RAW_BITS
                                                  : ALPHABET)
               ? ENTRY_RAW
               : 0;
}

// A table that leaves a state unchanged: no bits, or the whole scale.
constexpr u32 NO_TABLE = TABLES;
// Tables of mask states and activities have fewer symbols.
constexpr u32 CODE_ENTRIES = FIRST_SHARED_TABLE * HEAD_ALPHABET + SHARED_TABLES * ALPHABET + 1;
static_assert(
    CODE_ENTRIES * sizeof(uint2) == CODING_TABLE_BYTES && MASK_STATES * BOUND_SHIFTS <= HEAD_ALPHABET,
    "the tables have their place");
__device__ __forceinline__ uint2* code_entries(const Job& job, u32 table) {
    return CountView(job).code_entries() +
           (table < FIRST_SHARED_TABLE
                   ? table * HEAD_ALPHABET
                   : FIRST_SHARED_TABLE * HEAD_ALPHABET + (table - FIRST_SHARED_TABLE) * ALPHABET);
}

// Each table is first written to a place of the largest size, behind the lengths of all.
constexpr u32 LENGTH_WORDS = (TABLES + 3) / 4;
__device__ __forceinline__ u32* stored_table(const Job& job, u32 table) {
    return CountView(job).stored_tables() + LENGTH_WORDS + table * STORED_WORDS;
}

// Partial results of the warps for a table.
struct TableShared {
    u64 totals[TABLE_WARPS], listed[TABLE_WARPS], costs[TABLE_WARPS], raw[TABLE_WARPS];
    u32 sums[2][TABLE_WARPS], largest[2][TABLE_WARPS], present[TABLE_WARPS], places[TABLE_WARPS];
    u32 words[STORED_WORDS + 1];  // stored form, and a spare word
};

template <typename T, u32 N>
__device__ __forceinline__ T sum_of(const T (&values)[N]) {
    T sum = 0;
#pragma unroll
    for (u32 k = 0; k < N; k++) sum += values[k];
    return sum;
}

// count * scale / total, to nearest, at least 1; count <= total.
__device__ __forceinline__ u32 scaled_count(u64 count, u64 total, u32 scale) {
    // The float quotient is off by less than one.
    const u64 x = count * scale + total / 2;
    u32 q = (u32)((float)x / (float)total);
    const long long rest = (long long)(x - q * total);
    q = rest < 0 ? q - 1 : (u64)rest >= total ? q + 1 : q;
    return q > 1 ? q : 1;
}

// ORs a value of at most 33 bits into words in shared memory at a bit offset.
__device__ __forceinline__ void store_bits(u32* words, u32 at, u64 value) {
    const u64 shifted = value << (at & 31);
    atomicOr(&words[at >> 5], (u32)shifted);
    if (shifted >> 32) atomicOr(&words[(at >> 5) + 1], (u32)(shifted >> 32));
}

// Writes the stored form of a table, nothing for one without `own` symbols: then all escape. Call with a
// block, after a barrier.
__device__ __forceinline__ void store_table(
    const Job& job, const TableShared& shared, u32 table, u32 own, u32 bits) {
    const u32 words = own ? (bits + 31) / 32 : 0;
    if (threadIdx.x < words) stored_table(job, table)[threadIdx.x] = shared.words[threadIdx.x];
    if (threadIdx.x == 0) CountView(job).table_lengths()[table] = (u8)words;
}

// Keeps the cost of the warp's symbols and their raw bits. Call with a block, before a barrier.
__device__ __forceinline__ void keep_cost(TableShared& shared, u64 cost, u64 raw_bits) {
    const u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    if (lane == 0) shared.costs[warp] = cost, shared.raw[warp] = raw_bits;
}
// Adds the cost of a table's symbols and raw bits to those of the call. Call with a block, after a barrier.
__device__ __forceinline__ void add_cost(Control& control, const TableShared& shared) {
    if (threadIdx.x >= 2) return;
    const u64 sum = threadIdx.x == 0 ? sum_of(shared.costs) : sum_of(shared.raw);
    if (sum) atomicAdd((ull*)(threadIdx.x == 0 ? &control.cost : &control.raw_bits), (ull)sum);
}

// The block whose activity a table has.
__device__ __forceinline__ i32 block_of_activity(u32 table) {
    return table >= FINE_ACTIVITY ? 2 : table >= MIDDLE_ACTIVITY ? 1 : 0;
}
// As raw_of_table, for a volume.
__device__ __forceinline__ u32 raw_of_volume(u32 kind, u32 table, u32 symbol) {
    if (kind == CODES_RUNS) return symbol < RUNS_OF_VOLUMES ? run_bits(symbol) : 0;
    if (kind == CODES_VERTICES) return triple_raw_bits(symbol);
    if (kind == CODES_BYTES || table == MASK_STATE || !is_sparse(symbol)) return 0;
    return volume_count_bits(block_of_activity(table), symbol);
}

// Raw bits after a symbol of a table. List sizes follow mask states and activities.
template <typename T>
__device__ __forceinline__ u32 raw_of_table(const Job& job, u32 table, u32 symbol) {
    const bool lorenzo = job.predictor == PREDICTOR_LORENZO;
    const u32 kind = coded_by(lorenzo, table);
    if (job.components == 3) return raw_of_volume(kind, table, symbol);
    if (kind == CODES_RUNS) return symbol < RUNS ? run_bits(symbol) : 0;
    if (kind == CODES_VERTICES)
        return symbol < SYMBOLS ? raw_bits(symbol, lorenzo || table == ANCHOR_TABLE ? 0 : 1, sizeof(T)) : 0;
    if (kind == CODES_BYTES) return 0;
    if (table != MASK_STATE)
        return !lorenzo && is_sparse(symbol) ? count_bits(block_of_activity(table), symbol) : 0;
    const u32 states = symbol % MASK_STATES;
    return MASK_COUNT_BITS * (has_mask_list(states, 0) + has_mask_list(states, 1));
}

// The shift of a rANS table of so many symbols: few do not tell their frequencies more exactly.
__device__ __forceinline__ u32 shift_of(u64 total) {
    if (total >= SCALE) return 0;
    const u32 bits = total > 1 ? 32 - __clz((u32)total - 1) : 0, shift = SCALE_BITS - bits;
    return shift < MOST_SHIFT ? shift : MOST_SHIFT;
}

// Count of a symbol and of its table, and the shift of that; own: the symbol has its own code, not the
// escape's.
struct Counts {
    u64 count, total;
    u32 shift;
    bool own;
};
// Finds which symbols have their own codes in a table with PARTS parts to divide, of rANS less by its shift.
// Call with a block, a thread per symbol; the results of the warps are valid after the next barrier. False if
// there are no symbols: the empty table is done.
template <u32 PARTS>
__device__ __forceinline__ bool find_counts(
    const Job& job, TableShared& shared, u32 table, bool has_entry, Counts& counts) {
    const u32 symbol = threadIdx.x, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    // A table from a sample needs an escape.
    counts.count = CountView(job).symbol_counts()[table * ALPHABET + symbol] +
                   (symbol == ESCAPE && sample_step(job) > 1 && is_table_of_rows(table));
    u64 part = warp_sum_long(counts.count);
    if (lane == 0) shared.totals[warp] = part;
    __syncthreads();
    counts.total = sum_of(shared.totals);
    if (counts.total == 0) {
        // Never looked up, but copied with the others.
        if (has_entry) code_entries(job, table)[symbol] = make_uint2(0, 0);
        if (symbol == 0) CountView(job).table_lengths()[table] = 0;
        return false;
    }
    counts.shift = PARTS == SCALE ? shift_of(counts.total) : 0;
    counts.own = symbol < ESCAPE && counts.count >= 2 &&
                 counts.count * (4 * PARTS >> counts.shift) >= 3 * counts.total;
    part = warp_sum_long(counts.own ? counts.count : 0);
    const u32 present = __ballot_sync(FULL, counts.own);
    if (lane == 0) shared.listed[warp] = part, shared.present[warp] = present;
    return true;
}

// Of the symbols with their own codes: the last one before this thread's (or -1), the number before it, and
// of all.
struct Listed {
    i32 previous;
    u32 number, all;
};
__device__ __forceinline__ Listed symbols_before(const TableShared& shared) {
    const u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    Listed listed = {-1, 0, 0};
#pragma unroll
    for (u32 k = 0; k < TABLE_WARPS; k++) {
        const u32 here = shared.present[k], before = k < warp    ? here
                                                     : k == warp ? here & ((1u << lane) - 1)
                                                                 : 0;
        if (before) listed.previous = (i32)(32 * k + highest_bit(before));
        listed.number += __popc(before);
        listed.all += __popc(here);
    }
    return listed;
}

// Distance of a symbol from the one before it in the stored form of a table: Elias gamma code, 2 * bits + 1
// bits long.
struct Gap {
    u32 bits;
    u64 code;

    __device__ __forceinline__ explicit Gap(u32 gap)
        : bits(31 - __clz(gap)), code(((u64)(gap & ((1u << bits) - 1)) << 1 | 1) << bits) {}
};
