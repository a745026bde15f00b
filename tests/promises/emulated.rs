//! The kernels without a device: compiled for this processor and run thread by thread (tests/emulator), they
//! must write the golden streams, restore the same bits as the library does, and find out damaged streams,
//! without touching anything beside their memory. In two opposite orders of blocks, warps and lanes: what
//! depends on the order would differ in one of them. This shows what the kernels' source does, a device what
//! the machine makes of it: tests/gpu.

use crate::support::golden::*;
use crate::support::{both, fresh_folder, output, root, run};
use factz::grid::missing;
use factz::Real;
use factz::{compare, critical_points, range, CriticalPoint};
use factz::{compress, decompress, max_stream_bytes, Execution};
use factz::{BoundKind, Coder, Config, Dtype, Mode, Predictor, Preserve, Request, Status};
use factz::{Layout, View, ViewMut};
use factz::{SIDE_X_MAX, SIDE_X_MIN, SIDE_Y_MAX, SIDE_Y_MIN};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

const ORDERS: [&str; 2] = ["0", "1"];
const ONE_THREAD: Execution = Execution { threads: 1, progress: None };

static EMULATOR: OnceLock<PathBuf> = OnceLock::new();

/// Builds the emulator, once a process; tests may be processes of their own, each with a folder.
fn build_emulator(test: &str) {
    EMULATOR.get_or_init(|| {
        let program = fresh_folder(&format!("{test}_emulator")).join("emulator");
        run(crate::support::emulator::compiler()
            .arg(crate::support::emulator::source("emulator.cpp"))
            .arg("-o")
            .arg(&program));
        program
    });
}

/// The status that the kernels report, and behind that of a compression the counts.
fn emulate(what: &str, arguments: impl IntoIterator<Item = String>) -> Vec<i64> {
    let mut command = Command::new(EMULATOR.get().expect("it was built"));
    command.arg(what).args(arguments);
    let out = output(&mut command);
    assert!(out.status.success(), "{command:?} ended with {}\n{}", out.status, both(&out));
    let printed = String::from_utf8_lossy(&out.stdout).into_owned();
    printed.split_whitespace().map(|word| word.parse().expect("a number")).collect()
}

fn path_text(path: &Path) -> String {
    path.to_str().expect("paths of tests are text").into()
}

fn bytes_of<T: Real>(values: &[T]) -> Vec<u8> {
    values.iter().flat_map(|x| x.to_bits64().to_le_bytes().into_iter().take(T::BYTES)).collect()
}

/// What the library makes of a stream: the values of u, then those of v.
fn expected<T: Real>(case: &Value, stream: &[u8]) -> Result<[Vec<u8>; 2], Status> {
    let config = config(case, 0);
    let n = (config.nx * config.ny) as usize;
    let mut out = [vec![T::ZERO; n], vec![T::ZERO; n]];
    let [u, v] = &mut out;
    let (u, v) = (ViewMut::dense(u, config.nx), ViewMut::dense(v, config.nx));
    decompress(&config, stream, u, v, ONE_THREAD).map_err(|e| e.status)?;
    Ok(out.map(|c| bytes_of(&c)))
}

/// What the kernels make of a stream.
fn restored(case: &Value, order: &str, folder: &Path, stream: &[u8]) -> Result<[Vec<u8>; 2], i32> {
    restored_field(&config(case, 0), order, folder, stream)
}

/// A stream of any field, restored by the kernels.
fn restored_field(c: &Config, order: &str, folder: &Path, stream: &[u8]) -> Result<[Vec<u8>; 2], i32> {
    let [file, u, v] = ["stream", "u", "v"].map(|name| folder.join(name));
    fs::write(&file, stream).expect("the folder is writable");
    let status = emulate(
        "decompress",
        [order.into(), (c.dtype as u32).to_string()]
            .into_iter()
            .chain([c.nx, c.ny].map(|n| n.to_string()))
            .chain([&file, &u, &v].map(|path| path_text(path))),
    );
    if status[0] != 0 {
        return Err(status[0] as i32);
    }
    Ok([u, v].map(|path| fs::read(path).expect("the output is there")))
}

/// The stream that the kernels write for a case.
fn compressed<T: Real>(manifest: &Value, case: &Value, order: &str, folder: &Path) -> Vec<u8> {
    let pitch = integer(&manifest["inputs"][text(case, "input")], "nx");
    let components = input::<T>(manifest, case);
    write_stream(&config(case, pitch), &components, first_vertex(case, pitch), pitch, order, folder)
}

/// The stream that the kernels write, of a block that begins at an element.
fn write_stream<T: Real>(
    c: &Config,
    components: &[Vec<T>; 2],
    first: u64,
    pitch: u64,
    order: &str,
    folder: &Path,
) -> Vec<u8> {
    write_stream_and_counts(c, components, first, pitch, order, folder).0
}

/// With the counts of the report.
fn write_stream_and_counts<T: Real>(
    c: &Config,
    components: &[Vec<T>; 2],
    first: u64,
    pitch: u64,
    order: &str,
    folder: &Path,
) -> (Vec<u8>, Vec<i64>) {
    let [u, v, stream] = ["in_u", "in_v", "out"].map(|name| folder.join(name));
    for (path, component) in [&u, &v].into_iter().zip(components) {
        fs::write(path, bytes_of(component)).expect("the folder is writable");
    }
    let numbers = [c.mode as u32, c.predictor as u32, c.coder as u32, c.preserve as u32, c.halo, c.pin];
    let counts = emulate(
        "compress",
        [order.into(), (c.dtype as u32).to_string(), c.nx.to_string(), c.ny.to_string()]
            .into_iter()
            .chain([(c.bound_kind as u32).to_string(), format!("{:e}", c.bound)])
            .chain(numbers.map(|x| x.to_string()))
            .chain([c.dx, c.dy].map(|x| format!("{x:e}")))
            .chain([&u, &v].map(|path| path_text(path)))
            .chain([first.to_string(), pitch.to_string(), fill_bits(c), path_text(&stream)]),
    );
    assert_eq!(counts[0], 0, "{c:?}");
    (fs::read(stream).expect("the stream is there"), counts[1..].to_vec())
}

/// Bits of the fill value as a number, or a dash.
fn fill_bits(c: &Config) -> String {
    c.fill_value.map_or("-".into(), |x| missing::fill_bits(c.dtype.bytes() as usize, x).to_string())
}

struct Golden {
    name: String,
    manifest: Arc<Value>,
    case: Value,
    stream: Vec<u8>,
}

fn golden_cases() -> Vec<Golden> {
    let manifest = Arc::new(manifest());
    let cases = manifest["cases"].as_array().expect("a list").clone().into_iter().map(|case| {
        let stream = fs::read(path(&case)).expect("the stream is there");
        Golden { name: text(&case, "name").to_owned(), manifest: manifest.clone(), case, stream }
    });
    cases.collect()
}

/// Does something with each, by as many threads as there are processors; a folder for each.
fn for_each<A: Sync>(name: &str, all: &[A], work: impl Fn(&A, &Path) + Sync) {
    build_emulator(name);
    let (top, next) = (fresh_folder(name), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, |n| n.get()) {
            scope.spawn(|| loop {
                let k = next.fetch_add(1, Ordering::Relaxed);
                let Some(one) = all.get(k) else { break };
                let folder = top.join(k.to_string());
                fs::create_dir(&folder).expect("the folder is writable");
                work(one, &folder);
            });
        }
    });
}

#[test]
fn kernels_write_the_golden_streams() {
    needs!("g++");
    let cases = golden_cases();
    assert!(cases.len() > 100, "{} golden streams", cases.len());
    for_each("emulated_compression", &cases, |Golden { name, manifest, case, stream }, folder| {
        for order in ORDERS {
            let written = match text(case, "dtype") {
                "f32" => compressed::<f32>(manifest, case, order, folder),
                _ => compressed::<f64>(manifest, case, order, folder),
            };
            assert!(written == *stream, "{name}, order {order}: another stream");
        }
    });
}

#[test]
#[ignore = "make test-all"]
fn kernels_restore_the_golden_streams() {
    needs!("g++");
    for_each("emulated_decompression", &golden_cases(), |Golden { name, case, stream, .. }, folder| {
        let expected = match text(case, "dtype") {
            "f32" => expected::<f32>(case, stream),
            _ => expected::<f64>(case, stream),
        };
        for order in ORDERS {
            let restored = restored(case, order, folder, stream);
            assert!(
                restored == Ok(expected.clone().expect("an intact stream")),
                "{name}, order {order}: other values"
            );
        }
    });
}

/// Both components of a field of data/, of which both sides are the same.
fn square(name: &str) -> ([Vec<f32>; 2], u64) {
    let components = ["u", "v"].map(|component| {
        let bytes =
            fs::read(root().join(format!("data/{name}/{component}.f32"))).expect("the field is there");
        bytes
            .chunks_exact(4)
            .map(|b| f32::from_le_bytes(b.try_into().expect("four bytes")))
            .collect::<Vec<f32>>()
    });
    let side = components[0].len().isqrt() as u64;
    assert_eq!(side * side, components[0].len() as u64, "{name}");
    (components, side)
}

#[test]
#[ignore = "make test-all"]
fn kernels_write_what_the_library_writes() {
    needs!("g++");
    let mut cases = Vec::new();
    for name in ["dt256", "nan_inf256"] {
        for (mode, predictor, coder) in [
            (Mode::BlockWise, Predictor::Hierarchical, Coder::Ans),
            (Mode::Speculative, Predictor::Hierarchical, Coder::Huffman),
            (Mode::BlockWise, Predictor::Lorenzo, Coder::Ans),
        ] {
            for order in ORDERS {
                cases.push((name, mode, predictor, coder, order));
            }
        }
    }
    for_each("emulated_fields", &cases, |&(name, mode, predictor, coder, order), folder| {
        let (components, side) = square(name);
        let config = Config { mode, predictor, coder, ..Config::new(side, side, BoundKind::Relative, 1e-2) };
        let request = Request::new(config).expect("a valid configuration");
        let mut stream = vec![0; max_stream_bytes(&request) as usize];
        let [u, v] = components.each_ref().map(|c| View::dense(c, side));
        let report = compress(&request, u, v, &mut stream, ONE_THREAD).expect("valid");
        let written = write_stream(&config, &components, 0, side, order, folder);
        assert!(
            written == stream[..report.stream_bytes as usize],
            "{name}, {mode:?}, {predictor:?}, order {order}"
        );
    });
}

/// Tables of a field of so many tiles come from a sample of them.
#[test]
#[ignore = "make test-all"]
fn kernels_write_what_the_library_writes_of_many_tiles() {
    needs!("g++");
    // A column of vertices, as tiles then have few, most of which are zero: what is counted wrong would show
    // in groups.
    let ny = 32 * 8200 + 7;
    let wave = |k: u64, step: f32| match k / 32 % 97 {
        0 => (k as f32 * step).sin() + 0.05 * (k as f32 * 7.1 * step).cos(),
        _ => 0.0,
    };
    let components = [0.021, 0.034].map(|step| (0..ny).map(|k| wave(k, step)).collect::<Vec<f32>>());
    let cases = [(Coder::Ans, ORDERS[0]), (Coder::Huffman, ORDERS[1])];
    for_each("emulated_tiles", &cases, |&(coder, order), folder| {
        let predictor = Predictor::Lorenzo;
        let config = Config { predictor, coder, ..Config::new(1, ny, BoundKind::Relative, 1e-3) };
        let request = Request::new(config).expect("a valid configuration");
        let mut stream = vec![0; max_stream_bytes(&request) as usize];
        let [u, v] = components.each_ref().map(|c| View::dense(c, 1));
        let report = compress(&request, u, v, &mut stream, ONE_THREAD).expect("valid");
        let written = write_stream(&config, &components, 0, 1, order, folder);
        assert!(written == stream[..report.stream_bytes as usize], "{coder:?}, order {order}");
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
    let modes = [(Mode::BlockWise, Coder::Ans), (Mode::Speculative, Coder::Huffman)];
    for (k, shape) in shapes.into_iter().enumerate() {
        for (l, land) in [7, 1000, u64::MAX].into_iter().enumerate() {
            let (mode, coder) = modes[(k + l) % 2];
            cases.push((shape, mode, coder, land, ORDERS[(k / 2 + l) % 2]));
        }
    }
    for_each("emulated_narrow", &cases, |&((nx, ny), mode, coder, land, order), folder| {
        let value = |k: u64, phase: f32| {
            let (x, y) = (k % nx, k / nx);
            let tile = y / 32 * nx.div_ceil(32) + x / 32;
            // Water: a few tiles in so many, or the first and the last one.
            let is_water = match land {
                u64::MAX => tile == 0 || (x + 1 == nx && y + 1 == ny),
                _ => tile * 0x9e37_79b9 % land < 1 + land / 100,
            };
            match is_water && (nx < 33 || x >= 32) {
                true => 3.0 + (x as f32 * 0.02 + phase).sin() + 2.0 * (y as f32 * 0.01 - phase).cos(),
                false => 0.0,
            }
        };
        let components = [0.3, 1.7].map(|phase| (0..nx * ny).map(|k| value(k, phase)).collect::<Vec<f32>>());
        let config = Config { mode, coder, ..Config::new(nx, ny, BoundKind::Relative, 1e-3) };
        let request = Request::new(config).expect("a valid configuration");
        let mut stream = vec![0; max_stream_bytes(&request) as usize];
        let [u, v] = components.each_ref().map(|c| View::dense(c, nx));
        let report = compress(&request, u, v, &mut stream, ONE_THREAD).expect("valid");
        stream.truncate(report.stream_bytes as usize);
        let what = format!("{nx} x {ny}, {mode:?}, land {land}, order {order}");
        assert!(write_stream(&config, &components, 0, nx, order, folder) == stream, "{what}: another stream");
        let mut out = [(); 2].map(|()| vec![0f32; (nx * ny) as usize]);
        let [u, v] = &mut out;
        decompress(&config, &stream, ViewMut::dense(u, nx), ViewMut::dense(v, nx), ONE_THREAD)
            .expect("valid");
        let restored = restored_field(&config, order, folder, &stream);
        assert!(restored == Ok(out.map(|c| bytes_of(&c))), "{what}: other values");
    });
}

#[test]
#[ignore = "make test-all"]
fn chunks_of_anchors_look_back_at_chunks_that_are_not_done() {
    needs!("g++");
    build_emulator("emulated_look_back");
    for seed in 0..400u64 {
        assert_eq!(emulate("look_back", [seed.to_string()]), [0], "seed {seed}");
    }
}

/// splitmix64
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }

    fn one_of<A: Copy>(&mut self, all: &[A]) -> A {
        all[self.below(all.len() as u64) as usize]
    }
}

/// A block inside a field that is far from zero but for single vertices at corners of its tiles: whose limits
/// they are, which tile looks for them and which tiles are plain is decided at the sides of tiles.
fn compare_with_spots<T: Real>(seed: u64, folder: &Path) {
    let mut random = Random(seed);
    let [nx, ny] = [(); 2].map(|()| random.one_of(&[31, 32, 33, 34, 63, 64, 65, 66, 97]));
    // With ghost vertices around.
    let (pitch, rows) = (nx + 2, ny + 2);
    let mut components = [5.0, 4.0].map(|far| {
        (0..pitch * rows).map(|_| T::from_f64(far + random.below(1000) as f64 * 1e-4)).collect::<Vec<T>>()
    });
    for _ in 0..1 + random.below(5) {
        let [x, y] =
            [pitch, rows].map(|n| (32 * random.below(4) + random.below(5)).saturating_sub(1).min(n - 1));
        let near = random.one_of(&[[0.0, 0.0], [0.001, -0.002], [0.002, 0.001], [-5.0, -4.0], [5.0, -4.0]]);
        for (component, value) in components.iter_mut().zip(near) {
            component[(y * pitch + x) as usize] = T::from_f64(value);
        }
    }
    let halo = random.below(16) as u32;
    let mode = random.one_of(&[Mode::BlockWise, Mode::BlockWise, Mode::Speculative]);
    let layout = Layout { pitch, stride: 1 };
    let config = Config {
        dtype: if T::BYTES == 4 { Dtype::F32 } else { Dtype::F64 },
        u: layout,
        v: layout,
        halo,
        pin: random.below(16) as u32 & !halo,
        mode,
        predictor: match mode {
            Mode::BlockWise => {
                random.one_of(&[Predictor::Hierarchical, Predictor::Hierarchical, Predictor::Lorenzo])
            }
            Mode::Speculative => Predictor::Hierarchical,
        },
        coder: random.one_of(&[Coder::Ans, Coder::Huffman]),
        preserve: random.one_of(&[Preserve::Types, Preserve::Points]),
        ..Config::new(nx, ny, BoundKind::Relative, random.one_of(&[1e-1, 1e-2, 1e-3]))
    };
    let request = Request::new(config).expect("a valid configuration");
    let mut stream = vec![0; max_stream_bytes(&request) as usize];
    let first = pitch + 1;
    let [u, v] = components.each_ref().map(|c| View::strided(c, first as usize, layout));
    let report = compress(&request, u, v, &mut stream, ONE_THREAD).expect("valid");
    let order = ORDERS[seed as usize % 2];
    let written = write_stream(&config, &components, first, pitch, order, folder);
    assert!(written == stream[..report.stream_bytes as usize], "seed {seed}, order {order}: {config:?}");
}

#[test]
#[ignore = "make test-all"]
fn kernels_write_what_the_library_writes_where_few_vertices_are_near_zero() {
    needs!("g++");
    for_each("emulated_spots", &(0..120).collect::<Vec<u64>>(), |&seed, folder| {
        if seed % 4 == 3 {
            compare_with_spots::<f64>(seed, folder);
        } else {
            compare_with_spots::<f32>(seed, folder);
        }
    });
}

/// A field with filled vertices, others that are not finite, and zeros of both signs; a fill value, a bound of 0, or one
/// beyond all values.
fn compare_with_rare<T: Real>(seed: u64, folder: &Path) {
    let mut random = Random(seed);
    let [nx, ny] = [(); 2].map(|()| random.one_of(&[1, 2, 31, 33, 64, 65, 66, 97, 130]));
    let (pitch, rows) = (nx + 2, ny + 2);
    let fill = random.one_of(&[
        None,
        Some(9.96921e36),
        Some(-999.0),
        Some(0.0),
        Some(-0.0),
        Some(f64::NAN),
        Some(2.0),
    ]);
    // Some fields are rough, others smooth, and some far from zero but in spots.
    let (far, rough) = (random.one_of(&[0.0, 0.0, 5.0]), random.one_of(&[0.01, 0.2, 1.0]));
    let kinds = random.one_of(&[4, 40, 400]);
    let mut components = [Vec::new(), Vec::new()];
    for k in 0..pitch * rows {
        let (x, y) = ((k % pitch) as f64, (k / pitch) as f64);
        let mut vertex =
            [far + (0.21 * x).sin() + (0.17 * y).cos(), far + (0.13 * x).cos() - (0.19 * y).sin()];
        for value in &mut vertex {
            *value += rough * (random.below(1000) as f64 * 1e-3 - 0.5);
            if rough == 1.0 {
                *value = value.round();
            }
        }
        let which = random.below(2) as usize;
        match random.below(kinds) {
            0 => vertex[which] = fill.unwrap_or(-0.0),
            1 => vertex = [fill.unwrap_or(0.0); 2],
            2 => vertex[which] = -0.0,
            3 => {
                vertex = random.one_of(&[
                    [0.0, -0.0],
                    [-0.0, -0.0],
                    [0.0, 0.0],
                    [f64::NAN, 1.0],
                    [-0.0, f64::INFINITY],
                ])
            }
            _ => {}
        }
        // Land.
        if x > 20.0 && x < 60.0 && y > 10.0 && y < 50.0 && seed % 3 == 0 {
            vertex = [fill.unwrap_or(0.0); 2];
        }
        for (component, value) in components.iter_mut().zip(vertex) {
            component.push(T::from_f64(value));
        }
    }
    let halo = random.one_of(&[0, 0, 15]);
    let mode = random.one_of(&[Mode::BlockWise, Mode::BlockWise, Mode::Speculative]);
    let layout = Layout { pitch, stride: 1 };
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
        dtype: if T::BYTES == 4 { Dtype::F32 } else { Dtype::F64 },
        u: layout,
        v: layout,
        halo,
        pin: if halo == 0 { random.one_of(&[0, 0, 15]) } else { 0 },
        mode,
        predictor: match mode {
            Mode::BlockWise => random.one_of(&[Predictor::Hierarchical, Predictor::Lorenzo]),
            Mode::Speculative => Predictor::Hierarchical,
        },
        coder: random.one_of(&[Coder::Ans, Coder::Huffman]),
        preserve: random.one_of(&[Preserve::Types, Preserve::Points, Preserve::None]),
        fill_value: fill,
        ..Config::new(nx, ny, kind, bound)
    };
    let request = Request::new(config).expect("a valid configuration");
    let mut stream = vec![0; max_stream_bytes(&request) as usize];
    let first = pitch + 1;
    let [u, v] = components.each_ref().map(|c| View::strided(c, first as usize, layout));
    let report = compress(&request, u, v, &mut stream, ONE_THREAD).expect("valid");
    stream.truncate(report.stream_bytes as usize);
    let order = ORDERS[seed as usize % 2];
    let (written, counts) = write_stream_and_counts(&config, &components, first, pitch, order, folder);
    assert!(written == stream, "seed {seed}, order {order}: {config:?}");
    let expected = [
        report.exact_vertices,
        report.nonfinite_vertices,
        report.zero_vertices,
        report.critical_points,
        report.filled_vertices,
        report.warnings as u64,
    ];
    assert_eq!(counts, expected.map(|x| x as i64), "seed {seed}, order {order}: {config:?}");
    let dense = Config { u: Layout { pitch: nx, stride: 1 }, v: Layout { pitch: nx, stride: 1 }, ..config };
    let mut out = [vec![T::ZERO; (nx * ny) as usize], vec![T::ZERO; (nx * ny) as usize]];
    let [u, v] = &mut out;
    decompress(&dense, &stream, ViewMut::dense(u, nx), ViewMut::dense(v, nx), ONE_THREAD)
        .expect("an intact stream");
    let case = serde_json::json!({
        "nx": nx, "ny": ny, "dtype": if T::BYTES == 4 { "f32" } else { "f64" }, "bound": 1, "dx": 1, "dy": 1,
        "halo": 0, "pin": 0, "mode": "block-wise", "preserve": "types", "bound_kind": "absolute",
    });
    for order in ORDERS {
        let restored = restored(&case, order, folder, &stream).expect("an intact stream");
        assert!(restored == out.each_ref().map(|c| bytes_of(c)), "seed {seed}, order {order}: {config:?}");
    }
}

#[test]
#[ignore = "make test-all"]
fn kernels_do_what_the_library_does_with_fill_values_and_signs() {
    needs!("g++");
    for_each("emulated_rare", &(0..90).collect::<Vec<u64>>(), |&seed, folder| {
        if seed % 3 == 2 {
            compare_with_rare::<f64>(seed, folder);
        } else {
            compare_with_rare::<f32>(seed, folder);
        }
    });
}

/// The warning of outliers, of many vertices.
#[test]
#[ignore = "make test-all"]
fn kernels_warn_as_the_library_does() {
    needs!("g++");
    for_each("emulated_warning", &[0u64, 1, 10, 300], |&outliers, folder| {
        let (mut components, side) = square("dt256");
        for k in 0..components[0].len() {
            if (k as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 54 < outliers {
                components[k % 2][k] = 1e20;
            }
        }
        let config =
            Config { predictor: Predictor::Lorenzo, ..Config::new(side, side, BoundKind::Relative, 1e-2) };
        let request = Request::new(config).expect("a valid configuration");
        let mut stream = vec![0; max_stream_bytes(&request) as usize];
        let [u, v] = components.each_ref().map(|c| View::dense(c, side));
        let report = compress(&request, u, v, &mut stream, ONE_THREAD).expect("valid");
        let (_, counts) = write_stream_and_counts(&config, &components, 0, side, ORDERS[0], folder);
        assert_eq!(report.warnings != 0, outliers > 0);
        assert_eq!(counts[5], report.warnings as i64, "{outliers}");
    });
}

/// A copy with some bytes changed, and a checksum that says nothing of it.
fn damaged(stream: &[u8], seed: usize) -> Vec<u8> {
    let mut copy = stream.to_vec();
    let mut state = (seed as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for _ in 0..1 + seed % 3 {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        // Behind the fixed part of the header, whose damage ends everything at once.
        let from = factz::stream::header::HEADER_BYTES;
        let at = from + (state >> 33) as usize % (copy.len() - from).max(1);
        if let Some(byte) = copy.get_mut(at) {
            *byte ^= 1 << (state >> 60 & 7);
        }
    }
    factz::stream::checksum::seal(&mut copy);
    copy
}

#[test]
#[ignore = "make test-all"]
fn kernels_find_out_damaged_streams_as_the_library_does() {
    needs!("g++");
    let cases: Vec<_> = golden_cases().into_iter().filter(|golden| golden.stream.len() > 200).collect();
    let found = AtomicUsize::new(0);
    for_each("emulated_damage", &cases, |Golden { name, case, stream, .. }, folder| {
        for seed in 0..2 {
            let stream = damaged(stream, seed);
            let expected = match text(case, "dtype") {
                "f32" => expected::<f32>(case, &stream),
                _ => expected::<f64>(case, &stream),
            };
            let restored = restored(case, ORDERS[seed % 2], folder, &stream);
            match expected {
                Ok(values) => assert!(restored == Ok(values), "{name}, damage {seed}: {:?}", restored.err()),
                Err(status) => {
                    assert_eq!(restored.err(), Some(status as i32), "{name}, damage {seed}");
                    found.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    });
    assert!(found.into_inner() > 20, "the damage was found out too seldom");
}

/// A field with zeros, missing values and critical points, and a changed copy.
fn noisy<T: Real>(random: &mut Random, n: u64, fill: f64) -> [Vec<T>; 4] {
    let draw = |random: &mut Random| match random.below(24) {
        0 => f64::NAN,
        1 => f64::INFINITY,
        2..=4 => fill,
        5 => 0.0,
        6 => -0.0,
        7 => [1e-40, 3e37, -3e37][random.below(3) as usize],
        _ => random.below(2001) as f64 - 1000.0,
    };
    let component = |random: &mut Random| {
        let before: Vec<f64> = (0..n).map(|_| draw(random)).collect();
        let after = before.iter().map(|&x| match random.below(12) {
            0 => draw(random),
            1 => x + random.below(9) as f64 - 4.0,
            _ => x,
        });
        let after = after.collect::<Vec<_>>();
        [before, after].map(|values| values.into_iter().map(T::from_f64).collect::<Vec<T>>())
    };
    let ([u0, u1], [v0, v1]) = (component(random), component(random));
    [u0, v0, u1, v1]
}

/// The words of a comparison, a range and critical points as the kernels write them.
fn analysis_words<T: Real>(request: &Request, first: [View<'_, T>; 2], other: [View<'_, T>; 2]) -> Vec<u64> {
    let c = compare(request, first, other, true, 1).expect("the views cover the grid");
    let mut words = vec![0, c.violations(), c.critical_points, c.critical_points_after, c.lost, c.spurious];
    words.extend([
        c.type_changed,
        c.ties,
        c.tie_changed,
        c.tie_created,
        c.nonfinite_vertices,
        c.missing_changed,
    ]);
    words.extend([
        c.zero_vertices,
        c.zero_changed,
        c.bound_exceeded,
        c.bound.to_bits(),
        c.max_error.to_bits(),
    ]);
    words.push(c.psnr.filter(|p| !p.is_nan()).map_or(0x7ff8 << 48, f64::to_bits));
    words.extend(c.kinds);
    words.extend([c.filled_vertices, 0, 0, 0, 0, 0, 0, 0]);
    let r = range(request, first, 1).expect("the views cover the grid");
    words.extend([0, r.low.to_bits(), r.high.to_bits(), r.nonfinite_vertices, r.filled_vertices]);
    words.extend([r.zero_vertices, 0, 0]);
    let points = critical_points(request, first, 1).expect("the views cover the grid");
    words.push(points.len() as u64);
    let of = |p: &CriticalPoint| {
        let last = p.triangle as u64 | (p.kind as u64) << 32;
        [p.x_cell, p.y_cell, p.x.to_bits(), p.y.to_bits(), last]
    };
    words.extend(points.iter().flat_map(of));
    words
}

/// The results of the kernels for a block of a field whose vertex (0, 0) is element `first`.
fn emulated_analysis<T: Real>(
    request: &Request,
    fields: &[Vec<T>; 4],
    first: u64,
    order: &str,
    folder: &Path,
) -> Vec<u64> {
    let c = request.config();
    let paths = ["u", "v", "other_u", "other_v"].map(|name| folder.join(name));
    for (path, values) in paths.iter().zip(fields) {
        fs::write(path, bytes_of(values)).expect("the folder is writable");
    }
    let results = folder.join("results");
    let side = |bit: u32| (c.halo & bit != 0) as u64;
    let numbers = [c.nx, c.ny, c.nx + side(SIDE_X_MAX), c.ny + side(SIDE_Y_MAX), c.bound_kind as u64];
    let fill = c.fill_value.map(|fill| T::from_f64(fill).to_bits64());
    let status = emulate(
        "analyze",
        [order.into(), (c.dtype as u32).to_string()]
            .into_iter()
            .chain(numbers.map(|x| x.to_string()))
            .chain([format!("{:e}", c.bound)])
            .chain([fill.is_some() as u64, fill.unwrap_or(0)].map(|x| x.to_string()))
            .chain([c.dx, c.dy].map(|x| format!("{x:e}")))
            .chain(paths.each_ref().map(|path| path_text(path)))
            .chain([first.to_string(), c.u.pitch.to_string(), path_text(&results)]),
    );
    assert_eq!(status, [0], "{c:?}");
    let bytes = fs::read(results).expect("the results are there");
    bytes.chunks_exact(8).map(|b| u64::from_le_bytes(b.try_into().expect("eight bytes"))).collect()
}

/// Blocks of a random field, with ghosts on the sides that have a neighbour.
fn analyze_blocks<T: Real>(seed: u64, folder: &Path) {
    let mut random = Random(seed);
    // Widths of warps and of blocks, and about them.
    let columns = random.one_of(&[1, 2, 3, 65, 129, 130, 257, 258, 300]);
    let rows = random.one_of(&[1, 2, 3, 31, 33, 65, 70]);
    let fill = random.one_of(&[9.96921e36, 0.0, 7.0]);
    let fields = noisy::<T>(&mut random, columns * rows, fill);
    let layout = Layout { pitch: columns, stride: 1 };
    let mut piece = |n: u64, sizes: &[u64]| {
        let first = [0, 1, random.below(n)][random.below(3) as usize].min(n - 1);
        let size = [random.one_of(sizes), n, 1 + random.below(n)][random.below(3) as usize];
        (first, size.min(n - first))
    };
    let ((x0, nx), (y0, ny)) = (piece(columns, &[64, 128, 256]), piece(rows, &[32, 64]));
    let sides = [(SIDE_X_MIN, x0 > 0), (SIDE_X_MAX, x0 + nx < columns)];
    let sides = sides.into_iter().chain([(SIDE_Y_MIN, y0 > 0), (SIDE_Y_MAX, y0 + ny < rows)]);
    let halo = sides.filter(|side| side.1).map(|side| side.0).sum();
    let config = Config {
        dtype: if T::BYTES == 4 { Dtype::F32 } else { Dtype::F64 },
        u: layout,
        v: layout,
        halo,
        dx: random.one_of(&[1.0, 0.75]),
        fill_value: random.one_of(&[None, Some(fill), Some(fill)]),
        ..Config::new(nx, ny, random.one_of(&[BoundKind::Relative, BoundKind::Absolute]), 1e-3)
    };
    let request = Request::new(config).expect("a valid configuration");
    let first = y0 * columns + x0;
    let [u, v, other_u, other_v] = fields.each_ref().map(|c| View::strided(c, first as usize, layout));
    let expected = analysis_words(&request, [u, v], [other_u, other_v]);
    for order in ORDERS {
        let found = emulated_analysis(&request, &fields, first, order, folder);
        assert!(found == expected, "seed {seed}, order {order}: {config:?}\n{found:?}\n{expected:?}");
    }
}

#[test]
#[ignore = "make test-all"]
fn kernels_find_what_the_library_finds_in_blocks() {
    needs!("g++");
    for_each("emulated_analysis", &(0..60).collect::<Vec<u64>>(), |&seed, folder| {
        if seed % 3 == 2 {
            analyze_blocks::<f64>(seed, folder);
        } else {
            analyze_blocks::<f32>(seed, folder);
        }
    });
}
