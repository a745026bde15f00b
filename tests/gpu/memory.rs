//! Device memory with guards before and behind it, and the calls on it.

use crate::device::memory::{Buffer, REPORT_BYTES};
use crate::device::queue::Queue;
use crate::fields::Placement;
use crate::{ensure, Check, POISON};
use factz::device::Workspace;
use factz::device::{compress_device, decompress_device, decompress_planes_device, Buffers, Stream};
use factz::{BoundKind, Config, Dtype, Error, Mode, Predictor, Report, Request, Status};

/// Bytes before and behind each buffer that must stay as they are.
pub const ZONE: usize = 1024;
pub const CANARY: u8 = 0xa5;

pub struct Guarded {
    pub buffer: Buffer,
    pub bytes: usize,
}

impl Guarded {
    pub fn new(bytes: usize) -> Result<Self, Error> {
        let bytes = bytes.next_multiple_of(256);
        let buffer = Buffer::new(bytes + 2 * ZONE)?;
        let guarded = Guarded { buffer, bytes };
        guarded.arm(bytes)?;
        Ok(guarded)
    }

    /// Marks everything before and behind the first `bytes` (as far as the zones reach).
    pub fn arm(&self, bytes: usize) -> Result<(), Error> {
        self.buffer.write(0, &[CANARY; ZONE])?;
        self.buffer.write(ZONE + bytes, &[CANARY; ZONE])
    }

    pub fn check(&self, name: &str, bytes: usize) -> Check {
        for (offset, side) in [(0, "before"), (ZONE + bytes, "behind")] {
            let zone = self.buffer.read(offset, ZONE)?;
            let written = zone.iter().position(|&b| b != CANARY);
            ensure!(written.is_none(), "{name}: byte {written:?} of the zone {side} it was written");
        }
        Ok(())
    }

    pub fn pointer(&self) -> u64 {
        self.buffer.pointer() + ZONE as u64
    }

    pub fn write(&self, bytes: &[u8]) -> Result<(), Error> {
        assert!(bytes.len() <= self.bytes);
        self.buffer.write(ZONE, bytes)
    }

    pub fn read(&self, bytes: usize) -> Result<Vec<u8>, Error> {
        assert!(bytes <= self.bytes);
        self.buffer.read(ZONE, bytes)
    }
}

/// Whether buffers are filled before use: initcheck would not see what is read before it is written.
pub fn poisons() -> bool {
    std::env::var("FACTZ_GPU_POISON").as_deref() != Ok("0")
}

/// The device memory of one test after another.
pub struct Bench {
    pub queue: Queue,
    pub field: Guarded,
    pub stream: Guarded,
    pub workspace: Guarded,
    pub report: Buffer,
}

pub fn compress_plan(request: &Request) -> usize {
    Workspace::compress(request).expect("a workspace").bytes as usize
}

pub fn decompress_plan(request: &Request) -> usize {
    Workspace::decompress(request).expect("a workspace").bytes as usize
}

impl Bench {
    /// Memory for fields of up to this many vertices.
    pub fn new([nx, ny]: [u64; 2], dtype: Dtype) -> Result<Self, Error> {
        let config = Config { dtype, ..Config::new(nx, ny, BoundKind::Relative, 1e-2) };
        let request = Request::new(config)?;
        let others = [
            Config { predictor: Predictor::Lorenzo, ..config },
            Config { mode: Mode::Speculative, ..config },
        ];
        let mut workspace = compress_plan(&request).max(decompress_plan(&request));
        workspace = workspace.max(Workspace::decompress_planes(&request)?.bytes as usize);
        for other in others {
            workspace = workspace.max(compress_plan(&Request::new(other)?));
        }
        let elements = (4 * nx + 8) * ny + 8;
        Ok(Bench {
            queue: Queue::new()?,
            field: Guarded::new((elements * dtype.bytes()) as usize)?,
            stream: Guarded::new(factz::max_stream_bytes(&request) as usize + 256)?,
            workspace: Guarded::new(workspace)?,
            report: Buffer::new(2 * REPORT_BYTES)?,
        })
    }

    pub fn buffers(
        &self,
        request: &Request,
        place: &Placement,
        stream_bytes: usize,
        workspace_bytes: usize,
    ) -> Buffers {
        let dtype = request.config().dtype;
        Buffers {
            u: self.field.pointer() + place.u_at * dtype.bytes(),
            v: self.field.pointer() + place.v_at * dtype.bytes(),
            stream: self.stream.pointer(),
            stream_bytes: stream_bytes as u64,
            workspace: self.workspace.pointer(),
            workspace_bytes: workspace_bytes as u64,
            report: self.report.pointer(),
        }
    }

    pub fn spoil(&self, workspace_bytes: usize) -> Result<(), Error> {
        self.report.fill(POISON)?;
        if poisons() {
            self.workspace.buffer.fill(0x5b)?;
        }
        self.workspace.arm(workspace_bytes)
    }

    pub fn report(&self) -> Check<Report> {
        let bytes = self.report.read(0, 2 * REPORT_BYTES)?;
        ensure!(bytes[REPORT_BYTES..].iter().all(|&b| b == POISON), "bytes behind the report were written");
        ensure!(bytes[..REPORT_BYTES].iter().any(|&b| b != POISON), "the report was not written");
        let mut reserved = bytes[4..8].iter().chain(&bytes[84..REPORT_BYTES]);
        ensure!(reserved.all(|&b| b == 0), "the reserved bytes of the report are not 0");
        Ok(self.report.read_report()?)
    }

    /// A call on an image: whatever it does, nothing beside its memory is written.
    fn call(
        &self,
        enqueue: impl Fn(&Request, &Buffers, Stream) -> Result<(), Error>,
        request: &Request,
        place: &Placement,
        image: &[u8],
        (stream_bytes, workspace_bytes): (usize, usize),
    ) -> Check<Report> {
        self.spoil(workspace_bytes)?;
        self.field.write(image)?;
        self.field.arm(image.len())?;
        self.stream.arm(stream_bytes)?;
        let buffers = self.buffers(request, place, stream_bytes, workspace_bytes);
        enqueue(request, &buffers, self.queue.stream())?;
        self.queue.synchronize()?;
        let report = self.report()?;
        self.stream.check("the stream", stream_bytes)?;
        self.workspace.check("the workspace", workspace_bytes)?;
        self.field.check("the field", image.len())?;
        Ok(report)
    }

    /// Compresses an image with `capacity` bytes for the stream, and answers the report and the stream.
    pub fn compress(
        &self,
        request: &Request,
        place: &Placement,
        image: &[u8],
        capacity: usize,
    ) -> Check<(Report, Vec<u8>)> {
        let sizes = (capacity, compress_plan(request));
        // SAFETY: all buffers live until the stream is synchronised, here and below.
        let enqueue = |r: &Request, b: &Buffers, s: Stream| unsafe { compress_device(r, b, s) };
        let report = self.call(enqueue, request, place, image, sizes)?;
        ensure!(self.field.read(image.len())? == image, "the input was changed");
        let bytes = if report.status == Status::Ok { report.stream_bytes as usize } else { 0 };
        ensure!(bytes <= capacity, "the report says {bytes} bytes, there is room for {capacity}");
        Ok((report, self.stream.read(bytes)?))
    }

    /// Decompresses a stream whose bound is `stream.len()` into a poisoned image, and answers the report
    /// and the image.
    pub fn decompress(
        &self,
        request: &Request,
        place: &Placement,
        stream: &[u8],
    ) -> Check<(Report, Vec<u8>)> {
        let image = vec![POISON; (place.elements * request.config().dtype.bytes()) as usize];
        self.stream.write(stream)?;
        let sizes = (stream.len(), decompress_plan(request));
        let enqueue = |r: &Request, b: &Buffers, s: Stream| unsafe { decompress_device(r, b, s) };
        let report = self.call(enqueue, request, place, &image, sizes)?;
        ensure!(self.stream.read(stream.len())? == stream, "the stream was changed");
        Ok((report, self.field.read(image.len())?))
    }

    /// Decompresses the planes of a request, which follow `first` others in a stream.
    pub fn decompress_planes(
        &self,
        request: &Request,
        first: u64,
        place: &Placement,
        stream: &[u8],
    ) -> Check<(Report, Vec<u8>)> {
        let image = vec![POISON; (place.elements * request.config().dtype.bytes()) as usize];
        self.stream.write(stream)?;
        let workspace = Workspace::decompress_planes(request)?.bytes as usize;
        let enqueue =
            |r: &Request, b: &Buffers, s: Stream| unsafe { decompress_planes_device(r, first, b, s) };
        let report = self.call(enqueue, request, place, &image, (stream.len(), workspace))?;
        ensure!(self.stream.read(stream.len())? == stream, "the stream was changed");
        Ok((report, self.field.read(image.len())?))
    }
}
