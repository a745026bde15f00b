// The simplices of a tile: those that do not keep what they must, and of a volume that is being compressed
// those that hold a critical point. Twin of violated and points in src/repair/tetrahedra.rs, and of violated
// in src/repair/triangles.rs.
#pragma once
#include "repair/rounds.cuh"
#include "topology/strict_signs.cuh"

template <typename Mesh>
struct VerifyShared {
    // Simplices of the cells that a block looks at in a turn.
    static constexpr u32 OPEN_OF_TURN = Mesh::OF_CELL * VOLUME_THREADS;

    u16 signs[Mesh::CLOSED * Mesh::CLOSED * Mesh::CLOSED_Z];  // of vertices
    alignas(16) u32 violated[Mesh::PLACES / 4];
    // Simplices that signs do not settle: the place of their cell, and their number.
    u32 open[2 * OPEN_OF_TURN];
    u32 open_count, cell_count, first_cell;
    // Of all tiles of the block.
    u32 violated_count, points;

    // Call with a block.
    __device__ __forceinline__ void begin() {
        if (threadIdx.x == 0) open_count = violated_count = points = 0;
        __syncthreads();
    }
    // Adds what the block has found to the control block. Call with a block.
    __device__ __forceinline__ void tell(Control& control) const {
        __syncthreads();
        if (threadIdx.x != 0) return;
        if (points) atomicAdd((ull*)&control.critical, (ull)points);
        if (violated_count) atomicAdd((ull*)&control.repair.violated, (ull)violated_count);
    }
};

// A vertex of cells: what says how its values are now.
template <typename Of>
struct LoadedVertex {
    bool is_here;
    u32 level;
    Vector<typename Of::T, Of::Mesh::COMPONENTS> original, before;

    // `exact`: the vertex has its original values.
    __device__ __forceinline__ void load(const VertexValues<Of>& values, const GridPoint& p, bool exact) {
        const TilePlace at = Of::Mesh::place_of(values.job, p);
        original = values.original(p);
        level = exact ? LEVEL_EXACT : (u32)values.level(at);
        if (!exact) before = values.before(p, at);
    }
    // `point()`: where it is. Few vertices have a level.
    template <typename Point>
    __device__ __forceinline__ u32 signs(const VertexValues<Of>& values, Point point) const {
        if (!is_here) return IS_MISSING;
        const auto now = level == LEVEL_UNCHANGED ? before
                         : level == LEVEL_EXACT   ? original
                                                  : vector_now<Of>(values.job, point(), original);
        return strict_signs(original) | strict_signs(now) << SIGNS | (equal(original, now) ? IS_SAME : 0) |
               (is_missing(original, values.job.fill) ? IS_MISSING : 0);
    }
};

// Fills the signs of the vertices of the cells of a tile. `exact`: all have their original values. Call with
// a block.
template <typename Of>
__device__ __forceinline__ void load_signs(const Job& job, const typename Of::Mesh::Tile& tile, bool exact,
    VerifyShared<typename Of::Mesh>& shared) {
    typedef typename Of::Mesh Mesh;
    const VertexValues<Of> values(job);
    constexpr u32 SIDE = Mesh::CLOSED, ALL = SIDE * SIDE * Mesh::CLOSED_Z,
                  AT_ONCE = 16 / sizeof(typename Of::T);
    auto point = [&](u32 k) {
        return wrapped(job, {(long long)tile.first[0] + k % SIDE, (long long)tile.first[1] + k / SIDE % SIDE,
                                (long long)tile.first[2] + k / (SIDE * SIDE)});
    };
    // The loads of several vertices are under way at the same time.
    for (u32 first = threadIdx.x; first < ALL; first += AT_ONCE * blockDim.x) {
        LoadedVertex<Of> vertices[AT_ONCE];
#pragma unroll
        for (u32 j = 0; j < AT_ONCE; j++) {
            const u32 k = first + j * blockDim.x;
            const GridPoint p = point(k);
            LoadedVertex<Of>& vertex = vertices[j];
            vertex.is_here =
                k < ALL && p.x < (long long)job.nx && p.y < (long long)job.ny && p.z < (long long)job.nz;
            if (vertex.is_here) vertex.load(values, p, exact);
        }
#pragma unroll
        for (u32 j = 0; j < AT_ONCE; j++) {
            const u32 k = first + j * blockDim.x;
            if (k < ALL) shared.signs[k] = (u16)vertices[j].signs(values, [&] { return point(k); });
        }
    }
}

// Whether signs leave a simplex open; `signs(corner)`: those of a corner of its cell.
template <typename Of, typename Signs>
__device__ __forceinline__ bool is_open(u32 simplex, Signs signs) {
    typedef typename Of::Mesh Mesh;
    u32 all = signs(Mesh::corner(simplex, 0)), any = all;
#pragma unroll
    for (u32 k = 1; k < Mesh::CORNERS; k++) {
        const u32 corner = signs(Mesh::corner(simplex, k));
        all &= corner, any |= corner;
    }
    // Where every component has both signs, there may be a critical point.
    const bool same = all & IS_SAME, settled = (all & SIGNS_BEFORE) && (same || all & SIGNS_NOW),
               may_hold = Of::IS_COMPRESSION && (any & SIGNS_BEFORE) == SIGNS_BEFORE;
    return !(any & IS_MISSING || settled || (same && !may_hold));
}
// Lists the simplices of a cell that signs leave open.
template <typename Of>
__device__ __forceinline__ void list_open(VerifyShared<typename Of::Mesh>& shared, u32 place) {
    typedef typename Of::Mesh Mesh;
    constexpr u32 SIDE = Mesh::SIDE, CELL = 1 << Mesh::AXES;
    const u32 x = place % SIDE, y = place / SIDE % SIDE, z = place / (SIDE * SIDE);
    const u16* const at = shared.signs + (z * Mesh::CLOSED + y) * Mesh::CLOSED + x;
    u32 signs[CELL];
#pragma unroll
    for (u32 k = 0; k < CELL; k++)
        signs[k] = at[((k >> 2) * Mesh::CLOSED + (k >> 1 & 1)) * Mesh::CLOSED + (k & 1)];
#pragma unroll
    for (u32 t = 0; t < Mesh::OF_CELL; t++)
        if (is_open<Of>(t, [&](u32 corner) { return signs[corner]; }))
            shared.open[atomicAdd(&shared.open_count, 1u)] = place << 3 | t;
}

// Tests a simplex: whether it holds a critical point, and whether it is violated, which is the answer. Not
// inlined: few simplices are tested, and the rest of a kernel takes fewer registers.
template <typename Of>
static __device__ __noinline__ bool test_open(
    const Job& job, Simplex<typename Of::Mesh> s, bool exact, VerifyShared<typename Of::Mesh>& shared) {
    typedef typename Of::Mesh Mesh;
    const SimplexTest<Of> test(job);
    typename SimplexTest<Of>::Vectors before;
    test.load(s, before);
    const auto kept = Mesh::kept(before, s.in_cell, test.rule);
    if constexpr (Of::IS_COMPRESSION)
        if (kept.is_critical()) atomicAdd(&shared.points, 1u);
    if (exact) return false;
    const auto after = test.now(s, before);
    if (are_equal<Mesh>(before, after) || Mesh::keeps(kept, before, after, s.in_cell, test.rule))
        return false;
    atomicAdd(&shared.violated_count, 1u);
    return true;
}
// Tests a simplex of a tile.
template <typename Of>
__device__ __forceinline__ void test_in_tile(const Job& job, const typename Of::Mesh::Tile& tile, u32 open,
    bool exact, VerifyShared<typename Of::Mesh>& shared) {
    const u32 place = open >> 3;
    Simplex<typename Of::Mesh> s;
    s.in_cell = open & 7;
    vertex_at_place<typename Of::Mesh>(tile, place, s.cell);
    if (test_open<Of>(job, s, exact, shared))
        atomicOr(&shared.violated[place / 4], 1u << (8 * (place % 4) + s.in_cell));
}

// Cells of a tile that signs leave open: bit k of a thread stands for the cell at place k * VOLUME_THREADS +
// threadIdx.x. Of a volume these are cubes along z.
template <typename T>
__device__ __forceinline__ u32 open_cells(
    const Job& job, const VolumeTile& tile, const VerifyShared<Tetrahedra>& shared) {
    const i32 x = (i32)threadIdx.x % VOLUME_SIDE, y = (i32)threadIdx.x / VOLUME_SIDE;
    const GridPoint first = {
        (long long)tile.first[0] + x, (long long)tile.first[1] + y, (long long)tile.first[2]};
    if (x >= tile.owned(0) || y >= tile.owned(1) || !has_cell<Tetrahedra>(job, first)) return 0;
    const bool at_end = !has_cell<Tetrahedra>(job, {first.x, first.y, first.z + tile.owned(2) - 1});
    constexpr i32 SIDE = VOLUME_CLOSED;
    auto signs_at = [&](i32 dx, i32 dy, i32 z) {
        return (u32)shared.signs[(z * SIDE + y + dy) * SIDE + x + dx];
    };
    return ((1u << (tile.owned(2) - at_end)) - 1) &
           ~settled_cubes<VOLUME_SIDE>(VOLUME_SIDE, signs_at, are_settled);
}
template <typename T>
__device__ __forceinline__ u32 open_cells(
    const Job& job, const PlaneTile& tile, const VerifyShared<Triangles>& shared) {
    constexpr u32 SIDE = Triangles::SIDE, CLOSED = Triangles::CLOSED;
    u32 open = 0;
#pragma unroll
    for (u32 k = 0; k < Triangles::PLACES / VOLUME_THREADS; k++) {
        const u32 place = k * VOLUME_THREADS + threadIdx.x;
        GridPoint cell;
        const bool here = vertex_at_place<Triangles>(tile, place, cell) && has_cell<Triangles>(job, cell);
        const u16* const at = shared.signs + place / SIDE * CLOSED + place % SIDE;
        if (here && !are_settled(at[0] & at[1] & at[CLOSED] & at[CLOSED + 1])) open |= 1u << k;
    }
    return open;
}

// Tests the simplices of a tile that signs leave open. Call with a block.
template <typename Of>
__device__ __forceinline__ void test_tile(const Job& job, const typename Of::Mesh::Tile& tile, bool exact,
    VerifyShared<typename Of::Mesh>& shared) {
    constexpr u32 TURNS = Of::Mesh::PLACES / VOLUME_THREADS;
    const u32 open = open_cells<typename Of::T>(job, tile, shared);
    for (u32 turn = 0; turn < TURNS; turn++) {
        const bool is_last = !__syncthreads_or(open >> turn != 0);
        if (!is_last && open >> turn & 1) list_open<Of>(shared, turn * VOLUME_THREADS + threadIdx.x);
        __syncthreads();
        // Tested when there is no room for those of another turn.
        const u32 count = shared.open_count;
        __syncthreads();
        if (count <= shared.OPEN_OF_TURN && !is_last && turn + 1 < TURNS) continue;
        for (u32 k = threadIdx.x; k < count; k += VOLUME_THREADS)
            test_in_tile<Of>(job, tile, shared.open[k], exact, shared);
        if (is_last) break;
        __syncthreads();
        if (threadIdx.x == 0) shared.open_count = 0;
        __syncthreads();
    }
    __syncthreads();
}

// Lists the cells of a tile that have violated simplices for the first round. Call with a block.
template <typename Of>
__device__ __forceinline__ void list_cells(
    const Job& job, Control& control, u64 tile, VerifyShared<typename Of::Mesh>& shared) {
    typedef typename Of::Mesh Mesh;
    const RoundLists<Of> lists(job);
    u32 mine = 0, place = 0;
    for (u32 w = threadIdx.x; w < Mesh::PLACES / 4; w += VOLUME_THREADS)
        mine += __popc(violated_bytes(shared.violated[w]));
    if (!__syncthreads_or(mine)) return;
    if (mine) place = atomicAdd(&shared.cell_count, mine);
    __syncthreads();
    if (threadIdx.x == 0) shared.first_cell = atomicAdd(&control.repair.cells[0], shared.cell_count);
    __syncthreads();
    place += shared.first_cell;
    for (u32 w = threadIdx.x; w < Mesh::PLACES / 4; w += VOLUME_THREADS) {
        const u32 cells = violated_bytes(shared.violated[w]);
        shared.violated[w] |= (cells >> 7) * CELL_IS_LISTED;
        for (u32 left = cells; left; left &= left - 1)
            lists.put(EVEN_CELLS, place++, {tile, place_of_byte(w, left)});
    }
    __syncthreads();
}

// Stores the violated simplices of a tile, and that no vertex of it has changed. Call with a block.
template <typename Of, typename Sixteen>
__device__ __forceinline__ void store_violated(const Job& job, u64 tile, Sixteen sixteen) {
    typedef typename Of::Mesh Mesh;
    static_assert(VOLUME_THREADS >= Mesh::PLACES / 16, "sixteen bytes each");
    const typename Of::View work(job);
    if (threadIdx.x < Mesh::PLACES / 16)
        words_at<uint4>(work.violated(tile))[threadIdx.x] = sixteen(threadIdx.x);
    if (threadIdx.x < Mesh::PLACES / 128)
        reinterpret_cast<uint4*>(work.changed(tile))[threadIdx.x] = make_uint4(0, 0, 0, 0);
}

// Verifies a tile, all of whose vertices have their original values if it is `exact`. Reads: the field, its
// values before, levels, bound shifts. Writes: violated simplices, the list of their cells, that no vertex
// has changed, counts of the block. Call with a block.
template <typename Of>
__device__ __forceinline__ void verify_tile(const Job& job, const typename Of::Mesh::Tile& tile, bool exact,
    VerifyShared<typename Of::Mesh>& shared) {
    __syncthreads();
    for (u32 w = threadIdx.x; w < Of::Mesh::PLACES / 4; w += VOLUME_THREADS) shared.violated[w] = 0;
    if (threadIdx.x == 0) shared.open_count = shared.cell_count = 0;
    load_signs<Of>(job, tile, exact, shared);
    __syncthreads();
    test_tile<Of>(job, tile, exact, shared);
    if (exact) return;
    list_cells<Of>(job, control_of(job), tile.index, shared);
    store_violated<Of>(
        job, tile.index, [&](u32 k) { return reinterpret_cast<const uint4*>(shared.violated)[k]; });
}

// Grid: tiles. Block: VOLUME_THREADS threads, the cells of a tile of a reconstruction. Static shared:
// VerifyShared. Reads: the field, the reconstruction, levels. Writes: violated simplices and their number,
// the list of their cells, that no vertex has changed.
template <typename Of>
__device__ __forceinline__ void verify_mesh(const Job& job) {
    __shared__ VerifyShared<typename Of::Mesh> shared;
    Control& control = control_of(job);
    if (Of::is_idle(control)) return;
    shared.begin();
    verify_tile<Of>(job, Of::Mesh::tile(job, blockIdx.x), false, shared);
    shared.tell(control);
}

// Grid: tiles. Block: VOLUME_THREADS threads, a tile each. Takes the errors of vertices on sides with ghosts
// below their border bounds. Reads: the field, its values before, bound shifts. Changes: levels.
template <typename Of>
__device__ __forceinline__ void keep_mesh_border(const Job& job) {
    typedef typename Of::Mesh Mesh;
    const SimplexTest<Of> test(job);
    if (Of::is_idle(test.values.control)) return;
    const typename Mesh::Tile tile = Mesh::tile(job, blockIdx.x);
    for (u32 place = threadIdx.x; place < Mesh::PLACES; place += blockDim.x) {
        GridPoint p;
        if (!vertex_at_place<Mesh>(tile, place, p) || !is_on_sides(job, p, job.halo)) continue;
        if (is_missing(original_at<typename Of::T, Mesh::COMPONENTS>(job, p), job.fill)) continue;
        test.values.keep_below(p, Mesh::place_of(job, p), test.border_bound(p));
    }
}
template <typename T>
__device__ __forceinline__ void keep_border(const Job& job) {
    keep_mesh_border<LayerOne<T>>(job);
}
