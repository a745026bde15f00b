//! Fixes for the reconstructions of volumes: `protect U0 V0 W0 U1 V1 W1` and `apply FIX U1 V1 W1 U2 V2 W2`, with one
//! file of all components in place of three.

use crate::args::{Apply, Protect};
use crate::array::{Dims, Element, Values};
use crate::commands::required_bound;
use crate::engine::{Done, Engine};
use crate::failure::{failure, input_names, output_name, Failure};
use crate::figures::{bound_kind_name, fill_json, joined, periodic_name, shape_json};
use crate::fix::{self, applied_json, applied_text, made_json, protected_text, Made};
use crate::foreign::Product;
use crate::input;
use crate::options::names_of;
use crate::output::{is_standard, refuse_input, refuse_terminal, Output};
use crate::say::Voice;
use crate::volume::{slices, Places};
use crate::volume_pair::VolumePair;
use crate::Verdict;
use factz::{
    apply_volume, max_volume_fix_bytes, protect_volume, BoundKind, Config, Dtype, Execution, FixInfo,
    FixReport, ViewMut, VolumeRequest,
};
use serde_json::json;
use std::path::Path;

fn made<T: Element>(pair: &mut VolumePair, config: &Config, engine: &Engine) -> Result<Made, Failure> {
    let request = VolumeRequest::new(*config)?;
    engine.run(
        pair,
        |device, VolumePair { before, after, .. }| {
            let [original, other] = [before, after].map(|volume| slices::<T>(&mut volume.components));
            device.protect_volume(&request, original, other)
        },
        |VolumePair { before, after, .. }| {
            let (original, other) = (before.views::<T>(), after.views::<T>());
            let execution = Execution { threads: engine.threads(), progress: None };
            fix::written(max_volume_fix_bytes(&request), |fix| {
                protect_volume(&request, original, other, fix, execution)
            })
        },
    )
}

/// Makes the fix of a volume.
pub fn protect(a: &Protect) -> Result<Verdict, Failure> {
    let (bound_kind, bound) = required_bound(&a.bound)?;
    let files: Vec<&Path> = a.files.iter().map(|path| path.as_path()).collect();
    refuse_input(&a.output, &files, "fix")?;
    Product::Stream.refuse_name(&a.output)?;
    refuse_terminal(&a.output)?;
    let voice = Voice::beside_data(&a.talk, is_standard(&a.output));
    let engine = Engine::new(&a.place)?;
    let mut pair = VolumePair::read(&files, &a.shape, &a.fill, &a.step, (&engine, &voice))?;
    let place = pair.before.config((&a.spacing, &a.depth), &a.fill, pair.info.as_ref())?;
    let config = Config { bound_kind, bound, preserve: a.preserve, ties: a.ties, ..place };
    let dims = pair.before.dims;
    let field_bytes = 3 * dims.count() * config.dtype.bytes();
    let mut output = Output::create(&a.output)?;
    let made = match config.dtype {
        Dtype::F32 => made::<f32>(&mut pair, &config, &engine),
        Dtype::F64 => made::<f64>(&mut pair, &config, &engine),
    };
    let done = made.map_err(|e| e.about(input_names(&files, ", ")))?;
    output.write(&done.result.1)?;
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
            });
            joined(joined(shape_json(dims, config.dtype), made_json(&done, field_bytes)), more)
        },
        || {
            let changed = ["tetrahedron changed", "tetrahedra changed"];
            protected_text(&output_name(&a.output), field_bytes, changed, &done)
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
    let engine = Engine::new(&a.place)?;
    let dims = Dims { nx: info.nx, ny: info.ny, nz: info.nz };
    let expected = fix::expected(&a.fix, dims, &info, names_of(&a.keys));
    fix::refuse_components(inputs, &expected, 3)?;
    let (_, mut components) = input::read_components(inputs, &expected)?;
    let applied = match info.dtype {
        Dtype::F32 => applied::<f32>(&fix, &info, &mut components, &engine),
        Dtype::F64 => applied::<f64>(&fix, &info, &mut components, &engine),
    };
    let done = applied.map_err(|e| e.about(a.fix.display()))?;
    let field_bytes = 3 * dims.count() * info.dtype.bytes();
    places.write(&components, dims)?;
    let names = places.names();
    voice.report(
        || {
            let more = json!({
                "command": "apply", "components": 3, "u": names[0], "v": names.get(1), "w": names.get(2),
            });
            joined(joined(shape_json(dims, info.dtype), applied_json(&done, field_bytes)), more)
        },
        || applied_text(&names, &info, &done, field_bytes),
    )?;
    Ok(Verdict::Good)
}

fn applied<T: Element>(
    fix: &[u8],
    info: &FixInfo,
    components: &mut [Values; 3],
    engine: &Engine,
) -> Result<Done<FixReport>, Failure> {
    let config =
        Config { dtype: info.dtype, ..Config::volume([info.nx, info.ny, info.nz], BoundKind::Absolute, 0.0) };
    let mut values = components.each_mut().map(|c| T::unwrap(c).expect("the type is that of the fix"));
    engine.run(
        &mut values,
        |device, [u, v, w]| device.apply_volume(&VolumeRequest::new(config)?, fix, [u, v, w]),
        |values| {
            let views = values.each_mut().map(|values| ViewMut::stack(values, info.nx, info.ny));
            let execution = Execution { threads: engine.threads(), progress: None };
            Ok(apply_volume(&config, fix, views, execution)?)
        },
    )
}
