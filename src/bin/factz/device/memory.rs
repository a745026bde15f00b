//! Memory that a device can access, and what the device functions write to it.

use super::check;
use super::queue::Queue;
use cudarc::driver::sys;
use factz::capi::analysis::{factz_comparison, factz_critical_point, FACTZ_INDEX_UNDEFINED};
use factz::capi::{protect::factz_fix_report, range::factz_range, report::factz_report};
use factz::device::DevicePointer;
use factz::{
    Comparison, CriticalPoint, Error, FixReport, Kind, Real, Report, Result, Simplex, Status, ValueRange,
};
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

/// Waits for a copy or a fill. The driver may return while the last part of them is on its way, and queues do
/// not wait for the default stream.
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
        let bytes = self.read(offset, 8)?;
        Ok(u64::from_le_bytes(bytes.try_into().expect("eight bytes")))
    }

    /// The first `count` of an array of structs.
    ///
    /// # Safety
    /// `T` is a struct of numbers, without padding.
    unsafe fn read_structs<T: Copy>(&self, count: usize) -> Result<Vec<T>> {
        // SAFETY: zeros make a number.
        let mut values = vec![unsafe { std::mem::zeroed::<T>() }; count];
        let bytes = size_of_val(&values[..]);
        // SAFETY: the bytes of the values, which any bytes may replace.
        let bytes = unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast::<u8>(), bytes) };
        self.read_into(0, bytes)?;
        Ok(values)
    }

    /// The report at the start of the buffer, once the work is done.
    pub fn read_report(&self) -> Result<Report> {
        // SAFETY: a struct of numbers.
        let r = unsafe { self.read_structs::<factz_report>(1) }?[0];
        Ok(Report {
            status: status_of(r.status)?,
            stream_bytes: r.stream_bytes,
            required_bytes: r.required_bytes,
            exact_vertices: r.exact_vertices,
            nonfinite_vertices: r.nonfinite_vertices,
            zero_vertices: r.zero_vertices,
            points_in_triangles: r.points_in_triangles,
            bound: r.bound,
            max_error: r.max_error,
            filled_vertices: r.filled_vertices,
            warnings: r.warnings,
        })
    }

    /// The report of a fix at the start of the buffer, once the work is done.
    pub fn read_fix_report(&self) -> Result<FixReport> {
        // SAFETY: a struct of numbers.
        let r = unsafe { self.read_structs::<factz_fix_report>(1) }?[0];
        Ok(FixReport {
            status: status_of(r.status)?,
            fix_bytes: r.fix_bytes,
            required_bytes: r.required_bytes,
            repaired_vertices: r.repaired_vertices,
            exact_vertices: r.exact_vertices,
            violated_triangles: r.violated_triangles,
            rounds: r.rounds,
            bound: r.bound,
            max_error: r.max_error,
        })
    }

    /// The result of a comparison at the start of the buffer, once the work is done.
    pub fn read_comparison(&self) -> Result<Comparison> {
        // SAFETY: a struct of numbers.
        let c = unsafe { self.read_structs::<factz_comparison>(1) }?[0];
        check_status(c.status, "the comparison failed")?;
        let comparison = Comparison {
            critical_points: c.critical_points,
            other_critical_points: c.other_critical_points,
            lost_points: c.lost_points,
            spurious_points: c.spurious_points,
            changed_types: c.changed_types,
            lost_zeros: c.lost_zeros,
            spurious_zeros: c.spurious_zeros,
            changed_indices: c.changed_indices,
            ties: c.ties,
            changed_ties: c.changed_ties,
            new_ties: c.new_ties,
            nonfinite_vertices: c.nonfinite_vertices,
            changed_missing: c.changed_missing,
            zero_vertices: c.zero_vertices,
            changed_zero_vertices: c.changed_zero_vertices,
            bound_exceeded: c.bound_exceeded,
            bound: c.bound,
            max_error: c.max_error,
            psnr: (!c.psnr.is_nan()).then_some(c.psnr),
            points_by_type: c.points_by_type,
            filled_vertices: c.filled_vertices,
        };
        match comparison.violations() == c.violations {
            true => Ok(comparison),
            false => Err(Error::new(Status::Internal, "the comparison does not add up: please report this")),
        }
    }

    /// The range at the start of the buffer, once the work is done.
    pub fn read_range(&self) -> Result<ValueRange> {
        // SAFETY: a struct of numbers.
        let r = unsafe { self.read_structs::<factz_range>(1) }?[0];
        check_status(r.status, "the search for the range failed")?;
        Ok(ValueRange {
            low: r.low,
            high: r.high,
            nonfinite_vertices: r.nonfinite_vertices,
            filled_vertices: r.filled_vertices,
            zero_vertices: r.zero_vertices,
        })
    }

    /// The first `count` critical points of an array, once the work is done.
    pub fn read_points(&self, count: usize) -> Result<Vec<CriticalPoint>> {
        // SAFETY: a struct of numbers.
        let points = unsafe { self.read_structs::<factz_critical_point>(count) }?;
        let unknown = |what: &str| {
            Error::new(Status::Internal, format!("a critical point of no known {what}: please report this"))
        };
        let converted = |p: factz_critical_point| {
            let kind = Kind::ALL.into_iter().find(|&kind| kind as i32 == p.point_type);
            let simplex = Simplex::ALL.into_iter().find(|&simplex| simplex as i32 == p.simplex);
            Ok(CriticalPoint {
                cell_x: p.cell_x,
                cell_y: p.cell_y,
                cell_z: p.cell_z,
                simplex: simplex.ok_or_else(|| unknown("simplex"))?,
                kind: kind.ok_or_else(|| unknown("type"))?,
                index: (p.index != FACTZ_INDEX_UNDEFINED).then_some(p.index),
                rounding_divergence: p.rounding_divergence != 0,
                x: p.x,
                y: p.y,
                eigenvalues_real: p.eigenvalues_real,
                eigenvalues_imaginary: p.eigenvalues_imaginary,
            })
        };
        points.into_iter().map(converted).collect()
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

/// Bytes of a report: those of a codec and of a fix are as large.
pub const REPORT_BYTES: usize = size_of::<factz_report>();
const _: () = assert!(size_of::<factz_fix_report>() == REPORT_BYTES);
pub const COMPARISON_BYTES: usize = size_of::<factz_comparison>();
pub const RANGE_BYTES: usize = size_of::<factz_range>();
pub const POINT_BYTES: usize = size_of::<factz_critical_point>();

/// The status with a number that the device wrote.
fn status_of(number: i32) -> Result<Status> {
    factz::capi::status::with_number(number).ok_or_else(|| {
        let message = format!("the device answered with the status {number}, which does not exist");
        Error::new(Status::Internal, message)
    })
}

/// Passes a call that went well; otherwise an error with its status.
fn check_status(number: i32, message: &'static str) -> Result<()> {
    match status_of(number)? {
        Status::Ok => Ok(()),
        status => Err(Error::new(status, message)),
    }
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
