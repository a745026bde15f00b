//! Blocks of random fields in random configurations.

use super::*;
use crate::support::fields::{dtype, Random, CODERS, PRESERVED, TIES};
use factz::{BoundKind, Mode, Predictor, Preserve};

fn front(random: &mut Random, predictors: &[Predictor]) -> (Mode, Predictor) {
    match random.below(3) {
        0 => (Mode::Speculative, Predictor::Hierarchical),
        _ => (Mode::BlockWise, random.one_of(predictors)),
    }
}

/// A block inside a field that is far from zero but for single vertices at corners of its tiles: whose limits
/// they are, which tile looks for them and which tiles are plain is decided at the sides of tiles.
fn compare_with_spots<T: Real>(seed: u64, folder: &Path) {
    let mut random = Random(seed);
    let [nx, ny] = [(); 2].map(|()| random.one_of(&[31, 32, 33, 34, 63, 64, 65, 66, 97]));
    // With ghost vertices around.
    let sizes = [nx + 2, ny + 2];
    let mut field = Field::<T>::new(sizes[0], sizes[1], |_, _| {
        [5.0, 4.0].map(|far| far + random.below(1000) as f64 * 1e-4)
    });
    for _ in 0..1 + random.below(5) {
        let [x, y] = sizes.map(|n| (32 * random.below(4) + random.below(5)).saturating_sub(1).min(n - 1));
        let near = random.one_of(&[[0.0, 0.0], [0.001, -0.002], [0.002, 0.001], [-5.0, -4.0], [5.0, -4.0]]);
        field.set(field.at(x, y), near);
    }
    let halo = random.below(16) as u32;
    let predictors = [Predictor::Hierarchical, Predictor::Hierarchical, Predictor::Lorenzo];
    let (mode, predictor) = front(&mut random, &predictors);
    let config = Config {
        dtype: dtype::<T>(),
        halo,
        pin: random.below(16) as u32 & !halo,
        mode,
        predictor,
        coder: random.one_of(&CODERS),
        preserve: random.one_of(&[Preserve::Types, Preserve::Points]),
        ties: random.one_of(&TIES),
        ..Config::new(nx, ny, BoundKind::Relative, random.one_of(&[1e-1, 1e-2, 1e-3]))
    };
    let (order, what) = (ORDERS[seed as usize % 2], format!("seed {seed}"));
    check_compression(&field, &config, field.at(1, 1), order, folder, &what);
}

#[test]
#[ignore = "make test-all"]
fn kernels_write_what_the_library_writes_where_few_vertices_are_near_zero() {
    needs!("g++");
    for_each("emulated_spots", &(0..120).collect::<Vec<u64>>(), |&seed, folder| match seed % 4 {
        3 => compare_with_spots::<f64>(seed, folder),
        _ => compare_with_spots::<f32>(seed, folder),
    });
}

/// A field with filled vertices, others that are not finite, and zeros of both signs; a fill value, a bound
/// of 0, or one beyond all values.
fn compare_with_rare<T: Real>(seed: u64, folder: &Path) {
    let mut random = Random(seed);
    let [nx, ny] = [(); 2].map(|()| random.one_of(&[1, 2, 31, 33, 64, 65, 66, 97, 130]));
    let fills = [9.96921e36, -999.0, 0.0, -0.0, f64::NAN, 1.0, 2.0].map(Some);
    let fill = random.one_of(&[&fills[..], &[None]].concat());
    // Some fields are rough, others smooth, and some far from zero but in spots.
    let (far, rough) = (random.one_of(&[0.0, 0.0, 5.0]), random.one_of(&[0.01, 0.2, 1.0]));
    let kinds = random.one_of(&[4, 40, 400]);
    let field = Field::<T>::new(nx + 2, ny + 2, |column, row| {
        let (x, y) = (column as f64, row as f64);
        let smooth = [far + (0.21 * x).sin() + (0.17 * y).cos(), far + (0.13 * x).cos() - (0.19 * y).sin()];
        let mut vertex = smooth.map(|value| {
            let value = value + rough * (random.below(1000) as f64 * 1e-3 - 0.5);
            if rough == 1.0 {
                value.round()
            } else {
                value
            }
        });
        let which = random.below(2) as usize;
        match random.below(kinds) {
            0 => vertex[which] = fill.unwrap_or(-0.0),
            1 => vertex = [fill.unwrap_or(0.0); 2],
            2 => vertex[which] = -0.0,
            3 => {
                let zeros = [[0.0, -0.0], [-0.0, -0.0], [0.0, 0.0]];
                vertex = random.one_of(&[&zeros[..], &[[f64::NAN, 1.0], [-0.0, f64::INFINITY]]].concat());
            }
            _ => {}
        }
        let is_land = seed % 3 == 0 && (21..60).contains(&column) && (11..50).contains(&row);
        if is_land {
            [fill.unwrap_or(0.0); 2]
        } else {
            vertex
        }
    });
    let halo = random.one_of(&[0, 0, 15]);
    let (mode, predictor) = front(&mut random, &[Predictor::Hierarchical, Predictor::Lorenzo]);
    let (kind, bound) = random.one_of(&[
        (BoundKind::Absolute, 0.0),
        (BoundKind::Absolute, 0.0),
        (BoundKind::Relative, 1e-2),
        (BoundKind::Relative, 1e-3),
        (BoundKind::Absolute, 0.05),
        (BoundKind::Absolute, 1e30),
        (BoundKind::Relative, 1e3),
    ]);
    let config = Config {
        dtype: dtype::<T>(),
        halo,
        pin: if halo == 0 { random.one_of(&[0, 0, 15]) } else { 0 },
        mode,
        predictor,
        coder: random.one_of(&CODERS),
        preserve: random.one_of(&PRESERVED),
        ties: random.one_of(&TIES),
        fill_value: fill,
        ..Config::new(nx, ny, kind, bound)
    };
    let (order, what) = (ORDERS[seed as usize % 2], format!("seed {seed}"));
    let stream = check_compression(&field, &config, field.at(1, 1), order, folder, &what);
    for order in ORDERS {
        check_restoration::<T>(&config, &stream, order, folder, &what);
    }
}

#[test]
#[ignore = "make test-all"]
fn kernels_do_what_the_library_does_with_fill_values_and_signs() {
    needs!("g++");
    for_each("emulated_rare", &(0..90).collect::<Vec<u64>>(), |&seed, folder| match seed % 3 {
        2 => compare_with_rare::<f64>(seed, folder),
        _ => compare_with_rare::<f32>(seed, folder),
    });
}
