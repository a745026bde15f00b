//! The comparison of a volume with its reconstruction.

use crate::args::Verify;
use crate::array::Element;
use crate::class::volume_kind_name;
use crate::engine::Engine;
use crate::failure::{input_names, Failure};
use crate::figures::{comparison_by_type_json, joined, periodic_name, shape_json};
use crate::say::Voice;
use crate::verify::verdict_text;
use crate::violations::violations;
use crate::volume_pair::VolumePair;
use crate::Verdict;
use factz::{
    compare_volume, BoundKind, Config, Dtype, Preserve, Ties, VolumeComparison, VolumeKind, VolumeRequest,
};
use serde_json::json;
use std::path::Path;
use std::time::Instant;

/// The comparison, and the absolute bound if there is one.
fn compared<T: Element>(
    pair: &mut VolumePair,
    config: Config,
    bound: Option<(BoundKind, f64)>,
    threads: usize,
) -> factz::Result<(VolumeComparison, Option<f64>)> {
    let (bound_kind, given) = bound.unwrap_or((BoundKind::Absolute, 0.0));
    let request = VolumeRequest::new(Config { bound_kind, bound: given, ..config })?;
    let (before, after) = (pair.before.views::<T>(), pair.after.views::<T>());
    let found = compare_volume(&request, before, after, bound.is_some(), threads)?;
    Ok((found, bound.map(|_| found.bound)))
}

pub fn verify(a: &Verify) -> Result<Verdict, Failure> {
    let files: Vec<&Path> = a.files.iter().map(|p| p.as_path()).collect();
    let voice = Voice::new(&a.talk);
    let threads = a.place.threads_for_volume()?;
    let mut pair =
        VolumePair::read(&files, &a.shape, &a.fill, &a.step, (&Engine::on_processor(threads), &voice))?;
    let info = pair.info;
    let info = info.as_ref();
    let names = || input_names(&files, ", ");
    let config = pair.before.config((&a.spacing, &a.depth), &a.fill, info).map_err(|e| e.about(names()))?;
    let ties = a.ties.or(info.map(|i| i.ties)).unwrap_or(Ties::All);
    let preserve = a.preserve.or(info.map(|i| i.preserve)).unwrap_or(Preserve::Types);
    let bound = a.bound.bound().or(info.map(|i| (i.bound_kind, i.bound)));
    let config = Config { ties, ..config };
    let start = Instant::now();
    let compared = match config.dtype {
        Dtype::F32 => compared::<f32>(&mut pair, config, bound, threads),
        Dtype::F64 => compared::<f64>(&mut pair, config, bound, threads),
    };
    let (c, bound) = compared.map_err(|e| Failure::from(e).about(names()))?;
    let seconds = start.elapsed().as_secs_f64();
    let violations = violations(&c, preserve);
    let lost = pair.lost_vertices(config.fill_value);
    voice.report(
        || {
            let more = json!({
                "command": "verify", "components": 3, "dx": config.dx, "dy": config.dy, "dz": config.dz,
                "periodic": periodic_name(config.periodic), "preserve": preserve.name(), "ties": ties.name(),
                "violations": violations, "seconds": seconds,
            });
            let about = joined(more, shape_json(pair.before.dims, config.dtype));
            let names = VolumeKind::ALL.map(volume_kind_name);
            lost.with_report(joined(about, comparison_by_type_json(&c, bound, names)))
        },
        || verdict_text(&c, &lost, preserve, bound),
    )?;
    Ok(Verdict::of(violations))
}
