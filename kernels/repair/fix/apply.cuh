// Applies a fix to its reconstruction: nothing is written before everything was checked. Twins:
// src/repair/apply.rs, Header::read in src/repair/header.rs, src/repair/read.rs.
#pragma once
#include "decompress/status.cuh"
#include "repair/fix/values.cuh"
#include "volume/list.cuh"

// Reads the header of a fix. Twin of Header in src/repair/header.rs. For one thread.
struct FixHeader {
    const u8* const at;
    const bool is_volume;

    __device__ __forceinline__ FixHeader(const u8* fix) : at(fix), is_volume(fix[FIX_AT_COMPONENTS] == 3) {}
    __device__ __forceinline__ u64 number(u32 place) const { return get64(at + place); }
    __device__ __forceinline__ double real(u32 place) const {
        return __longlong_as_double((long long)number(place));
    }
    __device__ __forceinline__ u32 bytes() const {
        return is_volume ? FIX_VOLUME_HEADER_BYTES : FIX_HEADER_BYTES;
    }
    __device__ __forceinline__ u64 nx() const { return number(FIX_AT_NX); }
    __device__ __forceinline__ u64 ny() const { return number(FIX_AT_NY); }
    __device__ __forceinline__ u64 nz() const { return get32(at + FIX_AT_NZ); }
    __device__ __forceinline__ bool is_stored() const { return at[FIX_AT_CONTENT] == CONTENT_STORED; }

    __device__ __forceinline__ bool has_shape() const {
        const u64 plane = nx() * ny(), vertices = plane * nz();
        if (__umul64hi(nx(), ny()) != 0 || __umul64hi(plane, nz()) != 0 || vertices - 1 >= MAX_VERTICES)
            return false;
        const u64 sizes[3] = {nx(), ny(), nz()};
        bool good = true;
#pragma unroll
        for (i32 axis = 0; axis < 3; axis++) {
            good &= !is_volume || sizes[axis] > 1;
            good &= !(at[FIX_AT_PERIODIC] >> axis & 1) || sizes[axis] >= LEAST_PERIODIC;
        }
        return good;
    }
    __device__ __forceinline__ bool has_choices() const {
        return at[FIX_AT_DTYPE] < 2 && at[FIX_AT_PRESERVE] < 3 && at[FIX_AT_BOUND_KIND] < 2 &&
               at[FIX_AT_TIES] < (is_volume ? 2 : 3) && at[FIX_AT_HAS_FILL] < 2 &&
               at[FIX_AT_PERIODIC] < (is_volume ? 8 : 4) && at[FIX_AT_CONTENT] < 2 &&
               get32(at + FIX_AT_RESERVED) == 0;
    }
    // Bounds may be -0. The spacing is not 0.
    __device__ __forceinline__ bool is_bound(u32 place) const {
        return Real<double>::finite(real(place)) && real(place) >= 0.0;
    }
    __device__ __forceinline__ bool is_spacing(u32 place) const {
        return Real<double>::finite(real(place)) && real(place) != 0.0;
    }
    __device__ __forceinline__ bool has_reals() const {
        return is_bound(FIX_AT_BOUND) && is_bound(FIX_AT_ABSOLUTE_BOUND) && is_bound(FIX_AT_RADIUS) &&
               is_spacing(FIX_AT_DX) && is_spacing(FIX_AT_DY) && (!is_volume || is_spacing(FIX_AT_DZ));
    }
    __device__ __forceinline__ bool has_counts() const {
        const u64 vertices = nx() * ny() * nz(), repaired = number(FIX_AT_REPAIRED_VERTICES),
                  chunks = number(FIX_AT_CHUNKS), fix_bytes = number(FIX_AT_FIX_BYTES),
                  of_field = vertices * (is_volume ? 3 : 2) * (at[FIX_AT_DTYPE] ? 8 : 4),
                  of_list = LIST_ENTRY_BYTES * min(chunks, (u64)1 << 50);
        return repaired <= vertices && number(FIX_AT_EXACT_VERTICES) <= repaired &&
               !(is_stored() && chunks != 0) && fix_bytes % 4 == 0 &&
               fix_bytes >= bytes() + (is_stored() ? of_field : of_list);
    }
    // Whether a fix of at most `most` bytes begins with a header that one for the job has: a status.
    __device__ __forceinline__ i32 status(const Job& job, u64 most) const {
        if (get32(at) != FIX_MAGIC) return STATUS_CORRUPT_STREAM;
        if (get16(at + FIX_AT_VERSION) != FIX_VERSION) return STATUS_UNSUPPORTED_VERSION;
        const u32 components = at[FIX_AT_COMPONENTS];
        if ((components != 2 && components != 3) || get16(at + FIX_AT_HEADER_BYTES) != bytes() ||
            most < bytes() || !has_choices() || !has_shape() || !has_reals() || !has_counts())
            return STATUS_CORRUPT_STREAM;
        if (components != job.components || at[FIX_AT_DTYPE] != job.dtype || nx() != job.nx ||
            ny() != job.ny || nz() != job.nz)
            return STATUS_INVALID_ARGUMENT;
        return number(FIX_AT_FIX_BYTES) > most ? STATUS_CORRUPT_STREAM : STATUS_OK;
    }
};

// Slots of the workspace for chunks of a list.
__device__ __forceinline__ u64 list_slots(const Job& job) { return job.vertices() / LIST_CHUNK + LIST_KINDS; }

// Grid: 1. Block: 32 threads. Reads: the header of the fix. Writes: control block.
template <typename T>
__device__ __forceinline__ void parse_fix(const Job& job) {
    if (threadIdx.x != 0) return;
    Control& control = control_of(job);
    if (job.stream_bytes < FIX_HEADER_BYTES) return fail(control, STATUS_CORRUPT_STREAM);
    const FixHeader header(job.stream);
    const i32 status = header.status(job, job.stream_bytes);
    if (status != STATUS_OK) return fail(control, status);
    const u64 bytes = header.number(FIX_AT_FIX_BYTES), chunks = header.number(FIX_AT_CHUNKS),
              exact = header.number(FIX_AT_EXACT_VERTICES), slots = list_slots(job);
    control.content = header.is_stored() ? CONTENT_STORED : CONTENT_CODED;
    control.stream_bytes = bytes;
    control.bound = header.real(FIX_AT_ABSOLUTE_BOUND);
    control.exact = exact;
    control.list.at = header.bytes();
    control.list.bytes = bytes - header.bytes();
    control.list.chunks = chunks;
    control.list.vertices = header.number(FIX_AT_REPAIRED_VERTICES);
    control.list.exact = exact;
    control.list.of_slot = chunks <= slots ? 1 : (chunks + slots - 1) / slots;
    control.list.has_no_filled = 1;
    control.fix.radius = header.number(FIX_AT_RADIUS);
    control.fix.expected = get32(job.stream + FIX_AT_RECONSTRUCTION);
}

// Grid: any. Block: 256 threads. Sums the checksum of the reconstruction; the last block compares it with the
// one of the fix. Reads: the field. Writes: status.
template <typename T>
__device__ __forceinline__ void sum_values(const Job& job) {
    Control& control = control_of(job);
    if (__syncthreads_or(control.status != STATUS_OK)) return;
    const u64 rows = job.ny * job.nz, warps = (u64)gridDim.x * (blockDim.x / 32);
    u32 sum = 0;
    for (u64 row = (u64)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; row < rows; row += warps) {
        const long long z = (long long)(row / job.ny), y = (long long)(row - (u64)z * job.ny);
        for (u32 c = 0; c < job.components; c++)
            for (u64 x = threadIdx.x & 31; x < job.nx; x += 32)
                sum += value_term(
                    *component_at<T>(job, (i32)c, (long long)x, y, z), c * job.vertices() + row * job.nx + x);
    }
    __syncwarp();
    sum = warp_sum(sum);
    if ((threadIdx.x & 31) == 0) atomicAdd(&control.fix.checksum, sum);
    if (last_block(control, TICKET_SURVEY) && threadIdx.x == 0 &&
        __ldcg(&control.fix.checksum) != control.fix.expected)
        fail(control, STATUS_INVALID_ARGUMENT);
}

// Calls `each(slot, chunk, entry, words)` with the chunks of the list, those of a slot one after the other.
// Call with a warp of LIST_WARPS.
template <typename Each>
__device__ __forceinline__ void for_chunks(const Job& job, const ListControl& list, Each each) {
    const u64 slots = (list.chunks + list.of_slot - 1) / list.of_slot;
    for (u64 slot = blockIdx.x + (u64)gridDim.x * warp_or(threadIdx.x >> 5); slot < slots;
         slot += (u64)gridDim.x * LIST_WARPS) {
        u64 at = ListView(job).chunks()[slot].x;
        const u64 first = slot * list.of_slot, end = min(first + list.of_slot, list.chunks);
        for (u64 chunk = first; chunk < end; chunk++) {
            const ListEntry entry = list_entry(job, list, chunk);
            each(slot, chunk, entry, list_words(job, at));
            at += entry.bytes;
        }
    }
}

// Whether the grid has the vertices of a run. Call with a warp; each lane answers for some.
template <typename Mesh>
__device__ __forceinline__ bool has_run(const Job& job, u64 position, u32 count) {
    bool good = true;
    for (u32 i = threadIdx.x & 31; i < count; i += 32) {
        GridPoint p;
        good &= vertex_at_position<Mesh>(job, position + i, p);
    }
    return good;
}

// Whether a chunk is one that an encoder writes, of vertices that the grid has; each lane answers for some.
// Counts exact vertices. `last` becomes its last position. Call with a warp.
template <typename T, typename Mesh>
__device__ __forceinline__ bool is_good_chunk(
    const Job& job, const ListEntry& entry, const u32* words, u64& last, u32& exact) {
    bool inside = true;
    const bool decoded =
        entry.is_constant()
            ? decode_constant_chunk(entry, words, last,
                  [&](u64 position, u32 count) { inside &= has_run<Mesh>(job, position, count); })
            : decode_chunk<Mesh::COMPONENTS>(
                  entry, words, 8 * sizeof(T), last, [&](const ListedVertex<Mesh::COMPONENTS>& listed) {
                      GridPoint p;
                      inside &= vertex_at_position<Mesh>(job, listed.position, p);
                      exact += listed.level == LEVEL_EXACT;
                  });
    return decoded && inside;
}

// Compares the slots with each other, and the list with the header. Call with the last block.
__device__ __forceinline__ void end_check(const Job& job, Control& control) {
    const ListControl& list = control.list;
    bool bad = __ldcg(&list.found) != list.exact || __ldcg(&list.is_damaged) != 0;
    for (u64 slot = 1 + threadIdx.x; slot * list.of_slot < list.chunks; slot += blockDim.x) {
        const u64 chunk = slot * list.of_slot;
        const ListEntry entry = list_entry(job, list, chunk);
        bad |= list_entry(job, list, chunk - 1).kind() == entry.kind() &&
               entry.first <= __ldcg(&ListView(job).chunks()[slot - 1].y);
    }
    if (bad) fail(control, STATUS_CORRUPT_STREAM);
}

// Grid: any. Block: LIST_WARPS warps, the chunks of a slot each. Reads: the fix, offsets of chunks. Writes:
// status, last positions of chunks.
template <typename T, typename Mesh>
__device__ __forceinline__ void check_chunks(const Job& job) {
    Control& control = control_of(job);
    if (__syncthreads_or(!is_coded(control))) return;
    u32 exact = 0;
    u64 last = 0;  // position
    u32 kind = LIST_KINDS;
    for_chunks(job, control.list, [&](u64 slot, u64 chunk, const ListEntry& entry, const u32* words) {
        const bool follows = chunk % control.list.of_slot != 0 && kind == entry.kind(),
                   ascends = !follows || entry.first > last;
        kind = entry.kind();
        const bool good = is_good_chunk<T, Mesh>(job, entry, words, last, exact);
        // The status stays as all blocks found it, until the last one.
        if (!good || !ascends) atomicOr(&control.list.is_damaged, 1u);
        __syncwarp();
        if ((threadIdx.x & 31) == 0) ListView(job).chunks()[slot].y = last;
    });
    exact = warp_sum(exact);
    if ((threadIdx.x & 31) == 0 && exact) atomicAdd((ull*)&control.list.found, (ull)exact);
    if (last_block(control, TICKET_LIST)) end_check(job, control);
}

// Writes all values from those of the fix.
template <typename T>
__device__ __forceinline__ void put_stored(const Job& job, const Control& control) {
    const T* const values = reinterpret_cast<const T*>(job.stream + control.list.at);
    const u64 n = job.vertices(), rows = job.ny * job.nz, warps = (u64)gridDim.x * LIST_WARPS;
    for (u64 row = (u64)blockIdx.x * LIST_WARPS + threadIdx.x / 32; row < rows; row += warps) {
        const long long z = (long long)(row / job.ny), y = (long long)(row - (u64)z * job.ny);
        for (u32 c = 0; c < job.components; c++)
            for (u64 x = threadIdx.x & 31; x < job.nx; x += 32)
                *component_at<T>(job, (i32)c, (long long)x, y, z) = values[c * n + row * job.nx + x];
    }
}

// Grid: any. Block: LIST_WARPS warps, the chunks of a slot each. Writes the vertices with levels of their
// own, whose values follow from the reconstruction, or all values of a fix that stores them. Reads: the fix,
// offsets of chunks. Changes: the field.
template <typename T, typename Mesh>
__device__ __forceinline__ void put_levels(const Job& job) {
    const Control& control = control_of(job);
    if (control.status != STATUS_OK) return;
    if (control.content == CONTENT_STORED) return put_stored<T>(job, control);
    const double radius = radius_of(control);
    for_chunks(job, control.list, [&](u64, u64, const ListEntry& entry, const u32* words) {
        u64 last;
        if (entry.is_constant()) return;
        decode_chunk<Mesh::COMPONENTS>(
            entry, words, 8 * sizeof(T), last, [&](const ListedVertex<Mesh::COMPONENTS>& listed) {
                GridPoint p;
                if (!vertex_at_position<Mesh>(job, listed.position, p)) return;
#pragma unroll
                for (i32 c = 0; c < Mesh::COMPONENTS; c++) {
                    T* const to = component_at<T>(job, c, p.x, p.y, p.z);
                    *to = listed.level == LEVEL_EXACT
                              ? Real<T>::from_bits(listed.data[c])
                              : refined<T>(radius, listed.level, *to, (u32)listed.data[c]);
                }
            });
        __syncwarp();
    });
}

// Writes the report. Call with one thread.
__device__ __forceinline__ void report_applied(const Job& job, const Control& control) {
    FixReport r = {};
    r.status = control.status;
    if (r.status == STATUS_OK) {
        r.fix_bytes = r.required_bytes = control.stream_bytes;
        r.repaired_vertices = control.list.vertices;
        r.exact_vertices = control.list.exact;
        r.bound = control.bound;
        r.max_error = radius_of(control);
    }
    *job.fix_report = r;
}

// Grid: any. Block: LIST_WARPS warps, the chunks of a slot each. The last kernel: a vertex that another chunk
// names too becomes zero. Reads: the fix, offsets of chunks. Writes: the field at vertices that become zero,
// the report.
template <typename T, typename Mesh>
__device__ __forceinline__ void put_zeros(const Job& job) {
    const Control& control = control_of(job);
    if (blockIdx.x == 0 && threadIdx.x == 0) report_applied(job, control);
    __syncwarp();
    if (!is_coded(control)) return;
    for_chunks(job, control.list, [&](u64, u64, const ListEntry& entry, const u32* words) {
        u64 last;
        if (!entry.is_constant()) return;
        decode_constant_chunk(entry, words, last, [&](u64 position, u32 count) {
            for (u32 i = threadIdx.x & 31; i < count; i += 32) {
                GridPoint p;
                if (!vertex_at_position<Mesh>(job, position + i, p)) continue;
#pragma unroll
                for (i32 c = 0; c < Mesh::COMPONENTS; c++) *component_at<T>(job, c, p.x, p.y, p.z) = T(0);
            }
        });
    });
}
