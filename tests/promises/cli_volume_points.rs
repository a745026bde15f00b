//! The command line about volumes: comparison with a reconstruction, and lists of critical points.

use crate::support::cli::{text, Folder};
use crate::support::fields::{bytes_of, Random};
use serde_json::{json, Value};
use std::collections::{HashMap, HashSet};

const SIZES: [usize; 3] = [7, 6, 5];
const DIMS: &str = "--dims 7x6x5";

/// Writes the components of a field of the coordinates of its vertices.
fn flow(f: &Folder, names: [&str; 3], mut vector: impl FnMut([f32; 3]) -> [f32; 3]) {
    let [nx, ny, nz] = SIZES;
    let vectors: Vec<[f32; 3]> =
        (0..nx * ny * nz).map(|k| vector([k % nx, k / nx % ny, k / nx / ny].map(|k| k as f32))).collect();
    for (c, name) in names.into_iter().enumerate() {
        f.write(name, &bytes_of(&vectors.iter().map(|v| v[c]).collect::<Vec<f32>>()));
    }
}

/// Out along x and y, in along z; the zero is at (2.75, 3.5, 1.25), in a tetrahedron with steps along x, y, z.
fn saddle([x, y, z]: [f32; 3]) -> [f32; 3] {
    [x - 2.75, 2.0 * (y - 3.5), 0.5 * (1.25 - z)]
}

#[test]
fn points_of_a_volume_are_listed() {
    let f = Folder::new("volume-points");
    flow(&f, ["u.f32", "v.f32", "w.f32"], saddle);
    let list = f.succeeds(&format!("points u.f32 v.f32 w.f32 {DIMS}"));
    let head = "x,y,z,cell_x,cell_y,cell_z,simplex,dimension,point_type,index\n";
    assert_eq!(list, format!("{head}2.75,3.5,1.25,2,3,1,tetrahedron_x_y_z,3,repelling_node_saddle,-1\n"));
    let options = format!("{DIMS} --spacing 2,-1 --dz 0.5");
    let list = f.succeeds(&format!("points u.f32 v.f32 w.f32 {options} --format json"));
    let [p] = &serde_json::from_str::<Vec<Value>>(&list).expect("JSON")[..] else { panic!("{list}") };
    assert_eq!((&p["x"], &p["y"], &p["z"]), (&5.5.into(), &(-3.5).into(), &0.625.into()));
    // Along y the field now flows in.
    assert_eq!((&p["point_type"], &p["index"]), (&"attracting_node_saddle".into(), &1.into()));
    let said = f.succeeds(&format!("points u.f32 v.f32 w.f32 {options} -o p.vtp"));
    assert_eq!(said, "p.vtp: 1 critical point: attracting node saddle 1\n");
    let file = text(&f.read("p.vtp"));
    for part in [
        "<Piece NumberOfPoints=\"1\" NumberOfVerts=\"1\">",
        "Name=\"Points\" NumberOfComponents=\"3\" format=\"ascii\">\n5.5 -3.5 0.625\n",
        "Name=\"point_type\" NumberOfComponents=\"1\" format=\"ascii\">\n2\n",
        "Name=\"cell\" NumberOfComponents=\"3\" format=\"ascii\">\n2 3 1\n",
        "Name=\"simplex_face_x_yz\" NumberOfTuples=\"1\" format=\"ascii\">8<",
    ] {
        assert!(file.contains(part), "{part}: {file}");
    }
    let report = f.json(&format!("points u.f32 v.f32 w.f32 {options}"));
    assert_eq!(
        (&report["critical_points"], &report["points_by_type"]["attracting_node_saddle"]),
        (&1.into(), &1.into())
    );
    // A stream says shape and spacing.
    f.succeeds(&format!("compress u.f32 v.f32 w.f32 {options} --abs 0.01 -o s.fz"));
    let list = f.succeeds("points s.fz --format json");
    let p = &serde_json::from_str::<Vec<Value>>(&list).expect("JSON")[0];
    assert_eq!(
        (&p["simplex"], &p["point_type"]),
        (&"tetrahedron_x_y_z".into(), &"attracting_node_saddle".into())
    );
    // Zeros between tetrahedra.
    for (zero, name) in [
        ([2.0, 3.0, 1.0], "vertex,0,vertex_zero"),
        ([2.5, 3.5, 1.0], "edge_xy,1,edge_zero"),
        ([2.25, 3.75, 1.25], "face_y_xz,2,face_zero"),
    ] {
        flow(&f, ["u.f32", "v.f32", "w.f32"], |[x, y, z]| [x - zero[0], y - zero[1], z - zero[2]]);
        let list = f.succeeds(&format!("points u.f32 v.f32 w.f32 {DIMS}"));
        let [x, y, z] = zero;
        assert_eq!(list, format!("{head}{x},{y},{z},2,3,1,{name},1\n"));
    }
}

#[test]
fn volumes_are_compared() {
    let f = Folder::new("volume-verify");
    let mut random = Random(1);
    flow(&f, ["u.f32", "v.f32", "w.f32"], |_| [0; 3].map(|_| random.signed() as f32));
    f.succeeds(&format!("compress u.f32 v.f32 w.f32 {DIMS} --abs 0.05 --dz -2 --periodic x -o s.fz"));
    f.succeeds("decompress s.fz u1.f32 v1.f32 w1.f32");
    let said = f.succeeds("verify u.f32 v.f32 w.f32 s.fz");
    assert!(said.starts_with("Kept: ") && said.contains("with the same types, none new"), "{said}");
    let by_stream = f.json("verify u.f32 v.f32 w.f32 s.fz");
    assert_eq!(
        (&by_stream["violations"], &by_stream["dz"], &by_stream["periodic"]),
        (&0.into(), &(-2.0).into(), &"x".into())
    );
    let arrays = format!("verify u.f32 v.f32 w.f32 u1.f32 v1.f32 w1.f32 {DIMS} --dz -2 --periodic x");
    let c = f.json(&format!("{arrays} --abs 0.05"));
    assert_eq!(c["comparison"], by_stream["comparison"]);
    let points = f.json("points s.fz");
    assert_eq!(points["critical_points"], c["comparison"]["other_critical_points"]);
    assert_eq!(points["points_by_type"], c["comparison"]["points_by_type"]);
    assert!(c["comparison"]["critical_points"].as_u64() > Some(3), "{c}");
    // Without a bound none is exceeded.
    assert_eq!(f.json(&arrays)["comparison"]["bound"], Value::Null);
    // A reconstruction without a promise, and a wrong one.
    let turned: Vec<f32> = f.values("u.f32").iter().map(|x| -x).collect();
    f.write("u1.f32", &bytes_of(&turned));
    let out = f.factz(&arrays);
    let said = text(&out.stdout);
    assert_eq!(out.status.code(), Some(1));
    assert!(said.starts_with("Violated: ") && said.contains("lost"), "{said}");
    let out = f.factz(&format!("{arrays} --preserve none"));
    assert!(text(&out.stdout).contains("allowed by --preserve none"), "{}", text(&out.stdout));
    assert_eq!(out.status.code(), Some(0));
}

/// The list of differences has the points that two lists of points do not share, and the counts of `verify`.
#[test]
fn differences_of_volumes_are_listed() {
    let f = Folder::new("volume-diff");
    let mut random = Random(3);
    // Small whole numbers: zeros lie at vertices, on edges and on faces as well.
    let mut whole = || [0; 3].map(|_| (2.5 * random.signed() as f32).round());
    flow(&f, ["u.f32", "v.f32", "w.f32"], |_| whole());
    flow(&f, ["x.f32", "v1.f32", "w1.f32"], |_| whole());
    let (u, x) = (f.values("u.f32"), f.values("x.f32"));
    let some: Vec<f32> = (0..u.len()).map(|k| if k % 3 == 0 { x[k] } else { u[k] }).collect();
    f.write("u1.f32", &bytes_of(&some));
    let options = "--spacing -2,0.5 --dz -3 --periodic z";
    let [first, other] = ["u.f32 v.f32 w.f32", "u1.f32 v.f32 w.f32"];
    let points = |files: &str| -> HashMap<String, String> {
        let list = f.succeeds(&format!("points {files} {DIMS} {options}"));
        let cells = list.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>());
        // By cell and simplex: the type and the index.
        cells.map(|cells| (cells[3..8].join(","), cells[8..].join(","))).collect()
    };
    let [before, after] = [first, other].map(points);
    let out = f.factz(&format!("diff {first} {other} {DIMS} {options}"));
    assert_eq!(out.status.code(), Some(1));
    let list = text(&out.stdout);
    let head =
        "fate,x,y,z,cell_x,cell_y,cell_z,simplex,dimension,point_type_before,point_type_after,index_before,\
                index_after";
    assert_eq!(list.lines().next(), Some(head));
    let rows: Vec<Vec<&str>> = list.lines().skip(1).map(|line| line.split(',').collect()).collect();
    for row in &rows {
        let place = row[4..9].join(",");
        let types = [[row[9], row[11]], [row[10], row[12]]].map(|cells| cells.join(","));
        let expected = [&before, &after].map(|points| points.get(&place).cloned().unwrap_or(",".into()));
        assert_eq!(types, expected, "{row:?}");
        let fate = match expected.each_ref().map(|point| point == ",") {
            [true, _] => "spurious",
            [_, true] => "lost",
            _ => "changed",
        };
        assert_eq!(row[0], fate, "{row:?}");
        assert!(row[1].parse::<f64>().unwrap() <= 0.0 && row[3].parse::<f64>().unwrap() <= 0.0, "{row:?}");
    }
    let differ = before.keys().chain(after.keys()).filter(|place| before.get(*place) != after.get(*place));
    assert_eq!(rows.len(), differ.collect::<HashSet<_>>().len());

    let report = |line: &str| -> Value { serde_json::from_slice(&f.factz(line).stdout).expect("JSON") };
    let counted = report(&format!("diff {first} {other} {DIMS} {options} -o d.json --json"));
    let verified = report(&format!("verify {first} {other} {DIMS} {options} --json"));
    let names =
        ["critical_points", "other_critical_points", "lost_points", "spurious_points", "changed_types"];
    for name in names.into_iter().chain(["lost_zeros", "spurious_zeros", "changed_indices"]) {
        assert_eq!(counted[name], verified["comparison"][name], "{name}");
        assert!(counted[name].as_u64() > Some(1), "{name}: {counted}");
    }
    assert_eq!((&counted["components"], &counted["nz"]), (&3.into(), &5.into()));
    let listed: Vec<Value> = serde_json::from_slice(&f.read("d.json")).unwrap();
    assert_eq!(listed.len(), rows.len());
    for (point, row) in listed.iter().zip(&rows) {
        assert_eq!((&point["fate"], &point["simplex"]), (&row[0].into(), &row[7].into()));
        assert_eq!(
            [&point["z"], &point["dimension"]].map(Value::to_string).map(|x| x.parse::<f64>()),
            [row[3], row[8]].map(str::parse)
        );
        assert_eq!(point["point_type_after"].as_str().unwrap_or_default(), row[10]);
    }

    // A stream says shape, spacing and periodic axes.
    f.succeeds(&format!("compress {first} {DIMS} {options} --abs 0 -o same.fz"));
    assert_eq!(f.succeeds(&format!("diff {first} same.fz")), format!("{head}\n"));
    f.succeeds(&format!("compress {other} {DIMS} {options} --abs 0 -o other.fz"));
    assert_eq!(text(&f.factz(&format!("diff {first} other.fz")).stdout), list);
    f.fails("diff u.f32 v.f32 other.fz", &["other.fz", "U0 V0 W0"]);
    f.fails(&format!("diff {first} other.fz -o d.vtp"), &["d.vtp", "csv or json"]);
    f.fails(&format!("diff {first} {other} {DIMS} --dz 0"), &["--dz", "other than 0"]);
    f.fails(&format!("diff u.f32 v.f32 u1.f32 v.f32 {DIMS} --dz 2"), &["--dz 2: planes have no axis z"]);
}

/// A vertex with data that is missing in the reconstruction breaks the bound, in planes as in volumes, with or without
/// critical points around it. What is missing in the original is not compared.
#[test]
fn vertices_that_a_reconstruction_lacks_are_told_with_their_place() {
    let f = Folder::new("lost-vertices");
    let vertices = 7 * 6 * 5;
    let at = |x: usize, y: usize, z: usize| (5 * z + y) * 7 + x;
    // A uniform flow has no critical point.
    let with = |name: &str, changes: &[(usize, f32)]| {
        let mut values = vec![1f32; vertices];
        changes.iter().for_each(|&(k, x)| values[k] = x);
        f.write(name, &bytes_of(&values));
    };
    with("one", &[]);
    with("nan", &[(at(2, 3, 4), f32::NAN), (at(5, 1, 5), f32::INFINITY)]);
    with("gap", &[(at(2, 3, 4), f32::NAN), (at(5, 1, 5), f32::NAN)]);
    with("fill", &[(at(2, 3, 4), -9.0), (at(5, 1, 5), -9.0)]);
    with("back", &[(at(2, 3, 4), -1.0), (at(5, 1, 5), -1.0)]);
    // Files of the original and of the reconstruction, for planes and for volumes.
    let pairs = |before: &str, after: &str| {
        [
            format!("{before} one {after} one --dims 7x5x6"),
            format!("{before} one one {after} one one --dims 7x5x6"),
        ]
    };
    let lost =
        "2 vertices with data are missing in the reconstruction, the first in column 2, row 3, plane 4";
    for files in pairs("one", "nan") {
        for command in ["verify --abs 0.5", "verify --abs 0.5 --preserve none", "verify"] {
            let out = f.factz(&format!("{command} {files}"));
            let said = text(&out.stdout);
            assert_eq!(out.status.code(), Some(1), "{files}: {said}");
            assert!(said.starts_with(&format!("Violated: {lost}; ")), "{said}");
        }
        let out = f.factz(&format!("diff {files}"));
        let (list, said) = (text(&out.stdout), text(&out.stderr));
        assert_eq!((out.status.code(), list.lines().count()), (Some(1), 1), "{files}: {list}");
        assert!(said.contains("0 lost, 0 spurious") && said.contains(lost), "{said}");
        for command in ["verify --abs 0.5", "diff -o d.json"] {
            let out = f.factz(&format!("{command} {files} --json"));
            let report: Value = serde_json::from_slice(&out.stdout).expect("JSON");
            assert_eq!(report["lost_vertices"], 2, "{report}");
            assert_eq!(report["first_lost_vertex"], json!({ "x": 2, "y": 3, "z": 4 }), "{report}");
        }
    }
    // Missing in the original, by its values or by the fill value, and a point in the reconstruction all the same.
    let originals = [("gap", ""), ("fill", " --fill-value -9")];
    for ((before, options), after) in
        originals.into_iter().flat_map(|of| ["back", "gap", "fill"].map(|a| (of, a)))
    {
        for files in pairs(before, after) {
            let out = f.factz(&format!("diff {files}{options} -o d.json --json"));
            let report: Value = serde_json::from_slice(&out.stdout).expect("JSON");
            assert_eq!(
                (out.status.code(), &report["lost_vertices"]),
                (Some(0), &0.into()),
                "{files}: {report}"
            );
            assert_eq!(report["first_lost_vertex"], Value::Null);
            let out = f.factz(&format!("verify {files}{options}"));
            let (said, kept) = (text(&out.stdout), before == after);
            assert_eq!(out.status.code(), Some(!kept as i32), "{files}: {said}");
            assert!(kept || said.starts_with("Violated: 2 missing vertices changed; "), "{files}: {said}");
        }
    }
}

#[test]
fn ranges_of_planes_and_volumes() {
    let f = Folder::new("ranges");
    flow(&f, ["u.f32", "v.f32", "w.f32"], |[x, y, z]| match [x, y, z] {
        [3.0, 3.0, 3.0] => [f32::NAN, 1.0, 50.0],
        [4.0, 4.0, 4.0] => [-9.0, 99.0, 99.0],
        [5.0, _, 1.0] => [0.0; 3],
        _ => [x, -y, 2.0 * z],
    });
    let planes = f.json(&format!("range u.f32 v.f32 {DIMS} --fill-value -9"));
    let ends = |r: &Value| [&r["low"], &r["high"]].map(|x| x.as_f64());
    assert_eq!(ends(&planes), [Some(-5.0), Some(6.0)]);
    let counts = |r: &Value| {
        ["nonfinite_vertices", "filled_vertices", "zero_vertices", "components"]
            .map(|k| r[k].as_u64().expect("a count"))
    };
    // u = v = 0 at the first vertex of each plane, too.
    assert_eq!(counts(&planes), [1, 1, 11, 2]);
    let volume = f.json(&format!("range u.f32 v.f32 w.f32 {DIMS} --fill-value -9"));
    assert_eq!((ends(&volume), counts(&volume)), ([Some(-5.0), Some(50.0)], [1, 1, 7, 3]));
    let said = f.succeeds(&format!("range u.f32 v.f32 w.f32 {DIMS} --fill-value -9"));
    let files = "u.f32, v.f32, w.f32";
    let expected = "-5 to 50; 7 zero vertices; 1 vertex with NaN or infinity; 1 vertex with the fill value";
    assert_eq!(said, format!("{files}: {expected}\n"));
    f.succeeds(&format!("compress u.f32 v.f32 w.f32 {DIMS} --abs 0 --fill-value -9 -o s.fz"));
    assert_eq!(ends(&f.json("range s.fz")), ends(&volume));
    f.succeeds(&format!("compress u.f32 v.f32 {DIMS} --abs 0 --fill-value -9 -o planes.fz"));
    assert_eq!(
        (ends(&f.json("range planes.fz")), counts(&f.json("range planes.fz"))),
        (ends(&planes), counts(&planes))
    );
    // Nothing but missing values.
    f.write("no.f32", &bytes_of(&[f32::NAN; 210]));
    let nothing = f.json(&format!("range no.f32 no.f32 no.f32 {DIMS}"));
    assert_eq!((&nothing["low"], &nothing["high"]), (&Value::Null, &Value::Null));
    assert!(f
        .succeeds(&format!("range no.f32 no.f32 {DIMS}"))
        .starts_with("no.f32, no.f32: no finite value; 210 "));
    f.fails("range u.f32 v.f32 --dims 7x6x6", &["u.f32", "7x6x6"]);
    // An error names a file once.
    for files in ["u.npy", "u.npy v.npy", "u.npy v.npy w.npy"] {
        f.fails(&format!("range {files}"), &["factz: u.npy: cannot be opened"]);
    }
    f.fails("range u.f32 v.f32 w.f32 --dims 42x5", &["nz = 1"]);
    f.fails(&format!("range u.f32 v.f32 w.f32 {DIMS} --step 0"), &["--step 0"]);
}

#[test]
fn what_is_no_volume_is_refused() {
    let f = Folder::new("volume-refusals");
    flow(&f, ["u.f32", "v.f32", "w.f32"], saddle);
    f.succeeds(&format!("compress u.f32 v.f32 w.f32 {DIMS} --abs 0.01 -o s.fz"));
    f.succeeds(&format!("compress u.f32 v.f32 {DIMS} --abs 0.01 -o planes.fz"));
    f.fails("points u.f32 v.f32 w.f32 --dims 42x5", &["nz = 1"]);
    f.fails("points u.f32 v.f32 w.f32 --dims 7x6x6", &["u.f32"]);
    f.fails(&format!("points u.f32 v.f32 {DIMS} --dz 2"), &["--dz 2", "planes"]);
    f.fails("points s.fz --planes 0:1", &["--planes"]);
    f.fails("points planes.fz --dz 2", &["--dz 2"]);
    f.fails(&format!("points u.f32 v.f32 w.f32 {DIMS} --dz 0"), &["--dz"]);
    f.fails("verify u.f32 v.f32 s.fz", &["s.fz", "U0 V0 W0"]);
    f.fails("verify u.f32 v.f32 w.f32 planes.fz", &["the number of files is 4", "a stream of planes"]);
    f.fails(&format!("verify u.f32 v.f32 w.f32 u.f32 v.f32 {DIMS}"), &["U0 V0 W0 U1 V1 W1"]);
    let three = format!("u.f32 v.f32 w.f32 {DIMS}");
    let six = format!("u.f32 v.f32 w.f32 {three}");
    for command in [
        format!("points {three}"),
        format!("range {three}"),
        format!("verify {six} --abs 1"),
        format!("diff {six}"),
        format!("render {three} -o p.png"),
        format!("render --compare {six} -o p.png"),
    ] {
        f.fails(&format!("{command} --backend cuda"), &["--backend cuda", "computed on the processor"]);
    }
    f.fails(&format!("verify u.f32 v.f32 u.f32 v.f32 {DIMS} --dz 2"), &["--dz 2"]);
    f.fails(&format!("verify u.f32 v.f32 w.f32 u.f32 v.f32 no.f32 {DIMS}"), &["no.f32"]);
    f.fails(&format!("verify u.f32 v.f32 w.f32 u.f32 v.f32 w.f32 {DIMS} --ties sos"), &["ties = sos"]);
    f.fails("verify u.f32 v.f32 w.f32 s.fz --dims 6x7x5", &["7x6x5", "6x7x5"]);
}
