//! Launches of the kernels that compress and decompress volumes.

use super::compress::tables;
use super::decompress::{CHECK, PARSE_BLOCKS};
use super::{kernel, warps, Call, Launch, Phase, Small, Waits, HUFFMAN, RANS};
use crate::cuda::constants::*;
use crate::cuda::shared_memory::{
    DECODE_VOLUME_HUFFMAN_SHARED_BYTES, DECODE_VOLUME_RANS_SHARED_BYTES, QUANTIZE_VOLUME_SHARED_BYTES,
    QUANTIZE_VOLUME_SMALL_SHARED_BYTES, VOLUME_SHARED_BYTES, VOLUME_SMALL_SHARED_BYTES,
};

mod phase {
    use super::{Call::*, Phase};
    pub const STATISTICS: Phase = (CompressVolume, "statistics");
    pub const QUANTIZE: Phase = (CompressVolume, "predict + quantize");
    pub const REPAIR: Phase = (CompressVolume, "repair");
    pub const COUNT: Phase = (CompressVolume, "count");
    pub const ENCODE: Phase = (CompressVolume, "encode");
    pub const ASSEMBLE: Phase = (CompressVolume, "assemble");
    pub const PARSE: Phase = (DecompressVolume, "parse");
    pub const DECODE: Phase = (DecompressVolume, "decode");
    pub const RECONSTRUCT: Phase = (DecompressVolume, "reconstruct");
}

pub(super) const LAUNCHES: [Launch; 30] = [
    kernel(phase::STATISTICS, "begin_compression", [256; 2], [0; 2])
        .grid(|_, _| 8)
        .data("", "control symbol_counts")
        .work("counters once")
        .in_order(),
    kernel(phase::STATISTICS, "volume_statistics", [256; 2], [4; 2])
        .grid(|s, _| s.tiles.min(s.blocks_each(8)))
        .data("field", "control")
        .work("vertices once; rows / the warps of the grid"),
    kernel(phase::STATISTICS, "prepare_tiles", [VOLUME_THREADS; 2], [4; 2])
        .grid(|s, _| s.tiles.div_ceil(VOLUME_THREADS as u64 / 32))
        .data("field control", "levels tile_headers")
        .work("a sixteenth of the vertices once, all where some are zero, missing or pinned; a tile a warp"),
    kernel(phase::QUANTIZE, "tune_volume", [VOLUME_THREADS; 2], [2; 2])
        .grid(|s, t| s.volume_samples() * [VOLUME_OPTIONS, 1][t])
        .shared(QUANTIZE_VOLUME_SHARED_BYTES)
        .small_shared(QUANTIZE_VOLUME_SMALL_SHARED_BYTES)
        .data("field control levels", "control values")
        .work("4 to 24 tiles, 4 times; a tile a block, of f64 4 times"),
    kernel(phase::QUANTIZE, "quantize_coarse_volume", [COARSE_THREADS; 2], [20, 12])
        .grid(|s, _| s.tiles)
        .data(
            "field control levels tile_headers",
            "levels tile_headers codes coarse_singles values list_sizes exact_tiles",
        )
        .work("an eighth of the vertices of closed tiles once; a tile a block"),
    tiles_of_volume(phase::QUANTIZE, "quantize_volume", [3, 2])
        .shared(QUANTIZE_VOLUME_SHARED_BYTES)
        .small_shared(QUANTIZE_VOLUME_SMALL_SHARED_BYTES)
        .data(
            "field control levels tile_headers coarse_singles values exact_tiles list_sizes",
            "control levels tile_headers codes values list_sizes open_cubes open_tiles repair_state",
        )
        .work("closed tiles once; a tile a block"),
    tiles_of_volume(phase::REPAIR, "keep_border", [2; 2])
        .data("field control levels tile_headers values", "levels")
        .work("vertices on sides with ghosts, 24 tetrahedra each; a tile a block")
        .only(|n| n.keeps_points && n.has_halo),
    kernel(phase::REPAIR, "verify", [VOLUME_THREADS; 2], [2; 2])
        .grid(|s, _| s.tiles.min(s.blocks_each(2)))
        .data(
            "field control levels tile_headers values open_cubes open_tiles",
            "control repair_state",
        )
        .work("tetrahedra of open cubes and tiles once; a share of these")
        .only(|n| n.keeps_points),
    kernel(phase::REPAIR, "repair", [REPAIR_THREADS; 2], [2; 2])
        .grid(|s, _| s.blocks_each(2))
        .data(
            "field control levels tile_headers values repair_state",
            "control levels repair_state marked_blocks",
        )
        .work("rounds, 192 at most but for one doubling of the tiles each: violated tetrahedra and those around \
               changed vertices; a share of these")
        .together()
        .only(|n| n.keeps_points),
    tiles_of_volume(phase::COUNT, "list_vertices", [4; 2])
        .data("field control levels tile_headers values list_sizes", "control listed list_ranks")
        .work("vertices once; a tile a block"),
    kernel(phase::COUNT, "rank_vertices", [LIST_THREADS; 2], [1; 2])
        .data("control list_ranks", "control list_ranks")
        .work("tiles once; all, 4096 at a time"),
    kernel(phase::COUNT, "plan_chunks", warps(CHUNK_WARPS as i32), [0; 2])
        .grid(|s, _| s.written_list_blocks())
        .data("control levels listed list_ranks", "entries")
        .work("listed vertices once; chunks / the blocks of the grid"),
    kernel(phase::COUNT, "place_list", [LIST_THREADS; 2], [1; 2])
        .data("control entries", "control chunk_places")
        .work("chunks once; all, 1024 at a time"),
    kernel(phase::COUNT, "count_volume", warps(VOLUME_COUNT_WARPS as i32), [4; 2])
        .grid(|s, _| s.tiles.div_ceil(VOLUME_COUNT_WARPS as u64).min(s.blocks_each(8)))
        .data("control tile_headers codes", "positions finest_positions list_sizes symbol_counts")
        .work("tiles once; N / the warps of the grid"),
    tables("rans_tables", "tables<T, false>").of(Call::CompressVolume).only(RANS),
    tables("huffman_tables", "tables<T, true>").of(Call::CompressVolume).only(HUFFMAN),
    encode_volume("encode_volume_rans", "encode_volume<T, false>").only(RANS),
    encode_volume("encode_volume_huffman", "encode_volume<T, true>").only(HUFFMAN),
    kernel(phase::ASSEMBLE, "assemble_volume", warps(ASSEMBLE_WARPS as i32), [3; 2])
        .grid(|s, _| s.tiles.min(PARTS as u64))
        .data("field control group_sizes group_words list_sizes stored_tables", "control stream report")
        .work("the stream once; a 384th of the groups, 512 at a time")
        .waits(Waits::Inside),
    kernel(phase::ASSEMBLE, "write_list", warps(CHUNK_WARPS as i32), [0; 2])
        .grid(|s, _| s.written_list_blocks())
        .data(
            "field control report levels tile_headers values listed list_ranks entries chunk_places",
            "control stream",
        )
        .work("listed vertices once; chunks / the blocks of the grid"),
    kernel(phase::PARSE, "begin_volume", [256; 2], [0; 2])
        .grid(|s, _| s.tiles.min(s.blocks_each(8)))
        .data("", "control hidden")
        .work("a bit for each vertex, twice; those / the threads of the grid")
        .in_order(),
    kernel(phase::PARSE, "parse_volume", [PARSE_THREADS; 2], [1; 2])
        .grid(PARSE_BLOCKS)
        .data("stream", "control decoding_tables slot_starts huffman_codes group_offsets group_tiles")
        .work("tables, 40 times the groups' words; the words of all groups, 16384 at a time"),
    CHECK.of(Call::DecompressVolume),
    PLACE_CHUNKS,
    kernel(phase::PARSE, "mark_chunks", warps(LIST_WARPS as i32), [0; 2])
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
    kernel(phase::RECONSTRUCT, "reconstruct_coarse_volume", [COARSE_THREADS; 2], [20, 10])
        .grid(|s, _| s.tiles)
        .data("control tile_headers symbols raw_bits hidden", "coarse_values")
        .work("an eighth of the vertices of closed tiles once; a tile a block"),
    RECONSTRUCT_VOLUME,
    kernel(phase::RECONSTRUCT, "put_chunks", warps(LIST_WARPS as i32), [0; 2])
        .grid(|s, _| s.list_blocks())
        .data("stream control chunks hidden tile_headers field", "control chunks field report")
        .work("chunks once, a warp each; their number / the warps of the grid, of 512 vertices"),
];

const RECONSTRUCT_VOLUME: Launch = {
    let small = Small {
        grid: |s, _| s.tiles,
        block: VOLUME_THREADS,
        resident: 1,
        shared_bytes: VOLUME_SMALL_SHARED_BYTES,
    };
    let large = kernel(phase::RECONSTRUCT, "reconstruct_volume", [VOLUME_THREADS; 2], [3; 2])
        .grid(|s, _| s.tiles)
        .shared(VOLUME_SHARED_BYTES);
    Launch { small: Some(small), ..large }
        .data("control stream tile_headers symbols raw_bits hidden coarse_values", "field")
        .work("tiles once, a block each")
};

const fn decode_volume(
    name: &'static str,
    function: &'static str,
    reads: &'static str,
    shared_bytes: u32,
) -> Launch {
    kernel(phase::DECODE, name, warps(VOLUME_DECODE_WARPS), [4; 2])
        .grid(|s, _| s.tiles.min(s.blocks_each(4)))
        .function(function)
        .shared(shared_bytes)
        .small(1)
        .data(reads, "control symbols raw_bits tile_headers")
        .work("groups once, 256 tiles each; groups / the groups of the grid, a bad one ends at once")
}

pub(super) const PLACE_CHUNKS: Launch = kernel(phase::PARSE, "place_chunks", [LIST_THREADS; 2], [1; 2])
    .data("stream control", "control chunks")
    .work("an entry for each chunk; all chunks, 1024 at a time");

/// Options of the tuning of a volume.
const VOLUME_OPTIONS: u64 = 4;

/// A kernel with a block for each tile of a volume.
pub(super) const fn tiles_of_volume(phase: Phase, name: &'static str, resident: [u32; 2]) -> Launch {
    kernel(phase, name, [VOLUME_THREADS; 2], resident).grid(|s, _| s.tiles)
}

const fn encode_volume(name: &'static str, function: &'static str) -> Launch {
    kernel(phase::ENCODE, name, warps(VOLUME_ENCODE_WARPS), [4; 2])
        .grid(|s, _| s.tiles.div_ceil(VOLUME_ENCODE_WARPS as u64).min(s.blocks_each(4)))
        .function(function)
        .data(
            "control tile_headers codes positions finest_positions list_sizes code_entries chunk_weights",
            "control group_words group_sizes list_sizes",
        )
        .work("tiles once, 5 searches a group; groups / the warps of the grid")
}
