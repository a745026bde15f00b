// Entries of the Lorenzo predictor for whole tiles, four to a warp: plain ones, and those with limits. Twin: src/stage/lorenzo.rs.
#pragma once
#include "lorenzo_others.cuh"

// Neighbours in a row, sixteen bytes at a time where they lie so.
template <bool WIDE, typename T>
__device__ __forceinline__ Four<T> load_columns(const T* at, u64 stride) {
    Four<T> f;
    if (WIDE && sizeof(T) == 4) {
        const float4 q = *reinterpret_cast<const float4*>(at);
        f.x[0] = q.x, f.x[1] = q.y, f.x[2] = q.z, f.x[3] = q.w;
    } else if (WIDE) {
        const double2 p = reinterpret_cast<const double2*>(at)[0], q = reinterpret_cast<const double2*>(at)[1];
        f.x[0] = p.x, f.x[1] = p.y, f.x[2] = q.x, f.x[3] = q.y;
    } else {
#pragma unroll
        for (i32 c = 0; c < COLUMNS; c++) f.x[c] = at[c * stride];
    }
    return f;
}

// Symbols of neighbours where some have raw bits; what they cost is added. Not unrolled: it is rare.
template <typename T>
__device__ __forceinline__ u32 large_symbols(i32 (&qu)[COLUMNS], i32 (&qv)[COLUMNS], typename Payload<T>::Type* payload, u32& costs) {
    u32 four = 0;
#pragma unroll 1
    for (i32 c = 0; c < COLUMNS; c++) {
        u32 symbol = small_symbol(qu[0], qv[0]);
        if (max((u32)qu[0] + SMALL, (u32)qv[0] + SMALL) > 2 * SMALL) {
            const Symbol s = large_symbol({0, qu[0], qv[0]});
            payload[c] = Payload<T>::make(s.raw, 0);
            symbol = s.symbol;
            costs += s.bits;
        }
        if (symbol != SYMBOL_ZERO) costs += 3;
        four |= symbol << 8 * c;
#pragma unroll
        for (i32 k = 0; k + 1 < COLUMNS; k++) qu[k] = qu[k + 1], qv[k] = qv[k + 1];
    }
    return four;
}

// Symbols without raw bits, each in a byte, from (qu + SMALL) * 5 + qv + SMALL, and three for each that is zero.
constexpr u32 NO_DIFFERENCE = SMALL * 5 + SMALL;
__device__ __forceinline__ u32 small_symbols(u32 pairs, u32& saved) {
    const u32 from = (pairs + (0x80 - NO_DIFFERENCE) * ONES) & 0x80 * ONES, above = (pairs + (0x7f - NO_DIFFERENCE) * ONES) & 0x80 * ONES;
    const u32 zeros = (from ^ above) >> 7;
    saved = __dp4a(zeros, 3 * ONES, saved);
    // One more below, none where there is no difference.
    return pairs + ONES - (from >> 7) - NO_DIFFERENCE * zeros;
}

// What comes of a whole tile, by each of its lanes: costs of the symbols by block, of the lane's own vertices; the largest error.
template <typename T>
struct RowsOfLane {
    u32 costs[3];
    T max_error;
    bool holds;  // whether the lattice has a code for each of its vertices
};

// Differences at vertices that have a code of a finer lattice, behind the limits of their tile.
template <typename T>
__device__ __forceinline__ int2* differences_of(const Job& job, u64 tile) {
    return reinterpret_cast<int2*>(limits_of<T>(job, tile) + TILE_VERTICES);
}
static_assert(TILE_VERTICES * (4 + sizeof(int2)) <= TILE_WORD_BYTES_F32 && TILE_VERTICES * (8 + sizeof(int2)) <= TILE_WORD_BYTES_F64, "they have their place");

// The rows of whole tiles, one for eight lanes. FAST where sixteen bytes of a row can be loaded at once, and no value of the field is
// beyond the codes. REFINED where some vertices have a code of a finer lattice, in rows of which bits are set in `rows`; those of the lane's
// tile, by row, in `refined`. Their differences are put aside, and their symbols are none.
template <typename T, bool FAST, bool REFINED>
__device__ __forceinline__ RowsOfLane<T> lorenzo_whole_rows(const Job& job, u64 index, T width, T inverse, T accept, u32 rows, const u32* refined) {
    typedef Real<T> R;
    typedef typename Payload<T>::Type Q;
    constexpr i32 ROWS = 8 / sizeof(T);
    const i32 column = COLUMNS * (threadIdx.x & (ROW_LANES - 1));
    const TileShape shape = TileFinder(job).shape(job, index);
    const T* u = vertex_at<T>(job.u, job.u_layout, shape.x0 + column, shape.y0);
    const T* v = vertex_at<T>(job.v, job.v_layout, shape.x0 + column, shape.y0);
    u32* symbols = reinterpret_cast<u32*>(job.symbols + index * TILE_VERTICES + column);
    u32 before_u[COLUMNS], before_v[COLUMNS];
#pragma unroll
    for (i32 c = 0; c < COLUMNS; c++) before_u[c] = before_v[c] = R::SHIFTED_ZERO;
    RowSums costs = {0, 0, 0};
    T max_error = 0, largest = 0;
    auto payload_at = [&]() { return reinterpret_cast<Q*>(job.payload) + (reinterpret_cast<u8*>(symbols) - job.symbols); };
    // Some rows are on their way.
    Four<T> a[ROWS], b[ROWS];
    u64 pitch_u = job.u_layout.pitch, pitch_v = job.v_layout.pitch;
    auto ask_for = [&](i32 i) {
        a[i] = load_columns<FAST>(u, job.u_layout.stride);
        b[i] = load_columns<FAST>(v, job.v_layout.stride);
        u += pitch_u;
        v += pitch_v;
    };
#pragma unroll
    for (i32 i = 0; i < ROWS; i++) ask_for(i);
#pragma unroll 1
    for (i32 start = 0; start < TILE; start += ROWS) {
        // Behind the last one it is that again.
        if (start + 2 * ROWS > TILE) u -= pitch_u, v -= pitch_v, pitch_u = pitch_v = 0;
        if (start == 2) costs.coarse = costs.all;
        if (start == 8) costs.middle = costs.all;
#pragma unroll
        for (i32 i = 0; i < ROWS; i++) {
            u32 base_u[COLUMNS], base_v[COLUMNS], down_u[COLUMNS], down_v[COLUMNS], mine = 0;
            T error[COLUMNS];
#pragma unroll
            for (i32 c = 0; c < COLUMNS; c++) {
                const T x = a[i].x[c], y = b[i].x[c], scaled_u = x * inverse, scaled_v = y * inverse;
                const T shifted_u = scaled_u + R::SHIFT, shifted_v = scaled_v + R::SHIFT;
                error[c] = R::high(R::abs((shifted_u - R::SHIFT) * width - x), R::abs((shifted_v - R::SHIFT) * width - y));
                if (!FAST) largest = R::high(largest, R::high(R::abs(scaled_u), R::abs(scaled_v)));
                base_u[c] = R::shifted_code(shifted_u), base_v[c] = R::shifted_code(shifted_v);
            }
            if (REFINED && rows >> (start + i) & 1) {
                mine = refined[start + i] >> column & 15;
                const typename R::Pair* const codes = reinterpret_cast<const typename R::Pair*>(payload_at());
                typename R::Pair code[COLUMNS];
                // All on their way at once.
#pragma unroll
                for (i32 c = 0; c < COLUMNS; c++) code[c] = mine >> c & 1 ? codes[c] : R::pair(T(0), T(0));
#pragma unroll
                for (i32 c = 0; c < COLUMNS; c++) {
                    i32 of_u, of_v;
                    u32 digits;
                    split_code(packed_q(code[c].x), packed_id(code[c].x), of_u, digits);
                    split_code(packed_q(code[c].y), packed_id(code[c].y), of_v, digits);
                    if (mine >> c & 1) base_u[c] = (u32)of_u + R::SHIFTED_ZERO, base_v[c] = (u32)of_v + R::SHIFTED_ZERO, error[c] = T(0);
                }
            }
#pragma unroll
            for (i32 c = 0; c < COLUMNS; c++) {
                max_error = R::high(max_error, error[c]);
                down_u[c] = base_u[c] - before_u[c], down_v[c] = base_v[c] - before_v[c];
                before_u[c] = base_u[c], before_v[c] = base_v[c];
            }
            ask_for(i);
            i32 qu[COLUMNS], qv[COLUMNS];
            qu[0] = (i32)less_from_below<ROW_LANES>(down_u[0], down_u[COLUMNS - 1]);
            qv[0] = (i32)less_from_below<ROW_LANES>(down_v[0], down_v[COLUMNS - 1]);
#pragma unroll
            for (i32 c = 1; c < COLUMNS; c++) qu[c] = (i32)(down_u[c] - down_u[c - 1]), qv[c] = (i32)(down_v[c] - down_v[c - 1]);
            if (REFINED && mine) {
                int2* const to = differences_of<T>(job, index) + TILE * (start + i) + column;
#pragma unroll
                for (i32 c = 0; c < COLUMNS; c++) {
                    if (!(mine >> c & 1)) continue;
                    to[c] = make_int2(qu[c], qv[c]);
                    qu[c] = qv[c] = 0;
                }
            }
            u32 most = 0, pairs = NO_DIFFERENCE * ONES;
#pragma unroll
            for (i32 c = 0; c < COLUMNS; c++) {
                most = max(most, (u32)qu[c] + SMALL);
                most = max(most, (u32)qv[c] + SMALL);
                pairs += (u32)qu[c] * (5u << 8 * c) + ((u32)qv[c] << 8 * c);
            }
            u32 four;
            if (most <= 2 * SMALL) {
                u32 saved = 0;
                four = small_symbols(pairs, saved);
                costs.all += 3 * COLUMNS - saved;
            } else {
                four = large_symbols<T>(qu, qv, payload_at(), costs.all);
            }
            *symbols = four;
            symbols += ROW_LANES;
        }
    }
    // A step that is infinite makes errors that are nothing.
    const bool holds = R::finite(width) && max_error <= accept && largest <= R::MAX_CODE;
    return {{costs.coarse, costs.middle - costs.coarse, costs.all - costs.middle}, max_error, holds};
}

// Whether something is so in all lanes of a tile.
__device__ __forceinline__ bool in_all_lanes(bool it) {
    const u32 mine = ((1u << ROW_LANES) - 1) << (threadIdx.x & 31 & ~(ROW_LANES - 1));
    return (__ballot_sync(FULL, it) & mine) == mine;
}
// The classes of whole tiles, from what the symbols of each lane cost.
template <typename T>
__device__ __forceinline__ u32 classes_of(RowsOfLane<T>& rows) {
#pragma unroll
    for (i32 k = 1; k < ROW_LANES; k *= 2)
#pragma unroll
        for (u32& cost : rows.costs) cost += __shfl_xor_sync(FULL, cost, k);
    return class_of(rows.costs[0], 64) << 8 | class_of(rows.costs[1], 192) << 16 | class_of(rows.costs[2], 768) << 24;
}
// The largest of all values.
template <typename T>
__device__ __forceinline__ T largest_value(const Control& control) {
    return (T)fmax(fabs(value_of(control.high_key)), fabs(value_of(~control.low_key)));
}

// Grid: tiles / (4 * warps). Block: 32 * warps. The plain tiles, beside the kernel before.
template <typename T>
__device__ __forceinline__ void lorenzo_plain(const Job& job) {
    __shared__ Lattices<T> lattices;
    Control& control = control_of(job);
    const u64 first = TILES_OF_WARP * ((u64)blockIdx.x * LORENZO_PLAIN_WARPS + warp_or(threadIdx.x >> 5)), count = control.plain_tiles;
    u32 failing = 0;
    u64 index = 0;
    if (first < count) {
        const u64 k = first + (threadIdx.x & 31) / ROW_LANES;
        const bool exists = k < count;
        // Lanes without a tile do what others do.
        index = job.group_sizes[exists ? k : first];
        const T width = lattice_width<T>(control.quantum, 0, 0), inverse = lattice_inverse(width), accept = (T)control.quantizer.accept;
        RowsOfLane<T> rows;
        if (warp_or(is_aligned<T>(job) && largest_value<T>(control) * inverse <= Real<T>::MAX_CODE))
            rows = lorenzo_whole_rows<T, true, false>(job, index, width, inverse, accept, 0, nullptr);
        else
            rows = lorenzo_whole_rows<T, false, false>(job, index, width, inverse, accept, 0, nullptr);
        const bool holds = in_all_lanes(rows.holds), counts = exists && holds;
        const u32 classes = classes_of(rows);
        if (counts && threadIdx.x % ROW_LANES == 0) job.info[index] = ALL_CODED | classes;
        report_tally<T>(control, 0, 0, counts ? rows.max_error : T(0));
        failing = __ballot_sync(FULL, exists && !holds);
    }
    if (__syncthreads_or(failing)) {
        lattices.fill(control.quantum);
#pragma unroll 1
        for (i32 lane = 0; lane < 32; lane += ROW_LANES)
            if (failing >> lane & 1) lorenzo_by_vertex<T>(job, lattices, __shfl_sync(FULL, index, lane), 0, true, false);
    }
    end_beside();
}

// What a warp finds out about four whole tiles.
template <typename T>
struct LorenzoTiles {
    T errors[TILES_OF_WARP][32];         // by lane, of vertices with a code of a finer lattice
    u32 refined[TILES_OF_WARP][TILE];    // those, by row
    u32 halvings[32];
    u16 limited[TILE_VERTICES];
};

// Grid: any. Block: 32 * warps. Whole tiles with limits, where there are many, those with most work first. Beside the kernel before: it waits
// for memory most of the time, so a grid that leaves room for the blocks of the next kernels is best.
template <typename T>
__device__ __forceinline__ void lorenzo_tight(const Job& job) {
    typedef Real<T> R;
    typedef typename Payload<T>::Type Q;
    __shared__ LorenzoTiles<T> tiles[LORENZO_PLAIN_WARPS];
    __shared__ Lattices<T> lattices;
    Control& control = control_of(job);
    const u64 count = control.whole_tiles, start = (u64)blockIdx.x * TILES_OF_WARP;
    if (count >= MANY_WHOLE_TILES && start < count) {
        lattices.fill(control.quantum);
        const i32 lane = threadIdx.x & 31, warp = (i32)warp_or(threadIdx.x >> 5), tile_of_lane = lane / ROW_LANES;
        LorenzoTiles<T>& shared = tiles[warp];
        const u64 stride = (u64)gridDim.x * TILES_OF_WARP;
#pragma unroll 1
        for (u64 first = start + stride * warp; first < count; first += stride * LORENZO_PLAIN_WARPS) {
            const bool exists = first + tile_of_lane < count;
            // Lanes without a tile do what others do.
            const u64 index = job.group_sizes[job.tiles() - 1 - (exists ? first + tile_of_lane : first)], limited = nearness_of(job, index).limited;
            const T accept = (T)control.quantizer.accept;
            const TileFinder finder(job);
            // Limits are on their way.
#pragma unroll
            for (i32 k = 0; k < TILE_VERTICES * (i32)sizeof(T) / 128; k += ROW_LANES) {
                const i32 line = k + lane % ROW_LANES;
                if (limited >> (128 / sizeof(T) / LIMIT_CHUNK * line) & 1) prefetch_near(limits_of<T>(job, index) + 128 / sizeof(T) * line);
            }
            i32 tier = 0;
            u32 failing = 0;
#pragma unroll 1
            for (i32 t = 0; t < TILES_OF_WARP; t++) {
                const u64 tile = uniform(__shfl_sync(FULL, index, ROW_LANES * t)), of_tile = uniform(__shfl_sync(FULL, limited, ROW_LANES * t));
                const TileShape shape = finder.shape(job, tile);
                __syncwarp();
                shared.halvings[lane] = shared.refined[t][lane] = 0;
                const T* const limits = limits_of<T>(job, tile);
                const u32 listed = warp_or(list_limited(limits, of_tile, shared.limited));
                T largest = 0;
                if (listed) {
                    bool any = false;
#pragma unroll 1
                    for (u32 k = 0; k < listed; k += 32) {
                        if (k + lane >= listed) continue;
                        const i32 needed = lattices.halvings(limits[shared.limited[k + lane]]);
                        if (needed) atomicAdd(&shared.halvings[needed], 1);
                        any |= needed != 0;
                    }
                    i32 best = 0;
                    if (__any_sync(FULL, any)) best = best_tier(shared.halvings, TILE_VERTICES);
                    if (tile_of_lane == t) tier = best;
                    const bool all = refine_limited<T>(job, lattices, limits, shared.limited, listed, tile, shape, best, accept, shared.refined[t], largest);
                    if (!__all_sync(FULL, all)) failing |= 1u << ROW_LANES * t;
                }
                shared.errors[t][lane] = largest;
            }
            __syncwarp();
            u32 any_refined = 0;
#pragma unroll
            for (i32 t = 0; t < TILES_OF_WARP; t++) any_refined |= shared.refined[t][lane];
            const u32 refined_rows = warp_or(any_refined ? 1u << lane : 0);
            const T width = lattices.width[tier][0], inverse = lattices.inverse[tier][0];
            RowsOfLane<T> rows;
            if (warp_or(is_aligned<T>(job)) && !warp_or(!(largest_value<T>(control) * inverse <= R::MAX_CODE)))
                rows = lorenzo_whole_rows<T, true, true>(job, index, width, inverse, accept, refined_rows, shared.refined[tile_of_lane]);
            else
                rows = lorenzo_whole_rows<T, false, true>(job, index, width, inverse, accept, refined_rows, shared.refined[tile_of_lane]);
            __syncwarp();
            // Symbols of the others.
#pragma unroll 1
            for (i32 t = 0; t < TILES_OF_WARP && refined_rows; t++) {
                const u64 tile = uniform(__shfl_sync(FULL, index, ROW_LANES * t));
                u32 row = shared.refined[t][lane];
                if (!warp_or(__shfl_sync(FULL, (u32)exists, ROW_LANES * t)) || !warp_or(row)) continue;
                const u32 own = __popc(row);
                u32 up_to = own;
#pragma unroll
                for (i32 d = 1; d < 32; d *= 2) up_to = add_from_below(up_to, d);
                __syncwarp();
                for (u16* to = shared.limited + (up_to - own); row; row &= row - 1) *to++ = (u16)(TILE * lane + __ffs(row) - 1);
                __syncwarp();
                const u32 listed = warp_or(__shfl_sync(FULL, up_to, 31));
                u32 upper = 0, fine = 0;
                bool too_long = false;
#pragma unroll 1
                for (u32 k = 0; k < listed; k += 32) {
                    if (k + lane >= listed) continue;
                    const u32 vertex = shared.limited[k + lane];
                    Q* const payload = reinterpret_cast<Q*>(job.payload) + tile * TILE_VERTICES + vertex;
                    const T code_u = reinterpret_cast<const T*>(payload)[0], code_v = reinterpret_cast<const T*>(payload)[1];
                    const int2 difference = differences_of<T>(job, tile)[vertex];
                    const i32 id = packed_id(code_u);
                    i32 base;
                    u32 digits_u, digits_v;
                    split_code(packed_q(code_u), id, base, digits_u);
                    split_code(packed_q(code_v), id, base, digits_v);
                    const Symbol s = large_symbol({id, difference.x, difference.y});
                    *payload = with_digits<T>(s, digits_u | digits_v << (2 * id));
                    job.symbols[tile * TILE_VERTICES + vertex] = (u8)s.symbol;
                    const u32 raw = s.bits + 4 * (u32)id;
                    too_long |= sizeof(T) == 4 && raw > 64;
                    if (vertex >= 8 * TILE)
                        fine += 3 + raw;
                    else
                        upper += vertex >= 2 * TILE ? (3 + raw) << 16 : 3 + raw;
                }
                upper = warp_sum(upper);
                fine = warp_sum(fine);
                if (lane == ROW_LANES * t) rows.costs[0] += upper & 0xffff, rows.costs[1] += upper >> 16, rows.costs[2] += fine;
                if (__any_sync(FULL, too_long)) failing |= 1u << ROW_LANES * t;
            }
            const bool holds = in_all_lanes(rows.holds && !(failing >> (ROW_LANES * tile_of_lane) & 1));
            const u32 classes = classes_of(rows), kept = __ballot_sync(FULL, exists && holds), failed = __ballot_sync(FULL, exists && !holds);
            if (exists && holds && lane % ROW_LANES == 0) job.info[index] = ALL_CODED | (u32)tier << 5 | classes;
            T max_error = exists && holds ? rows.max_error : T(0);
#pragma unroll
            for (i32 t = 0; t < TILES_OF_WARP; t++)
                if (kept >> ROW_LANES * t & 1) max_error = R::high(max_error, shared.errors[t][lane]);
            report_tally<T>(control, 0, 0, max_error);
            __syncwarp();
#pragma unroll 1
            for (i32 k = 0; k < 32; k += ROW_LANES)
                if (failed >> k & 1) lorenzo_by_vertex<T>(job, lattices, __shfl_sync(FULL, index, k), __shfl_sync(FULL, tier, k), true, true);
        }
    }
    end_beside();
}
