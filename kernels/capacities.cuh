// Sizes of buffers and widths of integers that the kernels rely on, each with its reason. Generates no code.
#pragma once
#include "compress/assemble.cuh"
#include "compress/bounds/cheap_bounds.cuh"
#include "compress/encode/encode_lorenzo.cuh"
#include "decompress/anchor_values.cuh"
#include "decompress/decode.cuh"
#include "decompress/parse_tables.cuh"

namespace capacities {

// Numbers of tiles.

// Least bytes of workspace per tile: symbols, payload, masks, anchors. Compression has the payload in a slot.
constexpr u64 LEAST_TILE_BYTES = TILE_VERTICES + 8 * TILE_VERTICES + 256 + 8,
              SLOT_MORE_BYTES = TILE_SLOT_BYTES_F32 - 8 * TILE_VERTICES;
static_assert(
    LEAST_TILE_BYTES << 32 > 1ull << 45, "2^32 tiles would take 39 TB: numbers of tiles have 32 bits");
static_assert((LEAST_TILE_BYTES + SLOT_MORE_BYTES) << WEIGHT_AT > 3ull << 40,
    "2^28 bounded tiles would take 3.7 TB: a number below the weight has 28 bits");
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
// Two outer anchors, two integers each, whose bits have a size.
constexpr u64 OUTER_BYTES = bytes_of(2 * (OUTER_SIZE_BITS + 2 * 31));
static_assert(MOST_STATE_BYTES + OUTER_BYTES + most_tile_bytes(4) <= TILE_SLOT_BYTES_F32,
    "a group has as many slots as tiles: all words and the states fit in them");
static_assert(MOST_STATE_BYTES + OUTER_BYTES + most_tile_bytes(8) <= TILE_SLOT_BYTES_F64, "likewise");
// Lorenzo rows: patterns are coded only if symbols cost less than 3/2 bits a vertex, 3 bits each plus raw
// bits: at most 512 symbols, and as many raw bits.
constexpr u64 PATTERN_BITS = (TILE_VERTICES / 8 + TILE / 8) * SYMBOL_BITS;
static_assert(bytes_of(TILE_VERTICES / 2 * SYMBOL_BITS + 3 * TILE_VERTICES / 2 + PATTERN_BITS +
                       MASK_ENTRIES * MASK_ENTRY_BITS + HEAD_BITS) <= most_tile_bytes(4),
    "tiles with patterns take less than those without");

// Lists: in a sparse block symbols cost less than a bit a vertex, 3 bits each plus raw bits.
constexpr u64 most_entries(u64 vertices) { return (vertices - 1) / 3; }
static_assert(
    1 + most_entries(COARSE_VERTICES) + most_entries(MIDDLE_VERTICES) + most_entries(FINE_VERTICES) <=
        MOST_ENTRIES,
    "the positions of all entries of a tile, and one before");
static_assert(most_entries(COARSE_VERTICES) + most_entries(MIDDLE_VERTICES) <= 255 &&
                  most_entries(FINE_VERTICES) <= 255,
    "sums of numbers of entries have a byte");
// For activity c the cost is below 2^c / 64 bits a vertex. (Fewer vertices have fewer entries.)
constexpr bool counts_fit() {
    for (u32 c = 1; c <= LAST_LIST_ACTIVITY; c++)
        for (u32 block = 0; block < 3; block++) {
            const u64 vertices = block == 0   ? COARSE_VERTICES
                                 : block == 1 ? MIDDLE_VERTICES
                                              : FINE_VERTICES,
                      cost = ((vertices << c) - 1) / 64;
            const u32 bits = block == 0 ? c - 1 : block == 1 ? c : c + 2;
            if (cost / 3 >= 1ull << bits) return false;
        }
    return true;
}
static_assert(counts_fit(), "the number of entries of a list fits what count_bits says");
static_assert(most_entries(COARSE_VERTICES) <= FIRST_MIDDLE_ENTRY &&
                  FIRST_MIDDLE_ENTRY + most_entries(MIDDLE_VERTICES) <= FIRST_FINE_ENTRY,
    "the lists of a tile lie one behind the other");

// Slots.

static_assert(4 * FIRST_FINE_ENTRY <= SLOT_ENTRY_BYTES, "entries of coarse and middle lists");
template <typename T, u32 PREDICTOR>
constexpr u64 PAYLOAD_BYTES = TILE_VERTICES*(
    PREDICTOR == PREDICTOR_LORENZO ? sizeof(typename Payload<T>::Type) : sizeof(u64));
template <typename T, u32 PREDICTOR>
constexpr bool parts_fit() {
    constexpr u64 SLOT = SLOT_BYTES<T, PREDICTOR>;
    // Kernels write payload while others read bounds; their cache lines are apart.
    return SLOT % 128 == 0 && SLOT_ENTRY_BYTES % 128 == 0 && BOUND_BYTES<T> % 128 == 0 &&
           SLOT_ENTRY_BYTES + PAYLOAD_BYTES<T, PREDICTOR> + BOUND_BYTES<T> <= SLOT;
}
static_assert(parts_fit<float, PREDICTOR_HIERARCHICAL>() && parts_fit<double, PREDICTOR_HIERARCHICAL>() &&
                  parts_fit<float, PREDICTOR_LORENZO>() && parts_fit<double, PREDICTOR_LORENZO>(),
    "payload and bounds of a tile");

// The words of a group are written from the end of its slots down, while payload and list entries are read.
// When a vertex is read, at most these words are written: those of later tiles, which fit the later slots,
// and those of later vertices of the tile. (The masks and the heads of a batch come after all its vertices.)
// With the hierarchical predictor vertices come by position, the last one first: all of a dense block, of a
// sparse one as many as its list has, at worst at its end.
template <typename T>
constexpr bool positions_stay() {
    constexpr u64 SLOT = SLOT_BYTES<T, PREDICTOR_HIERARCHICAL>;
    // An entry of a list has a run besides, below 1024: at most 8 raw bits.
    constexpr u64 VERTEX = SYMBOL_BITS + raw_bits_of(sizeof(T)), ENTRY = VERTEX + SYMBOL_BITS + 8;
    u64 later = 0;
    for (u32 list = FINE_LIST;; list--) {
        const u64 start = list == TOP_LIST ? 0 : 4ull << 2 * list, end = 16ull << 2 * list,
                  most = list == TOP_LIST ? 0
                                          : most_entries(list == COARSE_LIST ? COARSE_VERTICES : end - start);
        // After n vertices the payload of the next one ends below the words, and so do the entries before it.
        for (u64 n = 0; n < end - start; n++)
            if (SLOT_ENTRY_BYTES + 8 * (end - n) + bytes_of(later + n * VERTEX) > SLOT ||
                (n < most && SLOT_ENTRY_BYTES + 8 * (end - n) + bytes_of(later + n * ENTRY) > SLOT))
                return false;
        // Entries of the fine list, which comes first, lie above.
        for (u64 n = 0; list == FINE_LIST && n < most; n++)
            if (place_of_entry<T>((u32)(FIRST_FINE_ENTRY + most - n)) + bytes_of(n * ENTRY) > SLOT)
                return false;
        if (list == TOP_LIST) return true;
        later += (end - start) * VERTEX;
        if (most * ENTRY > (end - start) * VERTEX) return false;
    }
}
static_assert(positions_stay<float>() && positions_stay<double>(),
    "no word is written over payload or an entry that is still to be read");
// With the Lorenzo predictor a step takes the last vertex that is left of each row. If all vertices are
// coded, the payload of four steps lies side by side, below that of the steps before. Otherwise a tile has
// few words, as PATTERN_BITS says.
template <typename T>
constexpr bool rows_stay() {
    constexpr u64 SLOT = SLOT_BYTES<T, PREDICTOR_LORENZO>, EACH = sizeof(typename Payload<T>::Type);
    for (u64 step = 0; step < TILE; step++)
        if (SLOT_ENTRY_BYTES + EACH * TILE * 4 * (step / 4 + 1) +
                bytes_of(TILE * (TILE - 1 - step) * (SYMBOL_BITS + raw_bits_of(sizeof(T)))) >
            SLOT)
            return false;
    return SLOT_ENTRY_BYTES + EACH * TILE_VERTICES +
               bytes_of(TILE_VERTICES / 2 * SYMBOL_BITS + 3 * TILE_VERTICES / 2) <=
           SLOT;
}
static_assert(rows_stay<float>() && rows_stay<double>(), "likewise");

// Volumes: no word is written over a code or a position that is still to be read, either. The cost of a
// sparse block, 3 bits and the raw bits of each entry, is below a bit a vertex. Runs between its entries have
// at most one raw bit for each four vertices.
constexpr bool runs_are_short() {
    for (u32 run = 0; run < VOLUME_TILE_VERTICES; run++) {
        u32 octave = 0;
        while (run >> octave > 1) octave++;
        if (run >= FIRST_RUN_WITH_RAW_BITS && 4 * (octave - 1) > run) return false;
    }
    return true;
}
static_assert(runs_are_short(), "as encode_run has them");
constexpr u64 bits_of_entries(u64 entries, u64 vertices) {
    return 2 * SYMBOL_BITS * entries + vertices - 3 * entries + (vertices - entries) / 4;
}
// The positions of the finest block lie behind the codes, and so do the words of all its entries: none is
// written over codes.
constexpr bool finest_positions_stay() {
    for (u64 n = 0; n <= most_entries(FINEST_POSITIONS); n++)
        if (VOLUME_CODE_BYTES + sizeof(u16) * n > VOLUME_SLOT_BYTES ||
            VOLUME_CODE_BYTES + bytes_of(bits_of_entries(n, FINEST_POSITIONS)) > VOLUME_SLOT_BYTES)
            return false;
    return true;
}
static_assert(finest_positions_stay() && 2 * SYMBOL_BITS > 8 * sizeof(u16),
    "words never reach unread positions: an entry adds more bits of words than its position has");
constexpr bool codes_stay() {
    constexpr u64 VERTEX = SYMBOL_BITS + 3 * (TRIPLE_MOST_BITS + 1), STARTS[] = {COARSE_POSITIONS, 64, 16, 0};
    u64 later = 0, end = VOLUME_TILE_VERTICES;
    for (const u64 start : STARTS) {
        // The cost of the first block, which ends at 64, is also that of the positions below 16.
        const u64 vertices = end - start, of_block = start == 16 ? end : vertices,
                  most = start && start < COARSE_POSITIONS ? most_entries(of_block) : 0;
        for (u64 n = 0; n < vertices; n++) {
            const u64 unread = (end - n + 31) / 32 * VOLUME_CODES_OF_32;
            if (unread + bytes_of(later + n * VERTEX) > VOLUME_SLOT_BYTES ||
                (n < most && unread + bytes_of(later + bits_of_entries(most, of_block)) > VOLUME_SLOT_BYTES))
                return false;
        }
        if (bits_of_entries(most_entries(of_block), of_block) > vertices * VERTEX) return false;
        later += vertices * VERTEX;
        end = start;
    }
    return true;
}
static_assert(codes_stay(), "words never reach unread codes of dense blocks and of coarse ones");
// A head of a tile: mask state, three activities, and the sizes of three lists.
static_assert(MOST_STATE_BYTES + bytes_of(VOLUME_TILE_VERTICES * (SYMBOL_BITS + 3 * (TRIPLE_MOST_BITS + 1)) +
                                          4 * SYMBOL_BITS + 3 * 12) <=
                  VOLUME_SLOT_BYTES,
    "all words and the states of a group fit in its slots");
static_assert(VOLUME_FIRST_MIDDLE_ENTRY >= most_entries(64) &&
                  VOLUME_COARSE_ENTRIES - VOLUME_FIRST_MIDDLE_ENTRY >= most_entries(COARSE_POSITIONS - 64),
    "the lists of the coarse blocks lie one behind the other");

// Batches and groups.

static_assert(BATCH * TILE_VERTICES < NO_LIST,
    "the first entry of a list has 16 bits and is not the mark behind the last one");
static_assert(raw_bits_of(8) <= 8 * 16, "a bit for each number of pieces in the upper byte of sixteens");
static_assert(TILE_VERTICES / 8 <= 1 << (MASK_COUNT_BITS - 1) && TILE_VERTICES / 8 < 1 << MASK_COLUMNS_BIT,
    "entries of a mask: a block of eight vertices each at most, and a bit");
static_assert(TILE_VERTICES / 8 <= 1 << 8, "the run before an entry of a mask has the upper byte of it");
static_assert(8 + 10 + 5 + 9 == 32 && RUNS <= 32 && ALPHABET <= 256 && TILE_VERTICES <= 1024,
    "an entry of a list: symbol, position, run, 9 raw bits");
static_assert(MAX_GROUP_TILES * TILE_SLOT_BYTES_F64_LORENZO <= GROUP_BYTES_MASK,
    "the bytes of a group of 256 tiles have 24 bits");
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

static_assert(
    2 * TILE * TILE <= ListsView::HARD_OF_SLOT && ListsView::HARD_OF_SLOT * sizeof(u32) <= 8 * TILE_VERTICES,
    "the list of hard triangles: as many as a tile has in the place of its payload");
static_assert(ListsView::HARD_OF_SLOT % 32 == 0 && ListsView::HARD_OF_SLOT / 32 <= 2 * TILE,
    "and a word for 32 of them in that of its masks");
static_assert(MOST_TILES >> HARD_TILE_BITS <= 1 << UPPER_TILE_BITS,
    "a triangle with its tile: the bits above are in that word");
static_assert(32 * SORT_WARPS < 1 << 16, "tiles of both kinds of a block are counted in 16 bits each");
static_assert(sizeof(BoundsShared<double>) <= 48 << 10 && sizeof(BoundsShared<float>) <= 48 << 10,
    "shared memory without asking for more");
static_assert(sizeof(GroupAnchors) * ANCHOR_WARPS <= 48 << 10, "likewise");

}  // namespace capacities
