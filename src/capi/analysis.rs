//! Critical points of a field and comparison of two fields, on the host.

use super::arguments::{guard_with_output, thread_count, typed, views, Field, Ghosts, Output, Span};
use super::config::{factz_config, inputs, read_field_request, read_request};
use super::status::factz_status;
use crate::analysis::{self, check_same_ghosts, Comparison, CriticalPoint, Kind, Simplex};
use crate::error::{Error, Result, Status};
use crate::request::Request;
use crate::runtime::log::event;
use std::ffi::{c_int, c_void};
use std::mem::size_of;

/// `point_type`: inside a triangle, det J < 0.
pub const FACTZ_POINT_SADDLE: i32 = 0;
/// `point_type`: inside a triangle, the field flows in, along two directions.
pub const FACTZ_POINT_ATTRACTING_NODE: i32 = 1;
/// `point_type`: inside a triangle, the field flows out, along two directions.
pub const FACTZ_POINT_REPELLING_NODE: i32 = 2;
/// `point_type`: inside a triangle, the field spirals in.
pub const FACTZ_POINT_ATTRACTING_FOCUS: i32 = 3;
/// `point_type`: inside a triangle, the field spirals out.
pub const FACTZ_POINT_REPELLING_FOCUS: i32 = 4;
/// `point_type`: inside a triangle, the field circles around it (the trace of J is exactly 0).
pub const FACTZ_POINT_CENTER: i32 = 5;
/// `point_type`: at a vertex, where u = v = 0. No J belongs to it: see `index`.
pub const FACTZ_POINT_VERTEX_ZERO: i32 = 6;
/// `point_type`: inside an edge, whose vectors have opposite directions. No J belongs to it: see `index`.
pub const FACTZ_POINT_EDGE_ZERO: i32 = 7;

/// `simplex`: the triangle with the vertices (x, y), (x+1, y), (x+1, y+1).
pub const FACTZ_SIMPLEX_LOWER: i32 = 0;
/// `simplex`: the triangle with the vertices (x, y), (x+1, y+1), (x, y+1).
pub const FACTZ_SIMPLEX_UPPER: i32 = 1;
/// `simplex`: the edge from (x, y) to (x+1, y).
pub const FACTZ_SIMPLEX_EDGE_X: i32 = 2;
/// `simplex`: the edge from (x, y) to (x, y+1).
pub const FACTZ_SIMPLEX_EDGE_Y: i32 = 3;
/// `simplex`: the edge from (x, y) to (x+1, y+1).
pub const FACTZ_SIMPLEX_DIAGONAL: i32 = 4;
/// `simplex`: the vertex (x, y).
pub const FACTZ_SIMPLEX_VERTEX: i32 = 5;

/// `index`: not defined, at the border of the grid or beside missing vertices.
pub const FACTZ_INDEX_UNDEFINED: i32 = -100;

// The C numbers are those of the enumerations.
const _: () = {
    assert!(FACTZ_POINT_SADDLE == Kind::Saddle as i32 && FACTZ_POINT_CENTER == Kind::Center as i32);
    assert!(FACTZ_POINT_ATTRACTING_NODE == Kind::AttractingNode as i32);
    assert!(FACTZ_POINT_REPELLING_NODE == Kind::RepellingNode as i32);
    assert!(FACTZ_POINT_ATTRACTING_FOCUS == Kind::AttractingFocus as i32);
    assert!(FACTZ_POINT_REPELLING_FOCUS == Kind::RepellingFocus as i32);
    assert!(FACTZ_POINT_VERTEX_ZERO == Kind::VertexZero as i32);
    assert!(FACTZ_POINT_EDGE_ZERO == Kind::EdgeZero as i32);
    assert!(Kind::COUNT == 8);
    assert!(FACTZ_INDEX_UNDEFINED == analysis::INDEX_UNDEFINED);
    assert!(FACTZ_SIMPLEX_LOWER == Simplex::Lower as i32 && FACTZ_SIMPLEX_UPPER == Simplex::Upper as i32);
    assert!(FACTZ_SIMPLEX_EDGE_X == Simplex::EdgeX as i32 && FACTZ_SIMPLEX_EDGE_Y == Simplex::EdgeY as i32);
    assert!(FACTZ_SIMPLEX_DIAGONAL == Simplex::Diagonal as i32);
    assert!(FACTZ_SIMPLEX_VERTEX == Simplex::Vertex as i32);
};

/// A critical point: a zero of the piecewise linear field, strictly inside a triangle, or at a vertex or
/// inside an edge without other zeros beside it. Segments and areas of zeros (coasts, walls) are no critical
/// points.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct factz_critical_point {
    /// Column of the vertex (x, y) that the simplex belongs to, 0 to nx - 1.
    pub cell_x: u64,
    /// Row of the vertex, 0 to ny - 1.
    pub cell_y: u64,
    /// Its plane, 0 to nz - 1.
    pub cell_z: u64,
    /// Position along x: dx, with its sign, times a number from cell_x to cell_x + 1.
    pub x: f64,
    /// Position along y: dy, with its sign, times a number from cell_y to cell_y + 1.
    pub y: f64,
    /// FACTZ_SIMPLEX_*: the triangle, edge or vertex that holds the point.
    pub simplex: i32,
    /// FACTZ_POINT_*.
    pub point_type: i32,
    /// The Poincare index: how often the vector turns on the way around the point. Inside a triangle -1 of a
    /// saddle and 1 of all others; inside an edge -1, 0 or 1; at a vertex -2 to 2; or FACTZ_INDEX_UNDEFINED.
    pub index: i32,
    /// 1 for a focus whose divergence is at the level of rounding: |trace J| is at most 1e-5 (float) or 1e-12
    /// (double) of the sum of the magnitudes of the four derivatives. The flow may be free of divergence, and
    /// the point a centre in truth. 0 for all others.
    pub rounding_divergence: i32,
    /// Real parts of the eigenvalues of J, rounded, in units of the field over those of dx and dy: the larger
    /// one first. NaN at vertices and on edges, and where the derivatives overflow.
    pub eigenvalues_real: [f64; 2],
    /// Their imaginary parts: the positive one first.
    pub eigenvalues_imaginary: [f64; 2],
}

assert_layout! {
    factz_critical_point, 88 bytes:
    cell_x 0, cell_y 8, cell_z 16, x 24, y 32, simplex 40, point_type 44, index 48, rounding_divergence 52,
    eigenvalues_real 56, eigenvalues_imaginary 72
}

/// How a field differs from another. Aligned to 8 bytes. A vertex is missing where u or v is NaN or infinite,
/// or, in the first field, has the bits of config->fill_value. Triangles are compared where no vertex is
/// missing in either field; every sign is decided exactly. Counts of vertices and of values are over the
/// nx * ny owned vertices, without ghosts.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct factz_comparison {
    /// The status of the comparison; the other fields count only when it is FACTZ_OK. Differences are
    /// no error.
    pub status: factz_status,
    /// 0.
    pub reserved_status: i32,
    /// Differences that are 0 after compression with FACTZ_PRESERVE_TYPES: lost_points + spurious_points +
    /// changed_types, all three of points inside triangles, + changed_ties + new_ties + changed_missing +
    /// bound_exceeded. Zeros at vertices and on edges take part by their ties: with FACTZ_TIES_ALL 0 here
    /// means that they are all kept, with their indices.
    pub violations: u64,
    /// Critical points of the first field: those that `factz_critical_points_host` lists.
    pub critical_points: u64,
    /// Critical points of the other field.
    pub other_critical_points: u64,
    /// P1: simplices (triangles, edges, vertices) with a critical point in the first field and none in the
    /// other.
    pub lost_points: u64,
    /// P2: simplices with a critical point in the other field and none in the first.
    pub spurious_points: u64,
    /// P3: simplices with a critical point in both, of different types; of vertices and edges, of different
    /// indices.
    pub changed_types: u64,
    /// Ties of the first field: triangles where the zero lies on an edge or a vertex.
    pub ties: u64,
    /// Ties of the first field that are none in the other, or where a sign differs. With FACTZ_TIES_ZEROS in
    /// config, ties with zero vertices count where the points at which the triangle is zero differ, and signs
    /// do not matter. With FACTZ_TIES_SOS ties count where the answer of the rule differs, where other
    /// vertices are zero, or where the tie is a critical point in the other field.
    pub changed_ties: u64,
    /// Ties of the other field that are none in the first.
    pub new_ties: u64,
    /// Vertices of the first field with a NaN or an infinity.
    pub nonfinite_vertices: u64,
    /// Missing vertices of the first field whose bits differ in the other field, and other vertices that are
    /// not finite in the other field.
    pub changed_missing: u64,
    /// Vertices of the first field with u = v = 0 that are not filled.
    pub zero_vertices: u64,
    /// Vertices with u = v = 0 in one field only.
    pub changed_zero_vertices: u64,
    /// Values with |other - first| above `bound`, compared exactly.
    pub bound_exceeded: u64,
    /// The absolute bound that was checked: config->bound where its kind is FACTZ_BOUND_ABSOLUTE, the same
    /// fraction of the first field's range as in compression where it is FACTZ_BOUND_RELATIVE
    /// (`factz_relative_bound`).
    pub bound: f64,
    /// Largest |other - first| over values that are finite in both, of vertices that are not filled in the
    /// first.
    pub max_error: f64,
    /// Peak signal-to-noise ratio in dB: 20 log10 of the joint range of the first field over the root
    /// mean square error. Infinite where nothing differs, NaN where it is not defined.
    pub psnr: f64,
    /// The first field's critical points by type, indexed by FACTZ_POINT_*.
    pub points_by_type: [u64; 8],
    /// Finite vertices of the first field with the fill value.
    pub filled_vertices: u64,
    /// Of lost_points, zeros at vertices and inside edges.
    pub lost_zeros: u64,
    /// Of spurious_points, zeros at vertices and inside edges.
    pub spurious_zeros: u64,
    /// Of changed_types, zeros at vertices and inside edges.
    pub changed_indices: u64,
    /// 0.
    pub reserved: [u64; 2],
}

assert_layout! {
    factz_comparison, 256 bytes:
    status 0, violations 8, critical_points 16, other_critical_points 24, lost_points 32,
    spurious_points 40, changed_types 48, ties 56, changed_ties 64, new_ties 72, nonfinite_vertices 80,
    changed_missing 88, zero_vertices 96, changed_zero_vertices 104, bound_exceeded 112, bound 120, max_error 128,
    psnr 136, points_by_type 144, filled_vertices 208, lost_zeros 216, spurious_zeros 224,
    changed_indices 232, reserved 240
}

/// Extracts the critical points of a field in host memory.
///
/// The points are sorted plane by plane, by (cell_x, cell_y), row by row, then by simplex. Triangles with
/// a NaN, an infinity or the fill value at a vertex do not count: they hold no point, and are no
/// surroundings of a zero at a vertex or on an edge, which needs one triangle at least.
///
/// Blocks of a field: a block has the points with (cell_x, cell_y) among its vertices. The ghosts of all
/// sides in config->halo are read. If every side with a neighbour has a halo, each point belongs to exactly
/// one block.
///
/// @param u         x components, laid out as config says
/// @param v         y components
/// @param n         number of vertices, nx * ny
/// @param config    nx, ny, dtype, the layout, halo, the fill value, and dx and dy for the types; the rest
///                  must be valid and has no effect
/// @param points    receives the points; may be NULL if capacity is 0
/// @param capacity  number of points that fit
/// @param count     receives the number of points of the field, which may exceed capacity; 0 if the call
///                  fails for another reason
/// @param threads   see "Threads" at the top of this header
/// @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT; FACTZ_ERROR_INVALID_CONFIG; FACTZ_ERROR_UNSUPPORTED;
///         FACTZ_ERROR_BUFFER_TOO_SMALL (the first `capacity` points were written);
///         FACTZ_ERROR_OUT_OF_MEMORY; FACTZ_ERROR_INTERNAL
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
    let body = |output: &mut Output<u64>| {
        output.check_apart(&inputs(config, u, v).each_ref())?;
        // SAFETY: the caller gave a whole struct.
        let request = unsafe { read_field_request(config, n) }?;
        let field = Field::new(["u", "v"], u, v, &request, Ghosts::Read)?;
        output.check_apart(&[&field.u, &field.v])?;
        let target = check_points(points, capacity)?;
        target.check_apart(&[&field.u, &field.v, output.span()])?;
        let threads = thread_count(threads)?;
        let found = typed!(request.config().dtype, T => {
            // SAFETY: u and v cover the request's grid and its ghosts, as the caller promised.
            let components = unsafe { views::<T>(&request, [u, v], Ghosts::Read) };
            analysis::critical_points(&request, components, threads)
        })?;
        for (k, point) in found.iter().take(capacity).enumerate() {
            // SAFETY: the caller gave room for `capacity` points.
            unsafe { points.add(k).write(point.into()) };
        }
        output.set(found.len() as u64);
        if found.len() > capacity {
            return Err(Error::new(
                Status::BufferTooSmall,
                format!("capacity = {capacity} but the field has {} critical points", found.len()),
            ));
        }
        event!(DEBUG, "extracted critical points", critical_points = found.len());
        Ok(())
    };
    // SAFETY: the caller gave a whole number.
    unsafe { guard_with_output("count", count, 0, body, |_, _| {}) }
}

/// Compares a field with another one, usually an original with its decompressed copy. After compression with
/// FACTZ_PRESERVE_TYPES `violations` is 0.
///
/// Blocks of a field: triangles and points are those of `factz_critical_points_host`, so the counts of all
/// blocks add up to those of the field. Both fields need the ghosts of all sides in config->halo; after
/// decompression these are the values that the neighbours decompressed.
///
/// @param u             x components of the first field, laid out as config says
/// @param v             its y components
/// @param n             number of vertices, nx * ny
/// @param config        nx, ny, dtype, the layout of u and v, halo, the fill value, dx and dy for the types,
///                      ties, and the bound; the rest must be valid and has no effect
/// @param other_u       x components of the other field
/// @param other_v       its y components
/// @param other_config  the layout of other_u and other_v; nx, ny, dtype and halo as in config. NULL stands
///                      for config
/// @param comparison    receives the result; if the call fails, its status and zeros
/// @param threads       see "Threads" at the top of this header
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
    let body = |output: &mut Output<factz_comparison>| {
        output.check_apart(&inputs(config, u, v).each_ref())?;
        let others = [other_u.cast::<f32>(), other_v.cast()];
        let others = [Span::of("other_u", others[0]), Span::of("other_v", others[1])];
        output.check_apart(&[&Span::of("other_config", other_config), &others[0], &others[1]])?;
        // SAFETY: the caller gave whole structs.
        let pair = unsafe { read_pair(config, other_config, n) }?;
        let fields = check_fields(&pair, [u, v], [other_u, other_v])?;
        output.check_apart(&components(&fields))?;
        let threads = thread_count(threads)?;
        let found = typed!(pair[0].config().dtype, T => {
            let view = |k: usize, components| {
                // SAFETY: the components cover the grids of the requests and their ghosts, as the caller
                // promised.
                unsafe { views::<T>(&pair[k], components, Ghosts::Read) }
            };
            analysis::compare(&pair[0], view(0, [u, v]), view(1, [other_u, other_v]), true, threads)
        })?;
        output.set(factz_comparison::from(&found));
        let (violations, max_error) = (found.violations(), found.max_error);
        event!(DEBUG, "compared", violations = violations, max_error = max_error);
        Ok(())
    };
    let empty = factz_comparison::default();
    // SAFETY: the caller gave a whole struct.
    unsafe { guard_with_output("comparison", comparison, empty, body, |c, status| c.status = status) }
}

/// An array of points: may be null when nothing fits.
pub(super) fn check_points<P>(points: *const P, capacity: usize) -> Result<Span> {
    if capacity > 0 && points.is_null() {
        return Err(Error::argument(format!("points is null but capacity = {capacity}")));
    }
    if !points.is_aligned() {
        return Err(Error::argument(format!("points = {points:p} is not aligned to 8 bytes")));
    }
    match capacity.checked_mul(size_of::<P>()) {
        Some(bytes) => super::arguments::check_buffer("points", points.cast(), bytes),
        None => Err(Error::argument(format!("capacity = {capacity} points exceed the address space"))),
    }
}

/// The requests that the configurations of two fields of one shape make, for `n` vertices.
///
/// # Safety
/// As for [`read_request`]; `other_config` may be null.
pub(super) unsafe fn read_pair(
    config: *const factz_config,
    other_config: *const factz_config,
    n: usize,
) -> Result<[Request; 2]> {
    // SAFETY: the promise of this function.
    let pair = unsafe { read_shapes(config, other_config, n) }?;
    check_same_ghosts(&pair[0], &pair[1])?;
    Ok(pair)
}

/// As [`read_pair`]; the ghosts may differ.
///
/// # Safety
/// As for [`read_pair`].
pub(super) unsafe fn read_shapes(
    config: *const factz_config,
    other_config: *const factz_config,
    n: usize,
) -> Result<[Request; 2]> {
    // SAFETY: the promise of this function.
    let first = unsafe { read_field_request(config, n) }?;
    if other_config.is_null() {
        return Ok([first, first]);
    }
    // SAFETY: the promise of this function.
    let other = unsafe { read_request("other_config", other_config) }?;
    check_same_shape(&first, &other)?;
    Ok([first, other])
}

/// Refuses requests of fields with other shapes, element types or periodic axes.
pub(super) fn check_same_shape(first: &Request, other: &Request) -> Result<()> {
    let (a, b) = (first.config(), other.config());
    let [of_a, of_b] = [first.grid(), other.grid()];
    if (a.nx, a.ny, a.nz) != (b.nx, b.ny, b.nz) {
        return Err(Error::argument(format!("other_config describes {of_b} vertices, config {of_a}")));
    }
    if a.periodic != b.periodic {
        return Err(Error::argument(format!(
            "other_config has periodic = {:#x}, config {:#x}: both fields need the same periodic axes",
            b.periodic, a.periodic
        )));
    }
    if a.dtype != b.dtype {
        return Err(Error::argument(format!(
            "other_config has dtype = {:?}, config {:?}: convert one of the fields",
            b.dtype, a.dtype
        )));
    }
    Ok(())
}

pub(super) fn check_fields(
    pair: &[Request; 2],
    first: [*const c_void; 2],
    other: [*const c_void; 2],
) -> Result<[Field; 2]> {
    Ok([
        Field::new(["u", "v"], first[0], first[1], &pair[0], Ghosts::Read)?,
        Field::new(["other_u", "other_v"], other[0], other[1], &pair[1], Ghosts::Read)?,
    ])
}

pub(super) fn components(fields: &[Field; 2]) -> [&Span; 4] {
    [&fields[0].u, &fields[0].v, &fields[1].u, &fields[1].v]
}

impl From<&CriticalPoint> for factz_critical_point {
    fn from(p: &CriticalPoint) -> Self {
        factz_critical_point {
            cell_x: p.cell_x,
            cell_y: p.cell_y,
            cell_z: p.cell_z,
            x: p.x,
            y: p.y,
            simplex: p.simplex as i32,
            point_type: p.kind as i32,
            index: p.index.unwrap_or(FACTZ_INDEX_UNDEFINED),
            rounding_divergence: p.rounding_divergence as i32,
            eigenvalues_real: p.eigenvalues_real,
            eigenvalues_imaginary: p.eigenvalues_imaginary,
        }
    }
}

impl From<&Comparison> for factz_comparison {
    fn from(c: &Comparison) -> Self {
        factz_comparison {
            status: 0,
            reserved_status: 0,
            violations: c.violations(),
            critical_points: c.critical_points,
            other_critical_points: c.other_critical_points,
            lost_points: c.lost_points,
            spurious_points: c.spurious_points,
            changed_types: c.changed_types,
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
            psnr: c.psnr.unwrap_or(f64::NAN),
            points_by_type: c.points_by_type,
            filled_vertices: c.filled_vertices,
            lost_zeros: c.lost_zeros,
            spurious_zeros: c.spurious_zeros,
            changed_indices: c.changed_indices,
            reserved: [0; 2],
        }
    }
}
