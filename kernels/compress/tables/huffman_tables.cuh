// Code lengths and codes of a Huffman table. Twin of src/entropy/huffman.rs.
#pragma once
#include "compress/tables/coding_tables.cuh"
#include "entropy/huffman.cuh"

// Code lengths of the n leaves of a tree, the heaviest first; returns that of this thread's leaf. `above`:
// parent of each inner node; `inner`: zeros. Call with a block.
__device__ __forceinline__ u32 length_of_leaf(
    u32 (&inner)[ALPHABET], u32 (&above)[2][ALPHABET], u32 (&lengths)[ALPHABET], u32 n) {
    const u32 symbol = threadIdx.x;
    // Depth of each inner node by pointer doubling; the root is the last.
    constexpr u32 STEPS_AT = 16;
    if (symbol + 1 < n) above[0][symbol] = symbol + 2 < n ? above[0][symbol] | 1u << STEPS_AT : symbol;
    __syncthreads();
#pragma unroll 1
    for (u32 round = 0; 1u << round < n; round++) {
        if (symbol + 1 < n) {
            const u32 mine = above[round & 1][symbol];
            above[~round & 1][symbol] = above[round & 1][mine & 0xffff] + (mine & ~0xffffu);
        }
        __syncthreads();
        if (symbol + 1 < n && 1u << (round + 1) >= n)
            atomicAdd(&inner[above[~round & 1][symbol] >> STEPS_AT], 1);
    }
    __syncthreads();
    // Leaves of a depth are the children that are not inner nodes; the heaviest leaves come first.
    u32 own_length = 0;
    if (symbol < n) {
        for (u32 before = 1, found = 0; n > 1;) {
            const u32 here = inner[++own_length];
            found += 2 * before - here;
            if (found > n - 1 - symbol) break;
            before = here;
        }
        own_length = min(own_length, MAX_LENGTH);
        lengths[symbol] = own_length;
    }
    return own_length;
}

// Number of the n keys below a thread's own one.
__device__ __forceinline__ u32 rank_of(const u32 (&keys)[ALPHABET], u32 n, u32 own) {
    u32 rank = 0;
    for (u32 i = 0; i < n; i++) rank += keys[i] < own;
    return rank;
}
// Code of a symbol in canonical order, by length, then symbol: what codes with smaller keys take.
__device__ __forceinline__ u32 start_of_code(const u32 (&keys)[ALPHABET], u32 n, u32 own) {
    u32 start = 0;
    for (u32 i = 0; i < n; i++) start += keys[i] < own ? CODES >> (keys[i] >> 8) : 0;
    return start;
}

// Shortens codes that are longer than allowed, if there are any. Call with a block.
__device__ __forceinline__ void fit_lengths(
    TableShared& shared, u32 (&lengths)[ALPHABET], u32 n, u32 own_length) {
    const u32 symbol = threadIdx.x, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const u32 taken_here = warp_sum(symbol < n ? CODES >> own_length : 0);
    if (lane == 0) shared.sums[0][warp] = taken_here;
    __syncthreads();
    const u32 taken = sum_of(shared.sums[0]);
    if (taken != CODES) {
        if (symbol == 0) limit_lengths(lengths, (i32)n, taken);
        __syncthreads();
    }
}

// Code length of this thread's symbol, one of n with a code; `number`: those before it. `keys`: scratch
// memory. Call with a block.
__device__ __forceinline__ u32 length_of_symbol(
    TableShared& shared, u32 (&keys)[ALPHABET], u32 weight, u32 number, u32 n) {
    // By weight.
    __shared__ u32 leaves[ALPHABET + 4], sums[ALPHABET + 4], lengths[ALPHABET], inner[ALPHABET];
    // Ancestor of each inner node, and its distance << 16.
    __shared__ u32 above[2][ALPHABET];
    const u32 symbol = threadIdx.x;
    // Rank by weight, then symbol.
    const u32 key = weight << 8 | symbol;
    if (weight) keys[number] = key;
    leaves[symbol] = sums[symbol] = NO_WEIGHT;
    if (symbol < 4) leaves[ALPHABET + symbol] = sums[ALPHABET + symbol] = NO_WEIGHT;
    inner[symbol] = 0;
    __syncthreads();
    const u32 rank = weight ? rank_of(keys, n, key) : 0;
    if (weight) leaves[rank] = weight;
    __syncthreads();
    if (symbol == 0) join_weights(leaves, sums, above[0], (i32)n);
    __syncthreads();
    fit_lengths(shared, lengths, n, length_of_leaf(inner, above, lengths, n));
    return weight ? lengths[rank] : NO_CODE;
}

// Huffman code lengths, codes and their stored form. Call with a block, a thread per symbol.
__device__ __forceinline__ void make_huffman_table(const Job& job, TableShared& shared, u32 raw) {
    __shared__ u32 keys[ALPHABET], escape_code[2];
    Control& control = control_of(job);
    const u32 table = blockIdx.x, symbol = threadIdx.x, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    uint2* const entries = code_entries(job, table);
    const bool has_entry = table >= FIRST_SHARED_TABLE || symbol < HEAD_ALPHABET;
    Counts counts;
    if (!find_counts<CODES>(job, shared, table, has_entry, counts)) return;
    const u64 count = counts.count, total = counts.total;
    const bool own = counts.own;
    u32 weight = own ? scaled_count(count, total, 1 << WEIGHT_BITS) : 0;
    __syncthreads();
    const u64 listed = sum_of(shared.listed);
    const bool has_escape = listed < total;
    if (has_escape && symbol == ESCAPE) weight = scaled_count(total - listed, total, 1 << WEIGHT_BITS);
    // Symbols with a code, in symbol order.
    const Listed before = symbols_before(shared);
    const u32 n = before.all + has_escape, number = before.number;
    const u32 length = length_of_symbol(shared, keys, weight, number, n), code_key = length << 8 | symbol;
    if (weight) keys[number] = code_key;
    __syncthreads();
    const u32 start = weight ? start_of_code(keys, n, code_key) : 0;
    if (symbol == ESCAPE) escape_code[0] = length, escape_code[1] = start;
    const Gap gap((u32)((i32)symbol - before.previous));
    const u32 mine = weight ? 2 * gap.bits + 5 : 0;
    const u32 up_to_me = warp_inclusive_sum(mine);
    if (lane == 31) shared.places[warp] = up_to_me;
    __syncthreads();
    u32 place = up_to_me - mine, bits = 8;
#pragma unroll
    for (u32 k = 0; k < TABLE_WARPS; k++) {
        if (k < warp) place += shared.places[k];
        bits += shared.places[k];
    }
    const u32 escape = escape_code[0];
    const u32 code = own          ? with_frequency(length) | reversed_code(start)
                     : has_escape ? with_frequency(escape) | reversed_code(escape_code[1])
                                  : 0;
    if (has_entry)
        entries[symbol] = make_uint2(code | raw_flag(job, table, symbol) | (own ? 0 : ENTRY_ESCAPES), 0);
    const u64 cost = warp_sum64(count * (own ? length : has_escape ? escape + 8 : 0)) << 8;
    keep_cost(shared, cost, warp_sum64(count * raw));
    if (symbol == 0) atomicOr(&shared.words[0], n - 1);
    if (weight) store_bits(shared.words, 8 + place, gap.code | (u64)length << (2 * gap.bits + 1));
    __syncthreads();
    store_table(job, shared, table, before.all, bits);
    add_cost(control, shared);
}
