//! The commands that measure configurations, and the demonstration.

use crate::options::*;
use crate::synthetic::Kind;
use clap::Args;
use factz::{Coder, Mode, Predictor, Ties};
use std::path::PathBuf;

/// Measures ratio, speed and changed critical points on a field, for every configuration and several bounds.
#[derive(Args)]
#[command(after_long_help = "\
Units: ratio is input bytes over stream bytes; MB/s are 10^6 bytes of input (u and v) per second, the median \
of --repeat runs in memory, without files. error/bound is the largest error over the bound: never above 1.
Critical points are counted as lost / spurious / of another type.

With --backend cuda the field is on the device, and the figures are GB/s (10^9 bytes of input per second) by \
events of the device: medians of at least 20 runs after 3, launched call by call and replayed as a CUDA graph, \
beside the speed of a plain copy of u and v on the device and of the comparison there. A table of the microseconds of each kernel follows.

A volume, U V W, is measured on the processor and, unless --backend is cpu, on the device. --mode and --predictor have no effect: volumes have one of each.

Exit status: 0 measured, and nothing is violated; 1 something is; 2 wrong usage, or a file that cannot be read.

Examples:
  factz bench u.f32 v.f32 --dims 360x181 --north-first
  factz bench u.npy v.npy --bounds 1e-2,1e-4 --threads 1,8 --repeat 5 --json
  factz bench u.f32 v.f32 w.f32 --dims 128x128x128 --backend auto
  factz bench --backend cuda --synthetic dense --dims 16384x16384")]
pub struct Bench {
    /// Horizontal component, or both components: raw little-endian, .npy or .npz; - is standard input
    #[arg(required_unless_present = "synthetic")]
    pub u: Option<PathBuf>,
    /// Vertical component; left out if U holds both
    pub v: Option<PathBuf>,
    /// Third component, of a volume
    #[arg(requires = "v")]
    pub w: Option<PathBuf>,
    #[command(flatten)]
    pub depth: DepthArguments,
    /// Measure a synthetic field of --dims values in place of files
    #[arg(long, value_enum, requires = "dims", conflicts_with_all = ["u", "v", "w"])]
    pub synthetic: Option<Kind>,
    /// Device to measure
    #[arg(long, value_enum, default_value = "cpu")]
    pub backend: BackendName,
    #[command(flatten)]
    pub shape: ShapeArguments,
    /// Relative bounds
    #[arg(long, value_name = "T,...", value_delimiter = ',', value_parser = parse_bound,
          default_value = "1e-1,1e-2,1e-3")]
    pub bounds: Vec<f64>,
    /// Thread counts; default: 1 and one per core
    #[arg(long, value_name = "N,...", value_delimiter = ',', value_parser = parse_size)]
    pub threads: Vec<usize>,
    /// Number of runs, of which the median counts
    #[arg(long, value_name = "N", value_parser = parse_size, default_value = "3")]
    pub repeat: usize,
    /// Only these modes
    #[arg(long, value_parser = choice(&Mode::NAMES, &MODES), value_delimiter = ',',
          default_value = "block,speculative")]
    pub mode: Vec<Mode>,
    /// Only these predictors
    #[arg(long, value_parser = choice(&Predictor::NAMES, &PREDICTORS), value_delimiter = ',',
          default_value = "hierarchical,lorenzo")]
    pub predictor: Vec<Predictor>,
    /// Only these coders
    #[arg(long, value_parser = choice(&Coder::NAMES, &CODERS), value_delimiter = ',',
          default_value = "ans,huffman")]
    pub coder: Vec<Coder>,
    #[command(flatten)]
    pub promise: Promise,
    #[command(flatten)]
    pub talk: Talk,
}

/// Measures rate and distortion over bounds and writes a report with plots and pictures.
///
/// All configurations and --preserve none are measured at every bound, and of planes zfp, SZ3 and SPERR as well if
/// Python has numpy, h5py and hdf5plugin. The directory gets index.html (one file with plots, pictures and
/// table), sweep.csv, sweep.md, field.png and comparison.png.
#[derive(Args)]
#[command(
    override_usage = "factz sweep [OPTIONS] -o <DIRECTORY> <U> <V>\n       \
factz sweep [OPTIONS] -o <DIRECTORY> <FIELD>\n       factz sweep [OPTIONS] -o <DIRECTORY> <U> <V> <W>",
    after_long_help = "\
Units: ratio is input bytes over stream bytes; bits/value are those of the stream for each value of u and v; MB/s are \
10^6 bytes of input per second, the median of --repeat runs in memory on --threads threads. Other compressors get the \
same absolute bound, compress u and v apart, and are timed with the HDF5 calls around them; their critical points are \
counted by factz. A field with missing values leaves them out. Of a stack every plane counts; other compressors get \
one plane after the other, and the pictures show the first one.

Volumes, U, V and W or a .npy or .npz with all of them, have one mode, and each coder is measured, without other \
compressors. The pictures show the plane in the middle along z with the points nearest to it.

Exit status: 0 measured, and every promise is kept; 1 one is not; 2 wrong usage, or a file that cannot be read or \
written.

Examples:
  factz sweep u.f32 v.f32 --dims 360x181 --north-first -o report
  factz sweep u.npy v.npy -o report --bounds 1e-2,1e-3,1e-4 --repeat 5 --no-peers
  factz sweep u.npy v.npy w.npy -o report --dz 0.5"
)]
pub struct Sweep {
    #[command(flatten)]
    pub field: FieldArguments,
    /// Third component, of a volume
    #[arg(requires = "v")]
    pub w: Option<PathBuf>,
    #[command(flatten)]
    pub depth: DepthArguments,
    #[command(flatten)]
    pub fill: FillArguments,
    /// Directory of the report; it is created if necessary
    #[arg(short, long, value_name = "DIRECTORY")]
    pub output: PathBuf,
    /// Relative bounds
    #[arg(long, value_name = "T,...", value_delimiter = ',', value_parser = parse_bound,
          default_value = "1e-1,3e-2,1e-2,3e-3,1e-3,3e-4,1e-4")]
    pub bounds: Vec<f64>,
    /// Number of runs, of which the median counts
    #[arg(long, value_name = "N", value_parser = parse_size, default_value = "3")]
    pub repeat: usize,
    /// Threads of factz; the others have one
    #[arg(long, value_name = "N", value_parser = parse_size, default_value = "1")]
    pub threads: usize,
    /// Leave out zfp, SZ3 and SPERR
    #[arg(long)]
    pub no_peers: bool,
    /// Python that has the modules of zfp, SZ3 and SPERR
    #[arg(long, value_name = "PROGRAM", default_value = "python3")]
    pub python: PathBuf,
    /// Promise for triangles whose zero lies on an edge or at a vertex
    #[arg(long, value_parser = choice(&Ties::NAMES, &TIES), default_value = "all")]
    pub ties: Ties,
    #[command(flatten)]
    pub look: Look,
    #[command(flatten)]
    pub spacing: SpacingArguments,
    #[command(flatten)]
    pub talk: Talk,
}

/// Compresses a real wind field, verifies it, and shows which critical points are kept or would be lost.
///
/// The field is built in: 10 m wind of the whole globe at one degree, 360 x 181 vertices, periodic along x, with
/// 1398 critical points. It is compressed in both modes and, for comparison, with --preserve none.
#[derive(Args)]
#[command(after_long_help = "\
The picture shows the wind after block-wise compression at 1e-2, and the same with --preserve none, with the critical \
points that are kept, lost, spurious or of another type, and enlarged where most differ.

Exit status: 0 everything is kept; 1 something is not; 2 the picture cannot be written.

Example:
  factz demo --picture wind.png")]
pub struct Demo {
    /// Output file of the picture (PNG); its directory is created if necessary
    #[arg(long, value_name = "FILE", default_value = "target/demo/wind_global.png")]
    pub picture: PathBuf,
    /// Threads; 0 means one per core
    #[arg(long, value_name = "N", value_parser = parse_threads, default_value = "0")]
    pub threads: usize,
    #[command(flatten)]
    pub talk: Talk,
}
