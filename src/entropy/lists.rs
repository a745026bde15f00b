//! Sparse lists: the entries that are not zero and the runs of zeros before them. A zero then takes less than
//! a bit even where every symbol takes whole ones, and neither coder any work.
//!
//! A block of an activity up to [`LAST_LIST_ACTIVITY`] is a list of the positions that are not zero, the
//! first 16 positions of the coarse block excepted; a mask is a list of its blocks of vertices (`groups`).
//! The lists of a batch of tiles follow one another and are coded 32 entries at a time (`groups`).

use std::ops::Range;

use super::tables::LAST_LIST_ACTIVITY;
use crate::entropy::symbols::ZERO;
use crate::error::Result;
use crate::runtime::memory;

/// Positions in front of the sparse lists: the first half of 32.
pub const DENSE: usize = 16;
/// Their lanes.
pub const DENSE_LANES: u32 = (1 << DENSE) - 1;
/// Raw bits of the number of entries of a mask.
pub const MASK_COUNT_BITS: u32 = 8;

/// Whether a block of this activity is coded as a sparse list.
#[inline(always)]
pub fn is_list(activity: u8) -> bool {
    (1..=LAST_LIST_ACTIVITY).contains(&activity)
}

/// The positions that the list of a block speaks of.
pub fn positions(block: &Range<usize>) -> Range<usize> {
    block.start.max(DENSE)..block.end
}

/// Raw bits of the number of entries of a block of so many positions, 0 if it is no sparse list. `activity_of`
/// allows no more entries than these bits hold, as each entry costs three bits at least.
#[inline(always)]
pub fn count_bits(positions: usize, activity: u8) -> u32 {
    if !is_list(activity) {
        return 0;
    }
    // A third of 2^activity / 64 of the positions, rounded up to a power of two.
    activity as u32
        + match positions {
            0..=64 => 0,
            65..=192 => 1,
            193..=384 => 2,
            385..=768 => 3,
            769..=1536 => 4,
            1537..=3072 => 5,
            _ => 6,
        }
        - 1
}

/// Runs below this have a symbol each, longer ones two symbols for each octave, with raw bits.
pub const FIRST_RUN_WITH_RAW_BITS: u8 = 16;
const SHORT: u32 = FIRST_RUN_WITH_RAW_BITS as u32;
/// log2 of SHORT.
const SHORT_BITS: u32 = 4;
/// The symbols of runs in tiles of planes, all below 1024, and of volumes, below 4096.
pub const RUNS: u8 = 28;
pub const RUNS_OF_VOLUMES: u8 = 32;

/// Symbol, raw bits and how many of these.
#[inline(always)]
pub fn encode_run(run: u32) -> (u8, u32, u32) {
    if run < SHORT {
        return (run as u8, 0, 0);
    }
    let octave = run.ilog2();
    let bits = octave - 1;
    let symbol = SHORT + 2 * (octave - SHORT_BITS) + (run >> bits & 1);
    (symbol as u8, run & ((1 << bits) - 1), bits)
}

/// Raw bits behind the symbol of a run, which is not a short one.
#[inline(always)]
pub fn run_bits(symbol: u8) -> u32 {
    (symbol as u32 - SHORT) / 2 + SHORT_BITS - 1
}

/// The run of such a symbol and its raw bits.
#[inline(always)]
pub fn decode_run(symbol: u8, raw: u32, bits: u32) -> u32 {
    (2 | symbol as u32 & 1) << bits | raw
}

/// The sparse lists of tiles, one after another.
#[derive(Default)]
pub struct Lists {
    symbols: Vec<u8>,
    /// Runs before the entries, and their symbols.
    runs: Vec<u16>,
    run_symbols: Vec<u8>,
    /// The first entry of each tile, and their numbers by block.
    tiles: Vec<(usize, [u16; 3])>,
}

/// The sparse lists of one tile.
#[derive(Clone, Copy)]
pub struct Entries<'a> {
    pub counts: [u16; 3],
    pub symbols: &'a [u8],
    pub runs: &'a [u16],
    pub run_symbols: &'a [u8],
}

impl Entries<'_> {
    /// Takes the last `count` entries.
    #[inline(always)]
    pub fn split_off(&mut self, count: usize) -> Self {
        let at = self.symbols.len() - count;
        let last = Entries {
            counts: self.counts,
            symbols: &self.symbols[at..],
            runs: &self.runs[at..],
            run_symbols: &self.run_symbols[at..],
        };
        self.symbols = &self.symbols[..at];
        self.runs = &self.runs[..at];
        self.run_symbols = &self.run_symbols[..at];
        last
    }
}

/// Where the entries of a list come to lie.
pub struct Room<'a> {
    pub symbols: &'a mut [u8],
    pub runs: &'a mut [u16],
    pub run_symbols: &'a mut [u8],
}

impl Lists {
    /// Room for the entries of a list of at most so many.
    pub fn room(&mut self, most: usize) -> Result<Room<'_>> {
        let first = self.symbols.len();
        memory::reserve_growing(&mut self.symbols, most)?;
        memory::reserve_growing(&mut self.runs, most)?;
        memory::reserve_growing(&mut self.run_symbols, most)?;
        self.symbols.resize(first + most, ZERO);
        self.runs.resize(first + most, 0);
        self.run_symbols.resize(first + most, 0);
        Ok(Room {
            symbols: &mut self.symbols[first..],
            runs: &mut self.runs[first..],
            run_symbols: &mut self.run_symbols[first..],
        })
    }

    /// Gives back room that a list does not need.
    pub fn end_list(&mut self, unused: usize) {
        let entries = self.symbols.len() - unused;
        self.symbols.truncate(entries);
        self.runs.truncate(entries);
        self.run_symbols.truncate(entries);
    }

    /// Ends a tile, whose blocks have so many entries, the last ones.
    pub fn end_tile(&mut self, counts: [u16; 3]) -> Result<()> {
        let entries: usize = counts.iter().map(|&n| n as usize).sum();
        memory::push(&mut self.tiles, (self.symbols.len() - entries, counts))
    }

    /// The lists of a tile, by its number.
    pub fn tile(&self, tile: usize) -> Entries<'_> {
        let (first, counts) = self.tiles[tile];
        let range = first..first + counts.iter().map(|&n| n as usize).sum::<usize>();
        Entries {
            counts,
            symbols: &self.symbols[range.clone()],
            runs: &self.runs[range.clone()],
            run_symbols: &self.run_symbols[range],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entropy::tables::{activity_of, BLOCKS, VOLUME_BLOCKS};

    #[test]
    fn runs_round_trip() {
        for run in 0..4096 {
            let (symbol, raw, bits) = encode_run(run);
            assert!(raw >> bits == 0);
            if symbol < FIRST_RUN_WITH_RAW_BITS {
                assert_eq!((symbol as u32, bits), (run, 0));
            } else {
                assert_eq!(run_bits(symbol), bits, "{run}");
                assert_eq!(decode_run(symbol, raw, bits), run);
            }
        }
        assert_eq!((encode_run(1023).0, encode_run(4095).0), (RUNS - 1, RUNS_OF_VOLUMES - 1));
    }

    #[test]
    fn the_number_of_entries_fits_its_bits() {
        for range in BLOCKS.iter().chain(&VOLUME_BLOCKS) {
            for active in 1..=range.len() as u64 {
                for entries in 0..=active {
                    // Three bits each at least.
                    let activity = activity_of(3 * entries, active);
                    if is_list(activity) {
                        assert!(
                            entries >> count_bits(range.len(), activity) == 0,
                            "{entries} of {active}, {activity}"
                        );
                    }
                }
            }
        }
    }
}
