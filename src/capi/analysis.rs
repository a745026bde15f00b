//! Critical points of a field and comparison of two fields, on the host.

use super::arguments::{check_struct, check_vertices, thread_count, Field, Ghosts, Span};
use super::config::{factz_config, read_request};
use super::status::{factz_status, guard};
use crate::error::{Error, Result, Status};
use crate::request::Request;
use std::ffi::{c_int, c_void};
use std::mem::{offset_of, size_of};

/// `type`: det J < 0.
pub const FACTZ_POINT_SADDLE: i32 = 0;
/// `type`: real eigenvalues, both positive: the field flows out.
pub const FACTZ_POINT_SOURCE_NODE: i32 = 1;
/// `type`: complex eigenvalues with positive real part.
pub const FACTZ_POINT_SOURCE_SPIRAL: i32 = 2;
/// `type`: real eigenvalues, both negative: the field flows in.
pub const FACTZ_POINT_SINK_NODE: i32 = 3;
/// `type`: complex eigenvalues with negative real part.
pub const FACTZ_POINT_SINK_SPIRAL: i32 = 4;
/// `type`: imaginary eigenvalues.
pub const FACTZ_POINT_CENTRE: i32 = 5;
/// `type`: rounding leaves it open; compression stores the three vertices exactly.
pub const FACTZ_POINT_UNCERTAIN: i32 = 6;

/// `triangle`: the vertices (x, y), (x+1, y), (x+1, y+1) of the cell.
pub const FACTZ_TRIANGLE_LOWER: i32 = 0;
/// `triangle`: the vertices (x, y), (x+1, y+1), (x, y+1) of the cell.
pub const FACTZ_TRIANGLE_UPPER: i32 = 1;

/// A critical point: a zero strictly inside a triangle of the piecewise linear field.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct factz_critical_point {
    /// Column of the cell, 0 to nx - 2.
    pub cell_x: u64,
    /// Row of the cell, 0 to ny - 2.
    pub cell_y: u64,
    /// Position along x in units of the vertex index: cell_x to cell_x + 1. Multiply by dx for lengths.
    pub x: f64,
    /// Position along y in units of the vertex index.
    pub y: f64,
    /// FACTZ_TRIANGLE_LOWER or FACTZ_TRIANGLE_UPPER.
    pub triangle: i32,
    /// FACTZ_POINT_*.
    pub point_type: i32,
}

const _: () = {
    assert!(size_of::<factz_critical_point>() == 40 && std::mem::align_of::<factz_critical_point>() == 8);
    assert!(offset_of!(factz_critical_point, cell_x) == 0);
    assert!(offset_of!(factz_critical_point, cell_y) == 8);
    assert!(offset_of!(factz_critical_point, x) == 16);
    assert!(offset_of!(factz_critical_point, y) == 24);
    assert!(offset_of!(factz_critical_point, triangle) == 32);
    assert!(offset_of!(factz_critical_point, point_type) == 36);
};

/// How a field differs from another. Aligned to 8 bytes.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct factz_comparison {
    /// The status of the comparison; the other fields count only when it is FACTZ_OK. Differences are
    /// no error.
    pub status: factz_status,
    /// 0.
    pub reserved_status: i32,
    /// Critical points of the first field.
    pub critical_points: u64,
    /// Critical points of the other field.
    pub other_critical_points: u64,
    /// P1: triangles with a critical point in the first field and none in the other.
    pub lost_points: u64,
    /// P2: triangles with a critical point in the other field and none in the first.
    pub new_points: u64,
    /// P3: triangles with a critical point in both whose type differs.
    pub changed_types: u64,
    /// Degenerate triangles (the zero lies on an edge or a vertex) whose signature changed.
    pub changed_ties: u64,
    /// Vertices that are not finite in one field and differ bitwise from the other.
    pub changed_nonfinite: u64,
    /// Largest |other - first| over values that are finite in both.
    pub max_error: f64,
    /// Peak signal-to-noise ratio in dB: 20 log10 of the joint range of the first field over the root
    /// mean square error. Infinite where nothing differs.
    pub psnr: f64,
    /// 0.
    pub reserved: [u64; 6],
}

const _: () = {
    assert!(size_of::<factz_comparison>() == 128 && std::mem::align_of::<factz_comparison>() == 8);
    assert!(offset_of!(factz_comparison, status) == 0);
    assert!(offset_of!(factz_comparison, critical_points) == 8);
    assert!(offset_of!(factz_comparison, other_critical_points) == 16);
    assert!(offset_of!(factz_comparison, lost_points) == 24);
    assert!(offset_of!(factz_comparison, new_points) == 32);
    assert!(offset_of!(factz_comparison, changed_types) == 40);
    assert!(offset_of!(factz_comparison, changed_ties) == 48);
    assert!(offset_of!(factz_comparison, changed_nonfinite) == 56);
    assert!(offset_of!(factz_comparison, max_error) == 64);
    assert!(offset_of!(factz_comparison, psnr) == 72);
    assert!(offset_of!(factz_comparison, reserved) == 80);
};

/// Extracts the critical points of a field in host memory.
///
/// The points come in the order of their cells, row by row, lower triangle first, whatever the number
/// of threads. Triangles with a NaN or an infinity have none. Ghost vertices are not looked at. Blocks
/// until the work is done. Thread-safe and reentrant.
///
/// @param u         the x components, laid out as config says; not changed
/// @param v         the y components
/// @param n         number of vertices, nx * ny
/// @param config    nx, ny, dtype, the layout, and dx and dy for the types. The rest must be valid but
///                  has no effect
/// @param points    receives the points; must not overlap u or v. May be NULL when capacity is 0
/// @param capacity  how many points fit
/// @param count     receives the number of points in the field, also when they do not all fit; 0 when the
///                  call fails otherwise
/// @param threads   threads to use; 0 means one per processor, more than 1024 count as 1024
/// @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT; FACTZ_ERROR_INVALID_CONFIG; FACTZ_ERROR_UNSUPPORTED;
///         FACTZ_ERROR_BUFFER_TOO_SMALL (the first `capacity` points were written; *count says how many
///         there are); FACTZ_ERROR_OUT_OF_MEMORY; FACTZ_ERROR_INTERNAL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn factz_critical_points_host(
    u: *const c_void,
    v: *const c_void,
    n: usize,
    config: *const factz_config,
    points: *mut factz_critical_point,
    capacity: usize,
    count: *mut u64,
    threads: c_int,
) -> factz_status {
    guard(|| {
        check_struct("count", count)?;
        // SAFETY: the caller gave a configuration of struct_size bytes.
        let request = unsafe { read_request("config", config) }?;
        check_vertices(n, &request)?;
        let field = Field::new(["u", "v"], u, v, &request, Ghosts::Ignored)?;
        let target = check_points(points, capacity)?;
        target.check_apart(&[&field.u, &field.v])?;
        Span::of("count", count).check_apart(&[&field.u, &field.v, &target])?;
        // SAFETY: not null and aligned, and apart from everything else.
        unsafe { count.write(0) };
        let threads = thread_count(threads)?;
        // SAFETY: u and v cover the request's grid, as the caller promised.
        let found = unsafe { find(&request, u, v, threads) }?;
        for (k, point) in found.iter().take(capacity).enumerate() {
            // SAFETY: the caller gave room for `capacity` points.
            unsafe { points.add(k).write(*point) };
        }
        // SAFETY: as above.
        unsafe { count.write(found.len() as u64) };
        if found.len() > capacity {
            return Err(Error::new(
                Status::BufferTooSmall,
                format!("capacity = {capacity} but the field has {} critical points", found.len()),
            ));
        }
        tracing::debug!(target: "factz", critical_points = found.len(), "extracted critical points");
        Ok(())
    })
}

/// Compares a field with another one, usually an original with its decompressed copy.
///
/// With FACTZ_PRESERVE_TYPES all of lost_points, new_points, changed_types, changed_ties and
/// changed_nonfinite are 0 and max_error is at most the bound. Ghost vertices are not looked at. Blocks
/// until the work is done. Thread-safe and reentrant.
///
/// @param u             the x components of the first field, laid out as config says; not changed
/// @param v             its y components
/// @param n             number of vertices, nx * ny
/// @param config        nx, ny, dtype, the layout of u and v, and dx and dy for the types. The rest must be
///                      valid but has no effect
/// @param other_u       the x components of the other field; not changed
/// @param other_v       its y components
/// @param other_config  the layout of other_u and other_v; nx, ny and dtype as in config. NULL means
///                      config
/// @param comparison    written, with `status` alone where the call fails
/// @param threads       threads to use; 0 means one per processor, more than 1024 count as 1024
/// @return FACTZ_OK (whatever the differences); FACTZ_ERROR_INVALID_ARGUMENT; FACTZ_ERROR_INVALID_CONFIG;
///         FACTZ_ERROR_UNSUPPORTED; FACTZ_ERROR_OUT_OF_MEMORY; FACTZ_ERROR_INTERNAL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn factz_compare_host(
    u: *const c_void,
    v: *const c_void,
    n: usize,
    config: *const factz_config,
    other_u: *const c_void,
    other_v: *const c_void,
    other_config: *const factz_config,
    comparison: *mut factz_comparison,
    threads: c_int,
) -> factz_status {
    let mut writable = false;
    let mut answer = factz_comparison::default();
    let status = guard(|| {
        check_struct("comparison", comparison)?;
        // SAFETY: the caller gave configurations of struct_size bytes.
        let pair = unsafe { read_pair(config, other_config) }?;
        let fields = check_fields(&pair, [u, v], [other_u, other_v], n)?;
        let inputs = [&fields[0].u, &fields[0].v, &fields[1].u, &fields[1].v];
        Span::of("comparison", comparison).check_apart(&inputs)?;
        writable = true;
        let threads = thread_count(threads)?;
        // SAFETY: the components cover the grids of the requests, as the caller promised.
        answer = unsafe { compare(&pair, [u, v], [other_u, other_v], threads) }?;
        tracing::debug!(
            target: "factz",
            lost_points = answer.lost_points,
            new_points = answer.new_points,
            changed_types = answer.changed_types,
            max_error = answer.max_error,
            "compared"
        );
        Ok(())
    });
    if writable {
        answer.status = status;
        // SAFETY: not null, aligned and apart from the fields; the caller gave a whole struct.
        unsafe { comparison.write(answer) };
    }
    status
}

/// An array of points: may be null when nothing fits.
pub(super) fn check_points(points: *const factz_critical_point, capacity: usize) -> Result<Span> {
    if capacity > 0 && points.is_null() {
        return Err(Error::argument(format!("points is null but capacity = {capacity}")));
    }
    if !points.is_aligned() {
        return Err(Error::argument(format!("points = {points:p} is not aligned to 8 bytes")));
    }
    match capacity.checked_mul(size_of::<factz_critical_point>()) {
        Some(bytes) => super::arguments::check_buffer("points", points.cast(), bytes),
        None => Err(Error::argument(format!("capacity = {capacity} points exceed the address space"))),
    }
}

/// The configurations of two fields of one shape.
///
/// # Safety
/// As for [`read_request`]; `other_config` may be null.
pub(super) unsafe fn read_pair(
    config: *const factz_config,
    other_config: *const factz_config,
) -> Result<[Request; 2]> {
    // SAFETY: the promise of this function.
    let first = unsafe { read_request("config", config) }?;
    if other_config.is_null() {
        return Ok([first, first]);
    }
    // SAFETY: the promise of this function.
    let other = unsafe { read_request("other_config", other_config) }?;
    let (a, b) = (first.config(), other.config());
    if (a.nx, a.ny, a.dtype) != (b.nx, b.ny, b.dtype) {
        return Err(Error::argument(format!(
            "other_config describes {} x {} {:?} vertices, config {} x {} {:?}",
            b.nx, b.ny, b.dtype, a.nx, a.ny, a.dtype
        )));
    }
    Ok([first, other])
}

pub(super) fn check_fields(
    pair: &[Request; 2],
    first: [*const c_void; 2],
    other: [*const c_void; 2],
    n: usize,
) -> Result<[Field; 2]> {
    check_vertices(n, &pair[0])?;
    Ok([
        Field::new(["u", "v"], first[0], first[1], &pair[0], Ghosts::Ignored)?,
        Field::new(["other_u", "other_v"], other[0], other[1], &pair[1], Ghosts::Ignored)?,
    ])
}

unsafe fn find(
    _request: &Request,
    _u: *const c_void,
    _v: *const c_void,
    _threads: usize,
) -> Result<Vec<factz_critical_point>> {
    Err(Error::new(Status::Unsupported, "the analysis is not there yet"))
}

unsafe fn compare(
    _pair: &[Request; 2],
    _first: [*const c_void; 2],
    _other: [*const c_void; 2],
    _threads: usize,
) -> Result<factz_comparison> {
    Err(Error::new(Status::Unsupported, "the analysis is not there yet"))
}
