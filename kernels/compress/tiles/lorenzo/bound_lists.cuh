// Lists of the bounds of four constrained tiles of the Lorenzo predictor, which a warp codes together.
#pragma once
#include "compress/tiles/lorenzo/interior_rows.cuh"

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

// The list of vertices with bounds as a warp fills it.
template <typename T>
struct BoundList {
    LorenzoTiles<T>& shared;
    u32 listed;

    // Adds the vertices of the lanes in `all`.
    __device__ __forceinline__ void add(T vertex_bound, u32 all, u32 vertex) {
        const u32 lane = threadIdx.x & 31, to = listed + __popc(all & ((1u << lane) - 1));
        if (all >> lane & 1) shared.listed[to] = (u16)vertex, shared.vertex_bounds[to] = vertex_bound;
        listed += __popc(all);
    }
    // Adds those of the first column, which is always stored; at the finest level it is one vertex of each
    // chunk.
    __device__ __forceinline__ void add_first_column(const Job& job) {
        constexpr u32 ROWS = TILE / 2, FIRST = TILE_VERTICES / 2 / BOUND_CHUNK;
        const u32 lane = threadIdx.x & 31;
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
            add(side[i], __ballot_sync(FULL, is_constrained(side[i])),
                (32 / ROWS * i + lane / ROWS) * TILE_VERTICES + BOUND_CHUNK * (FIRST + lane % ROWS));
    }
};

// Lists the vertices with bounds, as many as fit. `chunk`: the first chunk to look at; advances.
template <typename T>
__device__ __forceinline__ u32 list_bounds(LorenzoTiles<T>& shared, const Job& job, u32& chunk, u32 chunks) {
    constexpr u32 EACH = 16 / sizeof(T), LANES = BOUND_CHUNK / EACH, AT_ONCE = 32 / LANES, TIMES = 2;
    struct alignas(16) Some {
        T vertex_bounds[EACH];
    };
    const u32 lane = threadIdx.x & 31;
    BoundList<T> list = {shared, 0};
    if (chunk == 0) list.add_first_column(job);
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
        u32 constrained[TIMES][EACH], all = list.listed;
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
            for (u32 j = 0; j < EACH; j++)
                list.add(some[i].vertex_bounds[j], constrained[i][j], first[i] + j);
    }
    __syncwarp();
    return list.listed;
}
