//! Groups of tiles to bytes, backwards.

use super::{class_table, for_mask_entries, for_nonzero, some_masks, List, Places};
use crate::geometry::TileShape;
use crate::stage::codes::{Scheme, TileCodes};
use crate::stage::entropy::lanes::{Encode, Encoder, LANES, PIECE_BITS};
use crate::stage::entropy::list::{self, is_list, MASK_COUNT_BITS};
use crate::stage::entropy::table::{BLOCKS, ESCAPE, MASK_BYTE, MASK_RUN, TILE_MODE};
use crate::stage::entropy::Model;
use crate::stage::symbol::FIRST_WITH_RAW_BITS;

/// A symbol in a lane, and the number of its raw bits.
#[derive(Clone, Copy, Default)]
struct Item {
    lane: u8,
    table: u8,
    symbol: u8,
    bits: u8,
}

/// At most an item per lane, from the last lane to the first, as they are encoded.
struct Step {
    items: [Item; LANES],
    /// The raw bits of items that have some.
    raw: [[u64; 2]; LANES],
    count: usize,
    /// The largest number of raw bits.
    bits: u8,
}

impl Step {
    fn new() -> Self {
        Step { items: [Item::default(); LANES], raw: [[0; 2]; LANES], count: 0, bits: 0 }
    }

    #[inline(always)]
    fn push(&mut self, lane: usize, table: usize, symbol: u8) {
        self.items[self.count] = Item { lane: lane as u8, table: table as u8, symbol, bits: 0 };
        self.count += 1;
    }

    /// Gives the last item raw bits.
    #[inline(always)]
    fn add_raw(&mut self, bits: u32, raw: [u64; 2]) {
        self.items[self.count - 1].bits = bits as u8;
        self.raw[self.count - 1] = raw;
        self.bits = self.bits.max(bits as u8);
    }

    #[inline(always)]
    fn push_run(&mut self, lane: usize, table: usize, run: u16) {
        let (symbol, value, bits) = list::encode_run(run as u32);
        self.push(lane, table, symbol);
        if bits > 0 {
            self.add_raw(bits, [value as u64, 0]);
        }
    }

    /// Encodes what the decoder reads as: all symbols, the escapes, the raw bits.
    fn put<E: Encode>(&mut self, encoder: &mut Encoder, tables: &[E]) {
        let items = &self.items[..self.count];
        for piece in (0..(self.bits as u32).div_ceil(PIECE_BITS)).rev() {
            let done = piece * PIECE_BITS;
            for (item, raw) in items.iter().zip(&self.raw).filter(|(item, _)| item.bits as u32 > done) {
                let n = (item.bits as u32 - done).min(PIECE_BITS);
                let piece = (raw[(done / 64) as usize] >> (done % 64)) as u32;
                encoder.raw(item.lane as usize, piece & ((1 << n) - 1), n);
            }
        }
        let escapes = |item: &Item| item.symbol == ESCAPE || !tables[item.table as usize].has(item.symbol);
        for item in items.iter().filter(|item| escapes(item)) {
            encoder.raw(item.lane as usize, item.symbol as u32, 8);
        }
        for item in items {
            let symbol = if escapes(item) { ESCAPE } else { item.symbol };
            tables[item.table as usize].put(encoder, item.lane as usize, symbol);
        }
        (self.count, self.bits) = (0, 0);
    }
}

/// An entry of a sparse list, and the run before it.
#[derive(Clone, Copy)]
struct Entry {
    run: u16,
    position: u16,
    symbol: u8,
}

/// A tile whose codes are encoded from the last one on.
struct Tile<'a> {
    codes: &'a TileCodes,
    places: Places,
    /// Raw elements of the entries that are left.
    raw: &'a [u64],
}

impl Tile<'_> {
    /// Adds the symbol of a position, with its raw bits, which are the last ones.
    #[inline(always)]
    fn push(&mut self, step: &mut Step, scheme: Scheme, lane: usize, table: u8, symbol: u8, position: usize) {
        step.push(lane, table as usize, symbol);
        if symbol >= FIRST_WITH_RAW_BITS {
            let bits = scheme.raw_bits(symbol, position);
            let (rest, here) = self.raw.split_at(self.raw.len() - bits.div_ceil(64) as usize);
            let word = |k: usize| here.get(k).copied().unwrap_or(0);
            step.add_raw(bits, [word(0), word(1)]);
            self.raw = rest;
        }
    }

    /// Encodes 32 positions of one table whose symbols have no raw bits and no escapes; false if they have.
    #[inline(always)]
    fn put_plain<E: Encode>(&self, encoder: &mut Encoder, first: usize, table: &E) -> bool {
        let mask = self.places.from(first);
        let Some(at) = self.places.of(first + mask.trailing_zeros() as usize % LANES) else {
            return true;
        };
        let symbols = &self.codes.symbols[at..][..mask.count_ones() as usize];
        if symbols.iter().any(|&s| s >= FIRST_WITH_RAW_BITS || !table.has(s)) {
            return false;
        }
        if mask == u32::MAX {
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
        true
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
    let mut step = Step::new();
    for batch in tiles.chunks(LANES).rev() {
        let counts = encode_codes::<M>(&mut encoder, scheme, batch, tables);
        encode_masks::<M>(&mut encoder, batch, tables);
        let coded = |t: &(usize, &(TileShape, &TileCodes))| TileCodes::has_codes(t.1 .1.mode);
        for k in (0..3).rev() {
            for (lane, (_, codes)) in batch.iter().enumerate().filter(coded).rev() {
                let class = codes.classes[k];
                let bits = if is_list(class) { list::count_bits(k, class) } else { 0 };
                if bits > 0 {
                    encoder.raw(lane, counts[lane][k] as u32, bits);
                }
            }
        }
        for k in (0..3).rev() {
            for (lane, (_, codes)) in batch.iter().enumerate().filter(coded).rev() {
                step.push(lane, class_table(&codes.classes, k), codes.classes[k]);
            }
            step.put(&mut encoder, tables);
        }
        for (lane, (_, codes)) in batch.iter().enumerate().rev() {
            step.push(lane, TILE_MODE, codes.mode);
        }
        step.put(&mut encoder, tables);
    }
    encoder.finish(out);
}

/// The masks of a batch, and in front of them the numbers of their entries.
fn encode_masks<M: Model>(encoder: &mut Encoder, batch: &[(TileShape, &TileCodes)], tables: &[M::Encode]) {
    let mut entries = Vec::new();
    let mut counts = [[None; LANES]; 2];
    for (lane, (shape, codes)) in batch.iter().enumerate() {
        for (rows, counts) in some_masks(codes).into_iter().zip(&mut counts) {
            let before = entries.len();
            if let Some(rows) = rows {
                for_mask_entries(shape, rows, |run, byte| entries.push((run as u16, byte)));
                counts[lane] = Some((entries.len() - before) as u32);
            }
        }
    }
    let (mut runs, mut bytes) = (Step::new(), Step::new());
    for chunk in entries.chunks(LANES).rev() {
        for (lane, &(run, byte)) in chunk.iter().enumerate().rev() {
            bytes.push(lane, MASK_BYTE, byte);
            runs.push_run(lane, MASK_RUN, run);
        }
        bytes.put(encoder, tables);
        runs.put(encoder, tables);
    }
    for (lane, count) in counts.iter().rev().flat_map(|counts| counts.iter().enumerate().rev()) {
        if let &Some(count) = count {
            encoder.raw(lane, count, MASK_COUNT_BITS);
        }
    }
}

/// The vertices of a batch; gives back the numbers of entries of sparse lists by tile and block.
fn encode_codes<M: Model>(
    encoder: &mut Encoder,
    scheme: Scheme,
    batch: &[(TileShape, &TileCodes)],
    tables: &[M::Encode],
) -> [[u16; 3]; LANES] {
    let mut counts = [[0; 3]; LANES];
    let (mut tiles, mut lists, mut entries) = (Vec::with_capacity(batch.len()), Vec::new(), Vec::new());
    for (lane, (shape, codes)) in batch.iter().enumerate() {
        let places = Places::new(scheme, shape, codes);
        for (k, &class) in codes.classes.iter().enumerate().filter(|(_, &class)| is_list(class)) {
            let before = entries.len();
            append_entries(&mut entries, k, &places, codes);
            counts[lane][k] = (entries.len() - before) as u16;
            debug_assert!(counts[lane][k] as u32 >> list::count_bits(k, class) == 0);
        }
        List::append(&mut lists, lane, &codes.classes, &counts[lane]);
        tiles.push(Tile { codes, places, raw: &codes.raw });
    }
    let mut left: usize = lists.iter().map(|list| list.left as usize).sum();
    let (mut runs, mut vertices) = (Step::new(), Step::new());
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
                for (k, entry) in entries.drain(entries.len() - here..).enumerate().rev() {
                    let position = entry.position as usize;
                    tile.push(&mut vertices, scheme, lane + k, list.table, entry.symbol, position);
                    runs.push_run(lane + k, list.run_table(), entry.run);
                }
            } else if here < LANES || !tile.put_plain(encoder, first, &tables[list.table as usize]) {
                for position in (first..first + here).rev() {
                    if let Some(at) = tile.places.of(position) {
                        let (symbol, lane) = (tile.codes.symbols[at], lane + position - first);
                        tile.push(&mut vertices, scheme, lane, list.table(position), symbol, position);
                    }
                }
            }
            if list.left == 0 {
                lists.next();
            }
        }
        vertices.put(encoder, tables);
        runs.put(encoder, tables);
    }
    counts
}

/// Appends the entries of the sparse list of a block.
fn append_entries(entries: &mut Vec<Entry>, block: usize, places: &Places, codes: &TileCodes) {
    let positions = list::positions(block);
    let mut expected = positions.start;
    for step in BLOCKS[block].start / LANES..BLOCKS[block].end / LANES {
        let mask = places.active[step];
        let symbols = &codes.symbols[places.first[step] as usize..][..mask.count_ones() as usize];
        for_nonzero(mask, symbols, |lane, symbol| {
            let position = step * LANES + lane;
            if position >= positions.start {
                let run = (position - expected) as u16;
                entries.push(Entry { run, position: position as u16, symbol });
                expected = position + 1;
            }
        });
    }
}
