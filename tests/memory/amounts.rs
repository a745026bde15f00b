//! Memory: compressing allocates at most three times the input, decompressing one and a half times
//! the output, whatever the data; up to 1.25 times more for a field of a few rows or columns, which
//! consists of little but lattice lines. And what is constant takes next to nothing.

use crate::support::counting::{alone, peak_of};
use crate::support::fields::{Field, CODERS, FRONTS};
use factz::{compress, decompress, max_stream_bytes, Execution, ViewMut};
use factz::{BoundKind, Config, Predictor, Preserve, Request};

const TWO_THREADS: Execution = Execution { threads: 2, progress: None };

fn smooth(x: u64, y: u64) -> [f64; 2] {
    let (x, y) = (x as f32 * 0.02, y as f32 * 0.03);
    [(x + 0.3 * y).sin() + 0.4 * (2.3 * y).cos(), (0.7 * x).cos() - (1.1 * y + x).sin()].map(f64::from)
}

/// All 24 bits of the mantissas are random.
fn noise(x: u64, y: u64) -> [f64; 2] {
    [0, 1].map(|c| {
        let mut h = (x << 33 ^ y << 1 ^ c).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        h = (h ^ h >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
        (h ^ h >> 32) as u32 as f64 / 2f64.powi(31) - 1.0
    })
}

/// Bytes of the stream, and whether both directions keep to their memory.
fn round_trip(name: &str, field: &Field<f32>, config: Config) -> (u64, bool) {
    let request = Request::new(config).expect("valid");
    let mut stream = vec![0u8; max_stream_bytes(&request) as usize];
    let size = request.field_bytes() as f64;
    let (report, peak) = peak_of(|| {
        let [u, v] = field.views(0);
        compress(&request, u, v, &mut stream, TWO_THREADS).expect("valid")
    });
    let compressing = 1.0 + peak as f64 / size;
    let mut out = field.clone();
    let (_, peak) = peak_of(|| {
        let [u, v] = out.components.each_mut().map(|c| ViewMut::dense(c, config.nx));
        decompress(&config, &stream[..report.stream_bytes as usize], u, v, TWO_THREADS).expect("intact")
    });
    let decompressing = 1.0 + peak as f64 / size;
    let bytes = report.stream_bytes;
    println!("{name}, {config:?}: {size} -> {bytes} bytes");
    println!("    {compressing:.2} x compressing, {decompressing:.2} x decompressing");
    let extra = if config.nx.min(config.ny) < 32 { 1.25 } else { 0.0 };
    (bytes, compressing <= 4.0 + extra && decompressing <= 2.5 + extra)
}

#[test]
fn memory_is_a_small_multiple_of_the_field() {
    let _alone = alone();
    let mut kept = true;
    for (nx, ny) in [(1024, 1024), (1, 300_000), (300_000, 1), (2, 150_000), (150_000, 2)] {
        // Noise at 1e-6: nearly everything is stored, or has the longest codes.
        let [smooth, noise] = [Field::new(nx, ny, smooth), Field::new(nx, ny, noise)];
        for (name, field, bound) in [("smooth", &smooth, 1e-3), ("noise", &noise, 1e-6)] {
            for ((mode, predictor), coder) in FRONTS.into_iter().flat_map(|f| CODERS.map(|c| (f, c))) {
                let config = Config { mode, predictor, coder, ..field.config(BoundKind::Relative, bound) };
                kept &= round_trip(name, field, config).1;
            }
        }
        for bound in [0.0, 1e-2] {
            let config = Config { preserve: Preserve::None, ..noise.config(BoundKind::Relative, bound) };
            kept &= round_trip("noise", &noise, config).1;
        }
    }
    assert!(kept, "more than 4 times the input, or 2.5 times the output");
}

#[test]
fn constant_fields_take_next_to_nothing() {
    let _alone = alone();
    for value in [[0.0, 0.0], [1.25, -0.75], [f64::NAN, f64::NAN]] {
        for (n, most) in [(1024, 2048), (4096, 2 * 4 * 4096 * 4096 / 2000)] {
            let field = Field::new(n, n, |_, _| value);
            for predictor in [Predictor::Hierarchical, Predictor::Lorenzo] {
                for coder in CODERS {
                    let config = Config { predictor, coder, ..field.config(BoundKind::Relative, 1e-3) };
                    let (bytes, kept) = round_trip("constant", &field, config);
                    // Lorenzo tiles know nothing of each other: each repeats the constant.
                    let repeated = (predictor == Predictor::Lorenzo) as u64 * 4 * (n / 32) * (n / 32);
                    assert!(kept && bytes < most + repeated, "{value:?}, {config:?}: {bytes} bytes");
                }
            }
        }
    }
}
