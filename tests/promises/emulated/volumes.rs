//! Volumes: the kernels restore what the library does, and find out damaged streams.

use super::*;
use crate::support::fields::{dtype, Random, CODERS};
use factz::stream::checksum::seal;
use factz::{
    compress_volume, decompress_volume, max_volume_stream_bytes, BoundKind, Execution, Preserve, View,
    ViewMut, VolumeRequest, PERIODIC_X, PERIODIC_Z,
};

/// Shapes with whole tiles, with ends of one vertex and of two, and thin ones.
const SHAPES: [[u64; 3]; 5] = [[33, 18, 17], [16, 16, 16], [3, 40, 2], [2, 2, 2], [49, 5, 33]];

type Components<T> = [Vec<T>; 3];

/// Waves, whole numbers, noise, solids and missing values.
fn volume<T: Real>([nx, ny, nz]: [u64; 3], kind: usize) -> Components<T> {
    let mut random = Random(kind as u64 + nx);
    let mut components = [Vec::new(), Vec::new(), Vec::new()];
    for k in 0..nx * ny * nz {
        let [x, y, z] = [k % nx, k / nx % ny, k / nx / ny].map(|i| i as f64);
        let wave =
            [(0.3 * x + 0.2 * z).sin() + 0.4, (0.25 * y - 0.1 * x).cos(), (0.2 * z + 0.15 * y).sin() - 0.1];
        let vertex = match kind {
            0 => wave,
            1 => [0; 3].map(|_| random.below(5) as f64 - 2.0),
            2 => [0; 3].map(|_| random.signed() * 10f64.powi(random.below(8) as i32)),
            _ if (x - 9.0).powi(2) + (y - 7.0).powi(2) + (z - 5.0).powi(2) < 30.0 => [0.0; 3],
            _ if (x + 3.0 * y + z) as u64 % 41 == 0 => [f64::NAN; 3],
            _ => wave,
        };
        components.iter_mut().zip(vertex).for_each(|(c, x)| c.push(T::from_f64(x)));
    }
    components
}

fn compressed_volume<T: Real>(components: &Components<T>, config: Config) -> Vec<u8> {
    let request = VolumeRequest::new(config).unwrap();
    let mut stream = vec![0; max_volume_stream_bytes(&request) as usize];
    let views = components.each_ref().map(|c| View::stack(c, config.nx, config.ny));
    let report = compress_volume(&request, views, &mut stream, Execution::default()).unwrap();
    stream.truncate(report.stream_bytes as usize);
    stream
}

fn expected<T: Real>(config: &Config, stream: &[u8]) -> factz::Result<Vec<Vec<u8>>> {
    let n = (config.nx * config.ny * config.nz) as usize;
    let mut components = [vec![T::ZERO; n], vec![T::ZERO; n], vec![T::ZERO; n]];
    let views = components.each_mut().map(|c| ViewMut::stack(c, config.nx, config.ny));
    decompress_volume(config, stream, views, Execution::default())?;
    let bytes =
        |c: &Vec<T>| c.iter().flat_map(|x| x.to_bits64().to_le_bytes()[..T::BYTES].to_vec()).collect();
    Ok(components.iter().map(bytes).collect())
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
    let stream = compressed_volume(&volume::<T>([config.nx, config.ny, config.nz], kind), config);
    let found = restored_volume(&config, ORDERS[k % 2], folder, &stream);
    assert!(found == Ok(expected::<T>(&config, &stream).unwrap()), "case {k}: other values: {config:?}");
}

#[test]
fn volumes_are_restored() {
    needs!("g++");
    build_emulator("volumes_are_restored");
    let folder = fresh_folder("volumes_are_restored");
    for k in 0..10 {
        if k % 3 == 2 {
            check::<f64>(k + 3, &folder);
        } else {
            check::<f32>(k, &folder);
        }
    }
}

/// The kernels accept the damaged streams that the library does, and restore the same from them.
#[test]
fn damaged_volumes_are_found_out() {
    needs!("g++");
    build_emulator("damaged_volumes_are_found_out");
    let folder = fresh_folder("damaged_volumes_are_found_out");
    let mut random = Random(9);
    for (k, shape) in [[17, 16, 3], [5, 18, 17]].into_iter().enumerate() {
        let config = Config { coder: CODERS[k], ..Config::volume(shape, BoundKind::Relative, 1e-1) };
        let config = Config { dtype: dtype::<f32>(), ..config };
        let stream = compressed_volume(&volume::<f32>(shape, 3), config);
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
