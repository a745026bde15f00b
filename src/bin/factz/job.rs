//! The library's calls on fields held in memory.

use crate::args::Spacing;
use crate::array::{Dims, Field, Values};
use crate::failure::{failure, Failure};
use crate::memory;
use crate::progress::Progress;
use factz::analysis::{self, Comparison, CriticalPoint};
use factz::backend::{self, Execution};
use factz::field::{View, ViewMut};
use factz::geometry::Grid;
use factz::real::Real;
use factz::{BoundKind, Config, Report, Request, Status};

/// A buffer that holds the stream of any field with this configuration.
pub fn stream_buffer(config: &Config) -> Result<Vec<u8>, Failure> {
    memory::zeros(backend::max_stream_bytes(&Request::new(*config)?), "the stream")
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
            backend::compress(&request, View::dense(u, nx), View::dense(v, nx), buffer, execution)
        }
        (Values::F64(u), Values::F64(v)) => {
            backend::compress(&request, View::dense(u, nx), View::dense(v, nx), buffer, execution)
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
            backend::decompress(&config, stream, ViewMut::dense(u, nx), ViewMut::dense(v, nx), execution)
        }
        (Values::F64(u), Values::F64(v)) => {
            backend::decompress(&config, stream, ViewMut::dense(u, nx), ViewMut::dense(v, nx), execution)
        }
        _ => unreachable!("u and v have one type"),
    }?;
    Ok(report)
}

/// Compares a field with its reconstruction of the same shape and type.
pub fn compare(
    before: &Field,
    after: &Field,
    spacing: Spacing,
    bound: Option<f64>,
    threads: usize,
) -> Comparison {
    fn typed<T: Real>(
        dims: Dims,
        [u0, v0, u1, v1]: [&Vec<T>; 4],
        spacing: Spacing,
        bound: Option<f64>,
        threads: usize,
    ) -> Comparison {
        let view = |values| View::dense(values, dims.nx);
        let grid = Grid::new(dims.nx, dims.ny);
        analysis::compare(
            grid,
            view(u0),
            view(v0),
            view(u1),
            view(v1),
            spacing.dx,
            spacing.dy,
            bound,
            threads,
        )
    }
    match (&before.u, &before.v, &after.u, &after.v) {
        (Values::F32(u0), Values::F32(v0), Values::F32(u1), Values::F32(v1)) => {
            typed(before.dims, [u0, v0, u1, v1], spacing, bound, threads)
        }
        (Values::F64(u0), Values::F64(v0), Values::F64(u1), Values::F64(v1)) => {
            typed(before.dims, [u0, v0, u1, v1], spacing, bound, threads)
        }
        _ => unreachable!("all files are read with one type"),
    }
}

/// The critical points of a field.
pub fn critical_points(field: &Field, spacing: Spacing, threads: usize) -> Vec<CriticalPoint> {
    let Dims { nx, ny } = field.dims;
    let grid = Grid::new(nx, ny);
    match (&field.u, &field.v) {
        (Values::F32(u), Values::F32(v)) => {
            let (u, v) = (View::dense(u, nx), View::dense(v, nx));
            analysis::critical_points(grid, u, v, spacing.dx, spacing.dy, threads)
        }
        (Values::F64(u), Values::F64(v)) => {
            let (u, v) = (View::dense(u, nx), View::dense(v, nx));
            analysis::critical_points(grid, u, v, spacing.dx, spacing.dy, threads)
        }
        _ => unreachable!("u and v are read with one type"),
    }
}

/// The absolute bound that a relative one stands for: the fraction times the joint range of the finite
/// values.
pub fn absolute_bound(field: &Field, kind: BoundKind, bound: f64) -> f64 {
    fn range<T: Real>(u: &[T], v: &[T]) -> (f64, f64) {
        let finite = u.iter().chain(v).map(|x| x.to_f64()).filter(|x| x.is_finite());
        finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)))
    }
    if kind == BoundKind::Absolute {
        return bound;
    }
    let (low, high) = match (&field.u, &field.v) {
        (Values::F32(u), Values::F32(v)) => range(u, v),
        (Values::F64(u), Values::F64(v)) => range(u, v),
        _ => unreachable!("u and v are read with one type"),
    };
    if low > high {
        return 0.0;
    }
    let product = bound * (high - low);
    if product.is_finite() {
        product
    } else {
        (bound * high - bound * low).min(f64::MAX)
    }
}
