//! `--region` and `--planes`: the crop of the whole field, from a part of the file, and the points in it.

use crate::support::cli::Folder;
use crate::support::fields::{bytes_of, Random};
use std::process::Stdio;

/// The rows y0.. of a raw component, columns x0.. of each.
fn crop(values: &[u8], nx: usize, [x0, y0]: [usize; 2], [w, h]: [usize; 2]) -> Vec<u8> {
    let row = |y: usize| &values[4 * (y * nx + x0)..][..4 * w];
    (y0..y0 + h).flat_map(row).copied().collect()
}

#[test]
fn a_region_is_the_crop_of_the_whole_field() {
    let f = Folder::with_field("cli-region", "wind_global");
    f.succeeds("compress u.f32 v.f32 -o wind.fz --dims 360x181 --rel 1e-3");
    f.succeeds("decompress wind.fz u0 v0");
    let (u, v) = (f.read("u0"), f.read("v0"));
    for (text, first, size) in [
        ("100,64,33x40", [100, 64], [33, 40]),
        ("359,180,1x1", [359, 180], [1, 1]),
        ("0,0,360x181", [0, 0], [360, 181]),
    ] {
        let said = f.succeeds(&format!("decompress wind.fz u1 v1 --region {text}"));
        assert_eq!(f.read("u1"), crop(&u, 360, first, size), "{text}");
        assert_eq!(f.read("v1"), crop(&v, 360, first, size), "{text}");
        assert!(said.contains(&format!("from column {} and row {} on", first[0], first[1])), "{said}");
    }
    let stream_bytes = f.read("wind.fz").len() as u64;
    let answer = f.json("decompress wind.fz part.npz --region 100,64,33x40");
    let read = answer["read_bytes"].as_u64().unwrap();
    assert!(read < stream_bytes / 2 && answer["stream_bytes"] == stream_bytes, "{answer}");
    assert_eq!((&answer["nx"], &answer["ny"]), (&33.into(), &40.into()));
    assert_eq!((&answer["region"]["x"], &answer["region"]["y"]), (&100.into(), &64.into()));
    let whole = f.json("decompress wind.fz u1 v1");
    assert!(whole["region"].is_null() && whole["read_bytes"] == stream_bytes, "{whole}");

    // From a pipe, and what follows or is missing.
    let mut child =
        f.command("decompress - both --region 100,64,33x40").stdin(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), &f.read("wind.fz")).unwrap();
    assert!(child.wait_with_output().unwrap().status.success());
    let both = [crop(&u, 360, [100, 64], [33, 40]), crop(&v, 360, [100, 64], [33, 40])].concat();
    assert_eq!(f.read("both"), both);
    f.write("cut.fz", &f.read("wind.fz")[..5000]);
    f.write("longer.fz", &[&f.read("wind.fz")[..], b"tail"].concat());
    for (line, parts) in [
        ("wind.fz a b --region 350,0,11x1", &["--region 350,0,11x1", "not inside", "360x181"][..]),
        ("wind.fz a b --region 0,181,1x1", &["not inside"]),
        ("wind.fz a b --region 18446744073709551615,0,1x1", &["not inside"]),
        ("wind.fz a b --region 1,2", &["X,Y,WxH"]),
        ("wind.fz a b --region 0,0,1x1 --backend cuda", &["--backend cuda"]),
        ("cut.fz a b --region 0,0,1x1", &["cut.fz", "the end is missing"]),
        ("longer.fz a b --region 0,0,1x1", &["longer.fz", "has 4 bytes behind"]),
        ("u.f32 a b --region 0,0,1x1", &["u.f32", "no factz stream"]),
    ] {
        f.fails(&format!("decompress {line}"), parts);
    }
}

/// Points in a part of a stack are those of the whole list whose cells lie in the part, at their places.
#[test]
fn points_of_a_region_are_those_of_the_field() {
    let f = Folder::with_field("cli-region-points", "wind_global");
    for name in ["u.f32", "v.f32"] {
        f.write(&format!("{name}.twice"), &[f.read(name), f.read(name)].concat());
    }
    f.succeeds(
        "compress u.f32.twice v.f32.twice -o wind.fz --dims 360x181x2 --rel 1e-3 --periodic x --north-first",
    );
    f.succeeds("points wind.fz -o all.json");
    let points = |name: &str| -> Vec<serde_json::Value> { serde_json::from_slice(&f.read(name)).unwrap() };
    let all = points("all.json");
    for (region, [x0, x1], [y0, y1]) in
        [("90,40,100x70", [90, 189], [40, 109]), ("0,40,360x70", [0, 360], [40, 109])]
    {
        let said = f.json(&format!("points wind.fz -o part.json --region {region} --planes 1"));
        assert_eq!([&said["nx"], &said["ny"], &said["nz"]], [360, 181, 2]);
        let part = points("part.json");
        let within = |p: &&serde_json::Value| {
            let cell = |axis: &str| p[axis].as_u64().unwrap();
            (x0..x1).contains(&cell("cell_x")) && (y0..y1).contains(&cell("cell_y")) && cell("cell_z") == 1
        };
        let expected: Vec<_> = all.iter().filter(within).collect();
        assert!(expected.len() > 100 && part.len() == expected.len(), "{} {}", part.len(), expected.len());
        for (found, expected) in part.iter().zip(expected) {
            for key in ["cell_x", "cell_y", "cell_z", "simplex", "point_type", "index", "eigenvalues_real"] {
                assert_eq!(found[key], expected[key], "{key}");
            }
            for axis in ["x", "y"] {
                let off = found[axis].as_f64().unwrap() - expected[axis].as_f64().unwrap();
                assert!(off.abs() < 1e-12, "{found} {expected}");
            }
        }
    }
    f.fails(
        "points u.f32 v.f32 --dims 360x181 --planes 0",
        &["--planes 0: is a part of a stream", "leave it out"],
    );
    f.fails("points wind.fz --region 359,0,2x1", &["--region 359,0,2x1: is not inside"]);
}

/// Points in a box of a volume are those of the whole list whose cells lie in the box, at their places.
#[test]
fn points_of_a_part_of_a_volume_are_those_of_the_volume() {
    let f = Folder::new("cli-volume-part-points");
    let (sizes, mut random) = ([13, 11, 9], Random(11));
    for name in ["u.f32", "v.f32", "w.f32"] {
        let values: Vec<f32> = (0..sizes.iter().product()).map(|_| random.signed() as f32).collect();
        f.write(name, &bytes_of(&values));
    }
    let options = "--dims 13x11x9 --spacing -2,0.5 --dz -3 --periodic xz";
    f.succeeds(&format!("compress u.f32 v.f32 w.f32 {options} --abs 0.01 -o s.fz"));
    f.succeeds("points s.fz -o all.json");
    let points = |name: &str| -> Vec<serde_json::Value> { serde_json::from_slice(&f.read(name)).unwrap() };
    let all = points("all.json");
    // The cells of each part, with those behind the end of a periodic axis if the part is as long as the
    // volume.
    for (part, cells) in [
        ("--region 3,2,6x5 --planes 2:7", [3..8, 2..6, 2..6]),
        ("--region 0,2,13x5 --planes -4:", [0..13, 2..6, 5..8]),
        ("--region 1,0,12x11", [1..12, 0..10, 0..9]),
        ("--planes :3", [0..13, 0..10, 0..2]),
    ] {
        let said = f.json(&format!("points s.fz -o part.json {part}"));
        assert_eq!([&said["nx"], &said["ny"], &said["nz"]], sizes, "{part}");
        let part_points = points("part.json");
        let within = |p: &&serde_json::Value| {
            let is_inside =
                |(axis, cells): (&str, &std::ops::Range<u64>)| cells.contains(&p[axis].as_u64().unwrap());
            ["cell_x", "cell_y", "cell_z"].into_iter().zip(&cells).all(is_inside)
        };
        let expected: Vec<_> = all.iter().filter(within).collect();
        assert!(expected.len() > 5 && part_points.len() == expected.len(), "{part}: {}", expected.len());
        for (found, expected) in part_points.iter().zip(expected) {
            for key in ["cell_x", "cell_y", "cell_z", "simplex", "point_type", "index"] {
                assert_eq!(found[key], expected[key], "{part}: {key}");
            }
            for axis in ["x", "y", "z"] {
                let off = found[axis].as_f64().unwrap() - expected[axis].as_f64().unwrap();
                assert!(off.abs() < 1e-9, "{part}: {found} {expected}");
            }
        }
    }
    for (line, parts) in [
        ("s.fz --planes 1", &["--planes 1: has 13 x 11 x 1 vertices", "at least 2"][..]),
        ("s.fz --region 12,0,2x2", &["--region 12,0,2x2: is not inside"]),
        ("s.fz --planes 0:3 --backend cuda", &["computed on the processor", "leave --backend cuda out"]),
        (
            "u.f32 v.f32 w.f32 --dims 13x11x9 --planes 0:3",
            &["--planes 0:3: is a part of a stream", "w.f32 is none"],
        ),
    ] {
        f.fails(&format!("points {line}"), parts);
    }
}
