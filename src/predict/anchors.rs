//! Anchors: quantised on a lattice of their own, and coded as differences along their row.
//!
//! An anchor is predicted by nothing when it is quantised, so that all of them are independent. What
//! is coded is the difference of its *base code* from that of the anchor before it (to the left, or
//! above in the first column). An anchor with id k > 0 lies on a lattice 4^k times finer; its base
//! code is the nearest multiple of 4^k, and the remaining 2k bits per component, its *digits*, follow
//! raw. Stored and masked anchors repeat the base code before them.

use crate::entropy::symbols::Code;
use crate::predict::quantizer::EXACT;

/// Base code and digits of a code with the given id.
pub fn split(q: i32, id: u8) -> (i32, u32) {
    if id == 0 {
        return (q, 0);
    }
    let bits = 2 * id as u32;
    let half = 1i32 << (bits - 1);
    let base = (q + half) >> bits;
    (base, (q - (base << bits) + half) as u32)
}

/// The inverse of [`split`]; total.
pub fn join(base: i32, digits: u32, id: u8) -> i32 {
    if id == 0 {
        return base;
    }
    let bits = 2 * id as u32;
    let half = 1i32 << (bits - 1);
    base.wrapping_shl(bits).wrapping_add(digits as i32).wrapping_sub(half)
}

/// What the stream holds for an anchor after one with the base codes `before`: the coded difference,
/// the digits of both components, and the base codes for the next anchor.
pub fn difference(code: Code, before: [i32; 2]) -> (Code, u32, [i32; 2]) {
    if code.id >= EXACT {
        return (code, 0, before);
    }
    let ((bu, du), (bv, dv)) = (split(code.q[0], code.id), split(code.q[1], code.id));
    let q = [bu - before[0], bv - before[1]];
    (Code { id: code.id, q }, du | dv << (2 * code.id as u32), [bu, bv])
}

/// The inverse of [`difference`]; total.
pub fn restore(coded: Code, digits: u32, before: [i32; 2]) -> (Code, [i32; 2]) {
    if coded.id >= EXACT {
        return (coded, before);
    }
    let base = [before[0].wrapping_add(coded.q[0]), before[1].wrapping_add(coded.q[1])];
    let mask = (1u32 << (2 * coded.id as u32)) - 1;
    let q = [
        join(base[0], digits & mask, coded.id),
        join(base[1], digits >> (2 * coded.id as u32) & mask, coded.id),
    ];
    (Code { id: coded.id, q }, base)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_round_trip() {
        let mut before = [5, -7];
        for id in 0..=8u8 {
            for q in [0, 1, -1, 100, -12345, (1 << 30) - 1, 1 - (1 << 30)] {
                let code = Code { id, q: [q, -q / 3] };
                let (coded, digits, base) = difference(code, before);
                assert_eq!(restore(coded, digits, before), (code, base));
                before = base;
            }
        }
        let stored = Code { id: EXACT, q: [0; 2] };
        assert_eq!(difference(stored, before), (stored, 0, before));
    }
}
