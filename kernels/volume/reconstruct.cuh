// Reconstructs layer 1 of a volume. Twin of Layer::reconstruct in src/volume/layer.rs.
#pragma once
#include "entropy/triples.cuh"
#include "tile/volume_finest.cuh"
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
// Of the tile and of those behind it (bit k of the number: along axis k): header words, and widths of bins.
template <typename T, i32 OF_LEVELS>
struct TileSteps {
    u32 infos[8];
    T widths[8][OF_LEVELS];
};
template <typename T>
struct CoarseReconstructShared {
    VolumeWindow<T, 3, 1> window;
    TileSteps<T, LEVELS> steps;
    u8 symbols[COARSE_WINDOW];  // by place in the window
};
template <typename T>
struct VolumeShared {
    VolumeWindow<T, AT_A_TIME<T>> window;
    TileSteps<T, 1> steps;
    // Of the symbols without raw bits: their integers, and the residuals on the finest level of this tile.
    u32 triples[TRIPLE_FIRST_LARGE];
    T residuals[TRIPLE_FIRST_LARGE][3];
    // By position, of the finest level; then those of the far sides: x = 16, y = 16, z = 16.
    alignas(16) u8 symbols[VOLUME_TILE_VERTICES + (FAR_VERTICES + 15) / 16 * 16];
};

// Fills the steps of a tile. Call with a block.
template <typename T, i32 OF_LEVELS>
__device__ __forceinline__ void fill_steps(
    const Job& job, const Control& control, const VolumeTile& tile, TileSteps<T, OF_LEVELS>& steps) {
    for (u32 k = threadIdx.x; k < 8 * OF_LEVELS; k += blockDim.x) {
        const u32 owner = k / OF_LEVELS, level = k % OF_LEVELS;
        const u32 info =
            tile.has_behind(owner) ? VolumeView(job).headers()[tile_behind(job, tile.index, owner)] : 0;
        if (level == 0) steps.infos[owner] = info;
        steps.widths[owner][level] = width_on_level<T>(control, bound_shift_in(info), level);
    }
    __syncthreads();
}
// The symbol of a vertex at a position of the tile or of one behind it.
__device__ __forceinline__ u32 symbol_at(
    const Job& job, const VolumeTile& tile, const u32* infos, u32 owner, u32 position) {
    if (activity_in(infos[owner], (i32)block_of_position(position)) == 0) return SYMBOL_ZERO;
    return VolumeView(job).symbols()[tile_behind(job, tile.index, owner) * VOLUME_TILE_VERTICES + position];
}

// The place of a vertex on a far side among those of the far sides.
__device__ __forceinline__ u32 place_on_far_sides(i32 x, i32 y, i32 z) {
    return (u32)(x == VOLUME_SIDE   ? z * VOLUME_CLOSED + y
                 : y == VOLUME_SIDE ? (i32)FAR_X + z * VOLUME_SIDE + x
                                    : (i32)FAR_Y + y * VOLUME_SIDE + x);
}
// The symbol of vertex k of the far sides, which other tiles own. Coarse vertices have none here.
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
    if ((i32)x > tile.last[0] || (i32)y > tile.last[1] || (i32)z > tile.last[2] || !((x | y | z) & 1))
        return SYMBOL_ZERO;
    return symbol_at(job, tile, infos, (x >> 4) | (y >> 4) << 1 | (z >> 4) << 2,
        position_in_volume(x & 15, y & 15, z & 15));
}

// Loads what the finest vertices of a tile are computed from, but for coarse values. Call with a block.
template <typename T>
__device__ __forceinline__ void load_tile(
    const Job& job, const Control& control, const VolumeTile& tile, VolumeShared<T>& shared) {
    const u32 k = threadIdx.x;
    fill_steps(job, control, tile, shared.steps);
    if (k < TRIPLE_FIRST_LARGE) {
        const u32 packed = packed_small_triple(k);
        const Triple triple = unpacked_triple(packed);
        shared.triples[k] = packed;
#pragma unroll
        for (i32 c = 0; c < 3; c++) shared.residuals[k][c] = (T)triple.q[c] * shared.steps.widths[0][0];
    }
    static_assert(VOLUME_THREADS == VOLUME_TILE_VERTICES / 16, "sixteen symbols each");
    const uint4* const symbols =
        words_at<uint4>(VolumeView(job).symbols() + tile.index * VOLUME_TILE_VERTICES);
    words_at<uint4>(shared.symbols)[k] = k >= COARSE_POSITIONS / 16 && activity_in(shared.steps.infos[0], 2)
                                             ? symbols[k]
                                             : make_uint4(0, 0, 0, 0);
    for (u32 far = k; far < FAR_VERTICES; far += VOLUME_THREADS)
        shared.symbols[VOLUME_TILE_VERTICES + far] = (u8)far_symbol(job, tile, shared.steps.infos, far);
    __syncthreads();
}

// Restores the vertices of a tile: N components from `first` on.
template <typename T, i32 N>
struct Restorer {
    const Job& job;
    const VolumeTile& tile;
    const bool has_hidden;
    const i32 first;

    __device__ __forceinline__ Restorer(
        const Job& job, const Control& control, const VolumeTile& tile, i32 first)
        : job(job), tile(tile), has_hidden(control.list.has_constant), first(first) {}
    // Whether a vertex is zero or filled, and has no code; its values are 0 then.
    __device__ __forceinline__ bool hide(const VolumeVertex& vertex, T (&value)[N]) const {
        if (!has_hidden) return false;
        const VolumeView work(job);
        const u64 number =
            number_of(job, tile.first[0] + vertex.x, tile.first[1] + vertex.y, tile.first[2] + vertex.z);
        if (!work.is_zero(number) && !work.is_filled(number)) return false;
#pragma unroll
        for (i32 c = 0; c < N; c++) value[c] = T(0);
        return true;
    }
    // The integers of a symbol that may have raw bits.
    __device__ __forceinline__ Triple large_triple(const VolumeVertex& vertex, u32 symbol) const {
        const u64 at = tile_behind(job, tile.index, vertex.owner) * VOLUME_TILE_VERTICES + vertex.position;
        return decode_large_triple(symbol, triple_raw_bits(symbol) ? VolumeView(job).raw()[at] : 0);
    }
    __device__ __forceinline__ void add(
        const Triple& triple, T width, const T (&prediction)[N], T (&value)[N]) const {
#pragma unroll
        for (i32 c = 0; c < N; c++) {
            const i32 q = N == 3       ? triple.q[c]
                          : first == 0 ? triple.q[0]
                          : first == 1 ? triple.q[1]
                                       : triple.q[2];
            value[c] = prediction[c] + (T)q * width;
        }
    }
};

template <typename T>
struct CoarseRestorer : Restorer<T, 3> {
    const CoarseReconstructShared<T>& shared;

    __device__ __forceinline__ CoarseRestorer(const Job& job, const Control& control, const VolumeTile& tile,
        const CoarseReconstructShared<T>& shared)
        : Restorer<T, 3>(job, control, tile, 0), shared(shared) {}
    typedef T Line;  // the width of bins
    __device__ __forceinline__ Line line(u32 owner, i32 level) const {
        return shared.steps.widths[owner][level];
    }
    __device__ __forceinline__ void operator()(
        Line width, const VolumeVertex& vertex, const T (&prediction)[3], T (&value)[3]) const {
        if (this->hide(vertex, value)) return;
        const u32 symbol = shared.symbols[vertex.at];
        const Triple triple = symbol < TRIPLE_FIRST_LARGE ? unpacked_triple(packed_small_triple(symbol))
                                                          : this->large_triple(vertex, symbol);
        this->add(triple, width, prediction, value);
    }
};

template <typename T, i32 N>
struct FinestRestorer : Restorer<T, N> {
    const VolumeShared<T>& shared;

    __device__ __forceinline__ FinestRestorer(const Job& job, const Control& control, const VolumeTile& tile,
        i32 first, const VolumeShared<T>& shared)
        : Restorer<T, N>(job, control, tile, first), shared(shared) {}
    typedef T Line;  // the width of bins
    __device__ __forceinline__ Line line(u32 owner, i32) const { return shared.steps.widths[owner][0]; }
    __device__ __forceinline__ void operator()(
        Line width, const VolumeVertex& vertex, const T (&prediction)[N], T (&value)[N]) const {
        if (this->hide(vertex, value)) return;
        const u32 symbol = shared.symbols[vertex.owner ? VOLUME_TILE_VERTICES +
                                                             place_on_far_sides(vertex.x, vertex.y, vertex.z)
                                                       : vertex.position];
        if (vertex.owner == 0 && symbol < TRIPLE_FIRST_LARGE) {
#pragma unroll
            for (i32 c = 0; c < N; c++)
                value[c] = prediction[c] + shared.residuals[symbol][N == 3 ? c : this->first];
            return;
        }
        const Triple triple = symbol < TRIPLE_FIRST_LARGE ? unpacked_triple(shared.triples[symbol])
                                                          : this->large_triple(vertex, symbol);
        this->add(triple, width, prediction, value);
    }
};

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

// Grid: tiles. Block: COARSE_THREADS threads, the coarse levels of a tile. Static shared:
// CoarseReconstructShared. Reads: header words, symbols, raw bits, hidden vertices. Writes: coarse values.
template <typename T>
__device__ __forceinline__ void reconstruct_coarse_volume(const Job& job) {
    __shared__ CoarseReconstructShared<T> shared;
    const Control& control = control_of(job);
    if (!is_coded(control)) return;
    const VolumeTile tile = volume_tile(job, blockIdx.x);
    fill_steps(job, control, tile, shared.steps);
    for_coarse_vertices<COARSE_THREADS>(tile, [&](i32 k, i32 x, i32 y, i32 z) {
        const u32 owner = (u32)(x >> 3 | (y >> 3) << 1 | (z >> 3) << 2),
                  position = position_in_volume((u32)(2 * x) & 15, (u32)(2 * y) & 15, (u32)(2 * z) & 15);
        shared.symbols[k] = (u8)symbol_at(job, tile, shared.steps.infos, owner, position);
    });
    __syncthreads();
    CoarseRestorer<T> restorer(job, control, tile, shared);
    visit_coarse_levels(
        tile, shared.window, control.interpolants, [](i32) {}, restorer);
    for_coarse_vertices<COARSE_THREADS>(tile, [&](i32 k, i32, i32, i32) {
#pragma unroll
        for (i32 c = 0; c < 3; c++)
            VolumeView(job).coarse_values<T>(tile.index, c)[k] = shared.window.values[c][k];
    });
}

// Grid: tiles. Block: VOLUME_THREADS threads, a tile each. Dynamic shared: VolumeShared. Reads: header words,
// symbols, raw bits, hidden vertices, coarse values; of a stored stream its values. Writes: the field.
template <typename T>
__device__ __forceinline__ void reconstruct_volume(const Job& job) {
    LAUNCHED_SHARED(VolumeShared<T>, shared);
    const Control& control = control_of(job);
    if (control.status != STATUS_OK) return;
    const VolumeTile tile = volume_tile(job, blockIdx.x);
    if (control.content == CONTENT_STORED) return store_stored<T>(job, tile);
    load_tile(job, control, tile, shared);
    constexpr i32 N = AT_A_TIME<T>;
    for (i32 first = 0; first < 3; first += N) {
        for_coarse_vertices<VOLUME_THREADS>(tile, [&](i32 k, i32 x, i32 y, i32 z) {
#pragma unroll
            for (i32 c = 0; c < N; c++)
                shared.window.values[c][window_index(2 * x, 2 * y, 2 * z)] =
                    VolumeView(job).coarse_values<T>(tile.index, first + c)[k];
        });
        __syncthreads();
        FinestRestorer<T, N> restorer(job, control, tile, first, shared);
        visit_finest_level(tile, shared.window, control.interpolants, restorer);
        store_tile(job, control, tile, shared.window, first);
    }
}
