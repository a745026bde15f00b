//! The CUDA backend: a fixed sequence of kernels on the caller's stream. No numerics here.
//!
//! A call enters the context of the stream, launches and leaves:
//! no allocation, no synchronisation, no event, so it can be captured into a graph. The kernels are loaded
//! on the first call in a context, or by [`prepare_device`].

// Without kernels the arguments are checked, and nothing is launched.
#![cfg_attr(not(feature = "cuda"), allow(dead_code))]

mod analysis;
mod constants;
#[cfg(feature = "cuda")]
mod driver;
#[cfg(not(feature = "cuda"))]
#[path = "no_driver.rs"]
mod driver;
mod fix;
#[cfg(test)]
mod generated;
mod kernel_args;
mod launch;
mod launcher;
mod memory;
#[cfg(test)]
mod method_constants;
#[cfg(all(test, feature = "cuda"))]
mod occupancy;
mod pointers;
mod schedule;
mod shared_memory;
mod volume;
pub mod workspace;

/// Stand for the structs of the interface that kernels write: src/capi says what is in them.
#[allow(non_camel_case_types)]
mod results {
    pub enum factz_report {}
    pub enum factz_fix_report {}
    pub enum factz_info {}
    pub enum factz_comparison {}
    pub enum factz_range {}
    pub enum factz_critical_point {}
}

pub use analysis::{
    compare_device, critical_points_device, inspect_device, range_device, ComparedFields, PointBuffers,
    RangeBuffers,
};
/// A `CUstream` or `cudaStream_t`; null is the default stream.
pub use driver::Stream;
pub use fix::{
    apply_device, apply_volume_device, protect_device, protect_volume_device, FixBuffers, FixMemory,
    VolumeFixBuffers,
};
pub use kernel_args::DevicePointer;
pub use launcher::set_overlap;
pub use volume::{compress_volume_device, decompress_volume_device, each_volume_kernel, VolumeBuffers};

use crate::cuda::workspace::{Workspace, ALIGNMENT};
use crate::error::{Error, Result, Status};
use crate::request::{Config, Dtype, Request};
use crate::stream::header::HEADER_BYTES;
use driver::Module;
use kernel_args::Job;
use launch::{Call, Needs, Shape};
use launcher::Launcher;
use pointers::Range;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Compress,
    Decompress,
    /// Decompression of the planes of the request, which follow `first` others in the stream.
    DecompressPlanes {
        first: u64,
    },
}

/// The memory of a call. All of it is device memory, managed memory or mapped pinned host memory of the
/// stream's device; the workspace must not be host memory.
#[derive(Clone, Copy, Debug)]
pub struct Buffers {
    /// Vertex (0, 0) of each component: read by compression, written by decompression.
    pub u: DevicePointer,
    pub v: DevicePointer,
    /// Where the compressed stream goes or comes from, aligned to [`ALIGNMENT`].
    pub stream: DevicePointer,
    /// Capacity (compression), or any upper bound of the stream's length (decompression).
    pub stream_bytes: u64,
    /// Aligned to [`ALIGNMENT`].
    pub workspace: DevicePointer,
    pub workspace_bytes: u64,
    /// Where the report goes: a `factz_report`.
    pub report: DevicePointer,
}

/// Enqueues the compression of a field. `Ok` means enqueued; the outcome is in the report.
///
/// # Safety
/// The stream is live, and each buffer has the size that the request implies and lives until the stream
/// has got past this work; nothing else writes to them meanwhile.
pub unsafe fn compress_device(request: &Request, buffers: &Buffers, stream: Stream) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe { call(Direction::Compress, request, buffers, stream, |launcher| launcher.enqueue(stream)) }
}

/// Enqueues the decompression of a stream; nx, ny, dtype, the layouts and whether the checksum is compared
/// are taken from the request, and the predictor to expect, which only time depends on. `Ok` means enqueued;
/// the outcome is in the report.
///
/// # Safety
/// As for [`compress_device`].
pub unsafe fn decompress_device(request: &Request, buffers: &Buffers, stream: Stream) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe { call(Direction::Decompress, request, buffers, stream, |launcher| launcher.enqueue(stream)) }
}

/// Enqueues the decompression of the planes of the request, from plane `first` of a stream on. The checksum is
/// not compared. Otherwise as [`decompress_device`], with the workspace of [`Workspace::decompress_planes`].
///
/// # Safety
/// As for [`compress_device`].
pub unsafe fn decompress_planes_device(
    request: &Request,
    first: u64,
    buffers: &Buffers,
    stream: Stream,
) -> Result<()> {
    let direction = Direction::DecompressPlanes { first };
    // SAFETY: the caller's promise.
    unsafe { call(direction, request, buffers, stream, |launcher| launcher.enqueue(stream)) }
}

/// Hands the launches of a call in their order to `each`, each with the names of its kernel and phase:
/// enqueues nothing by itself. For measurements of the kernels one by one.
///
/// # Safety
/// As for [`compress_device`].
pub unsafe fn each_kernel(
    direction: Direction,
    request: &Request,
    buffers: &Buffers,
    stream: Stream,
    each: impl FnMut(String, &'static str, &dyn Fn() -> Result<()>) -> Result<()>,
) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe { call(direction, request, buffers, stream, |launcher| launcher.each(stream, each)) }
}

/// Whether this library has kernels and this machine a driver and a device; otherwise why not.
pub fn available() -> Result<()> {
    driver::available()
}

/// Loads the kernels for the context of a stream. May block.
///
/// # Safety
/// The stream is live.
pub unsafe fn prepare_device(stream: Stream) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe { driver::with_kernels(stream, |_| Ok(())) }
}

/// Checks the arguments, enters the context, hands a launcher to `body` and leaves.
///
/// # Safety
/// As for [`compress_device`].
unsafe fn call<R>(
    direction: Direction,
    request: &Request,
    buffers: &Buffers,
    stream: Stream,
    body: impl FnOnce(&Launcher<Job>) -> Result<R>,
) -> Result<R> {
    let (call, plan) = match direction {
        Direction::Compress => (Call::Compress, Workspace::compress(request)?),
        Direction::Decompress => (Call::Decompress, Workspace::decompress(request)?),
        Direction::DecompressPlanes { first } => {
            check_last_tile(request, first)?;
            (Call::Decompress, Workspace::decompress_planes(request)?)
        }
    };
    let shape = Shape::new(request, buffers.stream_bytes);
    call.check(&shape)?;
    let config = request.config();
    if direction == Direction::Compress {
        check_header_fits("stream", buffers.stream_bytes, HEADER_BYTES)?;
    }
    check_workspace(buffers.workspace_bytes, plan.bytes)?;
    let ranges = buffers.ranges(direction, config);
    // SAFETY: the caller's promise.
    unsafe {
        within(stream, &ranges, |module| {
            body(&Launcher {
                module,
                call,
                dtype: matches!(config.dtype, Dtype::F64) as usize,
                shape,
                argument: Job::new(request, &plan, buffers, direction),
                needs: Needs::of(config, &shape),
            })
        })
    }
}

/// Refuses planes behind the last tile that kernels can count to.
fn check_last_tile(request: &Request, first: u64) -> Result<()> {
    let grid = request.grid();
    let tiles = first.saturating_add(grid.nz).saturating_mul(grid.tiles() / grid.nz);
    if tiles > constants::MOST_STREAM_TILES {
        return Err(Error::new(
            Status::Unsupported,
            format!(
                "first = {first}: the {} planes from there on end at tile {tiles}; a device takes planes of streams \
                 of up to {} tiles",
                grid.nz,
                constants::MOST_STREAM_TILES
            ),
        ));
    }
    Ok(())
}

/// Refuses a buffer that is shorter than the header of a stream or a fix.
fn check_header_fits(what: &str, bytes: u64, header_bytes: usize) -> Result<()> {
    if bytes < header_bytes as u64 {
        return Err(Error::argument(format!(
            "dst_bytes = {bytes} is less than the header of a {what}, {header_bytes} bytes"
        )));
    }
    Ok(())
}

fn check_workspace(bytes: u64, needed: u64) -> Result<()> {
    if bytes < needed {
        return Err(Error::new(
            Status::WorkspaceTooSmall,
            format!("workspace_bytes = {bytes} but the configuration takes {needed}"),
        ));
    }
    Ok(())
}

/// Checks the memory of a call, enters the context of the stream, runs `body` with its kernels and leaves.
///
/// # Safety
/// The stream is live.
unsafe fn within<R>(
    stream: Stream,
    ranges: &[Range],
    body: impl FnOnce(&'static Module) -> Result<R>,
) -> Result<R> {
    pointers::check_addresses(ranges)?;
    // SAFETY: the caller's promise.
    unsafe {
        driver::with_kernels(stream, |module| {
            pointers::check_places(ranges, module, stream)?;
            body(module)
        })
    }
}

impl Buffers {
    fn ranges(&self, direction: Direction, config: &Config) -> [Range; 5] {
        let (stream_name, halo) = match direction {
            Direction::Compress => ("dst", config.halo),
            Direction::Decompress | Direction::DecompressPlanes { .. } => ("src", 0),
        };
        [
            Range::component("u", self.u, config, config.u, halo),
            Range::component("v", self.v, config, config.v, halo),
            Range::buffer(stream_name, self.stream, self.stream_bytes, ALIGNMENT),
            Range::workspace(self.workspace, self.workspace_bytes),
            Range::buffer("report", self.report, 1, 8),
        ]
    }
}
