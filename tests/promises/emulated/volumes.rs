//! Volumes: the kernels write and restore what the library does, and find out damaged streams.

use super::*;
use crate::support::fields::{bytes_of, compressed_volume, dtype, volume, Random, Volume, CODERS};
use factz::stream::checksum::seal;
use factz::{
    compare_volume, decompress_volume, BoundKind, Execution, Layout, Preserve, Ties, View, ViewMut,
    VolumeRequest, PERIODIC_X, PERIODIC_Z, SIDE_X_MAX, SIDE_X_MIN, SIDE_Y_MIN, SIDE_Z_MAX, SIDE_Z_MIN,
};

/// Shapes with whole tiles, with ends of one vertex and of two, and thin ones.
const SHAPES: [[u64; 3]; 5] = [[33, 18, 17], [16, 16, 16], [3, 40, 2], [2, 2, 2], [49, 5, 33]];

fn expected<T: Real>(config: &Config, stream: &[u8]) -> factz::Result<Vec<Vec<u8>>> {
    let n = (config.nx * config.ny * config.nz) as usize;
    let mut components = [vec![T::ZERO; n], vec![T::ZERO; n], vec![T::ZERO; n]];
    let views = components.each_mut().map(|c| ViewMut::stack(c, config.nx, config.ny));
    decompress_volume(config, stream, views, Execution::default())?;
    Ok(components.iter().map(|c| bytes_of(c)).collect())
}

fn restored_volume(config: &Config, order: u32, folder: &Path, stream: &[u8]) -> Result<Vec<Vec<u8>>, i32> {
    let [u, v, w] = ["u", "v", "w"].map(|name| folder.join(name));
    let stream = written(folder, "stream", stream);
    let paths = [u.display(), v.display(), w.display()];
    let status = emulate(
        "decompress_volume",
        &[
            &order,
            &(config.dtype as u32),
            &config.nx,
            &config.ny,
            &config.nz,
            &stream,
            &paths[0],
            &paths[1],
            &paths[2],
        ],
    );
    match status[0] {
        0 => Ok([&u, &v, &w].map(|path| fs::read(path).expect("the output is there")).to_vec()),
        error => Err(error as i32),
    }
}

/// The stream that the kernels of an emulator write, and the counts of their report.
fn written_volume<T: Real>(
    program: &Path,
    components: &Volume<T>,
    (c, first): (&Config, usize),
    order: u32,
    folder: &Path,
) -> (Vec<u8>, Vec<i64>) {
    let [u, v, w] =
        [0, 1, 2].map(|k| written(folder, ["in_u", "in_v", "in_w"][k], &bytes_of(&components[k])));
    let (fill, stream) = (fill_bits::<T>(c), folder.join("out"));
    // With the layout of dense arrays where the configuration leaves it out.
    let c = VolumeRequest::new(*c).expect("a valid configuration").config().to_owned();
    let grid: [&dyn ToString; 8] =
        [&order, &(c.dtype as u32), &c.nx, &c.ny, &c.nz, &c.plane_rows, &(c.bound_kind as u32), &c.bound];
    let choices: [&dyn ToString; 9] = [
        &(c.coder as u32),
        &(c.preserve as u32),
        &(c.ties as u32),
        &c.halo,
        &c.pin,
        &c.periodic,
        &c.dx,
        &c.dy,
        &c.dz,
    ];
    let files: [&dyn ToString; 7] = [&u, &v, &w, &first, &c.u.pitch, &fill, &stream.display()];
    let counts = emulate_by(program, "compress_volume", &[&grid[..], &choices, &files].concat());
    assert_eq!(counts[0], 0, "{c:?}");
    (fs::read(stream).expect("the stream is there"), counts[1..].to_vec())
}

/// A block without the ghosts of a volume, on the sides of a halo, and its first element.
fn block(config: Config, halo: u32) -> (Config, usize) {
    let [x, y, z] = [0, 1, 2].map(|axis| (halo >> (2 * axis) & 1) as u64);
    let ghosts = |axis: u32| (halo >> (2 * axis) & 3).count_ones() as u64;
    let (nx, ny) = (config.nx, config.ny);
    let layout = Layout { pitch: nx, stride: 1, plane: nx * ny };
    let owned = Config {
        nx: nx - ghosts(0),
        ny: ny - ghosts(1),
        nz: config.nz - ghosts(2),
        plane_rows: ny,
        halo,
        u: layout,
        v: layout,
        w: layout,
        ..config
    };
    (owned, ((z * ny + y) * nx + x) as usize)
}

/// The case with this number to compress: as [`case`], with ghosts, pinned sides, ties and fill values in turn.
fn case_to_compress<T: Real>(k: usize) -> (Config, usize, Volume<T>) {
    let (config, kind) = case(k);
    let kind = [kind, 4, 5][k / 3 % 3];
    let components = volume::<T>([config.nx, config.ny, config.nz], kind);
    let config = Config {
        dtype: dtype::<T>(),
        ties: [Ties::All, Ties::Zeros][k / 2 % 2],
        fill_value: [None, Some(0.0), Some(1.0)][k / 4 % 3],
        dy: if k % 4 == 3 { -2.0 } else { 1.0 },
        ..config
    };
    let can_have_sides = config.periodic == 0 && [config.nx, config.ny, config.nz].iter().all(|&n| n > 4);
    let (config, first) = match k % 4 {
        2 if can_have_sides => block(config, SIDE_X_MIN | SIDE_Y_MIN | SIDE_Z_MAX),
        3 if can_have_sides => block(config, SIDE_X_MAX | SIDE_Z_MIN),
        _ => (config, 0),
    };
    let pin = if can_have_sides && k % 3 == 0 { [SIDE_X_MAX, 0][(config.halo >> 1 & 1) as usize] } else { 0 };
    (Config { pin, ..config }, first, components)
}

fn check_compression_of_volume<T: Real>(k: usize, folder: &Path) {
    let (config, first, components) = case_to_compress::<T>(k);
    let (stream, report) = compressed_volume(&components, &config, first).expect("a volume");
    let (written, counts) = written_volume(emulator(), &components, (&config, first), ORDERS[k % 2], folder);
    assert!(written == stream, "case {k}: another stream: {config:?}");
    let expected = [
        report.exact_vertices,
        report.nonfinite_vertices,
        report.zero_vertices,
        report.points_in_triangles,
        report.filled_vertices,
        report.warnings as u64,
    ];
    assert_eq!(counts, expected.map(|x| x as i64), "case {k}: {config:?}");
}

/// The kernels write the library's streams, and restore what it does from them.
#[test]
fn volumes_are_compressed_and_restored() {
    needs!("g++");
    let folder = fresh_folder("volumes_are_compressed");
    for k in 0..10 {
        if k % 3 == 2 {
            check::<f64>(k + 3, &folder);
        } else {
            check::<f32>(k, &folder);
        }
    }
    outliers_are_warned_of(&folder);
    volumes_at_rest_are_coded::<f32>(&folder);
    volumes_at_rest_are_coded::<f64>(&folder);
    for k in 0..16 {
        if k % 3 == 2 {
            check_compression_of_volume::<f64>(k, &folder);
        } else {
            check_compression_of_volume::<f32>(k, &folder);
        }
    }
}

/// Volumes of zeros, of which some have a sign, and of missing values. Their bound is 0.
fn volumes_at_rest_are_coded<T: Real>(folder: &Path) {
    for (k, values) in
        [[0.0; 3], [0.0, f64::NAN, 0.0], [f64::NAN; 3], [-0.0, 0.0, -0.0]].into_iter().enumerate()
    {
        let shape = SHAPES[[0, 2, 4, 1][k]];
        let n = shape.iter().product::<u64>() as usize;
        let components = [0, 1, 2].map(|c| {
            (0..n).map(|i| if i % 97 == 5 { values[c] } else { values[1] }).map(T::from_f64).collect()
        });
        let kind = [BoundKind::Relative, BoundKind::Absolute][k % 2];
        let config = Config::volume(shape, kind, [1e-3, 0.0][k % 2]);
        let config = Config { dtype: dtype::<T>(), coder: CODERS[k % 2], ..config };
        let (stream, _) = compressed_volume(&components, &config, 0).expect("a volume");
        assert!(stream.len() < 400 + n, "{} bytes: {config:?}", stream.len());
        let (written, _) = written_volume(emulator(), &components, (&config, 0), ORDERS[k % 2], folder);
        assert!(written == stream, "{config:?}");
        let found = restored_volume(&config, ORDERS[k % 2], folder, &stream);
        assert!(found == Ok(components.each_ref().map(|c| bytes_of(c)).to_vec()), "{config:?}");
    }
}

/// The warning of outliers, of more and of fewer vertices than the sample has.
fn outliers_are_warned_of(folder: &Path) {
    for (k, shape) in [[5, 6, 7], [33, 18, 17]].into_iter().enumerate() {
        for (every, fill_value) in [(0, None), (97, None), (3, None), (97, Some(1e20))] {
            let mut components = volume::<f32>(shape, 1);
            let outliers = (0..components[0].len()).filter(|i| every > 0 && i % every == 0);
            outliers.for_each(|i| components[i % 3][i] = 1e20);
            let bound = Config::volume(shape, BoundKind::Relative, 1e-3);
            // Outliers make the repair slow.
            let config = Config { dtype: dtype::<f32>(), preserve: Preserve::None, fill_value, ..bound };
            let (stream, report) = compressed_volume(&components, &config, 0).expect("a volume");
            assert_eq!(report.warnings != 0, every > 0 && fill_value.is_none(), "{config:?}");
            let (written, counts) = written_volume(emulator(), &components, (&config, 0), ORDERS[k], folder);
            assert!(written == stream, "{config:?}");
            assert_eq!(counts.last(), Some(&(report.warnings as i64)), "{config:?}");
            let absolute = Config { bound_kind: BoundKind::Absolute, ..config };
            assert_eq!(compressed_volume(&components, &absolute, 0).expect("a volume").1.warnings, 0);
        }
    }
}

/// The rules of later rounds of repair, which few fields reach, settle every tetrahedron as well.
#[test]
#[ignore = "make test-all"]
fn later_rounds_of_repair_settle_every_tetrahedron() {
    needs!("g++");
    let folder = fresh_folder("later_rounds_of_repair");
    let shape = [19, 17, 18];
    for (k, first_round) in ["64", "131"].into_iter().enumerate() {
        let program = emulator::built(&[&format!("-DFACTZ_FIRST_ROUND={first_round}")]);
        for kind in [1, 4, 5] {
            let components = volume::<f32>(shape, kind);
            let config = Config { dtype: dtype::<f32>(), ..Config::volume(shape, BoundKind::Relative, 1e-1) };
            let (stream, _) = written_volume(&program, &components, (&config, 0), ORDERS[k], &folder);
            let mut restored = components.each_ref().map(|c| vec![0.0; c.len()]);
            let views = restored.each_mut().map(|c| ViewMut::stack(c, shape[0], shape[1]));
            decompress_volume(&config, &stream, views, Execution::default()).expect("an intact stream");
            let request = VolumeRequest::new(config).expect("a valid configuration");
            let [before, after] = [&components, &restored]
                .map(|all| all.each_ref().map(|c| View::stack(c, shape[0], shape[1])));
            let found = compare_volume(&request, before, after, true, 1).expect("two volumes");
            assert_eq!(found.violations(), 0, "kind {kind} from round {first_round} on: {found:?}");
        }
    }
}

/// Where the lists of a round have no room for all its cells, all cells are looked at, and the stream is the same.
#[test]
#[ignore = "make test-all"]
fn rounds_with_small_lists_write_the_same_stream() {
    needs!("g++");
    let folder = fresh_folder("rounds_with_small_lists");
    let shape = [35, 18, 17];
    for entries in ["0", "9"] {
        let program = emulator::built(&[&format!("-DFACTZ_MOST_ENTRIES={entries}u")]);
        for (k, kind) in [1, 4, 5].into_iter().enumerate() {
            let components = volume::<f32>(shape, kind);
            let config = Config { dtype: dtype::<f32>(), ..Config::volume(shape, BoundKind::Relative, 1e-1) };
            let (stream, _) = written_volume(&program, &components, (&config, 0), ORDERS[k % 2], &folder);
            let expected = compressed_volume(&components, &config, 0).expect("a volume").0;
            assert_eq!(stream, expected, "kind {kind}, {entries} entries");
        }
    }
}

/// The case with this number: shapes, fields, bounds, coders and settings in turn.
fn case(k: usize) -> (Config, usize) {
    let shape = SHAPES[k % SHAPES.len()];
    let periodic = if k % 3 == 1 && shape.iter().all(|&n| n > 2) { PERIODIC_X | PERIODIC_Z } else { 0 };
    let config = Config {
        coder: CODERS[k % 2],
        periodic,
        preserve: [Preserve::Types, Preserve::Points, Preserve::None][k / 2 % 3],
        ..Config::volume(shape, BoundKind::Relative, [1e-1, 1e-2, 1e-4, 1e-7][k / 5 % 4])
    };
    (config, k / 2 % 4)
}

fn check<T: Real>(k: usize, folder: &Path) {
    let (config, kind) = case(k);
    let config = Config { dtype: dtype::<T>(), ..config };
    let components = volume::<T>([config.nx, config.ny, config.nz], kind);
    let (stream, _) = compressed_volume(&components, &config, 0).expect("a volume");
    let found = restored_volume(&config, ORDERS[k % 2], folder, &stream);
    assert!(found == Ok(expected::<T>(&config, &stream).unwrap()), "case {k}: other values: {config:?}");
}

/// The kernels accept the damaged streams that the library does, and restore the same from them.
#[test]
#[ignore = "make test-all"]
fn damaged_volumes_are_found_out() {
    needs!("g++");
    let folder = fresh_folder("damaged_volumes_are_found_out");
    let mut random = Random(9);
    for (k, shape) in [[17, 16, 3], [5, 18, 17]].into_iter().enumerate() {
        let config = Config { coder: CODERS[k], ..Config::volume(shape, BoundKind::Relative, 1e-1) };
        let config = Config { dtype: dtype::<f32>(), ..config };
        let (stream, _) = compressed_volume(&volume::<f32>(shape, 3), &config, 0).expect("a volume");
        for damage in 0..14 {
            let mut damaged = stream.clone();
            let (first, end) = if damage % 3 == 0 { (0, 176) } else { (0, stream.len()) };
            let at = first + random.below((end - first) as u64) as usize;
            damaged[at] ^= 1 << random.below(8);
            if damage % 10 != 9 {
                seal(&mut damaged);
            }
            let found = restored_volume(&config, ORDERS[damage % 2], &folder, &damaged);
            match expected::<f32>(&config, &damaged) {
                Ok(values) => assert!(found == Ok(values), "damage {damage} at byte {at}"),
                Err(error) => {
                    assert!(found == Err(error.status as i32), "{damage} at byte {at}: {error}, {found:?}")
                }
            }
        }
    }
}
