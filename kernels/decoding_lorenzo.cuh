// Groups of streams of the Lorenzo predictor to symbols, a warp for each: there are many groups, and most chunks are of one dense list.
// Twin: src/stage/entropy/group/decode.rs.
#pragma once
#include "decoder.cuh"

// What is known of the batch that is decoded.
struct DecodeBatch {
    BatchLists lists;
    MaskedRows rows;
};

// Steps of the symbols of a block.
__device__ __forceinline__ u32 steps_of_block(i32 block) { return block == 0 ? 3 : block == 1 ? 0xfc : 0xffffff00u; }

template <typename T, bool HUFFMAN>
struct LorenzoDecoder {
    typedef typename Payload<T>::Type P;
    const Job& job;
    const u8* const raw_bits;
    DecodeBatch& shared;
    Decoder<HUFFMAN>& decoder;
    u32 exact;  // stored values
    bool bad;   // whether there was what no encoder writes

    // Symbols with raw bits, and these to their places.
    __device__ __forceinline__ u32 read_raw(u32 symbol, u64 vertex) {
        u64 low = 0, high = 0;
        u32 bits = raw_bits[symbol];
        if (!__any_sync(FULL, bits > 16)) {
            low = decoder.raw(bits);
        } else {
            if (__any_sync(FULL, symbol == ESCAPE)) {
                decoder.resolve_escape(symbol);
                bits = raw_bits[symbol];
                // An escape that stands for itself is no symbol.
                if (bits == ESCAPE_BITS) bits = raw_bits[STORED];
            }
            if (symbol > STORED) symbol = STORED;
            if (sizeof(T) == 4) bad |= __any_sync(FULL, bits > 64);
            decoder.long_raw(bits, low, high);
        }
        if (bits) {
            exact += symbol == STORED;
            reinterpret_cast<P*>(job.payload)[vertex] = Payload<T>::make(low, high);
        }
        return symbol;
    }
    // Chunks of a dense list, from this vertex of each lane on.
    __device__ __forceinline__ void read_dense(u32 table, u64 vertex, i32 chunks) {
        u8* to = job.symbols + vertex;
#pragma unroll 1
        for (; chunks > 0; chunks--, to += 32) {
            u32 symbol = decoder.step(true, table);
            if (__any_sync(FULL, symbol >= FIRST_WITH_RAW_BITS)) symbol = read_raw(symbol, (u64)(to - job.symbols));
            *to = (u8)symbol;
        }
    }
    // Chunks of a sparse list that begins behind a vertex. `open`: what its runs so far come to.
    __device__ __forceinline__ void read_sparse(u32 table, u32 run_table, u64 before, i32 size, i32 chunks, i32& open) {
#pragma unroll 1
        for (; chunks > 0; chunks--) {
            const u32 run = decoder.runs(true, run_table, bad);
            u32 symbol = decoder.step(true, table);
            const i32 sum = open + (i32)sum_up_to_me(run + 1);
            open = __shfl_sync(FULL, sum, 31);
            if (open > size) bad = true;
            if (bad) return;
            const u64 vertex = before + sum;
            if (__any_sync(FULL, symbol >= FIRST_WITH_RAW_BITS)) symbol = read_raw(symbol, vertex);
            job.symbols[vertex] = (u8)symbol;
        }
    }
    // A chunk whose entries are of several lists.
    __device__ __forceinline__ void read_mixed(u64 batch, i32 from, i32 entries, u32 masked, i32& current, i32& open) {
        const i32 lane = threadIdx.x & 31, e = from + lane;
        const BatchLists& lists = shared.lists;
        u32 begins;
        const i32 list = list_of_entry(lists, from, current, begins);
        const bool here = e < entries;
        const u32 name = here ? lists.names[list] : 0, kind = list_in_tile(name), cls = class_of_list(name), t = tile_of_list(name);
        const i32 first = here ? lists.starts[list] : 0, at = e - first;
        const bool listed = here && !is_dense(name);
        // The position of an entry of a sparse list is not known yet, nor therefore whether it has a symbol.
        i32 position = list_start(kind) + (listed || !here ? 0 : at);
        bool active = here;
        if (here && !listed && masked >> t & 1) active = is_active(job, shared.rows, true, batch, t, masked, position);
        const bool any_listed = __any_sync(FULL, listed);
        u32 run = 0;
        if (any_listed) run = decoder.runs(listed, listed ? RUN + cls - 1 : (u32)RUN, bad);
        u32 symbol = decoder.step(active, table_in_list(kind, cls, position));
        if (any_listed) {
            const i32 sum = sum_in_list(listed ? (i32)run + 1 : 0, begins, first == from ? 0 : open);
            open = __shfl_sync(FULL, sum, 31);
            bool wrong = false;
            if (listed) {
                position += sum - 1;
                wrong = position >= list_end(kind);
                if (!wrong && masked >> t & 1) wrong = !is_active(job, shared.rows, true, batch, t, masked, position);
            }
            bad |= __any_sync(FULL, wrong);
            if (bad) return;
        } else {
            open = 0;
        }
        const u64 vertex = (batch + t) * TILE_VERTICES + position;
        if (__any_sync(FULL, symbol >= FIRST_WITH_RAW_BITS)) symbol = read_raw(symbol, vertex);
        if (here) job.symbols[vertex] = (u8)symbol;
    }
    // The lists of a batch, of which the head is read: info words, and entries of sparse lists as read_head packs them.
    __device__ __forceinline__ void read_lists(u64 batch, bool exists, u32 my_info, u32 packed) {
        const i32 lane = threadIdx.x & 31;
        const BatchLists& lists = shared.lists;
        const bool coded = exists && has_codes(mode_in(my_info));
        const u32 masked = masked_tiles(job, batch, exists, my_info);
        if (masked) load_masked_rows(job, shared.rows.rows, batch, my_info, masked);
        const u32 counts[3] = {packed & 255, packed >> 8 & 255, packed >> 16};
        u32 sizes[TILE_LISTS], names[TILE_LISTS], steps = 0, sparse = 0;
        code_lists(my_info, coded, counts, sizes, names);
#pragma unroll
        for (i32 block = 0; block < 3; block++) {
            const u32 cls = class_in(my_info, block);
            if (!coded || cls == 0) continue;
            steps |= steps_of_block(block);
            if (is_sparse(cls)) sparse |= steps_of_block(block);
        }
        if (exists) job.steps[batch + lane] = steps;
        i32 list_count, entries, current = 0, open = 0;
        collect_lists<TILE_LISTS>(shared.lists, sizes, names, list_count, entries);
        // What is in no sparse list is zero.
        for (u32 left = __ballot_sync(FULL, sparse != 0); left; left &= left - 1) {
            const i32 t = __ffs(left) - 1;
            if (__shfl_sync(FULL, sparse, t) >> lane & 1) {
                uint4* const symbols = reinterpret_cast<uint4*>(job.symbols + (batch + t) * TILE_VERTICES + 32 * lane);
                symbols[0] = symbols[1] = make_uint4(0, 0, 0, 0);
            }
        }
        __syncwarp();
#pragma unroll 1
        for (i32 from = 0; from < entries && !bad;) {
            const i32 next = lists.starts[current + 1], end = next < entries ? next : entries, chunks = (end - from) / 32;
            const u32 name = lists.names[current], list = list_in_tile(name), cls = class_of_list(name), t = tile_of_list(name);
            if (chunks == 0 || list == TOP_LIST || masked >> t & 1) {
                read_mixed(batch, from, entries, masked, current, open);
                from += 32;
                continue;
            }
            const i32 at = from - lists.starts[current], start = list_start(list);
            const u32 table = table_in_list(list, cls, start);
            const u64 first = (batch + t) * TILE_VERTICES + start;
            if (is_sparse(cls)) {
                if (at == 0) open = 0;
                read_sparse(table, RUN + cls - 1, first - 1, list_end(list) - start, chunks, open);
            } else {
                read_dense(table, first + at + lane, chunks);
                open = 0;
            }
            from += 32 * chunks;
            if (from == next) current++;
        }
    }
};

// A group. Whether it is bad.
template <typename T, bool HUFFMAN>
__device__ __forceinline__ bool decode_lorenzo_group(const Job& job, const DecodeTables<HUFFMAN>& tables, DecodeBatch& shared, u64 group, u32& exact) {
    const i32 lane = threadIdx.x & 31;
    u64 first, end;
    tiles_of_group(job, group, first, end);
    Decoder<HUFFMAN> decoder;
    decoder.open(job, tables, group);
    LorenzoDecoder<T, HUFFMAN> reader = {job, tables.raw_bits[0], shared, decoder, 0, false};
    for (u64 batch = first; batch < end && !reader.bad; batch += BATCH) {
        const bool exists = batch + lane < end;
        u32 my_info, counts;
        reader.bad = read_head(job, decoder, shared.lists, true, batch, exists, my_info, counts);
        if (!reader.bad) reader.read_lists(batch, exists, my_info, counts);
    }
    exact = reader.exact;
    return reader.bad || !decoder.is_at_end();
}
