//! The comparison of two fields counts what the independent checker counts.

use crate::support::fields::{bytes_of, dtype, dtype_name, Random};
use crate::support::{fresh_folder, output, python, root};
use factz::Real;
use factz::View;
use factz::{compare, Comparison};
use factz::{BoundKind, Config, Request};

/// The value of a key in the checker's JSON.
fn value<'a>(json: &'a str, key: &str) -> &'a str {
    let start = json.find(&format!("\"{key}\": ")).unwrap_or_else(|| panic!("no {key} in {json}"));
    let rest = &json[start + key.len() + 4..];
    rest[..rest.find([',', '}']).unwrap()].trim()
}

/// Compares both ways, within an absolute bound, and returns the counts.
fn check<T: Real>(name: &str, nx: u64, fields: &[Vec<T>; 4], bound: f64, (dx, dy): (f64, f64)) -> Comparison {
    let config = Config { dx, dy, ..Config::new(nx, 0, BoundKind::Absolute, bound) };
    check_config(name, fields, &config)
}

/// Compares both ways and returns the counts; the type and the number of rows are those of the fields.
fn check_config<T: Real>(name: &str, fields: &[Vec<T>; 4], config: &Config) -> Comparison {
    let (nx, ny) = (config.nx, fields[0].len() as u64 / config.nx);
    let request = Request::new(Config { ny, dtype: dtype::<T>(), ..*config }).unwrap();
    let [u0, v0, u1, v1] = fields.each_ref().map(|f| View::dense(f, nx));
    let run = |threads| compare(&request, [u0, v0], [u1, v1], true, threads).unwrap();
    let found = run(2);
    assert_eq!(format!("{found:?}"), format!("{:?}", run(1)), "the result depends on the number of threads");

    let folder = fresh_folder(&format!("compare-{name}"));
    let paths = ["u0", "v0", "u1", "v1"].map(|f| folder.join(f));
    for (path, field) in paths.iter().zip(fields) {
        std::fs::write(path, bytes_of(field)).unwrap();
    }
    let bound = match config.bound_kind {
        BoundKind::Absolute => "--abs-bound",
        BoundKind::Relative => "--rel-bound",
    };
    let mut command = python();
    command.arg(root().join("tests/exact_verify.py")).args([nx.to_string(), ny.to_string()]).args(&paths);
    command.args(["--dtype", dtype_name::<T>(), bound, &format!("{:e}", config.bound)]);
    command.args(["--spacing", &config.dx.to_string(), &config.dy.to_string()]);
    command.args(config.fill_value.iter().flat_map(|fill| ["--fill-value".into(), format!("{fill:e}")]));
    let out = output(&mut command);
    let json = String::from_utf8_lossy(&out.stdout);
    assert!(
        json.starts_with('{'),
        "the checker did not run: install numpy for python3\n{}",
        String::from_utf8_lossy(&out.stderr)
    );
    std::fs::remove_dir_all(folder).unwrap();
    for (key, count) in [
        ("lost", found.lost),
        ("spurious", found.spurious),
        ("type_changed", found.type_changed),
        ("total", found.critical_points),
        ("total1", found.critical_points_after),
        ("zero_vertices", found.zero_vertices),
        ("zero_changed", found.zero_changed),
        ("tie_total", found.ties),
        ("tie_changed", found.tie_changed),
        ("tie_created", found.tie_created),
        ("missing_changed", found.missing_changed),
        ("filled_vertices", found.filled_vertices),
        ("nonfinite_vertices", found.nonfinite_vertices),
        ("bound_exceeded", found.bound_exceeded),
        ("saddle", found.kinds[0]),
        ("attracting_node", found.kinds[1]),
        ("repelling_node", found.kinds[2]),
        ("attracting_focus", found.kinds[3]),
        ("repelling_focus", found.kinds[4]),
        ("center", found.kinds[5]),
        ("violations", found.violations()),
    ] {
        assert_eq!(value(&json, key), count.to_string(), "{name}: {key} in {json}\n{found:?}");
    }
    assert_eq!(value(&json, "max_abs_err").parse(), Ok(found.max_error), "{json}");
    assert_eq!(value(&json, "bound").parse(), Ok(found.bound), "{json}");
    match (value(&json, "psnr"), found.psnr) {
        ("null", psnr) => assert_eq!(psnr, None),
        ("Infinity", psnr) => assert_eq!(psnr, Some(f64::INFINITY)),
        ("NaN", psnr) => assert!(psnr.is_some_and(f64::is_nan)),
        (text, psnr) => {
            let (a, b): (f64, f64) = (text.parse().unwrap(), psnr.unwrap());
            assert!((a - b).abs() < 1e-6, "{a} {b}");
        }
    }
    found
}

/// A smooth field with critical points, its values moved by noise.
fn smooth<T: Real>(nx: u64, ny: u64, noise: f64) -> [Vec<T>; 4] {
    let mut random = Random(3);
    let mut fields: [Vec<T>; 4] = Default::default();
    for i in 0..nx * ny {
        let (x, y) = ((i % nx) as f64, (i / nx) as f64);
        let u = (0.37 * x + 0.2).sin() * (0.29 * y).cos() + 0.3 * (0.11 * x * 0.9 + 0.23 * y).sin();
        let v = (0.21 * x - 0.31 * y).cos() * 0.8 + 0.2 * (0.5 * y).sin();
        for (k, value) in
            [u, v, u + noise * random.signed(), v + noise * random.signed()].into_iter().enumerate()
        {
            fields[k].push(T::from_f64(value));
        }
    }
    fields
}

/// Values drawn at random; a part of them is drawn anew after.
fn drawn<T: Real>(seed: u64, n: u64, draw: impl Fn(&mut Random) -> T, change: u64) -> [Vec<T>; 4] {
    let mut random = Random(seed);
    let mut component = || {
        let before: Vec<T> = (0..n).map(|_| draw(&mut random)).collect();
        let after =
            before.iter().map(|&x| if random.below(change) == 0 { draw(&mut random) } else { x }).collect();
        (before, after)
    };
    let ((u0, u1), (v0, v1)) = (component(), component());
    [u0, v0, u1, v1]
}

#[test]
fn smooth_fields() {
    let found = check("smooth32", 90, &smooth::<f32>(90, 70, 0.05), 0.03, (1.0, 1.0));
    assert!(found.lost > 0 && found.spurious > 0 && found.type_changed > 0 && found.bound_exceeded > 0);
    check("smooth64", 70, &smooth::<f64>(70, 90, 0.01), 0.01, (1.0, 0.5));
    let found = check("equal", 33, &smooth::<f32>(33, 20, 0.0), 0.0, (1.0, 1.0));
    assert!(found.critical_points > 0 && found.violations() == 0);
}

#[test]
fn random_fields() {
    let draw32 = |r: &mut Random| r.signed() as f32;
    check("random32", 61, &drawn(1, 61 * 50, draw32, 4), 1.0, (1.0, 3.0));
    check("random64", 50, &drawn(2, 50 * 61, Random::signed, 4), 0.5, (0.25, 1.0));
}

#[test]
fn integers_with_ties_and_centres() {
    let found = check("ties32", 60, &drawn(3, 3600, |r| r.below(5) as f32 - 2.0, 10), 1.0, (1.0, 1.0));
    assert!(found.tie_changed > 0 && found.tie_created > 0 && found.kinds[5] > 0 && found.zero_changed > 0);
    check("ties64", 60, &drawn(4, 3600, |r| r.below(7) as f64 - 3.0, 10), 2.0, (1.0, 0.5));
    let tiny = |r: &mut Random| f64::from_bits(r.below(9)) * (r.below(2) as f64 * 2.0 - 1.0);
    check("denormal64", 40, &drawn(5, 1600, tiny, 10), 1e-323, (1.0, 1.0));
}

#[test]
fn special_values() {
    let special32 = |r: &mut Random| match r.below(40) {
        0 => f32::NAN,
        1 => f32::INFINITY,
        2 => f32::from_bits(0xffc0_0000 | r.below(16) as u32),
        3 => -0.0,
        4..=8 => 0.0,
        _ => r.signed() as f32,
    };
    let found = check("special32", 60, &drawn(6, 3600, special32, 5), 0.1, (1.0, 1.0));
    assert!(found.missing_changed > 0);
    let special64 = |r: &mut Random| match r.below(60) {
        0 => f64::NAN,
        1 => f64::NEG_INFINITY,
        2 => 1.5e308 * r.signed(),
        3 => 1e-308 * r.signed(),
        4..=8 => -0.0,
        _ => r.signed(),
    };
    check("special64", 60, &drawn(7, 3600, special64, 5), 0.1, (1.0, 1.0));
}

#[test]
fn an_error_that_rounds_to_the_bound_is_told_apart() {
    // 1 + 2^-60 rounds to 1, 1 - 2^-60 as well.
    let tiny = 2f64.powi(-60);
    let before = vec![0.0, tiny, -tiny, 1.0];
    let after = vec![1.0, 1.0, 1.0, 2.0];
    let found = check("bound", 2, &[before.clone(), before, after.clone(), after], 1.0, (1.0, 1.0));
    assert_eq!(found.bound_exceeded, 2);
}

#[test]
fn lines_have_no_triangles() {
    check("row", 40, &drawn(8, 40, |r| r.signed() as f32, 2), 0.1, (1.0, 1.0));
    check("column", 1, &drawn(9, 40, |r| r.signed() as f32, 2), 0.1, (1.0, 1.0));
}

#[test]
fn a_relative_bound_is_a_fraction_of_the_first_field() {
    let config = |bound| Config::new(90, 0, BoundKind::Relative, bound);
    let mut fields = smooth::<f32>(90, 70, 0.05);
    let found = check_config("relative", &fields, &config(0.01));
    let range = fields[..2].iter().flatten().fold([f32::MAX, f32::MIN], |[a, b], &x| [a.min(x), b.max(x)]);
    assert_eq!(found.bound, 0.01 * (range[1] as f64 - range[0] as f64));
    assert!(found.bound_exceeded > 1000 && found.bound_exceeded < 2 * 90 * 70);
    // Fifty times the field: no bound below 1 lets that pass, whatever the other field's range is.
    let [u, v] = [0, 1].map(|c: usize| fields[c].iter().map(|x| 50.0 * x).collect::<Vec<_>>());
    (fields[2], fields[3]) = (u, v);
    assert!(check_config("fifty", &fields, &config(0.99)).bound_exceeded > 5000);
    // Missing vertices of the first field, and the other field, are no part of the range.
    (fields[0][7], fields[1][8], fields[2][9]) = (f32::INFINITY, f32::NAN, 1e30);
    assert_eq!(check_config("missing", &fields, &config(0.01)).bound, found.bound);
    // The range of doubles may overflow.
    let wide = |r: &mut Random| 1.7e308 * r.signed();
    let found =
        check_config("wide", &drawn(10, 3600, wide, 5), &Config::new(60, 0, BoundKind::Relative, 0.1));
    assert!(found.bound > 3.2e307 && found.bound < 3.4e307 && found.bound_exceeded > 100);
}

#[test]
fn filled_vertices_are_missing() {
    let fill = 9.96921e36;
    let config = Config { fill_value: Some(fill), ..Config::new(60, 0, BoundKind::Relative, 0.01) };
    let draw32 = |r: &mut Random| match r.below(30) {
        0..=2 => fill as f32,
        3 => f32::NAN,
        4 => 0.0,
        _ => r.signed() as f32,
    };
    // Some are filled in one field only.
    let found = check_config("filled32", &drawn(11, 3600, draw32, 9), &config);
    assert!(found.filled_vertices > 500 && found.missing_changed > 50 && found.lost > 10);
    assert!(found.bound < 0.03, "{found:?}");
    // Values that become the fill value are errors as any others: the first field says which vertices are
    // filled.
    assert!(found.max_error > 9e36 && found.bound_exceeded > 100, "{found:?}");
    let kept = drawn(12, 3600, draw32, u64::MAX);
    let found = check_config("kept32", &kept, &config);
    assert!(found.filled_vertices > 500 && found.critical_points > 50 && found.violations() == 0);
    // The other component of a filled vertex is kept as well, and the sign of a zero that fills.
    let k = (0..3600).find(|&k| kept[0][k] == fill as f32 && kept[1][k].is_finite()).unwrap();
    let mut changed = kept.clone();
    changed[3][k] += 1e-6;
    let found = check_config("component32", &changed, &config);
    assert_eq!((found.missing_changed, found.violations(), found.max_error), (1, 1, 0.0));
    let zeros = drawn(13, 3600, |r| [0.0, -0.0, r.signed(), r.signed()][r.below(4) as usize], 9);
    let found = check_config("zeros64", &zeros, &Config { fill_value: Some(0.0), ..config });
    assert!(found.filled_vertices > 1000 && found.zero_vertices > 100);
    let found = check_config("nan64", &zeros, &Config { fill_value: Some(f64::NAN), ..config });
    assert_eq!(found.filled_vertices, 0);
}
