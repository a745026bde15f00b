// Anchor codes from their differences: prefix sums along the chain of anchors. An anchor is predicted by the
// anchor of the tile to its left, in the first column by that of the tile above. Twin of along_rows in
// src/predict/anchors.rs, which walks along the chain.
#pragma once
#include "device/control.cuh"

// A single-pass scan with decoupled look-back: a block publishes the sums of its chunk of tiles, then reads
// the chunks before it, 32 at a time, back to the first one that knows its inclusive sums. Chunks are
// assigned in the order in which blocks start, so every awaited block is already running.

// Sums of coarse codes, modulo 2^32. (x, y): over the first column. (z, w): over the tiles after the first
// one of a row, in the last row that begins in the range, or in the whole range if none begins there.
typedef uint4 CoarseSums;

// State and sums of the chunks, exchanged between blocks. factz_begin sets the states to CHUNK_UNKNOWN.
enum : u32 { CHUNK_UNKNOWN, CHUNK_OWN, CHUNK_ALL };
struct AnchorScan {
    CoarseSums *own, *all;  // of the chunk alone; inclusive of all chunks before
    volatile u32* states;

    __device__ __forceinline__ explicit AnchorScan(const Job& job) {
        const u32 chunks = ((u32)job.tiles() + ANCHOR_CHUNK - 1) / ANCHOR_CHUNK;
        const AnchorSumsView work(job);
        own = work.own();
        all = work.all(chunks);
        states = work.states(chunks);
    }
    // Call with one thread.
    __device__ __forceinline__ void say(u32 chunk, u32 state, const CoarseSums& sums) const {
        (state == CHUNK_ALL ? all : own)[chunk] = sums;
        __threadfence();
        states[chunk] = state;
    }
};

// True if a row of tiles begins in the chunk.
__device__ __forceinline__ bool begins_row(u32 chunk, u32 tiles_x) {
    const u32 first = chunk * ANCHOR_CHUNK, behind = first % tiles_x;
    return behind == 0 || tiles_x - behind < ANCHOR_CHUNK;
}

// Sums over all tiles before a chunk. Call with a warp; waits for blocks that have not published yet.
__device__ __forceinline__ CoarseSums sums_before(const AnchorScan& scan, u32 chunk, u32 tiles_x) {
    const u32 lane = threadIdx.x & 31;
    CoarseSums before = make_uint4(0, 0, 0, 0);
    bool in_row = true;
    for (u32 left = chunk; left > 0; left -= 32) {
        const bool exists = lane < left;
        const u32 other = left - 1 - lane;
        u32 state, all, last;
        do {
            state = exists ? scan.states[other] : (u32)CHUNK_ALL;
            all = __ballot_sync(FULL, state == CHUNK_ALL);
            last = all ? __ffs(all) - 1 : 31;
        } while (__any_sync(FULL, lane <= last && state == CHUNK_UNKNOWN));
        __threadfence();
        const bool mine = exists && lane <= last;
        const CoarseSums sums =
            mine ? __ldcg((state == CHUNK_ALL ? scan.all : scan.own) + other) : make_uint4(0, 0, 0, 0);
        before.x += warp_sum(sums.x), before.y += warp_sum(sums.y);
        if (in_row) {
            const u32 begins =
                __ballot_sync(FULL, mine && (state == CHUNK_ALL || begins_row(other, tiles_x)));
            const u32 nearest = begins ? __ffs(begins) - 1 : 31;
            before.z += warp_sum(lane <= nearest ? sums.z : 0),
                before.w += warp_sum(lane <= nearest ? sums.w : 0);
            in_row = begins == 0;
        }
        if (all) break;
    }
    return before;
}

// Shared memory of a block.
struct AnchorSums {
    u32 chunk;
    CoarseSums warps[ANCHOR_THREADS / 32], before;
    uint2 rows[ANCHOR_CHUNK];  // inclusive sums of the codes after the first tiles of rows
};

// Publishes the sums of a chunk, and keeps those before it. Call with a warp; may wait for other blocks.
__device__ __forceinline__ void publish_chunk(
    const AnchorScan& scan, AnchorSums& shared, u32 chunk, u32 tiles_x, CoarseSums chunk_sums) {
    const u32 lane = threadIdx.x & 31, first = chunk * ANCHOR_CHUNK;
    // Keep only the sums since the last row that begins in the chunk.
    const u32 behind = (first + ANCHOR_CHUNK - 1) % tiles_x;
    const bool begins = begins_row(chunk, tiles_x);
    if (begins) {
        const uint2 row = shared.rows[ANCHOR_CHUNK - 1 - behind];
        chunk_sums.z -= row.x, chunk_sums.w -= row.y;
    }
    CoarseSums before = make_uint4(0, 0, 0, 0);
    if (chunk > 0) {
        if (lane == 0) scan.say(chunk, CHUNK_OWN, chunk_sums);
        before = sums_before(scan, chunk, tiles_x);
    }
    if (lane == 0) {
        if (!begins) chunk_sums.z += before.z, chunk_sums.w += before.w;
        scan.say(chunk, CHUNK_ALL,
            make_uint4(before.x + chunk_sums.x, before.y + chunk_sums.y, chunk_sums.z, chunk_sums.w));
        shared.before = before;
    }
}

// Call with a block. In: the code differences of the thread's consecutive tiles, 0 after the last tile. Out:
// their codes.
__device__ __forceinline__ void sum_coarse_codes(
    const Job& job, AnchorSums& shared, u32 chunk, uint2 (&codes)[ANCHORS_EACH]) {
    const AnchorScan scan(job);
    const u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5, tiles_x = (u32)job.tiles_x;
    const u32 first = chunk * ANCHOR_CHUNK, mine = threadIdx.x * ANCHORS_EACH;
    u32 x[ANCHORS_EACH];
    CoarseSums sums[ANCHORS_EACH], up_to = make_uint4(0, 0, 0, 0);
#pragma unroll
    for (u32 i = 0; i < ANCHORS_EACH; i++) {
        x[i] = (first + mine + i) % tiles_x;
        if (x[i] == 0)
            up_to.x += codes[i].x, up_to.y += codes[i].y;
        else
            up_to.z += codes[i].x, up_to.w += codes[i].y;
        sums[i] = up_to;
    }
    const CoarseSums own = up_to;
    up_to = make_uint4(warp_inclusive_sum(own.x), warp_inclusive_sum(own.y), warp_inclusive_sum(own.z),
        warp_inclusive_sum(own.w));
    if (lane == 31) shared.warps[warp] = up_to;
    __syncthreads();
    CoarseSums chunk_sums = make_uint4(0, 0, 0, 0),
               add = make_uint4(up_to.x - own.x, up_to.y - own.y, up_to.z - own.z, up_to.w - own.w);
#pragma unroll
    for (u32 w = 0; w < ANCHOR_THREADS / 32; w++) {
        const CoarseSums other = shared.warps[w];
        if (w < warp) add.x += other.x, add.y += other.y, add.z += other.z, add.w += other.w;
        chunk_sums.x += other.x, chunk_sums.y += other.y, chunk_sums.z += other.z, chunk_sums.w += other.w;
    }
#pragma unroll
    for (u32 i = 0; i < ANCHORS_EACH; i++) {
        sums[i] = make_uint4(sums[i].x + add.x, sums[i].y + add.y, sums[i].z + add.z, sums[i].w + add.w);
        shared.rows[mine + i] = make_uint2(sums[i].z, sums[i].w);
    }
    __syncthreads();
    if (warp == 0) publish_chunk(scan, shared, chunk, tiles_x, chunk_sums);
    __syncthreads();
    const CoarseSums before = shared.before;
#pragma unroll
    for (u32 i = 0; i < ANCHORS_EACH; i++) {
        // Subtract the sums up to the first tile of the row, if it is in the chunk.
        const uint2 row =
            x[i] <= mine + i ? shared.rows[mine + i - x[i]] : make_uint2(0u - before.z, 0u - before.w);
        codes[i] =
            make_uint2(before.x + sums[i].x + sums[i].z - row.x, before.y + sums[i].y + sums[i].w - row.y);
    }
}
