//! Backends: where the stages run. The choice is made here; the numerics are in the stages.

mod coding;
mod compress;
mod decompress;
mod phases;
mod statistics;

use crate::error::{Error, Result};
use crate::grid::element::Real;
use crate::grid::field::{View, ViewMut};
use crate::report::{Report, StreamInfo};
use crate::request::{Config, Request};
use crate::runtime::float_env;
use crate::runtime::memory::Reserve;
use crate::runtime::pool::Threads;
use crate::stream::container::{self, Header};

/// Called now and then from any thread with the fraction of the work that is done (0 to 1).
pub type Progress<'a> = &'a (dyn Fn(f64) + Sync);

/// How the host functions run.
#[derive(Clone, Copy, Default)]
pub struct Execution<'a> {
    /// Threads to use at most; 0 means one per processor that the calling thread may run on, 1 the calling
    /// thread alone.
    pub threads: usize,
    pub progress: Option<Progress<'a>>,
}

/// Bytes at the start of a stream that [`inspect`] needs.
pub const INSPECT_BYTES: usize = container::HEADER_BYTES;

/// Bytes that hold the stream of any field with this configuration.
pub fn max_stream_bytes(request: &Request) -> u64 {
    container::max_stream_bytes(request.field_bytes())
}

/// Compresses a field into `dst`. The report's status is `BufferTooSmall` (and `required_bytes` says
/// what it takes) when `dst` is too short; nothing useful is in `dst` then.
///
/// `u` and `v` must cover the grid of the request and its halo.
pub fn compress<T: Real>(
    request: &Request,
    u: View<'_, T>,
    v: View<'_, T>,
    dst: &mut [u8],
    execution: Execution<'_>,
) -> Result<Report> {
    if request.config().dtype.bytes() as usize != T::BYTES {
        return Err(Error::argument(format!(
            "dtype = {:?} but u and v have elements of {} bytes",
            request.config().dtype,
            T::BYTES
        )));
    }
    u.check_covers("u", request.grid(), request.config().halo)?;
    v.check_covers("v", request.grid(), request.config().halo)?;
    let threads = Threads::new(execution.threads);
    let _reserve = Reserve::new()?;
    float_env::with_default(|| phases::compress(request, [u, v], dst, threads, execution.progress))
}

/// Decompresses a stream. `config` gives nx, ny and dtype, which must be those of the stream, and
/// whether the checksum is compared; the rest of it is ignored. `stream` may be longer than the
/// stream it begins with.
pub fn decompress<T: Real>(
    config: &Config,
    stream: &[u8],
    u: ViewMut<'_, T>,
    v: ViewMut<'_, T>,
    execution: Execution<'_>,
) -> Result<Report> {
    let header = Header::read(stream)?;
    if config.dtype.bytes() as usize != T::BYTES {
        return Err(Error::argument(format!(
            "dtype = {:?} but u and v have elements of {} bytes",
            config.dtype,
            T::BYTES
        )));
    }
    if header.dtype != config.dtype {
        return Err(Error::argument(format!(
            "dtype = {:?} but the stream holds {:?} values: give arrays of {} bytes for each value, and that dtype",
            config.dtype,
            header.dtype,
            header.dtype.bytes()
        )));
    }
    if (header.nx, header.ny) != (config.nx, config.ny) {
        return Err(Error::argument(format!(
            "nx = {} and ny = {} but the stream holds {} x {} vertices",
            config.nx, config.ny, header.nx, header.ny
        )));
    }
    if header.stream_bytes > stream.len() as u64 {
        return Err(Error::corrupt(format!(
            "the stream has {} bytes, its header says {}",
            stream.len(),
            header.stream_bytes
        )));
    }
    let stream = &stream[..header.stream_bytes as usize];
    u.check_covers("u", header.grid())?;
    v.check_covers("v", header.grid())?;
    if config.verify_checksum && !container::is_sealed(stream) {
        return Err(Error::corrupt(
            "the checksum does not match: the stream was damaged after it was written",
        ));
    }
    let threads = Threads::new(execution.threads);
    let _reserve = Reserve::new()?;
    float_env::with_default(|| phases::decompress(&header, stream, &[u, v], threads, execution.progress))
}

/// Reads the header of a stream from its first bytes ([`INSPECT_BYTES`] suffice).
pub fn inspect(stream: &[u8]) -> Result<StreamInfo> {
    Ok(Header::read(stream)?.info())
}
