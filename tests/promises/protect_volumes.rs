//! Fixes of volumes: with one the reconstruction of any lossy method keeps what a compression with the same
//! configuration keeps, by the independent checker of volumes, and no other reconstruction takes it.

use crate::support::fields::Random;
use crate::support::{bless_if_missing, fresh_folder, python, root, run};
use crate::volume_blocks::{blocks, unrolled};
use crate::volumes::{assert_kept, counts, with_solids, Volume};
use factz::stream::checksum::seal;
use factz::{
    apply, apply_volume, inspect_fix, max_volume_fix_bytes, protect_volume, BoundKind, Config, Error,
    Execution, FixReport, Outside, Preserve, Real, Status, Ties, View, ViewMut, VolumeRequest, PERIODIC_X,
    PERIODIC_Y, PERIODIC_Z, SIDES_ALL_OF_VOLUME,
};

/// Lossy methods that know nothing of factz, within a bound.
#[derive(Clone, Copy, Debug)]
pub enum Lossy {
    /// The middle of bins that are as wide as the bound allows.
    Quantised,
    /// The first value of cubes of 2 x 2 x 2 vertices, as near to it as the bound allows.
    Cubes,
    /// An error at random.
    Noisy,
}

pub const LOSSY: [Lossy; 3] = [Lossy::Quantised, Lossy::Cubes, Lossy::Noisy];

impl Lossy {
    pub fn reconstruct<T: Real>(self, volume: &Volume<T>, bound: f64) -> Volume<T> {
        let (mut random, [nx, ny, _]) = (Random(51), volume.sizes);
        let components = volume.components.each_ref().map(|component| {
            let mut value = |k: usize| {
                let x = component[k].to_f64();
                let wanted = match self {
                    Lossy::Quantised => (x / (2.0 * bound)).round() * (2.0 * bound),
                    Lossy::Cubes => {
                        let [i, j, l] =
                            [k as u64 % nx, k as u64 / nx % ny, k as u64 / nx / ny].map(|k| k & !1);
                        component[((l * ny + j) * nx + i) as usize].to_f64()
                    }
                    Lossy::Noisy => x + bound * random.signed(),
                };
                let near =
                    T::from_f64(if wanted.is_finite() { wanted.clamp(x - bound, x + bound) } else { x });
                if (near.to_f64() - x).abs() < bound {
                    near
                } else {
                    component[k]
                }
            };
            (0..component.len()).map(&mut value).collect()
        });
        Volume { sizes: volume.sizes, components }
    }
}

fn absolute<T: Real>(volume: &Volume<T>, bound: f64) -> Config {
    Config { bound_kind: BoundKind::Absolute, bound, ..volume.config(0.0) }
}

/// The fix of a reconstruction, which is the same with any number of threads, and the report.
fn made<T: Real>(config: &Config, original: [View<'_, T>; 3], other: &Volume<T>) -> (Vec<u8>, FixReport) {
    let request = VolumeRequest::new(*config).expect("a valid configuration");
    let [one, three] = [1, 3].map(|threads| {
        let mut fix = vec![0; max_volume_fix_bytes(&request) as usize];
        let execution = Execution { threads, progress: None };
        let report = protect_volume(&request, original, other.views(), &mut fix, execution)
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
    other: &Volume<T>,
) -> (Result<FixReport, Error>, Volume<T>) {
    let mut found = other.clone();
    let views = found.components.each_mut().map(|c| ViewMut::stack(c, config.nx, config.ny));
    let result = apply_volume(config, fix, views, Execution { threads: 2, progress: None });
    (result, found)
}

pub fn applied<T: Real>(config: &Config, fix: &[u8], other: &Volume<T>) -> Volume<T> {
    let (result, found) = try_applied(config, fix, other);
    let report = result.unwrap_or_else(|e| panic!("{config:?}: {e}"));
    let info = inspect_fix(fix).expect("a fix");
    assert_eq!(report.repaired_vertices, info.repaired_vertices);
    assert_eq!((info.components, info.fix_bytes), (3, fix.len() as u64));
    assert_eq!([info.nx, info.ny, info.nz], [config.nx, config.ny, config.nz]);
    found
}

fn bits<T: Real>(volume: &Volume<T>) -> Vec<u64> {
    volume.components.iter().flatten().map(|x| x.to_bits64()).collect()
}

/// Protects, applies and checks a reconstruction. Returns the tetrahedra that it had changed.
fn check<T: Real>(name: &str, volume: &Volume<T>, lossy: Lossy, config: Config) -> u64 {
    let other = lossy.reconstruct(volume, config.bound);
    let (fix, report) = made(&config, volume.views(), &other);
    let after = applied(&config, &fix, &other);
    let [whole, found] = [volume, &after].map(|v| unrolled(v, config.periodic));
    assert_kept(&format!("fix-{name}-{}", T::BYTES), [&whole, &found], &config, config.bound);
    assert!(report.max_error <= report.bound && report.exact_vertices <= report.repaired_vertices);
    let tiles: u64 = volume.sizes.iter().map(|n| n.div_ceil(16)).product();
    assert!(report.rounds <= 129 + tiles.next_power_of_two().ilog2() as u64, "{name}: {report:?}");
    report.violated_triangles
}

fn all_kinds<T: Real>(seed: u64) {
    let mut random = Random(seed);
    let noise = Volume::<T>::waves([15, 13, 14], 3.0, seed);
    let integers = Volume::<T>::of([7, 8, 6], |_| [0; 3].map(|_| random.below(5) as f64 - 2.0));
    let solids = with_solids::<T>([18, 17, 16], seed);
    let volumes = [(&noise, "noise", 0.4), (&integers, "integers", 1.1), (&solids, "solids", 0.3)];
    for (k, (volume, name, bound)) in volumes.into_iter().enumerate() {
        let base = absolute(volume, bound);
        let mut violated = 0;
        for (l, ties) in [Ties::All, Ties::Zeros].into_iter().enumerate() {
            for (m, preserve) in [Preserve::Types, Preserve::Points].into_iter().enumerate() {
                let lossy = LOSSY[(k + 2 * l + m) % 3];
                violated += check(name, volume, lossy, Config { ties, preserve, ..base });
            }
        }
        assert!(violated > 100, "{name}: nothing to repair");
        let periodic = PERIODIC_X | PERIODIC_Y | PERIODIC_Z;
        check(name, volume, LOSSY[k], Config { periodic, dx: -1.0, dz: 0.5, ..base });
        let zeros = Config { periodic: PERIODIC_Z, ties: Ties::Zeros, ..base };
        check(name, volume, LOSSY[(k + 1) % 3], zeros);
        check(name, volume, LOSSY[(k + 2) % 3], Config { bound: 1e-3, ..base });
        check(name, volume, Lossy::Noisy, Config { preserve: Preserve::None, ..base });
    }
}

#[test]
fn volumes_of_float_are_kept() {
    all_kinds::<f32>(41);
}

#[test]
fn volumes_of_double_are_kept() {
    all_kinds::<f64>(42);
}

#[test]
fn missing_vertices_and_pinned_sides_keep_their_bits() {
    let mut random = Random(43);
    let mut volume = Volume::<f32>::waves([14, 13, 15], 3.0, 44);
    for k in 0..volume.components[0].len() {
        if random.below(8) == 0 {
            volume.components[random.below(3) as usize][k] = random.one_of(&[f32::NAN, f32::INFINITY, -99.0]);
        }
    }
    let config = Config { fill_value: Some(-99.0), pin: SIDES_ALL_OF_VOLUME & !2, ..absolute(&volume, 0.5) };
    let mut other = Lossy::Quantised.reconstruct(&volume, 0.5);
    // Another method may put anything where there are no data.
    for k in 0..volume.components[0].len() {
        if (0..3).any(|c| !volume.components[c][k].is_finite() || volume.components[c][k] == -99.0) {
            other.components.iter_mut().for_each(|c| c[k] = 1e9);
        }
    }
    let (fix, _) = made(&config, volume.views(), &other);
    let after = applied(&config, &fix, &other);
    let (mut before, mut found) = (volume.clone(), after.clone());
    let [nx, ny, nz] = volume.sizes;
    for k in 0..volume.components[0].len() {
        let [a, b] = [&volume, &after].map(|v| v.components.each_ref().map(|c| c[k]));
        let is_missing = a.iter().any(|x| !x.is_finite() || *x == -99.0);
        let [x, y, z] = [k as u64 % nx, k as u64 / nx % ny, k as u64 / nx / ny];
        let is_pinned = x == 0 || y == 0 || y == ny - 1 || z == 0 || z == nz - 1;
        assert!(!(is_missing || is_pinned) || a.map(f32::to_bits) == b.map(f32::to_bits), "{a:?} {b:?}");
        // The checker knows no fill values.
        if is_missing {
            before.components.iter_mut().chain(&mut found.components).for_each(|c| c[k] = f32::NAN);
        }
    }
    assert_kept("fix-missing", [&before, &found], &config, 0.5);
}

/// Blocks that are protected apart, with the values of their neighbours as ghosts, are joined.
#[test]
fn seams_between_protected_blocks_are_kept() {
    let mut random = Random(45);
    let noise = Volume::<f32>::waves([13, 14, 12], 3.0, 46);
    let solids = with_solids::<f32>([16, 15, 17], 47);
    for (volume, name) in [(&noise, "noise"), (&solids, "solids")] {
        for (periodic, ties) in [(0, Ties::All), (PERIODIC_Y, Ties::Zeros)] {
            let config = Config { periodic, ties, ..absolute(volume, 0.5) };
            let mut joined = [volume.clone(), volume.clone()];
            for (k, block) in blocks(volume.sizes, config, |sides| sides, &mut random).iter().enumerate() {
                let other = LOSSY[k % 3].reconstruct(&volume.part(block.first, block.sizes()), 0.5);
                let (fix, _) = made(&block.config, block.views(volume), &other);
                block.put(&applied(&block.config, &fix, &other), &mut joined[0]);
                block.put(&other, &mut joined[1]);
            }
            let [whole, kept, lossy] = [volume, &joined[0], &joined[1]].map(|v| unrolled(v, periodic));
            assert_kept(&format!("fix-halo-{name}"), [&whole, &kept], &config, 0.5);
            let folder = fresh_folder("fix-without");
            assert!(counts(&folder, [&whole, &lossy], &config, 0.5)["violations"] > 0);
        }
    }
}

/// A relative bound is that of the original, and a bound of zero leaves nothing to do.
#[test]
fn bounds_are_those_of_the_original() {
    let volume = Volume::<f64>::waves([12, 11, 10], 4.0, 48);
    let all = || volume.components.iter().flatten().copied();
    let range = all().fold(f64::MIN, f64::max) - all().fold(f64::MAX, f64::min);
    let other = Lossy::Quantised.reconstruct(&volume, 0.99e-1 * range);
    let config = Config { dz: -2.5, periodic: PERIODIC_Z, ..volume.config(1e-1) };
    let (fix, report) = made(&config, volume.views(), &other);
    assert!((report.bound - 0.1 * range).abs() < 1e-12 * range && report.repaired_vertices > 0);
    let info = inspect_fix(&fix[..136]).expect("a header");
    assert_eq!((info.bound_kind, info.bound, info.absolute_bound), (BoundKind::Relative, 0.1, report.bound));
    assert_eq!((info.components, info.dz, info.periodic), (3, -2.5, PERIODIC_Z));
    let (fix, report) = made(&volume.config(0.0), volume.views(), &volume);
    assert_eq!((fix.len(), report.repaired_vertices, report.violated_triangles), (136, 0, 0));
}

// ---------------------------------------------------------------- refusals

pub fn example() -> (Config, Volume<f32>, Volume<f32>, Vec<u8>) {
    let volume = with_solids::<f32>([9, 8, 10], 49);
    let config = absolute(&volume, 0.4);
    let mut other = Lossy::Quantised.reconstruct(&volume, 0.4);
    // Solids that another method moved, which become zero again.
    for (x, y) in other.components[0].iter_mut().zip(&volume.components[0]) {
        *x = if *y == 0.0 { 0.1 } else { *x };
    }
    let fix = made(&config, volume.views(), &other).0;
    (config, volume, other, fix)
}

#[test]
fn a_reconstruction_that_leaves_the_bound_is_refused_with_its_place() {
    let (config, volume, mut other, _) = example();
    let k = (3 * 8 + 2) * 9 + 5;
    other.components[2][k] = volume.components[2][k] + 1.0;
    let request = VolumeRequest::new(config).unwrap();
    let mut fix = vec![0; max_volume_fix_bytes(&request) as usize];
    let error =
        protect_volume(&request, volume.views(), other.views(), &mut fix, Execution::default()).unwrap_err();
    assert_eq!(error.status, Status::InvalidArgument);
    for part in ["leaves the bound", "(5, 2, 3)", "w = ", "other_w = "] {
        assert!(error.message.contains(part), "{error}");
    }
    assert_eq!(error.outside, Some(Outside { vertices: 1, first: k as u64 }));
    let short = &mut [0; 100][..];
    let report =
        protect_volume(&request, volume.views(), volume.views(), short, Execution::default()).unwrap();
    assert_eq!((report.status, report.fix_bytes, report.required_bytes), (Status::BufferTooSmall, 0, 136));
}

#[test]
fn a_fix_of_another_reconstruction_is_refused() {
    let (config, volume, other, fix) = example();
    let mut near = other.clone();
    near.components[2][17] = f32::from_bits(near.components[2][17].to_bits() ^ 1);
    let mut exchanged = other.clone();
    exchanged.components.swap(1, 2);
    for wrong in [&near, &exchanged, &volume] {
        let (result, after) = try_applied(&config, &fix, wrong);
        let error = result.unwrap_err();
        assert!(error.message.contains("another reconstruction"), "{error}");
        assert!(error.status == Status::InvalidArgument && bits(&after) == bits(wrong));
    }
    let wide = Volume::<f32>::of([9, 8, 11], |_| [1.0; 3]);
    let error = try_applied(&Config { nz: 11, ..config }, &fix, &wide).0.unwrap_err();
    assert!(error.message.contains("nz = 11"), "{error}");
    // Functions for planes take no fix of a volume, and those for volumes none of planes.
    let planes = Config { nz: 10, ..Config::new(9, 8, BoundKind::Absolute, 0.4) };
    let mut found = other.clone();
    let [u, v, _] = found.components.each_mut().map(|c| ViewMut::stack(c, 9, 8));
    let error = apply(&planes, &fix, u, v, Execution::default()).unwrap_err();
    assert!(error.status == Status::InvalidArgument && error.message.contains("volume"), "{error}");
    let request = factz::Request::new(planes).unwrap();
    let mut of_planes = vec![0; factz::max_fix_bytes(&request) as usize];
    let [u, v, _] = other.views();
    factz::protect(&request, [u, v], [u, v], &mut of_planes, Execution::default()).unwrap();
    let error = try_applied(&config, &of_planes, &other).0.unwrap_err();
    assert!(error.status == Status::InvalidArgument && error.message.contains("planes"), "{error}");
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
            assert!(bits(&after) == bits(&other), "{what}: values were written");
            return false;
        }
        true
    };
    assert!(attempt(&fix, "intact") && attempt(&[&fix[..], &[1, 2, 3]].concat(), "longer"));
    for length in (0..fix.len()).step_by(7) {
        assert!(!attempt(&fix[..length], "cut off"));
    }
    let (mut random, mut taken) = (Random(50), 0);
    for k in (0..fix.len()).step_by(1 + fix.len() / 3000).chain(0..136) {
        for change in [1, 0x80, 1 + random.below(255) as u8] {
            let mut bad = fix.clone();
            bad[k] ^= change;
            assert!(!attempt(&bad, "without its checksum"), "byte {k}");
            seal(&mut bad);
            taken += attempt(&bad, &format!("byte {k} changed by {change:#x}")) as u64;
        }
    }
    // Changed digits of refinements are other values, which a decoder cannot tell from right ones.
    assert!(taken > 0);
    for at in [16, 24, 32, 40, 48, 104, 112, 120, 128, 136, 144] {
        for value in [u64::MAX, 1 << 47, 1 << 32, 1, 0] {
            let mut bad = fix.clone();
            bad[at..at + 8].copy_from_slice(&value.to_le_bytes());
            seal(&mut bad);
            attempt(&bad, &format!("{value:#x} at {at}"));
        }
    }
    // Streams of volumes have chunks of filled vertices, and fixes have none.
    assert_eq!(fix[136 + 15], 255, "the first chunk has the zero vertices");
    let mut filled = fix.clone();
    filled[136 + 15] = 254;
    seal(&mut filled);
    let error = try_applied(&config, &filled, &other).0.unwrap_err();
    assert!(error.message.contains("filled vertices"), "{error}");
}

// ---------------------------------------------------------------- the format

pub fn bytes_of<T: Real>(volume: &Volume<T>) -> Vec<u8> {
    let bytes = |x: &T| x.to_bits64().to_le_bytes()[..T::BYTES].to_vec();
    volume.components.iter().flatten().flat_map(bytes).collect()
}

/// The bytes of a fix do not change, and the decoder that was written from FORMAT.md alone makes the same values.
#[test]
fn golden_fix_and_the_independent_decoder() {
    let folder = fresh_folder("fix-volume-decoder");
    let mut command = python();
    command.arg("-B").arg(root().join("tests/fix_decoder.py"));
    let mut expected = Vec::new();
    let mut add = |fix: Vec<u8>, other: Vec<u8>, after: Vec<u8>| {
        let name = |kind: &str| folder.join(format!("{}.{kind}", expected.len()));
        let [a, b, c] = ["fix", "before", "after"].map(name);
        std::fs::write(&a, fix).unwrap();
        std::fs::write(&b, other).unwrap();
        command.args([&a, &b, &c]);
        expected.push((c, after));
    };
    // Noise, beside it small integers with ties, zeros and missing vertices: the same numbers everywhere.
    let mut random = Random(52);
    let volume = Volume::<f32>::of([21, 18, 19], |[x, y, z]| match (x, y, z) {
        (4..9, 10.., _) => [0.0; 3],
        (17, 2, 3..6) => [f64::NAN, 1.0, 2.0],
        (12.., _, _) => [0; 3].map(|_| random.below(7) as f64 - 3.0),
        _ => [0; 3].map(|_| random.signed()),
    });
    let mut other = Lossy::Noisy.reconstruct(&volume, 0.3);
    other.components[0].iter_mut().filter(|x| x.is_nan()).for_each(|x| *x = 0.0);
    let config = Config { dz: -2.0, periodic: PERIODIC_X, ..absolute(&volume, 0.3) };
    let (fix, report) = made(&config, volume.views(), &other);
    let path = root().join("tests/golden/fix_volume_f32.fctr");
    bless_if_missing(&path, || std::fs::write(&path, &fix).unwrap());
    assert!(std::fs::read(&path).unwrap() == fix, "the fix has other bytes than the golden one");
    assert!(report.exact_vertices > 0 && report.repaired_vertices > report.exact_vertices + 100);
    add(fix.clone(), bytes_of(&other), bytes_of(&applied(&config, &fix, &other)));
    let solids = with_solids::<f64>([18, 17, 16], 53);
    for lossy in LOSSY {
        let (config, other) = (absolute(&solids, 0.2), lossy.reconstruct(&solids, 0.2));
        let (fix, _) = made(&config, solids.views(), &other);
        add(fix.clone(), bytes_of(&other), bytes_of(&applied(&config, &fix, &other)));
    }
    // Every vertex changes in each of its bits: the values are stored.
    let small = Volume::<f32>::of([5, 2, 3], |_| [0; 3].map(|_| random.signed()));
    let (config, other) = (Config { pin: SIDES_ALL_OF_VOLUME, ..absolute(&small, 0.5) }, Lossy::Noisy);
    let other = other.reconstruct(&small, 0.5);
    let (fix, report) = made(&config, small.views(), &other);
    assert_eq!((fix[19], report.fix_bytes), (1, 136 + 3 * 30 * 4));
    add(fix.clone(), bytes_of(&other), bytes_of(&applied(&config, &fix, &other)));
    run(&mut command);
    for (path, values) in expected {
        assert!(std::fs::read(&path).unwrap() == values, "{}", path.display());
    }
}
