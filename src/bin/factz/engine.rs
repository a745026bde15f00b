//! Where the work of a command is done: on the processor's threads or on a CUDA device.

use crate::array::{typed, Dims, Element, Field, Held};
use crate::device::Device;
use crate::failure::{failure, Failure};
use crate::memory;
use crate::options::{BackendName, Place, Spacing};
use crate::progress::Progress;
use factz::{
    BoundKind, Comparison, Config, CriticalPoint, Dtype, Execution, Report, Request, Status, Ties, View,
    ViewMut,
};
use serde_json::{json, Value};
use std::time::Instant;

/// Errors of the device after which `--backend auto` turns to the processor: a field too large, or kernels
/// that the device cannot run.
const FALL_BACK: [Status; 3] = [Status::OutOfMemory, Status::NoDevice, Status::Unsupported];

/// Answers of the device that say no more than that the data are wrong.
const REFUSALS: [Status; 3] = [Status::InvalidArgument, Status::CorruptStream, Status::UnsupportedVersion];

pub struct Engine {
    threads: usize,
    device: Option<Device>,
    /// Whether the processor may do what the device cannot.
    may_fall_back: bool,
}

/// A result with what it took.
pub struct Done<R> {
    pub result: R,
    pub seconds: f64,
    /// The name of the device that did it; none for the processor.
    pub device: Option<String>,
}

impl<R> Done<R> {
    /// Backend and time of the work.
    pub fn json(&self) -> Value {
        let backend = if self.device.is_some() { "cuda" } else { "cpu" };
        json!({ "backend": backend, "device": self.device, "seconds": self.seconds })
    }

    /// For a sentence: empty for the processor.
    pub fn place(&self) -> String {
        self.device.as_ref().map(|name| format!(" on {name}")).unwrap_or_default()
    }
}

/// By what a field is compared with another.
#[derive(Clone, Copy)]
pub struct Terms {
    pub spacing: Spacing,
    pub ties: Ties,
    /// The absolute bound.
    pub bound: Option<f64>,
}

impl Terms {
    fn spaced(spacing: Spacing) -> Terms {
        Terms { spacing, ties: Ties::All, bound: None }
    }

    /// The promise of a configuration, whose absolute bound is this.
    pub fn of(config: &Config, bound: f64) -> Terms {
        let spacing = Spacing { dx: config.dx, dy: config.dy };
        Terms { spacing, ties: config.ties, bound: Some(bound) }
    }
}

impl Engine {
    pub fn new(place: &Place) -> Result<Engine, Failure> {
        let device = device(place.backend)?;
        Ok(Engine { threads: place.threads, device, may_fall_back: place.backend == BackendName::Auto })
    }

    /// The processor alone.
    pub fn on_processor(threads: usize) -> Engine {
        Engine { threads, device: None, may_fall_back: false }
    }

    /// Threads of the processor.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Does the work on the device, if there is one, or else on the processor. Data that the device refuses go
    /// to the processor, whose error says what is wrong with them.
    pub fn run<S, R>(
        &self,
        state: &mut S,
        on_device: impl FnOnce(&Device, &mut S) -> factz::Result<R>,
        on_processor: impl FnOnce(&mut S) -> Result<R, Failure>,
    ) -> Result<Done<R>, Failure> {
        let start = Instant::now();
        if let Some(device) = &self.device {
            match on_device(device, state) {
                Ok(result) => {
                    let seconds = start.elapsed().as_secs_f64();
                    let device = Some(device.name()?);
                    return Ok(Done { result, seconds, device });
                }
                Err(e) if self.may_fall_back && FALL_BACK.contains(&e.status) => {}
                Err(e) if REFUSALS.contains(&e.status) => {
                    return match on_processor(state) {
                        Err(failure) => Err(failure),
                        Ok(_) => Err(failure!(
                            "the device refuses what the processor accepts ({e}): please report this"
                        )),
                    };
                }
                Err(e) => return Err(e.into()),
            }
        }
        let start = Instant::now();
        let result = on_processor(state)?;
        Ok(Done { result, seconds: start.elapsed().as_secs_f64(), device: None })
    }

    /// The report and the stream.
    pub fn compress(
        &self,
        field: &Field,
        config: &Config,
        progress: &Progress,
    ) -> Result<Done<(Report, Vec<u8>)>, Failure> {
        let request = Request::new(*config)?;
        // Got before the clock starts.
        let mut buffer = match self.device {
            Some(_) => Vec::new(),
            None => stream_buffer(config)?,
        };
        self.run(
            &mut buffer,
            |device, _| typed!([&field.u, &field.v] as [u, v] => device.compress(&request, [u, v])),
            |buffer| {
                if buffer.is_empty() {
                    *buffer = stream_buffer(config)?;
                }
                let report = compress(field, config, buffer, self.threads, Some(progress))?;
                buffer.truncate(report.stream_bytes as usize);
                Ok((report, std::mem::take(buffer)))
            },
        )
    }

    /// Fills a field that has the stream's shape and type.
    pub fn decompress(
        &self,
        stream: &[u8],
        field: &mut Field,
        progress: &Progress,
    ) -> Result<Done<Report>, Failure> {
        let request = request_of(field, &Terms::spaced(Spacing::UNIT))?;
        self.run(
            field,
            |device, field| {
                typed!([&mut field.u, &mut field.v] as [u, v] => device.decompress(&request, stream, [u, v]))
            },
            |field| decompress(stream, field, self.threads, Some(progress)),
        )
    }

    /// Fills the array of a stream that holds one component. Devices read streams of both alone.
    pub fn decompress_one(
        &self,
        stream: &[u8],
        held: &mut Held,
        progress: &Progress,
    ) -> Result<Done<Report>, Failure> {
        if self.device.is_some() && !self.may_fall_back {
            return Err(failure!(
                "--backend cuda: a stream of one component is decompressed on the processor: leave the option out"
            ));
        }
        let start = Instant::now();
        let result = match held.dtype {
            Dtype::F32 => decompress_held::<f32>(stream, held, self.threads, progress),
            Dtype::F64 => decompress_held::<f64>(stream, held, self.threads, progress),
        }?;
        Ok(Done { result, seconds: start.elapsed().as_secs_f64(), device: None })
    }

    /// Compares a field with another of its shape and type.
    pub fn compare(&self, before: &Field, after: &Field, terms: &Terms) -> Result<Done<Comparison>, Failure> {
        let request = request_of(before, terms)?;
        self.run(
            &mut (),
            |device, ()| {
                typed!([&before.u, &before.v, &after.u, &after.v] as [u0, v0, u1, v1] =>
                    device.compare(&request, [u0, v0], [u1, v1], terms.bound.is_some()))
            },
            |()| compare(before, after, terms, self.threads),
        )
    }

    pub fn critical_points(
        &self,
        field: &Field,
        spacing: Spacing,
    ) -> Result<Done<Vec<CriticalPoint>>, Failure> {
        let request = request_of(field, &Terms::spaced(spacing))?;
        self.run(
            &mut (),
            |device, ()| typed!([&field.u, &field.v] as [u, v] => device.critical_points(&request, [u, v])),
            |()| critical_points(field, spacing, self.threads),
        )
    }
}

/// The device that `--backend` asks for; none stands for the processor.
pub fn device(backend: BackendName) -> Result<Option<Device>, Failure> {
    match backend {
        BackendName::Cpu => Ok(None),
        BackendName::Auto => Ok(Device::open().ok()),
        BackendName::Cuda => Device::open().map(Some).map_err(|e| {
            failure!(
                "--backend cuda: there is no CUDA device here that this program can use: {e} (give \
                 --backend cpu, or auto)"
            )
        }),
    }
}

/// The request for a field of this shape; without a bound nothing exceeds it.
fn request_of(field: &Field, terms: &Terms) -> Result<Request, Failure> {
    let Terms { spacing, ties, bound } = *terms;
    let config = field.dims.config(BoundKind::Absolute, bound.unwrap_or(0.0));
    let (dtype, fill_value, periodic) = (field.dtype(), field.fill_value, field.periodic);
    Ok(Request::new(Config { dtype, dx: spacing.dx, dy: spacing.dy, ties, fill_value, periodic, ..config })?)
}

/// A buffer that holds the stream of any field with this configuration.
pub fn stream_buffer(config: &Config) -> Result<Vec<u8>, Failure> {
    memory::zeros(factz::max_stream_bytes(&Request::new(*config)?), "the stream")
}

/// Compresses into `buffer` on the processor; the report tells how much of it is the stream.
pub fn compress(
    field: &Field,
    config: &Config,
    buffer: &mut [u8],
    threads: usize,
    progress: Option<&Progress>,
) -> Result<Report, Failure> {
    let (request, Dims { nx, ny, .. }) = (Request::new(*config)?, field.dims);
    let report = typed!([&field.u, &field.v] as [u, v] => {
        let (u, v) = (View::stack(u, nx, ny), View::stack(v, nx, ny));
        with_progress(threads, progress, |execution| factz::compress(&request, u, v, buffer, execution))
    })?;
    if report.status != Status::Ok {
        return Err(failure!(
            "the stream takes {} bytes, more than the buffer of {}: please report this",
            report.required_bytes,
            buffer.len()
        ));
    }
    Ok(report)
}

/// Decompresses on the processor into a field that has the stream's shape and type.
pub fn decompress(
    stream: &[u8],
    field: &mut Field,
    threads: usize,
    progress: Option<&Progress>,
) -> Result<Report, Failure> {
    let Dims { nx, ny, .. } = field.dims;
    let config = Config { dtype: field.dtype(), ..field.dims.config(BoundKind::Absolute, 0.0) };
    Ok(typed!([&mut field.u, &mut field.v] as [u, v] => {
        let (u, v) = (ViewMut::stack(u, nx, ny), ViewMut::stack(v, nx, ny));
        with_progress(threads, progress, |execution| factz::decompress(&config, stream, u, v, execution))
    })?)
}

fn decompress_held<T: Element>(
    stream: &[u8],
    held: &mut Held,
    threads: usize,
    progress: &Progress,
) -> Result<Report, Failure> {
    let config = Config { dtype: held.dtype, ..held.dims.config(BoundKind::Absolute, 0.0) };
    let [u, v] = held.views::<T>();
    Ok(with_progress(threads, Some(progress), |execution| {
        factz::decompress(&config, stream, u, v, execution)
    })?)
}

/// Runs work on the processor that shows how far it has come.
pub fn with_progress<R>(threads: usize, progress: Option<&Progress>, body: impl FnOnce(Execution) -> R) -> R {
    let report = |done| {
        if let Some(p) = progress {
            p.report(done)
        }
    };
    body(Execution { threads, progress: progress.is_some().then_some(&report as _) })
}

/// Compares on the processor.
pub fn compare(before: &Field, after: &Field, terms: &Terms, threads: usize) -> Result<Comparison, Failure> {
    let (request, Dims { nx, ny, .. }) = (request_of(before, terms)?, before.dims);
    Ok(typed!([&before.u, &before.v, &after.u, &after.v] as [u0, v0, u1, v1] => {
        let first = [u0, v0].map(|c| View::stack(c, nx, ny));
        let other = [u1, v1].map(|c| View::stack(c, nx, ny));
        factz::compare(&request, first, other, terms.bound.is_some(), threads)
    })?)
}

/// The critical points, found on the processor.
pub fn critical_points(
    field: &Field,
    spacing: Spacing,
    threads: usize,
) -> Result<Vec<CriticalPoint>, Failure> {
    let (request, Dims { nx, ny, .. }) = (request_of(field, &Terms::spaced(spacing))?, field.dims);
    Ok(typed!([&field.u, &field.v] as [u, v] =>
        factz::critical_points(&request, [u, v].map(|c| View::stack(c, nx, ny)), threads))?)
}

/// The absolute bound that a relative one stands for: the fraction times the joint range of the finite
/// values.
pub fn absolute_bound(field: &Field, kind: BoundKind, bound: f64, threads: usize) -> Result<f64, Failure> {
    if kind == BoundKind::Absolute {
        return Ok(bound);
    }
    let (request, Dims { nx, ny, .. }) = (request_of(field, &Terms::spaced(Spacing::UNIT))?, field.dims);
    let range = typed!([&field.u, &field.v] as [u, v] =>
        factz::range(&request, [u, v].map(|c| View::stack(c, nx, ny)), threads))?;
    Ok(factz::relative_bound(bound, range.low, range.high))
}
