//! The range of the values of a field or of a volume.

use crate::args::Range;
use crate::array::{typed, Dims, Element};
use crate::engine::Engine;
use crate::failure::{input_names, Failure};
use crate::figures::{joined, shape_json};
use crate::say::{counted, Voice};
use crate::single::{self, Single};
use crate::volume_pair::{self, Given, Volume};
use crate::Verdict;
use factz::{BoundKind, Config, Dtype, ValueRange, View, VolumeRequest};
use serde_json::{json, Value};
use std::path::Path;

/// The range, the shape and the type of a field or volume.
struct Found {
    range: ValueRange,
    dims: Dims,
    dtype: Dtype,
    components: u32,
}

/// Files name themselves where they cannot be read; the errors of the library get their names here.
fn of_field(a: &Range, files: &[&Path], voice: &Voice) -> Result<Found, Failure> {
    let about = |e: factz::Error| Failure::from(e).about(input_names(files, ", "));
    let engine = Engine::new(&a.place)?;
    let options = (&a.field.shape, &a.fill, &a.step);
    let Single { field, .. } = single::read_field(files, options, None, &a.place, (&engine, voice))?;
    let Dims { nx, ny, .. } = field.dims;
    let config = Config {
        dtype: field.dtype(),
        fill_value: field.fill_value,
        ..field.dims.config(BoundKind::Absolute, 0.0)
    };
    let request = factz::Request::new(config).map_err(about)?;
    let range = typed!([&field.u, &field.v] as [u, v] =>
        factz::range(&request, [u, v].map(|c| View::stack(c, nx, ny)), a.place.threads))
    .map_err(about)?;
    Ok(Found { range, dims: field.dims, dtype: config.dtype, components: 2 })
}

fn of_volume(a: &Range, files: &[&Path], voice: &Voice) -> Result<Found, Failure> {
    fn range<T: Element>(volume: &mut Volume, config: Config, threads: usize) -> factz::Result<ValueRange> {
        factz::range_volume(&VolumeRequest::new(config)?, volume.views::<T>(), threads)
    }
    let threads = a.place.threads_for_volume()?;
    let options = (&a.field.shape, &a.fill, &a.step);
    let Given { mut volume, info, .. } = Given::read(files, options, None, &a.place, voice)?;
    let Dims { nx, ny, nz } = volume.dims;
    let config = Config {
        dtype: volume.dtype(),
        fill_value: a.fill.fill_value.or(info.and_then(|i| i.fill_value)),
        ..Config::volume([nx, ny, nz], BoundKind::Absolute, 0.0)
    };
    let range = match config.dtype {
        Dtype::F32 => range::<f32>(&mut volume, config, threads),
        Dtype::F64 => range::<f64>(&mut volume, config, threads),
    };
    let range = range.map_err(|e| Failure::from(e).about(input_names(files, ", ")))?;
    Ok(Found { range, dims: volume.dims, dtype: config.dtype, components: 3 })
}

/// An end of a range; null without values.
fn end_json(x: f64) -> Value {
    if x.is_finite() {
        json!(x)
    } else {
        Value::Null
    }
}

pub fn range(a: &Range) -> Result<Verdict, Failure> {
    let voice = Voice::new(&a.talk);
    let files: Vec<&Path> = a.field.files().into_iter().chain(a.w.as_deref()).collect();
    let found = match volume_pair::is_given(&a.field, a.w.as_deref(), &a.step)? {
        true => of_volume(a, &files, &voice),
        false => of_field(a, &files, &voice),
    };
    let Found { range: r, dims, dtype, components } = found?;
    voice.report(
        || {
            let more = json!({
                "command": "range", "components": components, "low": end_json(r.low), "high": end_json(r.high),
                "nonfinite_vertices": r.nonfinite_vertices, "filled_vertices": r.filled_vertices,
                "zero_vertices": r.zero_vertices,
            });
            joined(more, shape_json(dims, dtype))
        },
        || {
            let values = match r.low <= r.high {
                true => format!("{} to {}", r.low, r.high),
                false => "no finite value".to_owned(),
            };
            let vertices = [
                (r.zero_vertices, "zero vertex", "zero vertices"),
                (r.nonfinite_vertices, "vertex with NaN or infinity", "vertices with NaN or infinity"),
                (r.filled_vertices, "vertex with the fill value", "vertices with the fill value"),
            ];
            let there = vertices.into_iter().filter(|(n, ..)| *n > 0);
            let counts: String = there.map(|(n, one, many)| format!("; {}", counted(n, one, many))).collect();
            format!("{}: {values}{counts}\n", input_names(&files, ", "))
        },
    )?;
    Ok(Verdict::Good)
}
