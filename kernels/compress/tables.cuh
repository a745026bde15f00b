// Builds the tables of the entropy coder from the counts, with their stored form, and weighs the tiles for
// their division into groups. Twins: src/entropy/tables.rs, rans.rs, huffman.rs and Groups in
// src/cpu/phases.rs.
#pragma once
#include "entropy/huffman.cuh"
#include "entropy/groups/lists.cuh"
#include "entropy/groups/lorenzo.cuh"
#include "entropy/payload.cuh"
#include "predict/lorenzo.cuh"
#include "stream/checksum.cuh"

// Sizes of a tile's lists (coarse, middle, fine block, zero mask, fill mask), its weight, and the weight of
// the tiles before it in its chunk. In the memory of the nearness, which is no longer needed.
struct ListSizes {
    u16 blocks[3], masks[2], weight;
    u32 before;
    u64 first_tile;  // of the group with this index
    u64 unused;
};
static_assert(sizeof(ListSizes) <= sizeof(Nearness), "one takes the place of the other");
__device__ __forceinline__ ListSizes& sizes_of(const Job& job, u64 tile) {
    return CountView(job).lists()[tile];
}
// Writes all but `before`, in one store.
__device__ __forceinline__ void write_sizes(
    ListSizes& to, u32 coarse, u32 middle, u32 fine, const u32 (&masks)[2], u32 weight) {
    static_assert(
        offsetof(ListSizes, masks) == 6 && offsetof(ListSizes, weight) == 10 && sizeof(ListSizes) % 16 == 0,
        "in order");
    *reinterpret_cast<uint4*>(&to) =
        make_uint4(coarse | middle << 16, fine | masks[0] << 16, masks[1] | weight << 16, 0);
}

// Coding entry of a symbol: frequency << 16 | start, or length << 16 | code; and the reciprocal of the
// frequency. A symbol without its own code has the escape's entry.
constexpr u32 ENTRY_ESCAPES = 1u << 15, ENTRY_RAW = 1u << 14;
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
__device__ __forceinline__ u32 code_in(u32 entry) { return entry & 0xfff; }
// A table that leaves a state unchanged: no bits, or the whole scale.
constexpr u32 NO_TABLE = TABLES;
// Tables of mask states and activities have fewer symbols.
constexpr u32 HEAD_ALPHABET = 128,
              CODE_ENTRIES = FIRST_SHARED_TABLE * HEAD_ALPHABET + SHARED_TABLES * ALPHABET + 1;
static_assert(CODE_ENTRIES * sizeof(uint2) == CODING_TABLE_BYTES && 9 * BOUND_SHIFTS <= HEAD_ALPHABET,
    "the tables have their place");
__device__ __forceinline__ uint2* code_entries(const Job& job, u32 table) {
    return CountView(job).code_entries() +
           (table < FIRST_SHARED_TABLE
                   ? table * HEAD_ALPHABET
                   : FIRST_SHARED_TABLE * HEAD_ALPHABET + (table - FIRST_SHARED_TABLE) * ALPHABET);
}

// One tile in this many is counted.
__device__ __forceinline__ u32 sample_step(const Job& job) {
    return job.predictor == PREDICTOR_LORENZO ? tiles_of_sample(job.tiles()) : 1;
}

// A block per table, then blocks that weigh tiles.
constexpr u32 TABLE_WARPS = TABLE_THREADS / 32, TABLE_BLOCKS = TABLES;
static_assert(TABLE_THREADS == ALPHABET, "a thread for a symbol");

// Weight of a tile, an estimate of its decoding work.
__device__ __forceinline__ u32 weight_of_tile(const Job& job, u64 tile) {
    if (job.predictor != PREDICTOR_LORENZO) return sizes_of(job, tile).weight;
    const u32 info = TileView(job).headers()[tile], states = mask_state_in(info);
    const u32 lists = (u32)has_mask_list(states, 0) + has_mask_list(states, 1),
              steps = has_codes(states) ? steps_of_activity(activity_in(info, 0)) : 0;
    return TILE_WEIGHT + MASK_LIST_WEIGHT * lists + STEP_WEIGHT * steps;
}

// By the blocks behind those of the tables; the last one to finish scans the chunks.
__device__ __forceinline__ void weigh_tiles(const Job& job, Control& control) {
    const CountView work(job);
    constexpr u32 EACH = WEIGHED_TILES / TABLE_THREADS;
    __shared__ u32 ticket;
    const u64 chunk = blockIdx.x - TABLE_BLOCKS, chunks = gridDim.x - TABLE_BLOCKS,
              first = chunk * WEIGHED_TILES + EACH * threadIdx.x;
    u32 weights[EACH], sum = 0;
#pragma unroll
    for (u32 i = 0; i < EACH; i++) weights[i] = first + i < job.tiles() ? weight_of_tile(job, first + i) : 0;
#pragma unroll
    for (u32 i = 0; i < EACH; i++) sum += weights[i];
    u64 all;
    u32 before = (u32)block_exclusive_sum(sum, all);
#pragma unroll
    for (u32 i = 0; i < EACH; i++) {
        if (first + i < job.tiles()) sizes_of(job, first + i).before = before;
        before += weights[i];
    }
    if (threadIdx.x == 0) {
        work.chunk_weights()[chunk] = all;
        __threadfence();
        ticket = atomicAdd(&control.tickets[TICKET_TABLES], 1);
    }
    __syncthreads();
    if (ticket != chunks - 1) return;
    __threadfence();
    u64 total = 0;
    for (u64 base = 0; base < chunks; base += TABLE_THREADS) {
        const u64 k = base + threadIdx.x;
        const u64 before_mine = block_exclusive_sum(k < chunks ? __ldcg(&work.chunk_weights()[k]) : 0, all);
        if (k < chunks) work.chunk_weights()[k] = total + before_mine;
        total += all;
    }
    if (threadIdx.x != 0) return;
    control.weight = total;
    control.weight_before_last = total - weight_of_tile(job, job.tiles() - 1);
}

// Weight of all tiles before one, with a term that keeps groups below 256 tiles.
__device__ __forceinline__ u64 weight_before(const Job& job, u32 group_weight, u32 tile) {
    return CountView(job).chunk_weights()[tile / WEIGHED_TILES] + sizes_of(job, tile).before +
           (u64)tile * (group_weight / 255 + 1);
}

// Quotient of integers below 2^53.
__device__ __forceinline__ u64 quotient(u64 a, u64 b) {
    // Rounding to nearest can exceed it by one, if it is an integer.
    const u64 q = (u64)((double)a / (double)b);
    return q * b > a ? q - 1 : q;
}

struct Grouping {
    u32 weight;  // at most, of the tiles of a group
    u64 groups;
};
// Divides the tiles into groups of equal weight. Every encoding block computes this itself, which is cheaper
// than waiting for one block.
__device__ __forceinline__ Grouping choose_groups(const Job& job) {
    const Control& control = control_of(job);
    const u64 cost = control.cost, raw_bits = control.raw_bits, all = control.weight,
              before_last = control.weight_before_last;
    // Scale the sample up to all tiles.
    const u64 bytes = ((cost >> 8) + raw_bits) / 8 * sample_step(job),
              wanted = quotient(all * GROUP_BYTES, bytes ? bytes : 1);
    constexpr u32 MOST = 1u << 28;
    Grouping g;
    g.weight = wanted < LEAST_GROUP_WEIGHT ? (u32)LEAST_GROUP_WEIGHT : wanted < MOST ? (u32)wanted : MOST;
    g.groups = quotient(before_last + (job.tiles() - 1) * (g.weight / 255 + 1), g.weight) + 1;
    return g;
}

// First tile of a group (lanes 0-15) and of the next group (lanes 16-31), or the number of tiles. A parallel
// search, PROBES places per lane: several if latency counts, one if there are so many groups that bandwidth
// does.
template <u32 PROBES>
__device__ __forceinline__ u32 first_tile_of(const Job& job, u32 group_weight, u64 group) {
    constexpr u32 ALL = 32 * PROBES;
    const u32 lane = threadIdx.x & 31;
    const u64 wanted = group * group_weight;
    // 32 bits suffice (device/capacities.cuh).
    u32 low[2] = {0, 0}, high[2] = {(u32)job.tiles(), (u32)job.tiles()};
    while (low[0] < high[0] || low[1] < high[1]) {
        // All lanes search for both, so that their loads overlap.
        u32 steps[2];
        bool before[2][PROBES];
#pragma unroll
        for (u32 i = 0; i < 2; i++) {
            steps[i] = high[i] - low[i] <= ALL ? 1 : (high[i] - low[i]) / (ALL + 1);
#pragma unroll
            for (u32 k = 0; k < PROBES; k++) {
                const u32 tile = low[i] + steps[i] * (32 * k + lane + 1) - 1;
                before[i][k] = tile < high[i] &&
                               weight_before(job, group_weight, tile) < wanted + (i ? group_weight : 0);
            }
        }
#pragma unroll
        for (u32 i = 0; i < 2; i++) {
            // Probe n is the first that is not before the boundary; all tiles up to probe n - 1 are.
            u32 n = 0;
#pragma unroll
            for (u32 k = 0; k < PROBES; k++) n += __popc(__ballot_sync(FULL, before[i][k]));
            const u32 above = low[i] + steps[i] * (n + 1) - 1;
            low[i] += steps[i] * n;
            if (n < ALL && above < high[i]) high[i] = above;
        }
    }
    return lane < 16 ? low[0] : low[1];
}

// Each table is first written to a place of the largest size.
constexpr u32 STORED_WORDS = 255;
__device__ __forceinline__ u32* stored_table(const Job& job, u32 table) {
    return CountView(job).stored_tables() + DIRECTORY_BYTES / 4 + table * STORED_WORDS;
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

// count * SCALE_TO / total, to nearest, at least 1; count <= total.
template <u32 SCALE_TO>
__device__ __forceinline__ u32 scaled_count(u64 count, u64 total) {
    // The float quotient is off by less than one.
    const u64 x = count * SCALE_TO + total / 2;
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

// Writes the stored form of a table. Call with a block, after a barrier.
__device__ __forceinline__ void store_table(const Job& job, const TableShared& shared, u32 table, u32 bits) {
    const u32 words = (bits + 31) / 32;
    if (threadIdx.x < words) stored_table(job, table)[threadIdx.x] = shared.words[threadIdx.x];
    if (threadIdx.x == 0) CountView(job).table_lengths()[table] = (u8)words;
}

// Adds the cost of a table's symbols and raw bits to those of the call. Call with a block, after a barrier.
__device__ __forceinline__ void add_cost(Control& control, const TableShared& shared) {
    if (threadIdx.x >= 2) return;
    const u64 sum = threadIdx.x == 0 ? sum_of(shared.costs) : sum_of(shared.raw);
    if (sum) atomicAdd((ull*)(threadIdx.x == 0 ? &control.cost : &control.raw_bits), (ull)sum);
}

// Raw bits after a symbol of a table. List sizes follow mask states and activities.
template <typename T>
__device__ __forceinline__ u32 raw_of_table(const Job& job, u32 table, u32 symbol) {
    const bool lorenzo = job.predictor == PREDICTOR_LORENZO;
    const u32 kind = coded_by(lorenzo, table);
    if (kind == CODES_RUNS) return symbol < RUNS ? run_bits(symbol) : 0;
    if (kind == CODES_VERTICES)
        return symbol < SYMBOLS ? raw_bits(symbol, lorenzo || table == ANCHOR_TABLE ? 0 : 1, sizeof(T)) : 0;
    if (kind == CODES_BYTES) return 0;
    if (table != MASK_STATE)
        return !lorenzo && is_sparse(symbol) ? count_bits(table >= FINE_ACTIVITY     ? 2
                                                          : table >= MIDDLE_ACTIVITY ? 1
                                                                                     : 0,
                                                   symbol)
                                             : 0;
    const u32 states = symbol % 9;
    return MASK_COUNT_BITS * (has_mask_list(states, 0) + has_mask_list(states, 1));
}

// Count of a symbol and of its table; own: the symbol has its own code, not the escape's.
struct Counts {
    u64 count, total;
    bool own;
};
// Finds which symbols have their own codes in a table with PARTS parts to divide. Call with a block, a thread
// per symbol; the results of the warps are valid after the next barrier. False if there are no symbols: the
// empty table is done.
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
    counts.own = symbol < ESCAPE && counts.count >= 2 && counts.count * (4 * PARTS) >= 3 * counts.total;
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

// rANS frequencies and their stored form. Call with a block, a thread per symbol.
__device__ __forceinline__ void make_rans_table(const Job& job, TableShared& shared, u32 raw) {
    Control& control = control_of(job);
    const u32 table = blockIdx.x, symbol = threadIdx.x, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    uint2* const entries = code_entries(job, table);
    const bool has_entry = table >= FIRST_SHARED_TABLE || symbol < HEAD_ALPHABET;
    Counts counts;
    if (!find_counts<SCALE>(job, shared, table, has_entry, counts)) return;
    const u64 count = counts.count, total = counts.total;
    const bool own = counts.own;
    u32 f = own ? scaled_count<SCALE>(count, total) : 0;
    // The most frequent symbol, the smallest of several, absorbs the rounding.
    u32 sum = warp_sum(f), largest = warp_max(f << 8 | (255 - symbol));
    if (lane == 0) shared.sums[0][warp] = sum, shared.largest[0][warp] = largest;
    __syncthreads();
    const u64 listed = sum_of(shared.listed);
    sum = sum_of(shared.sums[0]);
    u32 escape = 0;
    if (listed < total) {
        escape = scaled_count<SCALE>(total - listed, total);
        sum += escape;
        if (symbol == ESCAPE) f = escape;
    }
    for (u32 turn = 0;; turn++) {
        largest = escape << 8 | (255 - ESCAPE);
#pragma unroll
        for (u32 k = 0; k < TABLE_WARPS; k++) largest = max(largest, shared.largest[turn & 1][k]);
        i32 change = (i32)SCALE - (i32)sum;
        if (change < -(i32)(largest >> 9)) change = -(i32)(largest >> 9);
        if (symbol == 255 - (largest & 255)) f += (u32)change;
        if ((largest & 255) == 255 - ESCAPE) escape += (u32)change;
        sum += (u32)change;
        if (sum == SCALE) break;
        largest = warp_max(f << 8 | (255 - symbol));
        if (lane == 0) shared.largest[(turn + 1) & 1][warp] = largest;
        __syncthreads();
    }
    // Start in the scale, and bit offset in the stored form.
    const Listed before = symbols_before(shared);
    const u32 number = before.all + (listed < total);
    const u32 gap = (u32)((i32)symbol - before.previous), gap_bits = 31 - __clz(gap), length = 31 - __clz(f);
    const u32 mine = f ? f << 16 | (2 * gap_bits + 5 + length) : 0;
    const u32 up_to_me = warp_inclusive_sum(mine);
    if (lane == 31) shared.places[warp] = up_to_me;
    const u32 frequency = own ? f : escape ? escape : 1;
    u64 cost = count ? count * ((own ? 0 : 8 << 8) + (SCALE_BITS << 8) - log2_fixed(frequency)) : 0;
    cost = warp_sum64(cost);
    const u64 raw_bits = warp_sum64(count * raw);
    if (lane == 0) shared.costs[warp] = cost, shared.raw[warp] = raw_bits;
    __syncthreads();
    u32 place = up_to_me - mine, bits = 8;
#pragma unroll
    for (u32 k = 0; k < TABLE_WARPS; k++) {
        if (k < warp) place += shared.places[k];
        bits += shared.places[k] & 0xffff;
    }
    // The escape is the last symbol, so its frequency ends the scale.
    if (has_entry)
        entries[symbol] = make_uint2(frequency << 16 | raw_flag(job, table, symbol) |
                                         (own ? place >> 16 : ENTRY_ESCAPES | (SCALE - escape)),
            0xffffffffu / frequency);
    if (symbol == 0) atomicOr(&shared.words[0], number - 1);
    if (f) {
        const u64 value = ((u64)(gap & ((1u << gap_bits) - 1)) << 1 | 1) << gap_bits |
                          (u64)length << (2 * gap_bits + 1) |
                          (u64)(f & ((1u << length) - 1)) << (2 * gap_bits + 5);
        store_bits(shared.words, 8 + (place & 0xffff), value);
    }
    __syncthreads();
    store_table(job, shared, table, bits);
    add_cost(control, shared);
}

// Huffman code lengths, codes and their stored form. Call with a block, a thread per symbol.
__device__ __forceinline__ void make_huffman_table(const Job& job, TableShared& shared, u32 raw) {
    // By symbol, then by weight.
    __shared__ u32 keys[ALPHABET], leaves[ALPHABET + 4], sums[ALPHABET + 4], lengths[ALPHABET],
        inner[ALPHABET], escape_code[2];
    // Ancestor of each inner node, and its distance << 16.
    __shared__ u32 above[2][ALPHABET];
    Control& control = control_of(job);
    const u32 table = blockIdx.x, symbol = threadIdx.x, lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    uint2* const entries = code_entries(job, table);
    const bool has_entry = table >= FIRST_SHARED_TABLE || symbol < HEAD_ALPHABET;
    Counts counts;
    if (!find_counts<CODES>(job, shared, table, has_entry, counts)) return;
    const u64 count = counts.count, total = counts.total;
    const bool own = counts.own;
    u32 weight = own ? scaled_count<1 << WEIGHT_BITS>(count, total) : 0;
    __syncthreads();
    const u64 listed = sum_of(shared.listed);
    const bool has_escape = listed < total;
    if (has_escape && symbol == ESCAPE) weight = scaled_count<1 << WEIGHT_BITS>(total - listed, total);
    // Symbols with a code, in symbol order.
    const Listed before = symbols_before(shared);
    const u32 n = before.all + has_escape, number = before.number;
    // Rank by weight, then symbol.
    const u32 key = weight << 8 | symbol;
    if (weight) keys[number] = key;
    leaves[symbol] = sums[symbol] = NO_WEIGHT;
    if (symbol < 4) leaves[ALPHABET + symbol] = sums[ALPHABET + symbol] = NO_WEIGHT;
    inner[symbol] = 0;
    __syncthreads();
    u32 rank = 0;
    if (weight)
        for (u32 i = 0; i < n; i++) rank += keys[i] < key;
    if (weight) leaves[rank] = weight;
    __syncthreads();
    if (symbol == 0) join_weights(leaves, sums, above[0], (i32)n);
    __syncthreads();
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
    const u32 taken_here = warp_sum(symbol < n ? CODES >> own_length : 0);
    if (lane == 0) shared.sums[0][warp] = taken_here;
    __syncthreads();
    const u32 taken = sum_of(shared.sums[0]);
    if (taken != CODES) {
        if (symbol == 0) limit_lengths(lengths, (i32)n, taken);
        __syncthreads();
    }
    // Canonical order: by length, then symbol.
    const u32 length = weight ? lengths[rank] : NO_CODE, code_key = length << 8 | symbol;
    if (weight) keys[number] = code_key;
    __syncthreads();
    u32 start = 0;
    if (weight)
        for (u32 i = 0; i < n; i++) start += keys[i] < code_key ? CODES >> (keys[i] >> 8) : 0;
    if (symbol == ESCAPE) escape_code[0] = length, escape_code[1] = start;
    const u32 gap = (u32)((i32)symbol - before.previous), gap_bits = 31 - __clz(gap),
              mine = weight ? 2 * gap_bits + 5 : 0;
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
    const u32 code = own          ? length << 16 | reversed_code(start)
                     : has_escape ? escape << 16 | reversed_code(escape_code[1])
                                  : 0;
    if (has_entry)
        entries[symbol] = make_uint2(code | raw_flag(job, table, symbol) | (own ? 0 : ENTRY_ESCAPES), 0);
    const u64 cost = warp_sum64(count * (own ? length : has_escape ? escape + 8 : 0)) << 8;
    const u64 raw_bits = warp_sum64(count * raw);
    if (lane == 0) shared.costs[warp] = cost, shared.raw[warp] = raw_bits;
    if (symbol == 0) atomicOr(&shared.words[0], n - 1);
    if (weight)
        store_bits(shared.words, 8 + place,
            ((u64)(gap & ((1u << gap_bits) - 1)) << 1 | 1) << gap_bits | (u64)length << (2 * gap_bits + 1));
    __syncthreads();
    store_table(job, shared, table, bits);
    add_cost(control, shared);
}

// Grid: TABLE_BLOCKS, then a block per WEIGHED_TILES tiles. Block: TABLE_THREADS threads. Static shared:
// TableShared. Reads: counts, list sizes, info. Writes: coding entries, stored tables, cost, weights. Waits
// for: the previous kernel.
template <typename T, bool HUFFMAN>
__device__ __forceinline__ void tables(const Job& job) {
    __shared__ TableShared shared;
    shared.words[threadIdx.x] = 0;
    static_assert(STORED_WORDS + 1 == TABLE_THREADS, "a word for a thread");
    const u32 raw = blockIdx.x < TABLE_BLOCKS ? raw_of_table<T>(job, blockIdx.x, threadIdx.x) : 0;
    after_kernel_before();
    if (blockIdx.x >= TABLE_BLOCKS)
        weigh_tiles(job, control_of(job));
    else if (HUFFMAN)
        make_huffman_table(job, shared, raw);
    else
        make_rans_table(job, shared, raw);
    if (blockIdx.x != 0) return;
    if (threadIdx.x == 0) *code_entries(job, NO_TABLE) = make_uint2(HUFFMAN ? 0 : SCALE << 16, 0);
    if (threadIdx.x >= TABLES && threadIdx.x < DIRECTORY_BYTES)
        CountView(job).table_lengths()[threadIdx.x] = 0;
}
