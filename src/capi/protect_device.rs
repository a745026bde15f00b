//! Fixes for the reconstructions of other compressors, on a device.

use super::analysis::{components, read_shapes};
use super::arguments::{check_buffer, check_outputs, check_struct, Field, Ghosts, Output, Span};
use super::config::{factz_config, read_field_request, read_request, read_shape, read_volume_request};
use super::device::factz_stream;
use super::protect::{check_fix, factz_fix_report};
use super::protect_volume;
use super::sizes::factz_sizes;
use super::status::{factz_status, guard};
use super::volume::{check_components_apart, check_vertices, spans, NAMES};
use crate::cuda::workspace::{Workspace, ALIGNMENT};
use crate::cuda::{self, FixBuffers, VolumeFixBuffers};
use crate::error::Result;
use crate::repair::{max_fix_bytes, max_volume_fix_bytes};
use std::ffi::c_void;

/// Writes the sizes that `find` makes of a configuration: the largest fix, and the workspace.
///
/// # Safety
/// The pointers are null, misaligned or point to structs in host memory.
unsafe fn tell_sizes(
    config: *const factz_config,
    sizes: *mut factz_sizes,
    find: impl FnOnce() -> Result<(u64, Workspace)>,
) -> Result<()> {
    // SAFETY: the promise of this function.
    let mut output = unsafe { Output::new("sizes", sizes, factz_sizes::default()) }?;
    check_struct("config", config)?;
    output.check_apart(&[&Span::of("config", config)])?;
    let (max_stream_bytes, workspace) = find()?;
    let workspace_bytes = workspace.bytes;
    output.set(factz_sizes { max_stream_bytes, workspace_bytes, alignment: ALIGNMENT, ..Default::default() });
    Ok(())
}

/// The sizes for making fixes of planes on a device: max_stream_bytes holds any fix.
///
/// analysis_workspace_bytes is 0. A pure function of the configuration: it looks at no data and needs no
/// device. Does not block, thread-safe. The numbers may change with the version of the library.
///
/// @param config  the configuration
/// @param sizes   written; all zero where the call fails
/// @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT (a pointer is NULL or misaligned, or sizes overlaps
///         config); FACTZ_ERROR_INVALID_CONFIG; FACTZ_ERROR_UNSUPPORTED
#[unsafe(no_mangle)]
pub unsafe extern "C" fn factz_protect_sizes(
    config: *const factz_config,
    sizes: *mut factz_sizes,
) -> factz_status {
    let find = || {
        // SAFETY: the caller gave a whole struct.
        let request = unsafe { read_request("config", config) }?;
        Ok((max_fix_bytes(&request), Workspace::protect(&request)?))
    };
    // SAFETY: the caller's promise.
    guard(|| unsafe { tell_sizes(config, sizes, find) })
}

/// The sizes for making fixes of volumes on a device. Otherwise as `factz_protect_sizes`.
///
/// @param config  the configuration of a volume (`factz_config_init_volume`)
/// @param sizes   written; all zero where the call fails
/// @return as for `factz_protect_sizes`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn factz_protect_volume_sizes(
    config: *const factz_config,
    sizes: *mut factz_sizes,
) -> factz_status {
    let find = || {
        // SAFETY: the caller gave a whole struct.
        let request = unsafe { read_volume_request("config", config) }?;
        Ok((max_volume_fix_bytes(&request), Workspace::protect_volume(&request)?))
    };
    // SAFETY: the caller's promise.
    guard(|| unsafe { tell_sizes(config, sizes, find) })
}

/// The sizes for applying fixes of planes on a device: nx, ny, nz and dtype of config. Its other fields have
/// no effect. Otherwise as `factz_protect_sizes`.
///
/// @param config  the shape and the element type
/// @param sizes   written; all zero where the call fails
/// @return as for `factz_protect_sizes`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn factz_apply_sizes(
    config: *const factz_config,
    sizes: *mut factz_sizes,
) -> factz_status {
    let find = || {
        // SAFETY: the caller gave a whole struct.
        let request = unsafe { read_shape(config) }?;
        Ok((max_fix_bytes(&request), Workspace::apply(&request)?))
    };
    // SAFETY: the caller's promise.
    guard(|| unsafe { tell_sizes(config, sizes, find) })
}

/// The sizes for applying fixes of volumes on a device. Otherwise as `factz_protect_sizes`.
///
/// @param config  the configuration of a volume (`factz_config_init_volume`)
/// @param sizes   written; all zero where the call fails
/// @return as for `factz_protect_sizes`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn factz_apply_volume_sizes(
    config: *const factz_config,
    sizes: *mut factz_sizes,
) -> factz_status {
    let find = || {
        // SAFETY: the caller gave a whole struct.
        let request = unsafe { read_volume_request("config", config) }?;
        Ok((max_volume_fix_bytes(&request), Workspace::apply_volume(&request)?))
    };
    // SAFETY: the caller's promise.
    guard(|| unsafe { tell_sizes(config, sizes, find) })
}

/// Enqueues the making of a fix in device memory. Writes the same fix as `factz_protect_host`. See "Device
/// functions" at the top of this header.
///
/// report->status is FACTZ_ERROR_INVALID_ARGUMENT if the reconstruction is not within the bound of config at
/// every vertex that has data: report->vertices_outside of them are not, and report->first_outside is the
/// number of the first one, plane by plane and row by row.
///
/// @param u                x components of the original, laid out as config says, aligned to their type;
///                         ghosts of config->halo are read
/// @param v                its y components; may be interleaved with u
/// @param n                number of vertices, nx * ny
/// @param config           as for `factz_protect_host`, in host memory
/// @param other_u          x components of the reconstruction; ghosts are not read
/// @param other_v          its y components
/// @param other_config     the layout of other_u and other_v, in host memory; nx, ny, nz, dtype and periodic
///                         as in config. NULL stands for config
/// @param dst              receives the fix; aligned to factz_sizes.alignment
/// @param dst_bytes        writable bytes at dst, at least FACTZ_INSPECT_BYTES
/// @param workspace        scratch memory, aligned to factz_sizes.alignment
/// @param workspace_bytes  at least factz_sizes.workspace_bytes of `factz_protect_sizes`
/// @param report           receives the result; FACTZ_ERROR_BUFFER_TOO_SMALL and required_bytes if the fix
///                         does not fit into dst
/// @param stream           the CUDA stream
/// @return FACTZ_OK (enqueued); FACTZ_ERROR_INVALID_ARGUMENT; FACTZ_ERROR_INVALID_CONFIG;
///         FACTZ_ERROR_UNSUPPORTED; FACTZ_ERROR_WORKSPACE_TOO_SMALL; FACTZ_ERROR_NO_DEVICE; FACTZ_ERROR_CUDA;
///         FACTZ_ERROR_OUT_OF_MEMORY (loading the kernels); FACTZ_ERROR_INTERNAL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn factz_protect_device(
    u: *const c_void,
    v: *const c_void,
    n: usize,
    config: *const factz_config,
    other_u: *const c_void,
    other_v: *const c_void,
    other_config: *const factz_config,
    dst: *mut c_void,
    dst_bytes: usize,
    workspace: *mut c_void,
    workspace_bytes: usize,
    report: *mut factz_fix_report,
    stream: factz_stream,
) -> factz_status {
    guard(|| {
        check_struct("report", report)?;
        // SAFETY: the caller gave whole structs in host memory.
        let pair = unsafe { read_shapes(config, other_config, n) }?;
        let fields = [
            Field::new(["u", "v"], u, v, &pair[0], Ghosts::Read)?,
            Field::new(["other_u", "other_v"], other_u, other_v, &pair[1], Ghosts::Ignored)?,
        ];
        let target = check_buffer("dst", dst, dst_bytes)?;
        let scratch = check_buffer("workspace", workspace, workspace_bytes)?;
        check_outputs(&[&target, &scratch, &Span::of("report", report)], &components(&fields))?;
        let memory = FixBuffers {
            field: [u as u64, v as u64],
            other: [other_u as u64, other_v as u64],
            fix: dst as u64,
            fix_bytes: dst_bytes as u64,
            workspace: workspace as u64,
            workspace_bytes: workspace_bytes as u64,
            report: report as u64,
        };
        // SAFETY: the caller promised live buffers of these sizes until the stream has got past the work.
        unsafe { cuda::protect_device(&pair, &memory, stream.cast()) }
    })
}

/// Enqueues the making of a fix of a volume in device memory. Writes the same fix as
/// `factz_protect_volume_host`. Otherwise as `factz_protect_device`.
///
/// @param u                x components of the original, laid out as config says, aligned to their type;
///                         ghosts of config->halo are read
/// @param v                its y components; may be interleaved with the others
/// @param w                its z components
/// @param n                number of vertices, nx * ny * nz
/// @param config           as for `factz_protect_volume_host`, in host memory
/// @param other_u          x components of the reconstruction; ghosts are not read
/// @param other_v          its y components
/// @param other_w          its z components
/// @param other_config     the layout of the reconstruction, in host memory; nx, ny, nz, dtype and periodic
///                         as in config. NULL stands for config
/// @param dst              receives the fix; aligned to factz_sizes.alignment
/// @param dst_bytes        writable bytes at dst, at least FACTZ_INSPECT_BYTES + 8
/// @param workspace        scratch memory, aligned to factz_sizes.alignment
/// @param workspace_bytes  at least factz_sizes.workspace_bytes of `factz_protect_volume_sizes`
/// @param report           receives the result, as for `factz_protect_device`
/// @param stream           the CUDA stream
/// @return FACTZ_OK (enqueued); FACTZ_ERROR_INVALID_ARGUMENT; FACTZ_ERROR_INVALID_CONFIG;
///         FACTZ_ERROR_UNSUPPORTED; FACTZ_ERROR_WORKSPACE_TOO_SMALL; FACTZ_ERROR_NO_DEVICE; FACTZ_ERROR_CUDA;
///         FACTZ_ERROR_OUT_OF_MEMORY (loading the kernels); FACTZ_ERROR_INTERNAL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn factz_protect_volume_device(
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
    workspace: *mut c_void,
    workspace_bytes: usize,
    report: *mut factz_fix_report,
    stream: factz_stream,
) -> factz_status {
    guard(|| {
        check_struct("report", report)?;
        let (field, others) = ([u, v, w], [other_u, other_v, other_w]);
        // SAFETY: the caller gave whole structs in host memory.
        let pair = unsafe { protect_volume::read_shapes(config, other_config, n) }?;
        let original = spans(protect_volume::NAMES[0], field, pair[0].config(), Ghosts::Read)?;
        let other = spans(protect_volume::NAMES[1], others, pair[1].config(), Ghosts::Ignored)?;
        let target = check_buffer("dst", dst, dst_bytes)?;
        let scratch = check_buffer("workspace", workspace, workspace_bytes)?;
        let inputs: Vec<&Span> = original.iter().chain(&other).collect();
        check_outputs(&[&target, &scratch, &Span::of("report", report)], &inputs)?;
        let memory = VolumeFixBuffers {
            field: field.map(|c| c as u64),
            other: others.map(|c| c as u64),
            fix: dst as u64,
            fix_bytes: dst_bytes as u64,
            workspace: workspace as u64,
            workspace_bytes: workspace_bytes as u64,
            report: report as u64,
        };
        // SAFETY: the caller promised live buffers of these sizes until the stream has got past the work.
        unsafe { cuda::protect_volume_device(&pair, &memory, stream.cast()) }
    })
}

/// Enqueues the application of a fix in device memory to the reconstruction that it was made for, in place.
/// Writes the same bits as `factz_apply_host`. See "Device functions" at the top of this header.
///
/// Before anything is written the checksums of the fix and of the reconstruction are compared, and the whole
/// fix is checked: u and v keep their values unless report->status becomes FACTZ_OK.
///
/// @param fix              the fix, aligned to factz_sizes.alignment
/// @param fix_bytes        readable bytes at fix: the length of the fix or more
/// @param config           as for `factz_apply_host`, in host memory
/// @param u                x components of the reconstruction, aligned to their type; receives those of the
///                         repaired field
/// @param v                its y components; may be interleaved with u, without sharing an element
/// @param n                number of vertices, nx * ny
/// @param workspace        scratch memory, aligned to factz_sizes.alignment
/// @param workspace_bytes  at least factz_sizes.workspace_bytes of `factz_apply_sizes`
/// @param report           receives the result, among others FACTZ_ERROR_CORRUPT_STREAM,
///                         FACTZ_ERROR_UNSUPPORTED_VERSION, and FACTZ_ERROR_INVALID_ARGUMENT if the fix
///                         belongs to another reconstruction, to other dimensions, another dtype, or to a
///                         volume
/// @param stream           the CUDA stream
/// @return FACTZ_OK (enqueued); FACTZ_ERROR_INVALID_ARGUMENT; FACTZ_ERROR_INVALID_CONFIG;
///         FACTZ_ERROR_UNSUPPORTED; FACTZ_ERROR_WORKSPACE_TOO_SMALL; FACTZ_ERROR_NO_DEVICE; FACTZ_ERROR_CUDA;
///         FACTZ_ERROR_OUT_OF_MEMORY (loading the kernels); FACTZ_ERROR_INTERNAL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn factz_apply_device(
    fix: *const c_void,
    fix_bytes: usize,
    config: *const factz_config,
    u: *mut c_void,
    v: *mut c_void,
    n: usize,
    workspace: *mut c_void,
    workspace_bytes: usize,
    report: *mut factz_fix_report,
    stream: factz_stream,
) -> factz_status {
    guard(|| {
        check_struct("report", report)?;
        // SAFETY: the caller gave a whole struct in host memory.
        let request = unsafe { read_field_request(config, n) }?;
        let field = Field::new(["u", "v"], u, v, &request, Ghosts::Ignored)?;
        let source = check_fix(fix, fix_bytes)?;
        source.check_apart(&[&field.u, &field.v])?;
        field.check_components_apart(request.config())?;
        let scratch = check_buffer("workspace", workspace, workspace_bytes)?;
        check_outputs(&[&scratch, &Span::of("report", report)], &[&source, &field.u, &field.v])?;
        let memory = FixBuffers {
            field: [u as u64, v as u64],
            other: [0; 2],
            fix: fix as u64,
            fix_bytes: fix_bytes as u64,
            workspace: workspace as u64,
            workspace_bytes: workspace_bytes as u64,
            report: report as u64,
        };
        // SAFETY: the caller promised live buffers of these sizes until the stream has got past the work.
        unsafe { cuda::apply_device(&request, &memory, stream.cast()) }
    })
}

/// Enqueues the application of a fix in device memory to the reconstruction of a volume that it was made for,
/// in place. Writes the same bits as `factz_apply_volume_host`. Otherwise as `factz_apply_device`.
///
/// @param fix              the fix, aligned to factz_sizes.alignment
/// @param fix_bytes        readable bytes at fix: the length of the fix or more
/// @param config           as for `factz_apply_volume_host`, in host memory
/// @param u                x components of the reconstruction, aligned to their type; receives those of the
///                         repaired volume
/// @param v                its y components; may be interleaved with the others, without sharing an element
/// @param w                its z components
/// @param n                number of vertices, nx * ny * nz
/// @param workspace        scratch memory, aligned to factz_sizes.alignment
/// @param workspace_bytes  at least factz_sizes.workspace_bytes of `factz_apply_volume_sizes`
/// @param report           receives the result, as for `factz_apply_device`
/// @param stream           the CUDA stream
/// @return FACTZ_OK (enqueued); FACTZ_ERROR_INVALID_ARGUMENT; FACTZ_ERROR_INVALID_CONFIG;
///         FACTZ_ERROR_UNSUPPORTED; FACTZ_ERROR_WORKSPACE_TOO_SMALL; FACTZ_ERROR_NO_DEVICE; FACTZ_ERROR_CUDA;
///         FACTZ_ERROR_OUT_OF_MEMORY (loading the kernels); FACTZ_ERROR_INTERNAL
#[unsafe(no_mangle)]
pub unsafe extern "C" fn factz_apply_volume_device(
    fix: *const c_void,
    fix_bytes: usize,
    config: *const factz_config,
    u: *mut c_void,
    v: *mut c_void,
    w: *mut c_void,
    n: usize,
    workspace: *mut c_void,
    workspace_bytes: usize,
    report: *mut factz_fix_report,
    stream: factz_stream,
) -> factz_status {
    guard(|| {
        check_struct("report", report)?;
        // SAFETY: the caller gave a whole struct in host memory.
        let request = unsafe { read_volume_request("config", config) }?;
        check_vertices(n, &request)?;
        let arrays = spans(NAMES, [u, v, w].map(|c| c.cast_const()), request.config(), Ghosts::Ignored)?;
        let source = check_fix(fix, fix_bytes)?;
        source.check_apart(&arrays.each_ref())?;
        check_components_apart(&arrays, [u, v, w], request.config())?;
        let scratch = check_buffer("workspace", workspace, workspace_bytes)?;
        let [a, b, c] = &arrays;
        check_outputs(&[&scratch, &Span::of("report", report)], &[&source, a, b, c])?;
        let memory = VolumeFixBuffers {
            field: [u as u64, v as u64, w as u64],
            other: [0; 3],
            fix: fix as u64,
            fix_bytes: fix_bytes as u64,
            workspace: workspace as u64,
            workspace_bytes: workspace_bytes as u64,
            report: report as u64,
        };
        // SAFETY: the caller promised live buffers of these sizes until the stream has got past the work.
        unsafe { cuda::apply_volume_device(&request, &memory, stream.cast()) }
    })
}
