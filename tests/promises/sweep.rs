//! `factz sweep`: the report holds every configuration, and other compressors where their packages are.

use crate::support::cli::{npy, text, Folder};
use crate::support::fields::bytes_of;
use crate::support::python_of_plugins;
use serde_json::Value;

const CONFIGURATIONS: usize = 7;

#[test]
fn a_sweep_reports_every_configuration() {
    let f = Folder::with_field("sweep", "navy_winds_000");
    let d = f.json("sweep u.f32 v.f32 --dims 144x73 --spacing 1,-1 -o new/report --bounds 1e-1,1e-2 --repeat 1 --no-peers");
    let runs = d["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 2 * CONFIGURATIONS);
    let changed = |run: &Value| -> u64 {
        ["lost_points", "spurious_points", "changed_types"]
            .iter()
            .map(|name| run[name].as_u64().unwrap())
            .sum()
    };
    for run in runs {
        assert_eq!(run["preserves"] == true, changed(run) == 0, "{run}");
        assert!(run["max_error"].as_f64() <= run["absolute_bound"].as_f64(), "{run}");
        let bits = 32.0 / run["ratio"].as_f64().unwrap();
        assert!((run["bits_per_value"].as_f64().unwrap() - bits).abs() < 1e-9, "{run}");
    }
    let page = text(&f.read("new/report/index.html"));
    assert_eq!((page.matches("<svg").count(), page.matches("data:image/png;base64,").count()), (4, 2));
    // Nothing is loaded from elsewhere; the names of SVG are no addresses.
    let loaded = page.replace("http://www.w3.org/2000/svg", "");
    // With its colon, which the base64 of pictures cannot contain by chance.
    assert!(!["http:", "https:", "<script"].iter().any(|text| loaded.contains(text)));
    assert_eq!(page.matches("<tr>").count(), 1 + runs.len());
    for (name, lines) in [("sweep.csv", 1), ("sweep.md", 2)] {
        let table = text(&f.read(&format!("new/report/{name}")));
        assert_eq!(table.lines().filter(|line| line.contains("factz ")).count(), runs.len(), "{name}");
        assert!(table.lines().count() >= lines + runs.len(), "{name}");
    }
    for name in ["field.png", "comparison.png"] {
        assert_eq!(&f.read(&format!("new/report/{name}"))[..4], b"\x89PNG");
    }
}

/// Volumes have three configurations, and the report has all that it has of planes.
#[test]
fn volumes_are_swept() {
    const CONFIGURATIONS: usize = 3;
    let f = Folder::new("sweep-volume");
    let [nx, ny, nz] = [14, 12, 9];
    let mut all = Vec::new();
    for (name, [a, b, c]) in ["u", "v", "w"].iter().zip([[9, 5, 3], [-4, 11, 7], [5, -7, 12]]) {
        let at = |k: i32| a * (k % nx) + b * (k / nx % ny) + c * (k / nx / ny);
        let values: Vec<f32> = (0..nx * ny * nz).map(|k| (0.1 * at(k) as f32).sin()).collect();
        f.write(name, &bytes_of(&values));
        all.extend(bytes_of(&values));
    }
    f.write("all.npy", &npy("<f4", "(3, 9, 12, 14)", &all));
    let options = "--dz -0.5 --bounds 1e-1,1e-2 --repeat 1";
    let d = f.json(&format!("sweep u v w --dims 14x12x9 {options} -o r"));
    let runs = d["runs"].as_array().unwrap();
    assert_eq!((runs.len(), &d["components"], &d["nz"]), (2 * CONFIGURATIONS, &3.into(), &9.into()));
    assert!(d["remark"].as_str().unwrap().contains("planes alone"), "{}", d["remark"]);
    let points = f.json("points u v w --dims 14x12x9");
    assert!(
        points["critical_points"].as_u64() > Some(9) && d["critical_points"] == points["critical_points"]
    );
    for run in runs {
        let [bytes, bound] = ["stream_bytes", "relative_bound"].map(|name| run[name].as_f64().unwrap());
        let values = (3 * nx * ny * nz) as f64;
        assert!((run["ratio"].as_f64().unwrap() - 4.0 * values / bytes).abs() < 1e-9, "{run}");
        assert!((run["bits_per_value"].as_f64().unwrap() - 8.0 * bytes / values).abs() < 1e-9, "{run}");
        // The stream and the comparison are those of the other commands.
        let codec = run["codec"].as_str().unwrap();
        let choices = match codec {
            "factz" => "",
            "factz, Huffman" => " --coder huffman",
            "factz --preserve none" => " --preserve none",
            other => panic!("{other}"),
        };
        f.succeeds(&format!("compress u v w --dims 14x12x9 --dz -0.5 --rel {bound}{choices} -o s.fz"));
        assert_eq!(f.read("s.fz").len() as f64, bytes, "{run}");
        let verified = &f.json("verify u v w s.fz --dims 14x12x9")["comparison"];
        for name in ["lost_points", "spurious_points", "changed_types", "max_error", "psnr"] {
            assert_eq!(run[name], verified[name], "{name}: {run}");
        }
        assert_eq!(run["preserves"] == true, verified["violations"] == 0, "{run}");
    }
    for name in ["field.png", "comparison.png"] {
        assert_eq!(&f.read(&format!("r/{name}"))[..4], b"\x89PNG");
        assert!(d["pictures"][name]["panels"].as_array().is_some_and(|panels| !panels.is_empty()), "{d}");
    }
    let page = text(&f.read("r/index.html"));
    assert_eq!((page.matches("<svg").count(), page.matches("<tr>").count()), (4, 1 + runs.len()));
    assert!(page.contains("joint range of u, v and w"));
    // One file with all components.
    let one = f.json(&format!("sweep all.npy {options} -o one --no-peers"));
    let sizes = |report: &Value| -> Vec<Value> {
        report["runs"].as_array().unwrap().iter().map(|run| run["stream_bytes"].clone()).collect()
    };
    assert_eq!((sizes(&one), &one["remark"]), (sizes(&d), &Value::Null));
    f.fails("sweep u v --dims 14x12x9 --dz 2 -o x", &["--dz 2: planes have no axis z"]);
    f.fails("sweep u v w --dims 14x108 -o x", &["nz = 1"]);
}

#[test]
fn a_sweep_says_why_peers_are_missing() {
    let f = Folder::with_field("sweep-without", "tiny33x31");
    let d =
        f.json("sweep u.f32 v.f32 --dims 33x31 -o r --bounds 1e-2,2.5e-3 --repeat 1 --python ./no-python");
    assert!(d["remark"].as_str().unwrap().contains("no-python cannot be run"), "{}", d["remark"]);
    assert_eq!(d["runs"].as_array().unwrap().len(), 2 * CONFIGURATIONS);
    // Bounds have all their digits.
    assert_eq!(text(&f.read("r/sweep.md")).matches("| 2.5e-3 |").count(), CONFIGURATIONS);
    f.write("nan", &[f32::NAN.to_le_bytes(); 4].concat());
    let d = f.json("sweep nan nan --dims 2x2 -o r --bounds 1e-2 --repeat 1");
    assert!(d["remark"].as_str().unwrap().contains("missing values"), "{}", d["remark"]);
    f.fails("sweep u.f32 v.f32 --dims 33x31 -o u.f32 --bounds 1e-2", &["u.f32", "cannot be made"]);
}

/// Their errors are within the bound, and they lose points of a rough field.
#[test]
#[ignore = "make test-all"]
fn a_sweep_measures_peers() {
    let f = Folder::with_field("sweep-peers", "wind_global");
    let Some(python) = python_of_plugins(&["h5py", "hdf5plugin"]) else { return };
    let d = f.json(&format!(
        "sweep u.f32 v.f32 --dims 360x181 -o r --bounds 1e-2 --repeat 1 --python {}",
        python.display()
    ));
    assert_eq!(d["remark"], Value::Null);
    let runs = d["runs"].as_array().unwrap();
    for name in ["zfp", "SZ3", "SPERR"] {
        let run = runs.iter().find(|run| run["codec"] == name).unwrap_or_else(|| panic!("{name}"));
        assert!(run["max_error"].as_f64() <= run["absolute_bound"].as_f64(), "{run}");
        assert!(run["max_error"].as_f64().unwrap() > 0.0, "{run}");
        assert!(run["lost_points"].as_u64().unwrap() > 10 && run["ratio"].as_f64().unwrap() > 4.0, "{run}");
    }
}
