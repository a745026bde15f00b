// The arguments of every kernel: one struct by value, mirrored by src/backend/cuda/abi.rs.
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
    u64 zeros[7];
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
    u32 dtype, mode, coder, predictor, preserve, bound_kind;
    u32 halo, pin;
    u32 verify_checksum;
    u32 reserved;
    // Workspace. The first two are set to zero before the first kernel.
    u8* control;        // CONTROL_BYTES
    u64* counts;        // [LIST_TABLES][256], compression only
    u8* symbols;        // [tiles][1024]
    u8* payload;        // [tiles][1024] of 8 bytes (16 for f64 when decompressing or with the Lorenzo predictor)
    u32* info;          // [tiles]: mask states | all coded << 4 | tier << 5 | classes << 8, 16, 24
    u32* steps;         // [tiles]: steps of 32 symbols that were written; decompression only
    u32* masks;         // [tiles][2][32] rows: zero, fill; before that the triangles that need a bound
    float* nearness;    // [tiles][8]; compression only
    u8* anchors;        // [tiles] of two elements
    i32* anchor_codes;  // [tiles][4]: qu, qv, id, unused; compression only
    u8* across;         // [tiles_y][nx] of two elements, compression only
    u8* down;           // [tiles_x][ny] of two elements, compression only
    u32* tables;        // [LIST_TABLES][256] entries
    u8* slots;          // decompression: [TABLES][256]
    u8* codes;          // decompression: [LIST_TABLES][2048] of two bytes
    u8* table_section;  // compression: TABLE_SECTION_BYTES
    u8* words;          // compression: [tiles] of TILE_WORD_BYTES
    u64* group_sizes;   // [tiles]: bytes of each group; before that the list of plain tiles
    u64* group_offsets; // [tiles]: where each group begins in the stream; before that the list of the other tiles

#ifdef __CUDACC__
    __device__ __forceinline__ u64 tiles() const { return tiles_x * tiles_y; }
#endif
};
static_assert(sizeof(Job) == 320, "abi.rs asserts the same size");

constexpr u64 CONTROL_BYTES = 16384;
constexpr u64 TABLE_SECTION_BYTES = 52 + 50 * 1020;
// Space for the words of one tile at 20 bits a symbol and all raw bits, masks and states included.
constexpr u64 TILE_WORD_BYTES_F32 = 12544;
constexpr u64 TILE_WORD_BYTES_F64 = 20480;
