//! The argument of every kernel: one struct by value. kernels/device/shared.cuh is generated from this file.

use super::results::{
    factz_comparison, factz_critical_point, factz_fix_report, factz_info, factz_range, factz_report,
};
use super::{Buffers, Direction};
use crate::cuda::workspace::{Region, Workspace, OTHER_TILES};
use crate::grid::missing;
use crate::grid::tiles::{Grid, TILE, TILE_VERTICES};
use crate::grid::volume_tiles::VolumeGrid;
use crate::request::{periodic_sides, Config, Dtype, Request, VolumeRequest};
use std::ffi::c_void;

/// An address that the device can use; 0 where there is none.
pub type DevicePointer = u64;

#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Layout {
    /// Elements from row to row.
    pitch: u64,
    /// Elements from vertex to vertex.
    stride: u64,
}

/// One call of compress or decompress. Regions of the workspace are aligned to 256 bytes;
/// kernels/device/workspace.cuh says what each holds in which phase.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Job {
    /// The caller's arrays: read when compressing, written when decompressing.
    u: *mut c_void,
    v: *mut c_void,
    u_layout: Layout,
    v_layout: Layout,
    stream: *mut u8,
    /// Capacity when compressing, upper bound of the length when decompressing.
    stream_bytes: u64,
    report: *mut factz_report,
    nx: u64,
    ny: u64,
    /// Planes, and rows of the arrays from one to the next. Decompression of some planes of a stream: the
    /// planes up to the last one of the call, which begins with plane `first_plane`.
    nz: u64,
    plane_rows: u64,
    /// Planes before those of the call; 0 in other calls.
    first_plane: u32,
    /// Whether a stream may have other planes too, before and behind those of the call.
    takes_planes: u32,
    /// Bits of the number of a group that tell its place in lists of groups.
    group_mask: u32,
    tiles_x: u64,
    /// Rows of tiles of all planes.
    tiles_y: u64,
    /// Rows of tiles of a plane, and the quotient of 2^32 - 1 by them.
    plane_tile_rows: u32,
    plane_reciprocal: u32,
    bound: f64,
    dx: f64,
    dy: f64,
    /// Bits of the fill value; those of a NaN where there is none.
    fill: u64,
    dtype: u32,
    mode: u32,
    coder: u32,
    predictor: u32,
    preserve: u32,
    ties: u32,
    bound_kind: u32,
    /// Sides beyond which there are vertices: of the halo, or those at the other end of a periodic axis.
    halo: u32,
    pin: u32,
    periodic: u32,
    verify_checksum: u32,
    has_fill: u32,
    control: *mut u8,
    symbol_counts: *mut u64,
    symbols: *mut u8,
    raw_bits: *mut u8,
    tile_headers: *mut u32,
    written_steps: *mut u32,
    masks: *mut u32,
    origin_distances: *mut u8,
    anchors: *mut u8,
    anchor_codes: *mut i32,
    row_lines: *mut u8,
    column_lines: *mut u8,
    coding_tables: *mut u32,
    slot_starts: *mut u8,
    huffman_codes: *mut u16,
    stored_tables: *mut u8,
    slots: *mut u8,
    group_sizes: *mut u64,
    group_offsets: *mut u64,
    outer_anchors: *mut i32,
    /// Components, 2 or 3; a volume has 3, and what follows.
    components: u32,
    w: *mut c_void,
    w_layout: Layout,
    dz: f64,
    hidden: *mut u32,
    chunks: *mut u64,
    levels: *mut u8,
    positions: *mut u16,
    values: *mut u8,
    listed: *mut u32,
    list_ranks: *mut u64,
    chunk_places: *mut u64,
    /// Of a call on a fix: the reconstruction, rows of its arrays from plane to plane, and the report.
    other: [*const c_void; 3],
    other_layouts: [Layout; 3],
    other_plane_rows: u64,
    fix_report: *mut factz_fix_report,
}

/// Bits of the fill value; those of a NaN where there is none, which is missing anyway.
pub(super) fn fill_bits(config: &Config) -> u64 {
    let none = match config.dtype {
        Dtype::F32 => i32::MAX as u64,
        Dtype::F64 => i64::MAX as u64,
    };
    config.fill_value.map_or(none, |x| missing::fill_bits(config.dtype.bytes() as usize, x))
}

impl From<crate::grid::field::Layout> for Layout {
    fn from(l: crate::grid::field::Layout) -> Layout {
        Layout { pitch: l.pitch, stride: l.stride }
    }
}

/// The address of a region; null where it has no bytes.
pub(super) fn address<T>(workspace: DevicePointer, region: Region) -> *mut T {
    match region.bytes {
        0 => std::ptr::null_mut(),
        _ => (workspace + region.offset) as *mut T,
    }
}

impl Job {
    pub(super) fn new(request: &Request, plan: &Workspace, buffers: &Buffers, direction: Direction) -> Job {
        let (c, grid, workspace) = (request.config(), request.grid(), buffers.workspace);
        // Grids of kernels, which are checked first, have fewer blocks than 2^31.
        let rows_of_plane = grid.tiles_y() as u32;
        let job = Job {
            u: buffers.u as *mut c_void,
            v: buffers.v as *mut c_void,
            u_layout: c.u.into(),
            v_layout: c.v.into(),
            stream: buffers.stream as *mut u8,
            stream_bytes: buffers.stream_bytes,
            report: buffers.report as *mut factz_report,
            nx: grid.nx,
            ny: grid.ny,
            nz: grid.nz,
            plane_rows: c.plane_rows,
            first_plane: 0,
            takes_planes: 0,
            group_mask: u32::MAX,
            tiles_x: grid.tiles_x(),
            tiles_y: grid.tile_rows(),
            plane_tile_rows: rows_of_plane,
            plane_reciprocal: u32::MAX / rows_of_plane,
            bound: c.bound,
            dx: c.dx,
            dy: c.dy,
            fill: fill_bits(c),
            dtype: c.dtype as u32,
            mode: c.mode as u32,
            coder: c.coder as u32,
            predictor: c.predictor as u32,
            preserve: c.preserve as u32,
            ties: c.ties as u32,
            bound_kind: c.bound_kind as u32,
            halo: match direction {
                Direction::Compress => c.halo | periodic_sides(c.periodic),
                _ => 0,
            },
            pin: c.pin,
            periodic: c.periodic,
            verify_checksum: c.verify_checksum as u32,
            has_fill: c.fill_value.is_some() as u32,
            control: address(workspace, plan.control),
            symbol_counts: address(workspace, plan.symbol_counts),
            symbols: address(workspace, plan.symbols),
            raw_bits: address(workspace, plan.raw_bits),
            tile_headers: address(workspace, plan.tile_headers),
            written_steps: address(workspace, plan.written_steps),
            masks: address(workspace, plan.masks),
            origin_distances: address(workspace, plan.origin_distances),
            anchors: address(workspace, plan.anchors),
            anchor_codes: address(workspace, plan.anchor_codes),
            row_lines: address(workspace, plan.row_lines),
            column_lines: address(workspace, plan.column_lines),
            coding_tables: address(workspace, plan.coding_tables),
            slot_starts: address(workspace, plan.slot_starts),
            huffman_codes: address(workspace, plan.huffman_codes),
            stored_tables: address(workspace, plan.stored_tables),
            slots: address(workspace, plan.slots),
            group_sizes: address(workspace, plan.group_sizes),
            group_offsets: address(workspace, plan.group_offsets),
            outer_anchors: address(workspace, plan.outer_anchors),
            components: c.components,
            w: std::ptr::null_mut(),
            w_layout: c.w.into(),
            dz: c.dz,
            hidden: address(workspace, plan.hidden),
            chunks: address(workspace, plan.chunks),
            levels: address(workspace, plan.levels),
            positions: address(workspace, plan.positions),
            values: address(workspace, plan.values),
            listed: address(workspace, plan.listed),
            list_ranks: address(workspace, plan.list_ranks),
            chunk_places: address(workspace, plan.chunk_places),
            other: [std::ptr::null(); 3],
            other_layouts: [c.u.into(), c.v.into(), c.w.into()],
            other_plane_rows: c.plane_rows,
            fix_report: std::ptr::null_mut(),
        };
        match direction {
            Direction::DecompressPlanes { first } => job.planes(c, grid, first),
            _ => job,
        }
    }

    /// The job of a volume, whose third component is `w`.
    pub(super) fn volume(
        request: &VolumeRequest,
        plan: &Workspace,
        (buffers, w): (&Buffers, DevicePointer),
        direction: Direction,
    ) -> Job {
        let [x, y, z] = VolumeGrid::of(request.grid()).tiles_along();
        let job = Job::new(request.common(), plan, buffers, direction);
        let halo = match direction {
            Direction::Compress => request.config().halo,
            _ => 0,
        };
        Job {
            w: w as *mut c_void,
            halo,
            tiles_x: x,
            tiles_y: y * z,
            plane_tile_rows: y as u32,
            plane_reciprocal: u32::MAX / y as u32,
            ..job
        }
    }

    /// The job of a call on a fix, whose report goes to `report`. Sides across periodic axes have no ghosts.
    pub(super) fn of_fix(self, config: &Config, report: DevicePointer) -> Job {
        let (report, halo) = (report as *mut factz_fix_report, config.halo);
        Job { report: std::ptr::null_mut(), fix_report: report, halo, verify_checksum: 1, ..self }
    }

    /// The job with the reconstruction that a fix is made for.
    pub(super) fn with_other(self, config: &Config, other: [DevicePointer; 3]) -> Job {
        Job {
            other: other.map(|component| component as *const c_void),
            other_layouts: [config.u.into(), config.v.into(), config.w.into()],
            other_plane_rows: config.plane_rows,
            ..self
        }
    }

    /// The job that decompresses the planes of this one from plane `first` of a stream on. Rows and tiles keep
    /// their numbers in the stream: the addresses are those that plane 0 and tile 0 would have. The workspace
    /// begins with the tiles that the group with the first tile may hold before it.
    fn planes(self, config: &Config, grid: Grid, first: u64) -> Job {
        let (bytes, planes) = (config.dtype.bytes(), first + grid.nz);
        let tiles = grid.tiles() / grid.nz * first;
        let values = |address: *mut c_void, pitch: u64| {
            address.wrapping_byte_sub((first * config.plane_rows * pitch * bytes) as usize)
        };
        fn tile<T>(address: *mut T, tiles: u64, bytes: usize) -> *mut T {
            let before = tiles as isize - OTHER_TILES as isize;
            address.wrapping_byte_offset(-before * bytes as isize)
        }
        let pair = 2 * bytes as usize;
        Job {
            u: values(self.u, self.u_layout.pitch),
            v: values(self.v, self.v_layout.pitch),
            nz: planes,
            first_plane: first as u32,
            takes_planes: 1,
            group_mask: ((grid.tiles() + 2 * OTHER_TILES).next_power_of_two() - 1) as u32,
            tiles_y: grid.tiles_y() * planes,
            verify_checksum: 0,
            symbols: tile(self.symbols, tiles, TILE_VERTICES),
            raw_bits: tile(self.raw_bits, tiles, TILE_VERTICES * pair),
            tile_headers: tile(self.tile_headers, tiles, 4),
            written_steps: tile(self.written_steps, tiles, 4),
            masks: tile(self.masks, tiles, 2 * TILE * 4),
            anchors: tile(self.anchors, tiles, pair),
            ..self
        }
    }
}

/// A component of a field.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Component {
    values: *const c_void,
    layout: Layout,
    /// Elements from plane to plane.
    plane: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct FieldView {
    u: Component,
    v: Component,
}

impl FieldView {
    pub(super) fn new(config: &Config, u: DevicePointer, v: DevicePointer) -> FieldView {
        let component = |values: DevicePointer, layout: crate::grid::field::Layout| Component {
            values: values as *const c_void,
            layout: layout.into(),
            plane: layout.plane,
        };
        FieldView { u: component(u, config.u), v: component(v, config.v) }
    }
}

/// One call of range, compare or critical_points; what a call does not use is 0. The counts and the parts of
/// points are set to zero before the first kernel.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Analysis {
    /// Compare; others: the first alone.
    pub(super) fields: [FieldView; 2],
    /// Owned vertices of a plane.
    pub(super) nx: u64,
    pub(super) ny: u64,
    /// Planes.
    pub(super) nz: u64,
    /// Columns and rows from vertex (0, 0) on that are read: nx and ny, and one more each where there are
    /// ghosts behind them.
    pub(super) columns: u64,
    pub(super) rows: u64,
    /// Columns and rows of ghosts before them, 0 or 1.
    pub(super) columns_before: i32,
    pub(super) rows_before: i32,
    pub(super) dx: f64,
    pub(super) dy: f64,
    /// The error bound; infinity if the call does not compare errors with a bound.
    pub(super) bound: f64,
    /// Bits of filled components.
    pub(super) fill: u64,
    pub(super) has_fill: u32,
    /// Relative to the range of the first field, which is in the counts.
    pub(super) bound_is_relative: u32,
    pub(super) ties: u32,
    pub(super) periodic: u32,
    pub(super) capacity: u64,
    pub(super) points: *mut factz_critical_point,
    pub(super) count: *mut u64,
    pub(super) comparison: *mut factz_comparison,
    pub(super) range: *mut factz_range,
    /// Range and comparison: \[COUNTS\].
    pub(super) counts: *mut u64,
    /// Comparison: \[bands of all planes\]\[strips\]\[PART\].
    pub(super) parts: *mut f64,
    /// Comparison: \[bands of all planes\]\[strips\]\[eight times four rows\]\[32 lanes\], a byte for each row.
    pub(super) open_triangles: *mut u32,
    /// Critical points: how many there are in POINT_PART segments each, then where they go.
    pub(super) point_parts: *mut u64,
    /// Critical points: \[rows of all planes\]\[segments\], how many there are in each.
    pub(super) segments: *mut u16,
}

/// One call of inspect.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Inspection {
    stream: *const u8,
    stream_bytes: u64,
    info: *mut factz_info,
}

impl Inspection {
    pub(super) fn new(stream: DevicePointer, stream_bytes: u64, info: DevicePointer) -> Inspection {
        Inspection { stream: stream as *const u8, stream_bytes, info: info as *mut factz_info }
    }
}
