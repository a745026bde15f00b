//! Compression: statistics -> vertex bounds, predict + quantize -> count -> tables -> encode -> assemble.

use super::entropy::{self, Body};
use super::progress::{Meter, Progress};
use super::quantize::{Quantized, Source};
use super::seam::Seam;
use super::statistics::{statistics, Statistics};
use super::stored;
use crate::entropy::quantized_tile::TileCoding;
use crate::error::{Result, Status};
use crate::grid::element::Real;
use crate::grid::field::View;
use crate::grid::missing::Missing;
use crate::grid::sides::periodic_sides;
use crate::predict::quantizer::ErrorBound;
use crate::predict::tuning::Choice;
use crate::report::Report;
use crate::request::{Mode, Predictor, Request};
use crate::runtime::log::event;
use crate::runtime::pool::Threads;
use crate::stream::checksum::seal;
use crate::stream::header::{max_stream_bytes, Content, Header, HEADER_BYTES};
use crate::stream::sections::{group_word, GROUP_ALIGNMENT};
use crate::tile::constraints::Constraints;
use crate::topology::signature::Rule;

/// Compresses a field of the request's type and shape.
pub(super) fn compress<T: Real>(
    request: &Request,
    views: [View<'_, T>; 2],
    dst: &mut [u8],
    threads: Threads,
    progress: Option<Progress<'_>>,
) -> Result<Report> {
    let (config, grid) = (request.config(), request.grid());
    let span = tracing::info_span!("compress", nx = config.nx, ny = config.ny, nz = config.nz);
    let _entered = span.enter();
    let meter = Meter::new(progress, 2 * grid.tiles());

    let missing = Missing::new::<T>(config.fill_value);
    let statistics = statistics(grid, views, missing, threads)?;
    let bound = ErrorBound::new(config, statistics.range);
    let constraints = constraints(request, missing, &statistics, &bound);
    let source = Source { grid, views, constraints, half_bin_width: bound.half_bin_width, threads };
    let Quantized { tiles, anchors, stats, choice } = match config.predictor {
        Predictor::Hierarchical => source.hierarchical(&meter),
        Predictor::Lorenzo => source.lorenzo(&meter),
    }?;
    let coding = TileCoding::new(config.predictor, T::BYTES);
    let body = entropy::encode(config.coder, grid, coding, (&tiles, &anchors), threads, &meter)?;
    drop((tiles, anchors));

    let mut header = header(request, &bound, &choice, &source.constraints);
    (header.groups, header.table_bytes) = (body.groups.len() as u64, body.tables.len() as u32);
    let coded = HEADER_BYTES as u64 + body.bytes();
    header.stream_bytes = coded.min(max_stream_bytes(request.field_bytes()));
    let mut report = Report {
        stream_bytes: header.stream_bytes,
        required_bytes: header.stream_bytes,
        exact_vertices: stats.exact,
        nonfinite_vertices: statistics.nonfinite,
        zero_vertices: statistics.zero,
        filled_vertices: statistics.filled,
        warnings: statistics.warnings((config, &bound), (grid, views), missing),
        points_in_triangles: stats.critical + Seam::new(grid).points(views, &source.constraints, threads)?,
        bound: bound.absolute,
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
        assemble(&header, &body, stream);
    } else {
        store(header, &source, stream)?;
        (report.exact_vertices, report.max_error) = (grid.vertices(), 0.0);
    }
    seal(stream);
    event!(INFO, "compressed", bytes = report.stream_bytes, exact = report.exact_vertices);
    report.log_warnings();
    Ok(report)
}

/// Writes a stream that holds the values as they are.
fn store<T: Real>(mut header: Header, source: &Source<'_, T>, stream: &mut [u8]) -> Result<()> {
    (header.content, header.table_bytes, header.groups) = (Content::Stored, 0, 0);
    stream[..HEADER_BYTES].copy_from_slice(&header.write());
    stored::write(source.grid, &source.views, &mut stream[HEADER_BYTES..], source.threads)
}

/// The constraints on the vertices of this field.
fn constraints<T: Real>(
    request: &Request,
    missing: Missing,
    statistics: &Statistics<T, 2>,
    bound: &ErrorBound<T>,
) -> Constraints<T> {
    let config = request.config();
    Constraints {
        mode: config.mode,
        preserve: config.preserve,
        rule: Rule::of(config),
        bound: bound.useful,
        bound_up: bound.useful_up,
        halo: config.halo | periodic_sides(config.periodic),
        pin: config.pin,
        bounds_on_demand: config.mode == Mode::BlockWise
            && config.predictor == Predictor::Hierarchical
            && config.halo | config.pin | config.periodic == 0,
        missing,
        fill: missing.pattern().or(statistics.fill.map(|first| first.1)),
    }
}

/// The header, whose sizes are not known yet.
fn header<T>(
    request: &Request,
    bound: &ErrorBound<T>,
    choice: &Choice,
    constraints: &Constraints<T>,
) -> Header {
    let config = request.config();
    Header {
        dtype: config.dtype,
        mode: config.mode,
        coder: config.coder,
        predictor: config.predictor,
        preserve: config.preserve,
        bound_kind: config.bound_kind,
        content: Content::Coded,
        ties: config.ties,
        groups: 0,
        level_bound_scaling: choice.level_bound_scaling,
        interpolants: choice.interpolants,
        nx: config.nx,
        ny: config.ny,
        nz: config.nz as u32,
        periodic: config.periodic as u8,
        bound: config.bound,
        absolute_bound: bound.absolute,
        half_bin_width: bound.half_bin_width,
        dx: config.dx,
        dy: config.dy,
        has_fill: constraints.missing.has_fill(),
        fill: constraints.fill.unwrap_or([0; 2]),
        component: None,
        stream_bytes: 0,
        table_bytes: 0,
        volume: None,
    }
}

/// Header, tables, the word of each group, groups: the sections of a stream that is exactly as long as they
/// are.
pub(super) fn assemble(header: &Header, body: &Body, stream: &mut [u8]) {
    let mut at = 0;
    let mut put = |bytes: &[u8]| {
        stream[at..at + bytes.len()].copy_from_slice(bytes);
        at += bytes.len();
    };
    put(&header.write());
    put(&body.tables);
    for (tiles, bytes) in &body.groups {
        put(&group_word(*tiles, bytes.len()).to_le_bytes());
    }
    for (_, bytes) in &body.groups {
        put(bytes);
        put(&[0; GROUP_ALIGNMENT][..bytes.len().next_multiple_of(GROUP_ALIGNMENT) - bytes.len()]);
    }
}
