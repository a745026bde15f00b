//! The table of all kernel launches of all calls, in the order of execution. The library launches from it,
//! and kernels/factz.cu is generated from it (generated.rs). The request alone decides which of them run.

use super::constants::*;
use super::launch::{kernel, Call, Launch, Needs, Phase, Shape, Small, Waits};
use super::shared_memory::{
    COUNT_LORENZO_SHARED_BYTES, COUNT_SHARED_BYTES, DECODE_HUFFMAN_SHARED_BYTES, DECODE_RANS_SHARED_BYTES,
    DECODE_VOLUME_HUFFMAN_SHARED_BYTES, DECODE_VOLUME_RANS_SHARED_BYTES, ENCODE_LORENZO_SHARED_BYTES,
    ENCODE_SHARED_BYTES, ENCODE_SMALL_SHARED_BYTES, QUANTIZE_VOLUME_SHARED_BYTES,
    QUANTIZE_VOLUME_SMALL_SHARED_BYTES, VOLUME_SHARED_BYTES, VOLUME_SMALL_SHARED_BYTES,
};
use crate::error::Result;
use crate::predict::interpolation::INTERPOLANTS;
use crate::predict::tuning::{samples, SCALINGS};
use crate::request::{Coder, Predictor};
use crate::stream::header::{TABLES, VOLUME_HEADER_BYTES};

mod fixes;
use fixes::*;

mod phase {
    use super::{Call::*, Phase};
    pub const STATISTICS: Phase = (Compress, "statistics");
    pub const BOUNDS: Phase = (Compress, "bounds");
    pub const QUANTIZE: Phase = (Compress, "predict + quantize");
    pub const COUNT: Phase = (Compress, "count");
    pub const TABLES: Phase = (Compress, "tables");
    pub const ENCODE: Phase = (Compress, "encode");
    pub const ASSEMBLE: Phase = (Compress, "assemble");
    pub const PARSE: Phase = (Decompress, "parse");
    pub const DECODE: Phase = (Decompress, "decode");
    pub const RECONSTRUCT: Phase = (Decompress, "reconstruct");
    pub const STATISTICS_OF_VOLUME: Phase = (CompressVolume, "statistics");
    pub const QUANTIZE_VOLUME: Phase = (CompressVolume, "predict + quantize");
    pub const REPAIR_VOLUME: Phase = (CompressVolume, "repair");
    pub const COUNT_VOLUME: Phase = (CompressVolume, "count");
    pub const ENCODE_VOLUME: Phase = (CompressVolume, "encode");
    pub const ASSEMBLE_VOLUME: Phase = (CompressVolume, "assemble");
    pub const PARSE_VOLUME: Phase = (DecompressVolume, "parse");
    pub const DECODE_VOLUME: Phase = (DecompressVolume, "decode");
    pub const RECONSTRUCT_VOLUME: Phase = (DecompressVolume, "reconstruct");
}

/// Regions of the workspace that hold different contents in different phases: pairs of a content and its
/// region (kernels/device/workspace.cuh). A region is used again when no later kernel needs its content. A
/// name in the table of launches that is not listed here is that of a region with a single content.
#[cfg(test)]
pub(super) const CONTENTS: [(&str, &str); 29] = [
    // Compression.
    ("nearness", "origin_distances"),
    ("list_sizes", "origin_distances"),
    ("seen", "slots"),
    ("vertex_bounds", "slots"),
    ("constrained_rows", "slots"),
    ("hard_triangles", "slots"),
    ("payload", "slots"),
    ("list_entries", "slots"),
    ("group_words", "slots"),
    ("hard_tiles", "masks"),
    ("masks", "masks"),
    ("near_cells", "symbols"),
    ("symbols", "symbols"),
    ("bounded_tiles", "group_offsets"),
    ("chunk_weights", "group_offsets"),
    ("tile_lists", "group_sizes"),
    ("code_entries", "coding_tables"),
    // Decompression.
    ("decoding_tables", "coding_tables"),
    ("group_tiles", "group_sizes"),
    ("outer_anchors", "outer_anchors"),
    // Compression of volumes.
    ("positions", "violated"),
    ("violated", "violated"),
    ("violated_tiles", "group_sizes"),
    ("changed_tiles", "group_offsets"),
    ("touched_tiles", "list_ranks"),
    ("list_ranks", "list_ranks"),
    ("changed", "slots"),
    ("entries", "chunks"),
    ("levels", "levels"),
];

const HIERARCHICAL: fn(&Needs) -> bool = |n| matches!(n.predictor, Predictor::Hierarchical);
const BOUNDS: fn(&Needs) -> bool = |n| HIERARCHICAL(n) && !n.signatures;
const SIGNATURES: fn(&Needs) -> bool = |n| HIERARCHICAL(n) && n.signatures;
const LORENZO: fn(&Needs) -> bool = |n| matches!(n.predictor, Predictor::Lorenzo);
const HUFFMAN: fn(&Needs) -> bool = |n| matches!(n.coder, Coder::Huffman);
const RANS: fn(&Needs) -> bool = |n| matches!(n.coder, Coder::Ans);

/// Largest number of words of a stream before the words of its groups. `parse` distributes both over blocks.
const MOST_FIRST_WORDS: u64 = (VOLUME_HEADER_BYTES as u64 + TABLE_SECTION_BYTES) / 4;
/// A block for each table, one for the header, and blocks for the groups with two words a thread. The last
/// block sums the words of all groups before its part, so that more blocks than multiprocessors would make it
/// slower: their number is limited, but not to fewer than 16 for the groups.
const PARSE_BLOCKS: fn(&Shape, usize) -> u64 = |s, _| {
    let others = TABLES as u64 + 1;
    let parts = (s.tiles + MOST_FIRST_WORDS).div_ceil(2 * PARSE_THREADS as u64);
    others + parts.min(s.blocks_each(1).saturating_sub(others).max(16))
};

/// Shared memory that `tune` requests and does not use. With it a multiprocessor divides its memory between
/// shared memory and L1 cache as for `cheap_bounds`, whose blocks can then start beside those of `tune`.
const TUNE_SHARED_BYTES: u32 = 18000;

const FEW_BLOCKS: fn(&Shape, usize) -> u64 = |s, _| s.strips().min(MOST_FEW_STRIPS as u64);
const MANY_BLOCKS: fn(&Shape, usize) -> u64 =
    |s, _| s.strips().div_ceil(STATISTICS_WARPS as u64).min(MOST_STATISTICS_BLOCKS as u64);
const LATTICE_LINE_BLOCKS: fn(&Shape, usize) -> u64 = |s, _| s.tiles.div_ceil(8).min(s.blocks_each(16));
const TABLE_BLOCKS: fn(&Shape, usize) -> u64 = |s, _| TABLES as u64 + s.tiles.div_ceil(WEIGHED_TILES as u64);

const fn warps(n: i32) -> [u32; 2] {
    [32 * n as u32; 2]
}

pub(super) const COUNT: usize = 126;

use Call::{Compare, CriticalPoints};

const fn statistics(name: &'static str, few: bool, filled: bool) -> Launch {
    let (grid, block) = if few { (FEW_BLOCKS, STRIP_PARTS) } else { (MANY_BLOCKS, STATISTICS_WARPS) };
    let resident = if few && !filled { 8 } else { 6 };
    kernel(phase::STATISTICS, name, warps(block as i32), [resident, 4])
        .grid(grid)
        .data("field", "control symbol_counts nearness seen")
        .work("vertices once or twice; few strips: a strip a block, many: strips / 32768 a warp")
        .waits(Waits::Inside)
        .in_order()
}

const UNCONSTRAINED: Launch = kernel(
    phase::QUANTIZE,
    "unconstrained_tiles",
    [32 * UNCONSTRAINED_WARPS_F32 as u32, 32 * UNCONSTRAINED_WARPS_F64 as u32],
    [5, 9],
)
.grid(|s, t| s.tiles.div_ceil([2 * UNCONSTRAINED_WARPS_F32, 2 * UNCONSTRAINED_WARPS_F64][t] as u64))
.data(
    "field control tile_lists anchors anchor_codes",
    "control symbols payload tile_headers anchor_codes row_lines",
)
.work("tiles once; two tiles a warp, and 14 words for the last coded anchor")
.waits(Waits::Overlaps);

/// Reads of the kernels for tiles of the speculative mode with constrained vertices off the lattice lines.
const SPECULATIVE_TILES_READ: &str =
    "field control tile_lists anchors anchor_codes constrained_rows symbols row_lines \
     column_lines";

/// Interior tiles with vertex bounds.
const fn bounded_tiles(name: &'static str) -> Launch {
    let block = [32 * CONSTRAINED_WARPS_F32 as u32, 32 * CONSTRAINED_WARPS_F64 as u32];
    kernel(phase::QUANTIZE, name, block, [8, 8])
        .grid(|s, t| {
            let tiles = [2 * CONSTRAINED_WARPS_F32, 2 * CONSTRAINED_WARPS_F64][t] as u64;
            s.tiles.div_ceil(tiles).min(s.blocks_each([48, 32][t]))
        })
        .work("listed tiles once; their number / the warps of the grid")
        .waits(Waits::Overlaps)
}

const CONSTRAINED: Launch = bounded_tiles("constrained_tiles").data(
    // The lattice lines and their symbols in the speculative mode.
    "field control tile_lists anchors anchor_codes vertex_bounds nearness symbols row_lines \
     column_lines",
    "control symbols payload tile_headers anchor_codes",
);

/// Tiles of the speculative mode, a warp each.
const fn speculative_tiles(name: &'static str, resident: u32) -> Launch {
    kernel(phase::QUANTIZE, name, warps(SPECULATIVE_WARPS), [resident, 1])
        .grid(|s, _| s.tiles.div_ceil(SPECULATIVE_WARPS as u64).min(s.blocks_each(64)))
        .work("listed tiles once; their number / the warps of the grid")
        .only(SIGNATURES)
}

const TILES_WITH_MASKS_WRITE: &str = "control symbols payload masks tile_headers anchor_codes";

/// Reads of the kernels for tiles with vertex bounds, in the mode without lattice lines.
const BOUNDED_TILES_READ: &str = "field control tile_lists anchors anchor_codes vertex_bounds nearness";

const RECONSTRUCT_LORENZO: Launch =
    kernel(phase::RECONSTRUCT, "reconstruct_lorenzo", warps(LORENZO_RECONSTRUCT_WARPS), [3, 2])
        .grid(|s, _| s.tiles.div_ceil(4 * LORENZO_RECONSTRUCT_WARPS as u64))
        .data("control tile_headers written_steps symbols raw_bits masks", "field")
        .work("tiles once; four tiles a warp");

const RECONSTRUCT_BORDER: Launch =
    kernel(phase::RECONSTRUCT, "reconstruct_border", warps(RECONSTRUCT_BORDER_WARPS), [0; 2])
        .grid(|s, _| s.tiles.div_ceil(16).max(s.ends_of_planes()).min(s.blocks_each(128)))
        .data("control stream tile_headers written_steps symbols raw_bits masks anchors", "field report")
        .work("tiles once; N / the blocks of the grid")
        .waits(Waits::Inside);

const fn tables(name: &'static str, function: &'static str) -> Launch {
    kernel(phase::TABLES, name, [TABLE_THREADS; 2], [1; 2])
        .grid(TABLE_BLOCKS)
        .function(function)
        .data(
            "control symbol_counts list_sizes tile_headers",
            "control code_entries stored_tables chunk_weights list_sizes",
        )
        .work("50 tables, weights of tiles; N / 1024 sums, 256 at a time, by the last block")
        .waits(Waits::Inside)
}

const fn encode(name: &'static str, function: &'static str) -> Launch {
    let small = Small {
        grid: |s, _| s.tiles.min(s.blocks_each(4)),
        block: 32 * (ENCODE_GROUPS_SMALL * ENCODE_ROLES) as u32,
        resident: 1,
        shared_bytes: ENCODE_SMALL_SHARED_BYTES,
    };
    let block = warps(ENCODE_GROUPS_LARGE * ENCODE_ROLES);
    let large = kernel(phase::ENCODE, name, block, [2; 2])
        .grid(|s, _| s.tiles.min(s.blocks_each(2)))
        .function(function);
    Launch { small: Some(small), shared_bytes: ENCODE_SHARED_BYTES, ..large }
        .data(
            "field control tile_headers symbols payload list_entries list_sizes masks anchor_codes \
         code_entries chunk_weights",
            "control group_words group_sizes list_sizes",
        )
        .work("tiles once, 5 searches a group; groups / the warps of the grid")
        .waits(Waits::Inside)
}

const fn encode_lorenzo(name: &'static str, function: &'static str) -> Launch {
    kernel(phase::ENCODE, name, warps(ROW_CODE_WARPS), [2; 2])
        .grid(|s, _| s.tiles.min(s.blocks_each(2)))
        .function(function)
        .shared(ENCODE_LORENZO_SHARED_BYTES)
        .small(1)
        .data(
            "control tile_headers symbols payload masks code_entries list_sizes chunk_weights",
            "control group_words group_sizes list_sizes",
        )
        .work("tiles once, 5 searches a group; groups / the warps of the grid")
        .waits(Waits::Inside)
}

const BEGIN: Launch = kernel(phase::PARSE, "begin", [256; 2], [0; 2])
    .grid(|_, _| 3)
    .function("begin_call<T>")
    .data("", "control")
    .work("N / 512 states; their number / the threads of the grid")
    .in_order();

const CHECK: Launch = kernel(phase::PARSE, "check", [256; 2], [0; 2])
    .grid(|s, _| s.stream_bytes.div_ceil(8192).clamp(1, s.blocks_each(4)))
    .function("check_stream<T>")
    .data("stream control", "control")
    .work("the stream once; S / the threads of the grid")
    .waits(Waits::Inside);

const fn decode(
    name: &'static str,
    function: &'static str,
    reads: &'static str,
    shared_bytes: u32,
) -> Launch {
    const BLOCK: i32 = DECODE_GROUPS * DECODE_ROLES;
    kernel(phase::DECODE, name, warps(BLOCK), [4; 2])
        .grid(|s, _| s.tiles.min(s.blocks_each(4)))
        .function(function)
        .shared(shared_bytes)
        .small(1)
        .data(reads, "control symbols written_steps raw_bits masks tile_headers anchors outer_anchors")
        .work("groups once, 256 tiles each; groups / the groups of the grid, a bad one ends at once")
        .waits(Waits::Overlaps)
}

const RECONSTRUCT_VOLUME: Launch = {
    let small = Small {
        grid: |s, _| s.tiles,
        block: VOLUME_THREADS,
        resident: 1,
        shared_bytes: VOLUME_SMALL_SHARED_BYTES,
    };
    let large = kernel(phase::RECONSTRUCT_VOLUME, "reconstruct_volume", [VOLUME_THREADS; 2], [3; 2])
        .grid(|s, _| s.tiles)
        .shared(VOLUME_SHARED_BYTES);
    Launch { small: Some(small), ..large }
        .data("control stream tile_headers symbols raw_bits hidden", "field")
        .work("tiles once, a block each")
};

const fn decode_volume(
    name: &'static str,
    function: &'static str,
    reads: &'static str,
    shared_bytes: u32,
) -> Launch {
    kernel(phase::DECODE_VOLUME, name, warps(VOLUME_DECODE_WARPS), [4; 2])
        .grid(|s, _| s.tiles.min(s.blocks_each(4)))
        .function(function)
        .shared(shared_bytes)
        .small(1)
        .data(reads, "control symbols raw_bits tile_headers")
        .work("groups once, 256 tiles each; groups / the groups of the grid, a bad one ends at once")
}

const PLACE_CHUNKS: Launch = kernel(phase::PARSE_VOLUME, "place_chunks", [LIST_THREADS; 2], [1; 2])
    .data("stream control", "control chunks")
    .work("an entry for each chunk; all chunks, 1024 at a time");

/// Options of the tuning of a volume.
const VOLUME_OPTIONS: u64 = 4;

/// A kernel with a block for each tile of a volume.
const fn tiles_of_volume(phase: Phase, name: &'static str, resident: [u32; 2]) -> Launch {
    kernel(phase, name, [VOLUME_THREADS; 2], resident).grid(|s, _| s.tiles)
}

const fn encode_volume(name: &'static str, function: &'static str) -> Launch {
    kernel(phase::ENCODE_VOLUME, name, warps(VOLUME_ENCODE_WARPS), [4; 2])
        .grid(|s, _| s.tiles.div_ceil(VOLUME_ENCODE_WARPS as u64).min(s.blocks_each(4)))
        .function(function)
        .data(
            "control tile_headers symbols payload positions list_sizes code_entries chunk_weights",
            "control group_words group_sizes list_sizes",
        )
        .work("tiles once, 5 searches a group; groups / the warps of the grid")
}

/// The launches. Dependences between tiles decide which kernels may overlap. With vertex bounds (`BOUNDS`) a
/// tile depends on anchors alone. With signatures (`SIGNATURES`) a bounded tile also depends on the lattice
/// lines around it. A tile of the Lorenzo predictor depends on no other tile.
///
/// Decompression: the host does not read the header of the stream. It expects the predictor of the request
/// and launches the kernels of that predictor first; if the stream has the other one, a slower kernel later
/// in the table does the work.
pub(super) static LAUNCHES: [Launch; COUNT] = [
    statistics("few_statistics", true, false).only(|n| n.few_strips && !n.has_fill),
    statistics("statistics", false, false).only(|n| !n.few_strips && !n.has_fill),
    statistics("few_filled_statistics", true, true).only(|n| n.few_strips && n.has_fill),
    statistics("filled_statistics", false, true).only(|n| !n.few_strips && n.has_fill),
    kernel(phase::BOUNDS, "sort", warps(SORT_WARPS as i32), [2; 2])
        .grid(|s, _| 1 + s.tiles.div_ceil(32 * SORT_WARPS as u64))
        .function("sort_tiles<T>")
        .data(
            "field control nearness seen",
            "control tile_lists bounded_tiles near_cells tile_headers nearness",
        )
        .work("tiles; results of 8192 blocks, 512 at a time, by each block"),
    kernel(phase::QUANTIZE, "tune", warps(TUNE_WARPS), [0; 2])
        .grid(|s, _| samples(s.tiles) * (SCALINGS * INTERPOLANTS) as u64)
        .shared(TUNE_SHARED_BYTES)
        .data("field control", "control")
        .work("9 to 24 tiles, 12 times; a tile a block")
        .only(HIERARCHICAL)
        .in_order(),
    kernel(phase::BOUNDS, "cheap_bounds", [64; 2], [16, 8])
        .grid(|s, _| s.tiles.min(s.blocks_each(128)))
        .data(
            "field control bounded_tiles near_cells",
            "control vertex_bounds hard_triangles hard_tiles tile_headers nearness",
        )
        .work("listed tiles once; their number / the blocks of the grid")
        .waits(Waits::Overlaps)
        .only(|n| !SIGNATURES(n)),
    kernel(phase::BOUNDS, "constrained_vertices", warps(CONSTRAINED_VERTEX_WARPS), [8, 4])
        .grid(|s, _| s.tiles.div_ceil(CONSTRAINED_VERTEX_WARPS as u64).min(s.blocks_each(64)))
        .data("field control bounded_tiles near_cells", "control constrained_rows tile_headers nearness")
        .work("listed tiles once; their number / the warps of the grid")
        .waits(Waits::Overlaps)
        .only(SIGNATURES),
    kernel(phase::BOUNDS, "determinant_bounds", warps(BOUND_WARPS), [5, 4])
        .grid(|s, _| s.tiles.div_ceil(4).min(s.blocks_each(5)))
        .data(
            "field control hard_triangles hard_tiles bounded_tiles nearness",
            "control vertex_bounds tile_lists",
        )
        .work("listed triangles once; their number / the warps of the grid")
        .only(|n| !SIGNATURES(n)),
    kernel(phase::BOUNDS, "list_tiles", [128; 2], [0; 2])
        .grid(|s, _| s.tiles.div_ceil(128).min(s.blocks_each(1)))
        .data("control bounded_tiles nearness", "control tile_lists")
        .work("listed tiles once; their number / the threads of the grid")
        .only(SIGNATURES),
    kernel(phase::QUANTIZE, "anchors", [128; 2], [5, 4])
        .grid(|s, _| s.tiles.div_ceil(128))
        .data("field control tile_headers vertex_bounds constrained_rows", "control anchors anchor_codes")
        .work("tiles once; an anchor a thread")
        .waits(Waits::Inside)
        .only(HIERARCHICAL),
    UNCONSTRAINED.only(BOUNDS).in_order(),
    CONSTRAINED.only(BOUNDS),
    bounded_tiles("masked_tiles").data(BOUNDED_TILES_READ, TILES_WITH_MASKS_WRITE).only(BOUNDS),
    kernel(phase::QUANTIZE, "border_tiles", warps(BORDER_WARPS), [10, 1])
        .grid(|s, _| s.tiles.min(s.blocks_each(64)))
        .function("border_tiles_with_bounds<T>")
        .data(BOUNDED_TILES_READ, TILES_WITH_MASKS_WRITE)
        .work("listed tiles once; their number / the blocks of the grid")
        .waits(Waits::Overlaps)
        .only(BOUNDS),
    kernel(phase::QUANTIZE, "row_lines", [128; 2], [4, 0])
        .grid(LATTICE_LINE_BLOCKS)
        .function("lattice_lines<T, true>")
        .data(
            "field control bounded_tiles anchors constrained_rows nearness",
            "control row_lines symbols payload",
        )
        .work("listed tiles once; their number / the half warps of the grid")
        .only(SIGNATURES)
        .in_order(),
    UNCONSTRAINED.only(SIGNATURES),
    kernel(phase::QUANTIZE, "column_lines", [128; 2], [4, 0])
        .grid(LATTICE_LINE_BLOCKS)
        .function("lattice_lines<T, false>")
        .data(
            "field control bounded_tiles anchors constrained_rows nearness row_lines",
            "control column_lines symbols payload",
        )
        .work("listed tiles once; their number / the half warps of the grid")
        .only(SIGNATURES),
    speculative_tiles("speculative_border", 8)
        .data(SPECULATIVE_TILES_READ, TILES_WITH_MASKS_WRITE)
        .in_order(),
    speculative_tiles("speculative_masked", 8)
        .data(SPECULATIVE_TILES_READ, TILES_WITH_MASKS_WRITE)
        .waits(Waits::Overlaps),
    speculative_tiles("speculative_interior", 10)
        .data(SPECULATIVE_TILES_READ, "control symbols payload tile_headers anchor_codes")
        .waits(Waits::Overlaps),
    CONSTRAINED.only(SIGNATURES),
    kernel(phase::QUANTIZE, "lorenzo_constrained", warps(LORENZO_INTERIOR_WARPS), [6, 3])
        .grid(|s, _| s.tiles.div_ceil(4 * LORENZO_INTERIOR_WARPS as u64))
        .data("field control tile_lists vertex_bounds nearness", "control symbols payload tile_headers")
        .work("listed tiles once; four tiles a warp")
        .waits(Waits::Overlaps)
        .only(LORENZO)
        .in_order(),
    kernel(phase::QUANTIZE, "lorenzo_border", warps(LORENZO_BORDER_WARPS), [5, 3])
        .grid(|s, _| s.tiles.div_ceil(4).min(s.blocks_each(16)))
        .data("field control tile_lists vertex_bounds nearness", "control symbols payload masks tile_headers")
        .work("listed tiles once; their number / the warps of the grid")
        .waits(Waits::Overlaps)
        .only(LORENZO),
    kernel(phase::QUANTIZE, "lorenzo_unconstrained", warps(LORENZO_INTERIOR_WARPS), [7, 4])
        .grid(|s, _| s.tiles.div_ceil(4 * LORENZO_INTERIOR_WARPS as u64))
        .data("field control tile_lists", "control symbols payload tile_headers")
        .work("tiles once; four tiles a warp")
        .waits(Waits::Overlaps)
        .only(LORENZO),
    kernel(phase::QUANTIZE, "seam", [SEAM_THREADS; 2], [0; 2])
        .grid(|s, _| s.seam_blocks())
        .data("field control", "control")
        .work("cells of the seams once; their number / the threads of the grid")
        .only(|n| n.has_seam)
        .in_order(),
    kernel(phase::COUNT, "count", warps(COUNT_WARPS), [3; 2])
        .grid(|s, _| s.tiles.div_ceil(16).min(s.blocks_each(3)))
        .function("count_symbols<T>")
        .shared(COUNT_SHARED_BYTES)
        .small(2)
        .data("tile_headers symbols masks", "symbols list_entries list_sizes symbol_counts")
        .work("tiles once; N / the warps of the grid")
        .waits(Waits::Inside)
        .only(HIERARCHICAL),
    kernel(phase::COUNT, "count_lorenzo", warps(ROW_COUNT_WARPS), [3; 2])
        .grid(|s, _| s.tiles.div_ceil(16).min(s.blocks_each(1)))
        .shared(COUNT_LORENZO_SHARED_BYTES)
        .small(2)
        .data("tile_headers symbols masks", "symbol_counts")
        .work("tiles once; N / the warps of the grid")
        .waits(Waits::Inside)
        .only(LORENZO),
    tables("rans_tables", "tables<T, false>").only(RANS),
    tables("huffman_tables", "tables<T, true>").only(HUFFMAN),
    encode("encode_rans", "encode_groups<T, false>").only(|n| RANS(n) && HIERARCHICAL(n)),
    encode("encode_huffman", "encode_groups<T, true>").only(|n| HUFFMAN(n) && HIERARCHICAL(n)),
    encode_lorenzo("encode_lorenzo_rans", "encode_lorenzo_groups<T, false>").only(|n| RANS(n) && LORENZO(n)),
    encode_lorenzo("encode_lorenzo_huffman", "encode_lorenzo_groups<T, true>")
        .only(|n| HUFFMAN(n) && LORENZO(n)),
    kernel(phase::ASSEMBLE, "assemble", warps(ASSEMBLE_WARPS as i32), [3; 2])
        .grid(|s, _| s.tiles.min(PARTS as u64))
        .data("field control group_sizes group_words list_sizes stored_tables", "control stream report")
        .work("the stream once; a 384th of the groups, 512 at a time")
        .waits(Waits::Inside),
    BEGIN,
    kernel(phase::PARSE, "parse", [PARSE_THREADS; 2], [1; 2])
        .grid(PARSE_BLOCKS)
        .function("parse_stream<T>")
        .data("stream", "control decoding_tables slot_starts huffman_codes group_offsets group_tiles")
        .work("tables, 40 times the groups' words; the words of all groups, 16384 at a time")
        .waits(Waits::Inside),
    CHECK,
    decode(
        "decode_rans",
        "decode<T, false>",
        "stream control decoding_tables slot_starts group_offsets group_tiles",
        DECODE_RANS_SHARED_BYTES,
    ),
    decode(
        "decode_huffman",
        "decode<T, true>",
        "stream control huffman_codes group_offsets group_tiles",
        DECODE_HUFFMAN_SHARED_BYTES,
    ),
    RECONSTRUCT_LORENZO.only(LORENZO),
    kernel(phase::RECONSTRUCT, "anchor_values", [32 * ANCHOR_WARPS; 2], [0; 2])
        .grid(|s, _| s.tiles.div_ceil(ANCHOR_WARPS as u64).min(s.blocks_each(16)))
        .data("control group_tiles tile_headers symbols raw_bits masks anchors outer_anchors", "anchors")
        .work("tiles once; a warp for a group, 32 tiles at a time")
        .waits(Waits::Inside),
    RECONSTRUCT_BORDER.only(HIERARCHICAL),
    // Mostly without work.
    Launch { grid: |s, _| s.tiles.div_ceil(16).min(s.blocks_each(8)), ..RECONSTRUCT_BORDER }.only(LORENZO),
    kernel(phase::RECONSTRUCT, "reconstruct", warps(RECONSTRUCT_WARPS), [14, 1])
        .grid(|s, _| s.tiles.div_ceil(2 * RECONSTRUCT_WARPS as u64))
        .data("control tile_headers written_steps symbols raw_bits masks anchors", "field report")
        .work("tiles once; two tiles a warp")
        .waits(Waits::Overlaps)
        .only(HIERARCHICAL),
    // Mostly without work.
    Launch {
        name: "reconstruct_other_lorenzo",
        grid: |s, _| s.tiles.div_ceil(4 * LORENZO_RECONSTRUCT_WARPS as u64).min(s.blocks_each(4)),
        waits: Waits::Inside,
        work: "tiles once; N / the warps of the grid",
        ..RECONSTRUCT_LORENZO
    }
    .only(HIERARCHICAL),
    kernel(phase::STATISTICS_OF_VOLUME, "begin_compression", [256; 2], [0; 2])
        .grid(|_, _| 8)
        .data("", "control symbol_counts")
        .work("counters once")
        .in_order(),
    kernel(phase::STATISTICS_OF_VOLUME, "volume_statistics", [256; 2], [4; 2])
        .grid(|s, _| s.tiles.min(s.blocks_each(8)))
        .data("field", "control")
        .work("vertices once; rows / the warps of the grid"),
    tiles_of_volume(phase::STATISTICS_OF_VOLUME, "prepare_tiles", [4; 2])
        .data("field control", "levels tile_headers")
        .work("vertices once; a tile a block"),
    kernel(phase::QUANTIZE_VOLUME, "tune_volume", [VOLUME_THREADS; 2], [2; 2])
        .grid(|s, t| s.volume_samples() * [VOLUME_OPTIONS, 1][t])
        .shared(QUANTIZE_VOLUME_SHARED_BYTES)
        .small_shared(QUANTIZE_VOLUME_SMALL_SHARED_BYTES)
        .data("field control levels", "control values")
        .work("4 to 24 tiles, 4 times; a tile a block, of f64 4 times"),
    tiles_of_volume(phase::QUANTIZE_VOLUME, "quantize_volume", [3, 2])
        .shared(QUANTIZE_VOLUME_SHARED_BYTES)
        .small_shared(QUANTIZE_VOLUME_SMALL_SHARED_BYTES)
        .data(
            "field control levels tile_headers",
            "levels tile_headers symbols payload values list_sizes changed_tiles",
        )
        .work("closed tiles once; a tile a block"),
    tiles_of_volume(phase::REPAIR_VOLUME, "keep_border", [2; 2])
        .data("field control levels tile_headers values", "levels")
        .work("vertices on sides with ghosts, 24 tetrahedra each; a tile a block")
        .only(|n| n.keeps_points && n.has_halo),
    tiles_of_volume(phase::REPAIR_VOLUME, "verify", [2; 2])
        .data(
            "field control levels tile_headers values changed_tiles",
            "control violated violated_tiles changed_tiles changed",
        )
        .work("tetrahedra once; those of a tile a block")
        .only(|n| n.keeps_points),
    kernel(phase::REPAIR_VOLUME, "repair", [REPAIR_THREADS; 2], [4; 2])
        .grid(|s, _| s.blocks_each(4))
        .data(
            "field control levels tile_headers values violated violated_tiles changed_tiles changed",
            "control levels violated violated_tiles changed_tiles changed touched_tiles",
        )
        .work("rounds, 192 at most but for one doubling of the tiles each: violated tetrahedra and those around \
               changed vertices; a share of their tiles")
        .together()
        .only(|n| n.keeps_points),
    tiles_of_volume(phase::COUNT_VOLUME, "list_vertices", [4; 2])
        .data("field control levels tile_headers values list_sizes", "control listed list_ranks")
        .work("vertices once; a tile a block"),
    kernel(phase::COUNT_VOLUME, "rank_vertices", [LIST_THREADS; 2], [1; 2])
        .data("control list_ranks", "control list_ranks")
        .work("tiles once; all, 1024 at a time"),
    kernel(phase::COUNT_VOLUME, "plan_chunks", warps(LIST_WARPS as i32), [0; 2])
        .grid(|s, _| s.list_blocks())
        .data("control levels listed list_ranks", "entries")
        .work("listed vertices once; chunks / the warps of the grid"),
    kernel(phase::COUNT_VOLUME, "place_list", [LIST_THREADS; 2], [1; 2])
        .data("control entries", "control chunk_places")
        .work("chunks once; all, 1024 at a time"),
    kernel(phase::COUNT_VOLUME, "count_volume", warps(VOLUME_COUNT_WARPS as i32), [4; 2])
        .grid(|s, _| s.tiles.div_ceil(VOLUME_COUNT_WARPS as u64).min(s.blocks_each(8)))
        .data("control tile_headers symbols", "positions list_sizes symbol_counts")
        .work("tiles once; N / the warps of the grid"),
    tables("rans_tables", "tables<T, false>").of(Call::CompressVolume).only(RANS),
    tables("huffman_tables", "tables<T, true>").of(Call::CompressVolume).only(HUFFMAN),
    encode_volume("encode_volume_rans", "encode_volume<T, false>").only(RANS),
    encode_volume("encode_volume_huffman", "encode_volume<T, true>").only(HUFFMAN),
    kernel(phase::ASSEMBLE_VOLUME, "assemble_volume", warps(ASSEMBLE_WARPS as i32), [3; 2])
        .grid(|s, _| s.tiles.min(PARTS as u64))
        .data("field control group_sizes group_words list_sizes stored_tables", "control stream report")
        .work("the stream once; a 384th of the groups, 512 at a time")
        .waits(Waits::Inside),
    kernel(phase::ASSEMBLE_VOLUME, "write_list", warps(LIST_WARPS as i32), [0; 2])
        .grid(|s, _| s.list_blocks())
        .data(
            "field control report levels tile_headers values listed list_ranks entries chunk_places",
            "control stream",
        )
        .work("listed vertices once; chunks / the warps of the grid"),
    kernel(phase::PARSE_VOLUME, "begin_volume", [256; 2], [0; 2])
        .grid(|s, _| s.tiles.min(s.blocks_each(8)))
        .data("", "control hidden")
        .work("a bit for each vertex, twice; those / the threads of the grid")
        .in_order(),
    kernel(phase::PARSE_VOLUME, "parse_volume", [PARSE_THREADS; 2], [1; 2])
        .grid(PARSE_BLOCKS)
        .data("stream", "control decoding_tables slot_starts huffman_codes group_offsets group_tiles")
        .work("tables, 40 times the groups' words; the words of all groups, 16384 at a time"),
    CHECK.of(Call::DecompressVolume),
    PLACE_CHUNKS,
    kernel(phase::PARSE_VOLUME, "mark_chunks", warps(LIST_WARPS as i32), [0; 2])
        .grid(|s, _| s.list_blocks())
        .data("stream control chunks", "control hidden chunks")
        .work("chunks once, a warp each; their number / the warps of the grid, of 16384 vertices"),
    decode_volume(
        "decode_volume_rans",
        "decode_volume<T, false>",
        "stream control decoding_tables slot_starts group_offsets group_tiles",
        DECODE_VOLUME_RANS_SHARED_BYTES,
    ),
    decode_volume(
        "decode_volume_huffman",
        "decode_volume<T, true>",
        "stream control huffman_codes group_offsets group_tiles",
        DECODE_VOLUME_HUFFMAN_SHARED_BYTES,
    ),
    RECONSTRUCT_VOLUME,
    kernel(phase::RECONSTRUCT_VOLUME, "put_chunks", warps(LIST_WARPS as i32), [0; 2])
        .grid(|s, _| s.list_blocks())
        .data("stream control chunks hidden tile_headers field", "control chunks field report")
        .work("chunks once, a warp each; their number / the warps of the grid, of 512 vertices"),
    BEGIN.of(Call::Protect),
    FIND_BOUND.of(Call::Protect).only(|n| n.relative),
    survey(Call::Protect, "survey_planes", "survey<T, Triangles>"),
    keep_border_of(Call::Protect, "keep_planes_border", "keep_border_of<T, Triangles>"),
    verify_reconstruction(Call::Protect, "verify_planes", "verify_reconstruction<T, Triangles>"),
    repair_reconstruction(Call::Protect, "repair_planes", "repair_reconstruction<T, Triangles>"),
    list_repaired(Call::Protect, "list_planes", "list_repaired<T, Triangles>"),
    RANK_REPAIRED.of(Call::Protect),
    plan_repaired(Call::Protect, "plan_planes", "plan_repaired<T, Triangles>"),
    PLACE_REPAIRED.of(Call::Protect),
    write_fix(Call::Protect, "write_planes_fix", "write_fix<T, Triangles>"),
    BEGIN.of(Call::ProtectVolume),
    FIND_BOUND.of(Call::ProtectVolume).only(|n| n.relative),
    survey(Call::ProtectVolume, "survey_volume", "survey<T, Tetrahedra>"),
    keep_border_of(Call::ProtectVolume, "keep_volume_border", "keep_border_of<T, Tetrahedra>"),
    verify_reconstruction(Call::ProtectVolume, "verify_volume", "verify_reconstruction<T, Tetrahedra>"),
    repair_reconstruction(Call::ProtectVolume, "repair_volume", "repair_reconstruction<T, Tetrahedra>"),
    list_repaired(Call::ProtectVolume, "list_volume", "list_repaired<T, Tetrahedra>"),
    RANK_REPAIRED.of(Call::ProtectVolume),
    plan_repaired(Call::ProtectVolume, "plan_volume", "plan_repaired<T, Tetrahedra>"),
    PLACE_REPAIRED.of(Call::ProtectVolume),
    write_fix(Call::ProtectVolume, "write_volume_fix", "write_fix<T, Tetrahedra>"),
    BEGIN.of(Call::Apply),
    PARSE_FIX.of(Call::Apply),
    CHECK.of(Call::Apply),
    SUM_VALUES.of(Call::Apply),
    PLACE_CHUNKS.of(Call::Apply),
    check_chunks(Call::Apply, "check_planes_fix", "check_chunks<T, Triangles>"),
    put_levels(Call::Apply, "put_planes_levels", "put_levels<T, Triangles>"),
    put_zeros(Call::Apply, "put_planes_zeros", "put_zeros<T, Triangles>"),
    BEGIN.of(Call::ApplyVolume),
    PARSE_FIX.of(Call::ApplyVolume),
    CHECK.of(Call::ApplyVolume),
    SUM_VALUES.of(Call::ApplyVolume),
    PLACE_CHUNKS.of(Call::ApplyVolume),
    check_chunks(Call::ApplyVolume, "check_volume_fix", "check_chunks<T, Tetrahedra>"),
    put_levels(Call::ApplyVolume, "put_volume_levels", "put_levels<T, Tetrahedra>"),
    put_zeros(Call::ApplyVolume, "put_volume_zeros", "put_zeros<T, Tetrahedra>"),
    FIND_RANGE.only(|n| !n.is_stack),
    FIND_RANGE_STACK.only(|n| n.is_stack),
    analysis(Call::Range, "range_end", "analysis::range_end<T>", |_, _| 1, 32, 1)
        .data("counts", "range")
        .work("the counts"),
    Launch { call: Compare, ..FIND_RANGE }.only(|n| n.relative && !n.is_stack),
    Launch { call: Compare, ..FIND_RANGE_STACK }.only(|n| n.relative && n.is_stack),
    compare("compare", "analysis::compare<T, false>").only(|n| !n.is_stack),
    compare("compare_stack", "analysis::compare<T, true>").only(|n| n.is_stack),
    analysis(Compare, "compare_triangles", "analysis::compare_triangles<T>", Shape::open_blocks, 128, 3)
        .data("field other_field open_triangles counts parts", "counts parts")
        .work("triangles that signs leave open; those of 16 rows of 32 lanes / the warps of the grid"),
    analysis(Compare, "compare_end", "analysis::compare_end<T>", |_, _| 1, 1024, 1)
        .data("counts parts", "parts comparison")
        .work("a part for each band of 32 rows; half of them, 1024 at a time"),
    find_points("find_points", "analysis::find_points<T, false>").only(|n| !n.is_stack),
    find_points("find_points_stack", "analysis::find_points<T, true>").only(|n| n.is_stack),
    analysis(CriticalPoints, "place_points", "analysis::place_points<T>", |_, _| 1, 1024, 1)
        .data("point_parts", "point_parts count")
        .work("a number for 32 segments; as many, 4096 at a time"),
    analysis(CriticalPoints, "write_points", "analysis::write_points<T>", Shape::point_part_blocks, 256, 2)
        .data("field segments point_parts", "points")
        .work("segments with points; parts of 32 segments / the warps of the grid"),
    analysis(Call::Inspect, "inspect", "analysis::inspect", |_, _| 1, 32, 0)
        .data("stream", "info")
        .work("a header"),
];

const fn analysis(
    call: Call,
    name: &'static str,
    function: &'static str,
    grid: fn(&Shape, usize) -> u64,
    block: u32,
    resident: u32,
) -> Launch {
    let launch = kernel((call, "analysis"), name, [block; 2], [resident; 2]).grid(grid);
    launch.function(function).waits(Waits::InOrder).in_order()
}

/// Work of the kernels that read all vertices.
const BANDS_OF_ROWS: &str = "vertices once; bands of 32 rows / the warps of the grid";

const fn find_range(name: &'static str, function: &'static str) -> Launch {
    analysis(Call::Range, name, function, Shape::chunk_blocks, 256, 4)
        .data("field counts", "counts")
        .work(BANDS_OF_ROWS)
}
const FIND_RANGE: Launch = find_range("find_range", "analysis::find_range<T, false>");
const FIND_RANGE_STACK: Launch = find_range("find_range_stack", "analysis::find_range<T, true>");

const fn compare(name: &'static str, function: &'static str) -> Launch {
    analysis(Compare, name, function, Shape::strip_blocks, 256, 2)
        .data("field other_field counts", "counts parts open_triangles")
        .work(BANDS_OF_ROWS)
}

const fn find_points(name: &'static str, function: &'static str) -> Launch {
    analysis(CriticalPoints, name, function, Shape::point_blocks, 256, 4)
        .data("field point_parts", "segments point_parts")
        .work(BANDS_OF_ROWS)
}

impl Call {
    /// Refuses a shape that needs a larger grid than CUDA has, for any kernel of the call.
    pub(super) fn check(self, shape: &Shape) -> Result<()> {
        self.launches().try_for_each(|(_, launch)| {
            launch.blocks(shape, false, 0)?;
            launch.blocks(shape, false, 1).map(|_| ())
        })
    }

    /// Launches of the call, with their numbers in the table.
    pub(super) fn launches(self) -> impl Iterator<Item = (usize, &'static Launch)> {
        LAUNCHES.iter().enumerate().filter(move |(_, launch)| launch.call == self)
    }

    /// Launches of the call that a request needs.
    pub(super) fn launches_for(self, needs: Needs) -> impl Iterator<Item = (usize, &'static Launch)> {
        self.launches().filter(move |(_, launch)| (launch.runs)(&needs))
    }
}

/// A launch for an element type, a shape and a device.
pub(super) struct Kernel {
    /// Number of the launch, and of the element type (0 f32, 1 f64).
    pub(super) launch: usize,
    pub(super) dtype: usize,
    pub(super) blocks: u32,
    pub(super) threads: u32,
    pub(super) shared_bytes: u32,
    /// Whether the kernel may begin before the previous one has ended.
    pub(super) early: bool,
    /// Whether its blocks wait for each other.
    pub(super) together: bool,
}

impl Kernel {
    /// `small`: on a device with less shared memory.
    pub(super) fn new(number: usize, dtype: usize, shape: &Shape, small: bool) -> Result<Kernel> {
        let launch = &LAUNCHES[number];
        Ok(Kernel {
            launch: number,
            dtype,
            blocks: launch.blocks(shape, small, dtype)?,
            threads: launch.block_on(small, dtype),
            shared_bytes: launch.shared_bytes_on(small),
            early: launch.early,
            together: launch.together,
        })
    }

    pub(super) fn symbol(&self) -> String {
        LAUNCHES[self.launch].symbol(self.dtype)
    }
}

#[cfg(test)]
mod tests;
