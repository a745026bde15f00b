//! The list of a volume's critical points.

use crate::args::Points;
use crate::class::volume_kind_name;
use crate::failure::{input_names, Failure};
use crate::figures::{joined, periodic_name, shape_json};
use crate::output::{refuse_input, ListTarget};
use crate::point_list::ListFormat;
use crate::say::{critical_points_text, grouped, Voice};
use crate::volume_pair::Given;
use crate::{volume_point_list, Verdict};
use factz::{Config, VolumeKind, VolumePoint};
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
    let target = ListTarget::of(&a.output, a.talk.json)?;
    let format = a.format.unwrap_or(target.path().map_or(ListFormat::Csv, ListFormat::of));
    let voice = Voice::beside_data(&a.talk, target.is_standard());
    let files: Vec<&Path> = a.field.files().into_iter().chain(a.w.as_deref()).collect();
    if let Some(path) = target.path() {
        refuse_input(path, &files, "list")?;
    }
    let threads = a.place.threads_for_volume()?;
    let (options, selection) = ((&a.field.shape, &a.fill, &a.step), a.part.selection());
    let mut given = Given::read(&files, options, selection.as_ref(), &a.place, &voice)?;
    let names = || input_names(&files, ", ");
    let config = given.config((&a.spacing, &a.depth), &a.fill).map_err(|e| e.about(names()))?;
    let start = Instant::now();
    let points = given.volume.critical_points(config, threads);
    let mut points = points.map_err(|e| Failure::from(e).about(names()))?;
    let seconds = start.elapsed().as_secs_f64();
    points.iter_mut().for_each(|point| shift(point, given.first, &config));
    target.write(|out| volume_point_list::write(out, format, &points, given.dims))?;
    voice.json(|| {
        let more = json!({
            "command": "points", "components": 3, "dx": config.dx, "dy": config.dy, "dz": config.dz,
            "periodic": periodic_name(config.periodic), "critical_points": points.len(),
            "points_by_type": kinds_json(&points), "seconds": seconds,
        });
        joined(more, shape_json(given.dims, config.dtype))
    })?;
    if let (Some(path), false) = (&a.output, target.is_standard()) {
        voice.text(&format!("{}: {}\n", path.display(), kinds_text(&points)))?;
    }
    Ok(Verdict::Good)
}

/// From the place in a part of a volume to that in the volume.
fn shift(point: &mut VolumePoint, [x, y, z]: [u64; 3], config: &Config) {
    (point.cell_x, point.cell_y, point.cell_z) = (point.cell_x + x, point.cell_y + y, point.cell_z + z);
    point.x += x as f64 * config.dx;
    point.y += y as f64 * config.dy;
    point.z += z as f64 * config.dz;
}
