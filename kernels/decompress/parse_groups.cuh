// Finds where the groups of a stream lie and which tiles they hold.
#pragma once
#include "decompress/parse_tables.cuh"

// Sums over the group words by warp: before this block's part, and in it.
struct GroupSums {
    u64 bytes[32], tiles[32];
    u32 own_bytes[32], own_tiles[32];
};
constexpr u32 PART_WORDS = 2 * PARSE_THREADS,
              MOST_FIRST_WORDS = (VOLUME_HEADER_BYTES + (u32)TABLE_SECTION_BYTES) / 4;

// Pairs of words that a thread loads at once.
constexpr u32 PAIRS_AHEAD = 8;

// Sums over the group words before pair `start`: bytes, and tiles - 1. `before` has the thread's first ones;
// group words begin at `first`; those from `pairs_before` on do not exist.
__device__ __forceinline__ void sum_words_before(const uint2* stream, uint2 (&before)[PAIRS_AHEAD], u32 first,
    u32 start, u32 pairs_before, u64& bytes, u64& tiles) {
    const u32 k = threadIdx.x;
    const uint2 none = make_uint2(0, 0);
    for (u32 at = 0; at < start;) {
        u32 some_bytes = 0, some_tiles = 0;
#pragma unroll
        for (u32 i = 0; i < PAIRS_AHEAD; i++) {
            const u32 number = 2 * (at + PARSE_THREADS * i + k);
            const u32 a = number < first ? 0 : before[i].x, b = number + 1 < first ? 0 : before[i].y;
            some_bytes += padded_bytes(a) + padded_bytes(b);
            some_tiles += tiles_less_one_in(a) + tiles_less_one_in(b);
        }
        bytes += some_bytes;
        tiles += some_tiles;
        at += PAIRS_AHEAD * PARSE_THREADS;
#pragma unroll
        for (u32 i = 0; i < PAIRS_AHEAD; i++)
            before[i] = at + PARSE_THREADS * i + k < pairs_before ? stream[at + PARSE_THREADS * i] : none;
    }
}

// As many groups as a stream of the job can have.
__device__ __forceinline__ u32 most_groups(const Job& job) {
    if (!job.takes_planes) return (u32)job.tiles();
    const u64 held = job.stream_bytes / (4 + LEAST_STATE_BYTES);
    return held < MOST_STREAM_TILES ? (u32)held : (u32)MOST_STREAM_TILES;
}

// Place of the group words as the header claims it, true or not: group words begin at word `first` of the
// stream and end before word `end`.
struct GroupSection {
    u32 first, groups, end;
    u64 end_of_groups, tiles;

    __device__ __forceinline__ GroupSection(const Job& job, const Header& header) {
        const bool coded = field_of(header.word_at(AT_PRESERVE), AT_CONTENT) == CONTENT_CODED;
        const u64 all_groups = header.long_at(AT_GROUPS);
        const u32 most = most_groups(job);
        groups = !coded ? 0 : all_groups < most ? (u32)all_groups : most;
        tiles = tiles_of_stream(job, header);
        const u32 table_bytes = header.word_at(AT_TABLE_BYTES);
        const bool volume = job.components == 3;
        first = ((volume ? VOLUME_HEADER_BYTES : HEADER_BYTES) +
                    (table_bytes < TABLE_SECTION_BYTES ? table_bytes : (u32)TABLE_SECTION_BYTES)) /
                4;
        end_of_groups = header.long_at(AT_STREAM_BYTES);
        if (volume) end_of_groups -= VolumeFields(job.stream, job.stream_bytes).list_bytes;
        end = first + groups;
    }
};

// The groups that a call takes, as far as a thread has found their ends.
struct TakenGroups {
    u32 first, end;  // 0: not found

    // Lists a group with tiles from `tile` to `tile_end` if the call takes it.
    __device__ __forceinline__ void add(
        const Job& job, u32 group, u64 offset, u64 tile, u64 tile_end, u32 size) {
        const ParseView work(job);
        const u64 first_tile = job.first_tile(), end_tile = job.tiles();
        if (tile_end <= first_tile || tile >= end_tile) return;
        const u32 place = group & job.group_mask;
        work.group_offsets()[place] = offset;
        work.group_sizes()[place] = GroupTiles::make(tile, (u32)(tile_end - tile), size);
        if (tile <= first_tile) first = group;
        if (tile_end >= end_tile) end = group + 1;
    }
};

// Finds where the groups lie of the pairs of words from pair `at` on, of which `own` is the thread's. bytes,
// tiles: sums over the thread's groups before, which it adds to. True if they are invalid. Call with a block.
__device__ __forceinline__ bool place_groups(const Job& job, GroupSums& shared, const GroupSection& words,
    u32 at, const uint2& own, u64& bytes, u64& tiles, TakenGroups& taken) {
    const u32 k = threadIdx.x, lane = k & 31, warp = k >> 5;
    const u32 number = 2 * (at + k) - words.first;  // number of the first group of the pair, if it is one
    const bool here[2] = {number < words.groups, number + 1 < words.groups};
    const u32 about[2] = {here[0] ? own.x : 0, here[1] ? own.y : 0};
    // Sums of bytes / 4 cannot overflow, whatever the words say.
    const u32 fours[2] = {padded_bytes(about[0]) / 4, padded_bytes(about[1]) / 4};
    const u32 counts[2] = {here[0] + tiles_less_one_in(about[0]), here[1] + tiles_less_one_in(about[1])};
    const u32 all_fours = warp_inclusive_sum(fours[0] + fours[1]),
              all_counts = warp_inclusive_sum(counts[0] + counts[1]);
    const u64 bytes_before = at > 0 ? warp_sum_long(bytes) : 0,
              tiles_before = at > 0 ? warp_sum_long(tiles) : 0;
    if (lane == 31) {
        shared.bytes[warp] = bytes_before, shared.tiles[warp] = tiles_before;
        shared.own_bytes[warp] = all_fours, shared.own_tiles[warp] = all_counts;
    }
    __syncthreads();
    const u64 below_bytes =
        warp_sum_long(shared.bytes[lane] + (lane < warp ? 4 * (u64)shared.own_bytes[lane] : 0));
    const u64 below_tiles = warp_sum_long(shared.tiles[lane] + (lane < warp ? shared.own_tiles[lane] : 0));
    const u32 numbers_before = 2 * at > words.first ? 2 * at - words.first : 0;
    u64 offset = 4 * (u64)words.end + below_bytes + 4 * (u64)(all_fours - fours[0] - fours[1]);
    u64 tile = below_tiles + numbers_before + (all_counts - counts[0] - counts[1]);
    bool bad = false;
#pragma unroll
    for (u32 i = 0; i < 2; i++) {
        const u32 g = number + i, size = bytes_in(about[i]);
        if (!here[i]) continue;
        taken.add(job, g, offset, tile, tile + counts[i], size);
        offset += 4 * (u64)fours[i];
        tile += counts[i];
        bad |= size < LEAST_STATE_BYTES || size % 2 != 0;
        // Sums ascend, so the last one proves all.
        if (g == words.groups - 1) bad |= offset != words.end_of_groups || tile != words.tiles;
    }
    bytes += 4 * (u64)(fours[0] + fours[1]);
    tiles += tiles_less_one_in(about[0]) + tiles_less_one_in(about[1]);
    return bad;
}

// Finds where the groups lie whose words are in this block's part of the stream. Each block sums the words
// before its part itself; all loads start before anything is known of the stream.
__device__ __forceinline__ void parse_groups(const Job& job, u32 block, u32 blocks) {
    __shared__ GroupSums shared;
    const u32 k = threadIdx.x;
    // 32 bits suffice (capacities.cuh).
    const u32 most = MOST_FIRST_WORDS + most_groups(job);
    const u32 parts = most <= PART_WORDS * blocks ? 1 : (most - 1) / (PART_WORDS * blocks) + 1;
    const u32 start = PART_WORDS / 2 * parts * block;  // in pairs of words, as all below
    // An odd word at the end of the stream is not a group word.
    const u32 pairs = job.stream_bytes / 8 < 1u << 31 ? (u32)(job.stream_bytes / 8) : 1u << 31,
              pairs_before = start < pairs ? start : pairs;
    const uint2* const stream = reinterpret_cast<const uint2*>(job.stream) + k;
    const uint2 none = make_uint2(0, 0);
    const Header header(job.stream, job.stream_bytes);
    uint2 own = start + k < pairs ? stream[start] : none, before[PAIRS_AHEAD];
#pragma unroll
    for (u32 i = 0; i < PAIRS_AHEAD; i++)
        before[i] = PARSE_THREADS * i + k < pairs_before ? stream[PARSE_THREADS * i] : none;
    const GroupSection words(job, header);
    if (2 * start >= words.end) return;
    // Sums over the groups before: bytes, and tiles - 1.
    u64 bytes = 0, tiles = 0;
    sum_words_before(stream, before, words.first, start, pairs_before, bytes, tiles);
    TakenGroups taken = {0, 0};
    bool bad = false;
    for (u32 at = start; at < start + PART_WORDS / 2 * parts && 2 * at < words.end; at += PARSE_THREADS) {
        if (at > start) {
            own = at + k < pairs ? stream[at] : none;
            __syncthreads();
        }
        bad |= place_groups(job, shared, words, at, own, bytes, tiles, taken);
    }
    after_previous();
    if (taken.first) control_of(job).first_group = taken.first;
    if (taken.end) control_of(job).end_group = taken.end;
    if (__any_sync(FULL, bad)) report_damage(job);
}
