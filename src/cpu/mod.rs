//! The codec on the threads of the host. Entry points check their arguments; `compress` and `decompress` are
//! the phases, and the files beside them run each phase over tiles or groups. The numerics are in `tile`,
//! `predict`, `topology` and `entropy`; results do not depend on the number of threads.

mod component;
mod compress;
mod decompress;
pub(crate) mod entropy;
mod lattice;
pub(crate) mod progress;
mod quantize;
mod reconstruct;
mod seam;
pub(crate) mod source;
pub(crate) mod statistics;
pub(crate) mod stored;

pub use progress::Progress;
pub use source::{ReadAt, Source};

use crate::error::{Error, Result};
use crate::grid::element::Real;
use crate::grid::field::{View, ViewMut};
use crate::grid::tiles::Grid;
use crate::report::{Report, StreamInfo};
use crate::request::{Component, Config, Request};
use crate::runtime::float_env;
use crate::runtime::memory::Reserve;
use crate::runtime::pool::Threads;
use crate::stream::checksum;
use crate::stream::header::{self, Header};
use crate::stream::region::Region;
use decompress::Job;
use reconstruct::Outputs;

/// How the host functions run.
#[derive(Clone, Copy, Default)]
pub struct Execution<'a> {
    /// Threads to use at most; 0 means one per processor that the calling thread may run on, 1 the calling
    /// thread alone.
    pub threads: usize,
    pub progress: Option<Progress<'a>>,
}

/// Bytes at the start of a stream that [`inspect`] needs.
pub const INSPECT_BYTES: usize = header::HEADER_BYTES;
/// As [`INSPECT_BYTES`], for the streams of volumes.
pub const VOLUME_INSPECT_BYTES: usize = header::VOLUME_HEADER_BYTES;

/// Bytes that hold the stream of any field with this configuration.
pub fn max_stream_bytes(request: &Request) -> u64 {
    header::max_stream_bytes(request.field_bytes())
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
    request.config().check_elements::<T>()?;
    u.check_covers("u", request.grid(), request.config().halo)?;
    v.check_covers("v", request.grid(), request.config().halo)?;
    let threads = Threads::new(execution.threads);
    let _reserve = Reserve::new()?;
    float_env::with_default(|| compress::compress(request, [u, v], dst, threads, execution.progress))
}

/// Decompresses a stream. Where it holds one component ([`split`]), only the array of that component is
/// given, and None in place of the other. `config` gives nx, ny, nz and dtype, which must be those of the
/// stream, and whether the checksum is compared; the rest of it is ignored. `stream` may be longer than the
/// stream it begins with.
pub fn decompress<'a, T: Real + 'a>(
    config: &Config,
    stream: &[u8],
    u: impl Into<Option<ViewMut<'a, T>>>,
    v: impl Into<Option<ViewMut<'a, T>>>,
    execution: Execution<'_>,
) -> Result<Report> {
    let header = Header::read_planes(stream)?;
    check_dtype::<T>(config, &header)?;
    let grid = header.grid();
    if (grid.nx, grid.ny, grid.nz) != (config.nx, config.ny, config.nz) {
        return Err(Error::argument(format!(
            "nx = {}, ny = {} and nz = {} but the stream holds {} x {} x {} vertices",
            config.nx, config.ny, config.nz, grid.nx, grid.ny, grid.nz
        )));
    }
    check_length(&header, stream.len() as u64)?;
    let stream = &stream[..header.stream_bytes as usize];
    let (u, v) = (u.into(), v.into());
    let outputs = outputs(&header, grid, [&u, &v])?;
    if config.verify_checksum && !checksum::is_sealed(stream) {
        return Err(Error::corrupt(
            "the checksum does not match: the stream was damaged after it was written",
        ));
    }
    let region = Region::whole(&header);
    // The checksum was compared before anything else was looked at.
    run(&header, region, false, Source::Memory(stream), outputs, execution)
}

/// Decompresses the region of a field whose first vertex is that of column `first[0]`, row `first[1]` and plane
/// `first[2]`. `config` gives its columns, rows and planes (nx, ny, nz) and dtype, which must be that of the
/// stream; the rest of it is ignored. Values are those of [`decompress`].
///
/// Of the stream only the header, the tables, and the groups of tiles that the region takes are read. The
/// checksum needs all bytes: it is compared only where all groups are read, and `config` asks for it. Without it
/// damage in a group is found if the group does not decode to its end; damage in numbers of the header is not.
///
/// In the report, `stream_bytes` are those that were read, `required_bytes` those of the whole stream, and
/// `exact_vertices` counts those of the tiles that the region touches.
pub fn decompress_region<'a, T: Real + 'a>(
    config: &Config,
    mut source: Source<'_>,
    first: [u64; 3],
    u: impl Into<Option<ViewMut<'a, T>>>,
    v: impl Into<Option<ViewMut<'a, T>>>,
    execution: Execution<'_>,
) -> Result<Report> {
    let length = source.length();
    let start = source.start(length.min(INSPECT_BYTES as u64))?;
    let header = Header::read_planes(&start)?;
    check_dtype::<T>(config, &header)?;
    check_length(&header, length)?;
    let region = Region::new(&header, first, [config.nx, config.ny, config.nz])?;
    let grid = Grid { nz: config.nz, ..Grid::new(config.nx, config.ny) };
    let (u, v) = (u.into(), v.into());
    let outputs = outputs(&header, grid, [&u, &v])?;
    let verify = config.verify_checksum;
    source.behind(&start, |source| run(&header, region, verify, source, outputs, execution))
}

/// Decompresses consecutive planes of a field, as [`decompress_region`] does: the nx and ny of `config` are those
/// of the stream, and its nz is the number of planes from `first` on.
pub fn decompress_planes<'a, T: Real + 'a>(
    config: &Config,
    mut source: Source<'_>,
    first: u64,
    u: impl Into<Option<ViewMut<'a, T>>>,
    v: impl Into<Option<ViewMut<'a, T>>>,
    execution: Execution<'_>,
) -> Result<Report> {
    let length = source.length();
    let grid = Header::read_planes(&source.start(length.min(INSPECT_BYTES as u64))?)?.grid();
    if (grid.nx, grid.ny) != (config.nx, config.ny) {
        return Err(Error::argument(format!(
            "nx = {} and ny = {} but the planes of the stream have {} x {} vertices",
            config.nx, config.ny, grid.nx, grid.ny
        )));
    }
    decompress_region(config, source, [0, 0, first], u, v, execution)
}

fn run<T: Real>(
    header: &Header,
    region: Region,
    verify_checksum: bool,
    source: Source<'_>,
    outputs: Outputs<'_, T>,
    execution: Execution<'_>,
) -> Result<Report> {
    let (threads, progress) = (Threads::new(execution.threads), execution.progress);
    let job = Job { header, region, verify_checksum, threads, progress };
    let _reserve = Reserve::new()?;
    float_env::with_default(|| decompress::decompress(&job, source, outputs))
}

/// The arrays for the components that a stream holds; refused if these are not the ones that were given.
fn outputs<'a, T: Real>(
    header: &Header,
    grid: Grid,
    [u, v]: [&'a Option<ViewMut<'a, T>>; 2],
) -> Result<Outputs<'a, T>> {
    let held = header.component;
    for (component, view) in [(Component::U, u), (Component::V, v)] {
        let name = component.name();
        match (view, held) {
            (Some(view), _) if held.is_none_or(|held| held == component) => view.check_covers(name, grid)?,
            (Some(_), Some(held)) => {
                return Err(Error::argument(format!(
                "{name} is an array, but the stream holds component {} alone: give that array, and none for \
                     {name}",
                held.name()
            )))
            }
            (None, held) if held.is_none_or(|held| held == component) => {
                return Err(Error::argument(match held {
                    None => format!("{name} is null: the stream holds both components"),
                    Some(_) => format!("{name} is null, but it is the component that the stream holds"),
                }))
            }
            _ => {}
        }
    }
    Ok([u.as_ref(), v.as_ref()])
}

pub(crate) fn check_dtype<T: Real>(config: &Config, header: &Header) -> Result<()> {
    config.check_elements::<T>()?;
    if header.dtype != config.dtype {
        return Err(Error::argument(format!(
            "dtype = {:?} but the stream holds {:?} values: give arrays of {} bytes for each value, and that dtype",
            config.dtype,
            header.dtype,
            header.dtype.bytes()
        )));
    }
    Ok(())
}

/// Refuses a stream of which there are too few bytes.
pub(crate) fn check_length(header: &Header, bytes: u64) -> Result<()> {
    if header.stream_bytes > bytes {
        return Err(Error::corrupt(format!(
            "the stream has {bytes} bytes, its header says {}",
            header.stream_bytes
        )));
    }
    Ok(())
}

/// Splits the stream of a field into those of u and of v, in `dst`: each is decompressed alone
/// ([`decompress`] with one array), to the values that it has in the field. The bounds and the critical
/// points are those of the field. [`join`] gives the stream of the field back.
///
/// The reports tell the bytes of the streams. Where one has the status `BufferTooSmall`, `required_bytes`
/// says what its stream takes, and nothing useful is in its part of `dst`. Both together take a little more
/// than the stream of the field.
pub fn split(stream: &[u8], dst: [&mut [u8]; 2], execution: Execution<'_>) -> Result<[Report; 2]> {
    let threads = Threads::new(execution.threads);
    let _reserve = Reserve::new()?;
    float_env::with_default(|| component::split(stream, dst, threads))
}

/// Joins the streams of u and of v that [`split`] made of one stream: to that stream, in `dst`. The status of
/// the report is `BufferTooSmall` (and `required_bytes` says what it takes) when `dst` is too short.
pub fn join(u: &[u8], v: &[u8], dst: &mut [u8], execution: Execution<'_>) -> Result<Report> {
    let threads = Threads::new(execution.threads);
    let _reserve = Reserve::new()?;
    float_env::with_default(|| component::join([u, v], dst, threads))
}

/// Reads the header of a stream from its first bytes ([`INSPECT_BYTES`] suffice).
pub fn inspect(stream: &[u8]) -> Result<StreamInfo> {
    Ok(Header::read(stream)?.info())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{BoundKind, Dtype, Mode, Predictor};

    /// Large values lie on the heap: the threads of the pool have small stacks, and those of hosts may have.
    #[test]
    fn many_threads_need_little_stack() {
        const STACK_BYTES: usize = 256 << 10;
        fn round_trips<T: Real>(dtype: Dtype) {
            let (nx, ny) = (1500u64, 1300u64);
            let wave = |a: f64, b: f64| -> Vec<T> {
                let at = |k: u64| (a * (k % nx) as f64).sin() + (b * (k / nx) as f64).cos();
                (0..nx * ny).map(|k| T::from_f64(at(k))).collect()
            };
            let (u, v) = (wave(0.021, 0.034), wave(0.043, 0.017));
            let execution = Execution { threads: 64, progress: None };
            let hierarchical = Config { dtype, ..Config::new(nx, ny, BoundKind::Relative, 1e-3) };
            let speculative = Config { mode: Mode::Speculative, ..hierarchical };
            let lorenzo = Config { predictor: Predictor::Lorenzo, ..hierarchical };
            for config in [hierarchical, speculative, lorenzo] {
                let request = Request::new(config).expect("valid");
                let mut stream = vec![0; max_stream_bytes(&request) as usize];
                let (mut u_out, mut v_out) = (u.clone(), v.clone());
                for _ in 0..5 {
                    let [u, v] = [&u, &v].map(|values| View::dense(values, nx));
                    let report = compress(&request, u, v, &mut stream, execution).expect("valid");
                    let stream = &stream[..report.stream_bytes as usize];
                    let [u, v] = [&mut u_out, &mut v_out].map(|values| ViewMut::dense(values, nx));
                    decompress(&config, stream, u, v, execution).expect("intact");
                }
            }
        }
        let caller = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(|| {
            round_trips::<f32>(Dtype::F32);
            round_trips::<f64>(Dtype::F64);
        });
        caller.expect("a thread").join().expect("no overflow");
    }
}
