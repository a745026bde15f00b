//! The region of a field that is decompressed, and the tiles that it takes.

use super::header::Header;
use crate::error::{Error, Result};
use crate::grid::tiles::{Grid, TILE};
use crate::grid::volume_tiles::SIDE;
use crate::request::Predictor;
use std::ops::Range;

/// A box of the vertices of a field. Tiles of planes are one vertex thick.
#[derive(Clone, Copy, Debug)]
pub struct Region {
    /// The grid of the whole field.
    grid: Grid,
    /// Vertices along the sides of a tile.
    sides: [u64; 3],
    /// Whether vertices between lattice lines take the next tile along an axis.
    takes_next: bool,
    /// The first vertex, and the vertices along each axis.
    pub first: [u64; 3],
    pub size: [u64; 3],
}

impl Region {
    /// The whole field of a stream.
    pub fn whole(header: &Header) -> Region {
        let grid = header.grid();
        let sides = match header.volume {
            None => [TILE as u64, TILE as u64, 1],
            Some(_) => [SIDE as u64; 3],
        };
        let takes_next = header.predictor == Predictor::Hierarchical;
        Region { grid, sides, takes_next, first: [0; 3], size: grid.sizes() }
    }

    /// The region of `size` vertices whose first one is `first`; refused unless the field has all of it.
    pub fn new(header: &Header, first: [u64; 3], size: [u64; 3]) -> Result<Region> {
        let grid = header.grid();
        let axes = ["x", "y", "z"].into_iter().zip(first).zip(size).zip(grid.sizes());
        for (((axis, first), count), all) in axes {
            if count == 0 || first.checked_add(count).is_none_or(|end| end > all) {
                return Err(Error::argument(format!(
                    "{axis}0 = {first} and n{axis} = {count}: the region is not inside the field of the stream, which \
                     has {grid} vertices"
                )));
            }
        }
        Ok(Region { first, size, ..Region::whole(header) })
    }

    /// The grid that the region lies in.
    pub fn grid(&self) -> Grid {
        self.grid
    }

    pub fn is_whole(&self) -> bool {
        self.size == self.grid.sizes()
    }

    /// Vertices of the region.
    pub fn vertices(&self) -> u64 {
        self.size.iter().product()
    }

    /// The place of a vertex in the region, if it has it.
    pub fn place(&self, at: [u64; 3]) -> Option<[u64; 3]> {
        inside(at, self.first, self.size)
    }

    /// Tiles of the field along each axis.
    fn tiles_along(&self) -> [u64; 3] {
        let sizes = self.grid.sizes();
        [0, 1, 2].map(|axis| sizes[axis].div_ceil(self.sides[axis]))
    }

    /// The tiles that have vertices of the region, along each axis.
    fn under(&self) -> [Range<u64>; 3] {
        [0, 1, 2].map(|axis| {
            let last = self.first[axis] + self.size[axis] - 1;
            self.first[axis] / self.sides[axis]..last / self.sides[axis] + 1
        })
    }

    /// The tiles whose symbols the region takes, along each axis. A vertex between lattice lines takes the lattice
    /// lines around it, and a line the anchors at its ends: of the hierarchical predictor these are the tiles under
    /// the region, and the next ones along an axis unless the region ends on a lattice line.
    fn taken(&self) -> [Range<u64>; 3] {
        let (under, tiles) = (self.under(), self.tiles_along());
        if !self.takes_next {
            return under;
        }
        [0, 1, 2].map(|axis| {
            let last = self.first[axis] + self.size[axis] - 1;
            under[axis].start..(last.div_ceil(self.sides[axis]) + 1).min(tiles[axis])
        })
    }

    /// Column, row and layer of a tile.
    fn tile(&self, number: u64) -> [u64; 3] {
        let [columns, rows, _] = self.tiles_along();
        [number % columns, number / columns % rows, number / columns / rows]
    }

    /// Whether a tile has vertices of the region.
    pub fn covers(&self, tile: u64) -> bool {
        contain(&self.under(), self.tile(tile))
    }

    /// Whether the region takes the symbols of a tile.
    pub fn takes(&self, tile: u64) -> bool {
        contain(&self.taken(), self.tile(tile))
    }

    /// Whether the region takes the symbols of one of consecutive tiles, of which there is at least one.
    pub fn takes_from(&self, tiles: Range<u64>) -> bool {
        let ([columns, rows, _], taken) = (self.tiles_along(), self.taken());
        let (top, bottom) = (tiles.start / columns, (tiles.end - 1) / columns);
        let is_taken = |row: u64| contain(&taken, [taken[0].start, row % rows, row / rows]);
        // Of its first row of tiles the range has the end, of its last one the beginning.
        (top..bottom + 1).filter(|&row| is_taken(row)).any(|row| {
            let from = if row == top { tiles.start % columns } else { 0 };
            let to = if row == bottom { (tiles.end - 1) % columns + 1 } else { columns };
            from < taken[0].end && taken[0].start < to
        })
    }

    /// The number of tiles whose symbols the region takes.
    pub fn tiles(&self) -> u64 {
        self.taken().into_iter().map(|tiles| tiles.end - tiles.start).product()
    }

    /// The part of the grid that these tiles cover. At a side where the grid goes on, predictions of its last
    /// tiles are wrong between the lattice lines, where the region has no vertices, as that side has no line.
    pub fn part(&self) -> Grid {
        let (taken, sizes) = (self.taken(), self.grid.sizes());
        let [nx, ny, nz] = [0, 1, 2].map(|axis| {
            let (side, tiles) = (self.sides[axis], &taken[axis]);
            (sizes[axis] - side * tiles.start).min(side * (tiles.end - tiles.start))
        });
        Grid { nx, ny, nz, ..self.grid }
    }

    /// The first vertex of the part.
    fn first_of_part(&self) -> [u64; 3] {
        let taken = self.taken();
        [0, 1, 2].map(|axis| self.sides[axis] * taken[axis].start)
    }

    /// The region in the part.
    pub fn in_part(&self) -> Region {
        let first = self.first_of_part();
        Region { grid: self.part(), first: [0, 1, 2].map(|axis| self.first[axis] - first[axis]), ..*self }
    }

    /// The place of a vertex of the field in the part, if it has it.
    pub fn place_in_part(&self, at: [u64; 3]) -> Option<[u64; 3]> {
        inside(at, self.first_of_part(), self.part().sizes())
    }
}

/// The place of a vertex in a box.
fn inside(at: [u64; 3], first: [u64; 3], size: [u64; 3]) -> Option<[u64; 3]> {
    let place = [0, 1, 2].map(|axis| at[axis].wrapping_sub(first[axis]));
    (0..3).all(|axis| place[axis] < size[axis]).then_some(place)
}

fn contain(tiles: &[Range<u64>; 3], tile: [u64; 3]) -> bool {
    tiles.iter().zip(tile).all(|(tiles, tile)| tiles.contains(&tile))
}
