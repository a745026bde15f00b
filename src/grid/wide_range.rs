//! Detects fields whose range comes from outliers, such as fill values that nobody declared: a bound relative
//! to such a range is far too large. A sample of vertices decides, so that the test takes next to no time.
//! Twin: kernels/grid/wide_range.cuh.

use crate::grid::element::Real;
use crate::grid::field::View;
use crate::grid::missing::Missing;
use crate::grid::tiles::Grid;

/// Vertices in the sample, at most.
pub const SAMPLES: u64 = 1024;
/// A vertex is tiny below range / TINY, and large from range / LARGE on.
pub const TINY: f64 = 1e6;
pub const LARGE: f64 = 4.0;
/// At least 1 / PART of the counted vertices must be tiny, and at most 1 / PART neither tiny nor large.
pub const PART: u32 = 16;

/// Factor of a multiplicative hash: the upper bits of its products with consecutive numbers look random.
pub const SHUFFLE: u32 = 0x9e37_79b1;

/// Index of a sample.
fn sample(vertices: u64, k: u64) -> u64 {
    // Each sample lies at a random place in its part of the field, so that no regular pattern of columns is
    // sampled. Products are below 2^59, since a field has 2^48 vertices at most.
    let samples = vertices.min(SAMPLES);
    let anywhere = ((k as u32).wrapping_mul(SHUFFLE) >> 16) as u64;
    k * vertices / samples + ((anywhere * (vertices / samples)) >> 16)
}

/// Whether at least a sixteenth of the sampled vertices is tiny (below a millionth of the range), and at most
/// a sixteenth lies between that and a quarter of the range. Zeros and missing vertices do not count.
pub fn has_wide_range<T: Real, const N: usize>(
    grid: Grid,
    views: [View<'_, T>; N],
    missing: Missing,
    (low, high): (T, T),
) -> bool {
    // Halved, so that it is finite.
    let half = 0.5 * high.to_f64() - 0.5 * low.to_f64();
    let vertices = grid.vertices();
    let (mut all, mut tiny, mut between) = (0, 0, 0);
    for k in 0..vertices.min(SAMPLES) {
        let index = sample(vertices, k);
        let (x, row) = ((index % grid.nx) as i64, index / grid.nx);
        let vertex = views.map(|view| view.plane(row / grid.ny).get(x, (row % grid.ny) as i64));
        let size = vertex.into_iter().fold(T::ZERO, |largest, x| largest.max(x.abs())).to_f64();
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
