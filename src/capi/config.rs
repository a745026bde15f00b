//! `factz_config`: what the caller asks for, and its translation to a validated request.

use super::arguments::{check_struct, check_vertices, choice, Output, Span};
/// The values of the fields.
pub use super::enumerations::*;
use super::inspect::factz_info;
use super::status::{factz_status, guard};
use crate::error::{Error, Result, Status};
use crate::grid::field::Layout;
use crate::request::{self, BoundKind, Config, Request, VolumeRequest};
use std::ffi::c_void;
use std::mem::size_of;

/// Bit of `halo` and `pin`: the side of column 0.
pub const FACTZ_SIDE_X_MIN: u32 = 1;
/// Bit of `halo` and `pin`: the side of column nx - 1.
pub const FACTZ_SIDE_X_MAX: u32 = 2;
/// Bit of `halo` and `pin`: the side of row 0.
pub const FACTZ_SIDE_Y_MIN: u32 = 4;
/// Bit of `halo` and `pin`: the side of row ny - 1.
pub const FACTZ_SIDE_Y_MAX: u32 = 8;
/// All sides of a plane.
pub const FACTZ_SIDES_ALL: u32 = 15;
/// Bit of `halo` and `pin`: the side of plane 0 of a volume.
pub const FACTZ_SIDE_Z_MIN: u32 = 16;
/// Bit of `halo` and `pin`: the side of plane nz - 1 of a volume.
pub const FACTZ_SIDE_Z_MAX: u32 = 32;
/// All sides of a volume.
pub const FACTZ_SIDES_ALL_OF_VOLUME: u32 = 63;

/// Bit of `periodic`: column nx - 1 is a neighbour of column 0.
pub const FACTZ_PERIODIC_X: u32 = 1;
/// Bit of `periodic`: row ny - 1 is a neighbour of row 0.
pub const FACTZ_PERIODIC_Y: u32 = 2;
/// Bit of `periodic`: plane nz - 1 of a volume is a neighbour of plane 0.
pub const FACTZ_PERIODIC_Z: u32 = 4;

const _: () = {
    assert!(FACTZ_PERIODIC_X == request::PERIODIC_X && FACTZ_PERIODIC_Y == request::PERIODIC_Y);
    assert!(FACTZ_SIDE_X_MIN == request::SIDE_X_MIN && FACTZ_SIDE_X_MAX == request::SIDE_X_MAX);
    assert!(FACTZ_SIDE_Y_MIN == request::SIDE_Y_MIN && FACTZ_SIDE_Y_MAX == request::SIDE_Y_MAX);
    assert!(FACTZ_SIDES_ALL == request::SIDES_ALL);
    assert!(FACTZ_SIDE_Z_MIN == request::SIDE_Z_MIN && FACTZ_SIDE_Z_MAX == request::SIDE_Z_MAX);
    assert!(FACTZ_SIDES_ALL_OF_VOLUME == request::SIDES_ALL_OF_VOLUME);
    assert!(FACTZ_PERIODIC_Z == request::PERIODIC_Z);
};

/// The configuration of a call. Fill it with `factz_config_init` (or a function factz_config_from_*), then
/// change what you need: whoever sets nx, ny and a bound gets good defaults. The functions copy what they
/// need; the struct may be reused or freed as soon as a call returns.
///
/// Vertex (x, y), 0 <= x < nx and 0 <= y < ny, has its u at `u[y * u_pitch + x * u_stride]` and its v
/// likewise, counted in elements. Separate dense arrays: pitch 0, stride 1. Interleaved u,v,u,v: stride 2,
/// pitch 2 * nx, and v = u + 1. An array with ghost columns: pitch = the length of its rows, and u points at
/// the first owned vertex.
///
/// Stacks: vertex (x, y) of plane z, 0 <= z < nz, has its u at
/// `u[(z * plane_rows + y) * u_pitch + x * u_stride]` and its v likewise. Dense planes: plane_rows 0. An array
/// (nz, 2, ny, nx), u and v in turn: plane_rows = 2 * ny, and v = u + nx * ny.
///
/// Volumes (components 3, `factz_config_init_volume`): vertex (x, y, z) lies where vertex (x, y) of plane z of a
/// stack does, in u, v and w.
///
/// Sizes and versions: every struct of this header keeps its size for ever. A field of a later version takes
/// the place of reserved bytes, and 0 there means what this version does. So a program that was compiled with
/// this header runs with every later library of its major version. Reserved fields must be 0 (otherwise
/// FACTZ_ERROR_UNSUPPORTED: a field of a later version, or a struct that `factz_config_init` did not fill).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct factz_config {
    /// 256, the mark of a struct that `factz_config_init` or another function of this header filled; anything
    /// else is FACTZ_ERROR_INVALID_CONFIG.
    pub struct_size: u64,
    /// Vertices along x, the axis that varies fastest; at least 1.
    pub nx: u64,
    /// Vertices along y; at least 1.
    pub ny: u64,
    /// Planes, 1 to 2^32 - 1; default 1. Planes (times, levels) are fields of their own that are compressed
    /// together, into one stream and with one bound: no triangle joins two of them. Of a volume: vertices along
    /// z, at least 2. nx * ny * nz is at most 2^48.
    pub nz: u64,
    /// Elements from a row of u to the next; 0 means dense rows, nx * u_stride.
    pub u_pitch: u64,
    /// Elements from a u to its neighbour in the row; at least 1. Default 1.
    pub u_stride: u64,
    /// Elements from a row of v to the next; 0 means dense rows, nx * v_stride.
    pub v_pitch: u64,
    /// Elements from a v to its neighbour in the row; at least 1. Default 1.
    pub v_stride: u64,
    /// Elements from a row of w to the next; 0 means dense rows, nx * w_stride. Of volumes alone.
    pub w_pitch: u64,
    /// Elements from a w to its neighbour in the row; at least 1. Of volumes alone. Default 1.
    pub w_stride: u64,
    /// Grid spacing along x, finite and not 0; only the types of critical points depend on it. Vertex (x, y)
    /// lies at (x * dx, y * dy), u points to larger x * dx and v to larger y * dy: dx is negative if columns
    /// run against u. Default 1.
    pub dx: f64,
    /// Grid spacing along y, negative if rows run against v: -1 if row 0 is the northernmost and v positive
    /// to the north. With the wrong sign the types of the mirrored field are kept: vortices count as saddles.
    /// Default 1.
    pub dy: f64,
    /// Grid spacing along z, negative if planes run against w: of volumes alone. Default 1.
    pub dz: f64,
    /// The largest |decompressed - original| of any finite value, finite and not negative; 0 is lossless bit
    /// for bit; above 0 the sign of a zero is not kept. It is never loosened, by rounding or otherwise.
    pub bound: f64,
    /// FACTZ_BOUND_ABSOLUTE or FACTZ_BOUND_RELATIVE.
    pub bound_kind: i32,
    /// FACTZ_DTYPE_F32 (default) or FACTZ_DTYPE_F64.
    pub dtype: i32,
    /// FACTZ_MODE_BLOCK_WISE (default) or FACTZ_MODE_SPECULATIVE; of volumes FACTZ_MODE_REPAIR.
    pub mode: i32,
    /// FACTZ_CODER_ANS (default) or FACTZ_CODER_HUFFMAN.
    pub coder: i32,
    /// FACTZ_PREDICTOR_HIERARCHICAL (default) or FACTZ_PREDICTOR_LORENZO.
    pub predictor: i32,
    /// FACTZ_PRESERVE_NONE, FACTZ_PRESERVE_POINTS or FACTZ_PRESERVE_TYPES (default).
    pub preserve: i32,
    /// FACTZ_SIDE_* bits: sides where one line of ghost vertices with original values lies beside the block,
    /// at x = -1, x = nx, y = -1 or y = ny of the same layout (corners included where two sides meet); of a
    /// volume also a plane at z = -1 or z = nz, with the edges and corners where sides meet.
    /// Critical points in the cells between blocks are then preserved too, whatever the other block's owner
    /// does. Ghost vertices are read when compressing, never written and not part of the stream.
    /// `factz_critical_points_host`, `factz_compare_host` and their device twins read them as well. Default
    /// 0.
    pub halo: u32,
    /// FACTZ_SIDE_* bits: sides whose border line is stored exactly, for neighbours without a halo. (With a bound
    /// above 0 a vertex that is zero may lose the signs of its zeros.) Default 0.
    pub pin: u32,
    /// 1: decompression compares the checksum (default). 0: it does not. Compression always writes the
    /// checksum.
    pub verify_checksum: i32,
    /// 1: the field has a fill value. 0: it has none (default).
    pub has_fill_value: i32,
    /// A vertex is filled, without data, where its u or its v has the bits of this value (rounded to the
    /// nearest `float` for FACTZ_DTYPE_F32; a zero has a sign). Filled vertices are kept bit for bit, do not
    /// count in the range, and no critical point is in a triangle that touches one. Other values that are
    /// within the bound of the fill value may come back as the fill value. A finite value beyond the range of the
    /// dtype is an error. Ignored while has_fill_value is 0.
    pub fill_value: f64,
    /// FACTZ_TIES_ALL (default), FACTZ_TIES_ZEROS or FACTZ_TIES_SOS; no effect with FACTZ_PRESERVE_NONE.
    pub ties: i32,
    /// FACTZ_PERIODIC_* bits: axes along which the last vertex is a neighbour of the first, such as the longitude
    /// of a global grid. The cells between them are part of the field. A periodic axis has at least 3 vertices
    /// and neither halo nor pin. Default 0.
    pub periodic: u32,
    /// Rows from a plane to the next, in all components; 0 means dense planes, ny. Ignored if nz is 1.
    /// Default 0.
    pub plane_rows: u64,
    /// 0 (default) or 2: u and v on planes. 3: u, v and w on a volume, for the functions with `volume` in their
    /// names. Either kind of function refuses the configuration of the other.
    pub components: u32,
    /// 0.
    pub reserved_32: u32,
    /// 0.
    pub reserved: [u64; 9],
}

assert_layout! {
    factz_config, 256 bytes:
    struct_size 0, nx 8, ny 16, nz 24, u_pitch 32, u_stride 40, v_pitch 48, v_stride 56, w_pitch 64,
    w_stride 72, dx 80, dy 88, dz 96, bound 104, bound_kind 112, dtype 116, mode 120, coder 124,
    predictor 128, preserve 132, halo 136, pin 140, verify_checksum 144, has_fill_value 148, fill_value 152,
    ties 160, periodic 164, plane_rows 168, components 176, reserved_32 180, reserved 184
}

/// The size of the struct in every version, because an old caller has room for no more; new fields take the
/// place of reserved ones, with 0 as their default.
const SIZE: u64 = 256;
const _: () = assert!(size_of::<factz_config>() as u64 == SIZE);

/// Fills a configuration with the defaults named at each field, for a dense `float` field.
///
/// Only the pointer and `bound_kind` are checked here; everything else is checked by the functions that
/// use the configuration, so fields may be changed in any order. Host only, does not block.
/// Thread-safe.
///
/// @param config      written, whatever its content was; all zero if the call fails: every function refuses
///                    such a configuration
/// @param nx          vertices along x, the axis that varies fastest
/// @param ny          vertices along y
/// @param bound_kind  FACTZ_BOUND_ABSOLUTE or FACTZ_BOUND_RELATIVE
/// @param bound       the error bound in that kind's unit
/// @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT (config is NULL or misaligned);
///         FACTZ_ERROR_INVALID_CONFIG (no such bound_kind)
#[unsafe(no_mangle)]
pub unsafe extern "C" fn factz_config_init(
    config: *mut factz_config,
    nx: u64,
    ny: u64,
    bound_kind: i32,
    bound: f64,
) -> factz_status {
    guard(|| {
        // SAFETY: the caller gave a whole struct.
        let mut output = unsafe { Output::new("config", config, factz_config::BLANK) }?;
        let bound_kind = choice("bound_kind", bound_kind, &BOUND_KINDS)?;
        output.set(factz_config::from(&Config::new(nx, ny, bound_kind, bound)));
        Ok(())
    })
}

/// Fills a configuration with the defaults for a dense `float` volume: components 3, FACTZ_MODE_REPAIR, and
/// otherwise as `factz_config_init`.
///
/// @param config      written, whatever its content was; all zero if the call fails
/// @param nx          vertices along x, the axis that varies fastest; at least 2
/// @param ny          vertices along y; at least 2
/// @param nz          vertices along z; at least 2
/// @param bound_kind  FACTZ_BOUND_ABSOLUTE or FACTZ_BOUND_RELATIVE
/// @param bound       the error bound in that kind's unit
/// @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT (config is NULL or misaligned);
///         FACTZ_ERROR_INVALID_CONFIG (no such bound_kind)
#[unsafe(no_mangle)]
pub unsafe extern "C" fn factz_config_init_volume(
    config: *mut factz_config,
    nx: u64,
    ny: u64,
    nz: u64,
    bound_kind: i32,
    bound: f64,
) -> factz_status {
    guard(|| {
        // SAFETY: the caller gave a whole struct.
        let mut output = unsafe { Output::new("config", config, factz_config::BLANK) }?;
        let bound_kind = choice("bound_kind", bound_kind, &BOUND_KINDS)?;
        output.set(factz_config::from(&Config::volume([nx, ny, nz], bound_kind, bound)));
        Ok(())
    })
}

/// Makes the configuration that a stream was written with, for dense arrays of its shape and type. It serves
/// to decompress the stream, and to compress another field in the same way. halo and pin are 0: a stream does
/// not record them. Host only, does not block. Thread-safe.
///
/// @param info    the header of a stream, from `factz_inspect_host` or `factz_inspect_device`, in host memory
/// @param config  written; all zero if the call fails: every function refuses such a configuration
/// @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT (a pointer is NULL or misaligned, config overlaps info, or
///         info->status is not FACTZ_OK); FACTZ_ERROR_INVALID_CONFIG (the info holds values that no stream
///         has)
#[unsafe(no_mangle)]
pub unsafe extern "C" fn factz_config_from_info(
    info: *const factz_info,
    config: *mut factz_config,
) -> factz_status {
    guard(|| {
        // SAFETY: the caller gave a whole struct.
        let mut output = unsafe { Output::new("config", config, factz_config::BLANK) }?;
        check_struct("info", info)?;
        output.check_apart(&[&Span::of("info", info)])?;
        // SAFETY: not null and aligned; the caller gave a whole struct, and any bytes make a valid one.
        let info = unsafe { info.read() };
        let valid = |c: Config| match c.components {
            3 => VolumeRequest::new(c).map(|_| c),
            _ => Request::new(c).map(|_| c),
        };
        let found = info.to_config().and_then(valid);
        output.set(factz_config::from(&found.map_err(|e| about("info", e))?));
        Ok(())
    })
}

impl From<&Config> for factz_config {
    fn from(c: &Config) -> Self {
        factz_config {
            struct_size: SIZE,
            nx: c.nx,
            ny: c.ny,
            nz: c.nz,
            u_pitch: c.u.pitch,
            u_stride: c.u.stride,
            v_pitch: c.v.pitch,
            v_stride: c.v.stride,
            w_pitch: c.w.pitch,
            w_stride: c.w.stride,
            dx: c.dx,
            dy: c.dy,
            dz: c.dz,
            bound: c.bound,
            bound_kind: c.bound_kind as i32,
            dtype: c.dtype as i32,
            mode: c.mode as i32,
            coder: c.coder as i32,
            predictor: c.predictor as i32,
            preserve: c.preserve as i32,
            halo: c.halo,
            pin: c.pin,
            verify_checksum: c.verify_checksum as i32,
            has_fill_value: c.fill_value.is_some() as i32,
            fill_value: c.fill_value.unwrap_or(0.0),
            ties: c.ties as i32,
            periodic: c.periodic,
            plane_rows: c.plane_rows,
            components: if c.components == 2 { 0 } else { c.components },
            reserved_32: 0,
            reserved: [0; 9],
        }
    }
}

/// Memory of the inputs that is known before the configuration is read: the struct itself, and the first
/// value of u and v.
pub(super) fn inputs(config: *const factz_config, u: *const c_void, v: *const c_void) -> [Span; 3] {
    [Span::of("config", config), Span::of("u", u.cast::<f32>()), Span::of("v", v.cast::<f32>())]
}

/// The request that a configuration makes, for a field of `n` vertices.
///
/// # Safety
/// As for [`read_request`].
pub(super) unsafe fn read_field_request(config: *const factz_config, n: usize) -> Result<Request> {
    // SAFETY: the promise of this function.
    let request = unsafe { read_request("config", config) }?;
    check_vertices(n, &request)?;
    Ok(request)
}

/// Reads the caller's struct and validates it.
///
/// # Safety
/// `config` is null or points to a readable struct.
pub(super) unsafe fn read_request(name: &str, config: *const factz_config) -> Result<Request> {
    // SAFETY: the promise of this function.
    let copy = unsafe { read_struct(name, config) }?;
    copy.to_config().and_then(Request::new).map_err(|e| about(name, e))
}

/// The request of a volume.
///
/// # Safety
/// As for [`read_request`].
pub(super) unsafe fn read_volume_request(name: &str, config: *const factz_config) -> Result<VolumeRequest> {
    // SAFETY: the promise of this function.
    let copy = unsafe { read_struct(name, config) }?;
    copy.to_config().and_then(VolumeRequest::new).map_err(|e| about(name, e))
}

/// The configuration of a part of a field, which has no sides and no periodic axes of its own.
///
/// # Safety
/// As for [`read_request`].
unsafe fn read_part(config: *const factz_config) -> Result<Config> {
    // SAFETY: the promise of this function.
    let copy = unsafe { read_struct("config", config) }?;
    factz_config { halo: 0, pin: 0, periodic: 0, ..copy }.to_config().map_err(|e| about("config", e))
}

/// The request of a part of planes, of `n` vertices.
///
/// # Safety
/// As for [`read_request`].
pub(super) unsafe fn read_part_request(config: *const factz_config, n: usize) -> Result<Request> {
    // SAFETY: the promise of this function.
    let part = unsafe { read_part(config) }?;
    let request = Request::new(part).map_err(|e| about("config", e))?;
    check_vertices(n, &request)?;
    Ok(request)
}

/// The request of a part of a volume, of `n` vertices.
///
/// # Safety
/// As for [`read_request`].
pub(super) unsafe fn read_volume_part_request(
    config: *const factz_config,
    n: usize,
) -> Result<VolumeRequest> {
    // SAFETY: the promise of this function.
    let part = unsafe { read_part(config) }?;
    let request = VolumeRequest::part(part).map_err(|e| about("config", e))?;
    check_vertices(n, request.common())?;
    Ok(request)
}

/// The choices of a configuration besides shape, element type and layout, which are not looked at.
///
/// # Safety
/// As for [`read_request`].
pub(super) unsafe fn choices(config: *const factz_config) -> Result<Config> {
    // SAFETY: the promise of this function.
    let copy = unsafe { read_struct("config", config) }?;
    factz_config { dtype: FACTZ_DTYPE_F32, ..copy }.to_config().map_err(|e| about("config", e))
}

/// A field of this shape and element type, dense and with defaults: the rest of the configuration is not
/// looked at.
///
/// # Safety As for [`read_request`].
pub(super) unsafe fn read_shape(config: *const factz_config) -> Result<Request> {
    // SAFETY: the promise of this function.
    let copy = unsafe { read_struct("config", config) }?;
    let shape = factz_config {
        nx: copy.nx,
        ny: copy.ny,
        nz: copy.nz,
        dtype: copy.dtype,
        ..factz_config::from(&Config::new(0, 0, BoundKind::Absolute, 0.0))
    };
    shape.to_config().and_then(Request::new).map_err(|e| about("config", e))
}

/// An error with the name of the argument that it is about.
fn about(name: &str, error: Error) -> Error {
    Error::new(error.status, format!("{name}: {}", error.message))
}

/// # Safety
/// As for [`read_request`].
unsafe fn read_struct(name: &str, config: *const factz_config) -> Result<factz_config> {
    check_struct(name, config)?;
    // SAFETY: not null and aligned; the caller gave a whole struct, and any bytes make a valid one.
    let copy = unsafe { config.read() };
    if copy.struct_size != SIZE {
        return Err(Error::config(format!(
            "{name}->struct_size = {} is not {SIZE}: call factz_config_init first",
            copy.struct_size
        )));
    }
    Ok(copy)
}

fn unsupported(message: String) -> Error {
    Error::new(Status::Unsupported, message)
}

impl factz_config {
    /// All zero, which `struct_size` marks as no configuration.
    // SAFETY: a struct of numbers.
    pub(super) const BLANK: factz_config = unsafe { std::mem::zeroed() };

    fn to_config(self) -> Result<Config> {
        let reserved = self.reserved.iter().map(|&r| ("reserved", r));
        let all = reserved.chain([("reserved_32", self.reserved_32 as u64)]);
        if let Some((name, value)) = { all }.find(|&(_, r)| r != 0) {
            return Err(unsupported(format!(
                "{name} = {value:#x} is reserved and must be 0 in this version"
            )));
        }
        let has_fill_value = choice("has_fill_value", self.has_fill_value, &NO_YES)?;
        Ok(Config {
            components: if self.components == 0 { 2 } else { self.components },
            nx: self.nx,
            ny: self.ny,
            nz: self.nz,
            plane_rows: self.plane_rows,
            dtype: choice("dtype", self.dtype, &DTYPES)?,
            u: Layout { pitch: self.u_pitch, stride: self.u_stride, plane: 0 },
            v: Layout { pitch: self.v_pitch, stride: self.v_stride, plane: 0 },
            w: Layout { pitch: self.w_pitch, stride: self.w_stride, plane: 0 },
            halo: self.halo,
            pin: self.pin,
            periodic: self.periodic,
            dx: self.dx,
            dy: self.dy,
            dz: self.dz,
            bound_kind: choice("bound_kind", self.bound_kind, &BOUND_KINDS)?,
            bound: self.bound,
            mode: choice("mode", self.mode, &MODES)?,
            coder: choice("coder", self.coder, &CODERS)?,
            predictor: choice("predictor", self.predictor, &PREDICTORS)?,
            preserve: choice("preserve", self.preserve, &PRESERVES)?,
            ties: choice("ties", self.ties, &TIES)?,
            fill_value: has_fill_value.then_some(self.fill_value),
            verify_checksum: choice("verify_checksum", self.verify_checksum, &NO_YES)?,
        })
    }
}
