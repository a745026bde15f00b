//! Fill values, zeros with a sign at a bound of 0, the warning about wide ranges, and bounds beyond the range: what is
//! promised about them, checked bit by bit, by the library's comparison and by the independent checker.

use crate::support::{both, fresh_folder, output, root};
use factz::Real;
use factz::WARNING_WIDE_RANGE;
use factz::{compare, Comparison};
use factz::{compress, decompress, inspect, max_stream_bytes, Execution};
use factz::{BoundKind, Coder, Config, Dtype, Mode, Predictor, Preserve, Report, Request};
use factz::{View, ViewMut};
use serde_json::{json, Value};
use std::path::{Path, PathBuf};
use std::process::Command;

const FRONTS: [(Mode, Predictor); 3] = [
    (Mode::BlockWise, Predictor::Hierarchical),
    (Mode::Speculative, Predictor::Hierarchical),
    (Mode::BlockWise, Predictor::Lorenzo),
];
const CODERS: [Coder; 2] = [Coder::Ans, Coder::Huffman];
const PRESERVED: [Preserve; 3] = [Preserve::None, Preserve::Points, Preserve::Types];

#[derive(Clone)]
struct Field<T> {
    nx: u64,
    ny: u64,
    components: [Vec<T>; 2],
}

fn bits<T: Real>(values: &[T]) -> Vec<u64> {
    values.iter().map(|x| x.to_bits64()).collect()
}

impl<T: Real> Field<T> {
    fn config(&self, kind: BoundKind, bound: f64) -> Config {
        let dtype = if T::BYTES == 4 { Dtype::F32 } else { Dtype::F64 };
        Config { dtype, ..Config::new(self.nx, self.ny, kind, bound) }
    }

    fn vertex(&self, k: usize) -> [T; 2] {
        [self.components[0][k], self.components[1][k]]
    }

    fn vertices(&self) -> impl Iterator<Item = [T; 2]> + '_ {
        (0..self.components[0].len()).map(|k| self.vertex(k))
    }

    fn set(&mut self, k: usize, [u, v]: [f64; 2]) {
        (self.components[0][k], self.components[1][k]) = (T::from_f64(u), T::from_f64(v));
    }

    /// The stream, which is the same with any number of threads, and the report.
    fn compressed(&self, config: &Config) -> (Vec<u8>, Report) {
        let request = Request::new(*config).expect("a valid configuration");
        let [u, v] = self.components.each_ref().map(|c| View::dense(c, self.nx));
        let streams = [1, 2].map(|threads| {
            let mut stream = vec![0; max_stream_bytes(&request) as usize];
            let report =
                compress(&request, u, v, &mut stream, Execution { threads, progress: None }).expect("valid");
            stream.truncate(report.stream_bytes as usize);
            (stream, report)
        });
        assert!(streams[0] == streams[1], "{config:?}: two threads write another stream");
        let [first, _] = streams;
        first
    }

    fn restored(&self, config: &Config, stream: &[u8]) -> Field<T> {
        let mut after = self.clone();
        let [u, v] = &mut after.components;
        u.fill(T::from_f64(7.25));
        v.fill(T::from_f64(7.25));
        let (u, v) = (ViewMut::dense(u, self.nx), ViewMut::dense(v, self.nx));
        decompress(config, stream, u, v, Execution { threads: 2, progress: None }).expect("an intact stream");
        after
    }

    /// A copy with NaN at some vertices.
    fn blanked(&self, which: &[bool]) -> Field<T> {
        let mut copy = self.clone();
        for (k, _) in which.iter().enumerate().filter(|&(_, &blank)| blank) {
            copy.set(k, [f64::NAN, f64::NAN]);
        }
        copy
    }

    fn compared(&self, after: &Field<T>, fill_value: Option<f64>, bound: f64) -> Comparison {
        let config = Config { fill_value, ..self.config(BoundKind::Absolute, bound) };
        let [first, other] =
            [self, after].map(|f| f.components.each_ref().map(|values| View::dense(values, self.nx)));
        compare(&Request::new(config).expect("valid"), first, other, true, 1).expect("views that cover it")
    }
}

fn stored(name: &str) -> Field<f32> {
    let folder = root().join("data").join(name);
    let meta: Value =
        serde_json::from_slice(&std::fs::read(folder.join("meta.json")).expect("the field is there"))
            .expect("JSON");
    let components = ["u.f32", "v.f32"].map(|file| {
        let bytes = std::fs::read(folder.join(file)).expect("the field is there");
        bytes.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().expect("four bytes"))).collect()
    });
    let size = |key: &str| meta[key].as_u64().expect("a size");
    Field { nx: size("nx"), ny: size("ny"), components }
}

/// A part of a field, as another type.
fn part<T: Real>(field: &Field<f32>, nx: u64, ny: u64) -> Field<T> {
    let (nx, ny) = (nx.min(field.nx), ny.min(field.ny));
    let components = field.components.each_ref().map(|from| {
        let at = |k: u64| T::from_f64(from[(k / nx * field.nx + k % nx) as usize] as f64);
        (0..nx * ny).map(at).collect()
    });
    Field { nx, ny, components }
}

/// Land: a few discs, and single vertices.
fn is_land(nx: u64, k: u64) -> bool {
    let (x, y) = ((k % nx) as f64, (k / nx) as f64);
    let disc = |a: f64, b: f64, r: f64| (x - a).hypot(y - b) < r;
    disc(20.0, 20.0, 14.0) || disc(64.0, 40.0, 9.0) || disc(96.0, 4.0, 30.0) || k % 61 == 7
}

/// Fields with a fill value.
fn filled_fields<T: Real>() -> Vec<(&'static str, Field<T>, f64)> {
    let wind = part::<T>(&stored("wind_global"), 100, 70);
    let (nx, n) = (wind.nx, wind.components[0].len());
    let mut fields = Vec::new();
    for (name, fill) in [("netcdf", 9.96921e36), ("small", -999.0), ("nan", f64::NAN)] {
        let mut land = wind.clone();
        let mut staggered = wind.clone();
        for k in (0..n).filter(|&k| is_land(nx, k as u64)) {
            land.set(k, [fill, fill]);
            // Only one component, and what is beside it is data, or none.
            let [u, v] = wind.vertex(k).map(T::to_f64);
            staggered.set(k, [[fill, v], [u, fill], [fill, fill], [fill, f64::NAN]][k % 4]);
        }
        fields.push((name, land, fill));
        fields.push((name, staggered, fill));
    }
    let mut whole = wind.clone();
    whole.components.iter_mut().for_each(|c| c.fill(T::from_f64(1e20)));
    fields.push(("all filled", whole, 1e20));
    fields.push(("none filled", wind.clone(), 9.96921e36));
    fields.push(("no value that f32 has", wind, 0.1));
    let integers = part::<T>(&stored("integer64"), 64, 64);
    for fill in [2.0, 0.0, -0.0] {
        let mut some = integers.clone();
        for k in (0..some.components[0].len()).filter(|k| k % 9 == 0) {
            some.set(k, [[0.0, -0.0], [-0.0, 0.0], [0.0, 0.0], [-0.0, -0.0]][k / 9 % 4]);
        }
        fields.push(("data", some, fill));
    }
    fields
}

/// Cases for the independent checker.
struct Batch {
    folder: PathBuf,
    cases: Vec<Value>,
    /// The counts of the report.
    expected: Vec<[u64; 4]>,
}

impl Batch {
    fn new(name: &str) -> Self {
        Batch { folder: fresh_folder(name), cases: Vec::new(), expected: Vec::new() }
    }

    fn write<T: Real>(&self, name: String, values: &[T]) -> PathBuf {
        let path = self.folder.join(name);
        let bytes: Vec<u8> =
            values.iter().flat_map(|x| x.to_bits64().to_le_bytes()[..T::BYTES].to_vec()).collect();
        std::fs::write(&path, bytes).expect("the folder is writable");
        path
    }

    fn add<T: Real>(&mut self, before: &Field<T>, after: &Field<T>, fill: Option<f64>, report: &Report) {
        let k = self.cases.len();
        let values = [before, after].map(|f| &f.components);
        let files: Vec<PathBuf> = values
            .iter()
            .flat_map(|components| components.iter())
            .enumerate()
            .map(|(c, values)| self.write(format!("{k}-{c}"), values))
            .collect();
        let dtype = if T::BYTES == 4 { "f32" } else { "f64" };
        // JSON has no number that is none.
        let fill = fill.map(|x| if x.is_nan() { json!("nan") } else { json!(x) });
        self.cases.push(json!({
            "nx": before.nx, "ny": before.ny, "dtype": dtype, "files": files, "bound": report.bound, "fill": fill,
        }));
        self.expected.push([
            report.filled_vertices,
            report.nonfinite_vertices,
            report.zero_vertices,
            report.critical_points,
        ]);
    }

    /// Runs the checker: nothing is violated, and it counts what the reports say.
    fn check(self) {
        let list = self.folder.join("cases.json");
        std::fs::write(&list, serde_json::to_vec(&self.cases).expect("JSON"))
            .expect("the folder is writable");
        let python = std::env::var("FACTZ_PYTHON").unwrap_or_else(|_| "python3".into());
        let out = output(Command::new(python).arg("-B").arg(root().join("tests/verify_batch.py")).arg(&list));
        assert!(out.status.success(), "{}", both(&out));
        let results: Vec<Value> = serde_json::from_slice(&out.stdout).expect("JSON");
        assert_eq!(results.len(), self.cases.len());
        for ((r, expected), case) in results.iter().zip(&self.expected).zip(&self.cases) {
            assert_eq!(r["violations"], 0, "{case}: {r}");
            let keys = ["filled_vertices", "nonfinite_vertices", "zero_vertices", "total"];
            assert_eq!(keys.map(|key| r[key].as_u64().expect("a count")), *expected, "{case}: {r}");
        }
        std::fs::remove_dir_all(&self.folder).expect("the folder can go");
    }
}

/// The joint range of the values that are no fill.
fn range<T: Real>(field: &Field<T>, filled: &[bool]) -> f64 {
    let values = field.vertices().zip(filled).filter(|&(_, &filled)| !filled).flat_map(|(vertex, _)| vertex);
    let (low, high) = values
        .map(T::to_f64)
        .filter(|x| x.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
    (high - low).max(0.0)
}

fn check_fill<T: Real>(name: &str, field: &Field<T>, fill: f64, batch: &mut Batch) {
    let fill_bits = T::from_f64(fill).to_bits64();
    let filled: Vec<bool> = field.vertices().map(|p| p.iter().any(|x| x.to_bits64() == fill_bits)).collect();
    let gone: Vec<bool> = field
        .vertices()
        .zip(&filled)
        .map(|(p, &filled)| filled || p.iter().any(|x| !x.is_finite()))
        .collect();
    let nonfinite = field.vertices().filter(|p| p.iter().any(|x| !x.is_finite())).count() as u64;
    for (mode, predictor) in FRONTS {
        for (kind, bound) in
            [(BoundKind::Relative, 1e-2), (BoundKind::Relative, 1e-5), (BoundKind::Absolute, 0.25)]
        {
            for preserve in PRESERVED {
                let config =
                    Config { mode, predictor, preserve, fill_value: Some(fill), ..field.config(kind, bound) };
                let (stream, report) = field.compressed(&config);
                let after = field.restored(&config, &stream);
                let what = format!("{name}, fill {fill}: {config:?}");
                let huffman = Config { coder: Coder::Huffman, ..config };
                let coded = field.compressed(&huffman).0;
                if coded[18] == stream[18] {
                    let other = field.restored(&huffman, &coded);
                    assert!(
                        other.components.each_ref().map(|c| bits(c))
                            == after.components.each_ref().map(|c| bits(c)),
                        "{what}"
                    );
                }
                for (k, (a, b)) in field.vertices().zip(after.vertices()).enumerate() {
                    assert!(!gone[k] || bits(&a) == bits(&b), "{what}: {a:?} at {k} became {b:?}");
                }
                if kind == BoundKind::Relative {
                    assert_eq!(report.bound, bound * range(field, &filled), "{what}");
                }
                let count = filled.iter().filter(|&&x| x).count() as u64;
                let both = field.vertices().zip(&filled);
                let both =
                    both.filter(|(p, filled)| **filled && p.iter().any(|x| !x.is_finite())).count() as u64;
                assert_eq!(report.filled_vertices, count - both, "{what}");
                assert_eq!(report.nonfinite_vertices, nonfinite, "{what}");
                // A value may come back as the fill value where that is within the bound of it.
                let is_filled = |p: [T; 2]| p.iter().any(|x| x.to_bits64() == fill_bits);
                let came_back =
                    after.vertices().zip(&gone).filter(|&(p, &gone)| !gone && is_filled(p)).count();
                let near = |p: [T; 2]| p.iter().any(|x| (x.to_f64() - fill).abs() <= report.bound);
                assert!(
                    came_back == 0 || field.vertices().zip(&gone).any(|(p, &gone)| !gone && near(p)),
                    "{what}"
                );
                let told = field.compared(&after, Some(fill), report.bound);
                assert_eq!(told.missing_changed, 0, "{what}: {told:?}");
                assert_eq!(
                    (told.filled_vertices, told.bound),
                    (report.filled_vertices, report.bound),
                    "{what}"
                );
                let c = field.blanked(&gone).compared(&after.blanked(&gone), None, report.bound);
                let violations = match preserve {
                    Preserve::None => c.missing_changed + c.bound_exceeded,
                    Preserve::Points => c.violations() - c.type_changed,
                    Preserve::Types => c.violations(),
                };
                assert_eq!(violations, 0, "{what}: {c:?}");
                assert!(report.max_error <= report.bound, "{what}");
                let info = inspect(&stream).expect("a header");
                assert_eq!(info.fill_value.map(|x| T::from_f64(x).to_bits64()), Some(fill_bits), "{what}");
                if preserve == Preserve::Types {
                    assert_eq!(report.critical_points, c.critical_points, "{what}");
                    if came_back == 0 {
                        batch.add(field, &after, Some(fill), &report);
                    } else {
                        // Shown to the checker without the fill value as well.
                        let nonfinite_vertices = gone.iter().filter(|&&gone| gone).count() as u64;
                        let report = Report { filled_vertices: 0, nonfinite_vertices, ..report };
                        batch.add(&field.blanked(&gone), &after.blanked(&gone), None, &report);
                    }
                }
            }
        }
    }
}

#[test]
fn filled_f32_vertices_are_kept_and_constrain_nothing() {
    let mut batch = Batch::new("fill-f32");
    for (name, field, fill) in filled_fields::<f32>() {
        check_fill(name, &field, fill, &mut batch);
    }
    batch.check();
}

#[test]
fn filled_f64_vertices_are_kept_and_constrain_nothing() {
    let mut batch = Batch::new("fill-f64");
    for (name, field, fill) in filled_fields::<f64>() {
        check_fill(name, &field, fill, &mut batch);
    }
    batch.check();
}

/// A fill value in the place of what would be NaN costs no more.
#[test]
fn a_fill_value_costs_as_much_as_nan() {
    let fields = filled_fields::<f32>();
    let (_, land, fill) = &fields[0];
    let filled: Vec<bool> = land.vertices().map(|p| p[0] == *fill as f32).collect();
    for (mode, predictor) in FRONTS {
        let config = Config { mode, predictor, ..land.config(BoundKind::Relative, 1e-3) };
        let with = land.compressed(&Config { fill_value: Some(*fill), ..config }).0.len();
        let without = land.blanked(&filled).compressed(&config).0.len();
        assert_eq!(with, without, "{mode:?}, {predictor:?}");
    }
}

// ---------------------------------------------------------------- zeros with a sign

/// Zeros of both signs everywhere, in one component or both.
fn signed_fields<T: Real>() -> Vec<Field<T>> {
    let mut fields = vec![part::<T>(&stored("integer64"), 64, 64), part::<T>(&stored("wind_global"), 70, 67)];
    for (width, height) in [(33, 1), (1, 40), (2, 2), (97, 66)] {
        let components = [(); 2].map(|()| vec![T::ZERO; (width * height) as usize]);
        fields.push(Field { nx: width, ny: height, components });
    }
    for field in &mut fields {
        for k in 0..field.components[0].len() {
            let [u, v] = field.vertex(k).map(T::to_f64);
            match (k as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 59 {
                0 => field.set(k, [-0.0, v]),
                1 => field.set(k, [u, -0.0]),
                2 => field.set(k, [-0.0, 0.0]),
                3 => field.set(k, [0.0, -0.0]),
                4 => field.set(k, [-0.0, -0.0]),
                5 => field.set(k, [0.0, 0.0]),
                _ => {}
            }
        }
    }
    // A prediction is exact where nothing changes.
    for (a, b) in [(-0.0, 5.0), (0.0, 0.0), (5.0, -0.0)] {
        let mut plain = fields[5].clone();
        for k in 0..plain.components[0].len() {
            plain.set(k, [a, b]);
        }
        plain.set(97 * 40 + 13, [-a, -b]);
        fields.push(plain);
    }
    fields
}

fn check_signs<T: Real>() {
    for (number, field) in signed_fields::<T>().into_iter().enumerate() {
        let constant = range(&field, &vec![false; field.components[0].len()]) == 0.0;
        for (mode, predictor) in FRONTS {
            for coder in CODERS {
                for preserve in PRESERVED {
                    for (halo, pin) in [(0, 0), (0, 15)] {
                        let mut bounds = vec![(BoundKind::Absolute, 0.0), (BoundKind::Relative, 0.0)];
                        if constant {
                            bounds.push((BoundKind::Relative, 1e-2));
                        }
                        for (kind, bound) in bounds {
                            let config = Config {
                                mode,
                                predictor,
                                coder,
                                preserve,
                                halo,
                                pin,
                                ..field.config(kind, bound)
                            };
                            let (stream, report) = field.compressed(&config);
                            let after = field.restored(&config, &stream);
                            for (k, (a, b)) in field.vertices().zip(after.vertices()).enumerate() {
                                assert!(
                                    bits(&a) == bits(&b),
                                    "{number}: {a:?} at {k} became {b:?}: {config:?}"
                                );
                            }
                            let zeros = field.vertices().filter(|p| p[0] == T::ZERO && p[1] == T::ZERO);
                            assert_eq!(report.zero_vertices, zeros.count() as u64, "{number}: {config:?}");
                            let points = field.compared(&after, None, 0.0).critical_points;
                            if preserve != Preserve::None {
                                assert_eq!(report.critical_points, points, "{number}: {config:?}");
                            }
                            assert_eq!((report.bound, report.max_error), (0.0, 0.0));
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn a_bound_of_zero_keeps_the_signs_of_zeros() {
    check_signs::<f32>();
    check_signs::<f64>();
}

// ---------------------------------------------------------------- wide ranges

fn warns(field: &Field<f32>, config: &Config) -> bool {
    let warnings = field.compressed(config).1.warnings;
    assert_eq!(warnings & !WARNING_WIDE_RANGE, 0);
    warnings != 0
}

#[test]
fn outliers_that_make_the_range_are_warned_of() {
    let wind = stored("wind_global");
    let n = wind.components[0].len();
    let config = wind.config(BoundKind::Relative, 1e-3);
    for fill in [9.96921e36f64, 1e20, -1e20] {
        for percent in [1, 5, 30, 60, 90] {
            for both in [false, true] {
                let mut field = wind.clone();
                for k in (0..n).filter(|k| k * 7919 % 100 < percent) {
                    let v = field.vertex(k)[1] as f64;
                    field.set(k, [fill, if both { fill } else { v }]);
                }
                assert!(warns(&field, &config), "{fill} over {percent} %");
                let known = Config { fill_value: Some(fill), ..config };
                assert!(!warns(&field, &known), "{fill} over {percent} %, which is known");
                let absolute = field.config(BoundKind::Absolute, 0.1);
                assert!(!warns(&field, &absolute), "{fill} over {percent} %, absolute");
            }
        }
    }
}

/// No field of data/ has such a range but for the one that is made of all magnitudes.
#[test]
fn ordinary_fields_are_not_warned_of() {
    for folder in std::fs::read_dir(root().join("data")).expect("the fields are there") {
        let folder = folder.expect("a folder");
        if !folder.file_type().expect("a type").is_dir() {
            continue;
        }
        let name = folder.file_name().into_string().expect("text");
        let field = stored(&name);
        assert!(!warns(&field, &field.config(BoundKind::Relative, 1e-3)), "{name}");
    }
}

// ---------------------------------------------------------------- bounds beyond the range

fn check_useless_bounds<T: Real>(name: &str) {
    let field = part::<T>(&stored(name), 256, 256);
    let mut largest = 0.0f64;
    for x in field.components.iter().flatten() {
        largest = largest.max(x.abs().to_f64());
    }
    for (mode, predictor) in FRONTS {
        for preserve in PRESERVED {
            let config = Config { mode, predictor, preserve, ..field.config(BoundKind::Relative, 1e-1) };
            let usual = field.compressed(&config).0.len();
            for (kind, bound) in [
                (BoundKind::Absolute, 2.5 * largest),
                (BoundKind::Absolute, 1e30),
                (BoundKind::Absolute, 1e300),
                (BoundKind::Relative, 1e3),
            ] {
                let config = Config { bound_kind: kind, bound, ..config };
                let (stream, report) = field.compressed(&config);
                let after = field.restored(&config, &stream);
                let c = field.compared(&after, None, report.bound);
                let violations = match preserve {
                    Preserve::None => c.bound_exceeded,
                    Preserve::Points => c.violations() - c.type_changed,
                    Preserve::Types => c.violations(),
                };
                assert_eq!(violations, 0, "{name}: {config:?}");
                assert!(
                    stream.len() <= usual + usual / 16,
                    "{name}: {} of {usual}: {config:?}",
                    stream.len()
                );
            }
        }
    }
}

#[test]
fn bounds_beyond_the_range_do_not_make_streams_large() {
    for name in ["wind_global", "dt256", "piv_cavity"] {
        check_useless_bounds::<f32>(name);
        check_useless_bounds::<f64>(name);
    }
}

// ---------------------------------------------------------------- the independent decoder

#[test]
fn an_independent_decoder_knows_fill_values_and_signs() {
    let folder = fresh_folder("fill-decoder");
    let python = std::env::var("FACTZ_PYTHON").unwrap_or_else(|_| "python3".into());
    let mut command = Command::new(python);
    command.arg("-B").arg(root().join("tests/format_decoder.py"));
    let mut decoded: Vec<(Vec<u8>, PathBuf)> = Vec::new();
    fn add<T: Real>(
        field: &Field<T>,
        config: &Config,
        folder: &Path,
        decoded: &mut Vec<(Vec<u8>, PathBuf)>,
        command: &mut Command,
    ) {
        let (stream, _) = field.compressed(config);
        let after = field.restored(config, &stream);
        let bytes = after.components.iter().flatten();
        let bytes = bytes.flat_map(|x| x.to_bits64().to_le_bytes()[..T::BYTES].to_vec()).collect();
        let [from, to] = ["in", "out"].map(|side| folder.join(format!("{}-{side}", decoded.len())));
        std::fs::write(&from, stream).expect("the folder is writable");
        command.arg(from).arg(&to);
        decoded.push((bytes, to));
    }
    for (k, (mode, predictor)) in FRONTS.into_iter().enumerate() {
        let fields = filled_fields::<f32>();
        for (_, field, fill) in [&fields[1], &fields[3], &fields[fields.len() - 2]] {
            let coder = CODERS[k % 2];
            let config = field.config(BoundKind::Relative, 1e-2);
            let config = Config { mode, predictor, coder, fill_value: Some(*fill), ..config };
            add(field, &config, &folder, &mut decoded, &mut command);
        }
        let field = &filled_fields::<f64>()[1];
        let config = Config {
            mode,
            predictor,
            fill_value: Some(field.2),
            ..field.1.config(BoundKind::Relative, 1e-2)
        };
        add(&field.1, &config, &folder, &mut decoded, &mut command);
        let field = &signed_fields::<f64>()[0];
        let config = Config { mode, predictor, ..field.config(BoundKind::Absolute, 0.0) };
        add(field, &config, &folder, &mut decoded, &mut command);
    }
    let out = output(&mut command);
    assert!(out.status.success(), "{}", both(&out));
    for (bytes, path) in decoded {
        assert!(std::fs::read(&path).expect("an output") == bytes, "{}", path.display());
    }
}
