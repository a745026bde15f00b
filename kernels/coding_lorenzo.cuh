// Entries of the entropy coder that code lists of the Lorenzo predictor to groups, a warp for each: there are many groups, and most
// chunks are of one dense list. Twin: src/stage/entropy/group/encode.rs.
#pragma once
#include "coding.cuh"

constexpr i32 LORENZO_CODE_WARPS = 8, MASK_RING = 256;

// What is known of the batch that is coded.
struct CodeBatch {
    BatchLists lists;
    // Masked rows while symbols are coded, then entries of masks.
    union {
        MaskedRows rows;
        u16 mask_entries[MASK_RING];
    };
};

// The entries of a mask, from the place of its first one on.
__device__ __forceinline__ void fill_mask_ring(const Job& job, u16* ring, u64 batch, u32 name, i32 start) {
    entries_of_mask(job, batch, name, [&](i32 number, u16 entry) { ring[(start + number) & (MASK_RING - 1)] = entry; });
}

// Raw bits behind a symbol, from the last to the first, and the symbol itself where its entry is that of the escape.
template <typename T, bool HUFFMAN>
__device__ __noinline__ Encoder<HUFFMAN> code_raw(Encoder<HUFFMAN> encoder, const u8* payload, const u8* raw_bits, u64 vertex, u32 entry, u32 symbol) {
    const u32 bits = entry & ENTRY_RAW ? raw_bits[symbol] : 0;
    u64 low = 0, high = 0;
    if (bits) {
        const u64* const from = reinterpret_cast<const u64*>(payload) + (sizeof(T) == 8 ? 2 * vertex : vertex);
        low = from[0];
        if (sizeof(T) == 8) high = from[1];
    }
    encoder.long_raw(bits, low, [&] { return high; });
    if (__any_sync(FULL, entry & ENTRY_ESCAPES)) encoder.escape(entry, symbol);
    return encoder;
}

template <typename T, bool HUFFMAN>
struct LorenzoCoder {
    static constexpr u32 MORE = ENTRY_RAW | ENTRY_ESCAPES;
    const Job& job;
    const u8* const raw_bits;
    CodeBatch& shared;
    Encoder<HUFFMAN> encoder;

    static __device__ __forceinline__ u32 shared_table(u32 table) { return (table - FIRST_SHARED_TABLE) * ALPHABET; }
    __device__ __forceinline__ const uint2* entries() const { return code_entries(job, FIRST_SHARED_TABLE); }
    __device__ __forceinline__ void code(uint2 entry, u64 vertex, u32 symbol) {
        if (__any_sync(FULL, entry.x & MORE)) encoder = code_raw<T>(encoder, job.payload, raw_bits, vertex, entry.x, symbol);
        encoder.code(entry.x, entry.y);
    }
    __device__ __forceinline__ void code_run(uint2 entry, u32 word) {
        if (__any_sync(FULL, entry.x & MORE)) {
            const u32 run = run_symbol_of_entry(word), bits = entry.x & ENTRY_RAW ? run_bits(run) : 0;
            encoder.raw(bits ? run_raw_of_entry(word) : 0, bits);
            if (__any_sync(FULL, entry.x & ENTRY_ESCAPES)) encoder.escape(entry.x, run);
        }
        encoder.code(entry.x, entry.y);
    }

    // Chunks of a dense list, from this vertex of each lane downwards.
    __device__ __forceinline__ void code_dense(const uint2* table, u64 vertex, i32 chunks) {
        constexpr i32 AHEAD = 4;
        const u8* symbols = job.symbols + vertex;
        u32 next[AHEAD];
#pragma unroll
        for (i32 i = 0; i < AHEAD; i++) next[i] = i < chunks ? symbols[-32 * i] : 0;
#pragma unroll 1
        for (; chunks > 0; chunks -= AHEAD) {
            uint2 found[AHEAD];
            u32 now[AHEAD];
#pragma unroll
            for (i32 i = 0; i < AHEAD; i++) {
                now[i] = next[i];
                found[i] = table[next[i]];
                // Raw bits are on their way.
                if (now[i] >= FIRST_WITH_RAW_BITS) prefetch_near(job.payload + (vertex - 32 * i) * sizeof(typename Payload<T>::Type));
            }
            symbols -= 32 * AHEAD;
#pragma unroll
            for (i32 i = 0; i < AHEAD; i++) next[i] = AHEAD + i < chunks ? symbols[-32 * i] : 0;
#pragma unroll
            for (i32 i = 0; i < AHEAD; i++) {
                if (i >= chunks) break;
                code(found[i], vertex - 32 * i, now[i]);
            }
            vertex -= 32 * AHEAD;
        }
    }
    // Chunks of a sparse list of a tile, from this entry of each lane downwards.
    __device__ __forceinline__ void code_sparse(const uint2* table, const uint2* runs, const u32* words, u64 tile, i32 chunks) {
        u32 next = *words;
#pragma unroll 1
        for (; chunks > 0; chunks--) {
            const u32 word = next;
            const uint2 symbol = table[symbol_of_entry(word)], run = runs[run_symbol_of_entry(word)];
            words -= 32;
            if (chunks > 1) next = *words;
            code(symbol, tile * TILE_VERTICES + position_of_entry(word), symbol_of_entry(word));
            code_run(run, word);
        }
    }
    // A chunk whose entries are of several lists.
    __device__ __forceinline__ void code_mixed(u64 batch, i32 from, i32 entry_count, u32 masked, i32& last) {
        const i32 lane = threadIdx.x & 31, e = from + lane;
        const BatchLists& lists = shared.lists;
        const i32 list = list_of_entry_backwards(lists, from, last);
        const bool here = e < entry_count;
        const u32 name = lists.names[list], t = tile_of_list(name), kind = list_in_tile(name), cls = class_of_list(name);
        const i32 at = list_start(kind) + (here ? e - lists.starts[list] : 0);
        const bool listed = !is_dense(name);
        const u64 index = batch + t;
        bool active = here;
        if (here && !listed && masked >> t & 1) active = is_active(job, shared.rows, true, batch, t, masked, at);
        const u32 word = *(listed ? entries_of<T>(job, index) + at : reinterpret_cast<const u32*>(job.symbols + index * TILE_VERTICES) + (at >> 2));
        const u32 symbol = listed ? symbol_of_entry(word) : word >> 8 * (at & 3) & 255;
        uint2 entry = make_uint2(encoder.NOTHING, 0), run = entry;
        if (active) entry = entries()[shared_table(table_in_list(kind, cls, at)) + symbol];
        if (active && listed) run = entries()[shared_table(RUN + cls - 1) + run_symbol_of_entry(word)];
        code(entry, index * TILE_VERTICES + (listed ? position_of_entry(word) : at), symbol);
        if (__any_sync(FULL, active && listed)) code_run(run, word);
    }
    __device__ __forceinline__ void code_lists_of(u64 batch, const CodeTile& tile) {
        const i32 lane = threadIdx.x & 31;
        const BatchLists& lists = shared.lists;
        u32 sizes[TILE_LISTS], names[TILE_LISTS];
        code_lists(tile.info, tile.coded, tile.counts, sizes, names);
        i32 list_count, entry_count;
        collect_lists<TILE_LISTS>(shared.lists, sizes, names, list_count, entry_count);
        const u32 masked = __ballot_sync(FULL, tile.coded && !(tile.info & ALL_CODED));
        if (masked) load_masked_rows(job, shared.rows, batch, tile.info, masked);
        // What is in the lists is on its way meanwhile.
#pragma unroll
        for (u32 list = COARSE_LIST; list < TILE_LISTS; list++) {
            const bool sparse = is_sparse(class_of_list(names[list]));
            const u32 start = (u32)list_start(list), bytes = sparse ? 4 * sizes[list] : sizes[list];
            const u8* const from = sparse ? reinterpret_cast<const u8*>(entries_of<T>(job, batch + lane) + start) : job.symbols + (batch + lane) * TILE_VERTICES + start;
            for (u32 k = 0; k < bytes; k += 128) prefetch_near(from + k);
        }
        i32 last = list_count - 1;
#pragma unroll 1
        for (i32 from = (entry_count - 1) & ~31; from >= 0; from -= 32) {
            const i32 start = lists.starts[last];
            const u32 name = lists.names[last], list = list_in_tile(name), cls = class_of_list(name), t = tile_of_list(name);
            if (start > from || from + 32 > entry_count || list == TOP_LIST || masked >> t & 1) {
                code_mixed(batch, from, entry_count, masked, last);
                continue;
            }
            const i32 chunks = (from - start) / 32 + 1, at = list_start(list) + from - start + lane;
            const uint2* const table = entries() + shared_table(table_in_list(list, cls, list_start(list)));
            if (is_sparse(cls))
                code_sparse(table, entries() + shared_table(RUN + cls - 1), entries_of<T>(job, batch + t) + at, batch + t, chunks);
            else
                code_dense(table, (batch + t) * TILE_VERTICES + at, chunks);
            from -= 32 * (chunks - 1);
            if (start == from) last--;
        }
    }
    // Masks: a ring of entries, filled list by list.
    __device__ __forceinline__ void code_masks(u64 batch, const CodeTile& tile) {
        const i32 lane = threadIdx.x & 31;
        const u32 names[2] = {(u32)lane << 1, (u32)lane << 1 | 1};
        i32 list_count, entry_count;
        collect_lists<2>(shared.lists, tile.masks, names, list_count, entry_count);
        i32 filled = entry_count;
#pragma unroll 1
        for (i32 from = (entry_count - 1) & ~31; from >= 0; from -= 32) {
            while (filled > from) {
                list_count--;
                filled = shared.lists.starts[list_count];
                fill_mask_ring(job, shared.mask_entries, batch, shared.lists.names[list_count], filled);
            }
            const bool here = from + lane < entry_count;
            const u32 both = here ? shared.mask_entries[(from + lane) & (MASK_RING - 1)] : 0, symbol = both & 255;
            const u32 word = make_entry(symbol, 0, encode_run(both >> 8));
            uint2 entry = make_uint2(encoder.NOTHING, 0), run = entry;
            if (here) {
                entry = entries()[shared_table(MASK_BYTE) + symbol];
                run = entries()[shared_table(MASK_RUN) + run_symbol_of_entry(word)];
            }
            code(entry, 0, symbol);
            code_run(run, word);
        }
    }
    // In front of the lists of a batch: the mode and the classes of each tile, numbers of entries, those of masks.
    __device__ __forceinline__ void code_heads(const CodeTile& tile, bool exists) {
        uint2 heads[4];
#pragma unroll
        for (i32 k = 0; k < 4; k++) {
            const u32 table = k < 3 ? class_table(tile.info, k) : (u32)TILE_MODE, symbol = k < 3 ? class_in(tile.info, k) : stream_mode(tile.info);
            heads[k] = (k < 3 ? tile.coded : exists) ? code_entries(job, table)[symbol] : make_uint2(encoder.NOTHING, 0);
        }
        code_sizes(encoder, tile, exists);
#pragma unroll
        for (i32 i = 0; i < 4; i++) {
            // The fine class, the middle one, the coarse one, the mode.
            const i32 k = i < 3 ? 2 - i : 3;
            if (__any_sync(FULL, heads[k].x & ENTRY_ESCAPES)) encoder.escape(heads[k].x, k < 3 ? class_in(tile.info, k) : stream_mode(tile.info));
            encoder.code(heads[k].x, heads[k].y);
        }
    }
};

// Grid: any. Block: 32 * LORENZO_CODE_WARPS.
template <typename T, bool HUFFMAN>
__device__ __forceinline__ void encode_lorenzo_groups(const Job& job) {
    constexpr u64 TILE_WORD_BYTES = sizeof(T) == 4 ? TILE_WORD_BYTES_F32 : TILE_WORD_BYTES_F64;
    __shared__ CodeBatch batches[LORENZO_CODE_WARPS];
    __shared__ u8 raw_bits[ALPHABET];
    __shared__ Grouping grouping;
    {
        const Grouping chosen = choose_groups(job);
        if (threadIdx.x == 0) {
            grouping = chosen;
            if (blockIdx.x == 0) control_of(job).groups = chosen.groups;
        }
        if (blockIdx.x >= chosen.groups) return;
    }
    // Few lines of the tables are asked for again and again.
    constexpr u32 LINE = 128;
    for (u32 k = threadIdx.x; k < CODE_ENTRIES * sizeof(uint2) / LINE; k += blockDim.x)
        prefetch_near(reinterpret_cast<const u8*>(code_entries(job, 0)) + LINE * k);
    fill_raw_bits<T>(raw_bits, true);
    __syncthreads();
    const i32 lane = threadIdx.x & 31, warp = (i32)(threadIdx.x >> 5);
    // Consecutive groups go to different blocks.
    for (u64 group = blockIdx.x + (u64)gridDim.x * warp; group < grouping.groups; group += (u64)gridDim.x * LORENZO_CODE_WARPS) {
        const u64 boundary = first_tile_of(job, grouping.weight, group);
        const u64 first = __shfl_sync(FULL, boundary, 0), end = __shfl_sync(FULL, boundary, 16);
        LorenzoCoder<T, HUFFMAN> coder = {job, raw_bits, batches[warp], Encoder<HUFFMAN>(reinterpret_cast<u8*>(job.words + first * TILE_WORD_BYTES), (end - first) * TILE_WORD_BYTES)};
        for (u64 batch = first + ((end - first - 1) & ~31ull);; batch -= BATCH) {
            const bool exists = batch + lane < end;
            coder.code_lists_of(batch, CodeTile(job, batch + lane, exists));
            const CodeTile tile(job, batch + lane, exists);
            coder.code_masks(batch, tile);
            coder.code_heads(tile, exists);
            if (batch == first) break;
        }
        end_group<T>(job, coder.encoder, grouping.groups, group, first, end);
    }
}
