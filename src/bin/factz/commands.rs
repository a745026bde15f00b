//! Compression and decompression of files.

use crate::append::{Added, Appended};
use crate::args::{Compress, Decompress};
use crate::array::{Field, Held};
use crate::engine::{Done, Engine};
use crate::failure::{failure, input_name, input_names, is_dash, output_name, Failure};
use crate::figures::{
    bound_kind_name, choices_json, component_name, fill_json, joined, periodic_name, report_json, shape_json,
};
use crate::foreign::Product;
use crate::options::{BoundArguments, Choices, FillArguments, Spacing, THREE_COMPONENTS};
use crate::output::{is_standard, refuse_input, refuse_terminal, same_file, Output};
use crate::progress::Progress;
use crate::region::Part;
use crate::say::{critical_points_text, grouped, megabytes_per_second, Voice};
use crate::store::{self, Format};
use crate::stream::Stream;
use crate::{coasts, input, steps, Verdict};
use factz::{
    BoundKind, Component, Config, Kind, Mode, Predictor, Preserve, Report, StreamInfo, Ties,
    WARNING_WIDE_RANGE,
};
use serde_json::{json, Value};
use std::fmt::Write as _;
use std::path::Path;

pub fn required_bound(a: &BoundArguments) -> Result<(BoundKind, f64), Failure> {
    a.bound().ok_or_else(|| {
        failure!(
            "a bound is missing: give --abs E (largest error in the unit of the field) or --rel T (as a fraction \
             of the range of values, for example --rel 1e-3)"
        )
    })
}

pub fn check(a: &Choices) -> Result<(), Failure> {
    if a.mode == Some(Mode::Speculative) && a.predictor == Predictor::Lorenzo {
        return Err(failure!(
            "--mode speculative works with --predictor hierarchical alone: leave --predictor out, or give --mode block"
        ));
    }
    Ok(())
}

/// Where a stream goes.
pub enum Target<'a> {
    Alone(Output),
    /// The first stream of a file that --append makes.
    First(Output, &'a Path),
    Behind(Appended<'a>),
}

impl Target<'_> {
    /// A file that appears when it is complete, or the end of one that there is.
    pub fn of(a: &Compress) -> Result<Target<'_>, Failure> {
        if !a.append {
            return Ok(Target::Alone(Output::create(&a.output)?));
        }
        match Appended::open(&a.output)? {
            Some(appended) => Ok(Target::Behind(appended)),
            None => Ok(Target::First(Output::create_new(&a.output)?, &a.output)),
        }
    }

    pub fn commit(self, stream: &[u8]) -> Result<Added, Failure> {
        match self {
            Target::Alone(mut output) => {
                output.write(stream)?;
                Output::commit(vec![output])?;
                Ok(Added::default())
            }
            Target::First(mut output, path) => {
                output.write(stream)?;
                // Where another program has made the file meanwhile, the stream goes behind.
                match Output::commit(vec![output]) {
                    Ok(()) => Ok(Added::default()),
                    Err(failure) => match Appended::open(path)? {
                        Some(appended) => appended.add(stream),
                        None => Err(failure),
                    },
                }
            }
            Target::Behind(appended) => appended.add(stream),
        }
    }
}

pub fn compress(a: &Compress) -> Result<Verdict, Failure> {
    a.depth.refuse_for_planes(THREE_COMPONENTS)?;
    let (bound_kind, bound) = required_bound(&a.bound)?;
    check(&a.choices)?;
    let files = a.field.files();
    refuse_input(&a.output, &files, "stream")?;
    Product::Stream.refuse_name(&a.output)?;
    refuse_terminal(&a.output)?;
    let voice = Voice::beside_data(&a.talk, is_standard(&a.output));
    let expected = a.field.shape.expected(a.fill.fill_value);
    if files.len() == 1 && input::holds_volume(files[0], &expected) {
        return Err(failure!(
            "{}: holds u, v and w: give --mode repair for a volume, or --keys u,v to compress u and v of a .npz as a stack \
             of planes",
            input_name(files[0])
        ));
    }
    let mut field = input::read_field(&files, &expected)?;
    field.periodic = a.choices.promise.spacing.periodic_or(0)?;
    let config = config(a, &field, (bound_kind, bound))?;
    let engine = Engine::new(&a.place)?;
    // Made before the work, so that a name that cannot be written is known at once.
    let target = Target::of(a)?;
    let progress = Progress::new("compressing", &voice);
    let done = engine.compress(&field, &config, &progress).map_err(|e| e.about(input_names(&files, ", ")))?;
    drop(progress);
    let points = Points::of(&engine, &field, &config).map_err(|e| e.about(input_names(&files, ", ")))?;
    let coasts = points.coasts;
    let added = target.commit(&done.result.1)?;
    let speed = megabytes_per_second(field.bytes(), done.seconds);
    voice.report(
        || {
            let (report, _) = &done.result;
            let more = json!({
                "command": "compress",
                "output": output_name(&a.output),
                "step": added.number,
                "offset": added.offset,
                "dx": config.dx,
                "dy": config.dy,
                "periodic": periodic_name(config.periodic),
                "bound_kind": bound_kind_name(bound_kind),
                "bound": bound,
                "fill_value": fill_json(config.fill_value),
                "input_bytes": field.bytes(),
                "ratio": field.bytes() as f64 / report.stream_bytes as f64,
                "mb_per_second": speed,
            });
            let choices = joined(choices_json(&config), shape_json(field.dims, field.dtype()));
            let report = joined(report_json(report), points.json());
            joined(joined(choices, done.json()), joined(report, more))
        },
        || {
            let file = output_name(&a.output);
            let name = if a.append { steps::name_of(&file, added.number) } else { file };
            compressed_text(&name, &field, (&config, &points), &done, speed)
        },
    )?;
    if let Some(note) = coasts::note(coasts, a.choices.promise.ties, a.choices.promise.preserve, bound) {
        voice.note(&note);
    }
    Ok(Verdict::Good)
}

/// Counts of a field whose critical points are kept: the report of the library has those inside triangles.
#[derive(Default)]
struct Points {
    critical_points: u64,
    vertex_zeros: u64,
    edge_zeros: u64,
    coasts: u64,
}

impl Points {
    fn of(engine: &Engine, field: &Field, config: &Config) -> Result<Points, Failure> {
        if config.preserve == Preserve::None {
            return Ok(Points::default());
        }
        let points = engine.critical_points(field, Spacing { dx: config.dx, dy: config.dy })?.result;
        let count = |kind| points.iter().filter(|p| p.kind == kind).count() as u64;
        Ok(Points {
            critical_points: points.len() as u64,
            vertex_zeros: count(Kind::VertexZero),
            edge_zeros: count(Kind::EdgeZero),
            coasts: coasts::coast_triangles(field, &points)?,
        })
    }

    fn json(&self) -> Value {
        json!({
            "critical_points": self.critical_points,
            "vertex_zeros": self.vertex_zeros,
            "edge_zeros": self.edge_zeros,
            "coast_triangles": self.coasts,
        })
    }

    fn text(&self, config: &Config) -> String {
        let (points, zeros) =
            (critical_points_text(self.critical_points), self.vertex_zeros + self.edge_zeros);
        let kept = match config.preserve {
            Preserve::Types if self.critical_points == 1 => format!("{points} kept with its type, none new"),
            Preserve::Types => format!("{points} kept with their types, none new"),
            Preserve::Points => format!("{points} kept, none new"),
            Preserve::None => return "critical points are not preserved (--preserve none)".to_owned(),
        };
        // Elsewhere the surroundings of these zeros are kept as well: docs/algorithm.md, section 2.6.
        let may_change = config.mode == Mode::Speculative && config.ties != Ties::All && config.bound > 0.0;
        match (zeros, may_change) {
            (0, _) => kept,
            (_, false) => format!("{kept} ({} at vertices or on edges)", grouped(zeros)),
            (_, true) => format!(
                "{kept} ({} at vertices or on edges, whose index may change with --ties {})",
                grouped(zeros),
                config.ties.name()
            ),
        }
    }
}

/// A configuration with these choices, without a shape.
pub fn chosen(
    a: &Choices,
    fill: &FillArguments,
    (bound_kind, bound): (BoundKind, f64),
) -> Result<Config, Failure> {
    let Spacing { dx, dy } = a.promise.spacing.or(Spacing::UNIT)?;
    Ok(Config {
        mode: a.mode.unwrap_or(Mode::BlockWise),
        predictor: a.predictor,
        coder: a.coder,
        preserve: a.promise.preserve,
        ties: a.promise.ties,
        fill_value: fill.fill_value,
        dx,
        dy,
        periodic: a.promise.spacing.periodic_or(0)?,
        ..Config::new(0, 0, bound_kind, bound)
    })
}

fn config(a: &Compress, field: &Field, bound: (BoundKind, f64)) -> Result<Config, Failure> {
    let Config { nx, ny, nz, u, v, .. } = field.dims.config(bound.0, bound.1);
    Ok(Config { dtype: field.dtype(), nx, ny, nz, u, v, ..chosen(&a.choices, &a.fill, bound)? })
}

fn compressed_text(
    output: &str,
    field: &Field,
    (config, points): (&Config, &Points),
    done: &Done<(Report, Vec<u8>)>,
    speed: f64,
) -> String {
    let report = &done.result.0;
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{output}: {} bytes of {}, ratio {:.2}; compressed{} in {:.3} s ({speed:.0} MB/s)",
        grouped(report.stream_bytes),
        grouped(field.bytes()),
        field.bytes() as f64 / report.stream_bytes as f64,
        done.place(),
        done.seconds,
    );
    let _ = writeln!(text, "largest error {:.6e}, bound {:.6e}", report.max_error, report.bound);
    let _ = writeln!(text, "{}", points.text(config));
    let _ = writeln!(text, "{}", vertices_text(report, config));
    text + warning_text(report)
}

/// The line of the vertices that are not coded as the others.
pub fn vertices_text(report: &Report, config: &Config) -> String {
    format!(
        "vertices: {} stored exactly, {} zero, {} with NaN or infinity{}",
        grouped(report.exact_vertices),
        grouped(report.zero_vertices),
        grouped(report.nonfinite_vertices),
        match config.fill_value {
            Some(_) => format!(", {} with the fill value", grouped(report.filled_vertices)),
            None => String::new(),
        }
    ) + stored_text(report, config)
}

/// Advice where all vertices are exact.
fn stored_text(report: &Report, config: &Config) -> &'static str {
    let hidden = report.zero_vertices + report.nonfinite_vertices + report.filled_vertices;
    // Of a field that is stored without codes all vertices count as exact.
    let all_exact = report.exact_vertices + hidden >= config.nx * config.ny * config.nz;
    if all_exact && report.exact_vertices > 0 && config.preserve != Preserve::None && config.bound > 0.0 {
        ": no vertex has an error; --preserve none, which keeps the bound alone, may take less"
    } else {
        ""
    }
}

/// The line of what a report warns of; empty without a warning.
pub fn warning_text(report: &Report) -> &'static str {
    match report.warnings & WARNING_WIDE_RANGE {
        0 => "",
        _ => {
            "warning: outliers make the range, a million times that of many other values, and --rel is a fraction of \
             it; --fill-value names a value that is no data, --abs does without the range\n"
        }
    }
}

/// The files to write, each with its format.
pub struct Places<'a> {
    u: (&'a Path, Format),
    /// Without it u has both.
    v: Option<(&'a Path, Format)>,
}

impl<'a> Places<'a> {
    /// Without a format the endings of the names tell it.
    pub fn new(u: &'a Path, v: Option<&'a Path>, format: Option<Format>) -> Result<Places<'a>, Failure> {
        let with_format = |path: &'a Path| (path, format.unwrap_or(Format::of(path)));
        // Two dashes are one stream with both components.
        let v = v.filter(|v| !(is_dash(v) && is_dash(u))).map(with_format);
        let u = with_format(u);
        if let Some((path, _)) =
            [Some(u), v].into_iter().flatten().find(|(_, f)| *f == Format::Npz && v.is_some())
        {
            return Err(failure!(
                "{}: an archive (.npz) holds both components: give it alone, in place of U and V",
                output_name(path)
            ));
        }
        Ok(Places { u, v })
    }

    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        [Some(self.u.0), self.v.map(|v| v.0)].into_iter().flatten()
    }

    pub fn check(&self, input: &Path) -> Result<(), Failure> {
        if let Some((v, _)) = self.v {
            if same_file(self.u.0, v) || (is_standard(self.u.0) && is_standard(v)) {
                return Err(failure!("{}: is given for U and for V; give two names", output_name(v)));
            }
        }
        for output in self.paths() {
            if !is_dash(input) && same_file(input, output) {
                return Err(failure!(
                    "{}: is the stream itself; give the array another name",
                    output.display()
                ));
            }
            refuse_terminal(output)?;
        }
        Ok(())
    }

    /// Without --format the ending of a name is its format.
    pub fn check_names(&self) -> Result<(), Failure> {
        self.paths().try_for_each(|path| Product::Arrays.refuse_name(path))
    }

    pub fn write(&self, held: &Held) -> Result<(), Failure> {
        let (path, format) = self.u;
        let outputs = match (self.v, &held.components) {
            (Some((v, v_format)), [Some(of_u), Some(of_v)]) => vec![
                store::component(path, format, of_u, held.dims)?,
                store::component(v, v_format, of_v, held.dims)?,
            ],
            _ => vec![store::whole(path, format, &held.named(), held.dims)?],
        };
        Output::commit(outputs)
    }

    /// A stream of one component has one array.
    fn check_count(&self, info: &StreamInfo) -> Result<(), Failure> {
        match (self.v, info.component) {
            (Some((v, _)), Some(component)) => Err(failure!(
                "{}: the stream holds component {} alone: give one output file (`factz join U V -o STREAM` makes the \
                 stream of both)",
                output_name(v),
                component.name()
            )),
            _ => Ok(()),
        }
    }
}

/// Restores the arrays U and V, or one with both components, from the stream of a file or one that was read.
pub fn decompress_planes(a: &Decompress, read: Option<Stream>) -> Result<Verdict, Failure> {
    let places = Places::new(&a.u, a.v.as_deref(), a.format)?;
    places.check(&a.input)?;
    if a.format.is_none() {
        places.check_names()?;
    }
    let voice = Voice::beside_data(&a.talk, places.paths().any(is_standard));
    let progress = Progress::new("decompressing", &voice);
    let selection = a.part.selection();
    let part = match &selection {
        Some(selection) => selection.read((&a.input, a.step.step), read, &a.place, &progress)?,
        None => whole(a, read, &progress)?,
    };
    drop(progress);
    let Part { held, done, info, .. } = &part;
    places.check_count(info)?;
    let dims = held.dims;
    places.write(held)?;
    let speed = megabytes_per_second(held.bytes(), done.seconds);
    let outputs: Vec<String> = places.paths().map(output_name).collect();
    let holds = |component| info.component.is_none_or(|only| only == component);
    voice.report(
        || {
            let more = json!({
                "command": "decompress",
                "step": part.number,
                "u": holds(Component::U).then(|| outputs.first()),
                "v": holds(Component::V).then(|| outputs.last()),
                "component": component_name(info),
                "output_bytes": held.bytes(),
                "stream_bytes": info.stream_bytes,
                "exact_vertices": done.result.exact_vertices,
                "nonfinite_vertices": done.result.nonfinite_vertices,
                "zero_vertices": done.result.zero_vertices,
                "absolute_bound": done.result.bound,
                "mb_per_second": speed,
            });
            joined(joined(shape_json(dims, info.dtype), done.json()), joined(more, a.part.json(&part)))
        },
        || {
            let read = selection.as_ref().map_or(String::new(), |selection| selection.text(&part));
            format!(
                "{}: {dims} values of {}{}; decompressed{} in {:.3} s ({speed:.0} MB/s){read}\n",
                outputs.join(", "),
                info.dtype.name(),
                if info.component.is_some() { "" } else { " each" },
                done.place(),
                done.seconds,
            )
        },
    )?;
    Ok(Verdict::Good)
}

/// The whole field.
fn whole(a: &Decompress, read: Option<Stream>, progress: &Progress) -> Result<Part, Failure> {
    let stream = read.map_or_else(|| steps::read(&a.input, a.step.step), Ok)?;
    let engine = Engine::new(&a.place)?;
    let (held, done) = stream.decode_held(&engine, progress)?;
    Ok(Part { held, first: [0; 3], done, info: stream.info, number: stream.number })
}
