//! Groups of tiles to bytes, backwards.

use super::{class_table, for_mask_entries, for_nonzero};
use crate::geometry::{TileShape, TILE};
use crate::stage::codes::{for_mask_bytes, Scheme, TileCodes, SOME};
use crate::stage::entropy::lanes::{lanes, Encode, Encoder, LANES, PIECE_BITS};
use crate::stage::entropy::list::{self, is_list, DENSE_LANES, MASK_COUNT_BITS};
use crate::stage::entropy::table::{table_of, BLOCKS, ESCAPE, MASK_BYTE, MASK_RUN, RUN, TILE_MODE};
use crate::stage::entropy::Model;
use crate::stage::symbol::FIRST_WITH_RAW_BITS;

/// A symbol in a lane, with its raw bits.
#[derive(Clone, Copy, Default)]
pub(super) struct Item {
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
pub(super) struct Entry {
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
