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
    /// Whether the symbol has a code of its own; the escape's is that of others.
    fn has(&self, symbol: u8) -> bool;
    /// What encoding a symbol that has a code makes of the state of a lane, and whether the low word of the
    /// state is put out before.
    fn put(&self, state: u32, symbol: u8) -> (u32, bool);
}

/// A coder's table for decoding.
pub trait Decode {
    /// The symbol that the state of a lane holds, and what is left of the state: below [`LOW`] it takes a word.
    fn get(&self, state: u32) -> (u8, u32);
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
    pub fn raw(&mut self, lane: usize, value: u32, bits: u32) {
        debug_assert!((1..=PIECE_BITS).contains(&bits) && value >> bits == 0);
        let mut x = self.states[lane];
        if x >> (32 - bits) != 0 {
            self.words.push(x as u16);
            x >>= 16;
        }
        self.states[lane] = x << bits | value;
    }

    /// Encodes a symbol of a table in some lanes, from the last one to the first. Nothing, and false, where one
    /// has no code of its own.
    #[inline(always)]
    pub fn symbols<'t, E: Encode + 't>(&mut self, symbols: impl Iterator<Item = (usize, &'t E, u8)>) -> bool {
        // Words are written whether they are put out or not: which state is full is not to be predicted.
        let (mut states, mut words, mut count) = (self.states, [0u16; LANES], 0);
        let mut all = true;
        for (lane, table, symbol) in symbols {
            let x = states[lane % LANES];
            all &= table.has(symbol);
            let (next, full) = table.put(x, symbol);
            states[lane % LANES] = next;
            words[count % LANES] = x as u16;
            count += full as usize;
        }
        if all {
            self.states = states;
            let before = self.words.len();
            self.words.extend_from_slice(&words);
            self.words.truncate(before + count);
        }
        all
    }

    /// Encodes one symbol that has a code.
    pub fn put<E: Encode>(&mut self, lane: usize, table: &E, symbol: u8) {
        let x = self.states[lane];
        let (next, full) = table.put(x, symbol);
        if full {
            self.words.push(x as u16);
        }
        self.states[lane] = next;
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
        let (mut taken, mut escaped) = (0, 0u32);
        let mut get = |lane: usize| {
            let (s, x) = table(lane).get(self.states[lane]);
            let at = taken % LANES * 2;
            let refilled = x << 16 | u16::from_le_bytes([words[at], words[at + 1]]) as u32;
            self.states[lane] = if x < LOW { refilled } else { x };
            taken += (x < LOW) as usize;
            symbols[lane] = s;
            escaped |= ((s == ESCAPE) as u32) << lane;
        };
        if active == u32::MAX {
            (0..LANES).for_each(&mut get);
        } else {
            lanes(active).for_each(&mut get);
        }
        self.next += taken;
        for lane in lanes(escaped) {
            symbols[lane] = self.raw(lane, 8) as u8;
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
