// Decodes groups to symbols, payload and anchor refinement bits. Twin of src/entropy/groups/decode.rs.
#pragma once
#include "decompress/decode_lorenzo.cuh"
#include "decompress/residuals.cuh"

// Two warps share a group of the hierarchical predictor, because the way of a chunk from states to placed
// symbols is long. The reader turns states into symbols, runs and raw bits. The placer plans a chunk before
// (what each lane decodes) and places its symbols afterwards.
constexpr i32 DECODE_WARPS = DECODE_GROUPS * DECODE_ROLES;
constexpr u32 LISTS_AND_ACTIVITIES = TILE_LISTS * ACTIVITIES;

// Shared state of the two warps. A barrier between chunks keeps writes from data still being read.
struct DecodeGroup {
    BatchLists lists;
    MaskedTiles<7> masked;
    GroupWords words;
    u32 plans[4][32];  // of a chunk, for the reader
    u32 found[2][32];  // by the reader
    u32 steps[BATCH];  // by tile: steps of 32 positions with symbols
    union {
        u64 raw[2][2][32];  // raw bits, low and high
        struct {
            u32 infos[BATCH], counts[BATCH];  // of a batch, by the reader, before its chunks
        } tiles;
    };
    u32 entries;                 // of a batch
    u32 reader_bad, placer_bad;  // the group is invalid
    u32 next;                    // group, when this one is done
};

template <bool HUFFMAN>
struct DecodeShared {
    DecodeTables<HUFFMAN> tables;
    u32 plans[LISTS_AND_ACTIVITIES];  // of the first entry of a list
    union {
        DecodeGroup groups[DECODE_GROUPS];
        DecodeRows rows[DECODE_WARPS];  // a warp per group of the Lorenzo predictor
    };
};
static_assert(sizeof(DecodeRows) * DECODE_WARPS < sizeof(DecodeGroup) * DECODE_GROUPS,
    "the Lorenzo predictor takes no more shared memory");
static_assert(sizeof(DecodeShared<false>) == DECODE_RANS_SHARED_BYTES &&
                  sizeof(DecodeShared<true>) == DECODE_HUFFMAN_SHARED_BYTES,
    "the launch asks for as much");

// Plan of an entry: its position, that of a sparse list as if the list began with it; tile in the batch <<
// 10; flags; its table, and that of its run. The table NO_TABLE leaves the state unchanged.
constexpr u32 PLAN_TILE_AT = 10, PLAN_HERE = 1 << 15, PLAN_LISTED = 1 << 16, PLAN_TABLE_AT = 17,
              PLAN_RUN_TABLE_AT = 23, PLAN_ACTIVE = 1 << 30, PLAN_FIRST = 1u << 31;
static_assert(TABLES < 64, "a table has six bits");
__device__ __forceinline__ u32 position_of_plan(u32 plan) { return plan & (TILE_VERTICES - 1); }
// Position, and tile in the batch.
__device__ __forceinline__ u32 vertex_of_plan(u32 plan) { return plan & (BATCH * TILE_VERTICES - 1); }
__device__ __forceinline__ u32 table_of_plan(u32 plan) { return plan >> PLAN_TABLE_AT & 63; }
__device__ __forceinline__ u32 run_table_of_plan(u32 plan) { return plan >> PLAN_RUN_TABLE_AT & 63; }
__device__ __forceinline__ u32 without_symbol(u32 plan) {
    return (plan & ~(63u << PLAN_TABLE_AT | PLAN_ACTIVE)) | TABLES << PLAN_TABLE_AT;
}
// Of the first entry of a list in tile 0. A list of a block without symbols stands for none.
__device__ __forceinline__ u32 plan_of_list(u32 list, u32 activity) {
    const bool sparse = list != TOP_LIST && is_sparse(activity);
    return activity == 0 ? TABLES << PLAN_TABLE_AT | TABLES << PLAN_RUN_TABLE_AT
                         : (u32)list_start(list) | PLAN_HERE | PLAN_ACTIVE | (sparse ? PLAN_LISTED : 0) |
                               table_in_list(list, activity, list_start(list)) << PLAN_TABLE_AT |
                               (sparse ? RUN + activity - 1 : (u32)TABLES) << PLAN_RUN_TABLE_AT;
}

// Result of the reader: symbol, run << 8.
__device__ __forceinline__ u32 symbol_found(u32 found) { return found & 255; }
__device__ __forceinline__ i32 run_found(u32 found) { return (i32)(found >> 8); }
// The reader. True if the group is invalid.
template <typename T, bool HUFFMAN>
__device__ __forceinline__ bool read_chunks(const Job& job, const DecodeTables<HUFFMAN>& all,
    DecodeGroup& shared, i32 number, u64 group, u64 first, u64 end) {
    const i32 lane = threadIdx.x & 31;
    Decoder<HUFFMAN> decoder;
    bool bad = !decoder.open(job, all, shared.words, group);
    for (u64 batch = first; batch < end; batch += BATCH) {
        u32 my_info = 0, counts = 0;
        if (!bad) bad = read_head(job, decoder, shared.lists, batch, batch + lane < end, my_info, counts);
        shared.tiles.infos[lane] = my_info;
        shared.tiles.counts[lane] = counts;
        if (lane == 0) shared.reader_bad = bad;
        meet<DECODE_ROLES>(number);
        if (warp_or(shared.reader_bad | shared.placer_bad)) {
            meet<DECODE_ROLES>(number);
            return bad;
        }
        meet<DECODE_ROLES>(number);
        const i32 entries = (i32)warp_or(shared.entries);
        u32 next_plan = shared.plans[0][lane], next_kinds = warp_or(next_plan);
#pragma unroll 1
        for (i32 from = 0; from < entries; from += 32) {
            const u32 plan = next_plan, kinds = next_kinds, slot = from >> 5 & 1;
            next_plan = shared.plans[(from + 32) >> 5 & 3][lane];
            if (!(kinds & PLAN_ACTIVE)) {
                shared.found[slot][lane] = SYMBOL_ZERO;
                next_kinds = warp_or(next_plan);
                meet<DECODE_ROLES>(number);
                continue;
            }
            u32 run = 0;
            if (kinds & PLAN_LISTED) run = decoder.runs(decoder.place_of(run_table_of_plan(plan))) << 8;
            u32 symbol = decoder.step(decoder.place_of(table_of_plan(plan)));
            const u8* const raw_bits = all.raw_bits[position_of_plan(plan) == 0 ? 1 : 0];
            u32 bits = raw_bits[symbol];
            if (__any_sync(FULL, bits > 0)) {
                u64* const raw = &shared.raw[slot][0][lane];
                if (!__any_sync(FULL, bits > 16)) {
                    raw[0] = decoder.raw(bits);
                } else {
                    if (__any_sync(FULL, symbol == ESCAPE)) {
                        decoder.resolve_escape(symbol);
                        bits = raw_bits[symbol];
                        // An escaped escape is not a symbol.
                        if (bits == ESCAPE_BITS) bits = raw_bits[STORED];
                    }
                    u64 low, high;
                    decoder.long_raw(bits, low, high);
                    raw[0] = low;
                    raw[32] = high;
                }
            }
            shared.found[slot][lane] = symbol | run;
            next_kinds = warp_or(next_plan);
            meet<DECODE_ROLES>(number);
        }
        meet<DECODE_ROLES>(number);
    }
    return bad || !decoder.is_at_end();
}

// The placer.
template <typename T>
struct Placer {
    typedef typename Payload<T>::Type P;
    const Job& job;
    const u32* const list_plans;
    const u8 (&raw_bits)[2][ALPHABET];
    DecodeGroup& shared;
    u32 exact;  // stored values
    bool bad;   // the group is invalid
    // Of the batch: its first tile and the place of its symbols, tiles in which some vertices have no symbol,
    // entries of its lists; the list of the next entry to plan; the sum of runs so far in the list that
    // continues in lane 0, and the row of 32 positions of the entry placed last.
    u64 batch;
    u8* symbols;
    u32 masked;
    i32 entries, current, open;
    u32 row;
    // Of the list of a lane's entry: the plan and the number of its first entry; and where the
    // list ends if all lanes are in the same one, otherwise 0.
    u32 list_plan;
    i32 list_start, next_list;

    // Opens the batch of `batch`. `exists`: the group has a tile of this lane's number.
    __device__ __forceinline__ void open_batch(bool exists) {
        const i32 lane = threadIdx.x & 31;
        const u32 my_info = shared.tiles.infos[lane], packed = shared.tiles.counts[lane];
        const u32 counts[3] = {packed & 255, packed >> 8 & 255, packed >> 16};
        masked = masked_tiles(job, batch, exists, my_info);
        if (masked) load_masked_tiles(job, shared.masked, batch, my_info, masked);
        u32 sizes[TILE_LISTS], names[TILE_LISTS];
        code_lists(my_info, exists && has_codes(mask_state_in(my_info)), counts, sizes, names);
        i32 list_count;
        concatenate_lists<TILE_LISTS>(shared.lists, sizes, names, list_count, entries);
        entries = (i32)warp_or((u32)entries);
        if (lane == 0) shared.entries = (u32)entries;
        shared.steps[lane] = 0;
        symbols = fresh_global(DecodeView<T>(job).symbols() + batch * TILE_VERTICES);
        current = open = next_list = 0;
        row = 0xffffffffu;
    }
    __device__ __forceinline__ u32& plan_at(i32 from) const {
        return shared.plans[from >> 5 & 3][threadIdx.x & 31];
    }
    // Plans a chunk.
    __device__ __forceinline__ void plan(i32 from) {
        const i32 e = from + (i32)(threadIdx.x & 31);
        const bool here = e < entries;
        if (next_list < from + 32)
            find_lists(from, here);
        else if (next_list == from + 32)
            current++;
        u32 plan = here ? list_plan : list_plans[0];
        const i32 at = here ? e - list_start : 0;
        const u32 t = vertex_of_plan(plan) / TILE_VERTICES;
        if (position_of_plan(plan) == 0 && here) plan += (u32)((at >= 1) + (at >= 4)) << PLAN_TABLE_AT;
        if (!(plan & PLAN_LISTED)) {
            plan += (u32)at;
            if (masked >> t & 1 && here &&
                !has_symbol(job, shared.masked, batch, t, masked, position_of_plan(plan)))
                plan = without_symbol(plan);
        }
        plan_at(from) = plan | (at == 0 ? PLAN_FIRST : 0);
    }
    // Finds the list of each lane's entry in a chunk that is not known to lie in the list of the chunk
    // before.
    __device__ __forceinline__ void find_lists(i32 from, bool here) {
        const BatchLists& lists = shared.lists;
        u32 begins;
        const i32 list = list_of_entry(lists, from, current, begins, next_list);
        const u32 name = here ? lists.names[list] : 0;
        list_start = here ? lists.starts[list] : 0;
        list_plan = list_plans[name % LISTS_AND_ACTIVITIES] + (tile_of_list(name) << PLAN_TILE_AT);
    }
    // Places a chunk.
    __device__ __forceinline__ void place(i32 from) {
        const i32 lane = threadIdx.x & 31;
        const u32 plan = plan_at(from), slot = from >> 5 & 1, found = shared.found[slot][lane],
                  symbol = symbol_found(found);
        u32 vertex = vertex_of_plan(plan);
        // The first symbol in a row of 32 positions clears the row. In dense lists that is its first
        // position.
        bool clears = (plan & (PLAN_HERE | 31)) == PLAN_HERE;
        if (__any_sync(FULL, plan & PLAN_LISTED)) {
            vertex = vertex_behind_run(plan, found);
            if (bad) return;
            const u32 before_mine = __shfl_up_sync(FULL, vertex >> 5, 1),
                      before_first = __shfl_sync(FULL, row, 31);
            clears = plan & PLAN_HERE && vertex >> 5 != (lane == 0 ? before_first : before_mine);
        } else {
            open = 0;
        }
        row = vertex >> 5;
        u8* const to = symbols + vertex;
        if (clears) {
            uint4* const first_of_row = reinterpret_cast<uint4*>(to - (vertex & 31));
            first_of_row[0] = first_of_row[1] = make_uint4(0, 0, 0, 0);
            atomicOr(&shared.steps[vertex / TILE_VERTICES], 1u << (row & 31));
        }
        __syncwarp();
        if (symbol != SYMBOL_ZERO) *to = (u8)symbol;
        if (symbol < FIRST_WITH_RAW_BITS) return;
        const DecodeView<T> work(job);
        const u32 position = vertex % TILE_VERTICES;
        const u64 raw = shared.raw[slot][0][lane];
        if (symbol >= STORED || has_refinement_bits(symbol, (i32)position))
            return place_raw(to, symbol, raw, shared.raw[slot][1][lane]);
        const P payload = residual_payload<T>(reconstruct_tables<T>(job), symbol, position, raw);
        work.raw()[to - work.symbols()] = position == 0 ? Payload<T>::make(raw, 0) : payload;
    }
    // The vertex of an entry in a chunk with sparse lists. Sets `bad` if there is none.
    __device__ __forceinline__ u32 vertex_behind_run(u32 plan, u32 found) {
        const bool listed = plan & PLAN_LISTED;
        const i32 sum =
            sum_in_list(listed ? run_found(found) + 1 : 0, __ballot_sync(FULL, plan & PLAN_FIRST), open);
        open = __shfl_sync(FULL, sum, 31);
        u32 vertex = vertex_of_plan(plan);
        bool wrong = false;
        if (listed) {
            const u32 start = position_of_plan(plan), position = start + (u32)sum - 1,
                      t = vertex / TILE_VERTICES;
            vertex += (u32)sum - 1;
            static_assert(4 * (4 << 2 * COARSE_LIST) == 16 << 2 * COARSE_LIST, "where a list ends");
            wrong = position >= 4 * start;
            if (!wrong && masked >> t & 1)
                wrong = !has_symbol(job, shared.masked, batch, t, masked, (i32)position);
        }
        bad |= __any_sync(FULL, wrong) != 0;
        return vertex;
    }
    // Places the raw bits of a stored vertex or of an anchor with refinement bits; the upper ones are defined
    // if there are more than 16.
    __device__ __forceinline__ void place_raw(u8* to, u32 symbol, u64 low, u64 high) {
        const DecodeView<T> work(job);
        const u64 vertex = to - work.symbols(), tile = vertex / TILE_VERTICES;
        const i32 position = (i32)(vertex % TILE_VERTICES);
        symbol = known(symbol);
        *to = (u8)symbol;
        exact += symbol >= STORED;
        if (raw_bits[position == 0][symbol] <= 16) high = 0;
        work.raw()[vertex] = Payload<T>::make(low, high);
        // Kept where the anchor's value will be, which is computed from it.
        if (has_refinement_bits(symbol, position) && symbol < STORED)
            work.anchors()[tile].x =
                Real<T>::from_bits(refinement_bits_behind(raw_bits[0][symbol], low, high));
    }
};

// Number of a group that nobody has begun, behind the first `stride` ones. Groups take different times, so
// who is done first takes the next one. Call with one thread.
__device__ __forceinline__ u32 next_group(const Job& job, u32 groups, u32 stride) {
    return groups <= stride ? groups : stride + atomicAdd(&control_of(job).tickets[TICKET_DECODE], 1u);
}

// Places the chunks of a group. True if it is invalid; counts stored values in `exact`.
template <typename T>
__device__ __forceinline__ bool place_chunks(const Job& job, const u32* list_plans,
    const u8 (&raw_bits)[2][ALPHABET], DecodeGroup& shared, i32 number, u64 first, u64 end, u32 groups,
    u32 stride, u32& exact) {
    const i32 lane = threadIdx.x & 31;
    Placer<T> placer = {job, list_plans, raw_bits, shared};
    for (placer.batch = first; placer.batch < end; placer.batch += BATCH) {
        const bool exists = placer.batch + lane < end;
        if (lane == 0) shared.placer_bad = placer.bad;
        meet<DECODE_ROLES>(number);
        if (placer.batch == first && lane == 0) shared.next = next_group(job, groups, stride);
        if (warp_or(shared.reader_bad | shared.placer_bad)) {
            meet<DECODE_ROLES>(number);
            break;
        }
        placer.open_batch(exists);
        if (placer.entries > 0) placer.plan(0);
        if (placer.entries > 32) placer.plan(32);
        meet<DECODE_ROLES>(number);
#pragma unroll 1
        for (i32 from = 0; from < placer.entries + 32; from += 32) {
            if (from > 0 && !placer.bad) placer.place(from - 32);
            // The reader reads plans one chunk ahead, so plan two ahead.
            if (from + 64 < placer.entries) placer.plan(from + 64);
            meet<DECODE_ROLES>(number);
        }
        if (exists) DecodeView<T>(job).steps()[placer.batch + lane] = shared.steps[lane];
    }
    exact = placer.exact;
    return placer.bad;
}

// Grid: any. Block: 32 * DECODE_WARPS threads; two warps per group of the hierarchical, one of the Lorenzo
// predictor. Dynamic shared: DecodeShared. Reads: stream, decoding tables, tables of residuals, group offsets
// and sizes. Writes: symbols (only rows of 32 positions that have any, as the steps of the tile tell),
// payload, masks, header words, refinement bits of anchors. Does nothing for streams of the other coder.
template <typename T, bool HUFFMAN>
__device__ __forceinline__ void decode_groups(const Job& job) {
    LAUNCHED_SHARED(DecodeShared<HUFFMAN>, shared);
    Control& control = control_of(job);
    const u32 predictor = control.predictor, all_groups = (u32)control.groups;
    // Other blocks may set the status meanwhile: all threads continue, or none.
    if (warp_or(__syncthreads_or(
            !is_coded(control) | (control.coder ^ (HUFFMAN ? CODER_HUFFMAN : CODER_ANS)) != 0)))
        return;
    // warp_or: uniform, so that votes need no code for divergent lanes.
    const bool lorenzo = warp_or(predictor == PREDICTOR_LORENZO);
    const u32 groups = warp_or(all_groups);
    if (blockIdx.x >= groups) return;
    if constexpr (!HUFFMAN) copy_decode_tables<32 * DECODE_WARPS>(job, shared.tables);
    for (u32 k = threadIdx.x; k < 2 * ALPHABET; k += blockDim.x) {
        const u32 symbol = k % ALPHABET, anchor = k / ALPHABET;
        // With the Lorenzo predictor all codes have refinement bits, as anchors do. An invalid symbol counts
        // as a stored value.
        shared.tables.raw_bits[anchor][symbol] =
            symbol == ESCAPE ? (u8)ESCAPE_BITS
                             : (u8)raw_bits(known(symbol), lorenzo || anchor ? 0 : 1, sizeof(T));
    }
    if (threadIdx.x < LISTS_AND_ACTIVITIES)
        shared.plans[threadIdx.x] = plan_of_list(threadIdx.x / ACTIVITIES, threadIdx.x % ACTIVITIES);
    if (!HUFFMAN) {
        // Prefetch the tables of mask states and activities, which every batch needs.
        constexpr u32 SECTORS = SCALE / SLOTS_PER_START / 32;
        const u32 table = threadIdx.x / (SECTORS + 1), sector = threadIdx.x % (SECTORS + 1);
        if (table < FIRST_SHARED_TABLE) {
            const void* const at =
                sector < SECTORS ? static_cast<const void*>(ParseView(job).slot_starts() +
                                                            table * (SCALE / SLOTS_PER_START) + 32 * sector)
                                 : static_cast<const void*>(ParseView(job).tables() + table * ALPHABET);
            prefetch_near(at);
        }
    }
    __syncthreads();
    // Both roles are spread over all schedulers.
    const i32 warp = (i32)warp_or(threadIdx.x >> 5), number = lorenzo ? warp : warp % DECODE_GROUPS;
    const u32 stride = gridDim.x * (lorenzo ? DECODE_WARPS : DECODE_GROUPS);
    // Consecutive groups go to different blocks.
    for (u32 group = blockIdx.x + gridDim.x * number; group < groups;) {
        bool bad = false;
        u32 exact = 0;
        if (lorenzo) {
            bad = decode_lorenzo_group<T>(job, shared.tables, shared.rows[number], group, exact);
            group = warp_or((threadIdx.x & 31) == 0 ? next_group(job, groups, stride) : 0);
        } else {
            u64 first, end;
            tiles_of_group(job, group, first, end);
            DecodeGroup& mine = shared.groups[number];
            if (warp < DECODE_GROUPS)
                bad = read_chunks<T>(job, shared.tables, mine, number, group, first, end);
            else
                bad = place_chunks<T>(job, shared.plans, shared.tables.raw_bits, mine, number, first, end,
                    groups, stride, exact);
            meet<DECODE_ROLES>(number);
            group = warp_or(mine.next);
        }
        exact = warp_sum(exact);
        if (exact && (threadIdx.x & 31) == 0) atomicAdd((ull*)&control.exact, (ull)exact);
        if (bad && (threadIdx.x & 31) == 0) fail(control, STATUS_CORRUPT_STREAM);
    }
}

// Overlaps the previous kernel, factz_check, which starts after factz_parse has completed.
template <typename T, bool HUFFMAN>
__device__ __forceinline__ void decode(const Job& job) {
    decode_groups<T, HUFFMAN>(job);
    end_overlap();
}
