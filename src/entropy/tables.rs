//! Tables: which one codes what, how counts become frequencies, and how tables are stored.

use super::lanes;
use super::symbols::{ALPHABET, ESCAPE};
use crate::error::Result;
use crate::request::Coder;
use crate::runtime::memory;
use crate::stream::sections::TABLES;

/// Activities of a block of vertices: 0 means that every code is zero and nothing is stored.
pub const ACTIVITIES: usize = 8;

/// Activities of a tile that is coded by rows: those of a block, and [`FULL_ACTIVITY`].
pub const ROW_ACTIVITIES: usize = ACTIVITIES + 1;
/// Tiles of an activity up to this one say which of their rows have any symbol: most have none.
pub const LAST_SPARSE_TILE: u8 = 3;
/// The activity of tiles whose rows have all their symbols in the stream.
pub const FULL_ACTIVITY: u8 = ACTIVITIES as u8;

/// Numbers of the tables. Those of lists and of rows overlap: no stream has both.
pub const MASK_STATE: usize = 0;
pub const COARSE_ACTIVITY: usize = 1;
/// By activity of the coarse block.
pub const MIDDLE_ACTIVITY: usize = 2;
/// By activity of the middle block.
pub const FINE_ACTIVITY: usize = MIDDLE_ACTIVITY + ACTIVITIES;
pub const MASK_BYTE: usize = FINE_ACTIVITY + ACTIVITIES;
pub const ANCHOR: usize = MASK_BYTE + 1;
pub const STEP_16: usize = ANCHOR + 1;
pub const STEP_8: usize = STEP_16 + 1;
/// By activity of the coarse block, from 1.
pub const STEP_4: usize = STEP_8 + 1;
/// By activity of the middle block, from 1.
pub const STEP_2: usize = STEP_4 + ACTIVITIES - 1;
/// By activity of the fine block, from 1.
pub const STEP_1: usize = STEP_2 + ACTIVITIES - 1;
/// Runs of zeros in sparse lists, by activity from 1.
pub const RUN: usize = STEP_1 + ACTIVITIES - 1;
/// Runs of zeros among the blocks of a mask.
pub const MASK_RUN: usize = RUN + LAST_LIST_ACTIVITY as usize;
/// Bytes that say which rows of a tile of an activity up to [`LAST_SPARSE_TILE`] have a symbol.
pub const ROW_BYTE: usize = 20;
/// Bytes of the patterns of rows, by activity of the tile from 1.
pub const PATTERN: usize = 28;
/// Symbols of rows, by activity of the tile from 1; that of the vertex (0, 0) has [`ANCHOR`].
pub const ROW_SYMBOL: usize = PATTERN + ROW_ACTIVITIES - 2;
const _: () = assert!(MASK_RUN + 1 == TABLES);
const _: () = assert!(ANCHOR < PATTERN && ROW_SYMBOL + FULL_ACTIVITY as usize <= MASK_RUN);

/// A block of an activity up to this one is so sparse that the vertices that are not zero are listed.
pub const LAST_LIST_ACTIVITY: u8 = 6;

/// Blocks of a tile: positions 0..64 (anchor, steps 16, 8 and 4), 64..256 and 256..1024.
pub const BLOCKS: [std::ops::Range<usize>; 3] = [0..64, 64..256, 256..1024];

/// Blocks of a tile of a volume: positions 0..64 (anchor, steps 8 and 4), 64..512 and 512..4096.
pub const VOLUME_BLOCKS: [std::ops::Range<usize>; 3] = [0..64, 64..512, 512..4096];

/// The one block of a tile that is coded by rows.
pub const ROW_BLOCK: &[std::ops::Range<usize>] = std::slice::from_ref(&(0..1024));

/// The table of a position whose block has an activity above 0.
#[inline(always)]
pub fn table_of(position: usize, activity: u8) -> usize {
    let c = activity as usize - 1;
    match position {
        256.. => STEP_1 + c,
        64.. => STEP_2 + c,
        16.. => STEP_4 + c,
        4.. => STEP_8,
        1.. => STEP_16,
        _ => ANCHOR,
    }
}

/// [`table_of`] for a tile of a volume.
#[inline(always)]
pub fn table_of_volume(position: usize, activity: u8) -> usize {
    let c = activity as usize - 1;
    match position {
        512.. => STEP_1 + c,
        64.. => STEP_2 + c,
        8.. => STEP_4 + c,
        1.. => STEP_8,
        _ => ANCHOR,
    }
}

/// The activity of a block with `active` vertices whose codes cost about `cost` bits.
#[inline(always)]
pub fn activity_of(cost: u64, active: u64) -> u8 {
    if cost == 0 {
        return 0;
    }
    let density = (cost * 64 / active).max(1);
    (1 + density.ilog2()).min(ACTIVITIES as u32 - 1) as u8
}

/// The activity of a tile that is coded by rows: from three halves of a bit for a vertex on, patterns do not
/// pay.
#[inline(always)]
pub fn row_activity_of(cost: u64, active: u64) -> u8 {
    if cost > 0 && 2 * cost >= 3 * active {
        FULL_ACTIVITY
    } else {
        activity_of(cost, active)
    }
}

/// How often each symbol occurs, by table.
pub type Counts = [[u64; ALPHABET]; TABLES];

pub fn zero_counts() -> Result<Box<Counts>> {
    let counts = memory::filled(TABLES, [0u64; ALPHABET])?;
    Ok(counts.into_boxed_slice().try_into().expect("the length is TABLES"))
}

/// A table of a coder, made of the counts of symbols.
pub trait EntropyTable: Sized + Send + Sync {
    const CODER: Coder;
    type Encode: lanes::Encode + Send + Sync;
    type Decode: lanes::Decode + Send + Sync;

    fn from_counts(counts: &[u64; ALPHABET]) -> Self;
    /// Size of the symbols of these counts, in 1/256 bit.
    fn cost(&self, counts: &[u64; ALPHABET]) -> u64;
    /// Appends the stored form, a multiple of 4 bytes and at most 1020; a table that no symbol uses, or all
    /// of whose symbols escape, takes none.
    fn write(&self, out: &mut Vec<u8>);
    /// Reads what [`EntropyTable::write`] wrote.
    fn read(bytes: &[u8]) -> Result<Self>;
    fn encode_table(&self) -> Self::Encode;
    fn decode_table(&self) -> Result<Self::Decode>;
}

/// Appends the stored form of a table, a multiple of 4 bytes: the number of entries in 8 bits (less one),
/// `head` in `head_bits`, then each entry, ascending: the distance of its symbol from the last one in Elias
/// gamma code and what `put` writes. Bits fill bytes from the least significant. A table that no symbol uses
/// takes nothing, and neither does one of the escape alone, which is read for it.
pub(super) fn write_entries(
    entries: &[Option<u32>; ALPHABET],
    (head, head_bits): (u32, u32),
    out: &mut Vec<u8>,
    put: impl Fn(&mut BitWriter<'_>, u32),
) {
    let count = entries.iter().flatten().count();
    if count == 0 || count == 1 && entries[ESCAPE as usize].is_some() {
        return;
    }
    let mut bits = BitWriter { out, pending: 0, count: 0 };
    bits.put(count as u32 - 1, 8);
    bits.put(head, head_bits);
    let mut previous = -1i32;
    for (symbol, entry) in entries.iter().enumerate() {
        if let &Some(value) = entry {
            let gap = (symbol as i32 - previous) as u32;
            let length = gap.ilog2();
            bits.put(0, length);
            bits.put(1, 1);
            bits.put(gap & ((1 << length) - 1), length);
            put(&mut bits, value);
            previous = symbol as i32;
        }
    }
    bits.align();
}

/// Reads what [`write_entries`] wrote, as `take(bits, symbol, head)`; None where it cannot be that. `bytes`
/// are not empty.
pub(super) fn read_entries(
    bytes: &[u8],
    head_bits: u32,
    mut take: impl FnMut(&mut BitReader<'_>, usize, u32) -> Option<()>,
) -> Option<()> {
    let mut bits = BitReader { bytes, position: 0 };
    let (entries, head) = (bits.get(8)? + 1, bits.get(head_bits)?);
    let mut symbol = -1i32;
    for _ in 0..entries {
        let mut length = 0;
        while bits.get(1)? == 0 {
            length += 1;
            if length > 8 {
                return None;
            }
        }
        symbol += (1i32 << length) | bits.get(length)? as i32;
        if symbol >= ALPHABET as i32 {
            return None;
        }
        take(&mut bits, symbol as usize, head)?;
    }
    Some(())
}

/// log2 in 1/256 units, rounded down: exact integer arithmetic.
pub fn log2_fixed(x: u32) -> u32 {
    let whole = x.ilog2();
    // Mantissa in [1, 2) with 31 fractional bits, squared once per bit of the result.
    let mut m = (x as u64) << (31 - whole);
    let mut fraction = 0;
    for _ in 0..8 {
        m = (m * m) >> 31;
        fraction <<= 1;
        if m >> 32 != 0 {
            m >>= 1;
            fraction |= 1;
        }
    }
    whole << 8 | fraction
}

pub(super) struct BitWriter<'a> {
    out: &'a mut Vec<u8>,
    pending: u64,
    count: u32,
}

impl BitWriter<'_> {
    pub(super) fn put(&mut self, value: u32, bits: u32) {
        self.pending |= (value as u64) << self.count;
        self.count += bits;
        while self.count >= 32 {
            self.out.extend_from_slice(&(self.pending as u32).to_le_bytes());
            self.pending >>= 32;
            self.count -= 32;
        }
    }
    fn align(&mut self) {
        if self.count > 0 {
            self.put(0, 32 - self.count);
        }
    }
}

pub(super) struct BitReader<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl BitReader<'_> {
    pub(super) fn get(&mut self, bits: u32) -> Option<u32> {
        let mut value = 0;
        for k in 0..bits {
            let byte = *self.bytes.get(self.position / 8)?;
            value |= ((byte >> (self.position % 8)) as u32 & 1) << k;
            self.position += 1;
        }
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entropy::huffman::{Lengths, MAX_LENGTH};
    use crate::entropy::lanes::{Decoder, Encoder, LANES, LEAST_STATE_BYTES};
    use crate::entropy::rans::{Frequencies, SCALE};
    use crate::random::Random;
    use std::iter::once;

    #[test]
    fn fixed_point_logarithm() {
        for x in 1..=4096u32 {
            let exact = (x as f64).log2() * 256.0;
            let got = log2_fixed(x) as f64;
            assert!(got <= exact + 1e-9 && got > exact - 1.01, "{x}: {got} {exact}");
        }
    }

    #[test]
    fn classes_grow_with_the_cost() {
        assert_eq!(activity_of(0, 768), 0);
        assert_eq!(activity_of(1, 768), 1);
        assert_eq!(activity_of(768, 768), 7);
        assert_eq!(activity_of(u32::MAX as u64, 1), 7);
        let rows = [(0, 0), (0, 1024), (1, 1024), (1535, 1024), (1536, 1024), (2, 1), (1, 1)];
        assert_eq!(rows.map(|(cost, active)| row_activity_of(cost, active)), [0, 0, 1, 7, 8, 8, 7]);
    }

    /// Arbitrary counts, and some that are hard.
    fn many_counts() -> impl Iterator<Item = [u64; ALPHABET]> {
        let mut random = Random(1);
        let drawn = (0..300).map(move |_| {
            let mut counts = [0; ALPHABET];
            for _ in 0..1 + random.below(256) {
                let shift = random.below(40);
                counts[random.below(256) as usize] = random.next() >> (24 + shift);
            }
            counts
        });
        // Fibonacci's numbers make the deepest tree.
        let mut deepest = [0; ALPHABET];
        (0..40).for_each(|k| deepest[k] = (1.618f64.powi(k as i32 + 3) / 2.236) as u64);
        drawn.chain([deepest, [1; ALPHABET], [1000; ALPHABET]])
    }

    /// Symbols, or the escape for them, have a share of the whole, and tables are read as they were.
    fn check_table<E: EntropyTable + PartialEq>(whole: u32, share: impl Fn(&E, u8) -> u32) {
        for counts in many_counts() {
            let table = E::from_counts(&counts);
            let total: u32 = (0..=255).map(|s| share(&table, s)).sum();
            assert_eq!(total, if counts == [0; ALPHABET] { 0 } else { whole });
            for (s, &c) in (0..=255).zip(&counts) {
                assert!(c == 0 || share(&table, s) > 0 || share(&table, ESCAPE) > 0);
            }
            let mut bytes = Vec::new();
            table.write(&mut bytes);
            assert_eq!(bytes.len() % 4, 0);
            assert!(bytes.len() / 4 <= u8::MAX as usize);
            let read = E::read(&bytes).unwrap();
            // Nothing is stored of a table that no symbol uses, or the escape alone.
            assert!(read == table || bytes.is_empty() && read.cost(&counts) == table.cost(&counts));
            for cut in 1..bytes.len() {
                // Truncation may only be unnoticed where nothing but padding is lost.
                assert!(E::read(&bytes[..cut]).map_or(true, |other| other == table));
            }
        }
    }

    #[test]
    fn tables_have_room_for_their_symbols_and_are_stored() {
        check_table(SCALE, |f: &Frequencies, s| f.0[s as usize] as u32);
        check_table(1 << MAX_LENGTH, |l: &Lengths, s| l.of(s).map_or(0, |length| 1 << (MAX_LENGTH - length)));
        assert!(Lengths::read(&[0x01, 0x83, 0x40, 0x00]).is_err(), "codes that leave space");
    }

    fn check_certain<E: EntropyTable>() {
        let mut counts = [0; ALPHABET];
        counts[7] = 1 << 47;
        let table = E::from_counts(&counts);
        assert_eq!(table.cost(&counts), 0);
        let (encode, decode) = (table.encode_table(), table.decode_table().unwrap());
        let mut encoder = Encoder::new().unwrap();
        (0..10_000).for_each(|k| encoder.put(once((k % LANES, &encode, 7))));
        let bytes = encoder.finish().unwrap();
        assert_eq!(bytes.len(), LEAST_STATE_BYTES);
        let mut decoder = Decoder::new(&bytes).unwrap();
        (0..10_000).for_each(|k| assert_eq!(decoder.get(k % LANES, &decode), 7));
        assert!(decoder.finished());
    }

    #[test]
    fn a_certain_symbol_takes_nothing() {
        check_certain::<Frequencies>();
        check_certain::<Lengths>();
    }
}
