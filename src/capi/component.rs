//! The streams of single components on the host.

use super::arguments::{check_buffer, check_outputs, guard_with_output, thread_count, Output, Span};
use super::inspect::check_source;
use super::report::{factz_report, guard_with_report};
use super::status::factz_status;
use crate::cpu::{self, Execution};
use crate::error::{Error, Result, Status};
use crate::report::Report;
use std::ffi::{c_int, c_void};

/// Splits the stream of a field into two, one for each component.
///
/// Each is decompressed alone (`factz_decompress_host`, `factz_decompress_region_host`,
/// `factz_decompress_planes_host` and `factz_read_region_host` with NULL in place of the other component), to
/// the values that the stream of both gives: nothing is quantised again, and the error bound and the critical
/// points are those of the field. `factz_join_host` makes the stream of the field of them again. Both
/// together take a little more than that stream. Streams of one component are read on the host alone.
///
/// @param src          the stream; any alignment. Its checksum is compared
/// @param src_bytes    readable bytes at src: the length of the stream or more
/// @param dst_u        receives the stream of u; any alignment
/// @param dst_u_bytes  writable bytes at dst_u. There is no number that always suffices; with 0, dst_u may be
///                     NULL: the call fails, and reports[0].required_bytes is the length of the stream of u
/// @param dst_v        receives the stream of v
/// @param dst_v_bytes  writable bytes at dst_v, likewise
/// @param reports      receives the results of u and of v: an array of two
/// @param threads      see "Threads" at the top of this header
/// @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT (also if the stream holds one component, or a
///         volume); FACTZ_ERROR_UNSUPPORTED (the stream has another fill value of u than of v);
///         FACTZ_ERROR_BUFFER_TOO_SMALL (the required_bytes of both reports are needed; the content of dst_u
///         and dst_v is undefined); FACTZ_ERROR_CORRUPT_STREAM; FACTZ_ERROR_UNSUPPORTED_VERSION;
///         FACTZ_ERROR_OUT_OF_MEMORY; FACTZ_ERROR_INTERNAL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn factz_split_host(
    src: *const c_void,
    src_bytes: usize,
    dst_u: *mut c_void,
    dst_u_bytes: usize,
    dst_v: *mut c_void,
    dst_v_bytes: usize,
    reports: *mut factz_report,
    threads: c_int,
) -> factz_status {
    let body = |output: &mut Output<[factz_report; 2]>| {
        let source = check_source(src, src_bytes)?;
        let targets =
            [check_buffer("dst_u", dst_u, dst_u_bytes)?, check_buffer("dst_v", dst_v, dst_v_bytes)?];
        output.check_apart(&[&source, &targets[0], &targets[1]])?;
        check_outputs(&targets.each_ref(), &[&source])?;
        let execution = Execution { threads: thread_count(threads)?, progress: None };
        // SAFETY: not null, apart, and the caller promised so many bytes that nobody else uses.
        let (stream, u, v) =
            unsafe { (bytes(src, src_bytes), room(dst_u, dst_u_bytes), room(dst_v, dst_v_bytes)) };
        let done = cpu::split(stream, [u, v], execution)?;
        output.set(done.each_ref().map(factz_report::from));
        let [u, v] = done.map(|report| report.required_bytes);
        match done.iter().all(|report| report.status == Status::Ok) {
            true => Ok(()),
            false => Err(Error::new(
                Status::BufferTooSmall,
                format!(
                    "dst_u_bytes = {dst_u_bytes} or dst_v_bytes = {dst_v_bytes} is too small: the streams take \
                     {u} and {v} bytes"
                ),
            )),
        }
    };
    let blank = [factz_report::from(&Report::default()); 2];
    let finish = |reports: &mut [factz_report; 2], status| reports.iter_mut().for_each(|r| r.status = status);
    // SAFETY: the caller gave two whole reports.
    unsafe { guard_with_output("reports", reports.cast(), blank, body, finish) }
}

/// Joins the streams of both components of a field, which `factz_split_host` made of one stream, to that
/// stream.
///
/// The stream is byte for byte the one that was split, if this version of the library wrote it.
///
/// @param src_u        the stream of u; any alignment. Its checksum is compared
/// @param src_u_bytes  readable bytes at src_u: the length of the stream or more
/// @param src_v        the stream of v
/// @param src_v_bytes  readable bytes at src_v, likewise
/// @param dst          receives the stream of both; any alignment
/// @param dst_bytes    writable bytes at dst. `factz_compress_sizes` gives a number that suffices if the
///                     stream was written by this library. With 0, dst may be NULL: the call fails, and
///                     report->required_bytes is the length of the stream
/// @param report       receives the result
/// @param threads      see "Threads" at the top of this header
/// @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT (also if src_u is not the stream of u, src_v not
///         that of v, or they were split from different streams); FACTZ_ERROR_BUFFER_TOO_SMALL
///         (report->required_bytes bytes are needed); FACTZ_ERROR_CORRUPT_STREAM;
///         FACTZ_ERROR_UNSUPPORTED_VERSION; FACTZ_ERROR_OUT_OF_MEMORY; FACTZ_ERROR_INTERNAL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn factz_join_host(
    src_u: *const c_void,
    src_u_bytes: usize,
    src_v: *const c_void,
    src_v_bytes: usize,
    dst: *mut c_void,
    dst_bytes: usize,
    report: *mut factz_report,
    threads: c_int,
) -> factz_status {
    let body = |output: &mut Output<factz_report>| {
        let sources = [named("src_u", src_u, src_u_bytes)?, named("src_v", src_v, src_v_bytes)?];
        let target = check_buffer("dst", dst, dst_bytes)?;
        output.check_apart(&[&sources[0], &sources[1], &target])?;
        target.check_apart(&sources.each_ref())?;
        let execution = Execution { threads: thread_count(threads)?, progress: None };
        // SAFETY: not null, apart, and the caller promised so many bytes that nobody else changes.
        let (u, v, dst) =
            unsafe { (bytes(src_u, src_u_bytes), bytes(src_v, src_v_bytes), room(dst, dst_bytes)) };
        cpu::join(u, v, dst, execution)
    };
    // SAFETY: the caller gave a whole report.
    unsafe { guard_with_report(report, dst_bytes, body) }
}

/// A stream that is read.
fn named(name: &str, src: *const c_void, src_bytes: usize) -> Result<Span> {
    match src.is_null() {
        true => Err(Error::argument(format!("{name} is null ({name}_bytes = {src_bytes})"))),
        false => check_buffer(name, src, src_bytes),
    }
}

/// # Safety
/// `src` is not null and has so many readable bytes that nobody changes.
unsafe fn bytes<'a>(src: *const c_void, count: usize) -> &'a [u8] {
    // SAFETY: the promise of this function.
    unsafe { std::slice::from_raw_parts(src.cast(), count) }
}

/// # Safety
/// `dst` has so many writable bytes that nobody else uses; it may be null if they are none.
unsafe fn room<'a>(dst: *mut c_void, count: usize) -> &'a mut [u8] {
    match count {
        0 => &mut [],
        // SAFETY: the promise of this function.
        _ => unsafe { std::slice::from_raw_parts_mut(dst.cast(), count) },
    }
}
