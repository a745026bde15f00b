// Encodes the list of vertices with a level of their own: chunks of vertices in the order of lists, by kind.
// Twins: chunks of Lists in src/repair/encode.rs, encode in src/repair/list.rs.
#pragma once
#include "compress/assemble.cuh"
#include "repair/list.cuh"
#include "repair/listed.cuh"

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

// The vertices of a chunk with levels of their own.
struct ChunkVertices {
    u64 positions[LIST_CHUNK];
    u8 levels[LIST_CHUNK];
    u32 begins[LIST_CHUNK / 32];  // a bit for each vertex that begins a run
};

// Puts the vertices of a chunk into shared memory. Call with a block.
template <typename Of>
__device__ __forceinline__ void gather_chunk(
    const Job& job, const ChunkRange& range, ChunkVertices& vertices) {
    const u32 lane = threadIdx.x & 31;
    __syncthreads();
    auto put = [&](u32 lanes, u64 position, u32 level, u64 rank) {
        if (!(lanes >> lane & 1)) return;
        vertices.positions[rank - range.first] = position;
        vertices.levels[rank - range.first] = (u8)level;
    };
    for_listed<Of>(job, range, put, warp_or(threadIdx.x >> 5), CHUNK_WARPS);
    __syncthreads();
    static_assert(LIST_CHUNK % 32 == 0 && LIST_CHUNK <= 32 * CHUNK_WARPS, "a thread a vertex");
    const u32 k = threadIdx.x;
    const bool begins = k < range.count && (k == 0 || vertices.positions[k - 1] + 1 != vertices.positions[k]);
    const u32 word = __ballot_sync(FULL, begins);
    if (k < LIST_CHUNK && lane == 0) vertices.begins[k / 32] = word;
    __syncthreads();
}
// Calls `each` with those vertices as for_listed does. Call with a warp.
template <typename Each>
__device__ __forceinline__ void for_gathered(
    const ChunkRange& range, const ChunkVertices& vertices, Each each) {
    for (u32 first = 0; first < range.count; first += 32) {
        const u32 k = first + (threadIdx.x & 31);
        const bool here = k < range.count;
        each(__ballot_sync(FULL, here), here ? vertices.positions[k] : 0,
            here ? (u32)vertices.levels[k] : LEVEL_UNCHANGED, range.first + k);
    }
}

// Finds out how the vertices of a chunk are coded best. Call with a warp.
template <typename Of>
struct ChunkPlan {
    u64 first, run_bits, bits;  // first: position; bits: of the whole chunk
    u32 gaps, levels;
    GapCosts gap_costs;
    LevelCosts level_costs;

    // `visit` calls a function with the vertices as for_listed does.
    template <typename Visit>
    __device__ __forceinline__ ChunkPlan(const ChunkRange& range, Visit visit)
        : first(0), run_bits(0), gap_costs{{0, 0}, {0, 0}}, level_costs{{0, 0, 0, 0, 0}, 0} {
        const u32 lane = threadIdx.x & 31;
        u64 last = 0;                     // position
        u32 done = 0, run_begins_at = 0;  // vertices, and those before the run
        visit([&](u32 lanes, u64 position, u32 level, u64) {
            if (done == 0) first = shuffled(position, (u32)__ffs((i32)lanes) - 1);
            add_gaps(ListedLane(lanes, position, done, last), run_begins_at);
            if (range.kind == OTHER_KIND && lanes >> lane & 1) add_level(level);
            done += __popc(lanes);
            last = shuffled(position, highest_bit(lanes));
        });
        run_bits += golomb_bits(done - run_begins_at - 1, 0);
        decide(range.kind);
    }
    // Writes the entry of the chunk in the directory. Call with a warp.
    __device__ __forceinline__ void write(const Job& job, u64 chunk, u32 count) const {
        const u32 bytes = (u32)((bits + 31) / 32 * 4);
        if ((threadIdx.x & 31) == 0)
            typename Of::View(job).chunks()[chunk] =
                make_ulonglong2(first, bytes | (u64)(count | gaps << 16 | levels << 24) << 32);
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

// Calls `of_warp(chunk, range)` with the chunks that a warp takes, those of vertices without a level of their
// own, then `of_block` with the others. Call with a block.
template <typename OfWarp, typename OfBlock>
__device__ __forceinline__ void for_chunks(const Control& control, OfWarp of_warp, OfBlock of_block) {
    const u64 constant = constant_chunks(control), chunks = control.list.chunks;
    for (u64 chunk = blockIdx.x + (u64)gridDim.x * warp_or(threadIdx.x >> 5); chunk < constant;
         chunk += (u64)gridDim.x * CHUNK_WARPS)
        of_warp(chunk, ChunkRange(control, chunk));
    for (u64 chunk = constant + blockIdx.x; chunk < chunks; chunk += gridDim.x)
        of_block(chunk, ChunkRange(control, chunk));
}

// Grid: any. Block: CHUNK_WARPS warps, one or all for a chunk. Static shared: ChunkVertices. Reads: levels,
// which vertices are listed, ranks. Writes: entries of the directory.
template <typename Of>
__device__ __forceinline__ void plan_mesh(const Job& job) {
    __shared__ ChunkVertices vertices;
    const Control& control = control_of(job);
    if (Of::is_idle(control)) return;
    for_chunks(
        control,
        [&](u64 chunk, const ChunkRange& range) {
            ChunkPlan<Of>(range, [&](auto each) {
                for_listed<Of>(job, range, each);
            }).write(job, chunk, range.count);
        },
        [&](u64 chunk, const ChunkRange& range) {
            gather_chunk<Of>(job, range, vertices);
            if (threadIdx.x < 32)
                ChunkPlan<Of>(range, [&](auto each) {
                    for_gathered(range, vertices, each);
                }).write(job, chunk, range.count);
        });
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
    for_listed<Of>(job, range, [&](u32 lanes, u64 position, u32, u64) {
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

// The vertices of a run that begins with this one.
__device__ __forceinline__ u32 run_length(const ChunkVertices& vertices, u32 number, u32 count) {
    for (u32 w = (number + 1) / 32; w < LIST_CHUNK / 32; w++) {
        const u32 word = vertices.begins[w] & (w == (number + 1) / 32 ? FULL << (number + 1) % 32 : FULL);
        if (word) return 32 * w + (u32)__ffs((i32)word) - 1 - number;
    }
    return count - number;
}

// Writes a chunk of gathered vertices by a warp.
template <typename Of>
__device__ __forceinline__ void write_chunk(const Job& job, const ChunkRange& range, const ListEntry& entry,
    const ChunkVertices& vertices, BitWriter& out) {
    typedef typename Of::T T;
    typedef typename Of::Mesh Mesh;
    const u32 lane = threadIdx.x & 31, order = entry.gaps & ~LIST_RUNS;
    const bool has_runs = entry.gaps & LIST_RUNS;
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
    ChunkVertices vertices;
    u32 words[CHUNK_WARPS][CHUNK_WORDS];
    u32 sums[CHUNK_WARPS];
};

// Writes chunks of the list, which begins at word `at` of the stream, and their entries of the directory.
// Sums the share of a lane in the checksum.
template <typename Of>
struct ChunkWriter {
    const Job& job;
    const u64 at;
    WriteListShared& shared;
    u32 sum;

    // Writes a chunk; `write(entry, out)` writes its vertices. Call with a warp.
    template <typename Write>
    __device__ __forceinline__ void put(u64 chunk, Write write) {
        const typename Of::View work(job);
        const u32 lane = threadIdx.x & 31;
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
        BitWriter out(job, shared.words[warp_or(threadIdx.x >> 5)], at + work.chunk_places()[chunk]);
        write(ListEntry(of_entry), out);
        out.flush(true);
        sum += out.sum;
    }
    // Writes all chunks; returns the share of a warp in the checksum. Call with a block.
    __device__ __forceinline__ u32 put_all(const Control& control) {
        for_chunks(
            control,
            [&](u64 chunk, const ChunkRange& range) {
                put(chunk, [&](const ListEntry& entry, BitWriter& out) {
                    write_constant_chunk<Of>(job, range, entry, out);
                });
            },
            [&](u64 chunk, const ChunkRange& range) {
                gather_chunk<Of>(job, range, shared.vertices);
                if (threadIdx.x >= 32) return;
                put(chunk, [&](const ListEntry& entry, BitWriter& out) {
                    write_chunk<Of>(job, range, entry, shared.vertices, out);
                });
            });
        return warp_sum(sum);
    }
};
template <typename Of>
__device__ __forceinline__ u32 write_chunks(
    const Job& job, const Control& control, u64 at, WriteListShared& shared) {
    return ChunkWriter<Of>{job, at, shared, 0}.put_all(control);
}

// Adds the shares of the warps of a block to the checksum of the stream. Call with a block.
__device__ __forceinline__ void add_to_seal(Control& control, u32 of_warp, u32 (&sums)[CHUNK_WARPS]) {
    if ((threadIdx.x & 31) == 0) sums[threadIdx.x >> 5] = of_warp;
    __syncthreads();
    if (threadIdx.x != 0) return;
    u32 sum = 0;
    for (u32 k = 0; k < CHUNK_WARPS; k++) sum += sums[k];
    atomicAdd((ull*)&control.seal, (ull)sum << 32);
}

// Grid: any. Block: CHUNK_WARPS warps, one or all for a chunk. Static shared: WriteListShared. Reads: the
// field, values of layer 1, levels, which vertices are listed, ranks, entries and places of chunks. Writes:
// the list in the stream, and the checksum of the stream.
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
