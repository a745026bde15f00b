//! From values to codes, tile by tile on threads.

use std::ops::Range;

use super::phases::{Meter, CHUNK};
use crate::entropy::symbols::Code;
use crate::error::Result;
use crate::grid::element::Real;
use crate::grid::field::View;
use crate::grid::tiles::{Grid, ANCHOR_LEVEL, POSITION_OF, TILE};
use crate::predict::anchors;
use crate::runtime::memory;
use crate::runtime::pool::Threads;
use crate::tile::coding::{Builder, Masks, Scheme, TileCodes};
use crate::tile::window::{Patch, Rectangle, Tally};
use crate::tile::Encoder;

/// The reconstruction of a vertex, and its code.
type CodedVertex<T> = ([T; 2], Code);

/// Values and codes of the vertices on lattice lines, anchors included.
pub(super) struct Lines<T> {
    /// Horizontal: line by line.
    pub(super) across: Vec<CodedVertex<T>>,
    /// Vertical: line by line.
    pub(super) down: Vec<CodedVertex<T>>,
}

/// The front end of one field.
pub(super) struct FrontEnd<'a, T> {
    pub(super) grid: Grid,
    pub(super) views: [View<'a, T>; 2],
    pub(super) scheme: Scheme,
    pub(super) encoder: Encoder<'a, T>,
    pub(super) threads: Threads,
}

impl<T: Real> FrontEnd<'_, T> {
    pub(super) fn load(&self, patch: &mut Patch<T>, area: Rectangle, count: Option<(usize, usize)>) {
        // SAFETY: areas lie inside the grid, and whoever made the views promised the halo.
        unsafe { patch.load(self.grid, self.views, area, self.encoder.constraints, count) }
    }

    /// The vertices within one step of `at`, and the index of `at` among them.
    pub(super) fn around(at: u64, n: u64) -> (u64, usize, usize) {
        let first = at.saturating_sub(1);
        (first, (n.min(at + 2) - first) as usize, (at - first) as usize)
    }

    pub(super) fn anchors(&self) -> Result<(Vec<CodedVertex<T>>, Tally)> {
        let columns = self.grid.tiles_x();
        let mut anchors = memory::filled(self.grid.tiles() as usize, Default::default())?;
        let tallies = self.threads.map_chunks(&mut anchors, CHUNK, Patch::new, |patch, chunk, out| {
            patch.tally = Tally::default();
            for (k, anchor) in out.iter_mut().enumerate() {
                let tile = (chunk * CHUNK + k) as u64;
                let (x, y) = (tile % columns * TILE as u64, tile / columns * TILE as u64);
                let (x0, width, i) = Self::around(x, self.grid.nx);
                let (y0, height, j) = Self::around(y, self.grid.ny);
                self.load(patch, Rectangle { x0, y0, width, height }, None);
                let code = self.encoder.vertex(patch, i, j, [T::ZERO; 2], ANCHOR_LEVEL);
                *anchor = (patch.get(i, j), code);
            }
            Ok(patch.tally)
        })?;
        Ok((anchors, Tally::sum(&tallies)))
    }

    pub(super) fn lines(&self, anchors: &[CodedVertex<T>]) -> Result<(Lines<T>, Tally)> {
        let (across, first) = self.horizontal_lines(anchors)?;
        let (down, second) = self.vertical_lines(anchors, &across)?;
        Ok((Lines { across, down }, first.merge(second)))
    }

    fn horizontal_lines(&self, anchors: &[CodedVertex<T>]) -> Result<(Vec<CodedVertex<T>>, Tally)> {
        let Grid { nx, ny } = self.grid;
        let columns = self.grid.tiles_x() as usize;
        let pieces = LinePieces::new(self.grid.tiles_y(), nx);
        let mut across = memory::filled(pieces.vertices(), Default::default())?;
        let range = |piece| pieces.range(piece);
        let tallies =
            self.threads.map_parts(&mut across, pieces.count(), range, Patch::new, |patch, piece, out| {
                patch.tally = Tally::default();
                let (ty, first) = pieces.line_and_tile(piece);
                for (k, out) in out.chunks_mut(TILE).enumerate() {
                    let tx = first + k;
                    let (x0, y) = ((tx * TILE) as u64, (ty * TILE) as u64);
                    let last = (nx - 1 - x0).min(TILE as u64) as usize;
                    let (y0, height, j) = Self::around(y, ny);
                    let anchor = anchors[ty * columns + tx];
                    out[0] = anchor;
                    self.load(patch, Rectangle { x0, y0, width: last + 1, height }, None);
                    patch.set(0, j, anchor.0);
                    if last == TILE {
                        patch.set(TILE, j, anchors[ty * columns + tx + 1].0);
                    }
                    self.encoder.line(patch, true, j, last, |k, code, value| out[k] = (value, code));
                }
                Ok(patch.tally)
            })?;
        Ok((across, Tally::sum(&tallies)))
    }

    fn vertical_lines(
        &self,
        anchors: &[CodedVertex<T>],
        across: &[CodedVertex<T>],
    ) -> Result<(Vec<CodedVertex<T>>, Tally)> {
        let Grid { nx, ny } = self.grid;
        let columns = self.grid.tiles_x() as usize;
        let pieces = LinePieces::new(self.grid.tiles_x(), ny);
        let mut down = memory::filled(pieces.vertices(), Default::default())?;
        let range = |piece| pieces.range(piece);
        let tallies =
            self.threads.map_parts(&mut down, pieces.count(), range, Patch::new, |patch, piece, out| {
                patch.tally = Tally::default();
                let (tx, first) = pieces.line_and_tile(piece);
                for (k, out) in out.chunks_mut(TILE).enumerate() {
                    let ty = first + k;
                    let (x, y0) = ((tx * TILE) as u64, (ty * TILE) as u64);
                    let last = (ny - 1 - y0).min(TILE as u64) as usize;
                    let (x0, width, i) = Self::around(x, nx);
                    out[0] = anchors[ty * columns + tx];
                    self.load(patch, Rectangle { x0, y0, width, height: last + 1 }, None);
                    // The rows at both ends are horizontal lattice lines: final.
                    for (row, line) in [(0, ty), (TILE, ty + 1)] {
                        if row <= last {
                            for column in 0..width {
                                patch.set(column, row, across[line * nx as usize + x0 as usize + column].0);
                            }
                        }
                    }
                    self.encoder.line(patch, false, i, last, |k, code, value| out[k] = (value, code));
                }
                Ok(patch.tally)
            })?;
        Ok((down, Tally::sum(&tallies)))
    }

    pub(super) fn tiles(
        &self,
        lines: &Lines<T>,
        bases: &[(Code, u32)],
        meter: &Meter,
    ) -> Result<(Vec<TileCodes>, Tally)> {
        let mut all = memory::defaults::<TileCodes>(self.grid.tiles() as usize)?;
        let scratch = || Ok((Patch::new()?, Builder::new()?));
        let tallies = self.threads.map_chunks(&mut all, CHUNK, scratch, |(patch, builder), chunk, out| {
            patch.tally = Tally::default();
            for (k, out) in out.iter_mut().enumerate() {
                *out = self.tile(patch, builder, chunk * CHUNK + k, lines, bases)?;
            }
            meter.add(out.len() as u64);
            Ok(patch.tally)
        })?;
        Ok((all, Tally::sum(&tallies)))
    }

    fn tile(
        &self,
        patch: &mut Patch<T>,
        builder: &mut Builder,
        tile: usize,
        lines: &Lines<T>,
        bases: &[(Code, u32)],
    ) -> Result<TileCodes> {
        let shape = self.grid.tile(tile as u64);
        let (width, height) = (shape.last_x + 1, shape.last_y + 1);
        self.load(patch, Rectangle { x0: shape.x0, y0: shape.y0, width, height }, Some((0, 0)));
        let (x0, y0) = (shape.x0 as usize, shape.y0 as usize);
        for (row, line) in [(0, shape.ty as usize), (TILE, shape.ty as usize + 1)] {
            if row < height {
                let values = &lines.across[line * self.grid.nx as usize + x0..][..width];
                for (x, &(value, code)) in values.iter().enumerate() {
                    patch.set(x, row, value);
                    if row == 0 && x < TILE {
                        builder.put(POSITION_OF[x] as usize, code);
                    }
                }
            }
        }
        for (column, line) in [(0, shape.tx as usize), (TILE, shape.tx as usize + 1)] {
            if column < width {
                let values = &lines.down[line * self.grid.ny as usize + y0..][..height];
                for (y, &(value, code)) in values.iter().enumerate() {
                    patch.set(column, y, value);
                    if column == 0 && y < TILE {
                        builder.put(POSITION_OF[y * TILE] as usize, code);
                    }
                }
            }
        }
        let (code, digits) = bases[tile];
        builder.put(0, code);
        builder.put_digits(0, digits);
        self.encoder.interior(patch, |position, count, codes| builder.put_row(position, count, codes));
        let mut masks = Masks::default();
        for y in 0..height.min(TILE) {
            masks.zero[y] = patch.zero[y] as u32;
            masks.fill[y] = patch.fill[y] as u32;
        }
        // SAFETY: the tile lies inside the grid.
        unsafe { builder.finish(self.scheme, &shape, 0, masks, self.views) }
    }
}

/// Pieces of work of lattice lines of `length` vertices each, which lie one behind another.
struct LinePieces {
    lines: usize,
    length: usize,
    /// Pieces of a line.
    each: usize,
}

impl LinePieces {
    const LENGTH: usize = TILE * CHUNK;

    fn new(lines: u64, length: u64) -> Self {
        let each = (length as usize).div_ceil(Self::LENGTH);
        LinePieces { lines: lines as usize, length: length as usize, each }
    }

    fn count(&self) -> usize {
        self.lines * self.each
    }

    fn vertices(&self) -> usize {
        self.lines * self.length
    }

    /// The number of its line, and that of its first tile on the line.
    fn line_and_tile(&self, piece: usize) -> (usize, usize) {
        (piece / self.each, piece % self.each * CHUNK)
    }

    fn range(&self, piece: usize) -> Range<usize> {
        let (line, first) = (piece / self.each * self.length, piece % self.each * Self::LENGTH);
        line + first..line + (first + Self::LENGTH).min(self.length)
    }
}

/// Replaces anchors by differences along rows; the first column is differenced downwards.
pub(super) fn anchor_differences<T>(grid: Grid, anchors: &[CodedVertex<T>]) -> Result<Vec<(Code, u32)>> {
    let mut coded = memory::with_capacity(anchors.len())?;
    let mut first = [0; 2];
    for row in anchors.chunks(grid.tiles_x() as usize) {
        let mut before = first;
        for (tx, &(_, code)) in row.iter().enumerate() {
            let (code, digits, base) = anchors::difference(code, before);
            coded.push((code, digits));
            before = base;
            if tx == 0 {
                first = base;
            }
        }
    }
    Ok(coded)
}
