//! `factz_sizes`: how much memory the caller has to bring.

use super::arguments::{check_struct, Output, Span};
use super::config::{factz_config, read_request, read_shape};
use super::status::{factz_status, guard};
use crate::cpu;
use crate::cuda::workspace::{AnalysisWorkspace, Workspace, ALIGNMENT};
use crate::error::Result;
use crate::request::Request;

/// How much memory a call needs.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct factz_sizes {
    /// Bytes that hold the stream of any field with this configuration, whatever its values.
    pub max_stream_bytes: u64,
    /// Bytes of device memory that `factz_compress_device`, `factz_decompress_device` or
    /// `factz_decompress_planes_device` needs as workspace. The `_host` functions take no workspace.
    pub workspace_bytes: u64,
    /// Alignment in bytes of the workspace and of the stream for the `_device` functions, a power of
    /// two. The `_host` functions take any address.
    pub alignment: u64,
    /// Bytes of device memory that `factz_range_device`, `factz_compare_device` and
    /// `factz_critical_points_device` need as workspace: about 3 % of the field.
    pub analysis_workspace_bytes: u64,
    /// 0.
    pub reserved: [u64; 4],
}

assert_layout! {
    factz_sizes, 64 bytes:
    max_stream_bytes 0, workspace_bytes 8, alignment 16, analysis_workspace_bytes 24, reserved 32
}

fn sizes_of(request: &Request, workspace: Workspace) -> Result<factz_sizes> {
    Ok(factz_sizes {
        max_stream_bytes: cpu::max_stream_bytes(request),
        workspace_bytes: workspace.bytes,
        alignment: ALIGNMENT,
        analysis_workspace_bytes: AnalysisWorkspace::bytes(request)?,
        reserved: [0; 4],
    })
}

/// The sizes for compressing, and for analysing, fields with a configuration.
///
/// A pure function of the configuration: it looks at no data and needs no device. Does not block,
/// thread-safe. The numbers may change with the version of the library.
///
/// @param config  the configuration
/// @param sizes   written; all zero where the call fails
/// @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT (a pointer is NULL or misaligned, or sizes overlaps
///         config); FACTZ_ERROR_INVALID_CONFIG; FACTZ_ERROR_UNSUPPORTED
#[unsafe(no_mangle)]
pub unsafe extern "C" fn factz_compress_sizes(
    config: *const factz_config,
    sizes: *mut factz_sizes,
) -> factz_status {
    guard(|| {
        // SAFETY: the caller gave whole structs.
        let mut output = unsafe { output(config, sizes) }?;
        // SAFETY: the caller gave a whole struct.
        let request = unsafe { read_request("config", config) }?;
        output.set(sizes_of(&request, Workspace::compress(&request)?)?);
        Ok(())
    })
}

/// The sizes for decompressing streams of a shape and an element type: nx, ny, nz and dtype of config. Its
/// other fields have no effect.
///
/// `max_stream_bytes` holds the stream of any such field; the header of an existing stream has its length
/// (`factz_inspect_host`). A pure function of the configuration: it looks at no data and needs no device.
/// Does not block, thread-safe. The numbers may change with the version of the library.
///
/// @param config  the shape and the element type
/// @param sizes   written; all zero where the call fails
/// @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT (a pointer is NULL or misaligned, or sizes overlaps
///         config); FACTZ_ERROR_INVALID_CONFIG; FACTZ_ERROR_UNSUPPORTED
#[unsafe(no_mangle)]
pub unsafe extern "C" fn factz_decompress_sizes(
    config: *const factz_config,
    sizes: *mut factz_sizes,
) -> factz_status {
    guard(|| {
        // SAFETY: the caller gave whole structs.
        let mut output = unsafe { output(config, sizes) }?;
        // SAFETY: the caller gave a whole struct.
        let request = unsafe { read_shape(config) }?;
        output.set(sizes_of(&request, Workspace::decompress(&request)?)?);
        Ok(())
    })
}

/// The sizes for `factz_decompress_planes_device`: nz of config is the number of planes that a call takes.
///
/// As `factz_decompress_sizes`, with a workspace that has room for tiles of other planes in the groups of tiles
/// at both ends: about 510 tiles more.
///
/// @param config  the shape of the planes and the element type
/// @param sizes   written; all zero where the call fails
/// @return as for `factz_decompress_sizes`
#[unsafe(no_mangle)]
pub unsafe extern "C" fn factz_decompress_planes_sizes(
    config: *const factz_config,
    sizes: *mut factz_sizes,
) -> factz_status {
    guard(|| {
        // SAFETY: the caller gave whole structs.
        let mut output = unsafe { output(config, sizes) }?;
        // SAFETY: the caller gave a whole struct.
        let request = unsafe { read_shape(config) }?;
        output.set(sizes_of(&request, Workspace::decompress_planes(&request)?)?);
        Ok(())
    })
}

/// # Safety
/// The pointers are null or point to structs.
unsafe fn output(config: *const factz_config, sizes: *mut factz_sizes) -> Result<Output<factz_sizes>> {
    // SAFETY: the promise of this function.
    let mut output = unsafe { Output::new("sizes", sizes, factz_sizes::default()) }?;
    check_struct("config", config)?;
    output.check_apart(&[&Span::of("config", config)])?;
    Ok(output)
}
