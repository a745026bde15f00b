// Entries of the entropy coder that code lists to groups. Twin: src/stage/entropy/group/encode.rs.
#pragma once
#include "collecting.cuh"

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
        // Bit 63 says that the words are odd, as far as the stream.
        if (lane == 0) {
            job.group_sizes[group] = (STATE_BYTES + (u64)((encoder.words + 1) / 2) * 4) | (end - first - 1) << 24 | (u64)(encoder.words & 1) << 63;
            sizes_of(job, group).first_tile = first;
        }
    }
}
