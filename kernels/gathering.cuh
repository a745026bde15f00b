// Entries that bring groups to their places in the stream. Twins: src/stage/container.rs, src/backend/cpu.rs.
#pragma once
#include "coding.cuh"

// Grid: 1. Block: 1024. Where groups go, the header, the report.
template <typename T>
__device__ __forceinline__ void place_groups(const Job& job) {
    Control& control = control_of(job);
    const u64 groups = control.groups, begin = HEADER_BYTES + control.table_bytes + 4 * groups;
    u64 end = begin;
    sum_stretches(
        groups, [&](u64 g) { return job.group_sizes[g] & GROUP_BYTES_MASK; }, [&](u64 g, u64 before, u64) { job.group_offsets[g] = end + before; },
        [&](u64 sum) { end += sum; });
    const u64 field = 2 * job.nx * job.ny * sizeof(T), most = HEADER_BYTES + field;
    const bool stored = end > most;
    const u64 bytes = stored ? most : end;
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
}

__device__ __forceinline__ void store_word(u8* stream, u64 at, u32 word) {
    if (((u64)stream & 3) == 0)
        *reinterpret_cast<u32*>(stream + at) = word;
    else
        put32(stream + at, word);
}

// Grid: any. Block: 256. Groups (or the values themselves), tables and sizes to their places; the last block seals.
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
            // Some at a time, all of which are on their way before the first is there.
            constexpr u32 AHEAD = 4;
            for (u64 first_word = lane; first_word < 32 + pairs; first_word += 32 * AHEAD) {
                u32 low[AHEAD], high[AHEAD];
#pragma unroll
                for (u32 i = 0; i < AHEAD; i++) {
                    const u64 k = first_word + 32 * i, w = 2 * (k - 32);
                    low[i] = k < 32 ? states[k] : k < 32 + pairs ? from[w] : 0;
                    high[i] = k >= 32 && k < 32 + pairs && w + 1 < words ? from[w + 1] : 0;
                }
#pragma unroll
                for (u32 i = 0; i < AHEAD; i++) {
                    const u64 k = first_word + 32 * i;
                    const u32 word = low[i] | high[i] << 16;
                    if (k >= 32 + pairs) continue;
                    store_word(job.stream, offset + 4 * k, word);
                    sum += checksum_term(word, offset / 4 + k);
                }
            }
        }
        // Header, tables and sizes.
        const u64 tables = HEADER_BYTES / 4, sizes = tables + control.table_bytes / 4;
        for (u64 k = me * 32 + lane; k < sizes + control.groups; k += warps * 32) {
            u32 word;
            if (k < tables) {
                word = word_at(job.stream, k);
            } else {
                word = k < sizes ? reinterpret_cast<const u32*>(job.table_section)[k - tables] : (u32)job.group_sizes[k - sizes];
                store_word(job.stream, 4 * k, word);
            }
            sum += checksum_term(word, k);
        }
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
