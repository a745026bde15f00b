//! The device functions: they check what they are given against each other and enqueue the work. The backend checks
//! each address.

use super::analysis::{
    check_fields, check_points, components, factz_comparison, factz_critical_point, read_pair,
};
use super::arguments::{check_buffer, check_outputs, check_struct, Field, Ghosts, Span};
use super::config::{factz_config, read_field_request};
use super::inspect::{check_source, factz_info};
use super::range::factz_range;
use super::report::factz_report;
use super::status::{factz_status, guard};
use crate::cuda::{self, Buffers, ComparedFields, PointBuffers, RangeBuffers};
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
        // SAFETY: the caller gave a whole struct in host memory.
        let request = unsafe { read_field_request(config, n) }?;
        let field = Field::new(["u", "v"], u, v, &request, Ghosts::Read)?;
        let target = check_buffer("dst", dst, dst_bytes)?;
        let scratch = check_buffer("workspace", workspace, workspace_bytes)?;
        let outputs = [&target, &scratch, &Span::of("report", report)];
        check_outputs(&outputs, &[&field.u, &field.v])?;
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
/// @param config           where the output goes, in host memory, as for `factz_decompress_host`. Its predictor
///                         says which one to expect: a stream of the other one takes longer, and no more
/// @param u                receives the x components, aligned to their type; must not overlap src,
///                         workspace or report
/// @param v                receives the y components; may be interleaved with u
/// @param n                number of vertices, nx * ny
/// @param workspace        scratch memory, aligned to factz_sizes.alignment
/// @param workspace_bytes  at least the factz_sizes.workspace_bytes of `factz_decompress_sizes`
/// @param report           written on the device; FACTZ_ERROR_CORRUPT_STREAM and
///                         FACTZ_ERROR_UNSUPPORTED_VERSION appear here, and FACTZ_ERROR_INVALID_ARGUMENT where
///                         the stream has other dimensions or another dtype. Untouched when the arguments are
///                         refused
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
        // SAFETY: the caller gave a whole struct in host memory.
        let request = unsafe { read_field_request(config, n) }?;
        let source = check_source(src, src_bytes)?;
        let field = Field::new(["u", "v"], u, v, &request, Ghosts::Ignored)?;
        let scratch = check_buffer("workspace", workspace, workspace_bytes)?;
        source.check_apart(&[&field.u, &field.v])?;
        field.check_components_apart(request.config())?;
        let outputs = [&scratch, &Span::of("report", report)];
        check_outputs(&outputs, &[&source, &field.u, &field.v])?;
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
///                   stream, with all others 0 where it does not. Untouched when the arguments are
///                   refused
/// @param stream     the CUDA stream
/// @return FACTZ_OK (enqueued); FACTZ_ERROR_INVALID_ARGUMENT; FACTZ_ERROR_NO_DEVICE; FACTZ_ERROR_CUDA;
///         FACTZ_ERROR_OUT_OF_MEMORY (loading the kernels); FACTZ_ERROR_INTERNAL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn factz_inspect_device(
    src: *const c_void,
    src_bytes: usize,
    info: *mut factz_info,
    stream: factz_stream,
) -> factz_status {
    guard(|| {
        check_struct("info", info)?;
        let source = check_source(src, src_bytes)?;
        check_outputs(&[&Span::of("info", info)], &[&source])?;
        // SAFETY: the caller promised live memory until the stream has got past the work.
        unsafe { cuda::inspect_device(src as u64, src_bytes as u64, info as u64, stream.cast()) }
    })
}

/// Enqueues the search for the range of a field in device memory; the twin of `factz_range_host`, with the same
/// result bit for bit. Returns without waiting, as `factz_compress_device` does.
///
/// @param u                the x components, laid out as config says, aligned to their type; not changed
/// @param v                the y components
/// @param n                number of vertices, nx * ny
/// @param config           the configuration, in host memory
/// @param workspace        scratch memory, aligned to factz_sizes.alignment
/// @param workspace_bytes  at least the factz_sizes.analysis_workspace_bytes of `factz_compress_sizes`
/// @param range            device-accessible; written on the device. Untouched when the arguments are refused
/// @param stream           the CUDA stream
/// @return FACTZ_OK (enqueued); FACTZ_ERROR_INVALID_ARGUMENT; FACTZ_ERROR_INVALID_CONFIG;
///         FACTZ_ERROR_UNSUPPORTED; FACTZ_ERROR_WORKSPACE_TOO_SMALL; FACTZ_ERROR_NO_DEVICE;
///         FACTZ_ERROR_CUDA; FACTZ_ERROR_OUT_OF_MEMORY (loading the kernels); FACTZ_ERROR_INTERNAL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn factz_range_device(
    u: *const c_void,
    v: *const c_void,
    n: usize,
    config: *const factz_config,
    workspace: *mut c_void,
    workspace_bytes: usize,
    range: *mut factz_range,
    stream: factz_stream,
) -> factz_status {
    guard(|| {
        check_struct("range", range)?;
        // SAFETY: the caller gave a whole struct in host memory.
        let request = unsafe { read_field_request(config, n) }?;
        let field = Field::new(["u", "v"], u, v, &request, Ghosts::Ignored)?;
        let scratch = check_buffer("workspace", workspace, workspace_bytes)?;
        check_outputs(&[&scratch, &Span::of("range", range)], &[&field.u, &field.v])?;
        let buffers = RangeBuffers {
            u: u as u64,
            v: v as u64,
            range: range as u64,
            workspace: workspace as u64,
            workspace_bytes: workspace_bytes as u64,
        };
        // SAFETY: the caller promised live buffers of these sizes until the stream has got past the work.
        unsafe { cuda::range_device(&request, &buffers, stream.cast()) }
    })
}

/// Enqueues the extraction of the critical points of a field in device memory; the twin of
/// `factz_critical_points_host`, with the same cells, the same points and the same order. Returns without waiting,
/// as `factz_compress_device` does.
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
/// @param workspace_bytes  at least the factz_sizes.analysis_workspace_bytes of `factz_compress_sizes`
/// @param stream           the CUDA stream
/// @return FACTZ_OK (enqueued); FACTZ_ERROR_INVALID_ARGUMENT; FACTZ_ERROR_INVALID_CONFIG;
///         FACTZ_ERROR_UNSUPPORTED; FACTZ_ERROR_WORKSPACE_TOO_SMALL; FACTZ_ERROR_NO_DEVICE;
///         FACTZ_ERROR_CUDA; FACTZ_ERROR_OUT_OF_MEMORY (loading the kernels); FACTZ_ERROR_INTERNAL
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
        // SAFETY: the caller gave a whole struct in host memory.
        let request = unsafe { read_field_request(config, n) }?;
        let field = Field::new(["u", "v"], u, v, &request, Ghosts::OfCells)?;
        let target = check_points(points, capacity)?;
        let scratch = check_buffer("workspace", workspace, workspace_bytes)?;
        let outputs = [&target, &scratch, &Span::of("count", count)];
        check_outputs(&outputs, &[&field.u, &field.v])?;
        let buffers = PointBuffers {
            u: u as u64,
            v: v as u64,
            points: points as u64,
            capacity: capacity as u64,
            count: count as u64,
            workspace: workspace as u64,
            workspace_bytes: workspace_bytes as u64,
        };
        // SAFETY: the caller promised live buffers of these sizes until the stream has got past the work.
        unsafe { cuda::critical_points_device(&request, &buffers, stream.cast()) }
    })
}

/// Enqueues the comparison of two fields in device memory; the twin of `factz_compare_host`, with the same
/// result bit for bit. Returns without waiting, as `factz_compress_device` does.
///
/// @param u                the x components of the first field, laid out as config says, aligned to their
///                         type; not changed
/// @param v                its y components
/// @param n                number of vertices, nx * ny
/// @param config           the configuration, in host memory
/// @param other_u          the x components of the other field; not changed
/// @param other_v          its y components
/// @param other_config     the layout of the other field, in host memory, as for `factz_compare_host`; NULL
///                         means config
/// @param workspace        scratch memory, aligned to factz_sizes.alignment
/// @param workspace_bytes  at least the factz_sizes.analysis_workspace_bytes of `factz_compress_sizes`
/// @param comparison       device-accessible; written on the device. Untouched when the arguments are
///                         refused
/// @param stream           the CUDA stream
/// @return FACTZ_OK (enqueued); FACTZ_ERROR_INVALID_ARGUMENT; FACTZ_ERROR_INVALID_CONFIG;
///         FACTZ_ERROR_UNSUPPORTED; FACTZ_ERROR_WORKSPACE_TOO_SMALL; FACTZ_ERROR_NO_DEVICE;
///         FACTZ_ERROR_CUDA; FACTZ_ERROR_OUT_OF_MEMORY (loading the kernels); FACTZ_ERROR_INTERNAL
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
        // SAFETY: the caller gave whole structs in host memory.
        let pair = unsafe { read_pair(config, other_config, n) }?;
        let fields = check_fields(&pair, [u, v], [other_u, other_v])?;
        let scratch = check_buffer("workspace", workspace, workspace_bytes)?;
        check_outputs(&[&scratch, &Span::of("comparison", comparison)], &components(&fields))?;
        let compared = ComparedFields {
            first: [u as u64, v as u64],
            other: [other_u as u64, other_v as u64],
            checks_bound: true,
            workspace: workspace as u64,
            workspace_bytes: workspace_bytes as u64,
            comparison: comparison as u64,
        };
        // SAFETY: the caller promised live buffers of these sizes until the stream has got past the work.
        unsafe { cuda::compare_device(&pair, &compared, stream.cast()) }
    })
}
