//! The device functions: they check their arguments and enqueue the work.

use super::analysis::{check_fields, check_points, factz_comparison, factz_critical_point, read_pair};
use super::arguments::{check_buffer, check_struct, check_vertices, Field, Ghosts, Span};
use super::config::{factz_config, read_request};
use super::inspect::{check_source, factz_info};
use super::report::factz_report;
use super::sizes::{compress_workspace_bytes, decompress_workspace_bytes, DEVICE_ALIGNMENT};
use super::status::{factz_status, guard};
use crate::backend::cuda::{self, Buffers};
use crate::error::{Error, Result, Status};
use crate::request::Request;
use std::ffi::c_void;

/// CUDA's own opaque type, so that a `cudaStream_t` or `CUstream` passes without a cast.
#[repr(C)]
pub struct CUstream_st {
    _opaque: [u8; 0],
}

/// A `cudaStream_t` or `CUstream`; NULL is the default stream. No CUDA header is needed.
pub type factz_stream = *mut CUstream_st;

/// Loads the kernels into the CUDA context of a stream ahead of time. Otherwise the first device function
/// in each context does it, which then may block and allocate; it cannot do so while a stream is being
/// captured, so call this before capturing a CUDA graph.
///
/// May block and allocate; do not call it while the stream is being captured. Leaves the current CUDA
/// context as it was. Thread-safe.
///
/// @param stream  a stream of the device; the default streams stand for the thread's current context
/// @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT (a default stream, and no context is current);
///         FACTZ_ERROR_NO_DEVICE; FACTZ_ERROR_CUDA; FACTZ_ERROR_OUT_OF_MEMORY; FACTZ_ERROR_INTERNAL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn factz_prepare_device(stream: factz_stream) -> factz_status {
    // SAFETY: the caller gave a live stream.
    guard(|| unsafe { cuda::prepare_device(stream.cast()) })
}

/// Enqueues the compression of a field in device memory; the twin of `factz_compress_host`, with the
/// same stream byte for byte.
///
/// Returns without waiting: no allocation, no synchronisation, no host round trip, and it can be captured
/// into a CUDA graph, once the kernels are loaded (`factz_prepare_device`). FACTZ_OK means that the work
/// was enqueued; its outcome is in the report once the stream has got there. Every buffer must live until
/// then. The CUDA context is that of the stream; the current one is left as it was.
///
/// All pointers but config are device memory or managed memory of the stream's device, or (except for the
/// workspace) pinned host memory that is mapped at the same address; other host memory and memory of
/// another device are refused. Thread-safe; concurrent calls need separate dst, workspace and report.
///
/// @param u                the x components, laid out as config says, aligned to their type; not changed
/// @param v                the y components likewise; may be interleaved with u
/// @param n                number of vertices, nx * ny (ghost vertices do not count)
/// @param config           the configuration, in host memory; copied before the call returns
/// @param dst              receives the stream; aligned to factz_sizes.alignment; must not overlap u, v,
///                         workspace or report
/// @param dst_bytes        writable bytes at dst, at least FACTZ_INSPECT_BYTES
/// @param workspace        scratch memory, aligned to factz_sizes.alignment
/// @param workspace_bytes  at least the factz_sizes.workspace_bytes of `factz_compress_sizes`
/// @param report           written on the device: status, lengths, counts and the largest error;
///                         FACTZ_ERROR_BUFFER_TOO_SMALL with required_bytes where dst was too small.
///                         Untouched when the arguments are refused
/// @param stream           the CUDA stream
/// @return FACTZ_OK (enqueued); FACTZ_ERROR_INVALID_ARGUMENT; FACTZ_ERROR_INVALID_CONFIG;
///         FACTZ_ERROR_UNSUPPORTED; FACTZ_ERROR_WORKSPACE_TOO_SMALL; FACTZ_ERROR_NO_DEVICE;
///         FACTZ_ERROR_CUDA; FACTZ_ERROR_OUT_OF_MEMORY (loading the kernels); FACTZ_ERROR_INTERNAL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn factz_compress_device(
    u: *const c_void,
    v: *const c_void,
    n: usize,
    config: *const factz_config,
    dst: *mut c_void,
    dst_bytes: usize,
    workspace: *mut c_void,
    workspace_bytes: usize,
    report: *mut factz_report,
    stream: factz_stream,
) -> factz_status {
    guard(|| {
        check_struct("report", report)?;
        // SAFETY: the caller gave a configuration of struct_size bytes in host memory.
        let request = unsafe { read_request("config", config) }?;
        check_vertices(n, &request)?;
        let field = device_field(["u", "v"], u, v, &request, Ghosts::Read)?;
        let target = device_buffer("dst", dst, dst_bytes)?;
        let scratch = device_workspace(workspace, workspace_bytes, compress_workspace_bytes(&request)?)?;
        target.check_apart(&[&field.u, &field.v, &scratch])?;
        scratch.check_apart(&[&field.u, &field.v])?;
        Span::of("report", report).check_apart(&[&field.u, &field.v, &target, &scratch])?;
        let buffers = Buffers {
            u: u as u64,
            v: v as u64,
            stream: dst as u64,
            stream_bytes: dst_bytes as u64,
            workspace: workspace as u64,
            workspace_bytes: workspace_bytes as u64,
            report: report as u64,
        };
        // SAFETY: the caller promised live buffers of these sizes until the stream has got past the work.
        unsafe { cuda::compress_device(&request, &buffers, stream.cast()) }
    })
}

/// Enqueues the decompression of a stream in device memory; the twin of `factz_decompress_host`, with the
/// same bits.
///
/// Returns without waiting, as `factz_compress_device` does. The stream says how long it is, so
/// compression and decompression can be enqueued one after the other without reading a size back: give
/// the capacity of the buffer as src_bytes.
///
/// @param src              the stream, aligned to factz_sizes.alignment; not changed
/// @param src_bytes        readable bytes at src: the length of the stream or any upper bound of it
/// @param config           where the output goes, in host memory, as for `factz_decompress_host`
/// @param u                receives the x components, aligned to their type; must not overlap src,
///                         workspace or report
/// @param v                receives the y components; may be interleaved with u
/// @param n                number of vertices, nx * ny
/// @param workspace        scratch memory, aligned to factz_sizes.alignment
/// @param workspace_bytes  at least the factz_sizes.workspace_bytes of `factz_decompress_sizes`
/// @param report           written on the device; FACTZ_ERROR_CORRUPT_STREAM and
///                         FACTZ_ERROR_UNSUPPORTED_VERSION appear here, and
///                         FACTZ_ERROR_INVALID_ARGUMENT where the stream has other dimensions or another
///                         dtype. Untouched when the arguments are refused
/// @param stream           the CUDA stream
/// @return FACTZ_OK (enqueued); FACTZ_ERROR_INVALID_ARGUMENT; FACTZ_ERROR_INVALID_CONFIG;
///         FACTZ_ERROR_UNSUPPORTED; FACTZ_ERROR_WORKSPACE_TOO_SMALL; FACTZ_ERROR_NO_DEVICE;
///         FACTZ_ERROR_CUDA; FACTZ_ERROR_OUT_OF_MEMORY (loading the kernels); FACTZ_ERROR_INTERNAL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn factz_decompress_device(
    src: *const c_void,
    src_bytes: usize,
    config: *const factz_config,
    u: *mut c_void,
    v: *mut c_void,
    n: usize,
    workspace: *mut c_void,
    workspace_bytes: usize,
    report: *mut factz_report,
    stream: factz_stream,
) -> factz_status {
    guard(|| {
        check_struct("report", report)?;
        // SAFETY: the caller gave a configuration of struct_size bytes in host memory.
        let request = unsafe { read_request("config", config) }?;
        check_vertices(n, &request)?;
        let source = device_source(src, src_bytes)?;
        let field = device_field(["u", "v"], u, v, &request, Ghosts::Ignored)?;
        let scratch = device_workspace(workspace, workspace_bytes, decompress_workspace_bytes(&request)?)?;
        source.check_apart(&[&field.u, &field.v, &scratch])?;
        scratch.check_apart(&[&field.u, &field.v])?;
        field.check_components_apart(request.config())?;
        Span::of("report", report).check_apart(&[&source, &field.u, &field.v, &scratch])?;
        let buffers = Buffers {
            u: u as u64,
            v: v as u64,
            stream: src as u64,
            stream_bytes: src_bytes as u64,
            workspace: workspace as u64,
            workspace_bytes: workspace_bytes as u64,
            report: report as u64,
        };
        // SAFETY: the caller promised live buffers of these sizes until the stream has got past the work.
        unsafe { cuda::decompress_device(&request, &buffers, stream.cast()) }
    })
}

/// Enqueues the reading of the header of a stream in device memory; the twin of `factz_inspect_host`.
/// Returns without waiting, as `factz_compress_device` does.
///
/// @param src        the start of a stream, aligned to factz_sizes.alignment; not changed
/// @param src_bytes  readable bytes at src; at least FACTZ_INSPECT_BYTES
/// @param info       device-accessible; written on the device, info->status tells whether src holds a
///                   stream. Untouched when the call itself fails
/// @param stream     the CUDA stream
/// @return FACTZ_OK (enqueued); FACTZ_ERROR_INVALID_ARGUMENT; FACTZ_ERROR_NO_DEVICE;
///         FACTZ_ERROR_UNSUPPORTED (always, in this version); FACTZ_ERROR_CUDA; FACTZ_ERROR_INTERNAL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn factz_inspect_device(
    src: *const c_void,
    src_bytes: usize,
    info: *mut factz_info,
    stream: factz_stream,
) -> factz_status {
    guard(|| {
        check_struct("info", info)?;
        let source = device_source(src, src_bytes)?;
        Span::of("info", info).check_apart(&[&source])?;
        not_yet(stream)
    })
}

/// Enqueues the extraction of the critical points of a field in device memory; the twin of
/// `factz_critical_points_host`, with the same points in the same order. Returns without waiting, as
/// `factz_compress_device` does.
///
/// @param u                the x components, laid out as config says, aligned to their type; not changed
/// @param v                the y components
/// @param n                number of vertices, nx * ny
/// @param config           the configuration, in host memory
/// @param points           device-accessible; receives the points; may be NULL when capacity is 0
/// @param capacity         how many points fit
/// @param count            device-accessible; receives the number of points in the field. A count above
///                         capacity means that only the first `capacity` points were written
/// @param workspace        scratch memory, aligned to factz_sizes.alignment
/// @param workspace_bytes  at least the factz_sizes.workspace_bytes of `factz_compress_sizes`
/// @param stream           the CUDA stream
/// @return FACTZ_OK (enqueued); FACTZ_ERROR_INVALID_ARGUMENT; FACTZ_ERROR_INVALID_CONFIG;
///         FACTZ_ERROR_WORKSPACE_TOO_SMALL; FACTZ_ERROR_NO_DEVICE;
///         FACTZ_ERROR_UNSUPPORTED (always, in this version); FACTZ_ERROR_CUDA; FACTZ_ERROR_INTERNAL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn factz_critical_points_device(
    u: *const c_void,
    v: *const c_void,
    n: usize,
    config: *const factz_config,
    points: *mut factz_critical_point,
    capacity: usize,
    count: *mut u64,
    workspace: *mut c_void,
    workspace_bytes: usize,
    stream: factz_stream,
) -> factz_status {
    guard(|| {
        check_struct("count", count)?;
        // SAFETY: the caller gave a configuration of struct_size bytes in host memory.
        let request = unsafe { read_request("config", config) }?;
        check_vertices(n, &request)?;
        let field = device_field(["u", "v"], u, v, &request, Ghosts::Ignored)?;
        let target = check_points(points, capacity)?;
        let scratch = device_workspace(workspace, workspace_bytes, compress_workspace_bytes(&request)?)?;
        target.check_apart(&[&field.u, &field.v, &scratch])?;
        scratch.check_apart(&[&field.u, &field.v])?;
        Span::of("count", count).check_apart(&[&field.u, &field.v, &target, &scratch])?;
        not_yet(stream)
    })
}

/// Enqueues the comparison of two fields in device memory; the twin of `factz_compare_host`, with the same
/// counts and largest error. Returns without waiting, as `factz_compress_device` does.
///
/// @param u                the x components of the first field, laid out as config says, aligned to their
///                         type; not changed
/// @param v                its y components
/// @param n                number of vertices, nx * ny
/// @param config           the configuration, in host memory
/// @param other_u          the x components of the other field; not changed
/// @param other_v          its y components
/// @param other_config     the layout of the other field, in host memory; NULL means config
/// @param workspace        scratch memory, aligned to factz_sizes.alignment
/// @param workspace_bytes  at least the factz_sizes.workspace_bytes of `factz_compress_sizes`
/// @param comparison       device-accessible; written on the device. Untouched when the call itself fails
/// @param stream           the CUDA stream
/// @return FACTZ_OK (enqueued); FACTZ_ERROR_INVALID_ARGUMENT; FACTZ_ERROR_INVALID_CONFIG;
///         FACTZ_ERROR_WORKSPACE_TOO_SMALL; FACTZ_ERROR_NO_DEVICE;
///         FACTZ_ERROR_UNSUPPORTED (always, in this version); FACTZ_ERROR_CUDA; FACTZ_ERROR_INTERNAL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn factz_compare_device(
    u: *const c_void,
    v: *const c_void,
    n: usize,
    config: *const factz_config,
    other_u: *const c_void,
    other_v: *const c_void,
    other_config: *const factz_config,
    workspace: *mut c_void,
    workspace_bytes: usize,
    comparison: *mut factz_comparison,
    stream: factz_stream,
) -> factz_status {
    guard(|| {
        check_struct("comparison", comparison)?;
        // SAFETY: the caller gave configurations of struct_size bytes in host memory.
        let pair = unsafe { read_pair(config, other_config) }?;
        let fields = check_fields(&pair, [u, v], [other_u, other_v], n)?;
        check_element_alignment(["u", "v"], u, v, &pair[0])?;
        check_element_alignment(["other_u", "other_v"], other_u, other_v, &pair[1])?;
        let inputs = [&fields[0].u, &fields[0].v, &fields[1].u, &fields[1].v];
        let scratch = device_workspace(workspace, workspace_bytes, compress_workspace_bytes(&pair[0])?)?;
        scratch.check_apart(&inputs)?;
        let target = Span::of("comparison", comparison);
        target.check_apart(&inputs)?;
        target.check_apart(&[&scratch])?;
        not_yet(stream)
    })
}

/// What the functions come to that have no kernels yet.
fn not_yet(_stream: factz_stream) -> Result<()> {
    cuda::available()?;
    Err(Error::new(
        Status::Unsupported,
        "this function does not run on devices in this version; use its _host twin on a copy",
    ))
}

fn device_field(
    names: [&str; 2],
    u: *const c_void,
    v: *const c_void,
    request: &Request,
    ghosts: Ghosts,
) -> Result<Field> {
    let field = Field::new(names, u, v, request, ghosts)?;
    check_element_alignment(names, u, v, request)?;
    Ok(field)
}

fn check_element_alignment(
    names: [&str; 2],
    u: *const c_void,
    v: *const c_void,
    request: &Request,
) -> Result<()> {
    let bytes = request.config().dtype.bytes();
    for (name, pointer) in names.into_iter().zip([u, v]) {
        check_alignment(name, pointer, bytes)?;
    }
    Ok(())
}

fn check_alignment(name: &str, pointer: *const c_void, bytes: u64) -> Result<()> {
    if pointer as u64 % bytes != 0 {
        return Err(Error::argument(format!("{name} = {pointer:p} is not aligned to {bytes} bytes")));
    }
    Ok(())
}

fn device_buffer(name: &str, pointer: *const c_void, bytes: usize) -> Result<Span> {
    let span = check_buffer(name, pointer, bytes)?;
    check_alignment(name, pointer, DEVICE_ALIGNMENT)?;
    Ok(span)
}

fn device_source(src: *const c_void, src_bytes: usize) -> Result<Span> {
    let span = check_source(src, src_bytes)?;
    check_alignment("src", src, DEVICE_ALIGNMENT)?;
    Ok(span)
}

fn device_workspace(workspace: *const c_void, bytes: usize, needed: u64) -> Result<Span> {
    if (bytes as u64) < needed {
        return Err(Error::new(
            Status::WorkspaceTooSmall,
            format!("workspace_bytes = {bytes} but the configuration takes {needed}"),
        ));
    }
    device_buffer("workspace", workspace, bytes)
}
