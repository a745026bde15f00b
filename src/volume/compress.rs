//! Compression of a volume: statistics -> layer 1 -> verify and repair -> entropy coding -> assemble.

use super::layer::{Hidden, Layer};
use super::tune::Field;
use crate::cpu::entropy::{self, Body};
use crate::cpu::progress::{Meter, Progress};
use crate::cpu::statistics::{statistics, Statistics};
use crate::cpu::stored;
use crate::entropy::quantized_tile::TileCoding;
use crate::error::{Result, Status};
use crate::grid::element::Real;
use crate::grid::field::View;
use crate::grid::missing::Missing;
use crate::grid::sides::is_on_sides;
use crate::grid::tiles::Grid;
use crate::grid::volume_tiles::VolumeGrid;
use crate::predict::quantizer::ErrorBound;
use crate::predict::tuning::Choice;
use crate::repair::encode::{bytes_of, Lists};
use crate::repair::list::{Chunk, Positions};
use crate::repair::mesh::Mesh;
use crate::repair::rounds::{Repair, VERTICES_PER_FEW};
use crate::repair::tetrahedra::Tetrahedra;
use crate::repair::values::{Level, Values, EXACT, FILLED, UNCHANGED, ZERO};
use crate::report::Report;
use crate::request::{Preserve, VolumeRequest};
use crate::runtime::log::event;
use crate::runtime::memory;
use crate::runtime::pool::{stateless, Threads};
use crate::stream::checksum::seal;
use crate::stream::header::{max_volume_stream_bytes, Content, Header, VolumeFields, VOLUME_HEADER_BYTES};
use crate::stream::sections::{group_word, GROUP_ALIGNMENT};
use std::sync::Mutex;

/// A volume that is compressed.
struct Job<'a, T> {
    request: &'a VolumeRequest,
    grid: Grid,
    views: [View<'a, T>; 3],
    missing: Missing,
    statistics: Statistics<T, 3>,
    bound: ErrorBound<T>,
    threads: Threads,
}

/// The parts of a coded stream, and what the report says of them.
struct Parts {
    choice: Choice,
    body: Body,
    chunks: Vec<Chunk>,
    repaired: u64,
    exact: u64,
    max_error: f64,
}

/// Compresses a volume of the request's type and shape.
pub(super) fn compress<T: Real>(
    request: &VolumeRequest,
    views: [View<'_, T>; 3],
    dst: &mut [u8],
    threads: Threads,
    progress: Option<Progress<'_>>,
) -> Result<Report> {
    let (config, grid) = (request.config(), request.grid());
    let span = tracing::info_span!("compress_volume", nx = config.nx, ny = config.ny, nz = config.nz);
    let _entered = span.enter();
    let missing = Missing::new::<T>(config.fill_value);
    let statistics = statistics(grid, views, missing, threads)?;
    let bound = ErrorBound::new(config, statistics.range);
    let job = Job { request, grid, views, missing, statistics, bound, threads };
    let meter = Meter::new(progress, 2 * VolumeGrid::of(grid).tiles());
    let parts = if job.is_stored() { None } else { Some(job.parts(&meter)?) };
    job.finish(parts, dst)
}

impl<T: Real> Job<'_, T> {
    /// Whether the volume is stored without an attempt to code it: if no error is allowed and some value is
    /// neither zero nor missing.
    fn is_stored(&self) -> bool {
        self.bound.useful == 0.0 && self.statistics.range.is_some_and(|range| range != (T::ZERO, T::ZERO))
    }

    fn parts(&self, meter: &Meter<'_>) -> Result<Parts> {
        let (config, threads, grid) = (self.request.config(), self.threads, self.grid);
        let fixed = self.fixed_vertices()?;
        let is_hidden = |level: Level| level == ZERO || level == FILLED;
        let hidden = Hidden::new(grid, fixed.iter().any(|&(_, level)| is_hidden(level)))?;
        fixed.iter().filter(|fixed| is_hidden(fixed.1)).for_each(|&(vertex, _)| hidden.hide(vertex));
        let field = Field { grid, views: self.views, hidden: &hidden };
        let widths = (self.bound.useful, self.bound.half_bin_width);
        let keeps_points = config.preserve != Preserve::None;
        let choice = field.choose(widths, keeps_points, threads)?;
        let shifts = match keeps_points {
            false => memory::filled(VolumeGrid::of(grid).tiles() as usize, 0)?,
            true => field.shifts(self.bound.useful, threads)?,
        };
        let layer = Layer::new(grid, widths, choice.level_bound_scaling, &choice.interpolants);
        let row = || memory::filled(grid.vertices() as usize, T::ZERO);
        let mut reconstruction = [row()?, row()?, row()?];
        let exact = Mutex::new(Vec::new());
        let tell = |vertex: u64| exact.lock().unwrap_or_else(|e| e.into_inner()).push(vertex);
        let tiles =
            layer.encode(self.views, (&hidden, &shifts), &mut reconstruction, tell, (threads, meter))?;
        let other = reconstruction.each_ref().map(|values| View::stack(values, grid.nx, grid.ny));
        let radii = layer.radii(&shifts);
        let values = Values::new(grid, self.views, other, (self.bound.useful, &radii))?;
        let exact = exact.into_inner().unwrap_or_else(|e| e.into_inner());
        exact.iter().for_each(|&vertex| values.set_level(vertex, EXACT));
        fixed.iter().for_each(|&(vertex, level)| values.set_level(vertex, level));
        let mesh = self.mesh();
        mesh.keep_border(&values);
        if keeps_points {
            let few = grid.vertices() / VERTICES_PER_FEW;
            let counts = Repair::run(&mesh, &values, few, threads)?;
            event!(DEBUG, "repaired", violated = counts.violated, rounds = counts.rounds);
        }
        let positions = Positions::Volume(grid);
        let lists = Lists::of(&values, positions, threads)?;
        let coding = TileCoding::of_volume(T::BYTES);
        let body =
            entropy::encode(config.coder, VolumeGrid::of(grid), coding, (&tiles, &[]), threads, meter)?;
        Ok(Parts {
            choice,
            body,
            chunks: lists.chunks(&values, positions, threads)?,
            repaired: lists.vertices(),
            exact: lists.exact,
            max_error: self.max_error(&values)?,
        })
    }

    /// The tetrahedra, with what they must keep.
    fn mesh(&self) -> Tetrahedra<'_, T> {
        Tetrahedra::new(self.request, self.views, self.bound.useful)
    }

    /// The pattern of missing values.
    fn fill(&self) -> [u64; 3] {
        let of_first = self.statistics.fill.map(|first| first.1);
        self.missing.bits().map(|bits| [bits; 3]).or(of_first).unwrap_or_default()
    }

    /// Vertices that have no code but a level of their own, or a code and their original values: those that are
    /// zero, missing, or pinned.
    fn fixed_vertices(&self) -> Result<Vec<(u64, Level)>> {
        let config = self.request.config();
        let special = self.statistics.zero + self.statistics.nonfinite + self.statistics.filled;
        if special == 0 && config.pin == 0 {
            return Ok(Vec::new());
        }
        let (grid, pattern) = (self.grid, self.fill());
        let parts = self.threads.map((grid.ny * grid.nz) as usize, stateless, |_, row| {
            let (y, z) = (row as u64 % grid.ny, row as u64 / grid.ny);
            let mut found = Vec::new();
            for x in 0..grid.nx {
                let vertex = self.views.map(|view| view.plane(z).get(x as i64, y as i64));
                let level = if self.missing.is_missing(vertex) {
                    if vertex.map(T::to_bits64) == pattern {
                        FILLED
                    } else {
                        EXACT
                    }
                } else if vertex.iter().all(|&x| x == T::ZERO) {
                    // If no error is allowed, zeros keep their signs.
                    if self.bound.absolute == 0.0 && vertex.iter().any(|&x| x.to_bits64() != 0) {
                        EXACT
                    } else {
                        ZERO
                    }
                } else if is_on_sides(grid, [x, y, z], config.pin) {
                    EXACT
                } else {
                    UNCHANGED
                };
                if level != UNCHANGED {
                    memory::push(&mut found, (grid.number([x as i64, y as i64, z as i64]), level))?;
                }
            }
            Ok(found)
        })?;
        let mut all = memory::with_capacity(parts.iter().map(Vec::len).sum())?;
        parts.iter().for_each(|part| all.extend_from_slice(part));
        Ok(all)
    }

    /// The largest error of all finite values.
    fn max_error(&self, values: &Values<'_, T, 3>) -> Result<f64> {
        let grid = self.grid;
        let parts = self.threads.map((grid.ny * grid.nz) as usize, stateless, |_, row| {
            let first = row as u64 * grid.nx;
            let errors = (first..first + grid.nx).map(|vertex| {
                let (original, now) = (values.original(vertex), values.current(vertex));
                let error =
                    |c: usize| if original[c].is_finite() { (now[c] - original[c]).abs() } else { T::ZERO };
                error(0).max(error(1)).max(error(2))
            });
            Ok(errors.fold(T::ZERO, |largest, error| largest.max(error)).to_f64())
        })?;
        Ok(parts.into_iter().fold(0.0, Real::max))
    }

    /// Writes the stream, and says how it went.
    fn finish(&self, parts: Option<Parts>, dst: &mut [u8]) -> Result<Report> {
        let most = max_volume_stream_bytes(self.request.field_bytes());
        let coded = parts
            .as_ref()
            .map(|parts| VOLUME_HEADER_BYTES as u64 + parts.body.bytes() + bytes_of(&parts.chunks));
        let parts = parts.filter(|_| coded.is_some_and(|coded| coded <= most));
        let stream_bytes = if parts.is_some() { coded.unwrap_or(most) } else { most };
        let mut report = Report {
            stream_bytes,
            required_bytes: stream_bytes,
            exact_vertices: parts.as_ref().map_or(self.grid.vertices(), |parts| parts.exact),
            nonfinite_vertices: self.statistics.nonfinite,
            zero_vertices: self.statistics.zero,
            filled_vertices: self.statistics.filled,
            points_in_triangles: match self.request.config().preserve {
                Preserve::None => 0,
                Preserve::Points | Preserve::Types => self.mesh().points(self.threads)?,
            },
            bound: self.bound.absolute,
            max_error: parts.as_ref().map_or(0.0, |parts| parts.max_error),
            warnings: self.statistics.warnings(
                (self.request.config(), &self.bound),
                (self.grid, self.views),
                self.missing,
            ),
            ..Report::default()
        };
        report.log_warnings();
        if stream_bytes > dst.len() as u64 {
            (report.status, report.stream_bytes) = (Status::BufferTooSmall, 0);
            return Ok(report);
        }
        let stream = &mut dst[..stream_bytes as usize];
        match &parts {
            Some(parts) => self.assemble(parts, stream),
            None => self.store(stream)?,
        }
        seal(stream);
        event!(INFO, "compressed", bytes = report.stream_bytes, exact = report.exact_vertices);
        Ok(report)
    }

    /// The header of a stream with these parts, or of one that stores the values.
    fn header(&self, parts: Option<&Parts>, stream_bytes: u64) -> (Header, VolumeFields) {
        let config = self.request.config();
        let choice = parts.map(|parts| parts.choice);
        let volume = VolumeFields {
            dz: config.dz,
            fill_w: self.fill()[2],
            list_bytes: parts.map_or(0, |parts| bytes_of(&parts.chunks)),
            chunks: parts.map_or(0, |parts| parts.chunks.len() as u64),
            repaired_vertices: parts.map_or(0, |parts| parts.repaired),
            exact_vertices: parts.map_or(0, |parts| parts.exact),
        };
        let header = Header {
            dtype: config.dtype,
            mode: config.mode,
            coder: config.coder,
            predictor: config.predictor,
            preserve: config.preserve,
            bound_kind: config.bound_kind,
            content: if parts.is_some() { Content::Coded } else { Content::Stored },
            ties: config.ties,
            groups: parts.map_or(0, |parts| parts.body.groups.len() as u64),
            level_bound_scaling: choice.map_or(0, |choice| choice.level_bound_scaling),
            interpolants: choice.map_or_else(Default::default, |choice| choice.interpolants),
            nx: config.nx,
            ny: config.ny,
            nz: config.nz as u32,
            periodic: config.periodic as u8,
            bound: config.bound,
            absolute_bound: self.bound.absolute,
            half_bin_width: self.bound.half_bin_width,
            dx: config.dx,
            dy: config.dy,
            has_fill: self.missing.has_fill(),
            fill: [self.fill()[0], self.fill()[1]],
            component: None,
            stream_bytes,
            table_bytes: parts.map_or(0, |parts| parts.body.tables.len() as u32),
            volume: Some(volume),
        };
        (header, volume)
    }

    /// Header, tables, the word of each group, groups, and the list of repaired vertices.
    fn assemble(&self, parts: &Parts, stream: &mut [u8]) {
        let (header, volume) = self.header(Some(parts), stream.len() as u64);
        let mut at = 0;
        let mut put = |bytes: &[u8]| {
            stream[at..at + bytes.len()].copy_from_slice(bytes);
            at += bytes.len();
        };
        put(&header.write_volume(&volume));
        put(&parts.body.tables);
        for (tiles, bytes) in &parts.body.groups {
            put(&group_word(*tiles, bytes.len()).to_le_bytes());
        }
        for (_, bytes) in &parts.body.groups {
            put(bytes);
            put(&[0; GROUP_ALIGNMENT][..bytes.len().next_multiple_of(GROUP_ALIGNMENT) - bytes.len()]);
        }
        parts.chunks.iter().for_each(|chunk| put(&chunk.entry));
        parts.chunks.iter().for_each(|chunk| put(&chunk.bytes));
    }

    /// Header, and the values of u, v and w as they are.
    fn store(&self, stream: &mut [u8]) -> Result<()> {
        let (header, volume) = self.header(None, stream.len() as u64);
        let (head, body) = stream.split_at_mut(VOLUME_HEADER_BYTES);
        head.copy_from_slice(&header.write_volume(&volume));
        stored::write(self.grid, &self.views, body, self.threads)
    }
}
