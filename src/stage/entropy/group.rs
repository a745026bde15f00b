//! Groups of tiles that share the states of one coder.
//!
//! A group codes its tiles in batches of 32. A batch starts with one lane per tile: modes, then the
//! classes of the coarse, middle and fine blocks. Then come the tiles one by one: the masks that are
//! neither empty nor full (one lane per row, byte by byte), and the blocks of a class above 0 in
//! steps of 32 positions, one lane each: symbols, escapes, raw bits in pieces of 16. Coders without
//! fractions of a bit code masks and sparse blocks as lists instead (`list`).

use super::lanes::{lanes, Decode, Decoder, Encode, Encoder, LANES, PIECE_BITS};
use super::list::{self, is_list, DENSE_LANES, MASK_COUNT_BITS};
use super::table::{
    table_of, Counts, BLOCKS, CLASSES, COARSE_CLASS, ESCAPE, FINE_CLASS, MASK_BYTE, MASK_RUN, MIDDLE_CLASS,
    RUN, TILE_MODE,
};
use super::Model;
use crate::geometry::{TileShape, TILE};
use crate::stage::codes::{
    for_mask_bytes, lanes_above, row_mask, MaskRows, Masks, Scheme, TileCodes, ALL, NONE, SOME,
};
use crate::stage::symbol::{FIRST_WITH_RAW_BITS, STORED, ZERO};

/// The tables of a stream, ready for encoding.
pub fn encode_tables<M: Model>(models: &[M]) -> Vec<M::Encode> {
    models.iter().map(M::encode_table).collect()
}

/// The tables of a stream, ready for decoding.
pub fn decode_tables<M: Model>(models: &[M]) -> Vec<M::Decode> {
    models.iter().map(M::decode_table).collect()
}

/// The table of the class of block `k`, given those of the blocks before.
fn class_table(classes: &[u8; 3], k: usize) -> usize {
    match k {
        0 => COARSE_CLASS,
        1 => MIDDLE_CLASS + classes[0] as usize,
        _ => FINE_CLASS + classes[1] as usize,
    }
}

/// The lanes of a step of 32 positions that are coded one symbol each.
fn dense_lanes<M: Model>(step: usize, class: u8) -> u32 {
    match step {
        _ if !M::LISTS || !is_list(class) => u32::MAX,
        0 => DENSE_LANES,
        _ => 0,
    }
}

/// Counts everything that the entropy coder will code of a tile; gives back the raw bits.
pub fn count<M: Model>(scheme: Scheme, shape: &TileShape, codes: &TileCodes, counts: &mut Counts) -> u64 {
    let mut raw = 0;
    counts[TILE_MODE][codes.mode as usize] += 1;
    if let Some(masks) = &codes.masks {
        for (state, rows) in [(codes.mask_states().0, &masks.zero), (codes.mask_states().1, &masks.fill)] {
            if state != SOME {
                continue;
            }
            if M::LISTS {
                raw += MASK_COUNT_BITS as u64;
                for_mask_entries(shape, rows, |run, byte| {
                    let (symbol, _, bits) = list::encode_run(run);
                    counts[MASK_RUN][symbol as usize] += 1;
                    counts[MASK_BYTE][byte as usize] += 1;
                    raw += bits as u64;
                });
            } else {
                for_mask_bytes(shape, rows, |_, _, byte| counts[MASK_BYTE][byte as usize] += 1);
            }
        }
    }
    if !TileCodes::has_codes(codes.mode) {
        return raw;
    }
    for (k, &class) in codes.classes.iter().enumerate() {
        counts[class_table(&codes.classes, k)][class as usize] += 1;
    }
    let active = scheme.active(shape, codes.masks.as_deref());
    let mut symbols = &codes.symbols[..];
    for (k, (block, &class)) in BLOCKS.iter().zip(&codes.classes).enumerate() {
        if class == 0 {
            continue;
        }
        let mut expected = list::positions(k).start;
        if M::LISTS && is_list(class) {
            raw += list::count_bits(k, class) as u64;
        }
        for step in block.start / 32..block.end / 32 {
            let mask = active[step];
            let (here, rest) = symbols.split_at(mask.count_ones() as usize);
            symbols = rest;
            let dense = dense_lanes::<M>(step, class);
            if dense == u32::MAX && step > 1 {
                let table = &mut counts[table_of(step * 32, class)];
                for &s in here {
                    table[s as usize] += 1;
                    if s >= FIRST_WITH_RAW_BITS {
                        raw += scheme.raw_bits(s, step * 32 + 1) as u64;
                    }
                }
                continue;
            }
            if dense != 0 {
                for (lane, &s) in lanes(mask).zip(here).filter(|(lane, _)| dense >> lane & 1 != 0) {
                    counts[table_of(step * 32 + lane, class)][s as usize] += 1;
                    raw += scheme.raw_bits(s, step * 32 + lane) as u64;
                }
            }
            for_nonzero(mask, here, |lane, s| {
                if dense >> lane & 1 == 0 {
                    let position = step * 32 + lane;
                    let (symbol, _, bits) = list::encode_run((position - expected) as u32);
                    counts[RUN + class as usize - 1][symbol as usize] += 1;
                    expected = position + 1;
                    counts[table_of(position, class)][s as usize] += 1;
                    raw += (bits + scheme.raw_bits(s, position)) as u64;
                }
            });
        }
    }
    raw
}

/// Visits the symbols of a step that are not zero, as `visit(lane, symbol)`.
#[inline(always)]
fn for_nonzero(mask: u32, symbols: &[u8], mut visit: impl FnMut(usize, u8)) {
    match <&[u8; LANES]>::try_from(symbols) {
        Ok(all) => lanes(lanes_above(all, 1)).for_each(|lane| visit(lane, all[lane])),
        Err(_) => {
            for (lane, &s) in lanes(mask).zip(symbols).filter(|(_, &s)| s != ZERO) {
                visit(lane, s);
            }
        }
    }
}

/// Visits the bytes of a mask that are not zero, each row as its difference from the row before, as
/// `visit(run of zeros before it, byte)`: byte b of row y has the number 32 b + y.
fn for_mask_entries(shape: &TileShape, rows: &MaskRows, mut visit: impl FnMut(u32, u8)) {
    let mut expected = 0;
    for_mask_bytes(shape, rows, |byte, y, value| {
        if value != 0 {
            let number = (TILE * byte + y) as u32;
            visit(number - expected, value);
            expected = number + 1;
        }
    });
}

/// A symbol in a lane, with its raw bits.
#[derive(Clone, Copy, Default)]
struct Item {
    lane: u8,
    symbol: u8,
    bits: u16,
    value: [u64; 2],
}

impl Item {
    fn new(lane: usize, symbol: u8) -> Self {
        Item { lane: lane as u8, symbol, ..Item::default() }
    }

    /// The raw bits of a piece.
    #[inline(always)]
    fn piece(&self, done: u32) -> u32 {
        (self.value[(done / 64) as usize] >> (done % 64)) as u32 & 0xffff
    }
}

/// Encodes one symbol in each of the given lanes (ascending), escapes after all symbols, and then their raw
/// bits.
fn put_step<'a, E: Encode + 'a>(encoder: &mut Encoder, items: &[Item], table: impl Fn(usize) -> &'a E) {
    let most = items.iter().map(|item| item.bits as u32).max().unwrap_or(0);
    for piece in (0..most.div_ceil(PIECE_BITS)).rev() {
        let done = piece * PIECE_BITS;
        for item in items.iter().rev().filter(|item| item.bits as u32 > done) {
            let n = (item.bits as u32 - done).min(PIECE_BITS);
            encoder.raw(item.lane as usize, item.piece(done) & ((1 << n) - 1), n);
        }
    }
    let escapes = |item: &Item| item.symbol == ESCAPE || !table(item.lane as usize).has(item.symbol);
    for item in items.iter().rev().filter(|item| escapes(item)) {
        encoder.raw(item.lane as usize, item.symbol as u32, 8);
    }
    for item in items.iter().rev() {
        let lane = item.lane as usize;
        table(lane).put(encoder, lane, if escapes(item) { ESCAPE } else { item.symbol });
    }
}

/// An entry of a list: what is coded of the run before it, and of itself.
#[derive(Clone, Copy, Default)]
struct Entry {
    run: Item,
    item: Item,
}

impl Entry {
    fn new(number: usize, run: u32, item: Item) -> Self {
        let lane = (number % LANES) as u8;
        let (symbol, value, bits) = list::encode_run(run);
        let run = Item { lane, symbol, bits: bits as u16, value: [value as u64, 0] };
        Entry { run, item: Item { lane, ..item } }
    }
}

fn put_list<E: Encode>(encoder: &mut Encoder, entries: &[Entry], run_table: &E, table: &E) {
    let mut items = [Item::default(); LANES];
    for chunk in entries.chunks(LANES).rev() {
        let items = &mut items[..chunk.len()];
        items.iter_mut().zip(chunk).for_each(|(item, entry)| *item = entry.item);
        put_step(encoder, items, |_| table);
        items.iter_mut().zip(chunk).for_each(|(item, entry)| *item = entry.run);
        put_step(encoder, items, |_| run_table);
    }
}

/// Appends the coded form of a group of tiles.
pub fn encode<M: Model>(
    scheme: Scheme,
    tiles: &[(TileShape, &TileCodes)],
    tables: &[M::Encode],
    out: &mut Vec<u8>,
) {
    let mut encoder = Encoder::new();
    let mut entries = Vec::new();
    for batch in tiles.chunks(LANES).rev() {
        let mut counts = [[0u32; 3]; LANES];
        for (&(shape, codes), counts) in batch.iter().zip(&mut counts).rev() {
            encode_tile::<M>(&mut encoder, scheme, &shape, codes, tables, &mut entries, counts);
        }
        let coded = |t: &&(usize, &TileCodes)| TileCodes::has_codes(t.1.mode);
        let numbered: Vec<(usize, &TileCodes)> = batch.iter().map(|&(_, c)| c).enumerate().collect();
        if M::LISTS {
            for k in (0..3).rev() {
                for (lane, codes) in numbered.iter().filter(coded).rev() {
                    if is_list(codes.classes[k]) {
                        let bits = list::count_bits(k, codes.classes[k]);
                        if bits > 0 {
                            encoder.raw(*lane, counts[*lane][k], bits);
                        }
                    }
                }
            }
        }
        for k in (0..3).rev() {
            let step: Vec<Item> =
                numbered.iter().filter(coded).map(|&(lane, c)| Item::new(lane, c.classes[k])).collect();
            put_step(&mut encoder, &step, |lane| &tables[class_table(&numbered[lane].1.classes, k)]);
        }
        let step: Vec<Item> = numbered.iter().map(|&(lane, c)| Item::new(lane, c.mode)).collect();
        put_step(&mut encoder, &step, |_| &tables[TILE_MODE]);
    }
    encoder.finish(out);
}

/// `entries` is scratch; `counts` takes the number of entries of the lists.
fn encode_tile<M: Model>(
    encoder: &mut Encoder,
    scheme: Scheme,
    shape: &TileShape,
    codes: &TileCodes,
    tables: &[M::Encode],
    entries: &mut Vec<Entry>,
    counts: &mut [u32; 3],
) {
    if TileCodes::has_codes(codes.mode) {
        let active = scheme.active(shape, codes.masks.as_deref());
        let (mut symbols, mut raw) = (&codes.symbols[..], &codes.raw[..]);
        for (k, (block, &class)) in BLOCKS.iter().zip(&codes.classes).enumerate().rev() {
            if class == 0 {
                continue;
            }
            let steps = block.start / 32..block.end / 32;
            if M::LISTS && is_list(class) {
                let vertices: u32 = active[steps.clone()].iter().map(|m| m.count_ones()).sum();
                let (rest, here) = symbols.split_at(symbols.len() - vertices as usize);
                symbols = rest;
                raw = list_entries(scheme, k, steps, &active, here, raw, entries);
                counts[k] = entries.len() as u32;
                let table = &tables[table_of(list::positions(k).start, class)];
                put_list(encoder, entries, &tables[RUN + class as usize - 1], table);
                if k == 0 {
                    let mask = active[0] & DENSE_LANES;
                    let here = &here[..mask.count_ones() as usize];
                    raw = encode_step(encoder, scheme, 0, mask, here, raw, class, tables);
                }
                continue;
            }
            for step in steps.rev() {
                let mask = active[step];
                let (rest, here) = symbols.split_at(symbols.len() - mask.count_ones() as usize);
                symbols = rest;
                if step > 1 && here.iter().all(|&s| s < FIRST_WITH_RAW_BITS) {
                    let table = &tables[table_of(step * 32, class)];
                    encode_plain(encoder, mask, here, table);
                } else {
                    raw = encode_step(encoder, scheme, step, mask, here, raw, class, tables);
                }
            }
        }
    }
    if let Some(masks) = &codes.masks {
        let (zero, fill) = codes.mask_states();
        for (state, rows) in [(fill, &masks.fill), (zero, &masks.zero)] {
            if state != SOME {
                continue;
            }
            if M::LISTS {
                entries.clear();
                for_mask_entries(shape, rows, |run, symbol| {
                    entries.push(Entry::new(entries.len(), run, Item::new(0, symbol)));
                });
                put_list(encoder, entries, &tables[MASK_RUN], &tables[MASK_BYTE]);
                encoder.raw(0, entries.len() as u32, MASK_COUNT_BITS);
            } else {
                let mut bytes = [[0u8; TILE]; 4];
                for_mask_bytes(shape, rows, |byte, y, value| bytes[byte][y] = value);
                let (width, height) = shape.owned();
                for column in bytes[..width.div_ceil(8)].iter().rev() {
                    let items = column[..height].iter().enumerate();
                    let step: Vec<Item> = items.map(|(lane, &symbol)| Item::new(lane, symbol)).collect();
                    put_step(encoder, &step, |_| &tables[MASK_BYTE]);
                }
            }
        }
    }
}

/// Collects the entries of a block's list; gives back the raw elements in front of theirs.
fn list_entries<'a>(
    scheme: Scheme,
    block: usize,
    steps: std::ops::Range<usize>,
    active: &[u32; 32],
    mut symbols: &[u8],
    raw: &'a [u64],
    entries: &mut Vec<Entry>,
) -> &'a [u64] {
    entries.clear();
    let mut expected = list::positions(block).start;
    let mut words = 0;
    for step in steps {
        let mask = active[step];
        let (here, rest) = symbols.split_at(mask.count_ones() as usize);
        symbols = rest;
        let listed = if step == 0 { !DENSE_LANES } else { u32::MAX };
        for_nonzero(mask, here, |lane, symbol| {
            if listed >> lane & 1 == 0 {
                return;
            }
            let position = step * 32 + lane;
            let bits = scheme.raw_bits(symbol, position);
            words += bits.div_ceil(64) as usize;
            let item = Item { bits: bits as u16, ..Item::new(lane, symbol) };
            entries.push(Entry::new(entries.len(), (position - expected) as u32, item));
            expected = position + 1;
        });
    }
    let (rest, here) = raw.split_at(raw.len() - words);
    take_raw(entries.iter_mut().map(|e| &mut e.item), here);
    rest
}

/// Gives the items their raw bits.
fn take_raw<'a>(items: impl Iterator<Item = &'a mut Item>, mut raw: &[u64]) {
    for item in items {
        let n = item.bits.div_ceil(64) as usize;
        item.value[..n].copy_from_slice(&raw[..n]);
        raw = &raw[n..];
    }
}

/// A step whose symbols have no raw bits and share one table.
#[inline(always)]
fn encode_plain<E: Encode>(encoder: &mut Encoder, mask: u32, symbols: &[u8], table: &E) {
    if symbols.iter().any(|&s| !table.has(s)) {
        let items = lanes(mask).zip(symbols);
        let step: Vec<Item> = items.map(|(lane, &symbol)| Item::new(lane, symbol)).collect();
        put_step(encoder, &step, |_| table);
    } else if mask == u32::MAX {
        for (lane, &s) in symbols.iter().enumerate().rev() {
            table.put(encoder, lane, s);
        }
    } else {
        let mut rest = mask;
        for &s in symbols.iter().rev() {
            let lane = 31 - rest.leading_zeros() as usize;
            rest &= !(1 << lane);
            table.put(encoder, lane, s);
        }
    }
}

/// A step with raw bits; gives back the raw elements in front of this step's.
#[allow(clippy::too_many_arguments)]
fn encode_step<'a, E: Encode>(
    encoder: &mut Encoder,
    scheme: Scheme,
    step: usize,
    mask: u32,
    symbols: &[u8],
    raw: &'a [u64],
    class: u8,
    tables: &[E],
) -> &'a [u64] {
    let mut items = [Item::default(); LANES];
    let items = &mut items[..symbols.len()];
    let mut words = 0;
    for (item, (lane, &symbol)) in items.iter_mut().zip(lanes(mask).zip(symbols)) {
        let bits = scheme.raw_bits(symbol, step * 32 + lane);
        *item = Item { bits: bits as u16, ..Item::new(lane, symbol) };
        words += bits.div_ceil(64) as usize;
    }
    let (rest, here) = raw.split_at(raw.len() - words);
    take_raw(items.iter_mut(), here);
    put_step(encoder, items, |lane| &tables[table_of(step * 32 + lane, class)]);
    rest
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::{Grid, TILE_VERTICES};
    use crate::request::Predictor;
    use crate::stage::entropy::huffman::Lengths;
    use crate::stage::entropy::table::{zero_counts, Frequencies};

    /// Tiles with arbitrary codes: every mode, class, symbol, and partial shapes.
    fn arbitrary(grid: Grid, seed: u64, scheme: Scheme) -> Vec<(TileShape, TileCodes)> {
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
                    let active = scheme.active(&shape, codes.masks.as_deref());
                    for k in 0..3 {
                        codes.classes[k] = random(8) as u8;
                        // As many entries as the class allows a list.
                        let listed = is_list(codes.classes[k]);
                        let mut left =
                            if listed { (1 << list::count_bits(k, codes.classes[k])) - 1 } else { 768 };
                        for position in BLOCKS[k].clone() {
                            if codes.classes[k] == 0 || active[position / 32] >> (position % 32) & 1 == 0 {
                                continue;
                            }
                            let mut s = if random(5) == 0 { random(180) as u8 } else { random(3) as u8 };
                            if listed && list::positions(k).contains(&position) {
                                s = if left == 0 || random(4) > 0 { ZERO } else { s };
                                left -= (s != ZERO) as u32;
                            }
                            codes.symbols.push(s);
                            let mut bits = scheme.raw_bits(s, position);
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

    fn round_trip<M: Model>(scheme: Scheme, tiles: &[(TileShape, TileCodes)]) {
        let mut counts = zero_counts();
        for (shape, codes) in tiles {
            count::<M>(scheme, shape, codes, &mut counts);
        }
        let models: Vec<M> = counts[..M::TABLES].iter().map(M::from_counts).collect();
        let mut bytes = Vec::new();
        let refs: Vec<_> = tiles.iter().map(|(s, c)| (*s, c)).collect();
        encode::<M>(scheme, &refs, &encode_tables(&models), &mut bytes);
        let shapes: Vec<_> = tiles.iter().map(|t| t.0).collect();
        let tables = decode_tables(&models);
        let decoded = decode::<M>(scheme, &bytes, &shapes, &tables).expect("intact");
        for (a, (_, b)) in decoded.iter().zip(tiles) {
            assert_eq!(a, b);
        }
        // Damaged groups end in an error or in codes of the right shape.
        for k in (0..bytes.len()).step_by(37) {
            let mut bad = bytes.clone();
            bad[k] ^= 0x5a;
            if let Some(t) = decode::<M>(scheme, &bad, &shapes, &tables) {
                assert!(t.iter().all(|c| c.symbols.len() <= TILE_VERTICES));
            }
            assert!(decode::<M>(scheme, &bytes[..k & !3], &shapes, &tables).is_none());
        }
    }

    #[test]
    fn groups_round_trip() {
        for (nx, ny, element_bytes) in [(1, 1, 4), (70, 50, 8), (300, 260, 4), (32, 2000, 8), (1300, 31, 4)] {
            let scheme = Scheme { predictor: Predictor::Hierarchical, element_bytes };
            let tiles = arbitrary(Grid::new(nx, ny), nx * 31 + ny, scheme);
            round_trip::<Frequencies>(scheme, &tiles);
            round_trip::<Lengths>(scheme, &tiles);
        }
    }

    /// A field of zeros but for a few vertices takes far less than a bit a vertex with either coder.
    #[test]
    fn zeros_take_nothing() {
        let scheme = Scheme { predictor: Predictor::Hierarchical, element_bytes: 4 };
        let grid = Grid::new(512, 512);
        let sizes = [bytes_of::<Frequencies>, bytes_of::<Lengths>].map(|size| {
            let tiles = (0..grid.tiles()).map(|t| {
                let mut codes = TileCodes { classes: [0, 0, (t % 2) as u8], ..Default::default() };
                if t % 2 == 1 {
                    codes.symbols = vec![ZERO; 768];
                    codes.symbols[(t * 37 % 768) as usize] = 8;
                }
                (grid.tile(t), codes)
            });
            size(scheme, &tiles.collect::<Vec<_>>())
        });
        assert!(sizes.iter().all(|&bytes| bytes < 512), "{sizes:?}");
    }

    fn bytes_of<M: Model>(scheme: Scheme, tiles: &[(TileShape, TileCodes)]) -> usize {
        let mut counts = zero_counts();
        tiles.iter().for_each(|(shape, codes)| {
            count::<M>(scheme, shape, codes, &mut counts);
        });
        let models: Vec<M> = counts[..M::TABLES].iter().map(M::from_counts).collect();
        let mut bytes = Vec::new();
        let refs: Vec<_> = tiles.iter().map(|(s, c)| (*s, c)).collect();
        encode::<M>(scheme, &refs, &encode_tables(&models), &mut bytes);
        bytes.len()
    }
}
