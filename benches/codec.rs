//! Speed of the CPU codec in bytes of the field per second: `cargo bench --bench codec`.
//!
//! The field is a smooth synthetic one; FACTZ_BENCH_FIELD=NXxNY:U:V measures the one in the files U
//! and V instead (raw little-endian f32, x fastest). The bound is 1e-2 of the range.

use std::sync::OnceLock;

use divan::{counter::BytesCount, Bencher};
use factz::{compress, decompress, max_stream_bytes, Execution};
use factz::{BoundKind, Config, Mode, Request};
use factz::{View, ViewMut};

/// Modes and numbers of threads.
const CASES: [(Mode, usize); 4] =
    [(Mode::BlockWise, 1), (Mode::BlockWise, 2), (Mode::Speculative, 1), (Mode::Speculative, 2)];

struct Field {
    nx: u64,
    ny: u64,
    u: Vec<f32>,
    v: Vec<f32>,
}

fn main() {
    divan::main();
}

fn field() -> &'static Field {
    static FIELD: OnceLock<Field> = OnceLock::new();
    FIELD.get_or_init(|| match std::env::var("FACTZ_BENCH_FIELD") {
        Ok(description) => read(&description)
            .unwrap_or_else(|| panic!("FACTZ_BENCH_FIELD is {description}, it must be NXxNY:U:V")),
        Err(_) => synthetic(1024, 1024),
    })
}

fn read(description: &str) -> Option<Field> {
    let mut parts = description.splitn(3, ':');
    let (nx, ny) = parts.next()?.split_once('x')?;
    let (nx, ny): (u64, u64) = (nx.parse().ok()?, ny.parse().ok()?);
    let mut values = || -> Option<Vec<f32>> {
        let path = parts.next()?;
        let bytes = std::fs::read(path).unwrap_or_else(|e| panic!("{path}: {e}"));
        assert_eq!(bytes.len() as u64, 4 * nx * ny, "{path} must hold {nx} x {ny} f32 values");
        Some(bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect())
    };
    Some(Field { nx, ny, u: values()?, v: values()? })
}

/// A divergence-free flow: u = -d/dy and v = d/dx of a stream function of random Fourier modes whose
/// energy falls with the wave number.
fn synthetic(nx: u64, ny: u64) -> Field {
    let mut seed = 1u64;
    let mut random = move || {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 40) as f64 / (1u64 << 24) as f64
    };
    let modes: Vec<[f64; 4]> = (0..64)
        .map(|_| {
            let (kx, ky) = ((random() * 33.0).floor() - 16.0, (random() * 33.0).floor() - 16.0);
            let amplitude = (0.1 + random()) / (1.0 + kx * kx + ky * ky).powf(1.5);
            [kx, ky, amplitude, random()]
        })
        .collect();
    let turn = std::f64::consts::TAU;
    let (mut u, mut v) = (Vec::new(), Vec::new());
    for y in 0..ny {
        for x in 0..nx {
            let (x, y) = (x as f64 / nx as f64, y as f64 / ny as f64);
            let (mut a, mut b) = (0.0, 0.0);
            for [kx, ky, amplitude, phase] in &modes {
                let slope = amplitude * (turn * (kx * x + ky * y + phase)).cos();
                a -= ky * slope;
                b += kx * slope;
            }
            u.push(a as f32);
            v.push(b as f32);
        }
    }
    Field { nx, ny, u, v }
}

fn request(mode: Mode) -> Request {
    let field = field();
    let mut config = Config::new(field.nx, field.ny, BoundKind::Relative, 1e-2);
    config.mode = mode;
    Request::new(config).expect("a valid configuration")
}

fn compressed(request: &Request, threads: usize, stream: &mut [u8]) -> usize {
    let field = field();
    let (u, v) = (View::dense(&field.u, field.nx), View::dense(&field.v, field.nx));
    let execution = Execution { threads, ..Execution::default() };
    compress(request, u, v, stream, execution).expect("compresses").stream_bytes as usize
}

#[divan::bench(name = "compress", args = CASES)]
fn bench_compress(bencher: Bencher, (mode, threads): (Mode, usize)) {
    let request = request(mode);
    let mut stream = vec![0; max_stream_bytes(&request) as usize];
    bencher
        .counter(BytesCount::new(request.field_bytes()))
        .bench_local(|| compressed(&request, threads, &mut stream));
}

#[divan::bench(name = "decompress", args = CASES)]
fn bench_decompress(bencher: Bencher, (mode, threads): (Mode, usize)) {
    let (field, request) = (field(), request(mode));
    let mut stream = vec![0; max_stream_bytes(&request) as usize];
    let bytes = compressed(&request, threads, &mut stream);
    let (mut u, mut v) = (vec![0f32; field.u.len()], vec![0f32; field.v.len()]);
    bencher.counter(BytesCount::new(request.field_bytes())).bench_local(|| {
        let (u, v) = (ViewMut::dense(&mut u, field.nx), ViewMut::dense(&mut v, field.nx));
        let execution = Execution { threads, ..Execution::default() };
        decompress(request.config(), &stream[..bytes], u, v, execution).expect("decompresses")
    });
}
