//! The rows of tiles, a lane for each: how the vertices of the Lorenzo predictor are coded.
//!
//! A tile of an activity from 1 to 7 first says which of its vertices have a symbol, a bit each: a byte of
//! every row in a step. Steps with one of these symbols of each row follow, from the left, until no row has
//! more. In a tile of activity [`FULL_ACTIVITY`] all vertices have one. A lane stays with its row: nothing is
//! looked up by position, and the decoder of a tile waits for no other tile.
//!
//! Where the coder takes a bit for each byte, however likely, those of rows without a symbol would be most of
//! a tile that has few. So tiles of an activity up to [`LAST_SPARSE_TILE`] say before which rows have some.

use super::masks::some_masks;
use super::step::Step;
use super::weights::{MASK_LIST_WEIGHT, STEPS, STEP_WEIGHT, TILE_WEIGHT};
use super::Fault;
use crate::entropy::lanes::{lanes, lanes_above, mask_of, Decode, Decoder, Encoder, LANES, PIECE_BITS};
use crate::entropy::quantized_tile::{QuantizedTile, Shape, TileCoding};
use crate::entropy::symbols::{FIRST_WITH_RAW_BITS, ZERO};
use crate::entropy::tables::{
    Counts, EntropyTable, ANCHOR, COARSE_ACTIVITY, FULL_ACTIVITY, LAST_SPARSE_TILE, MASK_BYTE, MASK_RUN,
    MASK_STATE, PATTERN, ROW_ACTIVITIES, ROW_BYTE, ROW_SYMBOL,
};
use crate::grid::masks::{row_mask, MaskRows};
use crate::grid::tiles::TILE;
use crate::runtime::memory;

/// All tables of a stream that is coded by rows.
pub fn tables() -> impl Iterator<Item = usize> {
    [MASK_STATE, COARSE_ACTIVITY, MASK_BYTE, ANCHOR, ROW_BYTE, MASK_RUN]
        .into_iter()
        .chain(PATTERN..ROW_SYMBOL + ROW_ACTIVITIES - 1)
}

/// The tables of the patterns and of the symbols of an activity above 0. Tiles of activity [`FULL_ACTIVITY`]
/// have no patterns.
#[inline(always)]
fn tables_of(activity: u8) -> (usize, usize) {
    (PATTERN + activity as usize - 1, ROW_SYMBOL + activity as usize - 1)
}

/// The vertices of each row that have a symbol.
fn rows_with_symbols(shape: &impl Shape, coding: TileCoding, codes: &QuantizedTile) -> [u32; TILE] {
    let active = shape.active(coding, codes.masks.as_deref());
    std::array::from_fn(|row| active[row])
}

/// Bytes of the pattern of a row.
fn pattern_bytes(shape: &impl Shape) -> usize {
    shape.columns_and_rows().0.div_ceil(8)
}

/// Bytes that say which rows have a symbol.
fn row_bytes(shape: &impl Shape) -> usize {
    shape.columns_and_rows().1.div_ceil(8)
}

/// Visits the rows of a tile of an activity above 0, as `visit(y, symbols by column, those that are in the
/// stream)`.
#[inline(always)]
fn for_rows(
    active: &MaskRows,
    codes: &QuantizedTile,
    height: usize,
    mut visit: impl FnMut(usize, &[u8; TILE], u32),
) {
    let mut symbols = &codes.symbols[..];
    for (y, &mask) in active[..height].iter().enumerate() {
        let here;
        (here, symbols) = symbols.split_at(mask.count_ones() as usize);
        let mut spread = [ZERO; TILE];
        let row = match here.try_into() {
            Ok(whole) => whole,
            Err(_) => {
                lanes(mask).zip(here).for_each(|(x, &s)| spread[x] = s);
                &spread
            }
        };
        visit(y, row, if codes.activities[0] == FULL_ACTIVITY { mask } else { lanes_above(row, 1) });
    }
}

/// Counts what is coded of a tile with codes: its raw bits.
pub fn count(coding: TileCoding, shape: &impl Shape, codes: &QuantizedTile, counts: &mut Counts) -> u64 {
    let activity = codes.activities[0];
    if activity == 0 {
        return 0;
    }
    let active = rows_with_symbols(shape, coding, codes);
    let bytes = if activity == FULL_ACTIVITY { 0 } else { pattern_bytes(shape) };
    let (pattern, symbol) = tables_of(activity);
    let [patterns, symbols] = counts.get_disjoint_mut([pattern, symbol]).expect("these are two tables");
    let (mut raw, mut any) = (0, 0u32);
    for_rows(&active, codes, shape.columns_and_rows().1, |y, row, present| {
        any |= ((present != 0) as u32) << y;
        if present != 0 || activity > LAST_SPARSE_TILE {
            for &byte in &present.to_le_bytes()[..bytes] {
                patterns[byte as usize] += 1;
            }
        }
        // Zeros are many where there are some.
        let nonzero = lanes_above(row, 1);
        symbols[ZERO as usize] += (present & !nonzero).count_ones() as u64;
        for x in lanes(nonzero) {
            symbols[row[x] as usize] += 1;
        }
        for x in lanes(lanes_above(row, FIRST_WITH_RAW_BITS)) {
            raw += coding.raw_bits(row[x], 1) as u64;
        }
    });
    if activity <= LAST_SPARSE_TILE {
        for &byte in &any.to_le_bytes()[..row_bytes(shape)] {
            counts[ROW_BYTE][byte as usize] += 1;
        }
    }
    // The first vertex has a table of its own.
    if active[0] & 1 != 0 && (activity == FULL_ACTIVITY || codes.symbols[0] != ZERO) {
        counts[symbol][codes.symbols[0] as usize] -= 1;
        counts[ANCHOR][codes.symbols[0] as usize] += 1;
    }
    raw
}

/// Weight of a tile, as its activity and its masks tell it without a look at its symbols.
pub fn weight(codes: &QuantizedTile) -> u16 {
    let lists = some_masks(codes).into_iter().flatten().count() as u16;
    let activity = if QuantizedTile::has_codes(codes.mask_state) { codes.activities[0] as usize } else { 0 };
    TILE_WEIGHT + MASK_LIST_WEIGHT * lists + STEP_WEIGHT * STEPS.get(activity).unwrap_or(&0)
}

/// The symbols that the stream holds of a tile, by rows.
struct Rows {
    /// The vertices that have a symbol.
    present: MaskRows,
    /// Of steps: the k-th symbol of row y is at [k][y].
    symbols: [[u8; LANES]; TILE],
}

/// Exchanges rows and columns, of which the first ones alone are asked for, in squares of 8 by 8.
#[inline(always)]
fn transpose(from: &[[u8; TILE]; TILE], to: &mut [[u8; TILE]; TILE], columns: usize) {
    const SIDE: usize = 8;
    // Exchanges what is `by` above `low` with what is in its place `at` rows below.
    #[inline(always)]
    fn exchange(square: &mut [u64; SIDE], at: usize, by: u32, low: u64) {
        for k in (0..SIDE).filter(|k| k & at == 0) {
            let other = (square[k] >> by ^ square[k | at]) & low;
            square[k] ^= other << by;
            square[k | at] ^= other;
        }
    }
    for x in (0..columns).step_by(SIDE) {
        for y in (0..TILE).step_by(SIDE) {
            let mut square: [u64; SIDE] = std::array::from_fn(|k| {
                u64::from_le_bytes(from[y + k][x..x + SIDE].try_into().expect("eight bytes"))
            });
            exchange(&mut square, 4, 32, 0x0000_0000_ffff_ffff);
            exchange(&mut square, 2, 16, 0x0000_ffff_0000_ffff);
            exchange(&mut square, 1, 8, 0x00ff_00ff_00ff_00ff);
            for (k, column) in square.iter().enumerate() {
                to[x + k][y..y + SIDE].copy_from_slice(&column.to_le_bytes());
            }
        }
    }
}

impl Rows {
    fn new() -> Self {
        Rows { present: [0; TILE], symbols: [[ZERO; LANES]; TILE] }
    }

    /// The rows that have more symbols than the number of a step, by step.
    fn steps(&self) -> [u32; TILE] {
        let mut last = [0u32; TILE + 1];
        for (y, present) in self.present.iter().enumerate() {
            last[present.count_ones() as usize] |= 1 << y;
        }
        let (mut steps, mut rows) = ([0; TILE], 0);
        for (step, &ended) in steps.iter_mut().zip(&last[1..]).rev() {
            rows |= ended;
            *step = rows;
        }
        steps
    }

    /// The most symbols of a row.
    fn most(&self) -> usize {
        self.present.iter().map(|row| row.count_ones()).max().unwrap_or(0) as usize
    }

    /// Whether the vertex (0, 0) has a symbol, which has a table of its own.
    fn has_first(&self) -> bool {
        self.present[0] & 1 != 0
    }
}

/// Encodes the rows of a tile with codes, from the last one on.
pub fn encode<E: EntropyTable>(
    encoder: &mut Encoder,
    coding: TileCoding,
    (shape, codes): (&impl Shape, &QuantizedTile),
    tables: &[E::Encode],
) {
    let activity = codes.activities[0];
    if activity == 0 {
        return;
    }
    let (rows, mut raw_ends) = rows_of(coding, shape, codes);
    let (pattern, symbol) = tables_of(activity);
    let (mut step, steps) = (Step::new(), rows.steps());
    for (k, &active) in steps.iter().enumerate().rev().filter(|&(_, &active)| active != 0) {
        let symbols = &rows.symbols[k];
        for lane in lanes(lanes_above(symbols, FIRST_WITH_RAW_BITS) & active) {
            let bits = coding.raw_bits(symbols[lane], 1);
            let words = bits.div_ceil(64) as usize;
            raw_ends[lane] -= words;
            let word = |k: usize| if k < words { codes.raw[raw_ends[lane] + k] } else { 0 };
            step.put_raw(lane, bits, [word(0), word(1)]);
        }
        if k == 0 && rows.has_first() {
            step.put_lanes(active, symbol, symbols);
            step.put(0, ANCHOR, symbols[0]);
            step.encode(encoder, tables);
        } else {
            step.encode_lanes(encoder, tables, active, symbol, symbols);
        }
    }
    if activity == FULL_ACTIVITY {
        return;
    }
    let is_sparse = activity <= LAST_SPARSE_TILE;
    let coded = if is_sparse { steps[0] } else { row_mask(shape.columns_and_rows().1) };
    for byte in (0..pattern_bytes(shape)).rev() {
        let bytes = rows.present.map(|row| (row >> (8 * byte)) as u8);
        step.encode_lanes(encoder, tables, coded, pattern, &bytes);
    }
    if is_sparse {
        let mut bytes = [0; LANES];
        bytes[..4].copy_from_slice(&coded.to_le_bytes());
        step.encode_lanes(encoder, tables, row_mask(row_bytes(shape)), ROW_BYTE, &bytes);
    }
}

/// The rows of a tile with codes, and where the raw elements of each row end.
#[inline(always)]
fn rows_of(coding: TileCoding, shape: &impl Shape, codes: &QuantizedTile) -> (Rows, [usize; TILE]) {
    let active = rows_with_symbols(shape, coding, codes);
    let mut rows = Rows::new();
    let mut by_row = [[ZERO; TILE]; TILE];
    let (mut raw_ends, mut end) = ([0; TILE], 0);
    for_rows(&active, codes, shape.columns_and_rows().1, |y, row, present| {
        rows.present[y] = present;
        if present == u32::MAX {
            by_row[y] = *row;
        } else {
            for (k, x) in lanes(present).enumerate() {
                by_row[y][k % TILE] = row[x];
            }
        }
        if !codes.raw.is_empty() {
            for x in lanes(lanes_above(row, FIRST_WITH_RAW_BITS)) {
                end += coding.raw_bits(row[x], 1).div_ceil(64) as usize;
            }
            raw_ends[y] = end;
        }
    });
    let most = rows.most();
    transpose(&by_row, &mut rows.symbols, most);
    (rows, raw_ends)
}

/// Decodes the rows of tiles, one after another.
pub struct RowDecoder {
    rows: Rows,
    /// Raw bits of the symbols that have some: the words of the k-th one of row y are at [k][word][y].
    raw: Vec<[[u64; LANES]; 2]>,
}

impl RowDecoder {
    pub fn new() -> Result<Self, Fault> {
        Ok(RowDecoder { rows: Rows::new(), raw: memory::filled(TILE, [[0; LANES]; 2])? })
    }

    /// The symbols of a tile with codes, whose activity and masks are there; damage for bytes that no encoder
    /// writes.
    pub fn tile<D: Decode>(
        &mut self,
        decoder: &mut Decoder<'_>,
        coding: TileCoding,
        shape: &impl Shape,
        codes: &mut QuantizedTile,
        tables: &[D],
    ) -> Result<(), Fault> {
        let activity = codes.activities[0];
        if activity == 0 {
            return Ok(());
        }
        let active = rows_with_symbols(shape, coding, codes);
        if activity == FULL_ACTIVITY {
            self.rows.present = active;
        } else {
            self.patterns(decoder, shape, activity, tables)?;
            if self.rows.present.iter().zip(&active).any(|(present, active)| present & !active != 0) {
                return Err(Fault::Damaged);
            }
        }
        let of = &tables[tables_of(activity).1];
        let first = if self.rows.has_first() { &tables[ANCHOR] } else { of };
        let mut any_raw = false;
        for (k, &active) in self.rows.steps().iter().enumerate().take_while(|&(_, &active)| active != 0) {
            let symbols = &mut self.rows.symbols[k];
            if k == 0 {
                decoder.step(active, |lane| if lane == 0 { first } else { of }, symbols);
            } else {
                decoder.step(active, |_| of, symbols);
            }
            // Symbols that no table of this kind should hold decode as stored values would.
            symbols.iter_mut().for_each(|s| *s = coding.known(*s));
            let with_raw = lanes_above(symbols, FIRST_WITH_RAW_BITS) & active;
            if with_raw != 0 {
                any_raw = true;
                self.raw_bits(decoder, coding, k, with_raw)?;
            }
        }
        self.put_in_order(coding, &active, any_raw, codes)
    }

    /// The patterns of the rows of a tile of an activity below [`FULL_ACTIVITY`]. In a sparse tile those of
    /// rows without a symbol are not in the stream, and empty; damage if the stream names a row that the tile
    /// does not have.
    fn patterns<D: Decode>(
        &mut self,
        decoder: &mut Decoder<'_>,
        shape: &impl Shape,
        activity: u8,
        tables: &[D],
    ) -> Result<(), Fault> {
        let mut bytes = [0u8; LANES];
        let mut coded = row_mask(shape.columns_and_rows().1);
        if activity <= LAST_SPARSE_TILE {
            decoder.step(row_mask(row_bytes(shape)), |_| &tables[ROW_BYTE], &mut bytes);
            let any = u32::from_le_bytes(bytes[..4].try_into().expect("four bytes"));
            if any & !coded != 0 {
                return Err(Fault::Damaged);
            }
            coded = any;
        }
        self.rows.present = [0; TILE];
        let table = &tables[tables_of(activity).0];
        for byte in 0..pattern_bytes(shape) {
            decoder.step(coded, |_| table, &mut bytes);
            for y in lanes(coded) {
                self.rows.present[y] |= (bytes[y] as u32) << (8 * byte);
            }
        }
        Ok(())
    }

    /// The raw bits of a step; damage for a symbol that may not occur.
    fn raw_bits(
        &mut self,
        decoder: &mut Decoder<'_>,
        coding: TileCoding,
        k: usize,
        with_raw: u32,
    ) -> Result<(), Fault> {
        let mut bits = [0u32; LANES];
        let mut most = 0;
        for lane in lanes(with_raw) {
            let symbol = self.rows.symbols[k][lane];
            if !coding.allows(symbol) {
                return Err(Fault::Damaged);
            }
            bits[lane] = coding.raw_bits(symbol, 1);
            most = most.max(bits[lane]);
        }
        let mut values = [[0u64; LANES]; 2];
        for done in (0..most).step_by(PIECE_BITS as usize) {
            let word = &mut values[(done / 64) as usize];
            let left = lanes(with_raw).filter(|&lane| bits[lane] > done);
            decoder.raw(
                mask_of(left),
                |lane| (bits[lane] - done).min(PIECE_BITS),
                |lane, value| word[lane] |= (value as u64) << (done % 64),
            );
        }
        self.raw[k] = values;
        Ok(())
    }

    /// The symbols of active vertices by position, zeros where the stream has none, and their raw elements.
    fn put_in_order(
        &self,
        coding: TileCoding,
        active: &MaskRows,
        any_raw: bool,
        codes: &mut QuantizedTile,
    ) -> Result<(), Fault> {
        let count: u32 = active.iter().map(|row| row.count_ones()).sum();
        codes.symbols = memory::with_capacity(count as usize)?;
        let mut by_row = [[ZERO; TILE]; TILE];
        transpose(&self.rows.symbols, &mut by_row, TILE);
        if self.rows.present == [u32::MAX; TILE] && !any_raw {
            codes.symbols.extend_from_slice(by_row.as_flattened());
            return Ok(());
        }
        for (y, symbols) in by_row.iter().enumerate() {
            let (active, present) = (active[y], self.rows.present[y]);
            if any_raw {
                let here = row_mask(present.count_ones() as usize);
                for k in lanes(lanes_above(symbols, FIRST_WITH_RAW_BITS) & here) {
                    let words = coding.raw_bits(symbols[k], 1).div_ceil(64) as usize;
                    for word in &self.raw[k][..words] {
                        memory::push(&mut codes.raw, word[y])?;
                    }
                }
            }
            if present == u32::MAX {
                codes.symbols.extend_from_slice(symbols);
                continue;
            }
            let mut row = [ZERO; TILE];
            for (k, x) in lanes(present).enumerate() {
                row[x] = symbols[k % TILE];
            }
            if active == u32::MAX {
                codes.symbols.extend_from_slice(&row);
            } else {
                codes.symbols.extend(lanes(active).map(|x| row[x]));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transposed_columns_are_rows() {
        let from: [[u8; TILE]; TILE] =
            std::array::from_fn(|y| std::array::from_fn(|x| (y * 37 + x * 101 + x * y) as u8));
        for columns in [0, 1, 8, 9, 32] {
            let mut to = [[0; TILE]; TILE];
            transpose(&from, &mut to, columns);
            for x in 0..columns {
                assert!((0..TILE).all(|y| to[x][y] == from[y][x]), "column {x} of {columns}");
            }
        }
    }
}
