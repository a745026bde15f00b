//! The command line in pipes: standard input and output, reports beside them, and the kinds of files.

use crate::support::cli::{factz, fails, field, json, npy, succeeds, text, Folder, DIMS};
use serde_json::Value;
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsRawFd, FromRawFd};
use std::process::{Command, Output, Stdio};

/// Runs with these bytes on standard input.
fn piped(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_factz"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        // A program that stops early closes the pipe.
        scope.spawn(move || drop(pipe.write_all(input)));
        child.wait_with_output().unwrap()
    })
}

/// Standard output of a run that succeeds and reports on standard error, or not at all.
fn data(out: Output, report: &str) -> Vec<u8> {
    let error = text(&out.stderr);
    assert_eq!(out.status.code(), Some(0), "{error}");
    assert!(error.contains(report) && error.is_empty() == report.is_empty(), "{error}");
    out.stdout
}

/// wind_global with its stream.
struct Wind {
    folder: Folder,
    files: [String; 2],
    u: Vec<u8>,
    v: Vec<u8>,
    stream: Vec<u8>,
    decoded: [Vec<u8>; 2],
}

const BOUND: [&str; 4] = ["--dims", DIMS, "--rel", "1e-2"];

impl Wind {
    fn new(name: &str) -> Self {
        let folder = Folder::new(name);
        let files = field("wind_global");
        let [u, v] = files.clone().map(|p| std::fs::read(p).unwrap());
        let stream = folder.path("wind.fz");
        succeeds(&[&["compress", &files[0], &files[1], "-o", &stream], &BOUND[..]].concat());
        let decoded = ["u0", "v0"].map(|n| folder.path(n));
        succeeds(&["decompress", &stream, &decoded[0], &decoded[1]]);
        let decoded = decoded.map(|p| std::fs::read(p).unwrap());
        Wind { folder, files, u, v, stream: std::fs::read(stream).unwrap(), decoded }
    }
    fn both(&self) -> Vec<u8> {
        [&self.u[..], &self.v].concat()
    }
}

#[test]
fn standard_input_and_output_take_streams_and_arrays() {
    let w = Wind::new("dash");
    let [u, v] = &w.files;
    let compress = |files: &[&str], more: &[&str], input: &[u8]| {
        let all = [&["compress"], files, &["-o", "-"], &BOUND[..], more].concat();
        data(piped(&all, input), if more.contains(&"--quiet") { "" } else { "standard output: " })
    };
    assert!(compress(&[u, v], &[], &[]) == w.stream, "-o - is not the stream");
    assert!(compress(&[u, v], &["--quiet"], &[]) == w.stream);
    assert!(compress(&[u, "-"], &[], &w.v) == w.stream, "v from standard input");
    assert!(compress(&["-", v], &[], &w.u) == w.stream, "u from standard input");
    assert!(compress(&["-", "-"], &[], &w.both()) == w.stream, "u and then v");
    assert!(compress(&["-"], &[], &w.both()) == w.stream, "u and then v");
    let stacked = npy("<f4", false, "(2, 181, 360)", &w.both());
    assert!(compress(&["-"], &[], &stacked) == w.stream, "an array");

    let raw = data(piped(&["decompress", "-", "-"], &w.stream), "standard output: ");
    assert!(raw == w.decoded.concat(), "u and then v");
    let raw = data(piped(&["decompress", "-", "-", "-", "-q"], &w.stream), "");
    assert!(raw == w.decoded.concat(), "u and then v");
    let v1 = w.folder.path("v1");
    let raw = data(piped(&["decompress", "-", "-", &v1, "-q"], &w.stream), "");
    assert!(raw == w.decoded[0] && std::fs::read(&v1).unwrap() == w.decoded[1]);

    let info = data(piped(&["info", "-", "--json"], &w.stream), "");
    let info: Value = serde_json::from_slice(&info).unwrap();
    assert_eq!(info["file_bytes"].as_u64(), Some(w.stream.len() as u64));
    assert_eq!(data(piped(&["test", "-q", "-"], &w.stream), ""), b"");
    let kept = data(piped(&[&["verify", u, v, "-", "-"], &BOUND[..]].concat(), &w.decoded.concat()), "");
    assert!(text(&kept).starts_with("Kept: "));
    let list = data(piped(&["points", "-", "-o", "-"], &stacked), "");
    assert_eq!(text(&list).lines().count(), 1 + 1394);
    fails(&[&["verify", "-", v, "-", v], &BOUND[..]].concat(), &["- is given more than once"]);
    fails(&["test", "-", "-"], &["- is given more than once"]);
    assert!(!std::path::Path::new("-").exists(), "a file named - was written");
}

#[test]
fn what_is_wrong_with_standard_input_is_said() {
    let w = Wind::new("dash-wrong");
    let wrong = |arguments: &[&str], input: &[u8], parts: &[&str]| {
        let out = piped(arguments, input);
        let error = text(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{error}");
        assert!(out.stdout.is_empty() && error.contains("standard input"), "{error}");
        for part in parts {
            assert!(error.contains(part), "{part}: {error}");
        }
    };
    let start = ["compress", "-", "-o", "-", "--rel", "1e-2"];
    let with = |more: &[&'static str]| [&start, more].concat();
    wrong(&with(&[]), &w.both(), &["--dims NXxNY is missing"]);
    wrong(&with(&["--dims", DIMS]), &w.u, &["one component"]);
    wrong(&with(&["--dims", DIMS]), &w.both()[1..], &["521279", "521280"]);
    wrong(
        &with(&["--dims", "181x360"]),
        &npy("<f4", false, "(2, 181, 360)", &w.both()),
        &["360x181", "181x360"],
    );
    wrong(&with(&[]), &npy("<f4", false, "(181, 360)", &w.u), &["(181, 360)", "one component"]);
    wrong(&["decompress", "-", "-"], &w.u, &["not"]);
    wrong(&["decompress", "-", "-"], &w.stream[..w.stream.len() - 1], &["the end is missing"]);
    wrong(&["info", "-"], b"", &[]);
}

/// A name of standard output is standard output: the stream and the report do not mix.
#[test]
fn dev_stdout_gets_the_data_alone() {
    let w = Wind::new("dev-stdout");
    let [u, v] = &w.files;
    let compress = [&["compress", u, v, "-o", "/dev/stdout"], &BOUND[..]].concat();
    assert!(data(factz(&compress), "largest error") == w.stream);
    let json = factz(&[&compress[..], &["--json"]].concat());
    let report: Value = serde_json::from_slice(&json.stderr).unwrap();
    assert!(json.stdout == w.stream && report["stream_bytes"].as_u64() == Some(w.stream.len() as u64));
    // One file by another name.
    let path = w.folder.path("same");
    let file = File::create(&path).unwrap();
    let run = [&["compress", u, v, "-o", &path], &BOUND[..]].concat();
    let out = Command::new(env!("CARGO_BIN_EXE_factz")).args(&run).stdout(file).output().unwrap();
    assert!(out.status.success() && text(&out.stderr).contains("largest error"));
    assert!(std::fs::read(&path).unwrap() == w.stream);
    let decompress = ["decompress", &w.folder.path("wind.fz"), "/dev/stdout"];
    assert!(data(factz(&decompress), "decompressed") == w.decoded.concat());
}

#[test]
fn a_reader_that_goes_away_is_an_error_of_data_and_none_of_lists() {
    let w = Wind::new("early");
    let closed = |arguments: &[&str]| {
        let mut child = Command::new(env!("CARGO_BIN_EXE_factz"))
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        child.wait_with_output().unwrap()
    };
    let out = closed(&["decompress", &w.folder.path("wind.fz"), "-"]);
    assert_eq!(out.status.code(), Some(2));
    assert!(text(&out.stderr).contains("standard output: the reader went away"), "{}", text(&out.stderr));
    let out = closed(&["points", &w.files[0], &w.files[1], "--dims", DIMS]);
    assert_eq!((out.status.code(), text(&out.stderr).as_str()), (Some(0), ""));
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
    let [u, v] = &w.files;
    let stream = w.folder.path("wind.fz");
    let [_master, slave] = terminal();
    assert!(slave.as_raw_fd() > 2);
    let on_terminal = |arguments: &[&str]| {
        let end = || Stdio::from(slave.try_clone().unwrap());
        Command::new(env!("CARGO_BIN_EXE_factz"))
            .args(arguments)
            .stdin(end())
            .stdout(end())
            .stderr(Stdio::piped())
            .output()
            .unwrap()
    };
    let refused = [
        [&["compress", u, v, "-o", "-"], &BOUND[..]].concat(),
        [&["compress", u, v, "-o", "/dev/stdout"], &BOUND[..]].concat(),
        vec!["decompress", &stream, "-"],
        [&["compress", u, "-", "-o", &stream], &BOUND[..]].concat(),
        vec!["info", "-"],
        vec!["test", "-"],
    ];
    for arguments in refused {
        let out = on_terminal(&arguments);
        let error = text(&out.stderr);
        assert!(error.contains("is a terminal") && error.contains("redirect it"), "{arguments:?}: {error}");
        assert_eq!(out.status.code(), Some(2));
    }
    // Text is shown; a short one, which nobody need read.
    let [u, v] = field("tiny2x2_cp");
    assert_eq!(on_terminal(&["points", &u, &v, "--dims", "2x2"]).status.code(), Some(0));
}

#[test]
fn quiet_says_errors_alone() {
    let w = Wind::new("quiet");
    let [u, v] = &w.files;
    let [stream, u1, v1, csv] = ["wind.fz", "u0", "v0", "points.csv"].map(|n| w.folder.path(n));
    let good = [
        [&["compress", u, v, "-o", &stream], &BOUND[..]].concat(),
        vec!["decompress", &stream, &u1, &v1],
        [&["verify", u, v, &u1, &v1], &BOUND[..]].concat(),
        vec!["test", &stream],
        vec!["info", &stream],
        vec!["points", u, v, "--dims", DIMS, "-o", &csv],
    ];
    for arguments in good {
        let said = succeeds(&[&arguments[..], &["--quiet"]].concat());
        assert!(said.is_empty(), "{arguments:?} says {said}");
    }
    fails(&["info", "--quiet", u], &["u.f32"]);
    let out = factz(&["verify", "-q", u, v, v, u, "--dims", DIMS]);
    assert_eq!((out.status.code(), out.stdout.len()), (Some(1), 0));
    fails(&["info", "--quiet", "--json", &stream], &["cannot be used with"]);
}

#[test]
fn test_finds_damage_without_writing() {
    let w = Wind::new("integrity");
    let f = &w.folder;
    let good = f.path("wind.fz");
    assert_eq!(
        succeeds(&["test", &good]),
        format!("{good}: good, 360x181 values of f32, {} bytes\n", {
            let n = w.stream.len().to_string();
            format!("{},{}", &n[..n.len() - 3], &n[n.len() - 3..])
        })
    );
    let mut flipped = w.stream.clone();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 4;
    let flipped = f.write("flipped.fz", &flipped);
    let cut = f.write("cut.fz", &w.stream[..w.stream.len() - 100]);
    let longer = f.write("longer.fz", &[&w.stream[..], b"tail"].concat());
    let before = f.names();
    let out = factz(&["test", &flipped, &good, &cut, &longer, &w.files[0]]);
    assert_eq!(out.status.code(), Some(1));
    let (said, errors) = (text(&out.stdout), text(&out.stderr));
    assert_eq!((said.lines().count(), errors.lines().count()), (2, 3), "{said}{errors}");
    assert!(said.contains("longer.fz: good") && said.contains("4 bytes behind its end"), "{said}");
    for part in ["flipped.fz: the checksum", "cut.fz: has", "the end is missing", "u.f32: "] {
        assert!(errors.contains(part), "{part}: {errors}");
    }
    let out = factz(&["test", "--json", &flipped, &good, "nowhere.fz"]);
    assert_eq!(out.status.code(), Some(2), "one cannot be read");
    let all: Value = serde_json::from_slice(&out.stdout).unwrap();
    let results: Vec<_> = all["streams"].as_array().unwrap().iter().map(|s| s["result"].as_str()).collect();
    assert_eq!(results, [Some("damaged"), Some("good"), Some("untested")]);
    assert_eq!(all["streams"][1]["predictor"], "hierarchical");
    assert_eq!(f.names(), before);
}

/// Every arrangement of the same values gives the same stream.
#[test]
fn arrays_of_numpy_are_read_however_they_lie() {
    let w = Wind::new("numpy");
    let f = &w.folder;
    let swapped = |bytes: &[u8]| bytes.chunks(4).flat_map(|b| [b[3], b[2], b[1], b[0]]).collect::<Vec<u8>>();
    let pairs: Vec<u8> = w.u.chunks(4).zip(w.v.chunks(4)).flat_map(|(a, b)| [a, b].concat()).collect();
    let stacked = npy("<f4", false, "(2, 181, 360)", &w.both());
    let out = f.path("out.fz");
    let same = |files: &[&str], more: &[&str]| {
        succeeds(&[&["compress"], files, &["-o", &out, "--rel", "1e-2"], more].concat());
        assert!(std::fs::read(&out).unwrap() == w.stream, "{files:?}");
    };
    let raw = f.write("both.f32", &w.both());
    same(&[&raw], &["--dims", DIMS]);
    same(&[&f.write("stacked.npy", &stacked)], &[]);
    same(&[&f.write("pairs.npy", &npy("<f4", false, "(181, 360, 2)", &pairs))], &[]);
    same(&[&f.write("big.npy", &npy(">f4", false, "(1, 181, 360, 2)", &swapped(&pairs)))], &[]);
    let u = f.write("u.npy", &npy("<f4", false, "(1, 181, 360)", &w.u));
    let v = f.write("v.npy", &npy(">f4", false, "(181, 360)", &swapped(&w.v)));
    same(&[&u, &v], &[]);

    let zip = |name: &str, arrays: &[(&str, &[u8])], method| {
        let mut zip = zip::ZipWriter::new(File::create(f.path(name)).unwrap());
        for (name, bytes) in arrays {
            let options = zip::write::SimpleFileOptions::default().compression_method(method);
            zip.start_file(format!("{name}.npy"), options).unwrap();
            zip.write_all(bytes).unwrap();
        }
        zip.finish().unwrap();
        f.path(name)
    };
    use zip::CompressionMethod::{Deflated, Stored};
    let (u, v) = (std::fs::read(u).unwrap(), std::fs::read(v).unwrap());
    same(&[&zip("a.npz", &[("other", b""), ("v", &v), ("u", &u)], Stored)], &[]);
    let compressed = zip("b.npz", &[("vx", &u), ("vy", &v)], Deflated);
    same(&[&compressed], &["--keys", "vx,vy"]);
    same(&[&zip("c.npz", &[("arr_0", &stacked)], Deflated)], &["--keys", "arr_0"]);
    let from_pipe = piped(
        &["compress", "-", "-o", "-", "-q", "--rel", "1e-2", "--keys", "vx,vy"],
        &std::fs::read(&compressed).unwrap(),
    );
    assert!(data(from_pipe, "") == w.stream);

    fails(&["points", &compressed], &["b.npz", "no array u", "vx, vy", "--keys"]);
    fails(&["points", &compressed, &raw, "--dims", DIMS], &["b.npz", "give it alone"]);
    fails(&["points", &compressed, "--keys", "a,b,c"], &["a,b,c", "--keys"]);
    fails(&["points", &compressed, "--keys", "vx"], &["b.npz, array vx", "one component"]);
    let cut = f.write("cut.npz", &std::fs::read(&compressed).unwrap()[..9000]);
    fails(&["points", &cut], &["cut.npz", "is not a NumPy .npz"]);
    let unclear = f.write("unclear.npy", &npy("<f4", false, "(2, 3, 2)", &[0; 48]));
    fails(&["points", &unclear], &["--dims 2x3 or --dims 3x2"]);
    succeeds(&["points", &unclear, "--dims", "3x2"]);
}

#[test]
fn arrays_of_numpy_are_written_as_the_names_say() {
    let w = Wind::new("numpy-out");
    let f = &w.folder;
    let stream = f.path("wind.fz");
    let decoded = w.decoded.concat();
    let read = |name: &str| std::fs::read(f.path(name)).unwrap();
    succeeds(&["decompress", &stream, &f.path("both.npy")]);
    assert!(read("both.npy") == npy("<f4", false, "(2, 181, 360)", &decoded));
    succeeds(&["decompress", &stream, &f.path("both.f32")]);
    assert!(read("both.f32") == decoded);
    succeeds(&["decompress", &stream, &f.path("array"), &f.path("w"), "--format", "npy"]);
    assert!(read("array") == npy("<f4", false, "(181, 360)", &w.decoded[0]));
    assert!(data(factz(&["decompress", "-q", &stream, "-", "--format", "npy"]), "") == read("both.npy"));

    succeeds(&["decompress", &stream, &f.path("both.npz")]);
    let piped =
        f.write("piped.npz", &data(factz(&["decompress", "-q", &stream, "-", "--format", "npz"]), ""));
    for archive in [f.path("both.npz"), piped] {
        let mut zip = zip::ZipArchive::new(File::open(&archive).unwrap()).unwrap();
        for (name, bytes) in [("u.npy", &w.decoded[0]), ("v.npy", &w.decoded[1])] {
            let mut held = Vec::new();
            std::io::copy(&mut zip.by_name(name).unwrap(), &mut held).unwrap();
            assert!(held == npy("<f4", false, "(181, 360)", bytes), "{archive} {name}");
        }
        let c = json(&["verify", &f.path("both.npy"), &archive, "--abs", "0", "--json"]);
        assert_eq!((c["command"].as_str(), c["violations"].as_u64()), (Some("verify"), Some(0)));
        let [u, v] = &w.files;
        succeeds(&["verify", u, v, &archive, "--rel", "1e-2"]);
        succeeds(&["verify", &archive, u, v, "--abs", "0.5"]);
    }
}
