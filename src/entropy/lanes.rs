//! 32 interleaved lanes that share one sequence of words, as a warp of a GPU decodes them.
//!
//! Each lane has a 32-bit state in [2^16, 2^32) and takes 16-bit words from one common sequence.
//! Work proceeds in steps: in a step every active lane decodes one symbol, or one piece of at most
//! 16 raw bits, and the lanes whose state has fallen below 2^16 take a word each, in lane order. The
//! encoder does the same backwards, so that the decoder reads words forwards. All lanes start (for
//! the decoder: end) in the state 2^16, which the decoder checks. What a symbol does to a state is
//! the coder's: `ans`, `huffman`.

use super::symbols::ESCAPE;
use crate::error::Result;
use crate::runtime::memory;

pub const LANES: usize = 32;
/// Lower end of the states.
pub const LOW: u32 = 1 << 16;
/// Bytes of the states in front of the words.
pub const STATE_BYTES: usize = LANES * 4;
const _: () = assert!(STATE_BYTES == crate::stream::sections::LEAST_GROUP_BYTES);
/// Words that a group has room for at once, somewhat more than are usual.
const WORDS: usize = 1024;
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
}

/// A coder's table for decoding.
pub trait Decode {
    /// The symbol that the state of a lane holds, and what is left of the state: below [`LOW`] it takes a
    /// word.
    fn get(&self, state: u32) -> (u8, u32);
}

/// Encodes a group backwards.
pub struct Encoder {
    states: [u32; LANES],
    /// Words in the order of encoding: the reverse of the stream's.
    words: Vec<u16>,
    /// Whether memory for a word could not be had, so that the words are of no use.
    out_of_memory: bool,
}

impl Encoder {
    pub fn new() -> Result<Self> {
        Ok(Encoder { states: [LOW; LANES], words: memory::with_capacity(WORDS)?, out_of_memory: false })
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

    #[inline(always)]
    pub fn raw(&mut self, lane: usize, value: u32, bits: u32) {
        debug_assert!((1..=PIECE_BITS).contains(&bits) && value >> bits == 0);
        let mut x = self.states[lane];
        if x >> (32 - bits) != 0 {
            self.make_room();
            self.words.push(x as u16);
            x >>= 16;
        }
        self.states[lane] = x << bits | value;
    }

    /// Encodes a symbol of a table in some lanes, from the last one to the first. Nothing, and false, where
    /// one has no code of its own.
    #[inline(always)]
    pub fn symbols<'t, E: Encode + 't>(&mut self, symbols: impl Iterator<Item = (usize, &'t E, u8)>) -> bool {
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

    /// Encodes one symbol that has a code, or the escape.
    pub fn put<E: Encode>(&mut self, lane: usize, table: &E, symbol: u8) {
        let x = self.states[lane];
        let (next, full) = if symbol == ESCAPE { table.put_escape(x) } else { table.put(x, symbol) };
        if full {
            self.make_room();
            self.words.push(x as u16);
        }
        self.states[lane] = next;
    }

    /// The states and the words, padded to a multiple of 4 bytes.
    pub fn finish(self) -> Result<Vec<u8>> {
        if self.out_of_memory {
            return Err(memory::out_of_memory());
        }
        let mut out = memory::with_capacity(STATE_BYTES + self.words.len().next_multiple_of(2) * 2)?;
        for x in self.states {
            out.extend_from_slice(&x.to_le_bytes());
        }
        for w in self.words.iter().rev() {
            out.extend_from_slice(&w.to_le_bytes());
        }
        if self.words.len() % 2 == 1 {
            out.extend_from_slice(&[0; 2]);
        }
        Ok(out)
    }
}

/// Decodes a group forwards. Reading past the end gives zeros, and [`Decoder::finished`] false.
pub struct Decoder<'a> {
    states: [u32; LANES],
    words: &'a [u8],
    next: usize,
}

impl<'a> Decoder<'a> {
    /// `bytes` are those of one group; None if they are too few for the states, or one of these is below
    /// [`LOW`].
    pub fn new(bytes: &'a [u8]) -> Option<Self> {
        let (head, words) = bytes.split_at_checked(STATE_BYTES)?;
        let mut states = [0; LANES];
        for (x, b) in states.iter_mut().zip(head.chunks_exact(4)) {
            *x = u32::from_le_bytes([b[0], b[1], b[2], b[3]]);
        }
        states.iter().all(|&x| x >= LOW).then_some(Decoder { states, words, next: 0 })
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

    /// Decodes one symbol, an escape as it is.
    #[cfg(test)]
    pub fn get<D: Decode>(&mut self, lane: usize, table: &D) -> u8 {
        let (symbol, x) = table.get(self.states[lane]);
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
    pub fn step<'t, D: Decode + 't>(
        &mut self,
        active: u32,
        table: impl Fn(usize) -> &'t D,
        symbols: &mut [u8; LANES],
    ) {
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
            (0..LANES).for_each(&mut get);
        } else {
            lanes(active).for_each(&mut get);
        }
        self.next += taken;
        for lane in lanes(lanes_above(symbols, 128) & active) {
            if symbols[lane] == ESCAPE {
                symbols[lane] = self.raw(lane, 8) as u8;
            }
        }
    }

    /// Whether exactly all words were read and every lane has come back to its first state.
    pub fn finished(&self) -> bool {
        self.states == [LOW; LANES] && self.next.div_ceil(2) * 4 == self.words.len()
    }
}

/// The lanes of a mask, descending.
pub fn lanes_down(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = mask.checked_ilog2()?;
        mask ^= 1 << lane;
        Some(lane as usize)
    })
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
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn lanes_above(symbols: &[u8; LANES], least: u8) -> u32 {
    use std::arch::x86_64::{
        __m128i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_max_epu8, _mm_movemask_epi8, _mm_set1_epi8,
    };
    let half = |at: usize| {
        let half: &[u8; 16] = symbols[at..at + 16].try_into().expect("sixteen bytes");
        // SAFETY: every processor of this architecture has SSE2, and the load takes the sixteen bytes.
        unsafe {
            let x = _mm_loadu_si128(half.as_ptr().cast::<__m128i>());
            _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_max_epu8(x, _mm_set1_epi8(least as i8)), x)) as u32
        }
    };
    half(0) | half(16) << 16
}

/// The lanes of a step whose symbols are `least` or above (1 to 128), as bits: eight at a time.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub fn lanes_above(symbols: &[u8; LANES], least: u8) -> u32 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = ONES << 7;
    let mut lanes = 0;
    for (k, eight) in symbols.chunks_exact(8).enumerate() {
        let x = u64::from_le_bytes(eight.try_into().expect("eight bytes"));
        let above = (x | ((x & !HIGH) + ONES * (128 - least as u64))) & HIGH;
        // The high bits come together in the highest byte.
        lanes |= (((above >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u32) << (8 * k);
    }
    lanes
}

#[cfg(test)]
mod tests {
    use super::*;

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
