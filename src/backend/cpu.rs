//! The CPU backend: the stages over tiles on threads. What is computed does not depend on how the
//! tiles are divided among them.

mod back_end;
mod front_end;

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::prelude::*;

use self::back_end::BackEnd;
use self::front_end::{anchor_differences, FrontEnd};
use super::Progress;
use crate::error::{Error, Result, Status};
use crate::field::{View, ViewMut};
use crate::geometry::{Grid, ANCHOR_LEVEL, TILE};
use crate::real::Real;
use crate::report::Report;
use crate::request::{BoundKind, Coder, Predictor, Preserve, Request};
use crate::stage::codes::{Builder, Scheme, TileCodes};
use crate::stage::container::{self, Content, Header, HEADER_BYTES};
use crate::stage::entropy::huffman::Lengths;
use crate::stage::entropy::list::{Entries, Lists};
use crate::stage::entropy::table::{zero_counts, Counts, Frequencies};
use crate::stage::entropy::{group, Model};
use crate::stage::lorenzo::{self, Lattices};
use crate::stage::predict::{kernels, Kernel};
use crate::stage::quantize::{self, Quantizer};
use crate::stage::signature::Rule;
use crate::stage::tile::{Constraints, Decoder, Encoder, Patch, Tally};
use crate::stage::tune;

/// Tiles in one piece of work.
pub const CHUNK: usize = 16;
/// A group of tiles is made large enough that its coder states are a small part of it.
const GROUP_BYTES: u64 = 1024;
/// No limit of the weight of groups is lower; it is more than a tile can weigh.
const LEAST_GROUP_WEIGHT: u64 = 1600;
/// No limit is higher: what is added up of all tiles of the largest field fits 64 bits.
const MOST_GROUP_WEIGHT: u64 = 1 << 28;

/// Counts finished pieces of work for the caller's progress display.
struct Meter<'a> {
    progress: Option<Progress<'a>>,
    done: AtomicU64,
    total: u64,
}

impl<'a> Meter<'a> {
    fn new(progress: Option<Progress<'a>>, total: u64) -> Self {
        Meter { progress, done: AtomicU64::new(0), total }
    }
    fn add(&self, n: u64) {
        if let Some(report) = self.progress {
            let done = self.done.fetch_add(n, Ordering::Relaxed) + n;
            report(done as f64 / self.total as f64);
        }
    }
}

/// What one pass over the field finds.
#[derive(Clone, Copy)]
struct Statistics<T> {
    range: Option<(T, T)>,
    zero: u64,
    nonfinite: u64,
    /// Row-major index and bits of the first vertex that is not finite.
    fill: Option<(u64, [u64; 2])>,
}

impl<T: Real> Statistics<T> {
    fn merge(self, other: Self) -> Self {
        let range = match (self.range, other.range) {
            (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
            (a, b) => a.or(b),
        };
        let fill = match (self.fill, other.fill) {
            (Some(a), Some(b)) => Some(if b.0 < a.0 { b } else { a }),
            (a, b) => a.or(b),
        };
        Statistics { range, zero: self.zero + other.zero, nonfinite: self.nonfinite + other.nonfinite, fill }
    }
}

/// Vertices that are looked at together, and the parts that they are divided into, written so that the compiler can
/// use vector instructions.
const PIECE: usize = 64;
const PARTS: usize = 4;
const PART: usize = PIECE / PARTS;

/// The smallest and the largest of finite values, by place in a part.
struct Extremes<T> {
    low: [T; PART],
    high: [T; PART],
}

impl<T: Real> Extremes<T> {
    fn new() -> Self {
        Extremes { low: [T::from_f64(f64::INFINITY); PART], high: [T::from_f64(f64::NEG_INFINITY); PART] }
    }
    /// Adds values that are all finite.
    #[inline(always)]
    fn add(&mut self, values: &[T; PIECE]) {
        for i in 0..PART {
            let (mut low, mut high) = (self.low[i], self.high[i]);
            for k in 0..PARTS {
                let x = values[k * PART + i];
                (low, high) = (low.min(x), high.max(x));
            }
            (self.low[i], self.high[i]) = (low, high);
        }
    }
    fn add_finite(&mut self, value: T) {
        if value.is_finite() {
            (self.low[0], self.high[0]) = (self.low[0].min(value), self.high[0].max(value));
        }
    }
    /// None if there were no values.
    fn range(&self) -> Option<(T, T)> {
        let low = self.low.iter().fold(self.low[0], |low, &x| low.min(x));
        let high = self.high.iter().fold(self.high[0], |high, &x| high.max(x));
        (low <= high).then_some((low, high))
    }
}

/// Whether all values are finite; false as well where a sum of them is not.
#[inline(always)]
fn all_finite<T: Real>(values: &[T; PIECE]) -> bool {
    let mut not = 0;
    for i in 0..PART {
        let sum = (1..PARTS).fold(values[i], |sum, k| sum + values[k * PART + i]);
        not |= !sum.is_finite() as u32;
    }
    not == 0
}

/// How many vertices have u = v = 0.
#[inline(always)]
fn zeros<T: Real>(u: &[T; PIECE], v: &[T; PIECE]) -> u64 {
    let zero = u.iter().zip(v).map(|(&u, &v)| ((u == T::ZERO) & (v == T::ZERO)) as u32);
    zero.sum::<u32>() as u64
}

fn statistics<T: Real>(grid: Grid, [u, v]: [View<'_, T>; 2]) -> Statistics<T> {
    const SPAN: u64 = 1 << 14;
    let spans = grid.nx.div_ceil(SPAN);
    let none = Statistics { range: None, zero: 0, nonfinite: 0, fill: None };
    (0..(grid.ny * spans) as usize)
        .into_par_iter()
        .with_min_len((SPAN / grid.nx.min(SPAN)) as usize)
        .map(|k| {
            let (y, x0) = (k as u64 / spans, k as u64 % spans * SPAN);
            let mut s = none;
            let mut values = [[T::ZERO; PIECE]; 2];
            let [a, b] = &mut values;
            let mut extremes = Extremes::new();
            for x in (x0..grid.nx.min(x0 + SPAN)).step_by(PIECE) {
                let n = (grid.nx - x).min(PIECE as u64) as usize;
                // SAFETY: these are vertices of the grid.
                unsafe {
                    u.read_row(x as i64, y as i64, &mut a[..n]);
                    v.read_row(x as i64, y as i64, &mut b[..n]);
                }
                if n == PIECE && all_finite(a) & all_finite(b) {
                    extremes.add(a);
                    extremes.add(b);
                    s.zero += zeros(a, b);
                } else {
                    for (k, (&a, &b)) in a[..n].iter().zip(&b[..n]).enumerate() {
                        extremes.add_finite(a);
                        extremes.add_finite(b);
                        s.zero += (a == T::ZERO && b == T::ZERO) as u64;
                        if !(a.is_finite() && b.is_finite()) {
                            s.nonfinite += 1;
                            s.fill
                                .get_or_insert((y * grid.nx + x + k as u64, [a.to_bits64(), b.to_bits64()]));
                        }
                    }
                }
            }
            s.range = extremes.range();
            s
        })
        .reduce(|| none, Statistics::merge)
}

/// The absolute bound that a request asks for on a field with this range.
fn absolute_bound<T: Real>(kind: BoundKind, bound: f64, range: Option<(T, T)>) -> f64 {
    match (kind, range) {
        (BoundKind::Absolute, _) => bound,
        (BoundKind::Relative, None) => 0.0,
        (BoundKind::Relative, Some((low, high))) => {
            let (low, high) = (low.to_f64(), high.to_f64());
            let product = bound * (high - low);
            if product.is_finite() {
                product
            } else {
                // The range itself overflows.
                (bound * high - bound * low).min(f64::MAX)
            }
        }
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

/// What there is to code.
struct Counted {
    counts: Box<Counts>,
    raw_bits: u64,
    weights: Vec<u16>,
    /// Sparse lists, those of `piece` tiles together.
    lists: Vec<Lists>,
    piece: usize,
}

impl Counted {
    /// The sparse lists of a tile.
    fn entries(&self, tile: usize) -> Entries<'_> {
        self.lists[tile / self.piece].tile(tile % self.piece)
    }
}

fn count(grid: Grid, scheme: Scheme, tiles: &[TileCodes]) -> Counted {
    let piece = tiles.len().div_ceil(4 * rayon::current_num_threads()).max(CHUNK);
    let mut weights = vec![0; tiles.len()];
    let (counts, raw_bits, lists) = tiles
        .par_chunks(piece)
        .zip(weights.par_chunks_mut(piece))
        .enumerate()
        .map(|(k, (tiles, weights))| {
            let (mut counts, mut raw, mut lists) = (zero_counts(), 0, Lists::default());
            for (i, (codes, weight)) in tiles.iter().zip(weights).enumerate() {
                let shape = grid.tile((k * piece + i) as u64);
                let work = group::count(scheme, &shape, codes, &mut counts, &mut lists);
                raw += work.raw_bits;
                *weight = work.weight;
            }
            (counts, raw, vec![lists])
        })
        .reduce(
            || (zero_counts(), 0, Vec::new()),
            |(mut a, ra, mut la), (b, rb, lb)| {
                for (a, b) in a.iter_mut().flatten().zip(b.iter().flatten()) {
                    *a += b;
                }
                la.extend(lb);
                (a, ra + rb, la)
            },
        );
    Counted { counts, raw_bits, weights, lists, piece }
}

/// The weight that groups get to be of about [`GROUP_BYTES`] each, where tiles of this weight in all take about
/// so many bytes; and what each tile adds to its own, so that no group has more than 255 tiles.
fn group_weight(total: u64, bytes: u64) -> (u64, u64) {
    let limit = (total * GROUP_BYTES / bytes.max(1)).clamp(LEAST_GROUP_WEIGHT, MOST_GROUP_WEIGHT);
    (limit, limit / 255 + 1)
}

/// Groups of about equal work: the time that a GPU takes is that of the longest group.
fn groups(weights: &[u16], bytes: u64) -> Vec<Range<usize>> {
    let (limit, each) = group_weight(weights.iter().map(|&w| w as u64).sum(), bytes);
    let mut groups: Vec<Range<usize>> = Vec::new();
    let mut before = 0;
    for (tile, &weight) in weights.iter().enumerate() {
        if groups.len() as u64 == before / limit {
            groups.push(tile..tile);
        }
        groups.last_mut().expect("the first tile begins a group").end = tile + 1;
        before += weight as u64 + each;
    }
    groups
}

/// The tables and the groups of a coded field: number of tiles and bytes.
struct Body {
    tables: Vec<u8>,
    groups: Vec<(u64, Vec<u8>)>,
}

fn encode<M: Model>(grid: Grid, scheme: Scheme, tiles: &[TileCodes], meter: &Meter) -> Body {
    let counted = count(grid, scheme, tiles);
    let models: Vec<M> = counted.counts.iter().map(M::from_counts).collect();
    let cost: u64 = models.iter().zip(counted.counts.iter()).map(|(m, c)| m.cost(c)).sum();
    let tables = group::encode_tables(&models);
    let groups = groups(&counted.weights, ((cost >> 8) + counted.raw_bits) / 8)
        .into_par_iter()
        .map(|group| {
            let numbered: Vec<_> =
                group.clone().map(|t| (grid.tile(t as u64), &tiles[t], counted.entries(t))).collect();
            let mut out = Vec::new();
            group::encode::<M>(scheme, &numbered, &tables, &mut out);
            meter.add(group.len() as u64);
            (group.len() as u64, out)
        })
        .collect();
    Body { tables: container::write_tables(&models), groups }
}

/// The codes of all tiles by the hierarchical predictor.
fn hierarchical<T: Real>(
    grid: Grid,
    views: [View<'_, T>; 2],
    scheme: Scheme,
    constraints: &Constraints<T>,
    quantum: f64,
    meter: &Meter,
) -> (Vec<TileCodes>, Tally, tune::Choice) {
    let choice = choose(grid, views, constraints.bound, quantum);
    tracing::debug!(bound = constraints.bound, taper = choice.taper, kernels = ?choice.kernels, "tuned");
    let quantizer = Quantizer::new(constraints.bound, quantum, choice.taper);
    let kernels = kernels(&choice.kernels);
    let encoder = Encoder { quantizer: &quantizer, kernels: &kernels, constraints };
    let front = FrontEnd { grid, views, scheme, encoder };
    let (anchors, anchor_tally) = front.anchors();
    let (lines, line_tally) = front.lines(&anchors);
    let bases = anchor_differences(grid, &anchors);
    let (tiles, tile_tally) = front.tiles(&lines, &bases, meter);
    (tiles, anchor_tally.merge(line_tally).merge(tile_tally), choice)
}

/// The codes of all tiles by the Lorenzo predictor, which has nothing to choose.
fn lorenzo<T: Real>(
    grid: Grid,
    views: [View<'_, T>; 2],
    constraints: &Constraints<T>,
    quantum: f64,
    meter: &Meter,
) -> (Vec<TileCodes>, Tally, tune::Choice) {
    let lattices = Lattices::new(constraints.bound, quantum);
    let encoder = lorenzo::Encoder { grid, views, lattices: &lattices, constraints };
    let mut all = vec![TileCodes::default(); grid.tiles() as usize];
    let tally = all
        .par_chunks_mut(CHUNK)
        .enumerate()
        .map_init(
            || (Patch::new(), Builder::new()),
            |(patch, builder), (chunk, out)| {
                patch.tally = Tally::default();
                for (k, out) in out.iter_mut().enumerate() {
                    *out = encoder.tile(patch, builder, &grid.tile((chunk * CHUNK + k) as u64));
                }
                meter.add(out.len() as u64);
                patch.tally
            },
        )
        .reduce(Tally::default, Tally::merge);
    (all, tally, tune::Choice { taper: 0, kernels: [0; ANCHOR_LEVEL] })
}

pub fn compress<T: Real>(
    request: &Request,
    views: [View<'_, T>; 2],
    dst: &mut [u8],
    progress: Option<Progress<'_>>,
) -> Result<Report> {
    let (config, grid) = (request.config(), request.grid());
    let span = tracing::info_span!("compress", nx = config.nx, ny = config.ny);
    let _entered = span.enter();
    let statistics = statistics(grid, views);
    let bound = absolute_bound(config.bound_kind, config.bound, statistics.range);
    let largest = statistics.range.map_or(T::ZERO, |(low, high)| low.abs().max(high.abs()));
    let quantum = quantize::quantum(bound, largest);
    let constraints = Constraints {
        mode: config.mode,
        preserve: config.preserve,
        rule: Rule { types: config.preserve == Preserve::Types, dx: config.dx, dy: config.dy },
        bound,
        bound_up: round_up(bound),
        halo: config.halo,
        pin: config.pin,
        fill: statistics.fill.map(|f| f.1),
    };
    let scheme = Scheme { predictor: config.predictor, element_bytes: T::BYTES };
    let meter = Meter::new(progress, 2 * grid.tiles());
    let (tiles, tally, choice) = match config.predictor {
        Predictor::Hierarchical => hierarchical(grid, views, scheme, &constraints, quantum, &meter),
        Predictor::Lorenzo => lorenzo(grid, views, &constraints, quantum, &meter),
    };
    let Body { tables, groups } = match config.coder {
        Coder::Ans => encode::<Frequencies>(grid, scheme, &tiles, &meter),
        Coder::Huffman => encode::<Lengths>(grid, scheme, &tiles, &meter),
    };
    drop(tiles);
    let mut header = Header {
        version: container::VERSION,
        dtype: config.dtype,
        mode: config.mode,
        coder: config.coder,
        predictor: config.predictor,
        preserve: config.preserve,
        bound_kind: config.bound_kind,
        content: Content::Coded,
        group_log2: 0,
        groups: groups.len() as u64,
        taper: choice.taper,
        kernels: choice.kernels,
        nx: config.nx,
        ny: config.ny,
        bound: config.bound,
        absolute_bound: bound,
        quantum,
        dx: config.dx,
        dy: config.dy,
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
        exact_vertices: tally.exact,
        nonfinite_vertices: statistics.nonfinite,
        zero_vertices: statistics.zero,
        critical_points: tally.critical,
        bound,
        max_error: tally.max_error,
        ..Report::default()
    };
    if header.stream_bytes > dst.len() as u64 {
        report.status = Status::BufferTooSmall;
        report.stream_bytes = 0;
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
        store(grid, views, &mut stream[HEADER_BYTES..]);
        report.exact_vertices = grid.vertices();
        report.max_error = 0.0;
    }
    container::seal(stream);
    tracing::info!(bytes = header.stream_bytes, exact = report.exact_vertices, "compressed");
    Ok(report)
}

/// Codes the sample of tiles and decides.
fn choose<T: Real>(grid: Grid, views: [View<'_, T>; 2], bound: f64, quantum: f64) -> tune::Choice {
    let samples = grid.tiles().min(tune::SAMPLES);
    let counts = (0..samples)
        .into_par_iter()
        .map(|k| {
            let mut counts = tune::Counts::default();
            let shape = grid.tile(tune::sample(grid, k));
            // SAFETY: the tile lies inside the grid.
            unsafe { tune::count_tile(grid, views, shape, bound, quantum, &mut counts) };
            counts
        })
        .reduce(tune::Counts::default, |mut a, b| {
            for (a, b) in a.iter_mut().flatten().flatten().zip(b.iter().flatten().flatten()) {
                a.vertices += b.vertices;
                a.nonzero += b.nonzero;
                a.bits += b.bits;
            }
            a
        });
    tune::decide(&counts, samples)
}

/// The field as it is: u, then v, dense.
fn store<T: Real>(grid: Grid, views: [View<'_, T>; 2], out: &mut [u8]) {
    let row = grid.nx as usize * T::BYTES;
    for (view, out) in views.iter().zip(out.chunks_mut(grid.ny as usize * row)) {
        out.par_chunks_mut(row).enumerate().for_each(|(y, out)| {
            for (x, out) in out.chunks_exact_mut(T::BYTES).enumerate() {
                // SAFETY: (x, y) is a vertex of the grid.
                let bits = unsafe { view.get(x as i64, y as i64) }.to_bits64();
                out.copy_from_slice(&bits.to_le_bytes()[..T::BYTES]);
            }
        });
    }
}

fn read_stored<T: Real>(grid: Grid, bytes: &[u8], outputs: [ViewMut<'_, T>; 2]) {
    let row = grid.nx as usize * T::BYTES;
    for (view, bytes) in outputs.iter().zip(bytes.chunks(grid.ny as usize * row)) {
        bytes.par_chunks(row).enumerate().for_each(|(y, bytes)| {
            for (x, b) in bytes.chunks_exact(T::BYTES).enumerate() {
                let mut bits = [0; 8];
                bits[..T::BYTES].copy_from_slice(b);
                // SAFETY: (x, y) is a vertex of the grid, written by this thread alone.
                unsafe { view.set(x as u64, y as u64, T::from_bits64(u64::from_le_bytes(bits))) };
            }
        });
    }
}

/// Decodes all groups, and gives what `each` makes of a group's tiles and their codes.
fn decode<M: Model, R: Send>(
    header: &Header,
    scheme: Scheme,
    stream: &[u8],
    meter: &Meter,
    each: impl Fn(Range<u64>, Vec<TileCodes>) -> R + Sync,
) -> Result<Vec<R>> {
    let grid = header.grid();
    let parts = container::split::<M>(header, stream)?;
    let tables = group::decode_tables(&parts.models);
    let decode = if header.version == 1 { group::decode_v1::<M> } else { group::decode::<M> };
    let decoded: Option<Vec<R>> = parts
        .groups
        .par_iter()
        .map(|group| {
            let shapes: Vec<_> = group.tiles.clone().map(|t| grid.tile(t)).collect();
            let codes = decode(scheme, group.bytes, &shapes, &tables)?;
            meter.add(shapes.len() as u64);
            Some(each(group.tiles.clone(), codes))
        })
        .collect();
    decoded.ok_or_else(|| Error::corrupt("a group of tiles does not decode to an end: the stream is damaged"))
}

/// The codes of all tiles.
fn decode_all(header: &Header, scheme: Scheme, stream: &[u8], meter: &Meter) -> Result<Vec<TileCodes>> {
    let each = |_, codes| codes;
    let groups: Vec<Vec<TileCodes>> = match header.coder {
        Coder::Ans => decode::<Frequencies, _>(header, scheme, stream, meter, each),
        Coder::Huffman => decode::<Lengths, _>(header, scheme, stream, meter, each),
    }?;
    Ok(groups.into_iter().flatten().collect())
}

pub fn decompress<T: Real>(
    header: &Header,
    stream: &[u8],
    outputs: [ViewMut<'_, T>; 2],
    progress: Option<Progress<'_>>,
) -> Result<Report> {
    let grid = header.grid();
    let span = tracing::info_span!("decompress", nx = header.nx, ny = header.ny);
    let _entered = span.enter();
    let mut report = Report {
        stream_bytes: header.stream_bytes,
        required_bytes: header.field_bytes(),
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
        read_stored(grid, bytes, outputs);
        report.exact_vertices = grid.vertices();
        return Ok(report);
    }
    let meter = Meter::new(progress, 2 * grid.tiles());
    let scheme = Scheme { predictor: header.predictor, element_bytes: T::BYTES };
    let fill = header.fill.map(T::from_bits64);
    match header.predictor {
        Predictor::Hierarchical => {
            let tiles = decode_all(header, scheme, stream, &meter)?;
            report.exact_vertices = tiles.par_iter().with_min_len(CHUNK).map(TileCodes::stored).sum();
            let quantizer = Quantizer::new(header.absolute_bound, header.quantum, header.taper);
            let kernels: [Kernel<T>; ANCHOR_LEVEL] = kernels(&header.kernels);
            let decoder = Decoder { quantizer: &quantizer, kernels: &kernels };
            let back = BackEnd { grid, scheme, tiles: &tiles, decoder, fill };
            let lines = back.lines(&back.anchors());
            back.tiles(&lines, outputs, &meter);
        }
        Predictor::Lorenzo => {
            let lattices = Lattices::new(header.absolute_bound, header.quantum);
            let decoder = lorenzo::Decoder { lattices: &lattices, fill };
            let [out_u, out_v] = outputs;
            // Tiles know nothing of each other: their codes are used while they are at hand.
            let each = |tiles: Range<u64>, codes: Vec<TileCodes>| {
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
                codes.iter().map(TileCodes::stored).sum::<u64>()
            };
            let stored = match header.coder {
                Coder::Ans => decode::<Frequencies, _>(header, scheme, stream, &meter, each),
                Coder::Huffman => decode::<Lengths, _>(header, scheme, stream, &meter, each),
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

    /// The most that `group::count` says of a tile: all lists dense, and 128 entries in each mask.
    const HEAVIEST: u16 = 1540;

    fn check_groups(weights: &[u16], bytes: u64) -> Vec<usize> {
        let groups = groups(weights, bytes);
        let what = || format!("{} tiles, {bytes} bytes", weights.len());
        let mut next = 0;
        for group in &groups {
            assert_eq!(group.start, next, "{}", what());
            assert!((1..=255).contains(&group.len()), "{}: {group:?}", what());
            next = group.end;
        }
        assert_eq!(next, weights.len(), "{}", what());
        // As a device finds the number of groups and the first tile of each.
        let (limit, each) = group_weight(weights.iter().map(|&w| w as u64).sum(), bytes);
        let mut before = 0;
        for (tile, &weight) in weights.iter().enumerate() {
            assert!(groups[(before / limit) as usize].contains(&tile), "{}: tile {tile}", what());
            before += weight as u64 + each;
        }
        groups.iter().map(|g| g.len()).collect()
    }

    #[test]
    fn groups_take_all_tiles_in_order() {
        let mut state = 1u64;
        let mut random = move |n: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % n
        };
        let everything = [0, 1, 2, 100, 1 << 10, 1 << 20, 1 << 30, 1 << 40, 1 << 53, u64::MAX];
        for tiles in [1, 2, 31, 32, 33, 254, 255, 256, 257, 510, 511, 5000] {
            for most in [1, 2, 50, 800, HEAVIEST as u64 + 1] {
                let arbitrary: Vec<u16> = (0..tiles).map(|_| random(most) as u16).collect();
                let steep: Vec<u16> =
                    (0..tiles).map(|t| if t % 300 < 299 { 4 } else { most as u16 - 1 }).collect();
                for bytes in everything {
                    check_groups(&arbitrary, bytes);
                    check_groups(&steep, bytes);
                    check_groups(&vec![most as u16 - 1; tiles], bytes);
                }
            }
        }
    }

    #[test]
    fn groups_are_of_about_equal_weight() {
        // Tiles that take nothing are limited by their number alone, the heaviest by their weight.
        assert_eq!(check_groups(&[4; 600], 0), [255, 255, 90]);
        assert_eq!(check_groups(&[HEAVIEST; 3], u64::MAX), [2, 1]);
        // 16 bytes a tile: 64 of them, less what a tile adds to its weight.
        let sizes = check_groups(&[100; 1000], 16_000);
        assert!(sizes[..sizes.len() - 1].iter().all(|n| (50..=52).contains(n)), "{sizes:?}");
        // Where the weight is, there are more groups.
        let mut mixed = vec![10; 1000];
        mixed[500..].fill(190);
        let sizes = check_groups(&mixed, 16_000);
        assert!(sizes[0] > 3 * sizes[sizes.len() - 2], "{sizes:?}");
    }

    /// A thread that waits takes up other work meanwhile: what lies on the stack for each tile lies there many
    /// times over.
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
            let pool = rayon::ThreadPoolBuilder::new().num_threads(64).stack_size(STACK_BYTES).build();
            let pool = pool.expect("threads");
            let hierarchical = Config { dtype, ..Config::new(nx, ny, BoundKind::Relative, 1e-3) };
            let speculative = Config { mode: Mode::Speculative, ..hierarchical };
            let lorenzo = Config { predictor: Predictor::Lorenzo, ..hierarchical };
            for config in [hierarchical, speculative, lorenzo] {
                let request = Request::new(config).expect("valid");
                let mut stream = vec![0; container::max_stream_bytes(request.field_bytes()) as usize];
                let (mut u_out, mut v_out) = (u.clone(), v.clone());
                for _ in 0..5 {
                    let views = [View::dense(&u, nx), View::dense(&v, nx)];
                    let report =
                        pool.install(|| compress(&request, views, &mut stream, None)).expect("valid");
                    let stream = &stream[..report.stream_bytes as usize];
                    let header = Header::read(stream).expect("intact");
                    let outputs = [ViewMut::dense(&mut u_out, nx), ViewMut::dense(&mut v_out, nx)];
                    pool.install(|| decompress(&header, stream, outputs, None)).expect("intact");
                }
            }
        }
        round_trips::<f32>(Dtype::F32);
        round_trips::<f64>(Dtype::F64);
    }

    /// Nothing overflows for the largest field, of 2^43 tiles of 32 vertices.
    #[test]
    fn weights_of_the_largest_field_fit() {
        let tiles = Grid::new(1 << 48, 1).tiles();
        assert_eq!(tiles, 1 << 43);
        let total = tiles * HEAVIEST as u64;
        assert!(total.checked_mul(GROUP_BYTES).is_some());
        for bytes in [0, 1, tiles, 1 << 53, u64::MAX] {
            for total in [tiles, 4 * tiles, total] {
                let (limit, each) = group_weight(total, bytes);
                assert!((LEAST_GROUP_WEIGHT..=MOST_GROUP_WEIGHT).contains(&limit));
                assert!(limit >= HEAVIEST as u64 + each, "no group is empty");
                assert!(255 * each > limit, "no group has more than 255 tiles");
                // The last tile's, and the beginning of a group behind the last one.
                let before = tiles.checked_mul(each).and_then(|q| q.checked_add(total));
                assert!(before.and_then(|q| q.checked_add(limit)).is_some(), "{bytes}");
            }
        }
    }
}
