//! Backends: where the stages run. The choice is made here; the numerics are in the stages.

use crate::error::{Error, Result, Status};
use crate::field::{View, ViewMut};
use crate::real::Real;
use crate::report::{Report, StreamInfo};
use crate::request::{Config, Request};

/// Called now and then from any thread with the fraction of the work that is done (0 to 1).
pub type Progress<'a> = &'a (dyn Fn(f64) + Sync);

/// How the host functions run.
#[derive(Clone, Copy, Default)]
pub struct Execution<'a> {
    /// Threads to use; 0 means one per processor.
    pub threads: usize,
    pub progress: Option<Progress<'a>>,
}

/// Bytes that hold the stream of any field with this configuration.
pub fn max_stream_bytes(request: &Request) -> u64 {
    request.field_bytes() * 2 + 4096
}

/// Compresses a field into `dst`. The report's status is `BufferTooSmall` (and `required_bytes` says
/// what it takes) when `dst` is too short; nothing useful is in `dst` then.
///
/// `u` and `v` must cover the grid of the request and its halo.
pub fn compress<T: Real>(
    _request: &Request,
    _u: View<'_, T>,
    _v: View<'_, T>,
    _dst: &mut [u8],
    _execution: Execution<'_>,
) -> Result<Report> {
    Err(Error::new(Status::Unsupported, "the backend is not there yet"))
}

/// Decompresses a stream. `config` gives nx, ny and dtype, which must be those of the stream, and
/// whether the checksum is compared; the rest of it is ignored.
pub fn decompress<T: Real>(
    _config: &Config,
    _stream: &[u8],
    _u: ViewMut<'_, T>,
    _v: ViewMut<'_, T>,
    _execution: Execution<'_>,
) -> Result<Report> {
    Err(Error::new(Status::Unsupported, "the backend is not there yet"))
}

/// Reads the header of a stream from its first bytes (`INSPECT_BYTES` suffice).
pub fn inspect(_stream: &[u8]) -> Result<StreamInfo> {
    Err(Error::new(Status::Unsupported, "the backend is not there yet"))
}

/// Bytes at the start of a stream that `inspect` needs.
pub const INSPECT_BYTES: usize = 192;
