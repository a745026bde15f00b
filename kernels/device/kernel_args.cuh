// The arguments of every kernel: one struct by value, mirrored by src/cuda/kernel_args.rs.
#pragma once
#include <cstdint>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t i32;

// Status codes that a device can find out (src/error.rs).
enum : i32 {
    STATUS_OK = 0,
    STATUS_INVALID_ARGUMENT = 1,
    STATUS_BUFFER_TOO_SMALL = 3,
    STATUS_CORRUPT_STREAM = 5,
    STATUS_UNSUPPORTED_VERSION = 6,
};

// factz_report.
struct Report {
    i32 status;
    u32 reserved;
    u64 stream_bytes;
    u64 required_bytes;
    u64 exact_vertices;
    u64 nonfinite_vertices;
    u64 zero_vertices;
    u64 critical_points;
    double bound;
    double max_error;
    u64 filled_vertices;
    u32 warnings;
    u32 reserved_flags;
    u64 zeros[5];
};
static_assert(sizeof(Report) == 128, "factz_report");

struct Layout {
    u64 pitch;   // elements from row to row
    u64 stride;  // elements from vertex to vertex
};

// One call of compress or decompress. Pointers into the workspace are 256-byte aligned.
struct Job {
    // The caller's arrays: read when compressing, written when decompressing.
    void* u;
    void* v;
    Layout u_layout;
    Layout v_layout;
    u8* stream;
    u64 stream_bytes;  // capacity when compressing, upper bound of the length when decompressing
    Report* report;
    u64 nx, ny;
    u64 tiles_x, tiles_y;
    double bound;
    double dx, dy;
    u64 fill;  // bits of the fill value; those of a NaN where there is none
    u32 dtype, mode, coder, predictor, preserve, bound_kind;
    u32 halo, pin;
    u32 verify_checksum;
    u32 has_fill;
    // Workspace. The first kernel sets the first two to zero.
    u8* control;  // CONTROL_BYTES
    u64* counts;  // [TABLES][256], compression only
    u8* symbols;  // [tiles][1024]; before that, of each tile on the list of limited ones, which cells come
                  // near the origin
    u8* payload;  // [tiles][1024] of 8 bytes (16 for f64 when decompressing or with the Lorenzo predictor)
                  // before that the list of the triangles whose limits take determinants
    u32* info;    // [tiles]: mask states | all coded << 4 | tier << 5 | classes << 8, 16, 24
    u32* steps;   // [tiles]: steps of 32 symbols that were written; decompression only
    u32* masks;   // [tiles][2][32] rows: zero, fill; before that, where tiles are many, which ones the listed
                  // triangles are of
    u8* nearness;        // [tiles] of NEARNESS_BYTES, with the kind of each tile; compression only
    u8* anchors;         // [tiles] of two elements
    i32* anchor_codes;   // [tiles][4]: qu, qv, id, unused; compression only
    u8* across;          // [tiles_y][nx] of two elements, compression only
    u8* down;            // [tiles_x][ny] of two elements, compression only
    u32* tables;         // [TABLES][256] entries; compression: CODE_ENTRIES pairs of words (tables.cuh)
    u8* slots;           // decompression: [TABLES][256]
    u8* codes;           // decompression: [TABLES][2048] of two bytes
    u8* table_section;   // compression: TABLE_SECTION_BYTES
    u8* words;           // compression: [tiles] of TILE_WORD_BYTES
    u64* group_sizes;    // [tiles]: bytes of each group; before that plain tiles, others, and from the end
                         // whole ones
    u64* group_offsets;  // [tiles]: decompression: where each group begins in the stream; compression: all
                         // tiles that are not plain, then weights of chunks of tiles
    u32* anchor_scan;  // compression: which anchors have a code; decompression: what chunks of anchors sum to
                       // (anchor_scan.cuh)

#if defined(__CUDACC__) || defined(FACTZ_EMULATED)
    __device__ __forceinline__ u64 tiles() const { return tiles_x * tiles_y; }
#endif
};
static_assert(sizeof(Job) == 336, "abi.rs asserts the same size");

// factz_info.
struct Info {
    i32 status;
    u32 format_version;
    u64 stream_bytes;
    u64 nx, ny, nz;
    double dx, dy, dz;
    double bound, absolute_bound;
    i32 bound_kind, dtype, mode, coder, predictor, preserve;
    double fill_value;
    i32 has_fill_value, reserved_flags;
    u64 reserved[1];
};
static_assert(sizeof(Info) == 128, "factz_info");

// factz_comparison.
struct Comparison {
    i32 status, reserved_status;
    u64 violations;
    u64 critical_points, other_critical_points;
    u64 lost_points, spurious_points, changed_types;
    u64 ties, changed_ties, new_ties;
    u64 nonfinite_vertices, changed_missing;
    u64 zero_vertices, changed_zeros;
    u64 bound_exceeded;
    double bound, max_error, psnr;
    u64 points_by_type[6];
    u64 filled_vertices;
    u64 reserved[7];
};
static_assert(sizeof(Comparison) == 256, "factz_comparison");

// factz_range.
struct ValueRange {
    i32 status, reserved_status;
    double low, high;
    u64 nonfinite_vertices, filled_vertices, zero_vertices;
    u64 reserved[2];
};
static_assert(sizeof(ValueRange) == 64, "factz_range");

// factz_critical_point.
struct CriticalPoint {
    u64 cell_x, cell_y;
    double x, y;
    i32 triangle, type;
};
static_assert(sizeof(CriticalPoint) == 40, "factz_critical_point");

struct Component {
    const void* values;
    Layout layout;
};

struct FieldView {
    Component u, v;
};

// One call of range, compare or critical_points. Pointers into the workspace are 256-byte aligned.
struct Analysis {
    FieldView fields[2];  // compare; others: the first alone
    u64 nx, ny;           // owned vertices
    u64 columns, rows;    // that are read: nx and ny, and one more each where there are ghosts
    double dx, dy;
    double bound;  // infinity where nothing exceeds it
    u64 fill;      // bits of filled components
    u32 has_fill;
    u32 bound_is_relative;  // to the range of the first field, which is in the counts
    u64 capacity;
    CriticalPoint* points;
    u64* count;
    Comparison* comparison;
    ValueRange* range;
    // Workspace. Counts and point_parts are set to zero before the first kernel.
    u64* counts;       // range and comparison: [COUNTS]
    double* parts;     // comparison: [bands][chunks][PART]
    u64* point_parts;  // critical points: of 32 segments each, how many there are, then where they go
    u16* segments;     // critical points: [rows - 1][segments], how many there are in each
};
static_assert(sizeof(Analysis) == 240, "abi.rs asserts the same size");

// One call of inspect.
struct Inspection {
    const u8* stream;
    u64 stream_bytes;
    Info* info;
};
static_assert(sizeof(Inspection) == 24, "abi.rs asserts the same size");

// Rows that a block of the analysis works on.
constexpr u64 ANALYSIS_ROWS = 32;
constexpr u64 ANALYSIS_COUNT_BYTES = 256;
// Sums of squared errors of u and v, least and largest value of the first field.
constexpr i32 PART = 4;
// What a comparison counts.
enum : i32 {
    COUNT_POINTS,
    COUNT_OTHER_POINTS,
    COUNT_LOST,
    COUNT_NEW,
    COUNT_CHANGED_TYPES,
    COUNT_TIES,
    COUNT_CHANGED_TIES,
    COUNT_NEW_TIES,
    COUNT_ZERO,
    COUNT_CHANGED_ZEROS,
    COUNT_NONFINITE,
    COUNT_FILLED,
    COUNT_CHANGED_MISSING,
    COUNT_EXCEEDED,
    COUNT_PAIRS,    // of finite values of u
    COUNT_LARGEST,  // bits of the largest error
    COUNT_BY_TYPE,
    // Of the range of the first field: numbers in the order of the values, 0 where there is none.
    RANGE_BELOW = COUNT_BY_TYPE + 6,  // larger for lower values
    RANGE_ABOVE,
    RANGE_ZERO,
    RANGE_NONFINITE,
    RANGE_FILLED,
    COUNTS
};
static_assert(8 * COUNTS <= ANALYSIS_COUNT_BYTES, "the counts have their place");

constexpr u32 WARNING_WIDE_RANGE = 1;

constexpr u64 MAX_GROUP_TILES = 256;
constexpr u64 CONTROL_BYTES = 16384;
constexpr u64 NEARNESS_BYTES = 48;
constexpr u64 TABLE_SECTION_BYTES = 52 + 50 * 1020;
// Space for the words of one tile at 20 bits a symbol and all raw bits, masks and states included.
constexpr u64 TILE_WORD_BYTES_F32 = 12544;
constexpr u64 TILE_WORD_BYTES_F64 = 20480;
