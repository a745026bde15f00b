//! A dense field on a device with all that its compression, decompression and comparison take, for
//! measurements and tests.

use super::check;
use super::field::{size, DeviceField};
use super::memory::{Buffer, COMPARISON_BYTES, REPORT_BYTES};
use super::queue::Queue;
use cudarc::driver::sys;
use factz::device::{self as cuda, Buffers, ComparedFields, Direction};
use factz::device::{AnalysisWorkspace, Workspace};
use factz::{max_stream_bytes, BoundKind, Comparison, Config, Error, Real, Report, Request, Result};

/// The time of a kernel that ran alone.
#[derive(Clone, Debug)]
pub struct KernelTime {
    pub name: String,
    /// To which the kernel belongs.
    pub phase: &'static str,
    pub milliseconds: f64,
}

/// A dense field on the device with everything that its compression and decompression take.
pub struct Pipeline {
    request: Request,
    queue: Queue,
    pub input: DeviceField,
    pub output: DeviceField,
    stream: Buffer,
    workspace: Buffer,
    compressed: Buffer,
    decompressed: Buffer,
    comparison: Buffer,
}

impl Pipeline {
    /// Memory for fields with the shape of a request, which has dense rows and no halo.
    pub fn new(request: &Request) -> Result<Self> {
        let plans = [Workspace::compress(request)?.bytes, Workspace::decompress(request)?.bytes];
        let workspace_bytes = AnalysisWorkspace::bytes(request)?.max(plans[0]).max(plans[1]);
        Ok(Pipeline {
            request: *request,
            queue: Queue::new()?,
            input: DeviceField::new(request)?,
            output: DeviceField::new(request)?,
            stream: Buffer::new(size(max_stream_bytes(request))?)?,
            workspace: Buffer::new(size(workspace_bytes)?)?,
            compressed: Buffer::new(REPORT_BYTES)?,
            decompressed: Buffer::new(REPORT_BYTES)?,
            comparison: Buffer::new(COMPARISON_BYTES)?,
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
        if bytes > self.workspace.bytes() as u64 {
            self.queue.synchronize()?;
            self.workspace = Buffer::new(size(bytes)?)?;
        }
        self.request = *request;
        Ok(())
    }

    pub fn queue(&self) -> &Queue {
        &self.queue
    }

    pub fn write_input<T: Real>(&self, u: &[T], v: &[T]) -> Result<()> {
        self.write_rows(0, u, v)
    }

    /// Writes a band of the input's rows, beginning with row `y`.
    pub fn write_rows<T: Real>(&self, y: u64, u: &[T], v: &[T]) -> Result<()> {
        self.input.write(y * self.request.config().nx, [u, v])
    }

    fn buffers(&self, field: &DeviceField, report: &Buffer) -> Buffers {
        field.buffers(&self.stream, &self.workspace, report)
    }

    /// Enqueues the compression of the input.
    pub fn compress(&self) -> Result<()> {
        let buffers = self.buffers(&self.input, &self.compressed);
        // SAFETY: the buffers have the sizes that the request implies; freeing them waits for the work.
        unsafe { cuda::compress_device(&self.request, &buffers, self.queue.stream()) }
    }

    /// Enqueues the decompression of the stream into the output.
    pub fn decompress(&self) -> Result<()> {
        let buffers = self.buffers(&self.output, &self.decompressed);
        // SAFETY: as above.
        unsafe { cuda::decompress_device(&self.request, &buffers, self.queue.stream()) }
    }

    /// Enqueues the comparison of the input with the output, within an absolute bound.
    pub fn compare(&self, bound: f64) -> Result<()> {
        let config = Config { bound_kind: BoundKind::Absolute, bound, ..*self.request.config() };
        let request = Request::new(config)?;
        let fields = ComparedFields {
            first: self.input.pointers(),
            other: self.output.pointers(),
            checks_bound: true,
            workspace: self.workspace.pointer(),
            workspace_bytes: self.workspace.bytes() as u64,
            comparison: self.comparison.pointer(),
        };
        // SAFETY: as above.
        unsafe { cuda::compare_device(&[request; 2], &fields, self.queue.stream()) }
    }

    /// Waits for the work and answers the result of the comparison.
    pub fn compared(&self) -> Result<Comparison> {
        self.queue.synchronize()?;
        self.comparison.read_comparison()
    }

    /// Enqueues a copy of the input over the output, the yardstick of speed.
    pub fn copy(&self) -> Result<()> {
        self.output.buffer.copy_from(&self.input.buffer, self.input.buffer.bytes(), &self.queue)
    }

    /// Overwrites the output, in stream order.
    pub fn spoil_output(&self) -> Result<()> {
        let (pointer, bytes) = (self.output.buffer.pointer(), self.output.buffer.bytes());
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

    /// Milliseconds of each kernel of the compression or the decompression, launched one at a time.
    pub fn profile(&self, direction: Direction) -> Result<Vec<KernelTime>> {
        let buffers = match direction {
            Direction::Compress => self.buffers(&self.input, &self.compressed),
            Direction::Decompress | Direction::DecompressPlanes { .. } => {
                self.buffers(&self.output, &self.decompressed)
            }
        };
        let mut times = Vec::new();
        let time = |name, phase, launch: &dyn Fn() -> Result<()>| {
            times.push(KernelTime { name, phase, milliseconds: self.queue.time(launch)? });
            Ok(())
        };
        // SAFETY: as for compress.
        unsafe { cuda::each_kernel(direction, &self.request, &buffers, self.queue.stream(), time) }?;
        Ok(times)
    }
}
