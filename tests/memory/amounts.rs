//! Memory: compressing allocates at most three times the input, decompressing one and a half times
//! the output, whatever the data; up to 1.25 times more for a field of a few rows or columns, which
//! consists of little but lattice lines. And what is constant takes next to nothing.

use crate::support::counting::{alone, peak_of};
use factz::{compress, decompress, max_stream_bytes, Execution};
use factz::{BoundKind, Coder, Config, Mode, Predictor, Preserve, Request};
use factz::{View, ViewMut};

const TWO_THREADS: Execution = Execution { threads: 2, progress: None };

/// A field from a function of the vertex.
fn field(nx: u64, ny: u64, f: impl Fn(u64, u64) -> [f32; 2]) -> [Vec<f32>; 2] {
    let values = (0..nx * ny).map(|k| f(k % nx, k / nx));
    values.fold([Vec::new(), Vec::new()], |[mut u, mut v], [a, b]| {
        u.push(a);
        v.push(b);
        [u, v]
    })
}

fn smooth(x: u64, y: u64) -> [f32; 2] {
    let (x, y) = (x as f32 * 0.02, y as f32 * 0.03);
    [(x + 0.3 * y).sin() + 0.4 * (2.3 * y).cos(), (0.7 * x).cos() - (1.1 * y + x).sin()]
}

/// All 24 bits of the mantissas are random.
fn noise(x: u64, y: u64) -> [f32; 2] {
    [0, 1].map(|c| {
        let mut h = (x << 33 ^ y << 1 ^ c).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        h = (h ^ h >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
        (h ^ h >> 32) as u32 as f32 / 2f32.powi(31) - 1.0
    })
}

/// Bytes of the stream, and whether both directions keep to their memory.
fn round_trip(name: &str, [u, v]: &[Vec<f32>; 2], config: Config) -> (u64, bool) {
    let request = Request::new(config).expect("valid");
    let mut stream = vec![0u8; max_stream_bytes(&request) as usize];
    let size = request.field_bytes() as f64;
    let (report, peak) = peak_of(|| {
        let (u, v) = (View::dense(u, config.nx), View::dense(v, config.nx));
        compress(&request, u, v, &mut stream, TWO_THREADS).expect("valid")
    });
    let compressing = 1.0 + peak as f64 / size;
    let mut out = [vec![0f32; u.len()], vec![0f32; v.len()]];
    let [a, b] = &mut out;
    let (_, peak) = peak_of(|| {
        let (a, b) = (ViewMut::dense(a, config.nx), ViewMut::dense(b, config.nx));
        decompress(&config, &stream[..report.stream_bytes as usize], a, b, TWO_THREADS).expect("intact")
    });
    let decompressing = 1.0 + peak as f64 / size;
    println!(
        "{name}, {:?}, {:?}, {:?}, {:?}: {} -> {} bytes; {compressing:.2} x compressing, {decompressing:.2} x decompressing",
        config.mode, config.predictor, config.coder, config.preserve, size, report.stream_bytes
    );
    let extra = if config.nx.min(config.ny) < 32 { 1.25 } else { 0.0 };
    (report.stream_bytes, compressing <= 4.0 + extra && decompressing <= 2.5 + extra)
}

#[test]
fn memory_is_a_small_multiple_of_the_field() {
    let _alone = alone();
    let mut kept = true;
    for (nx, ny) in [(1024, 1024), (1, 300_000), (300_000, 1), (2, 150_000), (150_000, 2)] {
        for (name, f) in [("smooth", smooth as fn(u64, u64) -> [f32; 2]), ("noise", noise)] {
            let values = field(nx, ny, f);
            for (mode, predictor, coder) in [
                (Mode::BlockWise, Predictor::Hierarchical, Coder::Ans),
                (Mode::Speculative, Predictor::Hierarchical, Coder::Ans),
                (Mode::BlockWise, Predictor::Hierarchical, Coder::Huffman),
                (Mode::BlockWise, Predictor::Lorenzo, Coder::Ans),
                (Mode::BlockWise, Predictor::Lorenzo, Coder::Huffman),
            ] {
                // Noise at 1e-6: nearly everything is stored, or has the longest codes.
                let bound = if name == "noise" { 1e-6 } else { 1e-3 };
                let config =
                    Config { mode, predictor, coder, ..Config::new(nx, ny, BoundKind::Relative, bound) };
                kept &= round_trip(&format!("{name} {nx} x {ny}"), &values, config).1;
            }
        }
        let values = field(nx, ny, noise);
        for bound in [0.0, 1e-2] {
            let config =
                Config { preserve: Preserve::None, ..Config::new(nx, ny, BoundKind::Relative, bound) };
            kept &= round_trip(&format!("noise {nx} x {ny} at {bound}"), &values, config).1;
        }
    }
    assert!(kept, "more than 4 times the input, or 2.5 times the output");
}

#[test]
fn constant_fields_take_next_to_nothing() {
    let _alone = alone();
    for value in [[0.0, 0.0], [1.25, -0.75], [f32::NAN, f32::NAN]] {
        for (n, most) in [(1024, 2048), (4096, 2 * 4 * 4096 * 4096 / 2000)] {
            let values = field(n, n, |_, _| value);
            for predictor in [Predictor::Hierarchical, Predictor::Lorenzo] {
                for coder in [Coder::Ans, Coder::Huffman] {
                    let config = Config { predictor, coder, ..Config::new(n, n, BoundKind::Relative, 1e-3) };
                    let (bytes, kept) = round_trip(&format!("{value:?} {n} x {n}"), &values, config);
                    // Lorenzo tiles know nothing of each other: each repeats the constant.
                    let repeated = (predictor == Predictor::Lorenzo) as u64 * 4 * (n / 32) * (n / 32);
                    assert!(
                        kept && bytes < most + repeated,
                        "{value:?} {n} x {n}, {config:?}: {bytes} bytes"
                    );
                }
            }
        }
    }
}
