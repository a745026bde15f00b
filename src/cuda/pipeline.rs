//! A dense field on a device with all that its compression, decompression and comparison take, for the benchmarks
//! and the tests.

use super::analysis::{self, ComparedFields, COMPARISON_BYTES};
use super::driver::check;
use super::host::{bytes_of, bytes_of_mut, Buffer, Queue, REPORT_BYTES};
use super::synthetic::{self, SyntheticField};
use super::{Buffers, Direction, Launcher};
use crate::analysis::Comparison;
use crate::cpu::max_stream_bytes;
use crate::cuda::workspace::{AnalysisWorkspace, Workspace};
use crate::error::{Error, Result};
use crate::grid::element::Real;
use crate::grid::field::Layout;
use crate::report::Report;
use crate::request::{BoundKind, Config, Request};
use cudarc::driver::sys;

/// A dense field on the device with everything that its compression and decompression take.
pub struct Pipeline {
    request: Request,
    field_bytes: usize,
    workspace_bytes: u64,
    queue: Queue,
    input: Buffer,
    output: Buffer,
    stream: Buffer,
    workspace: Buffer,
    compressed: Buffer,
    decompressed: Buffer,
    comparison: Buffer,
}

impl Pipeline {
    /// Memory for fields with the shape of a request, which has dense rows and no halo.
    pub fn new(request: &Request) -> Result<Self> {
        let config = request.config();
        let dense = Layout { pitch: config.nx, stride: 1 };
        if config.u != dense || config.v != dense || config.halo != 0 {
            return Err(Error::argument("a pipeline takes dense fields without a halo"));
        }
        let bytes = |n: u64| usize::try_from(n).map_err(|_| Error::argument("the field is too large here"));
        let plans = [Workspace::compress(request)?.bytes, Workspace::decompress(request)?.bytes];
        let workspace_bytes = AnalysisWorkspace::bytes(request)?.max(plans[0]).max(plans[1]);
        let field_bytes = bytes(request.field_bytes())?;
        Ok(Pipeline {
            request: *request,
            field_bytes,
            workspace_bytes,
            queue: Queue::new()?,
            input: Buffer::new(field_bytes)?,
            output: Buffer::new(field_bytes)?,
            stream: Buffer::new(bytes(max_stream_bytes(request))?)?,
            workspace: Buffer::new(bytes(workspace_bytes)?)?,
            compressed: Buffer::new(REPORT_BYTES)?,
            decompressed: Buffer::new(REPORT_BYTES)?,
            comparison: Buffer::new(COMPARISON_BYTES as usize)?,
        })
    }

    /// Goes on with another request for the same shape.
    pub fn set_request(&mut self, request: &Request) -> Result<()> {
        let shape = |r: &Request| {
            let c = r.config();
            (c.nx, c.ny, c.dtype, c.u, c.v, c.halo)
        };
        if shape(request) != shape(&self.request) {
            return Err(Error::argument("the request is for a field of another shape"));
        }
        let bytes = Workspace::compress(request)?.bytes.max(Workspace::decompress(request)?.bytes);
        if bytes > self.workspace_bytes {
            self.queue.synchronize()?;
            self.workspace = Buffer::new(bytes as usize)?;
            self.workspace_bytes = bytes;
        }
        self.request = *request;
        Ok(())
    }

    pub fn queue(&self) -> &Queue {
        &self.queue
    }

    fn component<T: Real>(&self, values: usize) -> Result<usize> {
        if values * T::BYTES * 2 != self.field_bytes {
            return Err(Error::argument(format!(
                "{values} values of {} bytes are not a component of a field of {} bytes",
                T::BYTES,
                self.field_bytes
            )));
        }
        Ok(values * T::BYTES)
    }

    pub fn write_input<T: Real>(&self, u: &[T], v: &[T]) -> Result<()> {
        for (k, values) in [u, v].into_iter().enumerate() {
            let bytes = self.component::<T>(values.len())?;
            self.input.write(k * bytes, bytes_of(values))?;
        }
        Ok(())
    }

    /// Makes the input on the device, waits for it, and answers the milliseconds that the kernel took.
    pub fn make_input(&self, field: &SyntheticField) -> Result<f64> {
        let components = [self.input.pointer(), self.input.pointer() + self.field_bytes as u64 / 2];
        // SAFETY: the input has the size of the request; the work that is enqueued comes before or after.
        unsafe { synthetic::make(&self.request, field, components, &self.queue) }
    }

    /// Waits for the work and copies what was decompressed.
    pub fn read_output<T: Real>(&self, u: &mut [T], v: &mut [T]) -> Result<()> {
        self.queue.synchronize()?;
        for (k, values) in [u, v].into_iter().enumerate() {
            let bytes = self.component::<T>(values.len())?;
            self.output.read_into(k * bytes, bytes_of_mut(values))?;
        }
        Ok(())
    }

    /// Waits for the work and copies the stream that was compressed.
    pub fn read_stream(&self) -> Result<Vec<u8>> {
        let report = self.compressed()?;
        self.stream.read(0, report.stream_bytes as usize)
    }

    fn buffers(&self, field: &Buffer, report: &Buffer) -> Buffers {
        Buffers {
            u: field.pointer(),
            v: field.pointer() + self.field_bytes as u64 / 2,
            stream: self.stream.pointer(),
            stream_bytes: self.stream.bytes() as u64,
            workspace: self.workspace.pointer(),
            workspace_bytes: self.workspace_bytes,
            report: report.pointer(),
        }
    }

    /// Enqueues the compression of the input.
    pub fn compress(&self) -> Result<()> {
        let buffers = self.buffers(&self.input, &self.compressed);
        // SAFETY: the buffers have the sizes that the request implies; freeing them waits for the work.
        unsafe { super::compress_device(&self.request, &buffers, self.queue.stream()) }
    }

    /// Enqueues the decompression of the stream into the output.
    pub fn decompress(&self) -> Result<()> {
        let buffers = self.buffers(&self.output, &self.decompressed);
        // SAFETY: as above.
        unsafe { super::decompress_device(&self.request, &buffers, self.queue.stream()) }
    }

    /// Enqueues the comparison of the input with the output, within an absolute bound.
    pub fn compare(&self, bound: f64) -> Result<()> {
        let config = Config { bound_kind: BoundKind::Absolute, bound, ..*self.request.config() };
        let request = Request::new(config)?;
        let components = |field: &Buffer| [field.pointer(), field.pointer() + self.field_bytes as u64 / 2];
        let fields = ComparedFields {
            first: components(&self.input),
            other: components(&self.output),
            checks_bound: true,
            workspace: self.workspace.pointer(),
            workspace_bytes: self.workspace_bytes,
            comparison: self.comparison.pointer(),
        };
        // SAFETY: as above.
        unsafe { analysis::compare_device(&[request; 2], &fields, self.queue.stream()) }
    }

    /// Waits for the work and answers the result of the comparison.
    pub fn compared(&self) -> Result<Comparison> {
        self.queue.synchronize()?;
        self.comparison.read_comparison()
    }

    /// Enqueues a copy of the input over the output, the yardstick of speed.
    pub fn copy(&self) -> Result<()> {
        self.output.copy_from(&self.input, self.field_bytes, &self.queue)
    }

    /// Overwrites the output, in stream order.
    pub fn spoil_output(&self) -> Result<()> {
        let (pointer, bytes) = (self.output.pointer(), self.output.bytes());
        // SAFETY: the whole buffer.
        check(unsafe { sys::cuMemsetD8Async(pointer, 0xee, bytes, self.queue.stream()) }, "cuMemsetD8Async")
    }

    /// Waits for the work and answers the report of the compression.
    pub fn compressed(&self) -> Result<Report> {
        self.queue.synchronize()?;
        self.compressed.read_report()
    }

    /// Waits for the work and answers the report of the decompression.
    pub fn decompressed(&self) -> Result<Report> {
        self.queue.synchronize()?;
        self.decompressed.read_report()
    }

    /// Milliseconds of each kernel of the compression, launched one at a time.
    pub fn profile_compress(&self) -> Result<Vec<(String, f64)>> {
        self.profile(Direction::Compress, &self.buffers(&self.input, &self.compressed))
    }

    /// Milliseconds of each kernel of the decompression, launched one at a time.
    pub fn profile_decompress(&self) -> Result<Vec<(String, f64)>> {
        self.profile(Direction::Decompress, &self.buffers(&self.output, &self.decompressed))
    }

    fn profile(&self, direction: Direction, buffers: &Buffers) -> Result<Vec<(String, f64)>> {
        let run = |launcher: &Launcher| profile(launcher, &self.queue);
        // SAFETY: as for compress.
        unsafe { super::call(direction, &self.request, buffers, self.queue.stream(), run) }
    }
}

fn profile(launcher: &Launcher, queue: &Queue) -> Result<Vec<(String, f64)>> {
    let mut times = Vec::new();
    for k in launcher.stages() {
        let stage = &launcher.direction.stages()[k];
        // SAFETY: the only caller keeps the promise of compress_device, and its context is current here.
        let launch = || unsafe { launcher.launch(k, queue.stream()) };
        times.push((stage.function(launcher.dtype), queue.time(launch)?));
    }
    Ok(times)
}
