//! Measurements on one field: every configuration, bound and number of threads.

use crate::args::Bench;
use crate::array::{typed, Dims, Field};
use crate::failure::{failure, input_names, Failure};
use crate::figures::{joined, shape_json};
use crate::measure::{head, measure, row, thread_counts, Subject, LEGEND};
use crate::options::{Spacing, THREE_COMPONENTS};
use crate::progress::Progress;
use crate::say::Voice;
use crate::synthetic::{Kind, Synthetic};
use crate::{engine, input, Verdict};
use clap::ValueEnum;
use factz::{BoundKind, Config, Dtype, Mode, Predictor};
use serde_json::json;
use std::path::Path;

/// All combinations that exist of the configurations and bounds to measure.
fn configurations(a: &Bench, dims: Dims, dtype: Dtype) -> Result<Vec<Config>, Failure> {
    let spacing = a.promise.spacing.or(Spacing::UNIT)?;
    let periodic = a.promise.spacing.periodic_or(0)?;
    let mut all = Vec::new();
    for &mode in &a.mode {
        for &predictor in &a.predictor {
            if mode == Mode::Speculative && predictor == Predictor::Lorenzo {
                continue;
            }
            for &coder in &a.coder {
                all.extend(a.bounds.iter().map(|&bound| Config {
                    dtype,
                    mode,
                    predictor,
                    coder,
                    preserve: a.promise.preserve,
                    ties: a.promise.ties,
                    dx: spacing.dx,
                    dy: spacing.dy,
                    periodic,
                    ..dims.config(BoundKind::Relative, bound)
                }));
            }
        }
    }
    Ok(all)
}

/// What to call the field, and where it comes from.
fn subject(a: &Bench) -> Result<(String, Subject), Failure> {
    if let Some(kind) = a.synthetic {
        let dims = a.shape.dims.ok_or_else(|| failure!("--synthetic takes --dims NXxNY or NXxNYxNZ"))?;
        let dtype = a.shape.dtype.unwrap_or(Dtype::F32);
        let kind_name = kind.to_possible_value().map_or(String::new(), |value| value.get_name().to_owned());
        return Ok((format!("synthetic, {kind_name}"), Subject::Made(kind, dims, dtype)));
    }
    let files: Vec<&Path> = [&a.u, &a.v].into_iter().flatten().map(|p| p.as_path()).collect();
    if files.is_empty() {
        return Err(failure!("give the files of u and v, or --synthetic"));
    }
    let field = input::read_field(&files, &a.shape.expected(None))?;
    Ok((input_names(&files, " and "), Subject::Read(field)))
}

/// A made field in memory.
fn make(kind: Kind, dims: Dims, dtype: Dtype) -> Result<Field, Failure> {
    // The planes of a stack are cut from one field.
    let synthetic = Synthetic::new(kind, dims.nx, dims.ny * dims.nz)?;
    let mut field = Field::empty(dims, dtype)?;
    typed!([&mut field.u, &mut field.v] as [u, v] => synthetic.fill(0, u, v));
    Ok(field)
}

pub fn run(a: &Bench) -> Result<Verdict, Failure> {
    a.depth.refuse_for_planes(THREE_COMPONENTS)?;
    let (name, subject) = subject(a)?;
    let (dims, dtype) = match &subject {
        Subject::Read(field) => (field.dims, field.dtype()),
        Subject::Made(_, dims, dtype) => (*dims, *dtype),
    };
    let configurations = configurations(a, dims, dtype)?;
    #[cfg_attr(not(feature = "cuda"), allow(unused_variables))]
    if let Some(device) = engine::device(a.backend)? {
        #[cfg(feature = "cuda")]
        return crate::bench_cuda::run(a, &name, subject, &configurations, &device);
    }
    let mut field = match subject {
        Subject::Read(field) => field,
        Subject::Made(kind, dims, dtype) => make(kind, dims, dtype)?,
    };
    field.periodic = a.promise.spacing.periodic_or(0)?;
    let threads = thread_counts(&a.threads);
    let voice = Voice::new(&a.talk);
    voice.text(&format!(
        "{name}: {dims} values of {} each, {:.1} MB; medians of {} runs\n{}",
        dtype.name(),
        field.bytes() as f64 / 1e6,
        a.repeat,
        head(&threads)
    ))?;
    let mut measured = Vec::new();
    let mut violations = 0;
    let progress = Progress::new("measuring", &voice);
    for config in &configurations {
        let (m, _) = measure(&field, config, &threads, a.repeat)?;
        violations += m.violations();
        voice.text(&row(&m))?;
        measured.push(m.json());
        progress.report(measured.len() as f64 / configurations.len() as f64);
    }
    drop(progress);
    voice.report(
        || {
            let more = json!({
                "command": "bench",
                "input_bytes": field.bytes(),
                "repeat": a.repeat,
                "runs": measured,
            });
            joined(shape_json(dims, dtype), more)
        },
        || LEGEND.into(),
    )?;
    Ok(Verdict::of(violations))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dense_fields_have_the_density_of_critical_points_that_is_said() {
        let dims = Dims::plane(2048, 1024);
        let count = |kind| {
            let field = make(kind, dims, Dtype::F32).unwrap();
            engine::critical_points(&field, Spacing { dx: 1.0, dy: 1.0 }, 0).unwrap().len()
        };
        let expected = (dims.nx * dims.ny) as f64 / 8_700.0;
        let found = count(Kind::Dense) as f64;
        assert!((0.75..1.33).contains(&(found / expected)), "{found} of {expected}");
        assert!(count(Kind::Smooth) < 20);
        let ocean = make(Kind::Ocean, dims, Dtype::F32).unwrap();
        let crate::array::Values::F32(u) = &ocean.u else { unreachable!() };
        let land = u.iter().filter(|x| **x == 0.0).count() as f64 / u.len() as f64;
        assert!((0.1..0.7).contains(&land), "{land}");
    }

    #[test]
    fn made_fields_without_memory_are_refused() {
        let error = Synthetic::new(Kind::Dense, 1 << 60, 1).err().expect("an error");
        assert_eq!(error.status, factz::Status::OutOfMemory);
    }
}
