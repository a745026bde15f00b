//! Bytes to groups of tiles.

use super::lists::{List, SymbolIndex};
use super::lorenzo::RowDecoder;
use super::{activity_table, Fault};
use super::{masks, outer};
use crate::entropy::lanes::{lanes, lanes_above, mask_of, Decode, Decoder, LANES, PIECE_BITS};
use crate::entropy::lists::{self, DENSE, FIRST_RUN_WITH_RAW_BITS, MASK_COUNT_BITS, RUNS};
use crate::entropy::quantized_tile::{QuantizedTile, Shape, TileCoding, ALL, NONE, SOME};
use crate::entropy::symbols::{FIRST_WITH_RAW_BITS, ZERO};
use crate::entropy::tables::{EntropyTable, MASK_BYTE, MASK_RUN, MASK_STATE};
use crate::grid::masks::{row_mask, MaskRows, Masks};
use crate::runtime::memory;

/// Decodes a group with `outer` outer anchors: the codes of its tiles, and the coarse codes of these anchors.
/// Damage if its bytes are not what an encoder wrote. Never allocates more than the codes of the given tiles
/// can take.
pub fn decode<E: EntropyTable, S: Shape>(
    coding: TileCoding,
    bytes: &[u8],
    shapes: &[S],
    outer: usize,
    tables: &[E::Decode],
) -> Result<(Vec<QuantizedTile>, [[i32; 2]; 2]), Fault> {
    let mut decoder = Decoder::new(bytes).ok_or(Fault::Damaged)?;
    let outer = outer::decode(&mut decoder, outer, coding.components);
    let mut rows = if coding.by_rows() { Some(RowDecoder::new()?) } else { None };
    let mut tiles = memory::with_capacity(shapes.len())?;
    for batch in shapes.chunks(LANES) {
        let (mut codes, counts) = decode_heads(&mut decoder, coding, batch.len(), tables)?;
        decode_masks(&mut decoder, batch, &mut codes, tables)?;
        if let Some(rows) = &mut rows {
            for (c, shape) in codes.iter_mut().zip(batch) {
                rows.tile(&mut decoder, coding, shape, c, tables)?;
            }
        } else {
            decode_lists(&mut decoder, coding, batch, &mut codes, &counts, tables)?;
        }
        tiles.append(&mut codes);
    }
    if decoder.finished() {
        Ok((tiles, outer))
    } else {
        Err(Fault::Damaged)
    }
}

/// The mask states and the activities of a batch of `count` tiles, and the number of entries of their sparse
/// lists, by tile and block.
fn decode_heads<D: Decode>(
    decoder: &mut Decoder<'_>,
    coding: TileCoding,
    count: usize,
    tables: &[D],
) -> Result<(Vec<QuantizedTile>, [[u16; 3]; LANES]), Fault> {
    let mut codes = memory::defaults::<QuantizedTile>(count)?;
    let mut symbols = [0u8; LANES];
    decoder.step(row_mask(count), |_| &tables[MASK_STATE], &mut symbols);
    let mut coded = 0;
    for (lane, c) in codes.iter_mut().enumerate() {
        c.mask_state = symbols[lane];
        if !coding.has_mask_state(c.mask_state) {
            return Err(Fault::Damaged);
        }
        coded |= (QuantizedTile::has_codes(c.mask_state) as u32) << lane;
    }
    for k in 0..coding.blocks().len() {
        let mut before = [0usize; LANES];
        for (b, c) in before.iter_mut().zip(&codes) {
            *b = activity_table(&c.activities, k);
        }
        decoder.step(coded, |lane| &tables[before[lane]], &mut symbols);
        for lane in lanes(coded) {
            if symbols[lane] as usize >= coding.activities() {
                return Err(Fault::Damaged);
            }
            codes[lane].activities[k] = symbols[lane];
        }
    }
    let mut counts = [[0; 3]; LANES];
    for k in if coding.by_rows() { 0..0 } else { 0..3 } {
        let bits = |lane: usize| coding.count_bits(k, codes[lane].activities[k]);
        let some = lanes(coded).filter(|&lane| bits(lane) > 0);
        decoder.raw(mask_of(some), bits, |lane, value| counts[lane][k] = value as u16);
    }
    Ok((codes, counts))
}

/// The runs before entries in lanes of `active`; damage if one of the symbols is none of the `known` ones.
#[inline(always)]
fn decode_runs<'t, D: Decode + 't>(
    decoder: &mut Decoder<'_>,
    active: u32,
    known: u8,
    table: impl Fn(usize) -> &'t D,
) -> Result<[u32; LANES], Fault> {
    let mut symbols = [0; LANES];
    decoder.step(active, table, &mut symbols);
    if lanes_above(&symbols, known) != 0 {
        return Err(Fault::Damaged);
    }
    let mut runs = symbols.map(u32::from);
    let bits = |lane: usize| lists::run_bits(symbols[lane]);
    decoder.raw(lanes_above(&symbols, FIRST_RUN_WITH_RAW_BITS), bits, |lane, value| {
        runs[lane] = lists::decode_run(symbols[lane], value, bits(lane));
    });
    Ok(runs)
}

/// Entries of masks: the runs before them and their blocks, handed out one by one.
#[derive(Default)]
struct MaskEntries {
    runs: [u32; LANES],
    blocks: [u8; LANES],
    next: usize,
    /// Entries in the chunk that was decoded last, and entries behind it.
    count: usize,
    left: usize,
}

impl MaskEntries {
    fn new(entries: usize) -> Self {
        MaskEntries { left: entries, ..Self::default() }
    }

    fn next<D: Decode>(&mut self, decoder: &mut Decoder<'_>, tables: &[D]) -> Result<(usize, u8), Fault> {
        if self.next == self.count {
            (self.next, self.count) = (0, self.left.min(LANES));
            self.left -= self.count;
            let active = row_mask(self.count);
            self.runs = decode_runs(decoder, active, RUNS, |_| &tables[MASK_RUN])?;
            decoder.step(active, |_| &tables[MASK_BYTE], &mut self.blocks);
        }
        self.next += 1;
        Ok((self.runs[self.next - 1] as usize, self.blocks[self.next - 1]))
    }

    /// A mask of which `size` was coded.
    fn mask<D: Decode>(
        &mut self,
        decoder: &mut Decoder<'_>,
        size: u32,
        owned: (usize, usize),
        tables: &[D],
        rows: &mut MaskRows,
    ) -> Result<(), Fault> {
        let (entries, by_columns) = masks::read_size(size);
        let mut expected = 0;
        for _ in 0..entries {
            let (run, block) = self.next(decoder, tables)?;
            let number = expected + run;
            expected = number + 1;
            if !masks::put_block(rows, owned, by_columns, number, block) {
                return Err(Fault::Damaged);
            }
        }
        masks::undo_differences(rows, owned, by_columns);
        Ok(())
    }
}

/// Makes the masks of a tile: full and empty ones, and others as `decode(plane, rows)` gives them.
fn make_masks(
    codes: &mut QuantizedTile,
    (width, height): (usize, usize),
    mut decode: impl FnMut(usize, &mut MaskRows) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let (zero, fill) = codes.mask_coverage();
    if (zero, fill) == (NONE, NONE) {
        return Ok(());
    }
    let mut masks = Masks::default();
    for (plane, (state, rows)) in [(zero, &mut masks.zero), (fill, &mut masks.fill)].into_iter().enumerate() {
        if state == ALL {
            rows[..height].fill(row_mask(width));
        } else if state == SOME {
            decode(plane, rows)?;
        }
    }
    codes.masks = Some(memory::boxed(masks)?);
    Ok(())
}

/// The masks of a batch.
fn decode_masks<D: Decode>(
    decoder: &mut Decoder<'_>,
    shapes: &[impl Shape],
    codes: &mut [QuantizedTile],
    tables: &[D],
) -> Result<(), Fault> {
    let mut sizes = [[None; 2]; LANES];
    for plane in 0..2 {
        let covers_some = |lane: &usize| {
            let coverage = codes[*lane].mask_coverage();
            [coverage.0, coverage.1][plane] == SOME
        };
        let some = mask_of((0..codes.len()).filter(covers_some));
        decoder.raw(some, |_| MASK_COUNT_BITS, |lane, value| sizes[lane][plane] = Some(value));
    }
    let all = sizes.iter().flatten().flatten();
    let mut entries = MaskEntries::new(all.map(|&size| masks::read_size(size).0).sum());
    for ((c, shape), sizes) in codes.iter_mut().zip(shapes).zip(&sizes) {
        make_masks(c, shape.columns_and_rows(), |plane, rows| {
            let size = sizes[plane].expect("the mask covers some vertices");
            entries.mask(decoder, size, shape.columns_and_rows(), tables, rows)
        })?;
    }
    Ok(())
}

/// The vertices of a batch, by lists.
fn decode_lists<D: Decode>(
    decoder: &mut Decoder<'_>,
    coding: TileCoding,
    shapes: &[impl Shape],
    codes: &mut [QuantizedTile],
    counts: &[[u16; 3]; LANES],
    tables: &[D],
) -> Result<(), Fault> {
    let (mut index, mut lists) = (memory::with_capacity(shapes.len())?, List::room(shapes.len())?);
    for (tile, (c, shape)) in codes.iter_mut().zip(shapes).enumerate() {
        List::append(&mut lists, coding, tile, &c.activities, &counts[tile]);
        let here = SymbolIndex::new(coding, shape, c);
        c.symbols = memory::filled(here.symbols, ZERO)?;
        index.push(here);
    }
    let (mut vertices, mut chunk) = (Vertices::default(), Chunk::default());
    let mut next = 0;
    while next < lists.len() {
        let list = &mut lists[next];
        let here = &index[list.tile as usize];
        let fills_lanes = list.left as usize >= LANES;
        if !list.sparse && fills_lanes && here.from(list.next as usize) == u32::MAX {
            let place = here.of(list.next as usize).ok_or(Fault::Damaged)?;
            vertices.decode_row(decoder, coding, list, place, tables, codes)?;
            list.left -= LANES as u16;
            list.next += LANES as u16;
            next += (list.left == 0) as usize;
        } else if list.sparse && fills_lanes && here.whole {
            vertices.decode_entries(decoder, coding, list, here, tables, codes)?;
            next += (list.left == 0) as usize;
        } else {
            chunk.take(&mut lists, &mut next);
            let table = |lane: usize| &tables[chunk.run_tables[lane] as usize];
            let runs = decode_runs(decoder, chunk.sparse, coding.runs(), table)?;
            let active = vertices.put_chunk(&chunk, &mut lists, &index, &runs)?;
            vertices.decode(decoder, coding, active, tables, codes)?;
        }
    }
    Ok(())
}

/// The next 32 entries of the lists of a batch, one in a lane; fewer behind the last list.
#[derive(Default)]
struct Chunk {
    /// The lists that the entries are of, and the lanes where the entries of each end.
    parts: [(usize, usize); LANES],
    count: usize,
    /// Lanes with an entry of a sparse list, and the tables of the runs before these entries.
    sparse: u32,
    run_tables: [u8; LANES],
}

impl Chunk {
    /// Takes the entries off the lists from `next` on, which becomes the first list with entries left.
    #[inline(always)]
    fn take(&mut self, lists: &mut [List], next: &mut usize) {
        (self.count, self.sparse) = (0, 0);
        let mut entries = 0;
        while entries < LANES && *next < lists.len() {
            let list = &mut lists[*next];
            let here = (list.left as usize).min(LANES - entries);
            if here > 0 {
                self.parts[self.count] = (*next, entries + here);
                self.count += 1;
            }
            if list.sparse {
                self.sparse |= row_mask(here) << entries;
                self.run_tables[entries..entries + here].fill(list.run_table() as u8);
            }
            entries += here;
            list.left -= here as u16;
            *next += (list.left == 0) as usize;
        }
    }
}

/// Vertices whose symbols are decoded together, one in a lane.
#[derive(Default)]
struct Vertices {
    tile: [u8; LANES],
    table: [u8; LANES],
    position: [u16; LANES],
    /// Among the symbols of the tile.
    place: [u16; LANES],
}

impl Vertices {
    #[inline(always)]
    fn put(&mut self, lane: usize, tile: u8, position: usize, place: usize, table: u8) {
        self.tile[lane] = tile;
        self.position[lane] = position as u16;
        self.place[lane] = place as u16;
        self.table[lane] = table;
    }

    /// Puts the entries of a chunk in its lanes, given the runs before them. Returns the lanes whose position
    /// has a symbol; damage where a sparse list names a position without one, or none of its block.
    #[inline(always)]
    fn put_chunk(
        &mut self,
        chunk: &Chunk,
        lists: &mut [List],
        index: &[SymbolIndex],
        runs: &[u32; LANES],
    ) -> Result<u32, Fault> {
        let (mut active, mut lane) = (0, 0);
        for &(list, end) in &chunk.parts[..chunk.count] {
            let list = &mut lists[list];
            let index = &index[list.tile as usize];
            let mut expected = list.next as usize;
            self.tile[lane..end].fill(list.tile);
            self.table[lane..end].fill(list.table);
            while lane < end {
                let position = expected + runs[lane] as usize;
                expected = position + 1;
                if position >= list.end as usize {
                    return Err(Fault::Damaged);
                }
                match index.of(position) {
                    Some(place) => {
                        active |= 1 << lane;
                        self.position[lane] = position as u16;
                        self.place[lane] = place as u16;
                        if position < DENSE {
                            self.table[lane] = list.table(position);
                        }
                    }
                    None if list.sparse => return Err(Fault::Damaged),
                    None => {}
                }
                lane += 1;
            }
            list.next = expected as u16;
        }
        Ok(active)
    }

    /// Symbols and raw bits; damage for a symbol that may not occur.
    #[inline(always)]
    fn decode<D: Decode>(
        &self,
        decoder: &mut Decoder<'_>,
        coding: TileCoding,
        active: u32,
        tables: &[D],
        codes: &mut [QuantizedTile],
    ) -> Result<(), Fault> {
        let mut symbols = [0u8; LANES];
        decoder.step(active, |lane| &tables[self.table[lane] as usize], &mut symbols);
        let mut with_raw = 0;
        for lane in lanes(active) {
            // Symbols that no table of this kind should hold decode as stored values would.
            symbols[lane] = coding.known(symbols[lane]);
            codes[self.tile[lane] as usize].symbols[self.place[lane] as usize] = symbols[lane];
            with_raw |= ((symbols[lane] >= FIRST_WITH_RAW_BITS) as u32) << lane;
        }
        if with_raw != 0 {
            self.decode_raw(decoder, coding, with_raw, &symbols, codes)?;
        }
        Ok(())
    }

    /// Symbols and raw bits of the next 32 positions of a dense list behind the first, which all have a
    /// symbol.
    #[inline(always)]
    fn decode_row<D: Decode>(
        &mut self,
        decoder: &mut Decoder<'_>,
        coding: TileCoding,
        list: &List,
        place: usize,
        tables: &[D],
        codes: &mut [QuantizedTile],
    ) -> Result<(), Fault> {
        let mut symbols = [0u8; LANES];
        let table = &tables[list.table as usize];
        decoder.step(u32::MAX, |_| table, &mut symbols);
        symbols.iter_mut().for_each(|s| *s = coding.known(*s));
        codes[list.tile as usize].symbols[place..place + LANES].copy_from_slice(&symbols);
        let with_raw = lanes_above(&symbols, FIRST_WITH_RAW_BITS);
        if with_raw != 0 {
            for lane in lanes(with_raw) {
                self.put(lane, list.tile, list.next as usize + lane, place + lane, list.table);
            }
            self.decode_raw(decoder, coding, with_raw, &symbols, codes)?;
        }
        Ok(())
    }

    /// Symbols and raw bits of the next 32 entries of a sparse list of a tile of which all positions have a
    /// symbol.
    #[inline(always)]
    fn decode_entries<D: Decode>(
        &mut self,
        decoder: &mut Decoder<'_>,
        coding: TileCoding,
        list: &mut List,
        index: &SymbolIndex,
        tables: &[D],
        codes: &mut [QuantizedTile],
    ) -> Result<(), Fault> {
        let (table, table_of_runs) = (&tables[list.table as usize], &tables[list.run_table()]);
        let runs = decode_runs(decoder, u32::MAX, coding.runs(), |_| table_of_runs)?;
        let mut expected = list.next as u32;
        for (position, run) in self.position.iter_mut().zip(&runs) {
            *position = (expected + run) as u16;
            expected += run + 1;
        }
        // Positions that do not fit their type lie behind the end.
        if expected > list.end as u32 {
            return Err(Fault::Damaged);
        }
        let mut symbols = [0u8; LANES];
        decoder.step(u32::MAX, |_| table, &mut symbols);
        symbols.iter_mut().for_each(|s| *s = coding.known(*s));
        let before = index.before(list.next as usize);
        let block = &mut codes[list.tile as usize].symbols[before..];
        for (&position, &symbol) in self.position.iter().zip(&symbols) {
            block[(position - list.next) as usize] = symbol;
        }
        let with_raw = lanes_above(&symbols, FIRST_WITH_RAW_BITS);
        if with_raw != 0 {
            self.tile.fill(list.tile);
            self.decode_raw(decoder, coding, with_raw, &symbols, codes)?;
        }
        list.next = expected as u16;
        list.left -= LANES as u16;
        Ok(())
    }

    fn decode_raw(
        &self,
        decoder: &mut Decoder<'_>,
        coding: TileCoding,
        active: u32,
        symbols: &[u8; LANES],
        codes: &mut [QuantizedTile],
    ) -> Result<(), Fault> {
        let mut bits = [0u32; LANES];
        let mut values = [0u128; LANES];
        let mut most = 0;
        for lane in lanes(active) {
            if !coding.allows(symbols[lane]) {
                return Err(Fault::Damaged);
            }
            bits[lane] = coding.raw_bits(symbols[lane], self.position[lane] as usize);
            most = most.max(bits[lane]);
        }
        for done in (0..most).step_by(PIECE_BITS as usize) {
            decoder.raw(
                mask_of(lanes(active).filter(|&lane| bits[lane] > done)),
                |lane| (bits[lane] - done).min(PIECE_BITS),
                |lane, value| values[lane] |= (value as u128) << done,
            );
        }
        for lane in lanes(active) {
            let raw = &mut codes[self.tile[lane] as usize].raw;
            for k in 0..bits[lane].div_ceil(64) {
                memory::push(raw, (values[lane] >> (64 * k)) as u64)?;
            }
        }
        Ok(())
    }
}
