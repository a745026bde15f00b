// Entries of the lattice lines around tiles that do not make their own: where signatures are looked at, all
// but plain ones.
#pragma once
#include "compress/vertex_bounds.cuh"
#include "tile/lattice.cuh"

template <typename T>
struct LineShared {
    typename Real<T>::Pair values[3 * CLOSED];
    T limit[CLOSED];
    u8 special[CLOSED];
    u32 missing[CLOSED];
};
// Missing vertices that are stored are not counted, those with a sign to keep are.
enum : u8 { HAS_CODE, HAS_NO_CODE, IS_STORED, KEEPS_SIGN };

// Grid: any. Block: 128, half a warp for a segment of 33 vertices: above and below (left and right) of a
// tile of the list. Horizontal lines see original values around them; vertical ones the final
// horizontal lines.
template <typename T, bool ACROSS>
__device__ __forceinline__ void lines(const Job& job) {
    const QuantizeView<T> work(job);
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
    const u64* const list = work.constrained();
    const u64 count = control.limited_tiles, first = (u64)blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5);
    // The segment on the far side belongs to the tile behind, which makes it if it is on the list. Which tile
    // is next, and of what kind the one behind it is, is asked for while one is at work.
    const u64 behind = ACROSS ? job.tiles_x : 1;
    auto listed_at = [&](u64 k) { return k < count ? list[k] : 0; };
    auto is_plain_behind = [&](u64 tile) {
        return tile + behind < job.tiles() && nearness_of(job, tile + behind).kind == PLAIN_TILE;
    };
    u64 next = listed_at(first), after = listed_at(first + warps);
    bool next_plain_behind = first < count && is_plain_behind(next);
    for (u64 k = first; k < count; k += warps) {
        const u64 listed = next;
        const bool plain_behind = next_plain_behind;
        next = after;
        next_plain_behind = k + warps < count && is_plain_behind(next);
        after = listed_at(k + 2 * warps);
        const TileShape shape = tile_shape(job, listed);
        const u64 tile = far ? listed + behind : listed;
        const bool mine = !far || ((ACROSS ? shape.last_y : shape.last_x) == TILE && plain_behind);
        const u64 a0 = ACROSS ? shape.x0 : shape.y0;  // along the line
        const u64 line = (ACROSS ? shape.ty : shape.tx) + (mine && far ? 1 : 0), at = line * TILE;
        const u64 b0 = at ? at - 1 : 0;
        const i32 m = (i32)(at - b0);  // the line's row (or column) in the patch
        const i32 thick = (i32)((n_across < at + 2 ? n_across : at + 2) - b0);
        const i32 last = ACROSS ? shape.last_x : shape.last_y, length = mine ? last + 1 : 0;
        Patch<T> patch;
        patch.values = shared.values;
        patch.pitch = ACROSS ? CLOSED : 3;
        patch.width = ACROSS ? length : thick;
        patch.height = ACROSS ? thick : length;
        patch.words = ACROSS ? 2 : 1;
        patch.missing = has_missing(control) ? shared.missing : nullptr;
        const i32 distance = ACROSS ? 1 : 3;  // one step along the line in the patch
        const i32 base = ACROSS ? m * CLOSED : m;
        auto in_patch = [&](i32 i, i32 t) { return ACROSS ? t * CLOSED + i : i * 3 + t; };

        // All that is needed is on its way at once: the values, those around the line too where signatures
        // may have to be looked at,
        const bool has_limits = !far;
        for (i32 i = lane; i < length; i += HALF)
            for (i32 t = has_limits ? 0 : m; t < (has_limits ? thick : m + 1); t++) {
                const long long gx = (long long)(ACROSS ? a0 + i : b0 + t),
                                gy = (long long)(ACROSS ? b0 + t : a0 + i);
                P& to = shared.values[in_patch(i, t)];
                copy_ahead<sizeof(T)>(&to.x, vertex_at<T>(job.u, job.u_layout, gx, gy));
                copy_ahead<sizeof(T)>(&to.y, vertex_at<T>(job.v, job.v_layout, gx, gy));
            }
        end_of_copies();
        // the final values at the ends of the segment, and around them for vertical lines,
        const u64 s = (ACROSS ? shape.tx : shape.ty) + lane;
        const bool has_end = lane < 2 && lane * TILE < length;
        P end = Real<T>::pair(T(0), T(0)), before_end = end, after_end = end;
        if (has_end) {
            end = work.anchors()[ACROSS ? line * job.tiles_x + s : s * job.tiles_x + line];
            if (!ACROSS && has_limits) {
                const P* const across = work.row_lines() + s * job.nx + b0 + m;
                if (m > 0) before_end = across[-1];
                if (m + 1 < thick) after_end = across[1];
            }
        }
        // and the limits.
        bool any_tight = false;
        for (i32 i = lane; i < length; i += HALF) {
            T limit = no_limit<T>();
            if (has_limits && i < TILE)
                limit = limits_of<T>(job, tile)[ACROSS ? position_of(i, 0) : position_of(0, i)];
            shared.limit[i] = limit;
            any_tight |= is_tight(limit);
        }
        const bool looks_around = __any_sync(FULL, any_tight) && has_limits;
        wait_for_copies<0>();
        __syncwarp();
        // Which vertices of the line have no code, and what is stored for them.
        for (i32 i = lane; i < length; i += HALF) {
            const P value = shared.values[base + i * distance];
            u8 kind = HAS_CODE;
            if (is_missing(value.x, value.y, job.fill))
                kind = Real<T>::bits(value.x) == control.fill[0] && Real<T>::bits(value.y) == control.fill[1]
                           ? HAS_NO_CODE
                           : IS_STORED;
            else if (is_lossless(control) && has_negative_zero(value.x, value.y))
                kind = KEEPS_SIGN;
            else if (value.x == T(0) && value.y == T(0))
                kind = HAS_NO_CODE;
            shared.special[i] = kind;
        }
        if (has_missing(control)) {
            const i32 words = patch.height * patch.words;
            for (i32 i = lane; i < words; i += HALF) shared.missing[i] = 0;
            __syncwarp();
            for (i32 i = lane; i < length; i += HALF)
                for (i32 t = looks_around ? 0 : m; t < (looks_around ? thick : m + 1); t++) {
                    const i32 x = ACROSS ? i : t, y = ACROSS ? t : i;
                    P& value = shared.values[in_patch(i, t)];
                    if (!is_missing(value.x, value.y, job.fill)) continue;
                    atomicOr(&shared.missing[y * patch.words + (x >> 5)], 1u << (x & 31));
                    value = Real<T>::pair(T(0), T(0));
                }
        }
        __syncwarp();
        P* out = (ACROSS ? work.row_lines() : work.column_lines()) + line * n_along + a0;
        if (has_end) {
            P* const to = shared.values + base + lane * TILE * distance;
            *to = end;
            if (!ACROSS && looks_around) {
                if (m > 0) to[-1] = before_end;
                if (m + 1 < thick) to[1] = after_end;
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
                u32 symbol = kind >= IS_STORED ? STORED : SYMBOL_ZERO;
                if (!far) exact += kind == KEEPS_SIGN;
                if (kind == HAS_CODE) {
                    const P prediction = along<T>(
                        kernel, shared.values, base + here * distance, step * distance, here, step, last);
                    const i32 x = ACROSS ? here : m, y = ACROSS ? m : here;
                    const T limit = shared.limit[here];
                    u32 stored = 0;
                    const Code code = code_vertex<T>(patch, x, y, prediction, level,
                        (T)control.quantizer.width[level][0], (T)control.quantizer.inverse[level][0], c,
                        is_tight(limit), is_tight(limit) ? limit : Real<T>::MAX, max_error, stored);
                    if (!far) exact += stored;
                    if (code.id == EXACT) {
                        symbol = STORED;
                    } else {
                        u64 raw;
                        symbol = encode_symbol(code, raw);
                        if (symbol >= FIRST_WITH_RAW_BITS) work.raw()[tile * TILE_VERTICES + position] = raw;
                    }
                }
                work.symbols()[tile * TILE_VERTICES + position] = (u8)symbol;
            }
            __syncwarp();
        }
        for (i32 i = lane; i < length && i < TILE; i += HALF) out[i] = shared.values[base + i * distance];
        __syncwarp();
    }
    report_tally<T>(control, exact, 0, max_error);
}
