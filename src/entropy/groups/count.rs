//! Counts of the symbols that tiles have, and the entries of their sparse lists.

use std::ops::Range;

use super::lists::run_table;
use super::masks::{some_masks, CodedMask};
use super::weights::{SAMPLED_TILES, TILE_WEIGHT};
use super::{activity_table, lorenzo};
use crate::entropy::lanes::{lanes, lanes_above, LANES};
use crate::entropy::lists::{self, is_list, Lists, DENSE, DENSE_LANES, MASK_COUNT_BITS};
use crate::entropy::quantized_tile::{ActiveSteps, QuantizedTile, Shape, TileCoding};
use crate::entropy::symbols::{ALPHABET, ESCAPE, FIRST_WITH_RAW_BITS, ZERO};
use crate::entropy::tables::{Counts, MASK_BYTE, MASK_RUN, MASK_STATE};
use crate::error::Result;
use crate::grid::wide_range::SHUFFLE;

/// The work that a tile is for the entropy coder, besides the counts.
pub struct Work {
    pub raw_bits: u64,
    /// Symbols and runs that are coded, about: positions of dense lists, twice the entries of the others.
    /// Steps of rows count as what would take as long.
    pub weight: u16,
}

/// The tiles that are counted: all of them, or of large fields that are coded by rows one of so many that
/// follow each other. Tables come from these counts, and have an escape then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    each: u64,
}

impl Sample {
    pub fn new(coding: TileCoding, tiles: u64) -> Self {
        let rows = coding.by_rows();
        Sample { each: if rows && tiles >= 2 * SAMPLED_TILES { tiles / SAMPLED_TILES } else { 1 } }
    }

    pub fn takes(self, tile: u64) -> bool {
        let shuffled = ((tile / self.each) as u32).wrapping_mul(SHUFFLE) >> 16;
        tile % self.each == shuffled as u64 % self.each
    }

    /// Makes what is counted stand for all tiles: whatever it does not show has the escape, and there is so
    /// many times as much of it.
    pub fn complete(self, counts: &mut Counts) -> u64 {
        if self.each > 1 {
            lorenzo::tables().for_each(|table| counts[table][ESCAPE as usize] += 1);
        }
        self.each
    }
}

/// Counts a tile, in `counts` if it is counted; its sparse lists go behind those of the tiles before it.
pub fn count(
    coding: TileCoding,
    shape: &impl Shape,
    codes: &QuantizedTile,
    counts: Option<&mut Counts>,
    lists: &mut Lists,
) -> Result<Work> {
    let Some(counts) = counts else {
        lists.end_tile([0; 3])?;
        return Ok(Work { raw_bits: 0, weight: lorenzo::weight(codes) });
    };
    counts[MASK_STATE][codes.mask_state as usize] += 1;
    let mut work = Work { raw_bits: 0, weight: TILE_WEIGHT };
    count_masks(shape, codes, counts, &mut work);
    let mut entries = [0; 3];
    if QuantizedTile::has_codes(codes.mask_state) {
        for (k, &activity) in codes.activities[..coding.blocks().len()].iter().enumerate() {
            counts[activity_table(&codes.activities, k)][activity as usize] += 1;
        }
        if coding.by_rows() {
            work.raw_bits += lorenzo::count(coding, shape, codes, counts);
        } else {
            entries = count_lists(coding, shape, codes, counts, lists, &mut work)?;
        }
    }
    if coding.by_rows() {
        work.weight = lorenzo::weight(codes);
    }
    lists.end_tile(entries)?;
    Ok(work)
}

/// Counts the masks of a tile that are coded as lists of their blocks.
fn count_masks(shape: &impl Shape, codes: &QuantizedTile, counts: &mut Counts, work: &mut Work) {
    for rows in some_masks(codes).into_iter().flatten() {
        work.raw_bits += MASK_COUNT_BITS as u64;
        CodedMask::new(shape.columns_and_rows(), rows).for_entries(|run, block| {
            let (symbol, _, bits) = lists::encode_run(run);
            counts[MASK_RUN][symbol as usize] += 1;
            counts[MASK_BYTE][block as usize] += 1;
            work.raw_bits += bits as u64;
            work.weight += 2;
        });
    }
}

/// Counts the blocks of a tile with codes, and appends its sparse lists. Returns their entries, by block.
#[inline(always)]
fn count_lists(
    coding: TileCoding,
    shape: &impl Shape,
    codes: &QuantizedTile,
    counts: &mut Counts,
    lists: &mut Lists,
    work: &mut Work,
) -> Result<[u16; 3]> {
    let active = shape.active(coding, codes.masks.as_deref());
    let mut symbols = &codes.symbols[..];
    let mut entries = [0; 3];
    for (k, &activity) in codes.activities.iter().enumerate().filter(|&(_, &activity)| activity > 0) {
        if k == 0 {
            work.weight += DENSE as u16;
            let mask = active[0] & DENSE_LANES;
            for (lane, &s) in lanes(mask).zip(symbols) {
                counts[coding.table_of(lane, activity)][s as usize] += 1;
                work.raw_bits += coding.raw_bits(s, lane) as u64;
            }
            symbols = &symbols[mask.count_ones() as usize..];
        }
        let positions = lists::positions(&coding.blocks()[k]);
        let here;
        (here, symbols) = symbols.split_at(vertices(&active, &positions));
        let table = coding.table_of(positions.start, activity);
        if is_list(activity) {
            let tables = counts.get_disjoint_mut([run_table(activity), table]).expect("these are two tables");
            let (count, raw_bits) = count_sparse(coding, &active, positions, here, tables, lists)?;
            entries[k] = count as u16;
            work.raw_bits += coding.count_bits(k, activity) as u64 + raw_bits;
            work.weight += 2 * entries[k];
        } else {
            work.weight += positions.len() as u16;
            work.raw_bits += count_dense(coding, &active, positions, here, &mut counts[table]);
        }
    }
    Ok(entries)
}

/// Appends the sparse list of a block, and counts its entries and their raw bits; `tables` are the counts of
/// its runs and of its symbols.
#[inline(always)]
fn count_sparse(
    coding: TileCoding,
    active: &ActiveSteps,
    positions: Range<usize>,
    symbols: &[u8],
    [run_counts, symbol_counts]: [&mut [u64; ALPHABET]; 2],
    lists: &mut Lists,
) -> Result<(usize, u64)> {
    let most = positions.len();
    let room = lists.room(most)?;
    let (mut count, mut expected, mut raw_bits) = (0, positions.start, 0);
    for_nonzero(active, positions, symbols, |position, s| {
        let run = position - expected;
        expected = position + 1;
        let (symbol, _, bits) = lists::encode_run(run as u32);
        (room.symbols[count], room.runs[count], room.run_symbols[count]) = (s, run as u16, symbol);
        count += 1;
        run_counts[symbol as usize] += 1;
        symbol_counts[s as usize] += 1;
        raw_bits += bits as u64;
        if s >= FIRST_WITH_RAW_BITS {
            raw_bits += coding.raw_bits(s, position) as u64;
        }
    });
    lists.end_list(most - count);
    Ok((count, raw_bits))
}

/// Counts the symbols of a block of which all positions are coded; gives their raw bits.
#[inline(always)]
fn count_dense(
    coding: TileCoding,
    active: &ActiveSteps,
    positions: Range<usize>,
    symbols: &[u8],
    counts: &mut [u64; ALPHABET],
) -> u64 {
    let (mut zeros, mut raw_bits) = (symbols.len() as u64, 0);
    for_nonzero(active, positions, symbols, |position, s| {
        counts[s as usize] += 1;
        zeros -= 1;
        if s >= FIRST_WITH_RAW_BITS {
            raw_bits += coding.raw_bits(s, position) as u64;
        }
    });
    counts[ZERO as usize] += zeros;
    raw_bits
}

/// The active ones of 32 positions, without those that belong to no list.
#[inline(always)]
fn listed(active: &ActiveSteps, step: usize) -> u32 {
    active[step] & if step == 0 { !DENSE_LANES } else { u32::MAX }
}

/// How many positions are active.
fn vertices(active: &ActiveSteps, positions: &Range<usize>) -> usize {
    let steps = positions.start / LANES..positions.end / LANES;
    steps.map(|step| listed(active, step).count_ones() as usize).sum()
}

/// Visits the symbols of positions that are not zero, as `visit(position, symbol)`; `symbols` are those of
/// active positions.
#[inline(always)]
fn for_nonzero(
    active: &ActiveSteps,
    positions: Range<usize>,
    mut symbols: &[u8],
    mut visit: impl FnMut(usize, u8),
) {
    if symbols.len() == positions.len() && positions.len() % (2 * LANES) == 0 {
        for (k, two) in symbols.chunks_exact(2 * LANES).enumerate() {
            let [low, high] = [0, LANES].map(|at| {
                lanes_above(two[at..at + LANES].try_into().expect("the length is LANES"), 1) as u64
            });
            let mut mask = low | high << LANES;
            while mask != 0 {
                let lane = mask.trailing_zeros() as usize;
                mask &= mask - 1;
                visit(positions.start + 2 * LANES * k + lane, two[lane]);
            }
        }
        return;
    }
    for step in positions.start / LANES..positions.end / LANES {
        let mask = listed(active, step);
        let here;
        (here, symbols) = symbols.split_at(mask.count_ones() as usize);
        if let Ok(all) = here.try_into() {
            lanes(lanes_above(all, 1)).for_each(|lane| visit(step * LANES + lane, all[lane]));
        } else {
            for (lane, &s) in lanes(mask).zip(here).filter(|&(_, &s)| s != ZERO) {
                visit(step * LANES + lane, s);
            }
        }
    }
}
