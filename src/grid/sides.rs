//! The sides of a block of a field, which other blocks may lie beside.

/// Sides of the owned block, as bits of the `halo` and `pin` masks of a configuration.
pub const SIDE_X_MIN: u32 = 1;
/// The side of column nx - 1.
pub const SIDE_X_MAX: u32 = 2;
/// The side of row 0.
pub const SIDE_Y_MIN: u32 = 4;
/// The side of row ny - 1.
pub const SIDE_Y_MAX: u32 = 8;
pub const SIDES_ALL: u32 = 15;
