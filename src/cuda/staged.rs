//! The device functions on dense fields in host memory: copied to the device, worked on, and copied back. For
//! the command line; everything here waits.

use super::host::{bytes_of, bytes_of_mut, Buffer, Queue, REPORT_BYTES};
use super::{analysis, ComparedFields, PointBuffers};
use super::{compress_device, critical_points_device, decompress_device, Buffers, Stream};
use crate::analysis::{Comparison, CriticalPoint};
use crate::cpu::max_stream_bytes;
use crate::cuda::workspace::{AnalysisWorkspace, Workspace};
use crate::error::{Error, Result, Status};
use crate::grid::element::Real;
use crate::grid::field::Layout;
use crate::report::Report;
use crate::request::Request;

/// u and v one behind the other in device memory.
struct Field {
    buffer: Buffer,
    component_bytes: u64,
}

impl Field {
    /// Room for a field of the request, which has dense rows and no halo.
    fn new<T: Real>(request: &Request, components: [usize; 2]) -> Result<Field> {
        let c = request.config();
        let dense = Layout { pitch: c.nx, stride: 1 };
        if c.u != dense || c.v != dense || c.halo != 0 || c.dtype.bytes() as usize != T::BYTES {
            return Err(Error::argument(
                "a dense field without a halo, of the type of its values, is needed",
            ));
        }
        if components.iter().any(|&n| n as u64 != c.nx * c.ny) {
            return Err(Error::argument(format!(
                "u and v have {} and {} values, the request is for {} x {}",
                components[0], components[1], c.nx, c.ny
            )));
        }
        let component_bytes = request.field_bytes() / 2;
        Ok(Field { buffer: Buffer::new(size(request.field_bytes())?)?, component_bytes })
    }

    fn upload<T: Real>(request: &Request, [u, v]: [&[T]; 2]) -> Result<Field> {
        let field = Field::new::<T>(request, [u.len(), v.len()])?;
        field.buffer.write(0, bytes_of(u))?;
        field.buffer.write(field.component_bytes as usize, bytes_of(v))?;
        Ok(field)
    }

    fn download<T: Real>(&self, [u, v]: [&mut [T]; 2]) -> Result<()> {
        self.buffer.read_into(0, bytes_of_mut(u))?;
        self.buffer.read_into(self.component_bytes as usize, bytes_of_mut(v))
    }

    fn pointers(&self) -> [u64; 2] {
        [self.buffer.pointer(), self.buffer.pointer() + self.component_bytes]
    }
}

fn size(bytes: u64) -> Result<usize> {
    usize::try_from(bytes).map_err(|_| Error::argument("the field is too large here"))
}

/// The report of a call that is done, or what its status says.
fn outcome(report: &Buffer) -> Result<Report> {
    let report = report.read_report()?;
    let message = match report.status {
        Status::Ok => return Ok(report),
        Status::CorruptStream => "the stream is damaged or cut short: its checksum or its parts do not match",
        Status::UnsupportedVersion => "the stream has a version of the format that is not read on a device",
        _ => "the device refused the call",
    };
    Err(Error::new(report.status, message))
}

/// What a compression or a decompression takes besides the field.
struct Call {
    queue: Queue,
    stream: Buffer,
    workspace: Buffer,
    report: Buffer,
}

impl Call {
    fn new(stream: Buffer, workspace: &Workspace) -> Result<Call> {
        let workspace = Buffer::new(size(workspace.bytes)?)?;
        Ok(Call { queue: Queue::new()?, stream, workspace, report: Buffer::new(REPORT_BYTES)? })
    }

    /// Enqueues a call on the field, waits for it, and answers its report.
    fn run(&self, field: &Field, enqueue: impl FnOnce(&Buffers, Stream) -> Result<()>) -> Result<Report> {
        let [u, v] = field.pointers();
        let buffers = Buffers {
            u,
            v,
            stream: self.stream.pointer(),
            stream_bytes: self.stream.bytes() as u64,
            workspace: self.workspace.pointer(),
            workspace_bytes: self.workspace.bytes() as u64,
            report: self.report.pointer(),
        };
        enqueue(&buffers, self.queue.stream())?;
        self.queue.synchronize()?;
        outcome(&self.report)
    }
}

/// Compresses a field; the answer is the report and the stream.
pub fn compress<T: Real>(request: &Request, components: [&[T]; 2]) -> Result<(Report, Vec<u8>)> {
    let field = Field::upload(request, components)?;
    let stream = Buffer::new(size(max_stream_bytes(request))?)?;
    let call = Call::new(stream, &Workspace::compress(request)?)?;
    // SAFETY: the buffers have the sizes that the request implies and live until the queue is empty.
    let report = call.run(&field, |buffers, queue| unsafe { compress_device(request, buffers, queue) })?;
    let bytes = call.stream.read(0, size(report.stream_bytes)?)?;
    Ok((report, bytes))
}

/// Decompresses a stream of the request's dimensions and type into u and v.
pub fn decompress<T: Real>(request: &Request, stream: &[u8], components: [&mut [T]; 2]) -> Result<Report> {
    let field = Field::new::<T>(request, components.each_ref().map(|c| c.len()))?;
    let call = Call::new(Buffer::from_bytes(stream)?, &Workspace::decompress(request)?)?;
    // SAFETY: as in compress.
    let report = call.run(&field, |buffers, queue| unsafe { decompress_device(request, buffers, queue) })?;
    field.download(components)?;
    Ok(report)
}

/// Compares two fields; spacing, bound and fill value are those of the request, whose bound need not count.
pub fn compare<T: Real>(
    request: &Request,
    first: [&[T]; 2],
    other: [&[T]; 2],
    checks_bound: bool,
) -> Result<Comparison> {
    let (queue, first) = (Queue::new()?, Field::upload(request, first)?);
    let other = Field::upload(request, other)?;
    let workspace_bytes = AnalysisWorkspace::compare(request)?.bytes;
    let workspace = Buffer::new(size(workspace_bytes)?)?;
    let comparison = Buffer::new(analysis::COMPARISON_BYTES as usize)?;
    let fields = ComparedFields {
        first: first.pointers(),
        other: other.pointers(),
        checks_bound,
        workspace: workspace.pointer(),
        workspace_bytes,
        comparison: comparison.pointer(),
    };
    // SAFETY: as in compress.
    unsafe { analysis::compare_device(&[*request; 2], &fields, queue.stream()) }?;
    queue.synchronize()?;
    comparison.read_comparison()
}

/// The critical points of a field, in the order of the host's list.
pub fn critical_points<T: Real>(request: &Request, components: [&[T]; 2]) -> Result<Vec<CriticalPoint>> {
    let (queue, field) = (Queue::new()?, Field::upload(request, components)?);
    let workspace_bytes = AnalysisWorkspace::critical_points(request)?.bytes;
    let workspace = Buffer::new(size(workspace_bytes)?)?;
    let count = Buffer::new(8)?;
    let [u, v] = field.pointers();
    // Room for what most fields hold; the count says where it takes more.
    let mut capacity = request.grid().vertices() / 256 + 1024;
    loop {
        let points = Buffer::new(size(capacity * analysis::POINT_BYTES)?)?;
        let buffers = PointBuffers {
            u,
            v,
            points: points.pointer(),
            capacity,
            count: count.pointer(),
            workspace: workspace.pointer(),
            workspace_bytes,
        };
        // SAFETY: as in compress.
        unsafe { critical_points_device(request, &buffers, queue.stream()) }?;
        queue.synchronize()?;
        let found = count.read_u64(0)?;
        if found <= capacity {
            return points.read_points(size(found)?);
        }
        capacity = found;
    }
}
