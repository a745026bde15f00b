//! Layer 1 of a volume: predictions and quantized residuals, without any constraint but the error bound. Its
//! reconstruction is that of the decoder, bit for bit.

use crate::cpu::progress::Meter;
use crate::entropy::quantized_tile::{QuantizedTile, TileCoding, BOUND_SHIFTS};
use crate::entropy::triples::MOST_BITS;
use crate::error::Result;
use crate::grid::element::Real;
use crate::grid::field::View;
use crate::grid::tiles::{Grid, LEVELS};
use crate::grid::volume_tiles::{VolumeGrid, VolumeTile, SIDE, VOLUME_ANCHOR_LEVEL};
use crate::predict::interpolation::Interpolant;
use crate::predict::quantizer::Quantizer;
use crate::repair::values::{Radii, Refiner};
use crate::runtime::memory;
use crate::runtime::pool::Threads;
use crate::tile::volume::{visit_stage, Reconstruction, Visit, VolumeWindow, STAGES};
use crate::tile::volume_builder::VolumeTileBuilder;
use crate::tile::volume_decode::SymbolsOfVolume;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// Interpolants and bin widths, which encoder and decoder share.
pub(super) struct Layer<T> {
    pub(super) grid: Grid,
    pub(super) interpolants: [Interpolant<T>; VOLUME_ANCHOR_LEVEL],
    /// By bound shift.
    quantizers: [Quantizer<T>; BOUND_SHIFTS],
}

/// Vertices that have no code, a byte for each; empty if there are none.
pub(super) struct Hidden(Vec<AtomicU8>);

impl Hidden {
    pub(super) fn new(grid: Grid, any: bool) -> Result<Self> {
        Ok(Hidden(memory::defaults(if any { grid.vertices() as usize } else { 0 })?))
    }

    pub(super) fn hide(&self, vertex: u64) {
        self.0[vertex as usize].store(1, Relaxed);
    }

    #[inline(always)]
    pub(super) fn has(&self, vertex: u64) -> bool {
        !self.0.is_empty() && self.0[vertex as usize].load(Relaxed) != 0
    }
}

/// The code of a vertex, and its reconstruction.
pub(super) struct Coded<T> {
    pub(super) q: [i32; 3],
    pub(super) value: [T; 3],
    /// Whether the reconstruction is within the bound.
    pub(super) is_good: bool,
}

impl<T: Real> Layer<T> {
    pub(super) fn new(
        grid: Grid,
        (bound, half_bin_width): (f64, f64),
        level_bound_scaling: u8,
        interpolants: &[u8],
    ) -> Self {
        let of_shift = |shift: usize| f64::from_bits((1023 - shift as u64) << 52) * half_bin_width;
        Layer {
            grid,
            interpolants: std::array::from_fn(|level| Interpolant::new(interpolants[level])),
            quantizers: std::array::from_fn(|shift| {
                Quantizer::new(bound, of_shift(shift), level_bound_scaling)
            }),
        }
    }

    pub(super) fn tiles(&self) -> VolumeGrid {
        VolumeGrid::of(self.grid)
    }

    /// The number of a vertex of a tile.
    #[inline(always)]
    pub(super) fn vertex(&self, tile: &VolumeTile, local: [usize; 3]) -> u64 {
        self.grid.number([0, 1, 2].map(|k| (tile.first[k] + local[k] as u64) as i64))
    }

    /// Codes a vertex. A code whose reconstruction is not good is zero.
    #[inline(always)]
    pub(super) fn code(&self, original: [T; 3], prediction: [T; 3], level: usize, shift: usize) -> Coded<T> {
        let quantizer = &self.quantizers[shift];
        let step = quantizer.steps[level][0];
        let attempts = [0, 1, 2].map(|c| step.attempt(original[c], prediction[c]));
        let is_good = attempts.iter().all(|attempt| {
            attempt.fits & (attempt.code.unsigned_abs() < 1 << MOST_BITS)
                && quantizer.accept.within(attempt.error)
        });
        match is_good {
            true => Coded { q: attempts.map(|a| a.code), value: attempts.map(|a| a.value), is_good },
            false => Coded { q: [0; 3], value: self.decode([0; 3], prediction, level, shift), is_good },
        }
    }

    #[inline(always)]
    fn decode(&self, q: [i32; 3], prediction: [T; 3], level: usize, shift: usize) -> [T; 3] {
        let step = self.quantizers[shift].steps[level][0];
        [0, 1, 2].map(|c| step.decode(q[c], prediction[c]))
    }

    /// The largest errors of vertices, given the shifts of all tiles.
    pub(super) fn radii<'a>(&self, shifts: &'a [u8]) -> LayerRadii<'a> {
        let half = |shift: usize, level: usize| self.quantizers[shift].steps[level][0].width.to_f64() * 0.5;
        LayerRadii {
            grid: self.grid,
            shifts,
            radii: std::array::from_fn(|shift| std::array::from_fn(|level| half(shift, level))),
        }
    }

    /// Quantizes a field. Vertices whose reconstruction is not good are told to `exact`.
    pub(super) fn encode(
        &self,
        views: [View<'_, T>; 3],
        (hidden, shifts): (&Hidden, &[u8]),
        to: &mut [Vec<T>; 3],
        exact: impl Fn(u64) + Sync,
        (threads, meter): (Threads, &Meter),
    ) -> Result<Vec<QuantizedTile>> {
        let (tiles, to) = (self.tiles(), Reconstruction::new(self.grid, to));
        let code = |tile: &VolumeTile, shift: u8, visit: &Visit<T>| {
            let at = [0, 1, 2].map(|k| tile.first[k] as i64 + visit.local[k] as i64);
            match hidden.has(self.grid.number(at)) {
                true => Coded { q: [0; 3], value: [T::ZERO; 3], is_good: true },
                false => {
                    let original = views.map(|view| view.plane(at[2] as u64).get(at[0], at[1]));
                    self.code(original, visit.prediction, visit.level, shift as usize)
                }
            }
        };
        for stage in 0..STAGES - 1 {
            threads.for_each(tiles.tiles() as usize, VolumeWindow::new, |window, index| {
                let (tile, shift) = (tiles.tile(index as u64), shifts[index]);
                let value = |visit: Visit<T>| code(&tile, shift, &visit).value;
                // SAFETY: each tile is one piece of work, and stages follow one another.
                unsafe { to.visit_stage(stage, &tile, &self.interpolants, window, value) };
                Ok(())
            })?;
        }
        let mut quantized = memory::defaults::<QuantizedTile>(tiles.tiles() as usize)?;
        let scratch = || Ok((VolumeWindow::new()?, VolumeTileBuilder::new()?));
        let work =
            |(window, builder): &mut (Box<VolumeWindow<T>>, Box<VolumeTileBuilder>), index, out: &mut _| {
                let (tile, shift) = (tiles.tile(index as u64), shifts[index]);
                let each = |visit: Visit<T>| {
                    let coded = code(&tile, shift, &visit);
                    builder.put(visit.position, coded.q);
                    if !coded.is_good {
                        exact(self.vertex(&tile, visit.local));
                    }
                    coded.value
                };
                // SAFETY: as above; the faces are final.
                unsafe { to.visit_tile(&tile, &self.interpolants, window, each) };
                *out = builder.finish(TileCoding::of_volume(T::BYTES), &tile, shift as usize)?;
                meter.add(1);
                Ok(())
            };
        threads.map_each(&mut quantized, scratch, work, |_| ())?;
        Ok(quantized)
    }

    /// Reconstructs a field from its codes. The interior of a tile is computed where `has_interior(tile)` says
    /// so; anchors, lines and faces, which neighbours need, in all tiles.
    pub(super) fn reconstruct(
        &self,
        (quantized, has_interior): (&[QuantizedTile], impl Fn(usize) -> bool + Sync),
        hidden: &Hidden,
        to: &Reconstruction<'_, T>,
        (threads, meter): (Threads, &Meter),
    ) -> Result<()> {
        let tiles = self.tiles();
        let scratch = || Ok((VolumeWindow::new()?, SymbolsOfVolume::new()?));
        for stage in 0..STAGES {
            threads.for_each(tiles.tiles() as usize, scratch, |(window, symbols), index| {
                meter.add((stage + 1 == STAGES) as u64);
                if stage + 1 == STAGES && !has_interior(index) {
                    return Ok(());
                }
                let (tile, codes) = (tiles.tile(index as u64), &quantized[index]);
                symbols.fill(codes, &tile, TileCoding::of_volume(T::BYTES));
                let shift = codes.bound_shift();
                let value = |visit: Visit<T>| {
                    if hidden.has(self.vertex(&tile, visit.local)) {
                        return [T::ZERO; 3];
                    }
                    let q = symbols.integers(codes, visit.position);
                    self.decode(q, visit.prediction, visit.level, shift)
                };
                // SAFETY: each tile is one piece of work, and stages follow one another.
                unsafe { to.visit_stage(stage, &tile, &self.interpolants, window, value) };
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Codes a tile on its own, whose closed tile of originals is in the window: `each(level, code)`.
    pub(super) fn code_sample(
        &self,
        tile: &VolumeTile,
        window: &mut VolumeWindow<T>,
        mut each: impl FnMut(usize, [i32; 3]),
    ) {
        let originals = window.values;
        let strides = [1, SIDE + 1, (SIDE + 1) * (SIDE + 1)];
        for stage in 0..STAGES {
            visit_stage(stage, tile, &self.interpolants, window, (0, strides), |visit| {
                let at: usize = (0..3).map(|k| visit.local[k] * strides[k]).sum();
                let original = [0, 1, 2].map(|c| originals[c][at]);
                let coded = self.code(original, visit.prediction, visit.level, 0);
                each(visit.level, coded.q);
                coded.value
            });
        }
    }
}

/// Half the bin width of each vertex, which depends on its level and its tile.
pub(super) struct LayerRadii<'a> {
    grid: Grid,
    shifts: &'a [u8],
    radii: [[f64; LEVELS]; BOUND_SHIFTS],
}

impl Radii for LayerRadii<'_> {
    fn refiner(&self, vertex: u64) -> Refiner {
        let Grid { nx, ny, .. } = self.grid;
        let at = [vertex % nx, vertex / nx % ny, vertex / nx / ny];
        let shift = self.shifts[VolumeGrid::of(self.grid).tile_of(at) as usize] as usize;
        let level = ((at[0] | at[1] | at[2]).trailing_zeros() as usize).min(VOLUME_ANCHOR_LEVEL);
        Refiner { radius: self.radii[shift][level] }
    }
}
