// The tetrahedra of a volume, and what they must keep. Twin of src/repair/tetrahedra.rs.
#pragma once
#include "repair/values.cuh"

// A tetrahedron by its cube.
struct Simplex {
    GridPoint cube;
    u32 tetrahedron;

    __device__ __forceinline__ u64 number(const Job& job) const {
        return number_of(job, (u64)cube.x, (u64)cube.y, (u64)cube.z) * TETRAHEDRA + tetrahedron;
    }
    __device__ __forceinline__ GridPoint corner(const Job& job, u32 k) const {
        return wrapped(job, plus(cube, corner_of(tetrahedron, k)));
    }
};
// Tetrahedron k around a vertex. False if the volume does not have it.
__device__ __forceinline__ bool simplex_around(const Job& job, const GridPoint& p, u32 k, Simplex& simplex) {
    simplex = {wrapped(job, minus(p, own_corner_around(k))), tetrahedron_around(k)};
    return has_cube(job, simplex.cube);
}

// The tetrahedra that are violated: a bit for each in the byte of its cube.
template <typename T>
struct ViolatedSet {
    const Job& job;

    __device__ __forceinline__ u8* byte_of(const Simplex& s, u64& tile) const {
        const TilePlace at = tile_place(job, s.cube);
        tile = at.tile;
        return VolumeCodeView<T>(job).violated() + at.index();
    }
    __device__ __forceinline__ bool has(const Simplex& s) const {
        u64 tile;
        return *byte_of(s, tile) >> s.tetrahedron & 1;
    }
    // Sets or clears the bit; whether it was set before.
    __device__ __forceinline__ bool change(const Simplex& s, bool violated, u64& tile) const {
        u8* const byte = byte_of(s, tile);
        const u64 address = reinterpret_cast<u64>(byte);
        u32* const word = reinterpret_cast<u32*>(address & ~3ull);
        const u32 bit = 1u << (8 * (address & 3) + s.tetrahedron);
        return (violated ? atomicOr(word, bit) : atomicAnd(word, ~bit)) & bit;
    }
};

template <typename T>
__device__ __forceinline__ bool are_equal(const Tetrahedron<T>& a, const Tetrahedron<T>& b) {
    bool same = true;
#pragma unroll
    for (u32 k = 0; k < TETRAHEDRON_CORNERS; k++) same &= equal(a.at[k], b.at[k]);
    return same;
}

// The vector of a vertex now. Not inlined: rounds of repair wait for instructions more than for anything
// else. Votes and shuffles behind it need a mask that the compiler does not know (repair/rounds.cuh).
template <typename T>
static __device__ __noinline__ Vector<T> vector_now(const Job& job, GridPoint p, Vector<T> original) {
    return VertexValues<T>(job).current(p, tile_place(job, p), original);
}

template <typename T>
struct SimplexTest {
    const Job& job;
    const VolumeRule rule;
    const VertexValues<T> values;

    __device__ __forceinline__ explicit SimplexTest(const Job& job) : job(job), rule(job), values(job) {}

    // The vectors of the original. False if a vertex is missing.
    __device__ __forceinline__ bool load(const Simplex& s, Tetrahedron<T>& before) const {
        bool all = true;
#pragma unroll
        for (u32 k = 0; k < TETRAHEDRON_CORNERS; k++) {
            before.at[k] = original_at<T>(job, s.corner(job, k));
            all &= !is_missing(before.at[k], job.fill);
        }
        return all;
    }
    // The vectors now.
    __device__ __forceinline__ Tetrahedron<T> now(const Simplex& s, const Tetrahedron<T>& before) const {
        Tetrahedron<T> after;
#pragma unroll
        for (u32 k = 0; k < TETRAHEDRON_CORNERS; k++)
            after.at[k] = vector_now<T>(job, s.corner(job, k), before.at[k]);
        return after;
    }
    // Whether a tetrahedron keeps what it must.
    __device__ __forceinline__ bool keeps(const Simplex& s) const {
        Tetrahedron<T> before;
        if (!load(s, before)) return true;
        const Tetrahedron<T> after = now(s, before);
        if (are_equal(before, after) || (one_sided(before) && one_sided(after))) return true;
        return stays(
            volume_signature(before, s.tetrahedron, rule), volume_signature(after, s.tetrahedron, rule));
    }
    // A bound of the errors at its corners below which it keeps what it must; MAX if a vertex is missing.
    __device__ __forceinline__ T bound(const Simplex& s) const {
        Tetrahedron<T> before;
        if (!load(s, before)) return Real<T>::MAX;
        return tetrahedron_bound(before, s.tetrahedron, rule, values.control.useful_bound);
    }
    // The bound of tetrahedron k around a vertex, if it reaches over a side with ghosts; otherwise MAX.
    __device__ __forceinline__ T bound_over_sides(const GridPoint& p, u32 k) const {
        const Simplex s = {minus(p, own_corner_around(k)), tetrahedron_around(k)};
        u32 outside = 0;
#pragma unroll
        for (u32 j = 0; j < TETRAHEDRON_CORNERS; j++)
            outside |= sides_beyond(job, plus(s.cube, corner_of(s.tetrahedron, j)));
        // It exists where all the sides that it reaches over have ghosts, or vertices at the other end.
        if (!(outside & job.halo) || (outside & ~(job.halo | periodic_sides(job)))) return Real<T>::MAX;
        return bound(s);
    }
    // The bound of the errors of a vertex that comes from tetrahedra which reach out of the volume, and from
    // pinned sides; MAX if there are none.
    __device__ __noinline__ T border_bound(const GridPoint& p) const {
        if (is_on_sides(job, p, job.pin)) return T(0);
        T least = Real<T>::MAX;
        if (is_on_sides(job, p, job.halo))
            for (u32 k = 0; k < TETRAHEDRA_AROUND; k++) least = Real<T>::low(least, bound_over_sides(p, k));
        return least;
    }
};
