//! Volumes on the threads of the host (docs/algorithm.md, section 14): three components on a grid of cubes.
//!
//! `layer` codes the field within the error bound, and `tune` chooses how. `compress` then repairs the vertices of
//! tetrahedra that changed, by the rounds of `repair`, and writes both; `decompress` reads them.

mod compress;
mod decompress;
mod layer;
pub(crate) mod tune;

use crate::cpu::{check_dtype, check_length, Execution, Source, VOLUME_INSPECT_BYTES};
use crate::error::{Error, Result};
use crate::grid::element::Real;
use crate::grid::field::{View, ViewMut};
use crate::grid::tiles::Grid;
use crate::report::Report;
use crate::request::{Config, VolumeRequest};
use crate::runtime::float_env;
use crate::runtime::memory::Reserve;
use crate::runtime::pool::Threads;
use crate::stream::checksum;
use crate::stream::header::{self, Header, VolumeFields};
use crate::stream::region::Region;
use decompress::Job;

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
    let (header, fields) = Header::read(stream)?.of_volume()?;
    check_dtype::<T>(config, &header)?;
    let grid = header.grid();
    if grid.sizes() != [config.nx, config.ny, config.nz] {
        return Err(Error::argument(format!(
            "nx = {}, ny = {} and nz = {} but the stream holds {} x {} x {} vertices",
            config.nx, config.ny, config.nz, grid.nx, grid.ny, grid.nz
        )));
    }
    check_length(&header, stream.len() as u64)?;
    check_views(grid, &components)?;
    let stream = &stream[..header.stream_bytes as usize];
    if config.verify_checksum && !checksum::is_sealed(stream) {
        return Err(Error::corrupt(
            "the checksum does not match: the stream was damaged after it was written",
        ));
    }
    // The checksum was compared before anything else was looked at.
    run(&header, &fields, (Region::whole(&header), false), Source::Memory(stream), &components, execution)
}

/// Decompresses the region of a volume whose first vertex is `first`, in x, y and z. `config` gives the vertices of
/// the region along each axis, 1 at least, and dtype, which must be that of the stream; the rest of it is ignored
/// but whether the checksum is compared. Values are those of [`decompress_volume`].
///
/// As [`crate::decompress_region`], with the vertices in `exact_vertices` of the report those of the region. Of the
/// list of repaired vertices the directory is read, and the chunks that have vertices of the region's tiles.
pub fn decompress_volume_region<T: Real>(
    config: &Config,
    mut source: Source<'_>,
    first: [u64; 3],
    components: [ViewMut<'_, T>; 3],
    execution: Execution<'_>,
) -> Result<Report> {
    let length = source.length();
    let start = source.start(length.min(VOLUME_INSPECT_BYTES as u64))?;
    let (header, fields) = Header::read(&start)?.of_volume()?;
    check_dtype::<T>(config, &header)?;
    check_length(&header, length)?;
    let region = Region::new(&header, first, [config.nx, config.ny, config.nz])?;
    check_views(Grid { nz: config.nz, ..Grid::new(config.nx, config.ny) }, &components)?;
    source.behind(&start, |source| {
        run(&header, &fields, (region, config.verify_checksum), source, &components, execution)
    })
}

fn check_views<T: Real>(grid: Grid, components: &[ViewMut<'_, T>; 3]) -> Result<()> {
    ["u", "v", "w"].into_iter().zip(components).try_for_each(|(name, view)| view.check_covers(name, grid))
}

fn run<T: Real>(
    header: &Header,
    fields: &VolumeFields,
    (region, verify_checksum): (Region, bool),
    source: Source<'_>,
    components: &[ViewMut<'_, T>; 3],
    execution: Execution<'_>,
) -> Result<Report> {
    let (threads, progress) = (Threads::new(execution.threads), execution.progress);
    let job = Job { header, fields, region, verify_checksum, threads, progress };
    let _reserve = Reserve::new()?;
    float_env::with_default(|| decompress::decompress(&job, source, components))
}
