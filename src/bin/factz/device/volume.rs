//! Volumes on the device.

use super::memory::{bytes_of_mut, Buffer, REPORT_BYTES};
use super::queue::Queue;
use factz::device::{decompress_volume_device, Buffers, VolumeBuffers, Workspace};
use factz::{Error, Real, Result, Status, VolumeRequest};

/// Decompresses a stream `runs` times into memory of the device, and the values into `components`. Returns the
/// milliseconds that each run took.
pub fn decompress<T: Real>(
    request: &VolumeRequest,
    stream: &[u8],
    components: &mut [Vec<T>; 3],
    runs: usize,
) -> Result<Vec<f64>> {
    let plan = Workspace::decompress_volume(request)?;
    let array = |k: usize| Buffer::new(components[k].len() * T::BYTES);
    let arrays = [array(0)?, array(1)?, array(2)?];
    let (source, workspace) = (Buffer::from_bytes(stream)?, Buffer::new(plan.bytes as usize)?);
    let (report, queue) = (Buffer::new(REPORT_BYTES)?, Queue::new()?);
    let [u, v, w] = arrays.each_ref().map(Buffer::pointer);
    let planes = Buffers {
        u,
        v,
        stream: source.pointer(),
        stream_bytes: stream.len() as u64,
        workspace: workspace.pointer(),
        workspace_bytes: plan.bytes,
        report: report.pointer(),
    };
    let buffers = VolumeBuffers { planes, w };
    // SAFETY: the buffers have these sizes, and live until the queue is idle.
    let call = || unsafe { decompress_volume_device(request, &buffers, queue.stream()) };
    let times: Result<Vec<f64>> = (0..runs).map(|_| queue.time(call)).collect();
    queue.synchronize()?;
    match report.read_report()?.status {
        Status::Ok => {}
        status => return Err(Error::new(status, "the device refuses the stream")),
    }
    for (array, values) in arrays.iter().zip(components) {
        array.read_into(0, bytes_of_mut(values))?;
    }
    times
}
