// Twin of the traversals of src/stage/tile.rs (line_order, interior_order), a warp at a time.
#pragma once
#include "../control.cuh"
#include "predict.cuh"

// Predicts and visits the interior vertices of a closed tile, level by level and phase by phase, as
// visit(level, width, inverse, position, x, y, prediction). The loops are not unrolled: a tile is short
// work for a warp, and the code must stay in the instruction cache.
template <typename T, typename Visit>
__device__ __forceinline__ void interior(typename Real<T>::Pair* values, i32 last_x, i32 last_y, const u32* kernels,
                                         const Quantizer& quantizer, Visit visit) {
    typedef typename Real<T>::Pair P;
    const i32 lane = threadIdx.x & 31;
    const i32 inner_x = last_x < TILE - 1 ? last_x : TILE - 1, inner_y = last_y < TILE - 1 ? last_y : TILE - 1;
#pragma unroll 1
    for (i32 level = ANCHOR_LEVEL - 1; level >= 0; level--) {
        const i32 step = 1 << level, n = 16 >> level, count = n * n;
        const Kernel<T> kernel = kernel_of<T>(kernels[level]);
        const T width = (T)quantizer.width[level][0], inverse = (T)quantizer.inverse[level][0];
        // Level 4 has its horizontal and vertical vertices on lattice lines only.
#pragma unroll 1
        for (i32 phase = level == 4 ? 2 : 0; phase < 3; phase++) {
#pragma unroll 1
            for (i32 k = lane; k < count || k < 32; k += 32) {
                const i32 x = (2 * (k & (n - 1)) + (phase != 1)) << level, y = (2 * (k >> (4 - level)) + (phase != 0)) << level;
                if (!(k < count && x > 0 && y > 0 && x <= inner_x && y <= inner_y)) continue;
                P prediction;
                if (phase == 2) {
                    prediction = centre<T>(kernel, values, CLOSED, x, y, step, last_x, last_y);
                } else {
                    const bool across = phase == 0;
                    prediction = along<T>(kernel, values, y * CLOSED + x, across ? step : step * CLOSED, across ? x : y, step,
                                          across ? last_x : last_y);
                }
                visit(level, width, inverse, count * (1 + phase) + k, x, y, prediction);
            }
            __syncwarp();
        }
    }
}
