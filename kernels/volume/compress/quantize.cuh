// Layer 1 of a volume: predictions and quantized residuals of a closed tile. Twins: src/volume/layer.rs,
// src/tile/volume_builder.rs.
#pragma once
#include "compress/count/grouping.cuh"
#include "entropy/triples.cuh"
#include "tile/volume.cuh"
#include "topology/strict_signs.cuh"
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

constexpr i32 CLOSED_VERTICES = VOLUME_CLOSED * VOLUME_CLOSED * VOLUME_CLOSED;

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
    u16 signs[CLOSED_VERTICES];
};
// Signs of the vertices of a closed tile: in place of values that are no longer needed.
template <typename T>
__device__ __forceinline__ u16* signs_of(QuantizeShared<T>& shared) {
    if constexpr (sizeof(T) == 4)
        return reinterpret_cast<u16*>(shared.window.values[0]);
    else
        return shared.signs;
}
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

// Calls `each(k, x, y, z)` for the vertices of the closed tile that the volume has. Call with a block.
template <typename Each>
__device__ __forceinline__ void for_closed_tile(const VolumeTile& tile, Each each) {
    constexpr i32 SIDE = VOLUME_CLOSED;
#pragma unroll 4
    for (i32 k = (i32)threadIdx.x; k < SIDE * SIDE * SIDE; k += VOLUME_THREADS) {
        const i32 x = k % SIDE, y = k / SIDE % SIDE, z = k / (SIDE * SIDE);
        if (x <= tile.last[0] && y <= tile.last[1] && z <= tile.last[2]) each(k, x, y, z);
    }
}

// Addresses of the vertices of a closed tile: those of its first vertex, and the steps along the axes.
template <typename T>
struct ClosedTileAddress {
    const T* first[3];
    u64 steps[3][3];  // by component and axis, in elements

    __device__ __forceinline__ ClosedTileAddress(const Job& job, const VolumeTile& tile) {
        const Layout layouts[3] = {job.u_layout, job.v_layout, job.w_layout};
#pragma unroll
        for (i32 c = 0; c < 3; c++) {
            first[c] = component_at<T>(
                job, c, (long long)tile.first[0], (long long)tile.first[1], (long long)tile.first[2]);
            steps[c][0] = layouts[c].stride;
            steps[c][1] = layouts[c].pitch;
            steps[c][2] = layouts[c].pitch * job.plane_rows;
        }
    }
    // Whether steps have 32 bits, as `at` takes for granted.
    __device__ __forceinline__ bool has_small_steps() const {
        u64 all = 0;
#pragma unroll
        for (i32 k = 0; k < 9; k++) all |= steps[k / 3][k % 3];
        return all >> 32 == 0;
    }
    __device__ __forceinline__ const T* at(i32 c, i32 x, i32 y, i32 z) const {
        return first[c] + ((u64)(u32)x * (u32)steps[c][0] + (u64)(u32)y * (u32)steps[c][1] +
                              (u64)(u32)z * (u32)steps[c][2]);
    }
};

// Loads a closed tile. Vertices without a code are zero; for the sample, values that are not finite as well.
// Call with a block.
template <typename T>
__device__ __forceinline__ void load_originals(
    const Job& job, const VolumeTile& tile, bool sample, VolumeWindow<T, 3>& window) {
    const Control& control = control_of(job);
    const bool has_hidden = (control.zero | control.nonfinite | control.filled) != 0;
    auto point = [&](i32 x, i32 y, i32 z) -> GridPoint {
        return {(long long)tile.first[0] + x, (long long)tile.first[1] + y, (long long)tile.first[2] + z};
    };
    const ClosedTileAddress<T> from(job, tile);
    if (sizeof(T) == 4 && !has_hidden && from.has_small_steps()) {
        // All loads are under way at the same time.
        for_closed_tile(tile, [&](i32, i32 x, i32 y, i32 z) {
#pragma unroll
            for (i32 c = 0; c < 3; c++)
                copy_ahead<4>(&window.values[c][window_index(x, y, z)], from.at(c, x, y, z));
        });
        end_of_copies();
        wait_for_copies<0>();
        __syncthreads();
        return;
    }
    for_closed_tile(tile, [&](i32, i32 x, i32 y, i32 z) {
        const GridPoint p = point(x, y, z);
        Vector<T> v = original_at<T>(job, p);
        if (has_hidden && is_hidden_level(VolumeCodeView<T>(job).levels()[tile_place(job, p).index()]))
            v = {T(0), T(0), T(0)};
        const i32 at = window_index(x, y, z);
#pragma unroll
        for (i32 c = 0; c < 3; c++)
            window.values[c][at] = sample && !Real<T>::finite(v.at[c]) ? T(0) : v.at[c];
    });
    __syncthreads();
}

// The integers of a vertex, whether its reconstruction is within the bound, and that; zeros if it is not.
template <typename T>
struct Quantized {
    Triple q;
    bool is_good;
    T error;  // the largest one of a reconstruction that is
};
template <typename T>
__device__ __forceinline__ Quantized<T> quantize(
    const Quantizing<T>& step, T most, const Vector<T>& original, const T (&prediction)[3], T (&value)[3]) {
    typedef Real<T> R;
    Quantized<T> found = {{{0, 0, 0}}, true, T(0)};
#pragma unroll
    for (i32 c = 0; c < 3; c++) {
        const T scaled = (original.at[c] - prediction[c]) * step.inverse;
        const T shifted = scaled + R::SHIFT;
        const i32 q = (i32)(R::shifted_code(shifted) - R::SHIFTED_ZERO);
        value[c] = prediction[c] + (T)q * step.width;
        const bool fits = R::abs(scaled) <= R::MAX_CODE && (u32)(q < 0 ? -q : q) < 1u << TRIPLE_MOST_BITS;
        const T error = R::abs(value[c] - original.at[c]);
        found.is_good &= fits && error <= most;
        found.error = R::high(found.error, error);
        found.q.q[c] = q;
    }
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

// The vertices that a tile owns among sixteen positions from `first` on.
__device__ __forceinline__ u32 owned_vertices(const VolumeTile& tile, u32 first) {
    u32 owned = 0;
    for (u32 i = 0; i < 16; i++) {
        const VolumePosition at = place_of_position(first + i);
        owned += at.x < tile.owned(0) && at.y < tile.owned(1) && at.z < tile.owned(2);
    }
    return owned;
}

// Stores the symbols of a tile, and the activities of its blocks. Call with a block.
template <typename T>
__device__ __forceinline__ void store_symbols(
    const Job& job, const VolumeTile& tile, QuantizeShared<T>& shared) {
    const u32 k = threadIdx.x, first = 16 * k, block = block_of_position(first);
    static_assert(VOLUME_THREADS == VOLUME_TILE_VERTICES / 16 && SYMBOL_ZERO == 0, "sixteen symbols each");
    __shared__ u32 vertices[3];
    if (k < 3) vertices[k] = shared.costs[k] = 0;
    __syncthreads();
    const uint4 symbols = words_at<uint4>(shared.symbols)[k];
    if (symbols.x | symbols.y | symbols.z | symbols.w) {
        u32 cost = 0;
        for (u32 i = 0; i < 16; i++) {
            const u32 symbol = shared.symbols[first + i];
            if (symbol != SYMBOL_ZERO) cost += 3 + triple_raw_bits(symbol);
        }
        atomicAdd(&shared.costs[block], cost);
    }
    const bool whole =
        tile.owned(0) == VOLUME_SIDE && tile.owned(1) == VOLUME_SIDE && tile.owned(2) == VOLUME_SIDE;
    const u32 owned = whole ? 16 : owned_vertices(tile, first);
    if (owned) atomicAdd(&vertices[block], owned);
    const VolumeCodeView<T> work(job);
    words_at<uint4>(work.symbols() + tile.index * VOLUME_TILE_VERTICES)[k] = symbols;
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

// Strict signs of the vertices of a closed tile that a thread looks at: of the last ones in the low bits.
struct SignsOfThread {
    static constexpr i32 VERTICES = (CLOSED_VERTICES + VOLUME_THREADS - 1) / VOLUME_THREADS,
                         EACH = 64 / SIGNS, WORDS = (VERTICES + EACH - 1) / EACH;
    u64 words[WORDS];

    // Vertex j of word w of the thread: its number, and its place in a window or -1.
    static __device__ __forceinline__ i32 place(const VolumeTile& tile, i32 w, i32 j, i32& k) {
        constexpr i32 SIDE = VOLUME_CLOSED;
        k = (i32)threadIdx.x + (w * EACH + j) * VOLUME_THREADS;
        const i32 x = k % SIDE, y = k / SIDE % SIDE, z = k / (SIDE * SIDE);
        const bool here = x <= tile.last[0] && y <= tile.last[1] && z <= tile.last[2];
        return here ? window_index(x, y, z) : -1;
    }
    template <typename T>
    __device__ __forceinline__ SignsOfThread(const VolumeTile& tile, const VolumeWindow<T, 3>& window)
        : words{} {
#pragma unroll
        for (i32 w = 0; w < WORDS; w++)
#pragma unroll 2
            for (i32 j = 0; j < EACH; j++) {
                i32 k;
                const i32 at = place(tile, w, j, k);
                words[w] <<= SIGNS;
                if (at < 0) continue;
                words[w] |=
                    strict_signs(Vector<T>{window.values[0][at], window.values[1][at], window.values[2][at]});
            }
    }
    // Writes the signs of the vertices before and now.
    static __device__ __forceinline__ void write(
        const VolumeTile& tile, SignsOfThread before, SignsOfThread now, u16* signs) {
#pragma unroll
        for (i32 w = 0; w < WORDS; w++)
#pragma unroll 2
            for (i32 j = EACH - 1; j >= 0; j--) {
                i32 k;
                if (place(tile, w, j, k) >= 0)
                    signs[k] = (u16)((before.words[w] & SIGNS_BEFORE) | (now.words[w] << SIGNS & SIGNS_NOW));
                before.words[w] >>= SIGNS, now.words[w] >>= SIGNS;
            }
    }
};

// Whether signs leave cubes of a tile open, or vertices have other values than those in the window. Call with
// a block, which then has no window.
template <typename T>
__device__ __forceinline__ bool is_open(const Job& job, const VolumeTile& tile, const SignsOfThread& before,
    bool other_values, QuantizeShared<T>& shared, const VolumeWindow<T, 3>& window) {
    const SignsOfThread now(tile, window);
    __syncthreads();
    u16* const signs = signs_of(shared);
    SignsOfThread::write(tile, before, now, signs);
    __syncthreads();
    bool open = other_values;
    const u64 sizes[3] = {job.nx, job.ny, job.nz};
    // On sides other tetrahedra, or levels of vertices, may matter.
    for (i32 axis = 0; axis < 3; axis++)
        open |= (job.halo | job.pin | job.periodic) != 0 &&
                (tile.first[axis] == 0 || tile.first[axis] + (u64)tile.last[axis] + 1 == sizes[axis]);
    const i32 x = (i32)threadIdx.x % VOLUME_SIDE, y = (i32)threadIdx.x / VOLUME_SIDE;
    static_assert(VOLUME_THREADS == VOLUME_SIDE * VOLUME_SIDE, "a column of cubes each");
    if (x < tile.last[0] && y < tile.last[1])
        open |= settled_cubes<VOLUME_CLOSED>(signs + y * VOLUME_CLOSED + x, tile.last[2]) !=
                (1u << tile.last[2]) - 1;
    return __syncthreads_or(open);
}

// Bound shifts of a tile and of those behind it, and the steps of layer 1; no symbols yet. Call with a block.
template <typename T>
__device__ __forceinline__ void begin_quantizing(
    const Job& job, const VolumeTile& tile, QuantizeShared<T>& shared) {
    const Control& control = control_of(job);
    const u32 k = threadIdx.x;
    if (k < 8) {
        const bool here = (!(k & 1) || tile.last[0] == VOLUME_SIDE) &&
                          (!(k & 2) || tile.last[1] == VOLUME_SIDE) &&
                          (!(k & 4) || tile.last[2] == VOLUME_SIDE);
        shared.infos[k] =
            here ? without_activities(VolumeCodeView<T>(job).headers()[tile_behind(job, tile.index, k)]) : 0;
    }
    if (k < BOUND_SHIFTS * LEVELS) {
        const u32 shift = k / LEVELS, level = k % LEVELS;
        shared.steps[shift][level] = {
            (T)control.volume.width[shift][level], (T)control.volume.inverse[shift][level]};
    }
    words_at<uint4>(shared.symbols)[k] = make_uint4(0, 0, 0, 0);
}

// Results of a thread for a closed tile: the largest error of the vertices that the tile owns, and whether
// all reconstructions are within the bound.
template <typename T>
struct SeenOfTile {
    T largest;
    bool all_good;
};

// Codes a closed tile, whose originals are in the window. Call with a block.
template <typename T>
__device__ __forceinline__ SeenOfTile<T> code_tile(
    const Job& job, const VolumeTile& tile, QuantizeShared<T>& shared, VolumeWindow<T, 3>& window) {
    const Control& control = control_of(job);
    const VolumeCodeView<T> work(job);
    const bool has_hidden = (control.zero | control.nonfinite | control.filled) != 0;
    const T most = (T)control.quantizer.accept;
    SeenOfTile<T> seen = {T(0), true};
    visit_closed_tile(
        tile, window, control.interpolants, [](i32) {},
        [&](const VolumeVertex& vertex, const T(&prediction)[3], T(&value)[3]) {
            const i32 at = window_index(vertex.x, vertex.y, vertex.z);
            const Vector<T> original = {window.values[0][at], window.values[1][at], window.values[2][at]};
            if (has_hidden && is_zero(original) && is_hidden_vertex<T>(job, tile, vertex)) {
                for (i32 c = 0; c < 3; c++) value[c] = T(0);
                return;
            }
            const Quantized<T> found =
                quantize(shared.steps[bound_shift_in(shared.infos[vertex.owner])][vertex.level], most,
                    original, prediction, value);
            seen.all_good &= found.is_good;
            if (vertex.owner) return;
            if (found.is_good && found.error > seen.largest) seen.largest = found.error;
            if (found.q.q[0] | found.q.q[1] | found.q.q[2]) {
                const EncodedTriple code = encode_triple(found.q);
                shared.symbols[vertex.position] = (u8)code.symbol;
                if (code.bits) work.payload(tile.index)[vertex.position] = code.raw;
            }
            if (!found.is_good) {
                u8& level = work.levels()[tile.index * VOLUME_TILE_VERTICES +
                                          place_in_tile(vertex.x, vertex.y, vertex.z)];
                if (level == LEVEL_UNCHANGED) level = LEVEL_EXACT;
            }
        });
    return seen;
}

// Stores the values of a tile; those of doubles lie where they are. Call with a block.
template <typename T>
__device__ __forceinline__ void store_values(
    const Job& job, const VolumeTile& tile, const VolumeWindow<T, 3>& window) {
    if (sizeof(T) == 8) return;
    const VolumeCodeView<T> work(job);
    for (u32 place = threadIdx.x; place < VOLUME_TILE_VERTICES; place += VOLUME_THREADS) {
        GridPoint p;
        if (!vertex_in_tile(tile, place, p)) continue;
        const i32 at = window_index((i32)place % VOLUME_SIDE, (i32)place / VOLUME_SIDE % VOLUME_SIDE,
            (i32)place / (VOLUME_SIDE * VOLUME_SIDE));
#pragma unroll
        for (u32 c = 0; c < 3; c++) work.values(tile.index, c)[place] = window.values[c][at];
    }
}

// Grid: tiles. Block: VOLUME_THREADS threads, a tile each. Dynamic shared: QuantizeShared. Reads: the field,
// levels, bound shifts, interpolants and steps. Writes: symbols, raw bits, values, levels of vertices whose
// reconstruction is not within the bound, activities, the largest error of each tile, whether its tetrahedra
// have to be verified.
template <typename T>
__device__ __forceinline__ void quantize_volume(const Job& job) {
    LAUNCHED_SHARED(QuantizeShared<T>, shared);
    if (is_stored_volume(control_of(job))) return;
    const VolumeTile tile = volume_tile(job, blockIdx.x);
    VolumeWindow<T, 3>& window = window_of<T>(job, shared, tile.index);
    begin_quantizing(job, tile, shared);
    load_originals(job, tile, false, window);
    const SignsOfThread before(tile, window);
    __syncthreads();
    const SeenOfTile<T> seen = code_tile(job, tile, shared, window);
    store_symbols(job, tile, shared);
    store_largest(job, tile, (double)seen.largest);
    store_values(job, tile, window);
    if (job.preserve == PRESERVE_NONE) return;
    const bool open = is_open(job, tile, before, !seen.all_good, shared, window);
    if (threadIdx.x == 0) VolumeCodeView<T>(job).repair_flags()[tile.index] = open;
}
