//! The list of a volume's critical points.

use crate::args::Points;
use crate::class::volume_kind_name;
use crate::failure::{failure, input_names, Failure};
use crate::figures::{joined, periodic_name, shape_json};
use crate::output::{refuse_input, ListTarget};
use crate::point_list::ListFormat;
use crate::say::{critical_points_text, grouped, Voice};
use crate::volume_pair::Volume;
use crate::{volume_point_list, Verdict};
use factz::{VolumeKind, VolumePoint};
use serde_json::{json, Value};
use std::path::Path;
use std::time::Instant;

fn count(points: &[VolumePoint], kind: VolumeKind) -> usize {
    points.iter().filter(|p| p.kind == kind).count()
}

/// The points of each type that there is.
fn kinds_text(points: &[VolumePoint]) -> String {
    let kinds = VolumeKind::ALL.map(|kind| (volume_kind_name(kind).replace('_', " "), count(points, kind)));
    let there = kinds.iter().filter(|(_, n)| *n > 0);
    let there: Vec<String> = there.map(|(name, n)| format!("{name} {}", grouped(*n as u64))).collect();
    let all = critical_points_text(points.len() as u64);
    match there.is_empty() {
        true => all,
        false => format!("{all}: {}", there.join(", ")),
    }
}

fn kinds_json(points: &[VolumePoint]) -> Value {
    let kinds = VolumeKind::ALL.map(|kind| (volume_kind_name(kind).to_owned(), json!(count(points, kind))));
    Value::Object(kinds.into_iter().collect())
}

pub fn points(a: &Points) -> Result<Verdict, Failure> {
    if a.part.selection().is_some() {
        return Err(failure!("--region and --planes are for planes: leave them out for a volume"));
    }
    let target = ListTarget::of(&a.output, a.talk.json)?;
    let format = a.format.unwrap_or(target.path().map_or(ListFormat::Csv, ListFormat::of));
    let voice = Voice::beside_data(&a.talk, target.is_standard());
    let files: Vec<&Path> = a.field.files().into_iter().chain(a.w.as_deref()).collect();
    if let Some(path) = target.path() {
        refuse_input(path, &files, "list")?;
    }
    let options = (&a.field.shape, &a.fill);
    let (mut volume, info) = Volume::given(&files, options, (&a.step, a.place.threads), &voice)?;
    let names = || input_names(&files, ", ");
    let config =
        volume.config((&a.spacing, &a.depth), &a.fill, info.as_ref()).map_err(|e| e.about(names()))?;
    let start = Instant::now();
    let points = volume.critical_points(config, a.place.threads);
    let points = points.map_err(|e| Failure::from(e).about(names()))?;
    let seconds = start.elapsed().as_secs_f64();
    target.write(|out| volume_point_list::write(out, format, &points, volume.dims))?;
    voice.json(|| {
        let more = json!({
            "command": "points", "components": 3, "dx": config.dx, "dy": config.dy, "dz": config.dz,
            "periodic": periodic_name(config.periodic), "critical_points": points.len(),
            "points_by_type": kinds_json(&points), "seconds": seconds,
        });
        joined(more, shape_json(volume.dims, config.dtype))
    })?;
    if let (Some(path), false) = (&a.output, target.is_standard()) {
        voice.text(&format!("{}: {}\n", path.display(), kinds_text(&points)))?;
    }
    Ok(Verdict::Good)
}
