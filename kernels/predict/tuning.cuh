// Chooses the interpolant of each level and the level scaling of the bound from sampled tiles. Twin of
// src/predict/tuning.rs.
#pragma once
#include "entropy/tables.cuh"
#include "predict/quantizer.cuh"

// Tiles in the sample.
__device__ __forceinline__ u64 tuning_samples(u64 tiles) {
    const u64 wanted = tiles / TILES_PER_SAMPLE, allowed = wanted < LEAST_SAMPLES  ? LEAST_SAMPLES
                                                           : wanted > MOST_SAMPLES ? MOST_SAMPLES
                                                                                   : wanted;
    return allowed < tiles ? allowed : tiles;
}

// Estimated size of a level in 1/256 bit.
__device__ inline u64 tune_estimate(const LevelCount& c) {
    auto entropy = [&](u32 n) -> u64 {
        return n == 0 ? 0 : (u64)n * (log2_fixed(c.vertices) - log2_fixed(n));
    };
    return ((u64)c.bits << 8) + entropy(c.nonzero) + entropy(c.vertices - c.nonzero);
}

// Picks the best interpolants and level scaling. Call with a warp.
__device__ inline void decide_tuning(Control& control, u64 samples) {
    __shared__ u64 estimates[LEVEL_BOUND_SCALINGS][INTERPOLANTS][ANCHOR_LEVEL];
    const i32 lane = threadIdx.x & 31;
    for (i32 k = lane; k < LEVEL_BOUND_SCALINGS * INTERPOLANTS * ANCHOR_LEVEL; k += 32) {
        const i32 level = k % ANCHOR_LEVEL, option = k / ANCHOR_LEVEL;
        estimates[option / INTERPOLANTS][option % INTERPOLANTS][level] =
            tune_estimate(control.tune[option / INTERPOLANTS][option % INTERPOLANTS][level]);
    }
    __syncwarp();
    if (lane != 0) return;
    u64 best = ~0ull;
    for (u32 level_bound_scaling = 0; level_bound_scaling < LEVEL_BOUND_SCALINGS; level_bound_scaling++) {
        u32 factor = (u32)(level_scaling_beta(level_bound_scaling) * 256.0), interpolants[ANCHOR_LEVEL];
        u64 total = 2 * samples * (log2_fixed(factor) - log2_fixed(256));
        for (i32 level = 0; level < ANCHOR_LEVEL; level++) {
            u64 smallest = ~0ull;
            for (u32 choice = 0; choice < INTERPOLANTS; choice++) {
                const u64 size = estimates[level_bound_scaling][choice][level];
                if (size < smallest) {
                    smallest = size;
                    interpolants[level] = choice;
                }
            }
            total += smallest;
        }
        if (total < best) {
            best = total;
            control.level_bound_scaling = level_bound_scaling;
            for (i32 level = 0; level < ANCHOR_LEVEL; level++)
                control.interpolants[level] = interpolants[level];
        }
    }
}
