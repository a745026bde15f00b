// Constrained tiles of the Lorenzo predictor, four per warp.
#pragma once
#include "compress/lorenzo_interior_rows.cuh"

// Shared memory of a warp with four constrained tiles.
template <typename T>
struct LorenzoTiles {
    // Vertices listed at a time, of all four tiles.
    static constexpr u32 LISTED = sizeof(T) == 4 ? 384 : 256;
    T a[LISTED], b[LISTED], vertex_bounds[LISTED];  // values, later as bits those of a FinerCode
    T errors[TILES_OF_WARP][32];                    // by lane, of vertices on a finer lattice
    u64 tiles[TILES_OF_WARP], bounded[TILES_OF_WARP];
    const T *u[TILES_OF_WARP], *v[TILES_OF_WARP];
    u32 refined[TILES_OF_WARP][TILE];  // vertices on a finer lattice, by row
    u32 halvings[TILES_OF_WARP][HALVINGS];
    u32 costs[TILES_OF_WARP];
    i32 bound_shifts[TILES_OF_WARP];
    u16 listed[LISTED];  // tile << 10 | position, then tile << 10 | y << 5 | x
    u8 chunks[TILES_OF_WARP * TILE_VERTICES / BOUND_CHUNK];
};

// Lists the stored chunks of bounds of the four tiles; returns their number.
template <typename T>
__device__ __forceinline__ u32 list_chunks(LorenzoTiles<T>& shared, u64 bounded) {
    static_assert(TILE_VERTICES / BOUND_CHUNK == 8 * ROW_LANES, "eight for a lane");
    const i32 lane = threadIdx.x & 31;
    const u32 mine = (u32)(bounded >> 8 * (lane % ROW_LANES)) & 255, own = __popc(mine);
    const u32 up_to = warp_inclusive_sum(own);
    u8* to = shared.chunks + (up_to - own);
#pragma unroll
    for (i32 k = 0; k < 8; k++)
        if (mine >> k & 1) *to++ = (u8)(8 * lane + k);
    return warp_or(__shfl_sync(FULL, up_to, 31));
}

// Lists the vertices with bounds, as many as fit. `chunk`: the first chunk to look at; advances.
template <typename T>
__device__ __forceinline__ u32 list_bounds(LorenzoTiles<T>& shared, const Job& job, u32& chunk, u32 chunks) {
    constexpr u32 EACH = 16 / sizeof(T), LANES = BOUND_CHUNK / EACH, AT_ONCE = 32 / LANES, TIMES = 2;
    struct alignas(16) Some {
        T vertex_bounds[EACH];
    };
    const u32 lane = threadIdx.x & 31, below = (1u << lane) - 1;
    u32 listed = 0;
    auto list = [&](T vertex_bound, u32 all, u32 vertex) {
        const u32 to = listed + __popc(all & below);
        if (all >> lane & 1) shared.listed[to] = (u16)vertex, shared.vertex_bounds[to] = vertex_bound;
        listed += __popc(all);
    };
    if (chunk == 0) {
        // The first column is always stored; at the finest level it is one vertex of each chunk.
        constexpr u32 ROWS = TILE / 2, FIRST = TILE_VERTICES / 2 / BOUND_CHUNK;
        T side[TILES_OF_WARP * ROWS / 32];
#pragma unroll
        for (u32 i = 0; i < TILES_OF_WARP * ROWS / 32; i++) {
            const u32 t = 32 / ROWS * i + lane / ROWS, c = FIRST + lane % ROWS;
            // Without a tile all bits are set.
            side[i] = shared.bounded[t] >> c & 1 ? no_bound<T>()
                                                 : vertex_bounds_of<T>(job, shared.tiles[t])[BOUND_CHUNK * c];
        }
#pragma unroll
        for (u32 i = 0; i < TILES_OF_WARP * ROWS / 32; i++)
            list(side[i], __ballot_sync(FULL, is_constrained(side[i])),
                (32 / ROWS * i + lane / ROWS) * TILE_VERTICES + BOUND_CHUNK * (FIRST + lane % ROWS));
    }
#pragma unroll 1
    for (; chunk < chunks; chunk += TIMES * AT_ONCE) {
        Some some[TIMES];
        u32 first[TIMES];
#pragma unroll
        for (u32 i = 0; i < TIMES; i++) {
            const u32 c = chunk + AT_ONCE * i + lane / LANES;
            first[i] = BOUND_CHUNK * (c < chunks ? shared.chunks[c] : 0) + EACH * (lane % LANES);
#pragma unroll
            for (u32 j = 0; j < EACH; j++) some[i].vertex_bounds[j] = no_bound<T>();
            if (c < chunks)
                some[i] = *reinterpret_cast<const Some*>(
                    vertex_bounds_of<T>(job, shared.tiles[first[i] / TILE_VERTICES]) +
                    first[i] % TILE_VERTICES);
        }
        u32 constrained[TIMES][EACH], all = listed;
#pragma unroll
        for (u32 i = 0; i < TIMES; i++)
#pragma unroll
            for (u32 j = 0; j < EACH; j++) {
                constrained[i][j] = __ballot_sync(FULL, is_constrained(some[i].vertex_bounds[j]));
                all += __popc(constrained[i][j]);
            }
        static_assert(TILES_OF_WARP * TILE / 2 + TIMES * 32 * EACH <= LorenzoTiles<T>::LISTED,
            "the first ones have their place");
        if (all > LorenzoTiles<T>::LISTED) break;
#pragma unroll
        for (u32 i = 0; i < TIMES; i++)
#pragma unroll
            for (u32 j = 0; j < EACH; j++) list(some[i].vertex_bounds[j], constrained[i][j], first[i] + j);
    }
    __syncwarp();
    return listed;
}

// Bound shifts of the smallest estimated sizes of four tiles; each lane evaluates one shift of its tile.
__device__ __forceinline__ i32 best_bound_shifts(const u32* halvings) {
    static_assert(BOUND_SHIFTS == ROW_LANES, "a lane for each");
    const i32 bound_shift = threadIdx.x % ROW_LANES;
    u32 size = (u32)bound_shift * BOUND_SHIFT_RATE * TILE_VERTICES;
#pragma unroll
    for (i32 needed = 1; needed < HALVINGS; needed++)
        if (needed > bound_shift)
            size += halvings[needed] * (8 * (REFINED_BITS + 4 * (u32)((needed - bound_shift + 1) / 2)));
    u32 best = size * BOUND_SHIFTS + (u32)bound_shift;
#pragma unroll
    for (i32 k = 1; k < ROW_LANES; k *= 2) best = min(best, __shfl_xor_sync(FULL, best, k));
    return best % BOUND_SHIFTS;
}
static_assert(TILE_VERTICES * 8ull * (REFINED_BITS + 4 * HALVINGS / 2) +
                      BOUND_SHIFTS * BOUND_SHIFT_RATE * TILE_VERTICES <
                  (1ull << 32) / BOUND_SHIFTS,
    "there are bits for both");

// Code on a finer lattice, computed again, of a vertex that the full list left out: tile << 10 | y << 5 | x.
template <typename T>
__device__ __forceinline__ FinerCode finer_code_of(
    const LorenzoTiles<T>& shared, const Job& job, const Lattices<T>& lattices, T accept, u32 vertex) {
    const u32 t = vertex / TILE_VERTICES, place = vertex % TILE_VERTICES;
    const i32 x = (i32)(place % TILE), y = (i32)(place / TILE);
    const T a = shared.u[t][y * (long long)job.u_layout.pitch + x * (long long)job.u_layout.stride],
            b = shared.v[t][y * (long long)job.v_layout.pitch + x * (long long)job.v_layout.stride];
    i32 coarse_u, coarse_v;
    return split_finer_code(lorenzo_code<T>(Real<T>::pair(a, b), lattices, shared.bound_shifts[t], accept,
                                true, *vertex_bound_at<T>(job, shared.tiles[t], x, y)),
        coarse_u, coarse_v);
}

// Payload of a vertex of which all others of its row have a symbol.
template <typename T>
__device__ __forceinline__ typename Payload<T>::Type* payload_of(
    const LorenzoTiles<T>& shared, const Job& job, u32 vertex) {
    return LorenzoView<T>(job).payload(shared.tiles[vertex / TILE_VERTICES]) +
           payload_place(vertex % TILE, vertex / TILE % TILE);
}

// Codes the listed vertices that need a finer lattice and keeps them on the list, with their finer codes.
// Sets the bit of a tile's first lane in `failing` if a vertex has no code.
template <typename T>
__device__ __forceinline__ u32 refine_listed(LorenzoTiles<T>& shared, const Job& job,
    const Lattices<T>& lattices, u32 listed, T accept, u32& failing) {
    typedef Real<T> R;
    const u32 lane = threadIdx.x & 31;
    u32 kept = 0;
#pragma unroll 1
    for (u32 first = 0; first < listed; first += 32) {
        LorenzoCode<T> code = {false, 0, 0, 0, T(0)};
        u32 vertex = 0;
        if (first + lane < listed) {
            vertex = shared.listed[first + lane];
            const typename R::Pair original = R::pair(shared.a[first + lane], shared.b[first + lane]);
            const T vertex_bound = shared.vertex_bounds[first + lane];
            const u32 t = vertex / TILE_VERTICES;
            const i32 bound_shift = shared.bound_shifts[t];
            const Quantized<T> q =
                quantize_on<T>(original, lattices.inverse[bound_shift][0], lattices.width[bound_shift][0]);
            const T error = distance<T>(q.value, original);
            if (!(q.fits && (error == T(0) || (error <= accept && error < vertex_bound)))) {
                if (q.fits)
                    code = lorenzo_code<T>(original, lattices, bound_shift, accept, true, vertex_bound);
                if (!code.coded) failing |= 1u << ROW_LANES * t;
            }
        }
        // Entries only move down: all lanes have read theirs.
        const u32 all = __ballot_sync(FULL, code.coded);
        if (code.coded) {
            const u32 t = vertex / TILE_VERTICES, place = vertex % TILE_VERTICES,
                      to = kept + __popc(all & ((1u << lane) - 1));
            i32 coarse_u, coarse_v;
            const FinerCode finer = split_finer_code(code, coarse_u, coarse_v);
            *reinterpret_cast<CoarseCodes*>(payload_of(shared, job, vertex)) = {(u32)coarse_u, (u32)coarse_v};
            atomicOr(&shared.refined[t][place / TILE], 1u << place % TILE);
            shared.errors[t][lane] = R::high(shared.errors[t][lane], code.error);
            shared.listed[to] = (u16)vertex;
            shared.a[to] = R::from_bits(finer.refinement_bits);
            shared.b[to] = R::from_bits((u32)finer.refinement);
        }
        kept += __popc(all);
    }
    return kept;
}

// Symbols of the listed vertices. Sets the bit of a tile's first lane in `failing` if a code has too many raw
// bits. KEPT: their finer codes are on the list.
template <bool KEPT, typename T>
__device__ __forceinline__ void refined_symbols(LorenzoTiles<T>& shared, const Job& job,
    const Lattices<T>& lattices, T accept, u32 listed, u32& failing) {
    typedef Real<T> R;
    const u32 lane = threadIdx.x & 31;
    // Load the next entries ahead.
    CoarseCodes coming = {0, 0};
    auto ask_for = [&](u32 k) {
        if (k < listed)
            coming = *reinterpret_cast<const CoarseCodes*>(payload_of(shared, job, shared.listed[k]));
    };
    ask_for(lane);
#pragma unroll 1
    for (u32 k = lane; k < listed; k += 32) {
        const CoarseCodes difference = coming;
        ask_for(k + 32);
        const u32 vertex = shared.listed[k], t = vertex / TILE_VERTICES;
        const FinerCode finer = KEPT ? FinerCode{(u32)R::bits(shared.a[k]), (i32)R::bits(shared.b[k])}
                                     : finer_code_of(shared, job, lattices, accept, vertex);
        const Symbol s = large_symbol({finer.refinement, (i32)difference.u, (i32)difference.v});
        *payload_of(shared, job, vertex) = with_refinement_bits<T>(s, finer.refinement_bits);
        LorenzoView<T>(job).symbols()[shared.tiles[t] * TILE_VERTICES + vertex % TILE_VERTICES] =
            (u8)s.symbol;
        const u32 raw = s.bits + 4 * (u32)finer.refinement;
        if (sizeof(T) == 4 && raw > 64) failing |= 1u << ROW_LANES * t;
        atomicAdd(&shared.costs[t], 3 + raw);
    }
}

// Grid: tiles / (4 * LORENZO_INTERIOR_WARPS). Block: 32 * LORENZO_INTERIOR_WARPS threads, four tiles per
// warp: one with much work and three with less, as tiles are sorted by work. Static shared: LorenzoTiles per
// warp. Constrained tiles, if there are many. Reads: the field, list, vertex bounds. Writes: symbols,
// payload, info. Overlaps the previous kernel, and waits for it at its end.
template <typename T>
__device__ __forceinline__ void lorenzo_constrained(const Job& job) {
    typedef Real<T> R;
    __shared__ LorenzoTiles<T> tiles[LORENZO_INTERIOR_WARPS];
    __shared__ Lattices<T> lattices;
    __shared__ EvenPositions positions;
    Control& control = control_of(job);
    const u64 count = control.constrained_tiles, groups = (count + TILES_OF_WARP - 1) / TILES_OF_WARP;
    if (count >= MANY_CONSTRAINED_TILES && (u64)blockIdx.x * LORENZO_INTERIOR_WARPS < groups) {
        lattices.fill(control.half_bin_width);
        positions.fill();
        const i32 lane = threadIdx.x & 31, warp = (i32)warp_or(threadIdx.x >> 5);
        LorenzoTiles<T>& shared = tiles[warp];
        const u64 group = (u64)blockIdx.x * LORENZO_INTERIOR_WARPS + warp;
        if (group < groups) {
            const bool exists = group + lane / ROW_LANES * groups < count;
            // Lanes without a tile repeat the first one's work.
            const i32 tile_of_lane = exists ? lane / ROW_LANES : 0;
            u32 chunks;
            {
                const u64 index =
                              ListsView(job).tile_lists()[job.tiles() - 1 - (group + tile_of_lane * groups)],
                          bounded = nearness_of(job, index).bounded;
                // Prefetch the bounds.
#pragma unroll
                for (i32 k = 0; k < TILE_VERTICES * (i32)sizeof(T) / 128; k += ROW_LANES) {
                    const i32 line = k + lane % ROW_LANES;
                    if (bounded >> (128 / sizeof(T) / BOUND_CHUNK * line) & 1)
                        prefetch_near(vertex_bounds_of<T>(job, index) + 128 / sizeof(T) * line);
                }
                if (lane % ROW_LANES == 0) {
                    const TileShape shape = TileFinder(job).shape(job, index);
                    shared.tiles[lane / ROW_LANES] = index;
                    // Without a tile no bound is loaded.
                    shared.bounded[lane / ROW_LANES] = exists ? bounded : ~0ull;
                    shared.u[lane / ROW_LANES] = vertex_at<T>(job.u, job.u_layout, shape.x0, shape.y0);
                    shared.v[lane / ROW_LANES] = vertex_at<T>(job.v, job.v_layout, shape.x0, shape.y0);
                }
#pragma unroll
                for (i32 t = 0; t < TILES_OF_WARP; t++) {
                    shared.refined[t][lane] = 0;
                    shared.errors[t][lane] = T(0);
                    if (lane < HALVINGS) shared.halvings[t][lane] = 0;
                    if (lane == 0) shared.costs[t] = 0;
                }
                chunks = list_chunks(shared, exists ? bounded : 0);
            }
            __syncwarp();
            const T accept = (T)control.quantizer.accept;
            // Pass 0 collects the bounds for the bound shifts, pass 1 the codes on finer lattices. If the
            // bounds do not fit the list, pass 1 reads them again.
            u32 failing = 0, listed = 0, chunk = 0;
            bool several = false;
#pragma unroll 1
            for (i32 pass = 0; pass < 2; pass++) {
                if (pass > 0) {
                    const i32 bound_shift = best_bound_shifts(shared.halvings[tile_of_lane]);
                    if (lane % ROW_LANES == 0) shared.bound_shifts[lane / ROW_LANES] = bound_shift;
                    __syncwarp();
                    if (several) chunk = 0;
                }
                do {
                    if (pass == 0 || several) {
                        if (several) {
                            wait_for_copies<0>();
                            __syncwarp();
                        }
                        listed = list_bounds(shared, job, chunk, chunks);
#pragma unroll 1
                        for (u32 k = lane; k < listed; k += 32) {
                            const u32 vertex = shared.listed[k], t = vertex / TILE_VERTICES;
                            i32 x, y;
                            place_of((i32)(vertex % TILE_VERTICES), x, y);
                            shared.listed[k] = (u16)(t * TILE_VERTICES + TILE * y + x);
                            copy_ahead<sizeof(T)>(shared.a + k, shared.u[t] +
                                                                    y * (long long)job.u_layout.pitch +
                                                                    x * (long long)job.u_layout.stride);
                            copy_ahead<sizeof(T)>(shared.b + k, shared.v[t] +
                                                                    y * (long long)job.v_layout.pitch +
                                                                    x * (long long)job.v_layout.stride);
                            const i32 needed = pass == 0 ? lattices.halvings(shared.vertex_bounds[k]) : 0;
                            if (needed) atomicAdd(&shared.halvings[t][needed], 1);
                        }
                        end_of_copies();
                    }
                    if (pass > 0) {
                        wait_for_copies<0>();
                        __syncwarp();
                        listed = refine_listed(shared, job, lattices, listed, accept, failing);
                    } else {
                        several |= chunk < chunks;
                    }
                    __syncwarp();
                } while (chunk < chunks);
            }
            u32 any_refined = 0;
#pragma unroll
            for (i32 t = 0; t < TILES_OF_WARP; t++) any_refined |= shared.refined[t][lane];
            const u32 refined_rows = warp_or(any_refined ? 1u << lane : 0);
            const i32 bound_shift = shared.bound_shifts[tile_of_lane];
            const T width = lattices.width[bound_shift][0], inverse = lattices.inverse[bound_shift][0];
            RowsOfLane<T> rows;
            if (warp_or(is_aligned<T>(job)) &&
                !warp_or(!(largest_value<T>(control) * inverse <= R::MAX_CODE)))
                rows = lorenzo_interior_rows<T, true, true>(job, shared.tiles[tile_of_lane], width, inverse,
                    accept, refined_rows, shared.refined[tile_of_lane]);
            else
                rows = lorenzo_interior_rows<T, false, true>(job, shared.tiles[tile_of_lane], width, inverse,
                    accept, refined_rows, shared.refined[tile_of_lane]);
            __syncwarp();
            if (refined_rows && !several) {
                refined_symbols<true>(shared, job, lattices, accept, listed, failing);
            } else if (refined_rows) {
                // As many rows as fit the list in any case.
                constexpr i32 ROWS = 8;
                static_assert(ROWS * TILE <= LorenzoTiles<T>::LISTED, "they have their place");
#pragma unroll 1
                for (i32 y = 0; y < TILES_OF_WARP * TILE; y += ROWS) {
                    u32 row = lane < ROWS ? shared.refined[y / TILE][y % TILE + lane] : 0;
                    const u32 own = __popc(row);
                    const u32 up_to = warp_inclusive_sum(own);
                    for (u16* to = shared.listed + (up_to - own); row; row &= row - 1)
                        *to++ = (u16)(TILE * (y + lane) + __ffs(row) - 1);
                    __syncwarp();
                    refined_symbols<false>(
                        shared, job, lattices, accept, __shfl_sync(FULL, up_to, 31), failing);
                    __syncwarp();
                }
            }
            __syncwarp();
            if (lane % ROW_LANES == 0) rows.cost += shared.costs[tile_of_lane];
            failing = warp_or(failing);
            const bool holds = in_all_lanes(rows.holds && !(failing >> (ROW_LANES * tile_of_lane) & 1));
            const u32 activity = activity_of_tile(rows), kept = __ballot_sync(FULL, exists && holds),
                      failed = __ballot_sync(FULL, exists && !holds);
            if (exists && holds && lane % ROW_LANES == 0)
                TileView(job).headers()[shared.tiles[tile_of_lane]] =
                    ALL_CODED | (u32)shared.bound_shifts[tile_of_lane] << 5 | activity;
            T max_error = exists && holds ? rows.max_error : T(0);
#pragma unroll
            for (i32 t = 0; t < TILES_OF_WARP; t++)
                if (kept >> ROW_LANES * t & 1) max_error = R::high(max_error, shared.errors[t][lane]);
            report_stats<T>(control, 0, 0, max_error);
            __syncwarp();
#pragma unroll 1
            for (i32 t = 0; t < TILES_OF_WARP; t++)
                if (failed >> ROW_LANES * t & 1)
                    lorenzo_by_vertex<T>(
                        job, lattices, positions, shared.tiles[t], shared.bound_shifts[t], true);
        }
    }
    end_overlap();
}
