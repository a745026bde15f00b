//! Device memory with guards before and behind it, and the calls on it.

use crate::device::memory::{Buffer, REPORT_BYTES};
use crate::device::queue::Queue;
use crate::fields::Placement;
use crate::{text, Check, POISON};
use factz::device::Workspace;
use factz::device::{compress_device, decompress_device, Buffers};
use factz::{BoundKind, Config, Dtype, Error, Predictor, Report, Request, Status};

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
            let zone = self.buffer.read(offset, ZONE).map_err(text)?;
            if let Some(k) = zone.iter().position(|&b| b != CANARY) {
                return Err(format!("{name}: byte {k} of the zone {side} it was written"));
            }
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
    pub poison: bool,
}

pub fn compress_plan(request: &Request) -> usize {
    Workspace::compress(request).expect("a workspace").bytes as usize
}

pub fn decompress_plan(request: &Request) -> usize {
    Workspace::decompress(request).expect("a workspace").bytes as usize
}

impl Bench {
    /// Memory for fields of up to this many vertices.
    pub fn new(nx: u64, ny: u64, dtype: Dtype) -> Result<Self, Error> {
        let config = Config { dtype, ..Config::new(nx, ny, BoundKind::Relative, 1e-2) };
        let request = Request::new(config)?;
        let lorenzo = Request::new(Config { predictor: Predictor::Lorenzo, ..config })?;
        let compress = compress_plan(&request).max(compress_plan(&lorenzo));
        let elements = (4 * nx + 8) * ny + 8;
        let report = Buffer::new(2 * REPORT_BYTES)?;
        let bench = Bench {
            queue: Queue::new()?,
            field: Guarded::new((elements * dtype.bytes()) as usize)?,
            stream: Guarded::new(factz::max_stream_bytes(&request) as usize + 256)?,
            workspace: Guarded::new(compress.max(decompress_plan(&request)))?,
            report,
            poison: poisons(),
        };
        Ok(bench)
    }

    pub fn buffers(
        &self,
        place: &Placement,
        dtype: Dtype,
        stream_bytes: usize,
        workspace_bytes: usize,
    ) -> Buffers {
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
        if self.poison {
            self.workspace.buffer.fill(0x5b)?;
        }
        self.workspace.arm(workspace_bytes)
    }

    pub fn report(&self) -> Result<Report, String> {
        let bytes = self.report.read(0, 2 * REPORT_BYTES).map_err(text)?;
        if bytes[REPORT_BYTES..].iter().any(|&b| b != POISON) {
            return Err("bytes behind the report were written".into());
        }
        if bytes[..REPORT_BYTES].iter().all(|&b| b == POISON) {
            return Err("the report was not written".into());
        }
        if bytes[4..8].iter().chain(&bytes[84..REPORT_BYTES]).any(|&b| b != 0) {
            return Err("the reserved bytes of the report are not 0".into());
        }
        self.report.read_report().map_err(text)
    }

    /// Compresses an image with `capacity` bytes for the stream, and answers the report and the stream.
    pub fn compress(
        &self,
        request: &Request,
        place: &Placement,
        image: &[u8],
        capacity: usize,
    ) -> Result<(Report, Vec<u8>), String> {
        let dtype = request.config().dtype;
        let workspace_bytes = compress_plan(request);
        self.spoil(workspace_bytes).map_err(text)?;
        self.field.write(image).map_err(text)?;
        self.field.arm(image.len()).map_err(text)?;
        self.stream.arm(capacity).map_err(text)?;
        let buffers = self.buffers(place, dtype, capacity, workspace_bytes);
        // SAFETY: all buffers live until the stream is synchronised.
        unsafe { compress_device(request, &buffers, self.queue.stream()) }.map_err(text)?;
        self.queue.synchronize().map_err(text)?;
        let report = self.report()?;
        self.stream.check("dst", capacity)?;
        self.workspace.check("workspace", workspace_bytes)?;
        self.field.check("the field", image.len())?;
        if self.field.read(image.len()).map_err(text)? != image {
            return Err("the input was changed".into());
        }
        let bytes = if report.status == Status::Ok { report.stream_bytes as usize } else { 0 };
        if bytes > capacity {
            return Err(format!("the report says {bytes} bytes, there is room for {capacity}"));
        }
        Ok((report, self.stream.read(bytes).map_err(text)?))
    }

    /// Decompresses a stream whose bound is `stream.len()` into a poisoned image, and answers the report
    /// and the image.
    pub fn decompress(
        &self,
        request: &Request,
        place: &Placement,
        stream: &[u8],
    ) -> Result<(Report, Vec<u8>), String> {
        let dtype = request.config().dtype;
        let workspace_bytes = decompress_plan(request);
        let image = vec![POISON; place.elements as usize * dtype.bytes() as usize];
        self.spoil(workspace_bytes).map_err(text)?;
        self.field.write(&image).map_err(text)?;
        self.field.arm(image.len()).map_err(text)?;
        self.stream.write(stream).map_err(text)?;
        self.stream.arm(stream.len()).map_err(text)?;
        let buffers = self.buffers(place, dtype, stream.len(), workspace_bytes);
        // SAFETY: all buffers live until the stream is synchronised.
        unsafe { decompress_device(request, &buffers, self.queue.stream()) }.map_err(text)?;
        self.queue.synchronize().map_err(text)?;
        let report = self.report()?;
        self.stream.check("src", stream.len())?;
        self.workspace.check("workspace", workspace_bytes)?;
        self.field.check("the output", image.len())?;
        if self.stream.read(stream.len()).map_err(text)? != stream {
            return Err("the stream was changed".into());
        }
        Ok((report, self.field.read(image.len()).map_err(text)?))
    }
}
