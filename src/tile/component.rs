//! Splits the codes of a tile into those of u and those of v, its halves, and joins two halves. FORMAT.md,
//! section 4.7.
//!
//! The code (qu, qv) of a vertex becomes (qu, 0) in the half of u, and (qv, 0) in the half of v. No value is
//! quantised again, so the two halves give back the codes of the tile.

use crate::entropy::differences::bits_of;
use crate::entropy::lanes::lanes;
use crate::entropy::quantized_tile::{QuantizedTile, Shape, TileCoding};
use crate::entropy::symbols::{self, Code, EXACT, FIRST_WITH_RAW_BITS, HIDDEN, STORED, ZERO};
use crate::error::Result;
use crate::grid::missing::Missing;
use crate::grid::tiles::TileShape;
use crate::predict::anchors::CoarseCodes;
use crate::request::Component;
use crate::runtime::memory;

/// Symbol and raw bits of a vertex.
type Coded = (u8, u128);

/// The lowest `n` bits.
fn low(bits: u128, n: u32) -> u128 {
    bits & ((1 << n) - 1)
}

/// Reads the vertices of a tile in the order of the stream.
struct Reader<'a> {
    codes: &'a QuantizedTile,
    coding: TileCoding,
    symbols: &'a [u8],
    raw: &'a [u64],
}

impl<'a> Reader<'a> {
    fn new(codes: &'a QuantizedTile, coding: TileCoding) -> Self {
        Reader { codes, coding, symbols: &codes.symbols, raw: &codes.raw }
    }

    /// The next active vertex, which is in block `block`.
    fn next(&mut self, block: usize, position: usize) -> Coded {
        if self.codes.activities[block] == 0 {
            return (ZERO, 0);
        }
        let symbol = self.symbols[0];
        self.symbols = &self.symbols[1..];
        if symbol < FIRST_WITH_RAW_BITS {
            return (symbol, 0);
        }
        let words = self.coding.raw_bits(symbol, position).div_ceil(64) as usize;
        let here;
        (here, self.raw) = self.raw.split_at(words);
        (symbol, here.iter().rev().fold(0, |value, &word| value << 64 | word as u128))
    }
}

/// A tile with the masks of `from[0]`: `map` makes each vertex from the same vertex of every tile in `from`.
/// The result is `None` if `map` returns `None` for a vertex.
fn mapped<const N: usize>(
    from: [(&QuantizedTile, TileCoding); N],
    coding: TileCoding,
    shape: &TileShape,
    mut map: impl FnMut(usize, [Coded; N]) -> Option<Coded>,
) -> Result<Option<QuantizedTile>> {
    let QuantizedTile { mask_state, ref masks, .. } = *from[0].0;
    let masks = masks.as_ref().map(|masks| memory::boxed((**masks).clone())).transpose()?;
    let mut to = QuantizedTile { mask_state, masks, ..Default::default() };
    if !QuantizedTile::has_codes(mask_state) {
        return Ok(Some(to));
    }
    let active = shape.active(coding, to.masks.as_deref());
    let mut readers = from.map(|(codes, coding)| Reader::new(codes, coding));
    for (block, positions) in coding.blocks().iter().enumerate() {
        if readers.iter().all(|reader| reader.codes.activities[block] == 0) {
            continue;
        }
        let (symbols, mut cost) = (to.symbols.len(), 0);
        memory::reserve(&mut to.symbols, positions.len())?;
        for step in positions.start / 32..positions.end / 32 {
            for lane in lanes(active[step]) {
                let position = 32 * step + lane;
                let vertex = readers.each_mut().map(|reader| reader.next(block, position));
                let Some((symbol, raw)) = map(position, vertex) else { return Ok(None) };
                to.symbols.push(symbol);
                let bits = coding.raw_bits(symbol, position);
                for word in 0..bits.div_ceil(64) {
                    memory::push(&mut to.raw, (raw >> (64 * word)) as u64)?;
                }
                cost += 3 * (symbol != ZERO) as u64 + bits as u64;
            }
        }
        to.activities[block] = coding.activity_of(cost, (to.symbols.len() - symbols) as u64);
        if to.activities[block] == 0 {
            to.symbols.truncate(symbols);
        }
    }
    Ok(Some(to))
}

/// The code of a symbol below [`STORED`], and its refinement bits.
fn code_of(coding: TileCoding, (symbol, raw): Coded) -> (Code, u128) {
    let bits = coding.code_bits(symbol);
    (symbols::decode(symbol, low(raw, bits) as u64), raw >> bits)
}

/// Symbol and raw bits of a code, behind which refinement bits may follow.
fn coded(coding: TileCoding, code: Code, refinement_bits: u128) -> Coded {
    let (symbol, raw) = symbols::encode(code);
    let bits = coding.code_bits(symbol);
    (symbol, low(raw as u128, bits) | refinement_bits << bits)
}

/// The properties that both halves of a field share.
#[derive(Clone, Copy)]
pub struct Halves {
    /// Of the stream of both components.
    pub coding: TileCoding,
    pub missing: Missing,
    /// Whether the code 0 stands for the prediction at every refinement. Where the bin width overflows to
    /// infinity it does not, because 0 times infinity is NaN.
    pub finite_widths: bool,
}

impl Halves {
    fn element_bits(&self) -> u32 {
        8 * self.coding.element_bytes as u32
    }

    /// The codes of one component of a tile.
    pub fn split(
        &self,
        codes: &QuantizedTile,
        component: Component,
        shape: &TileShape,
    ) -> Result<QuantizedTile> {
        let coding = self.coding;
        let half = mapped([(codes, coding)], coding.of_one(), shape, |position, [vertex]| {
            Some(self.half(vertex, component as usize, position))
        })?;
        Ok(half.expect("every vertex has two halves"))
    }

    fn half(&self, (symbol, raw): Coded, component: usize, position: usize) -> Coded {
        if symbol == ZERO {
            return (ZERO, 0);
        }
        if symbol == STORED {
            let bits = self.element_bits();
            let values = [low(raw, bits), raw >> bits].map(|value| value as u64);
            let [own, other] = [component, 1 - component].map(|c| self.is_missing(values[c]));
            return (if other && !own { HIDDEN } else { STORED }, values[component] as u128);
        }
        if symbol > STORED {
            let bits = bits_of(symbol, self.coding.element_bytes);
            return (symbol, low(raw >> (component as u32 * bits), bits));
        }
        let (code, refinement_bits) = code_of(self.coding, (symbol, raw));
        let q = code.q[component];
        let bits = 2 * code.refinement as u32;
        if self.coding.has_refinement_bits(position) {
            let own = low(refinement_bits >> (component as u32 * bits), bits);
            return coded(self.coding.of_one(), Code { q: [q, 0], ..code }, own);
        }
        // Such a half is the prediction; the other half, which is not 0, has the refinement.
        if q == 0 && code.q != [0; 2] && self.finite_widths {
            return (ZERO, 0);
        }
        coded(self.coding.of_one(), Code { q: [q, 0], ..code }, 0)
    }

    fn is_missing(&self, bits: u64) -> bool {
        match self.coding.element_bytes {
            4 => self.missing.is_missing([f32::from_bits(bits as u32); 2]),
            _ => self.missing.is_missing([f64::from_bits(bits); 2]),
        }
    }

    /// The codes of both components of a tile; None if these are not those of one tile.
    pub fn join(&self, halves: [&QuantizedTile; 2], shape: &TileShape) -> Result<Option<QuantizedTile>> {
        let [u, v] = halves;
        if u.mask_state != v.mask_state || u.masks != v.masks {
            return Ok(None);
        }
        let of_one = self.coding.of_one();
        mapped([(u, of_one), (v, of_one)], self.coding, shape, |position, vertex| {
            self.joined(vertex, position)
        })
    }

    fn joined(&self, [u, v]: [Coded; 2], position: usize) -> Option<Coded> {
        if (u.0, v.0) == (ZERO, ZERO) {
            return Some((ZERO, 0));
        }
        let is_value = |symbol| symbol == STORED || symbol == HIDDEN;
        if is_value(u.0) && is_value(v.0) {
            return Some((STORED, u.1 | v.1 << self.element_bits()));
        }
        if u.0 >= STORED || v.0 >= STORED {
            let bits = bits_of(u.0.max(symbols::FIRST_DIFFERENCE), self.coding.element_bytes);
            return (u.0 == v.0).then_some((u.0, u.1 | v.1 << bits));
        }
        let codes = [u, v].map(|half| code_of(self.coding.of_one(), half));
        let refinement = codes[0].0.refinement.max(codes[1].0.refinement);
        // A half that is the prediction has lost its refinement.
        let agrees = |(symbol, _): Coded, code: Code| {
            code.refinement == refinement || symbol == ZERO && !self.coding.has_refinement_bits(position)
        };
        let agree = agrees(u, codes[0].0) && agrees(v, codes[1].0);
        let code = Code { refinement, q: codes.map(|(code, _)| code.q[0]) };
        let joined = coded(self.coding, code, codes[0].1 | codes[1].1 << (2 * refinement as u32));
        (agree && self.coding.allows(joined.0)).then_some(joined)
    }
}

/// The coarse codes of the anchor of a tile, given those of the anchor that it follows.
pub fn coarse(coding: TileCoding, codes: &QuantizedTile, before: CoarseCodes) -> CoarseCodes {
    let (symbol, raw) = codes.anchor(coding);
    if codes.masked(0, 0).is_some() || symbols::refinement_of(symbol) == EXACT {
        return [0; 2];
    }
    let code = code_of(coding, (symbol, raw)).0;
    [0, 1].map(|c| before[c].wrapping_add(code.q[c]))
}
