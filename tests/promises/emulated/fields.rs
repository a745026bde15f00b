//! Fields of data/, fields of many tiles and narrow ones.

use super::*;
use crate::support::fields::{dtype, stored, CODERS, FRONTS, TIES};
use factz::{BoundKind, Coder, Mode, Predictor};

#[test]
#[ignore = "make test-all"]
fn kernels_write_what_the_library_writes() {
    needs!("g++");
    let mut cases = Vec::new();
    // In the last one predictions overflow.
    for name in ["dt256", "nan_inf256", "gradient1e30"] {
        for (front, coder) in FRONTS.into_iter().zip([Coder::Ans, Coder::Huffman, Coder::Ans]) {
            cases.extend(ORDERS.map(|order| (name, front, coder, order)));
        }
    }
    for_each("emulated_fields", &cases, |&(name, (mode, predictor), coder, order), folder| {
        let field = stored(name);
        let config = Config { mode, predictor, coder, ..field.config(BoundKind::Relative, 1e-2) };
        check_compression(&field, &config, 0, order, folder, name);
    });
}

/// Coasts, by each setting of what ties keep.
#[test]
#[ignore = "make test-all"]
fn kernels_write_what_the_library_writes_along_coasts() {
    needs!("g++");
    let mut cases = Vec::new();
    for (k, (mode, predictor)) in FRONTS.into_iter().enumerate() {
        for (l, name) in ["ocean_coast", "water_gbr", "piv_cavity"].into_iter().enumerate() {
            cases.extend(TIES.map(|ties| (name, mode, predictor, ties, ORDERS[(k + l) % 2])));
        }
    }
    for_each("emulated_coasts", &cases, |&(name, mode, predictor, ties, order), folder| {
        let field = stored(name);
        for bound in [1e-1, 1e-2, 1e-4] {
            let config = Config { mode, predictor, ties, ..field.config(BoundKind::Relative, bound) };
            check_compression(&field, &config, 0, order, folder, name);
        }
        let wide = Field::<f64>::new(field.nx, field.ny, |x, y| field.vertex(field.at(x, y)).map(f64::from));
        let config = Config { mode, predictor, ties, ..wide.config(BoundKind::Relative, 1e-2) };
        check_compression(&wide, &config, 0, order, folder, name);
    });
}

/// Tiles that take nearly as many bytes as their values, with masks and without: their words are written over
/// payload that has just been read.
#[test]
#[ignore = "make test-all"]
fn kernels_write_what_the_library_writes_of_tiles_that_fill_their_slots() {
    needs!("g++");
    fn check<T: Real>(config: &Config, order: u32, folder: &Path) {
        let field = Field::<T>::new(160, 97, |x, y| {
            [0, 1].map(|axis| {
                let hash = ((x << 20 | y << 1 | axis) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                let wild = (hash % 2003) as f64 - 1001.0 + 1e-9 * (hash >> 32) as f64;
                match (x / 32 + y / 32) % 3 {
                    1 => wild * 10f64.powi((hash >> 12) as i32 % 12),
                    2 if x % 7 < y % 5 => 0.0,
                    2 if (x + y) % 11 == 0 => f64::NAN,
                    2 => wild,
                    _ => 3.0 + (0.05 * (x + y) as f64).sin(),
                }
            })
        });
        let config = Config { dtype: dtype::<T>(), ..*config };
        check_compression(&field, &config, 0, order, folder, "full slots");
    }
    let mut cases = Vec::new();
    for (k, (mode, predictor)) in FRONTS.into_iter().enumerate() {
        for (l, bound) in [1e-12, 1e-5, 1e-2].into_iter().enumerate() {
            let config = Config::new(160, 97, BoundKind::Relative, bound);
            let coder = CODERS[(k + l) % 2];
            cases.push((Config { mode, predictor, coder, ..config }, ORDERS[(k + l) % 2]));
        }
    }
    for_each("emulated_slots", &cases, |(config, order), folder| {
        check::<f32>(config, *order, folder);
        check::<f64>(config, *order, folder);
    });
}

/// Tables of a field of so many tiles come from a sample of them.
#[test]
#[ignore = "make test-all"]
fn kernels_write_what_the_library_writes_of_many_tiles() {
    needs!("g++");
    // A column of vertices, as tiles then have few, most of which are zero: what is counted wrong would show
    // in groups.
    let field = Field::<f32>::new(1, 32 * 8200 + 7, |_, y| {
        [0.021, 0.034].map(|step| match (y / 32 % 97, y as f64 * step) {
            (0, phase) => phase.sin() + 0.05 * (7.1 * phase).cos(),
            _ => 0.0,
        })
    });
    let cases = [(Coder::Ans, ORDERS[0]), (Coder::Huffman, ORDERS[1])];
    for_each("emulated_tiles", &cases, |&(coder, order), folder| {
        let predictor = Predictor::Lorenzo;
        let config = Config { predictor, coder, ..field.config(BoundKind::Relative, 1e-3) };
        check_compression(&field, &config, 0, order, folder, "many tiles");
    });
}

/// Anchors follow each other through all tiles: what is before one comes from sums of chunks of tiles, and
/// the last one that has a code is looked for, however far away. Much of these fields is land, the whole
/// first column of tiles of some.
#[test]
#[ignore = "make test-all"]
fn kernels_follow_anchors_through_narrow_fields() {
    needs!("g++");
    let mut cases = Vec::new();
    let shapes = [(1, 32 * 1100 + 5), (32 * 700 + 1, 2), (40, 32 * 300), (32 * 299 + 7, 65), (97, 32 * 190)];
    for (k, shape) in shapes.into_iter().enumerate() {
        for (l, land) in [7, 1000, u64::MAX].into_iter().enumerate() {
            cases.push((shape, (k + l) % 2, land, ORDERS[(k / 2 + l) % 2]));
        }
    }
    for_each("emulated_narrow", &cases, |&((nx, ny), choice, land, order), folder| {
        let field = Field::<f32>::new(nx, ny, |x, y| {
            let tile = y / 32 * nx.div_ceil(32) + x / 32;
            // Water: a few tiles in so many, or the first and the last one.
            let is_water = match land {
                u64::MAX => tile == 0 || (x + 1 == nx && y + 1 == ny),
                _ => tile * 0x9e37_79b9 % land < 1 + land / 100,
            };
            let flow =
                |phase: f64| 3.0 + (0.02 * x as f64 + phase).sin() + 2.0 * (0.01 * y as f64 - phase).cos();
            [0.3, 1.7].map(|phase| if is_water && (nx < 33 || x >= 32) { flow(phase) } else { 0.0 })
        });
        let (mode, coder) = ([Mode::BlockWise, Mode::Speculative][choice], CODERS[choice]);
        let config = Config { mode, coder, ..field.config(BoundKind::Relative, 1e-3) };
        let what = format!("land {land}");
        let stream = check_compression(&field, &config, 0, order, folder, &what);
        check_restoration::<f32>(&config, &stream, order, folder, &what);
    });
}

#[test]
#[ignore = "make test-all"]
fn anchors_of_a_group_follow_those_of_the_grid() {
    needs!("g++");
    for seed in 0..400 {
        assert_eq!(emulate("walk", &[&seed]), [0], "seed {seed}");
    }
}

/// The warning of outliers, of many vertices.
#[test]
#[ignore = "make test-all"]
fn kernels_warn_as_the_library_does() {
    needs!("g++");
    for_each("emulated_warning", &[0u64, 1, 10, 300], |&outliers, folder| {
        let mut field = stored("dt256");
        for k in 0..field.len() {
            if (k as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54 < outliers {
                field.components[k % 2][k] = 1e20;
            }
        }
        let config = Config { predictor: Predictor::Lorenzo, ..field.config(BoundKind::Relative, 1e-2) };
        let warnings = field.compressed_block(&config, 0, 1).1.warnings;
        assert_eq!(warnings != 0, outliers > 0);
        check_compression(&field, &config, 0, ORDERS[0], folder, "outliers");
    });
}
