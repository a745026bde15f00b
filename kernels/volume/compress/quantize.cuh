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

// Positions of the coarse levels of a tile come first.
constexpr u32 COARSE_POSITIONS = 512, FINEST_POSITIONS = VOLUME_TILE_VERTICES - COARSE_POSITIONS;
// The steps of layer 1 of a tile and of those behind it (bit k of the number: along axis k): of all levels,
// or of the finest one.
template <typename T, i32 OF_LEVELS>
struct QuantizingSteps {
    Quantizing<T> at[8][OF_LEVELS];
};
// What a block writes of a tile.
template <u32 POSITIONS>
struct TileCodes {
    alignas(16) u8 symbols[POSITIONS];
    u32 info, costs[2];  // header word of the tile, and bits of the codes of its blocks
};
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
struct CoarseShared {
    VolumeWindow<T, 3, 1> window;
    QuantizingSteps<T, LEVELS> steps;
    TileCodes<COARSE_POSITIONS> codes;
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

// Whether vertices may have no code.
__device__ __forceinline__ bool has_hidden_vertices(const Control& control) {
    return (control.zero | control.nonfinite | control.filled) != 0;
}
// The vector of a vertex; zeros where it has no code.
template <typename T>
__device__ __forceinline__ Vector<T> vector_to_code(const Job& job, const GridPoint& p, bool has_hidden) {
    const Vector<T> v = original_at<T>(job, p);
    if (has_hidden && is_hidden_level(VolumeCodeView<T>(job).levels()[tile_place(job, p).index()])) return {};
    return v;
}
__device__ __forceinline__ GridPoint point_in_tile(const VolumeTile& tile, i32 x, i32 y, i32 z) {
    return {(long long)tile.first[0] + x, (long long)tile.first[1] + y, (long long)tile.first[2] + z};
}

// Copies a closed tile of three arrays with the same layout: rows of sixteen vertices, a vertex a thread, and
// the vertices behind the rows. WHOLE: the tile is whole. Call with a block.
template <bool WHOLE, typename T>
__device__ __forceinline__ void copy_closed_tile(
    const Job& job, const VolumeTile& tile, VolumeWindow<T, 3>& window) {
    typedef WindowShape<0> Shape;
    constexpr i32 SIDE = VOLUME_SIDE, ROWS = VOLUME_CLOSED * VOLUME_CLOSED, AT_ONCE = VOLUME_THREADS / SIDE;
    const long long stride = (long long)job.u_layout.stride, row = (long long)job.u_layout.pitch,
                    plane = row * job.plane_rows;
    const T* first[3];
#pragma unroll
    for (i32 c = 0; c < 3; c++)
        first[c] = component_at<T>(
            job, c, (long long)tile.first[0], (long long)tile.first[1], (long long)tile.first[2]);
    auto copy = [&](i32 x, i32 y, i32 z, i32 to, long long at) {
        if (!WHOLE && (x > tile.last[0] || y > tile.last[1] || z > tile.last[2])) return;
#pragma unroll
        for (i32 c = 0; c < 3; c++) copy_ahead<4>(&window.values[c][to], first[c] + at);
    };
    // One step further is one row back on the next plane, but for the first row.
    static_assert(AT_ONCE == VOLUME_CLOSED - 1 && sizeof(T) == 4, "rows of a step");
    const i32 x = (i32)threadIdx.x % SIDE;
    i32 y = (i32)threadIdx.x / SIDE, z = 0, to = Shape::index(x, y, 0);
    long long at = x * stride + y * row;
    const long long back = plane - row, ahead = AT_ONCE * row;
#pragma unroll 4
    for (i32 k = (i32)threadIdx.x / SIDE; k < ROWS; k += AT_ONCE) {
        copy(x, y, z, to, at);
        const bool is_first = y == 0;
        y = is_first ? AT_ONCE : y - 1, z += !is_first, at += is_first ? ahead : back;
        to += AT_ONCE * Shape::PITCH;
    }
    for (i32 k = (i32)threadIdx.x; k < ROWS; k += VOLUME_THREADS) {
        const i32 far_y = k % VOLUME_CLOSED, far_z = k / VOLUME_CLOSED;
        copy(SIDE, far_y, far_z, Shape::index(SIDE, far_y, far_z),
            SIDE * stride + far_y * row + far_z * plane);
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
        const long long stride = (long long)job.u_layout.stride, row = (long long)job.u_layout.pitch,
                        plane = row * job.plane_rows;
        const T* first[3];
#pragma unroll
        for (i32 c = 0; c < 3; c++)
            first[c] = component_at<T>(
                job, c, (long long)tile.first[0], (long long)tile.first[1], (long long)tile.first[2]);
        for_coarse_vertices<COARSE_THREADS>(tile, [&](i32 k, i32 x, i32 y, i32 z) {
            const long long at = 2 * (x * stride + y * row + z * plane);
#pragma unroll
            for (i32 c = 0; c < 3; c++) copy_ahead<4>(&window.values[c][k], first[c] + at);
        });
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

// A vertex in bins: integers, as T, and the largest error of its reconstruction.
template <typename T>
struct Quantized {
    T q[3], error;
    bool is_good;  // whether the reconstruction is within the bound; if it is not, the integers are 0

    __device__ __forceinline__ bool is_zero() const {
        return (Real<T>::bits(q[0]) | Real<T>::bits(q[1]) | Real<T>::bits(q[2])) == 0;
    }
    __device__ __forceinline__ Triple integers() const {
        typedef Real<T> R;
        Triple triple;
#pragma unroll
        for (i32 c = 0; c < 3; c++) triple.q[c] = (i32)(R::shifted_code(q[c] + R::SHIFT) - R::SHIFTED_ZERO);
        return triple;
    }
};
template <typename T>
__device__ __forceinline__ Quantized<T> quantize(
    const Quantizing<T>& step, T most, const Vector<T>& original, const T (&prediction)[3], T (&value)[3]) {
    typedef Real<T> R;
    // Multiples of the step below it round to integers of TRIPLE_MOST_BITS bits, to even ones from halves.
    constexpr T END = T(1 << TRIPLE_MOST_BITS) - T(0.5);
    static_assert(END < R::MAX_CODE, "all of them are codes");
    Quantized<T> found = {{T(0), T(0), T(0)}, T(0), true};
#pragma unroll
    for (i32 c = 0; c < 3; c++) {
        const T scaled = (original.at[c] - prediction[c]) * step.inverse;
        found.q[c] = R::round(scaled);
        value[c] = prediction[c] + found.q[c] * step.width;
        // A value that is not finite is not below END.
        found.is_good &= R::abs(scaled) < END;
        found.error = R::high(found.error, R::abs(value[c] - original.at[c]));
    }
    found.is_good &= found.error <= most;
    if (!found.is_good) {
#pragma unroll
        for (i32 c = 0; c < 3; c++) {
            found.q[c] = T(0);
            value[c] = prediction[c] + T(0) * step.width;
        }
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

// Stores the symbols of the positions from FIRST on, and adds the activities of their blocks to the header
// word of the tile: the first two blocks are those of the coarse levels. Call with a block.
template <typename T, u32 FIRST, u32 POSITIONS>
__device__ __forceinline__ void store_symbols(
    const Job& job, const VolumeTile& tile, const TileCodes<POSITIONS>& codes) {
    constexpr u32 BLOCK = FIRST == 0 ? 0 : 2, BLOCKS = FIRST == 0 ? 2 : 1;
    static_assert(SYMBOL_ZERO == 0, "as at the begin");
    __shared__ u32 vertices[BLOCKS];
    if (threadIdx.x < BLOCKS) vertices[threadIdx.x] = 0;
    __syncthreads();
    const VolumeCodeView<T> work(job);
    for (u32 k = threadIdx.x; k < POSITIONS / 16; k += blockDim.x) {
        const u32 first = FIRST + 16 * k, owned = tile.is_whole() ? 16 : owned_vertices(tile, first);
        if (owned) atomicAdd(&vertices[block_of_position(first) - BLOCK], owned);
        words_at<uint4>(work.symbols() + tile.index * VOLUME_TILE_VERTICES + FIRST)[k] =
            words_at<uint4>(codes.symbols)[k];
    }
    __syncthreads();
    if (threadIdx.x != 0) return;
    u32 info = codes.info;
    for (u32 k = 0; k < BLOCKS; k++)
        info = with_activity(info, activity_of(codes.costs[k], vertices[k]), (i32)(BLOCK + k));
    work.headers()[tile.index] = info;
}

// The largest value of a block.
__device__ __forceinline__ double largest_of_block(double largest) {
    __shared__ double of_warps[VOLUME_THREADS / 32];
    for (i32 k = 16; k > 0; k /= 2) {
        const double other = __shfl_xor_sync(FULL, largest, k);
        largest = other > largest ? other : largest;
    }
    if ((threadIdx.x & 31) == 0) of_warps[threadIdx.x / 32] = largest;
    __syncthreads();
    for (u32 k = 0; k < blockDim.x / 32; k++) largest = of_warps[k] > largest ? of_warps[k] : largest;
    return largest;
}

// Components of a vertex that have one strict sign before and now: of each whether it is positive, then
// whether it is negative. Values that are not finite count as those of the other vector.
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
                    tile.last[2],
                    [&](i32 dx, i32 dy, i32 z) {
                        return signs_at(shared, x + dx, y + dy, z, window_index(x + dx, y + dy, z));
                    },
                    [](u32 all) { return all != 0; }) != (1u << tile.last[2]) - 1;
    return __syncthreads_or(open);
}

// Fills the steps of layer 1 of a tile and of those behind it, and begins its codes: no symbols yet. Call
// with a block.
template <typename T, i32 OF_LEVELS, u32 POSITIONS>
__device__ __forceinline__ void begin_quantizing(const Job& job, const VolumeTile& tile,
    QuantizingSteps<T, OF_LEVELS>& steps, TileCodes<POSITIONS>& codes) {
    const Control& control = control_of(job);
    const u32* const headers = VolumeCodeView<T>(job).headers();
    for (u32 k = threadIdx.x; k < 8 * OF_LEVELS; k += blockDim.x) {
        const u32 owner = k / OF_LEVELS, level = k % OF_LEVELS;
        const bool here = (!(owner & 1) || tile.last[0] == VOLUME_SIDE) &&
                          (!(owner & 2) || tile.last[1] == VOLUME_SIDE) &&
                          (!(owner & 4) || tile.last[2] == VOLUME_SIDE);
        const u32 shift = here ? bound_shift_in(headers[tile_behind(job, tile.index, owner)]) : 0;
        steps.at[owner][level] = {
            (T)control.volume.width[shift][level], (T)control.volume.inverse[shift][level]};
    }
    if (threadIdx.x < 2) codes.costs[threadIdx.x] = 0;
    if (threadIdx.x == 0) codes.info = headers[tile.index];
    for (u32 k = threadIdx.x; k < POSITIONS / 16; k += blockDim.x)
        words_at<uint4>(codes.symbols)[k] = make_uint4(0, 0, 0, 0);
    __syncthreads();
}

// Whether a vertex has no code. Not inlined: few vertices are zero where there are such.
template <typename T>
static __device__ __noinline__ bool is_hidden_vertex(const Job& job, u64 x, u64 y, u64 z) {
    const GridPoint p = {(long long)x, (long long)y, (long long)z};
    return is_hidden_level(VolumeCodeView<T>(job).levels()[tile_place(job, p).index()]);
}

// Codes the vertices of a closed tile whose originals are in the window, and adds up what its thread has
// seen: the largest error of vertices that the tile owns, whether all reconstructions are within the bound,
// and the bits of codes. FIRST: the first position of the symbols.
template <typename T, u32 FIRST, i32 OF_LEVELS, typename Window>
struct TileCoder {
    const Job& job;
    const VolumeTile& tile;
    const QuantizingSteps<T, OF_LEVELS>& steps;
    u8* const symbols;
    const Window& window;
    const T most;
    const bool has_hidden;
    T largest;
    bool all_good;
    u32 cost;

    template <u32 POSITIONS>
    __device__ __forceinline__ TileCoder(const Job& job, const VolumeTile& tile,
        const QuantizingSteps<T, OF_LEVELS>& steps, TileCodes<POSITIONS>& codes, const Window& window)
        : job(job), tile(tile), steps(steps), symbols(codes.symbols), window(window),
          most((T)control_of(job).quantizer.accept), has_hidden(has_hidden_vertices(control_of(job))),
          largest(T(0)), all_good(true), cost(0) {}

    typedef Quantizing<T> Line;
    __device__ __forceinline__ Line line(u32 owner, i32 level) const {
        return steps.at[owner][OF_LEVELS == 1 ? 0 : level];
    }
    __device__ __forceinline__ Vector<T> original(const VolumeVertex& vertex) const {
        return {window.values[0][vertex.at], window.values[1][vertex.at], window.values[2][vertex.at]};
    }
    __device__ __forceinline__ void operator()(
        const Line& step, const VolumeVertex& vertex, const T (&prediction)[3], T (&value)[3]) {
        code(step, vertex, original(vertex), prediction, value);
    }
    __device__ __forceinline__ void code(const Line& step, const VolumeVertex& vertex,
        const Vector<T>& original, const T (&prediction)[3], T (&value)[3]) {
        if (has_hidden && is_hidden(vertex, original)) {
#pragma unroll
            for (i32 c = 0; c < 3; c++) value[c] = T(0);
            return;
        }
        const Quantized<T> found = quantize(step, most, original, prediction, value);
        if (!found.is_good) keep_exact(vertex);
        if (vertex.owner) return;
        if (found.is_good) largest = Real<T>::high(largest, found.error);
        if (!found.is_zero()) put(vertex.position, encode_triple(found.integers()));
    }
    __device__ __forceinline__ bool is_hidden(const VolumeVertex& vertex, const Vector<T>& original) const {
        return ::is_zero(original) && is_hidden_vertex<T>(job, tile.first[0] + vertex.x,
                                          tile.first[1] + vertex.y, tile.first[2] + vertex.z);
    }
    __device__ __forceinline__ void keep_exact(const VolumeVertex& vertex) {
        all_good = false;
        if (vertex.owner) return;
        u8& level =
            VolumeCodeView<T>(job)
                .levels()[tile.index * VOLUME_TILE_VERTICES + place_in_tile(vertex.x, vertex.y, vertex.z)];
        if (level == LEVEL_UNCHANGED) level = LEVEL_EXACT;
    }
    __device__ __forceinline__ void put(u32 position, const EncodedTriple& code) {
        symbols[position - FIRST] = (u8)code.symbol;
        cost += 3 + code.bits;
        if (code.bits) VolumeCodeView<T>(job).payload(tile.index)[position] = code.raw;
    }
    __device__ __forceinline__ void add_cost(u32& costs) {
        if (cost) atomicAdd(&costs, cost);
        cost = 0;
    }
};

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
        signs_at(shared, 2 * x, 2 * y, 2 * z, at) = (u8)kept_signs(original, value);
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

// Grid: tiles. Block: COARSE_THREADS threads, the coarse levels of a tile. Static shared: CoarseShared.
// Reads: the field, levels, bound shifts, interpolants and steps. Writes: symbols and raw bits of the coarse
// levels, their values, levels of vertices whose reconstruction is not within the bound, activities, the
// largest error of each tile, whether it has such vertices.
template <typename T>
__device__ __forceinline__ void quantize_coarse_volume(const Job& job) {
    __shared__ CoarseShared<T> shared;
    const Control& control = control_of(job);
    if (is_stored_volume(control)) return;
    const VolumeTile tile = volume_tile(job, blockIdx.x);
    const VolumeCodeView<T> work(job);
    begin_quantizing(job, tile, shared.steps, shared.codes);
    load_coarse_originals(job, tile, shared.window);
    typedef VolumeWindow<T, 3, 1> Window;
    TileCoder<T, 0, LEVELS, Window> coder(job, tile, shared.steps, shared.codes, shared.window);
    visit_coarse_levels(
        tile, shared.window, control.interpolants,
        [&](i32 level) {
            if (level == 1) coder.add_cost(shared.codes.costs[0]);
        },
        coder);
    coder.add_cost(shared.codes.costs[1]);
    for_coarse_vertices<COARSE_THREADS>(tile, [&](i32 k, i32 x, i32 y, i32 z) {
        const i32 at = window_index(2 * x, 2 * y, 2 * z);
#pragma unroll
        for (i32 c = 0; c < 3; c++) work.coarse_value(tile.index, c, k, at) = shared.window.values[c][k];
    });
    store_symbols<T, 0>(job, tile, shared.codes);
    const double largest = largest_of_block((double)coder.largest);
    const bool other_values = __syncthreads_or(!coder.all_good);
    if (threadIdx.x != 0) return;
    sizes_of(job, tile.index).largest_error = largest;
    work.repair_flags()[tile.index] = other_values;
}

// Grid: tiles. Block: VOLUME_THREADS threads, the finest level of a tile. Dynamic shared: QuantizeShared.
// Reads: the field, levels, bound shifts, interpolants and steps, values of the coarse levels. Writes:
// symbols and raw bits of the finest level, values, levels of vertices whose reconstruction is not within the
// bound, activities, the largest error of each tile, whether its tetrahedra have to be verified.
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
    const bool open = is_open(job, tile, !coder.all_good || work.repair_flags()[tile.index] != 0, shared);
    if (threadIdx.x == 0) work.repair_flags()[tile.index] = open;
}
