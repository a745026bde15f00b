// Plans the chunks of a group and places the symbols found in them. Twin of src/entropy/groups/decode.rs.
#pragma once
#include "decompress/decode_group.cuh"
#include "decompress/residuals.cuh"

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
        exact += symbol >= STORED && is_taken(job, tile);
        if (raw_bits[position == 0][symbol] <= 16) high = 0;
        work.raw()[vertex] = Payload<T>::make(low, high);
        // Kept where the anchor's value will be, which is computed from it.
        if (has_refinement_bits(symbol, position) && symbol < STORED)
            work.anchors()[tile].x =
                Real<T>::from_bits(refinement_bits_behind(raw_bits[0][symbol], low, high));
    }
};

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
