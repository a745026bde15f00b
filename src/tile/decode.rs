//! The hierarchical predictor's side of a tile: symbols to values, from the anchors to the finest level. No
//! reconstruction is tested here: the encoder did that.

use crate::entropy::differences;
use crate::entropy::quantized_tile::{QuantizedTile, TileCoding};
use crate::entropy::symbols::{self, Code, HIDDEN, STORED, ZERO};
use crate::grid::element::Real;
use crate::grid::missing::Missing;
use crate::grid::tiles::{Grid, TileShape, ANCHOR_LEVEL, CLOSED, POSITION_OF, TILE};
use crate::predict::anchors;
use crate::predict::interpolation::{along, row, Interpolant, PITCH, ROW};
use crate::predict::quantizer::Quantizer;
use crate::runtime::vectors::in_wide_vectors;
use crate::tile::lattice::LatticeLines;
use crate::tile::symbols_by_position::SymbolsByPosition;
use crate::tile::traversal::{for_interior, for_line, RowVisitor};
use crate::tile::window::TileWindow;

/// Reconstructs the vertices of one field. With `ONE` the codes are those of a stream of one component, which
/// takes the place of u; nothing looks at v.
pub struct Decoder<'a, T, const ONE: bool> {
    pub grid: Grid,
    pub coding: TileCoding,
    pub quantizer: &'a Quantizer<T>,
    pub interpolants: &'a [Interpolant<T>; ANCHOR_LEVEL],
    pub missing: Missing,
    /// The values of vertices under the fill mask.
    pub fill: [T; 2],
}

/// Whether a symbol says that the raw bits are the values of the vertex.
#[inline(always)]
fn is_verbatim<const ONE: bool>(symbol: u8) -> bool {
    symbol == STORED || (ONE && symbol == HIDDEN)
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

impl<T: Real, const ONE: bool> Decoder<'_, T, ONE> {
    /// The value of a tile's anchor as predictions see it, and its coarse codes, given those of the anchor that
    /// it follows.
    pub fn anchor(&self, codes: &QuantizedTile, before: [i32; 2]) -> ([T; 2], [i32; 2]) {
        let (symbol, raw) = codes.anchor(self.coding);
        if codes.masked(0, 0).is_some() {
            return ([T::ZERO; 2], [0; 2]);
        }
        if is_verbatim::<ONE>(symbol) {
            return (self.visible(symbol, raw), [0; 2]);
        }
        if symbol > STORED {
            return (self.difference(symbol, raw, [T::ZERO; 2]), [0; 2]);
        }
        let coded = symbols::decode(symbol, raw as u64);
        let refinement_bits = (raw >> self.coding.code_bits(symbol)) as u32;
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
            let of_u = along(interpolant, &u, k, step, k, step, last);
            let of_v = if ONE { of_u } else { along(interpolant, &v, k, step, k, step, last) };
            let (x, y) = if horizontal { (k, 0) } else { (0, k) };
            let decoded = self.decoded(codes, symbols, POSITION_OF[y * TILE + x] as usize, x, y);
            [u[k], v[k]] = self.value(decoded, [of_u, of_v], level);
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
        if !ONE {
            v.for_tile(shape, |x, y, value| window.v[y * PITCH + x] = value);
        }
        symbols.fill(codes, shape, self.coding);
        let last = (shape.last_x, shape.last_y);
        let mut interior = Interior { decoder: self, window, codes, symbols, last };
        in_wide_vectors(
            #[inline(always)]
            || for_interior(last, &mut interior),
        );
        let owned = shape.owned();
        let has_verbatim = codes.symbols.contains(&STORED) || (ONE && codes.symbols.contains(&HIDDEN));
        if codes.mask_state != 0 || has_verbatim {
            self.restore_hidden(window, symbols, codes, owned);
        }
        for y in 0..owned.1 {
            let row = y * PITCH..y * PITCH + owned.0;
            let u = &window.u[row.clone()];
            put(y, u, if ONE { u } else { &window.v[row] });
        }
    }

    /// The values of raw bits that are these values.
    #[inline(always)]
    fn verbatim(&self, raw: u128) -> [T; 2] {
        let [u, v] = differences::from_verbatim(raw);
        [u, if ONE { u } else { v }]
    }

    /// The values of a symbol for differences, whose prediction is given.
    #[inline(always)]
    fn difference(&self, symbol: u8, raw: u128, prediction: [T; 2]) -> [T; 2] {
        // With one component the other does not count.
        let raw = if ONE { raw | raw << differences::bits_of(symbol, T::BYTES) } else { raw };
        differences::decode(symbol, raw, prediction)
    }

    /// A stored value as predictions see it.
    #[inline(always)]
    fn visible(&self, symbol: u8, raw: u128) -> [T; 2] {
        let value = self.verbatim(raw);
        if symbol != STORED || self.missing.is_missing(value) {
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
        } else if is_verbatim::<ONE>(s) {
            Decoded::Given(
                self.visible(s, symbols.wide_raw(codes, position, self.coding.raw_bits(s, position))),
            )
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
                let decode = |c: usize| self.quantizer.decode(code.q[c], prediction[c], level, refinement);
                let u = decode(0);
                [u, if ONE { u } else { decode(1) }]
            }
            Decoded::Difference(symbol, raw) => self.difference(symbol, raw, prediction),
            Decoded::Given(value) => value,
        }
    }

    /// Puts a vertex into a window.
    #[inline(always)]
    fn set(&self, window: &mut TileWindow<T>, (x, y): (usize, usize), [u, v]: [T; 2]) {
        window.u[y * PITCH + x] = u;
        if !ONE {
            window.v[y * PITCH + x] = v;
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
                    Some(false) => self.set(window, (x, y), [T::ZERO; 2]),
                    Some(true) => self.set(window, (x, y), self.fill),
                    None if is_verbatim::<ONE>(symbols.symbols[position]) => {
                        let bits = self.coding.raw_bits(STORED, position);
                        let raw = symbols.wide_raw(codes, position, bits);
                        self.set(window, (x, y), self.verbatim(raw));
                    }
                    None => {}
                }
            }
        }
    }
}

/// Decodes the interior of a window, row by row.
struct Interior<'e, 'w, T, const ONE: bool> {
    decoder: &'e Decoder<'e, T, ONE>,
    window: &'w mut TileWindow<T>,
    codes: &'e QuantizedTile,
    symbols: &'e SymbolsByPosition,
    last: (usize, usize),
}

impl<T: Real, const ONE: bool> RowVisitor for Interior<'_, '_, T, ONE> {
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
        let v = if ONE { u } else { row::<T, STEP, PHASE>(interpolant, &window.v, y, count, *last) };
        let zeros = codes.mask_state == 0
            && symbols.symbols[position..position + count].iter().all(|&symbol| symbol == ZERO);
        if zeros {
            let decoded =
                |predictions: [T; ROW]| predictions.map(|p| decoder.quantizer.decode(0, p, level, 0));
            let u = decoded(u);
            let v = if ONE { u } else { decoded(v) };
            for (i, (&u, &v)) in u.iter().zip(&v).enumerate().take(count) {
                decoder.set(window, (first_x + 2 * STEP * i, y), [u, v]);
            }
        } else {
            for (i, (&u, &v)) in u.iter().zip(&v).enumerate().take(count) {
                let x = first_x + 2 * STEP * i;
                let decoded = decoder.decoded(codes, symbols, position + i, x, y);
                decoder.set(window, (x, y), decoder.value(decoded, [u, v], level));
            }
        }
    }
}
