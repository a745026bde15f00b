//! Launches of the kernels that look at fields and streams: range, comparison, critical points, header.

use super::{kernel, Call, Launch, Shape, Waits};
use Call::{Compare, CriticalPoints};

pub(super) const LAUNCHES: [Launch; 14] = [
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
