//! Builds a quantized tile from the codes of its vertices, which arrive in any order.

use crate::entropy::differences;
use crate::entropy::lanes::{lanes, lanes_above, LANES};
use crate::entropy::quantized_tile::{QuantizedTile, Shape, TileCoding, ALL, NONE, SOME};
use crate::entropy::symbols::{
    self, Code, EXACT, FIRST_DIFFERENCE, FIRST_WITH_RAW_BITS, MASKED, PREDICTED, RAW_BITS, STORED, ZERO,
};
use crate::error::Result;
use crate::grid::element::Real;
use crate::grid::field::View;
use crate::grid::masks::{MaskRows, Masks};
use crate::grid::tiles::{TileShape, TILE_VERTICES};
use crate::predict::interpolation::ROW;
use crate::runtime::memory;

/// Codes of a row of vertices. Entries beyond the length of the row are undefined.
pub struct RowCodes {
    pub refinement: [u8; ROW],
    pub q: [[i32; ROW]; 2],
}

impl Default for RowCodes {
    fn default() -> Self {
        RowCodes { refinement: [0; ROW], q: [[0; ROW]; 2] }
    }
}

impl RowCodes {
    #[inline(always)]
    pub fn get(&self, i: usize) -> Code {
        Code { refinement: self.refinement[i], q: [self.q[0][i], self.q[1][i]] }
    }

    /// Whether the first `count` codes are all (0, 0) with refinement 0.
    #[inline(always)]
    pub fn are_zero(&self, count: usize) -> bool {
        let any = |q: &[i32; ROW]| q[..count].iter().fold(0, |any, q| any | q);
        any(&self.q[0]) | any(&self.q[1]) == 0 && self.refinement == [0; ROW]
    }

    /// Whether a code has a symbol without raw bits.
    #[inline(always)]
    pub fn is_small(&self, i: usize) -> bool {
        (self.refinement[i] == 0) & symbols::is_small(self.q[0][i]) & symbols::is_small(self.q[1][i])
    }
}

/// Collects the codes of a tile in any order.
pub struct QuantizedTileBuilder {
    pub symbols: [u8; TILE_VERTICES],
    raw: [u64; TILE_VERTICES],
    /// The raw bits of stored vertices beyond 64.
    raw_high: [u64; TILE_VERTICES],
    /// Of coarse codes with a refinement above 0.
    refinement_bits: [u32; TILE_VERTICES],
    /// Raw elements of the tile that is put in order: two for each vertex at most.
    words: Vec<u64>,
}

impl QuantizedTileBuilder {
    /// Never on the stack, as a window.
    pub fn new() -> Result<Box<Self>> {
        const { assert!(ZERO == 0) };
        let words = memory::with_capacity(2 * TILE_VERTICES)?;
        // SAFETY: bits 0 are numbers, and the vector is written into its place.
        unsafe { memory::zeroed(|place: *mut Self| (&raw mut (*place).words).write(words)) }
    }

    #[inline(always)]
    pub fn put(&mut self, position: usize, code: Code) {
        if code.refinement >= EXACT {
            debug_assert!([EXACT, MASKED, PREDICTED].contains(&code.refinement));
            self.put_stored(position, code);
            return;
        }
        let (symbol, raw) = symbols::encode(code);
        self.symbols[position] = symbol;
        if symbol != ZERO {
            self.raw[position] = raw;
        }
    }

    /// A vertex that is stored; `finish` has its values and finds the symbol of differences.
    #[cold]
    fn put_stored(&mut self, position: usize, code: Code) {
        let predicted = code.refinement == PREDICTED;
        self.symbols[position] = if predicted { FIRST_DIFFERENCE } else { STORED };
        self.raw[position] = code.q[0] as u32 as u64 | (code.q[1] as u32 as u64) << 32;
    }

    /// Symbol and raw bits of a vertex that is stored, with its values.
    fn stored<T: Real>(&self, position: usize, values: [T; 2]) -> (u8, u128) {
        if self.symbols[position] == STORED {
            return (STORED, differences::verbatim(values));
        }
        let heads = self.raw[position];
        differences::encode(values, [heads as i32, (heads >> 32) as i32])
    }

    /// The codes of a row of `count` vertices at successive positions.
    #[inline(always)]
    pub fn put_row(&mut self, position: usize, count: usize, codes: &RowCodes) {
        if codes.are_zero(count) {
            self.symbols[position..position + count].fill(ZERO);
            return;
        }
        let mut symbols = [ZERO; ROW];
        let all_small = symbols::encode_all_small(&mut symbols, &codes.q[0], &codes.q[1]);
        self.symbols[position..position + count].copy_from_slice(&symbols[..count]);
        if all_small && codes.refinement == [0; ROW] {
            return;
        }
        let mut rest = 0u32;
        for i in 0..ROW {
            let has_symbol = (i < count) & (codes.refinement[i] != MASKED);
            rest |= ((has_symbol & !codes.is_small(i)) as u32) << i;
        }
        while rest != 0 {
            let i = rest.trailing_zeros() as usize % ROW;
            rest &= rest - 1;
            self.put(position + i, codes.get(i));
        }
    }

    /// The codes with refinement 0 of 32 vertices at successive positions.
    #[inline(always)]
    pub fn put_differences(&mut self, position: usize, [u, v]: &[[i32; LANES]; 2]) {
        let symbols: &mut [u8; LANES] =
            (&mut self.symbols[position..position + LANES]).try_into().expect("the length is LANES");
        if !symbols::encode_all_small(symbols, u, v) {
            let large: [u8; LANES] =
                std::array::from_fn(|i| !(symbols::is_small(u[i]) & symbols::is_small(v[i])) as u8);
            for i in lanes(lanes_above(&large, 1)) {
                self.put(position + i, Code { refinement: 0, q: [u[i], v[i]] });
            }
        }
    }

    fn step(&self, step: usize) -> &[u8; LANES] {
        self.symbols[step * LANES..][..LANES].try_into().expect("the length is LANES")
    }

    /// The refinement bits below a coarse code (see `predict::anchors`).
    pub fn put_refinement_bits(&mut self, position: usize, refinement_bits: u32) {
        self.refinement_bits[position] = refinement_bits;
    }

    /// The tile in the order of the stream, without blocks that are all zero. Values that are stored are read
    /// from the original field.
    pub fn finish<T: Real>(
        &mut self,
        coding: TileCoding,
        shape: &TileShape,
        bound_shift: usize,
        masks: Masks,
        [u, v]: [View<'_, T>; 2],
    ) -> Result<QuantizedTile> {
        let coverages = (coverage(&masks.zero, shape), coverage(&masks.fill, shape));
        let mask_state = QuantizedTile::mask_state_of(bound_shift, coverages.0, coverages.1);
        let masks = if coverages == (NONE, NONE) { None } else { Some(memory::boxed(masks)?) };
        let mut codes = QuantizedTile { mask_state, masks, ..Default::default() };
        if !QuantizedTile::has_codes(mask_state) {
            return Ok(codes);
        }
        let values = |position: usize| {
            let (x, y) = coding.vertex(position);
            let (x, y) = ((shape.x0 + x as u64) as i64, (shape.y0 + y as u64) as i64);
            [&u, &v].map(|view| view.get(x, y))
        };
        let active = shape.active(coding, codes.masks.as_deref());
        let mut count = 0;
        for (block, activity) in coding.blocks().iter().zip(&mut codes.activities) {
            let (mut cost, mut vertices) = (0, 0);
            for step in block.start / LANES..block.end / LANES {
                vertices += active[step].count_ones() as u64;
                self.code_stored_values(step, active[step], values);
                cost += self.cost(coding, step, active[step]);
            }
            *activity = coding.activity_of(cost, vertices);
            count += if *activity > 0 { vertices as usize } else { 0 };
        }
        // A field of noise holds as much here as the input does: no room to spare.
        codes.symbols = memory::with_capacity(count)?;
        let mut words = std::mem::take(&mut self.words);
        words.clear();
        let blocks = coding.blocks().iter().zip(&codes.activities);
        for (block, _) in blocks.filter(|&(_, &activity)| activity > 0) {
            for step in block.start / LANES..block.end / LANES {
                self.append_step(coding, step, active[step], &mut codes.symbols, &mut words);
            }
        }
        codes.raw = memory::copied(&words)?;
        self.words = words;
        Ok(codes)
    }

    /// Gives the stored ones of the active vertices of a step their symbols and raw bits.
    #[inline(always)]
    fn code_stored_values<T: Real>(&mut self, step: usize, active: u32, values: impl Fn(usize) -> [T; 2]) {
        // Symbols of 128 and above are found together, those of stored vertices are among them.
        for lane in lanes(lanes_above(self.step(step), 128) & active) {
            let position = step * LANES + lane;
            if self.symbols[position] >= STORED {
                let (symbol, raw) = self.stored(position, values(position));
                self.symbols[position] = symbol;
                self.raw[position] = raw as u64;
                self.raw_high[position] = (raw >> 64) as u64;
            }
        }
    }

    /// Estimated number of bits of a step: three for each symbol that is not zero, and the raw bits.
    #[inline(always)]
    fn cost(&self, coding: TileCoding, step: usize, active: u32) -> u64 {
        let symbols = self.step(step);
        let nonzero = (lanes_above(symbols, 1) & active).count_ones() as u64;
        let with_raw = lanes(lanes_above(symbols, FIRST_WITH_RAW_BITS) & active);
        let raw = with_raw.map(|lane| coding.raw_bits(symbols[lane], step * LANES + lane) as u64);
        3 * nonzero + raw.sum::<u64>()
    }

    /// Appends the symbols of the active vertices of a step, and their raw elements.
    #[inline(always)]
    fn append_step(
        &self,
        coding: TileCoding,
        step: usize,
        active: u32,
        out: &mut Vec<u8>,
        words: &mut Vec<u64>,
    ) {
        let symbols = self.step(step);
        if active == u32::MAX {
            out.extend_from_slice(symbols);
        } else {
            out.extend(lanes(active).map(|lane| symbols[lane]));
        }
        for lane in lanes(lanes_above(symbols, FIRST_WITH_RAW_BITS) & active) {
            let position = step * LANES + lane;
            let bits = coding.raw_bits(symbols[lane], position);
            if bits > 0 {
                let raw = self.raw_bits(symbols[lane], position, bits);
                words.push(raw as u64);
                if bits > 64 {
                    words.push((raw >> 64) as u64);
                }
            }
        }
    }

    /// All `bits` raw bits of a symbol: those of stored values, or those of a code and above them its
    /// refinement bits, if it has some.
    #[inline(always)]
    fn raw_bits(&self, symbol: u8, position: usize, bits: u32) -> u128 {
        if symbol >= STORED {
            return self.raw[position] as u128 | (self.raw_high[position] as u128) << 64;
        }
        let code_bits = RAW_BITS[symbol as usize] as u32;
        let refinement_bits = if bits > code_bits { self.refinement_bits[position] as u128 } else { 0 };
        self.raw[position] as u128 | refinement_bits << code_bits
    }
}

/// How much of the owned vertices of a tile a mask covers.
fn coverage(rows: &MaskRows, shape: &TileShape) -> u8 {
    let (width, height) = shape.owned();
    let covered: u32 = rows.iter().map(|row| row.count_ones()).sum();
    match covered as usize {
        0 => NONE,
        n if n == width * height => ALL,
        _ => SOME,
    }
}
