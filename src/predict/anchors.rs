//! Anchors: quantised on a lattice of their own, and coded as differences from each other.
//!
//! Anchors are quantised without a prediction, so that they do not depend on each other. The stream holds the
//! difference between the *coarse code* of an anchor and that of the anchor that it follows ([`followed`]).
//! An anchor with refinement k > 0 lies on a lattice 4^k times finer; its coarse code is the nearest multiple
//! of 4^k, and the remaining 2k bits per component, its *refinement bits*, follow raw. A stored or masked
//! anchor has the coarse code 0.

use crate::entropy::symbols::{Code, EXACT};
use crate::error::Result;
use crate::grid::tiles::Grid;
use crate::runtime::memory;
use std::ops::Range;

/// The coarse codes of both components of an anchor.
pub type CoarseCodes = [i32; 2];

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

/// The coarse codes of an anchor.
pub fn coarse(code: Code) -> CoarseCodes {
    if code.refinement >= EXACT {
        return [0; 2];
    }
    code.q.map(|q| split(q, code.refinement).0)
}

/// The parts of an anchor in the stream, which follows one with the coarse codes `before`: the coded
/// difference and the refinement bits of both components.
pub fn difference(code: Code, before: CoarseCodes) -> (Code, u32) {
    if code.refinement >= EXACT {
        return (code, 0);
    }
    let [(bu, du), (bv, dv)] = code.q.map(|q| split(q, code.refinement));
    let q = [bu - before[0], bv - before[1]];
    (Code { refinement: code.refinement, q }, du | dv << (2 * code.refinement as u32))
}

/// The inverse of [`difference`], with the coarse codes of the anchor; total.
pub fn restore(coded: Code, refinement_bits: u32, before: CoarseCodes) -> (Code, CoarseCodes) {
    if coded.refinement >= EXACT {
        return (coded, [0; 2]);
    }
    let coarse = [before[0].wrapping_add(coded.q[0]), before[1].wrapping_add(coded.q[1])];
    let mask = (1u32 << (2 * coded.refinement as u32)) - 1;
    let q = [
        join(coarse[0], refinement_bits & mask, coded.refinement),
        join(coarse[1], refinement_bits >> (2 * coded.refinement as u32) & mask, coded.refinement),
    ];
    (Code { refinement: coded.refinement, q }, coarse)
}

/// The tile whose anchor the anchor of a tile follows: the tile to its left, in the first column the tile
/// above. The first tile follows none.
pub fn followed(grid: Grid, tile: u64) -> Option<u64> {
    let columns = grid.tiles_x();
    if tile % columns > 0 {
        Some(tile - 1)
    } else {
        tile.checked_sub(columns)
    }
}

/// The tiles outside a group that anchors of the group follow, at most two: that before its first tile; and,
/// if the group goes on into the next row of tiles, the first tile of its row. A group carries the coarse
/// codes of these tiles, so that it can be decoded alone.
pub fn outer(grid: Grid, group: Range<u64>) -> impl Iterator<Item = u64> {
    let columns = grid.tiles_x();
    let first_of_row = group.start - group.start % columns;
    let goes_on = group.end > first_of_row + columns && group.start - first_of_row > 1;
    followed(grid, group.start).into_iter().chain(goes_on.then_some(first_of_row))
}

/// Coarse codes of outer tiles.
pub type OuterCodes = [CoarseCodes; 2];

/// Walks along the anchors of a group, as `step(number in the group, coarse codes that the anchor follows)`,
/// which gives a result and the coarse codes of the anchor. `codes` are those of the [`outer`] tiles.
pub fn walk<R>(
    grid: Grid,
    group: Range<u64>,
    codes: OuterCodes,
    mut step: impl FnMut(usize, CoarseCodes) -> (R, CoarseCodes),
) -> Result<Vec<R>> {
    let count = (group.end - group.start) as usize;
    let (mut results, mut coarse) = (memory::with_capacity(count)?, memory::filled(count, [0; 2])?);
    for number in 0..count {
        let before = match followed(grid, group.start + number as u64) {
            None => [0; 2],
            Some(tile) if tile >= group.start => coarse[(tile - group.start) as usize],
            Some(tile) => {
                let place = outer(grid, group.clone()).position(|outer| outer == tile);
                codes[place.expect("an outer tile")]
            }
        };
        let (result, own) = step(number, before);
        results.push(result);
        coarse[number] = own;
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
                let (coded, refinement_bits) = difference(code, before);
                assert_eq!(restore(coded, refinement_bits, before), (code, coarse(code)));
                before = coarse(code);
            }
        }
        let stored = Code { refinement: EXACT, q: [0; 2] };
        assert_eq!(difference(stored, before), (stored, 0));
        assert_eq!(restore(stored, 0, before), (stored, coarse(stored)));
    }

    /// Every way to cut a grid into groups gives the anchors of the whole grid.
    #[test]
    fn groups_are_walked_alone() {
        for columns in [1, 2, 3, 7] {
            let grid = Grid::new(32 * columns, 32 * 5);
            let value = |tile: u64| [tile as i32 * 3 - 4, 7 - (tile * tile) as i32];
            let before = |tile: u64| followed(grid, tile).map_or([0; 2], value);
            for start in 0..grid.tiles() {
                for end in start + 1..=grid.tiles() {
                    let mut codes = [[0; 2]; 2];
                    codes.iter_mut().zip(outer(grid, start..end)).for_each(|(c, tile)| *c = value(tile));
                    let seen = walk(grid, start..end, codes, |number, before| {
                        (before, value(start + number as u64))
                    });
                    let expected: Vec<_> = (start..end).map(before).collect();
                    assert_eq!(seen.unwrap(), expected, "{columns} columns, {start}..{end}");
                }
            }
        }
    }
}
