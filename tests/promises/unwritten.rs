//! No kernel reads a part of the workspace that nobody wrote: shown without a device, by the emulator with each read and
//! write of the kernels watched (tests/emulator/reads.cpp).

use crate::support::{fresh_folder, run};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A flow with still water and land (zeros), with noise whose values are stored, with missing values, or shifted far from zero.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Flow,
    Land,
    Noise,
    Missing,
    Far,
}

fn value(kind: Kind, axis: usize, x: u64, y: u64) -> f64 {
    let (fx, fy) = (x as f64, y as f64);
    let flow = [(0.2 * fx + 0.1 * fy).sin(), (0.15 * fx - 0.12 * fy).cos()][axis];
    let hash = ((x * 73_856_093) ^ (y * 19_349_663) ^ ((axis as u64 + 1) * 83_492_791)) % 10_007;
    match kind {
        Kind::Flow => flow,
        Kind::Land if x > 40 || (0.1 * fx).sin() * (0.1 * fy).cos() > 0.3 => 0.0,
        Kind::Land => flow,
        Kind::Noise => (hash as f64 - 5000.0) * 10f64.powi((hash % 60) as i32 - 30),
        Kind::Missing if (0.1 * fx).sin() > 0.8 || hash < 50 => f64::NAN,
        Kind::Missing => flow,
        Kind::Far => 5.0 + 0.01 * flow,
    }
}

fn write_field(kind: Kind, nx: u64, ny: u64, double: bool, folder: &Path) {
    for (axis, name) in ["u", "v"].into_iter().enumerate() {
        let values = (0..nx * ny).map(|k| value(kind, axis, k % nx, k / nx));
        let bytes: Vec<u8> = match double {
            true => values.flat_map(f64::to_le_bytes).collect(),
            false => values.flat_map(|x| (x as f32).to_le_bytes()).collect(),
        };
        std::fs::write(folder.join(name), bytes).expect("the folder is writable");
    }
}

/// The emulator with every read of the kernels watched.
fn build(folder: &Path) -> PathBuf {
    let [object, program] = ["emulator.o", "emulator"].map(|name| folder.join(name));
    run(crate::support::emulator::compiler()
        .args(["-fsanitize=thread", "-DFACTZ_WATCH_READS", "-c"])
        .arg(crate::support::emulator::source("emulator.cpp"))
        .arg("-o")
        .arg(&object));
    let compiler = crate::support::emulator::compiler().get_program().to_owned();
    run(Command::new(compiler)
        .args(["-std=c++17", "-O2"])
        .arg(crate::support::emulator::source("reads.cpp"))
        .arg(&object)
        .arg("-o")
        .arg(&program));
    program
}

#[test]
#[ignore = "make test-all"]
fn kernels_read_what_was_written() {
    needs!("g++");
    let folder = fresh_folder("unwritten");
    let program = build(&folder);
    std::thread::scope(|scope| {
        for kind in [Kind::Flow, Kind::Land, Kind::Noise, Kind::Missing, Kind::Far] {
            let (program, own) = (&program, folder.join(format!("{kind:?}")));
            std::fs::create_dir(&own).expect("the folder is writable");
            scope.spawn(move || watch(program, kind, &own));
        }
    });
}

/// Whether the status, which counts follow, is that of success.
fn is_good(out: &Output) -> bool {
    out.stdout.split(u8::is_ascii_whitespace).next() == Some(b"0")
}

fn watch(program: &Path, kind: Kind, folder: &Path) {
    // Mode and predictor.
    let configurations = [("0", "0"), ("0", "1"), ("1", "0")];
    for (nx, ny) in [(33, 31), (98, 34)] {
        for double in [false, true] {
            write_field(kind, nx, ny, double, folder);
            for (k, (mode, predictor)) in configurations.into_iter().enumerate() {
                let coder = ((k + usize::from(double)) % 2).to_string();
                let (dtype, nx, ny) = (u8::from(double).to_string(), nx.to_string(), ny.to_string());
                let watched = |arguments: &[&str]| {
                    let out = run(Command::new(program).current_dir(folder).args(arguments));
                    assert!(is_good(&out), "{kind:?}: {arguments:?}");
                };
                let of_field = ["0", &dtype, &nx, &ny];
                let of_kernels = ["1", "1e-2", mode, predictor, &coder, "2", "0", "0", "1", "1"];
                let files = ["u", "v", "0", &nx, "-", "stream"];
                watched(&[&["compress"], &of_field[..], &of_kernels, &files].concat());
                watched(&[&["decompress"], &of_field[..], &["stream", "u2", "v2"]].concat());
            }
        }
    }
}

/// How often each kernel reads, for a field of one column or one row of vertices that is all land but for each
/// twentieth tile, the first tile of each row included.
fn reads(
    program: &Path,
    folder: &Path,
    nx: u64,
    ny: u64,
    mode: &str,
    predictor: &str,
) -> BTreeMap<String, u64> {
    for (axis, name) in ["u", "v"].into_iter().enumerate() {
        let water = |k: u64| k % nx >= 32 && (k % nx / 32 + k / nx / 32) % 20 == 1;
        let values = (0..nx * ny).map(|k| match nx < 32 || water(k) {
            true => 3.0 + value(Kind::Flow, axis, k % nx, k / nx) as f32,
            false => 0.0,
        });
        std::fs::write(folder.join(name), values.flat_map(f32::to_le_bytes).collect::<Vec<u8>>())
            .expect("the folder is writable");
    }
    let [nx, ny] = [nx, ny].map(|n| n.to_string());
    let of_field = ["0", "0", &nx, &ny];
    let of_kernels =
        ["1", "1e-2", mode, predictor, "0", "2", "0", "0", "1", "1", "u", "v", "0", &nx, "-", "stream"];
    let mut all = BTreeMap::new();
    for arguments in [
        [&["compress"], &of_field[..], &of_kernels].concat(),
        [&["decompress"], &of_field[..], &["stream", "u2", "v2"]].concat(),
    ] {
        let command = &mut Command::new(program);
        let out = run(command.current_dir(folder).env("FACTZ_COUNT_READS", "1").args(&arguments));
        assert!(is_good(&out), "{arguments:?}");
        for line in String::from_utf8_lossy(&out.stderr).lines() {
            let (kernel, count) = line.rsplit_once(' ').expect("a kernel and a number");
            all.insert(kernel.to_owned(), count.parse().expect("a number"));
        }
    }
    all
}

/// Four times the field takes four times the reads of every kernel, however narrow it is: no kernel reads for each tile
/// what is before it.
#[test]
#[ignore = "make test-all"]
fn no_kernel_is_quadratic_in_a_narrow_field() {
    needs!("g++");
    let folder = fresh_folder("narrow");
    let program = build(&folder);
    // One column of vertices, two columns of tiles of which the first one is land, and one row.
    let shapes = [(1, 32 * 64, false), (64, 32 * 40, false), (32 * 64, 1, true)];
    for ((nx, ny, grows_x), (mode, predictor)) in shapes.into_iter().zip([("0", "0"), ("1", "0"), ("0", "1")])
    {
        let small = reads(&program, &folder, nx, ny, mode, predictor);
        let [many_x, many_y] = if grows_x { [4, 1] } else { [1, 4] };
        let large = reads(&program, &folder, many_x * nx, many_y * ny, mode, predictor);
        for (kernel, count) in large {
            let before = small.get(&kernel).copied().unwrap_or(0);
            println!("{nx} x {ny}, mode {mode}, predictor {predictor}: {kernel} {before} -> {count}");
            // A kernel with a fixed number of reads may have one more step.
            assert!(count <= 5 * before + 5000, "{nx} x {ny}: {kernel} reads {before}, then {count}");
            // Each anchor once, stacks and all, not for each row what is above it (137,000 for each of 512 tiles).
            let tiles = (many_x * nx).div_ceil(32) * (many_y * ny).div_ceil(32);
            assert!(kernel != "anchor_values" || count <= 2000 * tiles + 100_000, "{nx} x {ny}: {count}");
        }
    }
}
