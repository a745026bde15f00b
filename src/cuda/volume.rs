//! The device functions of volumes.

use super::kernel_args::{DevicePointer, Job};
use super::launch::{Call, Needs, Shape};
use super::launcher::Launcher;
use super::pointers::Range;
use super::workspace::{Workspace, ALIGNMENT};
use super::{check_workspace, within, Buffers, Direction, Stream};
use crate::error::Result;
use crate::request::{Dtype, VolumeRequest};

/// The memory of a call on a volume: that of a call on planes, and the third component.
#[derive(Clone, Copy, Debug)]
pub struct VolumeBuffers {
    pub planes: Buffers,
    /// Vertex (0, 0, 0).
    pub w: DevicePointer,
}

impl VolumeBuffers {
    fn ranges(&self, request: &VolumeRequest) -> [Range; 6] {
        let (buffers, config) = (&self.planes, request.config());
        [
            Range::component("u", buffers.u, config, config.u, 0),
            Range::component("v", buffers.v, config, config.v, 0),
            Range::component("w", self.w, config, config.w, 0),
            Range::buffer("src", buffers.stream, buffers.stream_bytes, ALIGNMENT),
            Range::workspace(buffers.workspace, buffers.workspace_bytes),
            Range::buffer("report", buffers.report, 1, 8),
        ]
    }
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
    unsafe { decompression(request, buffers, stream, |launcher| launcher.enqueue(stream)) }
}

/// Hands the launches of a decompression in their order to `each`, as [`super::each_kernel`].
///
/// # Safety
/// As for [`super::decompress_device`].
pub unsafe fn each_volume_kernel(
    request: &VolumeRequest,
    buffers: &VolumeBuffers,
    stream: Stream,
    mut each: impl FnMut(String, &'static str, &dyn Fn() -> Result<()>) -> Result<()>,
) -> Result<()> {
    let launches = |launcher: &Launcher<Job>| {
        launcher.launches().try_for_each(|(number, launch)| {
            // SAFETY: the caller's promise; the context is current.
            each(launch.symbol(launcher.dtype), launch.phase, &|| unsafe { launcher.launch(number, stream) })
        })
    };
    // SAFETY: the caller's promise.
    unsafe { decompression(request, buffers, stream, launches) }
}

/// Checks the arguments of a decompression, enters the context, hands a launcher to `body` and leaves.
///
/// # Safety
/// As for [`super::decompress_device`].
unsafe fn decompression(
    request: &VolumeRequest,
    buffers: &VolumeBuffers,
    stream: Stream,
    body: impl FnOnce(&Launcher<Job>) -> Result<()>,
) -> Result<()> {
    let (config, memory) = (request.config(), &buffers.planes);
    let shape = Shape::of_volume(request, memory.stream_bytes);
    Call::DecompressVolume.check(&shape)?;
    let plan = Workspace::decompress_volume(request)?;
    check_workspace(memory.workspace_bytes, plan.bytes)?;
    // SAFETY: the caller's promise.
    unsafe {
        within(stream, &buffers.ranges(request), |module| {
            body(&Launcher {
                module,
                call: Call::DecompressVolume,
                dtype: matches!(config.dtype, Dtype::F64) as usize,
                shape,
                argument: Job::volume(request, &plan, (memory, buffers.w), Direction::Decompress),
                needs: Needs::of(config, &shape),
            })
        })
    }
}
