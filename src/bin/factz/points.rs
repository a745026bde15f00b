//! The list of a field's critical points.

use crate::args::{Points, Spacing};
use crate::engine::Engine;
use crate::failure::{input_names, Failure};
use crate::figures::{joined, kind_name, kinds_json};
use crate::output::{is_standard, Output};
use crate::say::{critical_points_text, Voice};
use crate::stream::{self, Single};
use crate::Verdict;
use factz::CriticalPoint;
use serde_json::json;
use std::io::{ErrorKind, Write};
use std::path::Path;

fn write_list(out: &mut impl Write, points: &[CriticalPoint]) -> std::io::Result<()> {
    out.write_all(b"x,y,x_cell,y_cell,triangle,type\n")?;
    for p in points {
        writeln!(out, "{},{},{},{},{},{}", p.x, p.y, p.x_cell, p.y_cell, p.triangle, kind_name(p.kind))?;
    }
    out.flush()
}

pub fn points(a: &Points) -> Result<Verdict, Failure> {
    // Without -o the list is on standard output, unless a JSON object is asked for.
    let standard = Path::new("-");
    let target = match (&a.output, a.talk.json) {
        (None, true) => None,
        (None, false) => Some(standard),
        (Some(path), _) => Some(path.as_path()),
    };
    let on_standard = target.is_some_and(is_standard);
    let voice = Voice::beside_data(&a.talk, on_standard);
    let files = a.field.files();
    let engine = Engine::new(&a.place)?;
    let Single { field, spacing } = stream::read_field(&files, &a.field.shape, &a.fill, &engine, &voice)?;
    let spacing = a.spacing.or(spacing).unwrap_or(Spacing::UNIT);
    let done = engine.critical_points(&field, spacing);
    let done = done.map_err(|e| e.about(input_names(&files, ", ")))?;
    let points = &done.result;
    if let Some(path) = target {
        let mut output = Output::create(path)?;
        match write_list(output.writer(), points) {
            // A reader that went away early, such as head, is no error.
            Err(e) if e.kind() == ErrorKind::BrokenPipe && on_standard => return Ok(Verdict::Good),
            written => written.map_err(|e| output.cannot(e))?,
        }
        Output::commit(vec![output])?;
    }
    voice.json(|| {
        let more = json!({
            "command": "points",
            "nx": field.dims.nx,
            "ny": field.dims.ny,
            "critical_points": points.len(),
            "types": kinds_json(|kind| points.iter().filter(|p| p.kind == kind).count() as u64),
        });
        joined(more, done.json())
    })?;
    if let (Some(path), false) = (&a.output, on_standard) {
        voice.text(&format!("{}: {}\n", path.display(), critical_points_text(points.len() as u64)))?;
    }
    Ok(Verdict::Good)
}
