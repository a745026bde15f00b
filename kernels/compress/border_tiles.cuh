// Border tiles: at the edge of the grid, or with zeros or missing values; in the speculative mode also those
// with bounds off the lattice lines. A block per tile.
#pragma once
#include "compress/interior_tiles.cuh"

// Coordinates by position, x | y << 6, and from bit 12 on which neighbours of the same level exist: before
// and after along the line, or left, right, above, below. Behind the positions of the tile, the vertices of
// its far sides, levels from coarse to fine.
struct VertexPlaces {
    u16 at[TILE_VERTICES + 2 * (TILE - 1)];
};
constexpr VertexPlaces make_vertex_places() {
    VertexPlaces places = {};
    for (i32 bits = 0; bits < 5; bits++) {
        const i32 n = 1 << bits, count = n * n, level = 4 - bits;
        for (i32 m = 0; m < 3 * count + 2 * n; m++) {
            const bool far = m >= 3 * count, centred = m >= 2 * count && !far,
                       vertical = far ? m - 3 * count >= n : m >= count && !centred;
            const i32 i = m & (n - 1), j = far ? n : m >> bits & (n - 1), a = vertical && !far ? j : i,
                      b = vertical && !far ? i : j;
            const i32 x = (centred ? 2 * i + 1 : vertical ? 2 * b : 2 * a + 1) << level;
            const i32 y = (centred ? 2 * j + 1 : vertical ? 2 * a + 1 : 2 * b) << level;
            const i32 near = centred ? (i > 0) | (i < n - 1) << 1 | (j > 0) << 2 | (j < n - 1) << 3
                                     : (a > 0) | (a < n - 1) << 1;
            places.at[far ? TILE_VERTICES + 2 * n - 2 + m - 3 * count : count + m] =
                (u16)(x | y << 6 | near << 12);
        }
    }
    return places;
}
static __device__ const VertexPlaces VERTEX_PLACES = make_vertex_places();

template <typename T>
struct BorderTile {
    typename Real<T>::Pair values[CLOSED * CLOSED];
    T vertex_bounds[TILE_VERTICES +
                    2 * TILE];  // by position; then those of the far sides by distance from the corner
    u32 zero[TILE], fill[TILE], missing[CLOSED * 2];
    TileOutput places;
    u32 upper_cost, fine_cost;  // coarse + (middle << 16); fine
    LargestError known;
};

template <typename T>
__device__ __forceinline__ TileWindow<T> window_of(
    BorderTile<T>& shared, i32 last_x, i32 last_y, bool any_missing) {
    return {shared.values, CLOSED, last_x + 1, last_y + 1, any_missing ? shared.missing : nullptr, 2};
}

// Prediction if not all neighbours lie in the grid.
template <typename T, typename P = typename Real<T>::Pair>
__device__ __noinline__ P predict_at_border(const P* values, u32 choice, bool centred, bool vertical, i32 x,
    i32 y, i32 step, i32 last_x, i32 last_y) {
    const Interpolant<T> interpolant = interpolant_of<T>(choice);
    if (centred) return centre<T>(interpolant, values, CLOSED, x, y, step, last_x, last_y);
    return along<T>(interpolant, values, y * CLOSED + x, vertical ? step * CLOSED : step, vertical ? y : x,
        step, vertical ? last_y : last_x);
}

// Prediction along a line inside the grid.
template <typename T, typename P = typename Real<T>::Pair>
__device__ __forceinline__ P predict_along(
    const Interpolant<T>& interpolant, const P* here, i32 distance, u32 near) {
    const bool has_a = near & 1, has_d = near >> 1 & 1;
    const P *b = here - distance, *c = here + distance;
    return predict<T>(outer_of<T>(interpolant, has_a, has_d), b[2 * distance * outer_left(has_a, has_d)], *b,
        *c, b[2 * distance * outer_right(has_a, has_d)]);
}

// Result of settle for one vertex.
template <typename T>
struct SettledVertex {
    typename Real<T>::Pair value;
    T error;
    u32 symbol, cost;
    u64 raw;
};

// Codes the waiting vertices of a warp one by one: the first refinement that keeps the bound and, if the
// vertex is constrained, the signatures around it. Lane 6 i + k tries refinement i of five on triangle k.
// my_place: x | y << 6, or 0 if the lane's vertex does not wait. Call with a warp.
template <typename T, typename P = typename Real<T>::Pair>
__device__ __noinline__ SettledVertex<T> settle(const Job& job, const Steps<T>& steps, BorderTile<T>& shared,
    i32 last_x, i32 last_y, bool any_missing, u32 my_place, P my_prediction, T my_bound, i32 level) {
    constexpr i32 AT_ONCE = 5;
    typedef Real<T> R;
    const i32 lane = threadIdx.x & 31, slot = lane / 6, k = lane - 6 * slot;
    const T accept = steps.accept;
    const TileWindow<T> window = window_of(shared, last_x, last_y, any_missing);
    const Rule rule = rule_of(job);
    SettledVertex<T> mine = {R::pair(T(0), T(0)), T(0), STORED, 0, 0};
    for (u32 left = __ballot_sync(FULL, my_place != 0); left; left &= left - 1) {
        const i32 owner = __ffs(left) - 1;
        const u32 place = __shfl_sync(FULL, my_place, owner);
        const i32 x = place & 63, y = place >> 6;
        const P prediction =
            R::pair(__shfl_sync(FULL, my_prediction.x, owner), __shfl_sync(FULL, my_prediction.y, owner));
        const T vertex_bound = __shfl_sync(FULL, my_bound, owner);
        const P original = window.values[y * CLOSED + x];
        SettledVertex<T> found = {original, T(0), STORED, 3 + 16 * sizeof(T), 0};
#pragma unroll 1
        for (i32 first = 0; first < REFINEMENTS; first += AT_ONCE) {
            const i32 refinement = first + slot;
            bool ends = false, passes = false;
            P value = original;
            T cu = 0, cv = 0, error = 0;
            if (slot < AT_ONCE && refinement < REFINEMENTS) {
                const P step = steps.level[level].step[refinement];
                ends = !encode_residual(original.x, prediction.x, step.y, step.x, cu, value.x);
                ends |= !encode_residual(original.y, prediction.y, step.y, step.x, cv, value.y);
                error = R::high(R::abs(value.x - original.x), R::abs(value.y - original.y));
                passes = !ends && (error == T(0) || (error <= accept && error < vertex_bound));
                if (passes && error != T(0) && is_constrained(vertex_bound))
                    passes = keeps_signature(window, x, y, value, rule, k);
            }
            // All six lanes of a refinement must agree.
            const u32 passed = __ballot_sync(FULL, passes), ended = __ballot_sync(FULL, ends);
            i32 from = -1;
#pragma unroll
            for (i32 i = AT_ONCE - 1; i >= 0; i--)
                if ((passed >> 6 * i & 63) == 63 || (ended >> 6 * i & 1)) from = 6 * i;
            if (from < 0) continue;
            if (!(ended >> from & 1) && lane == from) {
                found.value = value;
                found.error = error;
                const Symbol s = symbol_of({refinement, (i32)cu, (i32)cv});
                found.symbol = s.symbol;
                found.raw = s.raw;
                found.cost = s.symbol == SYMBOL_ZERO ? 0 : 3 + s.bits;
            }
            // Broadcast the result of the lane that found it.
            found.value =
                R::pair(__shfl_sync(FULL, found.value.x, from), __shfl_sync(FULL, found.value.y, from));
            found.error = __shfl_sync(FULL, found.error, from);
            found.symbol = __shfl_sync(FULL, found.symbol, from);
            found.cost = __shfl_sync(FULL, found.cost, from);
            found.raw = __shfl_sync(FULL, found.raw, from);
            break;
        }
        if (lane == owner) mine = found;
    }
    return mine;
}

// Codes one tile of any shape by a block. SIGNATURES: speculative mode.
template <typename T, bool SIGNATURES>
__device__ __forceinline__ void code_border_tile(const Job& job, const Control& control,
    const Steps<T>& steps, BorderTile<T>& shared, u64 index, u32& exact, T& max_error) {
    const QuantizeView<T> work(job);
    typedef typename Real<T>::Pair P;
    typedef Real<T> R;
    constexpr i32 THREADS = 32 * BORDER_WARPS;
    // Warp 0 has the coarse levels to itself. Alternate between the two warps to balance the schedulers.
    const i32 thread = (i32)(threadIdx.x ^ (__popc(blockIdx.x) & 1) << 5), lane = thread & 31,
              warp = thread >> 5;
    const TileShape shape = tile_shape(job, index);
    const i32 last_x = shape.last_x, last_y = shape.last_y, width = last_x + 1, height = last_y + 1,
              ox = shape.owned_x(), oy = shape.owned_y();
    const bool inside = width == CLOSED && height == CLOSED;
    const bool any_missing = has_missing(control), has_special = any_missing || control.zero != 0,
               lossless = steps.lossless;
    P* const values = shared.values;
    u8* const symbols = work.symbols() + index * TILE_VERTICES;

    // Start all loads at once: the originals;
    {
        const T* u = vertex_at<T>(job.u, job.u_layout, shape.x0 + lane, shape.y0 + warp);
        const T* v = vertex_at<T>(job.v, job.v_layout, shape.x0 + lane, shape.y0 + warp);
        P* to = values + warp * CLOSED + lane;
#pragma unroll 4
        for (i32 y = warp; y < height; y += BORDER_WARPS) {
            if (lane < width) {
                copy_ahead<sizeof(T)>(&to->x, u);
                copy_ahead<sizeof(T)>(&to->y, v);
            }
            u += BORDER_WARPS * job.u_layout.pitch;
            v += BORDER_WARPS * job.v_layout.pitch;
            to += BORDER_WARPS * CLOSED;
        }
        if (width == CLOSED)
            for (i32 y = thread; y < height; y += THREADS) {
                copy_ahead<sizeof(T)>(&values[y * CLOSED + TILE].x,
                    vertex_at<T>(job.u, job.u_layout, shape.x0 + TILE, shape.y0 + y));
                copy_ahead<sizeof(T)>(&values[y * CLOSED + TILE].y,
                    vertex_at<T>(job.v, job.v_layout, shape.x0 + TILE, shape.y0 + y));
            }
        if (thread == 0) expect_largest_error(control, shared.known);
        end_of_copies();
    }
    // the corners, which are final;
    P corner = R::pair(T(0), T(0));
    const i32 corner_at = (lane & 1 ? TILE : 0) + (lane & 2 ? TILE * CLOSED : 0);
    const bool has_corner =
        thread < 4 && (!(lane & 1) || width == CLOSED) && (!(lane & 2) || height == CLOSED);
    if (has_corner) corner = work.anchors()[index + (lane & 1) + (lane & 2 ? job.tiles_x : 0)];
    // and the bounds; those of the far sides belong to the next tiles.
    const T* const vertex_bounds = vertex_bounds_of<T>(job, index);
    const u64 bounded = nearness_of(job, index).bounded;
#pragma unroll
    for (i32 k = 0; k < TILE_VERTICES; k += THREADS) {
        // The bounds of the first column are always stored.
        const bool first_column =
            k >= TILE_VERTICES / 2 && k < 3 * TILE_VERTICES / 4 && thread % BOUND_CHUNK == 0;
        shared.vertex_bounds[k + thread] =
            vertex_bound_of(vertex_bounds, first_column ? ~0ull : bounded, k + thread);
    }
    for (i32 side = warp; side < 2 && !SIGNATURES; side += BORDER_WARPS) {
        const bool exists = (side == 0 ? height : width) == CLOSED;
        const u64 behind = side == 0 ? index + job.tiles_x : index + 1;
        T vertex_bound = no_bound<T>();
        if (exists && nearness_of(job, behind).kind != UNCONSTRAINED_TILE)
            vertex_bound =
                vertex_bounds_of<T>(job, behind)[side == 0 ? position_of(lane, 0) : position_of(0, lane)];
        shared.vertex_bounds[TILE_VERTICES + TILE * side + lane] = vertex_bound;
    }
    if (thread == 0) {
        shared.upper_cost = shared.fine_cost = 0;
        shared.places = {symbols, work.raw() + index * TILE_VERTICES};
    }
    // Later only non-zero symbols are written; in the speculative mode all symbols of existing vertices.
    if (!SIGNATURES)
        words_at<uint4>(symbols)[thread] = make_uint4(0, 0, 0, 0);
    else if (ox < TILE || oy < TILE)
        for (i32 k = thread; k < TILE_VERTICES; k += THREADS) {
            i32 x, y;
            place_of(k, x, y);
            if (x >= ox || y >= oy) symbols[k] = 0;
        }
    wait_for_copies<0>();
    __syncthreads();

    // Masks by row. From here on a vertex is zero if and only if it has no code.
    u32 mask_state = 0;
    if (has_special) {
#pragma unroll 4
        for (i32 y = warp; y < height; y += BORDER_WARPS) {
            P* const here = values + y * CLOSED + lane;
            P value = R::pair(T(1), T(1));
            if (lane < width) value = *here;
            u32 z =
                __ballot_sync(FULL, is_zero<T>(value) && !(lossless && has_negative_zero(value.x, value.y)));
            u32 f = 0, nf = 0;
            if (any_missing) {
                const bool missing = is_missing(value.x, value.y, job.fill);
                const bool filled =
                    missing && R::bits(value.x) == control.fill[0] && R::bits(value.y) == control.fill[1];
                f = __ballot_sync(FULL, filled);
                nf = __ballot_sync(FULL, missing);
                z &= ~nf;
                if (missing) *here = R::pair(T(0), T(0));
            }
            if (lane == 0) shared.missing[2 * y] = nf;
            if (lane == 0 && y < TILE) {
                shared.zero[y] = z;
                shared.fill[y] = f;
            }
        }
        if (any_missing)
            for (i32 y = thread; y < height; y += THREADS) {
                P& value = values[y * CLOSED + TILE];
                const bool odd = width == CLOSED && is_missing(value.x, value.y, job.fill);
                shared.missing[2 * y + 1] = odd;
                if (odd) value = R::pair(T(0), T(0));
            }
        __syncthreads();
        const u32 owned = (u32)(ox * oy), z = lane < oy ? shared.zero[lane] : 0,
                  f = lane < oy ? shared.fill[lane] : 0;
        const u32 zeros = warp_sum(__popc(z)), fills = warp_sum(__popc(f));
        mask_state = 3 * (zeros == 0          ? MASK_NONE
                             : zeros == owned ? MASK_ALL
                                              : MASK_SOME) +
                     (fills == 0          ? MASK_NONE
                         : fills == owned ? MASK_ALL
                                          : MASK_SOME);
        if (mask_state != 0 && warp == 0) {
            work.masks()[index * 64 + lane] = z;
            work.masks()[index * 64 + TILE + lane] = f;
        }
    }
    const u32 info = mask_state == 0 && ox == TILE && oy == TILE ? mask_state | ALL_CODED : mask_state;
    if (!has_codes(mask_state)) {
        if (thread == 0) work.headers()[index] = info;
        return;
    }

    u32 upper_cost = 0, fine_cost = 0;
    auto charge = [&](u32 cost, i32 position) {
        if (position >= 256)
            fine_cost += cost;
        else
            upper_cost += position >= 64 ? cost << 16 : cost;
    };
    if (has_corner) values[corner_at] = corner;
    if (SIGNATURES) {
        // Final values of the sides.
        for (i32 side = warp; side < 2; side += BORDER_WARPS) {
            const bool down = side == 1;
            const i32 distance = down ? CLOSED : 1, length = down ? height : width;
            const u64 n = down ? job.ny : job.nx;
            const P* const from = down ? work.column_lines() + shape.tx * n + shape.y0
                                       : work.row_lines() + shape.ty * n + shape.x0;
            // The corners are at hand.
            if (lane > 0 && lane < length) {
                values[lane * distance] = from[lane];
                if ((down ? width : height) == CLOSED)
                    values[lane * distance + (down ? TILE : TILE * CLOSED)] = from[n + lane];
            }
        }
        __syncthreads();
    }
    // The other warp codes the anchor while warp 0 starts with the coarse levels.
    if (warp == BORDER_WARPS - 1) {
        if (lane == 0) {
            const u32 s = anchor_symbol(job, shape, index, work.raw()[index * TILE_VERTICES]);
            symbols[0] = (u8)s;
            if (s != SYMBOL_ZERO) charge(3 + raw_bits(s, 0, sizeof(T)), 0);
        } else if (SIGNATURES) {
#pragma unroll
            for (i32 axis = 0; axis < 2; axis++) {
                const i32 x = axis == 0 ? lane : 0, y = axis == 0 ? 0 : lane, position = position_of(x, y);
                const u32 s = x < ox && y < oy ? symbols[position] : SYMBOL_ZERO;
                if (s != SYMBOL_ZERO) charge(3 + raw_bits(s, position, sizeof(T)), position);
            }
        }
    }
    __syncwarp();
    const TileWindow<T> window = window_of(shared, last_x, last_y, any_missing);
#pragma unroll 1
    for (i32 level = ANCHOR_LEVEL - 1; level >= 0; level--) {
        const i32 bits = 4 - level, n = 1 << bits, count = n * n;
        const u32 choice = steps.interpolants[level];
        const Interpolant<T> interpolant = interpolant_of<T>(choice);
        // Phases 0 and 1 depend on coarser vertices only and share triangles only at the finest level: above
        // it they go together. Far sides come last.
        i32 start = SIGNATURES && level == ANCHOR_LEVEL - 1 ? 2 * count : 0;
#pragma unroll 1
        while (start < 3 * count) {
            const bool centred = start == 2 * count;
            const i32 next = start + (centred || (SIGNATURES && level == 0) ? count : 2 * count),
                      end = next + (centred || SIGNATURES ? 0 : 2 * n);
#pragma unroll 1
            for (i32 m = start + thread; m - lane < end; m += THREADS) {
                const bool far = !SIGNATURES && !centred && m >= 2 * count,
                           vertical = !centred && (m >> (far ? bits : 2 * bits) & 1);
                const i32 position = count + m;
                const u32 place = VERTEX_PLACES.at[m >= end ? 0
                                                   : far    ? TILE_VERTICES - 2 + 2 * n - 2 * count + m
                                                            : position],
                          near = place >> 12;
                const i32 x = place & 63, y = place >> 6 & 63;
                const bool active =
                    m < end && x <= last_x && y <= last_y && (!SIGNATURES || (x > 0 && y > 0));
                if (!SIGNATURES && !active) continue;
                P* const here = values + y * CLOSED + x;
                P original = R::pair(T(0), T(0)), prediction = original;
                if (active) original = *here;
                T vertex_bound = no_bound<T>();
                P value = original;
                T error = 0;
                u32 symbol = SYMBOL_ZERO, cost = 0;
                u64 raw = 0;
                bool waits = false;
                // A vertex that keeps its sign is stored.
                const bool keeps_sign = lossless && active && has_negative_zero(original.x, original.y);
                if (is_zero<T>(original) && !keeps_sign) {
                    if (active && any_missing && !far && (shared.missing[2 * y] & ~shared.fill[y]) >> x & 1) {
                        symbol = STORED;
                        cost = 3 + 16 * sizeof(T);
                    }
                    if (!SIGNATURES && symbol == STORED) {
                        symbols[position] = (u8)symbol;
                        charge(cost, position);
                    }
                } else {
                    vertex_bound =
                        shared.vertex_bounds[far ? TILE_VERTICES + (vertical ? TILE + y : x) : position];
                    if (!inside) {
                        prediction = predict_at_border<T>(
                            values, choice, centred, vertical, x, y, 1 << level, last_x, last_y);
                    } else if (centred) {
                        const i32 dx = 1 << level, dy = CLOSED << level;
                        if (interpolant.coons) {
                            const P above = pair_sum<T>(here[-dy - dx], here[-dy + dx]),
                                    below = pair_sum<T>(here[dy - dx], here[dy + dx]);
                            prediction = coons<T>(here[-dx], here[dx], here[-dy], here[dy], above, below);
                        } else {
                            prediction = half_sum<T>(predict_along<T>(interpolant, here, dx, near),
                                predict_along<T>(interpolant, here, dy, near >> 2));
                        }
                    } else {
                        prediction =
                            predict_along<T>(interpolant, here, (vertical ? CLOSED : 1) << level, near);
                    }
                    if (keeps_sign) prediction.x = R::from_bits(no_fill<T>());
                    if (SIGNATURES) {
                        const P step = steps.level[level].step[0];
                        T cu, cv;
                        bool passes = encode_residual(original.x, prediction.x, step.y, step.x, cu, value.x);
                        passes &= encode_residual(original.y, prediction.y, step.y, step.x, cv, value.y);
                        error = R::high(R::abs(value.x - original.x), R::abs(value.y - original.y));
                        passes &= error <= steps.accept && error < vertex_bound;
                        if (is_constrained(vertex_bound))
                            passes = passes && stays_one_sided<T>(window, x, y, value);
                        waits = !passes;
                        symbol = small_symbol((i32)cu, (i32)cv);
                        cost = symbol == SYMBOL_ZERO ? 0 : 3;
                        if (passes && R::high(R::abs(cu), R::abs(cv)) > T(SMALL)) {
                            const Symbol s = encode_symbol_large({0, (i32)cu, (i32)cv});
                            symbol = s.symbol;
                            cost = 3 + s.bits;
                            raw = s.raw;
                        }
                    } else {
                        // As in interior tiles.
                        const T du = R::abs(original.x - prediction.x),
                                dv = R::abs(original.y - prediction.y);
                        const T certain = R::low(steps.level[level].half_step, vertex_bound);
                        value = prediction;
                        error = R::high(du, dv);
                        if (!((du < certain) & (dv < certain))) {
                            const CodedVertex<T> v = code_vertex_of<T>(original, prediction, vertex_bound,
                                far ? -1 : position, InShared<Level<T>>(&steps.level[level]),
                                InShared<TileOutput>(&shared.places));
                            value = v.value;
                            error = v.error;
                            charge(v.cost % ONE_STORED, position);
                            exact += v.cost / ONE_STORED;
                        }
                    }
                }
                if (SIGNATURES && __any_sync(FULL, waits)) {
                    const SettledVertex<T> settled = settle<T>(job, steps, shared, last_x, last_y,
                        any_missing, waits ? x | y << 6 : 0, prediction, vertex_bound, level);
                    if (waits) {
                        value = settled.value;
                        error = settled.error;
                        symbol = settled.symbol;
                        cost = settled.cost;
                        raw = settled.raw;
                    }
                }
                if (SIGNATURES && !active) continue;
                *here = value;
                max_error = R::high(max_error, error);
                if (!SIGNATURES) continue;
                symbols[position] = (u8)symbol;
                charge(cost, position);
                if (symbol >= FIRST_WITH_RAW_BITS) {
                    if (symbol != STORED)
                        work.raw()[index * TILE_VERTICES + position] = raw;
                    else
                        exact += keeps_sign || !is_zero<T>(original);
                }
            }
            start = next;
            // Coarse levels fit into warp 0.
            if (BORDER_WARPS > 1 && (level < 3 || (level == 3 && centred)) && !(level == 0 && centred))
                __syncthreads();
            else
                __syncwarp();
        }
    }
    __syncwarp();
    upper_cost = warp_sum(upper_cost);
    fine_cost = warp_sum(fine_cost);
    if (lane == 0) {
        atomicAdd(&shared.upper_cost, upper_cost);
        atomicAdd(&shared.fine_cost, fine_cost);
    }
    __syncthreads();
    if (warp != 0) return;
    u32 active[3] = {64, 192, 768};
    if (mask_state != 0 || !inside) {
        // Vertices of the coarse block have coordinates that are multiples of 4, of the middle block
        // multiples of 2.
        u32 row = lane < oy ? row_mask(ox) : 0;
        if (has_special) row &= lane < oy ? ~(shared.zero[lane] | shared.fill[lane]) : 0;
        const u32 by_four = warp_sum(lane & 3 ? 0 : __popc(row & 0x11111111)),
                  by_two = warp_sum(lane & 1 ? 0 : __popc(row & 0x55555555));
        active[0] = by_four;
        active[1] = by_two - by_four;
        active[2] = warp_sum(__popc(row)) - by_two;
    }
    if (lane == 0)
        work.headers()[index] = info | activity_of(shared.upper_cost & 0xffff, active[0]) << 8 |
                                activity_of(shared.upper_cost >> 16, active[1]) << 16 |
                                activity_of(shared.fine_cost, active[2]) << 24;
}

// Grid: any. Block: 32 * BORDER_WARPS threads per tile. Static shared: BorderTile. Reads: the field, list of
// border tiles, anchors, vertex bounds, in the speculative mode the lattice lines. Writes: symbols, payload,
// masks, info.
template <typename T, bool SIGNATURES>
__device__ __forceinline__ void code_border_tiles(const Job& job) {
    __shared__ BorderTile<T> shared;
    __shared__ Steps<T> steps;
    Control& control = control_of(job);
    const u64 count = control.border_tiles;
    if (blockIdx.x < count) {
        const u64* const list = ListsView(job).tile_lists() + control.unconstrained_tiles;
        steps.read(job, control);
        u32 exact = 0;
        T max_error = 0;
#pragma unroll 1
        for (u64 k = blockIdx.x; k < count; k += gridDim.x)
            code_border_tile<T, SIGNATURES>(job, control, steps, shared, list[k], exact, max_error);
        report_stats<T>(control, exact, 0, max_error, shared.known.bits);
    }
}

// Overlaps the previous kernel, and waits for it at its end.
template <typename T>
__device__ __forceinline__ void border_tiles_with_bounds(const Job& job) {
    code_border_tiles<T, false>(job);
    end_beside();
}
template <typename T>
__device__ __forceinline__ void speculative_tiles(const Job& job) {
    code_border_tiles<T, true>(job);
}
