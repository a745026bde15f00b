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
use crate::tile::coding::{Masks, QuantizedTile, QuantizedTileBuilder, TileCoding};
use crate::tile::window::{EncodeStats, Rectangle, TileWindow};
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
    pub(super) coding: TileCoding,
    pub(super) encoder: Encoder<'a, T>,
    pub(super) threads: Threads,
}

impl<T: Real> FrontEnd<'_, T> {
    pub(super) fn load(&self, window: &mut TileWindow<T>, area: Rectangle, count: Option<(usize, usize)>) {
        // SAFETY: areas lie inside the grid, and whoever made the views promised the halo.
        unsafe { window.load(self.grid, self.views, area, self.encoder.constraints, count) }
    }

    /// The vertices within one step of `at`, and the index of `at` among them.
    pub(super) fn around(at: u64, n: u64) -> (u64, usize, usize) {
        let first = at.saturating_sub(1);
        (first, (n.min(at + 2) - first) as usize, (at - first) as usize)
    }

    pub(super) fn anchors(&self) -> Result<(Vec<CodedVertex<T>>, EncodeStats)> {
        let columns = self.grid.tiles_x();
        let mut anchors = memory::filled(self.grid.tiles() as usize, Default::default())?;
        let stats = self.threads.map_chunks(&mut anchors, CHUNK, TileWindow::new, |window, chunk, out| {
            window.stats = EncodeStats::default();
            for (k, anchor) in out.iter_mut().enumerate() {
                let tile = (chunk * CHUNK + k) as u64;
                let (x, y) = (tile % columns * TILE as u64, tile / columns * TILE as u64);
                let (x0, width, i) = Self::around(x, self.grid.nx);
                let (y0, height, j) = Self::around(y, self.grid.ny);
                self.load(window, Rectangle { x0, y0, width, height }, None);
                let code = self.encoder.vertex(window, i, j, [T::ZERO; 2], ANCHOR_LEVEL);
                *anchor = (window.get(i, j), code);
            }
            Ok(window.stats)
        })?;
        Ok((anchors, EncodeStats::sum(&stats)))
    }

    pub(super) fn lines(&self, anchors: &[CodedVertex<T>]) -> Result<(Lines<T>, EncodeStats)> {
        let (across, first) = self.horizontal_lines(anchors)?;
        let (down, second) = self.vertical_lines(anchors, &across)?;
        Ok((Lines { across, down }, first.merge(second)))
    }

    fn horizontal_lines(&self, anchors: &[CodedVertex<T>]) -> Result<(Vec<CodedVertex<T>>, EncodeStats)> {
        let Grid { nx, ny } = self.grid;
        let columns = self.grid.tiles_x() as usize;
        let pieces = LinePieces::new(self.grid.tiles_y(), nx);
        let mut across = memory::filled(pieces.vertices(), Default::default())?;
        let range = |piece| pieces.range(piece);
        let stats = self.threads.map_parts(
            &mut across,
            pieces.count(),
            range,
            TileWindow::new,
            |window, piece, out| {
                window.stats = EncodeStats::default();
                let (ty, first) = pieces.line_and_tile(piece);
                for (k, out) in out.chunks_mut(TILE).enumerate() {
                    let tx = first + k;
                    let (x0, y) = ((tx * TILE) as u64, (ty * TILE) as u64);
                    let last = (nx - 1 - x0).min(TILE as u64) as usize;
                    let (y0, height, j) = Self::around(y, ny);
                    let anchor = anchors[ty * columns + tx];
                    out[0] = anchor;
                    self.load(window, Rectangle { x0, y0, width: last + 1, height }, None);
                    window.set(0, j, anchor.0);
                    if last == TILE {
                        window.set(TILE, j, anchors[ty * columns + tx + 1].0);
                    }
                    self.encoder.line(window, true, j, last, |k, code, value| out[k] = (value, code));
                }
                Ok(window.stats)
            },
        )?;
        Ok((across, EncodeStats::sum(&stats)))
    }

    fn vertical_lines(
        &self,
        anchors: &[CodedVertex<T>],
        across: &[CodedVertex<T>],
    ) -> Result<(Vec<CodedVertex<T>>, EncodeStats)> {
        let Grid { nx, ny } = self.grid;
        let columns = self.grid.tiles_x() as usize;
        let pieces = LinePieces::new(self.grid.tiles_x(), ny);
        let mut down = memory::filled(pieces.vertices(), Default::default())?;
        let range = |piece| pieces.range(piece);
        let stats = self.threads.map_parts(
            &mut down,
            pieces.count(),
            range,
            TileWindow::new,
            |window, piece, out| {
                window.stats = EncodeStats::default();
                let (tx, first) = pieces.line_and_tile(piece);
                for (k, out) in out.chunks_mut(TILE).enumerate() {
                    let ty = first + k;
                    let (x, y0) = ((tx * TILE) as u64, (ty * TILE) as u64);
                    let last = (ny - 1 - y0).min(TILE as u64) as usize;
                    let (x0, width, i) = Self::around(x, nx);
                    out[0] = anchors[ty * columns + tx];
                    self.load(window, Rectangle { x0, y0, width, height: last + 1 }, None);
                    // The rows at both ends are horizontal lattice lines: final.
                    for (row, line) in [(0, ty), (TILE, ty + 1)] {
                        if row <= last {
                            for column in 0..width {
                                window.set(column, row, across[line * nx as usize + x0 as usize + column].0);
                            }
                        }
                    }
                    self.encoder.line(window, false, i, last, |k, code, value| out[k] = (value, code));
                }
                Ok(window.stats)
            },
        )?;
        Ok((down, EncodeStats::sum(&stats)))
    }

    pub(super) fn tiles(
        &self,
        lines: &Lines<T>,
        coarse_codes: &[(Code, u32)],
        meter: &Meter,
    ) -> Result<(Vec<QuantizedTile>, EncodeStats)> {
        let mut all = memory::defaults::<QuantizedTile>(self.grid.tiles() as usize)?;
        let scratch = || Ok((TileWindow::new()?, QuantizedTileBuilder::new()?));
        let stats = self.threads.map_chunks(&mut all, CHUNK, scratch, |(window, builder), chunk, out| {
            window.stats = EncodeStats::default();
            for (k, out) in out.iter_mut().enumerate() {
                *out = self.tile(window, builder, chunk * CHUNK + k, lines, coarse_codes)?;
            }
            meter.add(out.len() as u64);
            Ok(window.stats)
        })?;
        Ok((all, EncodeStats::sum(&stats)))
    }

    fn tile(
        &self,
        window: &mut TileWindow<T>,
        builder: &mut QuantizedTileBuilder,
        tile: usize,
        lines: &Lines<T>,
        coarse_codes: &[(Code, u32)],
    ) -> Result<QuantizedTile> {
        let shape = self.grid.tile(tile as u64);
        let (width, height) = (shape.last_x + 1, shape.last_y + 1);
        self.load(window, Rectangle { x0: shape.x0, y0: shape.y0, width, height }, Some((0, 0)));
        let (x0, y0) = (shape.x0 as usize, shape.y0 as usize);
        for (row, line) in [(0, shape.ty as usize), (TILE, shape.ty as usize + 1)] {
            if row < height {
                let values = &lines.across[line * self.grid.nx as usize + x0..][..width];
                for (x, &(value, code)) in values.iter().enumerate() {
                    window.set(x, row, value);
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
                    window.set(column, y, value);
                    if column == 0 && y < TILE {
                        builder.put(POSITION_OF[y * TILE] as usize, code);
                    }
                }
            }
        }
        let (code, refinement_bits) = coarse_codes[tile];
        builder.put(0, code);
        builder.put_refinement_bits(0, refinement_bits);
        self.encoder.interior(window, |position, count, codes| builder.put_row(position, count, codes));
        let mut masks = Masks::default();
        for y in 0..height.min(TILE) {
            masks.zero[y] = window.zero[y] as u32;
            masks.fill[y] = window.fill[y] as u32;
        }
        // SAFETY: the tile lies inside the grid.
        unsafe { builder.finish(self.coding, &shape, 0, masks, self.views) }
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
            let (code, refinement_bits, coarse) = anchors::difference(code, before);
            coded.push((code, refinement_bits));
            before = coarse;
            if tx == 0 {
                first = coarse;
            }
        }
    }
    Ok(coded)
}
