//! The commands on files, except the measurements.

use crate::args::{Compress, Decompress, Info, Points, Verify};
use crate::array::{self, dtype_name, Dims, Output, Values};
use crate::engine::Engine;
use crate::failure::{failure, Failure};
use crate::job;
use crate::progress::Progress;
use crate::Verdict;
use factz::analysis::{Comparison, Kind};
use factz::{backend, BoundKind, Coder, Config, Mode, Predictor, Preserve, StreamInfo};
use serde_json::{json, Value};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{Read, Write as _};
use std::path::Path;

/// Prints to standard output; a reader that went away early is no error.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => Err(failure!("standard output: {e}")),
        _ => Ok(()),
    }
}

pub fn print_json(value: &Value) -> Result<(), Failure> {
    print(&format!("{value:#}\n"))
}

/// 1234567 as 1,234,567.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (k, d) in digits.chars().enumerate() {
        if k > 0 && (digits.len() - k) % 3 == 0 {
            text.push(',');
        }
        text.push(d);
    }
    text
}

pub fn megabytes_per_second(bytes: u64, seconds: f64) -> f64 {
    bytes as f64 / 1e6 / seconds.max(1e-9)
}

/// A count with its noun.
fn counted(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(n), if n == 1 { one } else { many })
}

fn critical_points_text(n: u64) -> String {
    counted(n, "critical point", "critical points")
}

pub fn mode_name(mode: Mode) -> &'static str {
    match mode {
        Mode::BlockWise => "block",
        Mode::Speculative => "speculative",
    }
}

pub fn preserve_name(preserve: Preserve) -> &'static str {
    match preserve {
        Preserve::None => "none",
        Preserve::Points => "points",
        Preserve::Types => "types",
    }
}

pub fn predictor_name(predictor: Predictor) -> &'static str {
    match predictor {
        Predictor::Hierarchical => "hierarchical",
        Predictor::Lorenzo => "lorenzo",
    }
}

pub fn coder_name(coder: Coder) -> &'static str {
    match coder {
        Coder::Ans => "ans",
        Coder::Huffman => "huffman",
    }
}

fn bound_kind_name(kind: BoundKind) -> &'static str {
    match kind {
        BoundKind::Absolute => "absolute",
        BoundKind::Relative => "relative",
    }
}

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Saddle => "saddle",
        Kind::AttractingNode => "attracting_node",
        Kind::RepellingNode => "repelling_node",
        Kind::AttractingFocus => "attracting_focus",
        Kind::RepellingFocus => "repelling_focus",
        Kind::Center => "center",
    }
}

pub fn compress(a: &Compress) -> Result<Verdict, Failure> {
    let (bound_kind, bound) = a.bound.bound().ok_or_else(|| {
        failure!(
            "a bound is missing: give --abs E (largest error in the unit of the field) or --rel T (as a fraction \
             of the range of values, for example --rel 1e-3)"
        )
    })?;
    for (name, input) in [("U", &a.u), ("V", &a.v)] {
        if array::same_file(&a.output, input) {
            return Err(failure!(
                "-o {}: is the input {name}; give the stream another name",
                a.output.display()
            ));
        }
    }
    let field = array::read_field(&a.u, &a.v, a.shape.shape())?;
    let config = Config {
        dtype: field.dtype(),
        mode: a.mode.value(),
        predictor: a.predictor.value(),
        coder: a.coder.value(),
        preserve: a.preserve.value(),
        dx: a.spacing.dx,
        dy: a.spacing.dy,
        ..Config::new(field.dims.nx, field.dims.ny, bound_kind, bound)
    };
    let engine = Engine::new(&a.place)?;
    // Made before the work, so that a name that cannot be written is known at once.
    let mut output = Output::create(&a.output)?;
    let progress = Progress::new("compressing");
    let done = engine.compress(&field, &config, &progress)?;
    drop(progress);
    let (seconds, (report, stream)) = (done.seconds, &done.result);
    output.write(stream)?;
    Output::commit(vec![output])?;

    let ratio = field.bytes() as f64 / report.stream_bytes as f64;
    let speed = megabytes_per_second(field.bytes(), seconds);
    if a.json {
        print_json(&json!({
            "command": "compress",
            "output": a.output.display().to_string(),
            "nx": field.dims.nx,
            "ny": field.dims.ny,
            "dtype": dtype_name(field.dtype()),
            "mode": mode_name(config.mode),
            "predictor": predictor_name(config.predictor),
            "coder": coder_name(config.coder),
            "preserve": preserve_name(config.preserve),
            "bound_kind": bound_kind_name(bound_kind),
            "bound": bound,
            "absolute_bound": report.bound,
            "max_error": report.max_error,
            "input_bytes": field.bytes(),
            "stream_bytes": report.stream_bytes,
            "ratio": ratio,
            "critical_points": report.critical_points,
            "exact_vertices": report.exact_vertices,
            "nonfinite_vertices": report.nonfinite_vertices,
            "zero_vertices": report.zero_vertices,
            "backend": done.backend(),
            "device": done.device,
            "seconds": seconds,
            "mb_per_second": speed,
        }))?;
        return Ok(Verdict::Good);
    }
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{}: {} bytes of {}, ratio {ratio:.2}; compressed{} in {seconds:.3} s ({speed:.0} MB/s)",
        a.output.display(),
        grouped(report.stream_bytes),
        grouped(field.bytes()),
        done.place()
    );
    let _ = writeln!(text, "largest error {:.6e}, bound {:.6e}", report.max_error, report.bound);
    if config.preserve != Preserve::None {
        let kept = if config.preserve == Preserve::Types { "kept with their types" } else { "kept" };
        let _ = writeln!(text, "{} {kept}, none new", critical_points_text(report.critical_points));
    } else {
        let _ = writeln!(text, "critical points are not preserved (--preserve none)");
    }
    let _ = writeln!(
        text,
        "vertices: {} stored exactly, {} zero, {} with NaN or infinity",
        grouped(report.exact_vertices),
        grouped(report.zero_vertices),
        grouped(report.nonfinite_vertices)
    );
    print(&text)?;
    Ok(Verdict::Good)
}

fn inspect(path: &Path, bytes: &[u8]) -> Result<StreamInfo, Failure> {
    backend::inspect(bytes).map_err(|e| failure!("{}: {e}", path.display()))
}

pub fn decompress(a: &Decompress) -> Result<Verdict, Failure> {
    if array::same_file(&a.u, &a.v) {
        return Err(failure!("{}: is given for U and for V; give two names", a.u.display()));
    }
    for output in [&a.u, &a.v] {
        if array::same_file(&a.input, output) {
            return Err(failure!("{}: is the stream itself; give the array another name", output.display()));
        }
    }
    let stream =
        std::fs::read(&a.input).map_err(|e| failure!("{}: cannot be read: {e}", a.input.display()))?;
    let info = inspect(&a.input, &stream)?;
    let dims = Dims { nx: info.nx, ny: info.ny };
    if info.stream_bytes > stream.len() as u64 {
        return Err(failure!(
            "{}: has {} bytes, its header says {}: the end is missing",
            a.input.display(),
            stream.len(),
            info.stream_bytes
        ));
    }
    let mut field = job::empty_field(dims, info.dtype)?;
    let engine = Engine::new(&a.place)?;
    let progress = Progress::new("decompressing");
    let done = engine
        .decompress(&stream, &mut field, &progress)
        .map_err(|e| failure!("{}: {e}", a.input.display()))?;
    drop(progress);
    let seconds = done.seconds;
    let write = |path: &Path, values: &Values| match values {
        Values::F32(x) => array::write_values(path, x, dims),
        Values::F64(x) => array::write_values(path, x, dims),
    };
    Output::commit(vec![write(&a.u, &field.u)?, write(&a.v, &field.v)?])?;
    let speed = megabytes_per_second(field.bytes(), seconds);
    if a.json {
        print_json(&json!({
            "command": "decompress",
            "u": a.u.display().to_string(),
            "v": a.v.display().to_string(),
            "nx": dims.nx,
            "ny": dims.ny,
            "dtype": dtype_name(info.dtype),
            "output_bytes": field.bytes(),
            "stream_bytes": info.stream_bytes,
            "backend": done.backend(),
            "device": done.device,
            "seconds": seconds,
            "mb_per_second": speed,
        }))?;
    } else {
        print(&format!(
            "{}, {}: {dims} values of {} each; decompressed{} in {seconds:.3} s ({speed:.0} MB/s)\n",
            a.u.display(),
            a.v.display(),
            dtype_name(info.dtype),
            done.place()
        ))?;
    }
    Ok(Verdict::Good)
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

/// The counts of a comparison as JSON.
pub fn comparison_json(c: &Comparison, bound: Option<f64>) -> Value {
    json!({
        "critical_points": c.critical_points,
        "critical_points_after": c.critical_points_after,
        "lost": c.lost,
        "spurious": c.spurious,
        "type_changed": c.type_changed,
        "tie_changed": c.tie_changed,
        "tie_created": c.tie_created,
        "nonfinite_changed": c.nonfinite_changed,
        "bound_exceeded": c.bound_exceeded,
        "violations": c.violations(),
        "bound": bound,
        "max_error": c.max_error,
        "psnr": psnr_json(c.psnr),
        "identical_finite_values": c.psnr == Some(f64::INFINITY),
    })
}

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
        (c.nonfinite_changed, "NaN or infinite vertex changed", "NaN or infinite vertices changed"),
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
    let paths = [&a.u0, &a.v0, &a.u1, &a.v1].map(|p| p.as_path());
    let (dims, arrays) = array::read_arrays(&paths, a.shape.shape())?;
    let [u0, v0, u1, v1] = <[Values; 4]>::try_from(arrays).expect("four arrays were read");
    let (before, after) = (array::Field { dims, u: u0, v: v0 }, array::Field { dims, u: u1, v: v1 });
    let bound = a.bound.bound().map(|(kind, b)| job::absolute_bound(&before, kind, b));
    let c = Engine::new(&a.place)?.compare(&before, &after, a.spacing, bound)?.result;
    if a.json {
        print_json(&comparison_json(&c, bound))?;
    } else {
        print(&verdict_text(&c, bound))?;
    }
    Ok(if c.violations() == 0 { Verdict::Good } else { Verdict::Violated })
}

pub fn info(a: &Info) -> Result<Verdict, Failure> {
    let cannot = |e| failure!("{}: cannot be read: {e}", a.input.display());
    let mut start = Vec::new();
    let file = File::open(&a.input).map_err(cannot)?;
    let file_bytes = file.metadata().map_err(cannot)?.len();
    file.take(backend::INSPECT_BYTES as u64).read_to_end(&mut start).map_err(cannot)?;
    let i = inspect(&a.input, &start)?;
    let field_bytes = 2 * i.nx * i.ny * i.dtype.bytes();
    let ratio = field_bytes as f64 / i.stream_bytes as f64;
    if a.json {
        print_json(&json!({
            "command": "info",
            "format_version": i.format_version,
            "nx": i.nx,
            "ny": i.ny,
            "dtype": dtype_name(i.dtype),
            "mode": mode_name(i.mode),
            "coder": coder_name(i.coder),
            "preserve": preserve_name(i.preserve),
            "dx": i.dx,
            "dy": i.dy,
            "bound_kind": bound_kind_name(i.bound_kind),
            "bound": i.bound,
            "absolute_bound": i.absolute_bound,
            "field_bytes": field_bytes,
            "stream_bytes": i.stream_bytes,
            "file_bytes": file_bytes,
            "ratio": ratio,
        }))?;
        return Ok(Verdict::Good);
    }
    let mut text = String::new();
    let _ = writeln!(
        text,
        "field           {} x {} values of {} (columns x rows)",
        i.nx,
        i.ny,
        dtype_name(i.dtype)
    );
    let _ = writeln!(text, "bound           {} {:e}", bound_kind_name(i.bound_kind), i.bound);
    let _ = writeln!(text, "absolute bound  {:e}", i.absolute_bound);
    let _ = writeln!(text, "mode            {}", mode_name(i.mode));
    let _ = writeln!(text, "coder           {}", coder_name(i.coder));
    let _ = writeln!(text, "preserves       {}", preserve_name(i.preserve));
    let _ = writeln!(text, "spacing         {}, {}", i.dx, i.dy);
    let _ = writeln!(text, "stream          {} bytes, ratio {ratio:.2}", grouped(i.stream_bytes));
    if file_bytes != i.stream_bytes {
        let _ = writeln!(text, "file            {} bytes: not the stream's length", grouped(file_bytes));
    }
    let _ = writeln!(text, "format version  {}", i.format_version);
    print(&text)?;
    Ok(Verdict::Good)
}

pub fn points(a: &Points) -> Result<Verdict, Failure> {
    let field = array::read_field(&a.u, &a.v, a.shape.shape())?;
    let points = Engine::new(&a.place)?.critical_points(&field, a.spacing)?.result;
    let mut list = String::new();
    if a.output.is_some() || !a.json {
        list.push_str("x,y,x_cell,y_cell,triangle,type\n");
        for p in &points {
            let _ = writeln!(
                list,
                "{},{},{},{},{},{}",
                p.x,
                p.y,
                p.x_cell,
                p.y_cell,
                p.triangle,
                kind_name(p.kind)
            );
        }
    }
    match &a.output {
        Some(path) => array::write_file(path, list.as_bytes())?,
        None => print(&list)?,
    }
    if a.json {
        let mut counts = serde_json::Map::new();
        for kind in Kind::ALL {
            let n = points.iter().filter(|p| p.kind == kind).count();
            counts.insert(kind_name(kind).into(), json!(n));
        }
        print_json(&json!({ "command": "points", "critical_points": points.len(), "types": counts }))?;
    } else if let Some(path) = &a.output {
        print(&format!("{}: {}\n", path.display(), critical_points_text(points.len() as u64)))?;
    }
    Ok(Verdict::Good)
}
