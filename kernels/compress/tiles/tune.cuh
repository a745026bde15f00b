// Codes sampled tiles with each option and picks the best one. Twin of src/predict/tuning.rs.
#pragma once
#include "predict/tuning.cuh"
#include "tile/samples.cuh"

// Grid: samples * 12 options. Block: 32 * TUNE_WARPS threads. Static shared: one closed tile. Codes one
// sampled tile with one option; the last block decides. Reads: the field. Writes: counts, interpolants, level
// scaling and quantizer in the control block. Waits for: the previous kernel.
template <typename T>
__device__ __forceinline__ void tune(const Job& job) {
    __shared__ TuneShared<T> shared;
    Control& control = control_of(job);
    const i32 thread = threadIdx.x;
    const u64 samples = tuning_samples(job.tiles());
    const u32 option = blockIdx.x % (LEVEL_BOUND_SCALINGS * INTERPOLANTS),
              level_bound_scaling = option / INTERPOLANTS, choice = option % INTERPOLANTS;
    const u64 k = blockIdx.x / (LEVEL_BOUND_SCALINGS * INTERPOLANTS);
    // As tuning::sample. The product is below 2^64: a grid has at most 2^48 tiles.
    const TileShape shape = tile_shape(job, (2 * k + 1) * job.tiles() / (2 * samples));
    tune_tile<T>(job, control, shape, level_bound_scaling, choice, shared);
    if (thread < LEVELS) {
        const LevelCount& count = shared.counts[thread];
        LevelCount& out = control.tune[level_bound_scaling][choice][thread];
        atomicAdd(&out.vertices, count.vertices);
        atomicAdd(&out.nonzero, count.nonzero);
        atomicAdd(&out.bits, count.bits);
    }
    if (last_block(control, TICKET_TUNE)) {
        if (thread < 32) decide_tuning(control, samples);
        __syncthreads();
        for (i32 e = thread; e < LEVELS * REFINEMENTS; e += 32 * TUNE_WARPS)
            quantizer_entry<T>(control.half_bin_width, control.level_bound_scaling, e / REFINEMENTS,
                e % REFINEMENTS, control.quantizer.width[e / REFINEMENTS][e % REFINEMENTS],
                control.quantizer.inverse[e / REFINEMENTS][e % REFINEMENTS]);
    }
}
