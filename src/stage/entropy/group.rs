//! Groups of tiles that share the states of one rANS coder.
//!
//! A group codes its tiles in batches of 32. A batch starts with one lane per tile: modes, then the
//! classes of the coarse, middle and fine blocks. Then come the tiles one by one: the masks that are
//! neither empty nor full (one lane per row, byte by byte), and the blocks of a class above 0 in
//! steps of 32 positions, one lane each: symbols, escapes, raw bits in pieces of 16.

use super::ans::{lanes, DecodeTable, Decoder, EncodeTable, Encoder, LANES, PIECE_BITS};
use super::table::{
    table_of, Frequencies, BLOCKS, CLASSES, COARSE_CLASS, ESCAPE, FINE_CLASS, MASK_BYTE, MIDDLE_CLASS,
    TABLES, TILE_MODE,
};
use crate::geometry::{TileShape, TILE};
use crate::stage::codes::{
    active_positions, for_mask_bytes, raw_bits, row_mask, Masks, TileCodes, ALL, SOME,
};
use crate::stage::symbol::{FIRST_WITH_RAW_BITS, STORED};

/// The tables of a stream, ready for encoding.
pub fn encode_tables(frequencies: &[Frequencies]) -> Vec<EncodeTable> {
    frequencies.iter().map(EncodeTable::new).collect()
}

/// The tables of a stream, ready for decoding.
pub fn decode_tables(frequencies: &[Frequencies]) -> Vec<DecodeTable> {
    frequencies.iter().map(DecodeTable::new).collect()
}

/// Encodes one symbol in each of the given lanes (ascending): escapes after all symbols.
fn put_step<'a>(encoder: &mut Encoder, step: &[(usize, u8)], table: impl Fn(usize) -> &'a EncodeTable) {
    let escapes = |lane: usize, s: u8| s == ESCAPE || table(lane).0[s as usize] >> 16 == 0;
    for &(lane, s) in step.iter().rev() {
        if escapes(lane, s) {
            encoder.raw(lane, s as u32, 8);
        }
    }
    for &(lane, s) in step.iter().rev() {
        encoder.symbol(lane, table(lane), if escapes(lane, s) { ESCAPE } else { s });
    }
}

/// Appends the coded form of a group of tiles.
pub fn encode(
    tiles: &[(TileShape, &TileCodes)],
    tables: &[EncodeTable],
    element_bytes: usize,
    out: &mut Vec<u8>,
) {
    let mut encoder = Encoder::new();
    for batch in tiles.chunks(LANES).rev() {
        for &(shape, codes) in batch.iter().rev() {
            encode_tile(&mut encoder, &shape, codes, tables, element_bytes);
        }
        let mut step = Vec::with_capacity(LANES);
        let coded = |t: &&(usize, &TileCodes)| TileCodes::has_codes(t.1.mode);
        let numbered: Vec<(usize, &TileCodes)> = batch.iter().map(|&(_, c)| c).enumerate().collect();
        for k in (0..3).rev() {
            step.clear();
            step.extend(numbered.iter().filter(coded).map(|&(lane, c)| (lane, c.classes[k])));
            put_step(&mut encoder, &step, |lane| &tables[class_table(&numbered[lane].1.classes, k)]);
        }
        step.clear();
        step.extend(numbered.iter().map(|&(lane, c)| (lane, c.mode)));
        put_step(&mut encoder, &step, |_| &tables[TILE_MODE]);
    }
    encoder.finish(out);
}

/// The table of the class of block `k`, given those of the blocks before.
fn class_table(classes: &[u8; 3], k: usize) -> usize {
    match k {
        0 => COARSE_CLASS,
        1 => MIDDLE_CLASS + classes[0] as usize,
        _ => FINE_CLASS + classes[1] as usize,
    }
}

fn encode_tile(
    encoder: &mut Encoder,
    shape: &TileShape,
    codes: &TileCodes,
    tables: &[EncodeTable],
    element_bytes: usize,
) {
    if TileCodes::has_codes(codes.mode) {
        let active = active_positions(shape, codes.masks.as_deref());
        let (mut symbols, mut raw) = (&codes.symbols[..], &codes.raw[..]);
        for (block, &class) in BLOCKS.iter().zip(&codes.classes).rev() {
            if class == 0 {
                continue;
            }
            for step in (block.start / 32..block.end / 32).rev() {
                let mask = active[step];
                let (rest, here) = symbols.split_at(symbols.len() - mask.count_ones() as usize);
                symbols = rest;
                if step > 1 && here.iter().all(|&s| s < FIRST_WITH_RAW_BITS) {
                    let table = &tables[table_of(step * 32, class)];
                    encode_plain(encoder, mask, here, table);
                } else {
                    raw = encode_step(encoder, step, mask, here, raw, class, tables, element_bytes);
                }
            }
        }
    }
    if let Some(masks) = &codes.masks {
        for (state, rows) in [(codes.mode % 3, &masks.fill), (codes.mode / 3, &masks.zero)] {
            if state == SOME {
                let mut bytes = [[0u8; TILE]; 4];
                for_mask_bytes(shape, rows, |byte, y, value| bytes[byte][y] = value);
                let (width, height) = shape.owned();
                for column in bytes[..width.div_ceil(8)].iter().rev() {
                    let step: Vec<_> = column[..height].iter().copied().enumerate().collect();
                    put_step(encoder, &step, |_| &tables[MASK_BYTE]);
                }
            }
        }
    }
}

/// A step whose symbols have no raw bits and share one table.
#[inline(always)]
fn encode_plain(encoder: &mut Encoder, mask: u32, symbols: &[u8], table: &EncodeTable) {
    if symbols.iter().any(|&s| table.0[s as usize] >> 16 == 0) {
        let step: Vec<_> = lanes(mask).zip(symbols.iter().copied()).collect();
        put_step(encoder, &step, |_| table);
    } else if mask == u32::MAX {
        for (lane, &s) in symbols.iter().enumerate().rev() {
            encoder.symbol(lane, table, s);
        }
    } else {
        let mut rest = mask;
        for &s in symbols.iter().rev() {
            let lane = 31 - rest.leading_zeros() as usize;
            rest &= !(1 << lane);
            encoder.symbol(lane, table, s);
        }
    }
}

/// A step with raw bits; gives back the raw elements in front of this step's.
#[allow(clippy::too_many_arguments)]
fn encode_step<'a>(
    encoder: &mut Encoder,
    step: usize,
    mask: u32,
    symbols: &[u8],
    raw: &'a [u64],
    class: u8,
    tables: &[EncodeTable],
    element_bytes: usize,
) -> &'a [u64] {
    let mut items = [(0usize, 0u8, 0u32, 0u128); LANES];
    let items = &mut items[..symbols.len()];
    let mut words = 0;
    for (item, (lane, &s)) in items.iter_mut().zip(lanes(mask).zip(symbols)) {
        let bits = raw_bits(s, step * 32 + lane, element_bytes);
        *item = (lane, s, bits, 0);
        words += bits.div_ceil(64) as usize;
    }
    let (rest, mut here) = raw.split_at(raw.len() - words);
    let mut pieces = 0;
    for (_, _, bits, value) in items.iter_mut() {
        let n = bits.div_ceil(64) as usize;
        *value = here[..n].iter().rev().fold(0, |v, &w| v << 64 | w as u128);
        here = &here[n..];
        pieces = pieces.max(bits.div_ceil(PIECE_BITS));
    }
    for piece in (0..pieces).rev() {
        let done = piece * PIECE_BITS;
        for &(lane, _, bits, value) in items.iter().rev() {
            if bits > done {
                let n = (bits - done).min(PIECE_BITS);
                encoder.raw(lane, (value >> done) as u32 & ((1 << n) - 1), n);
            }
        }
    }
    let plain: Vec<_> = items.iter().map(|&(lane, s, _, _)| (lane, s)).collect();
    put_step(encoder, &plain, |lane| &tables[table_of(step * 32 + lane, class)]);
    rest
}

/// Decodes a group; None if its bytes are not what an encoder wrote. Never allocates more than the
/// codes of the given tiles can take.
pub fn decode(
    bytes: &[u8],
    shapes: &[TileShape],
    tables: &[DecodeTable],
    element_bytes: usize,
) -> Option<Vec<TileCodes>> {
    assert_eq!(tables.len(), TABLES);
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
            if c.mode > 8 {
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
        for (c, shape) in codes.iter_mut().zip(batch) {
            decode_tile(&mut decoder, c, shape, tables, element_bytes);
        }
        tiles.append(&mut codes);
    }
    decoder.finished().then_some(tiles)
}

fn decode_tile(
    decoder: &mut Decoder<'_>,
    codes: &mut TileCodes,
    shape: &TileShape,
    tables: &[DecodeTable],
    element_bytes: usize,
) {
    let (width, height) = shape.owned();
    let mut symbols = [0u8; LANES];
    if codes.mode != 0 {
        let mut masks = Masks::default();
        for (state, rows) in [(codes.mode / 3, &mut masks.zero), (codes.mode % 3, &mut masks.fill)] {
            if state == ALL {
                rows[..height].fill(row_mask(width));
            } else if state == SOME {
                for byte in 0..width.div_ceil(8) {
                    decoder.step(row_mask(height), |_| &tables[MASK_BYTE], &mut symbols);
                    let mut row = 0;
                    for (r, &s) in rows[..height].iter_mut().zip(&symbols) {
                        row ^= s;
                        *r |= (row as u32) << (8 * byte);
                    }
                }
                for r in rows[..height].iter_mut() {
                    *r &= row_mask(width);
                }
            }
        }
        codes.masks = Some(Box::new(masks));
    }
    if !TileCodes::has_codes(codes.mode) {
        return;
    }
    let active = active_positions(shape, codes.masks.as_deref());
    let vertices: u32 = BLOCKS
        .iter()
        .zip(&codes.classes)
        .filter(|(_, &class)| class > 0)
        .map(|(b, _)| active[b.start / 32..b.end / 32].iter().map(|m| m.count_ones()).sum::<u32>())
        .sum();
    codes.symbols.reserve_exact(vertices as usize);
    for (block, &class) in BLOCKS.iter().zip(&codes.classes) {
        if class == 0 {
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
                decode_raw(decoder, step, mask, &symbols, &mut codes.raw, element_bytes);
            }
        }
    }
}

fn decode_raw(
    decoder: &mut Decoder<'_>,
    step: usize,
    mask: u32,
    symbols: &[u8; LANES],
    raw: &mut Vec<u64>,
    element_bytes: usize,
) {
    let mut bits = [0u32; LANES];
    let mut values = [0u128; LANES];
    let mut pieces = 0;
    for lane in lanes(mask) {
        bits[lane] = raw_bits(symbols[lane], step * 32 + lane, element_bytes);
        pieces = pieces.max(bits[lane].div_ceil(PIECE_BITS));
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::{Grid, TILE_VERTICES};
    use crate::stage::entropy::table::zero_counts;

    /// Tiles with arbitrary codes: every mode, class, symbol, and partial shapes.
    fn arbitrary(grid: Grid, seed: u64, element_bytes: usize) -> Vec<(TileShape, TileCodes)> {
        let mut state = seed | 1;
        let mut random = move |n: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % n
        };
        (0..grid.tiles())
            .map(|t| {
                let shape = grid.tile(t);
                let (width, height) = shape.owned();
                let mut codes =
                    TileCodes { mode: [0, 0, 0, 1, 2, 3, 6, 8][random(8) as usize], ..Default::default() };
                if codes.mode != 0 {
                    let mut masks = Masks::default();
                    for y in 0..height {
                        let all = row_mask(width);
                        let (a, b) = (random(1 << 32) as u32 & all, random(1 << 32) as u32 & all);
                        masks.zero[y] = [0, all, a][(codes.mode / 3) as usize];
                        masks.fill[y] = [0, all, b & !a][(codes.mode % 3) as usize];
                    }
                    codes.masks = Some(Box::new(masks));
                }
                if TileCodes::has_codes(codes.mode) {
                    let active = active_positions(&shape, codes.masks.as_deref());
                    for k in 0..3 {
                        codes.classes[k] = random(8) as u8;
                        for position in BLOCKS[k].clone() {
                            if codes.classes[k] == 0 || active[position / 32] >> (position % 32) & 1 == 0 {
                                continue;
                            }
                            let s = if random(5) == 0 { random(180) as u8 } else { random(3) as u8 };
                            codes.symbols.push(s);
                            let mut bits = raw_bits(s, position, element_bytes);
                            while bits > 0 {
                                let n = bits.min(64);
                                codes.raw.push((random(1 << 32) << 32 | random(1 << 32)) >> (64 - n));
                                bits -= n;
                            }
                        }
                    }
                }
                (shape, codes)
            })
            .collect()
    }

    #[test]
    fn groups_round_trip() {
        for (nx, ny, element_bytes) in [(1, 1, 4), (70, 50, 8), (300, 260, 4), (32, 2000, 8), (1300, 31, 4)] {
            let tiles = arbitrary(Grid::new(nx, ny), nx * 31 + ny, element_bytes);
            let mut counts = zero_counts();
            for (shape, codes) in &tiles {
                codes.count(shape, &mut counts);
            }
            let frequencies: Vec<_> = counts.iter().map(Frequencies::from_counts).collect();
            let mut bytes = Vec::new();
            let refs: Vec<_> = tiles.iter().map(|(s, c)| (*s, c)).collect();
            encode(&refs, &encode_tables(&frequencies), element_bytes, &mut bytes);
            let shapes: Vec<_> = tiles.iter().map(|t| t.0).collect();
            let tables = decode_tables(&frequencies);
            let decoded = decode(&bytes, &shapes, &tables, element_bytes).expect("intact");
            for (a, (_, b)) in decoded.iter().zip(&tiles) {
                assert_eq!(a, b);
            }
            // Damaged groups end in an error or in codes of the right shape.
            for k in (0..bytes.len()).step_by(37) {
                let mut bad = bytes.clone();
                bad[k] ^= 0x5a;
                if let Some(t) = decode(&bad, &shapes, &tables, element_bytes) {
                    assert!(t.iter().all(|c| c.symbols.len() <= TILE_VERTICES));
                }
                assert!(decode(&bytes[..k & !3], &shapes, &tables, element_bytes).is_none());
            }
        }
    }
}
