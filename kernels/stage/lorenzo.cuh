// Twin of src/stage/lorenzo.rs: lattices, the tier of a tile, codes of single vertices.
#pragma once
#include "anchor.cuh"
#include "list.cuh"
#include "tile.cuh"

constexpr i32 TIERS = 8;
constexpr i32 HALVINGS = TIERS + 2 * (IDS - 1) + 1;
constexpr u32 TIER_RATE = 8, REFINED_BITS = 9;

// A tile's info word holds the tier above the mask states; its mode in the stream is both.
__device__ __forceinline__ u32 tier_in(u32 info) { return info >> 5 & 7; }
__device__ __forceinline__ u32 stream_mode(u32 info) { return 9 * tier_in(info) + mode_in(info); }
__device__ __forceinline__ u32 info_of_mode(u32 mode) { return mode / 9 << 5 | mode % 9; }

// The step of a lattice: halved and quartered one by one, as it is rounded that way below the normal range.
template <typename T>
__device__ __forceinline__ T lattice_width(double quantum, i32 tier, i32 id) {
    double w = 2.0 * quantum;
    for (i32 k = 0; k < tier; k++) w *= 0.5;
    for (i32 k = 0; k < id; k++) w *= 0.25;
    return (T)w;
}
template <typename T>
__device__ __forceinline__ T lattice_inverse(T width) {
    const T i = (T)(1.0 / (double)width);
    return Real<T>::finite(i) ? i : T(0);
}

// The integer of a value (as a float) and what it decodes to; false where there is none.
template <typename T>
__device__ __forceinline__ bool quantize_on(T value, T inverse, T width, T& code, T& decoded) {
    const T scaled = value * inverse;
    code = Real<T>::round(scaled);
    decoded = code * width;
    return Real<T>::abs(scaled) <= Real<T>::MAX_CODE;
}

// The step of which half is compared with a limit after n halvings.
template <typename T>
__device__ __forceinline__ T halved_width(double quantum, i32 n) {
    const i32 tier = n < TIERS ? n : TIERS - 2 + n % 2;
    return lattice_width<T>(quantum, tier, (n - tier) / 2);
}

// Estimated size of a tile at a tier, in eighths of a bit.
__device__ __forceinline__ u32 estimate_tier(i32 tier, u32 vertices, const u32* halvings) {
    u32 size = (u32)tier * TIER_RATE * vertices;
    for (i32 needed = tier + 1; needed < HALVINGS; needed++)
        size += halvings[needed] * 8 * (REFINED_BITS + 4 * (u32)((needed - tier + 1) / 2));
    return size;
}

// The code of a vertex, or that it must be stored; the error that it leaves.
template <typename T>
struct LorenzoCode {
    bool coded;
    i32 id, qu, qv;
    T error;
};

template <typename T>
__device__ __noinline__ LorenzoCode<T> lorenzo_code(T u, T v, double quantum, i32 tier, T accept, bool tight, T limit) {
    LorenzoCode<T> c = {false, 0, 0, 0, T(0)};
    i32 id = 0;
    while (id < IDS) {
        const T width = lattice_width<T>(quantum, tier, id), inverse = lattice_inverse(width);
        T cu, cv, ru, rv;
        if (!quantize_on(u, inverse, width, cu, ru) || !quantize_on(v, inverse, width, cv, rv)) break;
        const T error = Real<T>::high(Real<T>::abs(ru - u), Real<T>::abs(rv - v));
        if (error == T(0) || (error <= accept && (!tight || error < limit))) return {true, id, (i32)cu, (i32)cv, error};
        if (id == 0 && tight) {
            i32 certain = 1;
            while (certain < IDS && T(0.5) * lattice_width<T>(quantum, tier, certain) > limit) certain++;
            id = certain > 2 ? certain - 2 : 0;
        }
        id++;
    }
    return c;
}
