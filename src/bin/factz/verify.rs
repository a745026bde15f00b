//! The comparison of a field with its reconstruction.

use crate::args::Verify;
use crate::engine::{self, Engine, Terms};
use crate::failure::{input_names, Failure};
use crate::figures::{comparison_json, joined, periodic_name, shape_json};
use crate::gaps::LostVertices;
use crate::options::THREE_COMPONENTS;
use crate::pair::Pair;
use crate::say::{critical_points_text, grouped, Voice};
use crate::violations::{allowed, complaints, violations};
use crate::Verdict;
use factz::{ComparisonOf, Kind, Preserve, Ties};
use serde_json::json;
use std::path::Path;

/// Zeros outside the interiors of simplices that differ though the setting of ties is kept.
fn exceptions<const KINDS: usize>(c: &ComparisonOf<KINDS>) -> String {
    if c.changed_zero_points() == 0 {
        return String::new();
    }
    format!(
        ", but for zeros at vertices{}, of which --ties promises less: {} lost, {} spurious, {} of another index",
        if KINDS == Kind::COUNT { " and on edges" } else { ", on edges and on faces" },
        grouped(c.lost_zeros),
        grouped(c.spurious_zeros),
        grouped(c.changed_indices)
    )
}

/// The sentence of `verify`.
pub fn verdict_text<const KINDS: usize>(
    c: &ComparisonOf<KINDS>,
    lost: &LostVertices,
    preserve: Preserve,
    bound: Option<f64>,
) -> String {
    let error = match bound {
        Some(b) => format!("largest error {:.6e}, bound {b:.6e}", c.max_error),
        None => format!("largest error {:.6e} (no bound given)", c.max_error),
    };
    let allowed = allowed(c, preserve).map(|text| format!("{text}; ")).unwrap_or_default();
    let points = critical_points_text(c.critical_points);
    if violations(c, preserve) > 0 {
        let complaints = complaints(c, lost, preserve).join(", ");
        return format!("Violated: {complaints}; {allowed}the original has {points}; {error}.\n");
    }
    let kept = match preserve {
        Preserve::Types => {
            format!("{points} at the same places with the same types, none new{}", exceptions(c))
        }
        Preserve::Points => format!("{points} at the same places, none new{}", exceptions(c)),
        Preserve::None => format!("the values; the original has {points}"),
    };
    format!("Kept: {kept}; {allowed}{error}.\n")
}

/// By what the fields are compared: what is given, or else what the stream says.
fn terms(a: &Verify, pair: &mut Pair) -> Result<(Terms, Preserve), Failure> {
    let spacing = pair.place(&a.spacing)?;
    let info = pair.info.as_ref();
    let ties = a.ties.or(info.map(|i| i.ties)).unwrap_or(Ties::All);
    let preserve = a.preserve.or(info.map(|i| i.preserve)).unwrap_or(Preserve::Types);
    let bound = a.bound.bound().or(info.map(|i| (i.bound_kind, i.bound)));
    let absolute = |(kind, bound)| engine::absolute_bound(&pair.before, kind, bound, a.place.threads);
    let bound = bound.map(absolute).transpose()?;
    Ok((Terms { spacing, ties, bound }, preserve))
}

pub fn verify(a: &Verify) -> Result<Verdict, Failure> {
    a.depth.refuse_for_planes(THREE_COMPONENTS)?;
    let files: Vec<&Path> = a.files.iter().map(|p| p.as_path()).collect();
    let voice = Voice::new(&a.talk);
    let engine = Engine::new(&a.place)?;
    let mut pair = Pair::read(&files, &a.shape, &a.fill, &a.step, (&engine, &voice))?;
    let names = || input_names(&files, ", ");
    let (terms, preserve) = terms(a, &mut pair).map_err(|e| e.about(names()))?;
    let Pair { before, after, .. } = &pair;
    let done = engine.compare(before, after, &terms).map_err(|e| e.about(names()))?;
    let c = &done.result;
    let violations = violations(c, preserve);
    let lost = pair.lost_vertices();
    voice.report(
        || {
            let more = json!({
                "command": "verify",
                "dx": terms.spacing.dx,
                "dy": terms.spacing.dy,
                "periodic": periodic_name(before.periodic),
                "preserve": preserve.name(),
                "ties": terms.ties.name(),
                "violations": violations,
            });
            let about = joined(shape_json(before.dims, before.dtype()), done.json());
            lost.with_report(joined(joined(more, about), comparison_json(c, terms.bound)))
        },
        || verdict_text(c, &lost, preserve, terms.bound),
    )?;
    if violations > 0 && c.changed_ties > 0 && c.zero_vertices > 0 && terms.ties == Ties::All {
        voice.note(
            "zero vertices make ties; --ties sos asks only for the points of FTK, --ties zeros for zeros",
        );
    }
    Ok(Verdict::of(violations))
}
