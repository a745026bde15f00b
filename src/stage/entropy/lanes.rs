//! 32 interleaved lanes that share one sequence of words, as a warp of a GPU decodes them.
//!
//! Each lane has a 32-bit state in [2^16, 2^32) and takes 16-bit words from one common sequence.
//! Work proceeds in steps: in a step every active lane decodes one symbol, or one piece of at most
//! 16 raw bits, and the lanes whose state has fallen below 2^16 take a word each, in lane order. The
//! encoder does the same backwards, so that the decoder reads words forwards. All lanes start (for
//! the decoder: end) in the state 2^16, which the decoder checks. What a symbol does to a state is
//! the coder's: `ans`, `huffman`.

use super::table::ESCAPE;

pub const LANES: usize = 32;
/// Lower end of the states.
pub const LOW: u32 = 1 << 16;
/// Bytes of the states in front of the words.
pub const STATE_BYTES: usize = LANES * 4;
/// Raw bits of one piece.
pub const PIECE_BITS: u32 = 16;

/// A coder's table for encoding.
pub trait Encode {
    /// Whether the symbol has a code of its own.
    fn has(&self, symbol: u8) -> bool;
    /// Encodes a symbol that has a code.
    fn put(&self, encoder: &mut Encoder, lane: usize, symbol: u8);
}

/// A coder's table for decoding.
pub trait Decode {
    fn get(&self, decoder: &mut Decoder<'_>, lane: usize) -> u8;
}

/// Encodes a group backwards.
pub struct Encoder {
    pub(super) states: [u32; LANES],
    /// Words in the order of encoding: the reverse of the stream's.
    pub(super) words: Vec<u16>,
}

impl Encoder {
    pub fn new() -> Self {
        Encoder { states: [LOW; LANES], words: Vec::new() }
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
    pub(super) states: [u32; LANES],
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
    pub(super) fn refill(&mut self, x: u32) -> u32 {
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
        let mut escaped = 0u32;
        if active == u32::MAX {
            for lane in 0..LANES {
                let s = table(lane).get(self, lane);
                symbols[lane] = s;
                escaped |= ((s == ESCAPE) as u32) << lane;
            }
        } else {
            for lane in lanes(active) {
                let s = table(lane).get(self, lane);
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
