// Vertex bounds from the triangles that need determinants, and the number of critical points.
#pragma once
#include "compress/bounds/hard_triangles.cuh"
#include "compress/bounds/list_tiles.cuh"
#include "compress/bounds/vertex_bounds.cuh"
#include "grid/field.cuh"
#include "tile/encode.cuh"

template <typename T>
__device__ __forceinline__ Corners<T> corners_of(const Job& job, const TileFinder& finder, u64 packed) {
    const Triangle t(packed);
    u64 tx, ty;
    finder.place(job, t.tile, tx, ty);
    u64 plane;
    const u64 x = tx * TILE + t.x, y = place_row(job, ty, plane) + plane + t.y;
    const T* const u = vertex_at<T>(job.u, job.u_layout, x, y);
    const T* const v = vertex_at<T>(job.v, job.v_layout, x, y);
    const long long pitch_u = job.u_layout.pitch, pitch_v = job.v_layout.pitch,
                    stride_u = job.u_layout.stride, stride_v = job.v_layout.stride;
    // Selects addresses instead of values, so that nothing waits here.
    Corners<T> p;
#pragma unroll
    for (i32 k = 0; k < 3; k++) {
        const bool right = corner_x(t.which, k), below = corner_y(t.which, k);
        p.u[k] = u[(right ? stride_u : 0) + (below ? pitch_u : 0)];
        p.v[k] = v[(right ? stride_v : 0) + (below ? pitch_v : 0)];
    }
    return p;
}
// Lowers the bounds of the three corners; some belong to the tiles to the right and below. positions: those
// of POSITIONS.
template <typename T>
__device__ __forceinline__ void lower_corners(
    const Job& job, const u16* positions, u64 packed, T vertex_bound) {
    const Triangle t(packed);
    const u64 slot = slot_bytes<T>(job) / sizeof(T);
    const i32 row = TILE * t.y, below = TILE * ((t.y + 1) & (TILE - 1)), after = (t.x + 1) & (TILE - 1);
    // Bounds of the tiles of the corners. Every triangle has a and d.
    static_assert(has_corner(LOWER, CORNER_A) && has_corner(LOWER, CORNER_D) && has_corner(UPPER, CORNER_A) &&
                      has_corner(UPPER, CORNER_D),
        "the third corner is off the diagonal");
    T* const of_a = vertex_bounds_of<T>(job, t.tile);
    T* const of_c = t.y == TILE - 1 ? of_a + job.tiles_x * slot : of_a;
    T* const of_d = t.x == TILE - 1 ? of_c + slot : of_c;
    const bool has_c = apex(t.which) == CORNER_C;
    T* const of_apex = has_c ? of_c : t.x == TILE - 1 ? of_a + slot : of_a;
    lower_to(of_a + positions[row + t.x], vertex_bound);
    lower_to(of_d + positions[below + after], vertex_bound);
    lower_to(of_apex + positions[has_c ? below + t.x : row + after], vertex_bound);
}

// Triangles that need the ladder, gathered until a warp is full.
template <typename T>
struct WaitingTriangles {
    u64 packed[64];
    T u[3][64], v[3][64];

    __device__ __forceinline__ void put(u32 at, u64 triangle, const Corners<T>& p) {
        packed[at] = triangle;
#pragma unroll
        for (i32 k = 0; k < 3; k++) u[k][at] = p.u[k], v[k][at] = p.v[k];
    }
    __device__ __forceinline__ Corners<T> corners(u32 at) const {
        Corners<T> p;
#pragma unroll
        for (i32 k = 0; k < 3; k++) p.u[k] = u[k][at], p.v[k] = v[k][at];
        return p;
    }
};

// Lowers the bounds of the owned vertices on the border of the grid, for pinned sides and the halo. `start`:
// number of this warp in the grid.
template <typename T>
__device__ __forceinline__ void lower_border_bounds(
    const Job& job, const Control& control, const Constraints<T>& c, u32 start) {
    const i32 lane = threadIdx.x & 31;
    for (u64 k = start; k < control.bounded_tiles; k += blocks_of_grid() * BOUND_WARPS) {
        const u64 tile = ListsView(job).bounded()[k];
        const TileShape shape = tile_shape(job, tile);
        for (i32 i = lane; i < 4 * TILE; i += 32) {
            const i32 side = i >> 5, along = i & 31;
            const i32 x = side == 0   ? 0
                          : side == 1 ? shape.last_x
                                      : along,
                      y = side == 2   ? 0
                          : side == 3 ? shape.last_y
                                      : along;
            if (x >= shape.owned_x() || y >= shape.owned_y() ||
                !on_border(job, shape.x0 + x, shape.y_in_plane() + y))
                continue;
            const T b = border_bound(job, c, shape.plane, shape.x0 + x, shape.y_in_plane() + y);
            if (b < Real<T>::MAX) lower_to(vertex_bound_at<T>(job, tile, x, y), b);
        }
    }
}

// The bound of a triangle whose image tells it. Sets `waits` if the ladder has to find it.
template <typename T>
__device__ __forceinline__ T direct_bound(
    const Job& job, const Constraints<T>& c, bool all_there, const Corners<T>& p, bool& waits) {
    const T axis = axis_distance(p);
    T vertex_bound = Real<T>::MAX;
    if (all_there || (finite(p) && !has_filled(p, job.fill))) {
        const Determinants d = determinants(p);
        const BoundSource by = bound_source(p, d, axis);
        waits = by == BoundSource::BY_LADDER;
        if (by == BoundSource::BY_IMAGE)
            vertex_bound = axis > T(0) && (double)axis >= c.bound ? axis : image_bound(p, d, axis);
    }
    return vertex_bound;
}

// The list of triangles, of which a warp reads 32 at a time: entries are loaded two chunks ahead, corners
// one.
template <typename T>
class NextTriangles {
    const Job& job;
    const TileFinder& finder;
    const ListsView work;
    const bool few;
    const u32 in_last;
    u64 next;
    bool next_exists;

public:
    const u32 chunks;
    u64 packed;  // of the lane, if it exists
    bool exists;
    Corners<T> corners;

    // 32 bits suffice for 2^37 triangles in chunks.
    __device__ __forceinline__ NextTriangles(const Job& job, const TileFinder& finder, u64 listed)
        : job(job), finder(finder), work(job), few(few_tiles(job)), in_last((u32)(listed - 1) & 31), next(0),
          next_exists(false), chunks((u32)((listed + 31) / 32)), corners{} {}
    // Starts the load of the lane's entry of chunk k.
    __device__ __forceinline__ void load_entry(u32 k) {
        const u32 lane = threadIdx.x & 31;
        next_exists = false;
        if (k >= chunks) return;
        const u64 at = 32 * (u64)k + lane;
        if (few) {
            next_exists = k + 1 < chunks || lane <= in_last;
            if (next_exists) next = *work.hard_triangles<T>(at);
        } else {
            const u32 word = work.hard_tiles()[k];
            next_exists = lane <= last_place_of_run(word);
            if (next_exists) next = upper_bits_in(word) | *work.hard_triangles<T>(at);
        }
    }
    // Goes on to the entry that was loaded, and starts the loads of its corners.
    __device__ __forceinline__ void load_corners() {
        packed = next, exists = next_exists;
        if (exists) corners = corners_of<T>(job, finder, packed);
    }
};

// Lowers the bounds of the corners of a triangle by the ladder; true if a critical point lies inside.
template <typename T>
__device__ __forceinline__ bool climb(
    const Job& job, const Constraints<T>& c, const u16* positions, const WaitingTriangles<T>& list, u32 at) {
    const u64 packed = list.packed[at];
    const Corners<T> p = list.corners(at);
    const TriangleBound<T> bound = job.ties != TIES_ALL && has_zero_vertex(p)
                                       ? TriangleBound<T>{rest_bound(p, job.ties, c.bound), false}
                                       : ladder_bound(p, Triangle(packed).which, c.rule, c.bound);
    lower_corners<T>(job, positions, packed, bound.vertex_bound);
    return bound.inside;
}

// Grid: any. Block: 32 * BOUND_WARPS threads; a warp takes 32 triangles of the list at a time. Static shared:
// triangles that wait, positions. Reads: the field, lists of triangles and tiles. Writes:
// vertex bounds (minimum), number of critical points, lists of tiles by weight. Waits for: the previous
// kernel.
template <typename T>
__device__ __forceinline__ void determinant_bounds(const Job& job) {
    Control& control = control_of(job);
    const Constraints<T> c = constraints_of<T>(job, control);
    const i32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const u32 start = blockIdx.x * BOUND_WARPS + warp;
    const bool all_there = !has_missing(control);
    const TileFinder finder(job);
    NextTriangles<T> next(job, finder, control.hard);
    __shared__ u32 all_critical, counts[BOUND_WARPS];
    __shared__ WaitingTriangles<T> waiting[BOUND_WARPS];
    __shared__ u16 positions[TILE_VERTICES];
    if (threadIdx.x == 0) all_critical = 0;
    for (i32 k = threadIdx.x; k < TILE_VERTICES; k += 32 * BOUND_WARPS) positions[k] = POSITIONS.at[k];
    __syncthreads();
    u32 critical = 0, count = 0;
    next.load_entry(start);
    next.load_corners();
    next.load_entry(start + blocks_of_grid() * BOUND_WARPS);
#pragma unroll 1
    for (u32 k = start; k < next.chunks; k += blocks_of_grid() * BOUND_WARPS) {
        const Corners<T> p = next.corners;
        const u64 triangle = next.packed;
        const bool is_there = next.exists;
        next.load_corners();
        next.load_entry(k + 2 * BOUND_WARPS * blocks_of_grid());
        bool waits = false;
        if (is_there) {
            const T vertex_bound = direct_bound(job, c, all_there, p, waits);
            if (!waits) lower_corners<T>(job, positions, triangle, vertex_bound);
        }
        const u32 new_ones = __ballot_sync(FULL, waits);
        if (waits) waiting[warp].put(count + __popc(new_ones & ((1u << lane) - 1)), triangle, p);
        count += __popc(new_ones);
        __syncwarp();
        if (count >= 32) {
            count -= 32;
            critical += climb(job, c, positions, waiting[warp], count + lane);
            __syncwarp();
        }
    }
    // The remaining triangles of all warps together.
    if (lane == 0) counts[warp] = count;
    __syncthreads();
    u32 number = threadIdx.x;
    i32 of = 0;
#pragma unroll
    for (i32 w = 0; w < BOUND_WARPS - 1; w++)
        if (of == w && number >= counts[w]) number -= counts[w], of++;
    if (number < counts[of]) critical += climb(job, c, positions, waiting[of], number);
    if (job.halo | job.pin) lower_border_bounds(job, control, c, start);
    list_by_weight(job, control);
    // One atomic per block.
    critical = warp_sum(critical);
    if (lane == 0 && critical) atomicAdd(&all_critical, critical);
    __syncthreads();
    if (threadIdx.x == 0 && all_critical) atomicAdd((ull*)&control.critical, (ull)all_critical);
}
