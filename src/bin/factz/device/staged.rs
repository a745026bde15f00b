//! The device functions on dense fields in host memory: copied to the device, worked on, and copied back.

use super::field::{size, DeviceField};
use super::memory::{Buffer, COMPARISON_BYTES, POINT_BYTES, REPORT_BYTES};
use super::queue::Queue;
use super::Device;
use factz::device::{self as cuda, Buffers, ComparedFields, PointBuffers, Stream};
use factz::device::{AnalysisWorkspace, Workspace};
use factz::{max_stream_bytes, Comparison, CriticalPoint, Error, Real, Report, Request, Result, Status};

impl DeviceField {
    /// The critical points of the field, in the order of the host's list.
    pub fn critical_points(&self, request: &Request) -> Result<Vec<CriticalPoint>> {
        let queue = Queue::new()?;
        let workspace_bytes = AnalysisWorkspace::critical_points(request)?.bytes;
        let workspace = Buffer::new(size(workspace_bytes)?)?;
        let count = Buffer::new(8)?;
        let [u, v] = self.pointers();
        // Room for what most fields hold; the count says where it takes more.
        let mut capacity = request.grid().vertices() / 256 + 1024;
        loop {
            let points = Buffer::new(size(capacity * POINT_BYTES as u64)?)?;
            let buffers = PointBuffers {
                u,
                v,
                points: points.pointer(),
                capacity,
                count: count.pointer(),
                workspace: workspace.pointer(),
                workspace_bytes,
            };
            // SAFETY: the buffers have the sizes that the request implies and live until the queue is empty.
            unsafe { cuda::critical_points_device(request, &buffers, queue.stream()) }?;
            queue.synchronize()?;
            let found = count.read_u64(0)?;
            if found <= capacity {
                return points.read_points(size(found)?);
            }
            capacity = found;
        }
    }
}

/// The report of a call that is done, or what its status says.
fn outcome(report: &Buffer) -> Result<Report> {
    let report = report.read_report()?;
    let message = match report.status {
        Status::Ok => return Ok(report),
        Status::CorruptStream => "the stream is damaged or cut short: its checksum or its parts do not match",
        Status::UnsupportedVersion => {
            "the stream has a version of the format that this library does not read"
        }
        _ => "the device refused the call",
    };
    Err(Error::new(report.status, message))
}

/// Queue and buffers of a call, without the field; the report is one of a codec or of a fix.
pub(super) struct Call {
    queue: Queue,
    /// The stream or the fix.
    pub(super) stream: Buffer,
    pub(super) workspace: Buffer,
    pub(super) report: Buffer,
}

impl Call {
    pub(super) fn new(stream: Buffer, workspace: &Workspace) -> Result<Call> {
        let (workspace, report) = (Buffer::new(size(workspace.bytes)?)?, Buffer::new(REPORT_BYTES)?);
        Ok(Call { queue: Queue::new()?, stream, workspace, report })
    }

    /// Enqueues work and waits for it.
    pub(super) fn wait_for(&self, enqueue: impl FnOnce(Stream) -> Result<()>) -> Result<()> {
        enqueue(self.queue.stream())?;
        self.queue.synchronize()
    }

    /// Enqueues a call on the field, waits for it, and answers its report.
    fn run(
        &self,
        field: &DeviceField,
        enqueue: impl FnOnce(&Buffers, Stream) -> Result<()>,
    ) -> Result<Report> {
        let buffers = field.buffers(&self.stream, &self.workspace, &self.report);
        self.wait_for(|stream| enqueue(&buffers, stream))?;
        outcome(&self.report)
    }
}

impl Device {
    /// Compresses a field; the answer is the report and the stream.
    pub fn compress<T: Real>(&self, request: &Request, components: [&[T]; 2]) -> Result<(Report, Vec<u8>)> {
        let field = DeviceField::new(request)?.filled(components)?;
        let stream = Buffer::new(size(max_stream_bytes(request))?)?;
        let call = Call::new(stream, &Workspace::compress(request)?)?;
        // SAFETY: the buffers have the sizes that the request implies and live until the queue is empty.
        let report =
            call.run(&field, |buffers, queue| unsafe { cuda::compress_device(request, buffers, queue) })?;
        let bytes = call.stream.read(0, size(report.stream_bytes)?)?;
        Ok((report, bytes))
    }

    /// Decompresses a stream of the request's dimensions and type into u and v.
    pub fn decompress<T: Real>(
        &self,
        request: &Request,
        stream: &[u8],
        components: [&mut [T]; 2],
    ) -> Result<Report> {
        let field = DeviceField::new(request)?;
        let call = Call::new(Buffer::from_bytes(stream)?, &Workspace::decompress(request)?)?;
        // SAFETY: as in compress.
        let report =
            call.run(&field, |buffers, queue| unsafe { cuda::decompress_device(request, buffers, queue) })?;
        field.copy_to(components)?;
        Ok(report)
    }

    /// Compares two fields; spacing, bound and fill value are those of the request, whose bound need not
    /// count.
    pub fn compare<T: Real>(
        &self,
        request: &Request,
        first: [&[T]; 2],
        other: [&[T]; 2],
        checks_bound: bool,
    ) -> Result<Comparison> {
        let (queue, first) = (Queue::new()?, DeviceField::new(request)?.filled(first)?);
        let other = DeviceField::new(request)?.filled(other)?;
        let workspace_bytes = AnalysisWorkspace::compare(request)?.bytes;
        let workspace = Buffer::new(size(workspace_bytes)?)?;
        let comparison = Buffer::new(COMPARISON_BYTES)?;
        let fields = ComparedFields {
            first: first.pointers(),
            other: other.pointers(),
            checks_bound,
            workspace: workspace.pointer(),
            workspace_bytes,
            comparison: comparison.pointer(),
        };
        // SAFETY: as in compress.
        unsafe { cuda::compare_device(&[*request; 2], &fields, queue.stream()) }?;
        queue.synchronize()?;
        comparison.read_comparison()
    }

    /// The critical points of a field, in the order of the host's list.
    pub fn critical_points<T: Real>(
        &self,
        request: &Request,
        components: [&[T]; 2],
    ) -> Result<Vec<CriticalPoint>> {
        DeviceField::new(request)?.filled(components)?.critical_points(request)
    }
}
