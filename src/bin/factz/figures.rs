//! Reports of the library as JSON with every field, and the names of its choices.

use crate::array::Dims;
use crate::class::kind_name;
use factz::config_text::PERIODIC;
use factz::{
    BoundKind, Comparison, ComparisonOf, Config, Dtype, Kind, Report, StreamInfo, WARNING_WIDE_RANGE,
};
use serde_json::{json, Value};

pub fn bound_kind_name(kind: BoundKind) -> &'static str {
    match kind {
        BoundKind::Absolute => "absolute",
        BoundKind::Relative => "relative",
    }
}

/// The periodic axes, as `--periodic` takes them.
pub fn periodic_name(periodic: u32) -> &'static str {
    PERIODIC.iter().find(|(_, bits)| *bits == periodic).map_or("unknown", |(name, _)| name)
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
    json!({ "nx": dims.nx, "ny": dims.ny, "nz": dims.nz, "dtype": dtype.name() })
}

/// How a field is coded.
pub fn choices_json(c: &Config) -> Value {
    json!({
        "mode": c.mode.name(),
        "predictor": c.predictor.name(),
        "coder": c.coder.name(),
        "preserve": c.preserve.name(),
        "ties": c.ties.name(),
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
        "nz": i.nz,
        "component": component_name(i),
        "components": i.components,
        "periodic": periodic_name(i.periodic),
        "dtype": i.dtype.name(),
        "mode": i.mode.name(),
        "predictor": i.predictor.name(),
        "coder": i.coder.name(),
        "preserve": i.preserve.name(),
        "ties": i.ties.name(),
        "dx": i.dx,
        "dy": i.dy,
        "dz": i.dz,
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

/// The only component that a stream holds.
pub fn component_name(i: &StreamInfo) -> Option<&'static str> {
    i.component.map(|component| component.name())
}

/// Bytes of the values that a stream holds: of all components together, or of its only one.
pub fn field_bytes(i: &StreamInfo) -> u64 {
    let components = if i.component.is_some() { 1 } else { i.components as u64 };
    components * i.nx * i.ny * i.nz * i.dtype.bytes()
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

/// Largest error over the bound; 0 for a bound of 0.
pub fn error_over_bound(max_error: f64, bound: f64) -> f64 {
    if bound > 0.0 {
        max_error / bound
    } else {
        0.0
    }
}

/// The fields of `factz_comparison`; no bound without a promise of one.
pub fn comparison_json(c: &Comparison, bound: Option<f64>) -> Value {
    comparison_by_type_json(c, bound, Kind::ALL.map(kind_name))
}

/// The fields of `factz_comparison` or `factz_volume_comparison`, with the names of the types of points.
pub fn comparison_by_type_json<const KINDS: usize>(
    c: &ComparisonOf<KINDS>,
    bound: Option<f64>,
    names: [&str; KINDS],
) -> Value {
    let by_type = names.into_iter().zip(c.points_by_type).map(|(name, n)| (name.to_owned(), json!(n)));
    json!({ "comparison": {
        "violations": c.violations(),
        "critical_points": c.critical_points,
        "other_critical_points": c.other_critical_points,
        "points_by_type": Value::Object(by_type.collect()),
        "lost_points": c.lost_points,
        "spurious_points": c.spurious_points,
        "changed_types": c.changed_types,
        "lost_zeros": c.lost_zeros,
        "spurious_zeros": c.spurious_zeros,
        "changed_indices": c.changed_indices,
        "ties": c.ties,
        "changed_ties": c.changed_ties,
        "new_ties": c.new_ties,
        "nonfinite_vertices": c.nonfinite_vertices,
        "filled_vertices": c.filled_vertices,
        "changed_missing": c.changed_missing,
        "zero_vertices": c.zero_vertices,
        "changed_zero_vertices": c.changed_zero_vertices,
        "bound_exceeded": c.bound_exceeded,
        "bound": bound,
        "max_error": c.max_error,
        "psnr": psnr_json(c.psnr),
        "identical_finite_values": c.psnr == Some(f64::INFINITY),
    }})
}
