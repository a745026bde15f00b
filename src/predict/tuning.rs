//! Choice of the interpolants and the scaling of the bound by level from a sample of tiles (CODEC section 4).
//!
//! Each sampled tile is coded on its own with every option, without any constraint but the error
//! bound, and the codes of each level are counted. Estimated sizes decide; sums and estimates are
//! integers, so that the choice is the same on every backend and in any order.

use crate::entropy::symbols::{self, RAW_BITS, STORED};
use crate::entropy::tables::log2_fixed;
use crate::grid::element::Real;
use crate::grid::field::View;
use crate::grid::missing::Missing;
use crate::grid::tiles::{Grid, TileShape, ANCHOR_LEVEL, LEVELS, POSITIONS, TILE};
use crate::predict::interpolation::{Interpolant, INTERPOLANTS};
use crate::predict::quantizer::{Quantizer, EXACT, LEVEL_BOUND_SCALINGS, MASKED};
use crate::request::{Mode, Preserve};
use crate::tile::window::{Constraints, Rectangle, TileWindow};
use crate::tile::Encoder;
use crate::topology::signature::Rule;

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

/// Codes one tile on its own with every option.
///
/// # Safety
/// The views must cover the grid.
pub unsafe fn count_tile<T: Real>(
    grid: Grid,
    views: [View<'_, T>; 2],
    shape: TileShape,
    missing: Missing,
    (bound, half_bin_width): (f64, f64),
    [original, window]: &mut [Box<TileWindow<T>>; 2],
    counts: &mut Counts,
) {
    let constraints = Constraints {
        mode: Mode::BlockWise,
        preserve: Preserve::None,
        rule: Rule { types: false, dx: 1.0, dy: 1.0 },
        bound,
        bound_up: T::ZERO,
        halo: 0,
        pin: 0,
        missing,
        fill: None,
    };
    let area = Rectangle { x0: shape.x0, y0: shape.y0, width: shape.last_x + 1, height: shape.last_y + 1 };
    // SAFETY: the tile lies inside the grid, here and below.
    unsafe { original.load(grid, views, area, &constraints, None) };
    // SAFETY: as above.
    unsafe { window.load(grid, views, area, &constraints, None) };
    for level_bound_scaling in 0..LEVEL_BOUND_SCALINGS.len() {
        let quantizer = Quantizer::new(bound, half_bin_width, level_bound_scaling as u8);
        for choice in 0..INTERPOLANTS {
            let interpolants = [Interpolant::new(choice as u8); ANCHOR_LEVEL];
            let encoder =
                Encoder { quantizer: &quantizer, interpolants: &interpolants, constraints: &constraints };
            window.u = original.u;
            window.v = original.v;
            let levels = &mut counts[level_bound_scaling][choice];
            let mut add = |level: usize, code| {
                let (nonzero, bits) = weight(code);
                levels[level].vertices += (code.refinement != MASKED) as u32;
                levels[level].nonzero += nonzero;
                levels[level].bits += bits;
            };
            let (last_x, last_y) = (shape.last_x, shape.last_y);
            let ends = |last: usize| if last == TILE { 2 } else { 1 };
            for y in [0, TILE].into_iter().take(ends(last_y)) {
                for x in [0, TILE].into_iter().take(ends(last_x)) {
                    encoder.vertex(window, x, y, [T::ZERO; 2], LEVELS - 1);
                }
            }
            for (horizontal, along, across) in [(true, last_x, last_y), (false, last_y, last_x)] {
                for line in [0, TILE].into_iter().take(ends(across)) {
                    encoder.line(window, horizontal, line, along, |k, code, _| {
                        if line == 0 {
                            add(k.trailing_zeros() as usize, code);
                        }
                    });
                }
            }
            encoder.interior(window, |position, count, codes| {
                for i in 0..count {
                    add(POSITIONS[position].2 as usize, codes.get(i));
                }
            });
        }
    }
}

/// Whether a code is not zero, and about how many bits it takes besides saying so.
fn weight(code: symbols::Code) -> (u32, u32) {
    if code.refinement == MASKED {
        return (0, 0);
    }
    if code.refinement == EXACT {
        return (1, 64);
    }
    let (s, _) = symbols::encode(code);
    debug_assert!(s != STORED);
    match s {
        symbols::ZERO => (0, 0),
        s if s < symbols::FIRST_WITH_RAW_BITS => (1, 3),
        s => (1, 4 + RAW_BITS[s as usize] as u32),
    }
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
