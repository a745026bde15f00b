//! The device functions of volumes.

use super::kernel_args::{DevicePointer, Job};
use super::launch::{Call, Needs, Shape};
use super::launcher::Launcher;
use super::pointers::Range;
use super::workspace::{Workspace, ALIGNMENT};
use super::{check_header_fits, check_workspace, within, Buffers, Direction, Stream};
use crate::error::{Error, Result, Status};
use crate::request::{Dtype, VolumeRequest};
use crate::stream::header::VOLUME_HEADER_BYTES;

/// The memory of a call on a volume: that of a call on planes, and the third component.
#[derive(Clone, Copy, Debug)]
pub struct VolumeBuffers {
    pub planes: Buffers,
    /// Vertex (0, 0, 0).
    pub w: DevicePointer,
}

impl VolumeBuffers {
    fn ranges(&self, direction: Direction, request: &VolumeRequest) -> [Range; 6] {
        let (buffers, config) = (&self.planes, request.config());
        let (stream, halo) = match direction {
            Direction::Compress => ("dst", config.halo),
            _ => ("src", 0),
        };
        [
            Range::component("u", buffers.u, config, config.u, halo),
            Range::component("v", buffers.v, config, config.v, halo),
            Range::component("w", self.w, config, config.w, halo),
            Range::buffer(stream, buffers.stream, buffers.stream_bytes, ALIGNMENT),
            Range::workspace(buffers.workspace, buffers.workspace_bytes),
            Range::buffer("report", buffers.report, 1, 8),
        ]
    }
}

/// Enqueues the compression of a volume. `Ok` means enqueued; the outcome is in the report.
///
/// # Safety
/// As for [`super::compress_device`].
pub unsafe fn compress_volume_device(
    request: &VolumeRequest,
    buffers: &VolumeBuffers,
    stream: Stream,
) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe { call(Direction::Compress, request, buffers, stream, |launcher| launcher.enqueue(stream)) }
}

/// Enqueues the decompression of the stream of a volume; nx, ny, nz, dtype, the layouts and whether the checksum
/// is compared are taken from the request. `Ok` means enqueued; the outcome is in the report.
///
/// # Safety
/// As for [`super::decompress_device`].
pub unsafe fn decompress_volume_device(
    request: &VolumeRequest,
    buffers: &VolumeBuffers,
    stream: Stream,
) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe { call(Direction::Decompress, request, buffers, stream, |launcher| launcher.enqueue(stream)) }
}

/// Hands the launches of a call on a volume in their order to `each`, as [`super::each_kernel`].
///
/// # Safety
/// As for [`super::compress_device`].
pub unsafe fn each_volume_kernel(
    direction: Direction,
    request: &VolumeRequest,
    buffers: &VolumeBuffers,
    stream: Stream,
    each: impl FnMut(String, &'static str, &dyn Fn() -> Result<()>) -> Result<()>,
) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe { call(direction, request, buffers, stream, |launcher| launcher.each(stream, each)) }
}

/// Checks the arguments of a call, enters the context, hands a launcher to `body` and leaves.
///
/// # Safety
/// As for [`super::compress_device`].
unsafe fn call(
    direction: Direction,
    request: &VolumeRequest,
    buffers: &VolumeBuffers,
    stream: Stream,
    body: impl FnOnce(&Launcher<Job>) -> Result<()>,
) -> Result<()> {
    let (config, memory) = (request.config(), &buffers.planes);
    let (call, plan) = match direction {
        Direction::Compress => (Call::CompressVolume, Workspace::compress_volume(request)?),
        _ => (Call::DecompressVolume, Workspace::decompress_volume(request)?),
    };
    let shape = Shape::of_volume(request, memory.stream_bytes);
    call.check(&shape)?;
    if direction == Direction::Compress {
        check_header_fits("stream", memory.stream_bytes, VOLUME_HEADER_BYTES)?;
    }
    check_workspace(memory.workspace_bytes, plan.bytes)?;
    // SAFETY: the caller's promise.
    unsafe {
        within(stream, &buffers.ranges(direction, request), |module| {
            if direction == Direction::Compress && module.is_small() {
                return Err(Error::new(
                    Status::Unsupported,
                    "a device compresses volumes from compute capability 8.0 on: call the host function",
                ));
            }
            body(&Launcher {
                module,
                call,
                dtype: matches!(config.dtype, Dtype::F64) as usize,
                shape,
                argument: Job::volume(request, &plan, (memory, buffers.w), direction),
                needs: Needs::of(config, &shape),
            })
        })
    }
}
