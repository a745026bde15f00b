// Vertices with a level of their own in the order of lists: by kind, tile by tile. Twin of Lists in
// src/repair/encode.rs.
#pragma once
#include "compress/count/grouping.cuh"
#include "repair/values.cuh"

// Kinds of vertices in the order of their chunks: zero, filled, others.
constexpr u32 OTHER_KIND = 2;
__device__ __forceinline__ u32 kind_of_level(u32 level) {
    return level == LEVEL_ZERO ? 0 : level == LEVEL_FILLED ? 1 : OTHER_KIND;
}
__device__ __forceinline__ u64 most_of_kind(u32 kind) {
    return kind == OTHER_KIND ? LIST_CHUNK : LIST_CONSTANT_CHUNK;
}
__device__ __forceinline__ u64 chunks_of_kind(const Control& control, u32 kind) {
    return (control.volume.listed[kind] + most_of_kind(kind) - 1) / most_of_kind(kind);
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

// The largest error of the vertices of a tile that a thread looks at, or of those with a level of their own.
template <typename Of>
__device__ __forceinline__ double largest_error(
    const Job& job, const typename Of::Mesh::Tile& tile, bool listed_alone) {
    typedef typename Of::T T;
    typedef typename Of::Mesh Mesh;
    const VertexValues<Of> values(job);
    T largest = T(0);
    for (u32 place = threadIdx.x; place < Mesh::PLACES; place += blockDim.x) {
        if (listed_alone && values.level({tile.index, place}) == LEVEL_UNCHANGED) continue;
        GridPoint p;
        if (!vertex_at_place<Mesh>(tile, place, p)) continue;
        const auto original = original_at<T, Mesh::COMPONENTS>(job, p);
        const auto now = values.current(p, {tile.index, place}, original);
#pragma unroll
        for (i32 c = 0; c < Mesh::COMPONENTS; c++)
            if (Real<T>::finite(original.at[c]))
                largest = Real<T>::high(largest, Real<T>::abs(now.at[c] - original.at[c]));
    }
    return (double)largest;
}

// Raises the largest error of a volume that is being compressed to that of a tile. Call with a block.
template <typename Of>
__device__ __forceinline__ void raise_largest_error(const Job& job, Control& control, u64 tile, bool any) {
    const double known = __longlong_as_double((long long)__ldcg(&control.max_error.bits)),
                 of_layer = sizes_of(job, tile).largest_error;
    double largest = threadIdx.x == 0 ? of_layer : 0.0;
    if (any) {
        // Listed vertices are looked at, others have at most the error of layer 1: often less than is known.
        const auto vertices = Of::Mesh::tile(job, tile);
        const double most = larger(of_layer, largest_error<Of>(job, vertices, true));
        if (!__syncthreads_or(!(most <= known))) return;
        largest = largest_error<Of>(job, vertices, false);
    }
    for (i32 k = 16; k > 0; k /= 2) largest = larger(largest, __shfl_xor_sync(FULL, largest, k));
    if ((threadIdx.x & 31) == 0 && largest > known)
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
    if (threadIdx.x < LIST_KINDS) {
        const u32 kind = threadIdx.x, bit = 1u << kind;
        work.list_ranks(kind)[tile] = shared.counts[kind];
        if (shared.counts[kind] && !(__ldcg(&control.repair.listed_kinds) & bit))
            atomicOr(&control.repair.listed_kinds, bit);
    }
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
    // Tiles of a thread, whose loads are under way at the same time.
    constexpr u32 EACH = 4;
    Control& control = control_of(job);
    if (Of::is_idle(control)) return;
    const typename Of::View work(job);
    const u32 kinds = control.repair.listed_kinds;
    u64 totals[LIST_KINDS] = {0, 0, 0};
    for (u64 from = 0; from < job.tiles(); from += EACH * LIST_THREADS) {
        const u64 first = from + EACH * threadIdx.x;
        u64 counts[LIST_KINDS][EACH];
#pragma unroll
        for (u32 kind = 0; kind < LIST_KINDS; kind++)
#pragma unroll
            for (u32 k = 0; k < EACH; k++)
                counts[kind][k] =
                    kinds >> kind & 1 && first + k < job.tiles() ? work.list_ranks(kind)[first + k] : 0;
#pragma unroll
        for (u32 kind = 0; kind < LIST_KINDS; kind++) {
            if (!(kinds >> kind & 1)) continue;
            u64 mine = 0, all;
#pragma unroll
            for (u32 k = 0; k < EACH; k++) mine += counts[kind][k];
            u64 before = totals[kind] + block_exclusive_sum(mine, all);
#pragma unroll
            for (u32 k = 0; k < EACH; k++) {
                if (first + k < job.tiles()) work.list_ranks(kind)[first + k] = before;
                before += counts[kind][k];
            }
            totals[kind] += all;
        }
    }
    if (threadIdx.x != 0) return;
    u64 chunks = 0;
#pragma unroll
    for (u32 kind = 0; kind < LIST_KINDS; kind++) {
        control.volume.listed[kind] = totals[kind];
        control.list.vertices += totals[kind];
        chunks += chunks_of_kind(control, kind);
    }
    control.list.chunks = chunks;
    control.list.exact = control.exact;
}
template <typename T>
__device__ __forceinline__ void rank_vertices(const Job& job) {
    rank_mesh<LayerOne<T>>(job);
}

// Chunks of the kinds that come before the others, whose vertices have no level of their own.
__device__ __forceinline__ u64 constant_chunks(const Control& control) {
    return chunks_of_kind(control, 0) + chunks_of_kind(control, 1);
}

// A chunk: vertices of a kind, by their rank among those.
struct ChunkRange {
    u32 kind, count;
    u64 first;

    __device__ __forceinline__ ChunkRange(const Control& control, u64 chunk) : kind(0) {
        for (;; kind++) {
            const u64 most = most_of_kind(kind), all = control.volume.listed[kind],
                      chunks = chunks_of_kind(control, kind);
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
        u32 all = 0;
        before = 0, count = from = 0;
        if (tile < job.tiles())
#pragma unroll
            for (u32 k = 0; k < LIST_KINDS; k++) {
                const u64* const ranks = work.list_ranks(k) + tile;
                const u64 end = tile + 1 < job.tiles() ? ranks[1] : control.volume.listed[k];
                const u32 vertices = (u32)(end - ranks[0]);
                if (k == kind) before = ranks[0], count = vertices, from = all;
                all += vertices;
            }
        few = all <= most;
    }
};

// Visits the listed vertices of a kind with the ranks of a chunk, at most 32 at a time: `each(lanes,
// position, level, rank)` with a bit in `lanes` for each lane that has one. Positions ascend with the rank.
// Call with a warp.
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
                const u64 own_rank = rank + __popc(of_kind & lanes_below());
                const u32 lanes = __ballot_sync(FULL, here && is_in_chunk(own_rank));
                rank += __popc(of_kind);
                if (lanes) each(lanes, tile * Mesh::PLACES + number, level, own_rank);
            }
        }
    }
    // Visits the vertices of tiles with few: tile `tile` + k if bit k of `tiles` is set; lane k has its
    // counts.
    __device__ __forceinline__ void visit_few(u64 tile, u32 tiles, const ListedOfTile& mine) {
        const u32 lane = threadIdx.x & 31, count = tiles >> lane & 1 ? mine.count : 0,
                  up_to_me = warp_inclusive_sum(count), all = __shfl_sync(FULL, up_to_me, 31);
        for (u32 first = 0; first < all; first += 32) {
            const u32 wanted = first + lane, of = lane_of_sum(up_to_me, wanted);
            const u32 in_tile = wanted - (__shfl_sync(FULL, up_to_me, of) - __shfl_sync(FULL, count, of)),
                      at = __shfl_sync(FULL, mine.from, of) + in_tile;
            const u64 rank = shuffled(mine.before, of) + in_tile;
            const bool here = wanted < all && is_in_chunk(rank);
            const u32 vertex = here ? work.listed()[(tile + of) * WORDS + at] : 0,
                      lanes = __ballot_sync(FULL, here);
            if (lanes) each(lanes, (tile + of) * Mesh::PLACES + (vertex & 0xffff), vertex >> 16, rank);
        }
    }
};

// Calls `each` with the vertices of a chunk as ListedVisitor does. Where warps share the chunk, this one
// takes the tiles of its `share`, of `shares`. Call with a warp.
template <typename Of, typename Each>
__device__ __forceinline__ void for_listed(
    const Job& job, const ChunkRange& range, Each each, u32 share = 0, u32 shares = 1) {
    const typename Of::View work(job);
    const u64* const ranks = work.list_ranks(range.kind);
    const u64 end = range.first + range.count;
    ListedVisitor<Of, Each> visitor = {work, range, end, each};
    // The last tile with no more vertices before it than the chunk.
    u64 low = 0, high = job.tiles();
    while (high - low > 1) {
        const u64 middle = (low + high) / 2;
        if (ranks[middle] <= range.first)
            low = middle;
        else
            high = middle;
    }
    for (u64 tile = low + 32 * share; tile < job.tiles(); tile += 32 * shares) {
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
