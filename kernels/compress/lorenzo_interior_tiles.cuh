// Entries of the Lorenzo predictor for whole tiles, four to a warp: plain ones, and those with limits. Twin:
// src/predict/lorenzo.rs.
#pragma once
#include "compress/lorenzo_border_tiles.cuh"

// Neighbours in a row, sixteen bytes at a time where they lie so.
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

// Symbols of neighbours where some have raw bits; what they cost is added. Not unrolled: it is rare.
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

// Symbols without raw bits, each in a byte, from (qu + SMALL) * 5 + qv + SMALL, and three for each that is
// zero.
constexpr u32 NO_DIFFERENCE = SMALL * 5 + SMALL;
__device__ __forceinline__ u32 small_symbols(u32 pairs, u32& saved) {
    const u32 from = (pairs + (0x80 - NO_DIFFERENCE) * ONES) & 0x80 * ONES,
              above = (pairs + (0x7f - NO_DIFFERENCE) * ONES) & 0x80 * ONES;
    const u32 zeros = (from ^ above) >> 7;
    saved = __dp4a(zeros, 3 * ONES, saved);
    // One more below, none where there is no difference.
    return pairs + ONES - (from >> 7) - NO_DIFFERENCE * zeros;
}

// What comes of a whole tile, by each of its lanes: what the symbols of its own vertices cost; the largest
// error.
template <typename T>
struct RowsOfLane {
    u32 cost;
    T max_error;
    bool holds;  // whether the lattice has a code for each of its vertices
};

// The code of a vertex on a finer lattice: what it is on that of its tile, in the place of its raw bits,
// where the rows put their differences in its place; and the rest of it, in the order of the vertices behind
// the limits of their tile.
struct alignas(8) BaseCodes {
    u32 u, v;
};
struct alignas(8) FinerCode {
    u32 digits;
    i32 id;
};
template <typename T>
__device__ __forceinline__ FinerCode* finer_codes_of(const Job& job, u64 tile) {
    return reinterpret_cast<FinerCode*>(limits_of<T>(job, tile) + TILE_VERTICES);
}
static_assert(TILE_VERTICES * (4 + sizeof(FinerCode)) <= TILE_WORD_BYTES_F32 &&
                  TILE_VERTICES * (8 + sizeof(FinerCode)) <= TILE_WORD_BYTES_F64,
    "they have their place");

// Those of neighbours in a row that have some, by bits. All are on their way at once.
template <typename T>
__device__ __forceinline__ void load_base_codes(
    const typename Payload<T>::Type* payload, u32 which, BaseCodes (&codes)[COLUMNS]) {
#pragma unroll
    for (i32 c = 0; c < COLUMNS; c++) {
        codes[c] = {0, 0};
        if (which >> c & 1) codes[c] = *reinterpret_cast<const BaseCodes*>(payload + c);
    }
}

// The rows of whole tiles, one for eight lanes. FAST where sixteen bytes of a row can be loaded at once, and
// no value of the field is beyond the codes. REFINED where some vertices have a code of a finer lattice, in
// rows of which bits are set in `rows`; those of the lane's tile, by row, in `refined`. Their differences
// take the place of their codes, and their symbols are none.
template <typename T, bool FAST, bool REFINED>
__device__ __forceinline__ RowsOfLane<T> lorenzo_whole_rows(
    const Job& job, u64 index, T width, T inverse, T accept, u32 rows, const u32* refined) {
    const LorenzoView<T> work(job);
    typedef Real<T> R;
    typedef typename Payload<T>::Type Q;
    constexpr i32 ROWS = 8 / sizeof(T);
    const i32 column = COLUMNS * (threadIdx.x & (ROW_LANES - 1));
    const TileShape shape = TileFinder(job).shape(job, index);
    const T* u = vertex_at<T>(job.u, job.u_layout, shape.x0 + column, shape.y0);
    const T* v = vertex_at<T>(job.v, job.v_layout, shape.x0 + column, shape.y0);
    u32* symbols = words_at<u32>(work.symbols() + index * TILE_VERTICES + column);
    u32 before_u[COLUMNS], before_v[COLUMNS];
#pragma unroll
    for (i32 c = 0; c < COLUMNS; c++) before_u[c] = before_v[c] = R::SHIFTED_ZERO;
    u32 cost = 0;
    T max_error = 0, largest = 0;
    auto payload_at = [&]() { return work.raw() + (reinterpret_cast<u8*>(symbols) - work.symbols()); };
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
    // Codes of finer lattices of the rows that are on their way are expected.
    u32 coming[ROWS] = {};
    auto expect = [&](i32 row, u32& mine) { mine = rows >> row & 1 ? refined[row] >> column & 15 : 0; };
    if (REFINED)
#pragma unroll
        for (i32 i = 0; i < ROWS; i++) expect(i, coming[i]);
#pragma unroll 1
    for (i32 start = 0; start < TILE; start += ROWS) {
        // Behind the last one it is that again.
        if (start + 2 * ROWS > TILE) u -= pitch_u, v -= pitch_v, pitch_u = pitch_v = 0;
#pragma unroll
        for (i32 i = 0; i < ROWS; i++) {
            u32 base_u[COLUMNS], base_v[COLUMNS], down_u[COLUMNS], down_v[COLUMNS], mine = 0;
            T error[COLUMNS];
#pragma unroll
            for (i32 c = 0; c < COLUMNS; c++) {
                const T x = a[i].x[c], y = b[i].x[c], scaled_u = x * inverse, scaled_v = y * inverse;
                const T shifted_u = scaled_u + R::SHIFT, shifted_v = scaled_v + R::SHIFT;
                error[c] = R::high(
                    R::abs((shifted_u - R::SHIFT) * width - x), R::abs((shifted_v - R::SHIFT) * width - y));
                if (!FAST) largest = R::high(largest, R::high(R::abs(scaled_u), R::abs(scaled_v)));
                base_u[c] = R::shifted_code(shifted_u), base_v[c] = R::shifted_code(shifted_v);
            }
            if (REFINED) {
                mine = coming[i];
                coming[i] = 0;
                if (start + ROWS < TILE) {
                    expect(start + ROWS + i, coming[i]);
                    if (coming[i]) prefetch_near(payload_at() + ROWS * TILE);
                }
                if (mine) {
                    BaseCodes codes[COLUMNS];
                    load_base_codes<T>(payload_at(), mine, codes);
#pragma unroll
                    for (i32 c = 0; c < COLUMNS; c++)
                        if (mine >> c & 1)
                            base_u[c] = codes[c].u + R::SHIFTED_ZERO,
                            base_v[c] = codes[c].v + R::SHIFTED_ZERO, error[c] = T(0);
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
            for (i32 c = 1; c < COLUMNS; c++)
                qu[c] = (i32)(down_u[c] - down_u[c - 1]), qv[c] = (i32)(down_v[c] - down_v[c - 1]);
            if (REFINED && mine) {
                Q* const to = payload_at();
#pragma unroll
                for (i32 c = 0; c < COLUMNS; c++) {
                    if (!(mine >> c & 1)) continue;
                    *reinterpret_cast<BaseCodes*>(to + c) = {(u32)qu[c], (u32)qv[c]};
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
                cost += 3 * COLUMNS - saved;
            } else {
                four = large_symbols<T>(qu, qv, payload_at(), cost);
            }
            *symbols = four;
            symbols += ROW_LANES;
        }
    }
    // A step that is infinite makes errors that are nothing.
    const bool holds = R::finite(width) && max_error <= accept && largest <= R::MAX_CODE;
    return {cost, max_error, holds};
}

// Whether something is so in all lanes of a tile.
__device__ __forceinline__ bool in_all_lanes(bool it) {
    const u32 mine = ((1u << ROW_LANES) - 1) << (threadIdx.x & 31 & ~(ROW_LANES - 1));
    return (__ballot_sync(FULL, it) & mine) == mine;
}
// The classes of whole tiles in their info words, from what the symbols of each lane cost.
template <typename T>
__device__ __forceinline__ u32 class_of_tile(const RowsOfLane<T>& rows) {
    u32 cost = rows.cost;
#pragma unroll
    for (i32 k = 1; k < ROW_LANES; k *= 2) cost += __shfl_xor_sync(FULL, cost, k);
    return tile_class_of(cost, TILE_VERTICES) << 8;
}
// The largest of all values.
template <typename T>
__device__ __forceinline__ T largest_value(const Control& control) {
    return (T)control.largest;
}

// Grid: tiles / (4 * warps). Block: 32 * warps. The plain tiles, beside the kernel before.
template <typename T>
__device__ __forceinline__ void lorenzo_plain(const Job& job) {
    __shared__ Lattices<T> lattices;
    __shared__ EvenPositions positions;
    Control& control = control_of(job);
    const u64 first = TILES_OF_WARP * ((u64)blockIdx.x * LORENZO_PLAIN_WARPS + warp_or(threadIdx.x >> 5)),
              count = control.plain_tiles;
    __shared__ LargestError known[LORENZO_PLAIN_WARPS];
    u32 failing = 0;
    u64 index = 0;
    if (first < count) {
        if (threadIdx.x % 32 == 0) expect_largest_error(control, known[threadIdx.x >> 5]);
        end_of_copies();
        const u64 k = first + (threadIdx.x & 31) / ROW_LANES;
        const bool exists = k < count;
        // Lanes without a tile do what others do.
        index = ListsView(job).tile_lists()[exists ? k : first];
        const T width = lattice_width<T>(control.quantum, 0, 0), inverse = lattice_inverse(width),
                accept = (T)control.quantizer.accept;
        RowsOfLane<T> rows;
        if (warp_or(is_aligned<T>(job) && largest_value<T>(control) * inverse <= Real<T>::MAX_CODE))
            rows = lorenzo_whole_rows<T, true, false>(job, index, width, inverse, accept, 0, nullptr);
        else
            rows = lorenzo_whole_rows<T, false, false>(job, index, width, inverse, accept, 0, nullptr);
        const bool holds = in_all_lanes(rows.holds), counts = exists && holds;
        const u32 cls = class_of_tile(rows);
        if (counts && threadIdx.x % ROW_LANES == 0) TileView(job).headers()[index] = ALL_CODED | cls;
        wait_for_copies<0>();
        report_tally<T>(control, 0, 0, counts ? rows.max_error : T(0), known[threadIdx.x >> 5].bits);
        failing = __ballot_sync(FULL, exists && !holds);
    }
    if (__syncthreads_or(failing)) {
        lattices.fill(control.quantum);
        positions.fill();
#pragma unroll 1
        for (i32 lane = 0; lane < 32; lane += ROW_LANES)
            if (failing >> lane & 1)
                lorenzo_by_vertex<T>(job, lattices, positions, __shfl_sync(FULL, index, lane), 0, false);
    }
    end_beside();
}

// What a warp finds out about four whole tiles.
template <typename T>
struct LorenzoTiles {
    // So many vertices are listed at once, of all tiles.
    static constexpr u32 LISTED = sizeof(T) == 4 ? 384 : 256;
    T a[LISTED], b[LISTED], limits[LISTED];
    T errors[TILES_OF_WARP][32];  // by lane, of vertices with a code of a finer lattice
    u64 tiles[TILES_OF_WARP], limited[TILES_OF_WARP];
    const T *u[TILES_OF_WARP], *v[TILES_OF_WARP];
    u32 refined[TILES_OF_WARP][TILE];  // those, by row
    u32 halvings[TILES_OF_WARP][HALVINGS];
    u32 costs[TILES_OF_WARP];
    i32 tiers[TILES_OF_WARP];
    u16 listed[LISTED];  // tile << 10 | position, and then | y << 5 | x
    u8 chunks[TILES_OF_WARP * TILE_VERTICES / LIMIT_CHUNK];
};

// Lists the chunks of limits that are there, those of each tile by 64 bits; how many there are.
template <typename T>
__device__ __forceinline__ u32 list_chunks(LorenzoTiles<T>& shared, u64 limited) {
    static_assert(TILE_VERTICES / LIMIT_CHUNK == 8 * ROW_LANES, "eight for a lane");
    const i32 lane = threadIdx.x & 31;
    const u32 mine = (u32)(limited >> 8 * (lane % ROW_LANES)) & 255, own = __popc(mine);
    u32 up_to = own;
#pragma unroll
    for (i32 d = 1; d < 32; d *= 2) up_to = add_from_below(up_to, d);
    u8* to = shared.chunks + (up_to - own);
#pragma unroll
    for (i32 k = 0; k < 8; k++)
        if (mine >> k & 1) *to++ = (u8)(8 * lane + k);
    return warp_or(__shfl_sync(FULL, up_to, 31));
}

// Lists limits, as many as find their place; `chunk` is the first one that is looked at, and becomes the
// first one that is not.
template <typename T>
__device__ __forceinline__ u32 list_limits(LorenzoTiles<T>& shared, const Job& job, u32& chunk, u32 chunks) {
    constexpr u32 EACH = 16 / sizeof(T), LANES = LIMIT_CHUNK / EACH, AT_ONCE = 32 / LANES, TIMES = 2;
    struct alignas(16) Some {
        T limits[EACH];
    };
    const u32 lane = threadIdx.x & 31, below = (1u << lane) - 1;
    u32 listed = 0;
    auto list = [&](T limit, u32 all, u32 vertex) {
        const u32 to = listed + __popc(all & below);
        if (all >> lane & 1) shared.listed[to] = (u16)vertex, shared.limits[to] = limit;
        listed += __popc(all);
    };
    if (chunk == 0) {
        // The first column is there, of the finest level in one vertex of each chunk.
        constexpr u32 ROWS = TILE / 2, FIRST = TILE_VERTICES / 2 / LIMIT_CHUNK;
        T side[TILES_OF_WARP * ROWS / 32];
#pragma unroll
        for (u32 i = 0; i < TILES_OF_WARP * ROWS / 32; i++) {
            const u32 t = 32 / ROWS * i + lane / ROWS, c = FIRST + lane % ROWS;
            // Where there is no tile, all are there.
            side[i] = shared.limited[t] >> c & 1 ? no_limit<T>()
                                                 : limits_of<T>(job, shared.tiles[t])[LIMIT_CHUNK * c];
        }
#pragma unroll
        for (u32 i = 0; i < TILES_OF_WARP * ROWS / 32; i++)
            list(side[i], __ballot_sync(FULL, is_tight(side[i])),
                (32 / ROWS * i + lane / ROWS) * TILE_VERTICES + LIMIT_CHUNK * (FIRST + lane % ROWS));
    }
#pragma unroll 1
    for (; chunk < chunks; chunk += TIMES * AT_ONCE) {
        Some some[TIMES];
        u32 first[TIMES];
#pragma unroll
        for (u32 i = 0; i < TIMES; i++) {
            const u32 c = chunk + AT_ONCE * i + lane / LANES;
            first[i] = LIMIT_CHUNK * (c < chunks ? shared.chunks[c] : 0) + EACH * (lane % LANES);
#pragma unroll
            for (u32 j = 0; j < EACH; j++) some[i].limits[j] = no_limit<T>();
            if (c < chunks)
                some[i] = *reinterpret_cast<const Some*>(
                    limits_of<T>(job, shared.tiles[first[i] / TILE_VERTICES]) + first[i] % TILE_VERTICES);
        }
        u32 tight[TIMES][EACH], all = listed;
#pragma unroll
        for (u32 i = 0; i < TIMES; i++)
#pragma unroll
            for (u32 j = 0; j < EACH; j++) {
                tight[i][j] = __ballot_sync(FULL, is_tight(some[i].limits[j]));
                all += __popc(tight[i][j]);
            }
        static_assert(TILES_OF_WARP * TILE / 2 + TIMES * 32 * EACH <= LorenzoTiles<T>::LISTED,
            "the first ones have their place");
        if (all > LorenzoTiles<T>::LISTED) break;
#pragma unroll
        for (u32 i = 0; i < TIMES; i++)
#pragma unroll
            for (u32 j = 0; j < EACH; j++) list(some[i].limits[j], tight[i][j], first[i] + j);
    }
    __syncwarp();
    return listed;
}

// The tiers of the smallest estimated sizes, the first of several, of four tiles: each lane looks at one tier
// of its tile.
__device__ __forceinline__ i32 best_tiers(const u32* halvings) {
    static_assert(TIERS == ROW_LANES, "a lane for each");
    const i32 tier = threadIdx.x % ROW_LANES;
    u32 size = (u32)tier * TIER_RATE * TILE_VERTICES;
#pragma unroll
    for (i32 needed = 1; needed < HALVINGS; needed++)
        if (needed > tier)
            size += halvings[needed] * (8 * (REFINED_BITS + 4 * (u32)((needed - tier + 1) / 2)));
    u32 best = size * TIERS + (u32)tier;
#pragma unroll
    for (i32 k = 1; k < ROW_LANES; k *= 2) best = min(best, __shfl_xor_sync(FULL, best, k));
    return best % TIERS;
}
static_assert(TILE_VERTICES * 8ull * (REFINED_BITS + 4 * HALVINGS / 2) + TIERS * TIER_RATE * TILE_VERTICES <
                  (1ull << 32) / TIERS,
    "there are bits for both");

// Codes of the listed vertices that the lattice of their tile does not hold, which remain listed. Of tiles
// with vertices that have none, the bits of their first lanes are set in `failing`.
template <typename T>
__device__ __forceinline__ u32 refine_listed(LorenzoTiles<T>& shared, const Job& job,
    const Lattices<T>& lattices, u32 listed, T accept, u32& failing) {
    typedef Real<T> R;
    typedef typename Payload<T>::Type Q;
    const u32 lane = threadIdx.x & 31;
    u32 kept = 0;
#pragma unroll 1
    for (u32 first = 0; first < listed; first += 32) {
        LorenzoCode<T> code = {false, 0, 0, 0, T(0)};
        u32 vertex = 0;
        if (first + lane < listed) {
            vertex = shared.listed[first + lane];
            const T a = shared.a[first + lane], b = shared.b[first + lane],
                    limit = shared.limits[first + lane];
            const u32 t = vertex / TILE_VERTICES;
            const i32 tier = shared.tiers[t];
            T cu, cv, ru, rv;
            bool fits = quantize_on(a, lattices.inverse[tier][0], lattices.width[tier][0], cu, ru);
            fits &= quantize_on(b, lattices.inverse[tier][0], lattices.width[tier][0], cv, rv);
            const T error = R::high(R::abs(ru - a), R::abs(rv - b));
            if (!(fits && (error == T(0) || (error <= accept && error < limit)))) {
                if (fits) code = lorenzo_code<T>(a, b, lattices, tier, accept, true, limit);
                if (!code.coded) failing |= 1u << ROW_LANES * t;
            }
        }
        // Those that remain come no later than they were: all lanes have read theirs.
        const u32 all = __ballot_sync(FULL, code.coded);
        if (code.coded) {
            const u32 t = vertex / TILE_VERTICES, place = vertex % TILE_VERTICES;
            const u64 tile = shared.tiles[t];
            i32 base_u, base_v;
            u32 digits_u, digits_v;
            split_code(code.qu, code.id, base_u, digits_u);
            split_code(code.qv, code.id, base_v, digits_v);
            *reinterpret_cast<BaseCodes*>(LorenzoView<T>(job).raw() + tile * TILE_VERTICES + place) = {
                (u32)base_u, (u32)base_v};
            finer_codes_of<T>(job, tile)[place] = {digits_u | digits_v << (2 * code.id), code.id};
            atomicOr(&shared.refined[t][place / TILE], 1u << place % TILE);
            shared.errors[t][lane] = R::high(shared.errors[t][lane], code.error);
            shared.listed[kept + __popc(all & ((1u << lane) - 1))] = (u16)vertex;
        }
        kept += __popc(all);
    }
    return kept;
}

// Symbols of the listed vertices, which have a code of a finer lattice. Of tiles where one has too many raw
// bits, the bits of their first lanes are set in `failing`.
template <typename T>
__device__ __forceinline__ void refined_symbols(
    LorenzoTiles<T>& shared, const Job& job, u32 listed, u32& failing) {
    typedef typename Payload<T>::Type Q;
    const u32 lane = threadIdx.x & 31;
    auto payload_of = [&](u32 vertex) {
        return LorenzoView<T>(job).raw() + shared.tiles[vertex / TILE_VERTICES] * TILE_VERTICES +
               vertex % TILE_VERTICES;
    };
    // The next ones are on their way.
    BaseCodes coming = {0, 0};
    FinerCode coming_finer = {0, 0};
    auto ask_for = [&](u32 k) {
        if (k >= listed) return;
        const u32 vertex = shared.listed[k];
        coming = *reinterpret_cast<const BaseCodes*>(payload_of(vertex));
        coming_finer = finer_codes_of<T>(job, shared.tiles[vertex / TILE_VERTICES])[vertex % TILE_VERTICES];
    };
    ask_for(lane);
#pragma unroll 1
    for (u32 k = lane; k < listed; k += 32) {
        const BaseCodes difference = coming;
        const FinerCode finer = coming_finer;
        ask_for(k + 32);
        const u32 vertex = shared.listed[k], t = vertex / TILE_VERTICES;
        const Symbol s = large_symbol({finer.id, (i32)difference.u, (i32)difference.v});
        *payload_of(vertex) = with_digits<T>(s, finer.digits);
        LorenzoView<T>(job).symbols()[shared.tiles[t] * TILE_VERTICES + vertex % TILE_VERTICES] =
            (u8)s.symbol;
        const u32 raw = s.bits + 4 * (u32)finer.id;
        if (sizeof(T) == 4 && raw > 64) failing |= 1u << ROW_LANES * t;
        atomicAdd(&shared.costs[t], 3 + raw);
    }
}

// Grid: tiles / (4 * warps). Block: 32 * warps. Whole tiles with limits, where there are many. Those with
// most work come first: each warp has some of them and some with less. Beside the kernel before.
template <typename T>
__device__ __forceinline__ void lorenzo_tight(const Job& job) {
    typedef Real<T> R;
    __shared__ LorenzoTiles<T> tiles[LORENZO_PLAIN_WARPS];
    __shared__ Lattices<T> lattices;
    __shared__ EvenPositions positions;
    Control& control = control_of(job);
    const u64 count = control.whole_tiles, groups = (count + TILES_OF_WARP - 1) / TILES_OF_WARP;
    if (count >= MANY_WHOLE_TILES && (u64)blockIdx.x * LORENZO_PLAIN_WARPS < groups) {
        lattices.fill(control.quantum);
        positions.fill();
        const i32 lane = threadIdx.x & 31, warp = (i32)warp_or(threadIdx.x >> 5);
        LorenzoTiles<T>& shared = tiles[warp];
        const u64 group = (u64)blockIdx.x * LORENZO_PLAIN_WARPS + warp;
        if (group < groups) {
            const bool exists = group + lane / ROW_LANES * groups < count;
            // Lanes without a tile do what those of the first one do.
            const i32 tile_of_lane = exists ? lane / ROW_LANES : 0;
            u32 chunks;
            {
                const u64 index =
                              ListsView(job).tile_lists()[job.tiles() - 1 - (group + tile_of_lane * groups)],
                          limited = nearness_of(job, index).limited;
                // Limits are on their way.
#pragma unroll
                for (i32 k = 0; k < TILE_VERTICES * (i32)sizeof(T) / 128; k += ROW_LANES) {
                    const i32 line = k + lane % ROW_LANES;
                    if (limited >> (128 / sizeof(T) / LIMIT_CHUNK * line) & 1)
                        prefetch_near(limits_of<T>(job, index) + 128 / sizeof(T) * line);
                }
                if (lane % ROW_LANES == 0) {
                    const TileShape shape = TileFinder(job).shape(job, index);
                    shared.tiles[lane / ROW_LANES] = index;
                    // Where there is no tile, there is no limit that matters.
                    shared.limited[lane / ROW_LANES] = exists ? limited : ~0ull;
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
                chunks = list_chunks(shared, exists ? limited : 0);
            }
            __syncwarp();
            const T accept = (T)control.quantizer.accept;
            // All limits for the tiers, and then for codes of finer lattices: once more where they are too
            // many for the list.
            u32 failing = 0, listed = 0, chunk = 0;
            bool several = false;
#pragma unroll 1
            for (i32 pass = 0; pass < 2; pass++) {
                if (pass > 0) {
                    const i32 tier = best_tiers(shared.halvings[tile_of_lane]);
                    if (lane % ROW_LANES == 0) shared.tiers[lane / ROW_LANES] = tier;
                    __syncwarp();
                    if (several) chunk = 0;
                }
                do {
                    if (pass == 0 || several) {
                        if (several) {
                            wait_for_copies<0>();
                            __syncwarp();
                        }
                        listed = list_limits(shared, job, chunk, chunks);
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
                            const i32 needed = pass == 0 ? lattices.halvings(shared.limits[k]) : 0;
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
            const i32 tier = shared.tiers[tile_of_lane];
            const T width = lattices.width[tier][0], inverse = lattices.inverse[tier][0];
            RowsOfLane<T> rows;
            if (warp_or(is_aligned<T>(job)) &&
                !warp_or(!(largest_value<T>(control) * inverse <= R::MAX_CODE)))
                rows = lorenzo_whole_rows<T, true, true>(job, shared.tiles[tile_of_lane], width, inverse,
                    accept, refined_rows, shared.refined[tile_of_lane]);
            else
                rows = lorenzo_whole_rows<T, false, true>(job, shared.tiles[tile_of_lane], width, inverse,
                    accept, refined_rows, shared.refined[tile_of_lane]);
            __syncwarp();
            if (refined_rows && !several) {
                refined_symbols(shared, job, listed, failing);
            } else if (refined_rows) {
                // As many rows as are listed whatever there is in them.
                constexpr i32 ROWS = 8;
                static_assert(ROWS * TILE <= LorenzoTiles<T>::LISTED, "they have their place");
#pragma unroll 1
                for (i32 y = 0; y < TILES_OF_WARP * TILE; y += ROWS) {
                    u32 row = lane < ROWS ? shared.refined[y / TILE][y % TILE + lane] : 0;
                    const u32 own = __popc(row);
                    u32 up_to = own;
#pragma unroll
                    for (i32 d = 1; d < 32; d *= 2) up_to = add_from_below(up_to, d);
                    for (u16* to = shared.listed + (up_to - own); row; row &= row - 1)
                        *to++ = (u16)(TILE * (y + lane) + __ffs(row) - 1);
                    __syncwarp();
                    refined_symbols(shared, job, __shfl_sync(FULL, up_to, 31), failing);
                    __syncwarp();
                }
            }
            __syncwarp();
            if (lane % ROW_LANES == 0) rows.cost += shared.costs[tile_of_lane];
            failing = warp_or(failing);
            const bool holds = in_all_lanes(rows.holds && !(failing >> (ROW_LANES * tile_of_lane) & 1));
            const u32 cls = class_of_tile(rows), kept = __ballot_sync(FULL, exists && holds),
                      failed = __ballot_sync(FULL, exists && !holds);
            if (exists && holds && lane % ROW_LANES == 0)
                TileView(job).headers()[shared.tiles[tile_of_lane]] =
                    ALL_CODED | (u32)shared.tiers[tile_of_lane] << 5 | cls;
            T max_error = exists && holds ? rows.max_error : T(0);
#pragma unroll
            for (i32 t = 0; t < TILES_OF_WARP; t++)
                if (kept >> ROW_LANES * t & 1) max_error = R::high(max_error, shared.errors[t][lane]);
            report_tally<T>(control, 0, 0, max_error);
            __syncwarp();
#pragma unroll 1
            for (i32 t = 0; t < TILES_OF_WARP; t++)
                if (failed >> ROW_LANES * t & 1)
                    lorenzo_by_vertex<T>(job, lattices, positions, shared.tiles[t], shared.tiers[t], true);
        }
    }
    end_beside();
}
