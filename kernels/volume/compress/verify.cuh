// The tetrahedra of a volume that its quantized values leave open: those that do not keep what they must, and
// those that hold a critical point. Twin of violated and points in src/repair/tetrahedra.rs.
#pragma once
#include "repair/verify.cuh"

// Cubes of the list that a block verifies in a turn. Eight lanes have the corners of a cube.
template <typename T>
constexpr u32 CUBES_AT_ONCE = 16 / sizeof(T);
template <typename T>
constexpr u32 CUBES_OF_TURN = CUBES_AT_ONCE<T>* VOLUME_THREADS / 8;

template <typename T>
struct CubeVerifier {
    typedef LayerOne<T> Of;
    typedef VerifyShared<Tetrahedra> Shared;
    const Job& job;
    Shared& shared;
    const VertexValues<Of> values;
    const VolumeCodeView<T> work;
    const u32 count;  // of all cubes in the list

    __device__ __forceinline__ CubeVerifier(const Job& job, Shared& shared)
        : job(job), shared(shared), values(job), work(job), count(control_of(job).repair.open_cubes) {}

    // Cube k of the list.
    __device__ __forceinline__ GridPoint cube(u32 k, TilePlace& at) const {
        const u32 both = work.open_cubes()[k];
        at = {both / VOLUME_TILE_VERTICES, both % VOLUME_TILE_VERTICES};
        GridPoint p;
        vertex_at_place<Tetrahedra>(volume_tile(job, at.tile), at.place, p);
        return p;
    }
    // Lists the tetrahedra of the cubes from `first` on that signs leave open: the number of their cube from
    // there on, and their own.
    __device__ __forceinline__ void list_tetrahedra(u32 first) const {
        const u32 corner = threadIdx.x % 8;
        auto number = [](u32 j) { return (j * VOLUME_THREADS + threadIdx.x) / 8; };
        auto point = [&](u32 j) {
            TilePlace at;
            return plus(cube(first + number(j), at), corner);
        };
        // The loads of several cubes are under way at the same time.
        LoadedVertex<Of> vertices[CUBES_AT_ONCE<T>];
#pragma unroll
        for (u32 j = 0; j < CUBES_AT_ONCE<T>; j++) {
            vertices[j].is_here = first + number(j) < count;
            if (vertices[j].is_here) vertices[j].load(values, point(j), false);
        }
#pragma unroll
        for (u32 j = 0; j < CUBES_AT_ONCE<T>; j++)
            shared.signs[j * VOLUME_THREADS + threadIdx.x] =
                (u16)vertices[j].signs(values, [&] { return point(j); });
        // A barrier of the block: lanes may come back from a function at different times (Mender::lanes).
        __syncthreads();
#pragma unroll
        for (u32 j = 0; j < CUBES_AT_ONCE<T>; j++) {
            const u16* const signs = shared.signs + 8 * number(j);
            if (corner < TETRAHEDRA && is_open<Of>(corner, [&](u32 k) { return (u32)signs[k]; }))
                shared.open[atomicAdd(&shared.open_count, 1u)] = number(j) << 3 | corner;
        }
    }
    // Tests a tetrahedron that is listed, and lists its cube for the first round of repair if it is violated.
    __device__ __forceinline__ void test_listed(u32 first, u32 open) const {
        TilePlace at;
        const Simplex<Tetrahedra> s = {cube(first + (open >> 3), at), open & 7};
        if (!test_open<Of>(job, s, false, shared) || !ViolatedSet<Of>{job}.change(s, at, true)) return;
        RoundLists<Of>(job).put(EVEN_CELLS, atomicAdd(&control_of(job).repair.cells[0], 1u), at);
    }
    // Verifies the cubes of the list. Call with a block.
    __device__ __forceinline__ void run() const {
        for (u32 first = blockIdx.x * CUBES_OF_TURN<T>; first < count;
             first += gridDim.x * CUBES_OF_TURN<T>) {
            list_tetrahedra(first);
            __syncthreads();
            const u32 open = shared.open_count;
            for (u32 k = threadIdx.x; k < open; k += VOLUME_THREADS) test_listed(first, shared.open[k]);
            __syncthreads();
            if (threadIdx.x == 0) shared.open_count = 0;
            __syncthreads();
        }
    }
};

// Grid: any. Block: VOLUME_THREADS threads. Static shared: VerifyShared. Reads: open cubes and tiles; of
// these the field, its values before, levels, bound shifts; of a stored volume the field. Changes: violated
// tetrahedra of open cubes. Writes: those of open tiles, and that no vertex there has changed; the number of
// violated tetrahedra, the list of their cubes, the number of critical points.
template <typename T>
__device__ __forceinline__ void verify(const Job& job) {
    __shared__ VerifyShared<Tetrahedra> shared;
    Control& control = control_of(job);
    const bool is_stored = is_stored_volume(control);
    shared.begin();
    if (!is_stored) CubeVerifier<T>(job, shared).run();
    const u64 tiles = is_stored ? job.tiles() : control.repair.open_tiles;
    for (u64 k = blockIdx.x; k < tiles; k += gridDim.x) {
        const u64 tile = is_stored ? k : VolumeCodeView<T>(job).open_tiles()[k];
        verify_tile<LayerOne<T>>(job, volume_tile(job, tile), is_stored, shared);
    }
    shared.tell(control);
}
