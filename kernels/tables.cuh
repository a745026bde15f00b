// Entries that make the tables of a coder from the counts, and their stored form. Twins: src/stage/entropy/table.rs,
// ans.rs and huffman.rs.
#pragma once
#include "lists.cuh"

__device__ __forceinline__ u64 warp_sum64(u64 x) {
    for (i32 k = 16; k > 0; k /= 2) x += __shfl_xor_sync(FULL, x, k);
    return x;
}

// Entries of the lists of a tile: coarse, middle and fine block, then the zero and the fill mask; its share of the work,
// and that of the tiles before it in its chunk of them. In the place of the nearness, which nobody asks for any more.
struct ListSizes {
    u16 blocks[3], masks[2], weight;
    u32 before;
    u64 first_tile;  // of the group with this number
    u64 unused;
};
static_assert(sizeof(ListSizes) <= sizeof(Nearness), "one takes the place of the other");
__device__ __forceinline__ ListSizes& sizes_of(const Job& job, u64 tile) {
    return reinterpret_cast<ListSizes*>(job.nearness)[tile];
}
// All of them and the weight at once; what is before is not known yet.
__device__ __forceinline__ void write_sizes(ListSizes& to, u32 coarse, u32 middle, u32 fine, const u32 (&masks)[2], u32 weight) {
    static_assert(offsetof(ListSizes, masks) == 6 && offsetof(ListSizes, weight) == 10 && sizeof(ListSizes) % 16 == 0, "in order");
    *reinterpret_cast<uint4*>(&to) = make_uint4(coarse | middle << 16, fine | masks[0] << 16, masks[1] | weight << 16, 0);
}

// How a symbol of a table is coded: frequency << 16 | start, or length << 16 | code, and the reciprocal of the frequency. Where a table has
// no entry for a symbol that of the escape takes its place.
constexpr u32 ENTRY_ESCAPES = 1u << 15, ENTRY_RAW = 1u << 14;
// Whether raw bits follow a symbol of a table. (Those of an anchor depend on more.)
__device__ __forceinline__ u32 raw_flag(u32 table, u32 symbol) {
    return symbol >= (table >= RUN ? FIRST_RUN_WITH_RAW_BITS : table >= ANCHOR_TABLE ? FIRST_WITH_RAW_BITS : ALPHABET) ? ENTRY_RAW : 0;
}
__device__ __forceinline__ u32 code_in(u32 entry) { return entry & 0xfff; }
// A table of one entry, for symbol 0, that leaves a state as it is: no bits, or the whole scale.
constexpr u32 NO_TABLE = TABLES;
// The tables of modes and classes, the first ones, have fewer symbols.
constexpr u32 HEAD_ALPHABET = 128, CODE_ENTRIES = FIRST_SHARED_TABLE * HEAD_ALPHABET + SHARED_TABLES * ALPHABET + 1;
static_assert(CODE_ENTRIES == 10497 && 9 * TIERS <= HEAD_ALPHABET, "plan.rs has room for as many");
__device__ __forceinline__ uint2* code_entries(const Job& job, u32 table) {
    return reinterpret_cast<uint2*>(job.tables) +
           (table < FIRST_SHARED_TABLE ? table * HEAD_ALPHABET : FIRST_SHARED_TABLE * HEAD_ALPHABET + (table - FIRST_SHARED_TABLE) * ALPHABET);
}

// ---------------------------------------------------------------- groups of equal work

// Twin of Groups in src/backend/cpu.rs. Tiles that a block weighs; the sums of these chunks lie where the sizes of groups will, what is before
// each of them where the counts were.
constexpr u32 WEIGHED_TILES = 4096;

// By the blocks of 1024 behind the first one.
__device__ __forceinline__ void weigh_tiles(const Job& job, u64 chunk) {
    constexpr u32 EACH = WEIGHED_TILES / 1024;
    const u64 first = chunk * WEIGHED_TILES + EACH * threadIdx.x;
    u32 weights[EACH], sum = 0;
#pragma unroll
    for (u32 i = 0; i < EACH; i++) {
        weights[i] = first + i < job.tiles() ? sizes_of(job, first + i).weight : 0;
        sum += weights[i];
    }
    u64 all;
    u32 before = (u32)block_exclusive_sum(sum, all);
#pragma unroll
    for (u32 i = 0; i < EACH; i++) {
        if (first + i < job.tiles()) sizes_of(job, first + i).before = before;
        before += weights[i];
    }
    if (threadIdx.x == 0) job.group_sizes[chunk] = all;
}

// Weight of all tiles before one, and what keeps a group below 256 tiles.
__device__ __forceinline__ u32 weight_of_tile(u64 group_weight) { return (u32)group_weight / 255 + 1; }
__device__ __forceinline__ u64 weight_before(const Job& job, u32 each, u32 tile) {
    return job.counts[tile / WEIGHED_TILES] + sizes_of(job, tile).before + (u64)tile * each;
}

// By the last block of 1024, for which it ends the kernel.
__device__ __forceinline__ void choose_groups(const Job& job, Control& control) {
    const u64 chunks = (job.tiles() + WEIGHED_TILES - 1) / WEIGHED_TILES;
    u64 total = 0;
    for (u64 base = 0; base < chunks; base += blockDim.x) {
        const u64 chunk = base + threadIdx.x;
        u64 all;
        const u64 before = block_exclusive_sum(chunk < chunks ? __ldcg(&job.group_sizes[chunk]) : 0, all);
        if (chunk < chunks) job.counts[chunk] = total + before;
        total += all;
    }
    __threadfence_block();
    __syncthreads();
    if (threadIdx.x != 0) return;
    const u64 bytes = ((*(volatile u64*)&control.cost >> 8) + control.raw_bits) / 8, most = 1ull << 28;
    u64 weight = total * GROUP_BYTES / (bytes ? bytes : 1);
    weight = weight < LEAST_GROUP_WEIGHT ? LEAST_GROUP_WEIGHT : weight < most ? weight : most;
    const u64 last = job.tiles() - 1;
    const u64 before = *(volatile u64*)&job.counts[last / WEIGHED_TILES] + __ldcg(&sizes_of(job, last).before) + last * weight_of_tile(weight);
    control.group_weight = weight;
    control.groups = before / weight + 1;
}

// The first tile of a group in the lower half of the warp, that of the next group in the upper half; the number of tiles behind the last group.
// (There is no memory for 2^32 tiles.)
__device__ __forceinline__ u32 first_tile_of(const Job& job, u64 group_weight, u64 group) {
    constexpr u32 PROBES = 16, PART = ~0u / (PROBES + 1);
    const u32 lane = threadIdx.x & (PROBES - 1), half = threadIdx.x >> 4 & 1, each = weight_of_tile(group_weight);
    const u64 wanted = (group + half) * group_weight;
    u32 low = 0, high = (u32)job.tiles();
    while (__any_sync(FULL, low < high)) {
        const u32 span = high - low, tile = low + (span <= PROBES ? lane : __umulhi(span, (lane + 1) * PART));
        const bool before = tile < high && weight_before(job, each, tile) < wanted;
        const u32 n = __popc(__ballot_sync(FULL, before) >> (PROBES * half) & 0xffff);
        // Probe n is the first one that is not before; all tiles up to that of probe n - 1 are.
        const u32 below = __shfl_sync(FULL, tile, n > 0 ? n - 1 : 0, PROBES), above = __shfl_sync(FULL, tile, n < PROBES ? n : 0, PROBES);
        if (low < high) {
            if (n < PROBES && above < high) high = above;
            if (n > 0) low = below + 1;
        }
    }
    return low;
}

// Where a table is written first: every one has a place of the largest size.
constexpr u32 STORED_WORDS = 255;
__device__ __forceinline__ u32* stored_table(const Job& job, u32 table) {
    return reinterpret_cast<u32*>(job.table_section) + TABLE_SIZES_BYTES / 4 + table * STORED_WORDS;
}

// Moves the stored tables up to each other. By the last block of 1024, for which it ends the kernel; the directory holds their sizes.
__device__ __forceinline__ void close_tables(const Job& job, Control& control) {
    __shared__ u32 sizes[TABLES], offsets[TABLES + 1];
    constexpr u32 EACH = (TABLES * STORED_WORDS + 1023) / 1024;
    u32* const section = reinterpret_cast<u32*>(job.table_section);
    if (threadIdx.x < TABLES) sizes[threadIdx.x] = *(volatile u8*)&job.table_section[threadIdx.x];
    __syncthreads();
    if (threadIdx.x <= TABLES) {
        u32 before = TABLE_SIZES_BYTES / 4;
        for (u32 table = 0; table < threadIdx.x; table++) before += sizes[table];
        offsets[threadIdx.x] = before;
    }
    u32 words[EACH];
#pragma unroll
    for (u32 i = 0; i < EACH; i++) {
        const u32 place = i * 1024 + threadIdx.x, table = place / STORED_WORDS, k = place % STORED_WORDS;
        words[i] = table < TABLES && k < sizes[table] ? __ldcg(&stored_table(job, table)[k]) : 0;
    }
    __syncthreads();
#pragma unroll
    for (u32 i = 0; i < EACH; i++) {
        const u32 place = i * 1024 + threadIdx.x, table = place / STORED_WORDS, k = place % STORED_WORDS;
        if (table < TABLES && k < sizes[table]) section[offsets[table] + k] = words[i];
    }
    if (threadIdx.x >= TABLES && threadIdx.x < TABLE_SIZES_BYTES) job.table_section[threadIdx.x] = 0;
    if (threadIdx.x == 0) control.table_bytes = offsets[TABLES] * 4;
}

// Blocks that make tables, a warp for one: no more than four in a block, so that none waits for another.
constexpr u32 TABLE_WARPS = 4, TABLE_BLOCKS = (TABLES + TABLE_WARPS - 1) / TABLE_WARPS;
static_assert(TABLE_BLOCKS == 13, "launch.rs asks for as many");

// Frequencies and their stored form from the counts. By blocks of 1024, a warp for a table.
template <typename T>
__device__ __forceinline__ void make_frequencies(const Job& job) {
    __shared__ u32 stored[TABLE_WARPS][STORED_WORDS];
    Control& control = control_of(job);
    const i32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    u64 cost = 0;
    if (const u32 table = TABLE_WARPS * blockIdx.x + warp; warp < (i32)TABLE_WARPS && table < TABLES) {
        const u64* counts = job.counts + table * ALPHABET;
        u64 count[8];
        u32 f[8];
        u64 total = 0, listed = 0;
#pragma unroll
        for (i32 k = 0; k < 8; k++) {
            count[k] = counts[lane * 8 + k];
            total += count[k];
            f[k] = 0;
        }
        total = warp_sum64(total);
        uint2* const entries = code_entries(job, table);
        const u32 symbols = table < FIRST_SHARED_TABLE ? HEAD_ALPHABET : ALPHABET;
        if (total == 0) {
            // Never looked up, but copied with the others.
            for (u32 symbol = lane; symbol < symbols; symbol += 32) entries[symbol] = make_uint2(0, 0);
            if (lane == 0) job.table_section[table] = 0;
            return;
        }
        auto scaled = [&](u64 n) -> u32 {
            u64 x = (n * SCALE + total / 2) / total;
            return x > 1 ? (u32)x : 1;
        };
#pragma unroll
        for (i32 k = 0; k < 8; k++) {
            const u32 symbol = lane * 8 + k;
            if (symbol < ESCAPE && count[k] >= 2 && count[k] * (4 * SCALE) >= 3 * total) {
                f[k] = scaled(count[k]);
                listed += count[k];
            }
        }
        listed = warp_sum64(listed);
        if (lane == 31 && listed < total) f[7] = scaled(total - listed);
        i32 sum = 0;
#pragma unroll
        for (i32 k = 0; k < 8; k++) sum += f[k];
        sum = (i32)warp_sum((u32)sum);
        while (sum != (i32)SCALE) {
            // The most frequent symbol, the first of several.
            u32 best = 0;
#pragma unroll
            for (i32 k = 0; k < 8; k++) {
                const u32 key = f[k] << 8 | (255 - (lane * 8 + k));
                if (key > best) best = key;
            }
            for (i32 k = 16; k > 0; k /= 2) {
                const u32 other = __shfl_xor_sync(FULL, best, k);
                if (other > best) best = other;
            }
            const i32 symbol = 255 - (i32)(best & 255), largest = (i32)(best >> 8);
            i32 change = (i32)SCALE - sum;
            if (change < -(largest / 2)) change = -(largest / 2);
#pragma unroll
            for (i32 k = 0; k < 8; k++)
                if (symbol == lane * 8 + k) f[k] = (u32)((i32)f[k] + change);
            sum += change;
        }
        // Starts, and what the symbols cost.
        u32 mine = 0;
#pragma unroll
        for (i32 k = 0; k < 8; k++) mine += f[k];
        u32 start = mine;
        for (i32 k = 1; k < 32; k *= 2) {
            const u32 other = __shfl_up_sync(FULL, start, k);
            if (lane >= k) start += other;
        }
        start -= mine;
        const u32 escape = __shfl_sync(FULL, f[7], 31);
#pragma unroll
        for (i32 k = 0; k < 8; k++) {
            const u32 symbol = lane * 8 + k;
            const bool own = f[k] > 0 && symbol != ESCAPE;
            // The escape is the last symbol, so that its frequencies end the scale.
            const u32 frequency = own ? f[k] : escape ? escape : 1;
            if (symbol < symbols)
                entries[symbol] = make_uint2(frequency << 16 | raw_flag(table, symbol) | (own ? start : ENTRY_ESCAPES | (SCALE - escape)), 0xffffffffu / frequency);
            start += f[k];
            if (count[k]) {
                cost += count[k] * ((own ? 0 : 8 << 8) + (SCALE_BITS << 8) - log2_fixed(own ? f[k] : escape));
            }
        }
        // The stored form, least significant bits first: lanes know where theirs begin.
        u32* const words = stored[warp];
        for (u32 k = lane; k < STORED_WORDS; k += 32) words[k] = 0;
        __syncwarp();
        i32 last = -1;
        u32 present = 0;
#pragma unroll
        for (i32 k = 0; k < 8; k++)
            if (f[k]) {
                last = lane * 8 + k;
                present++;
            }
        for (i32 k = 1; k < 32; k *= 2) {
            const i32 other = __shfl_up_sync(FULL, last, k);
            if (lane >= k && other > last) last = other;
        }
        i32 previous = __shfl_up_sync(FULL, last, 1);
        if (lane == 0) previous = -1;
        const i32 before_mine = previous;
        u32 bits = 0;
#pragma unroll
        for (i32 k = 0; k < 8; k++)
            if (f[k]) {
                bits += 2 * (31 - __clz(lane * 8 + k - previous)) + 1 + 4 + (31 - __clz(f[k]));
                previous = lane * 8 + k;
            }
        u32 at = bits;
        for (i32 k = 1; k < 32; k *= 2) {
            const u32 other = __shfl_up_sync(FULL, at, k);
            if (lane >= k) at += other;
        }
        const u32 total_bits = 8 + __shfl_sync(FULL, at, 31);
        at += 8 - bits;
        present = warp_sum(present);
        if (lane == 0) {
            atomicOr(&words[0], present - 1);
            job.table_section[table] = (u8)((total_bits + 31) / 32);
        }
        previous = before_mine;
#pragma unroll 1
        for (i32 k = 0; k < 8; k++) {
            const i32 symbol = lane * 8 + k;
            u32 frequency = f[0];
#pragma unroll
            for (i32 i = 1; i < 8; i++) frequency = i == k ? f[i] : frequency;
            if (frequency == 0) continue;
            const u32 gap = (u32)(symbol - previous), gap_bits = 31 - __clz(gap), length = 31 - __clz(frequency);
            u64 value = (u64)(gap & ((1u << gap_bits) - 1)) << 1 | 1;
            value = value << gap_bits | (u64)length << (2 * gap_bits + 1) |
                    (u64)(frequency & ((1u << length) - 1)) << (2 * gap_bits + 5);
            const u32 shift = at & 31;
            const u64 low = value << shift;
            atomicOr(&words[at >> 5], (u32)low);
            const u32 high = (u32)(low >> 32);
            if (high) atomicOr(&words[(at >> 5) + 1], high);
            if (shift && value >> (64 - shift)) atomicOr(&words[(at >> 5) + 2], (u32)(value >> (64 - shift)));
            at += 2 * gap_bits + 5 + length;
            previous = symbol;
        }
        __syncwarp();
        for (u32 k = lane; k < (total_bits + 31) / 32; k += 32) stored_table(job, table)[k] = words[k];
        __syncwarp();
    }
    cost = warp_sum64(cost);
    if (lane == 0) atomicAdd((ull*)&control.cost, (ull)cost);
}

// Code lengths from the counts, the codes and their stored form. By blocks of 1024, a warp for a table.
template <typename T>
__device__ __forceinline__ void make_codes(const Job& job) {
    __shared__ u32 keys_[TABLE_WARPS][ALPHABET];
    Control& control = control_of(job);
    const i32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    u64 cost = 0;
    if (const u32 table = TABLE_WARPS * blockIdx.x + warp; warp < (i32)TABLE_WARPS && table < TABLES) {
        u32* const keys = keys_[warp];
        const u64* const counts = job.counts + table * ALPHABET;
        uint2* const entries = code_entries(job, table);
        const u32 symbols = table < FIRST_SHARED_TABLE ? HEAD_ALPHABET : ALPHABET;
        u64 count[8], total = 0, listed = 0;
#pragma unroll
        for (i32 k = 0; k < 8; k++) {
            count[k] = counts[lane * 8 + k];
            total += count[k];
        }
        total = warp_sum64(total);
        if (total == 0) {
            // Never looked up, but copied with the others.
            for (u32 symbol = lane; symbol < symbols; symbol += 32) entries[symbol] = make_uint2(0, 0);
            if (lane == 0) job.table_section[table] = 0;
            return;
        }
        auto weight = [&](u64 n) -> u32 {
            const u64 x = ((n << WEIGHT_BITS) + total / 2) / total;
            return x > 1 ? (u32)x : 1;
        };
        u32 weights[8];
#pragma unroll
        for (i32 k = 0; k < 8; k++) {
            weights[k] = 0;
            if (lane * 8 + k < (i32)ESCAPE && count[k] >= 2 && count[k] * (4 * CODES) >= 3 * total) {
                weights[k] = weight(count[k]);
                listed += count[k];
            }
        }
        listed = warp_sum64(listed);
        if (lane == 31 && listed < total) weights[7] = weight(total - listed);
        // The symbols with a code, by weight and then by symbol.
        u32 mine = 0;
#pragma unroll
        for (i32 k = 0; k < 8; k++) mine += weights[k] != 0;
        u32 at = mine;
        for (i32 k = 1; k < 32; k *= 2) {
            const u32 other = __shfl_up_sync(FULL, at, k);
            if (lane >= k) at += other;
        }
        const u32 n = __shfl_sync(FULL, at, 31);
        at -= mine;
#pragma unroll
        for (i32 k = 0; k < 8; k++)
            if (weights[k]) keys[at++] = weights[k] << 8 | (u32)(lane * 8 + k);
        __syncwarp();
        u32 rank[8];
#pragma unroll
        for (i32 k = 0; k < 8; k++) rank[k] = 0;
        for (u32 i = 0; i < n; i++) {
            const u32 key = keys[i];
#pragma unroll
            for (i32 k = 0; k < 8; k++) rank[k] += key < (weights[k] << 8 | (u32)(lane * 8 + k));
        }
        __syncwarp();
#pragma unroll
        for (i32 k = 0; k < 8; k++)
            if (weights[k]) keys[rank[k]] = weights[k];
        __syncwarp();
        if (lane == 0) {
            unlimited_lengths(keys, (i32)n);
            limit_lengths(keys, (i32)n);
        }
        __syncwarp();
        u32 lengths[8], starts[8];
#pragma unroll
        for (i32 k = 0; k < 8; k++) {
            lengths[k] = weights[k] ? keys[rank[k]] : NO_CODE;
            starts[k] = 0;
        }
        code_starts(lengths, starts);
        __syncwarp();
        const u32 escape = __shfl_sync(FULL, lengths[7], 31), last = __shfl_sync(FULL, starts[7], 31);
#pragma unroll
        for (i32 k = 0; k < 8; k++) {
            const u32 symbol = lane * 8 + k;
            const bool own = lengths[k] != NO_CODE && symbol != ESCAPE;
            const u32 code = own ? lengths[k] << 16 | reversed_code(starts[k]) : escape == NO_CODE ? 0 : escape << 16 | reversed_code(last);
            if (symbol < symbols) entries[symbol] = make_uint2(code | raw_flag(table, symbol) | (own ? 0 : ENTRY_ESCAPES), 0);
            keys[symbol] = lengths[k];
            cost += count[k] * (own ? lengths[k] : escape == NO_CODE ? 0 : escape + 8);
        }
        __syncwarp();
        if (lane == 0) {
            u32* const out = stored_table(job, table);
            u64 pending = n - 1;
            u32 bits = 8, words = 0;
            i32 previous = -1;
            for (i32 symbol = 0; symbol < (i32)ALPHABET; symbol++) {
                const u32 length = keys[symbol];
                if (length == NO_CODE) continue;
                const u32 gap = (u32)(symbol - previous), gap_bits = 31 - __clz(gap);
                const u64 value = ((u64)(gap & ((1u << gap_bits) - 1)) << 1 | 1) << gap_bits | (u64)length << (2 * gap_bits + 1);
                pending |= value << bits;
                bits += 2 * gap_bits + 5;
                if (bits >= 32) {
                    out[words++] = (u32)pending;
                    pending >>= 32;
                    bits -= 32;
                }
                previous = symbol;
            }
            if (bits) out[words++] = (u32)pending;
            job.table_section[table] = (u8)words;
        }
        __syncwarp();
    }
    cost = warp_sum64(cost);
    if (lane == 0) atomicAdd((ull*)&control.cost, (ull)cost << 8);
}

// Grid: TABLE_BLOCKS, then a block for each WEIGHED_TILES tiles. Block: 1024. The tables of a coder, and the groups.
template <typename T, bool HUFFMAN>
__device__ __forceinline__ void tables(const Job& job) {
    Control& control = control_of(job);
    if (blockIdx.x >= TABLE_BLOCKS)
        weigh_tiles(job, blockIdx.x - TABLE_BLOCKS);
    else if (HUFFMAN)
        make_codes<T>(job);
    else
        make_frequencies<T>(job);
    if (blockIdx.x == 0 && threadIdx.x == 0) *code_entries(job, NO_TABLE) = make_uint2(HUFFMAN ? 0 : SCALE << 16, 0);
    if (!last_block(control, TICKET_TABLES)) return;
    close_tables(job, control);
    choose_groups(job, control);
}
