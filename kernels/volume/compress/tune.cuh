// The interpolants of the levels of a volume, and how bin widths depend on the level. Twin of
// src/volume/tune.rs.
#pragma once
#include "predict/tuning.cuh"
#include "volume/compress/quantize.cuh"

// Tiles in the sample.
__device__ __forceinline__ u64 volume_samples(u64 tiles) {
    const u64 wanted = tiles / VOLUME_TILES_PER_SAMPLE,
              allowed = wanted < VOLUME_LEAST_SAMPLES  ? VOLUME_LEAST_SAMPLES
                        : wanted > VOLUME_MOST_SAMPLES ? VOLUME_MOST_SAMPLES
                                                       : wanted;
    return allowed < tiles ? allowed : tiles;
}
// The number of a sample tile. Numbers of tiles have 32 bits.
__device__ __forceinline__ u64 volume_sample(u64 tiles, u64 samples, u64 k) {
    const u64 first = k * tiles / samples, end = (k + 1) * tiles / samples;
    return first + (u64)((u32)k * SHUFFLE) % (end - first);
}

// Options: two scalings of the bound by level, and two interpolants.
constexpr u32 VOLUME_INTERPOLANTS = 2, VOLUME_OPTIONS = LEVEL_BOUND_SCALINGS * VOLUME_INTERPOLANTS;
__device__ __forceinline__ u32 tried_interpolant(u32 option) { return option % VOLUME_INTERPOLANTS ? 3 : 0; }
// Where critical points are kept, coarse levels have finer bins without a trial.
__device__ __forceinline__ bool is_tried(const Job& job, u32 scaling) {
    return scaling > 0 || job.preserve == PRESERVE_NONE;
}

// Adds the counts of a level by a warp to those of the call, and clears them.
__device__ __forceinline__ void add_level_count(LevelCount& to, LevelCount& mine) {
    const LevelCount all = {warp_sum(mine.vertices), warp_sum(mine.nonzero), warp_sum(mine.bits)};
    mine = {0, 0, 0};
    if ((threadIdx.x & 31) != 0 || all.vertices == 0) return;
    atomicAdd(&to.vertices, all.vertices);
    if (all.nonzero) atomicAdd(&to.nonzero, all.nonzero);
    if (all.bits) atomicAdd(&to.bits, all.bits);
}

// Codes the vertices of a tile on its own, and counts the codes of a level.
template <typename T>
struct SampleCoder {
    const Quantizing<T> (&steps)[LEVELS];
    const VolumeWindow<T, 3>& window;
    const T most;
    LevelCount count;

    typedef Quantizing<T> Line;
    __device__ __forceinline__ Line line(u32, i32 level) const { return steps[level]; }
    __device__ __forceinline__ void operator()(
        const Line& step, const VolumeVertex& vertex, const T (&prediction)[3], T (&value)[3]) {
        const Vector<T> original = {
            window.values[0][vertex.at], window.values[1][vertex.at], window.values[2][vertex.at]};
        if (vertex.owner) {
            for (i32 c = 0; c < 3; c++) value[c] = original.at[c];
            return;
        }
        const Quantized<T> found = quantize(step, most, original, prediction, value);
        const u32 symbol = encode_triple(found.integers()).symbol, raw = triple_raw_bits(symbol);
        count.vertices++;
        if (symbol == SYMBOL_ZERO) return;
        count.nonzero++;
        count.bits += raw ? VOLUME_BITS_OF_LARGE + raw : VOLUME_BITS_OF_SMALL;
    }
};

// Codes a tile on its own with an option, and counts the codes. Call with a block.
template <typename T>
__device__ __forceinline__ void tune_volume_tile(
    const Job& job, Control& control, const VolumeTile& tile, u32 option, VolumeWindow<T, 3>& window) {
    __shared__ Quantizing<T> steps[LEVELS];
    __syncthreads();
    if (threadIdx.x < LEVELS)
        steps[threadIdx.x] =
            quantizing<T>(control.half_bin_width, option / VOLUME_INTERPOLANTS, 0, threadIdx.x);
    u32 interpolants[VOLUME_ANCHOR_LEVEL];
    for (i32 level = 0; level < VOLUME_ANCHOR_LEVEL; level++) interpolants[level] = tried_interpolant(option);
    load_closed_tile<T>(job, tile, true, window, [](i32, i32, i32) { return false; });
    LevelCount* const to = control.tune[option / VOLUME_INTERPOLANTS][tried_interpolant(option)];
    SampleCoder<T> coder = {steps, window, (T)control.quantizer.accept, {0, 0, 0}};
    visit_coarse_levels(
        tile, window, interpolants, [&](i32 level) { add_level_count(to[level + 1], coder.count); }, coder);
    add_level_count(to[1], coder.count);
    visit_finest_level(tile, window, interpolants, coder);
    add_level_count(to[0], coder.count);
}

// Picks the best options, and fills the steps of layer 1. Call with the last block.
template <typename T>
__device__ __forceinline__ void decide_volume_tuning(const Job& job, Control& control) {
    // Options that were not tried are the largest.
    if (threadIdx.x < LEVEL_BOUND_SCALINGS * INTERPOLANTS * LEVELS) {
        const u32 level = threadIdx.x % LEVELS, interpolant = threadIdx.x / LEVELS % INTERPOLANTS,
                  scaling = threadIdx.x / (LEVELS * INTERPOLANTS);
        if (interpolant % 3 != 0 || !is_tried(job, scaling))
            control.tune[scaling][interpolant][level] = {1, 0, 0xffffffffu};
    }
    __syncthreads();
    if (threadIdx.x < 32) decide_tuning(control, volume_samples(job.tiles()));
    __syncthreads();
    if (threadIdx.x >= BOUND_SHIFTS * LEVELS) return;
    const u32 shift = threadIdx.x / LEVELS, level = threadIdx.x % LEVELS;
    const Quantizing<T> step =
        quantizing<T>(control.half_bin_width, control.level_bound_scaling, shift, level);
    control.volume.width[shift][level] = (double)step.width;
    control.volume.inverse[shift][level] = (double)step.inverse;
}

// Grid: samples, of f32 with every option. Block: VOLUME_THREADS threads. Dynamic shared: QuantizeShared.
// Codes sampled tiles; the last block decides. Reads: the field, levels. Writes: counts, interpolants,
// scaling and steps in the control block; of f64 values, as scratch memory.
template <typename T>
__device__ __forceinline__ void tune_volume(const Job& job) {
    LAUNCHED_SHARED(QuantizeShared<T>, shared);
    Control& control = control_of(job);
    if (is_stored_volume(control)) return;
    constexpr u32 OPTIONS = sizeof(T) == 4 ? VOLUME_OPTIONS : 1;
    const u64 tiles = job.tiles(), index = volume_sample(tiles, volume_samples(tiles), blockIdx.x / OPTIONS);
    const VolumeTile tile = volume_tile(job, index);
    VolumeWindow<T, 3>& window = window_of<T>(job, shared, index);
    for (u32 option = blockIdx.x % OPTIONS; option < VOLUME_OPTIONS; option += OPTIONS)
        if (is_tried(job, option / VOLUME_INTERPOLANTS))
            tune_volume_tile<T>(job, control, tile, option, window);
    if (last_block(control, TICKET_TUNE)) decide_volume_tuning<T>(job, control);
}
