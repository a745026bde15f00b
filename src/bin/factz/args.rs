//! The commands and their arguments, with the text of `--help`. Options that several share: options.rs.

use crate::array::{parse_plane, Dims};
use crate::fix_args::{Apply, Protect};
use crate::options::*;
use crate::point_list::ListFormat;
use crate::region::{Planes, Region};
use crate::store::Format;
use crate::synthetic::Kind;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use factz::{Coder, Dtype, Mode, Predictor, Preserve, Ties};
use std::path::PathBuf;

/// Compresses 2D vector fields within an error bound and keeps every critical point.
#[derive(Parser)]
#[command(
    name = "factz",
    version,
    disable_help_subcommand = true,
    after_long_help = "\
Fields:
  A field is two arrays, u and v, in two files or both in one. The ending of a file name tells its format: .npy and \
.npz are NumPy's and contain shape and type; all others are raw little-endian values, row by row, x fastest: --dims \
NXxNY means NX columns and NY rows, and the value at (x, y) is number y * NX + x. NXxNYxNZ is a stack of NZ planes, \
one behind the other, such as times or levels: fields of their own that are compressed into one stream, with one bound. \
In .npy it is an array of shape (NZ, NY, NX).
  One file holds both components as u and then v (raw, or .npy of shape (2, NY, NX)), side by side (.npy of shape \
(NY, NX, 2)), or as the arrays u and v of a .npz (other names: --keys).
  - is standard input or output; a file of that name is ./-. The first bytes of standard input, and of a pipe, tell its \
format. With --dims a raw input ends with the field: nothing is read behind it, and bytes that follow in a file or pipe \
are an error. If data goes to standard output, the report goes to standard error.
  Files of other formats (HDF5, netCDF, GRIB, VTK, Zarr, ADIOS2, MATLAB, text) are not read; the error names a command \
that makes a .npy of their values.

Critical points:
  Every grid cell is cut into two triangles along the diagonal from (x, y) to (x+1, y+1). A triangle has a critical \
point if the linearly interpolated vector is zero in its interior. A zero at a vertex or on an edge is a critical point \
if there are no other zeros beside it. After decompression each critical point is in the same triangle, or at the \
same vertex or edge, with the same type or index, and there are no others; no value differs by more than the bound.

Devices:
  The commands on fields run on the first CUDA device (--backend auto), with the same results as on the processor. \
The processor does the work if there is no device, or not enough memory on it. --backend cuda insists on the device; \
CUDA_VISIBLE_DEVICES chooses among several.

Several streams in one file:
  Streams may follow each other, as the time steps of a simulation or the blocks of a domain do: `cat a.fz b.fz > all.fz` \
makes such a file, and `factz compress --append` adds to one. They have numbers from 0 on. `factz info` lists them, \
`factz test` tests all. Commands that read one stream take its number, --step K; -1 is the last one. Without it several \
streams are an error. So are bytes that are no stream, behind the last one. If the last stream is cut off, the others can \
be read with --step. Standard input is read to its end.

Files:
  An output appears under its name when it is complete and on the disk. An error, an interrupt or a lack of memory \
leaves what was there before, and no temporary file. It is written in the directory of the output, which must be \
writable. A replaced file hands down its permissions and, as far as the user may, its owner and group; the file \
behind a symbolic link is replaced or made, not the link. `factz compress --append` writes in place instead.

Exit status:
  0  done
  1  verify, bench or demo found a violation, or test found a damaged stream
  2  wrong usage, a file or standard output that cannot be read, written or understood, not enough memory, or \
--backend cuda without a device
  130, 143  interrupted, terminated

Examples:
  factz compress u.f32 v.f32 -o wind.fz --dims 360x181 --north-first --rel 1e-2
  factz decompress wind.fz u2.f32 v2.f32
  factz verify u.f32 v.f32 u2.f32 v2.f32 --dims 360x181 --north-first --rel 1e-2
  factz info wind.fz"
)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    Compress(Compress),
    Decompress(Decompress),
    Verify(Verify),
    Protect(Protect),
    Apply(Apply),
    Test(Test),
    Info(Info),
    Points(Points),
    Diff(Diff),
    Render(Render),
    Bench(Bench),
    Sweep(Sweep),
    Demo(Demo),
    H5args(H5args),
    Completions(Completions),
    Man(Man),
}

impl Command {
    /// The form of the report; none for commands that print nothing else.
    pub fn talk(&self) -> Option<&Talk> {
        match self {
            Command::Compress(a) => Some(&a.talk),
            Command::Decompress(a) => Some(&a.talk),
            Command::Verify(a) => Some(&a.talk),
            Command::Protect(a) => Some(&a.talk),
            Command::Apply(a) => Some(&a.talk),
            Command::Test(a) => Some(&a.talk),
            Command::Info(a) => Some(&a.talk),
            Command::Points(a) => Some(&a.talk),
            Command::Diff(a) => Some(&a.talk),
            Command::Render(a) => Some(&a.talk),
            Command::Bench(a) => Some(&a.talk),
            Command::Sweep(a) => Some(&a.talk),
            Command::Demo(a) => Some(&a.talk),
            Command::H5args(_) | Command::Completions(_) | Command::Man(_) => None,
        }
    }
}

/// Compresses a field, the arrays U and V, into one stream.
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
  for t in 00 06 12 18; do factz compress u$t.npy v$t.npy -o day.fz --append --abs 0.05; done")]
pub struct Compress {
    #[command(flatten)]
    pub field: FieldArguments,
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

/// Restores a field, the arrays U and V, from a stream.
#[derive(Args)]
#[command(
    override_usage = "factz decompress [OPTIONS] <STREAM> <U> <V>\n       factz decompress [OPTIONS] <STREAM> <FIELD>",
    after_long_help = "\
The stream contains shape and type. Of a file of several streams --step names one; bytes behind the last one that are no \
stream are an error. The endings of the file names tell their format (--format overrules them): .npy, \
.npz, or raw little-endian values. One file, FIELD, takes both components: as u and then v, as an array of shape \
(2, NY, NX) in .npy, as the arrays u and v in .npz. Planes of a stack follow each other, with one axis more in front of \
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
  factz decompress year.fz july.npz --planes 181:212"
)]
pub struct Decompress {
    /// The stream; - is standard input
    #[arg(value_name = "STREAM")]
    pub input: PathBuf,
    /// Output file of the horizontal component, or of both; - is standard output
    pub u: PathBuf,
    /// Output file of the vertical component
    pub v: Option<PathBuf>,
    #[command(flatten)]
    pub step: StepArgument,
    /// Format of the output files; default: by the endings of their names
    #[arg(long, value_enum)]
    pub format: Option<Format>,
    /// Decompress a rectangle alone: its first column and row, counted from 0, and its columns and rows
    #[arg(long, value_name = "X,Y,WxH")]
    pub region: Option<Region>,
    /// Decompress some planes of a stack alone: one, or those from A on up to B, counted from 0; -1 is the last
    /// one, and A or B may be left out
    #[arg(long, value_name = "K|A:B", allow_hyphen_values = true)]
    pub planes: Option<Planes>,
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
factz verify [OPTIONS] <FIELD0> <FIELD1>\n       factz verify [OPTIONS] <U0> <V0> <STREAM>",
    after_long_help = "\
A stream may take the place of the reconstruction. Its header then says what was not given: shape and type, \
the bound, the fill value, the spacing, --preserve and --ties. With arrays give these options as in `factz compress`.

With --json, violations counts what --preserve does not allow; comparison.violations counts for --preserve types.

Exit status: 0 everything is kept; 1 something is not, and the report says what; 2 wrong usage, or a file \
that cannot be read.

Examples:
  factz verify u.f32 v.f32 u2.f32 v2.f32 --dims 360x181 --north-first --rel 1e-2
  factz verify u.f32 v.f32 wind.fz
  factz verify u06.npy v06.npy day.fz --step 1
  factz verify flow.npz flow2.npz --abs 0.05
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
/// one on standard error.
#[derive(Args)]
#[command(after_long_help = "\
With --json the result of each stream is good, damaged, surplus (a good stream, followed by bytes that are none) or \
untested.

Exit status: 0 all streams are good; 1 one or more are damaged, no streams, or followed by bytes that are none; 2 one or more \
cannot be read or tested.

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
Only headers are read, 128 bytes of each stream; `factz test` checks whole streams. If the end of the last stream is \
missing, the report says so, with the number of bytes. Bytes behind the last stream that are none are an error behind the \
report, which says where they begin and how to cut them off. With --json these numbers are missing_bytes and \
surplus_bytes, and streams has the header of each stream with step and offset; those of a single stream stand beside it \
as well.

Exit status: 0 the file holds streams; 2 it holds none, or something else behind them, or it cannot be read.

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

/// Lists the critical points of a field: place, type, index, eigenvalues.
///
/// Columns: x, y (position: grid coordinates times the spacing, with its signs), cell_x, cell_y (cell), cell_z
/// (plane, 0 without planes), simplex, point_type, index (Poincare: -1 of a saddle), rounding_divergence, and
/// the eigenvalues of the Jacobian, real and imaginary parts.
#[derive(Args)]
#[command(
    override_usage = "factz points [OPTIONS] <U> <V>\n       factz points [OPTIONS] <FIELD>\n       \
factz points [OPTIONS] <STREAM>",
    after_long_help = "\
The simplex of a point in cell (x, y) is the triangle lower or upper (of the cell, cut from (x, y) to (x+1, y+1)), the \
edge from (x, y) that is called edge_x, edge_y or diagonal, or its vertex. Types inside triangles: saddle, \
attracting_node, repelling_node, attracting_focus, repelling_focus, center; otherwise vertex_zero or edge_zero, where \
the index tells a vortex, a source or a sink (1) from a saddle (-1), without eigenvalues (NaN). The index is empty at \
the border and beside missing vertices. Zeros side by side (coasts, walls, a segment of zeros) are no points, and \
triangles with a NaN or infinite vertex have none. An island of one vertex is a zero alone and is listed; if land is \
no point of the flow, name it as missing (--fill-value 0, or NaN). A zero vertex without a complete triangle around \
it is not listed. Types are exact, eigenvalues rounded. A focus with rounding_divergence 1 has a divergence at the \
level of rounding: it may be a centre in truth.

With --json the object counts the points of each type, and the list goes to -o alone. A stream in place of the arrays \
is decoded (of several in one file the one that --step names); its header tells shape, type, fill value and spacing.

With --periodic the cells between the last and the first column or row hold points too; they have the cell_x or cell_y \
of the last one.

The ending of -o tells the format: .json, .vtp, otherwise CSV. In .vtp each point is a vertex of a VTK PolyData with \
the same columns as arrays, for ParaView and PyVista; its third coordinate is the plane; the numbers of types and simplices are in the field data, no \
index is -100, and no eigenvalue is 0.

Exit status: 0 the list is complete; 2 it is not.

Examples:
  factz points u.f32 v.f32 --dims 360x181 --north-first
  factz points u.npy v.npy -o points.csv --spacing 0.25,0.25
  factz points wind.fz -o points.vtp"
)]
pub struct Points {
    #[command(flatten)]
    pub field: SourceArguments,
    #[command(flatten)]
    pub step: StepArgument,
    #[command(flatten)]
    pub fill: FillArguments,
    /// Output file of the list; default, and -: standard output
    #[arg(short, long, value_name = "LIST")]
    pub output: Option<PathBuf>,
    /// Format of the list; default: by the ending of its name, otherwise csv
    #[arg(long, value_enum)]
    pub format: Option<ListFormat>,
    #[command(flatten)]
    pub spacing: SpacingArguments,
    #[command(flatten)]
    pub place: Place,
    #[command(flatten)]
    pub talk: Talk,
}

/// Lists the critical points in which two fields differ.
///
/// Columns: fate (lost: in the first field alone; spurious: in the other alone; changed: of another type or
/// index), x, y, cell_x, cell_y, cell_z, simplex as in `factz points`, point_type_before, point_type_after,
/// index_before, index_after.
#[derive(Args)]
#[command(
    override_usage = "factz diff [OPTIONS] <U0> <V0> <U1> <V1>\n       factz diff [OPTIONS] <FIELD0> <FIELD1>\n       \
factz diff [OPTIONS] <U0> <V0> <STREAM>",
    after_long_help = "\
A point is kept if the same triangle, edge or vertex has one of the same type and index in the other field. `factz verify` compares values, \
ties and missing data as well, without a list. The ending of -o tells the format: .json, otherwise CSV.

Exit status: 0 no point differs; 1 some do; 2 wrong usage, or a file that cannot be read or written.

Examples:
  factz diff u.f32 v.f32 u2.f32 v2.f32 --dims 360x181 --north-first
  factz diff u.npy v.npy wind.fz -o differences.json"
)]
pub struct Diff {
    /// Components of the two fields; a file with both components takes the place of two, and a stream that of
    /// the other field; - is standard input (no stream)
    #[arg(required = true, num_args = 1.., value_names = ["U0", "V0", "U1", "V1"])]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub shape: ShapeArguments,
    #[command(flatten)]
    pub step: StepArgument,
    #[command(flatten)]
    pub fill: FillArguments,
    /// Output file of the list; default, and -: standard output
    #[arg(short, long, value_name = "LIST")]
    pub output: Option<PathBuf>,
    /// Format of the list; default: by the ending of its name, otherwise csv
    #[arg(long, value_parser = table_format())]
    pub format: Option<ListFormat>,
    #[command(flatten)]
    pub spacing: SpacingArguments,
    #[command(flatten)]
    pub place: Place,
    #[command(flatten)]
    pub talk: Talk,
}

/// Draws a field: flow, speed and critical points, alone or beside its reconstruction.
///
/// The texture (line integral convolution) runs along the flow, arrows tell its direction, and the colour is
/// the speed. Marks are the critical points by type. With --compare they are marked by their fate: kept, lost
/// (in the original alone), spurious (in the reconstruction alone) or of another type; a second row shows a
/// part of both fields enlarged.
#[derive(Args)]
#[command(
    override_usage = "factz render [OPTIONS] -o <PNG> <U> <V>\n       factz render [OPTIONS] -o <PNG> <FIELD>\n       \
factz render [OPTIONS] -o <PNG> <STREAM>\n       factz render [OPTIONS] -o <PNG> --compare <U0> <V0> <U1> <V1>\n       \
factz render [OPTIONS] -o <PNG> --compare <U0> <V0> <STREAM>",
    after_long_help = "\
Place: vertex (x, y) lies at (x DX, y DY), and y grows upwards. Row 0 is at the bottom, or at the top where DY is \
negative (--north-first, or a stream that says so); --origin overrules this. The axes count columns and rows where \
these are 1 or -1 apart; otherwise they have the coordinates x DX and y DY. --zoom takes columns and rows.

Colours: the scale ends at the speed that 0.5 % of the area exceeds, unless --speed-range says otherwise; with --log it \
begins at the speed that 0.5 % of the area is below, but at most four decades below its end. What is slower or faster has \
the colour of the end, the bar ends in a tip there, and the legend tells how slow or fast it is. In a comparison both fields have one scale. \
Vertices that are zero or hold no data are grey. The background of a large field is the mean of the vertices below a \
pixel.

Marks: the legend counts the points of the whole field, for each panel where they differ. Where there are too many \
points a mark stands for several that are alike and close to each other; the legend says for how many. Points that are \
lost, spurious or of another type are left out last. The sizes of text and marks follow --width.

With --json the object tells the panels (left, top, width, height in pixels; window: the columns and rows x0, y0, x1, \
y1; row_0: bottom or top; marks: count, number drawn, colour; arrows: x, y of tail and tip in pixels), the legend and \
the scale.

Exit status: 0 the picture is written; 2 it is not.

Examples:
  factz render u.f32 v.f32 --dims 360x181 --north-first -o wind.png
  factz render wind.fz -o wind.png --width 3000 --speed-range 0,25
  factz render ocean.fz -o ocean.png --log --speed-range 0.01,2
  factz render --compare u.npy v.npy wind.fz -o compared.png --zoom 40,20,60,30"
)]
pub struct Render {
    /// Components of a field, or of two with --compare; a file with both components, or a stream, takes the
    /// place of two; - is standard input (no stream)
    #[arg(required = true, num_args = 1.., value_names = ["U", "V"])]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub shape: ShapeArguments,
    #[command(flatten)]
    pub step: StepArgument,
    #[command(flatten)]
    pub fill: FillArguments,
    /// Output file of the picture, a PNG; - is standard output
    #[arg(short, long, value_name = "PNG")]
    pub output: PathBuf,
    /// Show a field beside its reconstruction
    #[arg(long)]
    pub compare: bool,
    /// Part to enlarge: its first cell, and its number of cells along x and y; default: with --compare, where
    /// most points differ; none otherwise
    #[arg(long, value_name = "X,Y,NX,NY", value_parser = parse_zoom)]
    pub zoom: Option<Zoom>,
    /// Plane of a stack to draw, counted from 0; -1 is the last one; default: 0
    #[arg(long, value_name = "K", allow_hyphen_values = true)]
    pub plane: Option<i64>,
    /// Width of the picture in pixels, 300 to 10000
    #[arg(long, value_name = "PIXELS", value_parser = parse_width, default_value = "1600")]
    pub width: usize,
    #[command(flatten)]
    pub look: Look,
    #[command(flatten)]
    pub spacing: SpacingArguments,
    #[command(flatten)]
    pub place: Place,
    #[command(flatten)]
    pub talk: Talk,
}

/// The formats of a list of differences: those of a list of points, without the one for points alone.
fn table_format() -> impl TypedValueParser<Value = ListFormat> {
    const FORMATS: [ListFormat; 2] = [ListFormat::Csv, ListFormat::Json];
    let parse = |text: String| ListFormat::from_str(&text, false).expect("a possible value");
    PossibleValuesParser::new(FORMATS.iter().filter_map(|format| format.to_possible_value())).map(parse)
}

/// First cell, and number of cells along x and y.
pub type Zoom = [u64; 4];

fn parse_zoom(text: &str) -> Result<Zoom, String> {
    let numbers: Result<Vec<u64>, _> = text.split(',').map(|s| s.trim().parse()).collect();
    match numbers.map(Zoom::try_from) {
        Ok(Ok(zoom)) if zoom[2] > 0 && zoom[3] > 0 => Ok(zoom),
        _ => Err("give X,Y,NX,NY: a cell and two numbers of cells, for example 40,20,60,30".into()),
    }
}

fn parse_width(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(width) if (300..=10000).contains(&width) => Ok(width),
        _ => Err("a whole number from 300 to 10000".into()),
    }
}

/// Measures ratio, speed and changed critical points on a field, for every configuration and several bounds.
#[derive(Args)]
#[command(after_long_help = "\
Units: ratio is input bytes over stream bytes; MB/s are 10^6 bytes of input (u and v) per second, the median \
of --repeat runs in memory, without files. error/bound is the largest error over the bound: never above 1.
Critical points are counted as lost / spurious / of another type.

With --backend cuda the field is on the device, and the figures are GB/s (10^9 bytes of input per second) by \
events of the device: medians of at least 20 runs after 3, launched call by call and replayed as a CUDA graph, \
beside the speed of a plain copy of u and v on the device and of the comparison there. A table of the microseconds of each kernel follows.

Exit status: 0 measured, and nothing is violated; 1 something is; 2 wrong usage, or a file that cannot be read.

Examples:
  factz bench u.f32 v.f32 --dims 360x181 --north-first
  factz bench u.npy v.npy --bounds 1e-2,1e-4 --threads 1,8 --repeat 5 --json
  factz bench --backend cuda --synthetic dense --dims 16384x16384")]
pub struct Bench {
    /// Horizontal component, or both components: raw little-endian, .npy or .npz; - is standard input
    #[arg(required_unless_present = "synthetic")]
    pub u: Option<PathBuf>,
    /// Vertical component; left out if U holds both
    pub v: Option<PathBuf>,
    /// Measure a synthetic field of --dims values in place of files
    #[arg(long, value_enum, requires = "dims", conflicts_with_all = ["u", "v"])]
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
/// All configurations and --preserve none are measured at every bound, and zfp, SZ3 and SPERR as well if
/// Python has numpy, h5py and hdf5plugin. The directory gets index.html (one file with plots, pictures and
/// table), sweep.csv, sweep.md, field.png and comparison.png.
#[derive(Args)]
#[command(after_long_help = "\
Units: ratio is input bytes over stream bytes; bits/value are those of the stream for each value of u and v; MB/s are \
10^6 bytes of input per second, the median of --repeat runs in memory on --threads threads. Other compressors get the \
same absolute bound, compress u and v apart, and are timed with the HDF5 calls around them; their critical points are \
counted by factz. A field with missing values leaves them out.

Exit status: 0 measured, and every promise is kept; 1 one is not; 2 wrong usage, or a file that cannot be read or \
written.

Examples:
  factz sweep u.f32 v.f32 --dims 360x181 --north-first -o report
  factz sweep u.npy v.npy -o report --bounds 1e-2,1e-3,1e-4 --repeat 5 --no-peers")]
pub struct Sweep {
    #[command(flatten)]
    pub field: FieldArguments,
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
/// The field is built in: 10 m wind of the whole globe at one degree, 360 x 181 vertices, with 1394
/// critical points. It is compressed in both modes and, for comparison, with --preserve none.
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

#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub enum H5Format {
    /// JSON: the keyword arguments compression and compression_opts of create_dataset
    H5py,
    /// UD=..., which follows the name of the dataset in -f
    H5repack,
    /// The text that follows the name of the variable in nccopy -F
    Netcdf,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub enum ChunkLayout {
    /// (..., 2, NY, NX)
    Planes,
    /// (..., NY, NX, 2)
    Interleaved,
}

/// Prints the arguments of the HDF5 filter for h5py, h5repack or nccopy.
///
/// The filter compresses datasets of shape (..., 2, NY, NX) or (..., NY, NX, 2) that hold u and v. A chunk is
/// a field or a part of one, (1, ..., 2, ny, nx) or (1, ..., ny, nx, 2), or several along the leading axes, which
/// are compressed together. Critical points are kept in the whole dataset, those between chunks included.
/// Exactly one of --abs and --rel is required.
#[derive(Args)]
#[command(
    name = "h5args",
    after_long_help = "\
Writing:
  Write whole chunks, u and v together, or give HDF5 a chunk cache that holds the chunks which are being written \
(H5Pset_chunk_cache, rdcc_nbytes in h5py; 1 MiB before HDF5 2.0, 8 MiB from then on): otherwise HDF5 decompresses and \
compresses a chunk for each part. The filter notices values that this process decompressed before, as long as \
it has the chunk in memory (128 MiB, or FACTZ_HDF5_MEMORY in MiB), and rows, columns and runs of values longer than that. The \
originals take their place where this process wrote them; otherwise the chunk is stored exactly, which takes more space. \
Changes that it does not notice are compressed again, and add an error of up to one bound. FACTZ_HDF5_LOG=FILE (or stderr) tells when \
chunks are stored exactly and why; FACTZ_HDF5_AGAIN=lossy compresses such values again.

Chunks:
  HDF5 shows the filter a chunk, not the dataset, so the filter stores the borders of every chunk exactly: the triangles \
between two chunks then stay as they are. Large chunks cost least. Where the chunks are as long as the field along an axis, \
--field NXxNY saves the borders there, and --periodic keeps the cells between the last and the first vertices. \
Where chunks divide a periodic axis their exact borders do that; other chunks are refused.
  Chunks of several steps or levels, (24, 2, ny, nx), are smaller in sum, most where a field is small. HDF5 reads and \
decompresses whole chunks: a step alone takes as long as all of its chunk, and the chunk cache must hold a chunk.
  --rel is a fraction of the range of one chunk. The filter accepts it only if a chunk is one whole field, given by --field; \
each step of a series then has a bound of its own. A bound for all chunks is --abs, fraction * (max - min).
  A chunk in which outliers make the range, such as a fill value that nobody named, is stored exactly, unless \
--allow-wide-range is given.
  A fill value of the dataset that is finite and not zero counts as --fill-value if none is given.

Plugin:
  Programs find the filter, libh5zfactz.so, through the environment variable HDF5_PLUGIN_PATH, a list of folders; it is \
installed into lib/hdf5/plugin. FACTZ_HDF5_THREADS is the number of threads per chunk (1). Other filters follow factz in the \
pipeline: fletcher32 does; shuffle should be off: after factz it is legal but useless, before factz it is refused.
  A program with HDF5 linked statically may hide it from the filter. --chunk, --dtype and --layout then describe the chunks, and \
nothing checks type and filters there: the values must be floats of that type and in this machine's byte order, and factz the \
first filter. Elsewhere the filter finds this out, and they have no effect.

Exit status: 0 the arguments are printed; 2 wrong usage.

Examples:
  factz h5args --rel 1e-3 --field 360x181 --mode speculative
  opts=$(factz h5args --abs 0.05 --field 360x181 --format h5repack)
  h5repack -l uv:CHUNK=1x2x181x360 -f uv:$opts in.h5 out.h5
  opts=$(factz h5args --abs 0.05 --field 360x181 --format netcdf)
  nccopy -c uv:1,2,181,360 -F uv,$opts in.nc out.nc
  factz h5args --abs 0.05 > args.json    # then in Python, with h5py:
  args = json.load(open('args.json'))
  file.create_dataset('uv', data=uv, chunks=(2, 181, 360),
                      compression=args['compression'],
                      compression_opts=tuple(args['compression_opts']))"
)]
pub struct H5args {
    #[command(flatten)]
    pub bound: BoundArguments,
    #[command(flatten)]
    pub fill: FillArguments,
    #[command(flatten)]
    pub choices: Choices,
    /// Form of the arguments
    #[arg(long, value_enum, default_value = "h5py")]
    pub format: H5Format,
    /// Columns x rows of a field of the dataset; default: any
    #[arg(long, value_name = "NXxNY", value_parser = parse_plane)]
    pub field: Option<Dims>,
    /// Let --rel count even where outliers make the range, such as a fill value that nobody named
    #[arg(long)]
    pub allow_wide_range: bool,
    /// Columns x rows (x planes) of a chunk, for programs with HDF5 linked statically
    #[arg(long, value_name = "NXxNY[xNZ]")]
    pub chunk: Option<Dims>,
    /// Type of the values in --chunk
    #[arg(long, value_parser = choice(&Dtype::NAMES, &[]), default_value = "f32", requires = "chunk")]
    pub dtype: Dtype,
    /// Order of the axes in --chunk
    #[arg(long, value_enum, default_value = "planes", requires = "chunk")]
    pub layout: ChunkLayout,
}

/// Prints a completion script for a shell, or writes it into a directory.
#[derive(Args)]
#[command(hide = true)]
pub struct Completions {
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
    /// Directory of the script, which gets the name that the shell expects
    pub folder: Option<PathBuf>,
}

/// Writes the manual pages into a directory.
#[derive(Args)]
#[command(hide = true)]
pub struct Man {
    pub folder: PathBuf,
}
