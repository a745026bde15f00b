//! Decompression on the host.

use super::arguments::{output as view, thread_count, typed, Output, Outputs};
use super::config::{factz_config, inputs, read_field_request};
use super::inspect::check_source;
use super::report::{factz_report, guard_with_report};
use super::status::factz_status;
use crate::cpu::{self, Execution};
use crate::runtime::log::event;
use std::ffi::{c_int, c_void};

/// Decompresses a stream in host memory.
///
/// Writes every owned vertex. Gaps between rows and between strided elements, and ghost vertices, keep their
/// content. The output does not depend on the number of threads, and `factz_decompress_device` writes the
/// same bits. Concurrent calls may share the stream.
///
/// @param src        the stream; any alignment
/// @param src_bytes  readable bytes at src: the length of the stream or more
/// @param config     nx, ny and dtype must be those of the stream. Pitches and strides are those of the
///                   output. verify_checksum says whether the checksum is compared. The rest must be valid
///                   and has no effect
/// @param u          receives the x components, laid out as config says. NULL if the stream holds the y
///                   components alone (`factz_split_host`)
/// @param v          receives the y components; may be interleaved with u, without sharing an element. NULL
///                   if the stream holds the x components alone
/// @param n          number of vertices, nx * ny
/// @param report     receives the result
/// @param threads    see "Threads" at the top of this header
/// @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT (also if the stream has other dimensions or another dtype);
///         FACTZ_ERROR_INVALID_CONFIG; FACTZ_ERROR_UNSUPPORTED; FACTZ_ERROR_CORRUPT_STREAM (the content of u
///         and v is undefined); FACTZ_ERROR_UNSUPPORTED_VERSION (see `factz_readable_formats`);
///         FACTZ_ERROR_OUT_OF_MEMORY; FACTZ_ERROR_INTERNAL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn factz_decompress_host(
    src: *const c_void,
    src_bytes: usize,
    config: *const factz_config,
    u: *mut c_void,
    v: *mut c_void,
    n: usize,
    report: *mut factz_report,
    threads: c_int,
) -> factz_status {
    let body = |output: &mut Output<factz_report>| {
        output.check_apart(&inputs(config, u, v).each_ref())?;
        let source = check_source(src, src_bytes)?;
        output.check_apart(&[&source])?;
        // SAFETY: the caller gave a whole struct.
        let request = unsafe { read_field_request(config, n) }?;
        let arrays = Outputs::new(u, v, &request)?;
        output.check_apart(&arrays.spans())?;
        source.check_apart(&arrays.spans())?;
        arrays.check_components_apart(request.config())?;
        let execution = Execution { threads: thread_count(threads)?, progress: None };
        // SAFETY: not null, and the caller promised src_bytes readable bytes that nobody changes.
        let stream = unsafe { std::slice::from_raw_parts(src.cast::<u8>(), src_bytes) };
        let config = request.config();
        let report = typed!(config.dtype, T => {
            // SAFETY: u and v cover the request's grid, as the caller promised, and share no element.
            let (u, v) = unsafe { (view::<T>(u, config.u, &request), view::<T>(v, config.v, &request)) };
            cpu::decompress(config, stream, u, v, execution)
        })?;
        event!(DEBUG, "decompressed", nx = config.nx, ny = config.ny, stream_bytes = report.stream_bytes,);
        Ok(report)
    };
    // SAFETY: the caller gave a whole report.
    unsafe { guard_with_report(report, 0, body) }
}
