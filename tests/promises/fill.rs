//! Fill values, zeros with a sign at a bound of 0, the warning about wide ranges, and bounds beyond the
//! range: what is promised about them, checked bit by bit, by the library's comparison and by the independent
//! checker.

use crate::support::checker::Checker;
use crate::support::decoder::independently_decoded;
use crate::support::fields::*;
use factz::inspect;
use factz::Real;
use factz::WARNING_WIDE_RANGE;
use factz::{BoundKind, Coder, Config, Preserve, Report};

/// A copy with NaN at some vertices.
fn blanked<T: Real>(field: &Field<T>, which: &[bool]) -> Field<T> {
    let mut copy = field.clone();
    for (k, _) in which.iter().enumerate().filter(|&(_, &blank)| blank) {
        copy.set(k, [f64::NAN; 2]);
    }
    copy
}

/// A part of a field, as another type.
fn part<T: Real>(field: &Field<f32>, nx: u64, ny: u64) -> Field<T> {
    let vertex = |x, y| field.vertex(field.at(x, y)).map(f64::from);
    Field::new(nx.min(field.nx), ny.min(field.ny), vertex)
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
    let (nx, n) = (wind.nx, wind.len());
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
    fields.push(("all filled", Field::new(wind.nx, wind.ny, |_, _| [1e20; 2]), 1e20));
    fields.push(("none filled", wind.clone(), 9.96921e36));
    fields.push(("no value that f32 has", wind, 0.1));
    let integers = part::<T>(&stored("integer64"), 64, 64);
    for fill in [2.0, 0.0, -0.0] {
        let mut some = integers.clone();
        for k in (0..some.len()).filter(|k| k % 9 == 0) {
            some.set(k, [[0.0, -0.0], [-0.0, 0.0], [0.0, 0.0], [-0.0, -0.0]][k / 9 % 4]);
        }
        fields.push(("data", some, fill));
    }
    fields
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

fn has_nonfinite<T: Real>(vertex: &[T; 2]) -> bool {
    vertex.iter().any(|x| !x.is_finite())
}

fn check_fill<T: Real>(name: &str, field: &Field<T>, fill: f64, checker: &mut Checker) {
    let fill_bits = T::from_f64(fill).to_bits64();
    let is_filled = |vertex: &[T; 2]| vertex.iter().any(|x| x.to_bits64() == fill_bits);
    let filled: Vec<bool> = field.vertices().map(|p| is_filled(&p)).collect();
    let gone: Vec<bool> = field.vertices().map(|p| is_filled(&p) || has_nonfinite(&p)).collect();
    let nonfinite = field.vertices().filter(has_nonfinite).count() as u64;
    let finite_filled = field.vertices().filter(|p| is_filled(p) && !has_nonfinite(p)).count() as u64;
    let bounds = [(BoundKind::Relative, 1e-2), (BoundKind::Relative, 1e-5), (BoundKind::Absolute, 0.25)];
    for ((mode, predictor), (kind, bound)) in FRONTS.into_iter().flat_map(|f| bounds.map(|b| (f, b))) {
        for preserve in PRESERVED {
            let fill_value = Some(fill);
            let config = Config { mode, predictor, preserve, fill_value, ..field.config(kind, bound) };
            let what = format!("{name}, fill {fill}: {config:?}");
            let (stream, report) = field.compressed(&config);
            let after = Field::<T>::restored(&config, &stream, 2);
            let coded = field.compressed(&Config { coder: Coder::Huffman, ..config }).0;
            if coded[18] == stream[18] {
                assert!(Field::<T>::restored(&config, &coded, 2).bits() == after.bits(), "{what}");
            }
            for (k, (a, b)) in field.vertices().zip(after.vertices()).enumerate() {
                let is_kept = a.map(T::to_bits64) == b.map(T::to_bits64);
                assert!(!gone[k] || is_kept, "{what}: {a:?} at {k} became {b:?}");
            }
            if kind == BoundKind::Relative {
                assert_eq!(report.bound, bound * range(field, &filled), "{what}");
            }
            assert_eq!(report.filled_vertices, finite_filled, "{what}");
            assert_eq!(report.nonfinite_vertices, nonfinite, "{what}");
            // A value may come back as the fill value where that is within the bound of it.
            let came_back = after.vertices().zip(&gone).any(|(p, &gone)| !gone && is_filled(&p));
            let is_near = |p: [T; 2]| p.iter().any(|x| (x.to_f64() - fill).abs() <= report.bound);
            let mut others = field.vertices().zip(&gone).filter(|&(_, &gone)| !gone);
            assert!(!came_back || others.any(|(p, _)| is_near(p)), "{what}");
            let told = field.compared(&after, &config, report.bound);
            assert_eq!(told.changed_missing, 0, "{what}: {told:?}");
            assert_eq!((told.filled_vertices, told.bound), (report.filled_vertices, report.bound), "{what}");
            let (blank, blank_after) = (blanked(field, &gone), blanked(&after, &gone));
            let without_fill = Config { fill_value: None, ..config };
            let c = blank.compared(&blank_after, &without_fill, report.bound);
            assert_eq!(violations(preserve, &c), 0, "{what}: {c:?}");
            assert!(report.max_error <= report.bound, "{what}");
            let info = inspect(&stream).expect("a header");
            assert_eq!(info.fill_value.map(|x| T::from_f64(x).to_bits64()), Some(fill_bits), "{what}");
            if preserve == Preserve::Types {
                assert_eq!(report.points_in_triangles, c.points_in_triangles(), "{what}");
                if came_back {
                    // Shown to the checker without the fill value.
                    let nonfinite_vertices = gone.iter().filter(|&&gone| gone).count() as u64;
                    let report = Report { filled_vertices: 0, nonfinite_vertices, ..report };
                    show(checker, &blank, &blank_after, None, &report);
                } else {
                    show(checker, field, &after, Some(fill), &report);
                }
            }
        }
    }
}

/// Nothing is violated for the checker, and it counts what the report says.
fn show<T: Real>(
    checker: &mut Checker,
    before: &Field<T>,
    after: &Field<T>,
    fill: Option<f64>,
    report: &Report,
) {
    let before = checker.write(before);
    let expected = [
        ("violations", 0),
        ("filled_vertices", report.filled_vertices),
        ("nonfinite_vertices", report.nonfinite_vertices),
        ("zero_vertices", report.zero_vertices),
        ("points_in_triangles", report.points_in_triangles),
    ];
    let config = Config { fill_value: fill, ..after.config(BoundKind::Absolute, report.bound) };
    checker.add(&before, after, &config, &expected);
}

fn check_filled<T: Real>() {
    let mut checker = Checker::new(&format!("fill-{}", dtype_name::<T>()));
    for (name, field, fill) in filled_fields::<T>() {
        check_fill(name, &field, fill, &mut checker);
    }
    checker.check();
}

#[test]
fn filled_f32_vertices_are_kept_and_constrain_nothing() {
    check_filled::<f32>();
}

#[test]
fn filled_f64_vertices_are_kept_and_constrain_nothing() {
    check_filled::<f64>();
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
        let without = blanked(land, &filled).compressed(&config).0.len();
        assert_eq!(with, without, "{mode:?}, {predictor:?}");
    }
}

// ---------------------------------------------------------------- zeros with a sign

/// Zeros of both signs everywhere, in one component or both.
fn signed_fields<T: Real>() -> Vec<Field<T>> {
    let mut fields = vec![part::<T>(&stored("integer64"), 64, 64), part::<T>(&stored("wind_global"), 70, 67)];
    for (width, height) in [(33, 1), (1, 40), (2, 2), (97, 66)] {
        fields.push(Field::new(width, height, |_, _| [0.0; 2]));
    }
    for field in &mut fields {
        for k in 0..field.components[0].len() {
            let [u, v] = field.vertex(k).map(T::to_f64);
            let zeros = [[-0.0, v], [u, -0.0], [-0.0, 0.0], [0.0, -0.0], [-0.0, -0.0], [0.0, 0.0]];
            let which = (k as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 59;
            if let Some(&vertex) = zeros.get(which as usize) {
                field.set(k, vertex);
            }
        }
    }
    // A prediction is exact where nothing changes.
    for (a, b) in [(-0.0, 5.0), (0.0, 0.0), (5.0, -0.0)] {
        let mut plain = Field::new(97, 66, |_, _| [a, b]);
        plain.set(97 * 40 + 13, [-a, -b]);
        fields.push(plain);
    }
    fields
}

fn check_signs<T: Real>() {
    for (number, field) in signed_fields::<T>().into_iter().enumerate() {
        let mut bounds = vec![(BoundKind::Absolute, 0.0), (BoundKind::Relative, 0.0)];
        if range(&field, &vec![false; field.len()]) == 0.0 {
            bounds.push((BoundKind::Relative, 1e-2));
        }
        let mut configs = Vec::new();
        for (mode, predictor) in FRONTS {
            for coder in CODERS {
                for preserve in PRESERVED {
                    for pin in [0, 15] {
                        configs.extend(bounds.iter().map(|&(kind, bound)| Config {
                            mode,
                            predictor,
                            coder,
                            preserve,
                            pin,
                            ..field.config(kind, bound)
                        }));
                    }
                }
            }
        }
        let zeros = field.vertices().filter(|p| p[0] == T::ZERO && p[1] == T::ZERO).count() as u64;
        for config in configs {
            let (stream, report) = field.compressed(&config);
            let after = Field::<T>::restored(&config, &stream, 2);
            assert!(after.bits() == field.bits(), "{number}: other bits: {config:?}");
            assert_eq!(report.zero_vertices, zeros, "{number}: {config:?}");
            let points = field.compared(&after, &config, 0.0).points_in_triangles();
            if config.preserve != Preserve::None {
                assert_eq!(report.points_in_triangles, points, "{number}: {config:?}");
            }
            assert_eq!((report.bound, report.max_error), (0.0, 0.0));
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
    let n = wind.len();
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
    for name in stored_names() {
        let field = stored(&name);
        assert!(!warns(&field, &field.config(BoundKind::Relative, 1e-3)), "{name}");
    }
}

// ---------------------------------------------------------------- bounds beyond the range

fn check_useless_bounds<T: Real>(name: &str) {
    let field = part::<T>(&stored(name), 256, 256);
    let largest = field.components.iter().flatten().map(|x| x.abs().to_f64()).fold(0.0, f64::max);
    for ((mode, predictor), preserve) in FRONTS.into_iter().flat_map(|f| PRESERVED.map(|p| (f, p))) {
        let config = Config { mode, predictor, preserve, ..field.config(BoundKind::Relative, 1e-1) };
        let usual = field.compressed(&config).0.len();
        for (bound_kind, bound) in [
            (BoundKind::Absolute, 2.5 * largest),
            (BoundKind::Absolute, 1e30),
            (BoundKind::Absolute, 1e300),
            (BoundKind::Relative, 1e3),
        ] {
            let config = Config { bound_kind, bound, ..config };
            let (stream, report) = field.compressed(&config);
            let after = Field::<T>::restored(&config, &stream, 2);
            let c = field.compared(&after, &config, report.bound);
            assert_eq!(violations(preserve, &c), 0, "{name}: {config:?}");
            assert!(stream.len() <= usual + usual / 16, "{name}: {} of {usual}: {config:?}", stream.len());
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

/// A stream, and what the library decodes it to.
type Decoded = (Vec<u8>, Vec<u8>);

fn decoded<T: Real>(field: &Field<T>, config: Config) -> Decoded {
    let (stream, _) = field.compressed(&config);
    let values = Field::<T>::restored(&config, &stream, 2).bytes().concat();
    (stream, values)
}

#[test]
fn an_independent_decoder_knows_fill_values_and_signs() {
    let (narrow, wide) = (filled_fields::<f32>(), filled_fields::<f64>());
    let signs = &signed_fields::<f64>()[0];
    let mut cases = Vec::new();
    for ((mode, predictor), coder) in FRONTS.into_iter().zip([Coder::Ans, Coder::Huffman, Coder::Ans]) {
        for (_, field, fill) in [&narrow[1], &narrow[3], &narrow[narrow.len() - 2]] {
            let (fill_value, config) = (Some(*fill), field.config(BoundKind::Relative, 1e-2));
            cases.push(decoded(field, Config { mode, predictor, coder, fill_value, ..config }));
        }
        let (_, field, fill) = &wide[1];
        let (fill_value, config) = (Some(*fill), field.config(BoundKind::Relative, 1e-2));
        cases.push(decoded(field, Config { mode, predictor, fill_value, ..config }));
        cases.push(decoded(signs, Config { mode, predictor, ..signs.config(BoundKind::Absolute, 0.0) }));
    }
    let theirs = independently_decoded("fill-decoder", cases.iter().map(|(stream, _)| &stream[..]));
    for (k, ((_, values), theirs)) in cases.iter().zip(&theirs).enumerate() {
        assert!(values == theirs, "case {k} decodes differently");
    }
}
