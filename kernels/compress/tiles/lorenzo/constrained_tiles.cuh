// Constrained tiles of the Lorenzo predictor, four per warp.
#pragma once
#include "compress/tiles/lorenzo/refinement.cuh"
#include "grid/field.cuh"

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

// Four tiles in the making, by a warp, each by the lanes of one of its parts.
template <typename T>
struct ConstrainedTiles {
    typedef Real<T> R;
    const Job& job;
    Control& control;
    const Lattices<T>& lattices;
    LorenzoTiles<T>& shared;
    const i32 lane;
    const bool exists;       // the lane has a tile
    const i32 tile_of_lane;  // lanes without a tile repeat the first one's work
    const Acceptance<T> accept;
    u32 failing;   // bits of the first lanes of tiles: a vertex has no code, or too many raw bits
    u32 chunks;    // of bounds that are stored
    u32 listed;    // vertices on the list
    bool several;  // the bounds do not fit the list

    __device__ __forceinline__ ConstrainedTiles(const Job& job, Control& control, const Lattices<T>& lattices,
        LorenzoTiles<T>& shared, u64 group, u64 groups)
        : job(job), control(control), lattices(lattices), shared(shared), lane(threadIdx.x & 31),
          exists(group + lane / ROW_LANES * groups < listed_tiles<CONSTRAINED_TILE>(control)),
          tile_of_lane(exists ? lane / ROW_LANES : 0), accept(acceptance_of<T>(control.quantizer)),
          failing(0), listed(0), several(false) {
        open(listed_tile<CONSTRAINED_TILE>(job, control, group + tile_of_lane * groups));
        __syncwarp();
    }

    // Begins with the tiles; `index` is that of the lane.
    __device__ __forceinline__ void open(u64 index) {
        const u64 bounded = nearness_of(job, index).bounded;
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

    // Lists bounds from `chunk` on and starts the loads of their values. `counts`: counts them by the
    // halvings that they need.
    __device__ __forceinline__ void list_values(u32& chunk, bool counts) {
        listed = list_bounds(shared, job, chunk, chunks);
#pragma unroll 1
        for (u32 k = lane; k < listed; k += 32) {
            const u32 vertex = shared.listed[k], t = vertex / TILE_VERTICES;
            i32 x, y;
            place_of((i32)(vertex % TILE_VERTICES), x, y);
            shared.listed[k] = (u16)(t * TILE_VERTICES + TILE * y + x);
            copy_ahead<sizeof(T)>(shared.a + k,
                shared.u[t] + y * (long long)job.u_layout.pitch + x * (long long)job.u_layout.stride);
            copy_ahead<sizeof(T)>(shared.b + k,
                shared.v[t] + y * (long long)job.v_layout.pitch + x * (long long)job.v_layout.stride);
            const i32 needed = counts ? lattices.halvings(shared.vertex_bounds[k]) : 0;
            if (needed) atomicAdd(&shared.halvings[t][needed], 1);
        }
        end_of_copies();
    }

    // Chooses the bound shifts and codes the vertices on finer lattices. Pass 0 collects the bounds for the
    // bound shifts, pass 1 the codes. If the bounds do not fit the list, pass 1 reads them again.
    __device__ __forceinline__ void refine() {
        u32 chunk = 0;
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
                    list_values(chunk, pass == 0);
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
    }

    // Codes all vertices but those on finer lattices, which lie in `refined_rows`.
    __device__ __forceinline__ RowsOfLane<T> code_rows(u32 refined_rows) {
        const i32 bound_shift = shared.bound_shifts[tile_of_lane];
        const auto step = lattices.step(bound_shift, 0);
        if (warp_or(is_aligned<T>(job)) && !warp_or(!(largest_value<T>(control) * step.y <= R::MAX_CODE)))
            return lorenzo_interior_rows<T, true, true>(
                job, shared.tiles[tile_of_lane], step, accept, refined_rows, shared.refined[tile_of_lane]);
        return lorenzo_interior_rows<T, false, true>(
            job, shared.tiles[tile_of_lane], step, accept, refined_rows, shared.refined[tile_of_lane]);
    }

    // Symbols of the vertices on finer lattices.
    __device__ __forceinline__ void code_refined() {
        if (!several) return refined_symbols<true>(shared, job, lattices, accept, listed, failing);
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
            refined_symbols<false>(shared, job, lattices, accept, __shfl_sync(FULL, up_to, 31), failing);
            __syncwarp();
        }
    }

    // Writes the info words and reports the error of the tiles whose vertices all have codes. Returns the
    // bits of the lanes of the others.
    __device__ __forceinline__ u32 finish(RowsOfLane<T>& rows) {
        if (lane % ROW_LANES == 0) rows.cost += shared.costs[tile_of_lane];
        failing = warp_or(failing);
        const bool holds = in_all_lanes(rows.holds && !(failing >> (ROW_LANES * tile_of_lane) & 1));
        const u32 activity = activity_of_tile(rows), kept = __ballot_sync(FULL, exists && holds),
                  failed = __ballot_sync(FULL, exists && !holds);
        if (exists && holds && lane % ROW_LANES == 0)
            TileView(job).headers()[shared.tiles[tile_of_lane]] =
                info_of(0, (u32)shared.bound_shifts[tile_of_lane], true) | activity;
        T max_error = exists && holds ? rows.max_error : T(0);
#pragma unroll
        for (i32 t = 0; t < TILES_OF_WARP; t++)
            if (kept >> ROW_LANES * t & 1) max_error = R::high(max_error, shared.errors[t][lane]);
        report_stats<T>(control, 0, 0, max_error);
        return failed;
    }

    // Codes the tiles.
    __device__ __forceinline__ void code(const EvenPositions& positions) {
        refine();
        u32 any_refined = 0;
#pragma unroll
        for (i32 t = 0; t < TILES_OF_WARP; t++) any_refined |= shared.refined[t][lane];
        const u32 refined_rows = warp_or(any_refined ? 1u << lane : 0);
        RowsOfLane<T> rows = code_rows(refined_rows);
        __syncwarp();
        if (refined_rows) code_refined();
        __syncwarp();
        const u32 failed = finish(rows);
        __syncwarp();
#pragma unroll 1
        for (i32 t = 0; t < TILES_OF_WARP; t++)
            if (failed >> ROW_LANES * t & 1)
                lorenzo_by_vertex<T>(job, lattices, positions, shared.tiles[t], shared.bound_shifts[t], true);
    }
};

// Grid: tiles / (4 * LORENZO_INTERIOR_WARPS). Block: 32 * LORENZO_INTERIOR_WARPS threads, four tiles per
// warp: one with much work and three with less, as tiles are sorted by work. Static shared: LorenzoTiles per
// warp. Constrained tiles, if there are many. Reads: the field, list, vertex bounds. Writes: symbols,
// payload, info. Overlaps the previous kernel, and waits for it at its end.
template <typename T>
__device__ __forceinline__ void lorenzo_constrained(const Job& job) {
    __shared__ LorenzoTiles<T> tiles[LORENZO_INTERIOR_WARPS];
    __shared__ Lattices<T> lattices;
    __shared__ EvenPositions positions;
    Control& control = control_of(job);
    const u64 count = listed_tiles<CONSTRAINED_TILE>(control),
              groups = (count + TILES_OF_WARP - 1) / TILES_OF_WARP;
    if (count >= MANY_CONSTRAINED_TILES && (u64)blockIdx.x * LORENZO_INTERIOR_WARPS < groups) {
        lattices.fill(control.half_bin_width);
        positions.fill();
        const i32 warp = (i32)warp_or(threadIdx.x >> 5);
        const u64 group = (u64)blockIdx.x * LORENZO_INTERIOR_WARPS + warp;
        if (group < groups)
            ConstrainedTiles<T>(job, control, lattices, tiles[warp], group, groups).code(positions);
    }
    end_overlap();
}
