// The finest level of interior tiles: hands originals and bounds to the coder, and loads those of later rows.
#pragma once
#include "compress/tiles/interior/vertices.cuh"
#include "compress/tiles/interior/loads.cuh"
#include "tile/finest_level.cuh"

// Notes which vertices of row y are zero, by half a warp: those of even columns, and from bit 16 on those of
// odd columns.
template <typename T, typename P = typename Real<T>::Pair>
__device__ __forceinline__ void note_zeros(u32* zeros, i32 y, P even_column, P odd_column) {
    const u32 even = __ballot_sync(FULL, is_zero<T>(even_column)),
              odd = __ballot_sync(FULL, is_zero<T>(odd_column)), shift = threadIdx.x & HALF;
    if ((threadIdx.x & (HALF - 1)) == 0) zeros[y] = (even >> shift & 0xffff) | odd >> shift << HALF;
}

// Callbacks of finest_level_coded: load the rows of a tile, and code its vertices.
template <typename T, u32 KIND>
struct InteriorRows {
    static constexpr bool CONSTRAINED = KIND != UNCONSTRAINED_TILE, MASKED = KIND == MASKED_TILE;
    typedef typename Real<T>::Pair P;
    typedef Real<T> R;
    typedef RowAhead<T, CONSTRAINED> Row;
    static constexpr i32 ROW_VALUES = sizeof(Row) / sizeof(T);
    const Job& job;
    InteriorCoder<T>& coder;
    OddRows<T> odd_rows;
    const T* neighbours;   // of the lane: two values in the first row's place
    const P* odd_columns;  // of the lane
    T half_step;
    // Constrained tiles: the bounds of the tile, which chunks of them are stored, the lane's in the first
    // row's place.
    const T* vertex_bounds;
    u64 bounded;
    T* bounds;
    T first_bound;  // in row 1 of phase 0
    i32 place;      // of the current row: values behind the first
    u32* zeros;     // masked tiles: see note_zeros

    __device__ __forceinline__ InteriorRows(
        const Job& job, InteriorCoder<T>& coder, const OddRows<T>& odd_rows, Row* rows, const P* odd_columns)
        : job(job), coder(coder), odd_rows(odd_rows), odd_columns(odd_columns + lane()), place(0) {
        neighbours = &rows[0].values[threadIdx.x >> 4 & 1][0][2 * lane()];
        if constexpr (CONSTRAINED) bounds = &rows[0].bounds[threadIdx.x >> 4 & 1][0][0];
        half_step = coder.steps.level[0].half_step;
    }
    __device__ __forceinline__ static i32 lane() { return threadIdx.x & (HALF - 1); }

    // Starts the copies for row j at the current place.
    __device__ __forceinline__ void ask(i32 j) {
        if (j < HALF) {
            odd_rows.ask(job, place);
            if constexpr (CONSTRAINED) ask_for_bounds(j);
        }
        end_of_copies();
    }
    __device__ __forceinline__ void next_place() {
        place = place == (ROWS_AHEAD - 1) * ROW_VALUES ? 0 : place + ROW_VALUES;
    }
    // Starts the copies of the first rows.
    __device__ __forceinline__ void begin() {
#pragma unroll 1
        for (i32 j = 0; j < ROWS_AHEAD; j++) ask(j), next_place();
    }
    __device__ __forceinline__ void begin_with_bounds(
        const T* vertex_bounds_of_tile, u64 bounded_chunks, T first) {
        first_bound = first;
        vertex_bounds = vertex_bounds_of_tile, bounded = bounded_chunks;
        begin();
    }
    __device__ __forceinline__ void ask_for_bounds(i32 j) {
        constexpr i32 AT_ONCE = 16 / sizeof(T), PARTS = HALF / AT_ONCE;
#pragma unroll
        for (i32 q = lane(); q < 3 * PARTS; q += HALF) {
            const i32 phase = q / PARTS, row = phase == 0 ? j + 2 : j, chunk = HALF * (1 + phase) + row;
            T* const to = bounds + place + q * AT_ONCE;
            if (row < HALF && bounded >> chunk & 1) {
                copy_ahead<16>(to, vertex_bounds + BOUND_CHUNK * chunk + q % PARTS * AT_ONCE);
            } else {
#pragma unroll
                for (i32 i = 0; i < AT_ONCE; i++) to[i] = no_bound<T>();
            }
        }
    }
    __device__ __forceinline__ T bound_of(i32 phase) const { return bounds[place + HALF * phase + lane()]; }
    // Two neighbours of a component.
    __device__ __forceinline__ const P& two(i32 component) const {
        return *reinterpret_cast<const P*>(neighbours + place + TILE * component);
    }
    // A vertex with a bound.
    __device__ __forceinline__ P code_bounded(
        P original, P prediction, T vertex_bound, i32 position, bool active = true) {
        if constexpr (MASKED)
            return coder.code_unless_zero(original, prediction, 0, half_step, vertex_bound, position, active);
        return coder.code(original, prediction, 0, half_step, vertex_bound, position, active);
    }
    // A vertex without a bound.
    __device__ __forceinline__ void code_one(P original, P& value, i32 position) {
        const P originals[1] = {original};
        P values[1] = {value};
        const i32 offsets[1] = {0};
        const bool active[1] = {true};
        coder.template code_group<1>(originals, values, 0, half_step, position, offsets, active);
        value = values[0];
    }

    __device__ __forceinline__ void first(P& value) {
        const i32 position = FINE_START + HALF + lane();
        if constexpr (CONSTRAINED)
            value = code_bounded(odd_columns[0], value, first_bound, position);
        else
            code_one(odd_columns[0], value, position);
        odd_columns += HALF;
    }
    __device__ __forceinline__ void lines(i32 j, P (&values)[2]) {
        wait_for_copies<ROWS_AHEAD - 1>();
        __syncwarp();
        const bool active[2] = {j + 2 < HALF, lane() != 0};
        const i32 position = FINE_START + HALF * j + lane();
        // The original of an inactive vertex equals its prediction.
        P originals[2] = {values[0], values[1]};
        if (active[0]) originals[0] = *odd_columns;
        if (active[1]) originals[1] = R::pair(two(0).x, two(1).x);
        odd_columns += HALF;
        if constexpr (CONSTRAINED) {
            values[0] = code_bounded(originals[0], values[0], bound_of(0), position + 2 * HALF, active[0]);
            values[1] = code_bounded(originals[1], values[1], bound_of(1), position + 256, active[1]);
        } else {
            const i32 offsets[2] = {2 * HALF, 256};
            coder.template code_group<2>(originals, values, 0, half_step, position, offsets, active);
        }
    }
    __device__ __forceinline__ void centre(i32 j, P& value) {
        const i32 position = FINE_START + HALF * j + 512 + lane();
        const P original = R::pair(two(0).y, two(1).y);
        T bound = no_bound<T>();
        if constexpr (CONSTRAINED) bound = bound_of(2);
        if constexpr (MASKED) note_zeros<T>(zeros, 2 * j + 1, R::pair(two(0).x, two(1).x), original);
        __syncwarp();
        ask(j + ROWS_AHEAD);
        next_place();
        if constexpr (CONSTRAINED)
            code_bounded(original, value, bound, position);
        else
            code_one(original, value, position);
    }
};
