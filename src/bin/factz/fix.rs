//! Fixes for the reconstructions of other compressors: `protect` makes one, `apply` applies it.

use crate::args::{Apply, Protect};
use crate::array::{typed, Dims, Field, Held};
use crate::commands::{required_bound, Places};
use crate::engine::{Done, Engine};
use crate::failure::{failure, input_name, input_names, is_dash, output_name, Failure};
use crate::figures::{bound_kind_name, fill_json, joined, periodic_name, shape_json};
use crate::foreign::Product;
use crate::input::{self, Expected};
use crate::memory;
use crate::options::{names_of, Spacing, THREE_COMPONENTS};
use crate::output::{is_standard, refuse_input, refuse_terminal, Output};
use crate::pair::{self, Pair};
use crate::say::{counted, grouped, megabytes_per_second, Voice};
use crate::Verdict;
use factz::{
    BoundKind, Config, Execution, FixInfo, FixReport, Request, Status, View, ViewMut, VOLUME_INSPECT_BYTES,
};
use serde_json::{json, Value};
use std::fmt::Write as _;
use std::fs::File;
use std::io::Read;
use std::path::Path;

pub fn protect(a: &Protect) -> Result<Verdict, Failure> {
    a.depth.refuse_for_planes(THREE_COMPONENTS)?;
    let (bound_kind, bound) = required_bound(&a.bound)?;
    let files: Vec<&Path> = a.files.iter().map(|path| path.as_path()).collect();
    refuse_input(&a.output, &files, "fix")?;
    Product::Stream.refuse_name(&a.output)?;
    refuse_terminal(&a.output)?;
    let voice = Voice::beside_data(&a.talk, is_standard(&a.output));
    let engine = Engine::new(&a.place)?;
    let mut pair = Pair::read(&files, &a.shape, &a.fill, &a.step, (&engine, &voice))?;
    let Spacing { dx, dy } = pair.place(&a.spacing)?;
    let (field, dims) = (&pair.before, pair.before.dims);
    let config = Config {
        dtype: field.dtype(),
        dx,
        dy,
        preserve: a.preserve,
        ties: a.ties,
        fill_value: a.fill.fill_value,
        periodic: field.periodic,
        ..dims.config(bound_kind, bound)
    };
    let mut output = Output::create(&a.output)?;
    let done = made(&pair, &config, &engine).map_err(|e| e.about(input_names(&files, ", ")))?;
    output.write(&done.result.1)?;
    Output::commit(vec![output])?;
    voice.report(
        || {
            let more = json!({
                "command": "protect",
                "output": output_name(&a.output),
                "preserve": a.preserve.name(),
                "ties": a.ties.name(),
                "dx": dx,
                "dy": dy,
                "periodic": periodic_name(config.periodic),
                "bound_kind": bound_kind_name(bound_kind),
                "bound": bound,
                "fill_value": fill_json(config.fill_value),
            });
            joined(joined(shape_json(dims, field.dtype()), made_json(&done, field.bytes())), more)
        },
        || {
            let changed = ["triangle changed", "triangles changed"];
            protected_text(&output_name(&a.output), field.bytes(), changed, &done)
        },
    )?;
    Ok(Verdict::Good)
}

/// A fix with its report, and what making it took.
pub type Made = Done<(FixReport, Vec<u8>)>;

fn made(pair: &Pair, config: &Config, engine: &Engine) -> Result<Made, Failure> {
    let (request, Dims { nx, ny, .. }) = (Request::new(*config)?, pair.before.dims);
    let (before, after) = (&pair.before, &pair.after);
    typed!([&before.u, &before.v, &after.u, &after.v] as [u0, v0, u1, v1] => engine.run(
        &mut (),
        |device, ()| device.protect(&request, [u0, v0], [u1, v1]),
        |()| {
            let [original, other] = [[u0, v0], [u1, v1]].map(|pair| pair.map(|c| View::stack(c, nx, ny)));
            let execution = Execution { threads: engine.threads(), progress: None };
            written(factz::max_fix_bytes(&request), |fix| {
                factz::protect(&request, original, other, fix, execution)
            })
        },
    ))
}

/// The report, and the fix that the processor writes with `write` into a buffer of `most` bytes.
pub fn written(
    most: u64,
    write: impl FnOnce(&mut [u8]) -> factz::Result<FixReport>,
) -> Result<(FixReport, Vec<u8>), Failure> {
    let mut fix = memory::zeros(most, "the fix")?;
    let report = write(&mut fix)?;
    if report.status != Status::Ok {
        return Err(failure!(
            "the fix takes {} bytes, more than the buffer of {most}: please report this",
            report.required_bytes
        ));
    }
    fix.truncate(report.fix_bytes as usize);
    Ok((report, fix))
}

/// The text that `factz protect` prints; `changed` names one simplex of the mesh that changed, and several.
pub fn protected_text(output: &str, field_bytes: u64, changed: [&str; 2], done: &Made) -> String {
    let report = &done.result.0;
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{output}: {} bytes, for a reconstruction of {} bytes; made{} in {:.3} s ({:.0} MB/s)",
        grouped(report.fix_bytes),
        grouped(field_bytes),
        done.place(),
        done.seconds,
        megabytes_per_second(field_bytes, done.seconds),
    );
    let _ = writeln!(text, "largest error {:.6e}, bound {:.6e}", report.max_error, report.bound);
    let _ = writeln!(
        text,
        "{}: {} repaired, {} of them stored exactly, in {}",
        counted(report.violated_triangles, changed[0], changed[1]),
        counted(report.repaired_vertices, "vertex", "vertices"),
        grouped(report.exact_vertices),
        counted(report.rounds, "round", "rounds"),
    );
    text
}

/// The report of a fix that was made for a field of this size as JSON.
pub fn made_json(done: &Made, field_bytes: u64) -> Value {
    let report = &done.result.0;
    let more = json!({
        "fix_bytes": report.fix_bytes,
        "repaired_vertices": report.repaired_vertices,
        "exact_vertices": report.exact_vertices,
        "violated_triangles": report.violated_triangles,
        "rounds": report.rounds,
        "absolute_bound": report.bound,
        "max_error": report.max_error,
        "input_bytes": field_bytes,
        "mb_per_second": megabytes_per_second(field_bytes, done.seconds),
    });
    joined(done.json(), more)
}

pub fn apply(a: &Apply) -> Result<Verdict, Failure> {
    let files: Vec<&Path> = a.files.iter().map(|path| path.as_path()).collect();
    if !(2..=4).contains(&files.len()) {
        return Err(failure!(
            "the number of files is {}, and {} belongs to planes: give U1 V1 U2 V2, or one file with both components \
             in place of U1 V1, of U2 V2, or of each",
            files.len(),
            a.fix.display()
        ));
    }
    let [inputs, outputs] = pair::split(&files, false)?;
    let places = Places::new(outputs[0], outputs.get(1).copied(), a.format)?;
    places.check(&a.fix)?;
    if a.format.is_none() {
        places.check_names()?;
    }
    let voice = Voice::beside_data(&a.talk, places.paths().any(is_standard));
    let (fix, info) = read(&a.fix)?;
    let engine = Engine::new(&a.place)?;
    let dims = Dims { nx: info.nx, ny: info.ny, nz: info.nz };
    let keys = names_of(&a.keys);
    let expected = expected(&a.fix, dims, &info, keys);
    refuse_components(inputs, &expected, 2)?;
    let mut field = input::read_field(inputs, &expected)?;
    let done = applied(&fix, &mut field, &engine).map_err(|e| e.about(a.fix.display()))?;
    let field_bytes = field.bytes();
    places.write(&Held::from(field))?;
    let names: Vec<String> = places.paths().map(output_name).collect();
    voice.report(
        || {
            let more = json!({
                "command": "apply",
                "u": names[0],
                "v": names.last(),
            });
            joined(joined(shape_json(dims, info.dtype), applied_json(&done, field_bytes)), more)
        },
        || applied_text(&names, &info, &done, field_bytes),
    )?;
    Ok(Verdict::Good)
}

fn applied(fix: &[u8], field: &mut Field, engine: &Engine) -> Result<Done<FixReport>, Failure> {
    let Dims { nx, ny, .. } = field.dims;
    let config = Config { dtype: field.dtype(), ..field.dims.config(BoundKind::Absolute, 0.0) };
    typed!([&mut field.u, &mut field.v] as [u, v] => engine.run(
        &mut [u, v],
        |device, [u, v]| device.apply(&Request::new(config)?, fix, [u, v]),
        |[u, v]| {
            let (u, v) = (ViewMut::stack(u, nx, ny), ViewMut::stack(v, nx, ny));
            Ok(factz::apply(&config, fix, u, v, Execution { threads: engine.threads(), progress: None })?)
        },
    ))
}

/// The arrays of the reconstruction that a fix belongs to.
pub fn expected(fix: &Path, dims: Dims, info: &FixInfo, keys: Vec<String>) -> Expected {
    let (dims, dtype, fix) = (Some(dims), Some(info.dtype), Some(fix.display().to_string()));
    Expected { dims, dtype, keys, fix, ..Expected::default() }
}

/// Refuses a file that holds another number of components than a fix belongs to.
pub fn refuse_components(inputs: &[&Path], expected: &Expected, components: u32) -> Result<(), Failure> {
    let ([file], Some(fix)) = (inputs, &expected.fix) else { return Ok(()) };
    match input::other_components(file, expected, components) {
        None => Ok(()),
        Some(held) => Err(failure!(
            "{}: holds {}, and {fix} belongs to {}: give the reconstruction that it was made for",
            input_name(file),
            input::components_text(held),
            input::components_text(components)
        )),
    }
}

/// A fix, and its header.
pub fn read(path: &Path) -> Result<(Vec<u8>, FixInfo), Failure> {
    let fix = std::fs::read(path).map_err(|e| failure!("{}: cannot be read: {e}", path.display()))?;
    let info = factz::inspect_fix(&fix).map_err(|e| Failure::from(e).about(path.display()))?;
    Ok((fix, info))
}

/// The text that `factz apply` prints.
pub fn applied_text(names: &[String], info: &FixInfo, done: &Done<FixReport>, field_bytes: u64) -> String {
    format!(
        "{}: {} values of {} each; {} repaired{} in {:.3} s ({:.0} MB/s)\n",
        names.join(", "),
        Dims { nx: info.nx, ny: info.ny, nz: info.nz },
        info.dtype.name(),
        counted(done.result.repaired_vertices, "vertex", "vertices"),
        done.place(),
        done.seconds,
        megabytes_per_second(field_bytes, done.seconds),
    )
}

/// The report of a fix that was applied to a field of this size as JSON.
pub fn applied_json(done: &Done<FixReport>, field_bytes: u64) -> Value {
    let report = &done.result;
    let more = json!({
        "fix_bytes": report.fix_bytes,
        "repaired_vertices": report.repaired_vertices,
        "exact_vertices": report.exact_vertices,
        "absolute_bound": report.bound,
        "mb_per_second": megabytes_per_second(field_bytes, done.seconds),
    });
    joined(done.json(), more)
}

/// The header of a regular file that begins as a fix does; none of another file.
pub fn header_of(path: &Path) -> Result<Option<FixInfo>, Failure> {
    if is_dash(path) || !path.is_file() {
        return Ok(None);
    }
    let mut start = Vec::new();
    let read =
        File::open(path).and_then(|file| file.take(VOLUME_INSPECT_BYTES as u64).read_to_end(&mut start));
    if read.is_err() || !factz::is_fix(&start) {
        return Ok(None);
    }
    factz::inspect_fix(&start).map(Some).map_err(|e| Failure::from(e).about(input_name(path)))
}

/// The lines of `factz info` about a fix.
pub fn info_text(i: &FixInfo) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "{name:<15} {value}");
    };
    let dims = Dims { nx: i.nx, ny: i.ny, nz: i.nz };
    let sizes = dims.to_string().replace('x', " x ");
    let arrays =
        if i.components == 3 { "a volume, u, v and w".to_string() } else { dims.order().to_string() };
    line("fix for", format!("{sizes} values of {} ({arrays})", i.dtype.name()));
    line("checksum", format!("{:08x}, of the reconstruction that it belongs to", i.reconstruction_checksum));
    line(
        "repairs",
        format!("{}, {} exact", counted(i.repaired_vertices, "vertex", "vertices"), i.exact_vertices),
    );
    line("bound", format!("{} {:e}", bound_kind_name(i.bound_kind), i.bound));
    line("absolute bound", format!("{:e}", i.absolute_bound));
    line("largest error", format!("{:e}", i.max_error));
    if let Some(fill) = i.fill_value {
        line("fill value", format!("{fill:e}"));
    }
    line("preserves", i.preserve.name().into());
    line("ties", i.ties.name().into());
    line(
        "spacing",
        match i.components {
            3 => format!("{}, {}, {}", i.dx, i.dy, i.dz),
            _ => format!("{}, {}", i.dx, i.dy),
        },
    );
    line("periodic", periodic_name(i.periodic).into());
    line("size", format!("{} bytes", grouped(i.fix_bytes)));
    line("format version", i.format_version.to_string());
    text
}

pub fn info_json(path: &Path, i: &FixInfo) -> Value {
    json!({
        "command": "info",
        "file": input_name(path),
        "fix": true,
        "format_version": i.format_version,
        "nx": i.nx,
        "ny": i.ny,
        "nz": i.nz,
        "components": i.components,
        "periodic": periodic_name(i.periodic),
        "dtype": i.dtype.name(),
        "preserve": i.preserve.name(),
        "ties": i.ties.name(),
        "dx": i.dx,
        "dy": i.dy,
        "dz": i.dz,
        "bound_kind": bound_kind_name(i.bound_kind),
        "bound": i.bound,
        "absolute_bound": i.absolute_bound,
        "max_error": i.max_error,
        "fill_value": fill_json(i.fill_value),
        "reconstruction_checksum": format!("{:08x}", i.reconstruction_checksum),
        "repaired_vertices": i.repaired_vertices,
        "exact_vertices": i.exact_vertices,
        "fix_bytes": i.fix_bytes,
    })
}
