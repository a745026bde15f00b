// The list of repaired vertices in a stream: where its chunks are, whether they are intact, and the values of
// its vertices. Twins: src/repair/read.rs, src/volume/decompress.rs.
#pragma once
#include "decompress/status.cuh"
#include "grid/volume_field.cuh"
#include "predict/quantizer.cuh"
#include "repair/list.cuh"
#include "repair/values.cuh"

__device__ __forceinline__ const u32* list_words(const Job& job, u64 at) {
    return reinterpret_cast<const u32*>(job.stream + at);
}
__device__ __forceinline__ ListEntry list_entry(const Job& job, const ListControl& list, u64 chunk) {
    return ListEntry(list_words(job, list.at + chunk * LIST_ENTRY_BYTES));
}

// Grid: 1. Block: LIST_THREADS threads. Finds where the chunks lie. Reads: stream. Writes: offsets of chunks,
// of the first one of each slot.
template <typename T>
__device__ __forceinline__ void place_chunks(const Job& job) {
    __shared__ u64 bytes[LIST_THREADS / 32], vertices[LIST_THREADS / 32];
    Control& control = control_of(job);
    if (__syncthreads_or(!is_coded(control))) return;
    const ListControl list = control.list;
    const u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    u64 at = list.at + list.chunks * LIST_ENTRY_BYTES, all_vertices = 0;
    bool bad = false;
    for (u64 from = 0; from < list.chunks; from += LIST_THREADS) {
        const u64 chunk = from + threadIdx.x;
        u32 own_bytes = 0, own_vertices = 0;
        if (chunk < list.chunks) {
            const ListEntry entry = list_entry(job, list, chunk);
            bad |= !entry.is_good() ||
                   (chunk > 0 && list_entry(job, list, chunk - 1).kind() > entry.kind()) ||
                   (list.has_no_filled && entry.levels == LIST_ALL_FILLED);
            own_bytes = entry.bytes / 4, own_vertices = entry.vertices;
            if (chunk == 0) control.list.has_constant = entry.is_constant();
        }
        // Sums in units of 4 bytes: a warp's fit 64 bits, a bad entry's too.
        u64 before = own_bytes;
        for (u32 step = 1; step < 32; step *= 2) {
            const u64 other = __shfl_up_sync(FULL, (u32)before, step) |
                              (u64)__shfl_up_sync(FULL, (u32)(before >> 32), step) << 32;
            if (lane >= step) before += other;
        }
        const u64 of_warp = warp_sum_long(own_vertices);
        __syncthreads();
        if (lane == 31) bytes[warp] = before, vertices[warp] = of_warp;
        __syncthreads();
        u64 below = 0, all = 0;
        for (u32 w = 0; w < LIST_THREADS / 32; w++) {
            if (w < warp) below += bytes[w];
            all += bytes[w];
            all_vertices += vertices[w];
        }
        if (chunk < list.chunks && chunk % list.of_slot == 0)
            ListView(job).chunks()[chunk / list.of_slot].x = at + 4 * (below + before - own_bytes);
        at += 4 * all;
    }
    bad |= at != list.at + list.bytes || all_vertices != list.vertices;
    if (__syncthreads_or(bad) && threadIdx.x == 0) fail(control, STATUS_CORRUPT_STREAM);
}

// Marks the vertices from a position on as zero or filled. False if the volume has none there. Call with a
// warp.
__device__ __forceinline__ bool mark_run(const Job& job, const ListEntry& entry, u64 position, u32 count) {
    const VolumeView work(job);
    u32* const bits = work.hidden() + (entry.kind() ? work.hidden_words() : 0);
    bool good = true;
    for (u32 i = threadIdx.x & 31; i < count; i += 32) {
        GridPoint p;
        if (vertex_at_position<Tetrahedra>(job, position + i, p)) {
            const u64 vertex = number_of(job, (u64)p.x, (u64)p.y, (u64)p.z);
            atomicOr(bits + vertex / 32, 1u << vertex % 32);
        } else {
            good = false;
        }
    }
    return good;
}

// Grid: any. Block: LIST_WARPS warps, a chunk each. Marks the vertices that are zero or filled. Reads:
// stream, offsets of chunks. Writes: hidden vertices, last positions of chunks. Another block may set the
// status meanwhile.
template <typename T>
__device__ __forceinline__ void mark_chunks(const Job& job) {
    Control& control = control_of(job);
    if (__syncthreads_or(!is_coded(control))) return;
    const ListControl list = control.list;
    const VolumeView work(job);
    for (u64 chunk = blockIdx.x + (u64)gridDim.x * warp_or(threadIdx.x >> 5); chunk < list.chunks;
         chunk += (u64)gridDim.x * LIST_WARPS) {
        const ListEntry entry = list_entry(job, list, chunk);
        if (!entry.is_constant()) return;  // nor are those behind it
        u64 last;
        bool inside = true;
        const bool decoded = decode_constant_chunk(entry, list_words(job, work.chunks()[chunk].x), last,
            [&](u64 position, u32 count) { inside &= mark_run(job, entry, position, count); });
        if (!decoded || !inside) return fail(control, STATUS_CORRUPT_STREAM);
        if ((threadIdx.x & 31) == 0) work.chunks()[chunk].y = last;
    }
}

// The bin width of a volume with a bound shift on a level.
template <typename T>
__device__ __forceinline__ T width_on_level(const Control& control, u32 shift, u32 level) {
    double width, inverse;
    quantizer_entry<T>(power_of_two(-(i32)shift) * control.half_bin_width, control.level_bound_scaling,
        (i32)level, 0, width, inverse);
    return (T)width;
}
// The bin widths by bound shift and level. Call with a block.
template <typename T>
__device__ __forceinline__ void fill_widths(const Control& control, T (*widths)[LEVELS]) {
    for (u32 k = threadIdx.x; k < BOUND_SHIFTS * LEVELS; k += blockDim.x)
        widths[k / LEVELS][k % LEVELS] = width_on_level<T>(control, k / LEVELS, k % LEVELS);
    __syncthreads();
}

// Writes the values of a vertex with a level of its own, in the place of that of layer 1. False if the volume
// has no such vertex.
template <typename T>
__device__ __forceinline__ bool put_listed(
    const Job& job, const ListedVertex<3>& listed, const T (*widths)[LEVELS]) {
    const VolumeView work(job);
    GridPoint p;
    if (!vertex_at_position<Tetrahedra>(job, listed.position, p)) return false;
    const u64 vertex = number_of(job, (u64)p.x, (u64)p.y, (u64)p.z);
    if (control_of(job).list.has_constant && (work.is_zero(vertex) || work.is_filled(vertex))) return true;
    const u32 level = dyadic_level(p),
              shift = bound_shift_in(work.headers()[listed.position / VOLUME_TILE_VERTICES]);
    const double radius = 0.5 * (double)widths[shift][level];
#pragma unroll
    for (i32 c = 0; c < 3; c++) {
        T* const to = component_at<T>(job, c, p.x, p.y, p.z);
        *to = listed.level == LEVEL_EXACT ? Real<T>::from_bits(listed.data[c])
                                          : refined<T>(radius, listed.level, *to, (u32)listed.data[c]);
    }
    return true;
}

// Compares the chunks with each other and with the header, and writes the report. Call with the last block.
template <typename T>
__device__ __forceinline__ void end_list(const Job& job, Control& control) {
    const ListControl& list = control.list;
    const VolumeView work(job);
    bool bad = __ldcg(&list.found) != list.exact || __ldcg(&list.is_damaged) != 0;
    for (u64 chunk = 1 + threadIdx.x; chunk < list.chunks; chunk += blockDim.x) {
        const ListEntry entry = list_entry(job, list, chunk);
        bad |= list_entry(job, list, chunk - 1).kind() == entry.kind() &&
               entry.first <= __ldcg(&work.chunks()[chunk - 1].y);
    }
    if (bad) fail(control, STATUS_CORRUPT_STREAM);
    __syncthreads();
    if (threadIdx.x == 0) write_report<T>(job, control);
}

// Grid: any. Block: LIST_WARPS warps, a chunk each. Writes the vertices that have a level of their own, and
// the report. Reads: stream, chunks, hidden vertices, header words. Writes: the field, last positions of
// chunks, the report.
template <typename T>
__device__ __forceinline__ void put_chunks(const Job& job) {
    __shared__ T widths[BOUND_SHIFTS][LEVELS];
    Control& control = control_of(job);
    if (__syncthreads_or(!is_coded(control))) {
        if (blockIdx.x == 0 && threadIdx.x == 0) write_report<T>(job, control);
        return;
    }
    fill_widths(control, widths);
    const ListControl list = control.list;
    const VolumeView work(job);
    u32 exact = 0;
    for (u64 chunk = blockIdx.x + (u64)gridDim.x * warp_or(threadIdx.x >> 5); chunk < list.chunks;
         chunk += (u64)gridDim.x * LIST_WARPS) {
        const ListEntry entry = list_entry(job, list, chunk);
        if (entry.is_constant()) continue;
        u64 last = 0;
        bool inside = true;
        const bool decoded = decode_chunk<3>(entry, list_words(job, work.chunks()[chunk].x), 8 * sizeof(T),
            last, [&](const ListedVertex<3>& listed) {
                inside &= put_listed<T>(job, listed, widths);
                exact += listed.level == LEVEL_EXACT;
            });
        // The status stays as all blocks found it, until the last one.
        if (!decoded || !inside) atomicOr(&control.list.is_damaged, 1u);
        if ((threadIdx.x & 31) == 0) work.chunks()[chunk].y = last;
    }
    exact = warp_sum(exact);
    if ((threadIdx.x & 31) == 0 && exact) atomicAdd((ull*)&control.list.found, (ull)exact);
    if (last_block(control, TICKET_LIST)) end_list<T>(job, control);
}
