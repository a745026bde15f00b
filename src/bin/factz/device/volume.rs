//! Volumes on the device.

use super::memory::{bytes_of, bytes_of_mut, Buffer, REPORT_BYTES};
use super::queue::Queue;
use super::Device;
use factz::device::{
    compress_volume_device, decompress_volume_device, each_volume_kernel, Buffers, Direction, VolumeBuffers,
    Workspace,
};
use factz::{max_volume_stream_bytes, Error, Real, Report, Result, Status, VolumeRequest};

/// Memory of the device for a volume, its stream and the workspace of a call.
struct Memory {
    arrays: [Buffer; 3],
    stream: Buffer,
    stream_bytes: u64,
    workspace: Buffer,
    workspace_bytes: u64,
    report: Buffer,
    queue: Queue,
}

impl Memory {
    fn new<T: Real>(values: usize, stream: Buffer, stream_bytes: u64, plan: &Workspace) -> Result<Self> {
        let array = || Buffer::new(values * T::BYTES);
        Ok(Memory {
            arrays: [array()?, array()?, array()?],
            stream,
            stream_bytes,
            workspace: Buffer::new(plan.bytes as usize)?,
            workspace_bytes: plan.bytes,
            report: Buffer::new(REPORT_BYTES)?,
            queue: Queue::new()?,
        })
    }

    fn buffers(&self) -> VolumeBuffers {
        let [u, v, w] = self.arrays.each_ref().map(Buffer::pointer);
        let planes = Buffers {
            u,
            v,
            stream: self.stream.pointer(),
            stream_bytes: self.stream_bytes,
            workspace: self.workspace.pointer(),
            workspace_bytes: self.workspace_bytes,
            report: self.report.pointer(),
        };
        VolumeBuffers { planes, w }
    }

    /// Milliseconds of each kernel of a call, one at a time.
    fn profile(&self, direction: Direction, request: &VolumeRequest) -> Result<Vec<(String, f64)>> {
        let mut times = Vec::new();
        // SAFETY: the buffers have the sizes of the request, and live until the queue is idle.
        unsafe {
            each_volume_kernel(
                direction,
                request,
                &self.buffers(),
                self.queue.stream(),
                |name, _, launch| {
                    times.push((name, self.queue.time(launch)?));
                    Ok(())
                },
            )?;
        }
        self.queue.synchronize()?;
        Ok(times)
    }

    /// The milliseconds that each of `runs` calls took, and the report of the last one.
    fn time(&self, runs: usize, call: impl Fn() -> Result<()>) -> Result<(Vec<f64>, Report)> {
        let times: Result<Vec<f64>> = (0..runs).map(|_| self.queue.time(&call)).collect();
        self.queue.synchronize()?;
        let report = self.report.read_report()?;
        match report.status {
            Status::Ok => Ok((times?, report)),
            status => Err(Error::new(status, "the device refuses the volume")),
        }
    }
}

/// Milliseconds of each run, and of each kernel in a run of its own.
pub struct Times {
    pub runs: Vec<f64>,
    pub kernels: Vec<(String, f64)>,
}

/// Compresses a dense volume `runs` times from memory of the device. Returns the report and the stream of the last
/// run.
pub fn compress<T: Real>(
    request: &VolumeRequest,
    components: [&[T]; 3],
    runs: usize,
) -> Result<(Report, Vec<u8>, Times)> {
    let most = max_volume_stream_bytes(request);
    let plan = Workspace::compress_volume(request)?;
    let memory = Memory::new::<T>(components[0].len(), Buffer::new(most as usize)?, most, &plan)?;
    for (array, values) in memory.arrays.iter().zip(components) {
        array.write(0, bytes_of(values))?;
    }
    let buffers = memory.buffers();
    // SAFETY: the buffers have these sizes, and live until the queue is idle.
    let call = || unsafe { compress_volume_device(request, &buffers, memory.queue.stream()) };
    let (times, report) = memory.time(runs, call)?;
    let mut stream = vec![0; report.stream_bytes as usize];
    memory.stream.read_into(0, &mut stream)?;
    let kernels = if runs > 1 { memory.profile(Direction::Compress, request)? } else { Vec::new() };
    Ok((report, stream, Times { runs: times, kernels }))
}

/// Decompresses a stream `runs` times into memory of the device, and the values into `components`.
pub fn decompress<T: Real>(
    request: &VolumeRequest,
    stream: &[u8],
    components: &mut [Vec<T>; 3],
    runs: usize,
) -> Result<(Report, Times)> {
    let plan = Workspace::decompress_volume(request)?;
    let source = Buffer::from_bytes(stream)?;
    let memory = Memory::new::<T>(components[0].len(), source, stream.len() as u64, &plan)?;
    let buffers = memory.buffers();
    // SAFETY: the buffers have these sizes, and live until the queue is idle.
    let call = || unsafe { decompress_volume_device(request, &buffers, memory.queue.stream()) };
    let (times, report) = memory.time(runs, call)?;
    for (array, values) in memory.arrays.iter().zip(components) {
        array.read_into(0, bytes_of_mut(values))?;
    }
    let kernels = if runs > 1 { memory.profile(Direction::Decompress, request)? } else { Vec::new() };
    Ok((report, Times { runs: times, kernels }))
}

impl Device {
    /// Compresses a dense volume in host memory.
    pub fn compress_volume<T: Real>(
        &self,
        request: &VolumeRequest,
        components: [&[T]; 3],
    ) -> Result<(Report, Vec<u8>)> {
        compress(request, components, 1).map(|(report, stream, _)| (report, stream))
    }

    /// Decompresses the stream of a volume into dense arrays in host memory.
    pub fn decompress_volume<T: Real>(
        &self,
        request: &VolumeRequest,
        stream: &[u8],
        components: &mut [Vec<T>; 3],
    ) -> Result<Report> {
        decompress(request, stream, components, 1).map(|(report, _)| report)
    }
}
