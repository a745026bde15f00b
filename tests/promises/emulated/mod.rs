//! The kernels without a device: compiled for this processor and run thread by thread (tests/emulator), they
//! must write the golden streams, restore the same bits as the library does, and find out damaged streams,
//! without touching anything beside their memory. In two opposite orders of blocks, warps and lanes: what
//! depends on the order would differ in one of them. This shows what the kernels' source does, a device what
//! the machine makes of it: tests/gpu.

mod analysis;
mod fields;
pub mod fixes;
mod golden;
mod random;
mod stacks;
mod volumes;

use crate::support::fields::Field;
use crate::support::{emulator, fresh_folder, run};
use factz::grid::missing;
use factz::grid::sides::periodic_sides;
use factz::{Config, Real, Status};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::OnceLock;

const ORDERS: [u32; 2] = [0, 1];

/// The emulator. It is built by the first test that wants it.
fn emulator() -> &'static Path {
    static EMULATOR: OnceLock<PathBuf> = OnceLock::new();
    EMULATOR.get_or_init(|| emulator::built(&[]))
}

/// The status that the kernels report, and behind that of a compression the counts.
fn emulate(what: &str, arguments: &[&dyn ToString]) -> Vec<i64> {
    emulate_by(emulator(), what, arguments)
}

/// As [`emulate`], by an emulator of its own.
fn emulate_by(program: &Path, what: &str, arguments: &[&dyn ToString]) -> Vec<i64> {
    let mut command = Command::new(program);
    let out = run(command.arg(what).args(arguments.iter().map(|argument| argument.to_string())));
    let printed = String::from_utf8_lossy(&out.stdout).into_owned();
    printed.split_whitespace().map(|word| word.parse().expect("a number")).collect()
}

/// A file of a folder, with what it is to contain.
fn written(folder: &Path, name: &str, bytes: &[u8]) -> String {
    let path = folder.join(name);
    fs::write(&path, bytes).expect("the folder is writable");
    path.to_str().expect("paths of tests are text").into()
}

/// The stream and the counts of the report that the kernels write for a block whose vertex (0, 0) is element
/// `first`.
fn compressed<T: Real>(
    field: &Field<T>,
    c: &Config,
    first: usize,
    order: u32,
    folder: &Path,
) -> (Vec<u8>, Vec<i64>) {
    let [u, v] = field.bytes();
    let (u, v, stream) = (written(folder, "in_u", &u), written(folder, "in_v", &v), folder.join("out"));
    let fill = fill_bits::<T>(c);
    let (kind, halo) = (c.bound_kind as u32, c.halo | periodic_sides(c.periodic));
    let grid: [&dyn ToString; 8] =
        [&order, &(c.dtype as u32), &c.nx, &c.ny, &c.nz, &rows_of_plane(c), &kind, &c.bound];
    let choices: [&dyn ToString; 10] = [
        &(c.mode as u32),
        &(c.predictor as u32),
        &(c.coder as u32),
        &(c.preserve as u32),
        &(c.ties as u32),
        &halo,
        &c.pin,
        &c.periodic,
        &c.dx,
        &c.dy,
    ];
    let files: [&dyn ToString; 6] = [&u, &v, &first, &field.nx, &fill, &stream.display()];
    let counts = emulate("compress", &[&grid[..], &choices, &files].concat());
    assert_eq!(counts[0], 0, "{c:?}");
    (fs::read(stream).expect("the stream is there"), counts[1..].to_vec())
}

/// The bits of the fill value, or "-".
fn fill_bits<T: Real>(c: &Config) -> String {
    c.fill_value.map_or("-".into(), |x| missing::fill_bits(T::BYTES, x).to_string())
}

/// Rows from plane to plane.
fn rows_of_plane(c: &Config) -> u64 {
    c.plane_rows.max(c.ny)
}

/// The bytes of u and of v that the kernels restore: all planes, or those of the configuration from plane
/// `first` on.
fn restored(
    c: &Config,
    first: Option<u64>,
    order: u32,
    folder: &Path,
    stream: &[u8],
) -> Result<[Vec<u8>; 2], i32> {
    let first = first.map_or("-".into(), |z| z.to_string());
    let [u, v] = ["u", "v"].map(|name| folder.join(name));
    let stream = written(folder, "stream", stream);
    let status = emulate(
        "decompress",
        &[&order, &(c.dtype as u32), &c.nx, &c.ny, &c.nz, &c.ny, &stream, &u.display(), &v.display(), &first],
    );
    match status[0] {
        0 => Ok([u, v].map(|path| fs::read(path).expect("the output is there"))),
        error => Err(error as i32),
    }
}

/// The kernels write the library's stream, with the same counts; answers the stream.
fn check_compression<T: Real>(
    field: &Field<T>,
    config: &Config,
    first: usize,
    order: u32,
    folder: &Path,
    what: &str,
) -> Vec<u8> {
    let (stream, report) = field.compressed_block(config, first, 1);
    let (written, counts) = compressed(field, config, first, order, folder);
    assert!(written == stream, "{what}, order {order}: another stream: {config:?}");
    let expected = [
        report.exact_vertices,
        report.nonfinite_vertices,
        report.zero_vertices,
        report.points_in_triangles,
        report.filled_vertices,
        report.warnings as u64,
    ];
    assert_eq!(counts, expected.map(|x| x as i64), "{what}, order {order}: {config:?}");
    stream
}

/// The kernels restore what the library does.
fn check_restoration<T: Real>(config: &Config, stream: &[u8], order: u32, folder: &Path, what: &str) {
    let expected = Field::<T>::restored(config, stream, 1).bytes();
    let restored = restored(config, None, order, folder, stream);
    assert!(restored == Ok(expected), "{what}, order {order}: other values: {config:?}");
}

/// The kernels restore planes of a stack as they restore all of them.
fn check_planes<T: Real>(config: &Config, stream: &[u8], order: u32, folder: &Path, what: &str) {
    let all = Field::<T>::restored(config, stream, 1).bytes();
    let plane = (config.nx * config.ny) as usize * T::BYTES;
    for (first, count) in [(0, 1), (config.nz / 2, config.nz.div_ceil(2) - 1), (config.nz - 1, 1)] {
        let (from, to) = (first as usize * plane, (first + count) as usize * plane);
        let (expected, planes) =
            (all.each_ref().map(|bytes| bytes[from..to].to_vec()), Config { nz: count, ..*config });
        if count == 0 {
            continue;
        }
        let restored = restored(&planes, Some(first), order, folder, stream);
        assert!(restored == Ok(expected), "{what}, order {order}, {count} planes from {first}: other values");
    }
    let behind = restored(config, Some(1), order, folder, stream);
    assert_eq!(behind, Err(Status::InvalidArgument as i32), "{what}: a plane behind the last one");
}

/// Does something with each, by as many threads as there are processors; a folder for each.
fn for_each<A: Sync>(name: &str, all: &[A], work: impl Fn(&A, &Path) + Sync) {
    let (top, next) = (fresh_folder(name), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, |n| n.get()) {
            scope.spawn(|| {
                while let Some((k, one)) = all.iter().enumerate().nth(next.fetch_add(1, Ordering::Relaxed)) {
                    let folder = top.join(k.to_string());
                    fs::create_dir(&folder).expect("the folder is writable");
                    work(one, &folder);
                }
            });
        }
    });
}
