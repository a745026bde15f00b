//! Spacing that is negative where an axis runs backwards: types that are kept, counted and listed are those of
//! the plane, not those of its image in a mirror.

use crate::support::checker::{counts, Checker};
use crate::support::fields::*;
use factz::{critical_points, inspect, BoundKind, Comparison, Config, CriticalPoint, Kind, Real, Request};

/// Columns, rows and both against their axes.
const ORDERS: [[f64; 2]; 3] = [[-1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]];

/// The components times these signs: a field along its axes that has the triangles of one against them.
fn turned<T: Real>(field: &Field<T>, signs: [f64; 2]) -> Field<T> {
    let [u, v] = [0, 1].map(|k| {
        let turn = |&x: &T| if signs[k] < 0.0 { -x } else { x };
        field.components[k].iter().map(turn).collect()
    });
    Field { components: [u, v], ..*field }
}

fn spaced<T: Real>(field: &Field<T>, [dx, dy]: [f64; 2]) -> Config {
    Config { dx, dy, ..field.config(BoundKind::Absolute, 0.0) }
}

fn points<T: Real>(field: &Field<T>, spacing: [f64; 2]) -> Vec<CriticalPoint> {
    let request = Request::new(spaced(field, spacing)).expect("a valid configuration");
    let mut found = critical_points(&request, field.views(0), 1).expect("views that cover the grid");
    // NaN, of zeros at vertices and on edges, equals nothing.
    for point in found.iter_mut().filter(|point| point.eigenvalues_real[0].is_nan()) {
        (point.eigenvalues_real, point.eigenvalues_imaginary) = ([0.0; 2], [0.0; 2]);
    }
    found
}

fn all_counts(c: &Comparison) -> (Vec<u64>, [u64; Kind::COUNT]) {
    (counts(c).map(|(_, count)| count).to_vec(), c.points_by_type)
}

/// A field against its axes has the types of the turned field, and keeps them.
fn check_orders<T: Real>(name: &str, field: &Field<T>) {
    let mut checker = Checker::new(&format!("spacing-{name}-{}", T::BYTES));
    let before = checker.write(field);
    for signs in ORDERS {
        let along = [1.0, 0.75];
        let against = [along[0] * signs[0], along[1] * signs[1]];
        let plane = turned(field, signs);
        let mut found = points(field, against);
        for point in &mut found {
            (point.x, point.y) = (point.x * signs[0], point.y * signs[1]);
        }
        assert_eq!(found, points(&plane, along), "{name} {signs:?}");
        for (mode, predictor) in FRONTS {
            for bound in [1e-1, 1e-2] {
                let [dx, dy] = against;
                let config = Config { mode, predictor, dx, dy, ..field.config(BoundKind::Relative, bound) };
                let (stream, report) = field.compressed(&config);
                let info = inspect(&stream).expect("a header");
                assert_eq!([info.dx, info.dy], against);
                let after = Field::<T>::restored(&config, &stream, 1);
                let kept = field.compared(&after, &config, report.bound);
                assert_eq!(kept.violations(), 0, "{name} {config:?}: {kept:?}");
                let of_plane = plane.compared(&turned(&after, signs), &spaced(&plane, along), report.bound);
                assert_eq!(all_counts(&kept), all_counts(&of_plane), "{name} {config:?}");
                let checked = Config { bound: report.bound, ..spaced(field, against) };
                checker.add(&before, &after, &checked, &counts(&kept));
            }
        }
    }
    checker.check();
}

#[test]
fn fields_against_their_axes_keep_the_types_of_the_plane() {
    // Measured, and small integers: many types that no rounding can certify.
    for name in ["navy_winds_000", "integer64"] {
        let field = stored(name);
        check_orders(name, &field);
        check_orders::<f64>(name, &field.widened());
    }
}

/// The wind of data/ begins at the north pole. With the wrong sign of dy other types are kept than those of
/// the wind.
#[test]
fn wind_from_north_to_south_keeps_its_types() {
    let wind = stored("wind_global");
    let south = turned(&wind, [1.0, -1.0]);
    let north_first = |kind, bound| Config { dy: -1.0, ..wind.config(kind, bound) };
    let mut checker = Checker::new("north-first");
    let before = checker.write(&wind);
    for (mode, predictor) in FRONTS {
        for bound in [1e-2, 5e-2] {
            let changed = |dy: f64| {
                let config = Config { mode, predictor, dy, ..wind.config(BoundKind::Relative, bound) };
                let (stream, report) = wind.compressed_block(&config, 0, 1);
                let after = Field::restored(&config, &stream, 1);
                let truth = north_first(BoundKind::Absolute, report.bound);
                (after.clone(), truth, wind.compared(&after, &truth, report.bound))
            };
            let (after, truth, kept) = changed(-1.0);
            assert_eq!(kept.violations(), 0, "{mode:?} {predictor:?} {bound}: {kept:?}");
            assert_eq!(kept.critical_points, 1394);
            let of_plane =
                south.compared(&turned(&after, [1.0, -1.0]), &spaced(&south, [1.0; 2]), truth.bound);
            assert_eq!(all_counts(&kept), all_counts(&of_plane));
            checker.add(&before, &after, &truth, &counts(&kept));
            let (_, _, mirrored) = changed(1.0);
            assert!(mirrored.changed_types > 0, "{mode:?} {predictor:?} {bound}: {mirrored:?}");
            assert_eq!(mirrored.violations(), mirrored.changed_types);
        }
    }
    checker.check();
}

/// A cyclone of the northern hemisphere: counterclockwise, and towards its centre.
#[test]
fn a_cyclone_is_an_attracting_focus_in_every_order_of_rows_and_columns() {
    for signs in [[1.0, 1.0], ORDERS[0], ORDERS[1], ORDERS[2]] {
        let cyclone = Field::<f32>::new(20, 20, |column, row| {
            let (x, y) = ((column as f64 - 9.3) * signs[0], (row as f64 - 9.6) * signs[1]);
            [-y - 0.3 * x, x - 0.3 * y]
        });
        let found = points(&cyclone, signs);
        assert_eq!(found.len(), 1, "{signs:?}");
        assert_eq!(found[0].kind, Kind::AttractingFocus, "{signs:?}");
        let distance = (found[0].x - 9.3 * signs[0]).abs() + (found[0].y - 9.6 * signs[1]).abs();
        assert!(distance < 1e-5, "{signs:?}: {found:?}");
    }
}
