//! Volumes: three components on a grid of cubes (`compress U V W`, `decompress STREAM U V W`, or one file with all
//! components).

use crate::args::{Compress, Decompress};
use crate::array::{Dims, Element, Values};
use crate::engine::{with_progress, Done, Engine};
use crate::failure::{failure, input_name, input_names, output_name, Failure};
use crate::figures::{
    bound_kind_name, choices_json, fill_json, info_json, joined, periodic_name, report_json, shape_json,
};
use crate::foreign::Product;
use crate::options::{Choices, FillArguments, Spacing};
use crate::output::{is_standard, refuse_input, refuse_terminal, same_file, Output};
use crate::progress::Progress;
use crate::region::Part;
use crate::say::{grouped, megabytes_per_second, Voice};
use crate::store::{self, Format};
use crate::stream::Stream;
use crate::{commands, input, memory, steps, Verdict};
use factz::{
    compress_volume, decompress_volume, max_volume_stream_bytes, BoundKind, Config, Dtype, Mode, Predictor,
    Preserve, Report, Status, StreamInfo, View, ViewMut, VolumeRequest,
};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Whether the arrays are those of a volume: there are three, or the mode is that of volumes.
pub fn is_given(a: &Compress) -> bool {
    a.w.is_some() || a.choices.mode == Some(Mode::Repair)
}

/// Compresses the arrays U, V and W, or one with all components.
pub fn compress(a: &Compress) -> Result<Verdict, Failure> {
    let bound = commands::required_bound(&a.bound)?;
    let files: Vec<&Path> = a.field.files().into_iter().chain(a.w.as_deref()).collect();
    refuse_input(&a.output, &files, "stream")?;
    Product::Stream.refuse_name(&a.output)?;
    refuse_terminal(&a.output)?;
    let voice = Voice::beside_data(&a.talk, is_standard(&a.output));
    let (dims, mut components) = input::read_components(&files, &a.field.shape.expected(a.fill.fill_value))?;
    let Dims { nx, ny, nz } = dims;
    let choices = chosen(&a.choices, &a.fill, a.depth.dz.unwrap_or(1.0), bound)?;
    let config = Config { dtype: components[0].dtype(), nx, ny, nz, ..choices };
    let target = commands::Target::of(a)?;
    let engine = Engine::new(&a.place)?;
    let progress = Progress::new("compressing", &voice);
    let compressed = match config.dtype {
        Dtype::F32 => compressed::<f32>(&mut components, &config, &engine, &progress),
        Dtype::F64 => compressed::<f64>(&mut components, &config, &engine, &progress),
    };
    let done = compressed.map_err(|e| e.about(input_names(&files, ", ")))?;
    let ((report, stream), seconds) = (&done.result, done.seconds);
    drop(progress);
    let added = target.commit(stream)?;
    let bytes = 3 * dims.count() * config.dtype.bytes();
    let speed = megabytes_per_second(bytes, seconds);
    let ratio = bytes as f64 / report.stream_bytes as f64;
    voice.report(
        || {
            let more = json!({
                "command": "compress", "components": 3, "nx": config.nx, "ny": config.ny, "nz": config.nz,
                "dtype": config.dtype.name(), "dx": config.dx, "dy": config.dy, "dz": config.dz,
                "periodic": periodic_name(config.periodic), "bound_kind": bound_kind_name(bound.0),
                "bound": bound.1, "output": output_name(&a.output), "step": added.number,
                "offset": added.offset, "input_bytes": bytes, "ratio": ratio,
                "mb_per_second": speed, "fill_value": fill_json(config.fill_value),
                "points_in_tetrahedra": report.points_in_triangles,
            });
            joined(joined(choices_json(&config), report_json(report)), joined(done.json(), more))
        },
        || {
            let points = format!("{} critical points in tetrahedra", grouped(report.points_in_triangles));
            let kept = match config.preserve {
                Preserve::None => "critical points are not looked at (--preserve none)".to_string(),
                Preserve::Points => format!("{points} kept, none new"),
                Preserve::Types => format!("{points} kept with their types, none new"),
            };
            let file = output_name(&a.output);
            let name = if a.append { steps::name_of(&file, added.number) } else { file };
            format!(
                "{name}: {} bytes of {}, ratio {ratio:.2}; compressed{} in {seconds:.3} s ({speed:.0} MB/s)\n\
                 largest error {:.6e}, bound {:.6e}\n{kept}\n{}\n{}",
                grouped(report.stream_bytes),
                grouped(bytes),
                done.place(),
                report.max_error,
                report.bound,
                commands::vertices_text(report, &config),
                commands::warning_text(report),
            )
        },
    )?;
    Ok(Verdict::Good)
}

/// The configuration of a volume with these choices, without a shape.
pub fn chosen(
    choices: &Choices,
    fill: &FillArguments,
    dz: f64,
    bound: (BoundKind, f64),
) -> Result<Config, Failure> {
    if let Some(mode @ (Mode::BlockWise | Mode::Speculative)) = choices.mode {
        return Err(failure!(
            "--mode {} is one of planes: volumes have one mode, repair, which codes them without constraints, verifies \
             and repairs them; leave --mode out",
            mode.name()
        ));
    }
    if choices.predictor == Predictor::Lorenzo {
        return Err(failure!("--predictor lorenzo is one of planes: leave --predictor out"));
    }
    let Spacing { dx, dy } = choices.promise.spacing.or(Spacing { dx: 1.0, dy: 1.0 })?;
    Ok(Config {
        dx,
        dy,
        dz,
        coder: choices.coder,
        preserve: choices.promise.preserve,
        ties: choices.promise.ties,
        fill_value: fill.fill_value,
        periodic: choices.promise.spacing.periodic_of_volume(),
        ..Config::volume([0; 3], bound.0, bound.1)
    })
}

/// Components of the type of their values.
pub fn slices<T: Element>(components: &mut [Values; 3]) -> [&[T]; 3] {
    components.each_mut().map(|values| &*T::unwrap(values).expect("the type is that of the components"))
}

/// Views of components of the type and shape of a configuration.
pub fn views<'a, T: Element>(components: &'a mut [Values; 3], config: &Config) -> [View<'a, T>; 3] {
    components.each_mut().map(|values| {
        View::stack(T::unwrap(values).expect("the type is that of the configuration"), config.nx, config.ny)
    })
}

fn compressed<T: Element>(
    components: &mut [Values; 3],
    config: &Config,
    engine: &Engine,
    progress: &Progress,
) -> Result<Done<(Report, Vec<u8>)>, Failure> {
    let request = VolumeRequest::new(*config)?;
    engine.run(
        components,
        |device, components| device.compress_volume(&request, slices::<T>(components)),
        |components| {
            let mut stream = memory::zeros(max_volume_stream_bytes(&request), "the stream")?;
            let views = views::<T>(components, config);
            let report = with_progress(engine.threads(), Some(progress), |execution| {
                compress_volume(&request, views, &mut stream, execution)
            })?;
            match report.status {
                Status::Ok => {
                    stream.truncate(report.stream_bytes as usize);
                    Ok((report, stream))
                }
                _ => Err(failure!("the stream takes {} bytes: please report this", report.required_bytes)),
            }
        },
    )
}

/// The arrays of the stream of a volume.
pub fn decode(
    stream: &Stream,
    engine: &Engine,
    progress: &Progress,
) -> Result<([Values; 3], Done<Report>), Failure> {
    let decoded = match stream.info.dtype {
        Dtype::F32 => decoded::<f32>(stream, engine, progress),
        Dtype::F64 => decoded::<f64>(stream, engine, progress),
    };
    decoded.map_err(|e| e.about(&stream.name))
}

fn decoded<T: Element>(
    stream: &Stream,
    engine: &Engine,
    progress: &Progress,
) -> Result<([Values; 3], Done<Report>), Failure> {
    let StreamInfo { nx, ny, nz, dtype, .. } = stream.info;
    let config = Config { dtype, ..Config::volume([nx, ny, nz], BoundKind::Absolute, 0.0) };
    let request = VolumeRequest::new(config)?;
    let room = || memory::zeros::<T>(nx * ny * nz, "the values");
    let mut components = [room()?, room()?, room()?];
    let done = engine.run(
        &mut components,
        |device, components| device.decompress_volume(&request, &stream.bytes, components),
        |components| {
            let views = components.each_mut().map(|values| ViewMut::stack(values, nx, ny));
            Ok(with_progress(engine.threads(), Some(progress), |execution| {
                decompress_volume(&config, &stream.bytes, views, execution)
            })?)
        },
    )?;
    Ok((components.map(T::wrap), done))
}

/// Files for a volume, each with its format: U, V and W, or one for all components.
pub struct Places<'a>(Vec<(&'a Path, Format)>);

impl<'a> Places<'a> {
    /// Checks the files, none of which may be the input. Without a format the endings of their names tell it.
    pub fn new(paths: &[&'a Path], format: Option<Format>, input: &Path) -> Result<Places<'a>, Failure> {
        let with_format = |path: &'a Path| match format.unwrap_or(Format::of(path)) {
            Format::Npz if paths.len() == 3 => Err(failure!(
                "{}: an archive (.npz) holds all components: give it alone, in place of U, V and W",
                output_name(path)
            )),
            format => Ok((path, format)),
        };
        for (k, path) in paths.iter().enumerate() {
            refuse_input(path, &[input], "array")?;
            refuse_terminal(path)?;
            if paths[..k]
                .iter()
                .any(|other| same_file(other, path) || is_standard(other) && is_standard(path))
            {
                return Err(failure!("{}: is given for two components; give three names", output_name(path)));
            }
            if format.is_none() {
                Product::Arrays.refuse_name(path)?;
            }
        }
        paths.iter().map(|path| with_format(path)).collect::<Result<_, _>>().map(Places)
    }

    /// Whether one of the files is standard output.
    pub fn are_standard(&self) -> bool {
        self.0.iter().any(|place| is_standard(place.0))
    }

    pub fn names(&self) -> Vec<String> {
        self.0.iter().map(|place| output_name(place.0)).collect()
    }

    pub fn write(&self, components: &[Values; 3], dims: Dims) -> Result<(), Failure> {
        let outputs: Result<Vec<Output>, Failure> = match self.0[..] {
            [(path, format)] => {
                let named: Vec<_> = ["u", "v", "w"].into_iter().zip(components).collect();
                store::whole(path, format, &named, dims).map(|output| vec![output])
            }
            _ => {
                let places = self.0.iter().zip(components);
                places.map(|(&(path, format), values)| store::component(path, format, values, dims)).collect()
            }
        };
        Output::commit(outputs?)
    }
}

/// Restores the arrays U, V and W, or one with all components, from the stream of a file or one that was read.
pub fn decompress(a: &Decompress, read: Option<Stream>) -> Result<Verdict, Failure> {
    let paths: Vec<&Path> =
        [Some(&a.u), a.v.as_ref(), a.w.as_ref()].into_iter().flatten().map(PathBuf::as_path).collect();
    if paths.len() == 2 {
        return Err(failure!(
            "{} holds a volume: give three outputs, U, V and W, or one for all components",
            input_name(&a.input)
        ));
    }
    let places = Places::new(&paths, a.format, &a.input)?;
    let voice = Voice::beside_data(&a.talk, places.are_standard());
    let progress = Progress::new("decompressing", &voice);
    let selection = a.part.selection();
    let part = match &selection {
        Some(selection) => selection.read_volume((&a.input, a.step.step), read, &a.place, &progress)?,
        None => whole(a, read, &progress)?,
    };
    drop(progress);
    let ((dims, components), info, done) = (&part.held, &part.info, &part.done);
    places.write(components, *dims)?;
    let bytes = 3 * dims.count() * info.dtype.bytes();
    let speed = megabytes_per_second(bytes, done.seconds);
    let names = places.names();
    voice.report(
        || {
            let more = json!({
                "command": "decompress", "step": part.number, "u": names[0], "v": names.get(1), "w": names.get(2),
                "output_bytes": bytes, "exact_vertices": done.result.exact_vertices, "mb_per_second": speed,
            });
            let more = joined(joined(more, shape_json(*dims, info.dtype)), a.part.json(&part));
            joined(info_json(info), joined(done.json(), more))
        },
        || {
            format!(
                "{}: {dims} values of {} each; decompressed{} in {:.3} s ({speed:.0} MB/s){}\n",
                names.join(", "),
                info.dtype.name(),
                done.place(),
                done.seconds,
                selection.as_ref().map_or(String::new(), |selection| selection.text(&part)),
            )
        },
    )?;
    Ok(Verdict::Good)
}

/// The whole volume.
fn whole(
    a: &Decompress,
    read: Option<Stream>,
    progress: &Progress,
) -> Result<Part<(Dims, [Values; 3])>, Failure> {
    let stream = read.map_or_else(|| steps::read(&a.input, a.step.step), Ok)?;
    let engine = Engine::new(&a.place)?;
    let (components, done) = decode(&stream, &engine, progress)?;
    let held = (stream.dims(), components);
    Ok(Part { held, first: [0; 3], done, info: stream.info, number: stream.number })
}
