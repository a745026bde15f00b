// Weighs the tiles and divides them into groups of equal weight. Twin of groups in src/cpu/entropy.rs.
#pragma once
#include "compress/statistics/nearness.cuh"
#include "entropy/groups/lorenzo.cuh"
#include "entropy/lists.cuh"
#include "predict/lorenzo.cuh"

// Sizes of a tile's lists (coarse, middle, fine block, zero mask, fill mask), its weight, and the weight of
// the tiles before it in its chunk. In the memory of the nearness, which is no longer needed.
struct ListSizes {
    u16 blocks[3], masks[2], weight;
    u32 before;
    u64 first_tile;        // of the group with this index
    double largest_error;  // of layer 1, in the tile of a volume
};
static_assert(sizeof(ListSizes) <= sizeof(Nearness), "one takes the place of the other");
__device__ __forceinline__ ListSizes& sizes_of(const Job& job, u64 tile) {
    return CountView(job).lists()[tile];
}
// Writes all but `before`, in one store.
__device__ __forceinline__ void write_sizes(
    ListSizes& to, u32 coarse, u32 middle, u32 fine, const u32 (&masks)[2], u32 weight) {
    static_assert(
        offsetof(ListSizes, masks) == 6 && offsetof(ListSizes, weight) == 10 && sizeof(ListSizes) % 16 == 0,
        "in order");
    *reinterpret_cast<uint4*>(&to) =
        make_uint4(coarse | middle << 16, fine | masks[0] << 16, masks[1] | weight << 16, 0);
}

// One tile in this many is counted.
__device__ __forceinline__ u32 sample_step(const Job& job) {
    return job.predictor == PREDICTOR_LORENZO ? tiles_of_sample(job.tiles()) : 1;
}

// A block per table, then blocks that weigh tiles.
constexpr u32 TABLE_WARPS = TABLE_THREADS / 32, TABLE_BLOCKS = TABLES;
static_assert(TABLE_THREADS == ALPHABET, "a thread for a symbol");

// Weight of a tile, an estimate of its decoding work.
__device__ __forceinline__ u32 weight_of_tile(const Job& job, u64 tile) {
    if (job.predictor != PREDICTOR_LORENZO) return sizes_of(job, tile).weight;
    const u32 info = TileView(job).headers()[tile], states = mask_state_in(info);
    const u32 lists = (u32)has_mask_list(states, 0) + has_mask_list(states, 1),
              steps = has_codes(states) ? steps_of_activity(activity_in(info, 0)) : 0;
    return TILE_WEIGHT + MASK_LIST_WEIGHT * lists + STEP_WEIGHT * steps;
}

// By the blocks behind those of the tables; the last one to finish scans the chunks.
__device__ __forceinline__ void weigh_tiles(const Job& job, Control& control) {
    const CountView work(job);
    constexpr u32 EACH = WEIGHED_TILES / TABLE_THREADS;
    __shared__ u32 ticket;
    const u64 chunk = blockIdx.x - TABLE_BLOCKS, chunks = gridDim.x - TABLE_BLOCKS,
              first = chunk * WEIGHED_TILES + EACH * threadIdx.x;
    u32 weights[EACH], sum = 0;
#pragma unroll
    for (u32 i = 0; i < EACH; i++) weights[i] = first + i < job.tiles() ? weight_of_tile(job, first + i) : 0;
#pragma unroll
    for (u32 i = 0; i < EACH; i++) sum += weights[i];
    u64 all;
    u32 before = (u32)block_exclusive_sum(sum, all);
#pragma unroll
    for (u32 i = 0; i < EACH; i++) {
        if (first + i < job.tiles()) sizes_of(job, first + i).before = before;
        before += weights[i];
    }
    if (threadIdx.x == 0) {
        work.chunk_weights()[chunk] = all;
        __threadfence();
        ticket = atomicAdd(&control.tickets[TICKET_TABLES], 1);
    }
    __syncthreads();
    if (ticket != chunks - 1) return;
    __threadfence();
    u64 total = 0;
    for (u64 base = 0; base < chunks; base += TABLE_THREADS) {
        const u64 k = base + threadIdx.x;
        const u64 before_mine = block_exclusive_sum(k < chunks ? __ldcg(&work.chunk_weights()[k]) : 0, all);
        if (k < chunks) work.chunk_weights()[k] = total + before_mine;
        total += all;
    }
    if (threadIdx.x != 0) return;
    control.weight = total;
    control.weight_before_last = total - weight_of_tile(job, job.tiles() - 1);
}

// Weight of all tiles before one, with a term that keeps groups below 256 tiles.
__device__ __forceinline__ u64 weight_before(const Job& job, u32 group_weight, u32 tile) {
    return CountView(job).chunk_weights()[tile / WEIGHED_TILES] + sizes_of(job, tile).before +
           (u64)tile * (group_weight / 255 + 1);
}

// Quotient of integers below 2^53.
__device__ __forceinline__ u64 quotient(u64 a, u64 b) {
    // Rounding to nearest can exceed it by one, if it is an integer.
    const u64 q = (u64)((double)a / (double)b);
    return q * b > a ? q - 1 : q;
}

struct Grouping {
    u32 weight;  // at most, of the tiles of a group
    u64 groups;
};
// Divides the tiles into groups of equal weight. Every encoding block computes this itself, which is cheaper
// than waiting for one block.
__device__ __forceinline__ Grouping choose_groups(const Job& job) {
    const Control& control = control_of(job);
    const u64 cost = control.cost, raw_bits = control.raw_bits, all = control.weight,
              before_last = control.weight_before_last;
    // Scale the sample up to all tiles.
    const u64 bytes = ((cost >> 8) + raw_bits) / 8 * sample_step(job),
              usual = quotient(all * GROUP_BYTES, bytes ? bytes : 1), many = all / MANY_GROUPS,
              wanted = many < usual                    ? usual
                       : many < MOST_GROUP_KIB * usual ? many
                                                       : MOST_GROUP_KIB * usual;
    const u64 least = job.components == 3 ? LEAST_GROUP_WEIGHT_OF_VOLUMES : LEAST_GROUP_WEIGHT;
    Grouping g;
    g.weight = wanted < least ? (u32)least : wanted < MOST_GROUP_WEIGHT ? (u32)wanted : MOST_GROUP_WEIGHT;
    g.groups = quotient(before_last + (job.tiles() - 1) * (g.weight / 255 + 1), g.weight) + 1;
    return g;
}

// First tile of a group (lanes 0-15) and of the next group (lanes 16-31), or the number of tiles. A parallel
// search, PROBES places per lane: several if latency counts, one if there are so many groups that bandwidth
// does.
template <u32 PROBES>
__device__ __forceinline__ u32 first_tile_of(const Job& job, u32 group_weight, u64 group) {
    constexpr u32 ALL = 32 * PROBES;
    const u32 lane = threadIdx.x & 31;
    const u64 wanted = group * group_weight;
    // 32 bits suffice (capacities.cuh).
    u32 low[2] = {0, 0}, high[2] = {(u32)job.tiles(), (u32)job.tiles()};
    while (low[0] < high[0] || low[1] < high[1]) {
        // All lanes search for both, so that their loads overlap.
        u32 steps[2];
        bool before[2][PROBES];
#pragma unroll
        for (u32 i = 0; i < 2; i++) {
            steps[i] = high[i] - low[i] <= ALL ? 1 : (high[i] - low[i]) / (ALL + 1);
#pragma unroll
            for (u32 k = 0; k < PROBES; k++) {
                const u32 tile = low[i] + steps[i] * (32 * k + lane + 1) - 1;
                before[i][k] = tile < high[i] &&
                               weight_before(job, group_weight, tile) < wanted + (i ? group_weight : 0);
            }
        }
#pragma unroll
        for (u32 i = 0; i < 2; i++) {
            // Probe n is the first that is not before the boundary; all tiles up to probe n - 1 are.
            u32 n = 0;
#pragma unroll
            for (u32 k = 0; k < PROBES; k++) n += __popc(__ballot_sync(FULL, before[i][k]));
            const u32 above = low[i] + steps[i] * (n + 1) - 1;
            low[i] += steps[i] * n;
            if (n < ALL && above < high[i]) high[i] = above;
        }
    }
    return lane < 16 ? low[0] : low[1];
}
