// Entries of the lattice lines around tiles that do not make their own: in the block-wise mode whole tiles
// do, in the speculative mode only plain ones.
#pragma once
#include "constrain.cuh"
#include "stage/lattice.cuh"

template <typename T>
struct LineShared {
    typename Real<T>::Pair values[3 * CLOSED];
    T limit[CLOSED];
    u8 special[CLOSED];
    u32 nonfinite[CLOSED];
};
enum : u8 { HAS_CODE, HAS_NO_CODE, IS_STORED };

// Grid: any. Block: 128, half a warp for a segment of 33 vertices: above and below (left and right) of a
// tile of the list. Horizontal lines see original values around them; vertical ones the final
// horizontal lines.
template <typename T, bool ACROSS>
__device__ __forceinline__ void lines(const Job& job) {
    typedef typename Real<T>::Pair P;
    __shared__ LineShared<T> shared_[8];
    LineShared<T>& shared = shared_[threadIdx.x >> 4];
    Control& control = control_of(job);
    const i32 lane = threadIdx.x & (HALF - 1);
    const bool far = threadIdx.x >> 4 & 1;
    const Constraints<T> c = constraints_of<T>(job, control);
    const u64 n_along = ACROSS ? job.nx : job.ny, n_across = ACROSS ? job.ny : job.nx;
    const u64 warps = (u64)gridDim.x * (blockDim.x >> 5);
    u32 exact = 0;
    T max_error = 0;
    const u64* const list = c.speculative ? job.group_offsets : job.group_sizes + control.plain_tiles;
    const u64 count = c.speculative ? control.limited_tiles : control.other_tiles;
    for (u64 k = (u64)blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5); k < count; k += warps) {
        const u64 listed = list[k];
        const TileShape shape = tile_shape(job, listed);
        // The segment on the far side belongs to the next tile, which makes it if it is on the list.
        const u64 tile = far ? listed + (ACROSS ? job.tiles_x : 1) : listed;
        const bool exists = !far || (ACROSS ? shape.last_y : shape.last_x) == TILE;
        const u32 kind = exists ? nearness_of(job, tile).kind : OTHER_TILE;
        const bool mine = !far || kind == PLAIN_TILE || (kind == WHOLE_TILE && !c.speculative);
        const u64 a0 = ACROSS ? shape.x0 : shape.y0;                      // along the line
        const u64 line = (ACROSS ? shape.ty : shape.tx) + (mine && far ? 1 : 0), at = line * TILE;
        const u64 b0 = at ? at - 1 : 0;
        const i32 m = (i32)(at - b0);                                     // the line's row (or column) in the patch
        const i32 thick = (i32)((n_across < at + 2 ? n_across : at + 2) - b0);
        const i32 last = ACROSS ? shape.last_x : shape.last_y, length = mine ? last + 1 : 0;
        Patch<T> patch;
        patch.values = shared.values;
        patch.pitch = ACROSS ? CLOSED : 3;
        patch.width = ACROSS ? length : thick;
        patch.height = ACROSS ? thick : length;
        patch.words = ACROSS ? 2 : 1;
        patch.nonfinite = control.nonfinite ? shared.nonfinite : nullptr;
        const i32 distance = ACROSS ? 1 : 3;                              // one step along the line in the patch
        const i32 base = ACROSS ? m * CLOSED : m;
        auto in_patch = [&](i32 i, i32 t) { return ACROSS ? t * CLOSED + i : i * 3 + t; };

        // Limits, and the values: those around the line only where signatures have to be looked at.
        const bool has_limits = mine && kind != PLAIN_TILE;
        bool any_tight = false;
        for (i32 i = lane; i < length; i += HALF) {
            T limit = no_limit<T>();
            if (has_limits && i < TILE) limit = limits_of<T>(job, tile)[ACROSS ? position_of(i, 0) : position_of(0, i)];
            shared.limit[i] = limit;
            any_tight |= is_tight(limit);
        }
        const bool looks_around = c.speculative && __any_sync(FULL, any_tight);
        for (i32 i = lane; i < length; i += HALF)
            for (i32 t = looks_around ? 0 : m; t < (looks_around ? thick : m + 1); t++) {
                const long long gx = (long long)(ACROSS ? a0 + i : b0 + t), gy = (long long)(ACROSS ? b0 + t : a0 + i);
                shared.values[in_patch(i, t)] = Real<T>::pair(*vertex_at<T>(job.u, job.u_layout, gx, gy),
                                                              *vertex_at<T>(job.v, job.v_layout, gx, gy));
            }
        __syncwarp();
        // Which vertices of the line have no code, and what is stored for them.
        for (i32 i = lane; i < length; i += HALF) {
            const P value = shared.values[base + i * distance];
            const bool finite_ = Real<T>::finite(value.x) && Real<T>::finite(value.y);
            u8 kind = HAS_CODE;
            if (!finite_)
                kind = Real<T>::bits(value.x) == control.fill[0] && Real<T>::bits(value.y) == control.fill[1] ? HAS_NO_CODE : IS_STORED;
            else if (value.x == T(0) && value.y == T(0))
                kind = HAS_NO_CODE;
            shared.special[i] = kind;
        }
        if (control.nonfinite) {
            const i32 words = patch.height * patch.words;
            for (i32 i = lane; i < words; i += HALF) shared.nonfinite[i] = 0;
            __syncwarp();
            for (i32 i = lane; i < length; i += HALF)
                for (i32 t = looks_around ? 0 : m; t < (looks_around ? thick : m + 1); t++) {
                    const i32 x = ACROSS ? i : t, y = ACROSS ? t : i;
                    P& value = shared.values[in_patch(i, t)];
                    if (Real<T>::finite(value.x) && Real<T>::finite(value.y)) continue;
                    atomicOr(&shared.nonfinite[y * patch.words + (x >> 5)], 1u << (x & 31));
                    value = Real<T>::pair(T(0), T(0));
                }
        }
        __syncwarp();
        // Final values at the ends of the segment; around them for vertical lines.
        const P* anchor_values = reinterpret_cast<const P*>(job.anchors);
        P* out = reinterpret_cast<P*>(ACROSS ? job.across : job.down) + line * n_along + a0;
        if (lane < 2 && lane * TILE < length) {
            const u64 s = (ACROSS ? shape.tx : shape.ty) + lane;
            shared.values[base + lane * TILE * distance] = anchor_values[ACROSS ? line * job.tiles_x + s : s * job.tiles_x + line];
            if (!ACROSS && looks_around) {
                const P* across = reinterpret_cast<const P*>(job.across) + s * job.nx + b0;
                for (i32 t = 0; t < thick; t++)
                    if (t != m) shared.values[lane * TILE * 3 + t] = across[t];
            }
        }
        __syncwarp();
#pragma unroll 1
        for (i32 level = ANCHOR_LEVEL - 1; level >= 0; level--) {
            const i32 step = 1 << level, n = 16 >> level, here = (2 * lane + 1) * step;
            if (lane < n && here < length) {
                const Kernel<T> kernel = kernel_of<T>(control.kernels[level]);
                const i32 position = n * n * (ACROSS ? 1 : 2) + (ACROSS ? lane : lane * n);
                const u8 kind = shared.special[here];
                u32 symbol = kind == IS_STORED ? STORED : SYMBOL_ZERO;
                if (kind == HAS_CODE) {
                    const P prediction = along<T>(kernel, shared.values, base + here * distance, step * distance, here, step, last);
                    const i32 x = ACROSS ? here : m, y = ACROSS ? m : here;
                    const T limit = shared.limit[here];
                    u32 stored = 0;
                    const Code code = code_vertex<T>(patch, x, y, prediction, level, (T)control.quantizer.width[level][0],
                                                     (T)control.quantizer.inverse[level][0], c, is_tight(limit),
                                                     is_tight(limit) ? limit : Real<T>::MAX, max_error, stored);
                    if (!far) exact += stored;
                    if (code.id == EXACT) {
                        symbol = STORED;
                    } else {
                        u64 raw;
                        symbol = encode_symbol(code, raw);
                        if (symbol >= FIRST_WITH_RAW_BITS)
                            reinterpret_cast<u64*>(job.payload)[tile * TILE_VERTICES + position] = raw;
                    }
                }
                job.symbols[tile * TILE_VERTICES + position] = (u8)symbol;
            }
            __syncwarp();
        }
        for (i32 i = lane; i < length && i < TILE; i += HALF) out[i] = shared.values[base + i * distance];
        __syncwarp();
    }
    report_tally<T>(control, exact, 0, max_error);
}
