//! Reports of the library as JSON with every field, and the names of its choices.

use crate::array::Dims;
use factz::{BoundKind, Coder, Config, Dtype, Mode, Predictor, Preserve};
use factz::{Comparison, Kind, Report, StreamInfo, WARNING_WIDE_RANGE};
use serde_json::{json, Value};

/// The name of a choice in the library's table of names.
fn name_of<T: Copy + PartialEq>(value: T, names: &[(&'static str, T)]) -> &'static str {
    names.iter().find(|(_, v)| *v == value).expect("every choice has a name").0
}

pub fn dtype_name(dtype: Dtype) -> &'static str {
    name_of(dtype, &Dtype::NAMES)
}

pub fn mode_name(mode: Mode) -> &'static str {
    name_of(mode, &Mode::NAMES)
}

pub fn preserve_name(preserve: Preserve) -> &'static str {
    name_of(preserve, &Preserve::NAMES)
}

pub fn predictor_name(predictor: Predictor) -> &'static str {
    name_of(predictor, &Predictor::NAMES)
}

pub fn coder_name(coder: Coder) -> &'static str {
    name_of(coder, &Coder::NAMES)
}

pub fn bound_kind_name(kind: BoundKind) -> &'static str {
    match kind {
        BoundKind::Absolute => "absolute",
        BoundKind::Relative => "relative",
    }
}

pub fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Saddle => "saddle",
        Kind::AttractingNode => "attracting_node",
        Kind::RepellingNode => "repelling_node",
        Kind::AttractingFocus => "attracting_focus",
        Kind::RepellingFocus => "repelling_focus",
        Kind::Center => "center",
    }
}

/// Counts of critical points by their kind.
pub fn kinds_json(count: impl Fn(Kind) -> u64) -> Value {
    Value::Object(Kind::ALL.into_iter().map(|kind| (kind_name(kind).into(), json!(count(kind)))).collect())
}

/// Two JSON objects in one.
pub fn joined(mut first: Value, more: Value) -> Value {
    if let (Value::Object(first), Value::Object(more)) = (&mut first, more) {
        first.extend(more);
    }
    first
}

/// Shape and type of a field.
pub fn shape_json(dims: Dims, dtype: Dtype) -> Value {
    json!({ "nx": dims.nx, "ny": dims.ny, "dtype": dtype_name(dtype) })
}

/// How a field is coded.
pub fn choices_json(c: &Config) -> Value {
    json!({
        "mode": mode_name(c.mode),
        "predictor": predictor_name(c.predictor),
        "coder": coder_name(c.coder),
        "preserve": preserve_name(c.preserve),
    })
}

/// The report of a compression.
pub fn report_json(report: &Report) -> Value {
    json!({
        "stream_bytes": report.stream_bytes,
        "required_bytes": report.required_bytes,
        "exact_vertices": report.exact_vertices,
        "nonfinite_vertices": report.nonfinite_vertices,
        "zero_vertices": report.zero_vertices,
        "filled_vertices": report.filled_vertices,
        "wide_range": report.warnings & WARNING_WIDE_RANGE != 0,
        "critical_points": report.critical_points,
        "absolute_bound": report.bound,
        "max_error": report.max_error,
    })
}

/// The header of a stream.
pub fn info_json(i: &StreamInfo) -> Value {
    json!({
        "format_version": i.format_version,
        "nx": i.nx,
        "ny": i.ny,
        "dtype": dtype_name(i.dtype),
        "mode": mode_name(i.mode),
        "predictor": predictor_name(i.predictor),
        "coder": coder_name(i.coder),
        "preserve": preserve_name(i.preserve),
        "dx": i.dx,
        "dy": i.dy,
        "bound_kind": bound_kind_name(i.bound_kind),
        "bound": i.bound,
        "absolute_bound": i.absolute_bound,
        "fill_value": fill_json(i.fill_value),
        "field_bytes": field_bytes(i),
        "stream_bytes": i.stream_bytes,
        "ratio": field_bytes(i) as f64 / i.stream_bytes as f64,
    })
}

/// A fill value: null where there is none, text where JSON has no such number.
pub fn fill_json(fill_value: Option<f64>) -> Value {
    fill_value.map_or(Value::Null, |x| if x.is_finite() { json!(x) } else { json!(x.to_string()) })
}

/// Bytes of u and v together.
pub fn field_bytes(i: &StreamInfo) -> u64 {
    2 * i.nx * i.ny * i.dtype.bytes()
}

/// PSNR as JSON and text know it: a number, or why there is none.
pub fn psnr_json(psnr: Option<f64>) -> Value {
    match psnr {
        Some(p) if p.is_finite() => json!(p),
        _ => Value::Null,
    }
}

pub fn psnr_text(psnr: Option<f64>) -> String {
    match psnr {
        Some(p) if p.is_finite() => format!("{p:.1}"),
        Some(p) if p == f64::INFINITY => "exact".into(),
        _ => "-".into(),
    }
}

/// The counts of a comparison.
pub fn comparison_json(c: &Comparison, bound: Option<f64>) -> Value {
    json!({
        "critical_points": c.critical_points,
        "critical_points_after": c.critical_points_after,
        "types": kinds_json(|kind| c.kinds[kind as usize]),
        "lost": c.lost,
        "spurious": c.spurious,
        "type_changed": c.type_changed,
        "ties": c.ties,
        "tie_changed": c.tie_changed,
        "tie_created": c.tie_created,
        "nonfinite_vertices": c.nonfinite_vertices,
        "filled_vertices": c.filled_vertices,
        "nonfinite_changed": c.missing_changed,
        "zero_vertices": c.zero_vertices,
        "zero_changed": c.zero_changed,
        "bound_exceeded": c.bound_exceeded,
        "violations": c.violations(),
        "bound": bound,
        "max_error": c.max_error,
        "psnr": psnr_json(c.psnr),
        "identical_finite_values": c.psnr == Some(f64::INFINITY),
    })
}
