// Entries that bring groups to their places in the stream. Twins: src/stage/container.rs, src/backend/cpu.rs.
#pragma once
#include "coding.cuh"

// Grid: 1. Block: 1024. Where groups go, the header, the tables, the report.
template <typename T>
__device__ __forceinline__ void place_groups(const Job& job) {
    __shared__ u64 sums[32];
    __shared__ u64 carry;
    Control& control = control_of(job);
    const u64 groups = control.groups, begin = HEADER_BYTES + control.table_bytes + 4 * groups;
    const i32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    if (threadIdx.x == 0) carry = begin;
    __syncthreads();
    for (u64 base = 0; base < groups; base += 1024) {
        const u64 g = base + threadIdx.x;
        const u64 size = g < groups ? job.group_sizes[g] & GROUP_BYTES_MASK : 0;
        u64 sum = size;
        for (i32 k = 1; k < 32; k *= 2) {
            const u64 other = __shfl_up_sync(FULL, sum, k);
            if (lane >= k) sum += other;
        }
        if (lane == 31) sums[warp] = sum;
        __syncthreads();
        if (warp == 0) {
            u64 s = sums[lane];
            for (i32 k = 1; k < 32; k *= 2) {
                const u64 other = __shfl_up_sync(FULL, s, k);
                if (lane >= k) s += other;
            }
            sums[lane] = s;
        }
        __syncthreads();
        const u64 start = carry + (warp ? sums[warp - 1] : 0) + sum - size;
        if (g < groups) job.group_offsets[g] = start;
        __syncthreads();
        if (threadIdx.x == 0) carry += sums[31];
        __syncthreads();
    }
    const u64 field = 2 * job.nx * job.ny * sizeof(T), most = HEADER_BYTES + field;
    const bool stored = carry > most;
    const u64 bytes = stored ? most : carry;
    const bool fits = bytes <= job.stream_bytes;
    if (threadIdx.x == 0) {
        control.content = stored ? CONTENT_STORED : CONTENT_CODED;
        if (stored) control.table_bytes = 0;
        control.stream_bytes = bytes;
        control.status = fits ? STATUS_OK : STATUS_BUFFER_TOO_SMALL;
        Report r = {};
        r.status = control.status;
        r.stream_bytes = fits ? bytes : 0;
        r.required_bytes = bytes;
        r.exact_vertices = stored ? job.nx * job.ny : control.exact;
        r.nonfinite_vertices = control.nonfinite;
        r.zero_vertices = control.zero;
        r.critical_points = control.critical;
        r.bound = control.bound;
        r.max_error = stored ? 0.0 : __longlong_as_double((long long)control.max_error);
        *job.report = r;
        if (fits) write_header(job, control, job.stream);
    }
    if (fits && !stored) {
        const u64 tables = begin - HEADER_BYTES - 4 * groups;
        for (u64 k = threadIdx.x; k < tables; k += blockDim.x) job.stream[HEADER_BYTES + k] = job.table_section[k];
        for (u64 g = threadIdx.x; g < groups; g += blockDim.x)
            put32(job.stream + HEADER_BYTES + tables + 4 * g, (u32)job.group_sizes[g]);
    }
}

__device__ __forceinline__ void store_word(u8* stream, u64 at, u32 word) {
    if (((u64)stream & 3) == 0)
        *reinterpret_cast<u32*>(stream + at) = word;
    else
        put32(stream + at, word);
}

// Grid: any. Block: 256. Groups (or the values themselves) to their places; the last block seals.
template <typename T>
__device__ __forceinline__ void gather(const Job& job) {
    constexpr u64 TILE_WORD_BYTES = sizeof(T) == 4 ? TILE_WORD_BYTES_F32 : TILE_WORD_BYTES_F64;
    Control& control = control_of(job);
    if (control.status != STATUS_OK) return;
    const i32 lane = threadIdx.x & 31;
    const u64 warps = (u64)gridDim.x * (blockDim.x >> 5), me = (u64)blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5);
    u32 sum = 0;
    if (control.content == CONTENT_CODED) {
        for (u64 group = me; group < control.groups; group += warps) {
            const u64 about = job.group_sizes[group], size = about & GROUP_BYTES_MASK, odd = about >> 63;
            const u64 first = sizes_of(job, group).first_tile, end = first + (about >> 24 & 255) + 1;
            const u64 offset = job.group_offsets[group];
            const u32* states = reinterpret_cast<const u32*>(job.words + first * TILE_WORD_BYTES);
            const u64 pairs = (size - STATE_BYTES) / 4, words = 2 * pairs - odd;
            const u16* from = reinterpret_cast<const u16*>(job.words + end * TILE_WORD_BYTES) - words;
            for (u64 k = lane; k < 32 + pairs; k += 32) {
                u32 word;
                if (k < 32) {
                    word = states[k];
                } else {
                    const u64 w = 2 * (k - 32);
                    word = from[w] | (w + 1 < words ? (u32)from[w + 1] << 16 : 0);
                }
                store_word(job.stream, offset + 4 * k, word);
                sum += checksum_term(word, offset / 4 + k);
            }
        }
        // Header, tables and sizes.
        const u64 head = (HEADER_BYTES + control.table_bytes) / 4 + control.groups;
        for (u64 k = me * 32 + lane; k < head; k += warps * 32) sum += checksum_term(word_at(job.stream, k), k);
    } else {
        const u64 n = job.nx * job.ny, per = sizeof(T) / 4;
        for (u64 k = me * 32 + lane; k < HEADER_BYTES / 4; k += warps * 32) sum += checksum_term(word_at(job.stream, k), k);
        for (u64 k = me * 32 + lane; k < 2 * n; k += warps * 32) {
            const bool second = k >= n;
            const u64 i = second ? k - n : k;
            const long long y = (long long)(i / job.nx), x = (long long)(i - (u64)y * job.nx);
            const u64 bits = Real<T>::bits(second ? *vertex_at<T>(job.v, job.v_layout, x, y)
                                                  : *vertex_at<T>(job.u, job.u_layout, x, y));
            for (u64 p = 0; p < per; p++) {
                const u32 word = (u32)(bits >> 32 * p);
                const u64 at = HEADER_BYTES / 4 + k * per + p;
                store_word(job.stream, 4 * at, word);
                sum += checksum_term(word, at);
            }
        }
    }
    sum = warp_sum(sum);
    if (lane == 0 && sum) atomicAdd(&control.checksum, sum);
    if (last_block(control, TICKET_GATHER) && threadIdx.x == 0) put32(job.stream + 8, control.checksum);
}
