// Twin of src/stream/header.rs: the header of a stream.
#pragma once
#include "device/control.cuh"
#include "stream/sections.cuh"

// A field of one byte in the word that holds it.
__device__ __forceinline__ u32 field_of(u32 word, i32 at) { return word >> 8 * (at & 3) & 255; }

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
    put32(h + AT_MAGIC, MAGIC);
    put16(h + AT_VERSION, FORMAT_VERSION);
    put16(h + AT_HEADER_BYTES, HEADER_BYTES);
    h[AT_DTYPE] = (u8)job.dtype, h[AT_MODE] = (u8)job.mode, h[AT_CODER] = (u8)job.coder;
    h[AT_PREDICTOR] = (u8)job.predictor, h[AT_PRESERVE] = (u8)job.preserve;
    h[AT_BOUND_KIND] = (u8)job.bound_kind, h[AT_CONTENT] = (u8)content;
    h[AT_TIES] = (u8)job.ties;
    h[AT_LEVEL_BOUND_SCALING] = (u8)c.level_bound_scaling;
    for (i32 level = 0; level < ANCHOR_LEVEL; level++) h[AT_INTERPOLANTS + level] = (u8)c.interpolants[level];
    h[AT_COMPONENTS] = 2;
    h[AT_HAS_FILL] = (u8)job.has_fill;
    put32(h + AT_TABLE_BYTES, table_bytes);
    put64(h + AT_NX, job.nx);
    put64(h + AT_NY, job.ny);
    put32(h + AT_NZ, (u32)job.nz);
    h[AT_PERIODIC] = (u8)job.periodic;
    put_f64(h + AT_BOUND, job.bound);
    put_f64(h + AT_ABSOLUTE_BOUND, c.bound);
    put_f64(h + AT_HALF_BIN_WIDTH, c.half_bin_width);
    put_f64(h + AT_DX, job.dx);
    put_f64(h + AT_DY, job.dy);
    put64(h + AT_FILL_U, c.has_fill ? c.fill[0] : 0);
    put64(h + AT_FILL_V, c.has_fill ? c.fill[1] : 0);
    put64(h + AT_STREAM_BYTES, stream_bytes);
    put64(h + AT_GROUPS, content == CONTENT_STORED ? 0 : c.groups);
}

// The header of a volume. One that stores its values says nothing of how they would be coded.
__device__ inline void write_volume_header(
    const Job& job, const Control& c, u32 content, u32 table_bytes, u64 stream_bytes, u8* h) {
    const bool coded = content == CONTENT_CODED;
    write_header(job, c, content, table_bytes, stream_bytes, h);
    put16(h + AT_HEADER_BYTES, VOLUME_HEADER_BYTES);
    h[AT_COMPONENTS] = 3;
    if (!coded)
        for (i32 k = AT_LEVEL_BOUND_SCALING; k < AT_COMPONENTS; k++) h[k] = 0;
    put_f64(h + AT_DZ, job.dz);
    put64(h + AT_FILL_W, c.has_fill ? c.list.fill_w : 0);
    put64(h + AT_LIST_BYTES, coded ? c.list.bytes : 0);
    put64(h + AT_CHUNKS, coded ? c.list.chunks : 0);
    put64(h + AT_REPAIRED_VERTICES, coded ? c.list.vertices : 0);
    put64(h + AT_EXACT_VERTICES, coded ? c.list.exact : 0);
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

// The fields of a volume's header behind those of planes. Call with a warp.
struct VolumeFields {
    double dz;
    u64 fill_w, list_bytes, chunks, repaired, exact;

    __device__ __forceinline__ VolumeFields(const u8* stream, u64 stream_bytes) {
        constexpr u32 WORDS = (VOLUME_HEADER_BYTES - HEADER_BYTES) / 4;
        const u32 lane = threadIdx.x & 31, k = lane < WORDS ? lane : 0,
                  word = stream_bytes < VOLUME_HEADER_BYTES
                             ? 0
                             : reinterpret_cast<const u32*>(stream)[HEADER_BYTES / 4 + k];
        auto long_at = [&](u32 byte) {
            const u32 at = (byte - HEADER_BYTES) / 4;
            return __shfl_sync(FULL, word, at) | (u64)__shfl_sync(FULL, word, at + 1) << 32;
        };
        dz = __longlong_as_double((long long)long_at(AT_DZ));
        fill_w = long_at(AT_FILL_W);
        list_bytes = long_at(AT_LIST_BYTES);
        chunks = long_at(AT_CHUNKS);
        repaired = long_at(AT_REPAIRED_VERTICES);
        exact = long_at(AT_EXACT_VERTICES);
    }
};

// Whether a header is one that an encoder writes. Twin of Header::read.
struct HeaderCheck {
    i32 status;
    u32 about, more, tables;  // about, more: the words of AT_DTYPE and of AT_PRESERVE
    u32 nz, periodic, components, component;
    u64 nx, ny, field, groups, stream_bytes;

    __device__ __forceinline__ bool stored() const { return field_of(more, AT_CONTENT) == CONTENT_STORED; }
    __device__ __forceinline__ bool is_volume() const { return components == 3; }
    __device__ __forceinline__ u32 header_bytes() const {
        return is_volume() ? VOLUME_HEADER_BYTES : HEADER_BYTES;
    }
};

// Whether each word of a header could be one. Of each word: the largest value of each of its bytes, and what
// is left of it once its fixed part is right. A bit for each bad word.
__device__ __forceinline__ u32 bad_words(u32 word, const HeaderCheck& h) {
    const u32 lane = threadIdx.x & 31, below = __shfl_up_sync(FULL, word, 1);
    const bool alone = h.components == 1, volume = h.is_volume();
    const bool is_real = lane >= AT_BOUND / 4 && lane < AT_FILL_U / 4;
    u32 most = 0, left = 0;
    if (lane == AT_MAGIC / 4) left = word ^ MAGIC;
    if (lane == AT_VERSION / 4) left = word >> 16 ^ h.header_bytes();
    if (lane == AT_DTYPE / 4) {
        most = volume ? 0x00010001 : 0x01010101;
        left = word ^ (volume ? MODE_REPAIR << 8 : 0);
    }
    if (lane == AT_PRESERVE / 4) most = volume ? 0x01010102 : 0x02010102, left = word;
    if (lane == AT_LEVEL_BOUND_SCALING / 4) most = 0x05050500 | (LEVEL_BOUND_SCALINGS - 1), left = word;
    if (lane == AT_COMPONENTS / 4) most = 0x01000505, left = word ^ (alone ? 1 : volume ? 3 : 2) << 16;
    if (lane == AT_PERIODIC / 4)
        most = PERIODIC_X | PERIODIC_Y | (volume ? PERIODIC_Z : 0) | (u32)alone << 8, left = word;
    // The high words of numbers that are neither infinite nor NaN. The spacing is not 0; others are not
    // negative, but may be -0.
    const u32 magnitude = word & 0x7fffffff;
    if (is_real && lane & 1 && magnitude >= 0x7ff00000)
        left = 1;
    else if (is_real && lane & 1)
        left = lane >= AT_DX / 4 ? (magnitude | below) == 0 : word == magnitude ? 0 : magnitude | below;
    return __ballot_sync(FULL, (((left & 0x7f7f7f7f) + (0x7f7f7f7f - most)) | left) & 0x80808080);
}

// Tiles along an axis.
__device__ __forceinline__ u64 tiles_along(u64 vertices, bool volume) {
    const u64 side = volume ? VOLUME_SIDE : TILE;
    return (vertices + side - 1) / side;
}

// Whether the fields of a volume agree with its header.
__device__ __forceinline__ bool is_volume_good(const HeaderCheck& h, const VolumeFields& f) {
    const u64 magnitude = (u64)__double_as_longlong(f.dz) & 0x7fffffffffffffffull,
              vertices = h.nx * h.ny * h.nz;
    return magnitude != 0 && magnitude < 0x7ff0000000000000ull && f.list_bytes % 4 == 0 &&
           f.list_bytes <= (h.stored() ? 0 : h.stream_bytes) && f.chunks <= f.list_bytes / LIST_ENTRY_BYTES &&
           f.repaired <= (h.stored() ? 0 : 2 * vertices) && f.exact <= f.repaired &&
           f.chunks <= f.repaired / LIST_CHUNK + LIST_KINDS;
}

__device__ __forceinline__ HeaderCheck check_header(const Header& header, const VolumeFields& fields) {
    const u32 version = header.word_at(AT_VERSION) & 0xffff, axes = header.word_at(AT_PERIODIC);
    HeaderCheck h;
    h.components = field_of(header.word_at(AT_COMPONENTS), AT_COMPONENTS);
    h.component = field_of(axes, AT_COMPONENT);
    h.about = header.word_at(AT_DTYPE);
    h.more = header.word_at(AT_PRESERVE);
    h.tables = header.word_at(AT_TABLE_BYTES);
    h.nx = header.long_at(AT_NX);
    h.ny = header.long_at(AT_NY);
    h.nz = header.word_at(AT_NZ);
    h.periodic = field_of(axes, AT_PERIODIC);
    h.stream_bytes = header.long_at(AT_STREAM_BYTES);
    h.groups = header.long_at(AT_GROUPS);
    const u32 bad = bad_words(header.word, h);
    const bool volume = h.is_volume();
    const u64 plane = h.nx * h.ny, vertices = plane * h.nz,
              tiles = tiles_along(h.nx, volume) * tiles_along(h.ny, volume) *
                      (volume ? tiles_along(h.nz, volume) : h.nz);
    const bool has_shape = __umul64hi(h.nx, h.ny) == 0 && __umul64hi(plane, h.nz) == 0 &&
                           vertices - 1 < MAX_VERTICES &&
                           (!(h.periodic & PERIODIC_X) || h.nx >= LEAST_PERIODIC) &&
                           (!(h.periodic & PERIODIC_Y) || h.ny >= LEAST_PERIODIC) &&
                           (!(h.periodic & PERIODIC_Z) || h.nz >= LEAST_PERIODIC);
    h.field = vertices * h.components << (field_of(h.about, AT_DTYPE) & 1 ? 3 : 2);
    // Not more than one for each tile, and enough for all tiles: the field is no larger than the stream can
    // hold.
    const bool some_groups =
        h.stored() ? h.groups == 0 : h.groups - 1 < tiles && h.groups >= (tiles - 1) / MAX_GROUP_TILES + 1;
    const u64 list = volume ? fields.list_bytes : 0,
              body = h.stored() ? h.field
                                : (h.tables > LEAST_DIRECTORY_BYTES ? h.tables : LEAST_DIRECTORY_BYTES) +
                                      h.groups * (4 + LEAST_STATE_BYTES);
    const bool good = bad == 0 && has_shape && some_groups && (!volume || is_volume_good(h, fields)) &&
                      h.stream_bytes >= h.header_bytes() + body + list && h.stream_bytes % 4 == 0;
    h.status = bad & 1                     ? STATUS_CORRUPT_STREAM
               : version != FORMAT_VERSION ? STATUS_UNSUPPORTED_VERSION
               : good                      ? STATUS_OK
                                           : STATUS_CORRUPT_STREAM;
    return h;
}

// Tiles of the stream with this header.
__device__ __forceinline__ u64 tiles_of_stream(const Job& job, const Header& header) {
    return job.takes_planes ? job.tiles_x * job.plane_tile_rows * header.word_at(AT_NZ) : job.tiles();
}

// Whether this is the header of a stream of the job, with space for its parts: a status, by a warp. The
// dimensions and the type must be those of the job; if the job takes some planes, the stream must have them.
// Streams of one component are for the host.
__device__ inline i32 status_of_stream(const Job& job, const Header& header) {
    const VolumeFields fields(job.stream, job.stream_bytes);
    const HeaderCheck h = check_header(header, fields);
    if (h.status != STATUS_OK) return h.status;
    if (h.components == 1) return STATUS_UNSUPPORTED;
    if (h.components != job.components || h.nx != job.nx || h.ny != job.ny ||
        field_of(h.about, AT_DTYPE) != job.dtype || (job.takes_planes ? h.nz < job.nz : h.nz != job.nz))
        return STATUS_INVALID_ARGUMENT;
    // Numbers of tiles have 32 bits.
    if (job.takes_planes && job.tiles_x * job.plane_tile_rows * h.nz > MOST_STREAM_TILES)
        return STATUS_UNSUPPORTED;
    const u64 stored = (h.header_bytes() + h.field + 3) / 4 * 4,
              parts =
                  h.header_bytes() + (u64)h.tables + h.groups * 4 + (h.is_volume() ? fields.list_bytes : 0);
    const bool fits =
        h.stored() ? h.stream_bytes == stored : h.tables >= LEAST_DIRECTORY_BYTES && parts <= h.stream_bytes;
    return h.stream_bytes > job.stream_bytes || !fits ? STATUS_CORRUPT_STREAM : STATUS_OK;
}
