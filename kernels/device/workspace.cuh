// Typed views of the workspace: for each phase of a call the regions that it reads and writes, under the name
// of what they hold in that phase. A region whose contents nobody needs any more is used again, so that one
// region has several names. No other file casts an address of the workspace.
#pragma once
#include "device/ptx.cuh"

struct Control;
struct Nearness;
struct ListSizes;
struct SeenCounts;
struct SeenFilled;
template <typename T>
struct Real;
template <typename T>
struct SeenRange;
template <typename T>
struct Payload;
template <typename T>
struct ReconstructTables;

// The slot of a tile. Until the tile is encoded it holds entries of the coarse and the middle list, the
// payload, and at its end the vertex bounds and later entries of the fine list. The words of a group are
// written over them, from the end of its last slot down. All is read in the same order, so that a word never
// comes to a place that is still to be read (capacities.cuh).
template <typename T, u32 PREDICTOR>
constexpr u64 SLOT_BYTES = sizeof(T) == 4                        ? TILE_SLOT_BYTES_F32
                           : PREDICTOR == PREDICTOR_HIERARCHICAL ? TILE_SLOT_BYTES_F64
                                                                 : TILE_SLOT_BYTES_F64_LORENZO;
template <typename T>
__device__ __forceinline__ u64 slot_bytes(const Job& job) {
    return job.predictor == PREDICTOR_LORENZO ? SLOT_BYTES<T, PREDICTOR_LORENZO>
                                              : SLOT_BYTES<T, PREDICTOR_HIERARCHICAL>;
}
// Bytes of the bounds at the end of a slot.
template <typename T>
constexpr u64 BOUND_BYTES = TILE_VERTICES * sizeof(T);

// Several symbols or words at once; the address must be aligned to their size.
template <typename Word>
__device__ __forceinline__ Word* words_at(u8* bytes) {
    return reinterpret_cast<Word*>(bytes);
}
template <typename Word>
__device__ __forceinline__ const Word* words_at(const u8* bytes) {
    return reinterpret_cast<const Word*>(bytes);
}

// A view is rebuilt from the kernel's arguments at each use, so that it occupies no register.
struct WorkspaceView {
    const Job& job;

    __device__ __forceinline__ explicit WorkspaceView(const Job& job) : job(job) {}
};
// The name of a region in a phase, the type of its elements, and the region.
#define REGION(Type, name, region) \
    __device__ __forceinline__ Type* name() const { return reinterpret_cast<Type*>(job.region); }

// The state of the call, in all phases.
struct ControlView : WorkspaceView {
    using WorkspaceView::WorkspaceView;
    REGION(Control, control, control)
    REGION(u64, words, control)  // to zero the control block
};

// A tile from the phase on that finds its header word and the rows of its masks.
struct TileView : WorkspaceView {
    using WorkspaceView::WorkspaceView;
    // [tiles]: info words (entropy/quantized_tile.cuh)
    REGION(u32, headers, tile_headers)
    REGION(u32, masks, masks)  // [tiles][2][32]: rows of zeros, rows of filled and nonfinite vertices
    // Of a tile: the rows of the zero mask (plane 0), then those of the fill mask (plane 1).
    __device__ __forceinline__ u32* masks_of(u64 tile) const { return masks() + tile * (2 * TILE); }
    __device__ __forceinline__ u32& mask_row(u64 tile, u32 plane, u32 y) const {
        return masks()[tile * (2 * TILE) + plane * TILE + y];
    }
    // Vertices of row y that a mask has.
    __device__ __forceinline__ u32 hidden_row(u64 tile, i32 y) const {
        const u32* const rows = masks_of(tile) + y;
        return rows[0] | rows[TILE];
    }
};

// ---------------------------------------------------------------- compression

// Begin: what is counted from zero on.
struct ClearedView : WorkspaceView {
    using WorkspaceView::WorkspaceView;
    REGION(u64, symbol_counts, symbol_counts)  // [TABLES][ALPHABET]; null in decompression
};
// Statistics: what the blocks of the kernel found, no more of them than tiles.
template <typename T>
struct StatisticsView : WorkspaceView {
    using WorkspaceView::WorkspaceView;
    REGION(SeenRange<T>, ranges, slots)  // [tiles], as are the next two, which lie behind
    __device__ __forceinline__ SeenCounts* counts() const {
        return reinterpret_cast<SeenCounts*>(ranges() + job.tiles());
    }
    __device__ __forceinline__ SeenFilled* filled() const {
        return reinterpret_cast<SeenFilled*>(counts() + job.tiles());
    }
};
// How near the tiles come to the origin, from the statistics to the quantization.
struct NearnessView : WorkspaceView {
    using WorkspaceView::WorkspaceView;
    REGION(Nearness, tiles, origin_distances)  // [tiles]
};

// Sort and vertex bounds: lists of tiles and triangles.
struct ListsView : TileView {
    using TileView::TileView;
    // [tiles]: the lists of all kinds (compress/bounds/tile_lists.cuh)
    REGION(u64, tile_lists, group_sizes)
    REGION(u64, bounded, group_offsets)  // [tiles]: all bounded tiles
    REGION(u8, near_cells, symbols)      // [tiles] of that list: which cells come near the origin
    // [slots][HARD_OF_SLOT]: triangles whose bounds take determinants, in the place of the payload
    static constexpr u32 HARD_OF_SLOT = 2 * TILE_VERTICES;
    template <typename T>
    __device__ __forceinline__ u32* hard_triangles(u64 first) const {
        return reinterpret_cast<u32*>(
                   job.slots + first / HARD_OF_SLOT * slot_bytes<T>(job) + SLOT_ENTRY_BYTES) +
               (u32)first % HARD_OF_SLOT;
    }
    // of 32 listed triangles where tiles are many: upper bits of their tile, number
    REGION(u32, hard_tiles, masks)
};
template <typename T>
struct BoundsView : WorkspaceView {
    using WorkspaceView::WorkspaceView;
    __device__ __forceinline__ T* vertex_bounds(u64 tile) const {
        return reinterpret_cast<T*>(job.slots + (tile + 1) * slot_bytes<T>(job) - BOUND_BYTES<T>);
    }
    // In their place in the speculative mode, [TILE]: bit x of word y is constrained vertex (x, y) of the
    // tile.
    __device__ __forceinline__ u32* constrained_rows(u64 tile) const {
        return reinterpret_cast<u32*>(vertex_bounds(tile));
    }
};
// Anchors: codes of u and v, refinement; later refinement bits in the last place.
struct AnchorCodesView : WorkspaceView {
    using WorkspaceView::WorkspaceView;
    REGION(int4, codes, anchor_codes)  // [tiles]
};
template <typename T>
struct AnchorsView : TileView {
    using TileView::TileView;
    REGION(typename Real<T>::Pair, anchors, anchors)  // [tiles]: values as they are restored
    REGION(int4, anchor_codes, anchor_codes)          // [tiles]
};

// Tiles of the hierarchical predictor: prediction and quantization.
template <typename T>
struct QuantizeView : TileView {
    using TileView::TileView;
    typedef typename Real<T>::Pair P;
    REGION(const P, anchors, anchors)          // [tiles]: values as they are restored
    REGION(int4, anchor_codes, anchor_codes)   // [tiles]
    REGION(const u64, bounded, group_offsets)  // [tiles]
    REGION(u8, symbols, symbols)               // [tiles][TILE_VERTICES]
    REGION(P, row_lines, row_lines)            // [tiles_y][nx]: values of the first row of each tile
    REGION(P, column_lines, column_lines)      // [tiles_x][tiles_y * TILE]: the first columns of tiles
    // [TILE_VERTICES] by position: raw bits behind a symbol
    __device__ __forceinline__ u64* payload(u64 tile) const {
        return words_at<u64>(job.slots + tile * SLOT_BYTES<T, PREDICTOR_HIERARCHICAL> + SLOT_ENTRY_BYTES);
    }
};
// Tiles of the Lorenzo predictor.
template <typename T>
struct LorenzoView : TileView {
    using TileView::TileView;
    typedef typename Payload<T>::Type Q;
    REGION(u8, symbols, symbols)  // [tiles][TILE_VERTICES]
    // [TILE_VERTICES]: raw bits behind a symbol, by payload_place (entropy/payload.cuh)
    __device__ __forceinline__ Q* payload(u64 tile) const {
        return words_at<Q>(job.slots + tile * SLOT_BYTES<T, PREDICTOR_LORENZO> + SLOT_ENTRY_BYTES);
    }
};

// Count and tables.
struct CountView : TileView {
    using TileView::TileView;
    REGION(u8, symbols, symbols)                // [tiles][TILE_VERTICES]
    REGION(u64, symbol_counts, symbol_counts)   // [TABLES][ALPHABET]
    REGION(ListSizes, lists, origin_distances)  // [tiles]: sizes of lists and weight, first tiles of groups
    // of WEIGHED_TILES tiles each, then of all tiles before each chunk
    REGION(u64, chunk_weights, group_offsets)
    REGION(uint2, code_entries, coding_tables)  // [CODE_ENTRIES]
    REGION(u8, table_lengths, stored_tables)    // [TABLES]: words of each stored table
    REGION(u32, stored_tables, stored_tables)   // [TABLES][STORED_WORDS], behind the lengths
};

// Encode and assemble.
struct EncodeView : CountView {
    using CountView::CountView;
    REGION(const i32, anchor_codes, anchor_codes)  // [tiles][4]
    REGION(u8, slots, slots)  // [tiles] of SLOT_BYTES: words of a group in the slots of its tiles
    REGION(u64, group_sizes, group_sizes)  // [groups]: words of the stream (stream/sections.cuh)
};

// Repair and lists. Vertices of a tile by place, x fastest; PLACES: vertices of a tile, SLOT_BYTES: its slot,
// which has the state of its repair from REPAIR_AT on.
template <u32 PLACES, u64 SLOT_BYTES, u64 REPAIR_AT>
struct RepairView : CountView {
    using CountView::CountView;
    REGION(u8, levels, levels)               // [tiles][PLACES] (LEVEL_EXACT ...)
    REGION(u32, marked_blocks, list_ranks)   // [tiles]: blocks of tiles with violated simplices
    REGION(u32, listed, listed)              // [tiles][PLACES / 32]: in the order of lists
    REGION(ulonglong2, chunks, chunks)       // [chunks]: entries of the directory
    REGION(u64, chunk_places, chunk_places)  // [chunks]: words of the list before each
    // [tiles]: listed vertices of a kind before a tile
    __device__ __forceinline__ u64* list_ranks(u32 kind) const { return job.list_ranks + kind * job.tiles(); }
    // [PLACES]: by cell of the tile a bit for each simplex that is violated, and CELL_IS_LISTED
    __device__ __forceinline__ u8* violated(u64 tile) const {
        return job.slots + tile * SLOT_BYTES + REPAIR_AT;
    }
    // A bit for each vertex of a tile that changed in a round without lists.
    __device__ __forceinline__ u32* changed(u64 tile) const { return words_at<u32>(violated(tile) + PLACES); }
    // The words of the lists of rounds that lie here; they go on over all tiles (repair/lists_of_rounds.cuh).
    static constexpr u32 ROUND_LIST_WORDS = (u32)(SLOT_BYTES - REPAIR_AT - PLACES) / 4 - PLACES / 32;
    __device__ __forceinline__ u32* round_lists(u64 tile) const { return changed(tile) + PLACES / 32; }
};
// The repair of a field with its tiles of so many vertices.
template <u32 PLACES>
using FieldRepairView = RepairView<PLACES, 2 * PLACES, 0>;

// The codes of a tile of a volume at the beginning of its slot: of 32 positions each the symbols, then the
// raw bits behind them.
constexpr u64 VOLUME_CODES_OF_32 = 32 * (sizeof(u8) + sizeof(u64)),
              VOLUME_CODE_BYTES = VOLUME_TILE_VERTICES / 32 * VOLUME_CODES_OF_32;

// Volumes: quantization, repair, lists. The state of the repair lies behind the codes until words are
// written.
template <typename T>
struct VolumeCodeView : RepairView<VOLUME_TILE_VERTICES, VOLUME_SLOT_BYTES, VOLUME_CODE_BYTES> {
    using RepairView<VOLUME_TILE_VERTICES, VOLUME_SLOT_BYTES, VOLUME_CODE_BYTES>::RepairView;
    // [tiles]: whether vertices of coarse levels have their original values in place of those of layer 1
    REGION(u32, exact_tiles, group_offsets)
    // Until vertices are listed: open cubes, [tiles * MOST_OPEN_CUBES], and tiles to verify as a whole,
    // [tiles]
    REGION(u32, open_cubes, listed)
    REGION(u32, open_tiles, list_ranks)
    static constexpr u32 MOST_OPEN_CUBES = VOLUME_TILE_VERTICES / 32;  // in a list, of a tile
    // Positions of the entries of the sparse list of a block: in a tile those of both coarse blocks, one
    // behind the other; those of the finest one in the place of the state of the repair.
    __device__ __forceinline__ u16* positions(u64 tile, u32 block) const {
        if (block == 2) return words_at<u16>(violated(tile));
        u16* const of_tile = job.positions + tile * VOLUME_COARSE_ENTRIES;
        return of_tile + (block == 0 ? 0 : VOLUME_FIRST_MIDDLE_ENTRY);
    }
    static constexpr u64 VALUES = sizeof(T) == 4 ? VOLUME_VALUES_F32 : VOLUME_VALUES_F64;
    // [tiles][3][VALUES]: of layer 1 (value_place)
    __device__ __forceinline__ T* values(u64 tile, u32 component) const {
        return reinterpret_cast<T*>(job.values) + (tile * 3 + component) * VALUES;
    }
    // The symbol at a position; those up to the next multiple of 32 follow.
    __device__ __forceinline__ u8* symbol(u64 tile, u32 position) const {
        return codes_of_32(tile, position / 32) + position % 32;
    }
    // The raw bits behind the symbol at a position.
    __device__ __forceinline__ u64& raw_bits(u64 tile, u32 position) const {
        return words_at<u64>(codes_of_32(tile, position / 32) + 32)[position % 32];
    }
    // A value of the coarse levels of a closed tile: index k in a window of these, and `at` in that of all
    // levels (tile/volume_window.cuh). Singles lie in the place of the codes of the finest level until there
    // are some, doubles in their place among the values of the closed tile.
    __device__ __forceinline__ T& coarse_value(u64 tile, u32 component, i32 k, i32 at) const {
        static_assert(VOLUME_CODE_BYTES / 8 + 3 * VOLUME_COARSE_VERTICES * sizeof(float) <= VOLUME_CODE_BYTES,
            "singles have room");
        if constexpr (sizeof(T) == 8) return values(tile, component)[at];
        T* const singles = words_at<T>(codes_of_32(tile, VOLUME_TILE_VERTICES / 8 / 32));
        return singles[component * VOLUME_COARSE_VERTICES + k];
    }

private:
    __device__ __forceinline__ u8* codes_of_32(u64 tile, u32 k) const {
        return job.slots + tile * VOLUME_SLOT_BYTES + k * VOLUME_CODES_OF_32;
    }
};

// ---------------------------------------------------------------- decompression

// Parse: the tables of the entropy decoder and where the groups are.
struct ParseView : WorkspaceView {
    using WorkspaceView::WorkspaceView;
    REGION(u32, tables, coding_tables)         // [TABLES][ALPHABET]: entries of rANS tables
    REGION(u8, slot_starts, slot_starts)       // [TABLES][ALPHABET]: where the search for a slot begins
    REGION(u16, huffman_codes, huffman_codes)  // [TABLES][CODES]: symbol | length << 8, by the next bits
    REGION(u64, group_offsets, group_offsets)  // [groups]: bytes of the stream before each
    REGION(u64, group_sizes, group_sizes)      // [groups]: GroupTiles (stream/sections.cuh)
};

// Decode and the sums of anchors.
template <typename T>
struct DecodeView : TileView {
    using TileView::TileView;
    typedef typename Real<T>::Pair P;
    typedef typename Payload<T>::Type Q;
    REGION(u8, symbols, symbols)       // [tiles][TILE_VERTICES], where `steps` says so
    REGION(u32, steps, written_steps)  // [tiles]: bit k: symbols 32 k to 32 k + 31 are written
    // [tiles][TILE_VERTICES]: raw bits behind a symbol; with the hierarchical predictor the residual of a
    // code that has some, except for anchors
    REGION(Q, raw, raw_bits)
    REGION(P, anchors, anchors)  // [tiles]: values; before that refinement bits in x
};
// Coarse codes of the outer anchors of groups (entropy/groups/outer.cuh).
struct OuterAnchorsView : WorkspaceView {
    using WorkspaceView::WorkspaceView;
    REGION(int4, codes, outer_anchors)  // [groups]: both components of one, then of the other
};
// Chunks of the list of repaired vertices. A list has a slot for each chunk, or for some that follow each
// other.
struct ListView : WorkspaceView {
    using WorkspaceView::WorkspaceView;
    REGION(ulonglong2, chunks, chunks)  // [slots]: offset in the stream, last position
};
// Volumes: symbols and raw bits of a tile by position, and the vertices without a code.
struct VolumeView : ListView {
    using ListView::ListView;
    REGION(u32, headers, tile_headers)
    REGION(u8, symbols, symbols)  // [tiles][VOLUME_TILE_VERTICES], of blocks with an activity
    REGION(u64, raw, raw_bits)    // [tiles][VOLUME_TILE_VERTICES]: raw bits behind a symbol that has some
    // [tiles][3][VOLUME_COARSE_VERTICES]: of the coarse levels of a closed tile, as in a window of these
    template <typename T>
    __device__ __forceinline__ T* coarse_values(u64 tile, i32 component) const {
        return reinterpret_cast<T*>(job.values) + (tile * 3 + component) * VOLUME_COARSE_VERTICES;
    }
    // [2][words]: a bit for each vertex that is zero, then for each that is filled
    REGION(u32, hidden, hidden)
    __device__ __forceinline__ u64 hidden_words() const { return (job.vertices() + 31) / 32; }
    __device__ __forceinline__ bool is_zero(u64 vertex) const {
        return hidden()[vertex / 32] >> vertex % 32 & 1;
    }
    __device__ __forceinline__ bool is_filled(u64 vertex) const {
        return hidden()[hidden_words() + vertex / 32] >> vertex % 32 & 1;
    }
};
// Reconstruct.
template <typename T>
struct ReconstructView : WorkspaceView {
    using WorkspaceView::WorkspaceView;
    typedef typename Real<T>::Pair P;
    typedef typename Payload<T>::Type Q;
    REGION(const u32, headers, tile_headers)
    REGION(const u32, masks, masks)
    REGION(const u8, symbols, symbols)
    REGION(const u32, steps, written_steps)
    REGION(const Q, raw, raw_bits)
    REGION(const P, anchors, anchors)

    // Tables that every tile needs, behind the control block proper.
    __device__ __forceinline__ ReconstructTables<T>* tables(u64 offset) const {
        return reinterpret_cast<ReconstructTables<T>*>(job.control + offset);
    }
};
#undef REGION
