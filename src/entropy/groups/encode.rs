//! Groups of tiles to bytes, backwards.

use super::lists::{List, SymbolIndex};
use super::masks::{some_masks, CodedMask, MASK_BLOCKS};
use super::step::Step;
use super::{activity_table, lorenzo, outer};
use crate::entropy::lanes::{lanes_above, lanes_down, Encode, Encoder, LANES};
use crate::entropy::lists::{self, Entries, DENSE, FIRST_RUN_WITH_RAW_BITS, MASK_COUNT_BITS};
use crate::entropy::quantized_tile::{QuantizedTile, Shape, TileCoding};
use crate::entropy::symbols::FIRST_WITH_RAW_BITS;
use crate::entropy::tables::{EntropyTable, MASK_BYTE, MASK_RUN, MASK_STATE};
use crate::error::Result;
use crate::runtime::memory;

/// A tile whose codes are encoded from the last one on.
struct Tile<'a> {
    codes: &'a QuantizedTile,
    index: SymbolIndex,
    /// Entries of sparse lists, less those that are done.
    entries: Entries<'a>,
    /// Raw elements of the entries that are left.
    raw: &'a [u64],
}

impl Tile<'_> {
    /// Adds the symbol of a position, with its raw bits, which are the last ones.
    #[inline(always)]
    fn push(
        &mut self,
        step: &mut Step,
        coding: TileCoding,
        lane: usize,
        table: u8,
        symbol: u8,
        position: usize,
    ) {
        step.put(lane, table as usize, symbol);
        if symbol >= FIRST_WITH_RAW_BITS {
            self.put_raw(step, coding, lane, symbol, position);
        }
    }

    /// Adds the raw bits of the symbols and of the runs of entries from lane `first` on.
    #[inline(always)]
    fn put_raw_of_entries(
        &mut self,
        vertices: &mut Step,
        runs: &mut Step,
        coding: TileCoding,
        first: usize,
        entries: &Entries<'_>,
    ) {
        for k in from_end(entries.symbols, FIRST_WITH_RAW_BITS) {
            // The position of an entry counts for an anchor alone, which no sparse list has.
            self.put_raw(vertices, coding, first + k, entries.symbols[k], DENSE);
        }
        for k in from_end(entries.run_symbols, FIRST_RUN_WITH_RAW_BITS) {
            let (_, value, bits) = lists::encode_run(entries.runs[k] as u32);
            runs.put_raw(first + k, bits, [value as u64, 0]);
        }
    }

    /// Adds the raw bits of a symbol from [`FIRST_WITH_RAW_BITS`] on.
    #[inline(never)]
    fn put_raw(&mut self, step: &mut Step, coding: TileCoding, lane: usize, symbol: u8, position: usize) {
        let bits = coding.raw_bits(symbol, position);
        let (rest, here) = self.raw.split_at(self.raw.len() - bits.div_ceil(64) as usize);
        let word = |k: usize| here.get(k).copied().unwrap_or(0);
        step.put_raw(lane, bits, [word(0), word(1)]);
        self.raw = rest;
    }

    /// Encodes 32 positions of one table whose symbols have no raw bits and no escapes; false if they have.
    #[inline(always)]
    fn put_plain<E: Encode>(&self, encoder: &mut Encoder, first: usize, table: &E) -> bool {
        let mask = self.index.from(first);
        let Some(at) = self.index.of(first + mask.trailing_zeros() as usize % LANES) else {
            return true;
        };
        let symbols = &self.codes.symbols[at..][..mask.count_ones() as usize];
        match <&[u8; LANES]>::try_from(symbols) {
            Ok(all) => {
                lanes_above(all, FIRST_WITH_RAW_BITS) == 0
                    && encoder.symbols((0..LANES).rev().map(|lane| (lane, table, all[lane])))
            }
            Err(_) => {
                symbols.iter().all(|&s| s < FIRST_WITH_RAW_BITS)
                    && encoder
                        .symbols(lanes_down(mask).zip(symbols.iter().rev()).map(|(l, &s)| (l, table, s)))
            }
        }
    }
}

/// A tile as it is encoded.
pub type Coded<'a, S> = (S, &'a QuantizedTile, Entries<'a>);

/// The coded form of a group of tiles; `outer` are the coarse codes of its outer anchors, two pairs at most.
pub fn encode<E: EntropyTable, S: Shape>(
    coding: TileCoding,
    tiles: &[Coded<'_, S>],
    outer: &[[i32; 2]],
    tables: &[E::Encode],
) -> Result<Vec<u8>> {
    let mut encoder = Encoder::new()?;
    let mut step = Step::new();
    for batch in tiles.chunks(LANES).rev() {
        if coding.by_rows() {
            for (_, (shape, codes, _)) in with_codes(batch) {
                lorenzo::encode::<E>(&mut encoder, coding, (shape, codes), tables);
            }
            encode_masks::<E, S>(&mut encoder, batch, tables)?;
        } else {
            encode_lists::<E, S>(&mut encoder, coding, batch, tables)?;
            encode_masks::<E, S>(&mut encoder, batch, tables)?;
            encode_list_sizes(&mut encoder, coding, batch);
        }
        for k in (0..coding.blocks().len()).rev() {
            for (lane, (_, codes, _)) in with_codes(batch) {
                step.put(lane, activity_table(&codes.activities, k), codes.activities[k]);
            }
            step.encode(&mut encoder, tables);
        }
        for (lane, (_, codes, _)) in batch.iter().enumerate().rev() {
            step.put(lane, MASK_STATE, codes.mask_state);
        }
        step.encode(&mut encoder, tables);
    }
    outer::encode(&mut encoder, outer, coding.components);
    encoder.finish()
}

/// The tiles of a batch that have codes, with their lanes, the last one first.
fn with_codes<'b, 'a, S>(
    batch: &'b [Coded<'a, S>],
) -> impl Iterator<Item = (usize, &'b Coded<'a, S>)> + Clone {
    batch.iter().enumerate().rev().filter(|(_, (_, codes, _))| QuantizedTile::has_codes(codes.mask_state))
}

/// The numbers of entries of the sparse lists of a batch.
fn encode_list_sizes<S: Shape>(encoder: &mut Encoder, coding: TileCoding, batch: &[Coded<'_, S>]) {
    for k in (0..3).rev() {
        let sizes = with_codes(batch).map(|(lane, (_, codes, entries))| {
            (lane, entries.counts[k] as u32, coding.count_bits(k, codes.activities[k]))
        });
        encoder.raw(sizes.filter(|&(_, _, bits)| bits > 0));
    }
}

/// The masks of a batch, and in front of them the numbers of their entries.
fn encode_masks<E: EntropyTable, S: Shape>(
    encoder: &mut Encoder,
    batch: &[Coded<'_, S>],
    tables: &[E::Encode],
) -> Result<()> {
    let mut entries = Vec::new();
    let mut sizes = [[None; LANES]; 2];
    for (lane, (shape, codes, _)) in batch.iter().enumerate() {
        for (rows, sizes) in some_masks(codes).into_iter().zip(&mut sizes) {
            if let Some(rows) = rows {
                let mask = CodedMask::new(shape.columns_and_rows(), rows);
                memory::reserve_growing(&mut entries, MASK_BLOCKS)?;
                mask.for_entries(|run, block| entries.push((run as u16, block)));
                sizes[lane] = Some(mask.size());
            }
        }
    }
    let (mut runs, mut bytes) = (Step::new(), Step::new());
    for chunk in entries.chunks(LANES).rev() {
        for (lane, &(run, byte)) in chunk.iter().enumerate().rev() {
            bytes.put(lane, MASK_BYTE, byte);
            runs.put_run(lane, MASK_RUN, run);
        }
        bytes.encode(encoder, tables);
        runs.encode(encoder, tables);
    }
    for sizes in sizes.iter().rev() {
        let some = sizes.iter().enumerate().rev().filter_map(|(lane, &size)| Some((lane, size?)));
        encoder.raw(some.map(|(lane, size)| (lane, size, MASK_COUNT_BITS)));
    }
    Ok(())
}

/// The vertices of a batch, by lists.
fn encode_lists<E: EntropyTable, S: Shape>(
    encoder: &mut Encoder,
    coding: TileCoding,
    batch: &[Coded<'_, S>],
    tables: &[E::Encode],
) -> Result<()> {
    let (mut tiles, mut lists) = (memory::with_capacity(batch.len())?, List::room(batch.len())?);
    for (lane, &(ref shape, codes, entries)) in batch.iter().enumerate() {
        List::append(&mut lists, coding, lane, &codes.activities, &entries.counts);
        tiles.push(Tile { codes, index: SymbolIndex::new(coding, shape, codes), entries, raw: &codes.raw });
    }
    let mut left: usize = lists.iter().map(|list| list.left as usize).sum();
    let (mut runs_step, mut vertices) = (Step::new(), Step::new());
    let mut lists = lists.into_iter().rev().peekable();
    while left > 0 {
        // The last chunk is the one that may be short.
        let mut lane = (left - 1) % LANES + 1;
        left -= lane;
        while lane > 0 {
            let list = lists.peek_mut().expect("entries are left");
            let tile = &mut tiles[list.tile as usize];
            let here = lane.min(list.left as usize);
            list.left -= here as u16;
            lane -= here;
            let first = (list.next + list.left) as usize;
            if list.sparse {
                let entries = tile.entries.split_off(here);
                tile.put_raw_of_entries(&mut vertices, &mut runs_step, coding, lane, &entries);
                let run_table = list.run_table() as u8;
                match (entries.symbols.try_into(), entries.run_symbols.try_into()) {
                    (Ok(symbols), Ok(run_symbols)) => {
                        vertices.encode_all(encoder, tables, list.table, symbols);
                        runs_step.encode_all(encoder, tables, run_table, run_symbols);
                    }
                    _ => {
                        vertices.put_list(lane, list.table, entries.symbols);
                        runs_step.put_list(lane, run_table, entries.run_symbols);
                    }
                }
            } else if here < LANES || !tile.put_plain(encoder, first, &tables[list.table as usize]) {
                for position in (first..first + here).rev() {
                    if let Some(at) = tile.index.of(position) {
                        let (symbol, lane) = (tile.codes.symbols[at], lane + position - first);
                        tile.push(&mut vertices, coding, lane, list.table(position), symbol, position);
                    }
                }
            }
            if list.left == 0 {
                lists.next();
            }
        }
        vertices.encode(encoder, tables);
        runs_step.encode(encoder, tables);
    }
    Ok(())
}

/// The numbers of symbols that are `least` or above, the last one first.
#[inline(always)]
fn from_end(symbols: &[u8], least: u8) -> impl Iterator<Item = usize> {
    let above = match symbols.try_into() {
        Ok(all) => lanes_above(all, least),
        Err(_) => symbols.iter().enumerate().fold(0, |above, (k, &s)| above | ((s >= least) as u32) << k),
    };
    lanes_down(above)
}
