// Lattices of the Lorenzo predictor and the code of a single vertex. Twin of src/predict/lorenzo.rs.
#pragma once
#include "predict/anchors.cuh"
#include "tile/coding.cuh"

constexpr i32 BOUND_SHIFTS = 8;
constexpr i32 HALVINGS = BOUND_SHIFTS + 2 * (REFINEMENTS - 1) + 1;
constexpr u32 BOUND_SHIFT_RATE = 8, REFINED_BITS = 9;
template <typename T>
constexpr i32 MANTISSA_BITS = sizeof(T) == 4 ? 23 : 52;

// The info word of a tile holds the bound shift above the mask states; the stream combines both into one
// mode.
__device__ __forceinline__ u32 bound_shift_in(u32 info) { return info >> 5 & 7; }
__device__ __forceinline__ u32 stream_mode(u32 info) {
    return 9 * bound_shift_in(info) + mask_state_in(info);
}
__device__ __forceinline__ u32 info_of_mode(u32 mode) { return mode / 9 << 5 | mode % 9; }

// Width of a bin. Halved and quartered step by step, because each step may round below the normal range.
template <typename T>
__device__ __forceinline__ T lattice_width(double half_bin_width, i32 bound_shift, i32 refinement) {
    double w = 2.0 * half_bin_width;
    for (i32 k = 0; k < bound_shift; k++) w *= 0.5;
    for (i32 k = 0; k < refinement; k++) w *= 0.25;
    return (T)w;
}
template <typename T>
__device__ __forceinline__ T lattice_inverse(T width) {
    const T i = (T)(1.0 / (double)width);
    return Real<T>::finite(i) ? i : T(0);
}

// Code of a value (an integer in a float) and the decoded value; false if the code is out of range.
template <typename T>
__device__ __forceinline__ bool quantize_on(T value, T inverse, T width, T& code, T& decoded) {
    const T scaled = value * inverse;
    code = Real<T>::round(scaled);
    decoded = code * width;
    return Real<T>::abs(scaled) <= Real<T>::MAX_CODE;
}

// Bin widths of all lattices and their reciprocals, for a block.
template <typename T>
struct Lattices {
    T width[BOUND_SHIFTS][REFINEMENTS], inverse[BOUND_SHIFTS][REFINEMENTS];
    T half[HALVINGS - 1];  // half a bin after this many halvings of the bound
    bool regular;          // each is exactly half of the one before
    __device__ __forceinline__ void fill(double half_bin_width) {
        for (i32 k = threadIdx.x; k < BOUND_SHIFTS * REFINEMENTS; k += blockDim.x) {
            const T w = lattice_width<T>(half_bin_width, k / REFINEMENTS, k % REFINEMENTS);
            width[k / REFINEMENTS][k % REFINEMENTS] = w;
            inverse[k / REFINEMENTS][k % REFINEMENTS] = lattice_inverse(w);
        }
        __syncthreads();
        if (threadIdx.x < HALVINGS - 1) {
            const i32 n = threadIdx.x, bound_shift = n < BOUND_SHIFTS ? n : BOUND_SHIFTS - 2 + n % 2;
            half[n] = T(0.5) * width[bound_shift][(n - bound_shift) / 2];
        }
        __syncthreads();
        const T last = half[HALVINGS - 2];
        if (threadIdx.x == 0)
            regular = Real<T>::finite(half[0]) && Real<T>::bits(last) >> MANTISSA_BITS<T> > 0;
        __syncthreads();
    }
    // Number of halvings of the bound after which every error is below the vertex bound.
    __device__ __forceinline__ i32 halvings(T vertex_bound) const {
        if (regular) {
            // Bits of positive floats are ordered like the values, and the entries are powers of two apart.
            const long long above = (long long)(Real<T>::bits(half[0]) - Real<T>::bits(vertex_bound)) +
                                    ((1ll << MANTISSA_BITS<T>)-1);
            const long long n = above >> MANTISSA_BITS<T>;
            return vertex_bound > T(0) ? (n < 0                 ? 0
                                             : n < HALVINGS - 1 ? (i32)n
                                                                : HALVINGS - 1)
                                       : HALVINGS - 1;
        }
        i32 n = 0;
#pragma unroll 1
        while (n < HALVINGS - 1 && half[n] > vertex_bound) n++;
        return n;
    }
};

// Code of a vertex and its error; not coded: the vertex is stored.
template <typename T>
struct LorenzoCode {
    bool coded;
    i32 refinement, qu, qv;
    T error;
};

// Code of a vertex on a finer lattice, after the lattice of the tile has failed.
template <typename T>
__device__ __noinline__ LorenzoCode<T> lorenzo_code(
    T u, T v, const Lattices<T>& lattices, i32 bound_shift, T accept, bool constrained, T vertex_bound) {
    i32 refinement = 1;
    if (constrained) {
        i32 certain = 1;
        while (certain < REFINEMENTS && T(0.5) * lattices.width[bound_shift][certain] > vertex_bound)
            certain++;
        if (certain > 2) refinement = certain - 1;
    }
#pragma unroll 1
    for (; refinement < REFINEMENTS; refinement++) {
        const T width = lattices.width[bound_shift][refinement],
                inverse = lattices.inverse[bound_shift][refinement];
        T cu, cv, ru, rv;
        if (!quantize_on(u, inverse, width, cu, ru) || !quantize_on(v, inverse, width, cv, rv)) break;
        const T error = Real<T>::high(Real<T>::abs(ru - u), Real<T>::abs(rv - v));
        if (error == T(0) || (error <= accept && (!constrained || error < vertex_bound)))
            return {true, refinement, (i32)cu, (i32)cv, error};
    }
    return {false, 0, 0, 0, T(0)};
}
