//! The interpolants of the levels, how bin widths depend on the level, and the bound shifts of tiles.

use super::layer::{Hidden, Layer};
use crate::entropy::quantized_tile::BOUND_SHIFTS;
use crate::entropy::triples;
use crate::error::Result;
use crate::grid::element::Real;
use crate::grid::field::View;
use crate::grid::tiles::{Grid, ANCHOR_LEVEL};
use crate::grid::volume_tiles::{VolumeGrid, VolumeTile, SIDE, VOLUME_ANCHOR_LEVEL, VOLUME_TILE_VERTICES};
use crate::grid::wide_range::SHUFFLE;
use crate::predict::tuning::{self, Choice, CountsByInterpolant, LevelCount, SCALINGS};
use crate::runtime::memory;
use crate::runtime::pool::Threads;
use crate::tile::volume::VolumeWindow;

/// The interpolants that are tried: cubic along the axes, and Boolean sums.
const TRIED: [u8; 2] = [0, 3];
/// The sample is this fraction of all tiles, within the limits below.
pub(crate) const TILES_PER_SAMPLE: u64 = 32;
pub(crate) const LEAST_SAMPLES: u64 = 4;
pub(crate) const MOST_SAMPLES: u64 = 24;
/// Bits that a small and a large triple take, about, besides saying that they are not zero.
pub(crate) const BITS_OF_SMALL: u32 = 4;
pub(crate) const BITS_OF_LARGE: u32 = 6;
/// The largest bound shift.
pub(crate) const MOST_SHIFT: i32 = 6;
const _: () = assert!((MOST_SHIFT as usize) < BOUND_SHIFTS);
/// From a row of vertices whose magnitudes decide about the shift of a tile to the next one along y and z.
pub(crate) const SHIFT_STEP: usize = 4;

/// A field, and the vertices of it that have no code.
pub(super) struct Field<'a, T> {
    pub(super) grid: Grid,
    pub(super) views: [View<'a, T>; 3],
    pub(super) hidden: &'a Hidden,
}

impl<T: Real> Field<'_, T> {
    fn tiles(&self) -> VolumeGrid {
        VolumeGrid::of(self.grid)
    }

    /// Codes a sample of tiles with every option and decides. Where critical points are kept, coarse levels have
    /// finer bins without a trial: errors of coarse vertices spread over many tetrahedra, whose repair costs more
    /// than the codes.
    pub(super) fn choose(
        &self,
        (bound, half_bin_width): (f64, f64),
        keeps_points: bool,
        threads: Threads,
    ) -> Result<Choice> {
        let (tiles, samples) = (self.tiles().tiles(), samples(self.tiles().tiles()));
        let is_tried = |scaling: usize, interpolant: usize| {
            TRIED.contains(&(interpolant as u8)) && (scaling > 0 || !keeps_points)
        };
        let counts = threads.map(samples as usize * SCALINGS, VolumeWindow::new, |window, k| {
            let tile = self.tiles().tile(sample(tiles, samples, (k / SCALINGS) as u64));
            let mut counts = CountsByInterpolant::default();
            for interpolant in TRIED.into_iter().filter(|&i| is_tried(k % SCALINGS, i as usize)) {
                let interpolants = [interpolant; VOLUME_ANCHOR_LEVEL];
                let scaling = (k % SCALINGS) as u8;
                let layer = Layer::new(self.grid, (bound, half_bin_width), scaling, &interpolants);
                self.load(&tile, window);
                layer.code_sample(&tile, window, |level, q| {
                    add(&mut counts[interpolant as usize][level.min(ANCHOR_LEVEL)], q);
                });
            }
            Ok(counts)
        })?;
        let mut counts = tuning::sum(&counts);
        for (scaling, by_interpolant) in counts.iter_mut().enumerate() {
            for (interpolant, levels) in by_interpolant.iter_mut().enumerate() {
                if !is_tried(scaling, interpolant) {
                    *levels = [LevelCount { vertices: 1, nonzero: 0, bits: u32::MAX }; ANCHOR_LEVEL + 1];
                }
            }
        }
        Ok(tuning::decide(&counts, samples))
    }

    /// Loads the closed tile; vertices without a code, and values that are not finite, are zero.
    fn load(&self, tile: &VolumeTile, window: &mut VolumeWindow<T>) {
        let [x0, y0, z0] = tile.first.map(|k| k as i64);
        for (view, values) in self.views.iter().zip(&mut window.values) {
            for z in 0..=tile.last[2] {
                let plane = view.plane(z0 as u64 + z as u64);
                for y in 0..=tile.last[1] {
                    let at = (z * (SIDE + 1) + y) * (SIDE + 1);
                    let row = &mut values[at..=at + tile.last[0]];
                    plane.read_row(x0, y0 + y as i64, row);
                    for (x, value) in row.iter_mut().enumerate() {
                        let vertex = self.grid.number([x0 + x as i64, y0 + y as i64, z0 + z as i64]);
                        if !value.is_finite() || self.hidden.has(vertex) {
                            *value = T::ZERO;
                        }
                    }
                }
            }
        }
    }

    /// The bound shift of each tile: the nearest to the one with which 0.7 bounds are the median magnitude of a
    /// sample of its vertices. Where most of a tile is smaller than the bound it would be nearly zero, and repairing
    /// one vertex would break its neighbours.
    pub(super) fn shifts(&self, bound: f64, threads: Threads) -> Result<Vec<u8>> {
        let mut shifts = memory::filled(self.tiles().tiles() as usize, 0u8)?;
        let room = || memory::with_capacity::<T>(VOLUME_TILE_VERTICES / (SHIFT_STEP * SHIFT_STEP));
        let work = |sizes: &mut Vec<T>, index, shift: &mut u8| {
            self.magnitudes(&self.tiles().tile(index as u64), sizes);
            if sizes.is_empty() || bound == 0.0 {
                return Ok(());
            }
            let middle = sizes.len() / 2;
            let compare = |a: &T, b: &T| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal);
            let median = sizes.select_nth_unstable_by(middle, compare).1.to_f64();
            *shift = shift_of(0.7 * bound / median);
            Ok(())
        };
        threads.map_each(&mut shifts, room, work, |_| ())?;
        Ok(shifts)
    }

    /// The largest magnitudes of the components of the vertices with a code in the sampled rows of a tile.
    fn magnitudes(&self, tile: &VolumeTile, sizes: &mut Vec<T>) {
        sizes.clear();
        let (owned, [x0, y0, z0]) = (tile.owned(), tile.first.map(|k| k as i64));
        let mut rows = [[T::ZERO; SIDE]; 3];
        for z in (0..owned[2] as i64).step_by(SHIFT_STEP) {
            for y in (0..owned[1] as i64).step_by(SHIFT_STEP) {
                for (view, row) in self.views.iter().zip(&mut rows) {
                    view.plane((z0 + z) as u64).read_row(x0, y0 + y, &mut row[..owned[0]]);
                }
                let first = self.grid.number([x0, y0 + y, z0 + z]);
                let size = |x: usize| rows[0][x].abs().max(rows[1][x].abs()).max(rows[2][x].abs());
                let is_finite = |&x: &usize| rows.iter().all(|row| row[x].is_finite());
                let has_code = |&x: &usize| !self.hidden.has(first + x as u64);
                sizes.extend((0..owned[0]).filter(is_finite).filter(has_code).map(size));
            }
        }
    }
}

/// Tiles in the sample.
pub(crate) fn samples(tiles: u64) -> u64 {
    (tiles / TILES_PER_SAMPLE).clamp(LEAST_SAMPLES, MOST_SAMPLES).min(tiles)
}

/// The number of a sample tile: one from each of as many parts of all tiles as there are samples. Its place in the
/// part changes from one to the next, as tiles at equal distances may all lie in one column.
fn sample(tiles: u64, samples: u64, k: u64) -> u64 {
    let [first, end] = [k, k + 1].map(|k| (k as u128 * tiles as u128 / samples as u128) as u64);
    first + (k as u32).wrapping_mul(SHUFFLE) as u64 % (end - first)
}

/// The nearest integer to the logarithm to base 2 of a ratio, from 0 to [`MOST_SHIFT`].
fn shift_of(ratio: f64) -> u8 {
    let (mut shift, mut most) = (0, std::f64::consts::SQRT_2);
    while shift < MOST_SHIFT && ratio > most {
        shift += 1;
        most *= 2.0;
    }
    shift as u8
}

fn add(count: &mut LevelCount, q: [i32; 3]) {
    count.vertices += 1;
    let (symbol, _) = triples::encode(q);
    let raw = triples::RAW_BITS[symbol as usize] as u32;
    if q != [0; 3] {
        count.nonzero += 1;
        count.bits += if raw == 0 { BITS_OF_SMALL } else { BITS_OF_LARGE + raw };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{BoundKind, Config, VolumeRequest};

    #[test]
    fn samples_are_different_tiles_of_all_columns() {
        for (side, samples) in [(8, 16), (16, 24), (2, 4), (5, 4)] {
            let tiles = side * side * side;
            let numbers: Vec<u64> = (0..samples).map(|k| sample(tiles, samples, k)).collect();
            assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]) && numbers.iter().all(|&n| n < tiles));
            let mut columns: Vec<u64> = numbers.iter().map(|n| n % side).collect();
            columns.sort_unstable();
            columns.dedup();
            assert!(columns.len() as u64 * 2 >= side, "{numbers:?}");
        }
    }

    /// A vertex with a value that is not finite has no magnitude: it is stored exactly, and does not count.
    #[test]
    fn exact_vertices_decide_no_shift() {
        let request = VolumeRequest::new(Config::volume([3, 2, 2], BoundKind::Absolute, 0.1)).expect("valid");
        let grid = request.grid();
        let mut components = [(); 3].map(|()| vec![1.0; 12]);
        components.iter_mut().for_each(|values: &mut Vec<f32>| values[..2].fill(1e-3));
        components[1][0] = f32::NAN;
        let views = components.each_ref().map(|values| View::stack(values, 3, 2));
        let hidden = Hidden::new(grid, false).expect("memory");
        let threads = Threads::new(1);
        let shifts = Field { grid, views, hidden: &hidden }.shifts(0.1, threads).expect("memory");
        assert_eq!(shifts, [0]);
    }

    #[test]
    fn shifts_are_the_nearest() {
        for (ratio, shift) in
            [(0.0, 0), (1.0, 0), (1.41, 0), (1.42, 1), (2.8, 1), (2.9, 2), (1e9, 6), (f64::INFINITY, 6)]
        {
            assert_eq!(shift_of(ratio), shift, "{ratio}");
        }
    }
}
