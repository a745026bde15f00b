//! The device functions on dense fields in host memory: copied to the device, worked on, and copied back.

use super::memory::{bytes_of, bytes_of_mut, Buffer, COMPARISON_BYTES, POINT_BYTES, REPORT_BYTES};
use super::queue::Queue;
use super::Device;
use factz::device::{self as cuda, Buffers, ComparedFields, PointBuffers, Stream};
use factz::device::{AnalysisWorkspace, Workspace};
use factz::{
    max_stream_bytes, Comparison, CriticalPoint, Error, Layout, Real, Report, Request, Result, Status,
};

/// A dense field in device memory: u and then v.
pub struct DeviceField {
    pub buffer: Buffer,
    component_bytes: u64,
}

impl DeviceField {
    /// Room for a field of the request, which has dense rows and planes and no halo.
    pub fn new(request: &Request) -> Result<DeviceField> {
        let c = request.config();
        let plane = if c.nz > 1 { c.nx * c.ny } else { 0 };
        let dense = Layout { pitch: c.nx, stride: 1, plane };
        if c.u != dense || c.v != dense || c.halo != 0 {
            return Err(Error::argument("a dense field without a halo is needed"));
        }
        let bytes = request.field_bytes();
        Ok(DeviceField { buffer: Buffer::new(size(bytes)?)?, component_bytes: bytes / 2 })
    }

    fn upload<T: Real>(request: &Request, components: [&[T]; 2]) -> Result<DeviceField> {
        let field = DeviceField::new(request)?;
        field.check_lengths(components.map(|c| c.len() * T::BYTES))?;
        field.write(0, components)?;
        Ok(field)
    }

    fn check_lengths(&self, bytes: [usize; 2]) -> Result<()> {
        match bytes.iter().all(|&n| n as u64 == self.component_bytes) {
            true => Ok(()),
            false => Err(Error::argument(format!(
                "u and v have {} and {} bytes, the request is for {} each",
                bytes[0], bytes[1], self.component_bytes
            ))),
        }
    }

    /// Writes values of both components from the one with this number on.
    pub fn write<T: Real>(&self, first: u64, components: [&[T]; 2]) -> Result<()> {
        for (k, values) in components.into_iter().enumerate() {
            self.buffer.write(self.offset(first, k, values)?, bytes_of(values))?;
        }
        Ok(())
    }

    /// Reads values of both components from the one with this number on.
    pub fn read<T: Real>(&self, first: u64, components: [&mut [T]; 2]) -> Result<()> {
        for (k, values) in components.into_iter().enumerate() {
            let offset = self.offset(first, k, values)?;
            self.buffer.read_into(offset, bytes_of_mut(values))?;
        }
        Ok(())
    }

    /// Where values of a component lie from the one with this number on.
    fn offset<T: Real>(&self, first: u64, component: usize, values: &[T]) -> Result<usize> {
        let offset = first * T::BYTES as u64;
        if offset + size_of_val(values) as u64 > self.component_bytes {
            return Err(Error::argument(format!(
                "{} values from {first} on are more than a component of {} bytes has",
                values.len(),
                self.component_bytes
            )));
        }
        Ok((component as u64 * self.component_bytes + offset) as usize)
    }

    pub fn pointers(&self) -> [u64; 2] {
        [self.buffer.pointer(), self.buffer.pointer() + self.component_bytes]
    }

    /// The memory of a call on the field.
    pub fn buffers(&self, stream: &Buffer, workspace: &Buffer, report: &Buffer) -> Buffers {
        let [u, v] = self.pointers();
        Buffers {
            u,
            v,
            stream: stream.pointer(),
            stream_bytes: stream.bytes() as u64,
            workspace: workspace.pointer(),
            workspace_bytes: workspace.bytes() as u64,
            report: report.pointer(),
        }
    }

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

pub fn size(bytes: u64) -> Result<usize> {
    usize::try_from(bytes)
        .map_err(|_| Error::argument(format!("{bytes} bytes are too many for this machine")))
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

/// Queue and buffers of a compression or a decompression, without the field.
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
    fn run(
        &self,
        field: &DeviceField,
        enqueue: impl FnOnce(&Buffers, Stream) -> Result<()>,
    ) -> Result<Report> {
        enqueue(&field.buffers(&self.stream, &self.workspace, &self.report), self.queue.stream())?;
        self.queue.synchronize()?;
        outcome(&self.report)
    }
}

impl Device {
    /// Compresses a field; the answer is the report and the stream.
    pub fn compress<T: Real>(&self, request: &Request, components: [&[T]; 2]) -> Result<(Report, Vec<u8>)> {
        let field = DeviceField::upload(request, components)?;
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
        field.check_lengths(components.each_ref().map(|c| c.len() * T::BYTES))?;
        field.read(0, components)?;
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
        let (queue, first) = (Queue::new()?, DeviceField::upload(request, first)?);
        let other = DeviceField::upload(request, other)?;
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
        DeviceField::upload(request, components)?.critical_points(request)
    }
}
