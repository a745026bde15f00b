// Splits an anchor code into the coarse code, which is predicted, and the refinement bits. Twin of
// src/predict/anchors.rs.
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
