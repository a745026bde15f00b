//! 32 interleaved lanes that share one sequence of words, as a warp of a GPU decodes them.
//!
//! Each lane has a 32-bit state in [2^16, 2^32) and takes 16-bit words from one common sequence.
//! Work proceeds in steps: in a step every active lane decodes one symbol, or one piece of at most
//! 16 raw bits, and the lanes whose state has fallen below 2^16 take a word each, in lane order. The
//! encoder does the same backwards, so that the decoder reads words forwards. What a symbol does to a
//! state is the coder's: `rans`, `huffman`.
//!
//! The steps that the encoder does first, the *tail*, put out no words: the lanes start at 0 or 1, and 2^16
//! is added before the first word. The decoder takes that off when it has read the last word, and finds all
//! lanes where they started. So no lane keeps bits that say nothing. With each operation of the tail the
//! states move on to other lanes, so that all have about equally many bits when one has no room for more.

use super::symbols::ESCAPE;
use crate::error::Result;
use crate::runtime::memory;
use crate::runtime::vectors::bytes_above;

pub const LANES: usize = 32;
/// Lower end of the states.
pub const LOW: u32 = 1 << 16;
/// The states that the lanes end in: 0, and 1 in a few, since 0 would also be the end if words were missing,
/// or operations too many.
const END: [u32; LANES] = {
    let (mut end, mut lane) = ([0; LANES], 0);
    while lane < ENDS_AT_1 {
        end[lane] = 1;
        lane += 1;
    }
    end
};
/// Lanes that end in state 1, the first ones.
pub const ENDS_AT_1: usize = 4;
/// Bytes of the octaves of all states, four bits each, and of their lower halves.
pub const OCTAVE_BYTES: usize = LANES / 2;
const HALF_BYTES: usize = LANES * 2;
/// Bytes of the states in front of the words: octaves, lower halves, and of the upper halves the bits below
/// the highest one, 15 a lane at most.
pub const LEAST_STATE_BYTES: usize = OCTAVE_BYTES + HALF_BYTES;
pub const MOST_STATE_BYTES: usize = LEAST_STATE_BYTES + LANES * 15 / 8;
const _: () = assert!(LEAST_STATE_BYTES == crate::stream::sections::LEAST_GROUP_BYTES);
/// Words that a group has room for at once, somewhat more than are usual.
const WORDS: usize = 1024;
/// How many lanes the states of the tail move on by with each operation.
pub const TURN: usize = 19;
/// Raw bits of one piece.
pub const PIECE_BITS: u32 = 16;

/// Flag of a symbol that has no code of its own.
pub const MISSING: u32 = 1 << 15;

/// A coder's table for encoding.
pub trait Encode {
    /// [`MISSING`] is set where the symbol has no code of its own, the escape included.
    fn flags(&self, symbol: u8) -> u32;
    /// The state of a lane after a symbol that has a code, and whether the low word of the
    /// state is put out before; anything for others.
    fn put(&self, state: u32, symbol: u8) -> (u32, bool);
    /// [`Encode::put`] for the escape.
    fn put_escape(&self, state: u32) -> (u32, bool);
    /// [`Encode::put`] in the tail; None if it ends before.
    fn put_in_tail(&self, state: u32, symbol: u8) -> Option<u32>;
    /// [`Encode::put_in_tail`] for the escape.
    fn put_escape_in_tail(&self, state: u32) -> Option<u32>;
}

/// A coder's table for decoding.
pub trait Decode {
    /// The symbol that the state of a lane holds, and what is left of the state: below [`LOW`] it takes a
    /// word.
    fn get(&self, state: u32) -> (u8, u32);
    /// [`Decode::get`] in the tail.
    fn get_in_tail(&self, state: u32) -> (u8, u32);
}

/// Encodes a group backwards.
pub struct Encoder {
    /// In the tail, less [`LOW`].
    states: [u32; LANES],
    in_tail: bool,
    /// Words in the order of encoding: the reverse of the stream's.
    words: Vec<u16>,
    /// Whether memory for a word could not be had, so that the words are of no use.
    out_of_memory: bool,
}

/// The state of a lane behind raw bits, and whether the low word of the state is put out before.
#[inline(always)]
fn put_raw(state: u32, value: u32, bits: u32) -> (u32, bool) {
    debug_assert!((1..=PIECE_BITS).contains(&bits) && value >> bits == 0);
    let full = state >> (32 - bits) != 0;
    let x = if full { state >> 16 } else { state };
    (x << bits | value, full)
}

/// [`put_raw`] in the tail: None if the state would be too large for [`LOW`] to be added. Then a word is put
/// out once the tail has ended.
pub(super) fn put_raw_in_tail(state: u32, value: u32, bits: u32) -> Option<u32> {
    let x = (state as u64) << bits | value as u64;
    (x + (LOW as u64) <= u32::MAX as u64).then_some(x as u32)
}

impl Encoder {
    pub fn new() -> Result<Self> {
        let words = memory::with_capacity(WORDS)?;
        Ok(Encoder { states: END, in_tail: true, words, out_of_memory: false })
    }

    /// Makes room for the words of a step.
    #[inline(always)]
    fn make_room(&mut self) {
        if self.words.capacity() - self.words.len() < LANES {
            self.grow();
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        if memory::reserve_growing(&mut self.words, LANES).is_err() {
            self.out_of_memory = true;
            self.words.clear();
        }
    }

    /// Does an operation in some lanes, from the last one to the first: `put` is the state of a lane behind
    /// it, and whether the low word of the state is put out before; `put_in_tail` the state in the tail, if
    /// that does not end before.
    #[inline(always)]
    fn operation<I>(
        &mut self,
        items: impl Iterator<Item = (usize, I)> + Clone,
        put: impl Fn(u32, I) -> (u32, bool),
        put_in_tail: impl Fn(u32, I) -> Option<u32>,
    ) {
        if self.in_tail {
            return self.operation_of_tail(items, put, put_in_tail);
        }
        self.make_room();
        for (lane, item) in items {
            let x = self.states[lane];
            let (next, full) = put(x, item);
            if full {
                self.words.push(x as u16);
            }
            self.states[lane] = next;
        }
    }

    /// The tail ends in front of the operation with the first word.
    #[cold]
    #[inline(never)]
    fn operation_of_tail<I>(
        &mut self,
        items: impl Iterator<Item = (usize, I)> + Clone,
        put: impl Fn(u32, I) -> (u32, bool),
        put_in_tail: impl Fn(u32, I) -> Option<u32>,
    ) {
        if items.clone().next().is_none() {
            return;
        }
        let mut states = self.states;
        for (lane, item) in items.clone() {
            let Some(x) = put_in_tail(states[lane], item) else {
                self.end_tail();
                return self.operation(items, put, put_in_tail);
            };
            states[lane] = x;
        }
        states.rotate_left(TURN);
        self.states = states;
    }

    fn end_tail(&mut self) {
        self.in_tail = false;
        self.states.iter_mut().for_each(|x| *x += LOW);
    }

    /// Encodes raw bits in some lanes, from the last one to the first: their value and how many.
    #[inline(always)]
    pub fn raw(&mut self, items: impl Iterator<Item = (usize, u32, u32)> + Clone) {
        self.operation(
            items.map(|(lane, value, bits)| (lane, (value, bits))),
            |x, (value, bits)| put_raw(x, value, bits),
            |x, (value, bits)| put_raw_in_tail(x, value, bits),
        );
    }

    /// Encodes a symbol of a table in some lanes, from the last one to the first. Nothing, and false, where
    /// one has no code of its own.
    #[inline(always)]
    pub fn symbols<'t, E: Encode + 't>(
        &mut self,
        symbols: impl Iterator<Item = (usize, &'t E, u8)> + Clone,
    ) -> bool {
        if self.in_tail {
            return self.symbols_of_tail(symbols);
        }
        self.make_room();
        // Words are written whether they are put out or not: which state is full is not to be predicted.
        let (states, before) = (self.states, self.words.len());
        self.words.extend_from_slice(&[0; LANES]);
        let words: &mut [u16; LANES] = (&mut self.words[before..]).try_into().expect("the length is LANES");
        let (mut flags, mut count) = (0, 0);
        for (lane, table, symbol) in symbols {
            let x = self.states[lane % LANES];
            flags |= table.flags(symbol);
            let (next, full) = table.put(x, symbol);
            self.states[lane % LANES] = next;
            words[count % LANES] = x as u16;
            count += full as usize;
        }
        let missing = flags & MISSING != 0;
        if missing {
            (self.states, count) = (states, 0);
        }
        self.words.truncate(before + count);
        !missing
    }

    #[cold]
    #[inline(never)]
    fn symbols_of_tail<'t, E: Encode + 't>(
        &mut self,
        symbols: impl Iterator<Item = (usize, &'t E, u8)> + Clone,
    ) -> bool {
        if symbols.clone().any(|(_, table, symbol)| table.flags(symbol) & MISSING != 0) {
            return false;
        }
        self.put(symbols);
        true
    }

    /// Encodes symbols that have a code, or the escape, in some lanes, from the last one to the first.
    pub fn put<'t, E: Encode + 't>(&mut self, symbols: impl Iterator<Item = (usize, &'t E, u8)> + Clone) {
        self.operation(
            symbols.map(|(lane, table, s)| (lane, (table, s))),
            |x, (table, symbol)| match symbol {
                ESCAPE => table.put_escape(x),
                _ => table.put(x, symbol),
            },
            |x, (table, symbol)| match symbol {
                ESCAPE => table.put_escape_in_tail(x),
                _ => table.put_in_tail(x, symbol),
            },
        );
    }

    /// The states and the words.
    pub fn finish(mut self) -> Result<Vec<u8>> {
        if self.out_of_memory {
            return Err(memory::out_of_memory());
        }
        if self.in_tail {
            self.end_tail();
        }
        let mut out = memory::with_capacity(MOST_STATE_BYTES + self.words.len() * 2)?;
        write_states(&self.states, &mut out);
        for w in self.words.iter().rev() {
            out.extend_from_slice(&w.to_le_bytes());
        }
        Ok(out)
    }
}

/// Appends states, which are at least [`LOW`]: the octave of each, its lower half, and all other bits of the
/// upper halves in whole words of 32 bits.
fn write_states(states: &[u32; LANES], out: &mut Vec<u8>) {
    let octaves = states.map(|x| x.ilog2() - LOW.ilog2());
    out.extend(octaves.chunks_exact(2).map(|two| (two[0] | two[1] << 4) as u8));
    out.extend(states.iter().flat_map(|&x| (x as u16).to_le_bytes()));
    let (mut bits, mut count) = (0u64, 0);
    for (x, octave) in states.iter().zip(octaves) {
        bits |= ((x >> 16 ^ 1 << octave) as u64) << count;
        count += octave;
        if count >= 32 {
            out.extend_from_slice(&(bits as u32).to_le_bytes());
            (bits, count) = (bits >> 32, count - 32);
        }
    }
    if count > 0 {
        out.extend_from_slice(&(bits as u32).to_le_bytes());
    }
}

/// The states of a group, and what follows them.
fn read_states(bytes: &[u8]) -> Option<([u32; LANES], &[u8])> {
    let (octaves, rest) = bytes.split_at_checked(OCTAVE_BYTES)?;
    let (halves, mut rest) = rest.split_at_checked(HALF_BYTES)?;
    let mut states = [0; LANES];
    let (mut bits, mut count) = (0u64, 0);
    for (lane, (x, half)) in states.iter_mut().zip(halves.chunks_exact(2)).enumerate() {
        let octave = octaves[lane / 2] as u32 >> (4 * (lane % 2)) & 15;
        if count < octave {
            let (four, behind) = rest.split_first_chunk()?;
            bits |= (u32::from_le_bytes(*four) as u64) << count;
            (rest, count) = (behind, count + 32);
        }
        let upper = 1 << octave | bits as u32 & ((1 << octave) - 1);
        *x = upper << 16 | u16::from_le_bytes([half[0], half[1]]) as u32;
        (bits, count) = (bits >> octave, count - octave);
    }
    Some((states, rest))
}

/// Decodes a group forwards. Reading past the end gives zeros, and [`Decoder::finished`] false.
pub struct Decoder<'a> {
    states: [u32; LANES],
    /// A state below this takes a word: [`LOW`], 0 in the tail.
    low: u32,
    words: &'a [u8],
    next: usize,
}

impl<'a> Decoder<'a> {
    /// `bytes` are those of one group; None if they are too few for the states, or no whole words.
    pub fn new(bytes: &'a [u8]) -> Option<Self> {
        let (states, words) = read_states(bytes)?;
        if words.len() % 2 != 0 {
            return None;
        }
        Some(Decoder { states, low: LOW, words, next: 0 })
    }

    /// Before an operation in some lanes: whether it is in the tail.
    #[inline(always)]
    fn begin(&mut self, active: u32) -> bool {
        let in_tail = 2 * self.next == self.words.len();
        if in_tail {
            self.begin_in_tail(active);
        }
        in_tail
    }

    #[cold]
    #[inline(never)]
    fn begin_in_tail(&mut self, active: u32) {
        if self.low != 0 {
            self.low = 0;
            self.states.iter_mut().for_each(|x| *x -= LOW);
        }
        if active != 0 {
            self.states.rotate_right(TURN);
        }
    }

    #[inline(always)]
    fn refill(&mut self, x: u32) -> u32 {
        if x < self.low {
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

    /// Decodes one symbol, an escape as it is.
    #[cfg(test)]
    pub fn get<D: Decode>(&mut self, lane: usize, table: &D) -> u8 {
        let in_tail = self.begin(1 << lane);
        let x = self.states[lane];
        let (symbol, x) = if in_tail { table.get_in_tail(x) } else { table.get(x) };
        self.states[lane] = self.refill(x);
        symbol
    }

    /// Decodes raw bits in every lane of `active`, at least one in each: gives them to `each`.
    #[inline(always)]
    pub fn raw(&mut self, active: u32, bits: impl Fn(usize) -> u32, mut each: impl FnMut(usize, u32)) {
        if active == 0 {
            return;
        }
        self.begin(active);
        for lane in lanes(active) {
            let (x, bits) = (self.states[lane], bits(lane));
            self.states[lane] = self.refill(x >> bits);
            each(lane, x & ((1 << bits) - 1));
        }
    }

    /// Decodes one symbol in every lane of `active`, with the escapes resolved.
    #[inline(always)]
    pub fn step<'t, D: Decode + 't>(
        &mut self,
        active: u32,
        table: impl Fn(usize) -> &'t D,
        symbols: &mut [u8; LANES],
    ) {
        if self.begin(active) {
            return self.step_of_tail(active, table, symbols);
        }
        // The next words, a copy where they are the last ones: which lane takes one is not to be predicted.
        let rest = self.words.get(2 * self.next..).unwrap_or(&[]);
        let mut last = [0; 2 * LANES];
        let words: &[u8; 2 * LANES] = match rest.first_chunk() {
            Some(words) => words,
            None => {
                last[..rest.len()].copy_from_slice(rest);
                &last
            }
        };
        let mut taken = 0;
        let mut get = |lane: usize| {
            let (s, x) = table(lane).get(self.states[lane]);
            let at = taken % LANES * 2;
            let refilled = x << 16 | u16::from_le_bytes([words[at], words[at + 1]]) as u32;
            self.states[lane] = if x < LOW { refilled } else { x };
            taken += (x < LOW) as usize;
            symbols[lane] = s;
        };
        if active == u32::MAX {
            for lane in 0..LANES {
                get(lane);
            }
        } else {
            for lane in lanes(active) {
                get(lane);
            }
        }
        self.next += taken;
        self.resolve_escapes(active, symbols);
    }

    #[cold]
    #[inline(never)]
    fn step_of_tail<'t, D: Decode + 't>(
        &mut self,
        active: u32,
        table: impl Fn(usize) -> &'t D,
        symbols: &mut [u8; LANES],
    ) {
        for lane in lanes(active) {
            (symbols[lane], self.states[lane]) = table(lane).get_in_tail(self.states[lane]);
        }
        self.resolve_escapes(active, symbols);
    }

    #[inline(always)]
    fn resolve_escapes(&mut self, active: u32, symbols: &mut [u8; LANES]) {
        if lanes_above(symbols, 128) & active != 0 {
            let escapes = lanes(active).filter(|&lane| symbols[lane] == ESCAPE);
            self.raw(mask_of(escapes), |_| 8, |lane, value| symbols[lane] = value as u8);
        }
    }

    /// Whether exactly all words were read and every lane has come back to its first state.
    pub fn finished(&mut self) -> bool {
        self.begin(0) && self.states == END
    }
}

/// The lanes of a mask, descending.
pub fn lanes_down(mut mask: u32) -> impl Iterator<Item = usize> + Clone {
    std::iter::from_fn(move || {
        let lane = mask.checked_ilog2()?;
        mask ^= 1 << lane;
        Some(lane as usize)
    })
}

/// The mask of some lanes.
#[inline(always)]
pub fn mask_of(lanes: impl Iterator<Item = usize>) -> u32 {
    lanes.fold(0, |mask, lane| mask | 1 << lane)
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

/// The lanes of a step whose symbols are `least` or above (1 to 128), as bits.
#[inline(always)]
pub fn lanes_above(symbols: &[u8; LANES], least: u8) -> u32 {
    bytes_above(symbols, least)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::iter::once;

    /// Raw bits of one lane after another: all lanes end with exactly the words of the group.
    #[test]
    fn groups_of_any_number_of_words_end() {
        for count in 0..400 {
            let item = |k: usize| {
                let bits = 1 + k as u32 * 7 % PIECE_BITS;
                (k * k % LANES, (k as u32).wrapping_mul(0x9e37_79b1) >> (32 - bits), bits)
            };
            let mut encoder = Encoder::new().unwrap();
            (0..count).rev().for_each(|k| encoder.raw(once(item(k))));
            let bytes = encoder.finish().unwrap();
            let ends = |bytes: &[u8], whole: bool| {
                let mut decoder = Decoder::new(bytes).unwrap();
                for (lane, value, bits) in (0..count).map(item) {
                    let check = |_, found| assert!(!whole || found == value);
                    decoder.raw(1 << lane, |_| bits, check);
                }
                decoder.finished()
            };
            assert!(ends(&bytes, true), "{count}");
            assert!(!ends(&[&bytes[..], &[5; 2]].concat(), false), "{count} with a word more");
            let (states, words) = read_states(&bytes).unwrap();
            if !words.is_empty() {
                assert!(!ends(&bytes[..bytes.len() - 2], false), "{count} with a word less");
            }
            assert!(states.iter().all(|&x| x >= LOW));
            assert!(Decoder::new(&bytes[..bytes.len() - 1]).is_none());
        }
    }

    #[test]
    fn lanes_above_a_symbol() {
        for least in [1, 2, 25, 127, 128] {
            for first in 0..=255u8 {
                let symbols: [u8; LANES] = std::array::from_fn(|lane| first.wrapping_mul(1 + lane as u8));
                let lanes: u32 =
                    (0..LANES).filter(|&lane| symbols[lane] >= least).map(|lane| 1 << lane).sum();
                assert_eq!(lanes_above(&symbols, least), lanes, "{least} {first}");
            }
        }
    }
}
