// What the kernels of one call tell each other: the control block at the start of the workspace,
// which the first kernel sets to zero.
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

// Tiles with limits in so many groups by how much work they are, which the number of their hard triangles
// tells.
constexpr u32 WEIGHTS = 8;
// Where the weight of a tile lies in its word, above its number, or what stands there of one that is on no
// list. (More tiles of one kind than a device's memory holds would not fit below.)
constexpr u32 WEIGHT_AT = 28, NOT_LISTED = ~0u;
__device__ __forceinline__ u32 weight_of(u32 hard) {
    return hard == 0 ? 0 : 1 + hard / 64 < WEIGHTS ? 1 + hard / 64 : WEIGHTS - 1;
}

// Groups of each of PARTS parts of the stream.
__device__ __forceinline__ u32 groups_of_part(u64 groups) { return ((u32)groups + PARTS - 1) / PARTS; }

// Of all vertices, as far as it is known: bits of a double, and what makes it as long as what can be copied
// to shared memory without a cache.
struct alignas(16) LargestError {
    u64 bits, unused;
};

struct Control {
    // Decided by the first block that sorts tiles and the last one of the tuning, or read from the header.
    double bound, half_bin_width;
    double useful_bound, bound_up;  // as far as the bound is of use, the same rounded up
    double largest;                 // of all values
    u64 zero, nonfinite, filled;
    u64 fill[2];    // of the vertices under the fill mask
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
    // What many add to has lines of its own: others are read meanwhile.
    alignas(128) u64 unconstrained_tiles, bounded_tiles;
    alignas(128) u64 constrained_tiles, border_tiles;
    alignas(128) u64 hard;                 // triangles whose limits take determinants
    alignas(128) u64 weighed[2][WEIGHTS];  // limited tiles by weight: others, whole ones
    alignas(128) u64 exact, critical;
    LargestError max_error;
    u64 raw_bits;
    alignas(128) u64 cost;           // of all symbols, in 1/256 bits
    u64 weight, weight_before_last;  // of all tiles, and of those before the last one
    u64 seal;  // of the stream: the checksum above, how many blocks have added to it below
    // Blocks that have finished, by kernel.
    u32 tickets[8];
    alignas(128) Quantizer quantizer;
    LevelCount tune[LEVEL_BOUND_SCALINGS][6][LEVELS];
    u64 part_bytes[PARTS];  // of the groups of each part of the stream
};
static_assert(sizeof(Control) <= CONTROL_BYTES, "the control block has its place");

enum : i32 { TICKET_TUNE, TICKET_TABLES, TICKET_ENCODE, TICKET_ANCHORS };

// Whether the field has vertices without a value that can be coded.
__device__ __forceinline__ bool has_missing(const Control& control) {
    return (control.nonfinite | control.filled) != 0;
}
// Whether zeros keep their signs.
__device__ __forceinline__ bool is_lossless(const Control& control) { return control.bound == 0.0; }

__device__ __forceinline__ Control& control_of(const Job& job) { return *ControlView(job).control(); }

// Whether this is the last block of the grid to come here: it sees what all others wrote.
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

// What is done with a tile: plain ones have no limits, whole ones may have but no zeros or missing values.
enum : u32 { BORDER_TILE, UNCONSTRAINED_TILE, CONSTRAINED_TILE };

// How near the cells of a tile come to the origin, at least: those of eight rows each, and those on each
// side. From the statistics to the constraints.
constexpr i32 BANDS = 4, BAND_ROWS = 8;
struct alignas(16) Nearness {
    float bands[BANDS];
    float top, bottom, left, right;
    u32 kind;      // of the tile
    u32 weighted;  // its number among those of its kind and weight, and the weight above
    u64 bounded;   // of a tile with limits: where it has them (constrain.cuh)

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

__device__ __forceinline__ Rule rule_of(const Job& job) { return {job.preserve == 2, job.dx, job.dy}; }

// How a kernel begins. The next one begins only after this one has waited, so that no more than two are at
// work.
__device__ __forceinline__ void after_kernel_before() {
    wait_for_kernel_before();
    let_next_begin();
}
// One that has something to do before, and then calls after_kernel_before.
__device__ __forceinline__ void by_itself() {}
// One that reads nothing of the kernel before. It waits for that at its end, so that for the next one both
// have ended. Several can follow each other. What came before the first kernel that they are beside has to be
// complete: that must not be an early one that waits at its start.
__device__ __forceinline__ void beside_kernel_before() { let_next_begin(); }
__device__ __forceinline__ void end_beside() {
    if (blockIdx.x == 0) wait_for_kernel_before();
}
// One that has nothing to do, as what came before the kernel before says: it is over when that is.
__device__ __forceinline__ void pass_by() {
    let_next_begin();
    end_beside();
}
