// Sizes of buffers and widths of integers that the kernels rely on, each with its reason. Generates no code.
#pragma once
#include "predict/anchor_scan.cuh"
#include "compress/assemble.cuh"
#include "compress/cheap_bounds.cuh"
#include "compress/encode_lorenzo.cuh"
#include "decompress/decode.cuh"
#include "decompress/parse_tables.cuh"

namespace capacities {

// Numbers of tiles.

// Least bytes of workspace per tile: symbols, payload, masks, anchors.
constexpr u64 LEAST_TILE_BYTES = TILE_VERTICES + 8 * TILE_VERTICES + 256 + 8;
static_assert(
    LEAST_TILE_BYTES << 32 > 1ull << 45, "2^32 tiles would take 39 TB: numbers of tiles have 32 bits");
static_assert((LEAST_TILE_BYTES + TILE_WORD_BYTES_F32) << WEIGHT_AT > 1ull << 42,
    "2^28 limited tiles would take 5.8 TB: a number below the weight has 28 bits");
constexpr u64 MOST_TILES = 1ull << 32;

// Words of a tile.

// A symbol takes at most 12 bits, since no frequency is below 1 of 4096 (a Huffman code at most 11), and 8
// more after an escape. A state grows by no more: from x >= 2^16 on the rounding loss is below 2^-4 bit for
// frequencies that take 1 bit, and below 2^-15 for those that take 12. States of the tail, with LOW added,
// are no larger than those that started at LOW + 1.
constexpr u64 SYMBOL_BITS = SCALE_BITS + 8;
static_assert(MAX_LENGTH <= SCALE_BITS, "codes are no longer than symbols of the other coder");
// Raw bits of a vertex: both values, or codes that take no more; for an anchor also refinement bits, four for
// each of 8 refinements. (Codes of the Lorenzo predictor that take more are stored; the decoder refuses
// them.)
constexpr u64 raw_bits_of(u64 element_bytes) { return 16 * element_bytes; }
constexpr u64 REFINEMENT_BITS = 4 * (REFINEMENTS - 1);
static_assert(2 * (31 + 1) <= raw_bits_of(4), "the widest code is no longer than two floats");
// Entry of a mask: a block, and the run before it, below 128, with at most 5 raw bits. A hidden vertex makes
// at most two entries, of its own block and of the one below it, or of the one to the right in the first row;
// so two entries replace at least one vertex. No vertex is hidden by both masks.
constexpr u64 MASK_ENTRIES = 2 * TILE_VERTICES / 8, MASK_ENTRY_BITS = 2 * SYMBOL_BITS + 5;
static_assert(TILE_VERTICES / 8 - 1 < 1 << (5 + 2), "a run below 2^(n + 2) has n raw bits at most");
// Mask state, three activities, and the sizes of two masks and three lists.
constexpr u64 HEAD_BITS = 4 * SYMBOL_BITS + 2 * MASK_COUNT_BITS + 5 + 6 + 8;
// Tile with a symbol for every one of `vertices` vertices.
constexpr u64 bits_of(u64 vertices, u64 element_bytes, u64 besides) {
    const u64 vertex = SYMBOL_BITS + raw_bits_of(element_bytes),
              entry = MASK_ENTRY_BITS > vertex / 2 ? MASK_ENTRY_BITS - vertex / 2 : 0;
    return vertices * vertex + REFINEMENT_BITS + MASK_ENTRIES * entry + HEAD_BITS + besides;
}
// In words of 16 bits, one more for rounding.
constexpr u64 bytes_of(u64 bits) { return 2 * ((bits + 15) / 16 + 1); }

constexpr u64 most_tile_bytes(u64 element_bytes) {
    return bytes_of(bits_of(TILE_VERTICES, element_bytes, 0));
}
static_assert(MOST_STATE_BYTES + most_tile_bytes(4) <= TILE_WORD_BYTES_F32,
    "a group has as many slots as tiles: all words and the states fit in them");
static_assert(MOST_STATE_BYTES + most_tile_bytes(8) <= TILE_WORD_BYTES_F64, "likewise");
// Lorenzo rows: patterns are coded only if symbols cost less than 3/2 bits a vertex, 3 bits each plus raw
// bits: at most 512 symbols, and as many raw bits.
constexpr u64 PATTERN_BITS = (TILE_VERTICES / 8 + TILE / 8) * SYMBOL_BITS;
static_assert(bytes_of(TILE_VERTICES / 2 * SYMBOL_BITS + 3 * TILE_VERTICES / 2 + PATTERN_BITS +
                       MASK_ENTRIES * MASK_ENTRY_BITS + HEAD_BITS) <= most_tile_bytes(4),
    "tiles with patterns take less than those without");

// Lists: in a sparse block symbols cost less than a bit a vertex, 3 bits each plus raw bits.
constexpr u64 most_entries(u64 vertices) { return (vertices - 1) / 3; }
static_assert(1 + most_entries(64) + most_entries(192) + most_entries(768) <= MOST_ENTRIES,
    "the positions of all entries of a tile, and one before");
static_assert(most_entries(64) + most_entries(192) <= 255 && most_entries(768) <= 255,
    "sums of numbers of entries have a byte");
// For activity c the cost is below 2^c / 64 bits a vertex. (Fewer vertices have fewer entries.)
constexpr bool counts_fit() {
    for (u32 c = 1; c <= LAST_LIST_ACTIVITY; c++)
        for (u32 block = 0; block < 3; block++) {
            const u64 vertices = block == 0 ? 64 : block == 1 ? 192 : 768, cost = ((vertices << c) - 1) / 64;
            const u32 bits = block == 0 ? c - 1 : block == 1 ? c : c + 2;
            if (cost / 3 >= 1ull << bits) return false;
        }
    return true;
}
static_assert(counts_fit(), "the number of entries of a list fits what count_bits says");
// The words of a group are written from the end of its slots down, while list entries are read from the start
// of each tile's slot, four bytes times the position of their block on. When a list is read, words of later
// tiles and of later parts of this tile have been written, at most as many as for a tile with that list.
constexpr bool entries_stay(u64 element_bytes, u64 slot) {
    for (u64 list = COARSE_LIST; list < TILE_LISTS; list++) {
        const u64 start = 4ull << 2 * list, block = 12ull << 2 * list,
                  entries = most_entries(list == COARSE_LIST ? 64 : block);
        // Runs are below 1024: at most 8 raw bits.
        const u64 listed = entries * (2 * SYMBOL_BITS + 8) + (list == COARSE_LIST ? 64 : block);
        if (bytes_of(bits_of(TILE_VERTICES - block, element_bytes, listed)) + 4 * (start + entries) > slot)
            return false;
    }
    return true;
}
static_assert(entries_stay(4, TILE_WORD_BYTES_F32) && entries_stay(8, TILE_WORD_BYTES_F64),
    "no word is written over an entry that is still to be read");

// Batches and groups.

static_assert(BATCH * TILE_VERTICES < NO_LIST,
    "the first entry of a list has 16 bits and is not the mark behind the last one");
static_assert(raw_bits_of(8) / 16 - 1 + 1 <= MOST_PIECES && MOST_PIECES <= KIND_PIECES,
    "raw bits behind the first 16, and an escape");
static_assert(TILE_VERTICES / 8 <= 1 << (MASK_COUNT_BITS - 1) && TILE_VERTICES / 8 < 1 << MASK_COLUMNS_BIT,
    "entries of a mask: a block of eight vertices each at most, and a bit");
static_assert(TILE_VERTICES / 8 <= 1 << 8, "the run before an entry of a mask has the upper byte of it");
static_assert(8 + 10 + 5 + 9 == 32 && RUNS <= 32 && ALPHABET <= 256 && TILE_VERTICES <= 1024,
    "an entry of a list: symbol, position, run, 9 raw bits");
static_assert(
    256 * TILE_WORD_BYTES_F64 <= GROUP_BYTES_MASK, "the bytes of a group of 256 tiles have 24 bits");
static_assert(
    GROUP_BYTES_MASK / 2 < 1 << 23, "in twos they have 23 bits, below 8 for tiles and 33 for the first one");
static_assert(
    TILE_WEIGHT + TILE_VERTICES + 2 * MASK_ENTRIES < LEAST_GROUP_WEIGHT && LEAST_GROUP_WEIGHT < 1 << 16,
    "the weight of a tile has 16 bits, and a group has room for any tile");
static_assert(MOST_TILES * LEAST_GROUP_WEIGHT * GROUP_BYTES <= 1ull << 53,
    "the work of all tiles times the bytes of a group is exact as a double");
static_assert(((u64)WEIGHED_TILES * LEAST_GROUP_WEIGHT) >> 32 == 0,
    "the work of the tiles before one in its chunk has 32 bits");
static_assert(MOST_TILES * TILE_VERTICES <= (1ull << 63) >> WEIGHT_BITS,
    "a count times the scale of a table has 64 bits");
static_assert(
    MOST_TILES * TILE_VERTICES <= 1ull << 54, "counts of a table are added in two parts of 27 bits");
static_assert(MOST_TABLE_BITS + 1 < 1 << 16, "places of bits of a stored table have 16 bits");
static_assert(STORED_WORDS * 32 == MOST_TABLE_BITS &&
                  TABLE_SECTION_BYTES == 4 * LENGTH_WORDS + TABLES * 4 * STORED_WORDS,
    "each table has its place");
// Entry of a stored table: 5 bits, twice the bits of its gap, and the bits of its frequency. The sum is
// largest for n equal entries, since logarithms are concave (rounded up here).
constexpr u32 log2_up(u32 x) {
    u32 bits = 0;
    while (1u << bits < x) bits++;
    return bits;
}
constexpr bool tables_fit() {
    for (u32 n = 1; n <= ALPHABET; n++)
        if (8 + n * (5 + 2 * log2_up((ALPHABET + n - 1) / n) + log2_up((SCALE + n - 1) / n)) >
            MOST_TABLE_BITS)
            return false;
    return true;
}
static_assert(tables_fit(), "a stored table has no more than 255 words");
static_assert(ASSEMBLE_WARPS * 32 >= PARTS, "a thread for a part of the groups");

// Vertex bounds and lists.

static_assert(2 * TILE * TILE * sizeof(u32) <= 8 * TILE_VERTICES,
    "the list of hard triangles: all of a tile's in the place of its payload");
static_assert(2 * TILE * TILE % 32 == 0 && 2 * TILE * TILE / 32 <= 2 * TILE,
    "and a word for 32 of them in that of its masks");
static_assert(HARD_TILE_BITS + 11 == 32 && MOST_TILES >> HARD_TILE_BITS <= 1 << 27,
    "a triangle with its tile: the bits above are in that word");
static_assert(32 * SORT_WARPS < 1 << 16, "tiles of both kinds of a block are counted in 16 bits each");
static_assert(sizeof(BoundsShared<double>) <= 48 << 10 && sizeof(BoundsShared<float>) <= 48 << 10,
    "shared memory without asking for more");
static_assert(sizeof(AnchorSums) <= 48 << 10, "likewise");

}  // namespace capacities
