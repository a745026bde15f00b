// Vertices of constrained tiles of the Lorenzo predictor that need a finer lattice.
#pragma once
#include "compress/tiles/lorenzo/bound_lists.cuh"

// Code on a finer lattice, computed again, of a vertex that the full list left out: tile << 10 | y << 5 | x.
template <typename T>
__device__ __forceinline__ FinerCode finer_code_of(const LorenzoTiles<T>& shared, const Job& job,
    const Lattices<T>& lattices, Acceptance<T> accept, u32 vertex) {
    const u32 t = vertex / TILE_VERTICES, place = vertex % TILE_VERTICES;
    const i32 x = (i32)(place % TILE), y = (i32)(place / TILE);
    const T a = shared.u[t][y * (long long)job.u_layout.pitch + x * (long long)job.u_layout.stride],
            b = shared.v[t][y * (long long)job.v_layout.pitch + x * (long long)job.v_layout.stride];
    i32 coarse_u, coarse_v;
    const Candidate<T> coded = code_on_finer_lattice<T>(Real<T>::pair(a, b), lattices, shared.bound_shifts[t],
        accept, *vertex_bound_at<T>(job, shared.tiles[t], x, y));
    return split_finer_code(coded.code, coarse_u, coarse_v);
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
    const Lattices<T>& lattices, u32 listed, Acceptance<T> accept, u32& failing) {
    typedef Real<T> R;
    const u32 lane = threadIdx.x & 31;
    u32 kept = 0;
#pragma unroll 1
    for (u32 first = 0; first < listed; first += 32) {
        Candidate<T> refined = stored<T>(R::pair(T(0), T(0)));
        u32 vertex = 0;
        if (first + lane < listed) {
            vertex = shared.listed[first + lane];
            const typename R::Pair original = R::pair(shared.a[first + lane], shared.b[first + lane]);
            const T vertex_bound = shared.vertex_bounds[first + lane];
            const u32 t = vertex / TILE_VERTICES;
            const i32 bound_shift = shared.bound_shifts[t];
            const Attempt<T> found = attempt_unpredicted<T>(original, lattices.step(bound_shift, 0));
            if (!(found.fits && accept.allows(found.error, vertex_bound))) {
                if (found.fits)
                    refined = code_on_finer_lattice<T>(original, lattices, bound_shift, accept, vertex_bound);
                if (refined.code.refinement == EXACT) failing |= 1u << ROW_LANES * t;
            }
        }
        // Entries only move down: all lanes have read theirs.
        const bool is_refined = refined.code.refinement != EXACT;
        const u32 all = __ballot_sync(FULL, is_refined);
        if (is_refined) {
            const u32 t = vertex / TILE_VERTICES, place = vertex % TILE_VERTICES,
                      to = kept + __popc(all & ((1u << lane) - 1));
            i32 coarse_u, coarse_v;
            const FinerCode finer = split_finer_code(refined.code, coarse_u, coarse_v);
            *reinterpret_cast<CoarseCodes*>(payload_of(shared, job, vertex)) = {(u32)coarse_u, (u32)coarse_v};
            atomicOr(&shared.refined[t][place / TILE], 1u << place % TILE);
            shared.errors[t][lane] = R::high(shared.errors[t][lane], refined.error);
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
    const Lattices<T>& lattices, Acceptance<T> accept, u32 listed, u32& failing) {
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
