// Entries of the entropy coder: from symbols to lists, and from these to the stream. Twins: src/stage/entropy, stage/codes.rs.
#pragma once
#include "tables.cuh"

// The bytes of a mask that lane y codes: row y as its difference from the row before.
__device__ __forceinline__ u32 mask_difference(u32 row) {
    const u32 before = __shfl_up_sync(FULL, row, 1);
    return (threadIdx.x & 31) == 0 ? row : row ^ before;
}

// ---------------------------------------------------------------- lists

// An entry of a sparse list, in the place of the words of its tile: at the position where its list begins, and on.
__device__ __forceinline__ u32 make_entry(u32 symbol, u32 position, u32 run) { return run << 18 | position << 8 | symbol; }
__device__ __forceinline__ u32 symbol_of_entry(u32 entry) { return entry & 255; }
__device__ __forceinline__ i32 position_of_entry(u32 entry) { return entry >> 8 & 1023; }
__device__ __forceinline__ u32 run_of_entry(u32 entry) { return entry >> 18; }
template <typename T>
__device__ __forceinline__ u32* entries_of(const Job& job, u64 tile) {
    return reinterpret_cast<u32*>(job.words + tile * (sizeof(T) == 4 ? TILE_WORD_BYTES_F32 : TILE_WORD_BYTES_F64));
}
// At most a third of its vertices are in a sparse list.
constexpr i32 MOST_ENTRIES = TILE_VERTICES / 3 + 11;
constexpr u32 RUN_COUNTS = TABLES - RUN;
constexpr i32 COLLECT_WARPS = 12;
struct CollectShared {
    u32 counts[RUN * ALPHABET];
    u32 runs[RUN_COUNTS * 32];  // few symbols of runs occur
    u8 raw_bits[ALPHABET];
    u32 entries[COLLECT_WARPS][MOST_ENTRIES];
};
static_assert(sizeof(CollectShared) == 4 * (43 * 256 + 7 * 32) + 256 + 12 * 4 * 352, "launch.rs asks for as much");

// Counts four symbols of one table: those that are zero in a register.
__device__ __forceinline__ void count_word(const CollectShared& shared, u32* counts, u32 four, u32& zeros, u32& raw) {
    zeros += __popc(__vcmpeq4(four, 0)) >> 3;
    if (four == 0) return;
#pragma unroll
    for (i32 b = 0; b < 4; b++) {
        const u32 s = four >> 8 * b & 255;
        if (s) atomicAdd(&counts[s], 1);
    }
    if (__vcmpgeu4(four, FIRST_WITH_RAW_BITS * 0x01010101u)) {
#pragma unroll
        for (i32 b = 0; b < 4; b++) raw += shared.raw_bits[four >> 8 * b & 255];
    }
}

// The block of word 32 k + lane of a tile's symbols.
__device__ __forceinline__ i32 block_of_word(i32 word) { return word >= 64 ? 2 : word >= 16 ? 1 : 0; }

// Grid: any. Block: 32 * COLLECT_WARPS, a warp for a tile at a time. Dynamic shared: CollectShared. The entries of all sparse lists, counts of all symbols by
// table, and raw bits in all.
template <typename T>
__device__ __forceinline__ void collect(const Job& job) {
    extern __shared__ __align__(16) u32 dynamic_shared[];
    CollectShared& shared = *reinterpret_cast<CollectShared*>(dynamic_shared);
    u32* const counts = shared.counts;
    Control& control = control_of(job);
    const bool lorenzo = job.predictor == PREDICTOR_LORENZO;
    for (u32 k = threadIdx.x; k < RUN * ALPHABET; k += blockDim.x) counts[k] = 0;
    for (u32 k = threadIdx.x; k < RUN_COUNTS * 32; k += blockDim.x) shared.runs[k] = 0;
    fill_raw_bits<T>(shared.raw_bits, lorenzo);
    __syncthreads();
    const i32 lane = threadIdx.x & 31;
    const u32 below_me = (1u << lane) - 1;
    u32* const found = shared.entries[threadIdx.x >> 5];
    const u64 warps = (u64)gridDim.x * COLLECT_WARPS;
    u64 all_raw = 0;
    u64 index = (u64)blockIdx.x * COLLECT_WARPS + (threadIdx.x >> 5);
    u32 next = index < job.tiles() ? job.info[index] : 0;
    for (; index < job.tiles(); index += warps) {
        const u32 info = next, states = mode_in(info);
        if (index + warps < job.tiles()) next = job.info[index + warps];
        if (lane == 0) atomicAdd(&counts[TILE_MODE * ALPHABET + stream_mode(info)], 1);
        u32 raw = 0, weight = TILE_WEIGHT;
        if (states != 0) {
            const TileShape shape = tile_shape(job, index);
#pragma unroll
            for (i32 plane = 0; plane < 2; plane++) {
                if (!has_mask_list(states, plane)) continue;
                const u32 difference = mask_difference(job.masks[index * 64 + plane * TILE + lane]);
                u32 size = 0;
                i32 last = -1;
                for (i32 byte = 0; 8 * byte < shape.owned_x(); byte++) {
                    const u32 value = lane < shape.owned_y() ? difference >> 8 * byte & 255 : 0, present = __ballot_sync(FULL, value != 0);
                    if (present == 0) continue;
                    if (value) {
                        const u32 before = present & below_me;
                        const Run run = encode_run((u32)(32 * byte + lane - (before ? 32 * byte + 31 - __clz(before) : last) - 1));
                        atomicAdd(&shared.runs[(MASK_RUN - RUN) * 32 + run.symbol], 1);
                        atomicAdd(&counts[MASK_BYTE * ALPHABET + value], 1);
                        raw += run.bits;
                    }
                    size += __popc(present);
                    last = 32 * byte + 31 - __clz(present);
                }
                weight += 2 * size;
                if (lane == 0) {
                    sizes_of(job, index).masks[plane] = (u16)size;
                    raw += MASK_COUNT_BITS;
                }
            }
        }
        if (!has_codes(states)) {
            if (lane == 0) sizes_of(job, index).weight = (u16)weight;
            all_raw += raw;
            continue;
        }
        if (lane < 3) atomicAdd(&counts[class_table(info, lane) * ALPHABET + class_in(info, lane)], 1);
        // Word 32 k + lane of the symbols; zero where a block has none.
        const u32* const from = reinterpret_cast<const u32*>(job.symbols + index * TILE_VERTICES);
        u32 words[8];
#pragma unroll
        for (i32 k = 0; k < 8; k++) words[k] = class_in(info, block_of_word(32 * k + lane)) ? from[32 * k + lane] : 0;
        if (!(info & ALL_CODED)) {
            // Vertices without a symbol, by rows; what lies there means nothing.
            const TileShape shape = tile_shape(job, index);
            u32 masked = ~(lane < shape.owned_y() ? row_mask(shape.owned_x()) : 0);
            if (states != 0) masked |= job.masks[index * 64 + lane] | job.masks[index * 64 + TILE + lane];
            auto is_masked = [&](i32 position) -> bool {
                i32 x, y;
                place_in_tile(lorenzo, position, x, y);
                return __shfl_sync(FULL, masked, y) >> x & 1;
            };
#pragma unroll
            for (i32 k = 0; k < 8; k++) {
                u32 four = words[k];
                if (!__any_sync(FULL, four)) continue;
#pragma unroll 1
                for (i32 b = 0; b < 4; b++)
                    if (is_masked(128 * k + 4 * lane + b)) four &= ~(255u << 8 * b);
                words[k] = four;
            }
            // Zeros of dense lists are counted one by one.
#pragma unroll 1
            for (i32 step = 0; step < 32; step++) {
                const i32 position = 32 * step + lane, block = step >= 8 ? 2 : step >= 2 ? 1 : 0;
                const u32 cls = class_in(info, block);
                if (cls == 0 || (step > 0 && is_sparse(cls))) continue;
                const bool dense = position < 16 || !is_sparse(cls);
                if (is_masked(position) || !dense) continue;
                const u32 symbol = job.symbols[index * TILE_VERTICES + position];
                atomicAdd(&counts[table_of(position, cls) * ALPHABET + symbol], 1);
                raw += raw_bits_at<T>(shared.raw_bits, symbol, position);
            }
        } else {
            if (class_in(info, 0)) {
                // The top: a position a lane.
                const u32 symbol = __shfl_sync(FULL, words[0], lane >> 2) >> 8 * (lane & 3) & 255;
                if (lane < 16) {
                    atomicAdd(&counts[table_of(lane, 1) * ALPHABET + symbol], 1);
                    raw += raw_bits_at<T>(shared.raw_bits, symbol, lane);
                }
            }
#pragma unroll
            for (i32 block = 0; block < 3; block++) {
                const u32 cls = class_in(info, block);
                if (cls == 0 || is_sparse(cls)) continue;
                u32* const table = counts + table_of(list_start(block + 1), cls) * ALPHABET;
                u32 zeros = 0;
#pragma unroll
                for (i32 k = block; k < (block == 0 ? 1 : block == 1 ? 2 : 8); k++) {
                    // The middle block begins in the word of the coarse one.
                    if (block == 0 ? lane >= 4 && lane < 16 : true) count_word(shared, table, words[k], zeros, raw);
                }
                if (block == 1 && lane >= 16) count_word(shared, table, words[0], zeros, raw);
                zeros = warp_sum(zeros);
                if (lane == 0 && zeros) atomicAdd(table, zeros);
            }
        }
        // What is not zero in sparse lists, in order.
        u32 size = 0, sizes[3] = {0, 0, 0};
        __syncwarp();
#pragma unroll
        for (i32 k = 0; k < 8; k++) {
            const i32 block = block_of_word(32 * k + lane);
            const u32 four = is_sparse(class_in(info, block)) && (k > 0 || lane >= 4) ? words[k] : 0;
            if (!__any_sync(FULL, four)) continue;
            u32 at = size, added = 0;
#pragma unroll
            for (i32 b = 0; b < 4; b++) {
                const u32 present = __ballot_sync(FULL, four >> 8 * b & 255);
                at += __popc(present & below_me);
                added += __popc(present);
                if (k == 0) sizes[0] += __popc(present & 0xffff);
                if (k < 2) sizes[1] += __popc(k == 0 ? present & 0xffff0000u : present);
            }
#pragma unroll
            for (i32 b = 0; b < 4; b++) {
                const u32 symbol = four >> 8 * b & 255;
                if (symbol) found[at++] = make_entry(symbol, 128 * k + 4 * lane + b, 0);
            }
            size += added;
        }
        sizes[2] = size - sizes[0] - sizes[1];
        __syncwarp();
        u32* const entries = entries_of<T>(job, index);
        for (i32 k = lane; k < (i32)size; k += 32) {
            const u32 entry = found[k], symbol = symbol_of_entry(entry);
            const i32 position = position_of_entry(entry), before = k > 0 ? position_of_entry(found[k - 1]) : -1;
            const i32 block = position >= 256 ? 2 : position >= 64 ? 1 : 0, start = list_start(block + 1);
            const u32 cls = class_in(info, block);
            const u32 skipped = (u32)(position - 1 - (before < start ? start - 1 : before));
            const i32 first = block == 0 ? 0 : block == 1 ? (i32)sizes[0] : (i32)(sizes[0] + sizes[1]);
            entries[start + k - first] = make_entry(symbol, position, skipped);
            const Run run = encode_run(skipped);
            atomicAdd(&shared.runs[(cls - 1) * 32 + run.symbol], 1);
            atomicAdd(&counts[table_of(position, cls) * ALPHABET + symbol], 1);
            raw += run.bits + shared.raw_bits[symbol];
        }
        weight += 2 * size;
#pragma unroll
        for (u32 list = TOP_LIST; list < TILE_LISTS; list++) {
            const u32 cls = class_in(info, list == TOP_LIST ? 0 : (i32)list - 1);
            if (cls && (list == TOP_LIST || !is_sparse(cls))) weight += (u32)(list_end(list) - list_start(list));
        }
        if (lane == 0) sizes_of(job, index).weight = (u16)weight;
        if (lane < 3) {
            const u32 cls = class_in(info, lane);
            sizes_of(job, index).blocks[lane] = (u16)(lane == 0 ? sizes[0] : lane == 1 ? sizes[1] : sizes[2]);
            if (is_sparse(cls)) raw += count_bits(lane, cls);
        }
        all_raw += raw;
    }
    all_raw = warp_sum64(all_raw);
    if (lane == 0 && all_raw) atomicAdd((ull*)&control.raw_bits, (ull)all_raw);
    __syncthreads();
    for (u32 k = threadIdx.x; k < RUN * ALPHABET; k += blockDim.x)
        if (counts[k]) atomicAdd((ull*)&job.counts[k], (ull)counts[k]);
    for (u32 k = threadIdx.x; k < RUN_COUNTS * 32; k += blockDim.x)
        if (shared.runs[k]) atomicAdd((ull*)&job.counts[(RUN + k / 32) * ALPHABET + k % 32], (ull)shared.runs[k]);
}

// ---------------------------------------------------------------- groups

// The tables in shared memory by table and symbol, and lists by warp. rANS: (2^32 - 1) / f by frequency.
constexpr i32 ENCODE_WARPS = 8, MASK_RING = 256;
template <bool HUFFMAN>
struct EncodeShared {
    u32 entries[SHARED_TABLES * ALPHABET];
    u32 reciprocals[HUFFMAN ? 1 : SCALE + 1];
    u8 raw_bits[ALPHABET];
    BatchLists lists[ENCODE_WARPS];
    // Masked rows while symbols are coded, then entries of masks.
    union {
        MaskedRows rows;
        u16 mask_entries[MASK_RING];
    } masks[ENCODE_WARPS];
};
static_assert(sizeof(EncodeShared<false>) == 4 * (32 * 256 + 4097) + 256 + 8 * (2 * 288 + 1024), "launch.rs asks for as much");
static_assert(sizeof(EncodeShared<true>) == 4 * (32 * 256 + 1) + 256 + 8 * (2 * 288 + 1024), "launch.rs asks for as much");

// States and words of one group that is coded backwards, a lane per state.
template <bool HUFFMAN>
struct Encoder {
    const EncodeShared<HUFFMAN>* shared;
    u32 x;
    u16* end;    // one past the last word
    u32 words;   // written so far, from the end

    __device__ __forceinline__ void emit(bool need) {
        const u32 mask = __ballot_sync(FULL, need);
        if (need) {
            const u32 above = __popc(mask >> (threadIdx.x & 31) >> 1);
            end[-1 - (long long)(words + above)] = (u16)x;
            x >>= 16;
        }
        words += __popc(mask);
    }
    // So many raw bits, up to 16; nothing where there are none.
    __device__ __forceinline__ void raw(u32 value, u32 bits) {
        emit(bits && x >> (32 - bits) != 0);
        x = bits ? x << bits | value : x;
    }
    __device__ __forceinline__ const u32* table(u32 number) const { return shared->entries + (number - FIRST_SHARED_TABLE) * ALPHABET; }
    // A symbol in each active lane; those without an entry by way of the escape, after all symbols.
    __device__ __forceinline__ void step(bool active, const u32* entries, u32 symbol) {
        // What leaves a state as it is: no bits, or the whole scale.
        constexpr u32 NOTHING = HUFFMAN ? 0 : SCALE << 16;
        u32 entry = active ? entries[symbol] : NOTHING;
        const bool escapes = active && (symbol == ESCAPE || (HUFFMAN ? entry == NO_CODE : entry >> 16 == 0));
        if (__any_sync(FULL, escapes)) {
            raw(symbol, escapes ? 8 : 0);
            if (escapes) entry = entries[ESCAPE];
        }
        if (HUFFMAN) {
            raw(entry & 0xffff, entry >> 16);
        } else {
            // Takes (2^32 - 1) / f for a division: the quotient is right or one too small.
            const u32 f = entry >> 16, reciprocal = shared->reciprocals[f];
            emit(x >> (32 - SCALE_BITS) >= f);
            u32 q = __umulhi(x, reciprocal);
            if (x - q * f >= f) q++;
            x += q * (SCALE - f) + (entry & 0xffff);
        }
    }
};

// What a group says of itself: its bytes, and above its tiles less one. On the way to the stream bit 63 says that its
// words are odd.
constexpr u64 GROUP_BYTES_MASK = (1 << 24) - 1;

// Raw bits of a coded vertex: 128 of them at most.
struct RawBits {
    u64 low, high;
    u32 bits;
    __device__ __forceinline__ u32 piece(u32 at) const {
        return (u32)((at < 64 ? low >> at : high >> (at - 64)) & 0xffff);
    }
};

// Those of stored values and of anchors.
template <typename T>
__device__ __noinline__ RawBits raw_of(const Job& job, u64 index, i32 position, u32 symbol) {
    RawBits r = {0, 0, raw_bits(symbol, position, sizeof(T))};
    if (symbol == STORED) {
        const TileShape shape = tile_shape(job, index);
        i32 x, y;
        place_of(position, x, y);
        const u64 a = Real<T>::bits(*vertex_at<T>(job.u, job.u_layout, shape.x0 + x, shape.y0 + y));
        const u64 b = Real<T>::bits(*vertex_at<T>(job.v, job.v_layout, shape.x0 + x, shape.y0 + y));
        if (sizeof(T) == 4) {
            r.low = a | b << 32;
        } else {
            r.low = a;
            r.high = b;
        }
    } else if (r.bits) {
        const u32 own = symbol_raw_bits(symbol);
        if (own) r.low = reinterpret_cast<const u64*>(job.payload)[index * TILE_VERTICES + position];
        if (r.bits > own) {
            const u64 digits = (u32)job.anchor_codes[index * 4 + 3];
            r.low |= own < 64 ? digits << own : 0;
            r.high = own == 0 ? 0 : own < 64 ? digits >> (64 - own) : digits;
        }
    }
    return r;
}

// What is at hand of a chunk's entry of the code lists before it is coded.
struct Waiting {
    u32 name, position, symbol, run;
    bool active, listed;  // listed: in a sparse list
    u64 low, high;        // raw bits, where they are not an anchor's with digits
};

// Grid: any. Block: 32 * ENCODE_WARPS, a warp for a group at a time. Dynamic shared: EncodeShared.
template <typename T, bool HUFFMAN>
__device__ __forceinline__ void encode_groups(const Job& job) {
    constexpr u64 TILE_WORD_BYTES = sizeof(T) == 4 ? TILE_WORD_BYTES_F32 : TILE_WORD_BYTES_F64;
    extern __shared__ __align__(16) u32 dynamic_shared[];
    EncodeShared<HUFFMAN>& shared = *reinterpret_cast<EncodeShared<HUFFMAN>*>(dynamic_shared);
    Control& control = control_of(job);
    const bool lorenzo = job.predictor == PREDICTOR_LORENZO;
    copy_words<SHARED_TABLES * ALPHABET, 32 * ENCODE_WARPS>(shared.entries, job.tables + FIRST_SHARED_TABLE * ALPHABET);
    if (!HUFFMAN)
        for (u32 k = threadIdx.x; k <= SCALE; k += blockDim.x) shared.reciprocals[k] = k ? 0xffffffffu / k : 0;
    fill_raw_bits<T>(shared.raw_bits, lorenzo);
    __syncthreads();
    const i32 lane = threadIdx.x & 31;
    BatchLists& lists = shared.lists[threadIdx.x >> 5];
    MaskedRows& rows = shared.masks[threadIdx.x >> 5].rows;
    u16* const ring = shared.masks[threadIdx.x >> 5].mask_entries;
    const u64 groups = control.groups, group_weight = control.group_weight;
    // Consecutive groups go to different blocks.
    for (u64 group = blockIdx.x + (u64)gridDim.x * (threadIdx.x >> 5); group < groups; group += (u64)gridDim.x * ENCODE_WARPS) {
        const u64 boundary = first_tile_of(job, group_weight, group);
        const u64 first = __shfl_sync(FULL, boundary, 0), end = __shfl_sync(FULL, boundary, 16);
        Encoder<HUFFMAN> encoder = {&shared, 1u << 16, reinterpret_cast<u16*>(job.words + end * TILE_WORD_BYTES), 0};
        for (u64 batch = first + ((end - first - 1) & ~31ull);; batch -= BATCH) {
            const i32 tiles = (i32)(end - batch < BATCH ? end - batch : BATCH);
            const u32 my_info = lane < tiles ? job.info[batch + lane] : 0;
            const bool coded = lane < tiles && has_codes(mode_in(my_info));
            u32 counts[3] = {0, 0, 0}, mask_counts[2] = {0, 0}, mask_names[2];
            if (lane < tiles) {
                const ListSizes& sizes = sizes_of(job, batch + lane);
#pragma unroll
                for (i32 k = 0; k < 3; k++) counts[k] = is_sparse(class_in(my_info, k)) ? sizes.blocks[k] : 0;
#pragma unroll
                for (i32 k = 0; k < 2; k++) mask_counts[k] = has_mask_list(mode_in(my_info), k) ? sizes.masks[k] : 0;
            }
            mask_names[0] = lane << 1;
            mask_names[1] = lane << 1 | 1;
            u32 sizes[TILE_LISTS], names[TILE_LISTS];
            code_lists(my_info, coded, counts, sizes, names);
            i32 list_count, entry_count;
            collect_lists<TILE_LISTS>(lists, sizes, names, list_count, entry_count);

            const u32 masked = __ballot_sync(FULL, coded && !(my_info & ALL_CODED));
            if (masked) load_masked_rows(job, rows, batch, my_info, masked);

            // The entries of the chunk before come while one is coded, and the raw bits of their symbols after them.
            i32 last = list_count - 1;
            auto fetch = [&](i32 from, u32& word, u32& meta) {
                const i32 e = from + lane;
                const i32 list = list_of_entry_backwards(lists, from, last);
                const bool exists = e >= 0 && e < entry_count;
                // Loads do not wait for each other where they are not behind a branch: lanes without an entry read the first one.
                const i32 known = exists ? list : 0;
                const u32 name = lists.names[known];
                const i32 at = list_start(list_in_tile(name)) + (exists ? e - lists.starts[known] : 0);
                const u64 index = batch + tile_of_list(name);
                const u32* const symbols = reinterpret_cast<const u32*>(job.symbols + index * TILE_VERTICES) + (at >> 2);
                const u32* const entries = entries_of<T>(job, index) + at;
                word = *(is_dense(name) ? symbols : entries);
                meta = (u32)exists << 31 | (u32)at << 16 | name;
            };
            auto look = [&](u32 word, u32 meta) -> Waiting {
                Waiting w;
                w.name = meta & 0xffff;
                const bool exists = meta >> 31, dense = is_dense(w.name);
                const u32 at = meta >> 16 & 1023;
                w.listed = exists && !dense;
                w.position = dense ? at : (u32)position_of_entry(word);
                w.run = dense ? 0 : run_of_entry(word);
                w.symbol = dense ? word >> 8 * (at & 3) & 255 : symbol_of_entry(word);
                w.active = exists;
                const u32 t = tile_of_list(w.name);
                const u64 index = batch + t;
                if (exists && dense && masked >> t & 1) w.active = is_active(job, rows, lorenzo, batch, t, masked, (i32)w.position);
                if (!w.active) w.symbol = SYMBOL_ZERO;
                // Those of the hierarchical predictor have 64 bits at most here; values are stored with the Lorenzo predictor alone.
                const bool has_payload = w.symbol >= FIRST_WITH_RAW_BITS && (lorenzo || w.symbol != STORED);
                const u64 slot = index * TILE_VERTICES + w.position;
                w.low = w.high = 0;
                if (has_payload) w.low = reinterpret_cast<const u64*>(job.payload)[sizeof(T) == 8 && lorenzo ? 2 * slot : slot];
                if (sizeof(T) == 8 && lorenzo && has_payload) w.high = reinterpret_cast<const u64*>(job.payload)[2 * slot + 1];
                return w;
            };
            i32 from = (entry_count - 1) & ~31;
            u32 word, meta;
            if (entry_count > 0) {
                fetch(from, word, meta);
                Waiting now = look(word, meta);
                fetch(from - 32, word, meta);
#pragma unroll 1
                for (; from >= 0; from -= 32) {
                    const Waiting w = now;
                    u32 next_word = word, next_meta = meta;
                    fetch(from - 64, word, meta);
                    now = look(next_word, next_meta);
                    const u32 cls = class_of_list(w.name);
                    const i32 position = (i32)w.position;
                    if (__any_sync(FULL, w.symbol >= FIRST_WITH_RAW_BITS)) {
                        RawBits r = {0, 0, 0};
                        if (w.symbol >= FIRST_WITH_RAW_BITS) {
                            if (!lorenzo && (w.symbol == STORED || has_digits(w.symbol, position))) {
                                r = raw_of<T>(job, batch + tile_of_list(w.name), position, w.symbol);
                            } else {
                                r.bits = shared.raw_bits[w.symbol];
                                r.low = w.low;
                                r.high = w.high;
                            }
                        }
                        const u32 pieces = warp_max((r.bits + 15) / 16);
#pragma unroll 1
                        for (i32 piece = (i32)pieces - 1; piece >= 0; piece--) {
                            const u32 at = 16 * piece, n = r.bits > at ? (r.bits - at < 16 ? r.bits - at : 16) : 0;
                            encoder.raw(r.piece(at) & ((1u << n) - 1), n);
                        }
                    }
                    encoder.step(w.active, encoder.table(w.active ? table_of(position, cls) : (u32)FIRST_SHARED_TABLE), w.symbol);
                    if (__any_sync(FULL, w.listed)) {
                        const Run run = encode_run(w.run);
                        const u32 bits = w.listed ? run.bits : 0;
                        if (__any_sync(FULL, bits > 0)) encoder.raw(run.raw, bits);
                        encoder.step(w.listed, encoder.table(w.listed ? RUN + cls - 1 : (u32)FIRST_SHARED_TABLE), run.symbol);
                    }
                }
            }

            // Masks: a ring of entries, filled tile by tile.
            collect_lists<2>(lists, mask_counts, mask_names, list_count, entry_count);
            from = (entry_count - 1) & ~31;
#pragma unroll 1
            for (i32 list = list_count - 1; list >= 0; list--) {
                const u32 name = lists.names[list];
                const i32 start = lists.starts[list];
                const u64 index = batch + (name >> 1);
                const TileShape shape = tile_shape(job, index);
                const u32 difference = mask_difference(job.masks[index * 64 + (name & 1) * TILE + lane]);
                i32 size = 0, before = -1;
                __syncwarp();
                for (i32 byte = 0; 8 * byte < shape.owned_x(); byte++) {
                    const u32 value = lane < shape.owned_y() ? difference >> 8 * byte & 255 : 0, present = __ballot_sync(FULL, value != 0);
                    if (present == 0) continue;
                    const u32 below = present & ((1u << lane) - 1);
                    const i32 run = 32 * byte + lane - (below ? 32 * byte + 31 - __clz(below) : before) - 1;
                    if (value) ring[(start + size + __popc(below)) & (MASK_RING - 1)] = (u16)((u32)run << 8 | value);
                    size += __popc(present);
                    before = 32 * byte + 31 - __clz(present);
                }
                __syncwarp();
                for (; from >= start; from -= 32) {
                    const bool active = from + lane < entry_count;
                    const u32 entry = active ? ring[(from + lane) & (MASK_RING - 1)] : 0;
                    encoder.step(active, encoder.table(MASK_BYTE), entry & 255);
                    const Run run = encode_run(entry >> 8);
                    encoder.raw(run.raw, active ? run.bits : 0);
                    encoder.step(active, encoder.table(MASK_RUN), run.symbol);
                }
            }
#pragma unroll
            for (i32 plane = 1; plane >= 0; plane--)
                encoder.raw(mask_counts[plane], lane < tiles && has_mask_list(mode_in(my_info), plane) ? MASK_COUNT_BITS : 0);
#pragma unroll
            for (i32 k = 2; k >= 0; k--) {
                const u32 cls = class_in(my_info, k);
                encoder.raw(counts[k], coded && is_sparse(cls) ? count_bits(k, cls) : 0);
            }
#pragma unroll
            for (i32 k = 2; k >= 0; k--) encoder.step(coded, job.tables + (coded ? class_table(my_info, k) : 0) * ALPHABET, class_in(my_info, k));
            encoder.step(lane < tiles, job.tables + TILE_MODE * ALPHABET, stream_mode(my_info));
            if (batch == first) break;
        }
        // The states in front, the words at the end of the group's space.
        reinterpret_cast<u32*>(job.words + first * TILE_WORD_BYTES)[lane] = encoder.x;
        // The pad word behind an odd number of words lies beyond the space: it is made when copied.
        if (lane == 0) {
            job.group_sizes[group] = (STATE_BYTES + (u64)((encoder.words + 1) / 2) * 4) | (end - first - 1) << 24 | (u64)(encoder.words & 1) << 63;
            sizes_of(job, group).first_tile = first;
        }
    }
}

// ---------------------------------------------------------------- the stream

// Grid: 1. Block: 1024. Where groups go, the header, the tables, the report.
template <typename T>
__device__ __forceinline__ void place_groups(const Job& job) {
    __shared__ u64 sums[32];
    __shared__ u64 carry;
    Control& control = control_of(job);
    const u64 groups = control.groups, begin = HEADER_BYTES + control.table_bytes + 4 * groups;
    const i32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    if (threadIdx.x == 0) carry = begin;
    __syncthreads();
    for (u64 base = 0; base < groups; base += 1024) {
        const u64 g = base + threadIdx.x;
        const u64 size = g < groups ? job.group_sizes[g] & GROUP_BYTES_MASK : 0;
        u64 sum = size;
        for (i32 k = 1; k < 32; k *= 2) {
            const u64 other = __shfl_up_sync(FULL, sum, k);
            if (lane >= k) sum += other;
        }
        if (lane == 31) sums[warp] = sum;
        __syncthreads();
        if (warp == 0) {
            u64 s = sums[lane];
            for (i32 k = 1; k < 32; k *= 2) {
                const u64 other = __shfl_up_sync(FULL, s, k);
                if (lane >= k) s += other;
            }
            sums[lane] = s;
        }
        __syncthreads();
        const u64 start = carry + (warp ? sums[warp - 1] : 0) + sum - size;
        if (g < groups) job.group_offsets[g] = start;
        __syncthreads();
        if (threadIdx.x == 0) carry += sums[31];
        __syncthreads();
    }
    const u64 field = 2 * job.nx * job.ny * sizeof(T), most = HEADER_BYTES + field;
    const bool stored = carry > most;
    const u64 bytes = stored ? most : carry;
    const bool fits = bytes <= job.stream_bytes;
    if (threadIdx.x == 0) {
        control.content = stored ? CONTENT_STORED : CONTENT_CODED;
        if (stored) control.table_bytes = 0;
        control.stream_bytes = bytes;
        control.status = fits ? STATUS_OK : STATUS_BUFFER_TOO_SMALL;
        Report r = {};
        r.status = control.status;
        r.stream_bytes = fits ? bytes : 0;
        r.required_bytes = bytes;
        r.exact_vertices = stored ? job.nx * job.ny : control.exact;
        r.nonfinite_vertices = control.nonfinite;
        r.zero_vertices = control.zero;
        r.critical_points = control.critical;
        r.bound = control.bound;
        r.max_error = stored ? 0.0 : __longlong_as_double((long long)control.max_error);
        *job.report = r;
        if (fits) write_header(job, control, job.stream);
    }
    if (fits && !stored) {
        const u64 tables = begin - HEADER_BYTES - 4 * groups;
        for (u64 k = threadIdx.x; k < tables; k += blockDim.x) job.stream[HEADER_BYTES + k] = job.table_section[k];
        for (u64 g = threadIdx.x; g < groups; g += blockDim.x)
            put32(job.stream + HEADER_BYTES + tables + 4 * g, (u32)job.group_sizes[g]);
    }
}

__device__ __forceinline__ void store_word(u8* stream, u64 at, u32 word) {
    if (((u64)stream & 3) == 0)
        *reinterpret_cast<u32*>(stream + at) = word;
    else
        put32(stream + at, word);
}

// Grid: any. Block: 256. Groups (or the values themselves) to their places; the last block seals.
template <typename T>
__device__ __forceinline__ void gather(const Job& job) {
    constexpr u64 TILE_WORD_BYTES = sizeof(T) == 4 ? TILE_WORD_BYTES_F32 : TILE_WORD_BYTES_F64;
    Control& control = control_of(job);
    if (control.status != STATUS_OK) return;
    const i32 lane = threadIdx.x & 31;
    const u64 warps = (u64)gridDim.x * (blockDim.x >> 5), me = (u64)blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5);
    u32 sum = 0;
    if (control.content == CONTENT_CODED) {
        for (u64 group = me; group < control.groups; group += warps) {
            const u64 about = job.group_sizes[group], size = about & GROUP_BYTES_MASK, odd = about >> 63;
            const u64 first = sizes_of(job, group).first_tile, end = first + (about >> 24 & 255) + 1;
            const u64 offset = job.group_offsets[group];
            const u32* states = reinterpret_cast<const u32*>(job.words + first * TILE_WORD_BYTES);
            const u64 pairs = (size - STATE_BYTES) / 4, words = 2 * pairs - odd;
            const u16* from = reinterpret_cast<const u16*>(job.words + end * TILE_WORD_BYTES) - words;
            for (u64 k = lane; k < 32 + pairs; k += 32) {
                u32 word;
                if (k < 32) {
                    word = states[k];
                } else {
                    const u64 w = 2 * (k - 32);
                    word = from[w] | (w + 1 < words ? (u32)from[w + 1] << 16 : 0);
                }
                store_word(job.stream, offset + 4 * k, word);
                sum += checksum_term(word, offset / 4 + k);
            }
        }
        // Header, tables and sizes.
        const u64 head = (HEADER_BYTES + control.table_bytes) / 4 + control.groups;
        for (u64 k = me * 32 + lane; k < head; k += warps * 32) sum += checksum_term(word_at(job.stream, k), k);
    } else {
        const u64 n = job.nx * job.ny, per = sizeof(T) / 4;
        for (u64 k = me * 32 + lane; k < HEADER_BYTES / 4; k += warps * 32) sum += checksum_term(word_at(job.stream, k), k);
        for (u64 k = me * 32 + lane; k < 2 * n; k += warps * 32) {
            const bool second = k >= n;
            const u64 i = second ? k - n : k;
            const long long y = (long long)(i / job.nx), x = (long long)(i - (u64)y * job.nx);
            const u64 bits = Real<T>::bits(second ? *vertex_at<T>(job.v, job.v_layout, x, y)
                                                  : *vertex_at<T>(job.u, job.u_layout, x, y));
            for (u64 p = 0; p < per; p++) {
                const u32 word = (u32)(bits >> 32 * p);
                const u64 at = HEADER_BYTES / 4 + k * per + p;
                store_word(job.stream, 4 * at, word);
                sum += checksum_term(word, at);
            }
        }
    }
    sum = warp_sum(sum);
    if (lane == 0 && sum) atomicAdd(&control.checksum, sum);
    if (last_block(control, TICKET_GATHER) && threadIdx.x == 0) put32(job.stream + 8, control.checksum);
}
