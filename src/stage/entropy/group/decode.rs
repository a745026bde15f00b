//! Bytes to groups of tiles.

use super::class_table;
use crate::geometry::{TileShape, TILE};
use crate::stage::codes::{row_mask, MaskRows, Masks, Scheme, TileCodes, ALL, NONE, SOME};
use crate::stage::entropy::lanes::{lanes, Decode, Decoder, LANES, PIECE_BITS};
use crate::stage::entropy::list::{self, is_list, DENSE_LANES, MASK_COUNT_BITS};
use crate::stage::entropy::table::{table_of, BLOCKS, CLASSES, MASK_BYTE, MASK_RUN, RUN, TILE_MODE};
use crate::stage::entropy::Model;
use crate::stage::symbol::{FIRST_WITH_RAW_BITS, STORED, ZERO};

/// Decodes a group; None if its bytes are not what an encoder wrote. Never allocates more than the
/// codes of the given tiles can take.
pub fn decode<M: Model>(
    scheme: Scheme,
    bytes: &[u8],
    shapes: &[TileShape],
    tables: &[M::Decode],
) -> Option<Vec<TileCodes>> {
    assert_eq!(tables.len(), M::TABLES);
    let mut decoder = Decoder::new(bytes)?;
    let mut tiles = Vec::with_capacity(shapes.len());
    let mut symbols = [0u8; LANES];
    for batch in shapes.chunks(LANES) {
        let mut codes = vec![TileCodes::default(); batch.len()];
        let all = row_mask(batch.len());
        decoder.step(all, |_| &tables[TILE_MODE], &mut symbols);
        let mut coded = 0;
        for (lane, c) in codes.iter_mut().enumerate() {
            c.mode = symbols[lane];
            if c.mode >= scheme.modes() {
                return None;
            }
            coded |= (TileCodes::has_codes(c.mode) as u32) << lane;
        }
        for k in 0..3 {
            let mut before = [0usize; LANES];
            for (b, c) in before.iter_mut().zip(&codes) {
                *b = class_table(&c.classes, k);
            }
            decoder.step(coded, |lane| &tables[before[lane]], &mut symbols);
            for lane in lanes(coded) {
                if symbols[lane] as usize >= CLASSES {
                    return None;
                }
                codes[lane].classes[k] = symbols[lane];
            }
        }
        let mut counts = [[0; 3]; LANES];
        if M::LISTS {
            for k in 0..3 {
                for lane in lanes(coded).filter(|&lane| is_list(codes[lane].classes[k])) {
                    let bits = list::count_bits(k, codes[lane].classes[k]);
                    counts[lane][k] = if bits > 0 { decoder.raw(lane, bits) as usize } else { 0 };
                }
            }
        }
        for ((c, shape), counts) in codes.iter_mut().zip(batch).zip(&counts) {
            decode_tile::<M>(&mut decoder, scheme, c, shape, tables, counts)?;
        }
        tiles.append(&mut codes);
    }
    decoder.finished().then_some(tiles)
}

/// Decodes `count` entries of a list, as `take(decoder, numbers of up to 32 entries, their symbols)`; None
/// if one has a number that is not below `end`.
fn decode_list<D: Decode>(
    decoder: &mut Decoder<'_>,
    count: usize,
    numbers: std::ops::Range<usize>,
    run_table: &D,
    table: &D,
    mut take: impl FnMut(&mut Decoder<'_>, &[usize], &mut [u8; LANES]) -> Option<()>,
) -> Option<()> {
    let mut symbols = [0u8; LANES];
    let mut here = [0usize; LANES];
    let (mut left, mut expected) = (count, numbers.start);
    while left > 0 {
        let n = left.min(LANES);
        left -= n;
        decoder.step(row_mask(n), |_| run_table, &mut symbols);
        for lane in 0..n {
            let bits = list::run_bits(symbols[lane])?;
            let raw = if bits > 0 { decoder.raw(lane, bits) } else { 0 };
            here[lane] = expected + list::decode_run(symbols[lane], raw, bits) as usize;
            expected = here[lane] + 1;
        }
        if expected > numbers.end {
            return None;
        }
        decoder.step(row_mask(n), |_| table, &mut symbols);
        take(decoder, &here[..n], &mut symbols)?;
    }
    Some(())
}

/// A mask by its entries or byte by byte.
fn decode_mask<M: Model>(
    decoder: &mut Decoder<'_>,
    shape: &TileShape,
    tables: &[M::Decode],
    rows: &mut MaskRows,
) -> Option<()> {
    let (width, height) = shape.owned();
    let columns = width.div_ceil(8);
    let mut bytes = [[0u8; TILE]; 4];
    if M::LISTS {
        let count = decoder.raw(0, MASK_COUNT_BITS) as usize;
        let numbers = 0..TILE * columns;
        decode_list(decoder, count, numbers, &tables[MASK_RUN], &tables[MASK_BYTE], |_, here, symbols| {
            for (&number, &symbol) in here.iter().zip(symbols.iter()) {
                bytes[number / TILE][number % TILE] = symbol;
            }
            here.iter().all(|number| number % TILE < height).then_some(())
        })?;
    } else {
        for column in bytes[..columns].iter_mut() {
            decoder.step(row_mask(height), |_| &tables[MASK_BYTE], column);
        }
    }
    let mut row = 0;
    for (y, r) in rows[..height].iter_mut().enumerate() {
        for (byte, column) in bytes[..columns].iter().enumerate() {
            row ^= (column[y] as u32) << (8 * byte);
        }
        *r = row & row_mask(width);
    }
    Some(())
}

fn decode_tile<M: Model>(
    decoder: &mut Decoder<'_>,
    scheme: Scheme,
    codes: &mut TileCodes,
    shape: &TileShape,
    tables: &[M::Decode],
    counts: &[usize; 3],
) -> Option<()> {
    let (width, height) = shape.owned();
    let (zero, fill) = codes.mask_states();
    if (zero, fill) != (NONE, NONE) {
        let mut masks = Masks::default();
        for (state, rows) in [(zero, &mut masks.zero), (fill, &mut masks.fill)] {
            if state == ALL {
                rows[..height].fill(row_mask(width));
            } else if state == SOME {
                decode_mask::<M>(decoder, shape, tables, rows)?;
            }
        }
        codes.masks = Some(Box::new(masks));
    }
    if !TileCodes::has_codes(codes.mode) {
        return Some(());
    }
    let active = scheme.active(shape, codes.masks.as_deref());
    let vertices: u32 = BLOCKS
        .iter()
        .zip(&codes.classes)
        .filter(|(_, &class)| class > 0)
        .map(|(b, _)| active[b.start / 32..b.end / 32].iter().map(|m| m.count_ones()).sum::<u32>())
        .sum();
    codes.symbols.reserve_exact(vertices as usize);
    let mut symbols = [0u8; LANES];
    for (k, (block, class)) in BLOCKS.iter().zip(codes.classes).enumerate() {
        if class == 0 {
            continue;
        }
        if M::LISTS && is_list(class) {
            decode_list_block::<M>(decoder, scheme, codes, k, &active, tables, counts[k])?;
            continue;
        }
        for step in block.start / 32..block.end / 32 {
            let mask = active[step];
            if step > 1 {
                let table = &tables[table_of(step * 32, class)];
                decoder.step(mask, |_| table, &mut symbols);
            } else {
                decoder.step(mask, |lane| &tables[table_of(step * 32 + lane, class)], &mut symbols);
            }
            let mut has_raw = step == 0;
            if mask == u32::MAX {
                // Symbols that no table of this kind should hold decode as stored values would.
                for s in symbols.iter_mut() {
                    *s = (*s).min(STORED);
                    has_raw |= *s >= FIRST_WITH_RAW_BITS;
                }
                codes.symbols.extend_from_slice(&symbols);
            } else {
                for lane in lanes(mask) {
                    symbols[lane] = symbols[lane].min(STORED);
                    has_raw |= symbols[lane] >= FIRST_WITH_RAW_BITS;
                    codes.symbols.push(symbols[lane]);
                }
            }
            if has_raw {
                let position = |lane| step * 32 + lane;
                decode_raw(decoder, scheme, mask, position, &symbols, &mut codes.raw)?;
            }
        }
    }
    Some(())
}

/// A block whose vertices that are not zero are listed. None if an entry is no active vertex.
fn decode_list_block<M: Model>(
    decoder: &mut Decoder<'_>,
    scheme: Scheme,
    codes: &mut TileCodes,
    block: usize,
    active: &[u32; 32],
    tables: &[M::Decode],
    count: usize,
) -> Option<()> {
    let (first, class) = (BLOCKS[block].start, codes.classes[block]);
    let mut spread = [ZERO; 1024];
    if block == 0 {
        let mask = active[0] & DENSE_LANES;
        let mut symbols = [0u8; LANES];
        decoder.step(mask, |lane| &tables[table_of(lane, class)], &mut symbols);
        for lane in lanes(mask) {
            symbols[lane] = symbols[lane].min(STORED);
            spread[lane] = symbols[lane];
        }
        decode_raw(decoder, scheme, mask, |lane| lane, &symbols, &mut codes.raw)?;
    }
    let numbers = list::positions(block);
    let (run_table, table) = (&tables[RUN + class as usize - 1], &tables[table_of(numbers.start, class)]);
    let raw = &mut codes.raw;
    decode_list(decoder, count, numbers, run_table, table, |decoder, here, symbols| {
        for (&position, s) in here.iter().zip(symbols.iter_mut()) {
            *s = (*s).min(STORED);
            if active[position / 32] >> (position % 32) & 1 == 0 {
                return None;
            }
            spread[position - first] = *s;
        }
        decode_raw(decoder, scheme, row_mask(here.len()), |lane| here[lane], symbols, raw)
    })?;
    for step in first / 32..BLOCKS[block].end / 32 {
        let symbols = &spread[step * 32 - first..][..LANES];
        if active[step] == u32::MAX {
            codes.symbols.extend_from_slice(symbols);
        } else {
            codes.symbols.extend(lanes(active[step]).map(|lane| symbols[lane]));
        }
    }
    Some(())
}

/// The raw bits of a step's symbols, by the positions of the lanes; None for a symbol that may not occur.
fn decode_raw(
    decoder: &mut Decoder<'_>,
    scheme: Scheme,
    mask: u32,
    position: impl Fn(usize) -> usize,
    symbols: &[u8; LANES],
    raw: &mut Vec<u64>,
) -> Option<()> {
    let mut bits = [0u32; LANES];
    let mut values = [0u128; LANES];
    let mut pieces = 0;
    for lane in lanes(mask) {
        if !scheme.allows(symbols[lane]) {
            return None;
        }
        bits[lane] = scheme.raw_bits(symbols[lane], position(lane));
        pieces = pieces.max(bits[lane].div_ceil(PIECE_BITS));
    }
    if pieces == 0 {
        return Some(());
    }
    for piece in 0..pieces {
        let done = piece * PIECE_BITS;
        for lane in lanes(mask) {
            if bits[lane] > done {
                let n = (bits[lane] - done).min(PIECE_BITS);
                values[lane] |= (decoder.raw(lane, n) as u128) << done;
            }
        }
    }
    for lane in lanes(mask) {
        for k in 0..bits[lane].div_ceil(64) {
            raw.push((values[lane] >> (64 * k)) as u64);
        }
    }
    Some(())
}
