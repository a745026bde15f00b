//! Flows of textbooks, whose zeros lie at vertices and on edges: each is found once, with its index, and kept
//! by compression.

use crate::support::checker::{counts, Checker};
use crate::support::fields::{stored, Field, Random, FRONTS, TIES};
use factz::{critical_points, BoundKind, Config, CriticalPoint, Kind, Layout, Mode, Real, Request};
use factz::{Simplex, Ties, View, SIDES_ALL};
use serde_json::Value;
use std::f64::consts::PI;

/// Points by kind and index.
type Expected<'a> = &'a [(Kind, Option<i32>, usize)];

fn points<T: Real>(field: &Field<T>, spacing: (f64, f64)) -> Vec<CriticalPoint> {
    let (dx, dy) = spacing;
    let config = Config { dx, dy, ..field.config(BoundKind::Absolute, 0.0) };
    critical_points(&Request::new(config).unwrap(), field.views(0), 1).unwrap()
}

/// A flow by the position of a vertex, in numbers of the type.
fn flow<T: Real>(n: u64, at: impl Fn(u64) -> f64, vector: impl Fn(f64, f64) -> [f64; 2]) -> Field<T> {
    Field::new(n, n, |x, y| vector(at(x), at(y)))
}

/// The counts are those expected and the exact checker's; compression keeps all of it.
fn check<T: Real>(name: &str, field: &Field<T>, expected: Expected) {
    let found = points(field, (1.0, 1.0));
    let count = |kind, index| found.iter().filter(|p| (p.kind, p.index) == (kind, index)).count();
    for &(kind, index, n) in expected {
        assert_eq!(count(kind, index), n, "{name}: {kind:?} of index {index:?} in {found:?}");
    }
    assert_eq!(found.len(), expected.iter().map(|e| e.2).sum::<usize>(), "{name}: {found:?}");
    check_list(name, field);
    for (mode, predictor) in FRONTS {
        for ties in TIES {
            for bound in [1e-1, 1e-2, 1e-4] {
                let config = Config { mode, predictor, ties, ..field.config(BoundKind::Relative, bound) };
                let (stream, report) = field.compressed(&config);
                let c = field.compared(&Field::restored(&config, &stream, 1), &config, report.bound);
                let what = format!("{name}, {mode:?}, {ties:?}, {bound}: {c:?}");
                let differ = [c.violations(), c.lost_points, c.spurious_points, c.changed_types];
                assert_eq!(differ, [0; 4], "{what}");
                assert_eq!(
                    (c.critical_points, report.points_in_triangles),
                    (found.len() as u64, c.points_in_triangles())
                );
            }
        }
    }
}

/// The isolated zeros are those that the exact checker lists.
fn check_list<T: Real>(name: &str, field: &Field<T>) {
    let config = field.config(BoundKind::Absolute, 0.0);
    let same = field.compared(field, &config, 0.0);
    let mut checker = Checker::with_lists(&format!("textbook-{name}"));
    let written = checker.write(field);
    checker.add(&written, field, &config, &counts(&same));
    let theirs = checker.check()[0]["zeros"].as_array().expect("a list").clone();
    let found = points(field, (1.0, 1.0));
    let zeros = found.iter().filter(|p| p.simplex >= Simplex::EdgeX);
    let ours: Vec<Value> =
        zeros.map(|p| serde_json::json!([p.cell_x, p.cell_y, p.simplex as u32, p.index])).collect();
    assert_eq!(ours, theirs, "{name}");
    assert_eq!(found.len() as u64, same.critical_points, "{name}");
    assert_eq!(same.points_by_type.iter().sum::<u64>(), same.critical_points, "{name}");
}

fn textbook<T: Real>(of: &str) {
    use Kind::*;
    let name = |flow: &str| format!("{flow}-{of}");
    let centred = |k: u64| (k as f64 - 50.0) / 10.0;
    check::<T>(&name("stagnation"), &flow(101, centred, |x, y| [x, -y]), &[(VertexZero, Some(-1), 1)]);
    check::<T>(&name("source"), &flow(101, centred, |x, y| [x, y]), &[(VertexZero, Some(1), 1)]);
    let lamb_oseen = |x: f64, y: f64| [-y, x].map(|c| c * (-x * x - y * y).exp());
    check::<T>(&name("lamb-oseen"), &flow(101, centred, lamb_oseen), &[(VertexZero, Some(1), 1)]);
    let off = |x, y| lamb_oseen(x - 0.013, y - 0.03);
    check::<T>(&name("lamb-oseen-off"), &flow(101, centred, off), &[(RepellingFocus, Some(1), 1)]);
    let on_diagonal = |x, y| [0.05 - y, x - 0.05];
    check::<T>(&name("diagonal"), &flow(101, centred, on_diagonal), &[(EdgeZero, Some(1), 1)]);
    // The walls are zeros side by side: no points.
    let (f, g) = (|t: f64| t * t * (1.0 - t) * (1.0 - t), |t: f64| 2.0 * t * (1.0 - t) * (1.0 - 2.0 * t));
    let cavity = |x: f64, y: f64| match (0.0 < x && x < 1.0 && 0.0 < y, y < 1.0) {
        (false, _) => [0.0; 2],
        (_, false) => [f(x), 0.0],
        _ => [f(x) * (3.0 * y * y - 2.0 * y), -g(x) * y * y * (y - 1.0)],
    };
    check::<T>(&name("cavity"), &flow(65, |k| k as f64 / 64.0, cavity), &[(EdgeZero, Some(1), 1)]);
    let centres = flow(64, |k| (k as f64 + 0.5) / 64.0, cavity);
    check::<T>(&name("cavity-centres"), &centres, &[(RepellingFocus, Some(1), 1)]);
}

#[test]
fn textbook_flows_have_their_points_f32() {
    textbook::<f32>("f32");
}

#[test]
fn textbook_flows_have_their_points_f64() {
    textbook::<f64>("f64");
}

const PERIOD: u64 = 128;

/// Four vortices and four saddles in a period, on vertices or in the middle of cells.
fn taylor_green<T: Real>(shift: f64, margin: u64) -> Field<T> {
    let at = |k: u64| ((k + PERIOD - margin) % PERIOD) as f64 + shift;
    flow(
        PERIOD + 2 * margin,
        |k| at(k) * 2.0 * PI / PERIOD as f64,
        |x, y| [x.sin() * y.cos(), -x.cos() * y.sin()],
    )
}

#[test]
fn taylor_green_vortices_are_all_found() {
    fn check_type<T: Real>(of: &str) {
        // Without the period three of the eight lie at the border, or beyond it.
        for (shift, inside, at_border) in [(0.0, 5, 3), (0.5, 5, 0)] {
            let field = taylor_green::<T>(shift, 0);
            let found = points(&field, (1.0, 1.0));
            let with_index = found.iter().filter(|p| p.index.is_some()).count();
            assert_eq!((with_index, found.len()), (inside, inside + at_border), "{shift}: {found:?}");
            check_list(&format!("taylor-green-{of}-{shift}"), &field);
        }
        // With it they are the lines beyond the border.
        for shift in [0.0, 0.5] {
            let field = taylor_green::<T>(shift, 1);
            let layout = Layout { pitch: field.nx, stride: 1, plane: 0 };
            let views = field.components.each_ref().map(|c| View::strided(c, field.at(1, 1), layout));
            let config = Config {
                u: layout,
                v: layout,
                halo: SIDES_ALL,
                nx: PERIOD,
                ny: PERIOD,
                ..field.config(BoundKind::Absolute, 0.0)
            };
            let found = critical_points(&Request::new(config).unwrap(), views, 2).unwrap();
            let count = |index| found.iter().filter(|p| p.index == Some(index)).count();
            assert_eq!((count(1), count(-1), found.len()), (4, 4, 8), "{shift}: {found:?}");
        }
    }
    check_type::<f32>("f32");
    check_type::<f64>("f64");
}

/// The field of a stretched vortex without divergence: its rounded values have one of either sign.
#[test]
fn rounded_vortices_without_divergence_are_told() {
    fn check_type<T: Real>() {
        let mut types = [0; Kind::COUNT];
        for k in 0..200 {
            let (x0, y0) = (3.0 + 0.013 * k as f64, 4.0 - 0.017 * k as f64);
            let field = Field::<T>::new(9, 9, |x, y| {
                let (x, y) = (x as f64 - x0, y as f64 - y0);
                [0.1 * x - 0.7 * y, 0.9 * x - 0.1 * y]
            });
            for point in points(&field, (1.0, 1.0)).iter().filter(|p| p.simplex < Simplex::EdgeX) {
                types[point.kind as usize] += 1;
                let is_center = point.kind == Kind::Center;
                assert!(is_center != point.rounding_divergence, "{point:?}");
                assert!((point.eigenvalues_imaginary[0] - 0.62f64.sqrt()).abs() < 1e-5, "{point:?}");
                assert!(point.eigenvalues_real[0].abs() < 1e-6 && point.index == Some(1), "{point:?}");
            }
        }
        let foci = [Kind::AttractingFocus, Kind::RepellingFocus].map(|kind| types[kind as usize]);
        assert!(foci.iter().all(|&n| n > 10), "{types:?}");
    }
    check_type::<f32>();
    check_type::<f64>();
    // A divergence of a thousandth is none of rounding.
    let field = Field::<f32>::new(9, 9, |x, y| {
        let (x, y) = (x as f64 - 4.3, y as f64 - 4.4);
        [0.101 * x - 0.7 * y, 0.9 * x - 0.1 * y]
    });
    let found = points(&field, (1.0, 1.0));
    assert_eq!((found.len(), found[0].rounding_divergence), (1, false));
}

/// Few values: zeros at vertices and on edges, alone and side by side, of all indices, at borders and beside
/// missing vertices.
fn coarse<T: Real>(seed: u64, [nx, ny]: [u64; 2], missing: u64) -> Field<T> {
    let mut random = Random(seed);
    Field::new(nx, ny, |_, _| {
        [(); 2].map(|()| match random.below(1000) < missing {
            true => f64::NAN,
            false => random.below(5) as f64 - 2.0,
        })
    })
}

#[test]
fn zeros_are_those_of_the_exact_checker() {
    for (k, shape) in [[60, 60], [1, 40], [40, 1], [2, 2], [7, 90]].into_iter().enumerate() {
        check_list(&format!("coarse32-{k}"), &coarse::<f32>(k as u64, shape, 0));
        check_list(&format!("coarse64-{k}"), &coarse::<f64>(k as u64, shape, 60));
    }
    let field = coarse::<f32>(9, [60, 60], 0);
    let found = points(&field, (1.0, 1.0));
    for index in [-1, 0, 1] {
        for simplex in [Simplex::EdgeX, Simplex::EdgeY, Simplex::Diagonal, Simplex::Vertex] {
            let count = found.iter().filter(|p| (p.index, p.simplex) == (Some(index), simplex)).count();
            assert!(count > 3, "{simplex:?} of index {index}: {count}");
        }
    }
    for name in ["piv_cavity", "ocean_coast", "water_gbr", "nan_inf256"] {
        check_list(name, &stored(name));
    }
}

/// Without violations of ties of the setting *all* every zero is where it was, with its index.
#[test]
fn kept_ties_keep_zeros_and_indices() {
    let mut random = Random(5);
    let (mut kept, mut changed) = (0, 0);
    for round in 0..3000 {
        let before = coarse::<f32>(round, [3, 3], 100);
        let mut after = before.clone();
        for _ in 0..random.below(3) {
            let (k, c) = (random.below(9) as usize, random.below(2) as usize);
            after.components[c][k] += random.below(3) as f32 - 1.0;
        }
        let c = before.compared(&after, &before.config(BoundKind::Absolute, 9.0), 9.0);
        match c.violations() {
            0 => assert_eq!(c.changed_zero_points(), 0, "{before:?}", before = before.components),
            _ => changed += c.changed_zero_points(),
        }
        kept += (c.violations() == 0) as u64 * (c.critical_points - c.points_in_triangles());
    }
    assert!(kept > 300 && changed > 300, "{kept} {changed}");
}

/// Promises of compression about zeros, by mode and setting: docs/algorithm.md, section 2.6.
#[test]
fn compression_keeps_zeros_as_the_documents_say() {
    let field = |seed: u64| {
        let (coarse, mut random) = (coarse::<f32>(seed, [70, 70], 5), Random(seed));
        Field::<f32>::new(70, 70, |x, y| {
            let vertex = coarse.vertex(coarse.at(x, y));
            let stays = vertex == [0.0; 2] || random.below(3) == 0;
            vertex.map(|c| c as f64 + if stays { 0.0 } else { 0.3 * random.signed() })
        })
    };
    let mut changed = [0; 3];
    for seed in 0..4 {
        let field = field(seed);
        for (mode, predictor) in FRONTS {
            for ties in TIES {
                for bound in [3e-1, 1e-1, 1e-2] {
                    let config = Config { mode, predictor, ties, ..field.config(BoundKind::Relative, bound) };
                    let (stream, report) = field.compressed(&config);
                    let c = field.compared(&Field::restored(&config, &stream, 1), &config, report.bound);
                    let what = format!("{mode:?}, {ties:?}, {bound}: {c:?}");
                    assert!(
                        c.violations() == 0 && c.critical_points - c.points_in_triangles() > 100,
                        "{what}"
                    );
                    changed[ties as usize] += c.changed_zero_points();
                    if mode == Mode::BlockWise || ties == Ties::All {
                        assert_eq!(c.changed_zero_points(), 0, "{what}");
                    }
                    if ties == Ties::Zeros {
                        assert_eq!((c.lost_zeros, c.spurious_zeros), (0, 0), "{what}");
                    }
                }
            }
        }
    }
    // The speculative mode with other settings.
    assert!(changed[Ties::Zeros as usize] > 0 && changed[Ties::Sos as usize] > 0, "{changed:?}");
}
