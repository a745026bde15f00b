//! The command line about critical points: kinds, types, indices, ties and coasts, in sentences and lists.

use crate::support::cli::{text, Folder};
use crate::support::fields::bytes_of;
use serde_json::Value;

/// A field with land: --ties goes into the stream and comes out of it, and is offered where there are coasts.
#[test]
fn coasts_are_told_of_and_ties_are_in_the_stream() {
    let f = Folder::with_field("ties", "wind_global");
    for name in ["u.f32", "v.f32"] {
        let mut values = f.values(name);
        for (k, x) in values.iter_mut().enumerate() {
            if (100..130).contains(&(k % 360)) && (60..90).contains(&(k / 360)) {
                *x = 0.0;
            }
        }
        f.write(name, &bytes_of(&values));
    }
    // Two triangles of each cell along the sides; two of two corner cells, one of the other two.
    let coasts = 2 * 4 * 29 + 2 * 2 + 2;
    let compress = "compress u.f32 v.f32 --dims 360x181 --rel 1e-2";
    let said = |more: &str| {
        let out = f.factz(&format!("{compress} {more}"));
        assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
        assert!(!text(&out.stdout).contains("note:"));
        text(&out.stderr)
    };
    let begin = format!("note: {coasts} triangles touch zero vertices (coasts, walls, lines of zeros); ");
    let all = said("-o all.fz");
    let zeros = said("-o zeros.fz --ties zeros");
    let sos = said("-o sos.fz --ties sos");
    for (said, now) in [(all, "all"), (zeros, "zeros"), (sos, "sos")] {
        assert!(said.starts_with(&begin) && said.lines().count() == 1, "{said}");
        for ties in ["all", "zeros", "sos"] {
            assert!(said.contains(&format!("--ties {ties}")), "{said}");
            assert_eq!(said.contains(&format!("--ties {ties} (now)")), ties == now, "{said}");
        }
    }
    for silent in ["--quiet", "--preserve none", "--ties zeros --json"] {
        assert_eq!(said(&format!("-o other.fz {silent}")), "", "{silent}");
    }
    let figures = f.json(&format!("{compress} -o other.fz --ties zeros"));
    assert_eq!((&figures["ties"], &figures["coast_triangles"]), (&"zeros".into(), &coasts.into()));
    let bytes = |name| f.read(name).len();
    assert!(bytes("zeros.fz") <= bytes("sos.fz") && bytes("sos.fz") < bytes("all.fz"));
    for (stream, ties) in [("all.fz", "all"), ("zeros.fz", "zeros"), ("sos.fz", "sos")] {
        assert_eq!(f.json(&format!("info {stream}"))["ties"], ties);
        assert!(f.succeeds(&format!("info {stream}")).contains(&format!("ties            {ties}\n")));
        // The stream says shape, bound and ties.
        let c = f.json(&format!("verify u.f32 v.f32 {stream}"));
        assert_eq!((&c["ties"], &c["violations"]), (&ties.into(), &0.into()));
        assert_eq!(c["comparison"]["bound"], figures["absolute_bound"]);
        f.succeeds(&format!("decompress {stream} u1.f32 v1.f32"));
        let c = f.json(&format!("verify u.f32 v.f32 u1.f32 v1.f32 --dims 360x181 --rel 1e-2 --ties {ties}"));
        assert_eq!((&c["ties"], &c["violations"]), (&ties.into(), &0.into()));
    }
    let c = f.json("verify u.f32 v.f32 all.fz --ties zeros --abs 100 --spacing 2,2");
    assert_eq!(
        (&c["ties"], &c["comparison"]["bound"], &c["dy"]),
        (&"zeros".into(), &100.0.into(), &2.0.into())
    );
    let c = f.json("verify u.f32 v.f32 u.f32 v.f32 --dims 360x181");
    assert_eq!((&c["ties"], &c["comparison"]["bound"], &c["dy"]), (&"all".into(), &Value::Null, &1.0.into()));
    let bench = "bench u.f32 v.f32 --dims 360x181 --bounds 1e-2 --repeat 1 --threads 1 --ties zeros";
    for run in f.json(bench)["runs"].as_array().unwrap() {
        assert_eq!((&run["ties"], &run["violations"]), (&"zeros".into(), &0.into()));
    }
    f.fails(&format!("{compress} -o no.fz --ties some"), &["'some'", "--ties", "all, zeros, sos"]);
    f.fails("verify u.f32 v.f32 all.fz --ties none", &["'none'", "all, zeros, sos"]);
    f.fails("verify u.f32 v.f32 all.fz --dims 181x360", &["all.fz", "360x181", "181x360"]);
    f.fails("verify u.f32 all.fz zeros.fz v.f32 all.fz", &["the number of files is 5", "U0 V0 STREAM"]);
}

/// A field of f32 from the position of its vertices.
fn flow(f: &Folder, n: i32, vector: impl Fn(f32, f32) -> [f32; 2]) {
    let middle = n / 2;
    let at = |k: i32| vector((k % n - middle) as f32, (k / n - middle) as f32);
    for (c, name) in ["u.f32", "v.f32"].into_iter().enumerate() {
        f.write(name, &bytes_of(&(0..n * n).map(|k| at(k)[c]).collect::<Vec<f32>>()));
    }
}

/// The vortex of a textbook lies at a vertex: every command tells of it, and none calls it a coast.
#[test]
fn a_zero_at_a_vertex_is_a_critical_point() {
    let f = Folder::new("vertex-zero");
    flow(&f, 21, |x, y| [-y, x]);
    let out = f.factz("compress u.f32 v.f32 -o w.fz --dims 21x21 --rel 1e-2");
    let said = text(&out.stdout);
    let kept = "1 critical point kept with its type, none new (1 at vertices or on edges)";
    assert!(said.contains(kept) && text(&out.stderr).is_empty(), "{said}{}", text(&out.stderr));
    let c = f.json("compress u.f32 v.f32 -o w.fz --dims 21x21 --rel 1e-2");
    let counts = ["critical_points", "vertex_zeros", "edge_zeros", "coast_triangles"].map(|key| &c[key]);
    assert_eq!(counts, [1, 1, 0, 0]);
    let list = f.succeeds("points w.fz");
    assert!(list.contains("10,10,10,10,0,vertex,vertex_zero,1,0,NaN,NaN,NaN,NaN"), "{list}");
    let said = f.succeeds("points w.fz -o p.csv");
    assert!(said.contains("1 critical point: vertex or edge zero (index +1) 1"), "{said}");
    assert!(f.succeeds("verify u.f32 v.f32 w.fz").starts_with("Kept: 1 critical point at the same places"));
    // The picture has a mark there, and no land.
    let report = f.json("render w.fz -o w.png");
    let marks = report["panels"][0]["marks"].as_array().unwrap();
    let mark = marks.iter().find(|mark| mark["label"] == "vertex or edge zero (index +1)");
    assert_eq!(mark.map(|mark| &mark["count"]), Some(&1.into()), "{report}");
    // A copy that moves it: lost here, new there.
    let u = f.values("u.f32").iter().map(|x| x + 0.01).collect::<Vec<f32>>();
    f.write("u1.f32", &bytes_of(&u));
    let out = f.factz("diff u.f32 v.f32 u1.f32 v.f32 --dims 21x21");
    let lines = text(&out.stdout);
    assert_eq!((out.status.code(), lines.lines().count()), (Some(1), 3), "{lines}");
    assert!(lines.contains("lost,10,10,10,10,0,vertex,vertex_zero,,1,"), "{lines}");
    let mirrored = f.values("u.f32").iter().map(|x| -x).collect::<Vec<f32>>();
    f.write("u1.f32", &bytes_of(&mirrored));
    let lines = text(&f.factz("diff u.f32 v.f32 u1.f32 v.f32 --dims 21x21").stdout);
    assert!(lines.contains("changed,10,10,10,10,0,vertex,vertex_zero,vertex_zero,1,-1"), "{lines}");
}

/// An island of one vertex is a zero alone, unless it is named as missing; a dipole at a vertex is a segment of
/// zeros of the linear field, and no point.
#[test]
fn islands_of_one_vertex_are_points_and_dipoles_are_not() {
    let f = Folder::new("islands");
    flow(&f, 21, |x, y| if (x, y) == (0.0, 0.0) { [0.0; 2] } else { [1.0, 0.25 * x] });
    let listed = f.succeeds("points u.f32 v.f32 --dims 21x21");
    assert!(
        listed.lines().count() == 2 && listed.contains("10,10,10,10,0,vertex,vertex_zero,0,"),
        "{listed}"
    );
    assert_eq!(f.json("points u.f32 v.f32 --dims 21x21 --fill-value 0")["critical_points"], 0);
    flow(&f, 21, |x, y| [x * x - y * y, 2.0 * x * y]);
    assert_eq!(f.json("points u.f32 v.f32 --dims 21x21")["critical_points"], 0);
    let out = f.factz("compress u.f32 v.f32 -o d.fz --dims 21x21 --rel 1e-3");
    assert!(text(&out.stderr).contains("touch zero vertices (coasts, walls, lines of zeros)"));
    // Where y grows downwards, row 0 has no negative zero.
    flow(&f, 21, |x, y| [x + 0.3, y + 10.0]);
    let listed = f.succeeds("points u.f32 v.f32 --dims 21x21 --north-first");
    assert!(listed.contains(",0,9,0,0,edge_x,") && !listed.contains("-0,"), "{listed}");
}

/// A vortex without divergence, of rounded values: the type stays, and lists and pictures tell.
#[test]
fn divergence_at_the_level_of_rounding_is_told() {
    let f = Folder::new("rounding");
    flow(&f, 21, |x, y| [0.1 * (x - 0.3) - 0.7 * (y - 0.2), 0.9 * (x - 0.3) - 0.1 * (y - 0.2)]);
    let list = f.succeeds("points u.f32 v.f32 --dims 21x21");
    assert!(list.contains("_focus,1,1,"), "{list}");
    f.succeeds("points u.f32 v.f32 --dims 21x21 -o p.json");
    let points: Value = serde_json::from_slice(&f.read("p.json")).unwrap();
    assert_eq!(points[0]["rounding_divergence"], 1, "one number in all formats");
    let label = "centre (divergence at rounding level; ";
    let said = f.succeeds("points u.f32 v.f32 --dims 21x21 -o p.csv");
    assert!(said.contains(label), "{said}");
    let report = f.json("render u.f32 v.f32 --dims 21x21 -o w.png");
    let is_told = |mark: &Value| mark["label"].as_str().unwrap().starts_with(label) && mark["count"] == 1;
    assert!(report["panels"][0]["marks"].as_array().unwrap().iter().any(is_told), "{report}");
}

/// A stream is as good as the arrays that it holds; its header has shape, fill value and spacing.
#[test]
fn points_of_a_stream_are_those_of_its_field() {
    let f = Folder::with_field("points-of-stream", "wind_global");
    f.succeeds("compress u.f32 v.f32 -o w.fz --dims 360x181 --rel 1e-2 --preserve none --spacing 1,0.5 --fill-value 0");
    f.succeeds("decompress w.fz u1.f32 v1.f32");
    let expected = f.succeeds("points u1.f32 v1.f32 --dims 360x181 --spacing 1,0.5 --fill-value 0");
    assert!(expected.lines().count() > 1000);
    assert!(f.succeeds("points w.fz") == expected);
    assert!(f.succeeds("points w.fz --spacing 1,1") != expected);
    f.fails("points w.fz --dims 181x360", &["w.fz", "360x181", "--dims"]);
    f.fails("points w.fz --dtype f64", &["w.fz", "f32", "--dtype"]);
    f.fails("points u.f32 w.fz --dims 360x181", &["w.fz", "give it alone"]);
}

/// The wind of data/ begins at the north pole: --north-first, or a negative DY.
#[test]
fn rows_run_from_north_to_south() {
    let f = Folder::with_field("north-first", "wind_global");
    let negative: Vec<f32> = f.values("v.f32").iter().map(|x| -x).collect();
    f.write("south.f32", &bytes_of(&negative));
    let north = "u.f32 v.f32 --dims 360x181 --north-first";
    let south = "u.f32 south.f32 --dims 360x181";
    let rows = |command: &str, turns: bool| -> Vec<Vec<String>> {
        let list = f.succeeds(command);
        let rows = list.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
        let turned = |mut row: Vec<String>| {
            row[1] = format!("-{}", row[1]);
            row
        };
        rows.map(|row| if turns { turned(row) } else { row }).collect()
    };
    let listed = rows(&format!("points {north}"), false);
    assert!(listed.len() == 1394 && listed == rows(&format!("points {south}"), true));
    for (options, dy) in [
        ("--north-first", -1.0),
        ("--spacing 1,-1", -1.0),
        ("--spacing 2,3 --north-first", -3.0),
        ("--spacing -2,-3", -3.0),
    ] {
        let compress = format!("compress u.f32 v.f32 -o w.fz --dims 360x181 --rel 1e-2 {options}");
        assert_eq!(f.json(&compress)["dy"], dy, "{options}");
        assert_eq!(f.json("info w.fz")["dy"], dy, "{options}");
        // The stream has the spacing that it was made with.
        let c = f.json("verify u.f32 v.f32 w.fz");
        assert_eq!([&c["violations"], &c["dy"]], [&0.into(), &Value::from(dy)], "{options}");
        let c = f.json("verify u.f32 v.f32 w.fz --north-first");
        assert_eq!([&c["violations"], &c["dy"]], [&0.into(), &Value::from(dy)], "{options}");
        f.succeeds("diff u.f32 v.f32 w.fz");
    }
    f.fails("h5args --mode repair --rel 1e-2", &["--field NXxNYxNZ"]);
    let args = |options: &str| f.succeeds(&format!("h5args --abs 0.05 --format h5repack {options}"));
    assert!(args("--north-first") == args("--spacing 1,-1") && args("--north-first") != args(""));
    let b = f.json(&format!("bench {north} --bounds 1e-2 --repeat 1 --threads 1 --mode block --coder ans"));
    assert!(b["runs"].as_array().unwrap().iter().all(|run| run["violations"] == 0));
    // Types of the field in the mirror are others.
    f.succeeds("compress u.f32 v.f32 -o mirror.fz --dims 360x181 --rel 1e-2");
    for command in
        ["verify u.f32 v.f32 mirror.fz --json", "diff u.f32 v.f32 mirror.fz --json -o differences.csv"]
    {
        f.succeeds(command);
        let out = f.factz(&format!("{command} --north-first"));
        assert_eq!(out.status.code(), Some(1), "{command}: {}", text(&out.stderr));
        let told: Value = serde_json::from_slice(&out.stdout).unwrap();
        let c = told.get("comparison").unwrap_or(&told);
        let counts = [&c["lost_points"], &c["spurious_points"], &c["changed_types"]];
        assert_eq!(counts, [0, 0, 14], "{command}");
    }
}
