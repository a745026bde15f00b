//! Pieces of work of lattice lines: a line is divided where tiles begin.

use super::progress::CHUNK;
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
    /// Tiles of a row.
    columns: usize,
}

impl Axis {
    pub(super) fn pieces(self, grid: Grid) -> Pieces {
        let (lines, length) = match self {
            Axis::X => (grid.tiles_y(), grid.nx),
            Axis::Y => (grid.tiles_x(), grid.ny),
        };
        let (lines, length) = (lines as usize, length as usize);
        let each = length.div_ceil(Pieces::LENGTH);
        Pieces { axis: self, lines, length, each, columns: grid.tiles_x() as usize }
    }
}

impl Pieces {
    const LENGTH: usize = TILE * CHUNK;

    pub(super) fn count(&self) -> usize {
        self.lines * self.each
    }

    /// The vertices of a piece among those of all lines.
    pub(super) fn range(&self, piece: usize) -> Range<usize> {
        let (line, first) = (piece / self.each * self.length, piece % self.each * Self::LENGTH);
        line + first..line + (first + Self::LENGTH).min(self.length)
    }

    /// Visits the tiles of a piece, as `visit(tile, its vertices)`.
    pub(super) fn for_tiles<V>(&self, piece: usize, items: &mut [V], mut visit: impl FnMut(usize, &mut [V])) {
        let (line, first) = (piece / self.each, piece % self.each * CHUNK);
        for (k, items) in items.chunks_mut(TILE).enumerate() {
            let tile = match self.axis {
                Axis::X => line * self.columns + first + k,
                Axis::Y => (first + k) * self.columns + line,
            };
            visit(tile, items);
        }
    }
}
