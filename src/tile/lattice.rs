//! Values of the vertices on lattice lines, which tiles share: anchors first, then row lines from
//! anchor to anchor, column lines, and last the tiles between the lines.

use crate::error::Result;
use crate::grid::element::Real;
use crate::grid::field::ViewMut;
use crate::grid::tiles::{Grid, TileShape, TILE};
use crate::runtime::memory;

/// Lattice lines of equal length, one behind the other: an item for each vertex.
pub struct Lines<V> {
    length: usize,
    pub items: Vec<V>,
}

impl<V: Copy + Default> Lines<V> {
    /// The lines along x: one above each row of tiles, plane by plane.
    pub fn along_x(grid: Grid) -> Result<Self> {
        Self::new(grid.tile_rows(), grid.nx)
    }

    /// The lines along y: one to the left of each column of tiles, plane by plane.
    pub fn along_y(grid: Grid) -> Result<Self> {
        Self::new(grid.tiles_x() * grid.nz, grid.ny)
    }

    fn new(lines: u64, length: u64) -> Result<Self> {
        let items = memory::filled(lines as usize * length as usize, V::default())?;
        Ok(Lines { length: length as usize, items })
    }

    /// `count` items of a line from vertex `first` on.
    #[inline(always)]
    pub fn part(&self, line: u64, first: u64, count: usize) -> &[V] {
        &self.items[line as usize * self.length + first as usize..][..count]
    }
}

impl<T: Real> Lines<T> {
    /// A view in which each line is a row.
    pub fn view(&mut self) -> ViewMut<'_, T> {
        ViewMut::dense(&mut self.items, self.length as u64)
    }
}

/// The lattice lines of a grid.
pub struct LatticeLines<V> {
    pub row_lines: Lines<V>,
    pub column_lines: Lines<V>,
}

impl<V: Copy + Default> LatticeLines<V> {
    /// Visits the items of the lattice lines around a tile, as `visit(x, y, item)`: those above and below it,
    /// then those to its left and right.
    #[inline(always)]
    pub fn for_tile(&self, shape: &TileShape, mut visit: impl FnMut(usize, usize, V)) {
        let (width, height) = (shape.last_x + 1, shape.last_y + 1);
        for (row, line) in [(0, shape.row_line), (TILE, shape.row_line + 1)] {
            if row < height {
                let items = self.row_lines.part(line, shape.x0, width);
                items.iter().enumerate().for_each(|(x, &item)| visit(x, row, item));
            }
        }
        for (column, line) in [(0, shape.column_line), (TILE, shape.column_line + 1)] {
            if column < width {
                let items = self.column_lines.part(line, shape.y0, height);
                items.iter().enumerate().for_each(|(y, &item)| visit(column, y, item));
            }
        }
    }
}
