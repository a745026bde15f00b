//! The comparison of a field with its reconstruction.

use crate::args::Verify;
use crate::engine::{self, Engine};
use crate::failure::{failure, input_names, Failure};
use crate::figures::{comparison_json, joined, shape_json};
use crate::say::{counted, critical_points_text, Voice};
use crate::store::Format;
use crate::{input, Verdict};
use factz::Comparison;
use serde_json::json;
use std::path::Path;

/// The sentence of `verify`.
fn verdict_text(c: &Comparison, bound: Option<f64>) -> String {
    let error = match bound {
        Some(b) => format!("largest error {:.6e}, bound {b:.6e}", c.max_error),
        None => format!("largest error {:.6e} (no bound given)", c.max_error),
    };
    if c.violations() == 0 {
        return format!(
            "Kept: {} in the same triangles with the same types, none new; {error}.\n",
            critical_points_text(c.critical_points)
        );
    }
    let complaints: Vec<String> = [
        (c.lost, "critical point is lost", "critical points are lost"),
        (c.spurious, "critical point is spurious", "critical points are spurious"),
        (c.type_changed, "critical point has another type", "critical points have another type"),
        (
            c.tie_changed,
            "triangle with the origin on its boundary changed",
            "triangles with the origin on their boundary changed",
        ),
        (
            c.tie_created,
            "triangle now has the origin on its boundary",
            "triangles now have the origin on their boundary",
        ),
        (c.missing_changed, "NaN or infinite vertex changed", "NaN or infinite vertices changed"),
        (c.bound_exceeded, "value exceeds the bound", "values exceed the bound"),
    ]
    .iter()
    .filter(|(n, _, _)| *n > 0)
    .map(|(n, one, many)| counted(*n, one, many))
    .collect();
    format!(
        "Violated: {}; the original has {}; {error}.\n",
        complaints.join(", "),
        critical_points_text(c.critical_points)
    )
}

pub fn verify(a: &Verify) -> Result<Verdict, Failure> {
    let files: Vec<&Path> = a.files.iter().map(|p| p.as_path()).collect();
    let (before, after) = match files.len() {
        2 | 4 => files.split_at(files.len() / 2),
        // An archive has both components; otherwise the last file does.
        3 if Format::of(files[0]) == Format::Npz => files.split_at(1),
        3 => files.split_at(2),
        n => {
            return Err(failure!(
                "the number of files is {n}: give U0 V0 U1 V1, or one file with both components in place of U0 V0, \
                 of U1 V1, or of each"
            ));
        }
    };
    let voice = Voice::new(&a.talk);
    let fields = input::read_fields(&[before, after], &a.shape.expected(a.fill.fill_value))?;
    let [before, after] = &fields[..] else { unreachable!("two fields were asked for") };
    let names = || input_names(&files, ", ");
    let absolute = |(kind, bound)| engine::absolute_bound(before, kind, bound, a.place.threads);
    let bound = a.bound.bound().map(absolute).transpose().map_err(|e| e.about(names()))?;
    let done =
        Engine::new(&a.place)?.compare(before, after, a.spacing, bound).map_err(|e| e.about(names()))?;
    let c = &done.result;
    voice.report(
        || {
            let more = json!({
                "command": "verify",
                "dx": a.spacing.dx,
                "dy": a.spacing.dy,
            });
            let about = joined(shape_json(before.dims, before.dtype()), done.json());
            joined(joined(more, about), comparison_json(c, bound))
        },
        || verdict_text(c, bound),
    )?;
    Ok(Verdict::of(c.violations()))
}
