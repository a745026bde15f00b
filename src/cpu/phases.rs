//! The CPU backend: the stages over tiles on threads. What is computed does not depend on how the
//! tiles are divided among them.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use super::coding::{decode, decode_all, encode, Body};
use super::compress::{anchor_differences, FrontEnd};
use super::decompress::BackEnd;
use super::statistics::statistics;
use super::Progress;
use crate::entropy::huffman::Lengths;
use crate::entropy::tables::Frequencies;
use crate::error::{Error, Result, Status};
use crate::grid::element::Real;
use crate::grid::field::{View, ViewMut};
use crate::grid::missing::Missing;
use crate::grid::range::relative_bound;
use crate::grid::tiles::{Grid, ANCHOR_LEVEL, TILE};
use crate::grid::wide_range::has_wide_range;
use crate::predict::interpolation::{interpolants, Interpolant};
use crate::predict::lorenzo::{self, Lattices};
use crate::predict::quantizer::{self, Quantizer};
use crate::predict::tuning;
use crate::report::{Report, WARNING_WIDE_RANGE};
use crate::request::{BoundKind, Coder, Predictor, Preserve, Request};
use crate::runtime::log::event;
use crate::runtime::memory;
use crate::runtime::panics;
use crate::runtime::pool::{stateless, Threads};
use crate::stream::container::{self, Content, Header, HEADER_BYTES};
use crate::tile::coding::{QuantizedTile, QuantizedTileBuilder, TileCoding};
use crate::tile::window::{Constraints, EncodeStats, TileWindow};
use crate::tile::{Decoder, Encoder};
use crate::topology::signature::Rule;

/// Tiles in one piece of work.
pub const CHUNK: usize = 16;

/// Counts finished pieces of work for the caller's progress display.
pub(super) struct Meter<'a> {
    progress: Option<Progress<'a>>,
    done: AtomicU64,
    total: u64,
}

impl<'a> Meter<'a> {
    fn new(progress: Option<Progress<'a>>, total: u64) -> Self {
        Meter { progress, done: AtomicU64::new(0), total }
    }
    pub(super) fn add(&self, n: u64) {
        if let Some(report) = self.progress {
            let done = self.done.fetch_add(n, Ordering::Relaxed) + n;
            panics::as_host(|| report(done as f64 / self.total as f64));
        }
    }
}

/// The absolute bound that a request asks for on a field with this range.
fn absolute_bound<T: Real>(kind: BoundKind, bound: f64, range: Option<(T, T)>) -> f64 {
    match (kind, range) {
        (BoundKind::Absolute, _) => bound,
        (BoundKind::Relative, None) => 0.0,
        (BoundKind::Relative, Some((low, high))) => relative_bound(bound, low.to_f64(), high.to_f64()),
    }
}

/// The least value of T that is not below `x`.
fn round_up<T: Real>(x: f64) -> T {
    let r = T::from_f64(x);
    if r.to_f64() < x {
        -((-r).next_down())
    } else {
        r
    }
}

/// The codes of all tiles by the hierarchical predictor.
fn hierarchical<T: Real>(
    grid: Grid,
    views: [View<'_, T>; 2],
    coding: TileCoding,
    constraints: &Constraints<T>,
    half_bin_width: f64,
    threads: Threads,
    meter: &Meter,
) -> Result<(Vec<QuantizedTile>, EncodeStats, tuning::Choice)> {
    let choice = choose(grid, views, constraints.missing, (constraints.bound, half_bin_width), threads)?;
    event!(
        DEBUG,
        "tuned",
        bound = constraints.bound,
        level_bound_scaling = choice.level_bound_scaling,
        interpolants = choice.interpolants
    );
    let quantizer = Quantizer::new(constraints.bound, half_bin_width, choice.level_bound_scaling);
    let interpolants = interpolants(&choice.interpolants);
    let encoder = Encoder { quantizer: &quantizer, interpolants: &interpolants, constraints };
    let front = FrontEnd { grid, views, coding, encoder, threads };
    let (anchors, anchor_stats) = front.anchors()?;
    let (lines, line_stats) = front.lines(&anchors)?;
    let coarse_codes = anchor_differences(grid, &anchors)?;
    let (tiles, tile_stats) = front.tiles(&lines, &coarse_codes, meter)?;
    Ok((tiles, anchor_stats.merge(line_stats).merge(tile_stats), choice))
}

/// The codes of all tiles by the Lorenzo predictor, which has nothing to choose.
fn lorenzo<T: Real>(
    grid: Grid,
    views: [View<'_, T>; 2],
    constraints: &Constraints<T>,
    half_bin_width: f64,
    threads: Threads,
    meter: &Meter,
) -> Result<(Vec<QuantizedTile>, EncodeStats, tuning::Choice)> {
    let lattices = Lattices::new(constraints.bound, half_bin_width);
    let encoder = lorenzo::Encoder { grid, views, lattices: &lattices, constraints };
    let mut all = memory::defaults::<QuantizedTile>(grid.tiles() as usize)?;
    let scratch = || Ok((TileWindow::new()?, QuantizedTileBuilder::new()?));
    let stats = threads.map_chunks(&mut all, CHUNK, scratch, |(window, builder), chunk, out| {
        window.stats = EncodeStats::default();
        for (k, out) in out.iter_mut().enumerate() {
            *out = encoder.tile(window, builder, &grid.tile((chunk * CHUNK + k) as u64))?;
        }
        meter.add(out.len() as u64);
        Ok(window.stats)
    })?;
    Ok((
        all,
        EncodeStats::sum(&stats),
        tuning::Choice { level_bound_scaling: 0, interpolants: [0; ANCHOR_LEVEL] },
    ))
}

pub fn compress<T: Real>(
    request: &Request,
    views: [View<'_, T>; 2],
    dst: &mut [u8],
    threads: Threads,
    progress: Option<Progress<'_>>,
) -> Result<Report> {
    let (config, grid) = (request.config(), request.grid());
    let span = tracing::info_span!("compress", nx = config.nx, ny = config.ny);
    let _entered = span.enter();
    let missing = Missing::new::<T>(config.fill_value);
    let statistics = statistics(grid, views, missing, threads)?;
    let bound = absolute_bound(config.bound_kind, config.bound, statistics.range);
    let largest = statistics.range.map_or(T::ZERO, |(low, high)| low.abs().max(high.abs()));
    let useful = quantizer::useful_bound(bound, largest, config.preserve);
    let half_bin_width = quantizer::half_bin_width(useful, largest);
    let constraints = Constraints {
        mode: config.mode,
        preserve: config.preserve,
        rule: Rule { types: config.preserve == Preserve::Types, dx: config.dx, dy: config.dy },
        bound: useful,
        bound_up: round_up(useful),
        halo: config.halo,
        pin: config.pin,
        missing,
        fill: missing.pattern().or(statistics.fill.map(|f| f.1)),
    };
    let coding = TileCoding::newest(config.predictor, T::BYTES);
    let meter = Meter::new(progress, 2 * grid.tiles());
    let (tiles, stats, choice) = match config.predictor {
        Predictor::Hierarchical => {
            hierarchical(grid, views, coding, &constraints, half_bin_width, threads, &meter)
        }
        Predictor::Lorenzo => lorenzo(grid, views, &constraints, half_bin_width, threads, &meter),
    }?;
    let Body { tables, groups } = match config.coder {
        Coder::Ans => encode::<Frequencies>(grid, coding, &tiles, threads, &meter),
        Coder::Huffman => encode::<Lengths>(grid, coding, &tiles, threads, &meter),
    }?;
    drop(tiles);
    let wide = config.bound_kind == BoundKind::Relative
        && bound > 0.0
        // SAFETY: the views cover the grid.
        && statistics.range.is_some_and(|range| unsafe { has_wide_range(grid, views, missing, range) });
    let mut header = Header {
        version: container::version_of(config.predictor),
        dtype: config.dtype,
        mode: config.mode,
        coder: config.coder,
        predictor: config.predictor,
        preserve: config.preserve,
        bound_kind: config.bound_kind,
        content: Content::Coded,
        group_log2: 0,
        groups: groups.len() as u64,
        taper: choice.level_bound_scaling,
        kernels: choice.interpolants,
        nx: config.nx,
        ny: config.ny,
        bound: config.bound,
        absolute_bound: bound,
        quantum: half_bin_width,
        dx: config.dx,
        dy: config.dy,
        has_fill: missing.has_fill(),
        fill: constraints.fill.unwrap_or([0; 2]),
        stream_bytes: 0,
        table_bytes: tables.len() as u32,
    };
    let coded =
        (HEADER_BYTES + tables.len()) as u64 + groups.iter().map(|(_, g)| 4 + g.len() as u64).sum::<u64>();
    header.stream_bytes = coded.min(container::max_stream_bytes(request.field_bytes()));
    let mut report = Report {
        stream_bytes: header.stream_bytes,
        required_bytes: header.stream_bytes,
        exact_vertices: stats.exact,
        nonfinite_vertices: statistics.nonfinite,
        zero_vertices: statistics.zero,
        filled_vertices: statistics.filled,
        warnings: if wide { WARNING_WIDE_RANGE } else { 0 },
        critical_points: stats.critical,
        bound,
        max_error: stats.max_error,
        ..Report::default()
    };
    if header.stream_bytes > dst.len() as u64 {
        report.status = Status::BufferTooSmall;
        report.stream_bytes = 0;
        report.log_warnings();
        return Ok(report);
    }
    let stream = &mut dst[..header.stream_bytes as usize];
    if coded <= header.stream_bytes {
        let mut at = 0;
        let mut put = |bytes: &[u8]| {
            stream[at..at + bytes.len()].copy_from_slice(bytes);
            at += bytes.len();
        };
        put(&header.write());
        put(&tables);
        for (tiles, bytes) in &groups {
            put(&container::group_word(*tiles, bytes.len()).to_le_bytes());
        }
        for (_, bytes) in &groups {
            put(bytes);
        }
    } else {
        header.content = Content::Stored;
        header.table_bytes = 0;
        header.groups = 0;
        stream[..HEADER_BYTES].copy_from_slice(&header.write());
        store(grid, views, &mut stream[HEADER_BYTES..], threads)?;
        report.exact_vertices = grid.vertices();
        report.max_error = 0.0;
    }
    container::seal(stream);
    event!(INFO, "compressed", bytes = header.stream_bytes, exact = report.exact_vertices);
    report.log_warnings();
    Ok(report)
}

/// Codes the sample of tiles and decides.
fn choose<T: Real>(
    grid: Grid,
    views: [View<'_, T>; 2],
    missing: Missing,
    widths: (f64, f64),
    threads: Threads,
) -> Result<tuning::Choice> {
    let samples = grid.tiles().min(tuning::SAMPLES);
    let scratch = || Ok([TileWindow::new()?, TileWindow::new()?]);
    let counts = threads.map(samples as usize, scratch, |scratch, k| {
        let mut counts = tuning::Counts::default();
        let shape = grid.tile(tuning::sample(grid, k as u64));
        // SAFETY: the tile lies inside the grid.
        unsafe { tuning::count_tile(grid, views, shape, missing, widths, scratch, &mut counts) };
        Ok(counts)
    })?;
    Ok(tuning::decide(&tuning::sum(&counts), samples))
}

/// The field as it is: u, then v, dense.
fn store<T: Real>(grid: Grid, views: [View<'_, T>; 2], out: &mut [u8], threads: Threads) -> Result<()> {
    let row = grid.nx as usize * T::BYTES;
    let rows = rows_of_a_piece(grid);
    for (view, out) in views.iter().zip(out.chunks_mut(grid.ny as usize * row)) {
        threads.map_chunks(out, rows * row, stateless, |_, piece, out| {
            for (k, out) in out.chunks_exact_mut(T::BYTES).enumerate() {
                let (x, y) = (k as u64 % grid.nx, (piece * rows) as u64 + k as u64 / grid.nx);
                // SAFETY: (x, y) is a vertex of the grid.
                let bits = unsafe { view.get(x as i64, y as i64) }.to_bits64();
                out.copy_from_slice(&bits.to_le_bytes()[..T::BYTES]);
            }
            Ok(())
        })?;
    }
    Ok(())
}

fn read_stored<T: Real>(
    grid: Grid,
    bytes: &[u8],
    outputs: &[ViewMut<'_, T>; 2],
    threads: Threads,
) -> Result<()> {
    let row = grid.nx as usize * T::BYTES;
    let rows = rows_of_a_piece(grid);
    for (view, bytes) in outputs.iter().zip(bytes.chunks(grid.ny as usize * row)) {
        threads.for_each((grid.ny as usize).div_ceil(rows), stateless, |_, piece| {
            let bytes = &bytes[piece * rows * row..];
            let bytes = &bytes[..bytes.len().min(rows * row)];
            for (k, b) in bytes.chunks_exact(T::BYTES).enumerate() {
                let (x, y) = (k as u64 % grid.nx, (piece * rows) as u64 + k as u64 / grid.nx);
                let mut bits = [0; 8];
                bits[..T::BYTES].copy_from_slice(b);
                // SAFETY: (x, y) is a vertex of the grid, written by this thread alone.
                unsafe { view.set(x, y, T::from_bits64(u64::from_le_bytes(bits))) };
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// Rows that make a piece of work of a few thousand vertices.
fn rows_of_a_piece(grid: Grid) -> usize {
    ((1 << 14) / grid.nx).max(1) as usize
}

pub fn decompress<T: Real>(
    header: &Header,
    stream: &[u8],
    outputs: &[ViewMut<'_, T>; 2],
    threads: Threads,
    progress: Option<Progress<'_>>,
) -> Result<Report> {
    let grid = header.grid();
    let span = tracing::info_span!("decompress", nx = header.nx, ny = header.ny);
    let _entered = span.enter();
    let mut report = Report {
        stream_bytes: header.stream_bytes,
        required_bytes: header.stream_bytes,
        bound: header.absolute_bound,
        ..Report::default()
    };
    if header.content == Content::Stored {
        let bytes = &stream[HEADER_BYTES..];
        if bytes.len() as u64 != header.field_bytes() {
            return Err(Error::corrupt(format!(
                "the stream stores {} bytes of values, its field has {}",
                bytes.len(),
                header.field_bytes()
            )));
        }
        read_stored(grid, bytes, outputs, threads)?;
        report.exact_vertices = grid.vertices();
        return Ok(report);
    }
    let meter = Meter::new(progress, 2 * grid.tiles());
    let coding = TileCoding::new(header.version, header.predictor, T::BYTES);
    let fill = header.fill.map(T::from_bits64);
    match header.predictor {
        Predictor::Hierarchical => {
            let tiles = decode_all(header, coding, stream, threads, &meter)?;
            let stored = threads.map(tiles.len().div_ceil(CHUNK), stateless, |_, chunk| {
                let end = tiles.len().min((chunk + 1) * CHUNK);
                Ok(tiles[chunk * CHUNK..end].iter().map(QuantizedTile::stored).sum::<u64>())
            })?;
            report.exact_vertices = stored.iter().sum();
            let quantizer = Quantizer::new(header.absolute_bound, header.quantum, header.taper);
            let interpolants: [Interpolant<T>; ANCHOR_LEVEL] = interpolants(&header.kernels);
            let decoder = Decoder { quantizer: &quantizer, interpolants: &interpolants };
            let missing = header.missing();
            let back = BackEnd { grid, coding, tiles: &tiles, decoder, missing, fill, threads };
            let lines = back.lines(&back.anchors()?)?;
            back.tiles(&lines, outputs, &meter)?;
        }
        Predictor::Lorenzo => {
            let lattices = Lattices::new(header.absolute_bound, header.quantum);
            let decoder = lorenzo::Decoder { lattices: &lattices, coding, fill };
            let [out_u, out_v] = outputs;
            // Tiles know nothing of each other: their codes are used while they are at hand.
            let each = |tiles: Range<u64>, codes: Vec<QuantizedTile>| {
                for (tile, codes) in tiles.zip(&codes) {
                    let shape = grid.tile(tile);
                    decoder.tile(codes, &shape, |y, u, v| {
                        // The tile to the right comes next.
                        let next = shape.x0 + TILE as u64;
                        out_u.prefetch_row(next, shape.y0 + y as u64, TILE);
                        out_v.prefetch_row(next, shape.y0 + y as u64, TILE);
                        // SAFETY: the row belongs to this tile alone.
                        unsafe {
                            out_u.write_row(shape.x0, shape.y0 + y as u64, u);
                            out_v.write_row(shape.x0, shape.y0 + y as u64, v);
                        }
                    });
                }
                meter.add(codes.len() as u64);
                codes.iter().map(QuantizedTile::stored).sum::<u64>()
            };
            let stored = match header.coder {
                Coder::Ans => decode::<Frequencies, _>(header, coding, stream, threads, &meter, each),
                Coder::Huffman => decode::<Lengths, _>(header, coding, stream, threads, &meter, each),
            }?;
            report.exact_vertices = stored.iter().sum();
        }
    }
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{Config, Dtype, Mode};

    /// Large values lie on the heap: the threads of the pool have small stacks, and those of hosts may have.
    #[test]
    fn many_threads_need_little_stack() {
        const STACK_BYTES: usize = 256 << 10;
        fn round_trips<T: Real>(dtype: Dtype) {
            let (nx, ny) = (1500u64, 1300u64);
            let wave = |a: f64, b: f64| -> Vec<T> {
                let at = |k: u64| (a * (k % nx) as f64).sin() + (b * (k / nx) as f64).cos();
                (0..nx * ny).map(|k| T::from_f64(at(k))).collect()
            };
            let (u, v) = (wave(0.021, 0.034), wave(0.043, 0.017));
            let threads = Threads::new(64);
            let hierarchical = Config { dtype, ..Config::new(nx, ny, BoundKind::Relative, 1e-3) };
            let speculative = Config { mode: Mode::Speculative, ..hierarchical };
            let lorenzo = Config { predictor: Predictor::Lorenzo, ..hierarchical };
            for config in [hierarchical, speculative, lorenzo] {
                let request = Request::new(config).expect("valid");
                let mut stream = vec![0; container::max_stream_bytes(request.field_bytes()) as usize];
                let (mut u_out, mut v_out) = (u.clone(), v.clone());
                for _ in 0..5 {
                    let views = [View::dense(&u, nx), View::dense(&v, nx)];
                    let report = compress(&request, views, &mut stream, threads, None).expect("valid");
                    let stream = &stream[..report.stream_bytes as usize];
                    let header = Header::read(stream).expect("intact");
                    let outputs = [ViewMut::dense(&mut u_out, nx), ViewMut::dense(&mut v_out, nx)];
                    decompress(&header, stream, &outputs, threads, None).expect("intact");
                }
            }
        }
        let caller = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(|| {
            round_trips::<f32>(Dtype::F32);
            round_trips::<f64>(Dtype::F64);
        });
        caller.expect("a thread").join().expect("no overflow");
    }
}
