// The simplices of a mesh, and what they must keep. Twins: src/repair/tetrahedra.rs, src/repair/triangles.rs.
#pragma once
#include "repair/values.cuh"

// A simplex by its cell.
template <typename Mesh>
struct Simplex {
    GridPoint cell;
    u32 in_cell;

    __device__ __forceinline__ u64 number(const Job& job) const {
        return number_of(job, (u64)cell.x, (u64)cell.y, (u64)cell.z) * Mesh::OF_CELL + in_cell;
    }
    __device__ __forceinline__ GridPoint corner(const Job& job, u32 k) const {
        return wrapped(job, plus(cell, Mesh::corner(in_cell, k)));
    }
};
// Simplex k around a vertex. False if the mesh does not have it.
template <typename Mesh>
__device__ __forceinline__ bool simplex_around(
    const Job& job, const GridPoint& p, u32 k, Simplex<Mesh>& simplex) {
    simplex = {wrapped(job, minus(p, Mesh::own_corner(k))), Mesh::around(k)};
    return has_cell<Mesh>(job, simplex.cell);
}

// The simplices that are violated: a bit for each in the byte of its cell. Another bit says that the cell is
// in the list of this round or of the next one, as every cell with a violated simplex is.
constexpr u32 CELL_IS_LISTED = 1 << 6, SIMPLICES_OF_CELL = CELL_IS_LISTED - 1;
template <typename Of>
struct ViolatedSet {
    typedef typename Of::Mesh Mesh;
    static_assert(1 << Mesh::OF_CELL <= CELL_IS_LISTED, "a bit each");
    const Job& job;

    __device__ __forceinline__ u8* byte_of(const TilePlace& cell) const {
        return typename Of::View(job).violated(cell.tile) + cell.place;
    }
    __device__ __forceinline__ bool has(const Simplex<Mesh>& s) const {
        return *byte_of(Mesh::place_of(job, s.cell)) >> s.in_cell & 1;
    }
    // The violated simplices of a cell.
    __device__ __forceinline__ u32 of_cell(const TilePlace& cell) const {
        return __ldcg(byte_of(cell)) & SIMPLICES_OF_CELL;
    }
    // Sets or clears the bit of a simplex. The answer is whether its cell is to be listed.
    __device__ __forceinline__ bool change(
        const Simplex<Mesh>& s, const TilePlace& cell, bool violated) const {
        const Word word(byte_of(cell));
        const u32 bit = 1u << s.in_cell;
        if (violated)
            return !(atomicOr(word.at, (bit | CELL_IS_LISTED) << word.shift) >> word.shift & CELL_IS_LISTED);
        atomicAnd(word.at, ~(bit << word.shift));
        return false;
    }
    __device__ __forceinline__ void unlist(const TilePlace& cell) const {
        const Word word(byte_of(cell));
        atomicAnd(word.at, ~(CELL_IS_LISTED << word.shift));
    }

private:
    // The word with a byte, and where this begins there.
    struct Word {
        u32* at;
        u32 shift;

        __device__ __forceinline__ explicit Word(u8* byte) {
            const u64 address = reinterpret_cast<u64>(byte);
            at = reinterpret_cast<u32*>(address & ~3ull), shift = 8 * (u32)(address & 3);
        }
    };
};

template <typename Mesh, typename Vectors>
__device__ __forceinline__ bool are_equal(const Vectors& a, const Vectors& b) {
    bool same = true;
#pragma unroll
    for (u32 k = 0; k < Mesh::CORNERS; k++) same &= equal(a.at[k], b.at[k]);
    return same;
}

// The vector of a vertex now. Not inlined: rounds of repair wait for instructions more than for anything
// else. Votes and shuffles behind it need a mask that the compiler does not know (repair/mend.cuh).
template <typename Of, typename V = typename VertexValues<Of>::V>
static __device__ __noinline__ V vector_now(const Job& job, GridPoint p, V original) {
    return VertexValues<Of>(job).current(p, Of::Mesh::place_of(job, p), original);
}

template <typename Of>
struct SimplexTest {
    typedef typename Of::T T;
    typedef typename Of::Mesh Mesh;
    typedef typename Mesh::template Vectors<T> Vectors;
    const Job& job;
    const typename Mesh::Rule rule;
    const VertexValues<Of> values;

    __device__ __forceinline__ explicit SimplexTest(const Job& job)
        : job(job), rule(Mesh::rule(job)), values(job) {}

    // The vectors of the original. False if a vertex is missing.
    __device__ __forceinline__ bool load(const Simplex<Mesh>& s, Vectors& before) const {
        bool all = true;
#pragma unroll
        for (u32 k = 0; k < Mesh::CORNERS; k++) {
            before.at[k] = original_at<T, Mesh::COMPONENTS>(job, s.corner(job, k));
            all &= !is_missing(before.at[k], job.fill);
        }
        return all;
    }
    // The vectors now.
    __device__ __forceinline__ Vectors now(const Simplex<Mesh>& s, const Vectors& before) const {
        Vectors after;
        u32 levels[Mesh::CORNERS];
        // The loads are under way at the same time; few vertices have a level.
#pragma unroll
        for (u32 k = 0; k < Mesh::CORNERS; k++) {
            const GridPoint p = s.corner(job, k);
            const TilePlace at = Mesh::place_of(job, p);
            levels[k] = values.level(at);
            after.at[k] = values.before(p, at);
        }
#pragma unroll
        for (u32 k = 0; k < Mesh::CORNERS; k++)
            if (levels[k] != LEVEL_UNCHANGED)
                after.at[k] = vector_now<Of>(job, s.corner(job, k), before.at[k]);
        return after;
    }
    // Whether a simplex keeps what it must.
    __device__ __forceinline__ bool keeps(const Simplex<Mesh>& s) const {
        Vectors before;
        if (!load(s, before)) return true;
        const Vectors after = now(s, before);
        if (are_equal<Mesh>(before, after) || (one_sided(before) && one_sided(after))) return true;
        return Mesh::keeps(Mesh::kept(before, s.in_cell, rule), before, after, s.in_cell, rule);
    }
    // A bound of the errors at its corners below which it keeps what it must; MAX if a vertex is missing.
    template <typename Team = OneThread>
    __device__ __forceinline__ T bound(const Simplex<Mesh>& s, Team team = Team()) const {
        Vectors before;
        if (!load(s, before)) return Real<T>::MAX;
        return Mesh::bound(before, s.in_cell, rule, Of::bound(values.control), false, team);
    }
    // The bound of simplex k around a vertex, if it reaches over a side with ghosts; otherwise MAX.
    __device__ __forceinline__ T bound_over_sides(const GridPoint& p, u32 k) const {
        const Simplex<Mesh> s = {minus(p, Mesh::own_corner(k)), Mesh::around(k)};
        u32 outside = 0;
#pragma unroll
        for (u32 j = 0; j < Mesh::CORNERS; j++)
            outside |= sides_beyond(job, plus(s.cell, Mesh::corner(s.in_cell, j)));
        // A simplex exists where every side that it reaches over has ghosts or is periodic.
        if (!(outside & job.halo) || (outside & ~(job.halo | periodic_sides(job)))) return Real<T>::MAX;
        Vectors before;
        const double eps = Of::bound(values.control);
        if (!load(s, before) || Mesh::is_far(before, eps)) return Real<T>::MAX;
        return Mesh::bound(before, s.in_cell, rule, eps);
    }
    // The bound of the errors of a vertex that comes from simplices which reach out of the grid, and from
    // pinned sides; MAX if there are none.
    __device__ __noinline__ T border_bound(const GridPoint& p) const {
        if (is_on_sides(job, p, job.pin)) return T(0);
        T least = Real<T>::MAX;
        if (is_on_sides(job, p, job.halo))
            for (u32 k = 0; k < Mesh::AROUND; k++) least = Real<T>::low(least, bound_over_sides(p, k));
        return least;
    }
};
