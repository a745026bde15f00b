//! The device functions: they check what they are given against each other and enqueue the work. The backend
//! checks each address.

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
use crate::error::Result;
use crate::request::Request;
use std::ffi::c_void;

/// CUDA's own opaque type, so that a `cudaStream_t` or `CUstream` passes without a cast.
#[repr(C)]
pub struct CUstream_st {
    _opaque: [u8; 0],
}

/// A `cudaStream_t` or `CUstream`; NULL is the default stream. No CUDA header is needed.
pub type factz_stream = *mut CUstream_st;

/// The arguments that the device functions on one field share, checked one by one.
struct FieldCall {
    request: Request,
    field: Field,
    workspace: Span,
    /// The struct or number that the device writes last.
    result: Span,
    /// The addresses of all of these; `report` is that of the result.
    memory: Buffers,
}

impl FieldCall {
    /// # Safety
    /// `config` is null, misaligned or points to a struct in host memory.
    unsafe fn new<T>(
        (name, result): (&str, *const T),
        (config, n): (*const factz_config, usize),
        (u, v, ghosts): (*const c_void, *const c_void, Ghosts),
        (workspace, workspace_bytes): (*const c_void, usize),
    ) -> Result<Self> {
        check_struct(name, result)?;
        // SAFETY: the promise of this function.
        let request = unsafe { read_field_request(config, n) }?;
        let field = Field::new(["u", "v"], u, v, &request, ghosts)?;
        let memory = Buffers {
            u: u as u64,
            v: v as u64,
            stream: 0,
            stream_bytes: 0,
            workspace: workspace as u64,
            workspace_bytes: workspace_bytes as u64,
            report: result as u64,
        };
        let workspace = check_buffer("workspace", workspace, workspace_bytes)?;
        Ok(FieldCall { request, field, workspace, result: Span::of(name, result), memory })
    }

    /// A call that reads a stream and writes u and v.
    ///
    /// # Safety
    /// As for [`FieldCall::new`].
    unsafe fn decompression(
        (src, src_bytes): (*const c_void, usize),
        shape: (*const factz_config, usize),
        [u, v]: [*mut c_void; 2],
        scratch: (*const c_void, usize),
        report: *const factz_report,
    ) -> Result<Self> {
        let components = (u.cast_const(), v.cast_const(), Ghosts::Ignored);
        // SAFETY: the promise of this function.
        let mut call = unsafe { FieldCall::new(("report", report), shape, components, scratch) }?;
        let source = check_source(src, src_bytes)?;
        source.check_apart(&[&call.field.u, &call.field.v])?;
        call.field.check_components_apart(call.request.config())?;
        call.check_apart(None, Some(&source))?;
        call.memory = Buffers { stream: src as u64, stream_bytes: src_bytes as u64, ..call.memory };
        Ok(call)
    }

    /// Refuses outputs that share bytes with an input or with each other; u and v count as inputs.
    fn check_apart(&self, output: Option<&Span>, input: Option<&Span>) -> Result<()> {
        let outputs: Vec<&Span> = output.into_iter().chain([&self.workspace, &self.result]).collect();
        let inputs: Vec<&Span> = input.into_iter().chain([&self.field.u, &self.field.v]).collect();
        check_outputs(&outputs, &inputs)
    }
}

/// Loads the kernels into the CUDA context of a stream. Otherwise the first device function in each context
/// loads them, which may block and allocate and is impossible while a stream is being captured: call this
/// before you capture a CUDA graph.
///
/// May block and allocate. Leaves the current CUDA context unchanged.
///
/// @param stream  a stream of the device; a default stream stands for the current context of the thread
/// @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT (a default stream, and no context is current);
///         FACTZ_ERROR_NO_DEVICE; FACTZ_ERROR_CUDA; FACTZ_ERROR_OUT_OF_MEMORY; FACTZ_ERROR_INTERNAL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn factz_prepare_device(stream: factz_stream) -> factz_status {
    // SAFETY: the caller gave a live stream.
    guard(|| unsafe { cuda::prepare_device(stream.cast()) })
}

/// Enqueues the compression of a field in device memory. Writes the same stream as `factz_compress_host`. See
/// "Device functions" at the top of this header.
///
/// @param u                x components, laid out as config says, aligned to their type; ghosts of
///                         config->halo are read
/// @param v                y components; may be interleaved with u
/// @param n                number of vertices, nx * ny
/// @param config           the configuration, in host memory
/// @param dst              receives the stream; aligned to factz_sizes.alignment
/// @param dst_bytes        writable bytes at dst, at least FACTZ_INSPECT_BYTES
/// @param workspace        scratch memory, aligned to factz_sizes.alignment
/// @param workspace_bytes  at least factz_sizes.workspace_bytes of `factz_compress_sizes`
/// @param report           receives the result; FACTZ_ERROR_BUFFER_TOO_SMALL and required_bytes if the stream
///                         does not fit into dst
/// @param stream           the CUDA stream
/// @return FACTZ_OK (enqueued); FACTZ_ERROR_INVALID_ARGUMENT; FACTZ_ERROR_INVALID_CONFIG;
///         FACTZ_ERROR_UNSUPPORTED; FACTZ_ERROR_WORKSPACE_TOO_SMALL; FACTZ_ERROR_NO_DEVICE; FACTZ_ERROR_CUDA;
///         FACTZ_ERROR_OUT_OF_MEMORY (loading the kernels); FACTZ_ERROR_INTERNAL
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
        let (components, scratch) = ((u, v, Ghosts::Read), (workspace.cast_const(), workspace_bytes));
        // SAFETY: the caller gave a whole struct in host memory.
        let call = unsafe { FieldCall::new(("report", report), (config, n), components, scratch) }?;
        call.check_apart(Some(&check_buffer("dst", dst, dst_bytes)?), None)?;
        let buffers = Buffers { stream: dst as u64, stream_bytes: dst_bytes as u64, ..call.memory };
        // SAFETY: the caller promised live buffers of these sizes until the stream has got past the work.
        unsafe { cuda::compress_device(&call.request, &buffers, stream.cast()) }
    })
}

/// Enqueues the decompression of a stream in device memory. Writes the same bits as `factz_decompress_host`.
/// See "Device functions" at the top of this header.
///
/// The length of the stream is read on the device. So compression and decompression can be enqueued one after
/// the other, with the capacity of the buffer as src_bytes.
///
/// @param src              the stream, aligned to factz_sizes.alignment
/// @param src_bytes        readable bytes at src: the length of the stream or more
/// @param config           the layout of the output, in host memory, as for `factz_decompress_host`. A stream
///                         of another predictor than config->predictor is decoded too, more slowly
/// @param u                receives the x components, aligned to their type
/// @param v                receives the y components; may be interleaved with u
/// @param n                number of vertices, nx * ny
/// @param workspace        scratch memory, aligned to factz_sizes.alignment
/// @param workspace_bytes  at least factz_sizes.workspace_bytes of `factz_decompress_sizes`
/// @param report           receives the result, among others FACTZ_ERROR_CORRUPT_STREAM,
///                         FACTZ_ERROR_UNSUPPORTED_VERSION, and FACTZ_ERROR_INVALID_ARGUMENT if the stream
///                         has other dimensions or another dtype
/// @param stream           the CUDA stream
/// @return FACTZ_OK (enqueued); FACTZ_ERROR_INVALID_ARGUMENT; FACTZ_ERROR_INVALID_CONFIG;
///         FACTZ_ERROR_UNSUPPORTED; FACTZ_ERROR_WORKSPACE_TOO_SMALL; FACTZ_ERROR_NO_DEVICE; FACTZ_ERROR_CUDA;
///         FACTZ_ERROR_OUT_OF_MEMORY (loading the kernels); FACTZ_ERROR_INTERNAL
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
        let (components, scratch) = ([u, v], (workspace.cast_const(), workspace_bytes));
        // SAFETY: the caller gave a whole struct in host memory.
        let call =
            unsafe { FieldCall::decompression((src, src_bytes), (config, n), components, scratch, report) }?;
        // SAFETY: the caller promised live buffers of these sizes until the stream has got past the work.
        unsafe { cuda::decompress_device(&call.request, &call.memory, stream.cast()) }
    })
}

/// Enqueues the decompression of consecutive planes of a stream in device memory: only the groups of tiles
/// that hold tiles of these planes are decoded. The values are bit for bit those of `factz_decompress_device`.
/// See "Device functions" at the top of this header.
///
/// The checksum of the stream is not compared; `factz_decompress_region_host` says which damage is noticed
/// without it. The stream must have at most 2^31 - 1 tiles of 32 x 32 vertices.
///
/// @param src              the stream, aligned to factz_sizes.alignment
/// @param src_bytes        readable bytes at src: the length of the stream or more
/// @param config           nx and ny are those of the stream, nz is the number of planes to decompress;
///                         otherwise as for `factz_decompress_device`
/// @param first            the first of these planes
/// @param u                receives the x components: vertex (0, 0) of plane `first`, then the others as
///                         config says
/// @param v                receives the y components; may be interleaved with u
/// @param n                number of vertices, nx * ny * nz of config
/// @param workspace        scratch memory, aligned to factz_sizes.alignment
/// @param workspace_bytes  at least factz_sizes.workspace_bytes of `factz_decompress_planes_sizes`
/// @param report           receives the result, as for `factz_decompress_device`;
///                         FACTZ_ERROR_INVALID_ARGUMENT also if the stream does not have these planes,
///                         FACTZ_ERROR_UNSUPPORTED if it has too many tiles. exact_vertices are those of these
///                         planes
/// @param stream           the CUDA stream
/// @return as for `factz_decompress_device`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn factz_decompress_planes_device(
    src: *const c_void,
    src_bytes: usize,
    config: *const factz_config,
    first: u64,
    u: *mut c_void,
    v: *mut c_void,
    n: usize,
    workspace: *mut c_void,
    workspace_bytes: usize,
    report: *mut factz_report,
    stream: factz_stream,
) -> factz_status {
    guard(|| {
        let (components, scratch) = ([u, v], (workspace.cast_const(), workspace_bytes));
        // SAFETY: the caller gave a whole struct in host memory.
        let call =
            unsafe { FieldCall::decompression((src, src_bytes), (config, n), components, scratch, report) }?;
        // SAFETY: the caller promised live buffers of these sizes until the stream has got past the work.
        unsafe { cuda::decompress_planes_device(&call.request, first, &call.memory, stream.cast()) }
    })
}

/// Enqueues the reading of the header of a stream in device memory; see `factz_inspect_host`, and "Device
/// functions" at the top of this header.
///
/// @param src        the start of a stream, aligned to factz_sizes.alignment
/// @param src_bytes  readable bytes at src, at least FACTZ_INSPECT_BYTES
/// @param info       receives the result; if src holds no stream, its status and zeros
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

/// Enqueues the search for the range of a field in device memory. Gives the same bits as `factz_range_host`.
/// See "Device functions" at the top of this header.
///
/// @param u                x components, laid out as config says, aligned to their type
/// @param v                y components
/// @param n                number of vertices, nx * ny
/// @param config           the configuration, in host memory
/// @param workspace        scratch memory, aligned to factz_sizes.alignment
/// @param workspace_bytes  at least factz_sizes.analysis_workspace_bytes of `factz_compress_sizes`
/// @param range            receives the range
/// @param stream           the CUDA stream
/// @return FACTZ_OK (enqueued); FACTZ_ERROR_INVALID_ARGUMENT; FACTZ_ERROR_INVALID_CONFIG;
///         FACTZ_ERROR_UNSUPPORTED; FACTZ_ERROR_WORKSPACE_TOO_SMALL; FACTZ_ERROR_NO_DEVICE; FACTZ_ERROR_CUDA;
///         FACTZ_ERROR_OUT_OF_MEMORY (loading the kernels); FACTZ_ERROR_INTERNAL
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
        let (components, scratch) = ((u, v, Ghosts::Ignored), (workspace.cast_const(), workspace_bytes));
        // SAFETY: the caller gave a whole struct in host memory.
        let call = unsafe { FieldCall::new(("range", range), (config, n), components, scratch) }?;
        call.check_apart(None, None)?;
        let Buffers { u, v, workspace, workspace_bytes, report: range, .. } = call.memory;
        let buffers = RangeBuffers { u, v, range, workspace, workspace_bytes };
        // SAFETY: the caller promised live buffers of these sizes until the stream has got past the work.
        unsafe { cuda::range_device(&call.request, &buffers, stream.cast()) }
    })
}

/// Enqueues the extraction of the critical points of a field in device memory. Gives the same points in the
/// same order as `factz_critical_points_host`. See "Device functions" at the top of this header.
///
/// @param u                x components, laid out as config says, aligned to their type
/// @param v                y components
/// @param n                number of vertices, nx * ny
/// @param config           the configuration, in host memory
/// @param points           receives the points; may be NULL if capacity is 0
/// @param capacity         number of points that fit
/// @param count            receives the number of points of the field; only the first `capacity` points are
///                         written
/// @param workspace        scratch memory, aligned to factz_sizes.alignment
/// @param workspace_bytes  at least factz_sizes.analysis_workspace_bytes of `factz_compress_sizes`
/// @param stream           the CUDA stream
/// @return FACTZ_OK (enqueued); FACTZ_ERROR_INVALID_ARGUMENT; FACTZ_ERROR_INVALID_CONFIG;
///         FACTZ_ERROR_UNSUPPORTED; FACTZ_ERROR_WORKSPACE_TOO_SMALL; FACTZ_ERROR_NO_DEVICE; FACTZ_ERROR_CUDA;
///         FACTZ_ERROR_OUT_OF_MEMORY (loading the kernels); FACTZ_ERROR_INTERNAL
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
        let (components, scratch) = ((u, v, Ghosts::Read), (workspace.cast_const(), workspace_bytes));
        // SAFETY: the caller gave a whole struct in host memory.
        let call = unsafe { FieldCall::new(("count", count), (config, n), components, scratch) }?;
        call.check_apart(Some(&check_points(points, capacity)?), None)?;
        let Buffers { u, v, workspace, workspace_bytes, report: count, .. } = call.memory;
        let (points, capacity) = (points as u64, capacity as u64);
        let buffers = PointBuffers { u, v, points, capacity, count, workspace, workspace_bytes };
        // SAFETY: the caller promised live buffers of these sizes until the stream has got past the work.
        unsafe { cuda::critical_points_device(&call.request, &buffers, stream.cast()) }
    })
}

/// Enqueues the comparison of two fields in device memory. Gives the same bits as `factz_compare_host`. See
/// "Device functions" at the top of this header.
///
/// @param u                x components of the first field, laid out as config says, aligned to their type
/// @param v                its y components
/// @param n                number of vertices, nx * ny
/// @param config           the configuration, in host memory
/// @param other_u          x components of the other field
/// @param other_v          its y components
/// @param other_config     the layout of the other field, in host memory, as for `factz_compare_host`; NULL
///                         stands for config
/// @param workspace        scratch memory, aligned to factz_sizes.alignment
/// @param workspace_bytes  at least factz_sizes.analysis_workspace_bytes of `factz_compress_sizes`
/// @param comparison       receives the result
/// @param stream           the CUDA stream
/// @return FACTZ_OK (enqueued); FACTZ_ERROR_INVALID_ARGUMENT; FACTZ_ERROR_INVALID_CONFIG;
///         FACTZ_ERROR_UNSUPPORTED; FACTZ_ERROR_WORKSPACE_TOO_SMALL; FACTZ_ERROR_NO_DEVICE; FACTZ_ERROR_CUDA;
///         FACTZ_ERROR_OUT_OF_MEMORY (loading the kernels); FACTZ_ERROR_INTERNAL
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
