//! The codes of one tile in the order of the stream: mask state, activities, symbols, raw bits.

use crate::entropy::lanes::{lanes, lanes_above, LANES};
use crate::entropy::symbols::{self, Code, EXACT, MASKED, RAW_BITS, STORED, ZERO};
use crate::entropy::tables::{activity_of, row_activity_of, ACTIVITIES, BLOCKS, ROW_ACTIVITIES, ROW_BLOCK};
use crate::error::Result;
use crate::grid::element::Real;
use crate::grid::field::View;
use crate::grid::tiles::{TileShape, POSITIONS, POSITION_OF, TILE, TILE_VERTICES};
use crate::predict::interpolation::ROW;
use crate::predict::lorenzo::BOUND_SHIFTS;
use crate::request::Predictor;
use crate::runtime::memory;
use crate::tile::encode::RowCodes;
use std::ops::Range;

/// How much of a tile a mask covers; a tile's mask state is 9 * bound shift + 3 * (state of zero) + (state of
/// fill), the bound shift being that of `lorenzo`.
pub const NONE: u8 = 0;
pub const ALL: u8 = 1;
pub const SOME: u8 = 2;
/// Pairs of states.
const MASK_STATES: u8 = 9;

/// Rows of a mask; bit x of row y is the vertex (x, y) of the tile.
pub type MaskRows = [u32; TILE];

/// The masks of a tile: vertices that are zero, and vertices with the fill pattern.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Masks {
    pub zero: MaskRows,
    pub fill: MaskRows,
}

/// One tile between the front end and the entropy coder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QuantizedTile {
    pub mask_state: u8,
    /// activities of the blocks; the first one is that of all vertices where tiles are coded by rows.
    pub activities: [u8; 3],
    /// Present where a mask covers something.
    pub masks: Option<Box<Masks>>,
    /// Symbols of the vertices without a mask in blocks of an activity above 0, by position.
    pub symbols: Vec<u8>,
    /// Raw bits of those symbols that have some, 64 at a time.
    pub raw: Vec<u64>,
}

/// Owned vertices of a row of width `width` as a mask.
pub fn row_mask(width: usize) -> u32 {
    (((1u64 << width) - 1) & u32::MAX as u64) as u32
}

/// What the entropy coder has to know of the codes: they mean other vertices, and their raw bits other
/// things, with another predictor or element type.
#[derive(Clone, Copy, Debug)]
pub struct TileCoding {
    pub predictor: Predictor,
    pub element_bytes: usize,
}

impl TileCoding {
    pub fn new(predictor: Predictor, element_bytes: usize) -> Self {
        TileCoding { predictor, element_bytes }
    }

    /// Whether tiles are coded by rows, a lane each, and not by lists of the vertices of blocks.
    #[inline(always)]
    pub fn by_rows(self) -> bool {
        self.predictor == Predictor::Lorenzo
    }

    /// The positions of a tile that have an activity of their own.
    #[inline(always)]
    pub fn blocks(self) -> &'static [Range<usize>] {
        if self.by_rows() {
            ROW_BLOCK
        } else {
            &BLOCKS
        }
    }

    /// The number of activities of a block.
    pub fn activities(self) -> usize {
        if self.by_rows() {
            ROW_ACTIVITIES
        } else {
            ACTIVITIES
        }
    }

    /// The activity of a block with `active` vertices whose codes cost about `cost` bits.
    fn activity_of(self, cost: u64, active: u64) -> u8 {
        if self.by_rows() {
            row_activity_of(cost, active)
        } else {
            activity_of(cost, active)
        }
    }

    /// The number of mask states.
    pub fn mask_states(self) -> u8 {
        match self.predictor {
            Predictor::Hierarchical => MASK_STATES,
            Predictor::Lorenzo => MASK_STATES * BOUND_SHIFTS as u8,
        }
    }

    /// Whether codes at this position are coarse codes, which refinement bits follow: those of anchors, and
    /// all of the Lorenzo predictor.
    #[inline(always)]
    pub fn has_refinement_bits(self, position: usize) -> bool {
        position == 0 || self.predictor == Predictor::Lorenzo
    }

    /// Raw bits that follow a symbol: stored values take two elements, and a tightened coarse code is
    /// followed by its refinement bits.
    #[inline(always)]
    pub fn raw_bits(self, symbol: u8, position: usize) -> u32 {
        if symbol == STORED {
            16 * self.element_bytes as u32
        } else {
            let refinement_bits = if self.has_refinement_bits(position) {
                4 * symbols::refinement_of(symbol) as u32
            } else {
                0
            };
            RAW_BITS[symbol as usize] as u32 + refinement_bits
        }
    }

    /// Whether a symbol may occur at any position: what follows a coarse code is at most 64 bits for values
    /// of four bytes.
    #[inline(always)]
    pub fn allows(self, symbol: u8) -> bool {
        self.predictor != Predictor::Lorenzo || self.element_bytes > 4 || self.raw_bits(symbol, 1) <= 64
    }

    /// The activity of the block that holds the positions of a step.
    #[inline(always)]
    pub fn activity_at(self, codes: &QuantizedTile, step: usize) -> u8 {
        codes.activities[if self.by_rows() || step < BLOCKS[1].start / 32 {
            0
        } else if step < BLOCKS[2].start / 32 {
            1
        } else {
            2
        }]
    }

    /// Column and row of a position.
    #[inline(always)]
    pub fn vertex(self, position: usize) -> (usize, usize) {
        match self.predictor {
            Predictor::Hierarchical => {
                let (x, y, _) = POSITIONS[position];
                (x as usize, y as usize)
            }
            Predictor::Lorenzo => (position % TILE, position / TILE),
        }
    }

    /// Positions that have a symbol: owned by the tile and not masked, as one bit per position.
    pub fn active(self, shape: &TileShape, masks: Option<&Masks>) -> [u32; TILE_VERTICES / 32] {
        let (width, height) = shape.owned();
        if masks.is_none() && width == TILE && height == TILE {
            return [u32::MAX; TILE_VERTICES / 32];
        }
        let mut active = [0u32; TILE_VERTICES / 32];
        for y in 0..height {
            let mut row = row_mask(width);
            if let Some(m) = masks {
                row &= !(m.zero[y] | m.fill[y]);
            }
            if self.predictor == Predictor::Lorenzo {
                active[y] = row;
                continue;
            }
            while row != 0 {
                let position = POSITION_OF[y * TILE + row.trailing_zeros() as usize] as usize;
                active[position / 32] |= 1 << (position % 32);
                row &= row - 1;
            }
        }
        active
    }
}

impl QuantizedTile {
    /// Whether a tile of this mask state has vertices without a mask.
    pub fn has_codes(mask_state: u8) -> bool {
        mask_state % MASK_STATES / 3 != ALL && mask_state % 3 != ALL
    }

    /// How much the zero and the fill mask cover.
    pub fn mask_coverage(&self) -> (u8, u8) {
        (self.mask_state % MASK_STATES / 3, self.mask_state % 3)
    }

    /// The bound shift of the tile.
    pub fn bound_shift(&self) -> usize {
        (self.mask_state / MASK_STATES) as usize
    }

    /// Symbol and raw bits of the anchor; `ZERO` where it has none of its own.
    pub fn anchor(&self, coding: TileCoding) -> (u8, u128) {
        let masked = self.masks.as_ref().is_some_and(|m| (m.zero[0] | m.fill[0]) & 1 != 0);
        if masked || self.activities[0] == 0 {
            return (ZERO, 0);
        }
        let symbol = self.symbols[0];
        let words = coding.raw_bits(symbol, 0).div_ceil(64) as usize;
        (symbol, self.raw[..words].iter().rev().fold(0, |value, &w| value << 64 | w as u128))
    }

    /// How many vertices are stored.
    pub fn stored(&self) -> u64 {
        if self.raw.is_empty() {
            return 0;
        }
        // Counts that fit the type of the symbols, so that the compiler can use vector instructions.
        let count = |symbols: &[u8]| symbols.iter().map(|&s| (s == STORED) as u8).sum::<u8>();
        self.symbols.chunks(u8::MAX as usize).map(|symbols| count(symbols) as u64).sum()
    }

    /// Whether the vertex (x, y) of the tile is masked, and then whether as a missing value.
    #[inline(always)]
    pub fn masked(&self, x: usize, y: usize) -> Option<bool> {
        let masks = self.masks.as_ref()?;
        if masks.zero[y] >> x & 1 != 0 {
            Some(false)
        } else if masks.fill[y] >> x & 1 != 0 {
            Some(true)
        } else {
            None
        }
    }
}

/// Visits the bytes of a mask, each row as its difference from the row before, as
/// `visit(byte in row, row, value)` in the order of the stream: all rows of byte 0 first.
pub fn for_mask_bytes(shape: &TileShape, rows: &MaskRows, mut visit: impl FnMut(usize, usize, u8)) {
    let (width, height) = shape.owned();
    for byte in 0..width.div_ceil(8) {
        for y in 0..height {
            let before = if y == 0 { 0 } else { rows[y - 1] };
            visit(byte, y, ((rows[y] ^ before) >> (8 * byte)) as u8);
        }
    }
}

/// Collects the codes of a tile in any order.
pub struct QuantizedTileBuilder {
    pub symbols: [u8; TILE_VERTICES],
    raw: [u64; TILE_VERTICES],
    /// Of coarse codes with a refinement above 0.
    refinement_bits: [u32; TILE_VERTICES],
    /// Raw elements of the tile that is put in order: two for each vertex at most.
    words: Vec<u64>,
}

impl QuantizedTileBuilder {
    /// On the heap, as a window.
    #[inline(never)]
    pub fn new() -> Result<Box<Self>> {
        memory::boxed(QuantizedTileBuilder {
            symbols: [ZERO; TILE_VERTICES],
            raw: [0; TILE_VERTICES],
            refinement_bits: [0; TILE_VERTICES],
            words: memory::with_capacity(2 * TILE_VERTICES)?,
        })
    }

    #[inline(always)]
    pub fn put(&mut self, position: usize, code: Code) {
        if code.refinement >= EXACT {
            debug_assert!(code.refinement == EXACT || code.refinement == MASKED);
            self.symbols[position] = STORED;
            return;
        }
        let (symbol, raw) = symbols::encode(code);
        self.symbols[position] = symbol;
        if symbol != ZERO {
            self.raw[position] = raw;
        }
    }

    /// The codes of a row of `count` vertices at successive positions.
    pub fn put_row(&mut self, position: usize, count: usize, codes: &RowCodes) {
        let any = |q: &[i32; ROW]| q[..count].iter().fold(0, |any, q| any | q);
        if any(&codes.q[0]) | any(&codes.q[1]) == 0 && codes.refinement == [0; ROW] {
            self.symbols[position..position + count].fill(ZERO);
            return;
        }
        for i in 0..count {
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

    /// Puts the codes in order, dropping blocks that are all zero. Values that are stored are read
    /// from the original field.
    ///
    /// # Safety
    /// The views must cover the owned vertices of the tile.
    pub unsafe fn finish<T: Real>(
        &mut self,
        coding: TileCoding,
        shape: &TileShape,
        bound_shift: usize,
        masks: Masks,
        [u, v]: [View<'_, T>; 2],
    ) -> Result<QuantizedTile> {
        let (width, height) = shape.owned();
        let state = |rows: &MaskRows| {
            let set: u32 = rows.iter().map(|r| r.count_ones()).sum();
            match set as usize {
                0 => NONE,
                n if n == width * height => ALL,
                _ => SOME,
            }
        };
        let states = 3 * state(&masks.zero) + state(&masks.fill);
        let mask_state = MASK_STATES * bound_shift as u8 + states;
        let masks = if states == 0 { None } else { Some(memory::boxed(masks)?) };
        let mut codes = QuantizedTile { mask_state, masks, ..Default::default() };
        if QuantizedTile::has_codes(mask_state) {
            let active = coding.active(shape, codes.masks.as_deref());
            let mut count = 0;
            for (block, activity) in coding.blocks().iter().zip(&mut codes.activities) {
                let (mut cost, mut vertices) = (0, 0);
                for step in block.start / 32..block.end / 32 {
                    let mask = active[step];
                    let symbols = self.step(step);
                    vertices += mask.count_ones() as u64;
                    cost += 3 * (lanes_above(symbols, 1) & mask).count_ones() as u64;
                    for lane in lanes(lanes_above(symbols, symbols::FIRST_WITH_RAW_BITS) & mask) {
                        cost += coding.raw_bits(symbols[lane], step * 32 + lane) as u64;
                    }
                }
                *activity = coding.activity_of(cost, vertices);
                count += if *activity > 0 { vertices as usize } else { 0 };
            }
            // A field of noise holds as much here as the input does: no room to spare.
            codes.symbols = memory::with_capacity(count)?;
            let mut words = std::mem::take(&mut self.words);
            words.clear();
            for (block, _) in
                coding.blocks().iter().zip(&codes.activities).filter(|&(_, &activity)| activity > 0)
            {
                for step in block.start / 32..block.end / 32 {
                    let mask = active[step];
                    let symbols = self.step(step);
                    if mask == u32::MAX {
                        codes.symbols.extend_from_slice(symbols);
                    } else {
                        codes.symbols.extend(lanes(mask).map(|lane| symbols[lane]));
                    }
                    for lane in lanes(lanes_above(symbols, symbols::FIRST_WITH_RAW_BITS) & mask) {
                        let (s, position) = (symbols[lane], step * 32 + lane);
                        if s == STORED {
                            let (x, y) = coding.vertex(position);
                            let (x, y) = ((shape.x0 + x as u64) as i64, (shape.y0 + y as u64) as i64);
                            // SAFETY: the vertex belongs to the tile.
                            let [a, b] = [&u, &v].map(|view| unsafe { view.get(x, y) }.to_bits64());
                            if T::BYTES == 4 {
                                words.push(a | b << 32);
                            } else {
                                words.extend([a, b]);
                            }
                        } else {
                            let bits = RAW_BITS[s as usize] as u32;
                            let refinement_bits = coding.raw_bits(s, position) - bits;
                            if bits + refinement_bits > 0 {
                                let value = self.raw[position] as u128
                                    | if refinement_bits > 0 {
                                        (self.refinement_bits[position] as u128) << bits
                                    } else {
                                        0
                                    };
                                words.push(value as u64);
                                if bits + refinement_bits > 64 {
                                    words.push((value >> 64) as u64);
                                }
                            }
                        }
                    }
                }
            }
            codes.raw = memory::copied(&words)?;
            self.words = words;
        }
        Ok(codes)
    }
}

/// The codes of a tile spread out by position, for decoding.
pub struct SymbolsByPosition {
    pub symbols: [u8; TILE_VERTICES],
    raw_at: [u16; TILE_VERTICES],
}

impl SymbolsByPosition {
    /// On the heap, as a window.
    #[inline(never)]
    pub fn new() -> Result<Box<Self>> {
        memory::boxed(SymbolsByPosition { symbols: [ZERO; TILE_VERTICES], raw_at: [0; TILE_VERTICES] })
    }

    pub fn fill(&mut self, codes: &QuantizedTile, shape: &TileShape, coding: TileCoding) {
        let active = coding.active(shape, codes.masks.as_deref());
        let (mut next, mut raw) = (0, 0u16);
        for (block, &activity) in BLOCKS.iter().zip(&codes.activities) {
            if activity == 0 {
                self.symbols[block.clone()].fill(ZERO);
                continue;
            }
            for step in block.start / 32..block.end / 32 {
                let mut mask = active[step];
                let symbols = &mut self.symbols[step * 32..step * 32 + 32];
                if mask == u32::MAX {
                    symbols.copy_from_slice(&codes.symbols[next..next + 32]);
                    next += 32;
                } else {
                    symbols.fill(ZERO);
                    while mask != 0 {
                        symbols[mask.trailing_zeros() as usize] = codes.symbols[next];
                        mask &= mask - 1;
                        next += 1;
                    }
                }
                if codes.raw.is_empty() {
                    continue;
                }
                for (lane, &s) in symbols.iter().enumerate() {
                    if s >= symbols::FIRST_WITH_RAW_BITS || (step == 0 && lane == 0) {
                        let position = step * 32 + lane;
                        self.raw_at[position] = raw;
                        raw += coding.raw_bits(s, position).div_ceil(64) as u16;
                    }
                }
            }
        }
    }

    /// First 64 raw bits of a position whose symbol may have some; anything where it has none, as a
    /// pair of zeros with a refinement above 0.
    #[inline(always)]
    pub fn raw(&self, codes: &QuantizedTile, position: usize) -> u64 {
        codes.raw.get(self.raw_at[position] as usize).copied().unwrap_or(0)
    }

    /// The values of a position whose symbol is `STORED`.
    #[inline(always)]
    pub fn stored<T: Real>(&self, codes: &QuantizedTile, position: usize) -> [T; 2] {
        let at = self.raw_at[position] as usize;
        if T::BYTES == 4 {
            [T::from_bits64(codes.raw[at] & u32::MAX as u64), T::from_bits64(codes.raw[at] >> 32)]
        } else {
            [T::from_bits64(codes.raw[at]), T::from_bits64(codes.raw[at + 1])]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::tiles::Grid;

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
