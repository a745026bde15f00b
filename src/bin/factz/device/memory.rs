//! Memory that a device can access, and what the device functions write to it.

use super::check;
use super::queue::Queue;
use cudarc::driver::sys;
use factz::device::DevicePointer;
use factz::Real;
use factz::{Comparison, CriticalPoint, Kind, ValueRange};
use factz::{Error, Report, Result, Status};
use std::ffi::c_void;
use std::ptr::null_mut;

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
            status: status_of(word[0])?,
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
        let word = self.read_words(0, COMPARISON_BYTES / 8)?;
        match status_of(word[0])? {
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
        let word = self.read_words(0, RANGE_BYTES / 8)?;
        match status_of(word[0])? {
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
        let words = self.read_words(0, count * POINT_BYTES / 8)?;
        words
            .chunks_exact(POINT_BYTES / 8)
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

/// Bytes of a `factz_report`, a `factz_comparison`, a `factz_range` and a `factz_critical_point`.
pub const REPORT_BYTES: usize = 128;
pub const COMPARISON_BYTES: usize = 256;
pub const RANGE_BYTES: usize = 64;
pub const POINT_BYTES: usize = 40;

/// The status with a number that the device wrote.
fn status_of(word: u64) -> Result<Status> {
    use Status::*;
    let all = [
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
    let number = word as u32;
    all.into_iter().find(|&status| status as u32 == number).ok_or_else(|| {
        Error::new(Internal, format!("the device answered with the status {number}, which does not exist"))
    })
}

pub fn bytes_of<T: Real>(values: &[T]) -> &[u8] {
    // SAFETY: plain numbers without padding.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast::<u8>(), std::mem::size_of_val(values)) }
}

pub fn bytes_of_mut<T: Real>(values: &mut [T]) -> &mut [u8] {
    let bytes = std::mem::size_of_val(values);
    // SAFETY: plain numbers without padding, and any bytes are one.
    unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast::<u8>(), bytes) }
}
