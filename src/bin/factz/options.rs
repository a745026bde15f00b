//! Options that several commands share, with the text of `--help`, and how their values are read.

use crate::array::Dims;
use crate::failure::{failure, input_names, Failure};
use crate::figures::periodic_name;
use crate::input::Expected;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use factz::config_text::PERIODIC;
use factz::{BoundKind, Coder, Dtype, Mode, Predictor, Preserve, Ties, PERIODIC_Z};
use std::path::{Path, PathBuf};

/// Form of the report.
#[derive(Args)]
pub struct Talk {
    /// Print the figures as one JSON object
    #[arg(long)]
    pub json: bool,
    /// Print nothing but errors
    #[arg(short, long, conflicts_with = "json")]
    pub quiet: bool,
}

/// The files of a field.
#[derive(Args)]
pub struct FieldArguments {
    /// Horizontal component, or both components: raw little-endian, .npy or .npz; - is standard input
    pub u: PathBuf,
    /// Vertical component; left out if U holds both
    pub v: Option<PathBuf>,
    #[command(flatten)]
    pub shape: ShapeArguments,
}

impl FieldArguments {
    pub fn files(&self) -> Vec<&Path> {
        component_files(&self.u, self.v.as_ref())
    }
}

fn component_files<'a>(u: &'a Path, v: Option<&'a PathBuf>) -> Vec<&'a Path> {
    [Some(u), v.map(PathBuf::as_path)].into_iter().flatten().collect()
}

/// The files of a field, or a stream.
#[derive(Args)]
pub struct SourceArguments {
    /// Horizontal component, or all components: raw little-endian, .npy, .npz or a stream; - is standard
    /// input (no stream)
    pub u: PathBuf,
    /// Vertical component; left out if U holds both
    pub v: Option<PathBuf>,
    #[command(flatten)]
    pub shape: ShapeArguments,
}

impl SourceArguments {
    pub fn files(&self) -> Vec<&Path> {
        component_files(&self.u, self.v.as_ref())
    }
}

/// Shape and type of the input arrays.
#[derive(Args)]
pub struct ShapeArguments {
    /// Columns x rows (x planes), x fastest, for example 360x181 or 360x181x24; .npy and .npz contain it
    #[arg(long, value_name = "NXxNY[xNZ]")]
    pub dims: Option<Dims>,
    /// Type of the values; f32 unless a .npy or .npz contains another
    #[arg(long, value_parser = choice(&Dtype::NAMES, &[]))]
    pub dtype: Option<Dtype>,
    /// Names of u and v in a .npz, of a volume also of w, or of one array that holds all; default: u,v, and w
    /// of a volume
    #[arg(long, value_name = "U,V[,W]", value_parser = parse_keys)]
    pub keys: Option<Keys>,
}

/// One to three names of arrays.
#[derive(Clone, Debug)]
pub struct Keys(Vec<String>);

pub fn parse_keys(text: &str) -> Result<Keys, String> {
    let keys: Vec<String> = text.split(',').map(str::to_owned).collect();
    match keys.len() {
        1..=3 if keys.iter().all(|k| !k.is_empty()) => Ok(Keys(keys)),
        _ => Err("give two names, U,V, or that of one array with both components; of a volume three".into()),
    }
}

/// The names that are given.
pub fn names_of(keys: &Option<Keys>) -> Vec<String> {
    keys.as_ref().map(|keys| keys.0.clone()).unwrap_or_default()
}

impl ShapeArguments {
    pub fn expected(&self, fill_value: Option<f64>) -> Expected {
        let keys = names_of(&self.keys);
        Expected { dims: self.dims, dtype: self.dtype, keys, fill_value, ..Expected::default() }
    }
}

/// The error bound.
#[derive(Args)]
#[group(multiple = false)]
pub struct BoundArguments {
    /// Largest error of any value, in the unit of the field
    #[arg(long, value_name = "E", value_parser = parse_bound)]
    pub abs: Option<f64>,
    /// Largest error as a fraction of the joint range of all components, max(u, v) - min(u, v)
    #[arg(long, value_name = "T", value_parser = parse_bound)]
    pub rel: Option<f64>,
}

impl BoundArguments {
    pub fn bound(&self) -> Option<(BoundKind, f64)> {
        match (self.abs, self.rel) {
            (Some(e), _) => Some((BoundKind::Absolute, e)),
            (_, Some(t)) => Some((BoundKind::Relative, t)),
            _ => None,
        }
    }
}

pub fn parse_bound(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        // Without the sign of a zero.
        Ok(x) if x.is_finite() && x >= 0.0 => Ok(x.abs()),
        Ok(x) if x < 0.0 => Err("a bound is not negative: give 0 or more, for example 1e-3".into()),
        _ => Err("a bound is a finite number, 0 or more, for example 1e-3".into()),
    }
}

/// A value that marks vertices without data.
#[derive(Args)]
pub struct FillArguments {
    /// Vertices of which a component has exactly this value, bit for bit (0 is not -0), hold no data (rounded to f32
    /// for such fields)
    #[arg(long, value_name = "X", value_parser = parse_fill)]
    pub fill_value: Option<f64>,
}

fn parse_fill(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "a fill value is a number, for example 9.96921e36 or -999")?;
    // Digits alone do not make an infinity.
    if value.is_infinite() && text.bytes().any(|b| b.is_ascii_digit()) {
        return Err("it is beyond the range of f64".into());
    }
    Ok(value)
}

/// The stream of a file to read.
#[derive(Args)]
pub struct StepArgument {
    /// Number of the stream in a file of several: 0 is the first one, -1 the last one, -2 the one before
    #[arg(long, value_name = "K", value_parser = parse_step)]
    pub step: Option<i64>,
}

fn parse_step(text: &str) -> Result<i64, String> {
    text.parse().map_err(|_| "give a whole number: 0 is the first stream, -1 the last one".into())
}

impl StepArgument {
    /// Refuses the option where no file is a stream.
    pub fn refuse_without_stream(&self, files: &[&Path]) -> Result<(), Failure> {
        match self.step {
            None => Ok(()),
            Some(k) => Err(failure!(
                "--step {k}: chooses a stream of a file, and {} is none: leave it out",
                input_names(files, " or ")
            )),
        }
    }
}

/// Grid spacing along x and y, negative where the axis runs backwards.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spacing {
    pub dx: f64,
    pub dy: f64,
}

impl Spacing {
    pub const UNIT: Spacing = Spacing { dx: 1.0, dy: 1.0 };
}

fn parse_spacing(text: &str) -> Result<Spacing, String> {
    let distance = |s: &str| s.trim().parse::<f64>().ok().filter(|d| d.is_finite() && *d != 0.0);
    match text.split_once(',').map(|(x, y)| (distance(x), distance(y))) {
        Some((Some(dx), Some(dy))) => Ok(Spacing { dx, dy }),
        _ => Err("give DX,DY: two numbers other than 0, for example 1,0.5, or 1,-0.5 where row 0 is the \
                  northernmost; --dz is the distance of the planes of a volume"
            .into()),
    }
}

/// The grid spacing, which the types of points depend on, and the periodic axes.
#[derive(Args)]
pub struct SpacingArguments {
    /// Distances from column to column and from row to row; a negative one where the axis runs backwards;
    /// default: those of the stream, if there is one, otherwise 1,1
    #[arg(long, value_name = "DX,DY", value_parser = parse_spacing)]
    spacing: Option<Spacing>,
    /// Rows run from north to south, and v is positive to the north: makes DY negative
    #[arg(long)]
    north_first: bool,
    /// Axes along which the last vertex is a neighbour of the first, such as the longitude of a global grid;
    /// the cells between them belong to the field; default: those of the stream, if there is one, otherwise none
    #[arg(long, value_parser = choice(&PERIODIC, &[]))]
    periodic: Option<u32>,
}

impl SpacingArguments {
    /// As given, or else another one.
    pub fn or(&self, otherwise: Spacing) -> Result<Spacing, Failure> {
        let spacing = self.spacing.unwrap_or(otherwise);
        match self.spacing {
            Some(Spacing { dx, dy }) if self.north_first && dy < 0.0 => Err(failure!(
                "--spacing {dx},{dy} --north-first: both say that rows run from north to south; leave out \
                 --north-first, or give --spacing {dx},{}",
                -dy
            )),
            _ if self.north_first => Ok(Spacing { dy: -spacing.dy.abs(), ..spacing }),
            _ => Ok(spacing),
        }
    }

    /// The periodic axes of planes: as given, or else others.
    pub fn periodic_or(&self, otherwise: u32) -> Result<u32, Failure> {
        match self.periodic_of_volume() {
            0 => Ok(self.periodic.unwrap_or(otherwise)),
            axes if axes & PERIODIC_Z == 0 => Ok(axes),
            axes => Err(failure!(
                "--periodic {}: planes have no axis z; only a volume, compressed with three components U V W, has one",
                periodic_name(axes)
            )),
        }
    }

    /// The periodic axes of a volume.
    pub fn periodic_of_volume(&self) -> u32 {
        self.periodic_of_volume_or(0)
    }

    /// The periodic axes of a volume: as given, or else others.
    pub fn periodic_of_volume_or(&self, otherwise: u32) -> u32 {
        self.periodic.unwrap_or(otherwise)
    }
}

/// How most commands are given a volume.
pub const THREE_COMPONENTS: &str = "three components U V W";

/// The grid spacing of a volume along z.
#[derive(Args)]
pub struct DepthArguments {
    /// Distance from plane to plane of a volume, negative where W points the other way; default: that of the
    /// stream, if there is one, otherwise 1
    #[arg(long, value_name = "DZ", value_parser = parse_distance, allow_hyphen_values = true)]
    pub dz: Option<f64>,
}

impl DepthArguments {
    /// Refuses the option for planes; `volume` is what to give for a volume.
    pub fn refuse_for_planes(&self, volume: &str) -> Result<(), Failure> {
        match self.dz {
            None => Ok(()),
            Some(dz) => Err(failure!("--dz {dz}: planes have no axis z: leave it out, or give {volume}")),
        }
    }
}

fn parse_distance(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(d) if d.is_finite() && d != 0.0 => Ok(d),
        _ => Err("a distance is a finite number other than 0, for example 0.5 or -1".into()),
    }
}

/// Where row 0 of a field is drawn.
#[derive(Clone, Copy, Debug, PartialEq, ValueEnum)]
pub enum Origin {
    /// Row 0 at the top, as in an image
    Top,
    /// Row 0 at the bottom, as in a diagram
    Bottom,
}

/// The speeds at the ends of a scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpeedRange {
    pub low: f64,
    pub high: f64,
}

fn parse_speed_range(text: &str) -> Result<SpeedRange, String> {
    let speed = |s: &str| s.trim().parse::<f64>().ok().filter(|x| x.is_finite() && *x >= 0.0);
    match text.split_once(',').map(|(low, high)| (speed(low), speed(high))) {
        Some((Some(low), Some(high))) if low < high => Ok(SpeedRange { low, high }),
        Some((Some(_), Some(_))) => Err("LOW is not below HIGH: give the smaller speed first".into()),
        _ => Err("give LOW,HIGH: two finite speeds, 0 or more, for example 0,20".into()),
    }
}

/// The look of pictures.
#[derive(Args, Clone, Copy, Default)]
pub struct Look {
    /// Speeds at the ends of the colour scale; default: 0 and the speed that 0.5 % of the area exceeds
    #[arg(long, value_name = "LOW,HIGH", value_parser = parse_speed_range, allow_hyphen_values = true)]
    pub speed_range: Option<SpeedRange>,
    /// Logarithmic colour scale; it begins at LOW, or else at the speed that 0.5 % of the area is below, but at
    /// most four decades below its end
    #[arg(long)]
    pub log: bool,
    /// Draw no arrows, which show the direction of the flow
    #[arg(long)]
    pub no_arrows: bool,
    /// Place of row 0; default: at the bottom, so that y grows upwards, and at the top if DY is negative
    #[arg(long, value_enum)]
    pub origin: Option<Origin>,
}

impl Look {
    pub fn check(&self) -> Result<(), Failure> {
        match self.speed_range {
            Some(SpeedRange { low, high }) if self.log && low == 0.0 => Err(failure!(
                "--speed-range {low},{high} --log: a logarithmic scale cannot begin at 0: give a larger LOW, for \
                 example {}",
                high / 1000.0
            )),
            _ => Ok(()),
        }
    }
}

pub fn parse_size(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n) if n > 0 => Ok(n),
        _ => Err("a whole number, 1 or more".into()),
    }
}

pub fn parse_threads(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| "a whole number, 0 or more".into())
}

/// Parses a choice by the names that `factz_config_from_string` takes; `help` explains each.
pub fn choice<T: Copy + Send + Sync + 'static>(
    names: &'static [(&'static str, T)],
    help: &'static [&'static str],
) -> impl TypedValueParser<Value = T> {
    let value = |k: usize| match help.get(k) {
        Some(help) => PossibleValue::new(names[k].0).help(*help),
        None => PossibleValue::new(names[k].0),
    };
    let parse = |text: String| names.iter().find(|(name, _)| *name == text).expect("a possible value").1;
    PossibleValuesParser::new((0..names.len()).map(value)).map(parse)
}

// Help of the values of an option, in the order of their names.
pub const MODES: [&str; 3] = [
    "An analytic bound per vertex, one pass: fastest",
    "Try the full bound at every vertex and back off: smallest streams",
    "Verify and repair: the mode of volumes",
];
pub const PREDICTORS: [&str; 2] = [
    "Interpolation, coarse to fine: smallest streams",
    "Differences to the neighbours, one pass; block mode only",
];
pub const CODERS: [&str; 2] =
    ["Asymmetric numeral systems (rANS): smallest streams", "Canonical Huffman codes"];
pub const PRESERVED: [&str; 3] =
    ["The error bound alone", "Every critical point, and none new", "Critical points, and the type of each"];
pub const TIES: [&str; 3] = [
    "Every sign that a tie rule can look at",
    "The zeros of the field as a set of points: smaller streams of fields with coasts",
    "The answer of one tie rule, the simulation of simplicity as FTK applies it: smaller streams too",
];

#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub enum BackendName {
    /// The first CUDA device if there is one with enough memory, otherwise the processor
    Auto,
    /// The processor's threads
    Cpu,
    /// The first CUDA device; an error if there is none
    Cuda,
}

/// Where the work is done.
#[derive(Args)]
pub struct Place {
    /// Where the work is done; the result is the same, byte for byte
    #[arg(long, value_enum, default_value = "auto")]
    pub backend: BackendName,
    /// Threads on the processor; 0 means one per core, 1 starts none
    #[arg(long, value_name = "N", value_parser = parse_threads, default_value = "0")]
    pub threads: usize,
}

impl Place {
    /// The threads of an analysis of a volume; refuses --backend cuda.
    pub fn threads_for_volume(&self) -> Result<usize, Failure> {
        match self.backend {
            BackendName::Cuda => Err(failure!(
                "--backend cuda: ranges, critical points and comparisons of volumes are computed on the processor; leave \
                 --backend cuda out"
            )),
            BackendName::Auto | BackendName::Cpu => Ok(self.threads),
        }
    }
}

/// Options of a stream besides the bound.
#[derive(Args)]
pub struct Choices {
    /// How critical points are kept; the guarantee is the same [default: block; of a volume repair]
    #[arg(long, value_parser = choice(&Mode::NAMES, &MODES))]
    pub mode: Option<Mode>,
    /// Prediction of values
    #[arg(long, value_parser = choice(&Predictor::NAMES, &PREDICTORS), default_value = "hierarchical")]
    pub predictor: Predictor,
    /// Entropy coder
    #[arg(long, value_parser = choice(&Coder::NAMES, &CODERS), default_value = "ans")]
    pub coder: Coder,
    #[command(flatten)]
    pub promise: Promise,
}

/// Promise of a stream, and the spacing that the type of a point depends on.
#[derive(Args)]
pub struct Promise {
    /// Promise besides the error bound
    #[arg(long, value_parser = choice(&Preserve::NAMES, &PRESERVED), default_value = "types")]
    pub preserve: Preserve,
    /// Promise for triangles whose zero lies on an edge or at a vertex
    #[arg(long, value_parser = choice(&Ties::NAMES, &TIES), default_value = "all")]
    pub ties: Ties,
    #[command(flatten)]
    pub spacing: SpacingArguments,
}
