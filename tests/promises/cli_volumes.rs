//! Volumes on the command line: every order of an array gives the same stream, and decompression fills three
//! files or one.

use crate::support::cli::{npy, text, Folder};
use crate::support::fields::{bytes_of, Random};
use std::process::Stdio;

const SIZES: [usize; 3] = [11, 9, 6];
const SHAPE: &str = "(6, 9, 11)";
const DIMS: &str = "--dims 11x9x6";

/// The values of u, v and w, x fastest: a field with critical points.
fn components() -> [Vec<f32>; 3] {
    let angles = [[0.31, 0.2, 0.11], [0.13, -0.27, 0.33], [-0.21, 0.17, 0.29]];
    angles.map(|[a, b, c]| {
        let value = |k: usize| {
            let [x, y, z] =
                [k % SIZES[0], k / SIZES[0] % SIZES[1], k / SIZES[0] / SIZES[1]].map(|k| k as f32);
            (a * x + b * y + c * z).sin()
        };
        (0..SIZES.iter().product()).map(value).collect()
    })
}

fn bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// A folder with the components as raw values, and the stream of them.
fn volume(name: &str) -> Folder {
    let folder = Folder::new(name);
    for (name, values) in ["u.f32", "v.f32", "w.f32"].iter().zip(components()) {
        folder.write(name, &bytes(&values));
    }
    folder.succeeds(&format!("compress u.f32 v.f32 w.f32 -o flow.fz {DIMS} --abs 0.01"));
    folder
}

#[test]
fn every_order_of_an_array_gives_the_same_stream() {
    let f = volume("volume-orders");
    let [u, v, w] = ["u.f32", "v.f32", "w.f32"].map(|name| f.read(name));
    let all = [&u[..], &v, &w].concat();
    let vertices = u.chunks(4).zip(v.chunks(4)).zip(w.chunks(4));
    let mixed: Vec<u8> = vertices.flat_map(|((u, v), w)| [u, v, w].concat()).collect();
    for (name, values) in [("u.npy", &u), ("v.npy", &v), ("w.npy", &w)] {
        f.write(name, &npy("<f4", SHAPE, values));
    }
    f.write("all.f32", &all);
    f.write("all.npy", &npy("<f4", "(3, 6, 9, 11)", &all));
    f.write("one.npy", &npy("<f4", "(1, 3, 6, 9, 11)", &all));
    f.write("mixed.npy", &npy("<f4", "(6, 9, 11, 3)", &mixed));
    let expected = f.read("flow.fz");
    let raw = format!("all.f32 {DIMS} --mode repair");
    for files in [
        "u.npy v.npy w.npy",
        "u.npy v.f32 w.npy",
        "u.npy v.npy w.npy --mode repair",
        &raw,
        "all.npy --mode repair",
        "one.npy --mode repair",
        "mixed.npy --mode repair",
    ] {
        f.succeeds(&format!("compress {files} -o other.fz --abs 0.01"));
        assert!(f.read("other.fz") == expected, "{files}");
    }
}

#[test]
fn three_files_or_one_are_written() {
    let f = volume("volume-outputs");
    f.succeeds("decompress flow.fz u1.f32 v1.f32 w1.npy");
    let [u, v] = ["u1.f32", "v1.f32"].map(|name| f.read(name));
    let written = f.read("w1.npy");
    let w = &written[written.len() - u.len()..];
    assert!(written == npy("<f4", SHAPE, w));
    for (name, values) in ["u1.f32", "v1.f32"].iter().zip(components()) {
        let largest = f.values(name).iter().zip(&values).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(largest > 0.0 && largest <= 0.01, "{name}: {largest}");
    }
    let all = [&u[..], &v, w].concat();
    f.succeeds("decompress flow.fz all.f32");
    assert!(f.read("all.f32") == all);
    f.succeeds("decompress flow.fz all.npy");
    assert!(f.read("all.npy") == npy("<f4", "(3, 6, 9, 11)", &all));
    let out = f.factz("decompress flow.fz - --format npy");
    assert!(out.status.success() && out.stdout == f.read("all.npy"));

    // An archive holds u, v and w, under other names where --keys says so.
    f.succeeds("decompress flow.fz all.npz");
    f.succeeds("compress all.npz -o again.fz --abs 0 --mode repair");
    f.succeeds("decompress again.fz again.f32");
    assert!(f.read("again.f32") == all);
    let told = f.json("compress all.npz -o again.fz --abs 0.01 --mode repair");
    assert!(
        told["mode"] == "repair" && told["coder"] == "ans" && told["points_in_tetrahedra"].is_u64(),
        "{told}"
    );
    let told = f.succeeds("compress all.npz -o again.fz --abs 0.01 --mode repair");
    assert!(told.contains("\nvertices: 0 stored exactly, "), "{told}");
    f.succeeds("compress all.npz -o turned.fz --abs 0 --mode repair --keys w,v,u");
    f.succeeds("decompress turned.fz turned.f32");
    assert!(f.read("turned.f32") == [w, &v[..], &u].concat());
    let told = f.json("decompress flow.fz all.f32");
    assert_eq!(
        (&told["u"], &told["v"], &told["nz"]),
        (&"all.f32".into(), &serde_json::Value::Null, &6.into())
    );
}

/// Of random signs no vertex may change; the report says what is left to do.
#[test]
fn a_volume_that_is_stored_as_it_is_says_so() {
    let f = Folder::new("volume-of-signs");
    let mut random = Random(5);
    for name in ["u.f32", "v.f32", "w.f32"] {
        let signs: Vec<f32> = (0..512).map(|_| random.one_of(&[-1.0, 1.0])).collect();
        f.write(name, &bytes_of(&signs));
    }
    let told = f.succeeds("compress u.f32 v.f32 w.f32 -o signs.fz --dims 8x8x8 --abs 0.9");
    assert!(
        told.contains("512 stored exactly") && told.contains("--preserve none, which keeps the bound"),
        "{told}"
    );
    let told = f.succeeds("compress u.f32 v.f32 w.f32 -o s.fz --dims 8x8x8 --abs 0.9 --preserve none");
    assert!(!told.contains("--preserve none, which"), "{told}");
}

/// A box of a volume, from a part of a file or from a pipe.
#[test]
fn parts_are_crops() {
    let f = volume("volume-parts");
    f.succeeds("decompress flow.fz u0 v0 w0");
    let [nx, ny, nz] = SIZES;
    for (options, [x0, y0, z0], [w, h, d], text) in [
        ("--planes 2:5", [0, 0, 2], [nx, ny, 3], "from plane 2 on"),
        ("--planes -1", [0, 0, nz - 1], [nx, ny, 1], "from plane 5 on"),
        ("--region 3,1,5x4", [3, 1, 0], [5, 4, nz], "from column 3 and row 1 on"),
        ("--region 10,8,1x1 --planes 1", [10, 8, 1], [1, 1, 1], "from column 10, row 8 and plane 1 on"),
    ] {
        let said = f.succeeds(&format!("decompress flow.fz u1 v1 w1 {options}"));
        assert!(said.contains(&format!("{w}x{h}")) && said.contains(text), "{said}");
        for name in ["u", "v", "w"] {
            let whole = f.values(&format!("{name}0"));
            let at = |k: usize| ((z0 + k / w / h) * ny + y0 + k / w % h) * nx + x0 + k % w;
            let expected: Vec<f32> = (0..w * h * d).map(|k| whole[at(k)]).collect();
            assert_eq!(f.values(&format!("{name}1")), expected, "{name}, {options}");
        }
    }
    let told = f.json("decompress flow.fz part.npy --planes 2:5 --region 3,1,5x4");
    assert_eq!([&told["nx"], &told["ny"], &told["nz"], &told["planes"]["z"]], [5, 4, 3, 2]);
    assert_eq!((&told["region"]["x"], &told["region"]["y"]), (&3.into(), &1.into()));
    let mut child = f.command("decompress - u2 v2 w2 --planes 0").stdin(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), &f.read("flow.fz")).unwrap();
    assert!(child.wait_with_output().unwrap().status.success());
    assert_eq!(f.values("u2"), f.values("u0")[..nx * ny]);
    f.fails("decompress flow.fz a b c --planes 6", &["--planes 6: is not inside the field of flow.fz"]);
    f.fails("decompress flow.fz a b c --region 8,0,4x1", &["not inside", "11x9x6"]);
    f.fails(
        "decompress flow.fz a b c --planes 0 --backend cuda",
        &["--planes 0", "leave --backend cuda out"],
    );
    // From a pipe to one file.
    for (options, vertices) in [("", nx * ny * nz), (" --planes 0", nx * ny)] {
        let mut child =
            f.command(&format!("decompress - all{options}")).stdin(Stdio::piped()).spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), &f.read("flow.fz")).unwrap();
        assert!(child.wait_with_output().unwrap().status.success());
        let expected = ["u0", "v0", "w0"].map(|name| f.values(name)[..vertices].to_vec()).concat();
        assert_eq!(f.values("all"), expected, "{options}");
    }
}

/// The volume of one file is that of three, for every command that analyses fields.
#[test]
fn volumes_in_one_file_are_analysed() {
    let f = volume("volume-one-file");
    let three = "u.f32 v.f32 w.f32";
    let [u, v, w] = ["u.f32", "v.f32", "w.f32"].map(|name| f.read(name));
    let all = [&u[..], &v, &w].concat();
    let vertices = u.chunks(4).zip(v.chunks(4)).zip(w.chunks(4));
    let mixed: Vec<u8> = vertices.flat_map(|((u, v), w)| [u, v, w].concat()).collect();
    f.write("all.npy", &npy("<f4", "(3, 6, 9, 11)", &all));
    f.write("mixed.npy", &npy("<f4", "(1, 6, 9, 11, 3)", &mixed));
    f.succeeds(&format!("compress {three} {DIMS} --abs 0 -o exact.fz"));
    f.succeeds("decompress exact.fz all.npz");
    let list = f.succeeds(&format!("points {three} {DIMS}"));
    assert!(list.lines().count() > 2, "{list}");
    let range = f.succeeds(&format!("range {three} {DIMS}")).split_once(':').unwrap().1.to_owned();
    let picture = |files: &str| {
        let report = f.json(&format!("render {files} --plane y:4 -o p.png"));
        [report["panels"][0]["marks"].clone(), report["scale"].clone()]
    };
    let drawn = picture(&format!("{three} {DIMS}"));
    for files in ["all.npy", "mixed.npy", "all.npz", "all.npz --keys u,v,w"] {
        assert_eq!(f.succeeds(&format!("points {files}")), list, "{files}");
        assert_eq!(f.succeeds(&format!("range {files}")).split_once(':').unwrap().1, range, "{files}");
        assert_eq!(picture(files), drawn, "{files}");
    }
    // Two names are those of planes.
    let planes = f.succeeds(&format!("points u.f32 v.f32 {DIMS}"));
    assert_eq!(f.succeeds("points all.npz --keys u,v"), planes);
    f.succeeds("compress all.npz --abs 0 -o planes.fz --keys u,v");
    assert!(f.succeeds("verify all.npz planes.fz").starts_with("Kept: "));
    f.succeeds("protect all.npz planes.fz -o planes.fix --abs 0.1");
    f.succeeds("apply planes.fix all.npz two.npz");

    f.succeeds(&format!("compress {three} {DIMS} --abs 0.2 -o exact.fz --append"));
    let list = f.succeeds("info exact.fz");
    assert_eq!(list.matches("11x9x6 f32 of u, v and w").count(), 2, "{list}");
    f.succeeds(&format!("compress {three} {DIMS} --abs 0.2 --preserve none -o other.fz"));
    f.succeeds("decompress other.fz other.npy");
    f.succeeds("decompress other.fz u1.f32 v1.f32 w1.f32");
    let said = |line: &str| {
        let out = f.factz(line);
        assert!(out.stderr.is_empty() || out.status.code() == Some(1), "{line}: {}", text(&out.stderr));
        text(&out.stdout)
    };
    let arrays = format!("{three} u1.f32 v1.f32 w1.f32 {DIMS}");
    let verified = said(&format!("verify {arrays}"));
    let differences = said(&format!("diff {arrays}"));
    assert!(differences.lines().count() > 1, "{differences}");
    f.succeeds(&format!("render --compare {arrays} --plane 3 -o compared.png"));
    for files in [
        "all.npy other.npy".to_owned(),
        "all.npz other.npy".to_owned(),
        format!("{three} other.npy {DIMS}"),
        "all.npy u1.f32 v1.f32 w1.f32".to_owned(),
    ] {
        assert_eq!(said(&format!("verify {files}")), verified, "{files}");
        assert_eq!(said(&format!("diff {files}")), differences, "{files}");
        f.succeeds(&format!("render --compare {files} --plane 3 -o p.png"));
        assert!(f.read("p.png") == f.read("compared.png"), "{files}");
    }
    let by_stream = f.factz(&format!("verify {three} other.fz --json"));
    let one: serde_json::Value =
        serde_json::from_slice(&f.factz("verify mixed.npy other.fz --json").stdout).unwrap();
    let three_files: serde_json::Value = serde_json::from_slice(&by_stream.stdout).unwrap();
    assert_eq!(one["comparison"], three_files["comparison"]);
    // From a pipe behind a file.
    let mut child = f.command("diff all.npy -").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), &f.read("other.npy")).unwrap();
    assert_eq!(text(&child.wait_with_output().unwrap().stdout), differences);
}

/// Three planes of two components, or three components of two planes.
#[test]
fn the_shape_tells_volumes_from_planes_where_both_are_possible() {
    let f = volume("volume-or-planes");
    let values: Vec<u8> =
        ["u.f32", "v.f32", "w.f32"].iter().flat_map(|name| f.read(name)[..792].to_vec()).collect();
    f.write("both.npy", &npy("<f4", "(3, 2, 9, 11)", &values));
    for (options, nz, components) in
        [("", 3, None), (" --dims 11x9x3", 3, None), (" --dims 11x9x2", 2, Some(3))]
    {
        let told = f.json(&format!("points both.npy{options}"));
        assert_eq!((told["nz"].as_u64(), told["components"].as_u64()), (Some(nz), components), "{options}");
    }
    f.write(
        "cube.npy",
        &npy("<f4", "(3, 66, 3, 3)", &["u.f32", "v.f32", "w.f32"].map(|name| f.read(name)).concat()),
    );
    f.fails("points cube.npy", &["cube.npy", "--dims 3x3x66 or --dims 3x66x3"]);
    assert_eq!(f.json("points cube.npy --dims 3x66x3")["ny"], 66);
    f.succeeds("decompress flow.fz all.npy");
    f.fails(
        "verify u.f32 v.f32 all.npy",
        &["the number of files is 3, and all.npy holds a volume", "U0 V0 W0"],
    );
    let two: Vec<u8> = ["u.f32", "v.f32"].iter().flat_map(|name| f.read(name)).collect();
    f.write("two.npy", &npy("<f4", "(2, 6, 9, 11)", &two));
    f.succeeds("compress two.npy -o two.fz --abs 0.01");
    f.succeeds("decompress flow.fz all.npz");
    let counts = ["three components (u, v and w of a volume)", "two components (u and v of planes)"];
    for (first, other) in [("all.npy", "two.npy"), ("all.npy", "two.fz"), ("all.npz", "two.npy")] {
        let part = format!("{first} holds {}, and {other} {}", counts[0], counts[1]);
        for command in ["verify", "diff", "protect -o x.fix --abs 1", "render --compare -o x.png"] {
            f.fails(&format!("{command} {first} {other}"), &[&part]);
        }
    }
    f.fails("verify two.npy flow.fz", &[&format!("two.npy holds {}, and flow.fz {}", counts[1], counts[0])]);
    f.fails("diff all.npy flow.fz --dims 6x9x11", &["all.npy: holds 11x9x6 values", "6x9x11"]);
    f.fails("points all.npy --keys a,b", &["--keys a,b: give three names"]);
    f.fails("points flow.npz", &["flow.npz"]);
}

/// Three arrays whose last axis has two vertices are no pairs.
#[test]
fn volumes_of_two_columns_are_volumes() {
    let f = Folder::new("volume-two-columns");
    for (name, values) in ["u", "v", "w"].iter().zip(components()) {
        f.write(&format!("{name}.npy"), &npy("<f4", "(27, 11, 2)", &bytes(&values)));
    }
    f.succeeds("compress u.npy v.npy w.npy -o flow.fz --abs 0.01");
    assert_eq!(f.json("info flow.fz")["nx"], 2);
    f.succeeds("decompress flow.fz u1.npy v1.npy w1.npy");
    f.succeeds("verify u.npy v.npy w.npy u1.npy v1.npy w1.npy --abs 0.01");
    f.succeeds("decompress flow.fz all.npz");
    f.succeeds("compress all.npz -o again.fz --abs 0.01 --mode repair");
}

#[test]
fn what_is_no_volume_is_refused() {
    let f = volume("volume-refused");
    let all = ["u.f32", "v.f32", "w.f32"].map(|name| f.read(name)).concat();
    f.write("all.f32", &all);
    f.write("all.f64", &all.repeat(2));
    f.write("all.npy", &npy("<f4", "(3, 6, 9, 11)", &all));
    f.write("cube.npy", &npy("<f4", "(3, 66, 3, 3)", &all));
    f.write("u.npy", &npy("<f4", SHAPE, &f.read("u.f32")));
    f.succeeds("decompress flow.fz all.npz");
    f.succeeds("compress u.npy u.npy -o planes.fz --abs 0.1");
    f.write("four.npy", &npy("<f4", "(3, 3, 3, 3)", &all[..324]));
    for (line, part) in [
        ("compress u.npy u.npy -o x.fz --abs 1 --mode repair", "give U, V and W, or one file"),
        ("compress u.npy u.npy u.npy -o x.fz --abs 1 --mode block", "--mode block is one of planes"),
        ("compress four.npy -o x.fz --abs 1 --mode repair", "as three files, a[0], a[1] and a[2], or else"),
        ("decompress planes.fz a.f32 b.f32 c.f32", "planes.fz holds planes: give two outputs, U and V"),
        ("compress u.npy -o x.fz --abs 1 --mode repair", "which is one component: give U, V and W"),
        ("compress all.npy -o x.fz --abs 1", "all.npy: holds u, v and w: give --mode repair for a volume"),
        ("compress cube.npy -o x.fz --abs 1 --mode repair", "--dims 3x3x66 or --dims 3x66x3"),
        ("compress all.f32 -o x.fz --abs 1 --mode repair", "--dims NXxNY is missing"),
        (
            "compress all.f32 -o x.fz --abs 1 --dims 11x9x6",
            "u, v and w of a volume: `factz compress` takes it with --mode repair",
        ),
        (
            "compress all.f64 -o x.fz --abs 1 --dims 11x9x6",
            "u, v and w of a volume of f64, give --dtype f64; `factz compress`",
        ),
        (
            "compress all.f64 -o x.fz --abs 1 --dims 11x9x6 --mode repair",
            "u, v and w of f64, give --dtype f64",
        ),
        ("points all.f32 --dims 11x9x6", "other commands take three files or one .npy"),
        (
            "compress u.f32 -o x.fz --abs 1 --mode repair --dims 11x9x6",
            "give the files of the other ones too",
        ),
        ("compress - u.npy u.npy -o x.fz --abs 1", "- takes the place of all components"),
        ("compress all.npz -o x.fz --abs 1 --mode repair --keys a,b", "give three names, U,V,W"),
        ("compress all.npz -o x.fz --abs 1 --mode repair --keys u,v,x", "name u, v and w with --keys U,V,W"),
        ("compress all.npz -o x.fz --abs 1 --keys u,v,w", "give --mode repair for a volume"),
        ("compress all.npz u.npy u.npy -o x.fz --abs 1", "is an archive of arrays: give it alone"),
        ("compress all.npz -o x.fz --abs 1", "all.npz: holds u, v and w: give --mode repair for a volume"),
        ("decompress flow.fz u1.f32 v1.f32", "or one for all components"),
        ("decompress flow.fz u1.npz v1.f32 w1.f32", "holds all components: give it alone"),
        ("decompress flow.fz u1.f32 u1.f32 w1.f32", "is given for two components"),
        ("decompress flow.fz flow.fz", "is an input"),
        (
            "split flow.fz u.fz v.fz",
            "flow.fz: the stream holds a volume of u, v and w, and streams of planes alone",
        ),
        (
            "points flow.fz --dims 11x9x7",
            "flow.fz: holds 11x9x6 values of f32 (columns x rows x planes), --dims or",
        ),
        ("points flow.fz --dtype f64 --planes 0:3", "--dims or --dtype say otherwise: leave them out"),
        ("range flow.fz --dims 66x9", "--dims or --dtype say otherwise: leave them out"),
        ("render flow.fz -o x.png --dims 6x9x11", "--dims or --dtype say otherwise: leave them out"),
    ] {
        f.fails(line, &[part]);
    }
    let points = f.succeeds("points flow.fz");
    assert_eq!(f.succeeds(&format!("points flow.fz --dtype f32 {DIMS}")), points);
    // Both components of a stack, where they are named.
    f.succeeds("compress all.npz -o x.fz --abs 1 --keys u,v");
    f.succeeds("compress cube.npy -o x.fz --abs 1 --mode repair --dims 3x66x3");
    assert_eq!(f.json("info x.fz")["ny"], 66);
}

#[test]
fn volumes_are_measured() {
    let f = volume("volume-bench");
    let options = "--bounds 1e-1,1e-2 --threads 1,2 --coder ans --repeat 1";
    let json = f.json(&format!("bench u.f32 v.f32 w.f32 {DIMS} {options}"));
    let runs = json["runs"].as_array().unwrap();
    assert_eq!((runs.len(), json["nz"].as_u64()), (2, Some(SIZES[2] as u64)));
    for run in runs {
        assert!(run["violations"] == 0 && run["ratio"].as_f64() > Some(1.0), "{run}");
        assert_eq!(run["speeds"].as_array().unwrap().len(), 2);
    }
}

/// Every command with --dz takes a negative number behind a space for volumes, and refuses any for planes.
#[test]
fn the_distance_of_planes_is_one_of_volumes() {
    let f = volume("volume-distances");
    let (three, two) = ("u.f32 v.f32 w.f32", "u.f32 v.f32");
    f.succeeds("decompress flow.fz u1.f32 v1.f32 w1.f32");
    for (name, line, with_reconstruction) in [
        ("compress", "-o x.fz --abs 0.01", false),
        ("protect", "-o x.fix --abs 0.0101", true),
        ("verify", "--abs 0.0101", true),
        ("points", "", false),
        ("bench", "--bounds 1e-1 --threads 1 --coder ans --repeat 1", false),
    ] {
        let files = |files: &str| match with_reconstruction {
            true => format!("{files} {}", files.replace(".f32", "1.f32")),
            false => files.to_string(),
        };
        f.succeeds(&format!("{name} {} {DIMS} {line} --dz -2", files(three)));
        for dz in ["2", "-2", "1"] {
            let line = format!("{name} {} --dims 11x54 {line} --dz {dz}", files(two));
            let refusal = format!("--dz {dz}: planes have no axis z: leave it out, or give three components");
            f.fails(&line, &[&refusal]);
        }
        f.fails(&format!("{name} {} {DIMS} {line} --dz 0", files(three)), &["--dz", "other than 0"]);
    }
    assert_eq!(f.json("info x.fz")["dz"], -2.0);
    assert_eq!(f.json("info x.fix")["dz"], -2.0);
}
