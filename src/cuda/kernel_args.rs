//! The argument of every kernel, the mirror of kernels/device/kernel_args.cuh.

use super::{Buffers, Direction};
use crate::cuda::workspace::{Region, Workspace};
use crate::grid::missing;
use crate::request::{Config, Dtype, Request};
use std::mem::{offset_of, size_of};

/// An address that the device can use; 0 where there is none.
pub type DevicePointer = u64;

#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Layout {
    pitch: u64,
    stride: u64,
}

/// One call of compress or decompress.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Job {
    u: DevicePointer,
    v: DevicePointer,
    u_layout: Layout,
    v_layout: Layout,
    stream: DevicePointer,
    stream_bytes: u64,
    report: DevicePointer,
    nx: u64,
    ny: u64,
    tiles_x: u64,
    tiles_y: u64,
    bound: f64,
    dx: f64,
    dy: f64,
    fill: u64,
    dtype: u32,
    mode: u32,
    coder: u32,
    predictor: u32,
    preserve: u32,
    bound_kind: u32,
    halo: u32,
    pin: u32,
    verify_checksum: u32,
    has_fill: u32,
    control: DevicePointer,
    counts: DevicePointer,
    symbols: DevicePointer,
    payload: DevicePointer,
    info: DevicePointer,
    steps: DevicePointer,
    masks: DevicePointer,
    nearness: DevicePointer,
    anchors: DevicePointer,
    anchor_codes: DevicePointer,
    across: DevicePointer,
    down: DevicePointer,
    tables: DevicePointer,
    slots: DevicePointer,
    codes: DevicePointer,
    table_section: DevicePointer,
    words: DevicePointer,
    group_sizes: DevicePointer,
    group_offsets: DevicePointer,
    anchor_scan: DevicePointer,
}

const _: () = {
    assert!(size_of::<Job>() == 336);
    assert!(offset_of!(Job, u_layout) == 16);
    assert!(offset_of!(Job, stream) == 48);
    assert!(offset_of!(Job, report) == 64);
    assert!(offset_of!(Job, bound) == 104);
    assert!(offset_of!(Job, dtype) == 136);
    assert!(offset_of!(Job, halo) == 160);
    assert!(offset_of!(Job, control) == 176);
    assert!(offset_of!(Job, anchor_scan) == 328);
};

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

impl Job {
    pub(super) fn new(request: &Request, plan: &Workspace, buffers: &Buffers, direction: Direction) -> Job {
        let (c, grid) = (request.config(), request.grid());
        let part = |r: Region| if r.bytes > 0 { buffers.workspace + r.offset } else { 0 };
        Job {
            u: buffers.u,
            v: buffers.v,
            u_layout: c.u.into(),
            v_layout: c.v.into(),
            stream: buffers.stream,
            stream_bytes: buffers.stream_bytes,
            report: buffers.report,
            nx: grid.nx,
            ny: grid.ny,
            tiles_x: grid.tiles_x(),
            tiles_y: grid.tiles_y(),
            bound: c.bound,
            dx: c.dx,
            dy: c.dy,
            fill: fill_bits(c),
            dtype: c.dtype as u32,
            mode: c.mode as u32,
            coder: c.coder as u32,
            predictor: c.predictor as u32,
            preserve: c.preserve as u32,
            bound_kind: c.bound_kind as u32,
            halo: match direction {
                Direction::Compress => c.halo,
                Direction::Decompress => 0,
            },
            pin: c.pin,
            verify_checksum: c.verify_checksum as u32,
            has_fill: c.fill_value.is_some() as u32,
            control: part(plan.control),
            counts: part(plan.counts),
            symbols: part(plan.symbols),
            payload: part(plan.payload),
            info: part(plan.info),
            steps: part(plan.steps),
            masks: part(plan.masks),
            nearness: part(plan.nearness),
            anchors: part(plan.anchors),
            anchor_codes: part(plan.anchor_codes),
            across: part(plan.across),
            down: part(plan.down),
            tables: part(plan.tables),
            slots: part(plan.slots),
            codes: part(plan.codes),
            table_section: part(plan.table_section),
            words: part(plan.words),
            group_sizes: part(plan.group_sizes),
            group_offsets: part(plan.group_offsets),
            anchor_scan: part(plan.anchor_scan),
        }
    }
}

/// A component of a field.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Component {
    values: DevicePointer,
    layout: Layout,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct FieldView {
    u: Component,
    v: Component,
}

impl FieldView {
    pub(super) fn new(config: &Config, u: DevicePointer, v: DevicePointer) -> FieldView {
        let component =
            |values, layout: crate::grid::field::Layout| Component { values, layout: layout.into() };
        FieldView { u: component(u, config.u), v: component(v, config.v) }
    }
}

/// One call of range, compare or critical_points; what a call does not use is 0.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Analysis {
    pub(super) fields: [FieldView; 2],
    pub(super) nx: u64,
    pub(super) ny: u64,
    pub(super) columns: u64,
    pub(super) rows: u64,
    pub(super) dx: f64,
    pub(super) dy: f64,
    pub(super) bound: f64,
    pub(super) fill: u64,
    pub(super) has_fill: u32,
    pub(super) bound_is_relative: u32,
    pub(super) capacity: u64,
    pub(super) points: DevicePointer,
    pub(super) count: DevicePointer,
    pub(super) comparison: DevicePointer,
    pub(super) range: DevicePointer,
    pub(super) counts: DevicePointer,
    pub(super) parts: DevicePointer,
    pub(super) point_parts: DevicePointer,
    pub(super) segments: DevicePointer,
}

const _: () = {
    assert!(size_of::<Analysis>() == 240);
    assert!(offset_of!(Analysis, nx) == 96);
    assert!(offset_of!(Analysis, bound) == 144);
    assert!(offset_of!(Analysis, has_fill) == 160);
    assert!(offset_of!(Analysis, points) == 176);
    assert!(offset_of!(Analysis, counts) == 208);
    assert!(offset_of!(Analysis, segments) == 232);
};

/// One call of inspect.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Inspection {
    pub(super) stream: DevicePointer,
    pub(super) stream_bytes: u64,
    pub(super) info: DevicePointer,
}

const _: () = assert!(size_of::<Inspection>() == 24);

#[cfg(test)]
mod tests {

    /// The fields of the structs come in the order of the header, which fixes their offsets with the asserts.
    #[test]
    fn fields_come_in_the_order_of_the_header() {
        let header = include_str!("../../kernels/device/kernel_args.cuh");
        let names = |text: &str, begin: &str| -> Vec<String> {
            let body = &text[text.find(begin).unwrap() + begin.len()..];
            // Members end where methods or the struct do.
            let body = &body[..body.find("\n}").unwrap().min(body.find("\n#").unwrap_or(body.len()))];
            let code = body.lines().map(|l| l.split("//").next().unwrap()).collect::<Vec<_>>().join("\n");
            code.split(['\n', ';', ','])
                .filter_map(|f| {
                    let f = f.split(':').next().unwrap().trim();
                    f.rsplit([' ', '*']).next().filter(|n| !n.is_empty()).map(str::to_owned)
                })
                .collect()
        };
        let ours = include_str!("kernel_args.rs").replace("pub(super) ", "").replace("[FieldView; 2],", ",");
        let ours = ours.replace("DevicePointer,", ",").replace("u64,", ",");
        let ours = ours.replace("f64,", ",").replace("u32,", ",").replace("Layout,", ",");
        let header = header.replace("fields[2];", "fields;");
        let structs = ["struct Job {", "struct Analysis {", "struct Inspection {"];
        for begin in structs {
            assert_eq!(names(&header, begin), names(&ours, begin), "{begin}");
        }
    }
}
