// Loads a border tile and finds its masks, by a block.
#pragma once
#include "compress/tiles/border/vertex.cuh"
#include "entropy/quantized_tile.cuh"
#include "grid/field.cuh"
#include "grid/missing.cuh"

// A tile of any shape and the thread's part of it. Warp 0 has the coarse levels to itself; which of the two
// warps that is alternates between blocks, to balance the schedulers.
struct BorderPart {
    static constexpr i32 THREADS = 32 * BORDER_WARPS;
    u64 index;
    TileShape shape;
    i32 thread, lane, warp, width, height, ox, oy;
    bool inside;

    __device__ __forceinline__ BorderPart(const Job& job, u64 index)
        : index(index), shape(tile_shape(job, index)),
          thread((i32)(threadIdx.x ^ (__popc(blockIdx.x) & 1) << 5)), lane(thread & 31), warp(thread >> 5),
          width(shape.last_x + 1), height(shape.last_y + 1), ox(shape.owned_x()), oy(shape.owned_y()),
          inside(width == CLOSED && height == CLOSED) {}
};

// Starts the loads of the originals of a tile.
template <typename T>
__device__ __forceinline__ void copy_border_values(
    const Job& job, const BorderPart& part, typename Real<T>::Pair* values) {
    typedef typename Real<T>::Pair P;
    const T* u = vertex_at<T>(job.u, job.u_layout, part.shape.x0 + part.lane, part.shape.y0 + part.warp);
    const T* v = vertex_at<T>(job.v, job.v_layout, part.shape.x0 + part.lane, part.shape.y0 + part.warp);
    P* to = values + part.warp * CLOSED + part.lane;
#pragma unroll 4
    for (i32 y = part.warp; y < part.height; y += BORDER_WARPS) {
        if (part.lane < part.width) copy_vertex_ahead<T>(*to, u, v);
        u += BORDER_WARPS * job.u_layout.pitch;
        v += BORDER_WARPS * job.v_layout.pitch;
        to += BORDER_WARPS * CLOSED;
    }
    if (part.width == CLOSED)
        for (i32 y = part.thread; y < part.height; y += BorderPart::THREADS)
            copy_vertex_ahead<T>(values[y * CLOSED + TILE],
                vertex_at<T>(job.u, job.u_layout, part.shape.x0 + TILE, part.shape.y0 + y),
                vertex_at<T>(job.v, job.v_layout, part.shape.x0 + TILE, part.shape.y0 + y));
}

// Loads the bounds of a tile; those of the far sides belong to the next tiles.
template <typename T>
__device__ __forceinline__ void load_border_bounds(
    const Job& job, const BorderPart& part, BorderTile<T>& shared) {
    constexpr i32 THREADS = BorderPart::THREADS;
    const T* const vertex_bounds = vertex_bounds_of<T>(job, part.index);
    const u64 bounded = nearness_of(job, part.index).bounded;
#pragma unroll
    for (i32 k = 0; k < TILE_VERTICES; k += THREADS) {
        // The bounds of the first column are always stored.
        const bool first_column =
            k >= TILE_VERTICES / 2 && k < 3 * TILE_VERTICES / 4 && part.thread % BOUND_CHUNK == 0;
        shared.vertex_bounds[k + part.thread] =
            vertex_bound_of(vertex_bounds, first_column ? ~0ull : bounded, k + part.thread);
    }
    for (i32 side = part.warp; side < 2; side += BORDER_WARPS) {
        const bool exists = (side == 0 ? part.height : part.width) == CLOSED;
        const u64 behind = side == 0 ? part.index + job.tiles_x : part.index + 1;
        T vertex_bound = no_bound<T>();
        if (exists && nearness_of(job, behind).kind != UNCONSTRAINED_TILE)
            vertex_bound = vertex_bounds_of<T>(
                job, behind)[side == 0 ? position_of(part.lane, 0) : position_of(0, part.lane)];
        shared.vertex_bounds[TILE_VERTICES + TILE * side + part.lane] = vertex_bound;
    }
}

// Loads the originals and the bounds of a tile; returns its corner in lanes with a corner, which is final.
template <typename T, typename P = typename Real<T>::Pair>
__device__ __forceinline__ P load_border_tile(
    const Job& job, const Control& control, const BorderPart& part, BorderTile<T>& shared, bool has_corner) {
    typedef Real<T> R;
    const QuantizeView<T> work(job);
    u8* const symbols = work.symbols() + part.index * TILE_VERTICES;
    // Start all loads at once: the originals;
    copy_border_values<T>(job, part, shared.values);
    if (part.thread == 0) expect_largest_error(control, shared.known);
    end_of_copies();
    // the corners, which are final;
    P corner = R::pair(T(0), T(0));
    if (has_corner) corner = work.anchors()[part.index + (part.lane & 1) + (part.lane & 2 ? job.tiles_x : 0)];
    // and the bounds.
    load_border_bounds(job, part, shared);
    if (part.thread == 0) {
        shared.upper_cost = shared.fine_cost = 0;
        shared.places = {symbols, work.payload(part.index)};
    }
    // Later only non-zero symbols are written.
    words_at<uint4>(symbols)[part.thread] = make_uint4(0, 0, 0, 0);
    wait_for_copies<0>();
    __syncthreads();
    return corner;
}

// Masks of a tile by row; returns its mask state. Afterwards a vertex is zero if and only if it has no code.
template <typename T>
__device__ __forceinline__ u32 mask_border_tile(const Job& job, const Control& control,
    const BorderPart& part, BorderTile<T>& shared, bool any_missing, bool lossless) {
    typedef Real<T> R;
    typedef typename R::Pair P;
    constexpr i32 THREADS = BorderPart::THREADS;
    const QuantizeView<T> work(job);
    P* const values = shared.values;
#pragma unroll 4
    for (i32 y = part.warp; y < part.height; y += BORDER_WARPS) {
        P* const here = values + y * CLOSED + part.lane;
        P value = R::pair(T(1), T(1));
        if (part.lane < part.width) value = *here;
        u32 z = __ballot_sync(FULL, is_zero<T>(value) && !(lossless && has_negative_zero(value.x, value.y)));
        u32 f = 0, nf = 0;
        if (any_missing) {
            const bool missing = part.lane < part.width && is_missing(value.x, value.y, job.fill);
            const bool filled = missing && has_fill(control, value.x, value.y);
            f = __ballot_sync(FULL, filled);
            nf = __ballot_sync(FULL, missing);
            z &= ~nf;
            if (missing) *here = R::pair(T(0), T(0));
        }
        if (part.lane == 0) shared.missing[2 * y] = nf;
        if (part.lane == 0 && y < TILE) {
            shared.zero[y] = z;
            shared.fill[y] = f;
        }
    }
    if (any_missing)
        for (i32 y = part.thread; y < part.height; y += THREADS) {
            P& value = values[y * CLOSED + TILE];
            const bool odd = part.width == CLOSED && is_missing(value.x, value.y, job.fill);
            shared.missing[2 * y + 1] = odd;
            if (odd) value = R::pair(T(0), T(0));
        }
    __syncthreads();
    const u32 owned = (u32)(part.ox * part.oy), z = part.lane < part.oy ? shared.zero[part.lane] : 0,
              f = part.lane < part.oy ? shared.fill[part.lane] : 0;
    const u32 zeros = warp_sum(__popc(z)), fills = warp_sum(__popc(f));
    const u32 mask_state = mask_states_of(zeros, fills, owned);
    if (mask_state != 0 && part.warp == 0) {
        work.mask_row(part.index, 0, part.lane) = z;
        work.mask_row(part.index, 1, part.lane) = f;
    }
    return mask_state;
}
