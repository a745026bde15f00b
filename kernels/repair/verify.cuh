// All tetrahedra of a volume: those that do not keep what they must, and those that hold a critical point.
// Twin of violated and points in src/repair/tetrahedra.rs.
#pragma once
#include "repair/rounds.cuh"
#include "topology/strict_signs.cuh"

// Tetrahedra of the cubes that a block looks at in a turn.
constexpr u32 OPEN_OF_TURN = TETRAHEDRA * VOLUME_THREADS;

struct VerifyShared {
    u16 signs[VOLUME_CLOSED * VOLUME_CLOSED * VOLUME_CLOSED];
    alignas(16) u32 violated[VOLUME_TILE_VERTICES / 4];
    // Tetrahedra that signs do not settle: the place of their cube, and their number.
    u32 open[2 * OPEN_OF_TURN];
    u32 open_count, violated_count, points;
};

// A vertex of the cubes of a tile: what says how its values are now.
template <typename T>
struct LoadedVertex {
    bool is_here;
    u32 level;
    Vector<T> original, layer;

    __device__ __forceinline__ u32 signs(const VertexValues<T>& values, const GridPoint& p) const {
        if (!is_here) return IS_MISSING;
        const Vector<T> now = level == LEVEL_UNCHANGED
                                  ? layer
                                  : values.at_level(p, tile_place(values.job, p), level, original, layer);
        return strict_signs(original) | strict_signs(now) << SIGNS | (equal(original, now) ? IS_SAME : 0) |
               (is_missing(original, values.job.fill) ? IS_MISSING : 0);
    }
};

// Fills the signs of the vertices of the cubes of a tile. Call with a block.
template <typename T>
__device__ __forceinline__ void load_signs(
    const Job& job, const VolumeTile& tile, bool lossless, VerifyShared& shared) {
    const VertexValues<T> values(job);
    constexpr u32 SIDE = VOLUME_CLOSED, AT_ONCE = 16 / sizeof(T);
    auto point = [&](u32 k) {
        return wrapped(job, {(long long)tile.first[0] + k % SIDE, (long long)tile.first[1] + k / SIDE % SIDE,
                                (long long)tile.first[2] + k / (SIDE * SIDE)});
    };
    // The loads of several vertices are under way at the same time.
    for (u32 first = threadIdx.x; first < SIDE * SIDE * SIDE; first += AT_ONCE * blockDim.x) {
        LoadedVertex<T> vertices[AT_ONCE];
#pragma unroll
        for (u32 j = 0; j < AT_ONCE; j++) {
            const u32 k = first + j * blockDim.x;
            const GridPoint p = point(k);
            LoadedVertex<T>& vertex = vertices[j];
            vertex.is_here = k < SIDE * SIDE * SIDE && p.x < (long long)job.nx && p.y < (long long)job.ny &&
                             p.z < (long long)job.nz;
            if (!vertex.is_here) continue;
            const TilePlace at = tile_place(job, p);
            vertex.original = original_at<T>(job, p);
            vertex.level = lossless ? LEVEL_EXACT : (u32)values.level(at);
            if (!lossless) vertex.layer = values.of_layer(at);
        }
#pragma unroll
        for (u32 j = 0; j < AT_ONCE; j++) {
            const u32 k = first + j * blockDim.x;
            if (k < SIDE * SIDE * SIDE) shared.signs[k] = (u16)vertices[j].signs(values, point(k));
        }
    }
}

// Lists the tetrahedra of a cube that signs leave open.
__device__ __forceinline__ void list_open(VerifyShared& shared, u32 place) {
    const u32 x = place % VOLUME_SIDE, y = place / VOLUME_SIDE % VOLUME_SIDE,
              z = place / (VOLUME_SIDE * VOLUME_SIDE);
    const u16* const at = shared.signs + (z * VOLUME_CLOSED + y) * VOLUME_CLOSED + x;
    u32 signs[8];
#pragma unroll
    for (u32 k = 0; k < 8; k++)
        signs[k] = at[((k >> 2) * VOLUME_CLOSED + (k >> 1 & 1)) * VOLUME_CLOSED + (k & 1)];
#pragma unroll
    for (u32 t = 0; t < TETRAHEDRA; t++) {
        const u32 a = signs[0], b = signs[corner_of(t, 1)], c = signs[corner_of(t, 2)], d = signs[7],
                  all = a & b & c & d, any = a | b | c | d;
        // Where every component has both signs, there may be a critical point.
        const bool same = all & IS_SAME, settled = (all & SIGNS_BEFORE) && (same || all & SIGNS_NOW),
                   may_hold = (any & SIGNS_BEFORE) == SIGNS_BEFORE;
        if (any & IS_MISSING || settled || (same && !may_hold)) continue;
        shared.open[atomicAdd(&shared.open_count, 1u)] = place << 3 | t;
    }
}

// Tests a tetrahedron: whether it holds a critical point, and whether it is violated.
template <typename T>
__device__ __forceinline__ void test_open(
    const SimplexTest<T>& test, const VolumeTile& tile, u32 open, bool lossless, VerifyShared& shared) {
    const u32 place = open >> 3;
    Simplex s;
    s.tetrahedron = open & 7;
    vertex_in_tile(tile, place, s.cube);
    Tetrahedron<T> before;
    test.load(s, before);
    const VolumeSignature signature = volume_signature(before, s.tetrahedron, test.rule);
    if (signature.is_critical()) atomicAdd(&shared.points, 1u);
    if (lossless) return;
    const Tetrahedron<T> after = test.now(s, before);
    if (are_equal(before, after) || stays(signature, volume_signature(after, s.tetrahedron, test.rule)))
        return;
    atomicOr(&shared.violated[place / 4], 1u << (8 * (place % 4) + s.tetrahedron));
    shared.violated_count = 1;
}

// The cubes along z with the x and y of a thread that signs leave open, a bit for each.
template <typename T>
__device__ __forceinline__ u32 open_cubes(
    const Job& job, const VolumeTile& tile, const VerifyShared& shared) {
    const i32 x = (i32)threadIdx.x % VOLUME_SIDE, y = (i32)threadIdx.x / VOLUME_SIDE;
    const GridPoint first = {
        (long long)tile.first[0] + x, (long long)tile.first[1] + y, (long long)tile.first[2]};
    if (x >= tile.owned(0) || y >= tile.owned(1) || !has_cube(job, first)) return 0;
    const bool at_end = !has_cube(job, {first.x, first.y, first.z + tile.owned(2) - 1});
    return ((1u << (tile.owned(2) - at_end)) - 1) &
           ~settled_cubes<VOLUME_CLOSED>(shared.signs + y * VOLUME_CLOSED + x, VOLUME_SIDE);
}

// Tests the tetrahedra of a tile that signs leave open. Call with a block.
template <typename T>
__device__ __forceinline__ void test_tile(
    const Job& job, const VolumeTile& tile, bool lossless, VerifyShared& shared) {
    const SimplexTest<T> test(job);
    const u32 open = open_cubes<T>(job, tile, shared);
    for (u32 z = 0; z < VOLUME_SIDE; z++) {
        const bool is_last = !__syncthreads_or(open >> z != 0);
        if (!is_last && open >> z & 1) list_open(shared, z * VOLUME_SIDE * VOLUME_SIDE + threadIdx.x);
        __syncthreads();
        // Tested when there is no room for those of another turn.
        const u32 count = shared.open_count;
        __syncthreads();
        if (count <= OPEN_OF_TURN && !is_last && z + 1 < VOLUME_SIDE) continue;
        for (u32 k = threadIdx.x; k < count; k += VOLUME_THREADS)
            test_open(test, tile, shared.open[k], lossless, shared);
        if (is_last) break;
        __syncthreads();
        if (threadIdx.x == 0) shared.open_count = 0;
        __syncthreads();
    }
    __syncthreads();
}

// Grid: tiles. Block: VOLUME_THREADS threads, the cubes of a tile. Static shared: VerifyShared. Reads: which
// tiles are open; of these the field, values of layer 1, levels, bound shifts. Writes: violated tetrahedra,
// the list of their tiles, the number of critical points.
template <typename T>
__device__ __forceinline__ void verify(const Job& job) {
    __shared__ VerifyShared shared;
    Control& control = control_of(job);
    const bool lossless = is_lossless_volume(control);
    const VolumeCodeView<T> work(job);
    const VolumeTile tile = volume_tile(job, blockIdx.x);
    if (threadIdx.x == 0) shared.points = shared.violated_count = shared.open_count = 0;
    reinterpret_cast<uint4*>(shared.violated)[threadIdx.x] = make_uint4(0, 0, 0, 0);
    static_assert(VOLUME_THREADS == VOLUME_TILE_VERTICES / 16, "sixteen bytes each");
    __syncthreads();
    if (lossless || work.repair_flags()[tile.index]) {
        load_signs<T>(job, tile, lossless, shared);
        __syncthreads();
        test_tile<T>(job, tile, lossless, shared);
    }
    if (threadIdx.x == 0 && shared.points) atomicAdd((ull*)&control.critical, (ull)shared.points);
    if (lossless) return;
    words_at<uint4>(work.violated() + tile.index * VOLUME_TILE_VERTICES)[threadIdx.x] =
        reinterpret_cast<uint4*>(shared.violated)[threadIdx.x];
    for (u32 k = threadIdx.x; k < VOLUME_TILE_VERTICES / 32; k += VOLUME_THREADS)
        work.changed(tile.index)[k] = work.touched(tile.index)[k] = 0;
    if (threadIdx.x != 0) return;
    const bool any = shared.violated_count != 0;
    work.repair_flags()[tile.index] = any ? IN_VIOLATED : 0;
    if (any)
        work.violated_tiles()[(FACTZ_FIRST_ROUND & 1) * job.tiles() +
                              atomicAdd(&control.repair.violated_at_first, 1u)] = (u32)tile.index;
}

// Grid: tiles. Block: VOLUME_THREADS threads, a tile each. Takes the errors of vertices on sides with ghosts
// below their border bounds. Reads: the field, values of layer 1, bound shifts. Changes: levels.
template <typename T>
__device__ __forceinline__ void keep_border(const Job& job) {
    const SimplexTest<T> test(job);
    if (is_lossless_volume(test.values.control)) return;
    const VolumeTile tile = volume_tile(job, blockIdx.x);
    for (u32 place = threadIdx.x; place < VOLUME_TILE_VERTICES; place += blockDim.x) {
        GridPoint p;
        if (!vertex_in_tile(tile, place, p) || !is_on_sides(job, p, job.halo)) continue;
        if (is_missing(original_at<T>(job, p), job.fill)) continue;
        test.values.keep_below(p, tile_place(job, p), test.border_bound(p));
    }
}
