// Lattices of the Lorenzo predictor. Twin of src/predict/lorenzo.rs.
#pragma once
#include "predict/anchors.cuh"
#include "predict/quantizer.cuh"

template <typename T>
constexpr i32 MANTISSA_BITS = sizeof(T) == 4 ? 23 : 52;

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
    // Bin width and reciprocal.
    __device__ __forceinline__ typename Real<T>::Pair step(i32 bound_shift, i32 refinement) const {
        return Real<T>::pair(width[bound_shift][refinement], inverse[bound_shift][refinement]);
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

// A warp has four tiles, a tile eight lanes, a lane four neighbours of a row.
constexpr i32 COLUMNS = 4, ROW_LANES = TILE / COLUMNS, TILES_OF_WARP = 32 / ROW_LANES;
