// Entry of the tiles that are neither plain nor whole, a block for each. Twin: src/stage/tile.rs.
#pragma once
#include "whole_tiles.cuh"

// Warps of a block, which has a tile.
constexpr i32 OTHER_WARPS = 2;

template <typename T>
struct TileShared {
    typename Real<T>::Pair values[CLOSED * CLOSED];
    T limits[TILE_VERTICES];  // by position
    u32 nonfinite[CLOSED * 2];
    u32 zero[TILE], fill[TILE];
    u32 costs[3];  // of each block of the symbols: coarse, middle, fine
    alignas(16) u8 symbols[TILE_VERTICES];
};

// What the code of a vertex adds to the tallies.
template <typename T>
struct Added {
    T error;
    u32 symbol, cost;
};

// Keeps a vertex of a tile that is coded.
template <typename T>
__device__ __forceinline__ Added<T> keep_vertex(const Job& job, TileShared<T>& shared, u64 tile, u32 place, const CodedVertex<T>& v) {
    const i32 x = place & 31, y = place >> 5 & 31, position = place >> 10;
    shared.values[y * CLOSED + x] = v.value;
    shared.symbols[position] = (u8)v.symbol;
    if (v.symbol >= FIRST_WITH_RAW_BITS && v.symbol != STORED) reinterpret_cast<u64*>(job.payload)[tile * TILE_VERTICES + position] = v.raw;
    return {v.error, v.symbol, v.symbol == SYMBOL_ZERO ? 0 : v.cost};
}

// A vertex (x | y << 5 | position << 10) whose first code is not a small one or fails, without signatures.
template <typename T, typename P = typename Real<T>::Pair>
__device__ __noinline__ Added<T> keep_slowly(const Job& job, TileShared<T>& shared, u64 tile, u32 place, P prediction, i32 level) {
    const P original = shared.values[(place >> 5 & 31) * CLOSED + (place & 31)];
    const T limit = shared.limits[place >> 10];
    return keep_vertex(job, shared, tile, place, code_vertex_of<T>(original, prediction, level, &control_of(job).quantizer, limit));
}

// The vertices of a warp that wait, one after the other: the first id that keeps the bound, and where the
// limit is tight that and the signatures around. Lane 6 i + k tries an id on triangle k. By all lanes, with
// a place as above, or 0 where nothing waits.
template <typename T, typename P = typename Real<T>::Pair>
__device__ __noinline__ Added<T> settle(const Job& job, TileShared<T>& shared, u64 tile, i32 last_x, i32 last_y, u32 my_place,
                                        P my_prediction, i32 level) {
    constexpr i32 AT_ONCE = 5;
    typedef Real<T> R;
    const i32 lane = threadIdx.x & 31, slot = lane / 6, k = lane - 6 * slot;
    const Control& control = control_of(job);
    const Quantizer& q = control.quantizer;
    const T accept = (T)q.accept;
    const Patch<T> patch = {shared.values, CLOSED, last_x + 1, last_y + 1, control.nonfinite ? shared.nonfinite : nullptr, 2};
    const Rule rule = rule_of(job);
    Added<T> mine = {T(0), STORED, 0};
    for (u32 left = __ballot_sync(FULL, my_place != 0); left; left &= left - 1) {
        const i32 owner = __ffs(left) - 1;
        const u32 place = __shfl_sync(FULL, my_place, owner);
        const i32 x = place & 31, y = place >> 5 & 31;
        const P prediction = R::pair(__shfl_sync(FULL, my_prediction.x, owner), __shfl_sync(FULL, my_prediction.y, owner));
        const T limit = shared.limits[place >> 10];
        const P original = shared.values[y * CLOSED + x];
        CodedVertex<T> found = {original, T(0), STORED, 3 + 16 * sizeof(T), 0};
#pragma unroll 1
        for (i32 first = 0; first < IDS; first += AT_ONCE) {
            const i32 id = first + slot;
            bool ends = false, passes = false;
            P value = original;
            T cu = 0, cv = 0, error = 0;
            if (slot < AT_ONCE && id < IDS) {
                const T width = (T)q.width[level][id], inverse = (T)q.inverse[level][id];
                ends = !encode_residual(original.x, prediction.x, inverse, width, cu, value.x);
                ends |= !encode_residual(original.y, prediction.y, inverse, width, cv, value.y);
                error = R::high(R::abs(value.x - original.x), R::abs(value.y - original.y));
                passes = !ends && (error == T(0) || (error <= accept && error < limit));
                if (passes && error != T(0) && is_tight(limit)) passes = keeps_signature(patch, x, y, value, rule, k);
            }
            // All six lanes of an id have to agree.
            const u32 passed = __ballot_sync(FULL, passes), ended = __ballot_sync(FULL, ends);
            i32 from = -1;
#pragma unroll
            for (i32 i = AT_ONCE - 1; i >= 0; i--)
                if ((passed >> 6 * i & 63) == 63 || (ended >> 6 * i & 1)) from = 6 * i;
            if (from < 0) continue;
            if (!(ended >> from & 1) && lane == from) {
                found.value = value;
                found.error = error;
                const Symbol s = symbol_of({id, (i32)cu, (i32)cv});
                found.symbol = s.symbol;
                found.raw = s.raw;
                found.cost = 3 + s.bits;
            }
            // The lane that found it speaks for all.
            found.value = R::pair(__shfl_sync(FULL, found.value.x, from), __shfl_sync(FULL, found.value.y, from));
            found.error = __shfl_sync(FULL, found.error, from);
            found.symbol = __shfl_sync(FULL, found.symbol, from);
            found.cost = __shfl_sync(FULL, found.cost, from);
            found.raw = __shfl_sync(FULL, found.raw, from);
            break;
        }
        __syncwarp();
        if (lane == owner) mine = keep_vertex(job, shared, tile, place, found);
    }
    return mine;
}

// One tile by a block, whatever its shape and values.
template <typename T>
__device__ __forceinline__ void tile(const Job& job, const Control& control, T accept, TileShared<T>& shared, u64 index, u32& exact,
                                     T& max_error) {
    typedef typename Real<T>::Pair P;
    typedef Real<T> R;
    constexpr i32 THREADS = 32 * OTHER_WARPS, ROWS = 9;
    const i32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5, thread = threadIdx.x;
    const TileShape shape = tile_shape(job, index);
    const i32 width = shape.last_x + 1, height = shape.last_y + 1, ox = shape.owned_x(), oy = shape.owned_y();
    P* const values = shared.values;
    const bool has_nonfinite = control.nonfinite != 0, has_special = has_nonfinite || control.zero != 0;
    const bool speculative = job.mode == SPECULATIVE && job.preserve != PRESERVE_NONE;
    u8* const symbols = job.symbols + index * TILE_VERTICES;

    // Limits of the vertices inside, and the sides of the tile, which are final.
    const T* const limits = limits_of<T>(job, index);
    const u64 limited = nearness_of(job, index).limited;
#pragma unroll 4
    for (i32 k = 0; k < TILE_VERTICES; k += THREADS) shared.limits[k + thread] = limit_of(limits, limited, k + thread);
    for (i32 side = warp; side < 2; side += OTHER_WARPS) {
        const bool down = side == 1;
        const i32 distance = down ? CLOSED : 1, length = down ? height : width, across = down ? width : height;
        const u64 n = down ? job.ny : job.nx;
        const P* const from = down ? reinterpret_cast<const P*>(job.down) + shape.tx * n + shape.y0
                                   : reinterpret_cast<const P*>(job.across) + shape.ty * n + shape.x0;
        // The first corner lies on the horizontal line.
        if (lane >= side && lane < length) values[lane * distance] = from[lane];
        if (lane < length && across == CLOSED) values[lane * distance + (down ? TILE : TILE * CLOSED)] = from[n + lane];
    }
    if (thread == 0 && width == CLOSED && height == CLOSED)
        values[TILE * CLOSED + TILE] = reinterpret_cast<const P*>(job.anchors)[index + job.tiles_x + 1];
    // Zeros where a tile at the border has no vertices.
    if (ox < TILE || oy < TILE)
        for (i32 k = thread; k < TILE_VERTICES / 4; k += THREADS) reinterpret_cast<u32*>(shared.symbols)[k] = 0;
    if (thread < 3) shared.costs[thread] = 0;
    if (has_nonfinite)
        for (i32 y = thread; y < CLOSED; y += THREADS) {
            bool odd = false;
            if (width == CLOSED && y < height)
                odd = !(R::finite(*vertex_at<T>(job.u, job.u_layout, shape.x0 + TILE, shape.y0 + y)) &&
                        R::finite(*vertex_at<T>(job.v, job.v_layout, shape.x0 + TILE, shape.y0 + y)));
            shared.nonfinite[2 * y + 1] = odd;
        }
    // Originals inside, and masks by row, some rows at a time.
    const T* u = vertex_at<T>(job.u, job.u_layout, shape.x0 + (lane < width ? lane : 0), shape.y0 + warp);
    const T* v = vertex_at<T>(job.v, job.v_layout, shape.x0 + (lane < width ? lane : 0), shape.y0 + warp);
#pragma unroll 1
    for (i32 start = warp; start < CLOSED; start += OTHER_WARPS * ROWS) {
        P rows[ROWS];
#pragma unroll
        for (i32 i = 0; i < ROWS; i++) {
            rows[i] = R::pair(T(0), T(0));
            if (start + OTHER_WARPS * i < height) rows[i] = R::pair(*u, *v);
            u += OTHER_WARPS * job.u_layout.pitch;
            v += OTHER_WARPS * job.v_layout.pitch;
        }
#pragma unroll
        for (i32 i = 0; i < ROWS; i++) {
            const i32 y = start + OTHER_WARPS * i;
            if (y >= CLOSED) continue;
            P value = rows[i];
            if (has_special) {
                const bool here = lane < width && y < height, finite_ = R::finite(value.x) && R::finite(value.y);
                const bool filled = !finite_ && R::bits(value.x) == control.fill[0] && R::bits(value.y) == control.fill[1];
                const u32 z = __ballot_sync(FULL, here && is_zero<T>(value));
                const u32 nf = __ballot_sync(FULL, here && !finite_), f = __ballot_sync(FULL, here && filled);
                if (lane == 0) {
                    shared.nonfinite[2 * y] = nf;
                    if (y < TILE) {
                        shared.zero[y] = z;
                        shared.fill[y] = f;
                    }
                }
                if (!finite_) value = R::pair(T(0), T(0));
            }
            if (lane > 0 && lane < width && y > 0 && y < TILE && y < height) values[y * CLOSED + lane] = value;
        }
    }
    __syncthreads();

    u32 mode = 0;
    if (has_special) {
        const u32 owned = (u32)(ox * oy), z = lane < oy ? shared.zero[lane] : 0, f = lane < oy ? shared.fill[lane] : 0;
        const u32 zeros = warp_sum(__popc(z)), fills = warp_sum(__popc(f));
        mode = 3 * (zeros == 0 ? MASK_NONE : zeros == owned ? MASK_ALL : MASK_SOME) +
               (fills == 0 ? MASK_NONE : fills == owned ? MASK_ALL : MASK_SOME);
        if (mode != 0 && warp == 0) {
            job.masks[index * 64 + lane] = z;
            job.masks[index * 64 + TILE + lane] = f;
        }
    }
    u32 info = mode == 0 && ox == TILE && oy == TILE ? mode | ALL_CODED : mode;
    if (!has_codes(mode)) {
        if (thread == 0) job.info[index] = info;
        return;
    }

    // The symbols of the lines, and their part of the cost of each block. The first warp goes ahead with
    // the coarse levels.
    u32 coarse_cost = 0, middle_cost = 0, fine_cost = 0;
    auto charge = [&](u32 symbol, i32 position) {
        const u32 cost = 3 + raw_bits(symbol, position, sizeof(T));
        if (position >= 256)
            fine_cost += cost;
        else if (position >= 64)
            middle_cost += cost;
        else
            coarse_cost += cost;
    };
    if (warp == OTHER_WARPS - 1) {
        if (lane == 0) {
            const u32 s = anchor_symbol(job, shape, index, reinterpret_cast<u64*>(job.payload)[index * TILE_VERTICES]);
            shared.symbols[0] = (u8)s;
            if (s != SYMBOL_ZERO) charge(s, 0);
        } else {
#pragma unroll
            for (i32 axis = 0; axis < 2; axis++) {
                const i32 x = axis == 0 ? lane : 0, y = axis == 0 ? 0 : lane, position = position_of(x, y);
                const u32 s = x < ox && y < oy ? symbols[position] : SYMBOL_ZERO;
                shared.symbols[position] = (u8)s;
                if (s != SYMBOL_ZERO) charge(s, position);
            }
        }
    }

    // The interior.
    const Patch<T> patch = {values, CLOSED, width, height, has_nonfinite ? shared.nonfinite : nullptr, 2};
    block_interior<T, THREADS>(
        values, shape.last_x, shape.last_y, control.kernels, control.quantizer,
        [&](i32 level, T w, T inverse, i32 position, bool active, i32 x, i32 y, P prediction) {
            const u32 place = (u32)(x | y << 5 | position << 10);
            auto add = [&](const Added<T>& added) {
                max_error = R::high(max_error, added.error);
                if (level == 0)
                    fine_cost += added.cost;
                else if (level == 1)
                    middle_cost += added.cost;
                else
                    coarse_cost += added.cost;
            };
            // Nothing of the common case stays for the calls of the others.
            bool waits = false, slow = false;
            if (active && has_special && ((shared.zero[y] | shared.nonfinite[2 * y]) >> x & 1)) {
                const bool stored = !((shared.zero[y] | shared.fill[y]) >> x & 1);
                shared.symbols[position] = (u8)(stored ? STORED : SYMBOL_ZERO);
                add({T(0), 0, stored ? 3 + 16 * (u32)sizeof(T) : 0});
            } else if (active) {
                const P original = values[y * CLOSED + x];
                const T limit = shared.limits[position];
                P value;
                T cu, cv;
                bool ok = encode_residual(original.x, prediction.x, inverse, w, cu, value.x);
                ok &= encode_residual(original.y, prediction.y, inverse, w, cv, value.y);
                const T error = R::high(R::abs(value.x - original.x), R::abs(value.y - original.y));
                ok &= error <= accept && error < limit;
                if (speculative && is_tight(limit)) ok = ok && stays_one_sided<T>(patch, x, y, value);
                waits = !ok && speculative;
                slow = !waits && !(ok && R::high(R::abs(cu), R::abs(cv)) <= T(SMALL));
                if (!waits && !slow) {
                    const u32 symbol = small_symbol((i32)cu, (i32)cv);
                    values[y * CLOSED + x] = value;
                    shared.symbols[position] = (u8)symbol;
                    add({error, 0, symbol == SYMBOL_ZERO ? 0u : 3u});
                }
            }
            if (slow) {
                const Added<T> added = keep_slowly<T>(job, shared, index, place, prediction, level);
                add(added);
                exact += added.symbol == STORED;
            }
            if (__any_sync(FULL, waits)) {
                const Added<T> added = settle<T>(job, shared, index, shape.last_x, shape.last_y, waits ? place : 0, prediction, level);
                if (waits) {
                    add(added);
                    exact += added.symbol == STORED;
                }
            }
        });
    coarse_cost = warp_sum(coarse_cost);
    middle_cost = warp_sum(middle_cost);
    fine_cost = warp_sum(fine_cost);
    if (lane == 0) {
        atomicAdd(&shared.costs[0], coarse_cost);
        atomicAdd(&shared.costs[1], middle_cost);
        atomicAdd(&shared.costs[2], fine_cost);
    }
    __syncthreads();

    // Classes, and the symbols of blocks that are not all zero.
    u32 active[3] = {64, 192, 768};
    if (mode != 0 || ox < TILE || oy < TILE) {
        // Coarse vertices have coordinates that are multiples of 4, middle ones of 2.
        u32 row = lane < oy ? row_mask(ox) : 0;
        if (has_special) row &= lane < oy ? ~(shared.zero[lane] | shared.fill[lane]) : 0;
        const u32 by_four = warp_sum(lane & 3 ? 0 : __popc(row & 0x11111111)), by_two = warp_sum(lane & 1 ? 0 : __popc(row & 0x55555555));
        active[0] = by_four;
        active[1] = by_two - by_four;
        active[2] = warp_sum(__popc(row)) - by_two;
    }
    const u32 coarse = class_of(shared.costs[0], active[0]), middle = class_of(shared.costs[1], active[1]), fine = class_of(shared.costs[2], active[2]);
    const u32* const from = reinterpret_cast<const u32*>(shared.symbols);
    u32* const to = reinterpret_cast<u32*>(symbols);
    for (i32 k = thread; k < TILE_VERTICES / 4; k += THREADS)
        if (k >= 64 ? fine : k >= 16 ? middle : coarse) to[k] = from[k];
    if (thread == 0) job.info[index] = info | coarse << 8 | middle << 16 | fine << 24;
}

// Grid: any. Block: 32 * warps. Tiles that are neither plain nor whole, in any order. There are few, each
// of which takes long: the next kernel works beside this one.
template <typename T>
__device__ __forceinline__ void other_tiles(const Job& job) {
    __shared__ TileShared<T> shared;
    Control& control = control_of(job);
    const T accept = (T)control.quantizer.accept;
    const u64 count = control.other_tiles;
    const u64* const list = job.group_sizes + control.plain_tiles;
    u32 exact = 0;
    T max_error = 0;
    for (u64 k = blockIdx.x; k < count; k += gridDim.x) {
        tile<T>(job, control, accept, shared, list[k], exact, max_error);
        __syncthreads();
    }
    report_tally<T>(control, exact, 0, max_error);
}
