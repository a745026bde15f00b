//! The sides of a block of a field, which other blocks may lie beside.

use crate::grid::mesh::AXES;
use crate::grid::tiles::Grid;

/// Sides of the owned block, as bits of the `halo` and `pin` masks of a configuration.
pub const SIDE_X_MIN: u32 = side(0, false);
/// The side of column nx - 1.
pub const SIDE_X_MAX: u32 = side(0, true);
/// The side of row 0.
pub const SIDE_Y_MIN: u32 = side(1, false);
/// The side of row ny - 1.
pub const SIDE_Y_MAX: u32 = side(1, true);
/// The side of plane 0 of a volume.
pub const SIDE_Z_MIN: u32 = side(2, false);
/// The side of plane nz - 1 of a volume.
pub const SIDE_Z_MAX: u32 = side(2, true);
pub const SIDES_ALL: u32 = (1 << (2 * AXES)) - 1;
pub const SIDES_ALL_OF_VOLUME: u32 = SIDES_ALL | SIDE_Z_MIN | SIDE_Z_MAX;

/// The bit of the first or the last side across an axis.
const fn side(axis: usize, is_last: bool) -> u32 {
    1 << (2 * axis + is_last as usize)
}

/// The sides across the periodic axes of a grid.
pub fn periodic_sides(periodic: u32) -> u32 {
    let across = |k: usize| if periodic >> k & 1 != 0 { side(k, false) | side(k, true) } else { 0 };
    (0..3).fold(0, |sides, axis| sides | across(axis))
}

/// The sides of the grid that a vertex lies beyond.
#[inline(always)]
pub fn sides_beyond(grid: Grid, at: [i64; AXES]) -> u32 {
    let sizes = [grid.nx as i64, grid.ny as i64];
    let across = |k: usize| {
        (if at[k] < 0 { side(k, false) } else { 0 }) | (if at[k] >= sizes[k] { side(k, true) } else { 0 })
    };
    (0..AXES).fold(0, |sides, axis| sides | across(axis))
}

/// The sides of a volume that a vertex lies beyond.
#[inline(always)]
pub fn sides_beyond_volume(grid: Grid, [x, y, z]: [i64; 3]) -> u32 {
    let below = if z < 0 { SIDE_Z_MIN } else { 0 };
    let above = if z >= grid.nz as i64 { SIDE_Z_MAX } else { 0 };
    sides_beyond(grid, [x, y]) | below | above
}

/// Whether a vertex of a volume, or of a plane of a stack, lies on one of these sides.
#[inline(always)]
pub fn is_on_sides(grid: Grid, at: [u64; 3], sides: u32) -> bool {
    let sizes = [grid.nx, grid.ny, grid.nz];
    (0..3).any(|axis| {
        let [first, last] = [false, true].map(|is_last| sides & side(axis, is_last) != 0);
        (first && at[axis] == 0) || (last && at[axis] + 1 == sizes[axis])
    })
}
