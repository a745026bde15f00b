// Rows of interior tiles of the Lorenzo predictor, four tiles per warp.
#pragma once
#include "compress/statistics/strips.cuh"
#include "compress/tiles/lorenzo/border_tiles.cuh"
#include "grid/field.cuh"

// Four neighbours of a row, 16 bytes at a time if WIDE.
template <bool WIDE, typename T>
__device__ __forceinline__ Four<T> load_columns(const T* at, u64 stride) {
    Four<T> f;
    if (WIDE && sizeof(T) == 4) {
        const float4 q = *reinterpret_cast<const float4*>(at);
        f.x[0] = q.x, f.x[1] = q.y, f.x[2] = q.z, f.x[3] = q.w;
    } else if (WIDE) {
        const double2 p = reinterpret_cast<const double2*>(at)[0],
                      q = reinterpret_cast<const double2*>(at)[1];
        f.x[0] = p.x, f.x[1] = p.y, f.x[2] = q.x, f.x[3] = q.y;
    } else {
#pragma unroll
        for (i32 c = 0; c < COLUMNS; c++) f.x[c] = at[c * stride];
    }
    return f;
}

// Symbols of four neighbours some of which have raw bits; adds their cost. Not unrolled, since it is rare.
template <typename T>
__device__ __forceinline__ u32 large_symbols(
    i32 (&qu)[COLUMNS], i32 (&qv)[COLUMNS], typename Payload<T>::Type* payload, u32& costs) {
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

// Four small symbols, a byte each, from (qu + SMALL) * 5 + qv + SMALL; adds 3 to `saved` for each zero.
constexpr u32 NO_DIFFERENCE = SMALL * 5 + SMALL;
__device__ __forceinline__ u32 small_symbols(u32 pairs, u32& saved) {
    const u32 from = (pairs + (0x80 - NO_DIFFERENCE) * ONES) & 0x80 * ONES,
              above = (pairs + (0x7f - NO_DIFFERENCE) * ONES) & 0x80 * ONES;
    const u32 zeros = (from ^ above) >> 7;
    saved = __dp4a(zeros, 3 * ONES, saved);
    // Symbols below the zero difference move up by one, and the zero difference becomes symbol 0.
    return pairs + ONES - (from >> 7) - NO_DIFFERENCE * zeros;
}

// Result of a lane for an interior tile.
template <typename T>
struct RowsOfLane {
    u32 cost;
    T max_error;
    bool holds;  // the lattice has a code for each of its vertices
};

// Coarse code of a vertex on a finer lattice. It is kept in the payload, where the row pass replaces it by
// its difference.
struct alignas(8) CoarseCodes {
    u32 u, v;
};

// Coarse codes of the neighbours in `which`, loaded at once.
template <typename T>
__device__ __forceinline__ void load_coarse_codes(
    const typename Payload<T>::Type* payload, u32 which, CoarseCodes (&codes)[COLUMNS]) {
#pragma unroll
    for (i32 c = 0; c < COLUMNS; c++) {
        codes[c] = {0, 0};
        if (which >> c & 1) codes[c] = *reinterpret_cast<const CoarseCodes*>(payload + c);
    }
}

// Coarse codes of four neighbours, SHIFTED_ZERO added, and their errors. False if a code does not fit.
template <typename T>
__device__ __forceinline__ bool quantize_four(const Four<T>& a, const Four<T>& b, typename Real<T>::Pair step,
    u32 (&coarse_u)[COLUMNS], u32 (&coarse_v)[COLUMNS], T (&error)[COLUMNS]) {
    typedef Real<T> R;
    bool fit = true;
#pragma unroll
    for (i32 c = 0; c < COLUMNS; c++) {
        const Attempt<T> found = attempt_unpredicted<T>(R::pair(a.x[c], b.x[c]), step);
        fit &= found.fits;
        error[c] = found.error;
        coarse_u[c] = R::shifted_code(found.shifted.x), coarse_v[c] = R::shifted_code(found.shifted.y);
    }
    return fit;
}

// Differences of four neighbours along the row.
__device__ __forceinline__ void differences_of_row(const u32 (&down)[COLUMNS], i32 (&q)[COLUMNS]) {
    q[0] = (i32)less_from_below<ROW_LANES>(down[0], down[COLUMNS - 1]);
#pragma unroll
    for (i32 c = 1; c < COLUMNS; c++) q[c] = (i32)(down[c] - down[c - 1]);
}

// Symbols of four neighbours; adds their cost. `payload` tells where raw bits go.
template <typename T, typename Place>
__device__ __forceinline__ u32 symbols_of_four(
    i32 (&qu)[COLUMNS], i32 (&qv)[COLUMNS], Place payload, u32& cost) {
    u32 most = 0, pairs = NO_DIFFERENCE * ONES;
#pragma unroll
    for (i32 c = 0; c < COLUMNS; c++) {
        most = max(most, (u32)qu[c] + SMALL);
        most = max(most, (u32)qv[c] + SMALL);
        pairs += (u32)qu[c] * (5u << 8 * c) + ((u32)qv[c] << 8 * c);
    }
    if (most <= 2 * SMALL) {
        u32 saved = 0;
        const u32 four = small_symbols(pairs, saved);
        cost += 3 * COLUMNS - saved;
        return four;
    }
    return large_symbols<T>(qu, qv, payload(), cost);
}

// Rows of a lane's four columns, loaded some rows ahead. FAST as below.
template <typename T, bool FAST>
struct LorenzoRowsAhead {
    static constexpr i32 ROWS = 8 / sizeof(T);
    const T *u, *v;
    u64 pitch_u, pitch_v;
    Four<T> a[ROWS], b[ROWS];

    __device__ __forceinline__ LorenzoRowsAhead(const Job& job, const TileShape& shape, i32 column) {
        u = vertex_at<T>(job.u, job.u_layout, shape.x0 + column, shape.y0);
        v = vertex_at<T>(job.v, job.v_layout, shape.x0 + column, shape.y0);
        pitch_u = job.u_layout.pitch, pitch_v = job.v_layout.pitch;
#pragma unroll
        for (i32 i = 0; i < ROWS; i++) ask(job, i);
    }
    __device__ __forceinline__ void ask(const Job& job, i32 i) {
        a[i] = load_columns<FAST>(u, job.u_layout.stride);
        b[i] = load_columns<FAST>(v, job.v_layout.stride);
        u += pitch_u;
        v += pitch_v;
    }
    // After the last row, load it again.
    __device__ __forceinline__ void stay() { u -= pitch_u, v -= pitch_v, pitch_u = pitch_v = 0; }
};

// Replaces the codes of the neighbours in `which` by those on the finer lattice, SHIFTED_ZERO added.
template <typename T>
__device__ __forceinline__ void take_coarse_codes(const typename Payload<T>::Type* payload, u32 which,
    u32 (&coarse_u)[COLUMNS], u32 (&coarse_v)[COLUMNS], T (&error)[COLUMNS]) {
    typedef Real<T> R;
    CoarseCodes codes[COLUMNS];
    load_coarse_codes<T>(payload, which, codes);
#pragma unroll
    for (i32 c = 0; c < COLUMNS; c++)
        if (which >> c & 1)
            coarse_u[c] = codes[c].u + R::SHIFTED_ZERO, coarse_v[c] = codes[c].v + R::SHIFTED_ZERO,
            error[c] = T(0);
}

// Writes the differences of the neighbours in `which` in place of their coarse codes, and clears them.
template <typename Q>
__device__ __forceinline__ void put_differences(
    Q* payload, u32 which, i32 (&qu)[COLUMNS], i32 (&qv)[COLUMNS]) {
#pragma unroll
    for (i32 c = 0; c < COLUMNS; c++) {
        if (!(which >> c & 1)) continue;
        *reinterpret_cast<CoarseCodes*>(payload + c) = {(u32)qu[c], (u32)qv[c]};
        qu[c] = qv[c] = 0;
    }
}

// Differences of four neighbours from those in the row before, which they replace.
__device__ __forceinline__ void differences_down(
    const u32 (&coarse)[COLUMNS], u32 (&before)[COLUMNS], u32 (&down)[COLUMNS]) {
#pragma unroll
    for (i32 c = 0; c < COLUMNS; c++) down[c] = coarse[c] - before[c], before[c] = coarse[c];
}

// Codes the rows of interior tiles, eight lanes per tile. FAST: 16 bytes of a row can be loaded at once, and
// no value of the field is out of range. REFINED: the vertices in `refined` (by row; `rows` has the rows with
// any in the warp) have codes on a finer lattice; their differences replace their coarse codes, and their
// symbols are written later.
template <typename T, bool FAST, bool REFINED>
__device__ __forceinline__ RowsOfLane<T> lorenzo_interior_rows(const Job& job, u64 index,
    typename Real<T>::Pair step, Acceptance<T> accept, u32 rows, const u32* refined) {
    const LorenzoView<T> work(job);
    typedef Real<T> R;
    constexpr i32 ROWS = LorenzoRowsAhead<T, FAST>::ROWS;
    const i32 column = COLUMNS * (threadIdx.x & (ROW_LANES - 1));
    LorenzoRowsAhead<T, FAST> ahead(job, TileFinder(job).shape(job, index), column);
    u32* symbols = words_at<u32>(work.symbols() + index * TILE_VERTICES + column);
    u32 before_u[COLUMNS], before_v[COLUMNS];
#pragma unroll
    for (i32 c = 0; c < COLUMNS; c++) before_u[c] = before_v[c] = R::SHIFTED_ZERO;
    u32 cost = 0;
    T max_error = 0;
    bool fit = true;
    // Payload of the lane's four vertices in the row of `symbols`, which need no further register.
    auto payload_at = [&]() {
        const u64 at = reinterpret_cast<u8*>(symbols) - work.symbols();
        return work.payload(at / TILE_VERTICES) + payload_place((u32)at % TILE, (u32)at / TILE % TILE);
    };
    // Prefetch their coarse codes.
    u32 coming[ROWS] = {};
    auto expect = [&](i32 row, u32& mine) { mine = rows >> row & 1 ? refined[row] >> column & 15 : 0; };
    if (REFINED)
#pragma unroll
        for (i32 i = 0; i < ROWS; i++) expect(i, coming[i]);
#pragma unroll 1
    for (i32 start = 0; start < TILE; start += ROWS) {
        if (start + 2 * ROWS > TILE) ahead.stay();
#pragma unroll
        for (i32 i = 0; i < ROWS; i++) {
            u32 coarse_u[COLUMNS], coarse_v[COLUMNS], down_u[COLUMNS], down_v[COLUMNS], mine = 0;
            T error[COLUMNS];
            const bool four_fit = quantize_four<T>(ahead.a[i], ahead.b[i], step, coarse_u, coarse_v, error);
            if (!FAST) fit &= four_fit;
            if (REFINED) {
                mine = coming[i];
                coming[i] = 0;
                if (start + ROWS < TILE) {
                    expect(start + ROWS + i, coming[i]);
                    if (coming[i]) prefetch_near(payload_at() + ROWS * COLUMNS);
                }
                if (mine) take_coarse_codes(payload_at(), mine, coarse_u, coarse_v, error);
            }
#pragma unroll
            for (i32 c = 0; c < COLUMNS; c++) max_error = R::high(max_error, error[c]);
            differences_down(coarse_u, before_u, down_u);
            differences_down(coarse_v, before_v, down_v);
            ahead.ask(job, i);
            i32 qu[COLUMNS], qv[COLUMNS];
            differences_of_row(down_u, qu);
            differences_of_row(down_v, qv);
            if (REFINED && mine) put_differences(payload_at(), mine, qu, qv);
            *symbols = symbols_of_four<T>(qu, qv, payload_at, cost);
            symbols += ROW_LANES;
        }
    }
    // An infinite width makes the errors NaN.
    return {cost, max_error, R::finite(step.x) && fit && accept.within(max_error)};
}

// True if a condition holds in all lanes of a tile.
__device__ __forceinline__ bool in_all_lanes(bool it) {
    const u32 mine = ((1u << ROW_LANES) - 1) << (threadIdx.x & 31 & ~(ROW_LANES - 1));
    return (__ballot_sync(FULL, it) & mine) == mine;
}
// Activity of an interior tile in its info word.
template <typename T>
__device__ __forceinline__ u32 activity_of_tile(const RowsOfLane<T>& rows) {
    u32 cost = rows.cost;
#pragma unroll
    for (i32 k = 1; k < ROW_LANES; k *= 2) cost += __shfl_xor_sync(FULL, cost, k);
    return tile_activity_of(cost, TILE_VERTICES) << 8;
}
// Largest magnitude of the field.
template <typename T>
__device__ __forceinline__ T largest_value(const Control& control) {
    return (T)control.largest;
}
