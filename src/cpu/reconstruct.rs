//! Reconstruct on threads: quantized tiles to fields.

use super::progress::Meter;
use crate::entropy::quantized_tile::QuantizedTile;
use crate::error::Result;
use crate::grid::element::Real;
use crate::grid::field::ViewMut;
use crate::grid::tiles::{Grid, TileShape, TILE};
use crate::runtime::pool::Threads;
use crate::stream::region::Region;
use crate::tile::decode::Decoder;
use crate::tile::lattice::{LatticeLines, Lines};
use crate::tile::symbols_by_position::SymbolsByPosition;
use crate::tile::window::TileWindow;

/// The arrays of u and of v; one alone where the stream holds one component.
pub(super) type Outputs<'a, T> = [Option<&'a ViewMut<'a, T>>; 2];

/// The arrays that a region of a field is written to; each tile writes the vertices of it that it owns.
#[derive(Clone, Copy)]
pub(super) struct Output<'a, T> {
    pub(super) views: Outputs<'a, T>,
    /// The region in the grid of the tiles.
    pub(super) region: Region,
}

impl<T: Real> Output<'_, T> {
    /// Asks for the memory of a row of a tile; `column` is the first one.
    #[inline(always)]
    pub(super) fn prefetch(&self, shape: &TileShape, column: u64, row: usize, count: usize) {
        let (x, y) = (column.wrapping_sub(self.region.first[0]), shape.y0 + row as u64);
        let (y, z) = (y.wrapping_sub(self.region.first[1]), shape.z - self.region.first[2]);
        self.views.iter().flatten().for_each(|view| view.plane(z).prefetch_row(x, y, count));
    }

    /// Writes what the rectangle has of a row of the vertices that a tile owns.
    #[inline(always)]
    pub(super) fn put(&self, shape: &TileShape, row: usize, u: &[T], v: &[T]) {
        // Rows above the region wrap to large numbers.
        let y = (shape.y0 + row as u64).wrapping_sub(self.region.first[1]);
        let left = self.region.first[0].saturating_sub(shape.x0) as usize;
        let right = (self.region.first[0] + self.region.size[0]).saturating_sub(shape.x0).min(u.len() as u64)
            as usize;
        if y >= self.region.size[1] || left >= right {
            return;
        }
        let (x, z) = (shape.x0 + left as u64 - self.region.first[0], shape.z - self.region.first[2]);
        for (view, values) in self.views.iter().zip([u, v]) {
            if let Some(view) = view {
                // SAFETY: the row belongs to this tile, which one thread decodes.
                unsafe { view.plane(z).write_row(x, y, &values[left..right]) };
            }
        }
    }
}

/// The tiles of the hierarchical predictor.
pub(super) struct Hierarchical<'a, T, const ONE: bool> {
    pub(super) tiles: &'a [QuantizedTile],
    /// Values of the anchors as predictions see them.
    pub(super) anchors: &'a [[T; 2]],
    pub(super) decoder: Decoder<'a, T, ONE>,
    pub(super) threads: Threads,
}

impl<T: Real, const ONE: bool> Hierarchical<'_, T, ONE> {
    /// Lattice lines, then tiles.
    pub(super) fn run(&self, output: Output<'_, T>, meter: &Meter) -> Result<()> {
        let lines = self.lines()?;
        let scratch = || Ok((TileWindow::new()?, SymbolsByPosition::new()?));
        self.for_tiles(scratch, |(window, symbols), tile| {
            let shape = self.grid().tile(tile as u64);
            let (width, height) = shape.owned();
            (0..height).for_each(|row| output.prefetch(&shape, shape.x0, row, width));
            let put = |row: usize, u: &[T], v: &[T]| output.put(&shape, row, u, v);
            self.decoder.tile(window, symbols, &self.tiles[tile], &shape, &lines, put);
            meter.add(1);
        })
    }

    fn grid(&self) -> Grid {
        self.decoder.grid
    }

    /// Values of u and v on the lattice lines.
    fn lines(&self) -> Result<[LatticeLines<T>; 2]> {
        let (grid, anchors) = (self.grid(), self.anchors);
        let lines =
            || Ok(LatticeLines { row_lines: Lines::along_x(grid)?, column_lines: Lines::along_y(grid)? });
        // The v of one component is not looked at.
        let mut lines = [lines()?, lines()?];
        let views = lines.each_mut().map(|lines| [lines.row_lines.view(), lines.column_lines.view()]);
        self.for_tiles(SymbolsByPosition::new, |symbols, tile| {
            let (codes, shape) = (&self.tiles[tile], grid.tile(tile as u64));
            symbols.fill(codes, &shape, self.decoder.coding);
            let below = tile + grid.tiles_x() as usize;
            for (axis, last, next, first, line) in [
                (0, shape.last_x, tile + 1, shape.x0, shape.row_line),
                (1, shape.last_y, below, shape.y0, shape.column_line),
            ] {
                let next = if last == TILE { anchors[next] } else { [T::ZERO; 2] };
                let values = self.decoder.line(axis == 0, (codes, symbols), last, [anchors[tile], next]);
                let owned = (last + 1).min(TILE);
                let components = if ONE { 1 } else { 2 };
                for (view, values) in views.iter().zip(&values).take(components) {
                    // SAFETY: this piece of a line belongs to this tile alone.
                    unsafe { view[axis].write_row(first, line, &values[..owned]) };
                }
            }
        })?;
        Ok(lines)
    }

    /// Runs `work(state, tile)` for all tiles.
    fn for_tiles<S>(
        &self,
        state: impl Fn() -> Result<S> + Sync,
        work: impl Fn(&mut S, usize) + Sync,
    ) -> Result<()> {
        self.threads.for_each(self.tiles.len(), state, |state, tile| {
            work(state, tile);
            Ok(())
        })
    }
}
