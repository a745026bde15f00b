//! `factz_report`: what a compression or decompression found out.

use super::arguments::{guard_with_output, Output};
use super::status::factz_status;
use crate::error::{Error, Result, Status};
use crate::report::{self, Report};

/// Bit of `warnings`, with a relative bound only: outliers make the range of the field, such as a fill value
/// that the configuration does not name, and the bound may be larger than all data. Of a fixed sample of at
/// most 1024 vertices (those that are zero, filled or not finite do not count), a sixteenth or more is
/// smaller than a millionth of the range, and a sixteenth or less lies between that and a quarter of the
/// range. What to do: set fill_value, or give an absolute bound.
pub const FACTZ_WARNING_WIDE_RANGE: u32 = 1;
const _: () = assert!(FACTZ_WARNING_WIDE_RANGE == report::WARNING_WIDE_RANGE);

/// The outcome of a compression or decompression. It holds plain numbers and no pointers, so it may lie
/// anywhere the function can write: in host memory for the `_host` functions, in device or mapped pinned
/// memory for the `_device` functions. Aligned to 8 bytes. Needs no initial values: every field is
/// written.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct factz_report {
    /// The status of the work itself: FACTZ_OK only when the bound and the critical points hold.
    pub status: factz_status,
    /// 0.
    pub reserved_status: i32,
    /// Bytes of the stream that were written (compression) or read (decompression; of a region, a part).
    pub stream_bytes: u64,
    /// Bytes that the stream takes, also when the buffer of a compression was too small for it; stream_bytes
    /// after every success but that of a region.
    pub required_bytes: u64,
    /// Vertices stored bit for bit because no lossy value could be certified.
    pub exact_vertices: u64,
    /// Vertices with a NaN or an infinity; they are stored bit for bit.
    pub nonfinite_vertices: u64,
    /// Vertices with u = v = 0 that are not filled; they stay exactly zero, of either sign above a bound of
    /// 0.
    pub zero_vertices: u64,
    /// Critical points of the field that lie strictly inside triangles; 0 with FACTZ_PRESERVE_NONE and after
    /// decompression. Those at vertices and on edges are not among them: `factz_critical_points_host` lists
    /// all.
    pub points_in_triangles: u64,
    /// The absolute bound that was applied, in the unit of the field.
    pub bound: f64,
    /// Largest |decompressed - original| over all finite values, as computed in the type of the field; 0
    /// after decompression, which does not see the original.
    pub max_error: f64,
    /// Filled vertices (config->fill_value) whose values are finite; those with a NaN or an infinity are
    /// counted above. All are stored bit for bit.
    pub filled_vertices: u64,
    /// FACTZ_WARNING_* bits; 0 after decompression.
    pub warnings: u32,
    /// 0.
    pub reserved_flags: u32,
    /// 0.
    pub reserved: [u64; 5],
}

assert_layout! {
    factz_report, 128 bytes:
    status 0, stream_bytes 8, required_bytes 16, exact_vertices 24, nonfinite_vertices 32, zero_vertices 40,
    points_in_triangles 48, bound 56, max_error 64, filled_vertices 72, warnings 80, reserved_flags 84,
    reserved 88
}

impl From<&Report> for factz_report {
    fn from(r: &Report) -> Self {
        factz_report {
            status: r.status as factz_status,
            reserved_status: 0,
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
            reserved_flags: 0,
            reserved: [0; 5],
        }
    }
}

/// Runs a host export that fills a report, as [`guard_with_output`] does. It fails with the status of the
/// report, whose other fields then are those of the work.
///
/// # Safety
/// `report` is null or points to a writable struct.
pub(super) unsafe fn guard_with_report(
    report: *mut factz_report,
    dst_bytes: usize,
    body: impl FnOnce(&mut Output<factz_report>) -> Result<Report>,
) -> factz_status {
    let settled = |output: &mut Output<factz_report>| {
        let done = body(output)?;
        output.set(factz_report::from(&done));
        let message = match done.status {
            Status::Ok => return Ok(()),
            Status::BufferTooSmall => format!(
                "dst_bytes = {dst_bytes} is too small: the stream takes {} bytes",
                done.required_bytes
            ),
            status => format!("the work ended with {status:?}"),
        };
        Err(Error::new(done.status, message))
    };
    let blank = factz_report::from(&Report::default());
    // SAFETY: the promise of this function.
    unsafe { guard_with_output("report", report, blank, settled, |r, status| r.status = status) }
}
