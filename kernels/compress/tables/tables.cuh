// Builds the tables of the entropy coder from the counts, with their stored form, and weighs the tiles for
// their division into groups. Twins: src/entropy/tables.rs, rans.rs, huffman.rs and Groups in
// src/cpu/entropy.rs.
#pragma once
#include "compress/tables/huffman_tables.cuh"
#include "compress/tables/rans_tables.cuh"

// Grid: TABLE_BLOCKS, then a block per WEIGHED_TILES tiles. Block: TABLE_THREADS threads. Static shared:
// TableShared. Reads: counts, list sizes, info. Writes: coding entries, stored tables, cost, weights. Waits
// for: the previous kernel.
template <typename T, bool HUFFMAN>
__device__ __forceinline__ void tables(const Job& job) {
    __shared__ TableShared shared;
    shared.words[threadIdx.x] = 0;
    static_assert(STORED_WORDS + 1 == TABLE_THREADS, "a word for a thread");
    const u32 raw = blockIdx.x < TABLE_BLOCKS ? raw_of_table<T>(job, blockIdx.x, threadIdx.x) : 0;
    after_previous();
    if (job.components == 3 && is_stored_volume(control_of(job))) return;
    if (blockIdx.x >= TABLE_BLOCKS)
        weigh_tiles(job, control_of(job));
    else if (HUFFMAN)
        make_huffman_table(job, shared, raw);
    else
        make_rans_table(job, shared, raw);
    if (blockIdx.x != 0) return;
    if (threadIdx.x == 0) *code_entries(job, NO_TABLE) = make_uint2(HUFFMAN ? 0 : SCALE << 16, 0);
}
