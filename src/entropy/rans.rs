//! rANS: frequencies, tables, and what a symbol does to the state of a lane (`lanes`).

use super::lanes::{Decode, Encode, LOW, MISSING};
use super::symbols::{ALPHABET, ESCAPE};
use super::tables::{log2_fixed, read_entries, write_entries, EntropyTable};
use crate::error::{Error, Result};
use crate::request::Coder;
use crate::runtime::memory;

/// Frequencies sum to 2^12.
pub const SCALE_BITS: u32 = 12;
pub const SCALE: u32 = 1 << SCALE_BITS;
/// Bits of the shift of a table.
pub const SHIFT_BITS: u32 = 3;
/// A frequency per symbol, summing to [`SCALE`]; all zero for a table without symbols. And a shift: they are
/// multiples of its power of two, and stored without it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frequencies(pub [u16; ALPHABET], u32);

/// The shift of a table of so many symbols: few do not tell their frequencies more exactly.
fn shift_of(total: u64) -> u32 {
    SCALE_BITS.saturating_sub(total.next_power_of_two().ilog2()).min((1 << SHIFT_BITS) - 1)
}

impl EntropyTable for Frequencies {
    const CODER: Coder = Coder::Ans;
    type Encode = EncodeTable;
    type Decode = DecodeTable;

    /// Frequencies proportional to the counts. Symbols too rare for a frequency of 1, or seen once,
    /// share the escape.
    fn from_counts(counts: &[u64; ALPHABET]) -> Self {
        let total: u64 = counts.iter().sum();
        let mut frequencies = [0u16; ALPHABET];
        if total == 0 {
            return Frequencies(frequencies, 0);
        }
        let shift = shift_of(total);
        let scale = (SCALE >> shift) as u64;
        let scaled = |count: u64| ((count * scale + total / 2) / total).max(1) as u16;
        let mut listed = 0;
        for symbol in 0..ESCAPE as usize {
            let count = counts[symbol];
            if count >= 2 && count * (4 * scale) >= 3 * total {
                frequencies[symbol] = scaled(count);
                listed += count;
            }
        }
        if listed < total {
            frequencies[ESCAPE as usize] = scaled(total - listed);
        }
        // The most frequent symbol takes up the rounding; it is halved at most, then the next one.
        let mut sum: i64 = frequencies.iter().map(|&f| f as i64).sum();
        while sum != scale as i64 {
            let mut largest = 0;
            for symbol in 1..ALPHABET {
                if frequencies[symbol] > frequencies[largest] {
                    largest = symbol;
                }
            }
            let f = frequencies[largest] as i64;
            let change = (scale as i64 - sum).max(-(f / 2));
            frequencies[largest] = (f + change) as u16;
            sum += change;
        }
        Frequencies(frequencies.map(|f| f << shift), shift)
    }

    fn cost(&self, counts: &[u64; ALPHABET]) -> u64 {
        let mut cost = 0;
        for (symbol, &count) in counts.iter().enumerate() {
            if count > 0 {
                let f = self.0[symbol];
                let (f, extra) = if f > 0 && symbol != ESCAPE as usize {
                    (f, 0)
                } else {
                    (self.0[ESCAPE as usize], 8 << 8)
                };
                cost += count * (extra + (SCALE_BITS << 8) - log2_fixed(f as u32)) as u64;
            }
        }
        cost
    }

    /// Behind the number of entries is the shift; each entry is its symbol and the frequency without the
    /// shift, as 4 bits of length less one and the bits below the leading one.
    fn write(&self, out: &mut Vec<u8>) {
        let (entries, shift) = (self.0.map(|f| (f > 0).then_some(f as u32 >> self.1)), self.1);
        write_entries(&entries, (shift, SHIFT_BITS), out, |bits, f| {
            let length = f.ilog2();
            bits.put(length, 4);
            bits.put(f & ((1 << length) - 1), length);
        });
    }

    fn read(bytes: &[u8]) -> Result<Self> {
        let mut frequencies = [0u16; ALPHABET];
        if bytes.is_empty() {
            frequencies[ESCAPE as usize] = SCALE as u16;
            return Ok(Frequencies(frequencies, (1 << SHIFT_BITS) - 1));
        }
        let (mut sum, mut shift) = (0u32, 0);
        let whole = read_entries(bytes, SHIFT_BITS, |bits, symbol, head| {
            shift = head;
            let length = bits.get(4)?;
            let f = ((1 << length) | bits.get(length)?) << shift;
            sum += f;
            frequencies[symbol] = f as u16;
            (sum <= SCALE).then_some(())
        });
        match whole {
            Some(()) if sum == SCALE => Ok(Frequencies(frequencies, shift)),
            _ => Err(Error::corrupt("the stream holds a frequency table that no encoder writes")),
        }
    }

    fn encode_table(&self) -> EncodeTable {
        EncodeTable::new(self)
    }
    fn decode_table(&self) -> Result<DecodeTable> {
        DecodeTable::new(self)
    }
}

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

/// A symbol, laid out for encoding.
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

/// The effect of a symbol on states below [`SCALE`]. A state stands for the slot whose number is the state
/// with its 12 bits reversed: a state of b bits stands for an odd multiple of 2^(12 - b). Consecutive slots
/// thus have states of all magnitudes. The states of a symbol's slots are sorted by number of bits and, among
/// equal numbers, from the last slot to the first. A symbol of frequency f takes a state x below f to state
/// number x of this order, which is about x * SCALE / f.
#[derive(Clone, Copy)]
struct Spread {
    /// Slots from the symbol's first one on, and behind its last one.
    from: u32,
    behind: u32,
}

impl Spread {
    fn new(frequency: u32, start: u32) -> Self {
        Spread { from: SCALE - start, behind: SCALE - start - frequency }
    }

    /// Slots at multiples of 2^m.
    fn multiples(self, m: u32) -> u32 {
        (self.from >> m) - (self.behind >> m)
    }

    /// Odd multiples of 2^(m - 1) behind the symbol's slots, counted from the end of all slots.
    fn odd_behind(self, m: u32) -> u32 {
        (self.behind + (1 << (m - 1))) >> m
    }

    /// The state that a symbol puts a state below its frequency into.
    fn put(self, state: u32) -> u32 {
        let frequency = self.from - self.behind;
        if frequency == SCALE {
            return state;
        }
        // Slots at odd multiples of 2^(m - 1) come behind those at multiples of 2^m.
        let m = if state == 0 {
            u32::BITS - (self.from ^ self.behind).leading_zeros()
        } else {
            let shorter = frequency.ilog2() - state.ilog2();
            shorter + (self.multiples(shorter) > state) as u32
        };
        let odd = state - self.multiples(m) + self.odd_behind(m);
        let slot = SCALE - ((2 * odd + 1) << (m - 1));
        reversed(slot)
    }

    /// The state that was put into this one.
    fn get(self, state: u32) -> u32 {
        if self.from - self.behind == SCALE {
            return state;
        }
        let m = SCALE_BITS + 1 - (u32::BITS - state.leading_zeros());
        self.multiples(m) + ((SCALE - reversed(state)) >> m) - self.odd_behind(m)
    }
}

/// The slot of a state below [`SCALE`], and the state of a slot.
fn reversed(state: u32) -> u32 {
    state.reverse_bits() >> (u32::BITS - SCALE_BITS)
}

impl Entry {
    fn put_in_tail(&self, state: u32) -> Option<u32> {
        if self.put(state + LOW).1 {
            return None;
        }
        let frequency = SCALE - self.others as u32;
        Some(if state < frequency {
            Spread::new(frequency, self.start as u32).put(state)
        } else {
            self.put(state).0
        })
    }

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
    pub fn new(frequencies: &Frequencies) -> Result<Self> {
        let slots = memory::filled(SCALE as usize, 0u8)?;
        let mut slots: Box<[u8; SCALE as usize]> =
            slots.into_boxed_slice().try_into().expect("the length is SCALE");
        let mut start = 0;
        for (symbol, &f) in frequencies.0.iter().enumerate().filter(|&(_, &f)| f > 0) {
            slots[start..start + f as usize].fill(symbol as u8);
            start += f as usize;
        }
        Ok(DecodeTable { slots, entries: entries(frequencies) })
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
    fn put_in_tail(&self, state: u32, symbol: u8) -> Option<u32> {
        self.own[symbol as usize].put_in_tail(state)
    }
    fn put_escape_in_tail(&self, state: u32) -> Option<u32> {
        self.escape.put_in_tail(state)
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
    fn get_in_tail(&self, state: u32) -> (u8, u32) {
        if state >= SCALE {
            return self.get(state);
        }
        let symbol = self.slots[reversed(state) as usize];
        let entry = self.entries[symbol as usize];
        (symbol, Spread::new(entry >> 16, entry & 0xffff).get(state))
    }
}

// Sequences of symbols and bits come back in tests/memory/arbitrary.rs.
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_are_exact() {
        for f in (1..=SCALE).chain([SCALE - 1, SCALE]) {
            let mut frequencies = Frequencies([0; ALPHABET], 0);
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
    fn small_states_are_spread() {
        for frequency in [1, 2, 3, 5, 8, 100, 1023, 1024, 2047, 2048, 2049, 4000, SCALE - 1, SCALE] {
            for start in [0, 1, 2, 7, 1024, 2048, 2100, 3000, SCALE - 1].map(|s| s.min(SCALE - frequency)) {
                let spread = Spread::new(frequency, start);
                let mut last = None;
                for x in 0..frequency {
                    let state = spread.put(x);
                    assert!(frequency == SCALE || (start..start + frequency).contains(&reversed(state)));
                    assert_eq!(spread.get(state), x, "{frequency} {start}");
                    // By number of bits, and so at most about twice as large as x * SCALE / frequency.
                    assert!(state.checked_ilog2() >= last, "{frequency} {start} {x}");
                    assert!(state < 2 * SCALE * (x + 1) / frequency + 1, "{frequency} {start} {x}: {state}");
                    last = state.checked_ilog2();
                }
            }
        }
    }
}
