// Twin of src/stage/container.rs.
#pragma once
#include "../control.cuh"
#include "list.cuh"

constexpr u32 HEADER_BYTES = 128;
constexpr u32 STATE_BYTES = 128;
constexpr u16 FORMAT_VERSION = 2;
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
__device__ __forceinline__ double get_f64(const u8* at) { return __longlong_as_double((long long)get64(at)); }

__device__ inline void write_header(const Job& job, const Control& c, u32 content, u32 table_bytes, u64 stream_bytes, u8* h) {
    for (u32 k = 0; k < HEADER_BYTES; k++) h[k] = 0;
    h[0] = 'F', h[1] = 'C', h[2] = 'T', h[3] = 'Z';
    put16(h + 4, FORMAT_VERSION);
    put16(h + 6, HEADER_BYTES);
    h[12] = (u8)job.dtype, h[13] = (u8)job.mode, h[14] = (u8)job.coder, h[15] = (u8)job.predictor;
    h[16] = (u8)job.preserve, h[17] = (u8)job.bound_kind, h[18] = (u8)content;
    h[20] = (u8)c.taper;
    for (i32 level = 0; level < ANCHOR_LEVEL; level++) h[21 + level] = (u8)c.kernels[level];
    h[26] = 2;
    put32(h + 28, table_bytes);
    put64(h + 32, job.nx);
    put64(h + 40, job.ny);
    put64(h + 48, 1);
    put_f64(h + 56, job.bound);
    put_f64(h + 64, c.bound);
    put_f64(h + 72, c.quantum);
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

// Whether this is the header of a stream that some version wrote up to this one: a status. Twin of Header::read.
__device__ inline i32 check_header(const u8* h) {
    if (h[0] != 'F' || h[1] != 'C' || h[2] != 'T' || h[3] != 'Z') return STATUS_CORRUPT_STREAM;
    const u32 version = get16(h + 4);
    if (version == 0 || version > FORMAT_VERSION) return STATUS_UNSUPPORTED_VERSION;
    bool ok = get16(h + 6) == HEADER_BYTES && h[12] < 2 && h[13] < 2 && h[14] < 2 && h[15] < 2 && h[16] < 3 &&
              h[17] < 2 && h[18] < 2 && h[19] <= (version == 1 ? 8 : 0) && h[20] < TAPERS && h[26] == 2 && h[27] == 0 &&
              get64(h + 48) == 1 && (version > 1 || get64(h + 120) == 0);
    for (i32 level = 0; level < ANCHOR_LEVEL; level++) ok &= h[21 + level] < 6;
    for (i32 k = 0; k < 5; k++) {
        const double x = get_f64(h + 56 + 8 * k);
        ok &= x >= 0.0 && x <= 1.7976931348623157e308;
    }
    const u64 nx = get64(h + 32), ny = get64(h + 40), most = 1ull << 48;
    if (!ok || nx == 0 || ny == 0 || nx > most || ny > most / nx) return STATUS_CORRUPT_STREAM;
    const u64 field = 2 * nx * ny * (h[12] ? 8 : 4), tiles = ((nx + TILE - 1) / TILE) * ((ny + TILE - 1) / TILE);
    const u64 groups = version == 1 ? (tiles + (1ull << h[19]) - 1) >> h[19] : get64(h + 120);
    const u64 tables = get32(h + 28), bytes = get64(h + 112);
    if (version > 1 && (h[18] == CONTENT_STORED ? groups != 0 : groups == 0 || groups > tiles)) return STATUS_CORRUPT_STREAM;
    const u32 directory = directory_bytes(version, h[14]);
    const u64 body = h[18] == CONTENT_STORED
                         ? field
                         : (tables > directory ? tables : directory) + groups * (4 + STATE_BYTES);
    return bytes < HEADER_BYTES + body || bytes % 4 != 0 ? STATUS_CORRUPT_STREAM : STATUS_OK;
}

// Reads the header into the control block; the status it gives. The dimensions and the type must be
// those of the job.
__device__ inline i32 read_header(const Job& job, Control& c, const u8* h) {
    if (job.stream_bytes < HEADER_BYTES) return STATUS_CORRUPT_STREAM;
    const i32 status = check_header(h);
    if (status != STATUS_OK) return status;
    // Groups of version 1 are decoded on the host only.
    if (get16(h + 4) != FORMAT_VERSION) return STATUS_UNSUPPORTED_VERSION;
    for (i32 level = 0; level < ANCHOR_LEVEL; level++) c.kernels[level] = h[21 + level];
    c.coder = h[14];
    c.predictor = h[15];
    c.content = h[18];
    c.taper = h[20];
    c.table_bytes = get32(h + 28);
    c.bound = get_f64(h + 64);
    c.quantum = get_f64(h + 72);
    c.fill[0] = get64(h + 96);
    c.fill[1] = get64(h + 104);
    c.stream_bytes = get64(h + 112);
    if (get64(h + 32) != job.nx || get64(h + 40) != job.ny || h[12] != job.dtype) return STATUS_INVALID_ARGUMENT;
    c.groups = get64(h + 120);
    if (c.stream_bytes > job.stream_bytes) return STATUS_CORRUPT_STREAM;
    const u64 field = 2 * job.nx * job.ny * (job.dtype ? 8 : 4);
    if (c.content == CONTENT_STORED && c.stream_bytes != HEADER_BYTES + field) return STATUS_CORRUPT_STREAM;
    return STATUS_OK;
}

// Part of the checksum of the 32-bit word with this index, from what both add up to.
constexpr u32 CHECKSUM_STEP = 0x9e3779b9u;
__device__ __forceinline__ u32 checksum_mix(u32 x) {
    x = (x ^ x >> 16) * 0x85ebca6bu;
    x = (x ^ x >> 13) * 0xc2b2ae35u;
    return x ^ x >> 16;
}
__device__ __forceinline__ u32 checksum_term(u32 word, u64 index) { return checksum_mix((index == 2 ? 0 : word) + (u32)index * CHECKSUM_STEP); }

// A word of a stream at any alignment.
__device__ __forceinline__ u32 word_at(const u8* stream, u64 index) {
    return ((u64)stream & 3) == 0 ? reinterpret_cast<const u32*>(stream)[index] : get32(stream + 4 * index);
}
