//! The list of a field's critical points.

use crate::args::Points;
use crate::engine::Engine;
use crate::failure::{input_names, Failure};
use crate::figures::{joined, kinds_json, periodic_name};
use crate::options::{Spacing, THREE_COMPONENTS};
use crate::output::{refuse_input, ListTarget};
use crate::point_list::{self, ListFormat};
use crate::say::{classes_text, Voice};
use crate::single::{self, Single};
use crate::Verdict;
use factz::CriticalPoint;
use serde_json::json;

pub fn points(a: &Points) -> Result<Verdict, Failure> {
    a.depth.refuse_for_planes(THREE_COMPONENTS)?;
    let target = ListTarget::of(&a.output, a.talk.json)?;
    let format = a.format.unwrap_or(target.path().map_or(ListFormat::Csv, ListFormat::of));
    let voice = Voice::beside_data(&a.talk, target.is_standard());
    let files = a.field.files();
    if let Some(path) = target.path() {
        refuse_input(path, &files, "list")?;
    }
    let engine = Engine::new(&a.place)?;
    let (options, selection) = ((&a.field.shape, &a.fill, &a.step), a.part.selection());
    let mut single = single::read_field(&files, options, selection.as_ref(), &a.place, (&engine, &voice))?;
    let spacing = single.place(&a.spacing)?;
    let Single { field, dims, first, .. } = &single;
    let mut done = engine.critical_points(field, spacing).map_err(|e| e.about(input_names(&files, ", ")))?;
    done.result.iter_mut().for_each(|point| shift(point, *first, spacing));
    let points = &done.result;
    target.write(|out| point_list::write(out, format, points, *dims))?;
    voice.json(|| {
        let more = json!({
            "command": "points",
            "nx": dims.nx,
            "ny": dims.ny,
            "nz": dims.nz,
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

/// From the place in a part of a field to that in the field.
fn shift(point: &mut CriticalPoint, [x, y, z]: [u64; 3], spacing: Spacing) {
    (point.cell_x, point.cell_y, point.cell_z) = (point.cell_x + x, point.cell_y + y, point.cell_z + z);
    (point.x, point.y) = (point.x + x as f64 * spacing.dx, point.y + y as f64 * spacing.dy);
}
