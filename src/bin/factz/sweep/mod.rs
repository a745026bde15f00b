//! Rate and distortion over bounds, for all configurations and other compressors: tables, and a page with
//! plots.

mod page;
mod peers;
mod plots;
mod tables;
pub mod volume;

use crate::args::Sweep;
use crate::array::{Dims, Field};
use crate::engine;
use crate::failure::{bare_names, input_names, Failure};
use crate::fate::paired;
use crate::figures::{error_over_bound, joined, psnr_json, shape_json};
use crate::measure::{measure, Measurement};
use crate::options::{Spacing, THREE_COMPONENTS};
use crate::output::{self, Output};
use crate::picture::{of_comparison, of_field, Column, Picture, Style};
use crate::progress::Progress;
use crate::say::{critical_points_text, Voice};
use crate::{input, Verdict};
use factz::{BoundKind, Coder, ComparisonOf, Config, CriticalPoint, Dtype, Mode, Predictor, Preserve};
use serde_json::{json, Value};
use std::path::Path;

/// The bound of the pictures, if it is among those of the sweep.
const PICTURED: f64 = 1e-2;
const PICTURE_WIDTH: usize = 1200;

/// A compressor of the sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Codec {
    pub name: String,
    /// Whether it promises to keep the critical points.
    pub preserves: bool,
    /// Whether it has lines in the plots; others have nearly those of another one.
    pub plotted: bool,
}

/// A compressor at a bound, measured.
pub struct Run {
    pub codec: Codec,
    /// Of the joint range of all components.
    pub bound: f64,
    pub absolute_bound: f64,
    pub bytes: u64,
    pub ratio: f64,
    /// Bits in the stream for a value of a component.
    pub bit_rate: f64,
    pub changes: Changes,
    /// MB/s of input for compression and decompression.
    pub speeds: [f64; 2],
}

/// The figures of a reconstruction in the report.
pub struct Changes {
    pub lost_points: u64,
    pub spurious_points: u64,
    pub changed_types: u64,
    pub max_error: f64,
    pub psnr: Option<f64>,
    /// All differences that points with their types must not have.
    violations: u64,
}

impl<const KINDS: usize> From<ComparisonOf<KINDS>> for Changes {
    fn from(c: ComparisonOf<KINDS>) -> Changes {
        Changes {
            lost_points: c.lost_points,
            spurious_points: c.spurious_points,
            changed_types: c.changed_types,
            max_error: c.max_error,
            psnr: c.psnr,
            violations: c.violations(),
        }
    }
}

/// The size of what is measured.
#[derive(Clone, Copy)]
pub struct Shape {
    pub dims: Dims,
    pub dtype: Dtype,
    pub components: u64,
}

impl Shape {
    fn of(field: &Field) -> Shape {
        Shape { dims: field.dims, dtype: field.dtype(), components: 2 }
    }

    /// The values of all components.
    fn values(&self) -> u64 {
        self.components * self.dims.count()
    }

    fn bytes(&self) -> u64 {
        self.values() * self.dtype.bytes()
    }
}

impl Run {
    fn new(
        codec: Codec,
        shape: Shape,
        bounds: [f64; 2],
        bytes: u64,
        changes: Changes,
        speeds: [f64; 2],
    ) -> Run {
        let [bound, absolute_bound] = bounds;
        let ratio = shape.bytes() as f64 / bytes as f64;
        let bit_rate = 8.0 * bytes as f64 / shape.values() as f64;
        Run { codec, bound, absolute_bound, bytes, ratio, bit_rate, changes, speeds }
    }

    /// Critical points lost, spurious and of another type.
    pub fn changed_points(&self) -> u64 {
        self.changes.lost_points + self.changes.spurious_points + self.changes.changed_types
    }

    pub fn error_over_bound(&self) -> f64 {
        error_over_bound(self.changes.max_error, self.absolute_bound)
    }

    fn json(&self) -> Value {
        let c = &self.changes;
        json!({
            "codec": self.codec.name,
            "preserves": self.codec.preserves,
            "relative_bound": self.bound,
            "absolute_bound": self.absolute_bound,
            "stream_bytes": self.bytes,
            "ratio": self.ratio,
            "bits_per_value": self.bit_rate,
            "psnr": psnr_json(c.psnr),
            "max_error": c.max_error,
            "lost_points": c.lost_points,
            "spurious_points": c.spurious_points,
            "changed_types": c.changed_types,
            "compress_mb_per_second": self.speeds[0],
            "decompress_mb_per_second": self.speeds[1],
        })
    }
}

/// What the tables and the page tell of the sweep beside its runs.
pub struct Subject {
    pub name: String,
    pub shape: Shape,
    pub critical_points: u64,
    /// Why other compressors are missing.
    pub remark: Option<String>,
}

/// The configurations of factz, and whether the plots have them.
fn configurations(a: &Sweep, spacing: Spacing, field: &Field) -> Vec<(Codec, Config)> {
    let base = Config {
        dtype: field.dtype(),
        ties: a.ties,
        fill_value: a.fill.fill_value,
        dx: spacing.dx,
        dy: spacing.dy,
        periodic: field.periodic,
        ..field.dims.config(BoundKind::Relative, 0.0)
    };
    let choice = |name: &str, mode, predictor, coder, preserve| {
        let codec = Codec {
            name: name.to_owned(),
            preserves: preserve != Preserve::None,
            plotted: coder == Coder::Ans,
        };
        (codec, Config { mode, predictor, coder, preserve, ..base })
    };
    use {Coder::*, Mode::*, Predictor::*};
    vec![
        choice("factz block-wise", BlockWise, Hierarchical, Ans, Preserve::Types),
        choice("factz block-wise, Huffman", BlockWise, Hierarchical, Huffman, Preserve::Types),
        choice("factz speculative", Speculative, Hierarchical, Ans, Preserve::Types),
        choice("factz speculative, Huffman", Speculative, Hierarchical, Huffman, Preserve::Types),
        choice("factz Lorenzo", BlockWise, Lorenzo, Ans, Preserve::Types),
        choice("factz Lorenzo, Huffman", BlockWise, Lorenzo, Huffman, Preserve::Types),
        choice("factz --preserve none", BlockWise, Hierarchical, Ans, Preserve::None),
    ]
}

fn run_of(codec: &Codec, field: &Field, m: &Measurement) -> Run {
    let speeds = m.speeds.first().map_or([0.0; 2], |&(_, compress, decompress)| [compress, decompress]);
    let bounds = [m.config.bound, m.absolute_bound];
    Run::new(codec.clone(), Shape::of(field), bounds, m.stream_bytes, m.comparison.into(), speeds)
}

/// The bound that the pictures show: 1e-2, or that in the middle.
fn pictured(bounds: &[f64]) -> f64 {
    bounds.iter().copied().find(|&b| b == PICTURED).unwrap_or(bounds[bounds.len() / 2])
}

/// The lines above the first run.
fn introduction(subject: &Subject) -> String {
    format!(
        "{}: {} values of {} each, {}\n\n{}",
        subject.name,
        subject.shape.dims,
        subject.shape.dtype.name(),
        critical_points_text(subject.critical_points),
        tables::head()
    )
}

pub fn sweep(a: &Sweep) -> Result<Verdict, Failure> {
    a.depth.refuse_for_planes(THREE_COMPONENTS)?;
    a.look.check()?;
    let files = a.field.files();
    let mut field = input::read_field(&files, &a.field.shape.expected(a.fill.fill_value))?;
    field.periodic = a.spacing.periodic_or(0)?;
    let about = |e: Failure| e.about(input_names(&files, ", "));
    output::make_folder(&a.output)?;
    let voice = Voice::new(&a.talk);
    let spacing = a.spacing.or(Spacing::UNIT)?;
    let points = engine::critical_points(&field, spacing, a.threads).map_err(about)?;
    let (name, critical_points) = (input_names(&files, ", "), points.len() as u64);
    let mut subject = Subject { name, shape: Shape::of(&field), critical_points, remark: None };
    voice.text(&introduction(&subject))?;
    let progress = Progress::new("measuring", &voice);
    let mut runs = Vec::new();
    let mut shown = Vec::new();
    let configurations = configurations(a, spacing, &field);
    let all = (a.bounds.len() * (configurations.len() + peers::MOST)) as f64;
    for (codec, config) in &configurations {
        for &bound in &a.bounds {
            let config = Config { bound, ..*config };
            let (m, decoded) = measure(&field, &config, &[a.threads], a.repeat).map_err(about)?;
            let run = run_of(codec, &field, &m);
            voice.text(&tables::row(&run))?;
            runs.push(run);
            let with_picture = ["factz speculative", "factz --preserve none"].contains(&&*codec.name);
            let title = format!("{} at {bound:e}: ratio {:.1}", codec.name, m.ratio);
            // A bound may be given twice.
            let is_new = shown.iter().all(|(other, _)| *other != title);
            if with_picture && bound == pictured(&a.bounds) && is_new {
                shown.push((title, decoded.plane(0)?));
            }
            progress.report(runs.len() as f64 / all);
        }
    }
    subject.remark = peers::measure(a, spacing, &field, &mut runs, |run, count| {
        progress.report(count as f64 / all);
        voice.text(&tables::row(run))
    })?;
    drop(progress);
    let pictures = pictures(a, spacing, &field, &points, &shown)?;
    let written = write(&a.output, &subject, &runs, &pictures)?;
    let pictures = pictures.map(|picture| picture.report);
    finish(&voice, &subject, &runs, &written, pictures)
}

/// The field, and the reconstructions of factz with and without preservation; of a stack the first plane.
fn pictures(
    a: &Sweep,
    spacing: Spacing,
    field: &Field,
    points: &[CriticalPoint],
    shown: &[(String, Field)],
) -> Result<[Picture; 2], Failure> {
    let style = Style { width: PICTURE_WIDTH, axes: [0, 1], spacing, look: a.look };
    let points: Vec<CriticalPoint> = points.iter().filter(|point| point.cell_z == 0).copied().collect();
    let Dims { nx, ny, nz } = field.dims;
    let plane = if field.dims.is_stack() { format!(", plane 0 of {nz}") } else { String::new() };
    let about = critical_points_text(points.len() as u64);
    let title = format!("{}{plane}: {nx} x {ny}, {about}", bare_names(&a.field.files()));
    let compared = |(title, decoded): &(String, Field)| -> Result<_, Failure> {
        let after = engine::critical_points(decoded, spacing, a.threads)?;
        Ok((title.clone(), paired(&points, &after)))
    };
    let [(kept_title, kept), (plain_title, plain)] = [compared(&shown[0])?, compared(&shown[1])?];
    let columns =
        [Column::all(&shown[0].1, &kept_title, &kept), Column::all(&shown[1].1, &plain_title, &plain)];
    let field = field.plane(0)?;
    let alone = Column::typed(&field, &title, &points);
    Ok([of_field(alone, None, style)?, of_comparison(columns, &plain, None, style)?])
}

/// Writes the files of the report; returns their names.
fn write(
    folder: &Path,
    subject: &Subject,
    runs: &[Run],
    pictures: &[Picture; 2],
) -> Result<Vec<String>, Failure> {
    let page = page::html(subject, runs, pictures)?;
    let files: [(&str, &[u8]); 5] = [
        ("index.html", page.as_bytes()),
        ("sweep.csv", &tables::csv(runs).into_bytes()),
        ("sweep.md", &tables::markdown(subject, runs).into_bytes()),
        ("field.png", &pictures[0].png),
        ("comparison.png", &pictures[1].png),
    ];
    let mut outputs = Vec::new();
    for (name, bytes) in files {
        let mut output = Output::create(&folder.join(name))?;
        output.write(bytes)?;
        outputs.push(output);
    }
    Output::commit(outputs)?;
    Ok(files.map(|(name, _)| folder.join(name).display().to_string()).to_vec())
}

fn finish(
    voice: &Voice,
    subject: &Subject,
    runs: &[Run],
    written: &[String],
    [alone, comparison]: [Value; 2],
) -> Result<Verdict, Failure> {
    if let Some(remark) = &subject.remark {
        voice.note(remark);
    }
    voice.report(
        || {
            let Shape { dims, dtype, components } = subject.shape;
            let more = json!({
                "command": "sweep",
                "components": components,
                "critical_points": subject.critical_points,
                "remark": subject.remark,
                "files": written,
                "runs": runs.iter().map(Run::json).collect::<Vec<_>>(),
                "pictures": { "field.png": alone, "comparison.png": comparison },
            });
            joined(shape_json(dims, dtype), more)
        },
        || format!("\n{}Open {} in a browser.\n", tables::legend(subject), written[0]),
    )?;
    let promised = runs.iter().filter(|run| run.codec.preserves);
    Ok(Verdict::of(promised.map(|run| run.changes.violations).sum()))
}
