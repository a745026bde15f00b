//! Launches of the kernels that make and apply fixes. Planes and volumes share the constants; a function makes the
//! launch for the mesh of either.

use super::{kernel, tiles_of_volume, warps, Call, Launch, Phase};
use crate::cuda::constants::*;

pub(super) const FIND_BOUND: Launch = kernel((Call::Protect, "survey"), "find_bound", [256; 2], [4; 2])
    .grid(|s, _| s.tiles.min(s.blocks_each(8)))
    .data("field", "control")
    .work("vertices once; rows / the warps of the grid");

pub(super) const fn survey(call: Call, name: &'static str, function: &'static str) -> Launch {
    kernel((call, "survey"), name, [VOLUME_THREADS; 2], [4; 2])
        .grid(|s, _| s.tiles.min(s.blocks_each(8)))
        .function(function)
        .data("field other_field control", "control levels")
        .work("vertices once; tiles / the blocks of the grid")
}

/// A kernel of the repair of a reconstruction with a block for each tile.
const fn tiles_of_repair(call: Call, name: &'static str, function: &'static str) -> Launch {
    tiles_of_volume((call, "repair"), name, [2; 2]).function(function)
}

pub(super) const fn keep_border_of(call: Call, name: &'static str, function: &'static str) -> Launch {
    tiles_of_repair(call, name, function)
        .data("field other_field control levels", "levels")
        .work("vertices on sides with ghosts, the simplices around them; a tile a block")
        .only(|n| n.keeps_points && n.has_halo)
}

pub(super) const fn verify_reconstruction(call: Call, name: &'static str, function: &'static str) -> Launch {
    tiles_of_repair(call, name, function)
        .data("field other_field control levels", "control violated violated_tiles changed_tiles changed")
        .work("simplices once; those of a tile a block")
        .only(|n| n.keeps_points)
}

pub(super) const fn repair_reconstruction(call: Call, name: &'static str, function: &'static str) -> Launch {
    kernel((call, "repair"), name, [REPAIR_THREADS; 2], [4; 2])
        .grid(|s, _| s.blocks_each(4))
        .function(function)
        .data(
            "field other_field control levels violated violated_tiles changed_tiles changed",
            "control levels violated violated_tiles changed_tiles changed touched_tiles",
        )
        .work(
            "rounds, 192 at most but for one doubling of the tiles each: violated simplices and those around \
             changed vertices; a share of their tiles",
        )
        .together()
        .only(|n| n.keeps_points)
}

pub(super) const fn list_repaired(call: Call, name: &'static str, function: &'static str) -> Launch {
    tiles_of_volume((call, "encode"), name, [4; 2])
        .function(function)
        .data("control levels", "control listed list_ranks")
        .work("vertices once; a tile a block")
}

pub(super) const RANK_REPAIRED: Launch =
    kernel((Call::Protect, "encode"), "rank_repaired", [LIST_THREADS; 2], [1; 2])
        .data("control list_ranks", "control list_ranks")
        .work("tiles once; all, 1024 at a time");

pub(super) const fn plan_repaired(call: Call, name: &'static str, function: &'static str) -> Launch {
    chunks_of_fix((call, "encode"), name, function)
        .data("control levels listed list_ranks", "entries")
        .work("listed vertices once; chunks / the warps of the grid")
}

pub(super) const PLACE_REPAIRED: Launch =
    kernel((Call::Protect, "encode"), "place_repaired", [LIST_THREADS; 2], [1; 2])
        .data("control entries", "control chunk_places")
        .work("chunks once; all, 1024 at a time");

pub(super) const fn write_fix(call: Call, name: &'static str, function: &'static str) -> Launch {
    chunks_of_fix((call, "encode"), name, function)
        .data(
            "field other_field control levels listed list_ranks entries chunk_places",
            "control stream report",
        )
        .work("listed vertices once, or all; chunks / the warps of the grid")
}

pub(super) const PARSE_FIX: Launch =
    kernel((Call::Apply, "check"), "parse_fix", [32; 2], [0; 2]).data("stream", "control").work("a header");

pub(super) const SUM_VALUES: Launch = kernel((Call::Apply, "check"), "sum_values", [256; 2], [0; 2])
    .grid(|s, _| s.tiles.min(s.blocks_each(8)))
    .data("field control", "control")
    .work("vertices once; rows / the warps of the grid");

/// A kernel with a warp for each chunk of a list.
const fn chunks_of_fix(phase: Phase, name: &'static str, function: &'static str) -> Launch {
    kernel(phase, name, warps(LIST_WARPS as i32), [0; 2]).grid(|s, _| s.list_blocks()).function(function)
}

pub(super) const fn check_chunks(call: Call, name: &'static str, function: &'static str) -> Launch {
    chunks_of_fix((call, "check"), name, function)
        .data("stream control chunks", "control chunks")
        .work("listed vertices once; slots of chunks / the warps of the grid")
}

pub(super) const fn put_levels(call: Call, name: &'static str, function: &'static str) -> Launch {
    chunks_of_fix((call, "write"), name, function)
        .data("stream control chunks field", "field")
        .work("listed vertices once, or all; slots of chunks / the warps of the grid")
}

pub(super) const fn put_zeros(call: Call, name: &'static str, function: &'static str) -> Launch {
    chunks_of_fix((call, "write"), name, function)
        .data("stream control chunks", "field report")
        .work("listed vertices once; slots of chunks / the warps of the grid")
}
