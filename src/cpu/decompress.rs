//! From codes to values, tile by tile on threads.

use super::phases::{Meter, CHUNK};
use crate::entropy::symbols::{self, Code, STORED, ZERO};
use crate::error::Result;
use crate::grid::element::Real;
use crate::grid::field::{Extent, Layout, ViewMut};
use crate::grid::missing::Missing;
use crate::grid::tiles::{Grid, TileShape, ANCHOR_LEVEL, CLOSED, POSITION_OF, TILE};
use crate::predict::anchors;
use crate::predict::interpolation::PITCH;
use crate::runtime::memory;
use crate::runtime::pool::Threads;
use crate::tile::coding::{QuantizedTile, SymbolsByPosition, TileCoding};
use crate::tile::window::TileWindow;
use crate::tile::{Decoded, Decoder};

/// The back end of one field: tiles of codes to values.
pub(super) struct BackEnd<'a, T> {
    pub(super) grid: Grid,
    pub(super) coding: TileCoding,
    pub(super) tiles: &'a [QuantizedTile],
    pub(super) decoder: Decoder<'a, T>,
    pub(super) missing: Missing,
    pub(super) fill: [T; 2],
    pub(super) threads: Threads,
}

impl<T: Real> BackEnd<'_, T> {
    /// Values of the anchors as predictions see them.
    pub(super) fn anchors(&self) -> Result<Vec<[T; 2]>> {
        let columns = self.grid.tiles_x() as usize;
        let mut first = [0; 2];
        let mut values = memory::with_capacity(self.tiles.len())?;
        for row in self.tiles.chunks(columns) {
            let mut before = first;
            for (tx, codes) in row.iter().enumerate() {
                let (value, coarse) = self.anchor(codes, before);
                values.push(value);
                before = coarse;
                if tx == 0 {
                    first = coarse;
                }
            }
        }
        Ok(values)
    }

    /// Runs `work(state, tile)` for all tiles.
    fn for_tiles<S>(
        &self,
        state: impl Fn() -> Result<S> + Sync,
        work: impl Fn(&mut S, usize) + Sync,
    ) -> Result<()> {
        self.threads.for_each(self.tiles.len().div_ceil(CHUNK), state, |state, chunk| {
            (chunk * CHUNK..self.tiles.len().min((chunk + 1) * CHUNK)).for_each(|tile| work(state, tile));
            Ok(())
        })
    }

    pub(super) fn anchor(&self, codes: &QuantizedTile, before: [i32; 2]) -> ([T; 2], [i32; 2]) {
        let (symbol, raw) = codes.anchor(self.coding);
        if codes.masked(0, 0).is_some() {
            return ([T::ZERO; 2], before);
        }
        if symbol == STORED {
            let bits = 8 * T::BYTES as u32;
            let value = [raw as u64, (raw >> bits) as u64].map(T::from_bits64);
            return (self.visible(value), before);
        }
        let coded = symbols::decode(symbol, raw as u64);
        let refinement_bits = (raw >> symbols::RAW_BITS[symbol as usize]) as u32;
        let (code, coarse) = anchors::restore(coded, refinement_bits, before);
        let q = self.decoder.quantizer;
        let value = code.q.map(|q_| q.decode(q_, T::ZERO, ANCHOR_LEVEL, code.refinement as usize));
        (value, coarse)
    }

    /// A stored value as predictions see it.
    #[inline(always)]
    fn visible(&self, value: [T; 2]) -> [T; 2] {
        if self.missing.is_missing(value) {
            [T::ZERO; 2]
        } else {
            value
        }
    }

    /// What predictions see of a vertex.
    #[inline(always)]
    pub(super) fn decoded(
        &self,
        codes: &QuantizedTile,
        spread: &SymbolsByPosition,
        position: usize,
        x: usize,
        y: usize,
    ) -> Decoded<T> {
        let s = spread.symbols[position];
        if s == ZERO {
            if codes.mask_state != 0 && codes.masked(x, y).is_some() {
                Decoded::Given([T::ZERO; 2])
            } else {
                Decoded::Coded(Code::default())
            }
        } else if s < symbols::FIRST_WITH_RAW_BITS {
            Decoded::Coded(symbols::decode(s, 0))
        } else if s == STORED {
            Decoded::Given(self.visible(spread.stored(codes, position)))
        } else {
            Decoded::Coded(symbols::decode(s, spread.raw(codes, position)))
        }
    }

    /// Values on the lattice lines: horizontal, then vertical.
    pub(super) fn lines(&self, anchors: &[[T; 2]]) -> Result<[Vec<[T; 2]>; 2]> {
        let columns = self.grid.tiles_x() as usize;
        let Grid { nx, ny } = self.grid;
        let mut lines = [
            memory::filled(self.grid.tiles_y() as usize * nx as usize, [T::ZERO; 2])?,
            memory::filled(columns * ny as usize, [T::ZERO; 2])?,
        ];
        let [across, down] = &mut lines;
        // SAFETY: the views, one per component, cover the vectors, which nobody else touches.
        let component = |line: &mut Vec<[T; 2]>, n: u64, c: usize| unsafe {
            let extent = Extent { before: 0, after: (2 * line.len() - c) as u64 };
            ViewMut::new(line.as_mut_ptr().cast::<T>().add(c), Layout { pitch: 2 * n, stride: 2 }, extent)
        };
        let views = [0, 1].map(|c| [component(across, nx, c), component(down, ny, c)]);
        self.for_tiles(SymbolsByPosition::new, |spread, tile| {
            let codes = &self.tiles[tile];
            let shape = self.grid.tile(tile as u64);
            spread.fill(codes, &shape, self.coding);
            let end = |last: usize, neighbour: usize| {
                if last == TILE {
                    anchors[neighbour]
                } else {
                    [T::ZERO; 2]
                }
            };
            for axis in [0, 1] {
                let (last, neighbour) =
                    if axis == 0 { (shape.last_x, tile + 1) } else { (shape.last_y, tile + columns) };
                let (mut u, mut v) = ([T::ZERO; CLOSED], [T::ZERO; CLOSED]);
                [u[0], v[0]] = anchors[tile];
                [u[TILE], v[TILE]] = end(last, neighbour);
                self.decoder.line(&mut u, &mut v, last, |k| {
                    let (x, y) = if axis == 0 { (k, 0) } else { (0, k) };
                    self.decoded(codes, spread, POSITION_OF[y * TILE + x] as usize, x, y)
                });
                let (first, line) = if axis == 0 { (shape.x0, shape.ty) } else { (shape.y0, shape.tx) };
                let owned = (last + 1).min(TILE);
                // SAFETY: this piece of the line belongs to this tile alone.
                unsafe {
                    views[0][axis].write_row(first, line, &u[..owned]);
                    views[1][axis].write_row(first, line, &v[..owned]);
                }
            }
        })?;
        Ok(lines)
    }

    pub(super) fn tiles(
        &self,
        [across, down]: &[Vec<[T; 2]>; 2],
        outputs: &[ViewMut<'_, T>; 2],
        meter: &Meter,
    ) -> Result<()> {
        let scratch = || Ok((TileWindow::new()?, SymbolsByPosition::new()?));
        self.for_tiles(scratch, |(window, spread), tile| {
            let shape = self.grid.tile(tile as u64);
            self.tile(window, spread, &self.tiles[tile], &shape, across, down, outputs);
            meter.add(1);
        })
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn tile(
        &self,
        window: &mut TileWindow<T>,
        spread: &mut SymbolsByPosition,
        codes: &QuantizedTile,
        shape: &TileShape,
        across: &[[T; 2]],
        down: &[[T; 2]],
        [out_u, out_v]: &[ViewMut<'_, T>; 2],
    ) {
        let (nx, ny) = (self.grid.nx as usize, self.grid.ny as usize);
        let (width, height) = (shape.last_x + 1, shape.last_y + 1);
        let (owned_x, owned_y) = shape.owned();
        for y in 0..owned_y {
            out_u.prefetch_row(shape.x0, shape.y0 + y as u64, owned_x);
            out_v.prefetch_row(shape.x0, shape.y0 + y as u64, owned_x);
        }
        window.width = width;
        window.height = height;
        for (row, line) in [(0, shape.ty as usize), (TILE, shape.ty as usize + 1)] {
            if row < height {
                for (x, &value) in across[line * nx + shape.x0 as usize..][..width].iter().enumerate() {
                    window.set(x, row, value);
                }
            }
        }
        for (column, line) in [(0, shape.tx as usize), (TILE, shape.tx as usize + 1)] {
            if column < width {
                for (y, &value) in down[line * ny + shape.y0 as usize..][..height].iter().enumerate() {
                    window.set(column, y, value);
                }
            }
        }
        spread.fill(codes, shape, self.coding);
        self.decoder.interior(
            window,
            |position, count| {
                codes.mask_state == 0 && spread.symbols[position..position + count].iter().all(|&s| s == ZERO)
            },
            |position, x, y| self.decoded(codes, spread, position, x, y),
        );
        if codes.mask_state != 0 || codes.symbols.contains(&STORED) {
            self.restore_hidden(window, spread, codes, (owned_x, owned_y));
        }
        for y in 0..owned_y {
            let row = y * PITCH..y * PITCH + owned_x;
            // SAFETY: the row belongs to this tile alone.
            unsafe {
                out_u.write_row(shape.x0, shape.y0 + y as u64, &window.u[row.clone()]);
                out_v.write_row(shape.x0, shape.y0 + y as u64, &window.v[row]);
            }
        }
    }

    /// Puts the values that predictions did not see in their places.
    pub(super) fn restore_hidden(
        &self,
        window: &mut TileWindow<T>,
        spread: &SymbolsByPosition,
        codes: &QuantizedTile,
        owned: (usize, usize),
    ) {
        for y in 0..owned.1 {
            for x in 0..owned.0 {
                let position = POSITION_OF[y * TILE + x] as usize;
                match codes.masked(x, y) {
                    Some(false) => window.set(x, y, [T::ZERO; 2]),
                    Some(true) => window.set(x, y, self.fill),
                    None if spread.symbols[position] == STORED => {
                        window.set(x, y, spread.stored(codes, position))
                    }
                    None => {}
                }
            }
        }
    }
}
