// Makes a synthetic field. Twin of fill in src/bin/factz/synthetic.rs: sums in the order of the waves,
// products rounded one by one, so both give the same bits.
#pragma once
#include "stream/container.cuh"

namespace synthetic {

constexpr i32 THREADS = 256;  // one column each
constexpr i32 ROWS = 8;
// Waves whose row factors are in shared memory at a time.
constexpr u32 ROUND = 32;

// Cosine and sine of the row phases times the amplitude of each of N sums.
template <i32 N>
using RowTurns = Turn[ROUND][ROWS][N];

// N sums of ROWS vertices from (x, y) downwards; beyond the field those of its last column or row. Call with
// a block.
template <i32 N>
__device__ __forceinline__ void add_waves(
    const Waves& waves, u64 nx, u64 ny, u64 x, u64 y, RowTurns<N>& row_turns, double (&sums)[ROWS][N]) {
    const Turn* column = waves.columns + min(x, nx - 1);
#pragma unroll
    for (i32 r = 0; r < ROWS; r++)
#pragma unroll
        for (i32 n = 0; n < N; n++) sums[r][n] = 0.0;
    for (u64 first = 0; first < waves.count; first += ROUND) {
        const u32 round = (u32)min(waves.count - first, (u64)ROUND);
        __syncthreads();
        for (u32 k = threadIdx.x; k < round * ROWS; k += THREADS) {
            const u64 wave = first + k / ROWS;
            const Turn row = waves.rows[wave * ny + min(y + k % ROWS, ny - 1)];
#pragma unroll
            for (i32 n = 0; n < N; n++) {
                const double a = waves.amplitudes[wave * N + n];
                row_turns[k / ROWS][k % ROWS][n] = Turn{a * row.cosine, a * row.sine};
            }
        }
        __syncthreads();
        for (u32 k = 0; k < round; k++, column += nx) {
            const Turn at = *column;
#pragma unroll
            for (i32 r = 0; r < ROWS; r++)
#pragma unroll
                for (i32 n = 0; n < N; n++) {
                    const Turn row = row_turns[k][r][n];
                    sums[r][n] += row.cosine * at.cosine - row.sine * at.sine;
                }
        }
    }
}

// Grid: any. Block: THREADS. Writes the field, THREADS columns of ROWS rows at a time, downwards first so
// that the column factors stay in the cache.
template <typename T>
__device__ __forceinline__ void make(const Synthesis& job) {
    __shared__ union {
        RowTurns<2> flow;
        RowTurns<1> land;
    } row_turns;
    const u64 bands = (job.ny + ROWS - 1) / ROWS;
    const u64 items = (job.nx + THREADS - 1) / THREADS * bands;
    for (u64 item = blockIdx.x; item < items; item += gridDim.x) {
        const u64 x = item / bands * THREADS + threadIdx.x, y = item % bands * ROWS;
        u32 is_land = 0;
        if (job.land.count > 0) {
            double height[ROWS][1];
            add_waves<1>(job.land, job.nx, job.ny, x, y, row_turns.land, height);
#pragma unroll
            for (i32 r = 0; r < ROWS; r++) is_land |= (u32)(height[r][0] > job.level) << r;
        }
        double flow[ROWS][2];
        add_waves<2>(job.flow, job.nx, job.ny, x, y, row_turns.flow, flow);
        if (x >= job.nx) continue;
#pragma unroll
        for (i32 r = 0; r < ROWS; r++) {
            if (y + r >= job.ny) break;
            const bool is_zero = is_land >> r & 1;
            const u64 at_u = (y + r) * job.u_layout.pitch + x * job.u_layout.stride;
            const u64 at_v = (y + r) * job.v_layout.pitch + x * job.v_layout.stride;
            static_cast<T*>(job.u)[at_u] = (T)(is_zero ? 0.0 : flow[r][0]);
            static_cast<T*>(job.v)[at_v] = (T)(is_zero ? 0.0 : flow[r][1]);
        }
    }
}

}  // namespace synthetic
