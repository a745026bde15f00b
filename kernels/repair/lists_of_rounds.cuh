// Lists of a round of repair: cells with violated simplices, and vertices that changed.
#pragma once
#include "repair/simplices.cuh"

// The most entries of a list. A build for tests has few, or none.
#ifndef FACTZ_MOST_ENTRIES
#define FACTZ_MOST_ENTRIES 0xffffffffu
#endif

// Cells of even and of odd rounds, and changed vertices.
enum RoundList : u32 { EVEN_CELLS, ODD_CELLS, CHANGED_VERTICES, ROUND_LISTS };

// Violated cells by their bytes in a word of cells, of which the highest bit is set. The place of the first
// one of such bytes, given the number of the word in the tile.
__device__ __forceinline__ u32 violated_bytes(u32 word) {
    return ((word & 0x01010101 * SIMPLICES_OF_CELL) + 0x7f7f7f7f) & 0x80808080;
}
__device__ __forceinline__ u32 place_of_byte(u32 word, u32 bytes) {
    return 4 * word + ((u32)__ffs((i32)bytes) - 1) / 8;
}

template <typename Of>
struct RoundLists {
    typedef typename Of::Mesh Mesh;
    static constexpr u32 WORDS = Of::View::ROUND_LIST_WORDS;  // of a tile
    const typename Of::View work;
    const u32 most;  // entries of a list

    __device__ __forceinline__ explicit RoundLists(const Job& job) : work(job), most(most_of(job)) {}
    // Without room for an entry it is left out.
    __device__ __forceinline__ void put(RoundList list, u32 k, const TilePlace& at) const {
        if (k < most) entry(list, k) = (u32)(at.tile * Mesh::PLACES + at.place);
    }
    __device__ __forceinline__ TilePlace get(RoundList list, u32 k) const {
        const u32 both = __ldcg(&entry(list, k));
        return {both / Mesh::PLACES, both % Mesh::PLACES};
    }

private:
    // An entry has the number of a tile and a place there, in 32 bits.
    static __device__ __forceinline__ u32 most_of(const Job& job) {
        static_assert(WORDS <= Mesh::PLACES, "numbers of words have 32 bits as well");
        const bool fits = job.tiles() <= (1ull << 32) / Mesh::PLACES - 1;
        return fits ? min((u32)(job.tiles() * WORDS / ROUND_LISTS), FACTZ_MOST_ENTRIES) : 0;
    }
    __device__ __forceinline__ u32& entry(RoundList list, u32 k) const {
        const u32 word = list * most + k;
        return work.round_lists(word / WORDS)[word % WORDS];
    }
};
