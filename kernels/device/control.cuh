// Control block of a call, at the start of the workspace: bounds, counts and lists that kernels share. The
// first kernel zeroes it.
#pragma once
#include "device/ptx.cuh"
#include "device/workspace.cuh"
#include "device/reduce.cuh"
#include "grid/field.cuh"
#include "grid/missing.cuh"
#include "predict/quantizer.cuh"
#include "topology/signature.cuh"

struct LevelCount {
    u32 vertices, nonzero, bits;
};

// Kinds of tiles: at the border, or with zeros or missing values; inside with vertex bounds; the same in the
// speculative mode with bounds off the lattice lines; inside with zeros, with the hierarchical predictor, if
// nothing is missing and zeros keep no signs; inside without vertex bounds. Those with bounds are listed
// apart.
enum : u32 {
    BORDER_TILE,
    CONSTRAINED_TILE,
    SPECULATIVE_TILE,
    MASKED_TILE,
    LISTS,
    UNCONSTRAINED_TILE = LISTS
};

// Tiles with vertex bounds are sorted into WEIGHTS classes by their expected work, which the number of
// triangles that need determinants predicts.
constexpr u32 WEIGHTS = 8;
// Packing of a tile's class and its number in the class; NOT_LISTED for a tile on no list. (28 bits suffice:
// capacities.cuh.)
constexpr u32 WEIGHT_AT = 28, NOT_LISTED = ~0u;
__device__ __forceinline__ u32 weight_of(u32 hard) {
    return hard == 0 ? 0 : 1 + hard / 64 < WEIGHTS ? 1 + hard / 64 : WEIGHTS - 1;
}

// Groups of each of PARTS parts of the stream.
__device__ __forceinline__ u32 groups_of_part(u64 groups) { return ((u32)groups + PARTS - 1) / PARTS; }

// Largest error so far, as the bits of a double, padded to 16 bytes so that cp.async can copy it past the L1
// cache.
struct alignas(16) LargestError {
    u64 bits, unused;
};

struct Control {
    // Written by factz_sort and factz_tune, or from the header.
    double bound, half_bin_width;
    double useful_bound, bound_up;  // the bound as far as it matters; rounded up to T
    double largest;                 // magnitude of all values
    u64 zero, nonfinite, filled;
    u64 fill[2];    // bits of a vertex under the fill mask
    u64 fill_bits;  // the fill value, or a NaN
    u32 has_fill, warnings;
    u32 level_bound_scaling;
    u32 interpolants[5];
    i32 status;
    u32 table_bytes;
    u32 content;
    u32 coder, predictor;
    u64 stream_bytes;
    u64 groups;
    // Counters with many atomics have cache lines of their own, apart from values that are read meanwhile.
    alignas(128) u64 unconstrained_tiles, bounded_tiles;
    alignas(128) u64 border_tiles, constrained_tiles, speculative_tiles, masked_tiles;
    alignas(128) u64 hard;                     // triangles that need determinants
    alignas(128) u64 weighed[LISTS][WEIGHTS];  // tiles with vertex bounds by kind and class
    alignas(128) u64 exact, critical;
    LargestError max_error;
    u64 raw_bits;
    alignas(128) u64 cost;           // of all symbols, in 1/256 bit
    u64 weight, weight_before_last;  // of all tiles; of all but the last
    u64 seal;                        // checksum << 32 | number of blocks that have added to it
    // Finished blocks, by kernel.
    u32 tickets[8];
    alignas(128) Quantizer quantizer;
    LevelCount tune[LEVEL_BOUND_SCALINGS][6][LEVELS];
    u64 part_bytes[PARTS];  // of the groups of each part of the stream
};
static_assert(sizeof(Control) <= CONTROL_BYTES, "the control block has its place");

enum : i32 { TICKET_TUNE, TICKET_TABLES, TICKET_ENCODE, TICKET_ANCHORS, TICKET_DECODE };

// True if vertices are missing.
__device__ __forceinline__ bool has_missing(const Control& control) {
    return (control.nonfinite | control.filled) != 0;
}
// True if zeros keep their signs.
__device__ __forceinline__ bool is_lossless(const Control& control) { return control.bound == 0.0; }

__device__ __forceinline__ Control& control_of(const Job& job) { return *ControlView(job).control(); }

// True in the last block of the grid to get here, which sees the writes of all others.
__device__ inline bool last_block(Control& control, i32 ticket) {
    __shared__ u32 mine;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) mine = atomicAdd(&control.tickets[ticket], 1);
    __syncthreads();
    bool last = mine == gridDim.x - 1;
    if (last) __threadfence();
    return last;
}

// Least distance of a tile's cells from the origin, per axis: by bands of eight rows, and by side.
constexpr i32 BANDS = 4, BAND_ROWS = 8;
struct alignas(16) Nearness {
    float bands[BANDS];
    float top, bottom, left, right;
    u32 kind;      // of the tile
    u32 weighted;  // class << WEIGHT_AT | number in its class and kind
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

__device__ __forceinline__ Rule rule_of(const Job& job) {
    return Rule(job.preserve == PRESERVE_TYPES, job.ties, job.dx, job.dy);
}

// How a kernel begins, by its launch (src/cuda/schedule.rs). At its start it waits for the previous kernel;
// the next one may begin only then, so that no more than two are at work.
__device__ __forceinline__ void after_previous() {
    wait_for_kernel_before();
    let_next_begin();
}
// It works first, then calls after_previous itself.
__device__ __forceinline__ void waits_inside() {}
// It is launched when the previous kernel has ended.
__device__ __forceinline__ void in_order() {}
// It reads nothing of the previous kernel and waits for it at its end (end_overlap), so that for the next
// kernel both have ended. Several can follow each other. Everything before the first kernel that they overlap
// must be complete: that kernel must be launched in order, or not wait at its start.
__device__ __forceinline__ void overlaps_previous() { let_next_begin(); }
__device__ __forceinline__ void end_overlap() {
    if (blockIdx.x == 0) wait_for_kernel_before();
}
// It has no work, as a kernel before the previous one decided: it ends when the previous kernel ends.
__device__ __forceinline__ void pass_over() {
    let_next_begin();
    end_overlap();
}
