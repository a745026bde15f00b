//! The command line: round trips, exit status, sentences, JSON, and files that survive errors.

use crate::support::cli::{factz, fails, field, json, npy, succeeds, text, values, Folder, DIMS};
use serde_json::Value;

#[test]
fn raw_round_trip_is_verified() {
    let f = Folder::new("raw");
    let [u, v] = field("wind_global");
    let (stream, u1, v1) = (f.path("wind.fz"), f.path("u1.f32"), f.path("v1.f32"));
    for mode in ["block", "speculative"] {
        let said =
            succeeds(&["compress", &u, &v, "-o", &stream, "--dims", DIMS, "--rel", "1e-2", "--mode", mode]);
        assert!(said.contains("1,394 critical points kept with their types, none new"), "{said}");
        succeeds(&["decompress", &stream, &u1, &v1, "--threads", "2"]);
        let said = succeeds(&["verify", &u, &v, &u1, &v1, "--dims", DIMS, "--rel", "1e-2"]);
        assert!(said.starts_with("Kept: 1,394 critical points"), "{said}");
        assert_ne!(std::fs::read(&u).unwrap(), std::fs::read(&u1).unwrap());
    }
    assert_eq!(f.names(), ["u1.f32", "v1.f32", "wind.fz"], "temporary files are left");
}

#[test]
fn npy_round_trip_needs_no_dims() {
    let f = Folder::new("npy");
    let [u, v] = field("wind_global").map(|p| std::fs::read(p).unwrap());
    let (u, v) = (
        f.write("u.npy", &npy("<f4", false, "(181, 360)", &u)),
        f.write("v.npy", &npy("<f4", false, "(181, 360)", &v)),
    );
    let (stream, u1, v1) = (f.path("wind.fz"), f.path("u1.npy"), f.path("v1.npy"));
    succeeds(&["compress", &u, &v, "-o", &stream, "--abs", "0.25"]);
    succeeds(&["decompress", &stream, &u1, &v1]);
    succeeds(&["verify", &u, &v, &u1, &v1, "--abs", "0.25"]);
    let written = std::fs::read(&u1).unwrap();
    let head = text(&written[10..128]);
    assert!(head.starts_with("{'descr': '<f4', 'fortran_order': False, 'shape': (181, 360), }"), "{head}");
    assert_eq!(written.len(), 128 + 360 * 181 * 4);
    // Raw and .npy may be mixed; the stream is the same.
    let [raw_u, _] = field("wind_global");
    let other = f.path("mixed.fz");
    succeeds(&["compress", &raw_u, &v, "-o", &other, "--abs", "0.25"]);
    assert_eq!(std::fs::read(&stream).unwrap(), std::fs::read(&other).unwrap());
}

#[test]
fn f64_and_lossless_round_trips() {
    let f = Folder::new("f64");
    let [u, v] = field("piv_cavity").map(|p| {
        values(&p).iter().flat_map(|&x| (x as f64 * 1.000000001).to_le_bytes()).collect::<Vec<u8>>()
    });
    let (u, v) = (f.write("u.f64", &u), f.write("v.f64", &v));
    let (stream, u1, v1) = (f.path("s.fz"), f.path("u1.f64"), f.path("v1.f64"));
    let shape = ["--dims", "41x43", "--dtype", "f64"];
    let run = |arguments: &[&str]| succeeds(&[arguments, &shape].concat());
    run(&["compress", &u, &v, "-o", &stream, "--rel", "1e-6"]);
    succeeds(&["decompress", &stream, &u1, &v1]);
    run(&["verify", &u, &v, &u1, &v1, "--rel", "1e-6"]);
    run(&["compress", &u, &v, "-o", &stream, "--abs", "0"]);
    succeeds(&["decompress", &stream, &u1, &v1]);
    run(&["verify", &u, &v, &u1, &v1, "--abs", "0"]);
}

#[test]
fn verify_finds_what_a_plain_stream_lost() {
    let f = Folder::new("none");
    let [u, v] = field("wind_global");
    let (stream, u1, v1) = (f.path("wind.fz"), f.path("u1"), f.path("v1"));
    succeeds(&["compress", &u, &v, "-o", &stream, "--dims", DIMS, "--rel", "1e-2", "--preserve", "none"]);
    succeeds(&["decompress", &stream, &u1, &v1]);
    let compared = ["verify", &u, &v, &u1, &v1, "--dims", DIMS];
    let out = factz(&compared);
    let said = text(&out.stdout);
    assert_eq!(out.status.code(), Some(1), "{said}");
    assert!(said.starts_with("Violated: ") && said.contains("critical points are lost"), "{said}");
    let out = factz(&[&compared[..], &["--json"]].concat());
    assert_eq!(out.status.code(), Some(1));
    let counts: Value = serde_json::from_slice(&out.stdout).unwrap();
    assert!(counts["lost"].as_u64().unwrap() > 0);
    assert_eq!(counts["bound_exceeded"], 0);
    let out = factz(&[&compared[..], &["--abs", "1e-4", "--json"]].concat());
    let counts: Value = serde_json::from_slice(&out.stdout).unwrap();
    assert!(counts["bound_exceeded"].as_u64().unwrap() > 0);
}

#[test]
fn json_holds_the_figures() {
    let f = Folder::new("json");
    let [u, v] = field("wind_global");
    let stream = f.path("wind.fz");
    let c = json(&[
        "compress",
        &u,
        &v,
        "-o",
        &stream,
        "--dims",
        DIMS,
        "--rel",
        "0.01",
        "--spacing",
        "1,0.5",
        "--json",
    ]);
    let bytes = std::fs::metadata(&stream).unwrap().len();
    assert_eq!(c["stream_bytes"].as_u64(), Some(bytes));
    assert_eq!(c["critical_points"], 1394);
    assert!(c["max_error"].as_f64().unwrap() <= c["absolute_bound"].as_f64().unwrap());
    let i = json(&["info", &stream, "--json"]);
    assert_eq!(
        (i["nx"].as_u64(), i["ny"].as_u64(), i["dtype"].as_str()),
        (Some(360), Some(181), Some("f32"))
    );
    assert_eq!((i["bound_kind"].as_str(), i["bound"].as_f64()), (Some("relative"), Some(0.01)));
    assert_eq!((i["dx"].as_f64(), i["dy"].as_f64()), (Some(1.0), Some(0.5)));
    assert_eq!(i["absolute_bound"], c["absolute_bound"]);
    assert_eq!(i["stream_bytes"].as_u64(), Some(bytes));
    let d = json(&["decompress", &stream, &f.path("u"), &f.path("v"), "--json"]);
    assert_eq!(d["output_bytes"], 521280);
    let p = json(&["points", &u, &v, "--dims", DIMS, "--json"]);
    assert_eq!(p["critical_points"], 1394);
    let b = json(&[
        "bench",
        &u,
        &v,
        "--dims",
        DIMS,
        "--bounds",
        "1e-2",
        "--repeat",
        "1",
        "--threads",
        "1",
        "--json",
    ]);
    let runs = b["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 6, "two predictors block-wise, one speculative, each with two coders");
    for run in runs {
        assert_eq!(run["violations"], 0);
        assert!(run["ratio"].as_f64().unwrap() > 1.0);
        assert!(run["error_over_bound"].as_f64().unwrap() <= 1.0);
    }
}

#[test]
fn a_fill_value_is_told_and_an_unknown_one_warned_of() {
    let f = Folder::new("fill");
    // 2^80, which has the same digits in both types.
    let fill = 2f32.powi(80);
    let with_land = |path: String| -> Vec<u8> {
        let land = |(k, x): (usize, f32)| if k % 7 == 3 { fill } else { x };
        values(&path).into_iter().enumerate().map(land).flat_map(f32::to_le_bytes).collect()
    };
    let [u, v] = field("wind_global").map(with_land);
    let (u, v) = (f.write("u.f32", &u), f.write("v.f32", &v));
    let (stream, u1, v1) = (f.path("wind.fz"), f.path("u1.f32"), f.path("v1.f32"));
    let compress = ["compress", &u, &v, "-o", &stream, "--dims", DIMS, "--rel", "1e-3"];
    assert!(succeeds(&compress).contains("--fill-value names a value"));
    assert_eq!(json(&["info", &stream, "--json"])["fill_value"], Value::Null);
    let with_fill = [&compress[..], &["--fill-value", "1.2089258196146292e24"]].concat();
    let said = succeeds(&with_fill);
    assert!(said.contains(", 9,309 with the fill value") && !said.contains("warning"), "{said}");
    let figures = json(&[&with_fill[..], &["--json"]].concat());
    assert_eq!(
        (figures["filled_vertices"].as_u64(), figures["wide_range"].as_bool()),
        (Some(9309), Some(false))
    );
    assert!(figures["absolute_bound"].as_f64().unwrap() < 1.0, "{figures}");
    let told = succeeds(&["info", &stream]);
    assert!(told.contains("fill value      1.2089258196146292e24"), "{told}");
    assert_eq!(json(&["info", &stream, "--json"])["fill_value"], figures["fill_value"]);
    succeeds(&["decompress", &stream, &u1, &v1]);
    for (before, after) in values(&u).into_iter().zip(values(&u1)) {
        assert!((before == fill) == (after == fill));
    }
    // An equal range, and critical points without the land.
    let marked = ["--dims", DIMS, "--fill-value", "1.2089258196146292e24", "--json"];
    let c = json(&[&["verify", &u, &v, &u1, &v1, "--rel", "1e-3"], &marked[..]].concat());
    assert_eq!(c["bound"], figures["absolute_bound"]);
    assert_eq!((c["filled_vertices"].as_u64(), c["violations"].as_u64()), (Some(9309), Some(0)));
    assert_eq!(c["critical_points"], figures["critical_points"]);
    let p = json(&[&["points", &u, &v], &marked[..]].concat());
    assert_eq!(p["critical_points"], figures["critical_points"]);
    fails(&[&compress[..], &["--fill-value", "land"]].concat(), &["--fill-value", "9.96921e36"]);
}

#[test]
fn made_fields_are_measured() {
    for kind in ["dense", "smooth", "ocean"] {
        let b = json(&[
            "bench",
            "--synthetic",
            kind,
            "--dims",
            "130x70",
            "--dtype",
            "f64",
            "--bounds",
            "1e-2",
            "--repeat",
            "1",
            "--threads",
            "1",
            "--mode",
            "block",
            "--json",
        ]);
        assert_eq!(
            (b["nx"].as_u64(), b["ny"].as_u64(), b["dtype"].as_str()),
            (Some(130), Some(70), Some("f64"))
        );
        let runs = b["runs"].as_array().unwrap();
        assert_eq!(runs.len(), 4, "two predictors, two coders");
        assert!(runs.iter().all(|run| run["violations"] == 0), "{kind}: {b}");
    }
    fails(&["bench", "--synthetic", "dense"], &["--dims"]);
}

#[test]
fn info_and_points_are_readable() {
    let f = Folder::new("text");
    let [u, v] = field("tiny2x2_cp");
    let stream = f.path("t.fz");
    succeeds(&["compress", &u, &v, "-o", &stream, "--dims", "2x2", "--abs", "0.001"]);
    let said = succeeds(&["info", &stream]);
    let parts = [
        "2 x 2 values of f32",
        "absolute 1e-3",
        "mode            block",
        "preserves       types",
        "coder           ans",
    ];
    for part in parts.into_iter().chain(["predictor       hierarchical"]) {
        assert!(said.contains(part), "{part}: {said}");
    }
    let list = succeeds(&["points", &u, &v, "--dims", "2x2"]);
    let lines: Vec<&str> = list.lines().collect();
    assert_eq!(lines[0], "x,y,x_cell,y_cell,triangle,type");
    assert_eq!(lines.len(), 3, "{list}");
    let csv = f.path("points.csv");
    let said = succeeds(&["points", &u, &v, "--dims", "2x2", "-o", &csv]);
    assert!(said.contains("2 critical points"), "{said}");
    assert_eq!(std::fs::read_to_string(&csv).unwrap(), list);
}

#[test]
fn demo_keeps_everything_and_draws() {
    let f = Folder::new("demo");
    let picture = f.path("new/wind.png");
    let said = succeeds(&["demo", "--picture", &picture]);
    assert!(said.contains("Everything that was promised is kept."), "{said}");
    assert_eq!(&std::fs::read(&picture).unwrap()[..8], b"\x89PNG\r\n\x1a\n");
    let d = json(&["demo", "--picture", &picture, "--json", "--threads", "1"]);
    assert_eq!(d["runs"].as_array().unwrap().len(), 9);
    assert_eq!(d["violations"], 0);
}

/// Every command on fields takes --backend: the result is the same, and cuda insists on a device.
#[test]
fn backends_give_the_same() {
    let f = Folder::new("backends");
    let [u, v] = field("wind_global");
    let path = |name: &str| f.path(name);
    let has_device = factz::device::available().is_ok();
    let mut first: Option<[Vec<u8>; 4]> = None;
    for backend in ["cpu", "auto", "cuda"] {
        let [out, u1, v1, csv] = ["out", "u1", "v1", "csv"].map(path);
        let commands = [
            vec!["compress", &u, &v, "-o", &out, "--rel", "1e-2", "--dims", DIMS],
            vec!["decompress", &out, &u1, &v1],
            vec!["verify", &u, &v, &u1, &v1, "--rel", "1e-2", "--dims", DIMS],
            vec!["points", &u, &v, "-o", &csv, "--dims", DIMS],
        ];
        for command in commands {
            let command = [&command[..], &["--backend", backend]].concat();
            if backend == "cuda" && !has_device {
                fails(&command, &["--backend cuda", "NoDevice", "--backend cpu"]);
            } else {
                succeeds(&command);
            }
        }
        let files = [&out, &u1, &v1, &csv].map(|name| std::fs::read(name).unwrap());
        match &first {
            None => first = Some(files),
            Some(first) => assert!(files == *first, "{backend} differs"),
        }
    }
    let used = if has_device { "cuda" } else { "cpu" };
    let shape = ["--dims", DIMS, "--rel", "1e-2", "--json"];
    let said = json(&[&["compress", &u, &v, "-o", &path("out")], &shape[..]].concat());
    assert_eq!(said["backend"], used);
}

#[test]
fn wrong_usage_is_explained() {
    let f = Folder::new("usage");
    let [u, v] = field("wind_global");
    let out = f.path("out.fz");
    let start = ["compress", &u, &v, "-o", &out];
    let compress = |more: &[&str], parts: &[&str]| fails(&[&start, more].concat(), parts);
    compress(&["--dims", DIMS], &["a bound is missing", "--abs", "--rel"]);
    compress(&["--dims", DIMS, "--abs", "1", "--rel", "1"], &["--abs", "--rel", "cannot be used with"]);
    compress(&["--rel", "1e-2"], &["--dims NXxNY is missing", "u.f32"]);
    compress(&["--rel", "1e-2", "--dims", "360"], &["'360'", "--dims", "360x181"]);
    compress(&["--rel", "1e-2", "--dims", "0x5"], &["'0x5'", "positive"]);
    compress(&["--rel", "1e-2", "--dims", "360x180"], &["u.f32", "260640", "259200", "--dims"]);
    compress(&["--rel", "1e-2", "--dims", "180x181", "--dtype", "f32"], &["260640", "130320", "--dtype f64"]);
    compress(&["--rel", "-1", "--dims", DIMS], &["'-1'", "--rel", "0 or more"]);
    compress(&["--rel", "nan", "--dims", DIMS], &["'nan'", "finite"]);
    compress(&["--rel", "1", "--dims", DIMS, "--spacing", "1"], &["'1'", "DX,DY"]);
    fails(&["compress", &u, &v, "-o", &u, "--dims", DIMS, "--rel", "1"], &["u.f32", "is an input"]);
    fails(
        &["compress", &u, "nowhere.f32", "-o", &out, "--dims", DIMS, "--rel", "1"],
        &["nowhere.f32", "opened"],
    );
    let nowhere = f.path("no/such/folder/out.fz");
    fails(
        &["compress", &u, &v, "-o", &nowhere, "--dims", DIMS, "--rel", "1"],
        &["no/such/folder/out.fz", "written"],
    );
    fails(
        &["verify", &u, &v, &u, "--dims", DIMS],
        &["u.f32: ", "it has one component: give the file of the other"],
    );
    fails(&["verify", &u, "--dims", DIMS], &["the number of files is 1", "U0 V0 U1 V1"]);
    fails(&["verify"], &["factz verify [OPTIONS] <U0> <V0> <U1> <V1>"]);
    // Too many values are told from what is no number.
    for dims in ["4294967296x4294967296", "16777216x16777217", "99999999999999999999x1"] {
        compress(&["--rel", "1e-2", "--dims", dims], &[dims, "more than 2^48 values"]);
    }
    compress(
        &["--rel", "1", "--dims", DIMS, "--mode", "speculative", "--predictor", "lorenzo"],
        &["--mode speculative works with --predictor hierarchical alone"],
    );
    compress(&["--rel", "1e-2", "--dims", "-3x5"], &["-3x5", "--dims"]);
    compress(&["--rel", "1e-2", "--dims", "16777216x16777216"], &["u.f32", "260640", "1125899906842624"]);
    fails(&["nonsense"], &["nonsense"]);
    assert!(f.names().is_empty(), "an error left {:?}", f.names());
}

#[test]
fn unsuitable_npy_files_are_explained() {
    let f = Folder::new("npy-errors");
    let data = [0u8; 6 * 4];
    let good = f.write("good.npy", &npy("<f4", false, "(2, 3)", &data));
    let out = f.path("out.fz");
    let with = |name: &str, content: &[u8], parts: &[&str]| {
        let bad = f.write(name, content);
        fails(&["compress", &bad, &good, "-o", &out, "--abs", "1"], &[&[name], parts].concat());
    };
    with("a.npy", &npy("<f4", true, "(2, 3)", &data), &["Fortran order", "np.ascontiguousarray"]);
    with("c.npy", &npy("<i4", false, "(2, 3)", &data), &["'<i4'", "astype"]);
    with("d.npy", &npy("<f4", false, "(6,)", &data), &["1 dimensions"]);
    with("e.npy", &npy("<f4", false, "(3, 2, 3)", &[0; 72]), &["3 dimensions", "2D"]);
    with(
        "b.npy",
        &npy("<f4", false, "(2, 2, 3)", &[0; 48]),
        &["(2, 2, 3)", "holds both components", "alone"],
    );
    // The first file sets the shape, so the second one is named.
    let other = f.write("f.npy", &npy("<f4", false, "(3, 3)", &[0; 36]));
    fails(&["compress", &good, &other, "-o", &out, "--abs", "1"], &["f.npy", "3x3", "3x2", "agree"]);
    let other = f.write("g.npy", &npy("<f8", false, "(2, 3)", &[0; 48]));
    fails(&["compress", &good, &other, "-o", &out, "--abs", "1"], &["g.npy", "f64", "f32", "agree"]);
    with("h.npy", &npy("<f4", false, "(2, 3)", &data[4..]), &["20 bytes", "24"]);
    with("i.npy", b"not numpy at all", &["is not a NumPy .npy file"]);
    with("j.npy", b"\x93NUMPY\x01\x00\xff", &["incomplete"]);
    with("k.npy", &npy("<f4", false, "(0, 3)", &[]), &["(0, 3)", "positive"]);
    fails(
        &["compress", &good, &good, "-o", &out, "--abs", "1", "--dims", "2x3"],
        &["3x2", "2x3", "good.npy"],
    );
    fails(
        &["compress", &good, &good, "-o", &out, "--abs", "1", "--dtype", "f64"],
        &["f32", "f64", "--dtype"],
    );
    // A single row is stored alike in both orders.
    let row = f.write("row.npy", &npy("<f4", true, "(1, 6)", &data));
    succeeds(&["compress", &row, &row, "-o", &out, "--abs", "1"]);
}

#[test]
fn an_error_destroys_nothing() {
    let f = Folder::new("damage");
    let [u, v] = field("piv_cavity");
    let stream = f.path("s.fz");
    succeeds(&["compress", &u, &v, "-o", &stream, "--dims", "41x43", "--rel", "1e-2"]);
    let good = std::fs::read(&stream).unwrap();
    fails(&["compress", &u, &v, "-o", &stream, "--dims", "41x44", "--rel", "1e-2"], &["--dims"]);
    assert_eq!(std::fs::read(&stream).unwrap(), good);

    let (u1, v1) = (f.write("u1", b"precious"), f.write("v1", b"precious"));
    let mut flipped = good.clone();
    let last = flipped.len() - 20;
    flipped[last] ^= 1;
    let damaged = f.write("damaged.fz", &flipped);
    fails(&["decompress", &damaged, &u1, &v1], &["damaged.fz", "checksum"]);
    let cut = f.write("cut.fz", &good[..good.len() - 1]);
    fails(&["decompress", &cut, &u1, &v1], &["cut.fz", "the end is missing"]);
    let short = f.write("short.fz", &good[..10]);
    fails(&["decompress", &short, &u1, &v1], &["short.fz"]);
    fails(&["info", &short], &["short.fz"]);
    fails(&["info", &u], &["u.f32"]);
    fails(&["decompress", &stream, &u1, &u1], &["two names"]);
    fails(&["decompress", &stream, &f.path("a.npz"), &v1], &["a.npz", "give it alone"]);
    fails(&["decompress", &stream, &stream, &v1], &["is the stream itself"]);
    let nowhere = f.path("no/v1");
    fails(&["decompress", &stream, &u1, &nowhere], &["no/v1"]);
    for file in [&u1, &v1] {
        assert_eq!(std::fs::read(file).unwrap(), b"precious");
    }
    assert_eq!(f.names(), ["cut.fz", "damaged.fz", "s.fz", "short.fz", "u1", "v1"]);
}

#[test]
fn help_shows_examples_units_and_exit_status() {
    for command in ["compress", "decompress", "verify", "test", "info", "points", "bench", "demo"] {
        let help = succeeds(&[command, "--help"]);
        assert!(help.contains(&format!("factz {command}")), "{help}");
        assert!(help.contains("Example") && help.contains("Exit status:"), "{help}");
    }
    assert!(succeeds(&["--help"]).contains("x fastest"));
    assert!(succeeds(&["--version"]).starts_with("factz 0."));
}

#[cfg(unix)]
#[test]
fn special_files_are_written_and_links_followed() {
    let f = Folder::new("special");
    let [u, v] = field("piv_cavity");
    succeeds(&["compress", &u, &v, "-o", "/dev/null", "--dims", "41x43", "--rel", "1e-2"]);
    assert!(!std::fs::metadata("/dev/null").unwrap().is_file());
    let real = f.write("real.fz", b"old");
    let link = f.path("link.fz");
    std::os::unix::fs::symlink(&real, &link).unwrap();
    succeeds(&["compress", &u, &v, "-o", &link, "--dims", "41x43", "--rel", "1e-2"]);
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(std::fs::read(&real).unwrap().len() > 100);
}
