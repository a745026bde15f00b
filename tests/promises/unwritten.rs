//! No kernel reads a part of the workspace that nobody wrote, or that holds something else by then; and each
//! kernel reads and writes what the table of launches (src/cuda/schedule.rs) declares: shown without a
//! device, by the emulator with each read and write of the kernels watched (tests/emulator/reads.cpp).

use crate::emulated::fixes::use_of_data;
use crate::support::fields::{bytes_of, volume, Field};
use crate::support::{emulator, fresh_folder, run};
use factz::Real;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Mode and predictor, by their numbers.
const FRONTS: [[u32; 2]; 3] = [[0, 0], [0, 1], [1, 0]];

/// A flow with still water and land (zeros), with noise whose values are stored, with missing values, or
/// shifted far from zero, or far from zero but around one point, with land in a corner.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Flow,
    Land,
    Noise,
    Missing,
    Far,
    Point,
}

/// Declared, and used by fields that are too large or too rare for this test: kernel, use, content.
const RARE: [(&str, &str); 12] = [
    // Damaged streams.
    ("decode_volume_huffman", "writes control"),
    ("decode_volume_rans", "writes control"),
    ("mark_chunks", "writes control"),
    // Rounds of repair behind the 127th.
    ("repair", "writes marked_blocks"),
    ("repair_planes", "writes marked_blocks"),
    ("repair_volume", "writes marked_blocks"),
    // More than 2^21 tiles.
    ("cheap_bounds", "writes hard_tiles"),
    ("determinant_bounds", "reads hard_tiles"),
    // Copies of four integers at once are not watched.
    ("speculative_masked", "reads anchor_codes"),
    ("speculative_interior", "reads anchor_codes"),
    ("border_tiles", "reads anchor_codes"),
    ("speculative_border", "reads anchor_codes"),
];

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
        Kind::Point if x < 20 && y > 140 => 0.0,
        Kind::Point => [fx - 100.0, fy - 81.3][axis] / 10.0,
    }
}

fn write_field<T: Real>(folder: &Path, nx: u64, ny: u64, vertex: impl Fn(u64, u64) -> [f64; 2]) {
    for (name, bytes) in ["u", "v"].iter().zip(Field::<T>::new(nx, ny, vertex).bytes()) {
        std::fs::write(folder.join(name), bytes).expect("the folder is writable");
    }
}

/// The emulator with every read of the kernels watched.
fn build(folder: &Path) -> PathBuf {
    let [object, program] = ["emulator.o", "emulator"].map(|name| folder.join(name));
    run(emulator::compiler()
        .args(["-fsanitize=thread", "-DFACTZ_WATCH_READS", "-c"])
        .arg(emulator::source("emulator.cpp"))
        .arg("-o")
        .arg(&object));
    let compiler = emulator::compiler().get_program().to_owned();
    run(Command::new(compiler)
        .args(["-std=c++17", "-O2"])
        .arg(emulator::source("reads.cpp"))
        .arg(&object)
        .arg("-o")
        .arg(&program));
    program
}

#[test]
#[ignore = "make test-all"]
fn kernels_use_what_is_declared_and_written() {
    needs!("g++");
    let folder = fresh_folder("unwritten");
    let program = build(&folder);
    let said = std::thread::scope(|scope| {
        let kinds = [Kind::Flow, Kind::Land, Kind::Noise, Kind::Missing, Kind::Far, Kind::Point];
        let watched = kinds.map(|kind| {
            let (program, own) = (&program, folder.join(format!("{kind:?}")));
            std::fs::create_dir(&own).expect("the folder is writable");
            scope.spawn(move || watch(program, kind, &own))
        });
        watched.map(|thread| thread.join().expect("a thread that ends")).concat()
    });
    let of_volumes = folder.join("volumes");
    std::fs::create_dir(&of_volumes).expect("the folder is writable");
    let of_fixes = folder.join("fixes");
    std::fs::create_dir(&of_fixes).expect("the folder is writable");
    let said = said + &watch_volumes(&program, &of_volumes) + &use_of_data(&program, &of_fixes);
    let after = |word: &str| -> BTreeSet<(&str, &str)> {
        let lines = said.lines().filter_map(|line| line.strip_prefix(word)?.strip_prefix(' '));
        lines.map(|line| line.split_once(' ').expect("a kernel, and a use of a region")).collect()
    };
    let (declared, used) = (after("declared"), after("used"));
    assert!(declared.len() > 150, "{} uses", declared.len());
    for rare in RARE {
        assert!(declared.contains(&rare) && !used.contains(&rare), "{rare:?} is no exception");
    }
    let unused: BTreeSet<_> = declared.difference(&used).copied().filter(|one| !RARE.contains(one)).collect();
    assert!(unused.is_empty(), "declared and never seen: {unused:?}");
}

/// Lets the watched kernels compress the field of a folder and restore it in both orders of blocks. Returns
/// what they say on standard error, with a variable that makes them list something.
fn run_kernels(
    program: &Path,
    folder: &Path,
    list: &str,
    grid: [u64; 2],
    dtype: u32,
    front: [u32; 2],
    coder: usize,
) -> String {
    let [nx, ny] = grid;
    let [mode, predictor] = front;
    // Ties take turns with the coders and fronts.
    let ties = (coder + (2 * mode + predictor) as usize) % 3;
    let compress = format!(
        "compress 0 {dtype} {nx} {ny} 1 {ny} 1 1e-2 {mode} {predictor} {coder} 2 {ties} 0 0 0 1 1 u v 0 {nx} - stream"
    );
    let [decompress, backwards] =
        [0, 1].map(|order| format!("decompress {order} {dtype} {nx} {ny} 1 {ny} stream u2 v2 -"));
    let said = [compress, decompress, backwards].map(|arguments| {
        let command = &mut Command::new(program);
        command.current_dir(folder).env(list, "1").args(arguments.split(' '));
        let out = run(command);
        // The status, which counts follow, is that of success.
        assert_eq!(out.stdout.split(u8::is_ascii_whitespace).next(), Some(&b"0"[..]), "{arguments}");
        String::from_utf8_lossy(&out.stderr).into_owned()
    });
    said.concat()
}

/// Lists of the data that the kernels use for volumes of all kinds, with and without ghosts.
fn watch_volumes(program: &Path, folder: &Path) -> String {
    let mut said = String::new();
    // The last one is stored.
    for kind in 0..7 {
        let (dtype, coder, halo) = (kind % 2, kind / 2 % 2, kind % 3);
        let write = |name: &str, bytes: Vec<u8>| std::fs::write(folder.join(name), bytes).expect("writable");
        let shape = [20, 17, 18];
        let names = ["u", "v", "w"];
        match dtype {
            0 => names.iter().zip(volume::<f32>(shape, kind)).for_each(|(name, c)| write(name, bytes_of(&c))),
            _ => names.iter().zip(volume::<f64>(shape, kind)).for_each(|(name, c)| write(name, bytes_of(&c))),
        }
        // Ghosts before the first column, in front of which nothing is read.
        let ghosts = (halo > 0) as u64;
        let bound = ["1e-1", "1e-1", "1e-7", "1e-1", "1e-1", "1e-1", "0"][kind];
        let size = format!("{} 17 18", 20 - ghosts);
        let compress = format!(
            "compress_volume {order} {dtype} {size} 17 1 {bound} {coder} 2 0 {ghosts} 0 0 1 1 1 u v w {ghosts} 20 - stream",
            order = kind % 2
        );
        let decompress = format!("decompress_volume 0 {dtype} {size} stream u2 v2 w2");
        for arguments in [compress, decompress] {
            let command = &mut Command::new(program);
            command.current_dir(folder).env("FACTZ_LIST_DATA", "1").args(arguments.split(' '));
            let out = run(command);
            assert_eq!(out.stdout.split(|&b| b <= b' ').next(), Some(&b"0"[..]), "{arguments}");
            said += &String::from_utf8_lossy(&out.stderr);
        }
    }
    said
}

/// Lists of the data that the kernels use for fields of a kind.
fn watch(program: &Path, kind: Kind, folder: &Path) -> String {
    let mut said = String::new();
    let grids: &[_] = if kind == Kind::Point { &[(230, 170)] } else { &[(33, 31), (98, 34)] };
    for &(nx, ny) in grids {
        for dtype in [0, 1] {
            let vertex = |x, y| [0, 1].map(|axis| value(kind, axis, x, y));
            match dtype {
                0 => write_field::<f32>(folder, nx, ny, vertex),
                _ => write_field::<f64>(folder, nx, ny, vertex),
            }
            for (k, front) in FRONTS.into_iter().enumerate() {
                let coder = (k + dtype as usize) % 2;
                said += &run_kernels(program, folder, "FACTZ_LIST_DATA", [nx, ny], dtype, front, coder);
            }
        }
    }
    said
}

/// How often each kernel reads, for a field of one column or one row of vertices that is all land but for
/// each twentieth tile, the first tile of each row included.
fn reads(program: &Path, folder: &Path, [nx, ny]: [u64; 2], front: [u32; 2]) -> BTreeMap<String, u64> {
    write_field::<f32>(folder, nx, ny, |x, y| {
        let is_water = nx < 32 || x >= 32 && (x / 32 + y / 32) % 20 == 1;
        [0, 1].map(|axis| if is_water { 3.0 + value(Kind::Flow, axis, x, y) } else { 0.0 })
    });
    let said = run_kernels(program, folder, "FACTZ_COUNT_READS", [nx, ny], 0, front, 0);
    let counts = said.lines().map(|line| {
        let (kernel, count) = line.rsplit_once(' ').expect("a kernel and a number");
        (kernel.to_owned(), count.parse().expect("a number"))
    });
    counts.collect()
}

/// Four times the field takes four times the reads of every kernel, however narrow it is: no kernel reads for
/// each tile what is before it.
#[test]
#[ignore = "make test-all"]
fn no_kernel_is_quadratic_in_a_narrow_field() {
    needs!("g++");
    let folder = fresh_folder("narrow");
    let program = build(&folder);
    // One column of vertices, two columns of tiles of which the first one is land, and one row.
    let shapes = [([1, 32 * 64], [1, 4]), ([64, 32 * 40], [1, 4]), ([32 * 64, 1], [4, 1])];
    for (([nx, ny], times), front) in shapes.into_iter().zip([FRONTS[0], FRONTS[2], FRONTS[1]]) {
        let [many_x, many_y] = [nx * times[0], ny * times[1]];
        let small = reads(&program, &folder, [nx, ny], front);
        let large = reads(&program, &folder, [many_x, many_y], front);
        for (kernel, count) in large {
            let before = small.get(&kernel).copied().unwrap_or(0);
            println!("{nx} x {ny}, mode and predictor {front:?}: {kernel} {before} -> {count}");
            // A kernel with a fixed number of reads may have one more step.
            assert!(count <= 5 * before + 5000, "{nx} x {ny}: {kernel} reads {before}, then {count}");
            // Each anchor once, stacks and all, not for each row what is above it (137,000 for each of 512
            // tiles), and what a warp takes for a row of tiles, of which it does one at a time.
            let tiles = many_x.div_ceil(32) * many_y.div_ceil(32);
            assert!(kernel != "anchor_values" || count <= 10_000 * tiles + 1_000_000, "{nx} x {ny}: {count}");
        }
    }
}
