//! Across the borders of MPI ranks every critical point is kept: a field that any number of ranks compressed
//! in blocks, and any other number read back, has no lost, new or retyped critical point, with halos and with
//! pinned borders, in both modes, says the library's comparison and an independent program in exact
//! arithmetic. Without either, the same comparison sees what is lost at the borders.
//!
//! The program is examples-c/mpi_blocks.c, on crops of the fields of data/: odd sizes, blocks of uneven
//! widths, tiles cut anywhere.

use crate::support::checker::Checker;
use crate::support::fields::{dtype_name, stored, Field};
use crate::support::{both, fresh_folder, linkings, mpirun, refuses, run, STRICT_C};
use factz::{compare, inspect, BoundKind, Comparison, Real, Request};
use std::path::{Path, PathBuf};

/// How many ranks write, and how many read what those wrote.
const ALL_RANKS: [(usize, &[usize]); 5] =
    [(4, &[1, 2, 3, 4, 6]), (1, &[4]), (2, &[3]), (3, &[2]), (6, &[1, 4])];
const SOME_RANKS: [(usize, &[usize]); 2] = [(4, &[1, 3]), (6, &[4])];

/// Compiles an example into a folder.
pub fn compile(folder: &Path, name: &str) -> PathBuf {
    let [shared, ..] = linkings(folder);
    shared.compile("mpicc", &STRICT_C, &[format!("examples-c/{name}.c").as_ref()])
}

/// Columns x0.. and rows y0.. of a field of data/.
fn crop(name: &str, x0: u64, y0: u64, nx: u64, ny: u64) -> Field<f32> {
    let field = stored(name);
    assert!(x0 + nx <= field.nx && y0 + ny <= field.ny, "{name}");
    field.block(x0, y0, nx, ny)
}

/// The streams of a file, by the lengths in their headers.
pub fn streams(mut file: &[u8]) -> Vec<&[u8]> {
    let mut found = Vec::new();
    while !file.is_empty() {
        let (stream, rest) = file.split_at(inspect(file).unwrap().stream_bytes as usize);
        found.push(stream);
        file = rest;
    }
    found
}

/// A field, in files for the program.
struct Case<T> {
    program: PathBuf,
    field: Field<T>,
    files: [PathBuf; 2],
    checker: Checker,
}

impl<T: Real> Case<T> {
    fn new(test: &str, field: Field<T>) -> Self {
        let name = format!("mpi-{test}");
        let (program, mut checker) = (compile(&fresh_folder(&name), "mpi_blocks"), Checker::new(&name));
        Case { program, files: checker.write(&field), field, checker }
    }
    fn file(&self, name: &str) -> PathBuf {
        self.program.with_file_name(name)
    }
    /// Every one of `ranks` compresses its block into one file.
    fn write(&self, ranks: usize, options: &[&str], relative: f64) {
        let out = run(mpirun(&self.program, ranks)
            .args(["write", "blocks"])
            .args(&self.files)
            .args([self.field.nx.to_string(), self.field.ny.to_string()])
            .args(["--dtype", dtype_name::<T>(), "--rel", &relative.to_string()])
            .args(options));
        assert!(both(&out).contains(&format!("wrote {ranks} blocks")), "{}", both(&out));
    }
    /// Other ranks read the file back; their parts make the whole field, which is compared with the original.
    fn read_back(&mut self, ranks: usize, relative: f64) -> Comparison {
        run(mpirun(&self.program, ranks)
            .args(["read", "blocks", "u.back", "v.back"])
            .args([self.field.nx.to_string(), self.field.ny.to_string()]));
        let paths = ["u.back", "v.back"].map(|name| self.file(name));
        let after = Field::<T>::read(self.field.nx, self.field.ny, paths);
        let config = self.field.config(BoundKind::Relative, relative);
        let request = Request::new(config).unwrap();
        let c = compare(&request, self.field.views(0), after.views(0), true, 1).unwrap();
        let counts = [("violations", c.violations()), ("critical_points", c.critical_points)];
        self.checker.add(&self.files, &after, &config, &counts);
        c
    }
    /// Halo or pins, both modes, and each number of writers with its readers; then all of it by the
    /// independent checker.
    fn keeps_everything(mut self, relative: f64, ranks: &[(usize, &[usize])]) {
        for mode in ["block", "speculative"] {
            for borders in ["halo", "pin"] {
                for &(writers, readers) in ranks {
                    self.write(writers, &["--mode", mode, "--borders", borders], relative);
                    for &readers in readers {
                        let c = self.read_back(readers, relative);
                        let case = format!("{writers} wrote, {readers} read, {mode}, {borders}");
                        assert_eq!(c.violations(), 0, "{case}: {c:?}");
                        assert!(c.critical_points > 0, "a field that shows nothing");
                    }
                }
            }
        }
        self.checker.check();
    }
}

/// 323 columns make blocks of 108, 108 and 107; 161 rows blocks of 81 and 80.
#[test]
#[ignore = "make test-all"]
fn wind() {
    needs!("mpicc", "mpirun");
    Case::new("wind", crop("wind_global", 20, 13, 323, 161)).keeps_everything(3e-2, &ALL_RANKS);
}

/// Values as f64, and a field with land: zero vectors, and ties beside them.
#[test]
#[ignore = "make test-all"]
fn cavity_in_double_precision() {
    needs!("mpicc", "mpirun");
    let field = crop("piv_cavity", 1, 0, 39, 43).widened();
    Case::new("cavity", field).keeps_everything(5e-2, &SOME_RANKS);
}

/// Small integers: ties and exact zeros everywhere, on the borders too.
#[test]
#[ignore = "make test-all"]
fn integers() {
    needs!("mpicc", "mpirun");
    Case::new("integers", crop("integer64", 0, 0, 61, 53)).keeps_everything(1e-1, &SOME_RANKS);
}

/// NaN and infinities, on both sides of borders.
#[test]
#[ignore = "make test-all"]
fn missing_values() {
    needs!("mpicc", "mpirun");
    Case::new("missing", crop("nan_inf256", 3, 5, 251, 247)).keeps_everything(1e-1, &SOME_RANKS);
}

/// The test is not blind: without halo and pins critical points between the ranks are lost.
#[test]
#[ignore = "make test-all"]
fn without_halo_and_pins_the_borders_lose_points() {
    needs!("mpicc", "mpirun");
    let wrong = [(20, 13, 323, 161), (0, 0, 360, 181), (7, 3, 301, 170)].map(|(x, y, nx, ny)| {
        let mut case = Case::new(&format!("none{nx}"), crop("wind_global", x, y, nx, ny));
        case.write(6, &["--borders", "none"], 1e-1);
        let c = case.read_back(1, 1e-1);
        c.lost_points + c.spurious_points
    });
    assert!(wrong.iter().sum::<u64>() > 0, "{wrong:?}");
}

/// The file is one of several streams: the command line lists them and decompresses each.
#[cfg(feature = "cli")]
#[test]
#[ignore = "make test-all"]
fn the_command_line_reads_the_blocks() {
    needs!("mpicc", "mpirun");
    let case = Case::new("steps", crop("wind_global", 20, 13, 65, 47));
    case.write(4, &[], 1e-2);
    let file = case.file("blocks");
    let factz = |arguments: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_factz"));
        run(command.args(arguments).current_dir(file.parent().unwrap())).stdout
    };
    let info: serde_json::Value = serde_json::from_slice(&factz(&["info", "blocks", "--json"])).unwrap();
    let (bytes, mut begin) = (std::fs::read(&file).unwrap(), 0);
    let shapes = [(33, 24), (32, 24), (33, 23), (32, 23)];
    assert_eq!((streams(&bytes).len(), info["streams"].as_array().unwrap().len()), (4, 4));
    for (k, (nx, ny)) in shapes.into_iter().enumerate() {
        let listed = &info["streams"][k];
        assert_eq!([&listed["step"], &listed["offset"], &listed["nx"], &listed["ny"]], [k, begin, nx, ny]);
        begin += streams(&bytes)[k].len();
        factz(&["decompress", "blocks", "u.block", "v.block", "--step", &k.to_string()]);
        let config = factz::Config::new(nx as u64, ny as u64, BoundKind::Absolute, 0.0);
        let expected = Field::<f32>::restored(&config, streams(&bytes)[k], 1).bytes();
        for (name, expected) in ["u.block", "v.block"].into_iter().zip(expected) {
            assert!(std::fs::read(case.file(name)).unwrap() == expected, "{name} of block {k}");
        }
    }
    factz(&["test", "blocks"]);
}

/// A stream has all planes of a block; any number of ranks reads them back, and each plane keeps its critical
/// points across the borders of ranks.
#[test]
#[ignore = "make test-all"]
fn stacks() {
    needs!("mpicc", "mpirun");
    const PLANES: usize = 3;
    let (nx, ny) = (65, 47);
    let planes: Vec<Field<f32>> =
        (0..PLANES as u64).map(|z| crop("wind_global", 20 + 70 * z, 13, nx, ny)).collect();
    let case = Case::new("stacks", planes[0].clone());
    for (k, name) in ["u.stack", "v.stack"].into_iter().enumerate() {
        let bytes: Vec<u8> = planes.iter().flat_map(|plane| plane.bytes()[k].clone()).collect();
        std::fs::write(case.file(name), bytes).unwrap();
    }
    let (bound, place) = (0.5, [nx.to_string(), ny.to_string()]);
    for borders in ["halo", "pin"] {
        let values = || planes.iter().flat_map(|plane| plane.components.iter().flatten().copied());
        let range = values().fold(f32::MIN, f32::max) as f64 - values().fold(f32::MAX, f32::min) as f64;
        let relative = (bound / range).to_string();
        let said = run(mpirun(&case.program, 4)
            .args(["write", "blocks", "u.stack", "v.stack"])
            .args(&place)
            .args(["--planes", "3", "--rel", &relative, "--borders", borders]));
        assert!(both(&said).contains("wrote 4 blocks"), "{}", both(&said));
        let file = std::fs::read(case.file("blocks")).unwrap();
        assert!(streams(&file).iter().all(|stream| inspect(stream).unwrap().nz == PLANES as u64));
        run(mpirun(&case.program, 3).args(["read", "blocks", "u.back", "v.back"]).args(&place));
        let back = ["u.back", "v.back"].map(|name| std::fs::read(case.file(name)).unwrap());
        for (z, plane) in planes.iter().enumerate() {
            let paths = ["u.plane", "v.plane"].map(|name| case.file(name));
            for (path, back) in paths.iter().zip(&back) {
                let bytes = back.len() / PLANES;
                std::fs::write(path, &back[z * bytes..][..bytes]).unwrap();
            }
            let after = Field::<f32>::read(nx, ny, paths);
            let request = Request::new(plane.config(BoundKind::Absolute, bound * 1.0001)).unwrap();
            let c = compare(&request, plane.views(0), after.views(0), true, 1).unwrap();
            assert_eq!(c.violations(), 0, "plane {z}, {borders}: {c:?}");
            assert!(c.critical_points > 0, "a field that shows nothing");
        }
    }
    let arguments = ["write", "blocks", "u.stack", "v.stack", "65", "47", "--planes", "2"];
    refuses(mpirun(&case.program, 2).args(arguments), "another size than NX, NY, --planes and --dtype say");
    let first = std::fs::read(case.file("blocks")).unwrap();
    let [u, v] = case.files.each_ref().map(|path| path.to_str().unwrap());
    run(mpirun(&case.program, 4).args(["write", "flat", u, v]).args(&place));
    let flat = std::fs::read(case.file("flat")).unwrap();
    let mixed = [streams(&first)[0], streams(&flat)[1]].concat();
    std::fs::write(case.file("mixed"), mixed).unwrap();
    let arguments = ["read", "mixed", "u.back", "v.back", "65", "47"];
    refuses(mpirun(&case.program, 2).args(arguments), "another number of planes than the first one");
}

/// Damage is an error and never a wrong field, and wrong arguments are told what would be right.
#[test]
#[ignore = "make test-all"]
fn damaged_files_and_wrong_arguments_are_refused_with_advice() {
    needs!("mpicc", "mpirun");
    let case = Case::new("refused", crop("wind_global", 0, 0, 65, 47));
    let [u, v] = case.files.each_ref().map(|path| path.to_str().unwrap());
    let program = &case.program;
    run(mpirun(program, 3).args(["write", "blocks", u, v, "65", "47"]));
    let bytes = std::fs::read(case.file("blocks")).unwrap();
    let last = bytes.len() - 40;
    let (end, first) = (bytes.len(), streams(&bytes)[0].len());
    let garbage = [&bytes[..], &[7; 200]].concat();
    let damages: [(&str, Vec<u8>); 6] = [
        ("the checksum does not match", [&bytes[..last], &[bytes[last] ^ 1], &bytes[last + 1..]].concat()),
        (
            &format!("damaged: stream 1, from byte {first}: a stream is cut off"),
            bytes[..first + 500].to_vec(),
        ),
        ("damaged: stream 0, from byte 0: a stream is cut off", bytes[..60].to_vec()),
        ("the blocks are not those of a domain of NX columns and NY rows", bytes[..first].to_vec()),
        (
            &format!("damaged: stream 3, from byte {end}: the stream does not begin with the mark FCTZ"),
            garbage,
        ),
        ("does not begin with the mark FCTZ", b"something else altogether".repeat(9)),
    ];
    for (advice, damaged) in damages {
        std::fs::write(case.file("damaged"), damaged).unwrap();
        refuses(mpirun(program, 2).args(["read", "damaged", "u.back", "v.back", "65", "47"]), advice);
    }
    let refused: [(&[&str], &str); 6] = [
        (&["write", "blocks", u, v, "66", "47"], "another size than NX, NY, --planes and --dtype say"),
        (&["write", "blocks", u, v, "65", "47", "--device"], "compile this program with -DWITH_CUDA"),
        (&["read", "blocks", "u.back", "v.back", "47", "65"], "not those of a domain of NX columns"),
        (&["read", "blocks", "u.back", "v.back", "65", "46"], "not those of a domain of NX columns"),
        (&["read", "blocks"], "expected: write FILE U V NX NY, or read FILE U V NX NY"),
        (&["--borders", "open"], "unknown option or value"),
    ];
    for (arguments, advice) in refused {
        refuses(mpirun(program, 1).args(arguments), advice);
    }
}

/// As it stands at the top of the program, for a user who tries it.
#[test]
#[ignore = "make test-all"]
fn the_demonstration() {
    needs!("mpicc", "mpirun");
    let folder = fresh_folder("mpi-demonstration");
    let program = compile(&folder, "mpi_blocks");
    for (arguments, count) in [
        (&[][..], 563),
        (&["--dtype", "f64", "--borders", "pin", "--mode", "speculative"], 563),
        (&["--planes", "3"], 1688),
    ] {
        let said = both(&run(mpirun(&program, 4).args(arguments)));
        let kept = format!("{count} critical points, 0 lost, 0 new, 0 of another type");
        for part in ["everything holds", &kept] {
            assert!(said.contains(part), "{said}");
        }
    }
}

/// A setting that promises nothing says so, with what was lost, and is no failure.
#[test]
#[ignore = "make test-all"]
fn the_demonstration_without_borders_says_that_nothing_was_promised() {
    needs!("mpicc", "mpirun");
    let folder = fresh_folder("mpi-demonstration-none");
    let program = compile(&folder, "mpi_blocks");
    let said =
        both(&run(mpirun(&program, 6).args(["--borders", "none", "--rel", "5e-1", "--mode", "speculative"])));
    assert!(said.contains("critical points were lost or changed at the borders between ranks"), "{said}");
    assert!(said.contains("nothing was promised there with --borders none"), "{said}");
    assert!(!said.contains("everything holds") && !said.contains(", 0 lost"), "{said}");
}
