// The list of repaired vertices of a volume. Twin of src/repair/list.rs; FORMAT.md, sections 10.4 and 11.5.
#pragma once
#include "grid/volume_tiles.cuh"
#include "repair/bits.cuh"

// The entry of a chunk in the directory.
struct ListEntry {
    u64 first;  // position of its first vertex
    u32 bytes, vertices, gaps, levels;

    __device__ __forceinline__ explicit ListEntry(const u32* words)
        : first(words[0] | (u64)words[1] << 32), bytes(words[2]), vertices(words[3] & 0xffff),
          gaps(words[3] >> 16 & 255), levels(words[3] >> 24) {}
    // Whether all its vertices are zero, or filled.
    __device__ __forceinline__ bool is_constant() const {
        return levels == LIST_ALL_ZERO || levels == LIST_ALL_FILLED;
    }
    // Its place among the kinds: zero vertices, filled ones, others.
    __device__ __forceinline__ u32 kind() const {
        return levels == LIST_ALL_ZERO ? 0 : levels == LIST_ALL_FILLED ? 1 : 2;
    }
    // Whether it could be one.
    __device__ __forceinline__ bool is_good() const {
        return (gaps & ~LIST_RUNS) <= LIST_MOST_ORDER && (is_constant() || levels <= LIST_MOST_LEVEL_ORDER) &&
               vertices - 1 < (is_constant() ? LIST_CONSTANT_CHUNK : LIST_CHUNK) && bytes % 4 == 0;
    }
};

// A vertex of a list: its position, its level, and the cells or the bits of its components.
struct ListedVertex {
    u64 position, data[3];
    u32 level;
};

// The vertex at a position. False if the volume has none there.
__device__ __forceinline__ bool vertex_at_position(const Job& job, u64 position, u64 (&at)[3]) {
    const u64 index = position / VOLUME_TILE_VERTICES;
    if (index >= job.tiles()) return false;
    const VolumeTile tile = volume_tile(job, index);
    const u32 place = (u32)position % VOLUME_TILE_VERTICES;
    bool here = true;
#pragma unroll
    for (i32 axis = 0; axis < 3; axis++) {
        u32 local = 0;
#pragma unroll
        for (i32 bit = 0; bit < 4; bit++) local |= (place >> (3 * bit + axis) & 1) << bit;
        at[axis] = tile.first[axis] + local;
        here &= (i32)local < tile.owned(axis);
    }
    return here;
}

// Decodes a chunk of zero or of filled vertices: `run(position, count)` gets those that follow each other.
// `last` becomes the last position. False where the bytes are no chunk. The lanes of a warp read the same
// numbers.
template <typename Run>
__device__ __forceinline__ bool decode_constant_chunk(
    const ListEntry& entry, const u32* words, u64& last, Run run) {
    BitReader bits(words, entry.bytes / 4);
    const u32 order = entry.gaps & ~LIST_RUNS;
    const bool has_runs = entry.gaps & LIST_RUNS;
    u64 position = entry.first;
#pragma unroll 1
    for (u32 k = 0; k < entry.vertices;) {
        if (k > 0) position += bits.golomb(order) + (has_runs ? 2 : 1);
        const u64 length = has_runs ? bits.golomb(0) + 1 : 1;
        bits.is_good &= length <= entry.vertices - k && position < 1ull << 62;
        if (!bits.is_good || !bits.is_inside()) return false;
        run(position, (u32)length);
        position += length - 1;
        k += (u32)length;
    }
    last = position;
    return bits.is_at_end();
}

// The cells of a refinement, or the bits of an exact vertex.
__device__ __forceinline__ void read_data(BitReader& bits, u32 value_bits, ListedVertex& listed) {
    if (3 * listed.level <= 32) {
        const u32 all = bits.get(3 * listed.level), mask = (1u << listed.level) - 1;
#pragma unroll
        for (u32 c = 0; c < 3; c++) listed.data[c] = all >> c * listed.level & mask;
        return;
    }
#pragma unroll 1
    for (u32 c = 0; c < 3; c++) {
        const u64 data = bits.get_wide(listed.level == LEVEL_EXACT ? value_bits : listed.level);
        if (c == 0) listed.data[0] = data;
        if (c == 1) listed.data[1] = data;
        if (c == 2) listed.data[2] = data;
    }
}

// Decodes a chunk of vertices with levels of their own by a warp: each lane's `vertex(listed)` gets some of
// them. `last` becomes the last position. False where the bytes are no chunk. The lanes read the same
// numbers.
template <typename Vertex>
__device__ __forceinline__ bool decode_chunk(
    const ListEntry& entry, const u32* words, u32 value_bits, u64& last, Vertex vertex) {
    const u32 lane = threadIdx.x & 31, order = entry.gaps & ~LIST_RUNS;
    const bool has_runs = entry.gaps & LIST_RUNS;
    BitReader bits(words, entry.bytes / 4);
    u64 position = entry.first - 1, left = 0;  // vertices of a run behind this one
    ListedVertex mine;
#pragma unroll 1
    for (u32 k = 0; k < entry.vertices; k++) {
        position++;
        if (left == 0) {
            if (k > 0) position += bits.golomb(order) + has_runs;
            left = has_runs ? bits.golomb(0) + 1 : 1;
            bits.is_good &= left <= entry.vertices - k && position < 1ull << 62;
        }
        left--;
        ListedVertex listed;
        listed.position = position;
        const u64 level = bits.golomb(entry.levels);
        bits.is_good &= level < LEVEL_EXACT;
        listed.level = bits.is_good ? (u32)level + 1 : 1;
        read_data(bits, value_bits, listed);
        if (lane == (k & 31)) mine = listed;
        const bool is_last = k + 1 == entry.vertices;
        if ((k & 31) < 31 && !is_last) continue;
        if (!bits.is_good || !bits.is_inside()) return false;
        if (lane <= (k & 31)) vertex(mine);
    }
    last = position;
    return bits.is_at_end();
}
