//! Choice of the interpolants and of the scaling of the bound by level, from counts of the codes that each
//! option makes of a sample of tiles (`tile::samples`).
//!
//! Estimated sizes decide. Sums and estimates are integers, so that the choice is the same on every backend
//! and in any order.

use crate::entropy::tables::log2_fixed;
use crate::grid::tiles::{Grid, ANCHOR_LEVEL, LEVELS};
use crate::predict::interpolation::INTERPOLANTS;
use crate::predict::quantizer::LEVEL_BOUND_SCALINGS;

/// Tiles in the sample, at most.
pub const SAMPLES: u64 = 24;

/// Codes of one level: how many, how many not zero, and bits besides their frequency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LevelCount {
    pub vertices: u32,
    pub nonzero: u32,
    pub bits: u32,
}

/// By scaling of the bound by level, choice and level.
pub type Counts = [[[LevelCount; LEVELS]; INTERPOLANTS]; LEVEL_BOUND_SCALINGS.len()];

/// The decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    pub level_bound_scaling: u8,
    pub interpolants: [u8; ANCHOR_LEVEL],
}

/// Tile number of sample `k`.
pub fn sample(grid: Grid, k: u64) -> u64 {
    let tiles = grid.tiles();
    let samples = tiles.min(SAMPLES);
    ((2 * k as u128 + 1) * tiles as u128 / (2 * samples as u128)) as u64
}

/// The counts of all samples together.
pub fn sum(counts: &[Counts]) -> Counts {
    let mut sum = Counts::default();
    for counts in counts {
        for (a, b) in sum.iter_mut().flatten().flatten().zip(counts.iter().flatten().flatten()) {
            a.vertices += b.vertices;
            a.nonzero += b.nonzero;
            a.bits += b.bits;
        }
    }
    sum
}

/// Estimated size of a level in 1/256 bit.
fn estimate(c: &LevelCount) -> u64 {
    let entropy =
        |n: u32| if n == 0 { 0 } else { n as u64 * (log2_fixed(c.vertices) - log2_fixed(n)) as u64 };
    ((c.bits as u64) << 8) + entropy(c.nonzero) + entropy(c.vertices - c.nonzero)
}

/// The smallest option; the first one of several.
pub fn decide(counts: &Counts, samples: u64) -> Choice {
    let mut best = (u64::MAX, Choice { level_bound_scaling: 0, interpolants: [0; ANCHOR_LEVEL] });
    for (level_bound_scaling, by_choice) in counts.iter().enumerate() {
        // A finer lattice makes the codes of the anchors longer: log2 of the factor per component.
        let factor = (LEVEL_BOUND_SCALINGS[level_bound_scaling].1 * 256.0) as u32;
        let mut total = 2 * samples * (log2_fixed(factor) - log2_fixed(256)) as u64;
        let mut interpolants = [0u8; ANCHOR_LEVEL];
        for (level, interpolant) in interpolants.iter_mut().enumerate() {
            let mut smallest = u64::MAX;
            for (choice, levels) in by_choice.iter().enumerate() {
                let size = estimate(&levels[level]);
                if size < smallest {
                    smallest = size;
                    *interpolant = choice as u8;
                }
            }
            total += smallest;
        }
        if total < best.0 {
            best = (total, Choice { level_bound_scaling: level_bound_scaling as u8, interpolants });
        }
    }
    best.1
}
