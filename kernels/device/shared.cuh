// Shared by kernels and library: constants, arguments of kernels, results. Generated from
// src/cuda/constants.rs, src/cuda/kernel_args.rs and src/capi (see src/cuda/generated.rs); do not edit.
// clang-format off

#pragma once

#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t i32;

// Values of factz_status that a kernel finds out.
constexpr i32 STATUS_OK = 0;
constexpr i32 STATUS_INVALID_ARGUMENT = 1;
constexpr i32 STATUS_BUFFER_TOO_SMALL = 3;
constexpr i32 STATUS_CORRUPT_STREAM = 5;
constexpr i32 STATUS_UNSUPPORTED_VERSION = 6;
constexpr u32 WARNING_WIDE_RANGE = 1;

// Numbers of a configuration.
constexpr u32 BOUND_ABSOLUTE = 0;
constexpr u32 BOUND_RELATIVE = 1;
constexpr u32 BLOCK_WISE = 0;
constexpr u32 SPECULATIVE = 1;
constexpr u32 CODER_ANS = 0;
constexpr u32 CODER_HUFFMAN = 1;
constexpr u32 PREDICTOR_HIERARCHICAL = 0;
constexpr u32 PREDICTOR_LORENZO = 1;
constexpr u32 PRESERVE_NONE = 0;
constexpr u32 PRESERVE_POINTS = 1;
constexpr u32 PRESERVE_TYPES = 2;
constexpr u32 TIES_ALL = 0;
constexpr u32 TIES_ZEROS = 1;
constexpr u32 TIES_SOS = 2;

// Tiles of a group at most.
constexpr u64 MAX_GROUP_TILES = 256;

// Bytes of the control block: results of reductions and the state of the call.
constexpr u64 CONTROL_BYTES = 16384;

// Bytes of a tile's distances from the origin.
constexpr u64 ORIGIN_DISTANCE_BYTES = 48;

// Bytes of the stored tables before they are put together: a length for each, and full tables.
constexpr u64 TABLE_SECTION_BYTES = 51052;

// Bytes of the tables of the encoder: two words a symbol. Tables of mask states and activities have
// fewer symbols; one more table has one symbol.
constexpr u64 CODING_TABLE_BYTES = 83976;

// Bytes of a tile's slot, which kernels/device/workspace.cuh describes: first list entries, payload and
// vertex bounds, then the words of the tile before the groups are put together. Payload of binary64
// takes twice as much with the Lorenzo predictor.
constexpr u64 TILE_SLOT_BYTES_F32 = 12672;
constexpr u64 TILE_SLOT_BYTES_F64 = 19328;
constexpr u64 TILE_SLOT_BYTES_F64_LORENZO = 24960;

// Bytes of a slot before the payload: entries of coarse and middle lists.
constexpr u64 SLOT_ENTRY_BYTES = 384;

// Warps of a block of the statistics, a strip of 128 columns of a row of tiles each, and blocks at most.
constexpr u32 STATISTICS_WARPS = 4;
constexpr u32 MOST_STATISTICS_BLOCKS = 8192;

// Few strips at most: a block works on a strip, a warp on one of the parts of its rows.
constexpr u32 MOST_FEW_STRIPS = 4096;
constexpr u32 STRIP_PARTS = 4;
constexpr u32 SORT_WARPS = 16;

// The sample of the tuning: this fraction of all tiles, within the limits below.
constexpr u64 TILES_PER_SAMPLE = 16;
constexpr u64 LEAST_SAMPLES = 9;
constexpr u64 MOST_SAMPLES = 24;
constexpr i32 TUNE_WARPS = 4;
constexpr i32 BOUND_WARPS = 4;
constexpr i32 CONSTRAINED_VERTEX_WARPS = 4;

// Warps of a block of unconstrained and constrained interior tiles; a warp works on two tiles.
constexpr i32 UNCONSTRAINED_WARPS_F32 = 4;
constexpr i32 UNCONSTRAINED_WARPS_F64 = 1;
constexpr i32 CONSTRAINED_WARPS_F32 = 2;
constexpr i32 CONSTRAINED_WARPS_F64 = 1;

// Warps of a block of a border tile.
constexpr i32 BORDER_WARPS = 2;

// Warps of a block of interior tiles of the speculative mode, a tile each.
constexpr i32 SPECULATIVE_WARPS = 2;
constexpr i32 LORENZO_INTERIOR_WARPS = 4;
constexpr i32 LORENZO_BORDER_WARPS = 4;
constexpr i32 COUNT_WARPS = 16;
constexpr i32 ROW_COUNT_WARPS = 16;
constexpr u32 TABLE_THREADS = 256;

// Tiles that a block of the tables weighs.
constexpr u32 WEIGHED_TILES = 1024;

// Groups of a block of the encoder, also on devices with less shared memory, and warps of a group.
constexpr i32 ENCODE_GROUPS_LARGE = 4;
constexpr i32 ENCODE_GROUPS_SMALL = 2;
constexpr i32 ENCODE_ROLES = 5;
constexpr i32 ROW_CODE_WARPS = 20;

// Parts of the groups whose bytes are summed while they are made; blocks that assemble the stream.
constexpr u32 PARTS = 384;
constexpr u32 ASSEMBLE_WARPS = 16;
constexpr u32 PARSE_THREADS = 1024;
constexpr i32 DECODE_GROUPS = 4;
constexpr i32 DECODE_ROLES = 2;

// Anchors of a thread, and of a block, which sums them.
constexpr u32 ANCHOR_THREADS = 256;
constexpr u32 ANCHORS_EACH = 2;
constexpr u32 ANCHOR_CHUNK = 512;

// Warps of a block; a warp works on two tiles.
constexpr i32 RECONSTRUCT_WARPS = 2;

// Warps of a block of a border tile.
constexpr i32 RECONSTRUCT_BORDER_WARPS = 4;
constexpr i32 LORENZO_RECONSTRUCT_WARPS = 8;
constexpr i32 ANALYSIS_WARPS = 8;

// Rows that a block of the analysis works on.
constexpr u64 ANALYSIS_ROWS = 32;

// Bytes of the counts of a comparison or a range.
constexpr u64 ANALYSIS_COUNT_BYTES = 256;

// Sums and extremes of a part of a comparison: squared errors of u and v, least and largest value of the
// first field.
constexpr i32 PART = 4;

// The index of a zero without a closed ring around it.
constexpr i32 INDEX_UNDEFINED = -100;

// Segments of rows whose critical points are counted together, a lane each; a part may span rows.
constexpr u64 POINT_PART = 32;

// Dynamic shared memory of a block.
constexpr u32 COUNT_SHARED_BYTES = 32672;
constexpr u32 COUNT_LORENZO_SHARED_BYTES = 35264;
constexpr u32 ENCODE_SHARED_BYTES = 86144;
constexpr u32 ENCODE_SMALL_SHARED_BYTES = 54704;
constexpr u32 ENCODE_LORENZO_SHARED_BYTES = 53768;
constexpr u32 DECODE_RANS_SHARED_BYTES = 57040;
constexpr u32 DECODE_HUFFMAN_SHARED_BYTES = 15824;

// The mesh, which src/grid/mesh.rs explains. Triangles of a cell, and its corners; corners off
// the diagonal; triangles around a vertex, and its neighbours.
enum : i32 { LOWER = 0, UPPER = 1 };
enum : i32 { CORNER_A = 0, CORNER_B = 1, CORNER_C = 2, CORNER_D = 3 };
enum : i32 { CORNERS = 4, AROUND = 6 };
enum : i32 { LOWER_APEX = 1, UPPER_APEX = 2 };
// Corners of triangles in the order of the format, two bits each.
constexpr u32 LOWER_CORNERS = 0x34;
constexpr u32 UPPER_CORNERS = 0x2c;
// Places of corners where edges along x and y begin and end, two bits each.
constexpr u32 LOWER_EDGES = 0x94;
constexpr u32 UPPER_EDGES = 0x86;
// Edges and vertex of a base that are looked at with a triangle.
constexpr u32 LOWER_BOUNDARY = 0x34;
constexpr u32 UPPER_BOUNDARY = 0x8;
// Corners where edges end, two bits each.
constexpr u32 SIMPLEX_ENDS = 0x390;
// Neighbours by direction: offsets plus 1, two bits each.
constexpr u32 NEIGHBOURS_X = 0x41a;
constexpr u32 NEIGHBOURS_Y = 0x69;
// Triangles around: cell before the vertex, upper.
constexpr u32 STAR_BEFORE_X = 0x1c;
constexpr u32 STAR_BEFORE_Y = 0x38;
constexpr u32 STAR_TRIANGLES = 0x2a;
// Vertices around a simplex: offsets x and y plus 1, two bits each.
constexpr u32 VERTEX_RING = 0x1049a6;
constexpr u32 EDGE_X_RING = 0xa615;
constexpr u32 EDGE_Y_RING = 0x49a5;
constexpr u32 DIAGONAL_RING = 0x9a65;


using factz_status = int32_t;

struct Info {
    factz_status status;
    uint32_t format_version;
    uint64_t stream_bytes;
    uint64_t nx;
    uint64_t ny;
    uint64_t nz;
    double dx;
    double dy;
    double dz;
    double bound;
    double absolute_bound;
    int32_t bound_kind;
    int32_t dtype;
    int32_t mode;
    int32_t coder;
    int32_t predictor;
    int32_t preserve;
    double fill_value;
    int32_t has_fill_value;
    int32_t ties;
    uint64_t reserved[1];
};

struct CriticalPoint {
    uint64_t cell_x;
    uint64_t cell_y;
    double x;
    double y;
    int32_t simplex;
    int32_t point_type;
    int32_t index;
    int32_t rounding_divergence;
    double eigenvalues_real[2];
    double eigenvalues_imaginary[2];
};

struct Comparison {
    factz_status status;
    int32_t reserved_status;
    uint64_t violations;
    uint64_t critical_points;
    uint64_t other_critical_points;
    uint64_t lost_points;
    uint64_t spurious_points;
    uint64_t changed_types;
    uint64_t ties;
    uint64_t changed_ties;
    uint64_t new_ties;
    uint64_t nonfinite_vertices;
    uint64_t changed_missing;
    uint64_t zero_vertices;
    uint64_t changed_zero_vertices;
    uint64_t bound_exceeded;
    double bound;
    double max_error;
    double psnr;
    uint64_t points_by_type[8];
    uint64_t filled_vertices;
    uint64_t lost_zeros;
    uint64_t spurious_zeros;
    uint64_t changed_indices;
    uint64_t reserved[2];
};

struct ValueRange {
    factz_status status;
    int32_t reserved_status;
    double low;
    double high;
    uint64_t nonfinite_vertices;
    uint64_t filled_vertices;
    uint64_t zero_vertices;
    uint64_t reserved[2];
};

struct Layout {
    uint64_t pitch;
    uint64_t stride;
};

struct Report {
    factz_status status;
    int32_t reserved_status;
    uint64_t stream_bytes;
    uint64_t required_bytes;
    uint64_t exact_vertices;
    uint64_t nonfinite_vertices;
    uint64_t zero_vertices;
    uint64_t points_in_triangles;
    double bound;
    double max_error;
    uint64_t filled_vertices;
    uint32_t warnings;
    uint32_t reserved_flags;
    uint64_t reserved[5];
};

struct Job {
    void *u;
    void *v;
    Layout u_layout;
    Layout v_layout;
    uint8_t *stream;
    uint64_t stream_bytes;
    Report *report;
    uint64_t nx;
    uint64_t ny;
    uint64_t tiles_x;
    uint64_t tiles_y;
    double bound;
    double dx;
    double dy;
    uint64_t fill;
    uint32_t dtype;
    uint32_t mode;
    uint32_t coder;
    uint32_t predictor;
    uint32_t preserve;
    uint32_t ties;
    uint32_t bound_kind;
    uint32_t halo;
    uint32_t pin;
    uint32_t verify_checksum;
    uint32_t has_fill;
    uint8_t *control;
    uint64_t *symbol_counts;
    uint8_t *symbols;
    uint8_t *raw_bits;
    uint32_t *tile_headers;
    uint32_t *written_steps;
    uint32_t *masks;
    uint8_t *origin_distances;
    uint8_t *anchors;
    int32_t *anchor_codes;
    uint8_t *row_lines;
    uint8_t *column_lines;
    uint32_t *coding_tables;
    uint8_t *slot_starts;
    uint16_t *huffman_codes;
    uint8_t *stored_tables;
    uint8_t *slots;
    uint64_t *group_sizes;
    uint64_t *group_offsets;
    uint32_t *anchor_scan;
    __device__ __forceinline__ u64 tiles() const { return tiles_x * tiles_y; }
};

struct Component {
    const void *values;
    Layout layout;
};

struct FieldView {
    Component u;
    Component v;
};

struct Analysis {
    FieldView fields[2];
    uint64_t nx;
    uint64_t ny;
    uint64_t columns;
    uint64_t rows;
    int32_t columns_before;
    int32_t rows_before;
    double dx;
    double dy;
    double bound;
    uint64_t fill;
    uint32_t has_fill;
    uint32_t bound_is_relative;
    uint32_t ties;
    uint64_t capacity;
    CriticalPoint *points;
    uint64_t *count;
    Comparison *comparison;
    ValueRange *range;
    uint64_t *counts;
    double *parts;
    uint32_t *open_triangles;
    uint64_t *point_parts;
    uint16_t *segments;
};

struct Inspection {
    const uint8_t *stream;
    uint64_t stream_bytes;
    Info *info;
};

static_assert(sizeof(Job) == 344, "as in Rust");
static_assert(sizeof(Analysis) == 264, "as in Rust");
static_assert(sizeof(Inspection) == 24, "as in Rust");
