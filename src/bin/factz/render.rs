//! Pictures of fields and of comparisons.

use crate::args::Render;
use crate::drawn::{self, plane, style, Drawn};
use crate::engine::Engine;
use crate::failure::{bare_names, failure, input_names, output_name, Failure};
use crate::fate::paired;
use crate::figures::{joined, shape_json};
use crate::options::THREE_COMPONENTS;
use crate::output::{self, refuse_input, refuse_terminal};
use crate::pair::Pair;
use crate::picture::Column;
use crate::say::{critical_points_text, Voice};
use crate::{single, volume_render, Verdict};
use serde_json::json;
use std::path::Path;

pub fn render(a: &Render) -> Result<Verdict, Failure> {
    a.look.check()?;
    refuse_terminal(&a.output)?;
    let voice = Voice::beside_data(&a.talk, output::is_standard(&a.output));
    let files: Vec<&Path> = a.files.iter().map(|p| p.as_path()).collect();
    refuse_input(&a.output, &files, "picture")?;
    refuse_other_ending("-o", &a.output)?;
    start_threads(a.place.threads)?;
    let drawn = match volume_render::is_asked(a)? {
        true => volume_render::slice(a, &files, &voice)?,
        false => {
            a.depth.refuse_for_planes(THREE_COMPONENTS)?;
            a.plane.map_or(Ok(()), |plane| plane.refuse_for_planes(THREE_COMPONENTS))?;
            let engine = Engine::new(&a.place)?;
            match a.compare {
                true => comparison(a, &files, &engine, &voice)?,
                false => field(a, &files, &engine, &voice)?,
            }
        }
    };
    output::write_file(&a.output, &drawn.picture.png)?;
    let name = output_name(&a.output);
    voice.report(
        || {
            let about = json!({ "command": "render", "output": name });
            joined(joined(about, shape_json(drawn.dims, drawn.dtype)), drawn.picture.report)
        },
        || format!("{name}: {}\n", drawn.about),
    )?;
    Ok(Verdict::Good)
}

/// Refuses a name of a picture that promises anything but a PNG. A device, a pipe and standard output have no
/// ending.
pub fn refuse_other_ending(option: &str, path: &Path) -> Result<(), Failure> {
    let Some(ending) = path.extension() else { return Ok(()) };
    let ending = ending.to_string_lossy().to_ascii_lowercase();
    let advice = match &*ending {
        "png" => return Ok(()),
        "vtp" | "csv" | "json" => "the critical points as a list are written by `factz points`",
        "fz" | "fctz" => "a stream is written by `factz compress`",
        "npy" | "npz" | "f32" | "f64" => "the values of a stream are written by `factz decompress`",
        _ => "other programs convert it",
    };
    let name = path.display();
    Err(failure!("{option} {name}: a picture is a PNG: give it a name with .png; {advice}"))
}

/// The threads that draw: this one and others. 0 stands for one per core.
fn start_threads(threads: usize) -> Result<(), Failure> {
    let threads = match threads {
        0 => std::thread::available_parallelism().map_or(1, |n| n.get()),
        n => n,
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).use_current_thread();
    let started = pool.build_global();
    started.map_err(|e| failure!("{threads} threads cannot be started: {e}: give fewer with --threads"))
}

fn field(a: &Render, files: &[&Path], engine: &Engine, voice: &Voice) -> Result<Drawn, Failure> {
    if files.len() > 2 {
        return Err(failure!(
            "the number of files is {}: give U V, U V W of a volume, or --compare for two fields",
            files.len()
        ));
    }
    let names = input_names(files, ", ");
    let options = (&a.shape, &a.fill, &a.step);
    let mut single = single::read_field(files, options, None, &a.place, (engine, voice))?;
    let spacing = single.place(&a.spacing)?;
    let field = single.field;
    let field = match plane(a, field.dims, voice)? {
        Some(z) => field.plane(z)?,
        None => field,
    };
    let points = engine.critical_points(&field, spacing).map_err(|e| e.about(&names))?.result;
    let about = critical_points_text(points.len() as u64);
    let title = format!("{}: {} x {}, {about}", bare_names(files), field.dims.nx, field.dims.ny);
    drawn::alone(a, Column::typed(&field, &title, &points), about, style(a, spacing, [0, 1]))
}

fn comparison(a: &Render, files: &[&Path], engine: &Engine, voice: &Voice) -> Result<Drawn, Failure> {
    let mut pair = Pair::read(files, &a.shape, &a.fill, &a.step, (engine, voice))?;
    let spacing = pair.place(&a.spacing)?;
    let mut pair = match plane(a, pair.before.dims, voice)? {
        Some(z) => pair.plane(z)?,
        None => pair,
    };
    let [before, after] =
        pair.critical_points(engine, spacing).map_err(|e| e.about(input_names(files, ", ")))?;
    let pairings = paired(&before, &after);
    drawn::beside(a, [&pair.before, &pair.after], &pairings, "", style(a, spacing, [0, 1]))
}
