//! Lattice lines as pieces of work: the part of each line that belongs to a tile.

use crate::grid::tiles::{Grid, TILE};
use std::ops::Range;

/// Direction of lattice lines.
#[derive(Clone, Copy)]
pub(super) enum Axis {
    X,
    Y,
}

/// The pieces of all lines along an axis, which lie one behind the other.
pub(super) struct Pieces {
    axis: Axis,
    lines: usize,
    /// Vertices of a line.
    length: usize,
    /// Pieces of a line.
    each: usize,
    /// Columns and rows of tiles of a plane.
    columns: usize,
    rows: usize,
}

impl Axis {
    pub(super) fn pieces(self, grid: Grid) -> Pieces {
        let (lines, length) = match self {
            Axis::X => (grid.tile_rows(), grid.nx),
            Axis::Y => (grid.tiles_x() * grid.nz, grid.ny),
        };
        let (lines, length) = (lines as usize, length as usize);
        let each = length.div_ceil(TILE);
        let (columns, rows) = (grid.tiles_x() as usize, grid.tiles_y() as usize);
        Pieces { axis: self, lines, length, each, columns, rows }
    }
}

impl Pieces {
    pub(super) fn count(&self) -> usize {
        self.lines * self.each
    }

    /// The vertices of a piece among those of all lines.
    pub(super) fn range(&self, piece: usize) -> Range<usize> {
        let (line, first) = (piece / self.each * self.length, piece % self.each * TILE);
        line + first..line + (first + TILE).min(self.length)
    }

    /// The tile of a piece.
    pub(super) fn tile(&self, piece: usize) -> usize {
        let (line, along) = (piece / self.each, piece % self.each);
        match self.axis {
            Axis::X => line * self.columns + along,
            Axis::Y => (line / self.columns * self.rows + along) * self.columns + line % self.columns,
        }
    }
}
