//! Compression on the host.

use super::arguments::{check_buffer, thread_count, typed, views, Field, Ghosts, Output};
use super::config::{factz_config, inputs, read_field_request};
use super::report::{factz_report, guard_with_report};
use super::status::factz_status;
use crate::cpu::{self, Execution};
use crate::runtime::log::event;
use std::ffi::{c_int, c_void};

/// Compresses a field in host memory.
///
/// The stream does not depend on the number of threads, and `factz_compress_device` writes the same bytes. u
/// and v may be interleaved. Concurrent calls may share u and v.
///
/// @param u          x components, laid out as config says; ghosts of config->halo are read
/// @param v          y components
/// @param n          number of vertices, nx * ny
/// @param config     the configuration
/// @param dst        receives the stream; any alignment
/// @param dst_bytes  writable bytes at dst; `factz_compress_sizes` gives a number that always suffices. With
///                   0, dst may be NULL: the call fails, and report->required_bytes is the length of the
///                   stream
/// @param report     receives the result; report->stream_bytes is the length of the stream
/// @param threads    see "Threads" at the top of this header
/// @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT; FACTZ_ERROR_INVALID_CONFIG; FACTZ_ERROR_UNSUPPORTED;
///         FACTZ_ERROR_BUFFER_TOO_SMALL (report->required_bytes bytes are needed; the content of dst is
///         undefined); FACTZ_ERROR_OUT_OF_MEMORY; FACTZ_ERROR_INTERNAL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn factz_compress_host(
    u: *const c_void,
    v: *const c_void,
    n: usize,
    config: *const factz_config,
    dst: *mut c_void,
    dst_bytes: usize,
    report: *mut factz_report,
    threads: c_int,
) -> factz_status {
    let body = |output: &mut Output<factz_report>| {
        output.check_apart(&inputs(config, u, v).each_ref())?;
        let target = check_buffer("dst", dst, dst_bytes)?;
        output.check_apart(&[&target])?;
        // SAFETY: the caller gave a whole struct.
        let request = unsafe { read_field_request(config, n) }?;
        let field = Field::new(["u", "v"], u, v, &request, Ghosts::Read)?;
        output.check_apart(&[&field.u, &field.v])?;
        target.check_apart(&[&field.u, &field.v])?;
        let execution = Execution { threads: thread_count(threads)?, progress: None };
        let dst = match dst_bytes {
            0 => &mut [][..],
            // SAFETY: not null, and the caller promised dst_bytes writable bytes that nobody else uses.
            _ => unsafe { std::slice::from_raw_parts_mut(dst.cast::<u8>(), dst_bytes) },
        };
        let report = typed!(request.config().dtype, T => {
            // SAFETY: u and v cover the request's grid and halo, as the caller promised.
            let [u, v] = unsafe { views::<T>(&request, [u, v], Ghosts::Read) };
            cpu::compress(&request, u, v, dst, execution)
        })?;
        event!(
            DEBUG,
            "compressed",
            nx = request.config().nx,
            ny = request.config().ny,
            stream_bytes = report.stream_bytes,
            exact_vertices = report.exact_vertices,
            points_in_triangles = report.points_in_triangles,
            bound = report.bound,
            max_error = report.max_error,
        );
        Ok(report)
    };
    // SAFETY: the caller gave a whole report.
    unsafe { guard_with_report(report, dst_bytes, body) }
}
