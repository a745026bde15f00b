//! The lists of a batch of tiles, one behind the other, and which vertices of a tile have a symbol.

use crate::entropy::lanes::LANES;
use crate::entropy::lists::{self, is_list, DENSE};
use crate::entropy::quantized_tile::{ActiveSteps, QuantizedTile, Shape, TileCoding, MOST_STEPS};
use crate::entropy::tables::RUN;
use crate::error::Result;
use crate::runtime::memory;

/// Where a tile has its vertices that have a symbol.
pub(super) struct SymbolIndex {
    /// A bit per position.
    pub(super) active: ActiveSteps,
    /// The number, among the symbols of the tile, of the first one of each 32 positions.
    pub(super) first: [u16; MOST_STEPS],
    /// Symbols of the tile.
    pub(super) symbols: usize,
    /// Whether all positions of blocks of an activity above 0 have one.
    pub(super) whole: bool,
}

impl SymbolIndex {
    pub(super) fn new(coding: TileCoding, shape: &impl Shape, codes: &QuantizedTile) -> Self {
        let active = shape.active(coding, codes.masks.as_deref());
        let (mut first, mut symbols) = ([0; MOST_STEPS], 0);
        let mut all = u32::MAX;
        for (block, _) in coding.blocks().iter().zip(&codes.activities).filter(|&(_, &activity)| activity > 0)
        {
            for step in block.start / LANES..block.end / LANES {
                first[step] = symbols as u16;
                symbols += active[step].count_ones() as usize;
                all &= active[step];
            }
        }
        SymbolIndex { active, first, symbols, whole: all == u32::MAX }
    }

    /// The number of the symbol of a position; None if it has none.
    #[inline(always)]
    pub(super) fn of(&self, position: usize) -> Option<usize> {
        let (active, bit) = (self.active[position / LANES], position % LANES);
        let below = match active {
            u32::MAX => bit,
            _ if active >> bit & 1 == 0 => return None,
            _ => (active & ((1 << bit) - 1)).count_ones() as usize,
        };
        Some(self.first[position / LANES] as usize + below)
    }

    /// How many symbols the tile has before a position that has one itself.
    #[inline(always)]
    pub(super) fn before(&self, position: usize) -> usize {
        self.first[position / LANES] as usize + position % LANES
    }

    /// The positions, of 32 from this one on, that have a symbol, as bits.
    #[inline(always)]
    pub(super) fn from(&self, position: usize) -> u32 {
        let step = position / LANES;
        let after = self.active.get(step + 1).copied().unwrap_or(0);
        ((self.active[step] as u64 | (after as u64) << LANES) >> (position % LANES)) as u32
    }
}

/// The table of the runs in lists of blocks of an activity.
pub(super) fn run_table(activity: u8) -> usize {
    RUN + activity as usize - 1
}

/// A list of the vertices of a tile.
#[derive(Clone, Copy)]
pub(super) struct List {
    /// Number in the batch.
    pub(super) tile: u8,
    /// Activity of the block.
    pub(super) activity: u8,
    coding: TileCoding,
    /// Whether it names only the vertices that are not zero.
    pub(super) sparse: bool,
    /// The table of its symbols; those of the first list depend on the position.
    pub(super) table: u8,
    /// Entries not yet coded.
    pub(super) left: u16,
    /// The next position that an entry may have, and the end of the positions.
    pub(super) next: u16,
    pub(super) end: u16,
}

impl List {
    /// Room for the lists of so many tiles.
    pub(super) fn room(tiles: usize) -> Result<Vec<List>> {
        memory::with_capacity(4 * tiles)
    }

    /// Appends the lists of a tile, whose sparse ones have as many entries as `counts` says by block.
    pub(super) fn append(
        lists: &mut Vec<List>,
        coding: TileCoding,
        tile: usize,
        activities: &[u8; 3],
        counts: &[u16; 3],
    ) {
        for (k, &activity) in activities.iter().enumerate().filter(|&(_, &activity)| activity > 0) {
            let mut put = |positions: std::ops::Range<usize>, sparse| {
                lists.push(List {
                    tile: tile as u8,
                    activity,
                    coding,
                    sparse,
                    table: coding.table_of(positions.start, activity) as u8,
                    left: if sparse { counts[k] } else { positions.len() as u16 },
                    next: positions.start as u16,
                    end: positions.end as u16,
                });
            };
            if k == 0 {
                put(0..DENSE, false);
            }
            put(lists::positions(&coding.blocks()[k]), is_list(activity));
        }
    }

    pub(super) fn run_table(&self) -> usize {
        run_table(self.activity)
    }

    #[inline(always)]
    pub(super) fn table(&self, position: usize) -> u8 {
        if position < DENSE {
            self.coding.table_of(position, self.activity) as u8
        } else {
            self.table
        }
    }
}
