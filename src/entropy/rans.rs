//! rANS: the tables, and what a symbol does to the state of a lane (`lanes`).

use super::lanes::{Decode, Encode, MISSING};
use super::tables::{Frequencies, ALPHABET, ESCAPE, SCALE, SCALE_BITS};
use crate::error::Result;
use crate::runtime::memory;

/// Frequency << 16 | start, by symbol.
fn entries(frequencies: &Frequencies) -> [u32; ALPHABET] {
    let mut table = [0; ALPHABET];
    let mut start = 0;
    for (symbol, &f) in frequencies.0.iter().enumerate() {
        table[symbol] = (f as u32) << 16 | start;
        start += f as u32;
    }
    table
}

/// What encoding a symbol takes.
#[derive(Clone, Copy)]
struct Entry {
    /// 2^RECIPROCAL_BITS / frequency, rounded up.
    reciprocal: u64,
    /// The largest state that the symbol is put into as it is.
    most: u32,
    /// The slots of all other symbols.
    others: u16,
    /// Where its slots start, or [`MISSING`].
    start: u16,
}

/// A frequency table laid out for encoding.
#[derive(Clone)]
pub struct EncodeTable {
    own: [Entry; ALPHABET],
    escape: Entry,
}

/// A state that a symbol of frequency f <= 2^12 is put into is x < f * 2^20. The reciprocal exceeds 2^44 / f
/// by less than 1, e / f with e < f: x * reciprocal is below 2^64, and exceeds x * 2^44 / f by x * e / f <
/// 2^44 / f, which is too little to change the quotient, its bits from the 44th on.
const RECIPROCAL_BITS: u32 = 44;

impl EncodeTable {
    pub fn new(frequencies: &Frequencies) -> Self {
        let mut own = entries(frequencies).map(|entry| {
            let (frequency, start) = (entry >> 16, entry & 0xffff);
            Entry {
                reciprocal: (1u64 << RECIPROCAL_BITS).div_ceil(frequency.max(1) as u64),
                most: (((frequency as u64) << (32 - SCALE_BITS)) as u32).wrapping_sub(1),
                others: (SCALE - frequency) as u16,
                start: if frequency > 0 { start as u16 } else { MISSING as u16 },
            }
        });
        let escape = own[ESCAPE as usize];
        own[ESCAPE as usize].start = MISSING as u16;
        EncodeTable { own, escape }
    }
}

impl Entry {
    #[inline(always)]
    fn put(&self, state: u32) -> (u32, bool) {
        let full = state > self.most;
        let x = if full { state >> 16 } else { state };
        let quotient = ((x as u64).wrapping_mul(self.reciprocal) >> RECIPROCAL_BITS) as u32;
        // The quotient and, instead of the remainder, its slot.
        let slot = quotient.wrapping_mul(self.others as u32).wrapping_add(self.start as u32);
        (x.wrapping_add(slot), full)
    }
}

/// A frequency table laid out for decoding, with the symbol of each of the 4096 slots.
#[derive(Clone)]
pub struct DecodeTable {
    pub slots: Box<[u8; SCALE as usize]>,
    pub entries: [u32; ALPHABET],
}

impl DecodeTable {
    /// A table without symbols decodes to zeros without touching the state: only a damaged stream
    /// uses it.
    pub fn new(frequencies: &Frequencies) -> Result<Self> {
        let mut entries = entries(frequencies);
        let slots = memory::filled(SCALE as usize, 0u8)?;
        let mut slots: Box<[u8; SCALE as usize]> =
            slots.into_boxed_slice().try_into().expect("the length is SCALE");
        let mut start = 0;
        for (symbol, &f) in frequencies.0.iter().enumerate() {
            slots[start..start + f as usize].fill(symbol as u8);
            start += f as usize;
        }
        if start == 0 {
            entries[0] = SCALE << 16;
        }
        Ok(DecodeTable { slots, entries })
    }
}

impl Encode for EncodeTable {
    #[inline(always)]
    fn flags(&self, symbol: u8) -> u32 {
        self.own[symbol as usize].start as u32
    }
    #[inline(always)]
    fn put(&self, state: u32, symbol: u8) -> (u32, bool) {
        self.own[symbol as usize].put(state)
    }
    fn put_escape(&self, state: u32) -> (u32, bool) {
        self.escape.put(state)
    }
}

impl Decode for DecodeTable {
    #[inline(always)]
    fn get(&self, state: u32) -> (u8, u32) {
        let slot = state & (SCALE - 1);
        let symbol = self.slots[slot as usize];
        let entry = self.entries[symbol as usize];
        let rest = (entry >> 16).wrapping_mul(state >> SCALE_BITS);
        (symbol, rest.wrapping_add(slot).wrapping_sub(entry & 0xffff))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entropy::lanes::{Decoder, Encoder, LANES, STATE_BYTES};
    use crate::entropy::EntropyTable;

    #[test]
    fn quotients_are_exact() {
        for f in (1..=SCALE).chain([SCALE - 1, SCALE]) {
            let mut frequencies = Frequencies([0; ALPHABET]);
            (frequencies.0[3], frequencies.0[7]) = ((SCALE - f) as u16, f as u16);
            let table = EncodeTable::new(&frequencies);
            let limit = (f as u64) << 20;
            for x in [1 << 16, limit - 1, limit - f as u64, limit / 2, limit / 3 * 2, limit - f as u64 - 1] {
                let x = (x as u32).max(1 << 16);
                let expected = ((x / f) << SCALE_BITS) + x % f + (SCALE - f);
                assert_eq!(table.put(x, 7), (expected, false), "{x} / {f}");
                let full = (limit + x as u64) as u32;
                if limit + (x as u64) < 1 << 32 {
                    let x = full >> 16;
                    assert_eq!(table.put(full, 7), (((x / f) << SCALE_BITS) + x % f + (SCALE - f), true));
                }
            }
        }
    }

    #[test]
    fn a_sequence_of_symbols_and_bits_round_trips() {
        for skew in [1u64, 50, 5000] {
            let mut counts = [0u64; ALPHABET];
            for (s, c) in counts.iter_mut().enumerate().take(40) {
                *c = 1 + skew * 1000 / (1 + s * s) as u64;
            }
            counts[77] = 1;
            let f = Frequencies::from_counts(&counts);
            let (enc, dec) = (EncodeTable::new(&f), DecodeTable::new(&f).unwrap());
            let mut seed = 7u32;
            let items: Vec<(usize, u8, u32, u32)> = (0..5000)
                .map(|k| {
                    seed = seed.wrapping_mul(1664525).wrapping_add(1013904223);
                    let bits = 1 + (seed >> 8) % 16;
                    (k % LANES, ((seed >> 16) % 40) as u8, (seed >> 3) & ((1 << bits) - 1), bits)
                })
                .filter(|x| f.0[x.1 as usize] > 0)
                .collect();
            let mut e = Encoder::new().unwrap();
            for &(lane, s, value, bits) in items.iter().rev() {
                e.raw(lane, value, bits);
                e.put(lane, &enc, s);
            }
            let bytes = e.finish().unwrap();
            let mut d = Decoder::new(&bytes).unwrap();
            for &(lane, s, value, bits) in &items {
                assert_eq!(d.get(lane, &dec), s);
                assert_eq!(d.raw(lane, bits), value);
            }
            assert!(d.finished());
            assert!(Decoder::new(&bytes[..100]).is_none());
            let mut cut = Decoder::new(&bytes[..bytes.len() - 4]).unwrap();
            for &(lane, _, _, bits) in &items {
                cut.get(lane, &dec);
                cut.raw(lane, bits);
            }
            assert!(!cut.finished());
        }
    }

    #[test]
    fn a_certain_symbol_costs_nothing() {
        let mut counts = [0u64; ALPHABET];
        counts[3] = 10;
        let f = Frequencies::from_counts(&counts);
        let mut e = Encoder::new().unwrap();
        for k in 0..10_000 {
            e.put(k % LANES, &EncodeTable::new(&f), 3);
        }
        let bytes = e.finish().unwrap();
        assert_eq!(bytes.len(), STATE_BYTES);
    }
}
