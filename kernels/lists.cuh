// What the entries of the coder share for streams with the Huffman coder or the Lorenzo predictor. Twins:
// src/stage/entropy/{group, list, huffman}.rs. LISTS is the Huffman coder, which codes sparse sequences as
// lists; LORENZO the predictor, with its own order of positions.
#pragma once
#include "decoding.cuh"
#include "stage/huffman.cuh"
#include "stage/lorenzo.cuh"

// Which positions of a tile have a symbol, by either order. Lane y keeps the masked vertices of row y.
template <bool LORENZO>
struct ActiveAt {
    Active active;
    __device__ __forceinline__ ActiveAt(const TileShape& shape, u32 states, const u32* masks) : active(shape, states, masks) {}
    // By all lanes together, for a step; position = 32 * step + lane.
    __device__ __forceinline__ bool at(i32 step) const {
        const i32 lane = threadIdx.x & 31;
        if (active.whole) return true;
        if (!LORENZO) return active.at(32 * step + lane);
        const u32 masked = __shfl_sync(FULL, active.masked, step);
        return lane <= active.last_x && step <= active.last_y && !(masked >> lane & 1);
    }
};

template <typename T, bool LORENZO>
__device__ __forceinline__ u32 raw_bits_at(u32 symbol, i32 position) {
    // Digits follow all codes of the Lorenzo predictor, as they do those of an anchor.
    return raw_bits(symbol, LORENZO ? 0 : position, sizeof(T));
}

// Visits the entries of a sequence of steps as visit(lane's position, run before it), each in its lane.
struct ListCursor {
    i32 last;
    template <typename Visit>
    __device__ __forceinline__ void step(i32 first_position, u32 present, Visit visit) {
        if (present == 0) return;
        const i32 lane = threadIdx.x & 31;
        const u32 below = present & ((1u << lane) - 1);
        const i32 before = below ? first_position + 31 - __clz(below) : last;
        if (present >> lane & 1) visit(first_position + lane, (u32)(first_position + lane - before - 1));
        last = first_position + 31 - __clz(present);
    }
};
