//! Devices, their memory, streams, timing and graphs for the command line, the tests and the benchmarks: what an
//! application brings itself. Nothing here runs in the device functions, and everything here may block.

use super::analysis::{COMPARISON_BYTES, POINT_BYTES, RANGE_BYTES};
use super::driver::{self, check};
use super::{DevicePointer, Stream};
use crate::analysis::{Comparison, CriticalPoint, Kind, ValueRange};
use crate::error::{Error, Result, Status};
use crate::grid::element::Real;
use crate::report::Report;
use cudarc::driver::sys::{self, CUcontext, CUevent, CUgraphExec};
use std::ffi::{c_int, c_void, CStr};
use std::marker::PhantomData;
use std::ptr::null_mut;

/// The primary context of a device, current on this thread until dropped.
pub struct Device {
    ordinal: c_int,
    context: CUcontext,
    // The context is current on one thread.
    _thread: PhantomData<*const ()>,
}

/// Number of devices, or why there are none.
pub fn device_count() -> Result<u32> {
    driver::available()?;
    let mut count = 0;
    // SAFETY: writes a number; the driver is present.
    check(unsafe { sys::cuDeviceGetCount(&mut count) }, "cuDeviceGetCount")?;
    match count {
        0 => Err(Error::new(Status::NoDevice, "there is no CUDA device on this machine")),
        n => Ok(n as u32),
    }
}

/// The version of CUDA that the driver supports, such as "CUDA 13.0".
pub fn driver_version() -> Result<String> {
    driver::available()?;
    let mut version = 0;
    // SAFETY: writes a number; the driver is present.
    check(unsafe { sys::cuDriverGetVersion(&mut version) }, "cuDriverGetVersion")?;
    Ok(format!("CUDA {}.{}", version / 1000, version % 1000 / 10))
}

impl Device {
    pub fn open(ordinal: u32) -> Result<Self> {
        let count = device_count()?;
        if ordinal >= count {
            return Err(Error::argument(format!("device {ordinal}: there are {count} devices")));
        }
        let (ordinal, mut context) = (ordinal as c_int, null_mut());
        // SAFETY: the device exists; the context is released when dropped.
        unsafe {
            check(sys::cuDevicePrimaryCtxRetain(&mut context, ordinal), "cuDevicePrimaryCtxRetain")?;
            check(sys::cuCtxPushCurrent_v2(context), "cuCtxPushCurrent")?;
        }
        Ok(Device { ordinal, context, _thread: PhantomData })
    }

    /// Makes the context current on another thread for as long as `body` runs.
    pub fn enter<R>(context: ContextHandle, body: impl FnOnce() -> R) -> Result<R> {
        // SAFETY: the device that the handle came from is still open, as its lifetime says.
        check(unsafe { sys::cuCtxPushCurrent_v2(context.0) }, "cuCtxPushCurrent")?;
        let result = body();
        let mut popped = null_mut();
        // SAFETY: pushed above.
        check(unsafe { sys::cuCtxPopCurrent_v2(&mut popped) }, "cuCtxPopCurrent")?;
        Ok(result)
    }

    pub fn handle(&self) -> ContextHandle<'_> {
        ContextHandle(self.context, PhantomData)
    }

    /// Such as "NVIDIA H200 (sm_90)".
    pub fn name(&self) -> Result<String> {
        let mut text = [0; 256];
        // SAFETY: as many bytes as said; the driver ends the name with a zero.
        let name = unsafe {
            check(
                sys::cuDeviceGetName(text.as_mut_ptr(), text.len() as c_int, self.ordinal),
                "cuDeviceGetName",
            )?;
            CStr::from_ptr(text.as_ptr()).to_string_lossy().into_owned()
        };
        use sys::CUdevice_attribute::*;
        let major = self.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
        let minor = self.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        Ok(format!("{name} (sm_{major}{minor})"))
    }

    fn attribute(&self, attribute: sys::CUdevice_attribute) -> Result<c_int> {
        let mut value = 0;
        // SAFETY: writes a number.
        let answer = unsafe { sys::cuDeviceGetAttribute(&mut value, attribute, self.ordinal) };
        check(answer, "cuDeviceGetAttribute").map(|()| value)
    }

    /// Bytes of memory that are free, and all.
    pub fn memory(&self) -> Result<(u64, u64)> {
        let (mut free, mut total) = (0, 0);
        // SAFETY: writes two numbers; the context is current.
        check(unsafe { sys::cuMemGetInfo_v2(&mut free, &mut total) }, "cuMemGetInfo")?;
        Ok((free as u64, total as u64))
    }

    /// Waits for everything on the device.
    pub fn synchronize(&self) -> Result<()> {
        // SAFETY: the context is current.
        check(unsafe { sys::cuCtxSynchronize() }, "cuCtxSynchronize")
    }

    /// Destroys the state of the device and everything on it, as cudaDeviceReset does.
    ///
    /// # Safety
    /// Nothing of the device is used or dropped afterwards, this included, but for its own drop.
    pub unsafe fn reset(&self) -> Result<()> {
        // SAFETY: the caller's promise.
        check(unsafe { sys::cuDevicePrimaryCtxReset_v2(self.ordinal) }, "cuDevicePrimaryCtxReset")
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        let mut popped = null_mut();
        // SAFETY: pushed and retained when it was opened.
        unsafe {
            sys::cuCtxPopCurrent_v2(&mut popped);
            sys::cuDevicePrimaryCtxRelease_v2(self.ordinal);
        }
    }
}

/// The context of an open device, for other threads.
#[derive(Clone, Copy)]
pub struct ContextHandle<'a>(CUcontext, PhantomData<&'a Device>);
// SAFETY: a context may be current on several threads.
unsafe impl Send for ContextHandle<'_> {}
unsafe impl Sync for ContextHandle<'_> {}

/// Where the bytes of a buffer lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Device,
    Pinned,
    Managed,
}

/// Memory that the device can access, freed when dropped.
pub struct Buffer {
    pointer: DevicePointer,
    bytes: usize,
    place: Place,
}

// SAFETY: an address; the driver may free it from any thread whose context it is.
unsafe impl Send for Buffer {}
unsafe impl Sync for Buffer {}

/// Waits for a copy or a fill. The driver may return while the last part of them is on its way, and queues do not wait
/// for the default stream.
fn wait_for_default_stream() -> Result<()> {
    // SAFETY: a null stream is the default stream of the current context.
    check(unsafe { sys::cuStreamSynchronize(std::ptr::null_mut()) }, "cuStreamSynchronize")
}

impl Buffer {
    /// Device memory with undefined contents.
    pub fn new(bytes: usize) -> Result<Self> {
        let mut pointer = 0;
        // SAFETY: writes an address; freed when dropped.
        let answer = unsafe { sys::cuMemAlloc_v2(&mut pointer, bytes.max(1)) };
        check(answer, &format!("cuMemAlloc({bytes} bytes)"))?;
        Ok(Buffer { pointer, bytes, place: Place::Device })
    }

    /// Host memory that the device can write to.
    pub fn pinned(bytes: usize) -> Result<Self> {
        let mut pointer = null_mut();
        let flags = sys::CU_MEMHOSTALLOC_DEVICEMAP | sys::CU_MEMHOSTALLOC_PORTABLE;
        // SAFETY: writes an address; freed when dropped.
        check(unsafe { sys::cuMemHostAlloc(&mut pointer, bytes.max(1), flags) }, "cuMemHostAlloc")?;
        Ok(Buffer { pointer: pointer as u64, bytes, place: Place::Pinned })
    }

    /// Memory that moves between host and device.
    pub fn managed(bytes: usize) -> Result<Self> {
        let mut pointer = 0;
        let flags = sys::CUmemAttach_flags::CU_MEM_ATTACH_GLOBAL as u32;
        // SAFETY: writes an address; freed when dropped.
        check(unsafe { sys::cuMemAllocManaged(&mut pointer, bytes.max(1), flags) }, "cuMemAllocManaged")?;
        Ok(Buffer { pointer, bytes, place: Place::Managed })
    }

    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let buffer = Self::new(bytes.len())?;
        buffer.write(0, bytes)?;
        Ok(buffer)
    }

    pub fn pointer(&self) -> DevicePointer {
        self.pointer
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }

    fn check_range(&self, offset: usize, bytes: usize) -> Result<()> {
        match offset.checked_add(bytes) {
            Some(end) if end <= self.bytes => Ok(()),
            _ => Err(Error::argument(format!(
                "{bytes} bytes at {offset} exceed a buffer of {} bytes",
                self.bytes
            ))),
        }
    }

    pub fn write(&self, offset: usize, bytes: &[u8]) -> Result<()> {
        self.check_range(offset, bytes.len())?;
        // SAFETY: inside the buffer.
        let answer = unsafe {
            sys::cuMemcpyHtoD_v2(self.pointer + offset as u64, bytes.as_ptr().cast::<c_void>(), bytes.len())
        };
        check(answer, "cuMemcpyHtoD")?;
        wait_for_default_stream()
    }

    pub fn read(&self, offset: usize, bytes: usize) -> Result<Vec<u8>> {
        let mut out = vec![0; bytes];
        self.read_into(offset, &mut out)?;
        Ok(out)
    }

    pub fn read_into(&self, offset: usize, out: &mut [u8]) -> Result<()> {
        self.check_range(offset, out.len())?;
        // SAFETY: inside the buffer.
        let answer = unsafe {
            sys::cuMemcpyDtoH_v2(out.as_mut_ptr().cast::<c_void>(), self.pointer + offset as u64, out.len())
        };
        check(answer, "cuMemcpyDtoH")
    }

    /// Sets every byte.
    pub fn fill(&self, value: u8) -> Result<()> {
        // SAFETY: the whole buffer.
        check(unsafe { sys::cuMemsetD8_v2(self.pointer, value, self.bytes) }, "cuMemsetD8")?;
        wait_for_default_stream()
    }

    /// Copies `bytes` from one place of the buffer to another, in stream order.
    pub fn copy_within(&self, from: usize, to: usize, bytes: usize, queue: &Queue) -> Result<()> {
        self.check_range(from, bytes)?;
        self.check_range(to, bytes)?;
        let (from, to) = (self.pointer + from as u64, self.pointer + to as u64);
        // SAFETY: inside the buffer.
        check(unsafe { sys::cuMemcpyDtoDAsync_v2(to, from, bytes, queue.stream()) }, "cuMemcpyDtoDAsync")
    }

    /// Copies the first `bytes` of another buffer, in stream order.
    pub fn copy_from(&self, other: &Buffer, bytes: usize, queue: &Queue) -> Result<()> {
        self.check_range(0, bytes)?;
        other.check_range(0, bytes)?;
        // SAFETY: inside both.
        let answer = unsafe { sys::cuMemcpyDtoDAsync_v2(self.pointer, other.pointer, bytes, queue.stream()) };
        check(answer, "cuMemcpyDtoDAsync")
    }

    /// The number at a place.
    pub fn read_u64(&self, offset: usize) -> Result<u64> {
        Ok(self.read_words(offset, 1)?[0])
    }

    fn read_words(&self, offset: usize, words: usize) -> Result<Vec<u64>> {
        let bytes = self.read(offset, 8 * words)?;
        Ok(bytes.chunks_exact(8).map(|b| u64::from_le_bytes(b.try_into().expect("eight bytes"))).collect())
    }

    /// The report at the start of the buffer, once the work is done.
    pub fn read_report(&self) -> Result<Report> {
        let word = self.read_words(0, REPORT_BYTES / 8)?;
        Ok(Report {
            status: status_of(word[0] as u32 as i32)?,
            stream_bytes: word[1],
            required_bytes: word[2],
            exact_vertices: word[3],
            nonfinite_vertices: word[4],
            zero_vertices: word[5],
            critical_points: word[6],
            bound: f64::from_bits(word[7]),
            max_error: f64::from_bits(word[8]),
            filled_vertices: word[9],
            warnings: word[10] as u32,
        })
    }

    /// The `factz_comparison` at the start of the buffer, once the work is done.
    pub fn read_comparison(&self) -> Result<Comparison> {
        let word = self.read_words(0, COMPARISON_BYTES as usize / 8)?;
        match status_of(word[0] as u32 as i32)? {
            Status::Ok => {}
            status => return Err(Error::new(status, "the comparison failed")),
        }
        let psnr = f64::from_bits(word[17]);
        let comparison = Comparison {
            critical_points: word[2],
            critical_points_after: word[3],
            lost: word[4],
            spurious: word[5],
            type_changed: word[6],
            ties: word[7],
            tie_changed: word[8],
            tie_created: word[9],
            nonfinite_vertices: word[10],
            missing_changed: word[11],
            zero_vertices: word[12],
            zero_changed: word[13],
            bound_exceeded: word[14],
            bound: f64::from_bits(word[15]),
            max_error: f64::from_bits(word[16]),
            psnr: (!psnr.is_nan()).then_some(psnr),
            kinds: word[18..24].try_into().expect("six numbers"),
            filled_vertices: word[24],
        };
        match comparison.violations() == word[1] {
            true => Ok(comparison),
            false => Err(Error::new(Status::Internal, "the comparison does not add up: please report this")),
        }
    }

    /// The `factz_range` at the start of the buffer, once the work is done.
    pub fn read_range(&self) -> Result<ValueRange> {
        let word = self.read_words(0, RANGE_BYTES as usize / 8)?;
        match status_of(word[0] as u32 as i32)? {
            Status::Ok => Ok(ValueRange {
                low: f64::from_bits(word[1]),
                high: f64::from_bits(word[2]),
                nonfinite_vertices: word[3],
                filled_vertices: word[4],
                zero_vertices: word[5],
            }),
            status => Err(Error::new(status, "the search for the range failed")),
        }
    }

    /// The first `count` of an array of `factz_critical_point`, once the work is done.
    pub fn read_points(&self, count: usize) -> Result<Vec<CriticalPoint>> {
        let words = self.read_words(0, count * POINT_BYTES as usize / 8)?;
        words
            .chunks_exact(POINT_BYTES as usize / 8)
            .map(|w| {
                let kind = Kind::ALL.get((w[4] >> 32) as usize).copied();
                let kind = kind.ok_or_else(|| {
                    Error::new(Status::Internal, "a critical point of no known type: please report this")
                })?;
                Ok(CriticalPoint {
                    x_cell: w[0],
                    y_cell: w[1],
                    x: f64::from_bits(w[2]),
                    y: f64::from_bits(w[3]),
                    triangle: w[4] as u32,
                    kind,
                })
            })
            .collect()
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: allocated by the constructors, freed once.
        unsafe {
            match self.place {
                Place::Pinned => sys::cuMemFreeHost(self.pointer as *mut c_void),
                Place::Device | Place::Managed => sys::cuMemFree_v2(self.pointer),
            };
        }
    }
}

/// Bytes of a `factz_report`.
pub const REPORT_BYTES: usize = 128;

fn status_of(number: i32) -> Result<Status> {
    use Status::*;
    const ALL: [Status; 12] = [
        Ok,
        InvalidArgument,
        InvalidConfig,
        BufferTooSmall,
        WorkspaceTooSmall,
        CorruptStream,
        UnsupportedVersion,
        NoDevice,
        Cuda,
        OutOfMemory,
        Unsupported,
        Internal,
    ];
    usize::try_from(number).ok().and_then(|k| ALL.get(k).copied()).ok_or_else(|| {
        Error::new(Status::Internal, format!("the report holds the status {number}, which does not exist"))
    })
}

pub(super) fn bytes_of<T: Real>(values: &[T]) -> &[u8] {
    // SAFETY: plain numbers without padding.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast::<u8>(), std::mem::size_of_val(values)) }
}

pub(super) fn bytes_of_mut<T: Real>(values: &mut [T]) -> &mut [u8] {
    let bytes = std::mem::size_of_val(values);
    // SAFETY: plain numbers without padding, and any bytes are one.
    unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast::<u8>(), bytes) }
}

/// A CUDA stream of the current context that does not wait for the default stream.
pub struct Queue {
    stream: Stream,
}

// SAFETY: streams may be used from any thread.
unsafe impl Send for Queue {}
unsafe impl Sync for Queue {}

impl Queue {
    pub fn new() -> Result<Self> {
        let mut stream = null_mut();
        let flags = sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
        // SAFETY: writes a handle; destroyed when dropped.
        check(unsafe { sys::cuStreamCreate(&mut stream, flags) }, "cuStreamCreate")?;
        Ok(Queue { stream })
    }

    pub fn stream(&self) -> Stream {
        self.stream
    }

    pub fn synchronize(&self) -> Result<()> {
        // SAFETY: a live stream.
        check(unsafe { sys::cuStreamSynchronize(self.stream) }, "cuStreamSynchronize")
    }

    /// Records what `body` enqueues on this stream.
    pub fn capture(&self, body: impl FnOnce() -> Result<()>) -> Result<Graph> {
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        let (mut graph, mut executable) = (null_mut(), null_mut());
        // SAFETY: a live stream; the handles are destroyed here and when the graph is dropped.
        unsafe {
            check(sys::cuStreamBeginCapture_v2(self.stream, mode), "cuStreamBeginCapture")?;
            let recorded = body();
            check(sys::cuStreamEndCapture(self.stream, &mut graph), "cuStreamEndCapture").and(recorded)?;
            let made = sys::cuGraphInstantiateWithFlags(&mut executable, graph, 0);
            sys::cuGraphDestroy(graph);
            check(made, "cuGraphInstantiate")?;
        }
        Ok(Graph { executable })
    }

    /// Milliseconds that the device spends on what `body` enqueues on this stream.
    pub fn time(&self, body: impl FnOnce() -> Result<()>) -> Result<f64> {
        let (start, end) = (Event::new()?, Event::new()?);
        start.record(self)?;
        body()?;
        end.record(self)?;
        end.since(&start)
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        // SAFETY: created by new.
        unsafe { sys::cuStreamDestroy_v2(self.stream) };
    }
}

/// Recorded work that can be launched again and again.
pub struct Graph {
    executable: CUgraphExec,
}

impl Graph {
    pub fn launch(&self, queue: &Queue) -> Result<()> {
        // SAFETY: live handles.
        check(unsafe { sys::cuGraphLaunch(self.executable, queue.stream) }, "cuGraphLaunch")
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: made by capture.
        unsafe { sys::cuGraphExecDestroy(self.executable) };
    }
}

/// A point in a stream.
pub struct Event {
    event: CUevent,
}

impl Event {
    pub fn new() -> Result<Self> {
        let mut event = null_mut();
        // SAFETY: writes a handle; destroyed when dropped.
        check(unsafe { sys::cuEventCreate(&mut event, 0) }, "cuEventCreate")?;
        Ok(Event { event })
    }

    pub fn record(&self, queue: &Queue) -> Result<()> {
        // SAFETY: live handles.
        check(unsafe { sys::cuEventRecord(self.event, queue.stream) }, "cuEventRecord")
    }

    /// Waits for this event and answers the milliseconds since the other.
    pub fn since(&self, start: &Event) -> Result<f64> {
        let mut milliseconds = 0f32;
        // SAFETY: live handles, both recorded.
        unsafe {
            check(sys::cuEventSynchronize(self.event), "cuEventSynchronize")?;
            check(
                sys::cuEventElapsedTime_v2(&mut milliseconds, start.event, self.event),
                "cuEventElapsedTime",
            )?;
        }
        Ok(milliseconds as f64)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: created by new.
        unsafe { sys::cuEventDestroy_v2(self.event) };
    }
}
