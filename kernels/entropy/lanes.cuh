// 32 lanes with a state each that share one sequence of 16-bit words: the encoder, which works backwards, and
// the decoder. Twin of src/entropy/lanes.rs; FORMAT.md, sections 3.1 and 3.2.
#pragma once
#include "device/workspace.cuh"
#include "entropy/groups/lists.cuh"
#include "entropy/huffman.cuh"
#include "stream/sections.cuh"

// Coding entry of a symbol: frequency << 16 | start, or length << 16 | code; and the reciprocal of the
// frequency. A symbol without its own code has the escape's entry.
constexpr u32 ENTRY_ESCAPES = 1u << 15, ENTRY_RAW = 1u << 14, ENTRY_NOTHING = 1u << 13;
__device__ __forceinline__ u32 code_in(u32 entry) { return entry & 0xfff; }
__device__ __forceinline__ u32 frequency_in(u32 entry) { return entry >> 16; }  // or length
__device__ __forceinline__ constexpr u32 with_frequency(u32 frequency) { return frequency << 16; }

// Up to 16 raw bits in the high end of a word, their number in the low end. Bits 5 to 15 are free.
__device__ __forceinline__ u32 raw_word(u32 value, u32 bits) {
    return __funnelshift_r(0, value, bits) | bits;
}

// Encodes a group backwards, a state per lane.
template <bool HUFFMAN>
struct Encoder {
    // Entry of a lane that takes no part.
    static constexpr u32 NOTHING = with_frequency(HUFFMAN ? 0 : SCALE) | ENTRY_NOTHING;
    u32 x;      // in the tail, less LOW
    u32 lift;   // LOW in the tail, otherwise 0
    u16* next;  // place of the next word; words are written from the end of the space of the group down
    u32 above;  // mask of the lanes above this one

    __device__ __forceinline__ explicit Encoder(u8* end)
        : x((threadIdx.x & 31) < ENDS_AT_1), lift(LOW),
          next(reinterpret_cast<u16*>(fresh(reinterpret_cast<u64>(end - sizeof(u16))))),
          above(~1u << (threadIdx.x & 31)) {}
    __device__ __forceinline__ bool in_tail() const { return __builtin_expect(__any_sync(FULL, lift), 0); }
    // The state of the lane as it is stored.
    __device__ __forceinline__ u32 state() const { return x + lift; }
    // State of a lane behind an operation in the tail, and its LOW: 0 behind the end of the tail.
    struct InTail {
        u32 x, lift;
    };
    // An operation in the tail: `next` are the states behind it. The tail ends before it if one of them
    // leaves no room for LOW.
    static __device__ __forceinline__ InTail stay(u32 x, bool active, bool fits, u32 next) {
        if (__any_sync(FULL, active && !fits)) return {x + LOW, 0};
        if (__any_sync(FULL, active)) x = __shfl_sync(FULL, active ? next : x, threadIdx.x + TURN, 32);
        return {x, LOW};
    }
    // Operations of the tail are calls: the tail is short, and its code must not take the room of other code
    // in the instruction cache.
    static __device__ __noinline__ InTail raw_by_tail(u32 x, u32 word, u32 bits, bool active) {
        const u32 next = __funnelshift_l(word, x, bits);
        return stay(x, active, __funnelshift_l(x, 0, bits) == 0 && next <= ~LOW, next);
    }
    static __device__ __noinline__ InTail code_by_tail(u32 x, u32 entry, u32 reciprocal) {
        const u32 f = frequency_in(entry), next = x < f ? put_in_spread(x, f, code_in(entry))
                                                        : divided(x, f, code_in(entry), reciprocal);
        return stay(x, !(entry & ENTRY_NOTHING), x + LOW >> (32 - SCALE_BITS) < f, next);
    }
    // False, and the end of the tail, if the operation has to be done behind it.
    __device__ __forceinline__ bool goes_on(InTail tail) {
        x = tail.x, lift = tail.lift;
        return lift != 0;
    }
    __device__ __forceinline__ bool raw_in_tail(u32 word, u32 bits, bool active) {
        return goes_on(raw_by_tail(x, word, bits, active));
    }
    __device__ __forceinline__ bool code_in_tail(u32 entry, u32 reciprocal) {
        return goes_on(code_by_tail(x, entry, reciprocal));
    }
    // Puts out the low words of the states that need it.
    __device__ __forceinline__ void emit(bool need) {
        const u32 mask = __ballot_sync(FULL, need);
        store_if(need, next - __popc(mask & above), x);
        x = need ? x >> 16 : x;
        next -= __popc(mask);
    }
    // Bits from raw_word, none for a lane that takes no part. Funnel shifts use the low bits of the count.
    __device__ __forceinline__ void put(u32 word, bool active) {
        if (in_tail() && raw_in_tail(word, word, active)) return;
        emit(__funnelshift_l(x, 0, word) != 0);
        x = __funnelshift_l(word, x, word);
    }
    // Raw bits from raw_word, possibly none.
    __device__ __forceinline__ void raw(u32 word) { put(word, (word & 31) != 0); }
    __device__ __forceinline__ void raw(u32 value, u32 bits) {
        if (in_tail() && raw_in_tail(raw_word(value, bits), bits, (bits & 31) != 0)) return;
        emit(__funnelshift_l(x, 0, bits) != 0);
        x = x << bits | value;
    }
    // Raw bits, then a symbol. Stores do not wait for the new state.
    __device__ __forceinline__ void code(u32 word, u32 entry, u32 reciprocal) {
        if (in_tail()) {
            raw(word);
            code(entry, reciprocal);
            return;
        }
        const u32 first = x;
        const bool need_first = __funnelshift_l(first, 0, word) != 0;
        const u32 second = __funnelshift_l(word, need_first ? first >> 16 : first, word);
        const u32 f = frequency_in(entry), bits = raw_word(code_in(entry), f);
        const bool need_second =
            HUFFMAN ? __funnelshift_l(second, 0, bits) != 0 : second >> (32 - SCALE_BITS) >= f;
        x = need_second ? second >> 16 : second;
        if (HUFFMAN)
            x = __funnelshift_l(bits, x, bits);
        else
            x = divided(x, f, code_in(entry), reciprocal);
        const u32 mask_first = __ballot_sync(FULL, need_first),
                  mask_second = __ballot_sync(FULL, need_second);
        store_if(need_first, next - __popc(mask_first & above), first);
        next -= __popc(mask_first);
        store_if(need_second, next - __popc(mask_second & above), second);
        next -= __popc(mask_second);
    }
    // rANS division by f with reciprocal (2^32 - 1) / f: the quotient is exact or one too small.
    static __device__ __forceinline__ u32 divided(u32 x, u32 f, u32 start, u32 reciprocal) {
        const u32 q = __umulhi(x, reciprocal), more = SCALE - f, left = x - q * f;
        x += q * more + start;
        return left >= f ? x + more : x;
    }
    // A symbol by its entry.
    __device__ __forceinline__ void code(u32 entry, u32 reciprocal) {
        const u32 f = frequency_in(entry);
        if (HUFFMAN) {
            put(raw_word(code_in(entry), f), !(entry & ENTRY_NOTHING));
        } else {
            if (in_tail() && code_in_tail(entry, reciprocal)) return;
            emit(x >> (32 - SCALE_BITS) >= f);
            x = divided(x, f, code_in(entry), reciprocal);
        }
    }
    // Up to 128 raw bits, last piece first; high() gives those after the first 64.
    template <typename High>
    __device__ __forceinline__ void long_raw(u32 bits, u64 low, High high) {
        if (__any_sync(FULL, bits > 16)) {
            const u64 behind = high();
#pragma unroll 1
            for (u32 at = (warp_max(bits) - 1) & ~15u; at > 0; at -= 16) {
                const u32 n = bits > at ? (bits - at < 16 ? bits - at : 16) : 0;
                raw((u32)(at < 64 ? low >> at : behind >> (at - 64)) & ((1u << n) - 1), n);
            }
        }
        const u32 n = bits < 16 ? bits : 16;
        raw((u32)low & ((1u << n) - 1), n);
    }
    // The symbol itself, if its entry is the escape's.
    __device__ __forceinline__ void escape(u32 entry, u32 symbol) {
        const bool escaped = entry & ENTRY_ESCAPES;
        raw(escaped ? symbol : 0, escaped ? 8 : 0);
    }
    // At most f / 2^32 below 2^32 / f, never above. The estimate is low by at most 4 parts in 2^23; one
    // correction step makes the quotient exact or one too small.
    static __device__ __forceinline__ u32 reciprocal_of(u32 entry) {
        if (HUFFMAN) return 0;
        const u32 f = frequency_in(entry), estimate = reciprocal_below(f);
        return estimate + __umulhi(0u - f * estimate, estimate);
    }
};

// Decoding tables in shared memory for rANS: for each table the start of the search for a slot, then its
// entries; behind them a table that leaves a state unchanged. Huffman tables do not fit and stay in global
// memory.
constexpr u32 DECODE_TABLE_BYTES = STARTS_BYTES + ALPHABET * sizeof(u32);
template <bool HUFFMAN>
struct DecodeTables {
    alignas(16) u8
        bytes[HUFFMAN ? 16
                      : SHARED_TABLES * DECODE_TABLE_BYTES + STARTS_BYTES + NO_TABLE_ENTRIES * sizeof(u32)];
    u8 raw_bits[2][ALPHABET];  // [1]: for anchors
};

// Copies the tables from global to shared memory. Call with a block of THREADS.
template <u32 THREADS>
__device__ __forceinline__ void copy_decode_tables(const Job& job, DecodeTables<false>& tables) {
    const ParseView work(job);
    const uint4* const entries =
        reinterpret_cast<const uint4*>(work.tables() + FIRST_SHARED_TABLE * ALPHABET);
    const uint4* const starts =
        reinterpret_cast<const uint4*>(work.slot_starts() + FIRST_SHARED_TABLE * STARTS_BYTES);
    uint4* const to = reinterpret_cast<uint4*>(tables.bytes);
    constexpr u32 ENTRY_FOURS = ALPHABET / 4, START_FOURS = STARTS_BYTES / 16,
                  TABLE_FOURS = DECODE_TABLE_BYTES / 16;
    static_assert(SHARED_TABLES * ENTRY_FOURS % THREADS == 0 && SHARED_TABLES * START_FOURS % THREADS == 0,
        "all threads have as much to do");
#pragma unroll
    for (u32 i = 0; i < SHARED_TABLES * ENTRY_FOURS / THREADS; i++) {
        const u32 k = i * THREADS + threadIdx.x;
        to[k / ENTRY_FOURS * TABLE_FOURS + START_FOURS + k % ENTRY_FOURS] = entries[k];
    }
#pragma unroll
    for (u32 i = 0; i < SHARED_TABLES * START_FOURS / THREADS; i++) {
        const u32 k = i * THREADS + threadIdx.x;
        to[k / START_FOURS * TABLE_FOURS + k % START_FOURS] = starts[k];
    }
    if (threadIdx.x <= START_FOURS) {
        const u32 all = threadIdx.x < START_FOURS ? 0 : decode_entry(SCALE, 0, 0);
        to[SHARED_TABLES * TABLE_FOURS + threadIdx.x] = make_uint4(all, all, all, all);
    }
}

// Result for an invalid run symbol: a sum of 32 of them does not overflow.
constexpr u32 NO_RUN = 0xffff;
// Marks the escape symbol in raw_bits.
constexpr u32 ESCAPE_BITS = 255;

// Decodes a group, a state per lane. Behind the operation that reads the last word the tail begins: LOW is
// taken off all states, which move on with each operation and end in 0 or 1. Words wait in shared memory: the
// block of 64 words that contains the next one, and the block after it; the block after that is on its way,
// so no step waits for memory. The first block is stored twice, also behind the second, so reads need not
// wrap. Words after the end of the group are zeros.
struct GroupWords {
    u32 pairs[3 * WORD_BLOCK_BYTES / 4];
};
// Selector of __byte_perm: the lower half of the first word, above it that of the second.
constexpr u32 LOWER_HALVES = 0x5410;
template <bool HUFFMAN>
struct Decoder {
    // Distance between tables, and the number of the table that leaves a state unchanged.
    static constexpr u32 STRIDE = HUFFMAN ? CODES * sizeof(u16) : DECODE_TABLE_BYTES, NO_TABLE = TABLES;
    const Job* job;
    // Addresses of (virtual) table 0, of the first table of symbols, and of the first table of runs.
    u32 tables, symbol_tables, run_tables;
    u32 below;  // mask of the lanes below this one
    u32 x;
    u32 low;   // states below it take a word: LOW, 0 in the tail
    u32 ring;  // address of the words
    u32 at;    // address of the next word, the end of its block, the end of all words, and the lower end
    u32 end_of_block, end_of_words, limit;
    const u32* pairs;  // the lane's next pair of words to load
    i32 left;          // pairs from there to the end
    u32 coming;

    __device__ __forceinline__ u32 next_pair() {
        const u32 pair = left > 0 ? *pairs : 0;
        pairs += 32;
        left -= 32;
        return pair;
    }
    // Reads the states of a group of `size` bytes; all loads start at once. The number of bytes that they
    // take.
    __device__ __forceinline__ u32 read_states(const u8* bytes, u32 size) {
        const u32 lane = threadIdx.x & 31, at = LEAST_STATE_BYTES + 4 * lane;
        const u32 octave = bytes[lane / 2] >> 4 * (lane & 1) & 15,
                  half = reinterpret_cast<const u16*>(bytes + HALVES_AT)[lane],
                  mine =
                      at < MOST_STATE_BYTES && at + 2 <= size ? *reinterpret_cast<const u32*>(bytes + at) : 0;
        const u32 end = warp_inclusive_sum(octave), start = end - octave;
        const u32 low_word = __shfl_sync(FULL, mine, start >> 5),
                  high_word = __shfl_sync(FULL, mine, (start >> 5) + 1);
        const u32 others = __funnelshift_r(low_word, high_word, start) & ((1u << octave) - 1);
        x = (1u << octave | others) << 16 | half;
        return LEAST_STATE_BYTES + (__shfl_sync(FULL, end, 31) + 31) / 32 * 4;
    }
    // Starts a group. False if it is too small for its states.
    __device__ __forceinline__ bool open(
        const Job& job, const DecodeTables<HUFFMAN>& tables, GroupWords& words, u64 group) {
        const ParseView work(job);
        const u8* const bytes = job.stream + work.group_offsets()[group];
        const u32 lane = threadIdx.x & 31, count = GroupTiles{work.group_sizes()[group]}.bytes();
        this->job = &job;
        this->tables = HUFFMAN ? 0 : shared_place(tables.bytes) - FIRST_SHARED_TABLE * DECODE_TABLE_BYTES;
        // warp_or keeps the compiler from recomputing one address from the other.
        symbol_tables = warp_or(place_of(ANCHOR_TABLE)), run_tables = warp_or(place_of(RUN));
        below = (1u << lane) - 1;
        const u32 state_bytes = warp_or(read_states(bytes, count));
        const bool good = state_bytes <= count;
        const u32 word_bytes = good ? count - state_bytes : 0;
        pairs = reinterpret_cast<const u32*>(bytes + state_bytes) + lane;
        left = (i32)((word_bytes + 2) / 4 - lane);
        ring = at = shared_place(words.pairs);
        end_of_block = ring + WORD_BLOCK_BYTES;
        end_of_words = ring + word_bytes;
        limit = min(end_of_block, end_of_words);
        low = LOW;
        const u32 first = next_pair(), second = next_pair();
        coming = next_pair();
        __syncwarp();
        put_shared(ring + 4 * lane, first);
        put_shared(ring + 4 * lane + WORD_BLOCK_BYTES, second);
        put_shared(ring + 4 * lane + 2 * WORD_BLOCK_BYTES, first);
        __syncwarp();
        return good;
    }
    // Begins an operation: true in the tail.
    __device__ __forceinline__ bool begin() {
        return __builtin_expect(__any_sync(FULL, at >= limit), 0) && pass_limit();
    }
    // Begins the tail behind the last word; before that, loads the next block.
    __device__ __forceinline__ bool pass_limit() {
        if (__any_sync(FULL, at == end_of_words)) {
            x -= low, low = 0;
            return true;
        }
        if (__any_sync(FULL, at >= end_of_block)) {
            const u32 mine = ring + 4 * (threadIdx.x & 31);
            __syncwarp();
            if (end_of_block == ring + WORD_BLOCK_BYTES) {
                put_shared(mine, coming);
                put_shared(mine + 2 * WORD_BLOCK_BYTES, coming);
                end_of_block += WORD_BLOCK_BYTES;
            } else {
                put_shared(mine + WORD_BLOCK_BYTES, coming);
                at -= 2 * WORD_BLOCK_BYTES;
                end_of_block -= WORD_BLOCK_BYTES;
                end_of_words -= 2 * WORD_BLOCK_BYTES;
            }
            __syncwarp();
            coming = next_pair();
        }
        limit = min(end_of_block, end_of_words);
        return false;
    }
    // Moves the states on for an operation of the tail, unless no lane takes part.
    __device__ __forceinline__ void turn(bool active) {
        if (__any_sync(FULL, active)) x = __shfl_sync(FULL, x, threadIdx.x - TURN, 32);
    }
    __device__ __forceinline__ bool is_at_end() {
        return begin() && __all_sync(FULL, x == ((threadIdx.x & 31) < ENDS_AT_1));
    }
    // Loads a word into each state that needs one. An operation takes at most 32 words.
    __device__ __forceinline__ void refill() {
        const bool need = x < low;
        const u32 mask = __ballot_sync(FULL, need), word = shared_half(at + 2 * __popc(mask & below));
        if (need) x = __byte_perm(word, x, LOWER_HALVES);
        at += 2 * __popc(mask);
    }
    // Up to 16 raw bits per lane.
    __device__ __forceinline__ u32 raw(u32 bits) {
        if (begin()) turn(bits > 0);
        const u32 value = x & ((1u << bits) - 1);
        x >>= bits;
        refill();
        return value;
    }
    // Up to 128 raw bits per lane.
    __device__ __forceinline__ void long_raw(u32 bits, u64& low, u64& high) {
        low = high = 0;
#pragma unroll 1
        for (u32 at = 0; __any_sync(FULL, bits > at); at += 16) {
            const u64 value = raw(bits > at ? (bits - at < 16 ? bits - at : 16) : 0);
            if (at < 64)
                low |= value << at;
            else
                high |= value << (at - 64);
        }
    }
    // Address of a table in shared memory; for Huffman its offset in global memory.
    __device__ __forceinline__ u32 place_of(u32 table) const { return tables + table * STRIDE; }
    // Decodes a symbol; an escape is not resolved yet.
    __device__ __forceinline__ u32 step(u32 place) {
        u32 symbol;
        if (HUFFMAN) {
            symbol = code_step(place < NO_TABLE * STRIDE, place);
        } else if (begin()) {
            return step_of_tail(place);
        } else {
            // The entry is nearly always one of the first three after the start of the search; at least four
            // follow it.
            const u32 key = slot_key(x), at = place + 4 * shared_byte(place + (key >> (32 - 8)));
            static_assert(STARTS_BYTES == 1 << 8, "a start for each byte");
            const uint4 four = four_words<STARTS_BYTES>(at);
            u32 found = min(min(key - four.x, key - four.y), key - four.z);
            if (__any_sync(FULL, four.w <= key))
                found = search(found, key, at + STARTS_BYTES + 12, place + DECODE_TABLE_BYTES);
            x = state_behind(x, found);
            symbol = slot_symbol(found);
        }
        refill();
        return symbol;
    }
    __device__ __forceinline__ u32 step_of_tail(u32 place) {
        turn(place != place_of(NO_TABLE));
        const u32 key = spread_key(x), at = place + STARTS_BYTES + 4 * shared_byte(place + (key >> (32 - 8))),
                  found = search(key - shared_word(at), key, at + 4, place + DECODE_TABLE_BYTES);
        x = state_behind_spread(x, key, found);
        return slot_symbol(found);
    }
    // Linear search from `at` on.
    static __device__ __forceinline__ u32 search(u32 found, u32 key, u32 at, u32 end) {
#pragma unroll 1
        for (; at < end; at += 4) {
            const u32 entry = shared_word(at);
            if (entry > key) break;
            found = key - entry;
        }
        return found;
    }
    __device__ __forceinline__ u32 code_step(bool active, u32 place) {
        if (begin()) turn(active);
        const u32 entry = active ? *reinterpret_cast<const u16*>(
                                       reinterpret_cast<const u8*>(ParseView(*job).huffman_codes()) +
                                       (place + sizeof(u16) * (x & (CODES - 1))))
                                 : 0;
        x >>= length_in(entry);
        return symbol_of_code(entry);
    }
    // Decodes a symbol from a table in global memory; 0 in inactive lanes.
    __device__ __forceinline__ u32 head_step(bool active, u32 table) {
        u32 symbol = 0;
        if (HUFFMAN) {
            symbol = code_step(active, table * STRIDE);
            refill();
            resolve_escape(symbol);
            return symbol;
        }
        if (begin()) turn(active);
        if (active) {
            const u32 key = spread_key(x);
            const ParseView work(*job);
            const u32* const end = work.tables() + (table + 1) * ALPHABET;
            const u32* at = end - ALPHABET + work.slot_starts()[table * STARTS_BYTES + (key >> (32 - 8))];
            const u32 four[4] = {at[0], at[1], at[2], at[3]};
            u32 found = min(min(key - four[0], key - four[1]), key - four[2]);
            if (four[3] <= key)
                for (at += 3; at < end && *at <= key; at++) found = key - *at;
            x = state_behind_spread(x, key, found);
            symbol = slot_symbol(found);
        }
        refill();
        resolve_escape(symbol);
        return symbol;
    }
    __device__ __forceinline__ void resolve_escape(u32& symbol) {
        const bool escaped = symbol == ESCAPE;
        if (__any_sync(FULL, escaped)) {
            const u32 value = raw(escaped ? 8 : 0);
            if (escaped) symbol = value;
        }
    }
    // Decodes run lengths; NO_RUN for a symbol that is none of the KNOWN ones.
    template <u32 KNOWN = RUNS>
    __device__ __forceinline__ u32 runs(u32 place) {
        const u32 symbol = step(place);
        if (!__any_sync(FULL, symbol >= FIRST_RUN_WITH_RAW_BITS)) return symbol;
        if (__any_sync(FULL, symbol >= KNOWN)) return escaped_runs<KNOWN>(symbol);
        const u32 bits = run_bits(symbol);
        return decode_run(symbol, raw(bits), bits);
    }
    template <u32 KNOWN>
    __device__ __forceinline__ u32 escaped_runs(u32 symbol) {
        resolve_escape(symbol);
        const u32 bits = symbol < KNOWN ? run_bits(symbol) : 0, run = decode_run(symbol, raw(bits), bits);
        return symbol < KNOWN ? run : NO_RUN;
    }
};
