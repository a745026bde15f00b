// Entries of the entropy coder that code lists of the Lorenzo predictor to groups, a warp for each: there are many groups.
// Twin: src/stage/entropy/group/encode.rs.
#pragma once
#include "coding.cuh"

constexpr i32 LORENZO_CODE_WARPS = 16, MASK_RING = 256, LORENZO_MASKED_TILES = 4;

// What is known of a list: above, as high bits, the place of its entry 0 in the batch if there were one, so that with the number of an
// entry its place is there; whether it is sparse and the table of its runs less one; the table of its symbols.
constexpr u32 LIST_PLACE_AT = 17, LIST_RUNS_AT = 5, LIST_TABLES = 31, LIST_RUNS = 7 << LIST_RUNS_AT;
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

// The tables have no more symbols than there are, and behind them is what leaves a state as it is.
constexpr u32 NOTHING_PLACE = SHARED_ENTRIES;
struct LorenzoShared {
    uint2 entries[SHARED_ENTRIES + 1];
    u8 raw_bits[ALPHABET];
    LorenzoBatch batches[LORENZO_CODE_WARPS];
};
static_assert(sizeof(LorenzoBatch) == 320 + 516 + 512 && sizeof(LorenzoShared) == 8 * 5089 + 256 + 16 * 1348, "launch.rs asks for as much");

template <typename T, bool HUFFMAN>
struct LorenzoCoder {
    static constexpr u32 MORE = ENTRY_RAW | ENTRY_ESCAPES, TILE_WORD_BYTES = sizeof(T) == 4 ? TILE_WORD_BYTES_F32 : TILE_WORD_BYTES_F64;
    const Job& job;
    const LorenzoShared& all;
    LorenzoBatch& shared;
    Encoder<HUFFMAN> encoder;

    // Of a tile that is not whole.
    __device__ __forceinline__ bool has_symbol(u64 batch, u32 masked, u32 place) const {
        const u32 t = place / TILE_VERTICES, y = place / TILE % TILE, x = place % TILE, slot = __popc(masked & ((1u << t) - 1));
        if (slot >= LORENZO_MASKED_TILES) return is_active(job, true, batch + t, mode_in(job.info[batch + t]), (i32)(place % TILE_VERTICES));
        return !(shared.rows[slot][y] >> x & 1);
    }
    __device__ __forceinline__ void load_rows(u64 batch, u32 my_info, u32 masked) {
        const i32 lane = threadIdx.x & 31;
        i32 slot = 0;
        __syncwarp();
        for (u32 left = masked; left && slot < LORENZO_MASKED_TILES; left &= left - 1, slot++) {
            const i32 t = __ffs(left) - 1;
            const u64 index = batch + t;
            const TileShape shape = tile_shape(job, index);
            const u32 inside = lane < shape.owned_y() ? row_mask(shape.owned_x()) : 0;
            const u32* const rows = job.masks + index * 64 + lane;
            shared.rows[slot][lane] = ~inside | (mode_in(__shfl_sync(FULL, my_info, t)) ? rows[0] | rows[TILE] : 0);
        }
        __syncwarp();
    }

    // The lists of a batch and its masks, a chunk at a time: what is asked for of one comes while the one before is coded.
    __device__ __forceinline__ void code_batch(u64 batch, u64 end) {
        const i32 lane = threadIdx.x & 31;
        const bool exists = batch + lane < end;
        i32 list_count, from;
        u32 masked, mask_count;
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
            i32 entry_count;
            collect_lists<TILE_LISTS>(shared, sizes, names, list_count, entry_count);
            for (i32 list = lane; list < list_count; list += 32) shared.names[list] -= (u32)shared.starts[list] << LIST_PLACE_AT;
            // Behind the last entry of the last chunk is nothing.
            if (lane == 0) {
                shared.starts[list_count] = (u16)entry_count;
                shared.names[list_count] = LIST_TABLES;
            }
            mask_count = warp_sum(tile.masks[0] + tile.masks[1]);
            masked = __ballot_sync(FULL, tile.coded && !(tile.info & ALL_CODED));
            if (masked) load_rows(batch, tile.info, masked);
            __syncwarp();
            from = (entry_count - 1) & ~31;
            // (-1 where there is no entry.)
            if (entry_count == 0) from = -32;
            list_count -= (entry_count & 31) == 0;
        }
        const u8* const symbols = job.symbols + batch * TILE_VERTICES;
        const u8* const entries = reinterpret_cast<const u8*>(entries_of<T>(job, batch));
        const u64* const payload = reinterpret_cast<const u64*>(job.payload) + batch * TILE_VERTICES * (sizeof(T) / 4);
        // The last list that begins before the end of the chunk; that of lane 0 of the starts that lanes hold; the first start of these.
        i32 last = list_count, lowest = 1 << 30, start = -1;
        // Where the list begins that all lanes are in.
        i32 limit = 1 << 30;
        i32 mask_from = (i32)((mask_count - 1) & ~31u), mask_lists = 0, mask_filled = 0;
        if (mask_count == 0) mask_from = -32;
        bool masks_open = false;
        // Of a lane's entry: what is read of it, where it lies in the batch, where that is read, and its tables.
        u32 word = 0, place = 0, offset = 0, table = NOTHING_PLACE, runs = NOTHING_PLACE;
        bool listed = false, any_listed = false, more_chunks = true;
#pragma unroll 1
        while (more_chunks) {
            // What stands for the chunk that has come.
            const u32 now = word, symbol = word & 255;
            const uint2 entry = all.entries[table + symbol];
            uint2 run = make_uint2(0, 0);
            const bool with_runs = any_listed;
            if (with_runs) run = all.entries[runs + run_symbol_of_entry(word)];
            const bool more = __any_sync(FULL, entry.x & MORE);
            u64 low = 0, high = 0;
            if (more && entry.x & ENTRY_RAW) {
                const u32 vertex = listed ? (place & ~(u32)(TILE_VERTICES - 1)) | (u32)position_of_entry(word) : place;
                low = payload[(sizeof(T) / 4) * vertex];
                if (sizeof(T) == 8) high = payload[2 * vertex + 1];
            }
            // The next one.
            if (from >= 0) {
                if (from >= limit) {
                    last -= from == limit;
                    place -= 32;
                    offset -= any_listed ? 128 : 32;
                } else {
                    while (from < lowest) {
                        start = last >= lane ? shared.starts[last - lane] : -1;
                        lowest = last >= 31 ? shared.starts[last - 31] : 0;
                    }
                    const u32 behind = (u32)(start - from), begins = warp_or(behind < 32 ? 1u << behind : 0);
                    const u32 name = shared.names[last - __popc(begins >> lane >> 1)];
                    last -= __popc(begins);
                    place = (name + ((u32)(from + lane) << LIST_PLACE_AT)) >> LIST_PLACE_AT;
                    const u32 cls = name >> LIST_RUNS_AT & 7, t = place / TILE_VERTICES, position = place % TILE_VERTICES;
                    bool active = (name & LIST_TABLES) != LIST_TABLES;
                    listed = cls != 0;
                    limit = begins == 0 ? (i32)shared.starts[last] : from;
                    if (masked) {
                        const bool partly = active && !listed && masked >> t & 1;
                        if (partly) active = has_symbol(batch, masked, place);
                        if (__any_sync(FULL, partly)) limit = from;
                    }
                    offset = listed ? t * TILE_WORD_BYTES + 4 * position : place;
                    table = active ? ((name & LIST_TABLES) + later_table(position)) * CODE_SYMBOLS : NOTHING_PLACE;
                    runs = listed ? RUNS_PLACE - RUN_SYMBOLS + cls * RUN_SYMBOLS : NOTHING_PLACE;
                    any_listed = __any_sync(FULL, listed);
                }
                word = 0;
                if (listed)
                    word = *reinterpret_cast<const u32*>(entries + offset);
                else if (table != NOTHING_PLACE)
                    word = symbols[offset];
                from -= 32;
            } else if (mask_from >= 0) {
                if (!masks_open) {
                    masks_open = true;
                    const CodeTile tile(job, batch + lane, exists);
                    const u32 names[2] = {(u32)lane << 1, (u32)lane << 1 | 1};
                    collect_lists<2>(shared, tile.masks, names, mask_lists, mask_filled);
                }
                while (mask_filled > mask_from) {
                    mask_filled = shared.starts[--mask_lists];
                    entries_of_mask(job, batch, shared.names[mask_lists],
                                    [&](i32 number, u16 entry) { shared.mask_entries[(mask_filled + number) & (MASK_RING - 1)] = entry; });
                }
                const bool here = mask_from + lane < (i32)mask_count;
                const u32 both = here ? shared.mask_entries[(mask_from + lane) & (MASK_RING - 1)] : 0;
                word = here ? make_entry(both & 255, 0, encode_run(both >> 8)) : 0;
                table = here ? MASK_TABLE * CODE_SYMBOLS : NOTHING_PLACE;
                runs = here ? RUNS_PLACE + (MASK_RUN - RUN) * RUN_SYMBOLS : NOTHING_PLACE;
                any_listed = true;
                mask_from -= 32;
            } else {
                more_chunks = false;
            }
            if (more) {
                const u32 bits = entry.x & ENTRY_RAW ? all.raw_bits[symbol] : 0;
                encoder.long_raw(bits, low, [&] { return high; });
                if (__any_sync(FULL, entry.x & ENTRY_ESCAPES)) encoder.escape(entry.x, symbol);
            }
            encoder.code(entry.x, entry.y);
            if (with_runs) {
                if (__any_sync(FULL, run.x & MORE)) {
                    const u32 run_symbol = run_symbol_of_entry(now), bits = run.x & ENTRY_RAW ? run_bits(run_symbol) : 0;
                    encoder.raw(bits ? run_raw_of_entry(now) : 0, bits);
                    if (__any_sync(FULL, run.x & ENTRY_ESCAPES)) encoder.escape(run.x, run_symbol);
                }
                encoder.code(run.x, run.y);
            }
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
    const u64 groups = control.groups;
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
    const u64 group_weight = control.group_weight;
    // Consecutive groups go to different blocks. Behind the first one of each warp they go to those that have ended one.
    u64 group = blockIdx.x + (u64)gridDim.x * warp;
#pragma unroll 1
    while (group < groups) {
        u32 ticket = 0;
        if (lane == 0) ticket = atomicAdd(&control.tickets[TICKET_ENCODE], 1u);
        const u64 boundary = first_tile_of(job, group_weight, group);
        const u64 first = __shfl_sync(FULL, boundary, 0), end = __shfl_sync(FULL, boundary, 16);
        LorenzoCoder<T, HUFFMAN> coder = {job, shared, shared.batches[warp],
                                          Encoder<HUFFMAN>(reinterpret_cast<u8*>(job.words + first * TILE_WORD_BYTES), (end - first) * TILE_WORD_BYTES)};
        for (u64 batch = first + ((end - first - 1) & ~31ull);; batch -= BATCH) {
            coder.code_batch(batch, end);
            coder.code_front(batch, end);
            if (batch == first) break;
        }
        end_group<T>(job, coder.encoder, group, first, end);
        group = (u64)gridDim.x * LORENZO_CODE_WARPS + __shfl_sync(FULL, ticket, 0);
    }
}
