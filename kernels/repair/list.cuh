// The list of repaired vertices. Twin of src/repair/list.rs; FORMAT.md, sections 10.4 and 11.5.
#pragma once
#include "repair/bits.cuh"
#include "repair/mesh.cuh"

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
template <i32 N>
struct ListedVertex {
    u64 position, data[N];
    u32 level;
};

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
template <i32 N>
__device__ __forceinline__ void read_data(BitReader& bits, u32 value_bits, ListedVertex<N>& listed) {
    if (N * listed.level <= 32) {
        const u32 all = bits.get(N * listed.level), mask = (1u << listed.level) - 1;
#pragma unroll
        for (u32 c = 0; c < N; c++) listed.data[c] = all >> c * listed.level & mask;
        return;
    }
#pragma unroll 1
    for (u32 c = 0; c < N; c++) {
        const u64 data = bits.get_wide(listed.level == LEVEL_EXACT ? value_bits : listed.level);
#pragma unroll
        for (u32 k = 0; k < N; k++)
            if (c == k) listed.data[k] = data;
    }
}

// Decodes a chunk of vertices with levels of their own by a warp: each lane's `vertex(listed)` gets some of
// them. `last` becomes the last position. False where the bytes are no chunk. The lanes read the same
// numbers.
template <i32 N, typename Vertex>
__device__ __forceinline__ bool decode_chunk(
    const ListEntry& entry, const u32* words, u32 value_bits, u64& last, Vertex vertex) {
    const u32 lane = threadIdx.x & 31, order = entry.gaps & ~LIST_RUNS;
    const bool has_runs = entry.gaps & LIST_RUNS;
    BitReader bits(words, entry.bytes / 4);
    u64 position = entry.first - 1, left = 0;  // vertices of a run behind this one
    ListedVertex<N> mine;
#pragma unroll 1
    for (u32 k = 0; k < entry.vertices; k++) {
        position++;
        if (left == 0) {
            if (k > 0) position += bits.golomb(order) + has_runs;
            left = has_runs ? bits.golomb(0) + 1 : 1;
            bits.is_good &= left <= entry.vertices - k && position < 1ull << 62;
        }
        left--;
        ListedVertex<N> listed;
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
