// Groups of streams of the Lorenzo predictor to symbols, a warp for each: there are many groups, and most chunks are of one dense list.
// Twin: src/stage/entropy/group/decode.rs.
#pragma once
#include "decoder.cuh"

// What is known of a list, from above: the place in the batch of its entry 0 if there were one, so that with the number of an entry that of the
// entry is there if all before it are in the list; whether its tile is not whole; the table of its symbols behind ANCHOR_TABLE; that of its
// runs behind RUN, of dense lists one that leaves a state as it is; how many bits of a place vary in the list's part of the tile and below.
constexpr u32 READ_PLACE_AT = 17, READ_PARTLY = 1 << 13, READ_TABLE_AT = 8, READ_TABLE = 31 << READ_TABLE_AT, READ_RUNS_AT = 5, READ_RUNS = 7 << READ_RUNS_AT;
constexpr u32 READ_NO_TABLE = TABLES - ANCHOR_TABLE, NO_RUNS = TABLES - RUN;
static_assert(TILE_VERTICES == 1024 && BATCH == 32 && READ_NO_TABLE <= READ_TABLE >> READ_TABLE_AT && NO_RUNS <= READ_RUNS >> READ_RUNS_AT, "15 bits, 5 and 3");

// The lists of a batch that have entries, in order, and what stands for the end of the last one.
struct ReadLists {
    u16 starts[MOST_LISTS + 32];
    u32 names[MOST_LISTS + 1];
};
// What is known of the batch that is decoded.
struct DecodeBatch {
    ReadLists lists;
    MaskedRows<5> rows;
    GroupWords words;
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
    u8* symbols;  // of the batch
    u32 exact;  // stored values
    bool bad;   // whether there was what no encoder writes

    // Symbols with raw bits, and these to their places.
    __device__ __forceinline__ u32 read_raw(u32 symbol, u64 batch, u32 place) {
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
            reinterpret_cast<P*>(job.payload)[batch * TILE_VERTICES + place] = Payload<T>::make(low, high);
        }
        return symbol;
    }
    // The places of the entries of a chunk, if all before them are in their lists: this of one list.
    static __device__ __forceinline__ u32 place_in_batch(u32 name, i32 entry) { return (name + ((u32)entry << READ_PLACE_AT)) >> READ_PLACE_AT; }
    __device__ __forceinline__ u32 table_of_runs(u32 name) const { return decoder.run_tables + (name & READ_RUNS) * (decoder.STRIDE >> READ_RUNS_AT); }
    // Of the tables of the top each is for some positions.
    __device__ __forceinline__ u32 table_of(u32 name, u32 place) const {
        const u32 later = __funnelshift_rc(0xaaaaaa54, 0, 2 * (place % TILE_VERTICES)) & 3;
        return decoder.symbol_tables + ((name & READ_TABLE) + (later << READ_TABLE_AT)) * (decoder.STRIDE >> READ_TABLE_AT);
    }
    static __device__ __forceinline__ bool is_listed(u32 name) { return (name & READ_RUNS) != NO_RUNS << READ_RUNS_AT; }
    __device__ __forceinline__ bool is_bad(bool wrong) {
        bad |= __any_sync(FULL, wrong);
        return bad;
    }
    // Whether a place is behind the end of the list.
    static __device__ __forceinline__ bool is_behind(u32 name, u32 first, u32 place) { return __funnelshift_r(first ^ place, 0, name) != 0; }

    // Chunks of a dense list, from this place on.
    __device__ __forceinline__ void read_dense(u64 batch, u32 table, u32 place, i32 chunks) {
#pragma unroll 1
        for (; chunks > 0; chunks--, place += 32) {
            u32 symbol = decoder.step(table);
            decoder.move_on();
            if (__any_sync(FULL, symbol >= FIRST_WITH_RAW_BITS)) symbol = read_raw(symbol, batch, place);
            symbols[place] = (u8)symbol;
        }
    }
    // Chunks of a sparse list. `open`: what its runs so far come to.
    __device__ __forceinline__ void read_sparse(u64 batch, u32 name, u32 table, u32 runs, u32 first, i32 chunks, u32& open) {
#pragma unroll 1
        for (; chunks > 0; chunks--, first += 32) {
            const u32 run = decoder.runs(runs);
            u32 symbol = decoder.step(table);
            decoder.move_on();
            const u32 sum = sum_up_to_me(run) + open, place = first + sum;
            open = __shfl_sync(FULL, sum, 31);
            if (__any_sync(FULL, symbol >= FIRST_WITH_RAW_BITS || is_behind(name, first, place))) {
                if (is_bad(is_behind(name, first, place))) return;
                symbol = read_raw(symbol, batch, place);
            }
            symbols[place] = (u8)symbol;
        }
    }
    // Of lists of tiles that are not whole: whether these vertices have a symbol.
    __device__ __forceinline__ bool has_symbol(u64 batch, u32 masked, u32 place) const {
        return is_active(job, shared.rows, true, batch, place / TILE_VERTICES, masked, (i32)(place % TILE_VERTICES));
    }
    // A chunk whose entries are of several lists, of which `current` is that of the first one, or of a tile that is not whole.
    __device__ __forceinline__ void read_mixed(u64 batch, i32 from, i32 entries, u32 masked, u32& current, u32& open) {
        const i32 lane = threadIdx.x & 31;
        const ReadLists& lists = shared.lists;
        // Lists that begin behind each entry.
        const u32 begins = warp_or(bit_if_any((u32)(lists.starts[current + 1 + lane] - from - 1))), mine = begins & decoder.below;
        const u32 name = lists.names[current + __popc(mine)], first = place_in_batch(name, from + lane);
        current += __popc(begins);
        u32 table = table_of(name, first);
        const u32 runs = table_of_runs(name);
        const bool listed = is_listed(name);
        if (masked)
            if (name & READ_PARTLY && !listed && !has_symbol(batch, masked, first)) table = decoder.place_of(TABLES);
        u32 sum = 0;
        const bool any_listed = __any_sync(FULL, listed);
        if (any_listed) sum = decoder.runs(runs);
        u32 symbol = decoder.step(table);
        decoder.move_on();
        if (any_listed) {
            sum = sum_up_to_me(sum);
            const u32 before = __shfl_sync(FULL, sum, highest_bit(mine));
            sum = mine ? sum - before : sum + open;
            open = __shfl_sync(FULL, sum, 31);
        }
        if (begins >> 31) open = 0;
        const u32 place = first + sum;
        bool wrong = is_behind(name, first, place);
        if (masked)
            if (name & READ_PARTLY && listed && !wrong) wrong = !has_symbol(batch, masked, place);
        if (__any_sync(FULL, symbol >= FIRST_WITH_RAW_BITS || wrong)) {
            if (is_bad(wrong)) return;
            symbol = read_raw(symbol, batch, place);
        }
        if (from + lane < entries) symbols[place] = (u8)symbol;
    }
    // The lists of a batch, of which the head is read: info words, and entries of sparse lists as read_head packs them.
    __device__ __forceinline__ void read_lists(u64 batch, bool exists, u32 my_info, u32 packed) {
        const i32 lane = threadIdx.x & 31;
        ReadLists& lists = shared.lists;
        const bool coded = exists && has_codes(mode_in(my_info));
        const u32 masked = masked_tiles(job, batch, exists, my_info);
        if (masked) load_masked_rows(job, shared.rows.rows, batch, my_info, masked);
        const u32 counts[3] = {packed & 255, packed >> 8 & 255, packed >> 16};
        u32 sizes[TILE_LISTS], names[TILE_LISTS], steps = 0, sparse = 0;
        code_lists(my_info, coded, counts, sizes, names);
#pragma unroll
        for (u32 list = TOP_LIST; list < TILE_LISTS; list++) {
            const u32 cls = class_in(my_info, list == TOP_LIST ? 0 : (i32)list - 1), table = list == TOP_LIST ? 0 : table_in_list(list, cls, 0) - ANCHOR_TABLE;
            names[list] = (lane * TILE_VERTICES + list_start(list)) << READ_PLACE_AT | (masked >> lane & 1 ? READ_PARTLY : 0) | table << READ_TABLE_AT |
                          (list != TOP_LIST && is_sparse(cls) ? cls - 1 : NO_RUNS) << READ_RUNS_AT | (4 + 2 * list);
        }
#pragma unroll
        for (i32 block = 0; block < 3; block++) {
            const u32 cls = class_in(my_info, block);
            if (!coded || cls == 0) continue;
            steps |= steps_of_block(block);
            if (is_sparse(cls)) sparse |= steps_of_block(block);
        }
        if (exists) job.steps[batch + lane] = steps;
        i32 list_count, entry_count;
        collect_lists<TILE_LISTS>(lists, sizes, names, list_count, entry_count);
        // The same for all lanes, as the compiler has to know, here and below.
        const i32 entries = (i32)warp_or((u32)entry_count);
        for (i32 list = lane; list < list_count; list += 32) lists.names[list] -= (u32)lists.starts[list] << READ_PLACE_AT;
        if (lane == 0) {
            lists.starts[list_count] = (u16)entries;
            lists.names[list_count] = (u32)(TILE_VERTICES - 32 - entries) << READ_PLACE_AT | READ_NO_TABLE << READ_TABLE_AT | NO_RUNS << READ_RUNS_AT | 10;
        }
        // What is in no sparse list is zero.
        symbols = fresh_global(job.symbols + batch * TILE_VERTICES);
        for (u32 left = warp_or(__ballot_sync(FULL, sparse != 0)); left; left &= left - 1) {
            const i32 t = __ffs(left) - 1;
            if (__shfl_sync(FULL, sparse, t) >> lane & 1) {
                uint4* const row = reinterpret_cast<uint4*>(symbols + (t * TILE_VERTICES + 32 * lane));
                row[0] = row[1] = make_uint4(0, 0, 0, 0);
            }
        }
        __syncwarp();
        u32 current = 0, open = 0;
#pragma unroll 1
        for (i32 from = 0; from < entries && !bad;) {
            const i32 next = (i32)warp_or(lists.starts[current + 1]), chunks = (next - from) / 32;
            const u32 name = warp_or(lists.names[current]);
            if (chunks == 0 || name & READ_PARTLY) {
                read_mixed(batch, from, entries, masked, current, open);
                from += 32;
                continue;
            }
            const u32 table = decoder.symbol_tables + (name & READ_TABLE) * (decoder.STRIDE >> READ_TABLE_AT), first = place_in_batch(name, from + lane);
            if (is_listed(name))
                read_sparse(batch, name, table, table_of_runs(name), first, chunks, open);
            else
                read_dense(batch, table, first, chunks);
            from += 32 * chunks;
            if (from == next) {
                current++;
                open = 0;
            }
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
    const bool good = decoder.open(job, tables, shared.words, group);
    LorenzoDecoder<T, HUFFMAN> reader = {job, tables.raw_bits[0], shared, decoder, job.symbols, 0, !good};
    for (u64 batch = first; batch < end && !reader.bad; batch += BATCH) {
        const bool exists = batch + lane < end;
        u32 my_info, counts;
        reader.bad = read_head(job, decoder, shared.lists, true, batch, exists, my_info, counts);
        if (!reader.bad) reader.read_lists(batch, exists, my_info, counts);
    }
    exact = reader.exact;
    return reader.bad || !decoder.is_at_end();
}
