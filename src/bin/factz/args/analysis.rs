//! The commands that list and draw critical points.

use crate::options::*;
use crate::plane_choice::{parse_plane_choice, PlaneChoice};
use crate::point_list::ListFormat;
use crate::region::PartArguments;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Lists the critical points of a field: place, type, index, eigenvalues.
///
/// Columns: x, y (position: grid coordinates times the spacing, with its signs), cell_x, cell_y (cell), cell_z
/// (plane, 0 without planes), simplex, point_type, index (Poincare: -1 of a saddle), rounding_divergence, and
/// the eigenvalues of the Jacobian, real and imaginary parts. Of a volume: x, y, z, cell_x, cell_y, cell_z, simplex,
/// dimension, point_type, index.
#[derive(Args)]
#[command(
    override_usage = "factz points [OPTIONS] <U> <V>\n       factz points [OPTIONS] <FIELD>\n       \
factz points [OPTIONS] <U> <V> <W>\n       factz points [OPTIONS] <STREAM>",
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

With --region and --planes a part of a stream is decoded, on the processor, as by `factz decompress`. Its points have the \
places that they have in the field. Zeros on the border of a region, and in the first and the last plane of a part of a \
volume, are judged without the vertices outside it, and the cells of a periodic axis between its ends count only if the \
part has both.

With --periodic the cells between the last and the first column or row hold points too; they have the cell_x or cell_y \
of the last one.

Volumes, three arrays U, V and W, a file with all of them, or a stream: a simplex is a path from the vertex (cell_x, cell_y, cell_z), and \
its name tells the axes of each step: tetrahedron_x_y_z, face_x_yz, edge_xyz, or vertex; dimension is 3, 2, 1 or 0. Types \
inside tetrahedra: repelling_node (out), repelling_node_saddle (in along one direction, out along two), \
attracting_node_saddle (in along two), attracting_node (in); with two complex eigenvalues focus takes the place of node, \
and center where their real parts are exactly 0 (repelling_center, attracting_center by the third). Otherwise vertex_zero, \
edge_zero or face_zero. The index is the sign of the determinant of the Jacobian, or the degree around a zero. Volumes are \
searched on the processor.

The ending of -o tells the format: .json, .vtp, otherwise CSV. In .vtp each point is a vertex of a VTK PolyData with \
the same columns as arrays, for ParaView and PyVista; its third coordinate is the plane; the numbers of types and simplices are in the field data, no \
index is -100, and no eigenvalue is 0.

Exit status: 0 the list is complete; 2 it is not.

Examples:
  factz points u.f32 v.f32 --dims 360x181 --north-first
  factz points u.npy v.npy -o points.csv --spacing 0.25,0.25
  factz points wind.fz -o points.vtp
  factz points u.f32 v.f32 w.f32 --dims 128x128x128 -o points.vtp
  factz points uvw.npy --dz 0.5
  factz points year.fz --region 100,40,64x64 --planes 181:212
  factz points volume.fz --region 100,40,64x64 --planes 20:52"
)]
pub struct Points {
    #[command(flatten)]
    pub field: SourceArguments,
    /// Third component, of a volume of NX x NY x NZ vertices
    pub w: Option<PathBuf>,
    #[command(flatten)]
    pub step: StepArgument,
    #[command(flatten)]
    pub part: PartArguments,
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
    pub depth: DepthArguments,
    #[command(flatten)]
    pub place: Place,
    #[command(flatten)]
    pub talk: Talk,
}

/// Finds the least and the largest value of a field, all components together, and counts special vertices.
#[derive(Args)]
#[command(
    override_usage = "factz range [OPTIONS] <U> <V>\n       factz range [OPTIONS] <FIELD>\n       \
factz range [OPTIONS] <U> <V> <W>\n       factz range [OPTIONS] <STREAM>",
    after_long_help = "\
Only finite values count, and none of a vertex with the fill value. --rel T allows errors of T times the difference of \
both ends. With --json an end without values is null. A stream in place of the arrays is decoded: its values differ from \
those that were compressed by the bound at most.

Exit status: 0 done; 2 wrong usage, or a file that cannot be read.

Examples:
  factz range u.f32 v.f32 --dims 360x181
  factz range u.npy v.npy w.npy --fill-value -999 --json"
)]
pub struct Range {
    #[command(flatten)]
    pub field: SourceArguments,
    /// Third component, of a volume of NX x NY x NZ vertices
    pub w: Option<PathBuf>,
    #[command(flatten)]
    pub step: StepArgument,
    #[command(flatten)]
    pub fill: FillArguments,
    #[command(flatten)]
    pub place: Place,
    #[command(flatten)]
    pub talk: Talk,
}

/// Lists the critical points in which two fields differ.
///
/// Columns: fate (lost: in the first field alone; spurious: in the other alone; changed: of another type or
/// index), x, y, cell_x, cell_y, cell_z, simplex as in `factz points`, point_type_before, point_type_after,
/// index_before, index_after. Of volumes: fate, x, y, z, cell_x, cell_y, cell_z, simplex, dimension, and the
/// types and indices.
#[derive(Args)]
#[command(
    override_usage = "factz diff [OPTIONS] <U0> <V0> <U1> <V1>\n       factz diff [OPTIONS] <FIELD0> <FIELD1>\n       \
factz diff [OPTIONS] <U0> <V0> <STREAM>\n       factz diff [OPTIONS] <U0> <V0> <W0> <U1> <V1> <W1>\n       \
factz diff [OPTIONS] <U0> <V0> <W0> <STREAM>",
    after_long_help = "\
A point is kept if the same triangle, edge or vertex has one of the same type and index in the other field; of volumes \
the same tetrahedron, face, edge or vertex, which are compared on the processor. `factz verify` compares values, \
ties and missing data as well, without a list. The ending of -o tells the format: .json, otherwise CSV.

Vertices where the first field has no data (NaN, infinity, the fill value) take part in neither. A vertex with data \
that is NaN or infinite in the other field is counted, and the first one is named (lost_vertices and first_lost_vertex \
with --json).

Exit status: 0 no point differs, and no vertex is lost; 1 some do, or are; 2 wrong usage, or a file that cannot be read \
or written.

Examples:
  factz diff u.f32 v.f32 u2.f32 v2.f32 --dims 360x181 --north-first
  factz diff u.npy v.npy wind.fz -o differences.json
  factz diff u.npy v.npy w.npy volume.fz -o differences.csv
  factz diff uvw.npy uvw2.npy"
)]
pub struct Diff {
    /// Components of the two fields; a file with both components takes the place of two, and a stream that of
    /// the other field; of volumes three and three, or a file with all components in place of three; - is
    /// standard input (no stream)
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
    pub depth: DepthArguments,
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
factz render [OPTIONS] -o <PNG> --compare <U0> <V0> <STREAM>\n       factz render [OPTIONS] -o <PNG> <U> <V> <W>\n       \
factz render [OPTIONS] -o <PNG> --compare <U0> <V0> <W0> <U1> <V1> <W1>\n       \
factz render [OPTIONS] -o <PNG> --compare <U0> <V0> <W0> <STREAM>",
    after_long_help = "\
Volumes: of U, V and W, of a file with all of them, or of the stream of a volume, a plane is drawn with the flow and the speed in it: of u and v \
in a plane z:K, of u to the right and w upwards in y:K, of v to the right and w upwards in x:K. The marks are the \
critical points of the volume that are nearer to this plane than to another one of the same axis; half way between two \
they belong to the one of the larger number. With --compare a point and its successor belong to the plane of the former.

Place: vertex (x, y) lies at (x DX, y DY), and y grows upwards. Row 0 is at the bottom, or at the top where DY is \
negative (--north-first, or a stream that says so); --origin overrules this. The axes count columns and rows where \
these are 1 or -1 apart; otherwise they have the coordinates x DX and y DY. --zoom takes columns and rows. In a plane \
x:K or y:K the columns of the picture are counted along y or x, its rows along z; their distances are those of these axes.

Colours: the scale ends at the speed that 0.5 % of the area exceeds, unless --speed-range says otherwise; with --log it \
begins at the speed that 0.5 % of the area is below, but at most four decades below its end. What is slower or faster has \
the colour of the end, the bar ends in a tip there, and the legend tells how slow or fast it is. In a comparison both fields have one scale. \
Vertices that are zero or hold no data are grey. The background of a large field is the mean of the vertices below a \
pixel.

A stream is decoded whole. For a part of a large one draw the arrays of it: `factz decompress flow.fz part.npz --region \
X,Y,WxH`, then `factz render part.npz`.

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
  factz render --compare u.npy v.npy wind.fz -o compared.png --zoom 40,20,60,30
  factz render u.npy v.npy w.npy --plane 12 -o slice.png
  factz render volume.fz --plane y:0 -o wall.png
  factz render --compare u.npy v.npy w.npy volume.fz --plane x:20 -o compared.png"
)]
pub struct Render {
    /// Components of a field, or of two with --compare; a file with both components, or a stream, takes the
    /// place of two; three of a volume, or a file with all of them, or a stream; - is standard input (no
    /// stream)
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
    /// Plane of a stack or a volume to draw, counted from 0; -1 is the last one; default: 0. Of a volume x:K and
    /// y:K are planes of constant x and y; z:K is K
    #[arg(long, value_name = "[AXIS:]K", value_parser = parse_plane_choice, allow_hyphen_values = true)]
    pub plane: Option<PlaneChoice>,
    /// Width of the picture in pixels, 300 to 10000
    #[arg(long, value_name = "PIXELS", value_parser = parse_width, default_value = "1600")]
    pub width: usize,
    #[command(flatten)]
    pub look: Look,
    #[command(flatten)]
    pub spacing: SpacingArguments,
    #[command(flatten)]
    pub depth: DepthArguments,
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
