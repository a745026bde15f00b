//! Fixes: with one the reconstruction of any lossy method keeps what a compression with the same
//! configuration keeps, and no other reconstruction takes it.

use crate::guarantee::{over_bound, random_field, CONTENTS};
use crate::support::checker::{counts, Checker};
use crate::support::fields::*;
use crate::support::{bless_if_missing, fresh_folder, python, root, run};
use factz::stream::checksum::seal;
use factz::{
    apply, compare, inspect_fix, max_fix_bytes, protect, BoundKind, Comparison, Config, Error, Execution,
    FixReport, Layout, Outside, Preserve, Real, Request, Status, View, ViewMut,
};
use factz::{PERIODIC_X, PERIODIC_Y};

/// Lossy methods that know nothing of factz, within a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lossy {
    /// The middle of bins that are as wide as the bound allows.
    Quantised,
    /// The lowest bits of each value set to zero.
    Rounded,
    /// The mean of blocks of 4 x 4 vertices, as near to it as the bound allows.
    Means,
    /// The mean of the vertices around each, likewise. Missing vertices become zero.
    Blurred,
    /// Compression that preserves nothing.
    Unconstrained,
}

const LOSSY: [Lossy; 5] =
    [Lossy::Quantised, Lossy::Rounded, Lossy::Means, Lossy::Blurred, Lossy::Unconstrained];

/// The value nearest to `wanted` that is within the bound of `x`, or `x` itself.
fn within<T: Real>(x: T, wanted: f64, bound: f64) -> T {
    let near = T::from_f64(wanted.clamp(x.to_f64() - bound, x.to_f64() + bound));
    let safely = |y: T| (y.to_f64() - x.to_f64()).abs() < bound;
    [near, T::from_f64(0.5 * (near.to_f64() + x.to_f64()))].into_iter().find(|&y| safely(y)).unwrap_or(x)
}

fn rounded<T: Real>(x: T, bound: f64) -> T {
    let mut best = x;
    for bits in 0..8 * T::BYTES as u32 {
        let y = T::from_bits64(x.to_bits64() >> bits << bits);
        if !y.is_finite() || (y.to_f64() - x.to_f64()).abs() >= bound {
            break;
        }
        best = y;
    }
    best
}

impl Lossy {
    /// A reconstruction of a field; in the planes of a stack vertices of other planes count as well.
    fn reconstruct<T: Real>(self, field: &Field<T>, bound: f64) -> Field<T> {
        if self == Lossy::Unconstrained {
            let config = Config { preserve: Preserve::None, ..field.config(BoundKind::Absolute, bound) };
            return Field::restored(&config, &field.compressed_block(&config, 0, 1).0, 1);
        }
        let (nx, ny) = (field.nx as i64, field.ny as i64);
        let mean = |component: &[T], xs: std::ops::Range<i64>, ys: std::ops::Range<i64>| {
            let at = |x: i64, y: i64| component[(y * nx + x) as usize].to_f64();
            let columns = xs.start.max(0)..xs.end.min(nx);
            let all = (ys.start.max(0)..ys.end.min(ny)).flat_map(|y| columns.clone().map(move |x| (x, y)));
            let values: Vec<f64> = all.map(|(x, y)| at(x, y)).filter(|x| x.is_finite()).collect();
            values.iter().map(|x| x / values.len() as f64).sum::<f64>()
        };
        let components = field.components.each_ref().map(|component| {
            let value = |k: usize| {
                let (x, y, v) = (k as i64 % nx, k as i64 / nx, component[k]);
                if !v.is_finite() {
                    return if self == Lossy::Blurred { T::ZERO } else { v };
                }
                match self {
                    Lossy::Quantised => {
                        within(v, (v.to_f64() / (2.0 * bound)).round() * (2.0 * bound), bound)
                    }
                    Lossy::Rounded => rounded(v, bound),
                    Lossy::Means => {
                        let (bx, by) = (x / 4 * 4, y / 4 * 4);
                        within(v, mean(component, bx..bx + 4, by..by + 4), bound)
                    }
                    _ => within(v, mean(component, x - 1..x + 2, y - 1..y + 2), bound),
                }
            };
            (0..field.len()).map(value).collect()
        });
        Field { nx: field.nx, ny: field.ny, components }
    }
}

/// Views of all planes of a field that lie one below the other.
fn stacked<'a, T: Real>(field: &'a Field<T>, config: &Config) -> [View<'a, T>; 2] {
    field.components.each_ref().map(|c| View::stack(c, config.nx, config.ny))
}

/// The fix of a reconstruction, which is the same with any number of threads, and the report.
fn made<T: Real>(config: &Config, original: [View<'_, T>; 2], other: &Field<T>) -> (Vec<u8>, FixReport) {
    let request = Request::new(*config).expect("a valid configuration");
    let [one, three] = [1, 3].map(|threads| {
        let mut fix = vec![0; max_fix_bytes(&request) as usize];
        let execution = Execution { threads, progress: None };
        let report = protect(&request, original, stacked(other, config), &mut fix, execution)
            .unwrap_or_else(|e| panic!("{config:?}: {e}"));
        assert_eq!(report.status, Status::Ok);
        fix.truncate(report.fix_bytes as usize);
        (fix, report)
    });
    assert!(one == three, "{config:?}: three threads make another fix");
    one
}

fn try_applied<T: Real>(
    config: &Config,
    fix: &[u8],
    other: &Field<T>,
) -> (Result<FixReport, Error>, Field<T>) {
    let mut field = other.clone();
    let [u, v] = field.components.each_mut().map(|c| ViewMut::stack(c, config.nx, config.ny));
    let result = apply(config, fix, u, v, Execution { threads: 2, progress: None });
    (result, field)
}

pub fn applied<T: Real>(config: &Config, fix: &[u8], other: &Field<T>) -> Field<T> {
    let (result, field) = try_applied(config, fix, other);
    let report = result.unwrap_or_else(|e| panic!("{config:?}: {e}"));
    let info = inspect_fix(fix).expect("a fix");
    assert_eq!(report.repaired_vertices, info.repaired_vertices);
    assert_eq!(
        (info.nx, info.ny, info.nz, info.fix_bytes),
        (config.nx, config.ny, config.nz, fix.len() as u64)
    );
    let changed = other.vertices().zip(field.vertices());
    let changed = changed.filter(|(a, b)| (0..2).any(|k| a[k].to_bits64() != b[k].to_bits64())).count();
    assert!(changed as u64 <= report.repaired_vertices);
    field
}

fn compared<T: Real>(config: &Config, before: &Field<T>, after: &Field<T>) -> Comparison {
    let request = Request::new(Config { halo: 0, pin: 0, ..*config }).expect("a valid configuration");
    compare(&request, stacked(before, config), stacked(after, config), true, 1).expect("fields of this shape")
}

/// Protects, applies and compares. `original` holds the ghosts too.
fn check<T: Real>(
    config: &Config,
    original: [View<'_, T>; 2],
    field: &Field<T>,
    other: &Field<T>,
    what: &str,
) -> (Field<T>, FixReport) {
    let (fix, report) = made(config, original, other);
    let after = applied(config, &fix, other);
    let c = compared(config, field, &after);
    assert_eq!(violations(config.preserve, &c), 0, "{what} {config:?}: {c:?}");
    check_exact_vertices(config, field, &after, what);
    assert_eq!(over_bound(field, &after, report.bound), 0, "{what} {config:?}");
    assert!(report.max_error <= report.bound && report.exact_vertices <= report.repaired_vertices);
    assert!(report.rounds <= most_rounds(field), "{what} {config:?}: {} rounds", report.rounds);
    (after, report)
}

/// Two kinds of at most 64 rounds each, and a round for each doubling of a tile.
fn most_rounds<T: Real>(field: &Field<T>) -> u64 {
    let tiles = field.nx.div_ceil(32) * field.ny.div_ceil(32);
    129 + tiles.next_power_of_two().ilog2() as u64
}

fn joint_range<T: Real>(field: &Field<T>) -> f64 {
    let finite = || field.components.iter().flatten().map(|x| x.to_f64()).filter(|x| x.is_finite());
    finite().fold(f64::MIN, f64::max) - finite().fold(f64::MAX, f64::min)
}

// ---------------------------------------------------------------- the fields of data/

fn check_stored<T: Real>(name: &str, field: &Field<T>, lossy: &[Lossy], bounds: &[f64]) {
    let mut checker = Checker::new(&format!("protect-{name}-{}", T::BYTES));
    let before = checker.write(field);
    let itself = field.compared(field, &field.config(BoundKind::Absolute, 0.0), 0.0);
    let settings = if itself.ties > 0 { &TIES[..] } else { &TIES[..1] };
    let mut broken = 0;
    for (&lossy, &relative) in lossy.iter().flat_map(|l| bounds.iter().map(move |b| (l, b))) {
        let bound = relative * joint_range(field);
        let other = lossy.reconstruct(field, bound);
        for (&ties, preserve) in settings.iter().flat_map(|t| PRESERVED.map(|p| (t, p))) {
            let config = Config { ties, preserve, ..field.config(BoundKind::Absolute, bound) };
            broken += compared(&config, field, &other).violations();
            let what = format!("{name} {lossy:?}");
            let (after, report) = check(&config, field.views(0), field, &other, &what);
            let c = compared(&config, field, &after);
            if preserve == Preserve::Types {
                assert_eq!(report.violated_triangles > 0, report.rounds > 0);
                checker.add(&before, &after, &config, &counts(&c));
            }
        }
    }
    checker.check();
    assert!(broken > 0 || field.len() < 50, "{name}: the methods broke nothing");
}

macro_rules! stored_fields {
    ($($name:ident: $bounds:expr),* $(,)?) => {
        mod field {
            $(#[test] fn $name() {
                let field = super::stored(stringify!($name));
                super::check_stored(stringify!($name), &field, &super::LOSSY, &$bounds);
                let (wide, name) = (field.widened(), stringify!($name));
                super::check_stored::<f64>(name, &wide, &super::LOSSY[..4], &$bounds[..1]);
            })*
        }
    };
}

stored_fields! {
    navy_winds_000: [1e-1, 1e-3], ocean_coast: [3e-2, 1e-3], piv_cavity: [1e-1, 1e-2],
    piv_wake_vortex: [1e-1, 1e-3], upper_wind_01: [3e-2, 1e-3], water_gbr: [1e-1, 1e-2],
    nan_inf256: [1e-2], integer64: [1e-1, 1e-2], nearcollinear64: [1e-1, 1e-3],
    coads_winds_01_nan: [1e-1, 1e-2], tiny1x1: [1e-1], tiny17x1: [1e-1], tiny1x17: [1e-1], tiny2x2_cp: [1e-1],
    tiny33x31: [1e-1, 1e-2],
}

/// A field of long chains, where repairs break their neighbours again and again: the work is bounded.
#[test]
fn the_rounds_of_the_worst_fields_are_bounded() {
    for (name, bound) in [("gradient1e30", 1e-1), ("gradient1e30", 1e-3), ("integer64", 1e-2)] {
        let field = stored(name);
        let absolute = bound * joint_range(&field);
        for lossy in [Lossy::Unconstrained, Lossy::Quantised] {
            let other = lossy.reconstruct(&field, absolute);
            let config = field.config(BoundKind::Absolute, absolute);
            let (_, report) = check(&config, field.views(0), &field, &other, name);
            assert!(
                report.rounds > 0 && report.rounds <= most_rounds(&field),
                "{name} {lossy:?}: {report:?}"
            );
            println!("{name} {bound} {lossy:?}: {report:?}");
        }
    }
}

// ---------------------------------------------------------------- random fields

/// Fields, bounds, promises, sides, periodic axes, planes and layouts at random.
fn check_random<T: Real>(cases: u64, seed: u64) {
    let mut r = Random(seed);
    let mut checker = Checker::new(&format!("protect-random-{}", T::BYTES));
    for case in 0..cases {
        let content = CONTENTS[case as usize % CONTENTS.len()];
        let (nx, rows, nz) = (1 + r.below(50), 1 + r.below(40), 1 + r.below(3) * (case % 4 == 0) as u64);
        let framed = random_field::<T>(content, nx + 2, rows * nz + 2, r.next());
        let periodic = if case % 3 == 0 && nx > 2 && rows > 2 {
            r.one_of(&[PERIODIC_X, PERIODIC_Y, PERIODIC_X | PERIODIC_Y])
        } else {
            0
        };
        let sides = |r: &mut Random| if periodic == 0 && nz == 1 { r.below(16) as u32 } else { 0 };
        let layout = Layout { pitch: nx + 2, stride: 1, plane: 0 };
        let spacing = [1.0, -1.0, 0.3, -7.0];
        let config = Config {
            dtype: dtype::<T>(),
            nz,
            plane_rows: if nz > 1 { rows } else { 0 },
            u: layout,
            v: layout,
            preserve: r.one_of(&PRESERVED),
            ties: r.one_of(&TIES),
            halo: sides(&mut r),
            pin: sides(&mut r),
            periodic,
            dx: r.one_of(&spacing),
            dy: r.one_of(&spacing),
            fill_value: (r.below(3) == 0).then(|| r.one_of(&[0.0, 1.0, -2.0, f64::NAN])),
            ..Config::new(nx, rows, BoundKind::Absolute, 0.0)
        };
        let field = framed.block(1, 1, nx, rows * nz);
        let scale = 10f64.powf(-4.0 * r.below(1000) as f64 / 1000.0);
        let bound = (scale * joint_range(&field)).clamp(0.0, T::MAX.to_f64());
        let bound = if r.below(12) == 0 || !bound.is_finite() { 0.0 } else { bound };
        let config = Config { bound, ..config };
        let lossy = r.one_of(&LOSSY[..4]);
        let other = lossy.reconstruct(&field, bound);
        let plane = (nx + 2) * rows;
        let views = framed
            .components
            .each_ref()
            .map(|c| View::strided(c, framed.at(1, 1), Layout { plane, ..layout }));
        let dense = Config { u: Layout { pitch: 0, ..layout }, v: Layout { pitch: 0, ..layout }, ..config };
        let what = format!("case {case}: {content:?} {lossy:?}");
        let (fix, _) = made(&config, views, &other);
        let after = applied(&config, &fix, &other);
        let c = compared(&Config { plane_rows: 0, halo: 0, pin: 0, ..dense }, &field, &after);
        assert_eq!(violations(config.preserve, &c), 0, "{what} {config:?}: {c:?}");
        if config.fill_value.is_none() {
            assert_eq!(over_bound(&field, &after, bound), 0, "{what} {config:?}");
        }
        check_exact_vertices(&config, &field, &after, &what);
        if periodic == 0 && nz == 1 && config.preserve == Preserve::Types {
            let before = checker.write(&field);
            checker.add(&before, &after, &dense, &counts(&c));
        }
    }
    checker.check();
}

/// Vertices on pinned sides keep their bits, and so do all at a bound of 0; zero vertices stay zero.
fn check_exact_vertices<T: Real>(config: &Config, field: &Field<T>, after: &Field<T>, what: &str) {
    for (k, (a, b)) in field.vertices().zip(after.vertices()).enumerate() {
        let (x, y) = (k as u64 % field.nx, k as u64 / field.nx % config.ny);
        let named = sides([x == 0, x + 1 == field.nx, y == 0, y + 1 == config.ny]);
        let same = (0..2).all(|i| a[i].to_bits64() == b[i].to_bits64());
        assert!(same || (config.pin & named == 0 && config.bound > 0.0), "{what}: pinned ({x}, {y})");
        assert!(same || a != [T::ZERO; 2] || b == [T::ZERO; 2], "{what}: zero ({x}, {y})");
    }
}

#[test]
fn random_fields_are_kept() {
    let cases = times("PROPTEST_CASES", 240) as u64;
    check_random::<f32>(cases, 1);
    check_random::<f64>(cases, 2);
}

/// Blocks of a field, each protected apart with a halo or pinned sides, are joined.
#[test]
fn seams_between_protected_blocks_are_kept() {
    for (number, content) in CONTENTS.into_iter().enumerate() {
        let field = random_field::<f32>(content, 41, 38, 77 + number as u64);
        let bound = (0.05 * joint_range(&field)).min(f32::MAX as f64);
        for pinned in [false, true] {
            let mut joined = Field::new(41, 38, |_, _| [0.0; 2]);
            for (k, (y0, y1)) in [(0, 20), (20, 38)].into_iter().enumerate() {
                for (l, (x0, x1)) in [(0, 17), (17, 41)].into_iter().enumerate() {
                    let named = sides([x0 > 0, x1 < 41, y0 > 0, y1 < 38]);
                    let (halo, pin) = if pinned { (0, named) } else { (named, 0) };
                    let layout = Layout { pitch: 41, stride: 1, plane: 0 };
                    let sizes = Config::new(x1 - x0, y1 - y0, BoundKind::Absolute, bound);
                    let config = Config { halo, pin, u: layout, v: layout, ..sizes };
                    let block = field.block(x0, y0, x1 - x0, y1 - y0);
                    let other = LOSSY[(2 * k + l) % 4].reconstruct(&block, bound);
                    let (fix, _) = made(&config, field.views(field.at(x0, y0)), &other);
                    let after = applied(&config, &fix, &other);
                    for (i, vertex) in after.vertices().enumerate() {
                        let at = joined.at(x0 + i as u64 % block.nx, y0 + i as u64 / block.nx);
                        joined.components.iter_mut().zip(vertex).for_each(|(c, x)| c[at] = x);
                    }
                }
            }
            let c = field.compared(&joined, &field.config(BoundKind::Absolute, bound), bound);
            assert_eq!(c.violations(), 0, "{content:?} pinned {pinned}: {c:?}");
        }
    }
}

/// A bound of zero leaves nothing to do but for the signs of zeros, and a relative bound is that of the
/// original.
#[test]
fn bounds_are_those_of_the_original() {
    let field = stored("piv_cavity");
    let config = field.config(BoundKind::Absolute, 0.0);
    let (fix, report) = made(&config, field.views(0), &field);
    assert_eq!((fix.len(), report.repaired_vertices, report.violated_triangles), (128, 0, 0));
    let bound = 1e-2 * joint_range(&field);
    let other = Lossy::Quantised.reconstruct(&field, 0.9 * bound);
    let config = field.config(BoundKind::Relative, 1e-2);
    let (fix, report) = made(&config, field.views(0), &other);
    assert!((report.bound - bound).abs() <= 1e-6 * bound && report.repaired_vertices > 0);
    let info = inspect_fix(&fix).unwrap();
    assert_eq!((info.bound_kind, info.bound, info.absolute_bound), (BoundKind::Relative, 1e-2, report.bound));
}

/// Land that another method moved becomes zero again, for few bits.
#[test]
fn wide_areas_become_zero_again() {
    let mut r = Random(12);
    let field = Field::<f32>::new(300, 200, |x, _| match x {
        ..250 => [0.0, -0.0],
        _ => [r.signed(), r.signed()],
    });
    let moved = |c: &Vec<f32>| c.iter().map(|x| if *x == 0.0 { 0.01 } else { *x }).collect();
    let other = Field { components: field.components.each_ref().map(moved), ..field };
    let config = field.config(BoundKind::Absolute, 0.02);
    let (fix, report) = made(&config, field.views(0), &other);
    assert_eq!((report.repaired_vertices, report.exact_vertices), (50_000, 0));
    assert!(fix.len() < 1000, "{} bytes", fix.len());
    let after = applied(&config, &fix, &other);
    assert_eq!(violations(Preserve::Types, &compared(&config, &field, &after)), 0);
}

// ---------------------------------------------------------------- refusals

pub fn example() -> (Config, Field<f32>, Field<f32>, Vec<u8>) {
    let field = stored("piv_cavity");
    let bound = 0.05 * joint_range(&field);
    let other = Lossy::Means.reconstruct(&field, bound);
    let config = field.config(BoundKind::Absolute, bound);
    let fix = made(&config, field.views(0), &other).0;
    (config, field, other, fix)
}

#[test]
fn a_reconstruction_that_leaves_the_bound_is_refused_with_its_place() {
    let (config, field, mut other, _) = example();
    let k = other.at(5, 3);
    other.components[1][k] = field.components[1][k] + 2.0 * config.bound as f32;
    let request = Request::new(config).unwrap();
    let mut fix = vec![0; max_fix_bytes(&request) as usize];
    let mut refused = |other: &Field<f32>| {
        protect(&request, field.views(0), other.views(0), &mut fix, Execution::default()).unwrap_err()
    };
    let error = refused(&other);
    assert_eq!(error.status, Status::InvalidArgument);
    for part in ["leaves the bound", "(5, 3)", "v = ", "other_v = "] {
        assert!(error.message.contains(part) && !error.message.contains("behind"), "{error}");
    }
    assert_eq!(error.outside, Some(Outside { vertices: 1, first: k as u64 }));
    other.components[0][k + 1] = f32::NAN;
    let error = refused(&other);
    assert_eq!(error.outside, Some(Outside { vertices: 2, first: k as u64 }));
    assert!(
        error.message.contains("(5, 3)") && error.message.contains("as does 1 vertex behind it"),
        "{error}"
    );
    let too_short = &mut [0; 100][..];
    let other = Lossy::Means.reconstruct(&field, config.bound);
    let report = protect(&request, field.views(0), other.views(0), too_short, Execution::default()).unwrap();
    assert_eq!((report.status, report.fix_bytes), (Status::BufferTooSmall, 0));
    assert!(report.required_bytes > 128);
}

#[test]
fn a_fix_of_another_reconstruction_is_refused() {
    let (config, field, other, fix) = example();
    let mut near = other.clone();
    near.components[0][17] = f32::from_bits(near.components[0][17].to_bits() ^ 1);
    let mut exchanged = other.clone();
    exchanged.components.swap(0, 1);
    for wrong in [&near, &exchanged, &field] {
        let (result, after) = try_applied(&config, &fix, wrong);
        let error = result.unwrap_err();
        assert!(error.message.contains("another reconstruction"), "{error}");
        assert!(error.status == Status::InvalidArgument && after.bits() == wrong.bits());
    }
    let shape = Config { nx: config.nx + 1, ..config };
    let wide = Field::new(shape.nx, shape.ny, |_, _| [1.0f32 as f64; 2]);
    let error = try_applied::<f32>(&shape, &fix, &wide).0.unwrap_err();
    assert!(error.message.contains(&format!("nx = {}", shape.nx)), "{error}");
    let error = try_applied::<f64>(&Config { dtype: dtype::<f64>(), ..config }, &fix, &field.widened()).0;
    assert!(error.unwrap_err().message.contains("dtype = F64"));
    // A fix is no stream, and a stream no fix.
    assert_eq!(factz::inspect(&fix).unwrap_err().status, Status::CorruptStream);
    let (stream, _) = field.compressed_block(&config, 0, 1);
    assert_eq!(inspect_fix(&stream).unwrap_err().status, Status::CorruptStream);
}

/// Damage is found, whether the checksum is right or not, and nothing is written.
#[test]
fn damaged_fixes_are_refused() {
    let (config, _, other, fix) = example();
    let attempt = |bytes: &[u8], what: &str| {
        let (result, after) = try_applied(&config, bytes, &other);
        if let Err(error) = result {
            let known = [Status::CorruptStream, Status::UnsupportedVersion, Status::InvalidArgument];
            assert!(known.contains(&error.status) && !error.message.is_empty(), "{what}: {error}");
            assert!(after.bits() == other.bits(), "{what}: values were written");
            return false;
        }
        true
    };
    assert!(attempt(&fix, "intact") && attempt(&[&fix[..], &[1, 2, 3]].concat(), "longer"));
    for length in (0..fix.len()).step_by(3) {
        assert!(!attempt(&fix[..length], "cut off"));
    }
    let mut r = Random(9);
    let mut taken = 0;
    for k in 0..fix.len() {
        for change in [1, 0x80, 1 + r.below(255) as u8] {
            let mut bad = fix.clone();
            bad[k] ^= change;
            // A damaged checksum alone is refused too.
            assert!(!attempt(&bad, "without its checksum") || bad == fix);
            seal(&mut bad);
            taken += attempt(&bad, &format!("byte {k} changed by {change:#x}")) as u64;
        }
    }
    // Changed digits of refinements are other values, which a decoder cannot tell from right ones.
    assert!(taken > 0);
    // Directories and headers that claim much.
    for at in [24, 32, 40, 48, 104, 112, 120, 128, 136] {
        for value in [u64::MAX, 1 << 47, 1 << 32, 0] {
            let mut bad = fix.clone();
            bad[at..at + 8].copy_from_slice(&value.to_le_bytes());
            seal(&mut bad);
            attempt(&bad, &format!("{value:#x} at {at}"));
        }
    }
}

// ---------------------------------------------------------------- the format

/// Noise, beside it small integers with ties, zeros and missing vertices: numbers that are the same
/// everywhere.
fn golden_example() -> (Config, Field<f32>, Field<f32>) {
    let mut r = Random(40);
    let field = Field::<f32>::new(60, 40, |x, y| match (x, y) {
        (10..22, 30..) => [0.0, 0.0],
        (40, ..3) => [f64::NAN, 1.0],
        (46.., _) => [r.below(7) as f64 - 3.0, r.below(7) as f64 - 3.0],
        _ => [r.signed(), r.signed()],
    });
    let other = Lossy::Blurred.reconstruct(&field, 0.3);
    (field.config(BoundKind::Absolute, 0.3), field, other)
}

/// The bytes of a fix and of what it makes do not change.
#[test]
fn golden_fix() {
    let (config, field, other) = golden_example();
    let (fix, report) = made(&config, field.views(0), &other);
    let path = root().join("tests/golden/fix_f32.fctr");
    bless_if_missing(&path, || std::fs::write(&path, &fix).unwrap());
    let golden = std::fs::read(&path).unwrap();
    assert!(golden == fix, "the fix has other bytes than the golden one");
    assert!(report.exact_vertices > 0 && report.repaired_vertices > report.exact_vertices + 100);
}

/// The decoder that was written from FORMAT.md alone makes the same values.
#[test]
fn the_independent_decoder_makes_the_same_values() {
    let folder = fresh_folder("protect-decoder");
    let mut command = python();
    command.arg("-B").arg(root().join("tests/fix_decoder.py"));
    let mut expected = Vec::new();
    let mut add = |number: usize, fix: Vec<u8>, other: Vec<u8>, after: Vec<u8>| {
        let [a, b, c] = ["fix", "before", "after"].map(|kind| folder.join(format!("{number}.{kind}")));
        std::fs::write(&a, fix).unwrap();
        std::fs::write(&b, other).unwrap();
        command.args([&a, &b, &c]);
        expected.push((c, after));
    };
    let (config, field, other) = golden_example();
    let (fix, _) = made(&config, field.views(0), &other);
    add(0, fix.clone(), other.bytes().concat(), applied(&config, &fix, &other).bytes().concat());
    for (number, lossy) in LOSSY[..4].iter().enumerate() {
        let field = stored("integer64").widened();
        let bound = 0.02 * joint_range(&field);
        let other = lossy.reconstruct(&field, bound);
        let config = field.config(BoundKind::Absolute, bound);
        let (fix, _) = made(&config, field.views(0), &other);
        let after = applied(&config, &fix, &other);
        add(number + 1, fix, other.bytes().concat(), after.bytes().concat());
    }
    // Nearly every vertex changes in each of its bits: the values are stored.
    let noise = random_field::<f32>(CONTENTS[0], 30, 30, 3);
    let config = Config { pin: 15, ..Config::new(30, 2, BoundKind::Absolute, 1.9) };
    let rows = noise.block(0, 0, 30, 2);
    let other = Field::<f32>::new(30, 2, |_, _| [0.0; 2]);
    let other = Field {
        components: [0, 1].map(|i| {
            rows.components[i]
                .iter()
                .zip(&other.components[i])
                .map(|(&x, &y)| within(x, y as f64, 1.9))
                .collect()
        }),
        ..other
    };
    let (fix, report) = made(&config, rows.views(0), &other);
    assert_eq!((fix[19], report.fix_bytes), (1, 128 + 2 * 60 * 4));
    add(9, fix.clone(), other.bytes().concat(), applied(&config, &fix, &other).bytes().concat());
    run(&mut command);
    for (path, values) in expected {
        assert!(std::fs::read(&path).unwrap() == values, "{}", path.display());
    }
}
