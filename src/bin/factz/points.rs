//! The list of a field's critical points.

use crate::args::Points;
use crate::engine::Engine;
use crate::failure::{input_names, Failure};
use crate::figures::{joined, kinds_json, periodic_name};
use crate::output::ListTarget;
use crate::point_list::{self, ListFormat};
use crate::say::{classes_text, Voice};
use crate::single::{self, Single};
use crate::Verdict;
use serde_json::json;

pub fn points(a: &Points) -> Result<Verdict, Failure> {
    let target = ListTarget::of(&a.output, a.talk.json)?;
    let format = a.format.unwrap_or(target.path().map_or(ListFormat::Csv, ListFormat::of));
    let voice = Voice::beside_data(&a.talk, target.is_standard());
    let files = a.field.files();
    let engine = Engine::new(&a.place)?;
    let Single { mut field, spacing } =
        single::read_field(&files, &a.field.shape, &a.fill, &a.step, (&engine, &voice))?;
    let spacing = a.spacing.or(spacing)?;
    field.periodic = a.spacing.periodic_or(field.periodic);
    let done = engine.critical_points(&field, spacing).map_err(|e| e.about(input_names(&files, ", ")))?;
    let points = &done.result;
    target.write(|out| point_list::write(out, format, points, field.dims))?;
    voice.json(|| {
        let more = json!({
            "command": "points",
            "nx": field.dims.nx,
            "ny": field.dims.ny,
            "nz": field.dims.nz,
            "periodic": periodic_name(field.periodic),
            "critical_points": points.len(),
            "points_by_type": kinds_json(|kind| points.iter().filter(|p| p.kind == kind).count() as u64),
            "rounding_divergence": points.iter().filter(|p| p.rounding_divergence).count(),
        });
        joined(more, done.json())
    })?;
    if let (Some(path), false) = (&a.output, target.is_standard()) {
        voice.text(&format!("{}: {}\n", path.display(), classes_text(points)))?;
    }
    Ok(Verdict::Good)
}
