//! Fixes for the reconstructions of volumes: `protect U0 V0 W0 U1 V1 W1` and `apply FIX U1 V1 W1 U2 V2 W2`, with one
//! file of all components in place of three.

use crate::args::{Apply, Protect};
use crate::array::{Dims, Element, Values};
use crate::commands::required_bound;
use crate::failure::{failure, input_names, output_name, Failure};
use crate::figures::{bound_kind_name, fill_json, joined, periodic_name, shape_json};
use crate::fix::{self, applied_json, protected_text, report_json};
use crate::foreign::Product;
use crate::input;
use crate::options::names_of;
use crate::output::{is_standard, refuse_input, refuse_terminal, Output};
use crate::say::{counted, megabytes_per_second, Voice};
use crate::volume::Places;
use crate::volume_pair::VolumePair;
use crate::{memory, Verdict};
use factz::{
    apply_volume, max_volume_fix_bytes, protect_volume, Config, Dtype, Execution, FixInfo, FixReport, Status,
    ViewMut, VolumeRequest,
};
use serde_json::json;
use std::path::Path;
use std::time::Instant;

fn made<T: Element>(
    pair: &mut VolumePair,
    config: &Config,
    threads: usize,
) -> Result<(FixReport, Vec<u8>), Failure> {
    let request = VolumeRequest::new(*config)?;
    let mut fix = memory::zeros(max_volume_fix_bytes(&request), "the fix")?;
    let execution = Execution { threads, progress: None };
    let (original, other) = (pair.before.views::<T>(), pair.after.views::<T>());
    let report = protect_volume(&request, original, other, &mut fix, execution)?;
    match report.status {
        Status::Ok => {
            fix.truncate(report.fix_bytes as usize);
            Ok((report, fix))
        }
        _ => Err(failure!("the fix takes {} bytes: please report this", report.required_bytes)),
    }
}

/// Makes the fix of a volume.
pub fn protect(a: &Protect) -> Result<Verdict, Failure> {
    let (bound_kind, bound) = required_bound(&a.bound)?;
    let files: Vec<&Path> = a.files.iter().map(|path| path.as_path()).collect();
    refuse_input(&a.output, &files, "fix")?;
    Product::Stream.refuse_name(&a.output)?;
    refuse_terminal(&a.output)?;
    let voice = Voice::beside_data(&a.talk, is_standard(&a.output));
    let mut pair = VolumePair::read(&files, &a.shape, &a.fill, (&a.step, a.threads), &voice)?;
    let place = pair.before.config((&a.spacing, &a.depth), &a.fill, pair.info.as_ref())?;
    let config = Config { bound_kind, bound, preserve: a.preserve, ties: a.ties, ..place };
    let dims = pair.before.dims;
    let field_bytes = 3 * dims.count() * config.dtype.bytes();
    let mut output = Output::create(&a.output)?;
    let start = Instant::now();
    let made = match config.dtype {
        Dtype::F32 => made::<f32>(&mut pair, &config, a.threads),
        Dtype::F64 => made::<f64>(&mut pair, &config, a.threads),
    };
    let (report, fix) = made.map_err(|e| e.about(input_names(&files, ", ")))?;
    let speed = megabytes_per_second(field_bytes, start.elapsed().as_secs_f64());
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
                "input_bytes": field_bytes,
                "mb_per_second": speed,
            });
            joined(joined(shape_json(dims, config.dtype), report_json(&report)), more)
        },
        || {
            let changed = ["tetrahedron changed", "tetrahedra changed"];
            protected_text(&output_name(&a.output), field_bytes, changed, &report, speed)
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
    let expected = fix::expected(&a.fix, dims, &info, names_of(&a.keys));
    fix::refuse_components(inputs, &expected, 3)?;
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
