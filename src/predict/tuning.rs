//! Chooses the interpolant of each level and the scaling of the bound by level. Every option codes a sample
//! of tiles (`tile::samples`), and the counts of its codes are the input here.
//!
//! Estimated sizes decide. Sums and estimates are integers, so that the choice is the same on every backend
//! and in any order.

use crate::entropy::tables::log2_fixed;
use crate::grid::tiles::{Grid, ANCHOR_LEVEL, LEVELS};
use crate::predict::interpolation::INTERPOLANTS;
use crate::predict::quantizer::LEVEL_BOUND_SCALINGS;

/// The sample is this fraction of all tiles, within the limits below.
pub const TILES_PER_SAMPLE: u64 = 16;
pub const LEAST_SAMPLES: u64 = 9;
pub const MOST_SAMPLES: u64 = 24;

/// Codes of one level: how many, how many not zero, and bits besides their frequency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LevelCount {
    pub vertices: u32,
    pub nonzero: u32,
    pub bits: u32,
}

/// Of one scaling of the bound by level: by interpolant and level.
pub type CountsByInterpolant = [[LevelCount; LEVELS]; INTERPOLANTS];
/// By scaling of the bound by level.
pub type Counts = [CountsByInterpolant; SCALINGS];
pub const SCALINGS: usize = LEVEL_BOUND_SCALINGS.len();

/// The decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    pub level_bound_scaling: u8,
    pub interpolants: [u8; ANCHOR_LEVEL],
}

/// Tiles in the sample of a field with `tiles` tiles.
pub fn samples(tiles: u64) -> u64 {
    (tiles / TILES_PER_SAMPLE).clamp(LEAST_SAMPLES, MOST_SAMPLES).min(tiles)
}

/// Tile number of sample `k`.
pub fn sample(grid: Grid, k: u64) -> u64 {
    let tiles = grid.tiles();
    let samples = samples(tiles);
    ((2 * k as u128 + 1) * tiles as u128 / (2 * samples as u128)) as u64
}

/// The counts of all samples together, of which each has one for every scaling.
pub fn sum(counts: &[CountsByInterpolant]) -> Counts {
    let mut sum = Counts::default();
    for (k, counts) in counts.iter().enumerate() {
        let of_scaling = &mut sum[k % SCALINGS];
        for (a, b) in of_scaling.iter_mut().flatten().zip(counts.iter().flatten()) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_grow_with_the_field_and_are_different_tiles() {
        let sizes = [1, 9, 15, 16, 143, 144, 160, 384, 400, 1 << 40].map(samples);
        assert_eq!(sizes, [1, 9, 9, 9, 9, 9, 10, 24, 24, 24]);
        for (nx, ny) in [(1, 1), (360, 181), (320, 384), (1024, 1024), (1 << 20, 1 << 20)] {
            let grid = Grid::new(nx, ny);
            let tiles: Vec<u64> = (0..samples(grid.tiles())).map(|k| sample(grid, k)).collect();
            assert!(tiles.windows(2).all(|pair| pair[0] < pair[1]), "{tiles:?}");
            assert!(tiles.iter().all(|&tile| tile < grid.tiles()), "{tiles:?}");
        }
    }
}
