// Decodes the groups of a volume to symbols and raw bits by position. Twin of src/entropy/groups/decode.rs.
#pragma once
#include "decompress/decode_group.cuh"
#include "decompress/status.cuh"
#include "entropy/groups/decode.cuh"
#include "entropy/groups/volume_lists.cuh"

struct VolumeDecodeGroup {
    VolumeLists lists;
    GroupWords words;
};
template <bool HUFFMAN>
struct VolumeDecodeShared {
    DecodeTables<HUFFMAN> tables;
    VolumeDecodeGroup groups[VOLUME_DECODE_WARPS];
};

// An entry of a lane: its list, its tile, and its position, which in a sparse list follows from the runs.
struct VolumeEntry {
    bool here, sparse;
    u32 list, tile, activity, number;
};

// Decodes a group by a warp.
template <bool HUFFMAN>
struct VolumeGroupDecoder {
    const Job& job;
    const u8* const raw_bits;
    VolumeDecodeGroup& shared;
    Decoder<HUFFMAN>& decoder;
    bool bad;

    // The info word of the lane's tile, and the sizes of its sparse lists.
    __device__ __forceinline__ u32 read_head(bool exists, u32 (&counts)[3]) {
        const u32 mode = decoder.head_step(exists, MASK_STATE);
        bad |= warp_or(mode >= MASK_STATES * BOUND_SHIFTS || mode % MASK_STATES != 0) != 0;
        u32 info = info_of_mode(bad ? 0 : mode);
#pragma unroll 1
        for (i32 k = 0; k < 3 && !bad; k++) {
            const u32 activity = decoder.head_step(exists, activity_table(info, k));
            bad |= warp_or(activity >= ACTIVITIES) != 0;
            if (!bad) info = with_activity(info, activity, k);
        }
        if (bad) return 0;
#pragma unroll 1
        for (i32 k = 0; k < 3; k++) {
            const u32 activity = activity_in(info, k);
            counts[k] = decoder.raw(exists && is_sparse(activity) ? volume_count_bits(k, activity) : 0);
        }
        return info;
    }

    // Zeros for the symbols of the blocks with an activity.
    __device__ __forceinline__ void clear_symbols(u64 batch, u32 my_info, u32 tiles) {
        const u32 lane = threadIdx.x & 31;
        for (u32 t = 0; t < tiles; t++) {
            const u32 info = __shfl_sync(FULL, my_info, t);
            uint4* const to = words_at<uint4>(VolumeView(job).symbols() + (batch + t) * VOLUME_TILE_VERTICES);
            if (activity_in(info, 0) && lane < 4) to[lane] = make_uint4(0, 0, 0, 0);
            if (activity_in(info, 1) && lane >= 4) to[lane] = make_uint4(0, 0, 0, 0);
            if (activity_in(info, 2))
                for (u32 k = 32 + lane; k < VOLUME_TILE_VERTICES / 16; k += 32)
                    to[k] = make_uint4(0, 0, 0, 0);
        }
        __syncwarp();
    }

    // Lists the entries of a batch; answers how many there are.
    __device__ __forceinline__ i32 list_entries(u32 my_info, bool exists, const u32 (&counts)[3]) {
        u32 sizes[TILE_LISTS], names[TILE_LISTS];
        lists_of_tile(my_info, exists, counts, sizes, names);
        i32 lists, entries;
        concatenate_lists<TILE_LISTS>(shared.lists, sizes, names, lists, entries);
        return entries;
    }

    __device__ __forceinline__ VolumeEntry entry_of(i32 from, i32 entries, i32& current) {
        const i32 e = from + (i32)(threadIdx.x & 31);
        u32 begins;
        i32 next;
        const i32 list = list_of_entry(shared.lists, from, current, begins, next);
        VolumeEntry entry;
        entry.here = e < entries;
        const u32 name = entry.here ? shared.lists.names[list] : 0;
        entry.number = entry.here ? (u32)e - shared.lists.starts[list] : 0;
        entry.list = list_in_tile(name);
        entry.tile = tile_of_list(name);
        entry.activity = activity_of_list(name);
        entry.sparse = entry.here && !is_dense(name);
        return entry;
    }

    // Decodes 32 entries. `open`: the sum of runs in the list that continues in lane 0.
    __device__ __forceinline__ void read_chunk(u64 batch, const VolumeEntry& entry, i32& open) {
        u32 in_list = entry.number;
        if (__any_sync(FULL, entry.sparse)) {
            const u32 run = decoder.template runs<RUNS_OF_VOLUMES>(
                decoder.place_of(entry.sparse ? RUN + entry.activity - 1 : decoder.NO_TABLE));
            const i32 sum = sum_in_list(
                entry.sparse ? (i32)run + 1 : 0, __ballot_sync(FULL, entry.here && entry.number == 0), open);
            open = __shfl_sync(FULL, sum, 31);
            if (entry.sparse) in_list = (u32)sum - 1;
        } else {
            open = 0;
        }
        const u32 position = volume_list_start(entry.list) + in_list;
        const bool inside = position < volume_list_end(entry.list);
        bad |= __any_sync(FULL, entry.here && !inside) != 0;
        if (bad) return;
        const VolumePosition at = place_of_position(position);
        const VolumeTile tile = volume_tile(job, batch + entry.tile);
        const bool active =
            entry.here && at.x <= tile.last[0] && at.y <= tile.last[1] && at.z <= tile.last[2];
        bad |= __any_sync(FULL, entry.sparse && !active) != 0;
        if (bad) return;
        const u32 table = active ? volume_table(entry.list, entry.activity, position) : decoder.NO_TABLE;
        u32 symbol = decoder.step(decoder.place_of(table));
        if (!active) symbol = SYMBOL_ZERO;
        u32 bits = raw_bits[symbol];
        u64 raw = 0, high;
        if (__any_sync(FULL, bits > 0)) {
            if (__any_sync(FULL, bits == ESCAPE_BITS)) {
                decoder.resolve_escape(symbol);
                bits = symbol == ESCAPE ? 0 : raw_bits[symbol];
            }
            decoder.long_raw(bits, raw, high);
        }
        const u64 vertex = (batch + entry.tile) * VOLUME_TILE_VERTICES + position;
        if (symbol != SYMBOL_ZERO) VolumeView(job).symbols()[vertex] = (u8)symbol;
        if (bits > 0) VolumeView(job).raw()[vertex] = raw;
    }

    __device__ __forceinline__ void read_batch(u64 batch, u64 end) {
        const u32 lane = threadIdx.x & 31;
        const bool exists = batch + lane < end;
        u32 counts[3] = {0, 0, 0};
        const u32 info = read_head(exists, counts);
        if (bad) return;
        if (exists) VolumeView(job).headers()[batch + lane] = info;
        clear_symbols(batch, info, end - batch < BATCH ? (u32)(end - batch) : BATCH);
        const i32 entries = (i32)warp_or((u32)list_entries(info, exists, counts));
        i32 current = 0, open = 0;
#pragma unroll 1
        for (i32 from = 0; from < entries && !bad; from += 32)
            read_chunk(batch, entry_of(from, entries, current), open);
        __syncwarp();
    }
};

// Fills the tables that all groups of a block need. Call with a block.
template <bool HUFFMAN>
__device__ __forceinline__ void fill_volume_shared(const Job& job, VolumeDecodeShared<HUFFMAN>& shared) {
    if constexpr (!HUFFMAN) copy_decode_tables<32 * VOLUME_DECODE_WARPS>(job, shared.tables);
    for (u32 symbol = threadIdx.x; symbol < ALPHABET; symbol += blockDim.x)
        shared.tables.raw_bits[0][symbol] = symbol == ESCAPE ? (u8)ESCAPE_BITS : (u8)triple_raw_bits(symbol);
    __syncthreads();
}

// Grid: any. Block: 32 * VOLUME_DECODE_WARPS threads; a warp per group. Dynamic shared: VolumeDecodeShared.
// Reads: stream, decoding tables, group offsets and sizes. Writes: symbols of blocks with an activity, raw
// bits, header words. Does nothing for streams of the other coder.
template <typename T, bool HUFFMAN>
__device__ __forceinline__ void decode_volume(const Job& job) {
    LAUNCHED_SHARED(VolumeDecodeShared<HUFFMAN>, shared);
    Control& control = control_of(job);
    const u32 first_group = (u32)control.first_group, groups = warp_or((u32)control.end_group - first_group);
    // Other blocks may set the status meanwhile: all threads continue, or none.
    if (warp_or(__syncthreads_or(
            !is_coded(control) | (control.coder ^ (HUFFMAN ? CODER_HUFFMAN : CODER_ANS)) != 0)))
        return;
    fill_volume_shared(job, shared);
    const u32 warp = warp_or(threadIdx.x >> 5), stride = gridDim.x * VOLUME_DECODE_WARPS;
    VolumeDecodeGroup& mine = shared.groups[warp];
    for (u32 group = blockIdx.x + gridDim.x * warp; group < groups;) {
        u64 first, end;
        tiles_of_group(job, first_group + group, first, end);
        Decoder<HUFFMAN> decoder;
        const bool good = decoder.open(job, shared.tables, mine.words, first_group + group);
        VolumeGroupDecoder<HUFFMAN> reader = {job, shared.tables.raw_bits[0], mine, decoder, !good};
        for (u64 batch = first; batch < end && !reader.bad; batch += BATCH) reader.read_batch(batch, end);
        if (reader.bad || !decoder.is_at_end()) {
            if ((threadIdx.x & 31) == 0) fail(control, STATUS_CORRUPT_STREAM);
        }
        group = warp_or((threadIdx.x & 31) == 0 ? next_group(job, groups, stride) : 0);
    }
}
