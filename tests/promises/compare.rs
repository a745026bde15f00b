//! The comparison of two fields counts what the independent checker counts.

use crate::support::checker::{counts, Checker};
use crate::support::fields::{Field, Random};
use factz::{compare, BoundKind, Comparison, Config, Real, Request, Ties};
use serde_json::Value;

const TYPES: [&str; 8] = [
    "saddle",
    "attracting_node",
    "repelling_node",
    "attracting_focus",
    "repelling_focus",
    "center",
    "vertex_zero",
    "edge_zero",
];

/// A field and another one of its shape.
type Pair<T> = [Field<T>; 2];

/// Compares both ways, within an absolute bound, and returns the counts.
fn check<T: Real>(name: &str, fields: &Pair<T>, bound: f64, (dx, dy): (f64, f64)) -> Comparison {
    check_config(name, fields, Config { dx, dy, ..fields[0].config(BoundKind::Absolute, bound) })
}

/// Compares both ways and returns the counts.
fn check_config<T: Real>(name: &str, [before, after]: &Pair<T>, config: Config) -> Comparison {
    let request = Request::new(config).unwrap();
    let run = |threads| compare(&request, before.views(0), after.views(0), true, threads).unwrap();
    let found = run(2);
    assert_eq!(format!("{found:?}"), format!("{:?}", run(1)), "the result depends on the number of threads");

    let mut checker = Checker::new(&format!("compare-{name}"));
    let written = checker.write(before);
    checker.add(&written, after, &config, &counts(&found));
    let [theirs] = &checker.check()[..] else { panic!("one case") };
    assert_eq!(
        TYPES.map(|kind| theirs["points_by_type"][kind].as_u64().unwrap()),
        found.points_by_type,
        "{name}: {theirs}"
    );
    let number = |value: &Value| value.as_str().map(|text| text.parse::<f64>().unwrap());
    assert_eq!(number(&theirs["max_error"]), Some(found.max_error), "{theirs}");
    assert_eq!(number(&theirs["bound"]), Some(found.bound), "{theirs}");
    match (number(&theirs["psnr"]), found.psnr) {
        (Some(a), Some(b)) => assert!(a == b || a.is_nan() && b.is_nan() || (a - b).abs() < 1e-6, "{a} {b}"),
        (a, b) => assert_eq!(a, b),
    }
    found
}

/// A smooth field with critical points, its values moved by noise.
fn smooth<T: Real>(nx: u64, ny: u64, noise: f64) -> Pair<T> {
    let mut random = Random(3);
    let flow = |x: f64, y: f64| {
        let u = (0.37 * x + 0.2).sin() * (0.29 * y).cos() + 0.3 * (0.11 * x * 0.9 + 0.23 * y).sin();
        [u, (0.21 * x - 0.31 * y).cos() * 0.8 + 0.2 * (0.5 * y).sin()]
    };
    let before = Field::new(nx, ny, |x, y| flow(x as f64, y as f64));
    let after = Field::new(nx, ny, |x, y| flow(x as f64, y as f64).map(|c| c + noise * random.signed()));
    [before, after]
}

/// Values drawn at random; a part of them is drawn anew after.
fn drawn<T: Real>(seed: u64, [nx, ny]: [u64; 2], draw: impl Fn(&mut Random) -> T, change: u64) -> Pair<T> {
    let mut random = Random(seed);
    let mut component = || {
        let before: Vec<T> = (0..nx * ny).map(|_| draw(&mut random)).collect();
        let after =
            before.iter().map(|&x| if random.below(change) == 0 { draw(&mut random) } else { x }).collect();
        (before, after)
    };
    let ((u0, u1), (v0, v1)) = (component(), component());
    [[u0, v0], [u1, v1]].map(|components| Field { nx, ny, components })
}

#[test]
fn smooth_fields() {
    let found = check("smooth32", &smooth::<f32>(90, 70, 0.05), 0.03, (1.0, 1.0));
    assert!(
        found.lost_points > 0
            && found.spurious_points > 0
            && found.changed_types > 0
            && found.bound_exceeded > 0
    );
    check("smooth64", &smooth::<f64>(70, 90, 0.01), 0.01, (1.0, 0.5));
    let found = check("equal", &smooth::<f32>(33, 20, 0.0), 0.0, (1.0, 1.0));
    assert!(found.critical_points > 0 && found.violations() == 0);
}

#[test]
fn random_fields() {
    let draw32 = |r: &mut Random| r.signed() as f32;
    check("random32", &drawn(1, [61, 50], draw32, 4), 1.0, (1.0, 3.0));
    check("random64", &drawn(2, [50, 61], Random::signed, 4), 0.5, (0.25, 1.0));
}

#[test]
fn integers_with_ties_and_centres() {
    let found = check("ties32", &drawn(3, [60, 60], |r| r.below(5) as f32 - 2.0, 10), 1.0, (1.0, 1.0));
    assert!(
        found.changed_ties > 0
            && found.new_ties > 0
            && found.points_by_type[5] > 0
            && found.changed_zero_vertices > 0
    );
    check("ties64", &drawn(4, [60, 60], |r| r.below(7) as f64 - 3.0, 10), 2.0, (1.0, 0.5));
    let tiny = |r: &mut Random| f64::from_bits(r.below(9)) * (r.below(2) as f64 * 2.0 - 1.0);
    let found = check("denormal64", &drawn(5, [40, 40], tiny, 10), 1e-323, (1.0, 1.0));
    assert!(found.max_error > 0.0 && found.psnr.is_none(), "squares of these errors are 0");
}

/// Vertices that are zero, and others that change without moving the zeros of triangles, or moving them.
#[test]
fn ties_by_the_zeros_alone() {
    let changed = |name: &str, ties: Ties, before: &[[f64; 2]], after: &dyn Fn(usize) -> [f64; 2]| {
        let name = format!("{name}-{}", ties.name());
        let counts = |found: &Comparison| (found.changed_ties, found.new_ties, found.ties);
        let at = |x: u64, y: u64| (60 * y + x) as usize;
        let wide = [Field::new(60, 60, |x, y| before[at(x, y)]), Field::new(60, 60, |x, y| after(at(x, y)))];
        let config = Config { ties, ..wide[0].config(BoundKind::Absolute, 9.0) };
        let found = check_config::<f64>(&format!("{name}64"), &wide, config);
        let narrow = wide.map(|f| Field::new(60, 60, |x, y| f.vertex(f.at(x, y))));
        let config = Config { ties, ..narrow[0].config(BoundKind::Absolute, 9.0) };
        let narrow = check_config::<f32>(&format!("{name}32"), &narrow, config);
        assert_eq!(counts(&narrow), counts(&found));
        found.changed_ties
    };
    let mut random = Random(14);
    let mut vertex = |sign: f64| match random.below(4) {
        0 => [0.0; 2],
        1 => [sign * (1.0 + random.below(2) as f64), sign * (random.below(3) as f64 - 1.0)],
        _ => [1.0 + random.below(2) as f64, random.below(3) as f64 - 1.0],
    };
    let before: Vec<_> = (0..3600).map(|_| vertex(1.0)).collect();
    // The mirror image turns triangles over and leaves their zeros where they are.
    let mirror = |k: usize| [before[k][0], -before[k][1]];
    assert!(changed("mirror", Ties::All, &before, &mirror) > 500);
    assert_eq!(changed("mirror", Ties::Zeros, &before, &mirror), 0);
    // No vector points to the left, so that no edge passes above the origin. Without a ray that it could
    // cross nothing counts for the rule either; turned by a quarter some edges cross the ray, then lie below
    // it.
    assert_eq!(changed("mirror", Ties::Sos, &before, &mirror), 0);
    let turned: Vec<_> = before.iter().map(|[u, v]| [-v, *u]).collect();
    let flipped = |k: usize| [turned[k][0], -turned[k][1]];
    assert_eq!(changed("flipped", Ties::Zeros, &turned, &flipped), 0);
    assert!(changed("flipped", Ties::Sos, &turned, &flipped) > 300);
    // Some edges pass through the origin. Other lengths leave all signs, but move the zeros of edges.
    let before: Vec<_> = (0..3600).map(|_| vertex(-1.0)).collect();
    let all = |k: usize| before[k].map(|x| 4.0 * x);
    let some = |k: usize| before[k].map(|x| if k % 3 == 0 { 4.0 * x } else { x });
    assert_eq!(changed("all", Ties::Zeros, &before, &all), 0);
    assert_eq!(changed("some", Ties::All, &before, &some), 0);
    assert!(changed("some", Ties::Zeros, &before, &some) > 50);
    assert_eq!(changed("some", Ties::Sos, &before, &some), 0);
    let zeros = |k: usize| if k == 777 { [0.0; 2] } else { before[k] };
    assert_eq!(changed("same", Ties::Zeros, &before, &|k| before[k]), 0);
    for ties in [Ties::Zeros, Ties::Sos] {
        assert!((1..=6).contains(&changed("zero", ties, &before, &zeros)));
    }
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
    let found = check("special32", &drawn(6, [60, 60], special32, 5), 0.1, (1.0, 1.0));
    assert!(found.changed_missing > 0);
    let special64 = |r: &mut Random| match r.below(60) {
        0 => f64::NAN,
        1 => f64::NEG_INFINITY,
        2 => 1.5e308 * r.signed(),
        3 => 1e-308 * r.signed(),
        4..=8 => -0.0,
        _ => r.signed(),
    };
    check("special64", &drawn(7, [60, 60], special64, 5), 0.1, (1.0, 1.0));
}

#[test]
fn an_error_that_rounds_to_the_bound_is_told_apart() {
    // 1 + 2^-60 rounds to 1, 1 - 2^-60 as well.
    let tiny = 2f64.powi(-60);
    let fields = [[0.0, tiny, -tiny, 1.0], [1.0, 1.0, 1.0, 2.0]]
        .map(|values| Field::<f64>::new(2, 2, |x, y| [values[(2 * y + x) as usize]; 2]));
    let found = check("bound", &fields, 1.0, (1.0, 1.0));
    assert_eq!(found.bound_exceeded, 2);
}

#[test]
fn lines_have_no_triangles() {
    check("row", &drawn(8, [40, 1], |r| r.signed() as f32, 2), 0.1, (1.0, 1.0));
    check("column", &drawn(9, [1, 40], |r| r.signed() as f32, 2), 0.1, (1.0, 1.0));
}

#[test]
fn a_relative_bound_is_a_fraction_of_the_first_field() {
    let mut fields = smooth::<f32>(90, 70, 0.05);
    let config = |bound| Config::new(90, 70, BoundKind::Relative, bound);
    let found = check_config("relative", &fields, config(0.01));
    let values = fields[0].components.iter().flatten();
    let range = values.fold([f32::MAX, f32::MIN], |[a, b], &x| [a.min(x), b.max(x)]);
    assert_eq!(found.bound, 0.01 * (range[1] as f64 - range[0] as f64));
    assert!(found.bound_exceeded > 1000 && found.bound_exceeded < 2 * 90 * 70);
    // Fifty times the field: no bound below 1 lets that pass, whatever the other field's range is.
    fields[1].components = fields[0].components.each_ref().map(|c| c.iter().map(|x| 50.0 * x).collect());
    assert!(check_config("fifty", &fields, config(0.99)).bound_exceeded > 5000);
    // Missing vertices of the first field, and the other field, are no part of the range.
    let [u, v] = &mut fields[0].components;
    (u[7], v[8], fields[1].components[0][9]) = (f32::INFINITY, f32::NAN, 1e30);
    assert_eq!(check_config("missing", &fields, config(0.01)).bound, found.bound);
    // The range of doubles may overflow.
    let wide = drawn(10, [60, 60], |r| 1.7e308 * r.signed(), 5);
    let found = check_config("wide", &wide, wide[0].config(BoundKind::Relative, 0.1));
    assert!(found.bound > 3.2e307 && found.bound < 3.4e307 && found.bound_exceeded > 100);
}

#[test]
fn filled_vertices_are_missing() {
    let fill = 9.96921e36;
    let draw32 = |r: &mut Random| match r.below(30) {
        0..=2 => fill as f32,
        3 => f32::NAN,
        4 => 0.0,
        _ => r.signed() as f32,
    };
    // Some are filled in one field only.
    let fields = drawn(11, [60, 60], draw32, 9);
    let config = Config { fill_value: Some(fill), ..fields[0].config(BoundKind::Relative, 0.01) };
    let found = check_config("filled32", &fields, config);
    assert!(found.filled_vertices > 500 && found.changed_missing > 50 && found.lost_points > 10);
    assert!(found.bound < 0.03, "{found:?}");
    // Values that become the fill value are errors as any others: the first field says which vertices are
    // filled.
    assert!(found.max_error > 9e36 && found.bound_exceeded > 100, "{found:?}");
    let mut kept = drawn(12, [60, 60], draw32, u64::MAX);
    let found = check_config("kept32", &kept, config);
    assert!(found.filled_vertices > 500 && found.critical_points > 50 && found.violations() == 0);
    // The other component of a filled vertex is kept as well, and the sign of a zero that fills.
    let is_half_filled = |&k: &usize| kept[0].vertex(k)[0] == fill as f32 && kept[0].vertex(k)[1].is_finite();
    let k = (0..3600).find(is_half_filled).unwrap();
    kept[1].components[1][k] += 1e-6;
    let found = check_config("component32", &kept, config);
    assert_eq!((found.changed_missing, found.violations(), found.max_error), (1, 1, 0.0));
    let zeros = drawn(13, [60, 60], |r| [0.0, -0.0, r.signed(), r.signed()][r.below(4) as usize], 9);
    let config = |fill| Config { fill_value: Some(fill), ..zeros[0].config(BoundKind::Relative, 0.01) };
    let found = check_config("zeros64", &zeros, config(0.0));
    assert!(found.filled_vertices > 1000 && found.zero_vertices > 100);
    assert_eq!(check_config("nan64", &zeros, config(f64::NAN)).filled_vertices, 0);
}
