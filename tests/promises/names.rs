//! Types, counts and members have one set of names: in C, Rust, Python and Fortran (test `bindings`), and in the
//! JSON and CSV of the command line.

use crate::bindings::header;
use crate::support::cli::Folder;
use crate::support::{built_folder, python, root, run};
use factz::{Comparison, Report};
use serde_json::Value;
use std::collections::BTreeSet;

type Names = BTreeSet<String>;

fn names<'a>(all: impl IntoIterator<Item = &'a str>) -> Names {
    all.into_iter().map(str::to_owned).collect()
}

fn keys(object: &Value) -> Names {
    object.as_object().expect("an object").keys().cloned().collect()
}

/// The members of a struct of factz.h without what is reserved.
fn members(name: &str) -> Names {
    let members = header().structs.remove(name).expect("a struct").into_iter().map(|(name, _)| name);
    members.filter(|name| !name.starts_with("reserved") && name != "status").collect()
}

/// The endings of constants of factz.h, in small letters.
fn constants(prefix: &str) -> Names {
    let constants = header().constants;
    constants.keys().filter_map(|name| name.strip_prefix(prefix)).map(str::to_lowercase).collect()
}

/// Names that Python has: members of a comparison, of a report and of a point, types, simplices.
fn of_python() -> [Names; 5] {
    let script = "import dataclasses, factz\n\
        print(*(f.name for f in dataclasses.fields(factz.Comparison)))\n\
        print(*(f.name for f in dataclasses.fields(factz.Report)))\n\
        print(*factz.CRITICAL_POINT.names)\n\
        print(*(t.name.lower() for t in factz.PointType))\n\
        print(*(s.name.lower() for s in factz.Simplex))";
    let mut command = python();
    command.env("PYTHONPATH", root().join("plugins/python"));
    command.env("FACTZ_LIBRARY", built_folder().join("libfactz.so"));
    let out = run(command.args(["-B", "-c", script]));
    let text = String::from_utf8(out.stdout).expect("text");
    let lines: Vec<Names> = text.lines().map(|line| names(line.split(' '))).collect();
    lines.try_into().expect("five lines")
}

#[test]
fn counts_types_and_members_have_one_name_everywhere() {
    let [comparison, point] = ["factz_comparison", "factz_critical_point"].map(members);
    let [types, simplices] = ["FACTZ_POINT_", "FACTZ_SIMPLEX_"].map(constants);
    assert_eq!((types.len(), simplices.len()), (8, 6));
    let [of_comparison, mut of_report, others @ ..] = of_python();
    assert_eq!(of_comparison, comparison);
    assert_eq!(others, [&point, &types, &simplices].map(Names::clone));

    // Of Rust, where the violations are a function.
    let fields = |debug: String| {
        let words = debug.split([' ', '{', ',']).filter_map(|word| word.strip_suffix(':'));
        names(words)
    };
    let mut of_rust = fields(format!("{:?}", Comparison::default()));
    of_rust.insert("violations".into());
    assert_eq!(of_rust, comparison);

    // Of a report, in Python with its warnings told apart. A name that both have means the same in both.
    let report = members("factz_report");
    assert!(of_report.remove("wide_range") && of_report.is_subset(&report), "{of_report:?}");
    assert!(of_report.contains("points_in_triangles"));
    assert!(fields(format!("{:?}", Report::default()))
        .iter()
        .all(|name| name == "status" || report.contains(name)));
    let shared = names(["bound", "max_error", "filled_vertices", "nonfinite_vertices", "zero_vertices"]);
    assert_eq!(report.intersection(&comparison).cloned().collect::<Names>(), shared);

    let f = Folder::with_field("names", "wind_global");
    f.succeeds("compress u.f32 v.f32 -o w.fz --dims 360x181 --rel 1e-2");
    let verified = f.json("verify u.f32 v.f32 w.fz");
    // JSON has no infinity: `psnr` is null, and another member says why.
    let mut expected = comparison.clone();
    expected.insert("identical_finite_values".into());
    assert_eq!(keys(&verified["comparison"]), expected);
    assert_eq!(keys(&verified["comparison"]["points_by_type"]), types);
    let bench = f.json("bench u.f32 v.f32 --dims 360x181 --bounds 1e-2 --repeat 1 --threads 1 --mode block");
    assert_eq!(keys(&bench["runs"][0]["comparison"]), expected);
    let listed = f.json("points w.fz -o p.json");
    assert_eq!(keys(&listed["points_by_type"]), types);
    let points: Value = serde_json::from_slice(&f.read("p.json")).expect("JSON");
    assert_eq!(keys(&points[0]), point);
    f.succeeds("points w.fz -o p.csv");
    let table = String::from_utf8(f.read("p.csv")).expect("text");
    // A column for each number of a pair.
    let columns = table.lines().next().expect("a head").split(',');
    assert_eq!(names(columns.map(|name| name.trim_end_matches(['1', '2']).trim_end_matches('_'))), point);
    let of_list = |k: usize| names(table.lines().skip(1).map(|line| line.split(',').nth(k).expect("a cell")));
    assert!(of_list(5).is_subset(&simplices) && of_list(6).is_subset(&types));
    let reported = f.json("compress u.f32 v.f32 -o w.fz --dims 360x181 --rel 1e-2");
    assert!(keys(&reported).is_superset(&names(["critical_points", "vertex_zeros", "edge_zeros"])));

    // Counts of what differs.
    f.succeeds("compress u.f32 v.f32 -o none.fz --dims 360x181 --rel 1e-2 --preserve none");
    let out = f.factz("diff u.f32 v.f32 none.fz -o d.csv --json");
    let counted = keys(&serde_json::from_slice(&out.stdout).expect("JSON"));
    let own = names(["command", "nx", "ny", "nz", "dtype", "lost_vertices", "first_lost_vertex"]);
    assert!(counted.difference(&own).all(|name| comparison.contains(name)), "{counted:?}");
    f.json("sweep u.f32 v.f32 --dims 360x181 -o r --bounds 1e-1 --repeat 1 --no-peers");
    let table = String::from_utf8(f.read("r/sweep.csv")).expect("text");
    let columns = names(table.lines().next().expect("a head").split(','));
    assert!(columns.is_superset(&names(["lost_points", "spurious_points", "changed_types"])), "{columns:?}");
}

/// Types and simplices of volumes, by their numbers in the lists of Python and in the field data of a list of points.
#[test]
fn volumes_have_one_set_of_names() {
    let script = "import dataclasses, factz\n\
        print(*(f.name for f in dataclasses.fields(factz.VolumeComparison)))\n\
        print(*factz.VOLUME_POINT.names)\n\
        print(*(t.name.lower() for t in factz.VolumePointType))\n\
        print(*factz.VOLUME_SIMPLICES)";
    let mut command = python();
    command.env("PYTHONPATH", root().join("plugins/python"));
    command.env("FACTZ_LIBRARY", built_folder().join("libfactz.so"));
    let out = run(command.args(["-B", "-c", script]));
    let text = String::from_utf8(out.stdout).expect("text");
    let [comparison, point, types, simplices] = text.lines().collect::<Vec<_>>()[..] else {
        panic!("{text}")
    };
    assert_eq!(names(comparison.split(' ')), members("factz_volume_comparison"));
    assert_eq!(names(point.split(' ')), members("factz_volume_point"));
    assert_eq!(names(types.split(' ')), constants("FACTZ_VOLUME_POINT_"));

    let f = Folder::new("names-of-volumes");
    let zeros = [0; 32];
    ["u.f32", "v.f32", "w.f32"].iter().for_each(|name| f.write(name, &zeros));
    let report = f.json("points u.f32 v.f32 w.f32 --dims 2x2x2 -o p.vtp");
    assert_eq!(keys(&report["points_by_type"]), names(types.split(' ')));
    let list = String::from_utf8(f.read("p.vtp")).expect("text");
    let numbered = |prefix: &str| {
        let named = list.lines().filter_map(|line| line.split_once(&format!("Name=\"{prefix}_")));
        let names = named.filter_map(|(_, rest)| rest.split_once("\" NumberOfTuples"));
        let found: Vec<(String, String)> =
            names.map(|(name, rest)| (name.to_owned(), rest.to_owned())).collect();
        for (k, (_, rest)) in found.iter().enumerate() {
            assert!(rest.ends_with(&format!(">{k}</DataArray>")), "{rest}");
        }
        found.into_iter().map(|(name, _)| name).collect::<Vec<_>>().join(" ")
    };
    assert_eq!((numbered("point_type").as_str(), numbered("simplex").as_str()), (types, simplices));
    let verified = f.json("verify u.f32 v.f32 w.f32 u.f32 v.f32 w.f32 --dims 2x2x2");
    let of_json = keys(&verified["comparison"]);
    assert!(of_json.is_superset(&members("factz_volume_comparison")), "{of_json:?}");
}
