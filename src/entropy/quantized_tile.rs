//! A tile between quantisation and the entropy coder: mask state, activities, symbols and raw bits, in the
//! order of the stream.

use crate::entropy::differences;
use crate::entropy::lanes::lanes;
use crate::entropy::symbols::{
    self, FIRST_DIFFERENCE, HIDDEN, OWN_RAW_BITS, RAW_BITS, STORED, SYMBOLS, ZERO,
};
use crate::entropy::tables::{
    activity_of, row_activity_of, table_of, table_of_volume, ACTIVITIES, BLOCKS, ROW_ACTIVITIES, ROW_BLOCK,
    VOLUME_BLOCKS,
};
use crate::entropy::{lists, triples};
use crate::grid::masks::{row_mask, Masks};
use crate::grid::tiles::{TileShape, POSITIONS, POSITION_OF, TILE, TILE_VERTICES};
use crate::grid::volume_tiles::{VolumeTile, SIDE, VOLUME_POSITION_OF, VOLUME_TILE_VERTICES};
use crate::request::Predictor;
use std::ops::Range;

/// Bound shifts of a tile of the Lorenzo predictor, and of a volume: how often its error bound is halved, at most
/// 7 times.
pub const BOUND_SHIFTS: usize = 8;
/// Steps of 32 positions in the largest tiles.
pub const MOST_STEPS: usize = VOLUME_TILE_VERTICES / 32;
/// A bit for each position of a tile; zeros behind its last one.
pub type ActiveSteps = [u32; MOST_STEPS];

/// How much of a tile a mask covers: nothing, everything, or a part. A tile's mask state is 9 * bound shift +
/// 3 * (coverage by zero) + (coverage by fill); the bound shift is 0 but for the Lorenzo predictor.
pub const NONE: u8 = 0;
pub const ALL: u8 = 1;
pub const SOME: u8 = 2;
/// Pairs of coverages.
pub const MASK_STATES: u8 = 9;

/// How much the zero and the fill mask of a mask state cover.
fn coverage_in(mask_state: u8) -> (u8, u8) {
    (mask_state % MASK_STATES / 3, mask_state % 3)
}

/// One tile as the entropy coder takes it and gives it back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QuantizedTile {
    pub mask_state: u8,
    /// Activities of the blocks; the first one is that of all vertices where tiles are coded by rows.
    pub activities: [u8; 3],
    /// Present where a mask covers something.
    pub masks: Option<Box<Masks>>,
    /// Symbols of the vertices without a mask in blocks of an activity above 0, by position.
    pub symbols: Vec<u8>,
    /// Raw bits of those symbols that have some, 64 at a time.
    pub raw: Vec<u64>,
}

/// How the codes of a tile are laid out, which depends on the predictor and the element type: the vertices
/// that positions stand for, and the raw bits behind symbols.
#[derive(Clone, Copy, Debug)]
pub struct TileCoding {
    pub predictor: Predictor,
    pub element_bytes: usize,
    /// 2, or 1 in the stream of one component alone; 3 in tiles of volumes.
    pub components: u32,
}

/// The vertices of a tile, as the entropy coder sees it.
pub trait Shape: Copy + Sync {
    /// Columns and rows that the tile owns; (0, 0) of a tile of a volume.
    fn columns_and_rows(&self) -> (usize, usize);

    /// Positions that have a symbol: owned by the tile and not masked.
    fn active(&self, coding: TileCoding, masks: Option<&Masks>) -> ActiveSteps;
}

impl TileCoding {
    pub fn new(predictor: Predictor, element_bytes: usize) -> Self {
        TileCoding { predictor, element_bytes, components: 2 }
    }

    /// Of a volume.
    pub fn of_volume(element_bytes: usize) -> Self {
        TileCoding { components: 3, ..Self::new(Predictor::Hierarchical, element_bytes) }
    }

    #[inline(always)]
    fn is_volume(self) -> bool {
        self.components == 3
    }

    /// Of one component alone.
    pub fn of_one(self) -> Self {
        TileCoding { components: 1, ..self }
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
        } else if self.is_volume() {
            &VOLUME_BLOCKS
        } else {
            &BLOCKS
        }
    }

    /// The table of a position whose block has an activity above 0.
    #[inline(always)]
    pub fn table_of(self, position: usize, activity: u8) -> usize {
        if self.is_volume() {
            table_of_volume(position, activity)
        } else {
            table_of(position, activity)
        }
    }

    /// Raw bits of the number of entries of a block, 0 if it is no sparse list.
    #[inline(always)]
    pub fn count_bits(self, block: usize, activity: u8) -> u32 {
        lists::count_bits(self.blocks()[block].len(), activity)
    }

    /// The number of symbols of runs in sparse lists.
    #[inline(always)]
    pub fn runs(self) -> u8 {
        if self.is_volume() {
            lists::RUNS_OF_VOLUMES
        } else {
            lists::RUNS
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
    pub fn activity_of(self, cost: u64, active: u64) -> u8 {
        if self.by_rows() {
            row_activity_of(cost, active)
        } else {
            activity_of(cost, active)
        }
    }

    /// Whether tiles may have this mask state. Those of volumes have no masks.
    pub fn has_mask_state(self, mask_state: u8) -> bool {
        let has_shifts = self.predictor == Predictor::Lorenzo || self.is_volume();
        let states = MASK_STATES * if has_shifts { BOUND_SHIFTS as u8 } else { 1 };
        mask_state < states && (!self.is_volume() || mask_state % MASK_STATES == 0)
    }

    /// Whether codes at this position are coarse codes, which refinement bits follow: those of anchors, and
    /// all of the Lorenzo predictor.
    #[inline(always)]
    pub fn has_refinement_bits(self, position: usize) -> bool {
        position == 0 || self.predictor == Predictor::Lorenzo
    }

    /// Raw bits that follow a symbol: those of stored values or of a code, and the refinement bits of a
    /// coarse code.
    #[inline(always)]
    pub fn raw_bits(self, symbol: u8, position: usize) -> u32 {
        if self.is_volume() {
            triples::RAW_BITS[symbol as usize] as u32
        } else if symbol >= STORED {
            self.stored_bits(symbol)
        } else {
            let refinement_bits = if self.has_refinement_bits(position) {
                2 * self.components * symbols::refinement_of(symbol) as u32
            } else {
                0
            };
            self.code_bits(symbol) + refinement_bits
        }
    }

    /// Raw bits of the code of a symbol below [`STORED`], without refinement bits.
    #[inline(always)]
    pub fn code_bits(self, symbol: u8) -> u32 {
        let bits = if self.components == 2 { &RAW_BITS } else { &OWN_RAW_BITS };
        bits[symbol as usize] as u32
    }

    /// A symbol of the alphabet: others stand for [`STORED`], and in volumes for themselves.
    #[inline(always)]
    pub fn known(self, symbol: u8) -> u8 {
        if self.is_volume() || symbol < HIDDEN + (2 - self.components) as u8 {
            symbol
        } else {
            STORED
        }
    }

    /// Raw bits of stored values. Symbols beyond the alphabet are damage and count as `STORED`.
    fn stored_bits(self, symbol: u8) -> u32 {
        if (FIRST_DIFFERENCE as usize..SYMBOLS).contains(&(symbol as usize)) {
            self.components * differences::bits_of(symbol, self.element_bytes)
        } else {
            8 * self.components * self.element_bytes as u32
        }
    }

    /// Whether a symbol may occur at any position: with the Lorenzo predictor and values of four bytes, 64
    /// raw bits follow a symbol at most, its refinement bits included.
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
}

/// The tiles of a grid, by number.
pub trait Tiles: Copy + Sync {
    type Shape: Shape;

    fn shape(&self, tile: u64) -> Self::Shape;

    /// The tiles outside a range whose anchors the anchors of the range follow: two at most.
    fn outer(&self, tiles: Range<u64>) -> impl Iterator<Item = u64>;

    /// No limit of the weight of a group is lower: more than a tile can weigh.
    fn least_group_weight(&self) -> u64;
}

impl Shape for TileShape {
    fn columns_and_rows(&self) -> (usize, usize) {
        self.owned()
    }

    fn active(&self, coding: TileCoding, masks: Option<&Masks>) -> ActiveSteps {
        let (width, height) = self.owned();
        let mut active = [0u32; MOST_STEPS];
        if masks.is_none() && width == TILE && height == TILE {
            active[..TILE_VERTICES / 32].fill(u32::MAX);
            return active;
        }
        for y in 0..height {
            let mut row = row_mask(width);
            if let Some(m) = masks {
                row &= !(m.zero[y] | m.fill[y]);
            }
            if coding.by_rows() {
                active[y] = row;
                continue;
            }
            for x in lanes(row) {
                let position = POSITION_OF[y * TILE + x] as usize;
                active[position / 32] |= 1 << (position % 32);
            }
        }
        active
    }
}

impl Shape for VolumeTile {
    fn columns_and_rows(&self) -> (usize, usize) {
        (0, 0)
    }

    fn active(&self, _: TileCoding, _: Option<&Masks>) -> ActiveSteps {
        let owned = self.owned();
        if owned == [SIDE; 3] {
            return [u32::MAX; MOST_STEPS];
        }
        let mut active = [0; MOST_STEPS];
        for z in 0..owned[2] {
            for y in 0..owned[1] {
                for x in 0..owned[0] {
                    let position = VOLUME_POSITION_OF[(z * SIDE + y) * SIDE + x] as usize;
                    active[position / 32] |= 1 << (position % 32);
                }
            }
        }
        active
    }
}

impl QuantizedTile {
    /// The mask state of a bound shift and the coverage by the zero and the fill mask.
    pub fn mask_state_of(bound_shift: usize, zero: u8, fill: u8) -> u8 {
        MASK_STATES * bound_shift as u8 + 3 * zero + fill
    }

    /// Whether a tile of this mask state has vertices without a mask.
    pub fn has_codes(mask_state: u8) -> bool {
        let (zero, fill) = coverage_in(mask_state);
        zero != ALL && fill != ALL
    }

    /// How much the zero and the fill mask cover.
    pub fn mask_coverage(&self) -> (u8, u8) {
        coverage_in(self.mask_state)
    }

    /// The bound shift of the tile.
    pub fn bound_shift(&self) -> usize {
        (self.mask_state / MASK_STATES) as usize
    }

    /// Symbol and raw bits of the anchor; [`ZERO`] where the stream has none of it.
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
        let count = |symbols: &[u8]| symbols.iter().map(|&s| (s >= STORED) as u8).sum::<u8>();
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
