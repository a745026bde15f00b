// Reconstructs layer 1 of a volume. Twin of Layer::reconstruct in src/volume/layer.rs.
#pragma once
#include "entropy/triples.cuh"
#include "tile/volume.cuh"
#include "volume/list.cuh"

// Components that a block reconstructs at a time: their values fit the shared memory of all devices.
template <typename T>
constexpr i32 AT_A_TIME = sizeof(T) == 4 ? 3 : 1;
template <typename T>
struct VolumeShared {
    VolumeWindow<T, AT_A_TIME<T>> window;
    T widths[BOUND_SHIFTS][LEVELS];
    u32 infos[8];  // of the tile and of those behind it: bit k of the number, along axis k
};

// The tile behind a tile, along the axes of `owner`.
__device__ __forceinline__ u64 tile_behind(const Job& job, u64 tile, u32 owner) {
    return tile + (owner & 1) + (owner & 2 ? job.tiles_x : 0) +
           (owner & 4 ? job.tiles_x * job.plane_tile_rows : 0);
}

// Whether a vertex is zero or filled, and has no code.
__device__ __forceinline__ bool is_hidden(
    const Job& job, const VolumeTile& tile, const VolumeVertex& vertex) {
    const u64 number =
        number_of(job, tile.first[0] + vertex.x, tile.first[1] + vertex.y, tile.first[2] + vertex.z);
    return VolumeView(job).is_zero(number) || VolumeView(job).is_filled(number);
}

// The integers of a vertex.
__device__ __forceinline__ Triple integers_of(
    const Job& job, const VolumeTile& tile, u32 info, const VolumeVertex& vertex) {
    const i32 block = vertex.level >= 2 ? 0 : vertex.level == 1 ? 1 : 2;
    if (activity_in(info, block) == 0) return {0, 0, 0};
    const VolumeView work(job);
    const u64 at = tile_behind(job, tile.index, vertex.owner) * VOLUME_TILE_VERTICES + vertex.position;
    const u32 symbol = work.symbols()[at];
    return decode_triple(symbol, triple_raw_bits(symbol) ? work.raw()[at] : 0);
}

// The values of N components of a vertex, from `first` on.
template <typename T, i32 N>
__device__ __forceinline__ void reconstruct_vertex(const Job& job, const VolumeShared<T>& shared,
    const VolumeTile& tile, const VolumeVertex& vertex, bool has_hidden, i32 first, const T (&prediction)[N],
    T (&value)[N]) {
    if (has_hidden && is_hidden(job, tile, vertex)) {
        for (i32 c = 0; c < N; c++) value[c] = T(0);
        return;
    }
    const u32 info = shared.infos[vertex.owner];
    const Triple triple = integers_of(job, tile, info, vertex);
    const T width = shared.widths[bound_shift_in(info)][vertex.level];
#pragma unroll
    for (i32 c = 0; c < N; c++) {
        const i32 q = N == 3       ? triple.q[c]
                      : first == 0 ? triple.q[0]
                      : first == 1 ? triple.q[1]
                                   : triple.q[2];
        value[c] = prediction[c] + (T)q * width;
    }
}

// Writes the vertices that a tile owns: N components from `first` on.
template <typename T, i32 N>
__device__ __forceinline__ void store_tile(
    const Job& job, const VolumeTile& tile, const VolumeWindow<T, N>& window, i32 first) {
    const i32 x = (i32)threadIdx.x % VOLUME_SIDE, rows = tile.owned(1) * tile.owned(2);
    if (x < tile.owned(0))
        for (i32 row = (i32)threadIdx.x / VOLUME_SIDE; row < rows; row += (i32)blockDim.x / VOLUME_SIDE) {
            const i32 z = row / tile.owned(1), y = row - z * tile.owned(1);
#pragma unroll
            for (i32 c = 0; c < N; c++)
                *component_at<T>(job, first + c, tile.first[0] + x, tile.first[1] + y, tile.first[2] + z) =
                    window.values[c][window_index(x, y, z)];
        }
    __syncthreads();
}

// Writes the vertices that a tile owns from a stream that stores them.
template <typename T>
__device__ __forceinline__ void store_stored(const Job& job, const VolumeTile& tile) {
    const T* const values = reinterpret_cast<const T*>(job.stream + VOLUME_HEADER_BYTES);
    const i32 all = tile.owned(0) * tile.owned(1) * tile.owned(2);
    for (i32 k = (i32)threadIdx.x; k < all; k += (i32)blockDim.x) {
        const i32 row = k / tile.owned(0), z = row / tile.owned(1);
        const u64 x = tile.first[0] + k - row * tile.owned(0), y = tile.first[1] + row - z * tile.owned(1);
#pragma unroll
        for (i32 c = 0; c < 3; c++)
            *component_at<T>(job, c, x, y, tile.first[2] + z) =
                values[c * job.vertices() + number_of(job, x, y, tile.first[2] + z)];
    }
}

// Grid: tiles. Block: VOLUME_THREADS threads, a tile each. Dynamic shared: VolumeShared. Reads: header words,
// symbols, raw bits, hidden vertices; of a stored stream its values. Writes: the field.
template <typename T>
__device__ __forceinline__ void reconstruct_volume(const Job& job) {
    LAUNCHED_SHARED(VolumeShared<T>, shared);
    const Control& control = control_of(job);
    if (control.status != STATUS_OK) return;
    const VolumeTile tile = volume_tile(job, blockIdx.x);
    if (control.content == CONTENT_STORED) return store_stored<T>(job, tile);
    fill_widths(control, shared.widths);
    const u32 k = threadIdx.x;
    if (k < 8) {
        const bool here = (!(k & 1) || tile.last[0] == VOLUME_SIDE) &&
                          (!(k & 2) || tile.last[1] == VOLUME_SIDE) &&
                          (!(k & 4) || tile.last[2] == VOLUME_SIDE);
        shared.infos[k] = here ? VolumeView(job).headers()[tile_behind(job, tile.index, k)] : 0;
    }
    __syncthreads();
    const bool has_hidden = control.list.has_constant;
    constexpr i32 N = AT_A_TIME<T>;
    for (i32 first = 0; first < 3; first += N) {
        visit_closed_tile(tile, shared.window, control.interpolants,
            [&](const VolumeVertex& vertex, const T(&prediction)[N], T(&value)[N]) {
                reconstruct_vertex(job, shared, tile, vertex, has_hidden, first, prediction, value);
            });
        store_tile(job, tile, shared.window, first);
    }
}
