// Control block of a call, at the start of the workspace: small data that kernels share, such as bounds,
// counters, quantizer and status. The first kernel sets it to zero.
#pragma once
#include "device/overlap.cuh"
#include "device/reduce.cuh"
#include "device/workspace.cuh"

struct LevelCount {
    u32 vertices, nonzero, bits;
};

// Kinds of tiles. Bounded tiles, which have triangles near the origin, have a list for each kind.
enum : u32 {
    // At the edge of the grid, or with vertices that are missing or whose zeros keep their signs; with the
    // Lorenzo predictor also with zeros.
    BORDER_TILE,
    // Inside the grid; in the speculative mode with constrained vertices on the lattice lines alone.
    CONSTRAINED_TILE,
    // Inside the grid, speculative mode: with constrained vertices off the lattice lines.
    SPECULATIVE_TILE,
    // Inside the grid, with zeros; hierarchical predictor.
    MASKED_TILE,
    LISTS,
    // Not bounded.
    UNCONSTRAINED_TILE = LISTS
};

// Bounded tiles are sorted into WEIGHTS classes by their expected work, which the number of
// triangles that need determinants predicts.
constexpr u32 WEIGHTS = 8;

// Number of groups in each of the PARTS parts of the stream.
__device__ __forceinline__ u32 groups_of_part(u64 groups) { return ((u32)groups + PARTS - 1) / PARTS; }

// Bin widths and their reciprocals by level and refinement: values of T, stored as doubles.
struct Quantizer {
    double width[LEVELS][REFINEMENTS];
    double inverse[LEVELS][REFINEMENTS];
    double accept;
};

// Largest error so far, as the bits of a double, padded to 16 bytes so that cp.async can copy it past the L1
// cache.
struct alignas(16) LargestError {
    u64 bits, unused;
};

// Of a volume or a fix, from its header: where the list of repaired vertices is, and what it holds.
struct ListControl {
    u64 at, bytes, chunks, vertices, exact;
    u64 fill_w;
    u64 found;          // exact vertices that its chunks have
    u32 has_constant;   // zero vertices or filled ones
    u32 is_damaged;     // a chunk that no encoder writes was found while others were written
    u64 of_slot;        // chunks for which the workspace has one place
    u32 has_no_filled;  // no chunk of filled vertices may occur
};

// Of the compression of a volume: bin widths of layer 1 and their reciprocals by bound shift and level, and
// the largest magnitudes with each shift, values of T; its range as ordered integers, ~index of the first
// vertex that is not finite; totals of the list.
struct VolumeControl {
    double width[BOUND_SHIFTS][LEVELS], inverse[BOUND_SHIFTS][LEVELS];
    double largest_with_shift[VOLUME_MOST_SHIFT + 1];
    u64 not_low, high, first_nonfinite;
    u64 listed[LIST_KINDS];  // vertices by kind
};
// Of a repair: blocks that have come to the barriers; open cubes and tiles that verification looks at; a bit
// for each kind of listed vertices; cells in the lists of three rounds in turn; of two rounds in turn the
// changed vertices in the list, the times that warps took further parts of cells, and the violated
// simplices at the beginning; whether simplices were left violated, which is a fault.
struct RepairControl {
    alignas(128) u32 arrived;
    u32 open_cubes, open_tiles, listed_kinds;
    alignas(128) u32 cells[3];
    alignas(128) u32 changed[2], taken[2];
    u64 simplices[2];
    u32 is_unfinished;
    alignas(8) u64 violated, rounds;  // simplices at first, and rounds until there were none
};

// Of a fix: the largest error of the reconstruction, as the bits of a double; its checksum, and the one that
// a fix asks for; vertices that leave the bound, and ~number of the first one.
struct FixControl {
    u64 radius;
    u32 checksum, expected;
    u64 outside, not_first;
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
    u32 interpolants[ANCHOR_LEVEL];
    i32 status;
    u32 table_bytes;
    u32 content;
    u32 coder, predictor;
    u64 stream_bytes;
    u64 groups;                  // of the stream
    u64 first_group, end_group;  // those that decompression takes
    // Counters with many atomics have cache lines of their own, apart from values that are read meanwhile.
    alignas(128) u64 unconstrained_tiles, bounded_tiles;
    alignas(128) u64 border_tiles, constrained_tiles, speculative_tiles, masked_tiles;
    alignas(128) u64 hard;                     // triangles that need determinants
    alignas(128) u64 weighed[LISTS][WEIGHTS];  // bounded tiles by kind and class
    alignas(128) u64 exact, critical;
    LargestError max_error;
    u64 raw_bits;
    alignas(128) u64 cost;           // of all symbols, in 1/256 bit
    u64 weight, weight_before_last;  // of all tiles; of all but the last
    u64 seal;                        // checksum << 32 | number of blocks that have added to it
    // Number of finished blocks of each kernel that uses last_block.
    u32 tickets[8];
    alignas(128) Quantizer quantizer;
    LevelCount tune[LEVEL_BOUND_SCALINGS][INTERPOLANTS][LEVELS];
    u64 part_bytes[PARTS];  // of the groups of each part of the stream
    ListControl list;
    VolumeControl volume;
    RepairControl repair;
    FixControl fix;
};
static_assert(sizeof(Control) <= CONTROL_BYTES, "the control block has its place");

enum : i32 {
    TICKET_TUNE,
    TICKET_TABLES,
    TICKET_ENCODE,
    TICKET_DECODE,
    TICKET_LIST,
    TICKET_STATISTICS,
    TICKET_SURVEY
};

// True if vertices are missing.
__device__ __forceinline__ bool has_missing(const Control& control) {
    return (control.nonfinite | control.filled) != 0;
}
// True if zeros keep their signs.
__device__ __forceinline__ bool is_lossless(const Control& control) { return control.bound == 0.0; }
// True if a volume is stored without an attempt to code it: if no error is allowed and some value is neither
// zero nor missing. Twin: is_stored in src/volume/compress.rs.
__device__ __forceinline__ bool is_stored_volume(const Control& control) {
    return control.useful_bound == 0.0 && control.largest != 0.0;
}

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
