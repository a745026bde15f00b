//! Launches of the kernels that decompress planes.

use super::{kernel, warps, Call, Launch, Phase, Shape, Waits, HIERARCHICAL, LORENZO};
use crate::cuda::constants::*;
use crate::cuda::shared_memory::{DECODE_HUFFMAN_SHARED_BYTES, DECODE_RANS_SHARED_BYTES};
use crate::stream::header::{TABLES, VOLUME_HEADER_BYTES};

mod phase {
    use super::{Call::*, Phase};
    pub const PARSE: Phase = (Decompress, "parse");
    pub const DECODE: Phase = (Decompress, "decode");
    pub const RECONSTRUCT: Phase = (Decompress, "reconstruct");
}

/// The host does not read the header of the stream. It expects the predictor of the request and launches the
/// kernels of that predictor first; if the stream has the other one, a slower kernel later in the table does
/// the work.
pub(super) const LAUNCHES: [Launch; 11] = [
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
];

/// Largest number of words of a stream before the words of its groups. `parse` distributes both over blocks.
const MOST_FIRST_WORDS: u64 = (VOLUME_HEADER_BYTES as u64 + TABLE_SECTION_BYTES) / 4;

/// A block for each table, one for the header, and blocks for the groups with two words a thread. The last
/// block sums the words of all groups before its part, so that more blocks than multiprocessors would make it
/// slower: their number is limited, but not to fewer than 16 for the groups.
pub(super) const PARSE_BLOCKS: fn(&Shape, usize) -> u64 = |s, _| {
    let others = TABLES as u64 + 1;
    let parts = (s.tiles + MOST_FIRST_WORDS).div_ceil(2 * PARSE_THREADS as u64);
    others + parts.min(s.blocks_each(1).saturating_sub(others).max(16))
};

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

pub(super) const BEGIN: Launch = kernel(phase::PARSE, "begin", [256; 2], [0; 2])
    .grid(|_, _| 3)
    .function("begin_call<T>")
    .data("", "control")
    .work("N / 512 states; their number / the threads of the grid")
    .in_order();

pub(super) const CHECK: Launch = kernel(phase::PARSE, "check", [256; 2], [0; 2])
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
