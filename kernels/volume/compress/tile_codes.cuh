// Quantized residuals of the vertices of a closed tile, and their codes. Twin of src/tile/volume_builder.rs.
#pragma once
#include "compress/count/grouping.cuh"
#include "entropy/triples.cuh"
#include "volume/compress/originals.cuh"

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

// The steps of layer 1 of a tile and of those behind it (bit k of the number: along axis k): of all levels,
// or of the finest one.
template <typename T, i32 OF_LEVELS>
struct QuantizingSteps {
    Quantizing<T> at[8][OF_LEVELS];
};
// Codes of a tile that a block makes.
template <u32 POSITIONS>
struct TileCodes {
    alignas(16) u8 symbols[POSITIONS];
    u32 info, costs[2];  // header word of the tile; bits of the codes of its activity blocks, of one or two
};

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
        const T error = R::abs(value[c] - original.at[c]);
        // False where any of the values is not finite.
        found.is_good &= (R::abs(scaled) < END) & (error <= most);
        found.error = R::high(found.error, error);
    }
    if (!found.is_good) {
#pragma unroll
        for (i32 c = 0; c < 3; c++) {
            found.q[c] = T(0);
            value[c] = prediction[c] + T(0) * step.width;
        }
    }
    return found;
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

// Stores the symbols of the positions from FIRST on, and adds the activities of their activity blocks to the
// header word of the tile: the first two are those of the coarse levels. Call with a block.
template <typename T, u32 FIRST, u32 POSITIONS>
__device__ __forceinline__ void store_symbols(
    const Job& job, const VolumeTile& tile, const TileCodes<POSITIONS>& codes) {
    constexpr u32 FIRST_BLOCK = FIRST == 0 ? 0 : 2, BLOCKS = FIRST == 0 ? 2 : 1;
    static_assert(SYMBOL_ZERO == 0, "as at the begin");
    __shared__ u32 vertices[BLOCKS];
    if (threadIdx.x < BLOCKS) vertices[threadIdx.x] = 0;
    __syncthreads();
    const VolumeCodeView<T> work(job);
    for (u32 k = threadIdx.x; k < POSITIONS / 16; k += blockDim.x) {
        const u32 first = FIRST + 16 * k, owned = tile.is_whole() ? 16 : owned_vertices(tile, first);
        if (owned) atomicAdd(&vertices[block_of_position(first) - FIRST_BLOCK], owned);
        *words_at<uint4>(work.symbol(tile.index, first)) = words_at<uint4>(codes.symbols)[k];
    }
    __syncthreads();
    if (threadIdx.x != 0) return;
    u32 info = codes.info;
    for (u32 k = 0; k < BLOCKS; k++)
        info = with_activity(info, activity_of(codes.costs[k], vertices[k]), (i32)(FIRST_BLOCK + k));
    work.headers()[tile.index] = info;
}

// The largest value of the threads of a block. Call with a block, once in a kernel.
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

// Fills the steps of layer 1 of a tile and of those behind it, and begins its codes: no symbols yet. Call
// with a block.
template <typename T, i32 OF_LEVELS, u32 POSITIONS>
__device__ __forceinline__ void begin_quantizing(const Job& job, const VolumeTile& tile,
    QuantizingSteps<T, OF_LEVELS>& steps, TileCodes<POSITIONS>& codes) {
    const Control& control = control_of(job);
    const u32* const headers = VolumeCodeView<T>(job).headers();
    for (u32 k = threadIdx.x; k < 8 * OF_LEVELS; k += blockDim.x) {
        const u32 owner = k / OF_LEVELS, level = k % OF_LEVELS;
        const u32 shift =
            tile.has_behind(owner) ? bound_shift_in(headers[tile_behind(job, tile.index, owner)]) : 0;
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
        if (code.bits) VolumeCodeView<T>(job).raw_bits(tile.index, position) = code.raw;
    }
    __device__ __forceinline__ void add_cost(u32& costs) {
        if (cost) atomicAdd(&costs, cost);
        cost = 0;
    }
};
