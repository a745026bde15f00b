// Rounds of repair, until every simplex keeps what it must, by all blocks of one grid together. Twin of
// src/repair/rounds.rs: the values after a round follow from those before it, whatever the order of the work.
#pragma once
#include "repair/simplices.cuh"

// The first round. A build for tests begins with a later one.
#ifndef FACTZ_FIRST_ROUND
#define FACTZ_FIRST_ROUND 0
#endif

// More rounds than there are: in the one before, all vertices are below their bounds.
constexpr u32 MOST_ROUNDS = SINGLE_ROUNDS + BOUNDED_ROUNDS + 64;

// The most entries of a list of cells or vertices. A build for tests has few, or none.
#ifndef FACTZ_MOST_ENTRIES
#define FACTZ_MOST_ENTRIES 0xffffffffu
#endif

// Lists of tiles: those with violated simplices in this round and in the next one, with changed vertices,
// and with vertices to look at. A bit of a tile's flags says that it is in one.
enum : u32 { IN_CHANGED = 1, IN_TOUCHED = 2 };
__device__ __forceinline__ constexpr u32 in_violated(u32 round) { return 4u << (round & 1); }

// Vertices or cells of some tiles: the number of the tile among these, and the place there.
constexpr u32 TILES_AT_ONCE = 8;
template <typename Mesh>
struct TilePlaces {
    static_assert(TILES_AT_ONCE * Mesh::PLACES <= 1 << 16, "both numbers have 16 bits");
    u16 at[Mesh::PLACES];
    u32 count, tiles[TILES_AT_ONCE];

    __device__ __forceinline__ u32 tile(u32 k) const { return at[k] / Mesh::PLACES; }
    __device__ __forceinline__ u32 place(u32 k) const { return at[k] % Mesh::PLACES; }
};

// How the blocks share a list of tiles: each takes one tile after the other. Where there are more blocks than
// tiles, several blocks take a part of the places of the same tile.
constexpr u32 MOST_PARTS = 8;
struct TileShare {
    u32 parts, part, first, stride;  // first: in the list

    __device__ __forceinline__ explicit TileShare(u32 tiles) : parts(1) {
        while (parts < MOST_PARTS && 2 * parts * max(tiles, 1u) <= gridDim.x) parts *= 2;
        part = blockIdx.x % parts, stride = gridDim.x / parts;
        // Blocks that are left over have nothing to do.
        first = blockIdx.x / parts < stride ? blockIdx.x / parts : tiles;
    }
};

// A number that orders simplices at random; no two have the same.
__device__ __forceinline__ u64 repair_key(u64 simplex) {
    u64 x = (simplex ^ simplex >> 32) * 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9ull;
    return x ^ x >> 32;
}

// Stands for the levels that a vertex has to go if it does not settle a simplex alone.
constexpr u32 NONE_SETTLES = 255;

// The largest error of a component, as a fraction of the largest component.
template <typename T, i32 N>
__device__ __forceinline__ double relative_error(const Vector<T, N>& original, const Vector<T, N>& now) {
    double error = 0.0, size = 0.0;
#pragma unroll
    for (i32 c = 0; c < N; c++) {
        const double a = (double)original.at[c], b = (double)now.at[c];
        error = larger(error, fabs(b - a));
        size = larger(size, fabs(a));
    }
    return error / size;
}

template <typename Of>
struct RepairRounds {
    typedef typename Of::T T;
    typedef typename Of::Mesh Mesh;
    typedef ::Simplex<Mesh> Simplex;
    typedef typename Mesh::template Vectors<T> Vectors;
    typedef typename Mesh::Tile Tile;
    typedef typename VertexValues<Of>::V V;
    const Job& job;
    Control& control;
    const typename Of::View work;
    const SimplexTest<Of> test;
    const ViolatedSet<Of> violated;
    TilePlaces<Mesh>& places;
    u32 round, barriers;
    // All lanes of a warp. The compiler must not know the number: with a constant, nvcc 13.0 leaves out the
    // wait for lanes that come back from a function at different times, and votes and shuffles miss some.
    const u32 lanes;

    __device__ __forceinline__ RepairRounds(const Job& job, TilePlaces<Mesh>& places)
        : job(job), control(control_of(job)), work(job), test(job), violated{job}, places(places),
          round(FACTZ_FIRST_ROUND), barriers(0), lanes(job.components == Mesh::COMPONENTS ? FULL : 0) {}

    // Waits for all blocks of the grid, which run at the same time.
    __device__ __forceinline__ void meet_grid() {
        __syncthreads();
        barriers++;
        if (threadIdx.x == 0 && gridDim.x > 1) {
            __threadfence();
            atomicAdd(&control.repair.arrived, 1u);
            wait_for_count(control.repair.arrived, barriers * gridDim.x);
            __threadfence();
        }
        __syncthreads();
    }

    // Puts a tile into a list unless it is there.
    __device__ __forceinline__ void enlist(u64 tile, u32 flag, u32* list, u32& count) {
        if (!(atomicOr(&work.repair_flags()[tile], flag) & flag)) list[atomicAdd(&count, 1u)] = (u32)tile;
    }
    __device__ __forceinline__ u32* violated_tiles(u32 of_round) const {
        return work.violated_tiles() + (of_round & 1) * job.tiles();
    }
    __device__ __forceinline__ u32& violated_count(u32 of_round) {
        return control.repair.violated_tiles[of_round % 3];
    }
    // Lists a tile for the next round.
    __device__ __forceinline__ void enlist_violated(u64 tile) {
        enlist(tile, in_violated(round + 1), violated_tiles(round + 1), violated_count(round + 1));
    }
    __device__ __forceinline__ u32 read(const u32& count) const { return *(const volatile u32*)&count; }

    __device__ __forceinline__ void set_changed(const TilePlace& at) {
        // In a single round a vertex changes once, and no more vertices do than cells are listed.
        if (has_lists()) {
            entry(CHANGED, atomicAdd(&count_of(CHANGED), 1u)) = (u32)(at.tile * Mesh::PLACES + at.place);
            return;
        }
        atomicOr(&work.changed(at.tile)[at.place / 32], 1u << at.place % 32);
        enlist(at.tile, IN_CHANGED, work.changed_tiles(), count_of(CHANGED));
    }
    __device__ __forceinline__ void set_touched(const TilePlace& at) {
        atomicOr(&work.touched(at.tile)[at.place / 32], 1u << at.place % 32);
        enlist(at.tile, IN_TOUCHED, work.touched_tiles(), control.repair.touched_tiles[round & 1]);
    }

    // Calls `each(k, w, word)` with the words of the block's part of tile k, but for most that are 0. Call
    // with a block.
    template <u32 WORDS, typename WordsOf, typename Each>
    __device__ __forceinline__ void for_words(
        u32 tiles, const TileShare& share, WordsOf words_of, Each each) {
        constexpr u32 AT_ONCE = 4;
        static_assert(WORDS / 4 % MOST_PARTS == 0, "parts have whole quads");
        const u32 quads_each = WORDS / 4 / share.parts;
        auto quad_of = [&](u32 i) { return i % quads_each * share.parts + share.part; };
        for (u32 first = threadIdx.x; first < tiles * quads_each; first += AT_ONCE * REPAIR_THREADS) {
            // The loads are under way at the same time.
            uint4 quads[AT_ONCE];
#pragma unroll
            for (u32 j = 0; j < AT_ONCE; j++) {
                const u32 i = first + j * REPAIR_THREADS;
                quads[j] = make_uint4(0, 0, 0, 0);
                if (i < tiles * quads_each)
                    quads[j] = __ldcg(
                        reinterpret_cast<const uint4*>(words_of(places.tiles[i / quads_each])) + quad_of(i));
            }
#pragma unroll
            for (u32 j = 0; j < AT_ONCE; j++) {
                const uint4& quad = quads[j];
                if (!(quad.x | quad.y | quad.z | quad.w)) continue;
                const u32 i = first + j * REPAIR_THREADS;
#pragma unroll 1
                for (u32 w = 0; w < 4; w++) {
                    const u32 word = w == 0 ? quad.x : w == 1 ? quad.y : w == 2 ? quad.z : quad.w;
                    each(i / quads_each, quad_of(i) * 4 + w, word);
                }
            }
        }
    }
    // Finds the places of the next tiles of a list, from its entry `first` on every share.stride-th: those
    // whose bits in words are set, EACH bits a place. Several tiles come together if there is room; their
    // number is the result. Call with a block.
    template <u32 EACH, typename WordsOf>
    __device__ __forceinline__ u32 find_places(
        const u32* list, u32 count, u32 first, const TileShare& share, WordsOf words_of) {
        const u32 left = (count - first + share.stride - 1) / share.stride;
        for (u32 tiles = min(left, TILES_AT_ONCE);; tiles = 1) {
            __syncthreads();
            if (threadIdx.x == 0) places.count = 0;
            if (threadIdx.x < tiles)
                places.tiles[threadIdx.x] = __ldcg(list + first + threadIdx.x * share.stride);
            __syncthreads();
            for_words<EACH * Mesh::PLACES / 32>(tiles, share, words_of, [&](u32 k, u32 w, u32 word) {
                while (word) {
                    const u32 b = ((u32)__ffs((i32)word) - 1) / EACH, number = atomicAdd(&places.count, 1u);
                    word &= ~(((1u << EACH) - 1) << EACH * b);
                    if (number < Mesh::PLACES)
                        places.at[number] = (u16)(k * Mesh::PLACES + 32 / EACH * w + b);
                }
            });
            __syncthreads();
            // The places of one tile always fit.
            if (places.count <= Mesh::PLACES) return tiles;
        }
    }
    // Finds vertices as above, clears their bits, and takes their tiles from the list with this flag.
    template <typename WordsOf>
    __device__ __forceinline__ u32 take_vertices(
        const u32* list, u32 count, u32 first, const TileShare& share, u32 flag, WordsOf words_of) {
        const u32 tiles = find_places<1>(list, count, first, share, words_of);
        if (share.part == 0 && threadIdx.x < tiles)
            atomicAnd(&work.repair_flags()[places.tiles[threadIdx.x]], ~flag);
        for (u32 k = 0; k < tiles; k++)
            for (u32 w = threadIdx.x; w < Mesh::PLACES / 32; w += REPAIR_THREADS)
                if (w / 4 % share.parts == share.part) words_of(places.tiles[k])[w] = 0;
        return tiles;
    }
    // Vertex or cell k of those that were found.
    __device__ __forceinline__ GridPoint found(u32 k) const {
        return point(Mesh::tile(job, places.tiles[places.tile(k)]), places.place(k));
    }
    __device__ __forceinline__ GridPoint point(const Tile& tile, u32 place) const {
        GridPoint p;
        vertex_at_place<Mesh>(tile, place, p);
        return p;
    }

    // Lists of single rounds: cells with violated simplices, and vertices that changed. They lie in the place
    // of the marks of touched vertices, which later rounds need.
    enum List : u32 { CELLS, CHANGED };
    __device__ __forceinline__ u32 most_entries() const {
        // Two lists share the words. An entry has the number of a tile and a place there.
        const u64 words = job.tiles() * (Mesh::PLACES / 32);
        return words < 1 << 27 ? min((u32)words / 2, FACTZ_MOST_ENTRIES) : 0;
    }
    __device__ __forceinline__ u32& entry(List list, u32 k) const {
        constexpr u32 EACH = Mesh::PLACES / 32;
        const u32 word = list * most_entries() + k;
        return work.touched(word / EACH)[word % EACH];
    }
    __device__ __forceinline__ TilePlace place_of_entry(List list, u32 k) const {
        const u32 both = __ldcg(&entry(list, k));
        return {both / Mesh::PLACES, both % Mesh::PLACES};
    }
    __device__ __forceinline__ u32& count_of(List list) {
        return (list == CELLS ? control.repair.touched_tiles : control.repair.changed_tiles)[round & 1];
    }
    // Whether these lists have room for all of the round. Their entries are shared by all warps; otherwise
    // the blocks share tiles.
    __device__ __forceinline__ bool has_lists() {
        const u32 most = most_entries();
        return round < SINGLE_ROUNDS && most > 0 && read(count_of(CELLS)) <= most;
    }

    // Lists the cells of a tile that have violated simplices; whether there are any. Call with a warp.
    __device__ __forceinline__ bool list_cells(u32 tile) {
        constexpr u32 QUADS = Mesh::PLACES / 16 / 32;
        const uint4* const quads =
            reinterpret_cast<const uint4*>(work.violated() + (u64)tile * Mesh::PLACES) + (threadIdx.x & 31);
        // The loads are under way at the same time.
        uint4 loaded[QUADS];
#pragma unroll
        for (u32 j = 0; j < QUADS; j++) loaded[j] = __ldcg(quads + 32 * j);
        auto word = [&](u32 w) {
            const uint4& quad = loaded[w / 4];
            return w % 4 == 0 ? quad.x : w % 4 == 1 ? quad.y : w % 4 == 2 ? quad.z : quad.w;
        };
        u32 mine = 0;
#pragma unroll
        for (u32 w = 0; w < 4 * QUADS; w++) mine += __popc(cells_of(word(w)));
        const u32 all = warp_sum(mine);
        if (all == 0 || round >= SINGLE_ROUNDS) return all != 0;
        u32 next = warp_inclusive_sum(mine) - mine, first = 0;
        if ((threadIdx.x & 31) == 0) first = atomicAdd(&count_of(CELLS), all);
        next += __shfl_sync(FULL, first, 0);
#pragma unroll
        for (u32 w = 0; w < 4 * QUADS; w++)
            for (u32 cells = cells_of(word(w)); cells; cells &= cells - 1, next++) {
                const u32 place =
                    16 * (32 * (w / 4) + (threadIdx.x & 31)) + 4 * (w % 4) + ((u32)__ffs((i32)cells) - 1) / 8;
                if (next < most_entries()) entry(CELLS, next) = tile * Mesh::PLACES + place;
            }
        return true;
    }
    // The bytes of a word that are not 0, a bit for each. A byte has a bit for each of at most six simplices.
    static __device__ __forceinline__ u32 cells_of(u32 word) { return (word + 0x7f7f7f7f) & 0x80808080; }
    // Lists the tiles that have violated simplices for the next round, and in single rounds the cells.
    __device__ __forceinline__ void list_violated() {
        const u32 count = read(violated_count(round)), warps = blockDim.x / 32;
        for (u32 k = blockIdx.x * warps + threadIdx.x / 32; k < count; k += gridDim.x * warps) {
            const u32 tile = __ldcg(violated_tiles(round) + k);
            const bool any = list_cells(tile);
            if ((threadIdx.x & 31) == 0) {
                if (any) enlist_violated(tile);
                atomicAnd(&work.repair_flags()[tile], ~in_violated(round));
            }
            __syncwarp(lanes);
        }
    }
    // Calls `each(cell, bits)` with all cells that have violated simplices, a bit for each of these. A cell
    // belongs to a warp.
    template <typename Each>
    __device__ __forceinline__ void for_violated(Each each) {
        const u32 warp = threadIdx.x / 32, warps = blockDim.x / 32;
        if (has_lists()) {
            // Cells take different times: a warp that is done takes the next one.
            const u32 cells = read(count_of(CELLS)), all_warps = gridDim.x * warps;
            for (u32 k = blockIdx.x + gridDim.x * warp; k < cells;) {
                const TilePlace at = place_of_entry(CELLS, k);
                each(point(Mesh::tile(job, at.tile), at.place),
                    (u32)__ldcg(work.violated() + at.tile * Mesh::PLACES + at.place));
                __syncwarp(lanes);
                if ((threadIdx.x & 31) == 0) k = all_warps + atomicAdd(&control.repair.taken[round & 1], 1u);
                k = __shfl_sync(lanes, k, 0);
            }
            return;
        }
        const u32 count = read(violated_count(round));
        const TileShare share(count);
        auto words_of = [&](u64 tile) {
            return reinterpret_cast<u32*>(work.violated() + tile * Mesh::PLACES);
        };
        for (u32 first = share.first, tiles; first < count; first += tiles * share.stride) {
            tiles = find_places<8>(violated_tiles(round), count, first, share, words_of);
            for (u32 k = warp; k < places.count; k += warps) {
                const u64 tile = places.tiles[places.tile(k)];
                each(found(k), (u32)__ldcg(work.violated() + tile * Mesh::PLACES + places.place(k)));
            }
        }
    }

    // The violated simplex of a cell with the least key: the others share two vertices with it.
    __device__ __forceinline__ Simplex least_of_cell(const GridPoint& cell, u32 bits) const {
        Simplex least = {cell, 0};
        u64 key = ~0ull;
        for (; bits; bits &= bits - 1) {
            const u32 t = (u32)__ffs((i32)bits) - 1;
            const u64 of_this = repair_key(Simplex{cell, t}.number(job));
            if (of_this <= key) key = of_this, least.in_cell = t;
        }
        return least;
    }
    // Whether the key of a violated simplex is the least one around its vertices. Call with a warp.
    __device__ __forceinline__ bool may_act(const Simplex& s) const {
        const u64 own = s.number(job), key = repair_key(own);
        bool least = true;
        // Lanes beyond the last one look at it again.
        constexpr u32 ALL = Mesh::CORNERS * Mesh::AROUND;
#pragma unroll
        for (u32 k = 0; k < ALL; k += 32) {
            const u32 i = min(k + (threadIdx.x & 31), ALL - 1);
            Simplex other;
            const bool exists = simplex_around(job, s.corner(job, i / Mesh::AROUND), i % Mesh::AROUND, other);
            if (!exists) other = s;
            const u64 number = other.number(job);
            least &= !(violated.has(other) && repair_key(number) < key);
        }
        return __all_sync(lanes, least);
    }

    // The next level of a corner of a simplex that settles it, if `settles`; otherwise its next level.
    struct NextLevel {
        u32 k;
        bool settles;
    };
    // The corner of a simplex that a lane looks at; of a triangle some lanes look at the last one again.
    struct CornerOfLane {
        GridPoint p;
        TilePlace at;
        V original, now;
        bool differs;
    };
    // Eight lanes look at a corner each.
    __device__ __forceinline__ CornerOfLane corner_of_lane(const Simplex& s) const {
        CornerOfLane mine;
        const u32 corner = (threadIdx.x & 31) / 8;
        mine.p = s.corner(job, min(corner, Mesh::CORNERS - 1));
        mine.at = Mesh::place_of(job, mine.p);
        mine.original = original_at<T, Mesh::COMPONENTS>(job, mine.p);
        mine.now = vector_now<Of>(job, mine.p, mine.original);
        mine.differs = corner < Mesh::CORNERS && !equal(mine.original, mine.now);
        return mine;
    }
    // The vectors that the lanes have at the corners. Call with a warp.
    __device__ __forceinline__ Vectors of_lanes(const V& mine) const {
        Vectors all;
#pragma unroll
        for (u32 k = 0; k < Mesh::CORNERS; k++)
#pragma unroll
            for (u32 c = 0; c < Mesh::COMPONENTS; c++)
                all.at[k].at[c] = __shfl_sync(lanes, mine.at[c], 8 * k);
        return all;
    }
    // Eight lanes try eight levels of a corner each. Call with a warp.
    __device__ __forceinline__ NextLevel next_level(
        const Simplex& s, const CornerOfLane& mine, const Vectors& before) const {
        const u32 lane = threadIdx.x & 31, corner = lane / 8, first = corner * 8;
        const Vectors now = of_lanes(mine.now);
        const T most = mine.differs ? test.border_bound(mine.p) : T(0);
        const auto kept = Mesh::kept(before, s.in_cell, test.rule);
        const u32 level = test.values.level(mine.at);
        NextLevel next = {LEVEL_EXACT, false};
        bool has_next = false;
#pragma unroll 1
        for (u32 base = level + 1;; base += 8) {
            const bool searches = mine.differs && base <= LEVEL_EXACT;
            // All corners have tried equally many levels: where one settles it, others would have more to go.
            if (!__any_sync(lanes, searches) || __any_sync(lanes, next.settles)) return next;
            const u32 k = base + (lane & 7);
            bool exists = false, settles = false;
            if (searches && k <= LEVEL_EXACT) {
                V value;
                exists = test.values.candidate(mine.p, mine.at, k, most, mine.original, value);
                Vectors after = now;
#pragma unroll
                for (u32 j = 0; j < Mesh::CORNERS; j++)
                    if (corner == j) after.at[j] = value;
                settles = exists && (are_equal<Mesh>(before, after) ||
                                        Mesh::keeps(kept, before, after, s.in_cell, test.rule));
            }
            const u32 existing = __ballot_sync(lanes, exists) >> first & 255,
                      settling = __ballot_sync(lanes, settles) >> first & 255;
            if (!searches) continue;
            if (settling)
                next = {base + (u32)__ffs((i32)settling) - 1, true};
            else if (existing && !has_next)
                next.k = base + (u32)__ffs((i32)existing) - 1;
            has_next |= existing != 0;
        }
    }
    // Gives a vertex of a violated simplex the nearest level that settles it: of the vertex with the
    // fewest levels to go, then of that with the largest relative error. If none settles it alone, that with
    // the largest relative error goes one level further, or becomes exact if the simplex has no bound.
    // Call with a warp.
    __device__ __forceinline__ void act(const Simplex& s) {
        const CornerOfLane mine = corner_of_lane(s);
        const Vectors before = of_lanes(mine.original);
        const double error = relative_error(mine.original, mine.now);
        const NextLevel next = next_level(s, mine, before);
        const u32 levels = next.settles ? next.k - test.values.level(mine.at) : NONE_SETTLES;
        u32 best = 0, fewest = NONE_SETTLES;
        double largest = -1.0;
#pragma unroll
        for (u32 k = 0; k < Mesh::CORNERS; k++) {
            const bool here = __shfl_sync(lanes, (u32)mine.differs, 8 * k);
            const u32 to_go = __shfl_sync(lanes, levels, 8 * k);
            const double of_corner = __shfl_sync(lanes, error, 8 * k);
            if (here && (to_go < fewest || (to_go == fewest && of_corner > largest)))
                best = k, fewest = to_go, largest = of_corner;
        }
        const bool lost = fewest == NONE_SETTLES &&
                          Mesh::bound(before, s.in_cell, test.rule, Of::bound(control), true) == T(0);
        __syncwarp(lanes);
        if ((threadIdx.x & 31) != 8 * best) return;
        test.values.level(mine.at) = (u8)(lost ? LEVEL_EXACT : next.k);
        set_changed(mine.at);
    }

    // Takes the errors of a vertex below the bounds of the simplices around it, of the violated ones alone
    // or of all. Call with a warp.
    __device__ __forceinline__ void keep_below(const GridPoint& p, bool violated_alone) {
        if (is_missing(original_at<T, Mesh::COMPONENTS>(job, p), job.fill)) return;
        const u32 lane = threadIdx.x & 31;
        T least = Real<T>::MAX;
        Simplex s;
        if (lane < Mesh::AROUND && simplex_around(job, p, lane, s) && (!violated_alone || violated.has(s)))
            least = test.bound(s);
        if (lane == Mesh::AROUND) least = test.border_bound(p);
        __syncwarp(lanes);
        for (i32 k = 16; k > 0; k /= 2) least = Real<T>::low(least, __shfl_xor_sync(lanes, least, k));
        const TilePlace at = Mesh::place_of(job, p);
        if (lane == 0 && test.values.keep_below(p, at, least)) set_changed(at);
        __syncwarp(lanes);
    }
    // Calls `each` with the corners of some simplices of a cell. Call with a warp.
    template <typename Each>
    __device__ __forceinline__ void each_corner(const GridPoint& cell, u32 bits, Each each) {
        const u32 lane = threadIdx.x & 31, t = lane / Mesh::CORNERS;
        if (bits >> t & 1) each(Mesh::place_of(job, Simplex{cell, t}.corner(job, lane % Mesh::CORNERS)));
        __syncwarp(lanes);
    }
    // Marks the corners of violated simplices, then takes their errors below the bounds of these.
    __device__ __forceinline__ void bound_corners() {
        for_violated([&](const GridPoint& cell, u32 bits) {
            each_corner(cell, bits, [&](const TilePlace& at) { set_touched(at); });
        });
        meet_grid();
        const u32 count = read(control.repair.touched_tiles[round & 1]);
        auto words_of = [&](u64 tile) { return work.touched(tile); };
        const TileShare share(count);
        for (u32 first = share.first, tiles; first < count; first += tiles * share.stride) {
            tiles = take_vertices(work.touched_tiles(), count, first, share, IN_TOUCHED, words_of);
            for (u32 k = threadIdx.x / 32; k < places.count; k += REPAIR_THREADS / 32)
                keep_below(found(k), true);
        }
    }
    // Takes the errors of all vertices of blocks with violated simplices below their bounds. Blocks are
    // 2^doublings tiles.
    __device__ __forceinline__ void bound_blocks(u32 doublings) {
        u32* const marked = work.touched_tiles();
        for (u64 k = blockIdx.x * (u64)blockDim.x + threadIdx.x; k < job.tiles();
             k += (u64)gridDim.x * blockDim.x)
            marked[k] = 0;
        meet_grid();
        for_violated([&](const GridPoint& cell, u32 bits) {
            each_corner(cell, bits, [&](const TilePlace& at) { marked[at.tile >> doublings] = 1; });
        });
        meet_grid();
        for (u64 first = 0; first < job.tiles(); first += blockDim.x) {
            __syncthreads();
            if (threadIdx.x == 0) places.count = 0;
            __syncthreads();
            const u64 own = first + threadIdx.x;
            if (own < job.tiles() && __ldcg(marked + (own >> doublings)))
                places.at[atomicAdd(&places.count, 1u)] = (u16)threadIdx.x;
            __syncthreads();
            for (u32 i = 0; i < places.count; i++) bound_tile(Mesh::tile(job, first + places.at[i]));
        }
    }
    // Takes the errors of all vertices of a tile below their bounds. The warps of all blocks take some each.
    __device__ __forceinline__ void bound_tile(const Tile& tile) {
        const u32 warps = blockDim.x / 32;
        for (u32 place = blockIdx.x * warps + threadIdx.x / 32; place < Mesh::PLACES;
             place += gridDim.x * warps) {
            GridPoint p;
            if (vertex_at_place<Mesh>(tile, place, p)) keep_below(p, false);
        }
    }

    // Tests a simplex around a vertex that changed.
    __device__ __forceinline__ void verify_around(const GridPoint& p, u32 k) {
        Simplex s;
        if (!simplex_around(job, p, k, s)) return;
        const bool broken = !test.keeps(s);
        u64 of_cell;
        if (!violated.change(s, broken, of_cell) && broken) enlist_violated(of_cell);
    }
    // Tests the simplices around the vertices that changed.
    __device__ __forceinline__ void verify_changed() {
        const u32 count = read(count_of(CHANGED));
        if (has_lists()) {
            // As many threads a vertex as make whole warps.
            constexpr u64 EACH = Mesh::AROUND > 8 ? 32 : 8;
            for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < count * EACH;
                 i += (u64)gridDim.x * blockDim.x) {
                const TilePlace at = place_of_entry(CHANGED, (u32)(i / EACH));
                if (i % EACH < Mesh::AROUND)
                    verify_around(point(Mesh::tile(job, at.tile), at.place), (u32)(i % EACH));
            }
            return;
        }
        auto words_of = [&](u64 tile) { return work.changed(tile); };
        const TileShare share(count);
        for (u32 first = share.first, tiles; first < count; first += tiles * share.stride) {
            tiles = take_vertices(work.changed_tiles(), count, first, share, IN_CHANGED, words_of);
            for (u32 i = threadIdx.x; i < places.count * Mesh::AROUND; i += REPAIR_THREADS)
                verify_around(found(i / Mesh::AROUND), i % Mesh::AROUND);
        }
    }
    // Clears what the lists of single rounds left in the marks.
    __device__ __forceinline__ void clear_touched() {
        for (u64 k = blockIdx.x * (u64)blockDim.x + threadIdx.x; k < job.tiles() * (Mesh::PLACES / 32);
             k += (u64)gridDim.x * blockDim.x)
            work.touched(k / (Mesh::PLACES / 32))[k % (Mesh::PLACES / 32)] = 0;
    }

    __device__ __forceinline__ void run() {
        if (blockIdx.x == 0 && threadIdx.x == 0) violated_count(round) = control.repair.violated_at_first;
        meet_grid();
        for (;; round++) {
            list_violated();
            if (round == SINGLE_ROUNDS) clear_touched();
            meet_grid();
            if (read(violated_count(round + 1)) == 0) {
                if (blockIdx.x == 0 && threadIdx.x == 0) control.repair.rounds = round - FACTZ_FIRST_ROUND;
                return;
            }
            if (round >= MOST_ROUNDS) {
                control.repair.is_unfinished = 1;
                return;
            }
            if (round < SINGLE_ROUNDS)
                for_violated([&](const GridPoint& cell, u32 bits) {
                    const Simplex s = least_of_cell(cell, bits);
                    if (may_act(s)) act(s);
                });
            else if (round < SINGLE_ROUNDS + BOUNDED_ROUNDS)
                bound_corners();
            else
                bound_blocks(min(round - SINGLE_ROUNDS - BOUNDED_ROUNDS, 63u));
            meet_grid();
            if (blockIdx.x == 0 && threadIdx.x == 0) {
                violated_count(round + 2) = 0;
                control.repair.changed_tiles[(round + 1) & 1] = 0;
                control.repair.touched_tiles[(round + 1) & 1] = 0;
                control.repair.taken[(round + 1) & 1] = 0;
            }
            verify_changed();
            meet_grid();
        }
    }
};

// Grid: as many blocks as run at the same time. Block: REPAIR_THREADS threads. Static shared: TilePlaces.
// Reads: the field, its values before, bound shifts. Changes: levels, violated simplices.
template <typename Of>
__device__ __forceinline__ void repair_by_rounds(const Job& job) {
    __shared__ TilePlaces<typename Of::Mesh> places;
    if (Of::is_idle(control_of(job))) return;
    RepairRounds<Of>(job, places).run();
}
template <typename T>
__device__ __forceinline__ void repair(const Job& job) {
    repair_by_rounds<LayerOne<T>>(job);
}
