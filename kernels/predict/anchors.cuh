// Splits an anchor code into the coarse code, which is predicted, and the refinement bits, and tells which
// anchor an anchor follows. Twin of src/predict/anchors.rs.
#pragma once
#include "device/shared.cuh"

__device__ __forceinline__ void split_code(i32 q, i32 refinement, i32& coarse, u32& refinement_bits) {
    coarse = q;
    refinement_bits = 0;
    if (refinement == 0) return;
    i32 bits = 2 * refinement, half = 1 << (bits - 1);
    coarse = (q + half) >> bits;
    refinement_bits = (u32)(q - (coarse << bits) + half);
}

__device__ __forceinline__ i32 join_code(i32 coarse, u32 refinement_bits, i32 refinement) {
    if (refinement == 0) return coarse;
    i32 bits = 2 * refinement;
    return (i32)(((u32)coarse << bits) + refinement_bits - (1u << (bits - 1)));
}

// The tile whose anchor the anchor of a tile follows: to its left, in the first column above. The first tile,
// which follows none, gives itself. Numbers of tiles have 32 bits (capacities.cuh).
__device__ __forceinline__ u32 followed_tile(u32 tile, u32 columns) {
    return tile % columns > 0 ? tile - 1 : tile >= columns ? tile - columns : tile;
}

// The tiles outside a group that anchors of the group follow, `count` of them: that before its first tile;
// and, if the group goes on into the next row of tiles, the first tile of its row.
struct OuterAnchors {
    u32 before_first, first_of_row, count;

    __device__ __forceinline__ OuterAnchors(const Job& job, u64 first, u64 end) {
        const u32 columns = (u32)job.tiles_x, column = (u32)first % columns;
        first_of_row = (u32)first - column;
        before_first = column > 0 ? (u32)first - 1 : first_of_row - columns;
        count = first == 0 ? 0 : column > 1 && end > first_of_row + (u64)columns ? 2 : 1;
    }
};
