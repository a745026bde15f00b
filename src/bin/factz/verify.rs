//! The comparison of a field with its reconstruction.

use crate::args::Verify;
use crate::engine::{self, Engine, Terms};
use crate::failure::{input_names, Failure};
use crate::figures::{comparison_json, joined, shape_json};
use crate::pair::Pair;
use crate::say::{counted, critical_points_text, grouped, Voice};
use crate::Verdict;
use factz::{Comparison, Ties};
use serde_json::json;
use std::path::Path;

/// Zeros at vertices and on edges that differ though the setting of ties is kept.
fn exceptions(c: &Comparison) -> String {
    if c.changed_zero_points() == 0 {
        return String::new();
    }
    format!(
        ", but for zeros at vertices and on edges, of which --ties promises less: {} lost, {} spurious, {} of another \
         index",
        grouped(c.lost_zeros),
        grouped(c.spurious_zeros),
        grouped(c.changed_indices)
    )
}

/// The sentence of `verify`.
fn verdict_text(c: &Comparison, bound: Option<f64>) -> String {
    let error = match bound {
        Some(b) => format!("largest error {:.6e}, bound {b:.6e}", c.max_error),
        None => format!("largest error {:.6e} (no bound given)", c.max_error),
    };
    if c.violations() == 0 {
        return format!(
            "Kept: {} at the same places with the same types, none new{}; {error}.\n",
            critical_points_text(c.critical_points),
            exceptions(c)
        );
    }
    let complaints: Vec<String> = [
        (c.lost_points, "critical point is lost", "critical points are lost"),
        (c.spurious_points, "critical point is spurious", "critical points are spurious"),
        (
            c.changed_types,
            "critical point has another type or index",
            "critical points have another type or index",
        ),
        (
            c.changed_ties,
            "triangle with the origin on its boundary changed",
            "triangles with the origin on their boundary changed",
        ),
        (
            c.new_ties,
            "triangle now has the origin on its boundary",
            "triangles now have the origin on their boundary",
        ),
        (c.changed_missing, "NaN or infinite vertex changed", "NaN or infinite vertices changed"),
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

/// By what the fields are compared: what is given, or else what the stream says.
fn terms(a: &Verify, pair: &Pair) -> Result<Terms, Failure> {
    let info = pair.info.as_ref();
    let ties = a.ties.or(info.map(|i| i.ties)).unwrap_or(Ties::All);
    let bound = a.bound.bound().or(info.map(|i| (i.bound_kind, i.bound)));
    let absolute = |(kind, bound)| engine::absolute_bound(&pair.before, kind, bound, a.place.threads);
    Ok(Terms { spacing: pair.spacing(&a.spacing)?, ties, bound: bound.map(absolute).transpose()? })
}

pub fn verify(a: &Verify) -> Result<Verdict, Failure> {
    let files: Vec<&Path> = a.files.iter().map(|p| p.as_path()).collect();
    let voice = Voice::new(&a.talk);
    let engine = Engine::new(&a.place)?;
    let pair = Pair::read(&files, &a.shape, &a.fill, &engine, &voice)?;
    let names = || input_names(&files, ", ");
    let terms = terms(a, &pair).map_err(|e| e.about(names()))?;
    let Pair { before, after, .. } = &pair;
    let done = engine.compare(before, after, &terms).map_err(|e| e.about(names()))?;
    let c = &done.result;
    voice.report(
        || {
            let more = json!({
                "command": "verify",
                "dx": terms.spacing.dx,
                "dy": terms.spacing.dy,
                "ties": terms.ties.name(),
                "violations": c.violations(),
            });
            let about = joined(shape_json(before.dims, before.dtype()), done.json());
            joined(joined(more, about), comparison_json(c, terms.bound))
        },
        || verdict_text(c, terms.bound),
    )?;
    if c.changed_ties > 0 && c.zero_vertices > 0 && terms.ties == Ties::All {
        voice.note(
            "zero vertices make ties; --ties sos asks only for the points of FTK, --ties zeros for zeros",
        );
    }
    Ok(Verdict::of(c.violations()))
}
