// Visits the inner vertices of a closed tile of any shape, level by level and phase by phase. Twin of
// src/tile/traversal.rs. tile/lattice.cuh has the fast way for tiles inside the grid.
#pragma once
#include "device/control.cuh"
#include "predict/interpolation.cuh"

// By THREADS threads, a warp or a block: visit(level, position, active, x, y, prediction), called by whole
// warps. Phases 0 and 1 depend on coarser vertices only and share triangles only at the finest level: above
// it they go together. Loops are not unrolled: the code must stay in the instruction cache.
template <typename T, i32 THREADS, typename Visit>
__device__ __forceinline__ void visit_interior(
    typename Real<T>::Pair* values, i32 last_x, i32 last_y, const u32* interpolants, Visit visit) {
    typedef typename Real<T>::Pair P;
    const i32 thread = THREADS == 32 ? threadIdx.x & 31 : threadIdx.x;
    const i32 inner_x = last_x < TILE - 1 ? last_x : TILE - 1,
              inner_y = last_y < TILE - 1 ? last_y : TILE - 1;
#pragma unroll 1
    for (i32 level = ANCHOR_LEVEL - 1; level >= 0; level--) {
        const i32 step = 1 << level, n = 16 >> level, count = n * n;
        const Interpolant<T> interpolant = interpolant_of<T>(interpolants[level]);
        // At level 4 the vertices of phases 0 and 1 lie on lattice lines.
        i32 start = level == 4 ? 2 * count : 0;
#pragma unroll 1
        while (start < 3 * count) {
            const bool centres = start == 2 * count;
            const i32 end = start + (level == 0 || centres ? count : 2 * count);
#pragma unroll 1
            for (i32 first = start + (thread & ~31); first < end; first += THREADS) {
                const i32 m = first + (thread & 31), phase = m >> (8 - 2 * level), k = m & (count - 1);
                const i32 x = (2 * (k & (n - 1)) + (phase != 1)) << level,
                          y = (2 * (k >> (4 - level)) + (phase != 0)) << level;
                const bool active = m < end && x > 0 && y > 0 && x <= inner_x && y <= inner_y;
                P prediction = Real<T>::pair(T(0), T(0));
                if (active) {
                    if (centres) {
                        prediction = centre<T>(interpolant, values, CLOSED, x, y, step, last_x, last_y);
                    } else {
                        const bool on_row = phase == 0;
                        prediction = along<T>(interpolant, values, y * CLOSED + x,
                            on_row ? step : step * CLOSED, on_row ? x : y, step, on_row ? last_x : last_y);
                    }
                }
                visit(level, count + m, active, x, y, prediction);
            }
            start = end;
            // Coarse levels fit into warp 0.
            if (THREADS > 32 && (level < 2 || (level == 2 && centres)))
                __syncthreads();
            else
                __syncwarp();
        }
    }
}
