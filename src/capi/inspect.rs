//! `factz_info`: what a stream says about itself.

use super::arguments::{check_buffer, choice, guard_with_output, Output, Span};
use super::enumerations::{BOUND_KINDS, CODERS, DTYPES, MODES, NO_YES, PREDICTORS, PRESERVES, TIES};
use super::status::{factz_status, FACTZ_OK};
use crate::cpu;
use crate::error::{Error, Result};
use crate::report::StreamInfo;
use crate::request::{Component, Config};
use crate::stream::header::VOLUME_HEADER_BYTES;
use std::ffi::c_void;

/// Bytes at the start of a stream that `factz_inspect_host` and `factz_inspect_device` need; every
/// stream has at least as many.
pub const FACTZ_INSPECT_BYTES: usize = 128;
/// Bytes at the start of the stream of a volume that `factz_inspect_host` needs.
pub const FACTZ_VOLUME_INSPECT_BYTES: usize = 176;
const _: () = assert!(FACTZ_VOLUME_INSPECT_BYTES == VOLUME_HEADER_BYTES);
const _: () = assert!(FACTZ_INSPECT_BYTES == cpu::INSPECT_BYTES);

/// A stream holds both components, as `factz_compress_host` and `factz_compress_device` write it, or one of
/// them (`factz_split_host`).
pub const FACTZ_COMPONENT_BOTH: u32 = 0;
pub const FACTZ_COMPONENT_U: u32 = 1;
pub const FACTZ_COMPONENT_V: u32 = 2;
/// The stream holds u, v and w of a volume.
pub const FACTZ_COMPONENT_VOLUME: u32 = 3;
const _: () =
    assert!(FACTZ_COMPONENT_U == 1 + Component::U as u32 && FACTZ_COMPONENT_V == 1 + Component::V as u32);

/// The header of a stream. Aligned to 8 bytes.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct factz_info {
    /// The status of the inspection; the other fields count only when it is FACTZ_OK.
    pub status: factz_status,
    /// Version of the format.
    pub format_version: u32,
    /// Bytes of the whole stream.
    pub stream_bytes: u64,
    /// Vertices along x.
    pub nx: u64,
    /// Vertices along y.
    pub ny: u64,
    /// Planes; of a volume, vertices along z.
    pub nz: u64,
    /// Grid spacing along x, negative if columns run against u.
    pub dx: f64,
    /// Grid spacing along y, negative if rows run against v.
    pub dy: f64,
    /// Grid spacing along z of a volume, negative if planes run against w; 1 of planes.
    pub dz: f64,
    /// The bound as it was given when compressing, bit for bit.
    pub bound: f64,
    /// The absolute bound that was applied, in the unit of the field.
    pub absolute_bound: f64,
    /// FACTZ_BOUND_*: what `bound` means.
    pub bound_kind: i32,
    /// FACTZ_DTYPE_*.
    pub dtype: i32,
    /// FACTZ_MODE_*.
    pub mode: i32,
    /// FACTZ_CODER_*.
    pub coder: i32,
    /// FACTZ_PREDICTOR_*.
    pub predictor: i32,
    /// FACTZ_PRESERVE_*.
    pub preserve: i32,
    /// The fill value of the field; 0 without one.
    pub fill_value: f64,
    /// 1: the field has a fill value. 0: it has none.
    pub has_fill_value: i32,
    /// FACTZ_TIES_*.
    pub ties: i32,
    /// FACTZ_PERIODIC_* bits.
    pub periodic: u32,
    /// FACTZ_COMPONENT_*: what the stream holds.
    pub component: u32,
}

assert_layout! {
    factz_info, 128 bytes:
    status 0, format_version 4, stream_bytes 8, nx 16, ny 24, nz 32, dx 40, dy 48, dz 56, bound 64,
    absolute_bound 72, bound_kind 80, dtype 84, mode 88, coder 92, predictor 96, preserve 100,
    fill_value 104, has_fill_value 112, ties 116, periodic 120, component 124
}

impl From<&StreamInfo> for factz_info {
    fn from(s: &StreamInfo) -> Self {
        factz_info {
            status: 0,
            format_version: s.format_version,
            stream_bytes: s.stream_bytes,
            nx: s.nx,
            ny: s.ny,
            nz: s.nz,
            dx: s.dx,
            dy: s.dy,
            dz: s.dz,
            bound: s.bound,
            absolute_bound: s.absolute_bound,
            bound_kind: s.bound_kind as i32,
            dtype: s.dtype as i32,
            mode: s.mode as i32,
            coder: s.coder as i32,
            predictor: s.predictor as i32,
            preserve: s.preserve as i32,
            fill_value: s.fill_value.unwrap_or(0.0),
            has_fill_value: s.fill_value.is_some() as i32,
            ties: s.ties as i32,
            periodic: s.periodic,
            component: match s.components {
                3 => FACTZ_COMPONENT_VOLUME,
                _ => s.component.map_or(FACTZ_COMPONENT_BOTH, |component| 1 + component as u32),
            },
        }
    }
}

impl factz_info {
    /// The configuration that a stream with this header was written with.
    pub(super) fn to_config(self) -> Result<Config> {
        if self.status != FACTZ_OK {
            return Err(Error::argument(format!("status = {}: there is no header", self.status)));
        }
        let has_fill_value = choice("has_fill_value", self.has_fill_value, &NO_YES)?;
        let bound_kind = choice("bound_kind", self.bound_kind, &BOUND_KINDS)?;
        Ok(Config {
            dtype: choice("dtype", self.dtype, &DTYPES)?,
            dx: self.dx,
            dy: self.dy,
            mode: choice("mode", self.mode, &MODES)?,
            coder: choice("coder", self.coder, &CODERS)?,
            predictor: choice("predictor", self.predictor, &PREDICTORS)?,
            preserve: choice("preserve", self.preserve, &PRESERVES)?,
            ties: choice("ties", self.ties, &TIES)?,
            fill_value: has_fill_value.then_some(self.fill_value),
            components: if self.component == FACTZ_COMPONENT_VOLUME { 3 } else { 2 },
            nz: self.nz,
            dz: self.dz,
            periodic: self.periodic,
            ..Config::new(self.nx, self.ny, bound_kind, self.bound)
        })
    }
}

/// Reads the header of a stream in host memory.
///
/// Reads only the first FACTZ_INSPECT_BYTES bytes, or FACTZ_VOLUME_INSPECT_BYTES of a volume: the rest of the
/// stream is not checked, and the checksum is not compared. Does not block, thread-safe.
///
/// @param src        the start of a stream, any alignment; not changed
/// @param src_bytes  readable bytes at src; at least FACTZ_INSPECT_BYTES
/// @param info       always written, unless info itself is the bad argument; if the call fails, `status` has
///                   the error and all other fields are 0
/// @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT (a pointer is NULL or misaligned, or info overlaps src);
///         FACTZ_ERROR_CORRUPT_STREAM (too short, or no stream); FACTZ_ERROR_UNSUPPORTED_VERSION (see
///         `factz_readable_formats`)
#[unsafe(no_mangle)]
pub unsafe extern "C" fn factz_inspect_host(
    src: *const c_void,
    src_bytes: usize,
    info: *mut factz_info,
) -> factz_status {
    let body = |output: &mut Output<factz_info>| {
        let source = check_source(src, src_bytes)?;
        output.check_apart(&[&source])?;
        // SAFETY: src is not null and the caller promised src_bytes readable bytes; info, the only
        // thing written, lies elsewhere and is written later.
        let stream = unsafe { std::slice::from_raw_parts(src.cast::<u8>(), src_bytes) };
        output.set(factz_info::from(&cpu::inspect(stream)?));
        Ok(())
    };
    // SAFETY: the caller gave a whole struct.
    unsafe { guard_with_output("info", info, factz_info::default(), body, |i, status| i.status = status) }
}

/// A stream that is read: unlike an output it is never null.
pub(super) fn check_source(src: *const c_void, src_bytes: usize) -> Result<Span> {
    if src.is_null() {
        return Err(Error::argument(format!("src is null (src_bytes = {src_bytes})")));
    }
    check_buffer("src", src, src_bytes)
}
