// Encodes groups of tiles of a volume. Twin of src/entropy/groups/encode.rs.
#pragma once
#include "compress/encode/encode.cuh"
#include "volume/compress/count.cuh"

// Codes a batch of tiles by a warp, from its end to its beginning.
template <typename T, bool HUFFMAN>
struct VolumeBatchCoder {
    typedef Encoder<HUFFMAN> E;
    const Job& job;
    VolumeLists& lists;
    E& encoder;
    const u64 batch;

    // An entry of a lane. Twin of VolumeEntry.
    struct Entry {
        u64 tile;
        u32 list, activity, position, run;
        bool here, sparse;
    };
    // The list of an entry: the last one that begins at it or before.
    __device__ __forceinline__ i32 list_of(u32 entry, i32 count) const {
        i32 low = 0, high = count;
        while (high - low > 1) {
            const i32 middle = (low + high) / 2;
            if (lists.starts[middle] <= entry)
                low = middle;
            else
                high = middle;
        }
        return low;
    }
    __device__ __forceinline__ Entry entry_of(u32 k, u32 entries, i32 count) const {
        Entry entry = {batch, 0, 0, 0, 0, k < entries, false};
        if (!entry.here) return entry;
        const i32 list = list_of(k, count);
        const u32 name = lists.names[list], number = k - lists.starts[list];
        entry.list = list_in_tile(name);
        entry.tile = batch + tile_of_list(name);
        entry.activity = activity_of_list(name);
        entry.sparse = !is_dense(name);
        const u32 start = volume_list_start(entry.list);
        if (entry.sparse) {
            const u16* const positions =
                VolumeCodeView<T>(job).positions(entry.tile, entry.list - COARSE_LIST);
            entry.position = positions[number];
            entry.run = entry.position - (number ? positions[number - 1] + 1u : start);
        } else {
            entry.position = start + number;
            const VolumeTile tile = volume_tile(job, entry.tile);
            const VolumePosition at = place_of_position(entry.position);
            entry.here = at.x < tile.owned(0) && at.y < tile.owned(1) && at.z < tile.owned(2);
        }
        return entry;
    }
    // Codes the runs of 32 entries, those of sparse lists.
    __device__ __forceinline__ void code_runs(const Entry& entry) {
        const Run run = encode_run(entry.run);
        uint2 code = make_uint2(E::NOTHING, 0);
        if (entry.sparse) code = code_entries(job, RUN + entry.activity - 1)[run.symbol];
        u32 raw = entry.sparse ? raw_word(run.raw, run.bits) : 0;
        if (__any_sync(FULL, code.x & ENTRY_ESCAPES)) {
            encoder.raw(raw);
            raw = code.x & ENTRY_ESCAPES ? raw_word(run.symbol, 8) : 0;
        }
        encoder.code(raw, code.x, code.y);
    }
    __device__ __forceinline__ void code_chunk(const Entry& entry) {
        u32 symbol = SYMBOL_ZERO, bits = 0;
        u64 raw = 0;
        uint2 code = make_uint2(E::NOTHING, 0);
        if (entry.here) {
            const VolumeCodeView<T> work(job);
            symbol = *work.symbol(entry.tile, entry.position);
            code = code_entries(job, volume_table(entry.list, entry.activity, entry.position))[symbol];
            bits = triple_raw_bits(symbol);
            if (bits) raw = work.raw_bits(entry.tile, entry.position);
        }
        __syncwarp();
        if (__any_sync(FULL, bits > 0)) encoder.long_raw(bits, raw, [] { return 0ull; });
        if (__any_sync(FULL, code.x & ENTRY_ESCAPES)) encoder.escape(code.x, symbol);
        encoder.code(code.x, code.y);
        if (__any_sync(FULL, entry.sparse)) code_runs(entry);
    }
    // The numbers of entries of sparse lists, the activities, and the mask states.
    __device__ __forceinline__ void code_heads(u32 info, const u32 (&counts)[3], bool exists) {
#pragma unroll 1
        for (i32 k = 2; k >= 0; k--) {
            const u32 activity = activity_in(info, k), count = k == 0   ? counts[0]
                                                               : k == 1 ? counts[1]
                                                                        : counts[2];
            encoder.raw(exists && is_sparse(activity) ? raw_word(count, volume_count_bits(k, activity)) : 0);
        }
#pragma unroll 1
        for (i32 k = 2; k >= -1; k--) {
            const u32 symbol = k < 0 ? stream_mode(info) : activity_in(info, k);
            uint2 code = make_uint2(E::NOTHING, 0);
            if (exists) code = code_entries(job, k < 0 ? MASK_STATE : activity_table(info, k))[symbol];
            if (__any_sync(FULL, code.x & ENTRY_ESCAPES)) encoder.escape(code.x, symbol);
            encoder.code(code.x, code.y);
        }
    }
    __device__ __forceinline__ void run(u64 end) {
        const u32 lane = threadIdx.x & 31;
        const bool exists = batch + lane < end;
        const u32 info = exists ? TileView(job).headers()[batch + lane] : 0;
        u32 counts[3] = {0, 0, 0}, sizes[TILE_LISTS], names[TILE_LISTS];
        if (exists) {
            const ListSizes& of_tile = sizes_of(job, batch + lane);
#pragma unroll
            for (i32 k = 0; k < 3; k++) counts[k] = of_tile.blocks[k];
        }
        lists_of_tile(info, exists, counts, sizes, names);
        i32 count, all;
        concatenate_lists<TILE_LISTS>(lists, sizes, names, count, all);
        const u32 entries = warp_or((u32)all);
#pragma unroll 1
        for (u32 first = entries ? (entries - 1) & ~31u : 0; entries; first -= 32) {
            code_chunk(entry_of(first + lane, entries, count));
            if (first == 0) break;
        }
        code_heads(info, counts, exists);
    }
};

// Grid: any. Block: 32 * VOLUME_ENCODE_WARPS threads, a warp for a group. Static shared: lists. Reads: info,
// symbols, raw bits, positions and sizes of lists, coding entries. Writes: words, group sizes.
template <typename T, bool HUFFMAN>
__device__ __forceinline__ void encode_volume(const Job& job) {
    __shared__ VolumeLists lists[VOLUME_ENCODE_WARPS];
    if (is_stored_volume(control_of(job))) return;
    const Grouping chosen = choose_groups(job);
    if (blockIdx.x == 0 && threadIdx.x == 0) control_of(job).groups = chosen.groups;
    VolumeLists& mine = lists[warp_or(threadIdx.x >> 5)];
    encode_by_warps<VOLUME_SLOT_BYTES, false, VOLUME_ENCODE_WARPS, HUFFMAN>(
        job, chosen, [&](Encoder<HUFFMAN>& encoder, u64 batch, u64 end) {
            VolumeBatchCoder<T, HUFFMAN>{job, mine, encoder, batch}.run(end);
        });
}
