//! The symbols of a quantized tile by position, as decoding needs them.

use crate::entropy::lanes::{lanes, lanes_above, LANES};
use crate::entropy::quantized_tile::{QuantizedTile, Shape, TileCoding};
use crate::entropy::symbols::{self, ZERO};
use crate::entropy::tables::BLOCKS;
use crate::error::Result;
use crate::grid::tiles::{TileShape, TILE_VERTICES};
use crate::runtime::memory;

/// The symbols of a tile, and where the raw bits of each are.
pub struct SymbolsByPosition {
    pub symbols: [u8; TILE_VERTICES],
    raw_at: [u16; TILE_VERTICES],
}

impl SymbolsByPosition {
    /// Never on the stack, as a window.
    pub fn new() -> Result<Box<Self>> {
        const { assert!(ZERO == 0) };
        // SAFETY: bits 0 are numbers.
        unsafe { memory::zeroed(|_| ()) }
    }

    /// Takes the symbols of a tile.
    pub fn fill(&mut self, codes: &QuantizedTile, shape: &TileShape, coding: TileCoding) {
        let active = shape.active(coding, codes.masks.as_deref());
        let (mut next, mut raw) = (0, 0u16);
        for (block, &activity) in BLOCKS.iter().zip(&codes.activities) {
            if activity == 0 {
                self.symbols[block.clone()].fill(ZERO);
                continue;
            }
            for step in block.start / LANES..block.end / LANES {
                let mask = active[step];
                let symbols = &mut self.symbols[step * LANES..][..LANES];
                if mask == u32::MAX {
                    symbols.copy_from_slice(&codes.symbols[next..next + LANES]);
                    next += LANES;
                } else {
                    symbols.fill(ZERO);
                    for lane in lanes(mask) {
                        symbols[lane] = codes.symbols[next];
                        next += 1;
                    }
                }
                if codes.raw.is_empty() {
                    continue;
                }
                let symbols = symbols.first_chunk().expect("the length is LANES");
                for lane in lanes(lanes_above(symbols, symbols::FIRST_WITH_RAW_BITS)) {
                    let position = step * LANES + lane;
                    self.raw_at[position] = raw;
                    raw += coding.raw_bits(symbols[lane], position).div_ceil(64) as u16;
                }
            }
        }
    }

    /// First 64 raw bits of a position. The symbol must be of a kind that can have raw bits; the result is
    /// undefined if it has none (a pair of zeros with a refinement above 0).
    #[inline(always)]
    pub fn raw(&self, codes: &QuantizedTile, position: usize) -> u64 {
        codes.raw.get(self.raw_at[position] as usize).copied().unwrap_or(0)
    }

    /// All raw bits of a position, which has `bits` of them.
    #[inline(always)]
    pub fn wide_raw(&self, codes: &QuantizedTile, position: usize, bits: u32) -> u128 {
        let at = self.raw_at[position] as usize;
        let high = if bits > 64 { codes.raw[at + 1] } else { 0 };
        codes.raw[at] as u128 | (high as u128) << 64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entropy::symbols::{Code, RAW_BITS};
    use crate::grid::tiles::Grid;
    use crate::request::Predictor;

    #[test]
    fn symbols_above_the_first_with_raw_bits_may_have_none() {
        // A tightened vertex that decodes to its prediction, after all elements of `raw`.
        let (tightened, bits) = symbols::encode(Code { refinement: 1, q: [0; 2] });
        assert!(tightened >= symbols::FIRST_WITH_RAW_BITS && RAW_BITS[tightened as usize] == 0 && bits == 0);
        let mut codes =
            QuantizedTile { activities: [0, 0, 1], symbols: vec![ZERO; 768], ..Default::default() };
        *codes.symbols.last_mut().unwrap() = tightened;
        let mut spread = SymbolsByPosition::new().unwrap();
        let coding = TileCoding::new(Predictor::Hierarchical, 4);
        spread.fill(&codes, &Grid::new(64, 64).tile(0), coding);
        let code = symbols::decode(tightened, spread.raw(&codes, TILE_VERTICES - 1));
        assert_eq!(code, Code { refinement: 1, q: [0; 2] });
    }
}
