//! Launches of the kernels that make and apply fixes. Planes and volumes share the constants; a function
//! makes the launch for the mesh of either.

use super::decompress::{BEGIN, CHECK};
use super::volumes::{tiles_of_volume, PLACE_CHUNKS};
use super::{kernel, warps, Call, Launch, Phase};
use crate::cuda::constants::*;

pub(super) const LAUNCHES: [Launch; 38] = [
    BEGIN.of(Call::Protect),
    FIND_BOUND.of(Call::Protect).only(|n| n.relative),
    survey(Call::Protect, "survey_planes", "survey<T, Triangles>"),
    keep_border_of(Call::Protect, "keep_planes_border", "keep_border_of<T, Triangles>"),
    verify_reconstruction(Call::Protect, "verify_planes", "verify_reconstruction<T, Triangles>", 4),
    repair_reconstruction(Call::Protect, "repair_planes", "repair_reconstruction<T, Triangles>", 4)
        .grid(|s, _| s.blocks_each(4)),
    list_repaired(Call::Protect, "list_planes", "list_repaired<T, Triangles>"),
    RANK_REPAIRED.of(Call::Protect),
    plan_repaired(Call::Protect, "plan_planes", "plan_repaired<T, Triangles>"),
    PLACE_REPAIRED.of(Call::Protect),
    write_fix(Call::Protect, "write_planes_fix", "write_fix<T, Triangles>"),
    BEGIN.of(Call::ProtectVolume),
    FIND_BOUND.of(Call::ProtectVolume).only(|n| n.relative),
    survey(Call::ProtectVolume, "survey_volume", "survey<T, Tetrahedra>"),
    keep_border_of(Call::ProtectVolume, "keep_volume_border", "keep_border_of<T, Tetrahedra>"),
    verify_reconstruction(Call::ProtectVolume, "verify_volume", "verify_reconstruction<T, Tetrahedra>", 2),
    repair_reconstruction(Call::ProtectVolume, "repair_volume", "repair_reconstruction<T, Tetrahedra>", 2)
        .grid(|s, _| s.blocks_each(2)),
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
];

const FIND_BOUND: Launch = kernel((Call::Protect, "survey"), "find_bound", [256; 2], [4; 2])
    .grid(|s, _| s.tiles.min(s.blocks_each(8)))
    .data("field", "control")
    .work("vertices once; rows / the warps of the grid");

const fn survey(call: Call, name: &'static str, function: &'static str) -> Launch {
    kernel((call, "survey"), name, [VOLUME_THREADS; 2], [4; 2])
        .grid(|s, _| s.tiles.min(s.blocks_each(8)))
        .function(function)
        .data("field other_field control", "control levels")
        .work("vertices once; tiles / the blocks of the grid")
}

const fn keep_border_of(call: Call, name: &'static str, function: &'static str) -> Launch {
    tiles_of_volume((call, "repair"), name, [2; 2])
        .function(function)
        .data("field other_field control levels", "levels")
        .work("vertices on sides with ghosts, the simplices around them; a tile a block")
        .only(|n| n.keeps_points && n.has_halo)
}

const fn verify_reconstruction(
    call: Call,
    name: &'static str,
    function: &'static str,
    resident: u32,
) -> Launch {
    tiles_of_volume((call, "repair"), name, [resident; 2])
        .function(function)
        .data("field other_field control levels", "control repair_state")
        .work("simplices once; those of a tile a block")
        .only(|n| n.keeps_points)
}

/// The rounds of repair, by as many blocks as are on a multiprocessor at the same time.
const fn repair_reconstruction(
    call: Call,
    name: &'static str,
    function: &'static str,
    resident: u32,
) -> Launch {
    kernel((call, "repair"), name, [REPAIR_THREADS; 2], [resident; 2])
        .function(function)
        .data(
            "field other_field control levels repair_state",
            "control levels repair_state marked_blocks",
        )
        .work(
            "rounds, 192 at most but for one doubling of the tiles each: violated simplices and those around \
             changed vertices; a share of these",
        )
        .together()
        .only(|n| n.keeps_points)
}

const fn list_repaired(call: Call, name: &'static str, function: &'static str) -> Launch {
    tiles_of_volume((call, "encode"), name, [4; 2])
        .function(function)
        .data("control levels", "control listed list_ranks")
        .work("vertices once; a tile a block")
}

const RANK_REPAIRED: Launch = kernel((Call::Protect, "encode"), "rank_repaired", [LIST_THREADS; 2], [1; 2])
    .data("control list_ranks", "control list_ranks")
    .work("tiles once; all, 4096 at a time");

const fn plan_repaired(call: Call, name: &'static str, function: &'static str) -> Launch {
    chunks_to_write(call, name, function)
        .data("control levels listed list_ranks", "entries")
        .work("listed vertices once; chunks / the blocks of the grid")
}

/// A kernel with a block for each chunk of a list that is written, or a warp where its vertices have no levels.
const fn chunks_to_write(call: Call, name: &'static str, function: &'static str) -> Launch {
    kernel((call, "encode"), name, warps(CHUNK_WARPS as i32), [0; 2])
        .grid(|s, _| s.written_list_blocks())
        .function(function)
}

const PLACE_REPAIRED: Launch = kernel((Call::Protect, "encode"), "place_repaired", [LIST_THREADS; 2], [1; 2])
    .data("control entries", "control chunk_places")
    .work("chunks once; all, 1024 at a time");

const fn write_fix(call: Call, name: &'static str, function: &'static str) -> Launch {
    chunks_to_write(call, name, function)
        .data(
            "field other_field control levels listed list_ranks entries chunk_places",
            "control stream report",
        )
        .work("listed vertices once, or all; chunks / the blocks of the grid")
}

const PARSE_FIX: Launch =
    kernel((Call::Apply, "check"), "parse_fix", [32; 2], [0; 2]).data("stream", "control").work("a header");

const SUM_VALUES: Launch = kernel((Call::Apply, "check"), "sum_values", [256; 2], [0; 2])
    .grid(|s, _| s.tiles.min(s.blocks_each(8)))
    .data("field control", "control")
    .work("vertices once; rows / the warps of the grid");

/// A kernel with a warp for each chunk of a list.
const fn chunks_of_fix(phase: Phase, name: &'static str, function: &'static str) -> Launch {
    kernel(phase, name, warps(LIST_WARPS as i32), [0; 2]).grid(|s, _| s.list_blocks()).function(function)
}

const fn check_chunks(call: Call, name: &'static str, function: &'static str) -> Launch {
    chunks_of_fix((call, "check"), name, function)
        .data("stream control chunks", "control chunks")
        .work("listed vertices once; slots of chunks / the warps of the grid")
}

const fn put_levels(call: Call, name: &'static str, function: &'static str) -> Launch {
    chunks_of_fix((call, "write"), name, function)
        .data("stream control chunks field", "field")
        .work("listed vertices once, or all; slots of chunks / the warps of the grid")
}

const fn put_zeros(call: Call, name: &'static str, function: &'static str) -> Launch {
    chunks_of_fix((call, "write"), name, function)
        .data("stream control chunks", "field report")
        .work("listed vertices once; slots of chunks / the warps of the grid")
}
