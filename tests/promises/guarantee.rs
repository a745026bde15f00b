//! The promise: the signature of every triangle is the same before and after, and no value is off by more
//! than the bound. Checked on the fields of `data/` by the library's own comparison and by an independent
//! checker (`exact_verify.py`, Python with numpy), and on random fields by the comparison.

use crate::support::checker::{counts, Checker};
use crate::support::fields::*;
use factz::{BoundKind, Coder, Config, Mode, Preserve, Real, Ties};
use num_rational::BigRational;
use num_traits::Signed;
use proptest::prelude::*;

/// Values that are off by more than the bound, by rational arithmetic where rounding could hide it.
pub fn over_bound<T: Real>(before: &Field<T>, after: &Field<T>, bound: f64) -> usize {
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
    let [before, after] = [before, after].map(|field| field.components.iter().flatten());
    before.zip(after).filter(|&pair| over(pair)).count()
}

// ---------------------------------------------------------------- the fields of data/

fn bounds() -> impl Iterator<Item = (BoundKind, f64)> {
    let relative = [1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6].map(|b| (BoundKind::Relative, b));
    relative.into_iter().chain([(BoundKind::Absolute, 0.01)])
}

fn check_typed<T: Real>(name: &str, field: &Field<T>, critical_points: u64) {
    let mut checker = Checker::new(&format!("{name}-{}", T::BYTES));
    let before = checker.write(field);
    // The settings differ in ties.
    let itself = field.compared(field, &field.config(BoundKind::Absolute, 0.0), 0.0);
    let settings = if itself.ties > 0 { &TIES[..] } else { &TIES[..1] };
    for ((mode, predictor), &ties) in FRONTS.into_iter().flat_map(|f| settings.iter().map(move |t| (f, t))) {
        for (kind, bound) in bounds() {
            let config = Config { mode, predictor, ties, ..field.config(kind, bound) };
            let what = format!("{name} {config:?}");
            let (stream, report) = field.compressed(&config);
            let after = Field::restored(&config, &stream, 2);
            // The coders are lossless: what holds with one holds with the other.
            let coded = field.compressed(&Config { coder: Coder::Huffman, ..config }).0;
            let other = Field::<T>::restored(&config, &coded, 2);
            if coded[18] == stream[18] {
                assert!(other.bits() == after.bits(), "{what}: other values by Huffman codes");
            } else {
                // One of them is larger than the field, which is stored.
                let c = field.compared(&other, &config, report.bound);
                assert_eq!(c.violations(), 0, "{what} by Huffman codes: {c:?}");
            }
            let c = field.compared(&after, &config, report.bound);
            assert_eq!(c.violations(), 0, "{what}: {c:?}");
            assert_eq!(over_bound(field, &after, report.bound), 0, "{what}");
            // The encoder subtracts in the field's own type: off by at most one rounding.
            let rounding = c.max_error * if T::BYTES == 4 { f32::EPSILON as f64 } else { f64::EPSILON };
            let off = (c.max_error - report.max_error).abs();
            assert!(off <= rounding, "{what}: error {}, reported {}", c.max_error, report.max_error);
            assert_eq!(c.points_in_triangles(), critical_points, "{name}: the number in meta.json");
            assert_eq!(report.points_in_triangles, critical_points, "{what}: the report's number");
            let checked = Config { ties, ..field.config(BoundKind::Absolute, report.bound) };
            let mut expected = counts(&c).to_vec();
            if ties == Ties::Sos {
                expected.push(("answer_changed", 0));
            }
            checker.add(&before, &after, &checked, &expected);
        }
    }
    checker.check();
}

fn check(name: &str) {
    let critical_points = meta(name)["critical_points"].as_u64().expect("a number");
    let field = stored(name);
    check_typed(name, &field, critical_points);
    check_typed::<f64>(name, &field.widened(), critical_points);
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
    coads_winds_01_nan dt256 gradient1e30 integer64 nan_inf256 navy_winds_000 nearcollinear64 ocean_coast
    piv_cavity piv_wake_vortex tiny17x1 tiny1x1 tiny1x17 tiny2x2 tiny2x2_cp tiny33x31 tiny65x33 upper_wind_01
    water_gbr wind_global
}

/// The fields of `data/` that someone measured or simulated for its own sake.
const REAL_FIELDS: &str =
    "coads_winds_01_nan navy_winds_000 piv_cavity piv_wake_vortex upper_wind_01 water_gbr wind_global";

#[test]
fn every_stored_field_is_tested() {
    let mut tested = FIELDS.to_vec();
    tested.sort();
    assert_eq!(stored_names(), tested);
}

#[test]
fn speculative_streams_are_not_larger_on_real_fields() {
    for name in REAL_FIELDS.split(' ') {
        let field = stored(name);
        for bound in [1e-1, 1e-2, 1e-3, 1e-4] {
            let [block_wise, speculative] = [Mode::BlockWise, Mode::Speculative].map(|mode| {
                let config = Config { mode, ..field.config(BoundKind::Relative, bound) };
                field.compressed_block(&config, 0, 1).0.len()
            });
            assert!(
                speculative <= block_wise,
                "{name} at {bound}: block-wise {block_wise} bytes, speculative {speculative}"
            );
        }
    }
}

/// The checks are not blind: without preservation they see what is lost.
#[test]
fn without_preservation_critical_points_change() {
    for name in ["wind_global", "piv_cavity", "dt256"] {
        let field = stored(name);
        let mut checker = Checker::new(&format!("{name}-none"));
        let before = checker.write(&field);
        for (mode, predictor) in FRONTS {
            let preserve = Preserve::None;
            let config = Config { mode, predictor, preserve, ..field.config(BoundKind::Relative, 1e-1) };
            let (stream, report) = field.compressed_block(&config, 0, 1);
            let after = Field::restored(&config, &stream, 1);
            let c = field.compared(&after, &config, report.bound);
            assert!(
                c.lost_points > 0 && c.lost_points + c.spurious_points + c.changed_types > 1,
                "{name} {config:?}: {c:?}"
            );
            assert_eq!(violations(Preserve::None, &c), 0, "{name} {config:?}: {c:?}");
            checker.add(&before, &after, &field.config(BoundKind::Absolute, report.bound), &counts(&c));
        }
        checker.check();
    }
}

/// The simulation of simplicity, in exact arithmetic from its definition, finds points in the same triangles
/// of fields full of ties, and the check is not blind to what the other settings keep.
fn check_answers<T: Real>() {
    let mut random = Random(22);
    let mut integer = |most: u64| random.below(2 * most + 1) as f64 - most as f64;
    let signs = Field::<T>::new(40, 36, |_, _| [integer(1), integer(1)]);
    let integers = Field::<T>::new(36, 40, |_, _| [integer(3), integer(2)]);
    // Rounded down towards zero: wide zeros with vectors along the axes around them.
    let waves = Field::<T>::new(60, 50, |x, y| {
        let (x, y) = (x as f64, y as f64);
        [(0.31 * x).sin() + (0.17 * y).cos(), (0.23 * y - 0.11 * x).sin()].map(|c| (4.0 * c).trunc())
    });
    let mut checker = Checker::new(&format!("answers-{}", T::BYTES));
    let mut settings = Vec::new();
    for field in [&signs, &integers, &waves] {
        let before = checker.write(field);
        for ((mode, predictor), ties) in FRONTS.into_iter().flat_map(|f| TIES.map(|t| (f, t))) {
            for bound in [0.3, 2.5] {
                let config = Config { mode, predictor, ties, ..field.config(BoundKind::Absolute, bound) };
                let after = Field::<T>::restored(&config, &field.compressed(&config).0, 1);
                let kept = [("answer_changed", 0), ("violations", 0)];
                let expected = if ties == Ties::Sos { &kept[..] } else { &[] };
                checker.add(&before, &after, &Config { ties: Ties::Sos, ..config }, expected);
                settings.push(ties);
            }
        }
    }
    let results = checker.check();
    let changed = |ties| {
        let of_setting = results.iter().zip(&settings).filter(|case| *case.1 == ties);
        of_setting.map(|(found, _)| found["answer_changed"].as_u64().expect("a number")).sum::<u64>()
    };
    assert_eq!(changed(Ties::All), 0, "signs tell the answer");
    assert!(changed(Ties::Zeros) > 50, "{} answers changed", changed(Ties::Zeros));
}

#[test]
fn answers_are_kept_among_many_ties() {
    check_answers::<f32>();
    check_answers::<f64>();
}

/// Along a coast fewer signs are kept.
#[test]
fn streams_that_keep_less_of_ties_are_smaller_along_a_coast() {
    // Less than all keeps, with at least half of the gain.
    let saves = |[all, zeros, sos]: [usize; 3]| zeros < all && 2 * sos <= zeros + all;
    for name in ["ocean_coast", "water_gbr"] {
        let field = stored(name);
        let mut total = [0; 3];
        for ((mode, predictor), bound) in FRONTS.into_iter().flat_map(|f| [1e-1, 1e-2].map(|b| (f, b))) {
            let bytes = TIES.map(|ties| {
                let config = Config { mode, predictor, ties, ..field.config(BoundKind::Relative, bound) };
                field.compressed_block(&config, 0, 1).0.len()
            });
            // A field of 308 vertices saves too little for each stream to become shorter.
            let holds = if name == "water_gbr" { bytes[1] <= bytes[0] } else { saves(bytes) };
            assert!(holds, "{name} {mode:?} {predictor:?} at {bound}: {bytes:?}");
            (0..3).for_each(|k| total[k] += bytes[k]);
        }
        assert!(saves(total), "{name}: {total:?}");
    }
}

/// Without vertices that are zero the setting is written down and changes nothing else.
#[test]
fn ties_without_zeros_are_kept_the_same_way() {
    for name in ["wind_global", "navy_winds_000"] {
        let field = stored(name);
        for (mode, predictor) in FRONTS {
            let [all, zeros, sos] = TIES.map(|ties| {
                let config = Config { mode, predictor, ties, ..field.config(BoundKind::Relative, 1e-2) };
                field.compressed_block(&config, 0, 1).0
            });
            for (number, other) in [(1, zeros), (2, sos)] {
                assert!(other[19] == number && all[20..] == other[20..], "{name} {mode:?} {predictor:?}");
            }
        }
    }
}

// ---------------------------------------------------------------- random fields

#[derive(Clone, Copy, Debug)]
pub enum Content {
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

pub const CONTENTS: [Content; 8] = {
    use Content::*;
    [Noise, Smooth, Integers, Zeros, NonFinite, Magnitudes, Collinear, Constant]
};

pub fn random_field<T: Real>(content: Content, nx: u64, ny: u64, seed: u64) -> Field<T> {
    let mut r = Random(seed);
    let waves: Vec<[f64; 4]> =
        (0..6).map(|_| [r.signed() * 0.4, r.signed() * 0.4, r.signed() * 3.0, r.signed()]).collect();
    let wave = |x: f64, y: f64, shift: f64| -> f64 {
        waves.iter().map(|[a, b, c, w]| w * (a * x + b * y + c + shift).sin()).sum()
    };
    let constant = (r.signed(), r.signed());
    let (smallest, largest) = if T::BYTES == 4 { (-149.0, 127.9) } else { (-1074.0, 1023.9) };
    Field::new(nx, ny, |x, y| {
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
                let component = if r.below(2) == 0 { &mut a } else { &mut b };
                *component = r.one_of(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY]);
            }
            _ => {}
        }
        [a, b]
    })
}

/// A random field with a configuration, which says nothing about where the field lies in memory.
#[derive(Clone, Copy, Debug)]
struct Case {
    content: Content,
    seed: u64,
    config: Config,
}

fn case() -> impl Strategy<Value = Case> {
    use proptest::sample::select;
    let shape = (select(&CONTENTS[..]), 1u64..80, 1u64..80, any::<u64>());
    let sides = || prop_oneof![Just(0u32), 0u32..16];
    let kept = (select(&PRESERVED[..]), select(&TIES[..]));
    let options = (select(&FRONTS[..]), select(&CODERS[..]), kept, sides(), sides());
    let kind = select(&[BoundKind::Relative, BoundKind::Relative, BoundKind::Absolute][..]);
    let bound = prop_oneof![
        8 => (-70i32..4).prop_map(|e| 10f64.powf(e as f64 / 10.0)),
        1 => Just(0.0),
        1 => Just(1e-300),
    ];
    let distance = || prop_oneof![0.01..100.0, -100.0..-0.01];
    let spacing = prop_oneof![Just((1.0, 1.0)), (distance(), distance())];
    (shape, options, kind, bound, spacing).prop_map(
        |(
            (content, nx, ny, seed),
            ((mode, predictor), coder, (preserve, ties), halo, pin),
            kind,
            bound,
            (dx, dy),
        )| {
            let sizes = Config::new(nx, ny, kind, bound);
            let config = Config { mode, predictor, coder, preserve, ties, halo, pin, dx, dy, ..sizes };
            Case { content, seed, config }
        },
    )
}

/// The block inside a frame of ghost vertices, and what is promised about it.
fn check_random<T: Real>(c: &Case) {
    let config = Config { dtype: dtype::<T>(), ..c.config };
    let Config { nx, ny, .. } = config;
    let framed = random_field::<T>(c.content, nx + 2, ny + 2, c.seed);
    let field = framed.block(1, 1, nx, ny);
    let [one, two] = [1, 2].map(|threads| framed.compressed_block(&config, framed.at(1, 1), threads));
    let (stream, report) = one;
    assert!(stream == two.0, "two threads write another stream");
    if config.bound_kind == BoundKind::Absolute {
        assert_eq!(report.bound, config.bound);
    }

    let after = Field::<T>::restored(&config, &stream, 1);
    let comparison = field.compared(&after, &config, report.bound);
    assert_eq!(violations(config.preserve, &comparison), 0, "{comparison:?}");
    assert_eq!(over_bound(&field, &after, report.bound), 0);
    assert!(report.max_error <= report.bound, "error {}, bound {}", report.max_error, report.bound);
    assert_eq!(report.nonfinite_vertices, comparison.nonfinite_vertices);
    assert_eq!(report.zero_vertices, comparison.zero_vertices);
    for k in 0..field.len() {
        let (x, y) = (k as u64 % nx, k as u64 / nx);
        if config.pin & sides([x == 0, x + 1 == nx, y == 0, y + 1 == ny]) != 0 {
            for (a, b) in field.vertex(k).iter().zip(after.vertex(k)) {
                assert!(*a == b || !a.is_finite(), "pinned vertex {x}, {y}");
            }
        }
    }
}

/// Subdomains compressed apart, each with a halo or with pinned borders, joined again.
fn check_seams<T: Real>(c: &Case, cut: (f64, f64), pinned: bool) {
    let Config { nx, ny, coder, ties, dx, dy, bound, .. } = c.config;
    let field = random_field::<T>(c.content, nx, ny, c.seed);
    let inner = |n: u64, f: f64| (n as f64 * f) as u64 % n;
    let (cut_x, cut_y) = (inner(nx, cut.0), inner(ny, cut.1));
    let mut joined = Field::new(nx, ny, |_, _| [0.0; 2]);
    for (k, (y0, y1)) in [(0, cut_y), (cut_y, ny)].into_iter().enumerate() {
        for (l, (x0, x1)) in [(0, cut_x), (cut_x, nx)].into_iter().enumerate() {
            if x0 == x1 || y0 == y1 {
                continue;
            }
            let sides = sides([x0 > 0, x1 < nx, y0 > 0, y1 < ny]);
            let (halo, pin) = if pinned { (0, sides) } else { (sides, 0) };
            // Neighbours need not agree on how they choose codes.
            let (mode, predictor) = FRONTS[(2 * k + l) % 3];
            let sizes = Config::new(x1 - x0, y1 - y0, BoundKind::Absolute, bound);
            let config =
                Config { dtype: dtype::<T>(), halo, pin, mode, predictor, coder, ties, dx, dy, ..sizes };
            let (stream, _) = field.compressed_block(&config, field.at(x0, y0), 1);
            let block = Field::<T>::restored(&config, &stream, 1);
            for (i, vertex) in block.vertices().enumerate() {
                let at = joined.at(x0 + i as u64 % block.nx, y0 + i as u64 / block.nx);
                joined.components.iter_mut().zip(vertex).for_each(|(c, x)| c[at] = x);
            }
        }
    }
    let comparison = field.compared(&joined, &c.config, bound);
    assert_eq!(comparison.violations(), 0, "{comparison:?}");
}

/// A thousand cases, or as many as PROPTEST_CASES says.
fn property_config() -> ProptestConfig {
    let cases = times("PROPTEST_CASES", 1000);
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
