//! Predict and quantize on threads: fields to quantized tiles.

use super::lattice::Axis;
use super::progress::Meter;
use crate::entropy::quantized_tile::QuantizedTile;
use crate::error::Result;
use crate::grid::element::Real;
use crate::grid::field::View;
use crate::grid::tiles::{Grid, ANCHOR_LEVEL};
use crate::predict::anchors::{self, CoarseCodes};
use crate::predict::interpolation::interpolants;
use crate::predict::lorenzo::Lattices;
use crate::predict::quantizer::Quantizer;
use crate::predict::tuning::{self, Choice, SCALINGS};
use crate::runtime::log::event;
use crate::runtime::memory;
use crate::runtime::pool::Threads;
use crate::tile::builder::QuantizedTileBuilder;
use crate::tile::constraints::Constraints;
use crate::tile::encode::{CodedVertex, Encoder};
use crate::tile::lattice::{LatticeLines, Lines};
use crate::tile::lorenzo_encode;
use crate::tile::samples::{count_tile, SampleWindows};
use crate::tile::window::{EncodeStats, TileWindow};

/// The field that is compressed, and how.
pub(super) struct Source<'a, T> {
    pub(super) grid: Grid,
    pub(super) views: [View<'a, T>; 2],
    pub(super) constraints: Constraints<T>,
    pub(super) half_bin_width: f64,
    pub(super) threads: Threads,
}

/// All tiles of a field.
pub(super) struct Quantized {
    pub(super) tiles: Vec<QuantizedTile>,
    /// Coarse codes of the anchors; of the Lorenzo predictor, which has none, empty.
    pub(super) anchors: Vec<CoarseCodes>,
    pub(super) stats: EncodeStats,
    pub(super) choice: Choice,
}

impl<T: Real> Source<'_, T> {
    /// Predicts by interpolation: anchors, row lines, column lines, tiles.
    pub(super) fn hierarchical(&self, meter: &Meter) -> Result<Quantized> {
        let choice = self.tune()?;
        event!(
            DEBUG,
            "tuned",
            bound = self.constraints.bound,
            level_bound_scaling = choice.level_bound_scaling,
            interpolants = choice.interpolants
        );
        let quantizer =
            Quantizer::new(self.constraints.bound, self.half_bin_width, choice.level_bound_scaling);
        let encoder = Encoder {
            grid: self.grid,
            views: self.views,
            quantizer: &quantizer,
            interpolants: &interpolants(&choice.interpolants),
            constraints: &self.constraints,
        };
        let (anchors, anchor_stats) = self.anchors(&encoder)?;
        let (lines, line_stats) = self.lines(&encoder, &anchors)?;
        let coarse = memory::collected(anchors.iter().map(|anchor| anchors::coarse(anchor.code)))?;
        let (tiles, tile_stats) = self.tiles(meter, |window, builder, tile| {
            let followed = anchors::followed(self.grid, tile as u64);
            let before = followed.map_or([0; 2], |tile| coarse[tile as usize]);
            let anchor = anchors::difference(anchors[tile].code, before);
            let shape = self.grid.tile(tile as u64);
            encoder.of_plane(shape.z).tile(window, builder, &shape, &lines, anchor)
        })?;
        let stats = anchor_stats.merge(line_stats).merge(tile_stats);
        Ok(Quantized { tiles, anchors: coarse, stats, choice })
    }

    /// Predicts by differences, with nothing to choose; tiles know nothing of each other.
    pub(super) fn lorenzo(&self, meter: &Meter) -> Result<Quantized> {
        let lattices = Lattices::new(self.constraints.bound, self.half_bin_width);
        let encoder = lorenzo_encode::Encoder {
            grid: self.grid,
            views: self.views,
            lattices: &lattices,
            constraints: &self.constraints,
        };
        let (tiles, stats) = self.tiles(meter, |window, builder, tile| {
            let shape = self.grid.tile(tile as u64);
            encoder.of_plane(shape.z).tile(window, builder, &shape)
        })?;
        let choice = Choice { level_bound_scaling: 0, interpolants: [0; ANCHOR_LEVEL] };
        Ok(Quantized { tiles, anchors: Vec::new(), stats, choice })
    }

    /// Codes the sample of tiles with every option and decides.
    fn tune(&self) -> Result<Choice> {
        let samples = tuning::samples(self.grid.tiles());
        let quantizers: [_; SCALINGS] = std::array::from_fn(|scaling| {
            Quantizer::new(self.constraints.bound, self.half_bin_width, scaling as u8)
        });
        let counts = self.threads.map(samples as usize * SCALINGS, SampleWindows::new, |windows, k| {
            let tile = tuning::sample(self.grid, (k / SCALINGS) as u64);
            let (missing, how) =
                (self.constraints.missing, (self.constraints.bound, &quantizers[k % SCALINGS]));
            Ok(count_tile(self.grid, self.views, tile, missing, how, windows))
        })?;
        Ok(tuning::decide(&tuning::sum(&counts), samples))
    }

    fn anchors(&self, encoder: &Encoder<'_, T>) -> Result<(Vec<CodedVertex<T>>, EncodeStats)> {
        let mut anchors = memory::filled(self.grid.tiles() as usize, Default::default())?;
        let work = |window: &mut Box<TileWindow<T>>, tile: usize, anchor: &mut CodedVertex<T>| {
            let shape = self.grid.tile(tile as u64);
            *anchor = encoder.of_plane(shape.z).anchor(window, &shape);
            Ok(())
        };
        let stats = self
            .threads
            .map_each(&mut anchors, TileWindow::new, work, |window| std::mem::take(&mut window.stats))?;
        Ok((anchors, EncodeStats::sum(&stats)))
    }

    fn lines(
        &self,
        encoder: &Encoder<'_, T>,
        anchors: &[CodedVertex<T>],
    ) -> Result<(LatticeLines<CodedVertex<T>>, EncodeStats)> {
        let mut row_lines = Lines::along_x(self.grid)?;
        let first = self.along(Axis::X, &mut row_lines, |window, tile, line| {
            let next = anchors.get(tile + 1).copied().unwrap_or_default();
            let shape = self.grid.tile(tile as u64);
            encoder.of_plane(shape.z).row_line(window, &shape, [anchors[tile], next], line);
        })?;
        let mut column_lines = Lines::along_y(self.grid)?;
        let second = self.along(Axis::Y, &mut column_lines, |window, tile, line| {
            let shape = self.grid.tile(tile as u64);
            encoder.of_plane(shape.z).column_line(window, &shape, anchors[tile], &row_lines, line);
        })?;
        Ok((LatticeLines { row_lines, column_lines }, first.merge(second)))
    }

    /// Codes the lattice lines along an axis, as `code(window, tile, its piece of the line)`.
    fn along(
        &self,
        axis: Axis,
        lines: &mut Lines<CodedVertex<T>>,
        code: impl Fn(&mut TileWindow<T>, usize, &mut [CodedVertex<T>]) + Sync,
    ) -> Result<EncodeStats> {
        let pieces = axis.pieces(self.grid);
        let range = |piece| pieces.range(piece);
        let work = |window: &mut Box<TileWindow<T>>, piece: usize, line: &mut [CodedVertex<T>]| {
            code(window, pieces.tile(piece), line);
            Ok(std::mem::take(&mut window.stats))
        };
        let stats = self.threads.map_parts(&mut lines.items, pieces.count(), range, TileWindow::new, work)?;
        Ok(EncodeStats::sum(&stats))
    }

    /// All tiles, as `code(window, builder, tile)` makes them.
    fn tiles(
        &self,
        meter: &Meter,
        code: impl Fn(&mut TileWindow<T>, &mut QuantizedTileBuilder, usize) -> Result<QuantizedTile> + Sync,
    ) -> Result<(Vec<QuantizedTile>, EncodeStats)> {
        let mut tiles = memory::defaults::<QuantizedTile>(self.grid.tiles() as usize)?;
        let scratch = || Ok((TileWindow::new()?, QuantizedTileBuilder::new()?));
        let work =
            |(window, builder): &mut (Box<TileWindow<T>>, Box<QuantizedTileBuilder>), tile, out: &mut _| {
                *out = code(window, builder, tile)?;
                meter.add(1);
                Ok(())
            };
        let stats = self
            .threads
            .map_each(&mut tiles, scratch, work, |(window, _)| std::mem::take(&mut window.stats))?;
        Ok((tiles, EncodeStats::sum(&stats)))
    }
}
