//! Launches of the kernels that compress planes.

use super::{kernel, warps, Call, Launch, Phase, Shape, Small, Waits};
use super::{BOUNDS, HIERARCHICAL, HUFFMAN, LORENZO, RANS, SIGNATURES};
use crate::cuda::constants::*;
use crate::cuda::shared_memory::{
    COUNT_LORENZO_SHARED_BYTES, COUNT_SHARED_BYTES, ENCODE_LORENZO_SHARED_BYTES, ENCODE_SHARED_BYTES,
    ENCODE_SMALL_SHARED_BYTES,
};
use crate::predict::interpolation::INTERPOLANTS;
use crate::predict::tuning::{samples, SCALINGS};
use crate::stream::header::TABLES;

mod phase {
    use super::{Call::*, Phase};
    pub const STATISTICS: Phase = (Compress, "statistics");
    pub const BOUNDS: Phase = (Compress, "bounds");
    pub const QUANTIZE: Phase = (Compress, "predict + quantize");
    pub const COUNT: Phase = (Compress, "count");
    pub const TABLES: Phase = (Compress, "tables");
    pub const ENCODE: Phase = (Compress, "encode");
    pub const ASSEMBLE: Phase = (Compress, "assemble");
}

pub(super) const LAUNCHES: [Launch; 35] = [
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
];

/// Shared memory that `tune` requests and does not use. With it a multiprocessor divides its memory between
/// shared memory and L1 cache as for `cheap_bounds`, whose blocks can then start beside those of `tune`.
const TUNE_SHARED_BYTES: u32 = 18000;

const FEW_BLOCKS: fn(&Shape, usize) -> u64 = |s, _| s.strips().min(MOST_FEW_STRIPS as u64);
const MANY_BLOCKS: fn(&Shape, usize) -> u64 =
    |s, _| s.strips().div_ceil(STATISTICS_WARPS as u64).min(MOST_STATISTICS_BLOCKS as u64);
const LATTICE_LINE_BLOCKS: fn(&Shape, usize) -> u64 = |s, _| s.tiles.div_ceil(8).min(s.blocks_each(16));
const TABLE_BLOCKS: fn(&Shape, usize) -> u64 = |s, _| TABLES as u64 + s.tiles.div_ceil(WEIGHED_TILES as u64);

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

pub(super) const fn tables(name: &'static str, function: &'static str) -> Launch {
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
