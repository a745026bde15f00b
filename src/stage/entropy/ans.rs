//! rANS: the tables, and what a symbol does to the state of a lane (`lanes`).

use super::lanes::{Decode, Decoder, Encode, Encoder};
use super::table::{Frequencies, ALPHABET, SCALE, SCALE_BITS};

/// A frequency table laid out for coding: frequency << 16 | start, by symbol.
#[derive(Clone)]
pub struct EncodeTable(pub [u32; ALPHABET]);

impl EncodeTable {
    pub fn new(frequencies: &Frequencies) -> Self {
        let mut table = [0; ALPHABET];
        let mut start = 0;
        for (symbol, &f) in frequencies.0.iter().enumerate() {
            table[symbol] = (f as u32) << 16 | start;
            start += f as u32;
        }
        EncodeTable(table)
    }
}

/// The same for decoding, with the symbol of each of the 4096 slots.
#[derive(Clone)]
pub struct DecodeTable {
    pub slots: Box<[u8; SCALE as usize]>,
    pub entries: [u32; ALPHABET],
}

impl DecodeTable {
    /// A table without symbols decodes to zeros without touching the state: only a damaged stream
    /// uses it.
    pub fn new(frequencies: &Frequencies) -> Self {
        let mut entries = EncodeTable::new(frequencies).0;
        let mut slots: Box<[u8; SCALE as usize]> =
            vec![0u8; SCALE as usize].into_boxed_slice().try_into().expect("the length is SCALE");
        let mut start = 0;
        for (symbol, &f) in frequencies.0.iter().enumerate() {
            slots[start..start + f as usize].fill(symbol as u8);
            start += f as usize;
        }
        if start == 0 {
            entries[0] = SCALE << 16;
        }
        DecodeTable { slots, entries }
    }
}

impl Encode for EncodeTable {
    #[inline(always)]
    fn has(&self, symbol: u8) -> bool {
        self.0[symbol as usize] >> 16 != 0
    }
    #[inline(always)]
    fn put(&self, encoder: &mut Encoder, lane: usize, symbol: u8) {
        let entry = self.0[symbol as usize];
        let (f, start) = (entry >> 16, entry & 0xffff);
        debug_assert!(f > 0, "symbol {symbol} has no frequency");
        let mut x = encoder.states[lane];
        if x >> (32 - SCALE_BITS) >= f {
            encoder.words.push(x as u16);
            x >>= 16;
        }
        encoder.states[lane] = ((x / f) << SCALE_BITS) + x % f + start;
    }
}

impl Decode for DecodeTable {
    #[inline(always)]
    fn get(&self, decoder: &mut Decoder<'_>, lane: usize) -> u8 {
        let x = decoder.states[lane];
        let slot = x & (SCALE - 1);
        let symbol = self.slots[slot as usize];
        let entry = self.entries[symbol as usize];
        let x = (entry >> 16).wrapping_mul(x >> SCALE_BITS).wrapping_add(slot).wrapping_sub(entry & 0xffff);
        decoder.states[lane] = decoder.refill(x);
        symbol
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stage::entropy::lanes::{LANES, STATE_BYTES};
    use crate::stage::entropy::Model;

    #[test]
    fn a_sequence_of_symbols_and_bits_round_trips() {
        for skew in [1u64, 50, 5000] {
            let mut counts = [0u64; ALPHABET];
            for (s, c) in counts.iter_mut().enumerate().take(40) {
                *c = 1 + skew * 1000 / (1 + s * s) as u64;
            }
            counts[77] = 1;
            let f = Frequencies::from_counts(&counts);
            let (enc, dec) = (EncodeTable::new(&f), DecodeTable::new(&f));
            let mut seed = 7u32;
            let items: Vec<(usize, u8, u32, u32)> = (0..5000)
                .map(|k| {
                    seed = seed.wrapping_mul(1664525).wrapping_add(1013904223);
                    let bits = 1 + (seed >> 8) % 16;
                    (k % LANES, ((seed >> 16) % 40) as u8, (seed >> 3) & ((1 << bits) - 1), bits)
                })
                .filter(|x| f.0[x.1 as usize] > 0)
                .collect();
            let mut e = Encoder::new();
            for &(lane, s, value, bits) in items.iter().rev() {
                e.raw(lane, value, bits);
                enc.put(&mut e, lane, s);
            }
            let mut bytes = Vec::new();
            e.finish(&mut bytes);
            let mut d = Decoder::new(&bytes).unwrap();
            for &(lane, s, value, bits) in &items {
                assert_eq!(dec.get(&mut d, lane), s);
                assert_eq!(d.raw(lane, bits), value);
            }
            assert!(d.finished());
            assert!(Decoder::new(&bytes[..100]).is_none());
            let mut cut = Decoder::new(&bytes[..bytes.len() - 4]).unwrap();
            for &(lane, _, _, bits) in &items {
                dec.get(&mut cut, lane);
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
        let mut e = Encoder::new();
        for k in 0..10_000 {
            EncodeTable::new(&f).put(&mut e, k % LANES, 3);
        }
        let mut bytes = Vec::new();
        e.finish(&mut bytes);
        assert_eq!(bytes.len(), STATE_BYTES);
    }
}
