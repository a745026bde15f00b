//! The hierarchical predictor's side of a tile: symbols to values, from the anchors to the finest level. No
//! reconstruction is tested here: the encoder did that.

use crate::entropy::differences;
use crate::entropy::quantized_tile::{QuantizedTile, TileCoding};
use crate::entropy::symbols::{self, Code, STORED, ZERO};
use crate::grid::element::Real;
use crate::grid::missing::Missing;
use crate::grid::tiles::{Grid, TileShape, ANCHOR_LEVEL, CLOSED, POSITION_OF, TILE};
use crate::predict::anchors;
use crate::predict::interpolation::{along, row, Interpolant, PITCH};
use crate::predict::quantizer::Quantizer;
use crate::runtime::vectors::in_wide_vectors;
use crate::tile::lattice::LatticeLines;
use crate::tile::symbols_by_position::SymbolsByPosition;
use crate::tile::traversal::{for_interior, for_line, RowVisitor};
use crate::tile::window::TileWindow;

/// Reconstructs the vertices of one field.
pub struct Decoder<'a, T> {
    pub grid: Grid,
    pub coding: TileCoding,
    pub quantizer: &'a Quantizer<T>,
    pub interpolants: &'a [Interpolant<T>; ANCHOR_LEVEL],
    pub missing: Missing,
    /// The values of vertices under the fill mask.
    pub fill: [T; 2],
}

/// A vertex as the symbols describe it.
#[derive(Clone, Copy)]
enum Decoded<T> {
    Coded(Code),
    /// Symbol and raw bits of differences to the prediction.
    Difference(u8, u128),
    /// The value as predictions see it: (0, 0) for a masked or non-finite vertex.
    Given([T; 2]),
}

impl<T: Real> Decoder<'_, T> {
    /// The value of a tile's anchor as predictions see it, and its coarse codes, given those of the anchor that
    /// it follows.
    pub fn anchor(&self, codes: &QuantizedTile, before: [i32; 2]) -> ([T; 2], [i32; 2]) {
        let (symbol, raw) = codes.anchor(self.coding);
        if codes.masked(0, 0).is_some() {
            return ([T::ZERO; 2], [0; 2]);
        }
        if symbol == STORED {
            return (self.visible(differences::from_verbatim(raw)), [0; 2]);
        }
        if symbol > STORED {
            return (differences::decode(symbol, raw, [T::ZERO; 2]), [0; 2]);
        }
        let coded = symbols::decode(symbol, raw as u64);
        let refinement_bits = (raw >> symbols::RAW_BITS[symbol as usize]) as u32;
        let (code, coarse) = anchors::restore(coded, refinement_bits, before);
        let refinement = code.refinement as usize;
        (code.q.map(|q| self.quantizer.decode(q, T::ZERO, ANCHOR_LEVEL, refinement)), coarse)
    }

    /// The row line above a tile (`horizontal`) or the column line to its left: u and v from its anchor to
    /// that of the next tile, whose value counts where there is one.
    pub fn line(
        &self,
        horizontal: bool,
        (codes, symbols): (&QuantizedTile, &SymbolsByPosition),
        last: usize,
        [anchor, next]: [[T; 2]; 2],
    ) -> [[T; CLOSED]; 2] {
        let (mut u, mut v) = ([T::ZERO; CLOSED], [T::ZERO; CLOSED]);
        [u[0], v[0]] = anchor;
        [u[TILE], v[TILE]] = next;
        for_line(last, |level, step, k| {
            let interpolant = &self.interpolants[level];
            let prediction = [
                along(interpolant, &u, k, step, k, step, last),
                along(interpolant, &v, k, step, k, step, last),
            ];
            let (x, y) = if horizontal { (k, 0) } else { (0, k) };
            let decoded = self.decoded(codes, symbols, POSITION_OF[y * TILE + x] as usize, x, y);
            [u[k], v[k]] = self.value(decoded, prediction, level);
        });
        [u, v]
    }

    /// A tile whose lattice lines are decoded: its rows, as `put(row, u, v)`.
    pub fn tile(
        &self,
        window: &mut TileWindow<T>,
        symbols: &mut SymbolsByPosition,
        codes: &QuantizedTile,
        shape: &TileShape,
        [u, v]: &[LatticeLines<T>; 2],
        mut put: impl FnMut(usize, &[T], &[T]),
    ) {
        (window.width, window.height) = (shape.last_x + 1, shape.last_y + 1);
        u.for_tile(shape, |x, y, value| window.u[y * PITCH + x] = value);
        v.for_tile(shape, |x, y, value| window.v[y * PITCH + x] = value);
        symbols.fill(codes, shape, self.coding);
        let last = (shape.last_x, shape.last_y);
        let mut interior = Interior { decoder: self, window, codes, symbols, last };
        in_wide_vectors(
            #[inline(always)]
            || for_interior(last, &mut interior),
        );
        let owned = shape.owned();
        if codes.mask_state != 0 || codes.symbols.contains(&STORED) {
            self.restore_hidden(window, symbols, codes, owned);
        }
        for y in 0..owned.1 {
            let row = y * PITCH..y * PITCH + owned.0;
            put(y, &window.u[row.clone()], &window.v[row]);
        }
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

    /// Looks up a vertex.
    #[inline(always)]
    fn decoded(
        &self,
        codes: &QuantizedTile,
        symbols: &SymbolsByPosition,
        position: usize,
        x: usize,
        y: usize,
    ) -> Decoded<T> {
        let s = symbols.symbols[position];
        if s == ZERO {
            if codes.mask_state != 0 && codes.masked(x, y).is_some() {
                Decoded::Given([T::ZERO; 2])
            } else {
                Decoded::Coded(Code::default())
            }
        } else if s < symbols::FIRST_WITH_RAW_BITS {
            Decoded::Coded(symbols::decode(s, 0))
        } else if s == STORED {
            Decoded::Given(self.visible(symbols.stored(codes, position)))
        } else if s > STORED {
            Decoded::Difference(s, symbols.wide_raw(codes, position, self.coding.raw_bits(s, position)))
        } else {
            Decoded::Coded(symbols::decode(s, symbols.raw(codes, position)))
        }
    }

    #[inline(always)]
    fn value(&self, decoded: Decoded<T>, prediction: [T; 2], level: usize) -> [T; 2] {
        match decoded {
            Decoded::Coded(code) => {
                let refinement = code.refinement as usize;
                [
                    self.quantizer.decode(code.q[0], prediction[0], level, refinement),
                    self.quantizer.decode(code.q[1], prediction[1], level, refinement),
                ]
            }
            Decoded::Difference(symbol, raw) => differences::decode(symbol, raw, prediction),
            Decoded::Given(value) => value,
        }
    }

    /// Puts the values that predictions did not see in their places.
    fn restore_hidden(
        &self,
        window: &mut TileWindow<T>,
        symbols: &SymbolsByPosition,
        codes: &QuantizedTile,
        owned: (usize, usize),
    ) {
        for y in 0..owned.1 {
            for x in 0..owned.0 {
                let position = POSITION_OF[y * TILE + x] as usize;
                match codes.masked(x, y) {
                    Some(false) => window.set(x, y, [T::ZERO; 2]),
                    Some(true) => window.set(x, y, self.fill),
                    None if symbols.symbols[position] == STORED => {
                        window.set(x, y, symbols.stored(codes, position))
                    }
                    None => {}
                }
            }
        }
    }
}

/// Decodes the interior of a window, row by row.
struct Interior<'e, 'w, T> {
    decoder: &'e Decoder<'e, T>,
    window: &'w mut TileWindow<T>,
    codes: &'e QuantizedTile,
    symbols: &'e SymbolsByPosition,
    last: (usize, usize),
}

impl<T: Real> RowVisitor for Interior<'_, '_, T> {
    #[inline(always)]
    fn visit<const STEP: usize, const PHASE: usize>(
        &mut self,
        first_x: usize,
        y: usize,
        position: usize,
        count: usize,
    ) {
        let Interior { decoder, window, codes, symbols, last } = self;
        let level = STEP.trailing_zeros() as usize;
        let interpolant = &decoder.interpolants[level];
        let u = row::<T, STEP, PHASE>(interpolant, &window.u, y, count, *last);
        let v = row::<T, STEP, PHASE>(interpolant, &window.v, y, count, *last);
        let zeros = codes.mask_state == 0
            && symbols.symbols[position..position + count].iter().all(|&symbol| symbol == ZERO);
        if zeros {
            let decoded = [u, v].map(|p| p.map(|p| decoder.quantizer.decode(0, p, level, 0)));
            for (i, (&u, &v)) in decoded[0].iter().zip(&decoded[1]).enumerate().take(count) {
                window.set(first_x + 2 * STEP * i, y, [u, v]);
            }
        } else {
            for (i, (&u, &v)) in u.iter().zip(&v).enumerate().take(count) {
                let x = first_x + 2 * STEP * i;
                let decoded = decoder.decoded(codes, symbols, position + i, x, y);
                window.set(x, y, decoder.value(decoded, [u, v], level));
            }
        }
    }
}
