//! The Lorenzo predictor of the block-wise mode: one pass, no levels, and tiles that know nothing of each
//! other.
//!
//! A tile is quantised on one lattice, that of its *bound shift*: the error bound halved so many times. Every
//! vertex becomes a pair of integers, its *coarse code*, and what is coded are the differences across a cell,
//! `coarse(x, y) - coarse(x - 1, y) - coarse(x, y - 1) + coarse(x - 1, y - 1)`, with zeros outside the tile.
//! Decoding sums them along rows and columns. Where a vertex may not move as far as its tile's lattice makes
//! it, it takes a finer one: a refinement k > 0 divides the step by 4^k, and the refinement bits below the
//! coarse code follow raw (`anchors`). What has no code, a masked or stored vertex, counts as predicted: its
//! difference is zero.
//!
//! The bound shift is not that of the tightest vertex but the one of the smallest estimated size.

use crate::entropy::quantized_tile::BOUND_SHIFTS;
use crate::entropy::symbols::{EXACT, REFINEMENTS};
use crate::grid::element::Real;
use crate::grid::tiles::TILE;
use crate::predict::quantizer::{Acceptance, Step};

/// Halvings that a vertex may need: those of the last refinement of the last bound shift, and one that stands
/// for more.
pub const HALVINGS: usize = BOUND_SHIFTS + 2 * (REFINEMENTS - 1) + 1;

/// The lattices of a field.
#[derive(Clone, Debug)]
pub struct Lattices<T> {
    /// By bound shift and refinement.
    pub steps: [[Step<T>; REFINEMENTS]; BOUND_SHIFTS],
    pub accept: Acceptance<T>,
}

impl<T: Real> Lattices<T> {
    /// `bound` is the absolute error bound, `half_bin_width` half the step of the first lattice.
    pub fn new(bound: f64, half_bin_width: f64) -> Self {
        let mut first = 2.0 * half_bin_width;
        let steps = std::array::from_fn(|_| {
            let steps = Step::refined(first);
            first *= 0.5;
            steps
        });
        Lattices { steps, accept: Acceptance::new(bound) }
    }

    /// How often the bound must be halved until half a step of the lattice is at most a vertex bound.
    pub fn halvings(&self, bound: T) -> usize {
        let step = |n: usize| {
            let bound_shift = if n < BOUND_SHIFTS { n } else { BOUND_SHIFTS - 2 + n % 2 };
            self.steps[bound_shift][(n - bound_shift) / 2]
        };
        (0..HALVINGS - 1).find(|&n| step(n).half_width_within(bound)).unwrap_or(HALVINGS - 1)
    }
}

/// Size of a tile in eighths of a bit, by what each of its vertices needs: every halving of the bound makes
/// its codes longer, and a tighter vertex takes a longer symbol and four bits a refinement.
fn estimate(bound_shift: usize, vertices: u32, halvings: &[u32; HALVINGS]) -> u32 {
    let mut size = bound_shift as u32 * BOUND_SHIFT_RATE * vertices;
    for (needed, &n) in halvings.iter().enumerate().skip(bound_shift + 1) {
        size += n * 8 * (REFINED_BITS + 4 * (needed - bound_shift).div_ceil(2) as u32);
    }
    size
}

/// Cost of a halving of the bound for a vertex, in eighths of a bit.
pub const BOUND_SHIFT_RATE: u32 = 8;
/// Cost of a refined vertex besides its refinement bits, in bits.
pub const REFINED_BITS: u32 = 9;

/// The bound shift of the smallest estimated size, the first of several, for a tile of so many vertices that
/// have codes; `halvings` counts those that are constrained by the number of halvings that they need.
pub fn best_bound_shift(vertices: u32, halvings: &[u32; HALVINGS]) -> usize {
    let sizes = (0..BOUND_SHIFTS).map(|bound_shift| (estimate(bound_shift, vertices, halvings), bound_shift));
    sizes.min().map_or(0, |smallest| smallest.1)
}

/// The coarse codes of a row of both components, behind a zero.
pub type CoarseRow = [[i32; 1 + TILE]; 2];

/// Differences across the cells to the left of and below a row of coarse codes, which follow a zero.
#[inline(always)]
pub fn differences(coarse: &CoarseRow, before: &CoarseRow) -> [[i32; TILE]; 2] {
    let mut differences = [[0; TILE]; 2];
    for c in 0..2 {
        for x in 0..TILE {
            let (right, left) =
                (coarse[c][x + 1].wrapping_sub(coarse[c][x]), before[c][x + 1].wrapping_sub(before[c][x]));
            differences[c][x] = right.wrapping_sub(left);
        }
    }
    differences
}

/// Gives the vertices that are not coded the coarse codes that they are predicted to have.
pub fn predict_uncoded(coarse: &mut CoarseRow, before: &CoarseRow, refinements: &[u8; TILE]) {
    for (coarse, before) in coarse.iter_mut().zip(before) {
        let mut down = 0;
        for x in 0..TILE {
            if refinements[x] < EXACT {
                down = coarse[1 + x].wrapping_sub(before[1 + x]);
            } else {
                coarse[1 + x] = before[1 + x].wrapping_add(down);
            }
        }
    }
}
