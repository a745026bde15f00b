// Encodes the list of vertices with a level of their own: chunks of vertices in the order of lists, by kind.
// Twins: src/repair/encode.rs, encode in src/repair/list.rs.
#pragma once
#include "compress/assemble.cuh"
#include "repair/list.cuh"
#include "repair/values.cuh"

// Kinds of vertices in the order of their chunks: zero, filled, others.
constexpr u32 OTHER_KIND = 2;
__device__ __forceinline__ u32 kind_of_level(u32 level) {
    return level == LEVEL_ZERO ? 0 : level == LEVEL_FILLED ? 1 : OTHER_KIND;
}
__device__ __forceinline__ u64 most_of_kind(u32 kind) {
    return kind == OTHER_KIND ? LIST_CHUNK : LIST_CONSTANT_CHUNK;
}

// Listed vertices of a tile, by kind, and those that are exact; keys of few, which order them.
template <typename Mesh>
constexpr u32 LISTED_WORDS = Mesh::PLACES / 32;
template <typename Mesh>
constexpr u32 FEW_LISTED = LISTED_WORDS<Mesh>;
template <typename Mesh>
struct ListedShared {
    u32 listed[LISTED_WORDS<Mesh>], counts[LIST_KINDS], exact;
    u32 keys[FEW_LISTED<Mesh>], key_count;
};
__device__ __forceinline__ u32 all_kinds(const u32 (&counts)[LIST_KINDS]) {
    return counts[0] + counts[1] + counts[2];
}

// Finds the listed vertices of a tile: whether there are any. Call with a block.
template <typename Of>
__device__ __forceinline__ bool find_listed(
    const Job& job, u64 tile, ListedShared<typename Of::Mesh>& shared) {
    typedef typename Of::Mesh Mesh;
    for (u32 k = threadIdx.x; k < LISTED_WORDS<Mesh>; k += blockDim.x) shared.listed[k] = 0;
    if (threadIdx.x < LIST_KINDS) shared.counts[threadIdx.x] = 0;
    if (threadIdx.x == 0) shared.exact = shared.key_count = 0;
    static_assert(VOLUME_THREADS >= Mesh::PLACES / 16, "sixteen levels each");
    const u8* const levels = typename Of::View(job).levels() + tile * Mesh::PLACES;
    uint4 sixteen = make_uint4(0, 0, 0, 0);
    if (threadIdx.x < Mesh::PLACES / 16) sixteen = words_at<uint4>(levels)[threadIdx.x];
    if (!__syncthreads_or((sixteen.x | sixteen.y | sixteen.z | sixteen.w) != 0)) return false;
    for (u32 number = threadIdx.x; number < Mesh::PLACES; number += blockDim.x) {
        const u32 level = levels[Mesh::place_of_number(number)];
        if (level == LEVEL_UNCHANGED) continue;
        atomicOr(&shared.listed[number / 32], 1u << number % 32);
        atomicAdd(&shared.counts[kind_of_level(level)], 1u);
        if (level == LEVEL_EXACT) atomicAdd(&shared.exact, 1u);
    }
    __syncthreads();
    return true;
}

// A listed vertex of a tile with few: its number in the tile, and its level.
__device__ __forceinline__ u32 listed_vertex(u32 number, u32 level) { return number | level << 16; }

// Writes the listed vertices of a tile with few, kind by kind and by number. Call with a block.
template <typename Of>
__device__ __forceinline__ void write_few(const Job& job, u64 tile, ListedShared<typename Of::Mesh>& shared) {
    typedef typename Of::Mesh Mesh;
    const typename Of::View work(job);
    const u8* const levels = work.levels() + tile * Mesh::PLACES;
    auto level_of = [&](u32 number) -> u32 { return levels[Mesh::place_of_number(number)]; };
    for (u32 k = threadIdx.x; k < LISTED_WORDS<Mesh>; k += blockDim.x)
        for (u32 word = shared.listed[k]; word; word &= word - 1) {
            const u32 number = 32 * k + (u32)__ffs((i32)word) - 1;
            shared.keys[atomicAdd(&shared.key_count, 1u)] =
                kind_of_level(level_of(number)) * Mesh::PLACES + number;
        }
    __syncthreads();
    const u32 count = shared.key_count;
    for (u32 k = threadIdx.x; k < count; k += blockDim.x) {
        const u32 key = shared.keys[k], number = key % Mesh::PLACES;
        u32 rank = 0;
        for (u32 other = 0; other < count; other++) rank += shared.keys[other] < key;
        work.listed()[tile * LISTED_WORDS<Mesh> + rank] = listed_vertex(number, level_of(number));
    }
}

// The largest error of the vertices of a tile that a thread looks at.
template <typename Of>
__device__ __forceinline__ typename Of::T largest_error(const Job& job, const typename Of::Mesh::Tile& tile) {
    typedef typename Of::T T;
    typedef typename Of::Mesh Mesh;
    const VertexValues<Of> values(job);
    T largest = T(0);
    for (u32 place = threadIdx.x; place < Mesh::PLACES; place += blockDim.x) {
        GridPoint p;
        if (!vertex_at_place<Mesh>(tile, place, p)) continue;
        const auto original = original_at<T, Mesh::COMPONENTS>(job, p);
        const auto now = values.current(p, {tile.index, place}, original);
#pragma unroll
        for (i32 c = 0; c < Mesh::COMPONENTS; c++)
            if (Real<T>::finite(original.at[c]))
                largest = Real<T>::high(largest, Real<T>::abs(now.at[c] - original.at[c]));
    }
    return largest;
}

// Raises the largest error of a volume that is being compressed to that of a tile. Call with a block.
template <typename Of>
__device__ __forceinline__ void raise_largest_error(const Job& job, Control& control, u64 tile, bool any) {
    double largest = 0.0;
    if (any)
        largest = (double)largest_error<Of>(job, Of::Mesh::tile(job, tile));
    else if (threadIdx.x == 0)
        largest = sizes_of(job, tile).largest_error;
    for (i32 k = 16; k > 0; k /= 2) largest = larger(largest, __shfl_xor_sync(FULL, largest, k));
    if ((threadIdx.x & 31) == 0 && largest > 0.0)
        atomicMax((ull*)&control.max_error.bits, (ull)__double_as_longlong(largest));
}

// Grid: tiles. Block: VOLUME_THREADS threads, a tile each. Reads: levels; of a volume that is being
// compressed, where some vertices have one, the field, values of layer 1 and bound shifts, otherwise the
// largest error of layer 1. Writes: listed vertices, and how many of each kind; the largest error, the number
// of exact vertices.
template <typename Of>
__device__ __forceinline__ void list_mesh(const Job& job) {
    typedef typename Of::Mesh Mesh;
    __shared__ ListedShared<Mesh> shared;
    Control& control = control_of(job);
    if (Of::is_idle(control)) return;
    const typename Of::View work(job);
    const u64 tile = blockIdx.x;
    const bool any = find_listed<Of>(job, tile, shared);
    if constexpr (Of::IS_COMPRESSION) raise_largest_error<Of>(job, control, tile, any);
    if (any && all_kinds(shared.counts) <= FEW_LISTED<Mesh>)
        write_few<Of>(job, tile, shared);
    else if (any)
        for (u32 k = threadIdx.x; k < LISTED_WORDS<Mesh>; k += blockDim.x)
            work.listed()[tile * LISTED_WORDS<Mesh> + k] = shared.listed[k];
    if (threadIdx.x < LIST_KINDS)
        work.list_ranks()[tile * LIST_KINDS + threadIdx.x] = shared.counts[threadIdx.x];
    if (threadIdx.x == 0 && shared.exact) atomicAdd((ull*)&control.exact, (ull)shared.exact);
}
template <typename T>
__device__ __forceinline__ void list_vertices(const Job& job) {
    list_mesh<LayerOne<T>>(job);
}

// Grid: 1. Block: LIST_THREADS threads. Sums the numbers of listed vertices. Changes: their numbers by tile
// become those of all tiles before. Writes: totals.
template <typename Of>
__device__ __forceinline__ void rank_mesh(const Job& job) {
    Control& control = control_of(job);
    if (Of::is_idle(control)) return;
    u64* const ranks = typename Of::View(job).list_ranks();
    u64 totals[LIST_KINDS] = {0, 0, 0};
    for (u64 from = 0; from < job.tiles(); from += LIST_THREADS) {
        const u64 tile = from + threadIdx.x;
#pragma unroll
        for (u32 kind = 0; kind < LIST_KINDS; kind++) {
            u64 all;
            const u64 mine = tile < job.tiles() ? ranks[tile * LIST_KINDS + kind] : 0,
                      before = block_exclusive_sum(mine, all);
            if (tile < job.tiles()) ranks[tile * LIST_KINDS + kind] = totals[kind] + before;
            totals[kind] += all;
        }
    }
    if (threadIdx.x != 0) return;
    u64 chunks = 0;
#pragma unroll
    for (u32 kind = 0; kind < LIST_KINDS; kind++) {
        control.volume.listed[kind] = totals[kind];
        control.list.vertices += totals[kind];
        chunks += (totals[kind] + most_of_kind(kind) - 1) / most_of_kind(kind);
    }
    control.list.chunks = chunks;
    control.list.exact = control.exact;
}
template <typename T>
__device__ __forceinline__ void rank_vertices(const Job& job) {
    rank_mesh<LayerOne<T>>(job);
}

// A chunk: vertices of a kind, by their rank among those.
struct ChunkRange {
    u32 kind, count;
    u64 first;

    __device__ __forceinline__ ChunkRange(const Control& control, u64 chunk) : kind(0) {
        for (;; kind++) {
            const u64 most = most_of_kind(kind), all = control.volume.listed[kind],
                      chunks = (all + most - 1) / most;
            if (chunk < chunks || kind == OTHER_KIND) {
                first = chunk * most;
                count = (u32)(all - first < most ? all - first : most);
                return;
            }
            chunk -= chunks;
        }
    }
};

__device__ __forceinline__ u64 shuffled(u64 value, u32 lane) {
    return (u64)__shfl_sync(FULL, (u32)(value >> 32), lane) << 32 | __shfl_sync(FULL, (u32)value, lane);
}

// The listed vertices of a kind in a tile: how many there are before them, their number, and where they begin
// among those of the tile if it has few.
struct ListedOfTile {
    u64 before;
    u32 count, from;
    bool few;

    __device__ __forceinline__ ListedOfTile() {}
    // `most`: of a tile with few.
    template <typename View>
    __device__ __forceinline__ ListedOfTile(const Job& job, const View& work, u64 tile, u32 kind, u32 most) {
        const Control& control = control_of(job);
        const u64* const ranks = work.list_ranks() + tile * LIST_KINDS;
        u32 all = 0;
        before = 0, count = from = 0;
        if (tile < job.tiles())
#pragma unroll
            for (u32 k = 0; k < LIST_KINDS; k++) {
                const u64 end = tile + 1 < job.tiles() ? ranks[LIST_KINDS + k] : control.volume.listed[k];
                const u32 vertices = (u32)(end - ranks[k]);
                if (k == kind) before = ranks[k], count = vertices, from = all;
                all += vertices;
            }
        few = all <= most;
    }
};

// Visits the listed vertices of a kind with the ranks of a chunk, at most 32 at a time: `each(lanes,
// position, level)` with a bit in `lanes` for each lane that has one. Positions ascend. Call with a warp.
template <typename Of, typename Each>
struct ListedVisitor {
    typedef typename Of::Mesh Mesh;
    static constexpr u32 WORDS = LISTED_WORDS<Mesh>;
    const typename Of::View work;
    const ChunkRange& range;
    const u64 end;
    Each each;

    __device__ __forceinline__ bool is_in_chunk(u64 rank) const { return rank >= range.first && rank < end; }
    // Visits the vertices of a tile with many.
    __device__ __forceinline__ void visit_many(u64 tile, u64 rank) {
        const u32 lane = threadIdx.x & 31;
        const u32* const words = work.listed() + tile * WORDS;
        for (u32 first = 0; first < WORDS && rank < end; first += 32) {
            const u32 own_word = words[first + lane];
            for (u32 left = __ballot_sync(FULL, own_word != 0); left && rank < end; left &= left - 1) {
                const u32 w = (u32)__ffs((i32)left) - 1, word = __shfl_sync(FULL, own_word, w),
                          number = 32 * (first + w) + lane;
                u32 level = LEVEL_UNCHANGED;
                if (word >> lane & 1)
                    level = work.levels()[tile * Mesh::PLACES + Mesh::place_of_number(number)];
                const bool here = level != LEVEL_UNCHANGED && kind_of_level(level) == range.kind;
                const u32 of_kind = __ballot_sync(FULL, here);
                const u32 lanes =
                    __ballot_sync(FULL, here && is_in_chunk(rank + __popc(of_kind & lanes_below())));
                rank += __popc(of_kind);
                if (lanes) each(lanes, tile * Mesh::PLACES + number, level);
            }
        }
    }
    // Visits the vertices of tiles with few: tile `tile` + k if bit k of `tiles` is set; lane k has its counts.
    __device__ __forceinline__ void visit_few(u64 tile, u32 tiles, const ListedOfTile& mine) {
        const u32 lane = threadIdx.x & 31, count = tiles >> lane & 1 ? mine.count : 0,
                  up_to_me = warp_inclusive_sum(count), all = __shfl_sync(FULL, up_to_me, 31);
        for (u32 first = 0; first < all; first += 32) {
            // The tile with this vertex: the first one with more up to it.
            const u32 wanted = first + lane;
            u32 of = 0;
#pragma unroll
            for (u32 step = 16; step > 0; step /= 2)
                if (__shfl_sync(FULL, up_to_me, of + step - 1) <= wanted) of += step;
            of = of < 31 ? of : 31;
            const u32 in_tile = wanted - (__shfl_sync(FULL, up_to_me, of) - __shfl_sync(FULL, count, of)),
                      at = __shfl_sync(FULL, mine.from, of) + in_tile;
            const u64 rank = shuffled(mine.before, of) + in_tile;
            const bool here = wanted < all && is_in_chunk(rank);
            const u32 vertex = here ? work.listed()[(tile + of) * WORDS + at] : 0,
                      lanes = __ballot_sync(FULL, here);
            if (lanes) each(lanes, (tile + of) * Mesh::PLACES + (vertex & 0xffff), vertex >> 16);
        }
    }
};

// Calls `each` with the vertices of a chunk as ListedVisitor does. Call with a warp.
template <typename Of, typename Each>
__device__ __forceinline__ void for_listed(const Job& job, const ChunkRange& range, Each each) {
    const typename Of::View work(job);
    const u64* const ranks = work.list_ranks();
    const u64 end = range.first + range.count;
    ListedVisitor<Of, Each> visitor = {work, range, end, each};
    // The last tile with no more vertices before it than the chunk.
    u64 low = 0, high = job.tiles();
    while (high - low > 1) {
        const u64 middle = (low + high) / 2;
        if (ranks[middle * LIST_KINDS + range.kind] <= range.first)
            low = middle;
        else
            high = middle;
    }
    for (u64 tile = low; tile < job.tiles(); tile += 32) {
        const ListedOfTile mine(
            job, work, tile + (threadIdx.x & 31), range.kind, FEW_LISTED<typename Of::Mesh>);
        u32 some = __ballot_sync(FULL, mine.count > 0 && mine.before < end);
        const u32 few = __ballot_sync(FULL, mine.few);
        while (some) {
            const u32 next = (u32)__ffs((i32)some) - 1, many = some & ~few,
                      group = some & (many ? (many & (0u - many)) - 1 : FULL);
            if (group)
                visitor.visit_few(tile, group, mine);
            else
                visitor.visit_many(tile + next, shuffled(mine.before, next));
            some &= ~(group ? group : 1u << next);
        }
        if (shuffled(mine.before + mine.count, 31) >= end) return;
    }
}

// The number of a lane's vertex in its chunk, and the gap to the vertex before it.
struct ListedLane {
    u32 lanes, begins;  // bits of lanes with a vertex, and of those that begin a run
    u32 number;         // of the vertex in the chunk
    u64 gap;            // positions between it and the vertex before

    // `done` vertices were before those of the lanes, the last of which had the position `last`.
    __device__ __forceinline__ ListedLane(u32 lanes, u64 position, u32 done, u64 last) : lanes(lanes) {
        const u32 lane = threadIdx.x & 31, below = lanes & lanes_below();
        const u64 of_lane = shuffled(position, below ? highest_bit(below) : lane),
                  before = below ? of_lane : last;
        number = done + __popc(below);
        gap = position - before - 1;
        begins = __ballot_sync(FULL, (lanes >> lane & 1) && (number == 0 || gap != 0));
    }
};

// Bits of a number in exponential Golomb code, and of its parts.
__device__ __forceinline__ u32 log2_of(u64 x) { return 63 - (u32)__clzll((long long)x); }
__device__ __forceinline__ u32 golomb_bits(u64 value, u32 order) {
    return 2 * log2_of((value >> order) + 1) + 1 + order;
}

// Bits that the gaps of a chunk take by order of their code: a lane has the orders of its number, and 32
// more.
struct GapCosts {
    u64 single[2], skipped[2];  // every vertex with its gap; runs with theirs

    static __device__ __forceinline__ u32 order(u32 k) { return (threadIdx.x & 31) + 32 * k; }
    __device__ __forceinline__ void add(u64 (&costs)[2], u64 gap, u64 times = 1) {
#pragma unroll
        for (u32 k = 0; k < 2; k++) costs[k] += times * golomb_bits(gap, order(k));
    }
    // The fewest bits, and the smallest order that takes them.
    static __device__ __forceinline__ u64 best(const u64 (&costs)[2], u32& best_order) {
        u64 least = costs[0] << 6 | order(0);
        if (order(1) <= LIST_MOST_ORDER && (costs[1] << 6 | order(1)) < least)
            least = costs[1] << 6 | order(1);
        for (i32 k = 16; k > 0; k /= 2) {
            const u64 other = __shfl_xor_sync(FULL, least, k);
            least = other < least ? other : least;
        }
        best_order = (u32)least & 63;
        return least >> 6;
    }
};

// Bits of the levels of a chunk by order of their code, and of all cells and values.
struct LevelCosts {
    u32 costs[LIST_MOST_LEVEL_ORDER + 1];
    u64 data;
};

// Finds out how the vertices of a chunk are coded best. Call with a warp.
template <typename Of>
struct ChunkPlan {
    u64 first, run_bits, bits;  // first: position; bits: of the whole chunk
    u32 gaps, levels;
    GapCosts gap_costs;
    LevelCosts level_costs;

    __device__ __forceinline__ ChunkPlan(const Job& job, const ChunkRange& range)
        : first(0), run_bits(0), gap_costs{{0, 0}, {0, 0}}, level_costs{{0, 0, 0, 0, 0}, 0} {
        const u32 lane = threadIdx.x & 31;
        u64 last = 0;                     // position
        u32 done = 0, run_begins_at = 0;  // vertices, and those before the run
        for_listed<Of>(job, range, [&](u32 lanes, u64 position, u32 level) {
            if (done == 0) first = shuffled(position, (u32)__ffs((i32)lanes) - 1);
            add_gaps(ListedLane(lanes, position, done, last), run_begins_at);
            if (range.kind == OTHER_KIND && lanes >> lane & 1) add_level(level);
            done += __popc(lanes);
            last = shuffled(position, highest_bit(lanes));
        });
        run_bits += golomb_bits(done - run_begins_at - 1, 0);
        decide(range.kind);
    }
    // Adds the gaps in front of the vertices of lanes. A vertex begins a run unless the one before it has the
    // position before.
    __device__ __forceinline__ void add_gaps(const ListedLane& mine, u32& run_begins_at) {
        const u32 follows = mine.lanes & ~mine.begins;
        if (follows) gap_costs.add(gap_costs.single, 0, __popc(follows));
        for (u32 begins = mine.begins; begins; begins &= begins - 1) {
            const u32 at = (u32)__ffs((i32)begins) - 1, number = __shfl_sync(FULL, mine.number, at);
            const u64 gap = shuffled(mine.gap, at);
            if (number == 0) continue;
            gap_costs.add(gap_costs.single, gap);
            gap_costs.add(gap_costs.skipped, gap - 1);
            run_bits += golomb_bits(number - run_begins_at - 1, 0);
            run_begins_at = number;
        }
    }
    __device__ __forceinline__ void add_level(u32 level) {
#pragma unroll
        for (u32 order = 0; order <= LIST_MOST_LEVEL_ORDER; order++)
            level_costs.costs[order] += golomb_bits(level - 1, order);
        level_costs.data +=
            Of::Mesh::COMPONENTS * (level == LEVEL_EXACT ? 8 * sizeof(typename Of::T) : level);
    }
    __device__ __forceinline__ void decide(u32 kind) {
        u32 single_order, skipped_order;
        const u64 single = GapCosts::best(gap_costs.single, single_order),
                  skipped = GapCosts::best(gap_costs.skipped, skipped_order) + run_bits;
        gaps = skipped < single ? skipped_order | LIST_RUNS : single_order;
        bits = skipped < single ? skipped : single;
        levels = kind == 0 ? LIST_ALL_ZERO : kind == 1 ? LIST_ALL_FILLED : 0;
        if (kind != OTHER_KIND) return;
        u32 least = 0xffffffffu;
        for (u32 order = 0; order <= LIST_MOST_LEVEL_ORDER; order++) {
            const u32 cost = warp_sum(level_costs.costs[order]);
            if (cost < least) least = cost, levels = order;
        }
        bits += least + warp_sum64(level_costs.data);
    }
};

// Grid: any. Block: LIST_WARPS warps, a chunk each. Reads: levels, which vertices are listed, ranks. Writes:
// entries of the directory.
template <typename Of>
__device__ __forceinline__ void plan_mesh(const Job& job) {
    const Control& control = control_of(job);
    if (Of::is_idle(control)) return;
    const u64 chunks = control.list.chunks;
    for (u64 chunk = blockIdx.x + (u64)gridDim.x * warp_or(threadIdx.x >> 5); chunk < chunks;
         chunk += (u64)gridDim.x * LIST_WARPS) {
        const ChunkRange range(control, chunk);
        const ChunkPlan<Of> plan(job, range);
        const u32 bytes = (u32)((plan.bits + 31) / 32 * 4);
        if ((threadIdx.x & 31) == 0)
            typename Of::View(job).chunks()[chunk] = make_ulonglong2(
                plan.first, bytes | (u64)(range.count | plan.gaps << 16 | plan.levels << 24) << 32);
    }
}
template <typename T>
__device__ __forceinline__ void plan_chunks(const Job& job) {
    plan_mesh<LayerOne<T>>(job);
}

// Grid: 1. Block: LIST_THREADS threads. Reads: entries of the directory. Writes: where chunks lie in the
// list, and its length.
template <typename Of>
__device__ __forceinline__ void place_mesh_list(const Job& job) {
    Control& control = control_of(job);
    if (Of::is_idle(control)) return;
    const typename Of::View work(job);
    const u64 chunks = control.list.chunks;
    u64 words = chunks * (LIST_ENTRY_BYTES / 4);
    for (u64 from = 0; from < chunks; from += LIST_THREADS) {
        const u64 chunk = from + threadIdx.x;
        u64 all;
        const u64 mine = chunk < chunks ? (u32)work.chunks()[chunk].y / 4 : 0,
                  before = block_exclusive_sum(mine, all);
        if (chunk < chunks) work.chunk_places()[chunk] = words + before;
        words += all;
    }
    if (threadIdx.x == 0) control.list.bytes = 4 * words;
}
template <typename T>
__device__ __forceinline__ void place_list(const Job& job) {
    place_mesh_list<LayerOne<T>>(job);
}

// Writes bits of a warp to the stream. Words are complete in shared memory first.
struct BitWriter {
    const Job& job;
    u32* const words;  // [CHUNK_WORDS]
    u64 at;            // of the first word in the stream, in words
    u32 filled;        // bits of the words
    u32 sum;           // of the checksum

    __device__ __forceinline__ BitWriter(const Job& job, u32* words, u64 at)
        : job(job), words(words), at(at), filled(0), sum(0) {
        for (u32 k = threadIdx.x & 31; k < CHUNK_WORDS; k += 32) words[k] = 0;
        __syncwarp();
    }
    // Bits of a lane, from a place in the words on.
    __device__ __forceinline__ void put(u64 value, u32 bits, u32& place) {
        if (bits == 0) return;
        const u32 shift = place & 31, word = place / 32;
        const u64 low = value << shift;
        if ((u32)low) atomicOr(&words[word], (u32)low);
        if (low >> 32) atomicOr(&words[word + 1], (u32)(low >> 32));
        if (shift && value >> (64 - shift)) atomicOr(&words[word + 2], (u32)(value >> (64 - shift)));
        place += bits;
    }
    __device__ __forceinline__ void put_golomb(u64 value, u32 order, u32& place) {
        const u64 quotient = (value >> order) + 1;
        const u32 length = log2_of(quotient);
        put(1ull << length, length + 1, place);
        put(quotient ^ 1ull << length, length, place);
        put(value & ((1ull << order) - 1), order, place);
    }
    // The places of the lanes that put so many bits each.
    __device__ __forceinline__ u32 reserve(u32 bits) {
        const u32 up_to_me = warp_inclusive_sum(bits), place = filled + up_to_me - bits;
        filled += __shfl_sync(FULL, up_to_me, 31);
        return place;
    }
    // Writes the words that are complete, or all.
    __device__ __forceinline__ void flush(bool all) {
        __syncwarp();
        const u32 lane = threadIdx.x & 31, count = all ? (filled + 31) / 32 : filled / 32,
                  rest = words[count];
        for (u32 k = lane; k < count; k += 32) {
            store_word(job.stream, 4 * (at + k), words[k]);
            sum += checksum_term(words[k], at + k);
        }
        __syncwarp();
        for (u32 k = lane; k <= count; k += 32) words[k] = k == 0 && !all ? rest : 0;
        at += count;
        filled = all ? 0 : filled & 31;
        __syncwarp();
    }
};

// Writes a chunk of zero or of filled vertices by a warp.
template <typename Of>
__device__ __forceinline__ void write_constant_chunk(
    const Job& job, const ChunkRange& range, const ListEntry& entry, BitWriter& out) {
    const u32 lane = threadIdx.x & 31, order = entry.gaps & ~LIST_RUNS;
    const bool has_runs = entry.gaps & LIST_RUNS;
    u64 last = 0;
    u32 done = 0, run_begins_at = 0;
    for_listed<Of>(job, range, [&](u32 lanes, u64 position, u32) {
        const ListedLane mine(lanes, position, done, last);
        const u32 begins = mine.begins, number = mine.number;
        const u64 gap = mine.gap;
        // With runs, a vertex that begins one has the length of the run before it, then its gap.
        const bool speaks = ((has_runs ? begins : lanes) >> lane & 1) && number > 0;
        const u32 others = begins & lanes_below(),
                  from = others ? done + __popc(lanes & ((1u << highest_bit(others)) - 1)) : run_begins_at,
                  length = number - from - 1;
        const u32 bits = !speaks    ? 0
                         : has_runs ? golomb_bits(length, 0) + golomb_bits(gap - 1, order)
                                    : golomb_bits(gap, order);
        u32 place = out.reserve(bits);
        if (speaks && has_runs) out.put_golomb(length, 0, place);
        if (speaks) out.put_golomb(gap - has_runs, order, place);
        out.flush(false);
        if (begins) run_begins_at = done + __popc(lanes & ((1u << highest_bit(begins)) - 1));
        done += __popc(lanes);
        last = shuffled(position, highest_bit(lanes));
    });
    if (!has_runs) return;
    const u32 length = done - run_begins_at - 1;
    u32 place = out.reserve(lane == 0 ? golomb_bits(length, 0) : 0);
    if (lane == 0) out.put_golomb(length, 0, place);
}

// The vertices of a chunk with levels of their own.
struct ChunkVertices {
    u64 positions[LIST_CHUNK];
    u8 levels[LIST_CHUNK];
    u32 begins[LIST_CHUNK / 32];  // a bit for each vertex that begins a run
};

// The vertices of a run that begins with this one.
__device__ __forceinline__ u32 run_length(const ChunkVertices& vertices, u32 number, u32 count) {
    for (u32 w = (number + 1) / 32; w < LIST_CHUNK / 32; w++) {
        const u32 word = vertices.begins[w] & (w == (number + 1) / 32 ? FULL << (number + 1) % 32 : FULL);
        if (word) return 32 * w + (u32)__ffs((i32)word) - 1 - number;
    }
    return count - number;
}

// Puts the vertices of a chunk into shared memory. Call with a warp.
template <typename Of>
__device__ __forceinline__ void gather_chunk(
    const Job& job, const ChunkRange& range, ChunkVertices& vertices) {
    const u32 lane = threadIdx.x & 31;
    u32 done = 0;
    for_listed<Of>(job, range, [&](u32 lanes, u64 position, u32 level) {
        if (lanes >> lane & 1) {
            const u32 number = done + __popc(lanes & lanes_below());
            vertices.positions[number] = position;
            vertices.levels[number] = (u8)level;
        }
        done += __popc(lanes);
    });
    __syncwarp();
    for (u32 first = 0; first < LIST_CHUNK; first += 32) {
        const u32 number = first + lane;
        const bool begins = number < range.count &&
                            (number == 0 || vertices.positions[number - 1] + 1 != vertices.positions[number]);
        const u32 word = __ballot_sync(FULL, begins);
        if (lane == 0) vertices.begins[first / 32] = word;
    }
    __syncwarp();
}

// Writes a chunk of vertices with levels of their own by a warp.
template <typename Of>
__device__ __forceinline__ void write_chunk(const Job& job, const ChunkRange& range, const ListEntry& entry,
    ChunkVertices& vertices, BitWriter& out) {
    typedef typename Of::T T;
    typedef typename Of::Mesh Mesh;
    const u32 lane = threadIdx.x & 31, order = entry.gaps & ~LIST_RUNS;
    const bool has_runs = entry.gaps & LIST_RUNS;
    gather_chunk<Of>(job, range, vertices);
    const VertexValues<Of> values(job);
    for (u32 first = 0; first < range.count; first += 32) {
        const u32 number = first + lane;
        const bool here = number < range.count, begins = here && vertices.begins[first / 32] >> lane & 1;
        u64 gap = 0, data[Mesh::COMPONENTS] = {};
        u32 level = 1, bits = 0, length = 0, width = 0;
        if (here) {
            const u64 position = vertices.positions[number];
            if (number > 0) gap = position - vertices.positions[number - 1] - 1;
            level = vertices.levels[number];
            width = level == LEVEL_EXACT ? 8 * sizeof(T) : level;
            GridPoint p;
            const TilePlace at = {
                position / Mesh::PLACES, Mesh::place_of_number((u32)position % Mesh::PLACES)};
            vertex_at_place<Mesh>(Mesh::tile(job, at.tile), at.place, p);
            const auto original = original_at<T, Mesh::COMPONENTS>(job, p), before = values.before(p, at);
            const double radius = values.radius(p, at);
#pragma unroll
            for (i32 c = 0; c < Mesh::COMPONENTS; c++)
                data[c] = level == LEVEL_EXACT ? Real<T>::bits(original.at[c])
                                               : refined_cell(radius, level, original.at[c], before.at[c]);
            if (has_runs && begins) length = run_length(vertices, number, range.count);
            const bool has_gap = number > 0 && (!has_runs || begins);
            bits = (has_gap ? golomb_bits(gap - has_runs, order) : 0) +
                   (length ? golomb_bits(length - 1, 0) : 0) + golomb_bits(level - 1, entry.levels) +
                   Mesh::COMPONENTS * width;
        }
        u32 place = out.reserve(bits);
        if (here) {
            if (number > 0 && (!has_runs || begins)) out.put_golomb(gap - has_runs, order, place);
            if (length) out.put_golomb(length - 1, 0, place);
            out.put_golomb(level - 1, entry.levels, place);
            for (i32 c = 0; c < Mesh::COMPONENTS; c++) out.put(data[c], width, place);
        }
        out.flush(false);
    }
}

struct WriteListShared {
    ChunkVertices vertices[LIST_WARPS];
    u32 words[LIST_WARPS][CHUNK_WORDS];
    u32 sums[LIST_WARPS];
};

// Writes the directory and the chunks of the list, which begins at word `at` of the stream. Returns the share
// of a warp in the checksum.
template <typename Of>
__device__ __forceinline__ u32 write_chunks(
    const Job& job, const Control& control, u64 at, WriteListShared& shared) {
    const typename Of::View work(job);
    const u32 lane = threadIdx.x & 31, warp = warp_or(threadIdx.x >> 5);
    u32 sum = 0;
    for (u64 chunk = blockIdx.x + (u64)gridDim.x * warp; chunk < control.list.chunks;
         chunk += (u64)gridDim.x * LIST_WARPS) {
        const ulonglong2 words = work.chunks()[chunk];
        const u32 of_entry[4] = {(u32)words.x, (u32)(words.x >> 32), (u32)words.y, (u32)(words.y >> 32)};
        if (lane < 4) {
            const u64 place = at + 4 * chunk + lane;
            const u32 word = lane == 0   ? of_entry[0]
                             : lane == 1 ? of_entry[1]
                             : lane == 2 ? of_entry[2]
                                         : of_entry[3];
            store_word(job.stream, 4 * place, word);
            sum += checksum_term(word, place);
        }
        const ListEntry entry(of_entry);
        const ChunkRange range(control, chunk);
        BitWriter out(job, shared.words[warp], at + work.chunk_places()[chunk]);
        if (range.kind == OTHER_KIND)
            write_chunk<Of>(job, range, entry, shared.vertices[warp], out);
        else
            write_constant_chunk<Of>(job, range, entry, out);
        out.flush(true);
        sum += out.sum;
    }
    return warp_sum(sum);
}

// Adds the shares of the warps of a block to the checksum of the stream. Call with a block.
__device__ __forceinline__ void add_to_seal(Control& control, u32 of_warp, u32 (&sums)[LIST_WARPS]) {
    if ((threadIdx.x & 31) == 0) sums[threadIdx.x >> 5] = of_warp;
    __syncthreads();
    if (threadIdx.x != 0) return;
    u32 sum = 0;
    for (u32 k = 0; k < LIST_WARPS; k++) sum += sums[k];
    atomicAdd((ull*)&control.seal, (ull)sum << 32);
}

// Grid: any. Block: LIST_WARPS warps, a chunk each. Static shared: WriteListShared. Reads: the field, values
// of layer 1, levels, which vertices are listed, ranks, entries and places of chunks. Writes: the list in the
// stream, and the checksum of the stream.
template <typename T>
__device__ __forceinline__ void write_list(const Job& job) {
    __shared__ WriteListShared shared;
    Control& control = control_of(job);
    // Not if the stream does not fit, or stores the values.
    const bool fits = job.report->status == STATUS_OK;
    const u64 at = (control.stream_bytes - control.list.bytes) / 4;
    u32 sum = 0;
    if (fits && control.content == CONTENT_CODED) sum = write_chunks<LayerOne<T>>(job, control, at, shared);
    add_to_seal(control, sum, shared.sums);
    if (!last_block(control, TICKET_LIST) || threadIdx.x != 0 || !fits) return;
    put32(job.stream + AT_CHECKSUM, (u32)(__ldcg(&control.seal) >> 32));
}
