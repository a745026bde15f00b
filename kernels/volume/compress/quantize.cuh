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
    Quantizing<T> steps[8][LEVELS];  // of the tile and of those behind it: bit k of the number, along axis k
    alignas(16) u8 symbols[VOLUME_TILE_VERTICES];
    u32 info, costs[3];  // header word of the tile, and bits of the codes of its blocks
};
template <typename T>
struct QuantizeShared<T, false> {
    Quantizing<T> steps[8][LEVELS];
    alignas(16) u8 symbols[VOLUME_TILE_VERTICES];
    u32 info, costs[3];
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
// The place of the kept signs of a vertex of a closed tile. In single precision those of a row fill the bytes
// behind its values in the window.
template <typename T>
__device__ __forceinline__ u8& signs_at(QuantizeShared<T>& shared, i32 x, i32 y, i32 z) {
    const i32 row = z * VOLUME_CLOSED + y;
    if constexpr (sizeof(T) == 4) {
        constexpr i32 PITCH = VOLUME_PITCH * sizeof(T), FIRST = VOLUME_CLOSED * sizeof(T),
                      EACH = PITCH - FIRST;
        static_assert(2 * EACH >= VOLUME_CLOSED, "those of a row have room in two components");
        u8* const bytes = reinterpret_cast<u8*>(shared.window.values);
        return bytes[row * PITCH + FIRST + x + (x < EACH ? 0 : (i32)sizeof(shared.window.values[0]) - EACH)];
    } else {
        return shared.signs[row * VOLUME_CLOSED + x];
    }
}
static_assert(VOLUME_VALUES_F64 == VOLUME_WINDOW && VOLUME_VALUES_F32 == VOLUME_TILE_VERTICES,
    "the workspace has the values of a tile");

// Whether a vertex has no code. Not inlined: few vertices are zero where there are such.
template <typename T>
static __device__ __noinline__ bool is_hidden_vertex(const Job& job, u64 x, u64 y, u64 z) {
    const GridPoint p = {(long long)x, (long long)y, (long long)z};
    return is_hidden_level(VolumeCodeView<T>(job).levels()[tile_place(job, p).index()]);
}

// Calls `each(x, y, z)` for the vertices of the closed tile that the volume has. Call with a block.
template <typename Each>
__device__ __forceinline__ void for_closed_tile(const VolumeTile& tile, Each each) {
    constexpr i32 SIDE = VOLUME_CLOSED;
#pragma unroll 4
    for (i32 k = (i32)threadIdx.x; k < SIDE * SIDE * SIDE; k += VOLUME_THREADS) {
        const i32 x = k % SIDE, y = k / SIDE % SIDE, z = k / (SIDE * SIDE);
        if (x <= tile.last[0] && y <= tile.last[1] && z <= tile.last[2]) each(x, y, z);
    }
}

// Copies a closed tile of three arrays with the same layout: rows of sixteen vertices, a vertex a thread, and
// the vertices behind the rows. Call with a block.
template <typename T>
__device__ __forceinline__ void copy_closed_tile(
    const Job& job, const VolumeTile& tile, VolumeWindow<T, 3>& window) {
    constexpr i32 SIDE = VOLUME_SIDE, ROWS = VOLUME_CLOSED * VOLUME_CLOSED, AT_ONCE = VOLUME_THREADS / SIDE;
    const long long stride = (long long)job.u_layout.stride, row = (long long)job.u_layout.pitch,
                    plane = row * job.plane_rows;
    const T* first[3];
#pragma unroll
    for (i32 c = 0; c < 3; c++)
        first[c] = component_at<T>(
            job, c, (long long)tile.first[0], (long long)tile.first[1], (long long)tile.first[2]);
    auto copy = [&](i32 x, i32 y, i32 z, i32 row_of_tile, long long at) {
        if (x > tile.last[0] || y > tile.last[1] || z > tile.last[2]) return;
        const i32 to = row_of_tile * VOLUME_PITCH + (x & 1 ? VOLUME_ODD_AT : 0) + x / 2;
#pragma unroll
        for (i32 c = 0; c < 3; c++) copy_ahead<4>(&window.values[c][to], first[c] + at);
    };
    // One step further is one row back on the next plane, but for the first row.
    static_assert(AT_ONCE == VOLUME_CLOSED - 1 && sizeof(T) == 4, "rows of a step");
    const i32 x = (i32)threadIdx.x % SIDE;
    i32 y = (i32)threadIdx.x / SIDE, z = 0;
    long long at = x * stride + y * row;
#pragma unroll 4
    for (i32 k = (i32)threadIdx.x / SIDE; k < ROWS; k += AT_ONCE) {
        copy(x, y, z, k, at);
        const bool is_first = y == 0;
        y = is_first ? AT_ONCE : y - 1, z += !is_first, at += is_first ? AT_ONCE * row : plane - row;
    }
    for (i32 k = (i32)threadIdx.x; k < ROWS; k += VOLUME_THREADS) {
        const i32 far_y = k % VOLUME_CLOSED, far_z = k / VOLUME_CLOSED;
        copy(SIDE, far_y, far_z, k, SIDE * stride + far_y * row + far_z * plane);
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
    if constexpr (sizeof(T) == 4) {
        if (!has_hidden && is_one_layout(job)) return copy_closed_tile(job, tile, window);
    }
    for_closed_tile(tile, [&](i32 x, i32 y, i32 z) {
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
    // Multiples of the step below it round to integers of TRIPLE_MOST_BITS bits, to even ones from halves.
    constexpr T END = T(1 << TRIPLE_MOST_BITS) - T(0.5);
    static_assert(END < R::MAX_CODE, "all of them are codes");
    Quantized<T> found = {{{0, 0, 0}}, true, T(0)};
#pragma unroll
    for (i32 c = 0; c < 3; c++) {
        const T scaled = (original.at[c] - prediction[c]) * step.inverse, shifted = scaled + R::SHIFT;
        found.q.q[c] = (i32)(R::shifted_code(shifted) - R::SHIFTED_ZERO);
        value[c] = prediction[c] + (shifted - R::SHIFT) * step.width;
        const T error = R::abs(value[c] - original.at[c]);
        found.is_good &= (R::abs(scaled) < END) & (error <= most);
        found.error = R::high(found.error, error);
    }
    if (found.is_good) return found;
#pragma unroll
    for (i32 c = 0; c < 3; c++) {
        found.q.q[c] = 0;
        value[c] = prediction[c] + T(0) * step.width;
    }
    return found;
}

// The block of a position, and of the vertices of a level.
__device__ __forceinline__ u32 block_of_position(u32 position) {
    return position < 64 ? 0 : position < 512 ? 1 : 2;
}
__device__ __forceinline__ u32 block_of_level(i32 level) { return level > 1 ? 0 : 2 - (u32)level; }

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
    if (k < 3) vertices[k] = 0;
    __syncthreads();
    const uint4 symbols = words_at<uint4>(shared.symbols)[k];
    const bool whole =
        tile.owned(0) == VOLUME_SIDE && tile.owned(1) == VOLUME_SIDE && tile.owned(2) == VOLUME_SIDE;
    const u32 owned = whole ? 16 : owned_vertices(tile, first);
    if (owned) atomicAdd(&vertices[block], owned);
    const VolumeCodeView<T> work(job);
    words_at<uint4>(work.symbols() + tile.index * VOLUME_TILE_VERTICES)[k] = symbols;
    __syncthreads();
    if (k != 0) return;
    work.headers()[tile.index] = with_activities(shared.info, activity_of(shared.costs[0], vertices[0]),
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

// Components of a vertex that have one strict sign before and now: of each whether it is positive, then
// whether it is negative.
template <typename T>
__device__ __forceinline__ u32 kept_signs(const Vector<T>& before, const T (&now)[3]) {
    return strict_signs(before) & strict_signs(Vector<T>{now[0], now[1], now[2]});
}

// Whether a tile has cubes at all of whose vertices no component keeps one strict sign, or vertices with
// other values than those in the window. Call with a block.
template <typename T>
__device__ __forceinline__ bool is_open(
    const Job& job, const VolumeTile& tile, bool other_values, QuantizeShared<T>& shared) {
    bool open = other_values;
    const u64 sizes[3] = {job.nx, job.ny, job.nz};
    // On sides other tetrahedra, or levels of vertices, may matter.
    for (i32 axis = 0; axis < 3; axis++)
        open |= (job.halo | job.pin | job.periodic) != 0 &&
                (tile.first[axis] == 0 || tile.first[axis] + (u64)tile.last[axis] + 1 == sizes[axis]);
    const i32 x = (i32)threadIdx.x % VOLUME_SIDE, y = (i32)threadIdx.x / VOLUME_SIDE;
    static_assert(VOLUME_THREADS == VOLUME_SIDE * VOLUME_SIDE, "a column of cubes each");
    if (x < tile.last[0] && y < tile.last[1])
        open |= settled_cubes<VOLUME_SIDE>(
                    tile.last[2], [&](i32 dx, i32 dy, i32 z) { return signs_at(shared, x + dx, y + dy, z); },
                    [](u32 all) { return all != 0; }) != (1u << tile.last[2]) - 1;
    return __syncthreads_or(open);
}

// The steps of layer 1 of a tile and of those behind it; no symbols yet. Call with a block.
template <typename T>
__device__ __forceinline__ void begin_quantizing(
    const Job& job, const VolumeTile& tile, QuantizeShared<T>& shared) {
    const Control& control = control_of(job);
    const u32 k = threadIdx.x, owner = k / LEVELS, level = k % LEVELS;
    if (owner < 8) {
        const bool here = (!(owner & 1) || tile.last[0] == VOLUME_SIDE) &&
                          (!(owner & 2) || tile.last[1] == VOLUME_SIDE) &&
                          (!(owner & 4) || tile.last[2] == VOLUME_SIDE);
        const u32 info = here ? VolumeCodeView<T>(job).headers()[tile_behind(job, tile.index, owner)] : 0,
                  shift = bound_shift_in(info);
        shared.steps[owner][level] = {
            (T)control.volume.width[shift][level], (T)control.volume.inverse[shift][level]};
        if (k == 0) shared.info = without_activities(info);
    }
    if (k < 3) shared.costs[k] = 0;
    words_at<uint4>(shared.symbols)[k] = make_uint4(0, 0, 0, 0);
}

// Results of a thread for a closed tile: the largest error of the vertices that the tile owns, and whether
// all reconstructions are within the bound.
template <typename T>
struct SeenOfTile {
    T largest;
    bool all_good;
};

// Codes a closed tile, whose originals are in the window, and fills the costs of its blocks and, where points
// are kept, the signs of its vertices. Call with a block.
template <typename T>
__device__ __forceinline__ SeenOfTile<T> code_tile(
    const Job& job, const VolumeTile& tile, QuantizeShared<T>& shared, VolumeWindow<T, 3>& window) {
    const Control& control = control_of(job);
    const VolumeCodeView<T> work(job);
    const bool has_hidden = (control.zero | control.nonfinite | control.filled) != 0,
               keeps_points = job.preserve != PRESERVE_NONE;
    const T most = (T)control.quantizer.accept;
    SeenOfTile<T> seen = {T(0), true};
    u32 cost = 0;
    auto add_cost = [&](i32 level) {
        if (cost) atomicAdd(&shared.costs[block_of_level(level)], cost);
        cost = 0;
    };
    visit_closed_tile(
        tile, window, control.interpolants, [&](i32 level) { add_cost(level + 1); },
        [&](const VolumeVertex& vertex, const T(&prediction)[3], T(&value)[3]) {
            const i32 at = window_index(vertex.x, vertex.y, vertex.z);
            const Vector<T> original = {window.values[0][at], window.values[1][at], window.values[2][at]};
            if (has_hidden && is_zero(original) &&
                is_hidden_vertex<T>(
                    job, tile.first[0] + vertex.x, tile.first[1] + vertex.y, tile.first[2] + vertex.z)) {
                for (i32 c = 0; c < 3; c++) value[c] = T(0);
                if (keeps_points) signs_at(shared, vertex.x, vertex.y, vertex.z) = 0;
                return;
            }
            const Quantized<T> found =
                quantize(shared.steps[vertex.owner][vertex.level], most, original, prediction, value);
            seen.all_good &= found.is_good;
            if (keeps_points)
                signs_at(shared, vertex.x, vertex.y, vertex.z) = (u8)kept_signs(original, value);
            if (vertex.owner) return;
            if (found.is_good) seen.largest = Real<T>::high(seen.largest, found.error);
            if (found.q.q[0] | found.q.q[1] | found.q.q[2]) {
                const EncodedTriple code = encode_triple(found.q);
                shared.symbols[vertex.position] = (u8)code.symbol;
                cost += 3 + code.bits;
                if (code.bits) work.payload(tile.index)[vertex.position] = code.raw;
            }
            if (!found.is_good) {
                u8& level = work.levels()[tile.index * VOLUME_TILE_VERTICES +
                                          place_in_tile(vertex.x, vertex.y, vertex.z)];
                if (level == LEVEL_UNCHANGED) level = LEVEL_EXACT;
            }
        });
    add_cost(0);
    return seen;
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
    const SeenOfTile<T> seen = code_tile(job, tile, shared, window);
    store_symbols(job, tile, shared);
    store_largest(job, tile, (double)seen.largest);
    store_values(job, tile, window);
    if (job.preserve == PRESERVE_NONE) return;
    const bool open = is_open(job, tile, !seen.all_good, shared);
    if (threadIdx.x == 0) VolumeCodeView<T>(job).repair_flags()[tile.index] = open;
}
