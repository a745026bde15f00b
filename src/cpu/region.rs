//! The region of a field that is decompressed, and the tiles that it takes.

use super::reconstruct::{Output, Outputs};
use crate::error::{Error, Result};
use crate::grid::element::Real;
use crate::grid::tiles::{Grid, TILE};
use crate::request::Predictor;
use crate::stream::header::Header;
use crate::stream::sections::Group;
use std::ops::Range;

const SIDE: u64 = TILE as u64;

/// A rectangle of the vertices of some planes of a field.
#[derive(Clone, Copy, Debug)]
pub(super) struct Region {
    /// The grid of the whole field.
    grid: Grid,
    predictor: Predictor,
    pub(super) x0: u64,
    pub(super) y0: u64,
    pub(super) z0: u64,
    pub(super) nx: u64,
    pub(super) ny: u64,
    pub(super) nz: u64,
}

impl Region {
    /// The whole field of a stream.
    pub(super) fn whole(header: &Header) -> Region {
        let (grid, predictor) = (header.grid(), header.predictor);
        Region { grid, predictor, x0: 0, y0: 0, z0: 0, nx: grid.nx, ny: grid.ny, nz: grid.nz }
    }

    /// The region of `nx` columns, `ny` rows and `nz` planes whose first vertex is (x0, y0, z0); refused unless
    /// the field has all of it.
    pub(super) fn new(header: &Header, first: [u64; 3], size: [u64; 3]) -> Result<Region> {
        let grid = header.grid();
        let axes = ["x", "y", "z"].into_iter().zip(first).zip(size).zip([grid.nx, grid.ny, grid.nz]);
        for (((axis, first), count), all) in axes {
            if count == 0 || first.checked_add(count).is_none_or(|end| end > all) {
                return Err(Error::argument(format!(
                    "{axis}0 = {first} and n{axis} = {count}: the region is not inside the field of the stream, which \
                     has {grid} vertices"
                )));
            }
        }
        let ([x0, y0, z0], [nx, ny, nz]) = (first, size);
        Ok(Region { x0, y0, z0, nx, ny, nz, ..Region::whole(header) })
    }

    pub(super) fn is_whole(&self) -> bool {
        (self.nx, self.ny, self.nz) == (self.grid.nx, self.grid.ny, self.grid.nz)
    }

    /// Vertices of the region.
    pub(super) fn vertices(&self) -> u64 {
        self.nx * self.ny * self.nz
    }

    /// Its planes.
    fn planes(&self) -> Range<u64> {
        self.z0..self.z0 + self.nz
    }

    /// Columns and rows of the tiles that have vertices of the region.
    fn under(&self) -> [Range<u64>; 2] {
        [(self.x0, self.nx), (self.y0, self.ny)].map(|(first, n)| first / SIDE..(first + n - 1) / SIDE + 1)
    }

    /// Columns and rows of the tiles whose symbols the region takes. A vertex between lattice lines takes the
    /// lattice lines around it, and a line the anchors at its ends: of the hierarchical predictor these are the
    /// tiles under the region, and the next column and row of tiles unless the region ends on a lattice line.
    fn taken(&self) -> [Range<u64>; 2] {
        let under = self.under();
        if self.predictor == Predictor::Lorenzo {
            return under;
        }
        let ends =
            [(self.x0 + self.nx - 1, self.grid.tiles_x()), (self.y0 + self.ny - 1, self.grid.tiles_y())];
        let [x, y] = ends.map(|(last, tiles)| (last.div_ceil(SIDE) + 1).min(tiles));
        [under[0].start..x, under[1].start..y]
    }

    /// Column and row of a tile; rows are counted over all planes.
    fn place(&self, tile: u64) -> (u64, u64) {
        (tile % self.grid.tiles_x(), tile / self.grid.tiles_x())
    }

    /// Whether a row of tiles lies in a plane of the region, and there in `rows`.
    fn has_row(&self, row: u64, rows: &Range<u64>) -> bool {
        self.planes().contains(&(row / self.grid.tiles_y())) && rows.contains(&(row % self.grid.tiles_y()))
    }

    /// Whether a tile has vertices of the region.
    pub(super) fn covers(&self, tile: u64) -> bool {
        let ((column, row), [columns, rows]) = (self.place(tile), self.under());
        columns.contains(&column) && self.has_row(row, &rows)
    }

    /// Whether the region takes the symbols of a tile.
    pub(super) fn takes(&self, tile: u64) -> bool {
        let ((column, row), [columns, rows]) = (self.place(tile), self.taken());
        columns.contains(&column) && self.has_row(row, &rows)
    }

    /// Whether the region takes the symbols of a tile of a group.
    pub(super) fn takes_from(&self, group: &Group) -> bool {
        let [columns, rows] = self.taken();
        let ((first, top), (last, bottom)) = (self.place(group.tiles.start), self.place(group.tiles.end - 1));
        // Of its first row of tiles the group has the end, of its last one the beginning.
        (top..bottom + 1).filter(|&row| self.has_row(row, &rows)).any(|row| {
            let from = if row == top { first } else { 0 };
            let to = if row == bottom { last + 1 } else { self.grid.tiles_x() };
            from < columns.end && columns.start < to
        })
    }

    /// The number of tiles whose symbols the region takes.
    pub(super) fn tiles(&self) -> u64 {
        let [columns, rows] = self.taken();
        (columns.end - columns.start) * (rows.end - rows.start) * self.nz
    }

    /// The part of the grid that these tiles cover. At a side where the grid goes on, predictions of its last
    /// tiles are wrong between the lattice lines, where the region has no vertices, as that side has no line.
    pub(super) fn part(&self) -> Grid {
        let [columns, rows] = self.taken();
        let size =
            |tiles: Range<u64>, all: u64| (all - SIDE * tiles.start).min(SIDE * (tiles.end - tiles.start));
        let (nx, ny) = (size(columns, self.grid.nx), size(rows, self.grid.ny));
        Grid { nx, ny, nz: self.nz, ..self.grid }
    }

    /// An output for tiles of the whole grid.
    pub(super) fn output<'a, T: Real>(&self, views: Outputs<'a, T>) -> Output<'a, T> {
        Output { views, first: [self.x0, self.y0, self.z0], size: [self.nx, self.ny] }
    }

    /// An output for tiles of the [`Region::part`].
    pub(super) fn output_of_part<'a, T: Real>(&self, views: Outputs<'a, T>) -> Output<'a, T> {
        let [columns, rows] = self.taken();
        let first = [self.x0 - SIDE * columns.start, self.y0 - SIDE * rows.start, 0];
        Output { views, first, size: [self.nx, self.ny] }
    }
}
