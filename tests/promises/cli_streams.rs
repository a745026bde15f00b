//! The command line in pipes: standard input and output, reports beside them, and the kinds of files.

use crate::support::cli::{npy, text, Folder};
use serde_json::Value;
use std::fs::File;
use std::io::Write;
use std::ops::Deref;
use std::os::fd::{AsRawFd, FromRawFd};
use std::process::{Output, Stdio};

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
    assert_eq!((said.lines().count(), errors.lines().count()), (2, 3), "{said}{errors}");
    assert!(said.contains("longer.fz: good") && said.contains("4 bytes behind its end"), "{said}");
    for part in ["flipped.fz: the checksum", "cut.fz: has", "the end is missing", "u.f32: "] {
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
    let refused: &[(&str, &[&str])] = &[
        ("b.npz", &["b.npz", "no array u", "vx, vy", "--keys"]),
        ("b.npz both.f32 --dims 360x181", &["b.npz", "give it alone"]),
        ("b.npz --keys a,b,c", &["a,b,c", "--keys"]),
        ("b.npz --keys vx", &["b.npz, array vx", "one component"]),
        ("cut.npz", &["cut.npz", "is not a NumPy .npz"]),
        ("unclear.npy", &["--dims 2x3 or --dims 3x2"]),
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
