//! The commands that make streams, read them and look at them.

use crate::options::*;
use crate::region::PartArguments;
use crate::store::Format;
use clap::Args;
use factz::{Preserve, Ties};
use std::path::PathBuf;

/// Compresses a field, the arrays U and V, or a volume, U, V and W, into one stream.
///
/// Exactly one of --abs and --rel is required. Values that are NaN or infinite are stored bit for bit, and so
/// are vertices with the fill value, which do not count in the range.
#[derive(Args)]
#[command(after_long_help = "\
Units: --abs is in the unit of the field; --rel is a fraction of max(u, v) - min(u, v) over the finite values. \
The bound is never loosened. Of the spacing only the signs and the ratio DX to DY matter, and only for the types of \
critical points (saddle, node or focus, attracting or repelling). Weather and climate files mostly begin with the northernmost \
row: --north-first keeps the types that the flow has on the map. Seconds and MB/s are those of the work in memory, without \
files; on a CUDA device they include the copies there and back.

Three files are the components of a volume, whose mode is repair. With --mode repair one file holds them: .npy of shape \
(3, NZ, NY, NX) or (NZ, NY, NX, 3), .npz with u, v and w, or raw u, v and then w.

--append writes behind the streams of OUT, which must be whole. An error or an interrupt gives OUT its former content \
back; kill -9 or a power cut may leave a stream that is cut off, behind the others, which stay readable with --step. \
Commands that append to one file at the same time wait for each other.

Exit status: 0 the stream is complete; 2 it is not, and an older OUT is unchanged, or the report alone cannot be \
written.

Examples:
  factz compress u.f32 v.f32 -o wind.fz --dims 360x181 --north-first --rel 1e-2
  factz compress u.npy v.npy -o flow.fz --abs 0.05 --mode speculative --backend cuda
  factz compress flow.npz --keys vx,vy -o flow.fz --abs 0.05
  factz compress uo.npy vo.npy -o ocean.fz --rel 1e-3 --fill-value 9.96921e36
  solver | factz compress - -o - --dims 512x512 --rel 1e-3 | ssh host 'cat > flow.fz'
  factz compress u.f64 v.f64 -o run.fz --dims 4096x2048 --dtype f64 --rel 1e-4 --spacing 1,0.5 --json
  factz compress uo.npy vo.npy -o year.fz --dims 360x180x365 --abs 0.02 --north-first --periodic x
  factz compress u.npy v.npy w.npy -o flow3d.fz --rel 1e-2
  factz compress uvw.npy -o flow3d.fz --rel 1e-2 --mode repair     # (3, NZ, NY, NX) or (NZ, NY, NX, 3)
  for t in 00 06 12 18; do factz compress u$t.npy v$t.npy -o day.fz --append --abs 0.05; done")]
pub struct Compress {
    #[command(flatten)]
    pub field: FieldArguments,
    /// Third component, of a volume of NX x NY x NZ vertices
    pub w: Option<PathBuf>,
    #[command(flatten)]
    pub depth: DepthArguments,
    /// The stream to write; - is standard output
    #[arg(short, long, value_name = "OUT")]
    pub output: PathBuf,
    /// Add the stream to those that OUT holds; OUT need not exist
    #[arg(long)]
    pub append: bool,
    #[command(flatten)]
    pub bound: BoundArguments,
    #[command(flatten)]
    pub fill: FillArguments,
    #[command(flatten)]
    pub choices: Choices,
    #[command(flatten)]
    pub place: Place,
    #[command(flatten)]
    pub talk: Talk,
}

/// Restores a field, the arrays U and V, or a volume, U, V and W, from a stream.
#[derive(Args)]
#[command(
    override_usage = "factz decompress [OPTIONS] <STREAM> <U> <V>\n       factz decompress [OPTIONS] <STREAM> <FIELD>\n       \
factz decompress [OPTIONS] <STREAM> <U> <V> <W>",
    after_long_help = "\
The stream contains shape and type. Of a file of several streams --step names one; bytes behind the last one that are no \
stream are an error. The endings of the file names tell their format (--format overrules them): .npy, \
.npz, or raw little-endian values. One file, FIELD, takes both components: as u and then v, as an array of shape \
(2, NY, NX) in .npy, as the arrays u and v in .npz. A stream of one component (`factz split`) has one array, for \
FIELD: (NY, NX) in .npy, the array u or v in .npz; the processor does the work. A volume has three components: U, V and W, \
or FIELD with (3, NZ, NY, NX) in .npy, u, v and w in .npz, and u, v and then w as raw values. Planes of a stack follow each other, with one axis more in front of \
NY. On standard output the values are raw unless --format says \
otherwise.

With --region the outputs take a rectangle of the field, of each plane of a stack, and with --planes some of its planes, \
with the values of the whole decompression. Of a regular file only the header, the tables and the groups of this part are \
read, and the report says how many bytes these are; the \
processor does the work. The checksum needs all bytes and is not compared unless the part takes all groups: `factz \
test` checks the whole stream.

Both files are complete and on the disk before either replaces an older one; if the second replacement fails, the \
first one is undone.

Exit status: 0 both arrays are written; 2 neither is touched (a damaged stream is found by its checksum).

Examples:
  factz decompress wind.fz u2.f32 v2.f32
  factz decompress flow.fz flow.npz --backend cpu --threads 8
  factz decompress flow.fz - --format npy | python3 plot.py
  factz decompress day.fz last.npz --step -1
  factz decompress ocean.fz window.npz --region 1200,800,512x256
  factz decompress year.fz july.npz --planes 181:212
  factz decompress flow3d.fz u.npy v.npy w.npy
  factz decompress flow3d.fz box.npy --planes 0:16 --region 100,200,64x64
  factz decompress flow3d.fz uvw.npy"
)]
pub struct Decompress {
    /// The stream; - is standard input
    #[arg(value_name = "STREAM")]
    pub input: PathBuf,
    /// Output file of the horizontal component, or of both; - is standard output
    pub u: PathBuf,
    /// Output file of the vertical component
    pub v: Option<PathBuf>,
    /// Output file of the third component of a volume
    pub w: Option<PathBuf>,
    #[command(flatten)]
    pub step: StepArgument,
    /// Format of the output files; default: by the endings of their names
    #[arg(long, value_enum)]
    pub format: Option<Format>,
    #[command(flatten)]
    pub part: PartArguments,
    #[command(flatten)]
    pub place: Place,
    #[command(flatten)]
    pub talk: Talk,
}

/// Compares a field with its reconstruction: critical points, values, bound.
///
/// All signs are exact, without a tolerance. The report counts critical points that are lost, spurious or of
/// another type or index, degenerate triangles that changed (--ties), NaN and infinities that changed, and
/// with --abs or --rel values that differ by more than the bound. What --preserve does not promise is told
/// and is no violation.
#[derive(Args)]
#[command(
    override_usage = "factz verify [OPTIONS] <U0> <V0> <U1> <V1>\n       \
factz verify [OPTIONS] <FIELD0> <FIELD1>\n       factz verify [OPTIONS] <U0> <V0> <STREAM>\n       \
factz verify [OPTIONS] <U0> <V0> <W0> <U1> <V1> <W1>\n       factz verify [OPTIONS] <U0> <V0> <W0> <STREAM>",
    after_long_help = "\
A stream may take the place of the reconstruction. Its header then says what was not given: shape and type, \
the bound, the fill value, the spacing, --preserve and --ties. With arrays give these options as in `factz compress`.

Six arrays, or three and a stream, are two volumes, whose tetrahedra are compared on the processor. A file with all \
components takes the place of three.

A vertex with data that is NaN or infinite in the reconstruction is a violation, and the report names the first one \
(lost_vertices and first_lost_vertex with --json). NaN, infinity and the fill value must stay, bit for bit; their \
triangles or tetrahedra are not compared.

Whole fields are compared, since critical points at the border of a part depend on its neighbours. Of planes of a stack, \
which are fields of their own, compare the arrays that `factz decompress --planes` makes.

With --json, violations counts what --preserve does not allow; comparison.violations counts for --preserve types.

Exit status: 0 everything is kept; 1 something is not, and the report says what; 2 wrong usage, or a file \
that cannot be read.

Examples:
  factz verify u.f32 v.f32 u2.f32 v2.f32 --dims 360x181 --north-first --rel 1e-2
  factz verify u.f32 v.f32 wind.fz
  factz verify u06.npy v06.npy day.fz --step 1
  factz verify flow.npz flow2.npz --abs 0.05
  factz verify u.npy v.npy w.npy volume.fz
  factz verify uvw.npy volume.fz
  factz verify u.npy v.npy flow2.npz --abs 0.05
  factz decompress flow.fz - | factz verify flow.npy - --abs 0.05"
)]
pub struct Verify {
    /// Components of the original and of the reconstruction; a file with both components takes the place of
    /// two, and a stream that of the reconstruction; - is standard input (no stream)
    #[arg(required = true, num_args = 1.., value_names = ["U0", "V0", "U1", "V1"])]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub shape: ShapeArguments,
    #[command(flatten)]
    pub step: StepArgument,
    #[command(flatten)]
    pub bound: BoundArguments,
    #[command(flatten)]
    pub fill: FillArguments,
    #[command(flatten)]
    pub spacing: SpacingArguments,
    #[command(flatten)]
    pub depth: DepthArguments,
    /// Promise besides the error bound; default: as the stream says, otherwise types
    #[arg(long, value_parser = choice(&Preserve::NAMES, &PRESERVED))]
    pub preserve: Option<Preserve>,
    /// Promise for triangles whose zero lies on an edge or at a vertex; default: as the stream says,
    /// otherwise all
    #[arg(long, value_parser = choice(&Ties::NAMES, &TIES))]
    pub ties: Option<Ties>,
    #[command(flatten)]
    pub place: Place,
    #[command(flatten)]
    pub talk: Talk,
}

/// Tests streams for damage by decoding them, without writing anything.
///
/// The header, the checksum and every part of a stream are checked, and that a file ends with a stream. A
/// file may hold several; --step tests one. Each stream gets a line: a good one on standard output, a damaged
/// one on standard error, where bytes that are no stream get one too.
#[derive(Args)]
#[command(after_long_help = "\
Where a stream is cut off, or bytes follow that are no stream, the test of the file ends with an error that says at which \
byte, and how to get at the streams behind that place if there are any.

With --json the result of each stream is good, damaged, surplus (a good stream, followed by bytes that are none) or \
untested.

Exit status: 0 all streams are good; 1 one or more are damaged, cut off, no streams, or followed by bytes that are none; 2 \
one or more cannot be read or tested.

Examples:
  factz test wind.fz
  factz test --quiet archive/*.fz && echo all good")]
pub struct Test {
    /// The streams; - is standard input
    #[arg(required = true, value_name = "STREAM")]
    pub streams: Vec<PathBuf>,
    #[command(flatten)]
    pub step: StepArgument,
    #[command(flatten)]
    pub place: Place,
    #[command(flatten)]
    pub talk: Talk,
}

/// Shows the header of a stream or of a fix, or lists the streams of a file.
///
/// The list has a line for each stream: its number, its first byte, its bytes, columns x rows (x planes) and
/// type, the bound as it was given, and the absolute bound. --step shows the whole header of one.
#[derive(Args)]
#[command(after_long_help = "\
Only headers are read, 128 bytes of each stream (176 of a volume); `factz test` checks whole streams. If the file does not end with a whole \
stream, an error follows the report: it says at which byte a stream is cut off, damaged or none, and how to get at the \
others. A stream whose end is missing is listed if its header is there. With --json missing_bytes are those that the file \
lacks (null if the header is cut off), surplus_bytes those behind the streams before the error; streams has the header of \
each stream with step and offset; those of a single stream stand beside it as well.

Exit status: 0 the file holds whole streams and nothing else, or the stream of --step; 2 it does not, or it cannot be read.

Examples:
  factz info wind.fz --json
  factz info day.fz
  factz info day.fz --step -1")]
pub struct Info {
    /// The stream; - is standard input
    #[arg(value_name = "STREAM")]
    pub input: PathBuf,
    #[command(flatten)]
    pub step: StepArgument,
    #[command(flatten)]
    pub talk: Talk,
}

/// Splits a stream into two, of u alone and of v alone.
///
/// Each is decompressed alone, to the values that the stream of both gives: nothing is quantised again, and
/// the bound and the critical points are those of the field. `factz join` makes the stream of both of them
/// again, byte for byte.
#[derive(Args)]
#[command(after_long_help = "\
All streams of a file are split, and the outputs hold as many; with --step they hold one. Both together are larger than \
the streams of both, by 5 to 12 % on wind, since each repeats what u and v share.

`factz decompress`, `factz info` and `factz test` take such streams. Commands that look at critical points need both \
components: join the streams first, or give the arrays. The streams of volumes are not split: `factz decompress` writes \
an array for each of their components.

Both files are complete and on the disk before either replaces an older one; if the second replacement fails, the \
first one is undone.

Exit status: 0 both files are written; 2 neither is touched (a damaged stream is found by its checksum).

Examples:
  factz split wind.fz u.fz v.fz
  factz decompress u.fz u.npy
  factz split day.fz u.fz v.fz --step -1")]
pub struct Split {
    /// The stream, or a file of several; - is standard input
    #[arg(value_name = "STREAM")]
    pub input: PathBuf,
    /// Output file of the stream of u; - is standard output
    pub u: PathBuf,
    /// Output file of the stream of v; - is standard output
    pub v: PathBuf,
    #[command(flatten)]
    pub step: StepArgument,
    /// Threads; 0 means one per core
    #[arg(long, value_name = "N", value_parser = parse_threads, default_value = "0")]
    pub threads: usize,
    #[command(flatten)]
    pub talk: Talk,
}

/// Joins the streams of u alone and of v alone to the stream of both.
///
/// The two must have been split from the same stream: each holds a number that tells.
#[derive(Args)]
#[command(after_long_help = "\
All streams of two files are joined, the first one of U with the first one of V and so on; with --step one of each is.

Exit status: 0 the stream is complete; 2 it is not, and an older OUT is unchanged.

Examples:
  factz join u.fz v.fz -o wind.fz
  factz join u.fz v.fz -o - | factz info -")]
pub struct Join {
    /// The stream of u, or a file of several; - is standard input
    pub u: PathBuf,
    /// The stream of v, or a file of several; - is standard input
    pub v: PathBuf,
    /// The stream to write; - is standard output
    #[arg(short, long, value_name = "OUT")]
    pub output: PathBuf,
    #[command(flatten)]
    pub step: StepArgument,
    /// Threads; 0 means one per core
    #[arg(long, value_name = "N", value_parser = parse_threads, default_value = "0")]
    pub threads: usize,
    #[command(flatten)]
    pub talk: Talk,
}
