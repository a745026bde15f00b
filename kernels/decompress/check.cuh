// Checks the checksum of a stream. Twin of src/stream/checksum.rs.
#pragma once
#include "decompress/status.cuh"

// Grid: any. Block: 256 threads. Static shared: a word. Sums the checksum; the last block compares it. Reads:
// stream. Writes: status. Waits for: the previous kernel, after prefetching.
template <typename T>
__device__ __forceinline__ void check_stream(const Job& job) {
    Control& control = control_of(job);
    if (!job.verify_checksum) return after_previous();
    const u32 threads = gridDim.x * blockDim.x, mine = blockIdx.x * blockDim.x + threadIdx.x;
    const uint4* from = reinterpret_cast<const uint4*>(job.stream) + mine;
    // Several loads at a time; prefetch the first ones while factz_parse runs.
    constexpr u32 AHEAD = 4;
#pragma unroll
    for (u32 i = 0; i < AHEAD; i++)
        if (mine + i * threads < job.stream_bytes / 16) prefetch(from + i * threads);
    after_previous();
    const u64 stream_bytes = control.stream_bytes;
    __shared__ u32 of_block;
    if (threadIdx.x == 0) of_block = 0;
    // factz_decode may set the status meanwhile: all threads of a block continue, or none.
    if (__syncthreads_or(control.status != STATUS_OK)) return;
    const u64 words = stream_bytes / 4, fours = words / 4;
    const u32* const stream = reinterpret_cast<const u32*>(job.stream);
    u32 sum = 0;
    auto add = [&](const uint4& four, u32 step) {
        sum += checksum_mix(four.x + step) + checksum_mix(four.y + step + CHECKSUM_STEP) +
               checksum_mix(four.z + step + 2 * CHECKSUM_STEP) +
               checksum_mix(four.w + step + 3 * CHECKSUM_STEP);
    };
    u64 k = mine;
#pragma unroll 1
    for (; k + (AHEAD - 1) * threads < fours; k += AHEAD * threads) {
        uint4 some[AHEAD];
#pragma unroll
        for (u32 i = 0; i < AHEAD; i++) some[i] = from[i * threads];
        from += AHEAD * threads;
#pragma unroll
        for (u32 i = 0; i < AHEAD; i++) add(some[i], 4 * ((u32)k + i * threads) * CHECKSUM_STEP);
    }
#pragma unroll 1
    for (; k < fours; k += threads, from += threads) add(*from, 4 * (u32)k * CHECKSUM_STEP);
    // The checksum itself counts as zero.
    if (mine == 0)
        sum += checksum_term(stream[CHECKSUM_WORD], CHECKSUM_WORD) -
               checksum_mix(stream[CHECKSUM_WORD] + CHECKSUM_WORD * CHECKSUM_STEP);
    if (mine < words % 4) sum += checksum_term(stream[4 * fours + mine], 4 * fours + mine);
    sum = warp_sum(sum);
    if ((threadIdx.x & 31) == 0) atomicAdd(&of_block, sum);
    __syncthreads();
    if (threadIdx.x != 0) return;
    // The low half counts the blocks that have added.
    const ull before = atomicAdd((ull*)&control.seal, (ull)of_block << 32 | 1);
    if ((u32)before == gridDim.x - 1 && (u32)(before >> 32) + of_block != stream[CHECKSUM_WORD])
        fail(control, STATUS_CORRUPT_STREAM);
}
