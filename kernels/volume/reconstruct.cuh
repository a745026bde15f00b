// Reconstructs layer 1 of a volume. Twin of Layer::reconstruct in src/volume/layer.rs.
#pragma once
#include "entropy/triples.cuh"
#include "tile/volume.cuh"
#include "volume/list.cuh"

// Components that a block reconstructs at a time, so that their values fit the shared memory of the device.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
template <typename T>
constexpr i32 AT_A_TIME = 1;
#else
template <typename T>
constexpr i32 AT_A_TIME = sizeof(T) == 4 ? 3 : 1;
#endif
constexpr u32 FAR_X = VOLUME_CLOSED * VOLUME_CLOSED, FAR_Y = FAR_X + VOLUME_CLOSED * VOLUME_SIDE,
              FAR_VERTICES = FAR_Y + VOLUME_SIDE * VOLUME_SIDE;
template <typename T>
struct VolumeShared {
    VolumeWindow<T, AT_A_TIME<T>> window;
    T widths[BOUND_SHIFTS][LEVELS];
    u32 infos[8];  // of the tile and of those behind it: bit k of the number, along axis k
    // Of the symbols without raw bits: their integers, and the residuals on a level of this tile.
    u32 triples[TRIPLE_FIRST_LARGE];
    T residuals[TRIPLE_FIRST_LARGE][3];
    // By position; then those of the far sides: x = 16, y = 16, z = 16.
    alignas(16) u8 symbols[VOLUME_TILE_VERTICES + (FAR_VERTICES + 15) / 16 * 16];
};

// The place of a vertex on a far side among those of the far sides.
__device__ __forceinline__ u32 place_on_far_sides(i32 x, i32 y, i32 z) {
    return (u32)(x == VOLUME_SIDE   ? z * VOLUME_CLOSED + y
                 : y == VOLUME_SIDE ? (i32)FAR_X + z * VOLUME_SIDE + x
                                    : (i32)FAR_Y + y * VOLUME_SIDE + x);
}
// The symbol of vertex k of the far sides, which other tiles own.
__device__ __forceinline__ u32 far_symbol(const Job& job, const VolumeTile& tile, const u32* infos, u32 k) {
    const u32 side = k < FAR_X   ? 0
                     : k < FAR_Y ? 1
                                 : 2,
              in_side = side == 0   ? k
                        : side == 1 ? k - FAR_X
                                    : k - FAR_Y,
              length = side == 0 ? VOLUME_CLOSED : VOLUME_SIDE, slow = in_side / length,
              fast = in_side % length, x = side == 0 ? VOLUME_SIDE : fast,
              y = side == 0   ? fast
                  : side == 1 ? VOLUME_SIDE
                              : slow,
              z = side == 2 ? VOLUME_SIDE : slow;
    if ((i32)x > tile.last[0] || (i32)y > tile.last[1] || (i32)z > tile.last[2]) return SYMBOL_ZERO;
    const u32 owner = (x >> 4) | (y >> 4) << 1 | (z >> 4) << 2,
              position = position_in_volume(x & 15, y & 15, z & 15),
              block = position < 64    ? 0
                      : position < 512 ? 1
                                       : 2;
    if (activity_in(infos[owner], (i32)block) == 0) return SYMBOL_ZERO;
    return VolumeView(job).symbols()[tile_behind(job, tile.index, owner) * VOLUME_TILE_VERTICES + position];
}

// Loads what the vertices of a tile are computed from. Call with a block.
template <typename T>
__device__ __forceinline__ void load_tile(
    const Job& job, const Control& control, const VolumeTile& tile, VolumeShared<T>& shared) {
    const u32 k = threadIdx.x;
    if (k < 8) {
        const bool here = (!(k & 1) || tile.last[0] == VOLUME_SIDE) &&
                          (!(k & 2) || tile.last[1] == VOLUME_SIDE) &&
                          (!(k & 4) || tile.last[2] == VOLUME_SIDE);
        shared.infos[k] = here ? VolumeView(job).headers()[tile_behind(job, tile.index, k)] : 0;
    }
    if (k < TRIPLE_FIRST_LARGE) shared.triples[k] = packed_small_triple(k);
    fill_widths(control, shared.widths);
    static_assert(VOLUME_THREADS == VOLUME_TILE_VERTICES / 16, "sixteen symbols each");
    const i32 block = k < 4 ? 0 : k < 32 ? 1 : 2;
    const uint4* const symbols =
        words_at<uint4>(VolumeView(job).symbols() + tile.index * VOLUME_TILE_VERTICES);
    words_at<uint4>(shared.symbols)[k] =
        activity_in(shared.infos[0], block) ? symbols[k] : make_uint4(0, 0, 0, 0);
    for (u32 far = k; far < FAR_VERTICES; far += VOLUME_THREADS)
        shared.symbols[VOLUME_TILE_VERTICES + far] = (u8)far_symbol(job, tile, shared.infos, far);
    __syncthreads();
}

// Whether a vertex is zero or filled, and has no code.
__device__ __forceinline__ bool is_hidden(
    const Job& job, const VolumeTile& tile, const VolumeVertex& vertex) {
    const u64 number =
        number_of(job, tile.first[0] + vertex.x, tile.first[1] + vertex.y, tile.first[2] + vertex.z);
    return VolumeView(job).is_zero(number) || VolumeView(job).is_filled(number);
}

template <typename T>
__device__ __forceinline__ u32 symbol_of(const VolumeShared<T>& shared, const VolumeVertex& vertex) {
    return shared
        .symbols[vertex.owner ? VOLUME_TILE_VERTICES + place_on_far_sides(vertex.x, vertex.y, vertex.z)
                              : vertex.position];
}

// The integers of a vertex.
template <typename T>
__device__ __forceinline__ Triple integers_of(const Job& job, const VolumeShared<T>& shared,
    const VolumeTile& tile, const VolumeVertex& vertex, u32 symbol) {
    if (symbol < TRIPLE_FIRST_LARGE) return unpacked_triple(shared.triples[symbol]);
    const u64 at = tile_behind(job, tile.index, vertex.owner) * VOLUME_TILE_VERTICES + vertex.position;
    return decode_large_triple(symbol, triple_raw_bits(symbol) ? VolumeView(job).raw()[at] : 0);
}

// The residuals of the symbols without raw bits on a level of the tile. Call with a block.
template <typename T>
__device__ __forceinline__ void fill_residuals(VolumeShared<T>& shared, i32 level) {
    const T width = shared.widths[bound_shift_in(shared.infos[0])][level];
    const u32 k = threadIdx.x;
    if (k < TRIPLE_FIRST_LARGE) {
        const Triple triple = unpacked_triple(shared.triples[k]);
#pragma unroll
        for (i32 c = 0; c < 3; c++) shared.residuals[k][c] = (T)triple.q[c] * width;
    }
    __syncthreads();
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
    const u32 symbol = symbol_of(shared, vertex);
    if (vertex.owner == 0 && symbol < TRIPLE_FIRST_LARGE && vertex.level < VOLUME_ANCHOR_LEVEL) {
#pragma unroll
        for (i32 c = 0; c < N; c++) value[c] = prediction[c] + shared.residuals[symbol][N == 3 ? c : first];
        return;
    }
    const Triple triple = integers_of(job, shared, tile, vertex, symbol);
    const T width = shared.widths[bound_shift_in(shared.infos[vertex.owner])][vertex.level];
#pragma unroll
    for (i32 c = 0; c < N; c++) {
        const i32 q = N == 3       ? triple.q[c]
                      : first == 0 ? triple.q[0]
                      : first == 1 ? triple.q[1]
                                   : triple.q[2];
        value[c] = prediction[c] + (T)q * width;
    }
}

// Writes the vertices that a tile owns: N components from `first` on. Filled vertices get their pattern. A
// thread has a column along z. Call with a block.
template <typename T, i32 N>
__device__ __forceinline__ void store_tile(const Job& job, const Control& control, const VolumeTile& tile,
    const VolumeWindow<T, N>& window, i32 first) {
    constexpr i32 SIDE = VOLUME_SIDE;
    static_assert(VOLUME_THREADS == SIDE * SIDE, "a column each");
    const i32 x = (i32)threadIdx.x % SIDE, y = (i32)threadIdx.x / SIDE;
    const bool has_column = x < tile.owned(0) && y < tile.owned(1), has_hidden = control.list.has_constant;
    const i32 planes = has_column ? tile.owned(2) : 0;
    const u64 at[3] = {tile.first[0] + x, tile.first[1] + y, tile.first[2]};
#pragma unroll
    for (i32 c = 0; c < N; c++) {
        T* const column = component_at<T>(job, first + c, at[0], at[1], at[2]);
        const u64 step = layout_of(job, first + c).pitch * job.plane_rows;
#pragma unroll 4
        for (i32 z = 0; z < planes; z++) column[z * step] = window.values[c][window_index(x, y, z)];
        for (i32 z = 0; has_hidden && z < planes; z++) {
            const u64 number = number_of(job, at[0], at[1], at[2] + z);
            if (VolumeView(job).is_filled(number) && !VolumeView(job).is_zero(number))
                column[z * step] = Real<T>::from_bits(fill_of(control, first + c));
        }
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
    load_tile(job, control, tile, shared);
    const bool has_hidden = control.list.has_constant;
    constexpr i32 N = AT_A_TIME<T>;
    for (i32 first = 0; first < 3; first += N) {
        visit_closed_tile(
            tile, shared.window, control.interpolants, [&](i32 level) { fill_residuals(shared, level); },
            [&](const VolumeVertex& vertex, const T(&prediction)[N], T(&value)[N]) {
                reconstruct_vertex(job, shared, tile, vertex, has_hidden, first, prediction, value);
            });
        store_tile(job, control, tile, shared.window, first);
    }
}
