// Copies groups to their places in the stream, and writes header, tables and report. Twin of
// src/stream and src/cpu/entropy.rs.
#pragma once
#include "compress/tables/coding_tables.cuh"
#include "grid/field.cuh"
#include "stream/checksum.cuh"

__device__ __forceinline__ void store_word(u8* stream, u64 at, u32 word) {
    if (((u64)stream & 3) == 0)
        *reinterpret_cast<u32*>(stream + at) = word;
    else
        put32(stream + at, word);
}

static_assert(PARTS <= 32 * ASSEMBLE_WARPS, "a thread for a part");

// Bytes of the header of a stream.
template <bool VOLUME>
constexpr u32 HEADER_BYTES_OF = VOLUME ? VOLUME_HEADER_BYTES : HEADER_BYTES;

// Shared memory: the groups that a block copies.
struct AssembleShared {
    u64 parts[PARTS];                 // where each part of the groups goes
    u64 to[32 * ASSEMBLE_WARPS];      // stream offset in words of 32 bits
    u64 from[32 * ASSEMBLE_WARPS];    // offset of states and words, in bytes
    u32 counts[32 * ASSEMBLE_WARPS];  // in words of 16 bits
    u32 tables[TABLES + 1];  // where each table goes, in words behind the header; the first is behind the
                             // directory
    u32 directory[MOST_DIRECTORY_BYTES / 4], header[VOLUME_HEADER_BYTES / 4], sums[ASSEMBLE_WARPS];
};

// Copies groups; returns their share of the checksum. If groups are few, several warps share one.
template <bool ALIGNED>
__device__ __forceinline__ u32 copy_groups(const Job& job, const AssembleShared& shared, u32 groups) {
    const u32 lane = threadIdx.x & 31;
    u32 halvings = 0, sum = 0;
    while (groups << halvings < ASSEMBLE_WARPS) halvings++;
#pragma unroll 1
    for (u32 item = threadIdx.x >> 5; item < groups << halvings; item += ASSEMBLE_WARPS) {
        const u32 group = item >> halvings, count = shared.counts[group];
        // ROWS rows of 32 words of 32 bits at a time, all loads before the first store.
        constexpr u32 ROWS = 5, ROW = 64;
        u32 done = (item & ((1 << halvings) - 1)) * ROWS * ROW;
        const u8* from = EncodeView(job).slots() + shared.from[group] + 2 * done + 4 * lane;
        const u64 first = shared.to[group] + done / 2 + lane;
        u8* to = job.stream + 4 * first;
        u32 step = (u32)first * CHECKSUM_STEP;
#pragma unroll 1
        for (; done < count; done += ROWS * ROW << halvings) {
            u32 low[ROWS], high[ROWS];
            const i32 left = (i32)(count - done - 2 * lane);
#pragma unroll
            for (u32 i = 0; i < ROWS; i++) {
                const u16* const two = reinterpret_cast<const u16*>(from + 2 * ROW * i);
                low[i] = left > (i32)(ROW * i) ? two[0] : 0;
                high[i] = left > (i32)(ROW * i) + 1 ? two[1] : 0;
            }
#pragma unroll
            for (u32 i = 0; i < ROWS; i++) {
                if (left <= (i32)(ROW * i)) continue;
                const u32 word = low[i] | high[i] << 16;
                if (ALIGNED)
                    reinterpret_cast<u32*>(to)[ROW / 2 * i] = word;
                else
                    put32(to + 2 * ROW * i, word);
                sum += checksum_mix(word + step + ROW / 2 * i * CHECKSUM_STEP);
            }
            from += 2 * ROWS * ROW << halvings;
            to += 2 * ROWS * ROW << halvings;
            step += (ROWS * ROW / 2 * CHECKSUM_STEP) << halvings;
        }
    }
    return sum;
}

// Element k of all values, component by component.
template <typename T, bool VOLUME>
__device__ __forceinline__ T element_of_field(const Job& job, u64 k) {
    const u64 n = job.vertices();
    const u32 component = k < n ? 0 : !VOLUME || k < 2 * n ? 1 : 2;
    const u64 i = k - component * n, row = i / job.nx, x = i - row * job.nx;
    const long long y =
        (long long)(VOLUME ? row / job.ny * job.plane_rows + row % job.ny : row_in_memory(job, row));
    return component == 0   ? *vertex_at<T>(job.u, job.u_layout, (long long)x, y)
           : component == 1 ? *vertex_at<T>(job.v, job.v_layout, (long long)x, y)
                            : *vertex_at<T>(job.w, job.w_layout, (long long)x, y);
}

// Stores the values uncoded; returns their share of the checksum.
template <typename T, bool VOLUME>
__device__ __forceinline__ u32 store_field(const Job& job) {
    const u64 all = (VOLUME ? 3 : 2) * job.vertices(), per = sizeof(T) / 4;
    u32 sum = 0;
#pragma unroll 1
    for (u64 k = (u64)blockIdx.x * blockDim.x + threadIdx.x; k < all; k += (u64)gridDim.x * blockDim.x) {
        const u64 bits = Real<T>::bits(element_of_field<T, VOLUME>(job, k));
        for (u64 p = 0; p < per; p++) {
            const u32 word = (u32)(bits >> 32 * p);
            const u64 at = HEADER_BYTES_OF<VOLUME> / 4 + k * per + p;
            store_word(job.stream, 4 * at, word);
            sum += checksum_term(word, at);
        }
    }
    return sum;
}

// Makes the directory, and finds the places of the tables. Call with a warp.
__device__ __forceinline__ void place_tables(const Job& job, AssembleShared& shared) {
    const u32 lane = threadIdx.x & 31;
    u32 sizes[2], present[2];
#pragma unroll
    for (u32 i = 0; i < 2; i++) {
        const u32 table = 32 * i + lane;
        sizes[i] = table < TABLES ? EncodeView(job).table_lengths()[table] : 0;
        present[i] = __ballot_sync(FULL, sizes[i] > 0);
    }
    if (lane < MOST_DIRECTORY_BYTES / 4)
        shared.directory[lane] = lane == 0 ? present[0] : lane == 1 ? present[1] : 0;
    __syncwarp();
    u8* to = reinterpret_cast<u8*>(shared.directory) + LEAST_DIRECTORY_BYTES;
    u32 before = (LEAST_DIRECTORY_BYTES + __popc(present[0]) + __popc(present[1]) + 3) / 4;
#pragma unroll
    for (u32 i = 0; i < 2; i++) {
        const u32 table = 32 * i + lane, up_to_me = warp_inclusive_sum(sizes[i]);
        if (sizes[i]) to[__popc(present[i] & ((1u << lane) - 1))] = (u8)sizes[i];
        to += __popc(present[i]);
        if (table <= TABLES) shared.tables[table] = before + up_to_me - sizes[i];
        before += __shfl_sync(FULL, up_to_me, 31);
    }
}

// Stores the directory and the tables, a warp for each; returns this block's share of the checksum.
// `from_last`: blocks behind this one.
template <bool VOLUME>
__device__ __forceinline__ u32 store_tables(const Job& job, const AssembleShared& shared, u32 from_last) {
    const u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    u32 sum = 0;
#pragma unroll 1
    for (u32 k = from_last * ASSEMBLE_WARPS + warp; k <= TABLES; k += gridDim.x * ASSEMBLE_WARPS) {
        const u32 at = k < TABLES ? shared.tables[k] : 0,
                  words = (k < TABLES ? shared.tables[k + 1] : shared.tables[0]) - at;
        const u32* const from = k < TABLES ? stored_table(job, k) : shared.directory;
        for (u32 i = lane; i < words; i += 32) {
            const u32 word = from[i];
            store_word(job.stream, HEADER_BYTES_OF<VOLUME> + 4 * (at + i), word);
            sum += checksum_term(word, HEADER_BYTES_OF<VOLUME> / 4 + at + i);
        }
    }
    return sum;
}

// Stores the words of groups, part by part; returns this block's share of the checksum.
template <typename T, bool VOLUME>
__device__ __forceinline__ u32 store_groups(const Job& job, AssembleShared& shared, u32 groups) {
    constexpr u32 THREADS = 32 * ASSEMBLE_WARPS;
    u32 sum = 0;
#pragma unroll 1
    for (u32 part = blockIdx.x; part < PARTS; part += gridDim.x) {
        const u32 each = groups_of_part(groups), part_end = min((part + 1) * each, groups);
        u64 place = shared.parts[part], all;
#pragma unroll 1
        for (u32 base = part * each; base < part_end; base += THREADS, place += all) {
            const u32 group = base + threadIdx.x;
            u64 about = 0, first = 0;
            if (group < part_end) {
                about = EncodeView(job).group_sizes()[group];
                first = sizes_of(job, group).first_tile;
            }
            // Barriers of the sum separate reads of the last round from writes of this one.
            const u64 before_mine = block_exclusive_sum(padded_bytes((u32)about), all);
            if (group < part_end) {
                const u32 count = bytes_in((u32)about) / 2;
                const u64 end_tile = first + tiles_less_one_in((u32)about) + 1;
                shared.to[threadIdx.x] = (place + before_mine) / 4;
                shared.from[threadIdx.x] =
                    end_tile * (VOLUME ? VOLUME_SLOT_BYTES : slot_bytes<T>(job)) - 2 * count;
                shared.counts[threadIdx.x] = count;
                const u64 k = HEADER_BYTES_OF<VOLUME> / 4 + shared.tables[TABLES] + (u64)group;
                store_word(job.stream, 4 * k, (u32)about);
                sum += checksum_term((u32)about, k);
            }
            __syncthreads();
            const u32 here = min(part_end - base, THREADS);
            sum += ((u64)job.stream & 3) == 0 ? copy_groups<true>(job, shared, here)
                                              : copy_groups<false>(job, shared, here);
        }
    }
    return sum;
}

// Writes the report, of a stream of values if `stored`, that needs `bytes`.
__device__ __forceinline__ void report_stream(
    const Job& job, const Control& control, u64 bytes, bool fits, bool stored) {
    Report r = {};
    r.status = control.repair.is_unfinished ? STATUS_INTERNAL : fits ? STATUS_OK : STATUS_BUFFER_TOO_SMALL;
    r.stream_bytes = r.status == STATUS_OK ? bytes : 0;
    r.required_bytes = bytes;
    r.exact_vertices = stored ? job.vertices() : control.exact;
    r.nonfinite_vertices = control.nonfinite;
    r.zero_vertices = control.zero;
    r.points_in_triangles = control.critical;
    r.bound = control.bound;
    r.filled_vertices = control.filled;
    r.warnings = control.warnings;
    r.max_error = stored ? 0.0 : __longlong_as_double((long long)control.max_error.bits);
    *job.report = r;
}

// Grid: any, at most PARTS. Block: 32 * ASSEMBLE_WARPS threads. Static shared: AssembleShared. Reads: group
// sizes, words, stored tables, control block. Writes: stream, report. If coding does not pay, stores the
// values; if the stream does not fit, writes only the report. Each block scans the sizes of all parts. Of a
// volume, the list and the checksum are left to write_list. Waits for: the previous kernel.
template <typename T, bool VOLUME>
__device__ __forceinline__ void assemble_stream(const Job& job) {
    __shared__ AssembleShared shared;
    constexpr u32 HEADER = HEADER_BYTES_OF<VOLUME>;
    Control& control = control_of(job);
    const u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const bool uncoded = VOLUME && is_stored_volume(control);
    // The tables were complete before the previous kernel started: find their places before waiting for it.
    if (warp == 0 && !uncoded) place_tables(job, shared);
    after_previous();
    const u32 groups = (u32)control.groups;
    u64 end;
    const u64 before =
        block_exclusive_sum(threadIdx.x < PARTS ? __ldcg(&control.part_bytes[threadIdx.x]) : 0, end);
    const u32 table_words = uncoded ? 0 : shared.tables[TABLES];
    const u64 begin = HEADER + 4 * ((u64)table_words + groups);
    end += begin;
    if (VOLUME) end += control.list.bytes;
    if (threadIdx.x < PARTS) shared.parts[threadIdx.x] = begin + before;
    const u64 most = HEADER + (VOLUME ? 3 : 2) * job.vertices() * sizeof(T);
    const bool stored = uncoded || end > most;
    const u64 bytes = stored ? most : end;
    const bool fits = bytes <= job.stream_bytes;
    // The last block has the fewest groups.
    const u32 from_last = gridDim.x - 1 - blockIdx.x;
    if (from_last == 0 && threadIdx.x == 0) {
        report_stream(job, control, bytes, fits, stored);
        u8* const header = reinterpret_cast<u8*>(shared.header);
        const u32 content = stored ? CONTENT_STORED : CONTENT_CODED,
                  table_bytes = stored ? 0 : 4 * table_words;
        if constexpr (VOLUME)
            write_volume_header(job, control, content, table_bytes, bytes, header);
        else
            write_header(job, control, content, table_bytes, bytes, header);
        if (VOLUME) control.content = content, control.stream_bytes = bytes;
    }
    __syncthreads();
    if (!fits) return;
    u32 sum = 0;
    if (from_last == 0 && threadIdx.x < HEADER / 4) {
        // The checksum is written last.
        if (threadIdx.x != CHECKSUM_WORD) store_word(job.stream, 4 * threadIdx.x, shared.header[threadIdx.x]);
        sum = checksum_term(shared.header[threadIdx.x], threadIdx.x);
    }
    if (!stored) {
        sum += store_tables<VOLUME>(job, shared, from_last);
        sum += store_groups<T, VOLUME>(job, shared, groups);
    } else {
        sum += store_field<T, VOLUME>(job);
    }
    sum = warp_sum(sum);
    if (lane == 0) shared.sums[warp] = sum;
    __syncthreads();
    if (threadIdx.x >= 32) return;
    sum = warp_sum(threadIdx.x < ASSEMBLE_WARPS ? shared.sums[threadIdx.x] : 0);
    if (threadIdx.x != 0) return;
    // Carries out of the checksum are dropped.
    const u64 added = (u64)sum << 32 | 1, sealed = atomicAdd((ull*)&control.seal, (ull)added) + added;
    if (!VOLUME && (u32)sealed == gridDim.x) put32(job.stream + AT_CHECKSUM, (u32)(sealed >> 32));
}
template <typename T>
__device__ __forceinline__ void assemble(const Job& job) {
    assemble_stream<T, false>(job);
}
template <typename T>
__device__ __forceinline__ void assemble_volume(const Job& job) {
    assemble_stream<T, true>(job);
}
