//! The analysis of fields on a device: comparison, critical points, and the header of a stream.

use super::kernel_args::{address, fill_bits, Analysis, FieldView, Inspection};
use super::launch::{Call, Needs, Shape};
use super::launcher::Launcher;
use super::pointers::Range;
use super::results::{factz_comparison, factz_critical_point, factz_range};
use super::{check_workspace, within, DevicePointer, Stream};
use crate::analysis::check_same_ghosts;
use crate::cuda::workspace::{AnalysisWorkspace, ALIGNMENT};
use crate::error::Result;
use crate::request::{
    periodic_sides, BoundKind, Config, Dtype, Request, SIDE_X_MAX, SIDE_X_MIN, SIDE_Y_MAX, SIDE_Y_MIN,
};
use crate::stream::header::HEADER_BYTES;
use std::ptr::null_mut;

/// The memory of a comparison, all of it accessible to the device; the workspace must not be host memory.
#[derive(Clone, Copy, Debug)]
pub struct ComparedFields {
    /// Vertex (0, 0) of u and v of the first field and of the other.
    pub first: [DevicePointer; 2],
    pub other: [DevicePointer; 2],
    /// Whether the bound of the first request counts.
    pub checks_bound: bool,
    /// Aligned to [`ALIGNMENT`], of [`AnalysisWorkspace::compare`] bytes or more.
    pub workspace: DevicePointer,
    pub workspace_bytes: u64,
    /// Where the result goes: a `factz_comparison`.
    pub comparison: DevicePointer,
}

/// The memory of an extraction of critical points, as above.
#[derive(Clone, Copy, Debug)]
pub struct PointBuffers {
    pub u: DevicePointer,
    pub v: DevicePointer,
    /// An array of `capacity` `factz_critical_point`; may be 0 when nothing fits.
    pub points: DevicePointer,
    pub capacity: u64,
    /// Where the number of points goes.
    pub count: DevicePointer,
    /// Of [`AnalysisWorkspace::critical_points`] bytes or more.
    pub workspace: DevicePointer,
    pub workspace_bytes: u64,
}

/// The memory of a search for the range of a field, as above.
#[derive(Clone, Copy, Debug)]
pub struct RangeBuffers {
    pub u: DevicePointer,
    pub v: DevicePointer,
    /// Where the result goes: a `factz_range`.
    pub range: DevicePointer,
    /// Of [`AnalysisWorkspace::range`] bytes or more.
    pub workspace: DevicePointer,
    pub workspace_bytes: u64,
}

/// Bytes of a `factz_range`, a `factz_critical_point` and a `factz_comparison`.
pub(super) const RANGE_BYTES: u64 = 64;
pub(super) const POINT_BYTES: u64 = 88;
pub(super) const COMPARISON_BYTES: u64 = 256;
pub(super) const INFO_BYTES: u64 = 128;

/// Enqueues the search for the range of the owned vertices of a field.
///
/// # Safety
/// As for [`compare_device`].
pub unsafe fn range_device(request: &Request, buffers: &RangeBuffers, stream: Stream) -> Result<()> {
    let c = request.config();
    let plan = AnalysisWorkspace::range()?;
    check_workspace(buffers.workspace_bytes, plan.bytes)?;
    let ranges = [
        Range::component("u", buffers.u, c, c.u, 0),
        Range::component("v", buffers.v, c, c.v, 0),
        Range::workspace(buffers.workspace, buffers.workspace_bytes),
        Range::buffer("range", buffers.range, RANGE_BYTES, 8),
    ];
    let view = FieldView::new(c, buffers.u, buffers.v);
    let job = Analysis {
        range: buffers.range as *mut factz_range,
        counts: address(buffers.workspace, plan.counts),
        ..Analysis::new(c, [view; 2])
    };
    let cleared = (job.counts as DevicePointer, plan.counts.bytes);
    // SAFETY: the caller's promise; the counts are inside the workspace.
    unsafe { enqueue(Call::Range, request, false, &ranges, cleared, job, stream) }
}

/// Enqueues the comparison of two fields of one shape. The first request says dimensions, spacing, bound,
/// fill value and halo, each the layout of its field.
///
/// # Safety
/// The stream is live, and each buffer has the size that the requests imply and lives until the stream has
/// got past this work; nothing else writes to them meanwhile.
pub unsafe fn compare_device(requests: &[Request; 2], fields: &ComparedFields, stream: Stream) -> Result<()> {
    let (c, other) = (requests[0].config(), requests[1].config());
    check_same_ghosts(&requests[0], &requests[1])?;
    let plan = AnalysisWorkspace::compare(&requests[0])?;
    check_workspace(fields.workspace_bytes, plan.bytes)?;
    let [[u, v], [other_u, other_v]] = [fields.first, fields.other];
    let ranges = [
        Range::component("u", u, c, c.u, c.halo),
        Range::component("v", v, c, c.v, c.halo),
        Range::component("other_u", other_u, other, other.u, c.halo),
        Range::component("other_v", other_v, other, other.v, c.halo),
        Range::workspace(fields.workspace, fields.workspace_bytes),
        Range::buffer("comparison", fields.comparison, COMPARISON_BYTES, 8),
    ];
    let views = [FieldView::new(c, u, v), FieldView::new(other, other_u, other_v)];
    let is_relative = fields.checks_bound && c.bound_kind == BoundKind::Relative;
    let job = Analysis {
        bound: if fields.checks_bound { c.bound } else { f64::INFINITY },
        bound_is_relative: is_relative as u32,
        comparison: fields.comparison as *mut factz_comparison,
        counts: address(fields.workspace, plan.counts),
        parts: address(fields.workspace, plan.parts),
        open_triangles: address(fields.workspace, plan.open_triangles),
        ..Analysis::new(c, views)
    };
    let cleared = (job.counts as DevicePointer, plan.counts.bytes);
    // SAFETY: the caller's promise; the counts are inside the workspace.
    unsafe { enqueue(Call::Compare, &requests[0], is_relative, &ranges, cleared, job, stream) }
}

/// Enqueues the extraction of the critical points of a field, in the order of the host's.
///
/// # Safety
/// As for [`compare_device`].
pub unsafe fn critical_points_device(
    request: &Request,
    buffers: &PointBuffers,
    stream: Stream,
) -> Result<()> {
    let c = request.config();
    let plan = AnalysisWorkspace::critical_points(request)?;
    check_workspace(buffers.workspace_bytes, plan.bytes)?;
    let bytes = buffers.capacity.saturating_mul(POINT_BYTES);
    let mut ranges = vec![
        Range::component("u", buffers.u, c, c.u, c.halo),
        Range::component("v", buffers.v, c, c.v, c.halo),
        Range::workspace(buffers.workspace, buffers.workspace_bytes),
        Range::buffer("count", buffers.count, 8, 8),
    ];
    if buffers.capacity > 0 {
        ranges.push(Range::buffer("points", buffers.points, bytes, 8));
    }
    let view = FieldView::new(c, buffers.u, buffers.v);
    let job = Analysis {
        capacity: buffers.capacity,
        points: buffers.points as *mut factz_critical_point,
        count: buffers.count as *mut u64,
        point_parts: address(buffers.workspace, plan.point_parts),
        segments: address(buffers.workspace, plan.segments),
        ..Analysis::new(c, [view; 2])
    };
    let cleared = (job.point_parts as DevicePointer, plan.point_parts.bytes);
    // SAFETY: the caller's promise; the point_parts are inside the workspace.
    unsafe { enqueue(Call::CriticalPoints, request, false, &ranges, cleared, job, stream) }
}

/// Enqueues the reading of the header of a stream into a `factz_info`.
///
/// # Safety
/// The stream is live; `source` has `bytes` readable bytes, `info` room for a `factz_info`, and both live
/// until the stream has got past this work.
pub unsafe fn inspect_device(
    source: DevicePointer,
    bytes: u64,
    info: DevicePointer,
    stream: Stream,
) -> Result<()> {
    let ranges = [
        Range::buffer("src", source, bytes.min(HEADER_BYTES as u64), ALIGNMENT),
        Range::buffer("info", info, INFO_BYTES, 8),
    ];
    let job = Inspection::new(source, bytes, info);
    // SAFETY: the caller's promise.
    unsafe {
        within(stream, &ranges, |module| {
            let (shape, needs) = (Shape::default(), Needs::NONE);
            Launcher { module, call: Call::Inspect, dtype: 0, shape, argument: job, needs }.enqueue(stream)
        })
    }
}

impl Analysis {
    /// A call that uses no memory but the fields.
    fn new(config: &Config, fields: [FieldView; 2]) -> Analysis {
        let ghosts = config.halo | periodic_sides(config.periodic);
        Analysis {
            fields,
            nx: config.nx,
            ny: config.ny,
            nz: config.nz,
            columns_before: (ghosts & SIDE_X_MIN != 0) as i32,
            rows_before: (ghosts & SIDE_Y_MIN != 0) as i32,
            columns: config.nx + (ghosts & SIDE_X_MAX != 0) as u64,
            rows: config.ny + (ghosts & SIDE_Y_MAX != 0) as u64,
            dx: config.dx,
            dy: config.dy,
            bound: 0.0,
            fill: fill_bits(config),
            has_fill: config.fill_value.is_some() as u32,
            bound_is_relative: 0,
            ties: config.ties as u32,
            periodic: config.periodic,
            capacity: 0,
            points: null_mut(),
            count: null_mut(),
            comparison: null_mut(),
            range: null_mut(),
            counts: null_mut(),
            parts: null_mut(),
            open_triangles: null_mut(),
            point_parts: null_mut(),
            segments: null_mut(),
        }
    }
}

/// Checks the memory of a call, sets what it counts in to zero and enqueues its kernels.
///
/// # Safety
/// Everything the argument points to is device-accessible, and the bytes to clear are memory of the device.
unsafe fn enqueue(
    call: Call,
    request: &Request,
    relative: bool,
    ranges: &[Range],
    (cleared, cleared_bytes): (DevicePointer, u64),
    argument: Analysis,
    stream: Stream,
) -> Result<()> {
    let (shape, config) = (Shape::new(request, 0), request.config());
    let needs = Needs::of(config, &shape).relative(relative);
    let dtype = matches!(config.dtype, Dtype::F64) as usize;
    // SAFETY: the kernels take one Analysis; the rest is the caller's promise.
    unsafe {
        within(stream, ranges, |module| {
            module.clear(cleared, cleared_bytes, stream)?;
            Launcher { module, call, dtype, shape, argument, needs }.enqueue(stream)
        })
    }
}
