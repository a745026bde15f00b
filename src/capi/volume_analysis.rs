//! Range and critical points of a volume and comparison of two volumes, on the host.

use super::analysis::{check_points, check_same_shape, FACTZ_INDEX_UNDEFINED};
use super::arguments::{check_vertices, guard_with_output, thread_count, typed, Ghosts, Output, Span};
use super::config::{factz_config, read_volume_request};
use super::range::factz_range;
use super::status::factz_status;
use super::volume::{spans, views, NAMES};
use crate::analysis::{
    self, check_same_ghosts, ValueRange, VolumeComparison, VolumeKind, VolumePoint, VolumeSimplex,
};
use crate::error::{Error, Result, Status};
use crate::request::VolumeRequest;
use crate::runtime::log::event;
use std::ffi::{c_int, c_void};

/// `point_type` of a volume: inside a tetrahedron, out along all directions. Numbers below 8 are those of the
/// eigenvalues of J with a negative real part, plus 4 if two eigenvalues are complex.
pub const FACTZ_VOLUME_POINT_REPELLING_NODE: i32 = 0;
/// `point_type` of a volume: inside a tetrahedron, in along one direction, out along two.
pub const FACTZ_VOLUME_POINT_REPELLING_NODE_SADDLE: i32 = 1;
/// `point_type` of a volume: inside a tetrahedron, in along two directions, out along one.
pub const FACTZ_VOLUME_POINT_ATTRACTING_NODE_SADDLE: i32 = 2;
/// `point_type` of a volume: inside a tetrahedron, in along all directions.
pub const FACTZ_VOLUME_POINT_ATTRACTING_NODE: i32 = 3;
/// `point_type` of a volume: inside a tetrahedron, out along one direction, and around it out.
pub const FACTZ_VOLUME_POINT_REPELLING_FOCUS: i32 = 4;
/// `point_type` of a volume: inside a tetrahedron, in along one direction, and around it out.
pub const FACTZ_VOLUME_POINT_REPELLING_FOCUS_SADDLE: i32 = 5;
/// `point_type` of a volume: inside a tetrahedron, out along one direction, and around it in.
pub const FACTZ_VOLUME_POINT_ATTRACTING_FOCUS_SADDLE: i32 = 6;
/// `point_type` of a volume: inside a tetrahedron, in along one direction, and around it in.
pub const FACTZ_VOLUME_POINT_ATTRACTING_FOCUS: i32 = 7;
/// `point_type` of a volume: inside a tetrahedron, out along one direction, and around it in circles (two
/// eigenvalues have a real part of exactly 0).
pub const FACTZ_VOLUME_POINT_REPELLING_CENTER: i32 = 8;
/// `point_type` of a volume: inside a tetrahedron, in along one direction, and around it in circles.
pub const FACTZ_VOLUME_POINT_ATTRACTING_CENTER: i32 = 9;
/// `point_type` of a volume: at a vertex, where u = v = w = 0. No J belongs to it: see `index`.
pub const FACTZ_VOLUME_POINT_VERTEX_ZERO: i32 = 10;
/// `point_type` of a volume: inside an edge. No J belongs to it: see `index`.
pub const FACTZ_VOLUME_POINT_EDGE_ZERO: i32 = 11;
/// `point_type` of a volume: inside a face of tetrahedra. No J belongs to it: see `index`.
pub const FACTZ_VOLUME_POINT_FACE_ZERO: i32 = 12;

/// `simplex` of a volume: the first of 6 tetrahedra. A simplex is a path from the vertex (cell_x, cell_y, cell_z),
/// and each step goes one further along some axes. The steps of tetrahedra 0 to 5 are along x, y, z; x, z, y; y, x,
/// z; y, z, x; z, x, y; z, y, x.
pub const FACTZ_VOLUME_SIMPLEX_TETRAHEDRON: i32 = 0;
/// `simplex` of a volume: the first of 12 faces. The steps of faces 6 to 17 are along x, y; x, z; x, yz; y, x; y, z;
/// y, xz; xy, z; z, x; z, y; z, xy; xz, y; yz, x.
pub const FACTZ_VOLUME_SIMPLEX_FACE: i32 = 6;
/// `simplex` of a volume: the first of 7 edges. The steps of edges 18 to 24 are along x; y; xy; z; xz; yz; xyz.
pub const FACTZ_VOLUME_SIMPLEX_EDGE: i32 = 18;
/// `simplex` of a volume: the vertex (cell_x, cell_y, cell_z).
pub const FACTZ_VOLUME_SIMPLEX_VERTEX: i32 = 25;

// The C numbers are those of the enumerations.
const _: () = {
    assert!(FACTZ_VOLUME_POINT_REPELLING_NODE == VolumeKind::RepellingNode as i32);
    assert!(FACTZ_VOLUME_POINT_REPELLING_NODE_SADDLE == VolumeKind::RepellingNodeSaddle as i32);
    assert!(FACTZ_VOLUME_POINT_ATTRACTING_NODE_SADDLE == VolumeKind::AttractingNodeSaddle as i32);
    assert!(FACTZ_VOLUME_POINT_ATTRACTING_NODE == VolumeKind::AttractingNode as i32);
    assert!(FACTZ_VOLUME_POINT_REPELLING_FOCUS == VolumeKind::RepellingFocus as i32);
    assert!(FACTZ_VOLUME_POINT_REPELLING_FOCUS_SADDLE == VolumeKind::RepellingFocusSaddle as i32);
    assert!(FACTZ_VOLUME_POINT_ATTRACTING_FOCUS_SADDLE == VolumeKind::AttractingFocusSaddle as i32);
    assert!(FACTZ_VOLUME_POINT_ATTRACTING_FOCUS == VolumeKind::AttractingFocus as i32);
    assert!(FACTZ_VOLUME_POINT_REPELLING_CENTER == VolumeKind::RepellingCenter as i32);
    assert!(FACTZ_VOLUME_POINT_ATTRACTING_CENTER == VolumeKind::AttractingCenter as i32);
    assert!(FACTZ_VOLUME_POINT_VERTEX_ZERO == VolumeKind::VertexZero as i32);
    assert!(FACTZ_VOLUME_POINT_EDGE_ZERO == VolumeKind::EdgeZero as i32);
    assert!(FACTZ_VOLUME_POINT_FACE_ZERO == VolumeKind::FaceZero as i32);
    assert!(VolumeKind::COUNT == 13 && VolumeSimplex::COUNT == 26);
};

/// A critical point of a volume: a zero of the piecewise linear field, strictly inside a tetrahedron, or at a vertex,
/// inside an edge or inside a face without other zeros beside it. Curves, surfaces and solids of zeros are no
/// critical points.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct factz_volume_point {
    /// Column of the vertex that the simplex begins at, 0 to nx - 1.
    pub cell_x: u64,
    /// Its row, 0 to ny - 1.
    pub cell_y: u64,
    /// Its plane, 0 to nz - 1.
    pub cell_z: u64,
    /// Position along x: dx, with its sign, times a number from cell_x to cell_x + 1.
    pub x: f64,
    /// Position along y: dy, with its sign, times a number from cell_y to cell_y + 1.
    pub y: f64,
    /// Position along z: dz, with its sign, times a number from cell_z to cell_z + 1.
    pub z: f64,
    /// FACTZ_VOLUME_SIMPLEX_* or a number behind one of them: the simplex that holds the point. Numbers of tetrahedra
    /// (0 to 5) are those of the stream format.
    pub simplex: i32,
    /// 3 inside a tetrahedron, 2 inside a face, 1 inside an edge, 0 at a vertex.
    pub dimension: i32,
    /// FACTZ_VOLUME_POINT_*.
    pub point_type: i32,
    /// Inside a tetrahedron the sign of det J, 1 or -1. Elsewhere the degree of the field around the point: how often,
    /// with signs, the vectors around it take every direction; or FACTZ_INDEX_UNDEFINED.
    pub index: i32,
    /// 0.
    pub reserved: [u64; 6],
}

assert_layout! {
    factz_volume_point, 112 bytes:
    cell_x 0, cell_y 8, cell_z 16, x 24, y 32, z 40, simplex 48, dimension 52, point_type 56, index 60, reserved 64
}

/// How a volume differs from another. Aligned to 8 bytes. A vertex is missing where a component is NaN or infinite,
/// or, in the first volume, has the bits of config->fill_value. Tetrahedra are compared where no vertex is missing in
/// either volume; every sign is decided exactly.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct factz_volume_comparison {
    /// The status of the comparison; the other fields count only when it is FACTZ_OK. Differences are
    /// no error.
    pub status: factz_status,
    /// 0.
    pub reserved_status: i32,
    /// Differences that are 0 after compression with FACTZ_PRESERVE_TYPES: lost_points + spurious_points +
    /// changed_types, all three of points inside tetrahedra, + changed_ties + new_ties + changed_missing +
    /// bound_exceeded. Zeros at vertices, on edges and on faces take part by their ties: with FACTZ_TIES_ALL 0 here
    /// means that they are all kept, with their indices.
    pub violations: u64,
    /// Critical points of the first volume: those that `factz_critical_points_volume_host` lists.
    pub critical_points: u64,
    /// Critical points of the other volume.
    pub other_critical_points: u64,
    /// Simplices (tetrahedra, faces, edges, vertices) with a critical point in the first volume and none in the other.
    pub lost_points: u64,
    /// Simplices with a critical point in the other volume and none in the first.
    pub spurious_points: u64,
    /// Simplices with a critical point in both, of different types; of faces, edges and vertices, of different
    /// indices.
    pub changed_types: u64,
    /// Ties of the first volume: tetrahedra where the zero lies on a face, an edge or a vertex.
    pub ties: u64,
    /// Ties of the first volume that are none in the other, or where the sign of a determinant, of a component or of
    /// a 2 x 2 minor differs. With FACTZ_TIES_ZEROS in config, ties that are zero at vertices and nowhere else count
    /// where these vertices differ, and signs do not matter.
    pub changed_ties: u64,
    /// Ties of the other volume that are none in the first.
    pub new_ties: u64,
    /// Vertices of the first volume with a NaN or an infinity.
    pub nonfinite_vertices: u64,
    /// Missing vertices of the first volume whose bits differ in the other, and other vertices that are not finite in
    /// the other.
    pub changed_missing: u64,
    /// Vertices of the first volume with u = v = w = 0 that are not filled.
    pub zero_vertices: u64,
    /// Vertices with u = v = w = 0 in one volume only.
    pub changed_zero_vertices: u64,
    /// Values with |other - first| above `bound`, compared exactly.
    pub bound_exceeded: u64,
    /// The absolute bound that was checked: config->bound where its kind is FACTZ_BOUND_ABSOLUTE, the same
    /// fraction of the first volume's range as in compression where it is FACTZ_BOUND_RELATIVE.
    pub bound: f64,
    /// Largest |other - first| over values that are finite in both, of vertices that are not filled in the
    /// first.
    pub max_error: f64,
    /// Peak signal-to-noise ratio in dB: 20 log10 of the joint range of the first volume over the root
    /// mean square error. Infinite where nothing differs, NaN where it is not defined.
    pub psnr: f64,
    /// The first volume's critical points by type, indexed by FACTZ_VOLUME_POINT_*; 0 behind these.
    pub points_by_type: [u64; 16],
    /// Finite vertices of the first volume with the fill value.
    pub filled_vertices: u64,
    /// Of lost_points, zeros at vertices, inside edges and inside faces.
    pub lost_zeros: u64,
    /// Of spurious_points, zeros at vertices, inside edges and inside faces.
    pub spurious_zeros: u64,
    /// Of changed_types, zeros at vertices, inside edges and inside faces.
    pub changed_indices: u64,
    /// 0.
    pub reserved: [u64; 2],
}

assert_layout! {
    factz_volume_comparison, 320 bytes:
    status 0, violations 8, critical_points 16, other_critical_points 24, lost_points 32,
    spurious_points 40, changed_types 48, ties 56, changed_ties 64, new_ties 72, nonfinite_vertices 80,
    changed_missing 88, zero_vertices 96, changed_zero_vertices 104, bound_exceeded 112, bound 120, max_error 128,
    psnr 136, points_by_type 144, filled_vertices 272, lost_zeros 280, spurious_zeros 288,
    changed_indices 296, reserved 304
}

const OTHER_NAMES: [&str; 3] = ["other_u", "other_v", "other_w"];

/// The configuration and the first bytes of the components, which an output must not overlap.
fn inputs(config: *const factz_config, components: [*const c_void; 3]) -> [Span; 4] {
    let [u, v, w] = [0, 1, 2].map(|k| Span::of(NAMES[k], components[k].cast::<f32>()));
    [Span::of("config", config), u, v, w]
}

/// The request of a volume of `n` vertices.
///
/// # Safety
/// As for [`read_volume_request`].
unsafe fn read_counted_request(config: *const factz_config, n: usize) -> Result<VolumeRequest> {
    // SAFETY: the promise of this function.
    let request = unsafe { read_volume_request("config", config) }?;
    check_vertices(n, request.common())?;
    Ok(request)
}

/// Extracts the critical points of a volume in host memory.
///
/// The points are sorted by (cell_z, cell_y, cell_x), then by simplex. Tetrahedra with a NaN, an infinity or the fill
/// value at a vertex do not count: they hold no point, and are no surroundings of a zero at a vertex, on an edge or on
/// a face, which needs one tetrahedron at least. Blocks until all points are found; thread-safe.
///
/// Blocks of a volume: a block has the points with (cell_x, cell_y, cell_z) among its vertices. The ghosts of
/// all sides in config->halo are read. If every side with a neighbour has a halo, each point belongs to
/// exactly one block.
///
/// @param u         x components, laid out as config says
/// @param v         y components
/// @param w         z components
/// @param n         number of vertices, nx * ny * nz
/// @param config    the configuration of a volume (`factz_config_init_volume`): nx, ny, nz, dtype, the layout,
///                  halo, periodic, the fill value, and dx, dy and dz for the types; the rest must be valid and
///                  has no effect
/// @param points    receives the points; may be NULL if capacity is 0
/// @param capacity  number of points that fit
/// @param count     receives the number of points of the volume, which may exceed capacity; 0 if the call
///                  fails for another reason
/// @param threads   see "Threads" at the top of this header
/// @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT; FACTZ_ERROR_INVALID_CONFIG; FACTZ_ERROR_UNSUPPORTED;
///         FACTZ_ERROR_BUFFER_TOO_SMALL (the first `capacity` points were written);
///         FACTZ_ERROR_OUT_OF_MEMORY; FACTZ_ERROR_INTERNAL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn factz_critical_points_volume_host(
    u: *const c_void,
    v: *const c_void,
    w: *const c_void,
    n: usize,
    config: *const factz_config,
    points: *mut factz_volume_point,
    capacity: usize,
    count: *mut u64,
    threads: c_int,
) -> factz_status {
    let body = |output: &mut Output<u64>| {
        output.check_apart(&inputs(config, [u, v, w]).each_ref())?;
        // SAFETY: the caller gave a whole struct.
        let request = unsafe { read_counted_request(config, n) }?;
        let components = spans(NAMES, [u, v, w], request.config(), Ghosts::Read)?;
        output.check_apart(&components.each_ref())?;
        let target = check_points(points, capacity)?;
        target.check_apart(&components.each_ref())?;
        target.check_apart(&[output.span()])?;
        let threads = thread_count(threads)?;
        let found = typed!(request.config().dtype, T => {
            // SAFETY: the components cover the request's grid and its ghosts, as the caller promised.
            let views = unsafe { views::<T>(&request, [u, v, w], Ghosts::Read) };
            analysis::critical_points_volume(&request, views, threads)
        })?;
        for (k, point) in found.iter().take(capacity).enumerate() {
            // SAFETY: the caller gave room for `capacity` points.
            unsafe { points.add(k).write(point.into()) };
        }
        output.set(found.len() as u64);
        if found.len() > capacity {
            return Err(Error::new(
                Status::BufferTooSmall,
                format!("capacity = {capacity} but the volume has {} critical points", found.len()),
            ));
        }
        event!(DEBUG, "extracted critical points", critical_points = found.len());
        Ok(())
    };
    // SAFETY: the caller gave a whole number.
    unsafe { guard_with_output("count", count, 0, body, |_, _| {}) }
}

/// Compares a volume with another one, usually an original with its decompressed copy. After compression with
/// FACTZ_PRESERVE_TYPES `violations` is 0. Blocks until all is compared; thread-safe.
///
/// Blocks of a volume: a tetrahedron belongs to the block that has the vertex it begins at, points are those
/// of `factz_critical_points_volume_host`, and values those of the vertices of the block, so the counts of
/// all blocks add up to those of the volume. Both volumes need the ghosts of all sides in config->halo; after
/// decompression these are the values that the neighbours decompressed.
///
/// @param u             x components of the first volume, laid out as config says
/// @param v             its y components
/// @param w             its z components
/// @param n             number of vertices, nx * ny * nz
/// @param config        the configuration of a volume (`factz_config_init_volume`): nx, ny, nz, dtype, the layout
///                      of u, v and w, halo, periodic, the fill value, dx, dy and dz for the types, ties, and
///                      the bound; the rest must be valid and has no effect
/// @param other_u       x components of the other volume
/// @param other_v       its y components
/// @param other_w       its z components
/// @param other_config  the layout of other_u, other_v and other_w; nx, ny, nz, dtype, periodic and halo as in
///                      config. NULL stands for config
/// @param comparison    receives the result; if the call fails, its status and zeros
/// @param threads       see "Threads" at the top of this header
/// @return FACTZ_OK (whatever the differences); FACTZ_ERROR_INVALID_ARGUMENT; FACTZ_ERROR_INVALID_CONFIG;
///         FACTZ_ERROR_UNSUPPORTED; FACTZ_ERROR_OUT_OF_MEMORY; FACTZ_ERROR_INTERNAL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn factz_compare_volume_host(
    u: *const c_void,
    v: *const c_void,
    w: *const c_void,
    n: usize,
    config: *const factz_config,
    other_u: *const c_void,
    other_v: *const c_void,
    other_w: *const c_void,
    other_config: *const factz_config,
    comparison: *mut factz_volume_comparison,
    threads: c_int,
) -> factz_status {
    let (first, other) = ([u, v, w], [other_u, other_v, other_w]);
    let body = |output: &mut Output<factz_volume_comparison>| {
        output.check_apart(&inputs(config, first).each_ref())?;
        let others = [0, 1, 2].map(|k| Span::of(OTHER_NAMES[k], other[k].cast::<f32>()));
        output.check_apart(&others.each_ref())?;
        output.check_apart(&[&Span::of("other_config", other_config)])?;
        // SAFETY: the caller gave whole structs.
        let pair = unsafe { read_pair(config, other_config, n) }?;
        output.check_apart(&spans(NAMES, first, pair[0].config(), Ghosts::Read)?.each_ref())?;
        output.check_apart(&spans(OTHER_NAMES, other, pair[1].config(), Ghosts::Read)?.each_ref())?;
        let threads = thread_count(threads)?;
        let found = typed!(pair[0].config().dtype, T => {
            let view = |k: usize, components| {
                // SAFETY: the components cover the grids of the requests and their ghosts, as the caller
                // promised.
                unsafe { views::<T>(&pair[k], components, Ghosts::Read) }
            };
            analysis::compare_volume(&pair[0], view(0, first), view(1, other), true, threads)
        })?;
        output.set(factz_volume_comparison::from(&found));
        let (violations, max_error) = (found.violations(), found.max_error);
        event!(DEBUG, "compared", violations = violations, max_error = max_error);
        Ok(())
    };
    let empty = factz_volume_comparison::default();
    // SAFETY: the caller gave a whole struct.
    unsafe { guard_with_output("comparison", comparison, empty, body, |c, status| c.status = status) }
}

/// Finds the range of a volume in host memory, u, v and w together, as `factz_range_host` does for planes.
/// Ghost vertices do not count. Blocks until it is found; thread-safe.
///
/// @param u        x components, laid out as config says
/// @param v        y components
/// @param w        z components
/// @param n        number of vertices, nx * ny * nz
/// @param config   the configuration of a volume (`factz_config_init_volume`): nx, ny, nz, dtype, the layout and the
///                 fill value; the rest must be valid and has no effect
/// @param range    receives the range; zero_vertices counts vertices with u = v = w = 0. If the call fails, its status
///                 and a range without values
/// @param threads  see "Threads" at the top of this header
/// @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT; FACTZ_ERROR_INVALID_CONFIG; FACTZ_ERROR_UNSUPPORTED;
///         FACTZ_ERROR_OUT_OF_MEMORY; FACTZ_ERROR_INTERNAL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn factz_range_volume_host(
    u: *const c_void,
    v: *const c_void,
    w: *const c_void,
    n: usize,
    config: *const factz_config,
    range: *mut factz_range,
    threads: c_int,
) -> factz_status {
    let body = |output: &mut Output<factz_range>| {
        output.check_apart(&inputs(config, [u, v, w]).each_ref())?;
        // SAFETY: the caller gave a whole struct.
        let request = unsafe { read_counted_request(config, n) }?;
        output.check_apart(&spans(NAMES, [u, v, w], request.config(), Ghosts::Ignored)?.each_ref())?;
        let threads = thread_count(threads)?;
        let found = typed!(request.config().dtype, T => {
            // SAFETY: the components cover the request's grid, as the caller promised.
            let views = unsafe { views::<T>(&request, [u, v, w], Ghosts::Ignored) };
            analysis::range_volume(&request, views, threads)
        })?;
        output.set(found.into());
        Ok(())
    };
    let empty = ValueRange::default().into();
    // SAFETY: the caller gave a whole struct.
    unsafe { guard_with_output("range", range, empty, body, |r, status| r.status = status) }
}

/// The requests that the configurations of two volumes of one shape and halo make, for `n` vertices.
///
/// # Safety
/// As for [`read_volume_request`]; `other_config` may be null.
unsafe fn read_pair(
    config: *const factz_config,
    other_config: *const factz_config,
    n: usize,
) -> Result<[VolumeRequest; 2]> {
    // SAFETY: the promise of this function.
    let first = unsafe { read_counted_request(config, n) }?;
    if other_config.is_null() {
        return Ok([first, first]);
    }
    // SAFETY: the promise of this function.
    let other = unsafe { read_volume_request("other_config", other_config) }?;
    check_same_shape(first.common(), other.common())?;
    check_same_ghosts(first.common(), other.common())?;
    Ok([first, other])
}

impl From<&VolumePoint> for factz_volume_point {
    fn from(p: &VolumePoint) -> Self {
        factz_volume_point {
            cell_x: p.cell_x,
            cell_y: p.cell_y,
            cell_z: p.cell_z,
            x: p.x,
            y: p.y,
            z: p.z,
            simplex: p.simplex.number() as i32,
            dimension: p.simplex.dimension() as i32,
            point_type: p.kind as i32,
            index: p.index.unwrap_or(FACTZ_INDEX_UNDEFINED),
            reserved: [0; 6],
        }
    }
}

impl From<&VolumeComparison> for factz_volume_comparison {
    fn from(c: &VolumeComparison) -> Self {
        let mut points_by_type = [0; 16];
        points_by_type[..VolumeKind::COUNT].copy_from_slice(&c.points_by_type);
        factz_volume_comparison {
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
            points_by_type,
            filled_vertices: c.filled_vertices,
            lost_zeros: c.lost_zeros,
            spurious_zeros: c.spurious_zeros,
            changed_indices: c.changed_indices,
            reserved: [0; 2],
        }
    }
}
