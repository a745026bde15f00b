//! Builds a quantized tile of a volume from the integers of its vertices, which arrive in any order.

use crate::entropy::lanes::{lanes, lanes_above, LANES};
use crate::entropy::quantized_tile::{QuantizedTile, Shape, TileCoding};
use crate::entropy::symbols::ZERO;
use crate::entropy::triples::{self, RAW_BITS};
use crate::error::Result;
use crate::grid::volume_tiles::{VolumeTile, VOLUME_TILE_VERTICES};
use crate::runtime::memory;

/// Collects the codes of a tile; those of vertices that none are put for are zero.
pub struct VolumeTileBuilder {
    symbols: [u8; VOLUME_TILE_VERTICES],
    raw: [u64; VOLUME_TILE_VERTICES],
}

impl VolumeTileBuilder {
    /// Never on the stack, as a window.
    pub fn new() -> Result<Box<Self>> {
        const { assert!(ZERO == 0) };
        // SAFETY: bits 0 are numbers.
        unsafe { memory::zeroed(|_: *mut Self| {}) }
    }

    #[inline(always)]
    pub fn put(&mut self, position: usize, q: [i32; 3]) {
        let (symbol, raw) = triples::encode(q);
        (self.symbols[position], self.raw[position]) = (symbol, raw);
    }

    /// The tile in the order of the stream, without blocks that are all zero; the builder is empty afterwards.
    pub fn finish(
        &mut self,
        coding: TileCoding,
        shape: &VolumeTile,
        bound_shift: usize,
    ) -> Result<QuantizedTile> {
        let active = shape.active(coding, None);
        let mask_state = QuantizedTile::mask_state_of(bound_shift, 0, 0);
        let mut codes = QuantizedTile { mask_state, ..Default::default() };
        for (block, activity) in coding.blocks().iter().zip(&mut codes.activities) {
            let steps = block.start / LANES..block.end / LANES;
            let vertices: u32 = active[steps.clone()].iter().map(|active| active.count_ones()).sum();
            let cost = steps.clone().map(|step| self.cost(step, active[step])).sum();
            *activity = coding.activity_of(cost, vertices as u64);
            if *activity == 0 {
                continue;
            }
            memory::reserve_growing(&mut codes.symbols, vertices as usize)?;
            for step in steps {
                for lane in lanes(active[step]) {
                    let position = step * LANES + lane;
                    codes.symbols.push(self.symbols[position]);
                    if RAW_BITS[self.symbols[position] as usize] > 0 {
                        memory::push(&mut codes.raw, self.raw[position])?;
                    }
                }
            }
        }
        codes.symbols.shrink_to_fit();
        self.symbols.fill(ZERO);
        Ok(codes)
    }

    fn step(&self, step: usize) -> &[u8; LANES] {
        self.symbols[step * LANES..][..LANES].try_into().expect("the length is LANES")
    }

    /// Estimated number of bits of a step: three for each symbol that is not zero, and the raw bits.
    #[inline(always)]
    fn cost(&self, step: usize, active: u32) -> u64 {
        let nonzero = lanes_above(self.step(step), 1) & active;
        let raw = lanes(nonzero).map(|lane| RAW_BITS[self.step(step)[lane] as usize] as u64);
        3 * nonzero.count_ones() as u64 + raw.sum::<u64>()
    }
}
