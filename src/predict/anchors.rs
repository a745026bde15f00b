//! Anchors: quantised on a lattice of their own, and coded as differences along their row.
//!
//! Anchors are quantised without a prediction, so that they do not depend on each other. The stream holds the
//! difference between the *coarse code* of an anchor and that of the anchor before it (to the left, or above
//! in the first column). An anchor with refinement k > 0 lies on a lattice 4^k times finer; its coarse code
//! is the nearest multiple of 4^k, and the remaining 2k bits per component, its *refinement bits*, follow
//! raw. Stored and masked anchors repeat the coarse code before them.

use crate::entropy::symbols::{Code, EXACT};
use crate::error::Result;
use crate::runtime::memory;

/// Coarse code and refinement bits of a code with the given refinement.
pub fn split(q: i32, refinement: u8) -> (i32, u32) {
    if refinement == 0 {
        return (q, 0);
    }
    let bits = 2 * refinement as u32;
    let half = 1i32 << (bits - 1);
    let coarse = (q + half) >> bits;
    (coarse, (q - (coarse << bits) + half) as u32)
}

/// The inverse of [`split`]; total.
pub fn join(coarse: i32, refinement_bits: u32, refinement: u8) -> i32 {
    if refinement == 0 {
        return coarse;
    }
    let bits = 2 * refinement as u32;
    let half = 1i32 << (bits - 1);
    coarse.wrapping_shl(bits).wrapping_add(refinement_bits as i32).wrapping_sub(half)
}

/// The parts of an anchor in the stream, after one with the coarse codes `before`: the coded difference,
/// the refinement bits of both components, and the coarse codes for the next anchor.
pub fn difference(code: Code, before: [i32; 2]) -> (Code, u32, [i32; 2]) {
    if code.refinement >= EXACT {
        return (code, 0, before);
    }
    let ((bu, du), (bv, dv)) = (split(code.q[0], code.refinement), split(code.q[1], code.refinement));
    let q = [bu - before[0], bv - before[1]];
    (Code { refinement: code.refinement, q }, du | dv << (2 * code.refinement as u32), [bu, bv])
}

/// The inverse of [`difference`]; total.
pub fn restore(coded: Code, refinement_bits: u32, before: [i32; 2]) -> (Code, [i32; 2]) {
    if coded.refinement >= EXACT {
        return (coded, before);
    }
    let coarse = [before[0].wrapping_add(coded.q[0]), before[1].wrapping_add(coded.q[1])];
    let mask = (1u32 << (2 * coded.refinement as u32)) - 1;
    let q = [
        join(coarse[0], refinement_bits & mask, coded.refinement),
        join(coarse[1], refinement_bits >> (2 * coded.refinement as u32) & mask, coded.refinement),
    ];
    (Code { refinement: coded.refinement, q }, coarse)
}

/// Walks along the anchors of a grid with `columns` columns of tiles, as `step(item, coarse codes before)`,
/// which gives a result and the coarse codes for the next anchor: each follows that to its left, the first
/// one of a row that above.
pub fn along_rows<I, R>(
    columns: usize,
    items: &[I],
    mut step: impl FnMut(&I, [i32; 2]) -> (R, [i32; 2]),
) -> Result<Vec<R>> {
    let mut results = memory::with_capacity(items.len())?;
    let mut first = [0; 2];
    for row in items.chunks(columns) {
        let mut before = first;
        for (column, item) in row.iter().enumerate() {
            let (result, coarse) = step(item, before);
            results.push(result);
            before = coarse;
            if column == 0 {
                first = coarse;
            }
        }
    }
    Ok(results)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_round_trip() {
        let mut before = [5, -7];
        for refinement in 0..=8u8 {
            for q in [0, 1, -1, 100, -12345, (1 << 30) - 1, 1 - (1 << 30)] {
                let code = Code { refinement, q: [q, -q / 3] };
                let (coded, refinement_bits, coarse) = difference(code, before);
                assert_eq!(restore(coded, refinement_bits, before), (code, coarse));
                before = coarse;
            }
        }
        let stored = Code { refinement: EXACT, q: [0; 2] };
        assert_eq!(difference(stored, before), (stored, 0, before));
    }
}
