// How one vertex mends a violated simplex, and which simplices may do so in a round. Twins: act, may_act and
// what they call in src/repair/rounds.rs.
#pragma once
#include "repair/simplices.cuh"

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
struct Mender {
    typedef typename Of::T T;
    typedef typename Of::Mesh Mesh;
    typedef ::Simplex<Mesh> Simplex;
    typedef typename Mesh::template Vectors<T> Vectors;
    typedef typename VertexValues<Of>::V V;
    const Job& job;
    const Control& control;
    const SimplexTest<Of> test;
    const ViolatedSet<Of> violated;
    // All lanes of a warp. The compiler must not know the number: with a constant, nvcc 13.0 leaves out the
    // wait for lanes that come back from a function at different times, and votes and shuffles miss some.
    const u32 lanes;

    __device__ __forceinline__ explicit Mender(const Job& job)
        : job(job), control(control_of(job)), test(job), violated{job},
          lanes(job.components == Mesh::COMPONENTS ? FULL : 0) {}

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
    // One lane answers that it changed a vertex. Call with a warp.
    __device__ __forceinline__ bool mend(const Simplex& s, TilePlace& changed) const {
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
        const bool lost = fewest == NONE_SETTLES && Mesh::bound(before, s.in_cell, test.rule,
                                                        Of::bound(control), true, WholeWarp{lanes}) == T(0);
        __syncwarp(lanes);
        changed = mine.at;
        if ((threadIdx.x & 31) != 8 * best) return false;
        test.values.level(mine.at) = (u8)(lost ? LEVEL_EXACT : next.k);
        return true;
    }
};
