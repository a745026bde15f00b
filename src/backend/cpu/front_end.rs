//! From values to codes, tile by tile on threads.

use rayon::prelude::*;

use super::{Meter, CHUNK};
use crate::field::View;
use crate::geometry::{Grid, ANCHOR_LEVEL, POSITION_OF, TILE};
use crate::real::Real;
use crate::stage::anchor;
use crate::stage::codes::{Builder, Masks, Scheme, TileCodes};
use crate::stage::symbol::Code;
use crate::stage::tile::{Encoder, Patch, Rectangle, Tally};

/// Values and codes of the vertices on lattice lines, anchors included.
pub(super) struct Lines<T> {
    /// Horizontal: line by line.
    pub(super) across: Vec<([T; 2], Code)>,
    /// Vertical: line by line.
    pub(super) down: Vec<([T; 2], Code)>,
}

/// The front end of one field.
pub(super) struct FrontEnd<'a, T> {
    pub(super) grid: Grid,
    pub(super) views: [View<'a, T>; 2],
    pub(super) scheme: Scheme,
    pub(super) encoder: Encoder<'a, T>,
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

    pub(super) fn anchors(&self) -> (Vec<([T; 2], Code)>, Tally) {
        let columns = self.grid.tiles_x();
        let mut anchors = vec![Default::default(); self.grid.tiles() as usize];
        let tally = anchors
            .par_chunks_mut(CHUNK)
            .enumerate()
            .map_init(Patch::new, |patch, (chunk, out)| {
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
                patch.tally
            })
            .reduce(Tally::default, Tally::merge);
        (anchors, tally)
    }

    pub(super) fn lines(&self, anchors: &[([T; 2], Code)]) -> (Lines<T>, Tally) {
        let Grid { nx, ny } = self.grid;
        let (columns, rows) = (self.grid.tiles_x() as usize, self.grid.tiles_y() as usize);
        let mut lines = Lines { across: vec![Default::default(); rows * nx as usize], down: Vec::new() };
        let first = pieces(&mut lines.across, nx)
            .into_par_iter()
            .map_init(Patch::new, |patch, (ty, c, out)| {
                patch.tally = Tally::default();
                for (k, out) in out.chunks_mut(TILE).enumerate() {
                    let tx = c * CHUNK + k;
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
                patch.tally
            })
            .reduce(Tally::default, Tally::merge);
        let across = &lines.across;
        lines.down = vec![Default::default(); columns * ny as usize];
        let second = pieces(&mut lines.down, ny)
            .into_par_iter()
            .map_init(Patch::new, |patch, (tx, c, out)| {
                patch.tally = Tally::default();
                for (k, out) in out.chunks_mut(TILE).enumerate() {
                    let ty = c * CHUNK + k;
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
                patch.tally
            })
            .reduce(Tally::default, Tally::merge);
        (lines, first.merge(second))
    }

    pub(super) fn tiles(
        &self,
        lines: &Lines<T>,
        bases: &[(Code, u32)],
        meter: &Meter,
    ) -> (Vec<TileCodes>, Tally) {
        let Grid { nx, ny } = self.grid;
        let mut all = vec![TileCodes::default(); self.grid.tiles() as usize];
        let tally = all
            .par_chunks_mut(CHUNK)
            .enumerate()
            .map_init(
                || (Patch::new(), Builder::new()),
                |(patch, builder), (chunk, out)| {
                    patch.tally = Tally::default();
                    for (k, out) in out.iter_mut().enumerate() {
                        let tile = chunk * CHUNK + k;
                        let shape = self.grid.tile(tile as u64);
                        let (width, height) = (shape.last_x + 1, shape.last_y + 1);
                        let area = Rectangle { x0: shape.x0, y0: shape.y0, width, height };
                        self.load(patch, area, Some((0, 0)));
                        let (x0, y0) = (shape.x0 as usize, shape.y0 as usize);
                        for (row, line) in [(0, shape.ty as usize), (TILE, shape.ty as usize + 1)] {
                            if row < height {
                                let values = &lines.across[line * nx as usize + x0..][..width];
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
                                let values = &lines.down[line * ny as usize + y0..][..height];
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
                        self.encoder.interior(patch, |position, count, codes| {
                            builder.put_row(position, count, codes)
                        });
                        let mut masks = Masks::default();
                        for y in 0..height.min(TILE) {
                            masks.zero[y] = patch.zero[y] as u32;
                            masks.fill[y] = patch.fill[y] as u32;
                        }
                        // SAFETY: the tile lies inside the grid.
                        *out = unsafe { builder.finish(self.scheme, &shape, 0, masks, self.views) };
                    }
                    meter.add(out.len() as u64);
                    patch.tally
                },
            )
            .reduce(Tally::default, Tally::merge);
        (all, tally)
    }
}

/// Pieces of work of lines of `n` vertices each: the number of the line, that of the piece, its vertices.
fn pieces<'a, V>(lines: &'a mut [V], n: u64) -> Vec<(usize, usize, &'a mut [V])> {
    let of_line = |(k, line): (usize, &'a mut [V])| {
        line.chunks_mut(TILE * CHUNK).enumerate().map(move |(c, piece)| (k, c, piece))
    };
    lines.chunks_mut(n as usize).enumerate().flat_map(of_line).collect()
}

/// Replaces anchors by differences along rows; the first column is differenced downwards.
pub(super) fn anchor_differences<T>(grid: Grid, anchors: &[([T; 2], Code)]) -> Vec<(Code, u32)> {
    let mut coded = Vec::with_capacity(anchors.len());
    let mut first = [0; 2];
    for row in anchors.chunks(grid.tiles_x() as usize) {
        let mut before = first;
        for (tx, &(_, code)) in row.iter().enumerate() {
            let (code, digits, base) = anchor::difference(code, before);
            coded.push((code, digits));
            before = base;
            if tx == 0 {
                first = base;
            }
        }
    }
    coded
}
