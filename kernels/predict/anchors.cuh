// Splits an anchor code into the coarse code, which is predicted, and the refinement bits. Twin of
// src/predict/anchors.rs.
#pragma once
#include "device/kernel_args.cuh"

__device__ __forceinline__ void split_code(i32 q, i32 id, i32& base, u32& digits) {
    base = q;
    digits = 0;
    if (id == 0) return;
    i32 bits = 2 * id, half = 1 << (bits - 1);
    base = (q + half) >> bits;
    digits = (u32)(q - (base << bits) + half);
}

__device__ __forceinline__ i32 join_code(i32 base, u32 digits, i32 id) {
    if (id == 0) return base;
    i32 bits = 2 * id;
    return (i32)(((u32)base << bits) + digits - (1u << (bits - 1)));
}
