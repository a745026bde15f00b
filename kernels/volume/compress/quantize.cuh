// Layer 1 of a volume: predictions and quantized residuals of a closed tile. Twins: src/volume/layer.rs,
// src/tile/volume_builder.rs.
#pragma once
#include "compress/count/grouping.cuh"
#include "entropy/triples.cuh"
#include "tile/volume.cuh"
#include "volume/compress/prepare.cuh"

// A bin width and its reciprocal.
template <typename T>
struct Quantizing {
    T width, inverse;
};
template <typename T>
__device__ __forceinline__ Quantizing<T> quantizing(
    double half_bin_width, u32 scaling, u32 shift, u32 level) {
    double width, inverse;
    quantizer_entry<T>(power_of_two(-(i32)shift) * half_bin_width, scaling, (i32)level, 0, width, inverse);
    return {(T)width, (T)inverse};
}

// Shared memory of a block. Closed tiles of doubles do not fit and lie in the workspace (value_place).
template <typename T, bool HAS_WINDOW = sizeof(T) == 4>
struct QuantizeShared {
    VolumeWindow<T, 3> window;
    Quantizing<T> steps[BOUND_SHIFTS][LEVELS];
    alignas(16) u8 symbols[VOLUME_TILE_VERTICES];
    u32 infos[8];  // of the tile and of those behind it: bit k of the number, along axis k
    u32 costs[3];  // of the blocks, in bits
};
template <typename T>
struct QuantizeShared<T, false> {
    Quantizing<T> steps[BOUND_SHIFTS][LEVELS];
    alignas(16) u8 symbols[VOLUME_TILE_VERTICES];
    u32 infos[8], costs[3];
};
template <typename T>
__device__ __forceinline__ VolumeWindow<T, 3>& window_of(
    const Job& job, QuantizeShared<T>& shared, u64 tile) {
    if constexpr (sizeof(T) == 4)
        return shared.window;
    else
        return *reinterpret_cast<VolumeWindow<T, 3>*>(VolumeCodeView<T>(job).values(tile, 0));
}
static_assert(VOLUME_VALUES_F64 == VOLUME_WINDOW && VOLUME_VALUES_F32 == VOLUME_TILE_VERTICES,
    "the workspace has the values of a tile");

// Whether a vertex of a closed tile has no code.
template <typename T>
__device__ __forceinline__ bool is_hidden_vertex(
    const Job& job, const VolumeTile& tile, const VolumeVertex& vertex) {
    const GridPoint p = {(long long)tile.first[0] + vertex.x, (long long)tile.first[1] + vertex.y,
        (long long)tile.first[2] + vertex.z};
    return is_hidden_level(VolumeCodeView<T>(job).levels()[tile_place(job, p).index()]);
}

// Loads a closed tile. Vertices without a code are zero; for the sample, values that are not finite as well.
// Call with a block.
template <typename T>
__device__ __forceinline__ void load_originals(
    const Job& job, const VolumeTile& tile, bool sample, VolumeWindow<T, 3>& window) {
    const Control& control = control_of(job);
    const bool has_hidden = (control.zero | control.nonfinite | control.filled) != 0;
    constexpr i32 SIDE = VOLUME_CLOSED;
    // The loads of several vertices are under way at the same time.
#pragma unroll 4
    for (i32 k = (i32)threadIdx.x; k < SIDE * SIDE * SIDE; k += (i32)blockDim.x) {
        const i32 x = k % SIDE, y = k / SIDE % SIDE, z = k / (SIDE * SIDE);
        if (x > tile.last[0] || y > tile.last[1] || z > tile.last[2]) continue;
        const GridPoint p = {
            (long long)tile.first[0] + x, (long long)tile.first[1] + y, (long long)tile.first[2] + z};
        Vector<T> v = original_at<T>(job, p);
        if (has_hidden && is_hidden_level(VolumeCodeView<T>(job).levels()[tile_place(job, p).index()]))
            v = {T(0), T(0), T(0)};
        const i32 at = window_index(x, y, z);
#pragma unroll
        for (i32 c = 0; c < 3; c++)
            window.values[c][at] = sample && !Real<T>::finite(v.at[c]) ? T(0) : v.at[c];
    }
    __syncthreads();
}

// The integers of a vertex, whether its reconstruction is within the bound, and that; zeros if it is not.
struct Quantized {
    Triple q;
    bool is_good;
    double error;  // the largest one of a reconstruction that is
};
template <typename T>
__device__ __forceinline__ Quantized quantize(
    const Quantizing<T>& step, T most, const Vector<T>& original, const T (&prediction)[3], T (&value)[3]) {
    typedef Real<T> R;
    Quantized found = {{{0, 0, 0}}, true, 0.0};
    T largest = T(0);
#pragma unroll
    for (i32 c = 0; c < 3; c++) {
        const T scaled = (original.at[c] - prediction[c]) * step.inverse;
        const T shifted = scaled + R::SHIFT;
        const i32 q = (i32)(R::shifted_code(shifted) - R::SHIFTED_ZERO);
        value[c] = prediction[c] + (T)q * step.width;
        const bool fits = R::abs(scaled) <= R::MAX_CODE && (u32)(q < 0 ? -q : q) < 1u << TRIPLE_MOST_BITS;
        const T error = R::abs(value[c] - original.at[c]);
        found.is_good &= fits && error <= most;
        largest = R::high(largest, error);
        found.q.q[c] = q;
    }
    found.error = (double)largest;
    if (found.is_good) return found;
#pragma unroll
    for (i32 c = 0; c < 3; c++) {
        found.q.q[c] = 0;
        value[c] = prediction[c] + T(0) * step.width;
    }
    return found;
}

// Blocks of positions.
__device__ __forceinline__ u32 block_of_position(u32 position) {
    return position < 64 ? 0 : position < 512 ? 1 : 2;
}

// Stores the symbols of a tile, and the activities of its blocks. Call with a block.
template <typename T>
__device__ __forceinline__ void store_symbols(
    const Job& job, const VolumeTile& tile, QuantizeShared<T>& shared) {
    const u32 k = threadIdx.x, first = 16 * k, block = block_of_position(first);
    static_assert(VOLUME_THREADS == VOLUME_TILE_VERTICES / 16, "sixteen symbols each");
    __shared__ u32 vertices[3];
    if (k < 3) vertices[k] = shared.costs[k] = 0;
    __syncthreads();
    u32 cost = 0, owned = 0;
    for (u32 i = 0; i < 16; i++) {
        const VolumePosition at = place_of_position(first + i);
        const u32 symbol = shared.symbols[first + i];
        owned += at.x < tile.owned(0) && at.y < tile.owned(1) && at.z < tile.owned(2);
        if (symbol != SYMBOL_ZERO) cost += 3 + triple_raw_bits(symbol);
    }
    if (cost) atomicAdd(&shared.costs[block], cost);
    if (owned) atomicAdd(&vertices[block], owned);
    const VolumeCodeView<T> work(job);
    words_at<uint4>(work.symbols() + tile.index * VOLUME_TILE_VERTICES)[k] =
        words_at<uint4>(shared.symbols)[k];
    __syncthreads();
    if (k != 0) return;
    work.headers()[tile.index] = with_activities(shared.infos[0], activity_of(shared.costs[0], vertices[0]),
        activity_of(shared.costs[1], vertices[1]), activity_of(shared.costs[2], vertices[2]));
}

// Stores the largest error of a tile. Call with a block.
__device__ __forceinline__ void store_largest(const Job& job, const VolumeTile& tile, double largest) {
    __shared__ double of_warps[VOLUME_THREADS / 32];
    for (i32 k = 16; k > 0; k /= 2) {
        const double other = __shfl_xor_sync(FULL, largest, k);
        largest = other > largest ? other : largest;
    }
    if ((threadIdx.x & 31) == 0) of_warps[threadIdx.x / 32] = largest;
    __syncthreads();
    if (threadIdx.x != 0) return;
    for (u32 k = 1; k < VOLUME_THREADS / 32; k++) largest = of_warps[k] > largest ? of_warps[k] : largest;
    sizes_of(job, tile.index).largest_error = largest;
}

// Grid: tiles. Block: VOLUME_THREADS threads, a tile each. Dynamic shared: QuantizeShared. Reads: the field,
// levels, bound shifts, interpolants and steps. Writes: symbols, raw bits, values, levels of vertices whose
// reconstruction is not within the bound, activities, the largest error of each tile.
template <typename T>
__device__ __forceinline__ void quantize_volume(const Job& job) {
    LAUNCHED_SHARED(QuantizeShared<T>, shared);
    Control& control = control_of(job);
    if (is_lossless_volume(control)) return;
    const VolumeCodeView<T> work(job);
    const VolumeTile tile = volume_tile(job, blockIdx.x);
    VolumeWindow<T, 3>& window = window_of<T>(job, shared, tile.index);
    const u32 k = threadIdx.x;
    if (k < 8) {
        const bool here = (!(k & 1) || tile.last[0] == VOLUME_SIDE) &&
                          (!(k & 2) || tile.last[1] == VOLUME_SIDE) &&
                          (!(k & 4) || tile.last[2] == VOLUME_SIDE);
        shared.infos[k] = here ? without_activities(work.headers()[tile_behind(job, tile.index, k)]) : 0;
    }
    if (k < BOUND_SHIFTS * LEVELS) {
        const u32 shift = k / LEVELS, level = k % LEVELS;
        shared.steps[shift][level] = {
            (T)control.volume.width[shift][level], (T)control.volume.inverse[shift][level]};
    }
    words_at<uint4>(shared.symbols)[k] = make_uint4(0, 0, 0, 0);
    load_originals(job, tile, false, window);
    const bool has_hidden = (control.zero | control.nonfinite | control.filled) != 0;
    const T most = (T)control.quantizer.accept;
    double largest = 0.0;
    visit_closed_tile(
        tile, window, control.interpolants, [](i32) {},
        [&](const VolumeVertex& vertex, const T(&prediction)[3], T(&value)[3]) {
            const i32 at = window_index(vertex.x, vertex.y, vertex.z);
            const Vector<T> original = {window.values[0][at], window.values[1][at], window.values[2][at]};
            if (has_hidden && is_zero(original) && is_hidden_vertex<T>(job, tile, vertex)) {
                for (i32 c = 0; c < 3; c++) value[c] = T(0);
                return;
            }
            const Quantized found =
                quantize(shared.steps[bound_shift_in(shared.infos[vertex.owner])][vertex.level], most,
                    original, prediction, value);
            if (vertex.owner) return;
            if (found.is_good && found.error > largest) largest = found.error;
            const EncodedTriple code = encode_triple(found.q);
            shared.symbols[vertex.position] = (u8)code.symbol;
            if (code.bits) work.payload(tile.index)[vertex.position] = code.raw;
            if (!found.is_good) {
                u8& level = work.levels()[tile.index * VOLUME_TILE_VERTICES +
                                          place_in_tile(vertex.x, vertex.y, vertex.z)];
                if (level == LEVEL_UNCHANGED) level = LEVEL_EXACT;
            }
        });
    store_symbols(job, tile, shared);
    store_largest(job, tile, largest);
    if constexpr (sizeof(T) == 4)
        for (u32 place = k; place < VOLUME_TILE_VERTICES; place += blockDim.x) {
            GridPoint p;
            if (!vertex_in_tile(tile, place, p)) continue;
            const i32 at = window_index((i32)place % VOLUME_SIDE, (i32)place / VOLUME_SIDE % VOLUME_SIDE,
                (i32)place / (VOLUME_SIDE * VOLUME_SIDE));
#pragma unroll
            for (u32 c = 0; c < 3; c++) work.values(tile.index, c)[place] = window.values[c][at];
        }
}
