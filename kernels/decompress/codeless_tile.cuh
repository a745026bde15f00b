// Writes tiles without codes: all vertices are zero or filled, as land of an ocean.
#pragma once
#include "decompress/status.cuh"
#include "entropy/quantized_tile.cuh"
#include "grid/field.cuh"
#include "grid/missing.cuh"
#include "grid/tiles.cuh"

// 16 bytes of a row.
template <typename T>
struct alignas(16) SixteenBytes {
    T values[16 / sizeof(T)];
    __device__ __forceinline__ explicit SixteenBytes(T value) {
#pragma unroll
        for (u32 k = 0; k < 16 / sizeof(T); k++) values[k] = value;
    }
};
// Call with a warp. A vertex that no mask hides counts as filled.
template <typename T>
__device__ __noinline__ void write_codeless_tile(const Job& job, const Control& control, u64 index) {
    typedef typename Real<T>::Pair P;
    const TileView work(job);
    const TileShape shape = tile_shape(job, index);
    const i32 lane = threadIdx.x & 31, ox = shape.owned_x(), oy = shape.owned_y();
    const u32 state = mask_state_in(work.headers()[index]);
    T* const u = vertex_at<T>(job.u, job.u_layout, shape.x0, shape.y0);
    T* const v = vertex_at<T>(job.v, job.v_layout, shape.x0, shape.y0);
    const P zero = Real<T>::pair(T(0), T(0)), fill = fill_of<T>(control);
    // Values of all vertices, unless both masks have some.
    const bool is_zero = zero_covers<MASK_ALL>(state), is_constant = is_zero || zero_covers<MASK_NONE>(state);
    if (is_constant && ox == TILE && is_aligned<T>(job)) {
        constexpr i32 EACH = 16 / sizeof(T), LANES = TILE / EACH, ROWS = 32 / LANES;
        const P value = is_zero ? zero : fill;
        const SixteenBytes<T> of_u(value.x), of_v(value.y);
#pragma unroll 1
        for (i32 y = lane / LANES; y < oy; y += ROWS) {
            const i32 x = lane % LANES * EACH;
            *reinterpret_cast<SixteenBytes<T>*>(u + y * (long long)job.u_layout.pitch + x) = of_u;
            *reinterpret_cast<SixteenBytes<T>*>(v + y * (long long)job.v_layout.pitch + x) = of_v;
        }
        return;
    }
    for (i32 y = 0; y < oy; y++) {
        if (lane >= ox) continue;
        const P value = is_zero || work.mask_row(index, 0, y) >> lane & 1 ? zero : fill;
        u[y * (long long)job.u_layout.pitch + lane * (long long)job.u_layout.stride] = value.x;
        v[y * (long long)job.v_layout.pitch + lane * (long long)job.v_layout.stride] = value.y;
    }
}
