//! rANS with 32 interleaved lanes, as a warp of a GPU decodes it.
//!
//! Each lane has a 32-bit state in [2^16, 2^32) and takes 16-bit words from one common sequence.
//! Work proceeds in steps: in a step every active lane decodes one symbol, or one piece of at most
//! 16 raw bits, and the lanes whose state has fallen below 2^16 take a word each, in lane order. The
//! encoder does the same backwards, so that the decoder reads words forwards. All lanes start (for
//! the decoder: end) in the state 2^16, which the decoder checks.

use super::table::{Frequencies, ALPHABET, ESCAPE, SCALE, SCALE_BITS};

pub const LANES: usize = 32;
/// Lower end of the states.
pub const LOW: u32 = 1 << 16;
/// Bytes of the states in front of the words.
pub const STATE_BYTES: usize = LANES * 4;
/// Raw bits of one piece.
pub const PIECE_BITS: u32 = 16;

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

/// Encodes a group backwards.
pub struct Encoder {
    states: [u32; LANES],
    /// Words in the order of encoding: the reverse of the stream's.
    words: Vec<u16>,
}

impl Encoder {
    pub fn new() -> Self {
        Encoder { states: [LOW; LANES], words: Vec::new() }
    }

    #[inline(always)]
    pub fn symbol(&mut self, lane: usize, table: &EncodeTable, symbol: u8) {
        let entry = table.0[symbol as usize];
        let (f, start) = (entry >> 16, entry & 0xffff);
        debug_assert!(f > 0, "symbol {symbol} has no frequency");
        let mut x = self.states[lane];
        if x >> (32 - SCALE_BITS) >= f {
            self.words.push(x as u16);
            x >>= 16;
        }
        self.states[lane] = ((x / f) << SCALE_BITS) + x % f + start;
    }

    #[inline(always)]
    pub fn raw(&mut self, lane: usize, value: u32, bits: u32) {
        debug_assert!((1..=PIECE_BITS).contains(&bits) && value >> bits == 0);
        let mut x = self.states[lane];
        if x >> (32 - bits) != 0 {
            self.words.push(x as u16);
            x >>= 16;
        }
        self.states[lane] = x << bits | value;
    }

    /// Appends the states and the words, padded to a multiple of 4 bytes.
    pub fn finish(self, out: &mut Vec<u8>) {
        out.reserve_exact(STATE_BYTES + self.words.len().next_multiple_of(2) * 2);
        for x in self.states {
            out.extend_from_slice(&x.to_le_bytes());
        }
        for w in self.words.iter().rev() {
            out.extend_from_slice(&w.to_le_bytes());
        }
        if self.words.len() % 2 == 1 {
            out.extend_from_slice(&[0; 2]);
        }
    }
}

impl Default for Encoder {
    fn default() -> Self {
        Self::new()
    }
}

/// Decodes a group forwards. Reading past the end gives zeros, and [`Decoder::finished`] false.
pub struct Decoder<'a> {
    states: [u32; LANES],
    words: &'a [u8],
    next: usize,
}

impl<'a> Decoder<'a> {
    /// `bytes` are those of one group; None if they are too few for the states.
    pub fn new(bytes: &'a [u8]) -> Option<Self> {
        let (head, words) = bytes.split_at_checked(STATE_BYTES)?;
        let mut states = [0; LANES];
        for (x, b) in states.iter_mut().zip(head.chunks_exact(4)) {
            *x = u32::from_le_bytes([b[0], b[1], b[2], b[3]]);
        }
        Some(Decoder { states, words, next: 0 })
    }

    #[inline(always)]
    fn refill(&mut self, x: u32) -> u32 {
        if x < LOW {
            let at = self.next * 2;
            self.next += 1;
            let word = if at + 2 <= self.words.len() {
                u16::from_le_bytes([self.words[at], self.words[at + 1]])
            } else {
                0
            };
            x << 16 | word as u32
        } else {
            x
        }
    }

    #[inline(always)]
    pub fn symbol(&mut self, lane: usize, table: &DecodeTable) -> u8 {
        let x = self.states[lane];
        let slot = x & (SCALE - 1);
        let symbol = table.slots[slot as usize];
        let entry = table.entries[symbol as usize];
        let x = (entry >> 16).wrapping_mul(x >> SCALE_BITS).wrapping_add(slot).wrapping_sub(entry & 0xffff);
        self.states[lane] = self.refill(x);
        symbol
    }

    #[inline(always)]
    pub fn raw(&mut self, lane: usize, bits: u32) -> u32 {
        let x = self.states[lane];
        let value = x & ((1 << bits) - 1);
        self.states[lane] = self.refill(x >> bits);
        value
    }

    /// Decodes one symbol in every lane of `active`, with the escapes resolved.
    #[inline(always)]
    pub fn step<'t>(
        &mut self,
        active: u32,
        table: impl Fn(usize) -> &'t DecodeTable,
        symbols: &mut [u8; LANES],
    ) {
        let mut escaped = 0u32;
        if active == u32::MAX {
            for lane in 0..LANES {
                let s = self.symbol(lane, table(lane));
                symbols[lane] = s;
                escaped |= ((s == ESCAPE) as u32) << lane;
            }
        } else {
            for lane in lanes(active) {
                let s = self.symbol(lane, table(lane));
                symbols[lane] = s;
                escaped |= ((s == ESCAPE) as u32) << lane;
            }
        }
        for lane in lanes(escaped) {
            symbols[lane] = self.raw(lane, 8) as u8;
        }
    }

    /// Whether exactly all words were read and every lane has come back to its first state.
    pub fn finished(&self) -> bool {
        self.states == [LOW; LANES] && self.next.div_ceil(2) * 4 == self.words.len()
    }
}

/// The lanes of a mask, ascending.
pub fn lanes(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        if mask == 0 {
            return None;
        }
        let lane = mask.trailing_zeros() as usize;
        mask &= mask - 1;
        Some(lane)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
                e.symbol(lane, &enc, s);
            }
            let mut bytes = Vec::new();
            e.finish(&mut bytes);
            let mut d = Decoder::new(&bytes).unwrap();
            for &(lane, s, value, bits) in &items {
                assert_eq!(d.symbol(lane, &dec), s);
                assert_eq!(d.raw(lane, bits), value);
            }
            assert!(d.finished());
            assert!(Decoder::new(&bytes[..100]).is_none());
            let mut cut = Decoder::new(&bytes[..bytes.len() - 4]).unwrap();
            for &(lane, _, _, bits) in &items {
                cut.symbol(lane, &dec);
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
            e.symbol(k % LANES, &EncodeTable::new(&f), 3);
        }
        let mut bytes = Vec::new();
        e.finish(&mut bytes);
        assert_eq!(bytes.len(), STATE_BYTES);
    }
}
