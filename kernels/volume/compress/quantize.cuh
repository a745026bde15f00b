// The finest level of tiles of a volume, quantized behind the coarse ones. Twin of src/volume/layer.rs.
#pragma once
#include "repair/verify.cuh"
#include "tile/volume_finest.cuh"
#include "volume/compress/tile_codes.cuh"

constexpr i32 CLOSED_VERTICES = VOLUME_CLOSED * VOLUME_CLOSED * VOLUME_CLOSED;

// Shared memory of a block. Closed tiles of doubles do not fit and lie in the workspace (value_place).
template <typename T, bool HAS_WINDOW = sizeof(T) == 4>
struct QuantizeShared {
    VolumeWindow<T, 3> window;
    QuantizingSteps<T, 1> steps;
    TileCodes<FINEST_POSITIONS> codes;
};
template <typename T>
struct QuantizeShared<T, false> {
    QuantizingSteps<T, 1> steps;
    TileCodes<FINEST_POSITIONS> codes;
    u8 signs[CLOSED_VERTICES];
};
template <typename T>
__device__ __forceinline__ VolumeWindow<T, 3>& window_of(
    const Job& job, QuantizeShared<T>& shared, u64 tile) {
    if constexpr (sizeof(T) == 4)
        return shared.window;
    else
        return *reinterpret_cast<VolumeWindow<T, 3>*>(VolumeCodeView<T>(job).values(tile, 0));
}
// The place of the kept signs of a vertex of a closed tile, at `at` of the window. In single precision those
// of a row fill the bytes behind its values there.
template <typename T>
__device__ __forceinline__ u8& signs_at(QuantizeShared<T>& shared, i32 x, i32 y, i32 z, i32 at) {
    if constexpr (sizeof(T) == 4) {
        constexpr i32 FIRST = VOLUME_CLOSED * sizeof(T), EACH = VOLUME_PITCH * sizeof(T) - FIRST;
        static_assert(2 * EACH >= VOLUME_CLOSED, "those of a row have room in two components");
        u8* const bytes = reinterpret_cast<u8*>(shared.window.values);
        const i32 in_row = FIRST + x + (x < EACH ? 0 : (i32)sizeof(shared.window.values[0]) - EACH);
        return bytes[(at - window_index(x, 0, 0)) * (i32)sizeof(T) + in_row];
    } else {
        return shared.signs[(z * VOLUME_CLOSED + y) * VOLUME_CLOSED + x];
    }
}
template <typename T>
__device__ __forceinline__ u8& signs_at(QuantizeShared<T>& shared, const VolumeVertex& vertex) {
    return signs_at(shared, vertex.x, vertex.y, vertex.z, vertex.at);
}
static_assert(VOLUME_VALUES_F64 == VOLUME_WINDOW && VOLUME_VALUES_F32 == VOLUME_TILE_VERTICES,
    "the workspace has the values of a tile");

// Components of a vertex that have one strict sign before and now: of each whether it is positive, then
// whether it is negative. A NaN counts as the other value: its tile is listed anyway.
template <typename T>
__device__ __forceinline__ u32 kept_signs(const Vector<T>& before, const T (&now)[3]) {
    u32 signs = 0;
#pragma unroll
    for (i32 c = 0; c < 3; c++) {
        signs |= Real<T>::low(before.at[c], now[c]) > T(0) ? 1u << c : 0;
        signs |= Real<T>::high(before.at[c], now[c]) < T(0) ? 8u << c : 0;
    }
    return signs;
}

// The cubes of a tile at all of whose vertices no component keeps one strict sign: bit z of a thread, which
// has a column along z, stands for the cube at place z * VOLUME_THREADS + threadIdx.x.
template <typename T>
__device__ __forceinline__ u32 open_cube_bits(const VolumeTile& tile, QuantizeShared<T>& shared) {
    const i32 x = (i32)threadIdx.x % VOLUME_SIDE, y = (i32)threadIdx.x / VOLUME_SIDE;
    static_assert(VOLUME_THREADS == VOLUME_SIDE * VOLUME_SIDE, "a column of cubes each");
    if (x >= tile.last[0] || y >= tile.last[1]) return 0;
    auto signs = [&](i32 dx, i32 dy, i32 z) {
        return signs_at(shared, x + dx, y + dy, z, window_index(x + dx, y + dy, z));
    };
    return ((1u << tile.last[2]) - 1) &
           ~settled_cubes<VOLUME_SIDE>(tile.last[2], signs, [](u32 all) { return all != 0; });
}
// Whether other tetrahedra of a tile may matter than those of its cubes, or levels of its vertices.
__device__ __forceinline__ bool has_special_sides(const Job& job, const VolumeTile& tile) {
    if (!(job.halo | job.pin | job.periodic)) return false;
    const u64 sizes[3] = {job.nx, job.ny, job.nz};
    bool is_outer = false;
    for (i32 axis = 0; axis < 3; axis++)
        is_outer |= tile.first[axis] == 0 || tile.first[axis] + (u64)tile.last[axis] + 1 == sizes[axis];
    return is_outer;
}
// Lists the open cubes of a tile, or the tile if they are many or it has vertices with other
// values than those in the window. Call with a block.
template <typename T>
__device__ __forceinline__ void list_for_verification(
    const Job& job, const VolumeTile& tile, bool other_values, QuantizeShared<T>& shared) {
    __shared__ u32 count, first;
    RepairControl& lists = control_of(job).repair;
    const VolumeCodeView<T> work(job);
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    const u32 open = open_cube_bits(tile, shared), mine = __popc(open),
              place = mine ? atomicAdd(&count, mine) : 0;
    const bool is_special = __syncthreads_or(other_values) || has_special_sides(job, tile);
    // An entry has the number of a tile and a place there, in 32 bits.
    if (is_special || count > work.MOST_OPEN_CUBES || job.tiles() > (1ull << 32) / VOLUME_TILE_VERTICES) {
        if (threadIdx.x == 0) work.open_tiles()[atomicAdd(&lists.open_tiles, 1u)] = (u32)tile.index;
        return;
    }
    store_violated<LayerOne<T>>(job, tile.index, [](u32) { return make_uint4(0, 0, 0, 0); });
    if (count == 0) return;
    if (threadIdx.x == 0) first = atomicAdd(&lists.open_cubes, count);
    __syncthreads();
    u32* next = work.open_cubes() + first + place;
    for (u32 left = open; left; left &= left - 1)
        *next++ = (u32)tile.index * VOLUME_TILE_VERTICES + ((u32)__ffs((i32)left) - 1) * VOLUME_THREADS +
                  threadIdx.x;
}

// Codes the finest level of a closed tile, and keeps the signs of its vertices where points are kept.
template <typename T>
struct FinestCoder : TileCoder<T, COARSE_POSITIONS, 1, VolumeWindow<T, 3>> {
    typedef TileCoder<T, COARSE_POSITIONS, 1, VolumeWindow<T, 3>> Base;
    QuantizeShared<T>& shared;
    const bool keeps_points;

    __device__ __forceinline__ FinestCoder(
        const Job& job, const VolumeTile& tile, QuantizeShared<T>& shared, const VolumeWindow<T, 3>& window)
        : Base(job, tile, shared.steps, shared.codes, window), shared(shared),
          keeps_points(job.preserve != PRESERVE_NONE) {}
    __device__ __forceinline__ void operator()(const typename Base::Line& step, const VolumeVertex& vertex,
        const T (&prediction)[3], T (&value)[3]) {
        const Vector<T> original = this->original(vertex);
        this->code(step, vertex, original, prediction, value);
        if (keeps_points) signs_at(shared, vertex) = (u8)kept_signs(original, value);
    }
};

// Puts the values of the coarse levels into the window of a closed tile that has originals there, and keeps
// the signs of the vertices. Call with a block.
template <typename T>
__device__ __forceinline__ void load_coarse_values(
    const Job& job, const VolumeTile& tile, QuantizeShared<T>& shared, VolumeWindow<T, 3>& window) {
    const bool keeps_points = job.preserve != PRESERVE_NONE;
    if (sizeof(T) == 8 && !keeps_points) return;
    const VolumeCodeView<T> work(job);
    for_coarse_vertices<VOLUME_THREADS>(tile, [&](i32 k, i32 x, i32 y, i32 z) {
        const i32 at = window_index(2 * x, 2 * y, 2 * z);
        T value[3];
#pragma unroll
        for (i32 c = 0; c < 3; c++) value[c] = work.coarse_value(tile.index, c, k, at);
        // Doubles are where they belong, in place of the originals.
        const Vector<T> original =
            sizeof(T) == 8 ? original_at<T>(job, point_in_tile(tile, 2 * x, 2 * y, 2 * z))
                           : Vector<T>{window.values[0][at], window.values[1][at], window.values[2][at]};
        if (keeps_points) signs_at(shared, 2 * x, 2 * y, 2 * z, at) = (u8)kept_signs(original, value);
        if (sizeof(T) == 8) return;
#pragma unroll
        for (i32 c = 0; c < 3; c++) window.values[c][at] = value[c];
    });
    __syncthreads();
}

// Stores the values of a tile; those of doubles lie where they are. A thread has a column along z. Call with
// a block.
template <typename T>
__device__ __forceinline__ void store_values(
    const Job& job, const VolumeTile& tile, const VolumeWindow<T, 3>& window) {
    if (sizeof(T) == 8) return;
    const VolumeCodeView<T> work(job);
    constexpr i32 SIDE = VOLUME_SIDE;
    static_assert(VOLUME_THREADS == SIDE * SIDE, "a column each");
    const i32 x = (i32)threadIdx.x % SIDE, y = (i32)threadIdx.x / SIDE, planes = tile.owned(2);
    if (x >= tile.owned(0) || y >= tile.owned(1)) return;
#pragma unroll 4
    for (i32 z = 0; z < SIDE; z++)
#pragma unroll
        for (i32 c = 0; c < 3; c++)
            if (z < planes)
                work.values(tile.index, c)[z * SIDE * SIDE + threadIdx.x] =
                    window.values[c][window_index(x, y, z)];
}

// Grid: tiles. Block: VOLUME_THREADS threads, the finest level of a tile. Dynamic shared: QuantizeShared.
// Reads: the field, levels, bound shifts, interpolants and steps, values of the coarse levels. Writes:
// symbols and raw bits of the finest level, values, levels of vertices whose reconstruction is not within the
// bound, lists of open cubes and tiles; for tiles that are not listed no violated tetrahedra and no changed
// vertices. Changes: the activities and the largest error of each tile.
template <typename T>
__device__ __forceinline__ void quantize_volume(const Job& job) {
    LAUNCHED_SHARED(QuantizeShared<T>, shared);
    const Control& control = control_of(job);
    if (is_stored_volume(control)) return;
    const VolumeTile tile = volume_tile(job, blockIdx.x);
    const VolumeCodeView<T> work(job);
    VolumeWindow<T, 3>& window = window_of<T>(job, shared, tile.index);
    begin_quantizing(job, tile, shared.steps, shared.codes);
    load_closed_tile<T>(job, tile, false, window,
        [](i32 x, i32 y, i32 z) { return sizeof(T) == 8 && ((x | y | z) & 1) == 0; });
    load_coarse_values(job, tile, shared, window);
    FinestCoder<T> coder(job, tile, shared, window);
    visit_finest_level(tile, window, control.interpolants, coder);
    coder.add_cost(shared.codes.costs[0]);
    store_symbols<T, COARSE_POSITIONS>(job, tile, shared.codes);
    const double largest = largest_of_block((double)coder.largest);
    store_values(job, tile, window);
    if (threadIdx.x == 0) {
        double& of_tile = sizes_of(job, tile.index).largest_error;
        if (largest > of_tile) of_tile = largest;
    }
    if (job.preserve == PRESERVE_NONE) return;
    list_for_verification(job, tile, !coder.all_good || work.exact_tiles()[tile.index] != 0, shared);
}
