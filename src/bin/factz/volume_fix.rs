//! Fixes for the reconstructions of volumes: `protect U0 V0 W0 U1 V1 W1` and `apply FIX U1 V1 W1 U2 V2 W2`, or
//! `apply FIX FIELD1 FIELD2`.

use crate::args::{Apply, Protect};
use crate::array::{Dims, Element, Values};
use crate::commands::required_bound;
use crate::engine::Engine;
use crate::failure::{failure, input_names, output_name, Failure};
use crate::figures::{bound_kind_name, fill_json, joined, periodic_name, shape_json};
use crate::fix::{self, applied_json, protected_text, report_json};
use crate::foreign::Product;
use crate::input::{self, Expected, OF_STREAM};
use crate::options::{names_of, Spacing};
use crate::output::{is_standard, refuse_input, refuse_terminal, Output};
use crate::progress::Progress;
use crate::say::{counted, megabytes_per_second, Voice};
use crate::stream::Stream;
use crate::volume::Places;
use crate::{memory, steps, volume, Verdict};
use factz::{
    apply_volume, max_volume_fix_bytes, protect_volume, Config, Dtype, Execution, FixInfo, FixReport, Status,
    ViewMut, VolumeRequest,
};
use serde_json::json;
use std::path::Path;
use std::time::Instant;

/// A volume and its reconstruction.
struct Volumes {
    dims: Dims,
    before: [Values; 3],
    after: [Values; 3],
}

/// The stream of a volume at the end of the files, if there is one.
fn stream_of(a: &Protect) -> Result<Option<Stream>, Failure> {
    let stream = a.files.last().map(|path| steps::read_if_stream(path, a.step.step)).transpose()?.flatten();
    Ok(stream.filter(|stream| stream.info.components == 3))
}

/// Whether the files are those of a volume: U0 V0 W0, and U1 V1 W1 or a stream.
pub fn is_asked(a: &Protect) -> Result<bool, Failure> {
    Ok(a.files.len() == 6 || (a.files.len() == 4 && stream_of(a)?.is_some()))
}

impl Volumes {
    fn read(a: &Protect, stream: Option<&Stream>, voice: &Voice) -> Result<Volumes, Failure> {
        let files: Vec<&Path> = a.files.iter().map(|path| path.as_path()).collect();
        let (first, second) = files.split_at(3);
        let mut expected = a.shape.expected(a.fill.fill_value);
        if let Some(stream) = stream {
            expected.dims = expected.dims.or(Some(stream.dims()));
            expected.dtype = expected.dtype.or(Some(stream.info.dtype));
        } else {
            a.step.refuse_without_stream(&files)?;
        }
        let (dims, before) = input::read_components(first, &expected)?;
        let dtype = before[0].dtype();
        let after = match stream {
            None => {
                let expected = Expected { dims: Some(dims), dtype: Some(dtype), ..expected };
                input::read_components(second, &expected)?.1
            }
            Some(stream) if stream.dims() != dims || stream.info.dtype != dtype => {
                return Err(failure!(
                    "{}: holds {} values of {}, the original {dims} of {}: {OF_STREAM}",
                    stream.name,
                    stream.dims(),
                    stream.info.dtype.name(),
                    dtype.name()
                ));
            }
            Some(stream) => {
                let engine = Engine::on_processor(a.threads);
                volume::decode(stream, &engine, &Progress::new("decompressing", voice))?.0
            }
        };
        Ok(Volumes { dims, before, after })
    }

    fn dtype(&self) -> Dtype {
        self.before[0].dtype()
    }

    fn bytes(&self) -> u64 {
        3 * self.dims.count() * self.dtype().bytes()
    }

    fn config(&self, a: &Protect, stream: Option<&Stream>) -> Result<Config, Failure> {
        let of_stream = stream.map(|stream| &stream.info);
        let Spacing { dx, dy } = match of_stream {
            Some(i) => a.spacing.or(Spacing { dx: i.dx, dy: i.dy })?,
            None => a.spacing.or(Spacing::UNIT)?,
        };
        let periodic = match of_stream {
            Some(i) => a.spacing.periodic_of_volume_or(i.periodic),
            None => a.spacing.periodic_of_volume(),
        };
        let (kind, bound) = required_bound(&a.bound)?;
        Ok(Config {
            dtype: self.dtype(),
            dx,
            dy,
            dz: a.depth.dz.or(of_stream.map(|i| i.dz)).unwrap_or(1.0),
            preserve: a.preserve,
            ties: a.ties,
            fill_value: a.fill.fill_value.or(of_stream.and_then(|i| i.fill_value)),
            periodic,
            ..Config::volume([self.dims.nx, self.dims.ny, self.dims.nz], kind, bound)
        })
    }

    fn made<T: Element>(&mut self, config: &Config, threads: usize) -> Result<(FixReport, Vec<u8>), Failure> {
        let request = VolumeRequest::new(*config)?;
        let mut fix = memory::zeros(max_volume_fix_bytes(&request), "the fix")?;
        let execution = Execution { threads, progress: None };
        let [original, other] =
            [&mut self.before, &mut self.after].map(|volume| volume::views::<T>(volume, config));
        let report = protect_volume(&request, original, other, &mut fix, execution)?;
        match report.status {
            Status::Ok => {
                fix.truncate(report.fix_bytes as usize);
                Ok((report, fix))
            }
            _ => Err(failure!("the fix takes {} bytes: please report this", report.required_bytes)),
        }
    }
}

/// Makes the fix of a volume.
pub fn protect(a: &Protect) -> Result<Verdict, Failure> {
    required_bound(&a.bound)?;
    let files: Vec<&Path> = a.files.iter().map(|path| path.as_path()).collect();
    refuse_input(&a.output, &files, "fix")?;
    Product::Stream.refuse_name(&a.output)?;
    refuse_terminal(&a.output)?;
    let voice = Voice::beside_data(&a.talk, is_standard(&a.output));
    let stream = stream_of(a)?;
    let mut volumes = Volumes::read(a, stream.as_ref(), &voice)?;
    let config = volumes.config(a, stream.as_ref())?;
    let mut output = Output::create(&a.output)?;
    let start = Instant::now();
    let made = match config.dtype {
        Dtype::F32 => volumes.made::<f32>(&config, a.threads),
        Dtype::F64 => volumes.made::<f64>(&config, a.threads),
    };
    let (report, fix) = made.map_err(|e| e.about(input_names(&files, ", ")))?;
    let speed = megabytes_per_second(volumes.bytes(), start.elapsed().as_secs_f64());
    output.write(&fix)?;
    Output::commit(vec![output])?;
    voice.report(
        || {
            let more = json!({
                "command": "protect",
                "output": output_name(&a.output),
                "components": 3,
                "preserve": config.preserve.name(),
                "ties": config.ties.name(),
                "dx": config.dx,
                "dy": config.dy,
                "dz": config.dz,
                "periodic": periodic_name(config.periodic),
                "bound_kind": bound_kind_name(config.bound_kind),
                "bound": config.bound,
                "fill_value": fill_json(config.fill_value),
                "input_bytes": volumes.bytes(),
                "mb_per_second": speed,
            });
            joined(joined(shape_json(volumes.dims, config.dtype), report_json(&report)), more)
        },
        || {
            let changed = ["tetrahedron changed", "tetrahedra changed"];
            protected_text(&output_name(&a.output), volumes.bytes(), changed, &report, speed)
        },
    )?;
    Ok(Verdict::Good)
}

/// Whether the fix belongs to a volume.
pub fn is_applied(a: &Apply) -> Result<bool, Failure> {
    Ok(fix::header_of(&a.fix)?.is_some_and(|info| info.components == 3))
}

/// Applies the fix of a volume.
pub fn apply(a: &Apply) -> Result<Verdict, Failure> {
    let files: Vec<&Path> = a.files.iter().map(|path| path.as_path()).collect();
    let (2 | 6) = files.len() else {
        return Err(failure!(
            "the number of files is {}, and {} belongs to a volume: give U1 V1 W1 U2 V2 W2, or FIELD1 FIELD2",
            files.len(),
            a.fix.display()
        ));
    };
    let (inputs, outputs) = files.split_at(files.len() / 2);
    let places = Places::new(outputs, a.format, &a.fix)?;
    let voice = Voice::beside_data(&a.talk, places.are_standard());
    let (fix, info) = fix::read(&a.fix)?;
    let dims = Dims { nx: info.nx, ny: info.ny, nz: info.nz };
    let expected = Expected {
        dims: Some(dims),
        dtype: Some(info.dtype),
        keys: names_of(&a.keys),
        fill_value: None,
        ..Expected::default()
    };
    let (_, mut components) = input::read_components(inputs, &expected)?;
    let report = match info.dtype {
        Dtype::F32 => applied::<f32>(&fix, &info, &mut components, a.threads),
        Dtype::F64 => applied::<f64>(&fix, &info, &mut components, a.threads),
    };
    let report = report.map_err(|e| e.about(a.fix.display()))?;
    places.write(&components, dims)?;
    let names = places.names();
    voice.report(
        || {
            let more = json!({
                "command": "apply", "components": 3, "u": names[0], "v": names.get(1), "w": names.get(2),
            });
            joined(joined(shape_json(dims, info.dtype), applied_json(&report)), more)
        },
        || {
            format!(
                "{}: {dims} values of {} each; {} repaired\n",
                names.join(", "),
                info.dtype.name(),
                counted(report.repaired_vertices, "vertex", "vertices"),
            )
        },
    )?;
    Ok(Verdict::Good)
}

fn applied<T: Element>(
    fix: &[u8],
    info: &FixInfo,
    components: &mut [Values; 3],
    threads: usize,
) -> Result<FixReport, Failure> {
    let sizes = [info.nx, info.ny, info.nz];
    let config = Config { dtype: info.dtype, ..Config::volume(sizes, info.bound_kind, info.bound) };
    let views = components.each_mut().map(|values| {
        ViewMut::stack(T::unwrap(values).expect("the type is that of the fix"), info.nx, info.ny)
    });
    Ok(apply_volume(&config, fix, views, Execution { threads, progress: None })?)
}
