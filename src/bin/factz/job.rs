//! The library's calls on fields held in memory.

use crate::args::Spacing;
use crate::array::{Dims, Field, Values};
use crate::failure::{failure, Failure};
use crate::memory;
use crate::progress::Progress;
use factz::analysis::{self, Comparison, CriticalPoint};
use factz::cpu::{self, Execution};
use factz::grid::element::Real;
use factz::grid::field::{View, ViewMut};
use factz::{BoundKind, Config, Report, Request, Status};

/// A buffer that holds the stream of any field with this configuration.
pub fn stream_buffer(config: &Config) -> Result<Vec<u8>, Failure> {
    memory::zeros(cpu::max_stream_bytes(&Request::new(*config)?), "the stream")
}

/// Compresses into `buffer`; the report tells how much of it is the stream.
pub fn compress(
    field: &Field,
    config: &Config,
    buffer: &mut [u8],
    threads: usize,
    progress: Option<&Progress>,
) -> Result<Report, Failure> {
    let request = Request::new(*config)?;
    let report_progress = |done| {
        if let Some(p) = progress {
            p.report(done)
        }
    };
    let execution = Execution { threads, progress: progress.is_some().then_some(&report_progress as _) };
    let nx = field.dims.nx;
    let report = match (&field.u, &field.v) {
        (Values::F32(u), Values::F32(v)) => {
            cpu::compress(&request, View::dense(u, nx), View::dense(v, nx), buffer, execution)
        }
        (Values::F64(u), Values::F64(v)) => {
            cpu::compress(&request, View::dense(u, nx), View::dense(v, nx), buffer, execution)
        }
        _ => unreachable!("u and v are read with one type"),
    }?;
    if report.status != Status::Ok {
        return Err(failure!(
            "the stream takes {} bytes, more than the buffer of {}: please report this",
            report.required_bytes,
            buffer.len()
        ));
    }
    Ok(report)
}

/// Decompresses into a field that has the stream's shape and type.
pub fn decompress(
    stream: &[u8],
    field: &mut Field,
    threads: usize,
    progress: Option<&Progress>,
) -> Result<Report, Failure> {
    let dtype = field.dtype();
    let Dims { nx, ny } = field.dims;
    let config = Config { dtype, ..Config::new(nx, ny, BoundKind::Absolute, 0.0) };
    let report_progress = |done| {
        if let Some(p) = progress {
            p.report(done)
        }
    };
    let execution = Execution { threads, progress: progress.is_some().then_some(&report_progress as _) };
    let report = match (&mut field.u, &mut field.v) {
        (Values::F32(u), Values::F32(v)) => {
            cpu::decompress(&config, stream, ViewMut::dense(u, nx), ViewMut::dense(v, nx), execution)
        }
        (Values::F64(u), Values::F64(v)) => {
            cpu::decompress(&config, stream, ViewMut::dense(u, nx), ViewMut::dense(v, nx), execution)
        }
        _ => unreachable!("u and v have one type"),
    }?;
    Ok(report)
}

/// The arguments of an analysis of a field; without a bound nothing exceeds it.
fn request(field: &Field, spacing: Spacing, bound: Option<f64>) -> Result<Request, Failure> {
    let config = Config::new(field.dims.nx, field.dims.ny, BoundKind::Absolute, bound.unwrap_or(0.0));
    let (dtype, fill_value) = (field.dtype(), field.fill_value);
    Ok(Request::new(Config { dtype, dx: spacing.dx, dy: spacing.dy, fill_value, ..config })?)
}

/// Compares a field with its reconstruction of the same shape and type.
pub fn compare(
    before: &Field,
    after: &Field,
    spacing: Spacing,
    bound: Option<f64>,
    threads: usize,
) -> Result<Comparison, Failure> {
    let request = request(before, spacing, bound)?;
    fn views<'a, T: Real>(dims: Dims, components: [&'a Vec<T>; 2]) -> [View<'a, T>; 2] {
        components.map(|values| View::dense(values, dims.nx))
    }
    let dims = before.dims;
    let found = match (&before.u, &before.v, &after.u, &after.v) {
        (Values::F32(u0), Values::F32(v0), Values::F32(u1), Values::F32(v1)) => {
            let (first, other) = (views(dims, [u0, v0]), views(dims, [u1, v1]));
            analysis::compare(&request, first, other, bound.is_some(), threads)
        }
        (Values::F64(u0), Values::F64(v0), Values::F64(u1), Values::F64(v1)) => {
            let (first, other) = (views(dims, [u0, v0]), views(dims, [u1, v1]));
            analysis::compare(&request, first, other, bound.is_some(), threads)
        }
        _ => unreachable!("all files are read with one type"),
    };
    Ok(found?)
}

/// The critical points of a field.
pub fn critical_points(
    field: &Field,
    spacing: Spacing,
    threads: usize,
) -> Result<Vec<CriticalPoint>, Failure> {
    let (request, nx) = (request(field, spacing, None)?, field.dims.nx);
    let found = match (&field.u, &field.v) {
        (Values::F32(u), Values::F32(v)) => {
            analysis::critical_points(&request, [View::dense(u, nx), View::dense(v, nx)], threads)
        }
        (Values::F64(u), Values::F64(v)) => {
            analysis::critical_points(&request, [View::dense(u, nx), View::dense(v, nx)], threads)
        }
        _ => unreachable!("u and v are read with one type"),
    };
    Ok(found?)
}

/// The absolute bound that a relative one stands for: the fraction times the joint range of the finite
/// values.
pub fn absolute_bound(field: &Field, kind: BoundKind, bound: f64, threads: usize) -> Result<f64, Failure> {
    if kind == BoundKind::Absolute {
        return Ok(bound);
    }
    let (request, nx) = (request(field, Spacing::UNIT, None)?, field.dims.nx);
    let range = match (&field.u, &field.v) {
        (Values::F32(u), Values::F32(v)) => {
            analysis::range(&request, [View::dense(u, nx), View::dense(v, nx)], threads)
        }
        (Values::F64(u), Values::F64(v)) => {
            analysis::range(&request, [View::dense(u, nx), View::dense(v, nx)], threads)
        }
        _ => unreachable!("u and v are read with one type"),
    }?;
    Ok(analysis::relative_bound(bound, range.low, range.high))
}
