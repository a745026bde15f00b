//! Volumes on a device.

use super::arguments::{check_buffer, check_outputs, check_struct, Ghosts, Output, Span};
use super::config::{factz_config, read_volume_request};
use super::device::factz_stream;
use super::inspect::check_source;
use super::report::factz_report;
use super::sizes::factz_sizes;
use super::status::{factz_status, guard};
use super::volume::{check_components_apart, check_vertices, spans, NAMES};
use crate::cuda::workspace::{Workspace, ALIGNMENT};
use crate::cuda::{self, Buffers, VolumeBuffers};
use crate::error::Result;
use crate::request::VolumeRequest;
use crate::volume;
use std::ffi::c_void;

/// The sizes for compressing volumes of a shape, an element type and a configuration on a device.
///
/// analysis_workspace_bytes is 0. A pure function of the configuration: it looks at no data and needs no device.
/// Does not block, thread-safe. The numbers may change with the version of the library.
///
/// @param config  the configuration of a volume (`factz_config_init_volume`)
/// @param sizes   written; all zero where the call fails
/// @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT (a pointer is NULL or misaligned, or sizes overlaps
///         config); FACTZ_ERROR_INVALID_CONFIG; FACTZ_ERROR_UNSUPPORTED
#[unsafe(no_mangle)]
pub unsafe extern "C" fn factz_compress_volume_sizes(
    config: *const factz_config,
    sizes: *mut factz_sizes,
) -> factz_status {
    // SAFETY: the caller's promise.
    guard(|| unsafe { tell_sizes(config, sizes, Workspace::compress_volume) })
}

/// The sizes for decompressing the streams of volumes of a shape and an element type on a device. Otherwise as
/// `factz_compress_volume_sizes`.
///
/// @param config  the configuration of a volume (`factz_config_init_volume`)
/// @param sizes   written; all zero where the call fails
/// @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT (a pointer is NULL or misaligned, or sizes overlaps
///         config); FACTZ_ERROR_INVALID_CONFIG; FACTZ_ERROR_UNSUPPORTED
#[unsafe(no_mangle)]
pub unsafe extern "C" fn factz_decompress_volume_sizes(
    config: *const factz_config,
    sizes: *mut factz_sizes,
) -> factz_status {
    // SAFETY: the caller's promise.
    guard(|| unsafe { tell_sizes(config, sizes, Workspace::decompress_volume) })
}

/// # Safety
/// The pointers are null, misaligned or point to structs in host memory.
unsafe fn tell_sizes(
    config: *const factz_config,
    sizes: *mut factz_sizes,
    plan: fn(&VolumeRequest) -> Result<Workspace>,
) -> Result<()> {
    // SAFETY: the promise of this function.
    let mut output = unsafe { Output::new("sizes", sizes, factz_sizes::default()) }?;
    check_struct("config", config)?;
    output.check_apart(&[&Span::of("config", config)])?;
    // SAFETY: the promise of this function.
    let request = unsafe { read_volume_request("config", config) }?;
    output.set(factz_sizes {
        max_stream_bytes: volume::max_volume_stream_bytes(&request),
        workspace_bytes: plan(&request)?.bytes,
        alignment: ALIGNMENT,
        ..Default::default()
    });
    Ok(())
}

/// The arguments of a call that enqueues work, without its stream.
struct VolumeCall {
    request: VolumeRequest,
    arrays: [Span; 3],
    workspace: Span,
    report: Span,
    /// The addresses of all of these; without the stream.
    memory: VolumeBuffers,
}

impl VolumeCall {
    /// # Safety
    /// `config` is null, misaligned or points to a struct in host memory.
    unsafe fn new(
        report: *const factz_report,
        (config, n): (*const factz_config, usize),
        (components, ghosts): ([*const c_void; 3], Ghosts),
        (workspace, workspace_bytes): (*const c_void, usize),
    ) -> Result<Self> {
        check_struct("report", report)?;
        // SAFETY: the promise of this function.
        let request = unsafe { read_volume_request("config", config) }?;
        check_vertices(n, &request)?;
        let arrays = spans(NAMES, components, request.config(), ghosts)?;
        let [u, v, w] = components.map(|c| c as u64);
        let planes = Buffers {
            u,
            v,
            stream: 0,
            stream_bytes: 0,
            workspace: workspace as u64,
            workspace_bytes: workspace_bytes as u64,
            report: report as u64,
        };
        let workspace = check_buffer("workspace", workspace, workspace_bytes)?;
        let memory = VolumeBuffers { planes, w };
        Ok(VolumeCall { request, arrays, workspace, report: Span::of("report", report), memory })
    }

    /// The memory of the call with that of the stream.
    fn buffers(&self, stream: *const c_void, bytes: usize) -> VolumeBuffers {
        let planes = Buffers { stream: stream as u64, stream_bytes: bytes as u64, ..self.memory.planes };
        VolumeBuffers { planes, ..self.memory }
    }
}

/// Enqueues the compression of a volume in device memory. Writes the same stream as `factz_compress_volume_host`.
/// See "Device functions" at the top of this header. Takes a device of compute capability 8.0 or later.
///
/// @param u                x components, laid out as config says, aligned to their type; ghosts of config->halo
///                         are read
/// @param v                y components; may be interleaved with u and w
/// @param w                z components
/// @param n                number of vertices, nx * ny * nz
/// @param config           the configuration of a volume (`factz_config_init_volume`), in host memory
/// @param dst              receives the stream; aligned to factz_sizes.alignment
/// @param dst_bytes        writable bytes at dst, at least FACTZ_VOLUME_INSPECT_BYTES
/// @param workspace        scratch memory, aligned to factz_sizes.alignment
/// @param workspace_bytes  at least factz_sizes.workspace_bytes of `factz_compress_volume_sizes`
/// @param report           receives the result; FACTZ_ERROR_BUFFER_TOO_SMALL and required_bytes if the stream
///                         does not fit into dst
/// @param stream           the CUDA stream
/// @return FACTZ_OK (enqueued); FACTZ_ERROR_INVALID_ARGUMENT; FACTZ_ERROR_INVALID_CONFIG;
///         FACTZ_ERROR_UNSUPPORTED; FACTZ_ERROR_WORKSPACE_TOO_SMALL; FACTZ_ERROR_NO_DEVICE; FACTZ_ERROR_CUDA;
///         FACTZ_ERROR_OUT_OF_MEMORY (loading the kernels); FACTZ_ERROR_INTERNAL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn factz_compress_volume_device(
    u: *const c_void,
    v: *const c_void,
    w: *const c_void,
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
        let scratch = (workspace.cast_const(), workspace_bytes);
        // SAFETY: the caller gave a whole struct in host memory.
        let call = unsafe { VolumeCall::new(report, (config, n), ([u, v, w], Ghosts::Read), scratch) }?;
        let target = check_buffer("dst", dst, dst_bytes)?;
        check_outputs(&[&target, &call.workspace, &call.report], &call.arrays.each_ref())?;
        let buffers = call.buffers(dst, dst_bytes);
        // SAFETY: the caller promised live buffers of these sizes until the stream has got past the work.
        unsafe { cuda::compress_volume_device(&call.request, &buffers, stream.cast()) }
    })
}

/// Enqueues the decompression of the stream of a volume in device memory. Writes the same bits as
/// `factz_decompress_volume_host`. See "Device functions" at the top of this header.
///
/// @param src              the stream, aligned to factz_sizes.alignment
/// @param src_bytes        readable bytes at src: the length of the stream or more
/// @param config           the layout of the output, in host memory, as for `factz_decompress_volume_host`
/// @param u                receives the x components, aligned to their type
/// @param v                receives the y components; may be interleaved with u and w
/// @param w                receives the z components
/// @param n                number of vertices, nx * ny * nz
/// @param workspace        scratch memory, aligned to factz_sizes.alignment
/// @param workspace_bytes  at least factz_sizes.workspace_bytes of `factz_decompress_volume_sizes`
/// @param report           receives the result, among others FACTZ_ERROR_CORRUPT_STREAM (the content of u, v and w
///                         is undefined), FACTZ_ERROR_UNSUPPORTED_VERSION, and FACTZ_ERROR_INVALID_ARGUMENT if the
///                         stream has other dimensions or another dtype, or holds planes
/// @param stream           the CUDA stream
/// @return FACTZ_OK (enqueued); FACTZ_ERROR_INVALID_ARGUMENT; FACTZ_ERROR_INVALID_CONFIG;
///         FACTZ_ERROR_UNSUPPORTED; FACTZ_ERROR_WORKSPACE_TOO_SMALL; FACTZ_ERROR_NO_DEVICE; FACTZ_ERROR_CUDA;
///         FACTZ_ERROR_OUT_OF_MEMORY (loading the kernels); FACTZ_ERROR_INTERNAL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn factz_decompress_volume_device(
    src: *const c_void,
    src_bytes: usize,
    config: *const factz_config,
    u: *mut c_void,
    v: *mut c_void,
    w: *mut c_void,
    n: usize,
    workspace: *mut c_void,
    workspace_bytes: usize,
    report: *mut factz_report,
    stream: factz_stream,
) -> factz_status {
    guard(|| {
        let (components, scratch) =
            ([u, v, w].map(|c| c.cast_const()), (workspace.cast_const(), workspace_bytes));
        // SAFETY: the caller gave a whole struct in host memory.
        let call = unsafe { VolumeCall::new(report, (config, n), (components, Ghosts::Ignored), scratch) }?;
        let source = check_source(src, src_bytes)?;
        source.check_apart(&call.arrays.each_ref())?;
        check_components_apart(&call.arrays, [u, v, w], call.request.config())?;
        let [a, b, c] = &call.arrays;
        check_outputs(&[&call.workspace, &call.report], &[&source, a, b, c])?;
        let buffers = call.buffers(src, src_bytes);
        // SAFETY: the caller promised live buffers of these sizes until the stream has got past the work.
        unsafe { cuda::decompress_volume_device(&call.request, &buffers, stream.cast()) }
    })
}
