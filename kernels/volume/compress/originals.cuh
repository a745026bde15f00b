// Loads the values of tiles that are coded.
#pragma once
#include "tile/volume_window.cuh"
#include "volume/compress/prepare.cuh"

// The vector of a vertex; zeros where it has no code.
template <typename T>
__device__ __forceinline__ Vector<T> vector_to_code(const Job& job, const GridPoint& p, bool has_hidden) {
    const Vector<T> v = original_at<T>(job, p);
    if (has_hidden && is_hidden_level(VolumeCodeView<T>(job).levels()[tile_place(job, p).index()])) return {};
    return v;
}

// Three arrays with the same layout, from the first vertex of a tile on.
template <typename T>
struct TileArrays {
    const T* first[3];
    long long stride, row, plane;

    __device__ __forceinline__ TileArrays(const Job& job, const VolumeTile& tile)
        : stride((long long)job.u_layout.stride), row((long long)job.u_layout.pitch),
          plane(row * job.plane_rows) {
#pragma unroll
        for (i32 c = 0; c < 3; c++)
            first[c] = component_at<T>(
                job, c, (long long)tile.first[0], (long long)tile.first[1], (long long)tile.first[2]);
    }
    __device__ __forceinline__ long long at(i32 x, i32 y, i32 z) const {
        return x * stride + y * row + z * plane;
    }
    // Begins to copy a vertex to an index of a window.
    template <typename Window>
    __device__ __forceinline__ void copy(long long at, Window& window, i32 to) const {
#pragma unroll
        for (i32 c = 0; c < 3; c++) copy_ahead<4>(&window.values[c][to], first[c] + at);
    }
};

// Copies a closed tile of three arrays with the same layout: rows of sixteen vertices, a vertex a thread, and
// the vertices behind the rows. WHOLE: the tile is whole. Call with a block.
template <bool WHOLE, typename T>
__device__ __forceinline__ void copy_closed_tile(
    const Job& job, const VolumeTile& tile, VolumeWindow<T, 3>& window) {
    typedef WindowShape<0> Shape;
    constexpr i32 SIDE = VOLUME_SIDE, ROWS = VOLUME_CLOSED * VOLUME_CLOSED, AT_ONCE = VOLUME_THREADS / SIDE;
    const TileArrays<T> arrays(job, tile);
    auto copy = [&](i32 x, i32 y, i32 z, i32 to, long long at) {
        if (WHOLE || (x <= tile.last[0] && y <= tile.last[1] && z <= tile.last[2]))
            arrays.copy(at, window, to);
    };
    // One step further is one row back on the next plane, but for the first row.
    static_assert(AT_ONCE == VOLUME_CLOSED - 1 && sizeof(T) == 4, "rows of a step");
    const i32 x = (i32)threadIdx.x % SIDE;
    i32 y = (i32)threadIdx.x / SIDE, z = 0, to = Shape::index(x, y, 0);
    long long at = arrays.at(x, y, 0);
    const long long back = arrays.plane - arrays.row, ahead = AT_ONCE * arrays.row;
#pragma unroll 4
    for (i32 k = (i32)threadIdx.x / SIDE; k < ROWS; k += AT_ONCE) {
        copy(x, y, z, to, at);
        const bool is_first = y == 0;
        y = is_first ? AT_ONCE : y - 1, z += !is_first, at += is_first ? ahead : back;
        to += AT_ONCE * Shape::PITCH;
    }
    for (i32 k = (i32)threadIdx.x; k < ROWS; k += VOLUME_THREADS) {
        const i32 far_y = k % VOLUME_CLOSED, far_z = k / VOLUME_CLOSED;
        copy(SIDE, far_y, far_z, Shape::index(SIDE, far_y, far_z), arrays.at(SIDE, far_y, far_z));
    }
    end_of_copies();
    wait_for_copies<0>();
    __syncthreads();
}
// Whether the three arrays have the same layout.
__device__ __forceinline__ bool is_one_layout(const Job& job) {
    return job.u_layout.pitch == job.v_layout.pitch && job.u_layout.pitch == job.w_layout.pitch &&
           job.u_layout.stride == job.v_layout.stride && job.u_layout.stride == job.w_layout.stride;
}

// Loads a closed tile, whose vertices without a code are zero, but for vertices for which `leaves_out(x, y,
// z)`. For the sample, values that are not finite are zero as well. Call with a block.
template <typename T, typename LeavesOut>
__device__ __forceinline__ void load_closed_tile(
    const Job& job, const VolumeTile& tile, bool sample, VolumeWindow<T, 3>& window, LeavesOut leaves_out) {
    const bool has_hidden = has_hidden_vertices(control_of(job));
    if constexpr (sizeof(T) == 4) {
        if (!has_hidden && is_one_layout(job))
            return tile.is_whole() ? copy_closed_tile<true>(job, tile, window)
                                   : copy_closed_tile<false>(job, tile, window);
    }
    constexpr i32 SIDE = VOLUME_CLOSED;
#pragma unroll 4
    for (i32 k = (i32)threadIdx.x; k < SIDE * SIDE * SIDE; k += VOLUME_THREADS) {
        const i32 x = k % SIDE, y = k / SIDE % SIDE, z = k / (SIDE * SIDE);
        if (x > tile.last[0] || y > tile.last[1] || z > tile.last[2] || leaves_out(x, y, z)) continue;
        const Vector<T> v = vector_to_code<T>(job, point_in_tile(tile, x, y, z), has_hidden);
        const i32 at = window_index(x, y, z);
#pragma unroll
        for (i32 c = 0; c < 3; c++)
            window.values[c][at] = sample && !Real<T>::finite(v.at[c]) ? T(0) : v.at[c];
    }
    __syncthreads();
}

// Loads the coarse vertices of a closed tile; those without a code are zero. Call with a block of
// COARSE_THREADS threads.
template <typename T>
__device__ __forceinline__ void load_coarse_originals(
    const Job& job, const VolumeTile& tile, VolumeWindow<T, 3, 1>& window) {
    const bool has_hidden = has_hidden_vertices(control_of(job));
    if (sizeof(T) == 4 && !has_hidden && is_one_layout(job)) {
        const TileArrays<T> arrays(job, tile);
        for_coarse_vertices<COARSE_THREADS>(tile,
            [&](i32 k, i32 x, i32 y, i32 z) { arrays.copy(arrays.at(2 * x, 2 * y, 2 * z), window, k); });
        end_of_copies();
        wait_for_copies<0>();
    } else {
        for_coarse_vertices<COARSE_THREADS>(tile, [&](i32 k, i32 x, i32 y, i32 z) {
            const Vector<T> v = vector_to_code<T>(job, point_in_tile(tile, 2 * x, 2 * y, 2 * z), has_hidden);
#pragma unroll
            for (i32 c = 0; c < 3; c++) window.values[c][k] = v.at[c];
        });
    }
    __syncthreads();
}
