//! Masks: bits of the vertices that a tile owns.

use crate::grid::tiles::TILE;

/// Rows of a mask; bit x of row y is the vertex (x, y) of the tile.
pub type MaskRows = [u32; TILE];

/// The masks of a tile: vertices that are zero, and vertices with the fill pattern.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Masks {
    pub zero: MaskRows,
    pub fill: MaskRows,
}

/// Owned vertices of a row of width `width` as a mask.
pub fn row_mask(width: usize) -> u32 {
    (((1u64 << width) - 1) & u32::MAX as u64) as u32
}
