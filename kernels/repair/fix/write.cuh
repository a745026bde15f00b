// Writes a fix: header, list or values, checksum and report. Twins: src/repair/encode.rs, Header::write in
// src/repair/header.rs.
#pragma once
#include "repair/chunks.cuh"
#include "repair/fix/values.cuh"

// Length and content of a fix.
struct FixShape {
    u32 header_bytes, content;
    u64 bytes;

    template <typename T>
    static __device__ __forceinline__ FixShape of(const Job& job, const Control& control) {
        const u32 header = job.components == 3 ? FIX_VOLUME_HEADER_BYTES : FIX_HEADER_BYTES;
        const u64 list = header + control.list.bytes,
                  most = header + job.components * job.vertices() * sizeof(T);
        // The values are stored where the list would take more.
        return list > most ? FixShape{header, CONTENT_STORED, most} : FixShape{header, CONTENT_CODED, list};
    }
};

// Writes the header, but for the checksum; returns its share of the checksum. For one thread.
__device__ inline u32 write_fix_header(const Job& job, const Control& control, const FixShape& shape) {
    u8* const h = job.stream;
    for (u32 k = 0; k < shape.header_bytes; k++) h[k] = 0;
    put32(h, FIX_MAGIC);
    put16(h + FIX_AT_VERSION, FIX_VERSION);
    put16(h + FIX_AT_HEADER_BYTES, shape.header_bytes);
    h[FIX_AT_DTYPE] = (u8)job.dtype, h[FIX_AT_PRESERVE] = (u8)job.preserve;
    h[FIX_AT_BOUND_KIND] = (u8)job.bound_kind, h[FIX_AT_TIES] = (u8)job.ties;
    h[FIX_AT_COMPONENTS] = (u8)job.components, h[FIX_AT_HAS_FILL] = (u8)job.has_fill;
    h[FIX_AT_PERIODIC] = (u8)job.periodic, h[FIX_AT_CONTENT] = (u8)shape.content;
    put32(h + FIX_AT_RECONSTRUCTION, control.fix.checksum);
    put64(h + FIX_AT_EXACT_VERTICES, control.list.exact);
    put64(h + FIX_AT_NX, job.nx);
    put64(h + FIX_AT_NY, job.ny);
    put32(h + FIX_AT_NZ, (u32)job.nz);
    put_f64(h + FIX_AT_BOUND, job.bound);
    put_f64(h + FIX_AT_ABSOLUTE_BOUND, control.bound);
    put64(h + FIX_AT_RADIUS, control.fix.radius);
    put_f64(h + FIX_AT_DX, job.dx);
    put_f64(h + FIX_AT_DY, job.dy);
    put64(h + FIX_AT_FILL, job.has_fill ? job.fill : 0);
    put64(h + FIX_AT_REPAIRED_VERTICES, control.list.vertices);
    put64(h + FIX_AT_FIX_BYTES, shape.bytes);
    put64(h + FIX_AT_CHUNKS, shape.content == CONTENT_STORED ? 0 : control.list.chunks);
    if (job.components == 3) put_f64(h + FIX_AT_DZ, job.dz);
    u32 sum = 0;
    for (u32 word = 0; word < shape.header_bytes / 4; word++) sum += checksum_term(get32(h + 4 * word), word);
    return sum;
}

// Stores the repaired values; returns the share of a thread in the checksum.
template <typename Of>
__device__ __forceinline__ u32 store_repaired(const Job& job, const FixShape& shape) {
    typedef typename Of::T T;
    typedef typename Of::Mesh Mesh;
    constexpr u32 WORDS = sizeof(T) / 4;
    const VertexValues<Of> values(job);
    const u64 rows = job.ny * job.nz, warps = (u64)gridDim.x * CHUNK_WARPS;
    u32 sum = 0;
    for (u64 row = (u64)blockIdx.x * CHUNK_WARPS + threadIdx.x / 32; row < rows; row += warps) {
        const long long z = (long long)(row / job.ny), y = (long long)(row - (u64)z * job.ny);
        for (u64 x = threadIdx.x & 31; x < job.nx; x += 32) {
            const GridPoint p = {(long long)x, y, z};
            const auto now =
                values.current(p, Mesh::place_of(job, p), original_at<T, Mesh::COMPONENTS>(job, p));
#pragma unroll
            for (i32 c = 0; c < Mesh::COMPONENTS; c++) {
                const u64 bits = Real<T>::bits(now.at[c]),
                          at = shape.header_bytes / 4 + (c * job.vertices() + row * job.nx + x) * WORDS;
#pragma unroll
                for (u32 k = 0; k < WORDS; k++) {
                    store_word(job.stream, 4 * (at + k), (u32)(bits >> 32 * k));
                    sum += checksum_term((u32)(bits >> 32 * k), at + k);
                }
            }
        }
    }
    return sum;
}

// Writes the report. Call with one thread.
__device__ __forceinline__ void report_made(
    const Job& job, const Control& control, i32 status, const FixShape& shape) {
    FixReport r = {};
    r.status = status;
    if (status == STATUS_INVALID_ARGUMENT) {
        r.vertices_outside = control.fix.outside;
        r.first_outside = ~control.fix.not_first;
    }
    if (status == STATUS_OK || status == STATUS_BUFFER_TOO_SMALL) {
        r.fix_bytes = status == STATUS_OK ? shape.bytes : 0;
        r.required_bytes = shape.bytes;
        r.repaired_vertices = control.list.vertices;
        r.exact_vertices = control.list.exact;
        r.violated_triangles = control.repair.violated;
        r.rounds = control.repair.rounds;
        r.bound = control.bound;
        r.max_error = radius_of(control);
    }
    *job.fix_report = r;
}

// Grid: any. Block: CHUNK_WARPS warps, one or all for a chunk. Static shared: WriteListShared. The last
// kernel. Reads: both fields, levels, which vertices are listed, ranks, entries and places of chunks. Writes:
// the fix, the report.
template <typename T, typename Mesh>
__device__ __forceinline__ void write_fix(const Job& job) {
    typedef Reconstruction<T, Mesh> Of;
    __shared__ WriteListShared shared;
    Control& control = control_of(job);
    const FixShape shape = FixShape::of<T>(job, control);
    const i32 status = control.status != STATUS_OK      ? control.status
                       : control.repair.is_unfinished   ? STATUS_INTERNAL
                       : shape.bytes > job.stream_bytes ? STATUS_BUFFER_TOO_SMALL
                                                        : STATUS_OK;
    u32 sum = 0;
    if (status == STATUS_OK && shape.content == CONTENT_CODED)
        sum = write_chunks<Of>(job, control, shape.header_bytes / 4, shared);
    else if (status == STATUS_OK)
        sum = warp_sum(store_repaired<Of>(job, shape));
    if (status == STATUS_OK && blockIdx.x == 0 && threadIdx.x == 0)
        sum += write_fix_header(job, control, shape);
    __syncwarp();
    add_to_seal(control, sum, shared.sums);
    if (!last_block(control, TICKET_LIST) || threadIdx.x != 0) return;
    if (status == STATUS_OK) put32(job.stream + AT_CHECKSUM, (u32)(__ldcg(&control.seal) >> 32));
    report_made(job, control, status, shape);
}

// The kernels of a repair and of its list, for a reconstruction.
template <typename T, typename Mesh>
__device__ __forceinline__ void keep_border_of(const Job& job) {
    keep_mesh_border<Reconstruction<T, Mesh>>(job);
}
template <typename T, typename Mesh>
__device__ __forceinline__ void verify_reconstruction(const Job& job) {
    verify_mesh<Reconstruction<T, Mesh>>(job);
}
template <typename T, typename Mesh>
__device__ __forceinline__ void repair_reconstruction(const Job& job) {
    repair_by_rounds<Reconstruction<T, Mesh>>(job);
}
template <typename T, typename Mesh>
__device__ __forceinline__ void list_repaired(const Job& job) {
    list_mesh<Reconstruction<T, Mesh>>(job);
}
template <typename T>
__device__ __forceinline__ void rank_repaired(const Job& job) {
    rank_mesh<Reconstruction<T, Tetrahedra>>(job);
}
template <typename T, typename Mesh>
__device__ __forceinline__ void plan_repaired(const Job& job) {
    plan_mesh<Reconstruction<T, Mesh>>(job);
}
template <typename T>
__device__ __forceinline__ void place_repaired(const Job& job) {
    place_mesh_list<Reconstruction<T, Tetrahedra>>(job);
}
