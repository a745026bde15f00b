// Entries of the tiles: plain ones, two to a warp, and the others, one to a warp.
#pragma once
#include "lines.cuh"

// Symbol of the anchor of a tile: its base code as the difference from that of the anchor before it.
static __device__ __noinline__ u32 anchor_symbol(const Job& job, const TileShape& shape, u64 index, u64& raw) {
    int4* codes = reinterpret_cast<int4*>(job.anchor_codes);
    const int4 code = codes[index];
    if (code.z > EXACT) return SYMBOL_ZERO;
    if (code.z == EXACT) return STORED;
    i32 before_u = 0, before_v = 0;
    u32 digits_u, digits_v;
    u64 at = index, x = shape.tx, y = shape.ty;
    while (x > 0 || y > 0) {
        // To the left, or upwards in the first column, to the next one that has a code.
        if (x > 0) {
            at--;
            x--;
        } else {
            at -= job.tiles_x;
            y--;
        }
        const int4 other = codes[at];
        if (other.z < EXACT) {
            split_code(other.x, other.z, before_u, digits_u);
            split_code(other.y, other.z, before_v, digits_v);
            break;
        }
    }
    i32 base_u, base_v;
    split_code(code.x, code.z, base_u, digits_u);
    split_code(code.y, code.z, base_v, digits_v);
    codes[index].w = (i32)(digits_u | digits_v << (2 * code.z));
    return encode_symbol({code.z, base_u - before_u, base_v - before_v}, raw);
}

// ---------------------------------------------------------------- plain tiles

// The first id that keeps the bound, where nothing else is asked for.
template <typename T, typename P = typename Real<T>::Pair>
__device__ __noinline__ Recoded<T> recode(P original, P prediction, i32 level, const Control* control, T accept) {
    const Quantizer& q = control->quantizer;
#pragma unroll 1
    for (i32 id = 0; id < IDS; id++) {
        const T width = (T)q.width[level][id], inverse = (T)q.inverse[level][id];
        T cu, cv, ru, rv;
        bool ok = encode_residual(original.x, prediction.x, inverse, width, cu, ru);
        ok &= encode_residual(original.y, prediction.y, inverse, width, cv, rv);
        if (!ok) break;
        const T error = Real<T>::high(Real<T>::abs(ru - original.x), Real<T>::abs(rv - original.y));
        if (error == T(0) || error <= accept) return {{id, (i32)cu, (i32)cv}, error, Real<T>::pair(ru, rv)};
    }
    return {{EXACT, 0, 0}, T(0), original};
}

template <typename T>
struct PlainPair {
    Lattice<T> lattice[2];
    alignas(16) u8 symbols[2][TILE_VERTICES];
};
template <typename T>
constexpr i32 PLAIN_WARPS = sizeof(T) == 4 ? 4 : 2;

// Cost of the symbols of a lane by block: coarse, middle, fine.
struct Costs {
    u32 coarse, middle, fine;
};

// Grid: tiles / 2 / warps. Block: 32 * warps. Tiles from the list of plain ones, half a warp for each.
template <typename T>
__device__ __forceinline__ void plain_tiles(const Job& job) {
    typedef typename Real<T>::Pair P;
    typedef Real<T> R;
    __shared__ PlainPair<T> shared_[PLAIN_WARPS<T>];
    PlainPair<T>& shared = shared_[threadIdx.x >> 5];
    Control& control = control_of(job);
    const i32 lane = threadIdx.x & (HALF - 1), half = threadIdx.x >> 4 & 1;
    const u64 first = 2 * ((u64)blockIdx.x * PLAIN_WARPS<T> + (threadIdx.x >> 5)), count = control.plain_tiles;
    if (first >= count) return;
    // A half without a tile does the other's work without a trace.
    const bool mine = first + half < count;
    const u64 index = job.group_sizes[mine ? first + half : first];
    const TileShape shape = tile_shape(job, index);
    Lattice<T>& lattice = shared.lattice[half];
    u8* const symbols = shared.symbols[half];
    u64* const payload = reinterpret_cast<u64*>(job.payload) + index * TILE_VERTICES;
    const T accept = (T)control.quantizer.accept;
    u32 exact = 0;
    T max_error = 0;
    Costs costs = {0, 0, 0};

    const u64 pitch_u = job.u_layout.pitch, pitch_v = job.v_layout.pitch, stride_u = job.u_layout.stride, stride_v = job.v_layout.stride;
    const T* const u = vertex_at<T>(job.u, job.u_layout, shape.x0, shape.y0);
    const T* const v = vertex_at<T>(job.v, job.v_layout, shape.x0, shape.y0);
    auto load = [&](i32 x, i32 y) -> P { return R::pair(u[y * pitch_u + x * stride_u], v[y * pitch_v + x * stride_v]); };
    // Originals with even coordinates and those of the sides; the final corners.
#pragma unroll
    for (i32 j = 0; j < EVEN; j++) lattice.even[j * EVEN + lane] = load(2 * lane, 2 * j);
    lattice.even[lane * EVEN + HALF] = load(TILE, 2 * lane);
    lattice.odd[TOP][lane] = load(2 * lane + 1, 0);
    lattice.odd[LEFT][lane] = load(0, 2 * lane + 1);
    lattice.odd[BOTTOM][lane] = load(2 * lane + 1, TILE);
    lattice.odd[RIGHT][lane] = load(TILE, 2 * lane + 1);
    __syncwarp();
    if (lane < 4)
        lattice.even[(lane & 1 ? HALF : 0) + (lane & 2 ? HALF * EVEN : 0)] =
            reinterpret_cast<const P*>(job.anchors)[index + (lane & 1) + (lane & 2 ? job.tiles_x : 0)];
    __syncwarp();

    // Codes a vertex: what it decodes to, and its symbol.
    auto code_value = [&](P original, P prediction, i32 level, T width, T inverse, u32& symbol, u64& raw, T& error) -> P {
        T cu, cv, ru, rv;
        bool ok = encode_residual(original.x, prediction.x, inverse, width, cu, ru);
        ok &= encode_residual(original.y, prediction.y, inverse, width, cv, rv);
        error = R::high(R::abs(ru - original.x), R::abs(rv - original.y));
        Code code = {0, (i32)cu, (i32)cv};
        P value = R::pair(ru, rv);
        if (!(ok && error <= accept)) {
            const Recoded<T> again = recode<T>(original, prediction, level, &control, accept);
            code = again.code;
            error = again.error;
            value = again.value;
        }
        symbol = code.id == EXACT ? STORED : encode_symbol(code, raw);
        return value;
    };
    auto keep = [&](u32 symbol, u64 raw, T error, i32 position, u32& cost) {
        max_error = R::high(max_error, error);
        symbols[position] = (u8)symbol;
        if (symbol == SYMBOL_ZERO) return;
        cost += 3 + raw_bits(symbol, position, sizeof(T));
        exact += symbol == STORED;
        if (symbol >= FIRST_WITH_RAW_BITS && symbol != STORED && mine) payload[position] = raw;
    };
    // The anchor's code is known; its symbol depends on the anchor before it.
    if (lane == 0) {
        u64 raw = 0;
        const u32 symbol = anchor_symbol(job, shape, index, raw);
        symbols[0] = (u8)symbol;
        if (symbol != SYMBOL_ZERO) {
            costs.coarse += 3 + raw_bits(symbol, 0, sizeof(T));
            if (mine) payload[0] = raw;
        }
    }
    lattice_sides<T>(lattice, control.kernels, control.quantizer,
                     [&](i32 side, i32 level, T width, T inverse, i32 along, P prediction, P original) -> P {
                         u32 symbol;
                         u64 raw = 0;
                         T error;
                         const P value = code_value(original, prediction, level, width, inverse, symbol, raw, error);
                         // Those on the far sides belong to other tiles.
                         if (side < BOTTOM)
                             keep(symbol, raw, error, side == TOP ? position_of(along, 0) : position_of(0, along),
                                  level == 0 ? costs.fine : level == 1 ? costs.middle : costs.coarse);
                         return value;
                     });
    lattice_even<T>(lattice, control.kernels, control.quantizer,
                    [&](i32 level, T width, T inverse, i32 position, i32, i32, P prediction, P original) -> P {
                        u32 symbol;
                        u64 raw = 0;
                        T error;
                        const P value = code_value(original, prediction, level, width, inverse, symbol, raw, error);
                        keep(symbol, raw, error, position, level == 1 ? costs.middle : costs.coarse);
                        return value;
                    });
    // Vertical lines of other tiles look at the horizontal lines beside them.
    if (mine && (lane == 0 || lane == HALF - 1))
        reinterpret_cast<P*>(job.across)[shape.ty * job.nx + shape.x0 + 2 * lane + 1] = lattice.odd[TOP][lane];

    // The finest level reads each row of originals while it codes the one before.
    const T width = (T)control.quantizer.width[0][0], inverse = (T)control.quantizer.inverse[0][0];
    P on_row = load(2 * lane + 1, 4), column = load(2 * lane, 1), between_columns = load(2 * lane + 1, 1);
    P next_on_row = on_row, next_column = column, next_between = between_columns;
    const P first_on_row = load(2 * lane + 1, 2);
    lattice_fine<T>(
        lattice, control.kernels[0],
        [&](i32 phase, i32 j, bool active, P prediction) -> P {
            if (phase == 1 && j < HALF - 1) {
                next_column = load(2 * lane, 2 * j + 3);
                next_between = load(2 * lane + 1, 2 * j + 3);
                if (j + 3 < HALF) next_on_row = load(2 * lane + 1, 2 * j + 6);
            }
            const P original = phase == 0 ? (j == 1 ? first_on_row : on_row) : phase == 1 ? column : between_columns;
            const i32 position = 256 * (1 + phase) + HALF * j + lane;
            T cu, cv, ru, rv;
            bool ok = encode_residual(original.x, prediction.x, inverse, width, cu, ru);
            ok &= encode_residual(original.y, prediction.y, inverse, width, cv, rv);
            const T error = R::high(R::abs(ru - original.x), R::abs(rv - original.y));
            ok &= error <= accept;
            if (active) max_error = ok ? R::high(max_error, error) : max_error;
            P value = R::pair(ru, rv);
            if (!__any_sync(FULL, active && (!ok || cu != T(0) || cv != T(0)))) {
                if (active) symbols[position] = SYMBOL_ZERO;
                return value;
            }
            if (!active) return value;
            u32 symbol;
            u64 raw = 0;
            T final_error = error;
            if (ok)
                symbol = encode_symbol({0, (i32)cu, (i32)cv}, raw);
            else
                value = code_value(original, prediction, 0, width, inverse, symbol, raw, final_error);
            keep(symbol, raw, final_error, position, costs.fine);
            return value;
        },
        [&](i32, P, P, P, P) {
            on_row = next_on_row;
            column = next_column;
            between_columns = next_between;
        });

    // Classes, and the symbols of blocks that are not all zero.
    for (i32 k = HALF / 2; k > 0; k /= 2) {
        costs.coarse += __shfl_xor_sync(FULL, costs.coarse, k);
        costs.middle += __shfl_xor_sync(FULL, costs.middle, k);
        costs.fine += __shfl_xor_sync(FULL, costs.fine, k);
    }
    __syncwarp();
    const u32 coarse = class_of(costs.coarse, 64), middle = class_of(costs.middle, 192), fine = class_of(costs.fine, 768);
    if (mine) {
        const u32* from = reinterpret_cast<const u32*>(symbols);
        u32* to = reinterpret_cast<u32*>(job.symbols + index * TILE_VERTICES);
        if (coarse) to[lane] = from[lane];
        if (middle)
            for (i32 k = 16 + lane; k < 64; k += HALF) to[k] = from[k];
        if (fine)
            for (i32 k = 64 + lane; k < 256; k += HALF) to[k] = from[k];
        if (lane == 0) job.info[index] = ALL_CODED | coarse << 8 | middle << 16 | fine << 24;
    }
    report_tally<T>(control, mine ? exact : 0, 0, max_error);
}

// ---------------------------------------------------------------- other tiles

template <typename T>
struct TileShared {
    typename Real<T>::Pair values[CLOSED * CLOSED];
    T limit[CLOSED * CLOSED];
    u32 nonfinite[CLOSED * 2];
    u32 zero[TILE], fill[TILE], tight[TILE];
    u16 near[96];
    alignas(16) u8 symbols[TILE_VERTICES];
};

// Warps (tiles) of a block, so that their shared memory fits 48 KB.
template <typename T>
constexpr i32 TIGHT_WARPS = sizeof(T) == 4 ? 2 : 1;

// Bounds of up to 32 triangles near the origin: y * 64 + x * 2 + triangle.
template <typename T>
__device__ __noinline__ u32 constrain_triangles(const Job& job, TileShared<T>& shared, Patch<T> patch,
                                                Constraints<T> c, i32 count) {
    u32 critical = 0;
    const i32 lane = threadIdx.x & 31;
    if (lane < count) {
        const i32 code = shared.near[lane], triangle = code & 1, x = code >> 1 & 31, y = code >> 6;
        const Corners<T> p = corner_values(patch, x, y, triangle);
        if (is_critical(signature(p, triangle, c.rule))) critical++;
        if (job.mode == BLOCK_WISE) {
            const T b = triangle_bound(p, triangle, c.rule, c.bound);
            for (i32 k = 0; k < 3; k++)
                lower_to(&shared.limit[(y + corner_y(triangle, k)) * CLOSED + x + corner_x(triangle, k)], b);
        }
    }
    __syncwarp();
    return critical;
}

// One tile by one warp, whatever its shape and values.
template <typename T>
__device__ __forceinline__ void tile(const Job& job, Control& control, const Constraints<T>& c,
                                     TileShared<T>& shared, u64 index, u32& exact, u32& critical,
                                     T& max_error) {
    typedef typename Real<T>::Pair P;
    const i32 lane = threadIdx.x & 31;
    const TileShape shape = tile_shape(job, index);
    const i32 width = shape.last_x + 1, height = shape.last_y + 1;
    P* values = shared.values;
    const bool has_nonfinite = control.nonfinite != 0, has_special = has_nonfinite || control.zero != 0;
    const Patch<T> patch = {values, CLOSED, width, height, has_nonfinite ? shared.nonfinite : nullptr, 2};
    const bool border = (job.halo | job.pin) && (shape.last_x < TILE || shape.last_y < TILE);

    const T* u = vertex_at<T>(job.u, job.u_layout, shape.x0, shape.y0);
    const T* v = vertex_at<T>(job.v, job.v_layout, shape.x0, shape.y0);
    if (width == CLOSED && height == CLOSED) {
        const T *ul = u + lane * job.u_layout.stride, *vl = v + lane * job.v_layout.stride;
#pragma unroll 11
        for (i32 y = 0; y < CLOSED; y++)
            values[y * CLOSED + lane] = Real<T>::pair(ul[y * job.u_layout.pitch], vl[y * job.v_layout.pitch]);
        values[lane * CLOSED + TILE] =
            Real<T>::pair(u[lane * job.u_layout.pitch + TILE * job.u_layout.stride],
                          v[lane * job.v_layout.pitch + TILE * job.v_layout.stride]);
        if (lane == 0)
            values[TILE * CLOSED + TILE] =
                Real<T>::pair(u[TILE * job.u_layout.pitch + TILE * job.u_layout.stride],
                              v[TILE * job.v_layout.pitch + TILE * job.v_layout.stride]);
    } else {
        for (i32 y = 0; y < height; y++)
            for (i32 x = lane; x < width; x += 32)
                values[y * CLOSED + x] = Real<T>::pair(u[y * job.u_layout.pitch + x * job.u_layout.stride],
                                                       v[y * job.v_layout.pitch + x * job.v_layout.stride]);
    }
    for (i32 k = lane; k < CLOSED * CLOSED; k += 32) shared.limit[k] = Real<T>::MAX;
    __syncwarp();

    // Lane y keeps row y of the tight vertices.
    u32 tight = 0;
    if (c.preserve) {
        const bool cell = lane < width - 1;
        const i32 right = cell ? lane + 1 : lane;
        i32 waiting = 0;
        P a = values[lane < width ? lane : 0], b = values[lane < width ? right : 0];
#pragma unroll 4
        for (i32 y = 0; y < height - 1; y++) {
            const i32 row = (y + 1) * CLOSED;
            const P d = values[row + (lane < width ? lane : 0)], e = values[row + (lane < width ? right : 0)];
            bool lower, upper;
            near_origin<T>(a, b, e, d, c.bound_up, lower, upper);
            lower &= cell;
            upper &= cell;
            a = d;
            b = e;
            {
                const u32 low = __ballot_sync(FULL, lower), up = __ballot_sync(FULL, upper);
                if (low | up) {
                    if (lane == y) tight |= low | low << 1 | up;
                    if (lane == y + 1) tight |= low << 1 | up | up << 1;
                    const u32 before = (1u << lane) - 1;
                    if (lower) shared.near[waiting + __popc(low & before)] = (u16)(y << 6 | lane << 1 | LOWER);
                    waiting += __popc(low);
                    __syncwarp();
                    if (waiting >= 32) {
                        critical += constrain_triangles<T>(job, shared, patch, c, 32);
                        waiting -= 32;
                        if (lane < waiting) shared.near[lane] = shared.near[32 + lane];
                        __syncwarp();
                    }
                    if (upper) shared.near[waiting + __popc(up & before)] = (u16)(y << 6 | lane << 1 | UPPER);
                    waiting += __popc(up);
                    __syncwarp();
                    if (waiting >= 32) {
                        critical += constrain_triangles<T>(job, shared, patch, c, 32);
                        waiting -= 32;
                        if (lane < waiting) shared.near[lane] = shared.near[32 + lane];
                        __syncwarp();
                    }
                }
            }
        }
        if (waiting) critical += constrain_triangles<T>(job, shared, patch, c, waiting);
    }
    if (border) {
        // Vertices on the border of the grid that lie in the interior of the closed tile.
        for (i32 k = lane; k < CLOSED * 2; k += 32) {
            const bool right = k >= CLOSED;
            const i32 x = right ? shape.last_x : k, y = right ? k - CLOSED : shape.last_y;
            const bool counts = right ? shape.last_x < TILE && y < height : shape.last_y < TILE && x < width;
            T b = Real<T>::MAX;
            if (counts) b = border_limit(job, c, shape.x0 + x, shape.y0 + y);
            if (b < Real<T>::MAX) {
                lower_to(&shared.limit[y * CLOSED + x], b);
                shared.symbols[k] = 1;
            } else {
                shared.symbols[k] = 0;
            }
        }
        __syncwarp();
        if (lane < height) {
            if (shared.symbols[CLOSED + lane] && shape.last_x < TILE) tight |= 1u << shape.last_x;
            if (lane == shape.last_y)
                for (i32 x = 0; x < TILE; x++)
                    if (x < width && shared.symbols[x]) tight |= 1u << x;
        }
        __syncwarp();
    }

    // Masks, by row, in shared memory.
    if (lane < TILE) {
        shared.zero[lane] = 0;
        shared.fill[lane] = 0;
        shared.tight[lane] = tight;
    }
    if (has_special) {
        for (i32 k = lane; k < CLOSED * 2; k += 32) shared.nonfinite[k] = 0;
        __syncwarp();
        for (i32 y = 0; y < height; y++) {
            const bool here = lane < width;
            const P value = values[y * CLOSED + (here ? lane : 0)];
            const bool finite_ = Real<T>::finite(value.x) && Real<T>::finite(value.y);
            const bool filled =
                !finite_ && Real<T>::bits(value.x) == control.fill[0] && Real<T>::bits(value.y) == control.fill[1];
            const u32 z = __ballot_sync(FULL, here && value.x == T(0) && value.y == T(0));
            const u32 nf = __ballot_sync(FULL, here && !finite_), f = __ballot_sync(FULL, here && filled);
            if (lane == 0) {
                shared.nonfinite[2 * y] = nf;
                if (y < TILE) {
                    shared.zero[y] = z;
                    shared.fill[y] = f;
                }
                if (width == CLOSED) {
                    const P edge = values[y * CLOSED + TILE];
                    shared.nonfinite[2 * y + 1] = !(Real<T>::finite(edge.x) && Real<T>::finite(edge.y));
                }
            }
            if (here && !finite_) values[y * CLOSED + lane] = Real<T>::pair(T(0), T(0));
        }
    }
    __syncwarp();

    // The lattice lines are final.
    const P* across = reinterpret_cast<const P*>(job.across) + shape.ty * job.nx + shape.x0;
    const P* down = reinterpret_cast<const P*>(job.down) + shape.tx * job.ny + shape.y0;
    if (lane < width) {
        values[lane] = across[lane];
        if (height == CLOSED) values[TILE * CLOSED + lane] = across[job.nx + lane];
    }
    if (lane > 0 && lane < height) values[lane * CLOSED] = down[lane];
    if (width == CLOSED) {
        if (lane < height) values[lane * CLOSED + TILE] = down[job.ny + lane];
        if (lane == 0 && height == CLOSED)
            values[TILE * CLOSED + TILE] = reinterpret_cast<const P*>(job.anchors)[index + job.tiles_x + 1];
    }
    // Their symbols, and their part of the cost of each block (coarse, middle, fine).
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
    u8* symbols = job.symbols + index * TILE_VERTICES;
    const i32 ox = shape.owned_x(), oy = shape.owned_y();
    // Zeros where a tile at the border has no vertices.
    if (ox < TILE || oy < TILE) {
        for (i32 k = lane; k < TILE_VERTICES / 4; k += 32) reinterpret_cast<u32*>(shared.symbols)[k] = 0;
        __syncwarp();
    }
#pragma unroll
    for (i32 axis = 0; axis < 2; axis++) {
        const i32 x = axis == 0 ? lane : 0, y = axis == 0 ? 0 : lane;
        if (lane > 0) {
            const i32 position = position_of(x, y);
            u32 s = SYMBOL_ZERO;
            if (x < ox && y < oy) s = symbols[position];
            shared.symbols[position] = (u8)s;
            if (s != SYMBOL_ZERO) charge(s, position);
        }
    }
    u64* payload = reinterpret_cast<u64*>(job.payload) + index * TILE_VERTICES;
    if (lane == 0) {
        const u32 s = anchor_symbol(job, shape, index, payload[0]);
        shared.symbols[0] = (u8)s;
        if (s != SYMBOL_ZERO) charge(s, 0);
    }
    __syncwarp();

    // The interior.
    interior<T>(values, shape.last_x, shape.last_y, control.kernels, control.quantizer,
                [&](i32 level, T w, T inverse, i32 position, i32 x, i32 y, P prediction) {
                    u32 symbol = SYMBOL_ZERO;
                    if (has_special && ((shared.zero[y] | shared.nonfinite[2 * y]) >> x & 1)) {
                        if (!((shared.zero[y] | shared.fill[y]) >> x & 1)) symbol = STORED;
                    } else {
                        const bool is_tight = shared.tight[y] >> x & 1;
                        const T limit = shared.limit[y * CLOSED + x];
                        const Code code = code_vertex<T>(patch, x, y, prediction, level, w, inverse, c, is_tight, limit,
                                                         max_error, exact);
                        symbol = STORED;
                        if (code.id != EXACT) {
                            u64 raw;
                            symbol = encode_symbol(code, raw);
                            if (symbol >= FIRST_WITH_RAW_BITS) payload[position] = raw;
                        }
                    }
                    shared.symbols[position] = (u8)symbol;
                    if (symbol != SYMBOL_ZERO) charge(symbol, position);
                });
    __syncwarp();

    // Mode, masks, classes, and the symbols of blocks that are not all zero.
    u32 mode = 0;
    if (has_special) {
        const u32 owned = (u32)(ox * oy);
        const u32 z = lane < oy ? shared.zero[lane] : 0, f = lane < oy ? shared.fill[lane] : 0;
        const u32 zeros = warp_sum(__popc(z)), fills = warp_sum(__popc(f));
        mode = 3 * (zeros == 0 ? MASK_NONE : zeros == owned ? MASK_ALL : MASK_SOME) +
               (fills == 0 ? MASK_NONE : fills == owned ? MASK_ALL : MASK_SOME);
        if (mode != 0) {
            job.masks[index * 64 + lane] = z;
            job.masks[index * 64 + TILE + lane] = f;
            __syncwarp();
        }
    }
    u32 info = mode == 0 && ox == TILE && oy == TILE ? mode | ALL_CODED : mode;
    if (has_codes(mode)) {
        u32 active[3] = {64, 192, 768};
        if (mode != 0 || ox < TILE || oy < TILE) {
#pragma unroll 1
            for (i32 block = 0; block < 3; block++) {
                u32 n = 0;
                for (i32 step = first_step(block); step < end_step(block); step++)
                    n += is_active(shape, mode, job.masks + index * 64, step * 32 + lane);
                n = warp_sum(n);
                if (block == 0) active[0] = n;
                if (block == 1) active[1] = n;
                if (block == 2) active[2] = n;
            }
        }
        const u32 coarse = class_of(warp_sum(coarse_cost), active[0]);
        const u32 middle = class_of(warp_sum(middle_cost), active[1]);
        const u32 fine = class_of(warp_sum(fine_cost), active[2]);
        info |= coarse << 8 | middle << 16 | fine << 24;
        const u32* from = reinterpret_cast<const u32*>(shared.symbols);
        u32* to = reinterpret_cast<u32*>(symbols);
        if (coarse && lane < 16) to[lane] = from[lane];
        if (middle)
            for (i32 k = 16 + lane; k < 64; k += 32) to[k] = from[k];
        if (fine)
            for (i32 k = 64 + lane; k < 256; k += 32) to[k] = from[k];
    }
    if (lane == 0) job.info[index] = info;
}

// Grid: any. Block: 32 * warps. The tiles on the list, in any order.
template <typename T>
__device__ __forceinline__ void tight_tiles(const Job& job) {
    __shared__ TileShared<T> shared[TIGHT_WARPS<T>];
    Control& control = control_of(job);
    const Constraints<T> c = constraints_of<T>(job, control);
    const u64 count = control.tight_tiles, warps = (u64)gridDim.x * TIGHT_WARPS<T>;
    u32 exact = 0, critical = 0;
    T max_error = 0;
    for (u64 k = (u64)blockIdx.x * TIGHT_WARPS<T> + (threadIdx.x >> 5); k < count; k += warps) {
        tile<T>(job, control, c, shared[threadIdx.x >> 5], job.group_offsets[k], exact, critical, max_error);
        __syncwarp();
    }
    report_tally<T>(control, exact, critical, max_error);
}
