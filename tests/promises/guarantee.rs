//! The promise: the signature of every triangle is the same before and after, and no value is off by more
//! than the bound. Checked on the fields of `data/` by the library's own comparison and by an independent
//! checker (`exact_verify.py`, Python with numpy), and on random fields by the comparison.

use factz::Real;
use factz::{compare, Comparison};
use factz::{compress, decompress, max_stream_bytes, Execution};
use factz::{BoundKind, Coder, Config, Dtype, Mode, Predictor, Preserve, Report, Request, Status};
use factz::{Layout, View, ViewMut};
use factz::{SIDE_X_MAX, SIDE_X_MIN, SIDE_Y_MAX, SIDE_Y_MIN};
use num_rational::BigRational;
use num_traits::Signed;
use proptest::prelude::*;
use serde_json::{json, Value};
use std::path::{Path, PathBuf};
use std::process::Command;

const MODES: [Mode; 2] = [Mode::BlockWise, Mode::Speculative];
const CODERS: [Coder; 2] = [Coder::Ans, Coder::Huffman];
/// The ways to choose the codes.
const FRONTS: [(Mode, Predictor); 3] = [
    (Mode::BlockWise, Predictor::Hierarchical),
    (Mode::Speculative, Predictor::Hierarchical),
    (Mode::BlockWise, Predictor::Lorenzo),
];

#[derive(Clone)]
struct Field<T> {
    nx: u64,
    ny: u64,
    u: Vec<T>,
    v: Vec<T>,
}

/// Bits of u and v.
fn bits<T: Real>(field: &Field<T>) -> Vec<u64> {
    field.u.iter().chain(&field.v).map(|x| x.to_bits64()).collect()
}

impl<T: Real> Field<T> {
    fn zeros(nx: u64, ny: u64) -> Self {
        let n = (nx * ny) as usize;
        Field { nx, ny, u: vec![T::ZERO; n], v: vec![T::ZERO; n] }
    }
    fn config(&self, bound_kind: BoundKind, bound: f64) -> Config {
        let dtype = if T::BYTES == 4 { Dtype::F32 } else { Dtype::F64 };
        Config { dtype, ..Config::new(self.nx, self.ny, bound_kind, bound) }
    }
    fn compress(&self, config: &Config, threads: usize) -> (Vec<u8>, Report) {
        compress_views(config, View::dense(&self.u, self.nx), View::dense(&self.v, self.nx), threads)
    }
    fn compared(&self, after: &Self, config: &Config, bound: f64) -> Comparison {
        let [first, other] = [self, after].map(|f| [&f.u, &f.v].map(|values| View::dense(values, self.nx)));
        let Config { dx, dy, fill_value, .. } = *config;
        let config = Config { dx, dy, fill_value, ..self.config(BoundKind::Absolute, bound) };
        compare(&Request::new(config).unwrap(), first, other, true, 1).unwrap()
    }
    /// Columns x0.., rows y0.. of the field.
    fn block(&self, x0: u64, y0: u64, nx: u64, ny: u64) -> Self {
        let mut block = Self::zeros(nx, ny);
        for y in 0..ny {
            for x in 0..nx {
                let (from, to) = (((y0 + y) * self.nx + x0 + x) as usize, (y * nx + x) as usize);
                (block.u[to], block.v[to]) = (self.u[from], self.v[from]);
            }
        }
        block
    }
    fn set_block(&mut self, x0: u64, y0: u64, block: &Self) {
        for y in 0..block.ny {
            for x in 0..block.nx {
                let (from, to) = ((y * block.nx + x) as usize, ((y0 + y) * self.nx + x0 + x) as usize);
                (self.u[to], self.v[to]) = (block.u[from], block.v[from]);
            }
        }
    }
}

fn compress_views<T: Real>(
    config: &Config,
    u: View<'_, T>,
    v: View<'_, T>,
    threads: usize,
) -> (Vec<u8>, Report) {
    let request = Request::new(*config).unwrap();
    let mut stream = vec![0; max_stream_bytes(&request) as usize];
    let report = compress(&request, u, v, &mut stream, Execution { threads, progress: None }).unwrap();
    assert_eq!(report.status, Status::Ok, "{config:?}");
    stream.truncate(report.stream_bytes as usize);
    (stream, report)
}

fn decompressed<T: Real>(stream: &[u8], config: &Config, threads: usize) -> Field<T> {
    let mut field = Field::zeros(config.nx, config.ny);
    let execution = Execution { threads, progress: None };
    let (u, v) = (ViewMut::dense(&mut field.u, config.nx), ViewMut::dense(&mut field.v, config.nx));
    let report = decompress(config, stream, u, v, execution).unwrap();
    assert_eq!(report.status, Status::Ok);
    field
}

/// What must be 0 for a level of preservation.
fn violations(preserve: Preserve, c: &Comparison) -> u64 {
    match preserve {
        Preserve::None => c.missing_changed + c.bound_exceeded,
        Preserve::Points => c.violations() - c.type_changed,
        Preserve::Types => c.violations(),
    }
}

/// Values that are off by more than the bound, by rational arithmetic where rounding could hide it.
fn over_bound<T: Real>(before: &Field<T>, after: &Field<T>, bound: f64) -> usize {
    let exact = |x: f64| BigRational::from_float(x).unwrap();
    let over = |(a, b): (&T, &T)| {
        let (a, b) = (a.to_f64(), b.to_f64());
        if !(a.is_finite() && b.is_finite()) {
            return false;
        }
        // Rounding is monotone: the rounded difference can only hide an excess where it equals the bound.
        let difference = (b - a).abs();
        difference > bound || (difference == bound && (exact(b) - exact(a)).abs() > exact(bound))
    };
    let count = |x: &[T], y: &[T]| x.iter().zip(y).filter(|&pair| over(pair)).count();
    count(&before.u, &after.u) + count(&before.v, &after.v)
}

// ---------------------------------------------------------------- the fields of data/

fn data_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data")
}

fn stored(name: &str) -> Field<f32> {
    let folder = data_folder().join(name);
    let meta: Value = serde_json::from_slice(&std::fs::read(folder.join("meta.json")).unwrap()).unwrap();
    let component = |file: &str| -> Vec<f32> {
        let bytes = std::fs::read(folder.join(file)).unwrap();
        bytes.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect()
    };
    let field = Field {
        nx: meta["nx"].as_u64().unwrap(),
        ny: meta["ny"].as_u64().unwrap(),
        u: component("u.f32"),
        v: component("v.f32"),
    };
    assert_eq!(field.u.len() as u64, field.nx * field.ny, "{name}");
    assert_eq!(field.v.len() as u64, field.nx * field.ny, "{name}");
    field
}

fn widened(field: &Field<f32>) -> Field<f64> {
    let wide = |values: &[f32]| values.iter().map(|&x| x as f64).collect();
    Field { nx: field.nx, ny: field.ny, u: wide(&field.u), v: wide(&field.v) }
}

/// Cases for the independent checker, and what the library's comparison says about them.
struct Batch {
    folder: PathBuf,
    cases: Vec<Value>,
    expected: Vec<Comparison>,
}

impl Batch {
    fn new(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Batch { folder, cases: Vec::new(), expected: Vec::new() }
    }
    fn write<T: Real>(&self, name: &str, values: &[T]) -> PathBuf {
        let path = self.folder.join(name);
        let mut bytes = Vec::with_capacity(values.len() * T::BYTES);
        for x in values {
            bytes.extend_from_slice(&x.to_bits64().to_le_bytes()[..T::BYTES]);
        }
        std::fs::write(&path, bytes).unwrap();
        path
    }
    fn add<T: Real>(&mut self, before: &[PathBuf; 2], after: &Field<T>, bound: f64, comparison: Comparison) {
        let k = self.cases.len();
        let files = [
            before[0].clone(),
            before[1].clone(),
            self.write(&format!("u{k}"), &after.u),
            self.write(&format!("v{k}"), &after.v),
        ];
        self.cases.push(json!({
            "nx": after.nx,
            "ny": after.ny,
            "dtype": if T::BYTES == 4 { "f32" } else { "f64" },
            "files": files,
            "bound": bound,
        }));
        self.expected.push(comparison);
    }
    /// Runs the checker; every count must be the one of the library's comparison.
    fn check(self) {
        let list = self.folder.join("cases.json");
        std::fs::write(&list, serde_json::to_vec(&self.cases).unwrap()).unwrap();
        let python = std::env::var("FACTZ_PYTHON").unwrap_or_else(|_| "python3".into());
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verify_batch.py");
        let output = Command::new(&python).arg(script).arg(&list).output();
        let output = output.unwrap_or_else(|e| panic!("{python} (FACTZ_PYTHON) cannot be started: {e}"));
        assert!(
            output.status.success(),
            "the independent checker failed: FACTZ_PYTHON must name a Python 3 with numpy (it is {python})\n{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let results: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(results.len(), self.cases.len());
        for ((r, c), case) in results.iter().zip(&self.expected).zip(&self.cases) {
            let pairs = [
                ("lost", c.lost),
                ("spurious", c.spurious),
                ("type_changed", c.type_changed),
                ("tie_changed", c.tie_changed),
                ("tie_created", c.tie_created),
                ("missing_changed", c.missing_changed),
                ("bound_exceeded", c.bound_exceeded),
                ("total", c.critical_points),
            ];
            for (key, count) in pairs {
                assert_eq!(r[key].as_u64(), Some(count), "{key} of {case}: {r}");
            }
        }
        std::fs::remove_dir_all(&self.folder).unwrap();
    }
}

fn bounds() -> impl Iterator<Item = (BoundKind, f64)> {
    let relative = [1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6].map(|b| (BoundKind::Relative, b));
    relative.into_iter().chain([(BoundKind::Absolute, 0.01)])
}

fn check_typed<T: Real>(name: &str, field: &Field<T>, critical_points: u64) {
    let mut batch = Batch::new(&format!("{name}-{}", T::BYTES));
    let before = [batch.write("u", &field.u), batch.write("v", &field.v)];
    for (mode, predictor) in FRONTS {
        for (kind, bound) in bounds() {
            let config = Config { mode, predictor, ..field.config(kind, bound) };
            let (stream, report) = field.compress(&config, 1);
            assert!(
                stream == field.compress(&config, 2).0,
                "{name} {config:?}: two threads write another stream"
            );
            let after = decompressed(&stream, &config, 2);
            // The coders are lossless: what holds with one holds with the other.
            let huffman = Config { coder: Coder::Huffman, ..config };
            let coded = field.compress(&huffman, 2).0;
            assert!(coded == field.compress(&huffman, 1).0, "{name} {huffman:?}: two streams");
            let other = decompressed(&coded, &huffman, 2);
            if coded[18] == stream[18] {
                assert!(bits(&other) == bits(&after), "{name} {huffman:?}");
            } else {
                // One of them is larger than the field, which is stored.
                let c = field.compared(&other, &huffman, report.bound);
                assert_eq!(c.violations(), 0, "{name} {huffman:?}: {c:?}");
            }
            let c = field.compared(&after, &config, report.bound);
            assert_eq!(c.violations(), 0, "{name} {config:?}: {c:?}");
            assert_eq!(over_bound(field, &after, report.bound), 0, "{name} {config:?}");
            // The encoder subtracts in the field's own type: off by at most one rounding.
            let rounding = c.max_error * if T::BYTES == 4 { f32::EPSILON as f64 } else { f64::EPSILON };
            let off = (c.max_error - report.max_error).abs();
            assert!(
                off <= rounding,
                "{name} {config:?}: error {}, reported {}",
                c.max_error,
                report.max_error
            );
            assert_eq!(c.critical_points, critical_points, "{name}: the number in meta.json");
            assert_eq!(report.critical_points, critical_points, "{name} {config:?}: the report's number");
            batch.add(&before, &after, report.bound, c);
        }
    }
    batch.check();
}

fn check(name: &str) {
    let meta: Value =
        serde_json::from_slice(&std::fs::read(data_folder().join(name).join("meta.json")).unwrap()).unwrap();
    let critical_points = meta["critical_points"].as_u64().unwrap();
    let field = stored(name);
    check_typed(name, &field, critical_points);
    check_typed(name, &widened(&field), critical_points);
}

macro_rules! fields {
    ($($name:ident)*) => {
        const FIELDS: &[&str] = &[$(stringify!($name)),*];
        mod field {
            $(#[test] fn $name() { super::check(stringify!($name)); })*
        }
    };
}

fields! {
    coads_winds_01_nan dt256 gradient1e30 integer64 nan_inf256 navy_winds_000 nearcollinear64 piv_cavity
    piv_wake_vortex tiny17x1 tiny1x1 tiny1x17 tiny2x2 tiny2x2_cp tiny33x31 tiny65x33 upper_wind_01 water_gbr
    wind_global
}

/// The fields of `data/` that someone measured or simulated for its own sake.
const REAL_FIELDS: [&str; 7] = [
    "coads_winds_01_nan",
    "navy_winds_000",
    "piv_cavity",
    "piv_wake_vortex",
    "upper_wind_01",
    "water_gbr",
    "wind_global",
];

#[test]
fn every_stored_field_is_tested() {
    let folders = std::fs::read_dir(data_folder()).unwrap().map(|e| e.unwrap());
    let mut names: Vec<String> = folders
        .filter(|e| e.file_type().unwrap().is_dir())
        .map(|e| e.file_name().into_string().unwrap())
        .collect();
    names.sort();
    let mut tested = FIELDS.to_vec();
    tested.sort();
    assert_eq!(names, tested);
}

#[test]
fn speculative_streams_are_not_larger_on_real_fields() {
    for name in REAL_FIELDS {
        let field = stored(name);
        for bound in [1e-1, 1e-2, 1e-3, 1e-4] {
            let bytes = MODES.map(|mode| {
                let config = Config { mode, ..field.config(BoundKind::Relative, bound) };
                field.compress(&config, 1).0.len()
            });
            assert!(
                bytes[1] <= bytes[0],
                "{name} at {bound}: block-wise {} bytes, speculative {}",
                bytes[0],
                bytes[1]
            );
        }
    }
}

/// The checks are not blind: without preservation they see what is lost.
#[test]
fn without_preservation_critical_points_change() {
    for name in ["wind_global", "piv_cavity", "dt256"] {
        let field = stored(name);
        let mut batch = Batch::new(&format!("{name}-none"));
        let before = [batch.write("u", &field.u), batch.write("v", &field.v)];
        for (mode, predictor) in FRONTS {
            let preserve = Preserve::None;
            let config = Config { mode, predictor, preserve, ..field.config(BoundKind::Relative, 1e-1) };
            let (stream, report) = field.compress(&config, 1);
            let after = decompressed(&stream, &config, 1);
            let c = field.compared(&after, &config, report.bound);
            assert!(c.lost > 0 && c.lost + c.spurious + c.type_changed > 1, "{name} {config:?}: {c:?}");
            assert_eq!(violations(Preserve::None, &c), 0, "{name} {config:?}: {c:?}");
            batch.add(&before, &after, report.bound, c);
        }
        batch.check();
    }
}

// ---------------------------------------------------------------- random fields

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e3779b97f4a7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d049bb133111eb);
        z ^ (z >> 31)
    }
    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
    /// In [-1, 1).
    fn signed(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

#[derive(Clone, Copy, Debug)]
enum Content {
    Noise,
    Smooth,
    /// Small integers: many ties.
    Integers,
    /// Smooth with blocks of zeros.
    Zeros,
    /// Smooth with NaN and infinities.
    NonFinite,
    /// Magnitudes from the smallest subnormal to the largest finite value.
    Magnitudes,
    /// u and v nearly equal: determinants at the rounding level.
    Collinear,
    Constant,
}

const CONTENTS: [Content; 8] = [
    Content::Noise,
    Content::Smooth,
    Content::Integers,
    Content::Zeros,
    Content::NonFinite,
    Content::Magnitudes,
    Content::Collinear,
    Content::Constant,
];

fn random_field<T: Real>(content: Content, nx: u64, ny: u64, seed: u64) -> Field<T> {
    let mut r = Random(seed);
    let mut field = Field::zeros(nx, ny);
    let waves: Vec<[f64; 4]> =
        (0..6).map(|_| [r.signed() * 0.4, r.signed() * 0.4, r.signed() * 3.0, r.signed()]).collect();
    let wave = |x: f64, y: f64, shift: f64| -> f64 {
        waves.iter().map(|[a, b, c, w]| w * (a * x + b * y + c + shift).sin()).sum()
    };
    let constant = (r.signed(), r.signed());
    let (smallest, largest) = if T::BYTES == 4 { (-149.0, 127.9) } else { (-1074.0, 1023.9) };
    for y in 0..ny {
        for x in 0..nx {
            let smooth = (wave(x as f64, y as f64, 0.0), wave(x as f64, y as f64, 1.3));
            let (mut a, mut b) = match content {
                Content::Noise => (r.signed(), r.signed()),
                Content::Integers => (r.below(7) as f64 - 3.0, r.below(7) as f64 - 3.0),
                Content::Magnitudes => {
                    let exponent = smallest + (largest - smallest) * (x as f64 / nx as f64);
                    let exponent = (exponent + 20.0 * r.signed()).clamp(smallest, largest);
                    (smooth.0.signum() * exponent.exp2(), smooth.1.signum() * (exponent * 0.999).exp2())
                }
                Content::Collinear => (smooth.0, smooth.0 * (1.0 + 1e-7 * r.signed())),
                Content::Constant => constant,
                Content::Smooth | Content::Zeros | Content::NonFinite => smooth,
            };
            match content {
                Content::Zeros if (x / 5 + y / 7) % 3 == 0 || r.below(20) == 0 => (a, b) = (0.0, -0.0),
                Content::Zeros if r.below(10) == 0 => a = 0.0,
                Content::NonFinite if r.below(25) == 0 => {
                    let special = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
                    if r.below(2) == 0 {
                        a = special[r.below(3) as usize];
                    } else {
                        b = special[r.below(3) as usize];
                    }
                }
                _ => {}
            }
            let at = (y * nx + x) as usize;
            (field.u[at], field.v[at]) = (T::from_f64(a), T::from_f64(b));
        }
    }
    field
}

#[derive(Clone, Copy, Debug)]
struct Case {
    content: Content,
    nx: u64,
    ny: u64,
    seed: u64,
    front: (Mode, Predictor),
    coder: Coder,
    preserve: Preserve,
    halo: u32,
    pin: u32,
    kind: BoundKind,
    bound: f64,
    spacing: (f64, f64),
}

fn case() -> impl Strategy<Value = Case> {
    let shape = (proptest::sample::select(&CONTENTS[..]), 1u64..80, 1u64..80, any::<u64>());
    let options = (
        proptest::sample::select(&FRONTS[..]),
        proptest::sample::select(&CODERS[..]),
        proptest::sample::select(&[Preserve::None, Preserve::Points, Preserve::Types][..]),
        prop_oneof![Just(0u32), 0u32..16],
        prop_oneof![Just(0u32), 0u32..16],
    );
    let kind = proptest::sample::select(&[BoundKind::Relative, BoundKind::Relative, BoundKind::Absolute][..]);
    let bound = prop_oneof![
        8 => (-70i32..4).prop_map(|e| 10f64.powf(e as f64 / 10.0)),
        1 => Just(0.0),
        1 => Just(1e-300),
    ];
    let spacing = prop_oneof![Just((1.0, 1.0)), (0.01..100.0, 0.01..100.0)];
    (shape, options, kind, bound, spacing).prop_map(
        |((content, nx, ny, seed), (front, coder, preserve, halo, pin), kind, bound, spacing)| Case {
            content,
            nx,
            ny,
            seed,
            front,
            coder,
            preserve,
            halo,
            pin,
            kind,
            bound,
            spacing,
        },
    )
}

/// The block inside a frame of ghost vertices, and what is promised about it.
fn check_random<T: Real>(c: &Case) {
    let framed = random_field::<T>(c.content, c.nx + 2, c.ny + 2, c.seed);
    let field = framed.block(1, 1, c.nx, c.ny);
    let layout = Layout { pitch: framed.nx, stride: 1 };
    let config = Config {
        u: layout,
        v: layout,
        halo: c.halo,
        pin: c.pin,
        dx: c.spacing.0,
        dy: c.spacing.1,
        mode: c.front.0,
        predictor: c.front.1,
        coder: c.coder,
        preserve: c.preserve,
        ..field.config(c.kind, c.bound)
    };
    let first = (framed.nx + 1) as usize;
    let (u, v) = (View::strided(&framed.u, first, layout), View::strided(&framed.v, first, layout));
    let (stream, report) = compress_views(&config, u, v, 1);
    assert!(stream == compress_views(&config, u, v, 2).0, "two threads write another stream");
    if c.kind == BoundKind::Absolute {
        assert_eq!(report.bound, c.bound);
    }

    let after = decompressed::<T>(&stream, &config, 1);
    let comparison = field.compared(&after, &config, report.bound);
    assert_eq!(violations(c.preserve, &comparison), 0, "{comparison:?}");
    assert_eq!(over_bound(&field, &after, report.bound), 0);
    assert!(report.max_error <= report.bound, "error {}, bound {}", report.max_error, report.bound);
    assert_eq!(report.nonfinite_vertices, comparison.nonfinite_vertices);
    assert_eq!(report.zero_vertices, comparison.zero_vertices);
    for (side, on) in [
        (SIDE_X_MIN, &(|x: u64, _: u64| x == 0) as &dyn Fn(u64, u64) -> bool),
        (SIDE_X_MAX, &|x, _| x + 1 == c.nx),
        (SIDE_Y_MIN, &|_, y| y == 0),
        (SIDE_Y_MAX, &|_, y| y + 1 == c.ny),
    ] {
        for at in 0..c.nx * c.ny {
            if c.pin & side != 0 && on(at % c.nx, at / c.nx) {
                let at = at as usize;
                assert!(field.u[at] == after.u[at] || !field.u[at].is_finite(), "pinned u at {at}");
                assert!(field.v[at] == after.v[at] || !field.v[at].is_finite(), "pinned v at {at}");
            }
        }
    }
}

/// Subdomains compressed apart, each with a halo or with pinned borders, joined again.
fn check_seams<T: Real>(c: &Case, cut: (f64, f64), pinned: bool) {
    let field = random_field::<T>(c.content, c.nx, c.ny, c.seed);
    let inner = |n: u64, f: f64| (n as f64 * f) as u64 % n;
    let (cut_x, cut_y) = (inner(c.nx, cut.0), inner(c.ny, cut.1));
    let layout = Layout { pitch: c.nx, stride: 1 };
    let mut joined = Field::zeros(c.nx, c.ny);
    for (k, (y0, y1)) in [(0, cut_y), (cut_y, c.ny)].into_iter().enumerate() {
        for (l, (x0, x1)) in [(0, cut_x), (cut_x, c.nx)].into_iter().enumerate() {
            if x0 == x1 || y0 == y1 {
                continue;
            }
            let mut sides = 0;
            for (side, neighbour) in
                [(SIDE_X_MIN, x0 > 0), (SIDE_X_MAX, x1 < c.nx), (SIDE_Y_MIN, y0 > 0), (SIDE_Y_MAX, y1 < c.ny)]
            {
                sides |= if neighbour { side } else { 0 };
            }
            let first = (y0 * c.nx + x0) as usize;
            let config = Config {
                u: layout,
                v: layout,
                halo: if pinned { 0 } else { sides },
                pin: if pinned { sides } else { 0 },
                // Neighbours need not agree on how they choose codes.
                mode: FRONTS[(2 * k + l) % 3].0,
                predictor: FRONTS[(2 * k + l) % 3].1,
                coder: c.coder,
                dx: c.spacing.0,
                dy: c.spacing.1,
                ..field.block(x0, y0, x1 - x0, y1 - y0).config(BoundKind::Absolute, c.bound)
            };
            let (u, v) = (View::strided(&field.u, first, layout), View::strided(&field.v, first, layout));
            let (stream, _) = compress_views(&config, u, v, 1);
            joined.set_block(x0, y0, &decompressed(&stream, &config, 1));
        }
    }
    let whole = Config { dx: c.spacing.0, dy: c.spacing.1, ..field.config(BoundKind::Absolute, c.bound) };
    let comparison = field.compared(&joined, &whole, c.bound);
    assert_eq!(comparison.violations(), 0, "{comparison:?}");
}

/// A thousand cases, or as many as PROPTEST_CASES says.
fn property_config() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(1000);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(property_config())]

    #[test]
    fn random_f32_fields_are_kept(c in case()) {
        check_random::<f32>(&c);
    }

    #[test]
    fn random_f64_fields_are_kept(c in case()) {
        check_random::<f64>(&c);
    }

    #[test]
    fn seams_between_f32_subdomains_are_kept(
        c in case(), cut in (0.0..1.0f64, 0.0..1.0f64), pinned in any::<bool>(),
    ) {
        check_seams::<f32>(&c, cut, pinned);
    }

    #[test]
    fn seams_between_f64_subdomains_are_kept(
        c in case(), cut in (0.0..1.0f64, 0.0..1.0f64), pinned in any::<bool>(),
    ) {
        check_seams::<f64>(&c, cut, pinned);
    }
}
