// How near a tile comes to the origin, from the statistics to the quantization, and its place in the lists of
// tiles.
#pragma once
#include "device/control.cuh"
#include "device/workspace.cuh"

// Least distance of a tile's cells from the origin, per axis: by bands of eight rows, and by side.
constexpr i32 BAND_ROWS = TILE / BANDS;
struct alignas(16) Nearness {
    float bands[BANDS];
    float top, bottom, left, right;
    u32 kind;      // of the tile
    u32 weighted;  // class and number in its class and kind, or NOT_LISTED
    u64 bounded;   // which chunks of vertex bounds are stored (compress/bounds/vertex_bounds.cuh)

    __device__ __forceinline__ float all() const {
        return fminf(fminf(bands[0], bands[1]), fminf(bands[2], bands[3]));
    }
};
static_assert(sizeof(Nearness) == ORIGIN_DISTANCE_BYTES, "a tile has its place");
__device__ __forceinline__ Nearness& nearness_of(const Job& job, u64 tile) {
    return NearnessView(job).tiles()[tile];
}
__device__ __forceinline__ float float_down(float x) { return x; }
__device__ __forceinline__ float float_down(double x) { return __double2float_rd(x); }

// Class of a tile by its triangles that need determinants.
__device__ __forceinline__ u32 weight_of(u32 hard) {
    return hard == 0 ? 0 : 1 + hard / 64 < WEIGHTS ? 1 + hard / 64 : WEIGHTS - 1;
}
// Class and number of a tile in one word; NOT_LISTED for a tile on no list. (28 bits suffice:
// capacities.cuh.)
constexpr u32 WEIGHT_AT = 28, NOT_LISTED = ~0u;
__device__ __forceinline__ u32 weighted_number(u32 weight, u32 number) {
    return number | weight << WEIGHT_AT;
}
__device__ __forceinline__ u32 weight_in(u32 weighted) { return weighted >> WEIGHT_AT; }
__device__ __forceinline__ u32 number_in(u32 weighted) { return weighted & ((1u << WEIGHT_AT) - 1); }
