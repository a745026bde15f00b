//! The command line: round trips, exit status, sentences, JSON, and files that survive errors.

use crate::support::cli::{npy, npy_in_order, text, Folder};
use crate::support::fields::bytes_of;
use serde_json::Value;

#[test]
fn raw_round_trip_is_verified() {
    let f = Folder::with_field("raw", "wind_global");
    for mode in ["block", "speculative"] {
        let compress = "compress u.f32 v.f32 -o wind.fz --dims 360x181 --rel 1e-2 --mode";
        let said = f.succeeds(&format!("{compress} {mode}"));
        assert!(said.contains("1,394 critical points kept with their types, none new"), "{said}");
        f.succeeds("decompress wind.fz u1.f32 v1.f32 --threads 2");
        let said = f.succeeds("verify u.f32 v.f32 u1.f32 v1.f32 --dims 360x181 --rel 1e-2");
        assert!(said.starts_with("Kept: 1,394 critical points"), "{said}");
        assert!(f.read("u.f32") != f.read("u1.f32"));
    }
    assert_eq!(f.names(), ["u.f32", "u1.f32", "v.f32", "v1.f32", "wind.fz"], "temporary files are left");
}

#[test]
fn npy_round_trip_needs_no_dims() {
    let f = Folder::with_field("npy", "wind_global");
    for component in ["u", "v"] {
        let array = npy("<f4", "(181, 360)", &f.read(&format!("{component}.f32")));
        f.write(&format!("{component}.npy"), &array);
    }
    f.succeeds("compress u.npy v.npy -o wind.fz --abs 0.25");
    f.succeeds("decompress wind.fz u1.npy v1.npy");
    f.succeeds("verify u.npy v.npy u1.npy v1.npy --abs 0.25");
    let written = f.read("u1.npy");
    let head = text(&written[10..128]);
    assert!(head.starts_with("{'descr': '<f4', 'fortran_order': False, 'shape': (181, 360), }"), "{head}");
    assert_eq!(written.len(), 128 + 360 * 181 * 4);
    // Raw and .npy may be mixed; the stream is the same.
    f.succeeds("compress u.f32 v.npy -o mixed.fz --abs 0.25");
    assert!(f.read("wind.fz") == f.read("mixed.fz"));
}

#[test]
fn f64_and_lossless_round_trips() {
    let f = Folder::with_field("f64", "piv_cavity");
    for component in ["u", "v"] {
        let wide = |x: f32| (x as f64 * 1.000000001).to_le_bytes();
        let bytes: Vec<u8> = f.values(&format!("{component}.f32")).into_iter().flat_map(wide).collect();
        f.write(&format!("{component}.f64"), &bytes);
    }
    for bound in ["--rel 1e-6", "--abs 0"] {
        f.succeeds(&format!("compress u.f64 v.f64 -o s.fz --dims 41x43 --dtype f64 {bound}"));
        f.succeeds("decompress s.fz u1.f64 v1.f64");
        f.succeeds(&format!("verify u.f64 v.f64 u1.f64 v1.f64 --dims 41x43 --dtype f64 {bound}"));
    }
}

#[test]
fn verify_finds_what_a_plain_stream_lost() {
    let f = Folder::with_field("none", "wind_global");
    f.succeeds("compress u.f32 v.f32 -o wind.fz --dims 360x181 --rel 1e-2 --preserve none");
    f.succeeds("decompress wind.fz u1 v1");
    let verify = |more: &str| {
        let out = f.factz(&format!("verify u.f32 v.f32 u1 v1 --dims 360x181 {more}"));
        assert_eq!(out.status.code(), Some(1), "{}", text(&out.stdout));
        out.stdout
    };
    let said = text(&verify(""));
    assert!(said.starts_with("Violated: ") && said.contains("critical points are lost"), "{said}");
    let counts: Value = serde_json::from_slice(&verify("--json")).unwrap();
    assert!(counts["comparison"]["lost_points"].as_u64().unwrap() > 0);
    assert_eq!(counts["comparison"]["bound_exceeded"], 0);
    let counts: Value = serde_json::from_slice(&verify("--abs 1e-4 --json")).unwrap();
    assert!(counts["comparison"]["bound_exceeded"].as_u64().unwrap() > 0);
}

/// Changes that the setting of a stream, or the option, allows are told and are no violation.
#[test]
fn verify_asks_for_what_preserve_promises() {
    let f = Folder::with_field("preserve", "wind_global");
    let verify = |more: &str| {
        let out = f.factz(&format!("verify u.f32 v.f32 {more}"));
        let json = f.factz(&format!("verify u.f32 v.f32 {more} --json"));
        let counts: Value = serde_json::from_slice(&json.stdout).unwrap();
        assert_eq!(out.status.code(), Some((counts["violations"] != 0) as i32), "{counts}");
        (text(&out.stdout), counts)
    };
    // The speculative mode uses all of the freedom.
    let compress = "compress u.f32 v.f32 --dims 360x181 --rel 1e-1 --mode speculative";
    for (preserve, allowed) in [
        ("points", "types change: allowed by --preserve points"),
        ("none", "of another type or index: allowed by --preserve none"),
    ] {
        f.succeeds(&format!("{compress} -o s.fz --preserve {preserve}"));
        let (said, counts) = verify("s.fz");
        assert!(said.starts_with("Kept: ") && said.contains(allowed), "{said}");
        assert_eq!((&counts["preserve"], &counts["violations"]), (&preserve.into(), &0.into()));
        // The counts of the comparison do not depend on the setting.
        assert!(counts["comparison"]["violations"].as_u64() > Some(0), "{counts}");
        f.succeeds("decompress s.fz a b");
        let arrays = "a b --dims 360x181 --rel 1e-1";
        let (plain, strict) = verify(arrays);
        assert!(plain.starts_with("Violated: ") && strict["preserve"] == "types", "{plain}");
        assert_eq!((strict["comparison"] == counts["comparison"]).then_some(preserve), Some(preserve));
        assert_eq!(verify(&format!("{arrays} --preserve {preserve}")).0, said);
        assert!(verify("s.fz --preserve types").0.starts_with("Violated: "));
        // Lost points are allowed to a stream that promises none.
        f.succeeds(&format!("{compress} -o none.fz --preserve none"));
        let (said, _) = verify("none.fz --preserve points");
        assert!(said.starts_with("Violated: ") && said.contains("critical points are lost"), "{said}");
        assert!(verify("s.fz --abs 1e-9").0.contains("values exceed the bound; "));
    }
}

#[test]
fn json_holds_the_figures() {
    let f = Folder::with_field("json", "wind_global");
    let c = f.json("compress u.f32 v.f32 -o wind.fz --dims 360x181 --rel 0.01 --spacing 1,0.5");
    let bytes = f.read("wind.fz").len();
    assert_eq!(c["stream_bytes"], bytes);
    assert_eq!(c["critical_points"], 1394);
    assert!(c["max_error"].as_f64().unwrap() <= c["absolute_bound"].as_f64().unwrap());
    let i = f.json("info wind.fz");
    assert_eq!([&i["nx"], &i["ny"], &i["stream_bytes"]], [360, 181, bytes]);
    assert_eq!([&i["dtype"], &i["bound_kind"]], ["f32", "relative"]);
    assert_eq!([&i["bound"], &i["dx"], &i["dy"]], [0.01, 1.0, 0.5]);
    assert_eq!(i["absolute_bound"], c["absolute_bound"]);
    assert_eq!(f.json("decompress wind.fz u v")["output_bytes"], 521280);
    assert_eq!(f.json("points u.f32 v.f32 --dims 360x181")["critical_points"], 1394);
    let b = f.json("bench u.f32 v.f32 --dims 360x181 --bounds 1e-2 --repeat 1 --threads 1");
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
    let f = Folder::with_field("fill", "wind_global");
    // 2^80, which has the same digits in both types.
    let fill = 2f32.powi(80);
    for name in ["u.f32", "v.f32"] {
        let mut values = f.values(name);
        values.iter_mut().skip(3).step_by(7).for_each(|x| *x = fill);
        f.write(name, &bytes_of(&values));
    }
    let compress = "compress u.f32 v.f32 -o wind.fz --dims 360x181 --rel 1e-3";
    assert!(f.succeeds(compress).contains("--fill-value names a value"));
    assert_eq!(f.json("info wind.fz")["fill_value"], Value::Null);
    let marked = "--fill-value 1.2089258196146292e24";
    let said = f.succeeds(&format!("{compress} {marked}"));
    assert!(said.contains(", 9,309 with the fill value") && !said.contains("warning"), "{said}");
    let figures = f.json(&format!("{compress} {marked}"));
    assert_eq!((&figures["filled_vertices"], &figures["wide_range"]), (&9309.into(), &false.into()));
    assert!(figures["absolute_bound"].as_f64().unwrap() < 1.0, "{figures}");
    let told = f.succeeds("info wind.fz");
    assert!(told.contains("fill value      1.2089258196146292e24"), "{told}");
    assert_eq!(f.json("info wind.fz")["fill_value"], figures["fill_value"]);
    f.succeeds("decompress wind.fz u1.f32 v1.f32");
    for (before, after) in f.values("u.f32").into_iter().zip(f.values("u1.f32")) {
        assert!((before == fill) == (after == fill));
    }
    // An equal range, and critical points without the land.
    let c = f.json(&format!("verify u.f32 v.f32 u1.f32 v1.f32 --rel 1e-3 --dims 360x181 {marked}"));
    let c = &c["comparison"];
    assert_eq!(c["bound"], figures["absolute_bound"]);
    assert_eq!([&c["filled_vertices"], &c["violations"]], [9309, 0]);
    assert_eq!(c["critical_points"], figures["critical_points"]);
    let p = f.json(&format!("points u.f32 v.f32 --dims 360x181 {marked}"));
    assert_eq!(p["critical_points"], figures["critical_points"]);
    f.fails(&format!("{compress} --fill-value land"), &["--fill-value", "9.96921e36"]);
    f.fails(&format!("{compress} --fill-value 1e39"), &["--fill-value 1e39", "--dtype f32"]);
    f.fails(&format!("{compress} --fill-value 1e400"), &["1e400", "--fill-value", "beyond the range"]);
}

#[test]
fn made_fields_are_measured() {
    let f = Folder::new("made");
    for kind in ["dense", "smooth", "ocean"] {
        let field = format!("--synthetic {kind} --dims 130x70 --dtype f64 --mode block");
        let b = f.json(&format!("bench {field} --bounds 1e-2 --repeat 1 --threads 1"));
        assert_eq!((&b["nx"], &b["ny"], &b["dtype"]), (&130.into(), &70.into(), &"f64".into()));
        let runs = b["runs"].as_array().unwrap();
        assert_eq!(runs.len(), 4, "two predictors, two coders");
        assert!(runs.iter().all(|run| run["violations"] == 0), "{kind}: {b}");
    }
    f.fails("bench --synthetic dense", &["--dims"]);
}

#[test]
fn info_and_points_are_readable() {
    let f = Folder::with_field("text", "tiny2x2_cp");
    f.succeeds("compress u.f32 v.f32 -o t.fz --dims 2x2 --abs 0.001");
    let said = f.succeeds("info t.fz");
    for part in [
        "2 x 2 values of f32",
        "absolute 1e-3",
        "mode            block",
        "preserves       types",
        "ties            all",
        "coder           ans",
        "predictor       hierarchical",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let list = f.succeeds("points u.f32 v.f32 --dims 2x2");
    let lines: Vec<&str> = list.lines().collect();
    assert!(
        lines[0].starts_with("x,y,cell_x,cell_y,cell_z,simplex,point_type,index,rounding_divergence,"),
        "{list}"
    );
    assert_eq!(lines.len(), 3, "{list}");
    let said = f.succeeds("points u.f32 v.f32 --dims 2x2 -o points.csv");
    assert!(said.contains("2 critical points"), "{said}");
    assert_eq!(text(&f.read("points.csv")), list);
}

#[test]
fn demo_keeps_everything_and_draws() {
    let f = Folder::new("demo");
    let said = f.succeeds("demo --picture new/wind.png");
    assert!(said.contains("Everything that was promised is kept."), "{said}");
    assert!(said.contains("1398 critical points, 4 of them between the last column and the first"), "{said}");
    assert!(said.contains("error/bound  lost / spurious / other type\n") && !said.contains("P1"), "{said}");
    assert_eq!(&f.read("new/wind.png")[..8], b"\x89PNG\r\n\x1a\n");
    let d = f.json("demo --picture new/wind.png --threads 1");
    assert_eq!(d["runs"].as_array().unwrap().len(), 9);
    assert_eq!(d["violations"], 0);
}

/// Every command on fields takes --backend: the result is the same, and cuda insists on a device.
#[test]
fn backends_give_the_same() {
    let f = Folder::with_field("backends", "wind_global");
    let has_device = factz::device::available().is_ok();
    let mut first = None;
    for backend in ["cpu", "auto", "cuda"] {
        for command in [
            "compress u.f32 v.f32 -o out --rel 1e-2 --dims 360x181",
            "decompress out u1 v1",
            "verify u.f32 v.f32 u1 v1 --rel 1e-2 --dims 360x181",
            "points u.f32 v.f32 -o csv --dims 360x181",
            "compress u.f32 v.f32 -o none --rel 1e-2 --dims 360x181 --preserve none",
            "protect u.f32 v.f32 none -o fix --rel 1e-2",
            "decompress none u2 v2",
            "apply fix u2 v2 u3 v3",
        ] {
            let command = format!("{command} --backend {backend}");
            if backend == "cuda" && !has_device {
                f.fails(&command, &["--backend cuda", "no CUDA device", "--backend cpu"]);
                let error = text(&f.factz(&command).stderr);
                assert!(!error.contains("_host") && !error.contains("factz_"), "{error}");
            } else {
                f.succeeds(&command);
            }
        }
        let files = ["out", "u1", "v1", "csv", "fix", "u3", "v3"].map(|name| f.read(name));
        assert!(*first.get_or_insert_with(|| files.clone()) == files, "{backend} differs");
    }
    for command in [
        "compress u.f32 v.f32 -o out --dims 360x181 --rel 1e-2",
        "protect u.f32 v.f32 none -o fix --rel 1e-2",
        "apply fix u2 v2 u3 v3",
    ] {
        assert_eq!(f.json(command)["backend"], if has_device { "cuda" } else { "cpu" }, "{command}");
    }
}

#[test]
fn wrong_usage_is_explained() {
    let f = Folder::with_field("usage", "wind_global");
    let refused: &[(&str, &[&str])] = &[
        ("--dims 360x181", &["a bound is missing", "--abs", "--rel"]),
        ("--dims 360x181 --abs 1 --rel 1", &["--abs", "--rel", "cannot be used with"]),
        ("--rel 1e-2", &["--dims NXxNY is missing", "u.f32"]),
        ("--rel 1e-2 --dims 360", &["'360'", "--dims", "360x181"]),
        ("--rel 1e-2 --dims 0x5", &["'0x5'", "positive"]),
        ("--rel 1e-2 --dims -3x5", &["-3x5", "--dims"]),
        ("--rel 1e-2 --dims 360x180", &["u.f32", "260640", "259200", "--dims"]),
        ("--rel 1e-2 --dims 180x181 --dtype f32", &["260640", "130320", "--dtype f64"]),
        ("--rel 1e-2 --dims 16777216x16777216", &["u.f32", "260640", "1125899906842624"]),
        // Too many values are told from what is no number.
        ("--rel 1e-2 --dims 16777216x16777217", &["16777216x16777217", "more than 2^48 values"]),
        ("--rel 1e-2 --dims 4294967296x4294967296", &["4294967296x4294967296", "more than 2^48 values"]),
        ("--rel 1e-2 --dims 99999999999999999999x1", &["99999999999999999999x1", "more than 2^48 values"]),
        ("--rel -1 --dims 360x181", &["'-1'", "--rel", "0 or more"]),
        ("--rel nan --dims 360x181", &["'nan'", "finite"]),
        ("--rel 1 --dims 360x181 --spacing 1", &["'1'", "DX,DY"]),
        ("--rel 1 --dims 360x181 --spacing 1,0", &["'1,0'", "DX,DY", "other than 0"]),
        ("--rel 1 --dims 360x181 --spacing -inf,1", &["'-inf,1'", "DX,DY"]),
        (
            "--rel 1 --dims 360x181 --spacing 2,-3 --north-first",
            &["--spacing 2,-3 --north-first", "leave out --north-first", "--spacing 2,3"],
        ),
        (
            "--rel 1 --dims 360x181 --mode speculative --predictor lorenzo",
            &["--mode speculative works with --predictor hierarchical alone"],
        ),
    ];
    for (more, parts) in refused {
        f.fails(&format!("compress u.f32 v.f32 -o out.fz {more}"), parts);
    }
    let wrong_files: &[(&str, &[&str])] = &[
        ("compress u.f32 v.f32 -o u.f32 --rel 1", &["u.f32", "is an input"]),
        ("points u.f32 v.f32 -o u.f32 --format csv", &["-o u.f32: is an input"]),
        ("diff u.f32 v.f32 u.f32 v.f32 -o v.f32 --format csv", &["-o v.f32: is an input"]),
        ("compress u.f32 nowhere.f32 -o out.fz --rel 1", &["nowhere.f32", "opened"]),
        ("compress u.f32 v.f32 -o no/such/folder/out.fz --rel 1", &["no/such/folder/out.fz", "written"]),
        ("compress empty.f32 v.f32 -o out.fz --rel 1", &["empty.f32: is empty"]),
        ("compress u.f32 v.f32 -o /proc/out.fz --rel 1", &["the directory /proc takes no new files"]),
        ("verify u.f32 v.f32 u.f32", &["u.f32: ", "it has one component: give the file of the other"]),
        ("verify u.f32", &["the number of files is 1", "U0 V0 U1 V1"]),
    ];
    f.write("empty.f32", b"");
    for command in ["points empty.f32", "render empty.f32 -o p.png", "verify empty.f32 u.f32"] {
        f.fails(command, &["empty.f32: is empty"]);
    }
    for (command, parts) in wrong_files {
        f.fails(&format!("{command} --dims 360x181"), parts);
    }
    f.fails("verify", &["factz verify [OPTIONS] <U0> <V0> <U1> <V1>"]);
    f.fails("nonsense", &["nonsense"]);
    assert_eq!(f.names(), ["empty.f32", "u.f32", "v.f32"], "an error left something");
}

#[test]
fn unsuitable_npy_files_are_explained() {
    let f = Folder::new("npy-errors");
    let data = [0u8; 6 * 4];
    f.write("good.npy", &npy("<f4", "(2, 3)", &data));
    let bad: &[(&str, Vec<u8>, &[&str])] = &[
        ("a.npy", npy_in_order(true, "<f4", "(2, 3)", &data), &["Fortran order", "np.ascontiguousarray"]),
        ("b.npy", npy("<f4", "(2, 3, 2)", &[0; 48]), &["(2, 3, 2)", "holds both components", "alone"]),
        ("c.npy", npy("<i4", "(2, 3)", &data), &["'<i4'", "astype"]),
        ("d.npy", npy("<f4", "(6,)", &data), &["(6)", "(rows, columns)", "reshape"]),
        (
            "e.npy",
            npy("<f4", "(3, 4, 2, 3)", &[0; 288]),
            &["(3, 4, 2, 3)", "as planes", "numpy.load('e.npy', mmap_mode='r').reshape(-1, 2, 3)"],
        ),
        ("h.npy", npy("<f4", "(2, 3)", &data[4..]), &["20 bytes", "24"]),
        ("i.npy", b"not numpy at all".to_vec(), &["is not a NumPy .npy file"]),
        ("j.npy", b"\x93NUMPY\x01\x00\xff".to_vec(), &["incomplete"]),
        ("k.npy", npy("<f4", "(0, 3)", &[]), &["(0, 3)", "positive"]),
    ];
    for (name, content, parts) in bad {
        f.write(name, content);
        f.fails(&format!("compress {name} good.npy -o out.fz --abs 1"), &[&[*name], *parts].concat());
    }
    f.write("f.npy", &npy("<f4", "(3, 3)", &[0; 36]));
    f.write("g.npy", &npy("<f8", "(2, 3)", &[0; 48]));
    f.write("l.npy", &npy("<f4", "(4, 2, 3)", &[0; 96]));
    let disagree: &[(&str, &[&str])] = &[
        // The first file sets the shape, so the second one is named.
        ("f.npy", &["f.npy", "3x3", "3x2", "agree"]),
        ("g.npy", &["g.npy", "f64", "f32", "agree"]),
        ("l.npy", &["l.npy", "3x2x4 values (columns x rows x planes)", "expected 3x2", "agree"]),
        ("good.npy --dims 2x3", &["3x2", "2x3", "good.npy"]),
        ("good.npy --dtype f64", &["f32", "f64", "--dtype"]),
    ];
    for (more, parts) in disagree {
        f.fails(&format!("compress good.npy -o out.fz --abs 1 {more}"), parts);
    }
    // A single row is stored alike in both orders.
    f.write("row.npy", &npy_in_order(true, "<f4", "(1, 6)", &data));
    f.succeeds("compress row.npy row.npy -o out.fz --abs 1");
}

#[test]
fn an_error_destroys_nothing() {
    let f = Folder::with_field("damage", "piv_cavity");
    f.succeeds("compress u.f32 v.f32 -o s.fz --dims 41x43 --rel 1e-2");
    let good = f.read("s.fz");
    f.fails("compress u.f32 v.f32 -o s.fz --dims 41x44 --rel 1e-2", &["--dims"]);
    assert!(f.read("s.fz") == good);

    let mut flipped = good.clone();
    flipped[good.len() - 20] ^= 1;
    f.write("damaged.fz", &flipped);
    f.write("cut.fz", &good[..good.len() - 1]);
    f.write("short.fz", &good[..10]);
    f.write("u1", b"precious");
    f.write("v1", b"precious");
    let before = f.names();
    let refused: &[(&str, &[&str])] = &[
        ("decompress damaged.fz u1 v1", &["damaged.fz", "checksum"]),
        ("decompress cut.fz u1 v1", &["cut.fz", "the end is missing"]),
        ("decompress short.fz u1 v1", &["short.fz"]),
        ("info short.fz", &["short.fz"]),
        ("info u.f32", &["u.f32"]),
        ("decompress s.fz u1 u1", &["two names"]),
        ("decompress s.fz a.npz v1", &["a.npz", "give it alone"]),
        ("decompress s.fz s.fz v1", &["is the stream itself"]),
        ("decompress s.fz u1 no/v1", &["no/v1"]),
    ];
    for (command, parts) in refused {
        f.fails(command, parts);
    }
    assert!(f.read("s.fz") == good && ["u1", "v1"].iter().all(|name| f.read(name) == b"precious"));
    assert_eq!(f.names(), before);
}

#[test]
fn help_shows_examples_units_and_exit_status() {
    let f = Folder::new("help");
    for command in ["compress", "decompress", "verify", "test", "info", "points", "bench", "demo"] {
        let help = f.succeeds(&format!("{command} --help"));
        assert!(help.contains(&format!("factz {command}")), "{help}");
        assert!(help.contains("Example") && help.contains("Exit status:"), "{help}");
    }
    assert!(f.succeeds("--help").contains("x fastest"));
    assert!(f.succeeds("--version").starts_with("factz 0."));
}

#[cfg(unix)]
#[test]
fn special_files_are_written_and_links_followed() {
    let f = Folder::with_field("special", "piv_cavity");
    f.succeeds("compress u.f32 v.f32 -o /dev/null --dims 41x43 --rel 1e-2");
    assert!(!std::fs::metadata("/dev/null").unwrap().is_file());
    f.write("real.fz", b"old");
    let link = f.0.join("link.fz");
    std::os::unix::fs::symlink("real.fz", &link).unwrap();
    f.succeeds("compress u.f32 v.f32 -o link.fz --dims 41x43 --rel 1e-2");
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(f.read("real.fz").len() > 100);
}

/// Fields at the ends of the number ranges, without data, and as narrow as a field may be: every command has
/// figures, pictures and lists of finite numbers.
#[test]
fn extreme_fields_go_through_every_command() {
    let f = Folder::new("extreme");
    let noise = |k: usize| ((k * 7919 + 13) % 1009) as f64 / 504.5 - 1.0;
    let scaled = |scale: f64| [0, 5000].map(|from| (from..from + 99).map(|k| scale * noise(k)).collect());
    let mut outlier: [Vec<f64>; 2] = scaled(1.0);
    outlier[0][40] = f64::MAX;
    let fields: [(&str, &str, [Vec<f64>; 2]); 9] = [
        ("largest", "11x9", scaled(f64::MAX)),
        ("large", "11x9", scaled(1e39)),
        ("subnormal", "11x9", scaled(1e-310)),
        ("outlier", "11x9", outlier),
        ("constant", "11x9", [vec![f64::MAX; 99], vec![-3.0; 99]]),
        ("missing", "11x9", [vec![f64::NAN; 99], vec![f64::INFINITY; 99]]),
        ("row", "99x1", scaled(1e39)),
        ("column", "1x99", scaled(1e300)),
        ("vertex", "1x1", [vec![f64::MAX], vec![1e-320]]),
    ];
    for (name, dims, components) in fields {
        for (component, values) in ["u", "v"].into_iter().zip(components) {
            let bytes: Vec<u8> = values.into_iter().flat_map(f64::to_le_bytes).collect();
            f.write(&format!("{name}.{component}"), &bytes);
        }
        let field = format!("{name}.u {name}.v --dims {dims} --dtype f64");
        let finite = |value: &Value| assert!(value.as_f64().is_some_and(f64::is_finite), "{name}: {value}");
        f.succeeds(&format!("compress {field} -o s --rel 1e-2 --preserve none"));
        let picture = f.json(&format!("render {field} -o p.png --width 300"));
        let compared = f.json(&format!("render --compare {field} s -o c.png --width 300"));
        [&picture, &compared].into_iter().for_each(|report| finite(&report["top_speed"]));
        let speed_is_known = picture["top_speed"].as_f64() > Some(0.0);
        assert_eq!(speed_is_known, name != "missing", "{name}: {picture}");
        let points: Value =
            serde_json::from_str(&f.succeeds(&format!("points {field} --format json"))).unwrap();
        for point in points.as_array().unwrap() {
            [&point["x"], &point["y"]].into_iter().for_each(finite);
            // Derivatives that overflow have no eigenvalues.
            for name in ["eigenvalues_real", "eigenvalues_imaginary"] {
                let values = point[name].as_array().unwrap();
                assert!(values.iter().all(|value| value.is_null() || value.is_f64()), "{point}");
            }
        }
        let differs = f.factz(&format!("diff {field} s")).status.code();
        assert!(differs == Some(0) || differs == Some(1), "{name}");
        let runs = f.json(&format!("bench {field} --bounds 1e-2 --repeat 1 --threads 1"));
        let swept = f.json(&format!("sweep {field} -o report --bounds 1e-2 --repeat 1 --no-peers"));
        for run in [runs, swept].iter().flat_map(|all| all["runs"].as_array().unwrap()) {
            let comparison = run.get("comparison").unwrap_or(run);
            [&run["ratio"], &comparison["max_error"]].into_iter().for_each(finite);
        }
        let page = text(&f.read("report/index.html"));
        assert!(!["NaN", "inf "].iter().any(|number| page.contains(&format!(">{number}"))), "{name}");
    }
}

/// A value may begin with a hyphen, and is then read as what it is: bounds are not negative, fill values may be.
#[test]
fn values_may_begin_with_a_hyphen() {
    let f = Folder::with_field("hyphen", "piv_cavity");
    let compress = "compress u.f32 v.f32 -o out.fz --dims 41x43";
    for (fill, value) in [("-1e+34", Some(-1e34)), ("-.5", Some(-0.5)), ("-inf", None), ("-NaN", None)] {
        let report = f.json(&format!("{compress} --abs 1 --fill-value {fill}"));
        assert_eq!(report["fill_value"].as_f64(), value, "{fill}: {report}");
        assert_eq!(report["fill_value"].is_string(), value.is_none());
        f.succeeds(&format!("points u.f32 v.f32 --dims 41x43 --fill-value {fill}"));
        f.succeeds(&format!("h5args --abs 1 --fill-value {fill}"));
    }
    let spaced = f.json(&format!("{compress} --abs 1 --spacing -.5,-1e-1"));
    assert_eq!((&spaced["dx"], &spaced["dy"]), (&(-0.5).into(), &(-0.1).into()));
    f.succeeds(&format!("{compress} --abs -0"));
    assert_eq!(f.json("info out.fz")["bound"].to_string(), "0.0");
    let negative = |value: &'static str| [value, "a bound is not negative"];
    for value in ["-1e-5", "-.5", "-inf", "-1e+34"] {
        for option in ["--abs", "--rel"] {
            for command in [compress, "h5args", "verify u.f32 v.f32 u.f32 v.f32 --dims 41x43"] {
                f.fails(&format!("{command} {option} {value}"), &negative(value));
            }
        }
        f.fails(&format!("bench u.f32 v.f32 --dims 41x43 --bounds 1e-2,{value}"), &negative(value));
        f.fails(&format!("sweep u.f32 v.f32 --dims 41x43 -o r --bounds {value}"), &negative(value));
    }
    for (line, parts) in [
        ("bench u.f32 v.f32 --dims 41x43 --threads -1", ["'-1'", "1 or more"]),
        ("bench u.f32 v.f32 --dims 41x43 --repeat -2", ["'-2'", "1 or more"]),
        ("points u.f32 v.f32 --dims 41x43 --threads -.5", ["'-.5'", "0 or more"]),
        ("points u.f32 v.f32 --dims -.5x3", ["'-.5x3'", "--dims"]),
        ("render u.f32 v.f32 --dims 41x43 -o p.png --width -1e3", ["'-1e3'", "300 to 10000"]),
        ("render u.f32 v.f32 --dims 41x43 -o p.png --zoom -1,2,3,4", ["'-1,2,3,4'", "X,Y,NX,NY"]),
        // A file is named, and an option in its place is one.
        ("render u.f32 v.f32 --dims 41x43 -o --width 500", ["--output", "none was supplied"]),
    ] {
        f.fails(line, &parts);
    }
}
