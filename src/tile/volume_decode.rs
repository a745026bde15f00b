//! The integers of a quantized tile of a volume by position, as decoding needs them.

use crate::entropy::lanes::{lanes, LANES};
use crate::entropy::quantized_tile::{QuantizedTile, Shape, TileCoding};
use crate::entropy::symbols::ZERO;
use crate::entropy::triples::{self, RAW_BITS};
use crate::error::Result;
use crate::grid::volume_tiles::{VolumeTile, VOLUME_TILE_VERTICES};
use crate::runtime::memory;

/// Symbols by position, and where their raw bits are.
pub struct SymbolsOfVolume {
    symbols: [u8; VOLUME_TILE_VERTICES],
    raw_at: [u16; VOLUME_TILE_VERTICES],
}

impl SymbolsOfVolume {
    /// Never on the stack.
    pub fn new() -> Result<Box<Self>> {
        // SAFETY: bits 0 are numbers.
        unsafe { memory::zeroed(|_: *mut Self| {}) }
    }

    /// Spreads the symbols of a tile.
    pub fn fill(&mut self, codes: &QuantizedTile, shape: &VolumeTile, coding: TileCoding) {
        let active = shape.active(coding, None);
        let (mut next, mut raw) = (0, 0);
        for (block, &activity) in coding.blocks().iter().zip(&codes.activities) {
            if activity == 0 {
                self.symbols[block.clone()].fill(ZERO);
                continue;
            }
            for step in block.start / LANES..block.end / LANES {
                for lane in lanes(active[step]) {
                    let (position, symbol) = (step * LANES + lane, codes.symbols[next]);
                    (self.symbols[position], self.raw_at[position]) = (symbol, raw as u16);
                    next += 1;
                    raw += (RAW_BITS[symbol as usize] > 0) as usize;
                }
            }
        }
    }

    /// The integers of a position.
    #[inline(always)]
    pub fn integers(&self, codes: &QuantizedTile, position: usize) -> [i32; 3] {
        let symbol = self.symbols[position];
        if RAW_BITS[symbol as usize] == 0 {
            return triples::decode(symbol, 0);
        }
        triples::decode(symbol, codes.raw[self.raw_at[position] as usize])
    }
}
