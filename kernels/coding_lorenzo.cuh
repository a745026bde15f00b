// Entries of the entropy coder that code lists of the Lorenzo predictor to groups, a warp for each: there are many groups. All that decides
// where a warp goes is made the same for all lanes in a way that the compiler sees: otherwise it surrounds each vote with code for lanes that
// are apart. (A called division of 64 bits on a lane's own path has the same effect on all votes of the kernel.)
// Twin: src/stage/entropy/group/encode.rs.
#pragma once
#include "coding.cuh"

constexpr i32 LORENZO_CODE_WARPS = 16, MASK_RING = 256, LORENZO_MASKED_TILES = 4;

// What is known of a list: above, as high bits, the place of its entry 0 in the batch if there were one, so that with the number of an
// entry its place is there; whether it is sparse and the table of its runs less one; the table of its symbols.
constexpr u32 LIST_PLACE_AT = 17, LIST_RUNS_AT = 5, LIST_TABLES = 31;
static_assert(TILE_VERTICES == 1024 && BATCH == 32 && RUN - ANCHOR_TABLE <= LIST_TABLES && MASK_RUN - RUN < 7, "15 bits, 5 and 3");

// Of a batch, for the warp that codes it.
struct LorenzoBatch {
    u16 starts[MOST_LISTS + 32];  // of lists, or of masks
    u32 names[MOST_LISTS + 1];
    // Rows without a symbol of the first tiles that are not whole, while symbols are coded, then entries of masks.
    union {
        u32 rows[LORENZO_MASKED_TILES][TILE];
        u16 mask_entries[MASK_RING];
    };
};

// The tables have no more symbols than there are, and behind them, as the first symbol of another one, is what leaves a state as it is.
constexpr u32 NO_LIST_TABLE = SHARED_ENTRIES / CODE_SYMBOLS + 1, NOTHING_PLACE = NO_LIST_TABLE * CODE_SYMBOLS;
static_assert(NO_LIST_TABLE <= LIST_TABLES, "5 bits");
constexpr u32 TABLE_BYTES = CODE_SYMBOLS * sizeof(uint2), RUNS_BYTES = RUN_SYMBOLS * sizeof(uint2), NOTHING_BYTES = NO_LIST_TABLE * TABLE_BYTES;
// Of the table of runs 1.
constexpr u32 FIRST_RUNS_BYTES = RUNS_PLACE * sizeof(uint2) - RUNS_BYTES;
struct LorenzoShared {
    uint2 entries[NOTHING_PLACE + 1];
    u8 raw_bits[ALPHABET];
    LorenzoBatch batches[LORENZO_CODE_WARPS];
};
static_assert(sizeof(LorenzoBatch) == 320 + 516 + 512 && sizeof(LorenzoShared) == 8 * 5185 + 256 + 16 * sizeof(LorenzoBatch), "launch.rs asks for as much");

// The tables of the top are not the same for all positions: how many behind that of the first one.
__device__ __forceinline__ u32 later_table(u32 position) { return __funnelshift_rc(0xaaaaaa54, 0, 2 * position) & 3; }

// Of a tile that is not whole. Those without rows are few.
static __device__ __noinline__ bool is_active_without_rows(const Job& job, u64 index, i32 position, bool without, bool otherwise) {
    return without ? is_active(job, true, index, mode_in(job.info[index]), position) : otherwise;
}

template <typename T, bool HUFFMAN>
struct LorenzoCoder {
    static constexpr u32 MORE = ENTRY_RAW | ENTRY_ESCAPES, TILE_WORD_BYTES = sizeof(T) == 4 ? TILE_WORD_BYTES_F32 : TILE_WORD_BYTES_F64;
    static constexpr i32 DENSE_AHEAD = 4;
    const Job& job;
    const LorenzoShared& all;
    LorenzoBatch& shared;
    Encoder<HUFFMAN> encoder;

    __device__ __forceinline__ const uint2& entry_at(u32 table, u32 symbol) const {
        return *reinterpret_cast<const uint2*>(reinterpret_cast<const u8*>(all.entries) + (table + sizeof(uint2) * symbol));
    }
    // Whether a vertex has a symbol, where its tile may be one that is not whole: for all lanes at once.
    __device__ __forceinline__ bool has_symbol(u64 batch, u32 masked, bool partly, u32 place) const {
        const u32 t = place / TILE_VERTICES, y = place / TILE % TILE, x = place % TILE, slot = __popc(masked & ((1u << t) - 1));
        bool active = !(shared.rows[slot % LORENZO_MASKED_TILES][y] >> x & 1);
        const bool without = partly && slot >= LORENZO_MASKED_TILES;
        if (__any_sync(FULL, without)) active = is_active_without_rows(job, batch + t, (i32)(place % TILE_VERTICES), without, active);
        return active || !partly;
    }

    __device__ __forceinline__ const u64* payload_of(u64 batch, u32 vertex) const {
        return reinterpret_cast<const u64*>(job.payload) + (batch * TILE_VERTICES + vertex) * (sizeof(T) / 4);
    }
    // Raw bits behind a symbol, and the symbol itself where its entry is that of the escape.
    __device__ __forceinline__ void code_raw(u32 entry, u64 batch, u32 vertex, u32 symbol) {
        u64 low = 0, high = 0;
        u32 bits = 0;
        if (entry & ENTRY_RAW) {
            const u64* const payload = payload_of(batch, vertex);
            low = payload[0];
            if (sizeof(T) == 8) high = payload[1];
            bits = all.raw_bits[symbol];
        }
        encoder.long_raw(bits, low, [&] { return high; });
        if (__any_sync(FULL, entry & ENTRY_ESCAPES)) encoder.escape(entry, symbol);
    }

    // The lists of a batch and its masks, a chunk at a time: what is asked for of one comes while the one before is coded.
    __device__ __forceinline__ void code_batch(u64 batch, u64 end) {
        const i32 lane = threadIdx.x & 31;
        const bool exists = batch + lane < end;
        // The last list that begins before the end of a chunk, and the chunk's first entry. (Less than 0 where there is none.)
        i32 last, from, mask_count;
        u32 masked;
        {
            const CodeTile tile(job, batch + lane, exists);
            u32 sizes[TILE_LISTS], names[TILE_LISTS];
            code_lists(tile.info, tile.coded, tile.counts, sizes, names);
#pragma unroll
            for (u32 list = TOP_LIST; list < TILE_LISTS; list++) {
                const u32 cls = class_in(tile.info, list == TOP_LIST ? 0 : (i32)list - 1);
                const bool sparse = list != TOP_LIST && is_sparse(cls);
                const u32 place = lane * TILE_VERTICES + list_start(list), table = list == TOP_LIST ? 0 : table_in_list(list, cls, 0) - ANCHOR_TABLE;
                names[list] = place << LIST_PLACE_AT | (sparse ? cls << LIST_RUNS_AT : 0) | table;
                // What is in the lists is on its way meanwhile.
                const u32 bytes = sparse ? 4 * sizes[list] : sizes[list];
                const u8* const first = sparse ? reinterpret_cast<const u8*>(entries_of<T>(job, batch + lane) + list_start(list))
                                               : job.symbols + (batch + lane) * TILE_VERTICES + list_start(list);
                if (list != TOP_LIST)
                    for (u32 k = 0; k < bytes; k += 128) prefetch_near(first + k);
            }
            i32 lists, entry_count;
            collect_lists<TILE_LISTS>(shared, sizes, names, lists, entry_count);
            // The same for all lanes, as the compiler has to know, here and below.
            last = (i32)warp_or((u32)lists), entry_count = (i32)warp_or((u32)entry_count);
            for (i32 list = lane; list < last; list += 32) shared.names[list] -= (u32)shared.starts[list] << LIST_PLACE_AT;
            // Behind the last entry of the last chunk is nothing.
            if (lane == 0) {
                shared.starts[last] = (u16)entry_count;
                shared.names[last] = (u32)(TILE_VERTICES - 32 - entry_count) << LIST_PLACE_AT | NO_LIST_TABLE;
            }
            mask_count = (i32)warp_sum(tile.masks[0] + tile.masks[1]);
            masked = warp_or(__ballot_sync(FULL, tile.coded && !(tile.info & ALL_CODED)));
            if (masked) load_masked_rows(job, shared.rows, batch, tile.info, masked);
            __syncwarp();
            from = ((entry_count + 31) & ~31) - 32;
            last -= (entry_count & 31) == 0;
        }
        // Addresses are found once.
        const u64 symbols = fresh(reinterpret_cast<u64>(job.symbols + batch * TILE_VERTICES));
        const u64 entries = fresh(reinterpret_cast<u64>(entries_of<T>(job, batch)));
        // The starts of 32 lists, that of the highest list by lane 0, and the lowest of them; where the list begins that all lanes are in.
        i32 start = -1, lowest = 1 << 30, limit = 1 << 30;
        i32 mask_from = ((mask_count + 31) & ~31) - 32, mask_lists = -1, mask_filled = 0;
        // Of a lane's entry: what is read of it, its tile, where that is read, and its tables.
        u32 word = 0, tile_in_batch = 0, offset = 0, table = NOTHING_BYTES, runs = NOTHING_BYTES;
        // How far two chunks of a list are from each other: whether the chunk has sparse lists.
        constexpr u32 DENSE_CHUNK = 32, SPARSE_CHUNK = 128;
        u32 chunk_bytes = DENSE_CHUNK;
        constexpr i32 NO_CHUNK = -64;
#pragma unroll 1
        for (;;) {
            // Chunks of a dense list, some at a time, where they are several: little is to be found for them.
            if (chunk_bytes == DENSE_CHUNK && from - limit >= 32 * (DENSE_AHEAD - 1)) {
                i32 times = ((from - limit) / 32 + 1) / DENSE_AHEAD;
                u64 dense = symbols + offset;
                offset -= 32 * DENSE_AHEAD * times, from -= 32 * DENSE_AHEAD * times;
                u32 here[DENSE_AHEAD];
                here[0] = word;
#pragma unroll
                for (i32 i = 1; i < DENSE_AHEAD; i++) here[i] = byte_from_global(dense - 32 * i);
#pragma unroll 1
                do {
                    u32 next[DENSE_AHEAD];
                    times--;
                    dense -= 32 * DENSE_AHEAD;
                    next[0] = byte_from_global(dense);
#pragma unroll
                    for (i32 i = 1; i < DENSE_AHEAD; i++) next[i] = times > 0 ? byte_from_global(dense - 32 * i) : 0;
#pragma unroll
                    for (i32 i = 0; i < DENSE_AHEAD; i++) {
                        const uint2 entry = entry_at(table, here[i]);
                        if (__any_sync(FULL, entry.x & MORE)) code_raw(entry.x, batch, (u32)(dense - symbols) + 32 * (DENSE_AHEAD - i), here[i]);
                        encoder.code(entry.x, entry.y);
                    }
#pragma unroll
                    for (i32 i = 0; i < DENSE_AHEAD; i++) here[i] = next[i];
                } while (times > 0);
                word = here[0];
            }
            // What stands for the chunk that has come.
            const u32 now = word, symbol = word & 255;
            const bool with_runs = chunk_bytes != DENSE_CHUNK;
            const uint2 entry = entry_at(table, symbol);
            uint2 run;
            if (with_runs) run = entry_at(runs, run_symbol_of_entry(word));
            const bool more = __any_sync(FULL, entry.x & MORE);
            // Raw bits are on their way: what is loaded on one branch and used on another is waited for on all, with the next chunk.
            u32 vertex = 0;
            if (more) {
                vertex = runs != NOTHING_BYTES ? tile_in_batch * TILE_VERTICES + (u32)position_of_entry(word) : offset;
                if (entry.x & ENTRY_RAW) prefetch_near(payload_of(batch, vertex));
            }
            // The next one.
            if (from >= 0) {
                if (from >= limit) {
                    offset -= chunk_bytes;
                } else {
                    while (from < lowest) {
                        start = last >= lane ? shared.starts[last - lane] : -1;
                        lowest = last >= 31 ? (i32)warp_or(shared.starts[last - 31]) : 0;
                    }
                    const u32 begins = warp_or(bit_if_any((u32)(start - from)));
                    const u32 name = shared.names[last - __popc(begins & encoder.above)];
                    last -= __popc(begins);
                    limit = from;
                    if (begins == 0) {
                        limit = (i32)warp_or(shared.starts[last]);
                        // The last chunk of this list ends with its first entry.
                        last -= limit % 32 == 0;
                    }
                    const u32 here = name + ((u32)(from + lane) << LIST_PLACE_AT), place = here >> LIST_PLACE_AT, t = place / TILE_VERTICES;
                    const u32 cls = name >> LIST_RUNS_AT & 7;
                    tile_in_batch = t;
                    table = ((name & LIST_TABLES) + later_table(place % TILE_VERTICES)) * TABLE_BYTES;
                    runs = cls ? FIRST_RUNS_BYTES + cls * RUNS_BYTES : NOTHING_BYTES;
                    chunk_bytes = warp_or(cls) ? SPARSE_CHUNK : DENSE_CHUNK;
                    offset = cls ? 4 * place + t * (TILE_WORD_BYTES - 4 * TILE_VERTICES) : place;
                    if (masked) {
                        const bool partly = table != NOTHING_BYTES && cls == 0 && masked >> t & 1;
                        if (__any_sync(FULL, partly)) {
                            if (!has_symbol(batch, masked, partly, place)) table = NOTHING_BYTES;
                            // Each chunk of such a tile is looked at.
                            if (begins == 0) last += limit % 32 == 0;
                            limit = from;
                        }
                    }
                }
                word = 0;
                if (chunk_bytes == DENSE_CHUNK) {
                    if (table != NOTHING_BYTES) word = byte_from_global(symbols + offset);
                } else if (runs != NOTHING_BYTES) {
                    word = from_global(reinterpret_cast<const u32*>(entries + offset));
                } else if (table != NOTHING_BYTES) {
                    word = byte_from_global(symbols + offset);
                }
                from -= 32;
            } else if (mask_from >= 0) {
                if (mask_lists < 0) {
                    const CodeTile tile(job, batch + lane, exists);
                    const u32 names[2] = {(u32)lane << 1, (u32)lane << 1 | 1};
                    collect_lists<2>(shared, tile.masks, names, mask_lists, mask_filled);
                    mask_lists = (i32)warp_or((u32)mask_lists), mask_filled = mask_count;
                }
                while (mask_filled > mask_from) {
                    mask_lists--;
                    mask_filled = (i32)warp_or(shared.starts[mask_lists]);
                    entries_of_mask(job, batch, warp_or(shared.names[mask_lists]),
                                    [&](i32 number, u16 entry) { shared.mask_entries[(mask_filled + number) & (MASK_RING - 1)] = entry; });
                }
                const bool here = mask_from + lane < mask_count;
                const u32 both = here ? shared.mask_entries[(mask_from + lane) & (MASK_RING - 1)] : 0;
                word = here ? make_entry(both & 255, 0, encode_run(both >> 8)) : 0;
                table = here ? MASK_TABLE * TABLE_BYTES : NOTHING_BYTES;
                runs = here ? FIRST_RUNS_BYTES + (MASK_RUN - RUN + 1) * RUNS_BYTES : NOTHING_BYTES;
                chunk_bytes = SPARSE_CHUNK;
                mask_from -= 32;
            } else {
                from = NO_CHUNK;
            }
            if (more) code_raw(entry.x, batch, vertex, symbol);
            encoder.code(entry.x, entry.y);
            if (with_runs) {
                const u32 run_symbol = run_symbol_of_entry(now);
                if (__any_sync(FULL, run.x & MORE)) {
                    const u32 bits = run.x & ENTRY_RAW ? run_bits(run_symbol) : 0;
                    encoder.raw(bits ? run_raw_of_entry(now) : 0, bits);
                    if (__any_sync(FULL, run.x & ENTRY_ESCAPES)) encoder.escape(run.x, run_symbol);
                }
                encoder.code(run.x, run.y);
            }
            if (from == NO_CHUNK) break;
        }
    }
    // In front of the lists of a batch: the mode and the classes of each tile, numbers of entries, those of masks.
    __device__ __forceinline__ void code_front(u64 batch, u64 end) {
        const bool exists = batch + (threadIdx.x & 31) < end;
        const CodeTile tile(job, batch + (threadIdx.x & 31), exists);
        const Heads heads = find_heads<HUFFMAN>(job, tile, exists);
        code_sizes(encoder, tile, exists);
        ::code_heads(heads, encoder);
    }
};

// Grid: any. Block: 32 * LORENZO_CODE_WARPS. Dynamic shared: LorenzoShared.
template <typename T, bool HUFFMAN>
__device__ __forceinline__ void encode_lorenzo_groups(const Job& job) {
    constexpr u64 TILE_WORD_BYTES = sizeof(T) == 4 ? TILE_WORD_BYTES_F32 : TILE_WORD_BYTES_F64;
    LAUNCHED_SHARED(LorenzoShared, shared);
    fill_raw_bits<T>(shared.raw_bits, true);
    after_kernel_before();
    Control& control = control_of(job);
    const Grouping chosen = choose_groups(job);
    if (blockIdx.x == 0 && threadIdx.x == 0) control.groups = chosen.groups;
    // The same for all lanes, as the compiler has to know; there is no memory for 2^32 tiles.
    const u32 groups = warp_or((u32)chosen.groups), group_weight = warp_or(chosen.weight);
    if (blockIdx.x >= groups) return;
    const i32 lane = threadIdx.x & 31, warp = (i32)warp_or(threadIdx.x >> 5);
    {
        constexpr u32 ROWS = SHARED_ENTRIES / 32, MASK_ROW = MASK_TABLE * CODE_SYMBOLS / 32, RUNS_ROW = RUNS_PLACE / 32, TABLE_ROWS = CODE_SYMBOLS / 32;
        constexpr u32 EACH = (ROWS + LORENZO_CODE_WARPS - 1) / LORENZO_CODE_WARPS;
        const uint2* const from = code_entries(job, MASK_BYTE) + lane;
        uint2 found[EACH];
#pragma unroll
        for (u32 i = 0; i < EACH; i++) {
            const u32 row = i * LORENZO_CODE_WARPS + warp;
            const u32 place = row < MASK_ROW ? (ANCHOR_TABLE - MASK_BYTE + row / TABLE_ROWS) * ALPHABET + row % TABLE_ROWS * 32
                                             : row < RUNS_ROW ? (row - MASK_ROW) * 32 : (RUN - MASK_BYTE + row - RUNS_ROW) * ALPHABET;
            if (row < ROWS) found[i] = from[place];
        }
#pragma unroll
        for (u32 i = 0; i < EACH; i++) {
            const u32 row = i * LORENZO_CODE_WARPS + warp;
            if (row < ROWS) shared.entries[32 * row + lane] = found[i];
        }
        if (threadIdx.x == 0) shared.entries[NOTHING_PLACE] = make_uint2(Encoder<HUFFMAN>::NOTHING, 0);
    }
    __syncthreads();
    // Consecutive groups go to different blocks. Behind the first one of each warp they go to those that have ended one.
    u32 group = blockIdx.x + gridDim.x * warp;
#pragma unroll 1
    while (group < groups) {
        u32 ticket = 0;
        if (lane == 0) ticket = atomicAdd(&control.tickets[TICKET_ENCODE], 1u);
        const u32 boundary = first_tile_of<1>(job, group_weight, group);
        const u64 first = warp_or(__shfl_sync(FULL, boundary, 0)), end = warp_or(__shfl_sync(FULL, boundary, 16));
        LorenzoCoder<T, HUFFMAN> coder = {job, shared, shared.batches[warp],
                                          Encoder<HUFFMAN>(reinterpret_cast<u8*>(job.words + first * TILE_WORD_BYTES), (end - first) * TILE_WORD_BYTES)};
        for (u64 batch = first + ((end - first - 1) & ~31ull);; batch -= BATCH) {
            coder.code_batch(batch, end);
            coder.code_front(batch, end);
            if (batch == first) break;
        }
        end_group<T>(job, coder.encoder, groups, group, first, end);
        group = gridDim.x * LORENZO_CODE_WARPS + warp_or(ticket);
    }
}
