// Twin of src/stage/tune.rs.
#pragma once
#include "entropy.cuh"
#include "order.cuh"
#include "tile.cuh"

// Whether a code is not zero, and about how many bits it takes besides saying so.
__device__ __forceinline__ void tune_weight(Code code, u32& nonzero, u32& bits) {
    if (code.id == MASKED) return;
    if (code.id == EXACT) {
        nonzero += 1;
        bits += 64;
        return;
    }
    u64 raw;
    u32 s = encode_symbol(code, raw);
    if (s == SYMBOL_ZERO) return;
    nonzero += 1;
    bits += s < FIRST_WITH_RAW_BITS ? 3 : 4 + symbol_raw_bits(s);
}

// Counts of a lane, by level.
struct LaneCounts {
    LevelCount counts[LEVELS][32];
};

static __device__ __noinline__ void tune_add(LaneCounts* lanes, i32 level, Code code) {
    u32 nonzero = 0, bits = 0;
    tune_weight(code, nonzero, bits);
    LevelCount& c = lanes->counts[level][threadIdx.x & 31];
    c.vertices += code.id != MASKED;
    c.nonzero += nonzero;
    c.bits += bits;
}

// Codes a tile on its own with one option, under no constraint but the bound. Vertices that are not
// finite count as stored, whether or not they carry the fill pattern.
template <typename T, typename P = typename Real<T>::Pair>
__device__ __forceinline__ void tune_tile(const Job& job, Control& control, const TileShape& shape, u32 taper,
                                          u32 choice, P* values, LaneCounts* counts) {
    const i32 lane = threadIdx.x & 31;
    __shared__ Quantizer quantizer;
    __shared__ u64 zero[CLOSED], nonfinite[CLOSED];
    for (i32 e = lane; e < LEVELS * IDS; e += 32)
        quantizer_entry<T>(control.quantum, taper, e / IDS, e % IDS, quantizer.width[e / IDS][e % IDS],
                           quantizer.inverse[e / IDS][e % IDS]);
    if (lane == 0) quantizer.accept = control.quantizer.accept;
    const i32 width = shape.last_x + 1, height = shape.last_y + 1;
    for (i32 y = lane; y < CLOSED; y += 32) zero[y] = nonfinite[y] = 0;
    __syncwarp();
    // Rows come eleven at a time: one load does not wait for the one before.
    for (i32 x = lane; x < width; x += 32) {
#pragma unroll 1
        for (i32 y0 = 0; y0 < height; y0 += 11) {
            P row[11];
#pragma unroll
            for (i32 k = 0; k < 11; k++)
                if (y0 + k < height)
                    row[k] = Real<T>::pair(*vertex_at<T>(job.u, job.u_layout, shape.x0 + x, shape.y0 + y0 + k),
                                           *vertex_at<T>(job.v, job.v_layout, shape.x0 + x, shape.y0 + y0 + k));
#pragma unroll
            for (i32 k = 0; k < 11; k++)
                if (y0 + k < height) values[(y0 + k) * CLOSED + x] = row[k];
        }
    }
    __syncwarp();
    for (i32 y = 0; y < height; y++)
        for (i32 x = lane; x < width; x += 32) {
            const P value = values[y * CLOSED + x];
            if (!(Real<T>::finite(value.x) && Real<T>::finite(value.y))) {
                atomicOr((unsigned long long*)&nonfinite[y], 1ull << x);
                values[y * CLOSED + x] = Real<T>::pair(T(0), T(0));
            } else if (value.x == T(0) && value.y == T(0)) {
                atomicOr((unsigned long long*)&zero[y], 1ull << x);
            }
        }
    __syncwarp();
    const T accept = (T)quantizer.accept;
    auto code = [&](i32 x, i32 y, P prediction, i32 level) -> Code {
        if (zero[y] >> x & 1) return {MASKED, 0, 0};
        if (nonfinite[y] >> x & 1) return {EXACT, 0, 0};
        P original = values[y * CLOSED + x];
#pragma unroll 1
        for (i32 id = 0; id < IDS; id++) {
            T w = (T)quantizer.width[level][id], i = (T)quantizer.inverse[level][id];
            T cu, cv, ru, rv;
            bool ok = encode_residual(original.x, prediction.x, i, w, cu, ru);
            ok &= encode_residual(original.y, prediction.y, i, w, cv, rv);
            if (!ok) break;
            T eu = Real<T>::abs(ru - original.x), ev = Real<T>::abs(rv - original.y);
            T error = ev > eu ? ev : eu;
            if (error == T(0) || error <= accept) {
                values[y * CLOSED + x] = Real<T>::pair(ru, rv);
                return {id, (i32)cu, (i32)cv};
            }
        }
        return {EXACT, 0, 0};
    };
    const Kernel<T> kernel = kernel_of<T>(choice);
    const i32 last_x = shape.last_x, last_y = shape.last_y;
    if (lane < 4) {
        i32 x = lane & 1 ? TILE : 0, y = lane & 2 ? TILE : 0;
        if (x <= last_x && y <= last_y) code(x, y, Real<T>::pair(T(0), T(0)), ANCHOR_LEVEL);
    }
    __syncwarp();
    for (i32 axis = 0; axis < 2; axis++) {
        const i32 last = axis == 0 ? last_x : last_y, across = axis == 0 ? last_y : last_x;
        const i32 inner = last < TILE - 1 ? last : TILE - 1;
        for (i32 level = ANCHOR_LEVEL - 1; level >= 0; level--) {
            const i32 step = 1 << level, n = 16 >> level;
            const i32 line = lane / n, k = (2 * (lane % n) + 1) * step;
            if (line < 2 && (line == 0 || across == TILE) && k <= inner) {
                const i32 x = axis == 0 ? k : line * TILE, y = axis == 0 ? line * TILE : k;
                const P p = along<T>(kernel, values, y * CLOSED + x, axis == 0 ? step : step * CLOSED, k, step, last);
                Code c = code(x, y, p, level);
                if (line == 0) tune_add(counts, level, c);
            }
            __syncwarp();
        }
    }
    u32 kernels[ANCHOR_LEVEL];
#pragma unroll
    for (i32 l = 0; l < ANCHOR_LEVEL; l++) kernels[l] = choice;
    interior<T>(values, last_x, last_y, kernels, quantizer, [&](i32 l, T, T, i32, i32 x, i32 y, P prediction) {
        tune_add(counts, l, code(x, y, prediction, l));
    });
    __syncwarp();
}

// Estimated size of a level in 1/256 bit.
__device__ inline u64 tune_estimate(const LevelCount& c) {
    auto entropy = [&](u32 n) -> u64 {
        return n == 0 ? 0 : (u64)n * (log2_fixed(c.vertices) - log2_fixed(n));
    };
    return ((u64)c.bits << 8) + entropy(c.nonzero) + entropy(c.vertices - c.nonzero);
}

// By one warp. Shared: an estimate for each option and level.
__device__ inline void decide_tuning(Control& control, u64 samples) {
    __shared__ u64 estimates[TAPERS][CHOICES][ANCHOR_LEVEL];
    const i32 lane = threadIdx.x & 31;
    for (i32 k = lane; k < TAPERS * CHOICES * ANCHOR_LEVEL; k += 32) {
        const i32 level = k % ANCHOR_LEVEL, option = k / ANCHOR_LEVEL;
        estimates[option / CHOICES][option % CHOICES][level] =
            tune_estimate(control.tune[option / CHOICES][option % CHOICES][level]);
    }
    __syncwarp();
    if (lane != 0) return;
    u64 best = ~0ull;
    for (u32 taper = 0; taper < TAPERS; taper++) {
        u32 factor = (u32)(taper_beta(taper) * 256.0), kernels[ANCHOR_LEVEL];
        u64 total = 2 * samples * (log2_fixed(factor) - log2_fixed(256));
        for (i32 level = 0; level < ANCHOR_LEVEL; level++) {
            u64 smallest = ~0ull;
            for (u32 choice = 0; choice < CHOICES; choice++) {
                const u64 size = estimates[taper][choice][level];
                if (size < smallest) {
                    smallest = size;
                    kernels[level] = choice;
                }
            }
            total += smallest;
        }
        if (total < best) {
            best = total;
            control.taper = taper;
            for (i32 level = 0; level < ANCHOR_LEVEL; level++) control.kernels[level] = kernels[level];
        }
    }
}
