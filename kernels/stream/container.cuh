// Twin of src/stream/container.rs.
#pragma once
#include "device/control.cuh"
#include "entropy/lists.cuh"

constexpr u32 HEADER_BYTES = 128;
// That of streams of the hierarchical predictor, and of the Lorenzo predictor, which is the newest one.
constexpr u16 FORMAT_VERSION = 2, ROWS_VERSION = 3;
// What a group says of itself: its bytes, and above its tiles less one.
constexpr u64 GROUP_BYTES_MASK = (1 << 24) - 1;
enum : u32 { CONTENT_CODED = 0, CONTENT_STORED = 1 };

__device__ __forceinline__ void put16(u8* at, u32 x) { at[0] = (u8)x, at[1] = (u8)(x >> 8); }
__device__ __forceinline__ void put32(u8* at, u32 x) { put16(at, x), put16(at + 2, x >> 16); }
__device__ __forceinline__ void put64(u8* at, u64 x) { put32(at, (u32)x), put32(at + 4, (u32)(x >> 32)); }
__device__ __forceinline__ void put_f64(u8* at, double x) { put64(at, (u64)__double_as_longlong(x)); }
__device__ __forceinline__ u32 get16(const u8* at) { return at[0] | (u32)at[1] << 8; }
__device__ __forceinline__ u32 get32(const u8* at) { return get16(at) | get16(at + 2) << 16; }
__device__ __forceinline__ u64 get64(const u8* at) { return get32(at) | (u64)get32(at + 4) << 32; }

__device__ inline void write_header(
    const Job& job, const Control& c, u32 content, u32 table_bytes, u64 stream_bytes, u8* h) {
    for (u32 k = 0; k < HEADER_BYTES; k++) h[k] = 0;
    h[0] = 'F', h[1] = 'C', h[2] = 'T', h[3] = 'Z';
    put16(h + 4, job.predictor == PREDICTOR_LORENZO ? ROWS_VERSION : FORMAT_VERSION);
    put16(h + 6, HEADER_BYTES);
    h[12] = (u8)job.dtype, h[13] = (u8)job.mode, h[14] = (u8)job.coder, h[15] = (u8)job.predictor;
    h[16] = (u8)job.preserve, h[17] = (u8)job.bound_kind, h[18] = (u8)content;
    h[20] = (u8)c.level_bound_scaling;
    for (i32 level = 0; level < ANCHOR_LEVEL; level++) h[21 + level] = (u8)c.interpolants[level];
    h[26] = 2;
    h[27] = (u8)job.has_fill;
    put32(h + 28, table_bytes);
    put64(h + 32, job.nx);
    put64(h + 40, job.ny);
    put64(h + 48, 1);
    put_f64(h + 56, job.bound);
    put_f64(h + 64, c.bound);
    put_f64(h + 72, c.half_bin_width);
    put_f64(h + 80, job.dx);
    put_f64(h + 88, job.dy);
    put64(h + 96, c.has_fill ? c.fill[0] : 0);
    put64(h + 104, c.has_fill ? c.fill[1] : 0);
    put64(h + 112, stream_bytes);
    put64(h + 120, content == CONTENT_STORED ? 0 : c.groups);
}

// Bytes of the directory of the sizes of the tables.
__device__ __forceinline__ u32 directory_bytes(u32 version, u32 coder) {
    return version == 1 && coder == CODER_ANS ? 44 : TABLE_SIZES_BYTES;
}

// A header by a warp: lane k has its word k, and all ask at once for what is in it. Streams begin at
// multiples of 4 bytes at least.
struct Header {
    u32 word;

    __device__ __forceinline__ Header(const u8* stream, u64 stream_bytes)
        : word(stream_bytes < HEADER_BYTES ? 0 : reinterpret_cast<const u32*>(stream)[threadIdx.x & 31]) {}
    __device__ __forceinline__ u32 word_at(i32 byte) const { return __shfl_sync(FULL, word, byte / 4); }
    __device__ __forceinline__ u64 long_at(i32 byte) const {
        return word_at(byte) | (u64)word_at(byte + 4) << 32;
    }
    __device__ __forceinline__ double double_at(i32 byte) const {
        return __longlong_as_double((long long)long_at(byte));
    }
};

// Whether a header of one field is that of a stream which some version wrote up to this one. Twin of
// Header::read.
struct HeaderCheck {
    i32 status;
    u32 version, about, tables;  // about: coder, content and so on, as they are in the header from byte 12 on
    u64 nx, ny, field, groups, stream_bytes;
};
__device__ __forceinline__ HeaderCheck check_header(const Header& header) {
    const u32 lane = threadIdx.x & 31, word = header.word, first = header.word_at(4),
              version = first & 0xffff;
    HeaderCheck h;
    h.version = version;
    h.about = header.word_at(12);
    const u32 more = header.word_at(16);
    h.tables = header.word_at(28);
    h.nx = header.long_at(32);
    h.ny = header.long_at(40);
    h.stream_bytes = header.long_at(112);
    h.groups = header.long_at(120);
    // Of each word, what no byte of it may be above, and what is left of it when it is as it has to be.
    const u32 below = __shfl_up_sync(FULL, word, 1);
    const bool is_real = lane >= 14 && lane < 24;
    u32 most = 0, left = 0;
    if (lane == 0) left = word ^ (u32)('F' | 'C' << 8 | 'T' << 16 | 'Z' << 24);
    if (lane == 1) left = word >> 16 ^ HEADER_BYTES;
    // Rows are those of the Lorenzo predictor.
    if (lane == 3)
        most = version == ROWS_VERSION ? 0x00010101 : 0x01010101,
        left = version == ROWS_VERSION ? word ^ PREDICTOR_LORENZO << 24 : word;
    if (lane == 4) most = 0x00010102 | (version == 1 ? 8u << 24 : 0), left = word;
    if (lane == 5) most = 0x05050500 | (LEVEL_BOUND_SCALINGS - 1), left = word;
    if (lane == 6) most = version == 1 ? 0x00000505 : 0x01000505, left = word ^ 2 << 16;
    if (lane == 12) left = word ^ 1;
    if (lane == 13) left = word;
    // The high words of numbers that are neither negative nor infinite nor none; -0 is not negative.
    if (is_real && lane & 1) left = word < 0x7ff00000 ? 0 : (word ^ 0x80000000) | below;
    if (lane >= 30) left = version == 1 ? word : 0;
    const u32 bad = __ballot_sync(FULL, (((left & 0x7f7f7f7f) + (0x7f7f7f7f - most)) | left) & 0x80808080);
    // No more than 2^48 vertices.
    const u64 vertices = h.nx * h.ny, tiles = ((h.nx + TILE - 1) / TILE) * ((h.ny + TILE - 1) / TILE);
    const bool has_shape = __umul64hi(h.nx, h.ny) == 0 && vertices - 1 < 1ull << 48;
    h.field = vertices << ((h.about & 1) ? 4 : 3);
    const bool stored = (more >> 16 & 255) == CONTENT_STORED;
    const u32 log2 = more >> 24 & 15;
    // Not more than one for each tile, and enough for all tiles: the field is no larger than the stream can
    // hold.
    const bool some_groups =
        stored ? h.groups == 0 : h.groups - 1 < tiles && h.groups >= (tiles - 1) / MAX_GROUP_TILES + 1;
    if (version == 1) h.groups = (tiles + (1ull << log2) - 1) >> log2;
    const u32 directory = directory_bytes(version, h.about >> 16 & 255);
    const u64 body =
        stored ? h.field : (h.tables > directory ? h.tables : directory) + h.groups * (4 + STATE_BYTES);
    const bool good = bad == 0 && has_shape && (version == 1 || some_groups) &&
                      h.stream_bytes >= HEADER_BYTES + body && h.stream_bytes % 4 == 0;
    h.status = bad & 1                       ? STATUS_CORRUPT_STREAM
               : version - 1 >= ROWS_VERSION ? STATUS_UNSUPPORTED_VERSION
               : good                        ? STATUS_OK
                                             : STATUS_CORRUPT_STREAM;
    return h;
}

// Whether this is the header of a stream of the job, with space for its parts: a status, by a warp. Groups as
// no encoder writes them any more are decoded on the host only; the dimensions and the type must be those of
// the job.
__device__ inline i32 status_of_stream(const Job& job, const Header& header) {
    const HeaderCheck h = check_header(header);
    const bool stored = (header.word_at(16) >> 16 & 255) == CONTENT_STORED;
    if (h.status != STATUS_OK) return h.status;
    if (h.version != (h.about >> 24 == PREDICTOR_LORENZO ? ROWS_VERSION : FORMAT_VERSION))
        return STATUS_UNSUPPORTED_VERSION;
    if (h.nx != job.nx || h.ny != job.ny || (h.about & 255) != job.dtype) return STATUS_INVALID_ARGUMENT;
    const u64 parts = HEADER_BYTES + (u64)h.tables + h.groups * 4;
    const bool fits = stored ? h.stream_bytes == HEADER_BYTES + h.field
                             : h.tables >= TABLE_SIZES_BYTES && parts <= h.stream_bytes;
    return h.stream_bytes > job.stream_bytes || !fits ? STATUS_CORRUPT_STREAM : STATUS_OK;
}

// Part of the checksum of the 32-bit word with this index, from what both add up to.
constexpr u32 CHECKSUM_STEP = 0x9e3779b9u;
__device__ __forceinline__ u32 checksum_mix(u32 x) {
    x = (x ^ x >> 16) * 0x85ebca6bu;
    x = (x ^ x >> 13) * 0xc2b2ae35u;
    return x ^ x >> 16;
}
__device__ __forceinline__ u32 checksum_term(u32 word, u64 index) {
    return checksum_mix((index == 2 ? 0 : word) + (u32)index * CHECKSUM_STEP);
}
