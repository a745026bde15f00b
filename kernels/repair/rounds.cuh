// Rounds of repair, until every simplex keeps what it must, by all blocks of one grid together. Twin of
// src/repair/rounds.rs: the values after a round follow from those before it, whatever the order of the work.
#pragma once
#include "repair/lists_of_rounds.cuh"
#include "repair/mend.cuh"

// The rules of the first round. A build for tests begins with those of a later one.
#ifndef FACTZ_FIRST_ROUND
#define FACTZ_FIRST_ROUND 0
#endif

// Behind the last round nothing is violated: in it, all vertices go below their bounds.
constexpr u32 FIRST_OF_BLOCKS = SINGLE_ROUNDS + BOUNDED_ROUNDS, END_OF_ROUNDS = FIRST_OF_BLOCKS + 64;

template <typename Of>
struct RepairRounds {
    typedef typename Of::T T;
    typedef typename Of::Mesh Mesh;
    typedef ::Simplex<Mesh> Simplex;
    // Corners of a cell, by one bit an axis.
    static constexpr u32 CELL_CORNERS = 1 << Mesh::AXES;
    const Job& job;
    Control& control;
    RepairControl& counts;
    const typename Of::View work;
    const Mender<Of> mender;
    const SimplexTest<Of>& test;
    const ViolatedSet<Of>& violated;
    const RoundLists<Of> lists;
    const u32 lanes, lane;  // lanes: all of a warp (Mender)
    const u64 warp, warps;  // of the grid; the first warps of all blocks come first
    u32 round, barriers;
    // Whether the cells of the round are in a list, and the changed vertices will be. Otherwise all cells are
    // looked at, and changed vertices are marked, of which all marks are looked at.
    bool has_lists;

    __device__ __forceinline__ explicit RepairRounds(const Job& job)
        : job(job), control(control_of(job)), counts(control.repair), work(job), mender(job),
          test(mender.test), violated(mender.violated), lists(job), lanes(mender.lanes),
          lane(threadIdx.x & 31), warp(blockIdx.x + (u64)gridDim.x * (threadIdx.x / 32)),
          warps((u64)gridDim.x * (REPAIR_THREADS / 32)), round(0), barriers(0), has_lists(false) {}

    // Waits for all blocks of the grid, which run at the same time.
    __device__ __forceinline__ void meet_grid() {
        __syncthreads();
        barriers++;
        if (threadIdx.x == 0 && gridDim.x > 1) {
            __threadfence();
            atomicAdd(&counts.arrived, 1u);
            wait_for_count(counts.arrived, barriers * gridDim.x);
            __threadfence();
        }
        __syncthreads();
    }
    template <typename Count>
    static __device__ __forceinline__ Count read(const Count& count) {
        return *(const volatile Count*)&count;
    }

    static __device__ __forceinline__ RoundList cells(u32 of_round) {
        return of_round & 1 ? ODD_CELLS : EVEN_CELLS;
    }
    __device__ __forceinline__ u32& cell_count(u32 of_round) const { return counts.cells[of_round % 3]; }
    __device__ __forceinline__ u32& changed_count() const { return counts.changed[round & 1]; }

    __device__ __forceinline__ GridPoint point(const TilePlace& at) const {
        GridPoint p;
        vertex_at_place<Mesh>(Mesh::tile(job, at.tile), at.place, p);
        return p;
    }
    // Lists a cell for the next round.
    __device__ __forceinline__ void list_cell(const TilePlace& cell) const {
        lists.put(cells(round + 1), atomicAdd(&cell_count(round + 1), 1u), cell);
    }
    __device__ __forceinline__ void set_changed(const TilePlace& at) const {
        if (has_lists)
            lists.put(CHANGED_VERTICES, atomicAdd(&changed_count(), 1u), at);
        else
            atomicOr(&work.changed(at.tile)[at.place / 32], 1u << at.place % 32);
    }

    // Calls `each(cell, bits, part)` with the PARTS parts of all cells that have violated simplices. Counts
    // these simplices, the bits, and lists the cells for the next round. A part belongs to a warp.
    template <u32 PARTS, typename Each>
    __device__ __forceinline__ void for_violated(Each each) {
        u64 simplices;
        if (has_lists) {
            simplices = keep_cells();
            for_cells_of_list<PARTS>(each);
        } else {
            simplices = for_all_cells<PARTS>(each);
        }
        if (lane == 0 && simplices) atomicAdd((ull*)&counts.simplices[round & 1], (ull)simplices);
    }
    // Lists the cells of the round for the next one, but for those that were mended. The answer is the number
    // of violated simplices that a warp has seen.
    __device__ __forceinline__ u64 keep_cells() const {
        const u32 count = read(cell_count(round));
        u64 simplices = 0;
        for (u64 first = 32 * warp; first < count; first += 32 * warps) {
            const bool is_here = first + lane < count;
            const TilePlace cell = is_here ? lists.get(cells(round), (u32)first + lane) : TilePlace{0, 0};
            const u32 bits = is_here ? violated.of_cell(cell) : 0, kept = __ballot_sync(lanes, bits != 0);
            if (is_here && !bits) violated.unlist(cell);
            u32 place = 0;
            if (lane == 0 && kept) place = atomicAdd(&cell_count(round + 1), (u32)__popc(kept));
            place = __shfl_sync(lanes, place, 0) + __popc(kept & lanes_below());
            if (bits) lists.put(cells(round + 1), place, cell);
            simplices += __popc(bits);
        }
        return warp_sum64(simplices);
    }
    template <u32 PARTS, typename Each>
    __device__ __forceinline__ void for_cells_of_list(Each each) {
        const u64 parts = (u64)PARTS * read(cell_count(round)), at_once = max(parts / (64 * warps), (u64)1);
        // Cells take different times: a warp that is done takes the next parts.
        for (u64 first = at_once * warp; first < parts;) {
            const u64 end = min(first + at_once, parts);
            for (u64 k = first; k < end; k++) {
                const TilePlace cell = lists.get(cells(round), (u32)(k / PARTS));
                const u32 bits = violated.of_cell(cell);
                if (bits) each(cell, bits, (u32)k % PARTS);
                __syncwarp(lanes);
            }
            u32 taken = 0;
            if (lane == 0) taken = atomicAdd(&counts.taken[round & 1], 1u);
            first = at_once * (warps + __shfl_sync(lanes, taken, 0));
        }
    }
    template <u32 PARTS, typename Each>
    __device__ __forceinline__ u64 for_all_cells(Each each) {
        // Words of a tile, and those that a warp looks at together.
        constexpr u32 WORDS = Mesh::PLACES / 4, AT_ONCE = 128;
        const u64 words = job.tiles() * WORDS, step = AT_ONCE * warps;
        static_assert(WORDS % AT_ONCE == 0, "they are those of a tile");
        auto load = [&](u64 first) {
            const u8* const of_tile = work.violated(first / WORDS);
            return first < words ? __ldcg(words_at<uint4>(of_tile + 4 * (first % WORDS)) + lane)
                                 : make_uint4(0, 0, 0, 0);
        };
        u64 simplices = 0;
        uint4 next = load(AT_ONCE * warp);
        for (u64 first = AT_ONCE * warp; first < words; first += step) {
            const uint4 quad = next;
            // Under way while the cells of these words take their time.
            next = load(first + step);
            if (!__ballot_sync(lanes, (quad.x | quad.y | quad.z | quad.w) != 0)) continue;
#pragma unroll 1
            for (u32 w = 0; w < 4; w++) {
                const u32 word = w == 0 ? quad.x : w == 1 ? quad.y : w == 2 ? quad.z : quad.w;
                simplices += for_words<PARTS>(first / WORDS, (u32)(first % WORDS) + w, word, each);
            }
        }
        return simplices;
    }
    // Does so with the cells of some words of a tile; a lane has word first + 4 * lane.
    template <u32 PARTS, typename Each>
    __device__ __forceinline__ u32 for_words(u64 tile, u32 first, u32 word, Each each) {
        __syncwarp(lanes);
        const u32 of_word = violated_bytes(word);
        auto cell = [&](u32 of_lane, u32 bytes) {
            return TilePlace{tile, place_of_byte(first + 4 * of_lane, bytes)};
        };
        auto bits_of = [&](u32 of_lane, u32 bytes) {
            return __shfl_sync(lanes, word, of_lane) >> ((u32)__ffs((i32)bytes) - 8) & SIMPLICES_OF_CELL;
        };
        for (u32 left = word << 1 & 0x80808080 & ~of_word; left; left &= left - 1)
            violated.unlist(cell(lane, left));
        const u32 mine = __popc(of_word), up_to_me = warp_inclusive_sum(mine),
                  all = __shfl_sync(lanes, up_to_me, 31);
        if (all == 0) return 0;
        u32 place = 0;
        if (lane == 0) place = atomicAdd(&cell_count(round + 1), all);
        place = __shfl_sync(lanes, place, 0) + up_to_me - mine;
        for (u32 left = of_word; left; left &= left - 1)
            lists.put(cells(round + 1), place++, cell(lane, left));
        const u32 simplices = warp_sum(__popc(word & 0x01010101 * SIMPLICES_OF_CELL));
        for (u32 k = 0; k < 32; k++)
            for (u32 left = __shfl_sync(lanes, of_word, k); left; left &= left - 1)
                for (u32 part = 0; part < PARTS; part++) {
                    each(cell(k, left), bits_of(k, left), part);
                    __syncwarp(lanes);
                }
        return simplices;
    }

    // Lets the simplex of a cell with the least key act, if it may.
    __device__ __forceinline__ void act(const TilePlace& cell, u32 bits) const {
        const Simplex s = mender.least_of_cell(point(cell), bits);
        TilePlace changed;
        if (mender.may_act(s) && mender.mend(s, changed)) set_changed(changed);
    }

    // The least bound of the simplices around a vertex that lanes look at. Call with a warp.
    __device__ __forceinline__ T least_bound(const GridPoint& p, const Simplex& s, bool looks) const {
        T least = Real<T>::MAX;
        if constexpr (Mesh::IS_BOUND_BY_WARP) {
            for (u32 left = __ballot_sync(lanes, looks); left; left &= left - 1) {
                Simplex next;
                simplex_around(job, p, (u32)__ffs((i32)left) - 1, next);
                least = Real<T>::low(least, test.bound(next, WholeWarp{lanes}));
                __syncwarp(lanes);
            }
        } else if (looks) {
            least = test.bound(s);
        }
        return least;
    }
    // Takes the errors of a vertex below the bounds of the simplices around it that lanes look at. Call with
    // a warp.
    __device__ __forceinline__ void keep_below(const GridPoint& p, const Simplex& s, bool looks) const {
        if (is_missing(original_at<T, Mesh::COMPONENTS>(job, p), job.fill)) return;
        T least = least_bound(p, s, looks);
        if (lane == Mesh::AROUND) least = Real<T>::low(least, test.border_bound(p));
        __syncwarp(lanes);
        for (i32 k = 16; k > 0; k /= 2) least = Real<T>::low(least, __shfl_xor_sync(lanes, least, k));
        const TilePlace at = Mesh::place_of(job, p);
        if (lane == 0 && test.values.keep_below(p, at, least)) set_changed(at);
        __syncwarp(lanes);
    }
    // Takes the errors at a corner of a cell below the bounds of the violated simplices around it. Of the
    // cells that have such simplices there, one does it.
    __device__ __forceinline__ void bound_corner(const TilePlace& of_cell, u32 corner) const {
        const GridPoint cell = point(of_cell), p = wrapped(job, plus(cell, corner));
        Simplex s;
        const bool looks = lane < Mesh::AROUND && simplex_around(job, p, lane, s) && violated.has(s);
        const u32 looking = __ballot_sync(lanes, looks);
        const bool is_here = looks && Mesh::own_corner(lane) == corner && s.cell.x == cell.x &&
                             s.cell.y == cell.y && s.cell.z == cell.z;
        const u32 here = __ballot_sync(lanes, is_here);
        if (looking & (0u - looking) & here) keep_below(p, s, looks);
    }
    // Takes the errors of all vertices of blocks with violated simplices below their bounds. Blocks are
    // 2^doublings tiles.
    __device__ __forceinline__ void bound_blocks(u32 doublings) {
        u32* const marked = work.marked_blocks();
        for (u64 k = 32 * warp + lane; k < job.tiles(); k += 32 * warps) marked[k] = 0;
        meet_grid();
        for_violated<CELL_CORNERS>([&](const TilePlace& of_cell, u32 bits, u32 corner) {
            const GridPoint p = wrapped(job, plus(point(of_cell), corner));
            const u32 simplex = lane / Mesh::CORNERS, k = lane % Mesh::CORNERS;
            if (bits >> simplex & 1 && Mesh::corner(simplex, k) == corner)
                marked[Mesh::place_of(job, p).tile >> doublings] = 1;
        });
        meet_grid();
        for (u64 first = 0; first < job.tiles(); first += 32) {
            const u64 own = first + lane;
            const bool is_marked = own < job.tiles() && __ldcg(marked + (own >> doublings));
            for (u32 left = __ballot_sync(lanes, is_marked); left; left &= left - 1)
                bound_tile(Mesh::tile(job, first + (u32)__ffs((i32)left) - 1));
        }
    }
    // Takes the errors of all vertices of a tile below their bounds. All warps of the grid take some each.
    __device__ __forceinline__ void bound_tile(const typename Mesh::Tile& tile) const {
        for (u32 place = (u32)warp; place < Mesh::PLACES; place += (u32)warps) {
            GridPoint p;
            if (!vertex_at_place<Mesh>(tile, place, p)) continue;
            Simplex s;
            const bool looks = lane < Mesh::AROUND && simplex_around(job, p, lane, s);
            keep_below(p, s, looks);
        }
    }

    // Tests a simplex around a vertex that changed.
    __device__ __forceinline__ void verify_around(const TilePlace& vertex, u32 k) const {
        Simplex s;
        if (!simplex_around(job, point(vertex), k, s)) return;
        const TilePlace cell = Mesh::place_of(job, s.cell);
        if (violated.change(s, cell, !test.keeps(s))) list_cell(cell);
    }
    // Tests the simplices around the vertices that changed.
    __device__ __forceinline__ void verify_changed() const {
        // As many lanes a vertex as make whole warps.
        constexpr u32 EACH = Mesh::AROUND > 8 ? 32 : 8;
        const u32 k = lane % EACH;
        if (has_lists) {
            const u64 count = read(changed_count());
            for (u64 i = (32 * warp + lane) / EACH; i < count; i += 32 * warps / EACH)
                if (k < Mesh::AROUND) verify_around(lists.get(CHANGED_VERTICES, (u32)i), k);
            return;
        }
        constexpr u32 WORDS = Mesh::PLACES / 32;
        static_assert(WORDS % 32 == 0, "the words of a warp are those of a tile");
        for (u64 first = 32 * warp; first < job.tiles() * WORDS; first += 32 * warps) {
            u32* const words = work.changed(first / WORDS) + first % WORDS;
            const u32 own = __ldcg(words + lane);
            if (own) words[lane] = 0;
            const u32 up_to_me = warp_inclusive_sum(__popc(own)), all = __shfl_sync(lanes, up_to_me, 31);
            for (u32 at = 0; at < EACH * all; at += 32) {
                const u32 wanted = (at + lane) / EACH, of = lane_of_sum(up_to_me, wanted);
                u32 word = __shfl_sync(lanes, own, of);
                const u32 before = __shfl_sync(lanes, up_to_me, of) - __popc(word);
                if (wanted < all && k < Mesh::AROUND) {
                    for (u32 skipped = before; skipped < wanted; skipped++) word &= word - 1;
                    const u32 place = 32 * (u32)(first % WORDS + of) + (u32)__ffs((i32)word) - 1;
                    verify_around({first / WORDS, place}, k);
                }
                __syncwarp(lanes);
            }
        }
    }

    // Gives the vertices new levels by the rules of round `rules`.
    __device__ __forceinline__ void change_levels(u32 rules) {
        const u32 parts = rules < SINGLE_ROUNDS ? 1 : CELL_CORNERS;
        // No more vertices change than there are parts.
        has_lists =
            rules < FIRST_OF_BLOCKS && (u64)parts * read(cell_count(round)) <= lists.most && lists.most;
        if (rules < SINGLE_ROUNDS)
            for_violated<1>([&](const TilePlace& cell, u32 bits, u32) { act(cell, bits); });
        else if (rules < FIRST_OF_BLOCKS)
            for_violated<CELL_CORNERS>(
                [&](const TilePlace& cell, u32, u32 corner) { bound_corner(cell, corner); });
        else
            bound_blocks(min(rules - FIRST_OF_BLOCKS, 63u));
    }
    __device__ __forceinline__ void run() {
        const u64 few = Of::IS_COMPRESSION ? job.vertices() / VERTICES_PER_FEW : 0;
        const bool is_first = blockIdx.x == 0 && threadIdx.x == 0;
        for (u32 rules = FACTZ_FIRST_ROUND;; round++) {
            change_levels(rules);
            meet_grid();
            const u64 simplices = read(counts.simplices[round & 1]);
            if (simplices == 0 || rules == END_OF_ROUNDS) {
                if (is_first) counts.rounds = round, counts.is_unfinished = simplices != 0;
                return;
            }
            if (is_first) {
                cell_count(round + 2) = 0;
                counts.simplices[(round + 1) & 1] = 0;
                counts.changed[(round + 1) & 1] = counts.taken[(round + 1) & 1] = 0;
            }
            verify_changed();
            rules = rules < SINGLE_ROUNDS && simplices <= few ? SINGLE_ROUNDS : rules + 1;
            meet_grid();
        }
    }
};

// Grid: as many blocks as run at the same time. Block: REPAIR_THREADS threads. Reads: the field, its values
// before, bound shifts. Changes: levels, violated simplices.
template <typename Of>
__device__ __forceinline__ void repair_by_rounds(const Job& job) {
    if (!Of::is_idle(control_of(job))) RepairRounds<Of>(job).run();
}
template <typename T>
__device__ __forceinline__ void repair(const Job& job) {
    repair_by_rounds<LayerOne<T>>(job);
}
