//! Fixes for the reconstructions of volumes by other compressors, on the host.

use super::analysis::check_same_shape;
use super::arguments::{check_buffer, check_outputs, thread_count, typed, Ghosts, Output, Span};
use super::config::{factz_config, read_volume_request};
use super::protect::{check_fix, check_made, factz_fix_report, guard_with_fix_report};
use super::status::factz_status;
use super::volume::{check_components_apart, check_vertices, outputs, spans, views};
use crate::cpu::Execution;
use crate::error::Result;
use crate::repair;
use crate::request::VolumeRequest;
use std::ffi::{c_int, c_void};

/// Names of the components of both volumes.
pub(super) const NAMES: [[&str; 3]; 2] = [["u", "v", "w"], ["other_u", "other_v", "other_w"]];

/// The requests that the configurations of two volumes of one shape make, for `n` vertices.
///
/// # Safety
/// As for [`read_volume_request`]; `other_config` may be null.
pub(super) unsafe fn read_shapes(
    config: *const factz_config,
    other_config: *const factz_config,
    n: usize,
) -> Result<[VolumeRequest; 2]> {
    // SAFETY: the promise of this function.
    let first = unsafe { read_volume_request("config", config) }?;
    check_vertices(n, &first)?;
    if other_config.is_null() {
        return Ok([first, first]);
    }
    // SAFETY: the promise of this function.
    let other = unsafe { read_volume_request("other_config", other_config) }?;
    check_same_shape(first.common(), other.common())?;
    Ok([first, other])
}

/// Makes a fix for the reconstruction of a volume by any compressor: with it (`factz_apply_volume_host`) the
/// reconstruction keeps the bound and the critical points, as a compression with the same configuration does.
///
/// The reconstruction must be within the bound of config at every vertex that has data; factz_last_error says
/// where it is not. The fix belongs to this reconstruction, bit for bit: no other one takes it. It does not
/// depend on the number of threads. Concurrent calls may share the volumes.
///
/// @param u             x components of the original, laid out as config says; ghosts of config->halo are
///                      read
/// @param v             its y components
/// @param w             its z components
/// @param n             number of vertices, nx * ny * nz
/// @param config        the configuration of a volume (`factz_config_init_volume`): shape, type and layout of the
///                      original, the bound, and what is preserved: preserve, ties, fill value, dx, dy, dz,
///                      periodic, halo and pin. coder and verify_checksum must be valid and have no effect
/// @param other_u       x components of the reconstruction; ghosts are not read
/// @param other_v       its y components
/// @param other_w       its z components
/// @param other_config  the layout of other_u, other_v and other_w; nx, ny, nz, dtype and periodic as in config.
///                      NULL stands for config
/// @param dst           receives the fix; any alignment
/// @param dst_bytes     writable bytes at dst; `factz_volume_stream_bytes` gives a number that always suffices.
///                      With 0, dst may be NULL: the call fails, and report->required_bytes is the length of
///                      the fix
/// @param report        receives the result; report->fix_bytes is the length of the fix, and
///                      report->violated_triangles counts tetrahedra
/// @param threads       see "Threads" at the top of this header
/// @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT (also if the reconstruction is not within the bound);
///         FACTZ_ERROR_INVALID_CONFIG; FACTZ_ERROR_UNSUPPORTED; FACTZ_ERROR_BUFFER_TOO_SMALL
///         (report->required_bytes bytes are needed; the content of dst is undefined);
///         FACTZ_ERROR_OUT_OF_MEMORY; FACTZ_ERROR_INTERNAL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn factz_protect_volume_host(
    u: *const c_void,
    v: *const c_void,
    w: *const c_void,
    n: usize,
    config: *const factz_config,
    other_u: *const c_void,
    other_v: *const c_void,
    other_w: *const c_void,
    other_config: *const factz_config,
    dst: *mut c_void,
    dst_bytes: usize,
    report: *mut factz_fix_report,
    threads: c_int,
) -> factz_status {
    let body = |output: &mut Output<factz_fix_report>| {
        output.check_apart(&[&Span::of("config", config), &Span::of("other_config", other_config)])?;
        let target = check_buffer("dst", dst, dst_bytes)?;
        // SAFETY: the caller gave whole structs.
        let pair = unsafe { read_shapes(config, other_config, n) }?;
        let original = spans(NAMES[0], [u, v, w], pair[0].config(), Ghosts::Read)?;
        let others = [other_u, other_v, other_w];
        let other = spans(NAMES[1], others, pair[1].config(), Ghosts::Ignored)?;
        let inputs: Vec<&Span> = original.iter().chain(&other).collect();
        output.check_apart(&inputs)?;
        check_outputs(&[output.span(), &target], &inputs)?;
        let execution = Execution { threads: thread_count(threads)?, progress: None };
        let dst = match dst_bytes {
            0 => &mut [][..],
            // SAFETY: not null, and the caller promised dst_bytes writable bytes that nobody else uses.
            _ => unsafe { std::slice::from_raw_parts_mut(dst.cast::<u8>(), dst_bytes) },
        };
        let done = typed!(pair[0].config().dtype, T => {
            // SAFETY: the components cover the grids of the requests, the first ones and their ghosts, as the
            // caller promised.
            let original = unsafe { views::<T>(&pair[0], [u, v, w], Ghosts::Read) };
            // SAFETY: as above.
            let other = unsafe { views::<T>(&pair[1], others, Ghosts::Ignored) };
            repair::protect_volume(&pair[0], original, other, dst, execution)
        })
        .inspect_err(|error| output.set(factz_fix_report::failed(error)))?;
        output.set(factz_fix_report::from(&done));
        check_made(&done, dst_bytes)
    };
    // SAFETY: the caller gave a whole report.
    unsafe { guard_with_fix_report(report, body) }
}

/// Applies a fix to the reconstruction of a volume that it was made for, in place.
///
/// Before anything is written the checksums of the fix and of the reconstruction are compared, and the whole
/// fix is checked: if the call fails, u, v and w keep their values. The output does not depend on the number of
/// threads.
///
/// @param fix        the fix; any alignment
/// @param fix_bytes  readable bytes at fix: the length of the fix or more
/// @param config     the configuration of a volume: nx, ny, nz and dtype must be those of the fix. Pitches and
///                   strides are those of u, v and w. The rest must be valid and has no effect
/// @param u          x components of the reconstruction, laid out as config says; receives those of the
///                   repaired volume
/// @param v          its y components; may be interleaved with the others, without sharing an element
/// @param w          its z components
/// @param n          number of vertices, nx * ny * nz
/// @param report     receives the result
/// @param threads    see "Threads" at the top of this header
/// @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT (also if the fix belongs to another reconstruction, to
///         other dimensions, another dtype, or to planes); FACTZ_ERROR_INVALID_CONFIG; FACTZ_ERROR_UNSUPPORTED;
///         FACTZ_ERROR_CORRUPT_STREAM; FACTZ_ERROR_UNSUPPORTED_VERSION; FACTZ_ERROR_OUT_OF_MEMORY;
///         FACTZ_ERROR_INTERNAL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn factz_apply_volume_host(
    fix: *const c_void,
    fix_bytes: usize,
    config: *const factz_config,
    u: *mut c_void,
    v: *mut c_void,
    w: *mut c_void,
    n: usize,
    report: *mut factz_fix_report,
    threads: c_int,
) -> factz_status {
    let body = |output: &mut Output<factz_fix_report>| {
        output.check_apart(&[&Span::of("config", config)])?;
        let source = check_fix(fix, fix_bytes)?;
        // SAFETY: the caller gave a whole struct.
        let request = unsafe { read_volume_request("config", config) }?;
        check_vertices(n, &request)?;
        let arrays = spans(NAMES[0], [u, v, w], request.config(), Ghosts::Ignored)?;
        output.check_apart(&arrays.each_ref())?;
        output.check_apart(&[&source])?;
        source.check_apart(&arrays.each_ref())?;
        check_components_apart(&arrays, [u, v, w], request.config())?;
        let execution = Execution { threads: thread_count(threads)?, progress: None };
        // SAFETY: not null, and the caller promised fix_bytes readable bytes that nobody changes.
        let fix = unsafe { std::slice::from_raw_parts(fix.cast::<u8>(), fix_bytes) };
        let done = typed!(request.config().dtype, T => {
            // SAFETY: the components cover the request's grid, as the caller promised, and share no element.
            let field = unsafe { outputs::<T>(&request, [u, v, w]) };
            repair::apply_volume(request.config(), fix, field, execution)
        })?;
        output.set(factz_fix_report::from(&done));
        Ok(())
    };
    // SAFETY: the caller gave a whole report.
    unsafe { guard_with_fix_report(report, body) }
}
