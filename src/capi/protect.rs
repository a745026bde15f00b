//! Fixes for the reconstructions of other compressors, on the host.

use super::analysis::{components, read_shapes};
use super::arguments::{
    check_buffer, guard_with_output, output as view, thread_count, typed, views, Field, Ghosts, Output, Span,
};
use super::config::{factz_config, inputs, read_field_request};
use super::status::factz_status;
use crate::cpu::Execution;
use crate::error::{Error, Outside, Result, Status};
use crate::repair;
use crate::report::{FixInfo, FixReport};
use crate::runtime::log::event;
use std::ffi::{c_int, c_void};

/// The outcome of making or applying a fix. Aligned to 8 bytes.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct factz_fix_report {
    /// The status of the call; the other fields count only when it is FACTZ_OK or
    /// FACTZ_ERROR_BUFFER_TOO_SMALL.
    pub status: factz_status,
    /// 0.
    pub reserved_status: i32,
    /// Bytes of the fix that were written, or that the applied fix has.
    pub fix_bytes: u64,
    /// Bytes that the fix takes, also when the buffer was too small for it.
    pub required_bytes: u64,
    /// Vertices whose values the fix replaces.
    pub repaired_vertices: u64,
    /// Of these, vertices that take the bits of the original.
    pub exact_vertices: u64,
    /// Triangles, of a volume tetrahedra, of the reconstruction that do not keep what config asks for; 0 after
    /// applying.
    pub violated_triangles: u64,
    /// Rounds of repair; 0 after applying. There are at most 129 + log2(number of tiles of 32 x 32 vertices, of a
    /// volume 16 x 16 x 16), rounded up.
    pub rounds: u64,
    /// The absolute bound that the reconstruction keeps, and the repaired field too.
    pub bound: f64,
    /// Largest |other - original| of the reconstruction, where the original has data.
    pub max_error: f64,
    /// Where a reconstruction is refused because it leaves the bound (FACTZ_ERROR_INVALID_ARGUMENT): vertices at
    /// which it does. 0 in all other cases.
    pub vertices_outside: u64,
    /// The number of the first of them, plane by plane and row by row; otherwise 0.
    pub first_outside: u64,
    /// 0.
    pub reserved: [u64; 5],
}

assert_layout! {
    factz_fix_report, 128 bytes:
    status 0, reserved_status 4, fix_bytes 8, required_bytes 16, repaired_vertices 24, exact_vertices 32,
    violated_triangles 40, rounds 48, bound 56, max_error 64, vertices_outside 72, first_outside 80,
    reserved 88
}

impl factz_fix_report {
    /// The report of a failed call; its caller sets the status.
    pub(super) fn failed(error: &Error) -> Self {
        let outside = error.outside.unwrap_or(Outside { vertices: 0, first: 0 });
        let blank = factz_fix_report::from(&FixReport::default());
        factz_fix_report { vertices_outside: outside.vertices, first_outside: outside.first, ..blank }
    }
}

impl From<&FixReport> for factz_fix_report {
    fn from(r: &FixReport) -> Self {
        factz_fix_report {
            status: r.status as factz_status,
            reserved_status: 0,
            fix_bytes: r.fix_bytes,
            required_bytes: r.required_bytes,
            repaired_vertices: r.repaired_vertices,
            exact_vertices: r.exact_vertices,
            violated_triangles: r.violated_triangles,
            rounds: r.rounds,
            bound: r.bound,
            max_error: r.max_error,
            vertices_outside: 0,
            first_outside: 0,
            reserved: [0; 5],
        }
    }
}

/// The header of a fix. Aligned to 8 bytes.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct factz_fix_info {
    /// The status of the inspection; the other fields count only when it is FACTZ_OK.
    pub status: factz_status,
    /// Version of the format of fixes.
    pub format_version: u32,
    /// Bytes of the whole fix.
    pub fix_bytes: u64,
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
    /// The bound as it was given, bit for bit.
    pub bound: f64,
    /// The absolute bound that follows from it, in the unit of the field.
    pub absolute_bound: f64,
    /// Largest |other - original| of the reconstruction, where the original has data.
    pub max_error: f64,
    /// Vertices whose values the fix replaces.
    pub repaired_vertices: u64,
    /// Of these, vertices that take the bits of the original.
    pub exact_vertices: u64,
    /// The fill value of the field; 0 without one.
    pub fill_value: f64,
    /// FACTZ_BOUND_*: what `bound` means.
    pub bound_kind: i32,
    /// FACTZ_DTYPE_*.
    pub dtype: i32,
    /// FACTZ_PRESERVE_*.
    pub preserve: i32,
    /// FACTZ_TIES_*.
    pub ties: i32,
    /// 1: the field has a fill value. 0: it has none.
    pub has_fill_value: i32,
    /// FACTZ_PERIODIC_* bits.
    pub periodic: u32,
    /// The checksum of the reconstruction that the fix belongs to.
    pub reconstruction_checksum: u32,
    /// 2: u and v on planes. 3: u, v and w on a volume.
    pub components: u32,
    /// 0.
    pub reserved: [u64; 6],
}

assert_layout! {
    factz_fix_info, 192 bytes:
    status 0, format_version 4, fix_bytes 8, nx 16, ny 24, nz 32, dx 40, dy 48, dz 56, bound 64,
    absolute_bound 72, max_error 80, repaired_vertices 88, exact_vertices 96, fill_value 104, bound_kind 112,
    dtype 116, preserve 120, ties 124, has_fill_value 128, periodic 132, reconstruction_checksum 136,
    components 140, reserved 144
}

impl From<&FixInfo> for factz_fix_info {
    fn from(f: &FixInfo) -> Self {
        factz_fix_info {
            status: 0,
            format_version: f.format_version,
            fix_bytes: f.fix_bytes,
            nx: f.nx,
            ny: f.ny,
            nz: f.nz,
            dx: f.dx,
            dy: f.dy,
            dz: f.dz,
            bound: f.bound,
            absolute_bound: f.absolute_bound,
            max_error: f.max_error,
            repaired_vertices: f.repaired_vertices,
            exact_vertices: f.exact_vertices,
            fill_value: f.fill_value.unwrap_or(0.0),
            bound_kind: f.bound_kind as i32,
            dtype: f.dtype as i32,
            preserve: f.preserve as i32,
            ties: f.ties as i32,
            has_fill_value: f.fill_value.is_some() as i32,
            periodic: f.periodic,
            reconstruction_checksum: f.reconstruction_checksum,
            components: f.components,
            reserved: [0; 6],
        }
    }
}

/// Makes a fix for the reconstruction of a field by any compressor: with it (`factz_apply_host`) the
/// reconstruction keeps the bound and the critical points, as a compression with the same configuration does.
///
/// The reconstruction must be within the bound of config at every vertex that has data; factz_last_error says
/// where it is not. The fix belongs to this reconstruction, bit for bit: no other one takes it. It does not
/// depend on the number of threads. Concurrent calls may share the fields.
///
/// @param u             x components of the original, laid out as config says; ghosts of config->halo are
///                      read
/// @param v             its y components
/// @param n             number of vertices, nx * ny
/// @param config        shape, type and layout of the original, the bound, and what is preserved: preserve,
///                      ties, fill value, dx, dy, periodic, halo and pin. mode, coder, predictor and
///                      verify_checksum must be valid and have no effect
/// @param other_u       x components of the reconstruction; ghosts are not read
/// @param other_v       its y components
/// @param other_config  the layout of other_u and other_v; nx, ny, nz, dtype and periodic as in config. NULL
///                      stands for config
/// @param dst           receives the fix; any alignment
/// @param dst_bytes     writable bytes at dst; the max_stream_bytes of `factz_compress_sizes` always suffice.
///                      With 0, dst may be NULL: the call fails, and report->required_bytes is the length of
///                      the fix
/// @param report        receives the result; report->fix_bytes is the length of the fix
/// @param threads       see "Threads" at the top of this header
/// @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT (also if the reconstruction is not within the bound);
///         FACTZ_ERROR_INVALID_CONFIG; FACTZ_ERROR_UNSUPPORTED; FACTZ_ERROR_BUFFER_TOO_SMALL
///         (report->required_bytes bytes are needed; the content of dst is undefined);
///         FACTZ_ERROR_OUT_OF_MEMORY; FACTZ_ERROR_INTERNAL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn factz_protect_host(
    u: *const c_void,
    v: *const c_void,
    n: usize,
    config: *const factz_config,
    other_u: *const c_void,
    other_v: *const c_void,
    other_config: *const factz_config,
    dst: *mut c_void,
    dst_bytes: usize,
    report: *mut factz_fix_report,
    threads: c_int,
) -> factz_status {
    let body = |output: &mut Output<factz_fix_report>| {
        output.check_apart(&inputs(config, u, v).each_ref())?;
        let others = [other_u.cast::<f32>(), other_v.cast()];
        let others = [Span::of("other_u", others[0]), Span::of("other_v", others[1])];
        output.check_apart(&[&Span::of("other_config", other_config), &others[0], &others[1]])?;
        let target = check_buffer("dst", dst, dst_bytes)?;
        output.check_apart(&[&target])?;
        // SAFETY: the caller gave whole structs.
        let pair = unsafe { read_shapes(config, other_config, n) }?;
        let fields = [
            Field::new(["u", "v"], u, v, &pair[0], Ghosts::Read)?,
            Field::new(["other_u", "other_v"], other_u, other_v, &pair[1], Ghosts::Ignored)?,
        ];
        output.check_apart(&components(&fields))?;
        target.check_apart(&components(&fields))?;
        let execution = Execution { threads: thread_count(threads)?, progress: None };
        let dst = match dst_bytes {
            0 => &mut [][..],
            // SAFETY: not null, and the caller promised dst_bytes writable bytes that nobody else uses.
            _ => unsafe { std::slice::from_raw_parts_mut(dst.cast::<u8>(), dst_bytes) },
        };
        let done = typed!(pair[0].config().dtype, T => {
            // SAFETY: the components cover the grids of the requests, the first ones and their ghosts, as the
            // caller promised.
            let original = unsafe { views::<T>(&pair[0], [u, v], Ghosts::Read) };
            // SAFETY: as above.
            let other = unsafe { views::<T>(&pair[1], [other_u, other_v], Ghosts::Ignored) };
            repair::protect(&pair[0], original, other, dst, execution)
        })
        .inspect_err(|error| output.set(factz_fix_report::failed(error)))?;
        output.set(factz_fix_report::from(&done));
        check_made(&done, dst_bytes)
    };
    // SAFETY: the caller gave a whole report.
    unsafe { guard_with_fix_report(report, body) }
}

/// Applies a fix to the reconstruction that it was made for, in place.
///
/// Before anything is written the checksums of the fix and of the reconstruction are compared, and the whole
/// fix is checked: if the call fails, u and v keep their values. The output does not depend on the number of
/// threads.
///
/// @param fix        the fix; any alignment
/// @param fix_bytes  readable bytes at fix: the length of the fix or more
/// @param config     nx, ny, nz and dtype must be those of the fix. Pitches and strides are those of u and v.
///                   The rest must be valid and has no effect
/// @param u          x components of the reconstruction, laid out as config says; receives those of the
///                   repaired field
/// @param v          its y components; may be interleaved with u, without sharing an element
/// @param n          number of vertices, nx * ny
/// @param report     receives the result
/// @param threads    see "Threads" at the top of this header
/// @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT (also if the fix belongs to another reconstruction, to
///         other dimensions or another dtype); FACTZ_ERROR_INVALID_CONFIG; FACTZ_ERROR_UNSUPPORTED;
///         FACTZ_ERROR_CORRUPT_STREAM; FACTZ_ERROR_UNSUPPORTED_VERSION; FACTZ_ERROR_OUT_OF_MEMORY;
///         FACTZ_ERROR_INTERNAL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn factz_apply_host(
    fix: *const c_void,
    fix_bytes: usize,
    config: *const factz_config,
    u: *mut c_void,
    v: *mut c_void,
    n: usize,
    report: *mut factz_fix_report,
    threads: c_int,
) -> factz_status {
    let body = |output: &mut Output<factz_fix_report>| {
        output.check_apart(&inputs(config, u, v).each_ref())?;
        let source = check_fix(fix, fix_bytes)?;
        output.check_apart(&[&source])?;
        // SAFETY: the caller gave a whole struct.
        let request = unsafe { read_field_request(config, n) }?;
        let field = Field::new(["u", "v"], u, v, &request, Ghosts::Ignored)?;
        output.check_apart(&[&field.u, &field.v])?;
        source.check_apart(&[&field.u, &field.v])?;
        field.check_components_apart(request.config())?;
        let execution = Execution { threads: thread_count(threads)?, progress: None };
        // SAFETY: not null, and the caller promised fix_bytes readable bytes that nobody changes.
        let fix = unsafe { std::slice::from_raw_parts(fix.cast::<u8>(), fix_bytes) };
        let config = request.config();
        let done = typed!(config.dtype, T => {
            // SAFETY: u and v cover the request's grid, as the caller promised, and share no element.
            let (u, v) = unsafe { (view::<T>(u, config.u, &request), view::<T>(v, config.v, &request)) };
            let null = || Error::argument("u or v is null");
            repair::apply(config, fix, u.ok_or_else(null)?, v.ok_or_else(null)?, execution)
        })?;
        event!(DEBUG, "applied a fix", repaired_vertices = done.repaired_vertices);
        output.set(factz_fix_report::from(&done));
        Ok(())
    };
    // SAFETY: the caller gave a whole report.
    unsafe { guard_with_fix_report(report, body) }
}

/// Reads the header of a fix in host memory.
///
/// Reads only the first FACTZ_INSPECT_BYTES bytes, of a volume 8 more: the rest of the fix is not checked, and the
/// checksum is not compared. Does not block, thread-safe.
///
/// @param fix        the start of a fix, any alignment; not changed
/// @param fix_bytes  readable bytes at fix; at least FACTZ_INSPECT_BYTES, of a volume FACTZ_INSPECT_BYTES + 8
/// @param info       always written, unless info itself is the bad argument; if the call fails, `status` has
///                   the error and all other fields are 0
/// @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT (a pointer is NULL or misaligned, or info overlaps fix);
///         FACTZ_ERROR_CORRUPT_STREAM (too short, or no fix); FACTZ_ERROR_UNSUPPORTED_VERSION
#[unsafe(no_mangle)]
pub unsafe extern "C" fn factz_inspect_fix_host(
    fix: *const c_void,
    fix_bytes: usize,
    info: *mut factz_fix_info,
) -> factz_status {
    let body = |output: &mut Output<factz_fix_info>| {
        let source = check_fix(fix, fix_bytes)?;
        output.check_apart(&[&source])?;
        // SAFETY: not null, and the caller promised fix_bytes readable bytes; info, the only thing written,
        // lies elsewhere and is written later.
        let fix = unsafe { std::slice::from_raw_parts(fix.cast::<u8>(), fix_bytes) };
        output.set(factz_fix_info::from(&repair::inspect_fix(fix)?));
        Ok(())
    };
    // SAFETY: the caller gave a whole struct.
    unsafe { guard_with_output("info", info, factz_fix_info::default(), body, |i, status| i.status = status) }
}

/// Tells that a fix was too long for its buffer.
pub(super) fn check_made(done: &FixReport, dst_bytes: usize) -> Result<()> {
    match done.status {
        Status::Ok => Ok(()),
        status => Err(Error::new(
            status,
            format!("dst_bytes = {dst_bytes} is too small: the fix takes {} bytes", done.required_bytes),
        )),
    }
}

/// A fix that is read: never null.
pub(super) fn check_fix(fix: *const c_void, fix_bytes: usize) -> Result<Span> {
    match fix.is_null() {
        true => Err(Error::argument(format!("fix is null (fix_bytes = {fix_bytes})"))),
        false => check_buffer("fix", fix, fix_bytes),
    }
}

/// # Safety
/// `report` is null or points to a writable struct.
pub(super) unsafe fn guard_with_fix_report(
    report: *mut factz_fix_report,
    body: impl FnOnce(&mut Output<factz_fix_report>) -> Result<()>,
) -> factz_status {
    let blank = factz_fix_report::from(&FixReport::default());
    // SAFETY: the promise of this function.
    unsafe { guard_with_output("report", report, blank, body, |r, status| r.status = status) }
}
