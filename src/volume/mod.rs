//! Volumes on the threads of the host (docs/algorithm.md, section 14): three components on a grid of cubes.
//!
//! `layer` codes the field within the error bound, and `tune` chooses how. `compress` then repairs the vertices of
//! tetrahedra that changed, by the rounds of `repair`, and writes both; `decompress` reads them.

mod compress;
mod decompress;
mod layer;
pub(crate) mod tune;

use crate::cpu::Execution;
use crate::error::{Error, Result};
use crate::grid::element::Real;
use crate::grid::field::{View, ViewMut};
use crate::report::Report;
use crate::request::{Config, VolumeRequest};
use crate::runtime::float_env;
use crate::runtime::memory::Reserve;
use crate::runtime::pool::Threads;
use crate::stream::header::{self, Header};

/// Bytes that hold the stream of any volume with this configuration.
pub fn max_volume_stream_bytes(request: &VolumeRequest) -> u64 {
    header::max_volume_stream_bytes(request.field_bytes())
}

/// Compresses a volume into `dst`; otherwise as [`crate::compress()`]. The views hold its planes one after another,
/// with the ghosts of the sides in `halo`.
pub fn compress_volume<T: Real>(
    request: &VolumeRequest,
    components: [View<'_, T>; 3],
    dst: &mut [u8],
    execution: Execution<'_>,
) -> Result<Report> {
    let config = request.config();
    config.check_elements::<T>()?;
    for (name, view) in ["u", "v", "w"].into_iter().zip(&components) {
        view.check_covers(name, request.grid(), config.halo)?;
    }
    let threads = Threads::new(execution.threads);
    let _reserve = Reserve::new()?;
    float_env::with_default(|| compress::compress(request, components, dst, threads, execution.progress))
}

/// Decompresses the stream of a volume. `config` gives nx, ny, nz and dtype, which must be those of the stream,
/// and whether the checksum is compared; the rest of it is ignored. `stream` may be longer than the stream it
/// begins with.
pub fn decompress_volume<T: Real>(
    config: &Config,
    stream: &[u8],
    components: [ViewMut<'_, T>; 3],
    execution: Execution<'_>,
) -> Result<Report> {
    config.check_elements::<T>()?;
    let (header, fields) = Header::read(stream)?.of_volume()?;
    let grid = header.grid();
    if header.dtype != config.dtype {
        return Err(Error::argument(format!(
            "dtype = {:?} but the stream holds {:?} values",
            config.dtype, header.dtype
        )));
    }
    if grid.sizes() != [config.nx, config.ny, config.nz] {
        return Err(Error::argument(format!(
            "nx = {}, ny = {} and nz = {} but the stream holds {} x {} x {} vertices",
            config.nx, config.ny, config.nz, grid.nx, grid.ny, grid.nz
        )));
    }
    for (name, view) in ["u", "v", "w"].into_iter().zip(&components) {
        view.check_covers(name, grid)?;
    }
    let threads = Threads::new(execution.threads);
    let _reserve = Reserve::new()?;
    let source = decompress::Source { header, fields, stream, verify_checksum: config.verify_checksum };
    float_env::with_default(|| source.decompress(&components, threads, execution.progress))
}
