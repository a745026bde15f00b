//! The command line in pipes: standard input and output, reports beside them, and the kinds of files.

use crate::support::cli::{npy, text, Folder};
use crate::support::{python_of_plugins, run};
use serde_json::Value;
use std::fs::File;
use std::io::Write;
use std::ops::Deref;
use std::os::fd::{AsRawFd, FromRawFd};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Standard output of a run that succeeds and reports on standard error, or not at all.
fn data(out: Output, report: &str) -> Vec<u8> {
    let error = text(&out.stderr);
    assert_eq!(out.status.code(), Some(0), "{error}");
    assert!(error.contains(report) && error.is_empty() == report.is_empty(), "{error}");
    out.stdout
}

/// A folder with wind_global and its stream wind.fz.
struct Wind {
    folder: Folder,
    u: Vec<u8>,
    v: Vec<u8>,
    stream: Vec<u8>,
    decoded: [Vec<u8>; 2],
}

impl Wind {
    fn new(name: &str) -> Self {
        let f = Folder::with_field(name, "wind_global");
        f.succeeds("compress u.f32 v.f32 -o wind.fz --dims 360x181 --rel 1e-2");
        f.succeeds("decompress wind.fz u0 v0");
        let [u, v, stream, u0, v0] = ["u.f32", "v.f32", "wind.fz", "u0", "v0"].map(|name| f.read(name));
        Wind { folder: f, u, v, stream, decoded: [u0, v0] }
    }
    fn both(&self) -> Vec<u8> {
        [&self.u[..], &self.v].concat()
    }
    /// Runs with these bytes on standard input.
    fn piped(&self, line: &str, input: &[u8]) -> Output {
        let mut child = self.command(line).stdin(Stdio::piped()).spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        std::thread::scope(|scope| {
            // A program that stops early closes the pipe.
            scope.spawn(move || drop(pipe.write_all(input)));
            child.wait_with_output().unwrap()
        })
    }
}

impl Deref for Wind {
    type Target = Folder;
    fn deref(&self) -> &Folder {
        &self.folder
    }
}

#[test]
fn standard_input_and_output_take_streams_and_arrays() {
    let w = Wind::new("dash");
    let stacked = npy("<f4", "(2, 181, 360)", &w.both());
    let inputs: [(&str, &[u8]); 7] = [
        ("u.f32 v.f32", &[]),
        ("u.f32 v.f32 --quiet", &[]),
        ("u.f32 -", &w.v),
        ("- v.f32", &w.u),
        ("- -", &w.both()),
        ("-", &w.both()),
        ("-", &stacked),
    ];
    for (files, input) in inputs {
        let out = w.piped(&format!("compress {files} -o - --dims 360x181 --rel 1e-2"), input);
        let report = if files.contains("--quiet") { "" } else { "standard output: " };
        assert!(data(out, report) == w.stream, "{files}");
    }

    let both = w.decoded.concat();
    assert!(data(w.piped("decompress - -", &w.stream), "standard output: ") == both, "u and then v");
    assert!(data(w.piped("decompress - - - -q", &w.stream), "") == both, "u and then v");
    assert!(data(w.piped("decompress - - v1 -q", &w.stream), "") == w.decoded[0]);
    assert!(w.read("v1") == w.decoded[1]);

    let info: Value = serde_json::from_slice(&data(w.piped("info - --json", &w.stream), "")).unwrap();
    assert_eq!(info["file_bytes"], w.stream.len());
    assert_eq!(data(w.piped("test -q -", &w.stream), ""), b"");
    let kept = data(w.piped("verify u.f32 v.f32 - - --dims 360x181 --rel 1e-2", &both), "");
    assert!(text(&kept).starts_with("Kept: "));
    let list = data(w.piped("points - -o -", &stacked), "");
    assert_eq!(text(&list).lines().count(), 1 + 1394);
    w.fails("verify - v.f32 - v.f32 --dims 360x181 --rel 1e-2", &["- is given more than once"]);
    w.fails("test - -", &["- is given more than once"]);
    assert!(!w.names().contains(&"-".to_owned()), "a file named - was written");
}

#[test]
fn what_is_wrong_with_standard_input_is_said() {
    let w = Wind::new("dash-wrong");
    let one = npy("<f4", "(181, 360)", &w.u);
    let stacked = npy("<f4", "(2, 181, 360)", &w.both());
    let cases: [(&str, &[u8], &[&str]); 8] = [
        ("compress - -o - --rel 1e-2", &w.both(), &["--dims NXxNY is missing"]),
        ("compress - -o - --rel 1e-2 --dims 360x181", &w.u, &["one component"]),
        ("compress - -o - --rel 1e-2 --dims 360x181", &w.both()[1..], &["521279", "521280"]),
        ("compress - -o - --rel 1e-2 --dims 181x360", &stacked, &["360x181", "181x360"]),
        ("compress - -o - --rel 1e-2", &one, &["(181, 360)", "one component"]),
        ("decompress - -", &w.u, &["not"]),
        ("decompress - -", &w.stream[..w.stream.len() - 1], &["the end is missing"]),
        ("info -", &[], &[]),
    ];
    for (line, input, parts) in cases {
        let out = w.piped(line, input);
        let error = text(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{error}");
        assert!(out.stdout.is_empty() && error.contains("standard input"), "{error}");
        assert!(parts.iter().all(|part| error.contains(part)), "{parts:?}: {error}");
    }
}

/// A name of standard output is standard output: the stream and the report do not mix.
#[test]
fn dev_stdout_gets_the_data_alone() {
    let w = Wind::new("dev-stdout");
    let compress = "compress u.f32 v.f32 --dims 360x181 --rel 1e-2 -o";
    assert!(data(w.factz(&format!("{compress} /dev/stdout")), "largest error") == w.stream);
    let json = w.factz(&format!("{compress} /dev/stdout --json"));
    let report: Value = serde_json::from_slice(&json.stderr).unwrap();
    assert!(json.stdout == w.stream && report["stream_bytes"] == w.stream.len());
    // One file by another name.
    let file = File::create(w.0.join("same")).unwrap();
    let out = w.command(&format!("{compress} same")).stdout(file).output().unwrap();
    assert!(out.status.success() && text(&out.stderr).contains("largest error"));
    assert!(w.read("same") == w.stream);
    assert!(data(w.factz("decompress wind.fz /dev/stdout"), "decompressed") == w.decoded.concat());
}

#[test]
fn a_reader_that_goes_away_is_an_error_of_data_and_none_of_lists() {
    let w = Wind::new("early");
    let closed = |line: &str| {
        let mut child = w.command(line).spawn().unwrap();
        drop(child.stdout.take());
        let out = child.wait_with_output().unwrap();
        (out.status.code(), text(&out.stderr))
    };
    let (status, error) = closed("decompress wind.fz -");
    assert_eq!(status, Some(2));
    assert!(error.contains("standard output: the reader went away"), "{error}");
    assert_eq!(closed("points u.f32 v.f32 --dims 360x181"), (Some(0), String::new()));
}

/// Both ends of a pseudo-terminal.
fn terminal() -> [File; 2] {
    let (mut master, mut slave) = (0, 0);
    let null = std::ptr::null_mut();
    // SAFETY: two integers to write to, and defaults for the rest.
    let status = unsafe { libc::openpty(&mut master, &mut slave, null, null.cast(), null.cast()) };
    assert_eq!(status, 0, "openpty");
    // SAFETY: two descriptors that nothing else owns.
    [master, slave].map(|fd| unsafe { File::from_raw_fd(fd) })
}

#[test]
fn a_terminal_is_no_place_for_bytes() {
    let w = Wind::new("terminal");
    let [_master, slave] = terminal();
    assert!(slave.as_raw_fd() > 2);
    let on_terminal = |f: &Folder, line: &str| {
        let end = || Stdio::from(slave.try_clone().unwrap());
        f.command(line).stdin(end()).stdout(end()).output().unwrap()
    };
    for line in [
        "compress u.f32 v.f32 -o - --dims 360x181 --rel 1e-2",
        "compress u.f32 v.f32 -o /dev/stdout --dims 360x181 --rel 1e-2",
        "decompress wind.fz -",
        "compress u.f32 - -o wind.fz --dims 360x181 --rel 1e-2",
        "info -",
        "test -",
    ] {
        let out = on_terminal(&w, line);
        let error = text(&out.stderr);
        assert!(error.contains("is a terminal") && error.contains("redirect it"), "{line}: {error}");
        assert_eq!(out.status.code(), Some(2));
    }
    // Text is shown; a short one, which nobody need read.
    let tiny = Folder::with_field("terminal-text", "tiny2x2_cp");
    assert_eq!(on_terminal(&tiny, "points u.f32 v.f32 --dims 2x2").status.code(), Some(0));
}

#[test]
fn quiet_says_errors_alone() {
    let w = Wind::new("quiet");
    for line in [
        "compress u.f32 v.f32 -o wind.fz --dims 360x181 --rel 1e-2",
        "decompress wind.fz u0 v0",
        "verify u.f32 v.f32 u0 v0 --dims 360x181 --rel 1e-2",
        "test wind.fz",
        "info wind.fz",
        "points u.f32 v.f32 --dims 360x181 -o points.csv",
    ] {
        let said = w.succeeds(&format!("{line} --quiet"));
        assert!(said.is_empty(), "{line} says {said}");
    }
    w.fails("info --quiet u.f32", &["u.f32"]);
    let out = w.factz("verify -q u.f32 v.f32 v.f32 u.f32 --dims 360x181");
    assert_eq!((out.status.code(), out.stdout.len()), (Some(1), 0));
    w.fails("info --quiet --json wind.fz", &["cannot be used with"]);
}

#[test]
fn test_finds_damage_without_writing() {
    let w = Wind::new("integrity");
    let bytes = w.stream.len();
    let length = format!("{},{:03}", bytes / 1000, bytes % 1000);
    let good = format!("wind.fz: good, 360x181 values of f32, {length} bytes\n");
    assert_eq!(w.succeeds("test wind.fz"), good);
    let mut flipped = w.stream.clone();
    flipped[bytes / 2] ^= 4;
    w.write("flipped.fz", &flipped);
    w.write("cut.fz", &w.stream[..bytes - 100]);
    w.write("longer.fz", &[&w.stream[..], b"tail"].concat());
    let before = w.names();
    let out = w.factz("test flipped.fz wind.fz cut.fz longer.fz u.f32");
    assert_eq!(out.status.code(), Some(1));
    let (said, errors) = (text(&out.stdout), text(&out.stderr));
    assert_eq!((said.lines().count(), errors.lines().count()), (2, 4), "{said}{errors}");
    assert!(said.starts_with("wind.fz: good") && said.contains("longer.fz, stream 0: good"), "{said}");
    for part in [
        "flipped.fz: the checksum",
        "cut.fz: has",
        "the end is missing",
        "longer.fz: has 4 bytes behind stream 0",
        "u.f32: ",
    ] {
        assert!(errors.contains(part), "{part}: {errors}");
    }
    let out = w.factz("test --json flipped.fz wind.fz nowhere.fz");
    assert_eq!(out.status.code(), Some(2), "one cannot be read");
    let all: Value = serde_json::from_slice(&out.stdout).unwrap();
    let results: Vec<_> = all["streams"].as_array().unwrap().iter().map(|s| &s["result"]).collect();
    assert_eq!(results, ["damaged", "good", "untested"]);
    assert_eq!(all["streams"][1]["predictor"], "hierarchical");
    assert_eq!(w.names(), before);
}

/// Every arrangement of the same values gives the same stream.
#[test]
fn arrays_of_numpy_are_read_however_they_lie() {
    let w = Wind::new("numpy");
    let swapped = |bytes: &[u8]| bytes.chunks(4).flat_map(|b| [b[3], b[2], b[1], b[0]]).collect::<Vec<u8>>();
    let pairs: Vec<u8> = w.u.chunks(4).zip(w.v.chunks(4)).flat_map(|(a, b)| [a, b].concat()).collect();
    let stacked = npy("<f4", "(2, 181, 360)", &w.both());
    let (u, v) = (npy("<f4", "(1, 181, 360)", &w.u), npy(">f4", "(181, 360)", &swapped(&w.v)));
    w.write("both.f32", &w.both());
    w.write("stacked.npy", &stacked);
    w.write("pairs.npy", &npy("<f4", "(181, 360, 2)", &pairs));
    w.write("big.npy", &npy(">f4", "(1, 181, 360, 2)", &swapped(&pairs)));
    w.write("u.npy", &u);
    w.write("v.npy", &v);
    let zip = |name: &str, arrays: &[(&str, &[u8])], method| {
        let mut zip = zip::ZipWriter::new(File::create(w.0.join(name)).unwrap());
        for (name, bytes) in arrays {
            let options = zip::write::SimpleFileOptions::default().compression_method(method);
            zip.start_file(format!("{name}.npy"), options).unwrap();
            zip.write_all(bytes).unwrap();
        }
        zip.finish().unwrap();
    };
    use zip::CompressionMethod::{Deflated, Stored};
    zip("a.npz", &[("other", b""), ("v", &v), ("u", &u)], Stored);
    zip("b.npz", &[("vx", &u), ("vy", &v)], Deflated);
    zip("c.npz", &[("arr_0", &stacked)], Deflated);
    for files in [
        "both.f32 --dims 360x181",
        "stacked.npy",
        "pairs.npy",
        "big.npy",
        "u.npy v.npy",
        "a.npz",
        "b.npz --keys vx,vy",
        "c.npz --keys arr_0",
    ] {
        w.succeeds(&format!("compress {files} -o out.fz --rel 1e-2"));
        assert!(w.read("out.fz") == w.stream, "{files}");
    }
    let archive = w.read("b.npz");
    assert!(data(w.piped("compress - -o - -q --rel 1e-2 --keys vx,vy", &archive), "") == w.stream);

    w.write("cut.npz", &archive[..9000]);
    w.write("unclear.npy", &npy("<f4", "(2, 3, 2)", &[0; 48]));
    w.write("two.npy", &npy("<f4", "(2, 2, 2)", &[0; 32]));
    let refused: &[(&str, &[&str])] = &[
        ("b.npz", &["b.npz", "no array u", "vx, vy", "--keys"]),
        ("b.npz both.f32 --dims 360x181", &["b.npz", "give it alone"]),
        ("b.npz --keys a,b,c", &["no array a", "vx, vy", "--keys U,V,W"]),
        ("b.npz --keys vx", &["b.npz, array vx", "one component"]),
        ("cut.npz", &["cut.npz", "is not a NumPy .npz"]),
        ("unclear.npy", &["--dims 2x3 or --dims 3x2"]),
        ("two.npy", &["two.npy", "a[0] and a[1], or else a[..., 0] and a[..., 1]", "numpy.save"]),
        ("two.npy --dims 2x2", &["--dims cannot tell"]),
    ];
    for (files, parts) in refused {
        w.fails(&format!("points {files}"), parts);
    }
    w.succeeds("points unclear.npy --dims 3x2");
}

#[test]
fn arrays_of_numpy_are_written_as_the_names_say() {
    let w = Wind::new("numpy-out");
    let decoded = w.decoded.concat();
    w.succeeds("decompress wind.fz both.npy");
    assert!(w.read("both.npy") == npy("<f4", "(2, 181, 360)", &decoded));
    w.succeeds("decompress wind.fz both.f32");
    assert!(w.read("both.f32") == decoded);
    w.succeeds("decompress wind.fz array w --format npy");
    assert!(w.read("array") == npy("<f4", "(181, 360)", &w.decoded[0]));
    assert!(data(w.factz("decompress -q wind.fz - --format npy"), "") == w.read("both.npy"));

    w.succeeds("decompress wind.fz both.npz");
    w.write("piped.npz", &data(w.factz("decompress -q wind.fz - --format npz"), ""));
    for archive in ["both.npz", "piped.npz"] {
        let mut zip = zip::ZipArchive::new(File::open(w.0.join(archive)).unwrap()).unwrap();
        for (name, bytes) in [("u.npy", &w.decoded[0]), ("v.npy", &w.decoded[1])] {
            let mut held = Vec::new();
            std::io::copy(&mut zip.by_name(name).unwrap(), &mut held).unwrap();
            assert!(held == npy("<f4", "(181, 360)", bytes), "{archive} {name}");
        }
        let c = w.json(&format!("verify both.npy {archive} --abs 0"));
        assert_eq!((&c["command"], &c["violations"]), (&"verify".into(), &0.into()));
        w.succeeds(&format!("verify u.f32 v.f32 {archive} --rel 1e-2"));
        w.succeeds(&format!("verify {archive} u.f32 v.f32 --abs 0.5"));
    }
}

/// Runs to the end, in seconds.
fn ends(mut command: Command) -> Output {
    let mut child = command.spawn().unwrap();
    let begin = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begin.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
            panic!("{command:?} does not end");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.wait_with_output().unwrap()
}

/// How a command of an error begins and ends.
const SHELL: [&str; 2] = ["`", "`"];
const PYTHON: [&str; 2] = ["python3 -c \"", ")\""];

/// Runs a command that the error of a command tells, the first between two marks.
fn run_advice(f: &Folder, line: &str, [begin, end]: [&str; 2], python: Option<&Path>) {
    let error = text(&f.factz(line).stderr);
    let command = error.split_once(begin).and_then(|(_, rest)| rest.split_once(end));
    let (command, _) = command.unwrap_or_else(|| panic!("{line}: no command in {error}"));
    let mut command = format!("{begin}{command}{end}").replace('`', "");
    if let Some(python) = python {
        command = command.replace("python3", &python.display().to_string());
    }
    run(Command::new("sh").args(["-ec", &command]).current_dir(&f.0));
}

#[test]
fn info_tells_of_a_truncated_file() {
    let w = Wind::new("truncated");
    let bytes = w.stream.len();
    for there in [bytes - 1, bytes / 2, 128] {
        w.write("cut.fz", &w.stream[..there]);
        let told = format!("has {there} bytes, its header says {bytes}: the end is missing");
        w.fails("info cut.fz", &[&told]);
        for out in [w.factz("info cut.fz"), w.piped("info -", &w.stream[..there])] {
            assert!(text(&out.stderr).contains(&told) && out.status.code() == Some(2));
            let part = text(&out.stdout).replace(',', "");
            assert!(part.contains(&format!("{there} of {bytes} bytes: the end is missing")), "{part}");
        }
        let info: Value = serde_json::from_slice(&w.factz("info cut.fz --json").stdout).unwrap();
        assert_eq!([&info["file_bytes"], &info["missing_bytes"]], [there, bytes - there]);
    }
    w.write("cut.fz", &w.stream[..127]);
    for command in ["info cut.fz", "decompress cut.fz u1 v1"] {
        w.fails(command, &["cut.fz: has 127 bytes", "the end is missing"]);
    }
    assert_eq!(w.json("info wind.fz")["surplus_bytes"], 0);
}

/// Status and error of a command with endless input.
fn endless(w: &Wind, line: &str) -> (Option<i32>, String) {
    let mut cat = Command::new("cat").arg("/dev/zero").stdout(Stdio::piped()).spawn().unwrap();
    let mut command = w.command(line);
    command.stdin(cat.stdout.take().unwrap());
    let out = ends(command);
    cat.kill().unwrap();
    cat.wait().unwrap();
    (out.status.code(), text(&out.stderr))
}

/// Nothing is read behind a field whose size is known, nor behind a stream.
#[test]
fn input_ends_with_the_field() {
    let w = Wind::new("endless");
    assert!(ends(w.command("compress /dev/zero /dev/zero -o zero.fz --dims 36x18 --abs 1")).status.success());
    assert_eq!(w.json("info zero.fz")["nx"], 36);
    let huge = ends(w.command("compress /dev/zero /dev/zero -o no.fz --dims 16777216x16777216 --abs 1"));
    assert!(text(&huge.stderr).contains("/dev/zero: not enough memory"), "{}", text(&huge.stderr));
    let (status, error) = endless(&w, "compress - -o no.fz --dims 36x18 --abs 1");
    assert!(status == Some(2) && error.contains("goes on behind the 5184 bytes"), "{error}");
    for line in ["info -", "decompress - u1 v1", "test -"] {
        let (status, error) = endless(&w, line);
        assert!(status != Some(0) && error.contains("no factz stream"), "{line}: {error}");
    }
    // A pipe that stays open.
    let pipe = w.0.join("pipe");
    let name = std::ffi::CString::new(pipe.clone().into_os_string().into_encoded_bytes()).unwrap();
    // SAFETY: a C string.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
    for (line, bytes) in [
        ("compress pipe -o piped.fz --dims 360x181 --rel 1e-2", w.both()),
        ("decompress pipe u1 v1", w.stream.clone()),
        ("info pipe", w.stream.clone()),
    ] {
        let command = w.command(line);
        let runs = std::thread::spawn(move || ends(command));
        let mut writer = File::options().write(true).open(&pipe).unwrap();
        writer.write_all(&bytes).unwrap();
        let out = runs.join().unwrap();
        assert!(out.status.success(), "{line}: {}", text(&out.stderr));
    }
    assert!(w.read("piped.fz") == w.stream && w.read("u1") == w.decoded[0] && !w.0.join("no.fz").exists());
}

#[test]
fn files_of_other_formats_are_named_with_what_to_do() {
    let w = Wind::new("foreign");
    let kinds: [(&str, &[u8], [&str; 2]); 15] = [
        ("a.h5", b"\x89HDF\r\n\x1a\n\0\0\0\0", ["HDF5", "h5dump -d /u -b LE -o u.raw a.h5"]),
        ("a.nc", b"\x89HDF\r\n\x1a\n\0\0\0\0", ["netCDF-4", "h5py.File('a.nc')"]),
        ("b.nc", b"CDF\x01\0\0\0\0", ["netCDF", "xarray.open_dataset('b.nc')"]),
        ("a.grib", b"GRIB\xff\xff\0\x02", ["GRIB", "cfgrib"]),
        ("a.vtk", b"# vtk DataFile Version 3.0\n", ["VTK", "pyvista.read('a.vtk')"]),
        ("a.vti", b"<?xml version=\"1.0\"?>\n<VTKFile>", ["VTK", "pyvista.read('a.vti')"]),
        ("a.mat", b"MATLAB 5.0 MAT-file", ["MATLAB", "loadmat('a.mat')"]),
        ("a.png", b"\x89PNG\r\n\x1a\n", ["a picture", "colours"]),
        ("a.gz", b"\x1f\x8b\x08\0\0\0\0\0", ["gzip", "gzip -dc a.gz"]),
        ("a.zst", b"\x28\xb5\x2f\xfd\0\0\0\0", ["zstd", "zstd -dc a.zst"]),
        ("a.txt", b"1.0 2.0 3.0\n4.0 5.0 6.0\n", ["a text file", "loadtxt('a.txt')"]),
        ("a.csv", b"1.0,2.0,3.0\n4.0,5.0,6.0\n", ["a text file", "delimiter=','"]),
        ("npy.raw", b"\x93NUMPY\x01\0", ["NumPy", ".npy"]),
        ("npz.raw", b"PK\x03\x04\0\0\0\0", ["zip", ".npz"]),
        // The name tells where the bytes do not.
        ("a.bp", b"\x01\x02\x03\x04\x05", ["ADIOS2", "FileReader('a.bp')"]),
    ];
    for (name, bytes, parts) in kinds {
        w.write(name, bytes);
        // Only two texts are long enough to be told from values with certainty.
        let shapeless = if name.starts_with("a.txt") { "a.txt v.f32 --dtype f32" } else { name };
        w.fails(&format!("compress {shapeless} -o o.fz --abs 1"), &[name]);
        w.fails(&format!("compress u.f32 {name} -o o.fz --abs 1 --dims 360x181"), &parts);
        w.fails(&format!("verify u.f32 v.f32 {name} --dims 360x181"), &parts);
        if name != "a.bp" {
            w.fails(&format!("info {name}"), &[name, parts[0]]);
            w.fails(&format!("decompress {name} u1 v1"), &[name, parts[0]]);
            // Whatever its name is.
            std::fs::rename(w.0.join(name), w.0.join("x.raw")).unwrap();
            w.fails("points x.raw --dims 360x181", &[parts[0]]);
        }
    }
    for (name, part) in [("a.zarr", "zarr.open('a.zarr')"), ("b.bp", "adios2"), ("folder", "is a directory")]
    {
        std::fs::create_dir(w.0.join(name)).unwrap();
        w.fails(&format!("compress {name} -o o.fz --abs 1"), &[part]);
    }
    // Values may begin with any bytes: a file of the right size holds values.
    let mut u = w.u.clone();
    u[..8].copy_from_slice(b"CDF\x01\0\0\0\0");
    w.write("u.nc", &u);
    w.succeeds("compress u.nc v.f32 -o o.fz --abs 1 --dims 360x181");
}

#[test]
fn outputs_have_no_names_of_other_formats() {
    let w = Wind::new("foreign-outputs");
    for (name, part) in
        [("o.h5", "HDF5"), ("o.nc", "netCDF"), ("o.vti", "VTK"), ("o.PNG", "picture"), ("o.fz.gz", "gzip")]
    {
        w.fails(&format!("compress u.f32 v.f32 -o {name} --dims 360x181 --abs 1"), &[name, part, "a stream"]);
        w.fails(&format!("decompress wind.fz {name}"), &[name, part, ".npz"]);
        w.fails(&format!("decompress wind.fz u1 {name}"), &[name, part, ".npz"]);
        w.fails(&format!("points wind.fz -o {name}"), &[name, part, ".csv"]);
        w.fails(&format!("diff u.f32 v.f32 wind.fz -o {name}"), &[name, part, ".csv"]);
        assert!(!w.0.join(name).exists());
    }
    w.fails("compress u.f32 v.f32 -o o.npy --dims 360x181 --abs 1", &["o.npy", "NumPy", "a stream"]);
    w.succeeds("decompress wind.fz o.h5 --format raw");
}

/// Values of another byte order, in a frame, or several fields.
#[test]
fn raw_values_of_another_make_are_told_from_ours() {
    let w = Wind::new("other-make");
    let swapped = |bytes: &[u8], size: usize| -> Vec<u8> {
        bytes.chunks(size).flat_map(|value| value.iter().rev().copied()).collect()
    };
    let scaled = |scale: f32| -> Vec<u8> {
        w.values("u.f32").iter().flat_map(|x| (x * scale).to_le_bytes()).collect()
    };
    let wide: Vec<u8> = w.values("u.f32").iter().flat_map(|&x| (x as f64).to_le_bytes()).collect();
    let mut land = w.u.clone();
    land.chunks_mut(4).step_by(3).for_each(|x| x.copy_from_slice(&1e20f32.to_le_bytes()));
    w.write("swapped", &swapped(&w.u, 4));
    w.write("wide", &swapped(&wide, 8));
    w.write("land", &swapped(&land, 4));
    w.write("both", &swapped(&w.both(), 4));
    let compress = |files: &str| format!("compress {files} -o o.fz --dims 360x181 --abs 1");
    let said = "looks like big-endian";
    w.fails(&compress("swapped v.f32"), &[said, "numpy.fromfile('swapped', '>f4').reshape(181, 360)"]);
    w.fails(&compress("u.f32 land"), &[said]);
    w.fails(&compress("wide wide --dtype f64"), &[said, "'>f8'"]);
    w.fails("points both --dims 360x181", &[said, ".reshape(2, 181, 360)"]);
    // Tiny, huge and equal values stay as they are.
    for scale in [1e-30, 1e30, 0.0] {
        w.write("scaled", &scaled(scale));
        w.succeeds(&compress("scaled scaled"));
    }
    let (marks, record) = ((w.u.len() as u32).to_le_bytes(), w.u.len());
    w.write("fortran", &[&marks, &w.u[..], &marks].concat());
    let cut = format!("`tail -c +5 FILE | head -c {record} > NEW`");
    w.fails(&compress("fortran v.f32"), &["fortran: has", "Fortran", &cut]);
    w.write("series", &w.u.repeat(3));
    w.fails(&compress("series v.f32"), &["series: has", "3 planes", "give --dims 360x181x3"]);
    w.write("pairs", &w.both().repeat(3));
    let cut = format!("`tail -c +{} FILE | head -c {} > NEW`", 2 * record + 1, 2 * record);
    w.fails(&compress("pairs"), &["pairs: has", "u of 3 planes", "give --dims 360x181x3", &cut]);
}

/// Without --dtype values are f32: u and v of them are as large as one component of f64. Where a size has several
/// readings, the error has the option of each.
#[test]
fn raw_files_of_one_size_and_several_readings() {
    let w = Wind::new("raw-sizes");
    let wide = |change: fn(f64) -> f64| -> Vec<u8> {
        w.values("u.f32").iter().flat_map(|&x| change(x as f64).to_le_bytes()).collect()
    };
    // With digits of f64, with those of f32 alone, with whole numbers, and with land in its first rows.
    let of_f64 = wide(|x| x / 3.0);
    let with_land = [vec![0; w.u.len()], of_f64[w.u.len()..].to_vec()].concat();
    for (name, values) in
        [("u.f64", of_f64), ("of-f32", wide(|x| x)), ("whole", wide(f64::round)), ("land", with_land)]
    {
        w.write(name, &values);
        let line = format!("{name} -o o.fz --dims 360x181 --abs 1");
        let parts = ["looks like one component of f64", "other one too, and --dtype f64", "--dtype f32"];
        w.fails(&format!("compress {line}"), &parts);
        w.succeeds(&format!("compress {line} --dtype f32"));
    }
    w.write("both", &w.both());
    w.write("none", &vec![0; w.both().len()]);
    let mut sparse = w.both();
    sparse.chunks_mut(4).enumerate().filter(|(k, _)| k % 7 > 0).for_each(|(_, x)| x.fill(0));
    w.write("sparse", &sparse);
    for name in ["both", "none", "sparse"] {
        w.succeeds(&format!("compress {name} -o o.fz --dims 360x181 --abs 1"));
    }
    let both_of_f64 = w.both().repeat(2);
    w.write("both.f64", &both_of_f64);
    for (line, parts) in [
        ("u.f32", &["it has one component: give the file of the other one too"][..]),
        ("u.f32 --dtype f64", &["one component of f32", "other one too, and --dtype f32"]),
        ("both --dtype f64", &["if it has one component, give", "u and v of f32, give --dtype f32"]),
        ("both.f64", &["u and v of f64, give --dtype f64", "u of 2 planes", "--dims 360x181x2"]),
        (
            "both both",
            &["values of f64, give --dtype f64", "u and then v, give it alone", "--dims 360x181x2"],
        ),
        ("u.f32 v.f32 --dtype f64", &["it has values of f32: give --dtype f32"]),
        ("both both both", &["values of f64, give --dtype f64", "2 planes (steps, levels), give --dims"]),
    ] {
        w.fails(&format!("compress {line} -o o.fz --dims 360x181 --abs 1"), parts);
    }
}

#[test]
fn arrays_that_are_no_field_come_with_advice() {
    let w = Wind::new("axes");
    w.write("steps.npy", &npy("<f4", "(4, 181, 360)", &w.u.repeat(4)));
    w.write("fields.npy", &npy("<f4", "(3, 2, 181, 360)", &w.both().repeat(3)));
    w.write("xyz.npy", &npy("<f4", "(3, 181, 360)", &[&w.both()[..], &w.u].concat()));
    w.write("vectors.npy", &npy("<f4", "(5, 4, 3)", &[0; 240]));
    w.write("both.npy", &npy("<f4", "(3, 3, 2)", &[0; 72]));
    let both = "(2, rows, columns) or (rows, columns, 2)";
    for (files, parts) in [
        ("steps.npy v.f32", ["v.f32: has 260640 bytes", "360x181x4 values of f32"]),
        ("steps.npy", [both, "together with the file of the other one"]),
        ("fields.npy v.f32", ["(3, 2, 181, 360)", "mmap_mode='r').reshape(-1, 181, 360))"]),
        ("xyz.npy", ["mmap_mode='r')[:2])", "if it is u of three planes, give the file of v as well"]),
        ("vectors.npy", ["three components", "mmap_mode='r')[..., :2])"]),
        ("both.npy v.f32", ["(3, 3, 2)", "holds both components: give this file alone"]),
    ] {
        w.fails(&format!("compress {files} -o o.fz --abs 1"), &parts);
    }
}

/// The commands of the errors make files that can be read.
#[test]
fn advice_works() {
    let w = Wind::new("advice");
    let Some(python) = python_of_plugins(&["numpy", "h5py", "adios2"]) else { return };
    let run_python = |code: &str| run(Command::new(&python).args(["-c", code]).current_dir(&w.0));
    w.write("both", &w.both());
    run_python(
        "import numpy, h5py, adios2; u, v = numpy.fromfile('both', 'f4').reshape(2, 181, 360)\n\
         with h5py.File('u.h5', 'w') as f: f['u'] = u\n\
         with adios2.Stream('u.bp', 'w') as f: f.write('u', u, [181, 360], [0, 0], [181, 360])\n\
         numpy.savetxt('u.txt', u); numpy.savetxt('u.csv', u, delimiter=','); u.astype('>f4').tofile('big')\n\
         numpy.save('xyz.npy', numpy.stack([u, v, u]))\n\
         numpy.save('vectors.npy', numpy.stack([u, v, u], 2))",
    );
    let gives_the_stream = |files: &str| {
        w.succeeds(&format!("compress {files} -o o.fz --rel 1e-2"));
        assert!(w.read("o.fz") == w.stream, "{files}");
    };
    for name in ["u.h5", "u.bp", "u.txt", "u.csv"] {
        run_advice(
            &w,
            &format!("compress {name} v.f32 -o o.fz --abs 1 --dims 360x181"),
            PYTHON,
            Some(&python),
        );
        // Text is read as f64.
        run_python("import numpy; numpy.save('u.npy', numpy.load('u.npy').astype('f4'))");
        gives_the_stream("u.npy v.f32");
        std::fs::remove_file(w.0.join("u.npy")).unwrap();
    }
    for (files, made) in
        [("big v.f32 --dims 360x181", "NEW.npy v.f32"), ("xyz.npy", "NEW.npy"), ("vectors.npy", "NEW.npy")]
    {
        run_advice(&w, &format!("compress {files} -o o.fz --abs 1"), PYTHON, Some(&python));
        gives_the_stream(made);
    }
    w.succeeds("decompress wind.fz flow.npy");
    run_advice(&w, "decompress wind.fz new.h5", ["python3 -c \"", "')\""], Some(&python));
    run_python("import numpy, h5py; assert (h5py.File('new.h5')['uv'][:] == numpy.load('flow.npy')).all()");
    run(Command::new("gzip").args(["-k", "u.f32"]).current_dir(&w.0));
    run_advice(&w, "compress u.f32.gz v.f32 -o o.fz --abs 1", SHELL, None);
    assert!(w.read("NEW") == w.u);
}
