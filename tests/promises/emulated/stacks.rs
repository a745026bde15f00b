//! Stacks of planes and periodic axes.

use super::*;
use crate::support::fields::{dtype, Random, CODERS, FRONTS, TIES};
use factz::{BoundKind, Preserve, PERIODIC_X, PERIODIC_Y, SIDES_ALL};

/// Planes of one shape, which lie in an array with ghosts around each.
#[derive(Clone, Copy, Debug)]
struct Case {
    seed: u64,
    shape: [u64; 3],
    /// Ghosts around each plane.
    halo: bool,
    periodic: u32,
}

/// Planes of waves, of whole numbers, of zeros, and with missing values, in turn.
fn field<T: Real>(case: &Case) -> (Field<T>, usize) {
    let [nx, ny, nz] = case.shape;
    let ghosts = case.halo as u64;
    let [columns, rows] = [nx + 2 * ghosts, ny + 2 * ghosts];
    let mut random = Random(case.seed);
    let field = Field::new(columns, rows * nz, |x, row| {
        let (z, y) = (row / rows, row % rows);
        let phase = [0.21 * x as f64 + z as f64, 0.17 * y as f64 + 0.3];
        let wave = [phase[0].sin() + phase[1].cos(), phase[0].cos() * phase[1].sin()];
        match (z + case.seed) % 5 {
            1 => [0, 1].map(|_| random.below(5) as f64 - 2.0),
            2 if (x + 2 * y) % 23 == 0 => [f64::NAN, 1.0],
            2 if x < 20 => [0.0; 2],
            3 => [wave[0] + 3.0, wave[1] - 2.5],
            _ => wave,
        }
    });
    (field, (ghosts * columns + ghosts) as usize)
}

fn check<T: Real>(case: &Case, k: usize, folder: &Path) {
    let [nx, ny, nz] = case.shape;
    let (field, first) = field::<T>(case);
    let (mode, predictor) = FRONTS[k % 3];
    let (halo, plane_rows) = if case.halo { (SIDES_ALL, ny + 2) } else { (0, ny) };
    let ties = TIES[k / 3 % 3];
    let config = Config::new(nx, ny, BoundKind::Relative, [1e-1, 1e-2, 1e-3][k / 2 % 3]);
    let config = Config {
        nz,
        plane_rows,
        halo,
        pin: if case.halo || case.periodic != 0 { 0 } else { 5 * (k as u32 % 2) },
        periodic: case.periodic,
        mode,
        predictor,
        ties,
        coder: CODERS[k % 2],
        dtype: dtype::<T>(),
        fill_value: (k % 4 == 3).then_some(-2.0),
        preserve: [Preserve::Types, Preserve::Types, Preserve::Points, Preserve::None][k % 4],
        ..config
    };
    let (order, what) = (ORDERS[k % 2], format!("{case:?}"));
    let stream = check_compression(&field, &config, first, order, folder, &what);
    let dense = Config { halo: 0, plane_rows: 0, ..config };
    check_restoration::<T>(&dense, &stream, order, folder, &what);
    check_planes::<T>(&dense, &stream, order, folder, &what);
}

fn check_all(name: &str, shapes: &[[u64; 3]], seeds: u64) {
    let mut cases = Vec::new();
    for (k, &shape) in shapes.iter().enumerate() {
        for seed in 0..seeds {
            let periodic = match (k as u64 + seed) % 5 {
                0 | 1 => 0,
                2 => PERIODIC_X,
                3 => PERIODIC_Y,
                _ => PERIODIC_X | PERIODIC_Y,
            };
            let halo = periodic == 0 && (k as u64 + seed / 5) % 2 == 1;
            cases.push((cases.len(), Case { seed, shape, halo, periodic }));
        }
    }
    for_each(name, &cases, |(k, case), folder| match k / 2 % 2 {
        0 => check::<f32>(case, *k, folder),
        _ => check::<f64>(case, *k, folder),
    });
}

#[test]
#[ignore = "make test-all"]
fn kernels_write_stacks_and_periodic_fields() {
    needs!("g++");
    check_all("emulated_planes", &[[40, 33, 3], [70, 65, 2], [3, 5, 300], [97, 100, 1]], 3);
}

#[test]
#[ignore = "make test-all"]
fn kernels_write_stacks_of_all_shapes() {
    needs!("g++");
    let shapes =
        [[33, 31, 4], [64, 64, 3], [65, 96, 2], [32, 33, 5], [4, 3, 200], [150, 3, 9], [130, 129, 2]];
    check_all("emulated_all_planes", &shapes, 12);
}
