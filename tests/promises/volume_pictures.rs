//! Pictures of volumes: a plane shows the flow in it and the points that are nearest to it.

use crate::pictures::{free_marks, label, marks, pixel, Image};
use crate::support::cli::Folder;
use crate::support::fields::bytes_of;
use serde_json::Value;
use std::collections::HashMap;

/// Three smooth components, x fastest.
fn write_volume(f: &Folder, [nx, ny, nz]: [usize; 3]) {
    let waves = [[0.61, 0.40, 0.91], [0.43, -0.77, 0.63], [-0.51, 0.37, 1.09]];
    for (k, name) in ["u.f32", "v.f32", "w.f32"].into_iter().enumerate() {
        let value = |i: usize| {
            let place = [i % nx, i / nx % ny, i / nx / ny].map(|n| n as f32);
            let angle = |wave: &[f32; 3]| wave.iter().zip(place).map(|(k, x)| k * x).sum::<f32>();
            angle(&waves[k]).sin() + 0.7 * (angle(&waves[(k + 1) % 3]) + 0.3).cos()
        };
        f.write(name, &bytes_of(&(0..nx * ny * nz).map(value).collect::<Vec<f32>>()));
    }
}

/// The names of the axes that go through planes, and the axes to the right and upwards in them.
const PLANES: [(&str, [usize; 3]); 3] = [("x", [1, 2, 0]), ("y", [0, 2, 1]), ("z", [0, 1, 2])];

/// Each point of a volume is in the picture of the nearest plane, at its place and with the colour of its type.
#[test]
fn planes_of_volumes_show_the_points_nearest_to_them() {
    let f = Folder::new("slices");
    let spacing = [
        ("--spacing -2,0.5 --dz -3", [-2.0, 0.5, -3.0]),
        ("--periodic xyz", [1.0, 1.0, 1.0]),
        ("", [1.0, 1.0, 1.0]),
    ];
    for ((axis, [right, up, through]), (options, distances)) in PLANES.into_iter().zip(spacing) {
        let mut sizes = [5; 3];
        (sizes[right], sizes[up]) = (31, 25);
        write_volume(&f, sizes);
        let [nx, ny, nz] = sizes;
        let volume = format!("u.f32 v.f32 w.f32 --dims {nx}x{ny}x{nz} {options}");
        let list = f.succeeds(&format!("points {volume}"));
        let mut of_plane: HashMap<usize, Vec<(f64, f64, String)>> = HashMap::new();
        for line in list.lines().skip(1) {
            let cells: Vec<&str> = line.split(',').collect();
            let at = |axis: usize| cells[axis].parse::<f64>().unwrap() / distances[axis];
            let place = (at(right), at(up), label(cells[8]));
            of_plane.entry((at(through) + 0.5).floor() as usize % 5).or_default().push(place);
        }
        assert!(of_plane.len() == 5 && list.lines().count() > 100, "{list}");
        let (mut free, mut shown) = (0, 0);
        for (number, points) in &of_plane {
            let plane = format!("--plane {axis}:{number}");
            let report = f.json(&format!("render {volume} {plane} --width 800 -o z.png"));
            let (image, panel) = (Image::read(&f, "z.png"), &report["panels"][0]);
            let marks = marks(panel);
            assert_eq!(marks.values().map(|m| m.1).sum::<u64>(), points.len() as u64, "{options} {plane}");
            for (label, (_, count, drawn)) in &marks {
                let expected = points.iter().filter(|p| p.2 == *label).count() as u64;
                assert_eq!((*count, *drawn), (expected, expected), "{options} {plane}: {label}");
            }
            // Where an axis is periodic, points far behind the last vertex are drawn before the first one.
            let wrapped = |at: f64, size: f64| if at > size - 0.5 { at - size } else { at };
            let placed = points.iter().map(|p| (wrapped(p.0, 31.0), wrapped(p.1, 25.0), marks[&*p.2].0));
            free += free_marks(&image, panel, &placed.collect::<Vec<_>>(), &[], 0.0);
            shown += points.len();
        }
        assert_eq!(shown, list.lines().count() - 1);
        assert!(free > 60, "{options} {axis}: {free} of {shown}");
    }
}

/// The picture of a plane is that of the two components in it, as fields of their own, but for the marks.
#[test]
fn planes_of_volumes_show_the_flow_in_them() {
    let f = Folder::new("slices-flow");
    let (sizes, distances) = ([31, 25, 19], [-2.0, 0.5, -3.0]);
    write_volume(&f, sizes);
    let labels = ["x = -2 · column", "y = 0.5 · row", "z = -3 · plane"];
    let look = "--no-arrows --width 500";
    let components = ["u.f32", "v.f32", "w.f32"].map(|name| f.values(name));
    for (axis, [right, up, through]) in PLANES {
        let [columns, rows] = [right, up].map(|axis| sizes[axis]);
        for (name, component) in [("right", right), ("up", up)] {
            let steps = [1, sizes[0], sizes[0] * sizes[1]];
            let at = |k: usize| k % columns * steps[right] + k / columns * steps[up] + 7 * steps[through];
            let values: Vec<f32> = (0..columns * rows).map(|k| components[component][at(k)]).collect();
            f.write(name, &bytes_of(&values));
        }
        let spacing = "--spacing -2,0.5 --dz -3";
        let volume = format!("u.f32 v.f32 w.f32 --dims 31x25x19 {spacing} --plane {axis}:7");
        let of_volume = f.json(&format!("render {volume} {look} -o z.png"));
        let spacing = format!("--spacing {},{}", distances[right], distances[up]);
        let plane = f.json(&format!("render right up --dims {columns}x{rows} {spacing} {look} -o p.png"));
        assert_eq!(of_volume["scale"], plane["scale"], "{axis}");
        let [panel, other] = [of_volume, plane].map(|report| report["panels"][0].clone());
        for name in ["left", "top", "width", "height", "window", "row_0", "column_0"] {
            assert_eq!(panel[name], other[name], "{axis}: {name}");
        }
        assert_eq!(panel["axes"], serde_json::json!([labels[right], labels[up]]));
        let [image, other] = ["z.png", "p.png"].map(|name| Image::read(&f, name));
        let [left, top, width, height] =
            ["left", "top", "width", "height"].map(|name| panel[name].as_u64().unwrap());
        let pixels = (0..width * height).map(|k| ((left + k % width) as f64, (top + k / width) as f64));
        let same = pixels.filter(|place| image.at(*place) == other.at(*place)).count() as u64;
        assert!(3 * same > 2 * width * height, "{axis}: {same} of {width} x {height}");
    }
    // An axis whose vertices are one unit apart is named as well.
    let report = f.json("render u.f32 v.f32 w.f32 --dims 31x25x19 --plane x:-1 --width 500 -o z.png");
    assert_eq!(report["panels"][0]["axes"], serde_json::json!(["y (row)", "z (plane)"]));
    assert!(report["panels"][0]["title"].as_str().unwrap().contains("plane x:30 of 31"), "{report}");
    // Without an axis planes are those of z, and a stream tells shape, spacing and periodic axes.
    let volume = "u.f32 v.f32 w.f32 --dims 31x25x19 --spacing 1,-0.5 --dz -3 --periodic z";
    f.succeeds(&format!("compress {volume} --abs 0 -o flow.fz"));
    let panel = |source: &str| f.json(&format!("render {source} -o z.png"))["panels"][0].clone();
    let [of_stream, of_arrays] =
        [panel("flow.fz --plane -1"), panel(&format!("{volume} --plane z:18 --width 1600"))];
    for name in ["marks", "arrows", "axes", "row_0"] {
        assert_eq!(of_stream[name], of_arrays[name], "{name}");
    }
}

#[test]
fn planes_of_volumes_are_grey_where_a_component_is_missing() {
    let f = Folder::new("slices-missing");
    let grey = |plane: &str, fill: &str, [right, up]: [f64; 2]| {
        let files = "u.f32 v.f32 w.f32 --dims 31x25x5";
        let report =
            f.json(&format!("render {files} {fill} --plane {plane} --no-arrows --width 400 -o z.png"));
        let land = [0, 1, 2].map(|k| report["land_colour"][k].as_u64().unwrap() as u8);
        Image::read(&f, "z.png").at(pixel(&report["panels"][0], right, up)) == land
    };
    let fill = "--fill-value=-99";
    for name in ["u.f32", "v.f32", "w.f32"] {
        write_volume(&f, [31, 25, 5]);
        let mut values = f.values(name);
        for (y, x) in (5..12).flat_map(|y| (8..20).map(move |x| (y, x))) {
            values[(3 * 25 + y) * 31 + x] = if x < 14 { f32::NAN } else { -99.0 };
        }
        f.write(name, &bytes_of(&values));
        let [west, east] = [[10.5, 8.0], [16.5, 8.0]];
        assert!(grey("3", fill, west) && grey("3", fill, east) && grey("3", "", west), "{name}");
        assert!(!grey("3", "", east) && !grey("2", fill, west) && !grey("4", fill, west), "{name}");
        for (plane, place) in [("y:8", [16.5, 3.0]), ("x:16", [8.5, 3.0])] {
            assert!(grey(plane, fill, place) && !grey(plane, "", place), "{name}, {plane}");
        }
        assert!(!grey("y:4", fill, [16.5, 3.0]) && !grey("x:20", fill, [8.5, 3.0]), "{name}");
    }
    // Vertices at rest are grey, those that flow through the plane alone are not.
    write_volume(&f, [31, 25, 5]);
    for name in ["u.f32", "v.f32", "w.f32"] {
        let mut values = f.values(name);
        for (y, x) in (5..12).flat_map(|y| (8..20).map(move |x| (y, x))) {
            values[(3 * 25 + y) * 31 + x] = if name == "w.f32" && x >= 14 { 2.0 } else { 0.0 };
        }
        f.write(name, &bytes_of(&values));
    }
    assert!(grey("3", "", [10.5, 8.0]) && !grey("3", "", [16.5, 8.0]));
}

/// A fill value of zero is the zero of its sign alone, as for the library.
#[test]
fn zeros_of_the_other_sign_are_drawn_as_data() {
    let f = Folder::new("negative-zeros");
    let sizes = [31, 25, 5];
    write_volume(&f, sizes);
    for name in ["u.f32", "w.f32"] {
        let mut values = f.values(name);
        for (z, y, x) in (0..5).flat_map(|z| (5..12).flat_map(move |y| (4..20).map(move |x| (z, y, x)))) {
            values[(z * sizes[1] + y) * sizes[0] + x] = if x < 12 { 0.0 } else { -0.0 };
        }
        f.write(name, &bytes_of(&values));
        let is_land = |files: &str, column: f64| {
            let report =
                f.json(&format!("render {files} --dims 31x25x5 --plane 3 --no-arrows --width 400 -o z.png"));
            let land = [0, 1, 2].map(|k| report["land_colour"][k].as_u64().unwrap() as u8);
            Image::read(&f, "z.png").at(pixel(&report["panels"][0], column, 8.5)) == land
        };
        // Planes do not see w.
        let files =
            if name == "u.f32" { &["u.f32 v.f32", "u.f32 v.f32 w.f32"][..] } else { &["u.f32 v.f32 w.f32"] };
        for files in files {
            for (fill, expected) in [("0", [true, false]), ("-0", [false, true])] {
                let found =
                    [7.5, 15.5].map(|column| is_land(&format!("{files} --fill-value {fill}"), column));
                assert_eq!(found, expected, "{files} {fill}");
            }
        }
        write_volume(&f, sizes);
    }
}

/// A point of a volume: its simplex, its type and index, and its grid position.
type VolumePoint = (String, String, [f64; 3]);

fn volume_points(f: &Folder, source: &str, distances: [f64; 3]) -> Vec<VolumePoint> {
    let point = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        let place = [0, 1, 2].map(|axis| cells[axis].parse::<f64>().unwrap() / distances[axis]);
        (cells[3..7].join(","), cells[8..].join(","), place)
    };
    f.succeeds(&format!("points {source}")).lines().skip(1).map(point).collect()
}

/// The fate of a point, and its place in the original and in the reconstruction.
type Fate = (&'static str, [Option<[f64; 3]>; 2]);

fn fates(before: &[VolumePoint], after: &[VolumePoint]) -> Vec<Fate> {
    let mut new: HashMap<&str, &VolumePoint> = after.iter().map(|p| (&*p.0, p)).collect();
    let mut all: Vec<Fate> = Vec::new();
    for (simplex, kind, place) in before {
        let after = new.remove(&**simplex);
        let fate = after.map_or("lost", |p| if p.1 == *kind { "kept" } else { "type or index changed" });
        all.push((fate, [Some(*place), after.map(|p| p.2)]));
    }
    all.extend(new.into_values().map(|p| ("spurious", [None, Some(p.2)])));
    all
}

/// A panel of a comparison has these and the marks that touch no other have the colour of their fate.
/// Returns how many of those there are.
fn marked_fates(image: &Image, panel: &Value, fates: [&str; 3], points: &[(&str, f64, f64)]) -> usize {
    let marks = marks(panel);
    assert_eq!(marks.len(), 3);
    let reach = 3.2 * panel["mark_radius"].as_f64().unwrap();
    let place = |p: &(&str, f64, f64)| pixel(panel, p.1, p.2);
    let near = |a: (f64, f64), b: (f64, f64)| (a.0 - b.0).hypot(a.1 - b.1) < reach;
    let is_alone = |p: &&_| points.iter().filter(|q| near(place(p), place(q))).count() == 1;
    let of_fate = |fate: &str| {
        let all = points.iter().filter(|p| p.0 == fate);
        assert_eq!(marks[fate].1, all.clone().count() as u64, "{fate}: {panel}");
        let placed: Vec<_> = all.filter(is_alone).map(|p| (p.1, p.2, marks[fate].0)).collect();
        let mark = panel["marks"].as_array().unwrap().iter().find(|mark| mark["label"] == fate).unwrap();
        let ring = 0.8 * mark["radius"].as_f64().unwrap();
        free_marks(image, panel, &placed, &[], if mark["shape"] == "ring" { ring } else { 0.0 })
    };
    fates.map(of_fate).iter().sum()
}

/// The planes of an axis together show each point once: in the plane next to the original's, with its fate, in each
/// panel where it is in that field.
#[test]
fn volumes_are_drawn_beside_their_reconstructions() {
    let f = Folder::new("slices-compared");
    let options = "--spacing -2,0.5 --dz -3";
    let (mut moved, mut free) = (0, 0);
    for (axis, [right, up, through]) in PLANES {
        let mut sizes = [5; 3];
        (sizes[right], sizes[up]) = (31, 25);
        write_volume(&f, sizes);
        let volume = format!("u.f32 v.f32 w.f32 --dims {}x{}x{} {options}", sizes[0], sizes[1], sizes[2]);
        f.succeeds(&format!("compress {volume} --abs 0.2 --preserve none -o flow.fz"));
        let lists = [&*volume, "flow.fz"].map(|source| volume_points(&f, source, [-2.0, 0.5, -3.0]));
        let all = fates(&lists[0], &lists[1]);
        let count = |fate: &str| all.iter().filter(|p| p.0 == fate).count() as u64;
        let out = f.factz("verify u.f32 v.f32 w.f32 flow.fz --json");
        let verified = &serde_json::from_slice::<Value>(&out.stdout).unwrap()["comparison"];
        let counts = ["lost_points", "spurious_points", "changed_types"].map(|name| verified[name].as_u64());
        let [lost, spurious, changed] = ["lost", "spurious", "type or index changed"].map(count);
        assert_eq!(counts, [lost, spurious, changed].map(Some), "{axis}");
        assert!(count("kept") > 10 && lost > 10 && spurious > 10, "{verified}");
        let slab = |place: [f64; 3]| (place[through] + 0.5).floor() as usize;
        moved += all.iter().filter(|p| matches!(p.1, [Some(a), Some(b)] if slab(a) != slab(b))).count();
        for number in 0..5 {
            let compare = format!("--compare u.f32 v.f32 w.f32 flow.fz --plane {axis}:{number}");
            let report = f.json(&format!("render {compare} -o c.png"));
            let image = Image::read(&f, "c.png");
            let is_here = |[before, after]: [Option<[f64; 3]>; 2]| slab(before.or(after).unwrap()) == number;
            for (k, name, own) in [(0, "original", "lost"), (1, "reconstruction", "spurious")] {
                let point = |p: &Fate| p.1[k].map(|place| (p.0, place[right], place[up]));
                let points: Vec<_> = all.iter().filter(|p| is_here(p.1)).filter_map(point).collect();
                let panel = &report["panels"][k];
                free += marked_fates(&image, panel, ["kept", "type or index changed", own], &points);
                let title = format!("{name}, plane {axis}:{number} of 5, {} critical point", points.len());
                assert!(panel["title"].as_str().unwrap().starts_with(&title), "{panel}");
            }
        }
    }
    assert!(moved > 2 && free > 100, "{moved}, {free}");
}

/// Vertices without data are those of the original; a reconstruction may have the fill value elsewhere.
#[test]
fn gaps_of_volumes_are_those_of_the_original() {
    let f = Folder::new("slices-gaps");
    write_volume(&f, [31, 25, 5]);
    for name in ["u", "v", "w"] {
        f.write(&format!("{name}1.f32"), &f.read(&format!("{name}.f32")));
    }
    let write = |name: &str, columns: std::ops::Range<usize>| {
        let mut values = f.values(name);
        for (y, x) in (5..12).flat_map(|y| columns.clone().map(move |x| (y, x))) {
            values[(2 * 25 + y) * 31 + x] = -9.0;
        }
        f.write(name, &bytes_of(&values));
    };
    write("w.f32", 3..12);
    write("u1.f32", 18..27);
    let volumes = "u.f32 v.f32 w.f32 u1.f32 v1.f32 w1.f32 --dims 31x25x5 --fill-value -9";
    let verified: Value =
        serde_json::from_slice(&f.factz(&format!("verify {volumes} --json")).stdout).unwrap();
    let (mut lost, mut spurious) = (0, 0);
    for z in 0..5 {
        let report = f.json(&format!("render --compare {volumes} --plane {z} --no-arrows -o c.png"));
        let [left, right] = [0, 1].map(|panel| &report["panels"][panel]);
        (lost, spurious) = (lost + marks(left)["lost"].1, spurious + marks(right)["spurious"].1);
        let land = [0, 1, 2].map(|k| report["land_colour"][k].as_u64().unwrap() as u8);
        let image = Image::read(&f, "c.png");
        let is_land = |panel: &Value, x: f64| image.at(pixel(panel, x, 8.5)) == land;
        let grey = [left, right].map(|panel| [7.5, 22.5].map(|x| is_land(panel, x)));
        assert_eq!(grey, [[z == 2, false]; 2], "plane {z}");
    }
    let counts = ["lost_points", "spurious_points"].map(|name| verified["comparison"][name].as_u64());
    assert!(lost > 0);
    assert_eq!(counts, [Some(lost), Some(spurious)]);
    // A stream gives the picture of its arrays.
    f.succeeds("compress u.f32 v.f32 w.f32 --dims 31x25x5 --abs 0.1 --dz -2 -o flow.fz");
    f.succeeds("decompress flow.fz u1.f32 v1.f32 w1.f32");
    let volumes = "u.f32 v.f32 w.f32 u1.f32 v1.f32 w1.f32 --dims 31x25x5 --dz -2";
    f.succeeds(&format!("render --compare {volumes} --plane y:9 -o arrays.png"));
    f.succeeds("render --compare u.f32 v.f32 w.f32 flow.fz --plane y:9 -o stream.png");
    assert!(f.read("arrays.png") == f.read("stream.png"));
}

#[test]
fn pictures_of_volumes_that_do_not_exist_are_refused() {
    let f = Folder::new("slices-refused");
    write_volume(&f, [9, 8, 7]);
    f.succeeds("compress u.f32 v.f32 w.f32 --dims 9x8x7 --abs 0.1 -o flow.fz");
    let three = "u.f32 v.f32 w.f32";
    for (line, part) in [
        (format!("{three} --dims 9x8x7 --plane 7"), "--plane 7: the field has 9x8x7 values: give 0 to 6"),
        (
            format!("{three} --dims 9x8x7 --plane x:9"),
            "--plane x:9: the field has 9x8x7 values: give x:0 to x:8",
        ),
        ("flow.fz --plane y:-9".into(), "--plane y:-9: the field has 9x8x7 values: give y:0 to y:7, or y:-1"),
        ("flow.fz --plane a:1".into(), "'a:1' for '--plane <[AXIS:]K>': give K, x:K, y:K or z:K"),
        ("flow.fz --plane x:".into(), "'x:' for '--plane <[AXIS:]K>': give K, x:K, y:K or z:K"),
        (
            "u.f32 v.f32 --dims 9x8x7 --plane x:2".into(),
            "--plane x:2: a stack has planes of constant z alone",
        ),
        (
            format!("--compare {three} {three} --dims 9x8x7 --plane y:8"),
            "--plane y:8: the field has 9x8x7 values",
        ),
        (format!("--compare {three} {three} --dims 9x8x7 --step 0"), "--step 0: chooses a stream of a file"),
        (format!("--compare {three} flow.fz --dims 9x7x8"), "flow.fz: holds 9x8x7 values"),
        ("--compare u.f32 v.f32 flow.fz --dims 9x8x7".into(), "give its original, U0 V0 W0"),
        (format!("{three} --dims 9x8"), "u.f32"),
        (format!("{three} --dims 9x8x7 --zoom 0,0,9,2"), "--zoom 0,0,9,2: reaches beyond the field"),
        (format!("{three} --dims 9x8x7 --dz 0"), "other than 0"),
        ("u.f32 v.f32 --dims 9x56 --dz 2".into(), "--dz 2: planes have no axis z"),
    ] {
        f.fails(&format!("render {line} -o x.png"), &[part]);
    }
    assert!(!f.names().contains(&"x.png".to_owned()));
}
