//! `factz_sizes`: how much memory the caller has to bring.

use super::arguments::{check_struct, choice};
use super::config::{factz_config, read_request, BOUND_KINDS, CODERS, DTYPES, MODES, PREDICTORS, PRESERVES};
use super::inspect::factz_info;
use super::status::{factz_status, guard};
use crate::backend;
use crate::error::{Error, Result};
use crate::plan::Workspace;
use crate::request::{Config, Request};
use std::mem::{offset_of, size_of};

/// How much memory a call needs.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct factz_sizes {
    /// Bytes that hold the stream of any field with this configuration, whatever its values.
    pub max_stream_bytes: u64,
    /// Bytes of device memory that a `_device` function needs as workspace. The `_host` functions take
    /// no workspace.
    pub workspace_bytes: u64,
    /// Alignment in bytes of the workspace and of the stream for the `_device` functions, a power of
    /// two. The `_host` functions take any address.
    pub alignment: u64,
    /// 0.
    pub reserved: [u64; 5],
}

const _: () = {
    assert!(size_of::<factz_sizes>() == 64);
    assert!(offset_of!(factz_sizes, max_stream_bytes) == 0);
    assert!(offset_of!(factz_sizes, workspace_bytes) == 8);
    assert!(offset_of!(factz_sizes, alignment) == 16);
    assert!(offset_of!(factz_sizes, reserved) == 24);
};

/// Alignment of device buffers.
pub(super) const DEVICE_ALIGNMENT: u64 = crate::plan::ALIGNMENT;

/// Workspace of the device functions that read a field: compression and analysis.
pub(super) fn compress_workspace_bytes(request: &Request) -> Result<u64> {
    Ok(Workspace::compress(request)?.bytes)
}

/// Workspace of device decompression.
pub(super) fn decompress_workspace_bytes(request: &Request) -> Result<u64> {
    Ok(Workspace::decompress(request)?.bytes)
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
        // SAFETY: the caller gave a configuration of struct_size bytes.
        let request = unsafe { read_request("config", config) }?;
        let answer = factz_sizes {
            max_stream_bytes: backend::max_stream_bytes(&request),
            workspace_bytes: compress_workspace_bytes(&request)?,
            alignment: DEVICE_ALIGNMENT,
            reserved: [0; 5],
        };
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
        let answer = factz_sizes {
            max_stream_bytes: match info.stream_bytes {
                0 => backend::max_stream_bytes(&request),
                bytes => bytes,
            },
            workspace_bytes: decompress_workspace_bytes(&request)?,
            alignment: DEVICE_ALIGNMENT,
            reserved: [0; 5],
        };
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
