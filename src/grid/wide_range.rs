//! Whether outliers, such as fill values that nobody declared, make the range of a field: a relative bound is
//! of no use then. Decided from a sample of vertices, so that it costs nothing. Twin:
//! kernels/grid/wide_range.cuh.

use crate::grid::element::Real;
use crate::grid::field::View;
use crate::grid::missing::Missing;
use crate::grid::tiles::Grid;

/// Vertices in the sample, at most.
pub const SAMPLES: u64 = 1024;
/// How far below the range a vertex is tiny, and above which part of it a vertex is among the largest.
pub const TINY: f64 = 1e6;
pub const LARGE: f64 = 4.0;
/// So many of the vertices that count are tiny, at least, or neither, at most.
pub const PART: u32 = 16;

/// Spreads consecutive numbers: the upper bits of the products look random.
pub const SHUFFLE: u32 = 0x9e37_79b1;

/// Index of a sample.
fn sample(vertices: u64, k: u64) -> u64 {
    // Products are below 2^59: a field has 2^48 vertices at most. Anywhere in its part, so that columns do
    // not matter.
    let samples = vertices.min(SAMPLES);
    let anywhere = ((k as u32).wrapping_mul(SHUFFLE) >> 16) as u64;
    k * vertices / samples + ((anywhere * (vertices / samples)) >> 16)
}

/// Whether at least a sixteenth of the vertices is a million times smaller than the range, and no more than a
/// sixteenth between that and a quarter of it. Zeros and missing vertices do not count.
pub fn has_wide_range<T: Real>(
    grid: Grid,
    [u, v]: [View<'_, T>; 2],
    missing: Missing,
    (low, high): (T, T),
) -> bool {
    // Halved, so that it is finite.
    let half = 0.5 * high.to_f64() - 0.5 * low.to_f64();
    let vertices = grid.vertices();
    let (mut all, mut tiny, mut between) = (0, 0, 0);
    for k in 0..vertices.min(SAMPLES) {
        let index = sample(vertices, k);
        let (x, y) = ((index % grid.nx) as i64, (index / grid.nx) as i64);
        let vertex = [u.get(x, y), v.get(x, y)];
        let size = vertex[0].abs().max(vertex[1].abs()).to_f64();
        if missing.is_missing(vertex) || size == 0.0 {
            continue;
        }
        let is_tiny = size < half / (0.5 * TINY);
        all += 1;
        tiny += is_tiny as u32;
        between += (!is_tiny && size < half / (0.5 * LARGE)) as u32;
    }
    all > 0 && PART * tiny >= all && PART * between <= all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_vertices() {
        for n in [1, 2, 1023, 1024, 1025, 5000, 1 << 48] {
            let count = n.min(SAMPLES);
            let all: Vec<u64> = (0..count).map(|k| sample(n, k)).collect();
            assert!(all.windows(2).all(|w| w[0] < w[1]) && all.last().is_some_and(|&k| k < n), "{n}");
        }
    }
}
