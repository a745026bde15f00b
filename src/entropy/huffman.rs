//! Canonical Huffman codes of at most 11 bits, in the lanes of `lanes`: the code of a symbol is a few raw
//! bits. Where most symbols would take less than a bit, lists leave them out (`list`).
//!
//! Everything is made of integers and ties are broken by the symbol, so that every backend makes the same
//! codes of the same counts.

use super::lanes::{put_raw_in_tail, Decode, Encode, MISSING};
use super::symbols::{ALPHABET, ESCAPE};
use super::tables::EntropyTable;
use super::tables::{read_entries, write_entries};
use crate::error::{Error, Result};
use crate::request::Coder;
use crate::runtime::memory;

/// The longest code.
pub const MAX_LENGTH: u32 = 11;
/// The codes of this length.
pub const CODES: u32 = 1 << MAX_LENGTH;
/// Counts are scaled to about this sum, which leaves room for sums in 32 bits.
pub const WEIGHT_BITS: u32 = 15;
/// Marks a symbol without a code.
const NONE: u8 = u8::MAX;

/// The length of each symbol's code; a table of one symbol has the length 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lengths([u8; ALPHABET]);

impl Lengths {
    /// The length of a symbol's code.
    pub fn of(&self, symbol: u8) -> Option<u32> {
        let length = self.0[symbol as usize];
        (length != NONE).then_some(length as u32)
    }

    /// The first code of MAX_LENGTH bits that begins with the symbol's code, by symbol: shorter codes come
    /// first, and among those of one length smaller symbols.
    fn starts(&self) -> [u32; ALPHABET] {
        let mut starts = [0; ALPHABET];
        let mut next = 0;
        for length in 0..=MAX_LENGTH {
            for (start, &l) in starts.iter_mut().zip(&self.0) {
                if l as u32 == length {
                    *start = next;
                    next += CODES >> length;
                }
            }
        }
        starts
    }
}

/// The lengths of an optimal code without a limit, for ascending weights (Moffat and Katajainen, In-place
/// calculation of minimum-redundancy codes): leaves before sums of equal weight.
fn unlimited(weights: &mut [u32]) {
    let n = weights.len();
    if n < 2 {
        weights.fill(0);
        return;
    }
    // Sums replace the weights from the left; a sum that is used up holds the place of its parent.
    let (mut leaf, mut root) = (0, 0);
    for next in 0..n - 1 {
        let mut sum = 0;
        for _ in 0..2 {
            if leaf >= n || (root < next && weights[root] < weights[leaf]) {
                sum += weights[root];
                weights[root] = next as u32;
                root += 1;
            } else {
                sum += weights[leaf];
                leaf += 1;
            }
        }
        weights[next] = sum;
    }
    // Depths of the sums, from the last one.
    weights[n - 2] = 0;
    for k in (0..n - 2).rev() {
        weights[k] = weights[weights[k] as usize] + 1;
    }
    // Depths of the leaves, the heaviest first.
    let (mut available, mut depth, mut sum, mut k) = (1usize, 0u32, n - 1, n);
    while available > 0 {
        let mut used = 0;
        while sum > 0 && weights[sum - 1] == depth {
            used += 1;
            sum -= 1;
        }
        for _ in used..available {
            k -= 1;
            weights[k] = depth;
        }
        available = 2 * used;
        depth += 1;
    }
}

/// Cuts lengths, of symbols of ascending weight, to the longest one allowed: lighter symbols make room,
/// and what is left over goes to heavier ones.
fn limit(lengths: &mut [u32]) {
    let space = |length: u32| CODES >> length;
    let mut taken = 0;
    for length in lengths.iter_mut() {
        *length = (*length).min(MAX_LENGTH);
        taken += space(*length);
    }
    while taken > CODES {
        let length = lengths.iter_mut().find(|l| **l < MAX_LENGTH).expect("256 codes of 11 bits fit");
        *length += 1;
        taken -= space(*length);
    }
    while taken < CODES {
        for length in lengths.iter_mut().rev() {
            if taken + space(*length) <= CODES {
                taken += space(*length);
                *length -= 1;
            }
        }
    }
}

impl EntropyTable for Lengths {
    const CODER: Coder = Coder::Huffman;
    type Encode = EncodeTable;
    type Decode = DecodeTable;

    /// Symbols too rare for a code of the largest length, or seen once, share the escape.
    fn from_counts(counts: &[u64; ALPHABET]) -> Self {
        let total: u64 = counts.iter().sum();
        let mut lengths = [NONE; ALPHABET];
        let weight = |count: u64| (((count << WEIGHT_BITS) + total / 2) / total).max(1) as u32;
        let mut listed = 0;
        let (mut listed_symbols, mut count) = ([(0u32, 0usize); ALPHABET], 0);
        let mut list = |weight, symbol| {
            listed_symbols[count] = (weight, symbol);
            count += 1;
        };
        for symbol in 0..ESCAPE as usize {
            let count = counts[symbol];
            if count >= 2 && count * (4 * CODES as u64) >= 3 * total {
                list(weight(count), symbol);
                listed += count;
            }
        }
        if listed < total {
            list(weight(total - listed), ESCAPE as usize);
        }
        let symbols = &mut listed_symbols[..count];
        symbols.sort_unstable();
        let mut depths = [0; ALPHABET];
        let depths = &mut depths[..count];
        depths.iter_mut().zip(symbols.iter()).for_each(|(depth, &(weight, _))| *depth = weight);
        unlimited(depths);
        if !depths.is_empty() {
            limit(depths);
        }
        for (depth, &(_, symbol)) in depths.iter().zip(symbols.iter()) {
            lengths[symbol] = *depth as u8;
        }
        Lengths(lengths)
    }

    fn cost(&self, counts: &[u64; ALPHABET]) -> u64 {
        let escape = self.of(ESCAPE).map_or(0, |l| l + 8);
        let of = |symbol: usize| self.of(symbol as u8).filter(|_| symbol != ESCAPE as usize);
        let bits = |(symbol, &count): (usize, &u64)| count * of(symbol).unwrap_or(escape) as u64;
        counts.iter().enumerate().map(bits).sum::<u64>() << 8
    }

    /// Each entry is its symbol and the length in 4 bits.
    fn write(&self, out: &mut Vec<u8>) {
        let entries = self.0.map(|l| (l != NONE).then_some(l as u32));
        write_entries(&entries, (0, 0), out, |bits, length| bits.put(length, 4));
    }

    fn read(bytes: &[u8]) -> Result<Self> {
        let mut lengths = [NONE; ALPHABET];
        if bytes.is_empty() {
            lengths[ESCAPE as usize] = 0;
            return Ok(Lengths(lengths));
        }
        let mut taken = 0;
        let whole = read_entries(bytes, 0, |bits, symbol, _| {
            let length = bits.get(4)?;
            lengths[symbol] = length as u8;
            taken += CODES.checked_shr(length).filter(|_| length <= MAX_LENGTH)?;
            (taken <= CODES).then_some(())
        });
        match whole {
            Some(()) if taken == CODES => Ok(Lengths(lengths)),
            _ => Err(Error::corrupt("the stream holds a table of code lengths that no encoder writes")),
        }
    }

    fn encode_table(&self) -> EncodeTable {
        let starts = self.starts();
        let mut own = std::array::from_fn(|symbol| match self.of(symbol as u8) {
            // The first bit of a code is the lowest one.
            Some(length) => length << 16 | starts[symbol].reverse_bits() >> (32 - MAX_LENGTH),
            None => MISSING,
        });
        let escape = own[ESCAPE as usize];
        own[ESCAPE as usize] = MISSING;
        EncodeTable { own, escape }
    }

    fn decode_table(&self) -> Result<DecodeTable> {
        let mut slots = memory::filled(CODES as usize, 0u16)?;
        let starts = self.starts();
        for symbol in 0..ALPHABET {
            if let Some(length) = self.of(symbol as u8) {
                for code in starts[symbol]..starts[symbol] + (CODES >> length) {
                    let slot = code.reverse_bits() >> (32 - MAX_LENGTH);
                    slots[slot as usize] = (length << 8) as u16 | symbol as u16;
                }
            }
        }
        Ok(DecodeTable(slots.into_boxed_slice().try_into().expect("the length is CODES")))
    }
}

/// length << 16 | code, or [`MISSING`].
#[derive(Clone)]
pub struct EncodeTable {
    own: [u32; ALPHABET],
    escape: u32,
}

/// Puts a code into the state of a lane.
#[inline(always)]
fn put(state: u32, entry: u32) -> (u32, bool) {
    let (code, length) = (entry & 0xffff, entry >> 16);
    let full = (state as u64) << length >> 32 != 0;
    let x = if full { state >> 16 } else { state };
    (x << length | code, full)
}

fn put_in_tail(state: u32, entry: u32) -> Option<u32> {
    put_raw_in_tail(state, entry & 0xffff, entry >> 16)
}

impl Encode for EncodeTable {
    #[inline(always)]
    fn flags(&self, symbol: u8) -> u32 {
        self.own[symbol as usize]
    }
    #[inline(always)]
    fn put(&self, state: u32, symbol: u8) -> (u32, bool) {
        put(state, self.own[symbol as usize])
    }
    fn put_escape(&self, state: u32) -> (u32, bool) {
        put(state, self.escape)
    }
    fn put_in_tail(&self, state: u32, symbol: u8) -> Option<u32> {
        put_in_tail(state, self.own[symbol as usize])
    }
    fn put_escape_in_tail(&self, state: u32) -> Option<u32> {
        put_in_tail(state, self.escape)
    }
}

/// By the next MAX_LENGTH bits: length << 8 | symbol.
#[derive(Clone)]
pub struct DecodeTable(Box<[u16; CODES as usize]>);

impl Decode for DecodeTable {
    #[inline(always)]
    fn get(&self, state: u32) -> (u8, u32) {
        let entry = self.0[(state & (CODES - 1)) as usize];
        (entry as u8, state >> (entry >> 8))
    }
    fn get_in_tail(&self, state: u32) -> (u8, u32) {
        self.get(state)
    }
}

// Sequences of symbols come back in tests/memory/arbitrary.rs.
#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// The cost of an optimal code, by joining the two lightest nodes again and again.
    fn optimal(weights: &[u32]) -> u64 {
        let mut nodes: Vec<u64> = weights.iter().map(|&w| w as u64).collect();
        let mut cost = 0;
        while nodes.len() > 1 {
            nodes.sort_unstable_by(|a, b| b.cmp(a));
            let sum = nodes.pop().unwrap() + nodes.pop().unwrap();
            cost += sum;
            nodes.push(sum);
        }
        cost
    }

    #[test]
    fn lengths_without_a_limit_are_optimal() {
        let mut random = Random(9);
        for n in 1..200usize {
            let mut weights: Vec<u32> = (0..n).map(|k| 1 + (random.next() >> (48 + k % 16)) as u32).collect();
            weights.sort_unstable();
            let mut lengths = weights.clone();
            unlimited(&mut lengths);
            let cost: u64 = weights.iter().zip(&lengths).map(|(&w, &l)| w as u64 * l as u64).sum();
            assert_eq!(cost, optimal(&weights), "{weights:?}");
            assert!(lengths.is_sorted_by(|a, b| a >= b));
        }
    }
}
