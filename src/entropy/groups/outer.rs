//! Coarse codes of outer anchors, which a group begins with: at most two pairs of integers. First the number
//! of bits of each pair, then the integers in two's complement.

use crate::entropy::lanes::{Decoder, Encoder, PIECE_BITS};
use crate::grid::masks::row_mask;

/// Bits that tell how many bits the integers of a pair have.
pub const OUTER_SIZE_BITS: u32 = 5;

/// Bits of both integers of a pair in two's complement; 0 if both are 0. No coarse code has 31 bits.
fn bits_of(pair: [i32; 2]) -> u32 {
    pair.map(|x| if x == 0 { 0 } else { 33 - (x ^ x >> 31).leading_zeros() }).into_iter().max().unwrap_or(0)
}

/// The bits of a piece of an integer of so many.
fn bits_in_piece(bits: u32, piece: u32) -> u32 {
    bits.saturating_sub(piece * PIECE_BITS).min(PIECE_BITS)
}

/// The lanes of the integers of `count` pairs; the first ones of pairs alone where there is one component.
fn lanes_of(count: usize, components: u32) -> impl DoubleEndedIterator<Item = usize> + Clone {
    (0..2 * count).filter(move |lane| lane % 2 < components as usize)
}

/// Encodes what [`decode`] reads. With one component the second integers of pairs are 0.
pub(super) fn encode(encoder: &mut Encoder, outer: &[[i32; 2]], components: u32) {
    for piece in (0..2).rev() {
        let pieces = lanes_of(outer.len(), components).rev().map(|lane| {
            let (x, bits) =
                (outer[lane / 2][lane % 2] as u32, bits_in_piece(bits_of(outer[lane / 2]), piece));
            (lane, x >> (piece * PIECE_BITS) & ((1 << bits) - 1), bits)
        });
        encoder.raw(pieces.filter(|&(_, _, bits)| bits > 0));
    }
    encoder.raw(outer.iter().enumerate().rev().map(|(lane, &pair)| (lane, bits_of(pair), OUTER_SIZE_BITS)));
}

/// The pairs of `count` outer anchors, with second integers of 0 where there is one component; total.
pub(super) fn decode(decoder: &mut Decoder<'_>, count: usize, components: u32) -> [[i32; 2]; 2] {
    let mut sizes = [0; 2];
    decoder.raw(row_mask(count), |_| OUTER_SIZE_BITS, |lane, bits| sizes[lane] = bits);
    let mut integers = [0u32; 4];
    for piece in 0..2 {
        let bits = |lane: usize| bits_in_piece(sizes[lane / 2], piece);
        let active = lanes_of(count, components).filter(|&lane| bits(lane) > 0);
        let active = active.fold(0, |lanes, lane| lanes | 1 << lane);
        decoder.raw(active, bits, |lane, value| integers[lane] |= value << (piece * PIECE_BITS));
    }
    let signed = |lane: usize| match sizes[lane / 2] {
        0 => 0,
        bits => (integers[lane] << (32 - bits)) as i32 >> (32 - bits),
    };
    [[signed(0), signed(1)], [signed(2), signed(3)]]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_hold_the_integers() {
        for (x, bits) in [(0, 0), (1, 2), (-1, 1), (-2, 2), (2, 3), (127, 8), (-128, 8), ((1 << 30) - 1, 31)]
        {
            assert_eq!(bits_of([x, 0]), bits, "{x}");
            assert_eq!(bits_of([0, x]), bits, "{x}");
        }
    }

    #[test]
    fn pairs_round_trip() {
        let values = [0, 1, -1, 2, -2, 77, -300, 65535, -65536, 1 << 20, (1 << 30) - 1, 1 - (1 << 30)];
        for u in values {
            for v in values {
                for pairs in [&[][..], &[[u, v]], &[[u, v], [v, -u]]] {
                    let mut encoder = Encoder::new().unwrap();
                    let components = if pairs.iter().all(|pair| pair[1] == 0) { 1 } else { 2 };
                    encode(&mut encoder, pairs, components);
                    let bytes = encoder.finish().unwrap();
                    let mut decoder = Decoder::new(&bytes).unwrap();
                    let decoded = decode(&mut decoder, pairs.len(), components);
                    assert_eq!(&decoded[..pairs.len()], pairs);
                    assert!(decoder.finished());
                }
            }
        }
    }
}
