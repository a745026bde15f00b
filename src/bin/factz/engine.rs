//! Where the work of a command is done: on the processor's threads or on a CUDA device.

use crate::args::{BackendName, Place, Spacing};
use crate::array::{Field, Values};
use crate::device::Device;
use crate::failure::{failure, Failure};
use crate::job;
use crate::progress::Progress;
use factz::analysis::{Comparison, CriticalPoint};
use factz::{BoundKind, Config, Report, Request, Status};
use std::time::Instant;

/// What `--backend auto` answers with the processor: a field too large for the device, kernels that it
/// cannot run, or a stream of an earlier version.
const FALL_BACK: [Status; 4] =
    [Status::OutOfMemory, Status::NoDevice, Status::Unsupported, Status::UnsupportedVersion];

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
    /// As `--backend` and the JSON objects name it.
    pub fn backend(&self) -> &'static str {
        match self.device {
            Some(_) => "cuda",
            None => "cpu",
        }
    }

    /// For a sentence: empty for the processor.
    pub fn place(&self) -> String {
        self.device.as_ref().map(|name| format!(" on {name}")).unwrap_or_default()
    }
}

impl Engine {
    pub fn new(place: &Place) -> Result<Engine, Failure> {
        let device = match place.backend {
            BackendName::Cpu => None,
            BackendName::Auto => Device::open().ok(),
            BackendName::Cuda => Some(Device::open().map_err(|e| {
                failure!(
                    "--backend cuda: there is no CUDA device here that this program can use (status {} = {:?}): \
                     {e}; leave it out, or give --backend cpu",
                    e.status as i32,
                    e.status
                )
            })?),
        };
        Ok(Engine { threads: place.threads, device, may_fall_back: place.backend == BackendName::Auto })
    }

    /// Does the work on the device, if there is one, or else on the processor.
    fn run<S, R>(
        &self,
        state: &mut S,
        on_device: impl FnOnce(&Device, &mut S) -> factz::Result<R>,
        on_processor: impl FnOnce(&mut S) -> Result<R, Failure>,
    ) -> Result<Done<R>, Failure> {
        let start = Instant::now();
        if let Some(device) = &self.device {
            match on_device(device, state) {
                Ok(result) => {
                    let (seconds, device) = (start.elapsed().as_secs_f64(), Some(device.name().to_owned()));
                    return Ok(Done { result, seconds, device });
                }
                Err(e) if self.may_fall_back && FALL_BACK.contains(&e.status) => {}
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
            None => job::stream_buffer(config)?,
        };
        self.run(
            &mut buffer,
            |device, _| match (&field.u, &field.v) {
                (Values::F32(u), Values::F32(v)) => device.compress(&request, [u, v]),
                (Values::F64(u), Values::F64(v)) => device.compress(&request, [u, v]),
                _ => unreachable!("u and v are read with one type"),
            },
            |buffer| {
                if buffer.is_empty() {
                    *buffer = job::stream_buffer(config)?;
                }
                let report = job::compress(field, config, buffer, self.threads, Some(progress))?;
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
        let request = request_of(field, Spacing::UNIT, None)?;
        self.run(
            field,
            |device, field| match (&mut field.u, &mut field.v) {
                (Values::F32(u), Values::F32(v)) => device.decompress(&request, stream, [u, v]),
                (Values::F64(u), Values::F64(v)) => device.decompress(&request, stream, [u, v]),
                _ => unreachable!("u and v have one type"),
            },
            |field| job::decompress(stream, field, self.threads, Some(progress)),
        )
    }

    /// Compares a field with another of its shape and type, within an absolute bound.
    pub fn compare(
        &self,
        before: &Field,
        after: &Field,
        spacing: Spacing,
        bound: Option<f64>,
    ) -> Result<Done<Comparison>, Failure> {
        let request = request_of(before, spacing, bound)?;
        self.run(
            &mut (),
            |device, ()| match (&before.u, &before.v, &after.u, &after.v) {
                (Values::F32(u0), Values::F32(v0), Values::F32(u1), Values::F32(v1)) => {
                    device.compare(&request, [u0, v0], [u1, v1], bound.is_some())
                }
                (Values::F64(u0), Values::F64(v0), Values::F64(u1), Values::F64(v1)) => {
                    device.compare(&request, [u0, v0], [u1, v1], bound.is_some())
                }
                _ => unreachable!("all files are read with one type"),
            },
            |()| job::compare(before, after, spacing, bound, self.threads),
        )
    }

    pub fn critical_points(
        &self,
        field: &Field,
        spacing: Spacing,
    ) -> Result<Done<Vec<CriticalPoint>>, Failure> {
        let request = request_of(field, spacing, None)?;
        self.run(
            &mut (),
            |device, ()| match (&field.u, &field.v) {
                (Values::F32(u), Values::F32(v)) => device.critical_points(&request, [u, v]),
                (Values::F64(u), Values::F64(v)) => device.critical_points(&request, [u, v]),
                _ => unreachable!("u and v are read with one type"),
            },
            |()| job::critical_points(field, spacing, self.threads),
        )
    }
}

/// The request for a field of this shape; without a bound nothing exceeds it.
fn request_of(field: &Field, spacing: Spacing, bound: Option<f64>) -> Result<Request, Failure> {
    let config = Config::new(field.dims.nx, field.dims.ny, BoundKind::Absolute, bound.unwrap_or(0.0));
    let (dtype, fill_value) = (field.dtype(), field.fill_value);
    Ok(Request::new(Config { dtype, dx: spacing.dx, dy: spacing.dy, fill_value, ..config })?)
}
