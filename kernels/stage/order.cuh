// Twin of the traversals of src/stage/tile.rs (line_order, interior_order), a warp at a time.
#pragma once
#include "predict.cuh"

// Predicts and visits the interior vertices of one level of a closed tile. A phase's predictions read
// nothing that the phase writes, so that they are made for several vertices before the first visit.
template <typename T, i32 LEVEL, typename Visit>
__device__ __forceinline__ void interior_level(typename Real<T>::Pair* values, i32 last_x, i32 last_y,
                                               const Kernel<T>& kernel, Visit visit) {
    typedef typename Real<T>::Pair P;
    constexpr i32 STEP = 1 << LEVEL, N = 16 >> LEVEL, COUNT = N * N;
    constexpr i32 BATCH = COUNT >= 128 ? 4 : COUNT >= 64 ? 2 : 1;
    const i32 lane = threadIdx.x & 31;
    const i32 inner_x = last_x < TILE - 1 ? last_x : TILE - 1, inner_y = last_y < TILE - 1 ? last_y : TILE - 1;
#pragma unroll
    for (i32 phase = 0; phase < 3; phase++) {
        if (LEVEL == 4 && phase != 2) continue;  // On lattice lines only.
#pragma unroll 1
        for (i32 first = lane; first < (COUNT < 32 ? 32 : COUNT); first += 32 * BATCH) {
            P prediction[BATCH];
            bool active[BATCH];
#pragma unroll
            for (i32 b = 0; b < BATCH; b++) {
                const i32 k = first + 32 * b, i = k % N, j = k / N;
                const i32 x = (2 * i + (phase != 1)) * STEP, y = (2 * j + (phase != 0)) * STEP;
                active[b] = k < COUNT && (phase != 1 || i > 0) && (phase != 0 || j > 0) && x <= inner_x && y <= inner_y;
                if (active[b]) {
                    const i32 at = y * CLOSED + x;
                    if (phase == 0)
                        prediction[b] = along<T>(kernel, values, at, STEP, x, STEP, last_x);
                    else if (phase == 1)
                        prediction[b] = along<T>(kernel, values, at, STEP * CLOSED, y, STEP, last_y);
                    else
                        prediction[b] = centre<T>(kernel, values, CLOSED, x, y, STEP, last_x, last_y);
                }
            }
#pragma unroll
            for (i32 b = 0; b < BATCH; b++) {
                const i32 k = first + 32 * b, i = k % N, j = k / N;
                const i32 x = (2 * i + (phase != 1)) * STEP, y = (2 * j + (phase != 0)) * STEP;
                if (active[b]) visit(COUNT * (1 + phase) + k, x, y, prediction[b]);
            }
        }
        __syncwarp();
    }
}
