//! Periodic axes: the triangles between the last and the first vertices are part of the field.

use crate::support::checker::{counts, Checker};
use crate::support::fields::*;
use factz::{
    compare, critical_points, inspect, BoundKind, Config, CriticalPoint, Real, Request, PERIODIC_X,
    PERIODIC_Y,
};

const BOTH: u32 = PERIODIC_X | PERIODIC_Y;

/// The field with its first column and row behind the last ones, where the axis is periodic.
fn closed<T: Real>(field: &Field<T>, periodic: u32) -> Field<T> {
    let [nx, ny] = sizes(field, periodic);
    rolled_to(field, [nx, ny], [0, 0])
}

fn sizes<T>(field: &Field<T>, periodic: u32) -> [u64; 2] {
    [field.nx + (periodic & 1) as u64, field.ny + (periodic >> 1 & 1) as u64]
}

/// So many columns and rows from a vertex on, around the torus.
fn rolled_to<T: Real>(field: &Field<T>, [nx, ny]: [u64; 2], [x0, y0]: [u64; 2]) -> Field<T> {
    let components = field.components.each_ref().map(|c| {
        let at = |k: u64| field.at((x0 + k % nx) % field.nx, (y0 + k / nx) % field.ny);
        (0..nx * ny).map(|k| c[at(k)]).collect()
    });
    Field { nx, ny, components }
}

fn points<T: Real>(field: &Field<T>, periodic: u32) -> Vec<CriticalPoint> {
    let request = Request::new(Config { periodic, ..field.config(BoundKind::Absolute, 0.0) }).expect("valid");
    critical_points(&request, field.views(0), 2).expect("views that cover the grid")
}

/// Whole numbers of small size: zeros at vertices and on edges, also in the seams.
fn integers<T: Real>(nx: u64, ny: u64, seed: u64) -> Field<T> {
    let mut random = Random(seed);
    Field::new(nx, ny, |_, _| [0, 1].map(|_| random.below(7) as f64 - 3.0))
}

/// Waves around the torus.
fn waves<T: Real>(nx: u64, ny: u64) -> Field<T> {
    let turn = std::f64::consts::TAU;
    Field::new(nx, ny, |x, y| {
        let (a, b) = (turn * (x as f64 + 0.3) / nx as f64, turn * (y as f64 + 0.1) / ny as f64);
        [(3.0 * a).sin() + (2.0 * b).cos(), (2.0 * a).cos() * (3.0 * b).sin() + 0.2 * a.cos()]
    })
}

/// A closed copy of the field keeps everything, by the library's comparison and by the independent checker; the
/// comparison of the periodic field comes to the same.
fn check<T: Real>(name: &str, field: &Field<T>, periodic: u32, bounds: &[f64]) {
    let mut checker = Checker::new(&format!("periodic-{name}-{}", T::BYTES));
    let whole = closed(field, periodic);
    let before = checker.write(&whole);
    for (mode, predictor) in FRONTS {
        for &bound in bounds {
            let config = Config { mode, predictor, periodic, ..field.config(BoundKind::Relative, bound) };
            let (stream, report) = field.compressed(&config);
            assert_eq!(inspect(&stream).expect("a header").periodic, periodic);
            let after = Field::<T>::restored(&config, &stream, 1);
            let absolute = Config { bound_kind: BoundKind::Absolute, bound: report.bound, ..config };
            let request = Request::new(absolute).expect("a valid configuration");
            let found = compare(&request, field.views(0), after.views(0), true, 2).expect("views");
            assert_eq!(found.violations(), 0, "{name} {config:?}: {found:?}");
            assert_eq!(report.points_in_triangles, found.points_in_triangles(), "{name} {config:?}");
            let after = closed(&after, periodic);
            let open = Config { periodic: 0, ..absolute };
            let expected = whole.compared(&after, &open, report.bound);
            assert_eq!(found.points_in_triangles(), expected.points_in_triangles());
            checker.add(&before, &after, &open, &counts(&expected));
            assert_eq!(expected.violations(), 0);
        }
    }
    checker.check();
}

#[test]
fn points_in_the_seam_are_kept() {
    check("wind", &stored("wind_global"), PERIODIC_X, &[1e-1, 1e-2]);
    for periodic in [PERIODIC_X, PERIODIC_Y, BOTH] {
        check("waves", &waves::<f32>(65, 97), periodic, &[1e-1, 1e-3]);
        check("waves", &waves::<f64>(40, 3), periodic, &[1e-1]);
        check("integers", &integers::<f32>(33, 40, 5), periodic, &[0.3, 0.05]);
        check("integers", &integers::<f64>(3, 35, 6), periodic, &[0.2]);
    }
}

/// The four points in the seam of the global wind field.
#[test]
fn points_in_the_seam_are_listed() {
    let field = stored("wind_global");
    let [open, all] = [0, PERIODIC_X].map(|periodic| points(&field, periodic));
    let seam: Vec<_> = all.iter().filter(|p| p.cell_x == field.nx - 1).collect();
    assert_eq!((all.len() - open.len(), seam.len()), (4, 4));
    assert!(seam.iter().all(|p| p.x > 359.0 && p.x < 360.0));
}

/// A rolled field has the rolled points, with their indices.
#[test]
fn a_rolled_field_has_the_rolled_points() {
    fn check<T: Real>(field: &Field<T>, [x0, y0]: [u64; 2], periodic: u32) {
        let rolled = rolled_to(field, [field.nx, field.ny], [x0, y0]);
        let place = |p: &CriticalPoint, x0: u64, y0: u64| {
            let at = [(p.cell_y + field.ny - y0) % field.ny, (p.cell_x + field.nx - x0) % field.nx];
            (at, p.simplex, p.kind, p.index)
        };
        let mut expected: Vec<_> = points(field, periodic).iter().map(|p| place(p, x0, y0)).collect();
        expected.sort_by_key(|p| (p.0, p.1));
        let found: Vec<_> = points(&rolled, periodic).iter().map(|p| place(p, 0, 0)).collect();
        assert!(!found.is_empty());
        assert_eq!(found, expected);
    }
    check(&stored("wind_global"), [77, 0], PERIODIC_X);
    for at in [[1, 0], [0, 1], [31, 40], [64, 96]] {
        check(&waves::<f64>(65, 97), at, BOTH);
        check(&integers::<f32>(65, 97, 9), at, BOTH);
    }
}

#[test]
fn periodic_axes_have_no_sides() {
    let config = waves::<f32>(65, 97).config(BoundKind::Absolute, 0.1);
    for (config, text) in [
        (Config { periodic: 4, ..config }, "periodic = 0x4"),
        (Config { periodic: PERIODIC_X, pin: 2, ..config }, "pin = 0x2 names a side of x, which is periodic"),
        (Config { periodic: PERIODIC_Y, pin: 4, ..config }, "pin = 0x4 names a side of y"),
        (Config { periodic: PERIODIC_X, nx: 2, ..config }, "nx = 2 is less than 3"),
    ] {
        let error = Request::new(config).unwrap_err();
        assert!(error.message.contains(text), "{error}");
    }
    assert!(Request::new(Config { periodic: PERIODIC_X, pin: 12, ..config }).is_ok());
}
