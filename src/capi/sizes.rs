//! `factz_sizes`: how much memory the caller has to bring.

use super::arguments::{check_struct, choice};
use super::config::{factz_config, read_request, BOUND_KINDS, CODERS, DTYPES, MODES, PREDICTORS, PRESERVES};
use super::inspect::factz_info;
use super::status::{factz_status, guard};
use crate::backend;
use crate::error::{Error, Result};
use crate::plan::{AnalysisWorkspace, Workspace, ALIGNMENT};
use crate::request::{Config, Request};

/// How much memory a call needs.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct factz_sizes {
    /// Bytes that hold the stream of any field with this configuration, whatever its values.
    pub max_stream_bytes: u64,
    /// Bytes of device memory that `factz_compress_device`, or `factz_decompress_device`, needs as
    /// workspace. The `_host` functions take no workspace.
    pub workspace_bytes: u64,
    /// Alignment in bytes of the workspace and of the stream for the `_device` functions, a power of
    /// two. The `_host` functions take any address.
    pub alignment: u64,
    /// Bytes of device memory that `factz_compare_device` and `factz_critical_points_device` need as
    /// workspace: a few thousandths of the field.
    pub analysis_workspace_bytes: u64,
    /// 0.
    pub reserved: [u64; 4],
}

assert_layout!(
    factz_sizes,
    64,
    max_stream_bytes 0,
    workspace_bytes 8,
    alignment 16,
    analysis_workspace_bytes 24,
    reserved 32,
);

fn sizes_of(request: &Request, max_stream_bytes: u64, workspace: Workspace) -> Result<factz_sizes> {
    Ok(factz_sizes {
        max_stream_bytes,
        workspace_bytes: workspace.bytes,
        alignment: ALIGNMENT,
        analysis_workspace_bytes: AnalysisWorkspace::bytes(request)?,
        reserved: [0; 4],
    })
}

/// The sizes for compressing, and for analysing, fields with a configuration.
///
/// A pure function of the configuration: it looks at no data and needs no device. Does not block,
/// allocates nothing, thread-safe. The numbers may change with the version of the library.
///
/// @param config  the configuration
/// @param sizes   written when the call succeeds
/// @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT (a pointer is NULL or misaligned);
///         FACTZ_ERROR_INVALID_CONFIG; FACTZ_ERROR_UNSUPPORTED
#[unsafe(no_mangle)]
pub unsafe extern "C" fn factz_compress_sizes(
    config: *const factz_config,
    sizes: *mut factz_sizes,
) -> factz_status {
    guard(|| {
        check_struct("sizes", sizes)?;
        // SAFETY: the caller gave a whole struct.
        let request = unsafe { read_request("config", config) }?;
        let answer = sizes_of(&request, backend::max_stream_bytes(&request), Workspace::compress(&request)?)?;
        // SAFETY: not null and aligned; the caller gave a whole struct.
        unsafe { sizes.write(answer) };
        Ok(())
    })
}

/// The sizes for decompressing a stream.
///
/// `info` comes from `factz_inspect_host`. Where the stream is on a device and reading its header
/// back would mean waiting, make one: set it to zero, then set nx, ny, dx = dy = 1, dtype, mode, coder,
/// predictor and preserve as in the configuration of the compression. The rest is not looked at, and
/// `max_stream_bytes` then is that of any such field; otherwise it is `info->stream_bytes`.
///
/// A pure function of the header: it looks at no data and needs no device. Does not block, allocates
/// nothing, thread-safe.
///
/// @param info   the header of the stream
/// @param sizes  written when the call succeeds
/// @return FACTZ_OK; FACTZ_ERROR_INVALID_ARGUMENT (a pointer is NULL or misaligned);
///         FACTZ_ERROR_INVALID_CONFIG (the info holds values that no stream has);
///         FACTZ_ERROR_UNSUPPORTED
#[unsafe(no_mangle)]
pub unsafe extern "C" fn factz_decompress_sizes(
    info: *const factz_info,
    sizes: *mut factz_sizes,
) -> factz_status {
    guard(|| {
        check_struct("info", info)?;
        check_struct("sizes", sizes)?;
        // SAFETY: not null and aligned; the caller gave a whole struct, and any bytes make a valid one.
        let info = unsafe { info.read() };
        let request =
            stream_request(&info).map_err(|e| Error::new(e.status, format!("info: {}", e.message)))?;
        let max_stream_bytes = match info.stream_bytes {
            0 => backend::max_stream_bytes(&request),
            bytes => bytes,
        };
        let answer = sizes_of(&request, max_stream_bytes, Workspace::decompress(&request)?)?;
        // SAFETY: not null and aligned; the caller gave a whole struct.
        unsafe { sizes.write(answer) };
        Ok(())
    })
}

/// The request that a stream with this header answers.
fn stream_request(info: &factz_info) -> Result<Request> {
    let bound_kind = choice("bound_kind", info.bound_kind, &BOUND_KINDS)?;
    Request::new(Config {
        dtype: choice("dtype", info.dtype, &DTYPES)?,
        dx: info.dx,
        dy: info.dy,
        mode: choice("mode", info.mode, &MODES)?,
        coder: choice("coder", info.coder, &CODERS)?,
        predictor: choice("predictor", info.predictor, &PREDICTORS)?,
        preserve: choice("preserve", info.preserve, &PRESERVES)?,
        ..Config::new(info.nx, info.ny, bound_kind, info.bound)
    })
}
