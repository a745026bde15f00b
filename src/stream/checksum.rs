//! The checksum of a stream (FORMAT.md, section 2.5).

use super::header::at;
use crate::grid::element::Real;
use std::ops::Range;

/// Where the checksum lies; it counts as 0 when it is computed.
const PLACE: Range<usize> = at::CHECKSUM..at::CHECKSUM + 4;
/// Factor of the index of a word.
pub const STEP: u32 = 0x9e37_79b9;
/// Factors of the two rounds of the mix.
pub const MIX: [u32; 2] = [0x85eb_ca6b, 0xc2b2_ae35];

/// The sum over the 32-bit words of a stream of a mix of the word and its index. Any change of a single word
/// changes it, and words can be added in any order.
pub fn checksum(stream: &[u8]) -> u32 {
    sum(0, stream)
}

/// The part of the sum of the words in `bytes`, the first of which is number `first`.
fn sum(first: usize, bytes: &[u8]) -> u32 {
    let mut sum = 0u32;
    for (k, word) in (first..).zip(bytes.chunks_exact(4)) {
        let word = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
        sum = sum.wrapping_add(mix(k as u32, if k == PLACE.start / 4 { 0 } else { word }));
    }
    sum
}

/// The summand of a word, given its index.
#[inline(always)]
fn mix(k: u32, word: u32) -> u32 {
    let x = word.wrapping_add(k.wrapping_mul(STEP));
    let x = (x ^ x >> 16).wrapping_mul(MIX[0]);
    let x = (x ^ x >> 13).wrapping_mul(MIX[1]);
    x ^ x >> 16
}

/// The part of the sum of the words of an array that some of its values have; `first` is the number of the first
/// one of them (FORMAT.md, section 10.2).
pub fn of_values<T: Real>(first: u64, values: &[T]) -> u32 {
    let mut sum = 0u32;
    for (k, value) in values.iter().enumerate() {
        let (k, bits) = ((first as u32).wrapping_add(k as u32), value.to_bits64());
        sum = sum.wrapping_add(match T::BYTES {
            4 => mix(k, bits as u32),
            _ => mix(k.wrapping_mul(2), bits as u32)
                .wrapping_add(mix(k.wrapping_mul(2).wrapping_add(1), (bits >> 32) as u32)),
        });
    }
    sum
}

/// Writes the checksum of a complete stream into its header.
pub fn seal(stream: &mut [u8]) {
    let sum = checksum(stream);
    stream[PLACE].copy_from_slice(&sum.to_le_bytes());
}

/// The checksum that the header of a stream holds.
pub fn of_seal(stream: &[u8]) -> u32 {
    u32::from_le_bytes(stream[PLACE].try_into().expect("four bytes"))
}

/// Whether a complete stream has the checksum that its header holds.
pub fn is_sealed(stream: &[u8]) -> bool {
    are_sealed(stream, &[])
}

/// Whether a complete stream in two pieces has the checksum that its header holds. The first piece begins with
/// the header, and has whole words.
pub fn are_sealed(start: &[u8], rest: &[u8]) -> bool {
    debug_assert!(start.len() % 4 == 0);
    let all = sum(0, start).wrapping_add(sum(start.len() / 4, rest));
    start[PLACE] == all.to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_changed_word_changes_the_checksum() {
        let mut stream = vec![0u8; 512];
        for (k, b) in stream.iter_mut().enumerate() {
            *b = (k * 37 % 251) as u8;
        }
        seal(&mut stream);
        assert!(is_sealed(&stream));
        for k in 0..stream.len() {
            for bit in 0..8 {
                stream[k] ^= 1 << bit;
                assert!(!is_sealed(&stream));
                stream[k] ^= 1 << bit;
            }
        }
    }
}
