//! The CUDA backend: a fixed sequence of kernels on the caller's stream. No numerics here.
//!
//! A call enters the context of the stream, clears a few kilobytes of the workspace, launches and leaves:
//! no allocation, no synchronisation, no event, so it can be captured into a graph. The kernels are loaded
//! on the first call in a context, or by [`prepare_device`].

mod abi;
mod driver;
pub mod host;
mod launch;

pub use abi::DevicePointer;
/// A `CUstream` or `cudaStream_t`; null is the default stream.
pub type Stream = cudarc::driver::sys::CUstream;

use crate::error::{Error, Result, Status};
use crate::plan::{Workspace, ALIGNMENT};
use crate::request::{Dtype, Request};
use crate::stage::container::HEADER_BYTES;
use abi::Job;
use cudarc::driver::sys;
use driver::{Entered, Module};
use launch::{Launcher, Shape};
use std::ffi::{c_int, c_void};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Compress,
    Decompress,
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
/// are taken from the request. `Ok` means enqueued; the outcome is in the report.
///
/// # Safety
/// As for [`compress_device`].
pub unsafe fn decompress_device(request: &Request, buffers: &Buffers, stream: Stream) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe { call(Direction::Decompress, request, buffers, stream, |launcher| launcher.enqueue(stream)) }
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
    driver::available()?;
    // SAFETY: the caller's promise.
    let entered = unsafe { Entered::new(stream) }?;
    driver::module(&entered, stream)?;
    entered.leave()
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
    body: impl FnOnce(&Launcher) -> Result<R>,
) -> Result<R> {
    driver::available()?;
    let plan = match direction {
        Direction::Compress => Workspace::compress(request)?,
        Direction::Decompress => Workspace::decompress(request)?,
    };
    let shape = Shape::new(request, buffers.stream_bytes);
    shape.check(direction)?;
    let arguments = Arguments::new(direction, buffers);
    arguments.check(request, &plan)?;
    // SAFETY: the caller's promise.
    let entered = unsafe { Entered::new(stream) }?;
    let module = driver::module(&entered, stream)?;
    arguments.check_memory(module, stream)?;
    let config = request.config();
    let result = body(&Launcher {
        module,
        direction,
        dtype: matches!(config.dtype, Dtype::F64) as usize,
        shape,
        job: Job::new(request, &plan, buffers, direction),
        clear: Launcher::clear_range(direction, &plan, buffers.workspace),
        coder: config.coder,
        predictor: config.predictor,
    })?;
    entered.leave()?;
    Ok(result)
}

/// The buffers with the names that the caller knows them by.
struct Arguments<'a> {
    direction: Direction,
    buffers: &'a Buffers,
    stream_name: &'static str,
}

impl<'a> Arguments<'a> {
    fn new(direction: Direction, buffers: &'a Buffers) -> Self {
        let stream_name = match direction {
            Direction::Compress => "dst",
            Direction::Decompress => "src",
        };
        Arguments { direction, buffers, stream_name }
    }

    fn check(&self, request: &Request, plan: &Workspace) -> Result<()> {
        let b = self.buffers;
        let element = request.config().dtype.bytes();
        let all = [
            ("u", b.u, element),
            ("v", b.v, element),
            (self.stream_name, b.stream, ALIGNMENT),
            ("workspace", b.workspace, ALIGNMENT),
            ("report", b.report, 8),
        ];
        for (name, pointer, alignment) in all {
            if pointer == 0 {
                return Err(Error::argument(format!("{name} is null")));
            }
            if pointer % alignment != 0 {
                return Err(Error::argument(format!(
                    "{name} = {pointer:#x} is not aligned to {alignment} bytes"
                )));
            }
        }
        if b.workspace_bytes < plan.bytes {
            return Err(Error::new(
                Status::WorkspaceTooSmall,
                format!("workspace_bytes = {} but the configuration takes {}", b.workspace_bytes, plan.bytes),
            ));
        }
        if self.direction == Direction::Compress && b.stream_bytes < HEADER_BYTES as u64 {
            return Err(Error::argument(format!(
                "dst_bytes = {} is less than the header of a stream, {HEADER_BYTES} bytes",
                b.stream_bytes
            )));
        }
        Ok(())
    }

    /// Refuses memory that the device cannot reach: the launch would not fail, the kernel would, and with
    /// it the context.
    fn check_memory(&self, module: &Module, stream: Stream) -> Result<()> {
        let b = self.buffers;
        let all = [
            ("u", b.u),
            ("v", b.v),
            (self.stream_name, b.stream),
            ("workspace", b.workspace),
            ("report", b.report),
        ];
        for (name, pointer) in all {
            let memory = Memory::of(pointer)?;
            match memory.kind {
                // Addresses that a graph under capture allocates may have no memory yet.
                Kind::Unknown if !driver::is_capturing(stream)? => {
                    return Err(Error::argument(format!(
                        "{name} = {pointer:#x} is host memory: \
                         the device functions take memory that the device can access"
                    )));
                }
                Kind::PinnedHost if name == "workspace" => {
                    return Err(Error::argument(format!(
                        "workspace = {pointer:#x} is pinned host memory: it must be device memory"
                    )));
                }
                Kind::Device if memory.device != module.device => {
                    return Err(Error::argument(format!(
                        "{name} = {pointer:#x} is memory of device {}, the stream is of device {}",
                        memory.device, module.device
                    )));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

enum Kind {
    Unknown,
    PinnedHost,
    Device,
    Managed,
}

/// What the driver knows about an address.
struct Memory {
    kind: Kind,
    device: c_int,
}

impl Memory {
    fn of(pointer: DevicePointer) -> Result<Memory> {
        use sys::CUpointer_attribute::*;
        let (mut kind, mut managed, mut device) = (0u32, 0u32, 0 as c_int);
        let mut attributes = [
            CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
            CU_POINTER_ATTRIBUTE_IS_MANAGED,
            CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
        ];
        let mut values =
            [(&raw mut kind).cast::<c_void>(), (&raw mut managed).cast(), (&raw mut device).cast()];
        // SAFETY: as many attributes as values, each with space for its type. An address that the driver
        // does not know is no error and leaves zeros.
        let answer =
            unsafe { sys::cuPointerGetAttributes(3, attributes.as_mut_ptr(), values.as_mut_ptr(), pointer) };
        driver::check(answer, "cuPointerGetAttributes")?;
        let kind = match kind {
            _ if managed & 0xff != 0 => Kind::Managed,
            k if k == sys::CUmemorytype::CU_MEMORYTYPE_HOST as u32 => Kind::PinnedHost,
            k if k == sys::CUmemorytype::CU_MEMORYTYPE_DEVICE as u32 => Kind::Device,
            _ => Kind::Unknown,
        };
        Ok(Memory { kind, device })
    }
}
